/* Based on: Alexa and Mueller 2000, "Representing animations by principal components". We differ
 * in: the number of components is not chosen, it follows from the largest error that a vertex may
 * have in any frame, checked on the rounded numbers that the file holds.
 *
 * With x_k the frames, x_0 the mesh and d_k = x_k - x_0:
 *   G_kl = d_k . d_l,  G = V diag(s^2) V^T    (frames x frames)
 *   target j:  b_j = c_j sum_k V_kj d_k / s_j,   weight of target j in frame k:  s_j V_kj / c_j
 * and c_j makes the largest weight 1. Targets are added, largest s first, until every vertex of
 * every frame lies within the tolerance. */
#include "io/gltf_frames.h"

#include <math.h>

#include "algebra/dense.h"
#include "base/memory.h"
#include "io/gltf_pack.h"

#define TRUNCATED 0.6 /* of the tolerance: what components that are left out may miss */

typedef struct compressor {
    sinew_mesh *mesh; /* a copy */
    float *frames;    /* all of them, frame after frame */
    size_t size;      /* numbers in a frame */
    int count;        /* frames */

    double *basis;  /* eigenvectors of G, column-major */
    double *values; /* its eigenvalues, increasing */
    float *rest;    /* what the targets so far do not reach, frame after frame */
    float *targets; /* target after target */
    size_t target_capacity;
    float *weights; /* target after target, a weight per frame */
    size_t weight_capacity;
    int target_count;
    double *sum; /* one frame */
} compressor;

static void release(sinew_frame_writer *writer) {
    compressor *c = writer->state;
    if (!c) return;
    sinew_mesh_destroy(c->mesh);
    sn_free(c->frames), sn_free(c->basis), sn_free(c->values), sn_free(c->rest);
    sn_free(c->targets), sn_free(c->weights), sn_free(c->sum);
    sn_free(c);
    writer->state = NULL;
}

static sinew_status open_frames(sinew_frame_writer *writer, const sinew_mesh *mesh,
                                sinew_error *error) {
    compressor *c = SN_NEW0(compressor, 1);
    if (!c) return sn_no_memory(error);
    writer->state = c;
    c->size = 3 * (size_t)mesh->vertex_count;
    c->frames = sn_alloc((size_t)writer->frame_count, c->size * sizeof(float));
    c->sum = SN_NEW(double, c->size);
    if (!c->frames || !c->sum) return sn_no_memory(error);
    return sinew_mesh_copy(mesh, &c->mesh, error);
}

static sinew_status add_frame(sinew_frame_writer *writer, const double *positions,
                              sinew_error *error) {
    (void)positions, (void)error;
    compressor *c = writer->state;
    memcpy(c->frames + (size_t)c->count++ * c->size, writer->row, c->size * sizeof(float));
    return SINEW_OK;
}

/* The Gram matrix in slices of coordinates, so that only a slice is held in doubles. */
static sinew_status find_basis(compressor *c, sinew_error *error) {
    enum { SLICE = 3072 };
    size_t frames = (size_t)c->count;
    c->basis = sn_calloc(frames * frames, sizeof(double));
    c->values = SN_NEW(double, frames);
    double *slice = sn_alloc(frames * SLICE, sizeof(double));
    if (!c->basis || !c->values || !slice) {
        sn_free(slice);
        return sn_no_memory(error);
    }
    for (size_t first = 0; first < c->size; first += SLICE) {
        size_t rows = c->size - first < SLICE ? c->size - first : SLICE;
        for (size_t k = 0; k < frames; k++)
            for (size_t i = 0; i < rows; i++)
                slice[k * rows + i] = (double)c->rest[k * c->size + first + i];
        sn_dense_gram((int)rows, (int)frames, 1, slice, 1, c->basis);
    }
    sn_free(slice);
    return sn_dense_eigen((int)frames, c->basis, c->values, error);
}

/* Largest distance of a vertex that is still to be covered. */
static double largest_rest(const float *rest, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i += 3) {
        double x = (double)rest[i], y = (double)rest[i + 1], z = (double)rest[i + 2];
        double square = x * x + y * y + z * z;
        if (square > most) most = square;
    }
    return sqrt(most);
}

/* Component j, counted from the largest. False: no memory. */
static bool add_target(compressor *c, int j) {
    size_t frames = (size_t)c->count, done = (size_t)c->target_count;
    if (!SN_RESERVE(c->targets, c->target_capacity, (done + 1) * c->size) ||
        !SN_RESERVE(c->weights, c->weight_capacity, (done + 1) * frames))
        return false;
    const double *v = c->basis + (frames - 1 - (size_t)j) * frames;
    double largest = 0;
    for (size_t k = 0; k < frames; k++) largest = fmax(largest, fabs(v[k]));
    if (!(largest > 0)) largest = 1;
    /* b = sum_k v_k d_k / s in units where the largest weight is 1: both factors of s cancel, as
     * the weight of frame k is v_k / largest and b = largest sum_k v_k d_k. What is left after the
     * targets before replaces d_k: their parts are orthogonal to v. */
    memset(c->sum, 0, c->size * sizeof(double));
    for (size_t k = 0; k < frames; k++) {
        double factor = v[k] * largest;
        const float *row = c->rest + k * c->size;
        for (size_t i = 0; i < c->size; i++) c->sum[i] += factor * (double)row[i];
    }
    float *target = c->targets + done * c->size, *weights = c->weights + done * frames;
    for (size_t i = 0; i < c->size; i++) target[i] = (float)c->sum[i];
    for (size_t k = 0; k < frames; k++) weights[k] = (float)(v[k] / largest);
    for (size_t k = 0; k < frames; k++) {
        float weight = weights[k], *row = c->rest + k * c->size;
        for (size_t i = 0; i < c->size; i++) row[i] -= weight * target[i];
    }
    c->target_count++;
    return true;
}

/* The error of the file itself: weights and targets as they are rounded, summed in doubles. */
static double true_error(compressor *c) {
    double most = 0;
    size_t frames = (size_t)c->count;
    for (size_t k = 0; k < frames; k++) {
        for (size_t i = 0; i < c->size; i++)
            c->sum[i] = (double)(float)c->mesh->positions[i] - (double)c->frames[k * c->size + i];
        for (int j = 0; j < c->target_count; j++) {
            double weight = (double)c->weights[(size_t)j * frames + k];
            const float *target = c->targets + (size_t)j * c->size;
            if (weight == 0) continue;
            for (size_t i = 0; i < c->size; i++) c->sum[i] += weight * (double)target[i];
        }
        for (size_t i = 0; i < c->size; i += 3) {
            double square = c->sum[i] * c->sum[i] + c->sum[i + 1] * c->sum[i + 1] +
                            c->sum[i + 2] * c->sum[i + 2];
            if (square > most) most = square;
        }
    }
    return sqrt(most);
}

static sinew_status compress(compressor *c, double tolerance, sinew_error *error) {
    size_t total = (size_t)c->count * c->size;
    c->rest = SN_NEW(float, total);
    if (!c->rest) return sn_no_memory(error);
    for (size_t k = 0; k < (size_t)c->count; k++)
        for (size_t i = 0; i < c->size; i++)
            c->rest[k * c->size + i] = c->frames[k * c->size + i] - (float)c->mesh->positions[i];
    SN_TRY(find_basis(c, error));
    for (int j = 0; j < c->count; j++) {
        /* one target at least, so that frames that stand still keep their number */
        if (j > 0 && largest_rest(c->rest, total) <= tolerance && true_error(c) <= tolerance) break;
        if (!add_target(c, j)) return sn_no_memory(error);
    }
    return SINEW_OK;
}

/* Targets in whole steps, as large as the error of the file allows; *step receives them. */
static sinew_status quantize(compressor *c, double tolerance, double *step, sinew_error *error) {
    size_t total = (size_t)c->target_count * c->size;
    float *exact = sn_memdup(c->targets, total, sizeof(float));
    if (!exact) return sn_no_memory(error);
    *step = sn_gltf_step(tolerance);
    do {
        *step /= 2;
        float unit = (float)*step;
        for (size_t i = 0; i < total; i++) c->targets[i] = unit * rintf(exact[i] / unit);
    } while (true_error(c) > tolerance && *step > tolerance / 4096);
    sn_free(exact);
    return SINEW_OK;
}

static sinew_status build_rig(const compressor *c, sinew_rig **rig, sinew_error *error) {
    sinew_mesh *neutral;
    SN_TRY(sinew_mesh_copy(c->mesh, &neutral, error));
    SN_TRY(sinew_rig_create(neutral, rig, error));
    size_t vertices = c->size / 3;
    int *moved = SN_NEW(int, vertices);
    double *deltas = SN_NEW(double, c->size);
    sinew_status status = moved && deltas ? SINEW_OK : sn_no_memory(error);
    for (int j = 0; status == SINEW_OK && j < c->target_count; j++) {
        const float *target = c->targets + (size_t)j * c->size;
        int count = 0;
        for (size_t v = 0; v < vertices; v++) {
            const float *d = target + 3 * v;
            if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
            moved[count] = (int)v;
            for (size_t k = 0; k < 3; k++) deltas[3 * (size_t)count + k] = (double)d[k];
            count++;
        }
        char name[32];
        snprintf(name, sizeof name, "motion_%03d", j);
        status = sinew_rig_add_target(*rig, name, count, moved, deltas, error);
        if (status == SINEW_OK) status = sinew_rig_set_limits(*rig, j, -1, 1, error);
    }
    sn_free(moved);
    sn_free(deltas);
    if (status != SINEW_OK) {
        sinew_rig_destroy(*rig);
        *rig = NULL;
    }
    return status;
}

static sinew_status add_animation(sn_gltf_file *file, const sinew_frame_writer *writer,
                                  const compressor *c, json_t *root, sinew_error *error) {
    size_t frames = (size_t)c->count, targets = (size_t)c->target_count;
    float *times = SN_NEW(float, frames), *rows = SN_NEW(float, frames *targets);
    if (!times || !rows) {
        sn_free(times);
        sn_free(rows);
        return sn_no_memory(error);
    }
    for (size_t k = 0; k < frames; k++) {
        times[k] = (float)(writer->start + (double)k / writer->rate);
        for (size_t j = 0; j < targets; j++) rows[k * targets + j] = c->weights[j * frames + k];
    }
    sinew_status status = sn_gltf_add_animation(file, "frames", c->count, times, c->target_count,
                                                rows, NULL, root, error);
    sn_free(times);
    sn_free(rows);
    return status;
}

static sinew_status close_frames(sinew_frame_writer *writer, sinew_error *error) {
    compressor *c = writer->state;
    if (writer->start < 0)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: glTF does not support times before 0",
                       writer->path);
    bool compact = writer->compact && writer->tolerance > 0;
    double step = 0;
    if (c->count > 0) SN_TRY(compress(c, (compact ? TRUNCATED : 1) * writer->tolerance, error));
    if (compact && c->count > 0) SN_TRY(quantize(c, writer->tolerance, &step, error));
    sinew_rig *rig;
    SN_TRY(build_rig(c, &rig, error));
    sn_gltf_file file;
    sn_gltf_file_open(&file);
    file.step = step;
    file.no_target_normals = writer->compact && !writer->normals;
    json_t *root = json_object();
    sn_buffer out = {0};
    sinew_status status = sn_gltf_add_rig(&file, rig, root, error);
    if (status == SINEW_OK && c->count > 0) status = add_animation(&file, writer, c, root, error);
    if (status == SINEW_OK) status = sn_gltf_finish(&file, root, &out, error);
    if (status == SINEW_OK) fwrite(out.bytes, 1, out.size, writer->output.stream);
    sn_buffer_free(&out);
    json_decref(root);
    sn_gltf_file_free(&file);
    sinew_rig_destroy(rig);
    return sn_source_blame(&(sn_source){.name = writer->path}, status, error);
}

const sn_frame_sink sn_gltf_frame_sink = {
    .has_mesh = true,
    .open = open_frames,
    .add = add_frame,
    .close = close_frames,
    .release = release,
};
