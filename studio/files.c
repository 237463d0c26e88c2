#include "files.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A name without folders, of letters, digits and a few signs. */
static bool clean_name(const char *given, char *name, size_t room) {
    const char *slash = strrchr(given, '/');
    if (slash) given = slash + 1;
    size_t n = 0;
    for (; *given && n + 1 < room; given++)
        name[n++] = isalnum((unsigned char)*given) || strchr("._-", *given) ? *given : '_';
    name[n] = 0;
    return n > 0 && name[0] != '.' && !*given;
}

static sinew_status write_file(const char *folder, const char *name, const unsigned char *bytes,
                               size_t size, sinew_error *error) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return fail(error, SINEW_IO, "the path of %s is too long", name);
    FILE *out = fopen(path, "wbe");
    bool good = out && fwrite(bytes, 1, size, out) == size;
    if (out && fclose(out) != 0) good = false;
    return good ? SINEW_OK : fail(error, SINEW_IO, "cannot write %.400s", path);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static json_t *operation(const char *op, const char *path, json_t *value) {
    return json_pack("{s:s,s:s,s:o}", "op", op, "path", path, "value", value);
}

static json_t *named(const project *p, const char *name) {
    return json_sprintf("%s/%s", project_files_name(p), name);
}

static const char *const meshes[] = {"obj", "target", "glb", "gltf", "fbx",
                                     "ply", "off",    "stl", NULL};

/* The rig of several meshes: the neutral first, the poses by name. */
static json_t *rig_files(const project *p, char **names, int count) {
    json_t *list = json_array();
    int neutral = -1;
    for (int i = 0; i < count; i++) {
        if (!ends(names[i], meshes)) continue;
        bool said = strcasestr(names[i], "neutral") || strcasestr(names[i], "base");
        if (neutral < 0 || (said && !strcasestr(names[neutral], "neutral"))) neutral = i;
    }
    if (neutral < 0) return list;
    json_array_append_new(list, named(p, names[neutral]));
    for (int i = 0; i < count; i++)
        if (i != neutral && ends(names[i], meshes)) json_array_append_new(list, named(p, names[i]));
    return list;
}

/* Reading, building and drawing an obstacle stay a matter of seconds. */
#define OBSTACLE_BYTES ((off_t)64 << 20)

static sinew_status check_obstacle(const char *path, const char *name, sinew_error *error) {
    struct stat about;
    if (stat(path, &about) != 0) return fail(error, SINEW_IO, "%.100s is not in the project", name);
    if (about.st_size > OBSTACLE_BYTES)
        return fail(error, SINEW_BAD_INPUT,
                    "%.100s is larger than 64 MiB, the limit for an obstacle", name);
    return SINEW_OK;
}

/* Each mesh is an obstacle. */
static sinew_status use_as_obstacles(const project *p, char **names, int count, json_t **operations,
                                     char label[128], sinew_error *error) {
    json_t *list = json_array(), *document = project_document(p);
    if (!json_object_get(document, "obstacles"))
        json_array_append_new(list, operation("add", "/obstacles", json_array()));
    json_decref(document);
    snprintf(label, 128, "Add %.100s", names[0]);
    for (int i = 0; i < count; i++) {
        if (!ends(names[i], meshes)) {
            json_decref(list);
            return fail(error, SINEW_BAD_INPUT,
                        "%s: an obstacle must be a mesh (OBJ, GLB, FBX, PLY, STL)", names[i]);
        }
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", project_files_path(p), names[i]);
        if (check_obstacle(path, names[i], error) != SINEW_OK) {
            (void)remove(path);
            json_decref(list);
            return error->status;
        }
        json_t *obstacle = json_pack("{s:s,s:s,s:o}", "shape", "mesh", "name", names[i], "file",
                                     named(p, names[i]));
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

static sinew_status use_files(const project *p, char **names, int count, json_t **operations,
                              char label[128], sinew_error *error) {
    static const char *const takes[] = {"c3d", "trc", NULL}, *const tables[] = {"csv", NULL},
                             *const scenes[] = {"json", NULL};
    json_t *list = json_array(), *rig = rig_files(p, names, count), *document = project_document(p);
    sinew_status status = SINEW_OK;
    snprintf(label, 128, "Open %.100s", names[0]);
    if (json_array_size(rig)) {
        snprintf(label, 128, "Open %.100s",
                 json_string_value(json_array_get(rig, 0)) + strlen(project_files_name(p)) + 1);
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
    for (int i = 0; i < count; i++) {
        if (ends(names[i], scenes)) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", project_files_path(p), names[i]);
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
        } else if (ends(names[i], tables) && json_object_get(document, "markers") &&
                   is_map(p, names[i])) {
            snprintf(label, 128, "Map %.100s", names[i]);
            json_array_append_new(list, operation("add", "/markers/map", named(p, names[i])));
        } else if (ends(names[i], takes) || (ends(names[i], tables) && is_take(p, names[i]))) {
            json_array_append_new(
                list, operation("add", "/markers", json_pack("{s:o}", "file", named(p, names[i]))));
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
        } else if (ends(names[i], tables)) {
            status = check_curves(p, names[i], error);
            if (status != SINEW_OK) break;
            json_array_append_new(
                list, operation("add", "/curves", json_pack("{s:o}", "file", named(p, names[i]))));
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
                    "map of its "
                    "markers (CSV) or a scene",
                    names[0]);
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
    char **names = calloc(count, sizeof *names);
    sinew_status status = names ? SINEW_OK : fail(error, SINEW_NO_MEMORY, "out of memory%s", "");
    for (size_t i = 0; i < count && status == SINEW_OK; i++) {
        json_t *file = json_array_get(files, i), *bytes_there = json_object_get(file, "size");
        const char *given = json_string_value(json_object_get(file, "name"));
        char name[200];
        json_int_t wanted = json_integer_value(bytes_there);
        if (!given || !json_is_integer(bytes_there) || wanted < 0 || (size_t)wanted > size - at) {
            status = fail(error, SINEW_BAD_INPUT, "the files are truncated%s", "");
        } else if (!clean_name(given, name, sizeof name)) {
            *malformed = false;
            status = fail(error, SINEW_BAD_INPUT, "'%.100s' is not a file name", given);
        } else {
            *malformed = false;
            status = write_file(project_files_path(p), name, bytes + at, (size_t)wanted, error);
            names[i] = strdup(name);
            at += (size_t)wanted;
            if (i + 1 < count) *malformed = true;
        }
    }
    if (status == SINEW_OK) {
        *malformed = false;
        qsort(names, count, sizeof *names, by_name);
        const char *use = json_string_value(json_object_get(header, "use"));
        status = use && !strcmp(use, "obstacle")
                     ? use_as_obstacles(p, names, (int)count, operations, label, error)
                     : use_files(p, names, (int)count, operations, label, error);
    }
    for (size_t i = 0; names && i < count; i++) free(names[i]);
    free(names);
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
        fail(&error, SINEW_BAD_INPUT, "%.100s has too many triangles to be drawn", m->file);
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
        return fail(error, SINEW_IO, "the path of %.100s is too long", file);
    }
    solver_add(s, &m->task);
    return SINEW_OK;
}

/* ---- exports --------------------------------------------------------------------------------- */

typedef struct export_task {
    solver_task task;
    sinew_scene *scene;
    char name[64], folder[64], path[160];
    bool curves;
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

static void run_export(solver_task *task, solver *s, engine *unused, const sinew_monitor *monitor) {
    (void)unused;
    export_task *e = (export_task *)task;
    sinew_job *job = NULL;
    sinew_error error = {0};
    sinew_status status = sinew_job_create(e->scene, monitor, &job, &error);
    if (status == SINEW_OK) status = sinew_job_run(job, 0, -1, monitor, &error);
    sinew_job_destroy(job);
    if (status == SINEW_CANCELLED)
        solver_refuse(s, task->client, "the export was cancelled");
    else if (status != SINEW_OK && status != SINEW_NOT_CONVERGED)
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

sinew_status files_export(solver *s, project *p, const char *what, const char *format, int client,
                          sinew_error *error) {
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
    if (status == SINEW_OK && !clip && !curves) { /* one shape: what moves in time is left out */
        static const char *const moving[] = {"/curves", "/keys", "/markers", "/steps", "/time"};
        for (int i = 0; i < 5; i++) {
            char *there = NULL;
            sinew_error ignored;
            if (sinew_scene_get(e->scene, moving[i], &there, &ignored) == SINEW_OK && there) {
                sinew_free(there);
                sinew_scene_set(e->scene, moving[i], NULL, NULL, &ignored);
            }
        }
    }
    if (status != SINEW_OK) {
        release_export(&e->task);
        return status;
    }
    solver_add(s, &e->task);
    return SINEW_OK;
}
