#include "support.h"

#include "base/scope.h"
#include "dome.h"
#include "force/inverse_block.h"
#include "groups.h"
#include "sinew/force.h"
#include "sinew/query.h"
#include "sinew/samples.h"
#include "sinew/threads.h"

enum { SIDE = 9, LIP = SIDE * SIDE, COUNT = 2 * LIP };

/* Two grids of SIDE x SIDE vertices, and a target that moves the first by delta. */
static sinew_rig *grids_rig(const double x[3 * COUNT], const double delta[3 * LIP]) {
    sinew_error error = {0};
    int triangles[3 * 2 * 2 * SIDE * SIDE], vertices[LIP];
    int faces = grid_triangles(2, SIDE, triangles);
    for (int v = 0; v < LIP; v++) vertices[v] = v;
    sinew_mesh *mesh;
    sinew_rig *rig;
    assert_ok(sinew_mesh_create(COUNT, x, faces, NULL, triangles, &mesh, &error));
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    assert_ok(sinew_rig_add_target(rig, "press", LIP, vertices, delta, &error));
    return rig;
}

/* Two lips: rounded strips that face each other, and a target that pushes one through the other. */
static sinew_rig *lips_rig(void) {
    double x[3 * COUNT], delta[3 * LIP];
    for (int lip = 0; lip < 2; lip++) {
        int sign = lip ? -1 : 1;
        for (int v = 0; v < LIP; v++) {
            double s = 2.0 * (v % SIDE) / (SIDE - 1) - 1, t = (double)(v / SIDE) / (SIDE - 1);
            double *p = x + 3 * (lip * LIP + v);
            p[0] = s, p[1] = sign * (0.1 + 0.5 * t * t + 0.05 * s * s);
            p[2] = 0.3 * (1 - s * s) * (1 - t) + 0.02 * sin(7 * s + lip);
            double soft = (1 - s * s) * (1 - t) * (1 - t);
            delta[3 * v] = 0, delta[3 * v + 1] = -0.35 * soft, delta[3 * v + 2] = 0.02 * soft;
        }
    }
    return grids_rig(x, delta);
}

static void lips_that_would_cross_press(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = lips_rig();
    sinew_force_options options;
    sinew_force_options_init(&options);
    double x[2][3 * COUNT];
    int crossed = 0, pressing = 0;
    sinew_force *force[2];
    sinew_force_state *made[2];
    for (int with = 0; with < 2; with++) {
        options.contact = with;
        assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force[with], &error));
        assert_ok(sinew_force_state_create(force[with], &made[with], &error));
    }
    for (int f = 0; f < 24; f++) {
        double u = 0.5 - 0.5 * cos(0.26 * f); /* closes and opens */
        sinew_force_frame_info info = {.size = sizeof info};
        for (int with = 0; with < 2; with++)
            assert_ok(
                sinew_force_command(force[with], made[with], &u, x[with], &info, NULL, &error));
        crossed += crossings(rig, x[0]) > 0;
        assert_int_equal(crossings(rig, x[1]), 0);
        pressing += info.contacts > 0;
        if (f == 12) { /* the other lip yields */
            double most = 0;
            for (int i = 3 * LIP; i < 3 * COUNT; i++)
                most = fmax(most, fabs(x[1][i] - rig->neutral->positions[i]));
            assert_true(most > 0.005);
        }
    }
    assert_true(crossed > 5);
    assert_true(pressing > 5);
    /* open again, both are where they would be without */
    assert_below(root_mean_square(x[0], x[1], COUNT), 0.01);
    for (int with = 0; with < 2; with++) {
        sinew_force_state_destroy(made[with]);
        sinew_force_destroy(force[with]);
    }
    sinew_rig_destroy(rig);
}

/* The distance of the lips, at points of the upper one's rim. */
static double opening_of(const sinew_rig *rig, const double *x) {
    sinew_error error = {0};
    sinew_query *query;
    sinew_closest at;
    double nearest = INFINITY;
    int half = rig->neutral->triangle_count / 2;
    assert_ok(sinew_query_create(COUNT, x, half, rig->neutral->triangles + 3 * (size_t)half, &query,
                                 &error));
    enum { POINTS = 16 };
    for (int i = 0; i < (SIDE - 1) * POINTS; i++) {
        double t = (double)(i % POINTS) / POINTS, point[3];
        const double *p = x + 3 * (size_t)(i / POINTS);
        for (int a = 0; a < 3; a++) point[a] = (1 - t) * p[a] + t * p[a + 3];
        if (sinew_query_closest(query, point, nearest, &at)) nearest = at.distance;
    }
    sinew_query_destroy(query);
    return nearest;
}

/* Lips that stick are together while those that do not are apart by less than the length, and are
 * where those are from twice the length on, at any frame rate: what counts is how far they would be
 * apart, not how far they would move within a frame. */
static void moist_lips_part_late(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = lips_rig();
    double diagonal = sinew_diagonal(COUNT, rig->neutral->positions);
    for (int rate = 30; rate <= 120; rate *= 2) {
        sinew_force_options options;
        sinew_force_options_init(&options);
        options.contact = true, options.frame_time = 1.0 / rate;
        double x[2][3 * COUNT], stick = 0.004;
        int together = 0, free_again = 0;
        sinew_force *force[2];
        sinew_force_state *made[2];
        for (int moist = 0; moist < 2; moist++) {
            options.stick = moist ? stick : 0;
            assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force[moist], &error));
            assert_ok(sinew_force_state_create(force[moist], &made[moist], &error));
        }
        for (int f = 0; f <= rate; f++) {
            double t = (double)f / rate;
            double u = t < 0.25 ? 2.8 * t : fmax(0.45, 0.7 - 0.5 * (t - 0.25)); /* opens a little */
            for (int moist = 0; moist < 2; moist++) {
                assert_ok(sinew_force_command(force[moist], made[moist], &u, x[moist], NULL, NULL,
                                              &error));
                assert_int_equal(crossings(rig, x[moist]), 0);
            }
            double dry = opening_of(rig, x[0]), moist = opening_of(rig, x[1]);
            if (t < 0.3) continue;
            if (dry > 0.05 * stick * diagonal && dry < 0.4 * stick * diagonal) {
                assert_below(moist, 0.1 * stick * diagonal);
                together++;
            }
            if (dry > 2.5 * stick * diagonal) {
                assert_below(root_mean_square(x[0], x[1], COUNT), 1e-3);
                free_again++;
            }
        }
        if (!(together >= rate / 30 && free_again >= rate / 10))
            fail_msg("%d Hz: %d frames together, %d free", rate, together, free_again);
        for (int moist = 0; moist < 2; moist++) {
            sinew_force_state_destroy(made[moist]);
            sinew_force_destroy(force[moist]);
        }
    }
    sinew_rig_destroy(rig);
}

/* Two flat sheets, and a target that presses the upper one into the lower one. */
static sinew_rig *sheets_rig(void) {
    double x[3 * COUNT], delta[3 * LIP];
    for (int sheet = 0; sheet < 2; sheet++)
        for (int v = 0; v < LIP; v++) {
            double s = 2.0 * (v % SIDE) / (SIDE - 1) - 1, t = 2.0 * (v / SIDE) / (SIDE - 1) - 1;
            double *p = x + 3 * (sheet * LIP + v);
            p[0] = s + 0.06 * sheet, p[1] = t + 0.04 * sheet, p[2] = sheet ? 0 : 0.1;
            delta[3 * v] = delta[3 * v + 1] = 0;
            delta[3 * v + 2] = -0.2 * fmin(1, 3 * (1 - s * s) * (1 - t * t));
        }
    return grids_rig(x, delta);
}

/* The upper sheet is pushed along the lower one: the middle of it, which presses, is slower with
 * friction than without. */
static void friction_slows_skin_that_slides(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = sheets_rig();
    double slid[2];
    for (int rough = 0; rough < 2; rough++) {
        sinew_force_options options;
        sinew_force_options_init(&options);
        options.contact = true, options.friction = rough ? 2 : 0, options.velocity_kept = 1;
        sinew_force *force;
        sinew_force_state *made;
        static double x[3 * COUNT], pushed[3 * COUNT];
        double u = 0.6;
        sinew_force_frame_info info = {.size = sizeof info};
        assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force, &error));
        assert_ok(sinew_force_state_create(force, &made, &error));
        for (int f = 0; f < 8; f++)
            assert_ok(sinew_force_command(force, made, &u, x, &info, NULL, &error));
        assert_true(info.contacts > 10);
        memset(pushed, 0, sizeof pushed);
        for (int v = 0; v < LIP; v++) pushed[3 * v] = 0.1;
        assert_ok(sinew_force_start(made, x, pushed, &error));
        assert_ok(sinew_force_command(force, made, &u, x, &info, NULL, &error));
        assert_true(info.contacts > 10);
        slid[rough] = 0;
        const double *velocity = sinew_force_velocities(made);
        for (int j = 3; j < 6; j++)
            for (int i = 3; i < 6; i++)
                slid[rough] += velocity[3 * (j * SIDE + i)] - velocity[3 * (LIP + j * SIDE + i)];
        sinew_force_state_destroy(made);
        sinew_force_destroy(force);
    }
    assert_true(slid[0] > 0);
    assert_below(slid[1], 0.7 * slid[0]);
    sinew_rig_destroy(rig);
}

typedef struct questions {
    int asked, until; /* negative: never */
} questions;

static bool stop_there(void *user) {
    questions *q = user;
    return q->asked++ == q->until;
}

/* Contact asks, too, and an answer to any question ends the frame. */
static void contact_can_be_cancelled(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = sheets_rig();
    sinew_force_options options;
    sinew_force_options_init(&options);
    int total[2];
    sn_poll_always(true); /* however fast it is */
    for (int with = 0; with < 2; with++) {
        static double x[3 * COUNT];
        questions q = {0, -1};
        double u = 0.6;
        sinew_monitor monitor = {.cancelled = stop_there, .user = &q};
        sinew_force *force;
        sinew_force_state *made;
        options.contact = with;
        assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force, &error));
        assert_ok(sinew_force_state_create(force, &made, &error));
        assert_ok(sinew_force_start(made, NULL, NULL, &error));
        assert_ok(sinew_force_command(force, made, &u, x, NULL, &monitor, &error));
        total[with] = q.asked;
        for (int until = 0; until < total[with] - 1; until++) {
            q = (questions){0, until};
            assert_ok(sinew_force_start(made, NULL, NULL, &error));
            assert_int_equal(sinew_force_command(force, made, &u, x, NULL, &monitor, &error),
                             SINEW_CANCELLED);
        }
        sinew_force_state_destroy(made);
        sinew_force_destroy(force);
    }
    sn_poll_always(false);
    assert_true(total[1] > total[0]);
    sinew_rig_destroy(rig);
}

static void a_jump_through_in_one_frame_is_caught(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = lips_rig();
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.contact = true;
    sinew_force *force;
    sinew_force_state *made;
    assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force, &error));
    assert_ok(sinew_force_state_create(force, &made, &error));
    double x[3 * COUNT], u = 4; /* far beyond the other lip */
    for (int f = 0; f < 3; f++) {
        assert_ok(sinew_force_command(force, made, &u, x, NULL, NULL, &error));
        assert_int_equal(crossings(rig, x), 0);
    }
    sinew_force_state_destroy(made);
    sinew_force_destroy(force);
    sinew_rig_destroy(rig);
}

/* Closes the lips over a few frames; the last one goes to x. */
typedef struct closing_job {
    sinew_rig *rig;
    double x[3 * COUNT];
} closing_job;

static sinew_status close_lips(void *user) {
    closing_job *job = user;
    sinew_error error = {0};
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.contact = true;
    sinew_force *force = NULL;
    sinew_force_state *made = NULL;
    sinew_status status = sinew_force_create(job->rig, NULL, &options, NULL, &force, &error);
    if (status == SINEW_OK) status = sinew_force_state_create(force, &made, &error);
    for (int f = 0; status == SINEW_OK && f < 6; f++) {
        double u = 0.2 * f;
        status = sinew_force_command(force, made, &u, job->x, NULL, NULL, &error);
    }
    sinew_force_state_destroy(made);
    sinew_force_destroy(force);
    return status;
}

static void contact_has_the_same_bits_for_any_threads(void **state) {
    (void)state;
    closing_job *job[2];
    for (int run = 0; run < 2; run++) {
        job[run] = calloc(1, sizeof *job[run]);
        job[run]->rig = lips_rig();
        sinew_set_threads(run + 1);
        assert_int_equal(close_lips(job[run]), SINEW_OK);
        sinew_rig_destroy(job[run]->rig);
    }
    sinew_set_threads(0);
    assert_memory_equal(job[0]->x, job[1]->x, sizeof job[0]->x);
    free(job[0]), free(job[1]);
}

static void contact_survives_memory_that_runs_out(void **state) {
    (void)state;
    closing_job *job = calloc(1, sizeof *job);
    job->rig = lips_rig();
    assert_true(test_out_of_memory(close_lips, job) > 50);
    sinew_rig_destroy(job->rig);
    free(job);
}

/* A lower lip shrugged and pressed beyond its limits: linear blending pushes it through the other.
 */
static void lips_of_the_sample_face_close_without_crossing(void **state) {
    (void)state;
    enum { FRAMES = 7 };
    static const char *const closing[] = {"mouthShrugLower", "mouthPressLeft", "mouthPressRight"};
    sinew_error error = {0};
    sinew_rig *rig;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    size.vertices = 3000;
    assert_ok(sinew_sample_rig("face", &size, &rig, &error));
    size_t n = (size_t)rig->neutral->vertex_count;
    double *x = malloc(3 * n * sizeof *x);
    double *weights = calloc((size_t)rig->slider_count, sizeof *weights);
    double *command = calloc((size_t)rig->target_count, sizeof *command);
    int region = sinew_rig_find_region(rig, "lips"), most = 0;
    assert_true(region >= 0);
    for (int with = 0; with < 3; with++) { /* none, the region of the lips, everything */
        sinew_force_options options;
        sinew_force_options_init(&options);
        options.contact = with > 0;
        if (with == 1) {
            options.contact_vertices = rig->regions[region].vertices;
            options.contact_count = rig->regions[region].count;
        }
        sinew_force *force;
        sinew_force_state *made;
        assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force, &error));
        assert_ok(sinew_force_state_create(force, &made, &error));
        int pressing = 0;
        for (int f = 0; f < FRAMES; f++) {
            sinew_force_frame_info info = {.size = sizeof info};
            for (int k = 0; k < 3; k++)
                weights[sinew_rig_find_slider(rig, closing[k])] = 1.5 * f / (FRAMES - 1);
            sinew_rig_activations(rig, weights, command);
            assert_ok(sinew_force_command(force, made, command, x, &info, NULL, &error));
            int crossed = crossings(rig, x);
            if (with == 0) most = crossed > most ? crossed : most;
            if (with > 0) assert_int_equal(crossed, 0);
            pressing += info.contacts > 0;
        }
        if (with > 0) assert_true(pressing > 1);
        sinew_force_state_destroy(made);
        sinew_force_destroy(force);
    }
    assert_true(most > 10);
    sinew_rig_destroy(rig);
    free(x), free(weights), free(command);
}

/* A grid's Laplacian plus the identity; its inverse column by column, in double precision. */
static void the_block_of_the_inverse_is_the_inverse(void **state) {
    (void)state;
    enum { GRID = 12, SIZE = GRID * GRID };
    sinew_error error = {0};
    sn_triplets t;
    sn_sparse *matrix;
    sn_cholesky *factor;
    sn_cholesky_work *work;
    sn_inverse_block *block;
    assert_ok(sn_triplets_create(SIZE, SIZE, 5 * SIZE, &t, &error));
    for (int i = 0; i < SIZE; i++) {
        assert_true(sn_triplets_add(&t, i, i, 4.1 + 0.01 * (i % 7)));
        if (i % GRID + 1 < GRID) assert_true(sn_triplets_add(&t, i + 1, i, -1));
        if (i + GRID < SIZE) assert_true(sn_triplets_add(&t, i + GRID, i, -1));
    }
    assert_ok(sn_sparse_from_triplets(&t, true, &matrix, &error));
    assert_ok(sn_cholesky_create(matrix, &factor, &error));
    assert_ok(sn_cholesky_prepare_f32(factor, &error));
    assert_ok(sn_cholesky_work_create(factor, 1, &work, &error));
    assert_ok(sn_inverse_block_create(factor, SIZE, &block, &error));
    /* in three calls of odd sizes, some unknowns twice */
    int asked[] = {3, 77, 78, 3, 140, 12, 13, 14, 99, 77, 5};
    assert_ok(sn_inverse_block_add(block, 3, asked, &error));
    assert_ok(sn_inverse_block_add(block, 1, asked + 3, &error));
    assert_ok(sn_inverse_block_add(block, 7, asked + 4, &error));
    assert_int_equal(block->count, 9);
    for (int k = 0; k < block->count; k++) {
        double column[SIZE] = {0};
        column[block->unknown[k]] = 1;
        assert_int_equal(block->slot[block->unknown[k]], k);
        sn_cholesky_solve(factor, work, 1, column, column);
        for (int i = 0; i < block->count; i++)
            assert_close((double)sn_inverse_block_row(block, i)[k], column[block->unknown[i]],
                         1e-6);
    }
    sn_inverse_block_destroy(block);
    sn_cholesky_work_destroy(work);
    sn_cholesky_destroy(factor);
    sn_sparse_destroy(matrix);
    sn_triplets_free(&t);
}

/* Two sheets that cross each other along a wavy line at rest. */
static sinew_rig *crossed_rig(void) {
    double x[3 * COUNT], delta[3 * LIP];
    for (int sheet = 0; sheet < 2; sheet++)
        for (int v = 0; v < LIP; v++) {
            double s = 2.0 * (v % SIDE) / (SIDE - 1) - 1, t = 2.0 * (v / SIDE) / (SIDE - 1) - 1;
            double *p = x + 3 * (sheet * LIP + v);
            p[0] = s + 0.06 * sheet, p[1] = t + 0.04 * sheet;
            p[2] = sheet ? 0 : 0.06 * (s + 0.75) + 0.03 * sin(5 * t);
            double soft = fmin(1, 3 * (1 - s * s) * (1 - t * t));
            delta[3 * v] = 0.3 * soft, delta[3 * v + 1] = 0.2 * soft;
            delta[3 * v + 2] = -0.3 * soft * s;
        }
    return grids_rig(x, delta);
}

/* How far contact stretches an edge beyond its length at rest and without contact, in times. */
static double worst_stretch(const sinew_rig *rig, const double *without, const double *with) {
    double worst = 0;
    const double *rest = rig->neutral->positions;
    for (int t = 0; t < rig->neutral->triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            const int *v = rig->neutral->triangles + 3 * t;
            int i = v[k], j = v[(k + 1) % 3];
            const double *of[3] = {rest, without, with};
            double length[3];
            for (int s = 0; s < 3; s++)
                length[s] =
                    hypot(hypot(of[s][3 * i] - of[s][3 * j], of[s][3 * i + 1] - of[s][3 * j + 1]),
                          of[s][3 * i + 2] - of[s][3 * j + 2]);
            worst = fmax(worst, length[2] / fmax(length[0], length[1]));
        }
    return worst;
}

static void skin_that_crosses_at_rest_is_left_out_and_no_spike_remains(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = crossed_rig();
    double x[2][3 * COUNT], worst = 0;
    int none = 0;
    sinew_force *force[2];
    sinew_force_state *made[2];
    assert_true(crossings(rig, rig->neutral->positions) > 10);
    for (int with = 0; with < 2; with++) {
        sinew_force_options options;
        sinew_force_options_init(&options);
        options.contact = with, options.contact_length = 0, options.fixed = &none;
        assert_ok(sinew_force_create(rig, NULL, &options, NULL, &force[with], &error));
        assert_ok(sinew_force_state_create(force[with], &made[with], &error));
    }
    sinew_force_info built = {.size = sizeof built};
    assert_ok(sinew_force_get_info(force[1], &built));
    /* the triangles that cross, and those beside them */
    assert_true(built.contact_dropped > crossings(rig, rig->neutral->positions) / 2);
    for (int f = 0; f < 24; f++) {
        double u = 2.5 * sin(0.5 * f);
        sinew_force_frame_info info = {.size = sizeof info};
        for (int with = 0; with < 2; with++)
            assert_ok(
                sinew_force_command(force[with], made[with], &u, x[with], &info, NULL, &error));
        worst = fmax(worst, worst_stretch(rig, x[0], x[1]));
    }
    /* 7 without; lengths without contact are those of another run, so that twice is not exact */
    assert_below(worst, 2.5);
    for (int with = 0; with < 2; with++) {
        sinew_force_state_destroy(made[with]);
        sinew_force_destroy(force[with]);
    }
    sinew_rig_destroy(rig);
}

int test_contact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_of_the_inverse_is_the_inverse),
        cmocka_unit_test(lips_of_the_sample_face_close_without_crossing),
        cmocka_unit_test(contact_has_the_same_bits_for_any_threads),
        cmocka_unit_test(contact_survives_memory_that_runs_out),
        cmocka_unit_test(lips_that_would_cross_press),
        cmocka_unit_test(moist_lips_part_late),
        cmocka_unit_test(skin_that_crosses_at_rest_is_left_out_and_no_spike_remains),
        cmocka_unit_test(friction_slows_skin_that_slides),
        cmocka_unit_test(contact_can_be_cancelled),
        cmocka_unit_test(a_jump_through_in_one_frame_is_caught),
    };
    return cmocka_run_group_tests_name("contact", tests, NULL, NULL);
}
