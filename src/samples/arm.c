/* A right arm along +x, palm down: shoulder, upper arm, forearm, and the sample hand.
 *
 * The cage of the hand goes on in rings around the arm; the poses sweep the refined surface along a
 * bent and twisted axis. The elbow's angle is spread over an arc that is wider than the arm is
 * thick, so that the inner side never meets itself. Centimetres inside. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "samples/builders.h"
#include "samples/cage.h"
#include "samples/hand.h"
#include "samples/spine.h"

static const double METRES = 0.01;
static const double SHOULDER = -57; /* where the axis begins, in the coordinates of the hand */
static const double LENGTH = 76;

/* Cross-sections from the wrist to the shoulder: place, half height, half width, center height. */
static const struct {
    double x, height, width, center;
} sections[] = {
    {-8.5, 2.5, 3.0, 0.0}, {-12.5, 3.3, 3.6, 0.0}, {-17, 4.2, 4.3, 0.0},   {-21.5, 4.7, 4.6, 0.0},
    {-25, 4.4, 4.4, -0.2}, {-28, 4.0, 4.3, -0.6},  {-31, 4.3, 4.2, -0.3},  {-36, 5.1, 4.6, 0.2},
    {-41, 5.4, 4.8, 0.3},  {-46, 5.2, 4.9, 0.0},   {-50.5, 6.0, 5.5, 0.3}, {-54.5, 5.7, 5.2, 0.2},
    {-57, 3.9, 3.6, 0.1},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

static const struct {
    const char *name;
    double elbow, forearm, wrist; /* degrees: flexion, twist, flexion */
} poses[] = {
    {"elbow45", 45, 0, 0},         {"elbow90", 90, 0, 0},
    {"elbow130", 130, 0, 0},       {"twist90", 0, 90, 0},
    {"twist150", 0, 150, 0},       {"wrist60", 0, 0, -60},
    {"elbow90twist90", 90, 90, 0}, {"elbow130twist150", 130, 150, 30},
};

/* A ring about the arm for every point of the ring at the wrist. */
static void grow_arm(sn_cage *cage, const int wrist[SN_WRIST]) {
    int ring[SN_WRIST];
    memcpy(ring, wrist, sizeof ring);
    for (int k = 0; k < SECTIONS; k++) {
        int next[SN_WRIST];
        for (int i = 0; i < SN_WRIST; i++) {
            /* nine points above, nine below, one at each side */
            double degrees = i < 9 ? 210 + 15 * i : i == 9 ? 0 : i < 19 ? 30 + 15 * (i - 10) : 180;
            double a = sn_radians(degrees);
            next[i] = sn_cage_point(cage, sn_v3(sections[k].x,
                                                sections[k].center + sections[k].height * sin(a),
                                                sections[k].width * cos(a)));
        }
        sn_cage_band(cage, SN_WRIST, ring, next, true, 0);
        memcpy(ring, next, sizeof ring);
    }
    sn_hand_close_wrist(cage, ring, -1.0);
}

static sinew_status add_poses(sinew_rig *rig, sinew_error *error) {
    for (size_t p = 0; p < sizeof poses / sizeof *poses; p++) {
        sn_joint joints[] = {
            {0.18, 0.40, sn_radians(poses[p].elbow), 0, 0},
            {0.33, 0.53, 0, sn_radians(poses[p].forearm), 1},
            {0.505, 0.600, sn_radians(poses[p].wrist), 0, 0},
        };
        SN_TRY(sn_spine_pose(rig, poses[p].name, METRES * LENGTH, 3, joints, error));
    }
    return SINEW_OK;
}

static bool in_shoulder(int vertex, const double *p, const void *user) {
    (void)vertex, (void)user;
    return p[0] < 0.04;
}
static bool in_elbow(int vertex, const double *p, const void *user) {
    (void)vertex, (void)user;
    return p[0] > 0.24 && p[0] < 0.34;
}
static bool in_hand(int vertex, const double *p, const void *user) {
    (void)vertex, (void)user;
    return p[0] > 0.58;
}

static sinew_status make_mesh(int vertices, sinew_mesh **mesh, sinew_error *error) {
    sn_cage cage;
    sn_fine fine;
    int wrist[SN_WRIST];
    sn_cage_start(&cage, SN_HAND_CHANNELS);
    sn_hand_cage(&cage, wrist);
    grow_arm(&cage, wrist);
    sinew_status status = sn_cage_refine(&cage, sn_cage_cells(&cage, vertices), &fine, error);
    sn_cage_destroy(&cage);
    SN_TRY(status);
    double *positions = SN_NEW(double, 3 * (size_t)fine.vertex_count);
    status = positions ? sn_hand_pose(&fine, "relaxed", positions, error) : sn_no_memory(error);
    for (int v = 0; v < fine.vertex_count && status == SINEW_OK; v++)
        sn_put(positions, v, sn_scale(METRES, sn_sub(sn_at(positions, v), sn_v3(SHOULDER, 0, 0))));
    if (status == SINEW_OK)
        status = sn_quad_mesh("arm", fine.vertex_count, positions, fine.face_count, fine.quads,
                              mesh, error);
    sn_free(positions);
    sn_fine_destroy(&fine);
    return status;
}

sinew_status sn_sample_arm(int vertices, sinew_rig **rig, sinew_error *error) {
    sinew_mesh *mesh = NULL;
    sinew_rig *made = NULL;
    SN_TRY(make_mesh(vertices, &mesh, error));
    sinew_status status = sinew_rig_create(mesh, &made, error);
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
