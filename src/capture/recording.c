/* What a recording says about itself beside positions: which axis points up, and how well each
 * position was reconstructed. */
#include "capture/recording.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rotation.h"
#include "base/sort.h"
#include "base/status.h"
#include "capture/take.h"

/* Radians: the neutral lies on its side against the face beyond the first, as it should within the
 * second. */
#define LYING    1.0
#define STANDING 0.6
/* Residuals count as good up to this many medians. */
#define GOOD 3.0
/* Weight of positions that the recording made up. */
#define MADE_UP 0.5

/* The angle by which the neutral sample is turned against its points on the face. */
static double turn_against_face(const sinew_capture *c, double *room) {
    int count = c->map->count, used = 0;
    double *from = room, *to = room + 3 * count, *w = to + 3 * count;
    for (int i = 0; i < count; i++) {
        if (!sn_capture_seen(c, c->info.neutral_sample, i)) continue;
        sn_put(from, used, sn_at(sn_take_at(c->take, c->info.neutral_sample, c->index[i]), 0));
        sn_put(to, used, sn_at(c->points, i));
        w[used++] = 1;
    }
    if (used < 3) return 0;
    sn_mat3 turn;
    sn_vec3 shift;
    sn_rigid_fit(used, from, to, w, &turn, &shift);
    return sn_length(sn_rotation_log(turn));
}

sinew_status sn_capture_turn_up(sinew_capture *c, sinew_error *error) {
    if (!c->take->up) return SINEW_OK;
    double *room = SN_NEW(double, 7 * (size_t)c->map->count);
    if (!room) return sn_no_memory(error);
    double angle = turn_against_face(c, room);
    char said = c->take->up;
    sinew_status status = SINEW_OK;
    for (int axis = 'y'; angle > LYING && status == SINEW_OK && axis <= 'z'; axis++) {
        if (axis == said) continue;
        status = sinew_markers_convert(c->take, NULL, (char)axis, error);
        if (status == SINEW_OK && turn_against_face(c, room) < STANDING) break;
        if (status == SINEW_OK) status = sinew_markers_convert(c->take, NULL, said, error);
    }
    sn_free(room);
    return status;
}

sinew_status sn_capture_weigh_residuals(sinew_capture *c, sinew_error *error) {
    if (!c->take->residuals) return SINEW_OK;
    size_t total = (size_t)c->take->time_count * (size_t)c->take->marker_count, known = 0;
    double *list = SN_NEW(double, total);
    if (!list) return sn_no_memory(error);
    for (size_t i = 0; i < total; i++)
        if (c->take->residuals[i] > 0) list[known++] = (double)c->take->residuals[i];
    sn_sort_doubles(known, list);
    double good = known ? GOOD * list[known / 2] : 0;
    for (size_t i = 0; known > 0 && i < total; i++) {
        double r = (double)c->take->residuals[i];
        bool filled = c->trust[i] < 1; /* here and not by the recording */
        if (!(r > 0) && !filled)
            c->trust[i] = (float)MADE_UP;
        else if (r > good)
            c->trust[i] *= (float)(good / r * (good / r));
    }
    sn_free(list);
    return SINEW_OK;
}
