/* The built structure behind sinew_force, and the linear systems it steps with. */
#ifndef SN_FORCE_SHEET_H
#define SN_FORCE_SHEET_H

#include "algebra/cholesky.h"
#include "cache/pack.h"
#include "contact/pairs.h"
#include "force/flesh.h"
#include "force/inverse_block.h"
#include "force/jaw.h"
#include "force/layer.h"
#include "force/potentials.h"
#include "force/skin.h"
#include "force/skull.h"
#include "force/vertex_columns.h"
#include "sinew/force.h"
#include "sinew/model.h"

/* N = inertia M + sum k F^T F, factored, with the responses of the targets. */
typedef struct sn_force_system {
    double inertia; /* 1 / h^2, or next to nothing for the static solve */
    sn_cholesky *factor;
    sn_vertex_columns *response; /* Phi = N^-1 B */
    double *rows;                /* S Phi, 3 per marker x targets, column-major */
    double *effect;              /* per target: typical squared response where it moves the skin */
} sn_force_system;

struct sinew_force {
    const sinew_rig *rig;
    sinew_marker_map *map; /* without markers when only commands drive */
    sinew_force_options options;
    sinew_force_info info;
    sn_skin *skin;
    sn_potentials *potentials;
    double *mass;            /* per vertex: A_v t_m^2 */
    sn_vertex_columns *push; /* B: area times target, zero at held vertices */
    bool *held;              /* per target: it gets no command */
    double *marker_rest;     /* 3 per marker: positions on the neutral */
    double *span;            /* Cholesky factor of the targets' Gram matrix over the area */
    double total_area;       /* sum of skin->area */
    sn_force_system step, still;
    sn_jaw *jaw;                 /* NULL: none */
    sn_skull *skull;             /* NULL: none */
    sn_layer *layer;             /* NULL: none */
    sn_flesh *lag;               /* flesh that lags behind the head; NULL: none */
    sn_contact_surface *surface; /* NULL: no contact */
    sn_cholesky *flesh;          /* N with the bending that contact meets; NULL: as the step's */
    sn_inverse_block *region;    /* its inverse at the surface's vertices; NULL: no contact, or too
                                    many of them */
};

/* What contact moves the skin by. */
const sn_cholesky *sn_force_contact_factor(const sinew_force *force);

/* Ranges of the numbers; maps and lists of vertices are checked where they are used. */
sinew_status sn_force_check_options(const sinew_force_options *options, sinew_error *error);

/* The past of a state, but for its settings, and back. */
/* Pairs of the last frame that press, as many as there is room for; returns how many. */
int sn_force_list_contacts(const sinew_force_state *state, int capacity, sinew_contact *contacts);
void sn_force_pack(const sinew_force_state *state, sn_pack *pack);
sinew_status sn_force_unpack(sinew_force_state *state, sn_unpack *unpack, sinew_error *error);

/* Shares of the RMS displacement over the area inside and outside the span of the targets. scratch:
 * target_count * 2 doubles. */
void sn_force_split(const sinew_force *force, const double *displacement, double *scratch,
                    double *inside, double *outside);

#endif
