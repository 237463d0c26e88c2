/* Runs the cases whose names contain one of the given words (all without words), prints the table,
 * and writes it as JSON and as a plot.
 *
 *   sinew-bench [--list] [--threads N] [--json FILE] [--plot FILE.png] [WORD...] */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"
#include "bench.h"
#include "machine.h"
#include "rooms.h"
#include "sinew/version.h"

enum { MAX_BANDS = 64, MAX_LINES = 512 };

typedef struct line {
    char name[128];
    double seconds, bound;
} line;

struct bench {
    const char *room;
    const bench_case *now;
    json_t *results;
    line lines[MAX_LINES];
    int line_count;
    /* Bandwidths by power of two of the working set and by threads, measured when asked for. */
    struct {
        int power, threads;
        double bytes_per_second;
    } bands[MAX_BANDS];
    int band_count;
    double flops_double, flops_float; /* 0: not measured yet */
    int flops_threads;
};

static int compare_seconds(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

double bench_time(bench *b, void (*work)(void *user), void *user) {
    (void)b;
    enum { LEAST = 5, MOST = 200 };
    double times[MOST], start = sn_now();
    int count = 0;
    work(user);
    double first = sn_now() - start;
    /* Work of minutes is timed once more, not five times. */
    int least = first > 5 ? 1 : LEAST;
    start = sn_now();
    while (count < MOST && (count < least || sn_now() - start < 0.5)) {
        double begin = sn_now();
        work(user);
        times[count++] = sn_now() - begin;
    }
    qsort(times, (size_t)count, sizeof *times, compare_seconds);
    return times[count / 2];
}

double bench_read_bandwidth(bench *b, double working_set) {
    int power = (int)ceil(log2(fmax(working_set, 32768))), threads = sn_threads();
    for (int i = 0; i < b->band_count; i++)
        if (b->bands[i].power == power && b->bands[i].threads == threads)
            return b->bands[i].bytes_per_second;
    double rate = machine_read_bandwidth(fmax(working_set, 32768), threads);
    if (b->band_count < MAX_BANDS) {
        b->bands[b->band_count].power = power;
        b->bands[b->band_count].threads = threads;
        b->bands[b->band_count++].bytes_per_second = rate;
    }
    return rate;
}

static void measure_flops(bench *b) {
    if (b->flops_threads == sn_threads()) return;
    b->flops_threads = sn_threads();
    b->flops_double = machine_flops_double(b->flops_threads);
    b->flops_float = machine_flops_float(b->flops_threads);
}

double bench_flops_double(bench *b) {
    measure_flops(b);
    return b->flops_double;
}
double bench_flops_float(bench *b) {
    measure_flops(b);
    return b->flops_float;
}

static void print_time(double seconds) {
    if (seconds < 1e-3)
        printf("%9.2f us", 1e6 * seconds);
    else if (seconds < 1)
        printf("%9.2f ms", 1e3 * seconds);
    else
        printf("%9.2f s ", seconds);
}

void bench_report_more(bench *b, const char *name, double seconds, double bound, const char *limit,
                       const char *figures) {
    char full[96];
    snprintf(full, sizeof full, "%s/%s%s%s", b->room, b->now->name, name ? " " : "",
             name ? name : "");
    printf("%-44s %2d ", full, sn_threads());
    print_time(seconds);
    printf("  ");
    if (bound > 0) {
        print_time(bound);
        printf("  %7.2f", seconds / bound);
    } else {
        printf("%12s  %7s", "-", "-");
    }
    printf("  %s\n", limit ? limit : "");
    fflush(stdout);
    json_t *entry =
        json_pack("{s:s, s:s, s:i, s:f, s:s}", "case", full, "what", b->now->what, "threads",
                  sn_threads(), "seconds", seconds, "limit", limit ? limit : "");
    if (bound > 0) {
        json_object_set_new(entry, "bound", json_real(bound));
        json_object_set_new(entry, "ratio", json_real(seconds / bound));
    }
    if (figures) {
        char text[2048];
        snprintf(text, sizeof text, "{%s}", figures);
        json_t *more = json_loads(text, 0, NULL);
        if (more) json_object_update(entry, more);
        json_decref(more);
    }
    json_array_append_new(b->results, entry);
    if (b->line_count < MAX_LINES) {
        line *l = &b->lines[b->line_count++];
        snprintf(l->name, sizeof l->name, "%s (%d)", full, sn_threads());
        l->seconds = seconds;
        l->bound = bound;
    }
}

void bench_report(bench *b, const char *name, double seconds, double bound, const char *limit) {
    bench_report_more(b, name, seconds, bound, limit, NULL);
}

void bench_skip(bench *b, const char *why) {
    printf("SKIP %s/%s: %s\n", b->room, b->now->name, why);
}

const char *bench_data(const char *relative) {
    static char path[4096];
    const char *root = getenv("SINEW_DATA");
    snprintf(path, sizeof path, "%s/%s", root && *root ? root : "../shared/data", relative);
    return access(path, R_OK) == 0 ? path : NULL;
}

void bench_need(sinew_status status, const sinew_error *error) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "sinew-bench: %s: %s\n", sinew_status_name(status),
            error ? error->message : "");
    exit(1);
}

static bool wanted(const char *room, const bench_case *c, int count, char **words) {
    char full[96];
    snprintf(full, sizeof full, "%s/%s", room, c->name);
    for (int i = 0; i < count; i++)
        if (strstr(full, words[i])) return true;
    return count == 0;
}

/* Bars of time over bound, one per line that has a bound. */
static void write_plot(const bench *b, const char *path) {
    const char *names[MAX_LINES];
    double values[MAX_LINES];
    int count = 0;
    for (int i = 0; i < b->line_count; i++) {
        if (!(b->lines[i].bound > 0)) continue;
        names[count] = b->lines[i].name;
        values[count++] = b->lines[i].seconds / b->lines[i].bound;
    }
    if (count == 0) return;
    sinew_plot_options options;
    sinew_error error;
    sinew_image *image;
    sinew_plot_options_init(&options);
    options.title = "time over the bound that the machine sets";
    options.x_label = "time / bound";
    options.height = 80 + 26 * count;
    bench_need(sinew_plot_bars(count, names, values, &options, &image, &error), &error);
    bench_need(sinew_image_write(path, image, &error), &error);
    sinew_image_destroy(image);
}

static json_t *machine(bench *b) {
    json_t *bands = json_array();
    for (int i = 0; i < b->band_count; i++)
        json_array_append_new(bands, json_pack("{s:f, s:i, s:f}", "working_set_mb",
                                               pow(2, b->bands[i].power - 20), "threads",
                                               b->bands[i].threads, "gb_per_s",
                                               1e-9 * b->bands[i].bytes_per_second));
    return json_pack("{s:i, s:o, s:f, s:f}", "cores", (int)sysconf(_SC_NPROCESSORS_ONLN),
                     "read_bandwidth", bands, "gflops_double", 1e-9 * bench_flops_double(b),
                     "gflops_float", 1e-9 * bench_flops_float(b));
}

static const char *take_value(int *i, int count, char **words) {
    if (*i + 1 < count) return words[++*i];
    fprintf(stderr, "sinew-bench: %s needs a value\n", words[*i]);
    exit(2);
}

int main(int count, char **words) {
    const char *json_path = NULL, *plot_path = NULL;
    bool list = false;
    int threads = 0, word_count = 0;
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--list"))
            list = true;
        else if (!strcmp(words[i], "--threads"))
            threads = atoi(take_value(&i, count, words));
        else if (!strcmp(words[i], "--json"))
            json_path = take_value(&i, count, words);
        else if (!strcmp(words[i], "--plot"))
            plot_path = take_value(&i, count, words);
        else
            words[word_count++] = words[i];
    }
    static bench b;
    b.results = json_array();
    if (!list)
        printf("%-44s %2s %12s  %12s  %7s  %s\n", "case", "th", "time", "bound", "ratio",
               "what sets the bound");
    for (size_t r = 0; r < sizeof bench_rooms / sizeof *bench_rooms; r++)
        for (const bench_case *c = bench_rooms[r].cases; c->name; c++) {
            b.room = bench_rooms[r].name;
            b.now = c;
            if (!wanted(b.room, c, word_count, words)) continue;
            if (list) {
                printf("%s/%-30s %s\n", b.room, c->name, c->what);
                continue;
            }
            sinew_set_threads(threads); /* a case may change it */
            c->run(&b);
        }
    if (list) {
        json_decref(b.results);
        return 0;
    }
    sinew_set_threads(threads);
    json_t *root = json_pack("{s:s, s:o, s:o}", "version", sinew_version(), "machine", machine(&b),
                             "results", b.results);
    int failed = json_path ? json_dump_file(root, json_path, JSON_INDENT(1)) : 0;
    json_decref(root);
    if (failed) fprintf(stderr, "sinew-bench: %s: cannot be written\n", json_path);
    if (plot_path) write_plot(&b, plot_path);
    return failed != 0;
}
