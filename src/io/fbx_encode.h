/* Nodes of binary FBX 7.4 as bytes.
 *
 *   sn_fbx_begin(e, "Version");
 *   sn_fbx_put_int(e, 100);
 *   sn_fbx_end(e);
 *
 * A node's values come before its children. */
#ifndef SN_IO_FBX_ENCODE_H
#define SN_IO_FBX_ENCODE_H

#include <stdint.h>

#include "io/buffer.h"

enum { SN_FBX_DEEPEST_WRITTEN = 64 };

typedef struct sn_fbx_encoder {
    sn_buffer *out;
    bool wide; /* heads of 7.5 and later, with numbers of 64 bits */
    int depth;
    struct {
        size_t head; /* of the node, in the buffer */
        uint32_t values;
        size_t value_end; /* 0: no child has begun */
    } open[SN_FBX_DEEPEST_WRITTEN];
} sn_fbx_encoder;

/* Start and end of the file. */
void sn_fbx_put_header(sn_fbx_encoder *e);
void sn_fbx_put_footer(sn_fbx_encoder *e);
/* The end of a file of another version; the identifier has 16 bytes. */
void sn_fbx_put_footer_of(sn_fbx_encoder *e, int version, const void *identifier);

void sn_fbx_begin(sn_fbx_encoder *e, const char *name);
void sn_fbx_end(sn_fbx_encoder *e);
/* Values as they are in another file; then a list of children, even if none follows. */
void sn_fbx_put_raw(sn_fbx_encoder *e, uint32_t count, const void *bytes, size_t size);
void sn_fbx_open_list(sn_fbx_encoder *e);

void sn_fbx_put_bool(sn_fbx_encoder *e, bool value);
void sn_fbx_put_int(sn_fbx_encoder *e, int32_t value);
void sn_fbx_put_long(sn_fbx_encoder *e, int64_t value);
void sn_fbx_put_double(sn_fbx_encoder *e, double value);
void sn_fbx_put_text(sn_fbx_encoder *e, const char *text);
void sn_fbx_put_bytes(sn_fbx_encoder *e, const void *bytes, size_t size);
/* name, 0, 1, class: how objects are named. */
void sn_fbx_put_name(sn_fbx_encoder *e, const char *name, const char *class_name);

/* Arrays, deflated when that pays. */
void sn_fbx_put_doubles(sn_fbx_encoder *e, const double *values, size_t count);
void sn_fbx_put_floats(sn_fbx_encoder *e, const float *values, size_t count);
void sn_fbx_put_ints(sn_fbx_encoder *e, const int *values, size_t count);
void sn_fbx_put_longs(sn_fbx_encoder *e, const int64_t *values, size_t count);

/* "OO" of two objects, or "OP" with a property. */
void sn_fbx_connect(sn_fbx_encoder *e, int64_t child, int64_t parent, const char *property);
/* Begins an object with its number, name and class. */
void sn_fbx_begin_object(sn_fbx_encoder *e, const char *node, int64_t id, const char *name,
                         const char *class_name, const char *subclass);
/* A node with one value. */
void sn_fbx_int_node(sn_fbx_encoder *e, const char *name, int32_t value);
void sn_fbx_text_node(sn_fbx_encoder *e, const char *name, const char *value);

#endif
