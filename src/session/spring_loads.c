#include "session/spring_loads.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "mesh/normals.h"
#include "session/holds.h"
#include "session/load.h"
#include "sinew/selection.h"

/* ---- pins ---- */

void sn_spring_pins_free(sn_spring_pins *pins) {
    sn_free(pins->vertices), sn_free(pins->entry);
    *pins = (sn_spring_pins){0};
}

static sinew_status add_pins(sn_spring_pins *pins, int count, const int *vertices, int entry,
                             size_t room[2], sinew_error *error) {
    if (!SN_RESERVE(pins->vertices, room[0], pins->count + count) ||
        !SN_RESERVE(pins->entry, room[1], pins->count + count))
        return sn_no_memory(error);
    for (int k = 0; k < count; k++) {
        pins->vertices[pins->count] = vertices[k];
        pins->entry[pins->count++] = entry;
    }
    return SINEW_OK;
}

sinew_status sn_spring_pins_read(const sn_model_setup *setup, sn_spring_pins *pins,
                                 sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "pins");
    size_t room[2] = {0};
    int *found = NULL, count = 0;
    pins->entries = pins->scene_entries = (int)json_array_size(list);
    for (int e = 0; e < pins->scene_entries; e++) {
        const json_t *pin = json_array_get(list, (size_t)e);
        if (json_object_get(pin, "motion") || json_object_get(pin, "stiffness"))
            return sn_scene_fail(setup->scene, error, "/pins",
                                 "motion and stiffness are for the modal model; use pulls");
        SN_TRY(sinew_select(setup->rig, json_string_value(json_object_get(pin, "select")),
                            setup->scene->folder, setup->loader, NULL, &found, &count, error));
        sinew_status status = add_pins(pins, count, found, e, room, error);
        sinew_free(found);
        SN_TRY(status);
    }
    /* Held vertices are pins without frames, which follow the linear blend. */
    found = NULL, count = 0;
    SN_TRY(sn_holds_select(setup, &found, &count, error));
    sinew_status status = add_pins(pins, count, found, pins->entries, room, error);
    pins->entries += count > 0;
    sn_free(found);
    return status;
}

static void free_frames(sinew_frames **frames, int count) {
    for (int e = 0; frames && e < count; e++) sinew_frames_destroy(frames[e]);
    sn_free(frames);
}

static sinew_status update_pins(sn_spring_loads *loads, const sn_model_setup *setup,
                                sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "pins");
    sn_spring_pins pins = {0};
    sinew_frames **frames = NULL;
    double *positions = NULL;
    sinew_status status = sn_spring_pins_read(setup, &pins, error);
    if (status == SINEW_OK) {
        frames = SN_NEW0(sinew_frames *, pins.entries);
        positions = SN_NEW(double, 3 * (size_t)pins.count);
        if (!frames || !positions) status = sn_no_memory(error);
    }
    for (int e = 0; status == SINEW_OK && e < pins.entries; e++) {
        const char *file =
            json_string_value(json_object_get(json_array_get(list, (size_t)e), "frames"));
        if (file)
            status = sn_load_frames(setup->scene, setup->loader, file, setup->rig->neutral,
                                    &frames[e], error);
    }
    if (status != SINEW_OK) {
        free_frames(frames, pins.entries);
        sn_free(positions);
        sn_spring_pins_free(&pins);
        return status;
    }
    free_frames(loads->pin_frames, loads->pins.entries);
    sn_spring_pins_free(&loads->pins);
    sn_free(loads->pin_positions);
    loads->pins = pins, loads->pin_frames = frames, loads->pin_positions = positions;
    return SINEW_OK;
}

/* ---- pulls, orientations, gravity and wind ---- */

static sinew_status update_pulls(sn_spring_loads *loads, const sn_model_setup *setup,
                                 sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "pulls");
    int count = (int)json_array_size(list);
    sinew_spring_pull *pulls = SN_NEW0(sinew_spring_pull, count);
    sinew_frames **frames = SN_NEW0(sinew_frames *, count);
    sinew_status status = pulls && frames ? SINEW_OK : sn_no_memory(error);
    for (int k = 0; k < count && status == SINEW_OK; k++) {
        char location[48];
        const json_t *pull = json_array_get(list, (size_t)k);
        const json_t *stiffness = json_object_get(pull, "stiffness");
        pulls[k].vertex = (int)json_integer_value(json_object_get(pull, "vertex"));
        sn_json_point(json_object_get(pull, "to"), pulls[k].position);
        pulls[k].stiffness = stiffness ? json_number_value(stiffness) : INFINITY;
        const char *file = json_string_value(json_object_get(pull, "frames"));
        snprintf(location, sizeof location, "/pulls/%d/vertex", k);
        if (pulls[k].vertex >= loads->rig->neutral->vertex_count)
            status = sn_scene_fail(setup->scene, error, location, "there is no vertex %d",
                                   pulls[k].vertex);
        snprintf(location, sizeof location, "/pulls/%d", k);
        if (status == SINEW_OK && !file == !json_object_get(pull, "to"))
            status = sn_scene_fail(setup->scene, error, location,
                                   "a pull has either \"to\" or \"frames\"");
        if (status == SINEW_OK && file)
            status = sn_load_frames(setup->scene, setup->loader, file, setup->rig->neutral,
                                    &frames[k], error);
    }
    if (status != SINEW_OK) {
        free_frames(frames, count);
        sn_free(pulls);
        return status;
    }
    free_frames(loads->pull_frames, loads->pull_count);
    sn_free(loads->pulls);
    loads->pulls = pulls, loads->pull_frames = frames, loads->pull_count = count;
    return SINEW_OK;
}

static sinew_status update_orientations(sn_spring_loads *loads, const sn_model_setup *setup,
                                        sinew_error *error) {
    sn_orientations oriented;
    SN_TRY(sn_orientations_read(setup, &oriented, error));
    sinew_spring_orientation *orientations = SN_NEW(sinew_spring_orientation, oriented.count);
    if (!orientations) {
        sn_orientations_free(&oriented);
        return sn_no_memory(error);
    }
    sn_orientations_free(&loads->oriented);
    sn_free(loads->orientations);
    loads->oriented = oriented, loads->orientations = orientations;
    return SINEW_OK;
}

/* Three numbers, or none. */
static sinew_status read_field(const sn_model_setup *setup, const char *name, double field[3],
                               sinew_error *error) {
    double *values = NULL;
    int count = 0;
    SN_TRY(sn_scene_numbers(setup->scene, name, &values, &count, error));
    sinew_status status = SINEW_OK;
    char location[48];
    snprintf(location, sizeof location, "/parameters/%s", name);
    if (count != 0 && count != 3)
        status =
            sn_scene_fail(setup->scene, error, location, "a vector has 3 numbers, not %d", count);
    for (int c = 0; c < 3 && status == SINEW_OK; c++) field[c] = count == 3 ? values[c] : 0;
    sn_free(values);
    return status;
}

static sinew_status update_forces(sn_spring_loads *loads, const sn_model_setup *setup,
                                  sinew_error *error) {
    SN_TRY(read_field(setup, "gravity", loads->gravity, error));
    SN_TRY(read_field(setup, "wind", loads->wind, error));
    const char *file = sn_scene_string(setup->scene, "mass_map");
    if (!sn_same_name(file, loads->mass_file)) {
        double *mass_map;
        SN_TRY(sn_load_vertex_map(setup->scene, setup->loader, "mass_map", loads->rig, &mass_map,
                                  error));
        sn_free(loads->mass_map);
        loads->mass_map = mass_map;
        SN_TRY(sn_keep_name(&loads->mass_file, file, error));
    }
    loads->forced = false;
    for (int c = 0; c < 3; c++) loads->forced |= loads->gravity[c] != 0 || loads->wind[c] != 0;
    if (loads->forced && !loads->forces)
        loads->forces = SN_NEW(double, 3 * (size_t)loads->rig->neutral->vertex_count);
    return loads->forced && !loads->forces ? sn_no_memory(error) : SINEW_OK;
}

sinew_status sn_spring_loads_update(sn_spring_loads *loads, const sn_model_setup *setup,
                                    uint32_t changed, sinew_error *error) {
    if (sn_has_changed(changed, "pins")) SN_TRY(update_pins(loads, setup, error));
    if (sn_has_changed(changed, "pulls")) SN_TRY(update_pulls(loads, setup, error));
    if (sn_has_changed(changed, "orientations")) SN_TRY(update_orientations(loads, setup, error));
    if (sn_has_changed(changed, "parameters")) SN_TRY(update_forces(loads, setup, error));
    return SINEW_OK;
}

void sn_spring_loads_free(sn_spring_loads *loads) {
    free_frames(loads->pin_frames, loads->pins.entries);
    sn_spring_pins_free(&loads->pins);
    sn_free(loads->pin_positions);
    free_frames(loads->pull_frames, loads->pull_count);
    sn_free(loads->pulls), sn_free(loads->joined_pulls);
    sn_orientations_free(&loads->oriented);
    sn_free(loads->orientations);
    sn_free(loads->forces), sn_free(loads->mass_map), sn_free(loads->mass_file);
}

/* ---- frames ---- */

/* Where vertex v is in frame `index`, or in the last one after the end. */
static void followed_position(const sn_spring_loads *loads, const sinew_frames *frames, int index,
                              size_t v, double position[3]) {
    size_t n = (size_t)loads->rig->neutral->vertex_count;
    int at = index >= frames->frame_count ? frames->frame_count - 1 : index;
    for (size_t c = 0; c < 3; c++)
        position[c] = (double)frames->positions[3 * ((size_t)at * n + v) + c];
}

static void place_pulls(sn_spring_loads *loads, int index) {
    for (int k = 0; k < loads->pull_count; k++)
        if (loads->pull_frames[k])
            followed_position(loads, loads->pull_frames[k], index, (size_t)loads->pulls[k].vertex,
                              loads->pulls[k].position);
}

static void place_orientations(sn_spring_loads *loads, double time) {
    sn_orientations_at(&loads->oriented, time);
    for (int k = 0; k < loads->oriented.count; k++) {
        const sn_orientation *o = &loads->oriented.list[k];
        loads->orientations[k] = (sinew_spring_orientation){
            o->vertex_count, o->vertices, {o->turn[0], o->turn[1], o->turn[2]}, o->weight};
    }
}

/* Gravity acts on a vertex by its share of the area, wind by the part of that share that faces it.
 */
static const double *find_forces(sn_spring_loads *loads, const double *shape) {
    if (!loads->forced) return NULL;
    const sinew_mesh *mesh = loads->rig->neutral;
    size_t n = (size_t)mesh->vertex_count;
    sinew_spring_info info = {.size = sizeof info};
    sinew_spring_get_info(loads->spring, &info);
    sn_vec3 gravity = sn_at(loads->gravity, 0), wind = sn_at(loads->wind, 0);
    double total = 0;
    memset(loads->forces, 0, 3 * n * sizeof *loads->forces);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        sn_vec3 normal = sn_area_vector(shape, v);
        double area = sn_length(normal);
        if (!(area > 0)) continue;
        total += area;
        for (int c = 0; c < 3; c++) {
            double mass = loads->mass_map ? area * loads->mass_map[v[c]] : area;
            sn_vec3 force =
                sn_add_scaled(sn_scale(mass, gravity), sn_dot(wind, normal) / area, normal);
            sn_put(loads->forces, v[c], sn_add_scaled(sn_at(loads->forces, v[c]), 1.0 / 3, force));
        }
    }
    double scale = total > 0 ? (double)n * info.mean_edge / total : 0;
    for (size_t k = 0; k < 3 * n; k++) loads->forces[k] *= scale;
    return loads->forces;
}

/* Pins are where the caller puts them, or follow their frames; the others the linear blend. */
static const double *place_pins(sn_spring_loads *loads, const sn_ask *ask, const double *shape) {
    bool given = ask->pins != NULL;
    for (int e = 0; e < loads->pins.entries; e++) given |= loads->pin_frames[e] != NULL;
    if (!given) return NULL;
    for (int k = 0; k < loads->pins.count; k++) {
        const sinew_frames *frames = loads->pin_frames[loads->pins.entry[k]];
        size_t v = (size_t)loads->pins.vertices[k];
        double *position = loads->pin_positions + 3 * (size_t)k;
        if (ask->pins && k < ask->pin_count)
            memcpy(position, ask->pins + 3 * (size_t)k, 3 * sizeof *position);
        else if (frames)
            followed_position(loads, frames, ask->sample, v, position);
        else
            memcpy(position, shape + 3 * v, 3 * sizeof *position);
    }
    return loads->pin_positions;
}

/* Pins that the input places are those of the scene, not vertices that are held. */
static sinew_status check_pins(const sn_spring_loads *loads, const sn_ask *ask,
                               sinew_error *error) {
    int pinned = 0;
    if (!ask->pins) return SINEW_OK;
    while (pinned < loads->pins.count && loads->pins.entry[pinned] < loads->pins.scene_entries)
        pinned++;
    if (ask->pin_count == pinned) return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT,
                   "the input places %d pinned vertices, but the scene pins %d", ask->pin_count,
                   pinned);
}

/* The scene's pulls, then those of the input. */
static sinew_status join_pulls(sn_spring_loads *loads, const sn_ask *ask, sinew_spring_frame *frame,
                               sinew_error *error) {
    int count = loads->pull_count + ask->pull_count;
    frame->pulls = loads->pulls, frame->pull_count = loads->pull_count;
    if (ask->pull_count == 0) return SINEW_OK;
    if (!SN_RESERVE(loads->joined_pulls, loads->joined_room, count)) return sn_no_memory(error);
    for (int k = 0; k < count; k++)
        loads->joined_pulls[k] =
            k < loads->pull_count ? loads->pulls[k] : ask->pulls[k - loads->pull_count];
    frame->pulls = loads->joined_pulls, frame->pull_count = count;
    return SINEW_OK;
}

sinew_status sn_spring_loads_at(sn_spring_loads *loads, const sn_ask *ask, const double *shape,
                                sinew_spring_frame *frame, sinew_error *error) {
    SN_TRY(check_pins(loads, ask, error));
    place_pulls(loads, ask->sample);
    SN_TRY(join_pulls(loads, ask, frame, error));
    place_orientations(loads, ask->time);
    frame->orientation_count = loads->oriented.count;
    frame->orientations = loads->orientations;
    frame->forces = find_forces(loads, shape);
    frame->pin_positions = place_pins(loads, ask, shape);
    return SINEW_OK;
}

bool sn_spring_loads_constant(const sn_spring_loads *loads) {
    bool constant = !loads->forced && loads->oriented.count == 0;
    for (int e = 0; e < loads->pins.entries; e++) constant &= loads->pin_frames[e] == NULL;
    for (int k = 0; k < loads->pull_count; k++) constant &= loads->pull_frames[k] == NULL;
    return constant;
}
