/* A map from names and shape.
 *
 *   1. The names of the markers tell which landmarks they sit on (marker_names.c), the rig's
 * targets where these are on the face (landmarks.c). A similarity brings the take there.
 *   2. Without names that tell: 24 orientations are tried, each refined by nearest points.
 *   3. A thin-plate warp through the landmarks adapts the proportions.
 *   4. Every marker goes to the nearest point of the outer skin.
 *
 * A take that lies on the face as it is needs none of the first three. */
#include "capture/automap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/vec3.h"
#include "capture/marker_layouts.h"
#include "capture/own_side.h"
#include "capture/take.h"
#include "sinew/query.h"
#include "sinew/warp.h"

/* Markers with a mean distance below this fraction of the diagonal lie on the face as they are, if
 * they are named after points that the rig does not show. */
#define ON_THE_FACE 0.01
/* The same for markers whose names tell nothing better. */
#define NEAR_THE_FACE 0.05
/* Fractions of the eye distance: markers farther off the skin are in doubt; are not on the face. */
#define OFF_SKIN 0.25
#define NOT_FACE 0.8
/* How far nearest points may move the take from where its names put it, on average. */
#define WANDER 0.25
/* A marker this far from the landmark of its name is in doubt, if that is one on which everybody
 * puts markers alike. */
#define MISNAMED 0.5
/* Margins nearer to each other than this, as those of closed lips, are not told apart. */
#define ACROSS 0.05
/* A take that is this near to the skin on average is of this face. */
#define SAME_FACE 0.01
/* From this much more on it is another one, and its proportions are those of its landmarks. */
#define OTHER_FACE 0.03
/* And in its unit of length when its scale is this near to 1. */
#define SAME_SCALE 0.03
/* The shape alone tells where markers are only on the face of the actor: on others, the nearest fit
 * is a quarter of the face off as often as not, and not much farther from the skin. */
#define OWN_FACE 0.015
/* Of the warp through landmarks, which are good to some millimeters. */
#define WARP_SMOOTHING 0.05
/* A lid or lip that is told by the name is preferred to a nearer other one up to this much farther
 * off: on this face; on another one, brought here by some landmarks. */
#define OWN_SIDE       0.1
#define OWN_SIDE_OTHER 0.3
/* A layout that only the positions can confirm must fit this well. */
#define LAYOUT_FITS 0.2
/* Height within which landmarks lie close together, in eye distances. */
#define LEVEL 0.9
enum { MOST_ANCHORS = 128, LEAST_ANCHORS = 4, WARP_ANCHORS = 8, NEAREST_ROUNDS = 40 };

/* Of a point on the margin of a lid or lip. */
#define MARGIN_WEIGHT 0.5

typedef struct anchors {
    int count;
    double from[3 * MOST_ANCHORS], to[3 * MOST_ANCHORS];
    double weights[MOST_ANCHORS], off[MOST_ANCHORS];
    double scratch[3 * MOST_ANCHORS];
} anchors;

typedef struct mapping {
    const sinew_rig *rig;
    const sinew_anatomy *anatomy;
    const sinew_markers *take;
    sn_marker_name *names;
    int count;     /* seen markers */
    int *marker;   /* of the take */
    double *from;  /* 3 each: as they are */
    double *given; /* the same, which the check of the map does not change */
    double *image; /* 3 each: brought to the face */
    double *near;  /* 3 each: nearest points */
    double *weights, *off, *scratch;
    sinew_closest *found;
    bool layout;           /* the names are those of a numbered layout */
    double diagonal, unit; /* unit: eye distance, or a fraction of the diagonal */
    int skin_triangles;
    int *triangles, *original; /* of the outer skin; their index in the mesh */
    sinew_query *query;
} mapping;

/* ---- the skin -------------------------------------------------------------------------------- */

static sinew_status collect_skin(mapping *m, sinew_error *error) {
    const sinew_mesh *mesh = m->rig->neutral;
    const bool *skin = sinew_anatomy_skin(m->anatomy);
    m->triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count);
    m->original = SN_NEW(int, mesh->triangle_count);
    if (!m->triangles || !m->original) return sn_no_memory(error);
    for (int pass = 0; pass < 2 && m->skin_triangles == 0; pass++)
        for (int t = 0; t < mesh->triangle_count; t++) {
            const int *v = mesh->triangles + 3 * (size_t)t;
            /* a rig whose skin is not known is all skin */
            if (pass == 0 && !(skin[v[0]] && skin[v[1]] && skin[v[2]])) continue;
            memcpy(m->triangles + 3 * (size_t)m->skin_triangles, v, 3 * sizeof(int));
            m->original[m->skin_triangles++] = t;
        }
    return sinew_query_create(mesh->vertex_count, mesh->positions, m->skin_triangles, m->triangles,
                              &m->query, error);
}

static double nearest_points(mapping *m) {
    double sum = 0;
    sinew_query_closest_all(m->query, m->count, m->image, INFINITY, m->found);
    for (int i = 0; i < m->count; i++) {
        memcpy(m->near + 3 * (size_t)i, m->found[i].point, 3 * sizeof(double));
        sum += m->found[i].distance;
    }
    return m->count ? sum / m->count : INFINITY;
}

/* The mean without markers that are not on the skin, such as those of a head band, as long as they
 * are few. */
static double typical_distance(const mapping *m) {
    double sum = 0, all = 0;
    int on = 0;
    for (int i = 0; i < m->count; i++) {
        all += m->found[i].distance;
        if (m->found[i].distance < OFF_SKIN * m->unit) sum += m->found[i].distance, on++;
    }
    return 4 * on >= 3 * m->count ? sum / on : all / m->count;
}

/* ---- alignment ------------------------------------------------------------------------------- */

static sinew_side side_of(const sn_marker_name *name, bool swap) {
    if (!swap || name->side == SINEW_SIDE_NONE) return name->side;
    return name->side == SINEW_SIDE_LEFT ? SINEW_SIDE_RIGHT : SINEW_SIDE_LEFT;
}

/* The point of a margin after which a marker is named. */
static bool margin_point(const mapping *m, const sn_marker_name *name, bool swap, bool upper,
                         sn_vec3 *point) {
    const sn_opening *o = sn_own_opening(m->anatomy, name->margin, side_of(name, swap));
    if (!o || !isfinite(name->along)) return false;
    bool mouth = o == &m->anatomy->opening[SN_OPENING_MOUTH];
    *point =
        sn_opening_at(upper ? o->upper : o->lower, mouth && swap ? 1 - name->along : name->along);
    return true;
}

/* Markers of one landmark count together, at their mean; those on the margin of a lid or lip each
 * at their own point of it. `swap`: left is the viewer's. */
static void gather_anchors(const mapping *m, bool swap, anchors *a) {
    sn_vec3 point;
    a->count = 0;
    for (int landmark = 0; landmark < SINEW_LANDMARK_COUNT; landmark++)
        for (int side = 0; side < (landmark < SINEW_LANDMARK_PAIRS ? 2 : 1); side++) {
            bool paired = landmark < SINEW_LANDMARK_PAIRS;
            int given = paired ? side : SINEW_SIDE_NONE, found = 0;
            int there = paired && swap ? 1 - side : given;
            sn_vec3 sum = {0, 0, 0};
            if (!sinew_anatomy_landmark(m->anatomy, (sinew_landmark)landmark, (sinew_side)there,
                                        a->to + 3 * a->count, NULL))
                continue;
            for (int i = 0; i < m->count; i++) {
                const sn_marker_name *name = &m->names[m->marker[i]];
                if (name->landmark != landmark || (paired && (int)name->side != given)) continue;
                if (margin_point(m, name, swap, true, &point)) continue;
                sum = sn_add(sum, sn_at(m->from, i)), found++;
            }
            if (!found) continue;
            sn_put(a->from, a->count, sn_scale(1.0 / found, sum));
            a->weights[a->count++] = sn_landmark_weight(landmark);
        }
    for (int i = 0; i < m->count && a->count < MOST_ANCHORS; i++) {
        const sn_marker_name *name = &m->names[m->marker[i]];
        if (!margin_point(m, name, swap, sn_is_upper(name->margin), &point)) continue;
        sn_put(a->from, a->count, sn_at(m->from, i));
        sn_put(a->to, a->count, point);
        a->weights[a->count++] = MARGIN_WEIGHT;
    }
}

static double weighted_off(const anchors *a) {
    double sum = 0, total = 0;
    for (int i = 0; i < a->count; i++) sum += a->weights[i] * a->off[i], total += a->weights[i];
    return total > 0 ? sum / total : INFINITY;
}

/* Of how many landmarks the names tell, whether or not the rig has them. */
static int named_landmarks(const mapping *m) {
    bool seen[2 * SINEW_LANDMARK_COUNT] = {0};
    int count = 0;
    for (int i = 0; i < m->count; i++) {
        const sn_marker_name *name = &m->names[m->marker[i]];
        if (name->landmark < 0) continue;
        bool *own = &seen[2 * name->landmark + (name->side == SINEW_SIDE_RIGHT)];
        count += !*own, *own = true;
    }
    return count;
}

static const char *first_named(const mapping *m) {
    for (int i = 0; i < m->count; i++)
        if (m->names[m->marker[i]].landmark >= 0) return m->take->names[m->marker[i]];
    return "";
}

/* False when the names do not tell enough. */
static bool align_by_names(const mapping *m, anchors *a, sn_similarity *s, bool *swapped) {
    double off[2] = {INFINITY, INFINITY};
    for (int swap = 1; swap >= 0; swap--) {
        gather_anchors(m, swap, a);
        if (a->count < LEAST_ANCHORS) return false;
        if (sn_similarity_fit_robust(a->count, a->from, a->to, a->weights, a->off, a->scratch, s))
            off[swap] = weighted_off(a);
    }
    *swapped = off[1] < 0.6 * off[0] && off[1] < 0.3 * m->unit;
    if (*swapped) {
        gather_anchors(m, true, a);
        sn_similarity_fit_robust(a->count, a->from, a->to, a->weights, a->off, a->scratch, s);
    }
    return isfinite(off[*swapped]) && off[*swapped] < 0.5 * m->unit;
}

static void apply(mapping *m, const sn_similarity *s);

/* Landmarks are good to some millimeters; a whole face full of markers tells its position better by
 * nearest points, as long as it does not wander off. Returns the mean distance. */
static double settle(mapping *m, bool scale, sn_similarity *s) {
    sn_similarity start = *s, next;
    double distance = INFINITY;
    for (int round = 0; round < NEAREST_ROUNDS; round++) {
        apply(m, s);
        double before = distance;
        distance = nearest_points(m);
        if (!(distance < 0.9995 * before)) break;
        for (int i = 0; i < m->count; i++)
            m->weights[i] = m->found[i].distance < NOT_FACE * m->unit;
        if (!sn_similarity_fit_robust(m->count, m->from, m->near, m->weights, m->off, m->scratch,
                                      &next))
            break;
        if (!scale) {
            sn_vec3 shift;
            for (int i = 0; i < m->count; i++)
                sn_put(m->scratch, i, sn_scale(start.scale, sn_at(m->from, i)));
            sn_rigid_fit(m->count, m->scratch, m->near, m->weights, &next.rotation, &shift);
            next.scale = start.scale, next.translation = shift;
        }
        double wander = 0;
        for (int i = 0; i < m->count; i++)
            wander += sn_distance(sn_similarity_apply(&next, sn_at(m->from, i)),
                                  sn_similarity_apply(&start, sn_at(m->from, i))) /
                      m->count;
        if (wander > WANDER * m->unit || fabs(log(next.scale / start.scale)) > 0.15) break;
        *s = next;
    }
    apply(m, s);
    nearest_points(m);
    return typical_distance(m);
}

static void apply(mapping *m, const sn_similarity *s) {
    for (int i = 0; i < m->count; i++)
        sn_put(m->image, i, sn_similarity_apply(s, sn_at(m->from, i)));
}

/* Landmarks of the mouth or of the eyes alone leave open how far the head nods, and with it where
 * everything above or below them sits. */
static bool leaves_nod_open(const mapping *m, const anchors *a) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < a->count; i++) {
        double y = sn_dot(sn_at(a->to, i), m->anatomy->up);
        if (a->weights[i] >= SN_LANDMARK_SHARP) low = fmin(low, y), high = fmax(high, y);
    }
    return m->anatomy->oriented && high - low < LEVEL * m->unit;
}

/* A marker farther than MISNAMED from all of these landmarks, or -1: there, a nod that is not known
 * moves it by centimeters. */
static int far_from_landmarks(const mapping *m, const anchors *a) {
    for (int i = 0; i < m->count; i++) {
        double nearest = INFINITY;
        for (int k = 0; k < a->count; k++)
            if (a->weights[k] >= SN_LANDMARK_SHARP)
                nearest = fmin(nearest, sn_distance(sn_at(m->image, i), sn_at(a->to, k)));
        if (nearest > MISNAMED * m->unit && isfinite(nearest)) return i;
    }
    return -1;
}

/* Rotation k of the 24 that map axes to axes. */
static sn_mat3 orientation(int k) {
    static const double turns[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    sn_vec3 x, y;
    int axis = k / 4 % 3;
    double sign = k / 12 ? -1 : 1, c = turns[k % 4][0], s = turns[k % 4][1];
    sn_vec3 e[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    x = sn_scale(sign, e[axis]);
    y = sn_add(sn_scale(c, e[(axis + 1) % 3]), sn_scale(s, e[(axis + 2) % 3]));
    sn_vec3 z = sn_cross(x, y);
    sn_mat3 r;
    double rows[9] = {x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z};
    memcpy(&r, rows, sizeof r);
    return r;
}

/* Nearest points lead to the nearest valley only, so all orientations are tried. Returns the mean
 * distance of the best; *second: that of the next one that differs from it. */
static double align_by_shape(mapping *m, sn_similarity *best, double *second) {
    double point[3], least = INFINITY, size = 0, goal = 0.9 * m->unit;
    sn_vec3 to = {0, 0, 0}, middle = {0, 0, 0};
    int known = 0;
    for (int l = 0; l < SINEW_LANDMARK_COUNT; l++)
        for (int side = 0; side < 3; side++)
            if (sinew_anatomy_landmark(m->anatomy, (sinew_landmark)l, (sinew_side)side, point,
                                       NULL))
                to = sn_add(to, sn_at(point, 0)), known++;
    if (known) to = sn_scale(1.0 / known, to);
    for (int i = 0; i < m->count; i++)
        middle = sn_add_scaled(middle, 1.0 / m->count, sn_at(m->from, i));
    for (int i = 0; i < m->count; i++) {
        double d = sn_distance(middle, sn_at(m->from, i));
        size += d * d / m->count;
    }
    *second = INFINITY;
    if (!known || !(size > 0)) return INFINITY;
    for (int k = 0; k < 24; k++) {
        sn_similarity s = {orientation(k), goal / sqrt(size), {0, 0, 0}};
        double first = s.scale, distance = INFINITY;
        s.translation = sn_sub(to, sn_scale(s.scale, sn_mat3_apply(s.rotation, middle)));
        for (int round = 0; round < NEAREST_ROUNDS; round++) {
            apply(m, &s);
            double before = distance;
            distance = nearest_points(m);
            if (!(distance < 0.9999 * before)) break;
            sn_similarity next;
            if (!sn_similarity_fit(m->count, m->from, m->near, NULL, m->scratch, &next)) break;
            if (next.scale < 0.7 * first || next.scale > 1.4 * first) break; /* it shrinks to fit */
            s = next;
        }
        if (distance < least) {
            *second = least;
            least = distance, *best = s;
        } else {
            *second = fmin(*second, distance);
        }
    }
    return least;
}

/* A take of this face in its unit of length is only moved. */
static void keep_scale(mapping *m, sn_similarity *s) {
    sn_vec3 shift;
    sn_rigid_fit(m->count, m->from, m->near, NULL, &s->rotation, &shift);
    s->scale = 1, s->translation = shift;
    apply(m, s);
}

/* ---- the map --------------------------------------------------------------------------------- */

/* image := the warp through the anchors that the fit kept, which go `share` of the way to their
 * landmarks: the better a face fits as a whole, the less is to be gained from landmarks. */
static sinew_status warp(mapping *m, const anchors *a, const sn_similarity *s, double share,
                         sinew_error *error) {
    double from[3 * MOST_ANCHORS], to[3 * MOST_ANCHORS];
    int used = 0;
    for (int i = 0; i < a->count; i++) {
        if (a->weights[i] < 0.4 || a->off[i] > 0.35 * m->unit) continue;
        sn_vec3 image = sn_similarity_apply(s, sn_at(a->from, i));
        sn_put(from, used, image);
        sn_put(to, used++, sn_lerp(image, sn_at(a->to, i), share));
    }
    if (used < WARP_ANCHORS) return SINEW_OK;
    sinew_warp *w;
    SN_TRY(sinew_warp_create(used, from, to, WARP_SMOOTHING, &w, error));
    for (int i = 0; i < m->count; i++) {
        double p[3];
        memcpy(p, m->image + 3 * (size_t)i, sizeof p);
        sinew_warp_point(w, p, m->image + 3 * (size_t)i);
    }
    sinew_warp_destroy(w);
    return SINEW_OK;
}

/* Points of a layout are what they are called, unlike markers, which are glued on nearby: those on
 * the margins of lids and lips of another face lie on the margins of this one, as far along as they
 * are and as they are called, and the corners in the corners. */
static void snap_layout(mapping *m, bool swap) {
    for (int i = 0; i < m->count; i++) {
        const sn_marker_name *name = &m->names[m->marker[i]];
        sinew_side side = side_of(name, swap);
        sn_vec3 image = sn_at(m->image, i), named;
        bool inner = name->landmark == SINEW_LANDMARK_EYE_INNER;
        const sn_opening *o = sn_own_opening(m->anatomy, name->margin, side);
        if (margin_point(m, name, swap, sn_is_upper(name->margin), &named)) {
            const sn_vec3 *margin = sn_is_upper(name->margin) ? o->upper : o->lower;
            double along =
                0.5 * (sn_opening_along(margin, named) + sn_opening_along(margin, image));
            sn_put(m->image, i, sn_opening_at(margin, along));
        } else if (inner || name->landmark == SINEW_LANDMARK_EYE_OUTER) {
            o = sn_own_opening(m->anatomy, SN_MARGIN_LID_UPPER, side);
            if (o) sn_put(m->image, i, o->upper[inner ? 0 : SN_STATIONS - 1]);
        }
    }
}

/* Markers that are named after a lid or lip go to that one, as long as it is near. */
static sinew_status prefer_own_side(mapping *m, bool swap, double slack, sinew_error *error) {
    sn_own_side own = {.mesh = m->rig->neutral, .anatomy = m->anatomy};
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < m->count; i++) {
        const sn_marker_name *name = &m->names[m->marker[i]];
        sinew_closest closest;
        status = sn_own_side_closest(&own, name->margin, side_of(name, swap),
                                     m->image + 3 * (size_t)i, &closest, error);
        if (status == SINEW_OK && closest.triangle >= 0 &&
            closest.distance <= m->found[i].distance + slack * m->unit)
            m->found[i] = closest;
    }
    sn_own_side_free(&own);
    return status;
}

static sinew_status write_map(mapping *m, bool swap, sn_automap *r, sinew_error *error) {
    int kept = 0;
    bool other_face = r->source == SINEW_MAP_SOURCE_BY_NAMES && !r->same_face;
    nearest_points(m);
    for (int i = 0; i < m->count; i++)
        if (m->found[i].triangle >= 0) m->found[i].triangle = m->original[m->found[i].triangle];
    SN_TRY(prefer_own_side(m, swap, other_face ? OWN_SIDE_OTHER : OWN_SIDE, error));
    for (int i = 0; i < m->count; i++) kept += m->found[i].distance <= NOT_FACE * m->unit;
    SN_TRY(sinew_marker_map_create(kept, &r->map, error));
    SN_TRY(sn_map_doubts_create(kept, &r->doubts, error));
    r->left_out = SN_NEW(int, m->count);
    if (!r->left_out) return sn_no_memory(error);
    kept = 0;
    for (int i = 0; i < m->count; i++) {
        const sinew_closest *c = &m->found[i];
        if (!(c->distance <= NOT_FACE * m->unit)) {
            r->left_out[r->left_out_count++] = m->marker[i];
            continue;
        }
        SN_TRY(sinew_marker_map_set_name(r->map, kept, m->take->names[m->marker[i]], error));
        r->map->vertices[kept] = -1;
        r->map->triangles[kept] = c->triangle;
        memcpy(r->map->barycentric + 3 * (size_t)kept, c->barycentric, sizeof c->barycentric);
        if (c->distance > OFF_SKIN * m->unit)
            sn_map_doubt(&r->doubts, kept, "lies %.2g eye distances off the skin",
                         c->distance / m->unit);
        sn_put(m->from, kept, sn_at(m->from, i)); /* for the check: those of the map only */
        sn_put(m->near, kept++, sn_at(c->point, 0));
    }
    return SINEW_OK;
}

/* The landmark across an opening, or -1. */
static int across(int landmark) {
    switch (landmark) {
    case SINEW_LANDMARK_LID_UPPER:
        return SINEW_LANDMARK_LID_LOWER;
    case SINEW_LANDMARK_LID_LOWER:
        return SINEW_LANDMARK_LID_UPPER;
    case SINEW_LANDMARK_LIP_UPPER:
        return SINEW_LANDMARK_LIP_LOWER;
    case SINEW_LANDMARK_LIP_LOWER:
        return SINEW_LANDMARK_LIP_UPPER;
    default:
        return -1;
    }
}

/* The point on the face after which a marker is named, and the one across the opening of an eye or
 * of the mouth; false: there is none, or everybody puts it elsewhere. */
static bool named_point(const mapping *m, const sn_marker_name *name, bool swap, sn_vec3 *point,
                        sn_vec3 *opposite, bool *has_opposite) {
    bool paired = name->landmark >= 0 && name->landmark < SINEW_LANDMARK_PAIRS;
    sinew_side side = paired ? side_of(name, swap) : SINEW_SIDE_NONE;
    double p[3];
    *has_opposite = margin_point(m, name, swap, !sn_is_upper(name->margin), opposite);
    if (margin_point(m, name, swap, sn_is_upper(name->margin), point)) return true;
    if (name->landmark < 0 || sn_landmark_weight(name->landmark) < SN_LANDMARK_SHARP ||
        !sinew_anatomy_landmark(m->anatomy, (sinew_landmark)name->landmark, side, p, NULL))
        return false;
    *point = sn_at(p, 0);
    int other = across(name->landmark);
    *has_opposite =
        other >= 0 && sinew_anatomy_landmark(m->anatomy, (sinew_landmark)other, side, p, NULL);
    if (*has_opposite) *opposite = sn_at(p, 0);
    return true;
}

/* The mean of the markers that are named alike, as numbered ones are ("chin1", "chin2"). */
static sn_vec3 mean_of_name(const mapping *m, int marker) {
    const sn_marker_name *name = &m->names[m->marker[marker]];
    sn_vec3 sum = {0, 0, 0};
    int count = 0;
    for (int i = 0; i < m->count; i++) {
        const sn_marker_name *other = &m->names[m->marker[i]];
        bool alike = other->landmark == name->landmark && other->side == name->side &&
                     other->margin == name->margin &&
                     (other->along == name->along || (isnan(other->along) && isnan(name->along)));
        if (alike) sum = sn_add(sum, sn_at(m->given, i)), count++;
    }
    return sn_scale(1.0 / count, sum);
}

/* Markers whose names tell of a point that is elsewhere, or across an opening. */
static void doubt_names(const mapping *m, const sn_similarity *s, bool swapped, sn_automap *r) {
    for (int i = 0, kept = 0; i < m->count; i++) {
        sn_vec3 point, opposite, there = sn_at(m->found[i].point, 0);
        bool has_opposite;
        if (!(m->found[i].distance <= NOT_FACE * m->unit)) continue; /* not in the map */
        int marker = kept++;
        if (!named_point(m, &m->names[m->marker[i]], swapped, &point, &opposite, &has_opposite))
            continue;
        double off = sn_distance(sn_similarity_apply(s, mean_of_name(m, i)), point) / m->unit;
        if (off > MISNAMED)
            sn_map_doubt(&r->doubts, marker, "lies %.2g eye distances from the point of its name",
                         off);
        if (has_opposite && sn_distance(point, opposite) > ACROSS * m->unit &&
            sn_distance(there, opposite) < 0.7 * sn_distance(there, point))
            sn_map_doubt(&r->doubts, marker,
                         "is named after one lid or lip, but sits on the other");
    }
}

/* Reads a take that is numbered like a layout. Where this needs to be confirmed, the layout must
 * fit the face, and no other one as well. */
static void read_layout(mapping *m, anchors *a) {
    sn_layout_guess guesses[SN_LAYOUT_GUESSES];
    int count = sn_layout_guesses(m->take, guesses), best = -1;
    double least = INFINITY, second = INFINITY;
    for (int k = 0; k < count; k++) {
        sn_similarity s;
        bool swapped;
        sn_layout_names(m->take, &guesses[k], m->names);
        if (guesses[k].certain) {
            m->layout = true;
            return;
        }
        double off = align_by_names(m, a, &s, &swapped) && !swapped ? weighted_off(a) : INFINITY;
        if (off < least)
            second = least, least = off, best = k;
        else
            second = fmin(second, off);
    }
    m->layout = best >= 0 && least < LAYOUT_FITS * m->unit && least < 0.7 * second;
    if (m->layout)
        sn_layout_names(m->take, &guesses[best], m->names);
    else
        sn_marker_names_of(m->take, m->names);
}

static sinew_status find(mapping *m, const sinew_monitor *monitor, sn_automap *r,
                         sinew_error *error) {
    anchors a;
    bool swapped = false;
    double spread = 0;
    for (int i = 1; i < m->count; i++)
        spread = fmax(spread, sn_distance(sn_at(m->from, i), sn_at(m->from, 0)));
    if (m->count > 1 && !(spread > 0))
        return sn_fail(
            error, SINEW_BAD_INPUT,
            "the %d markers are all at the same position, and cannot be placed on a face",
            m->count);
    memcpy(m->image, m->from, 3 * sizeof(double) * (size_t)m->count);
    read_layout(m, &a);
    double as_it_is = nearest_points(m), second = INFINITY;
    bool named = align_by_names(m, &a, &r->alignment, &swapped);
    double moved = named ? sn_distance(sn_similarity_apply(&r->alignment, sn_at(m->from, 0)),
                                       sn_at(m->from, 0))
                         : 0;
    /* markers of a face on a rig without one are near something by chance */
    bool misplaced = !named && named_landmarks(m) >= WARP_ANCHORS;
    /* a face of about the same size at the same position is not that of the actor */
    double reach = named       ? SAME_FACE * m->unit
                   : misplaced ? ON_THE_FACE * m->diagonal
                               : NEAR_THE_FACE * m->diagonal;
    if (as_it_is < reach && (!named || moved < 0.4 * m->unit)) {
        r->source = SINEW_MAP_SOURCE_IN_PLACE;
        r->alignment = (sn_similarity){sn_mat3_identity(), 1, {0, 0, 0}};
    } else if (named) {
        r->source = SINEW_MAP_SOURCE_BY_NAMES;
        /* a face that fits as a whole is this one, and needs no other proportions */
        sn_similarity by_names = r->alignment;
        double off = settle(m, true, &r->alignment) / m->unit;
        if (off > SAME_FACE) { /* on another face the size of the nearest shape means nothing */
            r->alignment = by_names;
            off = settle(m, false, &r->alignment) / m->unit;
        }
        r->same_face = off <= SAME_FACE;
        if (!r->same_face) {
            SN_TRY(warp(m, &a, &r->alignment, fmin((off - SAME_FACE) / OTHER_FACE, 1), error));
            if (m->layout) snap_layout(m, swapped);
        } else if (fabs(r->alignment.scale - 1) < SAME_SCALE)
            keep_scale(m, &r->alignment);
        bool open = !r->same_face && leaves_nod_open(m, &a);
        int far = open ? far_from_landmarks(m, &a) : -1;
        if (far >= 0)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "the named landmarks of the take lie close together, and do not tell "
                           "how far the head of another face nods; markers far from them, such as "
                           "'%s', could end up anywhere: leave them out, or give a map "
                           "(NAME,vertex)",
                           m->take->names[m->marker[far]]);
        if (open)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "the named landmarks lie close together: check where the map puts markers that "
                   "are far from them");
        if (swapped)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "the names of the markers use the viewer's left and right");
    } else if (misplaced && a.count >= LEAST_ANCHORS) {
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the names of the %d markers, such as '%s', do not fit their positions: the "
                       "best alignment leaves them %.2g eye distances from the points of the face "
                       "that they are named after; check the labels, or give a map (NAME,vertex)",
                       m->count, first_named(m), weighted_off(&a) / m->unit);
    } else if (misplaced) {
        return sn_fail(
            error, SINEW_BAD_INPUT,
            "the %d markers are named after points of a face, such as '%s', which do not "
            "lie on the rig, and its targets do not show where these points are: choose "
            "the rig of a face, or give a map (NAME,vertex)",
            m->count, first_named(m));
    } else {
        double least = align_by_shape(m, &r->alignment, &second);
        if (!(least < OWN_FACE * m->unit) || m->count < 8)
            return sn_fail(
                error, SINEW_BAD_INPUT,
                "the names of the %d markers do not identify their points, and their shape "
                "does not fit the face closely (%.2g eye distances off the skin on average): give "
                "a map (NAME,vertex)",
                m->count, least / m->unit);
        if (second < 1.15 * least)
            return sn_fail(
                error, SINEW_BAD_INPUT,
                "the names of the %d markers do not identify their points, and their shape "
                "fits the face in several positions: give a map (NAME,vertex)",
                m->count);
        r->source = SINEW_MAP_SOURCE_BY_SHAPE;
        apply(m, &r->alignment);
    }
    SN_TRY(write_map(m, swapped, r, error));
    if (r->source == SINEW_MAP_SOURCE_BY_NAMES) doubt_names(m, &r->alignment, swapped, r);
    sn_marker_name *names = m->names; /* from here on those of the map, by the face's sides */
    for (int i = 0, kept = 0; i < m->count; i++) {
        sn_marker_name name = names[m->marker[i]];
        name.side = side_of(&name, swapped);
        if (m->found[i].distance <= NOT_FACE * m->unit) names[kept++] = name;
    }
    sn_map_facts facts = {m->anatomy, names, false};
    return sn_map_check(&facts, r->map->count, r->map->names, m->from, m->near, &r->doubts, error);
}

/* Where a marker would be in the sample: seen there, or carried with the others from the nearest
 * sample that shows it. */
static bool place_in(mapping *m, int sample, int marker, double *place) {
    const sinew_markers *take = m->take;
    for (int away = 0; away < take->time_count; away++)
        for (int sign = -1; sign <= 1; sign += 2) {
            int t = sample + sign * away, common = 0;
            if (t < 0 || t >= take->time_count || !isfinite(sn_take_at(take, t, marker)[0]))
                continue;
            memcpy(place, sn_take_at(take, t, marker), 3 * sizeof *place);
            if (away == 0) return true;
            double *from = m->image, *to = m->near; /* not in use yet */
            for (int i = 0; i < take->marker_count; i++) {
                const double *p = sn_take_at(take, t, i), *q = sn_take_at(take, sample, i);
                if (!isfinite(p[0]) || !isfinite(q[0])) continue;
                memcpy(from + 3 * (size_t)common, p, 3 * sizeof *p);
                memcpy(to + 3 * (size_t)common++, q, 3 * sizeof *q);
            }
            if (common < LEAST_ANCHORS) continue;
            sn_mat3 rotation;
            sn_vec3 shift;
            sn_rigid_fit(common, from, to, NULL, &rotation, &shift);
            sn_put(place, 0, sn_add(sn_mat3_apply(rotation, sn_at(place, 0)), shift));
            return true;
        }
    return false;
}

static sinew_status collect_markers(mapping *m, int sample, sinew_error *error) {
    for (int i = 0; i < m->take->marker_count; i++) {
        double place[3];
        if (!place_in(m, sample, i, place)) continue;
        sn_put(m->from, m->count, sn_at(place, 0));
        m->marker[m->count++] = i;
    }
    memcpy(m->given, m->from, 3 * sizeof(double) * (size_t)m->count);
    return m->count > 0
               ? SINEW_OK
               : sn_fail(error, SINEW_BAD_INPUT, "sample %d of the take shows no marker", sample);
}

sinew_status sn_automap_find(const sinew_rig *rig, const sinew_anatomy *anatomy,
                             const sinew_markers *take, int sample, const sinew_monitor *monitor,
                             sn_automap *r, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    size_t n = (size_t)take->marker_count;
    mapping m = {.rig = rig, .anatomy = anatomy, .take = take};
    *r = (sn_automap){0};
    m.names = SN_NEW(sn_marker_name, n), m.marker = SN_NEW(int, n);
    m.found = SN_NEW(sinew_closest, n);
    double *room = SN_NEW(double, 17 * n);
    sinew_status status = m.names && m.marker && m.found && room ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        m.from = room, m.image = room + 3 * n, m.near = room + 6 * n, m.scratch = room + 9 * n;
        m.weights = room + 12 * n, m.off = room + 13 * n, m.given = room + 14 * n;
        m.diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
        m.unit = sinew_anatomy_eye_distance(anatomy);
        if (!(m.unit > 0)) m.unit = 0.15 * m.diagonal;
        status = collect_markers(&m, sample, error);
    }
    if (status == SINEW_OK) status = collect_skin(&m, error);
    if (status == SINEW_OK) status = find(&m, monitor, r, error);
    sinew_query_destroy(m.query);
    sn_free(m.names), sn_free(m.marker), sn_free(m.found), sn_free(m.triangles);
    sn_free(m.original), sn_free(room);
    if (status != SINEW_OK) sn_automap_free(r);
    return status;
}

void sn_automap_free(sn_automap *r) {
    sinew_marker_map_destroy(r->map);
    sn_map_doubts_free(&r->doubts);
    sn_free(r->left_out);
    *r = (sn_automap){0};
}
