/* What a change costs: the session makes again no more than the parameter states. */
#include "support.h"

#include <jansson.h>

#include "groups.h"
#include "scenes.h"
#include "session/session.h"

static sinew_error error;

/* Another value than the one that holds, within the limits; false: leave the parameter alone. */
static bool other_value(const sinew_parameter *p, char *json, size_t size) {
    double top = p->maximum > p->minimum ? p->maximum : INFINITY;
    double more = p->fallback > 0 ? 1.25 * p->fallback : fmin(0.5, 0.5 * (p->fallback + top));
    switch (p->kind) {
    case SINEW_PARAMETER_KIND_NUMBER:
        return snprintf(json, size, "%.9g", more <= top ? more : 0.5 * p->fallback) > 0;
    case SINEW_PARAMETER_KIND_INTEGER:
        return snprintf(json, size, "%d", (int)p->fallback + (p->fallback < top ? 1 : -1)) > 0;
    case SINEW_PARAMETER_KIND_FLAG:
        return snprintf(json, size, "%s", p->fallback > 0 ? "false" : "true") > 0;
    case SINEW_PARAMETER_KIND_CHOICE: {
        const char *word = strchr(p->choices, '|');
        if (!word || !strcmp(p->name, "device")) return false;
        return snprintf(json, size, "\"%.*s\"", (int)strcspn(word + 1, "|"), word + 1) > 0;
    }
    default:
        return false;
    }
}

/* Every parameter below SINEW_COST_STRUCTURE, one after the other, in every scene. */
static void cheap_changes_keep_the_structure(void **state) {
    (void)state;
    for (const char *const *name = test_scene_names; *name; name++) {
        sinew_session *session = test_session(*name);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_solver *solver = sinew_session_solver(session);
        double *shape = calloc(3 * (size_t)test_vertex_count(solver), sizeof *shape);
        test_frame(solver, 2, shape);
        const sinew_model *model = &solver->kind->about;
        int changed = 0;
        for (int i = 0; i < sinew_model_parameter_count(model); i++) {
            const sinew_parameter *p = sinew_model_parameter(model, i);
            char pointer[80], json[80], *inverse;
            if (p->cost >= SINEW_COST_STRUCTURE || !other_value(p, json, sizeof json)) continue;
            const void *structure = sn_solver_structure(solver), *kept = solver->model;
            sn_pack before = {0}, after = {0};
            sn_solver_pack(solver, &before);
            snprintf(pointer, sizeof pointer, "/parameters/%s", p->name);
            assert_ok(sinew_session_set(session, pointer, json, &inverse, NULL, &error));
            sinew_status status = sinew_session_prepare(session, NULL, &error);
            if (status != SINEW_OK)
                fail_msg("%s: %s = %s: %s", *name, p->name, json, error.message);
            if (sn_solver_structure(solver) != structure || solver->model != kept)
                fail_msg("%s: %s (%s) builds the model again", *name, p->name,
                         sinew_cost_name(p->cost));
            sn_solver_pack(solver, &after);
            bool same = before.size == after.size &&
                        (before.size == 0 || !memcmp(before.bytes, after.bytes, after.size));
            if (p->cost == SINEW_COST_NOTHING && !same)
                fail_msg("%s: %s costs nothing but changes the state", *name, p->name);
            sn_pack_free(&before), sn_pack_free(&after);
            assert_ok(sinew_session_patch(session, inverse, NULL, NULL, &error));
            sinew_free(inverse);
            assert_ok(sinew_session_prepare(session, NULL, &error));
            changed++;
        }
        print_message("%s: %d parameters\n", *name, changed);
        free(shape);
        sinew_session_destroy(session);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static int reads;

static sinew_status count_values(const char *path, int vertex_count, void *user, double *values,
                                 sinew_error *own) {
    (void)path, (void)user, (void)own;
    reads++;
    for (int v = 0; v < vertex_count; v++) values[v] = 2;
    return SINEW_OK;
}

/* A file is read when its name changes, not when something else does. */
static void a_file_is_read_again_when_its_name_changes(void **state) {
    (void)state;
    sinew_loader loader = *sinew_file_loader();
    loader.vertex_values = count_values;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = &loader;
    sinew_scene *scene;
    sinew_session *session;
    assert_ok(sinew_scene_parse(test_scene("spring"), "spring", test_folder(), &scene, &error));
    assert_ok(sinew_session_create(scene, &options, &session, &error));
    reads = 0;
    static const struct {
        const char *pointer, *json;
        int reads;
    } changes[] = {
        {"/parameters/mass_map", "\"a.csv\"", 1},   {"/parameters/tolerance", "1e-5", 1},
        {"/parameters/gravity", "[0, -0.1, 0]", 1}, {"/parameters/mass_map", "\"b.csv\"", 2},
        {"/curves/values/bend120/1", "0.03", 2},    {"/parameters/mass_map", NULL, 2},
        {"/parameters/max_iterations", "200", 2},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        assert_ok(
            sinew_session_set(session, changes[i].pointer, changes[i].json, NULL, NULL, &error));
        assert_ok(sinew_session_prepare(session, NULL, &error));
        assert_int_equal(reads, changes[i].reads);
    }
    sinew_session_destroy(session);
    sinew_scene_destroy(scene);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* The report without how long building took. */
static void leave_out_times(json_t *value) {
    const char *key;
    json_t *member;
    void *next;
    size_t index;
    json_object_foreach_safe(value, next, key, member) {
        leave_out_times(member);
        if (strstr(key, "seconds")) json_object_del(value, key);
    }
    json_array_foreach(value, index, member) leave_out_times(member);
}

static json_t *report_of(const sinew_session *session) {
    char *text;
    assert_ok(sinew_session_describe(session, &text, &error));
    json_t *report = json_loads(text, 0, NULL);
    assert_non_null(report);
    leave_out_times(report);
    sinew_free(text);
    return report;
}

/* It is written when it is asked for, and has what the model says whatever changed last. */
static void the_report_is_that_of_a_new_session(void **state) {
    (void)state;
    static const struct {
        const char *scene, *pointer, *json, *field;
    } cases[] = {
        {"modal", "/parameters/damping", "0.5", "modes"},
        {"modal", "/time/to", "1.5", "amplitude_scale"},
        {"fit", "/time/to", "1", "sliders"},
        {"spring", "/parameters/tolerance", "1e-4", "network"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sinew_session *session = test_session(cases[i].scene),
                      *fresh = test_session(cases[i].scene);
        json_t *report[2] = {report_of(session), NULL};
        assert_int_equal(json_object_size(report[0]), 0);
        json_decref(report[0]);
        assert_ok(sinew_session_prepare(session, NULL, &error));
        sinew_session *both[] = {session, fresh};
        for (int k = 0; k < 2; k++) {
            assert_ok(
                sinew_session_set(both[k], cases[i].pointer, cases[i].json, NULL, NULL, &error));
            assert_ok(sinew_session_prepare(both[k], NULL, &error));
            report[k] = report_of(both[k]);
            assert_non_null(json_object_get(report[k], cases[i].field));
        }
        assert_true(json_equal(report[0], report[1]));
        json_decref(report[0]), json_decref(report[1]);
        sinew_session_destroy(session), sinew_session_destroy(fresh);
    }
}

int test_costs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cheap_changes_keep_the_structure),
        cmocka_unit_test(a_file_is_read_again_when_its_name_changes),
        cmocka_unit_test(the_report_is_that_of_a_new_session),
    };
    return cmocka_run_group_tests_name("costs", tests, NULL, NULL);
}
