#include "modal/modes.h"

#include <string.h>

#include "algebra/dense.h"
#include "algebra/eigen.h"
#include "algebra/vector.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "modal/field.h"
#include "sinew/modal.h"

/* Each part adds rigid motions that are solved for, and columns to dense matrices: a body of a
 * thousand cubes would take minutes and gigabytes. */
enum { MOST_PARTS = 128 };

static sn_modes *new_modes(int vertex_count, int mode_count, int column_count) {
    sn_modes *modes = SN_NEW0(sn_modes, 1);
    if (!modes) return NULL;
    modes->vertex_count = vertex_count;
    modes->mode_count = mode_count;
    modes->column_count = column_count;
    return modes;
}

void sn_modes_destroy(sn_modes *modes) {
    if (!modes) return;
    sn_free(modes->lambda);
    sn_free(modes->shapes);
    sn_free(modes->gram);
    sn_free(modes->scale);
    sn_free(modes);
}

/* ---- rigid motions ------------------------------------------------------------------------ */

/* The field of a unit rotation of one component about an axis through its center. */
static void rotation_field(const sn_rotation_strain *rs, const double *rest, int component,
                           int axis, double *field) {
    sn_vec3 center = {0, 0, 0}, w = sn_v3(axis == 0, axis == 1, axis == 2);
    for (int i = 0; i < rs->vertex_count; i++)
        if (rs->vertex_component[i] == component)
            center = sn_add_scaled(center, rs->vertex_mass[i] / rs->component_mass[component],
                                   sn_at(rest, i));
    for (int i = 0; i < rs->vertex_count; i++) {
        sn_vec3 u = {0, 0, 0};
        if (rs->vertex_component[i] == component) u = sn_cross(w, sn_sub(sn_at(rest, i), center));
        sn_put(field, i, u);
    }
}

static void append_rotations(const sn_rotation_strain *rs, const double *rest, sn_modes *modes) {
    size_t size = (size_t)3 * rs->vertex_count;
    for (int c = 0; c < rs->component_count; c++)
        for (int axis = 0; axis < 3; axis++) {
            int column = modes->mode_count + 3 * c + axis;
            rotation_field(rs, rest, c, axis, modes->shapes + size * column);
            modes->lambda[column] = 0;
        }
}

/* Share of a field's M-norm that is a rigid motion of its components: per component, the field's
 * translation and its rotation about the center of mass, by the inertia tensor. */
static double rigid_share(const sn_rotation_strain *rs, const double *rest, const double *mass,
                          const double *field) {
    double rigid = 0, whole = 0;
    for (int c = 0; c < rs->component_count; c++) {
        double total = 0;
        sn_vec3 center = {0, 0, 0}, momentum = {0, 0, 0}, angular = {0, 0, 0};
        for (int i = 0; i < rs->vertex_count; i++) {
            if (rs->vertex_component[i] != c) continue;
            double m = mass[3 * (size_t)i];
            total += m;
            center = sn_add_scaled(center, m, sn_at(rest, i));
            momentum = sn_add_scaled(momentum, m, sn_at(field, i));
            whole += m * sn_dot(sn_at(field, i), sn_at(field, i));
        }
        center = sn_scale(1 / total, center);
        sn_mat3 inertia = {{{0}}}, inverse;
        for (int i = 0; i < rs->vertex_count; i++) {
            if (rs->vertex_component[i] != c) continue;
            double m = mass[3 * (size_t)i];
            sn_vec3 r = sn_sub(sn_at(rest, i), center);
            angular = sn_add_scaled(angular, m, sn_cross(r, sn_at(field, i)));
            sn_mat3 cross = sn_mat3_cross(r);
            inertia = sn_mat3_add(inertia, sn_mat3_scale(-m, sn_mat3_multiply(cross, cross)));
        }
        rigid += sn_dot(momentum, momentum) / total;
        if (sn_mat3_inverse(inertia, &inverse))
            rigid += sn_dot(angular, sn_mat3_apply(inverse, angular));
    }
    return whole > 0 ? rigid / whole : 1;
}

/* ---- Gram matrix -------------------------------------------------------------------------- */

/* Gram_ij = sum |e| <H(y_i), H(y_j)>. Columns are scaled to a unit diagonal; a trace of ridge lets
 * a basis with dependent columns through. */
static sinew_status factor_gram(sn_modes *modes, const sn_rotation_strain *rs, sinew_error *error) {
    size_t size = (size_t)3 * rs->vertex_count, count = (size_t)modes->column_count;
    sn_sparse *metric;
    SN_TRY(sn_field_metric(rs, &metric, error));
    modes->gram = SN_NEW(double, count *count);
    modes->scale = SN_NEW(double, count);
    double *forces = sn_alloc_aligned(size * count, sizeof(double));
    if (!modes->gram || !modes->scale || !forces) {
        sn_free_aligned(forces);
        sn_sparse_destroy(metric);
        return sn_no_memory(error);
    }
    for (size_t j = 0; j < count; j++)
        sn_sparse_multiply(metric, (int)size / metric->rows, modes->shapes + size * j,
                           forces + size * j);
    sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, (int)count, (int)count, (int)size, 1, modes->shapes,
                      forces, 0, modes->gram);
    sn_free_aligned(forces);
    sn_sparse_destroy(metric);
    for (size_t j = 0; j < count; j++) {
        double diagonal = modes->gram[j + count * j];
        modes->scale[j] = diagonal > 0 ? 1 / sqrt(diagonal) : 0;
    }
    const double ridge = 1e-12;
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < count; i++)
            modes->gram[i + count * j] =
                modes->gram[i + count * j] * modes->scale[i] * modes->scale[j];
    for (size_t j = 0; j < count; j++)
        modes->gram[j + count * j] = modes->scale[j] > 0 ? 1 + ridge : 1;
    return sn_dense_cholesky((int)count, modes->gram, error);
}

void sn_modes_project(const sn_modes *modes, const sn_rotation_strain *rs,
                      const double *coordinates, double *scratch, double *weights) {
    int size = 3 * rs->vertex_count, count = modes->column_count;
    sn_field_adjoint(rs, coordinates, scratch);
    sn_dense_apply(SN_TRANSPOSED, size, count, 1, modes->shapes, scratch, 0, weights);
    for (int j = 0; j < count; j++) weights[j] *= modes->scale[j];
    sn_dense_cholesky_solve(count, modes->gram, 1, weights);
    for (int j = 0; j < count; j++) weights[j] *= modes->scale[j];
}

void sn_modes_displace(const sn_modes *modes, const double *weights, double *displacement) {
    sn_dense_apply(SN_AS_IS, 3 * modes->vertex_count, modes->column_count, 1, modes->shapes,
                   weights, 0, displacement);
}

/* ---- vibrations --------------------------------------------------------------------------- */

/* Keeps the pairs that are vibrations: neither a rigid motion nor, as in a mesh that hangs together
 * by a hinge, of no stiffness at all. */
static sinew_status keep_vibrations(sn_modes *modes, const sn_rotation_strain *rs,
                                    const double *rest, const double *mass, int found,
                                    double threshold, double *values, double *vectors,
                                    const double *residuals, sinew_error *error) {
    size_t size = (size_t)3 * rs->vertex_count;
    int wanted = modes->mode_count, kept = 0;
    for (int k = 0; k < found && kept < wanted; k++) {
        double *vector = vectors + size * k;
        if (values[k] <= threshold || rigid_share(rs, rest, mass, vector) > 0.5) continue;
        modes->worst_residual = fmax(modes->worst_residual, residuals[k]);
        values[kept] = values[k];
        if (kept != k) memcpy(vectors + size * kept, vector, size * sizeof *vector);
        kept++;
    }
    if (kept < 1) return sn_fail(error, SINEW_BAD_INPUT, "the body has no vibration modes");
    modes->mode_count = kept;
    modes->column_count = kept + 3 * rs->component_count;
    modes->lambda = SN_NEW(double, modes->column_count);
    modes->shapes = SN_NEW(double, size *(size_t)modes->column_count);
    if (!modes->lambda || !modes->shapes) return sn_no_memory(error);
    for (int k = 0; k < kept; k++) modes->lambda[k] = sqrt(values[k]);
    memcpy(modes->shapes, vectors, size * (size_t)kept * sizeof *vectors);
    append_rotations(rs, rest, modes);
    return factor_gram(modes, rs, error);
}

sinew_status sn_modes_create(const sn_rotation_strain *rs, const double *rest,
                             const sn_sparse *stiffness, const double *mass, int count,
                             const sinew_monitor *monitor, sn_modes **modes, sinew_error *error) {
    *modes = NULL;
    int size = 3 * rs->vertex_count, used = 0;
    for (int i = 0; i < rs->vertex_count; i++) used += rs->vertex_component[i] >= 0;
    int rigid = 6 * rs->component_count, room = 3 * used - rigid;
    if (rs->component_count > MOST_PARTS)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "the body has %d separate parts, and modes can be found for at most %d; "
                       "leave small parts out",
                       rs->component_count, MOST_PARTS);
    /* the default asks for as many as there are */
    if (count == SINEW_MODAL_MODES_DEFAULT && count > room && room > 0) count = room;
    if (count < 1 || count > room)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%d modes were requested, but %d vertices in %d parts have at most %d",
                       count, used, rs->component_count, room > 0 ? room : 0);
    int wanted = count + rigid;
    double *values = SN_NEW(double, wanted), *residuals = SN_NEW(double, wanted);
    double *vectors = SN_NEW(double, (size_t)size *wanted);
    sn_modes *result = new_modes(rs->vertex_count, count, count);
    sinew_status status = SINEW_OK;
    sn_eigen_info info = {0};
    if (!values || !vectors || !residuals || !result) status = sn_no_memory(error);
    if (status == SINEW_OK) {
        sn_eigen_options options = {.count = wanted, .monitor = monitor};
        status = sn_eigen_smallest(stiffness, mass, NULL, &options, values, vectors, residuals,
                                   &info, error);
        if (status == SINEW_NOT_CONVERGED) {
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "modes: residual %.1e is short of the tolerance", info.worst_residual);
            status = SINEW_OK;
        }
    }
    if (status == SINEW_OK) {
        status = keep_vibrations(result, rs, rest, mass, wanted, 1e-3 * info.shift, values, vectors,
                                 residuals, error);
    }
    sn_free(values), sn_free(vectors), sn_free(residuals);
    if (status != SINEW_OK) {
        sn_modes_destroy(result);
        return status;
    }
    *modes = result;
    return SINEW_OK;
}

/* The given fields span a space; its principal axes solve the small problem
 * (F^T K F) a = lambda^2 (F^T M F) a. Rigid motions inside it get lambda = 0. */
sinew_status sn_modes_create_basis(const sn_rotation_strain *rs, const double *rest,
                                   const sn_sparse *stiffness, const double *mass, int count,
                                   const double *fields, sn_modes **modes, sinew_error *error) {
    *modes = NULL;
    size_t size = (size_t)3 * rs->vertex_count;
    if (count < 1) return sn_fail(error, SINEW_BAD_INPUT, "a basis needs at least one field");
    for (size_t k = 0; k < size * (size_t)count; k++)
        if (!isfinite(fields[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "basis field %zu: vertex %zu is not finite",
                           k / size, k % size / 3);
    size_t square = (size_t)count * (size_t)count;
    double *product = SN_NEW(double, size *(size_t)count), *A = SN_NEW(double, square);
    double *B = SN_NEW(double, square), *values = SN_NEW(double, count);
    sn_modes *result = new_modes(rs->vertex_count, count, count + 3 * rs->component_count);
    sinew_status status = SINEW_OK;
    if (result) {
        result->lambda = SN_NEW(double, result->column_count);
        result->shapes = SN_NEW(double, size *(size_t)result->column_count);
    }
    if (!product || !A || !B || !values || !result || !result->lambda || !result->shapes)
        status = sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int j = 0; j < count; j++)
            sn_sparse_multiply(stiffness, 1, fields + size * j, product + size * j);
        sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, count, count, (int)size, 1, fields, product, 0,
                          A);
        for (size_t k = 0; k < size * (size_t)count; k++) product[k] = mass[k % size] * fields[k];
        sn_dense_multiply(SN_TRANSPOSED, SN_AS_IS, count, count, (int)size, 1, fields, product, 0,
                          B);
        double trace = 0;
        for (int j = 0; j < count; j++) trace += B[j + (size_t)count * j];
        for (int j = 0; j < count; j++) B[j + (size_t)count * j] += 1e-10 * trace / count;
        status = sn_dense_eigen_generalized(count, A, B, values, error);
    }
    if (status == SINEW_OK) {
        sn_dense_multiply(SN_AS_IS, SN_AS_IS, (int)size, count, count, 1, fields, A, 0,
                          result->shapes);
        for (int j = 0; j < count; j++) result->lambda[j] = sqrt(fmax(values[j], 0));
        append_rotations(rs, rest, result);
        status = factor_gram(result, rs, error);
    }
    sn_free(product), sn_free(A), sn_free(B), sn_free(values);
    if (status != SINEW_OK) {
        sn_modes_destroy(result);
        return status;
    }
    *modes = result;
    return SINEW_OK;
}

sinew_status sn_modes_restore(const sn_rotation_strain *rs, int mode_count, int column_count,
                              double *lambda, double *shapes, sn_modes **modes,
                              sinew_error *error) {
    *modes = NULL;
    sn_modes *result = new_modes(rs->vertex_count, mode_count, column_count);
    if (!result) {
        sn_free(lambda), sn_free(shapes);
        return sn_no_memory(error);
    }
    result->lambda = lambda, result->shapes = shapes;
    sinew_status status = factor_gram(result, rs, error);
    if (status != SINEW_OK) {
        sn_modes_destroy(result);
        return status;
    }
    *modes = result;
    return SINEW_OK;
}
