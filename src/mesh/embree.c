#include "mesh/embree.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "algebra/sonames.h"
#include "base/memory.h"
#include "base/scope.h"

static sn_embree_functions functions;
static char missing[256]; /* "": nothing */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define NAME(name)   #name,
#define OFFSET(name) offsetof(sn_embree_functions, name),
    static const char *const names[] = {SN_EMBREE_FUNCTIONS(NAME)};
    static const size_t offsets[] = {SN_EMBREE_FUNCTIONS(OFFSET)};
    void *library = dlopen(SN_EMBREE3_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(missing, sizeof missing, "%s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = dlsym(library, names[i]);
        *(void **)((char *)&functions + offsets[i]) = found;
        if (!found && !*missing)
            snprintf(missing, sizeof missing, "%s: it has no function %s", SN_EMBREE3_SONAME,
                     names[i]);
    }
}

const sn_embree_functions *sn_embree(void) {
    return &functions;
}

/* Embree ends the process when memory runs out in the middle of a build. It asks before it takes a
 * block, and is told no when the block does not fit the limit or cannot be had. What it takes
 * without asking, for the tasks of its scheduler and their threads, must fit into the reserve. */
enum { RESERVE = 24 << 20 };

static bool can_be_had(size_t bytes) {
    void *probe = malloc(bytes + RESERVE);
    free(probe);
    return probe != NULL;
}

static bool watch_memory(void *user, ssize_t bytes, bool post) {
    (void)user, (void)post;
    if (bytes < 0) {
        sn_memory_give_back((size_t)-bytes);
        return true;
    }
    if (!sn_memory_take((size_t)bytes)) return false;
    bool fits = post || can_be_had((size_t)bytes);
    if (!fits) sn_memory_give_back((size_t)bytes);
    return fits;
}

sinew_status sn_embree_room(sinew_error *error) {
    return can_be_had(0) ? SINEW_OK : sn_no_memory(error);
}

sinew_status sn_embree_device(RTCDevice *device, sinew_error *error) {
    *device = NULL;
    SN_TRY(sn_embree_room(error));
    pthread_once(&once, load);
    if (*missing) return sn_fail(error, SINEW_UNAVAILABLE, "Embree cannot be loaded: %s", missing);
    *device = functions.rtcNewDevice("threads=1,set_affinity=0");
    if (*device) {
        functions.rtcSetDeviceMemoryMonitorFunction(*device, watch_memory, NULL);
        return SINEW_OK;
    }
    enum RTCError code = functions.rtcGetDeviceError(NULL);
    if (code == RTC_ERROR_OUT_OF_MEMORY) return sn_no_memory(error);
    return sn_fail(error, SINEW_UNAVAILABLE, "Embree cannot start (error %d)", (int)code);
}

sinew_status sn_embree_status(RTCDevice device, sinew_error *error) {
    enum RTCError code = functions.rtcGetDeviceError(device);
    if (code == RTC_ERROR_NONE) return SINEW_OK;
    if (code == RTC_ERROR_OUT_OF_MEMORY) return sn_no_memory(error);
    if (code == RTC_ERROR_CANCELLED) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    return sn_fail(error, SINEW_UNAVAILABLE, "Embree failed (error %d)", (int)code);
}

static bool go_on(void *user, double done) {
    (void)user, (void)done;
    return !sn_scope_poll();
}

void sn_embree_commit(RTCScene scene) {
    functions.rtcSetSceneProgressMonitorFunction(scene, go_on, NULL);
    functions.rtcCommitScene(scene);
}
