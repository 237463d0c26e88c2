#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "groups.h"
#include "mesh/laplacian.h"
#include "shapes.h"
#include "sinew/io.h"
#include "sinew/tets.h"

static bool no_mesher(void) {
    char *program;
    bool missing = !sn_find_program("tetgen", &program) || !program;
    sn_free(program);
    if (missing) print_message("SKIP tetgen is not installed\n");
    return missing;
}

static double solid_volume(const sinew_tets *tets) {
    double *volumes = malloc(sizeof(double) * (size_t)tets->tet_count), sum = 0;
    sn_tet_volumes(tets->positions, tets->tet_count, tets->tets, volumes);
    for (int t = 0; t < tets->tet_count; t++) {
        assert_true(volumes[t] > 0);
        sum += volumes[t];
    }
    free(volumes);
    return sum;
}

/* Every triangle of the surface is a side of a tet: brute force over sorted keys. */
static int compare_keys(const void *a, const void *b) {
    return memcmp(a, b, 3 * sizeof(int));
}
static void sort3(int *v) {
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (v[j] > v[j + 1]) {
                int swap = v[j];
                v[j] = v[j + 1], v[j + 1] = swap;
            }
}
static void assert_keeps_surface(const sinew_mesh *mesh, const sinew_tets *tets) {
    assert_int_equal(tets->surface_count, mesh->vertex_count);
    assert_memory_equal(tets->positions, mesh->positions,
                        3 * sizeof(double) * (size_t)mesh->vertex_count);
    int *keys = malloc(sizeof(int) * 12 * (size_t)tets->tet_count);
    for (int t = 0; t < tets->tet_count; t++)
        for (int k = 0; k < 4; k++) {
            int *key = keys + 3 * (4 * t + k);
            for (int i = 0; i < 3; i++) key[i] = tets->tets[4 * t + (k + 1 + i) % 4];
            sort3(key);
        }
    qsort(keys, 4 * (size_t)tets->tet_count, 3 * sizeof(int), compare_keys);
    for (int t = 0; t < mesh->triangle_count; t++) {
        int key[3] = {mesh->triangles[3 * t], mesh->triangles[3 * t + 1],
                      mesh->triangles[3 * t + 2]};
        sort3(key);
        assert_non_null(
            bsearch(key, keys, 4 * (size_t)tets->tet_count, 3 * sizeof(int), compare_keys));
    }
    free(keys);
}

static void solids_are_filled_and_keep_their_surface(void **state) {
    (void)state;
    if (no_mesher()) skip();
    sinew_mesh *meshes[] = {
        shape_sphere(8), shape_torus(24, 10), shape_bar(3, 3),
        shape_join(shape_sphere(4), shape_torus(20, 8), 5, 0, 0) /* two parts */
    };
    for (int i = 0; i < 4; i++)
        for (int inner = 0; inner < 2; inner++) {
            sinew_error error;
            sinew_tets_options options;
            sinew_tets_options_init(&options);
            options.interior_points = inner;
            options.cell_size = inner && i == 2 ? 0.2 : 0;
            sinew_tets *tets;
            assert_ok(sinew_tets_from_surface(meshes[i], &options, NULL, &tets, &error));
            assert_keeps_surface(meshes[i], tets);
            assert_close(solid_volume(tets), shape_volume(meshes[i]), 1e-9);
            if (inner && i == 2) assert_true(tets->tet_count > 3 * 600);
            sinew_tets_destroy(tets);
            if (inner) sinew_mesh_destroy(meshes[i]);
        }
}

static sinew_mesh *scaled_sphere(double size, bool inward) {
    sinew_mesh *mesh = shape_sphere(5);
    for (int i = 0; i < 3 * mesh->vertex_count; i++) mesh->positions[i] *= size;
    for (int t = 0; inward && t < mesh->triangle_count; t++) {
        int swap = mesh->triangles[3 * t];
        mesh->triangles[3 * t] = mesh->triangles[3 * t + 1];
        mesh->triangles[3 * t + 1] = swap;
    }
    return mesh;
}

static void cavities_stay_empty_and_nested_parts_are_filled(void **state) {
    (void)state;
    if (no_mesher()) skip();
    for (int inward = 0; inward < 2; inward++) {
        sinew_error error;
        sinew_mesh *mesh = shape_join(shape_sphere(6), scaled_sphere(0.5, inward), 0, 0, 0);
        sinew_mesh *whole = shape_sphere(6), *core = scaled_sphere(0.5, false);
        sinew_tets *tets;
        assert_ok(sinew_tets_from_surface(mesh, NULL, NULL, &tets, &error));
        assert_keeps_surface(mesh, tets);
        assert_close(solid_volume(tets), shape_volume(whole) - (inward ? shape_volume(core) : 0),
                     1e-9);
        sinew_tets_destroy(tets);
        sinew_mesh_destroy(mesh), sinew_mesh_destroy(whole), sinew_mesh_destroy(core);
    }
}

static void small_holes_are_closed_for_meshing_only(void **state) {
    (void)state;
    if (no_mesher()) skip();
    sinew_error error;
    sinew_mesh *mesh = shape_sphere(8);
    mesh->triangle_count -= 5;
    sinew_tets *tets;
    assert_ok(sinew_tets_from_surface(mesh, NULL, NULL, &tets, &error));
    assert_keeps_surface(mesh, tets);
    sinew_tets_destroy(tets);
    sinew_tets_options options;
    sinew_tets_options_init(&options);
    options.hole_edges = 0;
    assert_int_equal(sinew_tets_from_surface(mesh, &options, NULL, &tets, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "open"));
    sinew_mesh_destroy(mesh);
}

static void unused_vertices_keep_their_index(void **state) {
    (void)state;
    if (no_mesher()) skip();
    sinew_error error;
    sinew_mesh *lone = shape_from(2, (double[]){0.1, 0, 0, 9, 9, 9}, 0, NULL);
    sinew_mesh *mesh = shape_join(lone, shape_sphere(4), 0, 0, 0);
    sinew_tets *tets;
    assert_ok(sinew_tets_from_surface(mesh, NULL, NULL, &tets, &error));
    assert_keeps_surface(mesh, tets);
    for (int c = 0; c < 4 * tets->tet_count; c++) assert_true(tets->tets[c] >= 2);
    sinew_tets_destroy(tets);
    sinew_mesh_destroy(mesh);
}

/* Takes the mesh; the call must come back with bad input that says `word`. */
static void assert_refused(sinew_mesh *mesh, const char *word) {
    sinew_error error = {0};
    sinew_tets *tets;
    assert_int_equal(sinew_tets_from_surface(mesh, NULL, NULL, &tets, &error), SINEW_BAD_INPUT);
    assert_null(tets);
    if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);
    sinew_mesh_destroy(mesh);
}

static void whatever_is_fed_the_process_survives(void **state) {
    (void)state;
    assert_refused(shape_grid(20), "open");
    sinew_mesh *mesh = shape_sphere(4); /* a face twice */
    memcpy(mesh->triangles, mesh->triangles + 3, 3 * sizeof(int));
    assert_refused(mesh, "joins 3 triangles");
    mesh = shape_sphere(4); /* a collapsed face */
    mesh->triangles[0] = mesh->triangles[1];
    assert_refused(mesh, "twice");
    mesh = shape_sphere(4); /* without area */
    for (int k = 0; k < 3; k++)
        mesh->positions[3 * mesh->triangles[0] + k] =
            0.5 * (mesh->positions[3 * mesh->triangles[1] + k] +
                   mesh->positions[3 * mesh->triangles[2] + k]);
    assert_refused(mesh, "area");
    assert_refused(shape_join(shape_sphere(4), shape_sphere(4), 0.7, 0.1, 0.2), "crosses itself");
    assert_refused(shape_join(shape_sphere(4), shape_sphere(4), 0, 0, 0), "same position");
    mesh = shape_sphere(6); /* a vertex pulled through the far side */
    for (int k = 0; k < 3; k++) mesh->positions[k] *= -1.3;
    assert_refused(mesh, "crosses itself");
    assert_refused(shape_from(0, NULL, 0, NULL), "empty");
    assert_refused(shape_from(3, (double[9]){0}, 0, NULL), "empty");
    mesh = shape_sphere(4);
    mesh->positions[5] = NAN;
    assert_refused(mesh, "not finite");
    mesh = shape_sphere(4);
    mesh->triangles[9] = 100001;
    assert_refused(mesh, "100001");
    mesh = shape_sphere(4); /* one face turned */
    int swap = mesh->triangles[0];
    mesh->triangles[0] = mesh->triangles[1], mesh->triangles[1] = swap;
    assert_refused(mesh, "opposite orientations");
    assert_refused(shape_moebius(12), "");
    /* one triangle: closing its hole would give it a back */
    assert_refused(shape_from(3, (double[9]){0, 0, 0, 1, 0, 0, 0, 1, 0}, 1, (int[3]){0, 1, 2}),
                   "same vertices");
}

/* A stand-in for the mesher. */
static const char *script(const char *name, const char *text) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, 0755);
    return path;
}

enum { ENOUGH = 300 }; /* seconds for a script */

static sinew_status mesh_with(const char *program, double seconds, sinew_error *error) {
    sinew_mesh *mesh = shape_sphere(3);
    sinew_tets_options options;
    sinew_tets_options_init(&options);
    options.program = program;
    options.seconds = seconds;
    sinew_tets *tets;
    sinew_status status = sinew_tets_from_surface(mesh, &options, NULL, &tets, error);
    sinew_tets_destroy(tets);
    sinew_mesh_destroy(mesh);
    return status;
}

static void a_failing_mesher_is_a_status(void **state) {
    (void)state;
    sinew_error error;
    assert_int_equal(mesh_with("/nowhere/tetgen", ENOUGH, &error), SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "not installed"));
    assert_int_equal(mesh_with(script("hangs", "#!/bin/sh\nexec sleep 600\n"), 0.3, &error),
                     SINEW_NOT_CONVERGED);
    assert_int_equal(mesh_with(script("crashes", "#!/bin/sh\nkill -SEGV $$\n"), ENOUGH, &error),
                     SINEW_NOT_CONVERGED);
    assert_int_equal(mesh_with(script("refuses", "#!/bin/sh\nexit 3\n"), ENOUGH, &error),
                     SINEW_BAD_INPUT);
    assert_int_equal(mesh_with(script("idles", "#!/bin/sh\nexit 0\n"), ENOUGH, &error),
                     SINEW_BAD_INPUT);
    static const char *const garbage[] = {"",
                                          "x",
                                          "38 3 0 0\n0 0 0",
                                          "-4",
                                          "99999999999 3 0 0",
                                          "1 3 0 0\n0 0 0 0\n",
                                          "38 3 0 0\n0 nan 0 0\n"};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "#!/bin/sh\nd=$(dirname \"$2\")\nprintf '%%s' '%s' > $d/surface.1.node\n"
                 "printf '%%s' '%s' > $d/surface.1.ele\n",
                 garbage[i], garbage[i]);
        /* cut short, as on a full disk, or not a mesh */
        sinew_status status = mesh_with(script("garbage", text), ENOUGH, &error);
        assert_true(status == SINEW_IO || status == SINEW_BAD_INPUT);
    }
    /* right vertices, one tet: the surface is not kept */
    assert_int_equal(
        mesh_with(script("short",
                         "#!/bin/sh\nd=$(dirname \"$2\")\nhead -39 \"$2\" > $d/surface.1.node\n"
                         "printf '1 4 0\\n0 0 1 2 30\\n' > $d/surface.1.ele\n"),
                  ENOUGH, &error),
        SINEW_BAD_INPUT);
}

static bool always(void *user) {
    (void)user;
    return true;
}

static void a_cancelled_mesher_is_stopped_and_leaves_no_folder(void **state) {
    (void)state;
    sinew_error error;
    char folder[300];
    snprintf(folder, sizeof folder, "%s/tmp", test_folder());
    assert_ok(sn_make_folder(folder, &error));
    setenv("TMPDIR", folder, 1);
    sinew_mesh *mesh = shape_sphere(3);
    sinew_tets_options options;
    sinew_tets_options_init(&options);
    options.program = script("waits", "#!/bin/sh\nexec sleep 600\n");
    sinew_monitor monitor = {.cancelled = always};
    sinew_tets *tets;
    assert_int_equal(sinew_tets_from_surface(mesh, &options, &monitor, &tets, &error),
                     SINEW_CANCELLED);
    if (!no_mesher()) {
        assert_ok(sinew_tets_from_surface(mesh, NULL, NULL, &tets, &error));
        sinew_tets_destroy(tets);
    }
    unsetenv("TMPDIR");
    char **names;
    int count;
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    sn_names_free(names, count);
    assert_int_equal(count, 0);
    sinew_mesh_destroy(mesh);
}

static void real_solids_get_tets(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int tets; /* without interior points, as the data's description counts them */
    } solids[] = {{"free/aframe-hand/rest.obj", 4406},
                  {"research/goast-cactus/cactus0.ply", 18820},
                  {"research/sumner-horse/reference.obj", 0}};
    skip_without_data(test_data(solids[0].path));
    if (no_mesher()) skip();
    for (int i = 0; i < 3; i++) {
        if (!test_data(solids[i].path)) continue;
        sinew_error error;
        sinew_mesh *mesh;
        assert_ok(sinew_mesh_read(test_data(solids[i].path), &mesh, &error));
        sinew_tets_options options;
        sinew_tets_options_init(&options);
        options.interior_points = false;
        sinew_tets *tets;
        assert_ok(sinew_tets_from_surface(mesh, &options, NULL, &tets, &error));
        assert_keeps_surface(mesh, tets);
        solid_volume(tets);
        if (solids[i].tets) assert_int_equal(tets->tet_count, solids[i].tets);
        sinew_tets_destroy(tets);
        sinew_mesh_destroy(mesh);
    }
}

int test_tetrahedra(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solids_are_filled_and_keep_their_surface),
        cmocka_unit_test(cavities_stay_empty_and_nested_parts_are_filled),
        cmocka_unit_test(small_holes_are_closed_for_meshing_only),
        cmocka_unit_test(unused_vertices_keep_their_index),
        cmocka_unit_test(whatever_is_fed_the_process_survives),
        cmocka_unit_test(a_failing_mesher_is_a_status),
        cmocka_unit_test(a_cancelled_mesher_is_stopped_and_leaves_no_folder),
        cmocka_unit_test(real_solids_get_tets),
    };
    return cmocka_run_group_tests_name("tetrahedra", tests, NULL, NULL);
}
