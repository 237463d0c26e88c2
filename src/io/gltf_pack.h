/* Small GLB files: positions of targets as 16-bit numbers of steps, normals as fractions, and all
 * data as meshopt streams. */
#ifndef SN_IO_GLTF_PACK_H
#define SN_IO_GLTF_PACK_H

#include "io/gltf_write.h"

/* A view of `count` elements of `stride` bytes, or of as many 32-bit indices. */
int sn_gltf_pack_view(sn_gltf_file *file, const void *bytes, size_t count, size_t stride,
                      bool indices, sn_gltf_use use);
/* Rows of 3 whole numbers of steps: 16 bits each, or floats where one is too large. */
int sn_gltf_add_shorts(sn_gltf_file *file, const float *rows, int count);
/* Rows of 3 within [-1, 1], in 16 or 8 bits each. */
int sn_gltf_add_directions(sn_gltf_file *file, const float *rows, int count, bool fine);
/* The largest power of two that is not above a length: dividing floats by it loses nothing. */
double sn_gltf_step(double length);
/* Extensions and the buffer of unpacked data. */
void sn_gltf_finish_packed(sn_gltf_file *file, json_t *root);

#endif
