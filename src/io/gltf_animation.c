/* Weight animations of glTF as curves and as frames.
 *
 * Curves are linear between keys. STEP keys are held to just before the next one; CUBICSPLINE
 * segments are sampled CUBIC_SAMPLES times. Channels on several nodes are brought to the union of
 * their times. Our own files keep the sliders' weights beside those of the targets (glb.c). */
#include <float.h>
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "base/sort.h"
#include "io/frames.h"
#include "io/gltf_keep.h"
#include "io/gltf_read.h"
#include "io/gltf_scene.h"
#include "io/names.h"

enum { CUBIC_SAMPLES = 8 };
static const double step_gap = 1e-6; /* of the time to the next key */

/* Weights of one mesh over time. */
typedef struct track {
    int target_count, time_count;
    double *times, *values; /* time_count rows of target_count */
    int *channel_of;        /* of the merged curves; -1: another track has it already */
} track;

typedef struct animation_reader {
    sn_gltf gltf;
    track *tracks;
    size_t track_count, track_capacity;
    sn_names names;
    bool sliders; /* read the sliders' weights where the file has them */
} animation_reader;

static void free_track(track *t) {
    sn_free(t->times);
    sn_free(t->values);
    sn_free(t->channel_of);
}

static void release(animation_reader *r) {
    for (size_t i = 0; i < r->track_count; i++) free_track(&r->tracks[i]);
    sn_free(r->tracks);
    sn_names_release(&r->names);
    sn_gltf_close(&r->gltf);
}

static const json_t *channel_mesh(const sn_gltf *g, const json_t *channel) {
    const json_t *target = json_object_get(channel, "target");
    const char *path = sn_json_string(target, "path");
    if (!path || strcmp(path, "weights") != 0) return NULL;
    const json_t *node = sn_gltf_item(g, "nodes", json_object_get(target, "node"));
    return sn_gltf_item(g, "meshes", json_object_get(node, "mesh"));
}

static int target_count(const json_t *mesh) {
    const json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    return (int)json_array_size(json_object_get(primitive, "targets"));
}

/* Raw keys to rows that are right when joined by straight lines. */
static double *add_row(track *t, size_t *time_capacity, size_t *value_capacity, double time) {
    size_t width = (size_t)t->target_count, end = ((size_t)t->time_count + 1) * width;
    if (!SN_RESERVE(t->times, *time_capacity, t->time_count + 1) ||
        !SN_RESERVE(t->values, *value_capacity, end))
        return NULL;
    t->times[t->time_count++] = time;
    return t->values + end - width;
}

/* Cubic Hermite between keys a and b: in-tangent, value, out-tangent per key. */
static void hermite(const double *a, const double *b, size_t width, double u, double length,
                    double *row) {
    double u2 = u * u, u3 = u2 * u;
    for (size_t i = 0; i < width; i++)
        row[i] = (2 * u3 - 3 * u2 + 1) * a[width + i] +
                 (u3 - 2 * u2 + u) * length * a[2 * width + i] + (3 * u2 - 2 * u3) * b[width + i] +
                 (u3 - u2) * length * b[i];
}

static sinew_status straighten(const sn_gltf *g, const char *interpolation, int key_count,
                               const double *keys, const double *values, track *t) {
    bool step = interpolation && strcmp(interpolation, "STEP") == 0;
    bool cubic = interpolation && strcmp(interpolation, "CUBICSPLINE") == 0;
    size_t width = (size_t)t->target_count, time_capacity = 0, value_capacity = 0;
    size_t stride = cubic ? 3 * width : width, offset = cubic ? width : 0;
    for (int k = 0; k < key_count; k++) {
        const double *key = values + (size_t)k * stride;
        double *row = add_row(t, &time_capacity, &value_capacity, keys[k]);
        if (!row) return sn_no_memory(g->error);
        memcpy(row, key + offset, width * sizeof(double));
        if (k + 1 == key_count) break;
        double length = keys[k + 1] - keys[k];
        for (int s = 1; cubic && s < CUBIC_SAMPLES; s++) {
            double u = (double)s / CUBIC_SAMPLES, time = keys[k] + u * length;
            if (!(time > t->times[t->time_count - 1]) || !(time < keys[k + 1])) continue;
            row = add_row(t, &time_capacity, &value_capacity, time);
            if (!row) return sn_no_memory(g->error);
            hermite(key, key + stride, width, u, length, row);
        }
        double held = keys[k + 1] - step_gap * length;
        if (step && held > keys[k] && held < keys[k + 1]) {
            row = add_row(t, &time_capacity, &value_capacity, held);
            if (!row) return sn_no_memory(g->error);
            memcpy(row, key, width * sizeof(double));
        }
    }
    for (size_t i = 0; i < (size_t)t->time_count * width; i++)
        if (!isfinite(t->values[i])) return sn_gltf_fail(g, "an animation is not finite");
    return SINEW_OK;
}

/* `weights`: the accessor of the values. */
static sinew_status read_keys(sn_gltf *g, const json_t *sampler, const json_t *weights, track *t,
                              double **keys, double **values, int *key_count) {
    const char *interpolation = sn_json_string(sampler, "interpolation");
    bool cubic = interpolation && strcmp(interpolation, "CUBICSPLINE") == 0;
    sn_gltf_accessor input, output;
    SN_TRY(sn_gltf_accessor_open(g, json_object_get(sampler, "input"), "animation times", 1, -1,
                                 &input));
    int64_t expected = (int64_t)input.count * t->target_count * (cubic ? 3 : 1);
    if (expected > INT_MAX) return sn_gltf_fail(g, "an animation is too long");
    SN_TRY(sn_gltf_accessor_open(g, weights, "animation weights", 1, -1, &output));
    if (output.count != expected)
        return sn_gltf_fail(g, "an animation has %d weights, %lld are needed", output.count,
                            (long long)expected);
    *keys = SN_NEW(double, input.count);
    *values = SN_NEW(double, output.count);
    if (!*keys || !*values) return sn_no_memory(g->error);
    SN_TRY(sn_gltf_read_times(g, &input, *keys));
    SN_TRY(sn_gltf_accessor_read(g, &output, "animation weights", *values));
    *key_count = input.count;
    return SINEW_OK;
}

static sinew_status add_channel(animation_reader *r, track *t, int channel, const char *name) {
    bool known = sn_names_find(&r->names, name, strlen(name)) >= 0;
    t->channel_of[channel] = known ? -1 : sn_names_add(&r->names, name, strlen(name));
    return !known && t->channel_of[channel] < 0 ? sn_no_memory(r->gltf.error) : SINEW_OK;
}

static sinew_status name_channels(animation_reader *r, const json_t *mesh, const json_t *sliders,
                                  track *t) {
    t->channel_of = SN_NEW(int, t->target_count);
    if (!t->channel_of) return sn_no_memory(r->gltf.error);
    for (int i = 0; i < t->target_count; i++) {
        char number[32];
        const char *name = sliders ? json_string_value(json_array_get(sliders, (size_t)i))
                                   : sn_gltf_target_name(&r->gltf, mesh, i, number);
        if (!name) return sn_gltf_fail(&r->gltf, "a slider of an animation has no name");
        SN_TRY(add_channel(r, t, i, name));
    }
    return SINEW_OK;
}

/* The weights of the mesh's targets, or of the sliders that `own` lists. */
static sinew_status read_track(animation_reader *r, const json_t *animation, const json_t *channel,
                               const json_t *mesh, const json_t *own) {
    if (!SN_RESERVE(r->tracks, r->track_capacity, r->track_count + 1))
        return sn_no_memory(r->gltf.error);
    track *t = &r->tracks[r->track_count++];
    const json_t *sliders = json_object_get(own, "sliders");
    *t = (track){.target_count = sliders ? (int)json_array_size(sliders) : target_count(mesh)};
    int64_t index;
    const json_t *samplers = json_object_get(animation, "samplers");
    if (!sn_json_integer(json_object_get(channel, "sampler"), 0,
                         (int64_t)json_array_size(samplers) - 1, &index))
        return sn_gltf_fail(&r->gltf, "an animation names a sampler that does not exist");
    const json_t *sampler = json_array_get(samplers, (size_t)index);
    const json_t *weights =
        sliders ? json_object_get(own, "weights") : json_object_get(sampler, "output");
    double *keys = NULL, *values = NULL;
    int key_count = 0;
    sinew_status status = read_keys(&r->gltf, sampler, weights, t, &keys, &values, &key_count);
    if (status == SINEW_OK)
        status = straighten(&r->gltf, sn_json_string(sampler, "interpolation"), key_count, keys,
                            values, t);
    sn_free(keys);
    sn_free(values);
    return status == SINEW_OK ? name_channels(r, mesh, sliders, t) : status;
}

/* --- merging ---------------------------------------------------------------------------------- */

static sinew_status merge_times(const animation_reader *r, double **times, int *count) {
    size_t total = 0;
    for (size_t i = 0; i < r->track_count; i++) total += (size_t)r->tracks[i].time_count;
    double *all = SN_NEW(double, total);
    if (!all) return sn_no_memory(r->gltf.error);
    size_t used = 0;
    for (size_t i = 0; i < r->track_count; i++) {
        const track *t = &r->tracks[i];
        memcpy(all + used, t->times, (size_t)t->time_count * sizeof(double));
        used += (size_t)t->time_count;
    }
    sn_sort_doubles(total, all);
    size_t kept = 0;
    for (size_t i = 0; i < total; i++)
        if (kept == 0 || all[i] > all[kept - 1]) all[kept++] = all[i];
    *times = all;
    *count = (int)kept;
    return SINEW_OK;
}

/* Writes the track's channels into the merged rows. Both lists of times increase: one walk. */
static void merge_track(const track *t, sinew_curves *curves) {
    size_t width = (size_t)t->target_count, channels = (size_t)curves->channel_count;
    int key = 0;
    for (int k = 0; k < curves->time_count; k++) {
        double time = curves->times[k];
        while (key + 1 < t->time_count && t->times[key + 1] <= time) key++;
        int next = key + 1 < t->time_count && time > t->times[key] ? key + 1 : key;
        double span = t->times[next] - t->times[key];
        double u = span > 0 ? (time - t->times[key]) / span : 0;
        const double *a = t->values + (size_t)key * width, *b = t->values + (size_t)next * width;
        double *row = curves->values + (size_t)k * channels;
        for (size_t i = 0; i < width; i++)
            if (t->channel_of[i] >= 0)
                row[t->channel_of[i]] = u == 0 ? a[i] : (1 - u) * a[i] + u * b[i];
    }
}

static sinew_status build_curves(const animation_reader *r, sinew_curves **curves,
                                 sinew_error *error) {
    double *times = NULL;
    int count = 0;
    SN_TRY(merge_times(r, &times, &count));
    sinew_status status = sinew_curves_create(r->names.count, count, curves, error);
    if (status == SINEW_OK) {
        memcpy((*curves)->times, times, (size_t)count * sizeof(double));
        for (size_t i = 0; i < r->track_count; i++) merge_track(&r->tracks[i], *curves);
        for (int i = 0; status == SINEW_OK && i < r->names.count; i++)
            status = sinew_curves_set_name(*curves, i, r->names.names[i], error);
        if (status != SINEW_OK) {
            sinew_curves_destroy(*curves);
            *curves = NULL;
        }
    }
    sn_free(times);
    return status;
}

static sinew_status read_animation(animation_reader *r, const json_t *animation) {
    const json_t *channels = json_object_get(animation, "channels");
    const json_t *own = json_object_get(json_object_get(animation, "extras"), "sinew");
    if (!r->sliders || json_array_size(json_object_get(own, "sliders")) == 0) own = NULL;
    for (size_t c = 0; c < json_array_size(channels); c++) {
        const json_t *channel = json_array_get(channels, c);
        const json_t *mesh = channel_mesh(&r->gltf, channel);
        if (!mesh || target_count(mesh) == 0) continue;
        SN_TRY(read_track(r, animation, channel, mesh, own));
        if (own) break; /* the sliders of all */
    }
    return SINEW_OK;
}

/* The first animation that moves weights. */
static sinew_status read_tracks(animation_reader *r) {
    const json_t *animations = json_object_get(r->gltf.root, "animations");
    for (size_t a = 0; r->track_count == 0 && a < json_array_size(animations); a++)
        SN_TRY(read_animation(r, json_array_get(animations, a)));
    if (r->track_count == 0) return sn_gltf_fail(&r->gltf, "has no animation of weights");
    return SINEW_OK;
}

static sinew_status read_curves(const sn_source *source, bool sliders, sinew_curves **curves,
                                sinew_error *error) {
    animation_reader r = {.sliders = sliders};
    sinew_status status = sn_gltf_open(&r.gltf, source, error);
    if (status == SINEW_OK) status = read_tracks(&r);
    if (status == SINEW_OK) status = build_curves(&r, curves, error);
    release(&r);
    return status;
}

sinew_status sn_gltf_animation_curves(sn_gltf *gltf, int index, sinew_curves **curves) {
    animation_reader r = {.gltf = *gltf, .sliders = true};
    *curves = NULL;
    const json_t *animations = json_object_get(gltf->root, "animations");
    sinew_status status = read_animation(&r, json_array_get(animations, (size_t)index));
    if (status == SINEW_OK && r.track_count > 0) status = build_curves(&r, curves, gltf->error);
    r.gltf = (sn_gltf){0}; /* views that it resolved are in the arrays that both share */
    release(&r);
    return status;
}

sinew_status sn_gltf_read_curves(const sn_source *source, sinew_curves **curves,
                                 sinew_error *error) {
    return read_curves(source, true, curves, error);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Keys at even steps are the frames themselves; others are sampled at the default rate. */
static double even_rate(const sinew_curves *curves) {
    int n = curves->time_count;
    if (n < 2) return SINEW_FRAMES_DEFAULT_RATE;
    double step = (curves->times[n - 1] - curves->times[0]) / (n - 1);
    for (int k = 1; k < n; k++)
        if (fabs(curves->times[k] - curves->times[0] - k * step) > 1e-3 * step) return 0;
    return sn_frames_rate(n, curves->times[n - 1] - curves->times[0]);
}

/* f0 + sum of weights times displacements: weights are of targets here, not of sliders. */
static void play(const sinew_rig *rig, const sinew_curves *curves, const double *weights,
                 const int *target_of, double *positions, float *frame) {
    size_t size = 3 * (size_t)rig->neutral->vertex_count;
    memcpy(positions, rig->neutral->positions, size * sizeof(double));
    for (int c = 0; c < curves->channel_count; c++) {
        if (target_of[c] < 0 || weights[c] == 0) continue;
        const sinew_target *target = &rig->targets[target_of[c]];
        for (int i = 0; i < target->count; i++)
            for (size_t k = 0; k < 3; k++)
                positions[3 * (size_t)target->vertices[i] + k] +=
                    weights[c] * target->deltas[3 * (size_t)i + k];
    }
    for (size_t i = 0; i < size; i++) frame[i] = (float)positions[i];
}

static sinew_status bake(const sn_source *source, const sinew_rig *rig, const sinew_curves *curves,
                         sinew_frames **frames, sinew_error *error) {
    double rate = even_rate(curves);
    double start = curves->times[0], length = curves->times[curves->time_count - 1] - start;
    double count = rate > 0 ? curves->time_count : ceil(length * SINEW_FRAMES_DEFAULT_RATE) + 1;
    size_t size = 3 * (size_t)rig->neutral->vertex_count;
    if (count * (double)size > (double)INT_MAX || rate > 1e6)
        return sn_source_fail(source, error, "its animation has too many frames");
    SN_TRY(sn_frames_create(rig->neutral->vertex_count, (int)count, start,
                            rate > 0 ? rate : SINEW_FRAMES_DEFAULT_RATE, frames, error));
    double *positions = SN_NEW(double, size), *weights = SN_NEW(double, curves->channel_count);
    int *target_of = SN_NEW(int, curves->channel_count);
    bool memory = positions && weights && target_of;
    for (int c = 0; memory && c < curves->channel_count; c++)
        target_of[c] = sinew_rig_find_target(rig, curves->names[c]);
    for (int k = 0; memory && k < (*frames)->frame_count; k++) {
        double time = rate > 0 ? curves->times[k] : start + k / SINEW_FRAMES_DEFAULT_RATE;
        sinew_curves_sample(curves, time, weights);
        play(rig, curves, weights, target_of, positions, (*frames)->positions + (size_t)k * size);
    }
    sn_free(positions);
    sn_free(weights);
    sn_free(target_of);
    if (memory) return SINEW_OK;
    sinew_frames_destroy(*frames);
    *frames = NULL;
    return sn_no_memory(error);
}

sinew_status sn_gltf_read_frames(const sn_source *source, sinew_frames **frames,
                                 sinew_error *error) {
    sinew_curves *curves; /* of the targets */
    SN_TRY(read_curves(source, false, &curves, error));
    sinew_rig *rig = NULL;
    sinew_status status = sn_gltf_read_rig(source, &rig, error);
    if (status == SINEW_OK) status = bake(source, rig, curves, frames, error);
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
    return status;
}
