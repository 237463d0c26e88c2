/* Quadratic pulls.
 *
 *   to the blend   e = 1/2 eps k |x_i - b_i|^2        on every free vertex
 *   soft pull      e = 1/2 s |x_i - t|^2              on single vertices
 *   force          e = -f . (x_i - b_i)               on every free vertex
 *
 * The first chooses between equilibria that differ little, and carries the rigid motion of a body
 * that nothing else holds: its stationary rigid motion is the best rigid fit to the blend, because
 * sum (x - b) = 0 and sum x cross (x - b) = 0 there. Hessians are multiples of I. */
#include "spring/energy.h"

double sn_pull_energy(const sn_system *system, const sn_load *load, int first, int last,
                      const double *x, double *gradient) {
    (void)system;
    double energy = 0;
    for (int v = first; v < last; v++) {
        sn_d4 off = *(const sn_d4 *)(x + SN_PAD * (size_t)v) -
                    *(const sn_d4 *)(load->blend + SN_PAD * (size_t)v);
        energy += sn_d4_dot3(off, off);
        if (gradient) *(sn_d4 *)(gradient + SN_PAD * (size_t)v) += load->pull * off;
    }
    return 0.5 * load->pull * energy;
}

/* Measured from the blend, so that a body far from the origin loses no digits. */
double sn_force_energy(const sn_load *load, int first, int last, const double *x,
                       double *gradient) {
    double energy = 0;
    for (int v = first; v < last; v++) {
        sn_d4 force = *(const sn_d4 *)(load->force + SN_PAD * (size_t)v);
        energy -= sn_d4_dot3(force, *(const sn_d4 *)(x + SN_PAD * (size_t)v) -
                                        *(const sn_d4 *)(load->blend + SN_PAD * (size_t)v));
        if (gradient) *(sn_d4 *)(gradient + SN_PAD * (size_t)v) -= force;
    }
    return energy;
}

double sn_soft_energy(const sn_load *load, const double *x, double *gradient) {
    double energy = 0;
    for (int k = 0; k < load->soft_count; k++) {
        const sn_soft_pull *pull = &load->soft[k];
        const double *at = x + SN_PAD * (size_t)pull->vertex;
        for (int c = 0; c < 3; c++) {
            double off = at[c] - pull->target[c];
            energy += 0.5 * pull->stiffness * off * off;
            if (gradient)
                gradient[SN_PAD * (size_t)pull->vertex + (size_t)c] += pull->stiffness * off;
        }
    }
    return energy;
}

void sn_pull_linearize(const sn_system *system, const sn_load *load, float *stiffness) {
    for (int v = 0; v < system->free_count; v++) stiffness[v] = (float)load->pull;
    for (int k = 0; k < load->soft_count; k++)
        stiffness[load->soft[k].vertex] += (float)load->soft[k].stiffness;
}
