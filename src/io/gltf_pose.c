/* Posing glTF as specified: a channel replaces one property of a node; a skinned mesh
 * is positioned by its joints,
 *
 *   x' = sum_j w_j J_j B_j (x + sum_t m_t d_t)
 *
 * J_j: the joint's matrix in the world, B_j: its inverse bind matrix, m_t: morph weights. */
#include "io/gltf_pose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "io/names.h"

/* What a node is moved by; keys of an animation replace what the file has. */
typedef struct node_state {
    double translation[3], rotation[4], scale[3]; /* rotation x, y, z, w */
    sn_gltf_transform matrix;                     /* of a node that gives one */
    bool has_matrix;
    int parent; /* -1: none */
    sn_gltf_transform world;
    int placed;      /* 0 not yet, 1 under way, 2 done */
    double *weights; /* animated morph weights; NULL: as stored */
    int weight_count;
} node_state;

typedef struct poser {
    sn_gltf *gltf;
    int node_count;
    node_state *nodes;
} poser;

static void release(poser *p) {
    for (int i = 0; p->nodes && i < p->node_count; i++) sn_free(p->nodes[i].weights);
    sn_free(p->nodes);
}

static const json_t *node_at(const poser *p, int index) {
    return json_array_get(json_object_get(p->gltf->root, "nodes"), (size_t)index);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void read_list(const json_t *list, size_t count, double *numbers) {
    for (size_t i = 0; i < count && i < json_array_size(list); i++) {
        double value = json_number_value(json_array_get(list, i));
        if (isfinite(value)) numbers[i] = value;
    }
}

static sinew_status read_nodes(poser *p) {
    p->node_count = sn_gltf_count(p->gltf, "nodes");
    p->nodes = SN_NEW0(node_state, p->node_count);
    if (!p->nodes) return sn_no_memory(p->gltf->error);
    for (int i = 0; i < p->node_count; i++) p->nodes[i].parent = -1;
    for (int i = 0; i < p->node_count; i++) {
        node_state *n = &p->nodes[i];
        const json_t *node = node_at(p, i), *matrix = json_object_get(node, "matrix");
        n->rotation[3] = n->scale[0] = n->scale[1] = n->scale[2] = 1;
        read_list(json_object_get(node, "translation"), 3, n->translation);
        read_list(json_object_get(node, "rotation"), 4, n->rotation);
        read_list(json_object_get(node, "scale"), 3, n->scale);
        n->has_matrix = json_array_size(matrix) == 16;
        if (n->has_matrix) {
            double m[16] = {0};
            read_list(matrix, 16, m);
            n->matrix.linear = sn_mat3_columns(sn_v3(m[0], m[1], m[2]), sn_v3(m[4], m[5], m[6]),
                                               sn_v3(m[8], m[9], m[10]));
            n->matrix.translation = sn_v3(m[12], m[13], m[14]);
        }
        const json_t *children = json_object_get(node, "children");
        for (size_t k = 0; k < json_array_size(children); k++) {
            int64_t child;
            if (sn_json_integer(json_array_get(children, k), 0, p->node_count - 1, &child))
                p->nodes[child].parent = i;
        }
    }
    return SINEW_OK;
}

static sn_gltf_transform local_transform(const node_state *n) {
    if (n->has_matrix) return n->matrix;
    sn_gltf_transform t = {.linear = sn_mat3_identity()};
    sn_quat q = {n->rotation[3], n->rotation[0], n->rotation[1], n->rotation[2]};
    if (q.w != 0 || q.x != 0 || q.y != 0 || q.z != 0)
        t.linear = sn_quat_to_mat3(sn_quat_normalize(q));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) t.linear.m[i][j] *= n->scale[j];
    t.translation = sn_v3(n->translation[0], n->translation[1], n->translation[2]);
    return t;
}

static sn_gltf_transform product(const sn_gltf_transform *a, const sn_gltf_transform *b) {
    return (sn_gltf_transform){
        .linear = sn_mat3_multiply(a->linear, b->linear),
        .translation = sn_add(sn_mat3_apply(a->linear, b->translation), a->translation)};
}

/* Climbs to a placed ancestor, then places nodes on the way down. The walk of the scene has refused
 * circles among nodes that it shows; joints may lie elsewhere. */
static sinew_status place(poser *p, int index) {
    int top = index, steps = 0;
    while (p->nodes[top].placed != 2 && p->nodes[top].parent >= 0 && steps++ <= p->node_count)
        top = p->nodes[top].parent;
    if (steps > p->node_count) return sn_gltf_fail(p->gltf, "node %d is its own parent", index);
    while (p->nodes[index].placed != 2) {
        int at = index;
        while (p->nodes[at].parent >= 0 && p->nodes[p->nodes[at].parent].placed != 2)
            at = p->nodes[at].parent;
        node_state *n = &p->nodes[at];
        sn_gltf_transform local = local_transform(n);
        n->world = n->parent >= 0 ? product(&p->nodes[n->parent].world, &local) : local;
        n->placed = 2;
    }
    return SINEW_OK;
}

/* ---- animation ------------------------------------------------------------------------------- */

static sinew_status find_clip(sn_gltf *g, const char *name, const json_t **clip) {
    const json_t *animations = json_object_get(g->root, "animations");
    char list[240] = "";
    size_t used = 0;
    *clip = name ? NULL : json_array_get(animations, 0);
    const json_t *near = NULL; /* its name differs in case */
    int near_count = 0;
    for (size_t i = 0; name && i < json_array_size(animations); i++) {
        const json_t *animation = json_array_get(animations, i);
        const char *own = sn_json_string(animation, "name");
        char number[32];
        snprintf(number, sizeof number, "%zu", i);
        if (!own) own = number;
        if (strcmp(own, name) == 0) {
            *clip = animation;
            return SINEW_OK;
        }
        if (sn_same_but_case(own, name, strlen(name))) near = animation, near_count++;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, " '%s'", own);
    }
    if (near_count == 1) *clip = near;
    if (!name || *clip || !*name) return SINEW_OK;
    return sn_gltf_fail(g, "has no clip '%s'; its clips are:%s", name, used ? list : " none");
}

/* Quaternions along the shorter arc. */
static void slerp(const double *a, const double *b, double u, double *out) {
    double dot = 0, sign = 1;
    for (int i = 0; i < 4; i++) dot += a[i] * b[i];
    if (dot < 0) dot = -dot, sign = -1;
    double angle = acos(fmin(dot, 1)), s = sin(angle);
    double p = s > 1e-6 ? sin((1 - u) * angle) / s : 1 - u;
    double q = s > 1e-6 ? sin(u * angle) / s : u;
    for (int i = 0; i < 4; i++) out[i] = p * a[i] + sign * q * b[i];
}

/* out[width] of a sampler at a time. */
static sinew_status sample(poser *p, const json_t *sampler, const char *what, int components,
                           int width, double time, bool rotation, double *out) {
    sn_gltf *g = p->gltf;
    const char *interpolation = sn_json_string(sampler, "interpolation");
    bool step = interpolation && !strcmp(interpolation, "STEP");
    bool cubic = interpolation && !strcmp(interpolation, "CUBICSPLINE");
    sn_gltf_accessor input, output;
    SN_TRY(sn_gltf_accessor_open(g, json_object_get(sampler, "input"), "animation times", 1, -1,
                                 &input));
    SN_TRY(sn_gltf_accessor_open(g, json_object_get(sampler, "output"), what, components, -1,
                                 &output));
    size_t rows = (size_t)input.count * (cubic ? 3 : 1), n = (size_t)width;
    if (input.count < 1 || (size_t)output.count * (size_t)components != rows * n)
        return sn_gltf_fail(g, "%s: %d keys do not fit %d values", what, input.count, output.count);
    double *times = SN_NEW(double, input.count), *values = SN_NEW(double, rows *n);
    sinew_status status = times && values ? SINEW_OK : sn_no_memory(g->error);
    if (status == SINEW_OK) status = sn_gltf_read_times(g, &input, times);
    if (status == SINEW_OK) status = sn_gltf_accessor_read(g, &output, what, values);
    if (status == SINEW_OK) {
        int k = 0, last = input.count - 1;
        while (k < last && times[k + 1] <= time) k++;
        int next = k < last && time > times[k] ? k + 1 : k;
        double length = times[next] - times[k], u = length > 0 ? (time - times[k]) / length : 0;
        const double *a = values + (size_t)k * n * (cubic ? 3 : 1) + (cubic ? n : 0);
        const double *b = values + (size_t)next * n * (cubic ? 3 : 1) + (cubic ? n : 0);
        const double *in = cubic ? b - n : b; /* tangent before the next key */
        double u2 = u * u, u3 = u2 * u;
        for (size_t i = 0; i < n; i++)
            out[i] = step || next == k ? a[i]
                     : cubic
                         ? (2 * u3 - 3 * u2 + 1) * a[i] + (u3 - 2 * u2 + u) * length * a[n + i] +
                               (3 * u2 - 2 * u3) * b[i] + (u3 - u2) * length * in[i]
                         : (1 - u) * a[i] + u * b[i];
        if (rotation && !step && !cubic && next != k) slerp(a, b, u, out);
        for (size_t i = 0; i < n; i++)
            if (!isfinite(out[i])) status = sn_gltf_fail(g, "%s are not finite", what);
    }
    sn_free(times);
    sn_free(values);
    return status;
}

static int target_count(const poser *p, int node) {
    const json_t *mesh = sn_gltf_item(p->gltf, "meshes", json_object_get(node_at(p, node), "mesh"));
    const json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    return (int)json_array_size(json_object_get(primitive, "targets"));
}

static sinew_status apply_channel(poser *p, const json_t *clip, const json_t *channel,
                                  double time) {
    const json_t *target = json_object_get(channel, "target");
    const json_t *samplers = json_object_get(clip, "samplers");
    const char *path = sn_json_string(target, "path");
    int64_t node, index;
    if (!path || !sn_json_integer(json_object_get(target, "node"), 0, p->node_count - 1, &node))
        return SINEW_OK; /* of an extension */
    if (!sn_json_integer(json_object_get(channel, "sampler"), 0,
                         (int64_t)json_array_size(samplers) - 1, &index))
        return sn_gltf_fail(p->gltf, "an animation names a sampler that does not exist");
    const json_t *sampler = json_array_get(samplers, (size_t)index);
    node_state *n = &p->nodes[node];
    if (!strcmp(path, "translation"))
        return sample(p, sampler, "translations", 3, 3, time, false, n->translation);
    if (!strcmp(path, "rotation"))
        return sample(p, sampler, "rotations", 4, 4, time, true, n->rotation);
    if (!strcmp(path, "scale")) return sample(p, sampler, "scales", 3, 3, time, false, n->scale);
    if (strcmp(path, "weights") != 0 || n->weights) return SINEW_OK;
    n->weight_count = target_count(p, (int)node);
    if (n->weight_count == 0) return SINEW_OK;
    n->weights = SN_NEW0(double, n->weight_count);
    if (!n->weights) return sn_no_memory(p->gltf->error);
    return sample(p, sampler, "animation weights", 1, n->weight_count, time, false, n->weights);
}

static sinew_status apply_clip(poser *p, const sn_gltf_pose *pose) {
    const json_t *clip;
    SN_TRY(find_clip(p->gltf, pose->clip, &clip));
    const json_t *channels = json_object_get(clip, "channels");
    for (size_t c = 0; c < json_array_size(channels); c++)
        SN_TRY(apply_channel(p, clip, json_array_get(channels, c), pose->time));
    return SINEW_OK;
}

sinew_status sn_gltf_clip_range(sn_gltf *g, const char *name, double *start, double *end) {
    const json_t *clip;
    *start = INFINITY, *end = -INFINITY;
    SN_TRY(find_clip(g, name, &clip));
    const json_t *samplers = json_object_get(clip, "samplers");
    for (size_t i = 0; i < json_array_size(samplers); i++) {
        sn_gltf_accessor input;
        SN_TRY(sn_gltf_accessor_open(g, json_object_get(json_array_get(samplers, i), "input"),
                                     "animation times", 1, -1, &input));
        double *times = SN_NEW(double, input.count);
        if (!times) return sn_no_memory(g->error);
        sinew_status status = sn_gltf_read_times(g, &input, times);
        for (int k = 0; status == SINEW_OK && k < input.count; k++)
            *start = fmin(*start, times[k]), *end = fmax(*end, times[k]);
        sn_free(times);
        SN_TRY(status);
    }
    return *end >= *start ? SINEW_OK : sn_gltf_fail(g, "holds no animation");
}

/* ---- vertices -------------------------------------------------------------------------------- */

static double morph_weight(const poser *p, int node, const json_t *mesh, int t) {
    const node_state *n = node >= 0 ? &p->nodes[node] : NULL;
    if (n && n->weights) return t < n->weight_count ? n->weights[t] : 0;
    const json_t *list = node >= 0 ? json_object_get(node_at(p, node), "weights") : NULL;
    if (!list) list = json_object_get(mesh, "weights");
    double weight = json_number_value(json_array_get(list, (size_t)t));
    return isfinite(weight) ? weight : 0;
}

/* Local positions with morph targets: rows[3 * count]. */
static sinew_status morph(poser *p, const sn_gltf_instance *instance, const sn_gltf_block *block,
                          double *rows) {
    sn_gltf *g = p->gltf;
    sn_gltf_accessor accessor;
    SN_TRY(sn_gltf_accessor_open(g, json_object_get(block->attributes, "POSITION"), "POSITION", 3,
                                 block->count, &accessor));
    SN_TRY(sn_gltf_accessor_read(g, &accessor, "POSITION", rows));
    double *delta = SN_NEW(double, 3 * (size_t)block->count);
    if (!delta) return sn_no_memory(g->error);
    sinew_status status = SINEW_OK;
    for (size_t t = 0; status == SINEW_OK && t < json_array_size(block->targets); t++) {
        double weight = morph_weight(p, instance->node, instance->mesh, (int)t);
        const json_t *index = json_object_get(json_array_get(block->targets, t), "POSITION");
        if (weight == 0 || !index) continue;
        status = sn_gltf_accessor_open(g, index, "a morph target", 3, block->count, &accessor);
        if (status == SINEW_OK)
            status = sn_gltf_accessor_read(g, &accessor, "a morph target", delta);
        for (size_t i = 0; status == SINEW_OK && i < 3 * (size_t)block->count; i++)
            rows[i] += weight * delta[i];
    }
    sn_free(delta);
    return status;
}

/* J_j B_j of every joint; new, *count of them. */
static sinew_status joint_matrices(poser *p, const json_t *skin, sn_gltf_transform **matrices,
                                   int *count) {
    sn_gltf *g = p->gltf;
    const json_t *joints = json_object_get(skin, "joints");
    const json_t *bind = json_object_get(skin, "inverseBindMatrices");
    *count = (int)json_array_size(joints);
    *matrices = SN_NEW(sn_gltf_transform, *count);
    double *m = SN_NEW0(double, 16 * (size_t)*count);
    sinew_status status = *matrices && m ? SINEW_OK : sn_no_memory(g->error);
    if (status == SINEW_OK && bind) {
        sn_gltf_accessor accessor;
        status = sn_gltf_accessor_open(g, bind, "inverse bind matrices", 16, -1, &accessor);
        if (status == SINEW_OK && accessor.count < *count)
            status = sn_gltf_fail(g, "a skin has %d joints and %d bind matrices", *count,
                                  accessor.count);
        accessor.count = *count;
        if (status == SINEW_OK)
            status = sn_gltf_accessor_read(g, &accessor, "inverse bind matrices", m);
    }
    for (int j = 0; status == SINEW_OK && j < *count; j++) {
        const double *b = m + 16 * (size_t)j;
        sn_gltf_transform inverse = {.linear = sn_mat3_identity()};
        int64_t node;
        if (bind)
            inverse = (sn_gltf_transform){.linear = sn_mat3_columns(sn_v3(b[0], b[1], b[2]),
                                                                    sn_v3(b[4], b[5], b[6]),
                                                                    sn_v3(b[8], b[9], b[10])),
                                          .translation = sn_v3(b[12], b[13], b[14])};
        if (!sn_json_integer(json_array_get(joints, (size_t)j), 0, p->node_count - 1, &node))
            status = sn_gltf_fail(g, "a skin names a joint that does not exist");
        if (status == SINEW_OK) status = place(p, (int)node);
        if (status == SINEW_OK) (*matrices)[j] = product(&p->nodes[node].world, &inverse);
    }
    sn_free(m);
    return status;
}

/* Adds the influences of JOINTS_n and WEIGHTS_n. */
static sinew_status add_influences(poser *p, const sn_gltf_block *block, int set,
                                   const sn_gltf_transform *matrices, int joint_count,
                                   const double *rows, double *sum, double *total) {
    sn_gltf *g = p->gltf;
    char joint_name[16], weight_name[16];
    snprintf(joint_name, sizeof joint_name, "JOINTS_%d", set);
    snprintf(weight_name, sizeof weight_name, "WEIGHTS_%d", set);
    const json_t *joint_index = json_object_get(block->attributes, joint_name);
    const json_t *weight_index = json_object_get(block->attributes, weight_name);
    if (!joint_index || !weight_index) return SINEW_OK;
    sn_gltf_accessor joints, weights;
    SN_TRY(sn_gltf_accessor_open(g, joint_index, joint_name, 4, block->count, &joints));
    SN_TRY(sn_gltf_accessor_open(g, weight_index, weight_name, 4, block->count, &weights));
    if (joints.count != block->count || weights.count != block->count)
        return sn_gltf_fail(g, "%s does not fit its vertices", joint_name);
    double *j = SN_NEW(double, 4 * (size_t)block->count),
           *w = SN_NEW(double, 4 * (size_t)block->count);
    sinew_status status = j && w ? SINEW_OK : sn_no_memory(g->error);
    if (status == SINEW_OK) status = sn_gltf_accessor_read(g, &joints, joint_name, j);
    if (status == SINEW_OK) status = sn_gltf_accessor_read(g, &weights, weight_name, w);
    for (int i = 0; status == SINEW_OK && i < 4 * block->count; i++) {
        if (w[i] == 0) continue;
        if (!(j[i] >= 0 && j[i] < joint_count)) {
            status = sn_gltf_fail(g, "vertex %d names joint %g, its skin has %d", i / 4, j[i],
                                  joint_count);
            break;
        }
        sn_vec3 x = sn_gltf_transform_point(&matrices[(int)j[i]], sn_at(rows, i / 4));
        sn_put(sum, i / 4, sn_add_scaled(sn_at(sum, i / 4), w[i], x));
        total[i / 4] += w[i];
    }
    sn_free(j), sn_free(w);
    return status;
}

static sinew_status skin_block(poser *p, const json_t *skin, const sn_gltf_block *block,
                               const double *rows, double *positions) {
    sn_gltf_transform *matrices = NULL;
    int joint_count;
    double *total = SN_NEW0(double, block->count);
    sinew_status status = total ? SINEW_OK : sn_no_memory(p->gltf->error);
    if (status == SINEW_OK) status = joint_matrices(p, skin, &matrices, &joint_count);
    memset(positions, 0, 3 * (size_t)block->count * sizeof *positions);
    for (int set = 0; status == SINEW_OK && set < 4; set++)
        status = add_influences(p, block, set, matrices, joint_count, rows, positions, total);
    for (int v = 0; status == SINEW_OK && v < block->count; v++)
        sn_put(positions, v,
               total[v] > 0 ? sn_scale(1 / total[v], sn_at(positions, v)) : sn_at(rows, v));
    sn_free(matrices), sn_free(total);
    return status;
}

static sinew_status pose_block(poser *p, const sn_gltf_instance *instance,
                               const sn_gltf_block *block, double *positions) {
    double *rows = SN_NEW(double, 3 * (size_t)block->count);
    if (!rows) return sn_no_memory(p->gltf->error);
    sinew_status status = morph(p, instance, block, rows);
    const json_t *node = instance->node >= 0 ? node_at(p, instance->node) : NULL;
    const json_t *skin = sn_gltf_item(p->gltf, "skins", json_object_get(node, "skin"));
    if (status == SINEW_OK && skin) status = skin_block(p, skin, block, rows, positions);
    if (status == SINEW_OK && !skin && node) status = place(p, instance->node);
    for (int v = 0; status == SINEW_OK && !skin && v < block->count; v++) {
        sn_vec3 x = sn_at(rows, v);
        sn_put(positions, v,
               node ? sn_gltf_transform_point(&p->nodes[instance->node].world, x) : x);
    }
    for (size_t i = 0; status == SINEW_OK && i < 3 * (size_t)block->count; i++)
        if (!isfinite(positions[i]))
            status = sn_gltf_fail(p->gltf, "a pose sends a vertex to infinity");
    sn_free(rows);
    return status;
}

sinew_status sn_gltf_pose_apply(sn_gltf *gltf, const sn_gltf_pose *pose,
                                const sn_gltf_instance *instances, const sn_gltf_block *blocks,
                                size_t block_count, double *positions) {
    poser p = {.gltf = gltf};
    sinew_status status = read_nodes(&p);
    if (status == SINEW_OK) status = apply_clip(&p, pose);
    for (size_t b = 0; status == SINEW_OK && b < block_count; b++)
        status = pose_block(&p, &instances[blocks[b].instance], &blocks[b],
                            positions + 3 * (size_t)blocks[b].first);
    release(&p);
    return status;
}
