/* sinew lock: motion attenuation on one edit or on a whole take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "frame.h"
#include "jobs.h"
#include "report.h"

static const cli_option options[] = {
    {"--lock", CLI_TEXT, "NAME:SELECT[:xyz]",
     "Vertices that must not move: v:1,5-9 | region:NAME | part:NAME | mask:FILE | all, on the "
     "given axes (default: all three).",
     0, 0, true},
    {"--from", CLI_TEXT, "LIST", "Weights of the pose to lock: smile=0.5 (default: the neutral).",
     0, 0, false},
    {"--edit", CLI_TEXT, "LIST", "Slider weights to set: jaw=1.", 0, 0, false},
    {"--curves", CLI_INPUT, "FILE",
     "Filter this take instead of an edit: slider weights over time, CSV.", 0, 0, false},
    {"--at", CLI_NUMBER, "TIME",
     "Time of the take whose pose is locked, in seconds (default: its start, or --from).", -1e9,
     1e9, false},
    {"--out", CLI_OUTPUT, "FILE", "Write the adjusted weights, CSV.", 0, 0, false},
    {"--corrective", CLI_OUTPUT, "FILE",
     "Also write the edited shape, with the motion that remains in the locked vertices removed.", 0,
     0, false},
    CLI_GROUP("Strength"),
    {"--alpha", CLI_TEXT, "A|Ax",
     "Strength of the locks: 0 turns them off, inf makes them exact; with an x, a multiple of the "
     "default, the ratio of unlocked to locked coordinates (default 1x).",
     0, 0, false},
    {"--dead-zone", CLI_NUMBER, "FRACTION",
     "Ignore motion below this fraction of the bounding-box diagonal (default 0.0005; 0 turns it "
     "off).",
     0, 1, false},
    {"--ridge", CLI_NUMBER, "L", "Penalty on slider changes (default 0.001).", 0, 1e9, false},
    {"--few", CLI_NUMBER, "F",
     "Preference for few responding sliders, from 0 (default) to 1 (none respond).", 0, 1, false},
    CLI_GROUP("Sliders"),
    {"--trade", CLI_FLAG, NULL, "Let the edited sliders change too.", 0, 0, false},
    {"--keep", CLI_TEXT, "NAMES", "Sliders of a take that must not change: jaw,smile.", 0, 0,
     false},
    {"--unbounded", CLI_FLAG, NULL, "Ignore the limits of sliders.", 0, 0, false},
    {"--published", CLI_FLAG, NULL,
     "Use the form of the paper: no ridge, no dead zone, no limits; every slider may change.", 0, 0,
     false},
    CLI_GROUP("Rig"),
    {"--sample", CLI_TEXT, "NAME",
     "Use a built-in rig instead of files; 'sinew sample' lists them.", 0, 0, false},
    CLI_REGIONS_OPTION,
    CLI_SCENE_OPTION,
    CLI_END,
};

static sinew_status add_locks(cli_call *call, const sinew_rig *rig, sinew_locks *locks,
                              const double *pose) {
    if (cli_count(call, "--lock") == 0) return cli_usage(call, "needs --lock NAME:SELECT[:xyz]");
    for (int i = 0; i < cli_count(call, "--lock"); i++) {
        json_t *lock = cli_read_form(call, "--lock", i, sinew_text_lock);
        if (!lock) return call->error.status;
        const char *select = json_string_value(json_object_get(lock, "select"));
        sinew_status status = cli_check_selection(call, select);
        if (status == SINEW_OK)
            status = sinew_locks_add_selection(
                locks, rig, json_string_value(json_object_get(lock, "name")), select,
                json_string_value(json_object_get(lock, "axes")), NULL, sinew_file_loader(), pose,
                call->monitor, &call->error);
        json_decref(lock);
        CLI_TRY(status);
    }
    return SINEW_OK;
}

static sinew_status read_options(cli_call *call, const sinew_slider_space *space,
                                 const sinew_locks *locks, sinew_lock_options *o) {
    sinew_lock_options_init(o);
    if (cli_given(call, "--published"))
        sinew_lock_options_set_published(o, space, (int)sinew_locks_coordinates(locks));
    const char *alpha = cli_text(call, "--alpha");
    if (alpha) {
        size_t length = strlen(alpha);
        o->alpha_relative = length > 0 && alpha[length - 1] == 'x';
        char *number = cli_strndup(alpha, length - o->alpha_relative);
        bool good = number && (!strcmp(number, "inf") ||
                               sinew_text_number(number, &o->alpha, NULL) == SINEW_OK);
        if (good && !strcmp(number, "inf")) o->alpha = INFINITY;
        sinew_free(number);
        if (!good || !(o->alpha >= 0))
            return cli_usage(call, "--alpha '%s' is not a number of 0 or more, such as 335 or 3x",
                             alpha);
    }
    o->ridge = cli_number(call, "--ridge", o->ridge);
    o->dead_zone = cli_number(call, "--dead-zone", o->dead_zone);
    o->few = cli_number(call, "--few", o->few);
    if (cli_given(call, "--trade")) o->mode = SINEW_LOCK_MODE_TRADE;
    if (cli_given(call, "--unbounded")) o->bounded = false;
    return SINEW_OK;
}

/* ---- an edit --------------------------------------------------------------------------------- */

#define LISTED 0.01 /* weights that changed by less are not listed */

static void say_edit(cli_call *call, const sinew_rig *rig, const double *asked, const double *given,
                     const sinew_lock_info *info) {
    cli_say(call, "locked motion (RMS)  %.5g -> %.5g, %.1f times less", info->asked_motion,
            info->given_motion, info->reduction);
    cli_say(call, "rest of the edit     %.0f%% kept, cosine %.3f; %.0f%% of the weights kept",
            100 * info->kept, info->cosine, 100 * info->share);
    int differ = 0;
    for (int i = 0; i < rig->slider_count; i++) differ += fabs(given[i] - asked[i]) >= LISTED;
    cli_say(call, "weights              %.3f to %.3f, %d differ from the edit by %g or more%s",
            info->lowest, info->highest, differ, LISTED, differ ? ":" : "");
    for (int i = 0; i < rig->slider_count; i++)
        if (fabs(given[i] - asked[i]) >= LISTED)
            cli_say(call, "  %-24s %7.3f -> %7.3f", rig->sliders[i].name, asked[i], given[i]);
    if (info->conflict)
        cli_warn(call, "the edit consists mostly of locked motion: little of it could be "
                       "cancelled; lock less, or edit another slider");
}

static void report_edit(cli_call *call, const sinew_lock_info *info) {
    json_t *r = call->report;
    cli_report_total(r, "asked_motion", cli_report_number(info->asked_motion));
    cli_report_total(r, "given_motion", cli_report_number(info->given_motion));
    cli_report_total(r, "reduction", cli_report_number(info->reduction));
    cli_report_total(r, "kept", cli_report_number(info->kept));
    cli_report_total(r, "cosine", cli_report_number(info->cosine));
    cli_report_total(r, "share", cli_report_number(info->share));
    cli_report_total(r, "lowest", cli_report_number(info->lowest));
    cli_report_total(r, "highest", cli_report_number(info->highest));
    cli_report_total(r, "sliders_changed", json_integer(info->changed));
    cli_report_total(r, "conflict", json_boolean(info->conflict));
}

/* The shape of the given weights with the rest cancelled by vertices. */
static sinew_status write_corrected(cli_call *call, const sinew_rig *rig, sinew_locks *locks,
                                    const double *given) {
    sinew_error *error = &call->error;
    sinew_linear *linear = NULL;
    sinew_mesh *mesh = NULL;
    double strain = 0;
    sinew_status status = sinew_linear_create(rig, &linear, error);
    if (status == SINEW_OK) status = sinew_mesh_copy(rig->neutral, &mesh, error);
    if (status == SINEW_OK) {
        sinew_linear_evaluate(linear, given, mesh->positions);
        status = sinew_locks_correct(locks, mesh->positions, &strain, call->monitor, error);
    }
    if (status == SINEW_OK) status = sinew_mesh_write(cli_text(call, "--corrective"), mesh, error);
    if (status == SINEW_OK) {
        cli_say(call, "corrective           largest change of an edge %.1f%%", 100 * strain);
        cli_report_total(call->report, "corrective_strain", cli_report_number(strain));
    }
    sinew_linear_destroy(linear);
    sinew_mesh_destroy(mesh);
    return status;
}

static sinew_status run_edit(cli_call *call, const sinew_rig *rig, sinew_locks *locks,
                             const double *pose, sinew_curves *out) {
    sinew_error *error = &call->error;
    double *asked = CLI_NEW(double, rig->slider_count);
    if (!asked) return cli_no_memory(error);
    memcpy(asked, pose, sizeof(double) * (size_t)rig->slider_count);
    sinew_lock_info info = {.size = sizeof info};
    sinew_status status = sinew_rig_parse_weights(rig, cli_text(call, "--edit"), asked, error);
    if (status == SINEW_OK)
        status = sinew_locks_apply(locks, pose, asked, out->values, &info, error);
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) {
        say_edit(call, rig, asked, out->values, &info);
        report_edit(call, &info);
        cli_report_frame(call->report,
                         json_pack("{s:f, s:s, s:i, s:o, s:o}", "time", 0.0, "status",
                                   sinew_status_name(status), "iterations", info.iterations,
                                   "residual", cli_report_number(info.residual), "weights",
                                   cli_report_numbers(rig->slider_count, out->values)));
        if (cli_given(call, "--corrective")) {
            sinew_status written = write_corrected(call, rig, locks, out->values);
            if (written != SINEW_OK) status = written;
        }
    }
    sinew_free(asked);
    return status;
}

/* ---- a take ---------------------------------------------------------------------------------- */

static sinew_status parse_keep(cli_call *call, const sinew_rig *rig, bool **keep) {
    const char *text = cli_text(call, "--keep");
    *keep = NULL;
    if (!text) return SINEW_OK;
    *keep = CLI_NEW(bool, rig->slider_count);
    if (!*keep) return cli_no_memory(&call->error);
    while (*text) {
        size_t length = strcspn(text, ",");
        char *name = cli_strndup(text, length);
        if (!name) return cli_no_memory(&call->error);
        int sliders[2], count = sinew_rig_match(rig, name, sliders);
        sinew_free(name);
        if (count == 0)
            return sinew_fail(&call->error, SINEW_BAD_INPUT, "--keep: the rig has no slider '%.*s'",
                              (int)length, text);
        for (int i = 0; i < count; i++) (*keep)[sliders[i]] = true;
        text += length + (text[length] == ',');
    }
    return SINEW_OK;
}

static sinew_status run_take(cli_call *call, const sinew_rig *rig, sinew_locks *locks,
                             const sinew_curves *take, sinew_curves **out) {
    sinew_lock_filter_info info = {.size = sizeof info};
    bool *keep;
    sinew_status status = parse_keep(call, rig, &keep);
    if (status == SINEW_OK)
        status = sinew_locks_filter(locks, take, keep, out, &info, call->monitor, &call->error);
    sinew_free(keep);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    cli_say(call, "%d times, locked motion (RMS) %.5g -> %.5g, largest result %.5g",
            take->time_count, info.asked_motion, info.given_motion, info.worst_given);
    cli_say(call, "weights %.3f to %.3f", info.lowest, info.highest);
    cli_report_total(call->report, "times", json_integer(take->time_count));
    cli_report_total(call->report, "asked_motion", cli_report_number(info.asked_motion));
    cli_report_total(call->report, "given_motion", cli_report_number(info.given_motion));
    cli_report_total(call->report, "worst_given", cli_report_number(info.worst_given));
    cli_report_total(call->report, "lowest", cli_report_number(info.lowest));
    cli_report_total(call->report, "highest", cli_report_number(info.highest));
    cli_report_total(call->report, "not_converged", json_integer(info.not_converged));
    return status;
}

/* ---- the job as a scene ---------------------------------------------------------------------- */

static json_t *weights_of(const sinew_rig *rig, const double *weights) {
    json_t *map = json_object();
    for (int i = 0; i < rig->slider_count; i++)
        if (weights[i] != rig->sliders[i].rest)
            json_object_set_new(map, rig->sliders[i].name, json_real(weights[i]));
    return map;
}

static sinew_status keep_scene(cli_call *call, const sinew_rig *rig, const sinew_lock_options *o,
                               const double *pose) {
    json_t *document = json_pack("{s:i}", "sinew", SINEW_SCENE_VERSION), *files = json_array();
    json_t *locks = NULL, *how = json_object();
    if (cli_given(call, "--sample")) {
        json_object_set_new(document, "rig",
                            json_pack("{s:s}", "sample", cli_text(call, "--sample")));
        json_decref(files);
    } else {
        for (int i = 0; i < call->argument_count; i++)
            json_array_append_new(files, cli_path(call, call->arguments[i]));
        json_t *source = json_pack("{s:o}", "files", files);
        if (cli_given(call, "--regions"))
            json_object_set_new(source, "regions", cli_path(call, cli_text(call, "--regions")));
        json_object_set_new(document, "rig", source);
    }
    if (cli_read_forms(call, "--lock", sinew_text_lock, &locks) == SINEW_OK)
        json_object_set_new(document, "locks", locks);
    json_object_set_new(how, o->alpha_relative ? "strength" : "alpha",
                        json_real(fmin(o->alpha, SINEW_LOCK_ALPHA_LIMIT)));
    json_object_set_new(how, "ridge", json_real(o->ridge));
    json_object_set_new(how, "dead_zone", json_real(o->dead_zone));
    json_object_set_new(how, "few", json_real(o->few));
    json_object_set_new(how, "trade", json_boolean(o->mode == SINEW_LOCK_MODE_TRADE));
    json_object_set_new(how, "unbounded", json_boolean(!o->bounded));
    if (cli_given(call, "--corrective")) json_object_set_new(how, "corrective", json_true());
    json_object_set_new(how, "from", weights_of(rig, pose));
    json_object_set_new(document, "attenuation", how);
    if (cli_given(call, "--curves"))
        json_object_set_new(document, "curves",
                            json_pack("{s:o}", "file", cli_path(call, cli_text(call, "--curves"))));
    else {
        double *asked = cli_memdup(pose, (size_t)rig->slider_count, sizeof *pose);
        if (asked &&
            sinew_rig_parse_weights(rig, cli_text(call, "--edit"), asked, NULL) == SINEW_OK)
            json_object_set_new(document, "weights", weights_of(rig, asked));
        sinew_free(asked);
    }
    sinew_scene *scene;
    CLI_TRY(cli_make_scene(call, document, cli_text(call, "--scene-out"), &scene));
    sinew_status status = sinew_scene_write(cli_text(call, "--scene-out"), scene, &call->error);
    sinew_scene_destroy(scene);
    return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static sinew_status read_rig(cli_call *call, sinew_rig **rig) {
    const char *sample = cli_text(call, "--sample");
    if (sample && call->argument_count > 0)
        return cli_usage(call, "specify either rig files or --sample, not both");
    if (!sample && call->argument_count == 0)
        return cli_usage(call, "needs RIG... or --sample NAME");
    CLI_TRY(sample ? sinew_sample_rig(sample, NULL, rig, &call->error)
                   : sinew_rig_read(call->argument_count, call->arguments, rig, &call->error));
    cli_report_sizes(call->report, (*rig)->neutral->vertex_count, (*rig)->neutral->triangle_count);
    return cli_given(call, "--regions")
               ? sinew_regions_read(cli_text(call, "--regions"), *rig, &call->error)
               : SINEW_OK;
}

static sinew_status start_pose(cli_call *call, const sinew_rig *rig, const sinew_curves *take,
                               double *pose) {
    sinew_rig_rest_weights(rig, pose);
    if (cli_given(call, "--from"))
        return sinew_rig_parse_weights(rig, cli_text(call, "--from"), pose, &call->error);
    if (!take || take->time_count == 0) return SINEW_OK;
    double first = take->times[0], last = take->times[take->time_count - 1];
    double at = cli_number(call, "--at", first);
    if (!(at >= first && at <= last))
        return sinew_fail(&call->error, SINEW_BAD_INPUT, "--at %g: %s lasts from %g to %g s", at,
                          cli_text(call, "--curves"), first, last);
    sinew_curves_sample(take, at, pose);
    return SINEW_OK;
}

static sinew_status run(cli_call *call) {
    bool curves = cli_given(call, "--curves"), edit = cli_given(call, "--edit");
    if (curves == edit) return cli_usage(call, "needs either --edit or --curves");
    if (curves && cli_given(call, "--corrective"))
        return cli_usage(call, "--corrective needs --edit");
    if (edit && cli_given(call, "--keep")) return cli_usage(call, "--keep needs --curves");
    if (cli_given(call, "--at") && (edit || cli_given(call, "--from")))
        return cli_usage(call, "--at needs --curves and cannot be combined with --from");
    sinew_error *error = &call->error;
    sinew_rig *rig = NULL;
    sinew_slider_space *space = NULL;
    sinew_locks *locks = NULL;
    sinew_curves *take = NULL, *out = NULL;
    double *pose = NULL;
    sinew_lock_options how;
    sinew_status status = read_rig(call, &rig);
    if (status == SINEW_OK && !(pose = CLI_NEW(double, rig->slider_count)))
        status = cli_no_memory(error);
    if (status == SINEW_OK && curves)
        status = cli_read_curves(call, cli_text(call, "--curves"), rig, NULL, &take);
    if (status == SINEW_OK) status = start_pose(call, rig, take, pose);
    if (status == SINEW_OK) status = sinew_slider_space_create(rig, &space, error);
    if (status == SINEW_OK) status = sinew_locks_create(space, NULL, &locks, error);
    if (status == SINEW_OK) status = add_locks(call, rig, locks, pose);
    if (status == SINEW_OK) status = read_options(call, space, locks, &how);
    if (status == SINEW_OK) status = sinew_locks_set_options(locks, &how, error);
    if (status == SINEW_OK) {
        int count = sinew_locks_count(locks);
        cli_say(call, "%d lock%s, %.0f coordinates of %d that move, alpha %.4g", count,
                count == 1 ? "" : "s", sinew_locks_coordinates(locks),
                sinew_slider_space_moved(space), sinew_locks_alpha(locks));
        cli_report_total(call->report, "locked_coordinates",
                         cli_report_number(sinew_locks_coordinates(locks)));
        cli_report_total(call->report, "alpha", cli_report_number(sinew_locks_alpha(locks)));
    }
    if (status == SINEW_OK && edit) {
        status = sinew_curves_create(rig->slider_count, 1, &out, error);
        for (int i = 0; status == SINEW_OK && i < rig->slider_count; i++)
            status = sinew_curves_set_name(out, i, rig->sliders[i].name, error);
        if (status == SINEW_OK) status = run_edit(call, rig, locks, pose, out);
    } else if (status == SINEW_OK) {
        status = run_take(call, rig, locks, take, &out);
    }
    /* Not converged still writes what it has. */
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) {
        sinew_status written = SINEW_OK;
        if (cli_given(call, "--out"))
            written = sinew_curves_write(cli_text(call, "--out"), out, error);
        if (written == SINEW_OK && cli_given(call, "--scene-out"))
            written = keep_scene(call, rig, &how, pose);
        if (written != SINEW_OK) status = written;
    }
    sinew_free(pose);
    sinew_curves_destroy(out);
    sinew_curves_destroy(take);
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
    return status;
}

const cli_verb verb_lock = {
    .name = "lock",
    .summary = "move sliders without disturbing finished parts of the face",
    .arguments = "[RIG...]",
    .minimum = 0,
    .maximum = -1,
    .options = options,
    .description =
        "Keep parts of the face still while sliders move. lock adjusts the requested weights so "
        "that locked vertices stay where they are and as much as possible of the edit remains "
        "(motion attenuation).\n\nAn edit starts from the pose of --from and sets the sliders of "
        "--edit, which keep their values unless --trade is given. A take (--curves) is filtered as "
        "a whole, and every slider may respond except those of --keep. Sliders stay within their "
        "limits. If the edit consists of nothing but locked motion, lock reports that.",
    .example =
        "sinew lock --sample arm --lock cuff:v:900-940 --edit elbow90=1 --trade --out edit.csv\n",
    .run = run,
};
