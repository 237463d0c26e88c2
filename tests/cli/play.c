/* Takes as pictures: what the camera frames, and what is left out. */
#include "support.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "command.h"
#include "groups.h"

static void prepare(void) {
    fresh_folder();
    expect_code(0, "sinew sample face --vertices 1000 --out face");
}

static void a_take_and_a_rig_are_enough_for_a_picture(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew convert face/markers.csv take.trc");
    const char *takes[] = {"face/markers.csv", "take.trc", "face/clip.csv"};
    for (int i = 0; i < 3; i++) {
        const run_result *r =
            expect_code(0, "sinew play face %s --out p%d.png --size 400x128", takes[i], i);
        assert_non_null(strstr(r->out, "wrote p"));
    }
    /* ten frames at once, and nothing else is left */
    assert_int_equal(files_with(".png"), 3);
    assert_int_equal(files_with(".frames.pc2"), 0);
    expect_refusal(3, "take.xyz|markers",
                   "cp take.trc take.xyz; sinew play face take.xyz --out q.png");
    assert_int_equal(files_with("q.png"), 0);
}

/* The face 4 m to the side on top of a body, behind a veil, and with the axes of a program in which
 * z is up; its markers move along. */
static void build_body(void) {
    expect_code(0,
                "cp -r face body && awk '/^v / {print \"v\", $2 + 4, -$4, $3; n++; next} {print} "
                "END {for (k = 0; k < 8; k++) print \"v\", 4 + (k %% 2 ? .4 : -.4), (int(k / 2) "
                "%% 2 ? .2 : -.2), (k < 4 ? -1.5 : -.3); print \"g body\"; "
                "print \"f\", n+1, n+3, n+4, n+2; print \"f\", n+5, n+6, n+8, n+7; "
                "print \"f\", n+1, n+2, n+6, n+5; print \"f\", n+3, n+7, n+8, n+4; "
                "n += 8; for (k = 0; k < 4; k++) print \"v\", 4 + (k %% 2 ? .05 : -.05), -.3, "
                "(k < 2 ? -.05 : .05); print \"g veil\"; print \"f\", n+1, n+2, n+4, n+3}' "
                "face/neutral.obj > body/neutral.obj && cd body/targets && for f in *.target; do "
                "awk 'NF == 4 && !/^#/ {print $1, $2, -$4, $3; next} {print}' $f > t && mv t $f; "
                "done");
    expect_code(0, "awk -F, -v OFS=, '/^#|^time/ {print; next} {for (i = 2; i < NF; i += 3) "
                   "if ($i != \"\") {y = $(i + 1); $i += 4; $(i + 1) = -$(i + 2); $(i + 2) = y} "
                   "print}' face/markers.csv > body/markers.csv");
}

/* Regions come from targets, which a file that is drawn as a mesh may have, too. */
static void what_is_hidden_is_told_by_the_targets_of_a_file(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew sample face --vertices 1500 --out hide && sinew convert hide hide.glb "
                   "&& sinew render hide.glb --out all.png --size 64x64");
    static const char *const selections[] = {"region:lips", "'target:jawOpen>0.2'"};
    for (int i = 0; i < 2; i++)
        expect_code(0,
                    "sinew render hide.glb --hide %s --out %d.png --size 64x64 && "
                    "! cmp -s all.png %d.png",
                    selections[i], i, i);
}

/* A card in front of a face, as a part that exporters call helper geometry, or that only sounds
 * like it. */
static void helper_geometry_is_left_out_of_pictures(void **state) {
    (void)state;
    const char *view = "--look-at 0,0,0,0.2 --azimuth 0 --no-ground --size 96x96 --out";
    static const struct {
        const char *part;
        bool shown;
    } cards[] = {{"helper-hair", false}, {"Joint-jaw", false}, {"UCX_head_01", false},
                 {"helper-l-eye", true}, {"joints", true},     {"hair", true}};
    prepare();
    const char *add =
        "awk '/^v / {n++} {print} END {for (k = 0; k < 4; k++) print \"v\", (k %% 2 ? "
        ".05 : -.05), (k < 2 ? -.05 : .05), .3; if (!bare) print \"g %s\\nf\", "
        "n+1, n+2, n+4, n+3}' bare=%d face/neutral.obj > %s/neutral.obj";
    expect_code(0, "cp -r face card && cp -r face bare");
    expect_code(0, add, "", 1, "bare"); /* its vertices are there, but no face */
    const run_result *r = expect_code(0, "sinew render bare %s bare.png", view);
    assert_null(strstr(r->out, "left out"));
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        expect_code(0, add, cards[i].part, 0, "card");
        r = expect_code(0, "sinew render card %s card.png --report r.json", view);
        char said[64];
        snprintf(said, sizeof said, "left out part:%s: helper geometry", cards[i].part);
        assert_int_equal(strstr(r->out, said) != NULL, !cards[i].shown);
        json_t *report = read_json("r.json"), *names = json_object_get(report, "helpers");
        assert_int_equal(json_array_size(names), !cards[i].shown);
        json_decref(report);
        assert_int_equal(sh("cmp -s bare.png card.png")->code, cards[i].shown);
        expect_code(0, "sinew render card --hide none %s all.png && ! cmp -s bare.png all.png",
                    view);
        /* other selections do not bring it back */
        expect_code(0, "sinew render card --hide 'v:0' %s other.png && cmp -s card.png other.png",
                    view);
    }
    /* nothing else is there */
    expect_code(0, "printf 'v 0 0 0\\nv 1 0 0\\nv 0 1 0\\ng joint-a\\nf 1 2 3\\n' > a.obj && sinew "
                   "render a.obj --out a.png --size 64x64 && sinew render a.obj --hide none --out "
                   "b.png --size 64x64 && cmp a.png b.png");
    /* a take is shown without it, too, and it is named once */
    expect_code(0, "sed -i 's/^g hair/g helper-hair/' card/neutral.obj");
    r = expect_code(0, "sinew play card face/clip.csv --frames 0-1 --out p.png --size 200x64");
    const char *first = strstr(r->out, "left out");
    assert_non_null(first);
    assert_non_null(strstr(first, "helper geometry"));
    assert_null(strstr(first + 1, "left out"));
    expect_code(0, "sinew play bare face/clip.csv --frames 0-1 --out q.png --size 200x64 && "
                   "cmp p.png q.png");
    r = expect_code(0, "sinew map card face/markers.csv --picture m.png");
    assert_non_null(strstr(r->out, "left out part:helper-hair"));
    expect_code(0, "sinew map bare face/markers.csv --picture n.png && cmp m.png n.png");
}

static void the_camera_shows_the_face_of_a_body(void **state) {
    (void)state;
    prepare();
    build_body();
    const char *takes[] = {"markers.csv", "clip.csv"};
    for (int t = 0; t < 2; t++) {
        expect_code(
            0, "sinew play face face/%s --frames 0-1 --out a.png --size 200x64 --report a.json",
            takes[t]);
        expect_code(
            0, "sinew play body body/%s --frames 0-1 --out b.png --size 200x64 --report b.json",
            takes[t]);
        json_t *reports[] = {read_json("a.json"), read_json("b.json")};
        double x[2][4];
        for (int i = 0; i < 2; i++) {
            json_t *camera = json_object_get(reports[i], "camera");
            assert_int_equal(json_unpack(camera, "{s:[F,F,F], s:F}", "center", &x[i][0], &x[i][1],
                                         &x[i][2], "radius", &x[i][3]),
                             0);
        }
        /* the same sphere, a little larger than the face */
        assert_true(x[0][3] > 0.08 && x[0][3] < 0.2);
        assert_below(fabs(x[1][3] - x[0][3]), 0.01 * x[0][3]);
        assert_below(fabs(x[1][0] - x[0][0] - 4), 0.01 * x[0][3]);
        assert_below(fabs(x[1][1] + x[0][2]), 0.01 * x[0][3]);
        assert_below(fabs(x[1][2] - x[0][1]), 0.01 * x[0][3]);
        /* of the body, the veil is in front of the face; of the face, nothing */
        assert_null(json_object_get(reports[0], "hidden"));
        json_t *hidden = json_object_get(reports[1], "hidden");
        assert_int_equal(json_array_size(hidden), 1);
        assert_string_equal(json_string_value(json_array_get(hidden, 0)), "part:veil");
        json_decref(reports[0]), json_decref(reports[1]);
    }
    expect_code(
        0,
        "sinew play body body/clip.csv --hide part:veil --frames 0-1 --out c.png --size 200x64 && "
        "cmp b.png c.png");
    expect_code(
        0, "sinew play body body/clip.csv --hide none --frames 0-1 --out d.png --size 200x64 && "
           "! cmp -s b.png d.png");
    expect_refusal(3, "part", "sinew play body body/clip.csv --hide part:hat --out e.png");
    /* the same face without the veil */
    expect_code(0,
                "cp -r body bare && sed '/^g veil/,$d' body/neutral.obj > bare/neutral.obj && "
                "for b in body bare; do sinew map $b body/markers.csv --picture map-$b.png; done "
                "&& cmp map-body.png map-bare.png");
}

int test_play(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_take_and_a_rig_are_enough_for_a_picture),
        cmocka_unit_test(what_is_hidden_is_told_by_the_targets_of_a_file),
        cmocka_unit_test(helper_geometry_is_left_out_of_pictures),
        cmocka_unit_test(the_camera_shows_the_face_of_a_body),
    };
    return cmocka_run_group_tests_name("play", tests, NULL, NULL);
}
