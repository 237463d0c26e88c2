/* Where a bake asks the model, and which functions may explain the answers.
 *
 * Samples: along every slider (finer where the path bends more), over the pairs of sliders that
 * move the same vertices (more of them where the two together differ most from each alone), along
 * the given clips, and at random poses. Functions: of every slider alone, of the pairs by measured
 * interaction, and of the triples whose three pairs interact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "rig/baker.h"

enum {
    CROWDED_SHARE = 50, /* per cent of the random poses that move many sliders */
    CROWDED_FACE_SHARE = 75,
    MOST_POWER = 3,   /* of one slider in the product of an in-between bake */
    MOST_DEGREE = 4,  /* of such a product */
    CURVE_POWER = 6,  /* of one slider in a polynomial */
    MOST_PAIRS = 600, /* that are sampled */
    MOST_CANDIDATES = 1600,
    MOST_FACE_CANDIDATES = 3000,
    MOST_DISTANT = 2000, /* pairs that hardly interact, on a face */
    PAIR_SHARE = 45,     /* per cent of the samples up to which pairs are sampled once … */
    PLANNED_SHARE = 65,  /* … and the strongest of them again */
    SITES_PER_SHAPE = 2, /* some turn out to move nothing */
    SITE_SAMPLES = 8,    /* of a site, and two for each of its sliders */
    SITE_TRIES = 2000,
    EXPRESSIONS = 4, /* draws for each that may be asked for with contact */
    EXPRESSION_SEED = 7,
    MOST_DRAWS = 4 /* of poses of many sliders, of which those that meet are left out */
};
#define SITE_DEPTH 0.6  /* most that the hinge of a site rises to in its samples */
#define COARSE     0.02 /* of a slider's error that hats between its samples may miss */
#define NEGLIGIBLE 0.01 /* of the strongest interaction */
#define ALONE      0.1  /* of the tolerance: sliders with smaller errors alone need no functions */

/* b->positions: the model's, with contact or without. */
static sinew_status ask(sn_baker *b, const double *weights, bool contact) {
    sinew_bake_model *without = contact ? NULL : b->options->without_contact;
    if (sn_cancelled(b->monitor)) return sn_fail(b->error, SINEW_CANCELLED, "cancelled");
    sinew_status status = without ? without(weights, b->positions, b->options->without_contact_user,
                                            b->monitor, b->error)
                                  : b->model(weights, b->positions, b->user, b->monitor, b->error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
    for (size_t i = 0; i < b->numbers; i++)
        if (!isfinite(b->positions[i]))
            return sn_fail(b->error, SINEW_BAD_INPUT,
                           "the model gives positions that are not finite");
    return SINEW_OK;
}

/* What the model has beyond the blend at the weights; *size receives the largest, over the
 * diagonal. At the limit of samples nothing is added and *size is 0. */
static sinew_status add_sample(sn_baker *b, const double *weights, double *size) {
    size_t n = (size_t)b->rig->slider_count;
    *size = 0;
    if (b->sample_count == b->sample_limit) return SINEW_OK;
    sn_progress(b->monitor, 0.9 * b->sample_count / b->sample_limit, "samples");
    SN_TRY(ask(b, weights, false));
    sinew_linear_evaluate(b->linear, weights, b->blend);
    float *column = b->residuals + (size_t)b->sample_count * b->numbers;
    double most = 0;
    for (size_t i = 0; i < b->numbers; i += 3) {
        double square = 0;
        for (size_t c = i; c < i + 3; c++) {
            double d = b->positions[c] - b->blend[c];
            column[c] = (float)d;
            square += d * d;
        }
        most = fmax(most, square);
    }
    memcpy(b->weights + (size_t)b->sample_count * n, weights, n * sizeof *weights);
    b->sample_count++;
    *size = sqrt(most) / b->diagonal;
    return SINEW_OK;
}

/* The same where surfaces meet. A model that can be asked without contact is asked for both: the
 * difference belongs to contact, and what is left to the fit is smooth. */
static sinew_status add_meeting_sample(sn_baker *b, const double *weights) {
    double size;
    int index = b->sample_count;
    SN_TRY(add_sample(b, weights, &size));
    b->contact_left--;
    if (!b->options->without_contact) return SINEW_OK;
    float *added = SN_NEW(float, b->numbers);
    if (!added) return sn_no_memory(b->error);
    b->contact[index] = added;
    for (size_t i = 0; i < b->numbers; i++) added[i] = (float)-b->positions[i];
    SN_TRY(ask(b, weights, true));
    for (size_t i = 0; i < b->numbers; i++) added[i] += (float)b->positions[i];
    return SINEW_OK;
}

static bool moves(const sinew_rig *rig, int slider) {
    for (int t = 0; t < rig->target_count; t++)
        if (rig->targets[t].slider == slider && rig->targets[t].count > 0) return true;
    return false;
}

sinew_status sn_bake_add_function(sn_baker *b, const sn_bake_function *f) {
    if (!SN_RESERVE(b->functions, b->function_capacity, b->function_count + 1))
        return sn_no_memory(b->error);
    b->functions[b->function_count++] = *f;
    return SINEW_OK;
}

static double raised(double u, int power) {
    double product = 1;
    for (int i = 0; i < power; i++) product *= u;
    return product;
}

double sn_bake_evaluate(const sn_baker *b, const sn_bake_function *f, const double *weights) {
    if (f->kind == SN_BAKE_HINGE) return sn_bake_hinge(b, f->slopes, weights);
    double u = sn_bake_unit(&b->rig->sliders[f->slider[0]], weights[f->slider[0]]);
    if (f->kind == SN_BAKE_HAT) {
        if (u <= f->low || u >= f->high) return 0;
        return u <= f->knot ? (u - f->low) / (f->knot - f->low)
                            : (f->high - u) / (f->high - f->knot);
    }
    /* Polynomials hold their value beyond the full shapes, products of an in-between bake do not.
     */
    bool held = b->options->style == SINEW_BAKE_STYLE_POLYNOMIALS;
    if (held) u = fmin(u, 1);
    if (f->kind == SN_BAKE_CURVE) return raised(u, f->power[0]) - u;
    double product = 1;
    for (int k = 0; k < SN_BAKE_FACTORS && f->power[k] > 0; k++) {
        u = sn_bake_unit(&b->rig->sliders[f->slider[k]], weights[f->slider[k]]);
        product *= raised(held ? fmin(u, 1) : u, f->power[k]);
    }
    return product;
}

/* ---- one slider ------------------------------------------------------------------------------ */

/* Hats half-way between the knots that the slider has: the rest, full, and its in-betweens. */
static sinew_status add_first_hats(sn_baker *b, int slider) {
    double knots[SN_BAKE_FINEST + 2] = {0, 1};
    int count = 2;
    for (int t = 0; t < b->rig->target_count; t++) {
        const sinew_target *target = &b->rig->targets[t];
        if (target->kind != SINEW_TARGET_KIND_INBETWEEN || target->slider != slider) continue;
        double u = sn_bake_unit(&b->rig->sliders[slider], target->at);
        if (u > 0 && u < 1 && count < SN_BAKE_FINEST + 2) knots[count++] = u;
    }
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && knots[k - 1] > knots[k]; k--) {
            double swap = knots[k];
            knots[k] = knots[k - 1], knots[k - 1] = swap;
        }
    for (int i = 0; i + 1 < count; i++) {
        double low = knots[i], high = knots[i + 1];
        sn_bake_function f = {.kind = SN_BAKE_HAT,
                              .slider = {slider},
                              .low = low,
                              .knot = (low + high) / 2,
                              .high = high};
        if (high - low >= 2.0 / SN_BAKE_FINEST) SN_TRY(sn_bake_add_function(b, &f));
    }
    return SINEW_OK;
}

static sinew_status add_curves(sn_baker *b, int slider, double full, double expected) {
    for (int p = 2; p <= CURVE_POWER; p++) {
        sn_bake_function f = {
            .kind = SN_BAKE_CURVE, .slider = {slider}, .power = {p}, .expected = expected};
        SN_TRY(sn_bake_add_function(b, &f));
    }
    /* Only where the model does not reach the full shape itself: contact, say. */
    sn_bake_function f = {
        .kind = SN_BAKE_PRODUCT, .slider = {slider}, .power = {1}, .expected = expected};
    return full > b->options->tolerance ? sn_bake_add_function(b, &f) : SINEW_OK;
}

/* Largest second difference of three samples of a slider, over the diagonal: eight times what hats
 * at the outer two would miss at the middle. */
static double bend_of(const sn_baker *b, int before, int at, int after) {
    const float *p = b->residuals + (size_t)before * b->numbers;
    const float *q = b->residuals + (size_t)at * b->numbers;
    const float *r = b->residuals + (size_t)after * b->numbers;
    double most = 0;
    for (size_t i = 0; i < b->numbers; i += 3) {
        double square = 0;
        for (size_t c = i; c < i + 3; c++) {
            double d = (double)p[c] - 2 * (double)q[c] + (double)r[c];
            square += d * d;
        }
        most = fmax(most, square);
    }
    return sqrt(most) / b->diagonal;
}

/* Root mean square of what a sample of two sliders has beyond the samples of the two alone (-1:
 * none). */
static double interaction_of(const sn_baker *b, int both, int first, int second) {
    const float *r = b->residuals + (size_t)both * b->numbers;
    const float *p = first >= 0 ? b->residuals + (size_t)first * b->numbers : NULL;
    const float *q = second >= 0 ? b->residuals + (size_t)second * b->numbers : NULL;
    double sum = 0;
    for (size_t i = 0; i < b->numbers; i++) {
        double d = (double)r[i] - (p ? (double)p[i] : 0) - (q ? (double)q[i] : 0);
        sum += d * d;
    }
    return sqrt(3 * sum / (double)b->numbers) / b->diagonal;
}

/* A slider alone: at quarters; where the blend is visibly off, ever finer until hats between the
 * samples would not miss anything that matters. *half receives the sample in the middle, or -1,
 * *expected the largest root mean square of a sample. */
static sinew_status sample_slider(sn_baker *b, int s, double *row, int *half, double *expected) {
    const sinew_slider *slider = &b->rig->sliders[s];
    int at[SN_BAKE_FINEST + 1]; /* the sample at k / SN_BAKE_FINEST; -1: none yet */
    double worst = 0, full = 0, size, bend = INFINITY;
    for (int k = 0; k <= SN_BAKE_FINEST; k++) at[k] = -1;
    for (int steps = 4; steps <= SN_BAKE_FINEST; steps *= 2) {
        int stride = SN_BAKE_FINEST / steps;
        if (steps > 4 && worst <= b->options->tolerance) break;
        if (steps > 8 && bend / 8 <= fmax(b->options->tolerance, COARSE * worst)) break;
        for (int k = stride; k <= SN_BAKE_FINEST; k += stride) {
            if (at[k] >= 0) continue;
            row[s] = sn_bake_weight(slider, (double)k / SN_BAKE_FINEST);
            int index = b->sample_count;
            SN_TRY(add_sample(b, row, &size));
            if (b->sample_count > index) {
                at[k] = index;
                *expected = fmax(*expected, interaction_of(b, index, -1, -1));
            }
            worst = fmax(worst, size);
            if (k == SN_BAKE_FINEST) full = fmax(full, size);
        }
        bend = 0;
        for (int k = 2 * stride; k + stride <= SN_BAKE_FINEST; k += stride)
            if (at[k - stride] >= 0 && at[k] >= 0 && at[k + stride] >= 0)
                bend = fmax(bend, bend_of(b, at[k - stride], at[k], at[k + stride]));
    }
    row[s] = slider->rest;
    *half = at[SN_BAKE_FINEST / 2];
    if (b->options->style == SINEW_BAKE_STYLE_POLYNOMIALS)
        return worst > ALONE * b->options->tolerance ? add_curves(b, s, full, *expected) : SINEW_OK;
    return worst > b->options->tolerance ? add_first_hats(b, s) : SINEW_OK;
}

/* ---- pairs and triples ----------------------------------------------------------------------- */

static sinew_status sample_pair(sn_baker *b, const sn_slider_pair *pair, const double at[2],
                                double *row) {
    const sinew_slider *a = &b->rig->sliders[pair->a], *c = &b->rig->sliders[pair->b];
    double size;
    row[pair->a] = sn_bake_weight(a, at[0]);
    row[pair->b] = sn_bake_weight(c, at[1]);
    sinew_status status = add_sample(b, row, &size);
    row[pair->a] = a->rest, row[pair->b] = c->rest;
    return status;
}

static int by_interaction(const void *x, const void *y) {
    const sn_slider_pair *p = x, *q = y;
    if (p->interaction != q->interaction) return p->interaction > q->interaction ? -1 : 1;
    return p->a != q->a ? p->a - q->a : p->b - q->b;
}

/* Samples that a site may still take. */
static int room_for_contact(const sn_baker *b) {
    int room = b->sample_limit - b->sample_count;
    return room < b->contact_left ? room : b->contact_left;
}

/* Where contact sets in differs from pair to pair: the far corner of each, then the ways to it,
 * most crossed pairs first, until room for only `rest` samples is left. */
static sinew_status sample_meetings(sn_baker *b, int site, int rest, sn_slider_pair *pairs,
                                    double *row) {
    static const double corner[][2] = {{1, 1},   {1, 0.75},    {0.75, 1},
                                       {1, 0.5}, {0.75, 0.75}, {0.5, 1}};
    for (size_t k = 0; k < sizeof corner / sizeof *corner; k++)
        for (int i = 0; i < b->meeting_count && room_for_contact(b) > rest; i++) {
            sn_slider_pair *pair = &pairs[b->meetings[i].pair];
            int index = b->sample_count;
            if (b->meetings[i].site != site) continue;
            row[pair->a] = sn_bake_weight(&b->rig->sliders[pair->a], corner[k][0]);
            row[pair->b] = sn_bake_weight(&b->rig->sliders[pair->b], corner[k][1]);
            sinew_status status = add_meeting_sample(b, row);
            sinew_rig_rest_weights(b->rig, row);
            if (status != SINEW_OK) return status;
            pair->interaction = fmax(pair->interaction, interaction_of(b, index, -1, -1));
        }
    return SINEW_OK;
}

/* Poses of two or three sliders of a site in which its surfaces meet, but not much deeper than a
 * performance takes them, until room for only `rest` samples is left. */
static sinew_status sample_site(sn_baker *b, const sn_bake_site *site, int rest, double *row) {
    int n = b->rig->slider_count, own = 0;
    uint64_t state = 1;
    for (int i = 0; i < 8; i++) sn_bake_random(&state);
    for (int s = 0; s < n; s++) own += site->slopes[s] != 0;
    /* random poses tell about contact, too, unless they are without it */
    int wanted = b->options->without_contact ? room_for_contact(b) - rest : SITE_SAMPLES + 2 * own;
    for (int tries = 0; wanted > 0 && tries < SITE_TRIES && room_for_contact(b) > rest; tries++) {
        for (int k = 0; k < 3; k++) {
            int pick = (int)(sn_bake_random(&state) * own), s = 0;
            while (site->slopes[s] == 0 || pick-- > 0) s++;
            row[s] = sn_bake_weight(&b->rig->sliders[s], sn_bake_random(&state));
        }
        double depth = sn_bake_hinge(b, site->slopes, row);
        sinew_status status = SINEW_OK;
        if (depth > 0 && depth < SITE_DEPTH) {
            status = add_meeting_sample(b, row);
            wanted--;
        }
        sinew_rig_rest_weights(b->rig, row);
        if (status != SINEW_OK) return status;
    }
    return SINEW_OK;
}

/* The sites share the room evenly; half of a share goes to pairs. */
static sinew_status sample_sites(sn_baker *b, sn_slider_pair *pairs, double *row) {
    for (int i = 0; i < b->site_count; i++) {
        int room = room_for_contact(b), share = room / (b->site_count - i);
        SN_TRY(sample_meetings(b, i, room - share / 2, pairs, row));
        SN_TRY(sample_site(b, &b->sites[i], room - share, row));
    }
    return SINEW_OK;
}

/* Each slider that makes surfaces intersect alone, at full. */
static sinew_status sample_alone(sn_baker *b, double *row) {
    for (int s = 0; s < b->rig->slider_count && room_for_contact(b) > 0; s++) {
        if (b->alone_onset[s] > 1) continue;
        row[s] = sn_bake_weight(&b->rig->sliders[s], 1);
        sinew_status status = add_meeting_sample(b, row);
        row[s] = b->rig->sliders[s].rest;
        if (status != SINEW_OK) return status;
    }
    return SINEW_OK;
}

/* Expressions of the sliders that bring surfaces together. Where they do not meet there is no
 * contact, which need not be asked for and keeps a hinge from acting there. */
static sinew_status sample_expressions(sn_baker *b, double *row) {
    int n = b->rig->slider_count, most = EXPRESSIONS * b->options->max_contact_samples, apart = 0;
    bool *touching = SN_NEW0(bool, n);
    double *rows = SN_NEW(double, (size_t)most *(size_t)n + 1), size;
    sinew_status status = touching && rows ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) status = sn_bake_find_touching(b, row, touching);
    if (status == SINEW_OK)
        status = sn_bake_crowded_poses(b->rig, EXPRESSION_SEED, touching, most, rows, b->error);
    for (int k = 0; status == SINEW_OK && k < most && room_for_contact(b) > 0; k++) {
        const double *pose = rows + (size_t)k * (size_t)n;
        bool touches = false;
        int index = b->sample_count;
        status = sn_bake_touches(b, pose, &touches);
        if (status == SINEW_OK && touches) status = add_meeting_sample(b, pose);
        if (status != SINEW_OK || touches || apart++ >= most / EXPRESSIONS / 2) continue;
        status = add_sample(b, pose, &size);
        b->contact[index] = SN_NEW0(float, b->numbers);
        if (status == SINEW_OK && !b->contact[index]) status = sn_no_memory(b->error);
    }
    sn_free(touching), sn_free(rows);
    return status;
}

/* A face moves many sliders at once; on it, half of the samples are expressions. */
static sinew_status sample_contact(sn_baker *b, sn_slider_pair *pairs, double *row) {
    bool face = b->options->without_contact && b->rig->slider_count > SN_BAKE_MANY_SLIDERS;
    int left = b->contact_left / 2;
    if (face) b->contact_left -= left;
    if (b->options->without_contact && b->alone_onset) SN_TRY(sample_alone(b, row));
    SN_TRY(sample_sites(b, pairs, row));
    if (!face || !b->alone_onset) return SINEW_OK;
    b->contact_left += left;
    return sample_expressions(b, row);
}

/* Samples the pairs and sorts them by interaction; *count falls to those that matter. */
static sinew_status sample_pairs(sn_baker *b, const int *half, sn_slider_pair *pairs, int *count,
                                 double *row) {
    static const double added[][2] = {{1, 1}, {1, 0.5}, {0.5, 1}, {0.75, 0.25}, {0.25, 0.75}};
    static const double faded[][2] = {{0.25, 0.25}, {0.75, 0.25}, {0.25, 0.75}};
    static const double middle[] = {0.5, 0.5};
    int all = b->sample_limit;
    double measured = 0, overlap = 0;
    b->sample_limit = all * PAIR_SHARE / 100;
    for (int i = 0; i < *count; i++) {
        int index = b->sample_count;
        if (i < MOST_PAIRS) SN_TRY(sample_pair(b, &pairs[i], middle, row));
        bool sampled = b->sample_count > index;
        pairs[i].interaction =
            sampled ? interaction_of(b, index, half[pairs[i].a], half[pairs[i].b]) : -1;
        if (sampled) measured += pairs[i].interaction, overlap += pairs[i].overlap;
    }
    b->sample_limit = all * PLANNED_SHARE / 100;
    SN_TRY(sample_contact(b, pairs, row));
    for (int i = 0; i < *count; i++) /* of those without a sample, by how much the two meet */
        if (pairs[i].interaction < 0)
            pairs[i].interaction = overlap > 0 ? measured * pairs[i].overlap / overlap : 0;
    if (*count > 0) qsort(pairs, (size_t)*count, sizeof *pairs, by_interaction);
    b->sample_limit = all * PLANNED_SHARE / 100;
    int kept = 0;
    while (kept < *count && pairs[kept].interaction > NEGLIGIBLE * pairs[0].interaction) kept++;
    /* On faces a second round pays where it reaches all; random poses tell more otherwise. */
    bool room = b->rig->slider_count <= SN_BAKE_MANY_SLIDERS ||
                b->sample_count + 5 * kept <= b->sample_limit;
    for (int i = 0; room && i < kept; i++) {
        const double(*at)[2] = pairs[i].alike ? faded : added;
        for (int k = 0; k < (pairs[i].alike ? 3 : 5); k++)
            SN_TRY(sample_pair(b, &pairs[i], at[k], row));
    }
    *count = kept;
    b->sample_limit = all;
    return SINEW_OK;
}

/* Products of powers from 1 of the sliders, up to a degree. */
static sinew_status add_products(sn_baker *b, int factors, const int *sliders, double expected,
                                 int power, int degree) {
    int rest = factors > 2 ? power : 1;
    for (int p = 1; p <= power; p++)
        for (int q = 1; q <= power && p + q <= degree; q++)
            for (int r = 1; r <= rest && (factors < 3 || p + q + r <= degree); r++) {
                sn_bake_function f = {
                    .kind = SN_BAKE_PRODUCT, .power = {p, q}, .expected = expected};
                if (factors > 2) f.power[2] = r;
                memcpy(f.slider, sliders, (size_t)factors * sizeof *sliders);
                SN_TRY(sn_bake_add_function(b, &f));
            }
    return SINEW_OK;
}

/* Three sliders whose pairs interact: the weakest of the three interactions, and their geometric
 * mean. */
typedef struct triple {
    int sliders[3];
    double interaction, mean;
} triple;

static int by_weakest(const void *x, const void *y) {
    const triple *p = x, *q = y;
    if (p->interaction != q->interaction) return p->interaction > q->interaction ? -1 : 1;
    return memcmp(p->sliders, q->sliders, sizeof p->sliders);
}

static sinew_status find_triples(sn_baker *b, const sn_slider_pair *pairs, int pair_count,
                                 triple **triples, int *count) {
    int n = b->rig->slider_count;
    size_t capacity = 0;
    double *between = SN_NEW0(double, (size_t)n *(size_t)n);
    if (!between) return sn_no_memory(b->error);
    for (int i = 0; i < pair_count; i++) {
        int low = pairs[i].a < pairs[i].b ? pairs[i].a : pairs[i].b;
        int high = pairs[i].a + pairs[i].b - low;
        between[low + (size_t)n * (size_t)high] = pairs[i].interaction;
    }
    sinew_status status = SINEW_OK;
    for (int z = 2; status == SINEW_OK && z < n; z++)
        for (int y = 1; status == SINEW_OK && y < z; y++) {
            double zy = between[y + (size_t)n * (size_t)z];
            for (int x = 0; zy > 0 && status == SINEW_OK && x < y; x++) {
                double yx = between[x + (size_t)n * (size_t)y];
                double zx = between[x + (size_t)n * (size_t)z], least = fmin(zy, fmin(yx, zx));
                if (!(least > 0)) continue;
                if (SN_RESERVE(*triples, capacity, *count + 1))
                    (*triples)[(*count)++] = (triple){{x, y, z}, least, cbrt(zy * yx * zx)};
                else
                    status = sn_no_memory(b->error);
            }
        }
    sn_free(between);
    if (status == SINEW_OK && *count > 0)
        qsort(*triples, (size_t)*count, sizeof **triples, by_weakest);
    return status;
}

/* Polynomials of the highest degree for which there is room. */
static sinew_status add_polynomials(sn_baker *b, const sn_slider_pair *pairs, int pair_count) {
    triple *triples = NULL;
    int triple_count = 0, degree = CURVE_POWER;
    SN_TRY(find_triples(b, pairs, pair_count, &triples, &triple_count));
    int most = b->rig->slider_count > SN_BAKE_MANY_SLIDERS ? MOST_FACE_CANDIDATES : MOST_CANDIDATES;
    int room = most - b->function_count;
    for (; degree > 3; degree--) {
        int lower = degree - 1, of_triple = lower * (lower - 1) * (lower - 2) / 6;
        if (pair_count * (degree * lower / 2) + triple_count * of_triple <= room) break;
    }
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < pair_count; i++) {
        int own = pairs[i].meets ? CURVE_POWER : degree; /* contact sets in suddenly */
        if (b->function_count + own * (own - 1) / 2 <= most)
            status = add_products(b, 2, (const int[]){pairs[i].a, pairs[i].b}, pairs[i].interaction,
                                  own, own);
    }
    int triple_degree = degree > 4 ? degree - 1 : 3;
    for (int i = 0; status == SINEW_OK && i < triple_count; i++)
        if (b->function_count + 10 <= most)
            status = add_products(b, 3, triples[i].sliders, triples[i].mean, triple_degree,
                                  triple_degree);
    sn_free(triples);
    return status;
}

/* The pairs of a face that are not among `pairs`: they hardly interact, but there are so many of
 * them, and what they do (the head as a whole tilts a little, say) is so alike, that together they
 * matter. `expected`: per slider, -1: moves nothing. */
static sinew_status add_distant_pairs(sn_baker *b, const sn_slider_pair *pairs, int count,
                                      const double *expected) {
    int n = b->rig->slider_count, distant_count = 0;
    size_t size = (size_t)n * (size_t)n;
    bool *near = SN_NEW0(bool, size);
    sn_slider_pair *distant = SN_NEW(sn_slider_pair, size);
    sinew_status status = near && distant ? SINEW_OK : sn_no_memory(b->error);
    double least = INFINITY;
    for (int i = 0; near && i < count; i++) {
        near[(size_t)pairs[i].a * (size_t)n + (size_t)pairs[i].b] = true;
        least = fmin(least, pairs[i].interaction);
    }
    for (int x = 0; status == SINEW_OK && x < n; x++)
        for (int y = x + 1; y < n; y++)
            if (!near[(size_t)x * (size_t)n + (size_t)y] && expected[x] >= 0 && expected[y] >= 0)
                distant[distant_count++] =
                    (sn_slider_pair){.a = x, .b = y, .interaction = expected[x] * expected[y]};
    if (distant_count > 0) qsort(distant, (size_t)distant_count, sizeof *distant, by_interaction);
    for (int i = 0; status == SINEW_OK && count > 0 && i < distant_count && i < MOST_DISTANT; i++)
        status = add_products(b, 2, (const int[]){distant[i].a, distant[i].b}, least, 1, 2);
    sn_free(near), sn_free(distant);
    return status;
}

static sinew_status add_pairs(sn_baker *b, const int *half, const double *expected, double *row) {
    sn_slider_pair *pairs;
    int count;
    SN_TRY(sn_bake_pairs(b->rig, &pairs, &count, b->error));
    sinew_status status = SINEW_OK;
    if (b->options->self_contact) status = sn_bake_find_meeting(b, &pairs, &count);
    if (status == SINEW_OK)
        status = sn_bake_find_sites(b, SITES_PER_SHAPE * b->options->max_targets / SN_BAKE_CONTACT);
    for (int i = 0; status == SINEW_OK && i < b->meeting_count; i++)
        pairs[b->meetings[i].pair].meets = true;
    if (status == SINEW_OK) status = sample_pairs(b, half, pairs, &count, row);
    bool polynomials = b->options->style == SINEW_BAKE_STYLE_POLYNOMIALS;
    if (status == SINEW_OK && polynomials) status = add_polynomials(b, pairs, count);
    if (status == SINEW_OK && polynomials && b->rig->slider_count > SN_BAKE_MANY_SLIDERS)
        status = add_distant_pairs(b, pairs, count, expected);
    if (!polynomials)
        for (int i = 0; status == SINEW_OK && i < count && i < MOST_PAIRS / 2; i++)
            status = add_products(b, 2, (const int[]){pairs[i].a, pairs[i].b}, pairs[i].interaction,
                                  MOST_POWER, MOST_DEGREE);
    sn_free(pairs);
    return status;
}

/* ---- whole poses ----------------------------------------------------------------------------- */

/* Poses of many sliders, until there is no room. Those in which surfaces meet are left out if the
 * model cannot be asked without contact: many sliders together push lips and lids through each
 * other as no performance does, and to part them costs the model more than all other samples. */
static sinew_status sample_crowded(sn_baker *b, uint64_t seed, int count, double *rows) {
    double size;
    if (b->sample_count == b->sample_limit) return SINEW_OK;
    SN_TRY(sn_bake_crowded_poses(b->rig, seed, NULL, count, rows, b->error));
    for (int k = 0; k < count && b->sample_count < b->sample_limit; k++) {
        const double *row = rows + (size_t)k * (size_t)b->rig->slider_count;
        bool meets = false;
        if (b->options->self_contact && !b->options->without_contact)
            SN_TRY(sn_bake_meets(b, row, &meets));
        if (!meets) SN_TRY(add_sample(b, row, &size));
    }
    return SINEW_OK;
}

/* Poses of the clips, evenly spread, then random ones of several sliders, and of many: without them
 * the fit would be free to be anything where more than two sliders act. */
static sinew_status sample_rows(sn_baker *b) {
    size_t n = (size_t)b->rig->slider_count;
    int given = b->options->rows ? b->options->row_count : 0;
    int half = (b->sample_limit - b->sample_count) / 2, count = given < half ? given : half;
    double size;
    for (int k = 0; k < count; k++) {
        size_t row = (size_t)((int64_t)k * given / count);
        SN_TRY(add_sample(b, b->options->rows + row * n, &size));
    }
    bool face = b->rig->slider_count > SN_BAKE_MANY_SLIDERS;
    int random = b->sample_limit - b->sample_count;
    int crowded = random * (face ? CROWDED_FACE_SHARE : CROWDED_SHARE) / 100;
    double *rows = SN_NEW(double, (size_t)(random > 0 ? random : 1) * n);
    if (!rows) return sn_no_memory(b->error);
    sinew_status status = sinew_bake_poses(b->rig, 1, random - crowded, rows, b->error);
    for (int k = 0; status == SINEW_OK && k < random - crowded; k++)
        status = add_sample(b, rows + (size_t)k * n, &size);
    int draws = b->options->self_contact && !b->options->without_contact ? MOST_DRAWS : 1;
    for (int seed = 1; status == SINEW_OK && seed <= draws; seed++)
        status = sample_crowded(b, (uint64_t)seed, crowded, rows);
    sn_free(rows);
    return status;
}

sinew_status sn_bake_take_samples(sn_baker *b) {
    int sliders = b->rig->slider_count;
    double *row = SN_NEW(double, sliders);
    int *half = SN_NEW(int, sliders);
    double *expected = SN_NEW(double, sliders);
    sinew_status status = row && half && expected ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) sinew_rig_rest_weights(b->rig, row);
    int all = b->sample_limit;
    b->sample_limit = all * PAIR_SHARE / 100;
    for (int s = 0; status == SINEW_OK && s < sliders; s++) {
        half[s] = -1, expected[s] = moves(b->rig, s) ? 0 : -1;
        if (expected[s] == 0) status = sample_slider(b, s, row, &half[s], &expected[s]);
    }
    b->sample_limit = all;
    if (status == SINEW_OK) status = add_pairs(b, half, expected, row);
    if (status == SINEW_OK) status = sample_rows(b);
    sn_free(row), sn_free(half), sn_free(expected);
    return status;
}
