#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

sinew_status sn_file_read(const char *path, char **bytes, size_t *size, sinew_error *error) {
    *bytes = NULL;
    *size = 0;
    if (sn_is_folder(path)) return sn_fail(error, SINEW_IO, "%s: is a folder", path);
    struct stat info;
    /* Devices such as /dev/zero have no end. */
    if (stat(path, &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)))
        return sn_fail(error, SINEW_IO, "%s: is a device, not a file", path);
    FILE *stream = fopen(path, "rb");
    if (!stream) return sn_fail(error, SINEW_IO, "%s: %s", path, strerror(errno));
    size_t capacity = 0, used = 0;
    char *block = NULL;
    size_t expected =
        fstat(fileno(stream), &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
    for (;;) {
        /* Asking for one byte more than the expected size reveals the end of the file without
         * growing the buffer again. */
        size_t wanted = used < expected ? expected + 2 : used + 65536;
        if (!SN_RESERVE(block, capacity, wanted)) {
            fclose(stream);
            sn_free(block);
            return sn_no_memory(error);
        }
        size_t got = fread(block + used, 1, capacity - used - 1, stream);
        used += got;
        if (got == 0) break;
    }
    bool failed = ferror(stream) != 0;
    fclose(stream);
    if (failed) {
        sn_free(block);
        return sn_fail(error, SINEW_IO, "%s: could not be read", path);
    }
    block[used] = '\0';
    *bytes = block;
    *size = used;
    return SINEW_OK;
}

sinew_status sn_file_open(const char *path, FILE **file, sinew_error *error) {
    *file = NULL;
    int opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat info;
    if (opened < 0) return sn_fail(error, SINEW_IO, "%s: %s", path, strerror(errno));
    bool regular = fstat(opened, &info) == 0 && S_ISREG(info.st_mode);
    if (regular) *file = fdopen(opened, "rb");
    if (*file) return SINEW_OK;
    close(opened);
    return regular ? sn_no_memory(error)
                   : sn_fail(error, SINEW_IO, "%s: is not a regular file", path);
}

bool sn_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool sn_file_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

sinew_status sn_make_folder(const char *path, sinew_error *error) {
    char *copy = sn_strdup(path);
    if (!copy) return sn_no_memory(error);
    sinew_status status = SINEW_OK;
    for (char *cursor = copy + 1;; cursor++) {
        if (*cursor != '/' && *cursor != '\0') continue;
        char kept = *cursor;
        *cursor = '\0';
        int reason = mkdir(copy, 0777) != 0 ? errno : 0;
        if (reason && !sn_is_folder(copy)) {
            status = sn_fail(error, SINEW_IO, "%s: cannot be created: %s", copy, strerror(reason));
            break;
        }
        if (kept == '\0') break;
        *cursor = kept;
    }
    sn_free(copy);
    return status;
}

const char *sn_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *sn_path_ending(const char *path) {
    const char *name = sn_path_name(path);
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot + 1 : "";
}

bool sn_has_ending(const char *path, const char *ending) {
    return strcasecmp(sn_path_ending(path), ending) == 0;
}

char *sn_path_stem(const char *path) {
    const char *name = sn_path_name(path);
    const char *ending = sn_path_ending(path);
    return sn_strndup(name, *ending ? (size_t)(ending - name - 1) : strlen(name));
}

char *sn_path_join(const char *folder, const char *name) {
    size_t length = strlen(folder);
    bool slash = length > 0 && folder[length - 1] != '/';
    char *path = sn_alloc(length + strlen(name) + 2, 1);
    if (!path) return NULL;
    sprintf(path, "%s%s%s", folder, slash ? "/" : "", name);
    return path;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

sinew_status sn_folder_list(const char *path, char ***names, int *count, sinew_error *error) {
    *names = NULL;
    *count = 0;
    DIR *folder = opendir(path);
    if (!folder) return sn_fail(error, SINEW_IO, "%s: %s", path, strerror(errno));
    char **list = NULL;
    size_t capacity = 0;
    int used = 0;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char *name = sn_strdup(entry->d_name);
        if (!name || !SN_RESERVE(list, capacity, used + 1)) {
            sn_free(name);
            closedir(folder);
            sn_names_free(list, used);
            return sn_no_memory(error);
        }
        list[used++] = name;
    }
    closedir(folder);
    if (used) qsort(list, (size_t)used, sizeof *list, compare_names);
    *names = list;
    *count = used;
    return SINEW_OK;
}

void sn_names_free(char **names, int count) {
    if (!names) return;
    for (int i = 0; i < count; i++) sn_free(names[i]);
    sn_free(names);
}
