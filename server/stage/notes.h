#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stage;

// What is told about one character's extras: between ticks, by the loop.
enum stage_note_kind {
    STAGE_NOTE_SKIP,   // an input that nobody sent: text is a line of a script
    STAGE_NOTE_PLUGIN, // text: for people
    STAGE_NOTE_OFF     // a plugin is switched off; text: for people
};
struct stage_note {
    enum stage_note_kind kind;
    char text[256];
};
// The next one of the actor `id`, oldest first, each told once; false: there is none.
bool stage_note(struct stage *s, uint64_t id, struct stage_note *out);

// What each extra of the actor has cost a tick since it was asked last, in microseconds: a JSON
// object {NAME: number}. Returns its length; 0: it has none, or `size` is too small.
size_t stage_costs(struct stage *s, uint64_t id, char *out, size_t size);

// Which of `extras` were left out of the newest tick.
struct actor;
void notes_take_skips(struct actor *a, uint64_t tick);
