/* glTF 2.0 documents: the container, its buffers, and accessors over them. Everything a file states
 * is checked here against what the file holds, so that the readers above only see data that is
 * there. */
#ifndef SN_IO_GLTF_H
#define SN_IO_GLTF_H

#include "io/json.h"

typedef struct sn_gltf_bytes {
    const char *bytes;
    size_t size;
    char *owned; /* freed with the document; NULL when `bytes` lies in the file */
} sn_gltf_bytes;

typedef struct sn_gltf {
    const sn_source *source;
    sinew_error *error;
    json_t *root;
    int buffer_count, view_count;
    sn_gltf_bytes *buffers;
    sn_gltf_bytes *views; /* resolved when first used */
    bool *view_resolved;
} sn_gltf;

typedef struct sn_gltf_accessor {
    int count;
    int components;     /* 1 for SCALAR ... 4 for VEC4 */
    int component_type; /* 5120 byte ... 5126 float */
    bool normalized;
    const char *bytes; /* first element; NULL: all zero before sparse values */
    size_t stride;
    const json_t *sparse; /* NULL: none */
    const char *name;     /* or NULL */
} sn_gltf_accessor;

/* Parses the container, refuses required extensions that we do not know, opens the buffers. Close
 * also after a failure. */
sinew_status sn_gltf_open(sn_gltf *gltf, const sn_source *source, sinew_error *error);
void sn_gltf_close(sn_gltf *gltf);
sinew_status sn_gltf_fail(const sn_gltf *gltf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Element of a top-level array; NULL when it is not there. */
const json_t *sn_gltf_item(const sn_gltf *gltf, const char *array, const json_t *index);
/* Size of a top-level array that fits an int; more is refused by sn_gltf_open. */
int sn_gltf_count(const sn_gltf *gltf, const char *array);

/* Resolves an accessor of `components` numbers; `what` is used in messages. An accessor without a
 * buffer (all zero) is taken only when it has `expected` elements; expected < 0: any other count
 * will do, but it needs a buffer. */
sinew_status sn_gltf_accessor_open(sn_gltf *gltf, const json_t *index, const char *what,
                                   int components, int expected, sn_gltf_accessor *accessor);
/* All elements as numbers: values[count * components]. Refuses what is not finite. */
sinew_status sn_gltf_accessor_read(sn_gltf *gltf, const sn_gltf_accessor *accessor,
                                   const char *what, double *values);
/* The keys of an animation, which must increase. */
sinew_status sn_gltf_read_times(sn_gltf *gltf, const sn_gltf_accessor *accessor, double *times);
/* Unsigned integers below `limit`. */
sinew_status sn_gltf_accessor_indices(sn_gltf *gltf, const sn_gltf_accessor *accessor,
                                      const char *what, int limit, int *indices);

#endif
