/* glTF 2.0, binary (.glb, read and written) and text (.gltf, read). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sized.h"
#include "base/sort.h"
#include "base/vec3.h"
#include "io/contents.h"
#include "io/gltf_frames.h"
#include "io/gltf_keep.h"
#include "io/gltf_pack.h"
#include "io/gltf_read.h"

static float *to_floats(const double *values, size_t count) {
    float *floats = SN_NEW(float, count);
    for (size_t i = 0; floats && i < count; i++) floats[i] = (float)values[i];
    return floats;
}

/* Programs play the targets' weights; the sliders' are in the extras, for us to read back. */
static json_t *slider_extras(sn_gltf_file *file, const sinew_rig *rig, int rows,
                             const float *weights) {
    json_t *names = json_array();
    for (int i = 0; i < rig->slider_count; i++)
        file->failed |= json_array_append_new(names, json_string(rig->sliders[i].name)) != 0;
    int accessor =
        sn_gltf_add_floats(file, weights, rows * rig->slider_count, 1, SN_GLTF_PLAIN, false);
    json_t *extras = json_pack("{s:{s:o, s:i}}", "sinew", "sliders", names, "weights", accessor);
    file->failed |= !extras;
    return extras;
}

static sinew_status add_clip(sn_gltf_file *file, const sinew_rig *rig, const sn_keyed_clip *clip,
                             json_t *root, sinew_error *error) {
    size_t keys = (size_t)clip->time_count;
    float *times = to_floats(clip->times, keys);
    float *rows = to_floats(clip->activations, keys * (size_t)rig->target_count);
    float *weights = to_floats(clip->weights, keys * (size_t)rig->slider_count);
    sinew_status status = times && rows && weights ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status =
            sn_gltf_add_animation(file, "clip", clip->time_count, times, rig->target_count, rows,
                                  slider_extras(file, rig, clip->time_count, weights), root, error);
    sn_free(times);
    sn_free(rows);
    sn_free(weights);
    return status;
}

static sinew_status build(const sinew_rig *rig, const sn_keyed_clip *clip, double step,
                          bool normals, sn_buffer *out, sinew_error *error) {
    sn_gltf_file file;
    sn_gltf_file_open(&file);
    file.step = step;
    file.no_target_normals = !normals;
    json_t *root = json_object();
    sinew_status status = sn_gltf_add_rig(&file, rig, root, error);
    if (status == SINEW_OK && clip) status = add_clip(&file, rig, clip, root, error);
    if (status == SINEW_OK) status = sn_gltf_finish(&file, root, out, error);
    json_decref(root);
    sn_gltf_file_free(&file);
    return status;
}

static sinew_status write_rig(const sinew_rig *rig, const sn_keyed_clip *clip, sn_buffer *out,
                              sinew_error *error) {
    return build(rig, clip, 0, true, out, error);
}

/* --- compact files ---------------------------------------------------------------------------- */

enum { BUSIEST_KEYS = 256, MOST_HALVINGS = 12 };

/* What checks the poses of a clip: the errors of all targets in turn, and how much each key adds up
 * of them. */
typedef struct rounding {
    const sinew_rig *rig;
    const sn_keyed_clip *clip;
    double *loads; /* sum of the activations of each key */
    double least;  /* load of the keys that are checked: those where most errors add up */
    float *errors; /* of the targets' displacements, 3 per moved vertex */
    double *posed; /* of a pose, 3 per vertex */
} rounding;

static sinew_status open_rounding(rounding *r, sinew_error *error) {
    size_t numbers = 0, keys = (size_t)r->clip->time_count, targets = (size_t)r->rig->target_count;
    for (size_t t = 0; t < targets; t++) numbers += 3 * (size_t)r->rig->targets[t].count;
    double *sorted = SN_NEW(double, keys);
    r->loads = SN_NEW0(double, keys);
    r->errors = SN_NEW(float, numbers);
    r->posed = SN_NEW(double, 3 * (size_t)r->rig->neutral->vertex_count);
    bool good = sorted && r->loads && r->errors && r->posed;
    for (size_t k = 0; good && k < keys; k++) {
        for (size_t t = 0; t < targets; t++)
            r->loads[k] += fabs(r->clip->activations[k * targets + t]);
        sorted[k] = r->loads[k];
    }
    if (good) sn_sort_doubles(keys, sorted);
    r->least = good && keys > BUSIEST_KEYS ? sorted[keys - BUSIEST_KEYS] : 0;
    sn_free(sorted);
    return good ? SINEW_OK : sn_no_memory(error);
}

static void close_rounding(rounding *r) {
    sn_free(r->loads), sn_free(r->errors), sn_free(r->posed);
}

/* Whether a key's pose is within the tolerance when all displacements have their errors. */
static bool pose_is_within(const rounding *r, int key, double tolerance) {
    const float *errors = r->errors;
    size_t vertices = (size_t)r->rig->neutral->vertex_count;
    memset(r->posed, 0, 3 * vertices * sizeof *r->posed);
    for (int t = 0; t < r->rig->target_count; t++) {
        const sinew_target *target = &r->rig->targets[t];
        double a = r->clip->activations[(size_t)key * (size_t)r->rig->target_count + (size_t)t];
        for (int i = 0; a != 0 && i < target->count; i++)
            for (size_t c = 0; c < 3; c++)
                r->posed[3 * (size_t)target->vertices[i] + c] +=
                    a * (double)errors[3 * (size_t)i + c];
        errors += 3 * (size_t)target->count;
    }
    for (size_t v = 0; v < vertices; v++)
        if (!(sn_length(sn_at(r->posed, (int)v)) <= tolerance)) return false;
    return true;
}

static bool clip_is_within(const rounding *r, double step, double tolerance) {
    float *errors = r->errors;
    for (int t = 0; t < r->rig->target_count; t++)
        for (size_t i = 0; i < 3 * (size_t)r->rig->targets[t].count; i++) {
            double delta = r->rig->targets[t].deltas[i];
            *errors++ = (float)(rint(delta / step) * step - delta);
        }
    for (int k = 0; k < r->clip->time_count; k++)
        if (r->loads[k] >= r->least && !pose_is_within(r, k, tolerance)) return false;
    return true;
}

/* The largest step that keeps targets within the tolerance, and the poses of the clip, in which the
 * errors of many targets add up. */
static sinew_status choose_step(const sinew_rig *rig, const sn_keyed_clip *clip, double tolerance,
                                double *step, sinew_error *error) {
    *step = sn_gltf_step(tolerance); /* a coordinate is off by half a step, a vertex by 0.87 */
    if (!clip) return SINEW_OK;
    rounding r = {.rig = rig, .clip = clip};
    sinew_status status = open_rounding(&r, error);
    for (int i = 0; status == SINEW_OK && i < MOST_HALVINGS; i++) {
        if (clip_is_within(&r, *step, tolerance)) break;
        *step /= 2;
    }
    close_rounding(&r);
    return status;
}

void sinew_compact_options_init(sinew_compact_options *options) {
    if (options)
        *options = (sinew_compact_options){sizeof *options, SINEW_COMPACT_TOLERANCE, false};
}

sinew_status sinew_rig_write_compact(const char *path, const sinew_rig *rig,
                                     const sinew_curves *curves,
                                     const sinew_compact_options *options, sinew_error *error) {
    SN_REQUIRE(path && rig, error);
    SN_OPTIONS(sinew_compact_options, chosen, options, error);
    SN_REQUIRE(chosen.tolerance > 0 && isfinite(chosen.tolerance), error);
    if (!sn_format_has_ending(&sn_format_glb, path))
        return sn_fail(error, SINEW_BAD_INPUT, "%s: only .glb files can be compact", path);
    double diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    sn_keyed_clip clip = {0};
    sn_buffer out = {0};
    if (curves)
        SN_TRY(sn_source_blame(&(sn_source){.name = path},
                               sn_keyed_clip_create(rig, curves, &clip, error), error));
    double step, tolerance = chosen.tolerance * (diagonal > 0 ? diagonal : 1);
    sinew_status status = choose_step(rig, curves ? &clip : NULL, tolerance, &step, error);
    if (status == SINEW_OK)
        status = build(rig, curves ? &clip : NULL, step, chosen.normals, &out, error);
    sn_keyed_clip_free(&clip);
    return sn_format_finish(path, status, &out, error);
}

static sinew_status write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error) {
    const sinew_rig rig = {.neutral = (sinew_mesh *)mesh};
    return write_rig(&rig, NULL, out, error);
}

const sn_format sn_format_glb = {
    .name = "GLB",
    .endings = "glb",
    .holds = SN_HOLDS_POLYGONS | SN_HOLDS_UVS | SN_HOLDS_NORMALS | SN_HOLDS_PARTS,
    .read_mesh = sn_gltf_read_mesh,
    .write_mesh = write_mesh,
    .read_rig = sn_gltf_read_rig,
    .write_rig = write_rig,
    .write_into = sn_gltf_write_into,
    .read_curves = sn_gltf_read_curves,
    .read_frames = sn_gltf_read_frames,
    .read_pose = sn_gltf_read_pose,
    .read_clip = sn_gltf_read_clip,
    .read_contents = sn_gltf_read_contents,
    .write_frames = &sn_gltf_frame_sink,
};

const sn_format sn_format_gltf = {
    .name = "glTF",
    .endings = "gltf",
    .read_mesh = sn_gltf_read_mesh,
    .read_rig = sn_gltf_read_rig,
    .read_curves = sn_gltf_read_curves,
    .read_frames = sn_gltf_read_frames,
    .read_pose = sn_gltf_read_pose,
    .read_clip = sn_gltf_read_clip,
    .read_contents = sn_gltf_read_contents,
};

/* Avatars are GLB files; new ones would need more than a rig contains. */
const sn_format sn_format_vrm = {
    .name = "VRM",
    .endings = "vrm",
    .read_mesh = sn_gltf_read_mesh,
    .read_rig = sn_gltf_read_rig,
    .write_into = sn_gltf_write_into,
    .read_curves = sn_gltf_read_curves,
    .read_frames = sn_gltf_read_frames,
    .read_pose = sn_gltf_read_pose,
    .read_clip = sn_gltf_read_clip,
    .read_contents = sn_gltf_read_contents,
};
