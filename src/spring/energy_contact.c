/* Contacts as energies of an augmented Lagrangian.
 *
 * A contact watches one point p = sum_a w_a x_a (of a vertex, an edge, a triangle; or the
 * difference of two such points) and asks for g(x) = n . p - offset >= 0. With the force lambda
 * found so far,
 *
 *   e = (max(0, lambda - rho g)^2 - lambda^2) / (2 rho)         force along n: max(0, lambda - rho
 * g)
 *
 * is convex and has a continuous gradient. At its minimum the force of the contact is the better
 * lambda; repeated, g -> 0 where it pushes, and it never pulls. Contacts may depend on each other
 * (three on one triangle, many around a vertex): the sum of their forces is what counts.
 *
 * Friction (Coulomb) with a fixed limit r = mu lambda, at the place s where the point touched
 * first:
 *
 *   y = drag + rho u,  u = (I - n n^T) (p - s)
 *   e = (|y|^2 - |drag|^2) / (2 rho)              |y| <= r: sticks
 *       (2 r |y| - r^2 - |drag|^2) / (2 rho)      else: slides against the constant force r
 *
 * Based on: Alart and Curnier 1991. We differ in: the limit is that of the round before, so that
 * the Hessian stays symmetric. */
#include "spring/energy.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Entries of a symmetric 3x3 block. */
static const int ROW[6] = {0, 0, 0, 1, 1, 2}, COLUMN[6] = {0, 1, 2, 1, 2, 2};

static void point_of(const sn_contact_term *term, const double *x, double p[3]) {
    p[0] = p[1] = p[2] = 0;
    for (int a = 0; a < term->count; a++)
        for (int c = 0; c < 3; c++)
            p[c] += term->weight[a] * x[SN_PAD * (size_t)term->vertex[a] + (size_t)c];
}

double sn_contact_gap(const sn_contact_term *term, const double *x) {
    double p[3];
    point_of(term, x, p);
    return term->normal[0] * p[0] + term->normal[1] * p[1] + term->normal[2] * p[2] - term->offset;
}

double sn_contact_slip(const sn_contact_term *term, const double *x, double slip[3]) {
    double p[3], along = 0, squared = 0;
    point_of(term, x, p);
    for (int c = 0; c < 3; c++) slip[c] = p[c] - term->place[c], along += slip[c] * term->normal[c];
    for (int c = 0; c < 3; c++) slip[c] -= along * term->normal[c], squared += slip[c] * slip[c];
    return sqrt(squared);
}

/* y and its length. */
static double pulled(const sn_contact_term *term, const double *x, double y[3]) {
    sn_contact_slip(term, x, y);
    double squared = 0;
    for (int c = 0; c < 3; c++) {
        y[c] = term->drag[c] + term->stiffness * y[c];
        squared += y[c] * y[c];
    }
    return sqrt(squared);
}

void sn_contact_update(sn_contact_term *term, const double *x) {
    term->force = fmax(0, term->force - term->stiffness * sn_contact_gap(term, x));
    if (!(term->limit > 0)) {
        memset(term->drag, 0, sizeof term->drag);
        return;
    }
    double y[3], length = pulled(term, x, y);
    double share = length > term->limit ? term->limit / length : 1;
    for (int c = 0; c < 3; c++) term->drag[c] = share * y[c];
}

double sn_contacts_energy(const sn_load *load, const double *x, double *gradient) {
    double energy = 0;
    for (int k = 0; k < load->contact_count; k++) {
        const sn_contact_term *term = &load->contacts[k];
        double pushes = fmax(0, term->force - term->stiffness * sn_contact_gap(term, x));
        double g[3], twice = pushes * pushes - term->force * term->force;
        for (int c = 0; c < 3; c++) g[c] = -pushes * term->normal[c];
        if (term->limit > 0) {
            double y[3], r = term->limit, length = pulled(term, x, y);
            bool slides = length > r;
            twice += slides ? 2 * r * length - r * r : length * length;
            for (int c = 0; c < 3; c++) {
                twice -= term->drag[c] * term->drag[c];
                g[c] += slides ? r / length * y[c] : y[c];
            }
        }
        energy += twice / (2 * term->stiffness);
        for (int a = 0; gradient && a < term->count; a++)
            for (int c = 0; c < 3; c++)
                gradient[SN_PAD * (size_t)term->vertex[a] + (size_t)c] += term->weight[a] * g[c];
    }
    return energy;
}

/* h: xx xy xz yy yz zz with respect to p. */
static void curvature_of(const sn_contact_term *term, const double *x, double h[6]) {
    const double *n = term->normal;
    bool pushes = term->force - term->stiffness * sn_contact_gap(term, x) > 0;
    double y[3] = {0}, length = 0, across = 0, along = 0;
    if (term->limit > 0) {
        length = pulled(term, x, y);
        across = term->stiffness * fmin(1, length > 0 ? term->limit / length : 1);
        along = length > term->limit ? across / (length * length) : 0;
    }
    for (int e = 0; e < 6; e++) {
        int r = ROW[e], c = COLUMN[e];
        h[e] = (pushes ? term->stiffness : 0) * n[r] * n[c] + across * ((r == c) - n[r] * n[c]) -
               along * y[r] * y[c];
    }
}

bool sn_linearization_reserve(sn_linearization *lin, int contact_count) {
    return SN_RESERVE(lin->contacts, lin->contact_capacity, contact_count);
}

void sn_contacts_linearize(const sn_load *load, const double *x, sn_linearization *lin) {
    lin->contact_count = 0;
    for (int k = 0; k < load->contact_count; k++) {
        const sn_contact_term *term = &load->contacts[k];
        double h[6];
        curvature_of(term, x, h);
        if (!(h[0] + h[3] + h[5] > 0)) continue;
        sn_contact_curvature *made = &lin->contacts[lin->contact_count++];
        made->count = term->count;
        memcpy(made->vertex, term->vertex, sizeof made->vertex);
        for (int a = 0; a < 4; a++) made->weight[a] = a < term->count ? (float)term->weight[a] : 0;
        for (int e = 0; e < 6; e++) made->h[e] = (float)h[e];
        double squared = 0;
        for (int a = 0; a < term->count; a++) squared += term->weight[a] * term->weight[a];
        for (int d = 0; d < 3; d++) made->normal[d] = (float)term->normal[d];
        made->holds = h[0] + h[3] + h[5] > 2 * term->stiffness;
        made->inverse = (float)(1 / squared);
        made->give = (float)(1 / (squared * squared * term->stiffness));
    }
}

/* Along the stiff directions: y = sum of weight v at the vertices. */
static void stiff_part(const sn_contact_curvature *c, const float *v, float y[3]) {
    y[0] = y[1] = y[2] = 0;
    for (int a = 0; a < c->count; a++)
        for (int d = 0; d < 3; d++)
            y[d] += c->weight[a] * v[SN_PAD * (size_t)c->vertex[a] + (size_t)d];
    if (c->holds) return;
    float along = y[0] * c->normal[0] + y[1] * c->normal[1] + y[2] * c->normal[2];
    for (int d = 0; d < 3; d++) y[d] = along * c->normal[d];
}

void sn_contacts_remove(const sn_linearization *lin, bool backwards, float *v) {
    for (int k = 0; k < lin->contact_count; k++) {
        const sn_contact_curvature *c = &lin->contacts[backwards ? lin->contact_count - 1 - k : k];
        float y[3];
        stiff_part(c, v, y);
        for (int a = 0; a < c->count; a++)
            for (int d = 0; d < 3; d++)
                v[SN_PAD * (size_t)c->vertex[a] + (size_t)d] -= c->inverse * c->weight[a] * y[d];
    }
}

void sn_contacts_give(const sn_linearization *lin, const float *r, float *z) {
    for (int k = 0; k < lin->contact_count; k++) {
        const sn_contact_curvature *c = &lin->contacts[k];
        float y[3];
        stiff_part(c, r, y);
        for (int a = 0; a < c->count; a++)
            for (int d = 0; d < 3; d++)
                z[SN_PAD * (size_t)c->vertex[a] + (size_t)d] += c->give * c->weight[a] * y[d];
    }
}

double sn_contacts_multiply(const sn_linearization *lin, const float *p, float *y) {
    double product = 0;
    for (int k = 0; k < lin->contact_count; k++) {
        const sn_contact_curvature *c = &lin->contacts[k];
        float q[3] = {0}, f[3];
        for (int a = 0; a < c->count; a++)
            for (int d = 0; d < 3; d++)
                q[d] += c->weight[a] * p[SN_PAD * (size_t)c->vertex[a] + (size_t)d];
        f[0] = c->h[0] * q[0] + c->h[1] * q[1] + c->h[2] * q[2];
        f[1] = c->h[1] * q[0] + c->h[3] * q[1] + c->h[4] * q[2];
        f[2] = c->h[2] * q[0] + c->h[4] * q[1] + c->h[5] * q[2];
        for (int d = 0; d < 3; d++) product += (double)(q[d] * f[d]);
        for (int a = 0; a < c->count; a++)
            for (int d = 0; d < 3; d++)
                y[SN_PAD * (size_t)c->vertex[a] + (size_t)d] += c->weight[a] * f[d];
    }
    return product;
}

void sn_contacts_diagonal(const sn_linearization *lin, float *blocks) {
    for (int k = 0; k < lin->contact_count; k++) {
        const sn_contact_curvature *c = &lin->contacts[k];
        for (int a = 0; a < c->count; a++)
            for (int e = 0; e < 6; e++)
                blocks[6 * (size_t)c->vertex[a] + (size_t)e] +=
                    c->weight[a] * c->weight[a] * c->h[e];
    }
}

/* (sum_a v_a)^T h (sum_b v_b) <= count sum_a v_a^T h v_a. */
void sn_contacts_assemble(const sn_system *system, const sn_load *load, const double *x,
                          sn_sparse *matrix) {
    for (int k = 0; k < load->contact_count; k++) {
        const sn_contact_term *term = &load->contacts[k];
        double h[6];
        curvature_of(term, x, h);
        for (int a = 0; a < term->count; a++) {
            double w = term->count * term->weight[a] * term->weight[a];
            for (int e = 0; e < 6; e++)
                *sn_hessian_entry(system, matrix, term->vertex[a], -1, COLUMN[e], ROW[e]) +=
                    w * h[e];
        }
    }
}
