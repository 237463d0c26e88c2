/* Meshes and rigs from FBX.
 *
 * Every node with a mesh becomes a part, placed by its node, in the units and axes of the file;
 * vertices, faces, channels and their names keep the order of the file. */
#include "io/fbx_read.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/fbx_animation.h"
#include "io/fbx_shapes.h"
#include "io/fbx_skin.h"
#include "io/fbx_subdivide.h"
#include "io/frames.h"
#include "io/names.h"

typedef struct reader {
    sn_fbx_scene scene;
    sn_fbx_tree *tree;
    sinew_error *error;
    bool posed; /* with the weights that the file has set */
    bool shown; /* subdivided where the file shows it so */

    size_t vertex_count, corner_count;
    int face_count;
    double *positions;
    int *corners, *face_start, *face_part;
    size_t position_capacity, corner_capacity, start_capacity, part_capacity;
    sn_names parts;     /* one per mesh */
    sn_names materials; /* of the only mesh, when they tell its parts */
    int cage_faces;     /* of the last mesh, before it was subdivided, and … */
    int *parent;        /* … the one that each of its faces comes from; NULL: it was not */

    bool any_uv, any_normal;
    size_t uv_count, normal_count;
    double *uvs, *normals;
    int *corner_uv, *corner_normal;
    size_t uv_capacity, normal_capacity, corner_uv_capacity, corner_normal_capacity;

    sn_fbx_targets targets;
} reader;

static void release(reader *r) {
    sn_fbx_targets_release(&r->targets);
    sn_names_release(&r->parts);
    sn_names_release(&r->materials);
    sn_free(r->positions), sn_free(r->corners), sn_free(r->face_start), sn_free(r->face_part);
    sn_free(r->uvs), sn_free(r->normals), sn_free(r->corner_uv), sn_free(r->corner_normal);
    sn_free(r->parent);
    sn_fbx_close(&r->scene);
}

static sinew_status fail_mesh(const reader *r, const sn_fbx_model *model, const char *what) {
    return sn_fbx_fail_mesh(&r->scene, model, what);
}

/* ---- faces ----------------------------------------------------------------------------------- */

/* The corners of a mesh as the file counts them: faces of fewer than three corners are left out,
 * kept[c] marks the corners that remain. */
typedef struct polygons {
    int64_t *index; /* as stored: the last corner of a face is ~vertex */
    int count;
    bool *kept;
} polygons;

static sinew_status read_faces(reader *r, const sn_fbx_model *model, int first_vertex,
                               int vertex_count, int part, polygons *p) {
    int node = sn_fbx_child(r->tree, model->mesh, "PolygonVertexIndex");
    SN_TRY(sn_fbx_integers(r->tree, node, &p->index, &p->count));
    p->kept = SN_NEW0(bool, p->count);
    if (!p->kept) return sn_no_memory(r->error);
    if (r->corner_count + (size_t)p->count > INT_MAX)
        return fail_mesh(r, model, "there are too many faces");
    if (!SN_RESERVE(r->corners, r->corner_capacity, r->corner_count + (size_t)p->count) ||
        !SN_RESERVE(r->face_start, r->start_capacity,
                    (size_t)r->face_count + (size_t)p->count + 1) ||
        !SN_RESERVE(r->face_part, r->part_capacity, (size_t)r->face_count + (size_t)p->count))
        return sn_no_memory(r->error);
    int begin = 0;
    if (p->count > 0 && p->index[p->count - 1] >= 0) /* the last face ends with the list */
        p->index[p->count - 1] = ~p->index[p->count - 1];
    for (int c = 0; c < p->count; c++) {
        int64_t vertex = p->index[c] < 0 ? ~p->index[c] : p->index[c];
        if (vertex >= vertex_count) {
            char what[120];
            snprintf(what, sizeof what, "corner %d refers to vertex %lld, but there are %d", c,
                     (long long)vertex, vertex_count);
            return fail_mesh(r, model, what);
        }
        if (p->index[c] >= 0) continue;
        int size = c + 1 - begin;
        for (int k = begin; size >= 3 && k <= c; k++) {
            int64_t v = p->index[k] < 0 ? ~p->index[k] : p->index[k];
            r->corners[r->corner_count++] = first_vertex + (int)v;
            p->kept[k] = true;
        }
        if (size >= 3) {
            r->face_part[r->face_count] = part;
            r->face_start[++r->face_count] = (int)r->corner_count;
        }
        begin = c + 1;
    }
    return SINEW_OK;
}

/* ---- attributes of corners ------------------------------------------------------------------- */

typedef struct layer {
    const char *element, *values, *index; /* names of the nodes */
    int width;
} layer;

static const layer uv_layer = {"LayerElementUV", "UV", "UVIndex", 2};
static const layer normal_layer = {"LayerElementNormal", "Normals", "NormalsIndex", 3};

/* Appends the layer's values and, for every kept corner of the mesh, an index into them; -1 where
 * the layer has none, or none that is finite. A layer that does not fit its mesh is left out, as
 * viewers do. */
static sinew_status read_layer(reader *r, const sn_fbx_model *model, const layer *l,
                               const polygons *p, bool *any, double **values, size_t *value_count,
                               size_t *value_capacity, int **corner, size_t *corner_capacity,
                               size_t first_corner) {
    int node = sn_fbx_child(r->tree, model->mesh, l->element);
    const sn_fbx_value *mapping =
        sn_fbx_value_at(r->tree, sn_fbx_child(r->tree, node, "MappingInformationType"), 0);
    double *found = NULL;
    int64_t *index = NULL;
    int count = 0, index_count = 0;
    SN_TRY(sn_fbx_any_numbers(r->tree, sn_fbx_child(r->tree, node, l->values), &found, &count));
    sinew_status status =
        sn_fbx_integers(r->tree, sn_fbx_child(r->tree, node, l->index), &index, &index_count);
    int rows = count / l->width;
    size_t total = *value_count + (size_t)rows;
    if (status == SINEW_OK &&
        (!SN_RESERVE(*values, *value_capacity, total * (size_t)l->width) ||
         !SN_RESERVE(*corner, *corner_capacity, r->corner_count) || total > INT_MAX))
        status = sn_no_memory(r->error);
    bool by_vertex = sn_fbx_text_is(mapping, "ByVertice") || sn_fbx_text_is(mapping, "ByVertex");
    bool by_face = sn_fbx_text_is(mapping, "ByPolygon");
    bool by_corner = sn_fbx_text_is(mapping, "ByPolygonVertex");
    int face = 0;
    size_t at = first_corner;
    for (int c = 0; status == SINEW_OK && c < p->count; c++) {
        int64_t vertex = p->index[c] < 0 ? ~p->index[c] : p->index[c];
        int64_t row = by_corner ? c : by_vertex ? vertex : by_face ? face : 0;
        if (index) row = row < index_count ? index[row] : -1;
        if (p->index[c] < 0) face++;
        if (!p->kept[c]) continue;
        bool there = row >= 0 && row < rows;
        for (int k = 0; there && k < l->width; k++) there = isfinite(found[row * l->width + k]);
        (*corner)[at++] = there ? (int)(*value_count + (size_t)row) : -1;
        *any |= there;
    }
    for (int i = 0; i < rows * l->width; i++)
        if (!isfinite(found[i])) found[i] = 0; /* which no corner refers to */
    if (status == SINEW_OK && rows > 0) {
        memcpy(*values + *value_count * (size_t)l->width, found,
               (size_t)rows * (size_t)l->width * sizeof(double));
        *value_count = total;
    }
    sn_free(found);
    sn_free(index);
    return status;
}

/* Normals turn with the cofactors of the matrix: right for uneven scales too. */
static void turn_normals(reader *r, const sn_fbx_affine *placed, size_t first) {
    sn_vec3 a = sn_mat3_column(placed->linear, 0), b = sn_mat3_column(placed->linear, 1),
            c = sn_mat3_column(placed->linear, 2);
    double sign = sn_mat3_determinant(placed->linear) < 0 ? -1 : 1;
    for (size_t i = first; i < r->normal_count; i++) {
        sn_vec3 n = sn_at(r->normals, (int)i);
        sn_vec3 turned =
            sn_add(sn_add(sn_scale(n.x, sn_cross(b, c)), sn_scale(n.y, sn_cross(c, a))),
                   sn_scale(n.z, sn_cross(a, b)));
        sn_put(r->normals, (int)i, sn_normalize(sn_scale(sign, turned)));
    }
}

/* ---- meshes ---------------------------------------------------------------------------------- */

static sinew_status add_part(reader *r, const sn_fbx_model *model, int *part) {
    const sn_fbx_object *o = &r->scene.objects[model->object];
    *part = sn_names_add(&r->parts, o->name, (size_t)o->name_size);
    return *part < 0 ? sn_no_memory(r->error) : SINEW_OK;
}

static sinew_status read_vertices(reader *r, const sn_fbx_model *model, int mesh, int *count) {
    double *local;
    int numbers;
    SN_TRY(
        sn_fbx_numbers(r->tree, sn_fbx_child(r->tree, model->mesh, "Vertices"), &local, &numbers));
    *count = numbers / 3;
    int first = (int)r->vertex_count;
    sinew_status status = SINEW_OK;
    if (numbers % 3 != 0) status = fail_mesh(r, model, "its coordinates are not a multiple of 3");
    if (status == SINEW_OK && r->vertex_count + (size_t)*count > INT_MAX / 3)
        status = fail_mesh(r, model, "there are too many vertices");
    if (status == SINEW_OK &&
        !SN_RESERVE(r->positions, r->position_capacity, 3 * (r->vertex_count + (size_t)*count)))
        status = sn_no_memory(r->error);
    if (status == SINEW_OK && *count > 0)
        status =
            sn_fbx_read_channels(&r->targets, model, mesh, first, *count, r->posed ? local : NULL);
    double *world = status == SINEW_OK && *count > 0 ? r->positions + 3 * (size_t)first : NULL;
    if (world && r->posed) status = sn_fbx_place_mesh(&r->scene, model, *count, local, world);
    for (int v = 0; status == SINEW_OK && v < *count; v++) {
        if (!r->posed)
            sn_put(world, v,
                   model->still ? sn_at(local, v)
                                : sn_fbx_apply(&model->geometry, sn_at(local, v)));
        sn_vec3 p = sn_at(world, v);
        if (!isfinite(p.x) || !isfinite(p.y) || !isfinite(p.z))
            status = fail_mesh(r, model, "its node sends a vertex to infinity");
    }
    sn_free(local);
    if (status == SINEW_OK) r->vertex_count += (size_t)*count;
    return status;
}

/* ---- subdivision ----------------------------------------------------------------------------- */

/* Where the elements of a mesh begin among those of all meshes. */
typedef struct beginning {
    size_t vertex, corner, uv, normal;
    int face;
} beginning;

static sinew_status copy_cage(const reader *r, const beginning *at, sn_surface *cage) {
    size_t corners = r->corner_count - at->corner, vertices = r->vertex_count - at->vertex;
    int faces = r->face_count - at->face;
    *cage = (sn_surface){.vertex_count = (int)vertices, .face_count = faces};
    cage->positions = SN_NEW(double, 3 * vertices);
    cage->vertex_sharpness = SN_NEW0(double, vertices);
    cage->face_start = SN_NEW(int, (size_t)faces + 1), cage->parent = SN_NEW(int, faces);
    cage->corners = SN_NEW(int, corners), cage->uv = SN_NEW(double, 2 * corners);
    if (!cage->positions || !cage->vertex_sharpness || !cage->face_start || !cage->parent ||
        !cage->corners || !cage->uv)
        return sn_no_memory(r->error);
    memcpy(cage->positions, r->positions + 3 * at->vertex, 3 * vertices * sizeof(double));
    for (int f = 0; f <= faces; f++)
        cage->face_start[f] = r->face_start[at->face + f] - (int)at->corner;
    for (int f = 0; f < faces; f++) cage->parent[f] = f;
    for (size_t c = 0; c < corners; c++) {
        int uv = r->corner_uv[at->corner + c];
        cage->corners[c] = r->corners[at->corner + c] - (int)at->vertex;
        for (size_t k = 0; k < 2; k++)
            cage->uv[2 * c + k] = uv >= 0 ? r->uvs[2 * (size_t)uv + k] : (double)NAN;
    }
    return SINEW_OK;
}

/* The subdivided mesh in place of its cage. Normals of the cage do not fit it. */
static sinew_status take_surface(reader *r, const beginning *at, int part, sn_surface *s) {
    size_t corners = (size_t)s->face_start[s->face_count];
    size_t all_corners = at->corner + corners, all_uvs = at->uv + corners;
    size_t vertices = at->vertex + (size_t)s->vertex_count;
    size_t faces = (size_t)at->face + (size_t)s->face_count;
    if (all_corners > INT_MAX || all_uvs > INT_MAX || vertices > INT_MAX / 3)
        return sn_fbx_fail(r->tree, "is too large when it is subdivided");
    if (!SN_RESERVE(r->positions, r->position_capacity, 3 * vertices) ||
        !SN_RESERVE(r->corners, r->corner_capacity, all_corners) ||
        !SN_RESERVE(r->face_start, r->start_capacity, faces + 1) ||
        !SN_RESERVE(r->face_part, r->part_capacity, faces) ||
        !SN_RESERVE(r->uvs, r->uv_capacity, 2 * all_uvs) ||
        !SN_RESERVE(r->corner_uv, r->corner_uv_capacity, all_corners) ||
        !SN_RESERVE(r->corner_normal, r->corner_normal_capacity, all_corners))
        return sn_no_memory(r->error);
    memcpy(r->positions + 3 * at->vertex, s->positions,
           3 * (size_t)s->vertex_count * sizeof(double));
    r->uv_count = at->uv, r->normal_count = at->normal;
    for (size_t c = 0; c < corners; c++) {
        const double *uv = s->uv + 2 * c;
        bool there = !isnan(uv[0]) && !isnan(uv[1]);
        r->corners[at->corner + c] = (int)at->vertex + s->corners[c];
        r->corner_normal[at->corner + c] = -1;
        r->corner_uv[at->corner + c] = there ? (int)r->uv_count : -1;
        if (there) memcpy(r->uvs + 2 * r->uv_count++, uv, 2 * sizeof *uv);
    }
    for (int f = 0; f < s->face_count; f++) {
        r->face_part[at->face + f] = part;
        r->face_start[at->face + f + 1] = (int)at->corner + s->face_start[f + 1];
    }
    r->vertex_count = vertices, r->corner_count = all_corners, r->face_count = (int)faces;
    sn_free(r->parent);
    r->parent = s->parent, s->parent = NULL;
    return SINEW_OK;
}

static sinew_status subdivide(reader *r, const sn_fbx_model *model, const polygons *p,
                              const beginning *at, int part) {
    sn_surface surface;
    r->cage_faces = r->face_count - at->face;
    sinew_status status = copy_cage(r, at, &surface);
    if (status == SINEW_OK)
        status = sn_source_blame(
            r->tree->source,
            sn_fbx_subdivide(r->tree, model->mesh, p->index, p->count, &surface, r->error),
            r->error);
    if (status == SINEW_OK) status = take_surface(r, at, part, &surface);
    sn_surface_free(&surface);
    return status;
}

static sinew_status read_mesh(reader *r, const sn_fbx_model *model, int mesh) {
    const beginning at = {r->vertex_count, r->corner_count, r->uv_count, r->normal_count,
                          r->face_count};
    int first_vertex = (int)r->vertex_count, count, part;
    size_t first_corner = r->corner_count, first_normal = r->normal_count;
    polygons p = {0};
    SN_TRY(add_part(r, model, &part));
    SN_TRY(read_vertices(r, model, mesh, &count));
    sinew_status status = read_faces(r, model, first_vertex, count, part, &p);
    if (status == SINEW_OK)
        status = read_layer(r, model, &uv_layer, &p, &r->any_uv, &r->uvs, &r->uv_count,
                            &r->uv_capacity, &r->corner_uv, &r->corner_uv_capacity, first_corner);
    if (status == SINEW_OK)
        status = read_layer(r, model, &normal_layer, &p, &r->any_normal, &r->normals,
                            &r->normal_count, &r->normal_capacity, &r->corner_normal,
                            &r->corner_normal_capacity, first_corner);
    if (status == SINEW_OK && !model->still) turn_normals(r, &model->geometry, first_normal);
    if (status == SINEW_OK && r->shown && sn_fbx_subdivision_levels(r->tree, model->mesh) > 0)
        status = subdivide(r, model, &p, &at, part);
    sn_free(p.index);
    sn_free(p.kept);
    return status;
}

/* In a file of one mesh the materials tell its parts. */
static sinew_status parts_from_materials(reader *r, const sn_fbx_model *model) {
    const sn_fbx_scene *s = &r->scene;
    sn_names names = {0};
    sinew_status status = SINEW_OK;
    for (int k = s->first_to[model->object]; k < s->first_to[model->object + 1]; k++) {
        int child = s->connections[s->connections_to[k]].child;
        const sn_fbx_object *o = &s->objects[child];
        if (sn_fbx_is(s, child, "Material", NULL) &&
            sn_names_add(&names, o->name, (size_t)o->name_size) < 0)
            status = sn_no_memory(r->error);
    }
    int element = sn_fbx_child(r->tree, model->mesh, "LayerElementMaterial"), count = 0;
    const sn_fbx_value *mapping =
        sn_fbx_value_at(r->tree, sn_fbx_child(r->tree, element, "MappingInformationType"), 0);
    int64_t *part = NULL;
    if (status == SINEW_OK && names.count > 0 && sn_fbx_text_is(mapping, "ByPolygon"))
        status =
            sn_fbx_integers(r->tree, sn_fbx_child(r->tree, element, "Materials"), &part, &count);
    bool fits = count == (r->parent ? r->cage_faces : r->face_count) && count > 0;
    for (int f = 0; fits && f < count; f++) fits = part[f] >= 0 && part[f] < names.count;
    if (status == SINEW_OK && fits) {
        for (int f = 0; f < r->face_count; f++)
            r->face_part[f] = (int)part[r->parent ? r->parent[f] : f];
        sn_names_release(&r->materials);
        r->materials = names, names = (sn_names){0};
    }
    sn_free(part);
    sn_names_release(&names);
    return status;
}

/* How often a mesh may be shown again: memory stays within a multiple of the file. */
static bool too_much(const reader *r) {
    return r->vertex_count > 1000000 + 16 * r->tree->source->size;
}

static sinew_status open_scene(reader *r, const sn_source *source, sinew_error *error) {
    r->error = error;
    r->tree = &r->scene.tree;
    r->targets.scene = &r->scene;
    return sn_fbx_open(&r->scene, source, error);
}

/* Files of curves and NURBS surfaces are whole, but nothing in them can be used: say which it is.
 */
static sinew_status fail_empty(const reader *r) {
    for (int i = 0; i < r->scene.object_count; i++) {
        const char *kind = sn_fbx_other_geometry(&r->scene, i);
        if (kind)
            return sn_fbx_fail(r->tree,
                               "holds no mesh, only geometry of type %s, which is not read", kind);
    }
    return sn_fbx_fail(r->tree, "holds no mesh");
}

static sinew_status read_scene(reader *r, sinew_error *error) {
    if (!SN_RESERVE(r->face_start, r->start_capacity, 1)) return sn_no_memory(error);
    r->face_start[0] = 0;
    for (int i = 0; i < r->scene.model_count; i++) {
        const sn_fbx_model *model = &r->scene.models[i];
        if (model->mesh < 0) continue;
        if (too_much(r)) return sn_fbx_fail(r->tree, "shows its meshes too often");
        SN_TRY(read_mesh(r, model, i));
    }
    if (r->vertex_count == 0) return fail_empty(r);
    for (int i = 0; r->parts.count == 1 && i < r->scene.model_count; i++)
        if (r->scene.models[i].mesh >= 0) return parts_from_materials(r, &r->scene.models[i]);
    return SINEW_OK;
}

static sinew_status build_mesh(reader *r, sinew_mesh **mesh, sinew_error *error) {
    *mesh = NULL;
    sinew_status status = sinew_mesh_create((int)r->vertex_count, r->positions, r->face_count,
                                            r->face_start, r->corners, mesh, error);
    SN_TRY(sn_source_blame(r->tree->source, status, error));
    sinew_mesh *m = *mesh;
    if (r->any_uv) {
        m->uvs = r->uvs, m->corner_uv = r->corner_uv, m->uv_count = (int)r->uv_count;
        r->uvs = NULL, r->corner_uv = NULL;
    }
    if (r->any_normal) {
        m->normals = r->normals, m->corner_normal = r->corner_normal;
        m->normal_count = (int)r->normal_count;
        r->normals = NULL, r->corner_normal = NULL;
    }
    bool single = r->parts.count == 1; /* the only mesh is the whole */
    sn_names *parts = single ? &r->materials : &r->parts;
    if (single && !(m->name = sn_strdup(r->parts.names[0]))) {
        sinew_mesh_destroy(m);
        *mesh = NULL;
        return sn_no_memory(error);
    }
    if (parts->count > 0) {
        m->part_count = parts->count;
        m->part_names = sn_names_take(parts);
        m->face_part = r->face_part, r->face_part = NULL;
    }
    return SINEW_OK;
}

sinew_status sn_fbx_read_rig(const sn_source *source, sinew_rig **rig, sinew_error *error) {
    reader r = {0};
    sinew_mesh *mesh = NULL;
    sinew_status status = open_scene(&r, source, error);
    if (status == SINEW_OK) status = read_scene(&r, error);
    if (status == SINEW_OK) status = build_mesh(&r, &mesh, error);
    if (status == SINEW_OK) status = sinew_rig_create(mesh, rig, error);
    if (status == SINEW_OK) {
        status = sn_source_blame(source, sn_fbx_give_targets(&r.targets, *rig, error), error);
        if (status != SINEW_OK) {
            sinew_rig_destroy(*rig);
            *rig = NULL;
        }
    }
    release(&r);
    return status;
}

static sinew_status read_posed(reader *r, const sn_source *source, sinew_mesh **mesh,
                               sinew_error *error) {
    sinew_status status = open_scene(r, source, error);
    if (status == SINEW_OK) status = read_scene(r, error);
    if (status == SINEW_OK) status = build_mesh(r, mesh, error);
    release(r);
    return status;
}

sinew_status sn_fbx_read_mesh(const sn_source *source, sinew_mesh **mesh, sinew_error *error) {
    return read_posed(&(reader){.posed = true}, source, mesh, error);
}

sinew_status sn_fbx_read_shown(const sn_source *source, sinew_mesh **mesh, sinew_error *error) {
    return read_posed(&(reader){.posed = true, .shown = true}, source, mesh, error);
}

sinew_status sn_fbx_read_pose(const sn_source *source, const char *clip, double time,
                              sinew_mesh **mesh, sinew_error *error) {
    reader r = {.posed = true};
    sn_fbx_clip played = {0};
    sinew_status status = open_scene(&r, source, error);
    if (status == SINEW_OK) status = sn_fbx_clip_read(&r.scene, clip, &played);
    if (status == SINEW_OK) status = sn_fbx_place(&r.scene, &played, time);
    if (status == SINEW_OK) status = read_scene(&r, error);
    if (status == SINEW_OK) status = build_mesh(&r, mesh, error);
    sn_fbx_clip_free(&played);
    release(&r);
    return status;
}

/* All vertices at the time the scene was placed for, as a row of floats. */
static sinew_status read_row(reader *r, float *row) {
    r->vertex_count = 0;
    for (int i = 0; i < r->scene.model_count; i++) {
        int count;
        if (r->scene.models[i].mesh >= 0) SN_TRY(read_vertices(r, &r->scene.models[i], i, &count));
    }
    for (size_t k = 0; k < 3 * r->vertex_count; k++) row[k] = (float)r->positions[k];
    return SINEW_OK;
}

sinew_status sn_fbx_read_clip(const sn_source *source, const char *clip, double rate,
                              sinew_frames **frames, sinew_error *error) {
    reader r = {.posed = true};
    sn_fbx_clip played = {0};
    double start = 0, end = 0;
    sinew_status status = open_scene(&r, source, error);
    if (status == SINEW_OK) status = sn_fbx_clip_read(&r.scene, clip, &played);
    if (status == SINEW_OK && played.curve_count == 0)
        status = sn_source_fail(source, error, "holds no animation");
    if (status == SINEW_OK) status = read_scene(&r, error);
    if (status == SINEW_OK) {
        sn_fbx_clip_range(&played, &start, &end);
        if (!(rate > 0)) rate = sn_fbx_rate(&r.scene);
        double count = ceil((end - start) * rate - 1e-6) + 1;
        if (!isfinite(count))
            status = sn_source_fail(source, error, "the times of its clip are not finite");
        else if (count > SINEW_FRAMES_MAXIMUM)
            status = sn_source_fail(source, error, "its clip has %.0f frames, more than %d", count,
                                    SINEW_FRAMES_MAXIMUM);
        else
            status = sn_frames_create((int)r.vertex_count, (int)count, start, rate, frames, error);
    }
    for (int k = 0; status == SINEW_OK && k < (*frames)->frame_count; k++) {
        double time = fmin(start + k / rate, end);
        status = sn_fbx_place(&r.scene, &played, time);
        if (status == SINEW_OK)
            status = read_row(&r, (*frames)->positions + (size_t)k * 3 * r.vertex_count);
    }
    if (status != SINEW_OK && *frames) {
        sinew_frames_destroy(*frames);
        *frames = NULL;
    }
    sn_fbx_clip_free(&played);
    release(&r);
    return status;
}

sinew_status sn_fbx_read_frames(const sn_source *source, sinew_frames **frames,
                                sinew_error *error) {
    return sn_fbx_read_clip(source, NULL, 0, frames, error);
}
