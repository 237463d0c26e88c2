/* Contact of the sheet with itself: the nearest shape, in the metric of the step, whose pairs keep
 * their gap; then the guarantee by cutting the path back. */
#ifndef SN_FORCE_CONTACT_H
#define SN_FORCE_CONTACT_H

#include "algebra/cholesky.h"
#include "cache/pack.h"
#include "contact/pairs.h"
#include "force/inverse_block.h"
#include "force/skin.h"
#include "sinew/model.h"
#include "sinew/monitor.h"

/* Rounds of finding pairs and pressing them apart; sweeps of the pressing. */
enum { SN_FORCE_CONTACT_ROUNDS = 6, SN_FORCE_CONTACT_SWEEPS = 60 };
/* Surfaces of up to this many vertices have their part of N^-1 computed beforehand. */
enum { SN_FORCE_CONTACT_REGION = 1500 };

typedef struct sn_force_contact sn_force_contact;

/* factor: of N, with the bending that contact meets. region: N^-1 at all of the surface's vertices
 * that are not held, or NULL when it is to be found as vertices touch. All are borrowed. */
sinew_status sn_force_contact_create(const sn_contact_surface *surface, const sn_skin *skin,
                                     const sn_cholesky *factor, sn_inverse_block *region,
                                     sn_force_contact **contact, sinew_error *error);
void sn_force_contact_destroy(sn_force_contact *contact);
/* Moist lips: pairs that touched stay together until they would be `length` apart if they did not
 * stick, and are free from twice that length on, or when they would tear the skin. 0: no pair does.
 */
void sn_force_contact_set_stick(sn_force_contact *contact, double length);
/* A solve that finds more than this many pairs gives up at once, and its info says so. 0: it never
 * does. */
void sn_force_contact_set_most(sn_force_contact *contact, int most);
/* The next solve goes from the time `from` to the time `to` of a motion that displaces the vertices
 * by path[3n] from 0 to 1, but for what contact does. It gives up at once when the sides of a pair
 * that comes too near move against each other by more than `most` on all the path. Borrowed; NULL:
 * nothing is known about the motion. */
void sn_force_contact_set_path(sn_force_contact *contact, const double *path, double from,
                               double to, double most);
/* Forgets the frames before: pairs that pressed, and the part of N^-1 that was found for them,
 * whose bits depend on the order in which vertices touched. */
void sn_force_contact_reset(sn_force_contact *contact);
/* The pairs that pressed in the last solve, and back. */
void sn_force_contact_pack(const sn_force_contact *contact, sn_pack *pack);
sinew_status sn_force_contact_unpack(sn_force_contact *contact, sn_unpack *unpack,
                                     sinew_error *error);
/* Likewise the part of N^-1; its size, and back to a smaller one. */
void sn_force_contact_pack_block(const sn_force_contact *contact, sn_pack *pack);
sinew_status sn_force_contact_unpack_block(sn_force_contact *contact, sn_unpack *unpack,
                                           sinew_error *error);
int sn_force_contact_block(const sn_force_contact *contact);
void sn_force_contact_shrink(sn_force_contact *contact, int size);

typedef struct sn_force_contact_info {
    int pressing; /* pairs that press or stick */
    double cut;   /* smallest fraction that the guarantee left of a vertex's path */
    int released; /* vertices that were given their shape without contact */
    bool crowded; /* it gave up: the shape is not to be used */
    double slip;  /* by how much the sides of a pair that presses, or after giving up of one that
                   * comes too near, move against each other along the path that was set: the most */
} sn_force_contact_info;

/* x moves from x0, which is free of crossings, to the nearest free shape near it. */
sinew_status sn_force_contact_solve(sn_force_contact *contact, const double *x0, double *x,
                                    sn_force_contact_info *info, const sinew_monitor *monitor,
                                    sinew_error *error);
/* The shape x[3n] of the last solve if nothing had stuck: what the motion goes on from, so that
 * skin opens as it would, whatever the time between frames. */
const double *sn_force_contact_unstuck(const sn_force_contact *contact);
/* velocity: the tangential part at pairs that press shrinks by at most `friction` times the change
 * of the normal part that contact made over the time h (Coulomb). */
void sn_force_contact_rub(const sn_force_contact *contact, double friction, double h,
                          double *velocity);

/* Pairs that pressed in the last solve, at its shape x: fills up to `capacity` and returns how many
 * it filled. */
int sn_force_contact_list(const sn_force_contact *contact, const double *x, int capacity,
                          sinew_contact *contacts);

#endif
