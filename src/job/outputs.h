/* The files of a run: point caches and shapes, and what the models add.
 *
 * Every output is opened before the first frame, so that a path that cannot be written fails at
 * once and not after an hour, and is committed after the last, so that a cancelled or failed run
 * leaves nothing. */
#ifndef SN_JOB_OUTPUTS_H
#define SN_JOB_OUTPUTS_H

#include "session/session.h"
#include "sinew/job.h"

/* One frame as it comes from a solver. */
typedef struct sn_frame {
    int index; /* in the clip */
    double *positions;
    float *single; /* instead of positions: of a part in float32; otherwise NULL */
    sinew_frame_info info;
    json_t *fields;  /* of the report */
    double *network; /* spring: all network vertices, when wanted; or NULL */
    int *inverted;   /* modal: elements inside out; or NULL */
    int inverted_count;
    double *weights; /* fit: slider weights; or NULL */
} sn_frame;

typedef struct sn_outputs sn_outputs;

/* For frames first..last of the solver's clip, in the scene's folder. */
sinew_status sn_outputs_open(const sinew_scene *scene, sinew_solver *solver, int first, int last,
                             sn_outputs **outputs, sinew_error *error);
/* In order. */
sinew_status sn_outputs_add(sn_outputs *outputs, const sn_frame *frame, sinew_error *error);
/* Writes and releases all of them; adds totals to the report. */
sinew_status sn_outputs_close(sn_outputs *outputs, json_t *report, const sinew_monitor *monitor,
                              sinew_error *error);
void sn_outputs_abandon(sn_outputs *outputs);

/* Outputs that nothing would be written to are refused before the first frame. */
sinew_status sn_outputs_check(const sinew_scene *scene, const sinew_solver *solver,
                              sinew_error *error);

/* Whether the outputs of the whole clip have the same bytes when positions are rounded to float32
 * before. */
bool sn_outputs_are_single(const sinew_scene *scene, const sinew_solver *solver);

/* ---- of the models (model_outputs.c) ---- */

typedef struct sn_model_outputs sn_model_outputs;
sinew_status sn_model_outputs_open(const sinew_scene *scene, sinew_solver *solver, int first,
                                   int last, sn_model_outputs **outputs, sinew_error *error);
/* Room for what they need of a frame. */
sinew_status sn_model_outputs_frame(const sinew_scene *scene, sinew_solver *solver, sn_frame *frame,
                                    sinew_error *error);
/* Whether they take it from the solver's state, frame by frame. */
bool sn_model_outputs_need_state(const sinew_scene *scene, const sinew_solver *solver);
/* Takes it from a solver that has just solved the frame. */
void sn_model_outputs_take(sinew_solver *solver, sn_frame *frame);
void sn_frame_free(sn_frame *frame);
/* Sizes of sn_frame.network in vertices, and of the list of inverted elements at most; 0 for models
 * without them. */
int sn_model_outputs_network(const sinew_solver *solver);
int sn_model_outputs_elements(const sinew_solver *solver);
sinew_status sn_model_outputs_add(sn_model_outputs *outputs, const sn_frame *frame,
                                  sinew_error *error);
sinew_status sn_model_outputs_close(sn_model_outputs *outputs, json_t *report,
                                    const sinew_monitor *monitor, sinew_error *error);
void sn_model_outputs_abandon(sn_model_outputs *outputs);

#endif
