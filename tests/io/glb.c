#include "groups.h"
#include "helpers.h"

#include "base/file.h"
#include "io/binary.h"
#include "io/json.h"

/* --- round trips ------------------------------------------------------------------------------ */

static void round_trip_mesh(const char *path) {
    sinew_error error;
    sinew_mesh *mesh, *back;
    assert_ok(sinew_mesh_read(path, &mesh, &error));
    const char *copy = temporary("copy.glb");
    assert_ok(sinew_mesh_write(copy, mesh, &error));
    assert_ok(sinew_mesh_read(copy, &back, &error));
    assert_same_mesh(mesh, back, sn_format_glb.holds);
    sinew_mesh_destroy(mesh);
    sinew_mesh_destroy(back);
}

static void every_real_mesh_comes_back_through_glb(void **state) {
    (void)state;
    skip_without_data(test_data("SOURCES.md"));
    assert_true(for_each_data_file("obj", round_trip_mesh) >= 39);
    assert_true(for_each_data_file("ply", round_trip_mesh) >= 9);
}

static void round_trip_rig(int count, const char *const *paths, int targets) {
    sinew_error error;
    sinew_rig *rig, *back;
    assert_ok(sinew_rig_read(count, paths, &rig, &error));
    assert_int_equal(rig->target_count, targets);
    const char *copy = temporary("rig.glb");
    assert_ok(sinew_rig_write(copy, rig, &error));
    assert_ok(sinew_rig_read(1, &copy, &back, &error));
    assert_same_mesh(rig->neutral, back->neutral, sn_format_glb.holds);
    assert_same_rig(rig, back);
    sinew_rig_destroy(back);
    const char *folder = temporary("rig_folder");
    assert_ok(sinew_rig_write(folder, rig, &error));
    assert_ok(sinew_rig_read(1, &folder, &back, &error));
    assert_same_mesh(rig->neutral, back->neutral, sn_format_obj.holds);
    assert_same_rig(rig, back);
    sinew_rig_destroy(rig);
    sinew_rig_destroy(back);
}

static void real_rigs_come_back_through_glb_and_folders(void **state) {
    (void)state;
    const char *ict[] = {test_data("free/ict-facekit/generic_neutral_mesh.obj"),
                         test_data("free/ict-facekit/targets")};
    const char *human[] = {test_data("free/makehuman/base.obj"),
                           test_data("free/makehuman/expression"),
                           test_data("free/makehuman/arkit")};
    skip_without_data(ict[0]);
    round_trip_rig(2, ict, 59);
    round_trip_rig(3, human, 100);
    const char *foreign[] = {test_data("free/facecap/facecap.glb"),
                             test_data("free/khronos/MorphStressTest.glb"),
                             test_data("free/khronos/AnimatedMorphCube.glb"),
                             test_data("free/aframe-hand/rightHandHigh.glb")};
    const int targets[] = {52, 8, 2, 0};
    for (int i = 0; i < 4; i++) round_trip_rig(1, &foreign[i], targets[i]);
}

/* A quad and a triangle with a seam, a lone vertex, parts, a rig with everything. */
static sinew_rig *small_rig(void) {
    sinew_error error;
    const char *text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 9 9 9\nv 2 0 0.5\n"
                       "vt 0 0.1\nvt 1 0.1\nvt 1 1\nvt 0 1\nvt 0.5 0.3\n"
                       "vn 0 0 1\nvn 0 1 0\n"
                       "g left\nf 1/1/1 2/2/1 3/3/1 4/4/1\ng right\nf 2/5/2 6/1/2 3/3/1\n";
    sn_source source = bytes_source(text, strlen(text), "small.obj");
    sinew_mesh *mesh;
    assert_ok(sn_format_obj.read_mesh(&source, &mesh, &error));
    bytes_source_free(&source);
    sinew_rig *rig;
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    const int vertices[] = {1, 3, 4};
    const double deltas[] = {0, 0, 0.5, 0.125, 0, 1.0 / 3, 1, 1, 1};
    assert_ok(sinew_rig_add_target(rig, "lift \"one\"", 3, vertices, deltas, &error));
    assert_ok(sinew_rig_add_target(rig, "still", 0, NULL, NULL, &error));
    assert_ok(sinew_rig_add_inbetween(rig, "half", 0, 0.5, 1, vertices, deltas, &error));
    const int drivers[] = {0, 1};
    assert_ok(sinew_rig_add_combination(rig, "both", SINEW_COMBINE_LOWEST, 2, drivers, 2, vertices,
                                        deltas + 3, &error));
    const sinew_term terms[] = {{1.0 / 3, {1, 0}, {2, 1}}, {-0.25, {0}, {6}}};
    assert_ok(
        sinew_rig_add_polynomial(rig, "curve", 2, drivers, 2, terms, 1, vertices, deltas, &error));
    assert_ok(sinew_rig_set_limits(rig, 0, -1, INFINITY, &error));
    assert_ok(sinew_rig_add_region(rig, "rim", 2, vertices, &error));
    return rig;
}

static void a_small_rig_comes_back_with_everything(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = small_rig(), *back;
    const char *path = temporary("small.glb");
    assert_ok(sinew_rig_write(path, rig, &error));
    assert_ok(sinew_rig_read(1, &path, &back, &error));
    assert_same_mesh(rig->neutral, back->neutral, sn_format_glb.holds);
    assert_same_rig(rig, back);
    assert_null(back->neutral->file_vertices);
    sinew_rig_destroy(rig);
    sinew_rig_destroy(back);
}

/* --- what other programs see ------------------------------------------------------------------ */

typedef struct glb {
    char *bytes;
    json_t *root;
    const char *binary;
} glb;

static glb open_glb(const char *path) {
    sinew_error error;
    glb g;
    size_t size;
    assert_ok(sn_file_read(path, &g.bytes, &size, &error));
    size_t length = sn_load_u32(g.bytes + 12, false);
    g.root = json_loadb(g.bytes + 20, length, 0, NULL);
    assert_non_null(g.root);
    g.binary = g.bytes + 20 + length + 8;
    return g;
}

static void close_glb(glb *g) {
    json_decref(g->root);
    sinew_free(g->bytes);
}

static json_t *item(const json_t *object, const char *key, size_t i) {
    return json_array_get(json_object_get(object, key), i);
}
static int number(const json_t *object, const char *key) {
    return (int)json_integer_value(json_object_get(object, key));
}

/* Floats of an accessor, sparse values put in place; independent of the reader. */
static float *accessor_floats(const glb *g, int index, int *count, int width) {
    const json_t *accessor = item(g->root, "accessors", (size_t)index);
    *count = number(accessor, "count");
    float *values = calloc((size_t)*count * (size_t)width, sizeof(float));
    if (json_object_get(accessor, "bufferView")) {
        const json_t *view = item(g->root, "bufferViews", (size_t)number(accessor, "bufferView"));
        memcpy(values, g->binary + number(view, "byteOffset"),
               (size_t)*count * (size_t)width * sizeof(float));
    }
    const json_t *sparse = json_object_get(accessor, "sparse");
    if (sparse) {
        const json_t *indices = json_object_get(sparse, "indices");
        const json_t *rows = json_object_get(sparse, "values");
        assert_int_equal(number(indices, "componentType"), 5123);
        const char *at =
            g->binary + number(item(g->root, "bufferViews", (size_t)number(indices, "bufferView")),
                               "byteOffset");
        const char *from =
            g->binary +
            number(item(g->root, "bufferViews", (size_t)number(rows, "bufferView")), "byteOffset");
        for (int i = 0; i < number(sparse, "count"); i++)
            memcpy(values + (size_t)width * sn_load_u16(at + 2 * i, false),
                   from + (size_t)i * (size_t)width * 4, (size_t)width * sizeof(float));
    }
    return values;
}

/* The reference: area-weighted vertex normals of the posed triangles, computed here. */
static void reference_normals(const sinew_mesh *mesh, const double *p, double *normals) {
    memset(normals, 0, 3 * sizeof(double) * (size_t)mesh->vertex_count);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * t;
        double e[3], f[3], n[3];
        for (int k = 0; k < 3; k++) {
            e[k] = p[3 * v[1] + k] - p[3 * v[0] + k];
            f[k] = p[3 * v[2] + k] - p[3 * v[0] + k];
        }
        n[0] = e[1] * f[2] - e[2] * f[1];
        n[1] = e[2] * f[0] - e[0] * f[2];
        n[2] = e[0] * f[1] - e[1] * f[0];
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++) normals[3 * v[c] + k] += n[k];
    }
    for (int v = 0; v < mesh->vertex_count; v++) {
        double *n = normals + 3 * v, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int k = 0; k < 3 && length > 0; k++) n[k] /= length;
    }
}

static void morph_normals_are_those_of_the_posed_surface(void **state) {
    (void)state;
    sinew_error error;
    const char *paths[] = {test_data("free/facecap/head.obj"), test_data("free/facecap/targets")};
    skip_without_data(paths[0]);
    sinew_rig *rig;
    assert_ok(sinew_rig_read(2, paths, &rig, &error));
    const char *path = temporary("normals.glb");
    assert_ok(sinew_rig_write(path, rig, &error));
    const sinew_mesh *mesh = rig->neutral;
    size_t size = 3 * (size_t)mesh->vertex_count;
    double *posed = malloc(size * sizeof(double)), *normals = malloc(size * sizeof(double));
    glb g = open_glb(path);
    const json_t *primitive = item(item(g.root, "meshes", 0), "primitives", 0);
    int count, count2;
    float *base =
        accessor_floats(&g, number(json_object_get(primitive, "attributes"), "NORMAL"), &count, 3);
    int turned = 0;
    for (int t = 0; t < rig->target_count; t += 7) {
        sinew_rig_shape(rig, t, posed);
        reference_normals(mesh, posed, normals);
        float *delta = accessor_floats(&g, number(item(primitive, "targets", (size_t)t), "NORMAL"),
                                       &count2, 3);
        assert_int_equal(count, count2);
        for (size_t i = 0; i < size; i++) {
            double written = (double)base[i] + (double)delta[i];
            double length = 0;
            for (size_t k = 0; k < 3; k++) length += fabs(normals[i - i % 3 + k]);
            if (length > 0) assert_close(written, normals[i], 2e-6);
            turned += delta[i] != 0;
        }
        free(delta);
    }
    assert_true(turned > 1000);
    free(base), free(posed), free(normals);
    close_glb(&g);
    sinew_rig_destroy(rig);
}

static void seams_are_split_and_vertices_come_first(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = small_rig();
    const char *path = temporary("split.glb");
    assert_ok(sinew_rig_write(path, rig, &error));
    glb g = open_glb(path);
    const json_t *mesh = item(g.root, "meshes", 0);
    const json_t *attributes = json_object_get(item(mesh, "primitives", 0), "attributes");
    assert_string_equal(json_string_value(item(json_object_get(mesh, "extras"), "targetNames", 0)),
                        "lift \"one\"");
    int count;
    float *vertex = accessor_floats(&g, number(attributes, "_VERTEX"), &count, 1);
    assert_int_equal(count, 7); /* vertex 1 has two texture coordinates and normals */
    for (int i = 0; i < 6; i++) assert_true(vertex[i] == (float)i);
    assert_true(vertex[6] == 1);
    float *uv = accessor_floats(&g, number(attributes, "TEXCOORD_0"), &count, 2);
    assert_true(uv[1] == (float)(1 - 0.1)); /* counted from the top */
    float *position = accessor_floats(&g, number(attributes, "POSITION"), &count, 3);
    assert_true(position[18] == 1 && position[19] == 0);
    free(vertex), free(uv), free(position);
    close_glb(&g);
    sinew_rig_destroy(rig);
}

/* --- files of others -------------------------------------------------------------------------- */

/* head.obj was made from this file: welded, in the head's own frame. Compare after the similarity
 * that the node transforms are. */
static void facecap_is_its_obj_form(void **state) {
    (void)state;
    sinew_error error;
    const char *raw = test_data("free/facecap/facecap.glb");
    const char *paths[] = {test_data("free/facecap/head.obj"), test_data("free/facecap/targets")};
    skip_without_data(raw);
    sinew_rig *glb_rig, *obj_rig;
    assert_ok(sinew_rig_read(1, &raw, &glb_rig, &error));
    assert_ok(sinew_rig_read(2, paths, &obj_rig, &error));
    const sinew_mesh *whole = glb_rig->neutral, *head = obj_rig->neutral;
    assert_int_equal(whole->part_count, 4);
    int part = -1, first_face = 0, faces = 0;
    for (int p = 0; p < 4; p++)
        if (strcmp(whole->part_names[p], "head") == 0) part = p;
    assert_true(part >= 0);
    for (int f = whole->face_count; f-- > 0;)
        if (whole->face_part[f] == part) first_face = f, faces++;
    assert_int_equal(faces, head->face_count);
    int offset = whole->face_vertices[3 * first_face] - head->face_vertices[0];
    for (int c = 0; c < 3 * faces; c++)
        assert_int_equal(whole->face_vertices[3 * first_face + c] - offset, head->face_vertices[c]);
    /* one similarity for all: ratios of distances to vertex 0 agree */
    double scale = 0;
    for (int v = 1; v < head->vertex_count; v++) {
        double a = 0, b = 0;
        for (int k = 0; k < 3; k++) {
            double x = whole->positions[3 * (v + offset) + k] - whole->positions[3 * offset + k];
            double y = head->positions[3 * v + k] - head->positions[k];
            a += x * x, b += y * y;
        }
        if (v == 1) scale = sqrt(a / b);
        if (b > 0.01) assert_close(sqrt(a / b) / scale, 1, 2e-3);
    }
    assert_int_equal(glb_rig->target_count, 52);
    for (int t = 0; t < 52; t++) {
        int other = sinew_rig_find_target(obj_rig, glb_rig->targets[t].name);
        assert_true(other >= 0);
        const sinew_target *x = &glb_rig->targets[t], *y = &obj_rig->targets[other];
        double a = 0, b = 0;
        for (int i = 0; i < 3 * x->count; i++) a += x->deltas[i] * x->deltas[i];
        for (int i = 0; i < 3 * y->count; i++) b += y->deltas[i] * y->deltas[i];
        if (b == 0)
            assert_true(a == 0);
        else
            assert_close(sqrt(a / b) / scale, 1, 5e-3);
    }
    assert_int_equal(whole->file_vertex_count, 530 + 530 + 2694 + 614);
    sinew_curves *curves, *reference;
    assert_ok(sinew_curves_read(raw, &curves, &error));
    assert_ok(sinew_curves_read(test_data("free/facecap/weights.csv"), &reference, &error));
    assert_int_equal(curves->channel_count, 52);
    assert_int_equal(curves->time_count, reference->time_count);
    for (int i = 0; i < 52; i++) assert_string_equal(curves->names[i], reference->names[i]);
    for (int i = 0; i < 52 * curves->time_count; i++)
        assert_close(curves->values[i], reference->values[i], 1e-3);
    sinew_curves_destroy(curves);
    sinew_curves_destroy(reference);
    sinew_rig_destroy(glb_rig);
    sinew_rig_destroy(obj_rig);
}

/* A text glTF put together by hand; `data` is base64 of the buffer. */
static void write_gltf(const char *path, const char *json) {
    sinew_error error;
    assert_ok(sn_file_write(path, json, strlen(json), &error));
}

static char *base64(const void *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = bytes;
    char *text = malloc(size * 2 + 8), *to = text;
    for (size_t i = 0; i < size; i += 3) {
        unsigned v = (unsigned)b[i] << 16;
        if (i + 1 < size) v |= (unsigned)b[i + 1] << 8;
        if (i + 2 < size) v |= b[i + 2];
        *to++ = digits[v >> 18], *to++ = digits[v >> 12 & 63];
        *to++ = i + 1 < size ? digits[v >> 6 & 63] : '=';
        *to++ = i + 2 < size ? digits[v & 63] : '=';
    }
    *to = '\0';
    return text;
}

/* Two triangles that touch along an edge of split vertices. `extra` goes into the root, `prim` into
 * the primitive, `acc` after the accessors, `node` into the node. */
static void make_quad(const char *path, const float *delta, const char *extra, const char *node) {
    struct {
        float positions[6][3];
        float delta[6][3];
        uint16_t indices[6];
    } data = {{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}},
              {{0}},
              {0, 1, 2, 3, 4, 5}};
    memcpy(data.delta, delta, sizeof data.delta);
    char *text = base64(&data, sizeof data), json[4096];
    snprintf(json, sizeof json,
             "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":%zu,\"uri\":"
             "\"data:application/octet-stream;base64,%s\"}],\"bufferViews\":[{\"buffer\":0,"
             "\"byteLength\":72},{\"buffer\":0,\"byteOffset\":72,\"byteLength\":72},{\"buffer\":0,"
             "\"byteOffset\":144,\"byteLength\":12}],\"accessors\":[{\"bufferView\":0,"
             "\"componentType\":5126,\"count\":6,\"type\":\"VEC3\"},{\"bufferView\":1,"
             "\"componentType\":5126,\"count\":6,\"type\":\"VEC3\"},{\"bufferView\":2,"
             "\"componentType\":5123,\"count\":6,\"type\":\"SCALAR\"}],\"meshes\":[{\"primitives\":"
             "[{\"attributes\":{\"POSITION\":0},\"indices\":2,\"targets\":[{\"POSITION\":1}]}]}],"
             "\"nodes\":[{\"mesh\":0%s}],\"scenes\":[{\"nodes\":[0]}]%s}",
             sizeof data, text, node, extra);
    write_gltf(path, json);
    free(text);
}

static void vertices_weld_only_where_every_target_agrees(void **state) {
    (void)state;
    sinew_error error;
    const char *path = temporary("weld.gltf");
    float delta[6][3] = {{0}};
    sinew_rig *rig;
    make_quad(path, delta[0], "", "");
    assert_ok(sinew_rig_read(1, &path, &rig, &error));
    assert_int_equal(rig->neutral->vertex_count, 4);
    assert_int_equal(rig->neutral->file_vertex_count, 6);
    const int expected[] = {0, 1, 2, 1, 3, 2};
    assert_memory_equal(rig->neutral->file_vertices, expected, sizeof expected);
    /* a cache for the file has the file's points, and fits the mesh when it comes back */
    sinew_frame_writer *writer;
    assert_ok(
        sinew_frame_writer_open(temporary("weld.pc2"), rig->neutral, 1, 0, 30, &writer, &error));
    assert_ok(sinew_frame_writer_add(writer, rig->neutral->positions, &error));
    assert_ok(sinew_frame_writer_close(writer, &error));
    sinew_frames *frames;
    assert_ok(sinew_frames_read(temporary("weld.pc2"), &frames, &error));
    assert_int_equal(frames->vertex_count, 6);
    assert_true(frames->positions[9] == 1 && frames->positions[16] == 1);
    assert_ok(sinew_frames_match(frames, rig->neutral, &error));
    assert_int_equal(frames->vertex_count, 4);
    for (int i = 0; i < 12; i++)
        assert_true(frames->positions[i] == (float)rig->neutral->positions[i]);
    sinew_frames_destroy(frames);
    sinew_rig_destroy(rig);
    /* like lips: together in the neutral, apart in a target */
    delta[3][2] = 0.5f;
    make_quad(path, delta[0], "", "");
    assert_ok(sinew_rig_read(1, &path, &rig, &error));
    assert_int_equal(rig->neutral->vertex_count, 5);
    assert_string_equal(rig->targets[0].name, "target_0");
    assert_int_equal(rig->targets[0].count, 1);
    sinew_rig_destroy(rig);
}

/* A cubic, and its slope. */
static double motion(double t, double *slope) {
    *slope = (3 * t - 4) * t + 1;
    return ((t - 2) * t + 1) * t - 3;
}

/* Between keys values stay, are mixed, or follow the cubic that has their slopes: one that is a
 * cubic itself comes back exactly. */
static void animations_follow_their_interpolation(void **state) {
    (void)state;
    sinew_error error;
    enum { KEYS = 3 };
    static const char *const kinds[] = {"STEP", "LINEAR", "CUBICSPLINE"};
    const char *path = temporary("moves.gltf");
    struct {
        float positions[3][3];
        float times[KEYS];
        float values[KEYS][3];
        float cubic[KEYS][3][3]; /* slope before, value, slope behind */
        uint16_t indices[3];
    } data = {
        .positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, .times = {0, 1, 3}, .indices = {0, 1, 2}};
    for (int k = 0; k < KEYS; k++) {
        double slope, value = motion((double)data.times[k], &slope);
        data.values[k][0] = data.cubic[k][1][0] = (float)value;
        data.values[k][2] = data.cubic[k][1][2] = (float)(2 * value);
        data.cubic[k][0][0] = data.cubic[k][2][0] = (float)slope;
        data.cubic[k][0][2] = data.cubic[k][2][2] = (float)(2 * slope);
    }
    char *text = base64(&data, sizeof data), json[4096];
    for (int kind = 0; kind < 3; kind++) {
        snprintf(json, sizeof json,
                 "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":%zu,\"uri\":"
                 "\"data:application/octet-stream;base64,%s\"}],\"bufferViews\":["
                 "{\"buffer\":0,\"byteLength\":36},"
                 "{\"buffer\":0,\"byteOffset\":36,\"byteLength\":12},"
                 "{\"buffer\":0,\"byteOffset\":48,\"byteLength\":36},"
                 "{\"buffer\":0,\"byteOffset\":84,\"byteLength\":108},"
                 "{\"buffer\":0,\"byteOffset\":192,\"byteLength\":6}],\"accessors\":["
                 "{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"
                 "{\"bufferView\":1,\"componentType\":5126,\"count\":3,\"type\":\"SCALAR\"},"
                 "{\"bufferView\":2,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"
                 "{\"bufferView\":3,\"componentType\":5126,\"count\":9,\"type\":\"VEC3\"},"
                 "{\"bufferView\":4,\"componentType\":5123,\"count\":3,\"type\":\"SCALAR\"}],"
                 "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":4}]}],"
                 "\"animations\":[{\"samplers\":[{\"input\":1,\"output\":%d,\"interpolation\":"
                 "\"%s\"}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":"
                 "\"translation\"}}]}],\"nodes\":[{\"mesh\":0}],\"scenes\":[{\"nodes\":[0]}]}",
                 sizeof data, text, kind == 2 ? 3 : 2, kinds[kind]);
        write_gltf(path, json);
        for (int i = -2; i <= 16; i++) { /* also before the first key and behind the last */
            double t = 0.25 * i, at = fmin(fmax(t, 0), 3), slope;
            int k = at >= 3 ? 2 : at >= 1;
            double from = (double)data.times[k], to = k < 2 ? (double)data.times[k + 1] : 4;
            double a = motion(from, &slope), b = motion(to, &slope),
                   share = (at - from) / (to - from);
            double wanted = kind == 0   ? a
                            : kind == 1 ? (1 - share) * a + share * b
                                        : motion(at, &slope);
            sinew_mesh *mesh;
            assert_ok(sinew_pose_read(path, NULL, t, &mesh, &error));
            assert_close(mesh->positions[0], wanted, 1e-6);
            assert_close(mesh->positions[1], 0, 0);
            assert_close(mesh->positions[2], 2 * wanted, 1e-6);
            assert_close(mesh->positions[3], 1 + wanted, 1e-6);
            sinew_mesh_destroy(mesh);
        }
    }
    free(text);
}

static void node_transforms_move_and_turn(void **state) {
    (void)state;
    sinew_error error;
    const char *path = temporary("turn.gltf");
    float delta[6][3] = {{1, 0, 0}};
    sinew_rig *rig;
    /* a quarter turn about z, twice the size, and a shift */
    make_quad(path, delta[0], "",
              ",\"rotation\":[0,0,0.70710678118654757,0.70710678118654757],\"scale\":[2,2,2],"
              "\"translation\":[10,0,0]");
    assert_ok(sinew_rig_read(1, &path, &rig, &error));
    assert_close(rig->neutral->positions[3], 10, 1e-12);
    assert_close(rig->neutral->positions[4], 2, 1e-12);
    assert_close(rig->targets[0].deltas[0], 0, 1e-12);
    assert_close(rig->targets[0].deltas[1], 2, 1e-12);
    sinew_rig_destroy(rig);
}

static void assert_gltf_refused(const char *path, const char *what) {
    sinew_error error = {0};
    sinew_rig *rig;
    assert_int_equal(sinew_rig_read(1, &path, &rig, &error), SINEW_BAD_INPUT);
    if (!strstr(error.message, what)) fail_msg("%s", error.message);
}

static void lies_and_unknown_extensions_are_refused(void **state) {
    (void)state;
    const char *path = temporary("bad.gltf");
    float delta[6][3] = {{0}};
    make_quad(path, delta[0], ",\"extensionsRequired\":[\"KHR_draco_mesh_compression\"]", "");
    assert_gltf_refused(path, "needs the extension KHR_draco_mesh_compression");
    make_quad(path, delta[0], ",\"scene\":3", "");
    assert_gltf_refused(path, "default scene");
    make_quad(path, delta[0], "", ",\"children\":[0]");
    assert_gltf_refused(path, "node 0 is reached twice");
    make_quad(path, delta[0], "", ",\"matrix\":[1,2]");
    assert_gltf_refused(path, "node 0 has a bad matrix");
    delta[2][1] = NAN;
    make_quad(path, delta[0], "", "");
    assert_gltf_refused(path, "not finite");
    const char *bad[] = {
        "{\"asset\":{\"version\":\"1.0\"}}",
        "{\"asset\":{\"version\":\"2.0\"}}",
        "{\"asset\":{\"version\":\"2.0\"},\"meshes\":[{\"primitives\":[{\"attributes\":{"
        "\"POSITION\""
        ":0}}]}],\"accessors\":[{\"componentType\":5126,\"type\":\"VEC3\",\"count\":4000000000}]}",
        "{\"asset\":{\"version\":\"2.0\"},\"meshes\":[{\"primitives\":[{\"attributes\":{"
        "\"POSITION\""
        ":0}}]}],\"accessors\":[{\"componentType\":5126,\"type\":\"VEC3\",\"count\":400000000}]}",
        "{\"asset\":{\"version\":\"2.0\"},\"meshes\":[{\"primitives\":[{\"attributes\":{"
        "\"POSITION\""
        ":0}}]}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"type\":\"VEC3\","
        "\"count\""
        ":2}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":23}],\"buffers\":[{\"byteLength\":24,"
        "\"uri\":\"data:;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
        "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":4,\"uri\":\"../secret\"}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_gltf(path, bad[i]);
        assert_gltf_refused(path, "bad.gltf: ");
    }
    /* deep JSON */
    char *deep = malloc(200001);
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    write_gltf(path, deep);
    free(deep);
    assert_gltf_refused(path, "bad.gltf:");
}

static void frames_are_compressed_within_the_tolerance(void **state) {
    (void)state;
    sinew_error error;
    enum { GRID = 12, FRAMES = 40 };
    double positions[3 * GRID * GRID];
    int faces[4 * (GRID - 1) * (GRID - 1)], start[(GRID - 1) * (GRID - 1) + 1], f = 0;
    for (int i = 0; i < GRID * GRID; i++)
        positions[3 * i] = i % GRID, positions[3 * i + 1] = i / GRID, positions[3 * i + 2] = 0;
    for (int y = 0; y + 1 < GRID; y++)
        for (int x = 0; x + 1 < GRID; x++, f++) {
            const int quad[] = {y * GRID + x, y * GRID + x + 1, (y + 1) * GRID + x + 1,
                                (y + 1) * GRID + x};
            memcpy(faces + 4 * f, quad, sizeof quad);
            start[f] = 4 * f;
        }
    start[f] = 4 * f;
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(GRID * GRID, positions, f, start, faces, &mesh, &error));
    int targets[3] = {0};
    const double tolerances[3] = {1e-1, 1e-3, 1e-5};
    for (int round = 0; round < 3; round++) {
        const char *path = temporary("wave.glb");
        sinew_frame_writer *writer;
        assert_ok(sinew_frame_writer_open(path, mesh, FRAMES, 0.25, 24, &writer, &error));
        sinew_frame_writer_set_tolerance(writer, tolerances[round]);
        double frame[3 * GRID * GRID];
        for (int k = 0; k < FRAMES; k++) {
            memcpy(frame, positions, sizeof frame);
            for (int i = 0; i < GRID * GRID; i++)
                frame[3 * i + 2] = sin(0.7 * positions[3 * i] + 0.3 * k) +
                                   0.05 * cos(2.1 * positions[3 * i + 1] * sin(0.2 * k));
            assert_ok(sinew_frame_writer_add(writer, frame, &error));
        }
        assert_ok(sinew_frame_writer_close(writer, &error));
        sinew_frames *frames;
        assert_ok(sinew_frames_read(path, &frames, &error));
        assert_int_equal(frames->frame_count, FRAMES);
        assert_close(frames->start, 0.25, 1e-6);
        assert_close(frames->rate, 24, 1e-3);
        double worst = 0;
        for (int k = 0; k < FRAMES; k++)
            for (int i = 0; i < GRID * GRID; i++) {
                double z = sin(0.7 * positions[3 * i] + 0.3 * k) +
                           0.05 * cos(2.1 * positions[3 * i + 1] * sin(0.2 * k));
                worst =
                    fmax(worst, fabs(z - (double)frames->positions[3 * (k * GRID * GRID + i) + 2]));
            }
        assert_below(worst, tolerances[round]);
        sinew_frames_destroy(frames);
        sinew_rig *rig;
        assert_ok(sinew_rig_read(1, &path, &rig, &error));
        targets[round] = rig->target_count;
        assert_int_equal(rig->neutral->face_count, f);
        sinew_rig_destroy(rig);
    }
    /* a travelling wave is two shapes; the rest is worth more only as the tolerance falls */
    assert_int_equal(targets[0], 2);
    assert_true(targets[1] > 2 && targets[1] < targets[2] && targets[2] < FRAMES);
    sinew_mesh_destroy(mesh);
}

/* The clips of a rigged hand at their end, against poses that another program made of them in
 * hundredths of the unit. */
static void skinned_clips_match_poses_made_elsewhere(void **state) {
    (void)state;
    static const char *const clips[][2] = {{"Fist", "fist"}, {"Grip", "grip"}, {"Open", "open"}};
    const char *hand = test_data("free/aframe-hand/rightHandHigh.glb");
    skip_without_data(hand);
    sinew_error error;
    for (int i = 0; i < 3; i++) {
        char path[100];
        snprintf(path, sizeof path, "free/aframe-hand/%s.obj", clips[i][1]);
        sinew_mesh *posed, *expected;
        assert_ok(sinew_pose_read(hand, clips[i][0], 99, &posed, &error));
        assert_ok(sinew_mesh_read(test_data(path), &expected, &error));
        assert_int_equal(posed->vertex_count, expected->vertex_count);
        double size = sinew_diagonal(expected->vertex_count, expected->positions);
        for (int k = 0; k < 3 * posed->vertex_count; k++)
            assert_close(100 * posed->positions[k], expected->positions[k], 2e-6 * size);
        sinew_mesh_destroy(expected);
        sinew_frames *frames;
        assert_ok(sinew_frames_read_clip(hand, clips[i][0], 10, &frames, &error));
        assert_int_equal(frames->vertex_count, posed->vertex_count);
        const float *last =
            frames->positions + 3 * (size_t)(frames->frame_count - 1) * (size_t)posed->vertex_count;
        for (int k = 0; k < 3 * posed->vertex_count; k++)
            assert_close(last[k], posed->positions[k], 1e-7);
        sinew_frames_destroy(frames);
        sinew_mesh_destroy(posed);
    }
    /* without a clip the bones stand as they are stored: as where this clip begins */
    sinew_mesh *mesh, *open;
    assert_ok(sinew_pose_read(hand, "", 0, &mesh, &error));
    assert_ok(sinew_pose_read(hand, "Open", 0, &open, &error));
    for (int k = 0; k < 3 * mesh->vertex_count; k++)
        assert_close(mesh->positions[k], open->positions[k], 1e-6);
    sinew_mesh_destroy(mesh);
    sinew_mesh_destroy(open);
    assert_int_equal(sinew_pose_read(hand, "Wave", 0, &mesh, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'Thumb Up'"));
}

int test_glb(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_rig_comes_back_with_everything),
        cmocka_unit_test(seams_are_split_and_vertices_come_first),
        cmocka_unit_test(vertices_weld_only_where_every_target_agrees),
        cmocka_unit_test(animations_follow_their_interpolation),
        cmocka_unit_test(node_transforms_move_and_turn),
        cmocka_unit_test(lies_and_unknown_extensions_are_refused),
        cmocka_unit_test(frames_are_compressed_within_the_tolerance),
        cmocka_unit_test(facecap_is_its_obj_form),
        cmocka_unit_test(morph_normals_are_those_of_the_posed_surface),
        cmocka_unit_test(every_real_mesh_comes_back_through_glb),
        cmocka_unit_test(real_rigs_come_back_through_glb_and_folders),
        cmocka_unit_test(skinned_clips_match_poses_made_elsewhere),
    };
    return cmocka_run_group_tests_name("glb", tests, NULL, NULL);
}
