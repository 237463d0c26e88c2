/* What the options of verbs come to: each becomes a value of the scene that --scene-out saves. */
#include "support.h"

#include <jansson.h>
#include <stdbool.h>

#include "command.h"
#include "groups.h"

typedef struct expected {
    const char *place; /* members and indices, separated by blanks */
    const char *json;
} expected;

static json_t *value_at(json_t *value, const char *place) {
    char words[200], *rest = words;
    snprintf(words, sizeof words, "%s", place);
    for (char *word = strtok_r(rest, " ", &rest); word && value; word = strtok_r(NULL, " ", &rest))
        value = json_is_array(value) ? json_array_get(value, (size_t)strtol(word, NULL, 10))
                                     : json_object_get(value, word);
    return value;
}

/* Runs `command` with --scene-out and compares the scene. */
static void check_scene(const char *command, const expected *table) {
    const run_result *r = sh("%s --scene-out scene.json --quiet", command);
    if (r->code > 1) fail_msg("%s: exit %d, %s", command, r->code, r->err);
    r = sh("cat scene.json");
    json_t *scene = json_loads(r->out, 0, NULL);
    assert_non_null(scene);
    for (; table->place; table++) {
        json_t *found = value_at(scene, table->place);
        json_t *wanted = json_loads(table->json, JSON_DECODE_ANY, NULL);
        char *text = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        bool same = json_is_number(found) && json_is_number(wanted)
                        ? json_number_value(found) == json_number_value(wanted)
                        : json_equal(found, wanted);
        if (!same)
            fail_msg("%s: %s is %s, not %s", command, table->place, text ? text : "absent",
                     table->json);
        free(text);
        json_decref(wanted);
    }
    json_decref(scene);
    sh("rm scene.json");
}

static void make_rigs(void) {
    fresh_folder();
    expect_code(0, "sinew sample bar --vertices 1000 --out bar --quiet && sinew sample face "
                   "--vertices 1000 --out face --quiet");
    write_text("map.csv", "vertex,value\n0,0.5\n");
}

static void options_of_blend_reach_the_scene(void **state) {
    (void)state;
    make_rigs();
    check_scene("sinew blend bar --model spring --weights bend120=0.1 --tie 0.02 --friction 0.2 "
                "--self-contact --allow-pose-depth --interior none --altitude 0.5 --guide 0.2 "
                "--pull-to-blend 0.1 --tolerance 1e-3 --independent --solver newton --device cpu "
                "--obstacle sphere:0,9,0,0.1 --pin region:start --pull 90=1,0.2,0.1:0.01 --fps 24",
                (const expected[]){{"parameters tie", "0.02"},
                                   {"parameters friction", "0.2"},
                                   {"parameters self_contact", "true"},
                                   {"parameters pose_depth", "\"all\""},
                                   {"parameters interior", "\"none\""},
                                   {"parameters altitude", "0.5"},
                                   {"parameters guide", "0.2"},
                                   {"parameters pull_to_blend", "0.1"},
                                   {"parameters tolerance", "1e-3"},
                                   {"parameters independent", "true"},
                                   {"obstacles 0 shape", "\"sphere\""},
                                   {"obstacles 0 center 1", "9"},
                                   {"pins 0 select", "\"region:start\""},
                                   {"pulls 0 vertex", "90"},
                                   {"pulls 0 stiffness", "0.01"},
                                   {"time fps", "24"},
                                   {NULL, NULL}});
    check_scene("sinew blend bar --model spring --weights bend120=0.1 --no-pose-depth --volume 0.5 "
                "--interior tets --boundary anchor --anchor "
                "0.2,-0.02,0,0.8,-0.02,0,0.8,0.02,0,0.2,0.02,0 --tolerance "
                "1e-2",
                (const expected[]){{"parameters pose_depth", "\"none\""},
                                   {"parameters volume", "0.5"},
                                   {"parameters interior", "\"tets\""},
                                   {"parameters boundary", "\"anchor\""},
                                   {"parameters anchor 3", "0.8"},
                                   {NULL, NULL}});
}

static void options_of_modal_reach_the_scene(void **state) {
    (void)state;
    make_rigs();
    check_scene(
        "sinew modal bar --poses neutral,bend120 --times 0,2 --swings 2 --damping 0.3 "
        "--rest-offset 0.5 --ease --fit published --modes 6 --gamma 0.5,1 --kappa 0.1 --amplitude "
        "1,0.5 --pin region:start --pin-stiffness 3 --orient region:end=0,0,30:0.5 --stiffness 2 "
        "--stiffness-map map.csv --body cage --cells 8 --fast --until 3 --modes-out modes.csv "
        "--shapes-out shapes.pc2",
        (const expected[]){{"keys 1 time", "2"},
                           {"time to", "3"},
                           {"pins 0 stiffness", "3"},
                           {"orientations 0 turn", "[0.0, 0.0, 30.0]"},
                           {"orientations 0 weight", "0.5"},
                           {"parameters swings", "2"},
                           {"parameters damping", "0.3"},
                           {"parameters rest_offset", "0.5"},
                           {"parameters ease", "true"},
                           {"parameters fit", "\"published\""},
                           {"parameters gamma", "[0.5, 1.0]"},
                           {"parameters kappa", "[0.1]"},
                           {"parameters amplitude", "[1.0, 0.5]"},
                           {"parameters stiffness", "2"},
                           {"parameters stiffness_map", "\"map.csv\""},
                           {"parameters body", "\"cage\""},
                           {"parameters cells", "8"},
                           {"parameters fast", "true"},
                           {"outputs modes", "\"modes.csv\""},
                           {"outputs shapes", "\"shapes.pc2\""},
                           {NULL, NULL}});
    const run_result *r = expect_code(0, "wc -l < modes.csv");
    assert_true(strtol(r->out, NULL, 10) == 7); /* a header and the modes */
    assert_int_equal(files_with("shapes.pc2"), 1);
    check_scene("sinew modal bar --poses neutral,bend120,neutral --frequency 3 --rest next "
                "--velocity 1:bend120=2 --body shell --thickness 0.02 --modes 4 --wiggly",
                (const expected[]){{"parameters frequency", "3"},
                                   {"parameters rest", "\"next\""},
                                   {"keys 1 velocity", "{\"bend120\": 2.0}"},
                                   {"parameters body", "\"shell\""},
                                   {"parameters thickness", "0.02"},
                                   {"parameters wiggly", "true"},
                                   {NULL, NULL}});
}

static void options_of_fit_and_force_reach_the_scene(void **state) {
    (void)state;
    make_rigs();
    check_scene("sinew fit face --markers face/markers.csv --map face/markers_map.csv --cutoff 10 "
                "--layer --layer-contact off --only 'jaw*' --l2 0.1 --smooth 0.2 --symmetry 0.1 "
                "--bounds wide --frames 0-1",
                (const expected[]){{"parameters cutoff", "10"},
                                   {"parameters layer", "true"},
                                   {"parameters layer_contact", "\"off\""},
                                   {"parameters only", "\"jaw*\""},
                                   {"parameters l2", "0.1"},
                                   {"parameters smooth", "0.2"},
                                   {"parameters symmetry", "0.1"},
                                   {"parameters bounds", "\"wide\""},
                                   {NULL, NULL}});
    check_scene("sinew force face --curves face/clip.csv --flesh --flesh-frequency 5 "
                "--flesh-damping 0.3 --flesh-length 0.02 --softness map.csv --velocity-kept 0.5 "
                "--stretch-length 0.01 --bend-length 0.02 --overstretch 0.2 --stretch-map map.csv "
                "--bend-map map.csv --mass-map map.csv --substeps 2 --relinearisations 2 "
                "--mass-time 0.1 --fixed v:0 --frames 0-1",
                (const expected[]){{"parameters flesh", "true"},
                                   {"parameters flesh_frequency", "5"},
                                   {"parameters flesh_damping", "0.3"},
                                   {"parameters flesh_length", "0.02"},
                                   {"parameters softness", "\"map.csv\""},
                                   {"parameters velocity_kept", "0.5"},
                                   {"parameters stretch_length", "0.01"},
                                   {"parameters bend_length", "0.02"},
                                   {"parameters overstretch", "0.2"},
                                   {"parameters stretch_map", "\"map.csv\""},
                                   {"parameters substeps", "2"},
                                   {"parameters relinearisations", "2"},
                                   {"parameters mass_time", "0.1"},
                                   {NULL, NULL}});
    check_scene("sinew force face --markers face/markers.csv --map face/markers_map.csv --ridge "
                "0.1 --smooth 0.3 --also 'tongue*' --without 'jaw*' --cutoff 5 --layer "
                "--layer-contact on --frames 0-1",
                (const expected[]){{"parameters ridge", "0.1"},
                                   {"parameters smooth", "0.3"},
                                   {"parameters also", "\"tongue*\""},
                                   {"parameters without", "\"jaw*\""},
                                   {"parameters cutoff", "5"},
                                   {"parameters layer_contact", "\"on\""},
                                   {NULL, NULL}});
}

static void takes_are_not_rigs_and_sliders_left_out_are_told(void **state) {
    (void)state;
    make_rigs();
    static const char *const verbs[] = {"fit face face/markers.csv --frames 0-1",
                                        "force face face/markers.csv --out x.pc2"};
    for (int i = 0; i < 2; i++)
        assert_non_null(strstr(expect_code(2, "sinew %s", verbs[i])->err,
                               "not a rig; pass a take as --markers face/markers.csv"));
    const run_result *r = expect_code(0, "sinew fit face --markers face/markers.csv --map "
                                         "face/markers_map.csv --frames 0-1 --out w.csv "
                                         "--only 'jaw*'");
    assert_non_null(strstr(r->out, "sliders are kept at rest, as --only or --without asks"));
    assert_null(strstr(r->out, "do not observe"));
    r = expect_code(0, "sinew fit face --markers face/markers.csv --map face/markers_map.csv "
                       "--frames 0-1 --out w.csv");
    assert_null(strstr(r->out, "kept at rest"));
}

/* Contact, flesh, paths and takes: options that few jobs use. Each must also solve. */
static void rare_options_of_models_reach_the_scene(void **state) {
    (void)state;
    make_rigs();
    write_text("path.csv", "time_s,guide.x,guide.y,guide.z\n0,0,0,0\n0.5,0,0.2,0\n1,0,0,0\n");
    check_scene("sinew modal bar --poses neutral,bend120 --modes 4 --hold region:start --path "
                "path.csv --frames 3-4 --until 2 --published --out m.pc2",
                (const expected[]){{"time to", "2"},
                                   {"parameters hold", "\"region:start\""},
                                   {"parameters path", "\"path.csv\""},
                                   {"parameters published", "true"},
                                   {NULL, NULL}});
    check_scene("sinew force face --curves face/clip.csv --frames 0-1 --contact lips --contact-gap "
                "0.001 --stick 0.01 --flesh --gravity 2 --position 3 --skull part:teethUpper "
                "--obstacle sphere:0,0,0.5,0.35 --out f.pc2",
                (const expected[]){{"obstacles 0 shape", "\"sphere\""},
                                   {"obstacles 0 radius", "0.35"},
                                   {"parameters contact_gap", "0.001"},
                                   {"parameters stick", "0.01"},
                                   {"parameters gravity", "2"},
                                   {"parameters position", "3"},
                                   {"parameters skull", "\"part:teethUpper\""},
                                   {NULL, NULL}});
    check_scene("sinew force face --markers face/markers.csv --map face/markers_map.csv --frames "
                "0-1 --marker-unit cm --unit cm --neutral-frame 0 --only 'jaw*' --outlier 0.03 "
                "--published --lower -0.1 --upper 2 --out g.pc2",
                (const expected[]){{"rig unit", "\"cm\""},
                                   {"markers unit", "\"cm\""},
                                   {"parameters neutral_frame", "0"},
                                   {"parameters only", "\"jaw*\""},
                                   {"parameters outlier", "0.03"},
                                   {"parameters published", "true"},
                                   {NULL, NULL}});
    check_scene("sinew fit face --markers face/markers.csv --map face/markers_map.csv --frames 0-1 "
                "--retarget --neutral-frame 0 --outlier 0.03 --also 'eyeLook*' --without 'jaw*' "
                "--method uls --layer --layer-smoothing 1e-5 --truth g.pc2 --error-plot e.png "
                "--out h.pc2",
                (const expected[]){{"markers truth", "\"g.pc2\""},
                                   {"outputs error_plot", "\"e.png\""},
                                   {"parameters retarget", "true"},
                                   {"parameters also", "\"eyeLook*\""},
                                   {"parameters without", "\"jaw*\""},
                                   {"parameters method", "\"uls\""},
                                   {"parameters layer_smoothing", "1e-5"},
                                   {NULL, NULL}});
    assert_int_equal(files_with("e.png"), 1);
    check_scene("sinew play face face/clip.csv --fps 5 --frames 0-3 --views 0,90,180 --size "
                "300x100 --out p.png",
                (const expected[]){{"time fps", "5"},
                                   {"model", "\"linear\""},
                                   {"parameters self_contact", "true"},
                                   {NULL, NULL}});
    assert_int_equal(files_with("p.png"), 1); /* the frames that it was drawn from are gone */
    check_scene("sinew play face face/clip.csv --frames 0 --contact off --size 300x100 --out q.png",
                (const expected[]){{"parameters self_contact", "false"}, {NULL, NULL}});
    check_scene("sinew play face face/markers.csv --frames 0 --contact off --size 300x100 --out "
                "r.png",
                (const expected[]){{"parameters layer", "true"},
                                   {"parameters layer_contact", "\"off\""},
                                   {NULL, NULL}});
}

static void playing_a_take_prints_its_warnings(void **state) {
    (void)state;
    make_rigs();
    write_text("take.csv", "time_s,jawOpen,tail\n0,0,0\n1,0.5,1\n");
    const run_result *r = sh("sinew play face take.csv --fps 1 --size 300x100 --out p.png");
    assert_int_equal(r->code, 0);
    assert_non_null(strstr(r->err, "warning: curve 'tail' drives no slider"));
    assert_string_equal(r->out, "wrote p.png\n"); /* not those of the frames it was drawn from */
}

/* The path takes the whole body along. */
static void a_path_moves_the_body_between_the_keys(void **state) {
    (void)state;
    make_rigs();
    write_text("path.csv", "time_s,guide.x,guide.y,guide.z\n0,0,0,0\n0.5,0,7,0\n1,0,0,0\n");
    expect_code(0, "sinew modal bar --poses neutral,bend120 --modes 4 --fps 2 --quiet --out "
                   "a.pc2 && sinew modal bar --poses neutral,bend120 --modes 4 --fps 2 --quiet "
                   "--path path.csv --out b.pc2");
    expect_code(0, "python3 - <<'E'\n"
                   "import struct\n"
                   "def frames(name):\n"
                   "    data = open(name, 'rb').read()\n"
                   "    n, = struct.unpack('<i', data[16:20])\n"
                   "    k, = struct.unpack('<i', data[28:32])\n"
                   "    x = struct.unpack('<%%df' %% (3 * n * k), data[32:])\n"
                   "    return [sum(x[3 * n * f + 1:3 * n * (f + 1):3]) / n for f in range(k)]\n"
                   "a, b = frames('a.pc2'), frames('b.pc2')\n"
                   "assert len(a) == len(b) == 3\n"
                   "assert all(abs(y - x - h) < 1e-4 for x, y, h in zip(a, b, (0, 7, 0))), (a, b)\n"
                   "E\n");
}

static void options_of_bake_and_map_have_an_effect(void **state) {
    (void)state;
    make_rigs();
    expect_code(0, "sinew bake bar --max-targets 2 --samples 60 --tolerance 0.01 --style "
                   "inbetweens --curves bar/clip.csv --unseen bar/clip.csv --clip-out clip.glb "
                   "--out baked.glb --drivers d.json --report r.json --quiet && sinew info "
                   "clip.glb && sinew info baked.glb");
    expect_code(0, "sinew bake bar --model spring --max-targets 1 --samples 12 --obstacle "
                   "sphere:9,9,9,1 --out sprung.glb --device auto --quiet");
    expect_code(0, "sinew map face face/markers.csv --neutral-frame 0 --map-out m.csv --quiet && "
                   "sinew map face face/markers.csv --map m.csv --picture m.png --quiet && "
                   "test -s m.png");
    expect_code(0, "sinew transfer bar --to bar/neutral.obj --pull 0.1 --out same.glb --quiet && "
                   "sinew info same.glb");
    const run_result *r = expect_code(0, "sinew help --schema | python3 -c \"import json, sys; "
                                         "print(json.load(sys.stdin)['title'])\"");
    assert_true(strlen(r->out) > 1);
}

static void bakes_say_what_they_added(void **state) {
    (void)state;
    fresh_folder();
    const run_result *r = expect_code(0, "sinew bake --sample hand --vertices 1000 --samples 60 "
                                         "--max-targets 3 --out a.glb");
    assert_non_null(strstr(r->out, "added 3 correctives, from 60 samples"));
    assert_non_null(strstr(r->out, "the mean error drops from"));
    assert_null(strstr(r->err, "warning"));
    r = expect_code(0, "sinew bake --sample hand --vertices 1000 --samples 60 --max-targets 1 "
                       "--style inbetweens --out a.glb");
    assert_non_null(strstr(r->out, "added 1 in-between, from 60 samples"));
}

/* With too few samples for what the sliders do. */
static void bakes_that_make_it_worse_say_so(void **state) {
    (void)state;
    fresh_folder();
    const run_result *r = expect_code(0, "sinew bake --sample bar --vertices 1000 --samples 20 "
                                         "--max-targets 3 --out a.glb --report a.json");
    assert_non_null(strstr(r->out, "the mean error rises from"));
    assert_non_null(strstr(r->err, "warning: the baked rig is farther from the model"));
    expect_code(0, "grep -q 'the baked rig is farther from the model' a.json");
    r = expect_code(0, "sinew bake --sample arm --vertices 1000 --samples 20 --max-targets 3 "
                       "--out a.glb");
    assert_non_null(strstr(r->out, "the mean error drops from"));
    assert_non_null(strstr(r->out, "and the worst rises from"));
    assert_non_null(strstr(r->err, "warning: where it is worst"));
}

/* Two lids, a square above another that tilts, at these heights of their first and last vertex. */
static void write_lids(const char *name, double upper, double lower, double last) {
    char text[300];
    snprintf(text, sizeof text,
             "v 0 %g 0\nv 1 %g 0\nv 1 %g 1\nv 0 %g 1\nv 0 %g 0\nv 1 %g 0.1\nv 1 %g 0.95\n"
             "v 0 %g 0.9\nf 1 2 3 4\nf 5 6 7 8\n",
             upper, upper, upper, upper, lower - 0.5, lower, lower, last);
    write_text(name, text);
}

static int evaluations(const char *rig, const char *more) {
    int count = -1;
    expect_code(0,
                "sinew bake %s --samples 40 --keep-samples kept --out a.glb --report a.json "
                "--quiet %s",
                rig, more);
    const run_result *r = expect_code(0, "python3 -c \"import json; "
                                         "print(json.load(open('a.json'))['totals']"
                                         "['evaluations'])\"");
    assert_int_equal(sscanf(r->out, "%d", &count), 1);
    return count;
}

/* A second bake with the same folder asks the model for nothing, and one for other targets for
 * little; one whose model, contact, neutral, or target differs asks for everything. */
static void kept_samples_are_not_asked_for_again(void **state) {
    (void)state;
#define SPRING   "--model spring "
#define TOUCHING SPRING "--self-contact --contact-samples 5 "
    static const char rig[] = "neutral.obj close.obj squint.obj";
    fresh_folder();
    expect_code(0, "mkdir other");
    write_lids("neutral.obj", 1, 0, -0.5), write_lids("close.obj", 0.4, 0, -0.5);
    write_lids("squint.obj", 1, 0.625, 0.125), write_lids("other/squint.obj", 1, 0.625, 0.25);
    /* with other/squint.obj, all displacements are those of the first rig */
    write_lids("other/neutral.obj", 1, 0, -0.375), write_lids("other/close.obj", 0.4, 0, -0.375);
    int all = evaluations(rig, TOUCHING);
    expect_code(0, "python3 -c \"import json; r = json.load(open('a.json')); "
                   "assert (r['vertices'], r['triangles']) == (8, 4)\"");
    expect_code(0, "cp a.glb first.glb");
    assert_in_range(all, 70, 90); /* 40 samples, 40 unseen poses, contact */
    assert_int_equal(evaluations(rig, TOUCHING), 0);
    expect_code(0, "cmp a.glb first.glb");
    assert_in_range(evaluations(rig, TOUCHING "--max-targets 3"), 0, 20);
    assert_in_range(evaluations(rig, SPRING), 40, 60); /* mostly the unseen poses */
    assert_in_range(evaluations(rig, ""), 70, 90);
    assert_in_range(evaluations("neutral.obj close.obj other/squint.obj", TOUCHING), 70, 90);
    assert_in_range(evaluations("other/neutral.obj other/close.obj other/squint.obj", TOUCHING), 70,
                    90);
    assert_in_range(evaluations("neutral.obj squint.obj close.obj", TOUCHING), 70, 90);
}

/* Verbs without a scene: the option shows in what they print or write. */
static void options_of_other_verbs_have_an_effect(void **state) {
    (void)state;
    make_rigs();
    const run_result *r = expect_code(0, "sinew check bar/neutral.obj --no-intersections --list 3");
    assert_non_null(strstr(r->out, "closed"));
    expect_code(0, "sinew convert face small.glb --compact --tolerance 0.001 && sinew convert face "
                   "large.glb && sinew convert face shaded.glb --compact --normals");
    expect_code(0, "test $(stat -c %%s small.glb) -lt $(stat -c %%s shaded.glb) && test $(stat -c "
                   "%%s shaded.glb) -lt $(stat -c %%s large.glb)");
    expect_code(0, "sinew convert bar clip.glb --curves bar/clip.csv && sinew convert clip.glb "
                   "slow.pc2 --rate 5 && sinew convert clip.glb fast.pc2 --rate 10");
    r = expect_code(0, "echo $(stat -c %%s slow.pc2) $(stat -c %%s fast.pc2)");
    long slow = strtol(r->out, NULL, 10), fast = strtol(strchr(r->out, ' '), NULL, 10);
    assert_true(fast > 1.8 * (double)slow && fast < 2.2 * (double)slow);
    expect_code(0, "sinew render bar/neutral.obj --azimuth 40 --elevation 20 --zoom 1.2 --title t "
                   "--label one --size 96x80 --out a.png --quiet && sinew render bar/neutral.obj "
                   "--size 96x80 --out b.png --quiet && ! cmp -s a.png b.png");
    expect_refusal(3, "too small",
                   "sinew render bar/neutral.obj --title t --label l --size 64x48 --out c.png");
}

int test_options(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_blend_reach_the_scene),
        cmocka_unit_test(options_of_modal_reach_the_scene),
        cmocka_unit_test(options_of_fit_and_force_reach_the_scene),
        cmocka_unit_test(takes_are_not_rigs_and_sliders_left_out_are_told),
        cmocka_unit_test(rare_options_of_models_reach_the_scene),
        cmocka_unit_test(playing_a_take_prints_its_warnings),
        cmocka_unit_test(a_path_moves_the_body_between_the_keys),
        cmocka_unit_test(options_of_bake_and_map_have_an_effect),
        cmocka_unit_test(kept_samples_are_not_asked_for_again),
        cmocka_unit_test(bakes_say_what_they_added),
        cmocka_unit_test(bakes_that_make_it_worse_say_so),
        cmocka_unit_test(options_of_other_verbs_have_an_effect),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
