#include "io/target.h"

#include "base/memory.h"
#include "io/text.h"

void sn_deltas_free(sn_deltas *deltas) {
    sn_free(deltas->vertices);
    sn_free(deltas->values);
    memset(deltas, 0, sizeof *deltas);
}

/* `line_of` remembers on which line each vertex stood. */
static sinew_status read_lines(const sn_source *source, int vertex_count, int *line_of,
                               sn_deltas *deltas, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    size_t vertex_capacity = 0, value_capacity = 0;
    for (;;) {
        sn_text_skip_lines(&text);
        if (sn_text_done(&text)) return SINEW_OK;
        if (!SN_RESERVE(deltas->vertices, vertex_capacity, deltas->count + 1) ||
            !SN_RESERVE(deltas->values, value_capacity, 3 * ((size_t)deltas->count + 1)))
            return sn_no_memory(error);
        int64_t vertex;
        SN_TRY(sn_text_integer(&text, "a vertex", 0, vertex_count - 1, &vertex));
        if (line_of[vertex])
            return sn_text_fail(&text, "vertex %d already appears on line %d", (int)vertex,
                                line_of[vertex]);
        line_of[vertex] = text.line;
        double *row = deltas->values + 3 * (size_t)deltas->count;
        for (int k = 0; k < 3; k++) SN_TRY(sn_text_number(&text, "a displacement", &row[k]));
        /* a vertex that stays is not stored */
        deltas->vertices[deltas->count] = (int)vertex;
        deltas->count += row[0] != 0 || row[1] != 0 || row[2] != 0;
        SN_TRY(sn_text_line_end(&text));
    }
}

/* Rows in the order of their vertices; line_of[v] is reused for the row of vertex v, plus 1. */
static sinew_status sort_rows(int vertex_count, int *line_of, sn_deltas *deltas,
                              sinew_error *error) {
    bool sorted = true;
    memset(line_of, 0, (size_t)vertex_count * sizeof(int));
    for (int i = 0; i < deltas->count; i++) {
        if (i > 0 && deltas->vertices[i] < deltas->vertices[i - 1]) sorted = false;
        line_of[deltas->vertices[i]] = i + 1;
    }
    if (sorted) return SINEW_OK;
    double *values = sn_alloc((size_t)deltas->count, 3 * sizeof(double));
    if (!values) return sn_no_memory(error);
    int row = 0;
    for (int v = 0; v < vertex_count; v++) {
        if (!line_of[v]) continue;
        memcpy(values + 3 * (size_t)row, deltas->values + 3 * ((size_t)line_of[v] - 1),
               3 * sizeof(double));
        deltas->vertices[row++] = v;
    }
    sn_free(deltas->values);
    deltas->values = values;
    return SINEW_OK;
}

sinew_status sn_target_read(const sn_source *source, int vertex_count, sn_deltas *deltas,
                            sinew_error *error) {
    memset(deltas, 0, sizeof *deltas);
    int *line_of = SN_NEW0(int, vertex_count);
    if (!line_of) return sn_no_memory(error);
    deltas->vertices = SN_NEW(int, 1); /* a file of comments is an empty target, not NULL */
    deltas->values = SN_NEW(double, 3);
    sinew_status status = deltas->vertices && deltas->values
                              ? read_lines(source, vertex_count, line_of, deltas, error)
                              : sn_no_memory(error);
    if (status == SINEW_OK) status = sort_rows(vertex_count, line_of, deltas, error);
    sn_free(line_of);
    if (status != SINEW_OK) sn_deltas_free(deltas);
    return status;
}

void sn_target_write(const sinew_target *target, sn_buffer *out) {
    for (int i = 0; i < target->count; i++) {
        sn_buffer_integer(out, target->vertices[i]);
        sn_buffer_numbers(out, ' ', target->deltas + 3 * (size_t)i, 3);
        sn_buffer_char(out, '\n');
    }
}
