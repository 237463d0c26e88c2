#include "readers.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/contents.h"
#include "io/format.h"
#include "io/rig_json.h"
#include "io/target.h"
#include "io/tetgen.h"
#include "io/vertex_tables.h"
#include "sinew/scene.h"

/* An exact copy with a zero byte behind it: reading further is caught by the sanitizer. */
static sn_source make_source(const uint8_t *bytes, size_t size) {
    char *copy = malloc(size + 1);
    if (!copy) abort();
    if (size) memcpy(copy, bytes, size);
    copy[size] = '\0';
    return (sn_source){copy, size, "input", NULL};
}

static void free_source(sn_source *source) {
    free((char *)source->bytes);
}

static sn_source buffer_source(const sn_buffer *buffer) {
    return make_source((const uint8_t *)buffer->bytes, buffer->size);
}

/* --- meshes ----------------------------------------------------------------------------------- */

static int mesh_again(const sn_format *format, const sinew_mesh *mesh) {
    sn_buffer out = {0};
    sinew_error error;
    int good = 1;
    if (format->write_mesh && format->write_mesh(mesh, &out, &error) == SINEW_OK && !out.failed) {
        sn_source source = buffer_source(&out);
        sinew_mesh *back = NULL;
        good = format->read_mesh(&source, &back, &error) == SINEW_OK &&
               back->vertex_count == mesh->vertex_count;
        sinew_mesh_destroy(back);
        free_source(&source);
    }
    sn_buffer_free(&out);
    return good;
}

static int read_mesh(const sn_format *format, const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sinew_mesh *mesh = NULL;
    sinew_error error;
    int good = 1;
    if (format->read_mesh(&source, &mesh, &error) == SINEW_OK) good = mesh_again(format, mesh);
    sinew_mesh_destroy(mesh);
    free_source(&source);
    return good;
}

#define MESH_READER(name)                                                                          \
    static int read_##name(const uint8_t *bytes, size_t size) {                                    \
        return read_mesh(&sn_format_##name, bytes, size);                                          \
    }
MESH_READER(obj)
MESH_READER(ply)
MESH_READER(off)

static int read_medit(const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sinew_tets *tets = NULL;
    sinew_error error;
    sn_format_medit.read_tets(&source, &tets, &error);
    sinew_tets_destroy(tets);
    free_source(&source);
    return read_mesh(&sn_format_medit, bytes, size);
}

/* Points and tetrahedra in one input, a line "==" between them. */
static int read_tetgen(const uint8_t *bytes, size_t size) {
    const uint8_t *middle = size ? memmem(bytes, size, "==\n", 3) : NULL;
    size_t first = middle ? (size_t)(middle - bytes) : size;
    sn_source nodes = make_source(bytes, first);
    sn_source elements = make_source(middle ? middle + 3 : NULL, middle ? size - first - 3 : 0);
    sinew_tets *tets = NULL;
    sinew_error error;
    sn_tetgen_parse(&nodes, &elements, &tets, &error);
    sinew_tets_destroy(tets);
    free_source(&nodes);
    free_source(&elements);
    return 1;
}

/* --- rigs ------------------------------------------------------------------------------------- */

static int read_target(const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sn_deltas deltas, back;
    sinew_error error;
    int good = 1;
    if (sn_target_read(&source, 1000, &deltas, &error) == SINEW_OK) {
        sn_buffer out = {0};
        sn_target_write(&(sinew_target){.count = deltas.count,
                                        .vertices = deltas.vertices,
                                        .deltas = deltas.values},
                        &out);
        sn_source again = buffer_source(&out);
        good =
            sn_target_read(&again, 1000, &back, &error) == SINEW_OK && back.count == deltas.count;
        sn_deltas_free(&back);
        free_source(&again);
        sn_buffer_free(&out);
        sn_deltas_free(&deltas);
    }
    free_source(&source);
    return good;
}

static int rig_again(const sn_format *format, const sinew_rig *rig) {
    sn_buffer out = {0};
    sinew_error error;
    int good = 1;
    if (format->write_rig(rig, NULL, &out, &error) == SINEW_OK && !out.failed) {
        sn_source source = buffer_source(&out);
        sinew_rig *back = NULL;
        good = format->read_rig(&source, &back, &error) == SINEW_OK &&
               back->neutral->vertex_count == rig->neutral->vertex_count &&
               back->target_count == rig->target_count;
        sinew_rig_destroy(back);
        free_source(&source);
    }
    sn_buffer_free(&out);
    return good;
}

/* Into a copy of the file, with a vertex elsewhere and a target more: what is written can be read.
 */
static int rig_into(const sn_format *format, const sn_source *original, sinew_rig *rig) {
    sn_buffer out = {0};
    sinew_error error;
    const int vertex = 0;
    const double delta[] = {0, 1, 0};
    int good = 1, targets = rig->target_count;
    if (sinew_rig_add_target(rig, "fuzzed target", 1, &vertex, delta, &error) != SINEW_OK) return 1;
    rig->neutral->positions[0] += 1;
    if (format->write_into(original, rig, NULL, &out, &error) == SINEW_OK && !out.failed) {
        sn_source source = buffer_source(&out);
        sinew_rig *back = NULL;
        good = format->read_rig(&source, &back, &error) == SINEW_OK &&
               back->neutral->vertex_count >= 1 && back->target_count >= (targets > 0);
        sinew_rig_destroy(back);
        free_source(&source);
    }
    sn_buffer_free(&out);
    return good;
}

static void list_contents(const sn_format *format, const sn_source *source) {
    sinew_contents *contents = sn_alloc(1, sizeof *contents);
    sinew_error error;
    if (!contents) return;
    *contents = (sinew_contents){0};
    format->read_contents(source, contents, &error);
    sinew_contents_destroy(contents);
}

static int read_rig_file(const sn_format *format, const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sinew_rig *rig = NULL;
    sinew_curves *curves = NULL;
    sinew_frames *frames = NULL;
    sinew_mesh *pose = NULL;
    sinew_error error;
    int good = 1;
    if (format->read_rig(&source, &rig, &error) == SINEW_OK && rig->neutral->vertex_count < 100000)
        good = rig_again(format, rig);
    if (format->read_curves(&source, &curves, &error) == SINEW_OK && rig &&
        (double)curves->time_count * rig->neutral->vertex_count < 1e6)
        format->read_frames(&source, &frames, &error);
    if (format->read_pose && rig && rig->neutral->vertex_count < 100000)
        format->read_pose(&source, NULL, 0.5, &pose, &error);
    list_contents(format, &source);
    if (good && rig && rig->neutral->vertex_count < 100000) good = rig_into(format, &source, rig);
    sinew_mesh_destroy(pose);
    sinew_rig_destroy(rig);
    sinew_curves_destroy(curves);
    sinew_frames_destroy(frames);
    free_source(&source);
    return good;
}

static int read_glb(const uint8_t *bytes, size_t size) {
    return read_rig_file(&sn_format_glb, bytes, size);
}

static int read_fbx(const uint8_t *bytes, size_t size) {
    return read_rig_file(&sn_format_fbx, bytes, size);
}

static int read_rig_json(const uint8_t *bytes, size_t size) {
    static const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const int face[] = {0, 1, 2};
    sn_source source = make_source(bytes, size);
    sinew_mesh *mesh = NULL;
    sinew_rig *rig = NULL;
    sinew_error error;
    json_t *root = NULL;
    if (sinew_mesh_create(3, points, 1, NULL, face, &mesh, &error) == SINEW_OK &&
        sinew_rig_create(mesh, &rig, &error) == SINEW_OK &&
        sn_json_parse(source.bytes, source.size, source.name, &root, &error) == SINEW_OK) {
        if (sn_rig_from_json(root, source.name, rig, &error) == SINEW_OK)
            json_decref(sn_rig_to_json(rig));
        else
            sn_regions_from_json(root, source.name, rig, &error);
    }
    json_decref(root);
    sinew_rig_destroy(rig);
    free_source(&source);
    return 1;
}

static int read_vertex_tables(const uint8_t *bytes, size_t size) {
    static const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const int face[] = {0, 1, 2};
    sn_source source = make_source(bytes, size);
    double values[100] = {0};
    sinew_error error;
    sn_vertex_values_parse(&source, 100, values, &error);
    static const int vertex_counts[2] = {100, 50};
    int *pairs[2] = {NULL, NULL}, count = 0;
    sn_vertex_pairs_parse(&source, vertex_counts, pairs, &count, &error);
    sinew_free(pairs[0]), sinew_free(pairs[1]);
    sinew_mesh *mesh = NULL;
    sinew_marker_map *map = NULL;
    if (sinew_mesh_create(3, points, 1, NULL, face, &mesh, &error) == SINEW_OK)
        sn_marker_map_parse(&source, mesh, &map, &error);
    sinew_marker_map_destroy(map);
    sinew_mesh_destroy(mesh);
    free_source(&source);
    return 1;
}

/* --- values over time ------------------------------------------------------------------------- */

static int read_frames(const sn_format *format, const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sinew_frames *frames = NULL;
    sinew_error error;
    format->read_frames(&source, &frames, &error);
    sinew_frames_destroy(frames);
    free_source(&source);
    return 1;
}

static int read_pc2(const uint8_t *bytes, size_t size) {
    return read_frames(&sn_format_pc2, bytes, size);
}

static int read_mdd(const uint8_t *bytes, size_t size) {
    return read_frames(&sn_format_mdd, bytes, size);
}

static int read_curves(const sn_format *format, const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sinew_curves *curves = NULL, *back = NULL;
    sinew_error error;
    int good = 1;
    if (format->read_curves(&source, &curves, &error) == SINEW_OK) {
        sn_buffer out = {0};
        sn_format_curves_csv.write_curves(curves, &out, &error);
        sn_source again = buffer_source(&out);
        good = sn_format_curves_csv.read_curves(&again, &back, &error) == SINEW_OK &&
               back->channel_count == curves->channel_count &&
               back->time_count == curves->time_count;
        free_source(&again);
        sn_buffer_free(&out);
    }
    sinew_curves_destroy(curves);
    sinew_curves_destroy(back);
    free_source(&source);
    return good;
}

static int read_curves_csv(const uint8_t *bytes, size_t size) {
    return read_curves(&sn_format_curves_csv, bytes, size);
}

static int read_livelink(const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sn_format_livelink.recognise(&source);
    free_source(&source);
    return read_curves(&sn_format_livelink, bytes, size);
}

static int read_markers(const sn_format *format, const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sinew_markers *markers = NULL;
    sinew_error error;
    if (format->recognise) format->recognise(&source);
    if (format->read_markers(&source, &markers, &error) == SINEW_OK && format->write_markers) {
        sn_buffer out = {0};
        format->write_markers(markers, &out, &error);
        sn_buffer_free(&out);
    }
    sinew_markers_destroy(markers);
    free_source(&source);
    return 1;
}

#define MARKER_READER(name)                                                                        \
    static int read_##name(const uint8_t *bytes, size_t size) {                                    \
        return read_markers(&sn_format_##name, bytes, size);                                       \
    }
MARKER_READER(markers_csv)
MARKER_READER(c3d)
MARKER_READER(trc)

/* --- scenes ----------------------------------------------------------------------------------- */

/* An accepted scene comes back from its text, and refuses or takes a change without harm. */
static int read_scene(const uint8_t *bytes, size_t size) {
    sn_source source = make_source(bytes, size);
    sinew_scene *scene = NULL, *again = NULL;
    sinew_error error;
    char *text = NULL;
    int good = 1;
    if (sinew_scene_parse(source.bytes, "input", NULL, &scene, &error) == SINEW_OK) {
        good = sinew_scene_text(scene, &text, &error) == SINEW_OK &&
               sinew_scene_parse(text, "again", NULL, &again, &error) == SINEW_OK;
        sinew_scene_set(scene, "/obstacles/-", "{\"shape\": \"box\"}", NULL, &error);
        sinew_scene_set(scene, "/model", NULL, NULL, &error);
        sinew_scene_set(scene, source.bytes, "1", NULL, &error);
    }
    sinew_free(text);
    sinew_scene_destroy(again);
    sinew_scene_destroy(scene);
    free_source(&source);
    return good;
}

/* A patch of a fixed scene is applied as a whole and undone byte for byte, or changes nothing. */
static int read_patch(const uint8_t *bytes, size_t size) {
    static const char document[] =
        "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 300}, \"model\": \"spring\", "
        "\"parameters\": {\"tolerance\": 0.001}, \"weights\": {\"a~b/c\": 0.5, \"\": 1}, "
        "\"curves\": {\"times\": [0, 1, 2], \"values\": {\"bend120\": [0, 1, 0.5]}}, "
        "\"obstacles\": [{\"shape\": \"sphere\", \"center\": [0, 0, 0], \"radius\": 1}], "
        "\"studio\": {\"a\": [1, [2, {\"b\": null}]], \"c\": true}}";
    sn_source source = make_source(bytes, size);
    sinew_scene *scene = NULL;
    sinew_error error;
    char *before = NULL, *changed = NULL, *inverse = NULL, *again = NULL, *after = NULL;
    int good = 1;
    if (sinew_scene_parse(document, "input", NULL, &scene, &error) == SINEW_OK &&
        sinew_scene_text(scene, &before, &error) == SINEW_OK) {
        sinew_status status = sinew_scene_patch(scene, source.bytes, &inverse, &error);
        if (status == SINEW_OK) { /* there and back, twice */
            good = sinew_scene_text(scene, &changed, &error) == SINEW_OK &&
                   sinew_scene_patch(scene, inverse, &again, &error) == SINEW_OK;
            if (good && sinew_scene_text(scene, &after, &error) == SINEW_OK)
                good = !strcmp(before, after);
            sinew_free(after), after = NULL;
            if (good)
                good = sinew_scene_patch(scene, again, NULL, &error) == SINEW_OK &&
                       sinew_scene_text(scene, &after, &error) == SINEW_OK &&
                       !strcmp(changed, after);
        } else if (sinew_scene_text(scene, &after, &error) == SINEW_OK) {
            good = !strcmp(before, after);
        }
    }
    sinew_free(before), sinew_free(changed), sinew_free(inverse), sinew_free(again);
    sinew_free(after);
    sinew_scene_destroy(scene);
    free_source(&source);
    return good;
}

const fuzz_reader fuzz_readers[] = {
    {"obj", read_obj},
    {"ply", read_ply},
    {"off", read_off},
    {"medit", read_medit},
    {"tetgen", read_tetgen},
    {"target", read_target},
    {"glb", read_glb},
    {"fbx", read_fbx},
    {"rig_json", read_rig_json},
    {"vertex_tables", read_vertex_tables},
    {"pc2", read_pc2},
    {"mdd", read_mdd},
    {"curves_csv", read_curves_csv},
    {"livelink", read_livelink},
    {"markers_csv", read_markers_csv},
    {"c3d", read_c3d},
    {"trc", read_trc},
    {"scene", read_scene},
    {"patch", read_patch},
    {NULL, NULL},
};
