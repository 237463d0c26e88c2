#include "modal/field.h"

#include "base/parallel.h"
#include "mesh/rotation_links.h"

void sn_field_add_element(const sn_rotation_strain *rs, int e, const double *u, double *c) {
    const double *g = rs->gradients + (size_t)3 * rs->corners * e;
    sn_mat3 h = {{{0}}};
    for (int k = 0; k < rs->corners; k++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) h.m[i][j] += u[3 * k + i] * g[3 * k + j];
    if (rs->normals) {
        sn_vec3 n = sn_at(rs->normals, e), dn = sn_mat3_apply_transposed(h, n);
        const double a[3] = {-dn.x, -dn.y, -dn.z}, b[3] = {n.x, n.y, n.z};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) h.m[i][j] += a[i] * b[j];
    }
    c[SN_RS_W] += 0.5 * (h.m[2][1] - h.m[1][2]);
    c[SN_RS_W + 1] += 0.5 * (h.m[0][2] - h.m[2][0]);
    c[SN_RS_W + 2] += 0.5 * (h.m[1][0] - h.m[0][1]);
    for (int i = 0; i < 3; i++) c[SN_RS_S + i] += h.m[i][i];
    c[SN_RS_S + 3] += 0.5 * (h.m[0][1] + h.m[1][0]);
    c[SN_RS_S + 4] += 0.5 * (h.m[0][2] + h.m[2][0]);
    c[SN_RS_S + 5] += 0.5 * (h.m[1][2] + h.m[2][1]);
}

typedef struct field_loop {
    const sn_rotation_strain *rs;
    const double *from;
    double *to;
} field_loop;

static void add_elements(void *context, sn_span span) {
    const field_loop *loop = context;
    const sn_rotation_strain *rs = loop->rs;
    SN_IN_SPAN(int, e, span) {
        const int *v = rs->elements + (size_t)rs->corners * e;
        double u[12];
        for (int k = 0; k < rs->corners; k++)
            for (int i = 0; i < 3; i++) u[3 * k + i] = loop->from[3 * (size_t)v[k] + (size_t)i];
        sn_field_add_element(rs, e, u, loop->to + (size_t)SN_RS_SIZE * e);
    }
}

/* A half of a link turns with the elements around it: their mean rate. Links do not stretch. */
static void add_halves(void *context, sn_span span) {
    const field_loop *loop = context;
    const sn_rotation_strain *rs = loop->rs;
    SN_IN_SPAN(int, half, span) {
        double *to = loop->to + (size_t)SN_RS_SIZE * (size_t)(rs->element_count + half);
        double sum[SN_RS_SIZE] = {0}, weight = 0, u[12];
        int first, last;
        sn_rotation_half_ring(rs, half, &first, &last);
        for (int c = first; c < last; c++) {
            int e = rs->vertex_corners[c] / rs->corners;
            const int *v = rs->elements + (size_t)rs->corners * (size_t)e;
            for (int k = 0; k < rs->corners; k++)
                for (int i = 0; i < 3; i++)
                    u[3 * k + i] = rs->weights[e] * loop->from[3 * (size_t)v[k] + (size_t)i];
            sn_field_add_element(rs, e, u, sum);
            weight += rs->weights[e];
        }
        for (int i = 0; i < 3 && weight > 0; i++) to[SN_RS_W + i] += sum[SN_RS_W + i] / weight;
    }
}

void sn_field_add(const sn_rotation_strain *rs, const double *displacement, double *coordinates) {
    field_loop loop = {rs, displacement, coordinates};
    sn_parallel_for(rs->element_count, 64, add_elements, &loop);
    sn_parallel_for(2 * (size_t)rs->link_count, 16, add_halves, &loop);
}

/* <H, G + dn n^T> with dn = -G^T n is (H - n (H n)^T) : G, so on triangles P = H - n (H n)^T takes
 * the place of H, and row i of the adjoint is sum |e| P g_i. */
static void gather_forces(void *context, sn_span span) {
    const field_loop *loop = context;
    const sn_rotation_strain *rs = loop->rs;
    SN_IN_SPAN(int, i, span) {
        sn_vec3 sum = {0, 0, 0};
        for (int k = rs->corner_start[i]; k < rs->corner_start[i + 1]; k++) {
            int corner = rs->vertex_corners[k], e = corner / rs->corners;
            const double *c = loop->from + (size_t)SN_RS_SIZE * e;
            const double *s = c + SN_RS_S;
            sn_vec3 g = sn_at(rs->gradients, corner);
            sn_vec3 w = sn_v3(c[0] + c[3], c[1] + c[4], c[2] + c[5]);
            sn_mat3 h = {{{s[0], s[3] - w.z, s[4] + w.y},
                          {s[3] + w.z, s[1], s[5] - w.x},
                          {s[4] - w.y, s[5] + w.x, s[2]}}};
            sn_vec3 f = sn_mat3_apply(h, g);
            if (rs->normals) {
                sn_vec3 n = sn_at(rs->normals, e);
                f = sn_add_scaled(f, -sn_dot(sn_mat3_apply(h, n), g), n);
            }
            sum = sn_add_scaled(sum, rs->weights[e], f);
        }
        sn_put(loop->to, i, sum);
    }
}

void sn_field_adjoint(const sn_rotation_strain *rs, const double *coordinates, double *forces) {
    sn_parallel_for(rs->vertex_count, 64, gather_forces, &(field_loop){rs, coordinates, forces});
}

/* With h = sum u_i g_i^T, k of another field, and h n = 0 (gradients lie in the triangle),
 *
 *   <h - (h^T n) n^T, k - (k^T n) n^T> = <h, k> + (h^T n) . (k^T n),
 *
 * so corners i and j meet in |e| (g_i . g_j) (I + n n^T), without normals in |e| (g_i . g_j) I. */
static bool add_element_metric(const sn_rotation_strain *rs, int e, sn_triplets *triplets) {
    const int *v = rs->elements + (size_t)rs->corners * e;
    const double *g = rs->gradients + (size_t)3 * rs->corners * e;
    bool room = true;
    for (int i = 0; i < rs->corners; i++)
        for (int j = 0; j < rs->corners; j++) {
            if (v[i] < v[j]) continue;
            double product = rs->weights[e] * sn_dot(sn_at(g, i), sn_at(g, j));
            if (!rs->normals) {
                room = room && sn_triplets_add(triplets, v[i], v[j], product);
                continue;
            }
            const double *n = rs->normals + (size_t)3 * e;
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                    room = room && sn_triplets_add(triplets, 3 * v[i] + a, 3 * v[j] + b,
                                                   product * ((a == b) + n[a] * n[b]));
        }
    return room;
}

sinew_status sn_field_metric(const sn_rotation_strain *rs, sn_sparse **metric, sinew_error *error) {
    *metric = NULL;
    int axes = rs->normals ? 3 : 1, size = axes * rs->vertex_count;
    int most = rs->corners * (rs->corners + 1) / 2 * axes * axes;
    sn_triplets triplets;
    SN_TRY(
        sn_triplets_create(size, size, (size_t)most * (size_t)rs->element_count, &triplets, error));
    bool room = true;
    for (int e = 0; e < rs->element_count && room; e++) room = add_element_metric(rs, e, &triplets);
    sinew_status status =
        room ? sn_sparse_from_triplets(&triplets, true, metric, error) : sn_no_memory(error);
    sn_triplets_free(&triplets);
    return status;
}
