#include "support.h"

#include "command.h"
#include "groups.h"

static const char triangle[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/* Every verb that reads a mesh gives the same refusal. */
static void refused_everywhere(const char *words, const char *file) {
    expect_refusal(3, words, "sinew info %s", file);
    expect_refusal(3, words, "sinew check %s", file);
    expect_refusal(3, words, "sinew convert %s out.ply", file);
    expect_refusal(3, words, "sinew blend %s %s --steps 2 --out out.pc2", file, file);
    expect_refusal(3, words, "sinew blend good.obj %s --steps 2 --out out.pc2", file);
    assert_int_equal(files_with("out"), 0);
}

static void meshes_with_wrong_content_are_named_by_line(void **state) {
    (void)state;
    fresh_folder();
    write_text("good.obj", triangle);
    write_text("index.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n");
    refused_everywhere("index.obj:4|9", "index.obj");
    write_text("zero.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n");
    refused_everywhere("zero.obj:4", "zero.obj");
    write_text("nan.obj", "v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n");
    refused_everywhere("nan.obj:2", "nan.obj");
    write_text("short.obj", "v 0 0 0\nv 1 0\nv 0 1 0\nf 1 2 3\n");
    refused_everywhere("short.obj:2", "short.obj");
    write_text("word.obj", "v 0 0 0\nv 1 0 0\nv 0 one 0\nf 1 2 3\n");
    refused_everywhere("word.obj:3", "word.obj");
}

static void truncated_and_huge_files_are_refused(void **state) {
    (void)state;
    fresh_folder();
    write_text("good.obj", triangle);
    write_text("huge.ply", "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\n"
                           "property float x\nproperty float y\nproperty float z\nend_header\n");
    refused_everywhere("huge.ply", "huge.ply");
    write_text("cut.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\n"
                          "property float y\nproperty float z\nend_header\n0 0 0\n1 0 0\n");
    refused_everywhere("cut.ply", "cut.ply");
    write_text("header.ply", "ply\nformat ascii 1.0\nelement ver");
    refused_everywhere("header.ply", "header.ply");
    expect_code(0, "sinew blend --sample bar --steps 3 --out whole.pc2");
    expect_code(0, "head -c 5000 whole.pc2 >cut.pc2; head -c 20 whole.pc2 >tiny.pc2");
    expect_refusal(3, "cut.pc2", "sinew info cut.pc2");
    expect_refusal(3, "tiny.pc2", "sinew info tiny.pc2");
    write_bytes("claims.pc2",
                "POINTCACHE2\0\1\0\0\0\377\377\377\177\0\0\0\0\0\0\200\77\377\377\377\177", 32);
    expect_refusal(3, "claims.pc2", "sinew info claims.pc2");
    write_text("unknown.xyz", "1 2 3\n");
    expect_refusal(3, "unknown.xyz|xyz", "sinew info unknown.xyz");
    write_text("empty.obj", "");
    expect_code(0, "sinew info good.obj"); /* the good one still is */
}

static void poses_of_different_topology_name_the_first_difference(void **state) {
    (void)state;
    fresh_folder();
    write_text("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n");
    write_text("fewer.obj", triangle);
    write_text("other.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 1\n");
    expect_refusal(3, "fewer.obj|4 vertices|3", "sinew blend a.obj fewer.obj --steps 2");
    expect_refusal(3, "other.obj|face 1", "sinew blend a.obj other.obj --steps 2");
    expect_refusal(1, "problem", "sinew check a.obj other.obj --poses");
}

static void curves_and_scenes_with_mistakes_are_named(void **state) {
    (void)state;
    fresh_folder();
    write_text("word.csv", "time_s,bend120\n0,0\n0.5,much\n");
    expect_refusal(3, "word.csv:3", "sinew blend --sample bar --curves word.csv --out out.pc2");
    write_text("back.csv", "time_s,bend120\n0,0\n1,0.5\n0.5,1\n");
    expect_refusal(3, "back.csv:4", "sinew blend --sample bar --curves back.csv --out out.pc2");
    write_text("other.csv", "time_s,nothing\n0,0\n1,0.5\n");
    expect_code(3, "sinew blend --sample bar --curves other.csv --out out.pc2");
    expect_code(0, "sinew sample bar --out bar --quiet");
    expect_code(0, "sinew blend bar --steps 1 --out two.pc2 --quiet");
    expect_refusal(3, "other.csv: the rig has no slider for any",
                   "sinew measure bar --frames two.pc2 --curves other.csv");
    expect_code(0, "sinew sample blob --out blob --quiet");
    expect_refusal(3, "two.pc2: the frames have 1784 points",
                   "sinew measure blob --frames two.pc2");
    expect_refusal(3, "no region 'thumb'; it has 2: start, end",
                   "sinew blend bar --model spring --weights twist1=1 --pin region:thumb");
    write_text("s.json", "{\"sinew\": 1, \"rig\": {\"sampel\": \"bar\"}}");
    expect_refusal(3, "s.json: /rig/sampel: unknown key; did you mean 'sample'?",
                   "sinew run s.json");
    write_text("cut.json", "{\"sinew\": 1, ");
    expect_refusal(3, "cut.json:1", "sinew run cut.json");
    expect_refusal(3, "no slider 'smile'", "sinew blend --sample bar --weights smile=1");
    expect_refusal(3, "frames 1-9: the clip has frames 0-2",
                   "sinew blend --sample bar --steps 2 --frames 1-9 --out out.pc2");
    expect_refusal(3, "nothing", "sinew blend --sample nothing --steps 2");
    assert_int_equal(files_with("out"), 0);
}

/* What each verb that reads slider curves makes of one file: the same weights, the same warning, or
 * the same refusal. */
static const char *const curve_verbs[] = {
    "blend bar --fps 1 --curves %s --curves-out out.csv --out out.pc2",
    "blend bar --model spring --fps 1 --curves %s --curves-out out.csv --out out.pc2",
    "lock bar --lock hold:region:start --curves %s --out out.csv",
    "convert bar out.glb --curves %s",
    "convert bar out.glb --compact --tolerance 0.0001 --curves %s",
    "bake bar --curves %s --out out.glb",
    "measure bar --frames two.pc2 --curves %s",
};

static const run_result *read_curves(size_t verb, const char *file) {
    char line[300];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(line, sizeof line, curve_verbs[verb], file);
#pragma GCC diagnostic pop
    return sh("rm -f out.*; sinew %s", line);
}

static void curves_have_one_outcome_in_every_verb(void **state) {
    (void)state;
    enum { VERBS = sizeof curve_verbs / sizeof *curve_verbs };
    static const char exact[] = "time_s,bend120\n0,0.25\n1,1\n";
    static const struct {
        const char *text, *words;
    } refused[] = {
        {"time_s,bend120,bend120\n0,0,0\n1,1,0\n", "c.csv:1: two columns are named 'bend120'"},
        {"time_s,bend120,Bend_120\n0,0,0\n1,1,0\n",
         "curves 'bend120' and 'Bend_120' both drive slider 'bend120'"},
        {"time_s,nose\n0,0\n1,1\n", "no slider for any of the curves, such as 'nose'"},
        {"time_s,bend120\n0,0\n1,1\n0.5,1\n", "c.csv:4: time 0.5 does not come after 1"},
        {"time_s,bend120\n0,0\n1,nan\n", "c.csv:3: a weight is not finite"},
        {"time_s,bend120\n0,0\n1,1,1\n", "c.csv:3: has more cells"},
        {"time_s,bend120\n", "c.csv: has no rows"},
    };
    fresh_folder();
    expect_code(0, "sinew sample bar --vertices 1000 --out bar --quiet");
    expect_code(0, "sinew blend bar --steps 1 --out two.pc2 --quiet");
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        write_text("c.csv", refused[k].text);
        for (size_t v = 0; v < VERBS; v++) {
            const run_result *r = read_curves(v, "c.csv");
            if (r->code != 3 || !strstr(r->err, refused[k].words))
                fail_msg("%s: exit %d, %s", curve_verbs[v], r->code, r->err);
            assert_int_equal(files_with("out."), 0);
        }
    }
    /* Another spelling of the slider, beside a curve that drives nothing. */
    write_text("exact.csv", exact);
    write_text("c.csv", "time_s,Bend_120,nose\n0,0.25,9\n1,1,9\n");
    char measured[sizeof((run_result *)NULL)->out];
    const char *rows = "time_s,bend120,bend180,bend270,twist1,twist3,bend120twist1\n"
                       "0,0.25,0,0,0,0,0\n1,1,0,0,0,0,0\n";
    for (size_t v = 0; v < VERBS; v++) {
        const run_result *r = read_curves(v, "exact.csv");
        assert_int_equal(r->code, 0);
        memcpy(measured, r->out, sizeof measured);
        r = read_curves(v, "c.csv");
        assert_int_equal(r->code, 0);
        if (!strstr(r->err, "curve 'nose' drives no slider of the rig"))
            fail_msg("%s: %s", curve_verbs[v], r->err);
        if (v + 1 == VERBS) assert_string_equal(r->out, measured);
        if (v == 3 || v == 4) expect_code(0, "sinew convert out.glb out.csv --quiet");
        if (files_with("out.csv")) assert_string_equal(expect_code(0, "cat out.csv")->out, rows);
    }
}

static void missing_files_and_unwritable_places_are_exit_4(void **state) {
    (void)state;
    fresh_folder();
    expect_refusal(4, "none.obj", "sinew info none.obj");
    expect_refusal(4, "none.json", "sinew run none.json");
    expect_refusal(4, "/nowhere/x.pc2", "sinew blend --sample bar --steps 2 --out /nowhere/x.pc2");
    expect_refusal(4, "/nowhere/r.json",
                   "sinew blend --sample bar --steps 2 --out a.pc2 --quiet --report "
                   "/nowhere/r.json");
    write_text("good.obj", triangle);
    expect_refusal(4, "folder.ply", "mkdir folder.ply; sinew convert good.obj folder.ply");
    /* A disk that is full leaves no partial file. */
    expect_code(4, "ulimit -f 8; trap '' XFSZ; sinew blend --sample bar --steps 30 --out big.pc2");
    assert_int_equal(files_with("big"), 0);
    assert_int_equal(files_with(".part"), 0);
}

static void a_slider_given_twice_is_named(void **state) {
    (void)state;
    fresh_folder();
    const char *verbs[] = {"blend --sample arm --weights elbow90=1,elbow90=0.5 --out a.pc2",
                           "lock --sample arm --lock c:v:1 --edit elbow90=1,Elbow90=0"};
    expect_refusal(2, "elbow90|twice", "sinew %s", verbs[0]);
    expect_refusal(3, "elbow90|twice", "sinew %s", verbs[1]);
    expect_refusal(3, "elbow90|twice",
                   "sinew blend --sample arm --weights elbow90=1,Elbow90=0.5 --out a.pc2");
    assert_int_equal(files_with("a.pc2"), 0);
}

static void a_transfer_between_faces_that_differ_names_both(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar && sinew sample arm --out arm");
    expect_refusal(3, "bar to arm/neutral.obj|pairs",
                   "sinew transfer bar --to arm/neutral.obj --out carried");
    assert_int_equal(files_with("carried"), 0);
}

static void names_in_files_cannot_speak_to_the_terminal(void **state) {
    (void)state;
    fresh_folder();
    write_text("g.obj", "o \x1b[2J\xff"
                        "evil\nv 0 0 0\nv 1 0 0\nv 0 1 0\ng \x1b]0;title\x07\nf 1 2 3\n");
    expect_code(
        0, "sinew sample bar --out bar --quiet && sed -i 's/bend120/be\\\\u001b[31mnd\\\\nsinew: "
           "fine/g' bar/rig.json && mv bar/targets/bend120.target bar/targets/x.target");
    static const char *const commands[] = {
        "info g.obj", "check g.obj",         "info bar",
        "check bar",  "blend bar --steps 1", "blend bar --weights bend=1",
        "run s.json", "run t.json",          "interference bar"};
    write_text("s.json", "{\"sinew\": 1, \"\\u001b[2Jk\\nsinew: forged\": 2}");
    write_text("t.json", "{\"sinew\": 1, \"rig\": {\"sample\": \"\\u001b[1mx\\ny\"}}");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const run_result *r = sh("sinew %s", commands[i]);
        assert_true(r->code <= 4);
        for (const char *c = r->out; *c; c++)
            if ((unsigned char)*c < 32 && *c != '\n') fail_msg("%s prints %d", commands[i], *c);
        for (const char *c = r->err; *c; c++)
            if ((unsigned char)*c < 32 && *c != '\n') fail_msg("%s prints %d", commands[i], *c);
        if (strstr(r->err, "\nsinew: ") || strstr(r->out, "\nsinew: "))
            fail_msg("%s: a forged line\n%s", commands[i], r->err);
    }
}

int test_bad_input(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_with_wrong_content_are_named_by_line),
        cmocka_unit_test(truncated_and_huge_files_are_refused),
        cmocka_unit_test(poses_of_different_topology_name_the_first_difference),
        cmocka_unit_test(curves_and_scenes_with_mistakes_are_named),
        cmocka_unit_test(curves_have_one_outcome_in_every_verb),
        cmocka_unit_test(missing_files_and_unwritable_places_are_exit_4),
        cmocka_unit_test(names_in_files_cannot_speak_to_the_terminal),
        cmocka_unit_test(a_slider_given_twice_is_named),
        cmocka_unit_test(a_transfer_between_faces_that_differ_names_both),
    };
    return cmocka_run_group_tests_name("bad_input", tests, NULL, NULL);
}
