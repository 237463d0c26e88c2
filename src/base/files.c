/* Public functions for files, folders and the calls that run inside them (sinew/files.h). */
#include "sinew/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/scratch.h"

sinew_status sinew_file_read(const char *path, char **bytes, size_t *size, sinew_error *error) {
    SN_REQUIRE(path && bytes && size, error);
    return sn_file_read(path, bytes, size, error);
}

sinew_status sinew_file_write(const char *path, const void *bytes, size_t size,
                              sinew_error *error) {
    SN_REQUIRE(path && (bytes || !size), error);
    return sn_file_write(path, bytes, size, error);
}

sinew_status sinew_folder_create(const char *path, sinew_error *error) {
    SN_REQUIRE(path, error);
    return sn_make_folder(path, error);
}

struct sinew_folder {
    sn_scratch scratch; /* next to the folder, so that a rename is enough */
    char *path;         /* its final name */
};

sinew_status sinew_folder_begin(const char *path, sinew_folder **folder, sinew_error *error) {
    SN_REQUIRE(path && folder, error);
    *folder = NULL;
    struct stat there;
    if (lstat(path, &there) == 0)
        return sn_fail(error, SINEW_IO, "%s: cannot be created: %s", path, strerror(EEXIST));
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    while (length > 0 && path[length - 1] != '/') length--;
    sinew_folder *made = SN_NEW0(sinew_folder, 1);
    char *parent = sn_strndup(path, length);
    if (made) made->path = sn_strdup(path);
    sinew_status status =
        parent && made && made->path
            ? sn_scratch_open(&made->scratch, parent, 0777, path, made->path, error)
            : sn_no_memory(error);
    sn_free(parent);
    if (status == SINEW_OK)
        *folder = made;
    else
        sinew_folder_abandon(made);
    return status;
}

const char *sinew_folder_path(const sinew_folder *folder) {
    return folder ? folder->scratch.path : NULL;
}

sinew_status sinew_folder_finish(sinew_folder *folder, sinew_error *error) {
    SN_REQUIRE(folder, error);
    sinew_status status = sn_scratch_rename(&folder->scratch, folder->path, error);
    sinew_folder_abandon(folder);
    return status;
}

void sinew_folder_abandon(sinew_folder *folder) {
    if (!folder) return;
    sn_scratch_close(&folder->scratch);
    sn_free(folder->path);
    sn_free(folder);
}

void sinew_files_clean_up(void) {
    sn_children_kill();
    sn_scratch_remove_all();
}
