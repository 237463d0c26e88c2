/* A left arm along +x, palm down: shoulder, upper arm, forearm and a mitten of a hand.
 *
 * The surface is a capsule whose radii follow the arm; the poses sweep it along a bent and twisted
 * axis. The elbow's angle is spread over an arc that is wider than the arm is thick, so that the
 * inner side never meets itself. */
#include "samples/builders.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "samples/box.h"
#include "samples/spine.h"

/* Cross-sections, metres: distance from the shoulder, half height, half width, centre height. */
static const struct {
    double s, height, width, centre;
} sections[] = {
    {0.000, 0.056, 0.054, 0.002},  {0.060, 0.064, 0.059, 0.004},  {0.130, 0.053, 0.049, 0.000},
    {0.200, 0.055, 0.048, 0.003},  {0.260, 0.045, 0.043, -0.003}, {0.300, 0.041, 0.043, -0.007},
    {0.350, 0.046, 0.046, -0.001}, {0.400, 0.043, 0.043, 0.000},  {0.480, 0.032, 0.036, 0.000},
    {0.535, 0.023, 0.031, 0.000},  {0.580, 0.020, 0.038, 0.000},  {0.640, 0.019, 0.045, -0.002},
    {0.690, 0.016, 0.043, -0.005}, {0.730, 0.013, 0.038, -0.009},
};
enum { SECTION_COUNT = sizeof sections / sizeof *sections };
static const double LENGTH = 0.730;
static const double SHOULDER_CAP = 0.045, FINGER_CAP = 0.025;

static const struct {
    const char *name;
    double elbow, forearm, wrist; /* degrees: flexion, twist, flexion */
} poses[] = {
    {"elbow45", 45, 0, 0},         {"elbow90", 90, 0, 0},
    {"elbow130", 130, 0, 0},       {"twist90", 0, 90, 0},
    {"twist150", 0, 150, 0},       {"wrist60", 0, 0, -60},
    {"elbow90twist90", 90, 90, 0}, {"elbow130twist150", 130, 150, 30},
};

/* Catmull-Rom through the table at s, for the value `of` a section. */
static double section_value(double s, size_t of) {
    int i = 0;
    while (i + 2 < SECTION_COUNT && sections[i + 1].s <= s) i++;
    const char *base = (const char *)sections + of;
    double y[4], x[4];
    for (int k = 0; k < 4; k++) {
        int j = i + k - 1;
        j = j < 0 ? 0 : j >= SECTION_COUNT ? SECTION_COUNT - 1 : j;
        y[k] = *(const double *)(base + (size_t)j * sizeof *sections);
        x[k] = sections[j].s;
    }
    double h = x[2] - x[1], t = fmin(1, fmax(0, (s - x[1]) / h));
    double m1 = (y[2] - y[0]) / (x[2] - x[0]) * h, m2 = (y[3] - y[1]) / (x[3] - x[1]) * h;
    double t2 = t * t, t3 = t2 * t;
    return (2 * t3 - 3 * t2 + 1) * y[1] + (t3 - 2 * t2 + t) * m1 + (3 * t2 - 2 * t3) * y[2] +
           (t3 - t2) * m2;
}
#define SECTION(s, field) section_value((s), offsetof(__typeof__(*sections), field))

static sn_vec3 arm_point(sn_vec3 unit, double middle) {
    double s = unit.x < 0        ? unit.x * SHOULDER_CAP
               : unit.x > middle ? LENGTH + (unit.x - middle) * FINGER_CAP
                                 : unit.x * LENGTH / middle;
    double inside = fmin(LENGTH, fmax(0, s));
    return sn_v3(s, SECTION(inside, centre) + unit.y * SECTION(inside, height),
                 unit.z * SECTION(inside, width));
}

static sinew_status add_poses(sinew_rig *rig, sinew_error *error) {
    int count = rig->neutral->vertex_count;
    sn_spine *spine = SN_NEW(sn_spine, 1);
    double *posed = SN_NEW(double, 3 * (size_t)count);
    sinew_status status = spine && posed ? SINEW_OK : sn_no_memory(error);
    for (size_t p = 0; p < sizeof poses / sizeof *poses && status == SINEW_OK; p++) {
        sn_joint joints[] = {
            {0.19, 0.41, sn_radians(poses[p].elbow), 0, 0},
            {0.33, 0.54, 0, sn_radians(poses[p].forearm), 1},
            {0.49, 0.60, sn_radians(poses[p].wrist), 0, 0},
        };
        sn_spine_set(spine, LENGTH, 3, joints);
        for (int v = 0; v < count; v++)
            sn_put(posed, v, sn_spine_place(spine, sn_at(rig->neutral->positions, v)));
        status = sinew_rig_add_pose(rig, poses[p].name, posed, error);
    }
    sn_free(spine);
    sn_free(posed);
    return status;
}

static bool in_shoulder(int vertex, const double *p, const void *user) {
    (void)vertex, (void)user;
    return p[0] < 0.02;
}
static bool in_elbow(int vertex, const double *p, const void *user) {
    (void)vertex, (void)user;
    return p[0] > 0.24 && p[0] < 0.36;
}
static bool in_hand(int vertex, const double *p, const void *user) {
    (void)vertex, (void)user;
    return p[0] > 0.56;
}

/* n cells across, r = 4 n around; the tube takes TUBE_CELLS n cells of its length. */
static const double TUBE_CELLS = 2.9;

sinew_status sn_sample_arm(int vertices, sinew_rig **rig, sinew_error *error) {
    int n = 4;
    while ((4 * TUBE_CELLS + 6) * (n + 2) * (n + 2) < vertices) n += 2;
    int tube = (int)(TUBE_CELLS * n + 0.5);
    /* Length and roundness trade: more cells along than around where the wanted count asks for it.
     */
    while (6 * n * n + 4 * n * tube < vertices && tube < 4 * n) tube++;
    sn_box box;
    SN_TRY(sn_box_create(tube + n, n, n, &box, error));
    double *positions = SN_NEW(double, 3 * (size_t)box.vertex_count);
    sinew_mesh *mesh = NULL;
    sinew_status status = positions ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        double middle = 1;
        sn_box_capsule(&box, middle, positions);
        for (int v = 0; v < box.vertex_count; v++)
            sn_put(positions, v, arm_point(sn_at(positions, v), middle));
        status = sn_quad_mesh("arm", box.vertex_count, positions, box.face_count, box.quads, &mesh,
                              error);
    }
    sn_free(positions);
    sn_box_destroy(&box);
    SN_TRY(status);
    sinew_rig *made = NULL;
    status = sinew_rig_create(mesh, &made, error);
    if (status == SINEW_OK) status = add_poses(made, error);
    if (status == SINEW_OK) status = sn_add_region(made, "shoulder", in_shoulder, NULL, error);
    if (status == SINEW_OK) status = sn_add_region(made, "elbow", in_elbow, NULL, error);
    if (status == SINEW_OK) status = sn_add_region(made, "hand", in_hand, NULL, error);
    if (status != SINEW_OK)
        sinew_rig_destroy(made);
    else
        *rig = made;
    return status;
}
