/* Reports when memory runs out in the JSON library: complete, or refused. */
#include "support.h"

#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>

#include "groups.h"
#include "sinew/sinew.h"

static sinew_error error;

#define BAR "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 1000}, \"steps\": 2, "

static const char *const scenes[] = {
    BAR "\"model\": \"linear\"}",
    BAR "\"model\": \"rotation\", \"parameters\": {\"hold\": \"v:0-7\"}}",
    BAR "\"model\": \"spring\", \"parameters\": {\"pull_to_blend\": 0.1, \"altitude\": 0.5, "
        "\"guide\": 0.2}, \"obstacles\": [{\"shape\": \"plane\", \"point\": [0, -0.2, 0], "
        "\"normal\": [0, 1, 0]}]}",
    BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 6}}",
};

/* The block of jansson that is refused, counted from 0. */
static atomic_long asked, refused;

static void *take(size_t size) {
    return atomic_fetch_add(&asked, 1) == refused ? NULL : malloc(size);
}

static sinew_status report_of(const sinew_scene *scene, char **report) {
    sinew_job *job;
    *report = NULL;
    sinew_status status = sinew_job_create(scene, NULL, &job, &error);
    if (status == SINEW_OK) status = sinew_job_run(job, 0, -1, NULL, &error);
    if (status == SINEW_OK) status = sinew_job_report(job, report, &error);
    sinew_job_destroy(job);
    return status;
}

/* Same keys, sizes and kinds of values; times differ between runs. */
static bool same_form(const json_t *a, const json_t *b) {
    const char *key;
    json_t *value;
    if (json_is_number(a) && json_is_number(b)) return true;
    if (json_is_boolean(a) && json_is_boolean(b)) return true;
    if (json_typeof(a) != json_typeof(b)) return false;
    bool same =
        json_object_size(a) == json_object_size(b) && json_array_size(a) == json_array_size(b);
    if (json_is_object(a)) {
        json_object_foreach((json_t *)a, key, value) {
            const json_t *other = json_object_get(b, key);
            same = same && other && same_form(value, other);
        }
    }
    for (size_t i = 0; same && i < json_array_size(a); i++)
        same = same_form(json_array_get(a, i), json_array_get(b, i));
    return same;
}

static json_t *parsed(const char *text) {
    json_t *value = json_loads(text, 0, NULL);
    assert_non_null(value);
    return value;
}

static void a_report_is_complete_or_refused(void **state) {
    (void)state;
    enum { TRIES = 60 };
    sinew_set_threads(1); /* the same blocks every time */
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        sinew_scene *scene;
        char *text;
        assert_ok(sinew_scene_parse(scenes[s], "s.json", test_folder(), &scene, &error));
        assert_ok(report_of(scene, &text));
        json_t *whole = parsed(text);
        sinew_free(text);
        refused = LONG_MAX;
        asked = 0;
        json_set_alloc_funcs(take, free);
        assert_ok(report_of(scene, &text));
        json_set_alloc_funcs(malloc, free);
        sinew_free(text);
        long total = asked, step = total / TRIES + 1;
        int refusals = 0;
        for (long at = (long)s % step; at < total; at += step) {
            refused = at;
            asked = 0;
            json_set_alloc_funcs(take, free);
            sinew_status status = report_of(scene, &text);
            json_set_alloc_funcs(malloc, free);
            if (status == SINEW_OK) {
                json_t *report = parsed(text);
                if (!same_form(report, whole))
                    fail_msg("scene %zu, block %ld of %ld: the report lacks something:\n%s", s, at,
                             total, text);
                json_decref(report);
                sinew_free(text);
            } else {
                if (status != SINEW_NO_MEMORY)
                    fail_msg("scene %zu, block %ld of %ld: %s", s, at, total, error.message);
                refusals++;
            }
        }
        assert_true(refusals > 10);
        json_decref(whole);
        sinew_scene_destroy(scene);
    }
    sinew_set_threads(0);
}

int test_reports(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_report_is_complete_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
