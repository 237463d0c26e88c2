/* PLY (Stanford polygons): ascii and binary of both byte orders.
 *
 * Read: vertex x y z, with normals nx ny nz and texture coordinates (s t, u v, texture_u texture_v)
 * per vertex; face vertex_indices or vertex_index, with texture coordinates per corner in a list
 * `texcoord`. Other properties and elements are stepped over. Written: binary little-endian,
 * coordinates as float where all are float32 and double otherwise; `texcoord` when every corner has
 * one. */
#include <float.h>
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "io/binary.h"
#include "io/text.h"

typedef enum ply_type {
    PLY_INT8,
    PLY_UINT8,
    PLY_INT16,
    PLY_UINT16,
    PLY_INT32,
    PLY_UINT32,
    PLY_FLOAT,
    PLY_DOUBLE,
    PLY_NO_TYPE
} ply_type;
static const int type_size[] = {1, 1, 2, 2, 4, 4, 4, 8};

/* What a property means to us. */
typedef enum ply_role {
    ROLE_NONE,
    ROLE_X,
    ROLE_Y,
    ROLE_Z,
    ROLE_NX,
    ROLE_NY,
    ROLE_NZ,
    ROLE_U,
    ROLE_V,
    ROLE_CORNERS,
    ROLE_TEXCOORD,
    ROLE_COUNT
} ply_role;

typedef struct ply_property {
    ply_type type;       /* of the value, or of a list's items */
    ply_type count_type; /* of a list's length; PLY_NO_TYPE: not a list */
    ply_role role;
} ply_property;

enum { MAX_PROPERTIES = 256, MAX_ELEMENTS = 64 };

typedef struct ply_element {
    enum { ELEMENT_OTHER, ELEMENT_VERTEX, ELEMENT_FACE } kind;
    int64_t count;
    int first_property, property_count;
} ply_element;

typedef struct ply_reader {
    sn_text text; /* header, and the body of an ascii file */
    const sn_source *source;
    sinew_error *error;
    bool ascii, big_endian;
    const char *at, *end; /* body of a binary file */

    ply_element elements[MAX_ELEMENTS];
    int element_count;
    ply_property properties[MAX_PROPERTIES];
    int property_count;

    double *positions, *normals, *uvs, *corner_uvs;
    size_t position_capacity, normal_capacity, uv_capacity, corner_uv_capacity;
    size_t vertex_count, corner_uv_count;
    int *face_start, *corners;
    size_t face_count, face_capacity, corner_count, corner_capacity;
    bool has[ROLE_COUNT];
} ply_reader;

static ply_type find_type(const char *word, size_t length) {
    static const struct {
        const char *name;
        ply_type type;
    } names[] = {{"char", PLY_INT8},     {"int8", PLY_INT8},     {"uchar", PLY_UINT8},
                 {"uint8", PLY_UINT8},   {"short", PLY_INT16},   {"int16", PLY_INT16},
                 {"ushort", PLY_UINT16}, {"uint16", PLY_UINT16}, {"int", PLY_INT32},
                 {"int32", PLY_INT32},   {"uint", PLY_UINT32},   {"uint32", PLY_UINT32},
                 {"float", PLY_FLOAT},   {"float32", PLY_FLOAT}, {"double", PLY_DOUBLE},
                 {"float64", PLY_DOUBLE}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sn_text_is(word, length, names[i].name)) return names[i].type;
    return PLY_NO_TYPE;
}

static ply_role find_role(const ply_element *element, const char *word, size_t length, bool list) {
    static const struct {
        const char *name;
        ply_role role;
    } names[] = {{"x", ROLE_X},   {"y", ROLE_Y},   {"z", ROLE_Z},         {"nx", ROLE_NX},
                 {"ny", ROLE_NY}, {"nz", ROLE_NZ}, {"s", ROLE_U},         {"t", ROLE_V},
                 {"u", ROLE_U},   {"v", ROLE_V},   {"texture_u", ROLE_U}, {"texture_v", ROLE_V}};
    if (element->kind == ELEMENT_FACE && list) {
        if (sn_text_is(word, length, "vertex_indices") || sn_text_is(word, length, "vertex_index"))
            return ROLE_CORNERS;
        if (sn_text_is(word, length, "texcoord")) return ROLE_TEXCOORD;
    }
    if (element->kind == ELEMENT_VERTEX && !list)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (sn_text_is(word, length, names[i].name)) return names[i].role;
    return ROLE_NONE;
}

static sinew_status read_property(ply_reader *r) {
    sn_text *text = &r->text;
    if (r->element_count == 0) return sn_text_fail(text, "property before the first element");
    if (r->property_count == MAX_PROPERTIES) return sn_text_fail(text, "too many properties");
    ply_element *element = &r->elements[r->element_count - 1];
    ply_property *property = &r->properties[r->property_count];
    const char *word;
    size_t length = sn_text_word(text, &word);
    bool list = sn_text_is(word, length, "list");
    property->count_type = PLY_NO_TYPE;
    if (list) {
        length = sn_text_word(text, &word);
        property->count_type = find_type(word, length);
        if (property->count_type >= PLY_FLOAT)
            return sn_text_fail(text, "a list's length must be an integer type");
        length = sn_text_word(text, &word);
    }
    property->type = find_type(word, length);
    if (property->type == PLY_NO_TYPE)
        return sn_text_fail(text, "'%.*s' is not a PLY type", (int)(length < 40 ? length : 40),
                            word);
    length = sn_text_word(text, &word);
    if (length == 0) return sn_text_fail(text, "property has no name");
    property->role = find_role(element, word, length, list);
    if (property->role != ROLE_NONE && r->has[property->role])
        return sn_text_fail(text, "property '%.*s' is duplicated", (int)length, word);
    r->has[property->role] = property->role != ROLE_NONE;
    element->property_count++;
    r->property_count++;
    return SINEW_OK;
}

static sinew_status read_element(ply_reader *r) {
    sn_text *text = &r->text;
    if (r->element_count == MAX_ELEMENTS) return sn_text_fail(text, "too many elements");
    ply_element *element = &r->elements[r->element_count];
    const char *word;
    size_t length = sn_text_word(text, &word);
    *element = (ply_element){.first_property = r->property_count};
    if (sn_text_is(word, length, "vertex")) element->kind = ELEMENT_VERTEX;
    if (sn_text_is(word, length, "face")) element->kind = ELEMENT_FACE;
    for (int i = 0; element->kind != ELEMENT_OTHER && i < r->element_count; i++)
        if (r->elements[i].kind == element->kind)
            return sn_text_fail(text, "element '%.*s' is duplicated", (int)length, word);
    int64_t limit = element->kind == ELEMENT_OTHER ? INT64_MAX : INT_MAX / 3;
    SN_TRY(sn_text_integer(text, "an element count", 0, limit, &element->count));
    r->element_count++;
    return SINEW_OK;
}

static sinew_status read_format(ply_reader *r) {
    const char *word;
    size_t length = sn_text_word(&r->text, &word);
    if (sn_text_is(word, length, "ascii"))
        r->ascii = true;
    else if (sn_text_is(word, length, "binary_big_endian"))
        r->big_endian = true;
    else if (!sn_text_is(word, length, "binary_little_endian"))
        return sn_text_fail(&r->text, "'%.*s' is not a PLY format",
                            (int)(length < 40 ? length : 40), word);
    length = sn_text_word(&r->text, &word);
    if (!sn_text_is(word, length, "1.0")) return sn_text_fail(&r->text, "PLY version is not 1.0");
    return SINEW_OK;
}

static sinew_status read_header(ply_reader *r) {
    sn_text *text = &r->text;
    const char *word;
    size_t length = sn_text_word(text, &word);
    if (!sn_text_is(word, length, "ply")) return sn_text_fail(text, "is not a PLY file");
    sn_text_next_line(text);
    bool format = false;
    for (;;) {
        if (sn_text_done(text)) return sn_text_fail(text, "header has no end");
        length = sn_text_word(text, &word);
        if (sn_text_is(word, length, "end_header")) break;
        if (sn_text_is(word, length, "format")) {
            if (format) return sn_text_fail(text, "the format is specified twice");
            SN_TRY(read_format(r));
            format = true;
        } else if (sn_text_is(word, length, "element"))
            SN_TRY(read_element(r));
        else if (sn_text_is(word, length, "property"))
            SN_TRY(read_property(r));
        else if (length && !sn_text_is(word, length, "comment") &&
                 !sn_text_is(word, length, "obj_info"))
            return sn_text_fail(text, "'%.*s' is not a PLY header statement",
                                (int)(length < 40 ? length : 40), word);
        sn_text_next_line(text);
    }
    if (!format) return sn_text_fail(text, "header has no format");
    sn_text_next_line(text);
    r->at = text->at;
    return SINEW_OK;
}

static sinew_status read_value(ply_reader *r, ply_type type, double *value) {
    if (r->ascii) {
        /* also nan: a property that we do not use may hold it */
        sn_text_skip_lines(&r->text);
        if (sn_text_done(&r->text)) return sn_text_fail(&r->text, "the file is cut short");
        if (!sn_number(&r->text.at, value) || !sn_text_word_done(&r->text))
            return sn_text_fail(&r->text, "is not a number");
        return SINEW_OK;
    }
    if (r->end - r->at < type_size[type])
        return sn_source_fail(r->source, r->error, "is cut short: vertex %zu, face %zu",
                              r->vertex_count, r->face_count);
    const char *at = r->at;
    r->at += type_size[type];
    switch (type) {
    case PLY_INT8:
        *value = (int8_t)*at;
        break;
    case PLY_UINT8:
        *value = (uint8_t)*at;
        break;
    case PLY_INT16:
        *value = (int16_t)sn_load_u16(at, r->big_endian);
        break;
    case PLY_UINT16:
        *value = sn_load_u16(at, r->big_endian);
        break;
    case PLY_INT32:
        *value = (int32_t)sn_load_u32(at, r->big_endian);
        break;
    case PLY_UINT32:
        *value = sn_load_u32(at, r->big_endian);
        break;
    case PLY_FLOAT:
        *value = (double)sn_load_f32(at, r->big_endian);
        break;
    default:
        *value = sn_load_f64(at, r->big_endian);
        break;
    }
    return SINEW_OK;
}

static sinew_status bad_element(const ply_reader *r, const char *what) {
    if (r->ascii) return sn_text_fail(&r->text, "%s", what);
    return sn_source_fail(r->source, r->error, "vertex %zu, face %zu: %s", r->vertex_count,
                          r->face_count, what);
}

/* Items of a list we do not use. */
static sinew_status skip_list(ply_reader *r, ply_type type, int64_t count) {
    double ignored;
    for (int64_t i = 0; i < count; i++) SN_TRY(read_value(r, type, &ignored));
    return SINEW_OK;
}

static sinew_status read_corners(ply_reader *r, ply_type type, int64_t count) {
    if (count < 3) return bad_element(r, "face has fewer than 3 corners");
    for (int64_t i = 0; i < count; i++) {
        double value;
        SN_TRY(read_value(r, type, &value));
        if (!(value >= 0 && value < INT_MAX) || value != floor(value))
            return bad_element(r, "face has a bad vertex index");
        if (r->corner_count >= INT_MAX - 1) return bad_element(r, "too many corners");
        if (!SN_RESERVE(r->corners, r->corner_capacity, r->corner_count + 1))
            return sn_no_memory(r->error);
        r->corners[r->corner_count++] = (int)value;
    }
    return SINEW_OK;
}

static sinew_status read_corner_uvs(ply_reader *r, ply_type type, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        double value;
        SN_TRY(read_value(r, type, &value));
        if (!isfinite(value)) return bad_element(r, "texture coordinate is not finite");
        if (!SN_RESERVE(r->corner_uvs, r->corner_uv_capacity, r->corner_uv_count + 1))
            return sn_no_memory(r->error);
        r->corner_uvs[r->corner_uv_count++] = value;
    }
    return SINEW_OK;
}

/* One row of an element; scalar roles land in `values`. */
static sinew_status read_row(ply_reader *r, const ply_element *element, double *values) {
    for (int p = 0; p < element->property_count; p++) {
        const ply_property *property = &r->properties[element->first_property + p];
        double value;
        if (property->count_type == PLY_NO_TYPE) {
            SN_TRY(read_value(r, property->type, &value));
            values[property->role] = value;
            continue;
        }
        SN_TRY(read_value(r, property->count_type, &value));
        if (!(value >= 0 && value < INT_MAX) || value != floor(value))
            return bad_element(r, "bad list length");
        if (property->role == ROLE_CORNERS)
            SN_TRY(read_corners(r, property->type, (int64_t)value));
        else if (property->role == ROLE_TEXCOORD)
            SN_TRY(read_corner_uvs(r, property->type, (int64_t)value));
        else
            SN_TRY(skip_list(r, property->type, (int64_t)value));
    }
    return SINEW_OK;
}

static sinew_status keep_vertex(ply_reader *r, const double *values) {
    size_t i = r->vertex_count;
    for (int role = ROLE_X; role <= ROLE_V; role++)
        if (r->has[role] && !isfinite(values[role]))
            return bad_element(r, "a coordinate is not finite");
    if (!SN_RESERVE(r->positions, r->position_capacity, 3 * (i + 1)) ||
        (r->has[ROLE_NX] && !SN_RESERVE(r->normals, r->normal_capacity, 3 * (i + 1))) ||
        (r->has[ROLE_U] && !SN_RESERVE(r->uvs, r->uv_capacity, 2 * (i + 1))))
        return sn_no_memory(r->error);
    memcpy(r->positions + 3 * i, values + ROLE_X, 3 * sizeof(double));
    if (r->has[ROLE_NX]) memcpy(r->normals + 3 * i, values + ROLE_NX, 3 * sizeof(double));
    if (r->has[ROLE_U]) memcpy(r->uvs + 2 * i, values + ROLE_U, 2 * sizeof(double));
    r->vertex_count++;
    return SINEW_OK;
}

static sinew_status keep_face(ply_reader *r, size_t first) {
    if (!SN_RESERVE(r->face_start, r->face_capacity, r->face_count + 2))
        return sn_no_memory(r->error);
    r->face_start[r->face_count] = (int)first;
    r->face_start[++r->face_count] = (int)r->corner_count;
    return SINEW_OK;
}

static sinew_status read_body(ply_reader *r) {
    for (int e = 0; e < r->element_count; e++) {
        const ply_element *element = &r->elements[e];
        if (element->property_count == 0) continue; /* rows of nothing, however many */
        for (int64_t i = 0; i < element->count; i++) {
            double values[ROLE_COUNT] = {0};
            size_t first = r->corner_count;
            SN_TRY(read_row(r, element, values));
            if (element->kind == ELEMENT_VERTEX) SN_TRY(keep_vertex(r, values));
            if (element->kind == ELEMENT_FACE && r->has[ROLE_CORNERS]) SN_TRY(keep_face(r, first));
        }
    }
    return SINEW_OK;
}

static int *count_up(size_t count) {
    int *numbers = SN_NEW(int, count);
    for (size_t i = 0; numbers && i < count; i++) numbers[i] = (int)i;
    return numbers;
}

static sinew_status build(ply_reader *r, sinew_mesh **mesh, sinew_error *error) {
    const int nothing = 0;
    sinew_status status =
        sinew_mesh_create((int)r->vertex_count, r->positions, (int)r->face_count,
                          r->face_count ? r->face_start : &nothing, r->corners, mesh, error);
    if (status != SINEW_OK) return sn_source_blame(r->source, status, error);
    sinew_mesh *m = *mesh;
    if (r->corner_uvs && r->corner_uv_count == 2 * r->corner_count) {
        m->corner_uv = count_up(r->corner_count);
        m->uvs = r->corner_uvs, r->corner_uvs = NULL;
        m->uv_count = (int)r->corner_count;
    } else if (r->uvs) {
        m->corner_uv = sn_memdup(r->corners, r->corner_count, sizeof(int));
        m->uvs = r->uvs, r->uvs = NULL;
        m->uv_count = m->vertex_count;
    }
    if (r->normals) {
        m->corner_normal = sn_memdup(r->corners, r->corner_count, sizeof(int));
        m->normals = r->normals, r->normals = NULL;
        m->normal_count = m->vertex_count;
    }
    if ((m->uvs && !m->corner_uv) || (m->normals && !m->corner_normal)) {
        sinew_mesh_destroy(m);
        *mesh = NULL;
        return sn_no_memory(error);
    }
    return SINEW_OK;
}

static sinew_status read_all(ply_reader *r, sinew_mesh **mesh, sinew_error *error) {
    SN_TRY(read_header(r));
    if (!r->has[ROLE_X] || !r->has[ROLE_Y] || !r->has[ROLE_Z])
        return sn_source_fail(r->source, error, "has no vertex element with x, y and z");
    r->has[ROLE_NX] &= r->has[ROLE_NY] && r->has[ROLE_NZ];
    r->has[ROLE_U] &= r->has[ROLE_V];
    SN_TRY(read_body(r));
    return build(r, mesh, error);
}

static sinew_status read_mesh(const sn_source *source, sinew_mesh **mesh, sinew_error *error) {
    ply_reader *r = SN_NEW0(ply_reader, 1);
    if (!r) return sn_no_memory(error);
    r->text = sn_text_open(source, error);
    r->source = source;
    r->error = error;
    r->end = source->bytes + source->size;
    sinew_status status = read_all(r, mesh, error);
    sn_free(r->positions), sn_free(r->normals), sn_free(r->uvs), sn_free(r->corner_uvs);
    sn_free(r->face_start), sn_free(r->corners);
    sn_free(r);
    return status;
}

static bool all_float32(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (fabs(values[i]) > FLT_MAX || (double)(float)values[i] != values[i]) return false;
    return true;
}

static bool every_corner_has_uv(const sinew_mesh *mesh, int corners) {
    if (!mesh->corner_uv || corners == 0) return false;
    for (int c = 0; c < corners; c++)
        if (mesh->corner_uv[c] < 0) return false;
    return true;
}

static void add_real(sn_buffer *out, double value, bool single) {
    char bytes[8];
    if (single) {
        sn_store_f32(bytes, (float)value, false);
    } else {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        sn_store_u32(bytes, (uint32_t)bits, false);
        sn_store_u32(bytes + 4, (uint32_t)(bits >> 32), false);
    }
    sn_buffer_add(out, bytes, single ? 4 : 8);
}

static void add_u32(sn_buffer *out, uint32_t value) {
    char bytes[4];
    sn_store_u32(bytes, value, false);
    sn_buffer_add(out, bytes, 4);
}

/* List lengths are one byte where every list is short, as most readers expect. */
static void add_length(sn_buffer *out, int length, bool wide) {
    if (wide)
        add_u32(out, (uint32_t)length);
    else
        sn_buffer_char(out, (char)length);
}

static sinew_status write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error) {
    (void)error;
    int corners = mesh->face_start[mesh->face_count], largest = 0;
    for (int f = 0; f < mesh->face_count; f++) {
        int count = mesh->face_start[f + 1] - mesh->face_start[f];
        if (count > largest) largest = count;
    }
    bool single = all_float32(mesh->positions, 3 * (size_t)mesh->vertex_count);
    bool uvs = every_corner_has_uv(mesh, corners);
    bool single_uvs = uvs && all_float32(mesh->uvs, 2 * (size_t)mesh->uv_count);
    bool wide = largest > 127;
    const char *real = single ? "float" : "double", *length = wide ? "uint" : "uchar";
    sn_buffer_print(out,
                    "ply\nformat binary_little_endian 1.0\nelement vertex %d\n"
                    "property %s x\nproperty %s y\nproperty %s z\nelement face %d\n"
                    "property list %s int vertex_indices\n",
                    mesh->vertex_count, real, real, real, mesh->face_count, length);
    if (uvs)
        sn_buffer_print(out, "property list %s %s texcoord\n", length,
                        single_uvs ? "float" : "double");
    sn_buffer_text(out, "end_header\n");
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++)
        add_real(out, mesh->positions[i], single);
    for (int f = 0; f < mesh->face_count; f++) {
        int begin = mesh->face_start[f], end = mesh->face_start[f + 1];
        add_length(out, end - begin, wide);
        for (int c = begin; c < end; c++) add_u32(out, (uint32_t)mesh->face_vertices[c]);
        if (!uvs) continue;
        add_length(out, 2 * (end - begin), wide);
        for (int c = begin; c < end; c++)
            for (int k = 0; k < 2; k++)
                add_real(out, mesh->uvs[2 * (size_t)mesh->corner_uv[c] + (size_t)k], single_uvs);
    }
    return SINEW_OK;
}

const sn_format sn_format_ply = {
    .name = "PLY",
    .endings = "ply",
    .holds = SN_HOLDS_POLYGONS | SN_HOLDS_UVS | SN_HOLDS_DOUBLES,
    .read_mesh = read_mesh,
    .write_mesh = write_mesh,
};
