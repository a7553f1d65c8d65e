#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tests/testing.h"
int testing_failures;

static void names_outside_the_folder_are_denied(void)
{
    char out[64];
    static const char *const bad[] = {"/etc/passwd", "../x", "a/../../x", "..",
                                      "http://x/y",  "C:x",  "a\\..\\x",  ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT(file_beside("dir/m.gltf", bad[i], out, sizeof out) == ERR_DENIED);
    EXPECT(file_beside("dir/m.gltf", "a/..b.bin", out, sizeof out) == ERR_OK);
    EXPECT(strcmp(out, "dir/a/..b.bin") == 0);
    EXPECT(file_beside("m.gltf", "a.bin", out, sizeof out) == ERR_OK);
    EXPECT(strcmp(out, "a.bin") == 0);
    EXPECT(file_beside("m.gltf", "a.bin", out, 5) == ERR_LIMIT);
}

static void what_was_written_is_read_back(void)
{
    char path[] = "/tmp/sinew_file_XXXXXX";
    int fd = mkstemp(path);
    EXPECT(fd >= 0);
    close(fd);
    struct fault fault = {0};
    EXPECT(file_write_atomic(path, "hello", 5, &fault) == ERR_OK);
    uint8_t *bytes;
    size_t size;
    EXPECT(file_read(path, 5, &bytes, &size, &fault) == ERR_OK);
    EXPECT(size == 5 && memcmp(bytes, "hello", 6) == 0);
    free(bytes);
    EXPECT(file_read(path, 4, &bytes, &size, &fault) == ERR_LIMIT);
    EXPECT(strstr(fault.line, path) != NULL);
    unlink(path);
    fault = (struct fault){0};
    EXPECT(file_read(path, 4, &bytes, &size, &fault) == ERR_IO);
    EXPECT(mkfifo(path, 0600) == 0); // must be refused, not waited for
    fault = (struct fault){0};
    EXPECT(file_read(path, 4, &bytes, &size, &fault) == ERR_IO);
    unlink(path);
    EXPECT(file_write_atomic("/nonexistent/x", "a", 1, NULL) == ERR_IO);
}

// Renaming a file over /dev/null would take it from everybody.
static void devices_and_pipes_are_written_into(void)
{
    char path[] = "/tmp/sinew_file_XXXXXX", text[8] = {0};
    int fd = mkstemp(path);
    struct stat st;
    close(fd);
    unlink(path);
    EXPECT(mkfifo(path, 0600) == 0);
    EXPECT(file_write_atomic(path, "hello", 5, NULL) == ERR_IO); // nobody reads: not waited for
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    EXPECT(fd >= 0 && file_write_atomic(path, "hello", 5, NULL) == ERR_OK);
    EXPECT(read(fd, text, sizeof text) == 5 && strcmp(text, "hello") == 0);
    EXPECT(stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
    close(fd);
    unlink(path);
    EXPECT(file_is_special("/dev/null") && !file_is_special("/tmp") && !file_is_special(path));
    EXPECT(!file_is_special("/dev/full") || file_write_atomic("/dev/full", "a", 1, NULL) == ERR_IO);
}

int main(void)
{
    RUN(names_outside_the_folder_are_denied);
    RUN(what_was_written_is_read_back);
    RUN(devices_and_pipes_are_written_into);
    TESTING_MAIN_END;
}
