/* Rigs as FBX: a node and a geometry per part where the parts own consecutive vertices (as in a
 * file of several meshes), else one of each, with a material per part; a blend-shape channel per
 * slider, with its in-betweens as further shapes at their full weights; the clip as curves of
 * DeformPercent.
 *
 * FBX knows no combinations. A combination is written as a channel of its own, which the clip moves
 * as its drivers do; without the clip it needs a driver in the program that reads it. */
#include "io/fbx_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/fbx_encode.h"
#include "sinew/version.h"

#define TICKS_PER_SECOND 46186158000.0

/* Consecutive vertices and the faces on them. */
typedef struct piece {
    int first, count; /* vertices */
    const char *name;
    int part; /* of its faces; -1: all faces */
} piece;

/* A slider's shapes in order of `at`, or a combination alone. */
typedef struct channel {
    const char *name;
    int slider;       /* -1: a combination */
    int target;       /* of a combination */
    int first, count; /* in `order` */
} channel;

typedef struct writer {
    sn_fbx_encoder e;
    const sinew_rig *rig;
    const sinew_mesh *mesh;
    const sn_keyed_clip *clip;
    piece *pieces;
    int piece_count;
    channel *channels;
    int channel_count;
    int *order; /* targets, channel after channel */
} writer;

/* ---- identifiers ----------------------------------------------------------------------------- */

/* Numbers of objects: a kind, then which piece and channel. */
typedef enum id_kind {
    ID_MODEL = 1,
    ID_GEOMETRY,
    ID_DEFORMER,
    ID_CHANNEL,
    ID_SHAPE,
    ID_CURVE_NODE,
    ID_CURVE,
    ID_STACK,
    ID_LAYER,
    ID_MATERIAL
} id_kind;

static int64_t id_of(id_kind kind, int part, int item) {
    return ((int64_t)kind << 56) + ((int64_t)part << 32) + item + 1;
}

/* ---- pieces and channels --------------------------------------------------------------------- */

static sinew_status single_piece(writer *w, sinew_error *error) {
    w->pieces = SN_NEW(piece, 1);
    if (!w->pieces) return sn_no_memory(error);
    const char *name = w->mesh->part_count == 1 ? w->mesh->part_names[0] : w->mesh->name;
    w->pieces[0] = (piece){0, w->mesh->vertex_count, name && *name ? name : "mesh", -1};
    w->piece_count = 1;
    return SINEW_OK;
}

/* Parts with vertices of their own, one after the other, each starting where the last one ends. */
static bool parts_are_pieces(const sinew_mesh *mesh, piece *pieces) {
    if (!mesh->face_part) return false;
    for (int p = 0; p < mesh->part_count; p++)
        pieces[p] = (piece){mesh->vertex_count, 0, mesh->part_names[p], p};
    for (int f = 0; f < mesh->face_count; f++) {
        int p = mesh->face_part[f];
        if (p < 0) return false;
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++) {
            int v = mesh->face_vertices[c];
            if (v < pieces[p].first) pieces[p].first = v;
            if (v >= pieces[p].count) pieces[p].count = v + 1; /* the end, for now */
        }
    }
    int end = 0;
    for (int p = 0; p < mesh->part_count; p++) {
        if (pieces[p].count == 0 || pieces[p].first < end) return false;
        int next = pieces[p].count;
        pieces[p].first = end; /* vertices that no face uses belong to the part behind them */
        pieces[p].count = next - end;
        end = next;
    }
    pieces[mesh->part_count - 1].count += mesh->vertex_count - end;
    for (int f = 1; f < mesh->face_count; f++)
        if (mesh->face_part[f] < mesh->face_part[f - 1]) return false;
    return true;
}

static sinew_status find_pieces(writer *w, sinew_error *error) {
    if (w->mesh->part_count < 2) return single_piece(w, error);
    w->pieces = SN_NEW(piece, w->mesh->part_count);
    if (!w->pieces) return sn_no_memory(error);
    if (parts_are_pieces(w->mesh, w->pieces)) {
        w->piece_count = w->mesh->part_count;
        return SINEW_OK;
    }
    sn_free(w->pieces);
    w->pieces = NULL;
    return single_piece(w, error);
}

static sinew_status find_channels(writer *w, sinew_error *error) {
    const sinew_rig *rig = w->rig;
    w->channels = SN_NEW(channel, (size_t)rig->slider_count + (size_t)rig->target_count);
    w->order = SN_NEW(int, rig->target_count);
    if (!w->channels || !w->order) return sn_no_memory(error);
    int used = 0;
    for (int s = 0; s < rig->slider_count; s++) {
        channel c = {rig->sliders[s].name, s, -1, used, 0};
        for (int t = 0; t < rig->target_count; t++) {
            if (rig->targets[t].slider != s) continue;
            int at = used++;
            for (; at > c.first && rig->targets[w->order[at - 1]].at > rig->targets[t].at; at--)
                w->order[at] = w->order[at - 1];
            w->order[at] = t;
            c.count++;
        }
        if (c.count > 0) w->channels[w->channel_count++] = c;
    }
    for (int t = 0; t < rig->target_count; t++)
        if (rig->targets[t].kind == SINEW_TARGET_KIND_COMBINATION) {
            w->channels[w->channel_count++] = (channel){rig->targets[t].name, -1, t, used, 1};
            w->order[used++] = t;
        }
    return SINEW_OK;
}

/* Parts that share vertices cannot be meshes of their own; they become materials of the one mesh.
 */
static int material_count(const writer *w) {
    return w->piece_count == 1 && w->mesh->face_part ? w->mesh->part_count : 0;
}

/* ---- head of the file ------------------------------------------------------------------------ */

static void put_property(sn_fbx_encoder *e, const char *name, const char *type, const char *label) {
    sn_fbx_begin(e, "P");
    sn_fbx_put_text(e, name);
    sn_fbx_put_text(e, type);
    sn_fbx_put_text(e, label);
    sn_fbx_put_text(e, "");
}

static void int_property(sn_fbx_encoder *e, const char *name, int value) {
    put_property(e, name, "int", "Integer");
    sn_fbx_put_int(e, value);
    sn_fbx_end(e);
}

static void double_property(sn_fbx_encoder *e, const char *name, double value) {
    put_property(e, name, "double", "Number");
    sn_fbx_put_double(e, value);
    sn_fbx_end(e);
}

static void time_property(sn_fbx_encoder *e, const char *name, int64_t ticks) {
    put_property(e, name, "KTime", "Time");
    sn_fbx_put_long(e, ticks);
    sn_fbx_end(e);
}

static void put_head(sn_fbx_encoder *e) {
    static const unsigned char file_id[16] = {0x28, 0xb3, 0x2a, 0xeb, 0xb6, 0x24, 0xcc, 0xc2,
                                              0xbf, 0xc8, 0xb0, 0x2a, 0xa9, 0x2b, 0xfc, 0xf1};
    sn_fbx_put_header(e);
    sn_fbx_begin(e, "FBXHeaderExtension");
    sn_fbx_int_node(e, "FBXHeaderVersion", 1003);
    sn_fbx_int_node(e, "FBXVersion", 7400);
    sn_fbx_int_node(e, "EncryptionType", 0);
    sn_fbx_text_node(e, "Creator", "Sinew " SINEW_VERSION);
    sn_fbx_end(e);
    sn_fbx_begin(e, "FileId");
    sn_fbx_put_bytes(e, file_id, sizeof file_id);
    sn_fbx_end(e);
    sn_fbx_text_node(e, "CreationTime", "1970-01-01 10:00:00:000");
    sn_fbx_text_node(e, "Creator", "Sinew " SINEW_VERSION);
    sn_fbx_begin(e, "GlobalSettings");
    sn_fbx_int_node(e, "Version", 1000);
    sn_fbx_begin(e, "Properties70");
    int_property(e, "UpAxis", 1), int_property(e, "UpAxisSign", 1);
    int_property(e, "FrontAxis", 2), int_property(e, "FrontAxisSign", 1);
    int_property(e, "CoordAxis", 0), int_property(e, "CoordAxisSign", 1);
    int_property(e, "OriginalUpAxis", 1), int_property(e, "OriginalUpAxisSign", 1);
    double_property(e, "UnitScaleFactor", 100); /* centimeters per unit: meters */
    double_property(e, "OriginalUnitScaleFactor", 100);
    put_property(e, "TimeMode", "enum", "");
    sn_fbx_put_int(e, 6); /* 30 frames per second */
    sn_fbx_end(e);
    sn_fbx_end(e);
    sn_fbx_end(e);
}

static void put_type(sn_fbx_encoder *e, const char *name, int count) {
    if (count == 0) return;
    sn_fbx_begin(e, "ObjectType");
    sn_fbx_put_text(e, name);
    sn_fbx_int_node(e, "Count", count);
    sn_fbx_end(e);
}

static int shape_count(const writer *w) {
    int count = 0;
    for (int c = 0; c < w->channel_count; c++) count += w->channels[c].count;
    return count;
}

static void put_definitions(writer *w) {
    sn_fbx_encoder *e = &w->e;
    int n = w->piece_count, c = w->channel_count, curves = w->clip ? n * c : 0;
    sn_fbx_begin(e, "Documents");
    sn_fbx_int_node(e, "Count", 1);
    sn_fbx_begin(e, "Document");
    sn_fbx_put_long(e, 1);
    sn_fbx_put_text(e, "");
    sn_fbx_put_text(e, "Scene");
    sn_fbx_begin(e, "RootNode");
    sn_fbx_put_long(e, 0);
    sn_fbx_end(e);
    sn_fbx_end(e);
    sn_fbx_end(e);
    sn_fbx_begin(e, "References");
    sn_fbx_end(e);
    sn_fbx_begin(e, "Definitions");
    sn_fbx_int_node(e, "Version", 100);
    sn_fbx_int_node(e, "Count",
                    1 + 2 * n + n * shape_count(w) + (c ? n * (1 + c) : 0) + 2 * curves +
                        material_count(w) + (w->clip ? 2 : 0));
    put_type(e, "GlobalSettings", 1);
    put_type(e, "Model", n);
    put_type(e, "Geometry", n + n * shape_count(w));
    put_type(e, "Material", material_count(w));
    put_type(e, "Deformer", c ? n * (1 + c) : 0);
    put_type(e, "AnimationStack", w->clip ? 1 : 0);
    put_type(e, "AnimationLayer", w->clip ? 1 : 0);
    put_type(e, "AnimationCurveNode", curves);
    put_type(e, "AnimationCurve", curves);
    sn_fbx_end(e);
}

/* ---- geometry -------------------------------------------------------------------------------- */

static void put_layer_element(sn_fbx_encoder *e, const char *type) {
    sn_fbx_begin(e, "LayerElement");
    sn_fbx_text_node(e, "Type", type);
    sn_fbx_int_node(e, "TypedIndex", 0);
    sn_fbx_end(e);
}

static bool in_piece(const sinew_mesh *mesh, const piece *p, int face) {
    return p->part < 0 || mesh->face_part[face] == p->part;
}

/* Vertices per corner, the last of a face as ~vertex. */
static sinew_status put_faces(writer *w, const piece *p, int *corner_count, sinew_error *error) {
    const sinew_mesh *mesh = w->mesh;
    int *index = SN_NEW(int, mesh->face_start[mesh->face_count]);
    if (!index) return sn_no_memory(error);
    *corner_count = 0;
    for (int f = 0; f < mesh->face_count; f++) {
        if (!in_piece(mesh, p, f)) continue;
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++)
            index[(*corner_count)++] = mesh->face_vertices[c] - p->first;
        index[*corner_count - 1] = ~index[*corner_count - 1];
    }
    sn_fbx_begin(&w->e, "PolygonVertexIndex");
    sn_fbx_put_ints(&w->e, index, (size_t)*corner_count);
    sn_fbx_end(&w->e);
    sn_free(index);
    return SINEW_OK;
}

/* A layer of values at corners; -1 marks corners that have none. */
typedef struct corner_layer {
    const char *element, *name, *values_name, *index_name;
    int width, count;
    const double *values;
    const int *corner;
} corner_layer;

/* Only the values that the piece uses, in the order of its corners. */
static sinew_status put_layer(writer *w, const piece *p, const corner_layer *l, int corner_count,
                              sinew_error *error) {
    const sinew_mesh *mesh = w->mesh;
    sn_fbx_encoder *e = &w->e;
    size_t width = (size_t)l->width;
    int *index = SN_NEW(int, corner_count), *renamed = SN_NEW0(int, l->count);
    double *values = SN_NEW(double, width *(size_t)l->count);
    sinew_status status = index && renamed && values ? SINEW_OK : sn_no_memory(error);
    int at = 0, used = 0;
    for (int f = 0; status == SINEW_OK && f < mesh->face_count; f++)
        for (int c = mesh->face_start[f]; in_piece(mesh, p, f) && c < mesh->face_start[f + 1];
             c++) {
            int row = l->corner[c];
            if (row >= 0 && renamed[row] == 0) {
                memcpy(values + width * (size_t)used, l->values + width * (size_t)row,
                       width * sizeof *values);
                renamed[row] = ++used;
            }
            index[at++] = row < 0 ? -1 : renamed[row] - 1;
        }
    if (status == SINEW_OK) {
        sn_fbx_begin(e, l->element);
        sn_fbx_put_int(e, 0);
        sn_fbx_int_node(e, "Version", 101);
        sn_fbx_text_node(e, "Name", l->name);
        sn_fbx_text_node(e, "MappingInformationType", "ByPolygonVertex");
        sn_fbx_text_node(e, "ReferenceInformationType", "IndexToDirect");
        sn_fbx_begin(e, l->values_name);
        sn_fbx_put_doubles(e, values, width * (size_t)used);
        sn_fbx_end(e);
        sn_fbx_begin(e, l->index_name);
        sn_fbx_put_ints(e, index, (size_t)at);
        sn_fbx_end(e);
        sn_fbx_end(e);
    }
    sn_free(index), sn_free(renamed), sn_free(values);
    return status;
}

/* The part of every face; faces without one go to the first. */
static sinew_status put_face_materials(writer *w, sinew_error *error) {
    sn_fbx_encoder *e = &w->e;
    int *part = SN_NEW(int, w->mesh->face_count);
    if (!part) return sn_no_memory(error);
    for (int f = 0; f < w->mesh->face_count; f++)
        part[f] = w->mesh->face_part[f] < 0 ? 0 : w->mesh->face_part[f];
    sn_fbx_begin(e, "LayerElementMaterial");
    sn_fbx_put_int(e, 0);
    sn_fbx_int_node(e, "Version", 101);
    sn_fbx_text_node(e, "Name", "");
    sn_fbx_text_node(e, "MappingInformationType", "ByPolygon");
    sn_fbx_text_node(e, "ReferenceInformationType", "IndexToDirect");
    sn_fbx_begin(e, "Materials");
    sn_fbx_put_ints(e, part, (size_t)w->mesh->face_count);
    sn_fbx_end(e);
    sn_fbx_end(e);
    sn_free(part);
    return SINEW_OK;
}

static void put_materials(writer *w) {
    for (int m = 0; m < material_count(w); m++) {
        sn_fbx_begin_object(&w->e, "Material", id_of(ID_MATERIAL, 0, m), w->mesh->part_names[m],
                            "Material", "");
        sn_fbx_int_node(&w->e, "Version", 102);
        sn_fbx_text_node(&w->e, "ShadingModel", "phong");
        sn_fbx_int_node(&w->e, "MultiLayer", 0);
        sn_fbx_end(&w->e);
    }
}

static sinew_status put_geometry(writer *w, int index, sinew_error *error) {
    const piece *p = &w->pieces[index];
    const sinew_mesh *mesh = w->mesh;
    sn_fbx_encoder *e = &w->e;
    int corners = 0;
    sn_fbx_begin_object(e, "Geometry", id_of(ID_GEOMETRY, index, 0), p->name, "Geometry", "Mesh");
    sn_fbx_int_node(e, "GeometryVersion", 124);
    sn_fbx_begin(e, "Vertices");
    sn_fbx_put_doubles(e, mesh->positions + 3 * (size_t)p->first, 3 * (size_t)p->count);
    sn_fbx_end(e);
    SN_TRY(put_faces(w, p, &corners, error));
    bool normals = mesh->normals && mesh->corner_normal, uvs = mesh->uvs && mesh->corner_uv;
    const corner_layer normal_layer = {
        "LayerElementNormal", "", "Normals", "NormalsIndex", 3, mesh->normal_count, mesh->normals,
        mesh->corner_normal};
    const corner_layer uv_layer = {"LayerElementUV", "UVMap",   "UV",           "UVIndex", 2,
                                   mesh->uv_count,   mesh->uvs, mesh->corner_uv};
    if (normals) SN_TRY(put_layer(w, p, &normal_layer, corners, error));
    if (uvs) SN_TRY(put_layer(w, p, &uv_layer, corners, error));
    if (material_count(w) > 0) SN_TRY(put_face_materials(w, error));
    sn_fbx_begin(e, "Layer");
    sn_fbx_put_int(e, 0);
    sn_fbx_int_node(e, "Version", 100);
    if (normals) put_layer_element(e, "LayerElementNormal");
    if (uvs) put_layer_element(e, "LayerElementUV");
    if (material_count(w) > 0) put_layer_element(e, "LayerElementMaterial");
    sn_fbx_end(e);
    sn_fbx_end(e);
    return SINEW_OK;
}

static void put_model(writer *w, int index) {
    sn_fbx_encoder *e = &w->e;
    sn_fbx_begin_object(e, "Model", id_of(ID_MODEL, index, 0), w->pieces[index].name, "Model",
                        "Mesh");
    sn_fbx_int_node(e, "Version", 232);
    sn_fbx_begin(e, "Properties70");
    put_property(e, "InheritType", "enum", "");
    sn_fbx_put_int(e, 1);
    sn_fbx_end(e);
    int_property(e, "DefaultAttributeIndex", 0);
    sn_fbx_end(e);
    sn_fbx_begin(e, "Shading");
    sn_fbx_put_bool(e, true);
    sn_fbx_end(e);
    sn_fbx_text_node(e, "Culling", "CullingOff");
    sn_fbx_end(e);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The entries of a target that lie in a piece: first to end - 1. */
static void find_range(const sinew_target *t, const piece *p, int *first, int *end) {
    for (*first = 0; *first < t->count && t->vertices[*first] < p->first;) ++*first;
    for (*end = *first; *end < t->count && t->vertices[*end] < p->first + p->count;) ++*end;
}

/* How many entries each shape of a channel is written with. Blender takes a channel's full weights
 * for weights of vertices: it wants as many of them as each shape has entries, or one. A channel
 * with in-betweens therefore starts every shape with entries that move nothing, one per full weight
 * and as many more as make the shapes equally long; readers that know in-betweens take the first
 * full weights only. No shape is empty, as Blender refuses those too. */
static int entry_count(const writer *w, const piece *p, const channel *ch) {
    int most = 0;
    for (int k = 0; k < ch->count; k++) {
        int first, end;
        find_range(&w->rig->targets[w->order[ch->first + k]], p, &first, &end);
        if (end - first > most) most = end - first;
    }
    return most + (ch->count > 1 ? ch->count : most == 0);
}

static sinew_status put_shape(writer *w, int index, int order, int entries, sinew_error *error) {
    const piece *p = &w->pieces[index];
    const sinew_target *t = &w->rig->targets[w->order[order]];
    sn_fbx_encoder *e = &w->e;
    int first, end;
    find_range(t, p, &first, &end);
    int still = entries - (end - first);
    int *vertices = SN_NEW0(int, entries);
    double *deltas = SN_NEW0(double, 3 * (size_t)entries);
    sinew_status status = vertices && deltas ? SINEW_OK : sn_no_memory(error);
    for (int k = first; status == SINEW_OK && k < end; k++)
        vertices[still + k - first] = t->vertices[k] - p->first;
    if (status == SINEW_OK) {
        memcpy(deltas + 3 * (size_t)still, t->deltas + 3 * (size_t)first,
               3 * (size_t)(end - first) * sizeof *deltas);
        sn_fbx_begin_object(e, "Geometry", id_of(ID_SHAPE, index, order), t->name, "Geometry",
                            "Shape");
        sn_fbx_int_node(e, "Version", 100);
        sn_fbx_begin(e, "Indexes");
        sn_fbx_put_ints(e, vertices, (size_t)entries);
        sn_fbx_end(e);
        sn_fbx_begin(e, "Vertices");
        sn_fbx_put_doubles(e, deltas, 3 * (size_t)entries);
        sn_fbx_end(e);
        sn_fbx_end(e);
    }
    sn_free(vertices), sn_free(deltas);
    return status;
}

static sinew_status put_deformers(writer *w, int index, sinew_error *error) {
    sn_fbx_encoder *e = &w->e;
    if (w->channel_count == 0) return SINEW_OK;
    sn_fbx_begin_object(e, "Deformer", id_of(ID_DEFORMER, index, 0), w->pieces[index].name,
                        "Deformer", "BlendShape");
    sn_fbx_int_node(e, "Version", 100);
    sn_fbx_end(e);
    for (int c = 0; c < w->channel_count; c++) {
        const channel *ch = &w->channels[c];
        int entries = entry_count(w, &w->pieces[index], ch);
        int weight_count = ch->count > 1 ? entries : 1;
        double *weights = SN_NEW(double, weight_count);
        if (!weights) return sn_no_memory(error);
        for (int k = 0; k < weight_count; k++)
            weights[k] = ch->slider < 0 || k >= ch->count
                             ? 100
                             : 100 * w->rig->targets[w->order[ch->first + k]].at;
        sn_fbx_begin_object(e, "Deformer", id_of(ID_CHANNEL, index, c), ch->name, "SubDeformer",
                            "BlendShapeChannel");
        sn_fbx_int_node(e, "Version", 100);
        sn_fbx_begin(e, "DeformPercent");
        sn_fbx_put_double(e, 0);
        sn_fbx_end(e);
        sn_fbx_begin(e, "FullWeights");
        sn_fbx_put_doubles(e, weights, (size_t)weight_count);
        sn_fbx_end(e);
        sn_fbx_end(e);
        sn_free(weights);
        for (int k = 0; k < ch->count; k++)
            SN_TRY(put_shape(w, index, ch->first + k, entries, error));
    }
    return SINEW_OK;
}

/* ---- animation ------------------------------------------------------------------------------- */

static int64_t ticks_of(double seconds) {
    double ticks = seconds * TICKS_PER_SECOND;
    return fabs(ticks) < 9e18 ? llround(ticks) : 0;
}

static void put_stack(writer *w) {
    sn_fbx_encoder *e = &w->e;
    int last = w->clip->time_count - 1;
    int64_t start = last >= 0 ? ticks_of(w->clip->times[0]) : 0;
    int64_t stop = last >= 0 ? ticks_of(w->clip->times[last]) : 0;
    sn_fbx_begin_object(e, "AnimationStack", id_of(ID_STACK, 0, 0), "clip", "AnimStack", "");
    sn_fbx_begin(e, "Properties70");
    time_property(e, "LocalStart", start), time_property(e, "LocalStop", stop);
    time_property(e, "ReferenceStart", start), time_property(e, "ReferenceStop", stop);
    sn_fbx_end(e);
    sn_fbx_end(e);
    sn_fbx_begin_object(e, "AnimationLayer", id_of(ID_LAYER, 0, 0), "BaseLayer", "AnimLayer", "");
    sn_fbx_end(e);
}

/* Linear keys at the times of the clip. */
static sinew_status put_curve(writer *w, int index, int c, sinew_error *error) {
    const channel *ch = &w->channels[c];
    const sn_keyed_clip *clip = w->clip;
    sn_fbx_encoder *e = &w->e;
    size_t count = (size_t)clip->time_count;
    int64_t *times = SN_NEW(int64_t, count);
    float *values = SN_NEW(float, count);
    if (!times || !values) {
        sn_free(times), sn_free(values);
        return sn_no_memory(error);
    }
    for (size_t k = 0; k < count; k++) {
        times[k] = ticks_of(clip->times[k]);
        values[k] =
            (float)(100 *
                    (ch->slider >= 0
                         ? clip->weights[k * (size_t)w->rig->slider_count + (size_t)ch->slider]
                         : clip->activations[k * (size_t)w->rig->target_count +
                                             (size_t)ch->target]));
    }
    sn_fbx_begin_object(e, "AnimationCurveNode", id_of(ID_CURVE_NODE, index, c), "DeformPercent",
                        "AnimCurveNode", "");
    sn_fbx_begin(e, "Properties70");
    put_property(e, "d|DeformPercent", "Number", "");
    sn_fbx_put_double(e, count > 0 ? (double)values[0] : 0);
    sn_fbx_end(e);
    sn_fbx_end(e);
    sn_fbx_end(e);
    static const int flags = 0x4; /* linear */
    static const float data[4] = {0, 0, 0, 0};
    sn_fbx_begin_object(e, "AnimationCurve", id_of(ID_CURVE, index, c), "", "AnimCurve", "");
    sn_fbx_begin(e, "Default");
    sn_fbx_put_double(e, 0);
    sn_fbx_end(e);
    sn_fbx_int_node(e, "KeyVer", 4008);
    sn_fbx_begin(e, "KeyTime");
    sn_fbx_put_longs(e, times, count);
    sn_fbx_end(e);
    sn_fbx_begin(e, "KeyValueFloat");
    sn_fbx_put_floats(e, values, count);
    sn_fbx_end(e);
    sn_fbx_begin(e, "KeyAttrFlags");
    sn_fbx_put_ints(e, &flags, 1);
    sn_fbx_end(e);
    sn_fbx_begin(e, "KeyAttrDataFloat");
    sn_fbx_put_floats(e, data, 4);
    sn_fbx_end(e);
    sn_fbx_begin(e, "KeyAttrRefCount");
    sn_fbx_put_ints(e, &clip->time_count, 1);
    sn_fbx_end(e);
    sn_fbx_end(e);
    sn_free(times), sn_free(values);
    return SINEW_OK;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void put_connections(writer *w) {
    sn_fbx_encoder *e = &w->e;
    sn_fbx_begin(e, "Connections");
    if (w->clip) sn_fbx_connect(e, id_of(ID_LAYER, 0, 0), id_of(ID_STACK, 0, 0), NULL);
    for (int p = 0; p < w->piece_count; p++) {
        sn_fbx_connect(e, id_of(ID_MODEL, p, 0), 0, NULL);
        sn_fbx_connect(e, id_of(ID_GEOMETRY, p, 0), id_of(ID_MODEL, p, 0), NULL);
        for (int m = 0; m < material_count(w); m++)
            sn_fbx_connect(e, id_of(ID_MATERIAL, 0, m), id_of(ID_MODEL, p, 0), NULL);
        if (w->channel_count > 0)
            sn_fbx_connect(e, id_of(ID_DEFORMER, p, 0), id_of(ID_GEOMETRY, p, 0), NULL);
        for (int c = 0; c < w->channel_count; c++) {
            const channel *ch = &w->channels[c];
            int64_t id = id_of(ID_CHANNEL, p, c);
            sn_fbx_connect(e, id, id_of(ID_DEFORMER, p, 0), NULL);
            for (int k = 0; k < ch->count; k++)
                sn_fbx_connect(e, id_of(ID_SHAPE, p, ch->first + k), id, NULL);
            if (!w->clip) continue;
            sn_fbx_connect(e, id_of(ID_CURVE_NODE, p, c), id_of(ID_LAYER, 0, 0), NULL);
            sn_fbx_connect(e, id_of(ID_CURVE_NODE, p, c), id, "DeformPercent");
            sn_fbx_connect(e, id_of(ID_CURVE, p, c), id_of(ID_CURVE_NODE, p, c), "d|DeformPercent");
        }
    }
    sn_fbx_end(e);
}

static sinew_status put_objects(writer *w, sinew_error *error) {
    sn_fbx_begin(&w->e, "Objects");
    for (int p = 0; p < w->piece_count; p++) {
        SN_TRY(put_geometry(w, p, error));
        put_model(w, p);
        SN_TRY(put_deformers(w, p, error));
    }
    put_materials(w);
    if (w->clip) {
        put_stack(w);
        for (int p = 0; p < w->piece_count; p++)
            for (int c = 0; c < w->channel_count; c++) SN_TRY(put_curve(w, p, c, error));
    }
    sn_fbx_end(&w->e);
    return SINEW_OK;
}

sinew_status sn_fbx_write_rig(const sinew_rig *rig, const sn_keyed_clip *clip, sn_buffer *out,
                              sinew_error *error) {
    writer w = {.e = {.out = out}, .rig = rig, .mesh = rig->neutral, .clip = clip};
    sinew_status status = find_pieces(&w, error);
    if (status == SINEW_OK) status = find_channels(&w, error);
    if (status == SINEW_OK) {
        put_head(&w.e);
        put_definitions(&w);
        status = put_objects(&w, error);
    }
    if (status == SINEW_OK) {
        put_connections(&w);
        sn_fbx_put_footer(&w.e);
    }
    if (status == SINEW_OK && out->failed && out->size > UINT32_MAX)
        status = sn_fail(error, SINEW_BAD_INPUT,
                         "the rig is too large for FBX 7.4, which ends at "
                         "4 GB");
    sn_free(w.pieces), sn_free(w.channels), sn_free(w.order);
    return status;
}

sinew_status sn_fbx_write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error) {
    const sinew_rig rig = {.neutral = (sinew_mesh *)mesh};
    return sn_fbx_write_rig(&rig, NULL, out, error);
}
