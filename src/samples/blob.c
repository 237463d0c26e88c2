/* A soft creature for dynamic motion: an egg of a body with long ears and a tail that
 * swing. Closed surface, mirrored about x = 0, front +z. Centimetres inside. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "samples/builders.h"
#include "samples/cage.h"
#include "samples/spine.h"

static const double METRES = 0.01;

enum { COLUMNS = 13, ROWS = 10 }; /* of the left half: column 0 front, 12 back; row 0 lowest */
enum { EAR = 3, TAIL, CHANNELS };

/* Rings of the body: height, half width, half depth, how far forward. */
static const struct {
    double y, width, depth, forward;
} rows[ROWS] = {
    {1.2, 4.2, 3.9, 0.2},  {2.4, 6.6, 6.2, 0.1},  {4.6, 8.3, 7.8, 0.0},  {7.2, 8.9, 8.2, 0.0},
    {9.8, 8.5, 7.8, 0.1},  {12.4, 7.6, 7.0, 0.3}, {14.8, 6.9, 6.5, 0.5}, {17.2, 6.3, 5.9, 0.6},
    {19.4, 5.0, 4.6, 0.6}, {20.9, 3.0, 2.8, 0.5},
};

/* The left ear grows from rows 7-9, columns 5-7; the tail from rows 1-3 of the back. */
static const sn_vec3 EAR_ROOT = {4.1, 18.9, 0.4}, EAR_ALONG = {0.46, 0.88, -0.08};
static const sn_vec3 TAIL_ROOT = {0, 5.6, -8.0}, TAIL_ALONG = {0, 0.35, -0.94};
static const double EAR_LENGTH = 13, TAIL_LENGTH = 13;

static sn_vec3 body_point(int r, int c) {
    double a = SN_PI * c / (COLUMNS - 1);
    sn_vec3 p = sn_v3(rows[r].width * sin(a), rows[r].y, rows[r].forward + rows[r].depth * cos(a));
    if (c == 0 || c == COLUMNS - 1) p.x = 0;
    return p;
}

typedef int body_grid[ROWS][COLUMNS];

/* Closes the left half of a ring of 2 n + 1 points (n even) that starts and ends on the mirror
 * plane; runs counter-clockwise from outside when `up` is 1. */
static void close_end(sn_cage *cage, const int *ring, double lift, int up) {
    enum { N = 6, HALF = 3 };
    int at[N + 1][HALF + 1];
    sn_vec3 front = sn_cage_at(cage, ring[0]), back = sn_cage_at(cage, ring[2 * N]);
    for (int j = 0; j <= N; j++)
        for (int i = 0; i <= HALF; i++) {
            if (j == 0)
                at[j][i] = ring[i];
            else if (j == N)
                at[j][i] = ring[2 * N - i];
            else if (i == HALF)
                at[j][i] = ring[HALF + j];
            else {
                double v = (double)j / N, u = (double)i / HALF;
                sn_vec3 edge = sn_cage_at(cage, ring[HALF + j]);
                sn_vec3 p = sn_lerp(sn_lerp(front, back, v), edge, u);
                /* columns bow out towards the ring's round front and back */
                sn_vec3 bottom = sn_cage_at(cage, ring[i]), top = sn_cage_at(cage, ring[2 * N - i]);
                p.z = (1 - v) * bottom.z + v * top.z;
                p.x = u * edge.x;
                p.y += lift * (1 - u * u) * 4 * v * (1 - v);
                at[j][i] = sn_cage_point(cage, p);
            }
        }
    for (int j = 0; j < N; j++)
        for (int i = 0; i < HALF; i++) {
            if (up)
                sn_cage_quad(cage, at[j][i], at[j][i + 1], at[j + 1][i + 1], at[j + 1][i], 0);
            else
                sn_cage_quad(cage, at[j][i], at[j + 1][i], at[j + 1][i + 1], at[j][i + 1], 0);
        }
}

/* Cells left open for what grows out of them. */
static bool in_hole(int r, int c) {
    bool ear = (r == 7 || r == 8) && (c == 5 || c == 6);
    bool tail = (r == 1 || r == 2) && c == COLUMNS - 2;
    return ear || tail;
}

/* Ring i of a limb, `count` points with angles from `first` to `last`. */
typedef struct limb_ring {
    double at, wide, thick; /* fraction of the length; half sizes */
} limb_ring;

static const limb_ring ear_rings[] = {
    {0.14, 1.25, 1.0},  {0.27, 1.6, 0.95}, {0.42, 2.0, 0.9},
    {0.62, 1.95, 0.85}, {0.80, 1.5, 0.75}, {0.93, 0.85, 0.5},
};
static const limb_ring tail_rings[] = {
    {0.05, 1.9, 1.9},   {0.20, 1.55, 1.55}, {0.38, 1.3, 1.3}, {0.56, 1.25, 1.25},
    {0.74, 1.55, 1.55}, {0.88, 1.6, 1.6},   {0.97, 1.0, 1.0},
};

static void grow_ear(sn_cage *cage, body_grid at) {
    /* counter-clockwise from outside, starting at the lower front corner */
    int ring[8] = {at[7][5], at[7][6], at[7][7], at[8][7], at[9][7], at[9][6], at[9][5], at[8][5]};
    static const double side[8] = {-0.8, 0, 0.8, 1.05, 0.8, 0, -0.8, -1.05};
    static const double up[8] = {-0.8, -1.05, -0.8, 0, 0.8, 1.05, 0.8, 0};
    sn_vec3 along = sn_normalize(EAR_ALONG);
    sn_vec3 right = sn_normalize(sn_add_scaled(sn_v3(0, 0, -1), along.z, along)); /* backwards */
    sn_vec3 over = sn_cross(along, right);
    for (size_t k = 0; k < sizeof ear_rings / sizeof *ear_rings; k++) {
        int next[8];
        for (int i = 0; i < 8; i++) {
            sn_vec3 p = sn_add_scaled(EAR_ROOT, ear_rings[k].at * EAR_LENGTH, along);
            p = sn_add_scaled(p, ear_rings[k].thick * side[i], right);
            p = sn_add_scaled(p, ear_rings[k].wide * up[i], over);
            next[i] = sn_cage_point(cage, p);
            sn_cage_values(cage, next[i])[EAR] = 1;
        }
        sn_cage_band(cage, 8, ring, next, true, 0);
        memcpy(ring, next, sizeof ring);
    }
    sn_cage_cap(cage, 2, ring, 0, sn_scale(0.8, along), 0, NULL);
}

/* The left half of the tail: 5 points from its lower to its upper edge over the left side. */
static void grow_tail(sn_cage *cage, body_grid at) {
    enum { HALF = 5 };
    const int c = COLUMNS - 1;
    int ring[HALF] = {at[1][c], at[1][c - 1], at[2][c - 1], at[3][c - 1], at[3][c]};
    sn_vec3 along = sn_normalize(TAIL_ALONG), left = sn_v3(1, 0, 0), up = sn_cross(left, along);
    if (up.y < 0) up = sn_scale(-1, up);
    for (size_t k = 0; k < sizeof tail_rings / sizeof *tail_rings; k++) {
        int next[HALF];
        for (int i = 0; i < HALF; i++) {
            double a = SN_PI * i / (HALF - 1);
            sn_vec3 p = sn_add_scaled(TAIL_ROOT, tail_rings[k].at * TAIL_LENGTH, along);
            p = sn_add_scaled(p, tail_rings[k].wide * sin(a), left);
            p = sn_add_scaled(p, -tail_rings[k].thick * cos(a), up);
            if (i == 0 || i == HALF - 1) p.x = 0;
            next[i] = sn_cage_point(cage, p);
            sn_cage_values(cage, next[i])[TAIL] = 1;
        }
        for (int i = 0; i + 1 < HALF; i++)
            sn_cage_quad(cage, ring[i], next[i], next[i + 1], ring[i + 1], 0);
        memcpy(ring, next, sizeof ring);
    }
    sn_vec3 tip = sn_add_scaled(TAIL_ROOT, 1.03 * TAIL_LENGTH, along);
    int middle = sn_cage_point(cage, tip);
    sn_cage_values(cage, middle)[TAIL] = 1;
    sn_cage_quad(cage, ring[0], middle, ring[2], ring[1], 0);
    sn_cage_quad(cage, middle, ring[4], ring[3], ring[2], 0);
}

/* Swellings of the refined skin: eyes, muzzle, feet. */
static const struct {
    sn_vec3 at, push; /* push: at full strength */
    double radius;
} swellings[] = {
    {{2.3, 15.6, 6.3}, {0.35, 0.1, 1.05}, 1.5},
    {{0, 13.2, 7.4}, {0, -0.1, 1.3}, 2.9},
    {{4.4, 1.6, 5.2}, {0.5, -0.6, 2.4}, 3.4},
    {{6.4, 10.2, 4.6}, {1.3, -0.3, 1.3}, 2.6},
};

static void swell(sn_fine *fine) {
    for (int v = 0; v < fine->vertex_count; v++) {
        double *values = fine->values + (size_t)v * CHANNELS;
        sn_vec3 p = sn_v3(values[0], values[1], values[2]), q = p;
        for (size_t k = 0; k < sizeof swellings / sizeof *swellings; k++)
            for (int side = -1; side <= 1; side += 2) {
                if (swellings[k].at.x == 0 && side < 0) continue;
                sn_vec3 at = swellings[k].at, push = swellings[k].push;
                at.x *= side, push.x *= side;
                double d = sn_distance(p, at) / swellings[k].radius;
                if (d < 1) q = sn_add_scaled(q, (1 - d * d * d) * (1 - d * d * d), push);
            }
        values[0] = q.x, values[1] = q.y, values[2] = q.z;
    }
}

static void make_cage(sn_cage *cage) {
    body_grid at;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            bool inside_ear = r == 8 && c == 6, inside_tail = r == 2 && c == COLUMNS - 1;
            if (!inside_ear && !inside_tail) at[r][c] = sn_cage_point(cage, body_point(r, c));
        }
    for (int r = 0; r + 1 < ROWS; r++)
        for (int c = 0; c + 1 < COLUMNS; c++)
            if (!in_hole(r, c))
                sn_cage_quad(cage, at[r][c], at[r][c + 1], at[r + 1][c + 1], at[r + 1][c], 0);
    close_end(cage, at[ROWS - 1], 0.9, 1);
    close_end(cage, at[0], -0.3, 0);
    grow_ear(cage, at);
    grow_tail(cage, at);
    /* whatever bounds a limb yields with it a little */
    const int around_ear[8] = {at[7][5], at[7][6], at[7][7], at[8][7],
                               at[9][7], at[9][6], at[9][5], at[8][5]};
    for (int i = 0; i < 8; i++) sn_cage_values(cage, around_ear[i])[EAR] = 0.35;
    const int c = COLUMNS - 1;
    const int around_tail[5] = {at[1][c], at[1][c - 1], at[2][c - 1], at[3][c - 1], at[3][c]};
    for (int i = 0; i < 5; i++) sn_cage_values(cage, around_tail[i])[TAIL] = 0.35;
}

/* ---- poses ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double squash, lean, turn;  /* height factor, sideways and twisting degrees */
    double ear_left, ear_right; /* degrees, forward is positive */
    double tail;                /* degrees, up is positive */
    double wag;                 /* degrees, to the left */
} poses[] = {
    {"squash", 0.72, 0, 0, -25, -25, -20, 0}, {"stretch", 1.25, 0, 0, 15, 15, 25, 0},
    {"leanLeft", 1, 32, 0, 40, 25, 10, -35},  {"leanRight", 1, -32, 0, 25, 40, 10, 35},
    {"earsForward", 1, 0, 0, 95, 95, 0, 0},   {"earsBack", 1, 0, 0, -70, -70, 0, 0},
    {"tailUp", 1, 0, 0, 0, 0, 80, 0},         {"lookAround", 1, 0, 50, 30, -30, 0, 55},
};
enum { POSES = sizeof poses / sizeof *poses };

/* Bends what lies along a limb by `degrees` in the plane of its direction and `towards`. */
static sn_vec3 bend_limb(const sn_spine *spine, sn_vec3 p, sn_vec3 root, sn_vec3 along,
                         sn_vec3 towards) {
    along = sn_normalize(along);
    towards = sn_normalize(sn_add_scaled(towards, -sn_dot(towards, along), along));
    sn_vec3 side = sn_cross(along, towards), q = sn_sub(p, root);
    sn_vec3 bent =
        sn_spine_place(spine, sn_v3(sn_dot(q, along), sn_dot(q, towards), sn_dot(q, side)));
    sn_vec3 r = sn_add_scaled(root, bent.x, along);
    return sn_add_scaled(sn_add_scaled(r, bent.y, towards), bent.z, side);
}

typedef struct bends {
    sn_spine ear[2], tail, wag, lean;
} bends;

/* The whole body squashes with its volume kept, leans along a bent axis and twists. */
static sn_vec3 pose_body(int pose, const bends *b, sn_vec3 p) {
    double s = poses[pose].squash, across = 1 / sqrt(s), t = sn_smooth(p.y / 14);
    across = 1 + (across - 1) * sn_smooth((p.y + 2) / 6);
    p = sn_v3(p.x * across, p.y * s, p.z * across);
    sn_vec3 up = sn_spine_place(&b->lean, sn_v3(p.y, p.x, p.z));
    p = sn_v3(up.y, up.x, up.z);
    double a = sn_radians(poses[pose].turn) * t, c = cos(a), d = sin(a);
    return sn_v3(c * p.x + d * p.z, p.y, c * p.z - d * p.x);
}

static sn_vec3 pose_vertex(int pose, const bends *b, const double *values) {
    sn_vec3 p = sn_v3(values[0], values[1], values[2]);
    if (values[EAR] > 1e-9) {
        int right = p.x < 0;
        sn_vec3 root = EAR_ROOT, along = EAR_ALONG;
        if (right) root.x = -root.x, along.x = -along.x;
        sn_vec3 q = bend_limb(&b->ear[right], p, root, along, sn_v3(0, 0, 1));
        p = sn_lerp(p, q, values[EAR]);
    }
    if (values[TAIL] > 1e-9) {
        sn_vec3 q = bend_limb(&b->tail, p, TAIL_ROOT, TAIL_ALONG, sn_v3(0, 1, 0));
        sn_vec3 flat = sn_v3(q.x, q.y, q.z);
        q = bend_limb(&b->wag, flat, TAIL_ROOT, TAIL_ALONG, sn_v3(1, 0, 0));
        p = sn_lerp(p, q, values[TAIL]);
    }
    return pose_body(pose, b, p);
}

static void set_bends(int pose, bends *b) {
    const double ear[2] = {poses[pose].ear_left, poses[pose].ear_right};
    for (int right = 0; right < 2; right++) {
        sn_joint joint = {0.5, EAR_LENGTH, sn_radians(ear[right]), 0, 1};
        sn_spine_set(&b->ear[right], EAR_LENGTH, 1, &joint);
    }
    sn_joint tail = {0.5, TAIL_LENGTH, sn_radians(poses[pose].tail), 0, 1};
    sn_spine_set(&b->tail, TAIL_LENGTH, 1, &tail);
    sn_joint wag = {0.5, TAIL_LENGTH, sn_radians(poses[pose].wag), 0, 1};
    sn_spine_set(&b->wag, TAIL_LENGTH, 1, &wag);
    sn_joint lean = {2, 24, sn_radians(poses[pose].lean), 0, 1};
    sn_spine_set(&b->lean, 34, 1, &lean);
}

static sinew_status add_poses(const sn_fine *fine, sinew_rig *rig, sinew_error *error) {
    bends *b = SN_NEW(bends, 1);
    double *posed = SN_NEW(double, 3 * (size_t)fine->vertex_count);
    sinew_status status = b && posed ? SINEW_OK : sn_no_memory(error);
    for (int p = 0; p < POSES && status == SINEW_OK; p++) {
        set_bends(p, b);
        for (int v = 0; v < fine->vertex_count; v++)
            sn_put(posed, v,
                   sn_scale(METRES, pose_vertex(p, b, fine->values + (size_t)v * CHANNELS)));
        status = sinew_rig_add_pose(rig, poses[p].name, posed, error);
    }
    sn_free(b);
    sn_free(posed);
    return status;
}

/* ---- the rig --------------------------------------------------------------------------------- */

typedef struct question {
    const sn_fine *fine;
    int channel; /* 0: the underside */
} question;

static bool belongs(int vertex, const double *position, const void *user) {
    const question *q = user;
    if (q->channel == 0) return position[1] < 2 * METRES;
    return q->fine->values[(size_t)vertex * CHANNELS + (size_t)q->channel] > 0.9;
}

sinew_status sn_sample_blob(int vertices, sinew_rig **rig, sinew_error *error) {
    sn_cage cage;
    sn_fine fine;
    sn_cage_start(&cage, CHANNELS);
    make_cage(&cage);
    sn_cage_mirror(&cage, NULL);
    sinew_status status = sn_cage_refine(&cage, sn_cage_cells(&cage, vertices), &fine, error);
    sn_cage_destroy(&cage);
    SN_TRY(status);
    swell(&fine);
    sinew_rig *made = NULL;
    status = sn_fine_rig(&fine, "blob", METRES, &made, error);
    if (status == SINEW_OK) status = add_poses(&fine, made, error);
    question ground = {&fine, 0}, ears = {&fine, EAR}, tail = {&fine, TAIL};
    if (status == SINEW_OK) status = sn_add_region(made, "ground", belongs, &ground, error);
    if (status == SINEW_OK) status = sn_add_region(made, "ears", belongs, &ears, error);
    if (status == SINEW_OK) status = sn_add_region(made, "tail", belongs, &tail, error);
    sn_fine_destroy(&fine);
    if (status != SINEW_OK)
        sinew_rig_destroy(made);
    else
        *rig = made;
    return status;
}
