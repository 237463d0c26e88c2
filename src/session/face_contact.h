/* Contact of a face with itself as a model's last step: an option of models without a past. */
#ifndef SN_SESSION_FACE_CONTACT_H
#define SN_SESSION_FACE_CONTACT_H

#include "session/model.h"
#include "sinew/skin_contact.h"

/* The row of the table of parameters. */
#define SN_FACE_CONTACT_PARAMETER                                                                  \
    FLAG(STRUCTURE, "self_contact", 0,                                                             \
         "Keep the parts of a face from passing through each other: lids and eyeballs, lips, "     \
         "teeth.")

/* NULL where the scene does not ask for it. */
sinew_status sn_face_contact_create(const sn_model_setup *setup, sinew_skin_contact **contact,
                                    sinew_error *error);
/* contact may be NULL; the state is NULL then. */
sinew_status sn_face_contact_state_create(const sinew_skin_contact *contact,
                                          sinew_skin_contact_state **state, sinew_error *error);
/* Presses positions apart, with figures; nothing if state is NULL. */
sinew_status sn_face_contact_apply(sinew_skin_contact_state *state, double *positions,
                                   sinew_result *result, json_t *fields,
                                   const sinew_monitor *monitor, sinew_error *error);

#endif
