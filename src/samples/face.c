#include "samples/face.h"

#include "base/memory.h"
#include "samples/builders.h"

static const sn_face_shape face = {
    .name = "face",
    .width = 1,
    .height = 1,
    .depth = 1,
    .jaw_width = 1,
    .eye = {3.4, 0.2, 6.15},
    .eye_radius = 1.9,
    .nose_length = 1,
    .nose_width = 1,
    .mouth_width = 1,
    .lip_fullness = 1,
    .chin = 0,
};

sinew_status sn_sample_face(int vertices, sinew_rig **rig, sinew_error *error) {
    sn_cage cage;
    sn_cage_start(&cage, SN_FACE_CHANNELS);
    sn_face_skin(&face, &cage);
    sn_cage_mirror(&cage, NULL);
    sn_fine fine;
    sinew_status status = sn_cage_refine(&cage, sn_cage_cells(&cage, vertices), &fine, error);
    sn_cage_destroy(&cage);
    SN_TRY(status);
    double *positions = SN_NEW(double, 3 * (size_t)fine.vertex_count);
    for (int v = 0; v < fine.vertex_count; v++)
        for (int k = 0; k < 3; k++) positions[3 * v + k] = 0.01 * fine.values[v * SN_FACE_CHANNELS + k];
    sinew_mesh *mesh = NULL;
    status = sn_quad_mesh("face", fine.vertex_count, positions, fine.face_count, fine.quads, &mesh, error);
    sn_fine_destroy(&fine);
    SN_TRY(status);
    return sinew_rig_create(mesh, rig, error);
}
