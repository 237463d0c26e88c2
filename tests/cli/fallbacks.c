/* A program that is missing or broken never changes a result in silence. */
#include "support.h"

#include "command.h"
#include "groups.h"

/* The command with PATH set so that no other program, or a broken tetgen, is found. */
static const char *const broken[] = {
    "PATH=$(dirname \"$(command -v sinew)\")",
    "PATH=$PWD/bad:$PATH",
    "PATH=$PWD/short:$PATH",
    "TMPDIR=/nowhere",
};

static void results_differ_only_with_a_word(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "mkdir bad short && printf '#!/bin/sh\\nexit 1\\n' >bad/tetgen && chmod +x "
                   "bad/tetgen");
    write_text("short/tetgen", "#!/bin/sh\necho 9 >${2%poly}1.node\necho 9 >${2%poly}1.ele\n");
    expect_code(0, "chmod +x short/tetgen");
    static const char *const commands[] = {
        "blend --sample blob --vertices 1000 --model spring --steps 1",
        "modal --sample blob --vertices 1000 --poses neutral,squash --modes 8",
    };
    setenv("SINEW_CACHE", "off", 1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (sh("sinew %s --out whole.pc2 --quiet", commands[i])->code != 0)
            expect_code(0, "sinew %s --out whole.pc2 --quiet", commands[i]);
        for (size_t k = 0; k < sizeof broken / sizeof *broken; k++) {
            const run_result *r = sh("(%s; export PATH TMPDIR; sinew %s --out other.pc2 --report "
                                     "r.json)",
                                     broken[k], commands[i]);
            if (r->code == 4) continue; /* refused: nothing to compare */
            assert_int_equal(r->code, 0);
            int warned = strstr(r->err, "warning: ") != NULL;
            if (sh("cmp whole.pc2 other.pc2")->code == 0) continue;
            if (!warned) fail_msg("%s, %s: another result without a word", commands[i], broken[k]);
            expect_code(0, "grep -A1 '\"fallbacks\": \\[' r.json | grep -q tetgen");
            expect_refusal(4, "tetgen",
                           "(%s; export PATH TMPDIR; sinew %s --out strict.pc2 --strict)",
                           broken[k], commands[i]);
            assert_int_equal(files_with("strict"), 0);
        }
    }
    unsetenv("SINEW_CACHE");
}

int test_fallbacks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_differ_only_with_a_word),
    };
    return cmocka_run_group_tests_name("fallbacks", tests, NULL, NULL);
}
