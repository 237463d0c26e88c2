/* Where a face is soft: fat cheeks, chin and jowls; not lids, brow, scalp, eyes and teeth. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "mesh/topology.h"
#include "sinew/anatomy.h"
#include "sinew/force.h"

/* Steps of averaging with neighbors, which round the edges of the regions. */
enum { ROUNDS = 12 };

static const struct {
    const char *region;
    double softness;
} soft[] = {/* later ones win */
            {"skin", 0.12}, {"forehead", 0.05}, {"cheeks", 1},   {"chin", 0.8},
            {"lips", 0.3},  {"nose", 0.1},      {"brows", 0.05}, {"lids", 0}};

static sinew_status paint(const sinew_anatomy *anatomy, double *softness, bool *bone,
                          sinew_error *error) {
    for (size_t r = 0; r < sizeof soft / sizeof *soft; r++) {
        int *vertices, count;
        SN_TRY(sinew_anatomy_region(anatomy, soft[r].region, &vertices, &count, error));
        for (int i = 0; i < count; i++) {
            softness[vertices[i]] = soft[r].softness;
            bone[vertices[i]] = soft[r].softness == 0;
        }
        sinew_free(vertices);
    }
    return SINEW_OK;
}

sinew_status sinew_force_softness(const sinew_rig *rig, double *softness,
                                  const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(rig && softness, error);
    const sinew_mesh *mesh = rig->neutral;
    int n = mesh->vertex_count;
    sinew_anatomy *anatomy;
    SN_TRY(sinew_anatomy_create(rig, monitor, &anatomy, error));
    double *next = SN_NEW(double, n + 1);
    int *degree = SN_NEW0(int, n + 1);
    bool *bone = SN_NEW(bool, n + 1);
    sn_edges edges = {0};
    sinew_status status = next && degree && bone ? SINEW_OK : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < n; v++) softness[v] = 0, bone[v] = true;
    if (status == SINEW_OK) status = paint(anatomy, softness, bone, error);
    if (status == SINEW_OK)
        status = sn_edges_of_triangles(mesh->triangle_count, mesh->triangles, &edges, error);
    for (int i = 0; status == SINEW_OK && i < 2 * edges.count; i++) degree[edges.vertices[i]]++;
    for (int k = 0; status == SINEW_OK && k < ROUNDS; k++) {
        memset(next, 0, sizeof(double) * (size_t)n);
        for (int e = 0; e < edges.count; e++) {
            int i = edges.vertices[2 * (size_t)e], j = edges.vertices[2 * (size_t)e + 1];
            next[i] += softness[j], next[j] += softness[i];
        }
        for (int v = 0; v < n; v++)
            softness[v] = bone[v] || !degree[v] ? 0 : 0.5 * softness[v] + 0.5 * next[v] / degree[v];
    }
    sn_edges_free(&edges);
    sn_free(next), sn_free(degree), sn_free(bone);
    sinew_anatomy_destroy(anatomy);
    return status;
}
