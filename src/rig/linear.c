/* f = f0 + sum_k a_k d_k at the speed of memory.
 *
 * Every displacement is read once per frame and used for one multiply-add, so the time is bytes
 * over bandwidth and the layout is everything. Vertices are cut into blocks whose sums stay in the
 * first level cache. A block holds its displacements as one stream of floats in the order they are
 * used: for every target that touches it, runs of consecutive vertices (small gaps are filled with
 * zeros, which cost less than another run). A target costs what it touches, a target at rest costs
 * a look at its run headers.
 *
 * Blocks are independent, so threads share them freely and the bits stay the same. Sums are in
 * double: their error stays below that of the floats that are summed. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"
#include "rig/activations.h"
#include "sinew/rig.h"

enum {
    BLOCK = 256, /* vertices; 6 KiB of sums */
    GAP = 4,     /* vertices of zeros that are cheaper than a new run */
    CHUNK = 1024 /* targets whose activations are held on the stack at a time */
};

typedef struct run {
    int target;
    int first; /* coordinate within the block */
    int count; /* coordinates */
} run;

typedef struct span {
    size_t run, value;
} span;

struct sinew_linear {
    sn_activation_plan *plan;
    int vertex_count, block_count, chunk_count;
    double *neutral;
    span *spans; /* where (block, chunk) starts, block_count * chunk_count + 1 */
    run *runs;
    float *values;
};

/* --- building ---------------------------------------------------------------------------------
 */

/* Counts, and with `runs` set also writes, the runs of the target's vertices from *at that lie in
 * the block. Returns false for a displacement that no float holds. */
static bool cut_runs(const sinew_target *target, int k, int block, int *at, span *used, run *runs,
                     float *values) {
    int begin = block * BLOCK, end = begin + BLOCK, previous = -1;
    run *open = NULL;
    for (; *at < target->count && target->vertices[*at] < end; ++*at) {
        int v = target->vertices[*at];
        const double *d = target->deltas + 3 * (size_t)*at;
        if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
        if (previous < 0 || v - previous > GAP) {
            if (runs) {
                open = &runs[used->run];
                *open = (run){k, 3 * (v - begin), 0};
            }
            used->run++;
            previous = v - 1;
        }
        for (int u = previous + 1; u <= v; u++)
            for (int c = 0; c < 3; c++) {
                float value = u == v ? (float)d[c] : 0;
                if (!isfinite(value)) return false;
                if (values) values[used->value] = value;
                used->value++;
            }
        if (open) open->count = 3 * (v - begin) - open->first + 3;
        previous = v;
    }
    return true;
}

/* Both passes over all blocks and targets; next[target_count] is scratch. */
static sinew_status fill(const sinew_rig *rig, sinew_linear *linear, int *next, span *used,
                         bool write, sinew_error *error) {
    *used = (span){0, 0};
    memset(next, 0, sizeof *next * (size_t)rig->target_count);
    for (int block = 0; block < linear->block_count; block++)
        for (int k = 0; k < rig->target_count; k++) {
            if (k % CHUNK == 0)
                linear->spans[(size_t)block * (size_t)linear->chunk_count + (size_t)(k / CHUNK)] =
                    *used;
            if (!cut_runs(&rig->targets[k], k, block, &next[k], used, write ? linear->runs : NULL,
                          write ? linear->values : NULL))
                return sn_fail(error, SINEW_BAD_INPUT,
                               "target \"%s\": displacement of vertex %d is too large for a float",
                               rig->targets[k].name, rig->targets[k].vertices[next[k]]);
        }
    linear->spans[(size_t)linear->block_count * (size_t)linear->chunk_count] = *used;
    return SINEW_OK;
}

sinew_status sinew_linear_create(const sinew_rig *rig, sinew_linear **linear, sinew_error *error) {
    SN_REQUIRE(rig && linear, error);
    *linear = NULL;
    sinew_linear *made = SN_NEW0(sinew_linear, 1);
    if (!made) return sn_no_memory(error);
    made->vertex_count = rig->neutral->vertex_count;
    made->block_count = (made->vertex_count + BLOCK - 1) / BLOCK;
    made->chunk_count = rig->target_count > 0 ? (rig->target_count + CHUNK - 1) / CHUNK : 1;
    made->neutral =
        sn_memdup(rig->neutral->positions, (size_t)made->vertex_count, 3 * sizeof(double));
    made->spans = SN_NEW0(span, (size_t)made->block_count * (size_t)made->chunk_count + 1);
    int *next = SN_NEW(int, rig->target_count);
    sinew_status status = made->neutral && made->spans && next ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_activation_plan_create(rig, &made->plan, error);
    span used;
    if (status == SINEW_OK) status = fill(rig, made, next, &used, false, error);
    if (status == SINEW_OK) {
        made->runs = SN_NEW(run, used.run);
        made->values = sn_alloc_aligned(used.value, sizeof(float));
        status = made->runs && made->values ? fill(rig, made, next, &used, true, error)
                                            : sn_no_memory(error);
    }
    sn_free(next);
    if (status != SINEW_OK) {
        sinew_linear_destroy(made);
        return status;
    }
    *linear = made;
    return SINEW_OK;
}

void sinew_linear_destroy(sinew_linear *linear) {
    if (!linear) return;
    sn_activation_plan_destroy(linear->plan);
    sn_free(linear->neutral);
    sn_free(linear->spans);
    sn_free(linear->runs);
    sn_free_aligned(linear->values);
    sn_free(linear);
}

/* --- a frame ----------------------------------------------------------------------------------
 */

static void add_scaled(double *restrict sum, double a, const float *restrict values, int count) {
    for (int i = 0; i < count; i++) sum[i] += a * (double)values[i];
}

/* positions of one block += its targets of one chunk, whose activations are given. */
static void add_block(const sinew_linear *linear, int block, int chunk, const double *activations,
                      double *positions) {
    const span *from = &linear->spans[(size_t)block * (size_t)linear->chunk_count + (size_t)chunk];
    const run *end = linear->runs + from[1].run;
    const float *values = linear->values + from->value;
    double *sum = positions + 3 * (size_t)block * BLOCK;
    for (const run *r = linear->runs + from->run; r < end; r++) {
        double a = activations[r->target - chunk * CHUNK];
        if (a != 0) add_scaled(sum + r->first, a, values, r->count);
        values += r->count;
    }
}

typedef struct add_blocks_loop {
    const sinew_linear *linear;
    int chunk;
    const double *activations;
    double *positions;
} add_blocks_loop;

static void add_blocks(void *context, sn_span part) {
    const add_blocks_loop *loop = context;
    const sinew_linear *linear = loop->linear;
    int chunk = loop->chunk;
    const double *activations = loop->activations;
    double *positions = loop->positions;
    SN_IN_SPAN(int, block, part) {
        size_t begin = 3 * (size_t)block * BLOCK, end = begin + 3 * BLOCK;
        if (end > 3 * (size_t)linear->vertex_count) end = 3 * (size_t)linear->vertex_count;
        if (chunk == 0)
            memcpy(positions + begin, linear->neutral + begin, sizeof(double) * (end - begin));
        add_block(linear, block, chunk, activations, positions);
    }
}

void sinew_linear_evaluate(const sinew_linear *linear, const double *weights, double *positions) {
    if (!linear || !weights || !positions) return;
    size_t total = linear->spans[(size_t)linear->block_count * (size_t)linear->chunk_count].value;
    for (int chunk = 0; chunk < linear->chunk_count; chunk++) {
        double activations[CHUNK];
        sn_activations_range(linear->plan, chunk * CHUNK, (chunk + 1) * CHUNK, weights,
                             activations);
        sn_parallel_for_weighted(linear->block_count, 1, 1 + (double)total / linear->block_count,
                                 add_blocks,
                                 &(add_blocks_loop){linear, chunk, activations, positions});
    }
}
