/* USDA (USD as text), written: a mesh, its points over time, and rigs as UsdSkel blend shapes.
 *
 * A plain target is a BlendShape; in-betweens of its slider are its inbetweens. A combination
 * becomes a BlendShape of its own, with its rule in customData: USD knows no correctives. Names
 * become identifiers; the artist's name is kept in customData. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "io/frames.h"
#include "io/names.h"

enum { CLIP_RATE = 60 }; /* time codes per second of a clip */

/* --- text ------------------------------------------------------------------------------------- */

static void add_quoted(sn_buffer *out, const char *text) {
    sn_buffer_char(out, '"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') sn_buffer_char(out, '\\');
        sn_buffer_char(out, (unsigned char)*c < 0x20 ? ' ' : *c);
    }
    sn_buffer_char(out, '"');
}

/* customData = { string name = "..." } on the lines of a prim's metadata. */
static void add_name(sn_buffer *out, const char *indent, const char *name) {
    sn_buffer_print(out, "%scustomData = {\n%s    string name = ", indent, indent);
    add_quoted(out, name);
    sn_buffer_print(out, "\n%s}\n", indent);
}

/* Letters, digits and underscores, not a digit first; different from all before. */
static bool add_identifier(sn_names *names, const char *name) {
    size_t length = strlen(name);
    char *made = sn_alloc(length + 32, 1);
    if (!made) return false;
    size_t used = 0;
    if (length == 0 || (name[0] >= '0' && name[0] <= '9')) made[used++] = '_';
    for (const char *c = name; *c; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                     (*c >= 'A' && *c <= 'Z') || *c == '_';
        made[used++] = plain ? *c : '_';
    }
    made[used] = '\0';
    for (int copy = names->count + 1; sn_names_find(names, made, strlen(made)) >= 0; copy++)
        snprintf(made + used, 31, "_%d", copy);
    bool good = sn_names_add(names, made, strlen(made)) >= 0;
    sn_free(made);
    return good;
}

static void add_number(sn_buffer *out, double value) {
    sn_buffer_number(out, (double)(float)value);
}

static void add_point(sn_buffer *out, const double *p) {
    sn_buffer_char(out, '(');
    for (int k = 0; k < 3; k++) {
        if (k) sn_buffer_text(out, ", ");
        add_number(out, p[k]);
    }
    sn_buffer_char(out, ')');
}

static void add_points(sn_buffer *out, int count, const double *points) {
    sn_buffer_char(out, '[');
    for (int i = 0; i < count; i++) {
        if (i) sn_buffer_text(out, ", ");
        add_point(out, points + 3 * (size_t)i);
    }
    sn_buffer_char(out, ']');
}

static void add_integers(sn_buffer *out, int count, const int *numbers) {
    sn_buffer_char(out, '[');
    for (int i = 0; i < count; i++) {
        if (i) sn_buffer_text(out, ", ");
        sn_buffer_integer(out, numbers[i]);
    }
    sn_buffer_char(out, ']');
}

/* --- the mesh --------------------------------------------------------------------------------- */

static void add_extent(sn_buffer *out, int count, const double *points) {
    double bounds[6] = {0};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < count; i++) {
            double value = points[3 * (size_t)i + (size_t)k];
            if (i == 0 || value < bounds[k]) bounds[k] = value;
            if (i == 0 || value > bounds[3 + k]) bounds[3 + k] = value;
        }
    add_points(out, 2, bounds);
}

static void add_topology(sn_buffer *out, const char *indent, const sinew_mesh *mesh) {
    sn_buffer_print(out, "%sint[] faceVertexCounts = [", indent);
    for (int f = 0; f < mesh->face_count; f++)
        sn_buffer_print(out, "%s%d", f ? ", " : "", mesh->face_start[f + 1] - mesh->face_start[f]);
    sn_buffer_print(out, "]\n%sint[] faceVertexIndices = ", indent);
    add_integers(out, mesh->face_start[mesh->face_count], mesh->face_vertices);
    sn_buffer_print(out, "\n%suniform token subdivisionScheme = \"none\"\n", indent);
    sn_buffer_print(out, "%suniform token orientation = \"rightHanded\"\n", indent);
    if (!mesh->corner_uv) return;
    sn_buffer_print(out, "%stexCoord2f[] primvars:st = [", indent);
    for (int i = 0; i < mesh->uv_count; i++) {
        sn_buffer_text(out, i ? ", (" : "(");
        add_number(out, mesh->uvs[2 * (size_t)i]);
        sn_buffer_text(out, ", ");
        add_number(out, mesh->uvs[2 * (size_t)i + 1]);
        sn_buffer_char(out, ')');
    }
    sn_buffer_print(out, "] (\n%s    interpolation = \"faceVarying\"\n%s)\n", indent, indent);
    sn_buffer_print(out, "%sint[] primvars:st:indices = [", indent);
    for (int c = 0; c < mesh->face_start[mesh->face_count]; c++)
        sn_buffer_print(out, "%s%d", c ? ", " : "",
                        mesh->corner_uv[c] < 0 ? 0 : mesh->corner_uv[c]);
    sn_buffer_text(out, "]\n");
}

/* Parts as subsets of faces. */
static bool add_parts(sn_buffer *out, const sinew_mesh *mesh, sn_names *names) {
    for (int p = 0; p < mesh->part_count; p++) {
        if (!add_identifier(names, mesh->part_names[p])) return false;
        sn_buffer_print(out, "\n        def GeomSubset \"%s\" (\n", names->names[names->count - 1]);
        add_name(out, "            ", mesh->part_names[p]);
        sn_buffer_text(out, "        )\n        {\n"
                            "            uniform token elementType = \"face\"\n"
                            "            uniform token familyName = \"part\"\n"
                            "            int[] indices = [");
        bool any = false;
        for (int f = 0; f < mesh->face_count; f++) {
            if ((mesh->face_part ? mesh->face_part[f] : 0) != p) continue;
            sn_buffer_print(out, "%s%d", any ? ", " : "", f);
            any = true;
        }
        sn_buffer_text(out, "]\n        }\n");
    }
    return true;
}

static const char *mesh_name(const sinew_mesh *mesh) {
    return mesh->name ? mesh->name : "mesh";
}

/* --- rigs ------------------------------------------------------------------------------------- */

/* Vertices that the shape or one of its in-betweens moves, increasing: USD wants one list for all.
 * NULL: no memory. */
static int *union_of_moved(const sinew_rig *rig, const sinew_target *shape, int *count) {
    int vertex_count = rig->neutral->vertex_count;
    bool *moved = SN_NEW0(bool, vertex_count);
    int *list = SN_NEW(int, vertex_count);
    if (!moved || !list) {
        sn_free(moved);
        sn_free(list);
        return NULL;
    }
    for (int t = 0; t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        bool mine = target == shape ||
                    (target->kind == SINEW_TARGET_KIND_INBETWEEN &&
                     shape->kind == SINEW_TARGET_KIND_PLAIN && target->slider == shape->slider);
        for (int i = 0; mine && i < target->count; i++) moved[target->vertices[i]] = true;
    }
    *count = 0;
    for (int v = 0; v < vertex_count; v++)
        if (moved[v]) list[(*count)++] = v;
    sn_free(moved);
    return list;
}

/* The target's displacements of the listed vertices; both lists increase. */
static void add_offsets(sn_buffer *out, const sinew_target *target, int count, const int *list) {
    const double zero[3] = {0, 0, 0};
    int at = 0;
    sn_buffer_char(out, '[');
    for (int i = 0; i < count; i++) {
        while (at < target->count && target->vertices[at] < list[i]) at++;
        bool there = at < target->count && target->vertices[at] == list[i];
        if (i) sn_buffer_text(out, ", ");
        add_point(out, there ? target->deltas + 3 * (size_t)at : zero);
    }
    sn_buffer_char(out, ']');
}

static const char *rule_name(const sinew_target *target) {
    static const char *const names[] = {"multiply", "lowest", "smooth_lowest", "polynomial",
                                        "hinge"};
    return names[target->combine];
}

/* A slider's value as the weight of its shape: 0 at rest, 1 at the shape. */
static double shape_weight(const sinew_rig *rig, const sinew_target *shape, double value) {
    double rest = rig->sliders[shape->slider].rest;
    return (value - rest) / (shape->at - rest);
}

static bool add_inbetweens(sn_buffer *out, const sinew_rig *rig, const sinew_target *shape,
                           int count, const int *list) {
    sn_names names = {0};
    bool good = true;
    for (int t = 0; good && t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        if (target->kind != SINEW_TARGET_KIND_INBETWEEN || target->slider != shape->slider)
            continue;
        good = add_identifier(&names, target->name);
        if (!good) break;
        sn_buffer_print(
            out, "            uniform vector3f[] inbetweens:%s = ", names.names[names.count - 1]);
        add_offsets(out, target, count, list);
        sn_buffer_text(out, " (\n                weight = ");
        add_number(out, shape_weight(rig, shape, target->at));
        sn_buffer_text(out, "\n            )\n");
    }
    sn_names_release(&names);
    return good;
}

static bool add_shape(sn_buffer *out, const sinew_rig *rig, const sinew_target *target,
                      const char *identifier) {
    int count;
    int *list = union_of_moved(rig, target, &count);
    if (!list) return false;
    sn_buffer_print(out,
                    "\n        def BlendShape \"%s\" (\n            customData = {\n"
                    "                string name = ",
                    identifier);
    add_quoted(out, target->name);
    if (target->kind == SINEW_TARGET_KIND_COMBINATION) {
        sn_buffer_print(out,
                        "\n                string combine = \"%s\"\n"
                        "                string[] drivers = [",
                        rule_name(target));
        for (int i = 0; i < target->driver_count; i++) {
            if (i) sn_buffer_text(out, ", ");
            add_quoted(out, rig->sliders[target->drivers[i]].name);
        }
        sn_buffer_char(out, ']');
    }
    sn_buffer_text(out, "\n            }");
    sn_buffer_text(out, "\n        )\n        {\n            uniform vector3f[] offsets = ");
    add_offsets(out, target, count, list);
    sn_buffer_text(out, "\n            uniform int[] pointIndices = ");
    add_integers(out, count, list);
    sn_buffer_char(out, '\n');
    bool good =
        target->kind != SINEW_TARGET_KIND_PLAIN || add_inbetweens(out, rig, target, count, list);
    sn_buffer_text(out, "        }\n");
    sn_free(list);
    return good;
}

/* [name, name] of the shapes, each as a token or as a path. */
static void add_shape_list(sn_buffer *out, const sn_names *names, const char *prefix) {
    sn_buffer_char(out, '[');
    for (int i = 0; i < names->count; i++)
        sn_buffer_print(out, prefix ? "%s<%s%s>" : "%s%s\"%s\"", i ? ", " : "",
                        prefix ? prefix : "", names->names[i]);
    sn_buffer_char(out, ']');
}

/* Weights of the shapes in row k of the clip; USD finds the in-betweens itself. */
static void add_weights(sn_buffer *out, const sinew_rig *rig, const sn_keyed_clip *clip, int k) {
    const double *weights = clip->weights + (size_t)k * (size_t)rig->slider_count;
    const double *activations = clip->activations + (size_t)k * (size_t)rig->target_count;
    const char *before = "[";
    for (int t = 0; t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        if (target->kind == SINEW_TARGET_KIND_INBETWEEN) continue;
        sn_buffer_text(out, before);
        add_number(out, target->kind == SINEW_TARGET_KIND_PLAIN
                            ? shape_weight(rig, target, weights[target->slider])
                            : activations[t]);
        before = ", ";
    }
    sn_buffer_char(out, ']');
}

static void add_clip(sn_buffer *out, const sinew_rig *rig, const sn_keyed_clip *clip) {
    sn_buffer_text(out, "\n        float[] blendShapeWeights.timeSamples = {\n");
    for (int k = 0; k < clip->time_count; k++) {
        sn_buffer_text(out, "            ");
        sn_buffer_number(out, clip->times[k] * CLIP_RATE);
        sn_buffer_text(out, ": ");
        add_weights(out, rig, clip, k);
        sn_buffer_text(out, ",\n");
    }
    sn_buffer_text(out, "        }");
}

static void add_rig_head(sn_buffer *out, const sn_keyed_clip *clip) {
    sn_buffer_text(out, "#usda 1.0\n(\n    defaultPrim = \"Rig\"\n    upAxis = \"Y\"\n");
    if (clip) {
        sn_buffer_text(out, "    startTimeCode = ");
        sn_buffer_number(out, clip->times[0] * CLIP_RATE);
        sn_buffer_text(out, "\n    endTimeCode = ");
        sn_buffer_number(out, clip->times[clip->time_count - 1] * CLIP_RATE);
        sn_buffer_print(out, "\n    timeCodesPerSecond = %d\n", CLIP_RATE);
    }
    sn_buffer_text(out, ")\n\n");
}

/* Shapes and parts are children of one mesh: `parts` starts with the names of the shapes. */
static bool add_rig(const sinew_rig *rig, const sn_keyed_clip *clip, sn_buffer *out,
                    sn_names *shapes, sn_names *parts) {
    const sinew_mesh *mesh = rig->neutral;
    bool good = true;
    for (int t = 0; good && t < rig->target_count; t++)
        if (rig->targets[t].kind != SINEW_TARGET_KIND_INBETWEEN)
            good = add_identifier(shapes, rig->targets[t].name) &&
                   add_identifier(parts, shapes->names[shapes->count - 1]);
    add_rig_head(out, clip);
    sn_buffer_text(out, "def SkelRoot \"Rig\" (\n");
    add_name(out, "    ", mesh_name(mesh));
    sn_buffer_text(out, ")\n{\n    def Mesh \"Mesh\" (\n"
                        "        prepend apiSchemas = [\"SkelBindingAPI\"]\n    )\n    {\n");
    add_topology(out, "        ", mesh);
    sn_buffer_text(out, "        point3f[] points = ");
    add_points(out, mesh->vertex_count, mesh->positions);
    sn_buffer_text(out, "\n        float3[] extent = ");
    add_extent(out, mesh->vertex_count, mesh->positions);
    sn_buffer_text(out, "\n        uniform token[] skel:blendShapes = ");
    add_shape_list(out, shapes, NULL);
    sn_buffer_text(out, "\n        rel skel:blendShapeTargets = ");
    add_shape_list(out, shapes, "/Rig/Mesh/");
    sn_buffer_text(out, "\n        rel skel:skeleton = </Rig/Skeleton>\n");
    for (int t = 0, i = 0; good && t < rig->target_count; t++)
        if (rig->targets[t].kind != SINEW_TARGET_KIND_INBETWEEN)
            good = add_shape(out, rig, &rig->targets[t], shapes->names[i++]);
    good = good && add_parts(out, mesh, parts);
    sn_buffer_text(out, "    }\n\n    def Skeleton \"Skeleton\" (\n"
                        "        prepend apiSchemas = [\"SkelBindingAPI\"]\n    )\n    {\n"
                        "        uniform token[] joints = []\n"
                        "        rel skel:animationSource = </Rig/Animation>\n    }\n\n"
                        "    def SkelAnimation \"Animation\"\n    {\n"
                        "        uniform token[] blendShapes = ");
    add_shape_list(out, shapes, NULL);
    sn_buffer_text(out, "\n        float[] blendShapeWeights = [");
    for (int i = 0; i < shapes->count; i++) sn_buffer_text(out, i ? ", 0" : "0");
    sn_buffer_char(out, ']');
    if (clip) add_clip(out, rig, clip);
    sn_buffer_text(out, "\n    }\n}\n");
    return good;
}

/* --- meshes and frames ------------------------------------------------------------------------ */

static void add_mesh_head(sn_buffer *out, const sinew_mesh *mesh) {
    sn_buffer_text(out, "def Mesh \"Mesh\" (\n");
    add_name(out, "    ", mesh_name(mesh));
    sn_buffer_text(out, ")\n{\n");
    add_topology(out, "    ", mesh);
}

static sinew_status write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error) {
    SN_TRY(sn_check_float32(mesh, NULL, error));
    sn_names parts = {0};
    sn_buffer_text(out, "#usda 1.0\n(\n    defaultPrim = \"Mesh\"\n    upAxis = \"Y\"\n)\n\n");
    add_mesh_head(out, mesh);
    sn_buffer_text(out, "    point3f[] points = ");
    add_points(out, mesh->vertex_count, mesh->positions);
    sn_buffer_text(out, "\n    float3[] extent = ");
    add_extent(out, mesh->vertex_count, mesh->positions);
    sn_buffer_char(out, '\n');
    bool good = add_parts(out, mesh, &parts);
    sn_buffer_text(out, "}\n");
    sn_names_release(&parts);
    return good ? SINEW_OK : sn_no_memory(error);
}

static sinew_status write_rig(const sinew_rig *rig, const sn_keyed_clip *clip, sn_buffer *out,
                              sinew_error *error) {
    if (rig->target_count == 0) return write_mesh(rig->neutral, out, error);
    SN_TRY(sn_check_float32(rig->neutral, rig, error));
    sn_names shapes = {0}, parts = {0};
    bool good = add_rig(rig, clip, out, &shapes, &parts);
    sn_names_release(&shapes);
    sn_names_release(&parts);
    return good ? SINEW_OK : sn_no_memory(error);
}

static sinew_status flush(sinew_frame_writer *writer, sn_buffer *out, sinew_error *error) {
    bool failed = out->failed;
    if (!failed) fwrite(out->bytes, 1, out->size, writer->output.stream);
    sn_buffer_free(out);
    return failed ? sn_no_memory(error) : SINEW_OK;
}

static sinew_status open_frames(sinew_frame_writer *writer, const sinew_mesh *mesh,
                                sinew_error *error) {
    sn_buffer out = {0};
    double first = writer->start * writer->rate;
    sn_buffer_text(&out, "#usda 1.0\n(\n    defaultPrim = \"Mesh\"\n    upAxis = \"Y\"\n"
                         "    startTimeCode = ");
    sn_buffer_number(&out, first);
    sn_buffer_text(&out, "\n    endTimeCode = ");
    sn_buffer_number(&out, first + (writer->frame_count > 0 ? writer->frame_count - 1 : 0));
    sn_buffer_text(&out, "\n    timeCodesPerSecond = ");
    sn_buffer_number(&out, writer->rate);
    sn_buffer_text(&out, "\n    framesPerSecond = ");
    sn_buffer_number(&out, writer->rate);
    sn_buffer_text(&out, "\n)\n\n");
    add_mesh_head(&out, mesh);
    sn_buffer_text(&out, "    point3f[] points.timeSamples = {\n");
    return flush(writer, &out, error);
}

static sinew_status add_frame(sinew_frame_writer *writer, const double *positions,
                              sinew_error *error) {
    sn_buffer out = {0};
    sn_buffer_text(&out, "        ");
    sn_buffer_number(&out, writer->start * writer->rate + writer->added);
    sn_buffer_text(&out, ": ");
    add_points(&out, writer->vertex_count, positions);
    sn_buffer_text(&out, ",\n");
    return flush(writer, &out, error);
}

static sinew_status close_frames(sinew_frame_writer *writer, sinew_error *error) {
    (void)error;
    fputs("    }\n}\n", writer->output.stream);
    return SINEW_OK;
}

static const sn_frame_sink sink = {
    .has_mesh = true,
    .open = open_frames,
    .add = add_frame,
    .close = close_frames,
};

const sn_format sn_format_usda = {
    .name = "USDA",
    .endings = "usda",
    .write_mesh = write_mesh,
    .write_rig = write_rig,
    .write_frames = &sink,
};
