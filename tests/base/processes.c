/* Other programs: found, run under limits, ended. */
#include "support.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "groups.h"
#include "sinew/memory.h"

static sinew_error error;

/* A line for the shell; the exit status, or the negated signal. */
static sinew_status run(const char *line, double seconds, size_t memory,
                        const sinew_monitor *monitor, int *outcome) {
    const char *arguments[] = {"sh", "-c", line, NULL};
    sn_process_limits limits = {seconds, memory};
    return sn_process_run("/bin/sh", arguments, &limits, monitor, outcome, &error);
}

static void the_end_of_a_program_is_told(void **state) {
    (void)state;
    int outcome = -99;
    assert_ok(run("exit 0", 60, 0, NULL, &outcome));
    assert_int_equal(outcome, 0);
    assert_ok(run("sleep 0.05; exit 7", 60, 0, NULL, &outcome)); /* one that has to be awaited */
    assert_int_equal(outcome, 7);
    assert_ok(run("kill -TERM $$", 60, 0, NULL, &outcome));
    assert_int_equal(outcome, -SIGTERM);
    const char *arguments[] = {"nothing", NULL};
    sn_process_limits limits = {60, 0};
    assert_int_equal(sn_process_run("/nowhere/nothing", arguments, &limits, NULL, &outcome, &error),
                     SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "/nowhere/nothing cannot be started: No such file"));
}

static void a_program_runs_without_our_input_and_output(void **state) {
    (void)state;
    int outcome;
    assert_ok(
        run("read line && exit 1; test -c /dev/fd/1 && test -c /dev/fd/2", 60, 0, NULL, &outcome));
    assert_int_equal(outcome, 0);
}

static void a_program_that_takes_too_long_is_ended(void **state) {
    (void)state;
    int outcome;
    assert_int_equal(run("sleep 1000", 0.05, 0, NULL, &outcome), SINEW_NOT_CONVERGED);
    assert_non_null(strstr(error.message, "/bin/sh did not finish within 0.05 s"));
}

static void limits_of_a_program_are_those_given(void **state) {
    (void)state;
    int outcome;
    char path[400], line[1000];
    snprintf(path, sizeof path, "%s/limits", test_folder());
    /* the limits are set once the program runs, so it waits for them */
    snprintf(
        line, sizeof line,
        "until [ $(ulimit -v) = 1048576 ]; do :; done; { ulimit -c; ulimit -t; ulimit -v; } >%s",
        path);
    assert_ok(run(line, 30.5, (size_t)1 << 30, NULL, &outcome));
    assert_int_equal(outcome, 0);
    char *text;
    size_t size;
    assert_ok(sn_file_read(path, &text, &size, &error));
    assert_string_equal(text, "0\n32\n1048576\n");
    sn_free(text);
    /* ours is lower: it stays */
    struct rlimit ours, lower;
    assert_int_equal(getrlimit(RLIMIT_CPU, &ours), 0);
    lower = ours;
    if (ours.rlim_max == RLIM_INFINITY || ours.rlim_max > 5000) {
        pid_t child = fork(); /* a hard limit cannot be raised again */
        if (child == 0) {
            lower.rlim_cur = lower.rlim_max = 5000;
            setrlimit(RLIMIT_CPU, &lower);
            bool good =
                run("until [ $(ulimit -c) = 0 ]; do :; done; sleep 0.1; [ $(ulimit -t) = 5000 ]",
                    9000, 0, NULL, &outcome) == SINEW_OK &&
                outcome == 0;
            _exit(good ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static bool second_time(void *user) {
    return ++*(int *)user > 1;
}

static void cancelling_ends_the_program(void **state) {
    (void)state;
    int outcome, polls = 0;
    sinew_monitor monitor = {.cancelled = second_time, .user = &polls};
    assert_int_equal(run("sleep 1000", 2000, 0, &monitor, &outcome), SINEW_CANCELLED);
    assert_int_equal(polls, 2);
}

static void programs_are_found_in_the_search_path(void **state) {
    (void)state;
    char *path, folder[400], program[500], list[1000], *kept = strdup(getenv("PATH"));
    snprintf(folder, sizeof folder, "%s/programs", test_folder());
    snprintf(program, sizeof program, "%s/own-tool", folder);
    mkdir(folder, 0755);
    assert_ok(sn_file_write(program, "#!/bin/sh\n", 10, &error));
    snprintf(list, sizeof list, "/nowhere:%s:/bin", folder);
    setenv("PATH", list, 1);
    assert_true(sn_find_program("own-tool", &path));
    assert_null(path); /* it cannot be executed yet */
    chmod(program, 0755);
    assert_true(sn_find_program("own-tool", &path));
    assert_string_equal(path, program);
    sn_free(path);
    assert_true(sn_find_program("sh", &path)); /* the last folder */
    assert_string_equal(path, "/bin/sh");
    sn_free(path);
    assert_true(sn_find_program("programs", &path)); /* a folder is no program */
    assert_null(path);
    assert_true(sn_find_program(program, &path)); /* with a slash: as it is */
    assert_string_equal(path, program);
    sn_free(path);
    assert_true(sn_find_program(folder, &path));
    assert_null(path);
    setenv("PATH", "", 1); /* the usual folders */
    assert_true(sn_find_program("sh", &path));
    assert_non_null(path);
    sn_free(path);
    char *here = getcwd(NULL, 0);
    assert_int_equal(chdir(folder), 0);
    setenv("PATH", "/nowhere::/bin", 1); /* an empty entry is the folder we are in */
    assert_true(sn_find_program("own-tool", &path));
    assert_string_equal(path, "./own-tool");
    sn_free(path);
    assert_int_equal(chdir(here), 0);
    free(here);
    setenv("PATH", kept, 1);
    free(kept);
}

int test_processes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_program_is_told),
        cmocka_unit_test(a_program_runs_without_our_input_and_output),
        cmocka_unit_test(a_program_that_takes_too_long_is_ended),
        cmocka_unit_test(limits_of_a_program_are_those_given),
        cmocka_unit_test(cancelling_ends_the_program),
        cmocka_unit_test(programs_are_found_in_the_search_path),
    };
    return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
