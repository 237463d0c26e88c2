#include "modal/pose.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "modal/fast.h"
#include "modal/field.h"

void sn_pose_free(sn_pose *pose) {
    sn_free(pose->tracks);
    sn_free(pose->residual);
    sn_free(pose->leftover);
    sn_free(pose->fast_leftover);
    sn_free_aligned(pose->packed);
    sn_free_aligned(pose->still);
    sn_free(pose->rates);
    memset(pose, 0, sizeof *pose);
}

bool sn_is_inverted(const sn_rotation_strain *rs, const double *positions, int element) {
    if (rs->corners != 4) return false;
    const int *v = rs->elements + (size_t)4 * element;
    sn_vec3 o = sn_at(positions, v[0]);
    sn_vec3 a = sn_sub(sn_at(positions, v[1]), o), b = sn_sub(sn_at(positions, v[2]), o);
    return !(sn_dot(sn_cross(a, b), sn_sub(sn_at(positions, v[3]), o)) > 0);
}

typedef struct inversion_count {
    const sn_rotation_strain *rs;
    const double *positions;
    atomic_int inverted;
} inversion_count;

static void count_inverted(void *context, sn_span span) {
    inversion_count *c = context;
    int inverted = 0;
    SN_IN_SPAN(int, e, span) inverted += sn_is_inverted(c->rs, c->positions, e);
    if (inverted) atomic_fetch_add(&c->inverted, inverted);
}

int sn_inverted_elements(const sn_body *body, const double *positions) {
    if (body->rs->corners == 3) return 0;
    inversion_count c = {body->rs, positions, 0};
    sn_parallel_for(body->rs->element_count, 256, count_inverted, &c);
    return atomic_load(&c.inverted);
}

/* |w + q|, S in the metric of modal/field.h. */
static double square(const sn_rotation_strain *rs, const double *coordinates) {
    double sum = 0;
    for (int e = 0; e < rs->element_count; e++) {
        const double *c = coordinates + (size_t)SN_RS_SIZE * e;
        double own = 0;
        for (int k = 0; k < 3; k++) {
            own += 2 * (c[k] + c[3 + k]) * (c[k] + c[3 + k]);
            own += c[6 + k] * c[6 + k] + 2 * c[9 + k] * c[9 + k];
        }
        sum += rs->weights[e] * own;
    }
    return sum;
}

/* Centers and turns come off first, then coordinates; the columns' share goes into the tracks and
 * the rest stays as residual. */
static sinew_status read_body(const sinew_modal *modal, double *shape, bool *inverted,
                              sn_pose *pose, sinew_error *error) {
    const sn_body *body = modal->body;
    const sn_rotation_strain *rs = body->rs;
    const sn_modes *modes = modal->modes;
    double *turns = pose->tracks + modes->column_count;
    double *centers = turns + 3 * rs->component_count;
    pose->inverted = sn_inverted_elements(body, shape);
    for (int e = 0; inverted && pose->inverted > 0 && e < rs->element_count; e++)
        inverted[e] = inverted[e] || sn_is_inverted(rs, shape, e);
    sn_rotation_strain_centers(rs, shape, centers);
    SN_TRY(
        sn_rotation_strain_turns(rs, body->rest, body->rest_centers, shape, centers, turns, error));
    sn_rotation_strain_turn(rs, centers, turns, -1, shape);
    SN_TRY(sn_rotation_strain_measure(rs, shape, 0, NULL, pose->residual, error));
    double whole = square(rs, pose->residual);
    sn_modes_project(modes, rs, pose->residual, shape, pose->tracks);
    for (int k = 0; k < modes->column_count; k++) pose->tracks[k] = -pose->tracks[k];
    sn_modes_displace(modes, pose->tracks, shape);
    sn_field_add(rs, shape, pose->residual);
    for (int k = 0; k < modes->column_count; k++) pose->tracks[k] = -pose->tracks[k];
    double volume = 0; /* below rounding there is nothing to express */
    for (int c = 0; c < rs->component_count; c++) volume += rs->component_mass[c];
    pose->captured = whole > 1e-20 * volume ? fmax(1 - square(rs, pose->residual) / whole, 0) : 1;
    return SINEW_OK;
}

sinew_status sn_pose_pack(const sinew_modal *modal, sn_pose *pose, sinew_error *error) {
    if (!modal->fast) return SINEW_OK;
    sn_free_aligned(pose->packed);
    return sn_fast_residual(modal->fast, pose->residual, &pose->packed, error);
}

sinew_status sn_pose_read(const sinew_modal *modal, const double *positions,
                          const sinew_monitor *monitor, bool *inverted, sn_pose *pose,
                          sinew_error *error) {
    const sn_body *body = modal->body;
    memset(pose, 0, sizeof *pose);
    for (size_t k = 0; k < (size_t)3 * body->artist_count; k++)
        if (!isfinite(positions[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu is not finite", k / 3);
    pose->tracks = SN_NEW(double, sn_track_count(modal));
    pose->residual = SN_NEW(double, (size_t)SN_RS_SIZE * body->rs->item_count);
    double *shape = SN_NEW(double, (size_t)3 * body->vertex_count);
    sinew_status status = pose->tracks && pose->residual && shape ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_body_lift(body, positions, monitor, shape, &pose->leftover, error);
    if (status == SINEW_OK) status = read_body(modal, shape, inverted, pose, error);
    sn_free(shape);
    if (status == SINEW_OK) status = sn_pose_pack(modal, pose, error);
    if (status != SINEW_OK) sn_pose_free(pose);
    return status;
}
