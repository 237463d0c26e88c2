#include "gpu/rebuild.h"

#include "base/memory.h"
#include "mesh/rotation_links.h"

enum {
    LEAST_CHUNK = 128,  /* vertices whose center one warp adds up, */
    MOST_CHUNKS = 1024, /* or more in large meshes: another one adds up the chunks */
    MOST_IN_BATCHES = 40000
};

/* Of the solve: bytes of its leaves, unknowns of its root, levels that become one. Single frames
 * wait for each level, batches for the values: each is multiplied with all frames. */
typedef struct tree_size {
    size_t leaf_bytes;
    int root, together;
} tree_size;
static const tree_size SINGLE = {24 << 20, 2200, 3}, BATCHES = {16 << 20, 1400, 3};

static bool is_held(const sn_gpu_shape *shape, int vertex) {
    return shape->held && shape->held[vertex] &&
           shape->held_total[shape->structure->vertex_component[vertex]] > 0;
}

typedef struct corner_list {
    int *start; /* vertices + 1 */
    int *item;
    double *value; /* 3 per entry */
} corner_list;

/* What a vertex adds up: |e| g of its corners, and its factors in links. */
static bool gather_corners(const sn_rotation_strain *rs, corner_list *g) {
    int n = rs->vertex_count;
    g->start = SN_NEW0(int, n + 2);
    if (!g->start) return false;
    int vertices[4];
    double values[4];
    for (int v = 0; v < n; v++) g->start[v + 2] = rs->corner_start[v + 1] - rs->corner_start[v];
    for (int l = 0; l < rs->link_count; l++) {
        sn_rotation_link_row(rs, l, vertices, values);
        for (int k = 0; k < 4; k++) g->start[vertices[k] + 2] += 2;
    }
    for (int v = 0; v < n; v++) g->start[v + 2] += g->start[v + 1];
    size_t total = (size_t)g->start[n + 1];
    g->item = SN_NEW(int, total);
    g->value = SN_NEW0(double, 3 * total);
    if (!g->item || !g->value) return false;
    for (int v = 0; v < n; v++)
        for (int c = rs->corner_start[v]; c < rs->corner_start[v + 1]; c++) {
            int corner = rs->vertex_corners[c], e = corner / rs->corners, at = g->start[v + 1]++;
            g->item[at] = e;
            for (int k = 0; k < 3; k++)
                g->value[3 * (size_t)at + (size_t)k] =
                    rs->weights[e] * rs->gradients[3 * (size_t)corner + (size_t)k];
        }
    for (int half = 0; half < 2 * rs->link_count; half++) {
        sn_rotation_link_row(rs, half / 2, vertices, values);
        for (int k = 0; k < 4; k++) {
            int at = g->start[vertices[k] + 1]++;
            g->item[at] = rs->element_count + half;
            g->value[3 * (size_t)at] = rs->link_stiffness[half / 2] * values[k];
        }
    }
    return true;
}

/* The Laplacian of rotation_system.c, without held vertices. grounded: with the entries that make
 * it definite. */
static sinew_status assemble(const sn_rotation_strain *rs, bool grounded, sn_sparse **matrix,
                             sinew_error *error) {
    int corners = rs->corners, next = 0;
    sn_triplets list;
    SN_TRY(sn_triplets_create(rs->vertex_count, rs->vertex_count,
                              10 * ((size_t)rs->element_count + (size_t)rs->link_count) +
                                  (size_t)rs->vertex_count,
                              &list, error));
    bool room = true;
    for (int e = 0; e < rs->element_count && room; e++)
        for (int i = 0; i < corners; i++)
            for (int j = 0; j < corners; j++) {
                int a = rs->elements[corners * e + i], b = rs->elements[corners * e + j];
                sn_vec3 g = sn_at(rs->gradients, corners * e + i),
                        h = sn_at(rs->gradients, corners * e + j);
                if (a >= b)
                    room = room && sn_triplets_add(&list, a, b, rs->weights[e] * sn_dot(g, h));
            }
    for (int l = 0; l < rs->link_count && room; l++) {
        int v[4];
        double values[4];
        sn_rotation_link_row(rs, l, v, values);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                if (v[i] >= v[j])
                    room = room && sn_triplets_add(&list, v[i], v[j],
                                                   rs->link_stiffness[l] * values[i] * values[j]);
    }
    for (int v = 0; v < rs->vertex_count && grounded && room; v++) {
        double diagonal = 0;
        if (rs->vertex_component[v] < 0) diagonal = 1;
        if (rs->vertex_component[v] == next) {
            for (int c = rs->corner_start[v]; c < rs->corner_start[v + 1]; c++) {
                int corner = rs->vertex_corners[c];
                sn_vec3 g = sn_at(rs->gradients, corner);
                diagonal += rs->weights[corner / corners] * sn_dot(g, g);
            }
            next++;
        }
        if (diagonal > 0) room = sn_triplets_add(&list, v, v, diagonal);
    }
    sinew_status status =
        room ? sn_sparse_from_triplets(&list, true, matrix, error) : sn_no_memory(error);
    sn_triplets_free(&list);
    return status;
}

/* Both triangles by row, on the device. */
static sinew_status put_matrix(const sn_sparse *matrix, sn_gpu_store *store,
                               sn_rotation_device *device, sinew_error *error) {
    int n = matrix->columns;
    size_t nonzeros = 2 * (size_t)sn_sparse_nonzeros(matrix);
    int *start = SN_NEW0(int, n + 2), *column = SN_NEW(int, nonzeros);
    double *value = SN_NEW(double, nonzeros);
    bool ok = start && column && value;
    if (ok) {
        for (int c = 0; c < n; c++)
            for (int e = matrix->start[c]; e < matrix->start[c + 1]; e++) {
                start[matrix->row[e] + 2]++;
                if (matrix->row[e] != c) start[c + 2]++;
            }
        for (int v = 0; v < n; v++) start[v + 2] += start[v + 1];
        for (int c = 0; c < n; c++)
            for (int e = matrix->start[c]; e < matrix->start[c + 1]; e++) {
                int r = matrix->row[e], at = start[r + 1]++;
                column[at] = c, value[at] = matrix->value[e];
                if (r == c) continue;
                at = start[c + 1]++;
                column[at] = r, value[at] = matrix->value[e];
            }
        device->row_start = sn_gpu_store_put(store, start, (size_t)n + 1, sizeof *start);
        device->row_column = sn_gpu_store_put(store, column, (size_t)start[n], sizeof *column);
        device->row_value = sn_gpu_store_put(store, value, (size_t)start[n], sizeof *value);
    }
    sn_free(start), sn_free(column), sn_free(value);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

static sinew_status put_vertices(const sn_gpu_shape *r, const sn_sparse *plain, sn_gpu_store *store,
                                 sn_rotation_device *device, sinew_error *error) {
    const sn_rotation_strain *rs = r->structure;
    size_t n = (size_t)rs->vertex_count;
    sn_double4 *rest = SN_NEW(sn_double4, n), *right = SN_NEW0(sn_double4, n);
    double *product = SN_NEW(double, 3 * n), *held = SN_NEW0(double, n);
    sinew_status status = rest && right && product && held ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        sn_sparse_multiply(plain, 3, r->rest, product);
        for (size_t v = 0; v < n; v++) {
            const double *x = r->rest + 3 * v, *y = product + 3 * v;
            rest[v] = (sn_double4){x[0], x[1], x[2], 0};
            int component = rs->vertex_component[v];
            if (component < 0) continue;
            right[v] = (sn_double4){y[0], y[1], y[2], 0};
            if (is_held(r, (int)v)) held[v] = rs->vertex_mass[v];
        }
        device->rest = sn_gpu_store_put(store, rest, n, sizeof *rest);
        device->rest_right = sn_gpu_store_put(store, right, n, sizeof *right);
        device->held_mass = sn_gpu_store_put(store, held, n, sizeof *held);
        device->vertex_mass = sn_gpu_store_put(store, rs->vertex_mass, n, sizeof(double));
        device->vertex_component = sn_gpu_store_put(store, rs->vertex_component, n, sizeof(int));
        status = sn_gpu_store_status(store, error);
    }
    sn_free(rest), sn_free(right), sn_free(product), sn_free(held);
    return status;
}

/* Components: their vertices in chunks, and their centers. */
static sinew_status put_components(const sn_gpu_shape *r, sn_gpu_store *store,
                                   sn_rotation_device *device, sinew_error *error) {
    const sn_rotation_strain *rs = r->structure;
    int parts = rs->component_count, n = rs->vertex_count;
    int chunk_size = n / MOST_CHUNKS > LEAST_CHUNK ? n / MOST_CHUNKS : LEAST_CHUNK;
    int most = n / chunk_size + parts + 1;
    int *size = SN_NEW0(int, parts + 1), *vertex = SN_NEW(int, n), *first = SN_NEW(int, parts + 1);
    int *start = SN_NEW(int, most + 1), *chunk = SN_NEW(int, parts + 1);
    sn_double4 *center = SN_NEW0(sn_double4, parts), *held = SN_NEW0(sn_double4, parts);
    sinew_status status = size && vertex && first && start && chunk && center && held
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int v = 0; v < n; v++)
            if (rs->vertex_component[v] >= 0) size[rs->vertex_component[v]]++;
        int at = 0, count = 0;
        for (int c = 0; c < parts; c++) {
            first[c] = at, chunk[c] = count;
            for (int k = 0; k < size[c]; k += chunk_size) start[count++] = at + k;
            at += size[c];
        }
        chunk[parts] = count, start[count] = at;
        device->chunk_count = count;
        for (int v = 0; v < n; v++) {
            int c = rs->vertex_component[v];
            if (c < 0) continue;
            vertex[first[c]++] = v;
            double mass = rs->vertex_mass[v];
            if (!is_held(r, v)) continue;
            const double *x = r->rest + 3 * (size_t)v;
            held[c].x += mass * x[0], held[c].y += mass * x[1], held[c].z += mass * x[2];
        }
        for (int c = 0; c < parts; c++) {
            const double *x = r->rest_centers + 3 * (size_t)c;
            double total = r->held_total ? r->held_total[c] : 0;
            center[c] = (sn_double4){x[0], x[1], x[2], rs->component_mass[c]};
            if (total > 0)
                held[c] =
                    (sn_double4){held[c].x / total, held[c].y / total, held[c].z / total, total};
        }
        size_t p = (size_t)parts;
        device->chunk_start = sn_gpu_store_put(store, start, (size_t)count + 1, sizeof *start);
        device->chunk_vertex = sn_gpu_store_put(store, vertex, (size_t)at, sizeof *vertex);
        device->component_chunk = sn_gpu_store_put(store, chunk, p + 1, sizeof *chunk);
        device->rest_center = sn_gpu_store_put(store, center, p, sizeof *center);
        device->held_center = sn_gpu_store_put(store, held, p, sizeof *held);
        status = sn_gpu_store_status(store, error);
    }
    sn_free(size), sn_free(vertex), sn_free(first), sn_free(start), sn_free(chunk);
    sn_free(center), sn_free(held);
    return status;
}

static sinew_status put_corners(const sn_rotation_strain *rs, sn_gpu_store *store,
                                sn_rotation_device *device, sinew_error *error) {
    corner_list corners = {0};
    bool ok = gather_corners(rs, &corners);
    if (ok) {
        size_t n = (size_t)rs->vertex_count, entries = (size_t)corners.start[n];
        device->corner_start = sn_gpu_store_put(store, corners.start, n + 1, sizeof(int));
        device->corner_item = sn_gpu_store_put(store, corners.item, entries, sizeof(int));
        device->corner_value = sn_gpu_store_put(store, corners.value, 3 * entries, sizeof(double));
        if (rs->rest_stretch)
            device->stretch = sn_gpu_store_put(store, rs->rest_stretch,
                                               6 * (size_t)rs->element_count, sizeof(double));
        device->half_rest =
            sn_gpu_store_put(store, rs->half_rest, 6 * (size_t)rs->link_count, sizeof(double));
    }
    sn_free(corners.start), sn_free(corners.item), sn_free(corners.value);
    return ok ? sn_gpu_store_status(store, error) : sn_no_memory(error);
}

sinew_status sn_gpu_rebuild_create(const sn_gpu_shape *shape, sn_gpu_store *store,
                                   sn_rotation_device *device, sn_dissection **dissection,
                                   sinew_error *error) {
    const sn_rotation_strain *rs = shape->structure;
    *dissection = NULL;
    if (rs->hold_count > 0)
        return sn_fail(error, SINEW_UNAVAILABLE,
                       "the GPU does not blend with held vertices ('hold')");
    *device = (sn_rotation_device){.vertex_count = rs->vertex_count,
                                   .element_count = rs->element_count,
                                   .item_count = rs->item_count,
                                   .component_count = rs->component_count};
    sn_sparse *plain = NULL, *grounded = NULL;
    sinew_status status = assemble(rs, false, &plain, error);
    if (status == SINEW_OK) status = assemble(rs, true, &grounded, error);
    if (status == SINEW_OK) status = put_corners(rs, store, device, error);
    if (status == SINEW_OK) status = put_vertices(shape, plain, store, device, error);
    if (status == SINEW_OK) status = put_components(shape, store, device, error);
    if (status == SINEW_OK) status = put_matrix(grounded, store, device, error);
    tree_size size = shape->batches && rs->vertex_count <= MOST_IN_BATCHES ? BATCHES : SINGLE;
    if (status == SINEW_OK)
        status = sn_dissection_create(grounded, shape->rest,
                                      sn_dissection_leaf(rs->vertex_count, size.leaf_bytes),
                                      size.root, size.together, dissection, error);
    if (status == SINEW_OK)
        status = sn_dissection_upload(*dissection, store, &device->solve, error);
    sn_sparse_destroy(plain), sn_sparse_destroy(grounded);
    if (status != SINEW_OK) sn_dissection_destroy(*dissection), *dissection = NULL;
    return status;
}

void sn_gpu_rebuild_work(const sn_rotation_device *d, const sn_dissection *dissection,
                         sn_gpu_store *store, sn_rotation_work *work) {
    size_t n = (size_t)d->vertex_count;
    work->gradient = sn_gpu_store_room(store, 9 * (size_t)d->item_count, sizeof(double));
    work->right = sn_gpu_store_room(store, n, sizeof(sn_double4));
    work->right32 = sn_gpu_store_room(store, n, sizeof(sn_float4));
    work->answer = sn_gpu_store_room(store, n, sizeof(sn_float4));
    work->shift = sn_gpu_store_room(store, n, sizeof(sn_double4));
    work->chunk_sum = sn_gpu_store_room(store, 6 * (size_t)d->chunk_count, sizeof(double));
    work->transform =
        sn_gpu_store_room(store, SN_TRANSFORM_SIZE * (size_t)d->component_count, sizeof(double));
    sn_dissection_work_room(dissection, store, &work->solve);
}
