/* Curves of FBX. Between two cubic keys time and value are Bezier curves whose handles are the
 * tangents: x(s) is linear when both weights are 1/3, otherwise x(s) = t is solved for s. */
#include "io/fbx_animation.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/names.h"

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

/* Both weights share the bits of a float, in steps of 1/9999. ASCII files have them as an integer.
 */
static uint32_t weight_bits(double stored, bool ascii) {
    uint32_t bits = 0;
    float single = (float)stored;
    if (ascii && stored >= 1 && stored <= UINT32_MAX) return (uint32_t)stored;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

/* data: the two slopes and the weights, or NULL. */
static void use_attributes(sn_fbx_key *key, int64_t flags, const double *data, bool ascii) {
    key->interpolation = flags & FLAG_CUBIC    ? SN_FBX_CUBIC
                         : flags & FLAG_LINEAR ? SN_FBX_LINEAR
                         : flags & FLAG_CONSTANT
                             ? flags & FLAG_CONSTANT_NEXT ? SN_FBX_CONSTANT_NEXT : SN_FBX_CONSTANT
                             : SN_FBX_LINEAR;
    key->weight = key->next_weight = PLAIN_WEIGHT;
    if (!data) return;
    key->slope = data[0], key->next_slope = data[1];
    uint32_t bits = weight_bits(data[2], ascii);
    if (flags & FLAG_WEIGHT) key->weight = fmin((bits & 0xffff) / 9999.0, 1);
    if (flags & FLAG_NEXT_WEIGHT) key->next_weight = fmin((bits >> 16) / 9999.0, 1);
}

typedef struct key_arrays {
    int64_t *times, *flags, *repeats;
    double *values, *data;
    int time_count, flag_count, repeat_count, value_count, data_count;
} key_arrays;

/* Pre-Extrapolation: { Type: R, Repetition: -1 }. */
static sn_fbx_beyond read_beyond(const sn_fbx_tree *t, int curve, const char *name) {
    int node = sn_fbx_child(t, curve, name);
    const sn_fbx_value *type = sn_fbx_value_at(t, sn_fbx_child(t, node, "Type"), 0);
    const sn_fbx_value *count = sn_fbx_value_at(t, sn_fbx_child(t, node, "Repetition"), 0);
    sn_fbx_beyond beyond = {'C', count && count->type != SN_FBX_TEXT ? count->integer : -1};
    if (type && type->type == SN_FBX_TEXT && type->size > 0) beyond.type = *type->bytes;
    if (type && type->type == SN_FBX_INTEGER) beyond.type = (char)type->integer;
    return beyond;
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
        status = sn_fbx_any_numbers(t, sn_fbx_child(t, node, "KeyAttrDataFloat"), &a.data,
                                    &a.data_count);
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
        const double *data = 4 * set + 3 < a.data_count ? a.data + 4 * (size_t)set : NULL;
        sn_fbx_key key = {.time = (double)a.times[k] / TICKS_PER_SECOND, .value = a.values[k]};
        use_attributes(&key, set < a.flag_count ? a.flags[set] : FLAG_LINEAR, data, t->ascii);
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

/* A component without keys beside others that have some has the value that its curve node gives. */
static sinew_status add_constant(const sn_fbx_scene *s, int object, sn_fbx_clip *clip,
                                 sn_fbx_curve curve) {
    static const char *const names[] = {"d|X", "d|Y", "d|Z"};
    curve.key_count = 0;
    curve.constant = sn_fbx_property(s, object, names[curve.component], 0, NAN);
    return isnan(curve.constant) ? SINEW_OK : add_curve(s, clip, &curve);
}

/* layer: its number, blend and weight; the rest is to be filled in. */
static sinew_status read_curve_node(const sn_fbx_scene *s, int object, const sn_fbx_curve *layer,
                                    sn_fbx_clip *clip) {
    const sn_fbx_connection *drives =
        s->drives[object] >= 0 ? &s->connections[s->drives[object]] : NULL;
    if (!drives || drives->property->type != SN_FBX_TEXT || drives->property->size > INT_MAX)
        return SINEW_OK;
    bool keyed[3] = {false, false, false};
    sn_fbx_curve curve = *layer;
    curve.object = drives->parent;
    curve.property = drives->property->bytes, curve.property_size = (int)drives->property->size;
    if (curve.blend == SN_FBX_ADD && sn_fbx_text_is(drives->property, "Lcl Scaling"))
        curve.blend = SN_FBX_MULTIPLY;
    for (int k = s->first_to[object]; k < s->first_to[object + 1]; k++) {
        const sn_fbx_connection *c = &s->connections[s->connections_to[k]];
        if (!sn_fbx_is(s, c->child, "AnimationCurve", NULL)) continue;
        int node = s->objects[c->child].node;
        curve.component = component_of(c->property);
        curve.first_key = clip->key_count, curve.key_count = 0;
        curve.before = read_beyond(&s->tree, node, "Pre-Extrapolation");
        curve.after = read_beyond(&s->tree, node, "Post-Extrapolation");
        SN_TRY(read_keys(s, c->child, clip, &curve));
        if (curve.key_count == 0) continue;
        keyed[curve.component] = true;
        SN_TRY(add_curve(s, clip, &curve));
    }
    bool vector = keyed[0] || keyed[1] || keyed[2];
    for (int k = 0; vector && k < 3; k++) {
        curve.component = k;
        if (!keyed[k]) SN_TRY(add_constant(s, object, clip, curve));
    }
    return SINEW_OK;
}

static sinew_status read_stack(const sn_fbx_scene *s, int stack, sn_fbx_clip *clip) {
    int count = 0;
    for (int k = s->first_to[stack]; k < s->first_to[stack + 1]; k++) {
        int layer = s->connections[s->connections_to[k]].child;
        if (!sn_fbx_is(s, layer, "AnimationLayer", NULL)) continue;
        sn_fbx_curve part = {.layer = count++, .blend = SN_FBX_OVERRIDE, .weight = 1};
        if (part.layer > 0) {
            if (sn_fbx_property(s, layer, "Mute", 0, 0) != 0) continue;
            part.blend =
                sn_fbx_property(s, layer, "BlendMode", 0, 0) == 0 ? SN_FBX_ADD : SN_FBX_OVERRIDE;
            part.weight = fmin(fmax(sn_fbx_property(s, layer, "Weight", 0, 100) / 100, 0), 1);
        }
        for (int j = s->first_to[layer]; j < s->first_to[layer + 1]; j++) {
            int node = s->connections[s->connections_to[j]].child;
            if (sn_fbx_is(s, node, "AnimationCurveNode", NULL))
                SN_TRY(read_curve_node(s, node, &part, clip));
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
        /* Tangents: a letter and the two slopes where there are any, then n, or a letter that tells
         * which weights follow: a both, r the key's, l that of the next. */
        char letter = 's';
        for (int numbers = 0; smooth && at < count; at++) {
            bool text = v[at].type == SN_FBX_TEXT;
            /* The next key begins with two numbers and a letter of its mode. */
            if (!text && at + 2 < count && v[at + 1].type != SN_FBX_TEXT &&
                v[at + 2].type == SN_FBX_TEXT && v[at + 2].size == 1 &&
                strchr("LCUAT", *v[at + 2].bytes) && fabs(v[at].number) >= 1e6)
                break;
            if (text) {
                letter = v[at].size == 1 ? *v[at].bytes : 'n';
                continue;
            }
            double number = v[at].number, weight = fmin(fmax(number, 0), 1);
            if (numbers == 0) key.slope = number, key.interpolation = SN_FBX_CUBIC;
            if (numbers == 1) key.next_slope = number;
            if (numbers == 2 && (letter == 'a' || letter == 'r')) key.weight = weight;
            if (numbers == (letter == 'a' ? 3 : 2) && (letter == 'a' || letter == 'l'))
                key.next_weight = weight;
            numbers++;
        }
        SN_TRY(add_key(s, clip, curve, &key));
    }
    return SINEW_OK;
}

static sinew_status read_take_curve(const sn_fbx_scene *s, int channel, sn_fbx_clip *clip,
                                    sn_fbx_curve *curve) {
    SN_TRY(read_take_keys(s, channel, clip, curve));
    curve->before = read_beyond(&s->tree, channel, "Pre-Extrapolation");
    curve->after = read_beyond(&s->tree, channel, "Post-Extrapolation");
    return curve->key_count > 0 ? add_curve(s, clip, curve) : SINEW_OK;
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
                                      .weight = 1,
                                      .first_key = clip->key_count};
                SN_TRY(read_take_curve(s, axis, clip, &curve));
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
                                  .weight = 1,
                                  .first_key = clip->key_count};
            SN_TRY(read_take_curve(s, channel, clip, &curve));
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

/* A clip that a name may mean: its name is that one, or differs from it in case alone. */
typedef struct asked {
    const char *name; /* NULL: any clip */
    bool any_case;
} asked;

static bool wanted(asked a, const char *found, int size) {
    if (!a.name) return true;
    if (a.any_case) return sn_same_but_case(a.name, found, (size_t)size);
    return strlen(a.name) == (size_t)size && memcmp(a.name, found, (size_t)size) == 0;
}

/* Clips that a name may mean. */
static int count_wanted(const sn_fbx_scene *s, asked a) {
    const sn_fbx_tree *t = &s->tree;
    int count = 0, stacks = 0;
    for (int i = 0; i < s->object_count; i++) {
        if (!sn_fbx_is(s, i, "AnimationStack", NULL)) continue;
        count += wanted(a, s->objects[i].name, s->objects[i].name_size);
        stacks++;
    }
    int take = sn_fbx_child(t, sn_fbx_child(t, 0, "Takes"), "Take");
    for (; stacks == 0 && take >= 0; take = sn_fbx_next_same(t, take)) {
        const sn_fbx_value *v = sn_fbx_value_at(t, take, 0);
        if (v && v->type == SN_FBX_TEXT && v->size <= INT_MAX)
            count += wanted(a, v->bytes, (int)v->size);
    }
    return count;
}

static int by_object(const void *a, const void *b) {
    const sn_fbx_curve *p = a, *q = b;
    if (p->object != q->object) return p->object < q->object ? -1 : 1;
    if (p->layer != q->layer) return p->layer < q->layer ? -1 : 1;
    if (p->first_key != q->first_key) return p->first_key < q->first_key ? -1 : 1;
    return (p->component > q->component) - (p->component < q->component);
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
    asked exact = {name, false}, loose = {name, true};
    asked a = count_wanted(s, exact) == 0 && count_wanted(s, loose) == 1 ? loose : exact;
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
        if (!wanted(a, o->name, o->name_size)) continue;
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
        if (!wanted(a, v->bytes, (int)v->size)) continue;
        clip->name = v->bytes, clip->name_size = (int)v->size;
        SN_TRY(read_take(s, take, clip));
        if (keep(clip, name)) return SINEW_OK;
        sn_fbx_clip_free(clip);
    }
    if (!name || !*name) return SINEW_OK;
    return sn_fbx_fail(t, "has no clip '%s'; its clips are:%s", name, used ? list : " none");
}

void sn_fbx_clip_range(const sn_fbx_clip *clip, double *start, double *end) {
    bool any = false;
    *start = *end = 0;
    for (int i = 0; i < clip->curve_count; i++) {
        const sn_fbx_curve *c = &clip->curves[i];
        if (c->key_count == 0) continue;
        double first = clip->keys[c->first_key].time;
        double last = clip->keys[c->first_key + c->key_count - 1].time;
        *start = any ? fmin(*start, first) : first;
        *end = any ? fmax(*end, last) : last;
        any = true;
    }
}

/* The first curve from `from` on that drives this property of the object, or NULL. */
static const sn_fbx_curve *find_from(const sn_fbx_clip *clip, int from, int object,
                                     const char *property, int property_size, int component) {
    for (; from < clip->curve_count && clip->curves[from].object == object; from++) {
        const sn_fbx_curve *c = &clip->curves[from];
        if (c->component == component && c->property_size == property_size &&
            memcmp(c->property, property, (size_t)property_size) == 0)
            return c;
    }
    return NULL;
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
    return find_from(clip, low, object, property, property_size, component);
}

const sn_fbx_curve *sn_fbx_next_layer(const sn_fbx_clip *clip, const sn_fbx_curve *curve) {
    const sn_fbx_curve *next = curve;
    do /* a second curve on the same layer does not count */
        next = find_from(clip, (int)(next - clip->curves) + 1, curve->object, curve->property,
                         curve->property_size, curve->component);
    while (next && next->layer == curve->layer);
    return next;
}

double sn_fbx_layers_at(const sn_fbx_clip *clip, const sn_fbx_curve *curve, double stored,
                        double time) {
    double value = stored;
    for (; curve; curve = sn_fbx_next_layer(clip, curve)) {
        double own = sn_fbx_curve_at(clip, curve, time);
        switch (curve->blend) {
        case SN_FBX_OVERRIDE:
            value += curve->weight * (own - value);
            break;
        case SN_FBX_ADD:
            value += curve->weight * own;
            break;
        case SN_FBX_MULTIPLY:
            value *= 1 + curve->weight * (own - 1);
            break;
        }
    }
    return value;
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

/* Between the first key and the last. */
static double inside(const sn_fbx_key *keys, int count, double time) {
    int low = 0, high = count - 1;
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

/* The slope with which a curve leaves its first key or reaches its last. */
static double end_slope(const sn_fbx_key *keys, int count, bool last) {
    const sn_fbx_key *a = &keys[last ? count - 2 : 0], *b = a + 1;
    if (a->interpolation == SN_FBX_CUBIC) return last ? a->next_slope : a->slope;
    if (a->interpolation == SN_FBX_LINEAR) return (b->value - a->value) / (b->time - a->time);
    return 0;
}

double sn_fbx_curve_at(const sn_fbx_clip *clip, const sn_fbx_curve *curve, double time) {
    if (curve->key_count == 0) return curve->constant;
    const sn_fbx_key *keys = clip->keys + curve->first_key, *last = keys + curve->key_count - 1;
    bool early = time < keys->time;
    const sn_fbx_beyond *beyond = early ? &curve->before : &curve->after;
    double past = early ? keys->time - time : time - last->time, length = last->time - keys->time;
    if (!(past > 0) || !(length > 0) || beyond->type == 'C')
        return inside(keys, curve->key_count, time);
    const sn_fbx_key *end = early ? keys : last;
    if (beyond->type == 'K')
        return end->value + (time - end->time) * end_slope(keys, curve->key_count, !early);
    double turns = floor(past / length) + 1; /* repetitions of the keys up to this time */
    if (beyond->repetitions >= 0 && turns > (double)beyond->repetitions) {
        turns = (double)beyond->repetitions;
        past = turns * length; /* where the last one ends */
    }
    double sign = early ? -1 : 1, rest = past - (turns - 1) * length; /* into the last one */
    if (!(turns > 0)) return end->value;
    switch (beyond->type) {
    case 'R':
    case 'A': {
        double at = early ? last->time - rest : keys->time + rest;
        double lift = beyond->type == 'A' ? sign * turns * (last->value - keys->value) : 0;
        return inside(keys, curve->key_count, at) + lift;
    }
    case 'M': {
        bool backwards = fmod(turns, 2) == 1;
        double from = backwards == early ? keys->time + rest : last->time - rest;
        return inside(keys, curve->key_count, from);
    }
    default:
        return end->value;
    }
}
