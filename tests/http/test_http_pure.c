// The parts of server/http that are bytes in, answers out.
#include <sys/stat.h>
#include <unistd.h>

#include "server/http/body.h"
#include "server/http/origin.h"
#include "server/http/router.h"
#include "server/http/static.h"
#include "server/http/throttle.h"
#include "tests/testing.h"

int testing_failures;

// --- Paths and routes ---------------------------------------------------------------------------

static bool decodes(const char *raw, char out[256])
{
    return router_path_decode(raw, strlen(raw), out, 256);
}

static void paths_that_could_be_read_two_ways_are_refused(void)
{
    char out[256];
    static const char *const bad[] = {
        "",          "a",       "//",     "/a//b",      "/../x",      "/a/..",
        "/%2e%2e/x", "/%2E%2e", "/a/%2e", "/./a",       "/a%00b",     "/a%2fb",
        "/a%5cb",    "/a\\b",   "/%",     "/%4",        "/%zz",       "/a%0ab",
        "/%c0%af",   "/%ff",    "/a\x01", "/%ed%a0%80", "/a/%2e%2e/", "/.%2e/etc/passwd",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        EXPECT(!decodes(bad[i], out));
        if (decodes(bad[i], out)) printf("  %s\n", bad[i]);
    }
    EXPECT(!router_path_decode("/a\0b", 4, out, sizeof out));
    EXPECT(decodes("/", out) && strcmp(out, "/") == 0);
    EXPECT(decodes("/a/", out));
    EXPECT(decodes("/a%20b/%C3%A9...", out) && strcmp(out, "/a b/\xc3\xa9...") == 0);
    EXPECT(decodes("/..a/.b", out)); // odd, but only names
    EXPECT(!router_path_decode("/abc", 4, out, 4) && router_path_decode("/abc", 4, out, 5));
}

static void nothing(struct http_exchange *x, void *owner)
{
    (void)x;
    (void)owner;
}

static const struct http_route routes[] = {
    {HTTP_METHOD_GET, "/", HTTP_ON_ANY, .on_request = nothing},
    {HTTP_METHOD_GET, "/v1/models", HTTP_ON_ANY, .on_request = nothing},
    {HTTP_METHOD_POST, "/v1/models", HTTP_ON_ANY, .on_request = nothing},
    {HTTP_METHOD_GET, "/v1/models/{id}", HTTP_ON_ANY, .on_request = nothing},
    {HTTP_METHOD_GET, "/v1/models/{id}/versions/{n}", HTTP_ON_ANY, .on_request = nothing},
    {HTTP_METHOD_GET, "/files/{path...}", HTTP_ON_ANY, .on_request = nothing},
    {HTTP_METHOD_GET, "/metrics", HTTP_ON_LOOPBACK, .on_request = nothing},
};
enum { ROUTES = sizeof routes / sizeof routes[0] };

static void routes_match_whole_segments(void)
{
    struct router_match m;
    router_validate(routes, ROUTES);
    router_find(routes, ROUTES, HTTP_METHOD_GET, "/v1/models/fox/versions/12", HTTP_ON_PUBLIC, &m);
    EXPECT(m.route == &routes[4] && m.param_count == 2);
    EXPECT(m.params[0].value_bytes == 3 && memcmp(m.params[0].value, "fox", 3) == 0);
    EXPECT(m.params[1].name_bytes == 1 && m.params[1].value_bytes == 2);
    router_find(routes, ROUTES, HTTP_METHOD_GET, "/files/a/b/c", HTTP_ON_PUBLIC, &m);
    EXPECT(m.route == &routes[5] && m.params[0].value_bytes == 5);
    static const char *const missing[] = {"/v1",         "/v1/models/",   "/v1/model",
                                          "/v1/modelss", "/v1/models//x", "/files/",
                                          "/files",      "/v1/models/a/b"};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        router_find(routes, ROUTES, HTTP_METHOD_GET, missing[i], HTTP_ON_PUBLIC, &m);
        EXPECT(!m.route && !m.path_known);
    }
    router_find(routes, ROUTES, HTTP_METHOD_GET, "/", HTTP_ON_PUBLIC, &m);
    EXPECT(m.route == &routes[0]);
    router_find(routes, ROUTES, HTTP_METHOD_HEAD, "/v1/models", HTTP_ON_PUBLIC, &m);
    EXPECT(m.route == &routes[1]);
    router_find(routes, ROUTES, HTTP_METHOD_DELETE, "/v1/models", HTTP_ON_PUBLIC, &m);
    EXPECT(!m.route && m.path_known);
    EXPECT(m.allowed == (1u << HTTP_METHOD_GET | 1u << HTTP_METHOD_HEAD | 1u << HTTP_METHOD_POST |
                         1u << HTTP_METHOD_OPTIONS));
}

static void a_route_of_another_listener_does_not_exist(void)
{
    struct router_match m;
    router_find(routes, ROUTES, HTTP_METHOD_GET, "/metrics", HTTP_ON_PUBLIC, &m);
    EXPECT(!m.route && !m.path_known);
    router_find(routes, ROUTES, HTTP_METHOD_GET, "/metrics", HTTP_ON_LOOPBACK, &m);
    EXPECT(m.route == &routes[6]);
}

// --- Bodies -------------------------------------------------------------------------------------

// Feeds in steps of `step`; the payload goes to `out`. Returns the error, *used the bytes taken.
static enum err feed(struct body *b, const char *text, size_t n, size_t step, char out[256],
                     size_t *used)
{
    size_t got = 0;
    *used = 0;
    while (*used < n && !body_done(b)) {
        const uint8_t *payload;
        size_t taken, payload_bytes, size = n - *used < step ? n - *used : step;
        uint8_t *exact = memcpy(malloc(size), text + *used, size);
        enum err e = body_next(b, exact, size, &taken, &payload, &payload_bytes);
        if (e == ERR_OK && payload_bytes > 0) memcpy(out + got, payload, payload_bytes);
        got += payload_bytes;
        out[got] = 0;
        *used += taken;
        free(exact);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

static void chunked_bodies_are_read_in_pieces_of_every_size(void)
{
    static const char text[] =
        "5\r\nhello\r\n6;name=\"v\"\r\n world\r\n0\r\nTrailer: x\r\n\r\nNEXT";
    for (size_t step = 1; step <= sizeof text; step++) {
        struct body b;
        char out[256];
        size_t used;
        body_init_chunked(&b, 100);
        EXPECT(feed(&b, text, sizeof text - 1, step, out, &used) == ERR_OK);
        EXPECT(body_done(&b) && used == sizeof text - 1 - 4 && strcmp(out, "hello world") == 0);
        EXPECT(b.total == 11);
    }
}

static void malformed_and_endless_chunks_are_refused(void)
{
    static const struct {
        const char *text;
        enum err e;
    } cases[] = {
        {"\r\n", ERR_MALFORMED},
        {"g\r\n", ERR_MALFORMED},
        {"-1\r\n", ERR_MALFORMED},
        {"0x5\r\nhello", ERR_MALFORMED},
        {" 5\r\nhello", ERR_MALFORMED},
        {"5\nhello", ERR_MALFORMED},
        {"5\rhello", ERR_MALFORMED},
        {"5\r\nhelloX", ERR_MALFORMED},
        {"5\r\nhello\rX", ERR_MALFORMED},
        {"5;a\x01\r\n", ERR_MALFORMED},
        {"0\r\n\rX", ERR_MALFORMED},
        {"ffffffffffffffff\r\n", ERR_LIMIT},
        {"fffffffffffffff\r\n", ERR_LIMIT},
        {"65\r\n", ERR_LIMIT}, // 101 bytes
        {"0000000000000000005\r\n", ERR_LIMIT},
        {"60\r\n", ERR_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct body b;
        char out[256];
        size_t used;
        body_init_chunked(&b, 100);
        EXPECT(feed(&b, cases[i].text, strlen(cases[i].text), 3, out, &used) == cases[i].e);
    }
    struct body b;
    char out[256], long_trailer[6000];
    size_t used;
    memset(long_trailer, 'a', sizeof long_trailer);
    memcpy(long_trailer, "0\r\n", 3);
    body_init_chunked(&b, 100);
    EXPECT(feed(&b, long_trailer, sizeof long_trailer, 100, out, &used) == ERR_LIMIT);
}

static void length_bodies_end_where_they_should(void)
{
    struct body b;
    char out[256];
    size_t used;
    body_init_length(&b, 5, 5);
    EXPECT(feed(&b, "helloNEXT", 9, 2, out, &used) == ERR_OK);
    EXPECT(body_done(&b) && used == 5 && strcmp(out, "hello") == 0);
    body_init_length(&b, 0, 0);
    EXPECT(body_done(&b));
}

// --- Origins ------------------------------------------------------------------------------------

static void only_names_of_this_machine_are_local(void)
{
    static const char *const extra[] = {"proxy.example", NULL};
    static const char *const good[] = {"localhost",      "localhost:7480", "LOCALHOST",
                                       "127.0.0.1:7480", "127.9.9.9",      "[::1]:7480",
                                       "[::1]",          "fox.localhost",  "proxy.example:80"};
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "evil.example:7480",
                                      "localhost.evil.example",
                                      "192.0.2.1",
                                      "[::2]",
                                      "[::1",
                                      "localhost:x",
                                      "127.0.0.1.evil.example",
                                      ".localhost",
                                      "localhost@evil.example"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        EXPECT(origin_host_is_local(good[i], extra));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT(!origin_host_is_local(bad[i], extra));
    EXPECT(!origin_host_is_local("proxy.example", NULL));
}

static void origins_are_same_or_listed(void)
{
    static const char *const listed[] = {"https://game.example", NULL};
    bool is_listed;
    EXPECT(origin_is_allowed("http://localhost:7480", "localhost:7480", false, listed, &is_listed));
    EXPECT(!is_listed);
    EXPECT(origin_is_allowed("https://game.example", "localhost:7480", false, listed, &is_listed));
    EXPECT(is_listed);
    static const char *const bad[] = {"null",
                                      "https://localhost:7480",
                                      "http://localhost",
                                      "http://localhost:7480.evil.example",
                                      "http://evil.example",
                                      "https://game.example:8443",
                                      ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT(!origin_is_allowed(bad[i], "localhost:7480", false, listed, NULL));
}

// --- Throttle -----------------------------------------------------------------------------------

static void failures_are_counted_per_address_in_bounded_memory(void)
{
    struct throttle t;
    uint8_t a[16] = {1}, b[16] = {2};
    uint64_t now = 1000000000u;
    EXPECT(throttle_create(&t, 64, 3, 6));
    for (int i = 0; i < 3; i++) {
        EXPECT(throttle_allows(&t, a, now));
        throttle_take(&t, a, now);
    }
    EXPECT(!throttle_allows(&t, a, now));
    EXPECT(throttle_allows(&t, b, now));
    EXPECT(!throttle_allows(&t, a, now + 9 * 1000000000ull));
    EXPECT(throttle_allows(&t, a, now + 11 * 1000000000ull)); // six a minute
    for (uint32_t i = 0; i < 10000; i++) {
        uint8_t key[16] = {9};
        memcpy(key + 4, &i, sizeof i);
        throttle_take(&t, key, now);
    }
    EXPECT(throttle_allows(&t, b, now));
    throttle_free(&t);
}

// --- Static files -------------------------------------------------------------------------------

static char folder[] = "/tmp/sinew-static-XXXXXX";

static void put_file(const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    EXPECT(f != NULL);
    if (f) {
        (void)fputs(text, f);
        (void)fclose(f);
    }
}

static void only_what_lies_in_the_folder_is_served(void)
{
    char path[256];
    struct http_static *s = NULL;
    EXPECT(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof path, "%s/sub", folder);
    EXPECT(mkdir(path, 0755) == 0);
    put_file("index.html", "<!doctype html>");
    put_file("app-5F2A91C0.js", "js");
    put_file("app-5F2A91C0.js.br", "br");
    put_file("app-5F2A91C0.js.gz", "gz");
    put_file("ops.html", "ops");
    put_file("decoder-module.js", "x");
    put_file(".secret", "no");
    put_file("sub/index.html", "sub");
    (void)snprintf(path, sizeof path, "%s/passwd", folder);
    EXPECT(symlink("/etc/passwd", path) == 0);
    (void)snprintf(path, sizeof path, "%s/etc", folder);
    EXPECT(symlink("/etc", path) == 0);
    EXPECT(static_load(folder, &s, NULL) == ERR_OK);
    EXPECT(static_count(s) == 5);
    const struct static_file *f = static_find(s, "/");
    EXPECT(f && strcmp(f->path, "/index.html") == 0 && !f->immutable);
    EXPECT(f && f->etag[STATIC_IDENTITY][0] == '"' && strlen(f->etag[STATIC_IDENTITY]) == 34);
    EXPECT(static_find(s, "/ops") && static_find(s, "/sub/"));
    f = static_find(s, "/app-5F2A91C0.js");
    EXPECT(f && f->immutable && strncmp(f->content_type, "text/javascript", 15) == 0);
    EXPECT(f && static_choose(f, "gzip, deflate, br") == STATIC_BROTLI);
    EXPECT(f && static_choose(f, "gzip") == STATIC_GZIP);
    EXPECT(f && static_choose(f, "br;q=0, gzip;q=0.5") == STATIC_GZIP);
    EXPECT(f && static_choose(f, "brotli, identity") == STATIC_IDENTITY);
    EXPECT(f && static_choose(f, NULL) == STATIC_IDENTITY);
    EXPECT(static_find(s, "/decoder-module.js") &&
           !static_find(s, "/decoder-module.js")->immutable);
    static const char *const missing[] = {
        "/passwd", "/etc/passwd", "/.secret", "/../index.html", "/app-5F2A91C0.js.gz", "/sub",
        "",        "/nothing"};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        EXPECT(!static_find(s, missing[i]));
    static_free(s);
    struct fault fault = {0};
    EXPECT(static_load("/nowhere/at/all", &s, &fault) == ERR_IO && fault.line[0]);
    (void)snprintf(path, sizeof path, "rm -r %s", folder);
    EXPECT(system(path) == 0);
}

int main(void)
{
    RUN(paths_that_could_be_read_two_ways_are_refused);
    RUN(routes_match_whole_segments);
    RUN(a_route_of_another_listener_does_not_exist);
    RUN(chunked_bodies_are_read_in_pieces_of_every_size);
    RUN(malformed_and_endless_chunks_are_refused);
    RUN(length_bodies_end_where_they_should);
    RUN(only_names_of_this_machine_are_local);
    RUN(origins_are_same_or_listed);
    RUN(failures_are_counted_per_address_in_bounded_memory);
    RUN(only_what_lies_in_the_folder_is_served);
    TESTING_MAIN_END;
}
