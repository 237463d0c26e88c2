/* Where each expression takes a vertex of the face.
 *
 * Fields are smooth functions of the place on the neutral face, so that whatever touches in the
 * neutral moves together. Where the two lips or lids must part, the SIDE values tell them apart.
 * The jaw turns about its hinge, lids about the center of the eyeball. Centimetres and radians. */
#include "samples/face.h"

#include <math.h>

#include "base/rotation.h"
#include "samples/builders.h"

/* ---- building blocks ------------------------------------------------------------------------- */

/* 1 at (x, y), 0 from the ellipse with the given half axes on; two continuous derivatives. */
static double bump(sn_vec3 p, double x, double y, double rx, double ry) {
    double a = (p.x - x) / rx, b = (p.y - y) / ry, d = a * a + b * b;
    return d < 1 ? (1 - d) * (1 - d) * (1 - d) : 0;
}

/* The outer skin of the front, away from the lids. */
static double outer(const sn_site *s) {
    if (s->part == SN_PART_BROW_LEFT || s->part == SN_PART_BROW_RIGHT) return 1;
    if (s->part != SN_PART_SKIN) return 0;
    double off_lids = 1 - sn_smooth((s->values[SN_FACE_LID_RING] - 0.2) / 1.6);
    return (1 - s->values[SN_FACE_INSIDE]) * off_lids * sn_smooth((s->p.z - 1) / 3);
}

/* The skin around the mouth with the front of its inside. */
static double oral(const sn_site *s) {
    if (s->part != SN_PART_SKIN) return 0;
    double depth = s->values[SN_FACE_INSIDE] > 0 ? sn_smooth((s->p.z - 5.5) / 2) : 1;
    return depth * sn_smooth((s->p.z - 1) / 3);
}

/* Left and right shares that sum to one. */
static double left(sn_vec3 p) {
    return sn_smooth(0.5 + 0.5 * p.x / 1.2);
}

static sn_vec3 moved(sn_vec3 p, double weight, double x, double y, double z) {
    return sn_add_scaled(p, weight, sn_v3(x, y, z));
}

/* ---- jaw ------------------------------------------------------------------------------------- */

static const sn_vec3 HINGE = {0, -1.8, 0.2};
static const double JAW_OPEN = 22; /* degrees */

static sn_vec3 turn_jaw(sn_vec3 p, double weight, double degrees) {
    double a = sn_radians(weight * degrees), c = cos(a), s = sin(a);
    double y = p.y - HINGE.y, z = p.z - HINGE.z;
    return sn_v3(p.x, HINGE.y + c * y - s * z, HINGE.z + s * y + c * z);
}

static sn_vec3 open_jaw(const sn_site *s, double degrees) {
    double narrow = oral(s) * bump(s->p, s->p.x > 0 ? 2.7 : -2.7, -6.3, 2.2, 2.6);
    sn_vec3 p = turn_jaw(s->p, s->values[SN_FACE_JAW], degrees);
    p.x *= 1 - 0.13 * narrow * degrees / JAW_OPEN;
    return p;
}

static sn_vec3 jaw_open(const sn_face *face, const sn_site *s) {
    (void)face;
    return open_jaw(s, JAW_OPEN);
}

/* 1 on the lips and about them, to carry both lips together. */
static double lips(const sn_site *s) {
    double x = s->p.x / 4.6, y = (s->p.y + 6.4) / 2.6, d = sqrt(x * x + y * y);
    double around = (1 - s->values[SN_FACE_INSIDE]) * (1 - sn_smooth((d - 0.5) / 0.5));
    double red = s->part == SN_PART_SKIN ? sn_smooth((s->values[SN_FACE_LIP] - 0.25) / 0.45) : 0;
    return oral(s) * fmax(around, red);
}

/* Sideways and forwards the lips move half as far as the jaw. The teeth part, to pass each other.
 */
static sn_vec3 slide_jaw(const sn_site *s, double x, double y_teeth, double z) {
    double w = s->values[SN_FACE_JAW], l = lips(s);
    if (s->part != SN_PART_SKIN) return moved(s->p, w, x, y_teeth, z);
    return moved(s->p, w + l * (0.5 - w), x, 0, z);
}

static sn_vec3 jaw_forward(const sn_face *face, const sn_site *s) {
    (void)face;
    return slide_jaw(s, 0, -0.45, 0.7);
}

static sn_vec3 jaw_left(const sn_face *face, const sn_site *s) {
    (void)face;
    return slide_jaw(s, 0.8, -0.3, 0);
}

/* ---- mouth ----------------------------------------------------------------------------------- */

static const double CORNER_X = 2.6, CORNER_Y = -6.3;

static double mouth(const sn_site *s) {
    return oral(s) * bump(s->p, 0, -6.4, 5.2, 3.6);
}

/* How much a vertex belongs to the upper (sign 1) or lower (-1) lip and the skin beyond it, fading
 * over `reach`; zero at the corners, so that the lips part like a lens. */
static double one_lip(const sn_site *s, double sign, double reach) {
    double line = sn_face_mouth_line(s->p.x), side = s->values[SN_FACE_SIDE];
    double beyond = sign * (s->p.y - line);
    if (fabs(side) > 0.02 ? side * sign < 0 : beyond < 0) return 0;
    double t = s->p.x / CORNER_X, lens = fabs(t) < 1 ? (1 - t * t) * (1 - t * t * t * t) : 0;
    return oral(s) * lens * (1 - sn_smooth(fmax(0, beyond) / reach));
}

/* Thickness of the lips about the line on which they meet. */
static sn_vec3 thin_lips(sn_vec3 p, const sn_site *s, double weight) {
    if (s->part != SN_PART_SKIN) return p;
    double line = sn_face_mouth_line(s->p.x);
    p.y -= weight * s->values[SN_FACE_LIP] * (s->p.y - line);
    return p;
}

static sn_vec3 mouth_close(const sn_face *face, const sn_site *s) {
    (void)face;
    return thin_lips(s->p, s, 0.12 * mouth(s));
}

static sn_vec3 mouth_smile(const sn_face *face, const sn_site *s) {
    (void)face;
    double w = oral(s), l = left(s->p);
    sn_vec3 p = moved(s->p, w * bump(s->p, CORNER_X, CORNER_Y, 3.0, 2.8), 0.8, 0.68, -0.5);
    p = moved(p, l * w * bump(s->p, 0.8, -6.4, 2.6, 2.2), 0.12, -0.05, -0.12);
    return moved(p, outer(s) * bump(s->p, 4.7, -3.9, 2.6, 2.3), 0.12, 0.5, 0.28);
}

static sn_vec3 mouth_frown(const sn_face *face, const sn_site *s) {
    (void)face;
    double w = oral(s);
    sn_vec3 p = moved(s->p, w * bump(s->p, CORNER_X, CORNER_Y, 2.6, 2.8), 0.15, -0.95, -0.1);
    return moved(p, left(s->p) * outer(s) * bump(s->p, 0, -9.2, 2.4, 2.0), 0, 0.18, 0.1);
}

static sn_vec3 mouth_dimple(const sn_face *face, const sn_site *s) {
    (void)face;
    return moved(s->p, oral(s) * bump(s->p, CORNER_X + 0.2, CORNER_Y, 2.2, 2.0), 0.4, 0.12, -0.55);
}

static sn_vec3 mouth_stretch(const sn_face *face, const sn_site *s) {
    (void)face;
    return moved(s->p, oral(s) * bump(s->p, CORNER_X, CORNER_Y - 0.3, 3.0, 3.0), 0.9, -0.5, -0.5);
}

static sn_vec3 mouth_pucker(const sn_face *face, const sn_site *s) {
    (void)face;
    double w = oral(s) * bump(s->p, 0, -6.4, 5.0, 3.2), t = s->p.x / CORNER_X;
    double line = sn_face_mouth_line(s->p.x), lip = s->values[SN_FACE_LIP];
    sn_vec3 p = moved(s->p, w, -0.46 * s->p.x, 0, 0.65 + 0.55 * fmin(1.5, t * t));
    if (s->part == SN_PART_SKIN) p.y += 0.18 * w * lip * (s->p.y - line);
    return p;
}

static sn_vec3 mouth_funnel(const sn_face *face, const sn_site *s) {
    (void)face;
    double w = oral(s) * bump(s->p, 0, -6.4, 5.0, 3.6), t = s->p.x / CORNER_X;
    sn_vec3 p = moved(s->p, w, -0.36 * s->p.x, 0, 0.7 + 0.35 * fmin(1.5, t * t));
    p = moved(p, one_lip(s, 1, 2.0), 0, 0.55, 0.25);
    return moved(p, one_lip(s, -1, 3.4), 0, -0.85, 0.25);
}

static sn_vec3 mouth_left(const sn_face *face, const sn_site *s) {
    (void)face;
    return moved(s->p, mouth(s), 1.0, 0.06 * s->p.x, -0.16 * s->p.x);
}

/* A lip drawn in over the teeth: it slides back along the line and gets thinner. */
static sn_vec3 roll_lip(const sn_site *s, double sign) {
    double side = s->values[SN_FACE_SIDE] * sign;
    if (s->part != SN_PART_SKIN || side <= 0) return s->p;
    double t = s->p.x / CORNER_X, lens = fabs(t) < 1 ? 1 - t * t : 0;
    double w = oral(s) * side * s->values[SN_FACE_LIP] * lens;
    sn_vec3 p = thin_lips(s->p, s, 0.55 * w);
    return moved(p, w, 0, 0, -0.5);
}
static sn_vec3 mouth_roll_lower(const sn_face *face, const sn_site *s) {
    (void)face;
    return roll_lip(s, -1);
}
static sn_vec3 mouth_roll_upper(const sn_face *face, const sn_site *s) {
    (void)face;
    return roll_lip(s, 1);
}

static sn_vec3 mouth_shrug_lower(const sn_face *face, const sn_site *s) {
    (void)face;
    sn_vec3 p = moved(s->p, oral(s) * bump(s->p, 0, -7.6, 3.6, 3.2), 0, 0.6, 0.12);
    return moved(p, outer(s) * bump(s->p, 0, -9.3, 2.6, 2.2), 0, 0.25, 0.12);
}
static sn_vec3 mouth_shrug_upper(const sn_face *face, const sn_site *s) {
    (void)face;
    return moved(s->p, oral(s) * bump(s->p, 0, -5.7, 3.4, 2.6), 0, 0.45, 0.22);
}

static sn_vec3 mouth_press(const sn_face *face, const sn_site *s) {
    (void)face;
    double w = left(s->p) * mouth(s);
    return moved(thin_lips(s->p, s, 0.38 * w), w * s->values[SN_FACE_LIP], 0, 0, -0.14);
}

static sn_vec3 mouth_lower_down(const sn_face *face, const sn_site *s) {
    (void)face;
    return moved(s->p, left(s->p) * one_lip(s, -1, 3.4), 0.05, -0.9, 0.15);
}
static sn_vec3 mouth_upper_up(const sn_face *face, const sn_site *s) {
    (void)face;
    return moved(s->p, left(s->p) * one_lip(s, 1, 2.2), 0.05, 0.7, 0.15);
}

/* The lips are carried half-way down, together, whatever the jaw does. */
sn_vec3 sn_face_closed_open_jaw(const sn_face *face, const sn_site *s) {
    (void)face;
    sn_vec3 carried = sn_add(s->p, sn_v3(0, -1.5, -0.25));
    return sn_lerp(open_jaw(s, JAW_OPEN), carried, lips(s));
}

/* A puckered smile keeps its corners closer than the two apart would. */
sn_vec3 sn_face_smile_with_pucker(const sn_face *face, const sn_site *s) {
    sn_vec3 smile = sn_sub(mouth_smile(face, s), s->p);
    sn_vec3 pucker = sn_sub(mouth_pucker(face, s), s->p);
    return sn_add_scaled(sn_add_scaled(s->p, -0.45, smile), -0.12 * left(s->p), pucker);
}

/* ---- lids and eyes --------------------------------------------------------------------------- */

static double rim_at(const sn_rim *rim, double longitude) {
    if (rim->count == 0) return 0;
    if (longitude <= rim->longitude[0]) return rim->latitude[0];
    for (int i = 1; i < rim->count; i++)
        if (longitude < rim->longitude[i]) {
            double t =
                (longitude - rim->longitude[i - 1]) / (rim->longitude[i] - rim->longitude[i - 1]);
            return rim->latitude[i - 1] + t * (rim->latitude[i] - rim->latitude[i - 1]);
        }
    return rim->latitude[rim->count - 1];
}

/* Longitude of the point of a rim that is nearest to a vertex. The opening is convex and all rings
 * lie around it, so neighbors have neighboring points, at the corners too, where the rims run
 * straight up and longitude alone would not tell their vertices apart. */
static double nearest_on_rim(const sn_rim *rim, double longitude, double latitude) {
    double nearest = longitude, least = HUGE_VAL;
    for (int i = 1; i < rim->count; i++) {
        double x = rim->longitude[i - 1], dx = rim->longitude[i] - x;
        double y = rim->latitude[i - 1], dy = rim->latitude[i] - y;
        double along = (longitude - x) * dx + (latitude - y) * dy, whole = dx * dx + dy * dy;
        double t = along <= 0 ? 0 : along >= whole ? 1 : along / whole;
        double ex = x + t * dx - longitude, ey = y + t * dy - latitude, d = ex * ex + ey * ey;
        if (d < least) least = d, nearest = x + t * dx;
    }
    return nearest;
}

/* How much of the rim's turn each ring takes part in. */
static double lid_share(double ring) {
    static const double share[SN_LID_LAST + 1] = {0, 0.03, 0.3, 0.75, 1, 1, 1, 0.6, 0};
    if (ring <= 0 || ring >= SN_LID_LAST) return 0;
    int i = (int)ring;
    return share[i] + (ring - i) * (share[i + 1] - share[i]);
}

/* Closed lids meet at this fraction of the path from the upper to the lower rim where the eye opens
 * by WIDE radians or more, and half way at the corners: each goes as far as the other there, so
 * that neither is drawn under the corner. Half their distance in centimetres. */
static const double MEETING = 0.72, WIDE = 0.25, HALF_GAP = 0.006;

/* Turns the lids of the left eye: 1 closes, less than 0 opens further. */
static sn_vec3 turn_lids(const sn_face *face, const sn_site *s, double upper, double lower) {
    if (s->part != SN_PART_SKIN || s->p.x <= 0) return s->p;
    double share = lid_share(s->values[SN_FACE_LID_RING]);
    if (share == 0) return s->p;
    sn_vec3 d = sn_sub(s->p, SN_EYE);
    double radius = sn_length(d), longitude = asin(d.x / radius), latitude = atan2(d.y, d.z);
    bool above = s->values[SN_FACE_LID_SIDE] > 0;
    double rim = nearest_on_rim(above ? &face->upper_rim : &face->lower_rim, longitude, latitude);
    double top = rim_at(&face->upper_rim, rim), bottom = rim_at(&face->lower_rim, rim);
    double way = 0.5 + (MEETING - 0.5) * sn_smooth((top - bottom) / WIDE);
    double meeting = top + way * (bottom - top), gap = HALF_GAP / radius;
    gap = fmin(gap, 0.5 * (top - bottom));
    if (above)
        latitude += share * upper * (meeting + gap - top);
    else
        latitude += share * lower * (meeting - gap - bottom);
    return sn_add_scaled(
        SN_EYE, radius,
        sn_v3(sin(longitude), cos(longitude) * sin(latitude), cos(longitude) * cos(latitude)));
}

static sn_vec3 eye_blink(const sn_face *face, const sn_site *s) {
    return turn_lids(face, s, 1, 1);
}
sn_vec3 sn_face_half_blink(const sn_face *face, const sn_site *s) {
    return turn_lids(face, s, 0.5, 0.5);
}
static sn_vec3 eye_squint(const sn_face *face, const sn_site *s) {
    sn_vec3 p = turn_lids(face, s, 0.2, 1);
    return moved(p, outer(s) * bump(s->p, 3.6, -2.4, 2.6, 1.6), 0, 0.25, 0.08);
}
static sn_vec3 eye_wide(const sn_face *face, const sn_site *s) {
    return turn_lids(face, s, -0.3, -0.25);
}

/* Turns the left eyeball: rotation vector in degrees. */
static sn_vec3 look(const sn_face *face, const sn_site *s, sn_vec3 turn, double upper,
                    double lower) {
    if (s->part == SN_PART_EYE_LEFT) {
        sn_mat3 rotation = sn_rotation_exp(sn_scale(SN_PI / 180, turn));
        return sn_add(SN_EYE, sn_mat3_apply(rotation, sn_sub(s->p, SN_EYE)));
    }
    return turn_lids(face, s, upper, lower);
}
static sn_vec3 eye_look_down(const sn_face *face, const sn_site *s) {
    return look(face, s, sn_v3(24, 0, 0), 0.42, -0.4);
}
static sn_vec3 eye_look_up(const sn_face *face, const sn_site *s) {
    return look(face, s, sn_v3(-22, 0, 0), -0.25, 0.25);
}
static sn_vec3 eye_look_in(const sn_face *face, const sn_site *s) {
    return look(face, s, sn_v3(0, -28, 0), 0, 0);
}
static sn_vec3 eye_look_out(const sn_face *face, const sn_site *s) {
    return look(face, s, sn_v3(0, 28, 0), 0, 0);
}

/* ---- brows, cheeks, nose, tongue ------------------------------------------------------------- */

static sn_vec3 brow_down(const sn_face *face, const sn_site *s) {
    (void)face;
    sn_vec3 p = moved(s->p, outer(s) * bump(s->p, 2.6, 3.9, 3.6, 2.6), -0.3, -0.75, 0.12);
    return moved(p, outer(s) * bump(s->p, 1.0, 2.6, 1.6, 1.8), -0.1, -0.2, 0.1);
}
static sn_vec3 brow_inner_up(const sn_face *face, const sn_site *s) {
    (void)face;
    double x = fabs(s->p.x);
    sn_vec3 mirrored = sn_v3(x, s->p.y, s->p.z);
    return moved(s->p, outer(s) * bump(mirrored, 1.1, 3.9, 3.4, 3.2), 0, 1.0, 0.05);
}
static sn_vec3 brow_outer_up(const sn_face *face, const sn_site *s) {
    (void)face;
    return moved(s->p, outer(s) * bump(s->p, 4.6, 4.2, 3.4, 3.0), 0.05, 1.0, 0);
}
static sn_vec3 cheek_puff(const sn_face *face, const sn_site *s) {
    (void)face;
    double x = fabs(s->p.x), sign = s->p.x < 0 ? -1 : 1;
    double w = outer(s) * bump(sn_v3(x, s->p.y, 0), 4.4, -5.8, 3.2, 2.9);
    w *= 1 - 0.9 * s->values[SN_FACE_LIP];
    sn_vec3 p = moved(s->p, w, sign * 0.7, 0, 0.75);
    return moved(p, oral(s) * bump(s->p, 0, -6.4, 3.2, 2.2), 0, 0, 0.12);
}
static sn_vec3 cheek_squint(const sn_face *face, const sn_site *s) {
    sn_vec3 p = turn_lids(face, s, 0, 0.55);
    return moved(p, outer(s) * bump(s->p, 4.0, -2.9, 2.8, 2.2), 0.02, 0.55, 0.22);
}
static sn_vec3 nose_sneer(const sn_face *face, const sn_site *s) {
    (void)face;
    double w = s->part == SN_PART_SKIN && s->values[SN_FACE_LID_RING] < 0.2
                   ? sn_smooth((s->p.z - 1) / 3)
                   : 0;
    sn_vec3 p = moved(s->p, w * bump(s->p, 1.6, -3.6, 1.9, 2.0), 0.08, 0.5, 0.05);
    return moved(p, oral(s) * bump(s->p, 1.7, -5.2, 2.2, 2.2), 0, 0.32, 0.05);
}

/* The jaw yields and the tongue comes out between the teeth. */
static sn_vec3 tongue_out(const sn_face *face, const sn_site *s) {
    (void)face;
    const double degrees = 10;
    if (s->part != SN_PART_TONGUE) return open_jaw(s, degrees);
    double t = s->values[SN_FACE_LIP];
    return moved(s->p, 1, 0, -0.05 * t - 0.35 * t * t * t, 4.2 * t * t);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const sn_expression expressions[] = {
    {"eyeBlink", "eyes", SN_ONE_SIDE, eye_blink},
    {"eyeLookDown", "eyes", SN_ONE_SIDE, eye_look_down},
    {"eyeLookIn", "eyes", SN_ONE_SIDE, eye_look_in},
    {"eyeLookOut", "eyes", SN_ONE_SIDE, eye_look_out},
    {"eyeLookUp", "eyes", SN_ONE_SIDE, eye_look_up},
    {"eyeSquint", "eyes", SN_ONE_SIDE, eye_squint},
    {"eyeWide", "eyes", SN_ONE_SIDE, eye_wide},
    {"jawForward", "jaw", SN_BOTH_SIDES, jaw_forward},
    {"jaw", "jaw", SN_MIRRORED_PAIR, jaw_left},
    {"jawOpen", "jaw", SN_BOTH_SIDES, jaw_open},
    {"mouthClose", "mouth", SN_BOTH_SIDES, mouth_close},
    {"mouthFunnel", "mouth", SN_BOTH_SIDES, mouth_funnel},
    {"mouthPucker", "mouth", SN_BOTH_SIDES, mouth_pucker},
    {"mouth", "mouth", SN_MIRRORED_PAIR, mouth_left},
    {"mouthSmile", "mouth", SN_ONE_SIDE, mouth_smile},
    {"mouthFrown", "mouth", SN_ONE_SIDE, mouth_frown},
    {"mouthDimple", "mouth", SN_ONE_SIDE, mouth_dimple},
    {"mouthStretch", "mouth", SN_ONE_SIDE, mouth_stretch},
    {"mouthRollLower", "mouth", SN_BOTH_SIDES, mouth_roll_lower},
    {"mouthRollUpper", "mouth", SN_BOTH_SIDES, mouth_roll_upper},
    {"mouthShrugLower", "mouth", SN_BOTH_SIDES, mouth_shrug_lower},
    {"mouthShrugUpper", "mouth", SN_BOTH_SIDES, mouth_shrug_upper},
    {"mouthPress", "mouth", SN_ONE_SIDE, mouth_press},
    {"mouthLowerDown", "mouth", SN_ONE_SIDE, mouth_lower_down},
    {"mouthUpperUp", "mouth", SN_ONE_SIDE, mouth_upper_up},
    {"browDown", "brows", SN_ONE_SIDE, brow_down},
    {"browInnerUp", "brows", SN_BOTH_SIDES, brow_inner_up},
    {"browOuterUp", "brows", SN_ONE_SIDE, brow_outer_up},
    {"cheekPuff", "cheeks", SN_BOTH_SIDES, cheek_puff},
    {"cheekSquint", "cheeks", SN_ONE_SIDE, cheek_squint},
    {"noseSneer", "nose", SN_ONE_SIDE, nose_sneer},
    {"tongueOut", "tongue", SN_BOTH_SIDES, tongue_out},
};

const sn_expression *sn_face_expressions(int *count) {
    *count = sizeof expressions / sizeof *expressions;
    return expressions;
}
