/* Inside the contact of a sheet: its pairs and work arrays, which pressing (contact.c) and sticking
 * (contact_stick.c) share. */
#ifndef SN_FORCE_CONTACT_STATE_H
#define SN_FORCE_CONTACT_STATE_H

#include <stdatomic.h>

#include "base/vec3.h"
#include "force/contact.h"

typedef struct sn_touch {
    sn_contact_pair pair;
    double weight[4];
    sn_vec3 normal;
    double gap;            /* to keep: smaller for pairs that are nearer at rest */
    double force, needed;  /* l, and gap - c . x* */
    bool sticks;           /* it has touched, and pulls while it parts */
    bool pulls;            /* it does so in this frame */
    double parted;         /* by how much it may part then */
    double unstuck;        /* its force when nothing sticks */
    double held_weight[4]; /* as it touched last */
    sn_vec3 held_normal;
} sn_touch;

/* The pairs once more, each figure in a separate row, filled up with zeros to whole blocks. */
typedef struct sn_touch_rows {
    size_t width;  /* pairs, rounded up to whole blocks */
    int *slot;     /* 4 rows: places of the vertices in the block */
    float *weight; /* 4 rows; 0 at vertices that contact cannot move */
    float *normal; /* 3 rows */
    float *needed, *force, *before, *direction;
    float *low;    /* least force: 0, or none for pairs that stick */
    bool *idle;    /* well apart without a force */
    float *matrix; /* W, BLOCK columns at a time, each of their rows together */
    size_t capacity, matrix_capacity;
} sn_touch_rows;

struct sn_force_contact {
    const sn_contact_surface *surface;
    const sn_skin *skin;
    const sn_cholesky *factor;
    sn_inverse_block *block, *own; /* own: NULL when the block is a region's */
    sn_cholesky_work *solver;
    sn_contact_work *work;
    float *right;
    double *goal, *at, *next; /* x*, the free shape reached so far, and the next one */
    float *moved;             /* region: 3 rows of displacements per place in the block */
    float *push;              /* the same for forces */
    int *pushed;              /* region: places with a force */
    float *band;              /* per thread: BAND numbers per place in the block */
    size_t band_capacity;
    bool *coupled; /* per LANES places: some of them sn_touch */
    size_t coupled_capacity;
    int *asked; /* vertices to add to the block */
    size_t asked_capacity;

    sn_touch *touches;
    size_t touch_count, touch_capacity;
    size_t most;        /* pairs beyond which a solve gives up; 0: it never does */
    const double *path; /* NULL, or along which pairs may slide by at most `most_slip` */
    double most_slip;
    double times[2]; /* of the next solve, on the path */
    sn_touch_rows rows;
    int *stack;  /* vertex_count */
    bool *nears; /* of the pairs found: new and too near */
    size_t nears_capacity;
    int *bucket; /* hash of pairs: index of a touch + 1, or 0 */
    size_t bucket_count;
    double stick;          /* opening up to which pairs that touched stay together; 0: none do */
    bool pulls;            /* pairs that stick are solved for as such */
    double *unstuck;       /* 3 per vertex: the shape in which nothing sticks */
    atomic_bool cancelled; /* while pairs are searched or the matrix is filled */
};

/* c . x of a pair. */
static inline double sn_touch_along(const sn_touch *t, const double *x) {
    sn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < 4; i++) sum = sn_add_scaled(sum, t->weight[i], sn_at(x, t->pair.v[i]));
    return sn_dot(sum, t->normal);
}

/* From the free shape x0 to the free shape next to contact->goal. x: the goal. */
sinew_status sn_force_contact_find(sn_force_contact *contact, const double *x0, double *x,
                                   sn_force_contact_info *info, const sinew_monitor *monitor,
                                   sinew_error *error);

/* x, the free shape in which nothing sticks, moves to the one in which pairs that touched stay
 * together, and info follows. */
sinew_status sn_force_contact_stick(sn_force_contact *contact, const double *x0, double *x,
                                    sn_force_contact_info *info, const sinew_monitor *monitor,
                                    sinew_error *error);

#endif
