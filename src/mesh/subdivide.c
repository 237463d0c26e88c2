/* Based on: Catmull and Clark 1978; semi-sharp creases of DeRose, Kass and Truong 1998, with the
 * rules of vertices that lose their last crease as OpenSubdiv has them. We differ in: nothing that
 * changes positions; texture coordinates are interpolated linearly.
 *
 * With f the mean of a face's corners, the new points are
 *
 *   face     f
 *   edge     (a + b + f1 + f2) / 4 where smooth, (a + b) / 2 where sharp
 *   vertex   ((n - 2) v + mean of neighbors + mean of faces) / n        smooth, n edges
 *            (6 v + a + b) / 8                                          on a crease from a to b
 *            v                                                          at a corner
 *
 * A level takes 1 from each sharpness s. Where 0 < s < 1 the sharp and the smooth point are mixed,
 * s : 1 - s; at a vertex s is the mean over the edges that lose their sharpness. */
#include "mesh/subdivide.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"

typedef struct side {
    uint64_t key; /* the two vertices of an edge, smaller first */
    int corner;   /* at its start, or -1 - crease */
} side;

typedef struct edge {
    int a, b, faces;
    double sharpness;
    sn_vec3 middle; /* sum of the points of its faces */
} edge;

/* What a vertex gathers from its edges, for the rule before the step and the one after it. */
typedef struct vertex {
    sn_vec3 neighbors, faces;     /* sums */
    sn_vec3 along, along_after;   /* ends of its sharp edges */
    int edge_count, face_count;   /* … */
    int sharp_count, sharp_after; /* edges */
    double transition;            /* sharpness that the step takes away, sum … */
    int transition_count;         /* … over this many */
    double sharpness;             /* its own */
} vertex;

typedef struct step {
    const sn_surface *in;
    int corner_count, edge_count;
    side *sides;
    edge *edges;
    int *edge_of; /* per corner: the edge that starts there */
    vertex *vertices;
    sn_vec3 *points; /* of faces */
} step;

void sn_surface_free(sn_surface *s) {
    sn_free(s->positions), sn_free(s->face_start), sn_free(s->corners), sn_free(s->parent);
    sn_free(s->uv), sn_free(s->vertex_sharpness), sn_free(s->crease_edges);
    sn_free(s->crease_sharpness);
    *s = (sn_surface){0};
}

static uint64_t key_of(int a, int b) {
    return a < b ? (uint64_t)a << 32 | (uint64_t)b : (uint64_t)b << 32 | (uint64_t)a;
}

static int by_key(const void *x, const void *y) {
    const side *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->corner > b->corner) - (a->corner < b->corner);
}

static double after_a_level(double sharpness) {
    return sharpness > 1 ? sharpness - 1 : 0;
}

static int next_corner(const sn_surface *s, int face, int corner) {
    return corner + 1 < s->face_start[face + 1] ? corner + 1 : s->face_start[face];
}

/* Edges in the order of their vertices; creases that are not edges of a face are left out. */
static void find_edges(step *t) {
    const sn_surface *s = t->in;
    int count = 0;
    for (int f = 0; f < s->face_count; f++)
        for (int c = s->face_start[f]; c < s->face_start[f + 1]; c++)
            t->sides[count++] = (side){key_of(s->corners[c], s->corners[next_corner(s, f, c)]), c};
    for (int i = 0; i < s->crease_count; i++)
        t->sides[count++] =
            (side){key_of(s->crease_edges[2 * i], s->crease_edges[2 * i + 1]), -1 - i};
    if (count > 0) qsort(t->sides, (size_t)count, sizeof *t->sides, by_key);
    for (int i = 0, end; i < count; i = end) {
        edge e = {.a = (int)(t->sides[i].key >> 32), .b = (int)(t->sides[i].key & UINT32_MAX)};
        for (end = i; end < count && t->sides[end].key == t->sides[i].key; end++) {
            int corner = t->sides[end].corner;
            if (corner < 0)
                e.sharpness = fmax(e.sharpness, s->crease_sharpness[-1 - corner]);
            else
                t->edge_of[corner] = t->edge_count, e.faces++;
        }
        if (e.faces == 0) continue;
        if (e.faces != 2) e.sharpness = INFINITY;
        t->edges[t->edge_count++] = e;
    }
}

static sn_vec3 mix(sn_vec3 a, sn_vec3 b, double share) {
    return sn_add(sn_scale(1 - share, a), sn_scale(share, b));
}

static void meet_edge(vertex *v, const edge *e, sn_vec3 other) {
    double after = after_a_level(e->sharpness);
    v->edge_count++;
    v->neighbors = sn_add(v->neighbors, other);
    if (e->faces > 2) v->sharpness = INFINITY; /* not a surface there */
    if (e->sharpness > 0) v->sharp_count++, v->along = sn_add(v->along, other);
    if (after > 0) v->sharp_after++, v->along_after = sn_add(v->along_after, other);
    if (e->sharpness > 0 && after <= 0) v->transition += e->sharpness, v->transition_count++;
}

static void gather(step *t, bool sharp_corners) {
    const sn_surface *s = t->in;
    for (int v = 0; v < s->vertex_count; v++) t->vertices[v].sharpness = s->vertex_sharpness[v];
    for (int f = 0; f < s->face_count; f++) {
        int begin = s->face_start[f], end = s->face_start[f + 1];
        sn_vec3 sum = {0, 0, 0};
        for (int c = begin; c < end; c++) sum = sn_add(sum, sn_at(s->positions, s->corners[c]));
        t->points[f] = sn_scale(1.0 / (end - begin), sum);
        for (int c = begin; c < end; c++) {
            vertex *v = &t->vertices[s->corners[c]];
            edge *e = &t->edges[t->edge_of[c]];
            v->faces = sn_add(v->faces, t->points[f]), v->face_count++;
            e->middle = sn_add(e->middle, t->points[f]);
        }
    }
    for (int i = 0; i < t->edge_count; i++) {
        const edge *e = &t->edges[i];
        meet_edge(&t->vertices[e->a], e, sn_at(s->positions, e->b));
        meet_edge(&t->vertices[e->b], e, sn_at(s->positions, e->a));
    }
    for (int v = 0; v < s->vertex_count; v++) {
        vertex *own = &t->vertices[v];
        double after = after_a_level(own->sharpness);
        if (own->sharpness > 0 && after <= 0)
            own->transition += own->sharpness, own->transition_count++;
        if (sharp_corners && own->face_count == 1) own->sharpness = INFINITY;
    }
}

/* The point of a vertex with that many sharp edges. */
static sn_vec3 vertex_point(const vertex *v, sn_vec3 at, double sharpness, int sharp,
                            sn_vec3 along) {
    if (sharpness > 0 || sharp > 2 || v->face_count == 0) return at;
    if (sharp == 2) return sn_add(sn_scale(0.75, at), sn_scale(0.125, along));
    double n = v->edge_count;
    sn_vec3 sum = sn_add(sn_scale(1 / n, v->neighbors), sn_scale(1.0 / v->face_count, v->faces));
    return sn_scale(1 / n, sn_add(sn_scale(n - 2, at), sum));
}

static void place_points(const step *t, double *out) {
    const sn_surface *s = t->in;
    for (int i = 0; i < s->vertex_count; i++) {
        const vertex *v = &t->vertices[i];
        sn_vec3 at = sn_at(s->positions, i);
        double share = v->transition_count > 0 ? fmin(v->transition / v->transition_count, 1) : 0;
        sn_vec3 after =
            vertex_point(v, at, after_a_level(v->sharpness), v->sharp_after, v->along_after);
        sn_vec3 before = vertex_point(v, at, v->sharpness, v->sharp_count, v->along);
        sn_put(out, i, share > 0 ? mix(after, before, share) : after);
    }
    for (int i = 0; i < t->edge_count; i++) {
        const edge *e = &t->edges[i];
        sn_vec3 ends = sn_add(sn_at(s->positions, e->a), sn_at(s->positions, e->b));
        sn_vec3 sharp = sn_scale(0.5, ends), smooth = sn_scale(0.25, sn_add(ends, e->middle));
        sn_put(out, s->vertex_count + i,
               e->sharpness >= 1 ? sharp : mix(smooth, sharp, e->sharpness));
    }
    for (int f = 0; f < s->face_count; f++)
        sn_put(out, s->vertex_count + t->edge_count + f, t->points[f]);
}

static void mean_uv(const double *uv, int first, int count, double *out) {
    out[0] = out[1] = 0;
    for (int c = first; c < first + count; c++)
        out[0] += uv[2 * (size_t)c] / count, out[1] += uv[2 * (size_t)c + 1] / count;
}

/* A quad at every corner of the old faces: the corner, the edge after it, the face, the edge before
 * it. */
static void cut_faces(const step *t, sn_surface *out) {
    const sn_surface *s = t->in;
    int face = 0;
    for (int f = 0; f < s->face_count; f++) {
        int begin = s->face_start[f], end = s->face_start[f + 1];
        for (int c = begin; c < end; c++, face++) {
            int before = c > begin ? c - 1 : end - 1, next = next_corner(s, f, c);
            int *quad = out->corners + 4 * (size_t)face;
            quad[0] = s->corners[c];
            quad[1] = s->vertex_count + t->edge_of[c];
            quad[2] = s->vertex_count + t->edge_count + f;
            quad[3] = s->vertex_count + t->edge_of[before];
            out->face_start[face + 1] = 4 * (face + 1);
            out->parent[face] = s->parent[f];
            if (!s->uv) continue;
            double *uv = out->uv + 8 * (size_t)face;
            const double *own = s->uv + 2 * (size_t)c;
            const double *after = s->uv + 2 * (size_t)next, *back = s->uv + 2 * (size_t)before;
            for (int k = 0; k < 2; k++) {
                uv[k] = own[k];
                uv[2 + k] = (own[k] + after[k]) / 2;
                uv[6 + k] = (own[k] + back[k]) / 2;
            }
            mean_uv(s->uv, begin, end - begin, uv + 4);
        }
    }
}

static void hand_on_creases(const step *t, sn_surface *out) {
    const sn_surface *s = t->in;
    for (int v = 0; v < s->vertex_count; v++)
        out->vertex_sharpness[v] = after_a_level(s->vertex_sharpness[v]);
    for (int i = 0; i < t->edge_count; i++) {
        const edge *e = &t->edges[i];
        double sharpness = after_a_level(e->sharpness);
        for (int k = 0; sharpness > 0 && k < 2; k++) {
            out->crease_edges[2 * out->crease_count] = k ? e->b : e->a;
            out->crease_edges[2 * out->crease_count + 1] = s->vertex_count + i;
            out->crease_sharpness[out->crease_count++] = sharpness;
        }
    }
}

static void release(step *t) {
    sn_free(t->sides), sn_free(t->edges), sn_free(t->edge_of), sn_free(t->vertices);
    sn_free(t->points);
}

sinew_status sn_subdivide(sn_surface *s, bool sharp_corners, sinew_error *error) {
    int corners = s->face_start[s->face_count];
    step t = {.in = s, .corner_count = corners};
    if ((int64_t)4 * corners + s->vertex_count + s->face_count + s->crease_count > INT_MAX / 4)
        return sn_fail(error, SINEW_BAD_INPUT, "the subdivided mesh would be too large");
    t.sides = SN_NEW(side, corners + s->crease_count), t.edges = SN_NEW(edge, corners);
    t.edge_of = SN_NEW(int, corners), t.vertices = SN_NEW0(vertex, s->vertex_count);
    t.points = SN_NEW(sn_vec3, s->face_count);
    if (!t.sides || !t.edges || !t.edge_of || !t.vertices || !t.points) {
        release(&t);
        return sn_no_memory(error);
    }
    find_edges(&t);
    gather(&t, sharp_corners);
    sn_surface out = {.vertex_count = s->vertex_count + t.edge_count + s->face_count,
                      .face_count = corners};
    out.positions = SN_NEW(double, 3 * (size_t)out.vertex_count);
    out.face_start = SN_NEW0(int, (size_t)corners + 1);
    out.corners = SN_NEW(int, 4 * (size_t)corners), out.parent = SN_NEW(int, corners);
    out.uv = s->uv ? SN_NEW(double, 8 * (size_t)corners) : NULL;
    out.vertex_sharpness = SN_NEW0(double, out.vertex_count);
    out.crease_edges = SN_NEW(int, 4 * (size_t)t.edge_count);
    out.crease_sharpness = SN_NEW(double, 2 * (size_t)t.edge_count);
    sinew_status status = out.positions && out.face_start && out.corners && out.parent &&
                                  (out.uv || !s->uv) && out.vertex_sharpness && out.crease_edges &&
                                  out.crease_sharpness
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK) {
        place_points(&t, out.positions);
        cut_faces(&t, &out);
        hand_on_creases(&t, &out);
        sn_surface_free(s);
        *s = out;
    } else {
        sn_surface_free(&out);
    }
    release(&t);
    return status;
}
