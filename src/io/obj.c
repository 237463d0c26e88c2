/* Wavefront OBJ: polygons, texture coordinates, normals, objects and groups.
 *
 * A part is what the last `o` or `g` before a face named; equal names are one part. When no face is
 * in an object or group, materials name the parts. Parts are in the order of their first face.
 * Kept out: materials themselves, smoothing groups, vertex colors and weights, lines, points,
 * curves and surfaces. Indices may be negative (counted from the last) and may point ahead. */
#include "io/format.h"

#include <limits.h>
#include <stdio.h>

#include "base/memory.h"
#include "io/names.h"
#include "io/obj_sequence.h"
#include "io/text.h"

/* Everything read so far. */
typedef struct obj_reader {
    sn_text text;
    double *positions, *uvs, *normals;
    size_t position_count, position_capacity;
    size_t uv_count, uv_capacity;
    size_t normal_count, normal_capacity;

    int *face_start;
    size_t face_count, face_capacity;
    int *corner_vertex, *corner_uv, *corner_normal;
    size_t corner_count, vertex_capacity, corner_uv_capacity, corner_normal_capacity;
    bool any_uv, any_normal;

    /* The highest index so far of each kind and the line it stood on: forward references are
     * legal, so ranges are judged at the end. */
    struct {
        int64_t highest;
        int line;
    } seen[3];

    /* Two candidate namings of the faces: by object or group, and by material. */
    struct part_names {
        sn_names names;
        int *face_part;
        size_t face_capacity;
        int current;
        const char *pending; /* name in the text, made a part by the first face that uses it */
        size_t pending_length;
        bool changed, any;
    } groups, materials;
} obj_reader;

static void release(obj_reader *r) {
    sn_free(r->positions), sn_free(r->uvs), sn_free(r->normals);
    sn_free(r->face_start);
    sn_free(r->corner_vertex), sn_free(r->corner_uv), sn_free(r->corner_normal);
    struct part_names *all[] = {&r->groups, &r->materials};
    for (int k = 0; k < 2; k++) {
        sn_names_release(&all[k]->names);
        sn_free(all[k]->face_part);
    }
}

static sinew_status read_vector(obj_reader *r, double **values, size_t *count, size_t *capacity,
                                int needed, int kept, int most, const char *what) {
    if (*count >= INT_MAX / 3) return sn_text_fail(&r->text, "too many elements");
    if (!SN_RESERVE(*values, *capacity, (*count + 1) * (size_t)kept))
        return sn_no_memory(r->text.error);
    double *row = *values + *count * (size_t)kept;
    for (int i = 0; i < kept; i++) row[i] = 0;
    for (int i = 0; i < needed; i++) {
        double value;
        SN_TRY(sn_text_number(&r->text, what, &value));
        if (i < kept) row[i] = value;
    }
    for (int i = needed; i < most; i++) {
        sn_text_skip(&r->text);
        if (sn_text_line_done(&r->text)) break;
        double value;
        SN_TRY(sn_text_number(&r->text, what, &value));
        if (i < kept) row[i] = value;
    }
    (*count)++;
    return SINEW_OK;
}

/* One of the indices of a corner, from 0. */
static sinew_status read_index(obj_reader *r, int kind, size_t count, int *index) {
    static const char *const names[] = {"vertex", "texture coordinate", "normal"};
    sn_text *text = &r->text;
    int64_t value;
    if (!sn_integer(&text->at, &value)) return sn_text_fail(text, "face has a bad %s", names[kind]);
    if (value == 0)
        return sn_text_fail(text, "face refers to %s 0; they count from 1", names[kind]);
    if (value < 0) value += (int64_t)count + 1;
    if (value <= 0 || value > INT_MAX)
        return sn_text_fail(text, "face refers to a %s that does not exist", names[kind]);
    if (value > r->seen[kind].highest) {
        r->seen[kind].highest = value;
        r->seen[kind].line = text->line;
    }
    *index = (int)value - 1;
    return SINEW_OK;
}

static sinew_status read_corner(obj_reader *r) {
    sn_text *text = &r->text;
    size_t i = r->corner_count;
    if (i >= INT_MAX - 1) return sn_text_fail(text, "too many corners");
    if (!SN_RESERVE(r->corner_vertex, r->vertex_capacity, i + 1) ||
        !SN_RESERVE(r->corner_uv, r->corner_uv_capacity, i + 1) ||
        !SN_RESERVE(r->corner_normal, r->corner_normal_capacity, i + 1))
        return sn_no_memory(text->error);
    r->corner_uv[i] = r->corner_normal[i] = -1;
    SN_TRY(read_index(r, 0, r->position_count, &r->corner_vertex[i]));
    if (*text->at == '/') {
        text->at++;
        if (*text->at != '/' && !sn_text_word_done(text)) {
            SN_TRY(read_index(r, 1, r->uv_count, &r->corner_uv[i]));
            r->any_uv = true;
        }
        if (*text->at == '/') {
            text->at++;
            if (!sn_text_word_done(text)) {
                SN_TRY(read_index(r, 2, r->normal_count, &r->corner_normal[i]));
                r->any_normal = true;
            }
        }
    }
    if (!sn_text_word_done(text)) return sn_text_fail(text, "face has a bad corner");
    r->corner_count++;
    return SINEW_OK;
}

static sinew_status name_face(obj_reader *r, struct part_names *parts) {
    if (parts->changed) {
        parts->changed = false;
        parts->current = -1;
        if (parts->pending_length > 0) {
            const char *name = parts->pending;
            size_t length = parts->pending_length;
            parts->current = sn_names_find(&parts->names, name, length);
            if (parts->current < 0) parts->current = sn_names_add(&parts->names, name, length);
            if (parts->current < 0) return sn_no_memory(r->text.error);
            parts->any = true;
        }
    }
    if (!SN_RESERVE(parts->face_part, parts->face_capacity, r->face_count + 1))
        return sn_no_memory(r->text.error);
    parts->face_part[r->face_count] = parts->any ? parts->current : -1;
    return SINEW_OK;
}

static sinew_status read_face(obj_reader *r) {
    sn_text *text = &r->text;
    size_t first = r->corner_count;
    for (sn_text_skip(text); !sn_text_line_done(text); sn_text_skip(text)) SN_TRY(read_corner(r));
    if (r->corner_count - first < 3)
        return sn_text_fail(text, "face has %zu corners, needs 3 or more", r->corner_count - first);
    if (!SN_RESERVE(r->face_start, r->face_capacity, r->face_count + 2))
        return sn_no_memory(text->error);
    SN_TRY(name_face(r, &r->groups));
    SN_TRY(name_face(r, &r->materials));
    r->face_start[r->face_count++] = (int)first;
    return SINEW_OK;
}

static void read_name(obj_reader *r, struct part_names *parts) {
    parts->pending_length = sn_text_rest(&r->text, &parts->pending);
    parts->changed = true;
}

static bool is_kept_out(const char *word, size_t length) {
    static const char *const known[] = {
        "s",        "mtllib", "l",          "p",         "vp",    "mg",    "usemap", "maplib",
        "cstype",   "deg",    "bmat",       "step",      "curv",  "curv2", "surf",   "parm",
        "trim",     "hole",   "scrv",       "sp",        "end",   "con",   "bevel",  "c_interp",
        "d_interp", "lod",    "shadow_obj", "trace_obj", "ctech", "stech", "call",   "csh"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (sn_text_is(word, length, known[i])) return true;
    return false;
}

static sinew_status read_line(obj_reader *r) {
    sn_text *text = &r->text;
    if (sn_text_line_done(text) || *text->at == '#') {
        sn_text_next_line(text);
        return SINEW_OK;
    }
    const char *word;
    size_t length = sn_text_word(text, &word);
    if (length == 1 && *word == 'v') /* x y z, then a weight or a color */
        SN_TRY(read_vector(r, &r->positions, &r->position_count, &r->position_capacity, 3, 3, 8,
                           "a coordinate"));
    else if (length == 1 && *word == 'f')
        SN_TRY(read_face(r));
    else if (sn_text_is(word, length, "vt"))
        SN_TRY(read_vector(r, &r->uvs, &r->uv_count, &r->uv_capacity, 1, 2, 3,
                           "a texture coordinate"));
    else if (sn_text_is(word, length, "vn"))
        SN_TRY(read_vector(r, &r->normals, &r->normal_count, &r->normal_capacity, 3, 3, 3,
                           "a normal"));
    else if (length == 1 && (*word == 'o' || *word == 'g'))
        read_name(r, &r->groups);
    else if (sn_text_is(word, length, "usemtl"))
        read_name(r, &r->materials);
    else if (is_kept_out(word, length)) {
        /* the statement may go on over joined lines */
        while (sn_text_word(text, &word) > 0) {
        }
    } else
        return sn_text_fail(text, "'%.*s' is not an OBJ statement",
                            (int)(length < 40 ? length : 40), word);
    return sn_text_line_end(text);
}

static sinew_status check_ranges(obj_reader *r) {
    static const char *const names[] = {"vertex", "texture coordinate", "normal"};
    const size_t counts[] = {r->position_count, r->uv_count, r->normal_count};
    for (int kind = 0; kind < 3; kind++) {
        if (r->seen[kind].highest <= (int64_t)counts[kind]) continue;
        r->text.line = r->seen[kind].line;
        return sn_text_fail(&r->text, "face refers to %s %lld of %zu", names[kind],
                            (long long)r->seen[kind].highest, counts[kind]);
    }
    return SINEW_OK;
}

static void give_parts(struct part_names *parts, sinew_mesh *mesh) {
    mesh->part_count = parts->names.count;
    mesh->part_names = sn_names_take(&parts->names);
    mesh->face_part = parts->face_part;
    parts->face_part = NULL;
}

static sinew_status build(obj_reader *r, sinew_mesh **mesh, sinew_error *error) {
    SN_TRY(check_ranges(r));
    if (r->position_count == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: has no vertices", r->text.name);
    if (!SN_RESERVE(r->face_start, r->face_capacity, r->face_count + 1)) return sn_no_memory(error);
    r->face_start[r->face_count] = (int)r->corner_count;
    SN_TRY(sinew_mesh_create((int)r->position_count, r->positions, (int)r->face_count,
                             r->face_start, r->corner_vertex, mesh, error));
    sinew_mesh *m = *mesh;
    if (r->any_uv) {
        m->uv_count = (int)r->uv_count;
        m->uvs = r->uvs, r->uvs = NULL;
        m->corner_uv = r->corner_uv, r->corner_uv = NULL;
    }
    if (r->any_normal) {
        m->normal_count = (int)r->normal_count;
        m->normals = r->normals, r->normals = NULL;
        m->corner_normal = r->corner_normal, r->corner_normal = NULL;
    }
    if (r->groups.any)
        give_parts(&r->groups, m);
    else if (r->materials.any)
        give_parts(&r->materials, m);
    return SINEW_OK;
}

static sinew_status read_mesh(const sn_source *source, sinew_mesh **mesh, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    obj_reader r = {.text = sn_text_open(source, error)};
    r.groups.current = r.materials.current = -1;
    sinew_status status = SINEW_OK;
    while (status == SINEW_OK && !sn_text_done(&r.text)) {
        sn_text_skip(&r.text);
        status = read_line(&r);
    }
    if (status == SINEW_OK) status = build(&r, mesh, error);
    release(&r);
    return status;
}

static void write_face(const sinew_mesh *mesh, int face, sn_buffer *out) {
    sn_buffer_char(out, 'f');
    for (int c = mesh->face_start[face]; c < mesh->face_start[face + 1]; c++) {
        int uv = mesh->corner_uv ? mesh->corner_uv[c] : -1;
        int normal = mesh->corner_normal ? mesh->corner_normal[c] : -1;
        sn_buffer_char(out, ' ');
        sn_buffer_integer(out, mesh->face_vertices[c] + 1);
        if (uv >= 0 || normal >= 0) sn_buffer_char(out, '/');
        if (uv >= 0) sn_buffer_integer(out, uv + 1);
        if (normal >= 0) {
            sn_buffer_char(out, '/');
            sn_buffer_integer(out, normal + 1);
        }
    }
    sn_buffer_char(out, '\n');
}

/* A name ends with its line: line feeds become blanks, and a last backslash would join the next. */
static void write_name(sn_buffer *out, const char *name) {
    for (const char *c = name; *c; c++)
        sn_buffer_char(out, *c == '\n' || *c == '\r' || (*c == '\\' && !c[1]) ? ' ' : *c);
}

static sinew_status write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error) {
    (void)error;
    for (int v = 0; v < mesh->vertex_count; v++) {
        sn_buffer_char(out, 'v');
        sn_buffer_numbers(out, ' ', mesh->positions + 3 * (size_t)v, 3);
        sn_buffer_char(out, '\n');
    }
    for (int i = 0; mesh->corner_uv && i < mesh->uv_count; i++) {
        sn_buffer_text(out, "vt");
        sn_buffer_numbers(out, ' ', mesh->uvs + 2 * (size_t)i, 2);
        sn_buffer_char(out, '\n');
    }
    for (int i = 0; mesh->corner_normal && i < mesh->normal_count; i++) {
        sn_buffer_text(out, "vn");
        sn_buffer_numbers(out, ' ', mesh->normals + 3 * (size_t)i, 3);
        sn_buffer_char(out, '\n');
    }
    int current = -1;
    for (int f = 0; f < mesh->face_count; f++) {
        int part = mesh->part_count == 0 ? -1 : mesh->face_part ? mesh->face_part[f] : 0;
        if (part != current) {
            sn_buffer_text(out, part >= 0 ? "g " : "g");
            if (part >= 0) write_name(out, mesh->part_names[part]);
            sn_buffer_char(out, '\n');
            current = part;
        }
        write_face(mesh, f, out);
    }
    return SINEW_OK;
}

const sn_format sn_format_obj = {
    .name = "OBJ",
    .endings = "obj",
    .holds =
        SN_HOLDS_POLYGONS | SN_HOLDS_UVS | SN_HOLDS_NORMALS | SN_HOLDS_PARTS | SN_HOLDS_DOUBLES,
    .read_mesh = read_mesh,
    .write_mesh = write_mesh,
    .write_frames = &sn_obj_sequence_sink,
};
