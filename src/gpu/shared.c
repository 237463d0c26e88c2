#include "gpu/shared.h"

#include <pthread.h>

#include "base/memory.h"

typedef struct entry {
    const void *structure;
    void *object;
    int users;
    struct entry *next;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *entries;

typedef sinew_status make_object(sn_gpu *gpu, const void *structure, void **object,
                                 sinew_error *error);

static sinew_status share(sn_gpu *gpu, const void *structure, make_object *make, void **object,
                          sinew_error *error) {
    sinew_status status = SINEW_OK;
    *object = NULL;
    pthread_mutex_lock(&lock);
    entry *e = entries;
    while (e && e->structure != structure) e = e->next;
    if (!e) {
        e = SN_NEW0(entry, 1);
        status = e ? make(gpu, structure, &e->object, error) : sn_no_memory(error);
        if (status == SINEW_OK)
            e->structure = structure, e->next = entries, entries = e;
        else
            sn_free(e), e = NULL;
    }
    if (e) e->users++, *object = e->object;
    pthread_mutex_unlock(&lock);
    return status;
}

/* The object when this was its last user, to be destroyed; otherwise NULL. */
static void *drop(void *object) {
    void *last = NULL;
    pthread_mutex_lock(&lock);
    for (entry **at = &entries; *at; at = &(*at)->next) {
        entry *e = *at;
        if (e->object != object) continue;
        if (--e->users == 0) {
            last = object;
            *at = e->next;
            sn_free(e);
        }
        break;
    }
    pthread_mutex_unlock(&lock);
    return last;
}

static sinew_status make_spring(sn_gpu *gpu, const void *structure, void **object,
                                sinew_error *error) {
    return sn_gpu_spring_create(gpu, structure, (sn_gpu_spring **)object, error);
}

sinew_status sn_gpu_spring_share(sn_gpu *gpu, const sinew_spring *spring, sn_gpu_spring **shared,
                                 sinew_error *error) {
    return share(gpu, spring, make_spring, (void **)shared, error);
}

void sn_gpu_spring_drop(sn_gpu_spring *shared) {
    if (shared) sn_gpu_spring_destroy(drop(shared));
}

static sinew_status make_rotation(sn_gpu *gpu, const void *structure, void **object,
                                  sinew_error *error) {
    return sn_gpu_rotation_create(gpu, structure, (sn_gpu_rotation **)object, error);
}

sinew_status sn_gpu_rotation_share(sn_gpu *gpu, const sinew_rotation *rotation,
                                   sn_gpu_rotation **shared, sinew_error *error) {
    return share(gpu, rotation, make_rotation, (void **)shared, error);
}

void sn_gpu_rotation_drop(sn_gpu_rotation *shared) {
    if (shared) sn_gpu_rotation_destroy(drop(shared));
}

static sinew_status make_modal(sn_gpu *gpu, const void *structure, void **object,
                               sinew_error *error) {
    return sn_gpu_modal_create(gpu, structure, (sn_gpu_modal **)object, error);
}

sinew_status sn_gpu_modal_share(sn_gpu *gpu, const sinew_modal *modal, sn_gpu_modal **shared,
                                sinew_error *error) {
    return share(gpu, modal, make_modal, (void **)shared, error);
}

void sn_gpu_modal_drop(sn_gpu_modal *shared) {
    if (shared) sn_gpu_modal_destroy(drop(shared));
}
