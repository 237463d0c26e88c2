#include "scenes.h"

#include "recorded.h"

static sinew_error error;

const char *const test_scene_names[] = {"linear", "rotation", "spring", "friction",     "skin",
                                        "modal",  "jiggle",   "force",  "contact",      "markers",
                                        "layer",  "fit",      "apart",  "turned apart", NULL};

#define START "{\"sinew\": 1, "
#define BAR   "\"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\": {\"fps\": 20}, "
#define MOUTH                                                                                      \
    "\"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSmileLeft.obj\"]}, "             \
    "\"time\": {\"fps\": 30}, "
#define SWING                                                                                      \
    "\"curves\": {\"times\": [0, 0.5, 1.25, 2], \"values\": {\"bend120\": [0, 0.05, 0.02, 0.06]}}"
#define TALK                                                                                       \
    "\"curves\": {\"times\": [0, 0.4, 0.8, 1.3333333333], \"values\": {\"jawOpen\": [0, 1, 0, "    \
    "0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0]}}"
#define BALL                                                                                       \
    "\"obstacles\": [{\"shape\": \"sphere\", \"center\": [0, 0, 0], \"radius\": 0.3, \"motion\": " \
    "[{\"time\": 0, \"move\": [0.45, 0.41, 0]}, {\"time\": 2, \"move\": [0.6, 0.395, 0]}]}]"

/* ---- two rigs small enough to be solved thousands of times ------------------------------------
 */

typedef void shape_function(double x, double y, double z, double to[3]);

static FILE *open_file(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void put(FILE *file, shape_function *shape, double x, double y, double z) {
    double to[3];
    shape(x, y, z, to);
    fprintf(file, "v %.9f %.9f %.9f\n", to[0], to[1], to[2]);
}

static void as_it_is(double x, double y, double z, double to[3]) {
    to[0] = x, to[1] = y, to[2] = z;
}

/* A bar of length 1 and thickness 0.2 along x: rings of 8 and a point in the middle of each end. */
static void write_bar(const char *name, shape_function *shape) {
    enum { RINGS = 9, ROUND = 8 };
    FILE *file = open_file(name);
    for (int r = 0; r < RINGS; r++)
        for (int k = 0; k < ROUND; k++) {
            double angle = 2 * 3.14159265358979 * k / ROUND;
            put(file, shape, r / (RINGS - 1.0), 0.1 * cos(angle), 0.1 * sin(angle));
        }
    put(file, shape, 0, 0, 0), put(file, shape, 1, 0, 0);
    for (int k = 0; k < ROUND; k++) {
        int next = (k + 1) % ROUND, last = ROUND * (RINGS - 1);
        for (int r = 0; r + 1 < RINGS; r++)
            fprintf(file, "f %d %d %d %d\n", ROUND * r + k + 1, ROUND * (r + 1) + k + 1,
                    ROUND * (r + 1) + next + 1, ROUND * r + next + 1);
        fprintf(file, "f %d %d %d\n", ROUND * RINGS + 1, k + 1, next + 1);
        fprintf(file, "f %d %d %d\n", ROUND * RINGS + 2, last + next + 1, last + k + 1);
    }
    fclose(file);
}

/* Along an arc of 120 degrees. */
static void bend(double x, double y, double z, double to[3]) {
    double bow = 2 * 3.14159265358979 / 3, angle = bow * x;
    to[0] = sin(angle) / bow - y * sin(angle);
    to[1] = (1 - cos(angle)) / bow + y * cos(angle);
    to[2] = z;
}

/* Along an arc of half that angle, which adds a target to a bar. */
static void bend_less(double x, double y, double z, double to[3]) {
    double bow = 3.14159265358979 / 3, angle = bow * x;
    to[0] = sin(angle) / bow - y * sin(angle);
    to[1] = (1 - cos(angle)) / bow + y * cos(angle);
    to[2] = z;
}

/* Two lips as wide as a face, one above the other. */
static void write_mouth(const char *name, shape_function *shape) {
    enum { ACROSS = 10, DOWN = 7 };
    FILE *file = open_file(name);
    for (int lip = 0; lip < 2; lip++)
        for (int j = 0; j < DOWN; j++)
            for (int i = 0; i < ACROSS; i++) {
                double x = 0.16 * (i / (ACROSS - 1.0) - 0.5), out = 0.06 * j / (DOWN - 1.0);
                double away = 0.002 + 8 * (0.06 - out) * (0.06 - out);
                put(file, shape, x, lip ? -away : away, out - 3 * x * x);
            }
    for (int lip = 0; lip < 2; lip++)
        for (int j = 0; j + 1 < DOWN; j++)
            for (int i = 0; i + 1 < ACROSS; i++) {
                int a = ACROSS * (DOWN * lip + j) + i + 1, b = a + 1, c = b + ACROSS,
                    d = a + ACROSS;
                if (lip)
                    fprintf(file, "f %d %d %d %d\n", a, b, c, d);
                else
                    fprintf(file, "f %d %d %d %d\n", a, d, c, b);
            }
    fclose(file);
}

static void open_jaw(double x, double y, double z, double to[3]) {
    double share = y < 0 ? (z + 0.02) / 0.08 : 0;
    to[0] = x, to[1] = y - 0.03 * share, to[2] = z - 0.01 * share;
}

/* The left corner goes up, and the upper lip down onto the lower one. */
static void smile(double x, double y, double z, double to[3]) {
    double left = x > 0 ? x / 0.08 : 0;
    to[0] = x + 0.01 * left, to[1] = y + 0.015 * left * left - (y > 0 ? 0.007 * (1 - left) : 0);
    to[2] = z;
}

/* Both corners go in, and the lips forward. */
static void pucker(double x, double y, double z, double to[3]) {
    to[0] = 0.8 * x, to[1] = y, to[2] = z + 0.01 * (1 - x * x / 0.0064);
}

/* Markers on some vertices of the mouth, following TALK, with gaps. */
static void write_take(void) {
    char path[4096], *files[3], names[3][4096];
    static const char *const shapes[] = {"mouth.obj", "jawOpen.obj", "mouthSmileLeft.obj"};
    sinew_rig *rig;
    sinew_linear *linear;
    for (int k = 0; k < 3; k++) {
        snprintf(names[k], sizeof names[k], "%s/%s", test_folder(), shapes[k]);
        files[k] = names[k];
    }
    assert_ok(sinew_rig_read(3, (const char *const *)files, &rig, &error));
    assert_ok(sinew_linear_create(rig, &linear, &error));
    enum { MARKERS = 24, TIMES = 41 };
    int n = rig->neutral->vertex_count;
    double *shape = calloc(3 * (size_t)n, sizeof *shape);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    sinew_markers *take;
    assert_ok(sinew_markers_create(MARKERS, TIMES, &take, &error));
    FILE *map = open_file("map.csv");
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

static void write_files(void) {
    static bool written;
    if (written) return;
    written = true;
    write_bar("bar.obj", as_it_is), write_bar("bend120.obj", bend);
    write_bar("bend60.obj", bend_less), write_mouth("pucker.obj", pucker);
    write_mouth("mouth.obj", as_it_is);
    write_mouth("jawOpen.obj", open_jaw), write_mouth("mouthSmileLeft.obj", smile);
    write_take();
}

const char *test_scene(const char *name) {
    write_files();
#define TAKE "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}"
    const struct {
        const char *name, *text;
    } scenes[] = {
        {"linear", START MOUTH "\"model\": \"linear\", " TALK "}"},
        {"rotation", START MOUTH "\"model\": \"rotation\", " TALK "}"},
        {"spring", START BAR "\"model\": \"spring\", \"parameters\": {\"max_rounds\": 4}, " SWING
                             ", " BALL "}"},
        {"friction", START BAR "\"model\": \"spring\", \"parameters\": {\"friction\": 0.3, "
                               "\"tolerance\": 1e-3, \"max_rounds\": 4}, " SWING ", " BALL "}"},
        {"skin", START MOUTH "\"model\": \"spring\", \"parameters\": {\"interior\": \"none\", "
                             "\"tolerance\": 1e-4}, " TALK "}"},
        {"modal", START BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 12}, \"keys\": "
                            "[{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 2, \"pose\": "
                            "\"bend120\"}]}"},
        {"jiggle", START BAR "\"model\": \"modal\", \"parameters\": {\"modes\": 8}, " SWING "}"},
        {"force", START MOUTH "\"model\": \"force\", " TALK "}"},
        {"contact",
         START MOUTH "\"model\": \"force\", \"parameters\": {\"contact\": \"all\"}, " TALK "}"},
        {"markers", START MOUTH "\"model\": \"force\", \"parameters\": {\"layer\": true, "
                                "\"bounded\": true}, " TAKE "}"},
        {"layer", START MOUTH "\"model\": \"fit\", \"parameters\": {\"layer\": true, \"smooth\": "
                              "0.01}, " TAKE "}"},
        {"apart",
         START MOUTH "\"model\": \"linear\", \"parameters\": {\"self_contact\": true}, " TALK "}"},
        {"turned apart", START MOUTH
         "\"model\": \"rotation\", \"parameters\": {\"self_contact\": true}, " TALK "}"},
        {"fit", START MOUTH "\"model\": \"fit\", \"parameters\": {}, " TAKE "}"},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        if (!strcmp(scenes[i].name, name)) return scenes[i].text;
    return NULL;
}

sinew_session *test_open(const char *text) {
    sinew_scene *scene;
    sinew_session *session;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    write_files();
    assert_ok(sinew_scene_parse(text, "test", test_folder(), &scene, &error));
    assert_ok(sinew_session_create(scene, &options, &session, &error));
    sinew_scene_destroy(scene);
    return session;
}

sinew_session *test_session(const char *name) {
    return test_open(test_scene(name));
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

static void compare_scene(const char *name, const char *text, int frames, double tolerance) {
    sinew_session *session = test_open(text);
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    int count = 3 * test_vertex_count(solver);
    double *positions = calloc((size_t)frames * (size_t)count, sizeof *positions), counts[4] = {0};
    assert_non_null(positions);
    for (int f = 0; f < frames; f++) {
        sinew_input input;
        sinew_result result;
        sinew_input_init(&input), sinew_result_init(&result);
        input.frame = f;
        result.positions = positions + (size_t)f * (size_t)count;
        sinew_status status = sinew_solver_solve(solver, &input, &result, NULL, &error);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) fail_msg("%s", error.message);
        const double found[] = {status == SINEW_OK, result.iterations, result.inverted,
                                result.contact_count};
        for (int k = 0; k < 4; k++) counts[k] += found[k];
    }
    sinew_session_destroy(session);
    char part[256];
    snprintf(part, sizeof part, "%s, steps", name);
    assert_recorded(part, 4, counts, 0);
    snprintf(part, sizeof part, "%s, shape", name);
    assert_recorded(part, frames * count, positions, tolerance);
    free(positions);
}

void test_recorded_scenes(int count, const test_named_scene *scenes, int frames, double tolerance) {
    for (int i = 0; i < count; i++)
        compare_scene(scenes[i].name, scenes[i].text, frames, tolerance);
}

double test_farthest(size_t size, const double *a, const double *b) {
    double most = 0;
    for (size_t i = 0; i < size; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}
