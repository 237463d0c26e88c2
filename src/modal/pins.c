/* Vertices held or led along a path, on top of a frame.
 *
 * A frame x minimises sum |e| ||F(x) - F||^2, a quadratic with the Laplacian L. With C d = r for
 * the pinned vertices, the cheapest change of it is
 *
 *   min 1/2 d^T L d  s.t.  C d = r   =>   d = G m + t,   [ C G + s   1 ] [m]   [r]
 *                                                        [   1^T     0 ] [t] = [0]
 *
 * with G = L^-1 C^T, one column per pin, and a translation t for each part that has pins. s = 0
 * holds a vertex exactly; s = 1/(stiffness |e|) pulls it by a spring. G and the inverse of the
 * small matrix are made once; a frame multiplies. */
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "modal/frame.h"

struct sinew_modal_pins {
    const sinew_modal *modal;
    int count;
    int *vertices;            /* of the artist; of those that coincide in all poses, one */
    int *asked;               /* per pin: its place in the caller's list */
    int *component;           /* per pin: row of its part's translation, count + ... */
    int *parts;               /* per component: the same row, or -1 without pins */
    int rows;                 /* pins and parts with pins */
    double *answers;          /* body vertices x count: G */
    double *inverse;          /* rows x rows */
    double *right, *solution; /* rows x 3, column-major: scratch */
    double *change;           /* 3 per body vertex, then 3 per artist's vertex: scratch */
};

void sinew_modal_pins_destroy(sinew_modal_pins *pins) {
    if (!pins) return;
    sn_free(pins->vertices);
    sn_free(pins->asked);
    sn_free(pins->component);
    sn_free(pins->parts);
    sn_free(pins->answers);
    sn_free(pins->inverse);
    sn_free(pins->right);
    sn_free(pins->solution);
    sn_free(pins->change);
    sn_free(pins);
}

/* Corners and weights by which the body carries an artist's vertex. */
static int carriers(const sn_body *body, int vertex, int *corners, double *weights) {
    if (!body->cage) {
        corners[0] = vertex, weights[0] = 1;
        return 1;
    }
    memcpy(corners, body->cage->embedding->corners + (size_t)4 * vertex, 4 * sizeof *corners);
    memcpy(weights, body->cage->embedding->weights + (size_t)4 * vertex, 4 * sizeof *weights);
    return 4;
}

static sinew_status prepare(sinew_modal_pins *pins, const double *stiffness, sinew_error *error) {
    const sn_body *body = pins->modal->body;
    const sn_rotation_strain *rs = body->rs;
    int n = body->vertex_count, count = pins->count, corners[4];
    double weights[4];
    for (int c = 0; c < rs->component_count; c++) pins->parts[c] = -1;
    pins->rows = count;
    for (int k = 0; k < count; k++) {
        carriers(body, pins->vertices[k], corners, weights);
        int part = rs->vertex_component[corners[0]];
        if (part < 0)
            return sn_fail(error, SINEW_BAD_INPUT, "pinned vertex %d is in no element",
                           pins->vertices[k]);
        if (pins->parts[part] < 0) pins->parts[part] = pins->rows++;
        pins->component[k] = pins->parts[part];
    }
    int rows = pins->rows;
    size_t square = (size_t)rows * (size_t)rows;
    pins->answers = SN_NEW0(double, (size_t)n *(size_t)count);
    pins->inverse = SN_NEW0(double, square);
    pins->right = SN_NEW(double, 3 * rows);
    pins->solution = SN_NEW(double, 3 * rows);
    pins->change = SN_NEW(double, (size_t)3 * (size_t)(n + body->artist_count));
    double *matrix = SN_NEW0(double, square);
    sn_cholesky_work *work = NULL;
    sinew_status status =
        pins->answers && pins->inverse && pins->right && pins->solution && pins->change && matrix
            ? sn_cholesky_work_create(rs->laplacian, 1, &work, error)
            : sn_no_memory(error);
    double volume = 0;
    for (int c = 0; c < rs->component_count; c++) volume += rs->component_mass[c];
    for (int k = 0; status == SINEW_OK && k < count; k++) {
        double *column = pins->answers + (size_t)n * (size_t)k;
        int used = carriers(body, pins->vertices[k], corners, weights);
        for (int i = 0; i < used; i++) column[corners[i]] += weights[i];
        sn_cholesky_solve(rs->laplacian, work, 1, column, column);
    }
    for (int k = 0; status == SINEW_OK && k < count; k++) {
        int used = carriers(body, pins->vertices[k], corners, weights);
        for (int j = 0; j < count; j++)
            for (int i = 0; i < used; i++)
                matrix[k + (size_t)rows * (size_t)j] +=
                    weights[i] * pins->answers[corners[i] + (size_t)n * (size_t)j];
        /* Springs are measured against the body: |e|/n has the scale of the Laplacian. */
        if (stiffness && stiffness[pins->asked[k]] > 0)
            matrix[k + (size_t)rows * (size_t)k] +=
                1 / (stiffness[pins->asked[k]] * cbrt(volume / rs->vertex_count));
        int part = pins->component[k];
        matrix[k + (size_t)rows * (size_t)part] = 1;
        matrix[part + (size_t)rows * (size_t)k] = 1;
    }
    if (status == SINEW_OK) {
        for (int i = 0; i < rows; i++) pins->inverse[i + (size_t)rows * (size_t)i] = 1;
        status = sn_dense_solve(rows, matrix, rows, pins->inverse, error);
        if (status == SINEW_BAD_INPUT)
            status = sn_fail(error, SINEW_BAD_INPUT, "the pins contradict each other");
    }
    sn_cholesky_work_destroy(work);
    sn_free(matrix);
    return status;
}

static void add_pin(sinew_modal_pins *pins, int asked, int vertex) {
    int root = sn_seams_root(pins->modal->body->seams, vertex);
    for (int k = 0; k < pins->count; k++)
        if (pins->vertices[k] == root) return;
    pins->vertices[pins->count] = root, pins->asked[pins->count++] = asked;
}

sinew_status sinew_modal_pins_create(const sinew_modal *modal, int count, const int *vertices,
                                     const double *stiffness, sinew_modal_pins **pins,
                                     sinew_error *error) {
    SN_REQUIRE(pins != NULL, error);
    *pins = NULL;
    SN_REQUIRE(modal && count >= 1 && vertices, error);
    for (int k = 0; k < count; k++) {
        if (stiffness && !(stiffness[k] >= 0))
            return sn_fail(error, SINEW_BAD_INPUT, "stiffness must not be negative");
        if (vertices[k] < 0 || vertices[k] >= modal->body->artist_count)
            return sn_fail(error, SINEW_BAD_INPUT, "pinned vertex %d of %d", vertices[k],
                           modal->body->artist_count);
        for (int j = 0; j < k; j++)
            if (vertices[j] == vertices[k])
                return sn_fail(error, SINEW_BAD_INPUT, "vertex %d is pinned twice", vertices[k]);
    }
    sinew_modal_pins *made = SN_NEW0(sinew_modal_pins, 1);
    if (!made) return sn_no_memory(error);
    made->modal = modal;
    made->vertices = SN_NEW(int, count);
    made->asked = SN_NEW(int, count);
    made->component = SN_NEW(int, count);
    made->parts = SN_NEW(int, modal->body->rs->component_count);
    bool room = made->vertices && made->asked && made->component && made->parts;
    for (int k = 0; room && k < count; k++) add_pin(made, k, vertices[k]);
    sinew_status status = room ? prepare(made, stiffness, error) : sn_no_memory(error);
    if (status != SINEW_OK) {
        sinew_modal_pins_destroy(made);
        return status;
    }
    *pins = made;
    return SINEW_OK;
}

void sn_pins_apply(sinew_modal_pins *pins, sinew_modal_state *state, const double *targets,
                   double *positions) {
    const sn_body *body = pins->modal->body;
    const sn_rotation_strain *rs = body->rs;
    int n = body->vertex_count, rows = pins->rows;
    memset(pins->right, 0, (size_t)3 * (size_t)rows * sizeof *pins->right);
    for (int k = 0; k < pins->count; k++)
        for (int axis = 0; axis < 3; axis++)
            pins->right[k + rows * axis] = targets[3 * pins->asked[k] + axis] -
                                           positions[3 * (size_t)pins->vertices[k] + (size_t)axis];
    sn_dense_multiply(SN_AS_IS, SN_AS_IS, rows, 3, rows, 1, pins->inverse, pins->right, 0,
                      pins->solution);
    double *change = pins->change, *own = change + 3 * (size_t)n;
    for (int i = 0; i < n; i++) {
        int part = rs->vertex_component[i] >= 0 ? pins->parts[rs->vertex_component[i]] : -1;
        for (int axis = 0; axis < 3; axis++) {
            double sum = part >= 0 ? pins->solution[part + rows * axis] : 0;
            for (int k = 0; part >= 0 && k < pins->count; k++)
                sum += pins->answers[i + (size_t)n * (size_t)k] * pins->solution[k + rows * axis];
            change[3 * (size_t)i + (size_t)axis] = sum;
            state->positions[3 * (size_t)i + (size_t)axis] += sum;
        }
    }
    sn_body_drop(body, change, own);
    for (size_t i = 0; i < (size_t)3 * (size_t)body->artist_count; i++) positions[i] += own[i];
}
