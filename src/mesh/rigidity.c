/* Based on: Sorkine and Alexa, As-Rigid-As-Possible Surface Modeling, 2007; Chao et al., A Simple
 * Geometric Model for Elastic Deformations, 2010. */
#include "mesh/rigidity.h"

#include <math.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/rotation.h"
#include "mesh/predicates.h"

/* Volume over longest edge cubed below which a tet counts as this thick: keeps gradients finite. */
static const double thinnest = 1e-12;

void sn_rigidity_free(sn_rigidity *rigidity) {
    sn_free(rigidity->volume);
    sn_free(rigidity->gradient);
    sn_lists_free(&rigidity->vertex_corners);
    *rigidity = (sn_rigidity){0};
}

/* The gradient of a corner's hat function is the inward area vector of the opposite side over three
 * times the volume. */
static void prepare_tet(const double *positions, const int *tet, double *volume, double *gradient) {
    static const int opposite[4][3] = {{1, 3, 2}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};
    sn_vec3 p[4];
    double longest = 0;
    for (int k = 0; k < 4; k++) p[k] = sn_at(positions, tet[k]);
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) longest = fmax(longest, sn_distance(p[i], p[j]));
    double six = sn_dot(sn_cross(sn_sub(p[1], p[0]), sn_sub(p[2], p[0])), sn_sub(p[3], p[0]));
    *volume = fmax(six / 6, thinnest * longest * longest * longest);
    for (int k = 0; k < 4; k++) {
        const int *o = opposite[k];
        sn_vec3 side = sn_scale(0.5, sn_cross(sn_sub(p[o[1]], p[o[0]]), sn_sub(p[o[2]], p[o[0]])));
        sn_put(gradient, k, *volume > 0 ? sn_scale(1 / (3 * *volume), side) : sn_v3(0, 0, 0));
    }
}

typedef struct prepare_tets_loop {
    const sinew_tets *rest;
    sn_rigidity *rigidity;
} prepare_tets_loop;

static void prepare_tets(void *context, sn_span span) {
    const prepare_tets_loop *loop = context;
    const sinew_tets *rest = loop->rest;
    sn_rigidity *rigidity = loop->rigidity;
    SN_IN_SPAN(int, t, span)
        prepare_tet(rest->positions, rest->tets + 4 * (size_t)t, &rigidity->volume[t],
                    rigidity->gradient + 12 * (size_t)t);
}

sinew_status sn_rigidity_create(const sinew_tets *rest, sn_rigidity *rigidity, sinew_error *error) {
    *rigidity = (sn_rigidity){.vertex_count = rest->vertex_count,
                              .tet_count = rest->tet_count,
                              .tets = rest->tets,
                              .volume = SN_NEW(double, rest->tet_count),
                              .gradient = SN_NEW(double, 12 * (size_t)rest->tet_count)};
    sinew_status status = rigidity->volume && rigidity->gradient ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_lists_create(rest->vertex_count, 4 * rest->tet_count, rest->tets, NULL,
                                 &rigidity->vertex_corners, error);
    if (status != SINEW_OK) {
        sn_rigidity_free(rigidity);
        return status;
    }
    sn_parallel_for(rest->tet_count, 64, prepare_tets, &(prepare_tets_loop){rest, rigidity});
    return SINEW_OK;
}

bool sn_rigidity_laplacian(const sn_rigidity *rigidity, sn_triplets *triplets) {
    for (int v = 0; v < rigidity->vertex_count; v++)
        if (!sn_triplets_add(triplets, v, v, 0)) return false;
    for (int t = 0; t < rigidity->tet_count; t++) {
        const int *v = rigidity->tets + 4 * (size_t)t;
        const double *g = rigidity->gradient + 12 * (size_t)t;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++) {
                double value = rigidity->volume[t] * sn_dot(sn_at(g, i), sn_at(g, j));
                int row = v[i] > v[j] ? v[i] : v[j], column = v[i] > v[j] ? v[j] : v[i];
                if (!sn_triplets_add(triplets, row, column, value)) return false;
            }
    }
    return true;
}

sn_mat3 sn_rigidity_deformation(const sn_rigidity *rigidity, const double *positions, int tet) {
    const int *v = rigidity->tets + 4 * (size_t)tet;
    const double *g = rigidity->gradient + 12 * (size_t)tet;
    sn_mat3 f = {{{0}}};
    for (int k = 0; k < 4; k++) {
        const double *x = positions + 3 * (size_t)v[k];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) f.m[i][j] += x[i] * g[3 * k + j];
    }
    return f;
}

typedef struct find_rotations_loop {
    const sn_rigidity *rigidity;
    const double *positions;
    sn_mat3 *rotations;
} find_rotations_loop;

static void find_rotations(void *context, sn_span span) {
    const find_rotations_loop *loop = context;
    const sn_rigidity *rigidity = loop->rigidity;
    const double *positions = loop->positions;
    sn_mat3 *rotations = loop->rotations;
    SN_IN_SPAN(int, t, span) {
        sn_mat3 f = sn_rigidity_deformation(rigidity, positions, t);
        sn_polar3(f, &rotations[t], NULL);
    }
}

void sn_rigidity_rotations(const sn_rigidity *rigidity, const double *positions,
                           sn_mat3 *rotations) {
    sn_parallel_for(rigidity->tet_count, 32, find_rotations,
                    &(find_rotations_loop){rigidity, positions, rotations});
}

typedef struct pull_vertices_loop {
    const sn_rigidity *rigidity;
    const sn_mat3 *rotations;
    double *b;
} pull_vertices_loop;

static void pull_vertices(void *context, sn_span span) {
    const pull_vertices_loop *loop = context;
    const sn_rigidity *rigidity = loop->rigidity;
    const sn_mat3 *rotations = loop->rotations;
    double *b = loop->b;
    const sn_lists *around = &rigidity->vertex_corners;
    SN_IN_SPAN(int, v, span) {
        sn_vec3 sum = sn_v3(0, 0, 0);
        for (int i = around->start[v]; i < around->start[v + 1]; i++) {
            int t = around->item[i] / 4;
            sn_vec3 g = sn_at(rigidity->gradient, around->item[i]);
            sum = sn_add_scaled(sum, rigidity->volume[t], sn_mat3_apply(rotations[t], g));
        }
        sn_put(b, v, sum);
    }
}

/* Each vertex gathers from its corners in their order: no race, one order of summation. */
void sn_rigidity_pull(const sn_rigidity *rigidity, const sn_mat3 *rotations, double *b) {
    sn_parallel_for(rigidity->vertex_count, 128, pull_vertices,
                    &(pull_vertices_loop){rigidity, rotations, b});
}

double sn_rigidity_energy(const sn_rigidity *rigidity, const double *positions,
                          const sn_mat3 *rotations) {
    double sum = 0;
    for (int t = 0; t < rigidity->tet_count; t++) {
        sn_mat3 f = sn_rigidity_deformation(rigidity, positions, t);
        double square = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double d = f.m[i][j] - rotations[t].m[i][j];
                square += d * d;
            }
        sum += rigidity->volume[t] * square;
    }
    return sum;
}

int sn_count_inverted(const double *positions, int tet_count, const int *tets) {
    int count = 0;
    for (int t = 0; t < tet_count; t++) {
        const int *v = tets + 4 * (size_t)t;
        count += sn_orient3d(sn_at(positions, v[0]), sn_at(positions, v[1]), sn_at(positions, v[2]),
                             sn_at(positions, v[3])) <= 0;
    }
    return count;
}
