#include "base/plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

static char *adopt(char *found) {
    char *copy = found ? sn_strdup(found) : NULL;
    free(found);
    return copy;
}

enum { LINKS_TO_NOTHING = 8 }; /* that are followed one after another */

static char *real_by_parts(const char *path, int links);

/* The path of a name in the folder, whose path is released. */
static char *enter(char *folder, const char *name, int links) {
    char *joined = sn_path_join(folder, name);
    sn_free(folder);
    char *whole = joined ? realpath(joined, NULL) : NULL;
    if (!joined || (!whole && links == 0)) return joined;
    char *target = whole ? adopt(whole) : sn_follow_links(joined);
    bool link = !whole && target && strcmp(target, joined) != 0;
    sn_free(joined);
    if (!link) return target;
    char *real = real_by_parts(target, links - 1);
    sn_free(target);
    return real;
}

/* The path of a file that need not exist. Links are followed as far as the path exists; the rest
 * is kept by name, where ".." steps back over the name before it. */
static char *real_by_parts(const char *path, int links) {
    char *here = *path == '/' ? NULL : realpath(".", NULL);
    char *real = here ? adopt(here) : sn_strdup(*path == '/' ? "/" : ".");
    while (real && *path) {
        size_t length = strcspn(path, "/");
        char *name = sn_strndup(path, length);
        path += length + (path[length] == '/');
        if (!name) {
            sn_free(real);
            return NULL;
        }
        char *last = strrchr(real, '/');
        if (!strcmp(name, "..") && last)
            last[last == real] = '\0';
        else if (*name && strcmp(name, ".") != 0)
            real = enter(real, name, links);
        sn_free(name);
    }
    return real;
}

char *sinew_file_real_path(const char *path) {
    char *whole = realpath(path, NULL);
    return whole ? adopt(whole) : real_by_parts(path, LINKS_TO_NOTHING);
}

static void add(sn_file_plan *plan, const char *path, bool output) {
    if (plan->failed || !SN_RESERVE(plan->files, plan->capacity, plan->count + 1)) {
        plan->failed = true;
        return;
    }
    sn_planned_file *file = &plan->files[plan->count++];
    *file = (sn_planned_file){sn_strdup(path), sinew_file_real_path(path), output};
    plan->failed = !file->path || !file->real;
}

void sn_plan_input(sn_file_plan *plan, const char *path) {
    add(plan, path, false);
}

void sn_plan_output(sn_file_plan *plan, const char *path) {
    add(plan, path, true);
}

void sn_plan_free(sn_file_plan *plan) {
    for (int i = 0; i < plan->count; i++) {
        sn_free(plan->files[i].path);
        sn_free(plan->files[i].real);
    }
    sn_free(plan->files);
    memset(plan, 0, sizeof *plan);
}

/* Pipes and devices are written through, so nothing in them is lost. */
static bool is_special(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static bool same_file(const sn_planned_file *a, const sn_planned_file *b) {
    if (!strcmp(a->real, b->real)) return true;
    struct stat one, two; /* one file under two names: hard links, bind mounts */
    return stat(a->real, &one) == 0 && stat(b->real, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

/* The part of the path after the folder, or NULL. */
static const char *inside(const char *path, const char *folder) {
    size_t length = strlen(folder);
    if (strncmp(path, folder, length)) return NULL;
    if (length && folder[length - 1] == '/') return path + length;
    return path[length] == '/' ? path + length + 1 : NULL;
}

/* Whether this is the name of a file in a rig folder. */
static bool is_rig_file(const char *name) {
    return !strcmp(name, "rig.json") || !strcmp(name, "neutral.obj") ||
           !strncmp(name, "targets/", 8);
}

/* Whether the output, a rig folder, would overwrite the input. */
static bool contains(const sn_planned_file *output, const sn_planned_file *input) {
    const char *name = inside(input->real, output->real);
    return name && is_rig_file(name);
}

/* Whether the output would overwrite one of the files read from the folder. */
static bool belongs_to(const sn_planned_file *output, const sn_planned_file *folder) {
    const char *name = sn_is_folder(folder->real) ? inside(output->real, folder->real) : NULL;
    if (!name || !sn_file_exists(output->real)) return false;
    if (is_rig_file(name)) return true;
    char *description = sn_path_join(folder->real, "rig.json");
    bool rig = description && sn_file_exists(description);
    sn_free(description);
    if (rig || strchr(name, '/')) return false;
    static const char *const shapes[] = {"target", "obj", "ply", "off", "glb", "gltf"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (sn_has_ending(name, shapes[i])) return true;
    return false;
}

sinew_status sinew_file_plan_check(const sinew_file_plan *plan, sinew_error *error) {
    SN_REQUIRE(plan, error);
    if (plan->failed) return sn_no_memory(error);
    for (int i = 0; i < plan->count; i++) {
        const sn_planned_file *output = &plan->files[i];
        if (!output->output || is_special(output->real)) continue;
        for (int j = 0; j < plan->count; j++) {
            const sn_planned_file *other = &plan->files[j];
            if (j == i || (other->output && j < i)) continue;
            if (same_file(output, other))
                return sn_fail(error, SINEW_BAD_INPUT,
                               other->output ? "%s: two outputs have this name"
                                             : "%s: is an input, and would be overwritten",
                               output->path);
            if (other->output) continue;
            if (belongs_to(output, other) || contains(output, other))
                return sn_fail(error, SINEW_BAD_INPUT, "%s: would overwrite the input %s",
                               output->path, other->path);
        }
    }
    return SINEW_OK;
}

sinew_status sinew_file_plan_check_inside(const sinew_file_plan *plan, const char *folder,
                                          sinew_error *error) {
    SN_REQUIRE(plan && folder, error);
    char *real = sinew_file_real_path(*folder ? folder : ".");
    if (plan->failed || !real) {
        sn_free(real);
        return sn_no_memory(error);
    }
    sinew_status found = SINEW_OK;
    for (int i = 0; i < plan->count && found == SINEW_OK; i++)
        if (plan->files[i].output && !inside(plan->files[i].real, real))
            found = sn_fail(error, SINEW_BAD_INPUT, "%s: is an output outside the folder %s",
                            plan->files[i].path, real);
    sn_free(real);
    return found;
}

/* ---- public ---------------------------------------------------------------------------------- */

sinew_status sinew_file_plan_create(sinew_file_plan **plan, sinew_error *error) {
    SN_REQUIRE(plan, error);
    *plan = SN_NEW0(sinew_file_plan, 1);
    return *plan ? SINEW_OK : sn_no_memory(error);
}

void sinew_file_plan_destroy(sinew_file_plan *plan) {
    if (plan) sn_plan_free(plan);
    sn_free(plan);
}

sinew_status sinew_file_plan_add_input(sinew_file_plan *plan, const char *path,
                                       sinew_error *error) {
    SN_REQUIRE(plan && path, error);
    sn_plan_input(plan, path);
    return plan->failed ? sn_no_memory(error) : SINEW_OK;
}

sinew_status sinew_file_plan_add_output(sinew_file_plan *plan, const char *path,
                                        sinew_error *error) {
    SN_REQUIRE(plan && path, error);
    sn_plan_output(plan, path);
    return plan->failed ? sn_no_memory(error) : SINEW_OK;
}

int sinew_file_plan_count(const sinew_file_plan *plan) {
    return plan ? plan->count : 0;
}

const char *sinew_file_plan_path(const sinew_file_plan *plan, int index) {
    return plan && index >= 0 && index < plan->count ? plan->files[index].path : NULL;
}

const char *sinew_file_plan_real_path(const sinew_file_plan *plan, int index) {
    return plan && index >= 0 && index < plan->count ? plan->files[index].real : NULL;
}

bool sinew_file_plan_is_output(const sinew_file_plan *plan, int index) {
    return plan && index >= 0 && index < plan->count && plan->files[index].output;
}
