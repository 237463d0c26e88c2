#include "support.h"

#include <jansson.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/vec3.h"
#include "groups.h"
#include "sinew/sinew.h"

static sinew_error error;

static sinew_job *job_of(const char *text) {
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_scene_parse(text, "s.json", test_folder(), &scene, &error));
    assert_ok(sinew_job_create(scene, NULL, &job, &error));
    sinew_scene_destroy(scene);
    return job;
}

static const char *refusal(const char *text, sinew_status expected) {
    sinew_scene *scene;
    sinew_job *job;
    assert_ok(sinew_scene_parse(text, "s.json", test_folder(), &scene, &error));
    assert_int_equal(sinew_job_create(scene, NULL, &job, &error), expected);
    assert_null(job);
    sinew_scene_destroy(scene);
    return error.message;
}

#define BAR "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, "

static void frames_stand_at_k_over_fps_with_the_last_at_the_end(void **state) {
    (void)state;
    /* 0.25 s at 10 a second: 0, 0.1, 0.2 and the end. */
    sinew_job *job = job_of(BAR "\"time\": {\"fps\": 10}, \"curves\": {\"times\": [1, 1.25], "
                                "\"values\": {\"bend120\": [0, 1]}}}");
    assert_int_equal(sinew_job_frame_count(job), 4);
    const double times[] = {1, 1.1, 1.2, 1.25}, weights[] = {0, 0.4, 0.8, 1};
    for (int k = 0; k < 4; k++) {
        assert_close(sinew_job_time(job, k), times[k], 1e-12);
        assert_close(sinew_job_weights(job, k)[0], weights[k], 1e-12);
    }
    sinew_job_destroy(job);
    /* An end that is a whole number of frames, up to rounding, is not doubled. */
    job = job_of(BAR "\"time\": {\"fps\": 30}, \"curves\": {\"times\": [0, 2.00000000001], "
                     "\"values\": {\"bend120\": [0, 1]}}}");
    assert_int_equal(sinew_job_frame_count(job), 61);
    sinew_job_destroy(job);
}

#define FACE "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 1000}, "

static void curves_match_sliders_as_weights_do(void **state) {
    (void)state;
    sinew_job *job = job_of(FACE "\"time\": {\"fps\": 1}, \"curves\": {\"times\": [0, 1], "
                                 "\"values\": {\"mouthSmile\": [0, 0.5], \"JAW_OPEN\": [1, 1]}}}");
    const sinew_rig *rig = sinew_job_rig(job);
    int sides[2], jaw = sinew_rig_find_slider(rig, "jawOpen");
    assert_int_equal(sinew_rig_match(rig, "mouthSmile", sides), 2);
    for (int s = 0; s < rig->slider_count; s++)
        assert_close(sinew_job_weights(job, 1)[s],
                     s == sides[0] || s == sides[1] ? 0.5
                     : s == jaw                     ? 1
                                                    : rig->sliders[s].rest,
                     0);
    sinew_job_destroy(job);
    const char *message =
        refusal(FACE "\"curves\": {\"times\": [0, 1], \"values\": {\"jawOpen\": [0, 1], "
                     "\"JAW_OPEN\": [0, 0]}}}",
                SINEW_BAD_INPUT);
    assert_non_null(strstr(message, "'jawOpen' and 'JAW_OPEN'"));
    message = refusal(FACE "\"curves\": {\"times\": [0, 1], \"values\": {\"mouthSmile\": [0, 1], "
                           "\"mouthSmileLeft\": [0, 0]}}}",
                      SINEW_BAD_INPUT);
    assert_non_null(strstr(message, "'mouthSmile' and 'mouthSmileLeft'"));
}

static void one_of_curves_and_markers_drives(void **state) {
    (void)state;
    const char *message = refusal(FACE "\"model\": \"force\", \"curves\": {\"times\": [0, 1], "
                                       "\"values\": {\"jawOpen\": [0, 1]}}, \"markers\": "
                                       "{\"file\": \"nothing.csv\"}}",
                                  SINEW_BAD_INPUT);
    assert_non_null(strstr(message, "curves: the scene gives markers too"));
    static const char *const outputs[] = {"error_plot", "trace_plot", "stretch_map", "bend_map"};
    for (int i = 0; i < 4; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 FACE "\"model\": \"force\", \"curves\": {\"times\": [0, 1], \"values\": "
                      "{\"jawOpen\": [0, 1]}}, \"outputs\": {\"%s\": \"x.png\"}}",
                 outputs[i]);
        message = refusal(text, SINEW_BAD_INPUT);
        assert_non_null(strstr(message, outputs[i]));
    }
}

static void steps_go_from_the_first_pose_to_the_second(void **state) {
    (void)state;
    sinew_job *job = job_of(BAR "\"steps\": 4}");
    assert_int_equal(sinew_job_frame_count(job), 5);
    for (int k = 0; k <= 4; k++) {
        assert_close(sinew_job_weights(job, k)[0], k / 4.0, 0);
        assert_close(sinew_job_weights(job, k)[1], 0, 0);
    }
    sinew_job_destroy(job);
    job = job_of(BAR "\"steps\": 2, \"weights\": {\"twist1\": 0.5}}");
    int twist = sinew_rig_find_slider(sinew_job_rig(job), "twist1");
    assert_close(sinew_job_weights(job, 1)[twist], 0.25, 0);
    assert_close(sinew_job_weights(job, 2)[twist], 0.5, 0);
    sinew_job_destroy(job);
}

static void incomplete_scenes_say_what_is_missing(void **state) {
    (void)state;
    assert_string_equal(refusal("{\"sinew\": 1, \"steps\": 2}", SINEW_BAD_INPUT),
                        "s.json: /rig: needs files, or the name of a sample");
    assert_string_equal(refusal("{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}}", SINEW_BAD_INPUT),
                        "s.json: nothing drives the rig: give weights, curves or steps");
    assert_non_null(strstr(refusal(BAR "\"weights\": {\"bend12\": 1}}", SINEW_BAD_INPUT),
                           "weights: the rig has no slider 'bend12'; did you mean 'bend120'?"));
    assert_non_null(
        strstr(refusal(BAR "\"curves\": {\"times\": [0, 0], \"values\": {}}}", SINEW_BAD_INPUT),
               "/curves/times: element 1 does not increase"));
    assert_non_null(
        strstr(refusal(BAR "\"curves\": {\"times\": [0], \"values\": {\"bend120\": [1, 2]}}}",
                       SINEW_BAD_INPUT),
               "'bend120' has 2 values for 1 times"));
    assert_non_null(strstr(refusal(BAR "\"time\": {\"fps\": 100000, \"to\": 1e9}, "
                                       "\"weights\": {}}",
                                   SINEW_BAD_INPUT),
                           "too many frames"));
    assert_non_null(strstr(refusal("{\"sinew\": 1, \"rig\": {\"files\": [\"none.obj\"]}, "
                                   "\"steps\": 1}",
                                   SINEW_IO),
                           "none.obj"));
}

static void any_order_of_frames_gives_the_same_bits(void **state) {
    (void)state;
    for (int m = 0; m < 2; m++) {
        char text[256];
        snprintf(text, sizeof text, BAR "\"model\": \"%s\", \"steps\": 3}",
                 m ? "rotation" : "linear");
        sinew_job *job = job_of(text);
        size_t size = 3 * (size_t)sinew_job_rig(job)->neutral->vertex_count;
        double *one = SN_NEW(double, size), *two = SN_NEW(double, size);
        sinew_frame_info info = {.size = sizeof info};
        assert_ok(sinew_job_frame(job, 2, one, &info, NULL, &error));
        assert_close(info.time, 2 / 30.0, 1e-15);
        assert_int_equal(info.status, SINEW_OK);
        for (int k = 3; k >= 0; k--) {
            assert_ok(sinew_job_frame(job, k, two, NULL, NULL, &error));
            if (k == 2) assert_memory_equal(one, two, size * sizeof *one);
        }
        assert_int_equal(sinew_job_frame(job, 4, two, NULL, NULL, &error), SINEW_MISUSE);
        sn_free(one);
        sn_free(two);
        sinew_job_destroy(job);
    }
}

static char *file_in_folder(const char *name) {
    return sn_path_join(test_folder(), name);
}

static bool folder_holds(const char *part) {
    char **names;
    int count;
    bool found = false;
    assert_ok(sn_folder_list(test_folder(), &names, &count, &error));
    for (int i = 0; i < count; i++) found |= strstr(names[i], part) != NULL;
    sn_names_free(names, count);
    return found;
}

static void ranges_of_a_clip_make_the_whole_clip(void **state) {
    (void)state;
    sinew_job *job = job_of(BAR "\"model\": \"rotation\", \"steps\": 5, "
                                "\"outputs\": {\"frames\": [\"clip.pc2\"]}}");
    sinew_frames *whole, *part;
    char *path = file_in_folder("clip.pc2");
    assert_ok(sinew_job_run(job, 0, -1, NULL, &error));
    assert_ok(sinew_frames_read(path, &whole, &error));
    assert_int_equal(whole->frame_count, 6);
    size_t row = 3 * (size_t)whole->vertex_count;
    const int ranges[][2] = {{0, 1}, {2, 4}, {5, 5}};
    for (int r = 0; r < 3; r++) {
        assert_ok(sinew_job_run(job, ranges[r][0], ranges[r][1], NULL, &error));
        assert_ok(sinew_frames_read(path, &part, &error));
        assert_int_equal(part->frame_count, ranges[r][1] - ranges[r][0] + 1);
        assert_close(part->start, ranges[r][0] / 30.0, 1e-6);
        assert_memory_equal(part->positions, whole->positions + (size_t)ranges[r][0] * row,
                            (size_t)part->frame_count * row * sizeof(float));
        sinew_frames_destroy(part);
    }
    assert_int_equal(sinew_job_run(job, 4, 6, NULL, &error), SINEW_BAD_INPUT);
    assert_string_equal(error.message, "frames 4-6: the clip has frames 0-5");
    sinew_frames_destroy(whole);
    sinew_job_destroy(job);
    sn_free(path);
}

/* Cancels once a frame has been handed over. */
static void note_frames(double fraction, const char *stage, void *user) {
    if (fraction > 0 && strcmp(stage, "frames") == 0) *(bool *)user = true;
}

static bool frame_was_noted(void *user) {
    return *(const bool *)user;
}

static void a_cancelled_run_leaves_nothing(void **state) {
    (void)state;
    sinew_job *job = job_of(BAR "\"steps\": 9, \"outputs\": {\"frames\": [\"stopped.pc2\"], "
                                "\"report\": \"stopped.json\", \"curves\": \"stopped.csv\"}}");
    bool noted = false;
    sinew_monitor monitor = {.progress = note_frames, .cancelled = frame_was_noted, .user = &noted};
    assert_int_equal(sinew_job_run(job, 0, -1, &monitor, &error), SINEW_CANCELLED);
    assert_true(noted);
    assert_false(folder_holds("stopped"));
    assert_ok(sinew_job_run(job, 0, -1, NULL, &error)); /* still usable */
    assert_true(folder_holds("stopped.pc2"));
    assert_true(folder_holds("stopped.json"));
    assert_true(folder_holds("stopped.csv"));
    assert_false(folder_holds(".part"));
    sinew_job_destroy(job);
}

static void an_unwritable_output_fails_before_the_first_frame(void **state) {
    (void)state;
    sinew_job *job = job_of(BAR "\"steps\": 2, \"outputs\": {\"frames\": [\"early.pc2\", "
                                "\"/nowhere/at/all.pc2\"]}}");
    assert_int_equal(sinew_job_run(job, 0, -1, NULL, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "/nowhere/at/all.pc2"));
    assert_false(folder_holds("early"));
    sinew_job_destroy(job);
}

static void a_single_shape_may_be_a_mesh(void **state) {
    (void)state;
    sinew_job *job = job_of(BAR "\"weights\": {\"bend120\": 1}, "
                                "\"outputs\": {\"frames\": [\"shape.obj\", \"shape.pc2\"]}}");
    assert_ok(sinew_job_run(job, 0, -1, NULL, &error));
    char *path = file_in_folder("shape.obj");
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_read(path, &mesh, &error));
    const sinew_rig *rig = sinew_job_rig(job);
    assert_ok(sinew_mesh_same_topology(rig->neutral, mesh, &error));
    double *positions = SN_NEW(double, 3 * (size_t)mesh->vertex_count);
    assert_ok(sinew_job_frame(job, 0, positions, NULL, NULL, &error));
    for (int i = 0; i < 3 * mesh->vertex_count; i++)
        assert_true((float)positions[i] == (float)mesh->positions[i]);
    sn_free(positions);
    sinew_mesh_destroy(mesh);
    sn_free(path);
    sinew_job_destroy(job);
}

/* A bar that hangs along its length stretches less with fibers along it than with fibers across. */
static void fibers_stiffen_a_region_in_their_direction(void **state) {
    (void)state;
    static const char *const fibers[2] = {"[1, 0, 0]", "[0, 1, 0]"};
    double length[2];
    for (int k = 0; k < 2; k++) {
        char text[700];
        snprintf(text, sizeof text,
                 BAR
                 "\"model\": \"spring\", \"weights\": {\"bend120\": 0}, \"pins\": [{\"select\": "
                 "\"v:0-20\"}], \"parameters\": {\"gravity\": [0.05, 0, 0], \"pull_to_blend\": "
                 "1e-6}, \"fibers\": [{\"select\": \"all\", \"direction\": %s, \"ratio\": 20}]}",
                 fibers[k]);
        sinew_job *job = job_of(text);
        const sinew_mesh *neutral = sinew_job_rig(job)->neutral;
        double *x = SN_NEW(double, 3 * (size_t)neutral->vertex_count), rest = -INFINITY;
        length[k] = -INFINITY;
        assert_ok(sinew_job_frame(job, 0, x, NULL, NULL, &error));
        for (int v = 0; v < neutral->vertex_count; v++) {
            length[k] = fmax(length[k], x[3 * v]);
            rest = fmax(rest, neutral->positions[3 * v]);
        }
        length[k] -= rest;
        sn_free(x);
        sinew_job_destroy(job);
    }
    assert_true(length[0] > 0);
    assert_below(1.1 * length[0], length[1]);
    assert_non_null(strstr(refusal(BAR "\"model\": \"spring\", \"weights\": {}, \"fibers\": "
                                       "[{\"select\": \"all\", \"direction\": [0, 0, 0], "
                                       "\"ratio\": 2}]}",
                                   SINEW_BAD_INPUT),
                           "no length"));
}

/* A pull follows its vertex through a point cache; gravity lowers what is pinned at one end. */
static void spring_pulls_move_and_gravity_acts(void **state) {
    (void)state;
    char cache[512];
    snprintf(cache, sizeof cache, "%s/pull.pc2", test_folder());
    sinew_job *job = job_of(BAR "\"steps\": 2}");
    int n = sinew_job_rig(job)->neutral->vertex_count, tip = 0;
    const double *rest = sinew_job_rig(job)->neutral->positions;
    for (int v = 1; v < n; v++)
        if (rest[3 * v] > rest[3 * tip]) tip = v;
    double *x = SN_NEW(double, 3 * n), *moved = SN_NEW(double, 3 * n);
    sinew_frame_writer *writer = NULL;
    assert_ok(
        sinew_frame_writer_open(cache, sinew_job_rig(job)->neutral, 3, 0, 30, &writer, &error));
    for (int f = 0; f < 3; f++) {
        for (int k = 0; k < 3 * n; k++) moved[k] = rest[k] + (k % 3 == 1 ? 0.01 * f : 0);
        assert_ok(sinew_frame_writer_add(writer, moved, &error));
    }
    assert_ok(sinew_frame_writer_close(writer, &error));
    double goal = rest[3 * tip + 1];
    sinew_job_destroy(job);
    char text[512];
    snprintf(text, sizeof text,
             BAR "\"model\": \"spring\", \"steps\": 2, \"pulls\": [{\"vertex\": %d, "
                 "\"frames\": \"pull.pc2\"}], \"weights\": {\"bend120\": 0.001}}",
             tip);
    job = job_of(text);
    for (int f = 0; f < 3; f++) {
        assert_ok(sinew_job_frame(job, f, x, NULL, NULL, &error));
        assert_close(x[3 * tip + 1], goal + 0.01 * f, 1e-6);
    }
    sinew_job_destroy(job);
    double height[2];
    for (int k = 0; k < 2; k++) {
        job = job_of(k ? BAR "\"model\": \"spring\", \"weights\": {\"bend120\": 0}, "
                             "\"parameters\": {\"boundary\": \"static\", \"gravity\": "
                             "[0, -1e-4, 0]}}"
                       : BAR "\"model\": \"spring\", \"weights\": {\"bend120\": 0}, "
                             "\"parameters\": {\"boundary\": \"static\"}}");
        assert_ok(sinew_job_frame(job, 0, x, NULL, NULL, &error));
        height[k] = x[3 * tip + 1];
        sinew_job_destroy(job);
    }
    assert_true(height[1] < height[0] - 1e-6);
    assert_non_null(strstr(
        refusal(
            BAR
            "\"model\": \"spring\", \"weights\": {\"bend120\": 0}, \"pulls\": [{\"vertex\": 3}]}",
            SINEW_BAD_INPUT),
        "either"));
    sn_free(x), sn_free(moved);
}

/* Wind pushes where it meets the surface: a bar that is held at one end goes with wind from the
 * side, the other way when the wind turns, and hardly moves in wind along its length. */
static void wind_acts_on_what_faces_it(void **state) {
    (void)state;
    static const char *const winds[3] = {"[0, 1e-3, 0]", "[0, -1e-3, 0]", "[1e-3, 0, 0]"};
    sn_vec3 moved[3];
    for (int k = 0; k < 3; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 BAR "\"model\": \"spring\", \"weights\": {\"bend120\": 0}, \"pins\": "
                     "[{\"select\": \"v:0-20\"}], \"parameters\": {\"wind\": %s}}",
                 winds[k]);
        sinew_job *job = job_of(text);
        const sinew_mesh *neutral = sinew_job_rig(job)->neutral;
        double *x = SN_NEW(double, 3 * (size_t)neutral->vertex_count);
        assert_ok(sinew_job_frame(job, 0, x, NULL, NULL, &error));
        moved[k] = sn_v3(0, 0, 0);
        for (int v = 0; v < neutral->vertex_count; v++)
            moved[k] = sn_add_scaled(moved[k], 1.0 / neutral->vertex_count,
                                     sn_sub(sn_at(x, v), sn_at(neutral->positions, v)));
        sn_free(x);
        sinew_job_destroy(job);
    }
    assert_true(moved[0].y > 1e-6);
    assert_true(moved[1].y < -1e-6);
    assert_below(5 * sn_length(moved[2]), moved[0].y);
}

static void the_report_has_the_fixed_fields(void **state) {
    (void)state;
    sinew_job *job = job_of(BAR "\"steps\": 2}");
    assert_ok(sinew_job_run(job, 0, -1, NULL, &error));
    char *text;
    assert_ok(sinew_job_report(job, &text, &error));
    const char *fields[] = {"verb",     "version",  "inputs",     "vertices", "triangles", "frames",
                            "time",     "status",   "iterations", "residual", "energy",    "ms",
                            "inverted", "contacts", "totals",     "warnings", "weights"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"%s\":", fields[i]);
        if (!strstr(text, quoted)) fail_msg("no %s in the report", quoted);
    }
    sinew_free(text);
    sinew_job_destroy(job);
}

typedef struct warnings {
    int count;
    char last[1024];
} warnings;

static void remember(sinew_log_level level, const char *line, void *user) {
    warnings *w = user;
    if (level < SINEW_LOG_LEVEL_WARNING) return;
    w->count++;
    snprintf(w->last, sizeof w->last, "%s", line);
}

static void surprises_are_warnings(void **state) {
    (void)state;
    const char *scenes[][2] = {
        {BAR "\"weights\": {\"bend120\": 1.5}}", "beyond its limits"},
        {BAR "\"weights\": {}, \"obstacles\": [{\"shape\": \"box\"}]}", "does not use"},
        {BAR "\"curves\": {\"times\": [0], \"values\": {\"bend120\": [1], \"other\": [1]}}}",
         "'other' drives no slider"},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        sinew_scene *scene;
        sinew_job *job;
        warnings w = {0, ""};
        sinew_monitor monitor = {.log = remember, .user = &w};
        assert_ok(sinew_scene_parse(scenes[i][0], "s.json", NULL, &scene, &error));
        assert_ok(sinew_job_create(scene, &monitor, &job, &error));
        assert_int_equal(w.count, 1);
        assert_non_null(strstr(w.last, scenes[i][1]));
        sinew_job_destroy(job);
        sinew_scene_destroy(scene);
    }
}

/* A small rig from files, made and run with one allocation failing: "no memory", nothing left. */
static sinew_status run_small_job(const char *text) {
    sinew_scene *scene = NULL;
    sinew_job *job = NULL;
    sinew_status status = sinew_scene_parse(text, "s.json", test_folder(), &scene, &error);
    if (status == SINEW_OK) status = sinew_job_create(scene, NULL, &job, &error);
    if (status == SINEW_OK) status = sinew_job_run(job, 0, -1, NULL, &error);
    sinew_job_destroy(job);
    sinew_scene_destroy(scene);
    return status;
}

#define SMALL "{\"sinew\": 1, \"rig\": {\"files\": [\"small.obj\", \"moved.obj\"]}, "
#define FOLLOWED                                                                                   \
    SMALL "\"model\": \"fit\", \"outputs\": {\"frames\": [\"memory.pc2\"]}, "                      \
          "\"markers\": {\"file\": \"take.csv\""
#define IN_PLACE                                                                                   \
    SMALL "\"model\": \"fit\", \"outputs\": {\"frames\": [\"memory.pc2\"]}, "                      \
          "\"markers\": {\"file\": \"there.csv\""

static void every_failing_allocation_is_reported_and_leaves_nothing(void **state) {
    (void)state;
    static const char *const files[][2] = {
        {"small.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"},
        {"moved.obj", "v 0 0 0\nv 1 0 1\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"},
        {"map.csv", "a,0\nb,1\nc,2\nd,3,0.5\n"},
        {"take.csv", "# unit cm\ntime_s,a.x,a.y,a.z,b.x,b.y,b.z,c.x,c.y,c.z,d.x,d.y,d.z\n"
                     "0,30,0,0,130,0,0,30,100,0,,,\n0.1,30,0,0,130,0,50,30,100,0,30,0,100\n"},
        {"there.csv", "# unit cm\ntime_s,a.x,a.y,a.z,b.x,b.y,b.z,c.x,c.y,c.z,d.x,d.y,d.z\n"
                      "0,0,0,0,100,0,0,0,100,0,,,\n0.1,0,0,0,100,0,2,0,100,0,0,0,100\n"},
    };
    /* one without markers; a map, the head and another face; and points found on the surface */
    static const char *const scenes[] = {
        SMALL "\"steps\": 2, \"outputs\": {\"frames\": [\"memory.pc2\"], \"curves\": "
              "\"memory.csv\"}}",
        FOLLOWED ", \"map\": \"map.csv\"}, \"parameters\": {\"stable\": \"a, b, c\", \"retarget\": "
                 "true, \"neutral_frame\": 0}}",
        IN_PLACE "}}",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = file_in_folder(files[i][0]);
        assert_ok(sn_file_write(path, files[i][1], strlen(files[i][1]), &error));
        sn_free(path);
    }
    setenv("SINEW_CACHE", "off", 1);
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        sinew_status status = SINEW_NO_MEMORY;
        long limit = 0;
        for (; status != SINEW_OK && limit < 5000; limit++) {
            test_memory_limit(limit);
            status = run_small_job(scenes[s]);
            assert_int_equal(test_memory_restore().living, 0);
            if (status != SINEW_OK) {
                if (status != SINEW_NO_MEMORY) fail_msg("%zu: %s", s, error.message);
                assert_false(folder_holds(".part"));
            }
        }
        assert_int_equal(status, SINEW_OK);
        assert_true(limit > 50);
    }
}

/* ---- plots, progress, totals ----------------------------------------------------------------- */

typedef struct drawn {
    int calls, lines, count;
    double x[64], y[2][64];
    char path[4096], title[64];
} drawn;
static drawn plot;

static sinew_status draw(const char *path, const char *title, const char *x_label,
                         const char *y_label, int line_count, const sinew_line *lines,
                         sinew_error *ignored) {
    (void)x_label, (void)y_label, (void)ignored;
    plot.calls++, plot.lines = line_count, plot.count = lines[0].count;
    snprintf(plot.path, sizeof plot.path, "%s", path);
    snprintf(plot.title, sizeof plot.title, "%s", title);
    for (int l = 0; l < line_count && l < 2; l++)
        for (int i = 0; i < lines[l].count && i < 64; i++)
            plot.x[i] = lines[l].x[i], plot.y[l][i] = lines[l].y[i];
    return SINEW_OK;
}

/* The plot of a trace has the mean displacement along its main direction, of the skin and of the
 * linear blend. */
static void traces_are_drawn_by_the_function_that_was_set(void **state) {
    (void)state;
    static const char text[] =
        FACE "\"model\": \"force\", \"time\": {\"fps\": 10}, \"curves\": {\"times\": [0.5, 1], "
             "\"values\": {\"jawOpen\": [0, 1]}}, \"parameters\": {\"trace\": \"v:52,342\"}, "
             "\"outputs\": {\"frames\": [\"traced.pc2\"], \"trace_plot\": \"trace.png\"}}";
    sinew_job *job = job_of(text);
    sinew_set_plot_function(NULL);
    assert_int_equal(sinew_job_run(job, 0, -1, NULL, &error), SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "trace.png: this program draws no plots"));
    sinew_set_plot_function(draw);
    memset(&plot, 0, sizeof plot);
    assert_ok(sinew_job_run(job, 0, -1, NULL, &error));
    sinew_set_plot_function(sinew_plot_write); /* as main did */
    assert_int_equal(plot.calls, 1);
    assert_int_equal(plot.lines, 2);
    assert_int_equal(plot.count, 6);
    assert_non_null(strstr(plot.path, "trace.png"));
    assert_string_equal(plot.title, "displacement from rest");
    char path[4096];
    snprintf(path, sizeof path, "%s/traced.pc2", test_folder());
    sinew_frames *frames;
    assert_ok(sinew_frames_read(path, &frames, &error));
    const double *rest = sinew_job_rig(job)->neutral->positions;
    static const int traced[] = {52, 342};
    sn_vec3 ways[6], most = {0, 0, 0};
    for (int f = 0; f < 6; f++) {
        ways[f] = sn_v3(0, 0, 0);
        const float *now = frames->positions + 3 * (size_t)f * (size_t)frames->vertex_count;
        for (int k = 0; k < 2; k++) {
            const float *p = now + 3 * traced[k];
            sn_vec3 at = sn_v3((double)p[0], (double)p[1], (double)p[2]);
            ways[f] = sn_add_scaled(ways[f], 0.5, sn_sub(at, sn_at(rest, traced[k])));
        }
        if (sn_length(ways[f]) > sn_length(most)) most = ways[f];
    }
    double length = sn_length(most), farthest = 0;
    assert_true(length > 1e-3);
    for (int f = 0; f < 6; f++) {
        assert_close(plot.x[f], 0.5 + 0.1 * f, 1e-12);
        /* the direction may come from the linear blend, whose path is a little longer */
        assert_close(fabs(plot.y[0][f]), sn_dot(ways[f], most) / length, 0.05 * length);
        farthest = fmax(farthest, fabs(plot.y[1][f]));
    }
    assert_close(plot.y[0][0], 0, 1e-6);
    assert_true(farthest > 0.5 * length && farthest < 2 * length);
    sinew_frames_destroy(frames);
    sinew_job_destroy(job);
}

typedef struct watched {
    double last;
    int steps;
    bool stop;
    double at; /* fraction to stop at */
} watched;

static void watch(double fraction, const char *stage, void *user) {
    watched *w = user;
    if (strcmp(stage, "frames")) return;
    assert_true(fraction >= w->last && fraction <= 1);
    w->last = fraction, w->steps++;
    w->stop |= w->at > 0 && fraction >= w->at;
}

static bool is_stopped(void *user) {
    return ((watched *)user)->stop;
}

static void progress_counts_the_frames_that_were_handed_over(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        sinew_set_threads(threads);
        sinew_job *job = job_of(BAR "\"model\": \"rotation\", \"steps\": 39, \"outputs\": "
                                    "{\"frames\": [\"watched.pc2\"]}}");
        watched w = {0};
        sinew_monitor monitor = {.progress = watch, .cancelled = is_stopped, .user = &w};
        clock_t begin = clock();
        assert_ok(sinew_job_run(job, 0, -1, &monitor, &error));
        double used = 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC;
        assert_close(w.last, 1, 0);
        assert_true(w.steps >= 10);
        char *text;
        assert_ok(sinew_job_report(job, &text, &error));
        json_t *report = json_loads(text, 0, NULL), *totals = json_object_get(report, "totals");
        double output = json_number_value(json_object_get(totals, "output_cpu_ms"));
        assert_true(output >= 0 && output <= used + 1);
        assert_close(json_number_value(json_object_get(totals, "frames")), 40, 0);
        json_decref(report);
        sinew_free(text);
        w = (watched){.at = 0.5};
        assert_int_equal(sinew_job_run(job, 0, -1, &monitor, &error), SINEW_CANCELLED);
        int frame = -1;
        const char *said = strstr(error.message, "cancelled at frame ");
        assert_non_null(said);
        assert_int_equal(sscanf(said, "cancelled at frame %d", &frame), 1);
        assert_in_range(frame, 20, 40);
        assert_close(w.last, frame / 40.0, 1e-12);
        /* of the frames that are asked for, wherever they begin */
        w = (watched){.at = 0.5};
        assert_int_equal(sinew_job_run(job, 10, 29, &monitor, &error), SINEW_CANCELLED);
        said = strstr(error.message, "cancelled at frame ");
        assert_non_null(said);
        assert_int_equal(sscanf(said, "cancelled at frame %d", &frame), 1);
        assert_in_range(frame, 20, 30);
        assert_close(w.last, (frame - 10) / 20.0, 1e-12);
        w = (watched){0};
        assert_ok(sinew_job_run(job, 10, 29, &monitor, &error));
        assert_close(w.last, 1, 0);
        assert_true(w.steps >= 5);
        sinew_job_destroy(job);
    }
    sinew_set_threads(0);
}

int test_jobs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_stand_at_k_over_fps_with_the_last_at_the_end),
        cmocka_unit_test(curves_match_sliders_as_weights_do),
        cmocka_unit_test(one_of_curves_and_markers_drives),
        cmocka_unit_test(steps_go_from_the_first_pose_to_the_second),
        cmocka_unit_test(incomplete_scenes_say_what_is_missing),
        cmocka_unit_test(any_order_of_frames_gives_the_same_bits),
        cmocka_unit_test(ranges_of_a_clip_make_the_whole_clip),
        cmocka_unit_test(a_cancelled_run_leaves_nothing),
        cmocka_unit_test(an_unwritable_output_fails_before_the_first_frame),
        cmocka_unit_test(a_single_shape_may_be_a_mesh),
        cmocka_unit_test(fibers_stiffen_a_region_in_their_direction),
        cmocka_unit_test(spring_pulls_move_and_gravity_acts),
        cmocka_unit_test(wind_acts_on_what_faces_it),
        cmocka_unit_test(the_report_has_the_fixed_fields),
        cmocka_unit_test(surprises_are_warnings),
        cmocka_unit_test(traces_are_drawn_by_the_function_that_was_set),
        cmocka_unit_test(progress_counts_the_frames_that_were_handed_over),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaves_nothing),
    };
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
