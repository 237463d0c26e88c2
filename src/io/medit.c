/* MEDIT .mesh, ascii: vertices, triangles, quadrilaterals and tetrahedra.
 *
 * A mesh has the triangles, then the quadrilaterals; written are the triangles. References (the
 * last number of each line) are read and dropped, written as 0. Other sections are stepped over
 * when their size is known. Indices count from 1. */
#include <limits.h>

#include "base/memory.h"
#include "io/tets.h"
#include "io/text.h"

typedef struct index_list {
    int *items;
    size_t count, capacity;
} index_list;

typedef struct medit_reader {
    sn_text text;
    double *positions;
    size_t position_capacity;
    int64_t vertex_count;
    int dimension;
    index_list triangles, quads, tets;
} medit_reader;

static void release(medit_reader *r) {
    sn_free(r->positions);
    sn_free(r->triangles.items), sn_free(r->quads.items), sn_free(r->tets.items);
}

static sinew_status read_count(medit_reader *r, int64_t *count) {
    sn_text_skip_lines(&r->text);
    return sn_text_integer(&r->text, "a count", 0, INT_MAX / 4, count);
}

static sinew_status read_vertices(medit_reader *r) {
    if (r->positions) return sn_text_fail(&r->text, "the section Vertices appears twice");
    if (r->dimension != 3) return sn_text_fail(&r->text, "Dimension is not 3");
    SN_TRY(read_count(r, &r->vertex_count));
    for (int64_t v = 0; v < r->vertex_count; v++) {
        if (!SN_RESERVE(r->positions, r->position_capacity, 3 * ((size_t)v + 1)))
            return sn_no_memory(r->text.error);
        for (size_t k = 0; k < 3; k++) {
            sn_text_skip_lines(&r->text);
            SN_TRY(sn_text_number(&r->text, "a coordinate", &r->positions[3 * (size_t)v + k]));
        }
        double reference;
        sn_text_skip_lines(&r->text);
        SN_TRY(sn_text_number(&r->text, "a reference", &reference));
    }
    return SINEW_OK;
}

/* Elements of `corners` vertices and a reference each. */
static sinew_status read_elements(medit_reader *r, index_list *list, int corners) {
    int64_t count, value;
    SN_TRY(read_count(r, &count));
    for (int64_t i = 0; i < count; i++) {
        if (list->count > INT_MAX - 8) return sn_text_fail(&r->text, "too many elements");
        if (!SN_RESERVE(list->items, list->capacity, list->count + (size_t)corners))
            return sn_no_memory(r->text.error);
        for (int k = 0; k < corners; k++) {
            sn_text_skip_lines(&r->text);
            SN_TRY(sn_text_integer(&r->text, "a vertex", 1, r->vertex_count, &value));
            list->items[list->count++] = (int)value - 1;
        }
        sn_text_skip_lines(&r->text);
        SN_TRY(sn_text_integer(&r->text, "a reference", INT_MIN, INT_MAX, &value));
    }
    return SINEW_OK;
}

/* Sections that we have no use for, with the numbers in each entry. */
static sinew_status skip_section(medit_reader *r, const char *word, size_t length) {
    static const struct {
        const char *name;
        int numbers;
    } known[] = {{"Edges", 3},         {"Hexahedra", 9},        {"Prisms", 7},
                 {"Pyramids", 6},      {"Corners", 1},          {"Ridges", 1},
                 {"RequiredEdges", 1}, {"RequiredVertices", 1}, {"RequiredTriangles", 1},
                 {"Normals", 3},       {"Tangents", 3},         {"NormalAtVertices", 2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!sn_text_is(word, length, known[i].name)) continue;
        int64_t count;
        SN_TRY(read_count(r, &count));
        for (int64_t k = 0; k < count * known[i].numbers; k++) {
            double ignored;
            sn_text_skip_lines(&r->text);
            SN_TRY(sn_text_number(&r->text, "a number", &ignored));
        }
        return SINEW_OK;
    }
    return sn_text_fail(&r->text, "'%.*s' is not a MEDIT section", (int)(length < 40 ? length : 40),
                        word);
}

static sinew_status read_all(medit_reader *r) {
    sn_text *text = &r->text;
    bool version = false;
    r->dimension = 3;
    for (;;) {
        sn_text_skip_lines(text);
        const char *word;
        size_t length = sn_text_word(text, &word);
        if (length == 0 || sn_text_is(word, length, "End")) break;
        int64_t number;
        if (sn_text_is(word, length, "MeshVersionFormatted")) {
            sn_text_skip_lines(text);
            SN_TRY(sn_text_integer(text, "a version", 1, 4, &number));
            version = true;
        } else if (!version) {
            return sn_text_fail(text, "is not a MEDIT file");
        } else if (sn_text_is(word, length, "Dimension")) {
            sn_text_skip_lines(text);
            SN_TRY(sn_text_integer(text, "a dimension", 2, 3, &number));
            r->dimension = (int)number;
        } else if (sn_text_is(word, length, "Vertices")) {
            SN_TRY(read_vertices(r));
        } else if (sn_text_is(word, length, "Triangles")) {
            SN_TRY(read_elements(r, &r->triangles, 3));
        } else if (sn_text_is(word, length, "Quadrilaterals")) {
            SN_TRY(read_elements(r, &r->quads, 4));
        } else if (sn_text_is(word, length, "Tetrahedra")) {
            SN_TRY(read_elements(r, &r->tets, 4));
        } else {
            SN_TRY(skip_section(r, word, length));
        }
    }
    if (!version) return sn_text_fail(text, "is not a MEDIT file");
    return SINEW_OK;
}

static sinew_status build_mesh(const medit_reader *r, sinew_mesh **mesh, sinew_error *error) {
    size_t triangles = r->triangles.count / 3, quads = r->quads.count / 4;
    size_t corner_count = r->triangles.count + r->quads.count;
    int *start = SN_NEW(int, triangles + quads + 1), *corners = SN_NEW(int, corner_count);
    sinew_status status = SINEW_OK;
    if (!start || !corners) {
        status = sn_no_memory(error);
    } else {
        for (size_t f = 0; f <= triangles + quads; f++)
            start[f] = (int)(f <= triangles ? 3 * f : 3 * triangles + 4 * (f - triangles));
        if (r->triangles.count)
            memcpy(corners, r->triangles.items, r->triangles.count * sizeof(int));
        if (r->quads.count)
            memcpy(corners + r->triangles.count, r->quads.items, r->quads.count * sizeof(int));
        status = sinew_mesh_create((int)r->vertex_count, r->positions, (int)(triangles + quads),
                                   start, corners, mesh, error);
    }
    sn_free(start);
    sn_free(corners);
    return status;
}

static sinew_status read_mesh(const sn_source *source, sinew_mesh **mesh, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    medit_reader r = {.text = sn_text_open(source, error)};
    sinew_status status = read_all(&r);
    if (status == SINEW_OK) status = sn_source_blame(source, build_mesh(&r, mesh, error), error);
    release(&r);
    return status;
}

static sinew_status read_tets(const sn_source *source, sinew_tets **tets, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    medit_reader r = {.text = sn_text_open(source, error)};
    sinew_status status = read_all(&r);
    if (status == SINEW_OK && r.tets.count == 0)
        status = sn_source_fail(source, error, "has no tetrahedra");
    if (status == SINEW_OK) {
        status = sn_tets_build((int)r.vertex_count, r.positions, (int)(r.tets.count / 4),
                               r.tets.items, tets, error);
        r.positions = NULL;
        r.tets.items = NULL;
    }
    release(&r);
    return status;
}

static void write_vertices(int count, const double *positions, sn_buffer *out) {
    sn_buffer_print(out, "MeshVersionFormatted 2\nDimension 3\nVertices\n%d\n", count);
    for (int v = 0; v < count; v++) {
        sn_buffer_number(out, positions[3 * (size_t)v]);
        sn_buffer_numbers(out, ' ', positions + 3 * (size_t)v + 1, 2);
        sn_buffer_text(out, " 0\n");
    }
}

static void write_elements(const char *name, int count, int corners, const int *items,
                           sn_buffer *out) {
    sn_buffer_print(out, "%s\n%d\n", name, count);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < corners; k++) {
            sn_buffer_integer(out, items[(size_t)i * (size_t)corners + (size_t)k] + 1);
            sn_buffer_char(out, ' ');
        }
        sn_buffer_text(out, "0\n");
    }
}

static sinew_status write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error) {
    (void)error;
    write_vertices(mesh->vertex_count, mesh->positions, out);
    write_elements("Triangles", mesh->triangle_count, 3, mesh->triangles, out);
    sn_buffer_text(out, "End\n");
    return SINEW_OK;
}

static sinew_status write_tets(const sinew_tets *tets, sn_buffer *out, sinew_error *error) {
    (void)error;
    write_vertices(tets->vertex_count, tets->positions, out);
    write_elements("Tetrahedra", tets->tet_count, 4, tets->tets, out);
    sn_buffer_text(out, "End\n");
    return SINEW_OK;
}

const sn_format sn_format_medit = {
    .name = "MEDIT",
    .endings = "mesh",
    .holds = SN_HOLDS_DOUBLES,
    .read_mesh = read_mesh,
    .write_mesh = write_mesh,
    .read_tets = read_tets,
    .write_tets = write_tets,
};
