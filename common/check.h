#pragma once
// Programmer errors: broken preconditions and impossible states. CHECK is on in every build and
// aborts with the place. DCHECK is for costly scans; builds choose it with ENABLE_DCHECK.
// Never use either on anything that a peer, a file or a user can cause: that is an `enum err`.

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#ifdef ENABLE_DCHECK
#define DCHECK(condition) CHECK(condition)
#else
#define DCHECK(condition) ((void)sizeof(condition))
#endif

_Noreturn void check_failed(const char *file, int line, const char *condition);
