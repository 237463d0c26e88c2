#include "support.h"

#include <jansson.h>

#include "command.h"
#include "groups.h"

static double total_of(const char *name) {
    json_t *root = read_json("r.json");
    double value = json_number_value(json_object_get(json_object_get(root, "totals"), name));
    json_decref(root);
    return value;
}

static void an_edit_is_attenuated(void **state) {
    (void)state;
    fresh_folder();
    const run_result *r =
        expect_code(0, "sinew lock --sample arm --lock cuff:v:1500-1520 --edit elbow90=1 --trade "
                       "--alpha 10x --out e.csv --corrective c.obj --report r.json");
    assert_non_null(strstr(r->out, "1 lock, "));
    assert_true(total_of("reduction") > 1.5);
    assert_true(total_of("lowest") >= 0 && total_of("highest") <= 1);
    assert_int_equal(files_with("e.csv"), 1);
    assert_int_equal(files_with("c.obj"), 1);
    r = expect_code(0, "sinew lock --sample arm --lock a:v:1500 --lock b:v:1501 --edit elbow90=1");
    assert_non_null(strstr(r->out, "2 locks, "));
}

static void alpha_zero_changes_nothing(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew lock --sample arm --lock cuff:v:1500-1520 --edit elbow90=0.7 --alpha 0 "
                   "--report r.json");
    assert_close(total_of("reduction"), 1, 1e-9);
    assert_close(total_of("kept"), 1, 1e-9);
}

static void a_take_is_filtered_and_scenes_agree(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample arm --out arm");
    expect_code(0, "sinew lock arm --lock cuff:v:1500-1520:y --curves arm/clip.csv --out t.csv "
                   "--scene-out s.json");
    /* The scene drives a model with the same weights, and its locks can be switched off. */
    expect_code(0, "sinew run s.json");
    expect_code(0, "sed 's/\"curves\": {/\"outputs\": {\"curves\": \"w.csv\"}, \"curves\": {/' "
                   "s.json >with.json && sinew run with.json");
    expect_code(0, "test $(wc -l <w.csv) -eq $(wc -l <t.csv)");
    expect_code(0, "sinew blend arm --curves t.csv --out a.pc2 && "
                   "sinew blend arm --curves w.csv --out b.pc2 && cmp a.pc2 b.pc2");
    expect_code(0, "sed 's/\"name\": \"cuff\"/\"enabled\": false, \"name\": \"cuff\"/' with.json "
                   ">off.json && sinew run off.json && sinew blend arm --curves w.csv --out c.pc2");
    expect_code(1, "cmp -s a.pc2 c.pc2");
}

static void locks_drive_every_model_of_sliders(void **state) {
    (void)state;
    fresh_folder();
    const char *models[] = {"linear", "rotation"};
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"sinew\": 1, \"rig\": {\"sample\": \"arm\"}, \"model\": \"%s\", "
                 "\"weights\": {\"elbow90\": 1}, \"steps\": 3, "
                 "\"locks\": [{\"name\": \"cuff\", \"select\": \"v:1500-1520\"}], "
                 "\"attenuation\": {\"trade\": true, \"strength\": 20}, "
                 "\"outputs\": {\"curves\": \"%s.csv\", \"frames\": [\"%s.pc2\"]}}",
                 models[i], models[i], models[i]);
        write_text("scene.json", text);
        expect_code(0, "sinew run scene.json");
    }
    expect_code(0, "cmp linear.csv rotation.csv && ! cmp -s linear.pc2 rotation.pc2");
}

static void wrong_lock_calls_are_refused(void **state) {
    (void)state;
    fresh_folder();
    const char *edit = "--sample arm --edit elbow90=1";
    expect_refusal(2, "--lock", "sinew lock %s", edit);
    expect_refusal(2, "NAME:SELECT", "sinew lock %s --lock cuff", edit);
    expect_refusal(2, "--alpha", "sinew lock %s --lock c:v:1 --alpha -1", edit);
    expect_refusal(2, "--alpha", "sinew lock %s --lock c:v:1 --alpha nan", edit);
    expect_refusal(2, "--alpha", "sinew lock %s --lock c:v:1 --alpha 3y", edit);
    expect_refusal(2, "--edit|--curves", "sinew lock --sample arm --lock c:v:1");
    expect_refusal(3, "9999999", "sinew lock %s --lock c:v:9999999", edit);
    expect_refusal(3, "nowhere", "sinew lock %s --lock c:region:nowhere", edit);
    expect_refusal(3, "\"c\"", "sinew lock %s --lock c:v:1 --lock c:v:2", edit);
    expect_refusal(3, "nosuch", "sinew lock --sample arm --lock c:v:1 --edit nosuch=1");
    expect_code(0, "sinew lock %s --lock c:v:1500 --alpha inf", edit);
    expect_code(0, "sinew lock %s --lock c:all", edit);
    expect_code(0, "sinew lock %s --lock c:v:1500 --published", edit);
    /* a moment outside of the take */
    write_text("take.csv", "time_s,elbow90\n0.5,0\n2,1\n");
    expect_refusal(3, "--at 2.5|take.csv|0.5 to 2 s",
                   "sinew lock --sample arm --curves take.csv --lock c:v:1500 --at 2.5");
    expect_refusal(3, "0.5 to 2 s",
                   "sinew lock --sample arm --curves take.csv --lock c:v:1500 --at 0");
    expect_code(0, "sinew lock --sample arm --curves take.csv --lock c:v:1500 --at 2");
    write_text("scene.json",
               "{\"sinew\": 1, \"rig\": {\"sample\": \"arm\"}, \"model\": \"linear\", \"curves\": "
               "{\"file\": "
               "\"take.csv\"}, \"locks\": [{\"name\": \"c\", \"select\": \"v:1500\"}], "
               "\"attenuation\": {\"at\": 3}, \"outputs\": {\"frames\": [\"a.pc2\"]}}");
    expect_refusal(3, "/attenuation/at|0.5 to 2 s", "sinew run scene.json");
    write_text("mask.csv", "vertex,value\n1500,0.5\n1501,2\n");
    expect_refusal(3, "1501", "sinew lock %s --lock c:mask:mask.csv", edit);
    write_text("mask.csv", "vertex,value\n1500,0.5\n1501,1\n");
    expect_code(0, "sinew lock %s --lock c:mask:mask.csv:xz", edit);
}

static void interference_lists_pairs_and_draws(void **state) {
    (void)state;
    fresh_folder();
    const run_result *r =
        expect_code(0, "sinew interference --sample arm --top 3 --out p.csv --matrix m.png "
                       "--cosine c.png --heat h.png --report r.json");
    assert_non_null(strstr(r->out, "is disturbed by"));
    assert_true(total_of("targets") > 3);
    expect_code(0, "test $(wc -l <p.csv) -eq 4");
    assert_int_equal(files_with(".png"), 3);
    expect_refusal(3, "nowhere", "sinew interference --sample arm --select region:nowhere");
    expect_refusal(2, "RIG", "sinew interference");
}

/* A region from a file, a target, a piece and a part: wherever vertices are selected. */
static void selections_and_regions_are_known_to_every_verb(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0,
                "sinew sample face --vertices 1000 --out face && printf 'v -1 0 0\\nv -1 .1 0\\nv "
                "-1 0 .1\\ng tag\\nf -3 -2 -1\\n' >>face/neutral.obj");
    write_text("r.json", "{\"patch\": [1, 2, 3, 4, 5, 6, 7, 8]}");
    write_text("take.csv", "time_s,mouthPressLeft\n0,0\n0.1,1\n");
    static const char *const selections[] = {"region:patch", "target:jawOpen>0.9", "piece:1",
                                             "part:tag", "v:1,5-9"};
    static const char *const verbs[] = {
        "blend face --model spring --weights jawOpen=0.2 --pin '%s' --out a.pc2",
        "blend face --model spring --weights jawOpen=0.2 --hold '%s' --out a.pc2",
        "force face --curves take.csv --frames 0-0 --contact '%s' --out a.pc2",
        "force face --curves take.csv --frames 0-0 --fixed '%s' --out a.pc2",
        "force face --curves take.csv --frames 0-0 --jaw '%s' --out a.pc2",
        "lock face --edit jawOpen=0.5 --lock 'c:%s'",
        "render face --hide '%s' --size 32x32 --out a.png",
        "play face take.csv --frames 0-0 --hide '%s' --size 64x32 --out a.png"};
    for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
        for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
            char line[256];
            snprintf(line, sizeof line, verbs[k], selections[i]);
            expect_code(0, "sinew %s --regions r.json", line);
            if (i == 0) expect_refusal(3, "patch", "sinew %s", line);
        }
    expect_code(0, "sinew interference face --select region:patch --regions r.json");
    expect_code(0, "sinew modal --sample bar --vertices 1000 --poses neutral,bend120 --times 0,0.1 "
                   "--hold region:patch --regions r.json --frames 0-0 --out a.pc2");
    /* several at once, and the region itself goes on with the rig */
    expect_code(0, "sinew force face --curves take.csv --frames 0-0 --contact "
                   "'lips,patch,target:jawOpen>0.9,v:1,5-9' --regions r.json --out a.pc2");
    expect_code(0, "sinew transfer face --to face/neutral.obj --regions r.json --out made.glb && "
                   "sinew render made.glb --hide region:patch --size 32x32 --out a.png");
    expect_refusal(3, "r.json",
                   "printf '{' >r.json; sinew render face --hide region:patch "
                   "--regions r.json --out a.png");
}

int test_locks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_edit_is_attenuated),
        cmocka_unit_test(alpha_zero_changes_nothing),
        cmocka_unit_test(a_take_is_filtered_and_scenes_agree),
        cmocka_unit_test(locks_drive_every_model_of_sliders),
        cmocka_unit_test(wrong_lock_calls_are_refused),
        cmocka_unit_test(interference_lists_pairs_and_draws),
        cmocka_unit_test(selections_and_regions_are_known_to_every_verb),
    };
    return cmocka_run_group_tests_name("locks", tests, NULL, NULL);
}
