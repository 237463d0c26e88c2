#include "support.h"

#include "base/rotation.h"
#include "groups.h"
#include "mesh/rotation_lanes.h"
#include "mesh/rotation_strain.h"
#include "shapes.h"
#include "sinew/threads.h"

/* A bar of boxes cut into six tetrahedra each, length along x, centerd on the x axis. */
typedef struct bar {
    int vertex_count, tet_count;
    double *rest, *pose, *result;
    int *tets;
    double length;
} bar;

static bar make_bar(int nx, int ny, int nz, double length, double width) {
    bar b = {.vertex_count = (nx + 1) * (ny + 1) * (nz + 1), .tet_count = 6 * nx * ny * nz};
    b.length = length;
    b.rest = malloc(sizeof(double) * 3 * (size_t)b.vertex_count);
    b.pose = malloc(sizeof(double) * 3 * (size_t)b.vertex_count);
    b.result = calloc(sizeof(double), 3 * (size_t)b.vertex_count);
    b.tets = malloc(sizeof(int) * 4 * (size_t)b.tet_count);
    int at = 0;
    for (int i = 0; i <= nx; i++)
        for (int j = 0; j <= ny; j++)
            for (int k = 0; k <= nz; k++)
                sn_put(b.rest, at++,
                       sn_v3(length * i / nx, width * ((double)j / ny - 0.5),
                             width * ((double)k / nz - 0.5)));
    /* Kuhn: the six monotone paths from one corner of the box to the opposite one. */
    const int paths[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    int *t = b.tets;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++)
                for (int p = 0; p < 6; p++, t += 4) {
                    int c[3] = {i, j, k};
                    for (int corner = 0; corner < 4; corner++) {
                        t[corner] = (c[0] * (ny + 1) + c[1]) * (nz + 1) + c[2];
                        if (corner < 3) c[paths[p][corner]]++;
                    }
                    if (p >= 3) {
                        int swap = t[1];
                        t[1] = t[2], t[2] = swap;
                    }
                }
    return b;
}

static void free_bar(bar *b) {
    free(b->rest), free(b->pose), free(b->result), free(b->tets);
}

static double tet_volume(const double *positions, const int *t) {
    sn_vec3 o = sn_at(positions, t[0]);
    return sn_dot(sn_cross(sn_sub(sn_at(positions, t[1]), o), sn_sub(sn_at(positions, t[2]), o)),
                  sn_sub(sn_at(positions, t[3]), o)) /
           6;
}

static double volume_of(const bar *b, const double *positions, int *flipped) {
    double sum = 0;
    *flipped = 0;
    for (int t = 0; t < b->tet_count; t++) {
        double volume = tet_volume(positions, b->tets + 4 * t);
        sum += volume, *flipped += volume <= 0;
    }
    return sum;
}

static double largest_difference(int count, const double *a, const double *b) {
    double largest = 0;
    for (int i = 0; i < count; i++) largest = fmax(largest, fabs(a[i] - b[i]));
    return largest;
}

/* T of the pose, scaled by s, through T^-1, centers blended likewise. */
static void scaled_pose(const sn_rotation_strain *rs, const double *rest, const double *pose,
                        double s, double *result) {
    sinew_error error;
    sn_rotation_strain_work *work;
    assert_ok(sn_rotation_strain_work_create(rs, &work, &error));
    double *coordinates = malloc(sizeof(double) * SN_RS_SIZE * (size_t)rs->element_count);
    assert_ok(sn_rotation_strain_measure(rs, pose, 0, NULL, coordinates, &error));
    for (int k = 0; k < SN_RS_SIZE * rs->element_count; k++) coordinates[k] *= s;
    double *centers = malloc(sizeof(double) * 6 * (size_t)rs->component_count);
    double *from = centers + 3 * rs->component_count;
    sn_rotation_strain_centers(rs, rest, from);
    sn_rotation_strain_centers(rs, pose, centers);
    for (int k = 0; k < 3 * rs->component_count; k++)
        centers[k] = (1 - s) * from[k] + s * centers[k];
    sn_rotation_strain_rebuild(rs, work, coordinates, centers, result);
    free(coordinates), free(centers);
    sn_rotation_strain_work_destroy(work);
}

static sn_rotation_strain *structure_of(int vertex_count, const double *rest, int corners,
                                        int element_count, const int *elements) {
    sinew_error error;
    sn_rotation_strain *rs;
    assert_ok(sn_rotation_strain_create(vertex_count, rest, corners, element_count, elements, &rs,
                                        &error));
    return rs;
}

static void random_poses_of_tets_come_back(void **state) {
    (void)state;
    uint64_t seed = 7;
    bar b = make_bar(6, 2, 3, 3, 1);
    sn_rotation_strain *rs = structure_of(b.vertex_count, b.rest, 4, b.tet_count, b.tets);
    for (double size = 0; size < 40; size = size * 4 + 0.01) { /* mostly inverted at the end */
        for (int k = 0; k < 3 * b.vertex_count; k++)
            b.pose[k] = 2 * b.rest[k] + size * test_random(&seed);
        scaled_pose(rs, b.rest, b.pose, 1, b.result);
        assert_below(largest_difference(3 * b.vertex_count, b.pose, b.result), 1e-9 * (1 + size));
    }
    sn_rotation_strain_destroy(rs);
    free_bar(&b);
}

static void random_poses_of_triangles_come_back(void **state) {
    (void)state;
    uint64_t seed = 9;
    sinew_mesh *meshes[] = {shape_sphere(6), shape_grid(8), shape_moebius(20), shape_bar(3, 3)};
    for (int m = 0; m < 4; m++) {
        sinew_mesh *mesh = meshes[m];
        sn_rotation_strain *rs = structure_of(mesh->vertex_count, mesh->positions, 3,
                                              mesh->triangle_count, mesh->triangles);
        double *pose = malloc(sizeof(double) * 6 * (size_t)mesh->vertex_count);
        double *result = pose + 3 * mesh->vertex_count;
        for (int k = 0; k < 3 * mesh->vertex_count; k++)
            pose[k] = mesh->positions[k] + test_random(&seed);
        scaled_pose(rs, mesh->positions, pose, 1, result);
        assert_below(largest_difference(3 * mesh->vertex_count, pose, result), 1e-10);
        for (int k = 0; k < 3 * mesh->vertex_count; k++) pose[k] = 0; /* all in one point */
        scaled_pose(rs, mesh->positions, pose, 1, result);
        assert_below(largest_difference(3 * mesh->vertex_count, pose, result), 1e-10);
        free(pose);
        sn_rotation_strain_destroy(rs);
        sinew_mesh_destroy(mesh);
    }
}

static void rest_has_zero_coordinates(void **state) {
    (void)state;
    bar b = make_bar(4, 2, 2, 3, 1);
    sinew_error error;
    sn_rotation_strain *rs = structure_of(b.vertex_count, b.rest, 4, b.tet_count, b.tets);
    double *coordinates = malloc(sizeof(double) * SN_RS_SIZE * (size_t)b.tet_count);
    assert_ok(sn_rotation_strain_measure(rs, b.rest, 0, NULL, coordinates, &error));
    for (int k = 0; k < SN_RS_SIZE * b.tet_count; k++) assert_below(fabs(coordinates[k]), 1e-14);
    free(coordinates);
    sn_rotation_strain_destroy(rs);
    free_bar(&b);
}

static void part_of_a_rigid_motion_is_rigid(void **state) {
    (void)state;
    bar b = make_bar(5, 2, 2, 3, 1);
    sn_rotation_strain *rs = structure_of(b.vertex_count, b.rest, 4, b.tet_count, b.tets);
    sn_vec3 w = sn_v3(1.5, 2, -1);
    sn_mat3 whole = sn_rotation_exp(w), third = sn_rotation_exp(sn_scale(1.0 / 3, w)), found;
    sn_vec3 shift;
    for (int i = 0; i < b.vertex_count; i++)
        sn_put(b.pose, i, sn_add(sn_mat3_apply(whole, sn_at(b.rest, i)), sn_v3(1, 2, 3)));
    scaled_pose(rs, b.rest, b.pose, 1.0 / 3, b.result);
    sn_rigid_fit(b.vertex_count, b.rest, b.result, NULL, &found, &shift);
    for (int k = 0; k < 9; k++) assert_close(found.m[k / 3][k % 3], third.m[k / 3][k % 3], 1e-12);
    for (int i = 0; i < b.vertex_count; i++)
        assert_below(
            sn_distance(sn_add(sn_mat3_apply(found, sn_at(b.rest, i)), shift), sn_at(b.result, i)),
            1e-12);
    sn_rotation_strain_destroy(rs);
    free_bar(&b);
}

static void twist(bar *b, double turns, double noise) {
    uint64_t seed = 3;
    for (int i = 0; i < b->vertex_count; i++) {
        sn_vec3 p = sn_at(b->rest, i);
        double angle = 2 * M_PI * turns * p.x / b->length, c = cos(angle), s = sin(angle);
        sn_vec3 q = sn_v3(p.x, c * p.y - s * p.z, s * p.y + c * p.z);
        q.x += noise * test_random(&seed);
        q.y += noise * test_random(&seed);
        q.z += noise * test_random(&seed);
        sn_put(b->pose, i, q);
    }
}

static void assert_even_path(bar *b, double volume_change) {
    sn_rotation_strain *rs = structure_of(b->vertex_count, b->rest, 4, b->tet_count, b->tets);
    int flipped;
    double volume = volume_of(b, b->rest, &flipped);
    for (int k = 1; k < 8; k++) {
        scaled_pose(rs, b->rest, b->pose, k / 8.0, b->result);
        double between = volume_of(b, b->result, &flipped);
        assert_int_equal(flipped, 0);
        assert_close(between / volume, 1, volume_change);
    }
    scaled_pose(rs, b->rest, b->pose, 1, b->result);
    assert_below(largest_difference(3 * b->vertex_count, b->pose, b->result), 1e-9);
    sn_rotation_strain_destroy(rs);
}

static void three_turns_flip_no_tet_and_keep_the_volume(void **state) {
    (void)state;
    bar coarse = make_bar(40, 2, 2, 10, 1), fine = make_bar(60, 3, 3, 10, 1);
    twist(&coarse, 3, 0), assert_even_path(&coarse, 0.05);
    twist(&coarse, 1.02, 0), assert_even_path(&coarse, 0.05);
    twist(&coarse, 3, 0.01), assert_even_path(&coarse, 0.05);
    twist(&fine, 3, 0), assert_even_path(&fine, 0.05);
    twist(&fine, 1.02, 0.01), assert_even_path(&fine, 0.05);
    free_bar(&coarse), free_bar(&fine);
}

/* Stretches s and 1/s of a shear blend to up to (2 + s + 1/s)/4 of the volume: 1.2 at the face of
 * this bar, less inside. */
static void three_turns_of_a_thick_bar_flip_no_tet(void **state) {
    (void)state;
    bar b = make_bar(20, 4, 4, 5, 1);
    twist(&b, 3, 0), assert_even_path(&b, 0.12);
    twist(&b, 3, 0.005), assert_even_path(&b, 0.12);
    twist(&b, 1.02, 0.02), assert_even_path(&b, 0.05);
    free_bar(&b);
}

static void bend_of_270_degrees_keeps_the_volume(void **state) {
    (void)state;
    bar b = make_bar(40, 2, 2, 10, 1);
    double radius = 10 / (1.5 * M_PI);
    for (int i = 0; i < b.vertex_count; i++) {
        sn_vec3 p = sn_at(b.rest, i);
        double angle = p.x / radius;
        sn_put(b.pose, i,
               sn_v3((radius - p.y) * sin(angle), radius - (radius - p.y) * cos(angle), p.z));
    }
    assert_even_path(&b, 0.05);
    free_bar(&b);
}

static void mirrored_pose_comes_back_with_proper_rotations(void **state) {
    (void)state;
    bar b = make_bar(4, 2, 2, 3, 1);
    sn_rotation_strain *rs = structure_of(b.vertex_count, b.rest, 4, b.tet_count, b.tets);
    for (int i = 0; i < b.vertex_count; i++) {
        sn_vec3 p = sn_at(b.rest, i);
        sn_put(b.pose, i, sn_v3(-p.x, p.y, p.z));
    }
    scaled_pose(rs, b.rest, b.pose, 1, b.result);
    assert_below(largest_difference(3 * b.vertex_count, b.pose, b.result), 1e-12);
    scaled_pose(rs, b.rest, b.pose, 0.5, b.result);
    for (int k = 0; k < 3 * b.vertex_count; k++) assert_true(isfinite(b.result[k]));
    sn_rotation_strain_destroy(rs);
    free_bar(&b);
}

/* A strip with a collapsed, a zero-length and a needle triangle at rest, which all open in the
 * pose. */
static void elements_flat_at_rest_open_and_close_exactly(void **state) {
    (void)state;
    double rest[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0.5, 1, 0, 0.5, 1, 0, 2, 1e-12, 0};
    const int triangles[] = {0, 1, 2, 1, 3, 2, 2, 3, 4, 4, 4, 5, 4, 5, 3, 1, 6, 0};
    uint64_t seed = 1;
    sn_rotation_strain *rs = structure_of(7, rest, 3, 6, triangles);
    double pose[21], result[21];
    for (int trial = 0; trial < 40; trial++) {
        for (int k = 0; k < 21; k++) pose[k] = rest[k] + test_random(&seed);
        scaled_pose(rs, rest, pose, 1, result);
        assert_below(largest_difference(21, pose, result), 1e-8);
        if (trial != 20) continue;
        sn_rotation_strain_destroy(rs);
        rest[19] = 1e-20; /* thinner than rounding of the coordinates */
        rs = structure_of(7, rest, 3, 6, triangles);
    }
    scaled_pose(rs, rest, pose, 0, result);
    assert_below(largest_difference(21, rest, result), 1e-9);
    sn_rotation_strain_destroy(rs);
    const int tets[] = {0, 1, 2, 3, 0, 1, 2, 4, 0, 0, 4, 5}; /* flat, flat, collapsed */
    rs = structure_of(6, rest, 4, 3, tets);
    for (int k = 0; k < 18; k++) pose[k] = rest[k] + 0.3 * test_random(&seed);
    scaled_pose(rs, rest, pose, 1, result);
    assert_below(largest_difference(18, pose, result), 1e-6); /* nothing but flat tets */
    sn_rotation_strain_destroy(rs);
}

static void components_are_placed_apart_and_loose_vertices_left_alone(void **state) {
    (void)state;
    sinew_mesh *mesh = shape_join(shape_sphere(3), shape_bar(2, 2), 5, 0, 0);
    int n = mesh->vertex_count;
    double *rest = malloc(sizeof(double) * 3 * (size_t)(n + 1)), *pose, *result;
    pose = malloc(sizeof(double) * 3 * (size_t)(n + 1));
    result = malloc(sizeof(double) * 3 * (size_t)(n + 1));
    memcpy(rest, mesh->positions, sizeof(double) * 3 * (size_t)n);
    sn_put(rest, n, sn_v3(9, 9, 9));
    sn_rotation_strain *rs = structure_of(n + 1, rest, 3, mesh->triangle_count, mesh->triangles);
    assert_int_equal(rs->component_count, 2);
    for (int i = 0; i <= n; i++) {
        sn_vec3 p = sn_at(rest, i);
        bool sphere = i < 38;
        sn_put(pose, i, sphere ? sn_v3(p.x, p.z, -p.y) : sn_v3(p.x, p.y + 4, p.z));
    }
    sn_put(result, n, sn_v3(7, 7, 7));
    scaled_pose(rs, rest, pose, 1, result);
    assert_below(largest_difference(3 * n, pose, result), 1e-12);
    assert_close(result[3 * n], 7, 0);
    scaled_pose(rs, rest, pose, 0.5, result);
    for (int i = 38; i < n; i++)
        assert_below(sn_distance(sn_at(result, i), sn_add(sn_at(rest, i), sn_v3(0, 2, 0))), 1e-12);
    free(rest), free(pose), free(result);
    sn_rotation_strain_destroy(rs);
    sinew_mesh_destroy(mesh);
}

/* A dent in a grid: measuring only the elements that moved is the same as measuring all. */
static void measuring_the_moved_part_is_enough(void **state) {
    (void)state;
    sinew_error error;
    sinew_mesh *mesh = shape_grid(20);
    sn_rotation_strain *rs =
        structure_of(mesh->vertex_count, mesh->positions, 3, mesh->triangle_count, mesh->triangles);
    double *pose = malloc(sizeof(double) * 3 * (size_t)mesh->vertex_count);
    bool *moved = calloc((size_t)mesh->vertex_count, sizeof *moved);
    for (int i = 0; i < mesh->vertex_count; i++) {
        sn_vec3 p = sn_at(mesh->positions, i);
        double r = hypot(p.x - 0.4, p.y - 0.4) / 0.3;
        moved[i] = r < 1;
        sn_put(pose, i, moved[i] ? sn_v3(p.x, p.y, 2 * (1 - r * r)) : p);
    }
    int *active = malloc(sizeof(int) * (size_t)rs->element_count), count = 0;
    for (int e = 0; e < rs->element_count; e++)
        if (moved[mesh->triangles[3 * e]] || moved[mesh->triangles[3 * e + 1]] ||
            moved[mesh->triangles[3 * e + 2]])
            active[count++] = e;
    double *all = malloc(sizeof(double) * SN_RS_SIZE * (size_t)rs->element_count);
    double *part = malloc(sizeof(double) * SN_RS_SIZE * (size_t)count);
    assert_ok(sn_rotation_strain_measure(rs, pose, 0, NULL, all, &error));
    assert_ok(sn_rotation_strain_measure(rs, pose, count, active, part, &error));
    for (int k = 0; k < count; k++)
        assert_below(
            largest_difference(SN_RS_SIZE, part + SN_RS_SIZE * k, all + SN_RS_SIZE * active[k]),
            1e-12);
    free(pose), free(moved), free(active), free(all), free(part);
    sn_rotation_strain_destroy(rs);
    sinew_mesh_destroy(mesh);
}

/* The middle of a bar makes one turn and a half, its ends none: rotations go on past half a turn
 * from the elements that did not move. */
static void measuring_the_moved_part_is_enough_beyond_half_a_turn(void **state) {
    (void)state;
    sinew_error error;
    bar b = make_bar(48, 2, 2, 12, 0.5);
    sn_rotation_strain *rs = structure_of(b.vertex_count, b.rest, 4, b.tet_count, b.tets);
    for (int i = 0; i < b.vertex_count; i++) {
        sn_vec3 p = sn_at(b.rest, i);
        double t = fmin(1, fmax(0, (p.x - 2) / 8)), angle = 3 * M_PI * pow(sin(M_PI * t), 2);
        if (t == 1) angle = 0;
        sn_put(b.pose, i,
               angle > 0 ? sn_v3(p.x, p.y * cos(angle) - p.z * sin(angle),
                                 p.y * sin(angle) + p.z * cos(angle))
                         : p);
    }
    int *active = malloc(sizeof(int) * (size_t)b.tet_count), count = 0;
    for (int e = 0; e < b.tet_count; e++) {
        bool moved = false;
        for (int k = 0; k < 4; k++)
            for (int c = 0; c < 3; c++) {
                size_t at = 3 * (size_t)b.tets[4 * e + k] + (size_t)c;
                moved |= b.pose[at] != b.rest[at];
            }
        if (moved) active[count++] = e;
    }
    assert_true(count > 0 && count < b.tet_count);
    double *all = malloc(sizeof(double) * SN_RS_SIZE * (size_t)b.tet_count);
    double *part = malloc(sizeof(double) * SN_RS_SIZE * (size_t)count);
    assert_ok(sn_rotation_strain_measure(rs, b.pose, 0, NULL, all, &error));
    assert_ok(sn_rotation_strain_measure(rs, b.pose, count, active, part, &error));
    double largest[2] = {0, 0};
    for (int k = 0; k < count; k++)
        for (int c = 0; c < 3; c++) {
            largest[0] = fmax(largest[0], fabs(all[SN_RS_SIZE * active[k] + c]));
            largest[1] = fmax(largest[1], fabs(part[SN_RS_SIZE * k + c]));
        }
    assert_close(largest[0], 3 * M_PI, 0.3);
    assert_close(largest[1], largest[0], 0.1);
    free(active), free(all), free(part);
    sn_rotation_strain_destroy(rs);
    free_bar(&b);
}

static void held_vertices_place_the_rest(void **state) {
    (void)state;
    sinew_error error;
    bar b = make_bar(8, 2, 2, 2, 0.5);
    int holds[18];
    for (int k = 0; k < 9; k++) holds[k] = k, holds[9 + k] = b.vertex_count - 9 + k;
    sn_rotation_strain *rs;
    sn_rotation_strain_work *work;
    assert_ok(sn_rotation_strain_create_joined(
        b.vertex_count, b.rest, 4, b.tet_count, b.tets,
        &(sn_rotation_joints){.hold_count = 18, .holds = holds}, &rs, &error));
    assert_ok(sn_rotation_strain_work_create(rs, &work, &error));
    twist(&b, 0.2, 0.02);
    double *coordinates = malloc(sizeof(double) * SN_RS_SIZE * (size_t)b.tet_count), centers[3];
    assert_ok(sn_rotation_strain_measure(rs, b.pose, 0, NULL, coordinates, &error));
    sn_rotation_strain_centers(rs, b.pose, centers);
    for (int k = 0; k < 18; k++) /* elsewhere than the center says */
        sn_put(b.result, holds[k], sn_add(sn_at(b.pose, holds[k]), sn_v3(1, 2, 3)));
    sn_rotation_strain_rebuild(rs, work, coordinates, centers, b.result);
    for (int v = 0; v < b.vertex_count; v++)
        assert_below(sn_distance(sn_at(b.result, v), sn_add(sn_at(b.pose, v), sn_v3(1, 2, 3))),
                     1e-9);
    free(coordinates);
    sn_rotation_strain_work_destroy(work);
    sn_rotation_strain_destroy(rs);
    free_bar(&b);
}

static void threads_do_not_change_the_bits(void **state) {
    (void)state;
    bar b = make_bar(30, 3, 3, 10, 1);
    double *other = malloc(sizeof(double) * 3 * (size_t)b.vertex_count);
    twist(&b, 1.3, 0.02);
    sn_rotation_strain *rs = structure_of(b.vertex_count, b.rest, 4, b.tet_count, b.tets);
    sinew_set_threads(1);
    scaled_pose(rs, b.rest, b.pose, 0.4, b.result);
    sinew_set_threads(2);
    scaled_pose(rs, b.rest, b.pose, 0.4, other);
    sinew_set_threads(0);
    assert_memory_equal(other, b.result, sizeof(double) * 3 * (size_t)b.vertex_count);
    free(other);
    sn_rotation_strain_destroy(rs);
    free_bar(&b);
}

/* Angles from nothing to many turns, near every quarter. */
static void gradients_of_lanes_are_those_of_single_elements(void **state) {
    (void)state;
    const double angles[] = {
        0,         1e-9, 1e-3,     0.7,  1.5707963267948966, 3.1415926535897931,
        6.2831853, 9.4,  50.26548, 700.1};
    for (size_t round = 0; round < sizeof angles / sizeof *angles; round++) {
        double c[SN_RS_SIZE * SN_ROTATION_LANES], y[6 * SN_ROTATION_LANES];
        double found[9][SN_ROTATION_LANES];
        for (int l = 0; l < SN_ROTATION_LANES; l++) {
            sn_vec3 axis = sn_normalize(sn_v3(sin(l + 1.0), cos(3.0 * l), sin(0.3 + 2 * l)));
            for (int k = 0; k < SN_RS_SIZE; k++) c[SN_RS_SIZE * l + k] = 0.1 * sin(k + 7.0 * l);
            sn_put(c + SN_RS_SIZE * l, 0, sn_scale(angles[round], axis));
            for (int k = 0; k < 6; k++) y[6 * l + k] = (k < 3) + 0.05 * cos(k * l);
        }
        for (int flat = 0; flat < 2; flat++) {
            sn_rotation_compose_lanes(c, flat ? y : NULL, found);
            for (int l = 0; l < SN_ROTATION_LANES; l++) {
                sn_mat3 f = sn_rotation_strain_compose(c + SN_RS_SIZE * l, flat ? y + 6 * l : NULL);
                for (int e = 0; e < 9; e++)
                    assert_close(found[e][l], f.m[e / 3][e % 3], 1e-13 * (1 + angles[round]));
            }
        }
    }
}

static void bad_elements_are_named(void **state) {
    (void)state;
    sinew_error error;
    double rest[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const int triangle[] = {0, 1, 3}, good[] = {0, 1, 2};
    sn_rotation_strain *rs;
    assert_int_equal(sn_rotation_strain_create(3, rest, 3, 1, triangle, &rs, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "vertex 3"));
    rest[4] = NAN;
    assert_int_equal(sn_rotation_strain_create(3, rest, 3, 1, good, &rs, &error), SINEW_BAD_INPUT);
    assert_int_equal(sn_rotation_strain_create(3, rest, 3, 0, good, &rs, &error), SINEW_BAD_INPUT);
    assert_null(rs);
}

int test_rotation_strain(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_has_zero_coordinates),
        cmocka_unit_test(random_poses_of_tets_come_back),
        cmocka_unit_test(random_poses_of_triangles_come_back),
        cmocka_unit_test(part_of_a_rigid_motion_is_rigid),
        cmocka_unit_test(three_turns_flip_no_tet_and_keep_the_volume),
        cmocka_unit_test(three_turns_of_a_thick_bar_flip_no_tet),
        cmocka_unit_test(bend_of_270_degrees_keeps_the_volume),
        cmocka_unit_test(mirrored_pose_comes_back_with_proper_rotations),
        cmocka_unit_test(elements_flat_at_rest_open_and_close_exactly),
        cmocka_unit_test(components_are_placed_apart_and_loose_vertices_left_alone),
        cmocka_unit_test(measuring_the_moved_part_is_enough),
        cmocka_unit_test(measuring_the_moved_part_is_enough_beyond_half_a_turn),
        cmocka_unit_test(held_vertices_place_the_rest),
        cmocka_unit_test(threads_do_not_change_the_bits),
        cmocka_unit_test(gradients_of_lanes_are_those_of_single_elements),
        cmocka_unit_test(bad_elements_are_named),
    };
    return cmocka_run_group_tests_name("rotation-strain", tests, NULL, NULL);
}
