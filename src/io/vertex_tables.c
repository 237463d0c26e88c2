/* Small files that speak of vertices: maps of values, pairs, regions, places of markers. */
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "io/csv.h"
#include "io/format.h"
#include "io/markers.h"
#include "io/names.h"
#include "io/rig_json.h"
#include "io/vertex_tables.h"

/* A cell that is an index below `count`. */
static sinew_status read_index(sn_text *text, const char *what, int count, int *index) {
    double value;
    SN_TRY(sn_csv_number(text, what, false, &value));
    if (value != floor(value) || value < 0 || value >= count)
        return sn_text_fail(text, "%s %.15g is not one of 0 to %d", what, value, count - 1);
    *index = (int)value;
    return SINEW_OK;
}

/* --- vertex,value ----------------------------------------------------------------------------- */

/* vertex,value: another header is that of another table. */
static bool is_vertex_header(sn_text line) {
    const char *cell;
    return sn_csv_cell(&line, &cell) > 0 && *cell == 'v';
}

sinew_status sn_vertex_values_parse(const sn_source *source, int vertex_count, double *values,
                                    sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    bool *given = SN_NEW0(bool, vertex_count);
    sinew_status status = given ? SINEW_OK : sn_no_memory(error);
    for (bool first = true; status == SINEW_OK && sn_csv_next_row(&text); first = false) {
        if (first && is_vertex_header(text)) {
            sn_text_next_line(&text);
            continue;
        }
        int vertex = 0;
        status = read_index(&text, "vertex", vertex_count, &vertex);
        if (status == SINEW_OK && given[vertex])
            status = sn_text_fail(&text, "vertex %d is given twice", vertex);
        if (status == SINEW_OK) status = sn_csv_number(&text, "a value", false, &values[vertex]);
        if (status == SINEW_OK) status = sn_csv_row_end(&text);
        if (status == SINEW_OK) given[vertex] = true;
    }
    sn_free(given);
    return status;
}

sinew_status sinew_vertex_values_read(const char *path, int vertex_count, double *values,
                                      sinew_error *error) {
    SN_REQUIRE(path && values && vertex_count >= 0, error);
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    sinew_status status = sn_vertex_values_parse(&source, vertex_count, values, error);
    sn_source_close(&source);
    return status;
}

sinew_status sinew_vertex_values_write(const char *path, int vertex_count, const double *values,
                                       sinew_error *error) {
    SN_REQUIRE(path && values && vertex_count >= 0, error);
    sn_buffer out = {0};
    sn_buffer_text(&out, "vertex,value\n");
    for (int v = 0; v < vertex_count; v++) {
        sn_buffer_integer(&out, v);
        sn_buffer_numbers(&out, ',', &values[v], 1);
        sn_buffer_char(&out, '\n');
    }
    return sn_format_finish(path, SINEW_OK, &out, error);
}

/* --- source,target ---------------------------------------------------------------------------- */

static bool starts_with_a_number(sn_text line) {
    const char *cell;
    return sn_csv_cell(&line, &cell) > 0 &&
           (*cell == '-' || *cell == '+' || *cell == '.' || (*cell >= '0' && *cell <= '9'));
}

sinew_status sn_vertex_pairs_parse(const sn_source *source, const int vertex_counts[2],
                                   int *vertices[2], int *count, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sn_text text = sn_text_open(source, error);
    size_t capacities[2] = {0};
    char *given = SN_NEW0(char, vertex_counts[0]);
    sinew_status status = given ? SINEW_OK : sn_no_memory(error);
    for (bool first = true; status == SINEW_OK && sn_csv_next_row(&text); first = false) {
        if (first && !starts_with_a_number(text)) {
            sn_text_next_line(&text);
            continue;
        }
        for (int k = 0; status == SINEW_OK && k < 2; k++) {
            status =
                SN_RESERVE(vertices[k], capacities[k], *count + 1) ? SINEW_OK : sn_no_memory(error);
            if (status == SINEW_OK)
                status = read_index(&text, k ? "target vertex" : "source vertex", vertex_counts[k],
                                    &vertices[k][*count]);
        }
        if (status != SINEW_OK) break;
        int from = vertices[0][*count];
        if (given[from])
            status = sn_text_fail(&text, "source vertex %d is given twice", from);
        else
            status = sn_csv_row_end(&text);
        given[from] = 1;
        ++*count;
    }
    sn_free(given);
    return status;
}

sinew_status sinew_vertex_pairs_read(const char *path, int source_vertex_count,
                                     int target_vertex_count, int **source_vertices,
                                     int **target_vertices, int *count, sinew_error *error) {
    SN_REQUIRE(path && source_vertices && target_vertices && count, error);
    SN_REQUIRE(source_vertex_count >= 0 && target_vertex_count >= 0, error);
    const int vertex_counts[2] = {source_vertex_count, target_vertex_count};
    int *vertices[2] = {NULL, NULL};
    *source_vertices = *target_vertices = NULL;
    *count = 0;
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    sinew_status status = sn_vertex_pairs_parse(&source, vertex_counts, vertices, count, error);
    sn_source_close(&source);
    if (status != SINEW_OK) {
        sn_free(vertices[0]), sn_free(vertices[1]);
        *count = 0;
        return status;
    }
    *source_vertices = vertices[0], *target_vertices = vertices[1];
    return SINEW_OK;
}

/* --- regions ---------------------------------------------------------------------------------- */

sinew_status sinew_regions_read(const char *path, sinew_rig *rig, sinew_error *error) {
    SN_REQUIRE(path && rig, error);
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    json_t *root = NULL;
    sinew_status status = sn_json_parse(source.bytes, source.size, path, &root, error);
    if (status == SINEW_OK) status = sn_regions_from_json(root, path, rig, error);
    json_decref(root);
    sn_source_close(&source);
    return status;
}

sinew_status sinew_regions_write(const char *path, const sinew_rig *rig, sinew_error *error) {
    SN_REQUIRE(path && rig, error);
    sn_buffer out = {0};
    json_t *root = sn_regions_to_json(rig);
    sinew_status status = sn_json_write(root, false, &out, error);
    json_decref(root);
    return sn_format_finish(path, status, &out, error);
}

/* --- marker places ---------------------------------------------------------------------------- */

enum { BARYCENTRIC_SLACK = 1000 }; /* the three may miss their sum 1 by 1 / this, from rounding */

static sinew_status read_weight(sn_text *text, const char *name, double *weight) {
    *weight = 1;
    if (sn_csv_more(text)) {
        SN_TRY(sn_csv_number(text, "a weight", false, weight));
        if (!(*weight >= 0))
            return sn_text_fail(text, "marker '%.40s': its weight %g is below 0", name, *weight);
    }
    return sn_csv_row_end(text);
}

/* The place after the name: a vertex, or a triangle and three barycentric weights; then, where it
 * is given, how much the marker counts. */
static sinew_status read_place(sn_text *text, const sinew_mesh *mesh, const char *name, int *vertex,
                               int *triangle, double *weights, double *weight) {
    sn_text whole = *text;
    double ignored;
    int numbers = 0;
    while (numbers == 0 || (numbers < 3 && sn_csv_more(&whole))) {
        SN_TRY(sn_csv_number(&whole, "a vertex or triangle", false, &ignored));
        numbers++;
    }
    *vertex = *triangle = -1;
    weights[0] = 1, weights[1] = weights[2] = 0;
    if (numbers < 3) {
        SN_TRY(read_index(text, "vertex", mesh->vertex_count, vertex));
        return read_weight(text, name, weight);
    }
    SN_TRY(read_index(text, "triangle", mesh->triangle_count, triangle));
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        SN_TRY(sn_csv_number(text, "a barycentric weight", false, &weights[k]));
        if (!(fabs(weights[k] - 0.5) <= 0.5 + SINEW_MARKER_OFF_TRIANGLE))
            return sn_text_fail(
                text, "marker '%.40s': its weight %g is not in 0 to 1, it lies off the triangle",
                name, weights[k]);
        sum += weights[k];
    }
    if (fabs(sum - 1) > 1.0 / BARYCENTRIC_SLACK)
        return sn_text_fail(text, "barycentric weights add up to %g, not 1", sum);
    for (int k = 0; k < 3; k++) weights[k] /= sum;
    return read_weight(text, name, weight);
}

static bool is_header(sn_text line) {
    const char *cell;
    sn_csv_cell(&line, &cell);
    size_t length = sn_csv_cell(&line, &cell);
    return sn_text_is(cell, length, "vertex") || sn_text_is(cell, length, "triangle");
}

typedef struct place_list {
    sn_names names;
    sn_buffer name; /* of the line */
    size_t vertex_capacity, triangle_capacity, barycentric_capacity, weight_capacity;
    bool weighted; /* not all weights are 1 */
} place_list;

static sinew_status add_place(sn_text *text, const sinew_mesh *mesh, place_list *list,
                              sinew_marker_map *map) {
    size_t length = sn_csv_name(text, &list->name);
    const char *name = list->name.bytes;
    if (list->name.failed) return sn_no_memory(text->error);
    if (length == 0) return sn_text_fail(text, "a marker has no name");
    if (sn_names_find(&list->names, name, length) >= 0)
        return sn_text_fail(text, SN_MARKER_TWICE, (int)(length < 40 ? length : 40), name);
    int i = list->names.count;
    if (sn_names_add(&list->names, name, length) < 0 ||
        !SN_RESERVE(map->vertices, list->vertex_capacity, i + 1) ||
        !SN_RESERVE(map->triangles, list->triangle_capacity, i + 1) ||
        !SN_RESERVE(map->barycentric, list->barycentric_capacity, 3 * ((size_t)i + 1)) ||
        !SN_RESERVE(map->weights, list->weight_capacity, i + 1))
        return sn_no_memory(text->error);
    SN_TRY(read_place(text, mesh, list->names.names[i], &map->vertices[i], &map->triangles[i],
                      map->barycentric + 3 * (size_t)i, &map->weights[i]));
    list->weighted |= map->weights[i] != 1;
    return SINEW_OK;
}

static sinew_status read_places(sn_text *text, const sinew_mesh *mesh, place_list *list,
                                sinew_marker_map *map) {
    for (bool first = true; sn_csv_next_row(text); first = false)
        if (first && is_header(*text))
            sn_text_next_line(text);
        else
            SN_TRY(add_place(text, mesh, list, map));
    return list->names.count == 0 ? sn_text_fail(text, "contains no markers") : SINEW_OK;
}

sinew_status sn_marker_map_parse(const sn_source *source, const sinew_mesh *mesh,
                                 sinew_marker_map **map, sinew_error *error) {
    SN_TRY(sn_text_check(source, error));
    sinew_marker_map *made = SN_NEW0(sinew_marker_map, 1);
    if (!made) return sn_no_memory(error);
    sn_text text = sn_text_open(source, error);
    place_list list = {.names.any_case = true};
    sinew_status status = read_places(&text, mesh, &list, made);
    sn_buffer_free(&list.name);
    if (status != SINEW_OK) {
        sn_names_release(&list.names);
        sinew_marker_map_destroy(made);
        return status;
    }
    if (!list.weighted) sn_free(made->weights), made->weights = NULL;
    made->count = list.names.count;
    made->names = sn_names_take(&list.names);
    *map = made;
    return SINEW_OK;
}

sinew_status sinew_marker_map_read(const char *path, const sinew_mesh *mesh, sinew_marker_map **map,
                                   sinew_error *error) {
    SN_REQUIRE(path && mesh && map, error);
    *map = NULL;
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    sinew_status status = sn_marker_map_parse(&source, mesh, map, error);
    sn_source_close(&source);
    return status;
}

sinew_status sinew_marker_map_write(const char *path, const sinew_marker_map *map,
                                    sinew_error *error) {
    SN_REQUIRE(path && map, error);
    sn_buffer out = {0};
    for (int i = 0; i < map->count; i++) {
        sn_csv_write(&out, map->names[i]);
        sn_buffer_char(&out, ',');
        sn_buffer_integer(&out, map->vertices[i] >= 0 ? map->vertices[i] : map->triangles[i]);
        if (map->vertices[i] < 0) sn_buffer_numbers(&out, ',', map->barycentric + 3 * (size_t)i, 3);
        if (map->weights) sn_buffer_numbers(&out, ',', map->weights + i, 1);
        sn_buffer_char(&out, '\n');
    }
    return sn_format_finish(path, SINEW_OK, &out, error);
}
