/* E = W^T H W at the neutral, where every spring has its length: for a spring of stiffness k along
 * n
 *
 *   H = beta k I + k n n^T, and altitudes add a_ij I between the vertices of a triangle.
 *
 * A rigid motion (t, r) of a cluster with weights w_i moves x_i - x_j by tau t + r x rho, with
 * tau = w_i - w_j and rho = w_i l_i - w_j l_j, l the levers from the cluster's center. So
 *
 *   c I      c tau tau' I | -c tau [rho']x  /  c tau' [rho]x | c (rho.rho' I - rho' rho^T)
 *   n n^T    f f'^T, f = (tau n, rho x n) */
#include "gpu/coarse.h"

#include <math.h>
#include <string.h>

#include "algebra/dense.h"
#include "base/memory.h"

enum { MODES = 6, PER_VERTEX = SN_CLUSTERS_PER_VERTEX };
/* Of the mean diagonal entry, so that the inverse exists. */
static const double SHIFT = 1e-5;

/* The motion of one term in the modes of the clusters that it touches. */
typedef struct motion {
    int count, cluster[4 * PER_VERTEX];
    double tau[4 * PER_VERTEX];
    sn_vec3 rho[4 * PER_VERTEX];
    double force[4 * PER_VERTEX][MODES];
} motion;

static int slot_of(motion *m, int cluster) {
    for (int k = 0; k < m->count; k++)
        if (m->cluster[k] == cluster) return k;
    int k = m->count++;
    m->cluster[k] = cluster, m->tau[k] = 0, m->rho[k] = sn_v3(0, 0, 0);
    memset(m->force[k], 0, sizeof m->force[k]);
    return k;
}

/* sign x the motion of a vertex, and the forces of `direction` there. */
static void add_vertex(const sn_gpu_coarse *coarse, int v, sn_vec3 x, double sign,
                       sn_vec3 direction, motion *m) {
    for (int k = 0; k < PER_VERTEX; k++) {
        double w = (double)coarse->weight[PER_VERTEX * (size_t)v + (size_t)k];
        if (w == 0) continue;
        int c = coarse->cluster[PER_VERTEX * (size_t)v + (size_t)k], s = slot_of(m, c);
        m->tau[s] += sign * w;
        if (!coarse->rigid) continue;
        const sn_double4 *at = &coarse->center[c];
        sn_vec3 lever = sn_sub(x, sn_v3(at->x, at->y, at->z));
        sn_vec3 torque = sn_cross(lever, direction);
        m->rho[s] = sn_add_scaled(m->rho[s], sign * w, lever);
        double *f = m->force[s];
        f[0] += w * direction.x, f[1] += w * direction.y, f[2] += w * direction.z;
        f[3] += w * torque.x, f[4] += w * torque.y, f[5] += w * torque.z;
    }
}

/* E += isotropic M^T M of translations: lower triangle (column-major), or the diagonal. */
static void add_translation(const sn_gpu_coarse *coarse, const motion *m, double isotropic,
                            size_t size, double *matrix) {
    for (int a = 0; a < m->count; a++) {
        if (coarse->middle) matrix[m->cluster[a]] += isotropic * m->tau[a] * m->tau[a];
        for (int b = 0; b < m->count && !coarse->middle; b++)
            if (m->cluster[b] <= m->cluster[a])
                matrix[(size_t)m->cluster[a] + size * (size_t)m->cluster[b]] +=
                    isotropic * m->tau[a] * m->tau[b];
    }
}

/* E += isotropic M^T M + f f^T, lower blocks (column-major). */
static void add_motion(const motion *m, double isotropic, bool rank_one, size_t size,
                       double *matrix) {
    for (int a = 0; a < m->count; a++)
        for (int b = 0; b < m->count; b++) {
            if (m->cluster[b] > m->cluster[a]) continue;
            double *block =
                matrix + MODES * (size_t)m->cluster[a] + size * MODES * (size_t)m->cluster[b];
            double e[MODES][MODES] = {{0}}; /* row of a, column of b */
            sn_vec3 p = m->rho[a], q = m->rho[b];
            double s = isotropic, ta = s * m->tau[a], tb = s * m->tau[b], dot = s * sn_dot(p, q);
            double pv[3] = {p.x, p.y, p.z}, qv[3] = {q.x, q.y, q.z};
            for (int i = 0; i < 3; i++) {
                e[i][i] += ta * m->tau[b];
                e[3 + i][3 + i] += dot;
                for (int j = 0; j < 3; j++) e[3 + i][3 + j] -= s * qv[i] * pv[j];
            }
            e[0][4] += ta * q.z, e[0][5] -= ta * q.y, e[1][3] -= ta * q.z;
            e[1][5] += ta * q.x, e[2][3] += ta * q.y, e[2][4] -= ta * q.x;
            e[3][1] -= tb * p.z, e[3][2] += tb * p.y, e[4][0] += tb * p.z;
            e[4][2] -= tb * p.x, e[5][0] -= tb * p.y, e[5][1] += tb * p.x;
            for (int i = 0; i < MODES; i++)
                for (int j = 0; j < MODES; j++) {
                    if (rank_one) e[i][j] += m->force[a][i] * m->force[b][j];
                    block[(size_t)i + size * (size_t)j] += e[i][j];
                }
        }
}

static void add_springs(const sinew_spring *spring, const int *place, const sn_gpu_coarse *coarse,
                        size_t size, double *matrix) {
    const sn_system *system = spring->system;
    const double *neutral = spring->network->neutral;
    for (int i = 0; i < system->free_count; i++)
        for (int s = system->row_start[i]; s < system->row_start[i + 1]; s++) {
            int a = system->order[i], b = system->order[system->other[s]];
            sn_vec3 x = sn_at(neutral, a), y = sn_at(neutral, b), d = sn_sub(x, y);
            double k = system->stiffness[s], length = sn_length(d);
            sn_vec3 n = length > 0 ? sn_scale(sqrt(k) / length, d) : sn_v3(0, 0, 0);
            motion m;
            m.count = 0;
            add_vertex(coarse, place[a], x, 1, n, &m);
            if (s < system->row_split[i]) add_vertex(coarse, place[b], y, -1, sn_scale(-1, n), &m);
            if (coarse->rigid)
                add_motion(&m, spring->options.guide * k, true, size, matrix);
            else
                add_translation(coarse, &m, k, size, matrix);
        }
}

/* The altitude is a difference of positions, w |x_0 + (f - 1) x_1 - f x_2|^2. */
static void add_altitudes(const sinew_spring *spring, const int *place, const sn_gpu_coarse *coarse,
                          size_t size, double *matrix) {
    const sn_system *system = spring->system;
    for (int t = 0; t < system->triangle_count; t++) {
        double f = system->triangle_foot[t], sign[3] = {1, f - 1, -f};
        motion m = {0};
        for (int c = 0; c < 3; c++) {
            int v = system->triangle[3 * (size_t)t + (size_t)c];
            if (v >= system->free_count) continue;
            int at = system->order[v];
            add_vertex(coarse, place[at], sn_at(spring->network->neutral, at), sign[c],
                       sn_v3(0, 0, 0), &m);
        }
        if (coarse->rigid)
            add_motion(&m, system->triangle_weight[t], false, size, matrix);
        else
            add_translation(coarse, &m, system->triangle_weight[t], size, matrix);
    }
}

static void add_tets(const sinew_spring *spring, const int *place, const sn_gpu_coarse *coarse,
                     size_t size, double *matrix) {
    const sn_system *system = spring->system;
    for (int t = 0; t < system->tet_count; t++) {
        const int *v = system->tet + 4 * (size_t)t;
        sn_vec3 x[4], g[4];
        for (int a = 0; a < 4; a++) x[a] = sn_at(spring->network->neutral, system->order[v[a]]);
        sn_vec3 e1 = sn_sub(x[1], x[0]), e2 = sn_sub(x[2], x[0]), e3 = sn_sub(x[3], x[0]);
        g[1] = sn_cross(e2, e3), g[2] = sn_cross(e3, e1), g[3] = sn_cross(e1, e2);
        g[0] = sn_scale(-1, sn_add(g[1], sn_add(g[2], g[3])));
        double scale = sqrt(system->tet_weight[t]) / 6;
        motion m = {0};
        for (int a = 0; a < 4; a++)
            if (v[a] < system->free_count)
                add_vertex(coarse, place[system->order[v[a]]], x[a], 0, sn_scale(scale, g[a]), &m);
        add_motion(&m, 0, true, size, matrix);
    }
}

static void assemble(const sinew_spring *spring, const int *place, const sn_gpu_coarse *coarse,
                     size_t size, double *matrix) {
    add_springs(spring, place, coarse, size, matrix);
    add_altitudes(spring, place, coarse, size, matrix);
    if (coarse->rigid) add_tets(spring, place, coarse, size, matrix);
    for (int v = 0; v < coarse->free_count; v++) {
        int at = spring->system->order[v];
        motion pulled = {0};
        add_vertex(coarse, place[at], sn_at(spring->network->neutral, at), 1, sn_v3(0, 0, 0),
                   &pulled);
        if (coarse->rigid)
            add_motion(&pulled, spring->pull, false, size, matrix);
        else
            add_translation(coarse, &pulled, spring->pull, size, matrix);
    }
}

static sinew_status invert(const sinew_spring *spring, const int *place, sn_gpu_coarse *coarse,
                           sinew_error *error) {
    int m = coarse->rigid ? MODES * coarse->clusters : coarse->clusters;
    size_t size = (size_t)m;
    double *matrix = SN_NEW0(double, size *size), *inverse = SN_NEW0(double, size *size);
    if (!matrix || !inverse) {
        sn_free(matrix), sn_free(inverse);
        return sn_no_memory(error);
    }
    assemble(spring, place, coarse, size, matrix);
    double trace = 0;
    for (size_t r = 0; r < size; r++) trace += matrix[r * (size + 1)];
    for (size_t r = 0; r < size; r++) {
        matrix[r * (size + 1)] += SHIFT * trace / m;
        inverse[r * (size + 1)] = 1;
    }
    /* without stiffness there is nothing to correct */
    if (sn_dense_cholesky(m, matrix, NULL) == SINEW_OK)
        sn_dense_cholesky_solve(m, matrix, m, inverse);
    else
        memset(inverse, 0, size * size * sizeof *inverse);
    coarse->columns = (m + 7) / 8 * 8;
    size_t columns = (size_t)coarse->columns;
    coarse->inverse = SN_NEW0(uint16_t, size * columns), coarse->scale = SN_NEW0(float, columns);
    bool ok = coarse->inverse && coarse->scale;
    for (size_t r = 0; r < size && ok; r++)
        coarse->scale[r] = (float)sqrt(fmax(inverse[r * (size + 1)], 0));
    for (size_t r = 0; r < size && ok; r++)
        for (size_t c = 0; c < size; c++) {
            double by = (double)coarse->scale[r] * (double)coarse->scale[c];
            coarse->inverse[r * columns + c] = sn_half_of(by > 0 ? inverse[r * size + c] / by : 0);
        }
    sn_free(matrix), sn_free(inverse);
    return ok ? SINEW_OK : sn_no_memory(error);
}

bool sn_gpu_coarse_is_rigid(const sinew_spring *spring) {
    return spring->options.guide == 0;
}

/* Large networks are given their centers: places at equal distances in the order of the device's
 * vertices, in which near vertices have near numbers. */
static sinew_status find_clusters(const sinew_spring *spring, const int *source, bool large,
                                  int wanted, sn_clusters *clusters, sinew_error *error) {
    const sn_system *system = spring->system;
    int n = system->free_count;
    if (wanted > n) wanted = n;
    double *lengths = SN_NEW(double, system->spring_count);
    int *centers = SN_NEW(int, wanted), *number = SN_NEW(int, system->count);
    sinew_status status = lengths && centers && number ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int s = 0; s < system->spring_count; s++)
            lengths[s] = spring->network->mean_rest[system->spring[s]];
        for (int v = 0; v < system->count; v++) number[system->order[v]] = v;
        for (int c = 0; c < wanted; c++)
            centers[c] = number[source[(int64_t)n * (2 * c + 1) / (2 * (int64_t)wanted)]];
        status = large ? sn_clusters_around(system, lengths, wanted, centers, clusters, error)
                       : sn_clusters_create(system, lengths, wanted, clusters, error);
    }
    sn_free(lengths), sn_free(centers), sn_free(number);
    return status;
}

/* Clusters with their weights and centers. */
static sinew_status place_clusters(const sinew_spring *spring, const int *source, const int *place,
                                   bool large, int wanted, sn_gpu_coarse *coarse,
                                   sinew_error *error) {
    const sn_system *system = spring->system;
    size_t n = (size_t)system->free_count;
    sn_clusters clusters = {0};
    SN_TRY(find_clusters(spring, source, large, wanted, &clusters, error));
    sinew_status status = SINEW_OK;
    coarse->clusters = clusters.count;
    coarse->cluster = SN_NEW0(int, PER_VERTEX *n);
    coarse->weight = SN_NEW0(float, PER_VERTEX *n);
    coarse->center = SN_NEW0(sn_double4, clusters.count);
    if (!coarse->cluster || !coarse->weight || !coarse->center) status = sn_no_memory(error);
    for (size_t v = 0; v < n && status == SINEW_OK && clusters.count > 0; v++) {
        size_t to = PER_VERTEX * (size_t)place[system->order[v]];
        sn_vec3 x = sn_at(spring->network->neutral, system->order[v]);
        for (size_t k = 0; k < PER_VERTEX; k++) {
            int c = clusters.cluster[PER_VERTEX * v + k];
            double w = (double)clusters.weight[PER_VERTEX * v + k];
            coarse->cluster[to + k] = c, coarse->weight[to + k] = (float)w;
            sn_double4 *center = &coarse->center[c];
            center->x += w * x.x, center->y += w * x.y, center->z += w * x.z, center->w += w;
        }
    }
    for (int c = 0; c < clusters.count && status == SINEW_OK; c++) {
        sn_double4 *center = &coarse->center[c];
        if (!(center->w > 0)) center->w = 1;
        center->x /= center->w, center->y /= center->w, center->z /= center->w;
    }
    sn_clusters_free(&clusters);
    return status;
}

sinew_status sn_gpu_coarse_create(const sinew_spring *spring, const int *source, const int *place,
                                  bool large, int wanted, sn_gpu_coarse *coarse,
                                  sinew_error *error) {
    *coarse = (sn_gpu_coarse){.free_count = spring->system->free_count,
                              .rigid = sn_gpu_coarse_is_rigid(spring)};
    sinew_status status = place_clusters(spring, source, place, large, wanted, coarse, error);
    if (status == SINEW_OK) status = invert(spring, place, coarse, error);
    if (status != SINEW_OK) sn_gpu_coarse_free(coarse);
    return status;
}

sinew_status sn_gpu_middle_create(const sinew_spring *spring, const int *source, const int *place,
                                  int wanted, sn_gpu_coarse *middle, sinew_error *error) {
    *middle = (sn_gpu_coarse){.free_count = spring->system->free_count, .middle = true};
    sinew_status status = place_clusters(spring, source, place, true, wanted, middle, error);
    size_t count = (size_t)middle->clusters;
    double *diagonal = SN_NEW0(double, count);
    middle->scale = SN_NEW0(float, count);
    if (status == SINEW_OK && (!diagonal || !middle->scale)) status = sn_no_memory(error);
    if (status == SINEW_OK) {
        assemble(spring, place, middle, 1, diagonal);
        for (size_t k = 0; k < count; k++)
            middle->scale[k] = diagonal[k] > 0 ? (float)(1 / diagonal[k]) : 0;
    }
    sn_free(diagonal);
    if (status != SINEW_OK) sn_gpu_coarse_free(middle);
    return status;
}

void sn_gpu_coarse_free(sn_gpu_coarse *coarse) {
    sn_free(coarse->cluster), sn_free(coarse->weight);
    sn_free(coarse->center), sn_free(coarse->inverse), sn_free(coarse->scale);
    *coarse = (sn_gpu_coarse){0};
}

/* ---- on the device ---- */

/* Slots while they are listed. */
typedef struct slots {
    int *start;      /* blocks + 1 */
    int *cluster;    /* per slot */
    int *item_start; /* slots + 1 */
    sn_item *item;
    uint16_t *local; /* 4 per vertex */
    int count, most, most_items;
} slots;

static void free_slots(slots *s) {
    sn_free(s->start), sn_free(s->cluster), sn_free(s->item_start), sn_free(s->item);
    sn_free(s->local);
}

/* The slots of one block: clusters in the order in which its vertices meet them. size[]: per slot
 * of the block, its number of items. */
static void list_block(const sn_gpu_coarse *c, int begin, int end, int *found, int *size,
                       slots *s) {
    int first = s->count;
    for (int v = begin; v < end; v++)
        for (int k = 0; k < PER_VERTEX; k++) {
            size_t at = PER_VERTEX * (size_t)v + (size_t)k;
            if (!(c->weight[at] > 0)) continue;
            int cluster = c->cluster[at];
            if (found[cluster] < 0) {
                found[cluster] = s->count - first, size[s->count - first] = 0;
                s->cluster[s->count++] = cluster;
            }
            s->local[at] = (uint16_t)found[cluster];
            size[found[cluster]]++;
        }
    for (int k = first; k < s->count; k++) {
        s->item_start[k + 1] = s->item_start[k] + size[k - first];
        size[k - first] = s->item_start[k];
    }
    for (int v = begin; v < end; v++)
        for (int k = 0; k < PER_VERTEX; k++) {
            size_t at = PER_VERTEX * (size_t)v + (size_t)k;
            if (!(c->weight[at] > 0)) continue;
            int item = size[s->local[at]]++;
            s->item[item] = (sn_item){v - begin, c->weight[at]};
        }
    for (int k = first; k < s->count; k++) found[s->cluster[k]] = -1;
    int items = s->item_start[s->count] - s->item_start[first];
    if (s->count - first > s->most) s->most = s->count - first;
    if (items > s->most_items) s->most_items = items;
}

static bool list_slots(const sn_gpu_coarse *c, int blocks, slots *s) {
    size_t entries = PER_VERTEX * (size_t)c->free_count;
    s->start = SN_NEW(int, blocks + 1), s->cluster = SN_NEW(int, entries);
    s->item_start = SN_NEW0(int, entries + 1), s->item = SN_NEW(sn_item, entries);
    s->local = SN_NEW0(uint16_t, entries);
    int *found = SN_NEW(int, c->clusters), *size = SN_NEW(int, c->clusters);
    bool ok = s->start && s->cluster && s->item_start && s->item && s->local && found && size;
    for (int k = 0; k < c->clusters && ok; k++) found[k] = -1;
    for (int b = 0; b < blocks && ok; b++) {
        s->start[b] = s->count;
        list_block(c, (int)((int64_t)c->free_count * b / blocks),
                   (int)((int64_t)c->free_count * (b + 1) / blocks), found, size, s);
    }
    if (ok) s->start[blocks] = s->count;
    sn_free(found), sn_free(size);
    return ok;
}

/* Slots, listed by cluster. */
static bool list_by_cluster(const slots *s, int clusters, int **start, int **slot) {
    *start = SN_NEW0(int, clusters + 2), *slot = SN_NEW(int, s->count);
    if (!*start || !*slot) return false;
    for (int k = 0; k < s->count; k++) (*start)[s->cluster[k] + 2]++;
    for (int k = 0; k < clusters; k++) (*start)[k + 2] += (*start)[k + 1];
    for (int k = 0; k < s->count; k++) (*slot)[(*start)[s->cluster[k] + 1]++] = k;
    return true;
}

sinew_status sn_gpu_coarse_upload(const sn_gpu_coarse *c, int blocks, sn_gpu_store *store,
                                  sn_coarse_device *device, int *most_items, sinew_error *error) {
    slots s = {0};
    int *start = NULL, *slot = NULL;
    bool ok = list_slots(c, blocks, &s) && list_by_cluster(&s, c->clusters, &start, &slot);
    if (ok) {
        int modes = c->rigid ? MODES * c->clusters : c->clusters;
        size_t n = (size_t)c->free_count, m = (size_t)modes, count = (size_t)s.count,
               items = (size_t)s.item_start[s.count];
        *device = (sn_coarse_device){.clusters = c->clusters,
                                     .rigid = c->rigid,
                                     .sides = c->rigid ? 1 : 3,
                                     .modes = modes,
                                     .columns = c->columns,
                                     .slots = s.count,
                                     .most_slots = s.most};
        device->weight = sn_gpu_store_put(store, c->weight, n, sizeof(sn_float4));
        device->slot = sn_gpu_store_put(store, s.local, PER_VERTEX * n, sizeof *s.local);
        device->slot_start = sn_gpu_store_put(store, s.start, (size_t)blocks + 1, sizeof(int));
        device->slot_cluster = sn_gpu_store_put(store, s.cluster, count, sizeof(int));
        device->item_start = sn_gpu_store_put(store, s.item_start, count + 1, sizeof(int));
        device->item = sn_gpu_store_put(store, s.item, items, sizeof *s.item);
        device->cluster_start =
            sn_gpu_store_put(store, start, (size_t)c->clusters + 1, sizeof(int));
        device->cluster_slot = sn_gpu_store_put(store, slot, count, sizeof(int));
        device->center = sn_gpu_store_put(store, c->center, (size_t)c->clusters, sizeof *c->center);
        device->inverse =
            sn_gpu_store_put(store, c->inverse, m * (size_t)c->columns, sizeof(uint16_t));
        device->scale = sn_gpu_store_put(store, c->scale, (size_t)c->columns, sizeof(float));
        *most_items = s.most_items;
    }
    free_slots(&s), sn_free(start), sn_free(slot);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

sinew_status sn_gpu_middle_upload(const sn_gpu_coarse *c, int blocks, sn_gpu_store *store,
                                  sn_middle_device *device, sinew_error *error) {
    slots s = {0};
    int *start = NULL, *slot = NULL;
    sn_middle_slot *about = NULL;
    bool ok = list_slots(c, blocks, &s) && list_by_cluster(&s, c->clusters, &start, &slot);
    if (ok) about = SN_NEW(sn_middle_slot, s.count);
    ok = ok && about;
    if (ok) {
        for (int k = 0; k < s.count; k++) {
            int first = start[s.cluster[k]];
            about[k] = (sn_middle_slot){.first_peer = first,
                                        .last_peer = start[s.cluster[k] + 1],
                                        .inverse = c->scale[s.cluster[k]],
                                        .counts = slot[first] == k};
        }
        size_t n = (size_t)c->free_count, count = (size_t)s.count;
        *device =
            (sn_middle_device){.clusters = c->clusters, .slots = s.count, .most_slots = s.most};
        device->weight = sn_gpu_store_put(store, c->weight, n, sizeof(sn_float4));
        device->slot = sn_gpu_store_put(store, s.local, PER_VERTEX * n, sizeof *s.local);
        device->slot_start = sn_gpu_store_put(store, s.start, (size_t)blocks + 1, sizeof(int));
        device->about = sn_gpu_store_put(store, about, count, sizeof *about);
        device->peer = sn_gpu_store_put(store, slot, count, sizeof *slot);
        device->item_start = sn_gpu_store_put(store, s.item_start, count + 1, sizeof(int));
        device->item = sn_gpu_store_put(store, s.item, (size_t)s.item_start[count], sizeof *s.item);
    }
    free_slots(&s), sn_free(start), sn_free(slot), sn_free(about);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}
