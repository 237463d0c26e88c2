#include "support.h"

#include "base/file.h"
#include "base/memory.h"
#include "command.h"
#include "groups.h"
#include "sinew/frames.h"

/* What sinew fit promises. */

/* The largest way of a vertex between two caches, meters. */
static double largest_way(const char *folder, const char *first, const char *second) {
    sinew_error error = {0};
    sinew_frames *frames[2];
    double most = 0;
    for (int k = 0; k < 2; k++) {
        char *path = sn_path_join(folder, k ? second : first);
        assert_ok(sinew_frames_read(path, &frames[k], &error));
        sn_free(path);
    }
    assert_int_equal(frames[0]->vertex_count, frames[1]->vertex_count);
    assert_int_equal(frames[0]->frame_count, frames[1]->frame_count);
    size_t vertices = (size_t)frames[0]->vertex_count * (size_t)frames[0]->frame_count;
    for (size_t v = 0; v < vertices; v++) {
        double square = 0;
        for (size_t k = 3 * v; k < 3 * v + 3; k++) {
            double d = (double)frames[0]->positions[k] - (double)frames[1]->positions[k];
            square += d * d;
        }
        most = fmax(most, sqrt(square));
    }
    sinew_frames_destroy(frames[0]), sinew_frames_destroy(frames[1]);
    return most;
}

/* The tip of the nose is a meter ahead in one row of the take. */
static void the_layer_does_not_follow_a_marker_that_jumps(void **state) {
    (void)state;
    const char *folder = fresh_folder();
    expect_code(0, "sinew sample face --vertices 1000 --out face");
    expect_code(0, "awk -F, -v OFS=, '/^#/ {print; next} /^time/ {for (i = 1; i <= NF; i++) if ($i "
                   "== \"noseTip.z\") c = i} ++n == 10 {$c += 1} {print}' face/markers.csv > "
                   "jump.csv && ! cmp -s face/markers.csv jump.csv");
    for (int method = 0; method < 3; method++) {
        const char *line = "sinew fit face --map face/markers_map.csv --fps 60 --frames 4-12 "
                           "--layer --method %s --markers %s --out %s";
        const char *name = method == 0 ? "sbs" : method == 1 ? "rsbs" : "uls";
        expect_code(0, line, name, "face/markers.csv", "still.pc2");
        expect_code(0, line, name, "jump.csv", "jump.pc2");
        assert_below(largest_way(folder, "still.pc2", "jump.pc2"), 3e-3);
    }
    /* who asks for it is taken at his word */
    expect_code(0, "sinew fit face --map face/markers_map.csv --fps 60 --frames 4-12 --layer "
                   "--outlier 1e9 --markers jump.csv --out jump.pc2");
    assert_true(largest_way(folder, "still.pc2", "jump.pc2") > 0.5);
}

/* A take in which one of two markers next to each other is pulled up and the other one down. */
static void a_given_smoothness_of_the_layer_is_kept(void **state) {
    (void)state;
    const char *folder = fresh_folder();
    expect_code(0, "sinew sample face --vertices 1000 --out face");
    expect_code(0, "awk -F, -v OFS=, '/^#/ {print; next} /^time/ {for (i = 1; i <= NF; i++) {if "
                   "($i == \"lipUpper.y\") a = i; if ($i == \"lipLower.y\") b = i}; print; next} "
                   "++n > 5 {$a += 0.008; $b -= 0.008} {print}' face/markers.csv > apart.csv");
    const char *line = "sinew fit face --map face/markers_map.csv --fps 60 --frames 4-12 --cutoff "
                       "0 --layer --markers %s %s --out %s --report %s";
    expect_code(0, line, "face/markers.csv", "", "same.pc2", "same.json");
    expect_code(0, line, "apart.csv", "", "chosen.pc2", "chosen.json");
    expect_code(0, line, "apart.csv", "--layer-smoothing 1e-7", "given.pc2", "given.json");
    expect_code(0, "grep -q '\"limited\": 0' same.json && grep -q '\"limited\": [1-9]' chosen.json "
                   "&& ! grep -q limited given.json");
    assert_true(largest_way(folder, "chosen.pc2", "given.pc2") > 1e-3);
}

/* Six samples of a long take in which two markers are pulled apart: wherever they are, the samples
 * that are looked at are the ones that differ most. */
static void samples_that_fold_the_skin_are_found(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample face --vertices 1000 --out face");
    for (int at = 26; at < 500; at += 187) {
        expect_code(0,
                    "awk -F, -v OFS=, '/^#/ {print; next} /^time/ {for (i = 1; i <= NF; i++) {if "
                    "($i == \"lipUpper.y\") a = i; if ($i == \"lipLower.y\") b = i}; print; next} "
                    "++n > %d && n <= %d {$a += 0.008; $b -= 0.008} {print}' face/markers.csv > "
                    "apart.csv && ! cmp -s face/markers.csv apart.csv",
                    at, at + 6);
        expect_code(0, "sinew fit face --map face/markers_map.csv --frames 0-1 --cutoff 0 --layer "
                       "--markers apart.csv --out x.pc2 --report x.json && grep -q '\"limited\": "
                       "[1-9]' x.json");
    }
}

int test_fit(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_that_fold_the_skin_are_found),
        cmocka_unit_test(the_layer_does_not_follow_a_marker_that_jumps),
        cmocka_unit_test(a_given_smoothness_of_the_layer_is_kept),
    };
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
