/* Objects, connections and properties of FBX, and where its nodes are.
 *
 * A node's matrix, in the order in which Maya and MotionBuilder define it:
 *
 *   T Roff Rp Rpre R Rpost^-1 Rp^-1 Soff Sp S Sp^-1
 *
 * (translation, rotation offset and pivot, rotations, scaling offset and pivot, scaling), and for
 * the node's mesh alone the geometric offset behind it. How a scale is passed on to children is the
 * child's own choice: its InheritType. */
#include "io/fbx_scene.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"
#include "io/fbx_animation.h"

#define DEGREE (3.14159265358979323846 / 180)
enum {
    MOST_SHAPES = 1000,    /* of a channel */
    LONGEST_NAME = 1 << 24 /* bytes; the rest is cut off */
};

/* ---- objects --------------------------------------------------------------------------------- */

struct sn_fbx_index {
    uint64_t id;
    int object;
};

static int by_id(const void *a, const void *b) {
    const struct sn_fbx_index *p = a, *q = b;
    if (p->id != q->id) return p->id < q->id ? -1 : 1;
    return (p->object > q->object) - (p->object < q->object);
}

static uint64_t hash_text(const char *text, size_t size) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Keeps a name that is not UTF-8 as Latin-1: JSON and most programs accept UTF-8 only. */
static sinew_status decode_name(sn_fbx_scene *s, const char **name, int *size) {
    bool ascii = true;
    for (int i = 0; i < *size; i++) ascii &= (unsigned char)(*name)[i] < 0x80;
    if (ascii) return SINEW_OK;
    if (!SN_RESERVE(s->names, s->name_capacity, s->name_count + 1))
        return sn_no_memory(s->tree.error);
    char *own = sn_to_utf8(*name, (size_t)*size);
    if (!own) return sn_no_memory(s->tree.error);
    s->names[s->name_count++] = own;
    *name = own, *size = (int)strlen(own);
    return SINEW_OK;
}

/* "pCube1\0\1Model" in binary files, "Model::pCube1" in ASCII ones, or the bare name. */
static void split_name(const sn_fbx_scene *s, const sn_fbx_value *value, const char **name,
                       int *size) {
    const char *text = value->bytes, *end = text + value->size;
    const char *zero = memchr(text, '\0', value->size);
    if (zero) end = zero;
    if (s->tree.ascii || !zero)
        for (const char *p = text; p + 1 < end; p++)
            if (p[0] == ':' && p[1] == ':') {
                text = p + 2;
                break;
            }
    *name = text;
    *size = end - text > LONGEST_NAME ? LONGEST_NAME : (int)(end - text);
}

static sinew_status add_object(sn_fbx_scene *s, int node) {
    bool numbered = s->tree.version >= 7000;
    const sn_fbx_value *first = sn_fbx_value_at(&s->tree, node, 0);
    const sn_fbx_value *named = numbered ? sn_fbx_value_at(&s->tree, node, 1) : first;
    if (!first || (numbered && first->type == SN_FBX_TEXT)) return SINEW_OK;
    if (!SN_RESERVE(s->objects, s->object_capacity, s->object_count + 1))
        return sn_no_memory(s->tree.error);
    sn_fbx_object *object = &s->objects[s->object_count++];
    *object = (sn_fbx_object){.node = node, .name = "", .key = "", .id = (uint64_t)first->integer};
    if (named && named->type == SN_FBX_TEXT) {
        split_name(s, named, &object->name, &object->name_size);
        SN_TRY(decode_name(s, &object->name, &object->name_size));
        object->key = named->bytes, object->key_size = named->size;
        if (!numbered) object->id = hash_text(named->bytes, named->size);
    }
    return SINEW_OK;
}

static sinew_status find_objects(sn_fbx_scene *s) {
    int home = sn_fbx_child(&s->tree, 0, "Objects");
    for (int node = s->tree.nodes[home < 0 ? 0 : home].first_child; node >= 0;
         node = s->tree.nodes[node].next)
        if (home >= 0 || sn_fbx_named(&s->tree, node, "Model")) SN_TRY(add_object(s, node));
    s->index = SN_NEW(struct sn_fbx_index, s->object_count);
    if (!s->index) return sn_no_memory(s->tree.error);
    for (int i = 0; i < s->object_count; i++)
        s->index[i] = (struct sn_fbx_index){s->objects[i].id, i};
    qsort(s->index, (size_t)s->object_count, sizeof *s->index, by_id);
    return SINEW_OK;
}

int sn_fbx_find_object(const sn_fbx_scene *s, const sn_fbx_value *value) {
    bool text = value->type == SN_FBX_TEXT;
    uint64_t id = text ? hash_text(value->bytes, value->size) : (uint64_t)value->integer;
    int low = 0, high = s->object_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (s->index[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->object_count && s->index[low].id == id; low++) {
        const sn_fbx_object *o = &s->objects[s->index[low].object];
        if (!text || (o->key_size == value->size && memcmp(o->key, value->bytes, value->size) == 0))
            return s->index[low].object;
    }
    return -1;
}

bool sn_fbx_is(const sn_fbx_scene *s, int object, const char *name, const char *subclass) {
    int node = s->objects[object].node;
    if (!sn_fbx_named(&s->tree, node, name)) return false;
    int last = s->tree.version >= 7000 ? 2 : 1;
    return !subclass || sn_fbx_text_is(sn_fbx_value_at(&s->tree, node, last), subclass);
}

const char *sn_fbx_other_geometry(const sn_fbx_scene *s, int object) {
    static const char *const kinds[] = {"Line", "NurbsCurve", "NurbsSurface", "Nurbs",
                                        "TrimNurbsSurface"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (sn_fbx_is(s, object, "Geometry", kinds[k]) || sn_fbx_is(s, object, "Model", kinds[k]))
            return kinds[k];
    return NULL;
}

/* ---- connections ----------------------------------------------------------------------------- */

static sinew_status add_connection(sn_fbx_scene *s, int child, int parent,
                                   const sn_fbx_value *property) {
    if (!SN_RESERVE(s->connections, s->connection_capacity, s->connection_count + 1))
        return sn_no_memory(s->tree.error);
    s->connections[s->connection_count++] = (sn_fbx_connection){child, parent, property};
    return SINEW_OK;
}

static sinew_status read_connections(sn_fbx_scene *s) {
    const sn_fbx_tree *t = &s->tree;
    int home = sn_fbx_child(t, 0, "Connections");
    for (int node = home < 0 ? -1 : t->nodes[home].first_child; node >= 0;
         node = t->nodes[node].next) {
        const sn_fbx_value *child = sn_fbx_value_at(t, node, 1);
        const sn_fbx_value *parent = sn_fbx_value_at(t, node, 2);
        if (!child || !parent) continue;
        int from = sn_fbx_find_object(s, child);
        if (from < 0) {
            int to = child->type == SN_FBX_INTEGER && child->integer == 0
                         ? sn_fbx_find_object(s, parent)
                         : -1;
            if (to >= 0) s->objects[to].holds_root = true;
            continue;
        }
        SN_TRY(add_connection(s, from, sn_fbx_find_object(s, parent), sn_fbx_value_at(t, node, 3)));
    }
    /* 5.x: Children: "Box01", "Box02" */
    for (int i = 0; home < 0 && i < s->object_count; i++) {
        int list = sn_fbx_child(t, s->objects[i].node, "Children");
        for (int k = 0; list >= 0 && k < t->nodes[list].value_count; k++) {
            int child = sn_fbx_find_object(s, sn_fbx_value_at(t, list, k));
            if (child >= 0) SN_TRY(add_connection(s, child, i, NULL));
        }
    }
    return SINEW_OK;
}

/* Lists of what is connected to each object, in file order. */
static sinew_status sort_connections(sn_fbx_scene *s) {
    s->first_to = SN_NEW0(int, (size_t)s->object_count + 1);
    s->connections_to = SN_NEW(int, s->connection_count);
    s->drives = SN_NEW(int, s->object_count);
    if (!s->first_to || !s->connections_to || !s->drives) return sn_no_memory(s->tree.error);
    for (int i = 0; i < s->object_count; i++) s->drives[i] = -1;
    for (int i = s->connection_count; i-- > 0;)
        if (s->connections[i].property && s->connections[i].parent >= 0)
            s->drives[s->connections[i].child] = i;
    for (int i = 0; i < s->connection_count; i++)
        if (s->connections[i].parent >= 0) s->first_to[s->connections[i].parent + 1]++;
    for (int i = 0; i < s->object_count; i++) s->first_to[i + 1] += s->first_to[i];
    int *next = SN_NEW(int, s->object_count);
    if (!next) return sn_no_memory(s->tree.error);
    memcpy(next, s->first_to, (size_t)s->object_count * sizeof *next);
    for (int i = 0; i < s->connection_count; i++)
        if (s->connections[i].parent >= 0) s->connections_to[next[s->connections[i].parent]++] = i;
    sn_free(next);
    return SINEW_OK;
}

/* ---- properties ------------------------------------------------------------------------------ */

/* The entry of a property list ("Properties70" or "Properties60"), and where its values begin. Of
 * several with that name the last one counts, as if they were set one after the other. */
static int find_property(const sn_fbx_tree *t, int owner, const char *property, int *first) {
    int list = sn_fbx_child(t, owner, "Properties70");
    *first = 4;
    if (list < 0) list = sn_fbx_child(t, owner, "Properties60"), *first = 3;
    int found = -1;
    for (int p = list < 0 ? -1 : t->nodes[list].first_child; p >= 0; p = t->nodes[p].next)
        if (sn_fbx_text_is(sn_fbx_value_at(t, p, 0), property)) found = p;
    return found;
}

static int find_template(const sn_fbx_tree *t, int node) {
    int definitions = sn_fbx_child(t, 0, "Definitions");
    for (int type = sn_fbx_child(t, definitions, "ObjectType"); type >= 0;
         type = sn_fbx_next_same(t, type)) {
        const sn_fbx_value *name = sn_fbx_value_at(t, type, 0);
        if (name && name->type == SN_FBX_TEXT && name->size == (size_t)t->nodes[node].name_size &&
            memcmp(name->bytes, t->nodes[node].name, name->size) == 0)
            return sn_fbx_child(t, type, "PropertyTemplate");
    }
    return -1;
}

/* 5.x keeps the three transforms in Channel: "Transform" { Channel: "T" { Channel: "X" … */
static double old_transform(const sn_fbx_tree *t, int node, const char *property, int index,
                            double fallback) {
    const char *letter = !strcmp(property, "Lcl Translation") ? "T"
                         : !strcmp(property, "Lcl Rotation")  ? "R"
                         : !strcmp(property, "Lcl Scaling")   ? "S"
                                                              : NULL;
    const char *const path[] = {"Transform", letter, index == 0 ? "X" : index == 1 ? "Y" : "Z"};
    for (int i = 0; letter && i < 3; i++) {
        int channel = sn_fbx_child(t, node, "Channel");
        while (channel >= 0 && !sn_fbx_text_is(sn_fbx_value_at(t, channel, 0), path[i]))
            channel = sn_fbx_next_same(t, channel);
        if (channel < 0) return fallback;
        node = channel;
    }
    const sn_fbx_value *value = sn_fbx_value_at(t, sn_fbx_child(t, node, "Default"), 0);
    return letter && value && isfinite(value->number) ? value->number : fallback;
}

static double stored_property(const sn_fbx_scene *s, int object, const char *property, int index,
                              double fallback) {
    const sn_fbx_tree *t = &s->tree;
    int node = s->objects[object].node, first;
    int found = find_property(t, node, property, &first);
    if (found < 0) found = find_property(t, find_template(t, node), property, &first);
    if (found < 0) return old_transform(t, node, property, index, fallback);
    const sn_fbx_value *value = sn_fbx_value_at(t, found, first + index);
    return value && value->type != SN_FBX_TEXT && isfinite(value->number) ? value->number
                                                                          : fallback;
}

double sn_fbx_property(const sn_fbx_scene *s, int object, const char *property, int index,
                       double fallback) {
    const sn_fbx_curve *curve =
        s->clip ? sn_fbx_clip_find(s->clip, object, property, (int)strlen(property), index) : NULL;
    double stored = stored_property(s, object, property, index, fallback);
    return curve ? sn_fbx_layers_at(s->clip, curve, stored, s->time) : stored;
}

/* ---- transforms ------------------------------------------------------------------------------ */

sn_fbx_affine sn_fbx_compose(sn_fbx_affine a, sn_fbx_affine b) {
    return (sn_fbx_affine){sn_mat3_multiply(a.linear, b.linear), sn_fbx_apply(&a, b.translation)};
}

static sn_fbx_affine moved(sn_vec3 by) {
    return (sn_fbx_affine){sn_mat3_identity(), by};
}
static sn_fbx_affine turned(sn_mat3 by) {
    return (sn_fbx_affine){by, sn_v3(0, 0, 0)};
}

static sn_mat3 axis_rotation(int axis, double degrees) {
    double c = cos(degrees * DEGREE), s = sin(degrees * DEGREE);
    int i = (axis + 1) % 3, j = (axis + 2) % 3;
    sn_mat3 r = sn_mat3_identity();
    r.m[i][i] = c, r.m[i][j] = -s, r.m[j][i] = s, r.m[j][j] = c;
    return r;
}

/* order: 0 XYZ (x is applied first), 1 XZY, 2 YZX, 3 YXZ, 4 ZXY, 5 ZYX. */
static sn_mat3 euler_rotation(sn_vec3 degrees, int order) {
    static const char axes[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0},
                                    {1, 0, 2}, {2, 0, 1}, {2, 1, 0}};
    const double angle[] = {degrees.x, degrees.y, degrees.z};
    const char *a = axes[order >= 0 && order < 6 ? order : 0];
    sn_mat3 r = axis_rotation(a[0], angle[(int)a[0]]);
    r = sn_mat3_multiply(axis_rotation(a[1], angle[(int)a[1]]), r);
    return sn_mat3_multiply(axis_rotation(a[2], angle[(int)a[2]]), r);
}

static sn_mat3 diagonal(sn_vec3 d) {
    return (sn_mat3){{{d.x, 0, 0}, {0, d.y, 0}, {0, 0, d.z}}};
}

static sn_vec3 vector_property(const sn_fbx_scene *s, int object, const char *name,
                               double fallback) {
    return sn_v3(sn_fbx_property(s, object, name, 0, fallback),
                 sn_fbx_property(s, object, name, 1, fallback),
                 sn_fbx_property(s, object, name, 2, fallback));
}

/* Lcl Rotation between the rotations before and after it. A node whose rotation space is not
 * active, or serves its limits alone, has neither these two nor an order. */
static sn_mat3 local_rotation(const sn_fbx_scene *s, int object) {
    bool active = sn_fbx_property(s, object, "RotationActive", 0, 1) != 0 &&
                  sn_fbx_property(s, object, "RotationSpaceForLimitOnly", 0, 0) == 0;
    sn_vec3 degrees = vector_property(s, object, "Lcl Rotation", 0);
    if (!active) return euler_rotation(degrees, 0);
    sn_mat3 before = euler_rotation(vector_property(s, object, "PreRotation", 0), 0);
    sn_mat3 after = euler_rotation(vector_property(s, object, "PostRotation", 0), 0);
    sn_mat3 own = euler_rotation(degrees, (int)sn_fbx_property(s, object, "RotationOrder", 0, 0));
    return sn_mat3_multiply(sn_mat3_multiply(before, own), sn_mat3_transpose(after));
}

/* The local matrix; also its rotation and scale alone. */
static sn_fbx_affine local_transform(const sn_fbx_scene *s, int object, sn_mat3 *rotation,
                                     sn_vec3 *scale) {
    sn_vec3 rotation_pivot = vector_property(s, object, "RotationPivot", 0);
    sn_vec3 scaling_pivot = vector_property(s, object, "ScalingPivot", 0);
    *rotation = local_rotation(s, object);
    *scale = vector_property(s, object, "Lcl Scaling", 1);
    const sn_fbx_affine steps[] = {
        moved(vector_property(s, object, "Lcl Translation", 0)),
        moved(vector_property(s, object, "RotationOffset", 0)),
        moved(rotation_pivot),
        turned(*rotation),
        moved(sn_scale(-1, rotation_pivot)),
        moved(vector_property(s, object, "ScalingOffset", 0)),
        moved(scaling_pivot),
        turned(diagonal(*scale)),
        moved(sn_scale(-1, scaling_pivot)),
    };
    sn_fbx_affine result = steps[0];
    for (size_t i = 1; i < sizeof steps / sizeof *steps; i++)
        result = sn_fbx_compose(result, steps[i]);
    return result;
}

static sn_fbx_affine geometric_transform(const sn_fbx_scene *s, int object) {
    sn_fbx_affine result = moved(vector_property(s, object, "GeometricTranslation", 0));
    result = sn_fbx_compose(
        result, turned(euler_rotation(vector_property(s, object, "GeometricRotation", 0), 0)));
    return sn_fbx_compose(result,
                          turned(diagonal(vector_property(s, object, "GeometricScaling", 1))));
}

static sn_vec3 times(sn_vec3 a, sn_vec3 b) {
    return sn_v3(a.x * b.x, a.y * b.y, a.z * b.z);
}

/* Places a model whose parent is placed.
 *   0 RrSs  the scale of the parent acts with the model's own, after its rotation
 *   1 RSrs  plain products of matrices
 *   2 Rrs   the scale of the parent moves the model and does not scale it (segment scale
 *           compensation of Maya)
 * Only the parent's own scale is treated so: what scales or shears the parent acts on its children
 * in any case. So 0 and 2 start from the parent without its scale. */
static void place(sn_fbx_scene *s, sn_fbx_model *m) {
    enum { ROTATE_FIRST, PRODUCT, WITHOUT_PARENT };
    const sn_fbx_model *parent = m->parent >= 0 ? &s->models[m->parent] : NULL;
    sn_mat3 rotation;
    sn_fbx_affine local = local_transform(s, m->object, &rotation, &m->scale);
    int inherit = (int)sn_fbx_property(s, m->object, "InheritType", 0, PRODUCT);
    m->inherited = sn_v3(1, 1, 1);
    if (parent && (inherit == ROTATE_FIRST || inherit == WITHOUT_PARENT)) {
        m->inherited = inherit == ROTATE_FIRST ? parent->scale : parent->inherited;
        m->scale = times(m->scale, m->inherited);
        local = (sn_fbx_affine){sn_mat3_multiply(rotation, diagonal(m->scale)),
                                times(local.translation, parent->scale)};
        m->unscaled =
            sn_fbx_compose(parent->unscaled, (sn_fbx_affine){rotation, local.translation});
        m->world = sn_fbx_compose(parent->unscaled, local);
    } else {
        sn_fbx_affine unscaled = {rotation, local.translation};
        m->unscaled = parent ? sn_fbx_compose(parent->world, unscaled) : unscaled;
        m->world = parent ? sn_fbx_compose(parent->world, local) : local;
    }
    m->offset = geometric_transform(s, m->object);
    m->geometry = sn_fbx_compose(m->world, m->offset);
    const sn_fbx_affine identity = moved(sn_v3(0, 0, 0));
    m->still = m->geometry.translation.x == 0 && m->geometry.translation.y == 0 &&
               m->geometry.translation.z == 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m->still &= m->geometry.linear.m[i][j] == identity.linear.m[i][j];
    m->placed = true;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Vertices and faces, or vertices of what calls itself a mesh: shapes have vertices too. */
static bool has_mesh(const sn_fbx_tree *t, int node) {
    if (sn_fbx_child(t, node, "Vertices") < 0) return false;
    bool found = sn_fbx_child(t, node, "PolygonVertexIndex") >= 0;
    for (int i = 1; !found && i < 3; i++)
        found = sn_fbx_text_is(sn_fbx_value_at(t, node, i), "Mesh");
    return found;
}

/* Further meshes of a node are shown by copies of it. */
static void add_copy(sn_fbx_scene *s, int model, int mesh_object) {
    sn_fbx_model *copy = &s->models[s->model_count++];
    *copy = s->models[model];
    copy->mesh = s->objects[mesh_object].node, copy->mesh_object = mesh_object;
}

static sinew_status find_models(sn_fbx_scene *s) {
    int *model_of = SN_NEW(int, s->object_count);
    s->models = SN_NEW0(sn_fbx_model, (size_t)s->object_count + (size_t)s->connection_count);
    sinew_status status = model_of && s->models ? SINEW_OK : sn_no_memory(s->tree.error);
    for (int i = 0; status == SINEW_OK && i < s->object_count; i++) {
        model_of[i] = -1;
        if (!sn_fbx_is(s, i, "Model", NULL)) continue;
        int mesh = has_mesh(&s->tree, s->objects[i].node) ? s->objects[i].node : -1;
        model_of[i] = s->model_count;
        s->models[s->model_count++] =
            (sn_fbx_model){.object = i, .parent = -1, .mesh = mesh, .mesh_object = i};
    }
    for (int pass = 0; pass < 2; pass++) /* parents first: copies have the same */
        for (int i = 0; status == SINEW_OK && i < s->connection_count; i++) {
            const sn_fbx_connection *c = &s->connections[i];
            if (c->parent < 0 || c->property || model_of[c->parent] < 0) continue;
            int model = model_of[c->parent];
            if (model_of[c->child] >= 0)
                s->models[model_of[c->child]].parent = model;
            else if (pass == 0 || !has_mesh(&s->tree, s->objects[c->child].node))
                continue;
            else if (s->models[model].mesh < 0)
                s->models[model].mesh = s->objects[c->child].node,
                s->models[model].mesh_object = c->child;
            else if (s->models[model].mesh_object != c->child)
                add_copy(s, model, c->child);
        }
    sn_free(model_of);
    return status;
}

/* Walks up to what is placed, then back down; a chain that is too long runs in a circle. */
sinew_status sn_fbx_place(sn_fbx_scene *s, const struct sn_fbx_clip *clip, double time) {
    s->clip = clip, s->time = time;
    int *stack = SN_NEW(int, s->model_count);
    sinew_status status = stack ? SINEW_OK : sn_no_memory(s->tree.error);
    for (int i = 0; i < s->model_count; i++) s->models[i].placed = false;
    for (int i = 0; status == SINEW_OK && i < s->model_count; i++) {
        int depth = 0;
        for (int m = i; m >= 0 && !s->models[m].placed; m = s->models[m].parent) {
            if (depth == s->model_count) {
                status = sn_fbx_fail(&s->tree, "node '%.*s' is its own parent",
                                     s->objects[s->models[i].object].name_size,
                                     s->objects[s->models[i].object].name);
                break;
            }
            stack[depth++] = m;
        }
        while (status == SINEW_OK && depth > 0) place(s, &s->models[stack[--depth]]);
    }
    sn_free(stack);
    return status;
}

/* ---- channels -------------------------------------------------------------------------------- */

static sinew_status add_shape(sn_fbx_scene *s, int node, double full_weight, const char *name,
                              int name_size) {
    if (!SN_RESERVE(s->shapes, s->shape_capacity, s->shape_count + 1))
        return sn_no_memory(s->tree.error);
    s->shapes[s->shape_count++] = (sn_fbx_shape){node, full_weight, name, name_size};
    return SINEW_OK;
}

static sinew_status add_channel(sn_fbx_scene *s, const sn_fbx_channel *channel) {
    if (!SN_RESERVE(s->channels, s->channel_capacity, s->channel_count + 1))
        return sn_no_memory(s->tree.error);
    s->channels[s->channel_count++] = *channel;
    return SINEW_OK;
}

/* 6.x and early 7.x: Shape: "smile" { Indexes, Vertices } inside the mesh; the weight is a property
 * of that name, 0 to 100. */
static sinew_status inner_shapes(sn_fbx_scene *s, int mesh, int object) {
    for (int shape = sn_fbx_child(&s->tree, mesh, "Shape"); shape >= 0;
         shape = sn_fbx_next_same(&s->tree, shape)) {
        const sn_fbx_value *value = sn_fbx_value_at(&s->tree, shape, 0);
        if (!value || value->type != SN_FBX_TEXT) continue;
        sn_fbx_channel channel = {
            .mesh = mesh, .first_shape = s->shape_count, .shape_count = 1, .object = object};
        split_name(s, value, &channel.property, &channel.property_size);
        channel.name = channel.property, channel.name_size = channel.property_size;
        SN_TRY(decode_name(s, &channel.name, &channel.name_size));
        int first;
        char *text = sn_strndup(channel.property, (size_t)channel.property_size);
        if (!text) return sn_no_memory(s->tree.error);
        int found = find_property(&s->tree, mesh, text, &first);
        sn_free(text);
        const sn_fbx_value *percent = sn_fbx_value_at(&s->tree, found, first);
        if (percent && isfinite(percent->number)) channel.percent = percent->number;
        SN_TRY(add_shape(s, shape, 100, channel.name, channel.name_size));
        SN_TRY(add_channel(s, &channel));
    }
    return SINEW_OK;
}

/* Shapes of a BlendShapeChannel, by increasing weight. */
static sinew_status read_channel(sn_fbx_scene *s, int object, int mesh) {
    const sn_fbx_object *o = &s->objects[object];
    sn_fbx_channel channel = {.mesh = mesh,
                              .name = o->name,
                              .name_size = o->name_size,
                              .first_shape = s->shape_count,
                              .object = object,
                              .property = "DeformPercent",
                              .property_size = 13};
    const sn_fbx_value *percent =
        sn_fbx_value_at(&s->tree, sn_fbx_child(&s->tree, o->node, "DeformPercent"), 0);
    channel.percent = sn_fbx_property(s, object, "DeformPercent", 0,
                                      percent && isfinite(percent->number) ? percent->number : 0);
    double *weights;
    int weight_count;
    SN_TRY(sn_fbx_numbers(&s->tree, sn_fbx_child(&s->tree, o->node, "FullWeights"), &weights,
                          &weight_count));
    sinew_status status = SINEW_OK;
    for (int k = s->first_to[object]; status == SINEW_OK && k < s->first_to[object + 1]; k++) {
        int child = s->connections[s->connections_to[k]].child;
        if (!sn_fbx_is(s, child, "Geometry", "Shape")) continue;
        if (channel.shape_count == MOST_SHAPES)
            status = sn_fbx_fail(&s->tree, "channel '%.*s' has more than %d shapes", o->name_size,
                                 o->name, MOST_SHAPES);
        if (status != SINEW_OK) break;
        double full = channel.shape_count < weight_count ? weights[channel.shape_count] : 100;
        status = add_shape(s, s->objects[child].node, full, s->objects[child].name,
                           s->objects[child].name_size);
        channel.shape_count++;
    }
    sn_free(weights);
    /* Blender lists one weight per vertex that its only shape moves, for a group of vertices. */
    if (status == SINEW_OK && channel.shape_count == 1 && weight_count > 1)
        s->shapes[channel.first_shape].full_weight = 100;
    for (int i = 1; status == SINEW_OK && i < channel.shape_count; i++) {
        sn_fbx_shape *list = s->shapes + channel.first_shape, moving = list[i];
        int at = i;
        for (; at > 0 && list[at - 1].full_weight > moving.full_weight; at--)
            list[at] = list[at - 1];
        list[at] = moving;
    }
    return status == SINEW_OK && channel.shape_count > 0 ? add_channel(s, &channel) : status;
}

static sinew_status find_channels(sn_fbx_scene *s) {
    for (int i = 0; i < s->object_count; i++) {
        int node = s->objects[i].node;
        if (!has_mesh(&s->tree, node)) continue;
        SN_TRY(inner_shapes(s, node, i));
        for (int k = s->first_to[i]; k < s->first_to[i + 1]; k++) {
            int deformer = s->connections[s->connections_to[k]].child;
            if (!sn_fbx_is(s, deformer, "Deformer", "BlendShape")) continue;
            for (int c = s->first_to[deformer]; c < s->first_to[deformer + 1]; c++) {
                int channel = s->connections[s->connections_to[c]].child;
                if (sn_fbx_is(s, channel, "Deformer", "BlendShapeChannel"))
                    SN_TRY(read_channel(s, channel, node));
            }
        }
    }
    return SINEW_OK;
}

sinew_status sn_fbx_fail_mesh(const sn_fbx_scene *s, const sn_fbx_model *model, const char *what) {
    const sn_fbx_object *o = &s->objects[model->object];
    return sn_fbx_fail(&s->tree, "mesh '%.*s': %s", o->name_size, o->name, what);
}

double sn_fbx_rate(const sn_fbx_scene *s) {
    /* The time modes of FBX, in the order of its enumeration; 14 is a custom rate. */
    static const double rates[] = {30,         120, 100, 60,   50,         48, 30, 30, 30 / 1.001,
                                   30 / 1.001, 25,  24,  1000, 24 / 1.001, 0,  96, 72, 60 / 1.001};
    const sn_fbx_tree *t = &s->tree;
    int settings = sn_fbx_child(t, 0, "GlobalSettings"), first;
    if (settings < 0) settings = sn_fbx_child(t, sn_fbx_child(t, 0, "Objects"), "GlobalSettings");
    int found = find_property(t, settings, "TimeMode", &first);
    const sn_fbx_value *mode = sn_fbx_value_at(t, found, first);
    size_t index = mode && mode->integer >= 0 ? (size_t)mode->integer : 0;
    if (index == 14) {
        found = find_property(t, settings, "CustomFrameRate", &first);
        const sn_fbx_value *rate = sn_fbx_value_at(t, found, first);
        return rate && rate->number >= 1 && rate->number <= 1000 ? rate->number : rates[0];
    }
    return index < sizeof rates / sizeof *rates ? rates[index] : rates[0];
}

sinew_status sn_fbx_open(sn_fbx_scene *scene, const sn_source *source, sinew_error *error) {
    memset(scene, 0, sizeof *scene);
    SN_TRY(sn_fbx_tree_open(&scene->tree, source, error));
    SN_TRY(find_objects(scene));
    SN_TRY(read_connections(scene));
    SN_TRY(sort_connections(scene));
    SN_TRY(find_models(scene));
    SN_TRY(find_channels(scene));
    return sn_fbx_place(scene, NULL, 0);
}

void sn_fbx_close(sn_fbx_scene *scene) {
    sn_fbx_tree_close(&scene->tree);
    sn_free(scene->objects), sn_free(scene->index);
    sn_free(scene->connections), sn_free(scene->connections_to), sn_free(scene->first_to);
    sn_free(scene->drives);
    sn_free(scene->models), sn_free(scene->channels), sn_free(scene->shapes);
    for (int i = 0; i < scene->name_count; i++) sn_free(scene->names[i]);
    sn_free(scene->names);
}
