#include <unistd.h>

#include "server/cli/config.h"
#include "tests/testing.h"

int testing_failures;

static enum err read_text(struct config *c, const char *text, struct fault *f)
{
    *f = (struct fault){0};
    config_init(c);
    return config_read_json(c, text, strlen(text), f);
}

static void defaults_are_valid_and_print_as_they_are_read(void)
{
    static struct config c, again;
    struct fault f = {0};
    (void)setenv("XDG_DATA_HOME", "/tmp/data-home", 1);
    config_init(&c);
    EXPECT(strcmp(c.data, "/tmp/data-home/sinew") == 0);
    EXPECT(strcmp(c.http.host, "127.0.0.1") == 0 && c.http.port == 7480);
    EXPECT(c.tls.set && c.tls.port == 7443 && !c.osc.set && !c.admin.set && !c.plain_anywhere);
    EXPECT(config_read_json(&c,
                            "{\"osc\": \"[::1]:39539-39550\", \"models\": [\"a=x/y.glb\", "
                            "{\"file\": \"fox.glb\"}], \"allowed_origins\": [\"https://a.b\"]}",
                            strlen("{\"osc\": \"[::1]:39539-39550\", \"models\": [\"a=x/y.glb\", "
                                   "{\"file\": \"fox.glb\"}], \"allowed_origins\": "
                                   "[\"https://a.b\"]}"),
                            &f) == ERR_OK);
    if (f.code) printf("  %s\n", f.line);
    EXPECT(c.model_count == 2 && strcmp(c.models[1].name, "fox") == 0);
    char *text = config_print(&c), *text_again = NULL;
    config_init(&again);
    EXPECT(text && config_read_json(&again, text, strlen(text), &f) == ERR_OK);
    text_again = config_print(&again);
    EXPECT(text && text_again && strcmp(text, text_again) == 0);
    EXPECT(strstr(text, "\"[::1]:39539-39550\"") != NULL);
    free(text);
    free(text_again);
}

static void errors_name_the_place_and_what_to_do(void)
{
    static const struct {
        const char *text, *line;
        enum err e;
    } cases[] = {
        {"{\"tick_hz\": 29}", "$.tick_hz: must be a whole number from 30 to 120", ERR_LIMIT},
        {"{\"tick_hz\": 121}", "$.tick_hz:", ERR_LIMIT},
        {"{\"tick_hz\": 60.5}", "$.tick_hz:", ERR_LIMIT},
        {"{\"tick_hz\": 1e30}", "$.tick_hz:", ERR_LIMIT},
        {"{\"tick_hz\": \"60\"}", "$.tick_hz: must be a number", ERR_MALFORMED},
        {"{\"limits\": {\"sessions\": 0}}", "$.limits.sessions:", ERR_LIMIT},
        {"{\"limits\": {\"sesions\": 5}}", "$.limits.sesions: there is no such", ERR_NOT_FOUND},
        {"{\"limits\": 5}", "$.limits: must be an object", ERR_MALFORMED},
        {"{\"limits.sessions\": 5}", NULL, ERR_OK}, // the dotted spelling of flags
        {"{\"htp\": \":80\"}", "$.htp: there is no such setting", ERR_NOT_FOUND},
        {"{\"http\": \"80\"}", "$.http: \"80\" is not HOST:PORT", ERR_MALFORMED},
        {"{\"http\": \"::1:80\"}", "brackets", ERR_MALFORMED},
        {"{\"http\": \"a:65536\"}", "$.http:", ERR_LIMIT},
        {"{\"http\": \"a:1-2\"}", "$.http:", ERR_MALFORMED}, // no range here
        {"{\"osc\": \"a:9-2\"}", "backwards", ERR_MALFORMED},
        {"{\"plain_anywhere\": 1}", "$.plain_anywhere: must be true or false", ERR_MALFORMED},
        {"{\"log\": {\"level\": \"loud\"}}", "$.log.level: \"loud\" is none of:", ERR_MALFORMED},
        {"{\"log\": {\"level\": \"debug info\"}}", "$.log.level:", ERR_MALFORMED},
        {"{\"models\": [\"a/x.glb\", \"b/x.glb\"]}", "two models are named \"x\"", ERR_AMBIGUOUS},
        {"{\"models\": [5]}", "$.models: entries must be texts", ERR_MALFORMED},
        {"{\"models\": [{\"file\": \"a\", \"extra\": 1}]}", "$.models:", ERR_MALFORMED},
        {"{\"allowed_origins\": [\"*\"]}", "is not https://host", ERR_MALFORMED},
        {"{\"allowed_origins\": \"https://a\"}", "$.allowed_origins: must be a list",
         ERR_MALFORMED},
        {"[]", "$: must be an object", ERR_MALFORMED},
        {"{\"tick_hz\": 60,}", "", ERR_MALFORMED},
        {"", "", ERR_MALFORMED},
    };
    static struct config c, before;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fault f;
        enum err e = read_text(&c, cases[i].text, &f);
        bool same_kind = cases[i].e == ERR_OK ? e == ERR_OK : e != ERR_OK;
        bool ok = same_kind && (!cases[i].line || strstr(f.line, cases[i].line));
        if (*cases[i].text && cases[i].line && *cases[i].line) ok = ok && e == cases[i].e;
        EXPECT(ok);
        if (!ok) printf("  %s -> %s: %s\n", cases[i].text, err_name(e), f.line);
        config_init(&before);
        if (e != ERR_OK) EXPECT(memcmp(&c, &before, sizeof c) == 0); // untouched
    }
}

static enum err read_flags(struct config *c, struct fault *f, int argc, char *const *argv)
{
    *f = (struct fault){0};
    config_init(c);
    return config_read_flags(c, argc, argv, f);
}
#define FLAGS(c, f, ...)                                                                           \
    read_flags((c), (f), (int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)),                  \
               (char *[]){__VA_ARGS__})

static void flags_go_over_the_file_wherever_it_stands(void)
{
    static struct config c;
    struct fault f;
    char path[] = "/tmp/sinew-config-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "{\"tick_hz\": 90, \"drain_s\": 3, \"models\": [\"fox.glb\"]}";
    EXPECT(write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    (void)close(fd);
    EXPECT(FLAGS(&c, &f, "--tick-hz", "30", "--config", path, "--model", "b=man.glb",
                 "--model=cat.vrm", "--plain-anywhere", "--http=0.0.0.0:0", "--allow-origin",
                 "https://game.example") == ERR_OK);
    if (f.code) printf("  %s\n", f.line);
    EXPECT(c.tick_hz == 30 && c.drain_s == 3 && c.plain_anywhere);
    EXPECT(c.model_count == 3 && strcmp(c.models[1].name, "b") == 0);
    EXPECT(strcmp(c.models[2].name, "cat") == 0 && strcmp(c.models[2].path, "cat.vrm") == 0);
    EXPECT(strcmp(c.http.host, "0.0.0.0") == 0 && c.http.port == 0);
    EXPECT(c.origin_count == 1);
    (void)unlink(path);
    EXPECT(FLAGS(&c, &f, "--config", path) == ERR_IO);
    EXPECT(strstr(f.line, path) != NULL);
}

static void wrong_flags_are_usage_errors(void)
{
    static struct config c;
    struct fault f;
    EXPECT(FLAGS(&c, &f, "--nope") == ERR_USAGE && strstr(f.line, "--nope"));
    EXPECT(FLAGS(&c, &f, "model.glb") == ERR_USAGE);
    EXPECT(FLAGS(&c, &f, "--http") == ERR_USAGE && strstr(f.line, "needs a value"));
    EXPECT(FLAGS(&c, &f, "--plain-anywhere=yes") == ERR_USAGE);
    EXPECT(FLAGS(&c, &f, "--tick-hz", "fast") == ERR_USAGE && strstr(f.line, "--tick-hz"));
    EXPECT(FLAGS(&c, &f, "--tick-hz", "200") == ERR_USAGE);
    EXPECT(FLAGS(&c, &f, "--certificate", "a.pem") == ERR_USAGE && strstr(f.line, "key"));
    EXPECT(FLAGS(&c, &f, "--model", "=x") == ERR_USAGE);
}

static void endpoints_and_models_are_read_as_documented(void)
{
    struct config_endpoint e;
    struct config_model m;
    EXPECT(config_parse_endpoint("[2001:db8::1]:443", false, &e, NULL) == ERR_OK);
    EXPECT(strcmp(e.host, "2001:db8::1") == 0 && e.port == 443 && e.port_last == 443);
    EXPECT(config_parse_endpoint(":7443", false, &e, NULL) == ERR_OK && e.host[0] == 0);
    EXPECT(config_parse_endpoint("h:1-2", true, &e, NULL) == ERR_OK && e.port_last == 2);
    static const char *const bad[] = {"",       ":",    "h:",       "h:1x", "[::1]", "[]:1",
                                      "[::1:1", "h:-1", "h:999999", "h:1-", "h:-2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT(config_parse_endpoint(bad[i], true, &e, NULL) != ERR_OK);
    EXPECT(config_parse_model("../a.b/Fox.v2.glb", &m, NULL) == ERR_OK);
    EXPECT(strcmp(m.name, "Fox.v2") == 0 && strcmp(m.path, "../a.b/Fox.v2.glb") == 0);
    EXPECT(config_parse_model("dir/a=b.glb", &m, NULL) == ERR_OK);
    EXPECT(strcmp(m.name, "a=b") == 0 && strcmp(m.path, "dir/a=b.glb") == 0);
    EXPECT(config_parse_model("hero=dir/a=b.glb", &m, NULL) == ERR_OK);
    EXPECT(strcmp(m.name, "hero") == 0 && strcmp(m.path, "dir/a=b.glb") == 0);
    EXPECT(config_parse_model("x/", &m, NULL) != ERR_OK);
}

static void the_usage_names_every_flag(void)
{
    char *usage = config_print_usage(), *schema = config_print_schema();
    static const char *const flags[] = {"--http",           "--tls",   "--osc",  "--admin",
                                        "--plain-anywhere", "--model", "--data", "--drain",
                                        "--tick-hz"};
    for (size_t i = 0; usage && i < sizeof flags / sizeof flags[0]; i++)
        EXPECT(strstr(usage, flags[i]) != NULL);
    EXPECT(schema && strstr(schema, "limits.sessions_per_address") && strstr(schema, "30..120"));
    free(usage);
    free(schema);
}

int main(void)
{
    RUN(defaults_are_valid_and_print_as_they_are_read);
    RUN(errors_name_the_place_and_what_to_do);
    RUN(flags_go_over_the_file_wherever_it_stands);
    RUN(wrong_flags_are_usage_errors);
    RUN(endpoints_and_models_are_read_as_documented);
    RUN(the_usage_names_every_flag);
    TESTING_MAIN_END;
}
