#include "io/rig_json.h"

#include <limits.h>
#include <math.h>

#include "base/memory.h"

static const char *const kind_names[] = {"plain", "inbetween", "combination"};
static const char *const combine_names[] = {"multiply", "lowest", "smooth_lowest", "polynomial",
                                            "hinge"};

/* --- writing ---------------------------------------------------------------------------------- */

/* json_real refuses what is not finite; an absent limit means the same. */
static int set_number(json_t *object, const char *key, double value) {
    return isfinite(value) ? json_object_set_new(object, key, json_real(value)) : 0;
}

static json_t *slider_to_json(const sinew_rig *rig, const sinew_slider *slider) {
    json_t *object = json_object();
    int failed = json_object_set_new(object, "name", json_string(slider->name));
    failed |= set_number(object, "minimum", slider->minimum);
    failed |= set_number(object, "maximum", slider->maximum);
    failed |= set_number(object, "rest", slider->rest);
    if (slider->group) failed |= json_object_set_new(object, "group", json_string(slider->group));
    if (slider->mirror >= 0)
        failed |=
            json_object_set_new(object, "mirror", json_string(rig->sliders[slider->mirror].name));
    if (!failed) return object;
    json_decref(object);
    return NULL;
}

/* [coefficient, [driver, power], ...] per term. */
json_t *sn_terms_to_json(const sinew_target *target) {
    json_t *terms = json_array();
    int failed = !terms;
    for (int t = 0; t < target->term_count; t++) {
        const sinew_term *term = &target->terms[t];
        json_t *list = json_array();
        failed |= json_array_append_new(list, json_real(term->coefficient));
        for (int f = 0; f < SINEW_TERM_FACTORS; f++)
            if (term->power[f] > 0)
                failed |= json_array_append_new(
                    list, json_pack("[i, i]", term->driver[f], term->power[f]));
        failed |= json_array_append_new(terms, list);
    }
    if (!failed) return terms;
    json_decref(terms);
    return NULL;
}

static json_t *target_to_json(const sinew_rig *rig, const sinew_target *target) {
    json_t *object = json_object();
    int failed = json_object_set_new(object, "name", json_string(target->name));
    failed |= json_object_set_new(object, "kind", json_string(kind_names[target->kind]));
    if (target->kind == SINEW_TARGET_KIND_COMBINATION) {
        json_t *drivers = json_array();
        failed |=
            json_object_set_new(object, "combine", json_string(combine_names[target->combine]));
        for (int i = 0; i < target->driver_count; i++)
            failed |=
                json_array_append_new(drivers, json_string(rig->sliders[target->drivers[i]].name));
        failed |= json_object_set_new(object, "drivers", drivers);
        if (target->terms) failed |= json_object_set_new(object, "terms", sn_terms_to_json(target));
    } else {
        failed |=
            json_object_set_new(object, "slider", json_string(rig->sliders[target->slider].name));
        failed |= set_number(object, "at", target->at);
    }
    if (!failed) return object;
    json_decref(object);
    return NULL;
}

json_t *sn_regions_to_json(const sinew_rig *rig) {
    json_t *regions = json_object();
    int failed = 0;
    for (int r = 0; r < rig->region_count; r++) {
        json_t *vertices = json_array();
        for (int i = 0; i < rig->regions[r].count; i++)
            failed |= json_array_append_new(vertices, json_integer(rig->regions[r].vertices[i]));
        failed |= json_object_set_new(regions, rig->regions[r].name, vertices);
    }
    if (!failed) return regions;
    json_decref(regions);
    return NULL;
}

json_t *sn_rig_to_json(const sinew_rig *rig) {
    json_t *root = json_object(), *sliders = json_array(), *targets = json_array();
    int failed = json_object_set_new(root, "format", json_string("sinew-rig"));
    failed |= json_object_set_new(root, "version", json_integer(1));
    for (int i = 0; i < rig->slider_count; i++)
        failed |= json_array_append_new(sliders, slider_to_json(rig, &rig->sliders[i]));
    for (int i = 0; i < rig->target_count; i++)
        failed |= json_array_append_new(targets, target_to_json(rig, &rig->targets[i]));
    failed |= json_object_set_new(root, "sliders", sliders);
    failed |= json_object_set_new(root, "targets", targets);
    if (rig->region_count) failed |= json_object_set_new(root, "regions", sn_regions_to_json(rig));
    if (!failed) return root;
    json_decref(root);
    return NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Index of the exact name among the sliders, or -1. */
static int slider_index(const sinew_rig *rig, const char *name) {
    for (int i = 0; name && i < rig->slider_count; i++)
        if (strcmp(rig->sliders[i].name, name) == 0) return i;
    return -1;
}

static bool target_exists(const sinew_rig *rig, const char *name) {
    for (int i = 0; i < rig->target_count; i++)
        if (strcmp(rig->targets[i].name, name) == 0) return true;
    return false;
}

static sinew_status read_slider(const json_t *object, const char *file, sinew_rig *rig,
                                sinew_error *error) {
    int index = rig->slider_count;
    const char *name = sn_json_string(object, "name");
    if (!name || !*name)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: slider %d has no name", file, index);
    if (slider_index(rig, name) >= 0)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: two sliders are named \"%s\"", file, name);
    sinew_slider *slider = &rig->sliders[index];
    slider->minimum = sn_json_number(object, "minimum", -INFINITY);
    slider->maximum = sn_json_number(object, "maximum", INFINITY);
    slider->rest = sn_json_number(object, "rest", 0);
    slider->mirror = -1;
    if (!(slider->minimum <= slider->maximum))
        return sn_fail(error, SINEW_BAD_INPUT, "%s: slider \"%s\" has a minimum above its maximum",
                       file, name);
    const char *group = sn_json_string(object, "group");
    slider->name = sn_strdup(name);
    if (group) slider->group = sn_strdup(group);
    rig->slider_count++;
    return slider->name && (!group || slider->group) ? SINEW_OK : sn_no_memory(error);
}

static sinew_status read_sliders(const json_t *sliders, const char *file, sinew_rig *rig,
                                 sinew_error *error) {
    size_t count = json_array_size(sliders);
    rig->sliders = SN_NEW0(sinew_slider, count);
    if (!rig->sliders) return sn_no_memory(error);
    for (size_t i = 0; i < count; i++)
        SN_TRY(read_slider(json_array_get(sliders, i), file, rig, error));
    for (int i = 0; i < rig->slider_count; i++) {
        const char *mirror = sn_json_string(json_array_get(sliders, (size_t)i), "mirror");
        if (!mirror) continue;
        rig->sliders[i].mirror = slider_index(rig, mirror);
        if (rig->sliders[i].mirror < 0)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "%s: slider \"%s\" mirrors \"%s\", which does not exist", file,
                           rig->sliders[i].name, mirror);
    }
    return SINEW_OK;
}

static int find_word(const char *const *words, int count, const char *word) {
    for (int i = 0; word && i < count; i++)
        if (strcmp(words[i], word) == 0) return i;
    return -1;
}

static bool read_term(const json_t *list, int driver_count, sinew_term *term) {
    size_t size = json_array_size(list);
    const json_t *coefficient = json_array_get(list, 0);
    if (size < 2 || size > 1 + SINEW_TERM_FACTORS || !json_is_number(coefficient)) return false;
    *term = (sinew_term){.coefficient = json_number_value(coefficient)};
    for (size_t f = 0; f + 1 < size; f++) {
        const json_t *factor = json_array_get(list, f + 1);
        int64_t driver, power;
        if (json_array_size(factor) != 2 ||
            !sn_json_integer(json_array_get(factor, 0), 0, driver_count - 1, &driver) ||
            !sn_json_integer(json_array_get(factor, 1), 1, SINEW_MAX_POWER, &power))
            return false;
        term->driver[f] = (int)driver, term->power[f] = (int)power;
    }
    return true;
}

static sinew_status read_terms(const json_t *object, const char *file, sinew_target *target,
                               sinew_error *error) {
    const json_t *terms = json_object_get(object, "terms");
    size_t count = json_array_size(terms);
    if (count < 1 || count > INT_MAX)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: %s \"%s\" has no terms", file,
                       combine_names[target->combine], target->name);
    target->terms = SN_NEW(sinew_term, count);
    if (!target->terms) return sn_no_memory(error);
    for (size_t t = 0; t < count; t++, target->term_count++)
        if (!read_term(json_array_get(terms, t), target->driver_count, &target->terms[t]))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "%s: %s \"%s\": term %zu is not [coefficient, [driver, power], "
                           "...] with 1 to %d factors and powers up to %d",
                           file, combine_names[target->combine], target->name, t,
                           SINEW_TERM_FACTORS, SINEW_MAX_POWER);
    return SINEW_OK;
}

static sinew_status read_drivers(const json_t *object, const char *file, const sinew_rig *rig,
                                 sinew_target *target, sinew_error *error) {
    const json_t *drivers = json_object_get(object, "drivers");
    size_t count = json_array_size(drivers);
    int combine = find_word(combine_names, 5, sn_json_string(object, "combine"));
    bool terms = combine == SINEW_COMBINE_POLYNOMIAL || combine == SINEW_COMBINE_HINGE;
    int most = terms ? rig->slider_count : SINEW_MAX_DRIVERS;
    if (combine < 0 || count < 1 || count > (size_t)most)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s: combination \"%s\" needs a rule and 1 to %d drivers", file,
                       target->name, most);
    target->combine = (sinew_combine)combine;
    target->slider = -1;
    target->at = 1;
    target->drivers = SN_NEW(int, count);
    if (!target->drivers) return sn_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(drivers, i));
        int slider = slider_index(rig, name);
        if (slider < 0)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "%s: combination \"%s\" is driven by \"%s\", which does not exist", file,
                           target->name, name ? name : "?");
        for (int k = 0; k < target->driver_count; k++)
            if (target->drivers[k] == slider && combine != SINEW_COMBINE_MULTIPLY)
                return sn_fail(error, SINEW_BAD_INPUT,
                               "%s: combination \"%s\" is driven twice by \"%s\"", file,
                               target->name, name);
        target->drivers[target->driver_count++] = slider;
    }
    return terms ? read_terms(object, file, target, error) : SINEW_OK;
}

static sinew_status read_slider_place(const json_t *object, const char *file, const sinew_rig *rig,
                                      sinew_target *target, sinew_error *error) {
    const char *name = sn_json_string(object, "slider");
    target->slider = slider_index(rig, name);
    target->at = sn_json_number(object, "at", 1);
    if (target->slider < 0)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s: target \"%s\" is driven by \"%s\", which does not exist", file,
                       target->name, name ? name : "?");
    if (target->at == rig->sliders[target->slider].rest)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: target \"%s\" sits at the rest of its slider",
                       file, target->name);
    for (const sinew_target *other = rig->targets; other < target; other++)
        if (other->slider == target->slider && other->at == target->at)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "%s: targets \"%s\" and \"%s\" have the same value of slider \"%s\"",
                           file, other->name, target->name, name);
    return SINEW_OK;
}

static sinew_status read_target(const json_t *object, const char *file, sinew_rig *rig,
                                sinew_error *error) {
    const char *name = sn_json_string(object, "name");
    if (!name || !*name)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: target %d has no name", file,
                       rig->target_count);
    if (target_exists(rig, name))
        return sn_fail(error, SINEW_BAD_INPUT, "%s: two targets are named \"%s\"", file, name);
    int kind = find_word(kind_names, 3, sn_json_string(object, "kind"));
    if (kind < 0)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: target \"%s\" is of an unknown kind", file,
                       name);
    sinew_target *target = &rig->targets[rig->target_count++];
    target->kind = (sinew_target_kind)kind;
    target->name = sn_strdup(name);
    if (!target->name) return sn_no_memory(error);
    return target->kind == SINEW_TARGET_KIND_COMBINATION
               ? read_drivers(object, file, rig, target, error)
               : read_slider_place(object, file, rig, target, error);
}

sinew_status sn_regions_from_json(const json_t *regions, const char *file, sinew_rig *rig,
                                  sinew_error *error) {
    const char *name;
    json_t *vertices;
    json_object_foreach((json_t *)regions, name, vertices) {
        size_t count = json_array_size(vertices);
        if (!json_is_array(vertices))
            return sn_fail(error, SINEW_BAD_INPUT, "%s: region \"%s\" is not a list", file, name);
        int *list = SN_NEW(int, count);
        if (!list) return sn_no_memory(error);
        sinew_status status = SINEW_OK;
        for (size_t i = 0; status == SINEW_OK && i < count; i++) {
            int64_t vertex = 0;
            if (!sn_json_integer(json_array_get(vertices, i), 0, rig->neutral->vertex_count - 1,
                                 &vertex))
                status = sn_fail(error, SINEW_BAD_INPUT,
                                 "%s: region \"%s\": entry %zu is not a vertex of %d", file, name,
                                 i, rig->neutral->vertex_count);
            list[i] = (int)vertex;
        }
        if (status == SINEW_OK) {
            status = sinew_rig_add_region(rig, name, (int)count, list, error);
            status = sn_source_blame(&(sn_source){.name = file}, status, error);
        }
        sn_free(list);
        SN_TRY(status);
    }
    return SINEW_OK;
}

sinew_status sn_rig_from_json(const json_t *root, const char *file, sinew_rig *rig,
                              sinew_error *error) {
    const char *format = sn_json_string(root, "format");
    if (!format || strcmp(format, "sinew-rig") != 0)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: is not a rig description", file);
    if (json_integer_value(json_object_get(root, "version")) != 1)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: version of the rig description is not 1", file);
    SN_TRY(read_sliders(json_object_get(root, "sliders"), file, rig, error));
    const json_t *targets = json_object_get(root, "targets");
    size_t count = json_array_size(targets);
    rig->targets = SN_NEW0(sinew_target, count);
    if (!rig->targets) return sn_no_memory(error);
    for (size_t i = 0; i < count; i++)
        SN_TRY(read_target(json_array_get(targets, i), file, rig, error));
    return sn_regions_from_json(json_object_get(root, "regions"), file, rig, error);
}
