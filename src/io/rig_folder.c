#include "io/rig_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/scratch.h"
#include "io/reading.h"
#include "io/rig_json.h"
#include "io/target.h"

/* A target's name as a file name: what a file system or a shell may mind is written %XX. */
static char *target_file_name(const char *name) {
    char *file = sn_alloc(3 * strlen(name) + sizeof ".target", 1);
    if (!file) return NULL;
    char *to = file;
    for (const char *c = name; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte < 0x20 || byte == 0x7f || strchr("/\\%:*?\"<>|", *c) || (*c == '.' && c == name))
            to += sprintf(to, "%%%02X", byte);
        else
            *to++ = *c;
    }
    strcpy(to, ".target");
    return file;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The name that a file represents: the stem with %XX undone. */
static char *target_name(const char *path) {
    char *name = sn_path_stem(path);
    if (!name) return NULL;
    char *to = name;
    for (const char *c = name; *c; to++) {
        int high = c[0] == '%' ? hex_digit(c[1]) : -1, low = high >= 0 ? hex_digit(c[2]) : -1;
        if (low >= 0 && 16 * high + low != 0) {
            *to = (char)(16 * high + low);
            c += 3;
        } else {
            *to = *c++;
        }
    }
    *to = '\0';
    return name;
}

/* --- reading ---------------------------------------------------------------------------------- */

static sinew_status read_deltas(const char *path, int vertex_count, sn_deltas *deltas,
                                sinew_error *error) {
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    sinew_status status = sn_target_read(&source, vertex_count, deltas, error);
    sn_source_close(&source);
    return status;
}

static sinew_status add_target_file(sinew_rig *rig, const char *path, const char *name,
                                    sinew_error *error) {
    sn_deltas deltas;
    SN_TRY(read_deltas(path, rig->neutral->vertex_count, &deltas, error));
    sinew_status status =
        sinew_rig_add_target(rig, name, deltas.count, deltas.vertices, deltas.values, error);
    sn_deltas_free(&deltas);
    return status;
}

/* A pose without faces is a list of points: only its vertex count can disagree. */
static sinew_status add_pose_file(sinew_rig *rig, const char *path, const char *name,
                                  sinew_error *error) {
    sinew_mesh *mesh;
    SN_TRY(sinew_mesh_read(path, &mesh, error));
    sinew_status status = SINEW_OK;
    if (mesh->face_count > 0 || mesh->vertex_count != rig->neutral->vertex_count)
        status = sinew_mesh_same_topology(rig->neutral, mesh, error);
    if (status == SINEW_OK) status = sinew_rig_add_pose(rig, name, mesh->positions, error);
    sinew_mesh_destroy(mesh);
    return status;
}

static sinew_status add_file(sinew_rig *rig, const char *path, sinew_error *error) {
    char *name = target_name(path);
    if (!name) return sn_no_memory(error);
    bool deltas = sn_has_ending(path, "target");
    sinew_error inner = {0};
    sinew_status status =
        deltas ? add_target_file(rig, path, name, &inner) : add_pose_file(rig, path, name, &inner);
    sn_free(name);
    if (status == SINEW_OK) return status;
    /* Messages of the readers start with the path already. */
    bool named = strncmp(inner.message, path, strlen(path)) == 0;
    return sn_fail(error, status, "%s%s%s", named ? "" : path, named ? "" : ": ", inner.message);
}

static bool is_mesh_file(const char *path) {
    for (const sn_format *const *f = sn_formats(); *f; f++)
        if ((*f)->read_mesh && sn_format_has_ending(*f, path)) return true;
    return false;
}

sinew_status sn_rig_add_path(sinew_rig *rig, const char *path, sinew_error *error) {
    if (!sn_path_is_folder(path)) return add_file(rig, path, error);
    char **names;
    int count, used = 0;
    SN_TRY(sn_folder_list(path, &names, &count, error));
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        if (!sn_has_ending(names[i], "target") && !is_mesh_file(names[i])) continue;
        char *file = sn_path_join(path, names[i]);
        status = file ? add_file(rig, file, error) : sn_no_memory(error);
        sn_free(file);
        used++;
    }
    sn_names_free(names, count);
    if (status == SINEW_OK && used == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: holds no .target or mesh files", path);
    return status;
}

static sinew_status read_described_targets(const char *folder, sinew_rig *rig, sinew_error *error) {
    for (int i = 0; i < rig->target_count; i++) {
        sinew_target *target = &rig->targets[i];
        char *file = target_file_name(target->name);
        char *path = file ? sn_path_join(folder, file) : NULL;
        sn_deltas deltas = {0};
        sinew_status status = path ? read_deltas(path, rig->neutral->vertex_count, &deltas, error)
                                   : sn_no_memory(error);
        if (status == SINEW_OK) {
            target->count = deltas.count;
            target->vertices = deltas.vertices;
            target->deltas = deltas.values;
        }
        sn_free(file);
        sn_free(path);
        SN_TRY(status);
    }
    return SINEW_OK;
}

static sinew_status read_described(const char *description, const char *targets, sinew_rig *rig,
                                   sinew_error *error) {
    sn_source source;
    SN_TRY(sn_source_open(&source, description, error));
    json_t *root = NULL;
    sinew_status status = sn_json_parse(source.bytes, source.size, source.name, &root, error);
    if (status == SINEW_OK) status = sn_rig_from_json(root, source.name, rig, error);
    if (status == SINEW_OK) status = read_described_targets(targets, rig, error);
    json_decref(root);
    sn_source_close(&source);
    return status;
}

sinew_status sn_rig_folder_read(const char *path, sinew_rig **rig, sinew_error *error) {
    char *neutral = sn_path_join(path, "neutral.obj");
    char *description = sn_path_join(path, "rig.json");
    char *targets = sn_path_join(path, "targets");
    sinew_mesh *mesh = NULL;
    sinew_status status = neutral && description && targets ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && !sn_file_exists(neutral))
        status = errno == ENOENT
                     ? sn_fail(error, SINEW_BAD_INPUT, "%s: is a folder without neutral.obj", path)
                     : sn_fail(error, SINEW_IO, "%s: %s", neutral, strerror(errno));
    if (status == SINEW_OK) status = sinew_mesh_read(neutral, &mesh, error);
    if (status == SINEW_OK) status = sinew_rig_create(mesh, rig, error);
    if (status == SINEW_OK) {
        status = sn_file_exists(description) ? read_described(description, targets, *rig, error)
                                             : sn_rig_add_path(*rig, targets, error);
        if (status != SINEW_OK) {
            sinew_rig_destroy(*rig);
            *rig = NULL;
        }
    }
    sn_free(neutral);
    sn_free(description);
    sn_free(targets);
    return status;
}

/* --- writing ---------------------------------------------------------------------------------- */

static sinew_status write_targets(const char *folder, const sinew_rig *rig, sinew_error *error) {
    for (int i = 0; i < rig->target_count; i++) {
        sn_buffer out = {0};
        sn_target_write(&rig->targets[i], &out);
        char *file = target_file_name(rig->targets[i].name);
        char *path = file ? sn_path_join(folder, file) : NULL;
        sinew_status status =
            sn_format_finish(path, path ? SINEW_OK : sn_no_memory(error), &out, error);
        sn_free(file);
        sn_free(path);
        SN_TRY(status);
    }
    return SINEW_OK;
}

static sinew_status write_description(const char *path, const sinew_rig *rig, sinew_error *error) {
    sn_buffer out = {0};
    json_t *root = sn_rig_to_json(rig);
    sinew_status status = sn_json_write(root, true, &out, error);
    sn_buffer_char(&out, '\n');
    json_decref(root);
    return sn_format_finish(path, status, &out, error);
}

/* rig.json comes last: without it the folder is not yet this rig. */
static sinew_status write_into(const char *folder, const sinew_rig *rig, sinew_error *error) {
    char *neutral = sn_path_join(folder, "neutral.obj");
    char *targets = sn_path_join(folder, "targets");
    char *description = sn_path_join(folder, "rig.json");
    sinew_status status = neutral && description && targets ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = sn_make_folder(targets, error);
    if (status == SINEW_OK) status = sinew_mesh_write(neutral, rig->neutral, error);
    if (status == SINEW_OK) status = write_targets(targets, rig, error);
    if (status == SINEW_OK) status = write_description(description, rig, error);
    sn_free(neutral);
    sn_free(targets);
    sn_free(description);
    return status;
}

/* A new folder is filled beside and then renamed; one that exists is filled in place. */
sinew_status sn_rig_folder_write(const char *path, const sinew_rig *rig, sinew_error *error) {
    if (sn_is_folder(path)) return write_into(path, rig, error);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    char *bare = sn_strndup(path, length);
    char *parent = bare ? sn_strndup(bare, (size_t)(sn_path_name(bare) - bare)) : NULL;
    sn_scratch scratch = {0};
    sinew_status status =
        parent ? sn_scratch_open(&scratch, parent, 0777, path, bare, error) : sn_no_memory(error);
    if (status == SINEW_OK) status = write_into(scratch.path, rig, error);
    if (status == SINEW_OK) status = sn_scratch_rename(&scratch, bare, error);
    sn_scratch_close(&scratch);
    sn_free(parent);
    sn_free(bare);
    return status;
}
