/* TetGen .node and .ele: points in the one, tetrahedra in the other, named by either. Indices count
 * from 0 or 1, as the first point's does. Attributes and markers are read and dropped; of elements
 * with 10 nodes the 4 corners are kept. */
#include "io/tetgen.h"

#include <limits.h>

#include "base/file.h"
#include "base/memory.h"
#include "io/tets.h"
#include "io/text.h"

static sinew_status skip_columns(sn_text *text, int64_t count) {
    double ignored;
    for (int64_t k = 0; k < count; k++) SN_TRY(sn_text_number(text, "an attribute", &ignored));
    return SINEW_OK;
}

static sinew_status read_nodes(const sn_source *source, double **positions, int64_t *count,
                               int64_t *first, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    int64_t dimension, attributes = 0, markers = 0, index;
    size_t capacity = 0;
    sn_text_skip_lines(&text);
    SN_TRY(sn_text_integer(&text, "a point count", 0, INT_MAX / 3, count));
    SN_TRY(sn_text_integer(&text, "the dimension", 3, 3, &dimension));
    sn_text_skip(&text);
    if (!sn_text_line_done(&text))
        SN_TRY(sn_text_integer(&text, "an attribute count", 0, 1000, &attributes));
    sn_text_skip(&text);
    if (!sn_text_line_done(&text)) SN_TRY(sn_text_integer(&text, "a marker count", 0, 1, &markers));
    SN_TRY(sn_text_line_end(&text));
    *first = 0;
    for (int64_t v = 0; v < *count; v++) {
        if (!SN_RESERVE(*positions, capacity, 3 * ((size_t)v + 1))) return sn_no_memory(error);
        sn_text_skip_lines(&text);
        SN_TRY(sn_text_integer(&text, "a point number", 0, INT_MAX, &index));
        if (v == 0 && index <= 1) *first = index;
        if (index != v + *first)
            return sn_text_fail(&text, "found point %lld, expected %lld", (long long)index,
                                (long long)(v + *first));
        for (size_t k = 0; k < 3; k++)
            SN_TRY(sn_text_number(&text, "a coordinate", &(*positions)[3 * (size_t)v + k]));
        SN_TRY(skip_columns(&text, attributes + markers));
        SN_TRY(sn_text_line_end(&text));
    }
    return SINEW_OK;
}

static sinew_status read_elements(const sn_source *source, int64_t first, int64_t vertex_count,
                                  int **tets, int64_t *count, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    int64_t nodes, attributes = 0, value;
    size_t capacity = 0;
    sn_text_skip_lines(&text);
    SN_TRY(sn_text_integer(&text, "a tetrahedron count", 0, INT_MAX / 4, count));
    SN_TRY(sn_text_integer(&text, "the nodes of a tetrahedron", 4, 10, &nodes));
    if (nodes != 4 && nodes != 10)
        return sn_text_fail(&text, "a tetrahedron has 4 or 10 nodes, not %d", (int)nodes);
    sn_text_skip(&text);
    if (!sn_text_line_done(&text))
        SN_TRY(sn_text_integer(&text, "an attribute count", 0, 1000, &attributes));
    SN_TRY(sn_text_line_end(&text));
    for (int64_t t = 0; t < *count; t++) {
        if (!SN_RESERVE(*tets, capacity, 4 * ((size_t)t + 1))) return sn_no_memory(error);
        sn_text_skip_lines(&text);
        SN_TRY(sn_text_integer(&text, "a tetrahedron number", 0, INT_MAX, &value));
        for (int64_t k = 0; k < nodes; k++) {
            SN_TRY(sn_text_integer(&text, "a point", first, first + vertex_count - 1, &value));
            if (k < 4) (*tets)[4 * (size_t)t + (size_t)k] = (int)(value - first);
        }
        SN_TRY(skip_columns(&text, attributes));
        SN_TRY(sn_text_line_end(&text));
    }
    return SINEW_OK;
}

sinew_status sn_tetgen_parse(const sn_source *nodes, const sn_source *elements, sinew_tets **tets,
                             sinew_error *error) {
    double *positions = NULL;
    int *corners = NULL;
    int64_t vertex_count = 0, tet_count = 0, first = 0;
    sinew_status status = read_nodes(nodes, &positions, &vertex_count, &first, error);
    if (status == SINEW_OK)
        status = read_elements(elements, first, vertex_count, &corners, &tet_count, error);
    if (status == SINEW_OK)
        return sn_tets_build((int)vertex_count, positions, (int)tet_count, corners, tets, error);
    sn_free(positions);
    sn_free(corners);
    return status;
}

/* The path of the other file of the pair; NULL: no memory. */
static char *partner(const char *path, const char *ending) {
    size_t stem = strlen(path) - strlen(sn_path_ending(path));
    char *other = sn_alloc(stem + strlen(ending) + 1, 1);
    if (!other) return NULL;
    memcpy(other, path, stem);
    strcpy(other + stem, ending);
    return other;
}

static sinew_status read_pair(const sn_source *source, bool nodes_given, sinew_tets **tets,
                              sinew_error *error) {
    char *path = partner(source->path, nodes_given ? "ele" : "node");
    if (!path) return sn_no_memory(error);
    sn_source other;
    sinew_status status = sn_source_open(&other, path, error);
    if (status == SINEW_OK) {
        status = nodes_given ? sn_tetgen_parse(source, &other, tets, error)
                             : sn_tetgen_parse(&other, source, tets, error);
        sn_source_close(&other);
    }
    sn_free(path);
    return status;
}

static sinew_status read_by_nodes(const sn_source *source, sinew_tets **tets, sinew_error *error) {
    return read_pair(source, true, tets, error);
}

static sinew_status read_by_elements(const sn_source *source, sinew_tets **tets,
                                     sinew_error *error) {
    return read_pair(source, false, tets, error);
}

static sinew_status write_nodes(const sinew_tets *tets, sn_buffer *out, sinew_error *error) {
    (void)error;
    sn_buffer_print(out, "%d 3 0 0\n", tets->vertex_count);
    for (int v = 0; v < tets->vertex_count; v++) {
        sn_buffer_integer(out, v);
        sn_buffer_numbers(out, ' ', tets->positions + 3 * (size_t)v, 3);
        sn_buffer_char(out, '\n');
    }
    return SINEW_OK;
}

static sinew_status write_elements(const sinew_tets *tets, sn_buffer *out, sinew_error *error) {
    (void)error;
    sn_buffer_print(out, "%d 4 0\n", tets->tet_count);
    for (int t = 0; t < tets->tet_count; t++) {
        sn_buffer_integer(out, t);
        for (int k = 0; k < 4; k++) {
            sn_buffer_char(out, ' ');
            sn_buffer_integer(out, tets->tets[4 * (size_t)t + (size_t)k]);
        }
        sn_buffer_char(out, '\n');
    }
    return SINEW_OK;
}

const sn_format sn_format_tetgen_node = {
    .name = "TetGen",
    .endings = "node",
    .holds = SN_HOLDS_DOUBLES,
    .read_tets = read_by_nodes,
    .write_tets = write_nodes,
    .beside_ending = "ele",
    .write_tets_beside = write_elements,
};

const sn_format sn_format_tetgen_ele = {
    .name = "TetGen",
    .endings = "ele",
    .holds = SN_HOLDS_DOUBLES,
    .read_tets = read_by_elements,
    .write_tets = write_elements,
    .beside_ending = "node",
    .write_tets_beside = write_nodes,
};
