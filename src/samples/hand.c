/* A right hand, palm down: fingers along +x, thumb towards +z, back of the hand up.
 *
 * The surface is a cage: a palm of 5 x 2 x 8 cells whose front carries the four fingers and whose
 * side the thumb. Poses bend each digit along its own axis (samples/spine) and turn it at its root;
 * the palm blends the digits by weights that the cage carries. Angles are spread over arcs longer
 * than the digit is thick, so that no joint folds into itself. Centimetres inside. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/status.h"
#include "samples/builders.h"
#include "samples/cage.h"
#include "samples/hand.h"
#include "samples/relax.h"
#include "samples/spine.h"

static const double METRES = 0.01; /* per centimetre */
/* Least angle aimed at in poses, degrees: the samples promise 5. */
static const double POSED_ANGLE = 5.4;

enum { LITTLE, RING, MIDDLE, INDEX, THUMB, DIGITS };
enum { WEIGHT = 3, CHANNELS = SN_HAND_CHANNELS, AROUND = 8, JOINTS = 3 };
enum { PALM_ROWS = 5, PALM_COLUMNS = 8, RINGS = 7, THUMB_ROW = 2 };

/* ---- the digits ------------------------------------------------------------------------------ */

typedef struct digit {
    sn_vec3 root, along, up; /* at the knuckle; up is the back of the digit */
    double length, radius;   /* radius at the root */
    double joints[JOINTS];   /* places of the joints from the root, fraction of the length */
} digit;

static const digit digits[DIGITS] = {
    [LITTLE] = {{8.3, 0.0, -3.15}, {0.990, 0, -0.139}, {0, 1, 0}, 6.6, 0.86, {0.02, 0.47, 0.74}},
    [RING] = {{8.9, 0.1, -1.08}, {0.998, 0, -0.058}, {0, 1, 0}, 8.1, 0.97, {0.02, 0.46, 0.74}},
    [MIDDLE] = {{9.1, 0.15, 1.02}, {1, 0, 0.012}, {0, 1, 0}, 8.8, 1.0, {0.02, 0.46, 0.74}},
    [INDEX] = {{8.9, 0.1, 3.12}, {0.996, 0, 0.087}, {0, 1, 0}, 8.0, 0.98, {0.02, 0.46, 0.74}},
    [THUMB] = {{3.7, -0.35, 4.25},
               {0.63, -0.26, 0.73},
               {-0.20, 0.85, 0.48},
               6.9,
               1.15,
               {0.02, 0.42, 0.74}},
};

/* Half length of the arc over which a joint's angle is spread, centimetres. */
static const double ARC[JOINTS] = {1.25, 1.05, 0.85};
/* Joints turn about a line this fraction of the radius below the middle, nearer the palm side. */
static const double AXIS = 0.30;
/* The straight part of the spine before the root. */
static const double BEFORE = 3.0;

/* Rings along a digit: place and radius as shares; joints are a little thicker. */
static const struct {
    double at, radius;
} digit_rings[RINGS] = {
    {0.10, 0.98}, {0.28, 0.93}, {0.44, 0.96}, {0.58, 0.88},
    {0.73, 0.88}, {0.87, 0.80}, {0.97, 0.56},
};

/* Corners of the rings in units of the radius, counter-clockwise seen from the tip. */
static const double ring_side[AROUND] = {-0.82, 0, 0.82, 1.04, 0.82, 0, -0.82, -1.04};
static const double ring_up[AROUND] = {-0.82, -1.04, -0.82, 0, 0.82, 1.0, 0.82, 0};

/* Grows a digit from a ring of the palm. `right` is seen to the right when looking at the tip. */
static void grow(sn_cage *cage, int which, const int *from, sn_vec3 right) {
    const digit *d = &digits[which];
    sn_vec3 along = sn_normalize(d->along);
    sn_vec3 up = sn_normalize(sn_add_scaled(d->up, -sn_dot(d->up, along), along));
    sn_vec3 side = sn_cross(up, along);
    if (sn_dot(side, right) < 0) side = sn_scale(-1, side);
    int ring[AROUND];
    memcpy(ring, from, sizeof ring);
    for (int k = 0; k < RINGS; k++) {
        int next[AROUND];
        double r = d->radius * digit_rings[k].radius;
        for (int i = 0; i < AROUND; i++) {
            sn_vec3 p = sn_add_scaled(d->root, digit_rings[k].at * d->length, along);
            p = sn_add_scaled(p, r * ring_side[i], side);
            p = sn_add_scaled(p, r * ring_up[i], up);
            next[i] = sn_cage_point(cage, p);
            sn_cage_values(cage, next[i])[WEIGHT + which] = 1;
        }
        sn_cage_band(cage, AROUND, ring, next, true, 0);
        memcpy(ring, next, sizeof ring);
    }
    sn_cage_cap(cage, 2, ring, 0, sn_scale(0.06 * d->length, along), 0, NULL);
}

/* ---- the palm -------------------------------------------------------------------------------- */

/* Rows from the wrist to the knuckles: place, half width, half thickness. */
static const struct {
    double x, half_width, half_height;
} palm_rows[PALM_ROWS + 1] = {
    {-4.6, 2.2, 1.75}, {-1.2, 2.35, 1.6}, {1.6, 2.95, 1.75},
    {4.0, 3.75, 1.65}, {6.4, 4.15, 1.45}, {8.5, 4.15, 1.2},
};

static sn_vec3 palm_point(int i, int j, int c) {
    double t = 2.0 * c / PALM_COLUMNS - 1; /* -1 little side .. 1 thumb side */
    double edge = t * t * t * t;
    double x = palm_rows[i].x, y = (j - 1) * palm_rows[i].half_height * (1 - 0.42 * edge);
    if (i == PALM_ROWS) x += 0.55 - 0.9 * (t - 0.1) * (t - 0.1); /* knuckles lie on an arch */
    if (i >= 3) y += 0.25 * (1 - t * t) * (i - 2) / 3;
    if (j == 0 && i > 2 && i < PALM_ROWS) y += 0.25 * (1 - t * t); /* hollow of the palm */
    return sn_v3(x, y, t * palm_rows[i].half_width);
}

/* Who moves a place of the palm: neighboring fingers share it. */
static void palm_weights(int c, double *values) {
    double place = c / 2.0 - 0.5; /* 0 little .. 3 index */
    for (int f = LITTLE; f <= INDEX; f++) values[WEIGHT + f] = fmax(0, 1 - fabs(place - f));
    if (c == 0) values[WEIGHT + LITTLE] = 1;
    if (c == PALM_COLUMNS) values[WEIGHT + INDEX] = 1;
}

typedef int palm_grid[PALM_ROWS + 1][3][PALM_COLUMNS + 1];

static void make_palm(sn_cage *cage, palm_grid at) {
    for (int i = 0; i <= PALM_ROWS; i++)
        for (int j = 0; j < 3; j++)
            for (int c = 0; c <= PALM_COLUMNS; c++) {
                bool inside = i < PALM_ROWS && j == 1 && c > 0 && c < PALM_COLUMNS;
                bool under_finger = i == PALM_ROWS && j == 1 && c % 2 == 1;
                bool under_thumb = i == THUMB_ROW + 1 && j == 1 && c == PALM_COLUMNS;
                if (inside || under_finger || under_thumb) continue;
                sn_vec3 p = palm_point(i, j, c);
                at[i][j][c] = sn_cage_point(cage, p);
                palm_weights(c, sn_cage_values(cage, at[i][j][c]));
            }
    for (int i = 0; i < PALM_ROWS; i++)
        for (int c = 0; c < PALM_COLUMNS; c++) { /* back and palm */
            sn_cage_quad(cage, at[i][2][c], at[i][2][c + 1], at[i + 1][2][c + 1], at[i + 1][2][c],
                         0);
            sn_cage_quad(cage, at[i][0][c], at[i + 1][0][c], at[i + 1][0][c + 1], at[i][0][c + 1],
                         0);
        }
    for (int i = 0; i < PALM_ROWS; i++)
        for (int j = 0; j < 2; j++) { /* little side, thumb side around the thumb */
            sn_cage_quad(cage, at[i][j][0], at[i][j + 1][0], at[i + 1][j + 1][0], at[i + 1][j][0],
                         0);
            if (i == THUMB_ROW || i == THUMB_ROW + 1) continue;
            const int c = PALM_COLUMNS;
            sn_cage_quad(cage, at[i][j][c], at[i + 1][j][c], at[i + 1][j + 1][c], at[i][j + 1][c],
                         0);
        }
}

void sn_hand_close_wrist(sn_cage *cage, const int ring[SN_WRIST], double push) {
    const int n = PALM_COLUMNS;
    int at[3][PALM_COLUMNS + 1];
    for (int c = 0; c <= n; c++) {
        at[0][c] = ring[c];
        at[2][c] = ring[2 * n + 2 - c];
        at[1][c] = c == 0 ? ring[2 * n + 3] : c == n ? ring[n + 1] : 0;
    }
    for (int c = 1; c < n; c++) {
        sn_vec3 p = sn_lerp(sn_cage_at(cage, at[0][c]), sn_cage_at(cage, at[2][c]), 0.5);
        p.x += push;
        at[1][c] = sn_cage_point(cage, p);
        memcpy(sn_cage_values(cage, at[1][c]) + WEIGHT, sn_cage_values(cage, at[0][c]) + WEIGHT,
               DIGITS * sizeof(double));
    }
    for (int j = 0; j < 2; j++)
        for (int c = 0; c < n; c++)
            sn_cage_quad(cage, at[j][c], at[j][c + 1], at[j + 1][c + 1], at[j + 1][c], 0);
}

void sn_hand_cage(sn_cage *cage, int wrist[SN_WRIST]) {
    palm_grid at;
    make_palm(cage, at);
    for (int k = 0; k <= PALM_COLUMNS; k++) {
        wrist[k] = at[0][0][k];
        wrist[2 * PALM_COLUMNS + 2 - k] = at[0][2][k];
    }
    wrist[PALM_COLUMNS + 1] = at[0][1][PALM_COLUMNS];
    wrist[2 * PALM_COLUMNS + 3] = at[0][1][0];
    for (int f = LITTLE; f <= INDEX; f++) {
        int c = 2 * f;
        int(*front)[PALM_COLUMNS + 1] = at[PALM_ROWS];
        int ring[AROUND] = {front[0][c + 2], front[0][c + 1], front[0][c],     front[1][c],
                            front[2][c],     front[2][c + 1], front[2][c + 2], front[1][c + 2]};
        grow(cage, f, ring, sn_v3(0, 0, -1));
    }
    const int c = PALM_COLUMNS;
    const int r = THUMB_ROW;
    int ring[AROUND] = {at[r][0][c],     at[r + 1][0][c], at[r + 2][0][c], at[r + 2][1][c],
                        at[r + 2][2][c], at[r + 1][2][c], at[r][2][c],     at[r][1][c]};
    for (int i = 0; i < AROUND; i++) { /* the ball of the thumb goes along with it */
        double *values = sn_cage_values(cage, ring[i]);
        for (int f = 0; f < DIGITS; f++) values[WEIGHT + f] *= 0.5;
        values[WEIGHT + THUMB] = 0.5;
    }
    grow(cage, THUMB, ring, sn_v3(1, 0, 0));
}

/* ---- poses ----------------------------------------------------------------------------------- */

typedef struct digit_pose {
    double flex[JOINTS]; /* degrees towards the palm */
    sn_vec3 turn;        /* rotation vector at the root, degrees */
} digit_pose;

typedef struct hand_pose {
    const char *name;
    digit_pose digits[DIGITS];
} hand_pose;

#define STRAIGHT                                                                                   \
    {                                                                                              \
        {0, 0, 0}, {                                                                               \
            0, 0, 0                                                                                \
        }                                                                                          \
    }
static const hand_pose poses[] = {
    {"open",
     {[LITTLE] = {{-6, -4, 0}, {0, 12, 0}},
      [RING] = {{-8, -4, 0}, {0, 5, 0}},
      [MIDDLE] = {{-8, -4, 0}, {0, 0, 0}},
      [INDEX] = {{-8, -4, 0}, {0, -7, 0}},
      [THUMB] = {{-8, -10, -12}, {0, -16, 0}}}},
    {"relaxed",
     {[LITTLE] = {{32, 38, 22}, {0, 0, 0}},
      [RING] = {{28, 36, 20}, {0, 0, 0}},
      [MIDDLE] = {{24, 32, 18}, {0, 0, 0}},
      [INDEX] = {{18, 26, 15}, {0, 0, 0}},
      [THUMB] = {{8, 12, 12}, {0, 6, 0}}}},
    {"fist",
     {[LITTLE] = {{86, 102, 76}, {0, -5, 0}},
      [RING] = {{86, 104, 76}, {0, -2, 0}},
      [MIDDLE] = {{84, 104, 76}, {0, 0, 0}},
      [INDEX] = {{82, 102, 74}, {0, 3, 0}},
      [THUMB] = {{74, 6.5, 50}, {10.5, -53.5, -5}}}},
    {"point",
     {[LITTLE] = {{86, 102, 76}, {0, -5, 0}},
      [RING] = {{86, 104, 76}, {0, -2, 0}},
      [MIDDLE] = {{84, 104, 76}, {0, 0, 0}},
      [INDEX] = {{2, 4, 2}, {0, 0, 0}},
      [THUMB] = {{45, 13, -5}, {16, -18, 24}}}},
    {"pinch",
     {[LITTLE] = {{26, 30, 16}, {0, 0, 0}},
      [RING] = {{32, 36, 20}, {0, 0, 0}},
      [MIDDLE] = {{38, 42, 24}, {0, 0, 0}},
      [INDEX] = {{70, 61, 15}, {0, 0, 0}},
      [THUMB] = {{43, -5, -5}, {61, -58, -2}}}},
    {"thumbUp",
     {[LITTLE] = {{86, 102, 76}, {0, -5, 0}},
      [RING] = {{86, 104, 76}, {0, -2, 0}},
      [MIDDLE] = {{84, 104, 76}, {0, 0, 0}},
      [INDEX] = {{82, 102, 74}, {0, 3, 0}},
      [THUMB] = {{-6, -12, -18}, {0, -32, 0}}}},
};
enum { POSES = sizeof poses / sizeof *poses };

typedef struct chain {
    sn_vec3 along, up, side, turn;
    double axis;
    sn_spine spine;
} chain;

static void bend_digit(const digit *d, const digit_pose *pose, chain *c) {
    c->along = sn_normalize(d->along);
    c->up = sn_normalize(sn_add_scaled(d->up, -sn_dot(d->up, c->along), c->along));
    c->side = sn_cross(c->along, c->up);
    c->turn = sn_scale(SN_PI / 180, pose->turn);
    c->axis = -AXIS * d->radius;
    sn_joint joints[JOINTS];
    for (int j = 0; j < JOINTS; j++) {
        double at = BEFORE + d->joints[j] * d->length;
        joints[j] = (sn_joint){at - ARC[j], at + ARC[j], sn_radians(-pose->flex[j]), 0, 0};
    }
    sn_spine_set(&c->spine, BEFORE + d->length, JOINTS, joints);
}

static sn_vec3 place(const digit *d, const chain *c, sn_vec3 p) {
    sn_vec3 q = sn_sub(p, d->root);
    double s = sn_dot(q, c->along), up = sn_dot(q, c->up), side = sn_dot(q, c->side);
    sn_vec3 bent = sn_spine_place(&c->spine, sn_v3(s + BEFORE, up - c->axis, side));
    sn_vec3 r = sn_scale(bent.x - BEFORE, c->along);
    r = sn_add_scaled(r, bent.y + c->axis, c->up);
    r = sn_add_scaled(r, side, c->side);
    double share = sn_smooth((s + 1.6) / 2.8); /* the root turns over a soft stretch of the palm */
    r = sn_mat3_apply(sn_rotation_exp(sn_scale(share, c->turn)), r);
    return sn_add(d->root, r);
}

static sn_vec3 pose_vertex(const double *values, const chain *chains) {
    sn_vec3 p = sn_v3(values[0], values[1], values[2]), sum = sn_v3(0, 0, 0);
    double total = 0;
    for (int f = 0; f < DIGITS; f++) {
        double w = values[WEIGHT + f];
        if (w < 1e-9) continue;
        sum = sn_add_scaled(sum, w, place(&digits[f], &chains[f], p));
        total += w;
    }
    return total > 0 ? sn_scale(1 / total, sum) : p;
}

static void pose_all(const sn_fine *fine, const hand_pose *pose, chain *chains, double *positions) {
    for (int f = 0; f < DIGITS; f++) bend_digit(&digits[f], &pose->digits[f], &chains[f]);
    for (int v = 0; v < fine->vertex_count; v++)
        sn_put(positions, v, pose_vertex(fine->values + (size_t)v * CHANNELS, chains));
}

sinew_status sn_hand_pose(const sn_fine *fine, const char *pose, double *positions,
                          sinew_error *error) {
    chain *chains = SN_NEW(chain, DIGITS);
    if (!chains) return sn_no_memory(error);
    for (int p = 0; p < POSES; p++)
        if (strcmp(poses[p].name, pose) == 0) pose_all(fine, &poses[p], chains, positions);
    sn_free(chains);
    return SINEW_OK;
}

static sinew_status add_poses(const sn_fine *fine, sinew_rig *rig, sinew_error *error) {
    size_t count = 3 * (size_t)fine->vertex_count;
    double *posed = SN_NEW(double, count);
    sinew_status status = posed ? SINEW_OK : sn_no_memory(error);
    for (int p = 0; p < POSES && status == SINEW_OK; p++) {
        status = sn_hand_pose(fine, poses[p].name, posed, error);
        if (status == SINEW_OK)
            status = sn_relax(fine->vertex_count, rig->neutral->triangle_count,
                              rig->neutral->triangles, POSED_ANGLE, NULL, posed, error);
        for (size_t i = 0; i < count; i++) posed[i] *= METRES;
        if (status == SINEW_OK) status = sinew_rig_add_pose(rig, poses[p].name, posed, error);
    }
    sn_free(posed);
    return status;
}

/* ---- the rig --------------------------------------------------------------------------------- */

static const char *const digit_names[DIGITS] = {"little", "ring", "middle", "index", "thumb"};

typedef struct question {
    const sn_fine *fine;
    int digit; /* -1: the wrist */
} question;

static bool belongs(int vertex, const double *position, const void *user) {
    const question *q = user;
    if (q->digit < 0) return position[0] < 0.5 * METRES;
    return q->fine->values[(size_t)vertex * CHANNELS + WEIGHT + (size_t)q->digit] > 0.999 &&
           (q->digit == THUMB || position[0] > 8.6 * METRES);
}

static sinew_status add_regions(const sn_fine *fine, sinew_rig *rig, sinew_error *error) {
    question q = {fine, -1};
    SN_TRY(sn_add_region(rig, "wrist", belongs, &q, error));
    for (q.digit = 0; q.digit < DIGITS; q.digit++)
        SN_TRY(sn_add_region(rig, digit_names[q.digit], belongs, &q, error));
    return SINEW_OK;
}

sinew_status sn_sample_hand(int vertices, sinew_rig **rig, sinew_error *error) {
    sn_cage cage;
    sn_fine fine;
    sn_cage_start(&cage, CHANNELS);
    int wrist[SN_WRIST];
    sn_hand_cage(&cage, wrist);
    sn_hand_close_wrist(&cage, wrist, -0.7);
    sinew_status status = sn_cage_refine(&cage, sn_cage_cells(&cage, vertices), &fine, error);
    sn_cage_destroy(&cage);
    SN_TRY(status);
    sinew_rig *made = NULL;
    status = sn_fine_rig(&fine, "hand", METRES, &made, error);
    if (status == SINEW_OK) status = add_poses(&fine, made, error);
    if (status == SINEW_OK) status = add_regions(&fine, made, error);
    sn_fine_destroy(&fine);
    if (status != SINEW_OK)
        sinew_rig_destroy(made);
    else
        *rig = made;
    return status;
}
