/* Skin that slides over a skull: it keeps its distance from the bone below it and is free to move
 * along it. Targets move skin along straight lines, which cut through a round forehead. */
#ifndef SN_FORCE_SKULL_H
#define SN_FORCE_SKULL_H

#include "force/skin.h"
#include "sinew/rig.h"

typedef struct sn_skull sn_skull;

/* vertices: of the bone, which no target may move. Bad input: it has no triangle, or moves. */
sinew_status sn_skull_create(const sn_skin *skin, const sinew_rig *rig, int count,
                             const int *vertices, sn_skull **skull, sinew_error *error);
void sn_skull_destroy(sn_skull *skull);
/* Vertices of the outer skin with bone below them. */
int sn_skull_covered(const sn_skull *skull);
/* x[3n]: skin that has come too near to the bone is moved off it, at right angles to the bone.
 * Returns how many vertices moved. */
int sn_skull_hold(const sn_skull *skull, double *x);

#endif
