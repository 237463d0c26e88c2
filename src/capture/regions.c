/* Regions of a face from targets, landmarks, part names and pieces. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"
#include "capture/anatomy_state.h"

/* A vertex belongs to a region of targets where one of them moves it by this fraction of its
 * largest motion. */
#define MOVED 0.35
/* Pieces whose center is this near to an eye, in eye distances, belong to it. */
#define AROUND_EYE 0.38
/* Pieces of which less than this can be seen are inside. */
#define INSIDE 0.3
/* Pieces that a slider of the brows moves by this fraction of the skin's largest motion, on
 * average, are brows, though they may lie around a large eye. */
#define BROW 0.3

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool holds(const char *text, const char *word) {
    for (; *text; text++)
        if (!strncasecmp(text, word, strlen(word))) return true;
    return false;
}

/* -1: the name does not tell. */
static int kind_by_name(const char *name) {
    static const struct {
        const char *word;
        sinew_piece_kind kind;
    } rows[] = {{"lash", SINEW_PIECE_KIND_OUTSIDE}, {"brow", SINEW_PIECE_KIND_OUTSIDE},
                {"hair", SINEW_PIECE_KIND_OUTSIDE}, {"beard", SINEW_PIECE_KIND_OUTSIDE},
                {"teeth", SINEW_PIECE_KIND_TEETH},  {"tooth", SINEW_PIECE_KIND_TEETH},
                {"gum", SINEW_PIECE_KIND_TEETH},    {"tongue", SINEW_PIECE_KIND_TONGUE},
                {"eye", SINEW_PIECE_KIND_EYE},      {"sclera", SINEW_PIECE_KIND_EYE},
                {"cornea", SINEW_PIECE_KIND_EYE},   {"iris", SINEW_PIECE_KIND_EYE},
                {"lacrimal", SINEW_PIECE_KIND_EYE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (holds(name, rows[i].word)) return rows[i].kind;
    return -1;
}

typedef struct piece_facts {
    sn_vec3 sum;
    double open;
    int count, named;   /* named: kind by part name, or -1 */
    double tongue, jaw; /* sums of the motion by tongueOut, jawOpen */
    double brow;  /* largest mean motion by a slider of the brows, as a fraction of the skin's */
    double moved; /* sum of the motion by one of them */
} piece_facts;

static void raise_brow(const sinew_rig *rig, const sinew_anatomy *a, const char *slider,
                       double *size, piece_facts *facts) {
    double most = 0;
    if (!sn_motion_of(rig, slider, size)) return;
    for (int p = 0; p < a->piece_count; p++) facts[p].moved = 0;
    for (int v = 0; v < a->vertex_count; v++) {
        facts[a->piece[v]].moved += size[v];
        if (a->skin[v]) most = fmax(most, size[v]);
    }
    for (int p = 0; most > 0 && p < a->piece_count; p++)
        facts[p].brow = fmax(facts[p].brow, facts[p].moved / (facts[p].count * most));
}

/* Sliders of the brows. */
static const char *const brows[] = {"browInnerUp", "browDownLeft", "browDownRight",
                                    "browOuterUpLeft", "browOuterUpRight"};

static void gather(const sinew_rig *rig, const sinew_anatomy *a, double *size, piece_facts *facts) {
    const sinew_mesh *mesh = rig->neutral;
    for (int p = 0; p < a->piece_count; p++) facts[p] = (piece_facts){.named = -1};
    for (int v = 0; v < a->vertex_count; v++) {
        piece_facts *f = &facts[a->piece[v]];
        f->sum = sn_add(f->sum, sn_at(a->positions, v)), f->open += a->openness[v], f->count++;
    }
    for (int f = 0; f < mesh->face_count; f++) {
        int part = mesh->face_part ? mesh->face_part[f] : 0;
        if (part < 0 || part >= mesh->part_count || mesh->face_start[f] == mesh->face_start[f + 1])
            continue;
        piece_facts *own = &facts[a->piece[mesh->face_vertices[mesh->face_start[f]]]];
        if (own->named < 0) own->named = kind_by_name(mesh->part_names[part]);
    }
    if (sn_motion_of(rig, "tongueOut", size))
        for (int v = 0; v < a->vertex_count; v++) facts[a->piece[v]].tongue += size[v];
    if (sn_motion_of(rig, "jawOpen", size))
        for (int v = 0; v < a->vertex_count; v++) facts[a->piece[v]].jaw += size[v];
    for (size_t i = 0; i < sizeof brows / sizeof *brows; i++)
        raise_brow(rig, a, brows[i], size, facts);
}

static sinew_piece_kind kind_of(const sinew_anatomy *a, const piece_facts *f, double tongue) {
    if (f->named >= 0) return (sinew_piece_kind)f->named;
    sn_vec3 center = sn_scale(1.0 / f->count, f->sum);
    bool inside = f->open < INSIDE * f->count;
    if (!a->oriented) return inside ? SINEW_PIECE_KIND_MOUTH : SINEW_PIECE_KIND_OUTSIDE;
    sn_vec3 at = sn_anatomy_local(a, center);
    for (int side = 0; side < 2; side++) {
        sn_vec3 eye = sn_anatomy_local(a, a->eye[side]);
        if (hypot(at.x - eye.x, at.y - eye.y) < AROUND_EYE && at.z < eye.z + 0.1)
            return f->brow < BROW ? SINEW_PIECE_KIND_EYE : SINEW_PIECE_KIND_OUTSIDE;
    }
    if (!inside) return SINEW_PIECE_KIND_OUTSIDE;
    if (f->tongue > 0 && f->tongue >= 0.5 * tongue) return SINEW_PIECE_KIND_TONGUE;
    return f->jaw > 0 || fabs(at.x) < 0.3 ? SINEW_PIECE_KIND_TEETH : SINEW_PIECE_KIND_MOUTH;
}

/* ---- regions --------------------------------------------------------------------------------- */

static void mark_motion(const sinew_rig *rig, sinew_anatomy *a, const char *slider, double share,
                        double *size, unsigned char bit) {
    double most = 0;
    if (!sn_motion_of(rig, slider, size)) return;
    for (int v = 0; v < a->vertex_count; v++)
        if (a->skin[v]) most = fmax(most, size[v]);
    for (int v = 0; most > 0 && v < a->vertex_count; v++)
        if (a->kind[a->piece[v]] == SINEW_PIECE_KIND_SKIN && size[v] >= share * most)
            a->region[v] |= bit;
}

static void keep_in(sinew_anatomy *a, unsigned char bit,
                    bool (*inside)(const sinew_anatomy *a, sn_vec3 local)) {
    for (int v = 0; v < a->vertex_count; v++)
        if ((a->region[v] & bit) && !inside(a, sn_anatomy_local(a, sn_at(a->positions, v))))
            a->region[v] &= (unsigned char)~bit;
}

static sn_vec3 local_of(const sinew_anatomy *a, sinew_landmark landmark, int side) {
    return sn_anatomy_local(a, a->points[landmark][side].point);
}

static bool near_mouth(const sinew_anatomy *a, sn_vec3 p) {
    if (!a->points[SINEW_LANDMARK_MOUTH_CORNER][0].known ||
        !a->points[SINEW_LANDMARK_MOUTH_CORNER][1].known)
        return false;
    sn_vec3 l = local_of(a, SINEW_LANDMARK_MOUTH_CORNER, 0);
    sn_vec3 r = local_of(a, SINEW_LANDMARK_MOUTH_CORNER, 1);
    double half = 0.5 * (l.x - r.x), y = 0.5 * (l.y + r.y), high = 0.35 * half, low = 0.5 * half;
    const sn_landmark_point *upper = &a->points[SINEW_LANDMARK_LIP_UPPER][0];
    const sn_landmark_point *lower = &a->points[SINEW_LANDMARK_LIP_LOWER][0];
    if (upper->known) high = fmax(high, 1.15 * (sn_anatomy_local(a, upper->point).y - y));
    if (lower->known) low = fmax(low, 1.15 * (y - sn_anatomy_local(a, lower->point).y));
    double x = (p.x - 0.5 * (l.x + r.x)) / (1.08 * half);
    double dy = p.y > y ? (p.y - y) / high : (y - p.y) / low;
    return x * x + dy * dy < 1.15;
}

static bool near_lids(const sinew_anatomy *a, sn_vec3 p) {
    for (int side = 0; side < 2; side++) {
        sn_vec3 eye = sn_anatomy_local(a, a->eye[side]);
        if (fabs(p.x - eye.x) < 0.38 && fabs(p.y - eye.y) < 0.3) return true;
    }
    return false;
}

static bool near_brows(const sinew_anatomy *a, sn_vec3 p) {
    for (int side = 0; side < 2; side++) {
        if (!a->points[SINEW_LANDMARK_BROW_INNER][side].known ||
            !a->points[SINEW_LANDMARK_BROW_OUTER][side].known)
            continue;
        sn_vec3 in = local_of(a, SINEW_LANDMARK_BROW_INNER, side);
        sn_vec3 out = local_of(a, SINEW_LANDMARK_BROW_OUTER, side);
        double span = out.x - in.x, t = fabs(span) > 1e-9 ? (p.x - in.x) / span : 0.5;
        double line = in.y + fmin(fmax(t, 0), 1) * (out.y - in.y);
        if (t > -0.4 && t < 1.3 && fabs(p.y - line) < 0.16) return true;
    }
    return false;
}

static void mark_windows(sinew_anatomy *a) {
    const sn_landmark_point *tip = &a->points[SINEW_LANDMARK_NOSE_TIP][0];
    const sn_landmark_point *chin = &a->points[SINEW_LANDMARK_CHIN][0];
    const sn_landmark_point *brow = &a->points[SINEW_LANDMARK_BROW_CENTER][0];
    sn_vec3 t = tip->known ? sn_anatomy_local(a, tip->point) : sn_v3(0, 0, 0);
    sn_vec3 c = chin->known ? sn_anatomy_local(a, chin->point) : sn_v3(0, 0, 0);
    sn_vec3 b = brow->known ? sn_anatomy_local(a, brow->point) : sn_v3(0, 0, 0);
    for (int v = 0; v < a->vertex_count; v++) {
        if (!a->skin[v]) continue;
        sn_vec3 p = sn_anatomy_local(a, sn_at(a->positions, v));
        double fraction = tip->known && t.y < 0 ? p.y / t.y : -1;
        if (fraction > -0.1 && fraction < 1.2 && p.z > -0.1 &&
            fabs(p.x) < 0.12 + 0.2 * fmax(fraction, 0))
            a->region[v] |= SN_REGION_NOSE;
        if (chin->known && fabs(p.x - c.x) < 0.4 && fabs(p.y - c.y) < 0.25 && p.z > c.z - 0.5)
            a->region[v] |= SN_REGION_CHIN;
        if (brow->known && fabs(p.x) < 0.9 && p.y > b.y + 0.16 && p.y < b.y + 1 && p.z > -0.5)
            a->region[v] |= SN_REGION_FOREHEAD;
    }
}

static void mark_regions(const sinew_rig *rig, sinew_anatomy *a, double *size) {
    static const char *const lips[] = {"mouthRollUpper", "mouthRollLower", "mouthPucker",
                                       "mouthUpperUp",   "mouthLowerDown", "mouthClose",
                                       "mouthFunnel"};
    for (size_t i = 0; i < sizeof lips / sizeof *lips; i++)
        mark_motion(rig, a, lips[i], 0.25, size, SN_REGION_LIPS);
    mark_motion(rig, a, "eyeBlinkLeft", 0.1, size, SN_REGION_LIDS);
    mark_motion(rig, a, "eyeBlinkRight", 0.1, size, SN_REGION_LIDS);
    mark_motion(rig, a, "eyeSquintLeft", MOVED, size, SN_REGION_LIDS);
    mark_motion(rig, a, "eyeSquintRight", MOVED, size, SN_REGION_LIDS);
    for (size_t i = 0; i < sizeof brows / sizeof *brows; i++)
        mark_motion(rig, a, brows[i], 0.2, size, SN_REGION_BROWS);
    mark_motion(rig, a, "cheekPuff", 0.4, size, SN_REGION_CHEEKS);
    mark_motion(rig, a, "cheekSquintLeft", 0.4, size, SN_REGION_CHEEKS);
    mark_motion(rig, a, "cheekSquintRight", 0.4, size, SN_REGION_CHEEKS);
    keep_in(a, SN_REGION_LIPS, near_mouth);
    keep_in(a, SN_REGION_LIDS, near_lids);
    keep_in(a, SN_REGION_BROWS, near_brows);
    mark_windows(a);
    for (int v = 0; v < a->vertex_count; v++) /* cheeks are what is left */
        if (a->region[v] & (SN_REGION_LIPS | SN_REGION_LIDS | SN_REGION_NOSE))
            a->region[v] &= (unsigned char)~SN_REGION_CHEEKS;
}

sinew_status sn_anatomy_find_regions(const sinew_rig *rig, sinew_anatomy *a, sinew_error *error) {
    double *size = SN_NEW(double, a->vertex_count);
    piece_facts *facts = SN_NEW(piece_facts, a->piece_count);
    sinew_status status = size && facts ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        double tongue = 0;
        gather(rig, a, size, facts);
        for (int p = 0; p < a->piece_count; p++)
            if (a->kind[p] != SINEW_PIECE_KIND_SKIN) tongue = fmax(tongue, facts[p].tongue);
        for (int p = 0; p < a->piece_count; p++)
            if (a->kind[p] != SINEW_PIECE_KIND_SKIN) a->kind[p] = kind_of(a, &facts[p], tongue);
        if (a->oriented) mark_regions(rig, a, size);
    }
    sn_free(size), sn_free(facts);
    return status;
}

/* ---- by name --------------------------------------------------------------------------------- */

typedef struct region_rule {
    const char *name;
    unsigned char bit; /* 0: a kind of piece, the skin or the mouth bag */
    int kind;          /* -1: the skin; -2: hidden parts of the skin's pieces near the mouth */
    int side;          /* 0 left, 1 right, 2 both */
} region_rule;

static const region_rule rules[] = {
    {"lips", SN_REGION_LIPS, 0, 2},
    {"lids", SN_REGION_LIDS, 0, 2},
    {"lidsLeft", SN_REGION_LIDS, 0, 0},
    {"lidsRight", SN_REGION_LIDS, 0, 1},
    {"brows", SN_REGION_BROWS, 0, 2},
    {"browsLeft", SN_REGION_BROWS, 0, 0},
    {"browsRight", SN_REGION_BROWS, 0, 1},
    {"cheeks", SN_REGION_CHEEKS, 0, 2},
    {"cheeksLeft", SN_REGION_CHEEKS, 0, 0},
    {"cheeksRight", SN_REGION_CHEEKS, 0, 1},
    {"nose", SN_REGION_NOSE, 0, 2},
    {"chin", SN_REGION_CHIN, 0, 2},
    {"forehead", SN_REGION_FOREHEAD, 0, 2},
    {"skin", 0, -1, 2},
    {"eyes", 0, SINEW_PIECE_KIND_EYE, 2},
    {"eyesLeft", 0, SINEW_PIECE_KIND_EYE, 0},
    {"eyesRight", 0, SINEW_PIECE_KIND_EYE, 1},
    {"teeth", 0, SINEW_PIECE_KIND_TEETH, 2},
    {"tongue", 0, SINEW_PIECE_KIND_TONGUE, 2},
    {"mouthBag", 0, -2, 2},
};

const char *sinew_anatomy_region_name(int index) {
    return index >= 0 && index < (int)(sizeof rules / sizeof *rules) ? rules[index].name : NULL;
}

static bool in_mouth(const sinew_anatomy *a, int v) {
    if (a->kind[a->piece[v]] == SINEW_PIECE_KIND_MOUTH) return true;
    if (a->kind[a->piece[v]] != SINEW_PIECE_KIND_SKIN || a->skin[v] || !a->oriented) return false;
    sn_vec3 p = sn_anatomy_local(a, sn_at(a->positions, v));
    return p.y < -0.35 && fabs(p.x) < 1; /* below the eyes' sockets */
}

static bool belongs(const sinew_anatomy *a, const region_rule *r, int v) {
    if (r->side < 2) {
        double u = sn_dot(sn_sub(sn_at(a->positions, v), a->center), a->left);
        if (!a->oriented || (r->side == 0 ? u < 0 : u > 0)) return false;
    }
    if (r->bit) return (a->region[v] & r->bit) != 0;
    if (r->kind == -1) return a->skin[v];
    if (r->kind == -2) return in_mouth(a, v);
    return (int)a->kind[a->piece[v]] == r->kind;
}

sinew_status sinew_anatomy_region(const sinew_anatomy *a, const char *name, int **vertices,
                                  int *count, sinew_error *error) {
    SN_REQUIRE(a && name && vertices && count, error);
    *vertices = NULL, *count = 0;
    const region_rule *r = NULL;
    for (size_t i = 0; !r && i < sizeof rules / sizeof *rules; i++)
        if (!strcasecmp(rules[i].name, name)) r = &rules[i];
    if (!r) return sn_fail(error, SINEW_BAD_INPUT, "there is no derived region '%s'", name);
    int found = 0;
    for (int v = 0; v < a->vertex_count; v++) found += belongs(a, r, v);
    if (!found) return SINEW_OK;
    if (!(*vertices = SN_NEW(int, found))) return sn_no_memory(error);
    for (int v = 0; v < a->vertex_count; v++)
        if (belongs(a, r, v)) (*vertices)[(*count)++] = v;
    return SINEW_OK;
}
