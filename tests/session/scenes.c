#include "scenes.h"

#include "support.h"

static sinew_error error;

const char *const test_scene_names[] = {"linear",  "rotation", "spring", "friction",
                                        "skin",    "modal",    "force",  "contact",
                                        "markers", "layer",    "fit",    NULL};

#define START "{\"sinew\": 1, "
#define BAR   "\"rig\": {\"sample\": \"bar\"}, \"time\": {\"fps\": 20}, "
#define FACE  "\"rig\": {\"sample\": \"face\", \"vertices\": 1000}, \"time\": {\"fps\": 30}, "
#define SWING                                                                                      \
    "\"curves\": {\"times\": [0, 0.5, 1.25, 2], \"values\": {\"bend120\": [0, 0.05, 0.02, 0.06]}}"
#define TALK                                                                                       \
    "\"curves\": {\"times\": [0, 0.4, 0.8, 1.3333333333], \"values\": {\"jawOpen\": [0, 1, 0.1, "  \
    "0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0]}}"
#define BALL                                                                                       \
    "\"obstacles\": [{\"shape\": \"sphere\", \"center\": [0, 0, 0], \"radius\": 0.3, \"motion\": " \
    "[{\"time\": 0, \"move\": [0.45, 0.41, 0]}, {\"time\": 2, \"move\": [0.6, 0.395, 0]}]}]"

/* Markers on some vertices of the face, following TALK, with gaps. */
static void write_take(void) {
    char path[4096];
    sinew_rig *rig;
    sinew_linear *linear;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = 1000;
    assert_ok(sinew_sample_rig("face", &options, &rig, &error));
    assert_ok(sinew_linear_create(rig, &linear, &error));
    enum { MARKERS = 24, TIMES = 41 };
    int n = rig->neutral->vertex_count;
    double *shape = calloc(3 * (size_t)n, sizeof *shape);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    sinew_markers *take;
    assert_ok(sinew_markers_create(MARKERS, TIMES, &take, &error));
    snprintf(path, sizeof path, "%s/map.csv", test_folder());
    FILE *map = fopen(path, "w");
    for (int m = 0; m < MARKERS; m++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", m);
        assert_ok(sinew_markers_set_name(take, m, name, &error));
        fprintf(map, "%s,%d\n", name, (int)((long)m * n / MARKERS));
    }
    fclose(map);
    for (int k = 0; k < TIMES; k++) {
        take->times[k] = k / 30.0;
        sinew_rig_rest_weights(rig, weights);
        weights[sinew_rig_find_slider(rig, "jawOpen")] = 0.5 - 0.5 * cos(0.3 * k);
        weights[sinew_rig_find_slider(rig, "mouthSmileLeft")] = 0.5 - 0.5 * cos(0.17 * k);
        sinew_linear_evaluate(linear, weights, shape);
        for (int m = 0; m < MARKERS; m++) {
            /* every fifth marker is lost for a while */
            bool lost = m % 5 == 2 && (k + 3 * m) % 19 > 12;
            for (int a = 0; a < 3; a++)
                take->positions[3 * (k * MARKERS + m) + a] =
                    lost ? NAN : shape[3 * ((long)m * n / MARKERS) + a] + 1e-3 * sin(k + m + a);
        }
    }
    snprintf(path, sizeof path, "%s/take.csv", test_folder());
    assert_ok(sinew_markers_write(path, take, &error));
    sinew_markers_destroy(take);
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
    free(shape), free(weights);
}

const char *test_scene(const char *name) {
    static bool written;
    if (!written) write_take();
    written = true;
#define TAKE "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}"
    const struct {
        const char *name, *text;
    } scenes[] = {
        {"linear", START FACE "\"model\": \"linear\", " TALK "}"},
        {"rotation", START FACE "\"model\": \"rotation\", " TALK "}"},
        {"spring", START BAR "\"model\": \"spring\", \"parameters\": {\"max_rounds\": 4}, " SWING
                             ", " BALL "}"},
        {"friction", START BAR "\"model\": \"spring\", \"parameters\": {\"friction\": 0.3, "
                               "\"tolerance\": 1e-3, \"max_rounds\": 4}, " SWING ", " BALL "}"},
        {"skin", START FACE "\"model\": \"spring\", \"parameters\": {\"interior\": \"none\", "
                            "\"tolerance\": 1e-4}, " TALK "}"},
        {"modal", START BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 12}, \"keys\": "
                            "[{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 2, \"pose\": "
                            "\"bend120\"}]}"},
        {"force", START FACE "\"model\": \"force\", " TALK "}"},
        {"contact",
         START FACE "\"model\": \"force\", \"parameters\": {\"contact\": \"all\"}, " TALK "}"},
        {"markers", START FACE "\"model\": \"force\", \"parameters\": {\"layer\": true, "
                               "\"bounded\": true}, " TAKE "}"},
        {"layer", START FACE "\"model\": \"fit\", \"parameters\": {\"layer\": true, \"smooth\": "
                             "0.01}, " TAKE "}"},
        {"fit", START FACE "\"model\": \"fit\", \"parameters\": {}, " TAKE "}"},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (!strcmp(scenes[i].name, name)) return scenes[i].text;
    return NULL;
}

sinew_session *test_session(const char *name) {
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    assert_ok(sinew_scene_parse(test_scene(name), name, test_folder(), &scene, &error));
    assert_ok(sinew_session_create(scene, &options, &session, &error));
    sinew_scene_destroy(scene);
    return session;
}

int test_vertex_count(sinew_solver *solver) {
    return sinew_solver_rig(solver)->neutral->vertex_count;
}

void test_frame(sinew_solver *solver, int frame, double *positions) {
    sinew_input input;
    sinew_input_init(&input);
    input.frame = frame;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = positions;
    sinew_status status = sinew_solver_solve(solver, &input, &result, NULL, &error);
    if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) fail_msg("%s", error.message);
    assert_int_equal(result.frame, frame);
}
