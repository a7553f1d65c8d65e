#include <cjson/cJSON.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"
#include "common/queue.h"
#include "common/slots.h"
#include "tests/testing.h"

int testing_failures;

static char path[] = "/tmp/sinew-log-XXXXXX";

static void restart(uint32_t burst)
{
    struct log_options o = {.path = path, .level_min = LOG_LEVEL_INFO, .burst = burst, .per_s = 1};
    EXPECT(truncate(path, 0) == 0);
    EXPECT(log_open(&o, NULL) == ERR_OK);
}

// Every line parsed; the caller deletes the array.
static cJSON *read_lines(void)
{
    uint8_t *bytes;
    size_t size_bytes;
    cJSON *lines = cJSON_CreateArray();
    EXPECT(file_read(path, 1 << 24, &bytes, &size_bytes, NULL) == ERR_OK);
    char *save = NULL;
    for (char *line = strtok_r((char *)bytes, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        cJSON *json = cJSON_Parse(line);
        EXPECT(json != NULL);
        if (json) (void)cJSON_AddItemToArray(lines, json);
    }
    free(bytes);
    return lines;
}

static const char *text_of(const cJSON *line, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, key));
    return text ? text : "";
}

static void a_line_is_one_json_object(void)
{
    restart(20);
    log_event(LOG_LEVEL_INFO, "test.line", LOG_T("who", "a \"b\"\\\n\x01\x7f\xff\xc3\xa9"),
              LOG_I("n", -3), LOG_F("x", 0.5), LOG_F("nan", 0.0 / 0.0), LOG_B("yes", 1),
              LOG_T("none", NULL));
    log_event(LOG_LEVEL_WARN, "test.bare");
    log_event(LOG_LEVEL_DEBUG, "test.debug"); // below the level
    cJSON *lines = read_lines();
    EXPECT(cJSON_GetArraySize(lines) == 2);
    const cJSON *line = cJSON_GetArrayItem(lines, 0);
    EXPECT(strlen(text_of(line, "ts")) == 27 && text_of(line, "ts")[26] == 'Z');
    EXPECT(strcmp(text_of(line, "level"), "info") == 0);
    EXPECT(strcmp(text_of(line, "event"), "test.line") == 0);
    EXPECT(strcmp(text_of(line, "who"), "a \"b\"\\\n\x01\x7f\xef\xbf\xbd\xc3\xa9") == 0);
    EXPECT(cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(line, "n")) == -3);
    EXPECT(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(line, "nan")));
    EXPECT(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(line, "none")));
    EXPECT(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(line, "yes")));
    cJSON_Delete(lines);
}

static void long_fields_never_break_a_line(void)
{
    restart(20);
    char big[3000];
    memset(big, '"', sizeof big - 1);
    big[sizeof big - 1] = 0;
    log_event(LOG_LEVEL_INFO, "test.long", LOG_T("a", big), LOG_T("b", big), LOG_T("c", big),
              LOG_T("d", big), LOG_T("e", big), LOG_I("n", 1));
    cJSON *lines = read_lines();
    EXPECT(cJSON_GetArraySize(lines) == 1);
    EXPECT(strlen(text_of(cJSON_GetArrayItem(lines, 0), "a")) == 512);
    cJSON_Delete(lines);
}

static void a_flood_of_one_event_is_counted_not_written(void)
{
    restart(5);
    for (int i = 0; i < 1000; i++)
        log_event(LOG_LEVEL_WARN, "test.flood", LOG_I("i", i));
    log_event(LOG_LEVEL_WARN, "test.other");
    cJSON *lines = read_lines();
    EXPECT(cJSON_GetArraySize(lines) <= 8 && cJSON_GetArraySize(lines) >= 6);
    cJSON_Delete(lines);
    (void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    log_event(LOG_LEVEL_WARN, "test.flood");
    lines = read_lines();
    const cJSON *last = cJSON_GetArrayItem(lines, cJSON_GetArraySize(lines) - 1);
    EXPECT(cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(last, "suppressed")) > 900);
    cJSON_Delete(lines);
}

static void *write_many(void *argument)
{
    for (int i = 0; i < 200; i++)
        log_event(LOG_LEVEL_INFO, argument, LOG_T("text", "some text"), LOG_I("i", i));
    return NULL;
}

static void threads_do_not_mix_lines(void)
{
    restart(100000);
    char names[4][16];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(names[i], sizeof names[i], "thread.%d", i);
        EXPECT(pthread_create(&threads[i], NULL, write_many, names[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    cJSON *lines = read_lines();
    EXPECT(cJSON_GetArraySize(lines) == 800);
    cJSON_Delete(lines);
}

static void a_file_that_cannot_be_opened_is_named(void)
{
    struct fault f = {0};
    struct log_options o = {.path = "/nowhere/at/all.log"};
    EXPECT(log_open(&o, &f) == ERR_IO && strstr(f.line, "/nowhere/at/all.log"));
}

static void a_queue_is_bounded_and_in_one_piece(void)
{
    struct queue q;
    uint8_t out[8];
    EXPECT(queue_create(&q, 8));
    EXPECT(queue_put(&q, "abcdefghij", 10) == 8);
    EXPECT(queue_take(&q, out, 3) == 3 && memcmp(out, "abc", 3) == 0);
    EXPECT(queue_tail_space(&q) == 0 && queue_space(&q) == 3);
    EXPECT(!queue_put_all(&q, "1234", 4) && queue_used(&q) == 5);
    EXPECT(queue_put_all(&q, "123", 3));
    EXPECT(memcmp(queue_head(&q), "defgh123", 8) == 0);
    queue_drop(&q, 8);
    EXPECT(q.head == 0 && q.tail == 0);
    queue_free(&q);
}

static void a_stale_id_finds_nothing(void)
{
    struct slots s;
    int a, b, c;
    EXPECT(slots_create(&s, 2));
    uint64_t first = slots_add(&s, &a), second = slots_add(&s, &b);
    EXPECT(first && second && first != second);
    EXPECT(slots_add(&s, &c) == 0);
    EXPECT(slots_remove(&s, first) == &a);
    EXPECT(!slots_find(&s, first) && !slots_remove(&s, first));
    uint64_t third = slots_add(&s, &c);
    EXPECT(third != first && slots_find(&s, third) == &c && !slots_find(&s, first));
    EXPECT(!slots_find(&s, 0) && !slots_find(&s, UINT64_MAX));
    slots_free(&s);
}

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    (void)close(fd);
    RUN(a_line_is_one_json_object);
    RUN(long_fields_never_break_a_line);
    RUN(a_flood_of_one_event_is_counted_not_written);
    RUN(threads_do_not_mix_lines);
    RUN(a_file_that_cannot_be_opened_is_named);
    RUN(a_queue_is_bounded_and_in_one_piece);
    RUN(a_stale_id_finds_nothing);
    log_close();
    (void)unlink(path);
    TESTING_MAIN_END;
}
