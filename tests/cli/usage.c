#include "support.h"

#include <unistd.h>

#include "command.h"
#include "groups.h"

static void mistakes_in_the_call_are_exit_2_with_a_hint(void **state) {
    (void)state;
    fresh_folder();
    expect_refusal(2, "unknown verb 'blnd'; did you mean 'blend'?", "sinew blnd");
    expect_refusal(2, "sinew blend: unknown option '--wieghts'; did you mean '--weights'?",
                   "sinew blend --wieghts a=1");
    expect_refusal(2, "--steps needs a value: N", "sinew blend --steps");
    expect_refusal(2, "--steps must be a whole number, not 'x'", "sinew blend --steps x");
    expect_refusal(2, "--steps must be a whole number, not '1.5'", "sinew blend --steps=1.5");
    expect_refusal(2, "--steps must be between 1 and", "sinew blend --steps 0");
    expect_refusal(2, "--fps must be a number, not 'nan'", "sinew blend --fps nan");
    expect_refusal(2, "--quiet does not accept a value", "sinew blend --quiet=1");
    expect_refusal(2, "--steps is specified twice", "sinew blend --steps 1 --steps 2");
    expect_refusal(2, "--boundary must be one of free|static|pinned|anchor",
                   "sinew blend --boundary loose");
    expect_refusal(2, "unexpected argument 'b'", "sinew run a b");
    expect_refusal(2, "needs FILE...", "sinew info");
    expect_refusal(2, "needs RIG", "sinew blend");
    expect_refusal(2, "needs --weights, --curves or --steps", "sinew blend --sample bar");
    expect_refusal(2, "--weights: weight \"bend\": expected NAME=VALUE",
                   "sinew blend --sample bar --weights bend");
    expect_refusal(2, "--model must be one of linear|rotation|spring, not 'magic'",
                   "sinew blend --sample bar --model magic");
    expect_refusal(2, "--markers and --curves do not go together",
                   "sinew force --sample face --markers a.csv --curves b.csv");
    expect_refusal(2, "the model 'linear' has no --obstacle",
                   "sinew blend --sample bar --steps 1 --obstacle sphere:0,0,0,1");
    expect_refusal(2, "the model 'linear' has no --tolerance",
                   "sinew blend --sample bar --steps 1 --tolerance 1e-3");
    expect_refusal(2, "--frames: '3-2' is not a range of frames",
                   "sinew blend --sample bar --steps 1 --frames 3-2");
    assert_int_equal(files_with(""), 0);
}

static void the_bare_command_lists_its_verbs(void **state) {
    (void)state;
    fresh_folder();
    assert_non_null(strstr(expect_code(2, "sinew")->err, "blend"));
    assert_non_null(strstr(expect_code(0, "sinew help")->out, "measure"));
    assert_non_null(strstr(expect_code(0, "sinew --version")->out, "sinew 0."));
    assert_non_null(
        strstr(expect_code(0, "sinew blend --help --nonsense || true")->err, "nonsense"));
}

static void quiet_is_quiet_and_paths_may_look_like_options(void **state) {
    (void)state;
    fresh_folder();
    const run_result *r =
        expect_code(0, "sinew blend --sample bar --steps 1 --out=--odd.pc2 --quiet");
    assert_string_equal(r->out, "");
    assert_string_equal(r->err, "");
    assert_non_null(strstr(expect_code(0, "sinew info -- --odd.pc2")->out, "2 frames"));
}

static void a_full_output_device_is_not_success(void **state) {
    (void)state;
    fresh_folder();
    if (access("/dev/full", W_OK) != 0) skip();
    expect_code(4, "sinew help >/dev/full");
}

static void what_is_printed_does_not_end_up_in_a_file(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --vertices 1000 --quiet");
    static const char *const closed[] = {">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        int code = strstr(closed[i], ">&-") && *closed[i] != '2' ? 4 : 0;
        expect_code(code, "sinew render bar --turntable 0.1 --size 64x64 --out x.gif %s",
                    closed[i]);
        expect_code(0, "head -c 4 x.gif | grep -q GIF8 && rm x.gif");
    }
}

static void a_folder_that_fails_goes_even_without_a_spare_descriptor(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar --vertices 1000 --quiet");
    expect_refusal(4, "o/neutral.obj|Too many open files", "ulimit -n 4; sinew convert bar o");
    assert_int_equal(files_with(".sinew"), 0);
}

int test_usage(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_in_the_call_are_exit_2_with_a_hint),
        cmocka_unit_test(the_bare_command_lists_its_verbs),
        cmocka_unit_test(quiet_is_quiet_and_paths_may_look_like_options),
        cmocka_unit_test(a_full_output_device_is_not_success),
        cmocka_unit_test(what_is_printed_does_not_end_up_in_a_file),
        cmocka_unit_test(a_folder_that_fails_goes_even_without_a_spare_descriptor),
    };
    return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
