/* Runs the acts of every public call (stage.h). `make test` fails one allocation of every path of
 * callers, and the first polls one by one and then some of the rest; SINEW_EVERY=1 fails every path
 * of every act (support.h), and SINEW_EVERY=sinew_modal_create each single step of that call. */
#include "stage.h"

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/scope.h"
#include "wrapped.h"

static stage the_stage;

/* ---- what the headers declare ---------------------------------------------------------------- */

typedef struct declaration {
    char name[64];
    bool allocates; /* it can fail, or returns memory */
    bool monitored;
} declaration;

enum { MOST = 2000 };
static declaration declared[MOST];
static int declared_count;

/* From SINEW_API to the semicolon. */
static void read_declaration(const char *text, size_t size) {
    char line[2048];
    size_t n = 0;
    for (size_t i = 0; i < size && n + 1 < sizeof line; i++)
        line[n++] = text[i] == '\n' ? ' ' : text[i];
    line[n] = '\0';
    char *bracket = strchr(line, '(');
    if (!bracket) return;
    char *end = bracket;
    while (end > line && end[-1] == ' ') end--;
    char *start = end;
    while (start > line && (start[-1] == '_' || (start[-1] >= 'a' && start[-1] <= 'z') ||
                            (start[-1] >= '0' && start[-1] <= '9')))
        start--;
    assert_true(declared_count < MOST);
    declaration *d = &declared[declared_count++];
    snprintf(d->name, sizeof d->name, "%.*s", (int)(end - start), start);
    bool memory = (start > line + 1 && start[-1] == '*') &&
                  (!strncmp(line, " char ", 6) || !strncmp(line, " void ", 6));
    d->allocates = strstr(bracket, "sinew_error *error") || memory;
    d->monitored = strstr(bracket, "const sinew_monitor *monitor") != NULL;
}

static void blank_comments(char *text) {
    for (char *c = strstr(text, "/*"); c; c = strstr(c, "/*")) {
        char *end = strstr(c, "*/");
        assert_non_null(end);
        memset(c, ' ', (size_t)(end + 2 - c));
    }
    for (char *c = text; c; c = strchr(c, '\n')) { /* preprocessor lines */
        if (*c == '\n') c++;
        if (*c == '#') memset(c, ' ', strcspn(c, "\n"));
    }
}

static void read_headers(void) {
    sinew_error error;
    const char *root = getenv("SINEW_SOURCE");
    char folder[4096], **names;
    int count;
    if (declared_count) return;
    snprintf(folder, sizeof folder, "%s/include/sinew", root ? root : ".");
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    for (int i = 0; i < count; i++) {
        char *path = sn_path_join(folder, names[i]), *text;
        size_t size;
        assert_ok(sn_file_read(path, &text, &size, &error));
        blank_comments(text);
        for (char *c = strstr(text, "SINEW_API "); c; c = strstr(c + 1, "SINEW_API ")) {
            char *body = c + strlen("SINEW_API"), *end = strchr(body, ';');
            if (end) read_declaration(body, (size_t)(end - body));
        }
        sn_free(text), sn_free(path);
    }
    sn_names_free(names, count);
}

static const declaration *find_declaration(const char *name) {
    for (int i = 0; i < declared_count; i++)
        if (!strcmp(declared[i].name, name)) return &declared[i];
    return NULL;
}

static void every_call_of_the_headers_has_an_act(void **state) {
    (void)state;
    read_headers();
    int missing = 0, needed = 0;
    for (int i = 0; i < declared_count; i++) {
        if (!declared[i].allocates) continue;
        needed++;
        bool found = false;
        for (const act *a = acts; a && !found; a = a->next)
            found = !strcmp(a->name, declared[i].name);
        if (!found) print_error("%s has no act in tests/calls\n", declared[i].name), missing++;
    }
    for (const act *a = acts; a; a = a->next)
        if (!find_declaration(a->name)) fail_msg("%s is in no public header", a->name);
    if (needed < 200) fail_msg("only %d calls were found in the headers", needed);
    assert_int_equal(missing, 0);
}

/* jansson takes from the same purse. */
static void *take(size_t size) {
    return sn_alloc(size, 1);
}

static sinew_status perform(const act *a, const sinew_monitor *monitor, sinew_error *error) {
    error->message[0] = '\0';
    sinew_status status = a->run(&the_stage, monitor, error);
    return status == SINEW_NOT_CONVERGED ? SINEW_OK : status;
}

/* ---- which steps are tried --------------------------------------------------------------------
 */

static bool asked_for(const act *a) {
    const char *asked = getenv("SINEW_EVERY");
    return !asked || strncmp(asked, "sinew_", 6) || !strcmp(asked, a->name);
}

/* SINEW_EVERY=1 */
static bool every_kind(void) {
    const char *asked = getenv("SINEW_EVERY");
    return asked && strncmp(asked, "sinew_", 6);
}

typedef struct steps {
    long total;
    const long *chosen; /* NULL: all, or a sample */
    int chosen_count, at;
} steps;

/* Of the steps of the last job. */
static steps plan(long total, bool by_path) {
    steps s = {.total = total};
    if (every_kind() || by_path) s.chosen_count = test_steps(&s.chosen);
    return s;
}

/* The next step to be tried; -1: none is left. */
static long next_step(steps *s, long n) {
    if (s->chosen) return s->at < s->chosen_count ? s->chosen[s->at++] : -1;
    /* 0 1 2 ... 7, and then ever larger steps */
    long next = n + (getenv("SINEW_EVERY") || n < 8 ? 1 : 1 + n / 2);
    return next < s->total ? next : -1;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* One try: 1 when it went wrong. */
static int fail_allocation(const act *a, long allowed, bool gap, long total) {
    sinew_error error;
    gap ? test_memory_gap(allowed) : test_memory_limit(allowed);
    sinew_status status = perform(a, NULL, &error);
    long lost = test_memory_restore().living;
    const char *alone = gap ? " alone" : "";
    bool good = status == SINEW_OK || status == SINEW_NO_MEMORY;
    if (lost)
        print_error("%s: %ld blocks are lost when allocation %ld of %ld fails%s\n", a->name, lost,
                    allowed, total, alone);
    if (!good)
        print_error("%s: allocation %ld of %ld fails%s: %s, %s\n", a->name, allowed, total, alone,
                    sinew_status_name(status), error.message);
    return lost || !good;
}

static void every_failed_allocation_is_reported(void **state) {
    (void)state;
    long tried = 0, wrong = 0;
    json_set_alloc_funcs(take, sn_free);
    if (every_kind()) sinew_set_threads(1); /* the same steps every time */
    for (const act *a = acts; a; a = a->next) {
        sinew_error error;
        if (!asked_for(a)) continue;
        sinew_status status = perform(a, NULL, &error); /* what is made once per process */
        if (status != SINEW_OK) {
            print_error("%s: %s\n", a->name, error.message), wrong++;
            continue;
        }
        test_memory_trace();
        status = perform(a, NULL, &error);
        test_memory_use whole = test_memory_restore();
        if (whole.living) print_error("%s: %ld blocks are lost\n", a->name, whole.living), wrong++;
        steps s = plan(LONG_MAX - whole.left, !getenv("SINEW_EVERY"));
        for (long n = next_step(&s, -1); n >= 0; n = next_step(&s, n)) {
            wrong += fail_allocation(a, n, false, s.total), tried++;
            if (getenv("SINEW_EVERY")) wrong += fail_allocation(a, n, true, s.total), tried++;
        }
        if (every_kind())
            print_message("%s: %d of %ld allocations\n", a->name, s.chosen_count, s.total);
    }
    sinew_set_threads(0);
    json_set_alloc_funcs(malloc, free);
    print_message("%ld failed allocations\n", tried);
    assert_int_equal(wrong, 0);
}

/* ---- cancellation ---------------------------------------------------------------------------- */

typedef struct countdown {
    long left, used;
    bool noted;
} countdown;

static bool count_down(void *user) {
    countdown *c = user;
    if (c->noted) test_step(c->used);
    c->used++;
    return c->left-- <= 0;
}

static void every_poll_can_cancel(void **state) {
    (void)state;
    long tried = 0, wrong = 0;
    read_headers();
    json_set_alloc_funcs(take, sn_free);
    sinew_set_threads(1);
    sn_poll_always(true); /* as often, however long it takes */
    for (const act *a = acts; a; a = a->next) {
        sinew_error error;
        const declaration *d = find_declaration(a->name);
        if (!d || !d->monitored || !asked_for(a)) continue;
        countdown c = {LONG_MAX, 0, every_kind()};
        test_steps_begin();
        sinew_monitor monitor = {.cancelled = count_down, .user = &c};
        if (perform(a, &monitor, &error) != SINEW_OK) continue; /* the test above says why */
        long total = c.used;
        steps s = plan(total, false);
        bool waits = !strcmp(a->name, "sinew_cache_enter"); /* only while another process builds */
        if (!total && !waits) print_error("%s never polls its monitor\n", a->name), wrong++;
        for (long polls = next_step(&s, -1); polls >= 0; polls = next_step(&s, polls)) {
            c = (countdown){.left = polls};
            test_memory_limit(LONG_MAX);
            sinew_status status = perform(a, &monitor, &error);
            long lost = test_memory_restore().living;
            tried++;
            /* The last poll may be too late to stop anything. Waiting for another program or thread
             * polls by time, so that fewer polls may be the last. */
            bool late = polls + 1 >= total || c.used <= polls;
            if (status == SINEW_OK && !late && c.used == polls + 1) {
                countdown again = {.left = LONG_MAX};
                monitor.user = &again;
                late = perform(a, &monitor, &error) == SINEW_OK && again.used != total;
                monitor.user = &c;
            }
            bool good = status == SINEW_CANCELLED || (status == SINEW_OK && late);
            if (!good)
                print_error("%s: cancelled at poll %ld of %ld: %s, %s\n", a->name, polls, total,
                            sinew_status_name(status), error.message);
            if (lost)
                print_error("%s: %ld blocks are lost when poll %ld of %ld cancels\n", a->name, lost,
                            polls, total);
            wrong += !good || lost;
        }
    }
    sn_poll_always(false);
    sinew_set_threads(0);
    json_set_alloc_funcs(malloc, free);
    print_message("%ld cancelled calls\n", tried);
    assert_int_equal(wrong, 0);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static char spoiled[200]; /* the call in progress */

static void note(const char *call, const char *about) {
    snprintf(spoiled, sizeof spoiled, "%s crashes: %s\n", call, about);
}

static void on_crash(int signal) {
    (void)signal;
    if (write(STDERR_FILENO, spoiled, strlen(spoiled)) < 0) _exit(2);
    _exit(1);
}

/* Calls that release or take over their first argument; without it the act would lose the object.
 */
static const char *const consuming[] = {"sinew_video_close", "sinew_rig_create",
                                        "sinew_frame_writer_finish", "sinew_frame_writer_close",
                                        "sinew_folder_finish"};

static bool consumes(const char *name, int argument) {
    for (size_t i = 0; argument == 0 && i < sizeof consuming / sizeof *consuming; i++)
        if (!strcmp(consuming[i], name)) return true;
    return false;
}

/* NULL is accepted where the header allows it, and is SINEW_MISUSE elsewhere. */
static void every_pointer_may_be_null(void **state) {
    (void)state;
    long tried = 0, wrong = 0, unmet = 0;
    struct sigaction action = {.sa_handler = on_crash}, before;
    sigaction(SIGSEGV, &action, &before);
    json_set_alloc_funcs(take, sn_free);
    for (const act *a = acts; a; a = a->next) {
        const wrapped_call *call = wrapped_calls;
        while (call->name && strcmp(call->name, a->name)) call++;
        for (int i = 0; call->name && i < call->count; i++, tried++) {
            sinew_error error;
            if (consumes(a->name, i)) continue;
            snprintf(spoiled, sizeof spoiled, "%s crashes when '%s' is NULL\n", a->name,
                     call->pointers[i]);
            wrapped = (struct wrapped){a->name, i, false};
            test_memory_limit(LONG_MAX);
            sinew_status status = perform(a, NULL, &error);
            long lost = test_memory_restore().living;
            unmet += !wrapped.met;
            if (!wrapped.met) print_error("the act of %s does not call it\n", a->name);
            if (status != SINEW_OK && status != SINEW_MISUSE)
                print_error("%s: '%s' is NULL: %s, %s\n", a->name, call->pointers[i],
                            sinew_status_name(status), error.message);
            if (lost)
                print_error("%s: %ld blocks are lost when '%s' is NULL\n", a->name, lost,
                            call->pointers[i]);
            wrong += (status != SINEW_OK && status != SINEW_MISUSE) || lost;
        }
    }
    wrapped.name = NULL;
    json_set_alloc_funcs(malloc, free);
    sigaction(SIGSEGV, &before, NULL);
    print_message("%ld pointers\n", tried);
    assert_int_equal(unmet, 0);
    assert_int_equal(wrong, 0);
}

static void questions_about_nothing_have_an_answer(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = on_crash}, before;
    sigaction(SIGSEGV, &action, &before);
    sinew_error error;
    sinew_rig *rig;
    assert_int_equal(wrapped_questions(&the_stage, note), 0);
    assert_int_equal(sinew_video_close(NULL, &error), SINEW_MISUSE);
    assert_int_equal(sinew_rig_create(NULL, &rig, &error), SINEW_MISUSE);
    assert_int_equal(sinew_frame_writer_finish(NULL, NULL, &error), SINEW_MISUSE);
    assert_int_equal(sinew_frame_writer_close(NULL, &error), SINEW_MISUSE);
    assert_int_equal(sinew_folder_finish(NULL, &error), SINEW_MISUSE);
    sigaction(SIGSEGV, &before, NULL);
}

int main(void) {
    stage_open(&the_stage);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_the_headers_has_an_act),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(every_poll_can_cancel),
        cmocka_unit_test(every_pointer_may_be_null),
        cmocka_unit_test(questions_about_nothing_have_an_answer),
    };
    int failed = cmocka_run_group_tests_name("calls", tests, NULL, NULL);
    stage_close(&the_stage);
    return failed != 0;
}
