/* Based on: blendforces, a dynamic framework for facial animation.
 * We differ in: scale-free stiffness, the static solve as a second factor, responses kept sparse.
 */
#include "force/sheet.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/vec3.h"
#include "contact/left_out.h"
#include "force/contact.h"
#include "rig/marker_sliders.h"

/* Inertia of the static solve relative to that of a step: keeps a sheet without stiffness definite.
 */
#define STATIC_INERTIA 1e-7
/* Responses below this fraction of their column's largest are dropped. What that and single
 * precision leave out, the next relinearisation puts back: it solves for what is missing at the
 * shape. */
#define RESPONSE_DROP 1e-8
/* Ridge of the span's Gram matrix: equal or empty targets stay harmless. */
#define SPAN_RIDGE 1e-12

void sinew_force_options_init(sinew_force_options *options) {
    *options = (sinew_force_options){.size = sizeof *options,
                                     .stretch_length = SINEW_FORCE_STRETCH_LENGTH,
                                     .bend_length = SINEW_FORCE_BEND_LENGTH,
                                     .overstretch = SINEW_FORCE_OVERSTRETCH,
                                     .position = 1,
                                     .mass_time = SINEW_FORCE_MASS_TIME,
                                     .frame_time = SINEW_FORCE_FRAME_TIME,
                                     .substeps = SINEW_FORCE_SUBSTEPS,
                                     .velocity_kept = SINEW_FORCE_VELOCITY_KEPT,
                                     .relinearisations = SINEW_FORCE_RELINEARISATIONS,
                                     .ridge = SINEW_FORCE_RIDGE,
                                     .smooth = SINEW_FORCE_SMOOTH,
                                     .bounded = true,
                                     .lower = SINEW_FORCE_LOWER,
                                     .upper = SINEW_FORCE_UPPER,
                                     .outlier = SINEW_FORCE_OUTLIER,
                                     .layer_smoothing = SINEW_MARKER_LAYER_SMOOTHING,
                                     .layer_contact = true,
                                     .contact_gap = SINEW_FORCE_CONTACT_GAP,
                                     .contact_margin = SINEW_FORCE_CONTACT_MARGIN,
                                     .contact_length = SINEW_FORCE_CONTACT_LENGTH,
                                     .friction = SINEW_FORCE_FRICTION,
                                     .flesh_frequency = SINEW_FORCE_FLESH_FREQUENCY,
                                     .flesh_damping = SINEW_FORCE_FLESH_DAMPING,
                                     .flesh_length = SINEW_FORCE_FLESH_LENGTH};
}

static bool in_range(double value, double low, double high) {
    return value >= low && value <= high;
}

static bool positive_map(const double *map, int count) {
    for (int i = 0; map && i < count; i++)
        if (!(map[i] > 0 && isfinite(map[i]))) return false;
    return true;
}

sinew_status sn_force_check_options(const sinew_force_options *o, sinew_error *error) {
    const char *wrong = NULL;
    if (!in_range(o->stretch_length, 0, 10)) wrong = "stretch length must be in [0, 10]";
    if (!in_range(o->bend_length, 0, SINEW_FORCE_MOST_BEND))
        wrong = "bend length must be in [0, 0.1]";
    if (!in_range(o->overstretch, 0, 1)) wrong = "overstretch must be in [0, 1]";
    if (!in_range(o->position, 0, 1e6)) wrong = "position stiffness must be in [0, 1e6]";
    if (!in_range(o->mass_time, 1e-6, 1e6)) wrong = "mass time must be in [1e-6, 1e6] s";
    if (!in_range(o->frame_time, 1e-6, 1e6)) wrong = "frame time must be in [1e-6, 1e6] s";
    if (o->substeps < 1 || o->substeps > 1000) wrong = "substeps must be in [1, 1000]";
    if (!in_range(o->velocity_kept, 0, 1)) wrong = "kept velocity must be in [0, 1]";
    if (o->relinearisations < 1) wrong = "relinearisations must be at least 1";
    if (!in_range(o->ridge, 0, 1e6)) wrong = "ridge must be in [0, 1e6]";
    if (!in_range(o->smooth, 0, 1e6)) wrong = "smooth must be in [0, 1e6]";
    if (o->bounded && !(o->lower <= o->upper)) wrong = "lower bound above the upper one";
    if (o->contact && !in_range(o->contact_gap, 1e-7, 0.01))
        wrong = "contact gap must be in [1e-7, 0.01]";
    if (!in_range(o->contact_margin, 0, 10)) wrong = "contact margin must be in [0, 10]";
    if (!in_range(o->contact_length, 0, 10)) wrong = "contact length must be in [0, 10]";
    if (!in_range(o->friction, 0, 1e6)) wrong = "friction must be in [0, 1e6]";
    if (!in_range(o->stick, 0, 1)) wrong = "stick must be in [0, 1]";
    if (!(o->outlier > 0)) wrong = "outlier must be positive";
    if (o->flesh && !in_range(o->flesh_frequency, 0.1, 1000))
        wrong = "flesh frequency must be in [0.1, 1000] Hz";
    if (o->flesh && !in_range(o->flesh_damping, 0, 100))
        wrong = "flesh damping must be in [0, 100]";
    if (o->flesh && !in_range(o->flesh_length, 0, 10)) wrong = "flesh length must be in [0, 10]";
    for (int a = 0; a < 3; a++)
        if (o->flesh && !in_range(fabs(o->gravity[a]), 0, 1e9)) wrong = "gravity must be finite";
    return wrong ? sn_fail(error, SINEW_BAD_INPUT, "force: %s", wrong) : SINEW_OK;
}

/* ---- targets and their responses ------------------------------------------------------------- */

typedef struct column_maker {
    const sinew_force *force;
    sn_force_system *system; /* NULL: the forces themselves */
    sn_cholesky_work *work;
    const sinew_monitor *monitor;
} column_maker;

static sinew_status make_column(int k, double *dense, void *user, sinew_error *error) {
    column_maker *maker = user;
    const sinew_force *force = maker->force;
    const sinew_target *target = &force->rig->targets[k];
    for (int i = 0; i < target->count; i++) {
        int v = target->vertices[i];
        if (!force->skin->fixed[v])
            sn_put(dense, v, sn_scale(force->skin->area[v], sn_at(target->deltas, i)));
    }
    if (!maker->system) return SINEW_OK;
    if (sn_cancelled(maker->monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    if (target->count > 0) sn_cholesky_solve(maker->system->factor, maker->work, 3, dense, dense);
    double squares = 0, fourths = 0;
    for (int v = 0; v < force->skin->vertex_count; v++) {
        sn_vec3 d = sn_at(dense, v);
        double square = sn_dot(d, d);
        squares += square, fourths += square * square;
    }
    maker->system->effect[k] = squares > 0 ? fourths / squares : 0;
    sinew_marker_map_points(force->map, force->rig->neutral, dense,
                            maker->system->rows + 3 * (size_t)force->map->count * (size_t)k);
    sn_progress(maker->monitor, (k + 1.0) / force->rig->target_count, "responses");
    return SINEW_OK;
}

/* inertia M + sum k F^T F, factored for solves in both precisions. */
static sinew_status build_factor(const sinew_force *force, const sn_potentials *potentials,
                                 double inertia, sn_cholesky **factor, sinew_error *error) {
    int n = force->skin->vertex_count;
    double *diagonal = SN_NEW(double, n);
    if (!diagonal) return sn_no_memory(error);
    for (int v = 0; v < n; v++) diagonal[v] = inertia * force->mass[v];
    sn_sparse *matrix = NULL;
    sinew_status status = sn_potentials_matrix(potentials, diagonal, &matrix, error);
    if (status == SINEW_OK) status = sn_cholesky_create(matrix, factor, error);
    if (status == SINEW_OK) status = sn_cholesky_prepare_f32(*factor, error);
    sn_free(diagonal);
    sn_sparse_destroy(matrix);
    return status;
}

static sinew_status build_system(sinew_force *force, double inertia, sn_force_system *system,
                                 const sinew_monitor *monitor, sinew_error *error) {
    system->inertia = inertia;
    system->rows = SN_NEW(double, 3 * (size_t)force->map->count * (size_t)force->rig->target_count);
    system->effect = SN_NEW(double, force->rig->target_count);
    if (!system->rows || !system->effect) return sn_no_memory(error);
    SN_TRY(build_factor(force, force->potentials, inertia, &system->factor, error));
    column_maker maker = {force, system, NULL, monitor};
    SN_TRY(sn_cholesky_work_create(system->factor, 3, &maker.work, error));
    sinew_status status =
        sn_vertex_columns_create(force->skin->vertex_count, force->rig->target_count, make_column,
                                 &maker, RESPONSE_DROP, true, &system->response, error);
    sn_cholesky_work_destroy(maker.work);
    return status;
}

static void release_system(sn_force_system *system) {
    sn_cholesky_destroy(system->factor);
    sn_vertex_columns_destroy(system->response);
    sn_free(system->rows), sn_free(system->effect);
}

/* ---- the span of the targets ----------------------------------------------------------------- */

/* What blocks i and j of a group of vertices add to the Gram matrix; push holds area times target.
 */
static double block_product(const sinew_force *force, int group, size_t i, size_t j) {
    enum { LANES = SN_COLUMN_LANES };
    const sn_vertex_columns *b = force->push;
    const double *p = b->value + 3 * LANES * i, *q = b->value + 3 * LANES * j;
    double sum = 0;
    for (int k = 0; k < LANES && group * LANES + k < b->reached; k++)
        sum += (p[k] * q[k] + p[LANES + k] * q[LANES + k] + p[2 * LANES + k] * q[2 * LANES + k]) /
               force->skin->area[b->vertex[group * LANES + k]];
    return sum;
}

static sinew_status build_span(sinew_force *force, sinew_error *error) {
    size_t m = (size_t)force->rig->target_count;
    const sn_vertex_columns *b = force->push;
    force->span = SN_NEW0(double, m *m);
    if (!force->span) return sn_no_memory(error);
    for (int g = 0; g < b->group_count; g++)
        for (size_t i = b->first[g]; i < b->first[g + 1]; i++)
            for (size_t j = b->first[g]; j < b->first[g + 1]; j++)
                force->span[(size_t)b->column[i] + m * (size_t)b->column[j]] +=
                    block_product(force, g, i, j);
    double mean = 0;
    for (size_t k = 0; k < m; k++) mean += force->span[k * (m + 1)] / (double)m;
    for (size_t k = 0; k < m; k++)
        force->span[k * (m + 1)] += fmax(SPAN_RIDGE * mean, 1e-300 + 1e-15 * mean);
    if (!(mean > 0))
        for (size_t k = 0; k < m; k++) force->span[k * (m + 1)] = 1;
    return sn_dense_cholesky((int)m, force->span, error);
}

typedef struct find_shares_loop {
    const sinew_force *force;
    const double *z;
    double *along;
    double *weights;
} find_shares_loop;

static void find_shares(void *context, sn_span span) {
    const find_shares_loop *loop = context;
    const sinew_force *force = loop->force;
    const double *z = loop->z;
    double *along = loop->along;
    double *weights = loop->weights;
    const sn_skin *skin = force->skin;
    SN_IN_SPAN(int, k, span) {
        const sinew_target *target = &force->rig->targets[k];
        double sum = 0;
        for (int i = 0; i < target->count; i++) {
            int v = target->vertices[i];
            if (!skin->fixed[v])
                sum += skin->area[v] * sn_dot(sn_at(target->deltas, i), sn_at(z, v));
        }
        along[k] = weights[k] = sum;
    }
}

void sn_force_split(const sinew_force *force, const double *z, double *scratch, double *inside,
                    double *outside) {
    int m = force->rig->target_count;
    const sn_skin *skin = force->skin;
    double *along = scratch, *weights = scratch + m;
    sn_parallel_for(m, 1, find_shares, &(find_shares_loop){force, z, along, weights});
    sn_dense_cholesky_solve(m, force->span, 1, weights);
    double in = 0, all = 0;
    for (int k = 0; k < m; k++) in += along[k] * weights[k];
    for (int v = 0; v < skin->vertex_count; v++) {
        sn_vec3 d = sn_at(z, v);
        all += skin->area[v] * sn_dot(d, d);
    }
    *inside = sqrt(fmax(in, 0) / force->total_area);
    *outside = sqrt(fmax(all - in, 0) / force->total_area);
}

typedef struct grow_some_loop {
    const sn_skin *skin;
    int count;
    const int *vertices;
    double margin;
    bool *inside;
} grow_some_loop;

static void grow_some(void *context, sn_span span) {
    const grow_some_loop *loop = context;
    const sn_skin *skin = loop->skin;
    int count = loop->count;
    const int *vertices = loop->vertices;
    double margin = loop->margin;
    bool *inside = loop->inside;
    SN_IN_SPAN(int, v, span) {
        sn_vec3 x = sn_at(skin->rest, v);
        for (int i = 0; i < count && !inside[v]; i++)
            inside[v] = sn_distance(x, sn_at(skin->rest, vertices[i])) < margin;
    }
}

/* Adds the vertices that lie within `margin` of the listed ones. */
static void grow_inside(const sn_skin *skin, int count, const int *vertices, double margin,
                        bool *inside) {
    sn_parallel_for_weighted(skin->vertex_count, 64, count + 1, grow_some,
                             &(grow_some_loop){skin, count, vertices, margin, inside});
}

static sinew_status build_contact(sinew_force *force, const sinew_monitor *monitor,
                                  sinew_error *error) {
    const sinew_force_options *o = &force->options;
    const sinew_mesh *mesh = force->rig->neutral;
    bool *inside = NULL;
    if (o->contact_vertices) {
        inside = SN_NEW0(bool, mesh->vertex_count);
        if (!inside) return sn_no_memory(error);
    }
    sinew_status status = SINEW_OK;
    for (int i = 0; inside && status == SINEW_OK && i < o->contact_count; i++) {
        int v = o->contact_vertices[i];
        if (v < 0 || v >= mesh->vertex_count)
            status =
                sn_fail(error, SINEW_BAD_INPUT, "force: contact vertex %d is not on the mesh", v);
        else
            inside[v] = true;
    }
    if (status == SINEW_OK && inside)
        grow_inside(force->skin, o->contact_count, o->contact_vertices,
                    o->contact_margin * force->skin->diagonal, inside);
    if (status == SINEW_OK)
        status = sn_contact_surface_create(
            mesh->vertex_count, mesh->positions, mesh->triangle_count, mesh->triangles, inside,
            NULL, o->contact_gap * force->skin->diagonal, &force->surface, error);
    if (status == SINEW_OK && force->surface->dropped > 0)
        status = sn_contact_log_left_out(mesh, inside, force->surface, force->surface->dropped,
                                         monitor, error);
    sn_free(inside);
    return status;
}

/* The skin alone is so soft that pressed lips would crumple, vertex by vertex. Contact meets the
 * flesh below it, which bends over contact_length: the same sheet with more bending. */
static sinew_status build_flesh(sinew_force *force, sinew_error *error) {
    sinew_force_options flesh = force->options;
    if (flesh.contact_length <= flesh.bend_length) return SINEW_OK;
    flesh.bend_length = flesh.contact_length;
    sn_potentials *potentials;
    SN_TRY(sn_potentials_create(force->skin, &flesh, &potentials, error));
    sinew_status status =
        build_factor(force, potentials, force->step.inertia, &force->flesh, error);
    sn_potentials_destroy(potentials);
    return status;
}

const sn_cholesky *sn_force_contact_factor(const sinew_force *force) {
    return force->flesh ? force->flesh : force->step.factor;
}

static sinew_status build_region(sinew_force *force, sinew_error *error) {
    const sn_contact_surface *surface = force->surface;
    if (surface->point_count > SN_FORCE_CONTACT_REGION) return SINEW_OK;
    int *loose = SN_NEW(int, surface->point_count), count = 0;
    if (!loose) return sn_no_memory(error);
    for (int i = 0; i < surface->point_count; i++)
        if (!force->skin->fixed[surface->points[i]]) loose[count++] = surface->points[i];
    sinew_status status =
        sn_inverse_block_create(sn_force_contact_factor(force), count, &force->region, error);
    if (status == SINEW_OK) status = sn_inverse_block_add(force->region, count, loose, error);
    sn_free(loose);
    return status;
}

/* ---- flesh behind a moving head -------------------------------------------------------------- */

static sinew_status build_lag(sinew_force *force, const sinew_monitor *monitor,
                              sinew_error *error) {
    const sinew_force_options *o = &force->options;
    int n = force->skin->vertex_count;
    double *softness = SN_NEW(double, n);
    sinew_status status = softness ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && o->softness)
        memcpy(softness, o->softness, sizeof(double) * (size_t)n);
    else if (status == SINEW_OK)
        status = sinew_force_softness(force->rig, softness, monitor, error);
    for (int v = 0; status == SINEW_OK && v < n; v++)
        if (!in_range(softness[v], 0, 1))
            status =
                sn_fail(error, SINEW_BAD_INPUT,
                        "force: the softness of vertex %d is %g, not in [0, 1]", v, softness[v]);
    if (status == SINEW_OK) status = sn_flesh_create(force->skin, softness, o, &force->lag, error);
    sn_free(softness);
    return status;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Targets that steering leaves alone: as given, or those of sliders that markers do not tell. */
static sinew_status choose_held(sinew_force *force, sinew_error *error) {
    const sinew_rig *rig = force->rig;
    force->held = SN_NEW0(bool, rig->target_count);
    bool *sliders = SN_NEW0(bool, rig->slider_count + 1);
    sinew_status status = force->held && sliders ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && force->options.held)
        memcpy(force->held, force->options.held, sizeof(bool) * (size_t)rig->target_count);
    else if (status == SINEW_OK && force->map->count > 0)
        status = sn_fit_held(rig, force->map, sliders, error);
    if (status == SINEW_OK && !force->options.held) sn_fit_held_targets(rig, sliders, force->held);
    sn_free(sliders);
    force->options.held = force->held;
    return status;
}

static sinew_status build(sinew_force *force, const sinew_marker_map *map,
                          const sinew_monitor *monitor, sinew_error *error) {
    const sinew_rig *rig = force->rig;
    const sinew_force_options *o = &force->options;
    if (map) {
        SN_TRY(sinew_marker_map_check(map, rig->neutral, error));
        SN_TRY(sinew_marker_map_copy(map, &force->map, error));
    } else {
        SN_TRY(sinew_marker_map_create(0, &force->map, error));
    }
    SN_TRY(choose_held(force, error));
    SN_TRY(sn_skin_create(rig, o->fixed_count, o->fixed, &force->skin, error));
    const sn_skin *skin = force->skin;
    if (!positive_map(o->position_map, skin->vertex_count) ||
        !positive_map(o->bend_map, skin->vertex_count) ||
        !positive_map(o->stretch_map, skin->vertex_count))
        return sn_fail(error, SINEW_BAD_INPUT, "force: factors of the stiffness must be positive");
    if (!positive_map(o->mass_map, skin->vertex_count))
        return sn_fail(error, SINEW_BAD_INPUT, "force: factors of the mass must be positive");
    SN_TRY(sn_potentials_create(skin, o, &force->potentials, error));
    if (o->jaw) SN_TRY(sn_jaw_create(rig, o->jaw, &force->jaw, error));
    if (o->skull_count > 0)
        SN_TRY(sn_skull_create(skin, rig, o->skull_count, o->skull, &force->skull, error));
    force->mass = SN_NEW(double, skin->vertex_count);
    force->marker_rest = SN_NEW(double, 3 * (size_t)force->map->count);
    if (!force->mass || !force->marker_rest) return sn_no_memory(error);
    for (int v = 0; v < skin->vertex_count; v++) {
        force->mass[v] = skin->area[v] * o->mass_time * o->mass_time;
        if (o->mass_map) force->mass[v] *= o->mass_map[v];
        force->total_area += skin->area[v];
    }
    sinew_marker_map_points(force->map, rig->neutral, skin->rest, force->marker_rest);
    column_maker forces = {.force = force};
    SN_TRY(sn_vertex_columns_create(skin->vertex_count, rig->target_count, make_column, &forces, 0,
                                    false, &force->push, error));
    SN_TRY(build_span(force, error));
    double rate = o->substeps / o->frame_time, inertia = rate * rate;
    SN_TRY(build_system(force, inertia, &force->step, monitor, error));
    SN_TRY(build_system(force, STATIC_INERTIA * inertia, &force->still, monitor, error));
    if (o->contact) SN_TRY(build_contact(force, monitor, error));
    if (o->contact || o->obstacles) SN_TRY(build_flesh(force, error));
    if (o->contact) SN_TRY(build_region(force, error));
    if (o->flesh) SN_TRY(build_lag(force, monitor, error));
    const double *trust = o->layer_trust;
    force->options.layer_trust = NULL;
    if (!o->layer || force->map->count == 0) return SINEW_OK;
    SN_TRY(sn_layer_create(skin, rig, force->map, NULL, o->layer_smoothing, o->layer_contact,
                           monitor, &force->layer, error));
    for (int i = 0; trust && i < force->map->count; i++) {
        if (!(trust[i] >= 0 && trust[i] <= 1))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "force model: the layer's trust in a marker must be in [0, 1]");
        force->layer->trust[i] = trust[i];
    }
    force->options.layer_trust = force->layer->trust;
    return SINEW_OK;
}

sinew_status sinew_force_create(const sinew_rig *rig, const sinew_marker_map *map,
                                const sinew_force_options *options, const sinew_monitor *monitor,
                                sinew_force **force, sinew_error *error) {
    SN_REQUIRE(rig && force, error);
    *force = NULL;
    double begin = sn_now();
    if (rig->target_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "force: the rig has no targets");
    SN_OPTIONS(sinew_force_options, wanted, options, error);
    sinew_force *made = SN_NEW0(sinew_force, 1);
    if (!made) return sn_no_memory(error);
    made->options = wanted;
    made->rig = rig;
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = sn_force_check_options(&made->options, error);
    if (status == SINEW_OK) status = build(made, map, monitor, error);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK) {
        sinew_force_destroy(made);
        return status;
    }
    /* the caller's arrays were for building */
    made->options.position_map = made->options.stretch_map = made->options.bend_map = NULL;
    made->options.jaw = made->options.softness = NULL;
    made->options.fixed = made->options.contact_vertices = made->options.skull = NULL;
    sinew_force_info *s = &made->info;
    s->vertex_count = made->skin->vertex_count;
    s->edge_count = made->skin->edge_count;
    s->fixed_count = made->skin->fixed_count;
    s->target_count = rig->target_count;
    for (int k = 0; k < rig->target_count; k++) s->empty_count += rig->targets[k].count == 0;
    s->marker_count = made->map->count;
    if (made->surface) {
        s->contact_triangles = made->surface->triangle_count;
        s->contact_dropped = made->surface->dropped;
    }
    if (made->skull) s->over_skull = sn_skull_covered(made->skull);
    s->diagonal = made->skin->diagonal;
    s->seconds = sn_now() - begin;
    *force = made;
    return SINEW_OK;
}

void sinew_force_destroy(sinew_force *force) {
    if (!force) return;
    sinew_marker_map_destroy(force->map);
    sn_potentials_destroy(force->potentials);
    sn_skin_destroy(force->skin);
    sn_vertex_columns_destroy(force->push);
    release_system(&force->step);
    release_system(&force->still);
    sn_layer_destroy(force->layer);
    sn_flesh_destroy(force->lag);
    sn_jaw_destroy(force->jaw), sn_skull_destroy(force->skull);
    sn_contact_surface_destroy(force->surface);
    sn_inverse_block_destroy(force->region);
    sn_cholesky_destroy(force->flesh);
    sn_free(force->held), sn_free(force->mass), sn_free(force->marker_rest), sn_free(force->span);
    sn_free(force);
}

sinew_status sinew_force_get_info(const sinew_force *force, sinew_force_info *info) {
    SN_REQUIRE(force && info && sn_info_ready(info), NULL);
    sn_info_write(info, &force->info, sizeof force->info);
    return SINEW_OK;
}
