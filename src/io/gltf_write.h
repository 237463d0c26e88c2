/* Building GLB files. */
#ifndef SN_IO_GLTF_WRITE_H
#define SN_IO_GLTF_WRITE_H

#include "base/vec3.h"
#include "io/json.h"

typedef enum sn_gltf_use {
    SN_GLTF_PLAIN = 0, /* neither vertices nor indices of a primitive */
    SN_GLTF_VERTICES = 34962,
    SN_GLTF_INDICES = 34963
} sn_gltf_use;

/* A document being written: binary data and the lists that describe them. `failed` stays set after
 * an allocation failed. */
typedef struct sn_gltf_file {
    sn_buffer binary;
    json_t *views, *accessors;
    bool failed;
    /* Small files (gltf_pack.h): */
    double step;            /* unit of positions, a power of two; 0: a plain file */
    bool no_target_normals; /* also in plain files */
    size_t unpacked;        /* bytes of the data before packing */
} sn_gltf_file;

void sn_gltf_file_open(sn_gltf_file *file);
void sn_gltf_file_free(sn_gltf_file *file);
/* `count` elements of `components` floats; minimum and maximum are written for positions and
 * times (bounds). Returns the accessor's index. */
int sn_gltf_add_floats(sn_gltf_file *file, const float *values, int count, int components,
                       sn_gltf_use use, bool bounds);
/* The same, leaving out zero elements where that is smaller. */
int sn_gltf_add_sparse(sn_gltf_file *file, const float *values, int count, int components,
                       bool bounds);
/* Unsigned integers in the smallest type that holds `largest`, at least 16 bits. */
int sn_gltf_add_integers(sn_gltf_file *file, const int *values, int count, int largest,
                         sn_gltf_use use, const char *name);

/* The neutral, its targets and everything else of a rig as the document's one mesh: index 0, node 0
 * and scene 0. */
sinew_status sn_gltf_add_rig(sn_gltf_file *file, const sinew_rig *rig, json_t *root,
                             sinew_error *error);
/* Weights of the rig's targets over time, linear between: `count` rows of target_count.
 * `extras` (may be NULL) becomes the document's. */
sinew_status sn_gltf_add_animation(sn_gltf_file *file, const char *name, int count,
                                   const float *times, int target_count, const float *rows,
                                   json_t *extras, json_t *root, sinew_error *error);
/* How a normal of the neutral changes where the smooth normal of its vertex goes from `before` to
 * `after`; 0 where one of these is not known. */
sn_vec3 sn_gltf_normal_change(sn_vec3 before, sn_vec3 after, sn_vec3 normal);
/* A GLB of a document and its data, which are padded, with the other chunks of the original (NULL:
 * there is none). */
sinew_status sn_gltf_container(sn_buffer *json, sn_buffer *binary, const sn_source *original,
                               sn_buffer *out, sinew_error *error);
/* Puts the container together. `root` gets accessors, views, buffer and asset. */
sinew_status sn_gltf_finish(sn_gltf_file *file, json_t *root, sn_buffer *out, sinew_error *error);

#endif
