/* Shapes from rotations and strains on the device: the constant part of T^-1
 * (mesh/rotation_strain.h). */
#ifndef SN_GPU_REBUILD_H
#define SN_GPU_REBUILD_H

#include "gpu/dissection.h"
#include "mesh/rotation_strain.h"

typedef struct sn_gpu_shape {
    const sn_rotation_strain *structure;
    const double *rest;         /* 3 per vertex */
    const double *rest_centers; /* 3 per component */
    const bool *held;           /* per vertex, or NULL: see rig/rotation_structure.h */
    const double *held_total;   /* per component, or NULL */
    bool batches;               /* frames come in batches, too: see rebuild.c */
} sn_gpu_shape;

/* Everything but the items' coordinates, the components' motions and vertices in no element. The
 * solve's tasks are added by sn_dissection_share. SINEW_UNAVAILABLE: this structure is not
 * supported (held vertices, or too large). */
sinew_status sn_gpu_rebuild_create(const sn_gpu_shape *shape, sn_gpu_store *store,
                                   sn_rotation_device *device, sn_dissection **dissection,
                                   sinew_error *error);
/* Room for one frame. */
void sn_gpu_rebuild_work(const sn_rotation_device *device, const sn_dissection *dissection,
                         sn_gpu_store *store, sn_rotation_work *work);

#endif
