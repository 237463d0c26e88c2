#include "support.h"

#include <jansson.h>

#include "base/file.h"
#include "base/memory.h"
#include "command.h"
#include "groups.h"
#include "sinew/frames.h"
#include "sinew/io.h"

/* What the verbs that follow markers promise. */

static const char *folder;

static void prepare(void) {
    folder = fresh_folder();
    expect_code(0, "sinew sample face --vertices 1000 --out face");
}

static sinew_frames *frames_of(const char *name) {
    sinew_error error = {0};
    sinew_frames *frames;
    char *path = sn_path_join(folder, name);
    assert_ok(sinew_frames_read(path, &frames, &error));
    sn_free(path);
    return frames;
}

static double total(const json_t *report, const char *name) {
    json_t *value = json_object_get(json_object_get(report, "totals"), name);
    if (!json_is_number(value)) fail_msg("no total %s", name);
    return json_number_value(value);
}

static double figure(const json_t *report, int frame, const char *name) {
    json_t *row = json_array_get(json_object_get(report, "frames"), (size_t)frame);
    json_t *value = json_object_get(row, name);
    if (!json_is_number(value)) fail_msg("frame %d has no %s", frame, name);
    return json_number_value(value);
}

/* Root mean square distance of frame f of a to frame g of b, b moved by `shift` along x. */
static double distance(const sinew_frames *a, int f, const sinew_frames *b, int g, double shift) {
    double sum = 0;
    size_t n = 3 * (size_t)a->vertex_count;
    assert_int_equal(a->vertex_count, b->vertex_count);
    for (size_t i = 0; i < n; i++) {
        double d = (double)a->positions[n * (size_t)f + i] -
                   (double)b->positions[n * (size_t)g + i] - (i % 3 == 0 ? shift : 0);
        sum += d * d;
    }
    return sqrt(sum / a->vertex_count);
}

#define FOLLOW "face --markers face/markers.csv --map face/markers_map.csv"

static void reports_hold_marker_and_dense_errors_frame_by_frame(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew blend face --curves face/clip.csv --out truth.pc2");
    const char *runs[] = {"fit --method sbs", "force", "force --layer"};
    sinew_frames *truth = frames_of("truth.pc2");
    for (int r = 0; r < 3; r++) {
        expect_code(0,
                    "sinew %s " FOLLOW " --fps 30 --frames 20-24 --truth truth.pc2 --out f.pc2 "
                    "--error-plot plot.png --report r.json",
                    runs[r]);
        json_t *report = read_json("r.json");
        sinew_frames *frames = frames_of("f.pc2");
        double sum = 0, worst = 0;
        for (int f = 0; f < 5; f++) {
            double dense = distance(frames, f, truth, 20 + f, 0);
            assert_close(figure(report, f, "truth_error"), dense, 1e-7 + 1e-3 * dense);
            assert_int_equal((int)figure(report, f, "markers_seen"), 60);
            assert_true(figure(report, f, "marker_error") <=
                        figure(report, f, "marker_error_bare") * (1 + 1e-9));
            assert_true(figure(report, f, "ms") >= 0);
            assert_int_equal((int)figure(report, f, "outliers"), 0);
            sum += dense, worst = fmax(worst, dense);
            if (r == 0) continue;
            assert_true(figure(report, f, "in_span") > figure(report, f, "out_of_span"));
        }
        assert_close(total(report, "truth_error_mean"), sum / 5, 1e-7 + 1e-3 * sum);
        assert_close(total(report, "truth_error_worst"), worst, 1e-7 + 1e-3 * worst);
        assert_true(total(report, "marker_error_worst") >= total(report, "marker_error_mean"));
        /* markers of the rig's own clip: it follows to a tenth of a millimetre */
        assert_below(total(report, "marker_error_mean"), 1e-4);
        json_decref(report);
        sinew_frames_destroy(frames);
        expect_code(0, "head -c 8 plot.png | od -An -c | grep -q 'P *N *G' && rm plot.png");
    }
    sinew_frames_destroy(truth);
}

/* What a step on the way had to say is not the run's message. */
static void a_report_that_is_ok_has_no_message(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew fit " FOLLOW " --method sbs --fps 20 --frames 10-40 --out o.pc2 --report "
                   "r.json");
    json_t *report = read_json("r.json");
    assert_string_equal(json_string_value(json_object_get(report, "status")), "ok");
    assert_null(json_object_get(report, "message"));
    json_decref(report);
}

/* PC2 counts frames without times, MDD has them. */
static void truth_is_met_at_any_rate(void **state) {
    (void)state;
    prepare();
    const char *rates[] = {"60", "24"}, *endings[] = {"pc2", "mdd"};
    for (int r = 0; r < 2; r++)
        for (int e = 0; e < 2; e++) {
            expect_code(0,
                        "sinew blend face --curves face/clip.csv --fps %s --frames 8- --out t.%s",
                        rates[r], endings[e]);
            expect_code(0,
                        "sinew fit " FOLLOW " --method sbs --fps %s --frames 10-20 --truth t.%s "
                        "--out o.pc2 --report r.json",
                        rates[r], endings[e]);
            json_t *report = read_json("r.json");
            assert_below(total(report, "truth_error_worst"), 1e-4);
            json_decref(report);
        }
}

static void truth_of_another_face_is_refused_and_leaves_nothing(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew blend --sample bar --steps 2 --out bar.pc2");
    expect_refusal(3, "vertices",
                   "sinew force " FOLLOW " --frames 0-2 --truth bar.pc2 --out f.pc2 "
                   "--error-plot plot.png");
    assert_int_equal(files_with("f.pc2") + files_with("plot"), 0);
}

/* The mouth alone does not tell how far the head nods. */
static void landmarks_that_lie_close_together_are_said(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew sample face2 --vertices 1000 --out other && awk -F, -v OFS=, '/^#/ "
                   "{print; next} /^time/ {for (i = 1; i <= NF; i++) if (i == 1 || $i ~ "
                   "/lip|chin|cheek/) kept[++n] = i} {line = $1; for (k = 2; k <= n; k++) line = "
                   "line OFS $kept[k]; print line}' face/markers.csv > mouth.csv");
    expect_refusal(3, "lie close together", "sinew map other mouth.csv --map-out map.csv");
    assert_int_equal(files_with("map.csv"), 0);
    expect_code(0, "sinew fit other --markers mouth.csv --map other/markers_map.csv --retarget "
                   "--frames 0-2 --out given.pc2"); /* the user knows better */
    expect_code(0, "awk -F, -v OFS=, '/^#/ {print; next} /^time/ {for (i = 1; i <= NF; i++) if (i "
                   "== 1 || $i ~ /lip/) kept[++n] = i} {line = $1; for (k = 2; k <= n; k++) line = "
                   "line OFS $kept[k]; print line}' face/markers.csv > lips.csv");
    expect_code(0, "sinew map other lips.csv");
    const run_result *r = expect_code(0, "sinew map other face/markers.csv");
    assert_null(strstr(r->err, "lie close together"));
    r = expect_code(0, "sinew map face mouth.csv"); /* of the actor, whose skin tells the rest */
    assert_null(strstr(r->err, "lie close together"));
}

static void a_face_of_twice_the_size_moves_the_rig_alike(void **state) {
    (void)state;
    prepare();
    expect_code(0, "awk -F, -v OFS=, '/^#|^time/ {print; next} {for (i = 2; i <= NF; i++) "
                   "if ($i != \"\") $i = 2 * $i + 0.3; print}' face/markers.csv > large.csv");
    const char *verbs[] = {"fit", "force"};
    for (int v = 0; v < 2; v++) {
        expect_code(0, "sinew %s " FOLLOW " --frames 40-44 --out same.pc2", verbs[v]);
        expect_code(0,
                    "sinew %s face --markers large.csv --map face/markers_map.csv --frames 40-44 "
                    "--retarget --out carried.pc2 --report r.json",
                    verbs[v]);
        sinew_frames *same = frames_of("same.pc2"), *carried = frames_of("carried.pc2");
        expect_code(0, "sinew blend face --weights jawOpen=0 --out rest.pc2");
        sinew_frames *rest = frames_of("rest.pc2");
        double move = distance(same, 4, rest, 0, 0);
        assert_true(move > 1e-4);
        assert_below(distance(carried, 4, same, 4, 0), 0.05 * move);
        sinew_frames_destroy(same), sinew_frames_destroy(carried), sinew_frames_destroy(rest);
    }
    /* as they are, they are far off the face */
    expect_refusal(3, "diagonals off|2 times as far|retarget",
                   "sinew fit face --markers large.csv --map face/markers_map.csv --frames 40-41 "
                   "--out off.pc2");
}

/* The take in thousandths, said in the file by `unit` or not at all. */
static void write_thousandths(const char *name, const char *unit) {
    expect_code(0,
                "{ %s awk -F, -v OFS=, '/^#/ {next} /^time/ {print; next} {for (i = 2; i <= NF; "
                "i++) if ($i != \"\") $i = 1000 * $i; print}' face/markers.csv; } > %s",
                unit, name);
}

static void takes_are_brought_to_the_unit_of_the_rig(void **state) {
    (void)state;
    prepare();
    write_thousandths("said.csv", "echo '# unit mm';");
    write_thousandths("silent.csv", "");
    const char *verbs[] = {"fit --method sbs", "force"};
    for (int v = 0; v < 2; v++) {
        const char *line = "sinew %s face --map face/markers_map.csv --frames 20-22 --markers %s "
                           "--out %s";
        expect_code(0, line, verbs[v], "face/markers.csv", "metres.pc2");
        expect_code(0, line, verbs[v], "said.csv", "said.pc2");
        expect_code(0, line, verbs[v], "silent.csv --marker-unit mm",
                    "told.pc2 --scene-out s.json");
        const char *results[] = {"said.pc2", "told.pc2"};
        sinew_frames *metres = frames_of("metres.pc2");
        for (int r = 0; r < 2; r++) {
            sinew_frames *frames = frames_of(results[r]);
            assert_below(distance(frames, 2, metres, 2, 0), 1e-6);
            sinew_frames_destroy(frames);
        }
        sinew_frames_destroy(metres);
    }
}

static void a_take_off_its_places_is_said_or_refused_with_the_likely_unit(void **state) {
    (void)state;
    prepare();
    write_thousandths("said.csv", "echo '# unit mm';");
    write_thousandths("silent.csv", "");
    const char *line = "sinew force face --map face/markers_map.csv --frames 20-22 --markers %s "
                       "--out off.pc2";
    /* silent: the rig's unit; and a rig said to be in centimetres */
    expect_refusal(3, "1000 times as far|in mm|unit of the markers", line, "silent.csv");
    expect_refusal(3, "100 times as far|in m:|unit of the rig", line, "said.csv --unit cm");
    assert_int_equal(files_with("off.pc2"), 0);
    /* a fifth of the diagonal away: their size is right */
    expect_code(0, "awk -F, -v OFS=, '/^#|^time/ {print; next} {for (i = 2; i <= NF; i += 3) "
                   "if ($i != \"\") $i += 0.08; print}' face/markers.csv > aside.csv");
    const run_result *r = expect_code(0, line, "aside.csv");
    assert_non_null(strstr(r->err, "off their points"));
    assert_non_null(strstr(r->err, "stable markers"));
    r = expect_code(0, line, "aside.csv --stable templeLeft,templeRight,noseBridge,foreheadTop");
    assert_null(strstr(r->err, "off their points"));
    r = expect_code(0, line, "face/markers.csv");
    assert_null(strstr(r->err, "off their points"));
}

/* Two markers that the first half of the take does not show. */
static void markers_that_come_late_are_carried_to_another_face_too(void **state) {
    (void)state;
    prepare();
    expect_code(0, "awk -F, -v OFS=, '/^#/ {print; next} /^time/ {for (i = 2; i <= NF; i++) if ($i "
                   "~ /^(chin|lipCornerLeft)[.]/) hide[i] = 1; print; next} {if ($1 < 1.2) for (i "
                   "in hide) $i = \"\"; print}' face/markers.csv > late.csv");
    const char *line = "sinew force face --retarget --markers %s --map face/markers_map.csv "
                       "--fps 30 --frames 38-46 --out %s --report %s %s";
    expect_code(0, line, "face/markers.csv", "whole.pc2", "whole.json", "--neutral-frame 0");
    const run_result *r =
        expect_code(0, line, "late.csv", "late.pc2", "late.json", "--neutral-frame 0");
    assert_non_null(strstr(r->err, "chin"));
    assert_non_null(strstr(r->err, "lipCornerLeft"));
    json_t *whole = read_json("whole.json"), *late = read_json("late.json");
    assert_int_equal((int)figure(late, 6, "markers_seen"), 60);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(late, "take"), "neutral_sample")), 0);
    sinew_frames *a = frames_of("whole.pc2"), *b = frames_of("late.pc2");
    expect_code(0, "sinew blend face --weights jawOpen=0 --out rest.pc2");
    sinew_frames *rest = frames_of("rest.pc2");
    assert_below(distance(b, 8, a, 8, 0), 0.1 * distance(a, 8, rest, 0, 0));
    sinew_frames_destroy(a), sinew_frames_destroy(b);
    json_decref(whole), json_decref(late);
    /* sample 40 of 60 a second is frame 20 of 30 */
    expect_code(0,
                "sinew fit " FOLLOW " --retarget --neutral-frame 40 --fps 30 --frames 20-20 --out "
                "other.pc2 --report other.json");
    json_t *other = read_json("other.json");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(other, "take"), "neutral_sample")), 40);
    json_decref(other);
    sinew_frames *still = frames_of("other.pc2");
    assert_below(distance(still, 0, rest, 0, 0), 1e-5);
    sinew_frames_destroy(still), sinew_frames_destroy(rest);
    expect_refusal(3, "neutral_frame|0 to", line, "face/markers.csv", "no.pc2", "no.json",
                   "--neutral-frame 100000");
}

/* One marker lies 4 mm off: how far it pulls hangs on its weight in the map. */
static void weights_of_the_map_say_how_much_a_marker_counts(void **state) {
    (void)state;
    prepare();
    expect_code(0, "awk -F, -v OFS=, '/^#/ {print; next} /^time/ {for (i = 2; i <= NF; i++) if ($i "
                   "== \"chin.y\") chin = i; print; next} {$chin += 0.004; print}' "
                   "face/markers.csv > off.csv");
    const char *weights[] = {"0", "1", "20"},
               *verbs[] = {"fit --method uls", "force", "fit --layer"};
    for (int w = 0; w < 3; w++)
        expect_code(0,
                    "awk -F, -v OFS=, '$1 == \"chin\" {print $1, $2, %s; next} {print}' "
                    "face/markers_map.csv > map%s.csv",
                    weights[w], weights[w]);
    for (int v = 0; v < 3; v++) {
        double off[3];
        expect_code(0, "sinew %s " FOLLOW " --frames 0-3 --out clean.pc2", verbs[v]);
        sinew_frames *clean = frames_of("clean.pc2");
        for (int w = 0; w < 3; w++) {
            expect_code(0,
                        "sinew %s face --markers off.csv --map map%s.csv --frames 0-3 --out o.pc2",
                        verbs[v], weights[w]);
            sinew_frames *frames = frames_of("o.pc2");
            off[w] = distance(frames, 3, clean, 3, 0);
            sinew_frames_destroy(frames);
        }
        sinew_frames_destroy(clean);
        assert_below(off[0], 0.3 * off[1]);
        assert_below(off[1], v == 2 ? INFINITY : 0.9 * off[2]);
    }
    expect_code(0, "sed 's/,1$/,-1/' map1.csv > map.csv");
    expect_refusal(3, "map.csv:|chin|below 0",
                   "sinew fit face --markers off.csv --map map.csv --out o.csv");
}

/* The sample take has 60 samples a second; a recording with a hole or with times in milliseconds
 * has that rate, too. */
static void frames_have_the_rate_of_the_take(void **state) {
    (void)state;
    prepare();
    expect_code(0, "awk -F, -v OFS=, '/^#|^time/ {print; next} {n++; if (n > 40 && n < 50) next; "
                   "$1 = sprintf(\"%%.3f\", $1); print}' face/markers.csv > hole.csv");
    const char *takes[] = {"face/markers.csv", "hole.csv"};
    for (int i = 0; i < 2; i++) {
        expect_code(0,
                    "sinew fit face --markers %s --map face/markers_map.csv --frames 0-3 --out "
                    "f.mdd --report r.json",
                    takes[i]);
        json_t *report = read_json("r.json");
        assert_close(figure(report, 3, "time"), 3 / 60.0, 1e-12);
        json_decref(report);
    }
}

/* A head that turns by curves turns as a whole; angles of the eyes are known, and neither is worth
 * a warning. */
static void head_curves_turn_the_head(void **state) {
    (void)state;
    prepare();
    char *path = sn_path_join(folder, "head.csv");
    FILE *file = fopen(path, "w");
    sn_free(path);
    assert_non_null(file);
    fputs("Timecode,BlendShapeCount,JawOpen,HeadYaw,HeadPitch,HeadRoll,LeftEyeYaw,RightEyeRoll\n"
          "00:00:00:00.0,52,0.3,0,0,0,0.1,0\n00:00:00:30.0,52,0.3,1.5707963267948966,0,0,0.2,0\n",
          file);
    fclose(file);
    const run_result *r = expect_code(0, "sinew blend face --curves head.csv --fps 2 --out h.pc2");
    assert_null(strstr(r->err, "warning"));
    expect_code(0, "sinew blend face --weights jawOpen=0.3 --out still.pc2");
    sinew_frames *turned = frames_of("h.pc2"), *still = frames_of("still.pc2");
    assert_below(distance(turned, 0, still, 0, 0), 1e-7);
    /* a quarter turn about the vertical: what looked along z looks along x */
    const float *a = still->positions, *b = turned->positions + 3 * turned->vertex_count;
    for (int v = 1; v < turned->vertex_count; v++) {
        assert_close((double)(b[3 * v] - b[0]), (double)(a[3 * v + 2] - a[2]), 1e-6);
        assert_close((double)(b[3 * v + 1] - b[1]), (double)(a[3 * v + 1] - a[1]), 1e-6);
        assert_close((double)(b[3 * v + 2] - b[2]), (double)(a[0] - a[3 * v]), 1e-6);
    }
    sinew_frames_destroy(turned), sinew_frames_destroy(still);
}

/* A solved take is an animation that can be edited: its commands as curves move the face again. */
static void commands_are_curves_that_play_the_take_back(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew force " FOLLOW " --fps 30 --frames 0-24 --curves-out c.csv --out a.pc2");
    expect_code(0, "sinew force face --curves c.csv --fps 30 --out b.pc2 2> warnings.txt");
    /* commands go a little below 0, which is what they are meant to do; far beyond is a slip */
    expect_code(0, "! grep 'beyond its limits' warnings.txt");
    expect_code(0, "printf 'time_s,jawOpen\\n0,0\\n1,4\\n' > wild.csv && sinew force face --curves "
                   "wild.csv --out w.pc2 2> warnings.txt && grep 'beyond its limits' warnings.txt");
    expect_code(0, "sinew blend face --weights jawOpen=0 --out rest.pc2");
    sinew_frames *a = frames_of("a.pc2"), *b = frames_of("b.pc2"), *rest = frames_of("rest.pc2");
    assert_int_equal(a->frame_count, b->frame_count);
    double most = 0, off = 0;
    for (int f = 0; f < a->frame_count; f++) {
        most = fmax(most, distance(a, f, rest, 0, 0));
        off = fmax(off, distance(a, f, b, f, 0));
    }
    assert_true(most > 1e-3);
    assert_below(off, 0.02 * most);
    sinew_frames_destroy(a), sinew_frames_destroy(b), sinew_frames_destroy(rest);
}

static void the_heads_motion_is_taken_out_and_put_back(void **state) {
    (void)state;
    prepare();
    expect_code(0, "awk -F, -v OFS=, '/^#|^time/ {print; next} {for (i = 2; i <= NF; i += 3) "
                   "if ($i != \"\") $i += 0.06 * $1; print}' face/markers.csv > walking.csv");
    const char *line =
        "sinew force face --markers %s --map face/markers_map.csv "
        "--stable templeLeft,templeRight,noseBridge --fps 30 --frames 30-34 --out %s";
    expect_code(0, line, "face/markers.csv", "still.pc2");
    expect_code(0, line, "walking.csv", "walk.pc2");
    sinew_frames *still = frames_of("still.pc2"), *walk = frames_of("walk.pc2");
    for (int f = 0; f < 5; f++)
        assert_below(distance(walk, f, still, f, 0.06 * (30 + f) / 30.0), 1e-5);
    sinew_frames_destroy(still), sinew_frames_destroy(walk);
    expect_refusal(3, "templeMiddle",
                   "sinew force " FOLLOW " --stable templeMiddle --frames 30-34 --out walk.pc2");
}

/* A take of 10 Hz has two frames in three between its samples. */
static void between_samples_the_head_moves_on_evenly(void **state) {
    (void)state;
    prepare();
    expect_code(0, "awk '/^#|^time/ {print; next} n++ %% 6 == 0' face/markers.csv > slow.csv && "
                   "awk -F, -v OFS=, '/^#|^time/ {print; next} {c = cos(0.3 * $1); s = sin(0.3 * "
                   "$1); for (i = 2; i <= NF; i += 3) {x = $i; y = $(i + 1); $i = c * x - s * y + "
                   "0.06 * $1; $(i + 1) = s * x + c * y}; print}' OFMT=%%.9g CONVFMT=%%.9g "
                   "slow.csv > turning.csv");
    const char *line = "sinew %s face --markers %s --map face/markers_map.csv --fps 30 --stable "
                       "templeLeft,templeRight,noseBridge --frames 0-40 --out %s";
    const char *verbs[] = {"fit", "force"};
    for (int v = 0; v < 2; v++) {
        expect_code(0, line, verbs[v], "slow.csv", "still.pc2");
        expect_code(0, line, verbs[v], "turning.csv", "turning.pc2");
        sinew_frames *still = frames_of("still.pc2"), *turning = frames_of("turning.pc2");
        assert_int_equal(still->frame_count, 41);
        for (int f = 0; f < 41; f++) {
            double time = f / 30.0, c = cos(0.3 * time), s = sin(0.3 * time);
            float *p = still->positions + 3 * (size_t)f * (size_t)still->vertex_count;
            for (int i = 0; i < still->vertex_count; i++) {
                double x = (double)p[3 * i], y = (double)p[3 * i + 1];
                p[3 * i] = (float)(c * x - s * y), p[3 * i + 1] = (float)(s * x + c * y);
            }
            assert_below(distance(turning, f, still, f, 0.06 * time), 5e-5);
        }
        sinew_frames_destroy(still), sinew_frames_destroy(turning);
    }
}

/* Without a map: the motion that chooses it is that of the take. */
static void a_take_that_stands_elsewhere_finds_the_face_and_stays_there(void **state) {
    (void)state;
    prepare();
    expect_code(0, "awk -F, -v OFS=, '/^#|^time/ {print; next} {for (i = 2; i <= NF; i += 3) "
                   "if ($i != \"\") $i += 0.3; print}' face/markers.csv > aside.csv");
    const char *verbs[] = {"fit", "force"};
    for (int v = 0; v < 2; v++) {
        const char *line = "sinew %s face --markers %s --frames 20-22 --out %s --report %s";
        expect_code(0, line, verbs[v], "face/markers.csv", "here.pc2", "here.json");
        expect_code(0, line, verbs[v], "aside.csv", "aside.pc2", "aside.json");
        sinew_frames *here = frames_of("here.pc2"), *aside = frames_of("aside.pc2");
        assert_below(distance(aside, 2, here, 2, 0.3), 5e-4);
        json_t *report = read_json("aside.json");
        assert_below(total(report, "marker_error_worst"), 2e-3);
        json_decref(report);
        sinew_frames_destroy(here), sinew_frames_destroy(aside);
    }
}

static void map_finds_the_markers_of_a_take_in_any_unit(void **state) {
    (void)state;
    prepare();
    write_thousandths("silent.csv", "");
    expect_code(0, "sinew map face silent.csv --map-out found.csv --picture found.png --report "
                   "m.json");
    json_t *report = read_json("m.json"), *map = json_object_get(report, "map");
    assert_string_equal(json_string_value(json_object_get(map, "source")), "marker names");
    assert_int_equal(json_integer_value(json_object_get(map, "used")), 60);
    json_decref(report);
    assert_int_equal(files_with("found.png"), 1);
    /* the same map, given */
    expect_code(0, "sinew map face face/markers.csv --map found.csv");
    /* and the same frames without one */
    expect_code(0, "sinew fit face --markers silent.csv --frames 20-22 --out any.pc2");
    expect_code(0, "sinew fit " FOLLOW " --frames 20-22 --out same.pc2");
    sinew_frames *any = frames_of("any.pc2"), *same = frames_of("same.pc2");
    assert_below(distance(any, 2, same, 2, 0), 2e-3);
    sinew_frames_destroy(any), sinew_frames_destroy(same);
    expect_refusal(2, "RIG and TAKE", "sinew map face");
    /* map and picture appear together or not at all */
    expect_refusal(4, "nowhere",
                   "sinew map face silent.csv --map-out new.csv --picture nowhere/new.png");
    expect_refusal(4, "nowhere",
                   "sinew map face silent.csv --map-out nowhere/new.csv --picture new.png");
    assert_int_equal(files_with("new.csv"), 0);
    assert_int_equal(files_with("new.png"), 0);
    expect_code(0, "echo older > new.png");
    expect_refusal(4, "/dev/full",
                   "sinew map face silent.csv --quiet --map-out /dev/full --picture new.png");
    assert_string_equal(sh("cat new.png")->out, "older\n");
}

static void what_is_about_markers_does_not_go_with_curves(void **state) {
    (void)state;
    prepare();
    const char *options[] = {"--map face/markers_map.csv",
                             "--truth nothing.pc2",
                             "--error-plot x.png",
                             "--stable chin,noseTip,noseBridge",
                             "--retarget",
                             "--layer",
                             "--marker-unit mm",
                             "--outlier 0.1"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char words[64];
        snprintf(words, sizeof words, "%.*s|--curves", (int)strcspn(options[i], " "), options[i]);
        expect_refusal(2, words, "sinew force face --curves face/clip.csv %s --out o.pc2",
                       options[i]);
    }
    assert_int_equal(files_with("o.pc2") + files_with("x.png"), 0);
}

static bool warned(const run_result *r, const char *words) {
    return strstr(r->err, words) != NULL;
}

static void a_take_without_markers_and_a_truth_that_ends_early_are_said(void **state) {
    (void)state;
    prepare();
    expect_code(0, "awk -F, -v OFS=, '/^#|^time/ {print; next} {for (i = 2; i <= NF; i++) $i = "
                   "\"\"; print}' face/markers.csv > blind.csv");
    const run_result *r = expect_code(0, "sinew force face --markers blind.csv --map "
                                         "face/markers_map.csv --frames 0-2 --out o.pc2");
    assert_true(warned(r, "no sample of the take shows any marker"));
    expect_code(0, "sinew blend face --curves face/clip.csv --frames 0-3 --out truth.pc2");
    const char *verbs[] = {"fit", "force"};
    for (int v = 0; v < 2; v++) {
        r = expect_code(0, "sinew %s " FOLLOW " --truth truth.pc2 --frames 0-5 --out o.pc2",
                        verbs[v]);
        assert_true(warned(r, "2 frames"));
        r = expect_code(0, "sinew %s " FOLLOW " --truth truth.pc2 --frames 0-3 --out o.pc2",
                        verbs[v]);
        assert_false(warned(r, "truth"));
        assert_false(warned(r, "no sample"));
    }
}

static void lists_of_names_may_have_blanks(void **state) {
    (void)state;
    prepare();
    const char *line = "sinew force " FOLLOW " --frames 0-2 --contact %s --stable %s --out %s";
    expect_code(0, line, "lips", "templeLeft,templeRight,noseBridge", "a.pc2");
    expect_code(0, line, "' lips ,'", "'templeLeft , templeRight, noseBridge'", "b.pc2");
    expect_code(0, "cmp a.pc2 b.pc2");
    expect_refusal(3, "contact|shoulders|it has|lips", line, "'lips, shoulders'",
                   "templeLeft,templeRight,noseBridge", "c.pc2");
    expect_refusal(3, "contact", line, "' '", "templeLeft,templeRight,noseBridge", "c.pc2");
}

static void what_does_nothing_is_said(void **state) {
    (void)state;
    prepare();
    static const char *const lines[][3] = {
        {"force", "--contact-margin 0.2", "contact_margin does nothing without contact"},
        {"force", "--friction 0.2", "friction does nothing without contact"},
        {"force", "--trace v:1", "trace does nothing without outputs.trace_plot"},
        {"force", "--stiffness-prior 2", "stiffness_prior does nothing without estimate_stiffness"},
        {"force", "--bounded --lower -1", "lower does nothing with bounded"},
        {"force", "--layer-smoothing 1e-6", "layer_smoothing does nothing without layer"},
        {"fit", "--method sbs --l1 5", "l1 does nothing with method=sbs"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const run_result *r = expect_code(0, "sinew %s " FOLLOW " --frames 0-1 %s --out o.pc2",
                                          lines[i][0], lines[i][1]);
        if (!warned(r, lines[i][2])) fail_msg("not '%s': %s", lines[i][2], r->err);
    }
    const char *quiet[] = {"force --contact lips --contact-margin 0.2", "force --lower -1",
                           "fit --l1 0.1", "force --layer --layer-smoothing 1e-6"};
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        const run_result *r =
            expect_code(0, "sinew %s " FOLLOW " --frames 0-1 --out o.pc2", quiet[i]);
        if (warned(r, "nothing")) fail_msg("%s: %s", quiet[i], r->err);
    }
}

static void vertices_are_held_and_commands_bounded_as_asked(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew force face --curves face/clip.csv --frames 0-20 --out free.pc2");
    expect_code(0,
                "sinew force face --curves face/clip.csv --frames 0-20 --fixed region:lips --out "
                "held.pc2 --scene-out job.json");
    expect_code(0, "sinew blend face --weights jawOpen=0 --out rest.pc2");
    sinew_frames *loose = frames_of("free.pc2"), *held = frames_of("held.pc2"),
                 *rest = frames_of("rest.pc2");
    sinew_error error = {0};
    sinew_rig *rig;
    char *path = sn_path_join(folder, "face");
    assert_ok(sinew_rig_read(1, (const char *const *)&path, &rig, &error));
    sn_free(path);
    const sinew_region *lips = &rig->regions[sinew_rig_find_region(rig, "lips")];
    double moved = 0, stayed = 0;
    size_t last = 3 * 20 * (size_t)rest->vertex_count;
    for (int i = 0; i < lips->count; i++)
        for (int a = 0; a < 3; a++) {
            size_t at = 3 * (size_t)lips->vertices[i] + (size_t)a;
            double still = (double)rest->positions[at];
            moved = fmax(moved, fabs((double)loose->positions[last + at] - still));
            stayed = fmax(stayed, fabs((double)held->positions[last + at] - still));
        }
    assert_true(moved > 1e-3);
    assert_below(stayed, 1e-6);
    sinew_rig_destroy(rig);
    expect_refusal(3, "region 'shoulders'",
                   "sinew force face --curves face/clip.csv --fixed region:shoulders "
                   "--out no.pc2");
    /* with every command at most 0 the face hardly moves */
    expect_code(0, "sinew force " FOLLOW " --fps 30 --frames 20-20 --out follow.pc2");
    expect_code(0, "sinew force " FOLLOW " --fps 30 --frames 20-20 --upper 0 --out bound.pc2");
    sinew_frames *follow = frames_of("follow.pc2"), *bound = frames_of("bound.pc2");
    assert_below(distance(bound, 0, rest, 0, 0), 0.5 * distance(follow, 0, rest, 0, 0));
    expect_code(0,
                "sinew force " FOLLOW " --frames 20-22 --layer --out a.pc2 && sinew force " FOLLOW
                " --frames 20-22 --layer --layer-feeds --out b.pc2 && ! cmp -s a.pc2 b.pc2");
    sinew_frames_destroy(loose), sinew_frames_destroy(held), sinew_frames_destroy(rest);
    sinew_frames_destroy(follow), sinew_frames_destroy(bound);
}

static void estimated_stiffness_is_kept_and_can_be_given_again(void **state) {
    (void)state;
    prepare();
    const char *line = "SINEW_CACHE=$PWD/store sinew force " FOLLOW
                       " --frames 0-3 --estimate-stiffness --stretch-map-out s.csv "
                       "--bend-map-out b.csv --out %s --report %s";
    expect_code(0, line, "first.pc2", "first.json");
    expect_code(0, line, "second.pc2", "second.json");
    expect_code(0, "cmp first.pc2 second.pc2");
    json_t *reports[2] = {read_json("first.json"), read_json("second.json")};
    json_t *first = json_object_get(reports[0], "stiffness");
    json_t *second = json_object_get(reports[1], "stiffness");
    assert_true(json_is_false(json_object_get(first, "from_cache")));
    assert_true(json_is_true(json_object_get(second, "from_cache")));
    assert_true(json_number_value(json_object_get(first, "rest_error")) <
                json_number_value(json_object_get(first, "rest_error_default")));
    json_decref(reports[0]), json_decref(reports[1]);
    expect_code(0, "sinew force " FOLLOW " --frames 0-3 --stretch-map s.csv --bend-map b.csv "
                   "--out given.pc2 && cmp first.pc2 given.pc2");
    expect_refusal(3, "estimate_stiffness",
                   "sinew force " FOLLOW " --frames 0-3 --stretch-map s.csv --estimate-stiffness "
                   "--out no.pc2");
}

static void the_jaw_is_named_by_its_target_or_by_vertices(void **state) {
    (void)state;
    prepare();
    expect_code(0,
                "sinew force face --curves face/clip.csv --frames 0-3 --jaw jawopen --out a.pc2");
    expect_code(0,
                "sinew force face --curves face/clip.csv --frames 0-3 --jaw v:10-90 --out b.pc2");
    expect_refusal(
        3, "jaw|jawShut",
        "sinew force face --curves face/clip.csv --frames 0-3 --jaw jawShut --out c.pc2");
    assert_int_equal(files_with("c.pc2"), 0);
}

static void a_scene_of_markers_does_what_the_verb_did(void **state) {
    (void)state;
    prepare();
    expect_code(0, "sinew force " FOLLOW " --frames 3-6 --layer --jaw jawOpen --mass-time 0.05 "
                   "--out verb.pc2 --scene-out job.json");
    expect_code(0, "mv verb.pc2 first.pc2 && sinew run job.json --frames 3-6 && "
                   "cmp first.pc2 verb.pc2");
}

static void the_way_of_vertices_is_plotted_and_a_place_looked_at(void **state) {
    (void)state;
    prepare();
    expect_code(0,
                "sinew force face --curves face/clip.csv --frames 0-5 --trace v:5,8 --trace-plot "
                "way.png --out a.pc2 && sinew render a.pc2 --mesh face/neutral.obj --size 64x64 "
                "--look-at 0,-0.06,0.08,0.04 --out near.png");
    for (int i = 0; i < 2; i++)
        expect_code(0, "head -c 8 %s | od -An -c | grep -q 'P *N *G'", i ? "near.png" : "way.png");
    expect_refusal(3, "trace",
                   "sinew force face --curves face/clip.csv --frames 0-1 --trace-plot no.png --out "
                   "b.pc2");
    assert_int_equal(files_with("b.pc2") + files_with("no.png"), 0);
    expect_refusal(2, "--look-at",
                   "sinew render a.pc2 --mesh face/neutral.obj --look-at 0,1 --out x.png");
}

static void the_margin_of_contact_says_who_takes_part(void **state) {
    (void)state;
    prepare();
    const char *margins[] = {"--contact-margin 0", "--contact-margin 0.03", "",
                             "--contact-gap 1e-4"};
    json_int_t count[4];
    for (int i = 0; i < 4; i++) {
        expect_code(0,
                    "sinew force face --curves face/clip.csv --frames 0-0 --contact lips %s --out "
                    "a.pc2 --report r.json",
                    margins[i]);
        json_t *report = read_json("r.json");
        count[i] = json_integer_value(
            json_object_get(json_object_get(report, "sheet"), "contact_triangles"));
        json_decref(report);
    }
    assert_true(count[0] > 0 && count[0] < count[1] && count[1] < count[2]);
    assert_int_equal(count[2], count[3]);
    expect_refusal(
        2, "--contact-margin",
        "sinew force face --curves face/clip.csv --contact lips --contact-margin -1 --out "
        "b.pc2");
}

/* Frames of a cache whose triangles cut each other, and the sharpest new fold of all of them. */
static int crossing_frames(const char *cache, double *fold) {
    expect_code(0, "sinew measure face2/neutral.obj --frames %s --intersections --report m.json",
                cache);
    json_t *report = read_json("m.json");
    int crossing = 0;
    *fold = 0;
    for (int k = 0; k < (int)json_array_size(json_object_get(report, "frames")); k++) {
        json_t *row = json_array_get(json_object_get(report, "frames"), (size_t)k);
        crossing += figure(report, k, "intersections") > 0;
        *fold = fmax(*fold, json_number_value(
                                json_object_get(json_object_get(row, "dihedral_degrees"), "max")));
    }
    json_decref(report);
    return crossing;
}

/* Lips that are apart at rest on one face and closed on the other. */
static void lips_that_cross_on_another_face_press_by_contact(void **state) {
    (void)state;
    folder = fresh_folder();
    expect_code(0, "sinew sample face --vertices 6000 --out face");
    expect_code(0, "sinew sample face2 --vertices 6000 --out face2");
    const char *take = "face2 --retarget --markers face/lips_markers.csv --map "
                       "face/markers_map.csv --fps 30 --frames 0-13";
    expect_code(0, "sinew fit %s --method sbs --out sbs.pc2", take);
    expect_code(0, "sinew fit %s --method rsbs --layer --layer-contact off --out rsbs.pc2", take);
    expect_code(0, "sinew fit %s --method rsbs --layer --out layer.pc2", take);
    expect_code(0, "sinew force %s --layer --contact lips --out flesh.pc2 --report r.json", take);
    expect_code(0, "sinew force %s --layer --contact lips --contact-length 0 --out skin.pc2", take);
    double fold, flesh, skin;
    assert_true(crossing_frames("sbs.pc2", &fold) > 2);
    assert_true(crossing_frames("rsbs.pc2", &fold) > 2);
    assert_int_equal(crossing_frames("layer.pc2", &fold), 0); /* contact of the layer is on */
    assert_int_equal(crossing_frames("flesh.pc2", &flesh), 0);
    assert_int_equal(crossing_frames("skin.pc2", &skin), 0);
    /* Lips press flat instead of crumpling. The sharpest fold of all hangs on rounding, with and
     * without bending over a length: 32 to 35 degrees. */
    assert_below(flesh, 60);
    assert_below(skin, 60);
    json_t *report = read_json("r.json");
    assert_true(figure(report, 0, "contacts") == 0);
    assert_true(figure(report, 13, "contacts") > 10);
    /* what presses is off its markers by less than a millimetre */
    assert_below(total(report, "marker_error_worst"), 0.001);
    json_decref(report);
}

int test_markers(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_hold_marker_and_dense_errors_frame_by_frame),
        cmocka_unit_test(a_report_that_is_ok_has_no_message),
        cmocka_unit_test(truth_is_met_at_any_rate),
        cmocka_unit_test(truth_of_another_face_is_refused_and_leaves_nothing),
        cmocka_unit_test(landmarks_that_lie_close_together_are_said),
        cmocka_unit_test(a_face_of_twice_the_size_moves_the_rig_alike),
        cmocka_unit_test(takes_are_brought_to_the_unit_of_the_rig),
        cmocka_unit_test(a_take_off_its_places_is_said_or_refused_with_the_likely_unit),
        cmocka_unit_test(markers_that_come_late_are_carried_to_another_face_too),
        cmocka_unit_test(weights_of_the_map_say_how_much_a_marker_counts),
        cmocka_unit_test(frames_have_the_rate_of_the_take),
        cmocka_unit_test(head_curves_turn_the_head),
        cmocka_unit_test(commands_are_curves_that_play_the_take_back),
        cmocka_unit_test(the_heads_motion_is_taken_out_and_put_back),
        cmocka_unit_test(between_samples_the_head_moves_on_evenly),
        cmocka_unit_test(a_take_that_stands_elsewhere_finds_the_face_and_stays_there),
        cmocka_unit_test(map_finds_the_markers_of_a_take_in_any_unit),
        cmocka_unit_test(what_is_about_markers_does_not_go_with_curves),
        cmocka_unit_test(a_take_without_markers_and_a_truth_that_ends_early_are_said),
        cmocka_unit_test(lists_of_names_may_have_blanks),
        cmocka_unit_test(what_does_nothing_is_said),
        cmocka_unit_test(vertices_are_held_and_commands_bounded_as_asked),
        cmocka_unit_test(estimated_stiffness_is_kept_and_can_be_given_again),
        cmocka_unit_test(the_jaw_is_named_by_its_target_or_by_vertices),
        cmocka_unit_test(a_scene_of_markers_does_what_the_verb_did),
        cmocka_unit_test(the_way_of_vertices_is_plotted_and_a_place_looked_at),
        cmocka_unit_test(the_margin_of_contact_says_who_takes_part),
        cmocka_unit_test(lips_that_cross_on_another_face_press_by_contact),
    };
    return cmocka_run_group_tests_name("markers", tests, NULL, NULL);
}
