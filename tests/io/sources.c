/* Readers from memory and streams, writers to functions, limits of memory, cancelling. */
#include "support.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/scope.h"
#include "groups.h"
#include "sinew/contents.h"
#include "sinew/formats.h"
#include "sinew/io.h"
#include "sinew/samples.h"

static sinew_error error;

/* Files in memory, as a sink leaves them. */
typedef struct shelf {
    int count;
    char names[8][64];
    char *bytes[8];
    size_t sizes[8];
    size_t at;    /* of the stream of the first */
    size_t chunk; /* bytes that the stream gives at a time */
} shelf;

static sinew_status put(const char *name, const void *bytes, size_t count, void *user,
                        sinew_error *e) {
    (void)e;
    shelf *s = user;
    assert_true(s->count < 8);
    snprintf(s->names[s->count], sizeof s->names[0], "%s", name);
    s->bytes[s->count] = sn_memdup(bytes, count, 1);
    s->sizes[s->count++] = count;
    return SINEW_OK;
}

static sinew_status get(void *buffer, size_t capacity, size_t *count, void *user, sinew_error *e) {
    (void)e;
    shelf *s = user;
    size_t left = s->sizes[0] - s->at;
    *count = left < s->chunk ? left : s->chunk;
    if (*count > capacity) *count = capacity;
    memcpy(buffer, s->bytes[0] + s->at, *count);
    s->at += *count;
    return SINEW_OK;
}

static sinew_status find(const char *name, sinew_source *beside, void *user, sinew_error *e) {
    shelf *s = user;
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->names[i], name)) {
            beside->bytes = s->bytes[i];
            beside->byte_count = s->sizes[i];
            return SINEW_OK;
        }
    return sinew_fail(e, SINEW_IO, "%s: not on the shelf", name);
}

static void clear(shelf *s) {
    for (int i = 0; i < s->count; i++) sn_free(s->bytes[i]);
    memset(s, 0, sizeof *s);
}

static sinew_source in_memory(const shelf *s, int file) {
    sinew_source source;
    sinew_source_init(&source);
    source.name = s->names[file];
    source.bytes = s->bytes[file];
    source.byte_count = s->sizes[file];
    return source;
}

static sinew_source in_a_stream(shelf *s, size_t chunk) {
    sinew_source source;
    sinew_source_init(&source);
    source.name = s->names[0];
    source.read = get;
    source.user = s;
    s->at = 0;
    s->chunk = chunk;
    return source;
}

static sinew_sink to_shelf(shelf *s, const char *name) {
    sinew_sink sink;
    sinew_sink_init(&sink);
    sink.name = name;
    sink.write = put;
    sink.user = s;
    return sink;
}

static void same_mesh(const sinew_mesh *a, const sinew_mesh *b) {
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_int_equal(a->triangle_count, b->triangle_count);
    assert_memory_equal(a->positions, b->positions, 24 * (size_t)a->vertex_count);
    assert_memory_equal(a->triangles, b->triangles, 12 * (size_t)a->triangle_count);
}

static sinew_rig *sample(void) {
    sinew_rig *rig;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    return rig;
}

static void meshes_and_rigs_are_the_same_from_anywhere(void **state) {
    (void)state;
    static const char *const names[] = {"a.obj", "a.ply", "a.off", "a.glb", "a.fbx"};
    sinew_rig *rig = sample();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        shelf s = {0};
        char path[300];
        sinew_mesh *file, *memory, *stream;
        snprintf(path, sizeof path, "%s/%s", test_folder(), names[i]);
        bool whole_rig = i >= 3;
        sinew_sink sink = to_shelf(&s, names[i]);
        if (whole_rig) {
            assert_ok(sinew_rig_write(path, rig, &error));
            assert_ok(sinew_rig_write_to(&sink, rig, NULL, &error));
        } else {
            assert_ok(sinew_mesh_write(path, rig->neutral, &error));
            assert_ok(sinew_mesh_write_to(&sink, rig->neutral, NULL, &error));
        }
        assert_ok(sinew_mesh_read(path, &file, &error));
        sinew_source source = in_memory(&s, 0);
        assert_ok(sinew_mesh_read_from(&source, NULL, &memory, &error));
        source = in_a_stream(&s, 1000);
        assert_ok(sinew_mesh_read_from(&source, NULL, &stream, &error));
        same_mesh(file, memory);
        same_mesh(file, stream);
        sinew_mesh_destroy(file), sinew_mesh_destroy(memory), sinew_mesh_destroy(stream);
        if (whole_rig) {
            sinew_rig *again;
            source = in_memory(&s, 0);
            const sinew_source *sources[] = {&source};
            assert_ok(sinew_rig_read_from(1, sources, NULL, &again, &error));
            assert_int_equal(again->target_count, rig->target_count);
            sinew_rig_destroy(again);
        }
        clear(&s);
    }
    sinew_rig_destroy(rig);
}

static void a_rig_may_come_from_several_sources(void **state) {
    (void)state;
    sinew_rig *rig = sample(), *again;
    shelf s = {0};
    sinew_mesh *posed;
    assert_ok(sinew_mesh_copy(rig->neutral, &posed, &error));
    posed->positions[0] += 1;
    sinew_sink sink = to_shelf(&s, "neutral.obj");
    assert_ok(sinew_mesh_write_to(&sink, rig->neutral, NULL, &error));
    sink.name = "moved.ply";
    assert_ok(sinew_mesh_write_to(&sink, posed, NULL, &error));
    sinew_source one = in_memory(&s, 0), two = in_memory(&s, 1);
    const sinew_source *sources[] = {&one, &two};
    assert_ok(sinew_rig_read_from(2, sources, NULL, &again, &error));
    assert_int_equal(again->target_count, 1);
    assert_string_equal(again->targets[0].name, "moved");
    sinew_rig_destroy(again);
    sinew_mesh_destroy(posed);
    sinew_rig_destroy(rig);
    clear(&s);
}

static void files_that_belong_to_a_source_are_asked_for(void **state) {
    (void)state;
    static const double positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int corners[] = {0, 1, 2, 3};
    sinew_tets *tets, *again;
    shelf s = {0};
    assert_ok(sinew_tets_create(4, positions, 4, 1, corners, &tets, &error));
    sinew_sink sink = to_shelf(&s, "box.node");
    assert_ok(sinew_tets_write_to(&sink, tets, NULL, &error));
    assert_int_equal(s.count, 2); /* the pair */
    int nodes = strcmp(s.names[0], "box.node") ? 1 : 0;
    sinew_source source = in_memory(&s, nodes);
    assert_int_equal(sinew_tets_read_from(&source, NULL, &again, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "box.ele"));
    source.open = find;
    source.user = &s;
    assert_ok(sinew_tets_read_from(&source, NULL, &again, &error));
    assert_int_equal(again->tet_count, 1);
    sinew_tets_destroy(again);
    sinew_tets_destroy(tets);
    clear(&s);
}

static void tables_and_frames_are_read_from_memory(void **state) {
    (void)state;
    static const char curves_text[] = "time_s,smile\n0,0.5\n1,0.25\n";
    static const char markers_text[] = "time_s,a.x,a.y,a.z\n0,1,2,3\n";
    static const char values_text[] = "vertex,value\n1,0.5\n";
    static const char pairs_text[] = "0,2\n1,3\n";
    static const char map_text[] = "a,2\n";
    static const char regions_text[] = "{\"chin\": [0, 1]}";
    static const char names_text[] = "smile,grin\n";
    sinew_rig *rig = sample();
    sinew_source source;
    sinew_source_init(&source);
#define FROM(file, text) (source.name = file, source.bytes = text, source.byte_count = strlen(text))
    sinew_curves *curves;
    FROM("c.csv", curves_text);
    assert_ok(sinew_curves_read_from(&source, NULL, &curves, &error));
    assert_true(curves->values[1] == 0.25);
    FROM("names.csv", names_text);
    assert_ok(sinew_rename_from(&source, 1, curves->names, NULL, NULL, &error));
    assert_string_equal(curves->names[0], "grin");
    sinew_curves_destroy(curves);
    sinew_markers *markers;
    FROM("m.csv", markers_text);
    assert_ok(sinew_markers_read_from(&source, NULL, &markers, &error));
    assert_true(markers->positions[2] == 3);
    sinew_markers_destroy(markers);
    double values[3] = {7, 7, 7};
    FROM("v.csv", values_text);
    assert_ok(sinew_vertex_values_read_from(&source, 3, NULL, values, &error));
    assert_true(values[0] == 7 && values[1] == 0.5);
    FROM("v.csv", "1,1\n9,1\n");
    assert_int_equal(sinew_vertex_values_read_from(&source, 3, NULL, values, &error),
                     SINEW_BAD_INPUT);
    assert_true(values[1] == 0.5);
    int *from, *to, count;
    FROM("p.csv", pairs_text);
    assert_ok(sinew_vertex_pairs_read_from(&source, 9, 9, NULL, &from, &to, &count, &error));
    assert_true(count == 2 && to[1] == 3);
    sinew_free(from), sinew_free(to);
    sinew_marker_map *map;
    FROM("map.csv", map_text);
    assert_ok(sinew_marker_map_read_from(&source, rig->neutral, NULL, &map, &error));
    assert_int_equal(map->vertices[0], 2);
    sinew_marker_map_destroy(map);
    FROM("r.json", regions_text);
    assert_ok(sinew_regions_read_from(&source, rig, NULL, &error));
    assert_true(sinew_rig_find_region(rig, "chin") >= 0);
#undef FROM
    /* frames: a cache on disk, and its bytes */
    char path[300];
    snprintf(path, sizeof path, "%s/clip.pc2", test_folder());
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(path, rig->neutral, 2, 0, 30, &writer, &error));
    for (int k = 0; k < 2; k++)
        assert_ok(sinew_frame_writer_add(writer, rig->neutral->positions, &error));
    assert_ok(sinew_frame_writer_finish(writer, NULL, &error));
    shelf s = {.count = 1, .names = {"clip.pc2"}};
    assert_ok(sn_file_read(path, &s.bytes[0], &s.sizes[0], &error));
    sinew_frames *frames;
    source = in_memory(&s, 0);
    assert_ok(sinew_frames_read_from(&source, NULL, &frames, &error));
    assert_int_equal(frames->frame_count, 2);
    sinew_frames_destroy(frames);
    sinew_frame_reader *reader;
    assert_ok(sinew_frame_reader_open_from(&source, NULL, &reader, &error));
    float *row = SN_NEW(float, 3 * (size_t)rig->neutral->vertex_count);
    assert_ok(sinew_frame_reader_read(reader, 1, row, &error));
    assert_true(row[0] == (float)rig->neutral->positions[0]);
    sn_free(row);
    sinew_frame_reader_close(reader);
    source = in_a_stream(&s, 7);
    assert_ok(sinew_frame_reader_open_from(&source, NULL, &reader, &error));
    sinew_frame_reader_close(reader);
    clear(&s);
    sinew_rig_destroy(rig);
}

static void contents_are_the_same_from_memory_and_streams(void **state) {
    (void)state;
    static const char *const names[] = {"a.glb", "a.fbx", "a.usda"};
    sinew_rig *rig = sample();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        shelf s = {0};
        char path[300];
        sinew_sink sink = to_shelf(&s, names[i]);
        sinew_contents *file, *other;
        snprintf(path, sizeof path, "%s/%s", test_folder(), names[i]);
        assert_ok(sinew_rig_write(path, rig, &error));
        assert_ok(sinew_rig_write_to(&sink, rig, NULL, &error));
        assert_ok(sinew_contents_read(path, NULL, &file, &error));
        for (int stream = 0; stream < 2; stream++) {
            sinew_source source = stream ? in_a_stream(&s, 1000) : in_memory(&s, 0);
            assert_ok(sinew_contents_read_from(&source, NULL, &other, &error));
            assert_int_equal(sinew_contents_count(other), sinew_contents_count(file));
            assert_true(sinew_contents_unit(other) == sinew_contents_unit(file));
            for (int k = 0; k < sinew_contents_count(file); k++) {
                sinew_contents_item a = {.size = sizeof a}, b = {.size = sizeof b};
                assert_ok(sinew_contents_get(file, k, &a));
                assert_ok(sinew_contents_get(other, k, &b));
                assert_string_equal(a.name, b.name), assert_string_equal(a.detail, b.detail);
            }
            sinew_contents_destroy(other);
        }
        sinew_contents_destroy(file);
        clear(&s);
    }
    sinew_source nothing = {.size = sizeof nothing, .name = "a.glb", .bytes = "", .byte_count = 0};
    sinew_contents *none;
    assert_int_equal(sinew_contents_read_from(&nothing, NULL, &none, &error), SINEW_BAD_INPUT);
    assert_null(none);
    sinew_rig_destroy(rig);
}

/* ---- limits and cancelling ---- */

typedef struct patience {
    int polls, left;
} patience;

static bool impatient(void *user) {
    patience *p = user;
    return p->polls++ >= p->left;
}

static void a_reader_keeps_its_limit_of_memory(void **state) {
    (void)state;
    static const char *const names[] = {"a.obj", "a.ply", "a.glb", "a.fbx"};
    sinew_rig *rig = sample();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        shelf s = {0};
        sinew_sink sink = to_shelf(&s, names[i]);
        assert_ok(i < 2 ? sinew_mesh_write_to(&sink, rig->neutral, NULL, &error)
                        : sinew_rig_write_to(&sink, rig, NULL, &error));
        sinew_source source = in_memory(&s, 0);
        sinew_mesh *mesh;
        size_t refused = 0, limit = 1000;
        for (;; limit *= 2) {
            source.memory_limit = limit;
            sinew_status status = sinew_mesh_read_from(&source, NULL, &mesh, &error);
            if (status == SINEW_OK) break;
            assert_int_equal(status, SINEW_NO_MEMORY);
            assert_non_null(strstr(error.message, "the limit of this call"));
            assert_null(mesh);
            refused++;
        }
        assert_true(refused > 3);
        assert_true(limit < 40 * (s.sizes[0] + 100000)); /* in proportion to the file */
        sinew_mesh_destroy(mesh);
        source.memory_limit = 0;
        assert_ok(sinew_mesh_read_from(&source, NULL, &mesh, &error));
        sinew_mesh_destroy(mesh);
        clear(&s);
    }
    sinew_rig_destroy(rig);
}

/* A grid of about a million numbers as text. */
static char *large_obj(size_t *size) {
    enum { N = 300 };
    char *text = SN_NEW(char, 64 * N * N * 2), *at = text;
    for (int i = 0; i < N * N; i++) at += sprintf(at, "v %d.5 %d.25 0\n", i % N, i / N);
    for (int i = 0; i < N - 1; i++)
        for (int j = 0; j < N - 1; j++)
            at += sprintf(at, "f %d %d %d\n", i * N + j + 1, i * N + j + 2, i * N + j + N + 1);
    *size = (size_t)(at - text);
    return text;
}

static void a_cancelled_reader_leaves_nothing(void **state) {
    (void)state;
    shelf s = {.count = 1, .names = {"large.obj"}};
    s.bytes[0] = large_obj(&s.sizes[0]);
    sinew_mesh *mesh;
    int cancelled = 0, total = 0;
    sn_poll_always(true);
    for (int left = 0;; left = left < 4 ? left + 1 : 2 * left) {
        patience p = {.left = left};
        sinew_monitor monitor = {.cancelled = impatient, .user = &p};
        sinew_source source = in_memory(&s, 0);
        sinew_status status = sinew_mesh_read_from(&source, &monitor, &mesh, &error);
        total = p.polls;
        if (status == SINEW_OK) break;
        assert_int_equal(status, SINEW_CANCELLED);
        assert_null(mesh);
        cancelled++;
    }
    sn_poll_always(false);
    assert_true(cancelled >= 3);
    assert_true(total >= 3);
    /* writing, too */
    for (int left = 0; left < 2; left++) {
        patience p = {.left = left};
        sinew_monitor monitor = {.cancelled = impatient, .user = &p};
        shelf out = {0};
        sinew_sink sink = to_shelf(&out, "copy.obj");
        assert_int_equal(sinew_mesh_write_to(&sink, mesh, &monitor, &error), SINEW_CANCELLED);
        assert_int_equal(out.count, 0);
    }
    char path[300];
    snprintf(path, sizeof path, "%s/cancelled.obj", test_folder());
    patience p = {.left = 1};
    sinew_monitor monitor = {.cancelled = impatient, .user = &p};
    sinew_sink file = {.size = sizeof file, .name = path};
    assert_int_equal(sinew_mesh_write_to(&file, mesh, &monitor, &error), SINEW_CANCELLED);
    assert_false(sn_file_exists(path));
    sinew_mesh_destroy(mesh);
    clear(&s);
}

static sinew_status broken(void *buffer, size_t capacity, size_t *count, void *user,
                           sinew_error *e) {
    (void)buffer, (void)capacity, (void)count, (void)user;
    return sinew_fail(e, SINEW_IO, "the line is cut");
}

static void mistakes_are_refused(void **state) {
    (void)state;
    sinew_mesh *mesh;
    sinew_source source = {.size = sizeof source, .name = "a.obj", .read = broken};
    assert_int_equal(sinew_mesh_read_from(&source, NULL, &mesh, &error), SINEW_IO);
    assert_string_equal(error.message, "the line is cut");
    source.read = NULL;
    source.name = NULL;
    assert_int_equal(sinew_mesh_read_from(&source, NULL, &mesh, &error), SINEW_MISUSE);
    source = (sinew_source){.name = "a.obj"};
    assert_int_equal(sinew_mesh_read_from(&source, NULL, &mesh, &error), SINEW_MISUSE);
    assert_int_equal(sinew_mesh_read_from(NULL, NULL, &mesh, &error), SINEW_MISUSE);
    source = (sinew_source){.size = sizeof source, .name = "missing/a.obj"};
    assert_int_equal(sinew_mesh_read_from(&source, NULL, &mesh, &error), SINEW_IO);
    source = (sinew_source){.size = sizeof source, .name = "a.obj", .bytes = "", .byte_count = 0};
    sinew_status status = sinew_mesh_read_from(&source, NULL, &mesh, &error);
    assert_int_equal(status, SINEW_BAD_INPUT); /* empty, and not looked for on disk */
    sinew_rig *rig = sample();
    shelf s = {0};
    sinew_sink sink = to_shelf(&s, "folder");
    assert_int_equal(sinew_rig_write_to(&sink, rig, NULL, &error), SINEW_BAD_INPUT);
    assert_int_equal(s.count, 0);
    sinew_rig_destroy(rig);
}

static void the_table_of_formats_tells_what_is_read_and_written(void **state) {
    (void)state;
    int count = sinew_format_count();
    assert_true(count > 10);
    unsigned reads = 0, writes = 0;
    for (int i = 0; i < count; i++) {
        sinew_format_info info = {.size = sizeof info};
        assert_int_equal(sinew_format_get_info(i, &info), SINEW_OK);
        assert_true(info.name && info.endings && info.reads | info.writes);
        reads |= info.reads, writes |= info.writes;
        if (!strcmp(info.name, "OBJ")) assert_true(info.reads & SINEW_CONTENT_MESH);
        if (!strcmp(info.name, "PC2")) assert_true(info.streams_frames);
    }
    assert_int_equal(reads, 127);
    assert_int_equal(writes, 63);
    sinew_format_info info = {.size = sizeof info};
    assert_int_equal(sinew_format_get_info(count, &info), SINEW_MISUSE);
}

int test_sources(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes_and_rigs_are_the_same_from_anywhere),
        cmocka_unit_test(a_rig_may_come_from_several_sources),
        cmocka_unit_test(files_that_belong_to_a_source_are_asked_for),
        cmocka_unit_test(tables_and_frames_are_read_from_memory),
        cmocka_unit_test(contents_are_the_same_from_memory_and_streams),
        cmocka_unit_test(a_reader_keeps_its_limit_of_memory),
        cmocka_unit_test(a_cancelled_reader_leaves_nothing),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(the_table_of_formats_tells_what_is_read_and_written),
    };
    return cmocka_run_group_tests_name("sources", tests, NULL, NULL);
}
