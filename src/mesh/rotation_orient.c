#include "mesh/rotation_orient.h"

int sn_rotation_component(const sn_rotation_strain *structure, int item) {
    int half = item - structure->element_count;
    return structure
        ->vertex_component[half >= 0 ? structure->links[half / 2].vertex
                                     : structure->elements[(size_t)structure->corners * item]];
}

void sn_rotation_orient(const sn_rotation_strain *structure, int item, sn_mat3 wanted,
                        double weight, const double *turns, double *coordinates) {
    double *c = coordinates + (size_t)SN_RS_SIZE * item;
    sn_mat3 whole = sn_rotation_exp(sn_at(turns, sn_rotation_component(structure, item)));
    sn_mat3 own = sn_mat3_multiply(sn_rotation_exp(sn_at(c + SN_RS_W, 0)),
                                   sn_rotation_exp(sn_at(c + SN_RS_Q, 0)));
    sn_mat3 goal = sn_mat3_multiply(sn_mat3_transpose(whole), wanted);
    sn_vec3 left = sn_rotation_log(sn_mat3_multiply(goal, sn_mat3_transpose(own)));
    sn_mat3 turned = sn_mat3_multiply(sn_rotation_exp(sn_scale(weight, left)), own);
    sn_put(c + SN_RS_W, 0, sn_rotation_log(turned));
    sn_put(c + SN_RS_Q, 0, sn_v3(0, 0, 0));
}
