#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Token buckets by address in a table of fixed size: when it is full the entry that is nearest to
// full again is forgotten, so an attacker with many addresses gains a few tries, never memory.
// The caller gives the time.
struct throttle_entry;
struct throttle {
    struct throttle_entry *entries; // owned
    size_t capacity;
    double burst, per_ns;
};

bool throttle_create(struct throttle *t, size_t capacity, uint32_t burst, uint32_t per_minute);
void throttle_free(struct throttle *t);                                           // safe on zero
bool throttle_allows(struct throttle *t, const uint8_t key[16], uint64_t now_ns); // without taking
void throttle_take(struct throttle *t, const uint8_t key[16], uint64_t now_ns);   // a failure
