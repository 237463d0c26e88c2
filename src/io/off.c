/* OFF (object file format), ascii: OFF, and COFF, NOFF, STOFF and their mixtures, of which the
 * positions are read. Colours on faces are stepped over. */
#include <limits.h>

#include "base/memory.h"
#include "io/text.h"

typedef struct off_reader {
    sn_text text;
    int64_t vertex_count, face_count;
    double *positions;
    size_t position_capacity;
    int *face_start, *corners;
    size_t corner_capacity, face_capacity, corner_count;
} off_reader;

/* Prefixes ST, C, N before OFF only add numbers behind the coordinates. */
static bool is_header(const char *word, size_t length) {
    if (length >= 2 && word[0] == 'S' && word[1] == 'T') word += 2, length -= 2;
    if (length >= 1 && word[0] == 'C') word++, length--;
    if (length >= 1 && word[0] == 'N') word++, length--;
    return sn_text_is(word, length, "OFF");
}

static sinew_status read_counts(off_reader *r) {
    sn_text *text = &r->text;
    const char *word;
    sn_text_skip_lines(text);
    const char *start = text->at;
    size_t length = sn_text_word(text, &word);
    if (!is_header(word, length)) {
        /* the word is optional: the counts may come first */
        if (length == 0 || *word < '0' || *word > '9')
            return sn_text_fail(text, "is not an OFF file");
        text->at = start;
    }
    sn_text_skip_lines(text);
    if (strncmp(text->at, "BINARY", 6) == 0)
        return sn_text_fail(text, "binary OFF is not supported");
    SN_TRY(sn_text_integer(text, "a vertex count", 0, INT_MAX / 3, &r->vertex_count));
    SN_TRY(sn_text_integer(text, "a face count", 0, INT_MAX / 3, &r->face_count));
    sn_text_next_line(text); /* the edge count is of no use */
    return SINEW_OK;
}

static sinew_status read_vertices(off_reader *r) {
    for (int64_t v = 0; v < r->vertex_count; v++) {
        if (!SN_RESERVE(r->positions, r->position_capacity, 3 * ((size_t)v + 1)))
            return sn_no_memory(r->text.error);
        sn_text_skip_lines(&r->text);
        for (size_t k = 0; k < 3; k++)
            SN_TRY(sn_text_number(&r->text, "a coordinate", &r->positions[3 * (size_t)v + k]));
        sn_text_next_line(&r->text);
    }
    return SINEW_OK;
}

static sinew_status read_faces(off_reader *r) {
    sn_text *text = &r->text;
    for (int64_t f = 0; f < r->face_count; f++) {
        int64_t count, vertex;
        sn_text_skip_lines(text);
        SN_TRY(sn_text_integer(text, "a corner count", 3, INT_MAX / 3, &count));
        if (!SN_RESERVE(r->face_start, r->face_capacity, (size_t)f + 2))
            return sn_no_memory(text->error);
        r->face_start[f] = (int)r->corner_count;
        for (int64_t c = 0; c < count; c++) {
            if (r->corner_count >= INT_MAX - 1) return sn_text_fail(text, "too many corners");
            if (!SN_RESERVE(r->corners, r->corner_capacity, r->corner_count + 1))
                return sn_no_memory(text->error);
            SN_TRY(sn_text_integer(text, "a vertex", 0, r->vertex_count - 1, &vertex));
            r->corners[r->corner_count++] = (int)vertex;
        }
        r->face_start[f + 1] = (int)r->corner_count;
        sn_text_next_line(text);
    }
    return SINEW_OK;
}

static sinew_status read_mesh(const sn_source *source, sinew_mesh **mesh, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    off_reader r = {.text = sn_text_open(source, error)};
    const int nothing = 0;
    sinew_status status = read_counts(&r);
    if (status == SINEW_OK) status = read_vertices(&r);
    if (status == SINEW_OK) status = read_faces(&r);
    if (status == SINEW_OK)
        status = sn_source_blame(
            source,
            sinew_mesh_create((int)r.vertex_count, r.positions, (int)r.face_count,
                              r.face_count ? r.face_start : &nothing, r.corners, mesh, error),
            error);
    sn_free(r.positions);
    sn_free(r.face_start);
    sn_free(r.corners);
    return status;
}

static sinew_status write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error) {
    (void)error;
    sn_buffer_print(out, "OFF\n%d %d 0\n", mesh->vertex_count, mesh->face_count);
    for (int v = 0; v < mesh->vertex_count; v++) {
        const double *p = mesh->positions + 3 * (size_t)v;
        sn_buffer_number(out, p[0]);
        sn_buffer_numbers(out, ' ', p + 1, 2);
        sn_buffer_char(out, '\n');
    }
    for (int f = 0; f < mesh->face_count; f++) {
        sn_buffer_integer(out, mesh->face_start[f + 1] - mesh->face_start[f]);
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++) {
            sn_buffer_char(out, ' ');
            sn_buffer_integer(out, mesh->face_vertices[c]);
        }
        sn_buffer_char(out, '\n');
    }
    return SINEW_OK;
}

const sn_format sn_format_off = {
    .name = "OFF",
    .endings = "off",
    .holds = SN_HOLDS_POLYGONS | SN_HOLDS_DOUBLES,
    .read_mesh = read_mesh,
    .write_mesh = write_mesh,
};
