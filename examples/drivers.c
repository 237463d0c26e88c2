/* Evaluate a driver table that `sinew bake --drivers` wrote: slider weights to target weights.
 *
 *   drivers drivers.json jawOpen=0.5 mouthSmileLeft=1
 *
 * prints the weight of every target that is not zero. The evaluator, up to `evaluate`, needs a JSON
 * parser and nothing of Sinew. Without arguments the program compares it with the library. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sinew/sinew.h>

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static int find(const json_t *list, const char *key, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *own = json_string_value(key ? json_object_get(item, key) : item);
        if (own && strcmp(own, name) == 0) return (int)i;
    }
    return -1;
}

/* One slider: linear from knot to knot, its rest being a knot that moves nothing. */
static void along(const json_t *targets, const json_t *slider, double w, double *result) {
    const json_t *knots = json_object_get(slider, "knots");
    int count = 1, target[64] = {-1}, i = 0;
    double at[64] = {number(slider, "rest")};
    for (size_t k = 0; k < json_array_size(knots) && count < 64; k++, count++) {
        const json_t *knot = json_array_get(knots, k);
        int place = count;
        for (; place > 0 && at[place - 1] > number(knot, "at"); place--)
            at[place] = at[place - 1], target[place] = target[place - 1];
        at[place] = number(knot, "at");
        target[place] = find(targets, NULL, json_string_value(json_object_get(knot, "target")));
    }
    if (count == 1) return;
    while (i + 2 < count && w >= at[i + 1]) i++;
    double t = (w - at[i]) / (at[i + 1] - at[i]);
    if (target[i] >= 0) result[target[i]] = 1 - t;
    if (target[i + 1] >= 0) result[target[i + 1]] = t;
}

static double combined(const json_t *rule, const double *u, int count) {
    double product = 1, lowest = INFINITY, sum = 0, total = 0;
    const json_t *terms = json_object_get(rule, "terms");
    for (size_t i = 0; i < json_array_size(terms); i++) {
        const json_t *term = json_array_get(terms, i);
        double part = json_number_value(json_array_get(term, 0));
        for (size_t k = 1; k < json_array_size(term); k++) {
            const json_t *factor = json_array_get(term, k);
            part *= pow(fmin(u[json_integer_value(json_array_get(factor, 0))], 1),
                        json_number_value(json_array_get(factor, 1)));
        }
        total += part;
    }
    for (int i = 0; i < count; i++)
        product *= u[i], lowest = fmin(lowest, u[i]), sum += pow(u[i], -4);
    const char *name = json_string_value(json_object_get(rule, "rule"));
    if (strcmp(name, "polynomial") == 0) return total;
    if (strcmp(name, "hinge") == 0) return fmax(total - 1, 0);
    if (strcmp(name, "multiply") == 0) return product;
    return strcmp(name, "lowest") == 0 || lowest <= 0 ? lowest : pow(sum / count, -0.25);
}

/* result: a weight per target, from a weight per slider. */
static void evaluate(const json_t *table, const double *weights, double *result) {
    const json_t *targets = json_object_get(table, "targets"),
                 *sliders = json_object_get(table, "sliders");
    const json_t *rules = json_object_get(table, "combinations");
    double u[256];
    memset(result, 0, json_array_size(targets) * sizeof *result);
    for (size_t s = 0; s < json_array_size(sliders); s++)
        along(targets, json_array_get(sliders, s), weights[s], result);
    for (size_t c = 0; c < json_array_size(rules); c++) {
        const json_t *rule = json_array_get(rules, c), *drivers = json_object_get(rule, "drivers");
        int count = (int)json_array_size(drivers) < 256 ? (int)json_array_size(drivers) : 256;
        for (int i = 0; i < count; i++) {
            int s = find(sliders, "name", json_string_value(json_array_get(drivers, (size_t)i)));
            double rest = number(json_array_get(sliders, (size_t)s), "rest");
            u[i] = fmax((weights[s] - rest) / (rest != 1 ? 1 - rest : 1), 0);
        }
        result[find(targets, NULL, json_string_value(json_object_get(rule, "target")))] =
            combined(rule, u, count);
    }
}

/* The table of a rig with in-betweens and every rule, against the library. */
static int compare(void) {
    sinew_error error;
    sinew_rig *rig;
    sinew_sample_options small;
    sinew_sample_options_init(&small);
    small.vertices = 1000;
    if (sinew_sample_rig("hand", &small, &rig, &error) != SINEW_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    const int vertex = 1, drivers[] = {0, 1};
    const double delta[] = {0, 1, 0};
    const sinew_term terms[] = {{0.5, {0}, {3}}, {-1.5, {0, 1}, {1, 2}}};
    const sinew_term touch[] = {{0.9, {0}, {1}}, {0.7, {1}, {1}}};
    sinew_rig_add_inbetween(rig, "some", 0, 0.3, 1, &vertex, delta, &error);
    sinew_rig_add_inbetween(rig, "most", 0, 0.7, 1, &vertex, delta, &error);
    sinew_rig_add_combination(rig, "both", SINEW_COMBINE_MULTIPLY, 2, drivers, 1, &vertex, delta,
                              &error);
    sinew_rig_add_combination(rig, "soft", SINEW_COMBINE_SMOOTH_LOWEST, 2, drivers, 1, &vertex,
                              delta, &error);
    sinew_rig_add_polynomial(rig, "curve", 2, drivers, 2, terms, 1, &vertex, delta, &error);
    sinew_rig_add_hinge(rig, "touch", 2, drivers, 2, touch, 1, &vertex, delta, &error);
    if (sinew_drivers_write("example_drivers.json", rig, &error) != SINEW_OK) return 1;
    json_t *table = json_load_file("example_drivers.json", 0, NULL);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights), most = 0;
    double *own = calloc((size_t)rig->target_count, sizeof *own),
           *other = calloc((size_t)rig->target_count, sizeof *own);
    for (int pose = 0; table && pose < 100; pose++) {
        for (int s = 0; s < rig->slider_count; s++)
            weights[s] = 0.01 * ((pose * 37 + s * 61) % 120);
        evaluate(table, weights, own);
        sinew_rig_activations(rig, weights, other);
        for (int t = 0; t < rig->target_count; t++) most = fmax(most, fabs(own[t] - other[t]));
    }
    printf("100 poses, %d targets: largest difference %g\n", rig->target_count, most);
    int failed = !table || !(most < 1e-12);
    json_decref(table), free(weights), free(own), free(other);
    sinew_rig_destroy(rig);
    return failed;
}

int main(int count, char **arguments) {
    if (count < 2) return compare();
    json_t *table = json_load_file(arguments[1], 0, NULL);
    const json_t *sliders = json_object_get(table, "sliders"),
                 *targets = json_object_get(table, "targets");
    double *weights = calloc(json_array_size(sliders) + 1, sizeof *weights);
    double *result = calloc(json_array_size(targets) + 1, sizeof *result);
    for (size_t s = 0; s < json_array_size(sliders); s++)
        weights[s] = number(json_array_get(sliders, s), "rest");
    for (int i = 2; i < count; i++) {
        char *equals = strchr(arguments[i], '=');
        if (equals) *equals = 0;
        int s = find(sliders, "name", arguments[i]);
        if (!equals || s < 0) return fprintf(stderr, "no slider is named %s\n", arguments[i]), 1;
        weights[s] = atof(equals + 1);
    }
    if (table) evaluate(table, weights, result);
    for (size_t t = 0; t < json_array_size(targets); t++)
        if (result[t] != 0)
            printf("%s %.9g\n", json_string_value(json_array_get(targets, t)), result[t]);
    free(weights), free(result);
    return table ? (json_decref(table), 0) : 1;
}
