/* Each vertex has a path: shells over the eyes lie down on the eyeball, all else is lifted off the
 * face, along the mean normal of the skin around the point where it is attached.
 *
 * A triangle T of what follows the skin has a margin m, at most half of its distance from the
 * visible skin at rest. With g its distance from the skin now,
 *
 *   a = (m - g) / (m - CLEAR m) min(1, m / FULL), from 0 at g = m on until g = CLEAR m,
 *
 * and vertices near T advance along their paths by a step times a, the less the farther away they
 * are. Near where it is attached, m is small: a rises within next to nothing there, and would move
 * hair by millimeters at once if it rose to 1. After some rounds of this all is free that can be.
 * Distances are continuous in the shape, and so are their maxima, hence the result; and as steps
 * end where m is reached, it moves little faster than the skin does. */
#include "force/give_way.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/vec3.h"
#include "contact/hierarchy.h"
#include "mesh/closest.h"
#include "mesh/intersection.h"
#include "sinew/query.h"

/* Fractions of the diagonal; of the distance at rest. */
#define MOST_MARGIN 0.004
#define FULL        0.001
#define REST_SHARE  0.5
/* Of the margin. */
#define CLEAR 0.1
/* Fractions of the diagonal: from a triangle within which vertices advance with it; around the
 * point of attachment within which normals count; longest path. */
#define AROUND 0.006
#define PATCH  0.02
#define LIFT   0.012
/* Fractions of the diagonal: what is farther apart at rest does not meet; what is nearer touches.
 */
#define FAR      0.08
#define TOUCHING 2e-5

enum { ROUNDS = 10 };

struct sn_give_way_plan {
    int vertex_count;
    const sn_riders *riders;
    double around, lift; /* length units */
    int *patch;          /* per rider: its patch, or -1 for shells */
    int patch_count;
    int *patch_start; /* per patch: its first triangle in patch_triangle; one more at the end */
    int *patch_triangle;
    int count;      /* triangles of riders; 3 vertices each */
    int *triangles; /* 3 each */
    double *margin; /* per triangle, length units, > 0 */
    double full;    /* length units: FULL */
    int skin_count; /* triangles of the visible skin near riders */
    int *skin;      /* 3 each */
    int point_count;
    int *points; /* vertices of both */
    sn_hierarchy tree;
};

struct sn_give_way_work {
    const sn_give_way_plan *plan;
    sn_hull *item, *node;
    int threads;
    int *leaves;   /* a list of leaves per thread */
    double *share; /* per vertex: how much of its path it has gone */
    bool *moved;   /* per vertex: in the last round */
    sn_hull_frame frame;
    sn_vec3 *normal; /* per patch */
    double *press;   /* per triangle: a */
    int *pressing;   /* triangles with a > 0 */
    int pressing_count;
    double *start; /* 3 per vertex */
};

/* ---- distances of triangles ------------------------------------------------------------------ */

static double to_triangle(sn_vec3 p, const sn_vec3 t[3]) {
    double weights[3];
    return sn_distance(p, sn_closest_on_triangle(p, t[0], t[1], t[2], weights));
}

static double between_segments(sn_vec3 p, sn_vec3 q, sn_vec3 a, sn_vec3 b) {
    sn_vec3 u = sn_sub(q, p), v = sn_sub(b, a), w = sn_sub(p, a);
    double uu = sn_dot(u, u), uv = sn_dot(u, v), vv = sn_dot(v, v);
    double uw = sn_dot(u, w), vw = sn_dot(v, w), area = uu * vv - uv * uv;
    if (!(area > 1e-12 * uu * vv)) return INFINITY; /* an end is as near */
    double s = (uv * vw - vv * uw) / area, t = (uu * vw - uv * uw) / area;
    if (!(s > 0 && s < 1 && t > 0 && t < 1)) return INFINITY;
    return sn_length(sn_add_scaled(sn_add_scaled(w, s, u), -t, v));
}

/* All of a triangle is within *radius of its middle. */
static sn_vec3 ball_of(const sn_vec3 t[3], double *radius) {
    sn_vec3 middle = sn_scale(1.0 / 3, sn_add(t[0], sn_add(t[1], t[2])));
    *radius =
        fmax(sn_distance(middle, t[0]), fmax(sn_distance(middle, t[1]), sn_distance(middle, t[2])));
    return middle;
}

/* At most `most`; 0 where they intersect. */
static double between_triangles(const sn_vec3 a[3], const sn_vec3 b[3], double most) {
    double least = INFINITY, size[2];
    if (sn_distance(ball_of(a, &size[0]), ball_of(b, &size[1])) > most + size[0] + size[1])
        return most;
    for (int i = 0; i < 3; i++) {
        least = fmin(least, fmin(to_triangle(a[i], b), to_triangle(b[i], a)));
        for (int j = 0; j < 3; j++)
            least = fmin(least, between_segments(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3]));
    }
    if (!(least > 0) || sn_triangle_collapsed(a[0], a[1], a[2]) ||
        sn_triangle_collapsed(b[0], b[1], b[2]))
        return fmin(least, most);
    return sn_triangles_meet(a, b) ? 0 : fmin(least, most);
}

static void corners_of(const double *x, const int *v, sn_vec3 out[3]) {
    for (int c = 0; c < 3; c++) out[c] = sn_at(x, v[c]);
}

/* ---- the search ------------------------------------------------------------------------------ */

static sn_hull hull_of(const sn_hull_frame *frame, const double *x, const int *v, double margin) {
    sn_vec3 p = sn_at(x, v[0]);
    sn_hull hull = sn_hull_of_way(frame, p, p, margin);
    for (int c = 1; c < 3; c++) {
        p = sn_at(x, v[c]);
        sn_hull other = sn_hull_of_way(frame, p, p, margin);
        sn_hull_join(&hull, &other);
    }
    return hull;
}

typedef struct search {
    sn_give_way_work *w;
    sn_hull_frame frame;
    const double *x;
    bool again; /* of triangles that have not moved since the last time, the distance is known */
} search;

static void fit_items(void *context, sn_span span) {
    const search *s = context;
    const sn_give_way_plan *g = s->w->plan;
    SN_IN_SPAN(int, i, span)
        s->w->item[i] = hull_of(&s->frame, s->x, g->skin + 3 * (size_t)g->tree.order[i], 0);
}

/* The distance of triangle t from the skin, or `most`. */
static double distance_from_skin(const search *s, int t, double most, int *leaves) {
    const sn_give_way_plan *g = s->w->plan;
    const int *v = g->triangles + 3 * (size_t)t;
    sn_hull hull = hull_of(&s->frame, s->x, v, most);
    sn_vec3 a[3], b[3];
    corners_of(s->x, v, a);
    int count = sn_hierarchy_near(&g->tree, s->w->node, &hull, 0, leaves);
    for (int k = 0; k < count && most > 0; k++)
        for (int i = sn_hierarchy_first(&g->tree, leaves[k]);
             i < sn_hierarchy_first(&g->tree, leaves[k] + 1); i++) {
            if (!sn_hulls_meet(&hull, &s->w->item[i])) continue;
            corners_of(s->x, g->skin + 3 * (size_t)g->tree.order[i], b);
            most = between_triangles(a, b, most);
        }
    return most;
}

static void measure_press(void *context, sn_span span) {
    const search *s = context;
    const sn_give_way_plan *g = s->w->plan;
    int *leaves = s->w->leaves + (size_t)span.seat * (size_t)g->tree.leaves;
    SN_IN_SPAN(int, t, span) {
        const int *v = g->triangles + 3 * (size_t)t;
        if (s->again && !s->w->moved[v[0]] && !s->w->moved[v[1]] && !s->w->moved[v[2]]) continue;
        double margin = g->margin[t], gap = distance_from_skin(s, t, margin, leaves);
        s->w->press[t] =
            fmin(1, (margin - gap) / (margin * (1 - CLEAR))) * fmin(1, margin / g->full);
    }
}

/* w->press, w->pressing. first: the skin has moved since the last call. */
static void measure(sn_give_way_work *w, const double *x, bool first) {
    const sn_give_way_plan *g = w->plan;
    if (first) w->frame = sn_hull_frame_of(g->point_count, g->points, x, x);
    search s = {.w = w, .frame = w->frame, .x = x, .again = !first};
    if (first) {
        sn_parallel_for(g->skin_count, 64, fit_items, &s);
        sn_hierarchy_fit(&g->tree, w->item, w->node);
    }
    sn_parallel_for_seats(g->count, 16, w->threads, measure_press, &s);
    w->pressing_count = 0;
    for (int t = 0; t < g->count; t++)
        if (w->press[t] > 0) w->pressing[w->pressing_count++] = t;
}

/* ---- the constant part ----------------------------------------------------------------------- */

/* Triangles of riders, and those of the visible skin that are near them at rest. */
static sinew_status choose_triangles(sn_give_way_plan *g, const sn_skin *skin,
                                     const sinew_mesh *mesh, const sinew_anatomy *anatomy,
                                     sinew_error *error) {
    const bool *visible = sinew_anatomy_skin(anatomy);
    bool *rides = SN_NEW0(bool, skin->vertex_count);
    if (!rides) return sn_no_memory(error);
    for (int i = 0; i < g->riders->count; i++) rides[g->riders->vertex[i]] = true;
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        if (rides[v[0]])
            memcpy(g->triangles + 3 * (size_t)g->count++, v, 3 * sizeof(int));
        else if (visible[v[0]] && visible[v[1]] && visible[v[2]])
            memcpy(g->skin + 3 * (size_t)g->skin_count++, v, 3 * sizeof(int));
    }
    sn_free(rides);
    if (g->count == 0) {
        g->skin_count = 0;
        return SINEW_OK;
    }
    int kept = 0;
    sinew_query *query;
    sinew_closest at;
    SN_TRY(
        sinew_query_create(skin->vertex_count, skin->rest, g->count, g->triangles, &query, error));
    for (int t = 0; t < g->skin_count; t++) {
        const int *v = g->skin + 3 * (size_t)t;
        if (sinew_query_closest(query, skin->rest + 3 * (size_t)v[0], FAR * skin->diagonal, &at))
            memmove(g->skin + 3 * (size_t)kept++, v, 3 * sizeof(int));
    }
    g->skin_count = kept;
    sinew_query_destroy(query);
    return SINEW_OK;
}

static sinew_status plant(sn_give_way_plan *g, const sn_skin *skin, sinew_error *error) {
    double *centers = SN_NEW(double, 3 * (size_t)g->skin_count);
    bool *used = SN_NEW0(bool, skin->vertex_count);
    sinew_status status = centers && used ? SINEW_OK : sn_no_memory(error);
    for (int t = 0; status == SINEW_OK && t < g->skin_count; t++) {
        sn_vec3 sum = {0, 0, 0};
        for (int c = 0; c < 3; c++) sum = sn_add(sum, sn_at(skin->rest, g->skin[3 * t + c]));
        sn_put(centers, t, sn_scale(1.0 / 3, sum));
    }
    if (status == SINEW_OK) status = sn_hierarchy_create(g->skin_count, centers, &g->tree, error);
    for (int i = 0; status == SINEW_OK && i < 3 * g->count; i++) used[g->triangles[i]] = true;
    for (int i = 0; status == SINEW_OK && i < 3 * g->skin_count; i++) used[g->skin[i]] = true;
    for (int v = 0; status == SINEW_OK && v < skin->vertex_count; v++)
        if (used[v]) g->points[g->point_count++] = v;
    sn_free(centers), sn_free(used);
    return status;
}

/* g->patch and its triangles, for every rider that others are attached by. */
static sinew_status find_patches(sn_give_way_plan *g, const sn_skin *skin,
                                 const sn_carry_plan *carry, sinew_error *error) {
    const sn_riders *r = g->riders;
    double reach = PATCH * skin->diagonal;
    int *own = SN_NEW(int, r->count + 1);
    size_t room = 0;
    g->patch = SN_NEW(int, r->count + 1), g->patch_start = SN_NEW0(int, r->count + 2);
    sinew_status status = own && g->patch && g->patch_start ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < r->count; i++) own[i] = -1;
    for (int i = 0; status == SINEW_OK && i < r->count; i++) {
        int anchor = sn_carry_anchor(carry, i);
        g->patch[i] = -1;
        if (sn_carry_is_shell(carry, i)) continue;
        if (own[anchor] >= 0) {
            g->patch[i] = own[anchor];
            continue;
        }
        g->patch[i] = own[anchor] = g->patch_count;
        int count = g->patch_start[g->patch_count++];
        sn_vec3 at = sn_at(skin->rest, r->vertex[anchor]);
        for (int t = 0; status == SINEW_OK && t < g->skin_count; t++) {
            sn_vec3 corner[3];
            corners_of(skin->rest, g->skin + 3 * (size_t)t, corner);
            if (to_triangle(at, corner) > reach) continue;
            if (SN_RESERVE(g->patch_triangle, room, count + 1))
                g->patch_triangle[count++] = t;
            else
                status = sn_no_memory(error);
        }
        g->patch_start[g->patch_count] = count;
    }
    sn_free(own);
    return status;
}

/* g->margin, from the shape at rest. Triangles that touch the skin there are left out. */
static sinew_status measure_margins(sn_give_way_plan *g, const sn_skin *skin, sinew_error *error) {
    double most = MOST_MARGIN * skin->diagonal;
    g->full = FULL * skin->diagonal;
    int kept = 0;
    sn_give_way_work *w;
    SN_TRY(sn_give_way_work_create(g, &w, error));
    search s = {.w = w, .x = skin->rest};
    s.frame = sn_hull_frame_of(g->point_count, g->points, s.x, s.x);
    for (int i = 0; i < g->skin_count; i++)
        w->item[i] = hull_of(&s.frame, s.x, g->skin + 3 * (size_t)g->tree.order[i], 0);
    sn_hierarchy_fit(&g->tree, w->item, w->node);
    for (int t = 0; t < g->count; t++) {
        double apart = distance_from_skin(&s, t, most / REST_SHARE, w->leaves);
        if (apart < TOUCHING * skin->diagonal) continue;
        memmove(g->triangles + 3 * (size_t)kept, g->triangles + 3 * (size_t)t, 3 * sizeof(int));
        g->margin[kept++] = REST_SHARE * apart;
    }
    g->count = kept;
    sn_give_way_work_destroy(w);
    return SINEW_OK;
}

sinew_status sn_give_way_plan_create(const sn_skin *skin, const sinew_mesh *mesh,
                                     const sinew_anatomy *anatomy, const sn_riders *riders,
                                     const sn_carry_plan *carry, sn_give_way_plan **plan,
                                     sinew_error *error) {
    *plan = NULL;
    sn_give_way_plan *g = SN_NEW0(sn_give_way_plan, 1);
    if (!g) return sn_no_memory(error);
    size_t triangles = (size_t)mesh->triangle_count;
    g->vertex_count = skin->vertex_count, g->riders = riders;
    g->around = AROUND * skin->diagonal, g->lift = LIFT * skin->diagonal;
    g->triangles = SN_NEW(int, 3 * triangles), g->skin = SN_NEW(int, 3 * triangles);
    g->margin = SN_NEW(double, triangles), g->points = SN_NEW(int, skin->vertex_count);
    sinew_status status =
        g->triangles && g->skin && g->margin && g->points ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = choose_triangles(g, skin, mesh, anatomy, error);
    if (status == SINEW_OK) status = plant(g, skin, error);
    if (status == SINEW_OK) status = find_patches(g, skin, carry, error);
    if (status == SINEW_OK) status = measure_margins(g, skin, error);
    if (status != SINEW_OK) {
        sn_give_way_plan_destroy(g);
        return status;
    }
    *plan = g;
    return SINEW_OK;
}

void sn_give_way_plan_destroy(sn_give_way_plan *g) {
    if (!g) return;
    sn_free(g->triangles), sn_free(g->skin), sn_free(g->margin), sn_free(g->points);
    sn_free(g->patch), sn_free(g->patch_start), sn_free(g->patch_triangle);
    sn_hierarchy_free(&g->tree);
    sn_free(g);
}

sinew_status sn_give_way_work_create(const sn_give_way_plan *g, sn_give_way_work **work,
                                     sinew_error *error) {
    *work = NULL;
    sn_give_way_work *w = SN_NEW0(sn_give_way_work, 1);
    if (!w) return sn_no_memory(error);
    size_t n = (size_t)g->vertex_count, count = (size_t)g->count;
    w->plan = g, w->threads = sn_threads();
    w->item = sn_alloc_aligned((size_t)g->skin_count + 1, sizeof(sn_hull));
    w->node = sn_alloc_aligned((size_t)sn_hierarchy_nodes(&g->tree), sizeof(sn_hull));
    w->leaves = SN_NEW(int, (size_t)w->threads *(size_t)g->tree.leaves);
    w->share = SN_NEW(double, n), w->start = SN_NEW(double, 3 * n);
    w->moved = SN_NEW(bool, n), w->normal = SN_NEW(sn_vec3, g->patch_count + 1);
    w->press = SN_NEW(double, count), w->pressing = SN_NEW(int, count);
    if (!w->item || !w->node || !w->leaves || !w->share || !w->start || !w->press || !w->pressing ||
        !w->normal || !w->moved) {
        sn_give_way_work_destroy(w);
        return sn_no_memory(error);
    }
    *work = w;
    return SINEW_OK;
}

void sn_give_way_work_destroy(sn_give_way_work *w) {
    if (!w) return;
    sn_free_aligned(w->item), sn_free_aligned(w->node);
    sn_free(w->leaves), sn_free(w->share), sn_free(w->start);
    sn_free(w->normal), sn_free(w->moved), sn_free(w->press), sn_free(w->pressing);
    sn_free(w);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Whether any of x[3n] is near enough to have to give way. */
static bool is_near(sn_give_way_work *w, const double *x) {
    const sn_give_way_plan *g = w->plan;
    if (g->count == 0) return false;
    measure(w, x, true);
    return w->pressing_count > 0;
}

static void find_normals(void *context, sn_span span) {
    const search *s = context;
    const sn_give_way_plan *g = s->w->plan;
    SN_IN_SPAN(int, p, span) {
        sn_vec3 sum = {0, 0, 0}, c[3];
        for (int k = g->patch_start[p]; k < g->patch_start[p + 1]; k++) {
            corners_of(s->x, g->skin + 3 * (size_t)g->patch_triangle[k], c);
            sum = sn_add(sum, sn_cross(sn_sub(c[1], c[0]), sn_sub(c[2], c[0])));
        }
        s->w->normal[p] = sn_normalize(sum);
    }
}

/* path[3n] of riders, for x[3n]. */
static sinew_status find_paths(sn_give_way_work *w, sn_carry *carry, const double *x, double *path,
                               sinew_error *error) {
    const sn_give_way_plan *g = w->plan;
    SN_TRY(sn_carry_give_way(carry, x, path, error));
    sn_parallel_for(g->patch_count, 4, find_normals, &(search){.w = w, .x = x});
    for (int i = 0; i < g->riders->count; i++) {
        int v = g->riders->vertex[i];
        sn_put(path, v,
               g->patch[i] < 0 ? sn_sub(sn_at(path, v), sn_at(x, v))
                               : sn_scale(g->lift, w->normal[g->patch[i]]));
    }
    return SINEW_OK;
}

/* Distances are those of the shape that the vertices have left. */
static void advance_some(void *context, sn_span span) {
    const sn_give_way_work *w = context;
    const sn_give_way_plan *g = w->plan;
    SN_IN_SPAN(int, i, span) {
        int v = g->riders->vertex[i];
        double most = 0;
        sn_vec3 p = sn_at(w->start, v), corner[3];
        for (int k = 0; k < w->pressing_count; k++) {
            int t = w->pressing[k];
            if (w->press[t] <= most) continue;
            corners_of(w->start, g->triangles + 3 * (size_t)t, corner);
            double size =
                fmax(sn_distance(corner[0], corner[1]), sn_distance(corner[0], corner[2]));
            if (sn_distance(p, corner[0]) > size + g->around) continue;
            most = fmax(most, w->press[t] * (1 - to_triangle(p, corner) / g->around));
        }
        w->moved[v] = most > 0 && w->share[v] < 1;
        w->share[v] = fmin(1, w->share[v] + most / ROUNDS);
    }
}

/* x[3n] of riders advances along path[3n], after is_near. Returns how many do. */
static int advance(sn_give_way_work *w, const double *path, double *x) {
    const sn_give_way_plan *g = w->plan;
    const sn_riders *r = g->riders;
    int count = 0;
    memcpy(w->start, x, 3 * sizeof(double) * (size_t)g->vertex_count);
    for (int i = 0; i < r->count; i++) w->share[r->vertex[i]] = 0;
    for (int round = 0; round < ROUNDS && w->pressing_count > 0; round++) {
        if (round > 0) measure(w, x, false);
        sn_parallel_for(r->count, 16, advance_some, w);
        for (int i = 0; i < r->count; i++) {
            int v = r->vertex[i];
            if (w->moved[v])
                sn_put(x, v, sn_add_scaled(sn_at(w->start, v), w->share[v], sn_at(path, v)));
        }
    }
    for (int i = 0; i < r->count; i++) count += w->share[r->vertex[i]] > 0;
    return count;
}

sinew_status sn_give_way(sn_give_way_work *w, sn_carry *carry, sn_layer_restore_work *restore,
                         double *path, double *x, int *count, sinew_error *error) {
    *count = 0;
    if (is_near(w, x)) {
        SN_TRY(find_paths(w, carry, x, path, error));
        *count = advance(w, path, x);
    }
    if (sn_layer_restore_count_riders(restore, x) == 0) return SINEW_OK;
    SN_TRY(sn_carry_give_way(carry, x, path, error));
    *count += sn_layer_restore_give_way(restore, path, x);
    return SINEW_OK;
}
