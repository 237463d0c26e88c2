/* Blend-shape channels of FBX.
 *
 * A channel is a slider; its shapes at other weights than 100% are in-betweens. Channels of equal
 * name on different meshes move together, as exporters cut one character into several meshes. */
#include "io/fbx_shapes.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "io/fbx_animation.h"

/* A list of sparse displacements as dense rows: delta[3 * vertex_count], touched[vertex_count]. */
typedef struct dense {
    double *delta;
    bool *touched;
} dense;

static sinew_status read_shape(const sn_fbx_targets *r, const sn_fbx_model *model, int vertex_count,
                               const sn_fbx_shape *shape, dense *out) {
    int64_t *index = NULL;
    double *delta = NULL;
    int index_count, delta_count;
    int indexes = sn_fbx_child(&r->scene->tree, shape->node, "Indexes");
    int vertices = sn_fbx_child(&r->scene->tree, shape->node, "Vertices");
    if (indexes < 0 || vertices < 0) return SINEW_OK; /* it moves nothing */
    SN_TRY(sn_fbx_integers(&r->scene->tree, indexes, &index, &index_count));
    sinew_status status = sn_fbx_numbers(&r->scene->tree, vertices, &delta, &delta_count);
    char what[200];
    if (status == SINEW_OK && delta_count != 3 * (int64_t)index_count) {
        snprintf(what, sizeof what, "shape '%.*s' has %d vertices and %d coordinates",
                 shape->name_size < 80 ? shape->name_size : 80, shape->name, index_count,
                 delta_count);
        status = sn_fbx_fail_mesh(r->scene, model, what);
    }
    for (int k = 0; status == SINEW_OK && k < index_count; k++) {
        if (index[k] < 0 || index[k] >= vertex_count) {
            snprintf(what, sizeof what, "shape '%.*s' moves vertex %lld, but there are %d",
                     shape->name_size < 80 ? shape->name_size : 80, shape->name,
                     (long long)index[k], vertex_count);
            status = sn_fbx_fail_mesh(r->scene, model, what);
            break;
        }
        memcpy(out->delta + 3 * index[k], delta + 3 * (size_t)k, 3 * sizeof *delta);
        out->touched[index[k]] = true;
    }
    sn_free(index);
    sn_free(delta);
    return status;
}

static void clear_dense(dense *d, int vertex_count) {
    memset(d->delta, 0, 3 * (size_t)vertex_count * sizeof *d->delta);
    memset(d->touched, 0, (size_t)vertex_count * sizeof *d->touched);
}

/* The factor of shape i in a channel at a weight in per cent: piecewise linear through the rest,
 * which is at 0, and the shapes on that side of it. Beyond the outermost shape its segment goes on,
 * as it does on a side that has no shape. */
static double shape_factor(const sn_fbx_shape *shapes, int count, int i, double percent) {
    int negative = 0; /* shapes below 0, which come first */
    while (negative < count && shapes[negative].full_weight < 0) negative++;
    bool below = negative > 0 && (percent < 0 || negative == count);
    if (below != (i < negative)) return 0;
    /* Away from the rest: shape i is the k-th of n. */
    int k = below ? negative - 1 - i : i - negative, n = below ? negative : count - negative;
    int step = below ? -1 : 1;
    double x = step * percent, at = step * shapes[i].full_weight;
    double before = k > 0 ? step * shapes[i - step].full_weight : 0;
    bool last = k + 1 == n;
    if (x <= at || last) {
        if (x < before && k > 0) return 0;
        return at != before ? (x - before) / (at - before) : x >= at;
    }
    double after = step * shapes[i + step].full_weight;
    if (x < after) return (after - x) / (after - at);
    /* Beyond the last shape: the first end of the last segment takes the rest. */
    return k + 2 == n && after != at ? (after - x) / (after - at) : 0;
}

static sinew_status find_target(sn_fbx_targets *r, int slider, double at, bool plain,
                                const char *name, int name_size, sn_fbx_target **found) {
    for (int i = 0; i < r->count; i++)
        if (r->list[i].slider == slider && r->list[i].at == at) {
            *found = &r->list[i];
            return SINEW_OK;
        }
    if (!SN_RESERVE(r->list, r->capacity, r->count + 1)) return sn_no_memory(r->scene->tree.error);
    *found = &r->list[r->count];
    **found = (sn_fbx_target){.slider = slider, .at = at, .plain = plain, .last_mesh = -1};
    (*found)->name = sn_strndup(name, (size_t)name_size);
    if (!(*found)->name) return sn_no_memory(r->scene->tree.error);
    r->count++;
    return SINEW_OK;
}

/* The usual shape, packed and sorted by vertex, goes straight into the target. Where it is anything
 * else, *added stays false and nothing is added: the general reader also reports what is wrong. */
static sinew_status add_packed(sn_fbx_targets *r, const sn_fbx_model *model, sn_fbx_target *t,
                               int first_vertex, int vertex_count, const sn_fbx_shape *shape,
                               bool *added) {
    sn_fbx_array index = {0}, delta = {0};
    *added = false;
    sinew_status status = sn_fbx_packed(
        &r->scene->tree, sn_fbx_child(&r->scene->tree, shape->node, "Indexes"), 'i', &index);
    if (status == SINEW_OK && index.bytes)
        status = sn_fbx_packed(&r->scene->tree,
                               sn_fbx_child(&r->scene->tree, shape->node, "Vertices"), 'd', &delta);
    size_t count = t->count;
    bool plain = index.bytes && delta.bytes && delta.count == 3 * (int64_t)index.count;
    if (status == SINEW_OK && plain &&
        (!SN_RESERVE(t->vertices, t->vertex_capacity, count + (size_t)index.count) ||
         !SN_RESERVE(t->deltas, t->delta_capacity, 3 * (count + (size_t)index.count))))
        status = sn_no_memory(r->scene->tree.error);
    if (status != SINEW_OK) plain = false;
    int64_t last = -1;
    for (int k = 0; plain && k < index.count; k++) {
        int32_t v;
        sn_vec3 moved;
        memcpy(&v, index.bytes + 4 * (size_t)k, sizeof v);
        memcpy(&moved, delta.bytes + 24 * (size_t)k, sizeof moved);
        if (v <= last || v >= vertex_count) plain = false;
        last = v;
        if (!model->still) moved = sn_mat3_apply(model->geometry.linear, moved);
        if (!(fabs(moved.x) <= DBL_MAX && fabs(moved.y) <= DBL_MAX && fabs(moved.z) <= DBL_MAX))
            plain = false;
        t->vertices[count] = first_vertex + v;
        sn_put(t->deltas, (int)count, moved);
        count += moved.x != 0 || moved.y != 0 || moved.z != 0;
    }
    if (plain) t->count = count, *added = true;
    sn_free(index.own), sn_free(delta.own);
    return status;
}

/* Adds `factor` times the dense shape to a target that starts at `first_vertex`. */
static sinew_status add_deltas(sn_fbx_targets *r, const sn_fbx_model *model, sn_fbx_target *t,
                               int first_vertex, int vertex_count, const dense *d) {
    size_t most = t->count;
    for (int v = 0; v < vertex_count; v++) most += d->touched[v];
    if (!SN_RESERVE(t->vertices, t->vertex_capacity, most) ||
        !SN_RESERVE(t->deltas, t->delta_capacity, 3 * most))
        return sn_no_memory(r->scene->tree.error);
    for (int v = 0; v < vertex_count; v++) {
        if (!d->touched[v]) continue;
        sn_vec3 moved = sn_at(d->delta, v);
        if (!model->still) moved = sn_mat3_apply(model->geometry.linear, moved);
        if (moved.x == 0 && moved.y == 0 && moved.z == 0) continue;
        if (!isfinite(moved.x) || !isfinite(moved.y) || !isfinite(moved.z))
            return sn_fbx_fail_mesh(r->scene, model, "its node sends a shape to infinity");
        t->vertices[t->count] = first_vertex + v;
        sn_put(t->deltas, (int)t->count++, moved);
    }
    return SINEW_OK;
}

/* A slider's name: the channel's; a second channel of that name on the same mesh gets a number. */
static sinew_status name_slider(sn_fbx_targets *r, const sn_fbx_channel *channel, int mesh,
                                int *slider) {
    char name[512];
    int size = channel->name_size < 480 ? channel->name_size : 480;
    snprintf(name, sizeof name, "%.*s", size, channel->name);
    if (!*name) {
        const sn_fbx_shape *shape = &r->scene->shapes[channel->first_shape];
        snprintf(name, sizeof name, "%.*s", shape->name_size < 480 ? shape->name_size : 480,
                 shape->name);
    }
    if (!*name) snprintf(name, sizeof name, "target_%d", r->sliders.count);
    size_t base = strlen(name);
    for (int copy = 2;; copy++) {
        *slider = sn_names_find(&r->sliders, name, strlen(name));
        bool taken = false;
        for (int i = 0; *slider >= 0 && i < r->count; i++)
            taken |= r->list[i].slider == *slider && r->list[i].last_mesh == mesh;
        if (!taken) break;
        snprintf(name + base, sizeof name - base, " (%d)", copy);
    }
    if (*slider < 0) *slider = sn_names_add(&r->sliders, name, strlen(name));
    return *slider < 0 ? sn_no_memory(r->scene->tree.error) : SINEW_OK;
}

/* The targets of a channel: one per shape, and the plain one at 100% when no shape is there. */
static sinew_status add_channel(sn_fbx_targets *r, const sn_fbx_model *model, int mesh,
                                const sn_fbx_channel *channel, int first_vertex, int vertex_count,
                                dense *one, dense *full) {
    const sn_fbx_shape *shapes = r->scene->shapes + channel->first_shape;
    int slider;
    sn_fbx_target *t;
    SN_TRY(name_slider(r, channel, mesh, &slider));
    const char *name = r->sliders.names[slider];
    if (channel->shape_count == 1 && shapes->full_weight == 100) {
        bool added;
        SN_TRY(find_target(r, slider, 1, true, name, (int)strlen(name), &t));
        SN_TRY(add_packed(r, model, t, first_vertex, vertex_count, shapes, &added));
        t->last_mesh = mesh;
        if (added) return SINEW_OK;
    }
    clear_dense(full, vertex_count);
    for (int i = 0; i < channel->shape_count; i++) {
        double at = shapes[i].full_weight / 100;
        clear_dense(one, vertex_count);
        SN_TRY(read_shape(r, model, vertex_count, &shapes[i], one));
        double factor = shape_factor(shapes, channel->shape_count, i, 100);
        for (int v = 0; v < vertex_count; v++) {
            if (!one->touched[v] || factor == 0) continue;
            for (size_t c = 3 * (size_t)v; c < 3 * (size_t)v + 3; c++)
                full->delta[c] = full->touched[v] ? full->delta[c] + factor * one->delta[c]
                                                  : factor * one->delta[c];
            full->touched[v] = true;
        }
        bool repeated = i > 0 && shapes[i - 1].full_weight == shapes[i].full_weight;
        if (at == 1 || channel->shape_count == 1 || at == 0 || repeated) continue;
        SN_TRY(find_target(r, slider, at, false, shapes[i].name, shapes[i].name_size, &t));
        SN_TRY(add_deltas(r, model, t, first_vertex, vertex_count, one));
        t->last_mesh = mesh;
    }
    SN_TRY(find_target(r, slider, 1, true, name, (int)strlen(name), &t));
    SN_TRY(add_deltas(r, model, t, first_vertex, vertex_count, full));
    t->last_mesh = mesh;
    return SINEW_OK;
}

/* As stored, or as the clip has it. */
static double channel_percent(const sn_fbx_targets *r, const sn_fbx_channel *channel) {
    const sn_fbx_clip *clip = r->scene->clip;
    const sn_fbx_curve *curve =
        clip ? sn_fbx_clip_find(clip, channel->object, channel->property, channel->property_size, 0)
             : NULL;
    return curve ? sn_fbx_layers_at(clip, curve, channel->percent, r->scene->time)
                 : channel->percent;
}

/* Moves the mesh by the weights that the file or its clip has set. */
static sinew_status pose_channel(const sn_fbx_targets *r, const sn_fbx_model *model,
                                 const sn_fbx_channel *channel, int vertex_count, double *positions,
                                 dense *one) {
    const sn_fbx_shape *shapes = r->scene->shapes + channel->first_shape;
    double percent = channel_percent(r, channel);
    for (int i = 0; percent != 0 && i < channel->shape_count; i++) {
        double factor = shape_factor(shapes, channel->shape_count, i, percent);
        if (factor == 0) continue;
        clear_dense(one, vertex_count);
        SN_TRY(read_shape(r, model, vertex_count, &shapes[i], one));
        for (size_t c = 0; c < 3 * (size_t)vertex_count; c++)
            positions[c] += factor * one->delta[c];
    }
    return SINEW_OK;
}

sinew_status sn_fbx_read_channels(sn_fbx_targets *r, const sn_fbx_model *model, int mesh,
                                  int first_vertex, int vertex_count, double *posed) {
    int n = vertex_count > 0 ? vertex_count : 1;
    dense one = {SN_NEW(double, 3 * (size_t)n), SN_NEW(bool, n)};
    dense full = {SN_NEW(double, 3 * (size_t)n), SN_NEW(bool, n)};
    sinew_status status = one.delta && one.touched && full.delta && full.touched
                              ? SINEW_OK
                              : sn_no_memory(r->scene->tree.error);
    for (int i = 0; status == SINEW_OK && i < r->scene->channel_count; i++) {
        const sn_fbx_channel *channel = &r->scene->channels[i];
        if (channel->mesh != model->mesh) continue;
        status =
            posed ? pose_channel(r, model, channel, vertex_count, posed, &one)
                  : add_channel(r, model, mesh, channel, first_vertex, vertex_count, &one, &full);
    }
    sn_free(one.delta), sn_free(one.touched), sn_free(full.delta), sn_free(full.touched);
    return status;
}

/* The displacements are sorted, in range and finite already: the rig gets the arrays themselves. */
static void hand_over(sn_fbx_target *t, sinew_target *to) {
    sn_free(to->vertices), sn_free(to->deltas);
    to->count = (int)t->count, to->vertices = t->vertices, to->deltas = t->deltas;
    t->vertices = NULL, t->deltas = NULL;
}

sinew_status sn_fbx_give_targets(sn_fbx_targets *r, sinew_rig *rig, sinew_error *error) {
    for (int i = 0; i < r->count; i++) {
        sn_fbx_target *t = &r->list[i];
        if (!t->plain) continue;
        SN_TRY(sinew_rig_add_target(rig, t->name, 0, NULL, NULL, error));
        if (t->count > 0) hand_over(t, &rig->targets[rig->target_count - 1]);
    }
    for (int i = 0; i < r->count; i++) {
        const sn_fbx_target *t = &r->list[i];
        if (t->plain) continue;
        int slider = 0;
        while (strcmp(rig->sliders[slider].name, r->sliders.names[t->slider]) != 0) slider++;
        char name[600];
        snprintf(name, sizeof name, "%s", t->name);
        if (!*name || sinew_rig_find_target(rig, name) >= 0)
            sn_print(name, sizeof name, "%s@%g", rig->sliders[slider].name, t->at);
        SN_TRY(sinew_rig_add_inbetween(rig, name, slider, t->at, (int)t->count, t->vertices,
                                       t->deltas, error));
    }
    return SINEW_OK;
}

void sn_fbx_targets_release(sn_fbx_targets *r) {
    for (int i = 0; i < r->count; i++)
        sn_free(r->list[i].name), sn_free(r->list[i].vertices), sn_free(r->list[i].deltas);
    sn_free(r->list);
    sn_names_release(&r->sliders);
}
