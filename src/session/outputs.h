/* What the outputs of the models, which the job writes, are made of. */
#ifndef SN_SESSION_OUTPUTS_H
#define SN_SESSION_OUTPUTS_H

#include "sinew/capture.h"
#include "sinew/force.h"
#include "sinew/modal.h"
#include "sinew/spring.h"

/* The structure of the force model. */
typedef struct sn_force_structure {
    sinew_force *force;
    sinew_capture *capture;                    /* NULL: weights drive */
    double *stretch_map, *bend_map, *mass_map; /* factors per vertex; NULL: 1 */
    bool obstacles;                            /* may press into the skin */
} sn_force_structure;

/* Of a solver's model: all network vertices of the last frame. */
const double *sn_model_spring_network(const void *model);
/* The springs that a structure of the spring model holds. */
const sinew_spring *sn_model_spring_springs(const void *structure);
/* Elements that the last frame turns inside out and no key does. */
const int *sn_model_modal_inverted(const void *model, int *count);
const sinew_modal_motion *sn_model_modal_motion(const void *model);
/* Slider weights of the last frame. */
const double *sn_model_fit_weights(const void *model);
/* Force: the command of the last frame by sliders; combinations have none. */
const double *sn_model_force_weights(const void *model);

#endif
