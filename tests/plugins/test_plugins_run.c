// Third parties' extras: what the samples do, and what is done about those that misbehave.
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/stage/dance.h"
#include "tests/testing.h"
int testing_failures;

static const char mira[] = "tests/assets/characters/mira.rig.json";
static const struct plugin_host_options offline = {.folder = PLUGINS_FOLDER,
                                                   .helper = PLUGINS_HELPER};
static struct dance d;

static struct plugin_host *open_host(const struct plugin_host_options *options)
{
    struct plugin_host *h = NULL;
    EXPECT(plugin_host_create(options, &h, NULL) == ERR_OK);
    return h;
}

// mira with one plugin, or more behind it, around her spine.
static bool open_with(const char *library, const char *settings, bool isolate, const char *more,
                      bool plain)
{
    char extras[1024];
    snprintf(extras, sizeof extras,
             "[{\"type\": \"plugin\", \"name\": \"theirs\", \"library\": \"%s\", \"settings\": %s, "
             "\"isolate\": %s, \"joint\": \"spine\", \"radius_m\": 0.3}%s]",
             library, settings, isolate ? "true" : "false", more);
    bool opened = dance_open(&d, mira, extras, plain, NULL);
    EXPECT(opened);
    return opened;
}

static void run_to(struct body *b, double t)
{
    body_before_tick(b);
    dance_to(b, t);
}

// ---- samples ------------------------------------------------------------------------------

static void check_dance(const char *library, const char *settings, bool isolate, const char *more)
{
    struct plugin_host *h = open_host(&offline);
    struct body both, alone, corrected, plain;
    double worst = 0, swing = 0, rest;
    if (!open_with(library, settings, isolate, more, false)) return;
    d.plugins = h;
    dance_body(&d, "Dance", 0, &both);
    dance_body(&d, "Dance", DANCE_CORRECTIVES, &alone);
    dance_body(&d, "Dance", DANCE_EXTRAS, &corrected);
    dance_body(&d, "Dance", DANCE_EXTRAS | DANCE_CORRECTIVES, &plain);
    struct body *all[] = {&both, &alone, &corrected, &plain};
    for (int tick = 0; tick <= 450; tick++) { // 30 s
        for (int i = 0; i < 4; i++)
            run_to(all[i], tick / 15.0);
        worst = fmax(worst, dance_difference(&both, &alone, &corrected, &plain));
        swing = fmax(swing, dance_distance(&alone, &plain));
    }
    // Then a pose that holds.
    for (int i = 0; i < 4; i++) {
        all[i]->state.posed = true;
        all[i]->state.clip = all[i]->options.default_clip;
        all[i]->state.time_s = 2;
        all[i]->change++;
    }
    for (int tick = 451; tick <= 900; tick++)
        for (int i = 0; i < 4; i++)
            run_to(all[i], tick / 15.0);
    rest = dance_distance(&both, &corrected);
    printf("  %s%s: displaces by up to %.3g, identity 3 to %.2g, at rest off by %.2g of the "
           "diagonal\n",
           library, isolate ? " in a helper" : "", swing, worst / d.diagonal, rest / d.diagonal);
    EXPECT(swing > 1e-3);
    EXPECT(worst <= 1e-5 * d.diagonal);
    EXPECT(rest <= 1e-5 * d.diagonal);
    for (int i = 0; i < 4; i++)
        body_destroy(all[i]);
    plugin_host_destroy(h);
    dance_close(&d);
}

#define JIGGLE                                                                                     \
    ", {\"type\": \"jiggle\", \"name\": \"belly\", \"joint\": \"spine\", \"radius_m\": 0.17}"

static void correctives_are_what_they_are_whatever_others_do(void)
{
    check_dance("libtrail.so", "{}", false, "");
    check_dance("libtrail.so", "{\"seconds\": 0.05}", true, JIGGLE);
}

static bool has_bullet(void)
{
    bool has = access(PLUGINS_FOLDER "/libbullet_soft.so", R_OK) == 0;
    if (!has) printf("  skipped: built without libbullet-dev\n");
    return has;
}

static void a_real_simulator_fits(void)
{
    if (has_bullet()) check_dance("libbullet_soft.so", "{\"pull\": 30}", false, JIGGLE);
}

// The same bits in a helper as here, and in any number of ticks a second nearly the same.
static void a_helper_does_the_same(void)
{
    struct plugin_host *h = open_host(&offline);
    struct body here, there, still;
    if (!open_with("libtrail.so", "{}", false, "", true)) return;
    struct dance isolated = d;
    if (!open_with("libtrail.so", "{}", true, "", true)) return;
    d.plugins = isolated.plugins = h;
    dance_body(&d, "Dance", 0, &there);
    dance_body(&isolated, "Dance", 0, &here);
    dance_body(&d, "Dance", DANCE_EXTRAS, &still);
    for (int tick = 0; tick <= 120; tick++) {
        run_to(&here, tick / 60.0);
        run_to(&there, tick / 60.0);
        run_to(&still, tick / 60.0);
        EXPECT(memcmp(here.blocks, there.blocks, d.model->blocks_count * sizeof *here.blocks) == 0);
    }
    EXPECT(dance_distance(&here, &still) > 1e-3);
    body_destroy(&here);
    body_destroy(&there);
    body_destroy(&still);
    plugin_host_destroy(h);
    dance_close(&d);
    dance_close(&isolated);
}

// A new version of the character goes on where the old one stood.
static void its_state_survives_a_new_version(bool isolate)
{
    struct plugin_host *h = open_host(&offline);
    struct body old, fresh, through;
    if (!open_with("libtrail.so", "{\"seconds\": 0.3}", isolate, "", true)) return;
    d.plugins = h;
    dance_body(&d, "Dance", 0, &old);
    dance_body(&d, "Dance", 0, &through);
    for (int tick = 0; tick <= 60; tick++) {
        run_to(&old, tick / 60.0);
        run_to(&through, tick / 60.0);
    }
    dance_body(&d, "Dance", 0, &fresh);
    body_inherit(&fresh, &old);
    body_destroy(&old);
    for (int tick = 61; tick <= 63; tick++) {
        run_to(&fresh, tick / 60.0);
        run_to(&through, tick / 60.0);
    }
    double off = dance_distance(&fresh, &through);
    printf("  %s: off by %.2g after a new version\n", isolate ? "helper" : "here", off);
    EXPECT(off <= 1e-6);
    body_destroy(&fresh);
    body_destroy(&through);
    plugin_host_destroy(h);
    dance_close(&d);
}

static void states_survive_a_new_version(void)
{
    its_state_survives_a_new_version(false);
    its_state_survives_a_new_version(true);
}

// ---- who is let in ------------------------------------------------------------------------

static void expect_refused(const struct plugin_host_options *options, const char *library,
                           const char *settings, bool isolate, const char *says)
{
    struct plugin_host *h = open_host(options);
    struct body b, without;
    struct plugin_event event = {0};
    if (!open_with(library, settings, isolate, "", true)) return;
    d.plugins = h;
    dance_body(&d, "Dance", 0, &b);
    dance_body(&d, "Dance", DANCE_EXTRAS, &without);
    run_to(&b, 0.1);
    run_to(&without, 0.1);
    EXPECT(body_plugin_event(&b, &event) && event.kind == PLUGIN_EVENT_OFF);
    EXPECT(!body_plugin_event(&b, &event));
    if (!strstr(event.line, says)) printf("  \"%s\" does not say \"%s\"\n", event.line, says);
    EXPECT(strstr(event.line, says) != NULL && strchr(event.line, '\n') == NULL);
    EXPECT(dance_distance(&b, &without) == 0);
    body_destroy(&b);
    body_destroy(&without);
    plugin_host_destroy(h);
    dance_close(&d);
}

static void only_whole_plugins_of_one_folder_are_let_in(void)
{
    struct plugin_host_options nowhere = {.helper = PLUGINS_HELPER};
    char folder[] = "/tmp/sinew_plugins_XXXXXX", path[64];
    struct plugin_host_options other = {.folder = folder, .helper = PLUGINS_HELPER};
    struct plugin_host_options lost = {.folder = PLUGINS_FOLDER, .helper = "/nowhere/at/all"};
    EXPECT(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/libout.so", folder);
    EXPECT(symlink(PLUGINS_FOLDER "/libtrail.so", path) == 0);
    expect_refused(&nowhere, "libtrail.so", "{}", false, "no folder of plugins");
    expect_refused(&offline, "libnone.so", "{}", false, "no such file");
    expect_refused(&other, "libout.so", "{}", false, "leads out of");
    expect_refused(&lost, "libtrail.so", "{}", true, "cannot be started");
    for (int isolate = 0; isolate < 2; isolate++) {
        expect_refused(&offline, "libother_version.so", "{}", isolate, "made for version 2");
        expect_refused(&offline, "libno_entry.so", "{}", isolate, "no sinew_plugin_entry");
        expect_refused(&offline, "libhostile.so", "{\"do\": \"refuse\"}", isolate,
                       "it does not like its settings");
        expect_refused(&offline, "libhostile.so", "{\"do\": \"huge\"}", isolate, "wants more than");
    }
    EXPECT(unlink(path) == 0 && rmdir(folder) == 0);
}

// A rig file cannot name a file elsewhere.
static void names_with_folders_are_refused_when_baking(void)
{
    static const char *const names[] = {"../libtrail.so", "/tmp/x.so", ".hidden", "a/b.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char extras[256], line[384] = "";
        snprintf(extras, sizeof extras, "[{\"type\": \"plugin\", \"library\": \"%s\"}]", names[i]);
        EXPECT(!dance_open(&d, mira, extras, true, line));
        EXPECT(strstr(line, "/extras/0/library") != NULL);
    }
}

// ---- those that misbehave -----------------------------------------------------------------

enum { LIFTS_BY = 100 }; // one part of so many, while it behaves
struct expected {
    const char *what;
    bool isolate, off; // off: it ends switched off within the run
    const char *says;
};

static void expect_contained(const struct expected *x)
{
    const struct plugin_host_options hurried = {.folder = PLUGINS_FOLDER,
                                                .helper = PLUGINS_HELPER,
                                                .budget_us = 8000,
                                                .helper_mb = 96,
                                                .restart_ms = 10,
                                                .clock_ns = clock_ns};
    struct plugin_host *h = open_host(&hurried);
    struct body b, without;
    struct plugin_event event = {0};
    struct plugin_counts counts;
    char settings[64], said[256] = "";
    int lifted = 0;
    bool off = false, strange = false;
    snprintf(settings, sizeof settings, "{\"do\": \"%s\", \"after\": 3}", x->what);
    if (!open_with("libhostile.so", settings, x->isolate, "", true)) return;
    d.plugins = h;
    dance_body(&d, "Dance", 0, &b);
    dance_body(&d, "Dance", DANCE_EXTRAS, &without);
    uint64_t until = clock_ns() + 15000000000u;
    for (int tick = 0; (tick < 260 || !off) && clock_ns() < until && tick < 4000; tick++) {
        plugin_host_tend(h, clock_ns());
        run_to(&b, tick / 60.0);
        run_to(&without, tick / 60.0);
        double moved = dance_distance(&b, &without);
        strange = strange || !(moved < 0.02); // NaN too
        lifted += moved > 0.005;
        while (body_plugin_event(&b, &event)) {
            if (strstr(event.line, x->says)) memcpy(said, event.line, sizeof event.line);
            off = off || event.kind == PLUGIN_EVENT_OFF;
        }
        if (x->isolate) usleep(500);
        if (!x->off && *said && tick > 260) break;
    }
    plugin_host_counts(h, &counts);
    printf(
        "  %s%s: %d frames with it, %llu overruns, %llu skipped, %llu unusable, %llu deaths; %s\n",
        x->what, x->isolate ? " in a helper" : "", lifted, (unsigned long long)counts.overruns,
        (unsigned long long)counts.skipped, (unsigned long long)counts.faults,
        (unsigned long long)counts.deaths, said);
    EXPECT(!strange && lifted >= 1);
    EXPECT(off == x->off);
    EXPECT(*said);
    body_destroy(&b);
    body_destroy(&without);
    plugin_host_destroy(h);
    dance_close(&d);
}

static void who_misbehaves_is_contained(void)
{
    static const struct expected cases[] = {
        {"nan", false, true, "cannot be used"},
        {"nan", true, true, "cannot be used"},
        {"fail", false, true, "cannot be used"},
        {"write", false, true, "outside of its memory"},
        {"write", true, true, "outside of its memory"},
        {"sleep", false, true, "overran"},
        {"sleep", true, true, "overran"},
        {"hang", true, true, "overran"},
        {"abort", true, true, "helper died"},
        {"far", true, true, "helper died"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_contained(&cases[i]);
}

// Under a sanitizer a helper has no limit on its memory: it would not start.
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static void who_leaks_dies_alone(void)
{
#ifdef SANITIZED
    printf("  skipped: helpers have no limit on memory under this sanitizer\n");
#else
    expect_contained(&(struct expected){"leak", true, true, "helper died"});
#endif
}

int main(void)
{
    RUN(correctives_are_what_they_are_whatever_others_do);
    RUN(a_real_simulator_fits);
    RUN(a_helper_does_the_same);
    RUN(states_survive_a_new_version);
    RUN(only_whole_plugins_of_one_folder_are_let_in);
    RUN(names_with_folders_are_refused_when_baking);
    RUN(who_misbehaves_is_contained);
    RUN(who_leaks_dies_alone);
    TESTING_MAIN_END;
}
