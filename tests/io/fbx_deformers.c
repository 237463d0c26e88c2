/* FBX: blend shapes, skins, and the clips that move them. */
#include "fbx_text.h"
#include "groups.h"

#include "base/file.h"
#include "base/memory.h"

static void channels_become_sliders_with_in_betweens(void **state) {
    (void)state;
    sinew_rig *rig = fbx_rig_of(
        FILE_7400(TRIANGLE SHAPE(11, "late", 4) SHAPE(12, "early", 1) SHAPE(13, "wide", 7)
                      MODEL BLEND CHANNEL(31, "zeta", 0, "*2 { a: 100,25 }")
                          CHANNEL(32, "alpha", 0, "*1 { a: 100 }"),
                  WIRES "C: \"OO\",32,30\nC: \"OO\",31,30\n"
                        "C: \"OO\",11,31\nC: \"OO\",12,31\nC: \"OO\",13,32\n"));
    assert_int_equal(rig->slider_count, 2);
    assert_string_equal(rig->sliders[0].name, "alpha"); /* the order of the connections */
    assert_string_equal(rig->sliders[1].name, "zeta");
    const double weights[][2] = {{0, 0.25}, {0, 0.625}, {0, 1}, {1, 0}};
    const double moved[] = {1, 2.5, 4, 7};
    double positions[9];
    sinew_error error;
    sinew_linear *linear;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    for (int i = 0; i < 4; i++) {
        sinew_linear_evaluate(linear, weights[i], positions);
        assert_close(positions[3], 1 + moved[i], 1e-6);
    }
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
}

static void a_mesh_shows_the_weights_of_its_file(void **state) {
    (void)state;
    sinew_mesh *mesh =
        fbx_mesh_of(FILE_7400(TRIANGLE SHAPE(11, "half", 1) SHAPE(12, "full", 4)
                                  MODEL BLEND CHANNEL(31, "z", 75, "*2 { a: 50,100 }"),
                              WIRES "C: \"OO\",31,30\nC: \"OO\",11,31\nC: \"OO\",12,31\n"));
    assert_point(mesh->positions, 1, 1 + 2.5, 0, 0);
    sinew_mesh_destroy(mesh);
}

/* Shapes at -100, 50 and 100 per cent: each acts on its own side of the rest. */
static void shapes_below_the_rest_leave_the_others_alone(void **state) {
    (void)state;
    const struct {
        int percent;
        double moved;
    } cases[] = {{-100, -8}, {-50, -4}, {-150, -12}, {25, 0.5}, {75, 2.5}, {100, 4}, {125, 5.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[3000];
        snprintf(text, sizeof text,
                 FILE_7400(TRIANGLE SHAPE(11, "half", 1) SHAPE(12, "full", 4) SHAPE(13, "back", -8)
                               MODEL BLEND "Deformer: 31, \"SubDeformer::z\", "
                                           "\"BlendShapeChannel\" {\n DeformPercent: %d\n"
                                           " FullWeights: *3 { a: 50,100,-100 }\n}\n",
                           WIRES "C: \"OO\",31,30\nC: \"OO\",11,31\nC: \"OO\",12,31\n"
                                 "C: \"OO\",13,31\n"),
                 cases[i].percent);
        sinew_mesh *mesh = fbx_mesh_of(text);
        assert_point(mesh->positions, 1, 1 + cases[i].moved, 0, 0);
        sinew_mesh_destroy(mesh);
        sinew_rig *rig = fbx_rig_of(text);
        sinew_error error;
        sinew_linear *linear;
        double weight = cases[i].percent / 100.0, positions[9];
        assert_int_equal(rig->slider_count, 1);
        assert_ok(sinew_linear_create(rig, &linear, &error));
        sinew_linear_evaluate(linear, &weight, positions);
        assert_close(positions[3], 1 + cases[i].moved, 1e-6);
        sinew_linear_destroy(linear);
        sinew_rig_destroy(rig);
    }
}

static void channels_of_one_name_move_all_their_meshes(void **state) {
    (void)state;
    sinew_rig *rig = fbx_rig_of(FILE_7400(
        TRIANGLE "Geometry: 50, \"Geometry::\", \"Mesh\" {\n"
                 " Vertices: *9 { a: 0,0,9, 1,0,9, 0,1,9 }\n"
                 " PolygonVertexIndex: *3 { a: 0,1,-3 }\n}\n"
                 "Model: 51, \"Model::lash\", \"Mesh\" { }\n"
                 "Deformer: 52, \"Deformer::\", \"BlendShape\" { }\n" SHAPE(11, "blink", 1)
                     SHAPE(53, "blink", 2) MODEL BLEND CHANNEL(31, "blink", 0, "*1 { a: 100 }")
                         CHANNEL(54, "blink", 0, "*1 { a: 100 }"),
        WIRES "C: \"OO\",31,30\nC: \"OO\",11,31\nC: \"OO\",51,0\nC: \"OO\",50,51\n"
              "C: \"OO\",52,50\nC: \"OO\",54,52\nC: \"OO\",53,54\n"));
    assert_int_equal(rig->slider_count, 1);
    assert_int_equal(rig->targets[0].count, 2);
    assert_int_equal(rig->targets[0].vertices[1], 4);
    assert_int_equal(rig->neutral->part_count, 2);
    assert_string_equal(rig->neutral->part_names[0], "lash");
    sinew_rig_destroy(rig);
}

static void displacements_of_zero_are_left_out(void **state) {
    (void)state;
    sinew_rig *rig = fbx_rig_of(
        FILE_7400(TRIANGLE "Geometry: 11, \"Geometry::a\", \"Shape\" {\n Indexes: *3 { a: 0,1,2 }\n"
                           " Vertices: *9 { a: 1,0,0, 0,0,0, 0,0,2 }\n}\n" MODEL BLEND CHANNEL(
                               31, "a", 0, "*1 { a: 100 }"),
                  WIRES "C: \"OO\",31,30\nC: \"OO\",11,31\n"));
    assert_int_equal(rig->targets[0].count, 2);
    assert_int_equal(rig->targets[0].vertices[1], 2);
    sinew_rig_destroy(rig);
}

/* Blender writes one "full weight" for each vertex of a shape that a group of vertices limits. */
static void weights_of_vertices_are_no_full_weights(void **state) {
    (void)state;
    sinew_rig *rig = fbx_rig_of(FILE_7400(
        TRIANGLE
        "Geometry: 11, \"Geometry::s\", \"Shape\" {\n Indexes: *2 { a: 1,2 }\n"
        " Vertices: *6 { a: 1,0,0, 0,2,0 }\n}\n" MODEL BLEND CHANNEL(31, "z", 0, "*2 { a: 40,0 }"),
        WIRES "C: \"OO\",31,30\nC: \"OO\",11,31\n"));
    assert_int_equal(rig->target_count, 1);
    assert_int_equal(rig->targets[0].kind, SINEW_TARGET_KIND_PLAIN);
    assert_close(rig->targets[0].deltas[0], 1, 0);
    assert_close(rig->targets[0].deltas[4], 2, 0);
    sinew_rig_destroy(rig);
}

static void names_of_every_kind_are_kept(void **state) {
    (void)state;
    sinew_rig *rig = fbx_rig_of(FILE_7400(
        TRIANGLE BLEND MODEL SHAPE(50, "s", 1) SHAPE(51, "s", 2) SHAPE(52, "s", 3)
            CHANNEL(40,
                    "L\xc3\xa4"
                    "cheln:: \xe7\xac\x91",
                    0, "*1 { a: 100 }") CHANNEL(41, "a &quot;b&quot;&lf;&c", 0, "*1 { a: 100 }")
                CHANNEL(42, "", 0, "*1 { a: 100 }") SHAPE(53, "s", 4)
                    CHANNEL(43, "M\xfcnd", 0, "*1 { a: 100 }"),
        WIRES "C: \"OO\",53,43\nC: \"OO\",41,30\nC: \"OO\",40,30\nC: \"OO\",42,30\nC: "
              "\"OO\",43,30\nC: \"OO\",50,40\n"
              "C: \"OO\",51,41\nC: \"OO\",52,42\n"));
    /* in the order of their connections */
    assert_int_equal(rig->target_count, 4);
    assert_string_equal(rig->targets[3].name, "M\xc3\xbcnd"); /* stored as Latin-1 */
    assert_string_equal(rig->targets[0].name, "a \"b\"\n&c");
    assert_string_equal(rig->targets[1].name, "L\xc3\xa4"
                                              "cheln:: \xe7\xac\x91");
    assert_string_equal(rig->targets[2].name, "s"); /* without a name: that of its shape */
    assert_close(rig->targets[0].deltas[0], 2, 0);
    sinew_rig_destroy(rig);
}

/* A mesh needs only the shapes that it shows; a rig needs all of them. */
static void a_broken_shape_counts_where_it_is_needed(void **state) {
    (void)state;
#define BROKEN(percent)                                                                            \
    FILE_7400(TRIANGLE                                                                             \
              "Geometry: 11, \"Geometry::s\", \"Shape\" {\n"                                       \
              " Indexes: *1 { a: 7 }\n Vertices: *3 { a: 1,0,0 }\n}\n" MODEL BLEND CHANNEL(        \
                  31, "c", percent, "*1 { a: 100 }"),                                              \
              WIRES "C: \"OO\",31,30\nC: \"OO\",11,31\n")
    fbx_refuse(BROKEN(0), "moves vertex 7");
    fbx_refuse(BROKEN(75), "moves vertex 7");
    sinew_mesh *mesh = fbx_mesh_of(BROKEN(0));
    assert_point(mesh->positions, 1, 1, 0, 0);
    sinew_mesh_destroy(mesh);
    sinew_error error = {0};
    const char *text = BROKEN(75);
    sn_source source = bytes_source(text, strlen(text), "test.fbx");
    assert_int_equal(sn_fbx_read_mesh(&source, &mesh, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "moves vertex 7"));
    bytes_source_free(&source);
}

/* Keys of the sixth generation follow each other without a mark: 0 and 1 s linear, smooth to 2 s.
 */
static void keys_of_old_files_are_told_apart(void **state) {
    (void)state;
    sinew_error error;
    const char *root = getenv("SINEW_SOURCE");
    char *path = sn_path_join(root ? root : ".", "fuzz/corpus/fbx/ascii_6100"), *bytes;
    size_t size;
    assert_ok(sn_file_read(path, &bytes, &size, &error));
    sn_free(path);
    sn_source source = bytes_source(bytes, size, "test.fbx");
    sinew_curves *curves;
    assert_ok(sn_fbx_read_curves(&source, &curves, &error));
    double weight;
    const double times[] = {0, 0.5, 1, 2}, weights[] = {0, 0.5, 1, 0.5};
    assert_int_equal(curves->channel_count, 1);
    assert_close(curves->times[curves->time_count - 1], 2, 1e-9);
    for (int i = 0; i < 4; i++) {
        sinew_curves_sample(curves, times[i], &weight);
        assert_close(weight, weights[i], 1e-6);
    }
    sinew_curves_destroy(curves);
    bytes_source_free(&source);
    sn_free(bytes);
}

static void skins_carry_vertices_along_a_clip(void **state) {
    (void)state;
    sinew_error error;
    const char *root = getenv("SINEW_SOURCE");
    char *path = sn_path_join(root ? root : ".", "fuzz/corpus/fbx/ascii_7400"), *bytes;
    size_t size;
    assert_ok(sn_file_read(path, &bytes, &size, &error));
    sn_free(path);
    sn_source source = bytes_source(bytes, size, "test.fbx");
    sinew_mesh *mesh;
    /* The bone moves from z = 1 to z = 3 with flat tangents: half-way at half time. Its vertices
     * follow it and not their node, whose scale is 2. */
    assert_ok(sn_fbx_read_pose(&source, "wave", 0.5, &mesh, &error));
    assert_point(mesh->positions, 0, 0, 0, 2);
    assert_point(mesh->positions, 1, 1, 0, 2);
    assert_point(mesh->positions, 2, 2, 1, 0);
    sinew_mesh_destroy(mesh);
    sinew_frames *frames;
    assert_ok(sn_fbx_read_clip(&source, NULL, 0, &frames, &error));
    assert_int_equal(frames->frame_count, 25); /* a second at the file's 24 frames */
    assert_close(frames->positions[2], 1, 1e-6);
    assert_close(frames->positions[24 * 12 + 2], 3, 1e-6);
    sinew_frames_destroy(frames);
    assert_ok(sn_fbx_read_pose(&source, "Wave", 0.5, &mesh, &error)); /* the case may differ */
    assert_point(mesh->positions, 0, 0, 0, 2);
    sinew_mesh_destroy(mesh);
    assert_int_equal(sn_fbx_read_pose(&source, "run", 0, &mesh, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "'wave'"));
    bytes_source_free(&source);
    sn_free(bytes);
}

/* Two bones hold a vertex to equal parts; one is turned by half a turn about z. Linear skinning
 * collapses the vertex onto the axis, dual quaternions turn it by a quarter. */
static void skins_may_ask_for_dual_quaternions(void **state) {
    (void)state;
    const struct {
        const char *type;
        double x, y;
    } cases[] = {{"Linear", 0, 0}, {"DualQuaternion", 0, 1}, {"Blend", 0, 0.25}};
    for (int i = 0; i < 3; i++) {
        char text[3000];
        const char *identity = "1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1";
        snprintf(text, sizeof text,
                 FILE_7400(TRIANGLE MODEL
                           "Model: 60, \"Model::still\", \"LimbNode\" { }\n"
                           "Model: 61, \"Model::turned\", \"LimbNode\" { Properties70: {\n"
                           "P: \"Lcl Rotation\",\"\",\"\",\"\",0,0,179.9999\n} }\n"
                           "Deformer: 70, \"Deformer::\", \"Skin\" { SkinningType: \"%s\"\n"
                           " Indexes: *1 { a: 1 }\n BlendWeights: *1 { a: 0.25 }\n}\n"
                           "Deformer: 71, \"SubDeformer::\", \"Cluster\" {\n"
                           " Indexes: *1 { a: 1 }\n Weights: *1 { a: 0.5 }\n"
                           " Transform: *16 { a: %s }\n}\n"
                           "Deformer: 72, \"SubDeformer::\", \"Cluster\" {\n"
                           " Indexes: *1 { a: 1 }\n Weights: *1 { a: 0.5 }\n"
                           " Transform: *16 { a: %s }\n}\n",
                           "C: \"OO\",20,0\nC: \"OO\",10,20\nC: \"OO\",70,10\n"
                           "C: \"OO\",71,70\nC: \"OO\",72,70\nC: \"OO\",60,71\n"
                           "C: \"OO\",61,72\n"),
                 cases[i].type, identity, identity);
        sinew_mesh *mesh = fbx_mesh_of(text);
        assert_close(mesh->positions[3], cases[i].x, 1e-5);
        assert_close(mesh->positions[4], cases[i].y, 1e-5);
        sinew_mesh_destroy(mesh);
    }
}

/* The root of the scene, number 0, is no object of the file, but vertices may be bound to it. They
 * stay where they were bound, wherever the node of their mesh has gone. */
static void a_skin_may_hold_to_the_root(void **state) {
    (void)state;
    sinew_mesh *mesh = fbx_mesh_of(FILE_7400(
        TRIANGLE MESH_NODE(
            20, "m",
            PROPERTY("Lcl Translation",
                     "0,5,0")) "Deformer: 70, \"Deformer::\", \"Skin\" { }\n"
                               "Deformer: 71, \"SubDeformer::\", \"Cluster\" {\n"
                               " Indexes: *2 { a: 0,1 }\n Weights: *2 { a: 1,0.5 }\n"
                               " Transform: *16 { a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,3,1 }\n}\n",
        "C: \"OO\",20,0\nC: \"OO\",10,20\nC: \"OO\",70,10\nC: \"OO\",71,70\n"
        "C: \"OO\",0,71\n"));
    assert_point(mesh->positions, 0, 0, 0, 3);
    assert_point(mesh->positions, 1, 1, 0, 3);
    assert_point(mesh->positions, 2, 0, 6, 0); /* no bone holds it */
    sinew_mesh_destroy(mesh);
}

int test_fbx_deformers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_become_sliders_with_in_betweens),
        cmocka_unit_test(a_mesh_shows_the_weights_of_its_file),
        cmocka_unit_test(shapes_below_the_rest_leave_the_others_alone),
        cmocka_unit_test(channels_of_one_name_move_all_their_meshes),
        cmocka_unit_test(displacements_of_zero_are_left_out),
        cmocka_unit_test(weights_of_vertices_are_no_full_weights),
        cmocka_unit_test(names_of_every_kind_are_kept),
        cmocka_unit_test(a_broken_shape_counts_where_it_is_needed),
        cmocka_unit_test(keys_of_old_files_are_told_apart),
        cmocka_unit_test(skins_carry_vertices_along_a_clip),
        cmocka_unit_test(skins_may_ask_for_dual_quaternions),
        cmocka_unit_test(a_skin_may_hold_to_the_root),
    };
    return cmocka_run_group_tests_name("fbx deformers", tests, NULL, NULL);
}
