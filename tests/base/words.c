/* Statuses and messages, monitors, small text forms, units. */
#include "support.h"

#include <time.h>

#include "base/forms.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/unit.h"
#include "groups.h"
#include "sinew/sinew.h"

static sinew_error error;

static void every_status_has_a_name(void **state) {
    (void)state;
    const char *seen[8];
    for (int s = 0; s < 8; s++) {
        seen[s] = sinew_status_name((sinew_status)s);
        assert_true(strcmp(seen[s], "unknown") != 0);
        for (int t = 0; t < s; t++) assert_true(strcmp(seen[s], seen[t]) != 0);
    }
    assert_string_equal(sinew_status_name(SINEW_OK), "ok");
    assert_string_equal(sinew_status_name(SINEW_MISUSE), "misuse");
    assert_string_equal(sinew_status_name((sinew_status)99), "unknown");
    assert_int_equal(sinew_version_number(), SINEW_VERSION_NUMBER);
    assert_string_equal(sinew_version(), SINEW_VERSION);
}

static void remember(const char *what, const char *function, void *user) {
    snprintf(user, 200, "%s in %s", what, function);
}

static sinew_status require_two(int number) {
    SN_REQUIRE(number == 2, &error);
    return SINEW_OK;
}

static void misuse_is_told_to_the_handler(void **state) {
    (void)state;
    char heard[200] = "";
    sinew_set_misuse_handler(remember, heard);
    assert_int_equal(require_two(2), SINEW_OK);
    assert_string_equal(heard, "");
    assert_int_equal(require_two(3), SINEW_MISUSE);
    assert_string_equal(heard, "number == 2 in require_two");
    assert_string_equal(error.message, "require_two: broken contract: number == 2");
    *heard = '\0';
    sinew_set_misuse_handler(NULL, NULL);
    assert_int_equal(require_two(3), SINEW_MISUSE);
    assert_string_equal(heard, "");
}

static void hosts_make_messages_too(void **state) {
    (void)state;
    assert_int_equal(sinew_fail(&error, SINEW_IO, "%s: %d\n", "disk", 7), SINEW_IO);
    assert_string_equal(error.message, "disk: 7?");
    assert_int_equal(error.status, SINEW_IO);
    assert_int_equal(sinew_fail(NULL, SINEW_IO, "nobody listens"), SINEW_IO);
    assert_int_equal(sinew_fail(&error, SINEW_UNAVAILABLE, NULL), SINEW_UNAVAILABLE);
    assert_string_equal(error.message, "unavailable");
    assert_int_equal(sinew_fail(&error, SINEW_NO_MEMORY, NULL), SINEW_NO_MEMORY);
    assert_string_equal(error.message, "out of memory");
    assert_int_equal(sn_fail(NULL, SINEW_BAD_INPUT, "x"), SINEW_BAD_INPUT);
}

static void a_limit_of_memory_holds_and_is_named(void **state) {
    (void)state;
    sinew_set_memory_limit(4 << 20);
    void *small = sn_alloc(1 << 20, 1);
    assert_non_null(small);
    assert_null(sn_alloc(8 << 20, 1));
    assert_int_equal(sn_no_memory(&error), SINEW_NO_MEMORY);
    assert_string_equal(error.message, "out of memory: the limit is 4 MB");
    assert_non_null(small = sn_realloc(small, 2 << 20, 1));
    assert_null(sn_alloc(3 << 20, 1));         /* together too much */
    assert_null(sn_alloc_aligned(3 << 20, 1)); /* whole large pages */
    sn_free(small);
    void *again = sn_alloc_aligned(1 << 19, 1); /* what was released counts no longer */
    assert_non_null(again);
    sn_free_aligned(again);
    assert_false(sn_memory_take(5 << 20));
    assert_true(sn_memory_take(3 << 20));
    sn_memory_give_back(3 << 20);
    sinew_set_memory_limit(0);
    assert_int_equal(sn_memory_limit_met(), 0);
    assert_true(sn_memory_take((size_t)1 << 60));
}

/* ---- monitors -------------------------------------------------------------------------------- */

typedef struct heard {
    int lines, polls;
    sinew_log_level level;
    char line[200];
    bool cancel;
} heard;

static void hear(sinew_log_level level, const char *line, void *user) {
    heard *h = user;
    h->lines++, h->level = level;
    snprintf(h->line, sizeof h->line, "%s", line);
}

static bool asked(void *user) {
    heard *h = user;
    h->polls++;
    return h->cancel;
}

static void logs_reach_the_host_printable(void **state) {
    (void)state;
    heard h = {.lines = 0};
    const sinew_monitor monitor = {.log = hear, .user = &h}, silent = {.user = &h};
    sn_log(&monitor, SINEW_LOG_LEVEL_WARNING, "%s: \x1b[2J", "name");
    assert_int_equal(h.lines, 1);
    assert_string_equal(h.line, "name: ?[2J");
    assert_int_equal(h.level, SINEW_LOG_LEVEL_WARNING);
    sn_log(NULL, SINEW_LOG_LEVEL_WARNING, "x");
    sn_log(&silent, SINEW_LOG_LEVEL_WARNING, "x");
    assert_int_equal(h.lines, 1);
}

static void a_fallback_is_a_log_line_or_an_error(void **state) {
    (void)state;
    heard h = {.lines = 0};
    sinew_monitor monitor = {.log = hear, .user = &h};
    assert_int_equal(sn_fallback(&monitor, SINEW_UNAVAILABLE, &error, "no %s", "mesher"), SINEW_OK);
    assert_string_equal(h.line, "no mesher");
    assert_int_equal(h.level, SINEW_LOG_LEVEL_FALLBACK);
    monitor.strict = true;
    assert_int_equal(sn_fallback(&monitor, SINEW_UNAVAILABLE, &error, "no %s", "mesher"),
                     SINEW_UNAVAILABLE);
    assert_string_equal(error.message, "no mesher");
    assert_int_equal(h.lines, 1);
    assert_int_equal(sn_fallback(NULL, SINEW_IO, &error, "x"), SINEW_OK);
}

static void inner_loops_ask_the_monitor_that_was_entered(void **state) {
    (void)state;
    heard h = {.lines = 0};
    const sinew_monitor monitor = {.cancelled = asked, .user = &h}, silent = {.user = &h};
    const struct timespec wait = {0, 3000000};
    assert_false(sn_interruptible());
    assert_false(sn_interrupted());
    const sinew_monitor *before = sn_monitor_enter(&monitor);
    assert_null(before);
    assert_true(sn_interruptible());
    nanosleep(&wait, NULL);
    assert_ok(sn_check_interrupt(&error));
    int polls = h.polls;
    assert_int_equal(polls, 1);
    const sinew_monitor *outer = sn_monitor_enter(&silent); /* nested: it cannot cancel */
    assert_ptr_equal(outer, &monitor);
    assert_false(sn_interruptible() || sn_interrupted());
    sn_monitor_leave(outer);
    h.cancel = true;
    nanosleep(&wait, NULL);
    assert_int_equal(sn_check_interrupt(&error), SINEW_CANCELLED);
    assert_true(h.polls > polls);
    sn_monitor_leave(before);
    assert_false(sn_interrupted());
    assert_true(sn_cancelled(&monitor));
    assert_false(sn_cancelled(NULL) || sn_cancelled(&silent));
}

/* ---- text forms ------------------------------------------------------------------------------ */

static void choices_are_whole_words(void **state) {
    (void)state;
    assert_int_equal(sn_choice_index("auto|cpu|gpu", "auto"), 0);
    assert_int_equal(sn_choice_index("auto|cpu|gpu", "gpu"), 2);
    assert_int_equal(sn_choice_index("auto|cpu|gpu", "gp"), -1);
    assert_int_equal(sn_choice_index("auto|cpu|gpu", "cpu|gpu"), -1);
    assert_int_equal(sn_choice_index("auto", ""), -1);
    size_t length;
    assert_memory_equal(sn_choice_at("auto|cpu|gpu", 1, &length), "cpu", 3);
    assert_int_equal(length, 3);
    assert_null(sn_choice_at("auto|cpu|gpu", 3, &length));
    assert_null(sn_choice_at("auto", 5, &length));
}

static void lists_of_numbers_end_where_they_should(void **state) {
    (void)state;
    double n[3] = {0};
    const char *end;
    assert_int_equal(sn_number_list("1, -2.5 ,3e1", 0, 3, n, NULL), 3);
    assert_true(n[0] == 1 && n[1] == -2.5 && n[2] == 30);
    assert_int_equal(sn_number_list("1,2,3,4", 0, 2, n, NULL), 4); /* two are stored */
    assert_true(n[2] == 30);
    assert_int_equal(sn_number_list("1,2:rest", ':', 3, n, &end), 2);
    assert_string_equal(end, ":rest");
    static const char *const bad[] = {"", "x", "1,", ",1", "1 2", "1,nan", "inf", "1;2", "1:2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sn_number_list(bad[i], 0, 3, n, NULL), -1);
}

static void lists_of_names_are_read_one_by_one(void **state) {
    (void)state;
    const char *list = " jaw open , b,,\tc \t", *name;
    static const char *const wanted[] = {"jaw open", "b", "c"};
    size_t length;
    for (int i = 0; i < 3; i++) {
        assert_true(sn_list_next(&list, &name, &length));
        assert_int_equal(length, strlen(wanted[i]));
        assert_memory_equal(name, wanted[i], length);
    }
    assert_false(sn_list_next(&list, &name, &length));
    assert_string_equal(list, ""); /* and it stays at the end */
    assert_false(sn_list_next(&list, &name, &length));
}

static void weights_are_read_one_by_one(void **state) {
    (void)state;
    const char *text = " smile =0.5, jaw=-1 ,x= 2";
    sn_weight_entry e;
    assert_ok(sn_weight_next(&text, &e, &error));
    assert_int_equal(e.name_length, 5);
    assert_memory_equal(e.name, "smile", 5);
    assert_true(e.value == 0.5);
    assert_ok(sn_weight_next(&text, &e, &error));
    assert_memory_equal(e.name, "jaw", 3);
    assert_true(e.value == -1);
    assert_ok(sn_weight_next(&text, &e, &error));
    assert_true(e.value == 2 && *text == '\0');
    static const char *const bad[][2] = {{"smile", "expected NAME=VALUE"},
                                         {"=1", "expected NAME=VALUE"},
                                         {"", "expected NAME=VALUE"},
                                         {"a=", "not a finite number"},
                                         {"a=nan", "not a finite number"},
                                         {"a=1x", "not a finite number"},
                                         {"a=1 2,b=1", "\"a=1 2\": the value is not"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text = bad[i][0];
        assert_int_equal(sn_weight_next(&text, &e, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, bad[i][1]));
        assert_ptr_equal(text, bad[i][0]);
    }
}

static void units_have_lengths(void **state) {
    (void)state;
    assert_true(sn_unit_metres("m") == 1 && sn_unit_metres("in") == 0.0254);
    assert_true(sn_unit_metres("parsec") == 0 && sn_unit_metres("") == 0);
    assert_string_equal(sn_unit_near(1.1), "m");
    assert_string_equal(sn_unit_near(0.0009), "mm");
    assert_string_equal(sn_unit_near(0.3048), "ft");
    assert_null(sn_unit_near(1000));
}

int test_words(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(misuse_is_told_to_the_handler),
        cmocka_unit_test(hosts_make_messages_too),
        cmocka_unit_test(a_limit_of_memory_holds_and_is_named),
        cmocka_unit_test(logs_reach_the_host_printable),
        cmocka_unit_test(a_fallback_is_a_log_line_or_an_error),
        cmocka_unit_test(inner_loops_ask_the_monitor_that_was_entered),
        cmocka_unit_test(choices_are_whole_words),
        cmocka_unit_test(lists_of_numbers_end_where_they_should),
        cmocka_unit_test(lists_of_names_are_read_one_by_one),
        cmocka_unit_test(weights_are_read_one_by_one),
        cmocka_unit_test(units_have_lengths),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
