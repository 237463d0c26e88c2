#include "session/face_contact.h"

#include "base/status.h"
#include "session/report.h"

sinew_status sn_face_contact_create(const sn_model_setup *setup, sinew_skin_contact **contact,
                                    sinew_error *error) {
    *contact = NULL;
    if (!sn_scene_flag(setup->scene, "self_contact")) return SINEW_OK;
    return sinew_skin_contact_create(setup->rig, NULL, setup->monitor, contact, error);
}

sinew_status sn_face_contact_state_create(const sinew_skin_contact *contact,
                                          sinew_skin_contact_state **state, sinew_error *error) {
    *state = NULL;
    return contact ? sinew_skin_contact_state_create(contact, state, error) : SINEW_OK;
}

sinew_status sn_face_contact_apply(sinew_skin_contact_state *state, double *positions,
                                   sinew_result *result, json_t *fields,
                                   const sinew_monitor *monitor, sinew_error *error) {
    if (!state) return SINEW_OK;
    sinew_skin_contact_info info = {.size = sizeof info};
    SN_TRY(sinew_skin_contact_apply(state, positions, monitor, error));
    sinew_skin_contact_get_info(state, &info);
    result->contact_count += info.contacts;
    if (!fields) return SINEW_OK;
    sn_figure_put(fields, "contact_steps", json_integer(info.steps));
    sn_figure_put(fields, "contact_released", json_integer(info.released));
    sn_figure_put(fields, "contact_restored", json_integer(info.restored));
    sn_figure_put(fields, "contact_unchanged", json_boolean(info.unchanged));
    return SINEW_OK;
}
