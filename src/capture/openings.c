/* Margins of the lids and lips.
 *
 * The face is cut into vertical slices. An open eye is a gap in the outer skin of the slices
 * through it: above the gap lies the margin of the upper lid, below it that of the lower, and the
 * corners are where it closes. It does not matter whether the mesh ends there or goes on into a
 * socket, because the outer skin ends. An eye whose gap is covered (the mesh goes on over the
 * eyeball, or the lids are nearly closed) is cut by motion instead: in every slice the upper margin
 * is the lowest skin that a blink moves nearly as far as any, and the lower one the skin that it
 * meets.
 *
 * Lips that touch leave no gap, but an opening jaw parts them: in every slice the skin that follows
 * the jaw lies below the line between the lips, the rest above it. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "capture/anatomy_state.h"

/* All lengths are in units of the eye distance. */
#define STEP      0.01  /* between the slices that look for the corners */
#define CLOSED    0.012 /* height of a gap that counts as closed */
#define NARROWEST 0.2   /* widths of eyes */
#define WIDEST    0.9
/* Fractions: of the largest motion of a slice, by which its margin moves; of the largest motion of
 * all, by which the margins of the lips must part. */
#define MARGIN_MOVES 0.8
#define PARTED       0.15

typedef struct cut {
    sn_vec3 at, motion; /* in the axes of the face, in eye distances */
} cut;

/* In the axes of the face. */
typedef struct margins {
    sn_vec3 upper[SN_STATIONS], lower[SN_STATIONS];
} margins;

typedef struct slicer {
    const sinew_anatomy *a;
    const sinew_mesh *mesh;
    const double *motion; /* 3 per vertex: of the target that moves this opening */
    int triangle_count, *triangles;
    int count; /* cuts: two of every triangle */
    cut *cuts;
} slicer;

static sn_vec3 direction_in_face(const sinew_anatomy *a, sn_vec3 d) {
    double s = 1 / a->eye_distance;
    return sn_v3(s * sn_dot(d, a->left), s * sn_dot(d, a->up), s * sn_dot(d, a->front));
}

static sn_vec3 local_at(const slicer *s, int v) {
    return sn_anatomy_local(s->a, sn_at(s->a->positions, v));
}

/* The outer skin around an opening, but not what lies behind it. */
static void collect(slicer *s, sn_vec3 middle, double half_width, double half_height) {
    s->triangle_count = 0;
    for (int t = 0; t < s->mesh->triangle_count; t++) {
        const int *v = s->mesh->triangles + 3 * (size_t)t;
        if (!s->a->skin[v[0]] || !s->a->skin[v[1]] || !s->a->skin[v[2]]) continue;
        sn_vec3 p = local_at(s, v[0]);
        if (fabs(p.x - middle.x) < half_width && fabs(p.y - middle.y) < half_height &&
            p.z > middle.z - half_width)
            s->triangles[s->triangle_count++] = t;
    }
}

/* The cuts of the plane at x with the triangles, two in a row of each. */
static void slice_at(slicer *s, double x) {
    s->count = 0;
    for (int i = 0; i < s->triangle_count; i++) {
        const int *v = s->mesh->triangles + 3 * (size_t)s->triangles[i];
        sn_vec3 p[3];
        int found = 0;
        for (int k = 0; k < 3; k++) p[k] = local_at(s, v[k]);
        for (int k = 0; k < 3 && found < 2; k++) {
            int next = (k + 1) % 3;
            if ((p[k].x < x) == (p[next].x < x)) continue;
            double t = (x - p[k].x) / (p[next].x - p[k].x);
            sn_vec3 d = sn_lerp(sn_at(s->motion, v[k]), sn_at(s->motion, v[next]), t);
            s->cuts[s->count + found++] =
                (cut){sn_lerp(p[k], p[next], t), direction_in_face(s->a, d)};
        }
        if (found == 2) s->count += 2;
    }
}

/* ---- gaps ------------------------------------------------------------------------------------ */

/* The skin above and below a height: false when skin is there, or none above or below. */
static bool gap_at(const slicer *s, double y, sn_vec3 *upper, sn_vec3 *lower) {
    upper->y = INFINITY, lower->y = -INFINITY;
    for (int i = 0; i < s->count; i += 2) {
        bool first = s->cuts[i].at.y < s->cuts[i + 1].at.y;
        sn_vec3 low = s->cuts[i + !first].at, high = s->cuts[i + first].at;
        if (low.y <= y && high.y >= y) return false;
        if (low.y > y && low.y < upper->y) *upper = low;
        if (high.y < y && high.y > lower->y) *lower = high;
    }
    return isfinite(upper->y) && isfinite(lower->y);
}

/* The highest gap of a slice between two heights. */
static bool widest_gap(slicer *s, double x, double from, double to, sn_vec3 *upper,
                       sn_vec3 *lower) {
    bool found = false;
    slice_at(s, x);
    for (double y = from; y <= to; y += 0.5 * CLOSED) {
        sn_vec3 u, l;
        if (!gap_at(s, y, &u, &l)) continue;
        if (!found || u.y - l.y > upper->y - lower->y) *upper = u, *lower = l;
        found = true;
        y = fmax(y, u.y);
    }
    return found && upper->y - lower->y >= CLOSED;
}

/* From the middle to where the gap closes, in the direction of x that `sign` tells. */
static sn_vec3 follow_gap(slicer *s, double sign, double x, sn_vec3 upper, sn_vec3 lower) {
    for (double way = STEP; way < WIDEST; way += STEP) {
        sn_vec3 u, l;
        if (!widest_gap(s, x + sign * way, lower.y - 2 * STEP, upper.y + 2 * STEP, &u, &l)) break;
        upper = u, lower = l;
    }
    return sn_lerp(upper, lower, 0.5);
}

static bool cut_by_gap(slicer *s, sn_vec3 middle, int side, margins *m) {
    sn_vec3 *upper = m->upper, *lower = m->lower;
    sn_vec3 u, l;
    if (!widest_gap(s, middle.x, middle.y - 0.25, middle.y + 0.25, &u, &l)) return false;
    double out = side ? -1 : 1;
    sn_vec3 inner = follow_gap(s, -out, middle.x, u, l), outer = follow_gap(s, out, middle.x, u, l);
    double width = fabs(outer.x - inner.x);
    if (width < NARROWEST || width > WIDEST) return false;
    upper[0] = lower[0] = inner;
    upper[SN_STATIONS - 1] = lower[SN_STATIONS - 1] = outer;
    for (int k = 1; k < SN_STATIONS - 1; k++) {
        double t = (double)k / (SN_STATIONS - 1);
        sn_vec3 chord = sn_lerp(inner, outer, t);
        if (!widest_gap(s, chord.x, chord.y - 0.25, chord.y + 0.25, &upper[k], &lower[k]))
            upper[k] = lower[k] = chord;
    }
    return true;
}

/* ---- motion ---------------------------------------------------------------------------------- */

/* The lowest skin of a slice that moves nearly as far as any, downwards; -1: none moves. */
static int lowest_moved(const slicer *s, double *most) {
    int best = -1;
    *most = 0;
    for (int i = 0; i < s->count; i++)
        if (s->cuts[i].motion.y < 0) *most = fmax(*most, sn_length(s->cuts[i].motion));
    for (int i = 0; *most > 0 && i < s->count; i++) {
        if (s->cuts[i].motion.y >= 0 || sn_length(s->cuts[i].motion) < MARGIN_MOVES * *most)
            continue;
        if (best < 0 || s->cuts[i].at.y < s->cuts[best].at.y) best = i;
    }
    return best;
}

/* The upper lid's margin in every slice, and what it meets when the eye is shut. */
static bool cut_by_blink(slicer *s, sn_vec3 inner, sn_vec3 outer, margins *m) {
    sn_vec3 *upper = m->upper, *lower = m->lower;
    upper[0] = lower[0] = inner;
    upper[SN_STATIONS - 1] = lower[SN_STATIONS - 1] = outer;
    double most;
    for (int k = 1; k < SN_STATIONS - 1; k++) {
        double t = (double)k / (SN_STATIONS - 1), least = INFINITY;
        slice_at(s, inner.x + t * (outer.x - inner.x));
        int margin = lowest_moved(s, &most);
        if (margin < 0) return false;
        const cut *u = &s->cuts[margin];
        sn_vec3 shut = sn_add(u->at, u->motion);
        upper[k] = u->at, lower[k] = shut;
        for (int i = 0; i < s->count; i++) {
            const cut *c = &s->cuts[i];
            double apart = sn_distance(c->at, u->at);
            double d = sn_distance(sn_add(c->at, c->motion), shut);
            bool other =
                c->at.y < u->at.y && apart > 0.5 * most && sn_length(c->motion) < 0.6 * most;
            if (other && d < least) least = d, lower[k] = c->at;
        }
    }
    return true;
}

/* The margins of the lips in a slice; false when the skin goes on from one to the other. */
static bool part_lips(const slicer *s, double most, sn_vec3 *upper, sn_vec3 *lower) {
    double low = INFINITY, high = 0;
    for (int i = 0; i < s->count; i++) {
        double d = sn_length(s->cuts[i].motion);
        low = fmin(low, d), high = fmax(high, d);
    }
    int above = -1, below = -1;
    for (int i = 0; i < s->count; i++) {
        double y = s->cuts[i].at.y;
        bool jaw = sn_length(s->cuts[i].motion) > 0.5 * (low + high);
        if (!jaw && (above < 0 || y < s->cuts[above].at.y)) above = i;
        if (jaw && (below < 0 || y > s->cuts[below].at.y)) below = i;
    }
    if (above < 0 || below < 0) return false;
    *upper = s->cuts[above].at, *lower = s->cuts[below].at;
    return sn_length(s->cuts[below].motion) - sn_length(s->cuts[above].motion) > PARTED * most;
}

static void fill_between(const bool known[], sn_vec3 points[]) {
    for (int k = 1, before = 0; k < SN_STATIONS - 1; k++) {
        int after = k + 1;
        if (known[k]) {
            before = k;
            continue;
        }
        while (!known[after]) after++;
        points[k] = sn_lerp(points[before], points[after], (double)(k - before) / (after - before));
        before = k;
    }
}

/* The lips of every slice in which the jaw parts them; between these and the corners they are
 * straight. */
static bool cut_by_jaw(slicer *s, sn_vec3 right, sn_vec3 left, margins *m) {
    double most = 0;
    bool parted[SN_STATIONS] = {false};
    for (int i = 0; i < s->triangle_count; i++) {
        int v = s->mesh->triangles[3 * (size_t)s->triangles[i]];
        most = fmax(most, sn_length(direction_in_face(s->a, sn_at(s->motion, v))));
    }
    int found = 0;
    for (int k = 1; most > 0 && k < SN_STATIONS - 1; k++) {
        double t = (double)k / (SN_STATIONS - 1);
        slice_at(s, right.x + t * (left.x - right.x));
        if (!part_lips(s, most, &m->upper[k], &m->lower[k])) continue;
        parted[k] = true, found++;
    }
    if (found < SN_STATIONS / 3) return false;
    sn_vec3 *lines[] = {m->upper, m->lower};
    parted[0] = parted[SN_STATIONS - 1] = true;
    for (int i = 0; i < 2; i++) {
        lines[i][0] = right, lines[i][SN_STATIONS - 1] = left;
        fill_between(parted, lines[i]);
    }
    return true;
}

/* ---- openings -------------------------------------------------------------------------------- */

/* motion[3 * vertex_count] := that of a slider's plain targets; false when nothing moves. */
static bool motion_vectors(const sinew_rig *rig, const char *slider, double *motion) {
    int sliders[2], count = sinew_rig_match(rig, slider, sliders);
    bool moves = false;
    memset(motion, 0, 3 * sizeof(double) * (size_t)rig->neutral->vertex_count);
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *t = &rig->targets[k];
        if (t->kind != SINEW_TARGET_KIND_PLAIN || count < 1 ||
            (t->slider != sliders[0] && (count < 2 || t->slider != sliders[1])))
            continue;
        for (int i = 0; i < t->count; i++)
            sn_put(motion, t->vertices[i],
                   sn_add(sn_at(motion, t->vertices[i]), sn_at(t->deltas, i)));
        moves = moves || t->count > 0;
    }
    return moves;
}

/* Slices that meet an edge of the mesh here and miss it there do not make steps. */
static void smooth(sn_vec3 line[]) {
    for (int round = 0; round < 2; round++) {
        sn_vec3 before = line[0];
        for (int k = 1; k < SN_STATIONS - 1; k++) {
            sn_vec3 mean = sn_lerp(line[k], sn_lerp(before, line[k + 1], 0.5), 0.5);
            before = line[k], line[k] = mean;
        }
    }
}

static void keep(sinew_anatomy *a, sn_opening_kind kind, margins *m) {
    sn_opening *o = &a->opening[kind];
    o->known = true;
    smooth(m->upper), smooth(m->lower);
    for (int k = 0; k < SN_STATIONS; k++) {
        o->upper[k] = sn_anatomy_global(a, m->upper[k]);
        o->lower[k] = sn_anatomy_global(a, m->lower[k]);
    }
}

static void find_eye(slicer *s, const sinew_rig *rig, sinew_anatomy *a, int side, double *motion) {
    const sn_landmark_point *inner = &a->points[SINEW_LANDMARK_EYE_INNER][side];
    const sn_landmark_point *outer = &a->points[SINEW_LANDMARK_EYE_OUTER][side];
    margins m;
    sn_vec3 middle = sn_anatomy_local(a, a->eye[side]);
    motion_vectors(rig, side ? "eyeBlinkRight" : "eyeBlinkLeft", motion);
    collect(s, middle, 0.6, 0.5);
    if (!cut_by_gap(s, middle, side, &m) && !(inner->known && outer->known &&
                                              cut_by_blink(s, sn_anatomy_local(a, inner->point),
                                                           sn_anatomy_local(a, outer->point), &m)))
        return;
    keep(a, side ? SN_OPENING_EYE_RIGHT : SN_OPENING_EYE_LEFT, &m);
}

static void find_mouth(slicer *s, const sinew_rig *rig, sinew_anatomy *a, double *motion) {
    const sn_landmark_point *corner = a->points[SINEW_LANDMARK_MOUTH_CORNER];
    margins m;
    if (!corner[0].known || !corner[1].known || !motion_vectors(rig, "jawOpen", motion)) return;
    sn_vec3 left = sn_anatomy_local(a, corner[0].point);
    sn_vec3 right = sn_anatomy_local(a, corner[1].point);
    collect(s, sn_lerp(left, right, 0.5), 0.6 * (left.x - right.x) + 0.1, 0.35);
    if (left.x > right.x && cut_by_jaw(s, right, left, &m)) keep(a, SN_OPENING_MOUTH, &m);
}

sinew_status sn_anatomy_find_openings(const sinew_rig *rig, sinew_anatomy *a, sinew_error *error) {
    size_t n = (size_t)a->vertex_count, triangles = (size_t)rig->neutral->triangle_count;
    double *motion = SN_NEW(double, 3 * n);
    slicer s = {.a = a,
                .mesh = rig->neutral,
                .motion = motion,
                .triangles = SN_NEW(int, triangles),
                .cuts = SN_NEW(cut, 2 * triangles)};
    sinew_status status = motion && s.triangles && s.cuts ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int side = 0; side < 2; side++) find_eye(&s, rig, a, side, motion);
        find_mouth(&s, rig, a, motion);
    }
    sn_free(motion), sn_free(s.triangles), sn_free(s.cuts);
    return status;
}

sn_vec3 sn_opening_at(const sn_vec3 margin[SN_STATIONS], double along) {
    double t = fmin(fmax(along, 0), 1) * (SN_STATIONS - 1);
    int k = (int)fmin(t, SN_STATIONS - 2);
    return sn_lerp(margin[k], margin[k + 1], t - k);
}

double sn_opening_along(const sn_vec3 margin[SN_STATIONS], sn_vec3 point) {
    double least = INFINITY, along = 0;
    for (int k = 0; k + 1 < SN_STATIONS; k++) {
        sn_vec3 way = sn_sub(margin[k + 1], margin[k]);
        double length = sn_dot(way, way), t = sn_dot(sn_sub(point, margin[k]), way);
        t = length > 0 ? fmin(fmax(t / length, 0), 1) : 0;
        double d = sn_distance(point, sn_lerp(margin[k], margin[k + 1], t));
        if (d < least) least = d, along = (k + t) / (SN_STATIONS - 1);
    }
    return along;
}
