/* Parts of a clip, and merging them. */
#include "support.h"

#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "groups.h"
#include "sinew/sinew.h"

static sinew_error error;

static sinew_job *job_of(const char *model, const char *parameters, const char *out) {
    char text[900];
    snprintf(
        text, sizeof text,
        "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"%s\", \"parameters\": %s, "
        "\"time\": {\"fps\": 20}, \"curves\": {\"times\": [0, 1], \"values\": {\"bend120\": [0, "
        "0.1]}}, %s \"outputs\": {\"frames\": [\"%s\"], \"curves\": \"%s.csv\"}}",
        model, parameters,
        strcmp(model, "spring") ? ""
                                : "\"obstacles\": [{\"shape\": \"sphere\", \"center\": [0.5, "
                                  "0.395, 0], \"radius\": 0.3}], ",
        out, out);
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_scene_parse(text, "s.json", test_folder(), &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    sinew_scene_destroy(scene);
    return job;
}

static void part(const char *model, const char *parameters, const char *out, int first, int last,
                 bool resume, const char *folder, sinew_status expected) {
    sinew_job *job = job_of(model, parameters, out); /* a new one, as on another machine */
    sinew_status status = sinew_job_run_part(job, first, last, folder, resume, NULL, &error);
    if (status == SINEW_NOT_CONVERGED && expected == SINEW_OK) status = SINEW_OK;
    if (status != expected) fail_msg("%s: %s", model, error.message);
    sinew_job_destroy(job);
}

static char *content(const char *name, size_t *size) {
    char path[4096], *bytes;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    assert_ok(sn_file_read(path, &bytes, size, &error));
    return bytes;
}

static const char *folder_of(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

static void merged_parts_are_the_whole_clip(void **state) {
    (void)state;
    const char *rows[][3] = {
        {"linear", "{}", "linear.pc2"},
        {"rotation", "{}", "rotation.pc2"}, /* parts in float32 */
        {"rotation", "{}", "rotation.mdd"},
        {"rotation", "{}", "rotation.usda"}, /* parts in float64 */
        {"rotation", "{}", "rotation.glb"},
        {"spring", "{\"friction\": 0.3, \"tolerance\": 1e-3, \"max_rounds\": 4}", "spring.pc2"},
        {"force", "{}", "force.pc2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *model = rows[i][0], *parameters = rows[i][1], *out = rows[i][2];
        size_t size, merged_size;
        sinew_job *job = job_of(model, parameters, out);
        sinew_status status = sinew_job_run(job, 0, -1, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) assert_ok(status);
        sinew_job_destroy(job);
        char *whole = content(out, &size);
        char name[64];
        snprintf(name, sizeof name, "parts-%s", out);
        const char *parts = folder_of(name);
        part(model, parameters, out, 0, 6, false, parts, SINEW_OK);
        part(model, parameters, out, 7, 13, true, parts, SINEW_OK);
        part(model, parameters, out, 14, -1, true, parts, SINEW_OK);
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", test_folder(), out);
        assert_int_equal(unlink(path), 0);
        job = job_of(model, parameters, out);
        status = sinew_job_merge(job, parts, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) assert_ok(status);
        sinew_job_destroy(job);
        char *merged = content(out, &merged_size);
        assert_int_equal(size, merged_size);
        if (memcmp(whole, merged, size)) fail_msg("%s: merged parts differ", out);
        sn_free(whole), sn_free(merged);
    }
}

static void expect_refusal(const char *parts, const char *words) {
    sinew_job *job = job_of("linear", "{}", "refused.pc2");
    assert_int_equal(sinew_job_merge(job, parts, NULL, &error), SINEW_BAD_INPUT);
    if (!strstr(error.message, words)) fail_msg("%s: %s", words, error.message);
    sinew_job_destroy(job);
    assert_false(sn_file_exists(folder_of("refused.pc2")));
}

static void merging_names_what_is_wrong(void **state) {
    (void)state;
    char parts[4096], file[4200];
    snprintf(parts, sizeof parts, "%s", folder_of("bad"));
    part("linear", "{}", "refused.pc2", 0, 6, false, parts, SINEW_OK);
    expect_refusal(parts, "frame 7 is missing");
    part("linear", "{}", "refused.pc2", 8, 20, false, parts, SINEW_OK);
    expect_refusal(parts, "frame 7 is missing");
    part("linear", "{}", "refused.pc2", 6, 7, false, parts, SINEW_OK);
    expect_refusal(parts, "frame 6 is also in");
    snprintf(file, sizeof file, "%s/frames-000006-000007.part", parts);
    assert_int_equal(unlink(file), 0);
    part("rotation", "{}", "refused.pc2", 7, 7, false, parts, SINEW_OK);
    expect_refusal(parts, "of another scene");
    snprintf(file, sizeof file, "%s/frames-000007-000007.part", parts);
    assert_int_equal(unlink(file), 0);
    part("linear", "{}", "refused.pc2", 7, 7, false, parts, SINEW_OK);
    FILE *stream = fopen(file, "r+b");
    fseek(stream, 500, SEEK_SET);
    fputc('x', stream);
    fclose(stream);
    expect_refusal(parts, "is damaged");
    /* a checkpoint that is not there */
    part("force", "{}", "f.pc2", 5, 6, true, parts, SINEW_IO);
}

int test_parts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_parts_are_the_whole_clip),
        cmocka_unit_test(merging_names_what_is_wrong),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
