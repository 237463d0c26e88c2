/* FBX animation: layers, what curves do outside their keys, and skins of old files. */
#include "groups.h"
#include "helpers.h"

#include "io/fbx_read.h"

#define SECOND "46186158000"

/* A triangle whose node a curve of x moves; more objects and connections follow. */
static const char scene[] =
    "FBXHeaderExtension: { FBXVersion: 7400 }\nObjects: {\n"
    "Geometry: 10, \"Geometry::\", \"Mesh\" {\n Vertices: *9 { a: 0,0,0, 1,0,0, 0,1,0 }\n"
    " PolygonVertexIndex: *3 { a: 0,1,-3 }\n}\n"
    "Model: 20, \"Model::m\", \"Mesh\" { Properties70: {\n"
    "P: \"Lcl Translation\",\"\",\"\",\"\",0,7,8\nP: \"Lcl Scaling\",\"\",\"\",\"\",2,1,1\n} }\n"
    "AnimationStack: 30, \"AnimStack::go\", \"\" { }\n"
    "AnimationLayer: 31, \"AnimLayer::base\", \"\" { }\n"
    "%s}\nConnections: {\nC: \"OO\",20,0\nC: \"OO\",10,20\nC: \"OO\",31,30\n%s}\n";

#define CURVE(id, values, flags, data, more)                                                       \
    "AnimationCurve: " #id ", \"AnimCurve::\", \"\" {\n KeyTime: *2 { a: 0," SECOND " }\n"         \
    " KeyValueFloat: *2 { a: " values " }\n KeyAttrFlags: *1 { a: " flags " }\n"                   \
    " KeyAttrDataFloat: *4 { a: " data " }\n KeyAttrRefCount: *1 { a: 2 }\n" more "}\n"
#define NODE(id, more) "AnimationCurveNode: " #id ", \"AnimCurveNode::\", \"\" { " more "}\n"
#define DRIVES(curve, node, layer, property)                                                       \
    "C: \"OP\"," #curve "," #node ",\"d|X\"\nC: \"OO\"," #node "," #layer "\n"                     \
    "C: \"OP\"," #node ",20,\"" property "\"\n"

/* Vertices of the triangle at a time of its first clip. */
static void pose(const char *objects, const char *connections, double time, double positions[9]) {
    char text[6000];
    sinew_error error;
    sinew_mesh *mesh;
    snprintf(text, sizeof text, scene, objects, connections);
    sn_source source = bytes_source(text, strlen(text), "test.fbx");
    assert_ok(sn_fbx_read_pose(&source, NULL, time, &mesh, &error));
    memcpy(positions, mesh->positions, 9 * sizeof *positions);
    sinew_mesh_destroy(mesh);
    bytes_source_free(&source);
}

/* From 0 to 2 in one second, then as the file says. */
static void curves_go_on_outside_their_keys(void **state) {
    (void)state;
    const struct {
        const char *type, *count;
        double at[4]; /* at -0.25, 0.5, 1.25 and 2.25 s */
    } cases[] = {{"C", "-1", {0, 1, 2, 2}},        {"K", "-1", {-0.5, 1, 2.5, 4.5}},
                 {"R", "-1", {1.5, 1, 0.5, 0.5}},  {"M", "-1", {0.5, 1, 1.5, 0.5}},
                 {"A", "-1", {-0.5, 1, 2.5, 4.5}}, {"R", "1", {1.5, 1, 0.5, 2}},
                 {"M", "1", {0.5, 1, 1.5, 0}},     {"A", "1", {-0.5, 1, 2.5, 4}},
                 {"R", "0", {0, 1, 2, 2}},         {"X", "-1", {0, 1, 2, 2}}};
    const double times[] = {-0.25, 0.5, 1.25, 2.25};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char objects[2000];
        snprintf(objects, sizeof objects,
                 CURVE(40, "0,2", "4", "0,0,0,0",
                       " Pre-Extrapolation: { Type: %s\n Repetition: %s }\n"
                       " Post-Extrapolation: { Type: %s\n Repetition: %s }\n") NODE(41, ""),
                 cases[i].type, cases[i].count, cases[i].type, cases[i].count);
        for (int k = 0; k < 4; k++) {
            double positions[9];
            pose(objects, DRIVES(40, 41, 31, "Lcl Translation"), times[k], positions);
            assert_close(positions[0], cases[i].at[k], 1e-12);
        }
    }
}

/* Only x has keys: y has the value of the curve node, z that of the model. */
static void components_without_keys_have_a_value(void **state) {
    (void)state;
    double positions[9];
    pose(CURVE(40, "0,2", "4", "0,0,0,0", "")
             NODE(41, "Properties70: { P: \"d|Y\",\"Number\",\"\",\"A\",-3\n}"),
         DRIVES(40, 41, 31, "Lcl Translation"), 0.5, positions);
    assert_close(positions[0], 1, 1e-12);
    assert_close(positions[1], -3, 1e-12);
    assert_close(positions[2], 8, 1e-12);
}

#define LAYER(weight, mode, mute)                                                                  \
    "AnimationLayer: 32, \"AnimLayer::top\", \"\" { Properties70: {\n"                             \
    "P: \"Weight\",\"Number\",\"\",\"A\"," weight "\nP: \"BlendMode\",\"enum\",\"\",\"\"," mode    \
    "\nP: \"Mute\",\"bool\",\"\",\"\"," mute "\n} }\n"
#define TWO_LAYERS(layer)                                                                          \
    layer CURVE(40, "4,4", "4", "0,0,0,0", "") NODE(41, "") CURVE(42, "6,6", "4", "0,0,0,0", "")   \
        NODE(43, "")

static void layers_act_on_those_below(void **state) {
    (void)state;
    const struct {
        const char *objects;
        double moved, scaled; /* 4 and 6 on two layers: as translations and as scales */
    } cases[] = {{TWO_LAYERS(LAYER("100", "0", "0")), 10, 24},
                 {TWO_LAYERS(LAYER("50", "0", "0")), 7, 14},
                 {TWO_LAYERS(LAYER("100", "1", "0")), 6, 6},
                 {TWO_LAYERS(LAYER("25", "1", "0")), 4.5, 4.5},
                 {TWO_LAYERS(LAYER("100", "0", "1")), 4, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double positions[9];
        pose(cases[i].objects,
             "C: \"OO\",32,30\n" DRIVES(40, 41, 31, "Lcl Translation")
                 DRIVES(42, 43, 32, "Lcl Translation"),
             0.5, positions);
        assert_close(positions[0], cases[i].moved, 1e-12);
        pose(cases[i].objects,
             "C: \"OO\",32,30\n" DRIVES(40, 41, 31, "Lcl Scaling")
                 DRIVES(42, 43, 32, "Lcl Scaling"),
             0.5, positions);
        assert_close(positions[3] - positions[0], cases[i].scaled, 1e-12);
    }
    /* Added to the value that the model has where no lower layer moves it. */
    double positions[9];
    pose(TWO_LAYERS(LAYER("100", "0", "0")), "C: \"OO\",32,30\n" DRIVES(42, 43, 32, "Lcl Scaling"),
         0.5, positions);
    assert_close(positions[3] - positions[0], 12, 1e-12);
}

/* Flat tangents whose handles reach the middle, at a quarter of the time: x(s) = 3/2 s r^2 + 3/2
 * s^2 r + s^3 = 1/4 with r = 1 - s. The two weights are the halves of an integer: 4999 + 65536 *
 * 5000. */
static void tangents_have_weights_in_ascii_files(void **state) {
    (void)state;
    double positions[9], s = 0.25;
    const double w = 4999 / 9999.0, v = 5000 / 9999.0;
    for (int i = 0; i < 50; i++) {
        double r = 1 - s, slope = 3 * w * r * r + 6 * (1 - v - w) * s * r + 3 * v * s * s;
        s -= (3 * w * s * r * r + 3 * (1 - v) * s * s * r + s * s * s - 0.25) / slope;
    }
    pose(CURVE(40, "0,1", "50331656", "0,0,327684999,0", "") NODE(41, ""),
         DRIVES(40, 41, 31, "Lcl Translation"), 0.25, positions);
    assert_close(positions[0], 3 * s * s * (1 - s) + s * s * s, 1e-9);
}

/* 6.x has its keys in one list; the same tangents. */
static void tangents_have_weights_in_takes(void **state) {
    (void)state;
    const char *text = "FBXHeaderExtension: { FBXVersion: 6100 }\nObjects: {\n"
                       "Model: \"Model::m\", \"Mesh\" {\n Vertices: 0,0,0,1,0,0,0,1,0\n"
                       " PolygonVertexIndex: 0,1,-3\n}\n}\n"
                       "Connections: {\nConnect: \"OO\", \"Model::m\", \"Model::Scene\"\n}\n"
                       "Takes: {\nTake: \"go\" {\nModel: \"Model::m\" {\nChannel: \"Transform\" {\n"
                       "Channel: \"T\" {\nChannel: \"X\" {\nKeyCount: 2\n"
                       "Key: 0,0,U,s,0,0,%s," SECOND ",1,U,s,0,0,n\n}\n}\n}\n}\n}\n}\n";
    const struct {
        const char *weights;
        double w, v;
    } cases[] = {{"n", 1.0 / 3, 1.0 / 3},
                 {"a,0.5,0.25", 0.5, 0.25},
                 {"r,0.5", 0.5, 1.0 / 3},
                 {"l,0.25", 1.0 / 3, 0.25}};
    for (int i = 0; i < 4; i++) {
        char file[2000];
        sinew_error error;
        sinew_mesh *mesh;
        snprintf(file, sizeof file, text, cases[i].weights);
        sn_source source = bytes_source(file, strlen(file), "test.fbx");
        assert_ok(sn_fbx_read_pose(&source, "go", 0.25, &mesh, &error));
        double s = mesh->positions[0], low = 0, high = 1; /* find s of this value, then its time */
        for (int k = 0; k < 60; k++) {
            double middle = (low + high) / 2, value = 3 * middle * middle - 2 * pow(middle, 3);
            if (value < s)
                low = middle;
            else
                high = middle;
        }
        double r = 1 - low;
        assert_close(3 * cases[i].w * low * r * r + 3 * (1 - cases[i].v) * low * low * r +
                         low * low * low,
                     0.25, 1e-9);
        sinew_mesh_destroy(mesh);
        bytes_source_free(&source);
    }
}

/* 5.x has clusters inside the mesh's model. */
static void links_of_old_files_are_skins(void **state) {
    (void)state;
    const char *text =
        "FBXHeaderExtension: { FBXVersion: 5000 }\n"
        "Model: \"skin\", \"Mesh\" {\n Vertices: 0,0,0,1,0,0,0,1,0\n PolygonVertexIndex: 0,1,-3\n"
        " Link: \"bone\" {\n  Indexes: 1\n  Weights: 1\n"
        "  Transform: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1\n }\n"
        " Link: \"lost\" {\n  Indexes: 2\n  Weights: 1\n"
        "  Transform: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1\n }\n}\n"
        "Model: \"bone\", \"Limb\" {\n Channel: \"Transform\" {\n Channel: \"T\" {\n"
        "  Channel: \"X\" { Default: 0 }\n  Channel: \"Y\" { Default: 5 }\n"
        "  Channel: \"Z\" { Default: 0 }\n } }\n}\n";
    sinew_error error;
    sinew_mesh *mesh;
    sn_source source = bytes_source(text, strlen(text), "test.fbx");
    assert_ok(sn_fbx_read_mesh(&source, &mesh, &error));
    assert_close(mesh->positions[1], 0, 0);
    assert_close(mesh->positions[4], 5, 0); /* with its bone */
    assert_close(mesh->positions[7], 1, 0); /* its bone is not there */
    sinew_mesh_destroy(mesh);
    bytes_source_free(&source);
}

int test_fbx_motion(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_go_on_outside_their_keys),
        cmocka_unit_test(components_without_keys_have_a_value),
        cmocka_unit_test(layers_act_on_those_below),
        cmocka_unit_test(tangents_have_weights_in_ascii_files),
        cmocka_unit_test(tangents_have_weights_in_takes),
        cmocka_unit_test(links_of_old_files_are_skins),
    };
    return cmocka_run_group_tests_name("fbx motion", tests, NULL, NULL);
}
