#include "base/status.h"
#include "spring/structure.h"

void sn_contacts_destroy(sn_contacts *contacts) {
    (void)contacts;
}

sinew_status sn_contact_solve(const sinew_spring *spring, sinew_spring_state *state,
                              const sinew_spring_frame *frame,
                              const sn_equilibrium_options *options, sn_equilibrium_info *counts,
                              sinew_spring_info *info, sinew_error *error) {
    (void)spring, (void)state, (void)frame, (void)options, (void)counts, (void)info;
    return sn_fail(error, SINEW_UNAVAILABLE, "contact is not in this build");
}
