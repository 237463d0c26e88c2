/* Markers tell some sliders and not others. A slider that moves no marker is left alone by least
 * squares; one that moves a marker a little, as a gaze moves the lids, is sent far to explain what
 * other sliders should. Both are held, the second kind by its name. */
#include "rig/marker_sliders.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "algebra/dense.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/vec3.h"
#include "rig/marker_rows.h"
#include "rig/names.h"

const char *sinew_fit_slider_reason(sinew_fit_slider choice) {
    static const char *const reasons[] = {
        [SINEW_FIT_SLIDER_SOLVED] = "solved",     [SINEW_FIT_SLIDER_GAZE] = "gaze",
        [SINEW_FIT_SLIDER_PUPIL] = "pupil",       [SINEW_FIT_SLIDER_TONGUE] = "tongue",
        [SINEW_FIT_SLIDER_IDENTITY] = "identity", [SINEW_FIT_SLIDER_UNOBSERVED] = "unobserved",
        [SINEW_FIT_SLIDER_EXCLUDED] = "excluded"};
    int index = (int)choice;
    return index >= 0 && index <= SINEW_FIT_SLIDER_EXCLUDED ? reasons[index] : "unknown";
}

static sinew_fit_slider choose_by_name(const char *slider) {
    static const struct {
        const char *word;
        bool anywhere; /* otherwise at the beginning */
        sinew_fit_slider choice;
    } words[] = {
        {"eyelook", false, SINEW_FIT_SLIDER_GAZE},     {"eyeslook", false, SINEW_FIT_SLIDER_GAZE},
        {"eyesturn", false, SINEW_FIT_SLIDER_GAZE},    {"gaze", true, SINEW_FIT_SLIDER_GAZE},
        {"pupil", true, SINEW_FIT_SLIDER_PUPIL},       {"tongue", true, SINEW_FIT_SLIDER_TONGUE},
        {"identity", false, SINEW_FIT_SLIDER_IDENTITY}};
    sn_name name = sn_name_parse(slider);
    sn_name_translate_facs(&name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = strstr(name.base, words[i].word);
        if (found && (words[i].anywhere || found == name.base)) return words[i].choice;
    }
    return SINEW_FIT_SLIDER_SOLVED;
}

/* Whether a marker moves by enough of what the slider's targets move at most. */
static void choose_observed(const sinew_rig *rig, int markers, const double *rows,
                            sinew_fit_slider *choice) {
    for (int s = 0; s < rig->slider_count; s++) {
        double most = 0, seen = 0;
        for (int k = 0; k < rig->target_count; k++) {
            const sinew_target *target = &rig->targets[k];
            if (target->slider != s) continue;
            for (int i = 0; i < target->count; i++)
                most = fmax(most, sn_length(sn_at(target->deltas, i)));
            for (int i = 0; i < markers; i++)
                seen = fmax(seen, sn_length(sn_at(rows + 3 * (size_t)markers * (size_t)k, i)));
        }
        if (choice[s] == SINEW_FIT_SLIDER_SOLVED && !(seen > SINEW_FIT_OBSERVED * most))
            choice[s] = SINEW_FIT_SLIDER_UNOBSERVED;
    }
}

/* Marks the sliders that the list names. */
static sinew_status mark_listed(const sinew_rig *rig, const char *what, const char *list,
                                bool *listed, sinew_error *error) {
    const char *name;
    size_t length;
    while (sn_list_next(&list, &name, &length)) {
        char text[SN_NAME_HINT_SIZE];
        int found = 0, sliders[2];
        snprintf(text, sizeof text, "%.*s", (int)length, name);
        if (length > 0 && name[length - 1] == '*') {
            for (int s = 0; s < rig->slider_count; s++)
                if (!strncasecmp(rig->sliders[s].name, name, length - 1)) listed[s] = true, found++;
        } else {
            found = sinew_rig_match(rig, text, sliders);
            for (int i = 0; i < found; i++) listed[sliders[i]] = true;
        }
        if (found > 0) continue;
        char hint[SN_NAME_HINT_SIZE];
        SN_TRY(sn_slider_hint(rig, text, hint, error));
        return sn_fail(error, SINEW_BAD_INPUT, "%s: the rig has no slider '%s'; %s", what, text,
                       hint);
    }
    return SINEW_OK;
}

static sinew_status apply_lists(const sinew_rig *rig, const char *only, const char *also,
                                const char *without, bool *listed, sinew_fit_slider *choice,
                                sinew_error *error) {
    size_t bytes = sizeof(bool) * (size_t)rig->slider_count;
    if (only && *only) {
        memset(listed, 0, bytes);
        SN_TRY(mark_listed(rig, "only", only, listed, error));
        for (int s = 0; s < rig->slider_count; s++)
            choice[s] = listed[s] ? SINEW_FIT_SLIDER_SOLVED : SINEW_FIT_SLIDER_EXCLUDED;
    }
    if (also && *also) {
        memset(listed, !strcmp(also, "all"), bytes);
        if (strcmp(also, "all") != 0) SN_TRY(mark_listed(rig, "also", also, listed, error));
        for (int s = 0; s < rig->slider_count; s++)
            if (listed[s]) choice[s] = SINEW_FIT_SLIDER_SOLVED;
    }
    if (without && *without) {
        memset(listed, 0, bytes);
        SN_TRY(mark_listed(rig, "without", without, listed, error));
        for (int s = 0; s < rig->slider_count; s++)
            if (listed[s]) choice[s] = SINEW_FIT_SLIDER_EXCLUDED;
    }
    return SINEW_OK;
}

sinew_status sinew_fit_choose_sliders(const sinew_rig *rig, const sinew_marker_map *map,
                                      const char *only, const char *also, const char *without,
                                      sinew_fit_slider *choice, sinew_error *error) {
    SN_REQUIRE(rig && map && choice, error);
    size_t height = 3 * (size_t)map->count;
    double *rows = SN_NEW(double, height *(size_t)rig->target_count + 1);
    bool *listed = SN_NEW(bool, rig->slider_count + 1);
    sinew_status status =
        rows && listed ? sn_marker_rows(rig, map, rows, error) : sn_no_memory(error);
    for (int s = 0; s < rig->slider_count; s++) choice[s] = choose_by_name(rig->sliders[s].name);
    if (status == SINEW_OK) choose_observed(rig, map->count, rows, choice);
    if (status == SINEW_OK) status = apply_lists(rig, only, also, without, listed, choice, error);
    sn_free(rows), sn_free(listed);
    SN_TRY(status);
    bool lists = (only && *only) || (without && *without);
    for (int s = 0; lists && s < rig->slider_count; s++)
        if (choice[s] == SINEW_FIT_SLIDER_SOLVED) lists = false;
    if (!lists) return SINEW_OK;
    return sn_fail(error, SINEW_BAD_INPUT,
                   "only, without: none of the rig's %d sliders is left to solve for",
                   rig->slider_count);
}

sinew_status sn_fit_held(const sinew_rig *rig, const sinew_marker_map *map, bool *held,
                         sinew_error *error) {
    sinew_fit_slider *choice = SN_NEW(sinew_fit_slider, rig->slider_count + 1);
    if (!choice) return sn_no_memory(error);
    sinew_status status = sinew_fit_choose_sliders(rig, map, NULL, NULL, NULL, choice, error);
    for (int s = 0; status == SINEW_OK && s < rig->slider_count; s++)
        held[s] = choice[s] != SINEW_FIT_SLIDER_SOLVED;
    sn_free(choice);
    return status;
}

void sn_fit_held_targets(const sinew_rig *rig, const bool *sliders, bool *targets) {
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *target = &rig->targets[k];
        targets[k] = target->slider >= 0 && sliders[target->slider];
        for (int d = 0; d < target->driver_count; d++)
            if (sliders[target->drivers[d]]) targets[k] = true;
    }
}

/* ---- how well the rest is told --------------------------------------------------------------- */

/* A column per solved slider, of length 1; returns how many. `which`: their sliders. */
static int unit_columns(const sinew_rig *rig, int height, const double *rows, const bool *held,
                        double *columns, int *which) {
    int count = 0;
    for (int k = 0; k < rig->target_count; k++) {
        const sinew_target *target = &rig->targets[k];
        if (target->kind != SINEW_TARGET_KIND_PLAIN || held[target->slider]) continue;
        const double *row = rows + (size_t)height * (size_t)k;
        double *column = columns + (size_t)height * (size_t)count, square = 0;
        for (int i = 0; i < height; i++) square += row[i] * row[i];
        for (int i = 0; i < height; i++) column[i] = square > 0 ? row[i] / sqrt(square) : 0;
        which[count++] = target->slider;
    }
    return count;
}

/* The sliders with the largest part in the direction that markers tell least. */
static void find_weakest(int count, const double *vector, const int *which, int weakest[4]) {
    int chosen[4] = {-1, -1, -1, -1};
    for (int place = 0; place < 4; place++) {
        double most = 0.2; /* of a vector of length 1 */
        for (int i = 0; i < count; i++) {
            bool taken = false;
            for (int p = 0; p < place; p++) taken = taken || chosen[p] == i;
            if (!taken && fabs(vector[i]) > most) most = fabs(vector[i]), chosen[place] = i;
        }
        if (chosen[place] >= 0) weakest[place] = which[chosen[place]];
    }
}

sinew_status sn_fit_condition(const sinew_rig *rig, int height, const double *rows,
                              const bool *held, sinew_fit_summary *summary, sinew_error *error) {
    size_t n = (size_t)rig->target_count;
    for (int s = 0; s < rig->slider_count; s++) held[s] ? summary->held++ : summary->solved++;
    double *columns = SN_NEW(double, (size_t)height *n + 1);
    double *gram = SN_NEW(double, n *n + 1), *values = SN_NEW(double, n + 1);
    int *which = SN_NEW(int, n + 1);
    sinew_status status = columns && gram && values && which ? SINEW_OK : sn_no_memory(error);
    int count = 0;
    if (status == SINEW_OK) {
        count = unit_columns(rig, height, rows, held, columns, which);
        sn_dense_gram(height, count, 1, columns, 0, gram);
        /* increasing values, vectors in the columns */
        if (count > 0) status = sn_dense_eigen(count, gram, values, error);
    }
    summary->condition = 1;
    if (status == SINEW_OK && count > 0) {
        double least = values[0], most = values[count - 1];
        /* sums of squares are exact to about 1e-15 of the largest */
        summary->condition = least > 1e-13 * most ? sqrt(most / least) : INFINITY;
        find_weakest(count, gram, which, summary->weakest);
    }
    sn_free(columns), sn_free(gram), sn_free(values), sn_free(which);
    return status;
}
