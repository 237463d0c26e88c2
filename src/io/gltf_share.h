/* Which bytes of a GLB belong to one accessor alone, so that they can be overwritten in place.
 * Files may lay several accessors or views over the same bytes. */
#ifndef SN_IO_GLTF_SHARE_H
#define SN_IO_GLTF_SHARE_H

#include "io/json.h"

/* Whether an accessor holds plain floats in the binary chunk that are used as positions only, and
 * that no other accessor or view covers. Where its rows begin in the chunk, and the bytes from one
 * to the next. */
bool sn_gltf_sole_positions(const json_t *root, int64_t index, size_t *offset, size_t *stride);

#endif
