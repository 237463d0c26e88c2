/* A farm computes what single runs compute, repairs what broke, and keeps shots apart. */
#include "support.h"

#include "command.h"
#include "groups.h"

/* A scene of 9 frames on the built-in bar. */
#define SCENE(model, parameters, more)                                                             \
    "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"" model "\", \"parameters\": "    \
    "{" parameters "}, " more "\"time\": {\"fps\": 20}, \"curves\": {\"times\": [0, 0.4], "        \
    "\"values\": {\"bend120\": [0, 0.03]}}, \"outputs\": {\"frames\": [\"" model ".pc2\"]}}"
#define SPRING                                                                                     \
    SCENE("spring", "\"friction\": 0.05, \"tolerance\": 1e-2",                                     \
          "\"obstacles\": [{\"shape\": \"sphere\", \"center\": [0.5, 0.402, 0], \"radius\": "      \
          "0.3}], ")
#define OVERRIDE(model)                                                                            \
    "{\"name\": \"" model "\", \"scene\": \"linear.json\", \"overrides\": [{\"op\": \"replace\", " \
    "\"path\": \"/model\", \"value\": \"" model "\"}, {\"op\": \"replace\", \"path\": "            \
    "\"/outputs/frames\", \"value\": [\"" model ".pc2\"]}]}"
#define PLAIN(name)     "{\"name\": \"" name "\", \"scene\": \"" name ".json\"}"
#define MANIFEST(shots) "{\"farm\": 1, \"shots\": [" shots "]}"

static void write_scenes(void) {
    fresh_folder();
    write_text("linear.json", SCENE("linear", "", ""));
    write_text("spring.json", SPRING);
}

/* The scenes that the overrides must come to, run in one process each. Prints the worst code. */
static int run_references(void) {
    write_text("rotation.json", SCENE("rotation", "", ""));
    write_text("force.json", SCENE("force", "", ""));
    const run_result *r =
        expect_code(0, "worst=0; for m in linear rotation spring force; do sinew run $m.json "
                       "--strict --quiet --out $m-whole.pc2 2>/dev/null || worst=$?; done; "
                       "echo $worst");
    int worst = atoi(r->out);
    assert_true(worst <= 1); /* 1: not converged, which is the same in parts */
    return worst;
}

static void expect_equal(const char *models) {
    expect_code(0, "for m in %s; do cmp $m.pc2 $m-whole.pc2 || exit 1; done", models);
}

/* Processes that the farm started for the shot in its last call. */
static int tasks_of(const char *shot) {
    return atoi(expect_code(0,
                            "python3 -c 'import json; print([s[\"tasks\"] for s in "
                            "json.load(open(\"work/farm.json\"))[\"shots\"] if s[\"shot\"] == "
                            "\"%s\"][0])'",
                            shot)
                    ->out);
}

static void shots_equal_single_runs_and_damage_is_repaired(void **state) {
    (void)state;
    write_scenes();
    int worst = run_references();
    write_text("shots.json", MANIFEST(PLAIN("linear") ", " OVERRIDE("rotation") ", " PLAIN(
                                 "spring") ", " OVERRIDE("force")));
    static const char farm[] =
        "sinew farm shots.json --out work --jobs 2 --chunk 4 --report report.json";
    expect_code(worst, farm);
    expect_equal("linear rotation spring force");
    expect_code(0, "test $(ls work/spring/parts/*.part | wc -l) = 3");
    expect_code(0, "test $(ls work/spring/parts/*.state | wc -l) = 3");
    expect_code(0, "test $(ls work/linear/parts/*.state 2>/dev/null | wc -l) = 0");
    expect_code(0, "grep -q '\"shot\": \"force\"' report.json");
    /* A plan and three chunks; a merge where two chunks were the last ones together. */
    assert_in_range(tasks_of("linear"), 4, 5);
    assert_int_equal(tasks_of("spring"), 4); /* in order, so that no checkpoint was missing */

    /* A truncated part, a flipped byte, a part and a checkpoint that are gone, a bad checkpoint. */
    expect_code(0, "cd work && ls -i */parts/*.part | sort >before && "
                   "truncate -s -100 linear/parts/frames-000004-000007.part && "
                   "printf X | dd of=rotation/parts/frames-000000-000003.part bs=1 seek=2006 "
                   "conv=notrunc status=none && "
                   "rm spring/parts/frames-000004-000007.part spring/parts/state-000004.state "
                   "force/parts/frames-000008-000008.part && "
                   "printf X | dd of=force/parts/state-000008.state bs=1 seek=300 conv=notrunc "
                   "status=none && rm ../linear.pc2 ../rotation.pc2 ../spring.pc2 ../force.pc2");
    expect_code(worst, farm);
    expect_equal("linear rotation spring force");
    assert_int_equal(tasks_of("linear"), 2);
    assert_int_equal(tasks_of("rotation"), 2);
    assert_int_equal(tasks_of("spring"), 3); /* a second attempt without the checkpoint */
    assert_int_equal(tasks_of("force"), 3);
    /* The sound parts are the same files as before. */
    expect_code(0, "cd work && ls -i */parts/*.part | sort >after && "
                   "test $(comm -12 before after | wc -l) -ge 8 && "
                   "comm -12 before after | grep -q linear/parts/frames-000000 && "
                   "comm -12 before after | grep -q spring/parts/frames-000008");
    const run_result *r = expect_code(worst, "sinew farm status work");
    assert_non_null(strstr(r->out, "no farm is running"));
    assert_non_null(strstr(r->out, "spring"));
}

/* Starts the spring shot in chunks of one frame, and goes on when the first part is there and the
 * child $c that computes the second one stands still (moments.c). */
#define START_AND_WAIT                                                                             \
    "rm -f hold.pid; touch hold; HOLD=$PWD/hold FRAMES=1-1 LD_PRELOAD=$MOMENTS "                   \
    "sinew farm shots.json --out work --jobs 1 --chunk 1 >table 2>words & p=$!; "                  \
    "i=0; until test -s hold.pid; do i=$((i + 1)); test $i -lt 6000 || exit 9; sleep 0.05; done; " \
    "c=$(cat hold.pid); ls work/spring/parts/*.part >/dev/null || exit 8; "
/* Goes on when the child is gone. */
#define WAIT_FOR_CHILD                                                                             \
    "i=0; while grep -qs 'State:.[RSDT]' /proc/$c/status; do i=$((i + 1)); test $i -lt 6000 || "   \
    "exit 7; sleep 0.05; done; "

static void killed_processes_are_repaired(void **state) {
    (void)state;
    write_scenes();
    use_moments();
    write_text("shots.json", MANIFEST(PLAIN("spring")));
    int worst = expect_code(0, "sinew run spring.json --strict --quiet --out spring-whole.pc2 "
                               "2>/dev/null; echo $?")
                    ->out[0] -
                '0';
    assert_true(worst <= 1);
    /* A child: the farm tries again by itself. */
    expect_code(worst, START_AND_WAIT "kill -9 $c && rm hold && wait $p");
    expect_equal("spring");
    /* The farm: its child dies with it, and the next call goes on from the parts. */
    expect_code(137, "rm -rf work spring.pc2; " START_AND_WAIT
                     "a=$(ls work/spring/parts | wc -l); kill -9 $p; wait $p; "
                     "code=$?; " WAIT_FOR_CHILD
                     "rm hold; test $a = $(ls work/spring/parts | wc -l) || exit 1; exit $code");
    expect_code(0, "test ! -e spring.pc2 && ls -i work/spring/parts/*.part | sort >before");
    expect_code(1, "sinew farm status work");
    expect_code(worst, "sinew farm shots.json --out work --jobs 2 --chunk 4");
    expect_equal("spring");
    expect_code(0,
                "ls -i work/spring/parts/*.part | sort | comm -23 before - >lost; test ! -s lost");
}

static void interrupt_stops_the_children_and_keeps_the_parts(void **state) {
    (void)state;
    write_scenes();
    write_text("shots.json", MANIFEST(PLAIN("spring")));
    use_moments();
    expect_code(130, START_AND_WAIT "kill -INT $p; wait $p; code=$?; " WAIT_FOR_CHILD
                                    "rm hold; exit $code");
    expect_code(0, "ls work/spring/parts/*.part && test ! -e spring.pc2 && "
                   "grep -q interrupted words && test $(wc -l <words) = 1");
    const run_result *r = expect_code(1, "sinew farm status work");
    assert_non_null(strstr(r->err, "1 of 1 shots are incomplete"));
}

static void bad_shots_fail_alone(void **state) {
    (void)state;
    write_scenes();
    write_text("broken.json", SCENE("linear", "\"nothing\": 1", ""));
    write_text("rigless.json",
               "{\"sinew\": 1, \"rig\": {\"files\": [\"none.obj\"]}, \"model\": "
               "\"linear\", \"steps\": 2, \"outputs\": {\"frames\": [\"rigless.pc2\"]}}");
    write_text("outside.json", "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": "
                               "\"linear\", \"outputs\": {\"frames\": [\"../outside.pc2\"]}}");
    write_text("shots.json",
               MANIFEST(PLAIN("broken") ", " PLAIN("rigless") ", " PLAIN("outside") ", " PLAIN(
                   "absent") ", " PLAIN("linear") ", {\"name\": \"same\", \"scene\": "
                                                  "\"linear.json\"}, {\"name\": \"patch\", "
                                                  "\"scene\": \"linear.json\", \"overrides\": "
                                                  "[{\"op\": \"remove\", \"path\": \"/none\"}]}"));
    const run_result *r = expect_code(1, "sinew farm shots.json --out work --jobs 2");
    assert_non_null(strstr(r->err, "6 of 7 shots are incomplete"));
    assert_non_null(strstr(r->out, "nothing"));                           /* broken */
    assert_non_null(strstr(r->out, "none.obj"));                          /* rigless */
    assert_non_null(strstr(r->out, "outside the folder"));                /* outside */
    assert_non_null(strstr(r->out, "absent.json"));                       /* absent */
    assert_non_null(strstr(r->out, "shot linear also writes this file")); /* same */
    assert_non_null(strstr(r->out, "overrides: "));                       /* patch */
    expect_code(0, "test -s linear.pc2 && test ! -e ../outside.pc2");
}

static void hostile_manifests_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {
        "..",  "../up",     "a/b",    "/tmp/x",        "a..b",           ".hidden",
        "-rf", "a b",       "a'b",    "$(touch oops)", "a\\nb",          "a;b",
        "",    "a\\u0000b", "`oops`", "a\\\"b",        "\\u202egnp.exe",
    };
    write_scenes();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 MANIFEST(PLAIN("linear") ", {\"name\": \"%s\", \"scene\": \"linear.json\"}"),
                 names[i]);
        write_text("shots.json", text);
        expect_refusal(3, "shots.json", "sinew farm shots.json --out work");
        assert_int_equal(files_with("work") + files_with("oops") + files_with("linear.pc2"), 0);
    }
    static const char *const manifests[][2] = {
        {"[]", "farm"},
        {"{\"farm\": 2, \"shots\": []}", "farm"},
        {"{\"farm\": 1, \"shots\": []}", "at least one shot"},
        {"{\"farm\": 1, \"shots\": [7]}", "/shots/0"},
        {MANIFEST("{\"name\": \"a\"}"), "/shots/0|scene"},
        {MANIFEST(PLAIN("linear") ", " PLAIN("linear")), "/shots/1|another shot"},
        {MANIFEST("{\"name\": \"a\", \"scene\": \"linear.json\", \"shell\": \"x\"}"), "shell"},
        {MANIFEST("{\"name\": \"a\", \"scene\": \"../x.json\"}"), "outside the folder"},
        {MANIFEST("{\"name\": \"a\", \"scene\": \"/etc/passwd\"}"), "outside the folder"},
        {MANIFEST("{\"name\": \"a\", \"scene\": \"link.json\"}"), "outside the folder"},
        {MANIFEST("{\"name\": \"a\", \"scene\": \"linear.json\", \"overrides\": 1}"), "overrides"},
        {"{\"farm\": 1,\n \"shots\": [", "shots.json:2"},
    };
    expect_code(0, "ln -s /etc/passwd link.json");
    for (size_t i = 0; i < sizeof manifests / sizeof *manifests; i++) {
        write_text("shots.json", manifests[i][0]);
        expect_refusal(3, manifests[i][1], "sinew farm shots.json --out work");
        assert_int_equal(files_with("work"), 0);
    }
    write_text("shots.json", MANIFEST(PLAIN("linear")));
    expect_refusal(2, "--out", "sinew farm shots.json");
    expect_refusal(2, "unexpected", "sinew farm shots.json work --out work");
    expect_refusal(4, "none", "sinew farm none.json --out work");
    expect_refusal(4, "none", "sinew farm status none");
}

/* Spaces, quotes, commands and line breaks in all names that a shot brings along. */
static void names_of_files_are_only_names(void **state) {
    (void)state;
    static const char script[] =
        "import json, pathlib, subprocess\n"
        "name = 'a \\'b\\' \"c\" $(touch oops) `touch oops` ;touch oops\\nd %s &amp; -e'\n"
        "place = pathlib.Path(name)\n"
        "place.mkdir()\n"
        "subprocess.run(['sinew', 'sample', 'bar', '--out', place / f'{name}.glb'], check=True)\n"
        "pathlib.Path(f'{name}.csv').write_text('time_s,bend120\\n0,0\\n0.2,0.1\\n')\n"
        "scene = {'sinew': 1, 'rig': {'files': [f'{name}/{name}.glb']}, 'model': 'rotation',\n"
        "         'notes': name, 'curves': {'file': f'{name}.csv'},\n"
        "         'outputs': {'frames': [f'{name}/{name}.pc2'], 'report': f'{name}.out'}}\n"
        "pathlib.Path(f'{name}.json').write_text(json.dumps(scene))\n"
        "pathlib.Path('shots.json').write_text(json.dumps(\n"
        "    {'farm': 1, 'shots': [{'name': 's1', 'scene': f'{name}.json'}]}))\n"
        "subprocess.run(['sinew', 'farm', 'shots.json', '--out', name + ' work', '--chunk', '3',\n"
        "                '--quiet'], check=True)\n"
        "assert (place / f'{name}.pc2').stat().st_size > 0 and len(list(place.iterdir())) == 2\n"
        "assert not list(pathlib.Path().rglob('oops'))\n"
        /* An output that is a link to the outside is not followed. */
        "(place / f'{name}.pc2').unlink()\n"
        "(place / f'{name}.pc2').symlink_to('../../elsewhere.pc2')\n"
        "code = subprocess.run(['sinew', 'farm', 'shots.json', '--out', 'work']).returncode\n"
        "assert code == 1 and not pathlib.Path('../elsewhere.pc2').exists()\n";
    fresh_folder();
    write_text("names.py", script);
    expect_code(0, "python3 names.py");
}

static void only_one_farm_works_in_a_folder(void **state) {
    (void)state;
    write_scenes();
    write_text("shots.json", MANIFEST(PLAIN("linear")));
    expect_code(0, "mkdir work");
    expect_refusal(4, "another farm", "flock -s work/farm.lock sinew farm shots.json --out work");
    assert_int_equal(files_with("linear.pc2"), 0);
    expect_code(0, "sinew farm shots.json --out work");
    expect_code(0, "flock work/farm.lock sinew farm status work | grep -q 'a farm is running'");
}

int test_farm(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shots_equal_single_runs_and_damage_is_repaired),
        cmocka_unit_test(killed_processes_are_repaired),
        cmocka_unit_test(interrupt_stops_the_children_and_keeps_the_parts),
        cmocka_unit_test(bad_shots_fail_alone),
        cmocka_unit_test(hostile_manifests_are_refused),
        cmocka_unit_test(names_of_files_are_only_names),
        cmocka_unit_test(only_one_farm_works_in_a_folder),
    };
    return cmocka_run_group_tests_name("farm", tests, NULL, NULL);
}
