/* Replays the fuzz corpora: nothing in them may crash a reader, and what is read can be written and
 * read again. In the sanitizer build this also finds reads beyond the end. */
#include "groups.h"
#include "helpers.h"

#include <limits.h>
#include <stdbool.h>

#include "../fuzz/readers.h"
#include "base/file.h"
#include "base/memory.h"

static void corpora_of_all_readers_replay(void **state) {
    (void)state;
    sinew_error error;
    const char *root = getenv("SINEW_SOURCE");
    for (const fuzz_reader *reader = fuzz_readers; reader->name; reader++) {
        char folder[4096];
        snprintf(folder, sizeof folder, "%s/fuzz/corpus/%s", root ? root : ".", reader->name);
        char **names;
        int count;
        assert_ok(sn_folder_list(folder, &names, &count, &error));
        assert_true(count > 0);
        for (int i = 0; i < count; i++) {
            char *path = sn_path_join(folder, names[i]), *bytes;
            size_t size;
            assert_ok(sn_file_read(path, &bytes, &size, &error));
            if (!reader->read((const uint8_t *)bytes, size))
                fail_msg("%s does not come back", path);
            sn_free(bytes);
            sn_free(path);
        }
        sn_names_free(names, count);
    }
}

/* The first file of each corpus, cut at every byte: read or refused, never worse. */
static void files_cut_at_every_byte_are_survived(void **state) {
    (void)state;
    sinew_error error;
    const char *root = getenv("SINEW_SOURCE");
    for (const fuzz_reader *reader = fuzz_readers; reader->name; reader++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/fuzz/corpus/%s/sample", root ? root : ".", reader->name);
        char *bytes;
        size_t size;
        assert_ok(sn_file_read(path, &bytes, &size, &error));
        for (size_t cut = 0; cut < size; cut++)
            if (!reader->read((const uint8_t *)bytes, cut))
                fail_msg("%s cut at %zu does not come back", path, cut);
        sn_free(bytes);
    }
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Numbers and words as careless or hostile programs write them. */
static const char *const odd_tokens[] = {"nan", "-1", "1e999", "4294967296", "0", "7", "\"\"", ""};
enum { ODD_TOKENS = sizeof odd_tokens / sizeof *odd_tokens };

static bool is_token(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '+' || c == '_' || c == '#';
}

/* Change number k of the token or byte at `at`; returns the new size. to: size + 16 bytes. */
static size_t change(const char *bytes, size_t size, size_t at, unsigned k, char *to) {
    static const unsigned char odd_bytes[] = {0, 0xff, 0x7f, '9', ' ', '\n', '{', '"'};
    memcpy(to, bytes, size);
    if (k % 2 == 0) {
        unsigned was = (unsigned char)to[at], kind = k / 16 % 3;
        unsigned other = kind == 0   ? odd_bytes[k / 2 % 8]
                         : kind == 1 ? was + 1
                                     : was ^ (1u << k / 2 % 8);
        to[at] = (char)(unsigned char)other;
        return size;
    }
    size_t begin = at, end = at;
    while (begin > 0 && is_token(bytes[begin - 1])) begin--;
    while (end < size && is_token(bytes[end])) end++;
    if (k / 2 % 3 == 0) { /* a whole line is missing */
        while (begin > 0 && bytes[begin - 1] != '\n') begin--;
        while (end < size && bytes[end++] != '\n') {
        }
    }
    const char *word = k / 2 % 3 == 0 ? "" : odd_tokens[k / 6 % ODD_TOKENS];
    size_t length = strlen(word);
    memcpy(to + begin, word, length);
    memcpy(to + begin + length, bytes + end, size - end);
    return begin + length + size - end;
}

/* Every file of the corpora with a byte, a word or a line changed: read or refused, nothing lost,
 * and what is read can be written and read again. */
static void files_with_one_change_are_survived(void **state) {
    (void)state;
    enum { PLACES = 300, CHANGES = 12 };
    sinew_error error;
    const char *root = getenv("SINEW_SOURCE");
    unsigned next = 1;
    for (const fuzz_reader *reader = fuzz_readers; reader->name; reader++) {
        char folder[4096], **names;
        int count;
        snprintf(folder, sizeof folder, "%s/fuzz/corpus/%s", root ? root : ".", reader->name);
        assert_ok(sn_folder_list(folder, &names, &count, &error));
        for (int i = 0; i < count; i++) {
            char *path = sn_path_join(folder, names[i]), *bytes;
            size_t size;
            assert_ok(sn_file_read(path, &bytes, &size, &error));
            char *changed = malloc(size + 16);
            size_t step = size / PLACES + 1;
            for (size_t at = 0; at < size; at += step)
                for (int k = 0; k < CHANGES; k++) {
                    next = next * 1664525u + 1013904223u;
                    size_t length = change(bytes, size, at, next >> 16, changed);
                    test_memory_limit(LONG_MAX);
                    bool good = reader->read((const uint8_t *)changed, length);
                    long living = test_memory_restore().living;
                    if (!good || living)
                        fail_msg("%s, change %u at byte %zu: %s, %ld blocks lost", path, next >> 16,
                                 at, good ? "read or refused" : "does not come back", living);
                }
            free(changed);
            sn_free(bytes);
            sn_free(path);
        }
        sn_names_free(names, count);
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Reads the bytes with memory that runs out: at every block of the first file of a corpus, at one
 * block of every path of callers in the others. */
static void read_without_memory(const fuzz_reader *reader, const char *path, bool every) {
    sinew_error error;
    char *bytes;
    size_t size;
    const long *paths;
    assert_ok(sn_file_read(path, &bytes, &size, &error));
    test_memory_trace();
    reader->read((const uint8_t *)bytes, size);
    long total = LONG_MAX - test_memory_restore().left, count = test_steps(&paths);
    for (long i = 0; i < (every ? total : count); i++) {
        test_memory_limit(every ? i : paths[i]);
        reader->read((const uint8_t *)bytes, size);
        test_memory_use used = test_memory_restore();
        if (used.living != 0)
            fail_msg("%s: %ld blocks are lost when allocation %ld fails", path, used.living,
                     every ? i : paths[i]);
    }
    sn_free(bytes);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    sinew_error error;
    const char *root = getenv("SINEW_SOURCE");
    for (const fuzz_reader *reader = fuzz_readers; reader->name; reader++) {
        char folder[4096], **names;
        int count;
        snprintf(folder, sizeof folder, "%s/fuzz/corpus/%s", root ? root : ".", reader->name);
        assert_ok(sn_folder_list(folder, &names, &count, &error));
        for (int i = 0; i < count; i++) {
            char *path = sn_path_join(folder, names[i]);
            read_without_memory(reader, path, !strcmp(names[i], "sample"));
            sn_free(path);
        }
        sn_names_free(names, count);
    }
}

/* Opens, fills and closes a writer of three frames; false when something failed. */
static bool write_frames(const char *path, const sinew_mesh *mesh) {
    sinew_frame_writer *writer;
    if (sinew_frame_writer_open(path, mesh, 3, 0, 30, &writer, NULL) != SINEW_OK) return false;
    for (int k = 0; k < 3; k++)
        if (sinew_frame_writer_add(writer, mesh->positions, NULL) != SINEW_OK) {
            sinew_frame_writer_abandon(writer);
            return false;
        }
    return sinew_frame_writer_close(writer, NULL) == SINEW_OK;
}

static void failed_allocations_leave_no_frames_behind(void **state) {
    (void)state;
    sinew_error error;
    const double points[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0.5};
    const int start[] = {0, 4}, face[] = {0, 1, 2, 3};
    sinew_mesh *mesh;
    assert_ok(sinew_mesh_create(4, points, 1, start, face, &mesh, &error));
    const char *names[] = {"memory.pc2", "memory.mdd", "memory.usda", "memory.obj", "memory.glb"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = temporary(names[i]);
        const char *made = i == 3 ? temporary("memory.0000.obj") : path;
        for (long n = 0;; n++) {
            test_memory_limit(n);
            bool written = write_frames(path, mesh);
            test_memory_use used = test_memory_restore();
            if (used.living != 0)
                fail_msg("%s: %ld blocks are lost when allocation %ld fails", names[i], used.living,
                         n);
            assert_int_equal(sn_file_exists(made), written);
            if (written) break;
            assert_true(n < 10000);
        }
    }
    sinew_mesh_destroy(mesh);
}

static void failed_allocations_leave_rig_folders_readable(void **state) {
    (void)state;
    sinew_error error;
    const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, delta[] = {0, 0, 1};
    const int face[] = {0, 1, 2}, vertex[] = {1};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(3, points, 1, NULL, face, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "up", 1, vertex, delta, &error));
    assert_ok(sinew_rig_add_region(rig, "tip", 1, vertex, &error));
    const char *folder = temporary("memory_rig");
    sinew_curves *curves;
    assert_ok(sinew_curves_create(1, 2, &curves, &error));
    assert_ok(sinew_curves_set_name(curves, 0, "up", &error));
    curves->times[1] = 1;
    for (int what = 0; what < 5; what++) {
        const char *path = what == 2   ? temporary("memory_rig.usda")
                           : what == 3 ? temporary("memory_clip.glb")
                           : what == 4 ? temporary("memory_clip.usda")
                                       : folder;
        for (long n = 0;; n++) {
            sinew_rig *back = NULL;
            test_memory_limit(n);
            sinew_status status = what == 1  ? sinew_rig_read(1, &path, &back, &error)
                                  : what > 2 ? sinew_rig_write_animated(path, rig, curves, &error)
                                             : sinew_rig_write(path, rig, &error);
            sinew_rig_destroy(back);
            test_memory_use used = test_memory_restore();
            if (used.living != 0)
                fail_msg("%s: %ld blocks are lost when allocation %ld fails", path, used.living, n);
            if (status == SINEW_OK) break;
            assert_int_equal(status, SINEW_NO_MEMORY);
            if (what == 0) assert_false(sn_file_exists(folder));
        }
    }
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

static void huge_promises_allocate_nothing(void **state) {
    (void)state;
    static const struct {
        const char *reader, *text;
        size_t size;
    } lies[] = {
        {"pc2", "POINTCACHE2\0\1\0\0\0\xff\xff\xff\x0f\0\0\0\0\0\0\x80\x3f\xff\xff\xff\x7f", 32},
        {"mdd", "\x7f\xff\xff\xff\x0f\xff\xff\xff", 8},
        {"ply",
         "ply\nformat binary_little_endian 1.0\nelement vertex 700000000\nproperty float x\n"
         "property float y\nproperty float z\nelement face 700000000\nproperty list uint int "
         "vertex_indices\nend_header\n",
         0},
        {"off", "OFF 700000000 700000000 0\n", 0},
        {"medit", "MeshVersionFormatted 1\nDimension 3\nVertices 500000000\n", 0},
        {"tetgen", "700000000 3 0 0\n==\n500000000 4 0\n", 0},
        {"glb",
         "{\"asset\":{\"version\":\"2.0\"},\"meshes\":[{\"primitives\":[{\"attributes\":{"
         "\"POSITION\":0}}]}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"type\":"
         "\"VEC3\",\"count\":500000000}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":"
         "4294967295,\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,\"byteLength\":4,"
         "\"byteStride\":12,\"count\":4294967295,\"mode\":\"ATTRIBUTES\"}}}],\"buffers\":[{"
         "\"byteLength\":4,\"uri\":\"data:;base64,AAAAAA==\"}]}",
         0},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        for (const fuzz_reader *reader = fuzz_readers; reader->name; reader++) {
            if (strcmp(reader->name, lies[i].reader) != 0) continue;
            test_memory_limit(1 << 30);
            reader->read((const uint8_t *)lies[i].text,
                         lies[i].size ? lies[i].size : strlen(lies[i].text));
            size_t largest = test_memory_restore().largest;
            if (largest > 65536) fail_msg("%s: %zu bytes at once", reader->name, largest);
        }
}

int test_corpus(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpora_of_all_readers_replay),
        cmocka_unit_test(files_cut_at_every_byte_are_survived),
        cmocka_unit_test(files_with_one_change_are_survived),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(failed_allocations_leave_no_frames_behind),
        cmocka_unit_test(failed_allocations_leave_rig_folders_readable),
        cmocka_unit_test(huge_promises_allocate_nothing),
    };
    return cmocka_run_group_tests_name("corpus", tests, NULL, NULL);
}
