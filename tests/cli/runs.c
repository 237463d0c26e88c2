#include "support.h"

#include <math.h>

#include <jansson.h>

#include "command.h"
#include "groups.h"

/* Models that sliders drive and that need nothing else. */
static const char *const models[] = {"linear", "rotation", "spring"};
enum { MODELS = sizeof models / sizeof *models };

static void any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    fresh_folder();
    for (int m = 0; m < MODELS; m++) {
        expect_code(0,
                    "sinew blend --sample bar --model %s --steps 4 --threads 1 --out one.pc2 && "
                    "sinew blend --sample bar --model %s --steps 4 --threads 2 --out two.pc2",
                    models[m], models[m]);
        expect_code(0, "cmp one.pc2 two.pc2");
    }
}

static void ranges_joined_are_the_whole(void **state) {
    (void)state;
    fresh_folder();
    for (int m = 0; m < MODELS; m++) {
        const char *line = "sinew blend --sample bar --model %s --steps 7 %s";
        char part[256];
        snprintf(part, sizeof part, line, models[m], "--out all.pc2");
        expect_code(0, "%s", part);
        snprintf(part, sizeof part, line, models[m], "--out a.pc2 --frames 0-2");
        expect_code(0, "%s", part);
        snprintf(part, sizeof part, line, models[m], "--out b.pc2 --frames 3-");
        expect_code(0, "%s", part);
        /* A PC2 header has 32 bytes. */
        expect_code(0, "{ tail -c +33 a.pc2; tail -c +33 b.pc2; } >joined; "
                       "tail -c +33 all.pc2 | cmp - joined");
    }
}

static void a_scene_does_what_the_verb_did(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "mkdir deep && sinew blend --sample bar --model rotation --weights bend120=0.7 "
                   "--steps 4 --fps 24 --out verb.pc2 --scene-out deep/job.json");
    expect_code(0, "mv verb.pc2 first.pc2 && sinew run deep/job.json --allow-outside && cmp "
                   "first.pc2 verb.pc2");
}

static json_t *report_of(const char *command) {
    expect_code(0, "%s --report r.json", command);
    return read_json("r.json");
}

static void reports_of_all_verbs_have_the_fixed_fields(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew blend --sample bar --weights bend120=1 --out bent.obj && "
                   "sinew blend --sample bar --weights bend120=0 --out rest.obj");
    const char *commands[] = {"sinew info rest.obj", "sinew check rest.obj",
                              "sinew convert rest.obj rest.ply",
                              "sinew blend rest.obj bent.obj --steps 3 --out f.pc2",
                              "sinew measure rest.obj bent.obj --frames f.pc2"};
    const char *fields[] = {"verb",   "version", "inputs",   "vertices", "triangles",
                            "frames", "totals",  "warnings", "status"};
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++) {
        json_t *root = report_of(commands[c]);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            if (!json_object_get(root, fields[i])) fail_msg("%s: no %s", commands[c], fields[i]);
        assert_true(json_integer_value(json_object_get(root, "vertices")) > 100);
        assert_string_equal(json_string_value(json_object_get(root, "status")), "ok");
        json_decref(root);
    }
}

static void measures_say_that_linear_shrinks_and_rotation_does_not(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew blend --sample bar --weights bend120=1 --out bent.obj && "
                   "sinew blend --sample bar --weights bend120=0 --out rest.obj");
    double mean[2], volume[2];
    for (int m = 0; m < 2; m++) {
        expect_code(0, "sinew blend rest.obj bent.obj --model %s --steps 2 --out f.pc2", models[m]);
        json_t *root = report_of("sinew measure rest.obj bent.obj --frames f.pc2");
        json_t *middle = json_array_get(json_object_get(root, "frames"), 1);
        mean[m] = json_number_value(json_object_get(json_object_get(middle, "edge"), "mean"));
        volume[m] = json_number_value(json_object_get(middle, "volume"));
        json_decref(root);
    }
    assert_true(mean[0] > 0.03 && volume[0] < -0.03);
    assert_true(mean[1] < 0.005 && fabs(volume[1]) < 0.01);
}

/* Names of the energies beside the springs, joined by spaces. */
static void check_terms(const char *command, const char *expected) {
    json_t *report = report_of(command), *term;
    char names[128] = "";
    size_t index;
    json_array_foreach(json_object_get(report, "terms"), index, term) {
        assert_true(json_real_value(json_object_get(term, "stiffness")) > 0);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", index ? " " : "",
                 json_string_value(json_object_get(term, "name")));
    }
    assert_string_equal(names, expected);
    json_decref(report);
}

static void reports_list_every_energy_beside_the_springs(void **state) {
    (void)state;
    fresh_folder();
    check_terms("sinew blend --sample bar --vertices 1000 --model spring --weights "
                "bend120=0.5 --out a.obj",
                "pull_to_blend altitudes directions");
    write_text("skin.json", "{\"sinew\": 1, \"model\": \"spring\", \"rig\": {\"sample\": \"bar\"}, "
                            "\"weights\": {\"bend120\": 0.5}, \"parameters\": {\"interior\": "
                            "\"tets\"}, \"outputs\": {\"frames\": [\"a.obj\"]}}");
    check_terms("sinew run skin.json", "pull_to_blend volume altitudes directions");
    check_terms("sinew blend --sample bar --vertices 1000 --model spring --weights "
                "bend120=0.5 --guide 0 --altitude 0 --pull-to-blend 0 --out a.obj",
                "");
}

static void ctrl_c_in_the_middle_leaves_nothing(void **state) {
    (void)state;
    fresh_folder();
    use_moments();
    /* The first of the frames are written after a few milliseconds. */
    const run_result *r = sh("INTERRUPT=2:500 LD_PRELOAD=$MOMENTS sinew blend --sample bar "
                             "--vertices 20000 --steps 100000 --out long.pc2 --report r.json");
    assert_int_equal(r->code, 130);
    assert_non_null(strstr(r->err, "interrupted"));
    assert_int_equal(files_with(""), 0);
}

static void conversions_come_back_the_same(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew blend --sample arm --weights elbow=0 --out a.obj || "
                   "sinew blend --sample bar --weights bend120=0.3 --out a.obj");
    expect_code(0, "sinew convert a.obj b.ply && sinew convert b.ply c.obj && "
                   "sinew convert c.obj d.ply && cmp b.ply d.ply");
    expect_code(0, "sinew convert a.obj b.ply rig && sinew info rig");
}

static void caches_larger_than_memory_are_read_frame_by_frame(void **state) {
    (void)state;
    fresh_folder();
    /* 24 frames of 1,000,000 points: 288 MB, most of it a hole */
    write_bytes("big.pc2", "POINTCACHE2\0\1\0\0\0\100\102\17\0\0\0\0\0\0\0\200\77\30\0\0\0", 32);
    expect_code(0, "truncate -s 288000032 big.pc2");
    const run_result *r = expect_code(0, "sinew info big.pc2 --memory-limit 40");
    assert_non_null(strstr(r->out, "24 frames of 1000000 vertices"));
    assert_non_null(strstr(r->out, "checked 5 of the frames"));
    /* the first and the last are among them: a NaN as the very last number */
    expect_code(0, "cp big.pc2 nan.pc2 && printf '\\000\\000\\300\\177' | dd of=nan.pc2 bs=1 "
                   "seek=288000028 conv=notrunc status=none");
    expect_refusal(3, "nan.pc2", "sinew info nan.pc2");
    /* 4.8 GB of a triangle, most of it a hole */
    write_bytes("long.pc2", "POINTCACHE2\0\1\0\0\0\3\0\0\0\0\0\0\0\0\0\200\77\125\201\362\7", 32);
    expect_code(0, "truncate -s 4800000020 long.pc2");
    r = expect_code(0, "sinew info long.pc2 --report long.json && grep -c '\"frames_checked\": "
                       "16384' long.json");
    assert_non_null(strstr(r->out, "133333333 frames of 3 vertices"));
    expect_code(0, "sinew convert big.pc2 big.mdd --memory-limit 120 --quiet && sinew info big.mdd "
                   "--memory-limit 40 --quiet");
    expect_refusal(4, "out of memory: the limit is 40 MB",
                   "sinew render big.pc2 --mesh big.pc2 --memory-limit 40 --out x.png");
    expect_code(0, "sinew convert big.mdd back.pc2 --memory-limit 120 --quiet && cmp big.pc2 "
                   "back.pc2 && rm *.pc2 *.mdd");
}

static void tiny_inputs_cost_little(void **state) {
    (void)state;
    fresh_folder();
    write_text("a.obj", "v 0 0 0\nv 0 0 1\nv 0 1 0\nv 0 1 1\nv 1 0 0\nv 1 0 1\nv 1 1 0\nv 1 1 1\n"
                        "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n");
    expect_code(0, "sed 's/v 1 1 1/v 1.2 1.1 1/' a.obj >b.obj");
    expect_code(0, "SINEW_CACHE=off sinew modal a.obj b.obj --body cage --memory-limit 60 --out "
                   "m.pc2 --quiet");
    expect_code(0, "SINEW_CACHE=off sinew modal a.obj b.obj --body shell --memory-limit 60 --out "
                   "m.pc2 --quiet");
    /* a thousand cubes in one place */
    expect_code(0,
                "for f in a b; do (for i in $(seq 1000); do grep ^v $f.obj; done; awk '/^f/ {for "
                "(i = 0; i < 1000; i++) print \"f\", $2 + 8 * i, $3 + 8 * i, $4 + 8 * i, "
                "$5 + 8 * i}' $f.obj) >many_$f.obj; done; printf "
                "'time_s,many_b\\n0,0\\n0.1,1\\n' >w.csv");
    expect_code(0, "SINEW_CACHE=off sinew force many_a.obj many_b.obj --curves w.csv --contact all "
                   "--memory-limit 200 --out f.pc2 --quiet");
    /* nearly in one place, and a thousand around each other */
    expect_code(0, "for f in a b; do awk '/^v/ {print $1, $2 + int(n++ * 0.125) * 1e-6, $3, $4} ; "
                   "/^f/' many_$f.obj >near_$f.obj; awk '/^v/ {s = 1 + int(n++ * 0.125) * 1e-4; "
                   "print $1, $2 * s - s / 2, $3 * s - s / 2, $4 * s - s / 2}; /^f/' many_$f.obj "
                   ">around_$f.obj; done; sed s/many/near/ w.csv >n.csv; sed s/many/around/ w.csv "
                   ">r.csv");
    expect_code(0, "SINEW_CACHE=off sinew force near_a.obj near_b.obj --curves n.csv --contact all "
                   "--memory-limit 200 --out f.pc2 --quiet");
    expect_refusal(3, "too many of the 12000 triangles are close",
                   "SINEW_CACHE=off sinew force around_a.obj around_b.obj --curves r.csv --contact "
                   "all --memory-limit 500 --out g.pc2");
    /* side by side: cubes in one place have the same corners, and are joined there */
    expect_code(
        0, "for f in a b; do awk '/^v/ {print $1, $2 + int(n++ * 0.125) * 0.001, $3, $4} ; /^f/' "
           "many_$f.obj >apart_$f.obj; done");
    expect_refusal(3, "1000 separate parts",
                   "SINEW_CACHE=off sinew modal apart_a.obj apart_b.obj --body shell "
                   "--memory-limit 200 --out m.pc2");
}

static void a_small_address_space_is_refused_and_does_not_hang(void **state) {
    (void)state;
    if (SANITIZED) skip(); /* shadow memory needs far more */
    fresh_folder();
    /* OpenBLAS tries for ever to get its buffers */
    static const char *const commands[] = {
        "lock --sample bar --lock a:v:0 --edit bend120=1 --out w.csv",
        "blend --sample bar --model spring --weights bend120=0.5 --out a.obj"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[300];
        snprintf(line, sizeof line, "ulimit -v 200000; SINEW_CACHE=off timeout 60 sinew %s --quiet",
                 commands[i]);
        const run_result *r = sh("%s", line);
        if (r->code != 4) fail_msg("%s: exit %d, %s", commands[i], r->code, r->err);
        assert_int_equal(files_with(""), 0);
    }
}

static void held_vertices_are_counted_and_bad_ones_refused(void **state) {
    (void)state;
    fresh_folder();
    const char *held =
        "sinew blend --sample bar --model rotation --hold v:0-3 --steps 2 --out h.pc2";
    json_t *report = report_of(held);
    assert_int_equal(json_integer_value(json_object_get(report, "held")), 4);
    json_decref(report);
    expect_code(
        3, "sinew blend --sample bar --model rotation --hold v:99999999 --steps 2 --out x.pc2");
    expect_code(2, "sinew blend --sample bar --model linear --hold all --steps 2 --out x.pc2");
    expect_code(0, "sinew blend --sample bar --model rotation --published --steps 2 --out p.pc2");
    expect_code(1, "cmp h.pc2 p.pc2");
}

/* An arch that stands on two feet on the floor y = 0 and leans by `lean` radians. */
static void write_arch(const char *folder, const char *name, double lean) {
    enum { ALONG = 21 };
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < ALONG; i++) {
        double angle = M_PI * i / (ALONG - 1), up = sin(angle), wide = 0.1;
        for (int side = -1; side <= 1; side += 2)
            fprintf(file, "v %.9f %.9f %.9f\n", (1 + wide * side) * cos(angle) + 0.2 * lean,
                    (1 + wide * side) * up * cos(lean), (1 + wide * side) * up * sin(lean));
    }
    for (int i = 1; i < 2 * ALONG - 2; i += 2)
        fprintf(file, "f %d %d %d %d\n", i, i + 1, i + 3, i + 2);
    fclose(file);
}

/* Half-way from leaning forward to leaning back it is upright, and its center is as low as before:
 * the feet are below the floor unless they are held. */
static void held_feet_stay_on_the_floor(void **state) {
    (void)state;
    const char *folder = fresh_folder();
    write_arch(folder, "a.obj", 1), write_arch(folder, "b.obj", -1);
    static const char *const held_models[] = {"rotation", "spring"};
    for (int m = 0; m < 2; m++) {
        double below[2];
        for (int held = 0; held < 2; held++) {
            expect_code(0, "sinew blend a.obj b.obj --model %s %s --steps 4 --out s.pc2",
                        held_models[m], held ? "--hold auto" : "");
            json_t *report = report_of("sinew measure a.obj b.obj --frames s.pc2");
            const json_t *depth = json_object_get(json_object_get(report, "totals"), "below");
            below[held] = json_number_value(json_array_get(depth, 1));
            json_decref(report);
        }
        print_message("%s: %.4f below the floor, held %.7f\n", held_models[m], below[0], below[1]);
        assert_true(below[0] > 0.05);
        assert_true(below[1] < 1e-5);
    }
}

static void published_force_is_the_same_as_its_choices(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample face --vertices 1000 --out face");
    const char *line = "sinew force face --markers face/markers.csv --map face/markers_map.csv "
                       "--frames 0-3 --out %s.pc2 %s";
    expect_code(0, line, "a", "--published");
    expect_code(0, line, "b",
                "--estimate-stiffness --ridge 0 --smooth 0 --lower -1e6 --upper 1e6 "
                "--outlier 1e9 --overstretch 1");
    expect_code(0, line, "c", "");
    expect_code(0, "cmp a.pc2 b.pc2");
    expect_code(1, "cmp a.pc2 c.pc2");
}

static void measuring_counts_pops_depth_and_drift(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample face --out face && sinew blend face --model rotation --steps 4 "
                   "--out f.pc2");
    json_t *report = report_of("sinew measure face --frames f.pc2 --out f.csv");
    const json_t *totals = json_object_get(report, "totals");
    assert_true(json_is_integer(json_object_get(totals, "pops")));
    assert_int_equal(json_array_size(json_object_get(totals, "below")), 3);
    assert_true(json_is_number(json_object_get(totals, "drift"))); /* eyes and teeth */
    json_decref(report);
    expect_code(0, "head -1 f.csv | grep -q 'drift,below_x,below_y,below_z,pops$'");
}

/* A twisted bar that sinks below its poses, and folds over. */
static void measures_are_the_same_in_words_tables_and_reports(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --vertices 1000 --out bar && sinew blend bar --weights "
                   "bend270=1,twist3=-1 --steps 5 --out f.pc2");
    write_text(
        "check.py",
        "import csv, json, math, re, subprocess\n"
        "said = subprocess.run(['sinew', 'measure', 'bar', '--frames', 'f.pc2', '--out', 't.csv',\n"
        "                       '--report', 'r.json'], check=True, capture_output=True,\n"
        "                      text=True).stdout\n"
        "rows = list(csv.DictReader(open('t.csv')))\n"
        "report = json.load(open('r.json'))\n"
        "frames, totals = report['frames'], report['totals']\n"
        "near = lambda a, b: math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)\n"
        "assert len(rows) == len(frames) == 6\n"
        "for k, (row, frame) in enumerate(zip(rows, frames)):\n"
        "    assert int(row['frame']) == k and int(row['pops']) == frame['pops']\n"
        "    for name, key in ('edge', 'edge'), ('area', 'area'), ('dihedral', "
        "'dihedral_degrees'):\n"
        "        for part in 'mean', 'p95', 'max':\n"
        "            assert near(float(row[f'{name}_{part}']), frame[key][part]), (k, name, part)\n"
        "        assert frame[key]['mean'] <= frame[key]['max'] >= frame[key]['p95']\n"
        "    assert int(row['flipped']) == frame['inverted']\n"
        "    assert int(row['intersections']) == frame['intersections']\n"
        "    assert near(float(row['volume']), frame['volume'])\n"
        "    for axis in range(3):\n"
        "        assert near(float(row['below_' + 'xyz'[axis]]), frame['below'][axis])\n"
        "means = [frame['edge']['mean'] for frame in frames]\n"
        "worst = frames[totals['worst_frame']]\n"
        "assert means[totals['worst_frame']] == max(means) > 0.01\n"
        "assert near(totals['edge_mean'], sum(means) / 6)\n"
        "assert totals['pops'] == sum(frame['pops'] for frame in frames)\n"
        "for axis in range(3):\n"
        "    assert near(totals['below'][axis], max(0, *(f['below'][axis] for f in frames)))\n"
        "assert max(totals['below']) > 0.001 and totals['drift'] is None\n"
        "number = lambda pattern: float(re.search(pattern, said).group(1))\n"
        "assert abs(number(r'6 frames, mean edge distortion ([0-9.]+)%') / 100 -\n"
        "           totals['edge_mean']) < 1e-6\n"
        "assert number(r'worst frame (\\d+):') == totals['worst_frame']\n"
        "for name, key, scale in (('edges', 'edge', 100), ('areas', 'area', 100),\n"
        "                         ('dihedral', 'dihedral_degrees', 1)):\n"
        "    line = re.search(name + r' +mean +([0-9.]+).* below +([0-9.]+).* max +([0-9.]+)', "
        "said)\n"
        "    for value, part in zip(line.groups(), ('mean', 'p95', 'max')):\n"
        "        assert abs(float(value) - scale * worst[key][part]) < 1e-4, (name, part)\n"
        "assert abs(number(r'volume +([-+0-9.]+)%') - 100 * worst['volume']) < 1e-4\n"
        "assert number(r'flipped triangles (\\d+)') == worst['inverted']\n"
        "assert number(r'all frames: (\\d+) popping') == totals['pops']\n"
        "assert abs(number(r'edges, ([0-9.]+)% of the diagonal') - 100 * totals['below'][1]) < "
        "1e-4\n"
        "assert abs(number(r'along y, ([0-9.]+)% along z') - 100 * totals['below'][2]) < 1e-4\n"
        "assert 'drift apart' not in said\n");
    expect_code(0, "python3 check.py");
}

int test_runs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_larger_than_memory_are_read_frame_by_frame),
        cmocka_unit_test(tiny_inputs_cost_little),
        cmocka_unit_test(a_small_address_space_is_refused_and_does_not_hang),
        cmocka_unit_test(held_vertices_are_counted_and_bad_ones_refused),
        cmocka_unit_test(held_feet_stay_on_the_floor),
        cmocka_unit_test(published_force_is_the_same_as_its_choices),
        cmocka_unit_test(measuring_counts_pops_depth_and_drift),
        cmocka_unit_test(measures_are_the_same_in_words_tables_and_reports),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(ranges_joined_are_the_whole),
        cmocka_unit_test(a_scene_does_what_the_verb_did),
        cmocka_unit_test(reports_of_all_verbs_have_the_fixed_fields),
        cmocka_unit_test(measures_say_that_linear_shrinks_and_rotation_does_not),
        cmocka_unit_test(reports_list_every_energy_beside_the_springs),
        cmocka_unit_test(ctrl_c_in_the_middle_leaves_nothing),
        cmocka_unit_test(conversions_come_back_the_same),
    };
    return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
