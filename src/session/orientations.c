#include "session/orientations.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "session/load.h"
#include "sinew/selection.h"

static const double DEGREE = 3.14159265358979323846 / 180;

void sn_orientations_free(sn_orientations *orientations) {
    for (int k = 0; orientations->list && k < orientations->count; k++) {
        sinew_free(orientations->list[k].vertices);
        sn_motion_free(&orientations->list[k].motion);
    }
    sn_free(orientations->list);
    *orientations = (sn_orientations){0};
}

static sinew_status read_one(const sn_model_setup *setup, size_t k, const json_t *given,
                             sn_orientation *o, sinew_error *error) {
    const json_t *weight = json_object_get(given, "weight"), *turn = json_object_get(given, "turn");
    char location[64];
    snprintf(location, sizeof location, "/orientations/%zu", k);
    SN_TRY(sn_motion_read(setup->scene, json_object_get(given, "motion"), location, &o->motion,
                          error));
    o->weight = weight ? json_number_value(weight) : 1;
    if (turn) sn_json_point(turn, o->turn);
    for (int axis = 0; axis < 3; axis++) o->turn[axis] *= DEGREE;
    return sinew_select(setup->rig, json_string_value(json_object_get(given, "select")),
                        setup->scene->folder, setup->loader, NULL, &o->vertices, &o->vertex_count,
                        error);
}

sinew_status sn_orientations_read(const sn_model_setup *setup, sn_orientations *orientations,
                                  sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "orientations");
    size_t count = json_array_size(list);
    *orientations = (sn_orientations){0};
    orientations->list = SN_NEW0(sn_orientation, count);
    if (!orientations->list) return sn_no_memory(error);
    sinew_status status = SINEW_OK;
    for (size_t k = 0; status == SINEW_OK && k < count; k++) {
        orientations->count = (int)k + 1;
        status = read_one(setup, k, json_array_get(list, k), &orientations->list[k], error);
    }
    if (status != SINEW_OK) sn_orientations_free(orientations);
    return status;
}

void sn_orientations_at(sn_orientations *orientations, double time) {
    for (int k = 0; k < orientations->count; k++) {
        sn_orientation *o = &orientations->list[k];
        if (!o->motion.count) continue;
        sn_vec3 move, turn;
        sn_motion_at(&o->motion, time, &move, &turn);
        sn_put(o->turn, 0, sn_scale(DEGREE, turn));
    }
}
