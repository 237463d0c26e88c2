#include "mesh/rotation_refine.h"

#include "base/parallel.h"
#include "mesh/rotation_links.h"

typedef struct refine_loop {
    const sn_rotation_strain *structure;
    const double *positions;
    sn_mat3 *turns; /* per element: from the rotation that it was asked for to the one it got */
    double *coordinates;
    bool together;
} refine_loop;

static sn_mat3 rotation_of(const double *coordinates) {
    return sn_mat3_multiply(sn_rotation_exp(sn_at(coordinates + SN_RS_W, 0)),
                            sn_rotation_exp(sn_at(coordinates + SN_RS_Q, 0)));
}

static void set_rotation(double *coordinates, sn_mat3 rotation) {
    sn_put(coordinates + SN_RS_W, 0, sn_rotation_log(rotation));
    sn_put(coordinates + SN_RS_Q, 0, sn_v3(0, 0, 0));
}

/* argmin_R |F - R Y| is the rotation of F Y^T. */
static void fit_rotations(void *context, sn_span span) {
    const refine_loop *loop = context;
    const sn_rotation_strain *rs = loop->structure;
    SN_IN_SPAN(int, e, span) {
        const double *c = loop->coordinates + (size_t)SN_RS_SIZE * e;
        double strain[SN_RS_SIZE] = {0};
        for (int k = SN_RS_S; k < SN_RS_SIZE; k++) strain[k] = c[k];
        sn_mat3 stretch = sn_rotation_strain_compose(
            strain, rs->rest_stretch ? rs->rest_stretch + 6 * (size_t)e : NULL);
        sn_mat3 f = sn_rotation_strain_gradient(rs, loop->positions, e), got;
        sn_polar3(sn_mat3_multiply(f, stretch), &got, NULL);
        loop->turns[e] = sn_mat3_multiply(got, sn_mat3_transpose(rotation_of(c)));
    }
}

static void turn_elements(void *context, sn_span span) {
    const refine_loop *loop = context;
    const sn_rotation_strain *rs = loop->structure;
    SN_IN_SPAN(int, e, span) {
        double *c = loop->coordinates + (size_t)SN_RS_SIZE * e;
        sn_mat3 sum = {{{0}}}, turn = loop->turns[e];
        for (int k = 0; loop->together && k < rs->corners; k++) {
            int vertex = rs->elements[rs->corners * e + k];
            for (int i = rs->corner_start[vertex]; i < rs->corner_start[vertex + 1]; i++) {
                int other = rs->vertex_corners[i] / rs->corners;
                sum = sn_mat3_add(sum, sn_mat3_scale(rs->weights[other], loop->turns[other]));
            }
        }
        if (loop->together) sn_polar3(sum, &turn, NULL);
        set_rotation(c, sn_mat3_multiply(turn, rotation_of(c)));
    }
}

/* Links are not asked for the rotation of the elements around them, but turn as those do. */
static void turn_links(void *context, sn_span span) {
    const refine_loop *loop = context;
    const sn_rotation_strain *rs = loop->structure;
    SN_IN_SPAN(int, half, span) {
        double *c = loop->coordinates + (size_t)SN_RS_SIZE * (rs->element_count + half);
        sn_mat3 turn = sn_rotation_half_rotation(rs, loop->turns, half);
        set_rotation(c, sn_mat3_multiply(turn, rotation_of(c)));
    }
}

void sn_rotation_refine(const sn_rotation_strain *structure, sn_rotation_strain_work *work,
                        sn_mat3 *scratch, double *coordinates, const double *centers, bool together,
                        double *positions) {
    refine_loop loop = {structure, positions, scratch, coordinates, together};
    sn_parallel_for(structure->element_count, 64, fit_rotations, &loop);
    sn_parallel_for(structure->element_count, 64, turn_elements, &loop);
    sn_parallel_for(2 * structure->link_count, 64, turn_links, &loop);
    sn_rotation_strain_rebuild(structure, work, coordinates, centers, positions);
}
