#pragma once

// Replaces every byte that is not part of valid UTF-8 by '?', in place: names from files go into
// JSON and onto terminals.
void utf8_mend(char *text);
