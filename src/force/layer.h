/* Inside the marker layer: the constant part, shared between threads, and the work of one. */
#ifndef SN_FORCE_LAYER_H
#define SN_FORCE_LAYER_H

#include "cache/pack.h"
#include "force/carry.h"
#include "force/give_way.h"
#include "force/layer_contact.h"
#include "force/layer_guard.h"
#include "force/layer_restore.h"
#include "force/lid_lift.h"
#include "force/riders.h"
#include "force/skin.h"
#include "sinew/marker_layer.h"

typedef struct sn_layer {
    int vertex_count, marker_count;
    float *spread;              /* Psi, marker_count numbers per vertex */
    double *coupling;           /* S Psi, marker_count squared */
    double *trust;              /* per marker: factor of its weights */
    sn_riders riders;           /* what follows the skin */
    sn_layer_guard *guard;      /* NULL: none */
    sn_layer_contact *contact;  /* with a guard: what may not intersect */
    sn_carry_plan *carry;       /* with a guard: how riders follow */
    sn_layer_restore *restore;  /* with a guard: what goes back */
    sn_give_way_plan *give_way; /* with a guard: how riders give way */
    sn_lid_lift_plan *lift;     /* with a guard: how lids stay on the eyeballs */
} sn_layer;

typedef struct sn_layer_work {
    double *matrix, *forces; /* of the seen markers */
    int *seen;
    /* what is remembered of each marker: its last residual and weight, and how present it is */
    double *left, *weight, *presence;
    double *residual, *say; /* what is spread, and with which weight */
    bool started;
    double *before;                 /* with a guard: room for the shape without the layer */
    double *scratch;                /* with a guard: a number per vertex */
    sn_layer_contact_work *contact; /* with a guard */
    sn_carry *carry;                /* with a guard */
    sn_layer_restore_work *restore; /* with a guard */
    sn_give_way_work *give_way;     /* with a guard */
    sn_lid_lift *lift;              /* with a guard */
} sn_layer_work;

/* mu D^4 sum a_v |Laplacian|^2 + sum (1e-6 + pull_v) a_v, with 1 on the diagonal of held vertices.
 */
sinew_status sn_layer_matrix(const sn_skin *skin, double smoothing, const double *pull,
                             sn_sparse **matrix, sinew_error *error);

/* anatomy: that of the rig, or NULL to compute it. */
sinew_status sn_layer_create(const sn_skin *skin, const sinew_rig *rig, const sinew_marker_map *map,
                             const sinew_anatomy *anatomy, double smoothing, bool contact,
                             const sinew_monitor *monitor, sn_layer **layer, sinew_error *error);
void sn_layer_destroy(sn_layer *layer);
sinew_status sn_layer_work_create(const sn_layer *layer, sn_layer_work **work, sinew_error *error);
void sn_layer_work_destroy(sn_layer_work *work);
/* No frame came before. */
void sn_layer_forget(sn_layer_work *work);
typedef struct sn_layer_counts {
    int held;     /* vertices that the guard held */
    int pressing; /* pairs that press */
    int released; /* vertices that keep their shape without contact */
    int restored; /* vertices at which the layer was taken back */
} sn_layer_counts;

/* Of a layer with a guard: work->before and `after` are the shape without and with the layer.
 * `after` is held back where the layer would push skin through what lies below, and pressed apart
 * where it would intersect itself. */
sinew_status sn_layer_hold(const sn_layer *layer, sn_layer_work *work, double *after,
                           sn_layer_counts *counts, sinew_error *error);
/* What is remembered of the frames before, and back; the block of contact apart, see
 * force/layer_contact.h. */
void sn_layer_pack(const sn_layer *layer, const sn_layer_work *work, sn_pack *pack);
sinew_status sn_layer_unpack(const sn_layer *layer, sn_layer_work *work, sn_unpack *unpack,
                             sinew_error *error);
void sn_layer_pack_block(const sn_layer_work *work, sn_pack *pack);
sinew_status sn_layer_unpack_block(sn_layer_work *work, sn_unpack *unpack, sinew_error *error);
int sn_layer_block(const sn_layer_work *work);
void sn_layer_shrink(sn_layer_work *work, int size);
/* All of it of a layer for any shape. */
void sn_marker_layer_pack(const sinew_marker_layer *layer, sn_pack *pack);
sinew_status sn_marker_layer_unpack(sinew_marker_layer *layer, sn_unpack *unpack,
                                    sinew_error *error);
/* positions += delta of the residuals; weights[marker_count] >= 0, 0: not seen. A marker that is
 * not seen any more keeps its last residual and fades within SINEW_MARKER_LAYER_MEMORY, `seconds`
 * after the last frame; one that comes back fades in. INFINITY: nothing is remembered. */
sinew_status sn_layer_add(const sn_layer *layer, sn_layer_work *work, double seconds,
                          const double *residual, const double *weights, double *positions,
                          sinew_error *error);

#endif
