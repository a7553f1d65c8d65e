#include <stdio.h>
#include <string.h>

#include "tests/client/fake_server.h"

// The fake server as a program, for tests that run programs:
//   fake_serve native|wss|ws
// prints its URL, the path of its certificate and the certificate's pin, a line each, and serves
// until standard input ends.

static void serve(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    if (!fake_hello(p)) return;
    p->raw = p->hello.quality.raw;
    fake_welcome(p, NULL);
    fake_actor(p, 1, true);
    static const char names[] = "{\"clips\":[\"wave\"],\"shapes\":[\"eyeBlinkLeft\",\"jawOpen\"]}";
    const struct session_catalogue catalogue = {1, names, sizeof names - 1};
    uint8_t bytes[256];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (session_encode_catalogue(&w, &catalogue) == ERR_OK) fake_send(p, bytes, wire_size(&w));
    fake_send_surface(p);
    fake_send_frame(p, p->raw ? FAKE_RAW : FAKE_KEY, 0);
    fake_serve(p, UINT32_MAX);
}

int main(int argc, char **argv)
{
    struct fake_options options = {.transport = FAKE_WS, .scenario = serve};
    if (argc > 1 && strcmp(argv[1], "native") == 0) options.transport = FAKE_NATIVE;
    if (argc > 1 && strcmp(argv[1], "wss") == 0) options.transport = FAKE_WSS;
    struct fake_server *server = fake_start(&options);
    char url[128], pin[128];
    fake_url(server, url);
    fake_certificate_pin(pin);
    printf("%s\n%s\n%s\n", url, fake_certificate(), pin);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    fake_stop(server);
    return 0;
}
