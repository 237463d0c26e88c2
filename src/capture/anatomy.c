/* Pieces, and the life of an anatomy. */
#include "sinew/anatomy.h"

#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/status.h"
#include "capture/anatomy_state.h"
#include "capture/pieces.h"

bool sn_motion_of(const sinew_rig *rig, const char *slider, double *size) {
    int sliders[2], count = sinew_rig_match(rig, slider, sliders);
    bool moves = false;
    memset(size, 0, sizeof(double) * (size_t)rig->neutral->vertex_count);
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *t = &rig->targets[k];
        bool driven = false;
        for (int i = 0; i < count; i++)
            driven = driven || (t->kind == SINEW_TARGET_KIND_PLAIN && t->slider == sliders[i]);
        for (int i = 0; driven && i < t->count; i++) {
            double *s = &size[t->vertices[i]], d = sn_length(sn_at(t->deltas, i));
            *s = d > *s ? d : *s;
            moves = moves || d > 0;
        }
    }
    return moves;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static int root_of(int *parent, int v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

/* The smaller index becomes the root, so that roots are first vertices. */
static void join(int *parent, int a, int b) {
    a = root_of(parent, a), b = root_of(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

static size_t hash_position(const double *p) {
    uint64_t h = 0, bits;
    for (int k = 0; k < 3; k++) {
        double value = p[k] + 0.0; /* -0 is 0 */
        memcpy(&bits, &value, sizeof bits);
        h = (h ^ bits) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return (size_t)h;
}

/* Vertices of one part at the same position are the two sides of a seam. Those of different parts
 * are not: lashes begin on lids. */
static sinew_status join_seams(const sinew_mesh *mesh, int *parent, sinew_error *error) {
    size_t size = 16;
    while (size < 2 * (size_t)mesh->vertex_count) size *= 2;
    int *bucket = SN_NEW(int, size), *part = SN_NEW0(int, mesh->vertex_count);
    if (!bucket || !part) {
        sn_free(bucket), sn_free(part);
        return sn_no_memory(error);
    }
    for (int f = 0; mesh->face_part && f < mesh->face_count; f++)
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++)
            part[mesh->face_vertices[c]] = mesh->face_part[f];
    memset(bucket, -1, sizeof(int) * size);
    for (int v = 0; v < mesh->vertex_count; v++) {
        const double *p = mesh->positions + 3 * (size_t)v;
        size_t at = hash_position(p) & (size - 1);
        for (; bucket[at] >= 0; at = (at + 1) & (size - 1)) {
            const double *q = mesh->positions + 3 * (size_t)bucket[at];
            if (part[v] == part[bucket[at]] && p[0] == q[0] && p[1] == q[1] && p[2] == q[2]) break;
        }
        if (bucket[at] >= 0)
            join(parent, bucket[at], v);
        else
            bucket[at] = v;
    }
    sn_free(bucket), sn_free(part);
    return SINEW_OK;
}

sinew_status sn_pieces(const sinew_mesh *mesh, int *piece, int *count, sinew_error *error) {
    int n = mesh->vertex_count;
    *count = 0;
    int *parent = SN_NEW(int, n);
    if (!parent) return sn_no_memory(error);
    for (int v = 0; v < n; v++) parent[v] = v;
    sinew_status status = join_seams(mesh, parent, error);
    for (int f = 0; status == SINEW_OK && f < mesh->face_count; f++)
        for (int c = mesh->face_start[f] + 1; c < mesh->face_start[f + 1]; c++)
            join(parent, mesh->face_vertices[c - 1], mesh->face_vertices[c]);
    for (int v = 0; status == SINEW_OK && v < n; v++) {
        int root = root_of(parent, v);
        piece[v] = root == v ? (*count)++ : piece[root];
    }
    sn_free(parent);
    return status;
}

static sinew_status find_pieces(const sinew_mesh *mesh, sinew_anatomy *a, sinew_error *error) {
    sinew_status status = sn_pieces(mesh, a->piece, &a->piece_count, error);
    if (status == SINEW_OK && !(a->kind = SN_NEW0(sinew_piece_kind, a->piece_count)))
        status = sn_no_memory(error);
    return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

sinew_status sinew_anatomy_create(const sinew_rig *rig, const sinew_monitor *monitor,
                                  sinew_anatomy **anatomy, sinew_error *error) {
    SN_REQUIRE(rig && anatomy, error);
    *anatomy = NULL;
    sinew_anatomy *a = SN_NEW0(sinew_anatomy, 1);
    if (!a) return sn_no_memory(error);
    size_t n = (size_t)rig->neutral->vertex_count;
    a->vertex_count = (int)n;
    a->positions = sn_memdup(rig->neutral->positions, 3 * n, sizeof(double));
    a->piece = SN_NEW0(int, n), a->openness = SN_NEW0(double, n), a->skin = SN_NEW0(bool, n);
    a->region = SN_NEW0(unsigned char, n);
    sinew_status status = a->positions && a->piece && a->openness && a->skin && a->region
                              ? SINEW_OK
                              : sn_no_memory(error);
    sn_call call;
    sn_call_begin(&call, monitor);
    if (status == SINEW_OK) status = find_pieces(rig->neutral, a, error);
    if (status == SINEW_OK) status = sn_anatomy_find_skin(rig, a, monitor, error);
    if (status == SINEW_OK) status = sn_anatomy_find_landmarks(rig, a, error);
    if (status == SINEW_OK) status = sn_anatomy_find_regions(rig, a, error);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK) {
        sinew_anatomy_destroy(a);
        return status;
    }
    *anatomy = a;
    return SINEW_OK;
}

void sinew_anatomy_destroy(sinew_anatomy *a) {
    if (!a) return;
    sn_free(a->positions), sn_free(a->piece), sn_free(a->kind), sn_free(a->openness);
    sn_free(a->skin), sn_free(a->region);
    sn_free(a);
}

int sinew_anatomy_piece_count(const sinew_anatomy *a) {
    return a ? a->piece_count : 0;
}

sinew_piece_kind sinew_anatomy_piece_kind(const sinew_anatomy *a, int piece) {
    return a && piece >= 0 && piece < a->piece_count ? a->kind[piece] : SINEW_PIECE_KIND_OUTSIDE;
}

const int *sinew_anatomy_pieces(const sinew_anatomy *a) {
    return a ? a->piece : NULL;
}

const bool *sinew_anatomy_skin(const sinew_anatomy *a) {
    return a ? a->skin : NULL;
}

const double *sinew_anatomy_openness(const sinew_anatomy *a) {
    return a ? a->openness : NULL;
}

bool sinew_anatomy_axes(const sinew_anatomy *a, double left[3], double up[3], double front[3]) {
    if (!a->oriented) return false;
    sn_put(left, 0, a->left), sn_put(up, 0, a->up), sn_put(front, 0, a->front);
    return true;
}

double sinew_anatomy_eye_distance(const sinew_anatomy *a) {
    return a && a->oriented ? a->eye_distance : 0;
}

bool sinew_anatomy_landmark(const sinew_anatomy *a, sinew_landmark landmark, sinew_side side,
                            double point[3], int *vertex) {
    bool paired = landmark < SINEW_LANDMARK_PAIRS;
    if (landmark >= SINEW_LANDMARK_COUNT || paired != (side != SINEW_SIDE_NONE)) return false;
    const sn_landmark_point *p = &a->points[landmark][side == SINEW_SIDE_RIGHT];
    if (!p->known) return false;
    if (point) sn_put(point, 0, p->point);
    if (vertex) *vertex = p->vertex;
    return true;
}

const char *sinew_landmark_name(sinew_landmark landmark) {
    static const char *const names[] = {
        "upper lid",      "lower lid",  "inner eye corner", "outer eye corner", "inner brow",
        "brow",           "outer brow", "nose wing",        "mouth corner",     "upper lip side",
        "lower lip side", "cheek",      "temple",           "forehead side",    "nose bridge",
        "nose tip",       "nose base",  "upper lip",        "lower lip",        "chin",
        "brow center",    "forehead"};
    return landmark < SINEW_LANDMARK_COUNT ? names[landmark] : "";
}
