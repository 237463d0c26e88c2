/* Files that come back whole: GLB and FBX with another rig in them, and expressions of avatars. */
#include "groups.h"
#include "helpers.h"

#include "base/file.h"
#include "base/memory.h"
#include "io/binary.h"
#include "io/fbx_tree.h"
#include "io/json.h"
#include "sinew/contents.h"

/* Two meshes under moved nodes: a skinned quad with two targets, and a triangle without any. Beside
 * them a material, a texture in the binary chunk, a second set of texture coordinates, colors, a
 * camera, an extension nobody knows, an animation of a node and of the weights, and an expression.
 */
static const char document[] =
    "{\"asset\":{\"version\":\"2.0\",\"generator\":\"someone\",\"copyright\":\"them\"},"
    "\"extensionsUsed\":[\"EXT_unknown\",\"VRMC_vrm\"],"
    "\"extensions\":{\"EXT_unknown\":{\"accessor\":4,\"list\":[0.1,1e300,-7]},"
    "\"VRMC_vrm\":{\"specVersion\":\"1.0\",\"expressions\":{\"preset\":{"
    "\"happy\":{\"isBinary\":false,\"morphTargetBinds\":[{\"node\":1,\"index\":0,\"weight\":0.5},"
    "{\"node\":1,\"index\":1,\"weight\":1}]},\"blink\":{\"overrideMouth\":\"none\"}},"
    "\"custom\":{\"up\":{\"morphTargetBinds\":[{\"node\":1,\"index\":0,\"weight\":1}]}}}}},"
    "\"extras\":{\"note\":\"of the file\"},"
    "\"scene\":0,\"scenes\":[{\"nodes\":[0,3],\"name\":\"all\"}],"
    "\"nodes\":[{\"name\":\"root\",\"children\":[1,2],\"translation\":[1,2,3]},"
    "{\"name\":\"face\",\"mesh\":0,\"weights\":[0.25,0.5],\"rotation\":[0,0.6,0,0.8],"
    "\"scale\":[2,2,2],\"extras\":{\"tag\":7}},"
    "{\"name\":\"hat\",\"mesh\":1},{\"name\":\"eye\",\"camera\":0}],"
    "\"cameras\":[{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.01}}],"
    "\"materials\":[{\"name\":\"skin\",\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0,"
    "\"texCoord\":1}},\"extensions\":{\"EXT_unknown\":{\"gloss\":0.3}}}],"
    "\"textures\":[{\"source\":0}],\"images\":[{\"bufferView\":3,\"mimeType\":\"image/png\"}],"
    "\"meshes\":[{\"name\":\"quad\",\"weights\":[0,1],\"extras\":{\"targetNames\":[\"up\",\"side\"]"
    ","
    "\"mine\":[1]},\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":1,"
    "\"TEXCOORD_1\":1,\"COLOR_0\":2},\"indices\":3,\"material\":0,"
    "\"targets\":[{\"POSITION\":4},{\"POSITION\":5}]}]},"
    "{\"name\":\"triangle\",\"primitives\":[{\"attributes\":{\"POSITION\":6},\"material\":0}]}],"
    "\"animations\":[{\"name\":\"nod\",\"channels\":[{\"sampler\":0,\"target\":{\"node\":1,"
    "\"path\":\"weights\"}},{\"sampler\":1,\"target\":{\"node\":0,\"path\":\"translation\"}}],"
    "\"samplers\":[{\"input\":7,\"output\":8},{\"input\":7,\"output\":9}]}],"
    "\"accessors\":["
    "{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\",\"min\":[0,0,0],"
    "\"max\":[1,1,0]},"
    "{\"bufferView\":1,\"componentType\":5126,\"count\":4,\"type\":\"VEC2\"},"
    "{\"bufferView\":1,\"byteOffset\":32,\"componentType\":5121,\"normalized\":true,\"count\":4,"
    "\"type\":\"VEC4\"},"
    "{\"bufferView\":2,\"componentType\":5123,\"count\":6,\"type\":\"SCALAR\"},"
    "{\"bufferView\":4,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"},"
    "{\"bufferView\":4,\"byteOffset\":48,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"},"
    "{\"bufferView\":5,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"
    "{\"bufferView\":6,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\",\"min\":[0],"
    "\"max\":[1]},"
    "{\"bufferView\":6,\"byteOffset\":8,\"componentType\":5126,\"count\":4,\"type\":\"SCALAR\"},"
    "{\"bufferView\":6,\"byteOffset\":24,\"componentType\":5126,\"count\":2,\"type\":\"VEC3\"}],"
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":48},"
    "{\"buffer\":0,\"byteOffset\":48,\"byteLength\":48},"
    "{\"buffer\":0,\"byteOffset\":96,\"byteLength\":12},"
    "{\"buffer\":0,\"byteOffset\":108,\"byteLength\":20,\"name\":\"picture\"},"
    "{\"buffer\":0,\"byteOffset\":128,\"byteLength\":96},"
    "{\"buffer\":0,\"byteOffset\":224,\"byteLength\":36},"
    "{\"buffer\":0,\"byteOffset\":260,\"byteLength\":48}],"
    "\"buffers\":[{\"byteLength\":308}]}";

enum { BINARY = 308 };

static void put_floats(char *at, int count, const float *values) {
    for (int i = 0; i < count; i++) sn_store_f32(at + 4 * i, values[i], false);
}

static void fill_binary(char *b) {
    const float quad[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0};
    const float uv[] = {0, 0, 1, 0, 1, 1, 0, 1};
    const float up[] = {0, 0, 0.5f, 0, 0, 0.25f, 0, 0, 0, 0, 0, 0};
    const float side[] = {0, 0, 0, 0, 0, 0, 0.125f, 0, 0, 0.5f, 0, 0};
    const float triangle[] = {5, 0, 0, 6, 0, 0, 5, 1, 0};
    const float clip[] = {0, 1, 0, 1, 0.5f, 0, 0, 0, 0, 1, 4, 2};
    const uint16_t indices[] = {0, 1, 2, 0, 2, 3};
    for (int i = 0; i < BINARY; i++) b[i] = (char)(i * 37);
    put_floats(b, 12, quad), put_floats(b + 48, 8, uv);
    for (int i = 0; i < 6; i++) b[96 + 2 * i] = (char)indices[i], b[97 + 2 * i] = 0;
    put_floats(b + 128, 12, up), put_floats(b + 176, 12, side);
    put_floats(b + 224, 9, triangle), put_floats(b + 260, 12, clip);
}

static void add_chunk(sn_buffer *out, uint32_t type, const void *bytes, size_t size, char pad) {
    char head[8];
    size_t padded = (size + 3) / 4 * 4;
    sn_store_u32(head, (uint32_t)padded, false), sn_store_u32(head + 4, type, false);
    sn_buffer_add(out, head, 8), sn_buffer_add(out, bytes, size);
    for (; size < padded; size++) sn_buffer_char(out, pad);
}

/* The document with a part of its text replaced; NULL: as it is. */
static sn_buffer original(const char *part, const char *by) {
    sn_buffer out = {0}, text = {0};
    char binary[BINARY];
    fill_binary(binary);
    const char *at = part ? strstr(document, part) : document;
    assert_non_null(at);
    sn_buffer_add(&text, document, (size_t)(at - document));
    if (part) sn_buffer_text(&text, by);
    sn_buffer_text(&text, at + (part ? strlen(part) : 0));
    sn_buffer_add(&out, "glTF\2\0\0\0\0\0\0\0", 12);
    add_chunk(&out, 0x4e4f534a, text.bytes, text.size, ' ');
    sn_buffer_free(&text);
    add_chunk(&out, 0x004e4942, binary, BINARY, 0);
    add_chunk(&out, 0x12345678, "future chunk", 12, 0);
    sn_store_u32(out.bytes + 8, (uint32_t)out.size, false);
    return out;
}

static sinew_rig *store_changed(const char *name, const char *part, const char *by) {
    sinew_error error;
    sn_buffer file = original(part, by);
    const char *path = temporary(name);
    assert_ok(sn_file_write(path, file.bytes, file.size, &error));
    sn_buffer_free(&file);
    sinew_rig *rig;
    assert_ok(sinew_rig_read(1, &path, &rig, &error));
    return rig;
}

static sinew_rig *store_original(const char *name) {
    return store_changed(name, NULL, NULL);
}

static void poses_between_keys_lie_between_them(void **state) {
    (void)state;
    sinew_error error;
    sn_buffer file = original(NULL, NULL);
    sn_source source = bytes_source(file.bytes, file.size, "test.glb");
    sinew_mesh *mesh;
    assert_ok(sn_format_glb.read_pose(&source, "nod", 0.25, &mesh, &error));
    assert_int_equal(mesh->vertex_count, 7);
    const double *hat = mesh->positions + 3 * 4; /* its root is a quarter of the path along */
    assert_close(hat[0], 5.25, 1e-6);
    assert_close(hat[1], 1, 1e-6);
    assert_close(hat[2], 0.5, 1e-6);
    sinew_mesh_destroy(mesh);
    bytes_source_free(&source);
    /* at the rate of the file, and at one below a frame a second */
    const char *path = temporary("nod.glb");
    assert_ok(sn_file_write(path, file.bytes, file.size, &error));
    sn_buffer_free(&file);
    sinew_frames *frames;
    assert_ok(sinew_frames_read_clip(path, "nod", 0, &frames, &error));
    assert_true(frames->frame_count > 2);
    sinew_frames_destroy(frames);
    assert_ok(sinew_frames_read_clip(path, "nod", 0.5, &frames, &error));
    assert_true(frames->frame_count <= 2);
    sinew_frames_destroy(frames);
}

/* Some exporters give targets only to the primitives that move. */
static void primitives_may_have_fewer_targets_than_the_first(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = store_changed("few.glb", "\"targets\":[{\"POSITION\":4},{\"POSITION\":5}]}]}",
                                   "\"targets\":[{\"POSITION\":4},{\"POSITION\":5}]},"
                                   "{\"attributes\":{\"POSITION\":6},\"material\":0}]}");
    assert_ok(
        sinew_rig_write_into(temporary("kept.glb"), temporary("few.glb"), rig, NULL, NULL, &error));
    const char *path = temporary("kept.glb");
    sinew_rig *back;
    assert_ok(sinew_rig_read(1, &path, &back, &error));
    assert_same_rig(rig, back);
    assert_same_mesh(rig->neutral, back->neutral, 0);
    sinew_rig_destroy(back);
    sinew_rig_destroy(rig);
}

typedef struct parsed {
    char *bytes;
    size_t size;
    json_t *root;
    const char *binary, *rest;
    size_t binary_size, rest_size;
} parsed;

static parsed parse(const char *path) {
    sinew_error error;
    parsed p = {0};
    assert_ok(sn_file_read(path, &p.bytes, &p.size, &error));
    assert_int_equal(sn_load_u32(p.bytes + 8, false), p.size);
    size_t json = sn_load_u32(p.bytes + 12, false);
    assert_ok(sn_json_parse(p.bytes + 20, json, path, &p.root, &error));
    p.binary_size = sn_load_u32(p.bytes + 20 + json, false);
    p.binary = p.bytes + 28 + json;
    p.rest = p.binary + p.binary_size;
    p.rest_size = p.size - (size_t)(p.rest - p.bytes);
    return p;
}

static void free_parsed(parsed *p) {
    json_decref(p->root);
    sn_free(p->bytes);
}

static json_t *member(const parsed *p, const char *list, int index) {
    return json_array_get(json_object_get(p->root, list), (size_t)index);
}

/* Text of a subtree: equal texts are equal bytes of the file. */
static void assert_same_tree(const json_t *a, const json_t *b) {
    char *x = json_dumps(a, JSON_ENCODE_ANY | JSON_COMPACT);
    char *y = json_dumps(b, JSON_ENCODE_ANY | JSON_COMPACT);
    assert_non_null(x), assert_non_null(y);
    assert_string_equal(x, y);
    free(x), free(y);
}

static void assert_same_members(const parsed *a, const parsed *b, const char *list) {
    const json_t *x = json_object_get(a->root, list), *y = json_object_get(b->root, list);
    assert_true(json_array_size(x) <= json_array_size(y));
    for (size_t i = 0; i < json_array_size(x); i++)
        assert_same_tree(json_array_get(x, i), json_array_get(y, i));
}

static void a_rig_that_did_not_change_gives_the_same_bytes(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = store_original("keep.glb");
    assert_ok(sinew_rig_write_into(temporary("kept.glb"), temporary("keep.glb"), rig, NULL, NULL,
                                   &error));
    parsed a = parse(temporary("keep.glb")), b = parse(temporary("kept.glb"));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    free_parsed(&a), free_parsed(&b);
    sinew_rig_destroy(rig);
}

static void new_targets_and_positions_leave_everything_else_as_it_was(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = store_original("keep.glb");
    assert_int_equal(rig->neutral->vertex_count, 7);
    const int vertices[] = {1, 6}, drivers[] = {0, 1};
    const double deltas[] = {0, 0.5, 0, 0.25, 0, 0};
    assert_ok(sinew_rig_add_combination(rig, "fix", SINEW_COMBINE_MULTIPLY, 2, drivers, 2, vertices,
                                        deltas, &error));
    rig->neutral->positions[3 * 2 + 1] += 0.75;
    assert_ok(sinew_rig_write_into(temporary("kept.glb"), temporary("keep.glb"), rig, NULL, NULL,
                                   &error));
    parsed a = parse(temporary("keep.glb")), b = parse(temporary("kept.glb"));
    static const char *const lists[] = {"scenes",   "cameras", "materials",
                                        "textures", "images",  "bufferViews"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) assert_same_members(&a, &b, lists[i]);
    static const char *const objects[] = {"asset", "extensionsUsed", "extensions", "scene"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        assert_same_tree(json_object_get(a.root, objects[i]), json_object_get(b.root, objects[i]));
    for (int i = 1; i < 10; i++) /* 0: bounds of the positions */
        assert_same_tree(member(&a, "accessors", i), member(&b, "accessors", i));
    for (int i = 0; i < 4; i++)
        if (i != 1) assert_same_tree(member(&a, "nodes", i), member(&b, "nodes", i));
    /* the bytes of every view but that of the positions, and of chunks nobody knows */
    assert_memory_equal(a.binary + 48, b.binary + 48, BINARY - 48);
    assert_int_equal(a.rest_size, b.rest_size);
    assert_memory_equal(a.rest, b.rest, a.rest_size);
    assert_memory_equal(a.binary, b.binary, 24);
    assert_memory_equal(a.binary + 36, b.binary + 36, 12);
    assert_true(memcmp(a.binary + 24, b.binary + 24, 12) != 0);
    /* what had to change */
    json_t *node = json_copy(member(&b, "nodes", 1)), *mesh = member(&b, "meshes", 0);
    assert_int_equal(json_array_size(json_object_get(node, "weights")), 3);
    json_object_set(node, "weights", json_object_get(member(&a, "nodes", 1), "weights"));
    assert_same_tree(member(&a, "nodes", 1), node);
    json_decref(node);
    assert_same_tree(json_object_get(json_object_get(member(&a, "meshes", 0), "extras"), "mine"),
                     json_object_get(json_object_get(mesh, "extras"), "mine"));
    sinew_rig *back;
    const char *path = temporary("kept.glb");
    assert_ok(sinew_rig_read(1, &path, &back, &error));
    assert_int_equal(back->target_count, rig->target_count);
    for (int t = 0; t < rig->target_count; t++) {
        assert_string_equal(back->targets[t].name, rig->targets[t].name);
        assert_int_equal(back->targets[t].kind, rig->targets[t].kind);
        assert_int_equal(back->targets[t].count, rig->targets[t].count);
        for (int i = 0; i < 3 * rig->targets[t].count; i++)
            assert_float_equal(back->targets[t].deltas[i], rig->targets[t].deltas[i], 1e-6);
    }
    for (int i = 0; i < 21; i++)
        assert_float_equal(back->neutral->positions[i], rig->neutral->positions[i], 1e-6);
    sinew_rig_destroy(back), sinew_rig_destroy(rig);
    free_parsed(&a), free_parsed(&b);
}

/* Refuses one allocation alone, as a memory limit does that only the largest block exceeds. */
static long countdown;

static void *refuse_one(void *block, size_t bytes, void *user) {
    (void)user;
    return countdown-- == 0 ? NULL : realloc(block, bytes);
}

static void release_block(void *block, void *user) {
    (void)user;
    free(block);
}

static void a_single_refused_allocation_is_survived(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = store_original("keep.glb");
    rig->neutral->positions[3 * 2 + 1] += 0.75; /* overwrites floats of the copy */
    const sinew_allocator allocator = {refuse_one, release_block, NULL};
    for (long n = 0;; n++) {
        countdown = n;
        sinew_set_allocator(&allocator);
        sinew_status status = sinew_rig_write_into(temporary("kept.glb"), temporary("keep.glb"),
                                                   rig, NULL, NULL, &error);
        sinew_set_allocator(NULL);
        if (countdown >= 0) break; /* it needed no more than n */
        if (status != SINEW_NO_MEMORY) fail_msg("%s at %ld", sinew_status_name(status), n);
    }
    sinew_rig_destroy(rig);
}

static void animated_weights_follow_their_targets(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = store_original("keep.glb");
    const int vertex = 1, drivers[] = {0, 1};
    const double delta[] = {0, 0.5, 0};
    assert_ok(sinew_rig_add_combination(rig, "fix", SINEW_COMBINE_MULTIPLY, 2, drivers, 1, &vertex,
                                        delta, &error));
    assert_ok(sinew_rig_write_into(temporary("kept.glb"), temporary("keep.glb"), rig, NULL, NULL,
                                   &error));
    sinew_curves *curves;
    assert_ok(sinew_curves_read(temporary("kept.glb"), &curves, &error));
    double row[3];
    assert_int_equal(curves->channel_count, 3);
    sinew_curves_sample(curves, 0.5, row); /* half of (0,1) and (0.5,0), and their product */
    assert_float_equal(row[0], 0.25, 1e-6);
    assert_float_equal(row[1], 0.5, 1e-6);
    assert_float_equal(row[2], 0.125, 1e-3);
    sinew_curves_destroy(curves);
    /* a clip replaces the weights, and leaves the animation of the node alone */
    assert_ok(sinew_curves_create(1, 2, &curves, &error));
    assert_ok(sinew_curves_set_name(curves, 0, "side", &error));
    curves->times[1] = 2, curves->values[1] = 1;
    assert_ok(sinew_rig_write_into(temporary("clip.glb"), temporary("keep.glb"), rig, curves, NULL,
                                   &error));
    sinew_curves_destroy(curves);
    parsed b = parse(temporary("clip.glb"));
    assert_int_equal(json_array_size(json_object_get(b.root, "animations")), 2);
    assert_int_equal(json_array_size(json_object_get(member(&b, "animations", 0), "channels")), 1);
    free_parsed(&b);
    assert_ok(sinew_curves_read(temporary("clip.glb"), &curves, &error));
    assert_float_equal(curves->times[curves->time_count - 1], 2, 1e-6);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

static void expressions_are_sliders_and_stay_expressions(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = store_original("keep.vrm");
    assert_int_equal(rig->slider_count, 3); /* up, side, happy; "up" of the avatar is the target */
    int happy = sinew_rig_find_target(rig, "happy"), up = sinew_rig_find_target(rig, "up");
    assert_true(happy >= 0 && up >= 0);
    assert_int_equal(rig->targets[happy].count, 4);
    for (int c = 0; c < 3; c++)
        assert_float_equal(rig->targets[happy].deltas[c], 0.5 * rig->targets[up].deltas[c], 1e-12);
    /* another order of targets: the binds go with them */
    sinew_target first = rig->targets[0];
    rig->targets[0] = rig->targets[1], rig->targets[1] = first;
    assert_ok(sinew_rig_write_into(temporary("kept.vrm"), temporary("keep.vrm"), rig, NULL, NULL,
                                   &error));
    parsed b = parse(temporary("kept.vrm"));
    assert_int_equal(
        json_array_size(json_object_get(
            json_array_get(json_object_get(member(&b, "meshes", 0), "primitives"), 0), "targets")),
        2);
    free_parsed(&b);
    const char *path = temporary("kept.vrm");
    sinew_rig *back;
    assert_ok(sinew_rig_read(1, &path, &back, &error));
    assert_string_equal(back->targets[0].name, "side");
    int again = sinew_rig_find_target(back, "happy");
    assert_int_equal(back->targets[again].count, 4);
    for (int i = 0; i < 12; i++)
        assert_float_equal(back->targets[again].deltas[i], rig->targets[happy].deltas[i], 1e-6);
    sinew_rig_destroy(back), sinew_rig_destroy(rig);
}

/* Files may lay several views and accessors over the same bytes. A vertex of the quad moves; what
 * shares its bytes must not. */
static void bytes_that_something_else_uses_are_not_overwritten(void **state) {
    (void)state;
    sinew_error error;
    const struct {
        const char *part, *by;
        bool appended;
    } cases[] = {
        {NULL, NULL, false},
        /* the view of the triangle's positions covers the quad's first rows */
        {"\"byteOffset\":224,\"byteLength\":36", "\"byteOffset\":0,\"byteLength\":36", true},
        /* the picture does */
        {"\"byteOffset\":108,\"byteLength\":20", "\"byteOffset\":12,\"byteLength\":20", true},
        /* an accessor of the same view starts at the quad's second row */
        {"{\"bufferView\":5,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"}",
         "{\"bufferView\":0,\"byteOffset\":12,\"componentType\":5126,\"count\":3,"
         "\"type\":\"VEC3\"}",
         true},
        /* a target is the positions themselves */
        {"{\"POSITION\":5}", "{\"POSITION\":0}", true},
        /* a stride that says what is true anyway */
        {"{\"buffer\":0,\"byteLength\":48}", "{\"buffer\":0,\"byteLength\":48,\"byteStride\":12}",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sinew_rig *rig = store_changed("shared.glb", cases[i].part, cases[i].by), *back;
        rig->neutral->positions[3 * 2 + 1] += 0.75;
        assert_ok(sinew_rig_write_into(temporary("kept.glb"), temporary("shared.glb"), rig, NULL,
                                       NULL, &error));
        parsed a = parse(temporary("shared.glb")), b = parse(temporary("kept.glb"));
        assert_int_equal(b.binary_size > a.binary_size, cases[i].appended);
        if (cases[i].appended) assert_memory_equal(a.binary, b.binary, a.binary_size);
        free_parsed(&a), free_parsed(&b);
        const char *path = temporary("kept.glb");
        assert_ok(sinew_rig_read(1, &path, &back, &error));
        for (int k = 0; k < 3 * rig->neutral->vertex_count; k++)
            assert_float_equal(back->neutral->positions[k], rig->neutral->positions[k], 1e-6);
        for (int t = 0; t < rig->target_count; t++)
            for (int k = 0; k < 3 * rig->targets[t].count; k++)
                assert_float_equal(back->targets[t].deltas[k], rig->targets[t].deltas[k], 1e-6);
        sinew_rig_destroy(back), sinew_rig_destroy(rig);
    }
}

/* VRM 0.x binds expressions to meshes, with weights from 0 to 100. */
static void expressions_of_old_avatars_are_sliders_too(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = store_changed(
        "old.vrm", "\"VRMC_vrm\":{",
        "\"VRM\":{\"specVersion\":\"0.0\",\"blendShapeMaster\":{\"blendShapeGroups\":["
        "{\"name\":\"Joy\",\"presetName\":\"joy\",\"binds\":["
        "{\"mesh\":0,\"index\":0,\"weight\":50},{\"mesh\":0,\"index\":1,\"weight\":100}]},"
        "{\"name\":\"Neutral\",\"presetName\":\"neutral\",\"binds\":[]},"
        "{\"name\":\"Broken\",\"binds\":[{\"mesh\":9,\"index\":0,\"weight\":50}]}]}},"
        "\"EXT_other\":{");
    int joy = sinew_rig_find_target(rig, "Joy"), up = sinew_rig_find_target(rig, "up");
    assert_true(joy >= 0 && up >= 0);
    assert_true(sinew_rig_find_target(rig, "Neutral") < 0);
    for (int c = 0; c < 3; c++)
        assert_float_equal(rig->targets[joy].deltas[c], 0.5 * rig->targets[up].deltas[c], 1e-12);
    /* another order of targets: the binds go with them */
    sinew_target first = rig->targets[0];
    rig->targets[0] = rig->targets[1], rig->targets[1] = first;
    assert_ok(sinew_rig_write_into(temporary("older.vrm"), temporary("old.vrm"), rig, NULL, NULL,
                                   &error));
    const char *path = temporary("older.vrm");
    sinew_rig *back;
    assert_ok(sinew_rig_read(1, &path, &back, &error));
    assert_string_equal(back->targets[0].name, "side");
    int again = sinew_rig_find_target(back, "Joy");
    assert_true(again >= 0);
    assert_int_equal(back->targets[again].count, rig->targets[joy].count);
    for (int i = 0; i < 3 * rig->targets[joy].count; i++)
        assert_float_equal(back->targets[again].deltas[i], rig->targets[joy].deltas[i], 1e-6);
    sinew_rig_destroy(back), sinew_rig_destroy(rig);
}

static void a_rig_of_another_file_is_refused(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig_destroy(store_original("keep.glb"));
    sinew_mesh *mesh;
    sinew_rig *other;
    const double positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const int face[] = {0, 1, 2};
    assert_ok(sinew_mesh_create(3, positions, 1, NULL, face, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &other, &error));
    assert_int_equal(sinew_rig_write_into(temporary("not.glb"), temporary("keep.glb"), other, NULL,
                                          NULL, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "has 7 vertices"));
    assert_int_equal(sinew_rig_write_into(temporary("not.fbx"), temporary("keep.glb"), other, NULL,
                                          NULL, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(sinew_rig_write_into(temporary("not.glb"), temporary("keep.obj"), other, NULL,
                                          NULL, &error),
                     SINEW_BAD_INPUT);
    sinew_rig_destroy(other);
}

/* ---- FBX ------------------------------------------------------------------------------------- */

/* Nodes of b that are not those of a: other values, and children behind the last one of a. */
typedef struct difference {
    int changed, added;
} difference;

static bool same_values(const sn_fbx_tree *a, int x, const sn_fbx_tree *b, int y) {
    if (a->nodes[x].value_count != b->nodes[y].value_count) return false;
    for (int i = 0; i < a->nodes[x].value_count; i++) {
        const sn_fbx_value *v = sn_fbx_value_at(a, x, i), *w = sn_fbx_value_at(b, y, i);
        if (v->type != w->type || v->element != w->element || v->deflated != w->deflated ||
            v->count != w->count || v->integer != w->integer || v->size != w->size ||
            memcmp(&v->number, &w->number, sizeof v->number) != 0)
            return false;
        if (v->size > 0 && memcmp(v->bytes, w->bytes, v->size) != 0) return false;
    }
    return true;
}

static void compare_nodes(const sn_fbx_tree *a, int x, const sn_fbx_tree *b, int y,
                          difference *found) {
    assert_int_equal(a->nodes[x].name_size, b->nodes[y].name_size);
    if (x > 0)
        assert_memory_equal(a->nodes[x].name, b->nodes[y].name, (size_t)a->nodes[x].name_size);
    found->changed += !same_values(a, x, b, y);
    int i = a->nodes[x].first_child, k = b->nodes[y].first_child;
    for (; i >= 0; i = a->nodes[i].next, k = b->nodes[k].next) {
        assert_true(k >= 0);
        compare_nodes(a, i, b, k, found);
    }
    for (; k >= 0; k = b->nodes[k].next) found->added++;
}

static sn_source load(const char *path) {
    sinew_error error;
    sn_source source;
    assert_ok(sn_source_open(&source, path, &error));
    return source;
}

/* Moves a vertex and adds a target on it; everything else must be as it was. */
static int changed_files;
static void change_fbx(const char *path) {
    sinew_error error;
    sinew_rig *rig, *back;
    if (sinew_rig_read(1, &path, &rig, &error) != SINEW_OK) return;
    const char *out = temporary("kept.fbx");
    assert_ok(sinew_rig_write_into(out, path, rig, NULL, NULL, &error));
    sn_source a = load(path), b = load(out);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    sn_source_close(&b);
    const int vertex = 1;
    const double delta[] = {0.5, 0.25, 0};
    double size = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    rig->neutral->positions[3] += 0.25 * size;
    assert_ok(sinew_rig_add_target(rig, "quite new", 1, &vertex, delta, &error));
    sinew_status status = sinew_rig_write_into(out, path, rig, NULL, NULL, &error);
    if (status == SINEW_OK) {
        sn_fbx_tree old, new;
        b = load(out);
        assert_ok(sn_fbx_tree_open(&old, &a, &error));
        assert_ok(sn_fbx_tree_open(&new, &b, &error));
        difference found = {0};
        compare_nodes(&old, 0, &new, 0, &found);
        assert_int_equal(found.changed, 1); /* the positions of one mesh */
        assert_true(found.added >= 4 && found.added <= 6);
        sn_fbx_tree_close(&old), sn_fbx_tree_close(&new);
        sn_source_close(&b);
        assert_ok(sinew_rig_read(1, &out, &back, &error));
        assert_int_equal(back->target_count, rig->target_count);
        for (int i = 0; i < 3 * rig->neutral->vertex_count; i++)
            assert_float_equal(back->neutral->positions[i], rig->neutral->positions[i],
                               1e-9 * size);
        const sinew_target *target = &back->targets[sinew_rig_find_target(back, "quite new")];
        assert_int_equal(target->count, 1);
        for (int c = 0; c < 3; c++) assert_float_equal(target->deltas[c], delta[c], 1e-9);
        sinew_rig_destroy(back);
        changed_files++;
    } else {
        assert_int_equal(status, SINEW_UNAVAILABLE);
    }
    sn_source_close(&a);
    sinew_rig_destroy(rig);
}

static void an_fbx_file_keeps_everything_else(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig = store_original("keep.glb");
    const char *path = temporary("own.fbx");
    assert_ok(sinew_rig_write(path, rig, &error));
    changed_files = 0;
    change_fbx(path);
    assert_int_equal(changed_files, 1);
    /* a target that was there moves differently */
    sinew_rig *back;
    assert_ok(sinew_rig_read(1, &path, &back, &error));
    int up = sinew_rig_find_target(back, "up");
    back->targets[up].deltas[1] += 0.125;
    assert_ok(sinew_rig_write_into(temporary("again.fbx"), path, back, NULL, NULL, &error));
    sinew_rig *again;
    path = temporary("again.fbx");
    assert_ok(sinew_rig_read(1, &path, &again, &error));
    for (int i = 0; i < 3 * back->targets[up].count; i++)
        assert_float_equal(again->targets[up].deltas[i], back->targets[up].deltas[i], 1e-12);
    sinew_rig_destroy(again), sinew_rig_destroy(back), sinew_rig_destroy(rig);
}

static void real_fbx_files_keep_everything_else(void **state) {
    (void)state;
    changed_files = 0;
    if (for_each_data_file("fbx", change_fbx) == 0) skip();
    assert_true(changed_files >= 5);
}

static void contents_tell_what_is_not_used(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig_destroy(store_original("keep.glb"));
    sinew_contents *contents;
    assert_ok(sinew_contents_read(temporary("keep.glb"), NULL, &contents, &error));
    static const struct {
        sinew_contents_kind kind;
        const char *name;
        bool used;
    } expected[] = {{SINEW_CONTENTS_KIND_CLIP, "nod", true},
                    {SINEW_CONTENTS_KIND_EXPRESSION, "happy", true},
                    {SINEW_CONTENTS_KIND_EXPRESSION, "up", true},
                    {SINEW_CONTENTS_KIND_MATERIAL, "skin", false},
                    {SINEW_CONTENTS_KIND_IMAGE, "", false},
                    {SINEW_CONTENTS_KIND_CAMERA, "", false},
                    {SINEW_CONTENTS_KIND_ATTRIBUTE, "TEXCOORD_1", false},
                    {SINEW_CONTENTS_KIND_ATTRIBUTE, "COLOR_0", false},
                    {SINEW_CONTENTS_KIND_EXTENSION, "EXT_unknown", false},
                    {SINEW_CONTENTS_KIND_EXTENSION, "VRMC_vrm", true}};
    int count = sizeof expected / sizeof *expected;
    assert_int_equal(sinew_contents_count(contents), count);
    for (int i = 0; i < count; i++) {
        sinew_contents_item item = {.size = sizeof item};
        assert_ok(sinew_contents_get(contents, i, &item));
        assert_int_equal(item.kind, expected[i].kind);
        assert_string_equal(item.name, expected[i].name);
        assert_int_equal(item.used, expected[i].used);
    }
    double m[9]; /* y up in meters to z up in centimeters: y goes to z, z to -y */
    assert_ok(sinew_contents_matrix(contents, 0.01, 'z', m, &error));
    const double turned[] = {100, 0, 0, 0, 0, -100, 0, 100, 0};
    for (int i = 0; i < 9; i++) assert_float_equal(m[i], turned[i], 1e-9);
    sinew_contents_destroy(contents);
    assert_ok(sinew_contents_read(temporary("none.obj"), NULL, &contents, &error));
    assert_int_equal(sinew_contents_count(contents), 0);
    assert_int_equal(sinew_contents_matrix(contents, 1, 'y', m, &error), SINEW_BAD_INPUT);
    sinew_contents_destroy(contents);
}

int test_keep(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_between_keys_lie_between_them),
        cmocka_unit_test(primitives_may_have_fewer_targets_than_the_first),
        cmocka_unit_test(a_rig_that_did_not_change_gives_the_same_bytes),
        cmocka_unit_test(new_targets_and_positions_leave_everything_else_as_it_was),
        cmocka_unit_test(a_single_refused_allocation_is_survived),
        cmocka_unit_test(animated_weights_follow_their_targets),
        cmocka_unit_test(expressions_are_sliders_and_stay_expressions),
        cmocka_unit_test(bytes_that_something_else_uses_are_not_overwritten),
        cmocka_unit_test(expressions_of_old_avatars_are_sliders_too),
        cmocka_unit_test(a_rig_of_another_file_is_refused),
        cmocka_unit_test(contents_tell_what_is_not_used),
        cmocka_unit_test(an_fbx_file_keeps_everything_else),
        cmocka_unit_test(real_fbx_files_keep_everything_else),
    };
    return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
