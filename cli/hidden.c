#include "hidden.h"

#include <stdio.h>
#include <string.h>

#include "sinew/mesh.h"
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

/* ---- helper geometry ------------------------------------------------------------------------- */

bool cli_is_helper(const char *selection) {
    return !strncmp(selection, "part:", 5) && sinew_part_is_helper(selection + 5);
}

/* Marks the faces of helper parts, unless nothing else would be left; lists the parts under
 * "helpers" in the report. */
static void mark_helpers(cli_call *call, const sinew_mesh *mesh, bool *removed) {
    int helpers = 0;
    json_t *names = json_array();
    for (int f = 0; mesh->face_part && f < mesh->face_count; f++)
        helpers +=
            mesh->face_part[f] >= 0 && sinew_part_is_helper(mesh->part_names[mesh->face_part[f]]);
    bool some = helpers > 0 && helpers < mesh->face_count;
    for (int p = 0; some && p < mesh->part_count; p++)
        if (sinew_part_is_helper(mesh->part_names[p]))
            json_array_append_new(names, json_string(mesh->part_names[p]));
    for (int f = 0; some && f < mesh->face_count; f++)
        if (mesh->face_part[f] >= 0 && sinew_part_is_helper(mesh->part_names[mesh->face_part[f]]))
            removed[f] = true;
    if (some) json_object_set(call->report, "helpers", names);
    json_decref(names);
}

void cli_tell_helpers(cli_call *call) {
    const json_t *names = json_object_get(call->report, "helpers");
    size_t count = json_array_size(names);
    if (count == 0) return;
    char rest[40] = "";
    if (count > 1) snprintf(rest, sizeof rest, " and %zu more", count - 1);
    cli_say(call, "left out part:%s%s: helper geometry; see --hide",
            json_string_value(json_array_get(names, 0)), rest);
}

/* ---- selections ------------------------------------------------------------------------------ */

static sinew_status mark(cli_call *call, const sinew_rig *rig, const char *selection, bool *chosen,
                         bool *removed) {
    const sinew_mesh *mesh = rig->neutral;
    int *vertices, found;
    CLI_TRY(cli_check_selection(call, selection));
    CLI_TRY(sinew_select(rig, selection, NULL, sinew_file_loader(), call->monitor, &vertices,
                         &found, &call->error));
    memset(chosen, 0, sizeof *chosen * (size_t)mesh->vertex_count);
    for (int k = 0; k < found; k++) chosen[vertices[k]] = true;
    sinew_free(vertices);
    for (int f = 0; f < mesh->face_count; f++) {
        bool inside = true;
        for (int k = mesh->face_start[f]; k < mesh->face_start[f + 1]; k++)
            inside = inside && chosen[mesh->face_vertices[k]];
        removed[f] = removed[f] || inside;
    }
    return SINEW_OK;
}

sinew_status cli_hide(cli_call *call, const sinew_rig *rig, int count,
                      const char *const *selections) {
    sinew_mesh *mesh = rig->neutral;
    bool *chosen = CLI_NEW(bool, mesh->vertex_count), *removed = CLI_NEW(bool, mesh->face_count);
    sinew_status status = chosen && removed ? SINEW_OK : cli_no_memory(&call->error);
    bool helpers = true, any = false;
    for (int i = 0; i < count; i++)
        if (!strcmp(selections[i], "none")) helpers = false;
    if (status == SINEW_OK && helpers) mark_helpers(call, mesh, removed);
    for (int i = 0; status == SINEW_OK && i < count; i++)
        if (strcmp(selections[i], "none") != 0)
            status = mark(call, rig, selections[i], chosen, removed);
    for (int f = 0; status == SINEW_OK && f < mesh->face_count; f++) any = any || removed[f];
    if (status == SINEW_OK && any) status = cli_remove_faces(call, mesh, removed, "--hide");
    sinew_free(chosen), sinew_free(removed);
    return status;
}
