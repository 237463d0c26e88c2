/* Shapes of their own for pairs of sliders that meet.
 *
 * Where lids or lips touch, the model pushes a few vertices apart. In the sum of squares over the
 * whole face that is nothing, so the shapes that explain most leave it out, and the lids cross. And
 * it sets in suddenly: a polynomial that follows it bends everywhere else. So what the fit leaves
 * of the samples of a pair, r_k at (u_k, v_k), becomes one shape with a single steep product:
 *
 *   phi = u^p v^q,   shape = sum_k phi_k r_k / sum_k phi_k^2
 *
 * with the powers that remove most, |sum_k phi_k r_k|^2 / sum_k phi_k^2. In poses without both
 * sliders phi vanishes, so the other samples of the fit stay as they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "rig/baker.h"

enum { MOST_SAMPLES = 8, MOST_POWER = SINEW_MAX_POWER };

typedef struct contact {
    int meeting, power[2];
    double size; /* largest displacement */
} contact;

typedef struct worker {
    sn_baker *b;
    double *left[MOST_SAMPLES]; /* 3 V each: what the fit leaves of the samples */
    double *activations;        /* per shape */
    double *shape;
} worker;

/* left[i] of the meeting's samples. */
static void find_left(worker *w, const sn_bake_meeting *m) {
    sn_baker *b = w->b;
    for (int i = 0; i < m->count; i++) {
        size_t k = (size_t)(m->first + i);
        const double *weights = b->weights + k * (size_t)b->rig->slider_count;
        memset(w->activations, 0, (size_t)b->shape_count * sizeof *w->activations);
        for (int f = 0; f < b->chosen_count; f++) {
            double value = sn_bake_evaluate(b, &b->functions[b->chosen[f]], weights);
            for (int j = 0; value != 0 && j < b->shape_count; j++)
                w->activations[j] +=
                    value * b->coefficients[f + (size_t)b->chosen_count * (size_t)j];
        }
        for (size_t c = 0; c < b->numbers; c++)
            w->left[i][c] = (double)b->residuals[k * b->numbers + c] / b->scale[k];
        for (int j = 0; j < b->shape_count; j++) {
            const float *d = b->displacements + (size_t)j * b->numbers;
            for (size_t c = 0; c < b->numbers; c++)
                w->left[i][c] -= w->activations[j] * (double)d[c];
        }
    }
}

/* phi of the meeting's samples. */
static void find_values(const worker *w, const sn_bake_meeting *m, const int power[2],
                        double *values) {
    const sn_baker *b = w->b;
    sn_bake_function f = {.kind = SN_BAKE_PRODUCT,
                          .slider = {m->slider[0], m->slider[1]},
                          .power = {power[0], power[1]}};
    for (int i = 0; i < m->count; i++)
        values[i] = sn_bake_evaluate(
            b, &f, b->weights + (size_t)(m->first + i) * (size_t)b->rig->slider_count);
}

static void find_shape(worker *w, const sn_bake_meeting *m, const int power[2]) {
    double values[MOST_SAMPLES], square = 0;
    find_values(w, m, power, values);
    for (int i = 0; i < m->count; i++) square += values[i] * values[i];
    for (size_t c = 0; c < w->b->numbers; c++) {
        double sum = 0;
        for (int i = 0; i < m->count; i++) sum += values[i] * w->left[i][c];
        w->shape[c] = square > 0 ? sum / square : 0;
    }
}

/* The best powers of a meeting, and the size of its shape. */
static contact examine(worker *w, int index) {
    const sn_bake_meeting *m = &w->b->meetings[index];
    contact found = {.meeting = index, .power = {1, 1}};
    double gram[MOST_SAMPLES][MOST_SAMPLES], most = -1;
    find_left(w, m);
    for (int i = 0; i < m->count; i++)
        for (int j = 0; j < m->count; j++) {
            gram[i][j] = 0;
            for (size_t c = 0; c < w->b->numbers; c++) gram[i][j] += w->left[i][c] * w->left[j][c];
        }
    for (int p = 1; p <= MOST_POWER; p++)
        for (int q = 1; q <= MOST_POWER; q++) {
            double values[MOST_SAMPLES], gain = 0, square = 0;
            find_values(w, m, (const int[]){p, q}, values);
            for (int i = 0; i < m->count; i++) {
                square += values[i] * values[i];
                for (int j = 0; j < m->count; j++) gain += values[i] * values[j] * gram[i][j];
            }
            if (!(square > 0) || gain / square <= most) continue;
            most = gain / square, found.power[0] = p, found.power[1] = q;
        }
    find_shape(w, m, found.power);
    for (size_t c = 0; c < w->b->numbers; c += 3)
        found.size =
            fmax(found.size, sqrt(w->shape[c] * w->shape[c] + w->shape[c + 1] * w->shape[c + 1] +
                                  w->shape[c + 2] * w->shape[c + 2]));
    return found;
}

static int by_size(const void *x, const void *y) {
    const contact *a = x, *b = y;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return a->meeting - b->meeting;
}

/* Room for `more` shapes, each with a function of its own. */
static sinew_status grow(sn_baker *b, int more) {
    size_t F = (size_t)b->chosen_count, K = (size_t)b->shape_count, m = (size_t)more;
    double *coefficients = SN_NEW0(double, (F + m) * (K + m));
    float *displacements = SN_NEW(float, (K + m) * b->numbers);
    int *chosen = SN_NEW(int, F + m);
    if (!coefficients || !displacements || !chosen) {
        sn_free(coefficients), sn_free(displacements), sn_free(chosen);
        return sn_no_memory(b->error);
    }
    for (size_t j = 0; j < K; j++)
        memcpy(coefficients + (F + m) * j, b->coefficients + F * j, F * sizeof *coefficients);
    memcpy(displacements, b->displacements, K * b->numbers * sizeof *displacements);
    memcpy(chosen, b->chosen, F * sizeof *chosen);
    sn_free(b->coefficients), sn_free(b->displacements), sn_free(b->chosen);
    b->coefficients = coefficients, b->displacements = displacements, b->chosen = chosen;
    return SINEW_OK;
}

static sinew_status add_shapes(worker *w, const contact *contacts, int count) {
    sn_baker *b = w->b;
    size_t old = (size_t)b->shape_count, F = (size_t)b->chosen_count;
    float *shapes = SN_NEW(float, (size_t)count * b->numbers);
    if (!shapes) return sn_no_memory(b->error);
    for (int i = 0; i < count; i++) { /* while the fit is as it was */
        const sn_bake_meeting *m = &b->meetings[contacts[i].meeting];
        find_left(w, m);
        find_shape(w, m, contacts[i].power);
        for (size_t c = 0; c < b->numbers; c++)
            shapes[(size_t)i * b->numbers + c] = (float)w->shape[c];
    }
    sinew_status status = grow(b, count);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        const sn_bake_meeting *m = &b->meetings[contacts[i].meeting];
        sn_bake_function f = {.kind = SN_BAKE_PRODUCT,
                              .slider = {m->slider[0], m->slider[1]},
                              .power = {contacts[i].power[0], contacts[i].power[1]},
                              .own = 1};
        size_t shape = old + (size_t)i, function = F + (size_t)i;
        b->coefficients[(F + (size_t)count) * shape + function] = 1;
        b->chosen[function] = b->function_count;
        status = sn_bake_add_function(b, &f);
        memcpy(b->displacements + shape * b->numbers, shapes + (size_t)i * b->numbers,
               b->numbers * sizeof *shapes);
    }
    if (status == SINEW_OK) b->shape_count += count, b->chosen_count += count;
    sn_free(shapes);
    return status;
}

sinew_status sn_bake_add_contact(sn_baker *b, int limit) {
    if (limit <= 0) return SINEW_OK;
    worker w = {
        .b = b, .activations = SN_NEW(double, b->shape_count), .shape = SN_NEW(double, b->numbers)};
    contact *contacts = SN_NEW(contact, b->meeting_count);
    bool room = w.activations && w.shape && contacts;
    for (int i = 0; i < MOST_SAMPLES; i++) {
        w.left[i] = SN_NEW(double, b->numbers);
        room &= w.left[i] != NULL;
    }
    sinew_status status = room ? SINEW_OK : sn_no_memory(b->error);
    if (status == SINEW_OK) {
        for (int i = 0; i < b->meeting_count; i++) contacts[i] = examine(&w, i);
        qsort(contacts, (size_t)b->meeting_count, sizeof *contacts, by_size);
        int count = 0;
        while (count < limit && contacts[count].size > b->options->tolerance * b->diagonal) count++;
        if (count > 0) status = add_shapes(&w, contacts, count);
    }
    for (int i = 0; i < MOST_SAMPLES; i++) sn_free(w.left[i]);
    sn_free(w.activations), sn_free(w.shape), sn_free(contacts);
    return status;
}
