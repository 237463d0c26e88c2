/* Linear blend skinning as FBX stores it. A cluster ties a bone to vertices with weights:
 *
 *   x' = sum_b w_b B_b A_b G x / sum_b w_b
 *
 * B_b: the bone's matrix now, A_b: the cluster's Transform, from the mesh's node to the bone as
 * they stood when they were bound, G: the geometric offset of the node. Vertices that no bone holds
 * stay with their node. */
#include "io/fbx_skin.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Sixteen numbers, a column after the other. */
static sinew_status read_matrix(const sn_fbx_tree *t, int node, const char *name,
                                sn_fbx_affine *matrix) {
    double *m;
    int count;
    SN_TRY(sn_fbx_numbers(t, sn_fbx_child(t, node, name), &m, &count));
    sinew_status status = SINEW_OK;
    if (count == 16) {
        matrix->linear = sn_mat3_columns(sn_v3(m[0], m[1], m[2]), sn_v3(m[4], m[5], m[6]),
                                         sn_v3(m[8], m[9], m[10]));
        matrix->translation = sn_v3(m[12], m[13], m[14]);
    } else {
        status = sn_fbx_fail(t, "a skin cluster's %s has %d numbers instead of 16", name, count);
    }
    sn_free(m);
    return status;
}

static const sn_fbx_model *find_bone(const sn_fbx_scene *s, int cluster) {
    for (int k = s->first_to[cluster]; k < s->first_to[cluster + 1]; k++) {
        int child = s->connections[s->connections_to[k]].child;
        for (int i = 0; sn_fbx_is(s, child, "Model", NULL) && i < s->model_count; i++)
            if (s->models[i].object == child) return &s->models[i];
    }
    return NULL;
}

/* Adds a cluster to sum[3 * count] and total[count]. */
static sinew_status add_cluster(const sn_fbx_scene *s, int cluster, const sn_fbx_affine *geometric,
                                int count, const double *local, double *sum, double *total) {
    const sn_fbx_tree *t = &s->tree;
    int node = s->objects[cluster].node;
    const sn_fbx_model *bone = find_bone(s, cluster);
    if (!bone || sn_fbx_child(t, node, "Indexes") < 0) return SINEW_OK;
    sn_fbx_affine bound;
    SN_TRY(read_matrix(t, node, "Transform", &bound));
    sn_fbx_affine matrix = sn_fbx_compose(sn_fbx_compose(bone->world, bound), *geometric);
    int64_t *index = NULL;
    double *weights = NULL;
    int index_count, weight_count = 0;
    SN_TRY(sn_fbx_integers(t, sn_fbx_child(t, node, "Indexes"), &index, &index_count));
    sinew_status status =
        sn_fbx_numbers(t, sn_fbx_child(t, node, "Weights"), &weights, &weight_count);
    if (status == SINEW_OK && index_count != weight_count)
        status = sn_fbx_fail(t, "skin cluster '%.*s' has %d vertices and %d weights",
                             s->objects[cluster].name_size, s->objects[cluster].name, index_count,
                             weight_count);
    for (int k = 0; status == SINEW_OK && k < index_count; k++) {
        if (index[k] < 0 || index[k] >= count) {
            status = sn_fbx_fail(t, "skin cluster '%.*s' holds vertex %lld, but there are %d",
                                 s->objects[cluster].name_size, s->objects[cluster].name,
                                 (long long)index[k], count);
            break;
        }
        int v = (int)index[k];
        sn_put(sum, v,
               sn_add_scaled(sn_at(sum, v), weights[k], sn_fbx_apply(&matrix, sn_at(local, v))));
        total[v] += weights[k];
    }
    sn_free(index);
    sn_free(weights);
    return status;
}

sinew_status sn_fbx_place_mesh(const sn_fbx_scene *s, const sn_fbx_model *model, int count,
                               const double *local, double *world) {
    double *total = SN_NEW0(double, count);
    if (!total) return sn_no_memory(s->tree.error);
    memset(world, 0, 3 * (size_t)count * sizeof *world);
    sinew_status status = SINEW_OK;
    int owner = model->mesh_object;
    for (int k = s->first_to[owner]; status == SINEW_OK && k < s->first_to[owner + 1]; k++) {
        int skin = s->connections[s->connections_to[k]].child;
        if (!sn_fbx_is(s, skin, "Deformer", "Skin")) continue;
        for (int c = s->first_to[skin]; status == SINEW_OK && c < s->first_to[skin + 1]; c++) {
            int cluster = s->connections[s->connections_to[c]].child;
            if (sn_fbx_is(s, cluster, "Deformer", "Cluster"))
                status = add_cluster(s, cluster, &model->offset, count, local, world, total);
        }
    }
    for (int v = 0; v < count; v++)
        sn_put(world, v,
               total[v] > 0   ? sn_scale(1 / total[v], sn_at(world, v))
               : model->still ? sn_at(local, v)
                              : sn_fbx_apply(&model->geometry, sn_at(local, v)));
    sn_free(total);
    return status;
}
