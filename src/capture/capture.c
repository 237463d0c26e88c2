/* A take is brought to a face in this order: which sample is neutral, where the markers sit, which
 * motion is the head's, and, for another face, where they would sit on this one. */
#include "sinew/capture.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/rotation.h"
#include "base/scope.h"
#include "base/status.h"
#include "capture/automap.h"
#include "capture/clean.h"
#include "capture/labels.h"
#include "capture/marker_layouts.h"
#include "capture/recording.h"
#include "capture/take.h"
#include "rig/rigid.h"

static const sinew_rigid none = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};

void sinew_capture_options_init(sinew_capture_options *options) {
    *options = (sinew_capture_options){.size = sizeof *options, .neutral_sample = -1, .cutoff = -1};
}

void sn_capture_add_name(char list[SN_CAPTURE_NAMES_SIZE], const char *name) {
    size_t used = strlen(list), length = strlen(name);
    if (used + length + 7 > SN_CAPTURE_NAMES_SIZE) { /* ", " and the dots of the next */
        if (used >= 3 && strcmp(list + used - 3, "...") != 0 && used + 6 <= SN_CAPTURE_NAMES_SIZE)
            strcat(list, ", ...");
        return;
    }
    if (used) strcat(list, ", ");
    strcat(list, name);
}

/* ---- one face -------------------------------------------------------------------------------- */

/* Markers without a label and those of other subjects are taken out of the take: they would disturb
 * the head motion, too. */
static sinew_status keep_one_face(sinew_capture *c, const sinew_monitor *monitor,
                                  sinew_error *error) {
    sinew_markers *take = c->take;
    sn_marker_choice choice;
    bool *chosen = SN_NEW(bool, take->marker_count);
    sinew_status status =
        chosen ? sn_marker_names_choose(take, chosen, &choice, error) : sn_no_memory(error);
    size_t n = (size_t)take->marker_count;
    for (size_t k = 0; status == SINEW_OK && k < n * (size_t)take->time_count; k++)
        if (!chosen[k % n]) sn_put(take->positions + 3 * k, 0, sn_v3(NAN, NAN, NAN));
    sn_free(chosen);
    SN_TRY(status);
    if (choice.unlabeled)
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "%d markers without a label are not used",
               choice.unlabeled);
    if (choice.others)
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "the take has several subjects; '%s' and the other markers of its subject are used "
               "(give a map that names the markers of another subject to use that one)",
               choice.subject);
    return SINEW_OK;
}

/* ---- the neutral ----------------------------------------------------------------------------- */

static sinew_status find_neutral(sinew_capture *c, int given, sinew_error *error) {
    double speed;
    if (given >= c->take->time_count)
        return sn_fail(error, SINEW_BAD_INPUT,
                       "neutral_frame: %d is not a sample of the take, which has 0 to %d", given,
                       c->take->time_count - 1);
    c->info.neutral_sample = given;
    return given >= 0 ? SINEW_OK : sn_take_calm(c->take, &c->info.neutral_sample, &speed, error);
}

/* ---- the head -------------------------------------------------------------------------------- */

static int map_entry(const sinew_marker_map *map, const char *name, size_t length) {
    for (int i = 0; i < map->count; i++)
        if (strlen(map->names[i]) == length && !strncasecmp(map->names[i], name, length)) return i;
    return -1;
}

/* x -> a(b(x)) */
static sinew_rigid after(const sinew_rigid *a, const sinew_rigid *b) {
    sn_mat3 first, second;
    sinew_rigid both;
    memcpy(&first, b->rotation, sizeof first), memcpy(&second, a->rotation, sizeof second);
    sn_mat3 product = sn_mat3_multiply(second, first);
    memcpy(both.rotation, &product, sizeof product);
    sn_put(both.translation, 0,
           sn_add(sn_mat3_apply(second, sn_at(b->translation, 0)), sn_at(a->translation, 0)));
    return both;
}

/* Largest head, in diagonals of the markers' box. */
#define HEAD 2.5

/* The diagonal of the head: that of the rig, unless the rig is a whole body, whose size says
 * nothing about how a face moves. */
static double head_size(const sinew_capture *c) {
    return fmin(c->diagonal, HEAD * sinew_diagonal(c->map->count, c->points));
}

/* How far the rig's targets move each marker of the take, RMS; markers off the map count as loose.
 */
static void find_looseness(const sinew_capture *c, double *looseness) {
    const sinew_mesh *mesh = c->rig->neutral;
    for (int i = 0; i < c->take->marker_count; i++) looseness[i] = 0.1 * c->size;
    for (int m = 0; m < c->map->count; m++) {
        double sum = 0;
        if (c->index[m] < 0) continue;
        int v = c->map->vertices[m], nearest = 0;
        for (int k = 1; k < 3; k++)
            if (c->map->barycentric[3 * m + k] > c->map->barycentric[3 * m + nearest]) nearest = k;
        if (v < 0) v = mesh->triangles[3 * c->map->triangles[m] + nearest];
        for (int k = 0; k < c->rig->target_count; k++) {
            const sinew_target *t = &c->rig->targets[k];
            int low = 0, high = t->count;
            while (low < high) {
                int middle = low + (high - low) / 2;
                if (t->vertices[middle] < v)
                    low = middle + 1;
                else
                    high = middle;
            }
            if (low >= t->count || t->vertices[low] != v) continue;
            sn_vec3 d = sn_at(t->deltas, low);
            sum += sn_dot(d, d);
        }
        looseness[c->index[m]] = sqrt(sum);
    }
}

/* The motion that was there already, where the take lies, comes last. */
static void put_motion(sinew_capture *c, sinew_rigid *motion) {
    for (int t = 0; c->motion && t < c->take->time_count; t++)
        motion[t] = after(&c->motion[t], &motion[t]);
    sn_free(c->motion);
    c->motion = motion;
}

/* The neutral sample, to which the head was brought back, to its points on the face; what moves
 * least tells most. */
static sinew_status bring_to_face(sinew_capture *c, const double *looseness, sinew_rigid *motion,
                                  sinew_error *error) {
    int count = c->map->count, n = c->take->marker_count, used = 0;
    double *from = SN_NEW(double, 7 * (size_t)count);
    if (!from) return sn_no_memory(error);
    double *to = from + 3 * count, *w = to + 3 * count;
    for (int i = 0; i < count; i++) {
        if (!sn_capture_seen(c, c->info.neutral_sample, i)) continue;
        double loose = looseness[c->index[i]] + 1e-3 * c->size;
        sn_put(from, used, sn_at(sn_take_at(c->take, c->info.neutral_sample, c->index[i]), 0));
        sn_put(to, used, sn_at(c->points, i));
        w[used++] = 1 / (loose * loose);
    }
    sn_mat3 r = sn_mat3_identity();
    sn_vec3 shift = {0, 0, 0};
    if (used >= 3) sn_rigid_fit(used, from, to, w, &r, &shift);
    sinew_rigid forward, back;
    sn_mat3 inverse = sn_mat3_transpose(r);
    memcpy(forward.rotation, &r, sizeof r), memcpy(back.rotation, &inverse, sizeof r);
    sn_put(forward.translation, 0, shift);
    sn_put(back.translation, 0, sn_scale(-1, sn_mat3_apply(inverse, shift)));
    for (int t = 0; t < c->take->time_count; t++) {
        sinew_rigid_apply(&forward, n, sn_take_at(c->take, t, 0));
        motion[t] = after(&motion[t], &back);
    }
    sn_free(from);
    return SINEW_OK;
}

static sinew_status find_head(sinew_capture *c, sinew_error *error) {
    double *looseness = SN_NEW(double, c->take->marker_count);
    sinew_rigid *motion = SN_NEW(sinew_rigid, c->take->time_count);
    sinew_status status = looseness && motion ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        c->size = head_size(c);
        find_looseness(c, looseness);
        status = sn_take_remove_head(c->take, c->info.neutral_sample, looseness, c->size, motion,
                                     &c->info.head_moves, error);
    }
    if (status == SINEW_OK && c->info.head_moves)
        status = bring_to_face(c, looseness, motion, error);
    if (status == SINEW_OK && c->info.head_moves) put_motion(c, motion), motion = NULL;
    sn_free(looseness), sn_free(motion);
    return status;
}

static sinew_status stabilise(sinew_capture *c, const char *list, const sinew_monitor *monitor,
                              sinew_error *error) {
    if (list && !strcmp(list, "none")) return SINEW_OK;
    if (!list || !*list) return find_head(c, error);
    int count = 0, most = c->map->count, held = 0;
    int *stable = SN_NEW(int, most);
    double *reference = SN_NEW(double, 3 * (size_t)most);
    sinew_rigid *motion = SN_NEW(sinew_rigid, c->take->time_count);
    sinew_status status = stable && reference && motion ? SINEW_OK : sn_no_memory(error);
    const char *name;
    size_t length;
    while (status == SINEW_OK && sn_list_next(&list, &name, &length)) {
        int entry = map_entry(c->map, name, length);
        if (entry < 0 || c->index[entry] < 0)
            status = sn_fail(error, SINEW_BAD_INPUT, "stable: there is no marker '%.*s'",
                             (int)length, name);
        else if (count < most) {
            stable[count] = c->index[entry];
            sn_put(reference, count++, sn_at(c->points, entry));
        }
    }
    if (status == SINEW_OK)
        status = sinew_markers_stabilise(c->take, count, stable, reference, motion, &held, error);
    if (status == SINEW_OK && held > 0)
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "%d samples have fewer than three stable markers and keep the last head motion",
               held);
    if (status == SINEW_OK) {
        put_motion(c, motion);
        motion = NULL, c->info.head_moves = true;
    }
    sn_free(stable), sn_free(reference), sn_free(motion);
    return status;
}

/* ---- the map --------------------------------------------------------------------------------- */

static void align_take(sinew_capture *c, const sn_similarity *s) {
    for (int t = 0; t < c->take->time_count; t++)
        for (int i = 0; i < c->take->marker_count; i++) {
            double *p = sn_take_at(c->take, t, i);
            if (isfinite(p[0])) sn_put(p, 0, sn_similarity_apply(s, sn_at(p, 0)));
        }
}

/* A take of this face that lies elsewhere is put back there in the end, like head motion. */
static sinew_status stay(sinew_capture *c, const sn_similarity *s, sinew_error *error) {
    c->motion = SN_NEW(sinew_rigid, c->take->time_count);
    if (!c->motion) return sn_no_memory(error);
    sn_mat3 back = sn_mat3_transpose(s->rotation);
    for (int t = 0; t < c->take->time_count; t++) {
        memcpy(c->motion[t].rotation, &back, sizeof back);
        sn_put(c->motion[t].translation, 0, sn_scale(-1, sn_mat3_apply(back, s->translation)));
    }
    return SINEW_OK;
}

static void log_source(const sinew_capture *c, const sn_automap *found,
                       const sinew_monitor *monitor) {
    static const char *const how[] = {
        [SINEW_MAP_SOURCE_IN_PLACE] =
            "lie on the face and are tied to the nearest points of its skin",
        [SINEW_MAP_SOURCE_BY_NAMES] = "are tied to the face by their names",
        [SINEW_MAP_SOURCE_BY_SHAPE] = "are tied to the face by their arrangement alone"};
    char names[SN_CAPTURE_NAMES_SIZE] = "";
    for (int i = 0; i < found->left_out_count; i++)
        sn_capture_add_name(names, c->take->names[found->left_out[i]]);
    sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "no map: %d of %d markers %s%s%s", found->map->count,
           c->take->marker_count, how[found->source], *names ? "; off the face: " : "", names);
}

/* The axis that the recording calls up becomes that of the rig. Otherwise a take of the rig's own
 * face would be shown where it was recorded: on its back. */
static sinew_status stand_up(sinew_capture *c, const sinew_anatomy *anatomy, sinew_error *error) {
    double left[3], up[3], front[3];
    if (!c->take->up || !sinew_anatomy_axes(anatomy, left, up, front)) return SINEW_OK;
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (up[k] > up[axis]) axis = k;
    return sinew_markers_convert(c->take, NULL, (char)('x' + axis), error);
}

static sinew_status find_map(sinew_capture *c, const sinew_anatomy *given, bool *other_face,
                             const sinew_monitor *monitor, sinew_error *error) {
    c->info.map_source = SINEW_MAP_SOURCE_BY_VERTEX;
    SN_TRY(sn_map_by_name(c->rig, c->take, &c->map, error));
    if (c->map) {
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "no map: %d of %d markers are tied by their names to regions or vertices",
               c->map->count, c->take->marker_count);
        return SINEW_OK;
    }
    sinew_anatomy *own = NULL;
    sn_automap found = {0};
    sinew_status status = given ? SINEW_OK : sinew_anatomy_create(c->rig, monitor, &own, error);
    if (status == SINEW_OK) status = stand_up(c, given ? given : own, error);
    if (status == SINEW_OK)
        status = sn_automap_find(c->rig, given ? given : own, c->take, c->info.neutral_sample,
                                 monitor, &found, error);
    sinew_anatomy_destroy(own);
    SN_TRY(status);
    log_source(c, &found, monitor);
    c->map = found.map, found.map = NULL;
    c->doubts = found.doubts, found.doubts = (sn_map_doubts){0};
    c->info.map_source = found.source, c->info.scale = found.alignment.scale;
    c->info.left_out = found.left_out_count;
    bool moved = found.source != SINEW_MAP_SOURCE_IN_PLACE;
    *other_face = moved && !found.same_face;
    if (moved) align_take(c, &found.alignment);
    if (found.same_face && found.alignment.scale == 1) status = stay(c, &found.alignment, error);
    sn_automap_free(&found);
    return status;
}

/* What the names of the map's markers say. names: as many as the take and the map have. */
static void names_of_map(const sinew_capture *c, sn_marker_name *names) {
    const sinew_markers *take = c->take;
    sn_layout_guess guesses[SN_LAYOUT_GUESSES];
    sn_marker_name *own = names + take->marker_count;
    if (sn_layout_guesses(take, guesses) > 0 && guesses[0].certain)
        sn_layout_names(take, &guesses[0], names);
    else
        sn_marker_names_of(take, names);
    for (int i = 0; i < c->map->count; i++)
        own[i] = c->index[i] >= 0
                     ? names[c->index[i]]
                     : (sn_marker_name){-1, SINEW_SIDE_NONE, false, SN_MARGIN_NONE, NAN};
}

/* Whether it pays to look for the landmarks of the face. */
static bool names_tell(int count, const sn_marker_name *names) {
    int told = 0;
    for (int i = 0; i < count; i++) told += names[i].landmark >= 0;
    return told >= 4;
}

/* A map that was given must fit the take and the face, too. */
static sinew_status check_map(sinew_capture *c, const sinew_anatomy *given,
                              const sinew_monitor *monitor, sinew_error *error) {
    if (c->doubts.count > 0) return SINEW_OK;
    int count = c->map->count, all = c->take->marker_count;
    double *markers = SN_NEW(double, 3 * (size_t)count);
    sn_marker_name *names = SN_NEW(sn_marker_name, (size_t)all + (size_t)count);
    sinew_anatomy *own = NULL;
    sinew_status status =
        markers && names ? sn_map_doubts_create(count, &c->doubts, error) : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < count; i++)
        sn_put(markers, i,
               sn_capture_seen(c, c->info.neutral_sample, i)
                   ? sn_at(sn_take_at(c->take, c->info.neutral_sample, c->index[i]), 0)
                   : sn_v3(NAN, NAN, NAN));
    if (status == SINEW_OK) names_of_map(c, names);
    if (status == SINEW_OK && !given && names_tell(count, names + all))
        status = sinew_anatomy_create(c->rig, monitor, &own, error);
    if (status == SINEW_OK) {
        sn_map_facts facts = {given ? given : own, names + all, true};
        status = sn_map_check(&facts, count, c->map->names, markers, c->points, &c->doubts, error);
    }
    sinew_anatomy_destroy(own);
    sn_free(markers), sn_free(names);
    return status;
}

static void log_doubts(const sinew_capture *c, const sinew_monitor *monitor) {
    for (int i = 0; i < c->map->count; i++)
        if (c->doubts.count && *c->doubts.reason[i])
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "marker '%s' is in doubt: it %s",
                   c->map->names[i], c->doubts.reason[i]);
}

/* ---- creation -------------------------------------------------------------------------------- */

static sinew_status copy_take(const sinew_markers *take, sinew_markers **copy, sinew_error *error) {
    SN_TRY(sinew_markers_create(take->marker_count, take->time_count, copy, error));
    size_t times = (size_t)take->time_count, numbers = 3 * times * (size_t)take->marker_count;
    memcpy((*copy)->times, take->times, sizeof(double) * times);
    memcpy((*copy)->positions, take->positions, sizeof(double) * numbers);
    memcpy((*copy)->unit, take->unit, sizeof take->unit);
    (*copy)->up = take->up;
    if (take->residuals) {
        size_t count = times * (size_t)take->marker_count;
        (*copy)->residuals = sn_memdup(take->residuals, count, sizeof(float));
        if (!(*copy)->residuals) return sn_no_memory(error);
    }
    for (int i = 0; i < take->marker_count; i++)
        SN_TRY(sinew_markers_set_name(*copy, i, take->names[i], error));
    return SINEW_OK;
}

static sinew_status mend_labels(sinew_capture *c, const sinew_monitor *monitor,
                                sinew_error *error) {
    bool *touched = SN_NEW0(bool, c->take->marker_count + 1);
    if (!touched) return sn_no_memory(error);
    sinew_status status = sn_take_mend_labels(c->take, &c->info.relabeled, touched, error);
    if (status == SINEW_OK && c->info.relabeled > 0) {
        char names[SN_CAPTURE_NAMES_SIZE] = "";
        for (int i = 0; i < c->take->marker_count; i++)
            if (touched[i]) sn_capture_add_name(names, c->take->names[i]);
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "labels were exchanged in the take; %d positions got theirs back: %s",
               c->info.relabeled, names);
    }
    sn_free(touched);
    return status;
}

static sinew_status bind(sinew_capture *c, const sinew_monitor *monitor, sinew_error *error) {
    int count = c->map->count, markers = c->take->marker_count;
    c->index = SN_NEW(int, count);
    c->points = SN_NEW(double, 3 * (size_t)count);
    if (!c->index || !c->points) return sn_no_memory(error);
    const sinew_mesh *mesh = c->rig->neutral;
    sinew_marker_map_points(c->map, mesh, mesh->positions, c->points);
    c->info.used = sinew_marker_map_bind(c->map, c->take, c->index);
    if (c->info.used == 0)
        return sn_fail(error, SINEW_BAD_INPUT, "none of the take's %d markers is in the map",
                       markers);
    if (c->info.used < count || c->info.used < markers) {
        char names[SN_CAPTURE_NAMES_SIZE] = "";
        for (int i = 0; i < count; i++)
            if (c->index[i] < 0) sn_capture_add_name(names, c->map->names[i]);
        sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
               "%d of the map's %d and of the take's %d markers are used%s%s", c->info.used, count,
               markers, *names ? "; not in the take: " : "", names);
    }
    for (int t = 0; t < c->take->time_count; t++)
        for (int i = 0; i < count; i++)
            if (sn_capture_seen(c, t, i)) return SINEW_OK;
    sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "no sample of the take shows any marker");
    return SINEW_OK;
}

static sinew_status go_on(double fraction, const sinew_monitor *monitor, sinew_error *error) {
    sn_progress(monitor, fraction, "take");
    return sn_cancelled(monitor) ? sn_fail(error, SINEW_CANCELLED, "cancelled") : SINEW_OK;
}

static sinew_status build(sinew_capture *c, const sinew_markers *take,
                          const sinew_capture_options *options, const sinew_monitor *monitor,
                          sinew_error *error) {
    const sinew_mesh *mesh = c->rig->neutral;
    bool other_face = false;
    if (take->time_count < 1) return sn_fail(error, SINEW_BAD_INPUT, "the take has no samples");
    SN_TRY(copy_take(take, &c->take, error));
    c->diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    for (int i = 0; i < mesh->vertex_count; i++)
        c->center = sn_add_scaled(c->center, 1.0 / mesh->vertex_count, sn_at(mesh->positions, i));
    c->info.samples = take->time_count, c->info.markers = take->marker_count;
    c->info.scale = 1;
    double duration = take->times[take->time_count - 1] - take->times[0];
    c->info.rate = duration > 0 ? (take->time_count - 1) / duration : 0;
    SN_TRY(go_on(0, monitor, error));
    if (!options->map) SN_TRY(keep_one_face(c, monitor, error));
    SN_TRY(mend_labels(c, monitor, error));
    SN_TRY(go_on(0.25, monitor, error));
    SN_TRY(find_neutral(c, options->neutral_sample, error));
    /* before the map, which places only the markers of the neutral sample */
    c->trust = SN_NEW(float, (size_t)take->time_count *(size_t)take->marker_count);
    if (!c->trust) return sn_no_memory(error);
    c->info.filled = sn_take_fill(c->take, c->trust);
    if (options->map) {
        SN_TRY(sinew_marker_map_check(options->map, mesh, error));
        SN_TRY(sinew_marker_map_copy(options->map, &c->map, error));
    } else {
        SN_TRY(find_map(c, options->anatomy, &other_face, monitor, error));
    }
    SN_TRY(bind(c, monitor, error));
    if (options->map || c->info.map_source == SINEW_MAP_SOURCE_BY_VERTEX)
        SN_TRY(sn_capture_turn_up(c, error));
    SN_TRY(check_map(c, options->anatomy, monitor, error));
    c->info.doubtful = c->doubts.doubtful;
    log_doubts(c, monitor);
    SN_TRY(go_on(0.5, monitor, error));
    SN_TRY(sn_capture_weigh_residuals(c, error));
    SN_TRY(stabilise(c, options->stable, monitor, error));
    SN_TRY(go_on(0.75, monitor, error));
    SN_TRY(sn_take_smooth(c->take, c->trust, c->info.rate, options->cutoff,
                          c->info.head_moves ? c->motion : NULL, &c->info.cutoff, &c->info.noise,
                          error));
    if (options->retarget || other_face) return sn_capture_retarget(c, monitor, error);
    return sn_capture_check_points(c, options->rig_unit, monitor, error);
}

sinew_status sinew_capture_create(const sinew_rig *rig, const sinew_markers *take,
                                  const sinew_capture_options *options,
                                  const sinew_monitor *monitor, sinew_capture **capture,
                                  sinew_error *error) {
    SN_REQUIRE(rig && take && capture, error);
    *capture = NULL;
    sinew_capture_options defaults;
    sinew_capture_options_init(&defaults);
    if (options)
        memcpy(&defaults, options,
               options->size < sizeof defaults ? options->size : sizeof defaults);
    sinew_capture *made = SN_NEW0(sinew_capture, 1);
    if (!made) return sn_no_memory(error);
    made->rig = rig;
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = build(made, take, &defaults, monitor, error);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK) {
        sinew_capture_destroy(made);
        return status;
    }
    *capture = made;
    return SINEW_OK;
}

void sinew_capture_destroy(sinew_capture *c) {
    if (!c) return;
    sinew_markers_destroy(c->take);
    sinew_marker_map_destroy(c->map);
    sn_map_doubts_free(&c->doubts);
    sn_free(c->index), sn_free(c->points), sn_free(c->motion), sn_free(c->trust);
    sn_free(c);
}

void sinew_capture_get_info(const sinew_capture *c, sinew_capture_info *info) {
    uint32_t size = info->size < sizeof *info ? info->size : (uint32_t)sizeof *info;
    sinew_capture_info full = c->info;
    full.size = size;
    memcpy(info, &full, size);
}

const sinew_marker_map *sinew_capture_map(const sinew_capture *c) {
    return c ? c->map : NULL;
}

const char *sinew_capture_doubt(const sinew_capture *c, int marker) {
    bool doubt = c && marker >= 0 && marker < c->doubts.count && *c->doubts.reason[marker];
    return doubt ? c->doubts.reason[marker] : NULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The samples before and after a time and how far it is between them, 0 to 1; constant outside. */
static double between_samples(const sinew_markers *take, double time, int *before, int *after) {
    int low = 0, high = take->time_count;
    while (low < high) { /* the first sample later than the time */
        int middle = low + (high - low) / 2;
        if (take->times[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    *before = low > 0 ? low - 1 : 0;
    *after = low < take->time_count ? low : take->time_count - 1;
    double step = take->times[*after] - take->times[*before];
    return step > 0 ? (time - take->times[*before]) / step : 0;
}

void sinew_capture_sample(const sinew_capture *c, double time, double *markers) {
    int before, after;
    double t = between_samples(c->take, time, &before, &after);
    for (int i = 0; i < c->map->count; i++) {
        sn_vec3 p = {NAN, NAN, NAN};
        if (c->index[i] >= 0) {
            p = sn_at(sn_take_at(c->take, before, c->index[i]), 0);
            if (t > 0) p = sn_lerp(p, sn_at(sn_take_at(c->take, after, c->index[i]), 0), t);
        }
        sn_put(markers, i, p);
    }
}

void sinew_capture_weights(const sinew_capture *c, double time, double *weights) {
    int before, after_it, n = c->take->marker_count;
    double t = between_samples(c->take, time, &before, &after_it);
    for (int i = 0; i < c->map->count; i++) {
        weights[i] = 0;
        if (c->index[i] < 0) continue;
        double a = (double)c->trust[(size_t)before * (size_t)n + (size_t)c->index[i]];
        double b = (double)c->trust[(size_t)after_it * (size_t)n + (size_t)c->index[i]];
        weights[i] = (c->map->weights ? c->map->weights[i] : 1) * (t > 0 ? fmin(a, b) : a);
    }
}

void sinew_capture_head(const sinew_capture *c, double time, sinew_rigid *motion) {
    int before, after;
    double t = between_samples(c->take, time, &before, &after);
    if (!c->motion)
        *motion = none;
    else if (t > 0)
        *motion = sn_rigid_between(&c->motion[before], &c->motion[after], t, c->center);
    else
        *motion = c->motion[before];
}
