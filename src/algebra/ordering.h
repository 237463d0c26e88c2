/* Fill-reducing orderings for sparse Cholesky factorizations. */
#ifndef SN_ALGEBRA_ORDERING_H
#define SN_ALGEBRA_ORDERING_H

#include "algebra/sparse.h"

typedef enum sn_ordering_method {
    SN_ORDERING_DISSECTION, /* nested dissection: least work per factorization and solve */
    SN_ORDERING_DEGREE /* minimum degree: several times faster to compute, for a factor that is used
                          only a few times */
} sn_ordering_method;

/* permutation[columns] in factor order, and the number of entries in each column of the factor. The
 * matrix is symmetric, given by its lower half. If the enclosing call is cancelled
 * (base/monitor.h), returns SINEW_CANCELLED at once, however long the ordering takes. */
sinew_status sn_ordering_find(const sn_sparse *matrix, sn_ordering_method method, int *permutation,
                              int *counts, sinew_error *error);

/* Waits for the orderings that cancelled calls left behind. Their threads own memory until they
 * end.
 */
void sn_ordering_wait(void);

/* Stores orderings so that the next process can reuse them. Only orderings that take long to
 * compute are stored. */
typedef struct sn_ordering_keeper {
    /* Returns true if permutation and counts were filled. Otherwise they are computed, and `keep`
     * is called with the ticket unless it is NULL. */
    bool (*find)(void *user, const sn_sparse *matrix, int *permutation, int *counts, void **ticket);
    /* permutation is NULL if there is none or no caller is waiting for it. */
    void (*keep)(void *ticket, const sn_sparse *matrix, const int *permutation, const int *counts);
    void *user;
} sn_ordering_keeper;

/* Sets the keeper of this thread (NULL: none) and returns the previous one. */
const sn_ordering_keeper *sn_ordering_enter(const sn_ordering_keeper *keeper);

#endif
