/* The driver table: how slider weights become target weights, for programs that know neither
 * in-betweens nor combinations. docs/bake.md describes the format. */
#include <stdlib.h>

#include "base/memory.h"
#include "io/format.h"
#include "io/json.h"
#include "io/rig_json.h"

static const char *const rules[] = {"multiply", "lowest", "smooth_lowest", "polynomial", "hinge"};

/* The targets of one slider in order of the value at which they are fully on. */
static json_t *knots_of(const sinew_rig *rig, int slider, int *order) {
    int count = 0;
    for (int t = 0; t < rig->target_count; t++) {
        if (rig->targets[t].slider != slider) continue;
        int at = count++;
        for (; at > 0 && rig->targets[order[at - 1]].at > rig->targets[t].at; at--)
            order[at] = order[at - 1];
        order[at] = t;
    }
    json_t *knots = json_array();
    for (int k = 0; k < count; k++)
        if (json_array_append_new(knots, json_pack("{s:f, s:s}", "at", rig->targets[order[k]].at,
                                                   "target", rig->targets[order[k]].name)) != 0) {
            json_decref(knots);
            return NULL;
        }
    return knots;
}

static json_t *combination_of(const sinew_rig *rig, const sinew_target *target) {
    json_t *drivers = json_array();
    for (int d = 0; d < target->driver_count; d++)
        json_array_append_new(drivers, json_string(rig->sliders[target->drivers[d]].name));
    json_t *object = json_pack("{s:s, s:s, s:o}", "target", target->name, "rule",
                               rules[target->combine], "drivers", drivers);
    json_t *terms = target->terms ? sn_terms_to_json(target) : NULL;
    if (target->terms && (!terms || json_object_set_new(object, "terms", terms) != 0)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *table_of(const sinew_rig *rig) {
    int *order = SN_NEW(int, rig->target_count);
    json_t *sliders = json_array(), *combinations = json_array(), *targets = json_array();
    bool failed = !order;
    for (int s = 0; !failed && s < rig->slider_count; s++)
        failed |=
            json_array_append_new(
                sliders, json_pack("{s:s, s:f, s:o}", "name", rig->sliders[s].name, "rest",
                                   rig->sliders[s].rest, "knots", knots_of(rig, s, order))) != 0;
    for (int t = 0; !failed && t < rig->target_count; t++) {
        failed |= json_array_append_new(targets, json_string(rig->targets[t].name)) != 0;
        if (rig->targets[t].kind == SINEW_TARGET_KIND_COMBINATION)
            failed |=
                json_array_append_new(combinations, combination_of(rig, &rig->targets[t])) != 0;
    }
    sn_free(order);
    json_t *table =
        failed ? NULL
               : json_pack("{s:s, s:i, s:O, s:O, s:O}", "format", "sinew-drivers", "version", 1,
                           "targets", targets, "sliders", sliders, "combinations", combinations);
    json_decref(sliders), json_decref(combinations), json_decref(targets);
    return table;
}

sinew_status sinew_drivers_write(const char *path, const sinew_rig *rig, sinew_error *error) {
    SN_REQUIRE(path && rig, error);
    json_t *table = table_of(rig);
    sn_buffer out = {0};
    sinew_status status = sn_json_write(table, true, &out, error);
    json_decref(table);
    sn_buffer_char(&out, '\n');
    return sn_format_finish(path, status, &out, error);
}
