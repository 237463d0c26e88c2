/* "hold": "auto" with the models that have it: feet stay where they are, and nothing passes below
 * the floor between poses that do not. */
#include "support.h"

#include <math.h>

#include "groups.h"
#include "scenes.h"

static sinew_error error;

enum { ALONG = 24, AROUND = 6, POST = 9, N = ALONG * AROUND, FRAMES = 9 };

/* A post that stands on y = 0, and an arm from its top that hangs at `angle`. */
static void write_post(const char *name, double angle) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < ALONG; i++)
        for (int j = 0; j < AROUND; j++) {
            double a = 2 * M_PI * j / AROUND, s = 1.6 * (i - POST + 1) / (ALONG - POST);
            bool post = i < POST;
            double x = post ? 0.12 * cos(a) : s * cos(angle) - 0.12 * cos(a) * sin(angle);
            double y =
                post ? 1.2 * i / (POST - 1) : 1.2 + s * sin(angle) + 0.12 * cos(a) * cos(angle);
            fprintf(file, "v %.9f %.9f %.9f\n", x, y, 0.12 * sin(a));
        }
    for (int i = 0; i + 1 < ALONG; i++)
        for (int j = 0; j < AROUND; j++) {
            int a = AROUND * i + j + 1, b = AROUND * i + (j + 1) % AROUND + 1;
            fprintf(file, "f %d %d %d %d\n", a, b, b + AROUND, a + AROUND);
        }
    fclose(file);
}

#define SCENE(model, parameters)                                                                   \
    "{\"sinew\": 1, \"rig\": {\"files\": [\"post.obj\", \"swung.obj\"]}, \"time\": {\"fps\": 8}, " \
    "\"model\": \"" model "\", \"parameters\": {" parameters "}, "
#define CURVES "\"curves\": {\"times\": [0, 1], \"values\": {\"swung\": [0, 1]}}}"
#define KEYS   "\"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": \"swung\"}]}"
#define MODAL  "\"modes\": 6, \"body\": \"shell\", \"amplitude\": [0, 0, 0, 0, 0, 0]"

/* Lowest point over the frames; the first ring of every frame must not move when it is held. */
static double lowest(const char *text, bool held) {
    static double first[3 * N], now[3 * N];
    double low = INFINITY;
    sinew_session *session = test_open(text);
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_solver *solver = sinew_session_solver(session);
    assert_int_equal(test_vertex_count(solver), N);
    for (int f = 0; f < FRAMES; f++) {
        test_frame(solver, f, now);
        if (f == 0) memcpy(first, now, sizeof now);
        for (int v = 0; v < N; v++) low = fmin(low, now[3 * v + 1]);
        for (int k = 0; held && k < 3 * AROUND; k++) assert_below(fabs(now[k] - first[k]), 1e-6);
    }
    sinew_session_destroy(session);
    return low;
}

static void nothing_passes_below_the_floor(void **state) {
    (void)state;
    write_post("post.obj", -0.6), write_post("swung.obj", -M_PI + 0.6);
    static const struct {
        const char *free, *held;
    } scenes[] = {
        {SCENE("rotation", "") CURVES, SCENE("rotation", "\"hold\": \"auto\"") CURVES},
        {SCENE("spring", "") CURVES, SCENE("spring", "\"hold\": \"auto\"") CURVES},
        {SCENE("modal", MODAL) KEYS, SCENE("modal", MODAL ", \"hold\": \"auto\"") KEYS},
    };
    for (int k = 0; k < 3; k++) {
        assert_true(lowest(scenes[k].free, false) < -0.1);
        assert_true(lowest(scenes[k].held, true) > -1e-5);
    }
}

int test_holds(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_passes_below_the_floor)};
    return cmocka_run_group_tests_name("holds", tests, NULL, NULL);
}
