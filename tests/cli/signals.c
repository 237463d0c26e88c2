/* A signal ends every verb at once and leaves nothing. */
#include "support.h"

#include "command.h"
#include "groups.h"

/* Runs the command in the background, sends the signal when it is at work, and checks that it ends
 * with the code within the time. Under a sanitizer or on a busy machine times are longer: the limit
 * is far below what the work itself would take. Returns 0 for a command that was done before. */
static int expect_stop(const char *command, int signal_number, int patience_ms) {
    const run_result *r = sh("sinew %s >/dev/null 2>words & p=$!\n"
                             "sleep 0.4; kill -%d $p 2>/dev/null || exit 9; a=$(date +%%s%%N)\n"
                             "wait $p; c=$?; b=$(date +%%s%%N); echo $c $(( (b - a) / 1000000 ))",
                             command, signal_number);
    int code, waited;
    if (r->code == 9 || (sscanf(r->out, "%d", &code) == 1 && code == 0)) {
        expect_code(0, "rm -rf big*");
        return 0;
    }
    assert_int_equal(sscanf(r->out, "%d %d", &code, &waited), 2);
    if (code != 128 + signal_number) fail_msg("%s: exit %d, '%s'", command, code, r->out);
    if (waited > patience_ms) fail_msg("%s: ended after %d ms", command, waited);
    /* A signal on a crowded machine may come before the command has begun. */
    if (sh("test -s words")->code != 0) {
        expect_code(0, "rm -rf big*");
        return 0;
    }
    /* Warnings may come before it. */
    if (sh("tail -n 1 words | grep -q interrupted && rm words")->code != 0)
        fail_msg("%s: '%s'", command, sh("cat words")->out);
    return 1;
}

static void every_long_verb_stops_and_leaves_nothing(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample face --out face --vertices 3000 --quiet && sinew blend face "
                   "--curves face/clip.csv --out long.pc2 --quiet && mkdir tmp");
    static const char *const commands[] = {
        "sample face --vertices 200000 --out big",
        "render face --size 8000x8000 --out big.png",
        "convert long.pc2 --mesh face/neutral.obj --out big.usda",
        "render long.pc2 --mesh face/neutral.obj --size 1280x720 --out big.mp4",
        "blend --sample face --vertices 60000 --model spring --curves face/clip.csv --out big.pc2",
        "modal --sample blob --vertices 60000 --poses neutral,squash --out big.pc2",
    };
    int stopped = 0;
    setenv("SINEW_CACHE", "off", 1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char command[512];
        snprintf(command, sizeof command, "%s", commands[i]);
        stopped += expect_stop(command, i % 2 ? 15 : 2, 3000);
        assert_int_equal(files_with("big"), 0);
        assert_int_equal(files_with(".sinew"), 0);
    }
    unsetenv("SINEW_CACHE");
    assert_true(stopped >= 3);
}

int test_signals(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_long_verb_stops_and_leaves_nothing),
    };
    return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
