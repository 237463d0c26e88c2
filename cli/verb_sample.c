/* sinew sample: a built-in rig as files. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "sinew/version.h"
#include "verb.h"

static const cli_option options[] = {
    {"--out", CLI_OUTPUT, "DIR|FILE",
     "Rig folder, or a rig file whose extension selects the format (default: ./NAME).", 0, 0,
     false},
    {"--vertices", CLI_INTEGER, "N",
     "Approximate number of vertices (default: depends on the sample).", SINEW_SAMPLE_MIN_VERTICES,
     SINEW_SAMPLE_MAX_VERTICES, false},
    CLI_GROUP("Markers of the sample faces"),
    {"--noise", CLI_NUMBER, "M",
     "Standard deviation of the noise added to the markers, in meters (default 0).", 0, 0.01,
     false},
    {"--gaps", CLI_NUMBER, "FRACTION", "Fraction of marker samples to drop (default 0).", 0, 0.9,
     false},
    {"--seed", CLI_INTEGER, "N", "Random seed for noise and gaps (default 1).", 0, 1000000, false},
    CLI_END,
};

static sinew_status list(cli_call *call) {
    json_t *names = json_array();
    for (int i = 0; i < sinew_sample_count(); i++) {
        cli_say(call, "  %-10s %s", sinew_sample_name(i), sinew_sample_summary(i));
        json_array_append_new(names, json_string(sinew_sample_name(i)));
    }
    json_object_set_new(call->report, "samples", names);
    return SINEW_OK;
}

/* What a folder gets beside the rig. */
typedef struct folder {
    cli_call *call;
    const char *path, *name;
    const sinew_rig *rig;
    bool markers;
} folder;

static sinew_status write_clip(const folder *f, bool lips) {
    sinew_error *error = &f->call->error;
    sinew_curves *curves;
    CLI_TRY(lips ? sinew_sample_lip_curves(&curves, error)
                 : sinew_sample_curves(f->name, &curves, error));
    char *path = cli_path_join(f->path, lips ? "lips.csv" : "clip.csv");
    sinew_status status = path ? sinew_curves_write(path, curves, error) : cli_no_memory(error);
    sinew_free(path);
    sinew_curves_destroy(curves);
    return status;
}

static sinew_status write_markers(const folder *f, const sinew_sample_options *chosen, bool lips) {
    sinew_error *error = &f->call->error;
    sinew_sample_marker_options wanted;
    sinew_sample_marker_options_init(&wanted);
    wanted.noise = cli_number(f->call, "--noise", 0);
    wanted.gaps = cli_number(f->call, "--gaps", 0);
    wanted.seed = (unsigned)cli_integer(f->call, "--seed", SINEW_SAMPLE_SEED);
    wanted.lips = lips;
    sinew_markers *markers;
    sinew_marker_map *map;
    CLI_TRY(sinew_sample_markers(f->name, chosen, &wanted, &markers, &map, error));
    char *take = cli_path_join(f->path, lips ? "lips_markers.csv" : "markers.csv");
    char *map_path = cli_path_join(f->path, "markers_map.csv");
    sinew_status status = take && map_path ? SINEW_OK : cli_no_memory(error);
    if (status == SINEW_OK) status = sinew_markers_write(take, markers, error);
    if (status == SINEW_OK) status = sinew_marker_map_write(map_path, map, error);
    sinew_free(take);
    sinew_free(map_path);
    sinew_markers_destroy(markers);
    sinew_marker_map_destroy(map);
    return status;
}

/* Every pose as a mesh of its own, for the verbs and programs that take key poses. */
static sinew_status write_poses(const folder *f) {
    sinew_error *error = &f->call->error;
    const sinew_rig *rig = f->rig;
    size_t size = 3 * (size_t)rig->neutral->vertex_count;
    char *poses = cli_path_join(f->path, "poses");
    sinew_mesh *mesh = NULL;
    sinew_status status = poses ? sinew_folder_create(poses, error) : cli_no_memory(error);
    if (status == SINEW_OK) status = sinew_mesh_copy(rig->neutral, &mesh, error);
    for (int t = -1; t < rig->target_count && status == SINEW_OK; t++) {
        memcpy(mesh->positions, rig->neutral->positions, size * sizeof(double));
        for (int i = 0; t >= 0 && i < 3 * rig->targets[t].count; i++)
            mesh->positions[3 * rig->targets[t].vertices[i / 3] + i % 3] +=
                rig->targets[t].deltas[i];
        char file[128];
        snprintf(file, sizeof file, "%s.obj", t < 0 ? "neutral" : rig->targets[t].name);
        char *path = cli_path_join(poses, file);
        status = path ? sinew_mesh_write(path, mesh, error) : cli_no_memory(error);
        sinew_free(path);
    }
    sinew_mesh_destroy(mesh);
    sinew_free(poses);
    return status;
}

#define MADE_BY "made by sinew"

static sinew_status write_readme(const folder *f) {
    sinew_error *error = &f->call->error;
    cli_document document;
    CLI_TRY(cli_document_open(&document, error));
    FILE *out = document.stream;
    const sinew_rig *rig = f->rig;
    fprintf(out, "%s: " MADE_BY " %s, sinew sample %s\n\n", f->name, sinew_version(), f->name);
    fprintf(out,
            "neutral.obj, targets/, rig.json   the rig: %d vertices, %d faces, %d sliders, %d "
            "targets (meters, y up, front +z)\n",
            rig->neutral->vertex_count, rig->neutral->face_count, rig->slider_count,
            rig->target_count);
    fprintf(out, "clip.csv                          weight curves, 30 values per second\n");
    if (f->markers)
        fprintf(out,
                "lips.csv                          second clip: parted lips close, press, part\n"
                "markers.csv, lips_markers.csv     the clips as 60 markers at 60 frames a "
                "second\n"
                "markers_map.csv                   the vertices they sit on\n");
    else
        fprintf(out, "poses/                            every pose as a mesh\n");
    fprintf(out, "\nsliders\n");
    for (int s = 0; s < rig->slider_count; s++) fprintf(out, "  %s\n", rig->sliders[s].name);
    fprintf(out, "\nregions\n");
    for (int r = 0; r < rig->region_count; r++)
        fprintf(out, "  %s (%d vertices)\n", rig->regions[r].name, rig->regions[r].count);
    char *path = cli_path_join(f->path, "README.txt");
    sinew_status status = cli_document_write(&document, path ? path : "README.txt", error);
    sinew_free(path);
    return status;
}

static sinew_status write_rest(const folder *f, const sinew_sample_options *chosen) {
    CLI_TRY(write_clip(f, false));
    if (!f->markers) CLI_TRY(write_poses(f));
    if (f->markers) CLI_TRY(write_clip(f, true));
    for (int lips = 0; lips < 2 && f->markers; lips++) CLI_TRY(write_markers(f, chosen, lips));
    return write_readme(f);
}

/* The first line of its README says so. */
static bool is_sample(const char *readme) {
    char line[256] = "";
    FILE *stream = fopen(readme, "r");
    if (!stream) return false;
    bool read = fgets(line, sizeof line, stream) != NULL;
    fclose(stream);
    return read && strstr(line, MADE_BY);
}

/* A folder that exists may be that of an earlier sample, or hold other things beside; files of
 * another rig, which the user did not name, are not overwritten. */
static sinew_status check_folder(cli_call *call, const char *out) {
    static const char *const files[] = {"README.txt", "neutral.obj", "rig.json",
                                        "clip.csv",   "lips.csv",    "markers.csv"};
    char *readme = cli_path_join(out, "README.txt");
    sinew_status status = readme ? SINEW_OK : cli_no_memory(&call->error);
    bool known = readme && is_sample(readme);
    for (size_t k = 0; status == SINEW_OK && !known && k < sizeof files / sizeof *files; k++) {
        char *path = cli_path_join(out, files[k]);
        if (!path)
            status = cli_no_memory(&call->error);
        else if (access(path, F_OK) == 0)
            status = sinew_fail(&call->error, SINEW_IO,
                                "%s: is not part of a sample and would be overwritten; choose "
                                "another folder",
                                path);
        sinew_free(path);
    }
    sinew_free(readme);
    return status;
}

static sinew_status run(cli_call *call) {
    if (call->argument_count == 0) return list(call);
    const char *name = call->arguments[0];
    const char *out = cli_given(call, "--out") ? cli_text(call, "--out") : name;
    sinew_sample_options chosen;
    sinew_sample_options_init(&chosen);
    chosen.monitor = call->monitor;
    chosen.vertices = cli_integer(call, "--vertices", 0);
    if (cli_is_folder(out)) CLI_TRY(check_folder(call, out));
    sinew_rig *rig;
    CLI_TRY(sinew_sample_rig(name, &chosen, &rig, &call->error));
    cli_report_sizes(call->report, rig->neutral->vertex_count, rig->neutral->triangle_count);
    bool fresh = !*cli_path_ending(out) && !cli_is_folder(out);
    /* A new folder gets its name when everything is in it. */
    sinew_folder *made = NULL;
    sinew_status status = fresh ? sinew_folder_begin(out, &made, &call->error) : SINEW_OK;
    const char *written = made ? sinew_folder_path(made) : out;
    if (status == SINEW_OK) status = sinew_rig_write(written, rig, &call->error);
    if (status == SINEW_OK && cli_is_folder(written)) {
        folder f = {call, written, name, rig, strncmp(name, "face", 4) == 0};
        status = write_rest(&f, &chosen);
    }
    if (status == SINEW_OK && made)
        status = sinew_folder_finish(made, &call->error);
    else
        sinew_folder_abandon(made);
    if (status == SINEW_OK)
        cli_say(call, "wrote %s: %d vertices, %d targets", out, rig->neutral->vertex_count,
                rig->target_count);
    sinew_rig_destroy(rig);
    return status;
}

const cli_verb verb_sample = {
    .name = "sample",
    .summary = "write a built-in rig to try things on",
    .arguments = "[NAME]",
    .reads_no_files = true,
    .maximum = 1,
    .options = options,
    .description =
        "Write one of the built-in rigs to disk: its neutral, its targets and an animation clip. "
        "Without a name, list the rigs.\n\nBodies come with their poses as meshes. Faces come with "
        "a second clip, of lips that close and press together, with 60 markers for each clip, and "
        "with a map of where the markers sit. README.txt in the folder describes each file. The "
        "same name and options always produce the same bits.",
    .example = "sinew sample\n"
               "sinew sample bar --out bar\n"
               "sinew blend bar --model rotation --curves bar/clip.csv --out bar.pc2\n"
               "sinew sample face --out face --vertices 1500 --noise 0.0003 --gaps 0.05\n",
    .run = run,
};
