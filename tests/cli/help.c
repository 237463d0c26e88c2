#include "support.h"

#include "command.h"
#include "groups.h"

/* The verbs that `sinew help` lists, as names in one string each. */
static int list_verbs(char names[64][32]) {
    char text[8192];
    snprintf(text, sizeof text, "%.8000s", expect_code(0, "sinew help")->out);
    int count = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (!strncmp(line, "  ", 2) && line[2] != ' ' && count < 64)
            sscanf(line, " %31s", names[count++]);
    return count;
}

static void every_verb_has_help_and_a_man_page(void **state) {
    (void)state;
    fresh_folder();
    char names[64][32];
    int count = list_verbs(names);
    assert_true(count >= 7);
    for (int i = 0; i < count; i++) {
        const run_result *r = expect_code(0, "sinew %s --help", names[i]);
        assert_non_null(strstr(r->out, "Usage: sinew "));
        assert_non_null(strstr(r->out, "--report"));
        assert_non_null(strstr(r->out, "Example:\n"));
        r = expect_code(0, "sinew help --man %s", names[i]);
        assert_int_equal(strncmp(r->out, ".TH SINEW\\-", 11), 0);
        assert_non_null(strstr(r->out, ".SH EXAMPLE"));
    }
    expect_code(0, "sinew help --man");
}

/* Verbs whose example cannot run in a test: they serve until stopped. */
static int serves(const char *verb) {
    return !strcmp(verb, "studio");
}

static void the_examples_run(void **state) {
    (void)state;
    fresh_folder();
    char names[64][32];
    int count = list_verbs(names);
    for (int i = 0; i < count; i++) {
        if (serves(names[i])) continue;
        fresh_folder();
        char text[16384];
        snprintf(text, sizeof text, "%.16000s", expect_code(0, "sinew %s --help", names[i])->out);
        char *example = strstr(text, "Example:\n");
        assert_non_null(example);
        char *end = strstr(example, "\n\n"); /* options follow */
        assert_non_null(end);
        *end = 0;
        int commands = 0;
        for (char *line = strtok(example + 9, "\n"); line; line = strtok(NULL, "\n")) {
            while (*line == ' ') line++;
            if (!*line) continue;
            assert_int_equal(strncmp(line, "sinew ", 6), 0);
            expect_code(0, "%s", line);
            commands++;
        }
        assert_true(commands > 0);
    }
}

int test_help(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_has_help_and_a_man_page),
        cmocka_unit_test(the_examples_run),
    };
    return cmocka_run_group_tests_name("help", tests, NULL, NULL);
}
