#include "spring/energy.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"

static int block_count(const sn_system *system) {
    return (system->free_count + SN_VERTEX_BLOCK - 1) / SN_VERTEX_BLOCK;
}

/* ---- storage ---- */

sinew_status sn_linearization_create(const sn_system *system, sn_linearization *lin,
                                     sinew_error *error) {
    *lin = (sn_linearization){0};
    lin->spring = sn_alloc_aligned(4 * (size_t)system->spring_count, sizeof(float));
    lin->tet = sn_alloc_aligned(12 * (size_t)system->tet_count, sizeof(float));
    lin->stiffness = sn_alloc_aligned((size_t)system->free_count, sizeof(float));
    if (lin->spring && lin->tet && lin->stiffness) return SINEW_OK;
    sn_linearization_free(lin);
    return sn_no_memory(error);
}

void sn_linearization_free(sn_linearization *lin) {
    sn_free_aligned(lin->spring), sn_free_aligned(lin->tet);
    sn_free_aligned(lin->stiffness);
    sn_free(lin->contacts);
    *lin = (sn_linearization){0};
}

sinew_status sn_scratch_create(const sn_system *system, sn_scratch *scratch, sinew_error *error) {
    *scratch = (sn_scratch){0};
    scratch->window = sn_alloc_aligned(SN_PAD * system->window_start[SN_CHUNKS], sizeof(double));
    scratch->partial =
        sn_alloc_aligned((size_t)block_count(system) + SN_CHUNKS + 1, sizeof(double));
    if (scratch->window && scratch->partial) return SINEW_OK;
    sn_scratch_free(scratch);
    return sn_no_memory(error);
}

void sn_scratch_free(sn_scratch *scratch) {
    sn_free_aligned(scratch->window), sn_free_aligned(scratch->partial);
    *scratch = (sn_scratch){0};
}

sinew_status sn_load_create(const sn_system *system, sn_load *load, sinew_error *error) {
    *load = (sn_load){0};
    load->rest = sn_alloc_aligned((size_t)system->spring_count, sizeof(double));
    load->volume = sn_alloc_aligned((size_t)system->tet_count, sizeof(double));
    load->altitude = sn_alloc_aligned(SN_PAD * (size_t)system->triangle_count, sizeof(double));
    if (load->altitude)
        memset(load->altitude, 0, SN_PAD * (size_t)system->triangle_count * sizeof(double));
    load->blend = sn_alloc_aligned(SN_PAD * (size_t)system->count, sizeof(double));
    load->force = sn_alloc_aligned(SN_PAD * (size_t)system->free_count, sizeof(double));
    load->heading = sn_alloc_aligned(SN_PAD * (size_t)system->spring_count, sizeof(double));
    if (load->heading)
        memset(load->heading, 0, SN_PAD * (size_t)system->spring_count * sizeof(double));
    if (load->rest && load->volume && load->altitude && load->blend && load->force && load->heading)
        return SINEW_OK;
    sn_load_free(load);
    return sn_no_memory(error);
}

void sn_load_free(sn_load *load) {
    sn_free_aligned(load->rest), sn_free_aligned(load->volume);
    sn_free_aligned(load->altitude), sn_free_aligned(load->blend);
    sn_free_aligned(load->heading), sn_free_aligned(load->force);
    *load = (sn_load){0};
}

/* ---- value and gradient ---- */

/* Adds the windows of all chunks to the gradient of one block of vertices. */
static void gather_windows(const sn_system *system, const sn_scratch *scratch, int first, int last,
                           double *gradient) {
    memset(gradient + SN_PAD * (size_t)first, 0,
           SN_PAD * (size_t)(last - first) * sizeof *gradient);
    for (int c = 0; c < SN_CHUNKS; c++) {
        int low = system->window_low[c], high = system->window_high[c];
        int from = low > first ? low : first, to = high < last ? high : last;
        const double *window = scratch->window + SN_PAD * system->window_start[c];
        for (int v = from; v < to; v++)
            *(sn_d4 *)(gradient + SN_PAD * (size_t)v) +=
                *(const sn_d4 *)(window + SN_PAD * (size_t)(v - low));
    }
}

typedef struct sum_chunks_loop {
    const sn_system *system;
    const sn_load *load;
    const double *x;
    bool sloped;
    sn_scratch *scratch;
    double *chunk_energy;
} sum_chunks_loop;

static void sum_chunks(void *context, sn_span span) {
    const sum_chunks_loop *loop = context;
    const sn_system *system = loop->system;
    const sn_load *load = loop->load;
    const double *x = loop->x;
    bool sloped = loop->sloped;
    sn_scratch *scratch = loop->scratch;
    double *chunk_energy = loop->chunk_energy;
    SN_IN_SPAN(int, c, span) {
        if (!sloped) {
            chunk_energy[c] = sn_springs_value(system, load, c, x) +
                              sn_volumes_value(system, load->volume, c, x) +
                              sn_altitudes_value(system, load->altitude, c, x);
            continue;
        }
        double *window = scratch->window + SN_PAD * system->window_start[c];
        size_t size = system->window_start[c + 1] - system->window_start[c];
        memset(window, 0, SN_PAD * size * sizeof *window);
        chunk_energy[c] = sn_springs_energy(system, load, c, x, window) +
                          sn_volumes_energy(system, load->volume, c, x, window) +
                          sn_altitudes_energy(system, load->altitude, c, x, window);
    }
}

typedef struct sum_blocks_loop {
    const sn_system *system;
    const sn_load *load;
    const double *x;
    double *gradient;
    sn_scratch *scratch;
} sum_blocks_loop;

static void sum_blocks(void *context, sn_span span) {
    const sum_blocks_loop *loop = context;
    const sn_system *system = loop->system;
    const sn_load *load = loop->load;
    const double *x = loop->x;
    double *gradient = loop->gradient;
    sn_scratch *scratch = loop->scratch;
    SN_IN_SPAN(int, b, span) {
        int first = b * SN_VERTEX_BLOCK, last = first + SN_VERTEX_BLOCK;
        if (last > system->free_count) last = system->free_count;
        if (gradient) gather_windows(system, scratch, first, last, gradient);
        scratch->partial[b] =
            load->pull > 0 ? sn_pull_energy(system, load, first, last, x, gradient) : 0;
        if (load->forced) scratch->partial[b] += sn_force_energy(load, first, last, x, gradient);
    }
}

double sn_energy(const sn_system *system, const sn_load *load, const double *x, double *gradient,
                 sn_scratch *scratch) {
    int blocks = block_count(system);
    double *chunk_energy = scratch->partial + blocks;
    sn_parallel_for_weighted(
        SN_CHUNKS, 1, system->spring_count, sum_chunks,
        &(sum_chunks_loop){system, load, x, gradient != NULL, scratch, chunk_energy});
    sn_parallel_for(blocks, 1, sum_blocks, &(sum_blocks_loop){system, load, x, gradient, scratch});
    double energy = 0;
    for (int k = 0; k < blocks + SN_CHUNKS; k++) energy += scratch->partial[k];
    return energy + sn_soft_energy(load, x, gradient) + sn_contacts_energy(load, x, gradient);
}

/* ---- Hessian ---- */

typedef struct linearize_chunks_loop {
    const sn_system *system;
    const sn_load *load;
    const double *x;
    double negative;
    sn_linearization *lin;
} linearize_chunks_loop;

static void linearize_chunks(void *context, sn_span span) {
    const linearize_chunks_loop *loop = context;
    const sn_system *system = loop->system;
    const sn_load *load = loop->load;
    const double *x = loop->x;
    double negative = loop->negative;
    sn_linearization *lin = loop->lin;
    SN_IN_SPAN(int, c, span) {
        sn_springs_linearize(system, load, c, x, negative, lin->spring);
        sn_volumes_linearize(system, load->volume, c, x, negative, lin->tet);
    }
}

void sn_linearize(const sn_system *system, const sn_load *load, const double *x, double negative,
                  sn_linearization *lin) {
    sn_parallel_for_weighted(SN_CHUNKS, 1, system->spring_count, linearize_chunks,
                             &(linearize_chunks_loop){system, load, x, negative, lin});
    sn_pull_linearize(system, load, lin->stiffness);
    sn_contacts_linearize(load, x, lin);
}

typedef struct multiply_chunks_loop {
    const sn_system *system;
    const sn_linearization *lin;
    const float *p;
    float *windows;
} multiply_chunks_loop;

static void multiply_chunks(void *context, sn_span span) {
    const multiply_chunks_loop *loop = context;
    const sn_system *system = loop->system;
    const sn_linearization *lin = loop->lin;
    const float *p = loop->p;
    float *windows = loop->windows;
    SN_IN_SPAN(int, c, span) {
        float *window = windows + SN_PAD * system->window_start[c];
        size_t size = system->window_start[c + 1] - system->window_start[c];
        memset(window, 0, SN_PAD * size * sizeof *window);
        sn_springs_multiply(system, lin->spring, c, p, window);
        sn_volumes_multiply(system, lin->tet, c, p, window);
        sn_altitudes_multiply(system, c, p, window);
    }
}

typedef struct multiply_blocks_loop {
    const sn_system *system;
    const sn_linearization *lin;
    const float *p;
    const float *windows;
    float *y;
    double *partial;
} multiply_blocks_loop;

static void multiply_blocks(void *context, sn_span span) {
    const multiply_blocks_loop *loop = context;
    const sn_system *system = loop->system;
    const sn_linearization *lin = loop->lin;
    const float *p = loop->p;
    const float *windows = loop->windows;
    float *y = loop->y;
    double *partial = loop->partial;
    SN_IN_SPAN(int, b, span) {
        int first = b * SN_VERTEX_BLOCK, last = first + SN_VERTEX_BLOCK;
        if (last > system->free_count) last = system->free_count;
        for (int v = first; v < last; v++)
            *(sn_f4 *)(y + SN_PAD * (size_t)v) =
                lin->stiffness[v] * *(const sn_f4 *)(p + SN_PAD * (size_t)v);
        for (int c = 0; c < SN_CHUNKS; c++) {
            int low = system->window_low[c], high = system->window_high[c];
            int from = low > first ? low : first, to = high < last ? high : last;
            const float *window = windows + SN_PAD * system->window_start[c];
            for (int v = from; v < to; v++)
                *(sn_f4 *)(y + SN_PAD * (size_t)v) +=
                    *(const sn_f4 *)(window + SN_PAD * (size_t)(v - low));
        }
        sn_f4 sum = {0};
        for (int v = first; v < last; v++) {
            sn_f4 *yv = (sn_f4 *)(y + SN_PAD * (size_t)v);
            *yv = __builtin_shufflevector(*yv, (sn_f4){0}, 0, 1, 2, 4);
            sum += *yv * *(const sn_f4 *)(p + SN_PAD * (size_t)v);
        }
        partial[b] = (double)sum[0] + (double)sum[1] + (double)sum[2];
    }
}

double sn_hessian_multiply(const sn_system *system, const sn_linearization *lin, const float *p,
                           float *y, sn_scratch *scratch) {
    int blocks = block_count(system);
    float *windows = (float *)scratch->window;
    sn_parallel_for_weighted(SN_CHUNKS, 1, system->spring_count, multiply_chunks,
                             &(multiply_chunks_loop){system, lin, p, windows});
    sn_parallel_for(blocks, 1, multiply_blocks,
                    &(multiply_blocks_loop){system, lin, p, windows, y, scratch->partial});
    double product = 0;
    for (int b = 0; b < blocks; b++) product += scratch->partial[b];
    return product + sn_contacts_multiply(lin, p, y);
}

typedef struct sum_diagonal_chunks_loop {
    const sn_system *system;
    const sn_linearization *lin;
    float *windows;
} sum_diagonal_chunks_loop;

static void sum_diagonal_chunks(void *context, sn_span span) {
    const sum_diagonal_chunks_loop *loop = context;
    const sn_system *system = loop->system;
    const sn_linearization *lin = loop->lin;
    float *windows = loop->windows;
    SN_IN_SPAN(int, c, span) {
        float *window = windows + SN_BLOCK_PAD * system->window_start[c];
        size_t size = system->window_start[c + 1] - system->window_start[c];
        memset(window, 0, SN_BLOCK_PAD * size * sizeof *window);
        sn_springs_diagonal(system, lin->spring, c, window);
        sn_volumes_diagonal(system, lin->tet, c, window);
        sn_altitudes_diagonal(system, c, window);
    }
}

typedef struct gather_diagonal_loop {
    const sn_system *system;
    const sn_linearization *lin;
    const float *windows;
    float *blocks;
} gather_diagonal_loop;

static void gather_diagonal(void *context, sn_span span) {
    const gather_diagonal_loop *loop = context;
    const sn_system *system = loop->system;
    const sn_linearization *lin = loop->lin;
    const float *windows = loop->windows;
    float *blocks = loop->blocks;
    SN_IN_SPAN(int, v, span) {
        float *block = blocks + 6 * (size_t)v, k = lin->stiffness[v];
        block[0] = block[3] = block[5] = k, block[1] = block[2] = block[4] = 0;
        for (int c = 0; c < SN_CHUNKS; c++) {
            int low = system->window_low[c];
            if (v < low || v >= system->window_high[c]) continue;
            const float *from =
                windows + SN_BLOCK_PAD * (system->window_start[c] + (size_t)(v - low));
            for (int e = 0; e < 6; e++) block[e] += from[e];
        }
    }
}

void sn_hessian_diagonal(const sn_system *system, const sn_linearization *lin, float *blocks,
                         sn_scratch *scratch) {
    float *windows = (float *)scratch->window;
    sn_parallel_for_weighted(SN_CHUNKS, 1, system->spring_count, sum_diagonal_chunks,
                             &(sum_diagonal_chunks_loop){system, lin, windows});
    sn_parallel_for(system->free_count, 256, gather_diagonal,
                    &(gather_diagonal_loop){system, lin, windows, blocks});
    sn_contacts_diagonal(lin, blocks);
}

int sn_hessian_slot(const sn_system *system, int a, int b) {
    int low = system->row_start[a], high = system->row_split[a] - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (system->other[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low - system->row_start[a];
}

sinew_status sn_hessian_pattern(const sn_system *system, sn_sparse **matrix, sinew_error *error) {
    size_t nonzeros = 0;
    for (int a = 0; a < system->free_count; a++)
        nonzeros += 6 + 9 * (size_t)(system->row_split[a] - system->row_start[a]);
    if (nonzeros > INT32_MAX)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "spring network is too large for a direct solver: use the default one");
    SN_TRY(sn_sparse_create(3 * system->free_count, 3 * system->free_count, (int)nonzeros, true,
                            matrix, error));
    sn_sparse *m = *matrix;
    int at = 0;
    for (int a = 0; a < system->free_count; a++)
        for (int c = 0; c < 3; c++) {
            m->start[3 * a + c] = at;
            for (int r = c; r < 3; r++) m->row[at++] = 3 * a + r;
            for (int s = system->row_start[a]; s < system->row_split[a]; s++)
                for (int r = 0; r < 3; r++) m->row[at++] = 3 * system->other[s] + r;
        }
    m->start[3 * system->free_count] = at;
    return SINEW_OK;
}

void sn_hessian_assemble(const sn_system *system, const sn_load *load, const double *x,
                         double negative, sn_sparse *matrix) {
    memset(matrix->value, 0, (size_t)sn_sparse_nonzeros(matrix) * sizeof *matrix->value);
    sn_springs_assemble(system, load, x, negative, matrix);
    sn_volumes_assemble(system, load->volume, x, negative, matrix);
    sn_altitudes_assemble(system, matrix);
    for (int v = 0; v < system->free_count; v++)
        for (int c = 0; c < 3; c++) *sn_hessian_entry(system, matrix, v, -1, c, c) += load->pull;
    for (int k = 0; k < load->soft_count; k++)
        for (int c = 0; c < 3; c++)
            *sn_hessian_entry(system, matrix, load->soft[k].vertex, -1, c, c) +=
                load->soft[k].stiffness;
    sn_contacts_assemble(system, load, x, matrix);
}
