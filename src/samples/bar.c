/* A straight rounded bar, 1 m long and 0.2 m thick, held at x = 0. */
#include "samples/builders.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "samples/box.h"
#include "samples/spine.h"

static const double LENGTH = 1.0;
static const double HALF_WIDTH = 0.1;
static const double ROUNDING = 0.04; /* radius of all edges */
enum { CELLS_PER_WIDTH = 5 };        /* bar length over thickness: cells are squares */

static const struct {
    const char *name;
    double bend, twist; /* degrees over the whole length */
} poses[] = {
    {"bend120", 120, 0}, {"bend180", 180, 0},    {"bend270", 270, 0},
    {"twist1", 0, 360},  {"twist3", 0, 3 * 360}, {"bend120twist1", 120, 360},
};

/* n cells across: 4 n (5 n + 1) on the sides and (n - 1)^2 inside each end. */
static int cells_across(int vertices) {
    int n = 2;
    while (22 * (n + 1) * (n + 1) - 10 * (n + 1) < vertices) n++;
    return n;
}

/* A coordinate of the box, -1 to 1 from side to side. Within ROUNDING of an edge steps follow the
 * tangent, so that `rounded` makes them even along the arc: cells squeezed there would be the first
 * to become slivers under a strong twist. */
static double across(double u) {
    double flat = HALF_WIDTH - ROUNDING, beyond = (HALF_WIDTH * fabs(u) - flat) / ROUNDING;
    if (beyond <= 0) return HALF_WIDTH * u;
    return copysign(flat + ROUNDING * tan(beyond * SN_PI / 4), u);
}

/* The point of the rounded box nearest in spirit: what lies within ROUNDING of an edge goes to the
 * arc about the inner box. */
static sn_vec3 rounded(sn_vec3 p) {
    sn_vec3 q = sn_v3(fmin(LENGTH - ROUNDING, fmax(ROUNDING, p.x)),
                      fmin(HALF_WIDTH - ROUNDING, fmax(ROUNDING - HALF_WIDTH, p.y)),
                      fmin(HALF_WIDTH - ROUNDING, fmax(ROUNDING - HALF_WIDTH, p.z)));
    return sn_add_scaled(q, ROUNDING, sn_normalize(sn_sub(p, q)));
}

static sinew_status add_poses(sinew_rig *rig, sinew_error *error) {
    for (size_t p = 0; p < sizeof poses / sizeof *poses; p++) {
        sn_joint joint = {0, LENGTH, sn_radians(poses[p].bend), sn_radians(poses[p].twist), 1};
        SN_TRY(sn_spine_pose(rig, poses[p].name, LENGTH, 1, &joint, error));
    }
    return SINEW_OK;
}

static bool at_start(int vertex, const double *p, const void *user) {
    (void)vertex, (void)user;
    return p[0] < 1e-9;
}
static bool at_end(int vertex, const double *p, const void *user) {
    (void)vertex, (void)user;
    return p[0] > LENGTH - 1e-9;
}

sinew_status sn_sample_bar(int vertices, sinew_rig **rig, sinew_error *error) {
    int n = cells_across(vertices);
    sn_box box;
    SN_TRY(sn_box_create(CELLS_PER_WIDTH * n, n, n, &box, error));
    double *positions = SN_NEW(double, 3 * (size_t)box.vertex_count);
    sinew_mesh *mesh = NULL;
    sinew_status status = positions ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int v = 0; v < box.vertex_count; v++) {
            const int *site = box.lattice + 3 * (size_t)v;
            sn_vec3 p = sn_v3(LENGTH * site[0] / box.cells[0], across(2.0 * site[1] / n - 1),
                              across(2.0 * site[2] / n - 1));
            sn_put(positions, v, rounded(p));
        }
        status = sn_quad_mesh("bar", box.vertex_count, positions, box.face_count, box.quads, &mesh,
                              error);
    }
    sn_free(positions);
    sn_box_destroy(&box);
    SN_TRY(status);
    sinew_rig *made = NULL;
    status = sinew_rig_create(mesh, &made, error);
    if (status == SINEW_OK) status = add_poses(made, error);
    if (status == SINEW_OK) status = sn_add_region(made, "start", at_start, NULL, error);
    if (status == SINEW_OK) status = sn_add_region(made, "end", at_end, NULL, error);
    if (status != SINEW_OK)
        sinew_rig_destroy(made);
    else
        *rig = made;
    return status;
}
