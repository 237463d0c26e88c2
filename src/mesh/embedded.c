#include "mesh/embedded.h"

#include "base/memory.h"
#include "mesh/intersection.h"
#include "mesh/normals.h"
#include "mesh/topology.h"

/* A piece is embedded when more than this fraction of its triangles intersects larger pieces. Fewer
 * are a fault of the model, such as a fold of a shirt that pokes through the skin: then single
 * triangles are left out. */
#define EMBEDDED 0.02

typedef struct pieces {
    int count;
    int *of;       /* per vertex */
    double *area;  /* per piece */
    int *total;    /* per piece: triangles */
    int *embedded; /* per piece: triangles that intersect a larger piece */
} pieces;

static void free_pieces(pieces *p) {
    sn_free(p->of), sn_free(p->area), sn_free(p->total), sn_free(p->embedded);
}

/* Vertices at the same place count as one, so that seams do not split a piece. */
static sinew_status find_pieces(int vertex_count, const double *rest, int triangle_count,
                                const int *triangles, pieces *p, sinew_error *error) {
    size_t corners = 3 * (size_t)triangle_count;
    int *weld = SN_NEW(int, vertex_count + 1), *corner = SN_NEW(int, corners + 1), merged;
    double *area = SN_NEW(double, triangle_count + 1);
    p->of = SN_NEW(int, vertex_count + 1);
    sinew_status status = weld && corner && area && p->of
                              ? sn_weld(vertex_count, rest, 0, weld, &merged, error)
                              : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (size_t c = 0; c < corners; c++) corner[c] = weld[triangles[c]];
        status = sn_components(vertex_count, triangle_count, corner, p->of, &p->count, error);
    }
    if (status == SINEW_OK) {
        p->area = SN_NEW0(double, p->count + 1);
        p->total = SN_NEW0(int, p->count + 1);
        p->embedded = SN_NEW0(int, p->count + 1);
        if (!p->area || !p->total || !p->embedded) status = sn_no_memory(error);
    }
    if (status == SINEW_OK) {
        for (int v = 0; v < vertex_count; v++) p->of[v] = p->of[weld[v]];
        sn_triangle_areas(triangle_count, triangles, rest, area);
        for (int t = 0; t < triangle_count; t++) {
            int piece = p->of[triangles[3 * (size_t)t]];
            p->area[piece] += area[t], p->total[piece]++;
        }
    }
    sn_free(weld), sn_free(corner), sn_free(area);
    return status;
}

/* Of equal pieces, the first counts as the larger. */
static bool is_larger(const pieces *p, int a, int b) {
    return p->area[a] != p->area[b] ? p->area[a] > p->area[b] : a < b;
}

static sinew_status count_embedded(const pieces *p, const sn_pairs *cross, int triangle_count,
                                   const int *triangles, sinew_error *error) {
    bool *counted = SN_NEW0(bool, triangle_count + 1);
    if (!counted) return sn_no_memory(error);
    for (int k = 0; k < 2 * cross->count; k++) {
        int t = cross->pair[k], other = cross->pair[k ^ 1];
        int own = p->of[triangles[3 * (size_t)t]], its = p->of[triangles[3 * (size_t)other]];
        if (own == its || counted[t] || !is_larger(p, its, own)) continue;
        counted[t] = true, p->embedded[own]++;
    }
    sn_free(counted);
    return SINEW_OK;
}

sinew_status sn_embedded_pieces(int vertex_count, const double *rest, int triangle_count,
                                const int *triangles, const sinew_monitor *monitor, bool *embedded,
                                bool *crosses, sinew_error *error) {
    pieces p = {0};
    sn_pairs cross = {0};
    sinew_status status = sn_self_intersections(vertex_count, rest, triangle_count, triangles,
                                                monitor, &cross, error);
    for (int v = 0; v < vertex_count; v++) embedded[v] = crosses[v] = false;
    for (int k = 0; k < 2 * cross.count; k++)
        for (int c = 0; c < 3; c++)
            crosses[triangles[3 * (size_t)cross.pair[k] + (size_t)c]] = true;
    if (status == SINEW_OK && cross.count > 0) {
        status = find_pieces(vertex_count, rest, triangle_count, triangles, &p, error);
        if (status == SINEW_OK)
            status = count_embedded(&p, &cross, triangle_count, triangles, error);
        for (int v = 0; status == SINEW_OK && v < vertex_count; v++) {
            int piece = p.of[v];
            embedded[v] = piece >= 0 && p.embedded[piece] > EMBEDDED * p.total[piece];
        }
    }
    sn_pairs_free(&cross);
    free_pieces(&p);
    return status;
}

/* Where the surface crosses itself at rest there is no side to keep to: a vertex of a triangle that
 * crosses, held apart from the sheet it has passed already, would be left behind as a spike. Such
 * vertices do not take part, nor do those of pieces that cross others over more than this fraction
 * of their triangles: shells around an eye, gums inside a jaw. */
#define TANGLED 0.2

sinew_status sn_find_tangled(int vertex_count, int triangle_count, const int *triangles,
                             const bool *crosses, bool *tangled, bool *at_crossing,
                             sinew_error *error) {
    int piece_count;
    int *piece = SN_NEW(int, vertex_count + 1), *total = NULL, *crossing = NULL;
    sinew_status status = piece ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_components(vertex_count, triangle_count, triangles, piece, &piece_count, error);
    if (status == SINEW_OK) {
        total = SN_NEW0(int, piece_count + 1), crossing = SN_NEW0(int, piece_count + 1);
        if (!total || !crossing) status = sn_no_memory(error);
    }
    for (int t = 0; status == SINEW_OK && t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        total[piece[v[0]]]++, crossing[piece[v[0]]] += crosses[t];
        for (int c = 0; crosses[t] && c < 3; c++) tangled[v[c]] = at_crossing[v[c]] = true;
    }
    for (int v = 0; status == SINEW_OK && v < vertex_count; v++)
        if (piece[v] >= 0 && crossing[piece[v]] > TANGLED * total[piece[v]]) tangled[v] = true;
    sn_free(piece), sn_free(total), sn_free(crossing);
    return status;
}
