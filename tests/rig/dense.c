#include "support.h"

#include "dense.h"

double *dense_displacements(const sinew_rig *rig) {
    int m = rig->target_count;
    double *D = calloc(3 * (size_t)rig->neutral->vertex_count * (size_t)m, sizeof(double));
    for (int k = 0; k < m; k++)
        for (int i = 0; i < rig->targets[k].count; i++)
            for (int c = 0; c < 3; c++)
                D[(3 * rig->targets[k].vertices[i] + c) * m + k] =
                    rig->targets[k].deltas[3 * i + c];
    return D;
}

void dense_eliminate(int size, double *A, double *b) {
    for (int j = 0; j < size; j++) {
        int pivot = j;
        for (int i = j + 1; i < size; i++)
            if (fabs(A[i * size + j]) > fabs(A[pivot * size + j])) pivot = i;
        for (int k = 0; k < size; k++) {
            double t = A[j * size + k];
            A[j * size + k] = A[pivot * size + k];
            A[pivot * size + k] = t;
        }
        double t = b[j];
        b[j] = b[pivot];
        b[pivot] = t;
        for (int i = j + 1; i < size; i++) {
            double f = A[i * size + j] / A[j * size + j];
            for (int k = j; k < size; k++) A[i * size + k] -= f * A[j * size + k];
            b[i] -= f * b[j];
        }
    }
    for (int j = size - 1; j >= 0; j--) {
        for (int k = j + 1; k < size; k++) b[j] -= A[j * size + k] * b[k];
        b[j] /= A[j * size + j];
    }
}

void dense_gram(int rows, int columns, const double *D, const double *pick, double *gram) {
    memset(gram, 0, sizeof(double) * (size_t)(columns * columns));
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < columns; i++)
            for (int j = 0; j < columns; j++)
                gram[i * columns + j] += pick[r] * D[r * columns + i] * D[r * columns + j];
}
