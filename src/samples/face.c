/* The face rig: the refined neutral, and every expression as targets of it. */
#include "samples/face.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "samples/builders.h"
#include "samples/relax.h"

static const double METRES = 0.01; /* per centimetre */

/* Least angles aimed at, degrees: the samples promise 5 in every target, and a target that leaves a
 * place alone must find it good. */
static const double NEUTRAL_ANGLE = 6, POSED_ANGLE = 5.4;

/* Centimetres: what moves less stays, a ten-thousandth of a millimetre. */
static const double LEAST_MOVE = 1e-5;

static const char *const part_names[SN_PART_COUNT] = {"skin",        "eyeLeft",     "eyeRight",
                                                      "teethUpper",  "teethLower",  "tongue",
                                                      "eyebrowLeft", "eyebrowRight"};
static const int part_mirror[SN_PART_COUNT] = {
    SN_PART_SKIN,        SN_PART_EYE_RIGHT, SN_PART_EYE_LEFT,   SN_PART_TEETH_UPPER,
    SN_PART_TEETH_LOWER, SN_PART_TONGUE,    SN_PART_BROW_RIGHT, SN_PART_BROW_LEFT};

/* ---- the neutral ----------------------------------------------------------------------------- */

double sn_face_mouth_line(double x) {
    double t = x / 2.5;
    return -6.40 + 0.08 * t * t;
}

/* Lids of the coarsest face cut its corners; its eyeballs make room. */
static const double COARSE_EYE = 0.86;

/* The smoothed cage is not quite round: back to the sphere, with the cornea standing out. */
static sn_vec3 round_eye(sn_vec3 p, double scale) {
    sn_vec3 d = sn_normalize(sn_sub(p, SN_EYE));
    double angle = acos(fmin(1, fmax(-1, d.z))) / sn_radians(30);
    double bulge = angle < 1 ? (1 - angle * angle) * (1 - angle * angle) : 0;
    return sn_add_scaled(SN_EYE, scale * (SN_EYE_RADIUS + SN_EYE_CORNEA * bulge), d);
}

/* The cage lets the lips cross a little; where they would, they lie against each other. */
static double close_lip(sn_vec3 p, const double *values) {
    double line = sn_face_mouth_line(p.x), side = values[SN_FACE_SIDE];
    double gap = SN_LIP_GAP * fmin(1, 2 * fabs(side));
    if (side > 0) return fmax(p.y, line + gap);
    if (side < 0) return fmin(p.y, line - gap);
    return p.y;
}

/* Distance of the lids from the eyeball by ring: over its front the cage is too coarse to keep it.
 */
static sn_vec3 lay_lid(sn_vec3 p, double ring) {
    static const double beyond[] = {0, 0, 0.40, 0.42, 0.35, 0.25, 0.15, 0.15, 0.30};
    sn_vec3 d = sn_sub(p, SN_EYE);
    double radius = sn_length(d);
    int i = ring < SN_LID_LAST ? (int)ring : SN_LID_LAST - 1;
    double wanted = SN_EYE_RADIUS + beyond[i] + (ring - i) * (beyond[i + 1] - beyond[i]);
    double t = fmin(1, ring - SN_LID_FOLD);
    return sn_add_scaled(SN_EYE, (1 + t * (wanted / radius - 1)), d);
}

static void finish_left_vertex(sn_face *face, int v, int cells) {
    double *values = face->fine.values + (size_t)v * SN_FACE_CHANNELS;
    sn_vec3 p = sn_v3(values[0], values[1], values[2]);
    if (face->part[v] == SN_PART_EYE_LEFT)
        p = round_eye(p, cells > 1 ? 1 : COARSE_EYE);
    else if (face->part[v] == SN_PART_SKIN && values[SN_FACE_LIP] > 0.3)
        p.y = close_lip(p, values);
    else if (face->part[v] == SN_PART_SKIN && values[SN_FACE_LID_RING] > SN_LID_FOLD)
        p = lay_lid(p, values[SN_FACE_LID_RING]);
    values[0] = p.x, values[1] = p.y, values[2] = p.z;
}

static void add_to_rim(sn_rim *rim, double longitude, double latitude) {
    if (rim->count == SN_RIM_LIMIT) return;
    int i = rim->count++;
    for (; i > 0 && rim->longitude[i - 1] > longitude; i--) {
        rim->longitude[i] = rim->longitude[i - 1];
        rim->latitude[i] = rim->latitude[i - 1];
    }
    rim->longitude[i] = longitude, rim->latitude[i] = latitude;
}

/* The rims as refined: the vertices on the crest ring of the left eye. */
static void find_rims(sn_face *face) {
    for (int v = 0; v < face->fine.vertex_count; v++) {
        const double *values = face->fine.values + (size_t)v * SN_FACE_CHANNELS;
        if (values[0] <= 0 || fabs(values[SN_FACE_LID_RING] - SN_LID_CREST) > 1e-6) continue;
        sn_vec3 d = sn_sub(sn_v3(values[0], values[1], values[2]), SN_EYE);
        double longitude = asin(d.x / sn_length(d)), latitude = atan2(d.y, d.z);
        double side = values[SN_FACE_LID_SIDE];
        if (side > -1e-9) add_to_rim(&face->upper_rim, longitude, latitude);
        if (side < 1e-9) add_to_rim(&face->lower_rim, longitude, latitude);
    }
}

/* Height of the skin under a brow: mean of the vertices about it, weighted by a Gaussian that is
 * wider than their distance. nearby: x, y, z and weight of the skin of the brow's region. */
static double skin_below(int count, const double *nearby, double x, double y, double width) {
    double sum = 0, weights = 1e-30;
    for (int i = 0; i < count; i++) {
        const double *q = nearby + 4 * (size_t)i;
        double a = (q[0] - x) / width, b = (q[1] - y) / width, d = a * a + b * b;
        if (d > 9) continue;
        double w = exp(-0.5 * d) * q[3];
        sum += w * q[2];
        weights += w;
    }
    return sum / weights;
}

typedef struct lift_brows_loop {
    sn_face *face;
    int count;
    const double *nearby;
    double width;
    double lift;
} lift_brows_loop;

static void lift_brows(void *context, sn_span span) {
    const lift_brows_loop *loop = context;
    sn_face *face = loop->face;
    int count = loop->count;
    const double *nearby = loop->nearby;
    double width = loop->width;
    double lift = loop->lift;
    SN_IN_SPAN(int, v, span) {
        double *values = face->fine.values + (size_t)v * SN_FACE_CHANNELS;
        if (face->part[v] == SN_PART_BROW_LEFT)
            values[2] += lift + skin_below(count, nearby, values[0], values[1], width);
    }
}

/* lift: further off the skin, which is bumpy on the coarsest face. */
static sinew_status lay_brows(sn_face *face, double width, double lift, sinew_error *error) {
    int count = 0;
    double *nearby = SN_NEW(double, 4 * (size_t)face->fine.vertex_count);
    if (!nearby) return sn_no_memory(error);
    for (int v = 0; v < face->fine.vertex_count; v++) {
        const double *values = face->fine.values + (size_t)v * SN_FACE_CHANNELS;
        bool near = values[0] > -1 && values[0] < 8 && values[1] > 1.5 && values[1] < 6.5;
        if (face->part[v] != SN_PART_SKIN || values[2] < 3 || !near) continue;
        memcpy(nearby + 4 * (size_t)count, values, 3 * sizeof *values);
        nearby[4 * (size_t)count++ + 3] = 1 - fmin(1, values[SN_FACE_LID_RING]);
    }
    sn_parallel_for(face->fine.vertex_count, 256, lift_brows,
                    &(lift_brows_loop){face, count, nearby, width, lift});
    sn_free(nearby);
    return SINEW_OK;
}

static void mirror_left(sn_fine *fine) {
    for (int v = 0; v < fine->vertex_count; v++) {
        double *values = fine->values + (size_t)v * SN_FACE_CHANNELS;
        if (values[0] >= 0) continue;
        const double *image = fine->values + (size_t)fine->mirror[v] * SN_FACE_CHANNELS;
        values[0] = -image[0], values[1] = image[1], values[2] = image[2];
    }
}

/* Takes slivers out of the neutral, on the left; the right follows. Lids and lips keep their
 * distances. */
static sinew_status relax_neutral(sn_fine *fine, sinew_error *error) {
    size_t n = (size_t)fine->vertex_count;
    double *positions = SN_NEW(double, 3 * n);
    bool *left = SN_NEW(bool, n);
    sinew_mesh *mesh = NULL;
    sinew_status status = positions && left ? SINEW_OK : sn_no_memory(error);
    for (size_t v = 0; status == SINEW_OK && v < n; v++) {
        memcpy(positions + 3 * v, fine->values + v * SN_FACE_CHANNELS, 3 * sizeof *positions);
        const double *values = fine->values + v * SN_FACE_CHANNELS;
        left[v] = positions[3 * v] > 0 && values[SN_FACE_LID_RING] < SN_LID_FOLD &&
                  values[SN_FACE_LIP] == 0;
    }
    if (status == SINEW_OK)
        status =
            sn_quad_mesh("face", (int)n, positions, fine->face_count, fine->quads, &mesh, error);
    if (status == SINEW_OK)
        status = sn_relax((int)n, mesh->triangle_count, mesh->triangles, NEUTRAL_ANGLE, left,
                          positions, error);
    for (size_t v = 0; status == SINEW_OK && v < n; v++)
        memcpy(fine->values + v * SN_FACE_CHANNELS, positions + 3 * v, 3 * sizeof *positions);
    sinew_mesh_destroy(mesh);
    sn_free(positions);
    sn_free(left);
    mirror_left(fine);
    return status;
}

static void face_destroy(sn_face *face) {
    sn_fine_destroy(&face->fine);
    sn_free(face->part);
    sn_free(face);
}

/* Eyes, teeth and tongue are seen through the openings of the skin: on finer faces they are a step
 * coarser than it. */
static int cells_of_parts(int cells) {
    return cells > 2 ? cells - 1 : cells;
}

/* Cells per edge of the skin whose vertex count, with that of the parts, is nearest to the wish. */
static int choose_cells(const sn_cage *skin, const sn_cage *parts, int vertices) {
    double last = 0;
    for (int cells = 1;; cells++) {
        int own = cells_of_parts(cells);
        double count =
            (double)skin->quad_count * cells * cells + (double)parts->quad_count * own * own;
        if (count >= vertices || count == 0)
            return cells > 1 && sqrt(vertices) < 0.5 * (sqrt(last) + sqrt(count)) ? cells - 1
                                                                                  : cells;
        last = count;
    }
}

static sinew_status refine_cages(int vertices, sn_fine *fine, int *cells, sinew_error *error) {
    sn_cage skin, parts;
    sn_fine others = {0};
    sn_cage_start(&skin, SN_FACE_CHANNELS);
    sn_cage_start(&parts, SN_FACE_CHANNELS);
    sn_face_skin(&skin);
    sn_face_eyeball(&parts);
    sn_face_mouth_parts(&parts);
    sn_face_brow(&parts);
    sn_cage_mirror(&skin, part_mirror);
    sn_cage_mirror(&parts, part_mirror);
    *cells = choose_cells(&skin, &parts, vertices);
    sinew_status status = sn_cage_refine(&skin, *cells, fine, error);
    if (status == SINEW_OK) status = sn_cage_refine(&parts, cells_of_parts(*cells), &others, error);
    if (status == SINEW_OK) status = sn_fine_append(fine, &others, error);
    sn_fine_destroy(&others);
    sn_cage_destroy(&skin);
    sn_cage_destroy(&parts);
    return status;
}

static sinew_status face_create(int vertices, sn_face_warp *warp, sn_face **made,
                                sinew_error *error) {
    sn_face *face = SN_NEW0(sn_face, 1);
    if (!face) return sn_no_memory(error);
    face->warp = warp;
    sn_fine *fine = &face->fine;
    int cells;
    sinew_status status = refine_cages(vertices, fine, &cells, error);
    if (status == SINEW_OK) {
        face->part = SN_NEW(sn_face_part, fine->vertex_count);
        if (!face->part) status = sn_no_memory(error);
    }
    if (status != SINEW_OK) {
        face_destroy(face);
        return status;
    }
    for (int f = 0; f < fine->face_count; f++)
        for (int k = 0; k < 4; k++)
            face->part[fine->quads[4 * f + k]] = (sn_face_part)fine->part[f];
    for (int v = 0; v < fine->vertex_count; v++) {
        double *values = fine->values + (size_t)v * SN_FACE_CHANNELS;
        if (values[0] >= 0) finish_left_vertex(face, v, cells);
    }
    status = lay_brows(face, 0.15 + 0.45 / cells, cells > 1 ? 0 : 0.2, error);
    if (status == SINEW_OK) {
        mirror_left(fine);
        status = relax_neutral(fine, error);
    }
    if (status != SINEW_OK) {
        face_destroy(face);
        return status;
    }
    find_rims(face);
    *made = face;
    return SINEW_OK;
}

static sinew_status make_mesh(const sn_face *face, const char *name, sinew_mesh **mesh,
                              sinew_error *error) {
    const sn_fine *fine = &face->fine;
    double *positions = SN_NEW(double, 3 * (size_t)fine->vertex_count);
    if (!positions) return sn_no_memory(error);
    for (int v = 0; v < fine->vertex_count; v++) {
        const double *values = fine->values + (size_t)v * SN_FACE_CHANNELS;
        sn_vec3 p = sn_v3(values[0], values[1], values[2]);
        sn_put(positions, v, sn_scale(METRES, face->warp ? face->warp(p) : p));
    }
    sinew_status status = sn_quad_mesh(name, fine->vertex_count, positions, fine->face_count,
                                       fine->quads, mesh, error);
    sn_free(positions);
    SN_TRY(status);
    (*mesh)->part_names = SN_NEW0(char *, SN_PART_COUNT);
    (*mesh)->face_part = sn_memdup(fine->part, (size_t)fine->face_count, sizeof(int));
    bool ok = (*mesh)->part_names && (*mesh)->face_part;
    if (ok) (*mesh)->part_count = SN_PART_COUNT;
    for (int p = 0; p < SN_PART_COUNT && ok; p++)
        ok = ((*mesh)->part_names[p] = sn_strdup(part_names[p])) != NULL;
    if (!ok) {
        sinew_mesh_destroy(*mesh);
        return sn_no_memory(error);
    }
    return SINEW_OK;
}

/* ---- targets --------------------------------------------------------------------------------- */

/* A target under construction. */
typedef struct moves {
    int count;
    int *vertices;
    double *deltas, *dense; /* dense: 3 per vertex of the whole face, centimetres */
} moves;

sn_site sn_face_site(const sn_face *face, int v) {
    const double *values = face->fine.values + (size_t)v * SN_FACE_CHANNELS;
    return (sn_site){sn_v3(values[0], values[1], values[2]), values, face->part[v]};
}

static void mirror_moves(const sn_face *face, double *dense) {
    for (int v = 0; v < face->fine.vertex_count; v++) {
        if (face->fine.values[(size_t)v * SN_FACE_CHANNELS] >= 0) continue;
        sn_vec3 d = sn_at(dense, face->fine.mirror[v]);
        sn_put(dense, v, sn_v3(-d.x, d.y, d.z));
    }
}

/* Takes slivers out of a posed face, where the pose moves it. */
static sinew_status relax_moves(const sn_face *face, const sinew_mesh *neutral, bool symmetric,
                                double *dense, sinew_error *error) {
    int n = face->fine.vertex_count;
    double *posed = SN_NEW(double, 3 * (size_t)n), *kept = SN_NEW(double, 3 * (size_t)n);
    bool *moved = SN_NEW(bool, n);
    sinew_status status = posed && kept && moved ? SINEW_OK : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < n; v++) {
        sn_vec3 p = sn_scale(1 / METRES, sn_at(neutral->positions, v)), d = sn_at(dense, v);
        sn_put(posed, v, sn_add(p, d));
        moved[v] = sn_length(d) > LEAST_MOVE && (!symmetric || p.x > 0);
    }
    if (status == SINEW_OK) {
        memcpy(kept, posed, 3 * sizeof *kept * (size_t)n);
        status = sn_relax(n, neutral->triangle_count, neutral->triangles, POSED_ANGLE, moved, posed,
                          error);
    }
    for (int v = 0; status == SINEW_OK && v < n; v++)
        sn_put(dense, v, sn_add(sn_at(dense, v), sn_sub(sn_at(posed, v), sn_at(kept, v))));
    sn_free(posed);
    sn_free(kept);
    sn_free(moved);
    return status;
}

/* Displacements of an expression. Those of both sides are evaluated on the left and mirrored. */
static void evaluate(const sn_face *face, sn_face_move *move, bool symmetric, double *dense) {
    for (int v = 0; v < face->fine.vertex_count; v++) {
        sn_site site = sn_face_site(face, v);
        if (symmetric && site.p.x < 0) continue;
        sn_vec3 from = site.p, to = move(face, &site);
        bool still = from.x == to.x && from.y == to.y && from.z == to.z;
        if (face->warp && !still) from = face->warp(from), to = face->warp(to);
        sn_vec3 d = sn_sub(to, from);
        if (symmetric && site.p.x == 0) d.x = 0;
        sn_put(dense, v, d);
    }
    if (symmetric) mirror_moves(face, dense);
}

/* The same for a whole shape. */
static sinew_status evaluate_shape(const sn_face *face, const sinew_rig *rig, sn_face_move *move,
                                   bool symmetric, double *dense, sinew_error *error) {
    evaluate(face, move, symmetric, dense);
    SN_TRY(relax_moves(face, rig->neutral, symmetric, dense, error));
    if (symmetric) mirror_moves(face, dense);
    return SINEW_OK;
}

static void make_sparse(const sn_face *face, bool mirrored, moves *m) {
    m->count = 0;
    for (int v = 0; v < face->fine.vertex_count; v++) {
        sn_vec3 d = sn_at(m->dense, mirrored ? face->fine.mirror[v] : v);
        if (mirrored) d.x = -d.x;
        if (sn_length(d) < LEAST_MOVE) continue;
        m->vertices[m->count] = v;
        sn_put(m->deltas, m->count++, sn_scale(METRES, d));
    }
}

static sinew_status add_target(sinew_rig *rig, const moves *m, const char *name, const char *group,
                               sinew_error *error) {
    SN_TRY(sinew_rig_add_target(rig, name, m->count, m->vertices, m->deltas, error));
    sinew_slider *slider = &rig->sliders[rig->slider_count - 1];
    slider->group = sn_strdup(group);
    return slider->group ? SINEW_OK : sn_no_memory(error);
}

static sinew_status add_expression(const sn_face *face, const sn_expression *expression,
                                   sinew_rig *rig, moves *m, sinew_error *error) {
    char name[64];
    bool both = expression->kind == SN_BOTH_SIDES;
    SN_TRY(evaluate_shape(face, rig, expression->move, both, m->dense, error));
    make_sparse(face, false, m);
    snprintf(name, sizeof name, "%s%s", expression->name, both ? "" : "Left");
    SN_TRY(add_target(rig, m, name, expression->group, error));
    if (both) return SINEW_OK;
    make_sparse(face, true, m);
    snprintf(name, sizeof name, "%sRight", expression->name);
    SN_TRY(add_target(rig, m, name, expression->group, error));
    int right = rig->slider_count - 1;
    rig->sliders[right].mirror = right - 1;
    rig->sliders[right - 1].mirror = right;
    return SINEW_OK;
}

static sinew_status add_half_blinks(const sn_face *face, sinew_rig *rig, moves *m,
                                    sinew_error *error) {
    SN_TRY(evaluate_shape(face, rig, sn_face_half_blink, false, m->dense, error));
    for (int right = 0; right < 2; right++) {
        make_sparse(face, right, m);
        const char *slider = right ? "eyeBlinkRight" : "eyeBlinkLeft";
        SN_TRY(sinew_rig_add_inbetween(rig, right ? "eyeBlinkRight50" : "eyeBlinkLeft50",
                                       sinew_rig_find_slider(rig, slider), 0.5, m->count,
                                       m->vertices, m->deltas, error));
    }
    return SINEW_OK;
}

/* Takes from a whole shape what the drivers give by themselves. */
static void subtract_target(const sinew_rig *rig, const char *name, double *dense) {
    const sinew_target *target = &rig->targets[sinew_rig_find_target(rig, name)];
    for (int i = 0; i < target->count; i++)
        sn_put(dense, target->vertices[i],
               sn_add_scaled(sn_at(dense, target->vertices[i]), -1 / METRES,
                             sn_at(target->deltas, i)));
}

static sinew_status add_correctives(const sn_face *face, sinew_rig *rig, moves *m,
                                    sinew_error *error) {
    SN_TRY(evaluate_shape(face, rig, sn_face_closed_open_jaw, true, m->dense, error));
    subtract_target(rig, "jawOpen", m->dense);
    subtract_target(rig, "mouthClose", m->dense);
    make_sparse(face, false, m);
    int closing[2] = {sinew_rig_find_slider(rig, "jawOpen"),
                      sinew_rig_find_slider(rig, "mouthClose")};
    SN_TRY(sinew_rig_add_combination(rig, "jawOpen_mouthClose", SINEW_COMBINE_MULTIPLY, 2, closing,
                                     m->count, m->vertices, m->deltas, error));
    evaluate(face, sn_face_smile_with_pucker, false, m->dense);
    for (int right = 0; right < 2; right++) {
        make_sparse(face, right, m);
        int drivers[2] = {sinew_rig_find_slider(rig, right ? "mouthSmileRight" : "mouthSmileLeft"),
                          sinew_rig_find_slider(rig, "mouthPucker")};
        SN_TRY(sinew_rig_add_combination(
            rig, right ? "mouthSmileRight_mouthPucker" : "mouthSmileLeft_mouthPucker",
            SINEW_COMBINE_MULTIPLY, 2, drivers, m->count, m->vertices, m->deltas, error));
    }
    return SINEW_OK;
}

static sinew_status add_targets(const sn_face *face, sinew_rig *rig, sinew_error *error) {
    size_t n = (size_t)face->fine.vertex_count;
    moves m = {0, SN_NEW(int, n), SN_NEW(double, 3 * n), SN_NEW(double, 3 * n)};
    sinew_status status = m.vertices && m.deltas && m.dense ? SINEW_OK : sn_no_memory(error);
    int count;
    const sn_expression *expressions = sn_face_expressions(&count);
    for (int e = 0; e < count && status == SINEW_OK; e++)
        status = add_expression(face, &expressions[e], rig, &m, error);
    if (status == SINEW_OK) status = add_half_blinks(face, rig, &m, error);
    if (status == SINEW_OK) status = add_correctives(face, rig, &m, error);
    sn_free(m.vertices);
    sn_free(m.deltas);
    sn_free(m.dense);
    return status;
}

static sinew_status make_rig(const char *name, int vertices, sn_face_warp *warp, sinew_rig **rig,
                             sinew_error *error) {
    sn_face *face = NULL;
    SN_TRY(face_create(vertices, warp, &face, error));
    sinew_mesh *mesh = NULL;
    sinew_rig *made = NULL;
    sinew_status status = make_mesh(face, name, &mesh, error);
    if (status == SINEW_OK) status = sinew_rig_create(mesh, &made, error);
    if (status == SINEW_OK) status = add_targets(face, made, error);
    if (status == SINEW_OK) status = sn_face_regions(face, made, error);
    face_destroy(face);
    if (status != SINEW_OK)
        sinew_rig_destroy(made);
    else
        *rig = made;
    return status;
}

sinew_status sn_sample_face(int vertices, sinew_rig **rig, sinew_error *error) {
    return make_rig("face", vertices, NULL, rig, error);
}

sinew_status sn_sample_face2(int vertices, sinew_rig **rig, sinew_error *error) {
    return make_rig("face2", vertices, sn_face_warp_second, rig, error);
}
