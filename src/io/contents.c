/* What files hold beside meshes and targets. */
#include "io/contents.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/sized.h"
#include "io/fbx_scene.h"
#include "io/fbx_subdivide.h"
#include "io/gltf_pose.h"
#include "io/gltf_vrm.h"

sinew_status sn_contents_add(sinew_contents *c, sinew_contents_kind kind, const char *name,
                             size_t name_size, const char *detail, bool used, sinew_error *error) {
    for (int i = 0; kind == SINEW_CONTENTS_KIND_ATTRIBUTE && i < c->count; i++)
        if (c->entries[i].kind == kind && strlen(c->entries[i].name) == name_size &&
            memcmp(c->entries[i].name, name, name_size) == 0)
            return SINEW_OK;
    if (!SN_RESERVE(c->entries, c->capacity, c->count + 1)) return sn_no_memory(error);
    char *own = sn_alloc(name_size + 1, 1), *text = sn_strdup(detail ? detail : "");
    if (!own || !text) {
        sn_free(own), sn_free(text);
        return sn_no_memory(error);
    }
    if (name_size > 0) memcpy(own, name, name_size);
    own[name_size] = 0;
    int at = c->count++; /* sorted by kind; equal kinds stay in order */
    for (; at > 0 && c->entries[at - 1].kind > kind; at--) c->entries[at] = c->entries[at - 1];
    c->entries[at] = (struct sn_contents_entry){kind, own, text, used};
    return SINEW_OK;
}

/* ---- glTF ------------------------------------------------------------------------------------ */

static sinew_status add_text(sinew_contents *c, sinew_contents_kind kind, const char *name,
                             const char *detail, bool used, sinew_error *error) {
    return sn_contents_add(c, kind, name, name ? strlen(name) : 0, detail, used, error);
}

static sinew_status add_list(const sn_gltf *g, const json_t *list, sinew_contents_kind kind,
                             sinew_contents *c) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = sn_json_string(item, "name"), *type = sn_json_string(item, "type");
        if (!name && kind == SINEW_CONTENTS_KIND_IMAGE) name = sn_json_string(item, "uri");
        if (!type) type = sn_json_string(item, "mimeType");
        if (name && strncmp(name, "data:", 5) == 0) name = NULL;
        SN_TRY(add_text(c, kind, name, type, false, g->error));
    }
    return SINEW_OK;
}

static sinew_status add_clips(sn_gltf *g, sinew_contents *c) {
    const json_t *list = json_object_get(g->root, "animations");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *clip = json_array_get(list, i), *channels = json_object_get(clip, "channels");
        const json_t *samplers = json_object_get(clip, "samplers");
        double end = 0;
        int weights = 0, count = (int)json_array_size(channels);
        for (int k = 0; k < count; k++) {
            const json_t *channel = json_array_get(channels, (size_t)k);
            const char *path = sn_json_string(json_object_get(channel, "target"), "path");
            weights += path && strcmp(path, "weights") == 0;
            int64_t index = 0;
            sn_json_integer(json_object_get(channel, "sampler"), 0, INT32_MAX, &index);
            const json_t *times = sn_gltf_item(
                g, "accessors", json_object_get(json_array_get(samplers, (size_t)index), "input"));
            const json_t *last = json_array_get(json_object_get(times, "max"), 0);
            if (json_is_number(last)) end = fmax(end, json_number_value(last));
        }
        char detail[120];
        sn_print(detail, sizeof detail, "%.3g s, %d channel%s, %d of them weights", end, count,
                 count == 1 ? "" : "s", weights);
        SN_TRY(add_text(c, SINEW_CONTENTS_KIND_CLIP, sn_json_string(clip, "name"), detail, true,
                        g->error));
    }
    return SINEW_OK;
}

static sinew_status add_skins(sn_gltf *g, sinew_contents *c) {
    const json_t *list = json_object_get(g->root, "skins");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *skin = json_array_get(list, i);
        char detail[60];
        snprintf(detail, sizeof detail, "%zu joints",
                 json_array_size(json_object_get(skin, "joints")));
        SN_TRY(add_text(c, SINEW_CONTENTS_KIND_SKIN, sn_json_string(skin, "name"), detail, true,
                        g->error));
    }
    return SINEW_OK;
}

/* Attributes that the readers do not look at; our own start with an underscore. */
static sinew_status add_attributes(sn_gltf *g, sinew_contents *c) {
    static const char *const known[] = {"POSITION", "NORMAL",    "TEXCOORD_0", "JOINTS_0",
                                        "JOINTS_1", "WEIGHTS_0", "WEIGHTS_1"};
    const json_t *meshes = json_object_get(g->root, "meshes");
    for (size_t m = 0; m < json_array_size(meshes); m++) {
        const json_t *primitives = json_object_get(json_array_get(meshes, m), "primitives");
        for (size_t p = 0; p < json_array_size(primitives); p++) {
            json_t *attributes = json_object_get(json_array_get(primitives, p), "attributes");
            const char *name;
            json_t *value;
            json_object_foreach(attributes, name, value) {
                bool used = strcmp(name, "_VERTEX") == 0 || strcmp(name, "_UV") == 0;
                for (size_t i = 0; i < sizeof known / sizeof *known; i++)
                    used |= strcmp(name, known[i]) == 0;
                if (!used)
                    SN_TRY(add_text(c, SINEW_CONTENTS_KIND_ATTRIBUTE, name, NULL, false, g->error));
            }
        }
    }
    return SINEW_OK;
}

static sinew_status add_extensions(sn_gltf *g, sinew_contents *c) {
    const json_t *list = json_object_get(g->root, "extensionsUsed");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        bool used = name && (strcmp(name, "KHR_mesh_quantization") == 0 ||
                             strcmp(name, "EXT_meshopt_compression") == 0 ||
                             strcmp(name, "VRMC_vrm") == 0 || strcmp(name, "VRM") == 0);
        if (name) SN_TRY(add_text(c, SINEW_CONTENTS_KIND_EXTENSION, name, NULL, used, g->error));
    }
    sn_gltf_expression *expressions = NULL;
    int count = 0;
    sinew_status status = sn_gltf_expressions(g, &expressions, &count);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        char detail[60];
        snprintf(detail, sizeof detail, "%d binds", sn_gltf_bind_count(&expressions[i]));
        status = add_text(c, SINEW_CONTENTS_KIND_EXPRESSION, expressions[i].name, detail, true,
                          g->error);
    }
    sn_gltf_expressions_free(expressions, count);
    return status;
}

static sinew_status list_gltf(sn_gltf *g, sinew_contents *c) {
    const json_t *lights = json_object_get(
        json_object_get(json_object_get(g->root, "extensions"), "KHR_lights_punctual"), "lights");
    SN_TRY(add_clips(g, c));
    SN_TRY(add_skins(g, c));
    SN_TRY(add_list(g, json_object_get(g->root, "materials"), SINEW_CONTENTS_KIND_MATERIAL, c));
    SN_TRY(add_list(g, json_object_get(g->root, "images"), SINEW_CONTENTS_KIND_IMAGE, c));
    SN_TRY(add_list(g, json_object_get(g->root, "cameras"), SINEW_CONTENTS_KIND_CAMERA, c));
    SN_TRY(add_list(g, lights, SINEW_CONTENTS_KIND_LIGHT, c));
    SN_TRY(add_attributes(g, c));
    c->unit = 1, c->up = 'y';
    return add_extensions(g, c);
}

sinew_status sn_gltf_read_contents(const sn_source *source, sinew_contents *c, sinew_error *error) {
    sn_gltf gltf;
    sinew_status status = sn_gltf_open(&gltf, source, error);
    if (status == SINEW_OK) status = list_gltf(&gltf, c);
    sn_gltf_close(&gltf);
    return status;
}

/* ---- FBX ------------------------------------------------------------------------------------- */

/* A number of GlobalSettings: P or Property: "UpAxis", "int", …, value. */
static double setting(const sn_fbx_tree *t, const char *name, double otherwise) {
    int settings = sn_fbx_child(t, 0, "GlobalSettings");
    if (settings < 0) settings = sn_fbx_child(t, sn_fbx_child(t, 0, "Objects"), "GlobalSettings");
    int list = sn_fbx_child(t, settings, "Properties70");
    if (list < 0) list = sn_fbx_child(t, settings, "Properties60");
    for (int p = list >= 0 ? t->nodes[list].first_child : -1; p >= 0; p = t->nodes[p].next) {
        const sn_fbx_value *last = sn_fbx_value_at(t, p, t->nodes[p].value_count - 1);
        if (sn_fbx_text_is(sn_fbx_value_at(t, p, 0), name) && last && last->type != SN_FBX_TEXT)
            return last->number;
    }
    return otherwise;
}

static sinew_status list_fbx(const sn_fbx_scene *s, sinew_contents *c, sinew_error *error) {
    static const struct {
        const char *node, *subclass;
        sinew_contents_kind kind;
        bool used;
    } known[] = {{"AnimationStack", NULL, SINEW_CONTENTS_KIND_CLIP, true},
                 {"Deformer", "Skin", SINEW_CONTENTS_KIND_SKIN, true},
                 {"Material", NULL, SINEW_CONTENTS_KIND_MATERIAL, false},
                 {"Video", NULL, SINEW_CONTENTS_KIND_IMAGE, false},
                 {"NodeAttribute", "Camera", SINEW_CONTENTS_KIND_CAMERA, false},
                 {"Model", "Camera", SINEW_CONTENTS_KIND_CAMERA, false},
                 {"NodeAttribute", "Light", SINEW_CONTENTS_KIND_LIGHT, false},
                 {"Model", "Light", SINEW_CONTENTS_KIND_LIGHT, false},
                 {"Deformer", "VertexCacheDeformer", SINEW_CONTENTS_KIND_CACHE, false}};
    const bool old = s->tree.version < 7000; /* cameras and lights are models there */
    for (int i = 0; i < s->object_count; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            bool attribute = strcmp(known[k].node, "NodeAttribute") == 0;
            bool model = strcmp(known[k].node, "Model") == 0;
            if ((attribute && old) || (model && !old)) continue;
            if (!sn_fbx_is(s, i, known[k].node, known[k].subclass)) continue;
            char detail[60] = "";
            if (known[k].kind == SINEW_CONTENTS_KIND_SKIN)
                snprintf(detail, sizeof detail, "%d clusters", s->first_to[i + 1] - s->first_to[i]);
            SN_TRY(sn_contents_add(c, known[k].kind, s->objects[i].name,
                                   (size_t)s->objects[i].name_size, detail, known[k].used, error));
        }
    for (int i = 0; i < s->object_count; i++) {
        const char *kind = sn_fbx_other_geometry(s, i);
        if (kind)
            SN_TRY(sn_contents_add(c, SINEW_CONTENTS_KIND_GEOMETRY, s->objects[i].name,
                                   (size_t)s->objects[i].name_size, kind, false, error));
    }
    for (int i = 0; i < s->model_count; i++) {
        const sn_fbx_object *o = &s->objects[s->models[i].object];
        int levels =
            s->models[i].mesh >= 0 ? sn_fbx_subdivision_levels(&s->tree, s->models[i].mesh) : 0;
        char detail[80];
        snprintf(detail, sizeof detail, "%d level%s, for plain meshes; a rig keeps the cage",
                 levels, levels == 1 ? "" : "s");
        if (levels > 0)
            SN_TRY(sn_contents_add(c, SINEW_CONTENTS_KIND_SUBDIVISION, o->name,
                                   (size_t)o->name_size, detail, true, error));
    }
    double up = setting(&s->tree, "UpAxis", 1);
    c->unit = 0.01 * setting(&s->tree, "UnitScaleFactor", 1);
    if (!(c->unit > 0) || !isfinite(c->unit)) c->unit = 0;
    c->up = up == 0 ? 'x' : up == 2 ? 'z' : 'y';
    return SINEW_OK;
}

sinew_status sn_fbx_read_contents(const sn_source *source, sinew_contents *c, sinew_error *error) {
    sn_fbx_scene scene = {0};
    sinew_status status = sn_fbx_open(&scene, source, error);
    if (status == SINEW_OK) status = list_fbx(&scene, c, error);
    sn_fbx_close(&scene);
    return status;
}

/* ---- the public calls ------------------------------------------------------------------------ */

static sinew_status list_contents(const char *path, sinew_contents *contents, sinew_error *error) {
    for (const sn_format *const *f = sn_formats(); *f; f++) {
        if (!(*f)->read_contents || !sn_format_has_ending(*f, path)) continue;
        sn_source source;
        SN_TRY(sn_source_open(&source, path, error));
        sinew_status status = (*f)->read_contents(&source, contents, error);
        sn_source_close(&source);
        return status;
    }
    return SINEW_OK;
}

sinew_status sn_contents_read(const char *path, sinew_contents **contents, sinew_error *error) {
    *contents = SN_NEW0(sinew_contents, 1);
    if (!*contents) return sn_no_memory(error);
    sinew_status status = list_contents(path, *contents, error);
    if (status != SINEW_OK) {
        sinew_contents_destroy(*contents);
        *contents = NULL;
    }
    return status;
}

sinew_status sinew_contents_read(const char *path, const sinew_monitor *monitor,
                                 sinew_contents **contents, sinew_error *error) {
    SN_REQUIRE(path && contents, error);
    sinew_source source = {.size = sizeof source, .name = path};
    return sinew_contents_read_from(&source, monitor, contents, error);
}

void sinew_contents_destroy(sinew_contents *contents) {
    if (!contents) return;
    for (int i = 0; i < contents->count; i++)
        sn_free(contents->entries[i].name), sn_free(contents->entries[i].detail);
    sn_free(contents->entries);
    sn_free(contents);
}

int sinew_contents_count(const sinew_contents *contents) {
    return contents ? contents->count : 0;
}

sinew_status sinew_contents_get(const sinew_contents *contents, int index,
                                sinew_contents_item *item) {
    if (!contents || !item || !sn_info_ready(item) || index < 0 || index >= contents->count)
        return SINEW_MISUSE;
    const struct sn_contents_entry *entry = &contents->entries[index];
    const sinew_contents_item found = {sizeof found, entry->kind, entry->name, entry->detail,
                                       entry->used};
    sn_info_write(item, &found, sizeof found);
    return SINEW_OK;
}

const char *sinew_contents_kind_name(sinew_contents_kind kind) {
    static const char *const names[] = {"clip",      "skin",        "expression", "material",
                                        "image",     "camera",      "light",      "attribute",
                                        "extension", "subdivision", "cache",      "geometry"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

double sinew_contents_unit(const sinew_contents *contents) {
    return contents ? contents->unit : 0;
}

char sinew_contents_up(const sinew_contents *contents) {
    return contents ? contents->up : 0;
}

/* Rotations that keep the handedness, from an up axis to y: rows of x, y and z. */
static const double to_y[3][9] = {
    {0, -1, 0, 1, 0, 0, 0, 0, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, 0, 1, 0, -1, 0}};

sinew_status sinew_contents_matrix(const sinew_contents *contents, double unit, char up,
                                   double *matrix, sinew_error *error) {
    SN_REQUIRE(contents && matrix && unit >= 0 && isfinite(unit), error);
    SN_REQUIRE(up == 0 || (up >= 'x' && up <= 'z'), error);
    if ((unit > 0 && !(contents->unit > 0)) || (up && !contents->up))
        return sn_fail(error, SINEW_BAD_INPUT, "the file does not state its unit and up axis");
    double scale = unit > 0 ? contents->unit / unit : 1;
    const double *from = to_y[(up ? contents->up : 'y') - 'x'], *to = to_y[(up ? up : 'y') - 'x'];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0; /* the transpose of `to` leads from y to the new axis */
            for (int k = 0; k < 3; k++) sum += to[3 * k + i] * from[3 * k + j];
            matrix[3 * i + j] = scale * sum;
        }
    return SINEW_OK;
}
