/* The store: one file per entry, FOLDER/KEY.entry, and FOLDER/KEY.lock while it is being built.
 *
 *   header   magic (native integer: another byte order is another kind of machine), size of the
 *            payload, its checksum, the key with the version hashed in
 *   payload
 *
 * The lock is an advisory lock on an open file, so it is released when its holder dies. On file
 * systems without locks, two builders may do the same work, and the rename lets either of them
 * win. */
#include "sinew/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "base/threads.h"
#include "cache/checksum.h"
#include "sinew/version.h"

#define MAGIC 0x32656e7477656e53u
static const double POLL_SECONDS = 0.02;

/* What else determines the bits of an entry: the library, the compiler, its instruction set and the
 * size of its types. Machines of different kinds can share a folder; each finds its own entries. */
static const char builder[] = SINEW_VERSION " " __VERSION__
#ifdef __AVX512F__
                                            " avx512"
#endif
#ifdef __AVX2__
                                            " avx2"
#endif
#ifdef __FMA__
                                            " fma"
#endif
#ifdef __ARM_FEATURE_SVE
                                            " sve"
#endif
    ;

struct sinew_cache {
    char *folder; /* NULL: stores nothing */
    uint64_t limit;
};

typedef struct header {
    uint64_t magic;
    uint64_t size;
    uint64_t checksum;
    sinew_cache_key identity;
} header;

/* The public part comes first; the caller sees only that. */
typedef struct entry {
    sinew_cache_entry shown;
    sinew_cache *cache;
    sinew_cache_key identity;
    char *path;
    char *lock_path;
    int lock; /* open file descriptor, or -1 */
    char *block;
} entry;

static bool same_key(sinew_cache_key a, sinew_cache_key b) {
    return a.low == b.low && a.high == b.high;
}

static uint64_t checksum_of(const void *bytes, size_t size) {
    sn_checksum sum;
    sn_checksum_start(&sum);
    sn_checksum_add(&sum, bytes, size);
    return sn_checksum_value(&sum);
}

static sinew_status default_folder(char **folder, sinew_error *error) {
    const char *chosen = getenv("SINEW_CACHE");
    const char *base = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    *folder = NULL;
    if (chosen && !strcmp(chosen, "off")) return SINEW_OK;
    if (chosen && *chosen)
        *folder = sn_strdup(chosen);
    else if (base && *base == '/')
        *folder = sn_path_join(base, "sinew");
    else if (home && *home)
        *folder = sn_path_join(home, ".cache/sinew");
    else
        return sn_fail(error, SINEW_IO,
                       "there is no folder for the cache: set SINEW_CACHE or HOME");
    return *folder ? SINEW_OK : sn_no_memory(error);
}

sinew_status sinew_cache_open(const char *folder, uint64_t limit, sinew_cache **cache,
                              sinew_error *error) {
    SN_REQUIRE(cache, error);
    *cache = NULL;
    sinew_cache *made = SN_NEW0(sinew_cache, 1);
    if (!made) return sn_no_memory(error);
    made->limit = limit ? limit : SINEW_CACHE_LIMIT;
    sinew_status status = SINEW_OK;
    if (folder) {
        made->folder = sn_strdup(folder);
        if (!made->folder) status = sn_no_memory(error);
    } else {
        status = default_folder(&made->folder, error);
    }
    if (status == SINEW_OK && made->folder) status = sn_make_folder(made->folder, error);
    if (status != SINEW_OK) {
        sinew_cache_close(made);
        return status;
    }
    *cache = made;
    return SINEW_OK;
}

void sinew_cache_close(sinew_cache *cache) {
    if (!cache) return;
    sn_free(cache->folder);
    sn_free(cache);
}

/* Reads the entry if it is intact; otherwise treats it as missing. A pipe in its place is not
 * waited for. */
static void load(entry *e) {
    FILE *stream;
    struct stat info;
    sinew_error ignored;
    if (sn_file_open(e->path, &stream, &ignored) != SINEW_OK) return;
    header h;
    char *block = NULL;
    bool whole = fread(&h, sizeof h, 1, stream) == 1 && h.magic == MAGIC &&
                 same_key(h.identity, e->identity) && fstat(fileno(stream), &info) == 0 &&
                 info.st_size >= (off_t)sizeof h && (uint64_t)info.st_size - sizeof h == h.size;
    if (whole) {
        block = sn_alloc_aligned(h.size, 1);
        whole = block && fread(block, 1, h.size, stream) == h.size &&
                checksum_of(block, h.size) == h.checksum;
    }
    if (whole) {
        e->block = block;
        e->shown.bytes = block;
        e->shown.size = h.size;
        futimens(fileno(stream), NULL); /* mark as recently used */
    } else {
        sn_free_aligned(block);
    }
    fclose(stream);
}

/* Waits for the lock to build the entry. Without one (no permission, no locks on this file system,
 * timeout) the caller builds anyway. */
static sinew_status take_turn(entry *e, const sinew_monitor *monitor, sinew_error *error) {
    e->lock = open(e->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (e->lock < 0) return SINEW_OK;
    double start = sn_now();
    while (flock(e->lock, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || sn_now() - start > SINEW_CACHE_PATIENCE) {
            close(e->lock);
            e->lock = -1;
            return SINEW_OK;
        }
        if (sn_cancelled(monitor))
            return sn_fail(error, SINEW_CANCELLED, "cancelled while waiting for the cache");
        nanosleep(&(struct timespec){0, (long)(1e9 * POLL_SECONDS)}, NULL);
    }
    return SINEW_OK;
}

sinew_status sinew_cache_enter(sinew_cache *cache, sinew_cache_key key, const char *version,
                               const sinew_monitor *monitor, sinew_cache_entry **shown,
                               sinew_error *error) {
    SN_REQUIRE(version && shown, error);
    *shown = NULL;
    entry *e = SN_NEW0(entry, 1);
    if (!e) return sn_no_memory(error);
    e->cache = cache;
    e->lock = -1;
    if (!cache || !cache->folder) {
        *shown = &e->shown;
        return SINEW_OK;
    }
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, &key, sizeof key);
    sinew_hash_add_text(&hash, version);
    sinew_hash_add_text(&hash, builder);
    e->identity = sinew_hash_key(&hash);
    char name[64];
    snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 ".entry", e->identity.high,
             e->identity.low);
    e->path = sn_path_join(cache->folder, name);
    memcpy(strrchr(name, '.'), ".lock", 6);
    e->lock_path = sn_path_join(cache->folder, name);
    sinew_status status = e->path && e->lock_path ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) load(e);
    if (status == SINEW_OK && !e->shown.bytes) {
        status = take_turn(e, monitor, error);
        /* The previous holder of the lock may have built the entry. */
        if (status == SINEW_OK) load(e);
    }
    if (status != SINEW_OK) {
        sinew_cache_leave(&e->shown);
        return status;
    }
    *shown = &e->shown;
    return SINEW_OK;
}

typedef struct stored_file {
    char *path;
    uint64_t size;
    struct timespec used;
} stored_file;

static int compare_age(const void *a, const void *b) {
    const stored_file *p = a, *q = b;
    if (p->used.tv_sec != q->used.tv_sec) return p->used.tv_sec < q->used.tv_sec ? -1 : 1;
    if (p->used.tv_nsec != q->used.tv_nsec) return p->used.tv_nsec < q->used.tv_nsec ? -1 : 1;
    return strcmp(p->path, q->path);
}

/* Evicts the least recently used entries until `needed` more bytes fit. If that fails, the store
 * just stays larger for a while. */
static void make_room(const sinew_cache *cache, uint64_t needed) {
    char **names;
    int count;
    if (sn_folder_list(cache->folder, &names, &count, NULL) != SINEW_OK) return;
    stored_file *files = SN_NEW0(stored_file, count);
    int found = 0;
    uint64_t total = needed;
    for (int i = 0; files && i < count; i++) {
        struct stat info;
        if (!sn_has_ending(names[i], "entry")) continue;
        char *path = sn_path_join(cache->folder, names[i]);
        if (path && stat(path, &info) == 0) {
            files[found++] = (stored_file){path, (uint64_t)info.st_size, info.st_mtim};
            total += (uint64_t)info.st_size;
        } else {
            sn_free(path);
        }
    }
    if (found) qsort(files, (size_t)found, sizeof *files, compare_age);
    for (int i = 0; i < found; i++) {
        if (total > cache->limit && unlink(files[i].path) == 0) total -= files[i].size;
        sn_free(files[i].path);
    }
    sn_free(files);
    sn_names_free(names, count);
}

sinew_status sinew_cache_store(sinew_cache_entry *shown, const void *bytes, size_t size,
                               sinew_error *error) {
    SN_REQUIRE(shown && (bytes || size == 0), error);
    entry *e = (entry *)shown;
    /* the result of a cancelled build may be incomplete */
    if (sn_scope_cancelled()) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    if (!e->path || (uint64_t)size + sizeof(header) > e->cache->limit) return SINEW_OK;
    unlink(e->path); /* a corrupt entry must not count toward the size */
    make_room(e->cache, (uint64_t)size + sizeof(header));
    header h = {MAGIC, size, checksum_of(bytes, size), e->identity};
    sn_output output;
    SN_TRY(sn_output_open(&output, e->path, error));
    fwrite(&h, sizeof h, 1, output.stream);
    if (size) fwrite(bytes, 1, size, output.stream);
    return sn_output_commit(&output, error);
}

void sinew_cache_leave(sinew_cache_entry *shown) {
    if (!shown) return;
    entry *e = (entry *)shown;
    if (e->lock >= 0) {
        /* Removed while the lock is held: whoever waits on this file then finds the entry or builds
         * it. */
        unlink(e->lock_path);
        close(e->lock);
    }
    sn_free(e->path);
    sn_free(e->lock_path);
    if (e->block) sn_free_aligned(e->block);
    sn_free(e);
}
