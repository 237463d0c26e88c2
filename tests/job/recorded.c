/* What jobs write, with every output, as it was recorded. */
#include "recorded.h"
#include "session/scenes.h"

#include <sys/stat.h>

#include "base/file.h"
#include "groups.h"
#include "sinew/sinew.h"

static sinew_error error;

#define BAR   "\"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.obj\"]}, "
#define MOUTH "\"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSmileLeft.obj\"]}, "
#define TALK                                                                                       \
    "\"curves\": {\"times\": [0, 0.2, 0.5], \"values\": {\"jawOpen\": [0, 1, 0.2], "               \
    "\"mouthSmileLeft\": [0.3, 0, 1]}}, "
#define TAKE "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}, "
#define KEYS                                                                                       \
    "\"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.2, \"pose\": \"bend120\"}], "

typedef struct recorded_job {
    const char *name, *scene;
    int first, last;
    const char *files[6];
} recorded_job;

/* Frames as positions, everything else as text. */
static void compare_file(const char *job, const char *file) {
    char path[4200], name[256];
    snprintf(path, sizeof path, "%s/%s", test_folder(), file);
    snprintf(name, sizeof name, "job, %s, %s", job, file);
    size_t length = strlen(file);
    if (!strcmp(file + length - 4, "json") && !recorded_by_this_compiler()) return;
    if (!strcmp(file + length - 3, "csv") || !strcmp(file + length - 4, "json") ||
        !strcmp(file + length - 4, "usda") || !strcmp(file + length - 3, "obj")) {
        char *text;
        size_t size;
        assert_ok(sn_file_read(path, &text, &size, &error));
        assert_recorded_text(name, text, 1e-7);
        sinew_free(text);
        return;
    }
    sinew_frames *frames;
    assert_ok(sinew_frames_read(path, &frames, &error));
    int count = 3 * frames->vertex_count * frames->frame_count;
    double *values = malloc((size_t)count * sizeof *values);
    for (int i = 0; i < count; i++) values[i] = (double)frames->positions[i];
    assert_recorded(name, count, values, 1e-6);
    free(values);
    sinew_frames_destroy(frames);
}

static void compare(int count, const recorded_job *jobs) {
    test_scene("linear"); /* writes the files */
    /* a report says what came from the cache */
    const char *cache = getenv("SINEW_CACHE");
    char *before = cache ? strdup(cache) : NULL;
    setenv("SINEW_CACHE", "off", 1);
    for (int i = 0; i < count; i++) {
        sinew_scene *scene;
        sinew_job *made;
        assert_ok(sinew_scene_parse(jobs[i].scene, "s.json", test_folder(), &scene, &error));
        assert_ok(sinew_job_create(scene, NULL, &made, &error));
        sinew_scene_destroy(scene);
        assert_ok(sinew_job_run(made, jobs[i].first, jobs[i].last, NULL, &error));
        sinew_job_destroy(made);
        for (int f = 0; jobs[i].files[f]; f++) compare_file(jobs[i].name, jobs[i].files[f]);
    }
    if (before)
        setenv("SINEW_CACHE", before, 1);
    else
        unsetenv("SINEW_CACHE");
    free(before);
}

#define COMPARE(jobs) compare((int)(sizeof(jobs) / sizeof *(jobs)), jobs)

static void outputs_of_clips_are_as_recorded(void **state) {
    (void)state;
    const recorded_job jobs[] = {
        {"clip",
         "{\"sinew\": 1, " MOUTH TALK "\"outputs\": {\"frames\": [\"c.pc2\", \"c.mdd\", "
         "\"c.usda\", \"c.glb\"], \"curves\": \"c.csv\"}}",
         0,
         -1,
         {"c.pc2", "c.mdd", "c.usda", "c.glb", "c.csv"}},
        {"part of a clip",
         "{\"sinew\": 1, " MOUTH TALK "\"outputs\": {\"frames\": [\"p.pc2\", \"p.glb\", "
         "\"p.obj\"], \"curves\": \"p.csv\"}}",
         3,
         7,
         {"p.pc2", "p.glb", "p.0005.obj", "p.csv"}},
        {"steps",
         "{\"sinew\": 1, " BAR "\"weights\": {\"bend120\": 0.75, \"bend60\": 0.25}, \"steps\": 4, "
         "\"outputs\": {\"frames\": [\"s.mdd\"], \"curves\": \"s.csv\", \"report\": \"s.json\"}}",
         0,
         -1,
         {"s.mdd", "s.csv", "s.json"}},
        {"range of time",
         "{\"sinew\": 1, " MOUTH TALK "\"time\": {\"fps\": 12, \"from\": 0.1, \"to\": 0.45}, "
         "\"model\": \"rotation\", \"outputs\": {\"frames\": [\"t.pc2\"], \"curves\": \"t.csv\", "
         "\"report\": \"t.json\"}}",
         0,
         -1,
         {"t.pc2", "t.csv", "t.json"}},
        {"locks",
         "{\"sinew\": 1, " MOUTH TALK "\"locks\": [{\"name\": \"a\", \"select\": \"v:0-15\", "
         "\"from\": 0.1, \"to\": 0.4, \"fade\": 0.1}], \"outputs\": {\"curves\": \"l.csv\", "
         "\"report\": \"l.json\"}}",
         2,
         12,
         {"l.csv", "l.json"}},
    };
    COMPARE(jobs);
}

static void outputs_of_models_are_as_recorded(void **state) {
    (void)state;
    const recorded_job jobs[] = {
        {"springs",
         "{\"sinew\": 1, " BAR "\"model\": \"spring\", \"weights\": {\"bend120\": 0.5, \"bend60\": "
         "0.5}, \"steps\": 3, \"outputs\": {\"network\": \"n.csv\", \"network_frames\": \"n.pc2\", "
         "\"report\": \"n.json\"}}",
         1,
         3,
         {"n.csv", "n.pc2", "n.json"}},
        {"modes",
         "{\"sinew\": 1, " BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 6}, " KEYS
         "\"outputs\": {\"frames\": [\"m.pc2\"], \"modes\": \"m.csv\", \"report\": \"m.json\"}}",
         0,
         -1,
         {"m.pc2", "m.csv", "m.json"}},
        {"skin",
         "{\"sinew\": 1, " MOUTH TAKE "\"model\": \"force\", \"parameters\": {\"layer\": true, "
         "\"estimate_stiffness\": true}, \"outputs\": {\"frames\": [\"f.pc2\"], \"stretch_map\": "
         "\"f1.csv\", \"bend_map\": \"f2.csv\", \"report\": \"f.json\"}}",
         0,
         9,
         {"f.pc2", "f1.csv", "f2.csv", "f.json"}},
        {"skin of a part",
         "{\"sinew\": 1, " MOUTH TALK "\"model\": \"force\", \"outputs\": {\"frames\": "
         "[\"g.pc2\"], \"curves\": \"g.csv\"}}",
         4,
         9,
         {"g.pc2", "g.csv"}},
        {"fit",
         "{\"sinew\": 1, " MOUTH TAKE "\"model\": \"fit\", \"outputs\": {\"frames\": [\"i.pc2\"], "
         "\"fitted\": \"i.csv\", \"report\": \"i.json\"}}",
         0,
         -1,
         {"i.pc2", "i.csv", "i.json"}},
    };
    COMPARE(jobs);
}

int test_recorded(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_of_clips_are_as_recorded),
        cmocka_unit_test(outputs_of_models_are_as_recorded),
    };
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
