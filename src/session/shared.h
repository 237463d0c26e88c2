/* Objects that solvers share. */
#ifndef SN_SESSION_SHARED_H
#define SN_SESSION_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#include "sinew/cache.h"

/* Something that several solvers hold: rig, structure, clip, motion. Constant once made. */
typedef struct sn_shared {
    atomic_int holders;
    void *object;
    void (*release)(void *object);
    sinew_cache_key key; /* of what it was made from */
    uint64_t revision;   /* of the document that it was made from first */
} sn_shared;

/* Takes the object over, on failure too; NULL: no memory. */
sn_shared *sn_shared_new(void *object, void (*release)(void *object));
sn_shared *sn_shared_hold(sn_shared *shared); /* NULL is fine */
void sn_shared_drop(sn_shared *shared);       /* NULL is fine */

#endif
