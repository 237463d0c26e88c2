/* The manifest of a farm: {"farm": 1, "shots": [{"name", "scene", "overrides"}]}. It may come from
 * somebody else, so that names become folders only after a check, and scenes are read only from
 * the folder of the manifest. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "farm.h"
#include "json.h"
#include "sinew/cache.h"

enum { MANIFEST_VERSION = 1, LONGEST_NAME = 100 };

/* A name that becomes a folder below DIR, whatever the manifest contains. */
static bool is_shot_name(const char *name) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_-.";
    size_t length = strlen(name);
    return length > 0 && length <= LONGEST_NAME && strspn(name, allowed) == length &&
           name[0] != '.' && name[0] != '-' && !strstr(name, "..");
}

static bool lies_inside(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return !strncmp(path, folder, length) &&
           (path[length] == '/' || (length && folder[length - 1] == '/'));
}

/* What is known while the shots are read. */
typedef struct reading {
    farm *f;
    const char *manifest;
    char *folder;  /* of the manifest, links followed */
    json_t *names; /* set of shot names */
} reading;

static sinew_status refuse(const reading *r, int index, const char *what) {
    return sinew_fail(&r->f->call->error, SINEW_BAD_INPUT, "%s: /shots/%d: %s", r->manifest, index,
                      what);
}

static sinew_status check_keys(const reading *r, int index, json_t *entry) {
    const char *key;
    json_t *value;
    if (!json_is_object(entry)) return refuse(r, index, "a shot must be an object");
    json_object_foreach(entry, key, value) if (strcmp(key, "name") && strcmp(key, "scene") &&
                                               strcmp(key, "overrides")) {
        char what[200];
        snprintf(what, sizeof what, "unknown key '%.100s'; a shot has name, scene and overrides",
                 key);
        return refuse(r, index, what);
    }
    return SINEW_OK;
}

/* The path of the scene from the root, links followed. */
static sinew_status scene_path(const reading *r, int index, const char *scene, char **path) {
    char *joined = *scene == '/' ? cli_strdup(scene) : cli_path_join(r->folder, scene);
    *path = joined ? sinew_file_real_path(joined) : NULL;
    sinew_free(joined);
    if (!*path) return cli_no_memory(&r->f->call->error);
    if (r->f->allow_outside || lies_inside(*path, r->folder)) return SINEW_OK;
    sinew_free(*path);
    *path = NULL;
    return refuse(r, index,
                  "the scene is outside the folder of the manifest; --allow-outside permits this");
}

/* Files of the shots so far. */
typedef struct claims {
    json_t *outputs; /* path -> name of the shot that writes it */
    json_t *inputs;  /* path -> name of a shot that reads it */
} claims;

/* Two shots must not write one file, nor one of them what another reads. */
static sinew_status claim_files(const claims *c, const farm_shot *shot, const sinew_file_plan *plan,
                                sinew_error *error) {
    int count = sinew_file_plan_count(plan);
    for (int i = 0; i < count; i++) {
        const char *path = sinew_file_plan_path(plan, i);
        const char *real = sinew_file_plan_real_path(plan, i);
        const char *writer = json_string_value(json_object_get(c->outputs, real));
        const char *reader = json_string_value(json_object_get(c->inputs, real));
        if (writer)
            return sinew_fail(error, SINEW_BAD_INPUT, "%s: shot %s also writes this file", path,
                              writer);
        if (reader && sinew_file_plan_is_output(plan, i))
            return sinew_fail(error, SINEW_BAD_INPUT, "%s: shot %s reads this file", path, reader);
    }
    for (int i = 0; i < count; i++)
        if (json_object_set_new_nocheck(sinew_file_plan_is_output(plan, i) ? c->outputs : c->inputs,
                                        sinew_file_plan_real_path(plan, i),
                                        json_string_nocheck(shot->name)))
            return cli_no_memory(error);
    return SINEW_OK;
}

static sinew_status check_files(const claims *c, const farm *f, const farm_shot *shot,
                                const sinew_scene *scene, sinew_error *error) {
    sinew_file_plan *plan;
    CLI_TRY(sinew_file_plan_create(&plan, error));
    sinew_status status = sinew_file_plan_add_scene(plan, scene, error);
    if (status == SINEW_OK && !f->allow_outside)
        status = sinew_file_plan_check_inside(plan, shot->source, error);
    for (int i = 0; status == SINEW_OK && i < sinew_file_plan_count(plan); i++)
        if (sinew_file_plan_is_output(plan, i) &&
            lies_inside(sinew_file_plan_real_path(plan, i), f->folder))
            status =
                sinew_fail(error, SINEW_BAD_INPUT, "%s: outputs must not be in the work folder",
                           sinew_file_plan_path(plan, i));
    if (status == SINEW_OK) status = claim_files(c, shot, plan, error);
    sinew_file_plan_destroy(plan);
    return status;
}

/* Scenes with the same key cost the same: they differ in what drives them, in time and in outputs
 * only. */
static sinew_status find_cost(farm *f, farm_shot *shot, const sinew_scene *scene,
                              sinew_error *error) {
    static const char *const others[] = {"curves", "keys",    "markers", "weights", "steps",
                                         "time",   "outputs", "notes",   "studio"};
    char *text, key[20];
    CLI_TRY(sinew_scene_text(scene, &text, error));
    json_t *document = cli_json_loads(text, 0, NULL);
    sinew_free(text);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        json_object_del(document, others[i]);
    char *rest = json_dumps(document, JSON_SORT_KEYS | JSON_COMPACT);
    json_decref(document);
    if (!rest) return cli_no_memory(error);
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add_text(&hash, rest);
    sinew_hash_add_text(&hash, shot->source); /* that paths in it are relative to */
    free(rest);
    snprintf(key, sizeof key, "%016llx", (unsigned long long)sinew_hash_key(&hash).low);
    shot->cost = farm_find_cost(f, key);
    return shot->cost >= 0 ? SINEW_OK : cli_no_memory(error);
}

static sinew_status no_scene(const char *path, sinew_error *error) {
    return sinew_fail(error, SINEW_IO, "%s: cannot write: %s", path, strerror(errno));
}

/* Unlike other outputs it is not brought to the disk at once, which would take most of the time of
 * a large manifest: every call writes it again, unless it is there. */
static sinew_status write_text(const char *path, const char *text, sinew_error *error) {
    char *before = NULL, *fresh = CLI_NEW(char, strlen(path) + 5);
    size_t size, length = strlen(text);
    sinew_error ignored;
    if (!fresh) return cli_no_memory(error);
    bool same = sinew_file_read(path, &before, &size, &ignored) == SINEW_OK && size == length &&
                !memcmp(before, text, length);
    sinew_free(before);
    sprintf(fresh, "%s.new", path);
    sinew_status status = SINEW_OK;
    if (!same) {
        int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
        FILE *stream = file >= 0 ? fdopen(file, "wb") : NULL;
        if (!stream) {
            status = no_scene(path, error);
            if (file >= 0) close(file);
        } else {
            bool written = fwrite(text, 1, length, stream) == length;
            if (fclose(stream) != 0 || !written || rename(fresh, path) != 0) {
                status = no_scene(path, error);
                unlink(fresh);
            }
        }
    }
    sinew_free(fresh);
    return status;
}

/* The scene with its overrides to DIR/NAME/scene.json: every task of the shot sees the same one,
 * whatever becomes of the original in the meantime. */
static sinew_status write_scene(const claims *c, farm *f, farm_shot *shot, sinew_error *error) {
    sinew_scene *scene;
    CLI_TRY(sinew_scene_read(shot->original, &scene, error));
    sinew_status status = SINEW_OK;
    if (shot->overrides) {
        char *patch = json_dumps(shot->overrides, 0);
        sinew_error why = {0};
        status = patch ? sinew_scene_patch(scene, patch, NULL, &why) : cli_no_memory(&why);
        if (status != SINEW_OK) sinew_fail(error, status, "overrides: %s", why.message);
        free(patch);
    }
    if (status == SINEW_OK) status = check_files(c, f, shot, scene, error);
    if (status == SINEW_OK) status = find_cost(f, shot, scene, error);
    if (status == SINEW_OK) status = sinew_folder_create(shot->folder, error);
    char *text = NULL;
    if (status == SINEW_OK) status = sinew_scene_text(scene, &text, error);
    if (status == SINEW_OK) status = write_text(shot->scene, text, error);
    sinew_free(text);
    sinew_scene_destroy(scene);
    return status;
}

static sinew_status read_shot(const reading *r, int index, json_t *entry) {
    farm_shot *shot = &r->f->shots[index];
    CLI_TRY(check_keys(r, index, entry));
    const char *name = json_string_value(json_object_get(entry, "name"));
    const char *scene = json_string_value(json_object_get(entry, "scene"));
    json_t *overrides = json_object_get(entry, "overrides");
    if (!name || !is_shot_name(name))
        return refuse(r, index,
                      "\"name\" must be 1 to 100 letters, digits, '_', '-' or '.', must not start "
                      "with '-' or '.', and must not contain '..'");
    if (json_object_get(r->names, name)) return refuse(r, index, "another shot has this name");
    if (!scene || !*scene) return refuse(r, index, "\"scene\" must be the path of a scene file");
    if (overrides && !json_is_array(overrides))
        return refuse(r, index, "\"overrides\" must be a list of JSON Patch operations");
    CLI_TRY(scene_path(r, index, scene, &shot->original));
    json_object_set_new(r->names, name, json_true());
    const char *path = shot->original;
    shot->overrides = json_incref(overrides);
    shot->name = cli_strdup(name);
    shot->folder = cli_path_join(r->f->folder, name);
    shot->source = cli_strndup(path, (size_t)(cli_path_name(path) - path));
    if (shot->folder) {
        shot->scene = cli_path_join(shot->folder, "scene.json");
        shot->parts = cli_path_join(shot->folder, "parts");
    }
    return shot->name && shot->source && shot->scene && shot->parts
               ? SINEW_OK
               : cli_no_memory(&r->f->call->error);
}

static sinew_status read_shots(reading *r, json_t *document) {
    farm *f = r->f;
    const json_t *version = json_object_get(document, "farm");
    json_t *shots = json_object_get(document, "shots");
    if (!json_is_integer(version) || json_integer_value(version) != MANIFEST_VERSION)
        return sinew_fail(&f->call->error, SINEW_BAD_INPUT,
                          "%s: not a farm manifest: it needs \"farm\": %d", r->manifest,
                          MANIFEST_VERSION);
    if (!json_is_array(shots) || json_array_size(shots) == 0)
        return sinew_fail(&f->call->error, SINEW_BAD_INPUT,
                          "%s: \"shots\" must be a list of at least one shot", r->manifest);
    if (json_object_size(document) != 2)
        return sinew_fail(&f->call->error, SINEW_BAD_INPUT,
                          "%s: unknown key; a manifest has \"farm\" and \"shots\"", r->manifest);
    f->shots = CLI_NEW(farm_shot, json_array_size(shots));
    if (!f->shots) return cli_no_memory(&f->call->error);
    f->shot_count = (int)json_array_size(shots);
    for (int i = 0; i < f->shot_count; i++)
        CLI_TRY(read_shot(r, i, json_array_get(shots, (size_t)i)));
    return SINEW_OK;
}

sinew_status farm_read(farm *f, const char *manifest) {
    reading r = {.f = f, .manifest = manifest};
    char *text;
    size_t size;
    CLI_TRY(sinew_file_read(manifest, &text, &size, &f->call->error));
    json_error_t where;
    json_t *document = cli_json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    sinew_free(text);
    if (!document && !*where.text) return cli_no_memory(&f->call->error);
    if (!document)
        return sinew_fail(&f->call->error, SINEW_BAD_INPUT, "%s:%d: %s", manifest, where.line,
                          where.text);
    if (json_object_get(document, "sinew") && !json_object_get(document, "farm")) {
        /* A scene is a manifest of one shot. */
        json_decref(document);
        document = json_pack("{s:i, s:[{s:s, s:s}]}", "farm", MANIFEST_VERSION, "shots", "name",
                             "shot", "scene", cli_path_name(manifest));
    }
    char *real = sinew_file_real_path(manifest);
    r.folder = real ? cli_strndup(real, (size_t)(cli_path_name(real) - real)) : NULL;
    sinew_free(real);
    r.names = json_object();
    sinew_status status =
        r.folder && r.names ? read_shots(&r, document) : cli_no_memory(&f->call->error);
    json_decref(r.names);
    sinew_free(r.folder);
    json_decref(document);
    return status;
}

sinew_status farm_write_scenes(farm *f) {
    claims c = {json_object(), json_object()};
    if (!c.outputs || !c.inputs) return cli_no_memory(&f->call->error);
    for (int i = 0; i < f->shot_count; i++) {
        farm_shot *shot = &f->shots[i];
        sinew_error why = {0};
        if (write_scene(&c, f, shot, &why) == SINEW_OK) continue;
        shot->stage = FARM_FAILED;
        snprintf(shot->reason, sizeof shot->reason, "%s", why.message);
        sinew_text_make_printable(shot->reason);
    }
    json_decref(c.outputs), json_decref(c.inputs);
    return SINEW_OK;
}

void farm_free(farm *f) {
    for (int i = 0; i < f->shot_count; i++) {
        farm_shot *shot = &f->shots[i];
        sinew_free(shot->name), sinew_free(shot->scene), sinew_free(shot->source);
        sinew_free(shot->original), json_decref(shot->overrides);
        sinew_free(shot->folder), sinew_free(shot->parts);
        for (int k = 0; k < shot->chunk_count; k++) sinew_free(shot->chunks[k]);
        sinew_free(shot->chunks), json_decref(shot->missing), json_decref(shot->slack);
    }
    sinew_free(f->shots), sinew_free(f->costs), json_decref(f->cost_index), sinew_free(f->tasks),
        sinew_free(f->folder);
}
