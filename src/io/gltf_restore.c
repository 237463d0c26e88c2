/* What our own writer left in a GLB for its reader: which vertices and polygons there were, texture
 * coordinates to the bit, and the description of the rig. What no longer fits is ignored. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "io/gltf_reader.h"
#include "io/rig_json.h"

/* An accessor that our extras point at; the name tells it from one that a later tool put there. */
static bool own_accessor(sn_gltf_reader *r, const char *key, const char *name,
                         sn_gltf_accessor *accessor) {
    sinew_error *error = r->gltf.error;
    r->gltf.error = NULL; /* extras that do not fit are not an error */
    sinew_status status =
        sn_gltf_accessor_open(&r->gltf, json_object_get(r->sinew, key), key, 1, -1, accessor);
    r->gltf.error = error;
    return status == SINEW_OK && accessor->name && strcmp(accessor->name, name) == 0;
}

static bool own_indices(sn_gltf_reader *r, const char *key, const char *name, int limit,
                        int **indices, int *count) {
    sn_gltf_accessor accessor;
    if (!own_accessor(r, key, name, &accessor)) return false;
    *indices = SN_NEW(int, accessor.count);
    *count = accessor.count;
    if (!*indices) return false;
    sinew_error *error = r->gltf.error;
    r->gltf.error = NULL;
    bool good = sn_gltf_accessor_indices(&r->gltf, &accessor, key, limit, *indices) == SINEW_OK;
    r->gltf.error = error;
    if (!good) {
        sn_free(*indices);
        *indices = NULL;
    }
    return good;
}

/* vertex_of from `_VERTEX`: every vertex of the original named, split ones in one place. */
bool sn_gltf_restore_vertices(sn_gltf_reader *r) {
    int64_t vertex_count;
    if (!sn_json_integer(json_object_get(r->sinew, "vertices"), 1, r->file_count, &vertex_count))
        return false;
    double *numbers = SN_NEW(double, r->file_count);
    int *first = SN_NEW0(int, vertex_count);
    bool good = numbers && first, present = false;
    sinew_error *error = r->gltf.error;
    r->gltf.error = NULL;
    good = good &&
           sn_gltf_read_attribute(r, r->own_attributes, "_VERTEX", 1, r->file_count, numbers,
                                  &present) == SINEW_OK &&
           present;
    r->gltf.error = error;
    for (int i = 0; good && i < r->file_count; i++)
        good =
            numbers[i] >= 0 && numbers[i] < (double)vertex_count && numbers[i] == floor(numbers[i]);
    int found = 0;
    for (int i = 0; good && i < r->file_count; i++) {
        int vertex = (int)numbers[i];
        if (!first[vertex]) first[vertex] = i + 1, found++;
        good = r->hashes[i] == r->hashes[first[vertex] - 1];
    }
    good = good && found == vertex_count;
    for (int i = 0; good && i < r->file_count; i++) r->vertex_of[i] = (int)numbers[i];
    if (good) r->vertex_count = (int)vertex_count;
    sn_free(numbers);
    sn_free(first);
    return good;
}

/* Polygons from extras, when they have as many triangles as the file. */
bool sn_gltf_restore_polygons(sn_gltf_reader *r) {
    int *sizes = NULL, *corners = NULL, *part = NULL, *start = NULL;
    int face_count = 0, corner_count = 0, part_count = 0;
    bool good =
        own_indices(r, "face_sizes", "sinew.face_sizes", INT_MAX / 2, &sizes, &face_count) &&
        own_indices(r, "corners", "sinew.corners", r->file_count, &corners, &corner_count);
    if (good) good = (start = SN_NEW(int, (size_t)face_count + 1)) != NULL;
    int64_t total = 0, triangles = 0;
    for (int f = 0; good && f < face_count; f++) {
        good = sizes[f] >= 3 && total + sizes[f] <= corner_count;
        start[f] = (int)total;
        total += sizes[f];
        triangles += sizes[f] - 2;
    }
    good = good && total == corner_count && 3 * triangles == (int64_t)r->corner_count;
    if (good) start[face_count] = corner_count;
    const json_t *names = json_object_get(r->sinew, "part_names");
    int name_count = (int)json_array_size(names);
    sn_names parts = {0};
    for (int i = 0; good && i < name_count; i++) {
        const char *name = json_string_value(json_array_get(names, (size_t)i));
        good = name && sn_names_add(&parts, name, strlen(name)) >= 0;
    }
    if (good && name_count > 0 && json_object_get(r->sinew, "face_part"))
        good = own_indices(r, "face_part", "sinew.face_part", name_count + 1, &part, &part_count) &&
               part_count == face_count;
    if (good) {
        sn_free(r->corners), sn_free(r->face_part);
        r->corners = corners, corners = NULL;
        r->corner_count = (size_t)corner_count;
        r->face_start = start, start = NULL;
        r->face_count = face_count;
        for (int f = 0; part && f < face_count; f++) part[f]--; /* 0 means none */
        r->face_part = part, part = NULL;
        sn_names_release(&r->parts);
        r->parts = parts, parts = (sn_names){0};
        r->named_parts = name_count > 0;
    }
    sn_names_release(&parts);
    sn_free(sizes), sn_free(corners), sn_free(part), sn_free(start);
    return good;
}

/* Texture coordinates to the bit, from `_UV`: u, v, and whether there are any. */
void sn_gltf_restore_uvs(sn_gltf_reader *r) {
    bool present;
    sinew_error *error = r->gltf.error;
    r->gltf.error = NULL;
    double *exact = sn_alloc((size_t)r->file_count, 3 * sizeof(double));
    bool good = exact &&
                sn_gltf_read_attribute(r, r->own_attributes, "_UV", 3, r->file_count, exact,
                                       &present) == SINEW_OK &&
                present;
    for (int i = 0; good && i < r->file_count; i++) {
        const double *row = exact + 3 * (size_t)i;
        r->uvs[2 * (size_t)i] = row[2] != 0 ? row[0] : NAN;
        r->uvs[2 * (size_t)i + 1] = row[2] != 0 ? row[1] : NAN;
    }
    sn_free(exact);
    r->gltf.error = error;
}

/* Our files have one mesh of one primitive; anything else has been worked on since. */
void sn_gltf_find_own(sn_gltf_reader *r) {
    if (r->instance_count != 1) return;
    const json_t *mesh = r->instances[0].mesh;
    const json_t *primitives = json_object_get(mesh, "primitives");
    if (json_array_size(primitives) != 1) return;
    const json_t *sinew = json_object_get(json_object_get(mesh, "extras"), "sinew");
    if (json_integer_value(json_object_get(sinew, "version")) != 1) return;
    r->sinew = sinew;
    r->own_attributes = json_object_get(json_array_get(primitives, 0), "attributes");
}

/* Targets by the names of the description, when every one of them is there. */
bool sn_gltf_restore_rig(const sn_gltf_reader *r, sinew_rig *rig) {
    const json_t *extras = json_object_get(r->gltf.root, "extras");
    const json_t *own = r->sinew ? r->sinew : json_object_get(extras, "sinew");
    const json_t *description = json_object_get(own, "rig");
    if (!description || sn_rig_from_json(description, "", rig, NULL) != SINEW_OK) return false;
    if (rig->target_count != r->targets.count) return false;
    for (int i = 0; i < rig->target_count; i++) {
        sinew_target *target = &rig->targets[i];
        int index = sn_names_find(&r->targets, target->name, strlen(target->name));
        if (index < 0) return false;
        const sn_gltf_target_list *list = &r->lists[index];
        for (size_t k = 1; k < list->count; k++)
            if (list->vertices[k] <= list->vertices[k - 1]) return false;
        target->count = (int)list->count;
        target->vertices = sn_memdup(list->vertices, list->count, sizeof(int));
        target->deltas = sn_memdup(list->deltas, list->count, 3 * sizeof(double));
        if (!target->vertices || !target->deltas) return false;
    }
    return true;
}
