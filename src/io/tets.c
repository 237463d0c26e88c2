#include "io/tets.h"

#include "base/memory.h"
#include "base/vec3.h"
#include "mesh/embedding.h"

sinew_status sn_tets_build(int vertex_count, double *positions, int tet_count, int *tets,
                           sinew_tets **result, sinew_error *error) {
    sinew_tets *made = SN_NEW0(sinew_tets, 1);
    /* Empty lists may be NULL in the reader, not in the result. */
    if (!positions) positions = SN_NEW(double, 1);
    if (!tets) tets = SN_NEW(int, 1);
    if (!made || !positions || !tets) {
        sn_free(made);
        sn_free(positions);
        sn_free(tets);
        return sn_no_memory(error);
    }
    for (int t = 0; t < tet_count; t++) {
        int *v = tets + 4 * (size_t)t;
        sn_vec3 a = sn_at(positions, v[0]);
        sn_vec3 ab = sn_sub(sn_at(positions, v[1]), a), ac = sn_sub(sn_at(positions, v[2]), a),
                ad = sn_sub(sn_at(positions, v[3]), a);
        if (sn_dot(sn_cross(ab, ac), ad) < 0) {
            int kept = v[2];
            v[2] = v[3];
            v[3] = kept;
        }
    }
    made->vertex_count = vertex_count;
    made->positions = positions;
    made->tet_count = tet_count;
    made->tets = tets;
    *result = made;
    return SINEW_OK;
}

sinew_status sn_tets_surface(const sinew_tets *tets, sinew_mesh **mesh, sinew_error *error) {
    int *triangles = NULL, *owner = NULL, count = 0;
    sinew_status status = sn_tets_outer_sides(tets, &triangles, &owner, &count, error);
    for (int t = 0; status == SINEW_OK && t < count; t++) {
        int *v = triangles + 3 * (size_t)t;
        const int *corners = tets->tets + 4 * (size_t)owner[t];
        int inner = corners[0];
        for (int k = 1; k < 4; k++)
            if (inner == v[0] || inner == v[1] || inner == v[2]) inner = corners[k];
        sn_vec3 a = sn_at(tets->positions, v[0]);
        sn_vec3 ab = sn_sub(sn_at(tets->positions, v[1]), a),
                ac = sn_sub(sn_at(tets->positions, v[2]), a);
        if (sn_dot(sn_cross(ab, ac), sn_sub(sn_at(tets->positions, inner), a)) > 0) {
            int kept = v[1];
            v[1] = v[2], v[2] = kept;
        }
    }
    if (status == SINEW_OK)
        status = sinew_mesh_create(tets->vertex_count, tets->positions, count, NULL, triangles,
                                   mesh, error);
    sn_free(triangles), sn_free(owner);
    return status;
}
