/* Output files that are either complete or absent.
 *
 * A file is written without a name (O_TMPFILE) in the folder where it will appear, flushed to disk,
 * and then replaces the existing file. A process that is killed leaves nothing behind. On file
 * systems without O_TMPFILE, the temporary file is named after the output and locked; the next run
 * that writes this output finds it unlocked and reuses it.
 *
 * Only a regular file is ever replaced. A symbolic link is followed: its target is replaced and the
 * link stays. Pipes and character devices are written through: the complete content is copied into
 * them. Everything else is rejected. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/scratch.h"

enum { LINK_LIMIT = 40, SLOTS = 16, NAME_ROOM = 64 };

bool sn_output_always_named;

/* N for /dev/fd/N, /proc/self/fd/N and the names of the standard streams, otherwise -1. */
static int descriptor_of(const char *path) {
    if (!strcmp(path, "/dev/stdout")) return 1;
    if (!strcmp(path, "/dev/stderr")) return 2;
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]);
        const char *number = path + length;
        if (strncmp(path, folders[i], length) || !*number || strlen(number) > 6) continue;
        if (strspn(number, "0123456789") == strlen(number)) return atoi(number);
    }
    return -1;
}

/* The folder part including its last slash, or "". */
static char *folder_of(const char *path) {
    return sn_strndup(path, (size_t)(sn_path_name(path) - path));
}

char *sn_follow_links(const char *path) {
    char *target = sn_strdup(path), to[4097];
    for (int i = 0; target && i < LINK_LIMIT; i++) {
        ssize_t length = readlink(target, to, sizeof to - 1);
        if (length <= 0) return target;
        to[length] = '\0';
        char *folder = folder_of(target);
        char *next =
            folder ? (*to == '/' || !*folder ? sn_strdup(to) : sn_path_join(folder, to)) : NULL;
        sn_free(folder);
        sn_free(target);
        target = next;
    }
    return target;
}

/* Reports why the file cannot be created, and names the folder if that is the reason. */
static sinew_status refuse(const char *path, const char *target, int reason, sinew_error *error) {
    char *folder = folder_of(target);
    sinew_status status;
    if (!folder || reason == ENOMEM) {
        sn_free(folder);
        return sn_no_memory(error);
    }
    const char *named = *folder ? folder : "this folder";
    if (reason == ENOENT && *folder && !sn_is_folder(folder))
        status = sn_fail(error, SINEW_IO, "%s: cannot be written: the folder %s does not exist",
                         path, named);
    else if (reason == EACCES && access(*folder ? folder : ".", W_OK) != 0)
        status = sn_fail(error, SINEW_IO, "%s: cannot be written: no permission to write to %s",
                         path, named);
    else
        status = sn_fail(error, SINEW_IO, "%s: cannot be written: %s", path, strerror(reason));
    sn_free(folder);
    return status;
}

/* FNV-1a: keeps temporary names short however long the output's name is. */
static uint64_t name_hash(const char *text) {
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static uint64_t random_number(void) {
    static uint64_t count;
    uint64_t number;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ((uint64_t)getpid() << 40) ^ ((uint64_t)now.tv_nsec << 10) ^
           __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
}

/* Opens a named temporary file, either new or left by a run that died. Returns -1 and sets errno on
 * failure. */
static int open_slot(sn_output *output, const char *folder) {
    size_t room = strlen(folder) + NAME_ROOM;
    output->temporary = sn_alloc(room, 1);
    if (!output->temporary) {
        errno = ENOMEM;
        return -1;
    }
    uint64_t hash = name_hash(sn_path_name(output->target));
    for (int slot = 0; slot < SLOTS; slot++) {
        snprintf(output->temporary, room, "%s.sinew-%016" PRIx64 "-%d.part", folder, hash, slot);
        int file = open(output->temporary, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        struct stat opened, named;
        if (file < 0 && errno != ELOOP && errno != EACCES) break;
        if (file < 0) continue;
        bool locked = flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        /* It is ours, and still has its name: another run may just have renamed or removed it. */
        bool usable = locked && fstat(file, &opened) == 0 && S_ISREG(opened.st_mode) &&
                      opened.st_uid == geteuid() && opened.st_nlink == 1 &&
                      lstat(output->temporary, &named) == 0 && named.st_ino == opened.st_ino &&
                      ftruncate(file, 0) == 0;
        if (usable) return file;
        close(file);
        errno = EBUSY;
    }
    int reason = errno;
    sn_free(output->temporary);
    output->temporary = NULL;
    errno = reason;
    return -1;
}

/* Opens an unnamed file in the folder that can be given a name later, or one with a temporary
 * name. */
static int open_temporary(sn_output *output, const char *folder) {
    char link[32];
    if (sn_output_always_named) return open_slot(output, folder);
    int file = open(*folder ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (file >= 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        if (access(link, F_OK) == 0) return file; /* it can be given a name */
        close(file);
    } else if (errno == ENOSPC || errno == EDQUOT || errno == EACCES || errno == ENOENT) {
        return -1;
    }
    return open_slot(output, folder);
}

/* The target must be a writable regular file, or absent. */
static sinew_status check_target(sn_output *output, const struct stat *info, sinew_error *error) {
    const char *what = S_ISDIR(info->st_mode)    ? "a folder"
                       : S_ISSOCK(info->st_mode) ? "a socket"
                       : S_ISBLK(info->st_mode)  ? "a block device"
                                                 : NULL;
    if (what) return sn_fail(error, SINEW_IO, "%s: is %s", output->path, what);
    output->through = !S_ISREG(info->st_mode);
    if (access(output->target, W_OK) != 0)
        return sn_fail(error, SINEW_IO, "%s: cannot be written: %s", output->path, strerror(errno));
    /* Replacing it needs only permission for its folder, and root needs none at all. */
    if (!output->through && !(info->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
        return sn_fail(error, SINEW_IO, "%s: cannot be written: it is read-only", output->path);
    return SINEW_OK;
}

static sinew_status open_output(sn_output *output, sinew_error *error) {
    struct stat info;
    bool exists = false;
    if (descriptor_of(output->path) >= 0) {
        output->through = true;
    } else if (stat(output->target, &info) == 0) {
        exists = true;
        SN_TRY(check_target(output, &info, error));
    } else if (errno != ENOENT) {
        return refuse(output->path, output->target, errno, error);
    }
    if (output->through) {
        output->stream = tmpfile();
        if (output->stream) return SINEW_OK;
        return sn_fail(error, SINEW_IO, "%s: no temporary file: %s", output->path, strerror(errno));
    }
    char *folder = folder_of(output->target);
    if (!folder) return sn_no_memory(error);
    int file = open_temporary(output, folder);
    int reason = errno;
    sn_free(folder);
    if (file < 0) return refuse(output->path, output->target, reason, error);
    if (exists) {
        /* A replacement keeps the owner and permissions of the old file where the system allows
         * it. */
        bool owned = fchown(file, info.st_uid, info.st_gid) == 0;
        fchmod(file, info.st_mode & (owned ? 07777 : 0777));
    }
    output->stream = fdopen(file, "w+b");
    if (output->stream) return SINEW_OK;
    close(file);
    return sn_no_memory(error);
}

sinew_status sn_output_open(sn_output *output, const char *path, sinew_error *error) {
    memset(output, 0, sizeof *output);
    output->path = sn_scratch_final_path(path);
    output->target = sn_follow_links(path);
    sinew_status status =
        output->path && output->target ? open_output(output, error) : sn_no_memory(error);
    if (status != SINEW_OK) sn_output_abandon(output);
    return status;
}

sinew_status sn_output_probe(const char *path, sinew_error *error) {
    sn_output output;
    SN_TRY(sn_output_open(&output, path, error));
    sn_output_abandon(&output);
    return SINEW_OK;
}

/* A stream only remembers that something went wrong; writing once more reveals the reason. */
static int stream_failure(FILE *stream) {
    static const char probe[4096];
    int file = fileno(stream);
    struct stat info;
    off_t end = fstat(file, &info) == 0 ? info.st_size : 0;
    errno = 0;
    if (pwrite(file, probe, sizeof probe, end) == (ssize_t)sizeof probe) return EIO;
    return errno ? errno : ENOSPC;
}

static sinew_status write_failure(const sn_output *output, int reason, sinew_error *error) {
    if (reason == ENOMEM) return sn_no_memory(error);
    return sn_fail(error, SINEW_IO, "%s: cannot be written: %s", output->path, strerror(reason));
}

sinew_status sn_output_check(const sn_output *output, sinew_error *error) {
    if (!ferror(output->stream)) return SINEW_OK;
    return write_failure(output, stream_failure(output->stream), error);
}

static bool send_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written <= 0) return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Copies the complete content into the pipe or device. A closed reader is an error, not a SIGPIPE
 * that would end the host. */
static sinew_status write_through(sn_output *output, sinew_error *error) {
    int descriptor = descriptor_of(output->path);
    int file = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
                               : open(output->target, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return write_failure(output, errno, error);
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    char block[65536];
    size_t got;
    int reason = 0;
    rewind(output->stream);
    while (!reason && (got = fread(block, 1, sizeof block, output->stream)) > 0)
        if (!send_all(file, block, got)) reason = errno;
    if (!reason && ferror(output->stream)) reason = EIO;
    if (close(file) != 0 && !reason) reason = errno;
    if (reason == EPIPE && !sigismember(&before, SIGPIPE))
        sigtimedwait(&pipe, NULL, &(struct timespec){0, 0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return reason ? write_failure(output, reason, error) : SINEW_OK;
}

/* Gives the unnamed file a temporary name next to the target. */
static int name_temporary(sn_output *output) {
    char *folder = folder_of(output->target), link[32];
    size_t room = folder ? strlen(folder) + NAME_ROOM : 0;
    char *name = folder ? sn_alloc(room, 1) : NULL;
    int reason = name ? EEXIST : ENOMEM;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(output->stream));
    for (int i = 0; name && reason == EEXIST && i < SLOTS; i++) {
        snprintf(name, room, "%s.sinew-%016" PRIx64 ".part", folder, random_number());
        reason = linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    }
    sn_free(folder);
    if (reason)
        sn_free(name);
    else
        output->temporary = name;
    return reason;
}

static sinew_status take_place(sn_output *output, sinew_error *error) {
    /* The content is on disk before the file gets its name, so a power failure leaves either the
     * old or the new file. File systems without fsync return EINVAL or ENOSYS. */
    if (fsync(fileno(output->stream)) != 0 && errno != EINVAL && errno != ENOSYS && errno != EROFS)
        return write_failure(output, errno, error);
    int reason = output->temporary ? 0 : name_temporary(output);
    if (!reason && rename(output->temporary, output->target) != 0) reason = errno;
    if (reason) return write_failure(output, reason, error);
    sn_free(output->temporary);
    output->temporary = NULL;
    return SINEW_OK;
}

sinew_status sn_output_commit(sn_output *output, sinew_error *error) {
    sinew_status status = sn_output_check(output, error);
    if (status == SINEW_OK && fflush(output->stream) != 0)
        status = write_failure(output, errno, error);
    if (status == SINEW_OK)
        status = output->through ? write_through(output, error) : take_place(output, error);
    sn_output_abandon(output);
    return status;
}

void sn_output_abandon(sn_output *output) {
    /* Unlink while the lock is held: another run may claim the name as soon as the file is
     * closed. */
    if (output->temporary) unlink(output->temporary);
    if (output->stream) fclose(output->stream);
    sn_free(output->temporary);
    sn_free(output->target);
    sn_free(output->path);
    memset(output, 0, sizeof *output);
}

sinew_status sn_file_write(const char *path, const void *bytes, size_t size, sinew_error *error) {
    sn_output output;
    SN_TRY(sn_output_open(&output, path, error));
    if (size) fwrite(bytes, 1, size, output.stream);
    return sn_output_commit(&output, error);
}

sinew_status sn_file_move(const char *from, const char *to, sinew_error *error) {
    sn_output output = {.path = (char *)to, .target = sn_follow_links(to)};
    struct stat info;
    sinew_status status = output.target ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && stat(output.target, &info) == 0) {
        status = check_target(&output, &info, error);
        if (status == SINEW_OK && output.through)
            status = sn_fail(error, SINEW_IO, "%s: is not a regular file", to);
    }
    if (status == SINEW_OK && rename(from, output.target) != 0)
        status = write_failure(&output, errno, error);
    sn_free(output.target);
    return status;
}
