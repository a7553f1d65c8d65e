#pragma once
#include <stdbool.h>
#include <stdint.h>

// Counts what the whole process takes from and gives back to the heap, libraries included: by the
// sanitizers' hooks, or else by functions of the same name that stand before libc's.
void trap_start(void);     // once, before other threads
void trap_arm(bool armed); // count allocations and frees from now on, on every thread
uint64_t trap_count(void); // while armed
int64_t trap_live(void);   // allocations minus frees since trap_start
