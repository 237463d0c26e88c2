/* What goes wrong around a farm: full disks, clocks, tasks that hang, many processes at once; and
 * what people see of it. */
#include "support.h"

#include "command.h"
#include "groups.h"

#define SCENE(model, more)                                                                         \
    "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"" model "\", " more               \
    "\"time\": {\"fps\": 20}, \"curves\": {\"times\": [0, 0.95], \"values\": {\"bend120\": [0, "   \
    "0.3]}}, \"outputs\": {\"frames\": [\"" model ".pc2\"]}}"
#define SHOT(name)      "{\"name\": \"" name "\", \"scene\": \"" name ".json\"}"
#define MANIFEST(shots) "{\"farm\": 1, \"shots\": [" shots "]}"
#define FARM            "sinew farm shots.json --out work --no-sheets "

/* Until a task stands still (moments.c). */
#define WAIT_FOR_HELD                                                                              \
    "i=0; until test -s hold.pid; do i=$((i + 1)); test $i -lt 6000 || exit 9; sleep 0.05; done\n"

/* A shot of 20 frames, and the bits that it must have. */
static void write_shot(void) {
    fresh_folder();
    write_text("rotation.json", SCENE("rotation", ""));
    write_text("shots.json", MANIFEST(SHOT("rotation")));
    expect_code(0, "sinew run rotation.json --quiet --out whole.pc2");
}

static int number(const char *command) {
    return atoi(expect_code(0, "%s", command)->out);
}

/* Processes of the first shot. */
static int tasks(void) {
    return number("python3 -c 'import json; print(json.load(open(\"work/farm.json\"))[\"shots\"][0]"
                  "[\"tasks\"])'");
}

static void full_and_read_only_disks_are_named(void **state) {
    (void)state;
    write_shot();
    expect_code(0, "touch file");
    expect_refusal(4, "file", "sinew farm shots.json --out file/work");
    /* Small disks of our own need rights that not every environment gives. */
    if (number("unshare -m sh -c 'mkdir disk && mount -t tmpfs -o size=350k none disk' "
               "2>/dev/null && echo 1 || echo 0") == 0) {
        printf("SKIP full_and_read_only_disks_are_named: cannot mount a disk\n");
        return;
    }
    expect_code(
        0, "unshare -m sh -c '"
           "mount -t tmpfs -o size=350k none disk && ln -s disk/work work && mkdir disk/work && "
           "sinew farm shots.json --out work --jobs 2 --chunk 4 >table 2>words; code=$?; "
           "test $code = 1 -o $code = 4 || exit 1; "
           "cat table words | grep -q \"No space left\" || exit 2; "
           "test ! -e rotation.pc2 || exit 3; "
           "ls -i work/rotation/parts/*.part | sort >before; test -s before || exit 4; "
           "mount -o remount,size=20m disk && " FARM "--chunk 4 >table || exit 5; "
           "cmp rotation.pc2 whole.pc2 || exit 6; "
           "ls -i work/rotation/parts/*.part | sort | comm -23 before - >lost; "
           "test ! -s lost || exit 7; "
           "rm rotation.pc2; mount -o remount,ro disk; " FARM ">table 2>words; test $? = 4 || "
           "exit 8; grep -q \"Read-only\" words || exit 9; test $(wc -l <words) = 1 || exit 10'");
}

static void clocks_of_other_machines_do_not_matter(void **state) {
    (void)state;
    write_shot();
    expect_code(0, FARM "--chunk 5 >table && rm rotation.pc2");
    expect_code(0, "cd work/rotation/parts && rm frames-000005-000009.part && "
                   "touch -d '2001-01-01' frames-000000-000004.part && "
                   "touch -d '2099-01-01' frames-000010-000014.part ../scene.json ../../farm.json");
    expect_code(0, FARM "--chunk 5 >table && cmp rotation.pc2 whole.pc2");
    /* A plan, and the part that is missing. */
    assert_int_equal(tasks(), 2);
    /* Farms whose clocks are hours off, one after another: each computes one missing part. */
    expect_code(0, "cc -shared -fPIC \"$SINEW_SOURCE\"/tests/farm/skew.c -o skew.so");
    static const int skews[] = {18000, -25200};
    for (int i = 0; i < 2; i++) {
        expect_code(
            0,
            "rm rotation.pc2 work/rotation/parts/frames-00000%d-*.part && "
            "ls -i work/rotation/parts/*.part | sort >before && "
            "SKEW=%d LD_PRELOAD=$PWD/skew.so " FARM "--chunk 5 >table && "
            "cmp rotation.pc2 whole.pc2 && ls -i work/rotation/parts/*.part | sort >after && "
            "test -z \"$(comm -23 before after)\"",
            5 * i, skews[i]);
        assert_int_equal(tasks(), 2);
    }
    /* A folder that another machine has just made is not taken for an old one. */
    write_text("tets.json", SCENE("spring", "\"parameters\": {\"interior\": \"tets\", "
                                            "\"tolerance\": 1e-2}, "));
    expect_code(0, "mkdir -p tmp/.sinew-0123456789abcdef.scratch && SKEW=18000 TMPDIR=$PWD/tmp "
                   "SINEW_CACHE=off LD_PRELOAD=$PWD/skew.so sinew run tets.json --quiet "
                   "--frames 0-1 --part parts && test \"$(ls -A tmp)\" = "
                   ".sinew-0123456789abcdef.scratch");
}

static void outputs_in_the_work_folder_are_refused(void **state) {
    (void)state;
    fresh_folder();
    write_text("a.json", "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"linear\", "
                         "\"outputs\": {\"frames\": [\"work/b/x.pc2\"]}}");
    write_text("b.json", "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"linear\", "
                         "\"outputs\": {\"report\": \"link/farm.json\"}}");
    write_text("shots.json", MANIFEST(SHOT("a") ", " SHOT("b")));
    expect_code(0, "mkdir work && ln -s work link");
    const run_result *r = expect_code(1, FARM "--allow-outside");
    assert_non_null(strstr(r->out, "work/b/x.pc2: outputs must not be in the work folder"));
    assert_non_null(strstr(r->out, "link/farm.json: outputs must not be in the work folder"));
}

static void a_task_that_hangs_is_stopped_and_tried_again(void **state) {
    (void)state;
    write_shot();
    use_moments();
    /* The task stops, and the farm's clock jumps beyond the limit. */
    expect_code(0, "touch hold; HOLD=$PWD/hold FRAMES=0-19 JUMP=$PWD/jump LD_PRELOAD=$MOMENTS " FARM
                   "--chunk 20 --time 30 >table 2>words & p=$!\n" WAIT_FOR_HELD
                   "c=$(cat hold.pid); kill -STOP $c && rm hold && touch jump || exit 8\n"
                   "wait $p; code=$?; kill -0 $c 2>/dev/null && exit 7; exit $code");
    expect_code(0, "cmp rotation.pc2 whole.pc2");
    /* A plan, a task that hung, another. */
    assert_true(tasks() >= 3);
}

static void a_chunk_that_always_dies_fails_its_shot_alone(void **state) {
    (void)state;
    write_shot();
    use_moments();
    write_text("shots.json", MANIFEST(SHOT("rotation") ", " SHOT("linear")));
    /* The shot of 20 frames has one chunk of five that dies; those of the other one do not. */
    write_text(
        "linear.json",
        "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"linear\", \"time\": {\"fps\": "
        "20, \"to\": 0.15}, \"curves\": {\"times\": [0, 0.95], \"values\": {\"bend120\": [0, "
        "0.3]}}, \"outputs\": {\"frames\": [\"linear.pc2\"]}}");
    const run_result *r = expect_code(1, "DIE=5-9 LD_PRELOAD=$MOMENTS " FARM "--jobs 2 --chunk 5");
    assert_non_null(strstr(r->err, "1 of 2 shots are incomplete"));
    assert_non_null(strstr(r->out, "frames 5-9: ended by signal 9"));
    expect_code(0, "test -s linear.pc2 && test ! -e rotation.pc2 && "
                   "test $(ls work/rotation/parts/*.part | wc -l) -ge 1");
    /* A plan and three attempts, beside what else had time to start. */
    assert_in_range(tasks(), 5, 7);
    expect_code(0, FARM "--jobs 2 --chunk 5 >table && cmp rotation.pc2 whole.pc2");
    assert_in_range(tasks(), 2, 5);
}

static void structures_are_computed_once_by_many_processes(void **state) {
    (void)state;
    /* Modes and volumes of one part; links between parts; networks, orders of factorizations. */
    static const struct {
        const char *rig, *more;
        int entries; /* at least */
    } rows[] = {
        {"\"sample\": \"bar\"",
         "\"model\": \"modal\", \"parameters\": {\"modes\": 8}, \"keys\": [{\"time\": 0, "
         "\"pose\": \"neutral\"}, {\"time\": 0.15, \"pose\": \"bend120\"}]",
         3},
        {"\"sample\": \"face\", \"vertices\": 1000",
         "\"model\": \"modal\", \"parameters\": {\"modes\": 8}, \"keys\": [{\"time\": 0, "
         "\"pose\": \"neutral\"}, {\"time\": 0.15, \"pose\": \"jawOpen\"}]",
         4},
        {"\"sample\": \"face\", \"vertices\": 3000",
         "\"model\": \"spring\", \"parameters\": {\"tolerance\": 1e-2}, \"curves\": "
         "{\"times\": [0, 0.15], \"values\": {\"jawOpen\": [0, 0.2]}}",
         2},
        {"\"sample\": \"bar\"",
         "\"model\": \"spring\", \"parameters\": {\"tolerance\": 1e-2, \"interior\": "
         "\"tets\"}, \"curves\": {\"times\": [0, 0.15], \"values\": {\"bend120\": [0, 0.2]}}",
         3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char scene[1000];
        fresh_folder();
        snprintf(scene, sizeof scene,
                 "{\"sinew\": 1, \"rig\": {%s}, \"time\": {\"fps\": 20}, %s, \"outputs\": "
                 "{\"frames\": [\"out.pc2\"]}}",
                 rows[i].rig, rows[i].more);
        write_text("scene.json", scene);
        const run_result *r = expect_code(
            0, "SINEW_CACHE=$PWD/cold python3 \"$SINEW_SOURCE\"/tests/farm/count_stores.py "
               "4 \"$SINEW_COMMAND\" run scene.json --frames %% --part parts --quiet --threads 1");
        int entries = 0, stores = 0;
        if (!strstr(r->out, "codes 0 0 0 0\n")) fail_msg("%s", r->out);
        assert_int_equal(
            sscanf(strstr(r->out, "entries"), "entries %d stores %d", &entries, &stores), 2);
        if (entries < rows[i].entries) fail_msg("%s: %d entries", rows[i].rig, entries);
        assert_int_equal(stores, entries);
        /* A process that comes later stores nothing, and without a cache the bits are the same. */
        expect_code(0, "ls -i cold >before && SINEW_CACHE=$PWD/cold sinew merge parts --quiet && "
                       "ls -i cold >after && cmp before after && test ! -e cold/*.lock && "
                       "SINEW_CACHE=off sinew run scene.json --quiet --out whole.pc2 && "
                       "cmp out.pc2 whole.pc2");
    }
}

static void chunks_follow_the_measured_cost(void **state) {
    (void)state;
    write_shot();
    /* A short shot is one task, which plans, computes and merges. */
    expect_code(0, FARM "--chunk-seconds 60 >table && cmp rotation.pc2 whole.pc2");
    assert_int_equal(tasks(), 1);
    expect_code(0, "python3 -c 'import json; c, = json.load(open(\"work/farm.json\"))[\"costs\"]"
                   ".values(); assert c[\"frames\"] == 20 and c[\"frame_seconds\"] > 0 and "
                   "c[\"setup_seconds\"] > 0'");
    /* Again: every frame is there. */
    expect_code(0, "rm rotation.pc2 && " FARM ">table && cmp rotation.pc2 whole.pc2");
    assert_int_equal(tasks(), 1);
    /* A shot that takes longer is cut into parts. The same shot with a past is a chain. */
    write_text("spring.json", SCENE("spring", "\"parameters\": {\"tolerance\": 1e-5}, "));
    write_text("force.json", SCENE("force", ""));
    static const char *const models[] = {"spring", "force"};
    for (int i = 0; i < 2; i++) {
        expect_code(
            0,
            "rm -rf work && sinew run %s.json --quiet --strict --out whole.pc2; "
            "sinew farm %s.json --out work --jobs 2 --no-sheets --chunk-seconds 0.01 >table; "
            "cmp %s.pc2 whole.pc2 && test $(ls work/shot/parts/*.part | wc -l) -ge 2",
            models[i], models[i], models[i]);
    }
    /* A bad checkpoint: the start fails, and a chunk computes the frames before it again. */
    expect_code(0, "rm force.pc2; cd work/shot/parts && last=$(ls *.part | tail -1) && rm $last && "
                   "n=$(echo $last | cut -c8-13) && "
                   "printf X | dd of=state-$n.state bs=1 seek=300 conv=notrunc status=none");
    expect_code(0, "sinew farm force.json --out work --no-sheets >table; cmp force.pc2 whole.pc2");
}

static void the_page_is_whole_and_escaped(void **state) {
    (void)state;
    fresh_folder();
    write_text("rotation.json", SCENE("rotation", ""));
    write_text("slack.json",
               "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"time\": {\"fps\": 20}, \"model\": "
               "\"spring\", \"parameters\": {\"tolerance\": 1e-2, \"max_rounds\": 1}, "
               "\"obstacles\": [{\"shape\": \"sphere\", \"center\": [0.5, 0.402, 0], \"radius\": "
               "0.3}], \"curves\": {\"times\": [0, 0.2], \"values\": {\"bend120\": [0, 0.04]}}, "
               "\"outputs\": {\"frames\": [\"slack.pc2\"]}}");
    write_text(
        "bad.json",
        "{\"sinew\": 1, \"rig\": {\"files\": [\"<script>alert(1)</script>&'.obj"
        "\"]}, \"model\": \"linear\", \"steps\": 2, \"outputs\": {\"frames\": [\"b.pc2\"]}}");
    write_text("shots.json", MANIFEST(SHOT("rotation") ", " SHOT("slack") ", " SHOT("bad")));
    expect_code(1, "sinew farm shots.json --out work --jobs 2");
    expect_code(0, "! grep -qi '<script' work/index.html && grep -q '&lt;script&gt;alert(1)' "
                   "work/index.html && ! grep -q 'http-equiv=.refresh' work/index.html");
    /* A sheet for each shot that was merged, inside the page. */
    assert_int_equal(number("grep -o 'data:image/png;base64,iVBOR' work/index.html | wc -l"), 2);
    expect_code(0, "grep -q 'Frames that did not converge' work/index.html && "
                   "grep -q '</html>' work/index.html && test -s work/rotation/sheet.png");
    const run_result *r = expect_code(1, "sinew farm status work");
    assert_non_null(strstr(r->out, "not converged"));
    assert_non_null(strstr(r->out, "; frames "));
}

static void the_table_can_be_watched(void **state) {
    (void)state;
    write_shot();
    use_moments();
    const run_result *r = expect_code(
        0, "touch hold; HOLD=$PWD/hold FRAMES=2-3 LD_PRELOAD=$MOMENTS " FARM
           "--jobs 1 --chunk 2 >/dev/null & p=$!\n" WAIT_FOR_HELD
           "sinew farm status work --watch >seen & w=$!\n"
           "i=0; until grep -q 'time left' seen; do i=$((i + 1)); test $i -lt 6000 || exit 8; "
           "sleep 0.05; done; rm hold; wait $p || exit 7; wait $w; code=$?; cat seen; exit $code");
    assert_non_null(strstr(r->out, "time left"));
    assert_non_null(strstr(r->out, "no farm is running"));
    /* The first task of a shot computes frames: the shot is not waiting. */
    expect_code(0, "rm -rf work hold.pid; touch hold; HOLD=$PWD/hold FRAMES=start "
                   "LD_PRELOAD=$MOMENTS " FARM "--jobs 1 >/dev/null & p=$!\n" WAIT_FOR_HELD
                   "i=0; until sinew farm status work | grep -q '^rotation.* running'; do "
                   "i=$((i + 1)); test $i -lt 3000 || exit 8; sleep 0.05; done; rm hold; wait $p");
    expect_refusal(2, "--watch", "sinew farm shots.json --out work --watch");
    expect_refusal(2, "--partition", "sinew farm shots.json --out work --partition x");
    expect_refusal(2, "--jobs", "sinew farm shots.json --out work --jobs 65");
    expect_refusal(3, "batch", "sinew farm task shots.json 0");
    expect_refusal(2, "number", "sinew farm task shots.json x");
    expect_refusal(4, "squeue",
                   "PATH=/nowhere \"$SINEW_COMMAND\" farm shots.json --out work2 "
                   "--backend slurm");
}

int test_farm_trouble(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_and_read_only_disks_are_named),
        cmocka_unit_test(clocks_of_other_machines_do_not_matter),
        cmocka_unit_test(outputs_in_the_work_folder_are_refused),
        cmocka_unit_test(a_task_that_hangs_is_stopped_and_tried_again),
        cmocka_unit_test(a_chunk_that_always_dies_fails_its_shot_alone),
        cmocka_unit_test(structures_are_computed_once_by_many_processes),
        cmocka_unit_test(chunks_follow_the_measured_cost),
        cmocka_unit_test(the_page_is_whole_and_escaped),
        cmocka_unit_test(the_table_can_be_watched),
    };
    return cmocka_run_group_tests_name("farm_trouble", tests, NULL, NULL);
}
