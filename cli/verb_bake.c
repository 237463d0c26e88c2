/* sinew bake: a model's physics as in-betweens and correctives that any engine plays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "frame.h"
#include "jobs.h"

enum { UNSEEN_POSES = 40, UNSEEN_SEED = 77 };

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
    CLI_GROUP("Rig and contact"),
    {"--sample", CLI_TEXT, "NAME",
     "Use a built-in rig instead of files; 'sinew sample' lists them.", 0, 0, false},
    {"--vertices", CLI_INTEGER, "N", "Approximate number of vertices of the built-in rig.", 1, 1e7,
     false},
    {"--obstacle", CLI_TEXT, "SHAPE", "Obstacle for the spring model, as in 'sinew blend'.", 0, 0,
     true},
    {"--self-contact", CLI_FLAG, NULL, "Keep the surface from intersecting itself (spring).", 0, 0,
     false},
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

/* The scene: rig, model, obstacles. Weights come with each solve. */
static sinew_status make_scene(cli_call *call, const char *model, sinew_scene **scene) {
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
    if (status == SINEW_OK)
        status = cli_parameter(call, document, model, "--self-contact", "self_contact");
    if (status == SINEW_OK) status = cli_parameter(call, document, model, "--device", "device");
    if (status == SINEW_OK) return cli_make_scene(call, document, "bake", scene);
    json_decref(document);
    return status;
}

static sinew_status solve(const double *weights, double *positions, void *user,
                          const sinew_monitor *monitor, sinew_error *error) {
    sinew_input input;
    sinew_result result;
    sinew_input_init(&input);
    sinew_result_init(&result);
    input.weights = weights;
    result.positions = positions;
    return sinew_session_solve(user, &input, &result, monitor, error);
}

/* Answers of the model on the unseen poses, which are measured twice: before and after. */
typedef struct answers {
    sinew_session *session;
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
        status = solve(weights, positions, a->session, monitor, error);
        for (size_t i = 0; i < a->numbers; i++) own[i] = (float)positions[i];
    } else {
        for (size_t i = 0; i < a->numbers; i++) positions[i] = (double)own[i];
    }
    if (a->next == a->count) a->next = 0, a->known = true;
    return status;
}

static sinew_status measure(cli_call *call, sinew_session *session, const sinew_rig *baked,
                            int count, const double *rows, sinew_bake_error *before,
                            sinew_bake_error *after) {
    const sinew_rig *rig = sinew_session_rig(session);
    answers a = {.session = session, .count = count};
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
    cli_say(call, "added %d in-betweens and %d combinations, from %d samples in %.1f s",
            info->inbetweens, info->combinations, info->samples, info->seconds);
    cli_say(call,
            "on %d %s, the mean error drops from %.2g%% to %.2g%% of the diagonal (to %.0f%%), "
            "and the worst from %.2g%% to %.2g%%",
            before->poses, cli_count(call, "--unseen") > 0 ? "frames" : "unseen poses",
            100 * before->mean, 100 * after->mean,
            before->mean > 0 ? 100 * after->mean / before->mean : 0, 100 * before->worst,
            100 * after->worst);
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

static sinew_status bake(cli_call *call, sinew_session *session) {
    sinew_status status = sinew_session_prepare(session, call->monitor, &call->error);
    if (status != SINEW_OK) return status;
    if (sinew_session_past(session, NULL) == SINEW_PAST_ALL)
        return cli_usage(call, "cannot bake a model whose frames depend on earlier ones");
    const sinew_rig *rig = sinew_session_rig(session);
    double *rows = NULL, *unseen = NULL;
    int unseen_count = 0;
    sinew_bake_options chosen;
    sinew_bake_options_init(&chosen);
    chosen.max_targets = cli_integer(call, "--max-targets", chosen.max_targets);
    chosen.tolerance = cli_number(call, "--tolerance", chosen.tolerance);
    chosen.max_samples = cli_integer(call, "--samples", chosen.max_samples);
    chosen.self_contact = cli_given(call, "--self-contact");
    const char *style = cli_text(call, "--style");
    if (style && strcmp(style, "inbetweens") == 0) chosen.style = SINEW_BAKE_STYLE_INBETWEENS;
    sinew_rig *baked = NULL;
    sinew_bake_info info = {.size = sizeof info};
    sinew_bake_error before = {.size = sizeof before}, after = {.size = sizeof after};
    status = collect(call, rig, "--curves", &rows, &chosen.row_count);
    chosen.rows = rows;
    if (status == SINEW_OK) status = unseen_rows(call, rig, &unseen, &unseen_count);
    if (status == SINEW_OK)
        status =
            sinew_bake(rig, &chosen, solve, session, call->monitor, &baked, &info, &call->error);
    if (status == SINEW_OK)
        status = measure(call, session, baked, unseen_count, unseen, &before, &after);
    if (status == SINEW_OK) report(call, &info, &before, &after);
    if (status == SINEW_OK) status = write_results(call, baked);
    sinew_rig_destroy(baked);
    free(rows), free(unseen);
    return status;
}

static sinew_status run(cli_call *call) {
    if (!cli_given(call, "--out"))
        return cli_usage(call, "needs --out RIG; see 'sinew bake --help'");
    if (cli_given(call, "--clip-out") && cli_count(call, "--curves") == 0)
        return cli_usage(call, "--clip-out needs --curves FILE");
    const char *model = cli_given(call, "--model") ? cli_text(call, "--model") : "rotation";
    if (cli_count(call, "--obstacle") > 0 && strcmp(model, "spring") != 0)
        return cli_usage(call, "--obstacle needs --model spring");
    sinew_scene *scene = NULL;
    sinew_session *session = NULL;
    sinew_session_options chosen;
    sinew_session_options_init(&chosen);
    chosen.loader = sinew_file_loader();
    sinew_status status = make_scene(call, model, &scene);
    if (status == SINEW_OK) status = sinew_session_create(scene, &chosen, &session, &call->error);
    if (status == SINEW_OK) status = bake(call, session);
    sinew_session_destroy(session);
    sinew_scene_destroy(scene);
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
