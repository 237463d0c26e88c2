/* Directions in which the material of a scene is stiffer. */
#ifndef SN_SESSION_FIBERS_H
#define SN_SESSION_FIBERS_H

#include "session/model.h"

/* 3 per vertex as in sinew_spring_options, or *fibers = NULL without any. Release with sn_free. */
sinew_status sn_fibers_read(const sn_model_setup *setup, double **fibers, sinew_error *error);
/* What a structure that uses them depends on. */
void sn_fibers_key(const sn_model_setup *setup, sinew_hash *hash);

#endif
