#include "modal/frame.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "mesh/rotation_orient.h"
#include "modal/field.h"
#include "modal/pose.h"

sinew_status sinew_modal_state_create(const sinew_modal *modal, sinew_modal_state **state,
                                      sinew_error *error) {
    SN_REQUIRE(modal != NULL && state != NULL, error);
    *state = NULL;
    const sn_body *body = modal->body;
    sinew_modal_state *result = SN_NEW0(sinew_modal_state, 1);
    if (!result) return sn_no_memory(error);
    result->tracks = SN_NEW(double, sn_track_count(modal));
    result->displacement = SN_NEW(double, (size_t)3 * body->vertex_count);
    result->coordinates = SN_NEW(double, (size_t)SN_RS_SIZE * body->rs->item_count);
    result->turns = SN_NEW(double, (size_t)9 * body->rs->component_count);
    result->positions = sn_memdup(body->rest, (size_t)3 * body->vertex_count, sizeof(double));
    sinew_status status = result->tracks && result->displacement && result->coordinates &&
                                  result->turns && result->positions
                              ? sn_rotation_strain_work_create(body->rs, &result->work, error)
                              : sn_no_memory(error);
    if (status == SINEW_OK && modal->fast)
        status = sn_fast_state_create(body, modal->modes, modal->fast, &result->fast, error);
    if (status != SINEW_OK) {
        sinew_modal_state_destroy(result);
        return status;
    }
    *state = result;
    return SINEW_OK;
}

void sinew_modal_state_destroy(sinew_modal_state *state) {
    if (!state) return;
    sn_rotation_strain_work_destroy(state->work);
    sn_fast_state_destroy(state->fast);
    sn_free(state->tracks);
    sn_free(state->displacement);
    sn_free(state->coordinates);
    sn_free(state->turns);
    sn_free(state->positions);
    sn_free(state);
}

/* Coordinates that are summed up at a time: they stay in the nearest cache. */
enum { SHARE = 1024 };

typedef struct residual_loop {
    const sn_residual_sum *residual;
    double *coordinates;
} residual_loop;

static void sum_residuals(void *context, sn_span span) {
    const residual_loop *loop = context;
    for (size_t first = span.begin; first < span.end; first += SHARE) {
        size_t count = span.end - first < SHARE ? span.end - first : SHARE;
        double *sum = loop->coordinates + first;
        memset(sum, 0, count * sizeof *sum);
        for (int k = 0; k < loop->residual->count; k++) {
            const double *from = loop->residual->poses[k]->residual + first;
            double weight = loop->residual->weights[k];
            for (size_t i = 0; i < count; i++) sum[i] += weight * from[i];
        }
    }
}

/* Coordinates of weights and residuals into state->coordinates. */
static void set_coordinates(const sinew_modal *modal, sinew_modal_state *state,
                            const double *weights, const sn_residual_sum *residual) {
    size_t size = (size_t)SN_RS_SIZE * modal->body->rs->item_count;
    sn_parallel_for(size, SHARE, sum_residuals, &(residual_loop){residual, state->coordinates});
    sn_modes_displace(modal->modes, weights, state->displacement);
    sn_field_add(modal->body->rs, state->displacement, state->coordinates);
}

static void orient(const sn_rotation_strain *rs, const sinew_modal_orientation *o,
                   const double *turns, double *coordinates) {
    sn_mat3 wanted = sn_rotation_exp(sn_at(o->turn, 0));
    for (int k = 0; k < o->element_count; k++)
        sn_rotation_orient(rs, o->elements[k], wanted, o->weight, turns, coordinates);
}

void sn_frame_oriented(const sinew_modal *modal, sinew_modal_state *state,
                       const sn_residual_sum *residual, int count,
                       const sinew_modal_orientation *orientations, double *positions) {
    const sn_body *body = modal->body;
    const double *weights = state->tracks, *turns = weights + modal->modes->column_count;
    const double *centers = turns + 3 * body->rs->component_count;
    for (int c = 0; c < body->rs->component_count; c++) {
        sn_mat3 turn = sn_rotation_exp(sn_at(turns, c));
        memcpy(state->turns + 9 * (size_t)c, turn.m, sizeof turn.m);
    }
    state->rebuilt =
        state->rebuild && count == 0 && state->rebuild(state->rebuilder, state, residual);
    state->was_fast = !state->rebuilt && state->fast && !state->exact && count == 0;
    if (state->rebuilt) {
        /* the positions are there */
    } else if (state->was_fast) {
        sn_fast_rebuild(body, modal->fast, state->fast, weights, residual, centers, state->turns,
                        state->positions);
    } else {
        set_coordinates(modal, state, weights, residual);
        for (int k = 0; k < count; k++)
            orient(body->rs, &orientations[k], turns, state->coordinates);
        sn_rotation_strain_rebuild(body->rs, state->work, state->coordinates, centers,
                                   state->positions);
        sn_rotation_strain_turn(body->rs, centers, turns, 1, state->positions);
    }
    sn_body_drop(body, state->positions, positions);
    sn_add_leftovers(modal, state, residual, positions);
}

void sn_frame_shape(const sinew_modal *modal, sinew_modal_state *state,
                    const sn_residual_sum *residual, double *positions) {
    sn_frame_oriented(modal, state, residual, 0, NULL, positions);
}

void sinew_modal_frame(const sinew_modal_motion *motion, sinew_modal_state *state, double time,
                       double *positions) {
    if (!motion || !state || !positions || !isfinite(time)) return;
    sn_motion_tracks(motion, time, state->tracks);
    sn_residual_sum residual = sn_motion_residual(motion, time);
    sn_frame_shape(motion->modal, state, &residual, positions);
}

static sinew_status check_constraints(const sinew_modal *modal, const sinew_modal_constraints *c,
                                      sinew_error *error) {
    if (c->given && !isfinite(c->share))
        return sn_fail(error, SINEW_BAD_INPUT, "the share is not finite");
    for (int k = 0; k < c->orientation_count; k++) {
        const sinew_modal_orientation *o = &c->orientations[k];
        if (!(o->weight >= 0 && o->weight <= 1))
            return sn_fail(error, SINEW_BAD_INPUT, "weight of orientation %d must lie in [0, 1]",
                           k);
        if (!isfinite(o->turn[0] + o->turn[1] + o->turn[2]))
            return sn_fail(error, SINEW_BAD_INPUT, "orientation %d is not finite", k);
        for (int i = 0; i < o->element_count; i++)
            if (o->elements[i] < 0 || o->elements[i] >= modal->body->rs->element_count)
                return sn_fail(error, SINEW_BAD_INPUT, "element %d of %d in orientation %d",
                               o->elements[i], modal->body->rs->element_count, k);
    }
    return SINEW_OK;
}

/* Adds the given shape to the frame's tracks and residuals: tracks and poses are blended. */
static sinew_status mix(const sinew_modal_motion *motion, sinew_modal_state *state,
                        const double *given, double share, sn_pose *pose, sn_residual_sum *residual,
                        sinew_error *error) {
    SN_TRY(sn_pose_read(motion->modal, given, NULL, NULL, pose, error));
    for (int i = 0; i < motion->track_count; i++)
        state->tracks[i] = (1 - share) * pose->tracks[i] + share * state->tracks[i];
    for (int k = 0; k < residual->count; k++) residual->weights[k] *= share;
    residual->moving = NULL; /* the given shape has weights of its own for all columns */
    residual->poses[residual->count] = pose, residual->weights[residual->count++] = 1 - share;
    return SINEW_OK;
}

sinew_status sinew_modal_frame_constrained(const sinew_modal_motion *motion,
                                           sinew_modal_state *state,
                                           const sinew_modal_constraints *constraints, double time,
                                           double *positions, sinew_error *error) {
    SN_REQUIRE(motion && state && constraints && positions && isfinite(time), error);
    SN_INPUT(sinew_modal_constraints, asked, constraints, error);
    constraints = &asked;
    SN_REQUIRE(!constraints->pins || constraints->targets, error);
    SN_REQUIRE(constraints->orientation_count == 0 || constraints->orientations, error);
    SN_TRY(check_constraints(motion->modal, constraints, error));
    sn_pose pose = {0};
    sn_motion_tracks(motion, time, state->tracks);
    sn_residual_sum residual = sn_motion_residual(motion, time);
    if (constraints->given)
        SN_TRY(mix(motion, state, constraints->given, constraints->share, &pose, &residual, error));
    for (int i = 0; constraints->lag && i < motion->column_count; i++)
        state->tracks[i] += constraints->lag[i];
    if (constraints->lag) residual.moving = NULL; /* it moves columns that the motion does not */
    sn_frame_oriented(motion->modal, state, &residual, constraints->orientation_count,
                      constraints->orientations, positions);
    sn_pose_free(&pose);
    if (constraints->pins) sn_pins_apply(constraints->pins, state, constraints->targets, positions);
    return SINEW_OK;
}

sinew_status sinew_modal_frame_mixed(const sinew_modal_motion *motion, sinew_modal_state *state,
                                     double time, const double *given, double share,
                                     double *positions, sinew_error *error) {
    SN_REQUIRE(given != NULL, error);
    sinew_modal_constraints constraints = {
        .size = sizeof constraints, .given = given, .share = share};
    return sinew_modal_frame_constrained(motion, state, &constraints, time, positions, error);
}

sinew_status sinew_modal_elements_at(const sinew_modal *modal, int vertex_count,
                                     const int *vertices, int **elements, int *count,
                                     sinew_error *error) {
    SN_REQUIRE(modal && vertex_count >= 0 && (vertices || !vertex_count) && elements && count,
               error);
    *elements = NULL, *count = 0;
    const sn_body *body = modal->body;
    const sn_rotation_strain *rs = body->rs;
    /* Inside, an element belongs to the region when the surface near it mostly does. */
    double *painted = SN_NEW0(double, body->artist_count);
    double *inside = SN_NEW(double, rs->element_count);
    sinew_status status = painted && inside ? SINEW_OK : sn_no_memory(error);
    for (int k = 0; status == SINEW_OK && k < vertex_count; k++) {
        if (vertices[k] < 0 || vertices[k] >= body->artist_count)
            status =
                sn_fail(error, SINEW_BAD_INPUT, "vertex %d of %d", vertices[k], body->artist_count);
        else
            painted[sn_seams_root(body->seams, vertices[k])] = 1;
    }
    if (status == SINEW_OK) status = sn_body_spread(body, painted, inside, error);
    for (int k = 0; status == SINEW_OK && k < vertex_count; k++) {
        int v = sn_seams_root(body->seams, vertices[k]);
        if (body->cage) {
            inside[body->cage->embedding->tet[v]] = 1;
            continue;
        }
        for (int c = rs->corner_start[v]; c < rs->corner_start[v + 1]; c++)
            inside[rs->vertex_corners[c] / rs->corners] = 1;
    }
    int total = 0;
    for (int e = 0; status == SINEW_OK && e < rs->element_count; e++) total += inside[e] >= 0.5;
    if (status == SINEW_OK && !(*elements = SN_NEW(int, total))) status = sn_no_memory(error);
    for (int e = 0; status == SINEW_OK && e < rs->element_count; e++)
        if (inside[e] >= 0.5) (*elements)[(*count)++] = e;
    sn_free(painted), sn_free(inside);
    return status;
}

int sinew_modal_inverted(const sinew_modal_motion *motion, const sinew_modal_state *state) {
    if (!motion || !state) return 0;
    return sn_inverted_elements(motion->modal->body, state->positions);
}

int sinew_modal_new_inverted(const sinew_modal_motion *motion, const sinew_modal_state *state,
                             int capacity, int *elements) {
    if (!motion || !state) return 0;
    const sn_rotation_strain *rs = motion->modal->body->rs;
    int count = 0;
    for (int e = 0; e < rs->element_count; e++) {
        if (motion->inverted_in_key[e] || !sn_is_inverted(rs, state->positions, e)) continue;
        if (elements && count < capacity) elements[count] = e;
        count++;
    }
    return count;
}
