#include "hidden.h"

#include <string.h>

#include "sinew/selection.h"

sinew_status cli_remove_faces(cli_call *call, sinew_mesh *mesh, const bool *removed,
                              const char *option) {
    int faces = 0, corners = 0;
    for (int f = 0; f < mesh->face_count; f++) {
        int first = mesh->face_start[f], last = mesh->face_start[f + 1];
        if (removed[f]) continue;
        mesh->face_start[faces] = corners;
        if (mesh->face_part) mesh->face_part[faces] = mesh->face_part[f];
        faces++;
        for (int k = first; k < last; k++, corners++) {
            mesh->face_vertices[corners] = mesh->face_vertices[k];
            if (mesh->corner_uv) mesh->corner_uv[corners] = mesh->corner_uv[k];
            if (mesh->corner_normal) mesh->corner_normal[corners] = mesh->corner_normal[k];
        }
    }
    mesh->face_start[faces] = corners;
    mesh->face_count = faces;
    if (faces == 0) return cli_usage(call, "%s leaves nothing to show", option);
    return sinew_mesh_triangulate(mesh, &call->error);
}

sinew_status cli_hide(cli_call *call, const sinew_rig *rig, int count,
                      const char *const *selections) {
    sinew_mesh *mesh = rig->neutral;
    if (count == 0) return SINEW_OK;
    bool *chosen = CLI_NEW(bool, mesh->vertex_count), *removed = CLI_NEW(bool, mesh->face_count);
    sinew_status status = chosen && removed ? SINEW_OK : cli_no_memory(&call->error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        int *vertices, found;
        status = cli_check_selection(call, selections[i]);
        if (status == SINEW_OK)
            status = sinew_select(rig, selections[i], NULL, sinew_file_loader(), call->monitor,
                                  &vertices, &found, &call->error);
        if (status != SINEW_OK) break;
        memset(chosen, 0, sizeof *chosen * (size_t)mesh->vertex_count);
        for (int k = 0; k < found; k++) chosen[vertices[k]] = true;
        sinew_free(vertices);
        for (int f = 0; f < mesh->face_count; f++) {
            bool inside = true;
            for (int k = mesh->face_start[f]; k < mesh->face_start[f + 1]; k++)
                inside = inside && chosen[mesh->face_vertices[k]];
            removed[f] = removed[f] || inside;
        }
    }
    if (status == SINEW_OK) status = cli_remove_faces(call, mesh, removed, "--hide");
    sinew_free(chosen), sinew_free(removed);
    return status;
}
