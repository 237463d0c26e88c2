/* Calls under a monitor and a limit of memory. */
#include "support.h"

#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "groups.h"

typedef struct listener {
    long questions, cancel_at; /* the answer is yes from that question on, counted from 1 */
    bool once;                 /* or at that question alone */
    double fraction;
    char stage[32];
    int reports, lines;
    char line[64];
    sinew_log_level level;
} listener;

static bool answer(void *user) {
    listener *l = user;
    l->questions++;
    return l->once ? l->questions == l->cancel_at : l->questions >= l->cancel_at;
}

static void report(double fraction, const char *stage, void *user) {
    listener *l = user;
    l->fraction = fraction, l->reports++;
    snprintf(l->stage, sizeof l->stage, "%s", stage);
}

static void keep_line(sinew_log_level level, const char *line, void *user) {
    listener *l = user;
    l->level = level, l->lines++;
    snprintf(l->line, sizeof l->line, "%s", line);
}

static sinew_monitor hear(listener *l) {
    return (sinew_monitor){.progress = report, .cancelled = answer, .log = keep_line, .user = l};
}

/* Whichever question the monitor answers with yes: once cancelled, a call stays cancelled. */
static void a_call_that_heard_of_a_cancel_is_cancelled(void **state) {
    (void)state;
    sinew_error error;
    sn_poll_always(true);
    for (long cancel_at = 1; cancel_at < 12; cancel_at++) {
        listener l = {.cancel_at = cancel_at, .once = true};
        sinew_monitor monitor = hear(&l);
        sn_call call;
        sn_call_begin(&call, &monitor);
        assert_int_equal(sn_scope_cancelled(), cancel_at == 1);
        bool heard = false;
        for (int i = 0; i < 3; i++) heard |= sn_interrupted();
        assert_int_equal(sn_scope_cancelled(), heard);
        assert_int_equal(heard, cancel_at <= 7); /* one at the start, two in each poll */
        void *block = sn_alloc(8, 8);
        assert_int_equal(block == NULL, heard || cancel_at == 8); /* allocations ask as well */
        sn_free(block);
        sinew_status status = sn_call_end(&call, SINEW_OK, &error);
        assert_int_equal(status, cancel_at <= l.questions ? SINEW_CANCELLED : SINEW_OK);
        assert_false(sn_scope_active() || sn_interruptible());
    }
    sn_poll_always(false);
}

static void a_cancel_hides_other_failures(void **state) {
    (void)state;
    sinew_error error;
    listener l = {.cancel_at = 1};
    sinew_monitor monitor = hear(&l);
    sn_call call;
    sn_call_begin(&call, &monitor);
    sn_log(&monitor, SINEW_LOG_LEVEL_FALLBACK, "not heard");
    assert_int_equal(l.lines, 0);
    assert_int_equal(sn_call_end(&call, SINEW_NO_MEMORY, &error), SINEW_CANCELLED);
    assert_string_equal(error.message, "cancelled");
    sn_log(&monitor, SINEW_LOG_LEVEL_FALLBACK, "heard\033 %d", 7);
    assert_int_equal(l.lines, 1);
    assert_int_equal(l.level, SINEW_LOG_LEVEL_FALLBACK);
    assert_null(strchr(l.line, '\033'));
    assert_non_null(strstr(l.line, " 7"));
    sn_call_begin(&call, NULL); /* no monitor changes nothing */
    assert_false(sn_scope_active());
    assert_int_equal(sn_call_end(&call, SINEW_IO, &error), SINEW_IO);
}

/* Blocks that are given back make room for others, up to the limit and no further. */
static void a_limit_of_memory_is_kept_to_the_byte(void **state) {
    (void)state;
    sinew_error error;
    sn_scope scope, inner;
    sn_scope_begin(&scope, NULL, 1000, NULL);
    assert_true(sn_scope_allows(0, 600));
    assert_true(sn_scope_allows(0, 400));
    assert_false(sn_scope_allows(0, 1));
    assert_true(sn_scope_allows(600, 100)); /* shrinks */
    assert_true(sn_scope_allows(0, 500));
    assert_false(sn_scope_allows(500, 501));
    assert_true(sn_scope_allows(500, 500));
    assert_true(sn_scope_allows(5000, 0)); /* a block from before the scope */
    assert_true(sn_scope_allows(0, 1000));
    assert_false(sn_scope_allows(0, 1));
    sn_scope_begin(&inner, NULL, 0, NULL); /* no limit of its own */
    assert_true(sn_scope_allows(0, 1 << 30));
    assert_int_equal(sn_scope_end(&inner, SINEW_OK, &error), SINEW_OK);
    assert_false(sn_scope_allows(0, 1));
    assert_int_equal(sn_scope_end(&scope, SINEW_BAD_INPUT, &error), SINEW_NO_MEMORY);
    assert_non_null(strstr(error.message, "1000 bytes"));
    assert_false(sn_scope_active());
    sn_scope_begin(&scope, NULL, 1000, NULL);
    assert_false(sn_scope_allows(0, 1001));
    assert_int_equal(sn_scope_end(&scope, SINEW_OK, &error), SINEW_OK); /* it managed without */
    sn_scope_begin(&scope, NULL, 1000, NULL);
    assert_int_equal(sn_scope_end(&scope, SINEW_BAD_INPUT, &error), SINEW_BAD_INPUT);
}

static void progress_names_the_stage_and_ends_at_one(void **state) {
    (void)state;
    sinew_error error;
    for (int good = 0; good < 2; good++) {
        listener l = {.cancel_at = 100};
        sinew_monitor monitor = hear(&l);
        sn_scope scope;
        sn_poll_always(true);
        sn_scope_begin(&scope, &monitor, 0, "reading");
        sn_scope_progress(0.25);
        assert_false(sn_scope_poll());
        assert_string_equal(l.stage, "reading");
        assert_close(l.fraction, 0.25, 0);
        assert_int_equal(l.reports, 1);
        sn_poll_always(false);
        sinew_status status = good ? SINEW_OK : SINEW_IO;
        assert_int_equal(sn_scope_end(&scope, status, &error), status);
        assert_close(l.fraction, good ? 1 : 0.25, 0);
        assert_int_equal(l.reports, 1 + good);
        assert_int_equal(l.questions, 2);
    }
    assert_false(sn_scope_poll() || sn_scope_cancelled() || sn_interrupted());
}

static void a_fallback_is_an_error_when_strict(void **state) {
    (void)state;
    sinew_error error;
    listener l = {.cancel_at = 100};
    sinew_monitor monitor = hear(&l);
    assert_int_equal(sn_fallback(&monitor, SINEW_IO, &error, "no %s", "mesher"), SINEW_OK);
    assert_string_equal(l.line, "no mesher");
    assert_int_equal(l.level, SINEW_LOG_LEVEL_FALLBACK);
    monitor.strict = true;
    assert_int_equal(sn_fallback(&monitor, SINEW_IO, &error, "no %s", "mesher"), SINEW_IO);
    assert_string_equal(error.message, "no mesher");
    assert_int_equal(l.lines, 1);
    assert_int_equal(sn_fallback(NULL, SINEW_IO, &error, "nobody hears"), SINEW_OK);
}

int test_scopes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_heard_of_a_cancel_is_cancelled),
        cmocka_unit_test(a_cancel_hides_other_failures),
        cmocka_unit_test(a_limit_of_memory_is_kept_to_the_byte),
        cmocka_unit_test(progress_names_the_stage_and_ends_at_one),
        cmocka_unit_test(a_fallback_is_an_error_when_strict),
    };
    return cmocka_run_group_tests_name("scopes", tests, NULL, NULL);
}
