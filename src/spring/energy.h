/* The energies of the equilibrium, each in a separate file with its derivation.
 *
 *   energy_spring.c   springs between vertices
 *   energy_volume.c   signed volumes of tets
 *   energy_altitude.c altitudes of the surface's triangles
 *   energy_pull.c     weak pull to the blend, soft pulls
 *   energy_contact.c  contacts that push and rub
 *   energy.c          their sum: value and gradient, linearization, Hessian products, assembly
 *
 * Energies and gradients are double. Inside a Newton step the Hessian is applied in single from a
 * linearization; the outer iteration corrects what that loses. `negative` in [0, 1] says how much
 * of the directions of negative curvature is kept: 1 is the Hessian itself, 0 its projection, which
 * is never indefinite. */
#ifndef SN_SPRING_ENERGY_H
#define SN_SPRING_ENERGY_H

#include "algebra/sparse.h"
#include "spring/system.h"

/* Holds a vertex softly at a position. */
typedef struct sn_soft_pull {
    int vertex;       /* solver order, free */
    double stiffness; /* force per length */
    double target[3];
} sn_soft_pull;

/* One contact: the point p = sum weight x asks for normal . p >= offset. */
typedef struct sn_contact_term {
    int count;     /* 1 to 4 */
    int vertex[4]; /* solver order, free */
    double weight[4];
    double normal[3]; /* unit */
    double offset;
    double stiffness; /* rho > 0, force per length */
    double force;     /* lambda >= 0 found so far */
    double limit;     /* most that friction can hold; 0: none */
    double place[3];  /* where it touched first */
    double drag[3];   /* tangential force found so far, against the slip */
} sn_contact_term;

/* What one frame asks for, in solver order. */
typedef struct sn_load {
    double *rest;     /* per spring of the system */
    double *volume;   /* per tet of the system */
    double *altitude; /* SN_PAD per triangle of the system: the vector it should have */
    double *heading;  /* SN_PAD per spring: its vector in the blend, as long as r; then beta */
    double pull;      /* eps k of the pull to the blend; 0: off */
    double *blend;    /* SN_PAD per vertex: where that pull goes */
    bool forced;      /* `force` counts */
    double *force;    /* SN_PAD per free vertex */
    int soft_count;
    const sn_soft_pull *soft;
    int contact_count;
    const sn_contact_term *contacts;
} sn_load;

/* Second derivative of one contact's energy by its point: xx xy xz yy yz zz. */
typedef struct sn_contact_curvature {
    int count, vertex[4];
    float weight[4], h[6];
    float normal[3];
    bool holds;    /* sticks: all directions are stiff, not the normal alone */
    float inverse; /* 1 / sum of weight^2 */
    float give;    /* displacement per force of the stiff directions, over all vertices */
} sn_contact_curvature;

/* The Hessian at one shape, single precision. */
typedef struct sn_linearization {
    float *spring;    /* 4 per spring: sqrt(k - c) n, c   with H = c I + (k - c) n n^T */
    float *tet;       /* 12 per tet: the three edges; lane 3: weight, curvature, 0 */
    float *stiffness; /* per free vertex: pulls */
    int contact_count;
    size_t contact_capacity;
    sn_contact_curvature *contacts; /* those that push or rub */
} sn_linearization;

/* Windows and partial sums. */
typedef struct sn_scratch {
    double *window;  /* SN_PAD per window vertex; single products use half of it */
    double *partial; /* per block of vertices, and per chunk */
} sn_scratch;

sinew_status sn_linearization_create(const sn_system *system, sn_linearization *lin,
                                     sinew_error *error);
void sn_linearization_free(sn_linearization *lin);
/* Room for so many contacts; false: no memory. */
bool sn_linearization_reserve(sn_linearization *lin, int contact_count);
sinew_status sn_scratch_create(const sn_system *system, sn_scratch *scratch, sinew_error *error);
void sn_scratch_free(sn_scratch *scratch);
sinew_status sn_load_create(const sn_system *system, sn_load *load, sinew_error *error);
void sn_load_free(sn_load *load);

/* Energy at x (SN_PAD per vertex), and its gradient on the free vertices unless that is NULL. */
double sn_energy(const sn_system *system, const sn_load *load, const double *x, double *gradient,
                 sn_scratch *scratch);

void sn_linearize(const sn_system *system, const sn_load *load, const double *x, double negative,
                  sn_linearization *lin);
/* y = H p, both SN_PAD per free vertex, lane 3 zero; returns p . y. */
double sn_hessian_multiply(const sn_system *system, const sn_linearization *lin, const float *p,
                           float *y, sn_scratch *scratch);
/* Diagonal 3x3 blocks: xx xy xz yy yz zz per free vertex. */
void sn_hessian_diagonal(const sn_system *system, const sn_linearization *lin, float *blocks,
                         sn_scratch *scratch);

/* The pattern of the Hessian over free vertices (3 rows each, lower triangle), and its values. */
sinew_status sn_hessian_pattern(const sn_system *system, sn_sparse **matrix, sinew_error *error);
void sn_hessian_assemble(const sn_system *system, const sn_load *load, const double *x,
                         double negative, sn_sparse *matrix);
/* Where block (row vertex b, column vertex a), a <= b, has its entry (r, c). */
static inline double *sn_hessian_entry(const sn_system *system, sn_sparse *matrix, int a, int slot,
                                       int r, int c) {
    (void)system;
    /* column 3a + c: diagonal rows c..2, then three rows per neighbor */
    int at = matrix->start[3 * a + c] + (slot < 0 ? r - c : 3 - c + 3 * slot + r);
    return matrix->value + at;
}

/* Index of neighbor b > a in the row of a. Corners of tets and triangles are always
 * neighbors. */
int sn_hessian_slot(const sn_system *system, int a, int b);

/* Parts, called per chunk by energy.c. Windows begin at the chunk's first vertex; those of diagonal
 * blocks have SN_BLOCK_PAD floats a vertex. */
enum { SN_BLOCK_PAD = 8 };
double sn_springs_energy(const sn_system *system, const sn_load *load, int chunk, const double *x,
                         double *window);
double sn_springs_value(const sn_system *system, const sn_load *load, int chunk, const double *x);
void sn_springs_linearize(const sn_system *system, const sn_load *load, int chunk, const double *x,
                          double negative, float *table);
void sn_springs_multiply(const sn_system *system, const float *table, int chunk, const float *p,
                         float *window);
void sn_springs_diagonal(const sn_system *system, const float *table, int chunk, float *window);
void sn_springs_assemble(const sn_system *system, const sn_load *load, const double *x,
                         double negative, sn_sparse *matrix);

double sn_volumes_energy(const sn_system *system, const double *volume, int chunk, const double *x,
                         double *window);
double sn_volumes_value(const sn_system *system, const double *volume, int chunk, const double *x);
void sn_volumes_linearize(const sn_system *system, const double *volume, int chunk, const double *x,
                          double negative, float *table);
void sn_volumes_multiply(const sn_system *system, const float *table, int chunk, const float *p,
                         float *window);
void sn_volumes_diagonal(const sn_system *system, const float *table, int chunk, float *window);
void sn_volumes_assemble(const sn_system *system, const double *volume, const double *x,
                         double negative, sn_sparse *matrix);

double sn_altitudes_energy(const sn_system *system, const double *altitude, int chunk,
                           const double *x, double *window);
double sn_altitudes_value(const sn_system *system, const double *altitude, int chunk,
                          const double *x);
void sn_altitudes_multiply(const sn_system *system, int chunk, const float *p, float *window);
void sn_altitudes_diagonal(const sn_system *system, int chunk, float *window);
void sn_altitudes_assemble(const sn_system *system, sn_sparse *matrix);

/* Forces that do not change with the shape, on vertices [first, last); gradients may be NULL. */
double sn_force_energy(const sn_load *load, int first, int last, const double *x, double *gradient);
/* Pull to the blend on vertices [first, last); gradients may be NULL. */
double sn_pull_energy(const sn_system *system, const sn_load *load, int first, int last,
                      const double *x, double *gradient);
/* All soft pulls. */
double sn_soft_energy(const sn_load *load, const double *x, double *gradient);
/* Both, as a stiffness per free vertex. */
void sn_pull_linearize(const sn_system *system, const sn_load *load, float *stiffness);

double sn_contacts_energy(const sn_load *load, const double *x, double *gradient);
/* Contacts that neither push nor rub at x are left out. */
void sn_contacts_linearize(const sn_load *load, const double *x, sn_linearization *lin);
/* Adds to y; returns p . (what was added). */
double sn_contacts_multiply(const sn_linearization *lin, const float *p, float *y);
void sn_contacts_diagonal(const sn_linearization *lin, float *blocks);
/* Takes the contacts' stiff directions out of v, one contact after the other; backwards: in the
 * reverse order, which is the transpose. */
void sn_contacts_remove(const sn_linearization *lin, bool backwards, float *v);
/* z += what the contacts alone yield to the force r. */
void sn_contacts_give(const sn_linearization *lin, const float *r, float *z);
/* Adds blocks on the diagonal that bound the contacts' curvature from above: exact for single
 * vertices. The pattern has no room for pairs of vertices that no spring joins. */
void sn_contacts_assemble(const sn_system *system, const sn_load *load, const double *x,
                          sn_sparse *matrix);
/* The forces that the contact has at x, as the next ones to start from. */
void sn_contact_update(sn_contact_term *term, const double *x);
double sn_contact_gap(const sn_contact_term *term, const double *x);
/* Length and direction of the way along the surface from the place. */
double sn_contact_slip(const sn_contact_term *term, const double *x, double slip[3]);

#endif
