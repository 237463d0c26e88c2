/* Inside the marker layer: the constant part, shared between threads, and the work of one. */
#ifndef SN_FORCE_LAYER_H
#define SN_FORCE_LAYER_H

#include "force/skin.h"
#include "sinew/marker_layer.h"

typedef struct sn_layer {
    int vertex_count, marker_count;
    float *spread;    /* Psi, marker_count numbers per vertex */
    double *coupling; /* S Psi, marker_count squared */
} sn_layer;

typedef struct sn_layer_work {
    double *matrix, *forces; /* of the seen markers */
    int *seen;
} sn_layer_work;

sinew_status sn_layer_create(const sn_skin *skin, const sinew_rig *rig, const sinew_marker_map *map,
                             double smoothing, const sinew_monitor *monitor, sn_layer **layer,
                             sinew_error *error);
void sn_layer_destroy(sn_layer *layer);
sinew_status sn_layer_work_create(const sn_layer *layer, sn_layer_work **work, sinew_error *error);
void sn_layer_work_destroy(sn_layer_work *work);
/* The weight at which a marker alone is met to `presence` (0 to 1) of what it is at `weight`. */
double sn_layer_fading_weight(const sn_layer *layer, int marker, double weight, double presence);
/* positions += delta of the residuals; weights[marker_count] >= 0, 0: not seen. */
sinew_status sn_layer_add(const sn_layer *layer, sn_layer_work *work, const double *residual,
                          const double *weights, double *positions, sinew_error *error);

#endif
