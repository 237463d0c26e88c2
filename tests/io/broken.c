/* Documents that are right but for one value: what each message says. */
#include "groups.h"
#include "helpers.h"

#include <jansson.h>

#include "io/format.h"
#include "io/rig_json.h"

static sinew_error error;

/* ---- JSON with one value changed ------------------------------------------------------------- */

/* The value at a path such as "nodes/0/mesh" becomes another; "-" removes it. */
static void change(json_t *root, const char *path, const char *value) {
    char words[200], *word, *rest = words;
    snprintf(words, sizeof words, "%s", path);
    json_t *at = root, *made = strcmp(value, "-") ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    assert_true(made || !strcmp(value, "-"));
    while ((word = strsep(&rest, "/"))) {
        bool list = json_is_array(at);
        size_t index = (size_t)atoi(word);
        if (rest)
            at = list ? json_array_get(at, index) : json_object_get(at, word);
        else if (!made)
            assert_int_equal(list ? json_array_remove(at, index) : json_object_del(at, word), 0);
        else if (list && index == json_array_size(at))
            json_array_append_new(at, made);
        else
            assert_int_equal(list ? json_array_set_new(at, index, made)
                                  : json_object_set_new(at, word, made),
                             0);
    }
}

/* ---- glTF ------------------------------------------------------------------------------------ */

static const char document[] =
    "{\"asset\": {\"version\": \"2.0\"}, \"scene\": 0, \"scenes\": [{\"nodes\": [0]}],"
    " \"nodes\": [{\"mesh\": 0, \"skin\": 0, \"children\": [1]}, {\"name\": \"joint\"}],"
    " \"skins\": [{\"joints\": [1], \"inverseBindMatrices\": 6}],"
    " \"meshes\": [{\"primitives\": [{\"attributes\": {\"POSITION\": 0, \"JOINTS_0\": 4, "
    "\"WEIGHTS_0\": 5},"
    "   \"indices\": 2, \"targets\": [{\"POSITION\": 1}]}], \"extras\": {\"targetNames\": "
    "[\"up\"]}}],"
    " \"accessors\": ["
    "  {\"bufferView\": 0, \"componentType\": 5126, \"type\": \"VEC3\", \"count\": 3},"
    "  {\"bufferView\": 0, \"byteOffset\": 36, \"componentType\": 5126, \"type\": \"VEC3\", "
    "\"count\": 3},"
    "  {\"bufferView\": 0, \"byteOffset\": 72, \"componentType\": 5123, \"type\": \"SCALAR\", "
    "\"count\": 3},"
    "  {\"bufferView\": 0, \"byteOffset\": 80, \"componentType\": 5126, \"type\": \"SCALAR\", "
    "\"count\": 2},"
    "  {\"bufferView\": 0, \"byteOffset\": 88, \"componentType\": 5121, \"type\": \"VEC4\", "
    "\"count\": 3},"
    "  {\"bufferView\": 0, \"byteOffset\": 100, \"componentType\": 5126, \"type\": \"VEC4\", "
    "\"count\": 3},"
    "  {\"bufferView\": 0, \"byteOffset\": 148, \"componentType\": 5126, \"type\": \"MAT4\", "
    "\"count\": 1},"
    "  {\"bufferView\": 0, \"byteOffset\": 212, \"componentType\": 5126, \"type\": \"SCALAR\", "
    "\"count\": 2}],"
    " \"bufferViews\": [{\"buffer\": 0, \"byteLength\": 220}],"
    " \"animations\": [{\"samplers\": [{\"input\": 3, \"output\": 7}], \"channels\": "
    "[{\"sampler\": 0,"
    "   \"target\": {\"node\": 0, \"path\": \"weights\"}}]}],"
    " \"extensions\": {\"VRMC_vrm\": {\"expressions\": {\"preset\": {\"happy\": "
    "{\"morphTargetBinds\":"
    "   [{\"node\": 0, \"index\": 0, \"weight\": 0.5}]}}}}}}";

/* The bytes that the accessors show, as a data address. */
static json_t *gltf_buffer(void) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char bytes[222] = {0};
    const float points[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, up[9] = {0, 0, 0, 0, 0, 0, 0, 0, 1};
    const uint16_t corners[3] = {0, 1, 2};
    const float times[2] = {0, 1}, weights[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    const float matrix[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, values[2] = {0, 1};
    memcpy(bytes, points, 36), memcpy(bytes + 36, up, 36), memcpy(bytes + 72, corners, 6);
    memcpy(bytes + 80, times, 8), memcpy(bytes + 100, weights, 48);
    memcpy(bytes + 148, matrix, 64), memcpy(bytes + 212, values, 8);
    char text[400] = "data:application/octet-stream;base64,";
    size_t n = strlen(text);
    for (int i = 0; i < 222; i += 3) {
        unsigned three = (unsigned)bytes[i] << 16 | (unsigned)bytes[i + 1] << 8 | bytes[i + 2];
        for (int k = 0; k < 4; k++) text[n++] = digits[three >> (18 - 6 * k) & 63];
    }
    text[n] = '\0';
    return json_pack("[{s:i, s:s}]", "byteLength", 220, "uri", text);
}

/* Everything that a document is read for; the first failure. */
static sinew_status read_gltf(json_t *root) {
    char *text = json_dumps(root, 0);
    sn_source source = bytes_source(text, strlen(text), "t.gltf");
    free(text);
    sinew_rig *rig = NULL;
    sinew_curves *curves = NULL;
    sinew_mesh *pose = NULL;
    sinew_frames *frames = NULL;
    sinew_status status = sn_format_glb.read_rig(&source, &rig, &error);
    if (status == SINEW_OK) status = sn_format_glb.read_curves(&source, &curves, &error);
    if (status == SINEW_OK) status = sn_format_glb.read_pose(&source, NULL, 0.5, &pose, &error);
    if (status == SINEW_OK) {
        assert_int_equal(pose->vertex_count, 3);
        assert_close(pose->positions[8], 0.5, 1e-6); /* half of the target */
        status = sn_format_glb.read_frames(&source, &frames, &error);
    }
    sinew_rig_destroy(rig), sinew_curves_destroy(curves), sinew_mesh_destroy(pose);
    sinew_frames_destroy(frames);
    bytes_source_free(&source);
    return status;
}

static void one_wrong_value_in_a_gltf_is_named(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"nodes", "{}", "\"nodes\" is not a list"},
        {"buffers/0/byteLength", "-1", "buffer 0 has a bad length"},
        {"buffers/0/byteLength", "100000", "buffer 0 is cut short"},
        {"buffers/0/uri", "\"data:;base64,????\"", ""},
        {"buffers/0/uri", "\"/etc/passwd\"", "is not in the folder of the file"},
        {"buffers/0/uri", "\"a%20b%zz.bin\"", "a%20b%zz.bin is not in the folder of the file"},
        {"buffers/0/uri", "\"../x.bin\"", "is not in the folder of the file"},
        {"bufferViews/0/buffer", "7", "bufferView 0"},
        {"bufferViews/0/byteOffset", "\"x\"", "bufferView 0 is not valid"},
        {"bufferViews/0/byteLength", "10000", "reaches beyond buffer 0"},
        {"bufferViews/0/byteStride", "5000", "bufferView 0 has a bad stride"},
        {"accessors/0/bufferView", "9", "names a bufferView that does not exist"},
        {"accessors/0/componentType", "1234", ""},
        {"accessors/0/byteOffset", "100000", "has a bad byteOffset"},
        {"accessors/0/type", "\"VEC2\"", "is not 3 numbers per element"},
        {"accessors/0/count", "-3", ""},
        {"accessors/0/count", "1000", ""},
        {"accessors/1/count", "2", "has 2 elements, but 3 are needed"},
        {"accessors/2/componentType", "5122", "are not unsigned integers"},
        {"accessors/2/byteOffset", "100", "index"},
        {"accessors/0/sparse", "{\"count\": 1}", "sparse"},
        {"accessors/0/sparse",
         "{\"count\": 1, \"indices\": {\"bufferView\": 0, \"componentType\": 5126}, \"values\": "
         "{\"bufferView\": 0}}",
         "sparse values that are not valid"},
        {"accessors/0/sparse",
         "{\"count\": 2, \"indices\": {\"bufferView\": 0, \"componentType\": 5121}, \"values\": "
         "{\"bufferView\": 0}}",
         "sparse index 0 is not valid"},
        {"nodes/0/matrix", "[1, 2]", "node 0 has a bad matrix"},
        {"nodes/0/translation", "[1, 2]", "node 0 has a bad translation"},
        {"nodes/0/scale", "[1, 2, \"x\"]", "node 0 has a bad scale"},
        {"nodes/0/rotation", "[0, 0, 0, 0]", "node 0 has a bad rotation"},
        {"nodes/0/children", "[5]", "a node that does not exist is named"},
        {"nodes/0/mesh", "3", ""},
        {"meshes/0/primitives/0/mode", "9", "a primitive has a bad mode"},
        {"meshes/0/primitives/0/attributes/POSITION", "77", ""},
        {"meshes/0/primitives/0/targets/0/POSITION", "77", ""},
        {"skins/0/joints", "[9]", "a skin names a joint that does not exist"},
        {"skins/0/joints", "[1, 0]", "a skin has 2 joints and 1 bind matrices"},
        {"meshes/0/primitives/0/attributes/JOINTS_0", "5", ""},
        {"accessors/4/byteOffset", "102", "names joint 128"},
        {"accessors/4/count", "2", ""},
        {"accessors/5/count", "2", ""},
        {"animations/0/channels/0/sampler", "4", "names a sampler that does not exist"},
        {"accessors/7/count", "1", ""},
        {"accessors/3/count", "1", ""},
        {"accessors/3/byteOffset", "100", ""},
        {"extensions/VRMC_vrm/expressions/preset/happy/morphTargetBinds/0/node", "\"x\"",
         "expression 'happy' has a bad bind"},
        {"extensions/VRMC_vrm/expressions/preset/happy/morphTargetBinds/0/weight", "1000",
         "expression 'happy' has a bad bind"},
    };
    json_t *good = json_loads(document, 0, NULL);
    assert_non_null(good);
    json_object_set_new(good, "buffers", gltf_buffer());
    assert_ok(read_gltf(good));
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *bad = json_deep_copy(good);
        change(bad, cases[i][0], cases[i][1]);
        *error.message = '\0';
        sinew_status status = read_gltf(bad);
        if ((status != SINEW_BAD_INPUT && status != SINEW_IO) ||
            !strstr(error.message, cases[i][2]) || !strstr(error.message, "t.gltf")) {
            print_error("%s = %s: %s, %s\n", cases[i][0], cases[i][1], sinew_status_name(status),
                        error.message);
            wrong++;
        }
        json_decref(bad);
    }
    json_decref(good);
    assert_int_equal(wrong, 0);
}

/* glTF 1 stores as objects what glTF 2 stores as lists. */
static void an_older_gltf_is_named_as_such(void **state) {
    (void)state;
    json_t *old = json_loads(document, 0, NULL);
    change(old, "asset/version", "\"1.0\"");
    json_object_set_new(old, "buffers", json_object());
    assert_int_equal(read_gltf(old), SINEW_BAD_INPUT);
    assert_string_equal(error.message, "t.gltf: is not a glTF 2 file");
    json_decref(old);
}

/* What a document may leave out, or have in another form. */
static void gltf_with_other_forms_is_read(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"meshes/0/primitives/0/mode", "4"},
        {"meshes/0/primitives/0/mode", "5"},
        {"meshes/0/primitives/0/mode", "6"},
        {"nodes/0/matrix", "[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]"},
        {"nodes/1/matrix", "[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]"},
        {"extensions", "-"},
        {"extensions/VRMC_vrm/expressions/preset/happy/morphTargetBinds", "[]"},
        {"extensions/VRMC_vrm/expressions/preset", "{\"up\": {\"morphTargetBinds\": [{\"node\": 0, "
                                                   "\"index\": 0}]}}"},
        {"meshes/0/extras", "-"},
        {"scene", "-"},
        {"animations/0/channels/1", "{\"sampler\": 0, \"target\": {\"path\": \"pointer\"}}"},
        {"skins/0/inverseBindMatrices", "-"},
    };
    json_t *good = json_loads(document, 0, NULL);
    json_object_set_new(good, "buffers", gltf_buffer());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *other = json_deep_copy(good);
        change(other, cases[i][0], cases[i][1]);
        sinew_status status = read_gltf(other);
        if (status != SINEW_OK) fail_msg("%s = %s: %s", cases[i][0], cases[i][1], error.message);
        json_decref(other);
    }
    json_decref(good);
}

/* ---- rig.json -------------------------------------------------------------------------------- */

static const char rig_document[] =
    "{\"format\": \"sinew-rig\", \"version\": 1, \"sliders\": [{\"name\": \"a\"}, {\"name\": "
    "\"b\"}], \"targets\": ["
    " {\"name\": \"a\", \"kind\": \"plain\", \"slider\": \"a\"},"
    " {\"name\": \"b\", \"kind\": \"plain\", \"slider\": \"b\"},"
    " {\"name\": \"half\", \"kind\": \"inbetween\", \"slider\": \"a\", \"at\": 0.5},"
    " {\"name\": \"both\", \"kind\": \"combination\", \"combine\": \"lowest\", \"drivers\": "
    "[\"a\", \"b\"]},"
    " {\"name\": \"curve\", \"kind\": \"combination\", \"combine\": \"polynomial\", \"drivers\": "
    "[\"a\", \"b\"],"
    "  \"terms\": [[0.5, [0, 3], [1, 1]]]},"
    " {\"name\": \"touch\", \"kind\": \"combination\", \"combine\": \"hinge\", \"drivers\": "
    "[\"a\", \"b\"],"
    "  \"terms\": [[0.9, [0, 1]], [0.8, [1, 1]]]}]}";

static sinew_status read_rig_document(json_t *root) {
    const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const int face[] = {0, 1, 2};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(3, points, 1, NULL, face, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    sinew_status status = sn_rig_from_json(root, "rig.json", rig, &error);
    if (status == SINEW_OK) assert_int_equal(rig->target_count, 6);
    sinew_rig_destroy(rig);
    return status;
}

static void one_wrong_value_in_a_rig_is_named(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"sliders/0", "{\"name\": \"a\", \"minimum\": 7, \"maximum\": 1}",
         "slider \"a\" has a minimum above its maximum"},
        {"sliders/0/name", "7", ""},
        {"sliders/1/name", "\"a\"", ""},
        {"targets/0/name", "\"\"", "target 0 has no name"},
        {"targets/1/name", "\"a\"", "two targets are named \"a\""},
        {"targets/0/kind", "\"round\"", "target \"a\" is of an unknown kind"},
        {"targets/0/slider", "\"c\"", "\"c\""},
        {"targets/2/at", "0", "target \"half\" sits at the rest of its slider"},
        {"targets/2/at", "1", "have the same value of slider \"a\""},
        {"targets/3/combine", "\"sum\"", "\"both\""},
        {"targets/3/drivers", "[]", "\"both\""},
        {"targets/3/drivers", "[\"a\", \"z\"]", "\"both\""},
        {"targets/3/drivers", "[\"a\", \"a\"]", "\"both\""},
        {"targets/4/terms", "[]", "polynomial \"curve\" has no terms"},
        {"targets/4/terms", "[[0.5]]", "\"curve\""},
        {"targets/5/terms", "[]", "hinge \"touch\" has no terms"},
        {"targets/5/terms", "[[0.5]]", "hinge \"touch\": term 0 is not"},
        {"targets/5/drivers", "[\"a\", \"a\"]", "\"touch\""},
        {"targets/4/terms", "[[\"x\", [0, 1]]]", "\"curve\""},
        {"targets/4/terms", "[[0.5, [2, 1]]]", "\"curve\""},
        {"targets/4/terms", "[[0.5, [0, 9]]]", "\"curve\""},
        {"targets/4/terms", "[[0.5, [0, 0]]]", "\"curve\""},
        {"targets/4/terms", "[[0.5, [0, 1, 2]]]", "\"curve\""},
        {"targets/4/terms", "[[0.5, [0, 1], [1, 1], [0, 1], [1, 1]]]", "\"curve\""},
    };
    json_t *good = json_loads(rig_document, 0, NULL);
    assert_non_null(good);
    assert_ok(read_rig_document(good));
    int wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *bad = json_deep_copy(good);
        change(bad, cases[i][0], cases[i][1]);
        sinew_status status = read_rig_document(bad);
        if (status != SINEW_BAD_INPUT || !strstr(error.message, cases[i][2])) {
            print_error("%s = %s: %s, %s\n", cases[i][0], cases[i][1], sinew_status_name(status),
                        status ? error.message : "");
            wrong++;
        }
        json_decref(bad);
    }
    json_decref(good);
    assert_int_equal(wrong, 0);
}

/* ---- PLY ------------------------------------------------------------------------------------- */

#define PLY_START "ply\nformat ascii 1.0\n"
#define PLY_XYZ   "property float x\nproperty float y\nproperty float z\n"
#define PLY_FACES "element face 1\nproperty list uchar int vertex_indices\n"

static void one_wrong_line_of_a_ply_is_named(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {PLY_START "element vertex 3\n" PLY_XYZ "property float x\nend_header\n",
         "'x' is duplicated"},
        {PLY_START "element vertex 1\n" PLY_XYZ "element vertex 1\n" PLY_XYZ
                   "end_header\n0 0 0\n0 0 0\n",
         "element 'vertex' is duplicated"},
        {PLY_START
         "element vertex 3\nproperty float x\nproperty float y\nend_header\n0 0\n0 0\n0 0\n",
         "has no vertex element with x, y and z"},
        {PLY_START
         "element vertex 3\nproperty float x\nproperty float z\nend_header\n0 0\n0 0\n0 0\n",
         "has no vertex element with x, y and z"},
        {PLY_START
         "element vertex 3\nproperty float y\nproperty float z\nend_header\n0 0\n0 0\n0 0\n",
         "has no vertex element with x, y and z"},
        {PLY_START "element vertex 1\n" PLY_XYZ "end_header\n0 x 0\n", "is not a number"},
        {PLY_START "element vertex 1\n" PLY_XYZ "end_header\n0 1e999 0\n", "is not finite"},
        {PLY_START "element vertex 1\n" PLY_XYZ "end_header\n0 1\n", "cut short"},
        {PLY_START "element vertex 3\n" PLY_XYZ PLY_FACES
                   "end_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 1.5\n",
         "bad vertex index"},
        {PLY_START "element vertex 3\n" PLY_XYZ PLY_FACES
                   "end_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 -2\n",
         "bad vertex index"},
        {PLY_START "element vertex 3\n" PLY_XYZ PLY_FACES
                   "end_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sn_source source = bytes_source(cases[i][0], strlen(cases[i][0]), "t.ply");
        sinew_mesh *mesh = NULL;
        assert_int_equal(sn_format_ply.read_mesh(&source, &mesh, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, cases[i][1])) fail_msg("case %zu: %s", i, error.message);
        bytes_source_free(&source);
    }
}

int test_broken(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wrong_value_in_a_gltf_is_named),
        cmocka_unit_test(an_older_gltf_is_named_as_such),
        cmocka_unit_test(gltf_with_other_forms_is_read),
        cmocka_unit_test(one_wrong_value_in_a_rig_is_named),
        cmocka_unit_test(one_wrong_line_of_a_ply_is_named),
    };
    return cmocka_run_group_tests_name("broken", tests, NULL, NULL);
}
