/* Each vertex keeps a share of its displacement by the layer, 1 at first. In every round pairs of
 * triangles that intersect now and did not without the layer take shares from the vertices around
 * them, smoothly: half, then all.
 *
 * The first stage takes from what follows the skin (shells over the eyes, lashes), the second from
 * all that is hidden (mouth bag, sockets), the third from the outer skin, too. Skin that contact
 * has moved keeps its share there, as going back would bring back what contact has lifted. Two more
 * stages take that back, too, each unless more of the visible skin intersects afterwards: first of
 * what is hidden, where it would intersect teeth or gums, then of all where the visible skin moves
 * by too little to be seen. */
#include "force/layer_restore.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/intersection.h"
#include "sinew/query.h"

/* Fraction of the diagonal around an intersection within which shares are taken. */
#define AROUND 0.012
/* Fractions of the diagonal: what is farther apart at rest does not meet; what is nearer touches.
 */
#define FAR      0.08
#define TOUCHING 2e-5

/* Fraction of the diagonal that visible skin may jump by for the sake of shells. */
#define UNSEEN 1e-3

typedef struct restore_stage {
    bool riders_only;    /* takes from what follows the skin */
    bool hidden_only;    /* takes from what is hidden */
    bool pressed_too;    /* takes from what contact has moved */
    bool without_riders; /* heeds pairs that the riders have no part in, such as bag and teeth */
    bool strict;         /* is undone unless less of the visible skin intersects afterwards, and it
                            has moved by little */
} restore_stage;

static const restore_stage stages[] = {
    {.riders_only = true},
    {.hidden_only = true},
    {0},
    {.hidden_only = true, .pressed_too = true, .without_riders = true},
    {.pressed_too = true, .strict = true},
};
enum { STAGES = sizeof stages / sizeof *stages, STAGE_ROUNDS = 4, GIVE_WAY_ROUNDS = 7 };

struct sn_layer_restore {
    int vertex_count, met_count, loose_count;
    int *met;          /* triangles that move or contact takes care of, 3 vertices each */
    int *loose;        /* triangles that contact does not take care of */
    bool *tested;      /* per vertex: it does not belong to a triangle that crosses at rest */
    int *vertices;     /* that move, increasing */
    int point_count;   /* how many */
    bool *hidden;      /* per vertex: not of the outer skin */
    bool *rides;       /* per vertex: it follows the skin */
    sn_hierarchy tree; /* of the triangles met */
    double around;     /* length units */
    double unseen;     /* what visible skin may move by in the last stage */
    double touched;    /* what contact moves by more than this does not go back */
};

struct sn_layer_restore_work {
    const sn_layer_restore *restore;
    sn_hull *item, *node;
    int *leaves; /* a list of leaves per thread */
    int threads;
    const int **asked; /* triangles to look at: loose ones, and those that went back */
    int asked_count;
    bool *hit;  /* per triangle asked */
    int *seeds; /* vertices of those hit */
    int seed_count;
    bool *is_seed; /* per vertex */
    double *start; /* 3 per vertex: the shape before contact; later, before the last stage */
    double *moved; /* 3 per vertex: the displacement */
    double *share; /* per vertex: what is left of it */
    double *kept;  /* per vertex: its share before the last stage */
    bool *pressed; /* per vertex: contact has moved it, and it does not go back */
};

/* ---- the constant part ----------------------------------------------------------------------- */

static bool is_rigid(sinew_piece_kind kind) {
    return kind == SINEW_PIECE_KIND_EYE || kind == SINEW_PIECE_KIND_TEETH;
}

/* Of the triangles met, those near loose ones. */
static sinew_status leave_far(sn_layer_restore *r, const sn_skin *skin, sinew_error *error) {
    int kept = 0;
    if (r->loose_count == 0) return SINEW_OK;
    sinew_query *query;
    sinew_closest at;
    SN_TRY(sinew_query_create(skin->vertex_count, skin->rest, r->loose_count, r->loose, &query,
                              error));
    for (int t = 0; t < r->met_count; t++) {
        const int *v = r->met + 3 * (size_t)t;
        if (sinew_query_closest(query, skin->rest + 3 * (size_t)v[0], FAR * skin->diagonal, &at))
            memmove(r->met + 3 * (size_t)kept++, v, 3 * sizeof(int));
    }
    r->met_count = kept;
    sinew_query_destroy(query);
    return SINEW_OK;
}

static sinew_status plant(sn_layer_restore *r, const sn_skin *skin, sinew_error *error) {
    double *centers = SN_NEW(double, 3 * (size_t)r->met_count);
    if (!centers) return sn_no_memory(error);
    for (int t = 0; t < r->met_count; t++) {
        sn_vec3 sum = {0, 0, 0};
        for (int c = 0; c < 3; c++) sum = sn_add(sum, sn_at(skin->rest, r->met[3 * t + c]));
        sn_put(centers, t, sn_scale(1.0 / 3, sum));
    }
    sinew_status status = sn_hierarchy_create(r->met_count, centers, &r->tree, error);
    sn_free(centers);
    return status;
}

/* Riders whose vertices lie on the skin at rest, as the rims of shells do on the lid, touch it in
 * every frame. */
static sinew_status leave_touching(sn_layer_restore *r, const sn_skin *skin, const sinew_mesh *mesh,
                                   const sn_riders *riders, sinew_error *error) {
    int *triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count), count = 0;
    if (!triangles) return sn_no_memory(error);
    for (int t = 0; t < mesh->triangle_count; t++)
        if (!r->rides[mesh->triangles[3 * (size_t)t]])
            memcpy(triangles + 3 * (size_t)count++, mesh->triangles + 3 * (size_t)t,
                   3 * sizeof(int));
    sinew_query *query = NULL;
    sinew_status status =
        count ? sinew_query_create(skin->vertex_count, skin->rest, count, triangles, &query, error)
              : SINEW_OK;
    sinew_closest at;
    for (int i = 0; query && i < riders->count; i++)
        if (sinew_query_closest(query, skin->rest + 3 * (size_t)riders->vertex[i],
                                TOUCHING * skin->diagonal, &at))
            r->tested[riders->vertex[i]] = false;
    sinew_query_destroy(query);
    sn_free(triangles);
    return status;
}

sinew_status sn_layer_restore_create(const sn_skin *skin, const sinew_mesh *mesh,
                                     const sinew_anatomy *anatomy, const sn_riders *riders,
                                     const sn_contact_surface *surface, sn_layer_restore **restore,
                                     sinew_error *error) {
    *restore = NULL;
    sn_layer_restore *r = SN_NEW0(sn_layer_restore, 1);
    if (!r) return sn_no_memory(error);
    size_t n = (size_t)skin->vertex_count, triangles = (size_t)mesh->triangle_count;
    const int *piece = sinew_anatomy_pieces(anatomy);
    r->vertex_count = skin->vertex_count, r->around = AROUND * skin->diagonal;
    r->touched = TOUCHING * skin->diagonal, r->unseen = UNSEEN * skin->diagonal;
    r->met = SN_NEW(int, 3 * triangles), r->loose = SN_NEW(int, 3 * triangles);
    r->tested = SN_NEW(bool, n), r->hidden = SN_NEW(bool, n), r->vertices = SN_NEW(int, n);
    bool *moves = SN_NEW(bool, n);
    r->rides = SN_NEW0(bool, n);
    sinew_status status =
        r->met && r->loose && r->tested && r->hidden && r->vertices && moves && r->rides
            ? SINEW_OK
            : sn_no_memory(error);
    for (size_t v = 0; status == SINEW_OK && v < n; v++) {
        r->tested[v] = !surface->crosses[v];
        r->hidden[v] = !sinew_anatomy_skin(anatomy)[v];
        moves[v] = !is_rigid(sinew_anatomy_piece_kind(anatomy, piece[v]));
    }
    for (int i = 0; status == SINEW_OK && i < riders->count; i++)
        moves[riders->vertex[i]] = r->rides[riders->vertex[i]] = true;
    if (status == SINEW_OK) status = leave_touching(r, skin, mesh, riders, error);
    for (size_t v = 0; status == SINEW_OK && v < n; v++)
        if (moves[v]) r->vertices[r->point_count++] = (int)v;
    for (size_t t = 0; status == SINEW_OK && t < triangles; t++) {
        const int *v = mesh->triangles + 3 * t;
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        if (!r->tested[v[0]] || !r->tested[v[1]] || !r->tested[v[2]]) continue;
        if (moves[v[0]] || surface->takes_part[t])
            memcpy(r->met + 3 * (size_t)r->met_count++, v, 3 * sizeof(int));
        if (!surface->takes_part[t])
            memcpy(r->loose + 3 * (size_t)r->loose_count++, v, 3 * sizeof(int));
    }
    if (status == SINEW_OK) status = leave_far(r, skin, error);
    if (status == SINEW_OK) status = plant(r, skin, error);
    sn_free(moves);
    if (status != SINEW_OK) {
        sn_layer_restore_destroy(r);
        return status;
    }
    *restore = r;
    return SINEW_OK;
}

void sn_layer_restore_destroy(sn_layer_restore *r) {
    if (!r) return;
    sn_free(r->met), sn_free(r->loose), sn_free(r->tested), sn_free(r->hidden);
    sn_free(r->vertices), sn_free(r->rides);
    sn_hierarchy_free(&r->tree);
    sn_free(r);
}

sinew_status sn_layer_restore_work_create(const sn_layer_restore *r, sn_layer_restore_work **work,
                                          sinew_error *error) {
    *work = NULL;
    sn_layer_restore_work *w = SN_NEW0(sn_layer_restore_work, 1);
    if (!w) return sn_no_memory(error);
    size_t n = (size_t)r->vertex_count;
    w->restore = r, w->threads = sn_threads();
    w->item = sn_alloc_aligned((size_t)r->met_count + 1, sizeof(sn_hull));
    w->node = sn_alloc_aligned((size_t)sn_hierarchy_nodes(&r->tree), sizeof(sn_hull));
    w->leaves = SN_NEW(int, (size_t)w->threads *(size_t)r->tree.leaves);
    size_t most = (size_t)r->loose_count + (size_t)r->met_count + 1;
    w->asked = SN_NEW(const int *, most), w->hit = SN_NEW(bool, most);
    w->seeds = SN_NEW(int, n), w->is_seed = SN_NEW0(bool, n);
    w->pressed = SN_NEW(bool, n);
    w->moved = SN_NEW(double, 3 * n), w->start = SN_NEW0(double, 3 * n);
    w->share = SN_NEW(double, n), w->kept = SN_NEW(double, n);
    if (!w->item || !w->node || !w->leaves || !w->hit || !w->moved || !w->share || !w->seeds ||
        !w->is_seed || !w->asked || !w->start || !w->pressed || !w->kept) {
        sn_layer_restore_work_destroy(w);
        return sn_no_memory(error);
    }
    *work = w;
    return SINEW_OK;
}

void sn_layer_restore_work_destroy(sn_layer_restore_work *w) {
    if (!w) return;
    sn_free_aligned(w->item), sn_free_aligned(w->node);
    sn_free(w->leaves), sn_free(w->hit), sn_free(w->moved), sn_free(w->share);
    sn_free(w->start), sn_free(w->seeds), sn_free(w->is_seed), sn_free(w->asked);
    sn_free(w->pressed), sn_free(w->kept);
    sn_free(w);
}

/* ---- new intersections ----------------------------------------------------------------------- */

/* As frames are written: to floats. */
static void corners_of(const double *x, const int v[3], sn_vec3 out[3]) {
    for (int c = 0; c < 3; c++) {
        const double *p = x + 3 * (size_t)v[c];
        out[c] = sn_v3((double)(float)p[0], (double)(float)p[1], (double)(float)p[2]);
    }
}

static bool meet(const double *x, const int a[3], const int b[3]) {
    sn_vec3 p[3], q[3];
    corners_of(x, a, p), corners_of(x, b, q);
    if (sn_triangle_collapsed(p[0], p[1], p[2]) || sn_triangle_collapsed(q[0], q[1], q[2]))
        return false;
    return sn_triangles_meet(p, q);
}

static bool share_a_corner(const int a[3], const int b[3]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (a[i] == b[j]) return true;
    return false;
}

typedef struct search {
    sn_layer_restore_work *w;
    sn_hull_frame frame;
    const double *before; /* NULL: all intersections of visible skin count, not new ones alone */
    const double *after;
    bool without_riders;
    atomic_int found;
} search;

static sn_hull hull_of(const search *s, const int v[3]) {
    sn_vec3 p = sn_at(s->after, v[0]);
    sn_hull hull = sn_hull_of_way(&s->frame, p, p, 0);
    for (int c = 1; c < 3; c++) {
        p = sn_at(s->after, v[c]);
        sn_hull other = sn_hull_of_way(&s->frame, p, p, 0);
        sn_hull_join(&hull, &other);
    }
    return hull;
}

static void fit_items(void *context, sn_span span) {
    const search *s = context;
    const sn_layer_restore *r = s->w->restore;
    SN_IN_SPAN(int, i, span) s->w->item[i] = hull_of(s, r->met + 3 * (size_t)r->tree.order[i]);
}

static bool is_visible(const sn_layer_restore *r, const int v[3]) {
    return !r->hidden[v[0]] && !r->hidden[v[1]] && !r->hidden[v[2]];
}

/* A pair that intersects in s->after. */
static bool counts(const search *s, const int a[3], const int b[3]) {
    const sn_layer_restore *r = s->w->restore;
    if (!s->before) return is_visible(r, a) || is_visible(r, b);
    return !(s->without_riders && (r->rides[a[0]] || r->rides[b[0]])) && !meet(s->before, a, b);
}

static bool find_one(const search *s, const int v[3], int *leaves) {
    const sn_layer_restore_work *w = s->w;
    const sn_layer_restore *r = w->restore;
    sn_hull hull = hull_of(s, v);
    int count = sn_hierarchy_near(&r->tree, w->node, &hull, 0, leaves);
    for (int k = 0; k < count; k++)
        for (int i = sn_hierarchy_first(&r->tree, leaves[k]);
             i < sn_hierarchy_first(&r->tree, leaves[k] + 1); i++) {
            const int *other = r->met + 3 * (size_t)r->tree.order[i];
            if (!sn_hulls_meet(&hull, &w->item[i]) || share_a_corner(v, other)) continue;
            if (meet(s->after, v, other) && counts(s, v, other)) return true;
        }
    return false;
}

static void search_some(void *context, sn_span span) {
    search *s = context;
    const sn_layer_restore *r = s->w->restore;
    int *leaves = s->w->leaves + (size_t)span.seat * (size_t)r->tree.leaves, found = 0;
    SN_IN_SPAN(int, i, span) {
        s->w->hit[i] = find_one(s, s->w->asked[i], leaves);
        found += s->w->hit[i];
    }
    atomic_fetch_add(&s->found, found);
}

/* w->hit; returns how many. before: see search. */
static int find_hits(sn_layer_restore_work *w, const double *before, const double *after,
                     bool without_riders) {
    const sn_layer_restore *r = w->restore;
    search s = {.w = w, .before = before, .after = after, .without_riders = without_riders};
    s.frame = sn_hull_frame_of(r->point_count, r->vertices, after, after);
    sn_parallel_for(r->met_count, 64, fit_items, &s);
    sn_hierarchy_fit(&r->tree, w->item, w->node);
    sn_parallel_for_seats(w->asked_count, 16, w->threads, search_some, &s);
    return atomic_load(&s.found);
}

/* ---- shares ---------------------------------------------------------------------------------- */

typedef struct taking {
    sn_layer_restore_work *w;
    const double *before;
    const restore_stage *stage;
    double around;
    double most; /* taken beside an intersection */
} taking;

static void take_some(void *context, sn_span span) {
    const taking *t = context;
    const sn_layer_restore_work *w = t->w;
    const sn_layer_restore *r = w->restore;
    double reach = t->around * t->around;
    SN_IN_SPAN(int, k, span) {
        int v = r->vertices[k];
        double nearest = reach;
        if (w->share[v] == 0 || (w->pressed[v] && !t->stage->pressed_too)) continue;
        if (t->stage->riders_only && !r->rides[v]) continue;
        if (t->stage->hidden_only && !r->hidden[v]) continue;
        sn_vec3 p = sn_at(t->before, v);
        for (int i = 0; i < w->seed_count; i++) {
            sn_vec3 d = sn_sub(p, sn_at(t->before, w->seeds[i]));
            nearest = fmin(nearest, sn_dot(d, d));
        }
        double near = 1 - nearest / reach;
        w->share[v] *= 1 - t->most * fmin(1, 1.5 * near * near);
    }
}

static void list_seeds(sn_layer_restore_work *w) {
    w->seed_count = 0;
    for (int i = 0; i < 3 * w->asked_count; i++) {
        int v = w->asked[i / 3][i % 3];
        if (!w->hit[i / 3] || w->is_seed[v]) continue;
        w->is_seed[v] = true, w->seeds[w->seed_count++] = v;
    }
    for (int i = 0; i < w->seed_count; i++) w->is_seed[w->seeds[i]] = false;
}

void sn_layer_restore_start(sn_layer_restore_work *w, const double *shape) {
    memcpy(w->start, shape, 3 * sizeof(double) * (size_t)w->restore->vertex_count);
}

/* Loose triangles, and those that have left the shape that contact made. */
static void list_asked(sn_layer_restore_work *w) {
    const sn_layer_restore *r = w->restore;
    w->asked_count = 0;
    for (int t = 0; t < r->loose_count; t++) w->asked[w->asked_count++] = r->loose + 3 * (size_t)t;
    for (int t = 0; t < r->met_count; t++) {
        const int *v = r->met + 3 * (size_t)t;
        if (w->share[v[0]] < 1 || w->share[v[1]] < 1 || w->share[v[2]] < 1)
            w->asked[w->asked_count++] = v;
    }
}

static int count_restored(const sn_layer_restore_work *w) {
    int count = 0;
    for (int k = 0; k < w->restore->point_count; k++)
        count += w->share[w->restore->vertices[k]] < 0.99;
    return count;
}

static void list_changed(sn_layer_restore_work *w) {
    const sn_layer_restore *r = w->restore;
    w->asked_count = 0;
    for (int t = 0; t < r->met_count; t++) {
        const int *v = r->met + 3 * (size_t)t;
        bool same = true;
        for (int c = 0; c < 3; c++) same &= w->share[v[c]] == w->kept[v[c]];
        if (!same) w->asked[w->asked_count++] = v;
    }
}

/* What contact has lifted goes back to where it may intersect without the layer, too: by this the
 * last stage has failed. */
static bool is_worse(sn_layer_restore_work *w, const restore_stage *stage, const double *now) {
    const sn_layer_restore *r = w->restore;
    list_changed(w);
    if (w->asked_count == 0) return false;
    for (int v = 0; stage->strict && v < r->vertex_count; v++)
        if (!r->hidden[v] && sn_distance(sn_at(now, v), sn_at(w->start, v)) > r->unseen)
            return true;
    return find_hits(w, NULL, now, false) + stage->strict > find_hits(w, NULL, w->start, false);
}

/* Returns whether nothing is left to do. */
static bool pass_stage(sn_layer_restore_work *w, const restore_stage *stage, const double *before,
                       double *after) {
    const sn_layer_restore *r = w->restore;
    for (int turn = 0; turn < STAGE_ROUNDS; turn++) {
        list_asked(w);
        if (find_hits(w, before, after, stage->without_riders) == 0) return !stage->without_riders;
        /* half twice, then all, and all farther around */
        double around = r->around * (turn < 3 ? 1 : 2);
        taking t = {w, before, stage, around, turn < 2 ? 0.5 : 1};
        list_seeds(w);
        sn_parallel_for(r->point_count, 16, take_some, &t);
        for (int k = 0; k < r->point_count; k++) {
            int v = r->vertices[k];
            if (w->share[v] < 1)
                sn_put(after, v, sn_add_scaled(sn_at(before, v), w->share[v], sn_at(w->moved, v)));
        }
    }
    return false;
}

int sn_layer_restore_apply(sn_layer_restore_work *w, const double *before, double *after) {
    const sn_layer_restore *r = w->restore;
    size_t n = (size_t)r->vertex_count, bytes = 3 * n * sizeof(double);
    if (r->loose_count == 0) return 0;
    for (size_t i = 0; i < 3 * n; i++) w->moved[i] = after[i] - before[i];
    for (int v = 0; v < r->vertex_count; v++) {
        w->share[v] = 1;
        w->pressed[v] =
            !r->rides[v] && sn_distance(sn_at(w->start, v), sn_at(after, v)) > r->touched;
    }
    for (int k = 0; k < STAGES; k++) {
        memcpy(w->start, after, bytes);
        memcpy(w->kept, w->share, n * sizeof(double));
        bool done = pass_stage(w, &stages[k], before, after);
        if (stages[k].pressed_too && is_worse(w, &stages[k], after)) {
            memcpy(after, w->start, bytes);
            memcpy(w->share, w->kept, n * sizeof(double));
        }
        if (done) break;
    }
    return count_restored(w);
}

int sn_layer_restore_count(sn_layer_restore_work *w, const double *x) {
    const sn_layer_restore *r = w->restore;
    for (int t = 0; t < r->met_count; t++) w->asked[t] = r->met + 3 * (size_t)t;
    w->asked_count = r->met_count;
    return find_hits(w, NULL, x, false);
}

/* ---- what follows the skin gives way --------------------------------------------------------- */

int sn_layer_restore_count_riders(sn_layer_restore_work *w, const double *x) {
    const sn_layer_restore *r = w->restore;
    w->asked_count = 0;
    for (int t = 0; t < r->met_count; t++)
        if (r->rides[r->met[3 * (size_t)t]]) w->asked[w->asked_count++] = r->met + 3 * (size_t)t;
    return w->asked_count ? find_hits(w, NULL, x, false) : 0;
}

int sn_layer_restore_give_way(sn_layer_restore_work *w, const double *way, double *x) {
    const sn_layer_restore *r = w->restore;
    int first = sn_layer_restore_count_riders(w, x), left = first, count = 0;
    memcpy(w->start, x, 3 * sizeof(double) * (size_t)r->vertex_count);
    for (int v = 0; v < r->vertex_count; v++) w->share[v] = 1, w->pressed[v] = false;
    for (int turn = 0; turn < GIVE_WAY_ROUNDS && left > 0; turn++) {
        /* half twice, then all, and all farther around */
        double around = r->around * (turn < 3 ? 0.5 : turn < 5 ? 1 : 2);
        taking t = {w, w->start, &stages[0], around, turn < 2 ? 0.5 : 1};
        list_seeds(w);
        sn_parallel_for(r->point_count, 16, take_some, &t);
        count = 0;
        for (int k = 0; k < r->point_count; k++) {
            int v = r->vertices[k];
            if (!(w->share[v] < 1)) continue;
            sn_vec3 to = sn_at(way, v), off = sn_sub(sn_at(w->start, v), to);
            sn_put(x, v, sn_add_scaled(to, w->share[v], off)), count++;
        }
        left = sn_layer_restore_count_riders(w, x);
    }
    if (first == 0 || left < first) return count;
    memcpy(x, w->start, 3 * sizeof(double) * (size_t)r->vertex_count);
    return 0;
}
