/* Inside of sinew_slider_space: displacements by vertex, and their Gram matrix. */
#ifndef SN_RIG_SLIDER_SPACE_H
#define SN_RIG_SLIDER_SPACE_H

#include "rig/activations.h"
#include "sinew/slider_space.h"

struct sinew_slider_space {
    const sinew_rig *rig;
    sn_activation_plan *plan;
    bool aligned; /* da/dw = 1: target k is plain and belongs to slider k */

    int *start;    /* vertex_count + 1 offsets into target and delta */
    int *target;   /* targets that move the vertex, increasing */
    double *delta; /* 3 per entry */

    double *gram; /* T^T T, target_count squared, both triangles */
    double
        mean_square; /* trace of the Gram matrix over the number of targets that move; 1 if none */
    unsigned char *axes; /* per vertex: bit c is set when some target moves coordinate c */
    int moved_count;     /* set bits */
    double diagonal;
};

/* Rows of T as few as needed: `count` vertices with a factor for each of their coordinates. */
typedef struct sn_picked_rows {
    int count;
    const int *vertices;
    const double *factors; /* 3 per vertex; coordinates of factor 0 are left out */
} sn_picked_rows;

/* Scratch for the packing of rows, grown as needed; zero it first. */
typedef struct sn_row_pack {
    double *rows, *product;
    size_t row_capacity, product_capacity;
    int *columns, *place; /* target_count each */
} sn_row_pack;
sinew_status sn_row_pack_create(const sinew_slider_space *space, sn_row_pack *pack,
                                sinew_error *error);
void sn_row_pack_free(sn_row_pack *pack);

/* matrix += sum over the picked coordinates of factor * row^T row; factors may be negative, which
 * takes rows out again. Only columns of targets that touch the vertices are visited. */
sinew_status sn_add_gram(const sinew_slider_space *space, const sn_picked_rows *rows,
                         sn_row_pack *pack, double *matrix, sinew_error *error);

/* Displacement of one vertex, sum_k a_k d_k. */
void sn_vertex_motion(const sinew_slider_space *space, int vertex, const double *activations,
                      double motion[3]);
/* gradient[target] += T_v^T force: the transpose of the above. */
void sn_vertex_pull(const sinew_slider_space *space, int vertex, const double force[3],
                    double *gradient);

/* Carried through da/dw (`derivatives` as sn_activations gives them): y_s = J^T y_t, and the
 * symmetric J^T A J; scratch[target_count]. */
void sn_pull_back(const sinew_slider_space *space, const double *derivatives,
                  const double *y_target, double *y_slider);
void sn_pull_back_matrix(const sinew_slider_space *space, const double *derivatives,
                         const double *matrix, double *slider_matrix, double *scratch);

#endif
