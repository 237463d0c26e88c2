#include "session/shared.h"

#include "base/memory.h"

sn_shared *sn_shared_new(void *object, void (*release)(void *object)) {
    sn_shared *shared = SN_NEW0(sn_shared, 1);
    if (!shared) {
        release(object);
        return NULL;
    }
    shared->object = object, shared->release = release;
    atomic_init(&shared->holders, 1);
    return shared;
}

sn_shared *sn_shared_hold(sn_shared *shared) {
    if (shared) atomic_fetch_add(&shared->holders, 1);
    return shared;
}

void sn_shared_drop(sn_shared *shared) {
    if (!shared || atomic_fetch_sub(&shared->holders, 1) > 1) return;
    shared->release(shared->object);
    sn_free(shared);
}
