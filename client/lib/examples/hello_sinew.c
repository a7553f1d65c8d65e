// The least that a game does with libsinew: connect, join, pose, draw. Sixty lines, C99.
//   cc hello_sinew.c $(pkg-config --cflags --libs sinew) -o hello_sinew
//   ./hello_sinew ws://127.0.0.1:7480
#include <sinew/sinew.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void draw(const struct sinew_actor *a)
{
    // A renderer uploads `vertices` when `changes` differs from the last time, `indices` and `uvs`
    // when `surface` does, and draws each part with its material.
    const float *first = a->vertices; // x y z, then the normal, stride_bytes apart
    printf("%s tick %llu: %u vertices, the first at %.3f %.3f %.3f\n", a->character,
           (unsigned long long)a->tick, (unsigned)a->vertex_count, (double)first[0],
           (double)first[1], (double)first[2]);
}

static int handle_events(struct sinew_client *client)
{
    struct sinew_event e;
    memset(&e, 0, sizeof e);
    e.struct_size = sizeof e;
    while (sinew_next_event(client, &e)) {
        if (e.kind == SINEW_EVENT_JOINED) printf("joined as actor %u\n", (unsigned)e.actor);
        if (e.kind == SINEW_EVENT_LOST) printf("lost (%s), coming back\n", e.text);
        if (e.kind == SINEW_EVENT_CLOSED) {
            fprintf(stderr, "closed: %s\n", e.text);
            return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    struct sinew_options options;
    struct sinew_client *client;
    struct sinew_place place = {sizeof place, SINEW_PLACE_YAW, {0, 0, 0}, 0.5f, 0};
    const struct timespec frame = {0, 16666667};
    char why[SINEW_TEXT_MAX];
    int frames, drawn = 0;
    sinew_options_init(&options, sizeof options);
    options.url = argc > 1 ? argv[1] : "ws://127.0.0.1:7480";
    if (sinew_open(&options, &client, why, sizeof why) != SINEW_OK ||
        sinew_wait_joined(client, 5000, why, sizeof why) != SINEW_OK) {
        fprintf(stderr, "cannot join: %s\n", why);
        return 1;
    }
    sinew_send_place(client, &place, NULL);
    for (frames = 0; frames < 60 && handle_events(client); frames++) {
        struct sinew_actor a;
        memset(&a, 0, sizeof a);
        a.struct_size = sizeof a;
        if (sinew_update(client) > 0 &&
            sinew_actor_get(client, sinew_own_actor(client), &a) == SINEW_OK && a.vertices) {
            draw(&a);
            drawn++;
        }
        nanosleep(&frame, NULL);
    }
    sinew_close(client);
    return drawn == 0;
}
