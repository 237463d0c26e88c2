/* What a scene can ask of modal motion beyond its parameters: pins, orientations, paths, tets. */
#include "support.h"

#include <math.h>

#include "base/memory.h"
#include "base/vec3.h"
#include "groups.h"
#include "sinew/sinew.h"

static sinew_error error;

/* Runs a scene of the bar through two keys a second apart, five frames, with further keys of the
 * scene. Returns positions of all frames. */
static double *frames_of(const char *further, char **report, int *vertex_count) {
    char text[2000];
    snprintf(text, sizeof text,
             "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 1000}, \"model\": "
             "\"modal\", %s\"time\": {\"fps\": 4}, %s}",
             strstr(further, "\"keys\"") ? ""
                                         : "\"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, "
                                           "{\"time\": 1, \"pose\": \"bend120\"}], ",
             further);
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_scene_parse(text, "s.json", test_folder(), &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    sinew_scene_destroy(scene);
    *vertex_count = sinew_job_rig(job)->neutral->vertex_count;
    size_t size = 3 * (size_t)*vertex_count;
    assert_int_equal(sinew_job_frame_count(job), 5);
    double *frames = malloc(sizeof(double) * 5 * size);
    for (int k = 0; k < 5; k++)
        assert_ok(sinew_job_frame(job, k, frames + size * (size_t)k, NULL, NULL, &error));
    if (report) {
        assert_ok(sinew_job_run(job, 0, -1, NULL, &error));
        assert_ok(sinew_job_report(job, report, &error));
    }
    sinew_job_destroy(job);
    return frames;
}

static void pins_hold_move_and_turn(void **state) {
    (void)state;
    int n;
    double *still =
        frames_of("\"parameters\": {\"modes\": 10}, \"pins\": [{\"select\": \"v:0-2\"}, "
                  "{\"select\": \"v:500\", \"motion\": [{\"time\": 0}, {\"time\": 1, "
                  "\"move\": [0, 0, 2]}]}, {\"select\": \"v:700\", \"stiffness\": 0.01}]",
                  NULL, &n);
    for (int k = 0; k < 5; k++)
        for (int v = 0; v < 3; v++)
            assert_below(sn_distance(sn_at(still + 3 * (size_t)n * (size_t)k, v), sn_at(still, v)),
                         1e-9);
    sn_vec3 moved = sn_sub(sn_at(still + 6 * (size_t)n, 500), sn_at(still, 500));
    assert_below(sn_distance(moved, sn_v3(0, 0, 1)), 1e-9); /* half-way in the third frame */
    assert_true(sn_distance(sn_at(still + 6 * (size_t)n, 700), sn_at(still, 700)) > 1e-3);
    free(still);
}

/* Held vertices are half-way between the keys half-way, and nowhere near it without. */
static void held_vertices_follow_their_lines(void **state) {
    (void)state;
    const char *const scenes[2] = {"\"parameters\": {\"modes\": 10}",
                                   "\"parameters\": {\"modes\": 10, \"hold\": \"v:500-520\"}"};
    for (int held = 0; held < 2; held++) {
        int n;
        double off = 0, *frames = frames_of(scenes[held], NULL, &n);
        size_t size = 3 * (size_t)n;
        for (int v = 500; v <= 520; v++) {
            sn_vec3 line = sn_scale(0.5, sn_add(sn_at(frames, v), sn_at(frames + 4 * size, v)));
            off = fmax(off, sn_distance(line, sn_at(frames + 2 * size, v)));
        }
        if (held)
            assert_below(off, 1e-9);
        else
            assert_below(0.01, off);
        free(frames);
    }
}

/* Swings through three revolutions would turn the bar inside out: they are damped, unless the
 * amplitude is given. */
static void swings_that_fold_the_body_are_damped(void **state) {
    (void)state;
    const char *const amplitudes[2] = {"", ", \"amplitude\": [1]"};
    double scale[2];
    for (int k = 0; k < 2; k++) {
        char text[600], *report;
        snprintf(text, sizeof text,
                 "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 1000}, \"model\": "
                 "\"modal\", \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, "
                 "\"pose\": \"twist3\"}], \"time\": {\"fps\": 30, \"to\": 2}, \"parameters\": "
                 "{\"modes\": 40%s}}",
                 amplitudes[k]);
        sinew_scene *scene;
        sinew_job *job;
        assert_ok(sinew_scene_parse(text, "s.json", test_folder(), &scene, &error));
        assert_ok(sinew_job_create(scene, NULL, &job, &error));
        sinew_scene_destroy(scene);
        assert_ok(sinew_job_run(job, 0, -1, NULL, &error));
        assert_ok(sinew_job_report(job, &report, &error));
        const char *at = strstr(report, "\"amplitude_scale\":");
        assert_non_null(at);
        scale[k] = atof(strchr(at, ':') + 1);
        sinew_free(report);
        sinew_job_destroy(job);
    }
    assert_below(scale[0], 0.5);
    assert_close(scale[1], 1, 0);
}

/* Standing still at both keys is what a wiggly spline does by itself; a velocity changes the way
 * there and not the keys. */
static void keys_have_velocities(void **state) {
    (void)state;
    const char *const keys[3] = {"", ", \"velocity\": {}", ", \"velocity\": {\"bend120\": 2}"};
    double *frames[3];
    int n = 0;
    for (int k = 0; k < 3; k++) {
        char text[600];
        snprintf(text, sizeof text,
                 "\"parameters\": {\"modes\": 10, \"wiggly\": true}, \"keys\": [{\"time\": 0, "
                 "\"pose\": \"neutral\"}, {\"time\": 1, \"pose\": \"bend120\"%s}]",
                 keys[k]);
        frames[k] = frames_of(text, NULL, &n);
    }
    size_t size = 3 * (size_t)n;
    double same = 0, other = 0, end = 0;
    for (size_t i = 0; i < size; i++) {
        same = fmax(same, fabs(frames[0][2 * size + i] - frames[1][2 * size + i]));
        other = fmax(other, fabs(frames[0][2 * size + i] - frames[2][2 * size + i]));
        end = fmax(end, fabs(frames[0][4 * size + i] - frames[2][4 * size + i]));
    }
    assert_below(same, 1e-9);
    assert_below(0.01, other);
    assert_below(end, 1e-6);
    for (int k = 0; k < 3; k++) free(frames[k]);
}

/* The end of a bar that bends by 120 degrees at a weight of 1 turns by that much a second; linear
 * blending would stretch it by half its width instead. */
static void velocities_turn_what_turns(void **state) {
    (void)state;
    int n, high = 0, low = 0;
    double *still = frames_of("\"parameters\": {\"modes\": 30}", NULL, &n);
    double *passing = frames_of("\"parameters\": {\"modes\": 30}, \"keys\": [{\"time\": 0, "
                                "\"pose\": \"neutral\"}, {\"time\": 0.76, \"pose\": \"bend120\", "
                                "\"velocity\": {\"bend120\": 1}}, {\"time\": 1, \"pose\": "
                                "\"neutral\"}]",
                                NULL, &n);
    const double *pose = still + 12 * (size_t)n, *before = passing + 9 * (size_t)n;
    for (int v = 0; v < n; v++) { /* across the end of the bar */
        sn_vec3 at = sn_at(still, v);
        if (at.x < 0.999) continue;
        if (sn_at(still, high).x < 0.999 || at.y > sn_at(still, high).y) high = v;
        if (sn_at(still, low).x < 0.999 || at.y < sn_at(still, low).y) low = v;
    }
    sn_vec3 across = sn_sub(sn_at(pose, high), sn_at(pose, low));
    sn_vec3 rate =
        sn_scale(1 / 0.01, sn_sub(across, sn_sub(sn_at(before, high), sn_at(before, low))));
    double squared = sn_dot(across, across);
    assert_close(sn_dot(across, rate) / squared, 0, 0.2);
    assert_close(sn_length(sn_cross(across, rate)) / squared, 2 * M_PI / 3, 0.4);
    free(still), free(passing);
}

/* A region asked to keep its orientation of rest turns less than without. */
static void orientations_level_a_region(void **state) {
    (void)state;
    int n;
    double *plain = frames_of("\"parameters\": {\"modes\": 10}", NULL, &n);
    double *level = frames_of("\"parameters\": {\"modes\": 10}, \"orientations\": [{\"select\": "
                              "\"all\", \"turn\": [0, 0, 0]}]",
                              NULL, &n);
    double *turned =
        frames_of("\"parameters\": {\"modes\": 10}, \"orientations\": [{\"select\": "
                  "\"all\", \"motion\": [{\"time\": 0}, {\"time\": 1, \"turn\": [0, 0, "
                  "90]}]}]",
                  NULL, &n);
    double bent = 0, flat = 0, upright = 0;
    sn_vec3 rest = sn_sub(sn_at(plain, n - 1), sn_at(plain, 0));
    size_t last = 12 * (size_t)n;
    bent = sn_distance(rest, sn_sub(sn_at(plain + last, n - 1), sn_at(plain + last, 0)));
    flat = sn_distance(rest, sn_sub(sn_at(level + last, n - 1), sn_at(level + last, 0)));
    upright = sn_distance(sn_v3(-rest.y, rest.x, rest.z),
                          sn_sub(sn_at(turned + last, n - 1), sn_at(turned + last, 0)));
    assert_below(flat, 0.2 * bent);
    assert_below(upright, 0.2 * bent);
    free(plain), free(level), free(turned);
}

static void paths_come_from_a_marker_file(void **state) {
    (void)state;
    sinew_markers *path;
    assert_ok(sinew_markers_create(1, 3, &path, &error));
    assert_ok(sinew_markers_set_name(path, 0, "center", &error));
    for (int k = 0; k < 3; k++) {
        path->times[k] = 0.5 * k;
        sn_put(path->positions, k, sn_v3(0, k == 1 ? 3 : 0, 0));
    }
    char file[600];
    snprintf(file, sizeof file, "%s/path.csv", test_folder());
    assert_ok(sinew_markers_write(file, path, &error));
    sinew_markers_destroy(path);
    int n;
    double *plain = frames_of("\"parameters\": {\"modes\": 10}", NULL, &n);
    double *led = frames_of("\"parameters\": {\"modes\": 10, \"path\": \"path.csv\"}", NULL, &n);
    for (int k = 0; k < 5; k++) {
        double up = k == 2 ? 3 : 0;
        sn_vec3 off = sn_sub(sn_at(led + 3 * (size_t)n * (size_t)k, 7),
                             sn_at(plain + 3 * (size_t)n * (size_t)k, 7));
        if (k % 2 == 0) assert_below(sn_distance(off, sn_v3(0, up, 0)), 1e-9);
        if (k % 2 == 1) assert_true(off.y > 1 && off.y < 3);
    }
    free(plain), free(led);
}

/* The report says how many tets are inside out in frames and in no key, and which. */
static void given_tets_and_new_inversions_are_reported(void **state) {
    (void)state;
    sinew_rig *rig;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = 1000;
    assert_ok(sinew_sample_rig("bar", &size, &rig, &error));
    sinew_tets *tets;
    assert_ok(sinew_tets_from_surface(rig->neutral, NULL, NULL, &tets, &error));
    char file[600], elements[64];
    snprintf(file, sizeof file, "%s/body.mesh", test_folder());
    assert_ok(sinew_tets_write(file, tets, &error));
    snprintf(elements, sizeof elements, "\"elements\":%d", tets->tet_count);
    sinew_tets_destroy(tets);
    sinew_rig_destroy(rig);
    int n;
    char *report;
    double *frames =
        frames_of("\"parameters\": {\"modes\": 10, \"tets\": \"body.mesh\"}, \"pins\": "
                  "[{\"select\": \"v:0\", \"motion\": [{\"time\": 0}, {\"time\": 1, "
                  "\"move\": [2, 0, 0]}]}, {\"select\": \"v:100-120\"}]",
                  &report, &n);
    char *compact = report, *to = report;
    for (; *compact; compact++)
        if (*compact != ' ' && *compact != '\n') *to++ = *compact;
    *to = 0;
    assert_non_null(strstr(report, elements));
    const char *listed = strstr(report, "\"new_inverted\":{\"count\":");
    assert_non_null(listed);
    assert_true(atoi(listed + strlen("\"new_inverted\":{\"count\":")) > 0);
    assert_non_null(strstr(listed, "\"tets\":["));
    sinew_free(report);
    free(frames);
}

/* Each mode from the first on, displaced by about a tenth of the diagonal. */
static void shapes_of_all_modes_are_written(void **state) {
    (void)state;
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_scene_parse(
        "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\", \"vertices\": 1000}, \"model\": \"modal\", "
        "\"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": \"bend120\"}], "
        "\"time\": {\"fps\": 2}, \"parameters\": {\"modes\": 5}, \"outputs\": {\"shapes\": "
        "\"shapes.pc2\"}}",
        "s.json", test_folder(), &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    assert_ok(sinew_job_run(job, 0, -1, NULL, &error));
    const sinew_mesh *neutral = sinew_job_rig(job)->neutral;
    double diagonal = sinew_diagonal(neutral->vertex_count, neutral->positions);
    char path[4200];
    snprintf(path, sizeof path, "%s/shapes.pc2", test_folder());
    sinew_frames *frames;
    assert_ok(sinew_frames_read(path, &frames, &error));
    assert_int_equal(frames->frame_count, 5);
    assert_int_equal(frames->vertex_count, neutral->vertex_count);
    const float *x = frames->positions;
    for (int k = 0; k < 5; k++) {
        double most = 0;
        for (int v = 0; v < neutral->vertex_count; v++, x += 3)
            most = fmax(most, sn_distance(sn_at(neutral->positions, v), sn_v3(x[0], x[1], x[2])));
        assert_close(most, 0.1 * diagonal, 0.04 * diagonal);
    }
    sinew_frames_destroy(frames);
    sinew_scene_destroy(scene);
    sinew_job_destroy(job);
}

int test_modal(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_all_modes_are_written),
        cmocka_unit_test(pins_hold_move_and_turn),
        cmocka_unit_test(keys_have_velocities),
        cmocka_unit_test(velocities_turn_what_turns),
        cmocka_unit_test(swings_that_fold_the_body_are_damped),
        cmocka_unit_test(held_vertices_follow_their_lines),
        cmocka_unit_test(orientations_level_a_region),
        cmocka_unit_test(paths_come_from_a_marker_file),
        cmocka_unit_test(given_tets_and_new_inversions_are_reported),
    };
    return cmocka_run_group_tests_name("modal scenes", tests, NULL, NULL);
}
