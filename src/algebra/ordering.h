/* Elimination orders for sparse Cholesky factorizations. */
#ifndef SN_ALGEBRA_ORDERING_H
#define SN_ALGEBRA_ORDERING_H

#include "algebra/sparse.h"

typedef enum sn_ordering_method {
    SN_ORDERING_DISSECTION, /* least work per factorization and solve */
    SN_ORDERING_DEGREE      /* found several times faster: for a factor that is used a few times */
} sn_ordering_method;

/* permutation[columns] in factor order, and the number of entries in each column of the factor. The
 * matrix is symmetric, its lower half given. SINEW_CANCELLED at once when the call that this serves
 * is cancelled (base/monitor.h), however long the ordering takes. */
sinew_status sn_ordering_find(const sn_sparse *matrix, sn_ordering_method method, int *permutation,
                              int *counts, sinew_error *error);

/* Where orders are kept, so that the next process finds them. Only those that take long are. */
typedef struct sn_ordering_keeper {
    /* True: permutation and counts are filled. False: they are computed, and `keep` is called with
     * the ticket, unless that is NULL. */
    bool (*find)(void *user, const sn_sparse *matrix, int *permutation, int *counts, void **ticket);
    /* permutation NULL: there is none, or no caller waits for it any longer. */
    void (*keep)(void *ticket, const sn_sparse *matrix, const int *permutation, const int *counts);
    void *user;
} sn_ordering_keeper;

/* For this thread; NULL: none. Returns the one before. */
const sn_ordering_keeper *sn_ordering_enter(const sn_ordering_keeper *keeper);

#endif
