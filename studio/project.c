#include "project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples.h"
#include "json.h"

enum { HISTORY_SHOWN = 50, HISTORY_LIMIT = 10000 };

typedef struct step {
    char *label, *gesture;
    json_t *operations, *inverse;
} step;

struct project {
    int lock; /* on the folder, so that no other studio opens it; -1: none */
    char *folder, *home, *files, *files_name, *name, *scene_path, *journal_path;
    shared_session *shared;
    uint64_t revision;
    step *steps; /* steps[0 .. done) are in the scene, [done .. count) can be redone */
    int count, done, room;
    json_t *trial; /* inverse of the trial patches, or NULL */
    json_t *base;  /* the document that the journal starts from */
    FILE *journal;
};

static sinew_status fail(sinew_error *error, sinew_status status, const char *format, const char *a,
                         const char *b) {
    error->status = status;
    snprintf(error->message, sizeof error->message, format, a, b);
    sinew_text_make_printable(error->message);
    return status;
}

static char *join(const char *a, const char *b, const char *c) {
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = malloc(n);
    if (text) snprintf(text, n, "%s%s%s", a, b, c);
    return text;
}

/* ---- one patch ------------------------------------------------------------------------------- */

void shared_session_release(shared_session *shared) {
    if (!shared || atomic_fetch_sub(&shared->references, 1) != 1) return;
    sinew_session_destroy(shared->session);
    free(shared);
}

shared_session *project_session(project *p) {
    atomic_fetch_add(&p->shared->references, 1);
    return p->shared;
}

sinew_status shared_session_create(const sinew_scene *scene, shared_session **out,
                                   sinew_error *error) {
    shared_session *shared = calloc(1, sizeof *shared);
    if (!shared) return fail(error, SINEW_NO_MEMORY, "out of memory", "", "");
    atomic_init(&shared->references, 1);
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    sinew_status status = sinew_session_create(scene, &options, &shared->session, error);
    if (status == SINEW_OK)
        *out = shared;
    else
        free(shared);
    return status;
}

static sinew_status use_scene(project *p, const sinew_scene *scene, sinew_error *error) {
    shared_session *shared = NULL;
    sinew_status status = shared_session_create(scene, &shared, error);
    if (status != SINEW_OK) return status;
    if (p->shared) sinew_session_cancel(p->shared->session);
    shared_session_release(p->shared);
    p->shared = shared;
    return SINEW_OK;
}

static sinew_status replace_document(project *p, const json_t *document, sinew_error *error) {
    char *text = json_dumps(document, JSON_COMPACT);
    sinew_scene *scene;
    sinew_status status =
        sinew_scene_parse(text ? text : "", "the scene", p->folder, &scene, error);
    free(text);
    if (status != SINEW_OK) return status;
    status = use_scene(p, scene, error);
    sinew_scene_destroy(scene);
    return status;
}

/* The new document of a patch that starts another scene, or NULL. */
static const json_t *whole_document(const json_t *operations) {
    const json_t *o = json_array_get(operations, 0);
    const char *path = json_string_value(json_object_get(o, "path"));
    return path && !*path ? json_object_get(o, "value") : NULL;
}

/* All operations or none; the session checks them. */
static sinew_status apply(project *p, const json_t *operations, json_t **inverse,
                          sinew_error *error) {
    if (!json_is_array(operations))
        return fail(error, SINEW_BAD_INPUT, "a patch must be a list of operations", "", "");
    const json_t *whole = whole_document(operations);
    if (whole) {
        json_t *before = project_document(p), *rest = json_deep_copy(operations);
        json_array_remove(rest, 0);
        sinew_status status = replace_document(p, whole, error);
        if (status == SINEW_OK && json_array_size(rest)) {
            json_t *ignored = NULL;
            status = apply(p, rest, &ignored, error);
            json_decref(ignored);
            sinew_error unused;
            if (status != SINEW_OK) (void)replace_document(p, before, &unused);
        }
        if (status == SINEW_OK)
            *inverse = json_pack("[{s:s,s:s,s:O}]", "op", "replace", "path", "", "value", before);
        json_decref(rest);
        json_decref(before);
        return status;
    }
    char *text = json_dumps(operations, JSON_COMPACT), *back = NULL;
    if (!text) return fail(error, SINEW_NO_MEMORY, "out of memory", "", "");
    sinew_status status = sinew_session_patch(p->shared->session, text, &back, NULL, error);
    free(text);
    if (status != SINEW_OK) return status;
    *inverse = cli_json_loads(back, 0, NULL);
    sinew_free(back);
    return *inverse ? SINEW_OK : fail(error, SINEW_NO_MEMORY, "out of memory", "", "");
}

/* ---- history --------------------------------------------------------------------------------- */

static void free_step(step *s) {
    free(s->label);
    free(s->gesture);
    json_decref(s->operations);
    json_decref(s->inverse);
}

static bool same_places(const json_t *a, const json_t *b) {
    if (json_array_size(a) != json_array_size(b)) return false;
    for (size_t i = 0; i < json_array_size(a); i++) {
        const char *x = json_string_value(json_object_get(json_array_get(a, i), "path"));
        const char *y = json_string_value(json_object_get(json_array_get(b, i), "path"));
        if (!x || !y || strcmp(x, y) != 0) return false;
    }
    return true;
}

static bool only_replaces(const json_t *operations) {
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const char *op = json_string_value(json_object_get(json_array_get(operations, i), "op"));
        if (!op || strcmp(op, "replace") != 0) return false;
    }
    return true;
}

/* Steals operations and inverse. */
static void record(project *p, json_t *operations, json_t *inverse, const char *label,
                   const char *gesture) {
    while (p->count > p->done) free_step(&p->steps[--p->count]);
    step *last = p->done ? &p->steps[p->done - 1] : NULL;
    if (gesture && last && last->gesture && !strcmp(last->gesture, gesture)) {
        free(last->label);
        last->label = strdup(label);
        if (only_replaces(inverse) && same_places(operations, last->operations)) {
            /* The values alone changed: the way back is still the old one. */
            json_decref(last->operations);
            last->operations = operations;
            json_decref(inverse);
            return;
        }
        json_array_extend(last->operations, operations);
        json_array_extend(inverse, last->inverse);
        json_decref(last->inverse);
        last->inverse = inverse;
        json_decref(operations);
        return;
    }
    if (p->count == HISTORY_LIMIT) {
        free_step(&p->steps[0]);
        memmove(p->steps, p->steps + 1, (size_t)(p->count - 1) * sizeof *p->steps);
        p->count--;
    }
    if (p->count == p->room) {
        int room = p->room ? 2 * p->room : 64;
        step *grown = realloc(p->steps, (size_t)room * sizeof *grown);
        if (!grown) { /* the scene has changed; only its undo is lost */
            json_decref(operations);
            json_decref(inverse);
            return;
        }
        p->steps = grown;
        p->room = room;
    }
    p->steps[p->count++] =
        (step){strdup(label), gesture ? strdup(gesture) : NULL, operations, inverse};
    p->done = p->count;
}

static void write_line(project *p, json_t *line /* stolen */) {
    if (p->journal && json_dumpf(line, p->journal, JSON_COMPACT) == 0) {
        fputc('\n', p->journal);
        fflush(p->journal);
    }
    json_decref(line);
}

sinew_status project_settle(project *p, json_t **applied, sinew_error *error) {
    if (applied) *applied = json_array();
    if (!p->trial) return SINEW_OK;
    json_t *inverse = p->trial, *ignored = NULL;
    p->trial = NULL;
    sinew_status status = apply(p, inverse, &ignored, error);
    json_decref(ignored);
    if (status == SINEW_OK) p->revision++;
    if (applied && status == SINEW_OK) json_array_extend(*applied, inverse);
    json_decref(inverse);
    return status;
}

sinew_status project_patch(project *p, const json_t *operations, const char *label,
                           const char *gesture, bool trial, json_t **applied, sinew_error *error) {
    json_t *settled = json_array(), *inverse = NULL;
    sinew_status status = SINEW_OK;
    if (!trial) {
        json_decref(settled);
        status = project_settle(p, &settled, error);
    }
    if (status == SINEW_OK) status = apply(p, operations, &inverse, error);
    if (status != SINEW_OK) {
        if (applied) *applied = settled;
        return status;
    }
    json_array_extend(settled, (json_t *)operations);
    p->revision++;
    if (trial) {
        if (p->trial) {
            /* Only the first value of a place counts for the way back. */
            if (!(only_replaces(inverse) && same_places(inverse, p->trial)))
                json_array_extend(inverse, p->trial);
            else
                json_array_clear(inverse), json_array_extend(inverse, p->trial);
            json_decref(p->trial);
        }
        p->trial = inverse;
    } else {
        json_t *line = json_pack("{s:I,s:s,s:O}", "n", (json_int_t)p->revision, "label", label,
                                 "patch", operations);
        if (gesture) json_object_set_new(line, "gesture", json_string(gesture));
        write_line(p, line);
        record(p, json_deep_copy(operations), inverse, label, gesture);
    }
    if (applied)
        *applied = settled;
    else
        json_decref(settled);
    return SINEW_OK;
}

static sinew_status travel(project *p, bool back, json_t **applied, sinew_error *error) {
    json_t *settled = NULL, *ignored = NULL;
    sinew_status status = project_settle(p, &settled, error);
    if (status == SINEW_OK && (back ? p->done == 0 : p->done == p->count))
        status =
            fail(error, SINEW_BAD_INPUT, "there is nothing to %s%s", back ? "undo" : "redo", "");
    if (status == SINEW_OK) {
        step *s = &p->steps[back ? p->done - 1 : p->done];
        json_t *operations = back ? s->inverse : s->operations;
        status = apply(p, operations, &ignored, error);
        if (status == SINEW_OK) {
            p->done += back ? -1 : 1;
            p->revision++;
            json_array_extend(settled, operations);
            write_line(
                p, json_pack("{s:I,s:b}", "n", (json_int_t)p->revision, back ? "undo" : "redo", 1));
            /* A drag that goes on after an undo is a new step. */
            free(s->gesture);
            s->gesture = NULL;
        }
        json_decref(ignored);
    }
    if (applied)
        *applied = settled;
    else
        json_decref(settled);
    return status;
}

sinew_status project_undo(project *p, json_t **applied, sinew_error *error) {
    return travel(p, true, applied, error);
}

sinew_status project_redo(project *p, json_t **applied, sinew_error *error) {
    return travel(p, false, applied, error);
}

json_t *project_history(const project *p) {
    json_t *undo = json_array(), *redo = json_array();
    for (int i = p->done - 1; i >= 0 && i >= p->done - HISTORY_SHOWN; i--)
        json_array_append_new(undo, json_string(p->steps[i].label));
    for (int i = p->done; i < p->count && i < p->done + HISTORY_SHOWN; i++)
        json_array_append_new(redo, json_string(p->steps[i].label));
    return json_pack("{s:o,s:o}", "undo", undo, "redo", redo);
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* Repeats the journal on the scene it starts from. A last line that was cut short is left out. */
static void replay(project *p, FILE *in) {
    char *line = NULL;
    size_t room = 0;
    sinew_error error;
    while (getline(&line, &room, in) > 0) {
        json_t *entry = cli_json_loads(line, 0, NULL);
        if (!entry) break;
        const json_t *patch = json_object_get(entry, "patch");
        const char *label = json_string_value(json_object_get(entry, "label"));
        const char *gesture = json_string_value(json_object_get(entry, "gesture"));
        sinew_status status = SINEW_OK;
        if (patch)
            status =
                project_patch(p, patch, label ? label : "change", gesture, false, NULL, &error);
        else if (json_object_get(entry, "undo"))
            status = project_undo(p, NULL, &error);
        else if (json_object_get(entry, "redo"))
            status = project_redo(p, NULL, &error);
        json_decref(entry);
        if (status != SINEW_OK) break;
    }
    free(line);
}

/* The journal of now, with the patches of each gesture joined; replaces the old file when it is
 * whole. */
static sinew_status rewrite_journal(project *p, sinew_error *error) {
    char *fresh = join(p->journal_path, ".new", "");
    FILE *out = fresh ? fopen(fresh, "we") : NULL;
    if (!out) {
        fail(error, SINEW_IO, "cannot write %s: %s", fresh ? fresh : "the journal",
             strerror(errno));
        free(fresh);
        return SINEW_IO;
    }
    if (p->journal) fclose(p->journal);
    p->journal = out;
    write_line(p, json_pack("{s:i,s:O}", "sinew-journal", 1, "scene", p->base));
    for (int i = 0; i < p->count; i++) {
        json_t *line = json_pack("{s:i,s:s,s:O}", "n", i + 1, "label", p->steps[i].label, "patch",
                                 p->steps[i].operations);
        if (p->steps[i].gesture)
            json_object_set_new(line, "gesture", json_string(p->steps[i].gesture));
        write_line(p, line);
    }
    for (int i = p->done; i < p->count; i++)
        write_line(p, json_pack("{s:i,s:b}", "n", p->count + 1 + i - p->done, "undo", 1));
    sinew_status status = SINEW_OK;
    if (rename(fresh, p->journal_path) != 0)
        status = fail(error, SINEW_IO, "cannot write %s: %s", p->journal_path, strerror(errno));
    free(fresh);
    return status;
}

/* A journal counts when it starts from the scene that is there now, or led to it (a save). */
static sinew_status open_journal(project *p, bool own, sinew_error *error) {
    FILE *in = fopen(p->journal_path, "re");
    json_t *now = project_document(p);
    if (in) {
        char *line = NULL;
        size_t room = 0;
        json_t *head = getline(&line, &room, in) > 0 ? cli_json_loads(line, 0, NULL) : NULL;
        free(line);
        json_t *base = json_object_get(head, "scene");
        sinew_error ignored;
        if (base && replace_document(p, base, &ignored) == SINEW_OK) {
            p->base = json_incref(base);
            replay(p, in);
            json_t *saved = NULL;
            char *path = join(p->home, "/saved.json", "");
            if (path) saved = cli_json_load_file(path, 0, NULL);
            free(path);
            if (!own && !json_equal(base, now) && !(saved && json_equal(saved, now))) {
                /* Somebody else changed the scene file: theirs counts, ours is kept aside. */
                char *aside = join(p->journal_path, ".old", "");
                if (aside) rename(p->journal_path, aside);
                free(aside);
                while (p->count) free_step(&p->steps[--p->count]);
                p->done = 0;
                json_decref(p->base);
                p->base = NULL;
                (void)replace_document(p, now, &ignored);
            }
            json_decref(saved);
        }
        json_decref(head);
        fclose(in);
    }
    if (!p->base) p->base = json_incref(now);
    json_decref(now);
    return rewrite_journal(p, error);
}

/* ---- life ------------------------------------------------------------------------------------ */

static sinew_status make_folder(const char *path, sinew_error *error) {
    if (mkdir(path, 0700) == 0 || errno == EEXIST) return SINEW_OK;
    return fail(error, SINEW_IO, "cannot create the folder %s: %s", path, strerror(errno));
}

/* $XDG_STATE_HOME/sinew/studio, made when missing. */
static sinew_status own_folder(char **folder, sinew_error *error) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *base =
        state && *state ? strdup(state) : join(home && *home ? home : "/tmp", "/.local/state", "");
    char *path = base ? join(base, "/sinew/studio", "") : NULL;
    free(base);
    if (!path) return fail(error, SINEW_NO_MEMORY, "out of memory", "", "");
    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = 0;
            (void)mkdir(path, 0700);
            *c = '/';
        }
    *folder = path;
    return make_folder(path, error);
}

/* Where a file is, with links in its folders resolved, but as it is called itself; NULL: nowhere.
 */
static char *place_of(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    char *clean = strndup(path, length), *slash = clean ? strrchr(clean, '/') : NULL, *place = NULL;
    const char *name = slash ? slash + 1 : clean;
    if (!clean || access(path, R_OK) != 0) {
        free(clean);
        return NULL;
    }
    if (strspn(name, ".") == strlen(name)) { /* . and .. */
        place = realpath(clean, NULL);
    } else {
        if (slash) *slash = 0;
        char *folder = realpath(slash == clean ? "/" : slash ? clean : ".", NULL);
        if (folder) place = join(folder, "/", name);
        free(folder);
    }
    free(clean);
    return place;
}

/* The further files of a rig, as the scene names them: from its folder on. */
static sinew_status add_files(const project *p, int count, const char *const *paths, json_t *files,
                              sinew_error *error) {
    char *folder = realpath(p->folder, NULL);
    size_t length = folder && strcmp(folder, "/") != 0 ? strlen(folder) : 0;
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        char *place = place_of(paths[i]);
        if (!folder || !place)
            status = fail(error, SINEW_IO, "cannot read %s: %s", paths[i], strerror(errno));
        else if (strncmp(place, folder, length) != 0 || place[length] != '/')
            status = fail(error, SINEW_BAD_INPUT,
                          "%s is not in the folder of the rig (%s): copy or link it there",
                          paths[i], folder);
        else
            json_array_append_new(files, json_string(place + length + 1));
        free(place);
    }
    free(folder);
    return status;
}

static sinew_status start_scene(project *p, const char *path, bool is_scene, int more,
                                const char *const *others, sinew_error *error) {
    sinew_scene *scene = NULL;
    sinew_status status;
    if (is_scene) {
        status = sinew_scene_read(path, &scene, error);
        if (status == SINEW_OK) status = use_scene(p, scene, error);
        sinew_scene_destroy(scene);
        return status;
    }
    json_t *document =
        path ? json_pack("{s:i,s:{s:[s]}}", "sinew", 1, "rig", "files",
                         strrchr(path, '/') ? strrchr(path, '/') + 1 : path)
             : json_pack("{s:i,s:{s:s},s:{s:f,s:f,s:f}}", "sinew", 1, "rig", "sample", "face",
                         "weights", "jawOpen", 0.35, "mouthSmileLeft", 0.6, "mouthSmileRight", 0.6);
    examples_use_spring(document);
    status = add_files(p, more, others, json_object_get(json_object_get(document, "rig"), "files"),
                       error);
    if (status == SINEW_OK) status = replace_document(p, document, error);
    json_decref(document);
    return status;
}

/* Before a folder is made beside it: a scene, a rig folder, or a file that can hold a mesh or rig.
 */
static sinew_status check_kind(const char *path, bool is_scene, sinew_error *error) {
    struct stat about;
    if (access(path, R_OK) != 0 || stat(path, &about) != 0)
        return fail(error, SINEW_IO, "cannot read %s: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode)) {
        char *neutral = join(path, "/neutral.obj", "");
        bool there = neutral && access(neutral, F_OK) == 0;
        free(neutral);
        return there ? SINEW_OK
                     : fail(error, SINEW_BAD_INPUT, "%s: is a folder without neutral.obj%s", path,
                            "");
    }
    if (!S_ISREG(about.st_mode))
        return fail(error, SINEW_IO, "%s: is a device, not a file%s", path, "");
    if (is_scene) return SINEW_OK;
    for (int i = 0; i < sinew_format_count(); i++) {
        sinew_format_info format = {.size = sizeof format};
        sinew_format_get_info(i, &format);
        bool opens = format.reads & (SINEW_CONTENT_RIG | SINEW_CONTENT_MESH);
        if (opens && sinew_format_has_ending(i, path)) return SINEW_OK;
    }
    return fail(error, SINEW_BAD_INPUT, "%s: is not a rig, a mesh or a scene (.json)%s", path, "");
}

sinew_status project_open(int path_count, const char *const *paths, project **out,
                          sinew_error *error) {
    const char *path = path_count ? paths[0] : NULL;
    project *p = calloc(1, sizeof *p);
    if (!p) return fail(error, SINEW_NO_MEMORY, "out of memory", "", "");
    p->lock = -1;
    sinew_status status = SINEW_OK;
    size_t length = path ? strlen(path) : 0;
    bool is_scene = length > 5 && !strcmp(path + length - 5, ".json");
    if (path) {
        status = check_kind(path, is_scene, error);
        if (is_scene && path_count > 1)
            status = fail(error, SINEW_BAD_INPUT, "%s is a scene, which names its own files%s",
                          path, "");
        while (length > 1 && path[length - 1] == '/') length--;
        char *clean = strndup(path, length);
        char *slash = strrchr(clean, '/');
        p->folder = slash ? strndup(clean, (size_t)(slash - clean)) : strdup(".");
        if (slash == clean) p->folder = strdup("/");
        p->name = strdup(slash ? slash + 1 : clean);
        p->home = join(clean, ".studio", "");
        if (is_scene) p->scene_path = strdup(path);
        if (status == SINEW_OK)
            status = start_scene(p, clean, is_scene, path_count - 1, paths + 1, error);
        free(clean);
    } else {
        status = own_folder(&p->folder, error);
        p->name = strdup("untitled");
        if (status == SINEW_OK) p->home = join(p->folder, "/untitled.studio", "");
        if (status == SINEW_OK) status = start_scene(p, NULL, false, 0, NULL, error);
    }
    if (status == SINEW_OK) {
        const char *slash = strrchr(p->home, '/');
        p->files = join(p->home, "/files", "");
        p->files_name = join(slash ? slash + 1 : p->home, "/files", "");
        p->journal_path = join(p->home, "/journal", "");
        if (!p->scene_path) p->scene_path = join(p->home, "/scene.json", "");
        status = make_folder(p->home, error);
    }
    if (status == SINEW_OK) status = make_folder(p->files, error);
    if (status == SINEW_OK) {
        p->lock = open(p->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (p->lock < 0 || flock(p->lock, LOCK_EX | LOCK_NB) != 0)
            status = fail(error, SINEW_IO, "%s is already open in another studio%s", p->home, "");
    }
    if (status == SINEW_OK) status = open_journal(p, path == NULL, error);
    if (status != SINEW_OK) {
        project_close(p);
        return status;
    }
    *out = p;
    return SINEW_OK;
}

void project_close(project *p) {
    if (!p) return;
    if (p->journal) fclose(p->journal);
    if (p->lock >= 0) close(p->lock);
    for (int i = 0; i < p->count; i++) free_step(&p->steps[i]);
    free(p->steps);
    json_decref(p->trial);
    json_decref(p->base);
    shared_session_release(p->shared);
    free(p->folder);
    free(p->home);
    free(p->files);
    free(p->files_name);
    free(p->name);
    free(p->scene_path);
    free(p->journal_path);
    free(p);
}

uint64_t project_revision(const project *p) {
    return p->revision;
}
const char *project_files_name(const project *p) {
    return p->files_name;
}
const char *project_files_path(const project *p) {
    return p->files;
}
const char *project_folder(const project *p) {
    return p->folder;
}
const char *project_name(const project *p) {
    return p->name;
}

json_t *project_document(const project *p) {
    char *text;
    sinew_error error;
    if (!p->shared || sinew_session_text(p->shared->session, &text, &error) != SINEW_OK)
        return json_object();
    json_t *document = cli_json_loads(text, 0, NULL);
    sinew_free(text);
    return document ? document : json_object();
}

sinew_status project_save(project *p, const char **written, sinew_error *error) {
    sinew_scene *scene;
    sinew_status status = sinew_session_scene(p->shared->session, &scene, error);
    if (status == SINEW_OK) status = sinew_scene_write(p->scene_path, scene, error);
    if (status != SINEW_OK) return status;
    sinew_scene_destroy(scene);
    *written = p->scene_path;
    json_t *now = project_document(p);
    char *path = join(p->home, "/saved.json", "");
    if (path) json_dump_file(now, path, JSON_COMPACT);
    free(path);
    json_decref(now);
    return SINEW_OK;
}

/* ---- where pages find it --------------------------------------------------------------------- */

void project_read_address(const project *p, int *port, char token[33]) {
    *port = 0;
    token[0] = 0;
    char *path = join(p->home, "/address", "");
    FILE *in = path ? fopen(path, "re") : NULL;
    free(path);
    if (!in) return;
    char text[33];
    int number;
    if (fscanf(in, "%d %32[0-9a-f]", &number, text) == 2 && number > 0 && number < 65536) {
        *port = number;
        memcpy(token, text, sizeof text);
    }
    fclose(in);
}

void project_write_address(const project *p, int port, const char *token) {
    char *path = join(p->home, "/address", "");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    free(path);
    if (file < 0) return;
    dprintf(file, "%d %s\n", port, token);
    close(file);
}

/* ---- what pages may name --------------------------------------------------------------------- */

static bool leaves_folder(const char *text) {
    if (*text == '/' || *text == '~' || strstr(text, ":/") || strchr(text, '\\')) return true;
    for (const char *at = text; (at = strstr(at, "..")); at += 2) {
        bool starts = at == text || at[-1] == '/' || at[-1] == ':' || at[-1] == ',';
        if (starts && (at[2] == 0 || at[2] == '/')) return true;
    }
    return false;
}

sinew_status project_check_paths(const json_t *value, sinew_error *error) {
    const char *key;
    json_t *inner;
    size_t i;
    sinew_status status = SINEW_OK;
    if (json_is_string(value) && leaves_folder(json_string_value(value)))
        return fail(error, SINEW_BAD_INPUT, "'%s' is outside the project%s",
                    json_string_value(value), "");
    json_object_foreach((json_t *)value, key, inner) if (status == SINEW_OK &&
                                                         strcmp(key, "notes") &&
                                                         strcmp(key, "studio")) status =
        project_check_paths(inner, error);
    if (json_is_array(value))
        json_array_foreach((json_t *)value, i, inner) if (status == SINEW_OK) status =
            project_check_paths(inner, error);
    return status;
}
