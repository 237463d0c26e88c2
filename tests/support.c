#include "support.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

const char *test_data(const char *relative) {
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    const char *root = getenv("SINEW_DATA");
    const char *source = getenv("SINEW_SOURCE");
    if (root && *root)
        snprintf(path, sizeof paths[0], "%s/%s", root, relative);
    else
        snprintf(path, sizeof paths[0], "%s/../shared/data/%s", source ? source : ".", relative);
    return access(path, R_OK) == 0 ? path : NULL;
}

static char folder[64];

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static void remove_folder(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void) {
    if (!*folder) {
        strcpy(folder, "/tmp/sinew-test-XXXXXX");
        if (!mkdtemp(folder)) abort();
        atexit(remove_folder);
    }
    return folder;
}
