/* Finding the shape where forces balance.
 *
 * Newton's method on the energy, in double, with
 *   direction    two-level preconditioned conjugate gradients in single precision (default), or a
 *                sparse factorization per step (reference solvers)
 *   curvature    the true Hessian first, for quadratic convergence; where it shows negative
 *                curvature, its projection, which is never indefinite
 *   length       backtracking on the energy: it never rises
 *   end          largest force over sum k r around its vertex
 * Hard pulls keep their vertices by projection; contacts are energies of the load. */
#ifndef SN_SPRING_EQUILIBRIUM_H
#define SN_SPRING_EQUILIBRIUM_H

#include "algebra/pcg.h"
#include "base/monitor.h"
#include "spring/constraints.h"
#include "spring/precondition.h"

typedef struct sn_solver {
    const sn_system *system;
    const int *component; /* per network vertex, to take out rigid motions; may be NULL */
    int component_count;
    bool floating; /* nothing holds the body: steps have their rigid part taken out ... */
    bool guided;   /* ... but for rotations, which directions hold */

    sn_load load;
    sn_constraints constraints;
    sn_linearization lin;
    sn_scratch scratch;
    sn_preconditioning *preconditioning;
    sn_pcg_work_f32 *pcg;
    double *scale; /* per free vertex: sum k r */

    double *gradient, *trial, *trial_gradient, *step, *forces; /* SN_PAD per vertex */
    float *rhs, *direction, *without_contacts;

    /* direct solvers, made when first used */
    sn_sparse *hessian;
    sn_cholesky *factor;
    sn_cholesky_work *factor_work;
    double *factor_rhs;
    size_t bytes;
} sn_solver;

sinew_status sn_solver_create(const sn_system *system, const sn_preconditioner *preconditioner,
                              sn_solver **solver, sinew_error *error);
void sn_solver_destroy(sn_solver *solver);
/* The rows' share of the force scale, after load.rest is set. */
void sn_solver_set_scale(sn_solver *solver);

typedef struct sn_equilibrium_options {
    sinew_spring_solver solver;
    double tolerance;
    int max_iterations;
    double work_limit; /* sn_work_seconds() at which to stop */
    const sinew_monitor *monitor;
} sn_equilibrium_options;

typedef struct sn_equilibrium_info {
    int iterations, inner_iterations, factorizations;
    double residual, energy;
    bool out_of_time; /* stopped by the limit */
} sn_equilibrium_info;

/* x: SN_PAD per vertex, start in and result out; the solver's gradient is that of the result.
 * Adds to the counts of info. SINEW_OK, SINEW_NOT_CONVERGED, SINEW_CANCELLED or a failure. */
sinew_status sn_equilibrium(sn_solver *solver, const sn_equilibrium_options *options, double *x,
                            sn_equilibrium_info *info, sinew_error *error);

#endif
