/* Rigs and the device for the tests of this room. */
#ifndef TESTS_GPU_RIGS_H
#define TESTS_GPU_RIGS_H

#include "gpu/device.h"
#include "sinew/rig.h"

/* The device, which must be there. */
sn_gpu *open_device(void);
/* A built-in rig with about so many vertices. */
sinew_rig *sample_rig(const char *name, int vertices);
/* Sliders at `share` and at half of it in turn. */
void set_weights(const sinew_rig *rig, double share, double *weights);
/* Largest distance between vertices, as a fraction of the neutral's diagonal. */
double farthest(const sinew_rig *rig, const double *a, const double *b);

/* The kernels run on the host: there is no device. */
bool on_host(void);

#endif
