/* Inside sessions and solvers. */
#ifndef SN_SESSION_SESSION_H
#define SN_SESSION_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "rig/floor.h"
#include "session/locks.h"
#include "session/model.h"
#include "session/shared.h"
#include "sinew/session.h"

enum { SN_KEYS = 32 };

struct sinew_session {
    pthread_mutex_t lock;     /* of the document and its revisions */
    pthread_mutex_t building; /* one thread loads and builds at a time; `newest_*` below */
    sinew_scene *scene;
    atomic_uint_fast64_t revision;
    uint64_t key_revision[SN_KEYS]; /* when each key of the document changed last */
    atomic_uint cancels;            /* counts sinew_session_cancel */
    const sinew_loader *loader;
    sinew_cache *cache;
    sn_shared *given_rig; /* the host's; NULL: the scene's */
    /* built last, for other solvers to share */
    sn_shared *rig, *clip, *structure, *derived, *floor;
    sinew_solver *own;
};

struct sinew_solver {
    sinew_session *session;
    uint64_t revision; /* 0: nothing was read yet */
    sn_shared *rig, *clip, *structure;
    sn_shared *derived; /* that the model was created or updated with; NULL: it has none */
    sn_shared *floor;   /* that frames are kept above; NULL: none */
    sn_floor_work *floor_work;
    const sn_model_kind *kind;
    void *model;
    sn_session_locks locks;
    int next;             /* frame of the clip that the state is ready for; -1: it is live */
    bool torn;            /* an update failed half-way: the next one reads everything */
    unsigned warned;      /* bits of the inputs that were reported as unused */
    double build_seconds; /* since the last solve */

    /* scratch */
    double *positions, *weights, *normals;
    sinew_linear *linear;           /* created on first use */
    sinew_slider_space *space;      /* likewise */
    sinew_manipulator *manipulator; /* likewise */
    sn_pack before;                 /* the state before a call of several frames */
};

const sn_clip *sn_solver_get_clip(const sinew_solver *solver);
/* What the model's own outputs are made of. */
const void *sn_solver_structure(const sinew_solver *solver);
/* What was built, a new object; NULL: no memory. */
json_t *sn_solver_report(const sinew_solver *solver);
void *sn_solver_model(sinew_solver *solver);

/* A scene that shares the document. */
sinew_scene sn_session_view(sinew_session *session, uint64_t *revision,
                            uint64_t key_revision[SN_KEYS]);
/* Under the lock, too: patches decide by the references whether they change a value in place. */
void sn_session_release_view(sinew_session *session, sinew_scene *view);

/* The state as it is, into a pack that is emptied first, and back. */
void sn_solver_pack(const sinew_solver *solver, sn_pack *pack);
sinew_status sn_solver_unpack(sinew_solver *solver, const void *bytes, size_t size,
                              sinew_error *error);

/* Frames of the clip that are solved at once; 1: one by one. */
int sn_solver_batch_size(const sinew_solver *solver);
/* Frames first .. first + count - 1; results have positions and may have figures, and get a status
 * each. SINEW_UNAVAILABLE: they must be solved one by one. Of a frame that fails, `error` has the
 * first message. */
sinew_status sn_solver_solve_batch(sinew_solver *solver, int first, int count,
                                   sinew_result *results, const sinew_monitor *monitor,
                                   sinew_error *error);

/* A monitor around the caller's that also ends when the session is cancelled or newer. */
typedef struct sn_watch {
    sinew_monitor monitor;
    const sinew_monitor *outer;
    sinew_session *session;
    unsigned cancels;
    uint64_t revision; /* 0: any */
} sn_watch;
const sinew_monitor *sn_watch_start(sn_watch *watch, sinew_session *session,
                                    const sinew_monitor *outer, uint64_t revision);

#endif
