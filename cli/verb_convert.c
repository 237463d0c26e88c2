/* sinew convert: between any two formats that hold the same kind of thing. */
#include <math.h>
#include <string.h>

#include "files.h"
#include "report.h"

static const cli_option options[] = {
    {"--out", CLI_OUTPUT, "OUT", "Output file; the same as the last argument.", 0, 0, false},
    {"--units", CLI_CHOICE, "mm|cm|m|in|ft",
     "Convert lengths from the unit of the GLB or FBX file (default: as stored).", 0, 0, false},
    {"--up", CLI_CHOICE, "x|y|z",
     "Rotate from the up axis of the GLB or FBX file (default: as stored).", 0, 0, false},
    {"--cage", CLI_FLAG, NULL,
     "Write the control cage of an FBX mesh that the file shows subdivided (plain meshes only).", 0,
     0, false},
    {"--names", CLI_INPUT, "CSV", "Rename curve channels or markers: one line from,to for each.", 0,
     0, false},
    {"--curves", CLI_INPUT, "FILE", "Store this clip of slider weights in the rig (GLB, USDA).", 0,
     0, false},
    {"--rig-only", CLI_FLAG, NULL,
     "Write only the rig, as one mesh. Without this option, GLB to GLB and FBX to FBX keep "
     "everything else of the file: materials, textures, skins, other nodes.",
     0, 0, false},
    {"--compact", CLI_FLAG, NULL,
     "Write a small GLB: quantize targets within the tolerance, compress everything, and leave out "
     "the normals of targets.",
     0, 0, false},
    {"--normals", CLI_FLAG, NULL, "Keep the normals of targets in a compact GLB.", 0, 0, false},
    CLI_GROUP("Frames"),
    {"--mesh", CLI_INPUT, "FILE", "Mesh that supplies faces and names to formats that store them.",
     0, 0, false},
    {"--clip", CLI_TEXT, "NAME",
     "Play this clip of IN, with its skins and blend-shape weights (default: the first clip that "
     "moves anything).",
     0, 0, false},
    {"--at", CLI_NUMBER, "SECONDS",
     "Write the pose at this time of the clip instead of the whole clip.", -1e9, 1e9, false},
    {"--rate", CLI_NUMBER, "FPS", "Frames per second of the clip (default: the rate of the file).",
     1e-3, 1e4, false},
    {"--tolerance", CLI_NUMBER, "LENGTH",
     "Largest error of a vertex in frames and targets of a compact GLB, and in all frames that are "
     "written as GLB (default: 1e-4 of the bounding-box diagonal).",
     0, 1e300, false},
    CLI_END,
};

/* Frames to be written: in memory, or read one by one. */
typedef struct frame_source {
    const cli_file *file;
    sinew_frame_reader_info about;
    float *row; /* one frame of a reader */
} frame_source;

static sinew_status open_source(const cli_file *file, frame_source *s, sinew_error *error) {
    *s = (frame_source){.file = file, .about = {.size = sizeof s->about}};
    if (file->reader) {
        sinew_frame_reader_get_info(file->reader, &s->about);
        s->row = sinew_alloc(3 * (size_t)s->about.vertex_count, sizeof(float));
        return s->row ? SINEW_OK : cli_no_memory(error);
    }
    const sinew_frames *f = file->frames;
    s->about = (sinew_frame_reader_info){sizeof s->about, f->vertex_count, f->frame_count, f->start,
                                         f->rate};
    return SINEW_OK;
}

static sinew_status row_at(frame_source *s, int frame, const float **row, sinew_error *error) {
    const sinew_frames *f = s->file->frames;
    *row = f ? f->positions + 3 * (size_t)f->vertex_count * (size_t)frame : s->row;
    return f ? SINEW_OK : sinew_frame_reader_read(s->file->reader, frame, s->row, error);
}

/* The faces the frames move: of --mesh, of the input where it has some, else none. */
static sinew_status frames_mesh(cli_call *call, const char *in, frame_source *s,
                                sinew_mesh **mesh) {
    const char *given = cli_text(call, "--mesh");
    int count = s->about.vertex_count;
    if (!given && (cli_has_ending(in, "glb") || cli_has_ending(in, "fbx"))) given = in;
    if (given) {
        CLI_TRY(sinew_mesh_read(given, mesh, &call->error));
        const sinew_mesh *m = *mesh;
        if (count == m->vertex_count || (m->file_vertices && count == m->file_vertex_count))
            return SINEW_OK;
        sinew_fail(&call->error, SINEW_BAD_INPUT,
                   "%s: the frames have %d points, %s has %d vertices", in, count,
                   m->name ? m->name : "the mesh", m->vertex_count);
        sinew_mesh_destroy(*mesh);
        *mesh = NULL;
        return SINEW_BAD_INPUT;
    }
    double *positions = CLI_NEW(double, 3 * (size_t)count);
    const float *row = NULL;
    sinew_status status = positions ? SINEW_OK : cli_no_memory(&call->error);
    if (status == SINEW_OK && s->about.frame_count > 0) status = row_at(s, 0, &row, &call->error);
    for (size_t i = 0; status == SINEW_OK && row && i < 3 * (size_t)count; i++)
        positions[i] = (double)row[i];
    const int none = 0;
    if (status == SINEW_OK)
        status = sinew_mesh_create(count, positions, 0, &none, NULL, mesh, &call->error);
    sinew_free(positions);
    return status;
}

/* A frame of the file's points on the vertices of the mesh, which may be fewer: see
 * sinew_frames_match. */
static void place_row(const frame_source *s, const sinew_mesh *mesh, const float *row,
                      double *positions) {
    bool split = s->about.vertex_count != mesh->vertex_count;
    for (int i = s->about.vertex_count; i-- > 0;)
        for (int c = 0; c < 3; c++)
            positions[3 * (size_t)(split ? mesh->file_vertices[i] : i) + (size_t)c] =
                (double)row[3 * (size_t)i + (size_t)c];
}

static sinew_status add_frames(cli_call *call, frame_source *s, const sinew_mesh *mesh,
                               sinew_frame_writer *writer) {
    double *positions = CLI_NEW(double, 3 * (size_t)mesh->vertex_count);
    sinew_status status = positions ? SINEW_OK : cli_no_memory(&call->error);
    for (int k = 0; status == SINEW_OK && k < s->about.frame_count; k++) {
        const float *row;
        cli_progress(call->monitor, (double)k / s->about.frame_count, "frames");
        if (cli_cancelled(call->monitor)) status = SINEW_CANCELLED;
        if (status == SINEW_OK) status = row_at(s, k, &row, &call->error);
        if (status == SINEW_OK) {
            place_row(s, mesh, row, positions);
            status = sinew_frame_writer_add(writer, positions, &call->error);
        }
    }
    sinew_free(positions);
    return status;
}

/* What --units and --up do to every vector. */
typedef struct change {
    bool given;
    double m[9], scale;
} change;

static void apply(const double *m, size_t count, double *vectors) {
    for (size_t i = 0; i < 3 * count; i += 3) {
        const double v[3] = {vectors[i], vectors[i + 1], vectors[i + 2]};
        for (size_t r = 0; r < 3; r++)
            vectors[i + r] = m[3 * r] * v[0] + m[3 * r + 1] * v[1] + m[3 * r + 2] * v[2];
    }
}

static void apply_to_mesh(const change *c, sinew_mesh *mesh) {
    double rotation[9];
    for (int i = 0; i < 9; i++) rotation[i] = c->m[i] / c->scale;
    apply(c->m, (size_t)mesh->vertex_count, mesh->positions);
    if (mesh->normals) apply(rotation, (size_t)mesh->normal_count, mesh->normals);
}

static sinew_status write_frames(cli_call *call, const char *in, const cli_file *file,
                                 const change *to, const char *out) {
    sinew_mesh *mesh = NULL;
    sinew_error *error = &call->error;
    frame_source s;
    sinew_frame_writer *writer = NULL;
    sinew_status status = open_source(file, &s, error);
    if (status == SINEW_OK) status = frames_mesh(call, in, &s, &mesh);
    if (status == SINEW_OK && to->given && !cli_given(call, "--mesh")) apply_to_mesh(to, mesh);
    if (status == SINEW_OK)
        status = sinew_frame_writer_open(out, mesh, s.about.frame_count, s.about.start,
                                         s.about.rate > 0 ? s.about.rate : 30, &writer, error);
    if (status == SINEW_OK && cli_given(call, "--tolerance"))
        sinew_frame_writer_set_tolerance(writer, cli_number(call, "--tolerance", 0));
    if (status == SINEW_OK && cli_given(call, "--compact"))
        sinew_frame_writer_set_compact(writer, cli_given(call, "--normals"));
    if (status == SINEW_OK) status = add_frames(call, &s, mesh, writer);
    if (status == SINEW_OK)
        status = sinew_frame_writer_close(writer, error);
    else if (writer)
        sinew_frame_writer_abandon(writer);
    sinew_mesh_destroy(mesh);
    sinew_free(s.row);
    return status;
}

static sinew_status write_whole(cli_call *call, const char *in, const sinew_rig *rig,
                                const char *out) {
    sinew_curves *curves = NULL;
    if (cli_given(call, "--curves"))
        CLI_TRY(cli_read_curves(call, cli_text(call, "--curves"), rig, &curves, NULL));
    sinew_status status =
        cli_write_rig(call, cli_given(call, "--rig-only") ? NULL : in, rig, curves, out);
    sinew_curves_destroy(curves);
    return status;
}

static sinew_status write_compact(cli_call *call, const sinew_rig *rig, const char *out) {
    sinew_curves *curves = NULL;
    sinew_compact_options chosen;
    sinew_compact_options_init(&chosen);
    chosen.normals = cli_given(call, "--normals");
    double diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    if (cli_given(call, "--tolerance") && diagonal > 0)
        chosen.tolerance = cli_number(call, "--tolerance", 0) / diagonal;
    if (!(chosen.tolerance > 0)) return cli_usage(call, "--compact needs a tolerance above 0");
    if (cli_given(call, "--curves"))
        CLI_TRY(cli_read_curves(call, cli_text(call, "--curves"), rig, &curves, NULL));
    sinew_status status = sinew_rig_write_compact(out, rig, curves, &chosen, &call->error);
    sinew_curves_destroy(curves);
    return status;
}

static sinew_status write_rig(cli_call *call, const char *in, const sinew_rig *rig,
                              const char *out) {
    if (cli_given(call, "--compact")) return write_compact(call, rig, out);
    if (!cli_holds_mesh_only(out)) return write_whole(call, in, rig, out);
    if (rig->target_count > 0)
        cli_warn(call, "%s can store only one mesh: wrote the neutral without the %d targets", out,
                 rig->target_count);
    return sinew_mesh_write(out, rig->neutral, &call->error);
}

/* A mesh becomes a rig without targets where the output holds rigs. */
static sinew_status write_mesh(cli_call *call, sinew_mesh **mesh, const char *out) {
    if (*cli_path_ending(out)) return sinew_mesh_write(out, *mesh, &call->error);
    sinew_rig *rig;
    sinew_mesh *neutral = *mesh;
    *mesh = NULL; /* the rig's from here on */
    CLI_TRY(sinew_rig_create(neutral, &rig, &call->error));
    sinew_status status = sinew_rig_write(out, rig, &call->error);
    sinew_rig_destroy(rig);
    return status;
}

static sinew_status rename_channels(cli_call *call, cli_file *file) {
    int unused = 0, count = file->curves    ? file->curves->channel_count
                            : file->markers ? file->markers->marker_count
                                            : 0;
    char **names = file->curves ? file->curves->names : file->markers ? file->markers->names : NULL;
    if (!names) return cli_usage(call, "--names applies only to curves and markers");
    cli_report_input(call->report, cli_text(call, "--names"));
    CLI_TRY(sinew_rename(cli_text(call, "--names"), count, names, &unused, &call->error));
    if (unused > 0)
        cli_warn(call, "%d of the names in %s do not occur in the input", unused,
                 cli_text(call, "--names"));
    return SINEW_OK;
}

/* --units and --up: positions, targets, normals and frames. */
static sinew_status convert_units(cli_call *call, const char *in, cli_file *file, change *to) {
    static const double meters[] = {0.001, 0.01, 1, 0.0254, 0.3048};
    if (!cli_given(call, "--units") && !cli_given(call, "--up")) return SINEW_OK;
    int unit = cli_choice(call, "--units", -1), up = cli_choice(call, "--up", -1);
    sinew_mesh *mesh = file->rig ? file->rig->neutral : file->mesh;
    if (!mesh && !file->frames)
        return cli_usage(call, "--units and --up apply only to meshes, rigs and clips in a file");
    sinew_contents *contents;
    const double *m = to->m;
    CLI_TRY(sinew_contents_read(in, call->monitor, &contents, &call->error));
    sinew_status status =
        sinew_contents_matrix(contents, unit >= 0 ? meters[unit] : 0,
                              up >= 0 ? (char)('x' + up) : 0, to->m, &call->error);
    sinew_contents_destroy(contents);
    if (status != SINEW_OK)
        return sinew_fail(&call->error, status, "%s: the file does not state its unit and up axis",
                          in);
    to->given = true, to->scale = sqrt(m[0] * m[0] + m[3] * m[3] + m[6] * m[6]);
    if (mesh) apply_to_mesh(to, mesh);
    for (int t = 0; file->rig && t < file->rig->target_count; t++)
        apply(m, (size_t)file->rig->targets[t].count, file->rig->targets[t].deltas);
    if (file->frames) {
        float *p = file->frames->positions;
        size_t count = (size_t)file->frames->frame_count * (size_t)file->frames->vertex_count;
        for (size_t i = 0; i < count; i++, p += 3) {
            double v[3] = {(double)p[0], (double)p[1], (double)p[2]};
            apply(m, 1, v);
            for (int c = 0; c < 3; c++) p[c] = (float)v[c];
        }
    }
    return SINEW_OK;
}

static sinew_status convert(cli_call *call, const char *in, cli_file *file, const char *out) {
    const sinew_mesh *mesh = file->rig ? file->rig->neutral : file->mesh;
    if (cli_given(call, "--curves") && !file->rig)
        return cli_usage(call, "--curves needs a rig as input");
    if (cli_given(call, "--compact") && !cli_has_ending(out, "glb"))
        return cli_usage(call, "--compact applies only to .glb output");
    if (cli_given(call, "--normals") && !cli_given(call, "--compact"))
        return cli_usage(call, "--normals needs --compact");
    if (cli_given(call, "--names")) CLI_TRY(rename_channels(call, file));
    change to = {0};
    CLI_TRY(convert_units(call, in, file, &to));
    /* A rig of several files, or in other units than the nodes of the file, is written alone. */
    bool alone = call->argument_count > 2 || to.given;
    if (mesh) cli_report_sizes(call->report, mesh->vertex_count, mesh->triangle_count);
    if (file->mesh) return write_mesh(call, &file->mesh, out);
    if (file->rig) return write_rig(call, alone ? NULL : in, file->rig, out);
    if (file->curves) return sinew_curves_write(out, file->curves, &call->error);
    if (file->markers) return sinew_markers_write(out, file->markers, &call->error);
    if (file->tets) return sinew_tets_write(out, file->tets, &call->error);
    return write_frames(call, in, file, &to, out);
}

/* One pose of a clip, or all of it. */
static sinew_status read_clip(cli_call *call, const char *in, const char *out, cli_file *file) {
    const char *clip = cli_text(call, "--clip");
    if (cli_given(call, "--at"))
        return sinew_pose_read(in, clip, cli_number(call, "--at", 0), &file->mesh, &call->error);
    if (cli_holds_mesh_only(out) && !strchr(out, '#') && !strchr(out, '%'))
        return cli_usage(call, "--clip needs --at SECONDS to write a single mesh");
    return sinew_frames_read_clip(in, clip, cli_number(call, "--rate", 0), &file->frames,
                                  &call->error);
}

/* A subdivided mesh has other vertices than the rig in the same file. */
static sinew_status tell_subdivision(cli_call *call, const char *in) {
    sinew_contents *contents;
    CLI_TRY(sinew_contents_read(in, call->monitor, &contents, &call->error));
    sinew_contents_item item = {.size = sizeof item};
    for (int i = 0; i < sinew_contents_count(contents); i++) {
        if (cli_given(call, "--cage") || sinew_contents_get(contents, i, &item) != SINEW_OK ||
            item.kind != SINEW_CONTENTS_KIND_SUBDIVISION)
            continue;
        cli_say(call, "subdivided as the file shows it; --cage writes the control cage");
        break;
    }
    sinew_contents_destroy(contents);
    return SINEW_OK;
}

/* A mesh needs only the shapes that it shows; that another one is broken is worth knowing. */
static void warn_of_shapes(cli_call *call, const char *in) {
    if (!cli_has_ending(in, "fbx")) return;
    sinew_rig *rig = NULL;
    sinew_error error = {0};
    if (sinew_rig_read(1, &in, &rig, &error) == SINEW_BAD_INPUT)
        cli_warn(call, "%s; the mesh does not need it and is written", error.message);
    sinew_rig_destroy(rig);
}

static sinew_status run(cli_call *call) {
    int inputs = call->argument_count;
    const char *out = cli_text(call, "--out");
    if (!out) out = call->arguments[--inputs];
    if (inputs < 1) return cli_usage(call, "needs IN and OUT; see 'sinew convert --help'");
    cli_file file = {0};
    sinew_status status;
    bool clip = cli_given(call, "--clip") || cli_given(call, "--at") || cli_given(call, "--rate");
    if (inputs == 1 && clip) {
        status = read_clip(call, call->arguments[0], out, &file);
    } else if (inputs == 1) {
        status = cli_file_read_for(call->arguments[0], out, cli_given(call, "--cage"), &file,
                                   &call->error);
        if (status == SINEW_OK && file.mesh) warn_of_shapes(call, call->arguments[0]);
        if (status == SINEW_OK && file.mesh) status = tell_subdivision(call, call->arguments[0]);
    } else {
        file.format = "rig"; /* a neutral and what moves it */
        status = sinew_rig_read(inputs, call->arguments, &file.rig, &call->error);
    }
    if (status == SINEW_OK) status = convert(call, call->arguments[0], &file, out);
    if (status == SINEW_OK) cli_say(call, "wrote %s", out);
    cli_file_free(&file);
    return status;
}

const cli_verb verb_convert = {
    .name = "convert",
    .summary = "convert meshes, rigs, clips, markers and point caches between formats",
    .arguments = "IN... OUT",
    .writes_last = true,
    .minimum = 1,
    .maximum = -1,
    .options = options,
    .description =
        "Convert a file to another format that stores the same kind of data. Vertex order and "
        "names are preserved.\n\nThe extensions select the formats; an OUT without an extension is "
        "a rig folder. Several inputs make a rig: a neutral followed by folders of targets or by "
        "pose meshes. If a take and a rig use different names for the same things, --names writes "
        "a take that fits the rig. docs/formats.md lists what each format stores.",
    .example = "sinew sample bar --out bar\n"
               "sinew convert bar/neutral.obj bar.ply\n",
    .run = run,
};
