/* glTF 2.0, binary (.glb, read and written) and text (.gltf, read). */
#include <math.h>

#include "base/memory.h"
#include "base/sized.h"
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
    /* A coordinate is off by half a step at most, a vertex by 0.87 steps. */
    double diagonal = sinew_diagonal(rig->neutral->vertex_count, rig->neutral->positions);
    double step = sn_gltf_step(chosen.tolerance * (diagonal > 0 ? diagonal : 1));
    sn_keyed_clip clip = {0};
    sn_buffer out = {0};
    if (curves)
        SN_TRY(sn_source_blame(&(sn_source){.name = path},
                               sn_keyed_clip_create(rig, curves, &clip, error), error));
    sinew_status status = build(rig, curves ? &clip : NULL, step, chosen.normals, &out, error);
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
