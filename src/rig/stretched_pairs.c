#include "rig/stretched_pairs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/rotation.h"
#include "base/status.h"
#include "base/vec3.h"
#include "rig/pose.h"
#include "sinew/mesh.h"

/* Fraction of the diagonal: triangles of less height at rest, as between closed lips, have no
 * direction that could turn. */
static const double FLAT = 1e-5;
/* Norm of the gradient of a stretched triangle; sqrt(3) at rest. */
static const double STRETCHED = 3.5;
/* Fraction of the diagonal by which an edge of such a triangle misses the sum. */
static const double FAR = 0.005;
/* Fraction of the area of what both targets move. */
static const double SHARE = 0.05;

typedef struct finder {
    const sinew_rig *rig;
    double diagonal;
    double *pose[2], *sum; /* 3 per vertex: of the two targets, and both at once */
    bool **moves;          /* per target: per vertex, or NULL where it is not a plain target */
    int **stretched;       /* per target: triangles */
    int *stretched_count;
    int *mirror; /* per slider, or -1 */
} finder;

typedef struct frame {
    sn_vec3 edge[2], normal; /* unit */
    double area;
} frame;

static frame frame_of(const double *x, const int *v) {
    sn_vec3 a = sn_at(x, v[0]);
    frame f = {.edge = {sn_sub(sn_at(x, v[1]), a), sn_sub(sn_at(x, v[2]), a)}};
    sn_vec3 normal = sn_cross(f.edge[0], f.edge[1]);
    f.area = 0.5 * sn_length(normal), f.normal = sn_normalize(normal);
    return f;
}

static double norm_of(sn_mat3 a) {
    double sum = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum += a.m[i][j] * a.m[i][j];
    return sqrt(sum);
}

/* Edges to edges and normal to normal. false: the triangle is flat at rest. */
static bool gradient(const finder *f, const double *x, const int *v, sn_mat3 *result) {
    frame rest = frame_of(f->rig->neutral->positions, v), now = frame_of(x, v);
    double longest = fmax(sn_length(rest.edge[0]), sn_length(rest.edge[1]));
    longest = fmax(longest, sn_distance(rest.edge[0], rest.edge[1]));
    if (!(2 * rest.area > FLAT * f->diagonal * longest)) return false;
    sn_vec3 rows[3] = {sn_cross(rest.edge[1], rest.normal), sn_cross(rest.normal, rest.edge[0]),
                       sn_cross(rest.edge[0], rest.edge[1])};
    sn_mat3 inverse = sn_mat3_transpose(sn_mat3_columns(rows[0], rows[1], rows[2]));
    sn_mat3 to = sn_mat3_columns(now.edge[0], now.edge[1], now.normal);
    double determinant = sn_dot(rest.edge[0], rows[0]);
    *result = sn_mat3_scale(1 / determinant, sn_mat3_multiply(to, inverse));
    return isfinite(norm_of(*result));
}

static const int *corners_of(const finder *f, int triangle) {
    return f->rig->neutral->triangles + 3 * (size_t)triangle;
}

static bool touches(const bool *moves, const int *v) {
    return moves[v[0]] || moves[v[1]] || moves[v[2]];
}

static bool is_plain(const sinew_target *t) {
    return t->kind == SINEW_TARGET_KIND_PLAIN && t->at == 1;
}

static sinew_status find_stretched(finder *f, int k, sinew_error *error) {
    const sinew_mesh *mesh = f->rig->neutral;
    const sinew_target *target = &f->rig->targets[k];
    f->moves[k] = SN_NEW0(bool, mesh->vertex_count);
    f->stretched[k] = SN_NEW(int, mesh->triangle_count);
    if (!f->moves[k] || !f->stretched[k]) return sn_no_memory(error);
    for (int i = 0; i < target->count; i++) f->moves[k][target->vertices[i]] = true;
    sn_rig_pose(f->rig, k, f->pose[0]);
    for (int t = 0; t < mesh->triangle_count; t++) {
        sn_mat3 F;
        if (touches(f->moves[k], corners_of(f, t)) &&
            gradient(f, f->pose[0], corners_of(f, t), &F) && norm_of(F) > STRETCHED)
            f->stretched[k][f->stretched_count[k]++] = t;
    }
    int *shrunk = sn_realloc(f->stretched[k], (size_t)f->stretched_count[k] + 1, sizeof *shrunk);
    if (shrunk) f->stretched[k] = shrunk;
    return sn_check_interrupt(error);
}

/* The area that a triangle gets from the blend, or has in the sum if that is more, if the two are
 * far from each other, else 0. */
static double missed_area(const finder *f, int triangle) {
    const int *v = corners_of(f, triangle);
    sn_mat3 F[2], rotation[2], stretch[2], sum;
    for (int k = 0; k < 2; k++) {
        if (!gradient(f, f->pose[k], v, &F[k])) return 0;
        sn_polar3(F[k], &rotation[k], &stretch[k]);
    }
    if (!gradient(f, f->sum, v, &sum)) return 0;
    sn_vec3 turn = sn_add(sn_rotation_log(rotation[0]), sn_rotation_log(rotation[1]));
    sn_mat3 strain =
        sn_mat3_add(sn_mat3_add(stretch[0], stretch[1]), sn_mat3_scale(-1, sn_mat3_identity()));
    sn_mat3 blended = sn_mat3_multiply(sn_rotation_exp(turn), strain);
    frame rest = frame_of(f->rig->neutral->positions, v);
    sn_vec3 edge[2];
    bool far = false;
    for (int k = 0; k < 2; k++) {
        edge[k] = sn_mat3_apply(blended, rest.edge[k]);
        far |= sn_distance(edge[k], sn_mat3_apply(sum, rest.edge[k])) > FAR * f->diagonal;
    }
    return far ? fmax(frame_of(f->sum, v).area, 0.5 * sn_length(sn_cross(edge[0], edge[1]))) : 0;
}

static bool is_stretched(const finder *f, int target, int triangle) {
    int low = 0, high = f->stretched_count[target];
    while (low < high) {
        int middle = (low + high) / 2;
        if (f->stretched[target][middle] < triangle)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->stretched_count[target] && f->stretched[target][low] == triangle;
}

static bool is_pair(finder *f, int j, int k) {
    const sinew_mesh *mesh = f->rig->neutral;
    const int both[2] = {j, k};
    bool met = false;
    for (int side = 0; side < 2 && !met; side++)
        for (int i = 0; i < f->stretched_count[both[side]] && !met; i++)
            met = touches(f->moves[both[!side]], corners_of(f, f->stretched[both[side]][i]));
    if (!met) return false;
    for (int side = 0; side < 2; side++) sn_rig_pose(f->rig, both[side], f->pose[side]);
    for (int i = 0; i < 3 * mesh->vertex_count; i++)
        f->sum[i] = f->pose[0][i] + (f->pose[1][i] - mesh->positions[i]);
    double missed = 0, moved = 0;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < f->stretched_count[both[side]]; i++) {
            int t = f->stretched[both[side]][i];
            if (side == 1 && is_stretched(f, j, t)) continue; /* counted */
            if (touches(f->moves[both[!side]], corners_of(f, t))) missed += missed_area(f, t);
        }
    }
    if (!(missed > 0)) return false;
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = corners_of(f, t);
        if (touches(f->moves[j], v) && touches(f->moves[k], v)) moved += frame_of(f->sum, v).area;
    }
    return missed > SHARE * (moved + missed);
}

enum { NAME = 256 };

static void name_pair(const sinew_rig *rig, const int sliders[2], char name[NAME]) {
    snprintf(name, NAME, "%.100s + %.100s", rig->sliders[sliders[0]].name,
             rig->sliders[sliders[1]].name);
}

/* Whether pairs have been added to the rig. */
static bool is_made(const sinew_rig *rig) {
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *t = &rig->targets[k];
        char name[NAME];
        if (t->kind != SINEW_TARGET_KIND_COMBINATION || t->count > 0 || t->driver_count != 2)
            continue;
        name_pair(rig, t->drivers, name);
        if (!strcmp(t->name, name)) return true;
    }
    return false;
}

static bool has_corrective(const sinew_rig *rig, int a, int b) {
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *t = &rig->targets[k];
        bool first = false, second = false, other = false;
        for (int d = 0; d < t->driver_count; d++) {
            first |= t->drivers[d] == a, second |= t->drivers[d] == b;
            other |= t->drivers[d] != a && t->drivers[d] != b;
        }
        if (t->kind == SINEW_TARGET_KIND_COMBINATION && first && second && !other) return true;
    }
    return false;
}

/* As declared, or by name. */
static sinew_status find_mirrors(finder *f, sinew_error *error) {
    sinew_rig *named;
    SN_TRY(sinew_rig_copy(f->rig, &named, error));
    sinew_status status = sinew_rig_deduce_from_names(named, error);
    for (int s = 0; status == SINEW_OK && s < named->slider_count; s++)
        f->mirror[s] = named->sliders[s].mirror;
    sinew_rig_destroy(named);
    return status;
}

/* The plain target of the slider on the other side, or the target itself where it has none. */
static int mirror_of(const finder *f, int k) {
    int slider = f->mirror[f->rig->targets[k].slider];
    for (int m = 0; slider >= 0 && m < f->rig->target_count; m++)
        if (f->moves[m] && f->rig->targets[m].slider == slider) return m;
    return k;
}

/* A pair, or its mirror image is: both sides of a face move alike. */
static bool is_pair_on_a_side(finder *f, int j, int k) {
    if (is_pair(f, j, k)) return true;
    int m = mirror_of(f, j), n = mirror_of(f, k);
    return (m != j || n != k) && is_pair(f, m, n);
}

static sinew_status add_pair(const sinew_rig *rig, int a, int b, sinew_combine combine,
                             sinew_rig **made, sinew_error *error) {
    char name[NAME];
    int drivers[2] = {a, b};
    if (has_corrective(*made ? *made : rig, a, b)) return SINEW_OK;
    if (!*made) SN_TRY(sinew_rig_copy(rig, made, error));
    name_pair(rig, drivers, name);
    return sinew_rig_add_combination(*made, name, combine, 2, drivers, 0, NULL, NULL, error);
}

/* mouthClose is the lips' way back from an open jaw, and folds them over each other by itself. */
static sinew_status add_closing(const sinew_rig *rig, sinew_rig **made, sinew_error *error) {
    int open[2], close[2], opens = sinew_rig_match(rig, "jawOpen", open);
    int closes = sinew_rig_match(rig, "mouthClose", close);
    for (int i = 0; i < opens; i++)
        for (int k = 0; k < closes; k++)
            SN_TRY(add_pair(rig, open[i], close[k], SINEW_COMBINE_LOWEST, made, error));
    return SINEW_OK;
}

static sinew_status find(finder *f, sinew_rig **made, sinew_error *error) {
    const sinew_rig *rig = f->rig;
    bool any = false;
    for (int k = 0; k < rig->target_count; k++)
        if (is_plain(&rig->targets[k])) {
            SN_TRY(find_stretched(f, k, error));
            any |= f->stretched_count[k] > 0;
        }
    if (!any) return SINEW_OK;
    SN_TRY(find_mirrors(f, error));
    for (int j = 0; j < rig->target_count; j++) {
        SN_TRY(sn_check_interrupt(error));
        for (int k = j + 1; f->moves[j] && k < rig->target_count; k++) {
            if (!f->moves[k] || rig->targets[j].slider == rig->targets[k].slider ||
                f->stretched_count[j] + f->stretched_count[k] == 0 || !is_pair_on_a_side(f, j, k))
                continue;
            SN_TRY(add_pair(rig, rig->targets[j].slider, rig->targets[k].slider,
                            SINEW_COMBINE_MULTIPLY, made, error));
        }
    }
    return SINEW_OK;
}

sinew_status sn_stretched_pairs_add(const sinew_rig *rig, sinew_rig **made, sinew_error *error) {
    *made = NULL;
    if (rig->slider_count < 2 || is_made(rig)) return SINEW_OK;
    size_t n = 3 * (size_t)rig->neutral->vertex_count, targets = (size_t)rig->target_count;
    finder f = {.rig = rig,
                .diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions)};
    f.pose[0] = SN_NEW(double, n), f.pose[1] = SN_NEW(double, n), f.sum = SN_NEW(double, n);
    f.moves = SN_NEW0(bool *, targets), f.stretched = SN_NEW0(int *, targets);
    f.stretched_count = SN_NEW0(int, targets), f.mirror = SN_NEW(int, rig->slider_count);
    bool room =
        f.pose[0] && f.pose[1] && f.sum && f.moves && f.stretched && f.stretched_count && f.mirror;
    sinew_status status = room ? add_closing(rig, made, error) : sn_no_memory(error);
    if (status == SINEW_OK) status = find(&f, made, error);
    for (size_t k = 0; k < targets; k++) {
        if (f.moves) sn_free(f.moves[k]);
        if (f.stretched) sn_free(f.stretched[k]);
    }
    sn_free(f.pose[0]), sn_free(f.pose[1]), sn_free(f.sum);
    sn_free(f.moves), sn_free(f.stretched), sn_free(f.stretched_count), sn_free(f.mirror);
    if (status != SINEW_OK) sinew_rig_destroy(*made), *made = NULL;
    return status;
}
