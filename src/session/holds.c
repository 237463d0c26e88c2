#include "session/holds.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "sinew/rotation.h"
#include "sinew/selection.h"

sinew_status sn_holds_select(const sn_model_setup *setup, int **vertices, int *count,
                             sinew_error *error) {
    const char *text = sn_scene_string(setup->scene, "hold");
    *vertices = NULL, *count = 0;
    if (!text) return SINEW_OK;
    if (strcmp(text, "auto") != 0)
        return sinew_select(setup->rig, text, setup->scene->folder, setup->loader, NULL, vertices,
                            count, error);
    int axis;
    SN_TRY(sinew_find_resting(setup->rig, vertices, count, &axis, error));
    if (*count == 0)
        sn_log(setup->monitor, SINEW_LOG_LEVEL_WARNING,
               "hold 'auto': no vertices rest on the lowest plane in all poses");
    return SINEW_OK;
}

bool sn_holds_floor(const sn_model_kind *kind, const sn_model_setup *setup) {
    bool known = false;
    for (int i = 0; i < kind->about.parameter_count; i++)
        known = known || strcmp(kind->about.parameters[i].name, "hold") == 0;
    const char *text = known ? sn_scene_string(setup->scene, "hold") : NULL;
    return text && strcmp(text, "auto") == 0;
}

sinew_status sn_holds_make_floor(const sn_model_setup *setup, sn_floor **floor,
                                 sinew_error *error) {
    int *resting, count, axis;
    *floor = NULL;
    SN_TRY(sinew_find_resting(setup->rig, &resting, &count, &axis, error));
    sinew_status status =
        count > 0 ? sn_floor_create(setup->rig, axis, count, resting, setup->monitor, floor, error)
                  : SINEW_OK;
    sn_free(resting);
    return status;
}
