#include "session/fibers.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "session/load.h"
#include "sinew/selection.h"

/* Entries later in the list win where selections overlap. */
sinew_status sn_fibers_read(const sn_model_setup *setup, double **fibers, sinew_error *error) {
    const json_t *list = sn_scene_at(setup->scene, "fibers");
    *fibers = NULL;
    if (json_array_size(list) == 0) return SINEW_OK;
    double *made = SN_NEW0(double, 3 * (size_t)setup->rig->neutral->vertex_count);
    sinew_status status = made ? SINEW_OK : sn_no_memory(error);
    for (size_t k = 0; status == SINEW_OK && k < json_array_size(list); k++) {
        const json_t *entry = json_array_get(list, k);
        double direction[3], ratio = json_number_value(json_object_get(entry, "ratio"));
        int *vertices = NULL, count = 0;
        char location[48];
        snprintf(location, sizeof location, "/fibers/%zu", k);
        sn_json_point(json_object_get(entry, "direction"), direction);
        sn_vec3 along = sn_at(direction, 0);
        if (!(sn_length(along) > 0))
            status = sn_scene_fail(setup->scene, error, location, "the direction has no length");
        if (status == SINEW_OK)
            status =
                sinew_select(setup->rig, json_string_value(json_object_get(entry, "select")),
                             setup->scene->folder, setup->loader, NULL, &vertices, &count, error);
        for (int i = 0; status == SINEW_OK && i < count; i++)
            sn_put(made, vertices[i], sn_scale(ratio, sn_normalize(along)));
        sinew_free(vertices);
    }
    if (status != SINEW_OK)
        sn_free(made);
    else
        *fibers = made;
    return status;
}

void sn_fibers_key(const sn_model_setup *setup, sinew_hash *hash) {
    const json_t *list = sn_scene_at(setup->scene, "fibers");
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *entry = json_array_get(list, k);
        double direction[3];
        sn_json_point(json_object_get(entry, "direction"), direction);
        sinew_hash_add_text(hash, json_string_value(json_object_get(entry, "select")));
        sinew_hash_add(hash, direction, sizeof direction);
        sinew_hash_add_number(hash, json_number_value(json_object_get(entry, "ratio")));
    }
}
