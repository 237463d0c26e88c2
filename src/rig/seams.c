#include "rig/seams.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* A vertex that may be seamless, and where a pose has it. */
typedef struct candidate {
    double at[3];
    int group; /* the first vertex of those that have coincided so far */
    int vertex;
} candidate;

static int compare_places(const candidate *x, const candidate *y) {
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    for (int c = 0; c < 3; c++)
        if (x->at[c] != y->at[c]) return x->at[c] < y->at[c] ? -1 : 1;
    return 0;
}

static int by_place(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    int order = compare_places(x, y);
    return order != 0 ? order : x->vertex - y->vertex;
}

/* Splits groups by the positions of a pose; returns how many candidates still have company. */
static int split_groups(int count, candidate *list, const double *positions) {
    for (int i = 0; i < count; i++)
        for (int c = 0; c < 3; c++)
            list[i].at[c] = positions[3 * (size_t)list[i].vertex + (size_t)c];
    qsort(list, (size_t)count, sizeof *list, by_place);
    int kept = 0;
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && compare_places(&list[i], &list[end]) == 0; end++) {
        }
        int group = list[i].vertex;
        for (int k = i; end > i + 1 && k < end; k++) {
            list[kept] = list[k];
            list[kept++].group = group;
        }
    }
    return kept;
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
    *count = split_groups(*count, *list, mesh->positions);
    for (int k = 0; *count > 0 && k < poses->count; k++)
        *count = split_groups(*count, *list, poses->pose(poses->user, k));
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

sinew_status sn_seams_create_rig(const sinew_rig *rig, sn_seams **seams, sinew_error *error) {
    *seams = NULL;
    const sinew_mesh *mesh = rig->neutral;
    deltas d = {rig, SN_NEW(double, 3 * (size_t)mesh->vertex_count)};
    if (!d.dense) return sn_no_memory(error);
    sn_part_poses poses = {mesh->vertex_count, mesh->positions, rig->target_count, deltas_of, &d};
    sinew_status status = sn_seams_create(mesh, &poses, seams, error);
    sn_free(d.dense);
    if (*seams) {
        (*seams)->rig = *rig;
        (*seams)->rig.neutral = &(*seams)->mesh;
    }
    return status;
}

void sn_seams_destroy(sn_seams *seams) {
    if (!seams) return;
    sn_free(seams->mesh.triangles), sn_free(seams->mesh.triangle_face);
    sn_free(seams->root), sn_free(seams->copies);
    sn_free(seams);
}

int sn_seams_root(const sn_seams *seams, int vertex) {
    return seams ? seams->root[vertex] : vertex;
}

void sn_seams_copy(const sn_seams *seams, double *positions) {
    for (int k = 0; seams && k < seams->count; k++)
        memcpy(positions + 3 * (size_t)seams->copies[k],
               positions + 3 * (size_t)seams->root[seams->copies[k]], 3 * sizeof *positions);
}
