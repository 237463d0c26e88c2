#include "files.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clip_poses.h"
#include "examples.h"
#include "json.h"

static sinew_status fail(sinew_error *error, sinew_status status, const char *format,
                         const char *text) {
    error->status = status;
    snprintf(error->message, sizeof error->message, format, text);
    return status;
}

static const char *ending(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : "";
}

static bool ends(const char *name, const char *const *endings) {
    for (; *endings; endings++)
        if (!strcasecmp(ending(name), *endings)) return true;
    return false;
}

/* ---- dropped on the page --------------------------------------------------------------------- */

static const char *const meshes[] = {"obj", "target", "glb", "gltf", "fbx",
                                     "ply", "off",    "stl", NULL};

/* A file of a drop. Its name gets the folder of the drop in front of it once that is known. */
typedef struct dropped {
    char *name;
    const unsigned char *bytes;
    size_t size;
} dropped;

void files_clean_name(char *name) {
    for (char *c = name; *c; c++)
        if (iscntrl((unsigned char)*c) || strchr("/\\:*?\"<>|%", *c)) *c = '_';
}

/* A copy without folders. */
static char *clean_name(const char *given) {
    const char *slash = strrchr(given, '/');
    char *name = strdup(slash ? slash + 1 : given);
    if (name) files_clean_name(name);
    return name;
}

static bool is_name(const char *name) {
    return *name && *name != '.' && strlen(name) < 200;
}

/* The name as a person knows it. */
static const char *base(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static void set_label(char label[128], const char *verb, const char *name) {
    size_t room = 100, length = strlen(base(name));
    /* not in the middle of a character */
    if (length < room) room = length;
    while (room > 0 && ((unsigned char)base(name)[room] & 0xc0) == 0x80) room--;
    snprintf(label, 128, "%s %.*s", verb, (int)room, base(name));
}

static sinew_status write_file(const char *folder, const dropped *file, sinew_error *error) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, file->name) >= (int)sizeof path)
        return fail(error, SINEW_IO, "the path of %s is too long", file->name);
    FILE *out = fopen(path, "wbe");
    bool good = out && fwrite(file->bytes, 1, file->size, out) == file->size;
    if (out && fclose(out) != 0) good = false;
    return good ? SINEW_OK : fail(error, SINEW_IO, "cannot write %.400s", path);
}

/* Whether a file with this name was dropped before and holds something else. */
static bool is_taken(const char *folder, const char *place, const dropped *file) {
    char path[4096], block[16384];
    snprintf(path, sizeof path, "%s/%s%s", folder, place, file->name);
    FILE *in = fopen(path, "rbe");
    if (!in) return false;
    size_t at = 0, count;
    bool same = true;
    while (same && (count = fread(block, 1, sizeof block, in)) > 0) {
        same = count <= file->size - at && !memcmp(block, file->bytes + at, count);
        at += count;
    }
    fclose(in);
    return !same || at != file->size;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const dropped *)a)->name, ((const dropped *)b)->name);
}

enum { MOST_PLACES = 10000 };

/* Files keep their names, because sliders are called after them, and what was dropped before stays
 * as it is, because undo brings it back: if a name is taken, the drop goes to a folder of its own.
 * Sorts the files by name. */
static sinew_status store(const project *p, dropped *files, int count, sinew_error *error) {
    const char *folder = project_files_path(p);
    qsort(files, (size_t)count, sizeof *files, by_name);
    for (int i = 1; i < count; i++)
        if (ends(files[i].name, meshes) && !strcmp(files[i].name, files[i - 1].name))
            return fail(error, SINEW_BAD_INPUT,
                        "two of the files are called %s, and sliders are named after files: rename "
                        "one of them",
                        files[i].name);
    char place[16] = "";
    bool taken = true;
    for (int k = 1; k < MOST_PLACES && taken; k++) {
        if (k > 1) snprintf(place, sizeof place, "%d/", k);
        taken = false;
        for (int i = 0; i < count && !taken; i++) taken = is_taken(folder, place, &files[i]);
    }
    if (taken) return fail(error, SINEW_IO, "%s is full of older files", folder);
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, place);
    if (*place && mkdir(path, 0777) != 0 && errno != EEXIST)
        return fail(error, SINEW_IO, "cannot create %.400s", path);
    for (int i = 0; i < count; i++) {
        char *name = malloc(strlen(place) + strlen(files[i].name) + 1);
        if (!name) return fail(error, SINEW_NO_MEMORY, "out of memory%s", "");
        sprintf(name, "%s%s", place, files[i].name);
        free(files[i].name);
        files[i].name = name;
        if (write_file(folder, &files[i], error) != SINEW_OK) return error->status;
    }
    return SINEW_OK;
}

static json_t *operation(const char *op, const char *path, json_t *value) {
    return json_pack("{s:s,s:s,s:o}", "op", op, "path", path, "value", value);
}

static json_t *named(const project *p, const char *name) {
    return json_sprintf("%s/%s", project_files_name(p), name);
}

/* How surely a file is the neutral of a rig, from its name. */
static int neutral_rank(const char *name) {
    static const struct {
        const char *word;
        bool whole; /* stands alone: "forest" is no rest pose */
    } words[] = {{"neutral", false}, {"base", false},  {"basis", true},     {"rest", true},
                 {"bind", true},     {"tpose", true},  {"reference", true}, {"ref", true},
                 {"default", true},  {"source", true}, {"mean", true}};
    enum { COUNT = sizeof words / sizeof *words };
    static const char *const deltas[] = {"target", NULL};
    if (ends(name, deltas)) return -1; /* never */
    for (int w = 0; w < COUNT; w++)
        for (const char *at = base(name); (at = strcasestr(at, words[w].word)); at++) {
            const char *end = at + strlen(words[w].word);
            bool alone = (at == base(name) || !isalpha((unsigned char)at[-1])) &&
                         !isalpha((unsigned char)*end);
            if (alone || !words[w].whole) return COUNT - w;
        }
    return 0;
}

/* The rig of several meshes: the neutral first, the poses by name. A character alone that is moved
 * by bones brings the poses of its clips. */
static sinew_status rig_files(const project *p, const dropped *files, int count, json_t *list,
                              char label[128], sinew_error *error) {
    int neutral = -1, meshes_there = 0;
    for (int i = 0; i < count; i++) {
        if (!ends(files[i].name, meshes)) continue;
        meshes_there++;
        if (neutral < 0 || neutral_rank(files[i].name) > neutral_rank(files[neutral].name))
            neutral = i;
    }
    if (neutral < 0) return SINEW_OK;
    set_label(label, "Open", files[neutral].name);
    json_array_append_new(list, named(p, files[neutral].name));
    for (int i = 0; i < count; i++)
        if (i != neutral && ends(files[i].name, meshes))
            json_array_append_new(list, named(p, files[i].name));
    if (meshes_there > 1) return SINEW_OK;
    clip_poses poses;
    sinew_status status =
        clip_poses_write(project_files_path(p), files[neutral].name, &poses, error);
    if (poses.neutral && poses.count) json_array_set_new(list, 0, named(p, poses.neutral));
    for (int i = 0; i < poses.count; i++) json_array_append_new(list, named(p, poses.names[i]));
    clip_poses_free(&poses);
    return status;
}

/* Reading, building and drawing an obstacle stay a matter of seconds. */
#define OBSTACLE_BYTES ((off_t)64 << 20)

static sinew_status check_obstacle(const char *path, const char *name, sinew_error *error) {
    struct stat about;
    if (stat(path, &about) != 0) return fail(error, SINEW_IO, "%s is not in the project", name);
    if (about.st_size > OBSTACLE_BYTES)
        return fail(error, SINEW_BAD_INPUT, "%s is larger than 64 MiB, the limit for an obstacle",
                    name);
    return SINEW_OK;
}

/* Each mesh is an obstacle. */
static sinew_status use_as_obstacles(const project *p, const dropped *files, int count,
                                     json_t **operations, char label[128], sinew_error *error) {
    json_t *list = json_array(), *document = project_document(p);
    if (!json_object_get(document, "obstacles"))
        json_array_append_new(list, operation("add", "/obstacles", json_array()));
    json_decref(document);
    set_label(label, "Add", files[0].name);
    for (int i = 0; i < count; i++) {
        const char *name = files[i].name;
        if (!ends(name, meshes)) {
            json_decref(list);
            return fail(error, SINEW_BAD_INPUT,
                        "%s: an obstacle must be a mesh (OBJ, GLB, FBX, PLY, STL)", base(name));
        }
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", project_files_path(p), name);
        if (check_obstacle(path, base(name), error) != SINEW_OK) {
            (void)remove(path);
            json_decref(list);
            return error->status;
        }
        json_t *obstacle =
            json_pack("{s:s,s:s,s:o}", "shape", "mesh", "name", base(name), "file", named(p, name));
        json_array_append_new(list, operation("add", "/obstacles/-", obstacle));
    }
    *operations = list;
    return SINEW_OK;
}

/* What a CSV holds shows when it is read. Columns NAME.x, NAME.y, NAME.z also read as curves:
 * markers come first. */
static bool is_take(const project *p, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", project_files_path(p), name);
    sinew_markers *markers = NULL;
    sinew_error ignored;
    bool good = sinew_markers_read(path, &markers, &ignored) == SINEW_OK;
    sinew_markers_destroy(markers);
    return good;
}

static sinew_status check_curves(const project *p, const char *name, sinew_error *error) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", project_files_path(p), name);
    sinew_curves *curves = NULL;
    sinew_status status = sinew_curves_read(path, &curves, error);
    sinew_curves_destroy(curves);
    return status;
}

/* A map of markers: lines NAME,vertex or NAME,triangle,b0,b1,b2, all of one kind. */
static bool is_map(const project *p, const char *name) {
    char path[4096], line[1024];
    snprintf(path, sizeof path, "%s/%s", project_files_path(p), name);
    FILE *file = fopen(path, "r");
    int good = 0;
    bool map = file != NULL;
    while (map && fgets(line, sizeof line, file)) {
        int commas = 0;
        for (const char *c = line; *c; c++) commas += *c == ',';
        size_t text = strcspn(line, ",");
        const char *rest = line[text] ? line + text + 1 : "";
        map = (commas == 1 || commas == 4) && text > 0 &&
              strspn(rest, "0123456789.,eE+- \r\n") == strlen(rest) && *rest != ',';
        good++;
    }
    if (file) fclose(file);
    return map && good > 0;
}

static sinew_status use_files(const project *p, const dropped *files, int count,
                              json_t **operations, char label[128], sinew_error *error) {
    static const char *const takes[] = {"c3d", "trc", NULL}, *const tables[] = {"csv", NULL},
                             *const scenes[] = {"json", NULL};
    json_t *list = json_array(), *rig = json_array(), *document = project_document(p);
    set_label(label, "Open", files[0].name);
    sinew_status status = rig_files(p, files, count, rig, label, error);
    if (json_array_size(rig)) {
        const char *model = json_string_value(json_object_get(document, "model"));
        bool follows =
            model && (!strcmp(model, "force") || !strcmp(model, "fit") || !strcmp(model, "modal"));
        json_t *scene = json_pack("{s:i,s:{s:O},s:{}}", "sinew", 1, "rig", "files", rig, "weights");
        if (model && !follows && strcmp(model, "spring") != 0)
            json_object_set_new(scene, "model", json_string(model));
        else
            examples_use_spring(scene);
        json_array_append_new(list, operation("replace", "", scene));
    }
    for (int i = 0; i < count && status == SINEW_OK; i++) {
        const char *name = files[i].name;
        if (ends(name, scenes)) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", project_files_path(p), name);
            json_t *scene = cli_json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
            if (!json_is_object(scene) || !json_object_get(scene, "sinew")) {
                json_decref(scene);
                continue;
            }
            if (project_check_paths(scene, error) != SINEW_OK) {
                json_decref(scene);
                status = error->status;
                break;
            }
            json_array_append_new(list, operation("replace", "", scene));
        } else if (ends(name, tables) && json_object_get(document, "markers") && is_map(p, name)) {
            set_label(label, "Map", name);
            json_array_append_new(list, operation("add", "/markers/map", named(p, name)));
        } else if (ends(name, takes) || (ends(name, tables) && is_take(p, name))) {
            json_array_append_new(
                list, operation("add", "/markers", json_pack("{s:o}", "file", named(p, name))));
            if (!json_array_size(rig)) {
                const char *model = json_string_value(json_object_get(document, "model"));
                /* Parameters belong to a model: another one would refuse them. */
                if (json_object_get(document, "parameters") && model && strcmp(model, "fit") != 0)
                    json_array_append_new(
                        list, json_pack("{s:s,s:s}", "op", "remove", "path", "/parameters"));
                json_array_append_new(list, operation("add", "/model", json_string("fit")));
            }
            /* One of the two drives. */
            if (!json_array_size(rig) && json_object_get(document, "curves"))
                json_array_append_new(list,
                                      json_pack("{s:s,s:s}", "op", "remove", "path", "/curves"));
        } else if (ends(name, tables)) {
            status = check_curves(p, name, error);
            if (status != SINEW_OK) break;
            json_array_append_new(
                list, operation("add", "/curves", json_pack("{s:o}", "file", named(p, name))));
            if (json_object_get(document, "markers") && !json_array_size(rig))
                json_array_append_new(list,
                                      json_pack("{s:s,s:s}", "op", "remove", "path", "/markers"));
        }
    }
    json_decref(rig);
    json_decref(document);
    if (status != SINEW_OK) {
        json_decref(list);
        return status;
    }
    if (!json_array_size(list)) {
        json_decref(list);
        return fail(error, SINEW_BAD_INPUT,
                    "%s: drop a rig (GLB, FBX, OBJ files), a clip (CSV), a take (C3D, TRC, CSV), a "
                    "map of its markers (CSV) or a scene",
                    base(files[0].name));
    }
    *operations = list;
    return SINEW_OK;
}

sinew_status files_receive(const project *p, const unsigned char *bytes, size_t size,
                           json_t **operations, char label[128], bool *malformed,
                           sinew_error *error) {
    *malformed = true;
    if (size < 4) return fail(error, SINEW_BAD_INPUT, "the message is too short%s", "");
    size_t length =
        (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
    if (length > size - 4 || length > 1 << 20)
        return fail(error, SINEW_BAD_INPUT, "the header is longer than the message%s", "");
    json_t *header = cli_json_loadb((const char *)bytes + 4, length, 0, NULL);
    const char *type = json_string_value(json_object_get(header, "type"));
    json_t *files = json_object_get(header, "files");
    size_t count = json_array_size(files), at = 4 + length;
    if (!type || strcmp(type, "files") != 0 || !count || count > FILES_LIMIT) {
        json_decref(header);
        return fail(error, SINEW_BAD_INPUT, "not a 'files' message%s", "");
    }
    dropped *list = calloc(count, sizeof *list);
    sinew_status status = list ? SINEW_OK : fail(error, SINEW_NO_MEMORY, "out of memory%s", "");
    const char *bad = NULL;
    for (size_t i = 0; i < count && status == SINEW_OK; i++) {
        json_t *file = json_array_get(files, i), *bytes_there = json_object_get(file, "size");
        const char *given = json_string_value(json_object_get(file, "name"));
        json_int_t wanted = json_integer_value(bytes_there);
        if (!given || !json_is_integer(bytes_there) || wanted < 0 || (size_t)wanted > size - at) {
            status = fail(error, SINEW_BAD_INPUT, "the files are truncated%s", "");
            break;
        }
        list[i] = (dropped){clean_name(given), bytes + at, (size_t)wanted};
        at += (size_t)wanted;
        if (!list[i].name)
            status = fail(error, SINEW_NO_MEMORY, "out of memory%s", "");
        else if (!is_name(list[i].name))
            bad = list[i].name;
    }
    *malformed = status == SINEW_BAD_INPUT;
    if (status == SINEW_OK && bad)
        status = fail(error, SINEW_BAD_INPUT, "'%s' cannot be the name of a file", bad);
    if (status == SINEW_OK) status = store(p, list, (int)count, error);
    if (status == SINEW_OK) {
        const char *use = json_string_value(json_object_get(header, "use"));
        status = use && !strcmp(use, "obstacle")
                     ? use_as_obstacles(p, list, (int)count, operations, label, error)
                     : use_files(p, list, (int)count, operations, label, error);
    }
    for (size_t i = 0; list && i < count; i++) free(list[i].name);
    free(list);
    json_decref(header);
    return status;
}

/* ---- meshes of obstacles --------------------------------------------------------------------- */

static void send_mesh(solver *s, const char *file, const sinew_mesh *mesh, int client) {
    size_t n = 3 * (size_t)mesh->vertex_count, m = 3 * (size_t)mesh->triangle_count;
    float *positions = malloc((n + 1) * sizeof *positions);
    json_t *header =
        json_pack("{s:s,s:s,s:[[s,s,I],[s,s,I]]}", "type", "mesh", "file", file, "arrays",
                  "positions", "f32", (json_int_t)n, "triangles", "u32", (json_int_t)m);
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    if (positions && text) {
        for (size_t i = 0; i < n; i++) positions[i] = (float)mesh->positions[i];
        const void *arrays[] = {positions, mesh->triangles};
        size_t sizes[] = {n * sizeof *positions, m * sizeof *mesh->triangles};
        solver_give(s, SOLVER_ANSWER, client, net_message_binary(text, 2, arrays, sizes));
    }
    free(text);
    free(positions);
    json_decref(header);
}

enum { MOST_DRAWN = 2000000 }; /* triangles of an obstacle that pages get */

typedef struct mesh_task {
    solver_task task;
    char *file, path[4096];
} mesh_task;

static void run_mesh(solver_task *task, solver *s, engine *unused, const sinew_monitor *monitor) {
    (void)unused, (void)monitor;
    mesh_task *m = (mesh_task *)task;
    sinew_mesh *mesh = NULL;
    sinew_error error = {0};
    if (check_obstacle(m->path, m->file, &error) == SINEW_OK &&
        sinew_mesh_read(m->path, &mesh, &error) == SINEW_OK && mesh->triangle_count > MOST_DRAWN)
        fail(&error, SINEW_BAD_INPUT, "%s has too many triangles to be drawn", m->file);
    if (error.status == SINEW_OK)
        send_mesh(s, m->file, mesh, task->client);
    else
        solver_refuse(s, task->client, error.message);
    sinew_mesh_destroy(mesh);
}

static void release_mesh(solver_task *task) {
    free(((mesh_task *)task)->file);
    free(task);
}

sinew_status files_mesh(solver *s, const project *p, const char *file, int client,
                        sinew_error *error) {
    json_t *value = json_string(file);
    sinew_status status = project_check_paths(value, error);
    json_decref(value);
    if (status != SINEW_OK) return status;
    mesh_task *m = calloc(1, sizeof *m);
    if (!m || !(m->file = strdup(file))) {
        free(m);
        return fail(error, SINEW_NO_MEMORY, "out of memory%s", "");
    }
    m->task = (solver_task){.run = run_mesh, .release = release_mesh, .client = client};
    if (snprintf(m->path, sizeof m->path, "%s/%s", project_folder(p), file) >=
        (int)sizeof m->path) {
        release_mesh(&m->task);
        return fail(error, SINEW_IO, "the path of %s is too long", file);
    }
    solver_add(s, &m->task);
    return SINEW_OK;
}

/* ---- exports --------------------------------------------------------------------------------- */

typedef struct export_task {
    solver_task task;
    sinew_scene *scene;
    char name[64], folder[64], path[160];
    bool curves, shape;
    int frame; /* of the shape; -1: the pose */
} export_task;

static bool send_file(solver *s, const export_task *e) {
    FILE *in = fopen(e->path, "rbe");
    if (!in) return false;
    fseek(in, 0, SEEK_END);
    long size = ftell(in);
    rewind(in);
    char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    bool good = bytes && fread(bytes, 1, (size_t)size, in) == (size_t)size;
    fclose(in);
    if (good) {
        json_t *header = json_pack("{s:s,s:s,s:[[s,s,I]]}", "type", "file", "name", e->name,
                                   "arrays", "bytes", "u8", (json_int_t)size);
        char *text = json_dumps(header, JSON_COMPACT);
        const void *parts[] = {bytes};
        size_t sizes[] = {(size_t)size};
        solver_give(s, SOLVER_ANSWER, e->task.client, net_message_binary(text, 1, parts, sizes));
        free(text);
        json_decref(header);
    }
    free(bytes);
    return good;
}

static sinew_status export_frames(const export_task *e, const sinew_monitor *monitor,
                                  sinew_error *error) {
    sinew_job *job = NULL;
    sinew_status status = sinew_job_create(e->scene, monitor, &job, error);
    if (status == SINEW_OK) status = sinew_job_run(job, 0, -1, monitor, error);
    sinew_job_destroy(job);
    return status == SINEW_NOT_CONVERGED ? SINEW_OK : status;
}

/* What the right view shows. */
static sinew_status export_shape(const export_task *t, engine *e, const sinew_monitor *monitor,
                                 sinew_error *error) {
    engine_clip clip;
    engine_get_clip(e, &clip);
    int frame = t->frame < clip.frame_count ? t->frame : clip.frame_count - 1;
    sinew_status status = engine_solve(e, frame, false, monitor, error);
    if (status != SINEW_OK) return status;
    sinew_mesh *mesh = NULL;
    status = sinew_mesh_copy(engine_rig(e)->neutral, &mesh, error);
    if (status != SINEW_OK) return status;
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++)
        mesh->positions[i] = (double)engine_get_shape(e)->positions[i];
    sinew_free(mesh->normals), sinew_free(mesh->corner_normal); /* the neutral's */
    mesh->normals = NULL, mesh->corner_normal = NULL, mesh->normal_count = 0;
    static const char *const single[] = {"obj", NULL};
    if (ends(t->path, single)) {
        status = sinew_mesh_write(t->path, mesh, error);
    } else {
        sinew_frame_writer *writer = NULL;
        status = sinew_frame_writer_open(t->path, mesh, 1, 0, 1, &writer, error);
        if (status == SINEW_OK) status = sinew_frame_writer_add(writer, mesh->positions, error);
        if (status == SINEW_OK)
            status = sinew_frame_writer_finish(writer, monitor, error);
        else
            sinew_frame_writer_abandon(writer);
    }
    sinew_mesh_destroy(mesh);
    return status;
}

static void run_export(solver_task *task, solver *s, engine *shown, const sinew_monitor *monitor) {
    export_task *e = (export_task *)task;
    sinew_error error = {0};
    sinew_status status =
        e->shape ? export_shape(e, shown, monitor, &error) : export_frames(e, monitor, &error);
    if (status == SINEW_CANCELLED)
        solver_refuse(s, task->client, "the export was cancelled");
    else if (status != SINEW_OK)
        solver_refuse(s, task->client, error.message);
    else if (!send_file(s, e))
        solver_refuse(s, task->client, "the export could not be read back");
}

static void release_export(solver_task *task) {
    export_task *e = (export_task *)task;
    sinew_scene_destroy(e->scene);
    if (*e->folder) {
        unlink(e->path);
        rmdir(e->folder);
    }
    free(e);
}

sinew_status files_export(solver *s, project *p, const char *what, const char *format, int frame,
                          int client, sinew_error *error) {
    static const char *const formats[] = {"pc2", "mdd", "glb", "usda", "obj", "csv", NULL};
    bool known = false;
    for (int i = 0; formats[i]; i++) known |= !strcmp(formats[i], format);
    bool clip = !strcmp(what, "clip"), curves = !strcmp(what, "curves");
    if (!known || !(clip || curves || !strcmp(what, "shape")))
        return fail(error, SINEW_BAD_INPUT, "cannot export '%.20s'", format);
    export_task *e = calloc(1, sizeof *e);
    if (!e) return fail(error, SINEW_NO_MEMORY, "out of memory%s", "");
    e->task = (solver_task){.run = run_export, .release = release_export, .client = client};
    e->curves = curves;
    e->shape = !clip && !curves;
    e->frame = frame;
    snprintf(e->name, sizeof e->name, "%s.%s", curves ? "curves" : clip ? "clip" : "shape", format);
    char folder[] = "/tmp/sinew-export-XXXXXX";
    shared_session *shared = project_session(p);
    sinew_status status = sinew_session_scene(shared->session, &e->scene, error);
    shared_session_release(shared);
    if (status == SINEW_OK && !mkdtemp(folder))
        status = fail(error, SINEW_IO, "cannot create a temporary folder: %s", strerror(errno));
    if (status == SINEW_OK) {
        snprintf(e->folder, sizeof e->folder, "%s", folder);
        snprintf(e->path, sizeof e->path, "%s/%s", folder, e->name);
        char outputs[256];
        snprintf(outputs, sizeof outputs, curves ? "{\"curves\":\"%s\"}" : "{\"frames\":[\"%s\"]}",
                 e->path);
        status = sinew_scene_set(e->scene, "/outputs", outputs, NULL, error);
    }
    char *driven = NULL;
    if (status == SINEW_OK && curves) status = sinew_scene_get(e->scene, "/curves", &driven, error);
    if (driven) { /* weights need no shapes */
        sinew_error ignored;
        sinew_scene_set(e->scene, "/parameters", NULL, NULL, &ignored);
        status = sinew_scene_set(e->scene, "/model", "\"linear\"", NULL, error);
    }
    sinew_free(driven);
    if (status != SINEW_OK) {
        release_export(&e->task);
        return status;
    }
    solver_add(s, &e->task);
    return SINEW_OK;
}
