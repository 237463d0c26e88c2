/* A host may have set a locale with a decimal comma: files, scenes, text forms and messages stay
 * the same, byte for byte. */
#include "support.h"

#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "groups.h"
#include "sinew/sinew.h"

/* A German locale: the system's, or one made for the test. */
static bool set_comma(void) {
    static char folder[300], command[700];
    bool set = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    if (!set) {
        snprintf(folder, sizeof folder, "%s/locales", test_folder());
        mkdir(folder, 0777);
        snprintf(command, sizeof command,
                 "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1", folder);
        int ignored = system(command);
        (void)ignored; /* warnings of localedef are an exit status, too */
        setenv("LOCPATH", folder, 1);
        set = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    }
    char half[8];
    snprintf(half, sizeof half, "%.1f", 0.5);
    return set && strcmp(half, "0,5") == 0;
}

static const char scene_text[] =
    "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 1000}, \"model\": \"%s\", %s}";

static void run(const char *folder, const char *model, const char *rest) {
    sinew_error error = {0};
    char text[2048];
    snprintf(text, sizeof text, scene_text, model, rest);
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_scene_parse(text, "test", folder, &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    assert_ok(sinew_job_run(job, 0, -1, NULL, &error));
    sinew_job_destroy(job);
    char path[400];
    snprintf(path, sizeof path, "%s/%s.scene.json", folder, model);
    assert_ok(sinew_scene_write(path, scene, &error));
    sinew_scene_destroy(scene);
}

/* Every kind of file that holds numbers as text, read again and written again. */
static void write_everything(const char *folder) {
    sinew_error error = {0};
    char path[400], copy[400];
    mkdir(folder, 0777);
    run(folder, "spring",
        "\"steps\": 2, \"parameters\": {\"tolerance\": 1e-3}, \"outputs\": {\"frames\": "
        "[\"spring.pc2\", \"spring.usda\"], \"network\": \"network.csv\"}");
    run(folder, "modal",
        "\"keys\": [{\"pose\": \"neutral\", \"time\": 0}, {\"pose\": \"bend120\", \"time\": "
        "0.25}], "
        "\"parameters\": {\"modes\": 6}, \"outputs\": {\"modes\": \"modes.csv\"}");
    sinew_rig *rig, *again;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    static const char *const rigs[] = {"rig", "rig.glb", "rig.usda", "rig.fbx"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, rigs[i]);
        assert_ok(sinew_rig_write(path, rig, &error));
    }
    snprintf(path, sizeof path, "%s/rig", folder);
    const char *source = path;
    assert_ok(sinew_rig_read(1, &source, &again, &error));
    static const char *const meshes[] = {"a.obj", "a.ply", "a.off"};
    for (int i = 0; i < 3; i++) {
        sinew_mesh *mesh;
        snprintf(path, sizeof path, "%s/%s", folder, meshes[i]);
        snprintf(copy, sizeof copy, "%s/copy_%s", folder, meshes[i]);
        assert_ok(sinew_mesh_write(path, again->neutral, &error));
        assert_ok(sinew_mesh_read(path, &mesh, &error));
        assert_ok(sinew_mesh_write(copy, mesh, &error));
        sinew_mesh_destroy(mesh);
    }
    sinew_curves *curves;
    assert_ok(sinew_curves_create(1, 2, &curves, &error));
    assert_ok(sinew_curves_set_name(curves, 0, "bend120", &error));
    sinew_curves_set_times(curves, (double[]){0.125, 1.5});
    sinew_curves_set_values(curves, (double[]){0.25, 1.0 / 3});
    snprintf(path, sizeof path, "%s/curves.csv", folder);
    assert_ok(sinew_curves_write(path, curves, &error));
    sinew_curves_destroy(curves);
    assert_ok(sinew_curves_read(path, &curves, &error));
    assert_true(curves->values[1] == 1.0 / 3);
    sinew_curves_destroy(curves);
    double values[3] = {0.5, 1.0 / 3, 1e-7};
    snprintf(path, sizeof path, "%s/values.csv", folder);
    assert_ok(sinew_vertex_values_write(path, 3, values, &error));
    assert_ok(sinew_vertex_values_read(path, 3, values, &error));
    assert_true(values[1] == 1.0 / 3);
    sinew_rig_destroy(rig);
    sinew_rig_destroy(again);
}

static void same_file(const char *a, const char *b) {
    sinew_error error = {0};
    char *one, *two;
    size_t one_size, two_size;
    assert_ok(sinew_file_read(a, &one, &one_size, &error));
    assert_ok(sinew_file_read(b, &two, &two_size, &error));
    if (one_size != two_size || memcmp(one, two, one_size)) fail_msg("%s differs", b);
    sinew_free(one);
    sinew_free(two);
}

static int same_folder(const char *a, const char *b) {
    sinew_error error = {0};
    char **names;
    int count, files = 0;
    assert_ok(sn_folder_list(a, &names, &count, &error));
    for (int i = 0; i < count; i++) {
        char one[500], two[500];
        snprintf(one, sizeof one, "%s/%s", a, names[i]);
        snprintf(two, sizeof two, "%s/%s", b, names[i]);
        if (sn_is_folder(one)) {
            files += same_folder(one, two);
        } else {
            same_file(one, two);
            files++;
        }
    }
    sn_names_free(names, count);
    return files;
}

static void texts_and_messages(char *all, size_t size) {
    sinew_error error = {0};
    char *weights, *pull;
    sinew_obstacle *sphere;
    assert_ok(sinew_text_weights("a=0.5,b=0.25", &weights, &error));
    assert_ok(sinew_text_pull("3=0.1,1.5,2.25:0.5", &pull, &error));
    assert_ok(sinew_obstacle_parse("sphere:0.5,1.5,2.5,0.25", &sphere, &error));
    double there[3] = {1.5, 1.5, 2.5}, distance = sinew_obstacle_distance(sphere, there, NULL);
    sinew_scene *scene;
    assert_int_equal(sinew_scene_parse("{\"sinew\": 1, \"weights\": {\"a\": 0.5}, \"model\": "
                                       "\"spring\", \"parameters\": {\"friction\": -0.5}}",
                                       "scene", NULL, &scene, &error),
                     SINEW_BAD_INPUT);
    assert_true(distance == 0.75);
    snprintf(all, size, "%s %s %s", weights, pull, error.message);
    sinew_obstacle_destroy(sphere);
    sinew_free(weights);
    sinew_free(pull);
}

static void a_decimal_comma_changes_nothing(void **state) {
    (void)state;
    char plain[300], comma[300], plain_text[1024], comma_text[1024];
    snprintf(plain, sizeof plain, "%s/plain", test_folder());
    snprintf(comma, sizeof comma, "%s/comma", test_folder());
    write_everything(plain);
    texts_and_messages(plain_text, sizeof plain_text);
    if (!set_comma()) {
        setlocale(LC_ALL, "C");
        print_message("SKIP %s: no locale with a decimal comma, and localedef cannot make one\n",
                      __func__);
        skip();
    }
    write_everything(comma);
    texts_and_messages(comma_text, sizeof comma_text);
    setlocale(LC_ALL, "C");
    assert_string_equal(plain_text, comma_text);
    assert_true(same_folder(plain, comma) >= 15);
}

int test_locale(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_decimal_comma_changes_nothing)};
    return cmocka_run_group_tests_name("locale", tests, NULL, NULL);
}
