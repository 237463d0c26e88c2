/* Curves of FBX. Between two cubic keys time and value are Bezier curves whose handles are the
 * tangents: x(s) is linear when both weights are 1/3, otherwise x(s) = t is solved for s. */
#include "io/fbx_animation.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define TICKS_PER_SECOND 46186158000.0
#define PLAIN_WEIGHT     (1.0 / 3)

static sinew_status add_key(const sn_fbx_scene *s, sn_fbx_clip *clip, sn_fbx_curve *curve,
                            const sn_fbx_key *key) {
    if (!isfinite(key->value) || !isfinite(key->slope) || !isfinite(key->next_slope))
        return sn_fbx_fail(&s->tree, "a key of '%.*s' is not a finite number", curve->property_size,
                           curve->property);
    /* Keys that do not move forward in time add nothing that can be shown. */
    if (curve->key_count > 0 && key->time <= clip->keys[clip->key_count - 1].time) return SINEW_OK;
    if (!SN_RESERVE(clip->keys, clip->key_capacity, clip->key_count + 1))
        return sn_no_memory(s->tree.error);
    clip->keys[clip->key_count++] = *key;
    curve->key_count++;
    return SINEW_OK;
}

static sinew_status add_curve(const sn_fbx_scene *s, sn_fbx_clip *clip, const sn_fbx_curve *curve) {
    if (curve->key_count == 0) return SINEW_OK;
    if (!SN_RESERVE(clip->curves, clip->curve_capacity, clip->curve_count + 1))
        return sn_no_memory(s->tree.error);
    clip->curves[clip->curve_count++] = *curve;
    return SINEW_OK;
}

/* ---- 7.x: AnimationStack, AnimationLayer, AnimationCurveNode, AnimationCurve ------------------
 */

enum {
    FLAG_CONSTANT = 0x2,
    FLAG_LINEAR = 0x4,
    FLAG_CUBIC = 0x8,
    FLAG_CONSTANT_NEXT = 0x100,
    FLAG_WEIGHT = 0x01000000,
    FLAG_NEXT_WEIGHT = 0x02000000
};

static void use_attributes(sn_fbx_key *key, int64_t flags, const float data[4]) {
    key->interpolation = flags & FLAG_CUBIC    ? SN_FBX_CUBIC
                         : flags & FLAG_LINEAR ? SN_FBX_LINEAR
                         : flags & FLAG_CONSTANT
                             ? flags & FLAG_CONSTANT_NEXT ? SN_FBX_CONSTANT_NEXT : SN_FBX_CONSTANT
                             : SN_FBX_LINEAR;
    key->slope = data[0], key->next_slope = data[1];
    key->weight = key->next_weight = PLAIN_WEIGHT;
    /* Both weights share the bits of one float, in steps of 1/9999. */
    uint32_t bits;
    memcpy(&bits, &data[2], sizeof bits);
    if (flags & FLAG_WEIGHT) key->weight = fmin((bits & 0xffff) / 9999.0, 1);
    if (flags & FLAG_NEXT_WEIGHT) key->next_weight = fmin((bits >> 16) / 9999.0, 1);
}

typedef struct key_arrays {
    int64_t *times, *flags, *repeats;
    double *values, *data;
    int time_count, flag_count, repeat_count, value_count, data_count;
} key_arrays;

/* Numbers whose bits matter even when they are not numbers, such as packed weights. */
static sinew_status read_raw(const sn_fbx_tree *t, int node, double **numbers, int *count) {
    sinew_error ignored;
    sn_fbx_tree quiet = *t;
    quiet.error = &ignored;
    sinew_status status = sn_fbx_numbers(&quiet, node, numbers, count);
    if (status == SINEW_BAD_INPUT) {
        *numbers = NULL, *count = 0;
        return SINEW_OK;
    }
    return status;
}

static sinew_status read_keys(const sn_fbx_scene *s, int object, sn_fbx_clip *clip,
                              sn_fbx_curve *curve) {
    const sn_fbx_tree *t = &s->tree;
    int node = s->objects[object].node;
    key_arrays a = {0};
    sinew_status status =
        sn_fbx_integers(t, sn_fbx_child(t, node, "KeyTime"), &a.times, &a.time_count);
    if (status == SINEW_OK)
        status =
            sn_fbx_numbers(t, sn_fbx_child(t, node, "KeyValueFloat"), &a.values, &a.value_count);
    if (status == SINEW_OK)
        status = sn_fbx_integers(t, sn_fbx_child(t, node, "KeyAttrFlags"), &a.flags, &a.flag_count);
    if (status == SINEW_OK)
        status = read_raw(t, sn_fbx_child(t, node, "KeyAttrDataFloat"), &a.data, &a.data_count);
    if (status == SINEW_OK)
        status = sn_fbx_integers(t, sn_fbx_child(t, node, "KeyAttrRefCount"), &a.repeats,
                                 &a.repeat_count);
    if (status == SINEW_OK && a.time_count != a.value_count)
        status = sn_fbx_fail(t, "an animation curve has %d times and %d values", a.time_count,
                             a.value_count);
    int set = 0;
    int64_t used = 0;
    for (int k = 0; status == SINEW_OK && k < a.time_count; k++, used++) {
        while (set + 1 < a.flag_count && set < a.repeat_count && used >= a.repeats[set])
            set++, used = 0;
        float data[4] = {0, 0, 0, 0};
        for (int i = 0; i < 4 && 4 * set + i < a.data_count; i++)
            data[i] = (float)a.data[4 * set + i];
        sn_fbx_key key = {.time = (double)a.times[k] / TICKS_PER_SECOND, .value = a.values[k]};
        use_attributes(&key, set < a.flag_count ? a.flags[set] : FLAG_LINEAR, data);
        status = add_key(s, clip, curve, &key);
    }
    sn_free(a.times), sn_free(a.flags), sn_free(a.repeats), sn_free(a.values), sn_free(a.data);
    return status;
}

/* "d|X" is x, "d|Y" y, "d|Z" z, "d|DeformPercent" the number itself. */
static int component_of(const sn_fbx_value *property) {
    if (!property || property->type != SN_FBX_TEXT) return 0;
    return sn_fbx_text_is(property, "d|Y") ? 1 : sn_fbx_text_is(property, "d|Z") ? 2 : 0;
}

static sinew_status read_curve_node(const sn_fbx_scene *s, int object, sn_fbx_clip *clip) {
    const sn_fbx_connection *drives =
        s->drives[object] >= 0 ? &s->connections[s->drives[object]] : NULL;
    if (!drives || drives->property->type != SN_FBX_TEXT || drives->property->size > INT_MAX)
        return SINEW_OK;
    for (int k = s->first_to[object]; k < s->first_to[object + 1]; k++) {
        const sn_fbx_connection *c = &s->connections[s->connections_to[k]];
        if (!sn_fbx_is(s, c->child, "AnimationCurve", NULL)) continue;
        sn_fbx_curve curve = {.object = drives->parent,
                              .property = drives->property->bytes,
                              .property_size = (int)drives->property->size,
                              .component = component_of(c->property),
                              .first_key = clip->key_count};
        SN_TRY(read_keys(s, c->child, clip, &curve));
        SN_TRY(add_curve(s, clip, &curve));
    }
    return SINEW_OK;
}

static sinew_status read_stack(const sn_fbx_scene *s, int stack, sn_fbx_clip *clip) {
    for (int k = s->first_to[stack]; k < s->first_to[stack + 1]; k++) {
        int layer = s->connections[s->connections_to[k]].child;
        if (!sn_fbx_is(s, layer, "AnimationLayer", NULL)) continue;
        for (int j = s->first_to[layer]; j < s->first_to[layer + 1]; j++) {
            int node = s->connections[s->connections_to[j]].child;
            if (sn_fbx_is(s, node, "AnimationCurveNode", NULL))
                SN_TRY(read_curve_node(s, node, clip));
        }
    }
    return SINEW_OK;
}

/* ---- 6.x: Takes ------------------------------------------------------------------------------ */

/* Key: time, value, then L | C,s|n | U,s|b,slope,next slope,n|… | A … in one list for all keys. */
static sinew_status read_take_keys(const sn_fbx_scene *s, int channel, sn_fbx_clip *clip,
                                   sn_fbx_curve *curve) {
    const sn_fbx_tree *t = &s->tree;
    int list = sn_fbx_child(t, channel, "Key");
    int count = list < 0 ? 0 : t->nodes[list].value_count, at = 0;
    const sn_fbx_value *v = sn_fbx_value_at(t, list, 0);
    while (at + 1 < count) {
        if (v[at].type == SN_FBX_TEXT || v[at + 1].type == SN_FBX_TEXT)
            return sn_fbx_fail(t, "keys of '%.*s' cannot be read at element %d",
                               curve->property_size, curve->property, at);
        sn_fbx_key key = {.time = v[at].number / TICKS_PER_SECOND,
                          .value = v[at + 1].number,
                          .interpolation = SN_FBX_LINEAR,
                          .weight = PLAIN_WEIGHT,
                          .next_weight = PLAIN_WEIGHT};
        at += 2;
        bool smooth = false;
        if (at < count && v[at].type == SN_FBX_TEXT && v[at].size > 0) {
            char mode = *v[at++].bytes;
            if (mode == 'C') {
                bool next = at < count && sn_fbx_text_is(&v[at], "n");
                key.interpolation = next ? SN_FBX_CONSTANT_NEXT : SN_FBX_CONSTANT;
                if (at < count && v[at].type == SN_FBX_TEXT) at++;
            } else if (mode != 'L') {
                smooth = true;
            }
        }
        /* Tangents: letters that specify what follows, with the two slopes first where there are
         * any.
         */
        for (int numbers = 0; smooth && at < count;) {
            bool text = v[at].type == SN_FBX_TEXT;
            /* The next key begins with two numbers and a letter of its mode. */
            if (!text && at + 2 < count && v[at + 1].type != SN_FBX_TEXT &&
                v[at + 2].type == SN_FBX_TEXT && v[at + 2].size == 1 &&
                strchr("LCUAT", *v[at + 2].bytes) && fabs(v[at].number) >= 1e6)
                break;
            if (!text && numbers == 0) key.slope = v[at].number, key.interpolation = SN_FBX_CUBIC;
            if (!text && numbers == 1) key.next_slope = v[at].number;
            numbers += !text;
            at++;
        }
        SN_TRY(add_key(s, clip, curve, &key));
    }
    return SINEW_OK;
}

static const struct {
    const char *letter, *property;
} transform_channels[] = {{"T", "Lcl Translation"}, {"R", "Lcl Rotation"}, {"S", "Lcl Scaling"}};

static sinew_status read_transform_channel(const sn_fbx_scene *s, int object, int transform,
                                           sn_fbx_clip *clip) {
    const sn_fbx_tree *t = &s->tree;
    for (int group = sn_fbx_child(t, transform, "Channel"); group >= 0;
         group = sn_fbx_next_same(t, group))
        for (size_t i = 0; i < 3; i++) {
            if (!sn_fbx_text_is(sn_fbx_value_at(t, group, 0), transform_channels[i].letter))
                continue;
            for (int axis = sn_fbx_child(t, group, "Channel"); axis >= 0;
                 axis = sn_fbx_next_same(t, axis)) {
                const sn_fbx_value *name = sn_fbx_value_at(t, axis, 0);
                sn_fbx_curve curve = {.object = object,
                                      .property = transform_channels[i].property,
                                      .property_size = (int)strlen(transform_channels[i].property),
                                      .component = sn_fbx_text_is(name, "Y")   ? 1
                                                   : sn_fbx_text_is(name, "Z") ? 2
                                                                               : 0,
                                      .first_key = clip->key_count};
                SN_TRY(read_take_keys(s, axis, clip, &curve));
                SN_TRY(add_curve(s, clip, &curve));
            }
        }
    return SINEW_OK;
}

static sinew_status read_take(const sn_fbx_scene *s, int take, sn_fbx_clip *clip) {
    const sn_fbx_tree *t = &s->tree;
    for (int model = sn_fbx_child(t, take, "Model"); model >= 0;
         model = sn_fbx_next_same(t, model)) {
        const sn_fbx_value *name = sn_fbx_value_at(t, model, 0);
        int object = name ? sn_fbx_find_object(s, name) : -1;
        if (object < 0) continue;
        for (int channel = sn_fbx_child(t, model, "Channel"); channel >= 0;
             channel = sn_fbx_next_same(t, channel)) {
            const sn_fbx_value *property = sn_fbx_value_at(t, channel, 0);
            if (!property || property->type != SN_FBX_TEXT || property->size > INT_MAX) continue;
            if (sn_fbx_text_is(property, "Transform")) {
                SN_TRY(read_transform_channel(s, object, channel, clip));
                continue;
            }
            sn_fbx_curve curve = {.object = object,
                                  .property = property->bytes,
                                  .property_size = (int)property->size,
                                  .first_key = clip->key_count};
            SN_TRY(read_take_keys(s, channel, clip, &curve));
            SN_TRY(add_curve(s, clip, &curve));
        }
    }
    return SINEW_OK;
}

/* ---- clips ----------------------------------------------------------------------------------- */

void sn_fbx_clip_free(sn_fbx_clip *clip) {
    sn_free(clip->curves);
    sn_free(clip->keys);
    *clip = (sn_fbx_clip){0};
}

static bool wanted(const char *name, const char *found, int size) {
    return !name || (strlen(name) == (size_t)size && memcmp(name, found, (size_t)size) == 0);
}

static int by_object(const void *a, const void *b) {
    const sn_fbx_curve *p = a, *q = b;
    if (p->object != q->object) return p->object < q->object ? -1 : 1;
    return (p->first_key > q->first_key) - (p->first_key < q->first_key);
}

/* Whether the clip that was read is the one to keep; sorts its curves. */
static bool keep(sn_fbx_clip *clip, const char *name) {
    if (clip->curve_count > 0)
        qsort(clip->curves, (size_t)clip->curve_count, sizeof *clip->curves, by_object);
    return name || clip->curve_count > 0;
}

sinew_status sn_fbx_clip_read(sn_fbx_scene *s, const char *name, sn_fbx_clip *clip) {
    const sn_fbx_tree *t = &s->tree;
    char list[240] = "";
    size_t used = 0;
    *clip = (sn_fbx_clip){0};
    int takes = sn_fbx_child(t, sn_fbx_child(t, 0, "Takes"), "Take");
    bool stacks = false;
    for (int i = 0; i < s->object_count; i++) {
        if (!sn_fbx_is(s, i, "AnimationStack", NULL)) continue;
        const sn_fbx_object *o = &s->objects[i];
        stacks = true;
        if (used < sizeof list)
            used +=
                (size_t)snprintf(list + used, sizeof list - used, " '%.*s'", o->name_size, o->name);
        if (!wanted(name, o->name, o->name_size)) continue;
        clip->name = o->name, clip->name_size = o->name_size;
        SN_TRY(read_stack(s, i, clip));
        if (keep(clip, name)) return SINEW_OK;
        sn_fbx_clip_free(clip);
    }
    for (int take = stacks ? -1 : takes; take >= 0; take = sn_fbx_next_same(t, take)) {
        const sn_fbx_value *v = sn_fbx_value_at(t, take, 0);
        if (!v || v->type != SN_FBX_TEXT || v->size > INT_MAX) continue;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, " '%.*s'", (int)v->size,
                                     v->bytes);
        if (!wanted(name, v->bytes, (int)v->size)) continue;
        clip->name = v->bytes, clip->name_size = (int)v->size;
        SN_TRY(read_take(s, take, clip));
        if (keep(clip, name)) return SINEW_OK;
        sn_fbx_clip_free(clip);
    }
    if (!name) return SINEW_OK;
    return sn_fbx_fail(t, "has no clip '%s'; its clips are:%s", name, used ? list : " none");
}

void sn_fbx_clip_range(const sn_fbx_clip *clip, double *start, double *end) {
    *start = *end = 0;
    for (int i = 0; i < clip->curve_count; i++) {
        const sn_fbx_curve *c = &clip->curves[i];
        double first = clip->keys[c->first_key].time;
        double last = clip->keys[c->first_key + c->key_count - 1].time;
        *start = i == 0 ? first : fmin(*start, first);
        *end = i == 0 ? last : fmax(*end, last);
    }
}

const sn_fbx_curve *sn_fbx_clip_find(const sn_fbx_clip *clip, int object, const char *property,
                                     int property_size, int component) {
    int low = 0, high = clip->curve_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (clip->curves[middle].object < object)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < clip->curve_count && clip->curves[low].object == object; low++) {
        const sn_fbx_curve *c = &clip->curves[low];
        if (c->component == component && c->property_size == property_size &&
            memcmp(c->property, property, (size_t)property_size) == 0)
            return c;
    }
    return NULL;
}

/* s in [0, 1] with x(s) = 3 w s (1-s)^2 + 3 (1 - v) s^2 (1-s) + s^3 = x; x is monotone for weights
 * in [0, 1], so bisection with Newton steps finds it. */
static double solve_time(double w, double v, double x) {
    double low = 0, high = 1, s = x;
    for (int i = 0; i < 60; i++) {
        double r = 1 - s;
        double at = 3 * w * s * r * r + 3 * (1 - v) * s * s * r + s * s * s - x;
        if (fabs(at) < 1e-14) break;
        if (at < 0)
            low = s;
        else
            high = s;
        double slope = 3 * w * r * r + 6 * (1 - v - w) * s * r + 3 * v * s * s;
        double next = slope > 0 ? s - at / slope : low;
        s = next > low && next < high ? next : (low + high) / 2;
    }
    return s;
}

double sn_fbx_curve_at(const sn_fbx_clip *clip, const sn_fbx_curve *curve, double time) {
    const sn_fbx_key *keys = clip->keys + curve->first_key;
    int low = 0, high = curve->key_count - 1;
    if (time <= keys[0].time) return keys[0].value;
    if (time >= keys[high].time) return keys[high].value;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (keys[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    const sn_fbx_key *a = &keys[low], *b = &keys[low + 1];
    double length = b->time - a->time, x = (time - a->time) / length;
    switch (a->interpolation) {
    case SN_FBX_CONSTANT:
        return a->value;
    case SN_FBX_CONSTANT_NEXT:
        return x > 0 ? b->value : a->value;
    case SN_FBX_LINEAR:
        return a->value + x * (b->value - a->value);
    case SN_FBX_CUBIC:
        break;
    }
    double s = solve_time(a->weight, a->next_weight, x), r = 1 - s;
    double p = a->value + a->slope * a->weight * length;
    double q = b->value - a->next_slope * a->next_weight * length;
    return r * r * r * a->value + 3 * s * r * r * p + 3 * s * s * r * q + s * s * s * b->value;
}
