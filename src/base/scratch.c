#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define PREFIX ".sinew-"
#define ENDING ".scratch"
/* A younger folder without a lock may be one whose creator has not locked it yet. */
static const double STALE_SECONDS = 60;

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    remove(path);
    return 0; /* another thread may have removed it: on with the others */
}

/* One descriptor is enough: there may be no more. */
static void remove_tree(const char *path) {
    nftw(path, remove_entry, 1, FTW_DEPTH | FTW_PHYS);
}

/* The same of a folder that other threads still write to: under another name they do not find it,
 * nor can it become an output half removed. */
static void remove_in_use(const char *path) {
    size_t room = strlen(path) + sizeof ".ended" ENDING;
    char *ended = sn_alloc(room, 1);
    if (ended) snprintf(ended, room, "%s.ended" ENDING, path);
    remove_tree(ended && rename(path, ended) == 0 ? ended : path);
    sn_free(ended);
}

/* Open folders, for an exit without unwinding. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sn_scratch *open_ones;

static void enlist(sn_scratch *scratch) {
    pthread_mutex_lock(&lock);
    scratch->next = open_ones;
    open_ones = scratch;
    pthread_mutex_unlock(&lock);
}

static void strike_out(sn_scratch *scratch) {
    pthread_mutex_lock(&lock);
    for (sn_scratch **s = &open_ones; *s; s = &(*s)->next)
        if (*s == scratch) {
            *s = scratch->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

void sn_scratch_remove_all(void) {
    pthread_mutex_lock(&lock);
    for (const sn_scratch *s = open_ones; s; s = s->next) remove_in_use(s->path);
    pthread_mutex_unlock(&lock);
}

char *sn_scratch_final_path(const char *path) {
    char *shown = NULL;
    bool inside = false;
    pthread_mutex_lock(&lock);
    for (const sn_scratch *s = open_ones; s && !inside; s = s->next) {
        size_t length = strlen(s->path);
        inside = s->final && strncmp(path, s->path, length) == 0 && path[length] == '/';
        if (inside) shown = sn_path_join(s->final, path + length + 1);
    }
    pthread_mutex_unlock(&lock);
    return inside ? shown : sn_strdup(path);
}

/* Removes the folder if the process that created it has ended. `now` is by the clock of the file
 * system, which may differ from that of this machine. */
static void remove_if_stale(const char *path, time_t now) {
    struct stat info;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    bool ours = fstat(folder, &info) == 0 && info.st_uid == geteuid() &&
                difftime(now, info.st_mtime) > STALE_SECONDS;
    if (ours && flock(folder, LOCK_EX | LOCK_NB) == 0) remove_tree(path);
    close(folder);
}

static void remove_stale(const char *parent, time_t now) {
    char **names;
    int count;
    if (sn_folder_list(*parent ? parent : ".", &names, &count, NULL) != SINEW_OK) return;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(names[i], PREFIX, strlen(PREFIX)) || length < strlen(ENDING) ||
            strcmp(names[i] + length - strlen(ENDING), ENDING))
            continue;
        char *path = sn_path_join(parent, names[i]);
        if (path) remove_if_stale(path, now);
        sn_free(path);
    }
    sn_names_free(names, count);
}

sinew_status sn_scratch_open(sn_scratch *scratch, const char *parent, mode_t mode,
                             const char *purpose, const char *final, sinew_error *error) {
    *scratch = (sn_scratch){0};
    const char *chosen = getenv("TMPDIR");
    if (!parent) parent = chosen && *chosen ? chosen : "/tmp";
    size_t room = strlen(parent) + 64;
    char *path = sn_alloc(room, 1);
    if (!path) return sn_no_memory(error);
    int made = -1;
    for (int i = 0; i < 100 && made != 0; i++) {
        unsigned long long number = 0;
        if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
            number = (unsigned long long)getpid() * 1000 + (unsigned long long)i;
        const char *slash = *parent && parent[strlen(parent) - 1] != '/' ? "/" : "";
        snprintf(path, room, "%s%s" PREFIX "%016llx" ENDING, parent, slash, number);
        made = mkdir(path, mode);
        if (made != 0 && errno != EEXIST) break;
    }
    if (made != 0) {
        int reason = errno;
        sn_free(path);
        return sn_fail(error, SINEW_IO, "%s: cannot make a folder in %s: %s", purpose,
                       *parent ? parent : "this folder", strerror(reason));
    }
    scratch->path = path;
    scratch->final = final;
    scratch->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scratch->lock > 0) flock(scratch->lock, LOCK_EX | LOCK_NB);
    enlist(scratch);
    struct stat info;
    if (stat(path, &info) == 0) remove_stale(parent, info.st_mtime);
    return SINEW_OK;
}

sinew_status sn_scratch_rename(sn_scratch *scratch, const char *path, sinew_error *error) {
    if (rename(scratch->path, path) != 0)
        return sn_fail(error, SINEW_IO, "%s: cannot be created: %s", path, strerror(errno));
    strike_out(scratch);
    sn_free(scratch->path);
    scratch->path = NULL;
    sn_scratch_close(scratch);
    return SINEW_OK;
}

void sn_scratch_close(sn_scratch *scratch) {
    if (scratch->lock > 0) close(scratch->lock); /* first: removing needs a descriptor */
    if (scratch->path) {
        remove_tree(scratch->path); /* first: whoever ends the process now continues with it */
        strike_out(scratch);
    }
    sn_free(scratch->path);
    *scratch = (sn_scratch){0};
}
