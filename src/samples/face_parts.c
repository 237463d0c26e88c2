/* What the skin is closed over: eyeballs, teeth and tongue. Each is a closed surface of its own
 * that touches nothing in the neutral. Centimetres. */
#include "samples/face.h"

#include <math.h>

#include "samples/builders.h"

enum { SIDES = 12 };

/* Rings about the line of sight, degrees from the front. The second lies on the edge of the iris.
 */
static const double eye_rings[] = {13, 27, 45, 68, 95, 125, 152};
enum { EYE_RINGS = sizeof eye_rings / sizeof *eye_rings };

static void set_all(sn_cage *cage, int from, int channel, double value) {
    for (int p = from; p < cage->point_count; p++) sn_cage_values(cage, p)[channel] = value;
}

void sn_face_eyeball(sn_cage *cage) {
    int ring[EYE_RINGS][SIDES], flipped[SIDES];
    for (int k = 0; k < EYE_RINGS; k++)
        for (int i = 0; i < SIDES; i++) {
            double a = sn_radians(eye_rings[k]), b = 2 * SN_PI * i / SIDES;
            sn_vec3 d = sn_v3(sin(a) * cos(b), sin(a) * sin(b), cos(a));
            ring[k][i] = sn_cage_point(cage, sn_add_scaled(SN_EYE, SN_EYE_RADIUS, d));
        }
    for (int k = EYE_RINGS - 1; k > 0; k--)
        sn_cage_band(cage, SIDES, ring[k], ring[k - 1], true, SN_PART_EYE_LEFT);
    sn_cage_cap(cage, 3, ring[0], 0, sn_v3(0, 0, 0.05), SN_PART_EYE_LEFT, NULL);
    for (int i = 0; i < SIDES; i++) flipped[i] = ring[EYE_RINGS - 1][SIDES - 1 - i];
    sn_cage_cap(cage, 3, flipped, 0, sn_v3(0, 0, -0.2), SN_PART_EYE_LEFT, NULL);
}

/* Half a dental arch: a parabola-like curve from the front at x = 0 to the last tooth. */
static sn_vec3 arch_point(double t, double half_width, double depth, double front) {
    double x = half_width * sin(0.5 * SN_PI * t * 0.96);
    return sn_v3(x, 0,
                 front - depth * pow(x / half_width, 2.4) - (t > 0.8 ? (t - 0.8) * depth : 0));
}

/* Teeth from the middle of the mouth backwards: two incisors, the canine, two premolars, a molar.
 * Widths are relative; `longer` is beyond the others, centimetres. */
static const struct {
    double width, longer;
} tooth[] = {{1.0, 0.05}, {0.8, -0.02}, {0.9, 0.06}, {0.85, 0}, {0.85, 0}, {1.3, 0}};
enum { TEETH = sizeof tooth / sizeof *tooth, STATIONS = 3, ALONG = STATIONS * TEETH + 1 };
/* Cage points of the grooves between teeth lie this far inside the others, and their edges this far
 * from the bite; smoothing leaves half of it. */
static const double GROOVE = 0.24, NOTCH = 0.16;
/* The shoulders of a tooth stand this fraction of its width from the grooves. */
static const double SHOULDER = 0.2;

/* Places along the arch, by its length: groove, shoulder, shoulder of each tooth, the last groove.
 */
static void tooth_places(double half_width, double depth, double front, double t[ALONG]) {
    enum { STEPS = 400 };
    double length[STEPS + 1] = {0}, widths = 0, before = 0;
    for (int i = 1; i <= STEPS; i++)
        length[i] = length[i - 1] +
                    sn_length(sn_sub(arch_point((double)i / STEPS, half_width, depth, front),
                                     arch_point((i - 1.0) / STEPS, half_width, depth, front)));
    for (int k = 0; k < TEETH; k++) widths += tooth[k].width;
    for (int i = 0, at = 0; i < ALONG; i++) {
        const double share[STATIONS] = {0, SHOULDER, 1 - SHOULDER};
        double width = i + 1 < ALONG ? tooth[i / STATIONS].width : 0;
        double along = (before + share[i % STATIONS] * width) / widths;
        if (i % STATIONS == STATIONS - 1) before += width;
        while (at < STEPS && length[at] < along * length[STEPS]) at++;
        t[i] = (double)at / STEPS;
    }
}

/* `bite`: how much longer the front teeth are than the others; `sink`: how much of their height the
 * last ones have lost to the gum. The jaw turns about the ears, so that the back of the lower arch
 * hardly leaves the upper one: teeth of full height would show in the corners of an open mouth. */
static void teeth(sn_cage *cage, double edge, double root, double bite, double sink, double front,
                  double half_width, double depth, int part) {
    enum { AROUND = 6 };
    int ring[ALONG][AROUND];
    double sign = root > edge ? 1 : -1, height = fabs(root - edge), place[ALONG];
    /* cross-section: out of the arch, from the biting edge; how much of a groove is there */
    const double out[AROUND] = {0.0, 0.08, 0.10, -0.36, -0.38, -0.22};
    const double up[AROUND] = {0.0, 0.35, 1.0, 1.0, 0.45, 0.02};
    const double groove[AROUND] = {0.6, 1, 0.35, 0, 0, 0};
    const double notch[AROUND] = {1, 0.3, 0, 0, 0, 1};
    tooth_places(half_width, depth, front, place);
    for (int i = 0; i < ALONG; i++) {
        double t = place[i];
        sn_vec3 p = arch_point(t, half_width, depth, front);
        sn_vec3 q = arch_point(t + 0.02, half_width, depth, front);
        sn_vec3 along = i ? sn_normalize(sn_sub(q, p)) : sn_v3(1, 0, 0);
        sn_vec3 normal = sn_v3(-along.z, 0, along.x);
        double thick = 1 + 0.5 * t;
        bool between = i % STATIONS == 0;
        for (int k = 0; k < AROUND; k++) {
            /* a little outwards everywhere keeps the faces of the teeth in their place */
            double inset = groove[k] * GROOVE * ((between ? 1 : 0) - 1.0 / 6);
            sn_vec3 v = sn_add_scaled(p, out[k] * (out[k] < 0 ? thick : 1) - inset, normal);
            double lost = sink * sn_smooth((t - 0.3) / 0.6);
            v.y = edge + sign * height * (up[k] + (1 - up[k]) * lost);
            if (k == 0 || k == AROUND - 1) v.y -= bite * (1 - sn_smooth((t - 0.15) / 0.5));
            v.y += sign * notch[k] * NOTCH * ((between ? 1 : 0) - 1.0 / 6);
            if (!between) v.y -= sign * notch[k] * tooth[i / STATIONS].longer;
            if (i == 0) v.x = 0;
            ring[i][k] = sn_cage_point(cage, v);
            sn_cage_values(cage, ring[i][k])[SN_FACE_LIP] = t; /* place along the arch */
        }
    }
    for (int i = 0; i + 1 < ALONG; i++)
        for (int k = 0; k < AROUND; k++) {
            int l = (k + 1) % AROUND;
            if (sign > 0)
                sn_cage_quad(cage, ring[i][k], ring[i + 1][k], ring[i + 1][l], ring[i][l], part);
            else
                sn_cage_quad(cage, ring[i][l], ring[i + 1][l], ring[i + 1][k], ring[i][k], part);
        }
    const int *end = ring[ALONG - 1];
    if (sign > 0) {
        sn_cage_quad(cage, end[0], end[5], end[2], end[1], part);
        sn_cage_quad(cage, end[5], end[4], end[3], end[2], part);
    } else {
        sn_cage_quad(cage, end[1], end[2], end[5], end[0], part);
        sn_cage_quad(cage, end[2], end[3], end[4], end[5], part);
    }
}

/* Half of the tongue: rings from the root to the tip, 7 points each from the bottom middle to the
 * top middle. */
static const struct {
    double z, y, half_width, half_height;
} tongue_rings[] = {
    {3.6, -7.8, 1.15, 0.5},  {4.4, -7.5, 1.3, 0.6},    {5.2, -7.35, 1.25, 0.55},
    {6.0, -7.3, 1.05, 0.45}, {6.6, -7.35, 0.75, 0.32}, {7.0, -7.4, 0.4, 0.2},
};
enum { TONGUE_RINGS = sizeof tongue_rings / sizeof *tongue_rings, TONGUE_HALF = 5 };

static void tongue(sn_cage *cage) {
    int ring[TONGUE_RINGS][TONGUE_HALF];
    for (int k = 0; k < TONGUE_RINGS; k++)
        for (int i = 0; i < TONGUE_HALF; i++) {
            double a = SN_PI * i / (TONGUE_HALF - 1);
            double x = tongue_rings[k].half_width * sin(a);
            double y = tongue_rings[k].y - tongue_rings[k].half_height * cos(a);
            if (i == TONGUE_HALF - 1) y -= 0.25 * tongue_rings[k].half_height; /* furrow */
            ring[k][i] = sn_cage_point(
                cage, sn_v3(i == 0 || i == TONGUE_HALF - 1 ? 0 : x, y, tongue_rings[k].z));
            sn_cage_values(cage, ring[k][i])[SN_FACE_LIP] = (double)k / (TONGUE_RINGS - 1);
        }
    for (int k = 0; k + 1 < TONGUE_RINGS; k++)
        sn_cage_band(cage, TONGUE_HALF, ring[k], ring[k + 1], false, SN_PART_TONGUE);
    const int *tip = ring[TONGUE_RINGS - 1], *root = ring[0];
    int middle = sn_cage_point(cage, sn_v3(0, tongue_rings[TONGUE_RINGS - 1].y, 7.15));
    sn_cage_values(cage, middle)[SN_FACE_LIP] = 1;
    sn_cage_quad(cage, tip[0], tip[1], tip[2], middle, SN_PART_TONGUE);
    sn_cage_quad(cage, middle, tip[2], tip[3], tip[4], SN_PART_TONGUE);
    middle = sn_cage_point(cage, sn_v3(0, tongue_rings[0].y, 3.45));
    sn_cage_quad(cage, middle, root[2], root[1], root[0], SN_PART_TONGUE);
    sn_cage_quad(cage, root[4], root[3], root[2], middle, SN_PART_TONGUE);
}

void sn_face_mouth_parts(sn_cage *cage) {
    teeth(cage, -6.6, -5.1, 0.4, 0, 8.38, 2.3, 3.2, SN_PART_TEETH_UPPER);
    int lower = cage->point_count;
    teeth(cage, -6.78, -8.0, 0, 0.85, 7.7, 2.1, 2.7, SN_PART_TEETH_LOWER);
    tongue(cage);
    set_all(cage, lower, SN_FACE_JAW, 1);
}

/* From the nose outwards: middle of the hairs, half their height. */
static const struct {
    double x, y, half_height;
} brow_stations[] = {
    {0.95, 3.35, 0.26}, {1.5, 3.53, 0.42},  {2.3, 3.78, 0.44},  {3.2, 3.95, 0.42},
    {4.1, 3.9, 0.37},   {4.85, 3.64, 0.34}, {5.35, 3.38, 0.26},
};
enum { BROW_STATIONS = sizeof brow_stations / sizeof *brow_stations };

void sn_face_brow(sn_cage *cage) {
    enum { AROUND = 6 };
    const double up[AROUND] = {-1, -0.62, 0.1, 0.82, 1, 0};
    const double off[AROUND] = {0.15, 0.34, 0.42, 0.33, 0.15, 0.12};
    int ring[BROW_STATIONS][AROUND];
    for (int i = 0; i < BROW_STATIONS; i++)
        for (int k = 0; k < AROUND; k++)
            ring[i][k] = sn_cage_point(
                cage, sn_v3(brow_stations[i].x,
                            brow_stations[i].y + up[k] * brow_stations[i].half_height, off[k]));
    for (int i = 0; i + 1 < BROW_STATIONS; i++)
        for (int k = 0; k < AROUND; k++) {
            int l = (k + 1) % AROUND;
            sn_cage_quad(cage, ring[i][k], ring[i + 1][k], ring[i + 1][l], ring[i][l],
                         SN_PART_BROW_LEFT);
        }
    const int *end = ring[BROW_STATIONS - 1];
    sn_cage_quad(cage, end[0], end[5], end[2], end[1], SN_PART_BROW_LEFT);
    sn_cage_quad(cage, end[5], end[4], end[3], end[2], SN_PART_BROW_LEFT);
    end = ring[0];
    sn_cage_quad(cage, end[1], end[2], end[5], end[0], SN_PART_BROW_LEFT);
    sn_cage_quad(cage, end[2], end[3], end[4], end[5], SN_PART_BROW_LEFT);
}
