#include "force/command.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"

/* Keeps the matrix definite when a target does not reach any marker and no ridge is asked for. */
#define LEAST_RIDGE 1e-10
/* Targets count as seen by at least this fraction of the markers. */
#define LEAST_SEEN 0.005

sinew_status sn_command_create(int markers, int columns, const double *rows, const double *effect,
                               const sinew_force_options *options, sn_command **command,
                               sinew_error *error) {
    *command = NULL;
    size_t height = 3 * (size_t)markers, m = (size_t)columns;
    sn_command *c = SN_NEW0(sn_command, 1);
    if (!c) return sn_no_memory(error);
    c->markers = markers, c->columns = columns, c->rows = rows;
    c->smooth = options->smooth;
    c->held = options->held;
    c->bounded = options->bounded;
    c->weights = SN_NEW0(double, markers + 1);
    c->scaled = SN_NEW(double, height *m);
    c->matrix = SN_NEW(double, m *m);
    c->factor = SN_NEW(double, m *m);
    c->right = SN_NEW(double, m);
    c->residual = SN_NEW(double, height);
    c->pull = SN_NEW(double, m);
    c->lower = SN_NEW(double, m);
    c->upper = SN_NEW(double, m);
    sinew_status status = c->weights && c->scaled && c->matrix && c->factor && c->right &&
                                  c->residual && c->pull && c->lower && c->upper
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK && c->bounded) status = sn_box_qp_create(columns, &c->qp, error);
    if (status != SINEW_OK) {
        sn_command_destroy(c);
        return status;
    }
    c->weights[0] = -1;
    double sum = 0;
    int reached = 0;
    for (size_t k = 0; k < m; k++) {
        double square = 0;
        for (size_t i = 0; i < height; i++) square += rows[height * k + i] * rows[height * k + i];
        sum += square, reached += square > 0;
        bool held = options->held && options->held[k];
        c->lower[k] = held ? 0 : options->lower, c->upper[k] = held ? 0 : options->upper;
    }
    c->scale = reached ? sum / reached : 1;
    for (size_t k = 0; k < m; k++)
        c->pull[k] =
            fmax(options->ridge, LEAST_RIDGE) * fmax(c->scale, LEAST_SEEN * markers * effect[k]);
    *command = c;
    return SINEW_OK;
}

void sn_command_destroy(sn_command *c) {
    if (!c) return;
    sn_free(c->weights), sn_free(c->scaled), sn_free(c->matrix), sn_free(c->factor);
    sn_free(c->right), sn_free(c->residual), sn_free(c->pull), sn_free(c->lower), sn_free(c->upper);
    sn_box_qp_destroy(c->qp);
    sn_free(c);
}

void sn_command_forget(sn_command *c) {
    if (c && c->markers > 0) c->weights[0] = -1;
}

void sn_command_start_frame(sn_command *c) {
    if (c && c->qp) sn_box_qp_forget(c->qp);
}

static sinew_status prepare(sn_command *c, const double *weights, sinew_error *error) {
    size_t height = 3 * (size_t)c->markers, m = (size_t)c->columns;
    if (!memcmp(c->weights, weights, sizeof(double) * (size_t)c->markers)) return SINEW_OK;
    memcpy(c->weights, weights, sizeof(double) * (size_t)c->markers);
    for (size_t i = 0; i < (size_t)c->markers; i++) {
        double root = sqrt(weights[i]);
        for (size_t k = 0; k < m; k++)
            for (size_t a = 0; a < 3; a++)
                c->scaled[height * k + 3 * i + a] =
                    c->held && c->held[k] ? 0 : root * c->rows[height * k + 3 * i + a];
    }
    sn_dense_gram((int)height, (int)m, 1, c->scaled, 0, c->matrix);
    for (size_t k = 0; k < m; k++) c->matrix[k * (m + 1)] += c->pull[k] + c->smooth * c->scale;
    if (c->bounded) return sn_box_qp_set_matrix(c->qp, c->matrix, error);
    memcpy(c->factor, c->matrix, m * m * sizeof(double));
    sinew_status status = sn_dense_cholesky((int)m, c->factor, error);
    if (status != SINEW_OK) c->weights[0] = -1;
    return status;
}

sinew_status sn_command_solve(sn_command *c, const double *residual, const double *weights,
                              const double *last, double *u, sinew_error *error) {
    int height = 3 * c->markers, m = c->columns;
    SN_TRY(prepare(c, weights, error));
    for (int i = 0; i < height; i++) c->residual[i] = sqrt(weights[i / 3]) * residual[i];
    sn_dense_apply(SN_TRANSPOSED, height, m, 1, c->scaled, c->residual, 0, c->right);
    for (int k = 0; k < m; k++) c->right[k] += c->smooth * c->scale * last[k];
    if (!c->bounded) {
        memcpy(u, c->right, sizeof(double) * (size_t)m);
        sn_dense_cholesky_solve(m, c->factor, 1, u);
        return SINEW_OK;
    }
    sn_box_qp_options options = {.warm = true};
    return sn_box_qp_solve(c->qp, c->right, c->lower, c->upper, &options, u, NULL, error);
}
