#include "io/tets.h"

#include "base/memory.h"
#include "base/vec3.h"

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
