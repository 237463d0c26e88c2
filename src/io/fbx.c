/* FBX, the exchange format of Maya, 3ds Max, MotionBuilder, Unreal and Unity. */
#include "io/contents.h"
#include "io/fbx_keep.h"
#include "io/fbx_read.h"
#include "io/fbx_write.h"

const sn_format sn_format_fbx = {
    .name = "FBX",
    .endings = "fbx",
    .holds =
        SN_HOLDS_POLYGONS | SN_HOLDS_UVS | SN_HOLDS_NORMALS | SN_HOLDS_PARTS | SN_HOLDS_DOUBLES,
    .read_mesh = sn_fbx_read_mesh,
    .read_shown = sn_fbx_read_shown,
    .mesh_is_posed = true,
    .write_mesh = sn_fbx_write_mesh,
    .read_rig = sn_fbx_read_rig,
    .write_rig = sn_fbx_write_rig,
    .write_into = sn_fbx_write_into,
    .read_curves = sn_fbx_read_curves,
    .read_frames = sn_fbx_read_frames,
    .read_pose = sn_fbx_read_pose,
    .read_clip = sn_fbx_read_clip,
    .read_contents = sn_fbx_read_contents,
};
