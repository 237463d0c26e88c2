/* Two limits, both relative to the shape without the layer, so that a frame with the layer is never
 * worse than one without, and both smooth in the correction, so that they leave no spikes.
 *
 *   eyeballs   A sphere is fitted to each in every frame. Skin beside it slides over it, but comes
 *              no nearer to its center. The nearer to the eyeball, the less it slides: lids by less
 *              than a lid is thick, as their inner sides and the shells below them stay behind.
 *   thickness  A ray inwards at rest tells what lies below a vertex of the outer skin, at distance
 *              t. The layer moves the vertex inwards by less than PRESSED t: its displacement is
 *              shortened as a whole, and around the vertex, too, so that how much is taken away
 *              changes by at most STEEPEST of the distance along the skin. Taken away only along
 *              the ray and only there, it would fold the edges of lips, where the rays of
 *              neighbors point elsewhere.
 *
 * Contact of triangles promises more (force/layer_contact.h), but has to leave out what intersects
 * in the neutral: rigs that come with lashes, tear lines and shells around the eyes have thousands
 * of such pairs. */
#include "force/layer_guard.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/normals.h"
#include "mesh/topology.h"
#include "sinew/query.h"

#define PRESSED  0.6
#define STEEPEST 0.25
/* Fraction of the diagonal down to which something below the skin is searched for. */
#define DEEP 0.06
/* A piece is an eyeball when its vertices lie on a sphere to this fraction of the radius. */
#define ROUND 0.12
/* Skin within this many radii of an eyeball's center is beside it. */
#define BESIDE 1.5
/* Most that the layer moves skin on the eyeball by, in radii; without limit from BESIDE on. */
#define SLIDING 0.05
enum { LEAST_VERTICES = 30, MOST_BALLS = 8 };

typedef struct ball {
    int count, beside_count;
    int *vertices, *beside;
    double *sliding; /* per vertex beside: most that it moves by */
    double radius;   /* at rest */
} ball;

struct sn_layer_guard {
    int vertex_count, ball_count, covered;
    ball balls[MOST_BALLS];
    double *inward; /* 3 per vertex: into the face; zero where nothing lies below */
    double *most;   /* per vertex: PRESSED t */
    sn_skin along;  /* edges and their lengths only */
};

/* Least squares |x|^2 = 2 c.x + k about the mean; false: no sphere. */
static bool fit_sphere(const double *x, const int *vertices, int count, sn_vec3 *center,
                       double *radius, double *roughness) {
    sn_vec3 mean = {0, 0, 0};
    double m[4][5] = {{0}};
    for (int i = 0; i < count; i++) mean = sn_add_scaled(mean, 1.0 / count, sn_at(x, vertices[i]));
    for (int i = 0; i < count; i++) {
        sn_vec3 p = sn_sub(sn_at(x, vertices[i]), mean);
        double row[5] = {2 * p.x, 2 * p.y, 2 * p.z, 1, sn_dot(p, p)};
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 5; c++) m[r][c] += row[r] * row[c];
    }
    for (int k = 0; k < 4; k++) { /* elimination with the largest pivot */
        int best = k;
        for (int r = k + 1; r < 4; r++)
            if (fabs(m[r][k]) > fabs(m[best][k])) best = r;
        if (!(fabs(m[best][k]) > 0)) return false;
        for (int c = 0; c < 5; c++) {
            double t = m[k][c];
            m[k][c] = m[best][c], m[best][c] = t;
        }
        for (int r = 0; r < 4; r++) {
            double f = r == k ? 0 : m[r][k] / m[k][k];
            for (int c = k; c < 5 && f != 0; c++) m[r][c] -= f * m[k][c];
        }
    }
    sn_vec3 c = {m[0][4] / m[0][0], m[1][4] / m[1][1], m[2][4] / m[2][2]};
    double square = m[3][4] / m[3][3] + sn_dot(c, c), sum = 0;
    if (!(square > 0) || !isfinite(square)) return false;
    *center = sn_add(mean, c), *radius = sqrt(square);
    for (int i = 0; roughness && i < count; i++) {
        double off = sn_distance(*center, sn_at(x, vertices[i])) - *radius;
        sum += off * off / count;
    }
    if (roughness) *roughness = sqrt(sum) / *radius;
    return true;
}

static sinew_status add_ball(sn_layer_guard *g, const sn_skin *skin, const sinew_anatomy *anatomy,
                             const bool *rides, int piece, sinew_error *error) {
    const int *piece_of = sinew_anatomy_pieces(anatomy);
    ball *b = &g->balls[g->ball_count];
    int n = skin->vertex_count;
    *b = (ball){.vertices = SN_NEW(int, n), .beside = SN_NEW(int, n), .sliding = SN_NEW(double, n)};
    sn_vec3 center;
    double roughness;
    g->ball_count++; /* freed with the rest */
    if (!b->vertices || !b->beside || !b->sliding) return sn_no_memory(error);
    for (int v = 0; v < n; v++)
        if (piece_of[v] == piece && !rides[v]) b->vertices[b->count++] = v;
    bool round = b->count >= LEAST_VERTICES &&
                 fit_sphere(skin->rest, b->vertices, b->count, &center, &b->radius, &roughness) &&
                 roughness < ROUND && b->radius < 0.1 * skin->diagonal;
    for (int v = 0; round && v < n; v++) {
        sinew_piece_kind kind = sinew_anatomy_piece_kind(anatomy, piece_of[v]);
        double off = sn_distance(center, sn_at(skin->rest, v)) / b->radius;
        if (!(off < BESIDE) || rides[v] || kind != SINEW_PIECE_KIND_SKIN) continue;
        double far = fmax(0, off - 1) / (BESIDE - 1);
        b->sliding[b->beside_count] = SLIDING * b->radius / (1 - far * far);
        b->beside[b->beside_count++] = v;
    }
    if (!round || b->beside_count == 0) {
        sn_free(b->vertices), sn_free(b->beside), sn_free(b->sliding);
        *b = (ball){0};
        g->ball_count--;
    }
    return SINEW_OK;
}

typedef struct probing {
    const sinew_query *query;
    const double *rest, *normals;
    const bool *outer;
    double lift, deep;
    sn_layer_guard *guard;
} probing;

static void probe_some(void *context, sn_span span) {
    const probing *p = context;
    for (size_t v = span.begin; v < span.end; v++) {
        double from[3], along[3];
        sinew_closest hit;
        if (!p->outer[v]) continue;
        sn_vec3 in = sn_scale(-1, sn_at(p->normals, (int)v));
        sn_put(from, 0, sn_add_scaled(sn_at(p->rest, (int)v), p->lift, in));
        sn_put(along, 0, in);
        if (!sinew_query_ray(p->query, from, along, p->deep, &hit)) continue;
        sn_put(p->guard->inward, (int)v, in);
        p->guard->most[v] = PRESSED * (hit.distance + p->lift);
    }
}

static sinew_status probe(sn_layer_guard *g, const sn_skin *skin, const sinew_mesh *mesh,
                          const sinew_anatomy *anatomy, sinew_error *error) {
    double *normals = SN_NEW(double, 3 * (size_t)skin->vertex_count);
    sn_topology *topology = NULL;
    sinew_query *query = NULL;
    sinew_status status = normals ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_topology_create(mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                                    &topology, error);
    if (status == SINEW_OK)
        status = sinew_query_create(mesh->vertex_count, skin->rest, mesh->triangle_count,
                                    mesh->triangles, &query, error);
    if (status == SINEW_OK) {
        sn_vertex_normals(topology, skin->rest, SN_NORMAL_ANGLE, normals);
        probing p = {query,
                     skin->rest,
                     normals,
                     sinew_anatomy_skin(anatomy),
                     1e-4 * skin->diagonal,
                     DEEP * skin->diagonal,
                     g};
        sn_parallel_for(skin->vertex_count, 64, probe_some, &p);
        for (int v = 0; v < skin->vertex_count; v++) g->covered += g->most[v] > 0;
    }
    sn_free(normals);
    sinew_query_destroy(query);
    sn_topology_destroy(topology);
    return status;
}

sinew_status sn_layer_guard_create(const sn_skin *skin, const sinew_rig *rig,
                                   const sinew_anatomy *anatomy, const sn_riders *riders,
                                   sn_layer_guard **guard, sinew_error *error) {
    *guard = NULL;
    sn_layer_guard *g = SN_NEW0(sn_layer_guard, 1);
    if (!g) return sn_no_memory(error);
    g->vertex_count = skin->vertex_count;
    g->inward = SN_NEW0(double, 3 * (size_t)skin->vertex_count);
    g->most = SN_NEW0(double, skin->vertex_count);
    bool *rides = SN_NEW0(bool, skin->vertex_count);
    g->along.edge_count = skin->edge_count;
    g->along.edges = sn_memdup(skin->edges, 2 * (size_t)skin->edge_count, sizeof *skin->edges);
    g->along.length = sn_memdup(skin->length, (size_t)skin->edge_count, sizeof *skin->length);
    bool complete = g->inward && g->most && rides && g->along.edges && g->along.length;
    sinew_status status = complete ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; rides && i < riders->count; i++) rides[riders->vertex[i]] = true;
    int pieces = sinew_anatomy_piece_count(anatomy);
    for (int p = 0; status == SINEW_OK && p < pieces && g->ball_count < MOST_BALLS; p++)
        if (sinew_anatomy_piece_kind(anatomy, p) == SINEW_PIECE_KIND_EYE)
            status = add_ball(g, skin, anatomy, rides, p, error);
    sn_free(rides);
    if (status == SINEW_OK) status = probe(g, skin, rig->neutral, anatomy, error);
    if (status != SINEW_OK) {
        sn_layer_guard_destroy(g);
        return status;
    }
    *guard = g;
    return SINEW_OK;
}

void sn_layer_guard_destroy(sn_layer_guard *g) {
    if (!g) return;
    for (int i = 0; i < g->ball_count; i++)
        sn_free(g->balls[i].vertices), sn_free(g->balls[i].beside), sn_free(g->balls[i].sliding);
    sn_free(g->inward), sn_free(g->most);
    sn_free(g->along.edges), sn_free(g->along.length);
    sn_free(g);
}

void sn_layer_guard_counts(const sn_layer_guard *g, int *eyeballs, int *covered) {
    *eyeballs = g->ball_count, *covered = g->covered;
}

/* The listed vertices come no nearer to the ball's center: lids and the shells between them and the
 * ball keep their order. Returns how many were held. */
static int keep_off(const ball *b, int count, const int *vertices, const double *before,
                    double *after) {
    sn_vec3 center;
    double radius;
    int held = 0;
    if (!fit_sphere(before, b->vertices, b->count, &center, &radius, NULL)) return 0;
    if (fabs(radius / b->radius - 1) > 0.2) return 0; /* not an eye any more */
    for (int k = 0; k < count; k++) {
        int v = vertices[k];
        sn_vec3 d = sn_sub(sn_at(after, v), center);
        double now = sn_length(d), was = sn_distance(center, sn_at(before, v));
        if (now >= was || !(now > 0)) continue;
        sn_put(after, v, sn_add_scaled(center, was / now, d));
        held++;
    }
    return held;
}

/* Returns how many vertices keep less than nine tenths of their displacement. */
static int slow_down(const ball *b, const double *before, double *after) {
    int held = 0;
    for (int k = 0; k < b->beside_count; k++) {
        int v = b->beside[k];
        sn_vec3 moved = sn_sub(sn_at(after, v), sn_at(before, v));
        double length = sn_length(moved), most = b->sliding[k];
        if (!(length > 0)) continue;
        double share = most * tanh(length / most) / length;
        held += share < 0.9;
        sn_put(after, v, sn_add_scaled(sn_at(before, v), share, moved));
    }
    return held;
}

/* Shortens displacements that press the skin onto what lies below. Returns how many vertices keep
 * less than nine tenths of the inward part. */
static int thin(const sn_layer_guard *g, const double *before, double *after, double *away) {
    int held = 0, thinned = 0;
    for (int v = 0; v < g->vertex_count; v++) {
        away[v] = 0;
        if (!(g->most[v] > 0)) continue;
        sn_vec3 moved = sn_sub(sn_at(after, v), sn_at(before, v));
        double pressed = sn_dot(moved, sn_at(g->inward, v)), most = g->most[v];
        if (pressed <= 0) continue;
        double left = most * tanh(pressed / most);
        held += left < 0.9 * pressed, thinned++;
        away[v] = -(1 - left / pressed) * sn_length(moved) / STEEPEST;
    }
    if (thinned == 0) return 0;
    sn_skin_spread(&g->along, 0, away);
    for (int v = 0; v < g->vertex_count; v++) {
        if (!(away[v] < 0)) continue;
        sn_vec3 moved = sn_sub(sn_at(after, v), sn_at(before, v));
        double length = sn_length(moved), left = length + STEEPEST * away[v];
        sn_put(after, v,
               left > 0 ? sn_add_scaled(sn_at(before, v), left / length, moved) : sn_at(before, v));
    }
    return held;
}

int sn_layer_guard_hold(const sn_layer_guard *g, const double *before, double *after,
                        double *scratch) {
    int held = thin(g, before, after, scratch);
    for (int i = 0; i < g->ball_count; i++) {
        const ball *b = &g->balls[i];
        held += slow_down(b, before, after);
        held += keep_off(b, b->beside_count, b->beside, before, after);
    }
    return held;
}
