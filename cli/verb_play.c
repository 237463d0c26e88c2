/* sinew play: a captured take on a rig, as a picture or a video, with one command. Runs the scene
 * that 'sinew fit --layer' or 'sinew blend' would run, then 'sinew render'. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "hidden.h"
#include "jobs.h"
#include "sinew/face_view.h"
#include "sinew/render.h"
#include "sinew/selection.h"

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
    {"--size", CLI_TEXT, "WxH", "Size in pixels (default: 2400x560 or 1280x720).", 0, 0, false},
    {"--hide", CLI_TEXT, "SELECT|auto|none",
     "Leave out these vertices, such as part:hair; none shows everything (default auto: helper "
     "geometry, and pieces that no target moves and that hide the face, such as hair).",
     0, 0, true},
    {"--contact", CLI_CHOICE, "on|off",
     "Keep lids, eyeballs, lips and teeth from passing through each other (default on). Turn it "
     "off where speed matters more.",
     0, 0, false},
    CLI_REGIONS_OPTION,
    CLI_SCENE_OPTION,
    CLI_END,
};

typedef struct take {
    const char *path;
    sinew_markers *markers; /* NULL: curves of slider weights */
    double length, rate;    /* s, Hz */
} take;

/* Markers, or else slider curves. */
static sinew_status read_take(cli_call *call, take *t) {
    sinew_curves *curves;
    sinew_error wrong = {0};
    int samples = 0;
    sinew_status status = sinew_markers_read(t->path, &t->markers, &wrong);
    if (status == SINEW_OK) {
        samples = t->markers->time_count;
        if (samples > 1) t->length = t->markers->times[samples - 1] - t->markers->times[0];
    } else {
        t->markers = NULL;
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

/* What is shown: the rig, and how. */
typedef struct scenery {
    sinew_rig *rig;
    sinew_face_view *face;
    sinew_face_view_info about;
    char *views; /* azimuths for `render` */
} scenery;

static void free_scenery(scenery *s) {
    sinew_face_view_destroy(s->face);
    sinew_rig_destroy(s->rig);
    sinew_free(s->views);
}

static sinew_status check_hidden(cli_call *call, const sinew_rig *rig) {
    for (int i = 0; i < cli_count(call, "--hide"); i++) {
        const char *select = cli_text_at(call, "--hide", i);
        int *vertices, count;
        if (!strcmp(select, "auto") || !strcmp(select, "none")) continue;
        CLI_TRY(cli_check_selection(call, select));
        CLI_TRY(sinew_select(rig, select, NULL, sinew_file_loader(), call->monitor, &vertices,
                             &count, &call->error));
        sinew_free(vertices);
    }
    return SINEW_OK;
}

/* Where the markers are. A take that does not fit the rig has none: the solver says why. */
static sinew_status find_markers(cli_call *call, const sinew_rig *rig, const sinew_anatomy *anatomy,
                                 const sinew_markers *markers, sinew_marker_map **points) {
    sinew_capture_options chosen;
    sinew_capture_options_init(&chosen);
    chosen.anatomy = anatomy;
    sinew_monitor silent = {.cancelled = call->monitor->cancelled, .user = call->monitor->user};
    sinew_capture *capture;
    sinew_error wrong = {0};
    sinew_status status = sinew_capture_create(rig, markers, &chosen, &silent, &capture, &wrong);
    if (status == SINEW_BAD_INPUT) return SINEW_OK;
    if (status == SINEW_OK) {
        status = sinew_marker_map_copy(sinew_capture_map(capture), points, &wrong);
        sinew_capture_destroy(capture);
    }
    if (status != SINEW_OK) call->error = wrong;
    return status;
}

/* s->face and s->about: of a take that does not fit, no face. */
static sinew_status find_face(cli_call *call, const take *t, int count, const double *azimuths,
                              scenery *s) {
    sinew_anatomy *anatomy;
    sinew_marker_map *points = NULL;
    s->about = (sinew_face_view_info){.size = sizeof s->about};
    CLI_TRY(sinew_anatomy_create(s->rig, call->monitor, &anatomy, &call->error));
    sinew_status status = SINEW_OK;
    if (t->markers) status = find_markers(call, s->rig, anatomy, t->markers, &points);
    if (status == SINEW_OK && (points || !t->markers))
        status =
            sinew_face_view_create(s->rig, anatomy, points, count, azimuths, SINEW_RENDER_ELEVATION,
                                   call->monitor, &s->face, &call->error);
    if (s->face) sinew_face_view_get_info(s->face, &s->about);
    sinew_marker_map_destroy(points);
    sinew_anatomy_destroy(anatomy);
    return status;
}

/* Everything that does not need the frames, so that mistakes are found before they are computed. */
static sinew_status set_up(cli_call *call, const take *t, scenery *s) {
    const char *text = cli_given(call, "--views") ? cli_text(call, "--views") : "0,60";
    double *azimuths;
    int count;
    CLI_TRY(sinew_rig_read(call->argument_count - 1, call->arguments, &s->rig, &call->error));
    if (cli_given(call, "--regions"))
        CLI_TRY(sinew_regions_read(cli_text(call, "--regions"), s->rig, &call->error));
    CLI_TRY(check_hidden(call, s->rig));
    CLI_TRY(cli_parse_numbers(call, text, "--views", &azimuths, &count));
    sinew_status status = find_face(call, t, count, azimuths, s);
    size_t room = 32 * (size_t)count + 1, used = 0;
    s->views = CLI_NEW(char, room);
    if (status == SINEW_OK && !s->views) status = cli_no_memory(&call->error);
    for (int i = 0; status == SINEW_OK && i < count; i++)
        used += (size_t)snprintf(s->views + used, room - used, "%s%.9g", i ? "," : "",
                                 azimuths[i] + s->about.azimuth);
    sinew_free(azimuths);
    return status;
}

static void fill(cli_call *call, const take *t, double fps, const char *frames, json_t *document) {
    bool contact = !cli_given(call, "--contact") || !strcmp(cli_text(call, "--contact"), "on");
    json_t *files = json_array();
    for (int i = 0; i + 1 < call->argument_count; i++)
        json_array_append_new(files, cli_path(call, call->arguments[i]));
    json_t *rig = json_pack("{s:o}", "files", files);
    cli_add_regions(call, rig);
    json_object_set_new(document, "rig", rig);
    json_object_set_new(document, "model", json_string(t->markers ? "fit" : "linear"));
    json_object_set_new(document, t->markers ? "markers" : "curves",
                        json_pack("{s:o}", "file", cli_path(call, t->path)));
    json_object_set_new(
        document, "parameters",
        t->markers ? json_pack("{s:b, s:s}", "layer", 1, "layer_contact", contact ? "on" : "off")
                   : json_pack("{s:b}", "self_contact", contact));
    json_object_set_new(document, "time", json_pack("{s:f}", "fps", fps));
    json_object_set_new(document, "outputs",
                        json_pack("{s:[o]}", "frames", cli_path(call, frames)));
}

/* Words of a command line. */
typedef struct line {
    const char **words;
    int count;
} line;

static void add(line *l, const char *option, const char *value) {
    l->words[l->count++] = option;
    if (value) l->words[l->count++] = value;
}

/* --hide of `render`; what is left out although nobody asked for it is printed. */
static void add_hidden(cli_call *call, const scenery *shown, line *l) {
    bool automatic = !cli_given(call, "--hide");
    for (int i = 0; i < cli_count(call, "--hide"); i++) {
        const char *select = cli_text_at(call, "--hide", i);
        if (!strcmp(select, "auto"))
            automatic = true;
        else
            add(l, "--hide", select);
    }
    if (!automatic) return;
    json_t *hidden = json_array();
    for (int i = 0; i < shown->about.covers; i++) {
        const char *select = sinew_face_view_cover(shown->face, i);
        if (cli_is_helper(select)) continue; /* `render` leaves it out and says so */
        add(l, "--hide", select);
        json_array_append_new(hidden, json_string(select));
    }
    size_t count = json_array_size(hidden);
    char rest[40] = "";
    if (count > 1) snprintf(rest, sizeof rest, " and %zu more", count - 1);
    if (count > 0)
        cli_say(call, "left out %s%s, which no target moves, to show the face; see --hide",
                json_string_value(json_array_get(hidden, 0)), rest);
    if (count > 0) json_object_set(call->report, "hidden", hidden);
    json_decref(hidden);
}

/* The sphere around the face in all frames: the camera does not move. */
static sinew_status find_sphere(cli_call *call, const scenery *shown, const char *frames,
                                char *text, size_t room) {
    sinew_frames *all;
    double s[4];
    CLI_TRY(sinew_frames_read(frames, &all, &call->error));
    const sinew_mesh *mesh = shown->rig->neutral;
    sinew_status status = sinew_frames_match(all, mesh, &call->error);
    if (status == SINEW_OK) status = sinew_face_view_sphere(shown->face, all, s, &call->error);
    sinew_frames_destroy(all);
    if (status != SINEW_OK) return status;
    snprintf(text, room, "%.9g,%.9g,%.9g,%.9g", s[0], s[1], s[2], s[3]);
    json_object_set_new(call->report, "camera",
                        json_pack("{s:[f,f,f], s:f}", "center", s[0], s[1], s[2], "radius", s[3]));
    return SINEW_OK;
}

/* Frames, views or the size are not the usual ones: `render` finds the grid. */
static bool is_chosen(cli_call *call) {
    return cli_given(call, "--fps") || cli_given(call, "--frames") || cli_given(call, "--views") ||
           cli_given(call, "--size");
}

static sinew_status draw(cli_call *call, const scenery *shown, bool picture, const char *frames,
                         const char *out) {
    bool found = shown->about.found;
    char sphere[128];
    if (found) CLI_TRY(find_sphere(call, shown, frames, sphere, sizeof sphere));
    int most = 2 * (cli_count(call, "--hide") + shown->about.covers) + 22;
    line l = {.words = CLI_NEW(const char *, most)};
    if (!l.words) return cli_no_memory(&call->error);
    add(&l, frames, NULL);
    add(&l, "--mesh", call->arguments[0]);
    add(&l, "--views", shown->views);
    add(&l, "--size",
        cli_given(call, "--size") ? cli_text(call, "--size")
        : picture                 ? "2400x560"
                                  : "1280x720");
    add(&l, "--no-ground", NULL);
    if (cli_given(call, "--regions")) add(&l, "--regions", cli_text(call, "--regions"));
    add(&l, "--out", out);
    if (picture) add(&l, "--frame", "all");
    if (picture && !is_chosen(call))
        add(&l, "--columns", "10"); /* both views of a frame in a row */
    if (found) add(&l, "--look-at", sphere), add(&l, "--up", shown->about.z_up ? "z" : "y");
    add_hidden(call, shown, &l);
    cli_call render = {.verb = cli_find_verb("render"), .monitor = call->monitor};
    sinew_status status = cli_parse(&render, l.count, (char **)l.words);
    json_decref(render.report);
    render.report = json_incref(call->report), render.quiet = call->quiet;
    if (status == SINEW_OK) status = render.verb->run(&render);
    call->error = render.error;
    cli_call_free(&render);
    sinew_free(l.words);
    return status;
}

static sinew_status play(cli_call *call, const take *t, const scenery *shown, const char *out) {
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
    cli_temporary_note(frames);
    json_t *document = json_pack("{s:i}", "sinew", SINEW_SCENE_VERSION);
    fill(call, t, fps, frames, document);
    call->silent = true;
    sinew_status status = cli_run_document(call, document, cli_text(call, "--scene-out"));
    call->silent = false;
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) {
        sinew_status drawn = draw(call, shown, picture, frames, out);
        if (drawn != SINEW_OK) status = drawn;
    }
    unlink(frames);
    cli_temporary_note(NULL);
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

/* To a file that is named after the take. */
static sinew_status play_beside(cli_call *call, const take *t, const scenery *shown) {
    char *program = cli_find_program("ffmpeg"), *stem = cli_path_stem(t->path);
    size_t room = (stem ? strlen(stem) : 0) + 8;
    char *out = CLI_NEW(char, room);
    sinew_status status = stem && out ? SINEW_OK : cli_no_memory(&call->error);
    if (status == SINEW_OK) {
        snprintf(out, room, "%s%s", stem, program ? ".mp4" : ".png");
        status = play(call, t, shown, out);
    }
    sinew_free(program), sinew_free(stem), sinew_free(out);
    return status;
}

static sinew_status run(cli_call *call) {
    if (cli_given(call, "--out") && !can_be_drawn(cli_text(call, "--out")))
        return cli_usage(call, "--out %s: expected .png, .mp4, .webm, .gif or .webp",
                         cli_text(call, "--out"));
    take t = {.path = call->arguments[call->argument_count - 1]};
    scenery shown = {0};
    CLI_TRY(read_take(call, &t));
    sinew_status status = set_up(call, &t, &shown);
    if (status == SINEW_OK && cli_given(call, "--out"))
        status = play(call, &t, &shown, cli_text(call, "--out"));
    else if (status == SINEW_OK)
        status = play_beside(call, &t, &shown);
    free_scenery(&shown);
    sinew_markers_destroy(t.markers);
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
        "take are needed. The camera frames the head through the whole take, also on a full "
        "body.\n\nTAKE holds markers (CSV, C3D, TRC) or slider weights (CSV, as Live "
        "Link "
        "Face writes them). Markers are mapped to the face by their names and solved as by 'sinew "
        "fit --layer'; doubtful markers are listed. Weights are blended linearly. In both cases "
        "contact "
        "keeps the parts of the face apart.",
    .example = "sinew sample face --out face\n"
               "sinew play face face/markers.csv --out take.png --size 1000x320\n",
    .run = run,
};
