/* sinew bake: a model's physics as in-betweens and correctives that any engine plays. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "frame.h"
#include "jobs.h"
#include "report.h"

enum { UNSEEN_POSES = 40, UNSEEN_SEED = 77 };
#define CLEARLY   1.1                  /* by which the worst error is worth a warning */
#define MOST_KEPT ((uint64_t)16 << 30) /* bytes of samples in a folder; the oldest are removed */

static const cli_option options[] = {
    {"--out", CLI_OUTPUT, "RIG", "Write the rig with its correctives: .glb, .fbx or a folder.", 0,
     0, false},
    {"--drivers", CLI_OUTPUT, "FILE",
     "Write the driver table, JSON: how slider weights become target weights in an engine.", 0, 0,
     false},
    {"--clip-out", CLI_OUTPUT, "RIG",
     "Write the first --curves clip with all corrective weights as plain animation (.glb, .fbx).",
     0, 0, false},
    {"--model", CLI_CHOICE, "rotation|spring", "Model to bake (default rotation).", 0, 0, false},
    {"--max-targets", CLI_INTEGER, "N", "Maximum number of targets to add (default 40).", 1, 2000,
     false},
    {"--tolerance", CLI_NUMBER, "X",
     "Stop when no vertex is off by more than this fraction of the bounding-box diagonal (default "
     "0.001).",
     0, 1, false},
    {"--style", CLI_CHOICE, "polynomials|inbetweens",
     "Drive few shapes by polynomials of the slider weights, or use only in-betweens and products "
     "of sliders (default polynomials).",
     0, 0, false},
    CLI_GROUP("Poses"),
    {"--curves", CLI_INPUT, "FILE", "Clip that the rig will play; improves the fit there.", 0, 0,
     true},
    {"--unseen", CLI_INPUT, "FILE",
     "Clip to measure the error on (default: random poses that the fit has not seen).", 0, 0, true},
    {"--samples", CLI_INTEGER, "N", "Maximum number of model evaluations (default 2400).", 10, 5000,
     false},
    {"--keep-samples", CLI_TEXT, "FOLDER",
     "Keep all evaluations of the model in this folder: a bake that was interrupted, or is "
     "repeated with other targets, continues with them.",
     0, 0, false},
    {"--contact-samples", CLI_INTEGER, "N",
     "Maximum number of evaluations with self-contact, where surfaces meet (default 600). They "
     "take most of the time: for a first try, give 50.",
     0, 5000, false},
    CLI_GROUP("Rig and contact"),
    {"--sample", CLI_TEXT, "NAME",
     "Use a built-in rig instead of files; 'sinew sample' lists them.", 0, 0, false},
    {"--vertices", CLI_INTEGER, "N", "Approximate number of vertices of the built-in rig.", 1, 1e7,
     false},
    {"--obstacle", CLI_TEXT, "SHAPE", "Obstacle for the spring model, as in 'sinew blend'.", 0, 0,
     true},
    {"--self-contact", CLI_FLAG, NULL,
     "Keep the surface from intersecting itself (spring), or the parts of a face from passing "
     "through each other (rotation).",
     0, 0, false},
    {"--device", CLI_CHOICE, "cpu|auto|gpu",
     "Processor that solves the frames: the CPU (default), a GPU if there is one, or a GPU and an "
     "error if there is none (rotation, spring).",
     0, 0, false},
    CLI_END,
};

static sinew_status add_rig(cli_call *call, json_t *document) {
    const char *sample = cli_text(call, "--sample");
    if (!sample == (call->argument_count == 0))
        return cli_usage(call, "needs a RIG, or --sample NAME; see 'sinew bake --help'");
    json_t *rig = sample ? json_pack("{s:s}", "sample", sample) : json_object();
    json_object_set_new(document, "rig", rig);
    if (cli_given(call, "--vertices"))
        json_object_set_new(rig, "vertices", json_integer(cli_integer(call, "--vertices", 0)));
    if (sample) return SINEW_OK;
    json_t *files = json_array();
    json_object_set_new(rig, "files", files);
    for (int i = 0; i < call->argument_count; i++)
        json_array_append_new(files, json_string(call->arguments[i]));
    return SINEW_OK;
}

/* The scene: rig, model, obstacles. Weights come with each solve. contact: if it is asked for. */
static sinew_status make_scene(cli_call *call, const char *model, bool contact,
                               sinew_scene **scene) {
    json_t *document =
        json_pack("{s:i, s:s, s:{}}", "sinew", SINEW_SCENE_VERSION, "model", model, "weights");
    sinew_status status = add_rig(call, document);
    if (status == SINEW_OK && cli_count(call, "--obstacle") > 0) {
        json_t *list;
        status = cli_read_forms(call, "--obstacle", sinew_text_obstacle, &list);
        for (size_t i = 0; status == SINEW_OK && i < json_array_size(list); i++) {
            const json_t *file = json_object_get(json_array_get(list, i), "file");
            if (file) status = cli_check_input(call, json_string_value(file));
        }
        json_object_set_new(document, "obstacles", list);
    }
    if (status == SINEW_OK && contact)
        status = cli_parameter(call, document, model, "--self-contact", "self_contact");
    if (status == SINEW_OK) status = cli_parameter(call, document, model, "--device", "device");
    if (status == SINEW_OK) return cli_make_scene(call, document, "bake", scene);
    json_decref(document);
    return status;
}

/* A model, and the folder in which its answers are kept, or NULL. */
typedef struct source {
    sinew_scene *scene;
    sinew_session *session;
    sinew_cache *kept;
    sinew_hash hash; /* of all that an answer depends on but the weights */
    int asked;       /* answers that were not kept */
} source;

static sinew_status ask(source *s, const double *weights, double *positions,
                        const sinew_monitor *monitor, sinew_error *error) {
    sinew_input input;
    sinew_result result;
    sinew_input_init(&input);
    sinew_result_init(&result);
    input.weights = weights;
    result.positions = positions;
    s->asked++;
    return sinew_session_solve(s->session, &input, &result, monitor, error);
}

static void add_numbers(sinew_hash *hash, const double *numbers, size_t count) {
    sinew_hash_add(hash, numbers, count * sizeof *numbers);
}

static void hash_source(source *s, const char *model, bool contact) {
    const sinew_rig *rig = sinew_session_rig(s->session);
    const sinew_mesh *mesh = rig->neutral;
    sinew_hash_start(&s->hash);
    sinew_hash_add_text(&s->hash, model);
    sinew_hash_add_number(&s->hash, contact);
    add_numbers(&s->hash, mesh->positions, 3 * (size_t)mesh->vertex_count);
    sinew_hash_add(&s->hash, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(int));
    for (int i = 0; i < rig->slider_count; i++) {
        sinew_hash_add_text(&s->hash, rig->sliders[i].name);
        sinew_hash_add_number(&s->hash, rig->sliders[i].rest);
    }
    for (int t = 0; t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        sinew_hash_add_text(&s->hash, target->name);
        const int numbers[] = {(int)target->kind, target->slider, (int)target->combine};
        sinew_hash_add(&s->hash, numbers, sizeof numbers);
        sinew_hash_add_number(&s->hash, target->at);
        sinew_hash_add(&s->hash, target->drivers,
                       (size_t)target->driver_count * sizeof *target->drivers);
        sinew_hash_add(&s->hash, target->terms, (size_t)target->term_count * sizeof *target->terms);
        sinew_hash_add(&s->hash, target->vertices,
                       (size_t)target->count * sizeof *target->vertices);
        add_numbers(&s->hash, target->deltas, 3 * (size_t)target->count);
    }
}

/* Kept in single precision; rounded when it is new as well, so that the bake is the same. */
static sinew_status ask_and_keep(source *s, sinew_cache_entry *entry, size_t count,
                                 const double *weights, double *positions,
                                 const sinew_monitor *monitor, sinew_error *error) {
    sinew_status status = ask(s, weights, positions, monitor, error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    float *kept = malloc((count + 1) * sizeof *kept);
    if (!kept) return SINEW_NO_MEMORY;
    kept[count] = status == SINEW_OK;
    for (size_t i = 0; i < count; i++) positions[i] = (double)(kept[i] = (float)positions[i]);
    sinew_status stored = sinew_cache_store(entry, kept, (count + 1) * sizeof *kept, error);
    free(kept);
    return stored == SINEW_OK ? status : stored;
}

static sinew_status solve(const double *weights, double *positions, void *user,
                          const sinew_monitor *monitor, sinew_error *error) {
    source *s = user;
    if (!s->kept) return ask(s, weights, positions, monitor, error);
    const sinew_rig *rig = sinew_session_rig(s->session);
    size_t count = 3 * (size_t)rig->neutral->vertex_count;
    sinew_hash hash = s->hash;
    add_numbers(&hash, weights, (size_t)rig->slider_count);
    sinew_cache_entry *entry;
    sinew_status status = sinew_cache_enter(s->kept, sinew_hash_key(&hash),
                                            "answer 1 " SINEW_VERSION, monitor, &entry, error);
    if (status != SINEW_OK) return status;
    const float *kept = entry->bytes;
    if (kept && entry->size == (count + 1) * sizeof *kept) {
        for (size_t i = 0; i < count; i++) positions[i] = (double)kept[i];
        status = kept[count] != 0 ? SINEW_OK : SINEW_NOT_CONVERGED;
    } else {
        status = ask_and_keep(s, entry, count, weights, positions, monitor, error);
    }
    sinew_cache_leave(entry);
    return status;
}

/* Answers of the model on the unseen poses, which are measured twice: before and after. */
typedef struct answers {
    source *model;
    size_t numbers;
    int count, next; /* poses; the one that is asked for next */
    bool known;
    float *positions;
} answers;

static sinew_status solve_once(const double *weights, double *positions, void *user,
                               const sinew_monitor *monitor, sinew_error *error) {
    answers *a = user;
    float *own = a->positions + (size_t)a->next++ * a->numbers;
    sinew_status status = SINEW_OK;
    if (!a->known) {
        status = solve(weights, positions, a->model, monitor, error);
        for (size_t i = 0; i < a->numbers; i++) own[i] = (float)positions[i];
    } else {
        for (size_t i = 0; i < a->numbers; i++) positions[i] = (double)own[i];
    }
    if (a->next == a->count) a->next = 0, a->known = true;
    return status;
}

static sinew_status measure(cli_call *call, source *model, const sinew_rig *baked, int count,
                            const double *rows, sinew_bake_error *before, sinew_bake_error *after) {
    const sinew_rig *rig = sinew_session_rig(model->session);
    answers a = {.model = model, .count = count};
    a.numbers = 3 * (size_t)sinew_mesh_vertex_count(sinew_rig_neutral(rig));
    a.positions = malloc((size_t)count * a.numbers * sizeof *a.positions);
    if (!a.positions) return SINEW_NO_MEMORY;
    sinew_status status =
        sinew_bake_measure(rig, count, rows, solve_once, &a, call->monitor, before, &call->error);
    if (status == SINEW_OK)
        status = sinew_bake_measure(baked, count, rows, solve_once, &a, call->monitor, after,
                                    &call->error);
    free(a.positions);
    return status;
}

/* Rows of slider weights of a clip at its own times, appended to *rows. */
static sinew_status add_clip(cli_call *call, const sinew_rig *rig, const char *path, double **rows,
                             int *count) {
    sinew_curves *bound = NULL;
    size_t n = (size_t)rig->slider_count;
    sinew_status status = cli_read_curves(call, path, rig, NULL, &bound);
    if (status == SINEW_OK) {
        size_t more = (size_t)bound->time_count;
        double *grown = realloc(*rows, ((size_t)*count + more) * n * sizeof **rows);
        if (grown) {
            *rows = grown;
            memcpy(grown + (size_t)*count * n, bound->values, more * n * sizeof **rows);
            *count += (int)more;
        } else {
            status = SINEW_NO_MEMORY;
        }
    }
    sinew_curves_destroy(bound);
    return status;
}

static sinew_status collect(cli_call *call, const sinew_rig *rig, const char *option, double **rows,
                            int *count) {
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < cli_count(call, option); i++)
        status = add_clip(call, rig, cli_text_at(call, option, i), rows, count);
    return status;
}

static sinew_status unseen_rows(cli_call *call, const sinew_rig *rig, double **rows, int *count) {
    if (cli_count(call, "--unseen") > 0) return collect(call, rig, "--unseen", rows, count);
    *count = UNSEEN_POSES;
    *rows = malloc((size_t)UNSEEN_POSES * (size_t)rig->slider_count * sizeof **rows);
    if (!*rows) return SINEW_NO_MEMORY;
    return sinew_bake_poses(rig, UNSEEN_SEED, UNSEEN_POSES, *rows, &call->error);
}

/* "1 corrective", "2 correctives" */
static void name_count(char *text, size_t size, int count, const char *what) {
    snprintf(text, size, "%d %s%s", count, what, count == 1 ? "" : "s");
}

static const char *name_change(double before, double after) {
    return after > before ? "rises" : "drops";
}

static void report(cli_call *call, const sinew_bake_info *info, const sinew_bake_error *before,
                   const sinew_bake_error *after) {
    json_t *totals = json_object_get(call->report, "totals");
    json_object_set_new(totals, "samples", json_integer(info->samples));
    json_object_set_new(totals, "inbetweens", json_integer(info->inbetweens));
    json_object_set_new(totals, "combinations", json_integer(info->combinations));
    json_object_set_new(totals, "unseen_poses", json_integer(before->poses));
    json_object_set_new(totals, "linear_mean", json_real(before->mean));
    json_object_set_new(totals, "linear_worst", json_real(before->worst));
    json_object_set_new(totals, "baked_mean", json_real(after->mean));
    json_object_set_new(totals, "baked_p95", json_real(after->p95));
    json_object_set_new(totals, "baked_worst", json_real(after->worst));
    json_object_set_new(totals, "seconds", json_real(info->seconds));
    char inbetweens[40], correctives[40];
    name_count(inbetweens, sizeof inbetweens, info->inbetweens, "in-between");
    name_count(correctives, sizeof correctives, info->combinations, "corrective");
    bool both = info->inbetweens > 0 && info->combinations > 0;
    cli_say(call, "added %s%s%s, from %d samples in %.1f s", info->inbetweens > 0 ? inbetweens : "",
            both ? " and " : "", info->inbetweens == 0 || both ? correctives : "", info->samples,
            info->seconds);
    cli_say(call,
            "on %d %s, the mean error %s from %.2g%% to %.2g%% of the diagonal (to %.0f%%), and "
            "the worst %s from %.2g%% to %.2g%%",
            before->poses, cli_count(call, "--unseen") > 0 ? "frames" : "unseen poses",
            name_change(before->mean, after->mean), 100 * before->mean, 100 * after->mean,
            before->mean > 0 ? 100 * after->mean / before->mean : 0,
            name_change(before->worst, after->worst), 100 * before->worst, 100 * after->worst);
    if (after->mean > before->mean)
        cli_warn(call, "the baked rig is farther from the model than the linear blend is: give "
                       "more samples or targets");
    else if (after->worst > CLEARLY * before->worst)
        cli_warn(call, "where it is worst, the baked rig is farther from the model than the linear "
                       "blend is: look at those poses, or give more samples or targets");
}

/* The file that the rig comes from, whose materials and skins are copied to the output. */
static const char *original_of(const cli_call *call) {
    return call->argument_count == 1 ? call->arguments[0] : NULL;
}

static sinew_status write_clip(cli_call *call, const sinew_rig *baked) {
    const char *out = cli_text(call, "--clip-out");
    if (!out) return SINEW_OK;
    sinew_curves *curves;
    sinew_status status =
        sinew_curves_read(cli_text_at(call, "--curves", 0), &curves, &call->error);
    if (status != SINEW_OK) return status;
    status = cli_write_rig(call, original_of(call), baked, curves, out);
    sinew_curves_destroy(curves);
    if (status == SINEW_OK) cli_say(call, "wrote %s", out);
    return status;
}

static sinew_status write_results(cli_call *call, const sinew_rig *baked) {
    const char *out = cli_text(call, "--out"), *drivers = cli_text(call, "--drivers");
    sinew_status status = cli_write_rig(call, original_of(call), baked, NULL, out);
    if (status == SINEW_OK) cli_say(call, "wrote %s", out);
    if (status == SINEW_OK && drivers) {
        status = sinew_drivers_write(drivers, baked, &call->error);
        if (status == SINEW_OK) cli_say(call, "wrote %s", drivers);
    }
    return status == SINEW_OK ? write_clip(call, baked) : status;
}

/* plain: the same without self-contact, or NULL if that is not asked for. */
static sinew_status bake(cli_call *call, source *model, source *plain) {
    sinew_session *session = model->session;
    sinew_status status = SINEW_OK;
    if (sinew_session_past(session, NULL) == SINEW_PAST_ALL)
        return cli_usage(call, "cannot bake a model whose frames depend on earlier ones");
    const sinew_rig *rig = sinew_session_rig(session);
    cli_report_sizes(call->report, rig->neutral->vertex_count, rig->neutral->triangle_count);
    double *rows = NULL, *unseen = NULL;
    int unseen_count = 0;
    sinew_bake_options chosen;
    sinew_bake_options_init(&chosen);
    chosen.max_targets = cli_integer(call, "--max-targets", chosen.max_targets);
    chosen.tolerance = cli_number(call, "--tolerance", chosen.tolerance);
    chosen.max_samples = cli_integer(call, "--samples", chosen.max_samples);
    chosen.max_contact_samples = cli_integer(call, "--contact-samples", chosen.max_contact_samples);
    chosen.self_contact = plain != NULL;
    chosen.without_contact = plain ? solve : NULL, chosen.without_contact_user = plain;
    const char *style = cli_text(call, "--style");
    if (style && strcmp(style, "inbetweens") == 0) chosen.style = SINEW_BAKE_STYLE_INBETWEENS;
    sinew_rig *baked = NULL;
    sinew_bake_info info = {.size = sizeof info};
    sinew_bake_error before = {.size = sizeof before}, after = {.size = sizeof after};
    status = collect(call, rig, "--curves", &rows, &chosen.row_count);
    chosen.rows = rows;
    if (status == SINEW_OK) status = unseen_rows(call, rig, &unseen, &unseen_count);
    if (status == SINEW_OK)
        status = sinew_bake(rig, &chosen, solve, model, call->monitor, &baked, &info, &call->error);
    if (status == SINEW_OK)
        status = measure(call, model, baked, unseen_count, unseen, &before, &after);
    if (status == SINEW_OK) report(call, &info, &before, &after);
    if (status == SINEW_OK) status = write_results(call, baked);
    sinew_rig_destroy(baked);
    free(rows), free(unseen);
    return status;
}

static sinew_status open_source(cli_call *call, const char *model, bool contact, sinew_cache *kept,
                                source *s) {
    sinew_session_options chosen;
    sinew_session_options_init(&chosen);
    chosen.loader = sinew_file_loader();
    sinew_status status = make_scene(call, model, contact, &s->scene);
    if (status == SINEW_OK)
        status = sinew_session_create(s->scene, &chosen, &s->session, &call->error);
    if (status == SINEW_OK) status = sinew_session_prepare(s->session, call->monitor, &call->error);
    s->kept = kept;
    if (status == SINEW_OK) hash_source(s, model, contact);
    return status;
}

static void close_source(source *s) {
    sinew_session_destroy(s->session);
    sinew_scene_destroy(s->scene);
}

static sinew_status run(cli_call *call) {
    if (!cli_given(call, "--out"))
        return cli_usage(call, "needs --out RIG; see 'sinew bake --help'");
    if (cli_given(call, "--clip-out") && cli_count(call, "--curves") == 0)
        return cli_usage(call, "--clip-out needs --curves FILE");
    const char *model = cli_given(call, "--model") ? cli_text(call, "--model") : "rotation";
    if (cli_count(call, "--obstacle") > 0 && strcmp(model, "spring") != 0)
        return cli_usage(call, "--obstacle needs --model spring");
    bool contact = cli_given(call, "--self-contact");
    if (cli_given(call, "--contact-samples") && !contact)
        return cli_usage(call, "--contact-samples needs --self-contact");
    const char *folder = cli_text(call, "--keep-samples");
    if (folder && cli_count(call, "--obstacle") > 0)
        return cli_usage(call, "--keep-samples cannot be used with --obstacle");
    source with = {0}, without = {0};
    sinew_cache *kept = NULL;
    sinew_status status = SINEW_OK;
    if (folder) status = sinew_cache_open(folder, MOST_KEPT, &kept, &call->error);
    if (status == SINEW_OK) status = open_source(call, model, contact, kept, &with);
    if (status == SINEW_OK && contact) status = open_source(call, model, false, kept, &without);
    if (status == SINEW_OK) status = bake(call, &with, contact ? &without : NULL);
    json_object_set_new(json_object_get(call->report, "totals"), "evaluations",
                        json_integer(with.asked + without.asked));
    close_source(&with), close_source(&without);
    sinew_cache_close(kept);
    return status;
}

const cli_verb verb_bake = {
    .name = "bake",
    .summary = "turn physics into corrective shapes that any engine plays",
    .arguments = "RIG...",
    .maximum = -1,
    .options = options,
    .description =
        "Turn a physical model into corrective targets and rules that drive them, so that any "
        "engine that plays morph targets can show it.\n\nbake samples the model over "
        "the sliders, one at a time and in the pairs that interact, and adds the "
        "targets that bring the rig's linear blend closest to it. The printed error is "
        "measured on poses that the fit has not seen.\n\nDo not bake effects that "
        "depend on the past, such as friction and inertia; write frames instead.",
    .example = "sinew bake --sample hand --vertices 1000 --max-targets 20 --out baked.glb "
               "--drivers drivers.json\n",
    .run = run,
};
