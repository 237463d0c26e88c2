/* Every writer gives a sink the bytes that it writes to a file; and the table of drivers. */
#include "support.h"

#include <jansson.h>

#include "base/file.h"
#include "base/memory.h"
#include "groups.h"
#include "helpers.h"
#include "sinew/sinew.h"

static sinew_error error;

/* What a writer may be asked for. */
typedef struct goods {
    sinew_rig *rig;
    sinew_tets *tets;
    sinew_curves *curves;
    sinew_markers *markers;
    sinew_marker_map *map;
    double *values;
} goods;

static goods make_goods(void) {
    goods g;
    sinew_sample_options size = {.size = sizeof size, .vertices = 1000};
    assert_ok(sinew_sample_rig("bar", &size, &g.rig, &error));
    assert_ok(sinew_rig_add_region(g.rig, "some", 2, (const int[]){1, 5}, &error));
    assert_ok(sinew_tets_create(4, (const double[]){0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, 4, 1,
                                (const int[]){0, 1, 2, 3}, &g.tets, &error));
    assert_ok(sinew_curves_create(1, 3, &g.curves, &error));
    assert_ok(sinew_curves_set_name(g.curves, 0, sinew_rig_slider_name(g.rig, 0), &error));
    sinew_curves_set_times(g.curves, (const double[]){0, 0.5, 1});
    sinew_curves_set_values(g.curves, (const double[]){0, 1, 0.25});
    size.vertices = 1000;
    assert_ok(sinew_sample_markers("face", &size, NULL, &g.markers, &g.map, &error));
    g.values = calloc((size_t)g.rig->neutral->vertex_count, sizeof *g.values);
    g.values[3] = 0.5;
    return g;
}

static void free_goods(goods *g) {
    sinew_rig_destroy(g->rig), sinew_tets_destroy(g->tets), sinew_curves_destroy(g->curves);
    sinew_markers_destroy(g->markers), sinew_marker_map_destroy(g->map), free(g->values);
}

/* One writer: to a path, or, when there is a sink, to that. */
typedef sinew_status writer(const goods *g, const char *path, const sinew_sink *sink,
                            const sinew_monitor *monitor);

#define WRITER(kind, ...)                                                                          \
    static sinew_status write_##kind(const goods *g, const char *path, const sinew_sink *sink,     \
                                     const sinew_monitor *monitor) {                               \
        return sink ? sinew_##kind##_write_to(sink, __VA_ARGS__, monitor, &error)                  \
                    : sinew_##kind##_write(path, __VA_ARGS__, &error);                             \
    }
WRITER(mesh, g->rig->neutral)
WRITER(rig, g->rig)
WRITER(curves, g->curves)
WRITER(markers, g->markers)
WRITER(tets, g->tets)
WRITER(drivers, g->rig)
WRITER(regions, g->rig)
WRITER(marker_map, g->map)
WRITER(vertex_values, g->rig->neutral->vertex_count, g->values)

static sinew_status write_animated(const goods *g, const char *path, const sinew_sink *sink,
                                   const sinew_monitor *monitor) {
    return sink ? sinew_rig_write_animated_to(sink, g->rig, g->curves, monitor, &error)
                : sinew_rig_write_animated(path, g->rig, g->curves, &error);
}

/* Two frames of the neutral; a sequence of files cannot go to a sink. */
static sinew_status write_two_frames(const goods *g, const char *path, const sinew_sink *sink,
                                     const sinew_monitor *monitor) {
    sinew_frame_writer *made;
    const sinew_mesh *mesh = g->rig->neutral;
    sinew_status status = sink ? sinew_frame_writer_open_to(sink, mesh, 2, 0, 30, &made, &error)
                               : sinew_frame_writer_open(path, mesh, 2, 0, 30, &made, &error);
    if (status != SINEW_OK) return status;
    for (int k = 0; k < 2; k++) assert_ok(sinew_frame_writer_add(made, mesh->positions, &error));
    return sinew_frame_writer_finish(made, monitor, &error);
}

static const struct {
    writer *write;
    const char *name;
} writers[] = {
    {write_mesh, "a.obj"},          {write_mesh, "a.ply"},       {write_mesh, "a.off"},
    {write_rig, "a.glb"},           {write_rig, "a.fbx"},        {write_rig, "a.usda"},
    {write_curves, "a.csv"},        {write_markers, "b.csv"},    {write_markers, "b.trc"},
    {write_tets, "a.mesh"},         {write_drivers, "a.json"},   {write_regions, "r.json"},
    {write_marker_map, "m.csv"},    {write_animated, "c.glb"},   {write_animated, "c.usda"},
    {write_vertex_values, "v.csv"}, {write_two_frames, "f.pc2"}, {write_two_frames, "f.mdd"},
    {write_two_frames, "f.usda"},   {write_two_frames, "f.glb"},
};

typedef struct received {
    char name[64];
    char *bytes;
    size_t size;
    int files;
} received;

static sinew_status receive(const char *name, const void *bytes, size_t size, void *user,
                            sinew_error *e) {
    (void)e;
    received *r = user;
    snprintf(r->name, sizeof r->name, "%s", name);
    r->bytes = sn_memdup(bytes, size, 1), r->size = size, r->files++;
    return SINEW_OK;
}

static sinew_status refuse(const char *name, const void *bytes, size_t size, void *user,
                           sinew_error *e) {
    (void)bytes, (void)size, (void)user;
    return sinew_fail(e, SINEW_IO, "%s: the sink is full", name);
}

static void sinks_receive_the_bytes_of_files(void **state) {
    (void)state;
    goods g = make_goods();
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        const char *path = temporary(writers[i].name);
        received r = {.files = 0};
        sinew_sink sink = {
            .size = sizeof sink, .name = writers[i].name, .write = receive, .user = &r};
        char *bytes;
        size_t size;
        assert_ok(writers[i].write(&g, path, NULL, NULL));
        assert_ok(writers[i].write(&g, NULL, &sink, NULL));
        assert_ok(sn_file_read(path, &bytes, &size, &error));
        assert_int_equal(r.files, 1);
        assert_string_equal(r.name, writers[i].name);
        if (r.size != size || memcmp(r.bytes, bytes, size)) fail_msg("%s differs", r.name);
        sn_free(bytes), sn_free(r.bytes);
    }
    free_goods(&g);
}

static void a_sequence_of_files_needs_a_folder(void **state) {
    (void)state;
    goods g = make_goods();
    sinew_sink sink = {.size = sizeof sink, .name = "f.####.obj", .write = refuse};
    assert_int_equal(write_two_frames(&g, NULL, &sink, NULL), SINEW_BAD_INPUT);
    free_goods(&g);
}

static bool always(void *user) {
    (void)user;
    return true;
}

static void a_sink_may_refuse_and_a_host_may_cancel(void **state) {
    (void)state;
    goods g = make_goods();
    const sinew_monitor stop = {.cancelled = always};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        sinew_sink sink = {.size = sizeof sink, .name = writers[i].name, .write = refuse};
        assert_int_equal(writers[i].write(&g, NULL, &sink, NULL), SINEW_IO);
        assert_non_null(strstr(error.message, "the sink is full"));
        received r = {.files = 0};
        sink.write = receive, sink.user = &r;
        assert_int_equal(writers[i].write(&g, NULL, &sink, &stop), SINEW_CANCELLED);
        assert_int_equal(r.files, 0);
        sink.name = NULL;
        assert_int_equal(writers[i].write(&g, NULL, &sink, NULL), SINEW_MISUSE);
    }
    free_goods(&g);
}

/* ---- drivers --------------------------------------------------------------------------------- */

static void the_table_of_drivers_lists_sliders_and_rules(void **state) {
    (void)state;
    static const char expected[] =
        "{\"format\": \"sinew-drivers\", \"version\": 1, \"targets\": "
        "[\"a\", \"b\", \"a half\", \"a low\", "
        "\"times\", \"least\", \"soft\", \"curve\", \"touch\"], \"sliders\": "
        "[{\"name\": \"a\", \"rest\": 0.0, \"knots\": "
        "[{\"at\": -0.5, \"target\": \"a low\"}, {\"at\": 0.5, "
        "\"target\": \"a half\"}, {\"at\": 1.0, "
        "\"target\": \"a\"}]}, {\"name\": \"b\", \"rest\": 0.0, "
        "\"knots\": [{\"at\": 1.0, \"target\": \"b\"}]}], "
        "\"combinations\": [{\"target\": \"times\", \"rule\": "
        "\"multiply\", \"drivers\": [\"a\", \"b\"]}, "
        "{\"target\": \"least\", \"rule\": \"lowest\", \"drivers\": "
        "[\"b\", \"a\"]}, {\"target\": \"soft\", "
        "\"rule\": \"smooth_lowest\", \"drivers\": [\"a\", \"b\"]}, "
        "{\"target\": \"curve\", \"rule\": "
        "\"polynomial\", \"drivers\": [\"a\", \"b\"], \"terms\": [[0.5, "
        "[0, 3]], [-1.5, [0, 1], [1, 2]]]}, {\"target\": \"touch\", "
        "\"rule\": \"hinge\", \"drivers\": [\"a\", \"b\"], \"terms\": "
        "[[0.5, [0, 3]], [-1.5, [0, 1], [1, 2]]]}]}";
    const double points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, delta[] = {0, 0, 1};
    const int face[] = {0, 1, 2}, v[] = {1}, both[] = {0, 1}, turned[] = {1, 0};
    const sinew_term terms[] = {{0.5, {0}, {3}}, {-1.5, {0, 1}, {1, 2}}};
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(3, points, 1, NULL, face, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "a", 1, v, delta, &error));
    assert_ok(sinew_rig_add_target(rig, "b", 1, v, delta, &error));
    assert_ok(sinew_rig_add_inbetween(rig, "a half", 0, 0.5, 1, v, delta, &error));
    assert_ok(sinew_rig_add_inbetween(rig, "a low", 0, -0.5, 1, v, delta, &error));
    assert_ok(sinew_rig_add_combination(rig, "times", SINEW_COMBINE_MULTIPLY, 2, both, 1, v, delta,
                                        &error));
    assert_ok(sinew_rig_add_combination(rig, "least", SINEW_COMBINE_LOWEST, 2, turned, 1, v, delta,
                                        &error));
    assert_ok(sinew_rig_add_combination(rig, "soft", SINEW_COMBINE_SMOOTH_LOWEST, 2, both, 1, v,
                                        delta, &error));
    assert_ok(sinew_rig_add_polynomial(rig, "curve", 2, both, 2, terms, 1, v, delta, &error));
    assert_ok(sinew_rig_add_hinge(rig, "touch", 2, both, 2, terms, 1, v, delta, &error));
    assert_ok(sinew_drivers_write(temporary("drivers.json"), rig, &error));
    json_t *wanted = json_loads(expected, 0, NULL);
    json_t *found = json_load_file(temporary("drivers.json"), 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(wanted, found)) fail_msg("%s", json_dumps(found, 0));
    json_decref(wanted), json_decref(found);
    sinew_rig_destroy(rig);
}

int test_sinks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sinks_receive_the_bytes_of_files),
        cmocka_unit_test(a_sequence_of_files_needs_a_folder),
        cmocka_unit_test(a_sink_may_refuse_and_a_host_may_cancel),
        cmocka_unit_test(the_table_of_drivers_lists_sliders_and_rules),
    };
    return cmocka_run_group_tests_name("sinks", tests, NULL, NULL);
}
