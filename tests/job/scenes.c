#include "support.h"

#include "base/file.h"
#include "base/memory.h"
#include "groups.h"
#include "sinew/scene.h"

static sinew_error error;

static sinew_scene *parsed(const char *text) {
    sinew_scene *scene;
    assert_ok(sinew_scene_parse(text, "s.json", NULL, &scene, &error));
    return scene;
}

/* The message of a scene that must be refused. */
static const char *refusal(const char *text) {
    sinew_scene *scene;
    assert_int_equal(sinew_scene_parse(text, "s.json", NULL, &scene, &error), SINEW_BAD_INPUT);
    assert_null(scene);
    return error.message;
}

static void refusals_name_the_place(void **state) {
    (void)state;
    assert_string_equal(refusal("{\"sinew\": 1, \"modle\": \"linear\"}"),
                        "s.json: /modle: unknown key; did you mean 'model'?");
    assert_string_equal(refusal("{\"sinew\": 1, \"model\": \"liner\"}"),
                        "s.json: /model: there is no model 'liner'; did you mean 'linear'?");
    assert_string_equal(refusal("{\"sinew\": 1, \"parameters\": {\"x\": 1}}"),
                        "s.json: /parameters/x: unknown key");
    assert_string_equal(refusal("{\"sinew\": 1, \"obstacles\": [{\"shape\": \"sphere\"}, "
                                "{\"shape\": \"sphere\", \"radius\": -1}]}"),
                        "s.json: /obstacles/1/radius: must be between 1e-300 and 1e+15, not -1");
    assert_string_equal(refusal("{\"sinew\": 1, \"pulls\": [{\"to\": [1, 2, 3]}]}"),
                        "s.json: /pulls/0/vertex: is missing");
    assert_string_equal(refusal("{\"sinew\": 1, \"pulls\": [{\"vertex\": 3, \"to\": [1, 2]}]}"),
                        "s.json: /pulls/0/to: must be three numbers [x, y, z]");
    assert_string_equal(refusal("{\"sinew\": 1, \"weights\": {\"smile\": \"much\"}}"),
                        "s.json: /weights/smile: must be a number");
    assert_string_equal(refusal("{\"sinew\": 1, \"steps\": 1.5}"),
                        "s.json: /steps: must be a whole number");
    assert_string_equal(refusal("{\"rig\": {}}"),
                        "s.json: /sinew: is missing: a scene must state its format version, "
                        "\"sinew\": 1");
    assert_string_equal(refusal("{\"sinew\": 99}"),
                        "s.json: /sinew: version 99 is newer than this program's 1");
    assert_string_equal(refusal("[]"), "s.json: a scene must be a JSON object");
    assert_non_null(strstr(refusal("{\"sinew\": 1,\n \"steps\": }"), "s.json:2:"));
    assert_non_null(strstr(refusal("{\"sinew\": 1, \"steps\": 2, \"steps\": 3}"), "appears twice"));
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    const char *text = "{\"sinew\": 1, \"rig\": {\"files\": [\"a.obj\"]}, \"weights\": {\"a\": 1}}";
    for (size_t length = 0; length < strlen(text); length++) {
        char *cut = sn_strndup(text, length);
        refusal(cut);
        sn_free(cut);
    }
    sinew_scene_destroy(parsed(text));
}

static void deep_and_huge_documents_are_refused(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    char *deep = SN_NEW(char, DEPTH + 64);
    int used = sprintf(deep, "{\"sinew\": 1, \"studio\": {\"a\": ");
    memset(deep + used, '[', DEPTH);
    deep[used + DEPTH] = '\0';
    refusal(deep);
    sn_free(deep);
    refusal("{\"sinew\": 1, \"weights\": {\"a\": 1e999}}");
    refusal("{\"sinew\": 1, \"weights\": {\"a\": NaN}}");
    refusal("{\"sinew\": 99999999999999999999999}");
}

static void a_written_scene_reads_back_the_same(void **state) {
    (void)state;
    const char *text = "{\"sinew\": 1, \"studio\": {\"camera\": [1, 2.5]}, \"steps\": 4}";
    sinew_scene *scene = parsed(text), *again;
    char *path = sn_path_join(test_folder(), "written.json"), *one, *two;
    assert_ok(sinew_scene_write(path, scene, &error));
    assert_ok(sinew_scene_read(path, &again, &error));
    assert_ok(sinew_scene_text(scene, &one, &error));
    assert_ok(sinew_scene_text(again, &two, &error));
    assert_string_equal(one, two);
    sinew_free(one);
    sinew_free(two);
    sn_free(path);
    sinew_scene_destroy(scene);
    sinew_scene_destroy(again);
}

static void set_value(sinew_scene *scene, const char *pointer, const char *json) {
    assert_ok(sinew_scene_set(scene, pointer, json, NULL, &error));
}

static void assert_holds(const sinew_scene *scene, const char *pointer, const char *json) {
    char *value;
    assert_ok(sinew_scene_get(scene, pointer, &value, &error));
    if (!json)
        assert_null(value);
    else
        assert_string_equal(value, json);
    sinew_free(value);
}

static void changes_go_by_pointer_and_undo_restores(void **state) {
    (void)state;
    sinew_scene *scene;
    assert_ok(sinew_scene_create(NULL, &scene, &error));
    char *first, *before, *after;
    assert_ok(sinew_scene_text(scene, &first, &error));
    set_value(scene, "/obstacles/-", "{\"shape\": \"sphere\", \"center\": [0,0,0], \"radius\": 1}");
    set_value(scene, "/obstacles/-", "{\"shape\": \"box\"}");
    set_value(scene, "/obstacles/0/radius", "2.5");
    assert_holds(scene, "/obstacles/0/radius", "2.5");
    assert_holds(scene, "/obstacles/1/shape", "\"box\"");
    assert_holds(scene, "/obstacles/2", NULL);
    assert_ok(sinew_scene_set(scene, "/obstacles/0/radius", "3.0", &before, &error));
    assert_ok(sinew_scene_patch(scene, before, NULL, &error));
    assert_holds(scene, "/obstacles/0/radius", "2.5");
    sinew_free(before);
    assert_ok(sinew_scene_set(scene, "/weights/a~1b~0c", "0.5", &before, &error));
    assert_holds(scene, "/weights", "{\"a/b~c\":0.5}");
    assert_ok(sinew_scene_patch(scene, before, NULL, &error));
    assert_holds(scene, "/weights", NULL);
    sinew_free(before);
    set_value(scene, "/obstacles", NULL);
    assert_ok(sinew_scene_text(scene, &after, &error));
    assert_string_equal(first, after);
    sinew_free(first);
    sinew_free(after);
    sinew_scene_destroy(scene);
}

static void a_refused_change_leaves_the_scene(void **state) {
    (void)state;
    sinew_scene *scene = parsed("{\"sinew\": 1, \"steps\": 3, \"pulls\": []}");
    char *before, *after;
    assert_ok(sinew_scene_text(scene, &before, &error));
    const char *bad[][2] = {{"/steps", "\"x\""},   {"/nothing", "1"},    {"/steps/deeper", "1"},
                            {"steps", "1"},        {"/steps", "{"},      {"/pulls/7", "{}"},
                            {"/pulls/-", "{}"},    {"/weights/~2", "1"}, {"/sinew", NULL},
                            {"", "{\"sinew\": 2}"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sinew_scene_set(scene, bad[i][0], bad[i][1], NULL, &error),
                         SINEW_BAD_INPUT);
    assert_ok(sinew_scene_text(scene, &after, &error));
    assert_string_equal(before, after);
    sinew_free(before);
    sinew_free(after);
    sinew_scene_destroy(scene);
}

static void the_schema_in_the_docs_is_that_of_the_tables(void **state) {
    (void)state;
    char *schema, *text;
    size_t size;
    assert_ok(sinew_scene_schema(&schema, &error));
    const char *source = getenv("SINEW_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/docs/scene.schema.json", source ? source : "..");
    assert_ok(sn_file_read(path, &text, &size, &error));
    if (strncmp(schema, text, strlen(schema)) || size != strlen(schema) + 1)
        fail_msg("docs/scene.schema.json is old: sinew help --schema > docs/scene.schema.json");
    sinew_free(schema);
    sn_free(text);
}

static void every_parameter_of_every_model_says_what_it_is(void **state) {
    (void)state;
    assert_true(sinew_model_count() >= 2);
    for (int m = 0; m < sinew_model_count(); m++) {
        const sinew_model *model = sinew_model_at(m);
        assert_ptr_equal(sinew_model_find(sinew_model_name(model)), model);
        assert_true(strlen(sinew_model_summary(model)) > 10);
        for (int i = 0; i < sinew_model_parameter_count(model); i++) {
            const sinew_parameter *p = sinew_model_parameter(model, i);
            assert_int_equal(p->size, sizeof *p);
            assert_ptr_equal(sinew_model_find_parameter(model, p->name), p);
            assert_true(p->help && strlen(p->help) > 5);
            assert_non_null(p->unit);
            assert_true((p->kind == SINEW_PARAMETER_KIND_CHOICE) == (p->choices != NULL));
            bool number =
                p->kind == SINEW_PARAMETER_KIND_NUMBER || p->kind == SINEW_PARAMETER_KIND_INTEGER;
            if (number && (p->minimum != 0 || p->maximum != 0))
                assert_true(p->minimum <= p->fallback && p->fallback <= p->maximum);
        }
    }
    assert_null(sinew_model_at(sinew_model_count()));
    assert_null(sinew_model_find("nothing"));
}

int test_scenes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_the_place),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(deep_and_huge_documents_are_refused),
        cmocka_unit_test(a_written_scene_reads_back_the_same),
        cmocka_unit_test(changes_go_by_pointer_and_undo_restores),
        cmocka_unit_test(a_refused_change_leaves_the_scene),
        cmocka_unit_test(the_schema_in_the_docs_is_that_of_the_tables),
        cmocka_unit_test(every_parameter_of_every_model_says_what_it_is),
    };
    return cmocka_run_group_tests_name("scenes", tests, NULL, NULL);
}
