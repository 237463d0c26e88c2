/* sinew map: where the markers of a take sit on a face. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "balls.h"
#include "hidden.h"
#include "jobs.h"
#include "report.h"
#include "sinew/face_view.h"
#include "sinew/files.h"
#include "verb.h"

static const cli_option options[] = {
    {"--map-out", CLI_OUTPUT, "CSV", "Write the map: NAME,triangle,b0,b1,b2 for each marker.", 0, 0,
     false},
    {"--picture", CLI_OUTPUT, "PNG",
     "Draw the markers on the face from the front and the side, doubtful ones in red.", 0, 0,
     false},
    {"--map", CLI_INPUT, "CSV", "Check this map against the take instead of computing one.", 0, 0,
     false},
    CLI_REGIONS_OPTION,
    {"--neutral-frame", CLI_INTEGER, "K",
     "Sample of the take in which the face is at rest (default: detected).", 0, 2e9, false},
    {"--sample", CLI_TEXT, "NAME",
     "Use a built-in rig instead of files; 'sinew sample' lists them.", 0, 0, false},
    CLI_END,
};

/* Azimuths of the picture. */
static const double views[] = {0, 60};

/* A copy of the rig's neutral without what hides the face, such as hair. */
static sinew_status show_face(cli_call *call, const sinew_rig *rig, const sinew_face_view *face,
                              int covers, sinew_rig **shown) {
    const char **hidden = CLI_NEW(const char *, (size_t)covers + 1);
    sinew_mesh *mesh = NULL;
    sinew_status status =
        hidden ? sinew_mesh_copy(rig->neutral, &mesh, &call->error) : cli_no_memory(&call->error);
    if (status == SINEW_OK) status = sinew_rig_create(mesh, shown, &call->error);
    for (int i = 0; hidden && i < covers; i++) hidden[i] = sinew_face_view_cover(face, i);
    if (status == SINEW_OK) status = cli_hide(call, *shown, covers, hidden);
    sinew_free(hidden);
    return status;
}

static sinew_status draw_face(cli_call *call, const sinew_mesh *shown,
                              const sinew_face_view_info *face, int count, const double *points,
                              const double *heat, sinew_image **image) {
    sinew_mesh *with = NULL;
    float *colors = NULL;
    double size = sinew_diagonal(count, points);
    sinew_status status =
        cli_add_balls(call, shown, NULL, NULL, count, points, heat, 0.012 * size, &with, &colors);
    if (status == SINEW_OK) {
        sinew_panel panels[2] = {{.mesh = with, .colors = colors, .turn = views[0]},
                                 {.mesh = with, .colors = colors, .turn = views[1]}};
        sinew_render_options o;
        sinew_render_options_init(&o);
        o.azimuth = face->azimuth, o.elevation = 0, o.ground = false;
        o.up = face->z_up ? 'z' : 'y';
        for (int k = 0; k < 3; k++) {
            double low = INFINITY, high = -INFINITY;
            for (int i = 0; i < count; i++)
                low = fmin(low, points[3 * i + k]), high = fmax(high, points[3 * i + k]);
            o.center[k] = 0.5 * (low + high);
        }
        o.radius = 0.65 * size;
        status = sinew_render(2, panels, &o, image, &call->error);
    }
    sinew_mesh_destroy(with);
    sinew_free(colors);
    return status;
}

static sinew_status draw(cli_call *call, const sinew_rig *rig, const sinew_anatomy *anatomy,
                         const sinew_capture *capture, sinew_image **image) {
    const sinew_marker_map *map = sinew_capture_map(capture);
    double *points = CLI_NEW(double, 4 * (size_t)map->count),
           *heat = points + 3 * (size_t)map->count;
    sinew_face_view *face = NULL;
    sinew_face_view_info about = {.size = sizeof about};
    sinew_rig *shown = NULL;
    sinew_status status = points ? SINEW_OK : cli_no_memory(&call->error);
    if (status == SINEW_OK)
        status = sinew_face_view_create(rig, anatomy, map, 2, views, 0, call->monitor, &face,
                                        &call->error);
    if (status == SINEW_OK) {
        sinew_face_view_get_info(face, &about);
        sinew_marker_map_points(map, rig->neutral, rig->neutral->positions, points);
        for (int i = 0; i < map->count; i++) heat[i] = sinew_capture_doubt(capture, i) != NULL;
        status = show_face(call, rig, face, about.covers, &shown);
    }
    if (status == SINEW_OK)
        status = draw_face(call, shown->neutral, &about, map->count, points, heat, image);
    sinew_rig_destroy(shown);
    sinew_face_view_destroy(face);
    sinew_free(points);
    return status;
}

/* What is in a regular file that is about to be replaced; *bytes is NULL when there is none. */
static sinew_status keep(cli_call *call, const char *path, char **bytes, size_t *size) {
    struct stat old;
    *bytes = NULL;
    if (stat(path, &old) != 0 || !S_ISREG(old.st_mode)) return SINEW_OK;
    return sinew_file_read(path, bytes, size, &call->error);
}

/* The map and the picture, or none of them. The picture comes first: it needs far more memory and
 * room, and is more likely to fail. When the map fails, what was there before the picture is put
 * back. */
static sinew_status write_files(cli_call *call, const sinew_rig *rig, const sinew_anatomy *anatomy,
                                const sinew_capture *capture) {
    const char *picture = cli_text(call, "--picture"), *map = cli_text(call, "--map-out");
    struct stat made;
    char *old = NULL;
    size_t size = 0;
    if (picture) {
        sinew_image *image = NULL;
        sinew_status status = draw(call, rig, anatomy, capture, &image);
        if (status == SINEW_OK && map) status = keep(call, picture, &old, &size);
        if (status == SINEW_OK) status = sinew_image_write(picture, image, &call->error);
        sinew_image_destroy(image);
        if (status != SINEW_OK) {
            sinew_free(old);
            return status;
        }
    }
    sinew_status status =
        map ? sinew_marker_map_write(map, sinew_capture_map(capture), &call->error) : SINEW_OK;
    if (status != SINEW_OK && old)
        sinew_file_write(picture, old, size, NULL);
    else if (status != SINEW_OK && picture && stat(picture, &made) == 0 && S_ISREG(made.st_mode))
        unlink(picture);
    sinew_free(old);
    return status;
}

static sinew_status report(cli_call *call, const sinew_rig *rig, const sinew_anatomy *anatomy,
                           const sinew_capture *capture) {
    static const char *const sources[] = {"given", "vertex names", "position", "marker names",
                                          "arrangement"};
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(capture, &info);
    const sinew_marker_map *map = sinew_capture_map(capture);
    json_t *doubts = json_object();
    for (int i = 0; i < map->count; i++)
        if (sinew_capture_doubt(capture, i))
            json_object_set_new(doubts, map->names[i],
                                json_string(sinew_capture_doubt(capture, i)));
    json_object_set_new(call->report, "map",
                        json_pack("{s:s, s:i, s:i, s:i, s:f, s:i, s:o}", "source",
                                  sources[info.map_source], "markers", info.markers, "used",
                                  info.used, "left_out", info.left_out, "scale", info.scale,
                                  "neutral_sample", info.neutral_sample, "doubtful", doubts));
    CLI_TRY(write_files(call, rig, anatomy, capture));
    cli_say(call, "%d of %d markers are on the face, by %s; %d in doubt; neutral sample %d",
            info.used, info.markers, sources[info.map_source], info.doubtful, info.neutral_sample);
    if (cli_given(call, "--map-out")) cli_say(call, "wrote %s", cli_text(call, "--map-out"));
    if (cli_given(call, "--picture")) {
        cli_tell_helpers(call);
        cli_say(call, "wrote %s", cli_text(call, "--picture"));
    }
    return SINEW_OK;
}

static sinew_status run(cli_call *call) {
    bool built_in = cli_given(call, "--sample");
    if (call->argument_count < (built_in ? 1 : 2) || (built_in && call->argument_count > 1))
        return cli_usage(call, built_in ? "needs one TAKE; see 'sinew map --help'"
                                        : "needs RIG and TAKE; see 'sinew map --help'");
    const char *file = call->arguments[call->argument_count - 1];
    sinew_rig *rig = NULL;
    sinew_markers *take = NULL;
    sinew_marker_map *map = NULL;
    sinew_capture *capture = NULL;
    sinew_anatomy *anatomy = NULL;
    cli_report_input(call->report, file);
    sinew_status status =
        built_in ? sinew_sample_rig(cli_text(call, "--sample"), NULL, &rig, &call->error)
                 : sinew_rig_read(call->argument_count - 1, call->arguments, &rig, &call->error);
    if (status == SINEW_OK && cli_given(call, "--regions"))
        status = sinew_regions_read(cli_text(call, "--regions"), rig, &call->error);
    if (status == SINEW_OK) status = sinew_markers_read(file, &take, &call->error);
    if (status == SINEW_OK && cli_given(call, "--map"))
        status = sinew_marker_map_read(cli_text(call, "--map"), rig->neutral, &map, &call->error);
    if (status == SINEW_OK)
        status = sinew_anatomy_create(rig, call->monitor, &anatomy, &call->error);
    if (status == SINEW_OK) {
        sinew_capture_options chosen;
        sinew_capture_options_init(&chosen);
        chosen.neutral_sample = cli_integer(call, "--neutral-frame", -1);
        chosen.map = map, chosen.anatomy = anatomy, chosen.retarget = true;
        status = sinew_capture_create(rig, take, &chosen, call->monitor, &capture, &call->error);
    }
    if (status == SINEW_OK) status = report(call, rig, anatomy, capture);
    sinew_capture_destroy(capture);
    sinew_anatomy_destroy(anatomy);
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(take);
    sinew_rig_destroy(rig);
    return status;
}

const cli_verb verb_map = {
    .name = "map",
    .summary = "find where the markers of a take sit on a face",
    .arguments = "RIG... TAKE",
    .minimum = 1,
    .maximum = -1,
    .options = options,
    .description =
        "Attach the markers of a take to points on a rig's skin.\n\nMarker names indicate which "
        "landmarks the markers sit on (words such as brow, lid, lip, corner and left in any common "
        "form, or the numbers of the iBUG, WFLW and MediaPipe layouts). The rig's targets locate "
        "those landmarks: a blink finds the lids, jawOpen the chin. A similarity transform and a "
        "thin-plate warp align the take with the face, and each marker is projected onto the outer "
        "skin.\n\nDoubtful markers are listed with the reason. A map that is mirrored or does not "
        "fit the take is rejected. 'fit' and 'force' compute the map in the same way if none is "
        "given.",
    .example = "sinew sample face --out face\n"
               "sinew map face face/markers.csv --map-out map.csv --picture map.png\n",
    .run = run,
};
