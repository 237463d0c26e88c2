#include "contact/left_out.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"

enum { MOST_NAMES = 3 };

static bool are_all(const bool *inside, const int v[3]) {
    return !inside || (inside[v[0]] && inside[v[1]] && inside[v[2]]);
}

sinew_status sn_contact_log_left_out(const sinew_mesh *mesh, const bool *inside,
                                     const sn_contact_surface *surface, int dropped,
                                     const sinew_monitor *monitor, sinew_error *error) {
    int *left = SN_NEW0(int, mesh->part_count + 1);
    if (!left) return sn_no_memory(error);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (!are_all(inside, v)) continue;
        bool out = surface->place[v[0]] < 0 || surface->place[v[1]] < 0 || surface->place[v[2]] < 0;
        int part = mesh->face_part ? mesh->face_part[mesh->triangle_face[t]] : 0;
        if (out && part >= 0 && part < mesh->part_count) left[part]++;
    }
    char names[200] = "";
    for (int k = 0; k < MOST_NAMES; k++) {
        int most = -1;
        for (int p = 0; p < mesh->part_count; p++)
            if (left[p] > 0 && (most < 0 || left[p] > left[most])) most = p;
        if (most < 0) break;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%.40s", k ? ", " : ", most in ",
                 mesh->part_names[most]);
        left[most] = 0;
    }
    sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
           "contact leaves out %d of %d triangles where the neutral intersects itself%s", dropped,
           dropped + surface->triangle_count, names);
    sn_free(left);
    return SINEW_OK;
}
