#include "client/cli/report.h"

#include <cjson/cJSON.h>
#include <stdio.h>

void report_percentiles(cJSON *object, const char *name, const struct sinew_percentiles *p)
{
    cJSON *o = cJSON_AddObjectToObject(object, name);
    cJSON_AddNumberToObject(o, "count", (double)p->count);
    cJSON_AddNumberToObject(o, "p50", p->p50_us);
    cJSON_AddNumberToObject(o, "p90", p->p90_us);
    cJSON_AddNumberToObject(o, "p99", p->p99_us);
    cJSON_AddNumberToObject(o, "max", p->max_us);
}

static double bits_per_vertex(const struct sinew_stats *s)
{
    return s->vertices ? (double)s->vertex_bits / (double)s->vertices : 0;
}

static double rate_hz(const struct sinew_stats *s)
{
    return s->joined_s > 0 ? (double)s->frames_own / s->joined_s : 0;
}

cJSON *report_stats(const struct sinew_stats *s)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "seconds", s->joined_s);
    cJSON_AddNumberToObject(o, "frames", (double)s->frames_own);
    cJSON_AddNumberToObject(o, "frames_all_actors", (double)s->frames);
    cJSON_AddNumberToObject(o, "rate_hz", rate_hz(s));
    cJSON_AddNumberToObject(o, "tick_hz", s->tick_hz);
    cJSON_AddNumberToObject(o, "granted_rate_hz", s->granted.rate_hz);
    cJSON_AddNumberToObject(o, "granted_bits", s->granted.bits);
    cJSON_AddNumberToObject(o, "frames_missed", (double)s->frames_missed);
    cJSON_AddNumberToObject(o, "frames_undecoded", (double)s->frames_undecoded);
    cJSON_AddNumberToObject(o, "frames_key", (double)s->frames_key);
    cJSON_AddNumberToObject(o, "resyncs", (double)s->resyncs);
    cJSON_AddNumberToObject(o, "reconnects", (double)s->reconnects);
    cJSON_AddNumberToObject(o, "bits_per_vertex_per_frame", bits_per_vertex(s));
    cJSON_AddNumberToObject(o, "bytes_in", (double)s->bytes_in);
    cJSON_AddNumberToObject(o, "bytes_out", (double)s->bytes_out);
    cJSON_AddNumberToObject(o, "clock_offset_us", (double)s->clock_offset_us);
    cJSON_AddNumberToObject(o, "clock_error_us", s->clock_error_us);
    report_percentiles(o, "age_us", &s->age_us);
    report_percentiles(o, "latency_us", &s->latency_us);
    report_percentiles(o, "interval_us", &s->interval_us);
    report_percentiles(o, "rtt_us", &s->rtt_us);
    return o;
}

static void line(const char *name, const struct sinew_percentiles *p)
{
    if (p->count == 0) return;
    (void)printf("  %-11s p50 %.2f ms, p90 %.2f ms, p99 %.2f ms, worst %.2f ms\n", name,
                 p->p50_us / 1e3, p->p90_us / 1e3, p->p99_us / 1e3, p->max_us / 1e3);
}

void report_lines(const struct sinew_stats *s)
{
    double seconds = s->joined_s > 0 ? s->joined_s : 1;
    (void)printf("  frames      %llu in %.2f s: %.2f a second of %u asked; %llu missed, "
                 "%llu damaged, %llu key\n",
                 (unsigned long long)s->frames_own, s->joined_s, rate_hz(s), s->granted.rate_hz,
                 (unsigned long long)s->frames_missed, (unsigned long long)s->frames_undecoded,
                 (unsigned long long)s->frames_key);
    (void)printf("  size        %.2f bits a vertex a frame, %.1f kB a second in, %.1f kB out\n",
                 bits_per_vertex(s), (double)s->bytes_in / seconds / 1e3,
                 (double)s->bytes_out / seconds / 1e3);
    line("age", &s->age_us);
    line("latency", &s->latency_us);
    line("interval", &s->interval_us);
    line("round trip", &s->rtt_us);
}

void report_clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
}

void report_print(cJSON *object)
{
    char *text = cJSON_Print(object);
    (void)puts(text ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(object);
}
