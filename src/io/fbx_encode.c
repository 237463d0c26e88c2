/* Binary FBX 7.4, little-endian, as Blender and Autodesk's programs write it. */
#include "io/fbx_encode.h"

#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "io/binary.h"

enum { VERSION = 7400, LEAST_DEFLATED = 128 };

static size_t head_size(const sn_fbx_encoder *e) {
    return e->wide ? 25 : 13;
}

static void put_u32(sn_fbx_encoder *e, uint32_t value) {
    char bytes[4];
    sn_store_u32(bytes, value, false);
    sn_buffer_add(e->out, bytes, sizeof bytes);
}

static void put_u64(sn_fbx_encoder *e, uint64_t value) {
    put_u32(e, (uint32_t)value);
    put_u32(e, (uint32_t)(value >> 32));
}

void sn_fbx_put_header(sn_fbx_encoder *e) {
    sn_buffer_add(e->out, "Kaydara FBX Binary  \0\x1a", 23);
    put_u32(e, VERSION);
}

/* The identifier that belongs to the creation time 1970-01-01 10:00:00:000. Every file has that
 * time, so that the same rig gives the same bytes. */
static const unsigned char foot_id[16] = {0xfa, 0xbc, 0xab, 0x09, 0xd0, 0xc8, 0xd4, 0x66,
                                          0xb1, 0x76, 0xfb, 0x83, 0x1c, 0xf7, 0x26, 0x7e};
static const unsigned char foot_magic[16] = {0xf8, 0x5a, 0x8c, 0x6a, 0xde, 0xf5, 0xd9, 0x7e,
                                             0xec, 0xe9, 0x0c, 0xe3, 0x75, 0x8f, 0x29, 0x0b};
static const char zeros[128];

void sn_fbx_put_footer(sn_fbx_encoder *e) {
    sn_fbx_put_footer_of(e, VERSION, foot_id);
}

void sn_fbx_put_footer_of(sn_fbx_encoder *e, int version, const void *identifier) {
    sn_buffer_add(e->out, zeros, head_size(e)); /* ends the list of nodes */
    sn_buffer_add(e->out, identifier, sizeof foot_id);
    sn_buffer_add(e->out, zeros, 4);
    sn_buffer_add(e->out, zeros, 16 - e->out->size % 16);
    put_u32(e, (uint32_t)version);
    sn_buffer_add(e->out, zeros, 120);
    sn_buffer_add(e->out, foot_magic, sizeof foot_magic);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void sn_fbx_begin(sn_fbx_encoder *e, const char *name) {
    if (e->depth > 0 && e->open[e->depth - 1].value_end == 0)
        e->open[e->depth - 1].value_end = e->out->size;
    size_t length = strlen(name);
    if (e->depth == SN_FBX_DEEPEST_WRITTEN || length > 255) {
        e->out->failed = true;
        return;
    }
    e->open[e->depth].head = e->out->size;
    e->open[e->depth].values = 0;
    e->open[e->depth].value_end = 0;
    e->depth++;
    sn_buffer_add(e->out, zeros, head_size(e) - 1);
    sn_buffer_char(e->out, (char)length);
    sn_buffer_add(e->out, name, length);
}

/* Fills in the head: where the node ends, how many values it has and in how many bytes. */
void sn_fbx_end(sn_fbx_encoder *e) {
    if (e->out->failed || e->depth == 0) return;
    e->depth--;
    size_t head = e->open[e->depth].head, value_end = e->open[e->depth].value_end;
    size_t values = head + head_size(e) + (unsigned char)e->out->bytes[head + head_size(e) - 1];
    if (value_end != 0)
        sn_buffer_add(e->out, zeros, head_size(e)); /* ends the list of children */
    else
        value_end = e->out->size;
    if (e->out->failed || e->out->size > UINT32_MAX) {
        e->out->failed = true;
        return;
    }
    size_t step = e->wide ? 8 : 4; /* high halves are zero */
    sn_store_u32(e->out->bytes + head, (uint32_t)e->out->size, false);
    sn_store_u32(e->out->bytes + head + step, e->open[e->depth].values, false);
    sn_store_u32(e->out->bytes + head + 2 * step, (uint32_t)(value_end - values), false);
}

void sn_fbx_put_raw(sn_fbx_encoder *e, uint32_t count, const void *bytes, size_t size) {
    if (e->depth > 0) e->open[e->depth - 1].values += count;
    if (size > 0) sn_buffer_add(e->out, bytes, size);
}

void sn_fbx_open_list(sn_fbx_encoder *e) {
    if (e->depth > 0 && e->open[e->depth - 1].value_end == 0)
        e->open[e->depth - 1].value_end = e->out->size;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_type(sn_fbx_encoder *e, char type) {
    if (e->depth > 0) e->open[e->depth - 1].values++;
    sn_buffer_char(e->out, type);
}

void sn_fbx_put_bool(sn_fbx_encoder *e, bool value) {
    put_type(e, 'C');
    sn_buffer_char(e->out, value);
}

void sn_fbx_put_int(sn_fbx_encoder *e, int32_t value) {
    put_type(e, 'I');
    put_u32(e, (uint32_t)value);
}

void sn_fbx_put_long(sn_fbx_encoder *e, int64_t value) {
    put_type(e, 'L');
    put_u64(e, (uint64_t)value);
}

void sn_fbx_put_double(sn_fbx_encoder *e, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_type(e, 'D');
    put_u64(e, bits);
}

void sn_fbx_put_text(sn_fbx_encoder *e, const char *text) {
    put_type(e, 'S');
    put_u32(e, (uint32_t)strlen(text));
    sn_buffer_text(e->out, text);
}

void sn_fbx_put_bytes(sn_fbx_encoder *e, const void *bytes, size_t size) {
    put_type(e, 'R');
    put_u32(e, (uint32_t)size);
    sn_buffer_add(e->out, bytes, size);
}

void sn_fbx_put_name(sn_fbx_encoder *e, const char *name, const char *class_name) {
    put_type(e, 'S');
    put_u32(e, (uint32_t)(strlen(name) + 2 + strlen(class_name)));
    sn_buffer_text(e->out, name);
    sn_buffer_add(e->out, "\0\1", 2);
    sn_buffer_text(e->out, class_name);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void put_array(sn_fbx_encoder *e, char type, const void *values, size_t count,
                      size_t width) {
    size_t size = count * width;
    put_type(e, type);
    if (count > UINT32_MAX || size > UINT32_MAX) {
        e->out->failed = true;
        return;
    }
    uLong bound = compressBound((uLong)size), deflated = bound;
    char *packed = size >= LEAST_DEFLATED ? SN_NEW(char, bound) : NULL;
    bool pays = packed &&
                compress2((Bytef *)packed, &deflated, values, (uLong)size, Z_BEST_SPEED) == Z_OK &&
                deflated < size;
    put_u32(e, (uint32_t)count);
    put_u32(e, pays);
    put_u32(e, (uint32_t)(pays ? deflated : size));
    sn_buffer_add(e->out, pays ? packed : values, pays ? deflated : size);
    sn_free(packed);
}

/* Arrays are stored as they lie in memory: the format's byte order is ours. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "FBX is written little-endian");

void sn_fbx_put_doubles(sn_fbx_encoder *e, const double *values, size_t count) {
    put_array(e, 'd', values, count, sizeof *values);
}
void sn_fbx_put_floats(sn_fbx_encoder *e, const float *values, size_t count) {
    put_array(e, 'f', values, count, sizeof *values);
}
void sn_fbx_put_ints(sn_fbx_encoder *e, const int *values, size_t count) {
    put_array(e, 'i', values, count, sizeof *values);
}
void sn_fbx_put_longs(sn_fbx_encoder *e, const int64_t *values, size_t count) {
    put_array(e, 'l', values, count, sizeof *values);
}

void sn_fbx_int_node(sn_fbx_encoder *e, const char *name, int32_t value) {
    sn_fbx_begin(e, name);
    sn_fbx_put_int(e, value);
    sn_fbx_end(e);
}

void sn_fbx_text_node(sn_fbx_encoder *e, const char *name, const char *value) {
    sn_fbx_begin(e, name);
    sn_fbx_put_text(e, value);
    sn_fbx_end(e);
}

/* ---- objects --------------------------------------------------------------------------------- */

void sn_fbx_begin_object(sn_fbx_encoder *e, const char *node, int64_t id, const char *name,
                         const char *class_name, const char *subclass) {
    sn_fbx_begin(e, node);
    sn_fbx_put_long(e, id);
    sn_fbx_put_name(e, name, class_name);
    sn_fbx_put_text(e, subclass);
}

void sn_fbx_connect(sn_fbx_encoder *e, int64_t child, int64_t parent, const char *property) {
    sn_fbx_begin(e, "C");
    sn_fbx_put_text(e, property ? "OP" : "OO");
    sn_fbx_put_long(e, child);
    sn_fbx_put_long(e, parent);
    if (property) sn_fbx_put_text(e, property);
    sn_fbx_end(e);
}
