/* sinew info: what is in a file. */
#include <math.h>

#include "files.h"
#include "report.h"

static const cli_option options[] = {CLI_END};

static void box_of(int count, const double *positions, double low[3], double high[3]) {
    for (int c = 0; c < 3; c++) low[c] = INFINITY, high[c] = -INFINITY;
    for (int i = 0; i < 3 * count; i++) {
        low[i % 3] = fmin(low[i % 3], positions[i]);
        high[i % 3] = fmax(high[i % 3], positions[i]);
    }
}

static void say_mesh(const cli_call *call, const sinew_mesh *mesh, json_t *entry) {
    int quads = 0, larger = 0;
    for (int f = 0; f < mesh->face_count; f++) {
        int corners = mesh->face_start[f + 1] - mesh->face_start[f];
        quads += corners == 4;
        larger += corners > 4;
    }
    double low[3], high[3];
    box_of(mesh->vertex_count, mesh->positions, low, high);
    cli_say(call,
            "  %d vertices, %d faces (%d triangles, %d quads, %d larger), %d triangles in all",
            mesh->vertex_count, mesh->face_count, mesh->face_count - quads - larger, quads, larger,
            mesh->triangle_count);
    if (mesh->vertex_count > 0)
        cli_say(call, "  box %.6g %.6g %.6g to %.6g %.6g %.6g, diagonal %.6g", low[0], low[1],
                low[2], high[0], high[1], high[2],
                sinew_diagonal(mesh->vertex_count, mesh->positions));
    cli_say(call, "  %d texture coordinates, %d normals, %d parts", mesh->uv_count,
            mesh->normal_count, mesh->part_count);
    for (int i = 0; i < mesh->part_count; i++) {
        int faces = 0;
        for (int f = 0; f < mesh->face_count; f++)
            faces += mesh->face_part ? mesh->face_part[f] == i : i == 0;
        cli_say(call, "    part %s: %d faces", mesh->part_names[i], faces);
    }
    json_object_set_new(entry, "vertices", json_integer(mesh->vertex_count));
    json_object_set_new(entry, "faces", json_integer(mesh->face_count));
    json_object_set_new(entry, "triangles", json_integer(mesh->triangle_count));
    json_object_set_new(entry, "parts", json_integer(mesh->part_count));
    json_object_set_new(entry, "diagonal",
                        cli_report_number(sinew_diagonal(mesh->vertex_count, mesh->positions)));
}

static void say_rig(const cli_call *call, const sinew_rig *rig, json_t *entry) {
    static const char *const kinds[] = {"", "in-between", "combination"};
    say_mesh(call, rig->neutral, entry);
    cli_say(call, "  %d sliders, %d targets, %d regions", rig->slider_count, rig->target_count,
            rig->region_count);
    json_t *targets = json_array();
    for (int i = 0; i < rig->target_count; i++) {
        const sinew_target *t = &rig->targets[i];
        double largest = 0;
        for (int k = 0; k < t->count; k++) {
            const double *d = t->deltas + 3 * (size_t)k;
            largest = fmax(largest, sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
        }
        if (t->count == 0)
            cli_say(call, "    %-28s moves nothing %s", t->name, kinds[t->kind]);
        else
            cli_say(call, "    %-28s moves %d vert%s by up to %.4g %s", t->name, t->count,
                    t->count == 1 ? "ex" : "ices", largest, kinds[t->kind]);
        json_array_append_new(targets, json_pack("{s:s, s:i, s:f}", "name", t->name, "moved",
                                                 t->count, "largest", largest));
    }
    json_object_set_new(entry, "sliders", json_integer(rig->slider_count));
    json_object_set_new(entry, "targets", targets);
}

static void say_times(const cli_call *call, const char *what, int count, char **names,
                      int time_count, const double *times, json_t *entry) {
    double start = time_count ? times[0] : 0, end = time_count ? times[time_count - 1] : 0;
    cli_say(call, "  %d %s, %d times from %g to %g s", count, what, time_count, start, end);
    for (int i = 0; i < count; i++) cli_say(call, "    %s", names[i]);
    json_object_set_new(entry, what, json_integer(count));
    json_object_set_new(entry, "times", json_integer(time_count));
}

static void say_frames(const cli_call *call, int frames, int vertices, double start, double rate,
                       json_t *entry) {
    cli_say(call, "  %d frames of %d vertices, from %g s at %g frames per second", frames, vertices,
            start, rate);
    json_object_set_new(entry, "frames", json_integer(frames));
    json_object_set_new(entry, "vertices", json_integer(vertices));
}

/* How many frames of a cache are read to find numbers that are not finite: all of them, or as many
 * as take a moment. */
static int count_checked(const sinew_frame_reader_info *about) {
    const double most = 64 << 20, page = 4096; /* bytes; less than a page is not read */
    double bytes = 12.0 * about->vertex_count;
    if (bytes * about->frame_count <= most) return about->frame_count;
    int count = (int)(most / (bytes > page ? bytes : page));
    return count < 2 ? 2 : count;
}

/* Reads `count` frames of the cache, spread from the first to the last, in the memory of one. */
static sinew_status check_frames(cli_call *call, sinew_frame_reader *reader, int count) {
    sinew_frame_reader_info about = {.size = sizeof about};
    sinew_frame_reader_get_info(reader, &about);
    float *row = sinew_alloc(3 * (size_t)about.vertex_count, sizeof(float));
    sinew_status status = row ? SINEW_OK : cli_no_memory(&call->error);
    for (int k = 0; k < count && status == SINEW_OK; k++) {
        int frame = count > 1 ? (int)((int64_t)k * (about.frame_count - 1) / (count - 1)) : 0;
        cli_progress(call->monitor, (double)k / count, "frames");
        status = cli_cancelled(call->monitor)
                     ? SINEW_CANCELLED
                     : sinew_frame_reader_read(reader, frame, row, &call->error);
    }
    sinew_free(row);
    return status;
}

static sinew_status check_cache(cli_call *call, sinew_frame_reader *reader) {
    sinew_frame_reader_info about = {.size = sizeof about};
    sinew_frame_reader_get_info(reader, &about);
    return check_frames(call, reader, count_checked(&about));
}

static void say_file(const cli_call *call, const cli_file *file, json_t *entry) {
    if (file->mesh) say_mesh(call, file->mesh, entry);
    if (file->rig) say_rig(call, file->rig, entry);
    if (file->curves)
        say_times(call, "curves", file->curves->channel_count, file->curves->names,
                  file->curves->time_count, file->curves->times, entry);
    if (file->markers) {
        const sinew_markers *m = file->markers;
        const char axis[2] = {m->up, 0};
        say_times(call, "markers", m->marker_count, m->names, m->time_count, m->times, entry);
        cli_say(call, "  unit %s, up axis %s", *m->unit ? m->unit : "not specified",
                m->up ? axis : "not specified");
        json_object_set_new(entry, "unit", json_string(m->unit));
        json_object_set_new(entry, "up", json_string(axis));
    }
    if (file->frames)
        say_frames(call, file->frames->frame_count, file->frames->vertex_count, file->frames->start,
                   file->frames->rate, entry);
    if (file->reader) {
        sinew_frame_reader_info about = {.size = sizeof about};
        sinew_frame_reader_get_info(file->reader, &about);
        say_frames(call, about.frame_count, about.vertex_count, about.start, about.rate, entry);
        int checked = count_checked(&about);
        if (checked < about.frame_count)
            cli_say(call, "  checked %d of the frames for numbers that are not finite", checked);
        json_object_set_new(entry, "frames_checked", json_integer(checked));
    }
    if (file->tets) {
        const sinew_tets *t = file->tets;
        cli_say(call, "  %d tetrahedra, %d vertices, %d inverted", t->tet_count, t->vertex_count,
                sinew_count_inverted(t->tet_count, t->tets, t->positions));
        json_object_set_new(entry, "tets", json_integer(t->tet_count));
        json_object_set_new(entry, "vertices", json_integer(t->vertex_count));
    }
}

/* Clips, skins, materials and the rest, with what is not used. */
static sinew_status say_contents(cli_call *call, const char *path, json_t *entry) {
    sinew_contents *contents;
    CLI_TRY(sinew_contents_read(path, call->monitor, &contents, &call->error));
    json_t *list = json_array();
    int unused = 0, last = -1;
    for (int i = 0; i < sinew_contents_count(contents); i++) {
        sinew_contents_item item = {.size = sizeof item};
        sinew_contents_get(contents, i, &item);
        const char *kind = sinew_contents_kind_name(item.kind);
        if ((int)item.kind != last)
            cli_say(call, "  %s%s", kind, item.kind == SINEW_CONTENTS_KIND_GEOMETRY ? "" : "s");
        last = (int)item.kind;
        cli_say(call, "    %-28s %s%s%s", *item.name ? item.name : "(no name)", item.detail,
                *item.detail && !item.used ? ", " : "", item.used ? "" : "not used");
        unused += !item.used;
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:b}", "kind", kind, "name", item.name,
                                        "detail", item.detail, "used", (int)item.used));
    }
    if (unused > 0)
        cli_say(call, "  what is not used is kept when the file is written to its own format");
    double unit = sinew_contents_unit(contents);
    const char up[2] = {sinew_contents_up(contents), 0};
    if (unit > 0) {
        cli_say(call, "  unit %.6g m, up axis %s; positions are read as they are stored", unit, up);
        json_object_set_new(entry, "unit", json_real(unit));
        json_object_set_new(entry, "up", json_string(up));
    }
    json_object_set_new(entry, "contents", list);
    sinew_contents_destroy(contents);
    return SINEW_OK;
}

static sinew_status run(cli_call *call) {
    json_t *files = json_array();
    json_object_set_new(call->report, "files", files);
    for (int i = 0; i < call->argument_count; i++) {
        cli_file file;
        sinew_status status = cli_file_read(call->arguments[i], &file, &call->error);
        if (status == SINEW_OK && file.reader) status = check_cache(call, file.reader);
        if (status != SINEW_OK) {
            cli_file_free(&file);
            return status;
        }
        cli_say(call, "%s (%s)", call->arguments[i], file.format);
        json_t *entry = json_pack("{s:s, s:s}", "file", call->arguments[i], "format", file.format);
        say_file(call, &file, entry);
        if (!cli_is_folder(call->arguments[i]))
            status = say_contents(call, call->arguments[i], entry);
        json_array_append_new(files, entry);
        if (status != SINEW_OK) {
            cli_file_free(&file);
            return status;
        }
        const sinew_mesh *mesh = file.rig ? file.rig->neutral : file.mesh;
        if (mesh) cli_report_sizes(call->report, mesh->vertex_count, mesh->triangle_count);
        cli_file_free(&file);
    }
    return SINEW_OK;
}

const cli_verb verb_info = {
    .name = "info",
    .summary = "show what a file contains",
    .arguments = "FILE...",
    .minimum = 1,
    .maximum = -1,
    .options = options,
    .description =
        "Print the sizes, names and ranges of meshes, rigs (files and folders), weight "
        "curves, markers, point caches and tetrahedral meshes. GLB and FBX files also list "
        "their clips, skins, materials and extensions, and which of these are not used. Numbers "
        "that are not finite are errors; in point caches over 64 MB, only a sample of the frames "
        "is checked, including the first and the last.",
    .example = "sinew sample bar --out bar\n"
               "sinew info bar\n",
    .run = run,
};
