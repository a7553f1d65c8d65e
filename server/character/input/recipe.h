#pragma once
#include <stddef.h>

#include "common/err.h"
#include "server/character/pose/customise.h"

// A customisation recipe: {"sinew_recipe": 1, "character": NAME, "parameters": {NAME: value}}.
//
// ERR_MALFORMED, ERR_VERSION: it is none, and nothing has been set. ERR_OK with a line in the
// fault: what fits has been set, and the line says what does not (another character's, parameters
// that this one lacks, values that are no numbers). ERR_OK without: all of it fits.
// character: its name, to compare; NULL: not compared.
MUST_CHECK enum err recipe_apply(const char *text, size_t size_bytes, const char *character,
                                 struct customise *c, struct fault *fault);
