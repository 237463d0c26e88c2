/* glTF 2.0, binary (.glb, read and written) and text (.gltf, read). */
#include "io/gltf_frames.h"
#include "io/gltf_read.h"
#include "io/gltf_write.h"

static sinew_status write_rig(const sinew_rig *rig, sn_buffer *out, sinew_error *error) {
    sn_gltf_file file;
    sn_gltf_file_open(&file);
    json_t *root = json_object();
    sinew_status status = sn_gltf_add_rig(&file, rig, root, error);
    if (status == SINEW_OK) status = sn_gltf_finish(&file, root, out, error);
    json_decref(root);
    sn_gltf_file_free(&file);
    return status;
}

static sinew_status write_mesh(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error) {
    const sinew_rig rig = {.neutral = (sinew_mesh *)mesh};
    return write_rig(&rig, out, error);
}

const sn_format sn_format_glb = {
    .name = "GLB",
    .endings = "glb",
    .holds = SN_HOLDS_POLYGONS | SN_HOLDS_UVS | SN_HOLDS_NORMALS | SN_HOLDS_PARTS,
    .read_mesh = sn_gltf_read_mesh,
    .write_mesh = write_mesh,
    .read_rig = sn_gltf_read_rig,
    .write_rig = write_rig,
    .read_curves = sn_gltf_read_curves,
    .read_frames = sn_gltf_read_frames,
    .write_frames = &sn_gltf_frame_sink,
};

const sn_format sn_format_gltf = {
    .name = "glTF",
    .endings = "gltf",
    .read_mesh = sn_gltf_read_mesh,
    .read_rig = sn_gltf_read_rig,
    .read_curves = sn_gltf_read_curves,
    .read_frames = sn_gltf_read_frames,
};
