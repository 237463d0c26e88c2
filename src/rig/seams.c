#include "rig/seams.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"

/* Positions whose coordinates differ by no more than this fraction of the diagonal differ by
 * rounding only: single precision has 6e-8, and parts that were posed apart add a few of these.
 * Edges of meshes are longer by far (of a million vertices, 1e-3). */
static const double ROUNDING = 1e-6;

/* A vertex that may be seamless, and where a pose has it. */
typedef struct candidate {
    double at[3];
    int group; /* the first vertex of those that have coincided so far */
    int vertex;
} candidate;

static int by_group(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                                : (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

static int by_axis(const candidate *x, const candidate *y, int axis) {
    if (x->at[axis] != y->at[axis]) return x->at[axis] < y->at[axis] ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}
static int by_x(const void *a, const void *b) {
    return by_axis(a, b, 0);
}
static int by_y(const void *a, const void *b) {
    return by_axis(a, b, 1);
}
static int by_z(const void *a, const void *b) {
    return by_axis(a, b, 2);
}

typedef struct split {
    candidate *list;
    double tolerance;
    int kept; /* candidates at the front of the list that have company */
} split;

/* Members [begin, end) follow each other closely along every axis; those that are also close to the
 * first vertex form a group with it. */
static void keep_group(split *s, int begin, int end) {
    candidate root = s->list[begin];
    for (int i = begin; i < end; i++)
        if (s->list[i].vertex < root.vertex) root = s->list[i];
    int from = s->kept;
    for (int i = begin; i < end; i++) {
        candidate c = s->list[i];
        bool close = true;
        for (int k = 0; k < 3; k++) close = close && fabs(c.at[k] - root.at[k]) <= s->tolerance;
        if (!close) continue;
        c.group = root.vertex;
        s->list[s->kept++] = c;
    }
    if (s->kept - from < 2) s->kept = from;
}

/* A mesh is in pieces of a few vertices after six or seven cuts. Only stairs of vertices that are
 * closer than rounding take more, up to one cut, and one sort of all that are left, for each of
 * them. */
enum { MOST_CUTS = 24 };

/* Cuts [begin, end) at gaps along one axis after the other, until three of them have none. Runs are
 * written to the front of the list, which never overtakes what is read. cuts: made so far. */
static void cut(split *s, int begin, int end, int cuts, int whole) {
    static int (*const compare[3])(const void *, const void *) = {by_x, by_y, by_z};
    if (end - begin < 2) return;
    int axis = cuts % 3;
    if (whole == 3 || cuts == MOST_CUTS) {
        keep_group(s, begin, end);
        return;
    }
    qsort(s->list + begin, (size_t)(end - begin), sizeof *s->list, compare[axis]);
    for (int i = begin, stop; i < end; i = stop) {
        for (stop = i + 1; stop < end; stop++)
            if (s->list[stop].at[axis] - s->list[stop - 1].at[axis] > s->tolerance) break;
        cut(s, i, stop, cuts + 1, stop - i == end - begin ? whole + 1 : 1);
    }
}

/* Splits groups by the positions of a pose; returns how many candidates still have company. */
static int split_groups(int count, candidate *list, double tolerance, const double *positions) {
    for (int i = 0; i < count; i++)
        for (int c = 0; c < 3; c++)
            list[i].at[c] = positions[3 * (size_t)list[i].vertex + (size_t)c];
    qsort(list, (size_t)count, sizeof *list, by_group);
    split s = {list, tolerance, 0};
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && list[end].group == list[i].group; end++) {
        }
        cut(&s, i, end, 0, 0);
    }
    return s.kept;
}

/* The vertices of triangles that coincide in all poses, with their groups. */
static sinew_status find_candidates(const sinew_mesh *mesh, const sn_part_poses *poses,
                                    candidate **list, int *count, sinew_error *error) {
    bool *used = SN_NEW0(bool, mesh->vertex_count);
    *list = SN_NEW(candidate, mesh->vertex_count);
    *count = 0;
    if (!used || !*list) {
        sn_free(used);
        return sn_no_memory(error);
    }
    for (int k = 0; k < 3 * mesh->triangle_count; k++) used[mesh->triangles[k]] = true;
    for (int v = 0; v < mesh->vertex_count; v++)
        if (used[v]) (*list)[(*count)++] = (candidate){.vertex = v};
    sn_free(used);
    double tolerance = ROUNDING * sinew_diagonal(mesh->vertex_count, mesh->positions);
    *count = split_groups(*count, *list, tolerance, mesh->positions);
    for (int k = 0; *count > 0 && k < poses->count; k++)
        *count = split_groups(*count, *list, tolerance, poses->pose(poses->user, k));
    return SINEW_OK;
}

static sinew_status make(const sinew_mesh *mesh, int count, const candidate *list, sn_seams *seams,
                         sinew_error *error) {
    size_t triangles = (size_t)mesh->triangle_count;
    seams->mesh = *mesh;
    seams->mesh.triangles = SN_NEW(int, 3 * triangles);
    seams->mesh.triangle_face = SN_NEW(int, triangles);
    seams->root = SN_NEW(int, mesh->vertex_count);
    seams->copies = SN_NEW(int, count);
    if (!seams->mesh.triangles || !seams->mesh.triangle_face || !seams->root || !seams->copies)
        return sn_no_memory(error);
    for (int v = 0; v < mesh->vertex_count; v++) seams->root[v] = v;
    for (int i = 0; i < count; i++) seams->root[list[i].vertex] = list[i].group;
    for (int v = 0; v < mesh->vertex_count; v++)
        if (seams->root[v] != v) seams->copies[seams->count++] = v;
    seams->mesh.triangle_count = 0;
    for (size_t t = 0; t < triangles; t++) {
        int v[3];
        for (int c = 0; c < 3; c++) v[c] = seams->root[mesh->triangles[3 * t + (size_t)c]];
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        size_t at = (size_t)seams->mesh.triangle_count++;
        memcpy(seams->mesh.triangles + 3 * at, v, sizeof v);
        seams->mesh.triangle_face[at] = mesh->triangle_face ? mesh->triangle_face[t] : (int)t;
    }
    return SINEW_OK;
}

sinew_status sn_seams_create(const sinew_mesh *mesh, const sn_part_poses *poses, sn_seams **seams,
                             sinew_error *error) {
    *seams = NULL;
    candidate *list;
    int count;
    sinew_status status = find_candidates(mesh, poses, &list, &count, error);
    sn_seams *made = NULL;
    if (status == SINEW_OK && count > 0) {
        made = SN_NEW0(sn_seams, 1);
        status = made ? make(mesh, count, list, made, error) : sn_no_memory(error);
    }
    sn_free(list);
    if (status != SINEW_OK || (made && made->mesh.triangle_count == 0)) {
        sn_seams_destroy(made);
        return status;
    }
    *seams = made;
    return SINEW_OK;
}

/* Vertices coincide in a pose of a rig when the target moves them alike. */
typedef struct deltas {
    const sinew_rig *rig;
    double *dense; /* 3 per vertex */
} deltas;

static const double *deltas_of(void *user, int k) {
    deltas *d = user;
    const sinew_target *target = &d->rig->targets[k];
    memset(d->dense, 0, 3 * (size_t)d->rig->neutral->vertex_count * sizeof *d->dense);
    for (int i = 0; i < target->count; i++)
        memcpy(d->dense + 3 * (size_t)target->vertices[i], target->deltas + 3 * (size_t)i,
               3 * sizeof *d->dense);
    return d->dense;
}

/* What copies have beyond their roots, in the neutral (target -1) and by each target. */
static sinew_status find_shifts(const sinew_rig *rig, deltas *d, sn_seams *seams,
                                sinew_error *error) {
    size_t capacity = 0;
    for (int t = -1; t < rig->target_count; t++) {
        const double *at = t < 0 ? rig->neutral->positions : deltas_of(d, t);
        for (int k = 0; k < seams->count; k++) {
            int copy = seams->copies[k];
            sn_vec3 by = sn_sub(sn_at(at, copy), sn_at(at, seams->root[copy]));
            if (by.x == 0 && by.y == 0 && by.z == 0) continue;
            if ((size_t)seams->shift_count == capacity) {
                capacity = capacity ? 2 * capacity : 64;
                sn_seam_shift *more = sn_realloc(seams->shifts, capacity, sizeof *more);
                if (!more) return sn_no_memory(error);
                seams->shifts = more;
            }
            seams->shifts[seams->shift_count++] = (sn_seam_shift){t, copy, by};
        }
    }
    return SINEW_OK;
}

sinew_status sn_seams_create_rig(const sinew_rig *rig, sn_seams **seams, sinew_error *error) {
    *seams = NULL;
    const sinew_mesh *mesh = rig->neutral;
    deltas d = {rig, SN_NEW(double, 3 * (size_t)mesh->vertex_count)};
    if (!d.dense) return sn_no_memory(error);
    sn_part_poses poses = {mesh->vertex_count, mesh->positions, rig->target_count, deltas_of, &d};
    sinew_status status = sn_seams_create(mesh, &poses, seams, error);
    if (*seams) status = find_shifts(rig, &d, *seams, error);
    sn_free(d.dense);
    if (status != SINEW_OK) {
        sn_seams_destroy(*seams);
        *seams = NULL;
    }
    if (*seams) {
        (*seams)->rig = *rig;
        (*seams)->rig.neutral = &(*seams)->mesh;
    }
    return status;
}

void sn_seams_destroy(sn_seams *seams) {
    if (!seams) return;
    sn_free(seams->mesh.triangles), sn_free(seams->mesh.triangle_face);
    sn_free(seams->root), sn_free(seams->copies), sn_free(seams->shifts);
    sn_free(seams);
}

int sn_seams_root(const sn_seams *seams, int vertex) {
    return seams ? seams->root[vertex] : vertex;
}

void sn_seams_copy(const sn_seams *seams, const double *activations, double *positions) {
    for (int k = 0; seams && k < seams->count; k++)
        memcpy(positions + 3 * (size_t)seams->copies[k],
               positions + 3 * (size_t)seams->root[seams->copies[k]], 3 * sizeof *positions);
    for (int k = 0; seams && activations && k < seams->shift_count; k++) {
        const sn_seam_shift *shift = &seams->shifts[k];
        double share = shift->target < 0 ? 1 : activations[shift->target];
        sn_put(positions, shift->copy,
               sn_add_scaled(sn_at(positions, shift->copy), share, shift->by));
    }
}
