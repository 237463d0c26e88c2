/* Leftovers: what a frame misses of its keys on the artist's vertices. A cage or the rounding of
 * the frame's own arithmetic leave them; each turns with the element that carries its vertex. */
#include <string.h>

#include "base/parallel.h"
#include "modal/frame.h"
#include "sinew/cage.h"

/* Rotation of the element that carries a vertex of a cage's surface: the component's turn after its
 * own. */
typedef struct carrier {
    sn_mat3 turn, own;
} carrier;

static carrier carrier_of(const sinew_modal *modal, const sinew_modal_state *state, int vertex) {
    const sn_body *body = modal->body;
    carrier found;
    int component;
    if (state->was_fast) {
        found.own = sn_fast_rotation(modal->fast, state->fast, vertex, &component);
    } else {
        int e = body->cage->embedding->tet[vertex];
        component = body->rs->vertex_component[body->rs->elements[(size_t)4 * e]];
        if (state->rebuilt) {
            memcpy(found.own.m, state->carried + (size_t)9 * vertex, sizeof found.own.m);
        } else {
            const double *c = state->coordinates + (size_t)SN_RS_SIZE * e;
            found.own = sn_mat3_multiply(sn_rotation_exp(sn_v3(c[0], c[1], c[2])),
                                         sn_rotation_exp(sn_v3(c[3], c[4], c[5])));
        }
    }
    memcpy(found.turn.m, state->turns + (size_t)9 * component, sizeof found.turn.m);
    return found;
}

static const double *leftover_of(const sn_pose *pose, bool fast) {
    return fast && pose->fast_leftover ? pose->fast_leftover : pose->leftover;
}

enum { ROWS = 256 }; /* vertices at a time */

typedef struct leftover_loop {
    const sinew_modal *modal;
    const sinew_modal_state *state;
    const sn_residual_sum *residual;
    double *positions;
} leftover_loop;

static void add_some(void *context, sn_span span) {
    const leftover_loop *loop = context;
    const sn_residual_sum *residual = loop->residual;
    for (int from = (int)span.begin; from < (int)span.end; from += ROWS) {
        double sum[3 * ROWS] = {0};
        int count = (int)span.end - from < ROWS ? (int)span.end - from : ROWS;
        for (int k = 0; k < residual->count; k++) {
            const double *leftover = leftover_of(residual->poses[k], loop->state->was_fast);
            double weight = residual->weights[k];
            if (!leftover) continue;
            leftover += (size_t)3 * from;
            for (int i = 0; i < 3 * count; i++) sum[i] += weight * leftover[i];
        }
        for (int i = 0; loop->modal->body->cage && i < count; i++) {
            carrier c = carrier_of(loop->modal, loop->state, from + i);
            sn_put(sum, i, sn_mat3_apply(c.turn, sn_mat3_apply(c.own, sn_at(sum, i))));
        }
        double *to = loop->positions + (size_t)3 * from;
        for (int i = 0; i < 3 * count; i++) to[i] += sum[i];
    }
}

void sn_add_leftovers(const sinew_modal *modal, const sinew_modal_state *state,
                      const sn_residual_sum *residual, double *positions) {
    bool any = false;
    for (int k = 0; k < residual->count; k++) any |= residual->poses[k]->leftover != NULL;
    if (any)
        sn_parallel_for(modal->body->artist_count, ROWS, add_some,
                        &(leftover_loop){modal, state, residual, positions});
}

void sn_correct_leftover(const sinew_modal *modal, const sinew_modal_state *state,
                         const double *wanted, const double *positions, double *leftover) {
    for (int i = 0; i < modal->body->artist_count; i++) {
        sn_vec3 miss = sn_sub(sn_at(wanted, i), sn_at(positions, i));
        if (modal->body->cage) {
            carrier c = carrier_of(modal, state, i);
            miss = sn_mat3_apply_transposed(c.own, sn_mat3_apply_transposed(c.turn, miss));
        }
        sn_put(leftover, i, sn_add(sn_at(leftover, i), miss));
    }
}
