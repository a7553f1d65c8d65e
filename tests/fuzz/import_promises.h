#pragma once
#include <stddef.h>
#include <stdint.h>

// Imports bytes under tight limits: what is read keeps every promise of scene.h, what is refused
// says why.
void import_keeps_promises(const uint8_t *bytes, size_t size_bytes);
