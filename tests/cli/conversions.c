/* What goes through convert, and what reaches a model through the command's options. */
#include "support.h"

#include "base/file.h"
#include "base/memory.h"
#include "command.h"
#include "groups.h"
#include "sinew/io.h"

/* A frame cache of the fresh folder. */
static sinew_frames *cache(const char *folder, const char *name) {
    sinew_error error;
    sinew_frames *frames;
    char *path = sn_path_join(folder, name);
    assert_ok(sinew_frames_read(path, &frames, &error));
    sn_free(path);
    return frames;
}

static double largest_difference(const sinew_frames *a, const sinew_frames *b) {
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_int_equal(a->frame_count, b->frame_count);
    double most = 0;
    for (size_t i = 0; i < 3 * (size_t)a->vertex_count * (size_t)a->frame_count; i++)
        most = fmax(most, fabs((double)a->positions[i] - (double)b->positions[i]));
    return most;
}

static void frames_survive_every_format_that_holds_them(void **state) {
    (void)state;
    const char *folder = fresh_folder();
    expect_code(0, "sinew sample bar --out bar --quiet && sinew blend bar --steps 3 --out c.pc2 "
                   "--quiet");
    expect_code(0, "sinew convert c.pc2 --mesh bar/neutral.obj --out c.glb --tolerance 0.001 && "
                   "sinew convert c.glb c2.pc2 && sinew convert c.pc2 c3.mdd && sinew convert "
                   "c3.mdd c4.pc2");
    expect_code(0, "sinew convert c.pc2 s.obj --mesh bar/neutral.obj && sinew convert c.pc2 c.usda "
                   "--mesh bar/neutral.obj && grep -q 'points.timeSamples' c.usda");
    assert_int_equal(files_with("s.000"), 4);
    sinew_frames *one = cache(folder, "c.pc2"), *glb = cache(folder, "c2.pc2"),
                 *mdd = cache(folder, "c4.pc2"), *sequence = cache(folder, "s.obj");
    assert_below(largest_difference(one, glb), 0.0011);
    assert_true(largest_difference(one, mdd) == 0);
    assert_true(largest_difference(one, sequence) == 0);
    sinew_frames_destroy(one), sinew_frames_destroy(glb);
    sinew_frames_destroy(mdd), sinew_frames_destroy(sequence);
    write_text("good.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    expect_refusal(3, "c.pc2: the frames have 1784 points",
                   "sinew convert c.pc2 --mesh good.obj --out x.glb");
}

static void rigs_meshes_and_tables_change_their_format(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --quiet && sinew sample face --vertices 1000 --out "
                   "face --quiet");
    expect_code(0, "sinew convert bar rig.glb --curves bar/clip.csv && sinew convert rig.glb back "
                   "&& sinew convert bar rig.usda --curves bar/clip.csv");
    const run_result *r = expect_code(0, "sinew info back");
    assert_non_null(strstr(r->out, "1784 vertices"));
    assert_non_null(strstr(r->out, "bend120twist1"));
    expect_code(0, "sinew convert bar/neutral.obj lone && sinew info lone | grep -q ' 0 targets'");
    expect_code(0, "sinew convert bar/neutral.obj bar/poses/bend120.obj two.glb && sinew info "
                   "two.glb | grep -q ' 1 targets'");
    r = expect_code(0, "sinew convert bar bar.ply");
    assert_non_null(strstr(r->err, "can store only one mesh"));
    expect_code(0,
                "sinew convert face/markers.csv m.trc && sinew convert m.trc m.csv && sinew info "
                "m.csv | grep -q '60 markers'");
    write_text("n.csv", "from,to\nbend120,bent\nnobody,anybody\n");
    r = expect_code(0, "sinew convert bar/clip.csv k.csv --names n.csv");
    assert_non_null(strstr(r->err, "1 of the names"));
    expect_code(0, "head -1 k.csv | grep -q 'bent,'");
    write_text("t.mesh", "MeshVersionFormatted 1\nDimension 3\nVertices 4\n0 0 0 0\n1 0 0 0\n0 1 0 "
                         "0\n0 0 1 0\nTetrahedra 1\n1 2 3 4 0\nEnd\n");
    expect_code(0, "sinew convert t.mesh t.node && test -s t.ele && sinew convert t.node u.mesh && "
                   "sinew info u.mesh | grep -q '4 vertices, 4 faces'");
}

static void plain_meshes_are_subdivided_as_the_file_shows_them(void **state) {
    (void)state;
    fresh_folder();
    write_text("sheet.fbx", "FBXHeaderExtension: { FBXVersion: 7400 }\nObjects: {\n"
                            "Geometry: 10, \"Geometry::\", \"Mesh\" {\n Smoothness: 3\n"
                            " PreviewDivisionLevels: 2\n BoundaryRule: 1\n"
                            " Vertices: *12 { a: 0,0,0, 1,0,0, 1,1,0, 0,1,0 }\n"
                            " PolygonVertexIndex: *4 { a: 0,1,2,-4 }\n}\n"
                            "Model: 20, \"Model::sheet\", \"Mesh\" { }\n}\n"
                            "Connections: {\nC: \"OO\",10,20\nC: \"OO\",20,0\n}\n");
    const run_result *r = expect_code(0, "sinew convert sheet.fbx shown.obj");
    assert_non_null(strstr(r->out, "--cage writes the control cage"));
    expect_code(0, "test $(grep -c '^v ' shown.obj) = 25");
    r = expect_code(0, "sinew convert sheet.fbx cage.obj --cage");
    assert_null(strstr(r->out, "subdivided"));
    expect_code(0, "test $(grep -c '^v ' cage.obj) = 4");
    expect_code(0, "sinew convert sheet.fbx rig && test $(grep -c '^v ' rig/neutral.obj) = 4");
    r = expect_code(0, "sinew info sheet.fbx");
    assert_non_null(strstr(r->out, "2 levels"));
}

/* The mesh is whole without a shape at weight 0: it is written, and the fault is not passed over in
 * silence. */
static void broken_shapes_that_a_mesh_does_not_need_are_named(void **state) {
    (void)state;
    fresh_folder();
#define BROKEN_SHAPE(index)                                                                        \
    "FBXHeaderExtension: { FBXVersion: 7400 }\nObjects: {\n"                                       \
    "Geometry: 10, \"Geometry::\", \"Mesh\" {\n Vertices: *9 { a: 0,0,0, 1,0,0, 0,1,0 }\n"         \
    " PolygonVertexIndex: *3 { a: 0,1,-3 }\n}\nModel: 20, \"Model::sheet\", \"Mesh\" { }\n"        \
    "Geometry: 11, \"Geometry::smile\", \"Shape\" {\n Indexes: *1 { a: " #index " }\n"             \
    " Vertices: *3 { a: 1,0,0 }\n}\nDeformer: 30, \"Deformer::\", \"BlendShape\" { }\n"            \
    "Deformer: 31, \"SubDeformer::smile\", \"BlendShapeChannel\" {\n DeformPercent: 0\n }\n}\n"    \
    "Connections: {\nC: \"OO\",10,20\nC: \"OO\",20,0\nC: \"OO\",30,10\nC: \"OO\",31,30\n"          \
    "C: \"OO\",11,31\n}\n"
    write_text("whole.fbx", BROKEN_SHAPE(1));
    write_text("broken.fbx", BROKEN_SHAPE(7));
    const run_result *r = expect_code(0, "sinew convert whole.fbx whole.obj");
    assert_null(strstr(r->err, "warning"));
    r = expect_code(0, "sinew convert broken.fbx broken.obj");
    assert_non_null(
        strstr(r->err, "warning: broken.fbx: mesh 'sheet': shape 'smile' moves vertex 7"));
    expect_code(0, "cmp whole.obj broken.obj");
    expect_code(3, "sinew convert broken.fbx rig");
}

static void obstacles_pins_and_pulls_reach_the_spring_model(void **state) {
    (void)state;
    const char *folder = fresh_folder();
    expect_code(0,
                "sinew sample bar --out bar --quiet && sinew blend bar --steps 1 --frames 0 --out "
                "rest.pc2 --quiet");
    expect_code(0, "sinew blend bar --model spring --weights bend120=0.5 --obstacle "
                   "sphere:0.3,0.2,0,0.1 --obstacle plane:0,-1,0,0,1,0 --obstacle "
                   "capsule:0,1,0,1,1,0,0.1 --obstacle cylinder:0,1,0,1,1,0,0.1 --obstacle "
                   "box:0,2,0,0.1,0.1,0.1 --network-out net.csv --network-frames net.pc2 "
                   "--curves-out w.csv --out o.pc2 --quiet; test $? -le 1");
    sinew_frames *held = cache(folder, "o.pc2");
    const double center[3] = {0.3, 0.2, 0};
    for (int v = 0; v < held->vertex_count; v++) {
        const float *x = held->positions + 3 * (size_t)v;
        double d2 = 0;
        for (int c = 0; c < 3; c++) d2 += ((double)x[c] - center[c]) * ((double)x[c] - center[c]);
        assert_true(sqrt(d2) > 0.099);
    }
    sinew_frames_destroy(held);
    expect_code(0, "grep -q 'bend120' w.csv && test -s net.csv && test -s net.pc2");
    expect_code(0,
                "sinew blend bar --model spring --weights bend120=0.5 --pull 900=1,0.2,0.1 --pin "
                "v:0-5@rest.pc2 --out p.pc2 --quiet; test $? -le 1");
    sinew_frames *pulled = cache(folder, "p.pc2"), *rest = cache(folder, "rest.pc2");
    const float *x = pulled->positions + 3 * 900;
    assert_close((double)x[0], 1, 1e-3);
    assert_close((double)x[1], 0.2, 1e-3);
    assert_close((double)x[2], 0.1, 1e-3);
    for (int i = 0; i < 18; i++)
        assert_close((double)pulled->positions[i], (double)rest->positions[i], 1e-4);
    sinew_frames_destroy(pulled), sinew_frames_destroy(rest);
}

static void modal_options_reach_the_model(void **state) {
    (void)state;
    const char *folder = fresh_folder();
    expect_code(0, "sinew sample bar --out bar --quiet");
    expect_code(0,
                "sinew modal bar --poses neutral,bend120 --modes 6 --modes-out modes.csv "
                "--shapes-out shapes.pc2 --orient region:end=0,0,20:0.5 --pin region:start --out "
                "m.pc2 --quiet; test $? -le 1");
    sinew_frames *shapes = cache(folder, "shapes.pc2");
    assert_int_equal(shapes->frame_count, 6);
    sinew_frames_destroy(shapes);
    expect_code(0, "test $(wc -l <modes.csv) -ge 7");
}

static void info_says_what_a_mesh_consists_of(void **state) {
    (void)state;
    fresh_folder();
    write_text("m.obj", "v 1 2 3\nv 5 2 3\nv 5 8 3\nv 1 8 4\nv 0 9 15\nv -2 2.5 3\n"
                        "g low\nf 1 2 3 4\nf 1 4 6\ng high\nf 1 2 3 4 5\n");
    const run_result *r = expect_code(0, "sinew info m.obj");
    static const char *const lines[] = {
        "6 vertices, 3 faces (1 triangles, 1 quads, 1 larger), 6 triangles in all",
        "box -2 2 3 to 5 9 15, diagonal 15.5563", /* the root of 242 */
        "0 texture coordinates, 0 normals, 2 parts", "part low: 2 faces", "part high: 1 faces"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(r->out, lines[i])) fail_msg("'%s' is not in:\n%s", lines[i], r->out);
}

int test_conversions(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_survive_every_format_that_holds_them),
        cmocka_unit_test(rigs_meshes_and_tables_change_their_format),
        cmocka_unit_test(plain_meshes_are_subdivided_as_the_file_shows_them),
        cmocka_unit_test(broken_shapes_that_a_mesh_does_not_need_are_named),
        cmocka_unit_test(obstacles_pins_and_pulls_reach_the_spring_model),
        cmocka_unit_test(modal_options_reach_the_model),
        cmocka_unit_test(info_says_what_a_mesh_consists_of),
    };
    return cmocka_run_group_tests_name("conversions", tests, NULL, NULL);
}
