#include "measure/near_pairs.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/parts.h"
#include "mesh/topology.h"

void sn_near_pairs_free(sn_near_pairs *pairs) {
    sn_free(pairs->vertices);
    sn_free(pairs->longest);
    memset(pairs, 0, sizeof *pairs);
}

static double distance_of(const sn_near_pairs *pairs, int k, const double *positions) {
    return sn_distance(sn_at(positions, pairs->vertices[2 * k]),
                       sn_at(positions, pairs->vertices[2 * k + 1]));
}

/* The corner of the link's triangle that is nearest to its vertex. */
static int nearest_corner(const sn_link *link, const double *positions) {
    int best = link->corners[0];
    sn_vec3 p = sn_at(positions, link->vertex);
    for (int c = 1; c < 3; c++)
        if (sn_distance(p, sn_at(positions, link->corners[c])) <
            sn_distance(p, sn_at(positions, best)))
            best = link->corners[c];
    return best;
}

static sinew_status keep_pairs(const sinew_rig *rig, double reach, int link_count,
                               const sn_link *links, sn_near_pairs *pairs, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    size_t room = 3 * (size_t)mesh->vertex_count;
    double *pose = SN_NEW(double, room), *weights = SN_NEW(double, rig->slider_count);
    double *activations = SN_NEW(double, rig->target_count);
    pairs->vertices = SN_NEW(int, 2 * (size_t)link_count);
    pairs->longest = SN_NEW0(double, link_count);
    sinew_status status = SINEW_OK;
    if (!pose || !weights || !activations || !pairs->vertices || !pairs->longest)
        status = sn_no_memory(error);
    for (int k = 0; status == SINEW_OK && k < link_count; k++) {
        pairs->vertices[2 * k] = links[k].vertex;
        pairs->vertices[2 * k + 1] = nearest_corner(&links[k], mesh->positions);
        pairs->longest[k] = distance_of(pairs, k, mesh->positions);
    }
    for (int t = 0; status == SINEW_OK && t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        memcpy(pose, mesh->positions, room * sizeof *pose);
        memset(activations, 0, (size_t)rig->target_count * sizeof *activations);
        activations[t] = 1;
        if (target->kind == SINEW_TARGET_KIND_COMBINATION) {
            for (int s = 0; s < rig->slider_count; s++) weights[s] = rig->sliders[s].rest;
            for (int d = 0; d < target->driver_count; d++) weights[target->drivers[d]] = 1;
            sinew_rig_activations(rig, weights, activations);
        }
        for (int j = 0; j < rig->target_count; j++)
            for (int i = 0; activations[j] != 0 && i < rig->targets[j].count; i++) {
                int v = rig->targets[j].vertices[i];
                sn_put(pose, v,
                       sn_add_scaled(sn_at(pose, v), activations[j],
                                     sn_at(rig->targets[j].deltas, i)));
            }
        for (int k = 0; k < link_count; k++)
            pairs->longest[k] = fmax(pairs->longest[k], distance_of(pairs, k, pose));
    }
    for (int k = 0; status == SINEW_OK && k < link_count; k++) {
        if (pairs->longest[k] > reach) continue;
        pairs->vertices[2 * pairs->count] = pairs->vertices[2 * k];
        pairs->vertices[2 * pairs->count + 1] = pairs->vertices[2 * k + 1];
        pairs->longest[pairs->count++] = pairs->longest[k];
    }
    sn_free(pose), sn_free(weights), sn_free(activations);
    if (status != SINEW_OK) sn_near_pairs_free(pairs);
    return status;
}

sinew_status sn_near_pairs_create(const sinew_rig *rig, double reach, sn_near_pairs *pairs,
                                  sinew_error *error) {
    memset(pairs, 0, sizeof *pairs);
    const sinew_mesh *mesh = rig->neutral;
    int *part = SN_NEW(int, mesh->vertex_count), parts, link_count = 0;
    if (!part) return sn_no_memory(error);
    sn_link *links = NULL;
    sinew_status status = sn_components(mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                                        part, &parts, error);
    if (status == SINEW_OK && parts > 1)
        status = sn_parts_nearest(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                  mesh->triangles, part, SN_LINKS_PER_VERTEX, reach, &links,
                                  &link_count, error);
    if (status == SINEW_OK && link_count > 0)
        status = keep_pairs(rig, reach, link_count, links, pairs, error);
    sn_free(links), sn_free(part);
    return status;
}

double sn_near_pairs_drift(const sn_near_pairs *pairs, const double *positions) {
    if (pairs->count == 0) return NAN;
    double worst = 0;
    for (int k = 0; k < pairs->count; k++)
        worst = fmax(worst, distance_of(pairs, k, positions) - pairs->longest[k]);
    return worst;
}
