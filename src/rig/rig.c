/* Building a rig and looking things up in it. */
#include "sinew/rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

sinew_status sinew_rig_create(sinew_mesh *neutral, sinew_rig **rig, sinew_error *error) {
    if (!neutral || !rig) {
        sinew_mesh_destroy(neutral);
        return sn_misuse(error, "neutral && rig", __func__);
    }
    *rig = SN_NEW0(sinew_rig, 1);
    if (!*rig) {
        sinew_mesh_destroy(neutral);
        return sn_no_memory(error);
    }
    (*rig)->neutral = neutral;
    return SINEW_OK;
}

static void free_target(sinew_target *target) {
    sn_free(target->name);
    sn_free(target->drivers);
    sn_free(target->terms);
    sn_free(target->vertices);
    sn_free(target->deltas);
}

void sinew_rig_destroy(sinew_rig *rig) {
    if (!rig) return;
    for (int i = 0; i < rig->target_count; i++) free_target(&rig->targets[i]);
    for (int i = 0; i < rig->slider_count; i++) {
        sn_free(rig->sliders[i].name);
        sn_free(rig->sliders[i].group);
    }
    for (int i = 0; i < rig->region_count; i++) {
        sn_free(rig->regions[i].name);
        sn_free(rig->regions[i].vertices);
    }
    sn_free(rig->targets);
    sn_free(rig->sliders);
    sn_free(rig->regions);
    sinew_mesh_destroy(rig->neutral);
    sn_free(rig);
}

/* --- targets ----------------------------------------------------------------------------------
 */

/* Many times what the largest rigs have. Names are compared in pairs, here and elsewhere. */
enum { MOST_TARGETS = 16384 };

static sinew_status check_name(const sinew_rig *rig, const char *name, bool slider,
                               sinew_error *error) {
    if (rig->target_count >= MOST_TARGETS)
        return sn_fail(error, SINEW_BAD_INPUT, "a rig can have %d targets at most", MOST_TARGETS);
    if (!*name) return sn_fail(error, SINEW_BAD_INPUT, "a target has an empty name");
    for (int i = 0; i < rig->target_count; i++)
        if (strcmp(rig->targets[i].name, name) == 0)
            return sn_fail(error, SINEW_BAD_INPUT, "two targets are named \"%s\"", name);
    for (int i = 0; slider && i < rig->slider_count; i++)
        if (strcmp(rig->sliders[i].name, name) == 0)
            return sn_fail(error, SINEW_BAD_INPUT, "two sliders are named \"%s\"", name);
    return SINEW_OK;
}

static int compare_ints(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

typedef struct indexed {
    int vertex, place;
} indexed;

static int compare_indexed(const void *a, const void *b) {
    int x = ((const indexed *)a)->vertex, y = ((const indexed *)b)->vertex;
    return (x > y) - (x < y);
}

/* Copies the displacements, sorted by vertex, into the target. */
static sinew_status take_deltas(const sinew_rig *rig, const char *name, int count,
                                const int *vertices, const double *deltas, sinew_target *target,
                                sinew_error *error) {
    bool sorted = true;
    for (int i = 0; i < count; i++) {
        if (vertices[i] < 0 || vertices[i] >= rig->neutral->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "target \"%s\": vertex %d is out of range, the mesh has %d", name,
                           vertices[i], rig->neutral->vertex_count);
        for (int c = 0; c < 3; c++)
            if (!isfinite(deltas[3 * (size_t)i + (size_t)c]))
                return sn_fail(error, SINEW_BAD_INPUT,
                               "target \"%s\": displacement of vertex %d is not finite", name,
                               vertices[i]);
        if (i > 0 && vertices[i] <= vertices[i - 1]) sorted = false;
    }
    target->count = count;
    if (sorted) {
        target->vertices = sn_memdup(vertices, (size_t)count, sizeof *vertices);
        target->deltas = sn_memdup(deltas, (size_t)count, 3 * sizeof *deltas);
        return target->vertices && target->deltas ? SINEW_OK : sn_no_memory(error);
    }
    target->vertices = SN_NEW(int, count);
    target->deltas = sn_alloc((size_t)count, 3 * sizeof(double));
    indexed *order = SN_NEW(indexed, count);
    if (!target->vertices || !target->deltas || !order) {
        sn_free(order);
        return sn_no_memory(error);
    }
    for (int i = 0; i < count; i++) order[i] = (indexed){vertices[i], i};
    qsort(order, (size_t)count, sizeof *order, compare_indexed);
    sinew_status status = SINEW_OK;
    for (int i = 0; i < count; i++) {
        if (i > 0 && order[i].vertex == order[i - 1].vertex) {
            status = sn_fail(error, SINEW_BAD_INPUT, "target \"%s\": vertex %d appears twice", name,
                             order[i].vertex);
            break;
        }
        target->vertices[i] = order[i].vertex;
        memcpy(target->deltas + 3 * (size_t)i, deltas + 3 * (size_t)order[i].place,
               3 * sizeof(double));
    }
    sn_free(order);
    return status;
}

/* Takes over what `target` owns, also on failure. */
static sinew_status append_target(sinew_rig *rig, sinew_target target, sinew_error *error) {
    sinew_target *grown = sn_realloc(rig->targets, (size_t)rig->target_count + 1, sizeof *grown);
    if (!grown) {
        free_target(&target);
        return sn_no_memory(error);
    }
    rig->targets = grown;
    grown[rig->target_count++] = target;
    return SINEW_OK;
}

static sinew_status append_slider(sinew_rig *rig, const char *name, sinew_error *error) {
    sinew_slider *grown = sn_realloc(rig->sliders, (size_t)rig->slider_count + 1, sizeof *grown);
    if (!grown) return sn_no_memory(error);
    rig->sliders = grown;
    char *copy = sn_strdup(name);
    if (!copy) return sn_no_memory(error);
    grown[rig->slider_count++] = (sinew_slider){.name = copy,
                                                .minimum = SINEW_SLIDER_MINIMUM,
                                                .maximum = SINEW_SLIDER_MAXIMUM,
                                                .mirror = -1};
    return SINEW_OK;
}

/* Adds the displacements to a target, and the target to the rig, which owns it from here on.
 * copied: whether there was memory for its names and lists. */
static sinew_status finish_target(sinew_rig *rig, sinew_target target, bool copied, int count,
                                  const int *vertices, const double *deltas, sinew_error *error) {
    sinew_status status =
        copied ? take_deltas(rig, target.name, count, vertices, deltas, &target, error)
               : sn_no_memory(error);
    if (status == SINEW_OK) return append_target(rig, target, error);
    free_target(&target);
    return status;
}

sinew_status sinew_rig_add_target(sinew_rig *rig, const char *name, int count, const int *vertices,
                                  const double *deltas, sinew_error *error) {
    SN_REQUIRE(rig && name, error);
    SN_REQUIRE(count >= 0 && (count == 0 || (vertices && deltas)), error);
    SN_TRY(check_name(rig, name, true, error));
    sinew_target target = {.kind = SINEW_TARGET_KIND_PLAIN, .slider = rig->slider_count, .at = 1};
    target.name = sn_strdup(name);
    sinew_status status = target.name ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = take_deltas(rig, name, count, vertices, deltas, &target, error);
    if (status == SINEW_OK) status = append_slider(rig, name, error);
    if (status != SINEW_OK) {
        free_target(&target);
        return status;
    }
    status = append_target(rig, target, error);
    if (status != SINEW_OK) sn_free(rig->sliders[--rig->slider_count].name);
    return status;
}

/* d with f0 + d as near to p as rounding allows: the difference, moved by one ulp where the sum
 * would otherwise round to a neighbor of p. */
static double exact_difference(double p, double f0) {
    double d = p - f0, sum = f0 + d;
    if (sum != p) {
        double nudged = nextafter(d, sum < p ? INFINITY : -INFINITY);
        if (fabs(f0 + nudged - p) < fabs(sum - p)) d = nudged;
    }
    return d;
}

sinew_status sinew_rig_add_pose(sinew_rig *rig, const char *name, const double *positions,
                                sinew_error *error) {
    SN_REQUIRE(rig && name && positions, error);
    const sinew_mesh *neutral = rig->neutral;
    int count = 0;
    for (int v = 0; v < neutral->vertex_count; v++) {
        const double *p = positions + 3 * (size_t)v, *f0 = neutral->positions + 3 * (size_t)v;
        count += p[0] != f0[0] || p[1] != f0[1] || p[2] != f0[2];
    }
    int *vertices = SN_NEW(int, count);
    double *deltas = sn_alloc((size_t)count, 3 * sizeof(double));
    sinew_status status = vertices && deltas ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        int k = 0;
        for (int v = 0; v < neutral->vertex_count; v++) {
            const double *p = positions + 3 * (size_t)v, *f0 = neutral->positions + 3 * (size_t)v;
            if (p[0] == f0[0] && p[1] == f0[1] && p[2] == f0[2]) continue;
            vertices[k] = v;
            for (int c = 0; c < 3; c++)
                deltas[3 * (size_t)k + (size_t)c] = exact_difference(p[c], f0[c]);
            k++;
        }
        status = sinew_rig_add_target(rig, name, count, vertices, deltas, error);
    }
    sn_free(vertices);
    sn_free(deltas);
    return status;
}

sinew_status sinew_rig_add_inbetween(sinew_rig *rig, const char *name, int slider, double at,
                                     int count, const int *vertices, const double *deltas,
                                     sinew_error *error) {
    SN_REQUIRE(rig && name, error);
    SN_REQUIRE(count >= 0 && (count == 0 || (vertices && deltas)), error);
    SN_TRY(check_name(rig, name, false, error));
    if (slider < 0 || slider >= rig->slider_count)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "in-between \"%s\": slider %d is out of range, the rig has %d", name, slider,
                       rig->slider_count);
    if (!isfinite(at) || at == rig->sliders[slider].rest)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "in-between \"%s\": cannot sit at %g of slider \"%s\", whose rest is %g",
                       name, at, rig->sliders[slider].name, rig->sliders[slider].rest);
    for (int i = 0; i < rig->target_count; i++)
        if (rig->targets[i].slider == slider && rig->targets[i].at == at)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "in-between \"%s\": \"%s\" already sits at %g of slider \"%s\"", name,
                           rig->targets[i].name, at, rig->sliders[slider].name);
    sinew_target target = {.kind = SINEW_TARGET_KIND_INBETWEEN, .slider = slider, .at = at};
    target.name = sn_strdup(name);
    return finish_target(rig, target, target.name, count, vertices, deltas, error);
}

sinew_status sinew_rig_add_combination(sinew_rig *rig, const char *name, sinew_combine combine,
                                       int driver_count, const int *drivers, int count,
                                       const int *vertices, const double *deltas,
                                       sinew_error *error) {
    SN_REQUIRE(rig && name && drivers, error);
    SN_REQUIRE(count >= 0 && (count == 0 || (vertices && deltas)), error);
    SN_TRY(check_name(rig, name, false, error));
    if (driver_count < 1 || driver_count > SINEW_MAX_DRIVERS)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "combination \"%s\" has %d driving sliders, 1 to %d are possible", name,
                       driver_count, SINEW_MAX_DRIVERS);
    if (combine != SINEW_COMBINE_MULTIPLY && combine != SINEW_COMBINE_LOWEST &&
        combine != SINEW_COMBINE_SMOOTH_LOWEST)
        return sn_fail(error, SINEW_BAD_INPUT, "combination \"%s\": unknown rule %d", name,
                       (int)combine);
    for (int i = 0; i < driver_count; i++) {
        if (drivers[i] < 0 || drivers[i] >= rig->slider_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "combination \"%s\": slider %d is out of range, the rig has %d", name,
                           drivers[i], rig->slider_count);
        for (int j = 0; j < i; j++)
            if (drivers[i] == drivers[j] && combine != SINEW_COMBINE_MULTIPLY)
                return sn_fail(error, SINEW_BAD_INPUT,
                               "combination \"%s\" is driven twice by slider \"%s\"", name,
                               rig->sliders[drivers[i]].name);
    }
    sinew_target target = {.kind = SINEW_TARGET_KIND_COMBINATION,
                           .slider = -1,
                           .at = 1,
                           .combine = combine,
                           .driver_count = driver_count};
    target.name = sn_strdup(name);
    target.drivers = sn_memdup(drivers, (size_t)driver_count, sizeof *drivers);
    return finish_target(rig, target, target.name && target.drivers, count, vertices, deltas,
                         error);
}

static sinew_status check_terms(const sinew_rig *rig, const char *rule, const char *name,
                                int driver_count, const int *drivers, int term_count,
                                const sinew_term *terms, sinew_error *error) {
    if (driver_count < 1 || term_count < 1)
        return sn_fail(error, SINEW_BAD_INPUT, "%s \"%s\" needs drivers and terms", rule, name);
    for (int i = 0; i < driver_count; i++) {
        if (drivers[i] < 0 || drivers[i] >= rig->slider_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "%s \"%s\": slider %d is out of range, the rig has %d", rule, name,
                           drivers[i], rig->slider_count);
        for (int j = 0; j < i; j++)
            if (drivers[i] == drivers[j])
                return sn_fail(error, SINEW_BAD_INPUT, "%s \"%s\" is driven twice by slider \"%s\"",
                               rule, name, rig->sliders[drivers[i]].name);
    }
    for (int t = 0; t < term_count; t++) {
        int degree = 0;
        for (int f = 0; f < SINEW_TERM_FACTORS; f++) {
            int power = terms[t].power[f], driver = terms[t].driver[f];
            if (power < 0 || power > SINEW_MAX_POWER ||
                (power > 0 && (driver < 0 || driver >= driver_count)))
                return sn_fail(error, SINEW_BAD_INPUT,
                               "%s \"%s\": factor %d of term %d is out of range", rule, name, f, t);
            degree += power;
        }
        if (degree == 0 || !isfinite(terms[t].coefficient))
            return sn_fail(error, SINEW_BAD_INPUT, "%s \"%s\": term %d %s", rule, name, t,
                           degree == 0 ? "has no factor" : "is not finite");
    }
    return SINEW_OK;
}

static sinew_status add_with_terms(sinew_rig *rig, sinew_combine combine, const char *name,
                                   int driver_count, const int *drivers, int term_count,
                                   const sinew_term *terms, int count, const int *vertices,
                                   const double *deltas, sinew_error *error) {
    SN_REQUIRE(rig && name && drivers && terms, error);
    SN_REQUIRE(count >= 0 && (count == 0 || (vertices && deltas)), error);
    SN_TRY(check_name(rig, name, false, error));
    const char *rule = combine == SINEW_COMBINE_HINGE ? "hinge" : "polynomial";
    SN_TRY(check_terms(rig, rule, name, driver_count, drivers, term_count, terms, error));
    sinew_target target = {.kind = SINEW_TARGET_KIND_COMBINATION,
                           .slider = -1,
                           .at = 1,
                           .combine = combine,
                           .driver_count = driver_count,
                           .term_count = term_count};
    target.name = sn_strdup(name);
    target.drivers = sn_memdup(drivers, (size_t)driver_count, sizeof *drivers);
    target.terms = sn_memdup(terms, (size_t)term_count, sizeof *terms);
    return finish_target(rig, target, target.name && target.drivers && target.terms, count,
                         vertices, deltas, error);
}

sinew_status sinew_rig_add_polynomial(sinew_rig *rig, const char *name, int driver_count,
                                      const int *drivers, int term_count, const sinew_term *terms,
                                      int count, const int *vertices, const double *deltas,
                                      sinew_error *error) {
    return add_with_terms(rig, SINEW_COMBINE_POLYNOMIAL, name, driver_count, drivers, term_count,
                          terms, count, vertices, deltas, error);
}

sinew_status sinew_rig_add_hinge(sinew_rig *rig, const char *name, int driver_count,
                                 const int *drivers, int term_count, const sinew_term *terms,
                                 int count, const int *vertices, const double *deltas,
                                 sinew_error *error) {
    return add_with_terms(rig, SINEW_COMBINE_HINGE, name, driver_count, drivers, term_count, terms,
                          count, vertices, deltas, error);
}

/* --- regions, limits, groups, pairs -----------------------------------------------------------
 */

sinew_status sinew_rig_add_region(sinew_rig *rig, const char *name, int count, const int *vertices,
                                  sinew_error *error) {
    SN_REQUIRE(rig && name, error);
    SN_REQUIRE(count >= 0 && (count == 0 || vertices), error);
    if (!*name) return sn_fail(error, SINEW_BAD_INPUT, "a region has an empty name");
    for (int i = 0; i < rig->region_count; i++)
        if (strcmp(rig->regions[i].name, name) == 0)
            return sn_fail(error, SINEW_BAD_INPUT, "two regions are named \"%s\"", name);
    for (int i = 0; i < count; i++)
        if (vertices[i] < 0 || vertices[i] >= rig->neutral->vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "region \"%s\": vertex %d is out of range, the mesh has %d", name,
                           vertices[i], rig->neutral->vertex_count);
    sinew_region *grown = sn_realloc(rig->regions, (size_t)rig->region_count + 1, sizeof *grown);
    if (!grown) return sn_no_memory(error);
    rig->regions = grown;
    sinew_region region = {.name = sn_strdup(name),
                           .vertices = count ? sn_memdup(vertices, (size_t)count, sizeof *vertices)
                                             : SN_NEW(int, 1)};
    if (!region.name || !region.vertices) {
        sn_free(region.name);
        sn_free(region.vertices);
        return sn_no_memory(error);
    }
    qsort(region.vertices, (size_t)count, sizeof *region.vertices, compare_ints);
    for (int i = 0; i < count; i++)
        if (i == 0 || region.vertices[i] != region.vertices[i - 1])
            region.vertices[region.count++] = region.vertices[i];
    grown[rig->region_count++] = region;
    return SINEW_OK;
}

sinew_status sinew_rig_set_limits(sinew_rig *rig, int slider, double minimum, double maximum,
                                  sinew_error *error) {
    SN_REQUIRE(rig, error);
    SN_REQUIRE(slider >= 0 && slider < rig->slider_count, error);
    if (isnan(minimum) || isnan(maximum) || minimum > maximum || minimum == INFINITY ||
        maximum == -INFINITY)
        return sn_fail(error, SINEW_BAD_INPUT, "slider \"%s\": limits [%g, %g] hold no value",
                       rig->sliders[slider].name, minimum, maximum);
    rig->sliders[slider].minimum = minimum;
    rig->sliders[slider].maximum = maximum;
    return SINEW_OK;
}

sinew_status sinew_rig_set_group(sinew_rig *rig, int slider, const char *group,
                                 sinew_error *error) {
    SN_REQUIRE(rig, error);
    SN_REQUIRE(slider >= 0 && slider < rig->slider_count, error);
    char *copy = NULL;
    if (group && !(copy = sn_strdup(group))) return sn_no_memory(error);
    sn_free(rig->sliders[slider].group);
    rig->sliders[slider].group = copy;
    return SINEW_OK;
}

sinew_status sinew_rig_set_mirror(sinew_rig *rig, int slider, int mirror, sinew_error *error) {
    SN_REQUIRE(rig, error);
    SN_REQUIRE(slider >= 0 && slider < rig->slider_count, error);
    SN_REQUIRE(mirror >= -1 && mirror < rig->slider_count && mirror != slider, error);
    sinew_slider *sliders = rig->sliders;
    if (sliders[slider].mirror >= 0) sliders[sliders[slider].mirror].mirror = -1;
    if (mirror >= 0 && sliders[mirror].mirror >= 0) sliders[sliders[mirror].mirror].mirror = -1;
    sliders[slider].mirror = mirror;
    if (mirror >= 0) sliders[mirror].mirror = slider;
    return SINEW_OK;
}

/* --- copies and conversions -------------------------------------------------------------------
 */

static sinew_status copy_sliders(const sinew_rig *rig, sinew_rig *copy, sinew_error *error) {
    for (int i = 0; i < rig->slider_count; i++) {
        const sinew_slider *from = &rig->sliders[i];
        SN_TRY(append_slider(copy, from->name, error));
        sinew_slider *to = &copy->sliders[i];
        to->minimum = from->minimum;
        to->maximum = from->maximum;
        to->rest = from->rest;
        to->mirror = from->mirror;
        if (from->group && !(to->group = sn_strdup(from->group))) return sn_no_memory(error);
    }
    return SINEW_OK;
}

static sinew_status copy_targets(const sinew_rig *rig, sinew_rig *copy, sinew_error *error) {
    for (int i = 0; i < rig->target_count; i++) {
        sinew_target target = rig->targets[i];
        target.name = sn_strdup(target.name);
        target.drivers = target.drivers ? sn_memdup(target.drivers, (size_t)target.driver_count,
                                                    sizeof *target.drivers)
                                        : NULL;
        target.terms =
            target.terms ? sn_memdup(target.terms, (size_t)target.term_count, sizeof *target.terms)
                         : NULL;
        target.vertices = sn_memdup(target.vertices, (size_t)target.count, sizeof(int));
        target.deltas = sn_memdup(target.deltas, (size_t)target.count, 3 * sizeof(double));
        if (!target.name || (rig->targets[i].drivers && !target.drivers) ||
            (rig->targets[i].terms && !target.terms) || !target.vertices || !target.deltas) {
            free_target(&target);
            return sn_no_memory(error);
        }
        SN_TRY(append_target(copy, target, error));
    }
    return SINEW_OK;
}

sinew_status sinew_rig_copy(const sinew_rig *rig, sinew_rig **copy, sinew_error *error) {
    SN_REQUIRE(rig && copy, error);
    *copy = NULL;
    sinew_mesh *neutral;
    SN_TRY(sinew_mesh_copy(rig->neutral, &neutral, error));
    sinew_rig *made;
    SN_TRY(sinew_rig_create(neutral, &made, error));
    sinew_status status = copy_sliders(rig, made, error);
    if (status == SINEW_OK) status = copy_targets(rig, made, error);
    for (int i = 0; status == SINEW_OK && i < rig->region_count; i++)
        status = sinew_rig_add_region(made, rig->regions[i].name, rig->regions[i].count,
                                      rig->regions[i].vertices, error);
    if (status != SINEW_OK) {
        sinew_rig_destroy(made);
        return status;
    }
    *copy = made;
    return SINEW_OK;
}

void sinew_rig_shape(const sinew_rig *rig, int target, double *positions) {
    if (!rig || !positions || target < 0 || target >= rig->target_count) return;
    memcpy(positions, rig->neutral->positions,
           3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    const sinew_target *shape = &rig->targets[target];
    for (int i = 0; i < shape->count; i++)
        for (int c = 0; c < 3; c++)
            positions[3 * (size_t)shape->vertices[i] + (size_t)c] +=
                shape->deltas[3 * (size_t)i + (size_t)c];
}

void sinew_rig_whole_face_weights(const sinew_rig *rig, const double *activations, double *whole) {
    if (!rig || !activations || !whole) return;
    double sum = 0;
    for (int k = 0; k < rig->target_count; k++) {
        sum += activations[k];
        whole[1 + k] = activations[k];
    }
    whole[0] = 1 - sum;
}

void sinew_rig_rest_weights(const sinew_rig *rig, double *weights) {
    if (!rig || !weights) return;
    for (int i = 0; i < rig->slider_count; i++) weights[i] = rig->sliders[i].rest;
}
