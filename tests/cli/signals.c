/* A signal ends every verb at once and leaves nothing. */
#include "support.h"

#include "command.h"
#include "groups.h"

/* The signal comes when the command has worked for 0.3 s of processor time, a fraction of what it
 * needs: not before it has begun, and not after its end. */
static void expect_stop(const char *command, int signal_number) {
    const run_result *r =
        sh("INTERRUPT=%d:300 LD_PRELOAD=$MOMENTS sinew %s >/dev/null", signal_number, command);
    if (r->code != 128 + signal_number) fail_msg("%s: exit %d, '%s'", command, r->code, r->err);
    size_t length = strlen(r->err); /* warnings may come before it */
    const char *last = r->err + length;
    while (last > r->err + 1 && (last[-1] != '\n' || last == r->err + length)) last--;
    if (!strstr(last, "interrupted")) fail_msg("%s: '%s'", command, r->err);
}

static void every_long_verb_stops_and_leaves_nothing(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample face --out face --vertices 3000 --quiet && sinew blend face "
                   "--curves face/clip.csv --out long.pc2 --quiet && mkdir tmp");
    /* 60000 frames, most of them a hole */
    expect_code(0,
                "cp long.pc2 hole.pc2 && python3 -c \"import struct; f = open('hole.pc2', 'r+b'); "
                "points, = struct.unpack_from('<i', f.read(32), 16); f.seek(28); "
                "f.write(struct.pack('<i', 60000)); f.truncate(32 + 60000 * 12 * points)\"");
    static const char *const commands[] = {
        "sample face --vertices 200000 --out big",
        "render face --size 8000x8000 --out big.png",
        "convert hole.pc2 --mesh face/neutral.obj --out big.usda",
        "render long.pc2 --mesh face/neutral.obj --size 1280x720 --out big.mp4",
        "blend --sample face --vertices 60000 --model spring --curves face/clip.csv --out big.pc2",
        "modal --sample blob --vertices 60000 --poses neutral,squash --out big.pc2",
    };
    use_moments();
    setenv("SINEW_CACHE", "off", 1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect_stop(commands[i], i % 2 ? 15 : 2);
        assert_int_equal(files_with("big"), 0);
        assert_int_equal(files_with(".sinew"), 0);
    }
    unsetenv("SINEW_CACHE");
}

/* An end that takes longer than the patience of the thread that waits for it: both remove what is
 * unfinished, and neither leaves the rest to the other. */
static void a_slow_end_leaves_nothing_either(void **state) {
    (void)state;
    fresh_folder();
    use_moments();
    expect_code(0, "sinew sample bar --vertices 1000 --out bar --quiet");
    expect_code(143, "INTERRUPT=15:60 SLOW=8 LD_PRELOAD=$MOMENTS sinew blend bar --steps 5000 "
                     "--threads 2 --out o.obj >/dev/null 2>&1");
    assert_int_equal(files_with("o."), 0);
    assert_int_equal(files_with(".sinew"), 0);
}

/* The frames of a take are kept beside its video while that is drawn. */
static void a_slow_end_removes_temporary_frames(void **state) {
    (void)state;
    fresh_folder();
    use_moments();
    write_text("take.csv", "time_s,bend120\n0,0\n1,0.1\n");
    expect_code(0, "sinew sample bar --vertices 1000 --out bar --quiet");
    expect_code(130, "INTERRUPT=2:700 SLOW=1000:frames.pc2 LD_PRELOAD=$MOMENTS sinew play bar "
                     "take.csv --fps 6 --size 3840x2160 --threads 1 --quiet >/dev/null 2>&1");
    assert_int_equal(files_with("take.mp4"), 0);
}

int test_signals(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_long_verb_stops_and_leaves_nothing),
        cmocka_unit_test(a_slow_end_leaves_nothing_either),
        cmocka_unit_test(a_slow_end_removes_temporary_frames),
    };
    return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
