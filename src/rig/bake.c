/* Baking a model into targets of a rig; baker.h lists the steps. */
#include "sinew/bake.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algebra/solver_libraries.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/threads.h"
#include "rig/bake_samples.h"
#include "rig/baker.h"

enum {
    TERMS_PER_TARGET = 16, /* functions that the shapes of a polynomial bake share */
    SAMPLES_PER_FUNCTION = 3
};
#define SMALLEST_SLOPE 1e-3              /* of a hinge */
#define SMALLEST_TERM  1e-5              /* of the largest coefficient of a polynomial */
#define MOST_MEMORY    ((size_t)1 << 30) /* bytes of samples */

void sinew_bake_options_init(sinew_bake_options *options) {
    if (!options) return;
    *options = (sinew_bake_options){.size = sizeof *options,
                                    .max_targets = SINEW_BAKE_TARGETS,
                                    .tolerance = SINEW_BAKE_TOLERANCE,
                                    .max_samples = SINEW_BAKE_SAMPLES,
                                    .max_contact_samples = SINEW_BAKE_CONTACT_SAMPLES,
                                    .style = SINEW_BAKE_STYLE_POLYNOMIALS};
}

static void release(sn_baker *b) {
    for (int i = 0; i < b->function_count; i++) sn_free(b->functions[i].values);
    sn_free(b->functions), sn_free(b->chosen), sn_free(b->basis), sn_free(b->displacements);
    sn_free(b->weights), sn_free(b->residuals), sn_free(b->positions), sn_free(b->blend);
    sn_free(b->gram), sn_free(b->scale), sn_free(b->coefficients), sn_free(b->triangles),
        sn_free(b->alone), sn_free(b->alone_onset);
    for (int k = 0; b->contact && k < b->sample_count; k++) sn_free(b->contact[k]);
    sn_free(b->contact);
    for (int i = 0; i < b->site_count; i++) sn_bake_site_free(&b->sites[i]);
    sn_free(b->known), sn_free(b->rest_known), sn_free(b->meetings), sn_free(b->sites);
    sinew_linear_destroy(b->linear);
}

/* ---- the baked rig --------------------------------------------------------------------------- */

/* Arrays for one target at a time. */
typedef struct builder {
    sn_baker *b;
    sinew_rig *rig;
    double least; /* displacements up to this length are dropped */
    double *displacement, *deltas;
    int *vertices;
    sinew_term *terms;
    int *drivers, *place; /* of a polynomial; place of a slider among the drivers, or -1 */
    char name[600];
} builder;

/* Vertices whose displacement can be seen; returns how many. */
static int gather(builder *w) {
    int count = 0;
    for (size_t v = 0; v < w->b->numbers / 3; v++) {
        const double *d = w->displacement + 3 * v;
        if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= w->least * w->least) continue;
        w->vertices[count] = (int)v;
        memcpy(w->deltas + 3 * (size_t)count, d, 3 * sizeof *d);
        count++;
    }
    return count;
}

static void make_unique(builder *w) {
    size_t length = strlen(w->name);
    for (int k = 2; sinew_rig_find_target(w->rig, w->name) >= 0; k++)
        snprintf(w->name + length, sizeof w->name - length, "_%d", k);
}

/* "fix_jawOpen2_smile": the sliders of a function and their powers. */
static void name_after(builder *w, const char *start, const sn_bake_function *f) {
    size_t length = (size_t)snprintf(w->name, sizeof w->name, "%s", start);
    for (int i = 0; i < SN_BAKE_FACTORS && f->power[i] > 0; i++) {
        const char *slider = w->b->rig->sliders[f->slider[i]].name;
        length += (size_t)snprintf(w->name + length, sizeof w->name - length,
                                   f->power[i] > 1 ? "_%.150s%d" : "_%.150s", slider, f->power[i]);
    }
    make_unique(w);
}

static void take_shape(builder *w, int shape) {
    const float *d = w->b->displacements + (size_t)shape * w->b->numbers;
    for (size_t i = 0; i < w->b->numbers; i++) w->displacement[i] = (double)d[i];
}

static sinew_status add_product(builder *w, const sn_bake_function *f, int shape) {
    int drivers[SINEW_MAX_DRIVERS], driver_count = 0;
    for (int i = 0; i < SN_BAKE_FACTORS; i++)
        for (int p = 0; p < f->power[i] && driver_count < SINEW_MAX_DRIVERS; p++)
            drivers[driver_count++] = f->slider[i];
    name_after(w, "fix", f);
    take_shape(w, shape);
    int count = gather(w);
    return sinew_rig_add_combination(w->rig, w->name, SINEW_COMBINE_MULTIPLY, driver_count, drivers,
                                     count, w->vertices, w->deltas, w->b->error);
}

/* An in-between holds the whole displacement at its knot: the blend's and that of every hat. */
static sinew_status add_inbetween(builder *w, const sn_bake_function *f) {
    sn_baker *b = w->b;
    int slider = f->slider[0];
    double at = sn_bake_weight(&b->rig->sliders[slider], f->knot);
    double *row = SN_NEW(double, b->rig->slider_count);
    if (!row) return sn_no_memory(b->error);
    sinew_rig_rest_weights(b->rig, row);
    sinew_linear_evaluate(b->linear, row, b->positions);
    row[slider] = at;
    sinew_linear_evaluate(b->linear, row, b->blend);
    for (size_t i = 0; i < b->numbers; i++) w->displacement[i] = b->blend[i] - b->positions[i];
    for (int j = 0; j < b->chosen_count; j++) {
        const sn_bake_function *hat = &b->functions[b->chosen[j]];
        double value = hat->kind == SN_BAKE_HAT ? sn_bake_evaluate(b, hat, row) : 0;
        for (size_t i = 0; value != 0 && i < b->numbers; i++)
            w->displacement[i] += value * (double)b->displacements[(size_t)j * b->numbers + i];
    }
    sn_free(row);
    snprintf(w->name, sizeof w->name, "%.200s_%d", b->rig->sliders[slider].name,
             (int)lround(1000 * f->knot));
    make_unique(w);
    int count = gather(w);
    return sinew_rig_add_inbetween(w->rig, w->name, slider, at, count, w->vertices, w->deltas,
                                   b->error);
}

static int driver_of(builder *w, int slider, int *driver_count) {
    if (w->place[slider] < 0) {
        w->drivers[*driver_count] = slider;
        w->place[slider] = (*driver_count)++;
    }
    return w->place[slider];
}

/* A curve u^p - u becomes two terms. */
static sinew_status add_polynomial(builder *w, int shape) {
    sn_baker *b = w->b;
    const double *own = b->coefficients + (size_t)shape * (size_t)b->chosen_count;
    double most = 0, widest = 0;
    int main_function = 0, driver_count = 0, term_count = 0;
    for (int s = 0; s < b->rig->slider_count; s++) w->place[s] = -1;
    for (int j = 0; j < b->chosen_count; j++) most = fmax(most, fabs(own[j]));
    for (int j = 0; j < b->chosen_count; j++) {
        const sn_bake_function *f = &b->functions[b->chosen[j]];
        if (fabs(own[j]) <= SMALLEST_TERM * most) continue;
        double width = fabs(own[j]) * sqrt(f->own);
        if (width > widest) widest = width, main_function = b->chosen[j];
        sinew_term term = {.coefficient = own[j]};
        for (int i = 0; i < SN_BAKE_FACTORS && f->power[i] > 0; i++) {
            term.driver[i] = driver_of(w, f->slider[i], &driver_count);
            term.power[i] = f->power[i];
        }
        w->terms[term_count++] = term;
        if (f->kind != SN_BAKE_CURVE) continue;
        w->terms[term_count++] = (sinew_term){-own[j], {term.driver[0]}, {1}};
    }
    char start[32];
    snprintf(start, sizeof start, "fix%02d", shape + 1);
    sn_bake_function named = b->functions[main_function];
    for (int i = 0; i < SN_BAKE_FACTORS; i++) named.power[i] = named.power[i] > 0;
    name_after(w, start, &named);
    take_shape(w, shape);
    int count = gather(w);
    return sinew_rig_add_polynomial(w->rig, w->name, driver_count, w->drivers, term_count, w->terms,
                                    count, w->vertices, w->deltas, b->error);
}

/* The largest value of a hinge over the samples. */
static double highest(const sn_baker *b, const sn_bake_function *f) {
    double most = 0;
    for (int k = 0; k < b->sample_count; k++)
        most = fmax(most, sn_bake_hinge(b, f->slopes,
                                        b->weights + (size_t)k * (size_t)b->rig->slider_count));
    return most;
}

/* Named after the two sliders that count most. */
static sinew_status add_hinge(builder *w, const sn_bake_function *f, int shape) {
    sn_baker *b = w->b;
    sn_bake_function named = {.slider = {-1, -1}};
    int driver_count = 0;
    for (int s = 0; s < b->rig->slider_count; s++) {
        if (fabs(f->slopes[s]) <= SMALLEST_SLOPE) continue;
        int place = named.slider[0] < 0 || f->slopes[s] > f->slopes[named.slider[0]]   ? 0
                    : named.slider[1] < 0 || f->slopes[s] > f->slopes[named.slider[1]] ? 1
                                                                                       : 2;
        if (place == 0) named.slider[1] = named.slider[0];
        if (place < 2) named.slider[place] = s;
        w->terms[driver_count] = (sinew_term){f->slopes[s], {driver_count}, {1}};
        w->drivers[driver_count++] = s;
    }
    for (int i = 0; i < 2; i++) named.power[i] = named.slider[i] >= 0;
    name_after(w, "contact", &named);
    take_shape(w, shape);
    double least = w->least; /* of a vertex where the hinge rises most */
    w->least /= fmax(highest(b, f), 1);
    int count = gather(w);
    w->least = least;
    return sinew_rig_add_hinge(w->rig, w->name, driver_count, w->drivers, driver_count, w->terms,
                               count, w->vertices, w->deltas, b->error);
}

static sinew_status add_shape(builder *w, int shape, sinew_bake_info *info) {
    sn_baker *b = w->b;
    int hinge = shape - (b->shape_count - b->hinge_count);
    const sn_bake_function *f =
        &b->functions[b->chosen[hinge >= 0 ? b->chosen_count - b->hinge_count + hinge : shape]];
    bool hat = hinge < 0 && !b->coefficients && f->kind == SN_BAKE_HAT;
    info->inbetweens += hat;
    info->combinations += !hat;
    return hinge >= 0        ? add_hinge(w, f, shape)
           : b->coefficients ? add_polynomial(w, shape)
           : hat             ? add_inbetween(w, f)
                             : add_product(w, f, shape);
}

static sinew_status build(sn_baker *b, sinew_rig **baked, sinew_bake_info *info) {
    builder w = {.b = b,
                 .displacement = SN_NEW(double, b->numbers),
                 .deltas = SN_NEW(double, b->numbers),
                 .vertices = SN_NEW(int, b->numbers / 3),
                 .terms =
                     SN_NEW(sinew_term, 2 * (size_t)b->chosen_count + (size_t)b->rig->slider_count),
                 .drivers = SN_NEW(int, b->rig->slider_count),
                 .place = SN_NEW(int, b->rig->slider_count)};
    w.least = SN_BAKE_INVISIBLE * fmin(b->options->tolerance, info->linear_error) * b->diagonal;
    sinew_status status =
        w.displacement && w.deltas && w.vertices && w.terms && w.drivers && w.place
            ? sinew_rig_copy(b->rig, &w.rig, b->error)
            : sn_no_memory(b->error);
    for (int j = 0; status == SINEW_OK && j < b->shape_count; j++) status = add_shape(&w, j, info);
    if (status != SINEW_OK) {
        sinew_rig_destroy(w.rig);
        w.rig = NULL;
    }
    *baked = w.rig;
    sn_free(w.displacement), sn_free(w.deltas), sn_free(w.vertices);
    sn_free(w.terms), sn_free(w.drivers), sn_free(w.place);
    return status;
}

/* ---- all steps ------------------------------------------------------------------------------- */

static sinew_status prepare(sn_baker *b) {
    const sinew_mesh *mesh = b->rig->neutral;
    b->numbers = 3 * (size_t)mesh->vertex_count;
    b->diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    if (b->numbers == 0 || !(b->diagonal > 0))
        return sn_fail(b->error, SINEW_BAD_INPUT, "the rig has no size");
    if (b->rig->slider_count == 0)
        return sn_fail(b->error, SINEW_BAD_INPUT, "the rig has no sliders to bake");
    size_t room = MOST_MEMORY / (b->numbers * sizeof *b->residuals);
    b->sample_limit = b->options->max_samples;
    if (room < (size_t)b->sample_limit) b->sample_limit = room > 200 ? (int)room : 200;
    if (b->sample_limit > b->options->max_samples) b->sample_limit = b->options->max_samples;
    b->contact_left = b->options->max_contact_samples;
    b->weights = SN_NEW(double, (size_t)b->sample_limit *(size_t)b->rig->slider_count);
    b->residuals = SN_NEW(float, (size_t)b->sample_limit * b->numbers);
    b->positions = SN_NEW(double, b->numbers);
    b->blend = SN_NEW(double, b->numbers);
    b->contact = SN_NEW0(float *, b->sample_limit);
    if (!b->weights || !b->residuals || !b->positions || !b->blend || !b->contact)
        return sn_no_memory(b->error);
    return sinew_linear_create(b->rig, &b->linear, b->error);
}

/* Of the samples as the model gave them. */
static double linear_error(const sn_baker *b) {
    double total = 0;
    for (size_t i = 0; i < (size_t)b->sample_count * b->numbers; i++)
        total += (double)b->residuals[i] * b->residuals[i];
    double vertices = (double)b->sample_count * (double)(b->numbers / 3);
    return vertices > 0 ? sqrt(total / vertices) / b->diagonal : 0;
}

static int most_functions(const sn_baker *b) {
    int most = b->options->max_targets - b->site_count;
    if (b->options->style == SINEW_BAKE_STYLE_INBETWEENS) return most;
    int room = b->sample_count / SAMPLES_PER_FUNCTION;
    most = most < 1000 ? TERMS_PER_TARGET * most : TERMS_PER_TARGET * 1000;
    return most < room ? most : room > 1 ? room : 1;
}

/* Few functions explain a joint, many small ones a face, whose sliders all meet. */
static sinew_status find_fit(sn_baker *b, sinew_bake_info *found) {
    bool many = b->options->style == SINEW_BAKE_STYLE_POLYNOMIALS &&
                b->rig->slider_count > SN_BAKE_MANY_SLIDERS;
    found->fitted_error = found->linear_error = linear_error(b);
    SN_TRY(sn_bake_part_contact(b, b->options->max_targets / SN_BAKE_CONTACT));
    SN_TRY(sn_bake_weigh(b));
    SN_TRY(many ? sn_bake_choose_all(b) : sn_bake_choose(b, most_functions(b)));
    return b->chosen_count > 0 ? sn_bake_fit(b, &found->fitted_worst, &found->fitted_error)
                               : sn_bake_add_contact(b);
}

sinew_status sinew_bake(const sinew_rig *rig, const sinew_bake_options *options,
                        sinew_bake_model *model, void *user, const sinew_monitor *monitor,
                        sinew_rig **baked, sinew_bake_info *info, sinew_error *error) {
    SN_REQUIRE(rig && model && baked && sn_info_ready(info), error);
    SN_TRY(sn_solvers_load(error)); /* products have no status */
    *baked = NULL;
    SN_OPTIONS(sinew_bake_options, chosen, options, error);
    SN_REQUIRE(chosen.max_targets >= 1 && chosen.tolerance >= 0, error);
    SN_REQUIRE(chosen.max_samples >= 10 && chosen.max_samples <= 5000, error);
    SN_REQUIRE(chosen.row_count == 0 || chosen.rows, error);
    SN_REQUIRE(chosen.max_contact_samples >= 0, error);
    SN_REQUIRE(!chosen.without_contact || chosen.self_contact, error);
    SN_REQUIRE(chosen.style == SINEW_BAKE_STYLE_POLYNOMIALS ||
                   chosen.style == SINEW_BAKE_STYLE_INBETWEENS,
               error);
    sn_baker b = {.rig = rig,
                  .options = &chosen,
                  .model = model,
                  .user = user,
                  .monitor = monitor,
                  .error = error};
    sinew_bake_info found = {.size = sizeof found};
    double start = sn_now();
    sinew_status status = prepare(&b);
    if (status == SINEW_OK) status = sn_bake_take_samples(&b);
    if (status == SINEW_OK) status = find_fit(&b, &found);
    if (status == SINEW_OK) status = build(&b, baked, &found);
    found.samples = b.sample_count;
    found.seconds = sn_now() - start;
    if (status == SINEW_OK) sn_info_write(info, &found, sizeof found);
    release(&b);
    return status;
}
