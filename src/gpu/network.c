#include "gpu/network.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "gpu/dissection.h"

sinew_status sn_gpu_network_order(const sinew_spring *spring, int blocks, int **source, int **place,
                                  sinew_error *error) {
    const sn_system *system = spring->system;
    *source = sn_memdup(system->order, (size_t)system->count, sizeof(int));
    *place = SN_NEW(int, system->count);
    if (!*source || !*place) {
        sn_free(*source), sn_free(*place);
        *source = *place = NULL;
        return sn_no_memory(error);
    }
    sn_order_by_parts(system->free_count, spring->network->neutral, blocks, *source);
    for (int v = 0; v < system->count; v++) (*place)[(*source)[v]] = v;
    return SINEW_OK;
}

/* ---- what targets change ---- */

/* `rank`: the device's number of an entry; NULL: the network's. */
static sinew_status put_blended(int count, const double *base, int target_count,
                                const sn_increment *increments, const int *rank,
                                sn_gpu_store *store, sn_blended_device *device,
                                sinew_error *error) {
    int *start = SN_NEW0(int, count + 2), *target = NULL;
    double *value = NULL, *ranked = SN_NEW(double, count);
    bool ok = start && ranked;
    size_t total = 0;
    if (ok) {
        for (int t = 0; t < target_count; t++)
            for (int k = 0; k < increments[t].count; k++) {
                int at = increments[t].index[k];
                start[(rank ? rank[at] : at) + 2]++;
            }
        for (int k = 0; k < count; k++) start[k + 2] += start[k + 1];
        for (int k = 0; k < count; k++) ranked[rank ? rank[k] : k] = base[k];
        total = (size_t)start[count + 1];
        target = SN_NEW(int, total), value = SN_NEW(double, total);
        ok = target && value;
    }
    if (ok) {
        for (int t = 0; t < target_count; t++)
            for (int k = 0; k < increments[t].count; k++) {
                int entry = increments[t].index[k];
                int at = start[(rank ? rank[entry] : entry) + 1]++;
                target[at] = t, value[at] = increments[t].value[k];
            }
        device->count = count;
        device->base = sn_gpu_store_put(store, ranked, (size_t)count, sizeof(double));
        device->start = sn_gpu_store_put(store, start, (size_t)count + 1, sizeof(int));
        device->target = sn_gpu_store_put(store, target, total, sizeof(int));
        device->value = sn_gpu_store_put(store, value, total, sizeof(double));
    }
    sn_free(start), sn_free(target), sn_free(value), sn_free(ranked);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

/* Linear displacements of the held vertices; those inside follow the blend. */
static sinew_status put_held(const sinew_spring *spring, const int *source, const int *place,
                             sn_gpu_store *store, sn_spring_device *device, sinew_error *error) {
    const sinew_rig *rig = spring->rig;
    int first = device->free_count, held = device->count - first;
    int *start = SN_NEW0(int, held + 2), *target = NULL;
    double *value = NULL;
    sn_double4 *neutral = SN_NEW(sn_double4, held);
    bool ok = start && neutral;
    size_t total = 0;
    if (ok) {
        for (int t = 0; t < rig->target_count; t++)
            for (int k = 0; k < rig->targets[t].count; k++) {
                int h = place[rig->targets[t].vertices[k]] - first;
                if (h >= 0) start[h + 2]++;
            }
        for (int h = 0; h < held; h++) start[h + 2] += start[h + 1];
        total = (size_t)start[held + 1];
        target = SN_NEW(int, total), value = SN_NEW(double, 3 * total);
        ok = target && value;
    }
    if (ok) {
        for (int t = 0; t < rig->target_count; t++)
            for (int k = 0; k < rig->targets[t].count; k++) {
                int h = place[rig->targets[t].vertices[k]] - first;
                if (h < 0) continue;
                int at = start[h + 1]++;
                target[at] = t;
                memcpy(value + 3 * (size_t)at, rig->targets[t].deltas + 3 * (size_t)k,
                       3 * sizeof *value);
            }
        for (int h = 0; h < held; h++) {
            int v = source[first + h];
            sn_vec3 x = sn_at(spring->network->neutral, v);
            neutral[h] = (sn_double4){x.x, x.y, x.z, v >= spring->network->surface_count};
        }
        size_t n = (size_t)held;
        device->held_start = sn_gpu_store_put(store, start, n + 1, sizeof(int));
        device->held_target = sn_gpu_store_put(store, target, total, sizeof(int));
        device->held_value = sn_gpu_store_put(store, value, 3 * total, sizeof(double));
        device->held_neutral = sn_gpu_store_put(store, neutral, n, sizeof *neutral);
    }
    sn_free(start), sn_free(target), sn_free(value), sn_free(neutral);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

/* ---- rows ---- */

typedef struct row_list {
    int *start, *other, *spring;
    double *stiffness;
    float *altitude;
} row_list;

static int find_entry(const row_list *r, int v, int other) {
    for (int e = r->start[v]; e < r->start[v + 1]; e++)
        if (r->other[e] == other) return e;
    return -1;
}

/* The altitudes' Hessian is w s s^T with sum s = 0: between two corners it acts as a spring in all
 * directions of stiffness -w s_a s_b. */
static bool add_altitudes(const sinew_spring *spring, const int *place, row_list *r) {
    const sn_system *system = spring->system;
    for (int t = 0; t < system->triangle_count; t++) {
        const int *v = system->triangle + 3 * (size_t)t;
        double f = system->triangle_foot[t], w = system->triangle_weight[t];
        const double s[3] = {1, f - 1, -f};
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                if (v[a] >= system->free_count || v[a] == v[b]) continue;
                int e = find_entry(r, place[system->order[v[a]]], place[system->order[v[b]]]);
                if (e < 0) return false;
                r->altitude[e] -= (float)(w * s[a] * s[b]);
            }
    }
    return true;
}

static bool list_rows(const sinew_spring *spring, const int *place, row_list *r) {
    const sn_system *system = spring->system;
    int n = system->free_count;
    r->start = SN_NEW0(int, n + 2);
    if (!r->start) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < n; i++)
            for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
                int ends[2] = {place[system->order[i]], place[system->order[system->other[s]]]};
                for (int k = 0; k < 2; k++) {
                    if (ends[k] >= n) continue;
                    if (!pass) {
                        r->start[ends[k] + 2]++;
                        continue;
                    }
                    int at = r->start[ends[k] + 1]++;
                    r->other[at] = ends[1 - k], r->spring[at] = system->spring[s];
                    r->stiffness[at] = system->stiffness[s];
                }
            }
        if (pass) break;
        for (int v = 0; v < n; v++) r->start[v + 2] += r->start[v + 1];
        size_t total = (size_t)r->start[n + 1];
        r->other = SN_NEW(int, total), r->spring = SN_NEW(int, total);
        r->stiffness = SN_NEW(double, total), r->altitude = SN_NEW0(float, total);
        if (!r->other || !r->spring || !r->stiffness || !r->altitude) return false;
    }
    return true;
}

/* The entries of the Hessian of a spring are at most (1 + weight of its direction) k. */
static float table_scale(const sinew_spring *spring, const row_list *r, size_t total) {
    double largest = 0, most = spring->options.guide + SN_MOST_RATIO;
    for (size_t e = 0; e < total; e++)
        largest = fmax(largest, most * r->stiffness[e] + fabs((double)r->altitude[e]));
    return largest > 0 ? (float)(1 / sqrt(largest)) : 1;
}

/* Numbers springs as rows meet them, so that neighboring rows have neighboring springs. */
static int *rank_springs(int count, size_t entries, int *springs) {
    int *rank = SN_NEW(int, count), next = 0;
    for (int q = 0; q < count && rank; q++) rank[q] = -1;
    for (size_t e = 0; e < entries && rank; e++) {
        if (rank[springs[e]] < 0) rank[springs[e]] = next++;
        springs[e] = rank[springs[e]];
    }
    for (int q = 0; q < count && rank; q++)
        if (rank[q] < 0) rank[q] = next++;
    return rank;
}

static sinew_status put_rows(const sinew_spring *spring, const int *place, sn_gpu_store *store,
                             sn_spring_device *device, sn_gpu_rows *kept, sinew_error *error) {
    const sn_network *network = spring->network;
    row_list r = {0};
    int *rank = NULL;
    bool ok = list_rows(spring, place, &r), known = ok && add_altitudes(spring, place, &r);
    if (ok)
        rank = rank_springs(network->spring_count, (size_t)r.start[device->free_count], r.spring);
    ok = ok && rank;
    sinew_status status =
        ok ? put_blended(network->spring_count, network->rest, network->target_count,
                         network->rest_increment, rank, store, &device->rest, error)
           : sn_no_memory(error);
    sn_free(rank);
    known = known && status == SINEW_OK;
    if (known) {
        size_t n = (size_t)device->free_count, total = (size_t)r.start[n];
        device->row_start = sn_gpu_store_put(store, r.start, n + 1, sizeof(int));
        device->row_other = sn_gpu_store_put(store, r.other, total, sizeof(int));
        device->row_spring = sn_gpu_store_put(store, r.spring, total, sizeof(int));
        device->row_stiffness = sn_gpu_store_put(store, r.stiffness, total, sizeof(double));
        device->row_altitude = sn_gpu_store_put(store, r.altitude, total, sizeof(float));
        device->entry_count = r.start[n];
        device->table_scale = table_scale(spring, &r, total);
        *kept = (sn_gpu_rows){r.start, r.other};
        r.start = r.other = NULL;
    }
    sn_free(r.start), sn_free(r.other), sn_free(r.spring), sn_free(r.stiffness);
    sn_free(r.altitude);
    SN_TRY(status);
    if (!known) return sn_fail(error, SINEW_UNAVAILABLE, "the GPU needs springs along all edges");
    return sn_gpu_store_status(store, error);
}

/* One block's entries and the list of other vertices; number: -1 for all vertices, before and
 * after. Returns how many were listed. */
static int number_halo(const sn_gpu_rows *rows, int begin, int end, uint16_t *near, int *listed,
                       int *number) {
    int found = 0;
    for (int e = rows->start[begin]; e < rows->start[end]; e++) {
        int other = rows->other[e], at = other - begin;
        if (other < begin || other >= end) {
            if (number[other] < 0) number[other] = end - begin + found, listed[found++] = other;
            at = number[other];
        }
        near[e] = (uint16_t)at;
    }
    for (int k = 0; k < found; k++) number[listed[k]] = -1;
    return found;
}

sinew_status sn_gpu_halo_upload(const sn_gpu_rows *rows, int count, int free_count, int blocks,
                                sn_gpu_store *store, sn_halo_device *halo, int *most,
                                sinew_error *error) {
    size_t total = (size_t)rows->start[free_count], used = 0;
    int *start = SN_NEW(int, blocks + 1), *list = SN_NEW(int, total), *number = SN_NEW(int, count);
    uint16_t *near = SN_NEW(uint16_t, total);
    bool ok = start && list && number && near;
    *most = 0;
    for (int v = 0; v < count && ok; v++) number[v] = -1;
    for (int b = 0; b < blocks && ok && *most >= 0; b++) {
        int begin = (int)((int64_t)free_count * b / blocks);
        int end = (int)((int64_t)free_count * (b + 1) / blocks);
        int found = number_halo(rows, begin, end, near, list + used, number);
        start[b] = (int)used, used += (size_t)found;
        if (found > *most) *most = found;
        if (end - begin + found > UINT16_MAX) *most = -1;
    }
    if (ok && *most >= 0) {
        start[blocks] = (int)used;
        halo->near = sn_gpu_store_put(store, near, total, sizeof *near);
        halo->start = sn_gpu_store_put(store, start, (size_t)blocks + 1, sizeof *start);
        halo->vertex = sn_gpu_store_put(store, list, used, sizeof *list);
    }
    sn_free(start), sn_free(list), sn_free(number), sn_free(near);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

/* ---- corners of tets and triangles ---- */

/* Per free vertex a list of corners: start[n + 1], and the corners in the order of elements. */
static bool list_corners(int n, int count, int corners, const int *vertices, int **start,
                         int **list) {
    *start = SN_NEW0(int, n + 2);
    if (!*start) return false;
    for (int c = 0; c < corners * count; c++)
        if (vertices[c] < n) (*start)[vertices[c] + 2]++;
    for (int v = 0; v < n; v++) (*start)[v + 2] += (*start)[v + 1];
    *list = SN_NEW(int, (*start)[n + 1]);
    if (!*list) return false;
    for (int c = 0; c < corners * count; c++)
        if (vertices[c] < n) (*list)[(*start)[vertices[c] + 1]++] = c;
    return true;
}

/* The system's vertices of elements as the device's. */
static int *renumber(const sn_system *system, size_t count, const int *vertices, const int *place) {
    int *out = SN_NEW(int, count);
    for (size_t k = 0; k < count && out; k++) out[k] = place[system->order[vertices[k]]];
    return out;
}

static sinew_status put_tets(const sinew_spring *spring, const int *place, sn_gpu_store *store,
                             sn_spring_device *device, sinew_error *error) {
    /* the other corners, so that the volume seen from a corner keeps its sign */
    static const int others[4][3] = {{1, 2, 3}, {0, 3, 2}, {3, 0, 1}, {2, 1, 0}};
    const sn_system *system = spring->system;
    int *start = NULL, *list = NULL;
    int *tets = renumber(system, 4 * (size_t)system->tet_count, system->tet, place);
    bool ok = tets && list_corners(device->free_count, system->tet_count, 4, tets, &start, &list);
    size_t n = (size_t)device->free_count, total = ok ? (size_t)start[n] : 0;
    sn_int4 *corner = SN_NEW(sn_int4, total);
    double *weight = SN_NEW(double, total);
    ok = ok && corner && weight;
    if (ok) {
        for (size_t k = 0; k < total; k++) {
            int t = list[k] / 4;
            const int *v = tets + 4 * (size_t)t, *o = others[list[k] % 4];
            corner[k] = (sn_int4){v[o[0]], v[o[1]], v[o[2]], system->tet_source[t]};
            weight[k] = system->tet_weight[t];
        }
        device->corner_count = (int)total;
        device->corner_start = sn_gpu_store_put(store, start, n + 1, sizeof(int));
        device->corner = sn_gpu_store_put(store, corner, total, sizeof *corner);
        device->corner_weight = sn_gpu_store_put(store, weight, total, sizeof *weight);
    }
    sn_free(start), sn_free(list), sn_free(tets), sn_free(corner), sn_free(weight);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

static sinew_status put_triangles(const sinew_spring *spring, const int *place, sn_gpu_store *store,
                                  sn_spring_device *device, sinew_error *error) {
    const sn_system *system = spring->system;
    const double *neutral = spring->network->neutral;
    size_t count = (size_t)system->triangle_count, n = (size_t)device->free_count;
    int *start = NULL, *list = NULL;
    int *vertices = renumber(system, 3 * count, system->triangle, place);
    sn_int4 *triangle = SN_NEW(sn_int4, count), *fan = NULL;
    sn_double4 *lever = SN_NEW(sn_double4, count);
    bool ok = vertices && triangle && lever &&
              list_corners(device->free_count, (int)count, 3, vertices, &start, &list);
    if (ok) fan = SN_NEW(sn_int4, start[n]);
    ok = ok && fan;
    if (ok) {
        for (int k = 0; k < start[n]; k++) {
            const int *v = vertices + list[k] / 3 * 3;
            fan[k] = (sn_int4){v[0], v[1], v[2], 4 * (list[k] / 3) + list[k] % 3};
        }
        for (size_t t = 0; t < count; t++) {
            const int *v = vertices + 3 * t, *s = system->triangle + 3 * t;
            triangle[t] = (sn_int4){v[0], v[1], v[2], system->triangle_source[t]};
            sn_vec3 foot = sn_lerp(sn_at(neutral, system->order[s[1]]),
                                   sn_at(neutral, system->order[s[2]]), system->triangle_foot[t]);
            sn_vec3 a = sn_sub(sn_at(neutral, system->order[s[0]]), foot);
            lever[t] = (sn_double4){a.x, a.y, a.z, sn_guide_by_vertices(spring, (int)t)};
        }
        device->triangle_count = (int)count;
        device->fan_start = sn_gpu_store_put(store, start, n + 1, sizeof(int));
        device->fan = sn_gpu_store_put(store, fan, (size_t)start[n], sizeof *fan);
        device->triangle = sn_gpu_store_put(store, triangle, count, sizeof *triangle);
        device->triangle_foot =
            sn_gpu_store_put(store, system->triangle_foot, count, sizeof(double));
        device->triangle_weight =
            sn_gpu_store_put(store, system->triangle_weight, count, sizeof(double));
        device->triangle_lever = sn_gpu_store_put(store, lever, count, sizeof *lever);
    }
    sn_free(start), sn_free(list), sn_free(vertices), sn_free(triangle), sn_free(lever);
    sn_free(fan);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

/* All tets and triangles of the network, for the report. */
static sinew_status put_shape(const sinew_spring *spring, const int *place, sn_gpu_store *store,
                              sn_spring_device *device, sinew_error *error) {
    const sn_network *network = spring->network;
    size_t tets = (size_t)network->tet_count, triangles = (size_t)network->triangle_count;
    sn_int4 *tet = SN_NEW(sn_int4, tets), *triangle = SN_NEW(sn_int4, triangles);
    uint8_t *inverts = SN_NEW(uint8_t, tets);
    bool ok = tet && triangle && inverts;
    if (ok) {
        for (size_t t = 0; t < tets; t++) {
            const int *v = network->tets + 4 * t;
            tet[t] = (sn_int4){place[v[0]], place[v[1]], place[v[2]], place[v[3]]};
            inverts[t] = spring->pose_inverts[t];
        }
        for (size_t t = 0; t < triangles; t++) {
            const int *v = network->triangles + 3 * t;
            triangle[t] = (sn_int4){place[v[0]], place[v[1]], place[v[2]], 0};
        }
        device->tet_count = (int)tets, device->surface_count = (int)triangles;
        device->tets = sn_gpu_store_put(store, tet, tets, sizeof *tet);
        device->surface = sn_gpu_store_put(store, triangle, triangles, sizeof *triangle);
        device->pose_inverts = sn_gpu_store_put(store, inverts, tets, sizeof *inverts);
    }
    sn_free(tet), sn_free(triangle), sn_free(inverts);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

static sinew_status put_vertices(const sinew_spring *spring, const int *source, const int *place,
                                 sn_gpu_store *store, sn_spring_device *device,
                                 sinew_error *error) {
    size_t n = (size_t)device->free_count, count = (size_t)device->count;
    sn_double4 *neutral = SN_NEW(sn_double4, n), mean = {0, 0, 0, 0};
    if (!neutral) return sn_no_memory(error);
    for (size_t v = 0; v < n; v++) {
        sn_vec3 x = sn_at(spring->network->neutral, source[v]);
        neutral[v] = (sn_double4){x.x, x.y, x.z, 0};
        mean.x += x.x / (double)n, mean.y += x.y / (double)n, mean.z += x.z / (double)n;
    }
    device->origin = mean;
    device->neutral = sn_gpu_store_put(store, neutral, n, sizeof *neutral);
    device->source = sn_gpu_store_put(store, source, count, sizeof(int));
    device->place = sn_gpu_store_put(store, place, count, sizeof(int));
    sn_free(neutral);
    return sn_gpu_store_status(store, error);
}

sinew_status sn_gpu_network_upload(const sinew_spring *spring, const int *source, const int *place,
                                   sn_gpu_store *store, sn_spring_device *device, sn_gpu_rows *rows,
                                   sinew_error *error) {
    const sn_network *network = spring->network;
    *device = (sn_spring_device){.count = spring->system->count,
                                 .free_count = spring->system->free_count,
                                 .rest_floor = network->rest_floor,
                                 .guide = spring->options.guide,
                                 .pull = spring->pull};
    SN_TRY(put_vertices(spring, source, place, store, device, error));
    SN_TRY(put_blended(network->tet_count, network->volume, network->target_count,
                       network->volume_increment, NULL, store, &device->volume, error));
    SN_TRY(put_blended(network->triangle_count, network->altitude, network->target_count,
                       network->altitude_increment, NULL, store, &device->altitude, error));
    SN_TRY(put_held(spring, source, place, store, device, error));
    SN_TRY(put_rows(spring, place, store, device, rows, error));
    SN_TRY(put_tets(spring, place, store, device, error));
    SN_TRY(put_triangles(spring, place, store, device, error));
    return put_shape(spring, place, store, device, error);
}
