/* Skinning as FBX stores it. A cluster ties a bone to vertices with weights:
 *
 *   x' = sum_b w_b M_b x / sum_b w_b,   M_b = B_b A_b G
 *
 * B_b: the bone's matrix now, A_b: the cluster's Transform, from the mesh's node to the bone as
 * they stood when they were bound, G: the geometric offset of the node. Vertices that no bone holds
 * stay with their node.
 *
 * A skin may ask for dual quaternions instead, or for a blend of both per vertex.
 * Based on: Kavan et al., "Geometric skinning with approximate dual quaternion blending" (2008).
 * With M_b = R_b Y_b (polar) and translation t_b, the stretches Y_b are blended linearly, and the
 * rigid motions as q_b + e q_b', q_b' = t_b q_b / 2. */
#include "io/fbx_skin.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"

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

static const sn_fbx_model *model_of(const sn_fbx_scene *s, int object) {
    for (int i = 0; i < s->model_count; i++)
        if (s->models[i].object == object) return &s->models[i];
    return NULL;
}

/* The root of the scene may be a bone too: it never moves. */
static const sn_fbx_model *find_bone(const sn_fbx_scene *s, int cluster) {
    static const sn_fbx_model root = {.object = -1,
                                      .world = {.linear = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}}};
    for (int k = s->first_to[cluster]; k < s->first_to[cluster + 1]; k++) {
        int child = s->connections[s->connections_to[k]].child;
        if (sn_fbx_is(s, child, "Model", NULL)) return model_of(s, child);
    }
    return s->objects[cluster].holds_root ? &root : NULL;
}

/* The sum of a vertex's rigid motions as dual quaternions, and of its stretches. */
typedef struct dual {
    sn_quat real, moved;
    sn_mat3 stretch;
} dual;

static void add_scaled(sn_quat *sum, double w, sn_quat q) {
    sum->w += w * q.w, sum->x += w * q.x, sum->y += w * q.y, sum->z += w * q.z;
}

/* A motion as a dual quaternion with weight 1. */
static dual dual_of(const sn_fbx_affine *m) {
    dual d;
    sn_mat3 rotation;
    sn_polar3(m->linear, &rotation, &d.stretch);
    d.real = sn_quat_from_mat3(rotation);
    sn_quat t = {0, 0.5 * m->translation.x, 0.5 * m->translation.y, 0.5 * m->translation.z};
    d.moved = sn_quat_multiply(t, d.real);
    return d;
}

/* Quaternions q and -q are the same rotation: the nearer one to what is there counts. */
static void add_dual(dual *sum, double w, const dual *d) {
    const sn_quat *a = &sum->real, *b = &d->real;
    double sign = a->w * b->w + a->x * b->x + a->y * b->y + a->z * b->z < 0 ? -w : w;
    add_scaled(&sum->real, sign, d->real);
    add_scaled(&sum->moved, sign, d->moved);
    sum->stretch = sn_mat3_add(sum->stretch, sn_mat3_scale(w, d->stretch));
}

static sn_vec3 apply_dual(const dual *d, double total, sn_vec3 p) {
    const sn_quat *q = &d->real;
    double square = q->w * q->w + q->x * q->x + q->y * q->y + q->z * q->z;
    if (!(square > 0)) return p;
    sn_quat back = {q->w, -q->x, -q->y, -q->z};
    sn_quat t = sn_quat_multiply(d->moved, back); /* half the translation, times the square */
    sn_mat3 rotation = sn_quat_to_mat3(sn_quat_normalize(*q));
    sn_vec3 stretched = sn_scale(1 / total, sn_mat3_apply(d->stretch, p));
    return sn_add_scaled(sn_mat3_apply(rotation, stretched), 2 / square, sn_v3(t.x, t.y, t.z));
}

/* Adds a cluster to sum[3 * count] and total[count], and to duals[count] where they are wanted. */
static sinew_status add_cluster(const sn_fbx_scene *s, int node, const sn_fbx_model *bone,
                                const sn_fbx_affine *geometric, int count, const double *local,
                                double *sum, double *total, dual *duals) {
    const sn_fbx_tree *t = &s->tree;
    if (!bone || sn_fbx_child(t, node, "Indexes") < 0 || sn_fbx_child(t, node, "Transform") < 0)
        return SINEW_OK; /* it was not bound */
    static const sn_fbx_object root = {.name = "the root", .name_size = 8};
    const sn_fbx_object *owner = bone->object >= 0 ? &s->objects[bone->object] : &root;
    sn_fbx_affine bound;
    SN_TRY(read_matrix(t, node, "Transform", &bound));
    sn_fbx_affine matrix = sn_fbx_compose(sn_fbx_compose(bone->world, bound), *geometric);
    dual turned = {0};
    if (duals) turned = dual_of(&matrix);
    int64_t *index = NULL;
    double *weights = NULL;
    int index_count, weight_count = 0;
    SN_TRY(sn_fbx_integers(t, sn_fbx_child(t, node, "Indexes"), &index, &index_count));
    sinew_status status =
        sn_fbx_numbers(t, sn_fbx_child(t, node, "Weights"), &weights, &weight_count);
    if (status == SINEW_OK && index_count != weight_count)
        status = sn_fbx_fail(t, "skin cluster of '%.*s' has %d vertices and %d weights",
                             owner->name_size, owner->name, index_count, weight_count);
    for (int k = 0; status == SINEW_OK && k < index_count; k++) {
        if (index[k] < 0 || index[k] >= count) {
            status = sn_fbx_fail(t, "skin cluster of '%.*s' holds vertex %lld, but there are %d",
                                 owner->name_size, owner->name, (long long)index[k], count);
            break;
        }
        int v = (int)index[k];
        sn_put(sum, v,
               sn_add_scaled(sn_at(sum, v), weights[k], sn_fbx_apply(&matrix, sn_at(local, v))));
        total[v] += weights[k];
        if (duals) add_dual(&duals[v], weights[k], &turned);
    }
    sn_free(index);
    sn_free(weights);
    return status;
}

/* How much of each vertex is skinned with dual quaternions, 0 to 1; NULL: none is. */
static sinew_status read_dual_share(const sn_fbx_scene *s, int skin, int count, double **share) {
    const sn_fbx_tree *t = &s->tree;
    int node = s->objects[skin].node;
    const sn_fbx_value *type = sn_fbx_value_at(t, sn_fbx_child(t, node, "SkinningType"), 0);
    bool whole = sn_fbx_text_is(type, "DualQuaternion");
    *share = NULL;
    if (!whole && !sn_fbx_text_is(type, "Blend")) return SINEW_OK;
    *share = SN_NEW(double, count);
    if (!*share) return sn_no_memory(t->error);
    for (int v = 0; v < count; v++) (*share)[v] = whole;
    if (whole) return SINEW_OK;
    int64_t *index = NULL;
    double *weights = NULL;
    int index_count = 0, weight_count = 0;
    sinew_status status =
        sn_fbx_integers(t, sn_fbx_child(t, node, "Indexes"), &index, &index_count);
    if (status == SINEW_OK)
        status = sn_fbx_numbers(t, sn_fbx_child(t, node, "BlendWeights"), &weights, &weight_count);
    for (int k = 0; k < index_count && k < weight_count; k++)
        if (index[k] >= 0 && index[k] < count) (*share)[index[k]] = fmin(fmax(weights[k], 0), 1);
    sn_free(index), sn_free(weights);
    return status;
}

/* Sums over the clusters of a skin, then, where its vertices ask for them, dual quaternions in the
 * place of the linear sums. */
static sinew_status add_skin(const sn_fbx_scene *s, int skin, const sn_fbx_affine *geometric,
                             int count, const double *local, double *sum, double *total) {
    double *share;
    dual *duals = NULL;
    sinew_status status = read_dual_share(s, skin, count, &share);
    if (status == SINEW_OK && share && !(duals = SN_NEW0(dual, count)))
        status = sn_no_memory(s->tree.error);
    for (int c = s->first_to[skin]; status == SINEW_OK && c < s->first_to[skin + 1]; c++) {
        int cluster = s->connections[s->connections_to[c]].child;
        if (sn_fbx_is(s, cluster, "Deformer", "Cluster"))
            status = add_cluster(s, s->objects[cluster].node, find_bone(s, cluster), geometric,
                                 count, local, sum, total, duals);
    }
    for (int v = 0; status == SINEW_OK && duals && v < count; v++) {
        if (!(share[v] > 0) || !(total[v] > 0)) continue;
        sn_vec3 turned = sn_scale(total[v], apply_dual(&duals[v], total[v], sn_at(local, v)));
        sn_vec3 linear = sn_at(sum, v);
        sn_put(sum, v, sn_add_scaled(linear, share[v], sn_sub(turned, linear)));
    }
    sn_free(share), sn_free(duals);
    return status;
}

/* 5.x: Link: "Bone01" { Indexes, Weights, Transform } inside the mesh's model. */
static sinew_status add_links(const sn_fbx_scene *s, const sn_fbx_model *model, int count,
                              const double *local, double *sum, double *total) {
    for (int link = sn_fbx_child(&s->tree, model->mesh, "Link"); link >= 0;
         link = sn_fbx_next_same(&s->tree, link)) {
        const sn_fbx_value *name = sn_fbx_value_at(&s->tree, link, 0);
        int bone = name ? sn_fbx_find_object(s, name) : -1;
        if (bone >= 0)
            SN_TRY(add_cluster(s, link, model_of(s, bone), &model->offset, count, local, sum, total,
                               NULL));
    }
    return SINEW_OK;
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
        if (sn_fbx_is(s, skin, "Deformer", "Skin"))
            status = add_skin(s, skin, &model->offset, count, local, world, total);
    }
    if (status == SINEW_OK) status = add_links(s, model, count, local, world, total);
    for (int v = 0; v < count; v++)
        sn_put(world, v,
               total[v] > 0   ? sn_scale(1 / total[v], sn_at(world, v))
               : model->still ? sn_at(local, v)
                              : sn_fbx_apply(&model->geometry, sn_at(local, v)));
    sn_free(total);
    return status;
}
