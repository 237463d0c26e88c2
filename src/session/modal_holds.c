#include "session/modal_holds.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"
#include "session/holds.h"
#include "session/load.h"
#include "sinew/selection.h"

static const double DEGREE = 3.14159265358979323846 / 180;

void sn_modal_holds_free(sn_modal_holds *holds) {
    sinew_modal_pins_destroy(holds->pins);
    for (int e = 0; holds->entries && e < holds->entry_count; e++) {
        sn_motion_free(&holds->entries[e].motion);
        sinew_frames_destroy(holds->entries[e].frames);
    }
    for (int k = 0; holds->orientations && k < holds->orientation_count; k++)
        sinew_free((void *)holds->orientations[k].elements);
    sn_free(holds->vertices), sn_free(holds->positions), sn_free(holds->targets);
    sn_free(holds->entries), sn_free(holds->orientations);
    sn_orientations_free(&holds->oriented);
    sn_free(holds->key_times), sn_free(holds->held_places);
    memset(holds, 0, sizeof *holds);
}

/* ---- set-up ------------------------------------------------------------------------------- */

static sinew_status read_frames(const sn_model_setup *setup, const json_t *pin,
                                const char *location, sn_modal_pin_entry *entry,
                                sinew_error *error) {
    const char *file = json_string_value(json_object_get(pin, "frames"));
    if (!file) return SINEW_OK;
    if (entry->motion.count)
        return sn_scene_fail(setup->scene, error, location, "has both frames and a motion");
    return sn_load_frames(setup->scene, setup->loader, file, setup->rig->neutral, &entry->frames,
                          error);
}

/* The vertices of one entry, appended; `stiffness` grows along. */
static sinew_status read_pin(const sn_model_setup *setup, sn_modal_holds *holds, int e,
                             const json_t *pin, size_t *capacity, double **stiffness,
                             size_t *stiffness_capacity, sinew_error *error) {
    char location[64];
    snprintf(location, sizeof location, "/pins/%d", e);
    sn_modal_pin_entry *entry = &holds->entries[e];
    SN_TRY(sn_motion_read(setup->scene, json_object_get(pin, "motion"), location, &entry->motion,
                          error));
    SN_TRY(read_frames(setup, pin, location, entry, error));
    int *found = NULL, count = 0;
    SN_TRY(sinew_select(setup->rig, json_string_value(json_object_get(pin, "select")),
                        setup->scene->folder, setup->loader, NULL, &found, &count, error));
    entry->first = holds->pin_count, entry->count = count;
    bool room = SN_RESERVE(holds->vertices, *capacity, holds->pin_count + count) &&
                SN_RESERVE(*stiffness, *stiffness_capacity, holds->pin_count + count);
    for (int k = 0; room && k < count; k++) {
        (*stiffness)[holds->pin_count] = json_number_value(json_object_get(pin, "stiffness"));
        holds->vertices[holds->pin_count++] = found[k];
    }
    sinew_free(found);
    return room ? SINEW_OK : sn_no_memory(error);
}

/* The vertices of the parameter "hold", appended, and where each key has them. */
static sinew_status read_held(const sn_model_setup *setup, const sn_modal_key_poses *keys,
                              sn_modal_holds *holds, size_t *capacity, double **stiffness,
                              size_t *stiffness_capacity, sinew_error *error) {
    int *held = NULL, count = 0, first = holds->pin_count;
    SN_TRY(sn_holds_select(setup, &held, &count, error));
    holds->held_first = first, holds->key_count = keys->count;
    bool room = SN_RESERVE(holds->vertices, *capacity, first + count) &&
                SN_RESERVE(*stiffness, *stiffness_capacity, first + count);
    holds->key_times = sn_memdup(keys->times, (size_t)keys->count, sizeof *keys->times);
    holds->held_places = SN_NEW(double, 3 * (size_t)count * (size_t)keys->count);
    room = room && holds->key_times && holds->held_places;
    for (int k = 0; room && k < count; k++) {
        (*stiffness)[holds->pin_count] = 0;
        holds->vertices[holds->pin_count++] = held[k];
    }
    for (int k = 0; room && k < count * keys->count; k++)
        sn_put(holds->held_places, k, sn_at(keys->positions[k / count], held[k % count]));
    sn_free(held);
    return room ? SINEW_OK : sn_no_memory(error);
}

static sinew_status read_pins(const sn_model_setup *setup, const sinew_modal *modal,
                              const sn_modal_key_poses *keys, sn_modal_holds *holds,
                              sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "pins");
    size_t count = json_array_size(list), capacity = 0, stiffness_capacity = 0;
    double *stiffness = NULL;
    holds->entries = SN_NEW0(sn_modal_pin_entry, count);
    if (!holds->entries) return sn_no_memory(error);
    holds->entry_count = (int)count;
    sinew_status status = SINEW_OK;
    for (size_t e = 0; status == SINEW_OK && e < count; e++)
        status = read_pin(setup, holds, (int)e, json_array_get(list, e), &capacity, &stiffness,
                          &stiffness_capacity, error);
    if (status == SINEW_OK)
        status = read_held(setup, keys, holds, &capacity, &stiffness, &stiffness_capacity, error);
    if (status == SINEW_OK && holds->pin_count > 0)
        status = sinew_modal_pins_create(modal, holds->pin_count, holds->vertices, stiffness,
                                         &holds->pins, error);
    sn_free(stiffness);
    SN_TRY(status);
    holds->positions = SN_NEW(double, 3 * holds->pin_count);
    holds->targets = SN_NEW(double, 3 * holds->pin_count);
    if (!holds->positions || !holds->targets) return sn_no_memory(error);
    for (int k = 0; k < holds->pin_count; k++)
        sn_put(holds->positions, k, sn_at(keys->positions[0], holds->vertices[k]));
    for (int e = 0; e < holds->entry_count; e++) {
        sn_modal_pin_entry *entry = &holds->entries[e];
        for (int k = entry->first; k < entry->first + entry->count; k++)
            for (int axis = 0; axis < 3; axis++)
                entry->middle[axis] += holds->positions[3 * k + axis] / entry->count;
    }
    return SINEW_OK;
}

static sinew_status read_orientations(const sn_model_setup *setup, const sinew_modal *modal,
                                      sn_modal_holds *holds, sinew_error *error) {
    SN_TRY(sn_orientations_read(setup, &holds->oriented, error));
    holds->orientations = SN_NEW0(sinew_modal_orientation, holds->oriented.count);
    if (!holds->orientations) return sn_no_memory(error);
    for (int k = 0; k < holds->oriented.count; k++) {
        const sn_orientation *given = &holds->oriented.list[k];
        sinew_modal_orientation *o = &holds->orientations[k];
        int *elements;
        SN_TRY(sinew_modal_elements_at(modal, given->vertex_count, given->vertices, &elements,
                                       &o->element_count, error));
        o->elements = elements, o->weight = given->weight;
        holds->orientation_count = k + 1;
    }
    return SINEW_OK;
}

sinew_status sn_modal_holds_create(const sn_model_setup *setup, const sinew_modal *modal,
                                   const sn_modal_key_poses *keys, sn_modal_holds *holds,
                                   sinew_error *error) {
    memset(holds, 0, sizeof *holds);
    sinew_status status = read_pins(setup, modal, keys, holds, error);
    if (status == SINEW_OK) status = read_orientations(setup, modal, holds, error);
    if (status != SINEW_OK) sn_modal_holds_free(holds);
    return status;
}

/* ---- at a time ---------------------------------------------------------------------------- */

static void place_entry(sn_modal_holds *holds, const sn_modal_pin_entry *entry, int frame,
                        double time) {
    sn_vec3 move = {0, 0, 0}, turn = {0, 0, 0}, middle = sn_at(entry->middle, 0);
    if (entry->motion.count) sn_motion_at(&entry->motion, time, &move, &turn);
    sn_mat3 rotation = sn_rotation_exp(sn_scale(DEGREE, turn));
    for (int k = entry->first; k < entry->first + entry->count; k++) {
        if (entry->frames) {
            const sinew_frames *f = entry->frames;
            int at = frame < f->frame_count ? frame : f->frame_count - 1;
            const float *p = f->positions + 3 * ((size_t)at * (size_t)f->vertex_count +
                                                 (size_t)holds->vertices[k]);
            sn_put(holds->targets, k, sn_v3(p[0], p[1], p[2]));
            continue;
        }
        sn_vec3 from = sn_sub(sn_at(holds->positions, k), middle);
        if (entry->motion.count) from = sn_add(sn_mat3_apply(rotation, from), move);
        sn_put(holds->targets, k, sn_add(middle, from));
    }
}

/* Held vertices on the lines between keys; at the ends before the first and after the last. */
static void place_held(sn_modal_holds *holds, double time) {
    int count = holds->pin_count - holds->held_first, k = 0;
    if (count == 0) return;
    while (k + 2 < holds->key_count && time >= holds->key_times[k + 1]) k++;
    double span = holds->key_times[k + 1] - holds->key_times[k];
    double share = fmin(fmax((time - holds->key_times[k]) / span, 0), 1);
    for (int i = 0; i < count; i++)
        sn_put(holds->targets, holds->held_first + i,
               sn_add(sn_scale(1 - share, sn_at(holds->held_places, count * k + i)),
                      sn_scale(share, sn_at(holds->held_places, count * (k + 1) + i))));
}

void sn_modal_holds_at(sn_modal_holds *holds, int frame, double time,
                       sinew_modal_constraints *constraints) {
    for (int e = 0; e < holds->entry_count; e++)
        place_entry(holds, &holds->entries[e], frame, time);
    place_held(holds, time);
    sn_orientations_at(&holds->oriented, time);
    for (int k = 0; k < holds->orientation_count; k++)
        sn_put(holds->orientations[k].turn, 0, sn_at(holds->oriented.list[k].turn, 0));
    constraints->pins = holds->pins;
    constraints->targets = holds->targets;
    constraints->orientation_count = holds->orientation_count;
    constraints->orientations = holds->orientations;
}
