/* Meshes nobody would draw, and memory that runs out: every call returns with a status. */
#include "support.h"

#include "base/memory.h"
#include "groups.h"
#include "mesh/intersection.h"
#include "shapes.h"
#include "sinew/cage.h"
#include "sinew/check.h"
#include "sinew/query.h"

/* Triangles between random vertices of a coarse grid: collapsed, repeated, crossing, coplanar. */
static sinew_mesh *soup(uint64_t *seed, int vertices, int triangles) {
    double positions[3 * 64];
    int corners[3 * 64];
    for (int i = 0; i < 3 * vertices; i++) positions[i] = floor(2.5 * test_random(seed));
    for (int c = 0; c < 3 * triangles; c++)
        corners[c] = (int)((test_random(seed) * 0.5 + 0.5) * vertices);
    return shape_from(vertices, positions, triangles, corners);
}

static void random_soups_are_survived(void **state) {
    (void)state;
    uint64_t seed = 31;
    for (int round = 0; round < 150; round++) {
        sinew_error error;
        sinew_mesh *mesh = soup(&seed, 3 + round % 40, 1 + round % 61);
        sinew_check *check;
        assert_ok(sinew_check_mesh(mesh, NULL, NULL, &check, &error));
        assert_true(isfinite(check->area) && isfinite(check->volume));
        sinew_check_destroy(check);
        sinew_query *query;
        assert_ok(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                     mesh->triangles, &query, &error));
        for (int i = 0; i < 10; i++) {
            double p[3] = {3 * test_random(&seed), 3 * test_random(&seed), floor(i / 4.0)};
            const double along[3] = {0, 0, 1};
            sinew_closest closest;
            assert_true(sinew_query_closest(query, p, INFINITY, &closest));
            assert_true(isfinite(closest.distance));
            sinew_query_ray(query, p, along, INFINITY, &closest);
            sinew_query_inside(query, p);
        }
        sinew_query_destroy(query);
        sinew_tets *tets;
        sinew_status status = sinew_tets_from_surface(mesh, NULL, NULL, &tets, &error);
        assert_true(status == SINEW_OK || status == SINEW_BAD_INPUT || status == SINEW_UNAVAILABLE);
        sinew_tets_destroy(tets);
        sinew_cage *cage;
        sinew_cage_options options;
        sinew_cage_options_init(&options);
        options.cell = 0.1;
        status = sinew_cage_create(mesh, &options, NULL, &cage, &error);
        assert_true(status == SINEW_OK || status == SINEW_BAD_INPUT);
        if (status == SINEW_OK && round % 10 == 0) {
            sinew_cage_fit *fit;
            sinew_cage_pose *pose;
            assert_ok(sinew_cage_fit_create(cage, mesh, NULL, &fit, &error));
            for (int i = 0; i < 3 * mesh->vertex_count; i++)
                mesh->positions[i] += 2 * test_random(&seed);
            assert_ok(sinew_cage_fit_pose(fit, mesh->positions, NULL, &pose, &error));
            assert_true(isfinite(pose->leftover_max));
            sinew_cage_pose_destroy(pose);
            sinew_cage_fit_destroy(fit);
        }
        sinew_cage_destroy(cage);
        sinew_mesh_destroy(mesh);
    }
}

static void extreme_sizes_are_survived(void **state) {
    (void)state;
    static const double sizes[] = {1e-300, 1e-100, 1e-30, 1e30, 1e100, 1e300};
    for (int s = 0; s < 6; s++) {
        sinew_error error;
        sinew_mesh *mesh = shape_torus(8, 5);
        for (int i = 0; i < 3 * mesh->vertex_count; i++) mesh->positions[i] *= sizes[s];
        sinew_check *check;
        assert_ok(sinew_check_mesh(mesh, NULL, NULL, &check, &error));
        assert_int_equal(check->vertex_count, 40);
        sinew_check_destroy(check);
        sinew_query *query;
        assert_ok(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                     mesh->triangles, &query, &error));
        sinew_closest closest;
        sinew_query_closest(query, (double[3]){0, 0, 0}, INFINITY, &closest);
        sinew_query_inside(query, mesh->positions);
        sinew_query_destroy(query);
        sinew_cage *cage = NULL;
        sinew_cage_options options;
        sinew_cage_options_init(&options);
        options.cell = 0.1;
        sinew_status status = sinew_cage_create(mesh, &options, NULL, &cage, &error);
        assert_true(status == SINEW_OK || status == SINEW_BAD_INPUT);
        sinew_cage_destroy(cage);
        sinew_mesh_destroy(mesh);
    }
}

/* ---- memory ---- */

static sinew_mesh *body; /* made with the usual allocator */

static sinew_status mesh_job(void *user) {
    (void)user;
    sinew_mesh *mesh = NULL, *copy = NULL;
    sinew_status status = sinew_mesh_create(body->vertex_count, body->positions, body->face_count,
                                            body->face_start, body->face_vertices, &mesh, NULL);
    if (status == SINEW_OK) status = sinew_mesh_copy(mesh, &copy, NULL);
    sinew_mesh_destroy(mesh), sinew_mesh_destroy(copy);
    return status;
}

static sinew_status check_job(void *user) {
    (void)user;
    sinew_check *check = NULL;
    sinew_status status = sinew_check_mesh(body, NULL, NULL, &check, NULL);
    sinew_check_destroy(check);
    return status;
}

static sinew_status query_job(void *user) {
    (void)user;
    sinew_query *query = NULL;
    sinew_status status = sinew_query_create(body->vertex_count, body->positions,
                                             body->triangle_count, body->triangles, &query, NULL);
    sinew_query_destroy(query);
    return status;
}

static sinew_status cage_job(void *user) {
    (void)user;
    sinew_cage *cage = NULL;
    sinew_cage_fit *fit = NULL;
    sinew_cage_pose *pose = NULL;
    sinew_cage_options options;
    sinew_cage_options_init(&options);
    options.cell = 0.2;
    sinew_status status = sinew_cage_create(body, &options, NULL, &cage, NULL);
    if (status == SINEW_OK) status = sinew_cage_fit_create(cage, body, NULL, &fit, NULL);
    if (status == SINEW_OK) status = sinew_cage_fit_pose(fit, body->positions, NULL, &pose, NULL);
    sinew_cage_pose_destroy(pose);
    sinew_cage_fit_destroy(fit);
    sinew_cage_destroy(cage);
    return status;
}

/* Everything but the mesher's own run, whose stand-in refuses. */
static sinew_status tets_job(void *user) {
    (void)user;
    sinew_tets_options options;
    sinew_tets_options_init(&options);
    options.program = "/bin/false";
    sinew_tets *tets = NULL;
    sinew_error error = {0};
    sinew_status status = sinew_tets_from_surface(body, &options, NULL, &tets, &error);
    bool reached = status == SINEW_UNAVAILABLE && strstr(error.message, "exit status 1");
    /* without memory for its name the program counts as missing */
    if (status == SINEW_UNAVAILABLE) status = SINEW_NO_MEMORY;
    return reached ? SINEW_OK : status;
}

static void memory_that_runs_out_is_a_status(void **state) {
    (void)state;
    body = shape_bar(1, 2);
    test_out_of_memory(mesh_job, NULL);
    test_out_of_memory(check_job, NULL);
    test_out_of_memory(query_job, NULL);
    test_out_of_memory(cage_job, NULL);
    test_out_of_memory(tets_job, NULL);
    sinew_mesh_destroy(body);
}

int test_hostile(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_soups_are_survived),
        cmocka_unit_test(extreme_sizes_are_survived),
        cmocka_unit_test(memory_that_runs_out_is_a_status),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
