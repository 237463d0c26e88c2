/* Builds the spring network of a scene and reports what was built. */
#ifndef SN_SESSION_SPRING_STRUCTURE_H
#define SN_SESSION_SPRING_STRUCTURE_H

#include "session/model.h"
#include "sinew/spring.h"

/* Adds what the network depends on beyond the rig and the parameters. */
void sn_spring_structure_key(const sn_model_setup *setup, sinew_hash *hash);
/* options: those of the scene's parameters; pins, anchor, maps, fibers and cache are added here. */
sinew_status sn_spring_structure_build(const sn_model_setup *setup, sinew_spring_options options,
                                       sinew_spring **structure, sinew_error *error);

#endif
