/* A farm and a Slurm that answers as it should, late, wrongly or not at all (slurm.sh). What a real
 * one does is tested by scripts/test-farm. */
#include "support.h"

#include "command.h"
#include "groups.h"

/* Frames 0 to 8 of the built-in bar, and 0 to `last` / 20 seconds. */
#define SCENE_TO(model, name, seconds)                                                             \
    "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"" model                           \
    "\", \"time\": {\"fps\": "                                                                     \
    "20, \"to\": " seconds "}, \"curves\": {\"times\": [0, 0.4], \"values\": {\"bend120\": [0, "   \
    "0.03]}}, \"outputs\": {\"frames\": [\"" name ".pc2\"]}}"
#define SCENE(model, name) SCENE_TO(model, name, "0.4")
#define SHOT(name)         "{\"name\": \"" name "\", \"scene\": \"" name ".json\"}"
#define MANIFEST(shots)    "{\"farm\": 1, \"shots\": [" shots "]}"
/* The clock of the farm is ahead by as many hours as the file jump has letters, plus one. */
#define FARM                                                                                       \
    "JUMP=$PWD/jump LD_PRELOAD=$MOMENTS sinew farm shots.json --out work --backend slurm "         \
    "--no-sheets "
#define ANSWER(program, line) "printf '%%s\\n' '" line "' >>slurm/" program ".next; "
/* After this answer, before the next call. */
#define JUMP_LATER "usual \"$@\"; (sleep 0.3; printf x >>jump) >/dev/null 2>&1 &"

static void use_slurm(void) {
    fresh_folder();
    use_moments();
    expect_code(0, "mkdir -p bin slurm/jobs slurm/words && for p in sbatch squeue scancel sacct "
                   "scontrol; do ln -s \"$SINEW_SOURCE/tests/cli/slurm.sh\" bin/$p; done && "
                   "printf 'MaxArraySize            = 1001\\nMaxJobCount             = 10000\\n' "
                   ">slurm/config");
}

/* In the fresh folder, with the programs of Slurm. */
#define WITH "export SLURM=$PWD/slurm PATH=$PWD/bin:$PATH; "

/* One shot of 9 frames without a past, and the bits that it must have. */
static void write_shot(void) {
    use_slurm();
    write_text("rotation.json", SCENE("rotation", "rotation"));
    write_text("shots.json", MANIFEST(SHOT("rotation")));
    expect_code(0, "sinew run rotation.json --quiet --strict --out whole.pc2");
}

static int count(const char *pattern) {
    return atoi(expect_code(0, "grep -c -e '%s' slurm/calls || true", pattern)->out);
}

static void expect_calls(const char *pattern, int expected) {
    int found = count(pattern);
    if (found != expected)
        fail_msg("%d calls instead of %d: %s\n%s", found, expected, pattern,
                 sh("cat slurm/calls")->out);
}

/* A number, or the reason, of a shot in the table. */
static const char *cell(const char *shot, const char *key) {
    return expect_code(0,
                       "python3 -c 'import json; print([s[\"%s\"] for s in json.load(open("
                       "\"work/farm.json\"))[\"shots\"] if s[\"shot\"] == \"%s\"][0])'",
                       key, shot)
        ->out;
}

static void expect_cell(const char *shot, const char *key, const char *expected) {
    const char *found = cell(shot, key);
    if (strlen(found) != strlen(expected) + 1 || strncmp(found, expected, strlen(expected)))
        fail_msg("%s of %s: '%s' instead of '%s'", key, shot, found, expected);
}

static void job_arrays_compute_what_single_runs_compute(void **state) {
    (void)state;
    use_slurm();
    /* Chains of three, two and three chunks: the third array has the elements 0 and 2. */
    write_text("a.json", SCENE("force", "a"));
    write_text("b.json", SCENE_TO("force", "b", "0.25"));
    write_text("c.json", SCENE("force", "c"));
    write_text("free.json", SCENE("rotation", "free"));
    write_text("shots.json", MANIFEST(SHOT("free") ", " SHOT("a") ", " SHOT("b") ", " SHOT("c")));
    expect_code(0, "for s in a b c free; do sinew run $s.json --quiet --strict --out $s-whole.pc2 "
                   "|| exit; done");
    const run_result *r = expect_code(
        0, WITH FARM "--chunk 3 --partition long --account show --time 7.6 --memory 512 --gpus 2");
    assert_string_equal(r->err, "");
    expect_code(0, "for s in a b c free; do cmp $s.pc2 $s-whole.pc2 || exit; done");
    /* Four plans; the starts of the chains and what is free; their middle; their end; and a merge,
     * because no chunk of what is free knew that it was the last one. */
    expect_calls("^sbatch", 5);
    expect_calls("^sbatch .*--array=0-3 --partition", 1);
    expect_calls("^sbatch .*--array=0-5 --partition", 1);
    expect_calls("^sbatch .*--array=0-2 --dependency=aftercorr:102 --kill-on-invalid-dep=yes ", 1);
    expect_calls("^sbatch .*--array=0,2 --dependency=aftercorr:103 --kill-on-invalid-dep=yes ", 1);
    expect_calls("^sbatch --parsable --job-name=sinew-[0-9a-f]* --comment=[0-4] --no-requeue "
                 "--output=/dev/null --chdir=/ --ntasks=1 --cpus-per-task=1 --array=[0-9,-]* .*"
                 "--partition=long --account=show --time=8 --mem=512M --gpus=2 "
                 "/.*/work/batches/task.sh /.*sinew farm task --quiet -- /.*/work/batches/[0-4]"
                 ".json$",
                 5);
    expect_calls("^squeue --noheader --array --states=all --name=sinew-[0-9a-f]* --me "
                 "--format=%i|%T|%r$",
                 count("^squeue"));
    expect_calls("^scontrol show config$", 1);
    expect_calls("^scancel", 0);
    expect_cell("a", "tasks", "4"); /* a plan and three chunks, the last of which merges */
    expect_cell("b", "tasks", "3");
    expect_cell("b", "done", "6");
    expect_code(0, "test -z \"$(ls work/results)\" && test $(ls work/batches/*.json | wc -l) = 5");
    /* Without options Slurm decides; another path of the command; batches get new numbers. */
    expect_code(0,
                WITH "rm -rf slurm/calls a.pc2 work/a/parts/*.part; ln -s \"$(command -v sinew)\" "
                     "there; " FARM "--time 0.2 --node-command $PWD/there && "
                     "cmp a.pc2 a-whole.pc2 && ls work/batches/5.json");
    expect_calls(
        "^sbatch .*--cpus-per-task=1 --array=0-3 --time=1 /[^ ]*/task.sh /[^ ]*/there farm "
        "task",
        1);
    expect_calls("--partition\\|--account\\|--mem\\|--gpus", 0);
}

static void arrays_are_as_short_as_slurm_demands(void **state) {
    (void)state;
    static const struct {
        const char *config, *arrays;
    } rows[] = {
        {"MaxArraySize            = 2", "--array=0-1 --array=0-1 --array=0 "},
        {"MaxArraySize            = 1", "--array=0 --array=0 --array=0 --array=0 --array=0 "},
        {"MaxArraySize            = 5", "--array=0-4 "},
        {"MaxJobCount = 3", "--array=0-4 "},
    };
    use_slurm();
    for (int i = 0; i < 5; i++) {
        char name[40], scene[600];
        snprintf(name, sizeof name, "s%d.json", i);
        snprintf(scene, sizeof scene, SCENE_TO("linear", "s%d", "0.1"), i);
        write_text(name, scene);
    }
    write_text("shots.json", MANIFEST(SHOT("s0") ", " SHOT("s1") ", " SHOT("s2") ", " SHOT(
                                 "s3") ", " SHOT("s4")));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_code(0,
                    WITH "rm -rf work slurm/calls *.pc2; echo '%s' >slurm/config; " FARM
                         "&& ls s0.pc2 s4.pc2",
                    rows[i].config);
        const run_result *r =
            expect_code(0, "grep -o -e '--array=[0-9,-]* ' slurm/calls | tr -d '\\n'");
        assert_string_equal(r->out, rows[i].arrays);
    }
    expect_refusal(4, "does not accept job arrays (MaxArraySize is 0)",
                   WITH "echo 'MaxArraySize = 0' >slurm/config; " FARM);
    /* It is not told: sbatch reports what it does not like. */
    expect_code(0, WITH "rm -rf work bin/scontrol; " FARM);
}

static void lost_elements_run_again(void **state) {
    (void)state;
    write_shot();
    /* The plan; then one chunk per frame, of which all but two are lost in different ways. */
    expect_code(0, "printf '%%s\\n' run run 'TIMEOUT|TimeLimit' 'OUT_OF_MEMORY|OutOfMemory' "
                   "'NODE_FAIL|NodeDown' 'CANCELLED|None' 'FAILED|NonZeroExitCode' "
                   "'PREEMPTED|None' 'BOOT_FAIL|None' run >slurm/elements.next");
    const run_result *r = expect_code(0, WITH FARM "--chunk 1 && cmp rotation.pc2 whole.pc2");
    assert_string_equal(r->err, "");
    /* A plan, nine chunks, seven again, and perhaps a merge. */
    assert_in_range(atoi(cell("rotation", "tasks")), 17, 18);
    expect_calls("^sbatch .*--array=0-8 ", 1);
    expect_calls("^sbatch .*--array=0-6 ", 1);
    expect_calls("^sacct --noheader --parsable2 --allocations --jobs=102_1 "
                 "--format=State,ExitCode,NodeList$",
                 1);
    expect_calls("^sacct", 7);
}

static void a_part_that_is_missing_although_its_job_completed_is_computed_again(void **state) {
    (void)state;
    write_shot();
    expect_code(0, "printf '%%s\\n' run run 'COMPLETED|None' run >slurm/elements.next");
    /* The plan and the chunks are asked for once; then it is not a moment but an hour later. */
    expect_code(0, WITH ANSWER("squeue", "usual \"$@\"") ANSWER("squeue", "usual \"$@\"")
                       ANSWER("squeue", JUMP_LATER) FARM "--chunk 3 && cmp rotation.pc2 whole.pc2 "
                                                         "&& test -s jump");
    assert_in_range(atoi(cell("rotation", "tasks")), 5, 6);
    expect_calls("^sacct .*--jobs=102_1 ", 1);
    /* A result that is no result, and one that is late. */
    expect_code(0, "rm -rf work rotation.pc2 jump slurm/calls; mkdir -p work/results && "
                   "echo '{\"code\": \"0\"}' >work/results/0-0.json");
    expect_code(0, WITH FARM "--chunk 3 && cmp rotation.pc2 whole.pc2");
}

static void shots_that_fail_three_times_say_why(void **state) {
    (void)state;
    use_slurm();
    static const char *const names[] = {"s0", "s1", "s2", "s3"};
    for (int i = 0; i < 4; i++) {
        char name[40], scene[600];
        snprintf(name, sizeof name, "%s.json", names[i]);
        snprintf(scene, sizeof scene, SCENE_TO("linear", "s%d", "0.1"), i);
        write_text(name, scene);
    }
    write_text("shots.json", MANIFEST(SHOT("s0") ", " SHOT("s1") ", " SHOT("s2") ", " SHOT("s3")));
    expect_code(0, "for i in 1 2 3; do printf '%%s\\n' 'TIMEOUT|TimeLimit' run "
                   "'OUT_OF_MEMORY|OutOfMemory' 'NODE_FAIL|None' | (test $i = 1 && cat && "
                   "echo run || grep -v run) >>slurm/elements.next; done; touch slurm/accounting");
    const run_result *r = expect_code(1, WITH FARM "--chunk 9");
    assert_non_null(strstr(r->err, "3 of 4 shots are incomplete"));
    expect_cell("s0", "reason", "slurm: the task ended as TIMEOUT (sacct: TIMEOUT|0:9|node7)");
    expect_cell("s1", "state", "done");
    expect_cell("s2", "reason",
                "slurm: the task ended as OUT_OF_MEMORY (sacct: OUT_OF_MEMORY|0:9|node7)");
    expect_cell("s3", "reason", "slurm: the task ended as NODE_FAIL (sacct: NODE_FAIL|0:9|node7)");
    expect_cell("s3", "tasks", "3");
    /* The next call computes what is missing. */
    expect_code(0, WITH "rm slurm/elements.next; " FARM "--chunk 9 && ls s0.pc2 s2.pc2 s3.pc2");
    expect_cell("s0", "reason", "");
    expect_cell("s1", "tasks", "2");
}

static void chunks_that_fail_three_times_are_named(void **state) {
    (void)state;
    write_shot();
    expect_code(0, "printf '%%s\\n' run run 'TIMEOUT|TimeLimit' run 'TIMEOUT|TimeLimit' "
                   "'NODE_FAIL|None' >slurm/elements.next");
    const run_result *r = expect_code(1, WITH FARM "--chunk 3");
    assert_non_null(strstr(r->err, "1 of 1 shots are incomplete"));
    expect_cell("rotation", "reason", "frames 3-5: slurm: the task ended as NODE_FAIL");
    expect_cell("rotation", "failed", "3");
    expect_cell("rotation", "done", "6");
    expect_cell("rotation", "state", "failed");
    expect_cell("rotation", "tasks", "6"); /* a plan, three chunks, one of them twice more */
    expect_code(0, "test ! -e rotation.pc2 && test $(ls work/rotation/parts/*.part | wc -l) = 2");
    expect_code(0, WITH FARM "--chunk 3 && cmp rotation.pc2 whole.pc2");
    expect_cell("rotation", "tasks", "2");
}

static void a_part_damaged_before_the_merge_is_computed_again(void **state) {
    (void)state;
    write_shot();
    /* The plan, the chunks, and then the merge. */
    expect_code(0, WITH ANSWER("sbatch", "usual \"$@\"") ANSWER("sbatch", "usual \"$@\"") ANSWER(
                       "sbatch", "printf X | dd of=work/rotation/parts/frames-000003-000005.part "
                                 "bs=1 seek=2006 conv=notrunc status=none; usual \"$@\"") FARM
                "--chunk 3 && cmp rotation.pc2 whole.pc2");
    expect_cell("rotation", "state", "done");
    /* A plan, three chunks, a merge; a plan that removes the part, and a chunk that merges. */
    expect_cell("rotation", "tasks", "7");
    expect_calls("^sbatch", 5);
}

static void the_time_that_is_left_is_said_in_its_unit(void **state) {
    (void)state;
    use_slurm();
    static const char *const rows[][2] = {{"null", "not known yet"}, {"0.4", "about 0 s"},
                                          {"89", "about 89 s"},      {"91", "about 2 min"},
                                          {"5399", "about 90 min"},  {"5400", "about 1.5 h"},
                                          {"86400", "about 24.0 h"}};
    expect_code(0, "mkdir work && touch work/farm.lock");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[600], line[200];
        snprintf(
            text, sizeof text,
            "{\"shots\": [{\"shot\": \"a\", \"state\": \"running\", \"frames\": 12, \"done\": 3, "
            "\"failed\": 1, \"seconds\": 7.25, \"reason\": \"\"}], \"running\": 2, \"waiting\": 5, "
            "\"elapsed_seconds\": 61, \"seconds_left\": %s}",
            rows[i][0]);
        write_text("work/farm.json", text);
        const run_result *r = expect_code(1, "flock work/farm.lock sinew farm status work");
        snprintf(line, sizeof line,
                 "a farm is running: 2 tasks running, 5 waiting, 61 s so far, time left: %s\n",
                 rows[i][1]);
        if (!strstr(r->out, line)) fail_msg("no %s in %s", line, r->out);
        expect_code(0, "flock work/farm.lock sinew farm status work | grep -q "
                       "'^a  *12  *3  *1  *7.2  *running'");
    }
    /* Nobody works: what was running has stopped. */
    expect_code(0, "sinew farm status work | grep -q '^a .* stopped'");
    write_text(
        "work/farm.json",
        "{\"shots\": [{\"shot\": \"a\", \"state\": \"done\"}, {\"shot\": \"b\", \"state\": \"not "
        "converged\", \"not_converged\": [[1, 1], [3, 7]], \"reason\": \"slack\"}]}");
    const run_result *r = expect_code(1, "sinew farm status work");
    assert_non_null(strstr(r->out, "slack; frames 1 3-7"));
    assert_non_null(strstr(r->err, "1 of 2 shots have frames that did not reach the tolerance"));
}

static void what_follows_a_lost_task_waits_for_it(void **state) {
    (void)state;
    use_slurm();
    write_text("a.json", SCENE("force", "a"));
    write_text("shots.json", MANIFEST(SHOT("a")));
    expect_code(0, "sinew run a.json --quiet --strict --out whole.pc2");
    /* The first chunk is lost. Slurm drops the second by itself, and would keep the third. */
    expect_code(0, "printf '%%s\\n' run 'NODE_FAIL|None' >slurm/elements.next; "
                   "printf '%%s\\n' 'CANCELLED|DependencyNeverSatisfied' "
                   "'PENDING|DependencyNeverSatisfied' >slurm/orphans.next");
    expect_code(0, WITH FARM "--chunk 3 && cmp a.pc2 whole.pc2");
    expect_calls("^scancel --quiet 104_0$", 1);
    expect_calls("^scancel", 1);
    expect_calls("^sbatch", 7);
    /* What never started is not counted: a plan, a lost chunk, three chunks. */
    expect_cell("a", "tasks", "5");
}

static void a_scheduler_that_does_not_answer_is_asked_again(void **state) {
    (void)state;
    static const char *const silences[] = {
        "echo \"sbatch: error: Unable to contact slurm controller (connect failure)\" >&2; exit 1",
        "echo \"sbatch: error: Batch job submission failed: Socket timed out\" >&2; exit 1",
        "echo \"Resource temporarily unavailable\" >&2; exit 1",
        "echo \"Protocol authentication error\" >&2; exit 1",
    };
    for (size_t i = 0; i < sizeof silences / sizeof *silences; i++) {
        write_shot();
        const run_result *r = expect_code(
            0, WITH "echo '%s' >slurm/sbatch.next; " FARM "--chunk 9 && cmp rotation.pc2 whole.pc2",
            silences[i]);
        if (!strstr(r->err, "trying for 300 seconds") || strchr(r->err, '\n')[1])
            fail_msg("%s: %s", silences[i], r->err);
        /* Did it get through after all? */
        expect_calls("^squeue .*--format=%F|%k$", 1);
        expect_calls("^sbatch", 3);
        expect_cell("rotation", "tasks", "2");
    }
    /* It did: the jobs are not submitted twice. */
    write_shot();
    expect_code(0, WITH
                "printf '%%s\\n' run 'PENDING|Held' >slurm/elements.next; "
                "for i in 1 2 3 4; do echo 'usual \"$@\"' >>slurm/squeue.next; done; " ANSWER(
                    "squeue", "release; usual \"$@\"") ANSWER("sbatch", "usual \"$@\"")
                    ANSWER("sbatch", "usual \"$@\" >/dev/null; echo \"sbatch: error: timed out\"; "
                                     "exit 1") FARM "--chunk 9 && cmp rotation.pc2 whole.pc2");
    expect_calls("^sbatch", 2);
    /* squeue is silent now and then: one warning each time. */
    write_shot();
    const run_result *r = expect_code(
        0, WITH "echo 'PENDING|Held' >slurm/elements.next; " ANSWER("squeue", "usual \"$@\"")
               ANSWER("squeue", "echo \"slurm_load_jobs error: Unable to contact\"; exit 1")
                   ANSWER("squeue", "exit 1") ANSWER("squeue", "kill -9 $$")
                       ANSWER("squeue", "release; usual \"$@\"") FARM "--chunk 9");
    assert_non_null(strstr(r->err, "squeue: slurm_load_jobs error: Unable to contact; trying for"));
    assert_ptr_equal(strstr(strstr(r->err, "trying") + 1, "trying"), NULL);
    /* The patience ends. */
    write_shot();
    r = expect_code(4, WITH "yes 'echo \"error: Unable to contact\"; exit 1' | head -9 "
                            ">slurm/sbatch.next; " FARM "--chunk 9 --patience 0.5");
    assert_non_null(strstr(r->err, "sbatch: error: Unable to contact; trying for "));
    expect_calls("^sbatch", 2);
    write_shot();
    expect_code(4, WITH "echo 'PENDING|Held' >slurm/elements.next; " ANSWER(
                       "squeue", "usual \"$@\"") "yes 'exit 1' | head -9 >>slurm/squeue.next; " FARM
                                                 "--chunk 9 --patience 0.5");
    expect_calls("^squeue", 3);
}

static void answers_that_are_refusals_end_the_farm(void **state) {
    (void)state;
    write_shot();
    static const char *const rows[][2] = {
        {"echo \"sbatch: error: invalid partition specified: x\" >&2; exit 1",
         "sbatch: sbatch: error: invalid partition specified: x"},
        {"printf \"first line\\\\nsecond\"; exit 1", "sbatch: first line"},
        {"exit 3", "sbatch: failed without a message"},
        {"echo; kill -9 $$", "sbatch: failed without a message"},
        {"echo Submitted batch job 7", "unexpected answer 'Submitted batch job 7"},
        {"echo 0", "unexpected answer '0"},
        {"echo -5", "unexpected answer '-5"},
        {"true", "unexpected answer ''"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_refusal(4, rows[i][1],
                       WITH "rm -rf work; printf '%%s\\n' '%s' >slurm/sbatch.next; " FARM
                            "--chunk 9",
                       rows[i][0]);
        assert_int_equal(files_with("rotation.pc2"), 0);
    }
    /* Warnings before the number are no mistake. */
    expect_code(0, WITH ANSWER("sbatch", "echo \"sbatch: warning: 3 is more than 2\"; "
                                         "usual \"$@\"; echo >&2") FARM
                "--chunk 9 && cmp rotation.pc2 whole.pc2");
    /* squeue before anything was submitted. */
    expect_refusal(4, "squeue: no", WITH "rm -rf work; " ANSWER("squeue", "echo no; exit 1") FARM);
    expect_code(0, "test ! -e work/results");
}

static void lines_that_are_not_of_the_queue_are_passed_over(void **state) {
    (void)state;
    write_shot();
    /* Before, between and after the lines of the elements, which still wait. */
    expect_code(
        0,
        WITH "echo 'PENDING|Held' >slurm/elements.next; " ANSWER(
            "squeue", "usual \"$@\"") "printf '%%s\\n' '%s' '%s' '%s' >>slurm/squeue.next; " FARM
                                      "--chunk 9 && cmp rotation.pc2 whole.pc2",
        "printf \"\\n\\n7\\n_\\n|\\n101_0\\n101_x|FAILED|\\n_0|FAILED|None\\n\"; usual \"$@\"",
        "usual \"$@\"; printf \"101_[1-3]|FAILED|None\\nx101_0|FAILED|None\\n99_0|FAILED|None\"",
        "release; usual \"$@\"; printf \"101_9|FAILED\\n101_0|\\n\"");
    expect_cell("rotation", "tasks", "2");
    expect_calls("^sbatch", 2);
}

static void a_full_queue_is_waited_for(void **state) {
    (void)state;
    use_slurm();
    write_text("a.json", SCENE("force", "a"));
    write_text("b.json", SCENE("linear", "b"));
    write_text("shots.json", MANIFEST(SHOT("a") ", " SHOT("b")));
    expect_code(0, "sinew run a.json --quiet --strict --out a-whole.pc2 && sinew run b.json "
                   "--quiet --strict --out b-whole.pc2");
#define NO_ROOM                                                                                    \
    "echo \"sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\" >&2; "  \
    "echo $$ >>slurm/asleep; exec sleep 1000"
    /* To the first call, and to the second chunk of the chain. */
    const run_result *r =
        expect_code(0, WITH ANSWER("sbatch", NO_ROOM) ANSWER("sbatch", "usual \"$@\"")
                           ANSWER("sbatch", "usual \"$@\"") ANSWER("sbatch", NO_ROOM) FARM
                    "--chunk 3 && cmp a.pc2 a-whole.pc2 && cmp b.pc2 b-whole.pc2");
    const char *warning = strstr(r->err, "waiting for room");
    if (!warning || strstr(warning + 1, "waiting for room")) fail_msg("warnings: %s", r->err);
    assert_non_null(strstr(r->err, "MaxJobCount"));
    /* Its sleep was ended. */
    expect_code(0, "test $(wc -l <slurm/asleep) = 2; for p in $(cat slurm/asleep); do "
                   "if kill -0 $p 2>/dev/null; then exit 1; fi; done");
    expect_cell("a", "tasks", "4"); /* nothing is counted twice */
}

static void jobs_of_an_earlier_farm_are_cancelled_first(void **state) {
    (void)state;
    write_shot();
    expect_code(0, WITH FARM "--chunk 9 && rm rotation.pc2 slurm/calls");
    /* Two are left in the queue; another farm's and those that ended do not count. */
    expect_code(0, "name=$(cut -d'|' -f3 slurm/jobs/101_0); for i in 'PENDING|Priority' "
                   "'RUNNING|None' 'TIMEOUT|None'; do n=$((n + 1)); echo \"$i|$name|0\" "
                   ">slurm/jobs/90_$n; done; echo 'RUNNING|None|other|0' >slurm/jobs/91_0");
    const run_result *r = expect_code(0, WITH FARM "--chunk 9 && cmp rotation.pc2 whole.pc2");
    assert_non_null(strstr(r->err, "cancelling 2 jobs that an earlier farm left in Slurm"));
    expect_calls("^scancel --quiet --name=sinew-[0-9a-f]*$", 1);
    expect_calls("^scancel", 1);
    expect_code(0, "grep -q RUNNING slurm/jobs/91_0 && grep -q CANCELLED slurm/jobs/90_1 && "
                   "grep -q CANCELLED slurm/jobs/90_2 && grep -q TIMEOUT slurm/jobs/90_3");
    /* A node that does not answer holds on to a job: the farm works beside it. */
    expect_code(0, "name=$(cut -d'|' -f3 slurm/jobs/101_0); rm rotation.pc2 slurm/calls; "
                   "echo \"COMPLETING|None|$name|0\" >slurm/jobs/92_0");
    r = expect_code(0, WITH ANSWER("squeue", JUMP_LATER) FARM
                    "--chunk 9 && cmp rotation.pc2 whole.pc2");
    assert_non_null(strstr(r->err, "1 jobs of an earlier farm could not be cancelled"));
    expect_calls("^scancel", 1);
}

static void a_task_beyond_its_time_limit_is_cancelled(void **state) {
    (void)state;
    write_shot();
    expect_code(0, "printf '%%s\\n' run 'RUNNING|None' >slurm/elements.next");
    expect_code(0, WITH ANSWER("squeue", "usual \"$@\"") ANSWER("squeue", "usual \"$@\"")
                       ANSWER("squeue", JUMP_LATER) FARM
                "--chunk 9 --time 1 && cmp rotation.pc2 whole.pc2");
    expect_calls("^scancel --quiet 102_0$", 1);
    expect_calls("^scancel", 1);
    expect_cell("rotation", "tasks", "3");
}

static void an_interrupt_cancels_the_jobs(void **state) {
    (void)state;
    write_shot();
    expect_code(0, "printf '%%s\\n' run run 'PENDING|Held' 'RUNNING|None' >slurm/elements.next");
    expect_refusal(130, "interrupted",
                   WITH ANSWER("squeue", "usual \"$@\"") ANSWER("squeue", "usual \"$@\"")
                       ANSWER("squeue", "usual \"$@\"; kill -INT $PPID") FARM "--chunk 3");
    expect_code(0,
                "i=0; until grep -q CANCELLED slurm/jobs/102_1 && "
                "grep -q CANCELLED slurm/jobs/102_2; do i=$((i + 1)); test $i -lt 600 || exit 1; "
                "sleep 0.05; done; test $(ls work/rotation/parts/*.part | wc -l) = 1");
    expect_calls("^scancel --quiet --name=sinew-[0-9a-f]*$", 1);
    expect_code(0, WITH "ls -i work/rotation/parts/*.part >before; " FARM
                        "--chunk 3 && cmp rotation.pc2 whole.pc2 && "
                        "ls -i work/rotation/parts/*.part | grep -q -f before");
    /* While sbatch is silent, and while a job of an earlier farm is waited for. */
    expect_refusal(130, "interrupted",
                   WITH "rm -rf work; " ANSWER("sbatch", "kill -INT $PPID; exec sleep 1000") FARM);
    expect_refusal(143, "interrupted",
                   WITH "rm -rf work; " ANSWER("squeue", "kill -TERM $PPID; exec sleep 1000") FARM);
}

static void a_program_that_hangs_is_killed(void **state) {
    (void)state;
    write_shot();
    expect_code(0, "echo 'PENDING|Held' >slurm/elements.next");
    /* It sleeps, and half a minute passes. */
    const run_result *r = expect_code(
        0, WITH ANSWER("squeue", "usual \"$@\"")
               ANSWER("squeue", "echo $$ >slurm/asleep; printf x >>jump; exec sleep 1000")
                   ANSWER("squeue", "release; usual \"$@\"") FARM
        "--chunk 9 && cmp rotation.pc2 whole.pc2 && "
        "if kill -0 $(cat slurm/asleep) 2>/dev/null; then exit 9; fi");
    assert_non_null(strstr(r->err, "squeue: no answer within 30 seconds; trying for"));
}

static void tasks_leave_their_outcome_in_a_file(void **state) {
    (void)state;
    use_slurm();
    expect_code(0, "mkdir r");
    static const char batch[] =
        "{\"tasks\": ["
        "{\"words\": [\"sinew\", \"help\"], \"log\": \"l0\", \"result\": \"r/0\"},"
        "{\"words\": [\"sinew\", \"info\", \"none.obj\"], \"log\": \"l1\", \"result\": \"r/1\"},"
        "{\"words\": [\"sinew\", 7], \"log\": \"l2\", \"result\": \"r/2\"},"
        "{\"words\": [], \"log\": \"l3\", \"result\": \"r/3\"},"
        "{\"words\": [\"sinew\"], \"result\": \"r/4\"},"
        "{\"words\": [\"sinew\"], \"log\": \"l5\"},"
        "null,"
        "{\"words\": [\"sinew\", \"help\"], \"log\": \"link\", \"result\": \"r/7\"},"
        "{\"words\": [\"sinew\", \"help\"], \"log\": \"none/log\", \"result\": \"r/8\"},"
        "{\"words\": [\"sinew\", \"help\"], \"log\": \"l9\", \"result\": \"none/9\"}]}";
    write_text("batch.json", batch);
    const run_result *r = expect_code(0, "sinew farm task batch.json 0; cat r/0; test ! -s l0");
    assert_non_null(strstr(r->out, "\"code\": 0"));
    assert_non_null(strstr(r->out, "\"killed\": false"));
    expect_code(0, "python3 -c 'import json; d = json.load(open(\"r/0\")); "
                   "assert 0 < d[\"seconds\"] < 1000 and 0 < d[\"processor\"] < 1000'");
    expect_refusal(4, "ended with code 4|see l1", "sinew farm task batch.json 1");
    expect_code(0, "grep -q '\"code\": 4' r/1 && grep -q none.obj l1");
    for (int i = 2; i < 7; i++)
        expect_refusal(3, "not the batch file of a farm, or it has no task",
                       "sinew farm task batch.json %d", i);
    expect_refusal(3, "it has no task 10", "sinew farm task batch.json 10");
    expect_refusal(2, "'-1' is not the number", "sinew farm task -- batch.json -1");
    expect_refusal(2, "'' is not the number", "sinew farm task batch.json ''");
    expect_refusal(2, "'0x' is not the number", "sinew farm task batch.json 0x");
    expect_refusal(4, "none", "sinew farm task none.json 0");
    /* A log that is a link is not written through it. */
    expect_refusal(4, "link: cannot write",
                   "echo keep >kept; ln -s kept link; "
                   "sinew farm task batch.json 7");
    expect_refusal(4, "none/log: cannot write", "sinew farm task batch.json 8");
    expect_refusal(4, "none/9", "sinew farm task batch.json 9");
    expect_code(0, "grep -qx keep kept && test ! -e r/7 && test ! -e r/8");
    write_text("bad.json", "{\"tasks\": [");
    expect_refusal(3, "bad.json", "sinew farm task bad.json 0");
}

static void paths_for_other_machines_are_utf8(void **state) {
    (void)state;
    write_shot();
    const run_result *r = expect_code(
        3,
        WITH "d=$(printf 'a\\377b'); mkdir \"$d\"; cp *.json \"$d\"; cd \"$d\"; " FARM "--chunk 9");
    assert_non_null(strstr(r->err, "valid UTF-8"));
    expect_code(0, "cd a*b && sinew farm shots.json --out work --chunk 9 --no-sheets && "
                   "cmp rotation.pc2 ../whole.pc2");
}

int test_farm_slurm(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_arrays_compute_what_single_runs_compute),
        cmocka_unit_test(arrays_are_as_short_as_slurm_demands),
        cmocka_unit_test(lost_elements_run_again),
        cmocka_unit_test(a_part_that_is_missing_although_its_job_completed_is_computed_again),
        cmocka_unit_test(shots_that_fail_three_times_say_why),
        cmocka_unit_test(chunks_that_fail_three_times_are_named),
        cmocka_unit_test(a_part_damaged_before_the_merge_is_computed_again),
        cmocka_unit_test(the_time_that_is_left_is_said_in_its_unit),
        cmocka_unit_test(what_follows_a_lost_task_waits_for_it),
        cmocka_unit_test(a_scheduler_that_does_not_answer_is_asked_again),
        cmocka_unit_test(answers_that_are_refusals_end_the_farm),
        cmocka_unit_test(lines_that_are_not_of_the_queue_are_passed_over),
        cmocka_unit_test(a_full_queue_is_waited_for),
        cmocka_unit_test(jobs_of_an_earlier_farm_are_cancelled_first),
        cmocka_unit_test(a_task_beyond_its_time_limit_is_cancelled),
        cmocka_unit_test(an_interrupt_cancels_the_jobs),
        cmocka_unit_test(a_program_that_hangs_is_killed),
        cmocka_unit_test(tasks_leave_their_outcome_in_a_file),
        cmocka_unit_test(paths_for_other_machines_are_utf8),
    };
    return cmocka_run_group_tests_name("farm_slurm", tests, NULL, NULL);
}
