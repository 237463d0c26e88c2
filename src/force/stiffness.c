/* Based on: blendforces, a dynamic framework for facial animation, appendix B: stiffness from the
 * balance of forces at every blendshape, linear in the stiffness, with a prior, by Newton's method.
 * We differ in: the place's stiffness is prescribed, as with it free the balance is met exactly by
 * a skin without stretch and bending; the residual counts as displacement; factors per vertex about
 * the scale-free defaults, so that they can be painted; a prior with its least at 1 that is
 * infinite at 0, which makes the problem convex; conjugate gradients instead of a sparse factor;
 * and the map is used only if it gains on shapes it has not seen. */
#include <math.h>
#include <string.h>

#include "algebra/cholesky.h"
#include "algebra/pcg.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/threads.h"
#include "base/vec3.h"
#include "cache/pack.h"
#include "force/balance.h"
#include "force/sheet.h"

#define CACHE_VERSION "stiffness 2"
/* Steps stop short of f = 0 by this fraction of the path. */
#define STEP_TO_ZERO 0.9
/* Of conjugate gradients; tens are usual. */
enum { STEP_ITERATIONS = 2000 };
/* Relaxations of the check where the skin comes to rest, and their end as fraction of the diagonal.
 */
enum { REST_ITERATIONS = 20 };
#define REST_TOLERANCE 1e-6
/* Shapes are nearer to balance than this fraction of the diagonal: nothing to learn. */
#define BALANCED 1e-12

void sinew_stiffness_options_init(sinew_stiffness_options *options) {
    *options = (sinew_stiffness_options){.size = sizeof *options,
                                         .prior = SINEW_STIFFNESS_PRIOR,
                                         .tolerance = SINEW_STIFFNESS_TOLERANCE,
                                         .iterations = SINEW_STIFFNESS_ITERATIONS};
}

/* ---- the convex problem ---------------------------------------------------------------------- */

/* E(f) = R(f) / R(1) + prior sum a_i (f_i - 1 - log f_i). */
typedef struct problem {
    const sn_balance *balance;
    const double *share; /* a_i */
    double prior, scale; /* scale = 1 / R(1) */
    const double *now;   /* f, where the Hessian is */
    double *diagonal;    /* of the Hessian */
    double *gradient, *step, *trial, *product;
    sn_pcg_work *work;
} problem;

static void problem_free(problem *p) {
    sn_pcg_work_destroy(p->work);
    sn_free(p->diagonal), sn_free(p->gradient), sn_free(p->step), sn_free(p->trial);
    sn_free(p->product);
}

static sinew_status problem_init(problem *p, const sn_balance *balance, const double *share,
                                 double prior, sinew_error *error) {
    *p = (problem){.balance = balance, .share = share, .prior = prior};
    size_t n = (size_t)balance->size;
    p->diagonal = SN_NEW(double, n), p->gradient = SN_NEW(double, n);
    p->step = SN_NEW(double, n), p->trial = SN_NEW(double, n), p->product = SN_NEW(double, n);
    if (!p->diagonal || !p->gradient || !p->step || !p->trial || !p->product)
        return sn_no_memory(error);
    return sn_pcg_work_create(n, &p->work, error);
}

static double value_at(problem *p, const double *f) {
    double sum = p->scale * sn_balance_value(p->balance, f, p->product);
    for (int i = 0; i < p->balance->size; i++)
        sum += p->prior * p->share[i] * (f[i] - 1 - log(f[i]));
    return sum;
}

static void apply_hessian(const double *x, double *y, void *user) {
    const problem *p = user;
    sn_sparse_multiply(p->balance->matrix, 1, x, y);
    for (int i = 0; i < p->balance->size; i++)
        y[i] = 2 * p->scale * y[i] + p->prior * p->share[i] / (p->now[i] * p->now[i]) * x[i];
}

static void apply_diagonal(const double *x, double *y, void *user) {
    const problem *p = user;
    for (int i = 0; i < p->balance->size; i++) y[i] = x[i] / p->diagonal[i];
}

/* p->step = - H^-1 g at f, to a relative residual. The prior keeps the Hessian well-conditioned
 * but for its diagonal, so conjugate gradients need no factor, whose cost would grow faster than
 * the mesh. */
static sinew_status newton_step(problem *p, const double *f, double accuracy,
                                const sinew_monitor *monitor, sinew_error *error) {
    const sn_balance *b = p->balance;
    p->now = f;
    sn_sparse_multiply(b->matrix, 1, f, p->product);
    for (int i = 0; i < b->size; i++) {
        double pull = p->prior * p->share[i];
        p->gradient[i] = 2 * p->scale * (p->product[i] + b->linear[i]) + pull * (1 - 1 / f[i]);
        p->product[i] = -p->gradient[i];
        /* the diagonal opens its column */
        p->diagonal[i] =
            2 * p->scale * b->matrix->value[b->matrix->start[i]] + pull / (f[i] * f[i]);
    }
    sn_pcg_options options = {
        .tolerance = accuracy, .max_iterations = STEP_ITERATIONS, .monitor = monitor};
    sinew_status status = sn_pcg_solve(p->work, &options, apply_hessian, apply_diagonal, p,
                                       p->product, p->step, NULL);
    /* a step that is not exact still descends */
    return status == SINEW_CANCELLED ? sn_fail(error, status, "cancelled") : SINEW_OK;
}

/* Newton's method from f = 1; `residual`: last relative change of a factor. */
static sinew_status minimise(problem *p, const sinew_stiffness_options *options,
                             const sinew_monitor *monitor, double *f, int *iterations,
                             double *residual, sinew_error *error) {
    int n = p->balance->size;
    for (int i = 0; i < n; i++) f[i] = 1;
    *iterations = 0, *residual = 0;
    double at_one = sn_balance_value(p->balance, f, p->product);
    if (!(at_one > 0)) return SINEW_OK;
    p->scale = 1 / at_one;
    double value = value_at(p, f);
    *residual = 1;
    while (*iterations < options->iterations) {
        if (sn_cancelled(monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        SN_TRY(newton_step(p, f, fmin(1e-3, 1e-3 * *residual), monitor, error));
        double length = 1, slope = 0;
        for (int i = 0; i < n; i++) {
            if (p->step[i] < 0) length = fmin(length, STEP_TO_ZERO * f[i] / -p->step[i]);
            slope += p->gradient[i] * p->step[i];
        }
        for (int halving = 0; halving < 40; halving++, length *= 0.5) {
            for (int i = 0; i < n; i++) p->trial[i] = f[i] + length * p->step[i];
            double tried = value_at(p, p->trial);
            if (tried <= value + 1e-4 * length * slope || tried <= value * (1 + 1e-14)) {
                value = tried;
                break;
            }
        }
        *residual = 0;
        for (int i = 0; i < n; i++)
            *residual = fmax(*residual, fabs(p->trial[i] - f[i]) / fmin(p->trial[i], f[i]));
        memcpy(f, p->trial, sizeof(double) * (size_t)n);
        ++*iterations;
        sn_progress(monitor, *iterations / (*iterations + 5.0), "stiffness");
        if (*residual <= options->tolerance) break;
    }
    return SINEW_OK;
}

/* ---- examples -------------------------------------------------------------------------------- */

typedef struct estimate {
    const sinew_rig *rig;
    const sinew_force_options *force;
    const sinew_stiffness_options *options;
    const sinew_monitor *monitor;
    sn_skin *skin;
    sn_potentials *potentials; /* all factors 1 */
    int example_count;
    int *targets;      /* of the examples, when they are targets */
    double *push, *x;  /* 3n, of one example */
    double *z, *right; /* 3n */
    float *solve;      /* 3n */
    double *scratch, *share, *factors;
    sn_balance *half[2]; /* of every other pair of examples */
    double area;
    sinew_stiffness_info *info;
} estimate;

static void add_target(const estimate *e, int k, double weight) {
    const sinew_target *target = &e->rig->targets[k];
    for (int i = 0; i < target->count; i++) {
        int v = target->vertices[i];
        if (e->skin->fixed[v]) continue;
        for (int a = 0; a < 3; a++) {
            double move = weight * target->deltas[3 * i + a];
            e->push[3 * v + a] += e->skin->area[v] * move;
            if (e->targets) e->x[3 * v + a] += move;
        }
    }
}

/* e->push and e->x of example k. */
static void load_example(const estimate *e, int k) {
    size_t bytes = 3 * sizeof(double) * (size_t)e->skin->vertex_count;
    memset(e->push, 0, bytes);
    memcpy(e->x, e->targets ? e->skin->rest : e->options->examples[k].positions, bytes);
    if (e->targets)
        add_target(e, e->targets[k], 1);
    else
        for (int j = 0; j < e->rig->target_count; j++)
            add_target(e, j, e->options->examples[k].command[j]);
}

static sinew_status check_examples(const estimate *e, sinew_error *error) {
    const sinew_stiffness_options *o = e->options;
    if (!(o->prior > 0 && o->prior <= 1e12))
        return sn_fail(error, SINEW_BAD_INPUT, "stiffness: prior must be in (0, 1e12]");
    if (!(o->tolerance > 0)) return sn_fail(error, SINEW_BAD_INPUT, "stiffness: no tolerance");
    if (o->iterations < 1) return sn_fail(error, SINEW_BAD_INPUT, "stiffness: no iterations");
    if (o->examples && o->example_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "stiffness: no examples");
    for (int k = 0; o->examples && k < o->example_count; k++) {
        for (int j = 0; j < e->rig->target_count; j++)
            if (!isfinite(o->examples[k].command[j]))
                return sn_fail(error, SINEW_BAD_INPUT,
                               "stiffness: example %d: the command of target %d is not finite", k,
                               j);
        for (int i = 0; i < 3 * e->rig->neutral->vertex_count; i++)
            if (!isfinite(o->examples[k].positions[i]))
                return sn_fail(error, SINEW_BAD_INPUT,
                               "stiffness: example %d: vertex %d is not finite", k, i / 3);
    }
    return SINEW_OK;
}

static sinew_status prepare(estimate *e, sinew_error *error) {
    sinew_force_options even = *e->force;
    even.stretch_map = even.bend_map = NULL;
    SN_TRY(sn_force_check_options(&even, error));
    SN_TRY(check_examples(e, error));
    SN_TRY(sn_skin_create(e->rig, even.fixed_count, even.fixed, &e->skin, error));
    SN_TRY(sn_potentials_create(e->skin, &even, &e->potentials, error));
    size_t n = (size_t)e->skin->vertex_count;
    e->example_count = e->options->example_count;
    if (!e->options->examples) {
        e->targets = SN_NEW(int, e->rig->target_count);
        if (!e->targets) return sn_no_memory(error);
        e->example_count = 0;
        for (int k = 0; k < e->rig->target_count; k++)
            if (e->rig->targets[k].count > 0) e->targets[e->example_count++] = k;
    }
    e->push = SN_NEW(double, 3 * n), e->x = SN_NEW(double, 3 * n);
    e->z = SN_NEW(double, 3 * n), e->right = SN_NEW(double, 3 * n);
    e->solve = SN_NEW(float, 3 * n);
    e->scratch = SN_NEW(double, sn_potentials_scratch(e->potentials));
    e->share = SN_NEW(double, 2 * n), e->factors = SN_NEW(double, 2 * n);
    if (!e->push || !e->x || !e->z || !e->right || !e->solve || !e->scratch || !e->share ||
        !e->factors)
        return sn_no_memory(error);
    for (size_t v = 0; v < n; v++) e->area += e->skin->area[v];
    for (size_t i = 0; i < 2 * n; i++) e->share[i] = 0.5 * e->skin->area[i / 2] / e->area;
    for (size_t v = 0; v < n; v++)
        if (!(e->potentials->position[v] >= 0 && isfinite(e->potentials->position[v])))
            return sn_fail(
                error, SINEW_BAD_INPUT,
                "stiffness: the positional stiffness of vertex %zu is negative or not finite", v);
    e->info->examples = e->example_count;
    return SINEW_OK;
}

static void release(estimate *e) {
    sn_skin_destroy(e->skin);
    sn_potentials_destroy(e->potentials);
    sn_balance_destroy(e->half[0]), sn_balance_destroy(e->half[1]);
    sn_free(e->targets), sn_free(e->push), sn_free(e->x), sn_free(e->z), sn_free(e->right);
    sn_free(e->solve), sn_free(e->scratch), sn_free(e->share), sn_free(e->factors);
}

/* Pairs go to the halves in turn: left and right of an expression stand side by side in a rig, and
 * one without the other would tell nothing of a side. */
static sinew_status balance_halves(estimate *e, sinew_error *error) {
    sn_balance_builder *builder;
    SN_TRY(sn_balance_builder_create(e->potentials, &builder, error));
    sinew_status status = SINEW_OK;
    for (int half = 0; status == SINEW_OK && half < 2; half++) {
        for (int k = 0; status == SINEW_OK && k < e->example_count; k++) {
            if (k / 2 % 2 != half) continue;
            if (sn_cancelled(e->monitor)) status = sn_fail(error, SINEW_CANCELLED, "cancelled");
            load_example(e, k);
            sn_balance_add(builder, e->push, e->x);
        }
        if (status == SINEW_OK) status = sn_balance_finish(builder, &e->half[half], error);
    }
    sn_balance_builder_destroy(builder);
    return status;
}

/* ---- what the map is worth ------------------------------------------------------------------- */

static sinew_status fit_uniform(const estimate *e, const sn_balance *balance, double *factors,
                                sinew_error *error) {
    sn_balance *uniform;
    SN_TRY(sn_balance_uniform(balance, &uniform, error));
    const double share[2] = {0.5, 0.5};
    double found[2], residual;
    int iterations;
    problem p;
    sinew_status status = problem_init(&p, uniform, share, e->options->prior, error);
    if (status == SINEW_OK)
        status = minimise(&p, e->options, NULL, found, &iterations, &residual, error);
    problem_free(&p);
    sn_balance_destroy(uniform);
    SN_TRY(status);
    for (int i = 0; i < balance->size; i++) factors[i] = found[i % 2];
    return SINEW_OK;
}

/* Learns from one half and compares on the other, both ways. */
static sinew_status compare_unseen(estimate *e, problem *p, sinew_error *error) {
    sinew_stiffness_info *info = e->info;
    if (e->example_count < 4) return SINEW_OK;
    double sums[3] = {0, 0, 0};
    int iterations;
    double residual;
    for (int half = 0; half < 2; half++) {
        const sn_balance *seen = e->half[half], *unseen = e->half[!half];
        for (int i = 0; i < seen->size; i++) e->factors[i] = 1;
        sums[0] += sn_balance_value(unseen, e->factors, p->product);
        SN_TRY(fit_uniform(e, seen, e->factors, error));
        sums[1] += sn_balance_value(unseen, e->factors, p->product);
        p->balance = seen;
        SN_TRY(minimise(p, e->options, e->monitor, e->factors, &iterations, &residual, error));
        sums[2] += sn_balance_value(unseen, e->factors, p->product);
    }
    double over = 1 / (e->area * e->example_count);
    info->unseen_default = sqrt(over * sums[0]);
    info->unseen_uniform = sqrt(over * sums[1]);
    info->unseen_map = sqrt(over * sums[2]);
    info->uniform = !(info->unseen_map < info->unseen_uniform);
    return SINEW_OK;
}

/* Sums of squared distances (over the area) from the examples to where the sheet rests. */
static sinew_status relax_examples(estimate *e, const sn_potentials *potentials, double *mean,
                                   double *worst, sinew_error *error) {
    const sn_skin *skin = e->skin;
    int n = skin->vertex_count;
    sn_sparse *matrix = NULL;
    sn_cholesky *factor = NULL;
    sn_cholesky_work *work = NULL;
    for (int v = 0; v < n; v++) e->right[v] = BALANCED * skin->area[v];
    sinew_status status = sn_potentials_matrix(potentials, e->right, &matrix, error);
    if (status == SINEW_OK) status = sn_cholesky_create(matrix, &factor, error);
    if (status == SINEW_OK) status = sn_cholesky_prepare_f32(factor, error);
    if (status == SINEW_OK) status = sn_cholesky_work_create(factor, 3, &work, error);
    double sum = 0, most = 0;
    for (int k = 0; status == SINEW_OK && k < e->example_count; k++) {
        if (sn_cancelled(e->monitor)) status = sn_fail(error, SINEW_CANCELLED, "cancelled");
        load_example(e, k);
        memcpy(e->z, e->x, 3 * sizeof(double) * (size_t)n);
        double change = INFINITY;
        for (int i = 0; i < REST_ITERATIONS && change > REST_TOLERANCE; i++) {
            sn_potentials_forces(potentials, e->z, e->scratch, e->right);
            /* in units of the diagonal: single precision is enough for a change */
            for (int a = 0; a < 3 * n; a++)
                e->solve[a] =
                    skin->fixed[a / 3] ? 0 : (float)((e->right[a] + e->push[a]) / skin->diagonal);
            sn_cholesky_solve_f32(factor, work, 3, e->solve, e->solve);
            change = 0;
            for (int a = 0; a < 3 * n; a++) {
                e->z[a] += skin->diagonal * (double)e->solve[a];
                change = fmax(change, fabs((double)e->solve[a]));
            }
        }
        double way = 0;
        for (int v = 0; v < n; v++) {
            double d = sn_distance(sn_at(e->z, v), sn_at(e->x, v));
            way += skin->area[v] * d * d;
        }
        sum += way, most = fmax(most, way);
    }
    *mean = e->example_count ? sqrt(sum / (e->area * e->example_count)) : 0;
    *worst = sqrt(most / e->area);
    sn_sparse_destroy(matrix);
    sn_cholesky_destroy(factor);
    sn_cholesky_work_destroy(work);
    return status;
}

static sinew_status check_rest(estimate *e, const double *stretch, const double *bend,
                               sinew_error *error) {
    sinew_stiffness_info *info = e->info;
    double unused;
    SN_TRY(relax_examples(e, e->potentials, &info->rest_error_default, &unused, error));
    sinew_force_options painted = *e->force;
    painted.stretch_map = stretch, painted.bend_map = bend;
    sn_potentials *potentials;
    SN_TRY(sn_potentials_create(e->skin, &painted, &potentials, error));
    sinew_status status =
        relax_examples(e, potentials, &info->rest_error, &info->rest_error_worst, error);
    sn_potentials_destroy(potentials);
    return status;
}

/* ---- the estimate ---------------------------------------------------------------------------- */

static void range_of(int count, const double *values, double *least, double *most) {
    *least = INFINITY, *most = 0;
    for (int i = 0; i < count; i++)
        *least = fmin(*least, values[i]), *most = fmax(*most, values[i]);
}

static sinew_status compute(estimate *e, double *stretch, double *bend, sinew_error *error) {
    sinew_stiffness_info *info = e->info;
    int n = e->skin->vertex_count;
    SN_TRY(balance_halves(e, error));
    problem p;
    sinew_status status = problem_init(&p, e->half[0], e->share, e->options->prior, error);
    if (status == SINEW_OK) status = compare_unseen(e, &p, error);
    if (status == SINEW_OK) {
        sn_balance_join(e->half[0], e->half[1]);
        p.balance = e->half[0];
        if (info->uniform)
            status = fit_uniform(e, p.balance, e->factors, error);
        else
            status = minimise(&p, e->options, e->monitor, e->factors, &info->iterations,
                              &info->residual, error);
    }
    problem_free(&p);
    SN_TRY(status);
    for (int v = 0; v < n; v++) stretch[v] = e->factors[2 * v], bend[v] = e->factors[2 * v + 1];
    range_of(n, stretch, &info->stretch_least, &info->stretch_most);
    range_of(n, bend, &info->bend_least, &info->bend_most);
    if (info->residual > e->options->tolerance) info->status = SINEW_NOT_CONVERGED;
    return check_rest(e, stretch, bend, error);
}

/* ---- the store ------------------------------------------------------------------------------- */

static sinew_cache_key key_of(const estimate *e) {
    const sinew_mesh *mesh = e->rig->neutral;
    const sinew_force_options *f = e->force;
    const sinew_stiffness_options *o = e->options;
    size_t n = (size_t)mesh->vertex_count;
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, mesh->positions, 3 * n * sizeof(double));
    sinew_hash_add(&hash, mesh->triangles, 3 * sizeof(int) * (size_t)mesh->triangle_count);
    for (int k = 0; k < e->rig->target_count; k++) {
        const sinew_target *t = &e->rig->targets[k];
        sinew_hash_add(&hash, t->vertices, sizeof(int) * (size_t)t->count);
        sinew_hash_add(&hash, t->deltas, 3 * sizeof(double) * (size_t)t->count);
    }
    const double numbers[] = {f->stretch_length, f->bend_length, f->overstretch, f->position,
                              f->fixed ? 1 : 0,  o->prior,       o->tolerance,   o->iterations};
    sinew_hash_add(&hash, numbers, sizeof numbers);
    sinew_hash_add(&hash, f->position_map, f->position_map ? n * sizeof(double) : 0);
    sinew_hash_add(&hash, f->fixed, f->fixed ? sizeof(int) * (size_t)f->fixed_count : 0);
    for (int k = 0; o->examples && k < o->example_count; k++) {
        sinew_hash_add(&hash, o->examples[k].command,
                       sizeof(double) * (size_t)e->rig->target_count);
        sinew_hash_add(&hash, o->examples[k].positions, 3 * n * sizeof(double));
    }
    return sinew_hash_key(&hash);
}

static bool unpack(const sinew_cache_entry *entry, int n, double *stretch, double *bend,
                   sinew_stiffness_info *info) {
    sn_unpack from = {.bytes = entry->bytes, .size = entry->size};
    double *maps = sn_unpack_numbers(&from, 2 * (size_t)n);
    sinew_stiffness_info *kept = sn_unpack_array(&from, 1, sizeof *kept);
    bool good = maps && kept && sn_unpack_complete(&from);
    if (good) {
        memcpy(stretch, maps, sizeof(double) * (size_t)n);
        memcpy(bend, maps + n, sizeof(double) * (size_t)n);
        *info = *kept;
        info->from_cache = true;
    }
    sn_free(maps), sn_free(kept);
    return good;
}

static void keep(sinew_cache_entry *entry, int n, const double *stretch, const double *bend,
                 const sinew_stiffness_info *info) {
    double *maps = SN_NEW(double, 2 * (size_t)n);
    if (!maps) return;
    memcpy(maps, stretch, sizeof(double) * (size_t)n);
    memcpy(maps + n, bend, sizeof(double) * (size_t)n);
    sn_pack pack = {0};
    sn_pack_array(&pack, maps, 2 * (size_t)n, sizeof(double));
    sn_pack_array(&pack, info, 1, sizeof *info);
    if (!pack.failed) (void)sinew_cache_store(entry, pack.bytes, pack.size, NULL);
    sn_pack_free(&pack);
    sn_free(maps);
}

sinew_status sinew_stiffness_estimate(const sinew_rig *rig, const sinew_force_options *force,
                                      const sinew_stiffness_options *options,
                                      const sinew_monitor *monitor, double *stretch_map,
                                      double *bend_map, sinew_stiffness_info *given,
                                      sinew_error *error) {
    SN_REQUIRE(rig && stretch_map && bend_map && sn_info_ready(given), error);
    double begin = sn_now();
    SN_OPTIONS(sinew_force_options, skin, force, error);
    SN_OPTIONS(sinew_stiffness_options, chosen, options, error);
    sinew_stiffness_info info = {0};
    estimate e = {
        .rig = rig, .force = &skin, .options = &chosen, .monitor = monitor, .info = &info};
    int n = rig->neutral->vertex_count;
    sinew_cache_entry *entry = NULL;
    sinew_status status = prepare(&e, error);
    if (status == SINEW_OK && e.options->cache)
        status =
            sinew_cache_enter(e.options->cache, key_of(&e), CACHE_VERSION, monitor, &entry, error);
    if (status == SINEW_OK &&
        (!entry || !entry->bytes || !unpack(entry, n, stretch_map, bend_map, &info))) {
        status = compute(&e, stretch_map, bend_map, error);
        if (status == SINEW_OK && entry) keep(entry, n, stretch_map, bend_map, &info);
    }
    sinew_cache_leave(entry);
    release(&e);
    info.seconds = sn_now() - begin;
    sn_info_write(given, &info, sizeof info);
    return status;
}
