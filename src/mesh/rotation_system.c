/* T^-1 minimizes sum |e| ||F_e(x) - F_e||^2 + sum k |x_a - x_b - o|^2, a quadratic in x with a
 * constant matrix. With x_h known for held vertices the others satisfy
 *
 *   L_ff x_f = b_f - L_fh x_h,
 *
 * so L_ff is factored once and a frame moves L_fh x_h to the right-hand side. Rows of held vertices
 * are those of the identity. */
#include "mesh/rotation_system.h"

#include "base/memory.h"
#include "mesh/rotation_links.h"

/* Vertices in no element cannot be held by the solve; a vertex that is listed twice is held once.
 */
sinew_status sn_rotation_holds_prepare(sn_rotation_strain *structure,
                                       const sn_rotation_joints *joints, sinew_error *error) {
    if (joints->hold_count == 0) return SINEW_OK;
    structure->holds = SN_NEW(int, joints->hold_count);
    structure->component_held = SN_NEW0(bool, structure->component_count);
    bool *listed = SN_NEW0(bool, structure->vertex_count);
    if (!structure->holds || !structure->component_held || !listed) {
        sn_free(listed);
        return sn_no_memory(error);
    }
    for (int k = 0; k < joints->hold_count; k++) {
        int component = structure->vertex_component[joints->holds[k]];
        if (component < 0 || listed[joints->holds[k]]) continue;
        listed[joints->holds[k]] = true;
        structure->holds[structure->hold_count++] = joints->holds[k];
        structure->component_held[component] = true;
    }
    sn_free(listed);
    return SINEW_OK;
}

/* The matrix of T^-1 while it is put together. */
typedef struct assembly {
    sn_triplets triplets;
    const bool *held;     /* per vertex, or NULL */
    sn_triplets coupling; /* free row, held column */
    bool room;
} assembly;

/* Known positions go to the right-hand side: a term of two held vertices is dropped, one of a free
 * and a held vertex is kept for it. */
static void add_term(assembly *a, int i, int j, double value) {
    bool held_i = a->held && a->held[i], held_j = a->held && a->held[j];
    if (held_i && held_j) return;
    if (held_i || held_j)
        a->room = a->room && sn_triplets_add(&a->coupling, held_i ? j : i, held_i ? i : j, value);
    else
        a->room = a->room && sn_triplets_add(&a->triplets, i > j ? i : j, i > j ? j : i, value);
}

static void add_elements(const sn_rotation_strain *structure, assembly *a) {
    int corners = structure->corners;
    for (int e = 0; e < structure->element_count; e++) {
        const int *v = structure->elements + (size_t)corners * e;
        const double *g = structure->gradients + (size_t)3 * corners * e;
        for (int i = 0; i < corners; i++)
            for (int j = 0; j <= i; j++) {
                double value = structure->weights[e] * sn_dot(sn_at(g, i), sn_at(g, j));
                add_term(a, v[i], v[j], i != j && v[i] == v[j] ? 2 * value : value);
            }
    }
    for (int l = 0; l < structure->link_count; l++) {
        int v[4];
        double values[4];
        sn_rotation_link_row(structure, l, v, values);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++) {
                double value = structure->link_stiffness[l] * values[i] * values[j];
                add_term(a, v[i], v[j], i != j && v[i] == v[j] ? 2 * value : value);
            }
    }
}

/* Grounding one vertex of a component by a diagonal entry gives exactly the solution that is zero
 * there, because every right-hand side sums to zero over a component. Held vertices ground their
 * component themselves. */
static void ground(const sn_rotation_strain *structure, assembly *a) {
    int corners = structure->corners, grounded = 0;
    for (int i = 0; i < structure->vertex_count; i++) {
        int component = structure->vertex_component[i];
        double diagonal = 0;
        if (component < 0 || (a->held && a->held[i])) diagonal = 1; /* x_i is known */
        if (component == grounded) {
            if (!structure->component_held || !structure->component_held[component])
                for (int c = structure->corner_start[i]; c < structure->corner_start[i + 1]; c++) {
                    int place = structure->vertex_corners[c];
                    sn_vec3 g = sn_at(structure->gradients, place);
                    diagonal += structure->weights[place / corners] * sn_dot(g, g);
                }
            grounded++;
        }
        if (diagonal > 0) a->room = a->room && sn_triplets_add(&a->triplets, i, i, diagonal);
    }
}

static sinew_status keep_coupling(sn_rotation_strain *structure, const sn_triplets *coupling,
                                  sinew_error *error) {
    structure->hold_terms = SN_NEW(int, 2 * coupling->count);
    structure->hold_values = SN_NEW(double, coupling->count);
    if (!structure->hold_terms || !structure->hold_values) return sn_no_memory(error);
    for (size_t k = 0; k < coupling->count; k++) {
        structure->hold_terms[2 * k] = coupling->row[k];
        structure->hold_terms[2 * k + 1] = coupling->column[k];
        structure->hold_values[k] = coupling->value[k];
    }
    structure->hold_term_count = (int)coupling->count;
    return SINEW_OK;
}

sinew_status sn_rotation_system_factor(sn_rotation_strain *structure, sinew_error *error) {
    int n = structure->vertex_count, corners = structure->corners;
    size_t expected = (size_t)corners * (corners + 1) / 2 * structure->element_count +
                      10 * (size_t)structure->link_count + (size_t)n;
    bool *held = NULL;
    if (structure->hold_count > 0) {
        held = SN_NEW0(bool, n);
        if (!held) return sn_no_memory(error);
        for (int k = 0; k < structure->hold_count; k++) held[structure->holds[k]] = true;
    }
    assembly a = {.held = held, .room = true};
    sn_sparse *matrix = NULL;
    sinew_status status = sn_triplets_create(n, n, expected, &a.triplets, error);
    if (status == SINEW_OK && held)
        status = sn_triplets_create(n, n, 64 * (size_t)structure->hold_count, &a.coupling, error);
    if (status == SINEW_OK) {
        add_elements(structure, &a);
        ground(structure, &a);
        if (!a.room) status = sn_no_memory(error);
    }
    if (status == SINEW_OK && held) status = keep_coupling(structure, &a.coupling, error);
    if (status == SINEW_OK) status = sn_sparse_from_triplets(&a.triplets, true, &matrix, error);
    sn_triplets_free(&a.triplets);
    if (held) sn_triplets_free(&a.coupling);
    sn_free(held);
    if (status == SINEW_OK)
        status = structure->laplacian ? sn_cholesky_factor(structure->laplacian, matrix, error)
                                      : sn_cholesky_create(matrix, &structure->laplacian, error);
    sn_sparse_destroy(matrix);
    return status;
}

sinew_status sn_rotation_system_refactor(sn_rotation_strain *structure, sinew_error *error) {
    sn_free(structure->hold_terms), sn_free(structure->hold_values);
    structure->hold_terms = NULL, structure->hold_values = NULL;
    structure->hold_term_count = 0;
    return sn_rotation_system_factor(structure, error);
}

void sn_rotation_holds_force(const sn_rotation_strain *structure, const double *positions,
                             double *right) {
    for (int k = 0; k < structure->hold_term_count; k++) {
        const int *pair = structure->hold_terms + 2 * (size_t)k;
        sn_put(right, pair[0],
               sn_add_scaled(sn_at(right, pair[0]), -structure->hold_values[k],
                             sn_at(positions, pair[1])));
    }
    for (int k = 0; k < structure->hold_count; k++)
        sn_put(right, structure->holds[k], sn_at(positions, structure->holds[k]));
}
