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
    FILE *stream = fopen(path, "rb");
    if (!stream) return sn_fail(error, SINEW_IO, "%s: %s", path, strerror(errno));
    size_t capacity = 0, used = 0;
    char *block = NULL;
    struct stat info;
    size_t expected =
        fstat(fileno(stream), &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
    for (;;) {
        /* One byte beyond the expected size shows the end of the file without another growth. */
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

sinew_status sn_output_open(sn_output *output, const char *path, sinew_error *error) {
    memset(output, 0, sizeof *output);
    if (sn_is_folder(path)) return sn_fail(error, SINEW_IO, "%s: is a folder", path);
    size_t length = strlen(path);
    output->path = sn_strdup(path);
    output->temporary = sn_alloc(length + 16, 1);
    if (!output->path || !output->temporary) {
        sn_output_abandon(output);
        return sn_no_memory(error);
    }
    snprintf(output->temporary, length + 16, "%s.XXXXXX.part", path);
    int descriptor = mkstemps(output->temporary, 5);
    if (descriptor < 0) {
        sinew_status status =
            sn_fail(error, SINEW_IO, "%s: cannot be written: %s", path, strerror(errno));
        sn_free(output->temporary);
        output->temporary = NULL;
        sn_output_abandon(output);
        return status;
    }
    /* mkstemps makes the file private; give it the permissions an ordinary file would have. */
    mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
    output->stream = fdopen(descriptor, "wb");
    if (!output->stream) {
        close(descriptor);
        sn_output_abandon(output);
        return sn_no_memory(error);
    }
    return SINEW_OK;
}

sinew_status sn_output_commit(sn_output *output, sinew_error *error) {
    errno = 0;
    bool failed = ferror(output->stream) != 0;
    failed |= fflush(output->stream) != 0;
    failed |= fclose(output->stream) != 0;
    output->stream = NULL;
    if (!failed) failed = rename(output->temporary, output->path) != 0;
    if (failed) {
        sinew_status status = sn_fail(error, SINEW_IO, "%s: cannot be written: %s", output->path,
                                      errno ? strerror(errno) : "write error");
        sn_output_abandon(output);
        return status;
    }
    sn_free(output->temporary);
    output->temporary = NULL;
    sn_output_abandon(output);
    return SINEW_OK;
}

void sn_output_abandon(sn_output *output) {
    if (output->stream) fclose(output->stream);
    if (output->temporary) unlink(output->temporary);
    sn_free(output->temporary);
    sn_free(output->path);
    memset(output, 0, sizeof *output);
}

sinew_status sn_file_write(const char *path, const void *bytes, size_t size, sinew_error *error) {
    sn_output output;
    SN_TRY(sn_output_open(&output, path, error));
    if (size) fwrite(bytes, 1, size, output.stream);
    return sn_output_commit(&output, error);
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
        if (mkdir(copy, 0777) != 0 && !sn_is_folder(copy)) {
            status = sn_fail(error, SINEW_IO, "%s: cannot be made: %s", copy, strerror(errno));
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
