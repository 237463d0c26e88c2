/* Landmarks of a face from the targets that move them.
 *
 * Paired sliders tell left from right, eyes and mouth tell up from down, and both together the
 * front. In these axes a landmark is the place where some targets move the skin most (mouth corner:
 * smile, frown, stretch and dimple together), or an extreme of the skin's shape within a window
 * (nose tip: the foremost skin between eyes and mouth). Windows are in units of the eye distance.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "capture/anatomy_state.h"

/* Weights of vertices in centers of motion: the motion over its maximum to this power. */
#define SHARP 6
/* Half width of the strip that counts as the middle of the face. */
#define MIDDLE 0.12
/* Cosine to a coordinate axis from which on the left is taken to be it, about 6 degrees. */
#define ALIGNED 0.9945

/* What lies farther behind the eyes is the back of the head, in eye distances. */
#define BACK -1.2
/* Heights of lips as fractions of the width of the mouth. */
#define USUAL_LIP   0.15
#define HIGHEST_LIP 0.25

typedef struct finder {
    const sinew_rig *rig;
    sinew_anatomy *a;
    double *size, *product; /* per vertex */
} finder;

static const char *const side_name[2] = {"Left", "Right"};

static bool sided_motion(const finder *f, const char *slider, int side) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", slider, side < 2 ? side_name[side] : "");
    return sn_motion_of(f->rig, name, f->size);
}

static bool on_side(const sinew_anatomy *a, int v, int side) {
    if (side > 1 || !a->oriented) return true;
    double u = sn_dot(sn_sub(sn_at(a->positions, v), a->center), a->left);
    return side == 0 ? u > 0 : u < 0;
}

/* Center of the skin that `weight` moves, by sharpened weights; false when it moves none. */
static bool center_of(const finder *f, const double *weight, double power, int side,
                      sn_vec3 *center) {
    const sinew_anatomy *a = f->a;
    double most = 0, total = 0;
    sn_vec3 sum = {0, 0, 0};
    for (int v = 0; v < a->vertex_count; v++)
        if (a->skin[v] && on_side(a, v, side)) most = fmax(most, weight[v]);
    if (!(most > 0)) return false;
    for (int v = 0; v < a->vertex_count; v++) {
        if (!a->skin[v] || !(weight[v] > 0) || !on_side(a, v, side)) continue;
        double w = pow(weight[v] / most, power);
        sum = sn_add_scaled(sum, w, sn_at(a->positions, v)), total += w;
    }
    *center = sn_scale(1 / total, sum);
    return true;
}

static bool moved_center(const finder *f, const char *slider, double power, int side,
                         sn_vec3 *center) {
    return sided_motion(f, slider, side) && center_of(f, f->size, power, side, center);
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Mean of the centers that the sliders move, both sides; how many. */
static int mean_center(const finder *f, int count, const char *const *sliders, bool paired,
                       sn_vec3 *mean) {
    int found = 0;
    sn_vec3 sum = {0, 0, 0}, c;
    for (int i = 0; i < count; i++)
        for (int side = paired ? 0 : 2; side < (paired ? 2 : 3); side++)
            if (moved_center(f, sliders[i], 2, side, &c)) sum = sn_add(sum, c), found++;
    if (found) *mean = sn_scale(1.0 / found, sum);
    return found;
}

/* Heads are modeled along the axes, but targets of left and right are not quite mirrored. */
static sn_vec3 along_an_axis(sn_vec3 d) {
    double c[3] = {d.x, d.y, d.z};
    for (int k = 0; k < 3; k++)
        if (fabs(c[k]) > ALIGNED)
            return sn_v3(k == 0 ? copysign(1, c[0]) : 0, k == 1 ? copysign(1, c[1]) : 0,
                         k == 2 ? copysign(1, c[2]) : 0);
    return d;
}

static bool find_axes(finder *f) {
    static const char *const paired[] = {"eyeBlink",   "eyeSquint",  "browOuterUp", "browDown",
                                         "mouthSmile", "mouthFrown", "noseSneer",   "cheekSquint"};
    static const char *const above[] = {"eyeBlink", "eyeSquint", "browDown"};
    static const char *const below[] = {"mouthSmile", "mouthFrown", "mouthLowerDown"};
    static const char *const jaw[] = {"jawOpen", "mouthPucker", "mouthFunnel"};
    sinew_anatomy *a = f->a;
    sn_vec3 across = {0, 0, 0}, side[2], high = across, low = across, lower = across;
    for (size_t i = 0; i < sizeof paired / sizeof *paired; i++)
        if (moved_center(f, paired[i], 2, 0, &side[0]) &&
            moved_center(f, paired[i], 2, 1, &side[1]))
            across = sn_add(across, sn_sub(side[0], side[1]));
    int mouth = mean_center(f, 3, below, true, &low), chin = mean_center(f, 3, jaw, false, &lower);
    if (!mean_center(f, 3, above, true, &high) || mouth + chin == 0) return false;
    if (mouth == 0) low = lower;
    a->left = along_an_axis(sn_normalize(across));
    sn_vec3 up = sn_sub(high, low);
    up = sn_add_scaled(up, -sn_dot(up, a->left), a->left);
    if (!(sn_length(across) > 0) || !(sn_length(up) > 0)) return false;
    a->up = sn_normalize(up);
    a->front = sn_cross(a->left, a->up);
    /* lids are where eyes are; without a blink brows and squints have to do */
    const char *eye = moved_center(f, "eyeBlink", SHARP, 0, &side[0]) &&
                              moved_center(f, "eyeBlink", SHARP, 1, &side[1])
                          ? "eyeBlink"
                          : "eyeSquint";
    if (!moved_center(f, eye, SHARP, 0, &side[0]) || !moved_center(f, eye, SHARP, 1, &side[1]))
        return false;
    a->center = sn_scale(0.5, sn_add(side[0], side[1]));
    a->eye[0] = side[0], a->eye[1] = side[1];
    a->eye_distance = sn_dot(sn_sub(side[0], side[1]), a->left);
    a->oriented = a->eye_distance > 0;
    return a->oriented;
}

/* ---- points ---------------------------------------------------------------------------------- */

static int nearest_skin(const sinew_anatomy *a, sn_vec3 p) {
    int best = -1;
    double least = INFINITY;
    for (int v = 0; v < a->vertex_count; v++) {
        if (!a->skin[v]) continue;
        double d = sn_distance(p, sn_at(a->positions, v));
        if (d < least) least = d, best = v;
    }
    return best;
}

static void set_point(finder *f, sinew_landmark landmark, int side, sn_vec3 p) {
    int vertex = nearest_skin(f->a, p);
    if (vertex < 0) return;
    f->a->points[landmark][side > 1 ? 0 : side] =
        (sn_landmark_point){true, vertex, sn_at(f->a->positions, vertex)};
}

static bool known(const finder *f, sinew_landmark landmark, int side, sn_vec3 *local) {
    const sn_landmark_point *p = &f->a->points[landmark][side > 1 ? 0 : side];
    if (p->known) *local = sn_anatomy_local(f->a, p->point);
    return p->known;
}

/* The vertex of the skin with the largest score in a window of local coordinates. */
static int best_in(const finder *f, sn_vec3 low, sn_vec3 high,
                   double (*score)(const finder *f, int v, sn_vec3 local)) {
    const sinew_anatomy *a = f->a;
    int best = -1;
    double most = -INFINITY;
    for (int v = 0; v < a->vertex_count; v++) {
        if (!a->skin[v]) continue;
        sn_vec3 p = sn_anatomy_local(a, sn_at(a->positions, v));
        if (p.x < low.x || p.x > high.x || p.y < low.y || p.y > high.y) continue;
        if (p.z < low.z || p.z > high.z) continue;
        double s = score(f, v, p);
        if (s > most) most = s, best = v;
    }
    return most > 0 ? best : -1;
}

static double foremost(const finder *f, int v, sn_vec3 local) {
    (void)f, (void)v;
    return local.z + 100; /* positive: any will do */
}

static double most_moved(const finder *f, int v, sn_vec3 local) {
    (void)local;
    return f->size[v];
}

static void set_best(finder *f, sinew_landmark landmark, int side, sn_vec3 low, sn_vec3 high,
                     double (*score)(const finder *f, int v, sn_vec3 local)) {
    int v = best_in(f, low, high, score);
    if (v >= 0) set_point(f, landmark, side, sn_at(f->a->positions, v));
}

/* The skin straight in front of a position on the face, by the foremost vertex around it; farther
 * around where vertices are few, but never at the back of the head. */
static void set_front(finder *f, sinew_landmark landmark, int side, double left, double up,
                      double window) {
    sn_landmark_point *p = &f->a->points[landmark][side > 1 ? 0 : side];
    p->known = false;
    for (int round = 0; round < 3 && !p->known; round++, window *= 1.6)
        set_best(f, landmark, side, sn_v3(left - window, up - window, BACK),
                 sn_v3(left + window, up + window, INFINITY), foremost);
    if (!p->known) return;
    sn_vec3 at = sn_anatomy_local(f->a, p->point);
    set_point(f, landmark, side, sn_anatomy_global(f->a, sn_v3(left, up, at.z)));
}

/* The blink takes the upper lid's edge to the lower lid's, and its ends are the eye's corners. */
static void find_eyes(finder *f, int side) {
    sinew_anatomy *a = f->a;
    sn_vec3 top, sum = {0, 0, 0};
    if (!moved_center(f, "eyeBlink", SHARP, side, &top)) return;
    double most = 0, weight = 0, out = 0, in = 0;
    int corner[2] = {-1, -1}, sliders[2];
    int count = sinew_rig_match(f->rig, side ? "eyeBlinkRight" : "eyeBlinkLeft", sliders);
    for (int v = 0; v < a->vertex_count; v++)
        if (a->skin[v] && on_side(a, v, side)) most = fmax(most, f->size[v]);
    for (int k = 0; k < f->rig->target_count; k++) {
        const sinew_target *t = &f->rig->targets[k];
        if (t->kind != SINEW_TARGET_KIND_PLAIN || count < 1 ||
            (t->slider != sliders[0] && (count < 2 || t->slider != sliders[1])))
            continue;
        for (int i = 0; i < t->count; i++) {
            int v = t->vertices[i];
            if (!a->skin[v] || !on_side(a, v, side)) continue;
            double w = pow(f->size[v] / most, SHARP);
            sum = sn_add_scaled(sum, w, sn_at(t->deltas, i)), weight += w;
        }
    }
    sn_vec3 way = weight > 0 ? sn_scale(1 / weight, sum) : sn_v3(0, 0, 0);
    sn_vec3 bottom = sn_add(top, way);
    set_point(f, SINEW_LANDMARK_LID_UPPER, side, top);
    set_point(f, SINEW_LANDMARK_LID_LOWER, side, bottom);
    a->eye[side] = sn_scale(0.5, sn_add(top, bottom));
    double height = sn_length(way) / a->eye_distance;
    sn_vec3 middle = sn_anatomy_local(a, a->eye[side]);
    for (int v = 0; v < a->vertex_count; v++) {
        if (!a->skin[v] || f->size[v] < 0.2 * most || !on_side(a, v, side)) continue;
        sn_vec3 p = sn_anatomy_local(a, sn_at(a->positions, v));
        if (fabs(p.y - middle.y) > 0.6 * height + 0.03) continue;
        double outward = side ? middle.x - p.x : p.x - middle.x;
        if (outward > out) out = outward, corner[1] = v;
        if (-outward > in) in = -outward, corner[0] = v;
    }
    if (corner[0] >= 0)
        set_point(f, SINEW_LANDMARK_EYE_INNER, side, sn_at(a->positions, corner[0]));
    if (corner[1] >= 0)
        set_point(f, SINEW_LANDMARK_EYE_OUTER, side, sn_at(a->positions, corner[1]));
}

/* Where the opening tells better than the motion. */
static void set_from_opening(finder *f, int side) {
    const sn_opening *o = &f->a->opening[side ? SN_OPENING_EYE_RIGHT : SN_OPENING_EYE_LEFT];
    if (!o->known) return;
    set_point(f, SINEW_LANDMARK_LID_UPPER, side, sn_opening_at(o->upper, 0.5));
    set_point(f, SINEW_LANDMARK_LID_LOWER, side, sn_opening_at(o->lower, 0.5));
    set_point(f, SINEW_LANDMARK_EYE_INNER, side, sn_opening_at(o->upper, 0));
    set_point(f, SINEW_LANDMARK_EYE_OUTER, side, sn_opening_at(o->upper, 1));
}

static void find_mouth_corner(finder *f, int side) {
    static const char *const sliders[] = {"mouthSmile", "mouthFrown", "mouthStretch",
                                          "mouthDimple"};
    const sinew_anatomy *a = f->a;
    int found = 0;
    for (int v = 0; v < a->vertex_count; v++) f->product[v] = 1;
    for (int i = 0; i < 4; i++) {
        double most = 0;
        if (!sided_motion(f, sliders[i], side)) continue;
        for (int v = 0; v < a->vertex_count; v++)
            if (a->skin[v]) most = fmax(most, f->size[v]);
        for (int v = 0; most > 0 && v < a->vertex_count; v++) f->product[v] *= f->size[v] / most;
        found += most > 0;
    }
    sn_vec3 corner;
    if (found > 0 && center_of(f, f->product, 2.0 * SHARP / found, side, &corner))
        set_point(f, SINEW_LANDMARK_MOUTH_CORNER, side, corner);
}

static void find_brow(finder *f, int side) {
    sn_vec3 inner, outer;
    bool in = moved_center(f, "browInnerUp", SHARP, side, &inner);
    if (in) {
        /* one target for both sides moves the middle most: the brows begin beside it */
        sn_vec3 at = sn_anatomy_local(f->a, inner);
        double least = 0.2, out_x = side ? -at.x : at.x;
        if (out_x < least)
            inner = sn_anatomy_global(f->a, sn_v3(side ? -least : least, at.y, at.z));
        set_point(f, SINEW_LANDMARK_BROW_INNER, side, inner);
    }
    bool out = moved_center(f, "browOuterUp", SHARP, side, &outer);
    if (out) set_point(f, SINEW_LANDMARK_BROW_OUTER, side, outer);
    if (in && out)
        set_point(f, SINEW_LANDMARK_BROW_MIDDLE, side, sn_scale(0.5, sn_add(inner, outer)));
}

static double foremost_moved(const finder *f, int v, sn_vec3 local) {
    return f->size[v] >= 0.5 * f->product[0] ? local.z + 100 : -INFINITY;
}

/* A lip moves most at its edge to the other, and bulges where markers are put: the foremost skin
 * that still moves, from the edge on upwards (side 1) or downwards (-1). */
static void find_lip(finder *f, const char *slider, sinew_landmark landmark, double mouth,
                     double side) {
    sinew_anatomy *a = f->a;
    if (!sided_motion(f, slider, 0)) return;
    memcpy(f->product, f->size, sizeof(double) * (size_t)a->vertex_count);
    if (sided_motion(f, slider, 1))
        for (int v = 0; v < a->vertex_count; v++) f->size[v] += f->product[v];
    int edge = best_in(f, sn_v3(-MIDDLE / 2, mouth - 0.3, -INFINITY),
                       sn_v3(MIDDLE / 2, mouth + 0.3, INFINITY), most_moved);
    if (edge < 0) return;
    f->product[0] = f->size[edge];
    double y = sn_anatomy_local(a, sn_at(a->positions, edge)).y, from = y + 0.02 * side,
           to = y + 0.35 * side;
    set_best(f, landmark, 2, sn_v3(-MIDDLE / 2, fmin(from, to), -INFINITY),
             sn_v3(MIDDLE / 2, fmax(from, to), INFINITY), foremost_moved);
    if (!a->points[landmark][0].known) set_point(f, landmark, 2, sn_at(a->positions, edge));
    /* no hollow ends the lip: at the usual height above or below its margin */
    const sn_opening *o = &a->opening[SN_OPENING_MOUTH];
    if (!o->known) return;
    sn_vec3 margin = sn_anatomy_local(a, sn_opening_at(side > 0 ? o->upper : o->lower, 0.5));
    double width = sn_distance(o->upper[0], o->upper[SN_STATIONS - 1]) / a->eye_distance;
    double height = side * (sn_anatomy_local(a, a->points[landmark][0].point).y - margin.y);
    if (height > HIGHEST_LIP * width)
        set_front(f, landmark, 2, margin.x, margin.y + side * USUAL_LIP * width, 0.03);
}

/* Nose, lips and chin along the middle of the face, from top to bottom. */
static void find_profile(finder *f) {
    sinew_anatomy *a = f->a;
    sn_vec3 corner[2], lip, p;
    double mouth = -1.1; /* height */
    if (known(f, SINEW_LANDMARK_MOUTH_CORNER, 0, &corner[0]) &&
        known(f, SINEW_LANDMARK_MOUTH_CORNER, 1, &corner[1]))
        mouth = 0.5 * (corner[0].y + corner[1].y);
    set_best(f, SINEW_LANDMARK_NOSE_TIP, 2, sn_v3(-MIDDLE, 0.85 * mouth, -INFINITY),
             sn_v3(MIDDLE, 0.15 * mouth, INFINITY), foremost);
    set_front(f, SINEW_LANDMARK_NOSE_BRIDGE, 2, 0, 0.06, 0.06);
    double upper = 0, lower = 0;
    find_lip(f, "mouthUpperUp", SINEW_LANDMARK_LIP_UPPER, mouth, 1);
    find_lip(f, "mouthLowerDown", SINEW_LANDMARK_LIP_LOWER, mouth, -1);
    if (known(f, SINEW_LANDMARK_LIP_UPPER, 2, &lip)) upper = lip.y;
    if (known(f, SINEW_LANDMARK_LIP_LOWER, 2, &lip)) lower = lip.y;
    if (lower == 0) lower = mouth - 0.1;
    if (upper == 0) upper = mouth + 0.1;
    for (int side = 0; side < 2; side++) {
        if (!known(f, SINEW_LANDMARK_MOUTH_CORNER, side, &corner[side])) continue;
        double half = 0.5 * corner[side].x;
        set_front(f, SINEW_LANDMARK_LIP_UPPER_SIDE, side, half, 0.8 * upper + 0.2 * mouth, 0.05);
        set_front(f, SINEW_LANDMARK_LIP_LOWER_SIDE, side, half, 0.8 * lower + 0.2 * mouth, 0.05);
    }
    if (known(f, SINEW_LANDMARK_NOSE_TIP, 2, &p))
        set_front(f, SINEW_LANDMARK_NOSE_BASE, 2, 0, 0.6 * p.y + 0.4 * upper, 0.04);
    /* the chin: what the jaw carries, foremost below the fold under the lip */
    if (!sided_motion(f, "jawOpen", 2)) return;
    double most = 0;
    for (int v = 0; v < a->vertex_count; v++)
        if (a->skin[v]) most = fmax(most, f->size[v]);
    double bottom = 0;
    for (int v = 0; v < a->vertex_count; v++) {
        if (!a->skin[v] || f->size[v] < 0.6 * most) continue;
        sn_vec3 q = sn_anatomy_local(a, sn_at(a->positions, v));
        if (fabs(q.x) < MIDDLE) bottom = fmin(bottom, q.y);
    }
    double fold = lower + 0.4 * (bottom - lower);
    if (bottom < lower - 0.2)
        set_best(f, SINEW_LANDMARK_CHIN, 2, sn_v3(-MIDDLE, bottom, -INFINITY),
                 sn_v3(MIDDLE, fold, INFINITY), foremost);
}

/* What no target tells: at heads' usual proportions, on the skin. */
static void find_by_proportion(finder *f) {
    sinew_anatomy *a = f->a;
    sn_vec3 p, brow[2];
    double height = 0.45;
    if (known(f, SINEW_LANDMARK_BROW_INNER, 0, &brow[0]) &&
        known(f, SINEW_LANDMARK_BROW_INNER, 1, &brow[1])) {
        height = 0.5 * (brow[0].y + brow[1].y);
        set_front(f, SINEW_LANDMARK_BROW_CENTER, 2, 0, height, 0.06);
    }
    set_front(f, SINEW_LANDMARK_FOREHEAD, 2, 0, height + 0.5, 0.06);
    for (int side = 0; side < 2; side++) {
        double out = side ? -1 : 1;
        sn_vec3 center;
        set_front(f, SINEW_LANDMARK_FOREHEAD_SIDE, side, 0.5 * out, height + 0.4, 0.06);
        set_front(f, SINEW_LANDMARK_TEMPLE, side, 1.0 * out, 0.15, 0.06);
        if (known(f, SINEW_LANDMARK_NOSE_TIP, 2, &p))
            set_front(f, SINEW_LANDMARK_NOSE_WING, side, 0.26 * out, p.y - 0.03, 0.05);
        if (moved_center(f, "cheekPuff", SHARP, side, &center) ||
            moved_center(f, "cheekSquint", SHARP, side, &center)) {
            sn_vec3 at = sn_anatomy_local(a, center);
            if (at.x * out > 0.2) set_point(f, SINEW_LANDMARK_CHEEK, side, center);
        }
    }
}

sinew_status sn_anatomy_find_landmarks(const sinew_rig *rig, sinew_anatomy *a, sinew_error *error) {
    finder f = {rig, a, SN_NEW(double, a->vertex_count), SN_NEW(double, a->vertex_count)};
    sinew_status status = f.size && f.product ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && find_axes(&f)) {
        for (int side = 0; side < 2; side++) {
            find_eyes(&f, side);
            find_mouth_corner(&f, side);
            find_brow(&f, side);
        }
        a->center = sn_scale(0.5, sn_add(a->eye[0], a->eye[1]));
        status = sn_anatomy_find_openings(rig, a, error);
        for (int side = 0; side < 2; side++) set_from_opening(&f, side);
        find_profile(&f);
        find_by_proportion(&f);
    }
    sn_free(f.size), sn_free(f.product);
    return status;
}
