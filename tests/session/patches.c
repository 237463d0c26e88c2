/* JSON Patch on a session: all or nothing, with an exact inverse. */
#include "support.h"

#include <locale.h>
#include <time.h>

#include "groups.h"
#include "scenes.h"

static sinew_error error;

static sinew_session *session_of(const char *text) {
    sinew_scene *scene;
    sinew_session *session;
    assert_ok(sinew_scene_parse(text, "s.json", NULL, &scene, &error));
    assert_ok(sinew_session_create(scene, NULL, &session, &error));
    sinew_scene_destroy(scene);
    return session;
}

static void assert_text(const sinew_session *session, const char *expected) {
    char *text;
    assert_ok(sinew_session_text(session, &text, &error));
    assert_string_equal(text, expected);
    sinew_free(text);
}

static void assert_value(const sinew_session *session, const char *pointer, const char *expected) {
    char *value;
    assert_ok(sinew_session_get(session, pointer, &value, &error));
    if (!expected)
        assert_null(value);
    else
        assert_string_equal(value, expected);
    sinew_free(value);
}

#define OBSTACLES                                                                                  \
    "{\"sinew\": 1, \"model\": \"spring\", \"obstacles\": [{\"shape\": \"sphere\", \"radius\": "   \
    "1}, "                                                                                         \
    "{\"shape\": \"box\"}, {\"shape\": \"plane\"}], \"weights\": {\"a\": 0.1, \"b\": 0.2, \"c\": " \
    "0.3}, \"steps\": 4, \"notes\": \"n\"}"

/* The old undo put an element back over its neighbor, and refused to undo an append. */
static void undo_gives_back_the_same_bytes(void **state) {
    (void)state;
    const char *patches[] = {
        "[{\"op\": \"remove\", \"path\": \"/obstacles/0\"}]",
        "[{\"op\": \"add\", \"path\": \"/obstacles/-\", \"value\": {\"shape\": \"box\"}}]",
        "[{\"op\": \"add\", \"path\": \"/obstacles/1\", \"value\": {\"shape\": \"box\"}}]",
        "[{\"op\": \"remove\", \"path\": \"/weights/a\"}]",
        "[{\"op\": \"remove\", \"path\": \"/model\"}]",
        "[{\"op\": \"remove\", \"path\": \"/weights\"}, {\"op\": \"remove\", \"path\": "
        "\"/obstacles\"}]",
        "[{\"op\": \"replace\", \"path\": \"/weights/b\", \"value\": 0.75}]",
        "[{\"op\": \"move\", \"from\": \"/obstacles/2\", \"path\": \"/obstacles/0\"}]",
        "[{\"op\": \"move\", \"from\": \"/weights/a\", \"path\": \"/weights/z\"}]",
        "[{\"op\": \"copy\", \"from\": \"/obstacles/1\", \"path\": \"/obstacles/0\"}]",
        "[{\"op\": \"test\", \"path\": \"/steps\", \"value\": 4.0}, {\"op\": \"add\", \"path\": "
        "\"/steps\", \"value\": 5}]",
        "[{\"op\": \"add\", \"path\": \"/parameters\", \"value\": {}}, {\"op\": \"add\", \"path\": "
        "\"/parameters/tolerance\", \"value\": 1e-3}]",
        "[]",
    };
    enum { COUNT = sizeof patches / sizeof *patches };
    sinew_session *session = session_of(OBSTACLES);
    char *first, *texts[COUNT + 1], *inverses[COUNT];
    assert_ok(sinew_session_text(session, &first, &error));
    for (int i = 0; i < COUNT; i++) { /* one by one */
        char *inverse;
        assert_ok(sinew_session_patch(session, patches[i], &inverse, NULL, &error));
        assert_ok(sinew_session_patch(session, inverse, NULL, NULL, &error));
        assert_text(session, first);
        sinew_free(inverse);
    }
    /* and on top of each other, undone, redone, undone */
    const int order[] = {0, 1, 3, 6, 7, 8, 9, 10, 2, 11};
    int count = sizeof order / sizeof *order;
    for (int i = 0; i < count; i++) {
        assert_ok(sinew_session_text(session, &texts[i], &error));
        sinew_status status =
            sinew_session_patch(session, patches[order[i]], &inverses[i], NULL, &error);
        if (status != SINEW_OK) { /* its place is gone: nothing happened */
            assert_text(session, texts[i]);
            sinew_free(texts[i]);
            for (int k = i; k + 1 < count; k++) ((int *)order)[k] = order[k + 1];
            count--, i--;
        }
    }
    for (int i = count - 1; i >= 0; i--) {
        char *redo, *undo;
        assert_ok(sinew_session_patch(session, inverses[i], &redo, NULL, &error));
        assert_text(session, texts[i]);
        assert_ok(sinew_session_patch(session, redo, &undo, NULL, &error));
        assert_ok(sinew_session_patch(session, undo, NULL, NULL, &error));
        assert_text(session, texts[i]);
        sinew_free(redo), sinew_free(undo), sinew_free(inverses[i]), sinew_free(texts[i]);
    }
    assert_text(session, first);
    sinew_free(first);
    sinew_session_destroy(session);
}

/* Small patches whose copies of copies would take terabytes, or nest without end. */
static void patches_cannot_blow_up_the_document(void **state) {
    (void)state;
    sinew_session *session = session_of(OBSTACLES);
    char *first, *patch = malloc(500000);
    assert_ok(sinew_session_text(session, &first, &error));
    size_t n = (size_t)sprintf(patch, "[{\"op\": \"add\", \"path\": \"/studio\", \"value\": {}}");
    for (int i = 0; i < 60; i++)
        n += (size_t)sprintf(
            patch + n, ", {\"op\": \"copy\", \"from\": \"/studio\", \"path\": \"/studio/%d\"}", i);
    sprintf(patch + n, "]");
    assert_int_equal(sinew_session_patch(session, patch, NULL, NULL, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "copies more than 64 MB"));
    assert_text(session, first);
    /* a list in a list in a list: each moves into the next */
    n = (size_t)sprintf(patch, "[{\"op\": \"add\", \"path\": \"/studio\", \"value\": {\"x\": []}}");
    for (int i = 0; i < 2100; i++)
        n += (size_t)sprintf(patch + n,
                             ",{\"op\":\"add\",\"path\":\"/studio/y\",\"value\":[]}"
                             ",{\"op\":\"move\",\"from\":\"/studio/x\",\"path\":\"/studio/y/0\"}"
                             ",{\"op\":\"move\",\"from\":\"/studio/y\",\"path\":\"/studio/x\"}");
    sprintf(patch + n, "]");
    assert_int_equal(sinew_session_patch(session, patch, NULL, NULL, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "nested too deeply"));
    assert_text(session, first);
    free(patch), sinew_free(first);
    sinew_session_destroy(session);
}

static void a_refused_patch_changes_nothing_and_says_where(void **state) {
    (void)state;
    const char *bad[][2] = {
        {"[{\"op\": \"remove\", \"path\": \"/obstacles/0\"}, {\"op\": \"replace\", \"path\": "
         "\"/steps\", \"value\": \"x\"}]",
         "s.json: /steps: must be a whole number"},
        {"[{\"op\": \"add\", \"path\": \"/obstacles/-\", \"value\": {}}]",
         "/obstacles/3/shape: is missing"},
        {"[{\"op\": \"add\", \"path\": \"/obstacles/0\", \"value\": {\"shape\": 1}}, {\"op\": "
         "\"add\", \"path\": \"/obstacles/0\", \"value\": {\"shape\": \"box\"}}]",
         "/obstacles/1/shape"},
        {"[{\"op\": \"replace\", \"path\": \"/nothing\", \"value\": 1}]", "there is no value"},
        {"[{\"op\": \"add\", \"path\": \"/modle\", \"value\": \"x\"}]", "did you mean 'model'"},
        {"[{\"op\": \"remove\", \"path\": \"/obstacles/0/shape\"}]",
         "/obstacles/0/shape: is missing"},
        {"[{\"op\": \"remove\", \"path\": \"/obstacles/01\"}]", "there is no value"},
        {"[{\"op\": \"remove\", \"path\": \"/obstacles/-\"}]", "there is no value"},
        {"[{\"op\": \"add\", \"path\": \"/obstacles/9\", \"value\": {\"shape\": \"box\"}}]",
         "no such location"},
        {"[{\"op\": \"test\", \"path\": \"/steps\", \"value\": 5}]", "the test failed"},
        {"[{\"op\": \"fly\", \"path\": \"/steps\"}]", "\"op\" is not"},
        {"[{\"op\": \"add\", \"path\": \"/steps\"}]", "\"value\" is missing"},
        {"[{\"path\": \"/steps\"}]", "\"op\" is missing"},
        {"[{\"op\": \"move\", \"from\": \"/obstacles\", \"path\": \"/obstacles/0\"}]",
         "into itself"},
        {"[{\"op\": \"move\", \"from\": \"/gone\", \"path\": \"/steps\"}]", "\"from\""},
        {"[{\"op\": \"remove\", \"path\": \"\"}]", "cannot be removed"},
        {"[{\"op\": \"replace\", \"path\": \"\", \"value\": []}]", "must be an object"},
        {"[{\"op\": \"add\", \"path\": \"steps\", \"value\": 1}]", "not a JSON pointer"},
        {"[{\"op\": \"add\", \"path\": \"/weights/~2\", \"value\": 1}]", "not a JSON pointer"},
        {"[{\"op\": \"add\", \"path\": \"/weights/a/b\", \"value\": 1}]", "no such location"},
        {"[{\"op\": \"replace\", \"path\": \"/model\", \"value\": \"sprig\"}]",
         "there is no model 'sprig'; did you mean 'spring'"},
        {"[{\"op\": \"add\", \"path\": \"/parameters\", \"value\": {\"friction\": 1}}, {\"op\": "
         "\"replace\", \"path\": \"/model\", \"value\": \"linear\"}]",
         "/parameters/friction: unknown key"},
        {"[{\"op\": \"add\", \"path\": \"/curves\", \"value\": {\"times\": [0, \"x\"]}}]",
         "/curves/times"},
        {"{}", "must be a list"},
        {"[{]", "patch: 1:"},
        {"[7]", "\"path\" is not a JSON pointer"},
        {"[{\"op\": 7, \"path\": \"/steps\"}]", "\"op\" is missing"},
        {"[{\"op\": \"add\", \"path\": 7, \"value\": 1}]", "not a JSON pointer"},
        {"[{\"op\": \"add\", \"path\": \"/weights/~\", \"value\": 1}]", "not a JSON pointer"},
        {"[{\"op\": \"remove\", \"path\": \"/obstacles/-1\"}]", "there is no value"},
        {"[{\"op\": \"remove\", \"path\": \"/obstacles/1e0\"}]", "there is no value"},
        {"[{\"op\": \"remove\", \"path\": \"/obstacles/99999999999999999999\"}]",
         "there is no value"},
        {"[{\"op\": \"remove\", \"path\": \"/obstacles/\"}]", "there is no value"},
        {"[{\"op\": \"add\", \"path\": \"/steps\", \"value\": 1e999}]", "too large"},
        {"[{\"op\": \"add\", \"path\": \"/steps\", \"value\": NaN}]", "a value is expected"},
        {"[{\"op\": \"add\", \"path\": \"/steps\", \"value\": 3, \"value\": 4}]", "appears twice"},
        {"[{\"op\": \"copy\", \"from\": \"\", \"path\": \"/rig\"}]", "/rig/"},
        {"[{\"op\": \"move\", \"from\": \"\", \"path\": \"/studio\"}]", "no value at \"from\""},
        {"[{\"op\": \"add\", \"path\": \"/weights/a\", \"value\": {\"a\": 1}}]", "/weights/a"},
        {"[{\"op\": \"add\", \"path\": \"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17\", "
         "\"value\": 1}]",
         "not a JSON pointer"},
        {"[{\"op\": \"add\", \"path\": \"/\\u001b[2J\", \"value\": 1}]", "/?[2J: unknown key"},
    };
    sinew_session *session = session_of(OBSTACLES);
    char *first;
    assert_ok(sinew_session_text(session, &first, &error));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *inverse = first;
        assert_int_equal(sinew_session_patch(session, bad[i][0], &inverse, NULL, &error),
                         SINEW_BAD_INPUT);
        assert_null(inverse);
        if (!strstr(error.message, bad[i][1])) fail_msg("%s: %s", bad[i][0], error.message);
        assert_text(session, first);
    }
    assert_int_equal(sinew_session_revision(session), 1);
    sinew_free(first);
    sinew_session_destroy(session);
}

static void every_change_states_its_cost(void **state) {
    (void)state;
    const struct {
        const char *pointer, *json;
        sinew_cost cost;
    } rows[] = {
        {"/weights/a", "0.5", SINEW_COST_NOTHING},
        {"/parameters/tolerance", "1e-4", SINEW_COST_NOTHING},
        {"/parameters/friction", "0.5", SINEW_COST_STATE},
        {"/parameters/stiffness_structure", "2", SINEW_COST_STRUCTURE},
        {"/obstacles/0/radius", "2", SINEW_COST_NOTHING},
        {"/obstacles/1/motion", "[{\"time\": 0, \"move\": [0, 1, 0]}]", SINEW_COST_NOTHING},
        {"/obstacles/-", "{\"shape\": \"box\"}", SINEW_COST_STRUCTURE},
        {"/pulls/-", "{\"vertex\": 3, \"to\": [0, 0, 0]}", SINEW_COST_STRUCTURE},
        {"/pulls/0/to", "[1, 2, 3]", SINEW_COST_NOTHING},
        {"/pins/-", "{\"select\": \"v:1\"}", SINEW_COST_STRUCTURE},
        {"/model", "\"linear\"", SINEW_COST_STRUCTURE},
        {"/rig", "{\"sample\": \"bar\"}", SINEW_COST_RIG},
        {"/rig/sample", "\"arm\"", SINEW_COST_RIG},
        {"/model", "\"modal\"", SINEW_COST_STRUCTURE},
        {"/parameters", "{\"damping\": 0.2}", SINEW_COST_STRUCTURE},
        {"/parameters/damping", "0.3", SINEW_COST_STATE},
        {"/parameters/mix", "0.5", SINEW_COST_NOTHING},
        {"/keys", "[{\"time\": 0}, {\"time\": 1}]", SINEW_COST_STATE},
        {"/keys/1/time", "2", SINEW_COST_STATE},
        {"/notes", "\"x\"", SINEW_COST_NOTHING},
        {"/studio/camera", "[1, 2]", SINEW_COST_NOTHING},
        {"/outputs/report", "\"r.json\"", SINEW_COST_NOTHING},
    };
    sinew_session *session = session_of(OBSTACLES);
    assert_ok(sinew_session_set(session, "/parameters", "{}", NULL, NULL, &error));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sinew_session_change change;
        sinew_session_change_init(&change);
        bool leaves = !strcmp(rows[i].pointer, "/model");
        if (leaves) assert_ok(sinew_session_set(session, "/parameters", NULL, NULL, NULL, &error));
        assert_ok(sinew_session_set(session, rows[i].pointer, rows[i].json, NULL, &change, &error));
        bool grows = strstr(rows[i].pointer, "/-") != NULL;
        if (!grows && change.cost != rows[i].cost)
            fail_msg("%s costs %s", rows[i].pointer, sinew_cost_name(change.cost));
        if (grows) assert_true(change.cost == rows[i].cost);
        assert_int_equal(change.revision, sinew_session_revision(session));
    }
    assert_value(session, "/pulls/0/to", "[1,2,3]");
    assert_value(session, "/pulls/1", NULL);
    sinew_session_destroy(session);
}

/* ---- time ------------------------------------------------------------------------------------ */

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static sinew_session *session_with_values(int count) {
    size_t room = 64 + 16 * (size_t)count;
    char *text = malloc(2 * room);
    int used = sprintf(text, "{\"sinew\": 1, \"curves\": {\"times\": [");
    for (int i = 0; i < count; i++) used += sprintf(text + used, "%s%d", i ? "," : "", i);
    used += sprintf(text + used, "], \"values\": {\"a\": [");
    for (int i = 0; i < count; i++) used += sprintf(text + used, "%s0.5", i ? "," : "");
    sprintf(text + used, "]}}, \"weights\": {\"a\": 1}}");
    sinew_session *session = session_of(text);
    free(text);
    return session;
}

static double patch_seconds(sinew_session *session, int at) {
    enum { TIMES = 400 };
    char patch[160];
    double best = 1;
    for (int round = 0; round < 5; round++) {
        double began = cpu_seconds();
        for (int i = 0; i < TIMES; i++) {
            char *inverse;
            snprintf(patch, sizeof patch,
                     "[{\"op\": \"replace\", \"path\": \"/curves/values/a/%d\", \"value\": %d.5}]",
                     at + i % 7, i);
            assert_ok(sinew_session_patch(session, patch, &inverse, NULL, &error));
            sinew_free(inverse);
        }
        best = fmin(best, (cpu_seconds() - began) / TIMES);
    }
    return best;
}

/* Relative, as machines differ: a hundred thousand values cost what a hundred do. */
static void a_patch_does_not_pay_for_the_document(void **state) {
    (void)state;
    sinew_session *small = session_with_values(100), *large = session_with_values(50000);
    double little = patch_seconds(small, 50), much = patch_seconds(large, 40000);
    print_message("a patch takes %.1f us with 200 inline values, %.1f us with 100000\n",
                  1e6 * little, 1e6 * much);
    assert_below(much, 40 * little); /* reading all values would take 500 times as long */
    sinew_session_destroy(small);
    sinew_session_destroy(large);
}

/* ---- random ---------------------------------------------------------------------------------- */

static void random_patches_are_undone_byte_for_byte(void **state) {
    (void)state;
    enum { COUNT = 500 };
    uint64_t seed = 7;
    char *inverses[COUNT], *first, *last;
    sinew_session *session = session_of(OBSTACLES);
    assert_ok(sinew_session_text(session, &first, &error));
    int applied = 0;
    for (int i = 0; i < COUNT; i++) {
        static const char *const names[] = {"a", "b", "c", "d/e", "f~g", "h"};
        static const char *const pointers[] = {"a", "b", "c", "d~1e", "f~0g", "h"};
        int n = (int)(3 + 2.999 * test_random(&seed)),
            index = (int)(2 + 1.999 * test_random(&seed));
        char patch[400];
        (void)names;
        switch ((int)(4 + 3.999 * test_random(&seed))) {
        case 0:
            snprintf(patch, sizeof patch,
                     "[{\"op\": \"add\", \"path\": \"/weights/%s\", \"value\": %g}]", pointers[n],
                     test_random(&seed));
            break;
        case 1:
            snprintf(patch, sizeof patch, "[{\"op\": \"remove\", \"path\": \"/weights/%s\"}]",
                     pointers[n]);
            break;
        case 2:
            snprintf(patch, sizeof patch,
                     "[{\"op\": \"add\", \"path\": \"/obstacles/%d\", \"value\": {\"shape\": "
                     "\"box\", \"name\": \"%d\"}}]",
                     index, i);
            break;
        case 3:
            snprintf(patch, sizeof patch, "[{\"op\": \"remove\", \"path\": \"/obstacles/%d\"}]",
                     index);
            break;
        case 4:
            snprintf(
                patch, sizeof patch,
                "[{\"op\": \"move\", \"from\": \"/obstacles/%d\", \"path\": \"/obstacles/0\"}]",
                index);
            break;
        case 5:
            snprintf(patch, sizeof patch,
                     "[{\"op\": \"move\", \"from\": \"/weights/%s\", \"path\": \"/weights/q\"}]",
                     pointers[n]);
            break;
        case 6:
            snprintf(patch, sizeof patch,
                     "[{\"op\": \"remove\", \"path\": \"/steps\"}, {\"op\": \"add\", \"path\": "
                     "\"/steps\", \"value\": %d}]",
                     i + 1);
            break;
        default:
            snprintf(
                patch, sizeof patch,
                "[{\"op\": \"add\", \"path\": \"/parameters\", \"value\": {\"friction\": %g}}]",
                fabs(test_random(&seed)));
            break;
        }
        char *inverse;
        if (sinew_session_patch(session, patch, &inverse, NULL, &error) == SINEW_OK)
            inverses[applied++] = inverse;
    }
    assert_true(applied > 250);
    while (applied > 0) {
        assert_ok(sinew_session_patch(session, inverses[--applied], NULL, NULL, &error));
        sinew_free(inverses[applied]);
    }
    assert_ok(sinew_session_text(session, &last, &error));
    assert_string_equal(first, last);
    sinew_free(first), sinew_free(last);
    sinew_session_destroy(session);
}

int test_patches(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undo_gives_back_the_same_bytes),
        cmocka_unit_test(a_refused_patch_changes_nothing_and_says_where),
        cmocka_unit_test(patches_cannot_blow_up_the_document),
        cmocka_unit_test(every_change_states_its_cost),
        cmocka_unit_test(a_patch_does_not_pay_for_the_document),
        cmocka_unit_test(random_patches_are_undone_byte_for_byte),
    };
    return cmocka_run_group_tests_name("patches", tests, NULL, NULL);
}
