/* Finding sliders by the many spellings of their names, and what hangs on it: weights given as
 * text, curves of another rig, groups and symmetric pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/forms.h"
#include "base/memory.h"
#include "base/status.h"
#include "rig/names.h"
#include "sinew/rig.h"

/* The slider of the same name on that side; otherwise with both names translated to ARKit. */
static int find_parsed(const sinew_rig *rig, const sn_name *wanted, sn_side side) {
    sn_name translated = *wanted;
    sn_name_translate_facs(&translated);
    int found = -1;
    for (int i = 0; i < rig->slider_count; i++) {
        sn_name name = sn_name_parse(rig->sliders[i].name);
        if (name.side == side && strcmp(name.base, wanted->base) == 0) return i;
        sn_name_translate_facs(&name);
        if (found < 0 && name.side == side && strcmp(name.base, translated.base) == 0) found = i;
    }
    return found;
}

/* A side after the number of an action unit is recognized with the unit. */
static sn_name parse_wanted(const char *name) {
    sn_name parsed = sn_name_parse(name), translated = parsed;
    sn_name_translate_facs(&translated);
    parsed.side = translated.side;
    return parsed;
}

int sinew_rig_find_slider(const sinew_rig *rig, const char *name) {
    if (!rig || !name) return -1;
    for (int i = 0; i < rig->slider_count; i++)
        if (strcmp(rig->sliders[i].name, name) == 0) return i;
    for (int i = 0; i < rig->slider_count; i++)
        if (strcasecmp(rig->sliders[i].name, name) == 0) return i;
    sn_name parsed = parse_wanted(name);
    return parsed.base[0] ? find_parsed(rig, &parsed, parsed.side) : -1;
}

int sinew_rig_find_target(const sinew_rig *rig, const char *name) {
    if (!rig || !name) return -1;
    for (int i = 0; i < rig->target_count; i++)
        if (strcmp(rig->targets[i].name, name) == 0) return i;
    for (int i = 0; i < rig->target_count; i++)
        if (strcasecmp(rig->targets[i].name, name) == 0) return i;
    return -1;
}

int sinew_rig_find_region(const sinew_rig *rig, const char *name) {
    if (!rig || !name) return -1;
    for (int i = 0; i < rig->region_count; i++)
        if (strcmp(rig->regions[i].name, name) == 0) return i;
    for (int i = 0; i < rig->region_count; i++)
        if (strcasecmp(rig->regions[i].name, name) == 0) return i;
    return -1;
}

/* jawLeft and jawRight are two directions of one thing, not its two halves: "jaw" means neither. */
static bool is_direction(const sn_name *name) {
    static const char *const moved[] = {"jaw", "mouth", "tongue", "head"};
    for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++)
        if (strcmp(name->base, moved[i]) == 0) return true;
    return false;
}

int sinew_rig_match(const sinew_rig *rig, const char *name, int sliders[2]) {
    if (!rig || !name || !sliders) return 0;
    sliders[0] = sinew_rig_find_slider(rig, name);
    if (sliders[0] >= 0) return 1;
    sn_name parsed = parse_wanted(name), translated = parsed;
    sn_name_translate_facs(&translated);
    if (!parsed.base[0] || is_direction(&translated)) return 0;
    if (parsed.side != SN_SIDE_NONE) {
        sliders[0] = find_parsed(rig, &parsed, SN_SIDE_NONE);
        return sliders[0] >= 0;
    }
    int left = find_parsed(rig, &parsed, SN_SIDE_LEFT);
    int right = find_parsed(rig, &parsed, SN_SIDE_RIGHT);
    if (left < 0 || right < 0) return 0;
    sliders[0] = left;
    sliders[1] = right;
    return 2;
}

sinew_status sn_slider_hint(const sinew_rig *rig, const char *name, char hint[SN_NAME_HINT_SIZE],
                            sinew_error *error) {
    const char **names = SN_NEW(const char *, rig->slider_count);
    if (!names) return sn_no_memory(error);
    for (int i = 0; i < rig->slider_count; i++) names[i] = rig->sliders[i].name;
    sn_name_hint(name, rig->slider_count, names, hint);
    sn_free(names);
    return SINEW_OK;
}

static sinew_status unknown_slider(const sinew_rig *rig, const char *name, int shown,
                                   const char *entry, sinew_error *error) {
    char hint[SN_NAME_HINT_SIZE];
    SN_TRY(sn_slider_hint(rig, name, hint, error));
    return sn_fail(error, SINEW_BAD_INPUT, "weight \"%.*s\": the rig has no such slider; %s", shown,
                   entry, hint);
}

/* Sets the sliders of one entry. named: per slider, whether an entry set it already. */
static sinew_status set_entry(const sinew_rig *rig, const sn_weight_entry *entry, double *weights,
                              bool *named, sinew_error *error) {
    char *name = sn_strndup(entry->name, entry->name_length);
    if (!name) return sn_no_memory(error);
    int sliders[2], count = sinew_rig_match(rig, name, sliders);
    sinew_status status =
        count ? SINEW_OK : unknown_slider(rig, name, entry->length, entry->text, error);
    sn_free(name);
    if (status == SINEW_OK && !(fabs(entry->value) <= SN_SLIDER_LIMIT))
        status = sn_fail(error, SINEW_BAD_INPUT, "weight \"%.*s\": not a number from -%g to %g",
                         entry->length, entry->text, SN_SLIDER_LIMIT, SN_SLIDER_LIMIT);
    for (int i = 0; i < count && status == SINEW_OK; i++) {
        if (named[sliders[i]])
            status = sn_fail(error, SINEW_BAD_INPUT, "weight \"%.*s\": slider %s is given twice",
                             entry->length, entry->text, rig->sliders[sliders[i]].name);
        named[sliders[i]] = true;
        weights[sliders[i]] = entry->value;
    }
    return status;
}

sinew_status sinew_rig_parse_weights(const sinew_rig *rig, const char *text, double *weights,
                                     sinew_error *error) {
    SN_REQUIRE(rig && text && weights, error);
    bool *named = SN_NEW0(bool, rig->slider_count);
    sinew_status status = named ? SINEW_OK : sn_no_memory(error);
    while (status == SINEW_OK && *text) {
        sn_weight_entry entry;
        status = sn_weight_next(&text, &entry, error);
        if (status == SINEW_OK) status = set_entry(rig, &entry, weights, named, error);
    }
    sn_free(named);
    return status;
}

sinew_status sn_match_channels(const sinew_rig *rig, const sinew_curves *curves, int *channel_of,
                               bool *used, sinew_error *error) {
    for (int s = 0; s < rig->slider_count; s++) channel_of[s] = -1;
    for (int c = 0; c < curves->channel_count; c++) {
        int sliders[2], count = sinew_rig_match(rig, curves->names[c], sliders);
        used[c] = count > 0;
        for (int i = 0; i < count; i++) {
            int before = channel_of[sliders[i]];
            if (before >= 0)
                return sn_fail(error, SINEW_BAD_INPUT,
                               "curves '%s' and '%s' both drive slider '%s'", curves->names[before],
                               curves->names[c], rig->sliders[sliders[i]].name);
            channel_of[sliders[i]] = c;
        }
    }
    return SINEW_OK;
}

static void copy_channels(const sinew_rig *rig, const sinew_curves *from, const int *channel_of,
                          sinew_curves *to) {
    memcpy(to->times, from->times, sizeof(double) * (size_t)from->time_count);
    for (int t = 0; t < from->time_count; t++) {
        const double *values = from->values + (size_t)t * (size_t)from->channel_count;
        double *weights = to->values + (size_t)t * (size_t)to->channel_count;
        for (int s = 0; s < rig->slider_count; s++)
            weights[s] = channel_of[s] >= 0 ? values[channel_of[s]] : rig->sliders[s].rest;
    }
}

sinew_status sinew_rig_bind_curves(const sinew_rig *rig, const sinew_curves *curves,
                                   sinew_curves **bound, int *unmatched, sinew_error *error) {
    SN_REQUIRE(rig && curves && bound, error);
    *bound = NULL;
    sinew_curves *made;
    SN_TRY(sinew_curves_create(rig->slider_count, curves->time_count, &made, error));
    int *channel_of = SN_NEW(int, rig->slider_count), missed = 0;
    bool *used = SN_NEW(bool, curves->channel_count);
    sinew_status status = channel_of && used ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < rig->slider_count; i++)
        status = sinew_curves_set_name(made, i, rig->sliders[i].name, error);
    if (status == SINEW_OK) status = sn_match_channels(rig, curves, channel_of, used, error);
    if (status == SINEW_OK) copy_channels(rig, curves, channel_of, made);
    for (int c = 0; status == SINEW_OK && c < curves->channel_count; c++) missed += !used[c];
    sn_free(channel_of), sn_free(used);
    if (status != SINEW_OK) {
        sinew_curves_destroy(made);
        return status;
    }
    if (unmatched) *unmatched = missed;
    *bound = made;
    return SINEW_OK;
}

sinew_status sinew_rig_deduce_from_names(sinew_rig *rig, sinew_error *error) {
    SN_REQUIRE(rig, error);
    for (int i = 0; i < rig->slider_count; i++) {
        sinew_slider *slider = &rig->sliders[i];
        const char *group = slider->group ? NULL : sn_name_group(slider->name);
        if (group) SN_TRY(sinew_rig_set_group(rig, i, group, error));
        sn_name name = sn_name_parse(slider->name);
        if (slider->mirror >= 0 || name.side == SN_SIDE_NONE) continue;
        int other = find_parsed(rig, &name, sn_side_other(name.side));
        if (other >= 0 && rig->sliders[other].mirror < 0)
            SN_TRY(sinew_rig_set_mirror(rig, i, other, error));
    }
    return SINEW_OK;
}
