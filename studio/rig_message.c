#include "rig_message.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* Marks the triangles of parts that are not for show, unless nothing else would be left. */
static size_t count_shown(const sinew_mesh *mesh, bool *hidden) {
    size_t count = (size_t)mesh->triangle_count, shown = 0;
    for (size_t i = 0; i < count; i++) {
        int face = mesh->triangle_face ? mesh->triangle_face[i] : (int)i;
        int part = mesh->face_part ? mesh->face_part[face] : -1;
        hidden[i] = part >= 0 && sinew_part_is_helper(mesh->part_names[part]);
        shown += !hidden[i];
    }
    if (shown) return shown;
    memset(hidden, 0, count);
    return count;
}

/* The box of the vertices that targets move by more than a tenth of the largest move: lowest and
 * highest corner, or null. */
static json_t *moved_box(const sinew_rig *rig) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    double most = 0;
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < 3 * rig->targets[k].count; i++)
            most = fmax(most, fabs(rig->targets[k].deltas[i]));
    for (int k = 0; k < rig->target_count; k++)
        for (int i = 0; i < rig->targets[k].count; i++) {
            const double *d = rig->targets[k].deltas + 3 * (size_t)i;
            const double *p = rig->neutral->positions + 3 * (size_t)rig->targets[k].vertices[i];
            if (!(fmax(fabs(d[0]), fmax(fabs(d[1]), fabs(d[2]))) > 0.1 * most)) continue;
            for (int c = 0; c < 3; c++) low[c] = fmin(low[c], p[c]), high[c] = fmax(high[c], p[c]);
        }
    return most > 0 ? json_pack("[f,f,f,f,f,f]", low[0], low[1], low[2], high[0], high[1], high[2])
                    : json_null();
}

net_message *rig_message(const sinew_rig *rig, const char *type, const char *example) {
    const sinew_mesh *mesh = rig->neutral;
    size_t n = (size_t)mesh->vertex_count, all = (size_t)mesh->triangle_count, inside = 0;
    bool *hidden = malloc(all + 1);
    if (!hidden) return NULL;
    size_t m = count_shown(mesh, hidden);
    json_t *sliders = json_array(), *regions = json_array(), *parts = json_array();
    /* Files without groups and pairs have names that tell them. */
    sinew_rig *named = NULL;
    sinew_error ignored;
    if (sinew_rig_copy(rig, &named, &ignored) == SINEW_OK)
        (void)sinew_rig_deduce_from_names(named, &ignored);
    for (int i = 0; i < rig->slider_count; i++) {
        const sinew_slider *slider = named ? &named->sliders[i] : &rig->sliders[i];
        json_array_append_new(sliders,
                              json_pack("{s:s,s:o,s:o,s:f,s:s?,s:i}", "name", slider->name,
                                        "minimum", number_or_null(slider->minimum), "maximum",
                                        number_or_null(slider->maximum), "rest", slider->rest,
                                        "group", slider->group, "mirror", slider->mirror));
    }
    sinew_rig_destroy(named);
    for (int i = 0; i < rig->region_count; i++) {
        json_array_append_new(regions, json_pack("{s:s,s:i}", "name", rig->regions[i].name, "count",
                                                 rig->regions[i].count));
        inside += (size_t)rig->regions[i].count;
    }
    for (int i = 0; i < mesh->part_count; i++)
        json_array_append_new(parts, json_string(mesh->part_names[i]));
    float *neutral = malloc(3 * n * sizeof *neutral + 4);
    uint32_t *triangles = malloc(3 * m * sizeof *triangles + 4);
    uint32_t *faces = malloc(m * sizeof *faces + 4);
    int32_t *part = malloc(m * sizeof *part + 4);
    uint32_t *members = malloc(inside * sizeof *members + 4);
    json_t *header = json_pack(
        "{s:s,s:s?,s:i,s:o,s:o,s:o,s:f,s:o,s:[[s,s,I],[s,s,I],[s,s,I],[s,s,I],[s,s,I]]}", "type",
        type, "example", example, "vertices", mesh->vertex_count, "sliders", sliders, "regions",
        regions, "parts", parts, "diagonal", sinew_diagonal(mesh->vertex_count, mesh->positions),
        "moved", moved_box(rig), "arrays", "neutral", "f32", (json_int_t)(3 * n), "triangles",
        "u32", (json_int_t)(3 * m), "triangle_face", "u32", (json_int_t)m, "triangle_part", "i32",
        (json_int_t)m, "region_vertices", "u32", (json_int_t)inside);
    net_message *message = NULL;
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    if (neutral && triangles && faces && part && members && text) {
        for (size_t i = 0; i < 3 * n; i++) neutral[i] = (float)mesh->positions[i];
        size_t at = 0;
        for (size_t i = 0; i < all; i++) {
            if (hidden[i]) continue;
            int face = mesh->triangle_face ? mesh->triangle_face[i] : (int)i;
            for (size_t k = 0; k < 3; k++)
                triangles[3 * at + k] = (uint32_t)mesh->triangles[3 * i + k];
            faces[at] = (uint32_t)face;
            part[at] = mesh->face_part ? mesh->face_part[face] : 0;
            at++;
        }
        at = 0;
        for (int i = 0; i < rig->region_count; i++)
            for (int k = 0; k < rig->regions[i].count; k++)
                members[at++] = (uint32_t)rig->regions[i].vertices[k];
        const void *arrays[] = {neutral, triangles, faces, part, members};
        size_t sizes[] = {12 * n, 12 * m, 4 * m, 4 * m, 4 * inside};
        message = net_message_binary(text, 5, arrays, sizes);
    }
    free(text);
    free(hidden);
    json_decref(header);
    free(neutral);
    free(triangles);
    free(faces);
    free(part);
    free(members);
    return message;
}
