/* Parts of a clip, and merging them. */
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cache/checksum.h"
#include "groups.h"
#include "sinew/sinew.h"

static sinew_error error;

/* With all outputs of its model when `out` is called "more". */
static sinew_job *job_of(const char *model, const char *parameters, const char *out) {
    bool more = !strncmp(out, "more", 4);
    char text[1100];
    snprintf(
        text, sizeof text,
        "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"model\": \"%s\", \"parameters\": %s, "
        "\"time\": {\"fps\": 20}, \"curves\": {\"times\": [0, 1], \"values\": {\"bend120\": [0, "
        "0.1]}}, %s \"outputs\": {\"frames\": [\"%s\"], \"curves\": \"%s.csv\"%s}}",
        model, parameters,
        strcmp(model, "spring") ? ""
                                : "\"obstacles\": [{\"shape\": \"sphere\", \"center\": [0.5, "
                                  "0.395, 0], \"radius\": 0.3}], ",
        out, out,
        !more                      ? ""
        : !strcmp(model, "spring") ? ", \"network\": \"more.n.csv\", \"network_frames\": "
                                     "\"more.n.pc2\""
                                   : ", \"modes\": \"more.m.csv\", \"shapes\": \"more.s.pc2\"");
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

/* Also what a part holds beside positions: all points of the network, elements inside out. */
static void merged_parts_have_the_further_outputs(void **state) {
    (void)state;
    static const struct {
        const char *model, *parameters, *outputs[3];
    } rows[] = {
        {"spring",
         "{\"tolerance\": 1e-3, \"max_rounds\": 4}",
         {"more.pc2", "more.n.csv", "more.n.pc2"}},
        {"modal", "{\"modes\": 6}", {"more.pc2", "more.m.csv", "more.s.pc2"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *whole[3], parts[4096], path[4200];
        size_t sizes[3], size;
        sinew_job *job = job_of(rows[i].model, rows[i].parameters, "more.pc2");
        sinew_status status = sinew_job_run(job, 0, -1, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) assert_ok(status);
        sinew_job_destroy(job);
        for (int k = 0; k < 3; k++) {
            whole[k] = content(rows[i].outputs[k], &sizes[k]);
            snprintf(path, sizeof path, "%s/%s", test_folder(), rows[i].outputs[k]);
            assert_int_equal(unlink(path), 0);
        }
        snprintf(parts, sizeof parts, "%s", folder_of(rows[i].model));
        part(rows[i].model, rows[i].parameters, "more.pc2", 0, 6, false, parts, SINEW_OK);
        part(rows[i].model, rows[i].parameters, "more.pc2", 7, -1, true, parts, SINEW_OK);
        job = job_of(rows[i].model, rows[i].parameters, "more.pc2");
        status = sinew_job_merge(job, parts, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) assert_ok(status);
        sinew_job_destroy(job);
        for (int k = 0; k < 3; k++) {
            char *merged = content(rows[i].outputs[k], &size);
            if (size != sizes[k] || memcmp(merged, whole[k], size))
                fail_msg("%s: %s differs", rows[i].model, rows[i].outputs[k]);
            sn_free(merged), sn_free(whole[k]);
        }
    }
}

/* The last part of the clip, as in merged_parts_are_the_whole_clip. */
static bool run_last(const char *model, const char *parameters, const char *out, int first,
                     int last, const char *folder) {
    sinew_job *job = job_of(model, parameters, out);
    bool merged;
    sinew_status status =
        sinew_job_run_last_part(job, first, last, folder, first > 0, NULL, &merged, &error);
    if (status != SINEW_NOT_CONVERGED) assert_ok(status);
    sinew_job_destroy(job);
    return merged;
}

static void the_last_part_merges_the_clip(void **state) {
    (void)state;
    const char *rows[][3] = {
        {"rotation", "{}", "last.pc2"},
        {"rotation", "{}", "last.usda"},
        {"spring", "{\"friction\": 0.3, \"tolerance\": 1e-3, \"max_rounds\": 4}", "last-s.pc2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *model = rows[i][0], *parameters = rows[i][1], *out = rows[i][2];
        size_t size, merged_size;
        char parts[4096], name[64], path[4200];
        sinew_job *job = job_of(model, parameters, out);
        sinew_status status = sinew_job_run(job, 0, -1, NULL, &error);
        if (status != SINEW_NOT_CONVERGED) assert_ok(status);
        sinew_job_destroy(job);
        char *whole = content(out, &size);
        snprintf(name, sizeof name, "parts-%s", out);
        snprintf(parts, sizeof parts, "%s", folder_of(name));
        snprintf(path, sizeof path, "%s/%s", test_folder(), out);
        assert_int_equal(unlink(path), 0);
        /* Not while other frames are missing. */
        assert_false(run_last(model, parameters, out, 0, 6, parts));
        assert_false(sn_file_exists(path));
        part(model, parameters, out, 7, 13, true, parts, SINEW_OK);
        assert_true(run_last(model, parameters, out, 14, 20, parts));
        for (int k = 0; k < 3; k++) {
            char *merged = content(out, &merged_size);
            if (size != merged_size || memcmp(whole, merged, size))
                fail_msg("%s: %d: merged parts differ", out, k);
            sn_free(merged);
            assert_int_equal(unlink(path), 0);
            if (k == 2) break;
            /* In the middle and at the start: what follows is read after it. A merge of the parts
             * gives the same. */
            char file[4300];
            snprintf(file, sizeof file, "%s/frames-%06d-%06d.part", parts, k ? 0 : 7, k ? 6 : 13);
            assert_int_equal(unlink(file), 0);
            assert_true(run_last(model, parameters, out, k ? 0 : 7, k ? 6 : 13, parts));
            assert_true(sn_file_exists(file));
        }
        /* A part that is damaged, and outputs that cannot be written: merging says so. */
        char file[4300];
        snprintf(file, sizeof file, "%s/frames-000000-000006.part", parts);
        FILE *stream = fopen(file, "r+b");
        fseek(stream, 700, SEEK_SET);
        fputc('x', stream);
        fclose(stream);
        snprintf(file, sizeof file, "%s/frames-000014-000020.part", parts);
        assert_int_equal(unlink(file), 0);
        assert_false(run_last(model, parameters, out, 14, 20, parts));
        assert_true(sn_file_exists(file));
        job = job_of(model, parameters, out);
        assert_int_equal(sinew_job_merge(job, parts, NULL, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "is damaged"));
        snprintf(file, sizeof file, "%s/frames-000000-000006.part", parts);
        assert_int_equal(unlink(file), 0);
        assert_ok(sn_make_folder(path, &error));
        assert_false(run_last(model, parameters, out, 0, 6, parts));
        assert_true(sn_file_exists(file));
        assert_int_equal(sinew_job_merge(job, parts, NULL, &error), SINEW_IO);
        assert_int_equal(rmdir(path), 0);
        sinew_job_destroy(job);
        sn_free(whole);
    }
}

/* Writes a byte at the offset, from the end where it is negative. */
static void overwrite(const char *path, long offset, int byte) {
    FILE *stream = fopen(path, "r+b");
    assert_non_null(stream);
    fseek(stream, offset, offset < 0 ? SEEK_END : SEEK_SET);
    fputc(byte, stream);
    fclose(stream);
}

static int present_frames(const char *out, const char *parts) {
    sinew_job *job = job_of("rotation", "{}", out);
    bool present[21];
    assert_int_equal(sinew_job_frame_count(job), 21);
    assert_ok(sinew_job_check_parts(job, parts, present, NULL, &error));
    sinew_job_destroy(job);
    int count = 0;
    for (int i = 0; i < 21; i++) count += present[i];
    return count;
}

/* A last part that is most of the clip leaves its positions to the point cache that it has written.
 */
static void positions_are_stored_once(void **state) {
    (void)state;
    static const char *const outs[] = {"once.pc2", "once.mdd"};
    for (int i = 0; i < 2; i++) {
        const char *out = outs[i];
        char parts[4096], path[4200], file[4300], name[64];
        size_t size, part_size, merged_size;
        snprintf(name, sizeof name, "parts-%s", out);
        snprintf(parts, sizeof parts, "%s", folder_of(name));
        snprintf(path, sizeof path, "%s/%s", test_folder(), out);
        snprintf(file, sizeof file, "%s/frames-000004-000020.part", parts);
        part("rotation", "{}", out, 0, 3, false, parts, SINEW_OK);
        assert_true(run_last("rotation", "{}", out, 4, 20, parts));
        char *whole = content(out, &size), *bytes;
        assert_ok(sn_file_read(file, &bytes, &part_size, &error));
        sn_free(bytes);
        assert_true(part_size < size / 17); /* less than the positions of one of its frames */
        /* Sound with the output, and a merge reads them there. */
        assert_int_equal(present_frames(out, parts), 21);
        sinew_job *job = job_of("rotation", "{}", out);
        assert_ok(sinew_job_merge(job, parts, NULL, &error));
        char *merged = content(out, &merged_size);
        assert_true(merged_size == size && !memcmp(whole, merged, size));
        sn_free(merged);
        /* An output that is gone, a pipe, cut short or changed: the part cannot be used. */
        assert_int_equal(unlink(path), 0);
        assert_int_equal(sinew_job_merge(job, parts, NULL, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, out));
        assert_non_null(strstr(error.message, "compute the part again"));
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(sinew_job_merge(job, parts, NULL, &error), SINEW_BAD_INPUT);
        assert_int_equal(unlink(path), 0);
        assert_ok(sn_file_write(path, whole, size - 12, &error));
        assert_int_equal(sinew_job_merge(job, parts, NULL, &error), SINEW_BAD_INPUT);
        assert_ok(sn_file_write(path, whole, size, &error));
        overwrite(path, -2, 'x');
        assert_int_equal(sinew_job_merge(job, parts, NULL, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "is damaged"));
        sinew_job_destroy(job);
        assert_int_equal(present_frames(out, parts), 4);
        assert_false(sn_file_exists(file)); /* it was removed */
        /* Computed again, with the same bits. */
        assert_true(run_last("rotation", "{}", out, 4, 20, parts));
        merged = content(out, &merged_size);
        assert_true(merged_size == size && !memcmp(whole, merged, size));
        sn_free(merged);
        sn_free(whole);
    }
}

static void expect_refusal(const char *parts, const char *words) {
    sinew_job *job = job_of("linear", "{}", "refused.pc2");
    sinew_status status = sinew_job_merge(job, parts, NULL, &error);
    if (status != SINEW_BAD_INPUT) fail_msg("%s: status %d", words, status);
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
    snprintf(file, sizeof file, "frames-000006-000007.part: frame 6 is also in %s/%s", parts,
             "frames-000000-000006.part");
    expect_refusal(parts, file);
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
    part("force", "{}", "f.pc2", 1, 2, true, parts, SINEW_IO);
}

/* A file as an attacker, or a library with a fault, would write it: what it says is wrong, and its
 * checksums are right. The header has 48 bytes, its sum 8, and records follow. */
static void forge(const char *path, const char *good, size_t size, size_t at, uint64_t value,
                  size_t width) {
    enum { HEADER = 48 };
    char *bytes = malloc(size);
    memcpy(bytes, good, size);
    memcpy(bytes + at, &value, width);
    sn_checksum sum;
    sn_checksum_start(&sum);
    sn_checksum_add(&sum, bytes, HEADER);
    uint64_t now = sn_checksum_value(&sum);
    memcpy(bytes + HEADER, &now, sizeof now);
    assert_ok(sn_file_write(path, bytes, size, &error));
    free(bytes);
}

static void forged_parts_are_refused(void **state) {
    (void)state;
    enum { RECORD = 56 };
    static const struct {
        size_t at;
        uint64_t value;
        size_t width;
        const char *words;
    } rows[] = {
        {0, 'x', 1, "is damaged"},        /* the magic word */
        {8, 3, 4, "version 3"},           /* a later one */
        {12, 2, 4, "is damaged"},         /* a checkpoint */
        {12, 1, 4, "is damaged"},         /* frames in the other precision */
        {12, 4, 4, "which is missing"},   /* positions that are in an output */
        {16, 1, 1, "another scene"},      /* its key */
        {32, 9, 4, "frame 0 is missing"}, /* other frames than it holds */
        {32, (uint32_t)-1, 4, "frame -1 is also in"},
        {36, 21, 4, "the clip has frames 0-20"},
        {36, (uint32_t)-3, 4, "the clip has frames 0-20"},
        {RECORD, 5, 4, "is damaged"},      /* a record of another frame */
        {RECORD + 20, 1, 4, "is damaged"}, /* vertices of a network */
        {RECORD + 24, (uint32_t)-1, 4, "is damaged"},
        {RECORD + 24, 1, 4, "is damaged"}, /* elements that are inside out */
        {RECORD + 28, 1, 4, "is damaged"}, /* weights */
        {RECORD + 28, 1 << 30, 4, "is damaged"},
        {RECORD + 64, (uint64_t)1 << 40, 8, "is damaged"}, /* text */
        {RECORD + 64, 1, 8, "is damaged"},
    };
    char parts[4096], file[4200], *good;
    size_t size;
    snprintf(parts, sizeof parts, "%s", folder_of("forged"));
    snprintf(file, sizeof file, "%s/frames-000000-000020.part", parts);
    part("linear", "{}", "refused.pc2", 0, 20, false, parts, SINEW_OK);
    assert_ok(sn_file_read(file, &good, &size, &error));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        forge(file, good, size, rows[i].at, rows[i].value, rows[i].width);
        expect_refusal(parts, rows[i].words);
        /* a farm removes it and computes its frames again */
        bool present[21];
        sinew_job *job = job_of("linear", "{}", "refused.pc2");
        assert_ok(sinew_job_check_parts(job, parts, present, NULL, &error));
        for (int k = 0; k < 21; k++) assert_false(present[k]);
        assert_false(sn_file_exists(file));
        sinew_job_destroy(job);
    }
    for (size_t cut = 0; cut < size; cut += 1 + size / 40) {
        assert_ok(sn_file_write(file, good, cut, &error));
        expect_refusal(parts, "is damaged");
    }
    sn_free(good);
}

/* The same of checkpoints: a header of 48 bytes, then a state. */
static void forged_checkpoints_are_refused(void **state) {
    (void)state;
    char parts[4096], file[4200], *good;
    size_t size;
    snprintf(parts, sizeof parts, "%s", folder_of("checkpoints"));
    snprintf(file, sizeof file, "%s/state-000006.state", parts);
    part("force", "{}", "f.pc2", 0, 5, false, parts, SINEW_OK);
    assert_ok(sn_file_read(file, &good, &size, &error));
    static const size_t offsets[] = {0, 8, 12, 16, 31, 32, 40, 47, 48, 70};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        assert_ok(sn_file_write(file, good, size, &error));
        overwrite(file, (long)offsets[i], good[offsets[i]] ^ 9);
        part("force", "{}", "f.pc2", 6, 7, true, parts, SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, "state-000006.state"));
    }
    for (size_t cut = 0; cut < size; cut += 1 + size / 9) {
        assert_ok(sn_file_write(file, good, cut, &error));
        part("force", "{}", "f.pc2", 6, 7, true, parts, SINEW_BAD_INPUT);
    }
    assert_ok(sn_file_write(file, good, size, &error));
    part("force", "{}", "f.pc2", 6, 7, true, parts, SINEW_OK);
    sn_free(good);
}

/* Nobody writes to the pipe: who waits for it never ends. */
static void pipes_in_place_of_parts_are_refused(void **state) {
    (void)state;
    char parts[4096], file[4200], line[300];
    bool present[21];
    snprintf(parts, sizeof parts, "%s", folder_of("pipes"));
    part("force", "{}", "pipes.pc2", 0, 5, false, parts, SINEW_OK);
    snprintf(file, sizeof file, "%s/state-000006.state", parts);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    part("force", "{}", "pipes.pc2", 6, 20, true, parts, SINEW_IO);
    snprintf(line, sizeof line, "%.200s: is not a regular file", strrchr(file, '/') + 1);
    assert_non_null(strstr(error.message, line));
    snprintf(file, sizeof file, "%s/frames-000006-000020.part", parts);
    assert_int_equal(mkfifo(file, 0600), 0);
    snprintf(line, sizeof line, "%.200s: is not a regular file", strrchr(file, '/') + 1);
    sinew_job *job = job_of("force", "{}", "pipes.pc2");
    assert_int_equal(sinew_job_merge(job, parts, NULL, &error), SINEW_IO);
    assert_non_null(strstr(error.message, line));
    assert_int_equal(sinew_job_check_parts(job, parts, present, NULL, &error), SINEW_IO);
    assert_non_null(strstr(error.message, line));
    assert_true(sn_file_exists(file)); /* nothing that is not a part is removed */
    sinew_job_destroy(job);
}

int test_parts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_parts_are_the_whole_clip),
        cmocka_unit_test(merged_parts_have_the_further_outputs),
        cmocka_unit_test(the_last_part_merges_the_clip),
        cmocka_unit_test(positions_are_stored_once),
        cmocka_unit_test(merging_names_what_is_wrong),
        cmocka_unit_test(forged_parts_are_refused),
        cmocka_unit_test(forged_checkpoints_are_refused),
        cmocka_unit_test(pipes_in_place_of_parts_are_refused),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
