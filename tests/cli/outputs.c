/* No output is written over an input, none twice, and devices and links survive. */
#include "support.h"

#include "command.h"
#include "groups.h"

static void an_output_over_an_input_is_refused_before_the_work(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --quiet && cp bar/neutral.obj a.obj && ln -s a.obj "
                   "link.obj && cp bar/clip.csv clip.csv && cksum a.obj clip.csv bar/* >before "
                   "2>/dev/null; true");
    static const struct {
        const char *words, *command;
    } cases[] = {
        {"a.obj: is an input", "convert a.obj a.obj"},
        {"a.obj: is an input", "convert a.obj --out a.obj"},
        {"./a.obj: is an input", "convert a.obj ./a.obj"},
        {"link.obj: is an input", "convert a.obj link.obj"},
        {"a.obj: is an input", "convert link.obj a.obj"},
        {"a.obj: is an input", "info a.obj --report a.obj"},
        {"a.obj: is an input", "check a.obj --report a.obj"},
        {"bar: is an input", "convert bar bar"},
        {"bar: would overwrite the input bar/neutral.obj", "convert bar/neutral.obj bar"},
        {"bar/neutral.obj: would overwrite the input bar", "convert bar bar/neutral.obj"},
        {"bar/rig.json: would overwrite the input bar", "info bar --report bar/rig.json"},
        {"bar/targets/bend120.target: would overwrite",
         "info bar --report bar/targets/bend120.target"},
        {"clip.csv: is an input", "blend bar --curves clip.csv --curves-out clip.csv"},
        {"clip.csv: is an input", "blend bar --curves clip.csv --report clip.csv"},
        {"clip.csv: is an input", "blend bar --curves clip.csv --scene-out clip.csv"},
        {"two outputs", "blend bar --steps 2 --out x.pc2 --out x.pc2"},
        {"two outputs", "blend bar --steps 2 --out x.pc2 --out ./x.pc2"},
        {"two outputs", "blend bar --steps 2 --out x.pc2 --report x.pc2"},
        {"two outputs", "blend bar --steps 2 --out x.pc2 --scene-out x.pc2"},
        {"two outputs", "interference bar --out t --matrix t"},
        {"two outputs", "force bar --stretch-map-out m.csv --bend-map-out m.csv"},
        {"a.obj: is an input", "render a.obj --out a.obj"},
        {"a.obj: is an input", "transfer bar --to a.obj --out a.obj"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(2, cases[i].words, "sinew %s", cases[i].command);
    expect_code(0, "cksum a.obj clip.csv bar/* >after 2>/dev/null; cmp before after");
    assert_int_equal(files_with("x.pc2"), 0);
    /* Not a conflict: a new file in the rig's folder, a device named twice. */
    expect_code(0, "sinew blend bar --steps 1 --out bar/x.pc2 --report bar/x.json --quiet");
    expect_code(0, "sinew blend bar --steps 1 --report /dev/null --quiet");
    expect_code(0, "test -c /dev/null");
}

static void a_scene_cannot_write_over_itself(void **state) {
    (void)state;
    fresh_folder();
    static const struct {
        const char *words, *scene;
    } cases[] = {
        {"s.json: is an input", "\"outputs\": {\"report\": \"s.json\"}"},
        {"s.json: is an input", "\"outputs\": {\"frames\": [\"sub/../s.json\"]}"},
        {"two outputs", "\"outputs\": {\"frames\": [\"x.pc2\", \"x.pc2\"]}"},
        {"two outputs", "\"outputs\": {\"frames\": [\"x.pc2\"], \"curves\": \"x.pc2\"}"},
        {"c.csv: is an input", "\"curves\": {\"file\": \"c.csv\"}, \"outputs\": {\"curves\": "
                               "\"c.csv\"}"},
        {"m.csv: is an input",
         "\"model\": \"spring\", \"pins\": [{\"select\": \"mask:m.csv\"}], \"outputs\": "
         "{\"curves\": \"m.csv\"}"},
    };
    expect_code(0, "mkdir sub; touch c.csv m.csv");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        snprintf(text, sizeof text, "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, %s}",
                 cases[i].scene);
        write_text("s.json", text);
        expect_refusal(3, cases[i].words, "sinew run s.json");
        expect_code(0, "grep -q sample s.json");
    }
    write_text("s.json", "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"outputs\": "
                         "{\"report\": \"r.json\"}}");
    expect_refusal(2, "two outputs", "sinew run s.json --report r.json");
    expect_refusal(2, "s.json: is an input", "sinew run s.json --report s.json");
    assert_int_equal(files_with("r.json"), 0);
}

static void a_scene_writes_in_its_own_folder(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "mkdir in && ln -s .. in/up");
    static const char *const places[] = {"../x.pc2", "/tmp/sinew-outside.pc2", "up/x.pc2",
                                         "in/../../x.pc2"};
    for (int i = 0; i < 4; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"weights\": {\"bend120\": 1}, "
                 "\"outputs\": {\"frames\": [\"%s\"]}}",
                 places[i]);
        write_text("in/s.json", text);
        expect_refusal(3, "is an output outside|--allow-outside", "sinew run in/s.json");
        expect_refusal(3, "is an output outside", "cd in && sinew run s.json");
        expect_code(0, "sinew run in/s.json --out mine.pc2 --quiet && rm mine.pc2");
    }
    assert_int_equal(files_with("x.pc2"), 0);
    write_text("in/s.json", "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"weights\": "
                            "{\"bend120\": 1}, \"outputs\": {\"frames\": [\"../x.pc2\"]}}");
    expect_code(0, "sinew run in/s.json --allow-outside --quiet && test -s x.pc2");
}

static void links_and_pipes_survive_their_outputs(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "echo old >real && ln -s real report && sinew info --report report "
                   "/dev/null 2>/dev/null; test -L report");
    expect_code(0, "sinew sample bar --out bar --quiet && sinew info bar --report report --quiet");
    expect_code(0, "test -L report && grep -q vertices real");
    expect_code(0, "mkfifo pipe; cat pipe >got & sinew info bar --report pipe --quiet; wait; test "
                   "-p pipe && grep -q vertices got");
    expect_code(0, "sinew info bar --report /dev/stdout --quiet | grep -q vertices");
    expect_refusal(4, "/dev/full|No space left", "sinew info bar --report /dev/full --quiet");
}

/* A limit on the size of files is met like a full disk: said, and nothing stays. */
static void a_file_that_may_not_grow_is_said(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --vertices 1000 --quiet && sinew sample face --out "
                   "face --vertices 1000 --quiet");
    use_moments();
    static const char *const commands[][2] = {
        {"x.pc2", "blend bar --steps 9 --out x.pc2"},
        {"x.glb", "convert bar x.glb"},
        {"x.png", "render bar/neutral.obj --out x.png"},
        {"x.csv", "map face face/markers.csv --map-out x.csv"},
        {"x.gif", "play face face/clip.csv --frames 0-3 --out x.gif"},
        {"x/neutral.obj", "sample arm --out x"},
        {"scratch", "modal bar --poses neutral,bend120 --modes 4 --out x.pc2"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char words[100];
        snprintf(words, sizeof words, "%s|cannot be written: File too large", commands[i][0]);
        expect_refusal(4, words, "GROW=1024 LD_PRELOAD=$MOMENTS SINEW_CACHE=off sinew %s --quiet",
                       commands[i][1]);
        assert_int_equal(files_with("x"), 0);
        assert_int_equal(files_with(".sinew"), 0);
    }
}

/* Every name of the same file, and links that lead nowhere. */
static void hard_links_and_loops_are_seen(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --vertices 1000 --quiet && ln bar/neutral.obj "
                   "hard.obj && ln -s bar same && ln -s b a && ln -s a b && ln -s no/x.json lost");
    expect_refusal(2, "hard.obj: is an input", "sinew convert bar/neutral.obj hard.obj");
    expect_refusal(2, "same/neutral.obj: is an input",
                   "sinew convert bar/neutral.obj same/neutral.obj");
    expect_refusal(4, "a: cannot be written: Too many levels", "sinew info bar --report a --quiet");
    expect_refusal(4, "lost: cannot be written: the folder no/ does not exist",
                   "sinew info bar --report lost --quiet");
    expect_refusal(4, "/dev/fd/77: cannot be written: Bad file descriptor",
                   "sinew info bar --report /dev/fd/77 --quiet");
    expect_code(0, "cmp hard.obj bar/neutral.obj && test -L a -a -L b -a -L lost");
}

int test_outputs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_over_an_input_is_refused_before_the_work),
        cmocka_unit_test(a_scene_cannot_write_over_itself),
        cmocka_unit_test(a_scene_writes_in_its_own_folder),
        cmocka_unit_test(links_and_pipes_survive_their_outputs),
        cmocka_unit_test(a_file_that_may_not_grow_is_said),
        cmocka_unit_test(hard_links_and_loops_are_seen),
    };
    return cmocka_run_group_tests_name("outputs", tests, NULL, NULL);
}
