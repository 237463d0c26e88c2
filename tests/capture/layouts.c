/* Takes of numbered landmarks: lids and lips on their own side, and layouts known by their numbers.
 */
#include "capture/marker_layouts.h"
#include "groups.h"
#include "heads.h"
#include "sinew/capture.h"
#include "support.h"

/* Points across an opening from each other. */
static const int pairs[][2] = {{37, 41}, {38, 40}, {43, 47}, {44, 46},
                               {61, 67}, {62, 66}, {63, 65}};

static double distance(const double *a, const double *b) {
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

static const double *truth(const head *h, int point) {
    return h->rig->neutral->positions + 3 * h->points[point];
}

/* Every point of a lid or lip is nearer to its own place than to the one across, and near. Returns
 * how many were compared. */
static int expect_own_sides(const head *from, const head *to, const sinew_capture *capture,
                            int first) {
    const sinew_marker_map *map = sinew_capture_map(capture);
    double sum = 0;
    int compared = 0;
    for (int i = 0; i < map->count; i++) {
        const char *digits = map->names[i] + strcspn(map->names[i], "0123456789");
        int point = atoi(digits) - first, opposite = -1;
        double p[3];
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
            for (int j = 0; j < 2; j++)
                if (pairs[k][j] == point) opposite = pairs[k][1 - j];
        if (opposite < 0) continue;
        point_of(to->rig, map, i, p);
        double off = distance(p, truth(to, point)) / to->eyes * 62;
        double apart = distance(truth(to, point), truth(to, opposite)) / to->eyes * 62;
        if (apart > 3 && distance(p, truth(to, opposite)) < distance(p, truth(to, point)))
            fail_msg("%s on %s: point %d sits across the opening", from->name, to->name, point);
        if (off > 7.5)
            fail_msg("%s on %s: point %d is %.1f mm off", from->name, to->name, point, off);
        sum += off, compared++;
    }
    if (sum / compared > 3.5)
        fail_msg("%s on %s: %.1f mm on average", from->name, to->name, sum / compared);
    return compared;
}

/* With the anatomy that is there already: it takes longer than all the rest. */
static sinew_status attach(const head *to, const sinew_markers *take, sinew_capture **capture,
                           sinew_error *error) {
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.anatomy = to->anatomy;
    return sinew_capture_create(to->rig, take, &options, NULL, capture, error);
}

static void points_of_another_face_stay_on_their_lids_and_lips(void **state) {
    heads *h = *state;
    sinew_error error;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < HEADS; j++) {
            const head *from = &h->all[i], *to = &h->all[j];
            if (i == j || !from->rig || !to->rig) continue;
            sinew_capture *capture;
            sinew_markers *take = layout_take(from, "lm_", 1, NULL);
            assert_ok(attach(to, take, &capture, &error));
            assert_int_equal(expect_own_sides(from, to, capture, 1), 14);
            for (int k = 0; k < LAYOUT_POINTS; k++)
                if (sinew_capture_doubt(capture, k))
                    fail_msg("%s on %s: point %d is in doubt: it %s", from->name, to->name, k,
                             sinew_capture_doubt(capture, k));
            sinew_capture_destroy(capture);
            sinew_markers_destroy(take);
        }
}

/* Where it lies near the skin as it is, too: the nearest points have other proportions. */
static void points_of_another_face_are_known_at_the_same_position(void **state) {
    heads *h = *state;
    sinew_error error;
    for (int i = 0; i < 2; i++) {
        const head *from = &h->all[i], *to = &h->all[1 - i];
        sinew_markers *take = layout_take(from, "lm_", 1, NULL);
        for (int t = 0; t < take->time_count; t++)
            for (int k = 0; k < LAYOUT_POINTS; k++)
                memcpy(take->positions + 3 * (t * LAYOUT_POINTS + k), truth(from, k),
                       3 * sizeof(double));
        sinew_capture *capture;
        assert_ok(attach(to, take, &capture, &error));
        sinew_capture_info info = {.size = sizeof info};
        sinew_capture_get_info(capture, &info);
        assert_int_equal(info.map_source, SINEW_MAP_SOURCE_BY_NAMES);
        sinew_capture_destroy(capture);
        sinew_markers_destroy(take);
    }
}

/* Numbers of a take from the 68 points: those of other layouts that are derived from it, or with
 * some missing. */
static void layouts_are_known_with_points_missing(void **state) {
    heads *h = *state;
    sinew_error error;
    for (int variant = 0; variant < 8; variant++)
        for (int first = 0; first < 2; first++) {
            bool kept[LAYOUT_POINTS];
            for (int i = 0; i < LAYOUT_POINTS; i++) {
                bool jaw = i < 17, inner = i == 60 || i == 64;
                kept[i] = variant == 0   ? !inner
                          : variant == 1 ? !jaw && !inner
                          : variant == 2 ? !jaw
                          : variant == 3 ? i % 7 != 3
                          : variant == 4 ? i > 16 /* their own numbers: 17 to 67 */
                          : variant == 5 ? i != 30
                          : variant == 6 ? i < 67 && i % 5 != 1
                                         : true;
            }
            sinew_markers *take = layout_take(&h->all[0], "p", first, kept);
            bool renumbered = variant < 3;
            for (int i = 0; renumbered && i < take->marker_count; i++) {
                char name[16];
                snprintf(name, sizeof name, "p%d", first + i);
                assert_ok(sinew_markers_set_name(take, i, name, &error));
            }
            sinew_capture *capture;
            assert_ok(attach(&h->all[1], take, &capture, &error));
            sinew_capture_info info = {.size = sizeof info};
            sinew_capture_get_info(capture, &info);
            if (info.map_source != SINEW_MAP_SOURCE_BY_NAMES)
                fail_msg("variant %d from %d: not known by its numbers", variant, first);
            if (!renumbered) expect_own_sides(&h->all[0], &h->all[1], capture, first);
            sinew_capture_destroy(capture);
            sinew_markers_destroy(take);
        }
}

/* Points of a take between two others. */
static void between(const sinew_markers *from, double a, sinew_markers *to, int marker) {
    int low = (int)a, high = low + (a > low);
    for (int t = 0; t < to->time_count; t++)
        for (int k = 0; k < 3; k++) {
            const double *row = from->positions + 3 * t * from->marker_count;
            to->positions[3 * (t * to->marker_count + marker) + k] =
                row[3 * low + k] + (a - low) * (row[3 * high + k] - row[3 * low + k]);
        }
}

/* The 98 points of WFLW, made from the 68. */
static void ninety_eight_points_are_known(void **state) {
    heads *h = *state;
    sinew_error error;
    sinew_markers *from = layout_take(&h->all[0], "p", 0, NULL), *take;
    assert_ok(sinew_markers_create(98, from->time_count, &take, &error));
    memcpy(take->times, from->times, sizeof(double) * (size_t)from->time_count);
    for (int i = 0; i < 98; i++) {
        char name[16];
        snprintf(name, sizeof name, "wflw-%d", i);
        assert_ok(sinew_markers_set_name(take, i, name, &error));
    }
    for (int i = 0; i < 33; i++) between(from, 0.5 * i, take, i);
    for (int i = 0; i < 9; i++) {
        between(from, i < 5 ? 17 + i : 21 - (i - 4), take, 33 + i);
        between(from, i < 5 ? 22 + i : 26 - (i - 4), take, 42 + i);
    }
    for (int i = 0; i < 4; i++) between(from, 27 + i, take, 51 + i);
    for (int i = 0; i < 5; i++) between(from, 31 + i, take, 55 + i);
    static const double eye[] = {0, 1, 1.5, 2, 3, 4, 4.5, 5};
    for (int i = 0; i < 8; i++) {
        between(from, 36 + eye[i], take, 60 + i);
        between(from, 42 + eye[i], take, 68 + i);
    }
    for (int i = 0; i < 12; i++) between(from, 48 + i, take, 76 + i);
    for (int i = 0; i < 8; i++) between(from, 60 + i, take, 88 + i);
    between(from, 37.5, take, 96), between(from, 43.5, take, 97);
    sinew_capture *capture;
    assert_ok(attach(&h->all[1], take, &capture, &error));
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(capture, &info);
    assert_int_equal(info.map_source, SINEW_MAP_SOURCE_BY_NAMES);
    const sinew_marker_map *map = sinew_capture_map(capture);
    static const int same[][2] = {{61, 37}, {63, 38}, {65, 40}, {67, 41}, {69, 43},
                                  {71, 44}, {73, 46}, {75, 47}, {90, 62}, {94, 66}};
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        double p[3];
        point_of(h->all[1].rig, map, same[k][0], p);
        assert_below(distance(p, truth(&h->all[1], same[k][1])) / h->all[1].eyes * 62, 7.5);
    }
    sinew_capture_destroy(capture);
    sinew_markers_destroy(take), sinew_markers_destroy(from);
}

/* Markers of an optical set that happen to be numbered, with some missing. */
static void other_numbers_are_no_layout(void **state) {
    heads *h = *state;
    sinew_error error;
    sinew_markers *take = layout_take(&h->all[0], "M", 1, NULL);
    sn_layout_guess guesses[SN_LAYOUT_GUESSES];
    for (int i = 0; i < take->marker_count; i++) { /* every number on another point */
        char name[16];
        snprintf(name, sizeof name, "M%d", 1 + 23 * i % 68 + (23 * i % 68 > 40));
        assert_ok(sinew_markers_set_name(take, i, name, &error));
    }
    assert_int_equal(sn_layout_guesses(take, guesses), 0); /* up to 69 */
    assert_ok(sinew_markers_set_name(take, 0, "L_Cheek_12", &error));
    assert_int_equal(sn_layout_guesses(take, guesses), 0);
    sinew_markers_destroy(take);
    bool kept[LAYOUT_POINTS];
    for (int i = 0; i < LAYOUT_POINTS; i++) kept[i] = i % 9 != 4;
    take = layout_take(&h->all[0], "M", 1, kept);
    char names[LAYOUT_POINTS][16];
    for (int i = 0; i < take->marker_count; i++)
        snprintf(names[i], sizeof names[i], "%s", take->names[23 * i % take->marker_count]);
    for (int i = 0; i < take->marker_count; i++)
        assert_ok(sinew_markers_set_name(take, i, names[i], &error));
    assert_true(sn_layout_guesses(take, guesses) > 0);
    sinew_capture *capture = NULL; /* the positions do not confirm it: by shape, or not at all */
    if (attach(&h->all[0], take, &capture, &error) == SINEW_OK) {
        sinew_capture_info info = {.size = sizeof info};
        sinew_capture_get_info(capture, &info);
        assert_int_not_equal(info.map_source, SINEW_MAP_SOURCE_BY_NAMES);
        sinew_capture_destroy(capture);
    }
    sinew_markers_destroy(take);
}

/* Markers called PREFIX and a number: `points` of them from `first` on, without the `missing` ones
 * after the third. */
static sinew_markers *numbered_take(const char *prefix, int first, int points, int missing) {
    sinew_error error;
    sinew_markers *take;
    int count = points - missing;
    assert_ok(sinew_markers_create(count, 1, &take, &error));
    for (int k = 0; k < count; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s%d", prefix, first + (k < 3 ? k : k + missing));
        assert_ok(sinew_markers_set_name(take, k, name, &error));
    }
    return take;
}

/* Complete sets say it by their count, some of them for certain; of two sets some may be missing.
 */
static void counts_of_points_say_their_layout(void **state) {
    (void)state;
    static const struct {
        int points, missing, guesses;
        bool certain;
    } rows[] = {
        {68, 0, 1, true},     {51, 0, 1, true},   {66, 0, 1, false},  {49, 0, 1, false},
        {70, 0, 1, false},    {98, 0, 1, false},  {468, 0, 1, true},  {478, 0, 1, true},
        {67, 0, 0, false},    {69, 0, 0, false},  {97, 0, 0, false},  {467, 0, 0, false},
        {68, 1, 1, false},    {68, 28, 1, false}, {68, 29, 0, false}, {51, 1, 0, false},
        {98, 1, 0, false},    {98, 30, 0, false}, {468, 1, 1, false}, {468, 408, 1, false},
        {468, 409, 0, false}, {478, 1, 0, false}, {4, 0, 0, false},   {1, 0, 0, false},
    };
    static const char *const prefixes[] = {"lm_", "p", ""};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int first = 0; first < 2; first++) {
            sinew_markers *take =
                numbered_take(prefixes[i % 3], first, rows[i].points, rows[i].missing);
            sn_layout_guess guesses[SN_LAYOUT_GUESSES];
            int found = sn_layout_guesses(take, guesses);
            if (found != rows[i].guesses || (found && guesses[0].certain != rows[i].certain) ||
                (found && guesses[0].first != first))
                fail_msg("%d points from %d, %d missing: %d guesses, certain %d, first %d",
                         rows[i].points, first, rows[i].missing, found,
                         found ? guesses[0].certain : -1, found ? guesses[0].first : -1);
            sinew_markers_destroy(take);
        }
    /* Numbers that begin too late, names without one, or with another beginning. */
    sn_layout_guess guesses[SN_LAYOUT_GUESSES];
    for (int k = 0; k < 3; k++) {
        sinew_error error;
        sinew_markers *take = numbered_take("p", k == 0 ? 2 : 0, 68, 0);
        if (k) assert_ok(sinew_markers_set_name(take, 40, k == 1 ? "p" : "q40", &error));
        assert_int_equal(sn_layout_guesses(take, guesses), 0);
        sinew_markers_destroy(take);
    }
}

int test_layouts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_another_face_stay_on_their_lids_and_lips),
        cmocka_unit_test(points_of_another_face_are_known_at_the_same_position),
        cmocka_unit_test(layouts_are_known_with_points_missing),
        cmocka_unit_test(ninety_eight_points_are_known),
        cmocka_unit_test(counts_of_points_say_their_layout),
        cmocka_unit_test(other_numbers_are_no_layout),
    };
    return cmocka_run_group_tests_name("layouts", tests, make_heads, drop_heads);
}
