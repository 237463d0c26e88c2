/* Table of lock edits on the sample face and real rigs, for docs/locks.md: sixteen edits on each,
 * with the locked part, how far it was quieted, and what that cost. `make evidence` runs it.
 *
 *   locks_on_real_rigs DATA_FOLDER > table.md */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "sinew/sinew.h"

enum { MAX_FILES = 256, MAX_EDITS = 16 };

/* A lock is the vertices that one of the named targets moves over `share` of its largest motion;
 * names stand for both sides where there are two. */
typedef struct edit {
    const char *title;
    const char *core[2];
    double share;
    unsigned axes;
    const char *from, *to;
} edit;

static const edit EDITS[MAX_EDITS] = {
    {"brow kept, smile",
     {"browInnerUp", "browOuterUp"},
     0.5,
     7,
     "browInnerUp=0.6,browOuterUp=0.4",
     "mouthSmile=1"},
    {"brow kept, jaw opens",
     {"browInnerUp", "browOuterUp"},
     0.5,
     7,
     "browInnerUp=0.6,browOuterUp=0.4",
     "jawOpen=1"},
    {"brow kept, funnel and pucker",
     {"browInnerUp", "browOuterUp"},
     0.5,
     7,
     "browInnerUp=0.6,browOuterUp=0.4",
     "mouthFunnel=0.5,mouthPucker=0.5"},
    {"brow kept, nose sneer",
     {"browInnerUp", "browOuterUp"},
     0.5,
     7,
     "browInnerUp=0.6,browOuterUp=0.4",
     "noseSneer=1"},
    {"brow kept, blink",
     {"browInnerUp", "browOuterUp"},
     0.5,
     7,
     "browInnerUp=0.6,browOuterUp=0.4",
     "eyeBlink=1"},
    {"lids kept, brow up",
     {"eyeBlink", NULL},
     0.5,
     7,
     "eyeBlink=0.4",
     "browInnerUp=0.7,browOuterUp=0.7"},
    {"left lid kept, cheek squint", {"eyeBlink_L", NULL}, 0.5, 7, "eyeBlink=0.3", "cheekSquint=1"},
    {"left lid kept, eye squint", {"eyeBlink_L", NULL}, 0.5, 7, "eyeBlink=0.3", "eyeSquint=1"},
    {"upper lip kept, jaw opens", {"mouthUpperUp", NULL}, 0.6, 7, "", "jawOpen=1"},
    {"upper lip kept, nose sneer", {"mouthUpperUp", NULL}, 0.6, 7, "", "noseSneer=1"},
    {"corners kept in y, smile", {"mouthSmile", NULL}, 0.85, SINEW_AXIS_Y, "", "mouthSmile=1"},
    {"corners kept, jaw opens", {"mouthSmile", NULL}, 0.85, 7, "mouthSmile=0.5", "jawOpen=1"},
    {"nose kept, upper lip up", {"noseSneer", NULL}, 0.7, 7, "", "mouthUpperUp=1"},
    {"cheek kept, smile", {"cheekSquint", NULL}, 0.7, 7, "", "mouthSmile=1"},
    {"lower lip kept, jaw opens", {"mouthLowerDown", NULL}, 0.6, 7, "", "jawOpen=1"},
    {"chin kept, lower lip down", {"mouthShrugLower", NULL}, 0.7, 7, "", "mouthLowerDown=1"}};

static void stop(const char *what, const sinew_error *error) {
    fprintf(stderr, "locks_on_real_rigs: %s: %s\n", what, error->message);
    exit(1);
}

/* --- rigs --- */

static sinew_rig *read_rig(const char *data, const char *neutral, const char *targets,
                           const char *skip) {
    sinew_error error = {0};
    sinew_rig *rig = NULL;
    if (!neutral) {
        if (sinew_sample_rig("face", NULL, &rig, &error) != SINEW_OK) stop("face", &error);
        return rig;
    }
    char *base = sn_path_join(data, neutral), *folder = sn_path_join(data, targets);
    char **names = NULL, *paths[MAX_FILES] = {base};
    int found = 0, count = 1;
    if (sn_folder_list(folder, &names, &found, &error) != SINEW_OK) found = 0;
    for (int i = 0; i < found && count < MAX_FILES; i++) {
        if (!sn_has_ending(names[i], "target")) continue;
        if (skip && strncmp(names[i], skip, strlen(skip)) == 0) continue;
        paths[count++] = sn_path_join(folder, names[i]);
    }
    if (sinew_rig_read(count, (const char *const *)paths, &rig, &error) != SINEW_OK)
        fprintf(stderr, "SKIP %s: %s\n", neutral, error.message);
    for (int i = 0; i < count; i++) sinew_free(paths[i]);
    if (names) sn_names_free(names, found);
    sinew_free(folder);
    return rig;
}

/* --- edits --- */

static int core_of(const sinew_rig *rig, const edit *e, int *vertices) {
    int n = rig->neutral->vertex_count, count = 0;
    char *in = calloc((size_t)n, 1);
    for (int s = 0; s < 2 && e->core[s]; s++) {
        int sliders[2], found = sinew_rig_match(rig, e->core[s], sliders);
        for (int f = 0; f < found; f++) {
            const sinew_target *t = rig->targets;
            while (t->kind != SINEW_TARGET_KIND_PLAIN || t->slider != sliders[f]) t++;
            double largest = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int i = 0; i < t->count; i++) {
                    const double *d = t->deltas + 3 * (size_t)i;
                    double size = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
                    if (pass == 0)
                        largest = fmax(largest, size);
                    else if (size > e->share * largest)
                        in[t->vertices[i]] = 1;
                }
        }
    }
    for (int v = 0; v < n; v++)
        if (in[v]) vertices[count++] = v;
    free(in);
    return count;
}

typedef struct figures {
    double reduction, kept, cosine, share;
} figures;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int count, const figures *f, size_t field) {
    double values[MAX_EDITS];
    for (int i = 0; i < count; i++) values[i] = *(const double *)((const char *)&f[i] + field);
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* One pass over the edits; medians are over those whose locked motion can be seen (RMS above 0.05%
 * of the mesh's diagonal), since a lock has nothing to do in the others. Prints a row
 * each when wanted. */
static void run(const char *name, const sinew_rig *rig, const sinew_slider_space *space,
                const sinew_lock_options *options, const char *mode, bool rows, bool medians) {
    sinew_error error = {0};
    size_t s = (size_t)rig->slider_count;
    int *vertices = malloc(sizeof(int) * (size_t)rig->neutral->vertex_count);
    double *from = malloc(s * sizeof(double)), *asked = malloc(s * sizeof(double));
    double *given = malloc(s * sizeof(double));
    figures all[MAX_EDITS];
    int count = 0, conflicts = 0;
    double visible =
        SINEW_LOCK_DEAD_ZONE * sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    for (int i = 0; i < MAX_EDITS; i++) {
        const edit *e = &EDITS[i];
        sinew_locks *locks;
        sinew_lock_info info = {.size = sizeof info};
        sinew_rig_rest_weights(rig, from);
        if (sinew_rig_parse_weights(rig, e->from, from, &error) != SINEW_OK) continue;
        memcpy(asked, from, s * sizeof(double));
        if (sinew_rig_parse_weights(rig, e->to, asked, &error) != SINEW_OK) continue;
        int locked = core_of(rig, e, vertices);
        if (sinew_locks_create(space, options, &locks, &error) != SINEW_OK ||
            sinew_locks_add(locks, "core", locked, vertices, e->axes, NULL, from, &error) !=
                SINEW_OK ||
            sinew_locks_apply(locks, from, asked, given, &info, &error) != SINEW_OK)
            stop(e->title, &error);
        if (rows)
            printf(
                "| %s | %s | %d | %.2f%% → %.3f%% | %.1f | %.2f | %.2f | %.2f | %.2f … %.2f | %d "
                "| %s |\n",
                name, e->title, locked,
                100 * info.asked_motion / sinew_slider_space_diagonal(space),
                100 * info.given_motion / sinew_slider_space_diagonal(space), info.reduction,
                info.kept, info.cosine, info.share, info.lowest, info.highest, info.changed,
                info.conflict ? "same motion" : "");
        if (info.asked_motion > visible) {
            all[count++] = (figures){info.reduction, info.kept, info.cosine, info.share};
            conflicts += info.conflict;
        }
        sinew_locks_destroy(locks);
    }
    if (medians && count > 0)
        printf("| %s | %s | %g× | %d | %.1f | %.2f | %.2f | %.2f | %d |\n", name, mode,
               options->alpha, count, median(count, all, offsetof(figures, reduction)),
               median(count, all, offsetof(figures, kept)),
               median(count, all, offsetof(figures, cosine)),
               median(count, all, offsetof(figures, share)), conflicts);
    free(vertices);
    free(from);
    free(asked);
    free(given);
}

/* --- departures from the paper --- */

/* What the departures are for, each figure over the sixteen edits. */
typedef struct departures {
    double lowest[2], highest[2]; /* weights without limits, without and with the ridge */
    int edits, clamped_worse[2];  /* keep, trade: locked motion above that of no lock at all */
    double share[2]; /* least share of the asked sliders where the locked motion cannot be
                        seen, without and with dead zone */
    const char *share_of[2];
    double alpha_ratio; /* counting all coordinates over counting those that move, largest */
} departures;

static sinew_lock_info attenuate(sinew_locks *locks, const sinew_lock_options *options,
                                 const double *from, const double *asked, double *given,
                                 const char *title) {
    sinew_error error = {0};
    sinew_lock_info info = {.size = sizeof info};
    if (sinew_locks_set_options(locks, options, &error) != SINEW_OK ||
        sinew_locks_apply(locks, from, asked, given, &info, &error) != SINEW_OK)
        stop(title, &error);
    return info;
}

static void compare_ways(const sinew_rig *rig, const sinew_slider_space *space, const edit *e,
                         sinew_locks *locks, const double *from, const double *asked, double *given,
                         departures *d) {
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    options.bounded = false;
    options.dead_zone = 0;
    options.mode = SINEW_LOCK_MODE_TRADE;
    for (int i = 0; i < 2; i++) {
        options.ridge = i ? SINEW_LOCK_RIDGE : 0;
        sinew_lock_info info = attenuate(locks, &options, from, asked, given, e->title);
        d->lowest[i] = fmin(d->lowest[i], info.lowest);
        d->highest[i] = fmax(d->highest[i], info.highest);
    }
    for (int i = 0; i < 2; i++) {
        options.mode = i ? SINEW_LOCK_MODE_TRADE : SINEW_LOCK_MODE_KEEP;
        attenuate(locks, &options, from, asked, given, e->title);
        for (int k = 0; k < rig->slider_count; k++)
            given[k] = fmin(fmax(given[k], rig->sliders[k].minimum), rig->sliders[k].maximum);
        sinew_lock_options measure = options;
        measure.alpha = 0; /* gives what is asked */
        double clamped = attenuate(locks, &measure, from, given, given, e->title).asked_motion;
        double none = attenuate(locks, &measure, from, asked, given, e->title).asked_motion;
        d->clamped_worse[i] += clamped > none * (1 + 1e-9);
    }
    d->edits++;
    options.bounded = true;
    options.alpha = 100; /* an artist who raises it to hold */
    for (int i = 0; i < 2; i++) {
        options.dead_zone = i ? SINEW_LOCK_DEAD_ZONE : 0;
        sinew_lock_info info = attenuate(locks, &options, from, asked, given, e->title);
        double visible = SINEW_LOCK_DEAD_ZONE *
                         sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
        if (info.asked_motion > visible || info.share >= d->share[i]) continue;
        d->share[i] = info.share;
        d->share_of[i] = e->title;
    }
    double all = 3.0 * rig->neutral->vertex_count, held = sinew_locks_coordinates(locks);
    d->alpha_ratio = fmax(d->alpha_ratio, (all - held) / (sinew_slider_space_moved(space) - held));
}

static void print_departures(const char *name, const sinew_rig *rig,
                             const sinew_slider_space *space) {
    sinew_error error = {0};
    size_t s = (size_t)rig->slider_count;
    int *vertices = malloc(sizeof(int) * (size_t)rig->neutral->vertex_count);
    double *from = malloc(s * sizeof(double)), *asked = malloc(s * sizeof(double));
    double *given = malloc(s * sizeof(double));
    departures d = {.share = {INFINITY, INFINITY}};
    for (int i = 0; i < MAX_EDITS; i++) {
        sinew_locks *locks;
        sinew_rig_rest_weights(rig, from);
        if (sinew_rig_parse_weights(rig, EDITS[i].from, from, &error) != SINEW_OK) continue;
        memcpy(asked, from, s * sizeof(double));
        if (sinew_rig_parse_weights(rig, EDITS[i].to, asked, &error) != SINEW_OK) continue;
        int locked = core_of(rig, &EDITS[i], vertices);
        if (sinew_locks_create(space, NULL, &locks, &error) != SINEW_OK ||
            sinew_locks_add(locks, "core", locked, vertices, EDITS[i].axes, NULL, from, &error) !=
                SINEW_OK)
            stop(EDITS[i].title, &error);
        compare_ways(rig, space, &EDITS[i], locks, from, asked, given, &d);
        sinew_locks_destroy(locks);
    }
    printf("| %s | %.2f … %.2f | %.2f … %.2f | %d, %d of %d | %.2f (%s) | %.2f (%s) | %.1f |\n",
           name, d.lowest[0], d.highest[0], d.lowest[1], d.highest[1], d.clamped_worse[0],
           d.clamped_worse[1], d.edits, d.share[0], d.share_of[0], d.share[1], d.share_of[1],
           d.alpha_ratio);
    free(vertices);
    free(from);
    free(asked);
    free(given);
}

int main(int argc, char **argv) {
    const char *data = argc > 1 ? argv[1] : "../shared/data";
    const struct {
        const char *name, *neutral, *targets, *skip;
    } sets[] = {{"sample face", NULL, NULL, NULL},
                {"ICT-FaceKit", "free/ict-facekit/generic_neutral_mesh.obj",
                 "free/ict-facekit/targets", "identity"},
                {"MakeHuman", "free/makehuman/base.obj", "free/makehuman/arkit", NULL},
                {"Face Cap", "free/facecap/head.obj", "free/facecap/targets", NULL}};
    enum { SETS = 4 };
    sinew_rig *rigs[SETS];
    sinew_slider_space *spaces[SETS] = {0};
    sinew_error error = {0};
    for (int i = 0; i < SETS; i++) {
        rigs[i] = read_rig(data, sets[i].neutral, sets[i].targets, sets[i].skip);
        if (rigs[i] && sinew_slider_space_create(rigs[i], &spaces[i], &error) != SINEW_OK)
            stop(sets[i].name, &error);
    }
    printf(
        "| rig | mode | alpha | edits | reduction | kept | cosine | weights kept | same motion |\n"
        "|---|---|---|---|---|---|---|---|---|\n");
    const struct {
        const char *name;
        sinew_lock_mode mode;
        bool bounded;
        double dead_zone;
        int alphas;
    } ways[] = {{"keep", SINEW_LOCK_MODE_KEEP, true, SINEW_LOCK_DEAD_ZONE, 4},
                {"keep, no dead zone", SINEW_LOCK_MODE_KEEP, true, 0, 1},
                {"trade", SINEW_LOCK_MODE_TRADE, true, SINEW_LOCK_DEAD_ZONE, 4},
                {"trade, no dead zone", SINEW_LOCK_MODE_TRADE, true, 0, 1},
                {"trade, no limits, no dead zone", SINEW_LOCK_MODE_TRADE, false, 0, 1}};
    const double alphas[] = {1, 3, 5, 10};
    for (int way = 0; way < 5; way++)
        for (int i = 0; i < SETS; i++)
            for (int a = 0; a < ways[way].alphas; a++) {
                sinew_lock_options options;
                sinew_lock_options_init(&options);
                options.alpha = alphas[a];
                options.mode = ways[way].mode;
                options.bounded = ways[way].bounded;
                options.dead_zone = ways[way].dead_zone;
                if (rigs[i])
                    run(sets[i].name, rigs[i], spaces[i], &options, ways[way].name, false, true);
            }
    printf(
        "\n| rig | edit | locked vertices | locked motion, fraction of the diagonal | reduction | "
        "kept | cosine | weights kept | weights | sliders changed | |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n");
    sinew_lock_options options;
    sinew_lock_options_init(&options);
    for (int i = 0; i < SETS; i++)
        if (rigs[i]) run(sets[i].name, rigs[i], spaces[i], &options, "keep", true, false);
    printf("\n| rig | weights without limits and ridge | with the ridge | clamped: worse than no "
           "lock, keep, trade | fewest weights kept in an edit whose locked motion is invisible, "
           "trade, 100× alpha, no dead zone | with dead zone | alpha, all "
           "coordinates over moved |\n|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < SETS; i++)
        if (rigs[i]) print_departures(sets[i].name, rigs[i], spaces[i]);
    for (int i = 0; i < SETS; i++) {
        sinew_slider_space_destroy(spaces[i]);
        sinew_rig_destroy(rigs[i]);
    }
    return 0;
}
