/* sinew play: a captured take on a rig, as a picture or a video, with one command. Runs the scene
 * that 'sinew fit --layer' or 'sinew blend' would run, then 'sinew render'. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "jobs.h"

/* Frames of a picture; largest rate of a video, in Hz. */
enum { PICTURE_FRAMES = 10, VIDEO_RATE = 30 };

static const cli_option options[] = {
    {"--out", CLI_OUTPUT, "FILE",
     "Picture (.png) of ten frames, or video (.mp4, .webm, .gif, .webp) of the take (default: a "
     "video named after the take, or a picture where ffmpeg is not installed).",
     0, 0, false},
    {"--fps", CLI_NUMBER, "RATE",
     "Frames per second (default: the rate of the take, at most 30; ten frames for a picture).",
     1e-3, 1e5, false},
    CLI_FRAMES_OPTION,
    {"--views", CLI_TEXT, "LIST", "Azimuths of the camera in degrees (default 0,60).", 0, 0, false},
    {"--size", CLI_TEXT, "WxH", "Size in pixels (default: 2000x640 or 1280x720).", 0, 0, false},
    CLI_SCENE_OPTION,
    CLI_END,
};

typedef struct take {
    const char *path;
    bool markers;        /* otherwise curves of slider weights */
    double length, rate; /* s, Hz */
} take;

/* Markers, or else slider curves. */
static sinew_status read_take(cli_call *call, take *t) {
    sinew_markers *markers;
    sinew_curves *curves;
    sinew_error wrong = {0};
    int samples = 0;
    sinew_status status = sinew_markers_read(t->path, &markers, &wrong);
    if (status == SINEW_OK) {
        t->markers = true, samples = markers->time_count;
        if (samples > 1) t->length = markers->times[samples - 1] - markers->times[0];
        sinew_markers_destroy(markers);
    } else {
        bool text = cli_has_ending(t->path, "csv");
        if (!text || sinew_curves_read(t->path, &curves, &call->error) != SINEW_OK) {
            call->error = wrong;
            return status;
        }
        samples = curves->time_count;
        if (samples > 1) t->length = curves->times[samples - 1] - curves->times[0];
        sinew_curves_destroy(curves);
    }
    t->rate = t->length > 0 ? (samples - 1) / t->length : VIDEO_RATE;
    return SINEW_OK;
}

static void fill(cli_call *call, const take *t, double fps, const char *frames, json_t *document) {
    json_t *files = json_array();
    for (int i = 0; i + 1 < call->argument_count; i++)
        json_array_append_new(files, cli_path(call, call->arguments[i]));
    json_object_set_new(document, "rig", json_pack("{s:o}", "files", files));
    json_object_set_new(document, "model", json_string(t->markers ? "fit" : "linear"));
    json_object_set_new(document, t->markers ? "markers" : "curves",
                        json_pack("{s:o}", "file", cli_path(call, t->path)));
    if (t->markers) json_object_set_new(document, "parameters", json_pack("{s:b}", "layer", 1));
    json_object_set_new(document, "time", json_pack("{s:f}", "fps", fps));
    json_object_set_new(document, "outputs",
                        json_pack("{s:[o]}", "frames", cli_path(call, frames)));
}

static sinew_status draw(cli_call *call, bool picture, const char *frames, const char *out) {
    const char *views = cli_given(call, "--views") ? cli_text(call, "--views") : "0,60";
    const char *size = picture ? "2000x640" : "1280x720";
    if (cli_given(call, "--size")) size = cli_text(call, "--size");
    const char *words[] = {frames,    "--mesh", call->arguments[0], "--views", views,
                           "--size",  size,     "--no-ground",      "--out",   out,
                           "--frame", "all",    "--columns",        "10"};
    int count = (int)(sizeof words / sizeof *words) - (picture ? 0 : 4);
    cli_call render = {.verb = cli_find_verb("render"), .monitor = call->monitor};
    sinew_status status = cli_parse(&render, count, (char **)words);
    json_decref(render.report);
    render.report = json_incref(call->report), render.quiet = call->quiet;
    if (status == SINEW_OK) status = render.verb->run(&render);
    call->error = render.error;
    cli_call_free(&render);
    return status;
}

static sinew_status play(cli_call *call, const take *t, const char *out) {
    bool picture = cli_has_ending(out, "png");
    double fps = fmin(t->rate, VIDEO_RATE);
    if (picture && t->length > 0) fps = (PICTURE_FRAMES - 1) / t->length;
    fps = cli_number(call, "--fps", fps);
    size_t room = strlen(out) + 16;
    char *frames = CLI_NEW(char, room);
    if (!frames) return cli_no_memory(&call->error);
    snprintf(frames, room, "%s.frames.pc2", out);
    if (access(frames, F_OK) == 0) { /* it would be overwritten and removed */
        sinew_status status = sinew_fail(&call->error, SINEW_IO,
                                         "%s: this file would be overwritten; remove it", frames);
        sinew_free(frames);
        return status;
    }
    json_t *document = json_pack("{s:i}", "sinew", SINEW_SCENE_VERSION);
    fill(call, t, fps, frames, document);
    bool quiet = call->quiet;
    call->quiet = true; /* the frames are a means */
    sinew_status status = cli_run_document(call, document, cli_text(call, "--scene-out"));
    call->quiet = quiet;
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) {
        sinew_status drawn = draw(call, picture, frames, out);
        if (drawn != SINEW_OK) status = drawn;
    }
    unlink(frames);
    sinew_free(frames);
    return status;
}

/* Known before the take is solved, which may take minutes. */
static bool can_be_drawn(const char *out) {
    static const char *const endings[] = {"png", "mp4", "webm", "gif", "webp"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (cli_has_ending(out, endings[i])) return true;
    return false;
}

static sinew_status run(cli_call *call) {
    if (cli_given(call, "--out") && !can_be_drawn(cli_text(call, "--out")))
        return cli_usage(call, "--out %s: expected .png, .mp4, .webm, .gif or .webp",
                         cli_text(call, "--out"));
    take t = {.path = call->arguments[call->argument_count - 1]};
    CLI_TRY(read_take(call, &t));
    if (cli_given(call, "--out")) return play(call, &t, cli_text(call, "--out"));
    char *program = cli_find_program("ffmpeg"), *stem = cli_path_stem(t.path);
    const char *ending = program ? ".mp4" : ".png";
    size_t room = (stem ? strlen(stem) : 0) + 8;
    char *out = CLI_NEW(char, room);
    sinew_status status = stem && out ? SINEW_OK : cli_no_memory(&call->error);
    if (status == SINEW_OK) {
        snprintf(out, room, "%s%s", stem, ending);
        status = play(call, &t, out);
    }
    sinew_free(program), sinew_free(stem), sinew_free(out);
    return status;
}

const cli_verb verb_play = {
    .name = "play",
    .summary = "show a captured take on a rig as a picture or a video",
    .arguments = "RIG... TAKE",
    .minimum = 2,
    .maximum = -1,
    .options = options,
    .description =
        "Show a captured take on a rig, from the front and from the side. Only the rig and the "
        "take are needed.\n\nTAKE holds markers (CSV, C3D, TRC) or slider weights (CSV, as Live "
        "Link "
        "Face writes them). Markers are mapped to the face by their names and solved as by 'sinew "
        "fit --layer'; doubtful markers are listed. Weights are blended linearly.",
    .example = "sinew sample face --out face\n"
               "sinew play face face/markers.csv --out take.png --size 1000x320\n",
    .run = run,
};
