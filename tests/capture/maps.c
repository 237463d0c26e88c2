/* Maps found from names and shape, and maps that do not fit. */
#include "support.h"

#include "capture/marker_layouts.h"
#include "groups.h"
#include "sinew/capture.h"
#include "sinew/samples.h"

typedef struct scene {
    sinew_rig *rig, *other;
    sinew_anatomy *anatomy; /* of the first face, as its take */
    sinew_markers *take;
    sinew_marker_map *map;
} scene;

static int make(void **state) {
    static scene s;
    sinew_error error;
    assert_ok(sinew_sample_rig("face", NULL, &s.rig, &error));
    assert_ok(sinew_sample_rig("face2", NULL, &s.other, &error));
    assert_ok(sinew_sample_markers("face", NULL, NULL, &s.take, &s.map, &error));
    assert_ok(sinew_anatomy_create(s.rig, NULL, &s.anatomy, &error));
    *state = &s;
    return 0;
}

static int drop(void **state) {
    scene *s = *state;
    sinew_anatomy_destroy(s->anatomy);
    sinew_rig_destroy(s->rig), sinew_rig_destroy(s->other);
    sinew_markers_destroy(s->take);
    sinew_marker_map_destroy(s->map);
    return 0;
}

static void names_tell_landmarks_and_sides(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int landmark;
        sinew_side side;
    } rows[] = {
        {"Leye_Up", SINEW_LANDMARK_LID_UPPER, SINEW_SIDE_LEFT},
        {"Reyebrow_Inside", SINEW_LANDMARK_BROW_INNER, SINEW_SIDE_RIGHT},
        {"Eyebrow_Center", SINEW_LANDMARK_BROW_CENTER, SINEW_SIDE_NONE},
        {"NoseTop", SINEW_LANDMARK_NOSE_BRIDGE, SINEW_SIDE_NONE},
        {"NoseHead", SINEW_LANDMARK_NOSE_TIP, SINEW_SIDE_NONE},
        {"NoseHead_L", SINEW_LANDMARK_NOSE_WING, SINEW_SIDE_LEFT},
        {"Mouth_Lend", SINEW_LANDMARK_MOUTH_CORNER, SINEW_SIDE_LEFT},
        {"Mouth_UpR1", SINEW_LANDMARK_LIP_UPPER_SIDE, SINEW_SIDE_RIGHT},
        {"lipCornerRight", SINEW_LANDMARK_MOUTH_CORNER, SINEW_SIDE_RIGHT},
        {"Actor01:L_Outer_Brow", SINEW_LANDMARK_BROW_OUTER, SINEW_SIDE_LEFT},
        {"RBRO3", SINEW_LANDMARK_BROW_MIDDLE, SINEW_SIDE_RIGHT},
        {"LNSTRL", SINEW_LANDMARK_NOSE_WING, SINEW_SIDE_LEFT},
        {"upperlip", SINEW_LANDMARK_LIP_UPPER, SINEW_SIDE_NONE},
        {"left_mouth_corner", SINEW_LANDMARK_MOUTH_CORNER, SINEW_SIDE_LEFT},
        {"RightEyeOuter", SINEW_LANDMARK_EYE_OUTER, SINEW_SIDE_RIGHT},
        {"Chin", SINEW_LANDMARK_CHIN, SINEW_SIDE_NONE},
        {"canthus_in_L", SINEW_LANDMARK_EYE_INNER, SINEW_SIDE_LEFT},
        {"exocanthion_R", SINEW_LANDMARK_EYE_OUTER, SINEW_SIDE_RIGHT},
        {"alare_right", SINEW_LANDMARK_NOSE_WING, SINEW_SIDE_RIGHT},
        {"Subnasale", SINEW_LANDMARK_NOSE_BASE, SINEW_SIDE_NONE},
        {"glabella", SINEW_LANDMARK_BROW_CENTER, SINEW_SIDE_NONE},
        {"L_Cheilion", SINEW_LANDMARK_MOUTH_CORNER, SINEW_SIDE_LEFT},
        {"lf_brow_in", SINEW_LANDMARK_BROW_INNER, SINEW_SIDE_LEFT},
        {"lip_upr_ctr", SINEW_LANDMARK_LIP_UPPER, SINEW_SIDE_NONE},
        {"rt_lip_lwr", SINEW_LANDMARK_LIP_LOWER_SIDE, SINEW_SIDE_RIGHT},
        {"LOBR", SINEW_LANDMARK_BROW_OUTER, SINEW_SIDE_LEFT},
        {"RIEY", SINEW_LANDMARK_EYE_INNER, SINEW_SIDE_RIGHT},
        {"palpebrale_superius_l", SINEW_LANDMARK_LID_UPPER, SINEW_SIDE_LEFT},
        {"labiale_inferius", SINEW_LANDMARK_LIP_LOWER, SINEW_SIDE_NONE},
        {"M017", -1, SINEW_SIDE_NONE},
        {"unlabeled 3", -1, SINEW_SIDE_NONE},
        {"", -1, SINEW_SIDE_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sn_marker_name parsed = sn_marker_name_parse(rows[i].name);
        if (parsed.landmark != rows[i].landmark || parsed.side != rows[i].side)
            fail_msg("'%s' reads as %d on side %d", rows[i].name, parsed.landmark,
                     (int)parsed.side);
    }
    assert_true(sn_marker_name_parse("ForeHead_L").stable);
    assert_true(sn_marker_name_parse("NoseTop").stable);
    assert_false(sn_marker_name_parse("Leyebrow_M").stable);
    assert_false(sn_marker_name_parse("NoseHead").stable);
}

static sinew_markers *take_of_names(int count, const char *const *names) {
    sinew_error error;
    sinew_markers *take;
    assert_ok(sinew_markers_create(count, 1, &take, &error));
    for (int i = 0; i < count; i++) assert_ok(sinew_markers_set_name(take, i, names[i], &error));
    return take;
}

static void an_l_beside_a_u_is_lower_and_not_left(void **state) {
    (void)state;
    static const char *const names[] = {"ULIP",   "LLIP",    "A:LLID", "A:RLID", "A:ULID",
                                        "lip_u",  "LLLID",   "LULID",  "RLLID",  "RULID",
                                        "lo_lip", "LO_BROW", "RO_BROW"};
    enum { COUNT = sizeof names / sizeof *names };
    sinew_error error;
    sinew_markers *take = take_of_names(COUNT, names);
    sn_marker_name parsed[COUNT];
    sn_marker_names_of(take, parsed);
    assert_int_equal(parsed[1].landmark, SINEW_LANDMARK_LIP_LOWER);
    assert_int_equal(parsed[1].side, SINEW_SIDE_NONE);
    assert_int_equal(parsed[2].side, SINEW_SIDE_LEFT); /* it has a right one */
    for (int i = 6; i < 10; i++) {                     /* the second letter of four */
        assert_int_equal(parsed[i].landmark,
                         i % 2 ? SINEW_LANDMARK_LID_UPPER : SINEW_LANDMARK_LID_LOWER);
        assert_int_equal(parsed[i].side, i < 8 ? SINEW_SIDE_LEFT : SINEW_SIDE_RIGHT);
    }
    assert_int_equal(parsed[10].landmark, SINEW_LANDMARK_LIP_LOWER);
    assert_int_equal(parsed[10].side, SINEW_SIDE_NONE);
    assert_int_equal(parsed[11].landmark, SINEW_LANDMARK_BROW_OUTER);
    assert_int_equal(parsed[11].side, SINEW_SIDE_LEFT);
    assert_ok(sinew_markers_set_name(take, 0, "other", &error));
    sn_marker_names_of(take, parsed);
    assert_int_equal(parsed[1].side, SINEW_SIDE_LEFT);
    sinew_markers_destroy(take);
}

/* An unknown word may be a side: "izq_brow" is not between the brows. Most names have the actor's,
 * which says nothing. */
static void a_word_that_is_not_known_may_be_a_side(void **state) {
    (void)state;
    static const char *const names[] = {"bob_izq_brow", "bob_der_brow", "bob_chin", "bob_nose",
                                        "bob_izq_brow_left"};
    sinew_markers *take = take_of_names(5, names);
    sn_marker_name parsed[5];
    sn_marker_names_of(take, parsed);
    assert_int_equal(parsed[0].landmark, -1);
    assert_int_equal(parsed[1].landmark, -1);
    assert_int_equal(parsed[2].landmark, SINEW_LANDMARK_CHIN);
    assert_int_equal(parsed[3].landmark, SINEW_LANDMARK_NOSE_TIP);
    assert_int_equal(parsed[4].landmark, SINEW_LANDMARK_BROW_MIDDLE);
    sinew_markers_destroy(take);
}

/* Whatever comes before the numbers: "lm_12" is not left, and "12" is not a vertex. */
static void layouts_are_known_by_their_numbers(void **state) {
    (void)state;
    sinew_error error;
    for (int k = 0; k < 3; k++)
        for (int first = 0; first < 2; first++) {
            sinew_markers *take;
            assert_ok(sinew_markers_create(68, 1, &take, &error));
            sn_marker_name parsed[68];
            for (int i = 0; i < 68; i++) {
                char name[32];
                snprintf(name, sizeof name,
                         k == 0   ? "%d"
                         : k == 1 ? "lm_%d"
                                  : "Landmark %02d",
                         first + i);
                assert_ok(sinew_markers_set_name(take, i, name, &error));
            }
            sn_layout_guess guesses[SN_LAYOUT_GUESSES];
            assert_int_equal(sn_layout_guesses(take, guesses), 1);
            assert_true(guesses[0].certain);
            sn_layout_names(take, &guesses[0], parsed);
            assert_int_equal(parsed[30].landmark, SINEW_LANDMARK_NOSE_TIP);
            assert_int_equal(parsed[45].landmark, SINEW_LANDMARK_EYE_OUTER);
            assert_int_equal(parsed[45].side, SINEW_SIDE_LEFT);
            assert_ok(sinew_markers_set_name(take, 3, "900", &error)); /* not a layout any more */
            assert_int_equal(sn_layout_guesses(take, guesses), 0);
            sinew_markers_destroy(take);
        }
}

/* The take turned, shifted and in other units. */
static sinew_markers *elsewhere(const sinew_markers *take, int samples, double scale) {
    sinew_error error;
    sinew_markers *made;
    double c = cos(1.1), s = sin(1.1);
    assert_ok(sinew_markers_create(take->marker_count, samples, &made, &error));
    for (int i = 0; i < take->marker_count; i++)
        assert_ok(sinew_markers_set_name(made, i, take->names[i], &error));
    for (int t = 0; t < samples; t++) {
        made->times[t] = take->times[t];
        for (int i = 0; i < take->marker_count; i++) {
            const double *p = take->positions + 3 * (t * take->marker_count + i);
            double *q = made->positions + 3 * (t * take->marker_count + i);
            q[0] = scale * (c * p[0] + s * p[2]) + 300;
            q[1] = scale * (-s * p[0] + c * p[2]) - 20;
            q[2] = -scale * p[1] + 1600;
        }
    }
    return made;
}

/* Vertices of the two faces correspond. Returns the mean distance from the truth in millimeters. */
static double error_of(const sinew_rig *rig, const sinew_capture *capture,
                       const sinew_marker_map *truth, double *worst) {
    const sinew_marker_map *map = sinew_capture_map(capture);
    double sum = 0;
    int found = 0;
    *worst = 0;
    for (int i = 0; i < map->count; i++) {
        double p[3] = {0, 0, 0}, d = 0;
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 3; a++)
                p[a] += map->barycentric[3 * i + k] *
                        rig->neutral
                            ->positions[3 * rig->neutral->triangles[3 * map->triangles[i] + k] + a];
        for (int j = 0; j < truth->count; j++) {
            if (strcmp(map->names[i], truth->names[j])) continue;
            d = 0;
            for (int a = 0; a < 3; a++)
                d += pow(p[a] - rig->neutral->positions[3 * truth->vertices[j] + a], 2);
            d = 1000 * sqrt(d), sum += d, found++;
            *worst = fmax(*worst, d);
        }
    }
    assert_int_equal(found, map->count);
    return sum / found;
}

static void named_takes_find_their_points_on_either_face(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_markers *take = elsewhere(s->take, 3, 1000);
    sinew_rig *rigs[] = {s->rig, s->other};
    for (int k = 0; k < 2; k++) {
        sinew_capture *capture;
        assert_ok(sinew_capture_create(rigs[k], take, NULL, NULL, &capture, &error));
        sinew_capture_info info = {.size = sizeof info};
        sinew_capture_get_info(capture, &info);
        assert_int_equal(info.map_source, SINEW_MAP_SOURCE_BY_NAMES);
        assert_int_equal(info.used, take->marker_count);
        assert_close(info.scale, 0.001, 0.0002);
        double worst, mean = error_of(rigs[k], capture, s->map, &worst);
        assert_below(mean, 5);
        assert_below(worst, 16);
        /* at rest the markers lie on their points */
        double *row = malloc(sizeof(double) * 3 * (size_t)info.used);
        double *points = malloc(sizeof(double) * 3 * (size_t)info.used);
        sinew_capture_sample(capture, take->times[info.neutral_sample], row);
        sinew_marker_map_points(sinew_capture_map(capture), rigs[k]->neutral,
                                rigs[k]->neutral->positions, points);
        for (int i = 0; i < 3 * info.used; i++) assert_close(row[i], points[i], 1e-3);
        free(row), free(points);
        sinew_capture_destroy(capture);
    }
    sinew_markers_destroy(take);
}

static int marker_named(const sinew_markers *take, const char *name) {
    for (int i = 0; i < take->marker_count; i++)
        if (!strcmp(take->names[i], name)) return i;
    fail_msg("no marker '%s'", name);
    return -1;
}

/* The take with further markers, which jump about between samples unless they are `still`. */
static sinew_markers *with_others(const sinew_markers *take, int count, bool still,
                                  void (*name)(int i, const sinew_markers *take, char text[64])) {
    sinew_error error;
    sinew_markers *made;
    int n = take->marker_count;
    char text[64];
    assert_ok(sinew_markers_create(n + count, take->time_count, &made, &error));
    for (int i = 0; i < n + count; i++) {
        if (i >= n) name(i - n, take, text);
        assert_ok(sinew_markers_set_name(made, i, i < n ? take->names[i] : text, &error));
    }
    for (int t = 0; t < take->time_count; t++) {
        made->times[t] = take->times[t];
        for (int i = 0; i < n + count; i++) {
            double *q = made->positions + 3 * (t * (n + count) + i);
            memcpy(q, take->positions + 3 * (t * n + i % n), 3 * sizeof *q);
            for (int a = 0; i >= n && a < 3; a++)
                q[a] += 0.9 * (still ? 1 : 0.1 * sin(5 * t + 3 * i + a));
        }
    }
    return made;
}

static void name_without_label(int i, const sinew_markers *take, char text[64]) {
    (void)take;
    sprintf(text, i % 2 ? "*%d" : "Take 3:Unlabeled_%d", 100 + i);
}

static void name_of_a_double(int i, const sinew_markers *take, char text[64]) {
    snprintf(text, 64, "Double:%s", take->names[i]);
}

/* The map and the head motion are as if the other markers were not there. */
static void expect_no_effect(const sinew_rig *rig, const sinew_markers *take,
                             const sinew_markers *more) {
    sinew_error error;
    sinew_capture *captures[2];
    const sinew_markers *takes[] = {take, more};
    for (int k = 0; k < 2; k++)
        assert_ok(sinew_capture_create(rig, takes[k], NULL, NULL, &captures[k], &error));
    const sinew_marker_map *maps[2] = {sinew_capture_map(captures[0]),
                                       sinew_capture_map(captures[1])};
    assert_int_equal(maps[0]->count, take->marker_count);
    assert_int_equal(maps[1]->count, take->marker_count);
    for (int i = 0; i < maps[0]->count; i++) {
        assert_string_equal(maps[0]->names[i], maps[1]->names[i]);
        assert_int_equal(maps[0]->triangles[i], maps[1]->triangles[i]);
        for (int a = 0; a < 3; a++)
            assert_close(maps[0]->barycentric[3 * i + a], maps[1]->barycentric[3 * i + a], 1e-9);
    }
    double *rows[2];
    for (int k = 0; k < 2; k++) {
        rows[k] = malloc(sizeof(double) * 3 * (size_t)take->marker_count);
        sinew_capture_sample(captures[k], take->times[take->time_count - 1], rows[k]);
        sinew_capture_destroy(captures[k]);
    }
    for (int i = 0; i < 3 * take->marker_count; i++) assert_close(rows[0][i], rows[1][i], 1e-9);
    free(rows[0]), free(rows[1]);
}

static void markers_without_labels_and_other_subjects_are_left_out(void **state) {
    scene *s = *state;
    sinew_markers *take = elsewhere(s->take, 40, 1);
    sinew_markers *stray = with_others(take, 9, false, name_without_label);
    sinew_markers *both = with_others(take, take->marker_count, true, name_of_a_double);
    expect_no_effect(s->other, take, stray);
    expect_no_effect(s->other, take, both);
    sinew_markers_destroy(stray), sinew_markers_destroy(both), sinew_markers_destroy(take);
}

static void a_marker_that_the_neutral_misses_is_placed_all_the_same(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_markers *take = elsewhere(s->take, 60, 1000);
    int hidden = marker_named(take, "cheekCenterLeft");
    for (int t = 0; t < 40; t++) /* too long to be filled */
        take->positions[3 * (t * take->marker_count + hidden)] = NAN;
    sinew_capture *capture;
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.neutral_sample = 0;
    assert_ok(sinew_capture_create(s->rig, take, &options, NULL, &capture, &error));
    double worst;
    assert_int_equal(sinew_capture_map(capture)->count, take->marker_count);
    assert_below(error_of(s->rig, capture, s->map, &worst), 1);
    assert_below(worst, 3);
    sinew_capture_destroy(capture);
    sinew_markers_destroy(take);
}

static void names_that_do_not_fit_positions_are_doubted_or_refused(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_markers *take = elsewhere(s->take, 3, 1000);
    sinew_capture *capture;
    assert_ok(sinew_markers_set_name(take, marker_named(take, "browInnerLeft"), "x", &error));
    assert_ok(
        sinew_markers_set_name(take, marker_named(take, "browOuterLeft"), "browInnerLeft", &error));
    assert_ok(sinew_markers_set_name(take, marker_named(take, "x"), "browOuterLeft", &error));
    assert_ok(sinew_capture_create(s->rig, take, NULL, NULL, &capture, &error));
    const sinew_marker_map *map = sinew_capture_map(capture);
    int doubted = 0;
    for (int i = 0; i < map->count; i++) {
        const char *reason = sinew_capture_doubt(capture, i);
        if (!reason) continue;
        assert_non_null(strstr(map->names[i], "brow"));
        assert_non_null(strstr(reason, "name"));
        doubted++;
    }
    assert_true(doubted >= 1 && doubted <= 2);
    sinew_capture_destroy(capture);
    char names[128][64]; /* every name on another marker */
    for (int i = 0; i < take->marker_count; i++)
        snprintf(names[i], sizeof names[i], "%s", take->names[i * 23 % take->marker_count]);
    for (int i = 0; i < take->marker_count; i++)
        assert_ok(sinew_markers_set_name(take, i, names[i], &error));
    assert_int_equal(sinew_capture_create(s->rig, take, NULL, NULL, &capture, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "do not fit their positions"));
    sinew_markers_destroy(take);
}

/* "CH1", "CH2" and "CH3" are a row along the chin, and only their middle is its landmark. */
static void markers_that_are_named_alike_are_judged_together(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_markers *take = elsewhere(s->take, 3, 1000);
    static const char *const row[][2] = {
        {"jawCenterLeft", "CH3"}, {"chin", "CH2"}, {"jawCenterRight", "CH1"}};
    for (int i = 0; i < 3; i++)
        assert_ok(sinew_markers_set_name(take, marker_named(take, row[i][0]), row[i][1], &error));
    sinew_capture *capture;
    assert_ok(sinew_capture_create(s->rig, take, NULL, NULL, &capture, &error));
    for (int i = 0; i < take->marker_count; i++)
        if (sinew_capture_doubt(capture, i))
            fail_msg("'%s' %s", sinew_capture_map(capture)->names[i],
                     sinew_capture_doubt(capture, i));
    sinew_capture_destroy(capture);
    /* one of them alone is far from the point of its name */
    assert_ok(sinew_markers_set_name(take, marker_named(take, "CH1"), "x", &error));
    assert_ok(sinew_markers_set_name(take, marker_named(take, "CH2"), "y", &error));
    assert_ok(sinew_capture_create(s->rig, take, NULL, NULL, &capture, &error));
    const char *reason = sinew_capture_doubt(capture, marker_named(take, "CH3"));
    assert_non_null(reason);
    assert_non_null(strstr(reason, "the point of its name"));
    sinew_capture_destroy(capture);
    sinew_markers_destroy(take);
}

static void a_take_that_lies_on_the_face_is_tied_as_it_is(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_capture *capture;
    assert_ok(sinew_capture_create(s->rig, s->take, NULL, NULL, &capture, &error));
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(capture, &info);
    assert_int_equal(info.map_source, SINEW_MAP_SOURCE_IN_PLACE);
    double worst;
    assert_below(error_of(s->rig, capture, s->map, &worst), 0.01);
    sinew_capture_destroy(capture);
}

typedef struct verdict {
    int doubtful;
    char reason[128][160]; /* per marker of the map */
} verdict;

static sinew_status try_map(const scene *s, const sinew_marker_map *map, verdict *v,
                            sinew_error *error) {
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.map = map, options.anatomy = s->anatomy;
    sinew_capture *capture;
    sinew_status status = sinew_capture_create(s->rig, s->take, &options, NULL, &capture, error);
    sinew_capture_info info = {.size = sizeof info};
    memset(v, 0, sizeof *v);
    if (status != SINEW_OK) return status;
    sinew_capture_get_info(capture, &info);
    v->doubtful = info.doubtful;
    for (int i = 0; i < map->count; i++)
        if (sinew_capture_doubt(capture, i))
            snprintf(v->reason[i], sizeof v->reason[i], "%s", sinew_capture_doubt(capture, i));
    sinew_capture_destroy(capture);
    return status;
}

static int index_in(const sinew_marker_map *map, const char *name) {
    int i = 0;
    while (strcmp(map->names[i], name)) i++;
    return i;
}

/* A bar of the size of a face, around its markers: what is nearest says nothing. */
static void markers_of_a_face_are_refused_by_a_rig_without_one(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *bar;
    sinew_markers *take;
    sinew_marker_map *map;
    sinew_capture *capture = NULL;
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    assert_ok(sinew_sample_rig("bar", NULL, &bar, &error));
    assert_ok(sinew_sample_markers("face", NULL, NULL, &take, &map, &error));
    assert_int_equal(sinew_capture_create(bar, take, &options, NULL, &capture, &error),
                     SINEW_BAD_INPUT);
    assert_null(capture);
    assert_non_null(strstr(error.message, "named after points of a face"));
    sinew_rig_destroy(bar);
    sinew_markers_destroy(take), sinew_marker_map_destroy(map);
}

static void swap_vertices(sinew_marker_map *map, const char *a, const char *b) {
    int i = index_in(map, a), j = index_in(map, b), v = map->vertices[i];
    map->vertices[i] = map->vertices[j], map->vertices[j] = v;
}

/* The other side of a name with one. */
static void mirror_name(const char *name, char other[64]) {
    const char *left = strstr(name, "Left"), *right = strstr(name, "Right");
    if (left)
        snprintf(other, 64, "%.*sRight%s", (int)(left - name), name, left + 4);
    else if (right)
        snprintf(other, 64, "%.*sLeft%s", (int)(right - name), name, right + 5);
    else
        snprintf(other, 64, "%s", name);
}

/* Take and map agree, so that no marker is on a wrong side. */
static void names_may_use_the_viewers_sides(void **state) {
    scene *s = *state;
    sinew_error error;
    scene viewed = *s;
    viewed.take = with_others(s->take, 0, true, NULL);
    sinew_marker_map *map;
    assert_ok(sinew_marker_map_copy(s->map, &map, &error));
    for (int i = 0; i < map->count; i++) {
        char other[64];
        mirror_name(s->map->names[i], other);
        assert_ok(sinew_marker_map_set_name(map, i, other, &error));
        assert_ok(sinew_markers_set_name(viewed.take, marker_named(s->take, s->map->names[i]),
                                         other, &error));
    }
    verdict *v = malloc(sizeof *v);
    assert_ok(try_map(&viewed, map, v, &error));
    for (int i = 0; i < map->count; i++)
        if (*v->reason[i]) fail_msg("'%s' %s", map->names[i], v->reason[i]);
    free(v);
    sinew_marker_map_destroy(map);
    sinew_markers_destroy(viewed.take);
}

/* Each by its own reason, which tells how to mend the map. */
static void doubts_say_what_is_wrong_with_a_marker(void **state) {
    scene *s = *state;
    sinew_error error;
    verdict *v = malloc(sizeof *v);
    static const char *const exchanged[][2] = {{"lipCornerLeft", "lipCornerRight"},
                                               {"cheekCenterLeft", "browOuterRight"},
                                               {"chin", "noseTip"}};
    for (int k = 0; k < 3; k++) {
        sinew_marker_map *map;
        char others[2][64];
        assert_ok(sinew_marker_map_copy(s->map, &map, &error));
        swap_vertices(map, exchanged[k][0], exchanged[k][1]);
        assert_ok(try_map(s, map, v, &error));
        assert_true(v->doubtful >= 2 && v->doubtful <= 6);
        for (int i = 0; i < 2; i++) {
            snprintf(others[i], sizeof others[i], "seems exchanged with '%s'", exchanged[k][1 - i]);
            assert_string_equal(v->reason[index_in(map, exchanged[k][i])], others[i]);
        }
        sinew_marker_map_destroy(map);
    }
    /* on the other side, not exchanged: its partner is still where it was */
    static const char *const strays[][3] = {{"noseWingLeft", "noseWingRight", "left"},
                                            {"cheekLowRight", "cheekLowLeft", "right"}};
    for (int k = 0; k < 2; k++) {
        sinew_marker_map *map;
        char reason[64];
        assert_ok(sinew_marker_map_copy(s->map, &map, &error));
        map->vertices[index_in(map, strays[k][0])] = map->vertices[index_in(map, strays[k][1])];
        assert_ok(try_map(s, map, v, &error));
        snprintf(reason, sizeof reason, "is named %s, but sits on the other side", strays[k][2]);
        assert_string_equal(v->reason[index_in(map, strays[k][0])], reason);
        sinew_marker_map_destroy(map);
    }
    free(v);
}

static void wrong_maps_are_recognised(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_marker_map *map;
    verdict *v = malloc(sizeof *v);
    assert_ok(try_map(s, s->map, v, &error));
    assert_int_equal(v->doubtful, 0);
    /* left and right exchanged everywhere */
    assert_ok(sinew_marker_map_copy(s->map, &map, &error));
    for (int i = 0; i < map->count; i++) {
        char other[64];
        const char *left = strstr(map->names[i], "Left");
        if (!left) continue;
        snprintf(other, sizeof other, "%.*sRight", (int)(left - map->names[i]), map->names[i]);
        swap_vertices(map, map->names[i], other);
    }
    assert_int_equal(try_map(s, map, v, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "mirrored"));
    sinew_marker_map_destroy(map);
    /* shuffled */
    assert_ok(sinew_marker_map_copy(s->map, &map, &error));
    uint64_t seed = 5;
    for (int i = map->count - 1; i > 0; i--) {
        int j = (int)((test_random(&seed) + 1) / 2 * (i + 1)), kept = map->vertices[i];
        map->vertices[i] = map->vertices[j], map->vertices[j] = kept;
    }
    assert_int_equal(try_map(s, map, v, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "does not fit"));
    sinew_marker_map_destroy(map);
    free(v);
}

/* By shape the face of the actor is found, to some millimeters, and no other one. */
static void numbered_markers_without_a_layout_find_the_face_of_the_actor(void **state) {
    scene *s = *state;
    sinew_error error;
    sinew_markers *take = elsewhere(s->take, 2, 1000);
    for (int i = 0; i < take->marker_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "M%03d", i);
        assert_ok(sinew_markers_set_name(take, i, name, &error));
    }
    sinew_capture *capture;
    assert_ok(sinew_capture_create(s->rig, take, NULL, NULL, &capture, &error));
    sinew_capture_info info = {.size = sizeof info};
    sinew_capture_get_info(capture, &info);
    assert_int_equal(info.map_source, SINEW_MAP_SOURCE_BY_SHAPE);
    const sinew_marker_map *map = sinew_capture_map(capture);
    double *points = malloc(sizeof(double) * 3 * (size_t)map->count), sum = 0;
    sinew_marker_map_points(map, s->rig->neutral, s->rig->neutral->positions, points);
    for (int i = 0; i < map->count; i++) {
        const double *p = points + 3 * i;
        const double *q = s->rig->neutral->positions + 3 * s->map->vertices[i];
        sum += sqrt(pow(p[0] - q[0], 2) + pow(p[1] - q[1], 2) + pow(p[2] - q[2], 2));
    }
    assert_below(1000 * sum / map->count, 5);
    free(points);
    sinew_capture_destroy(capture);
    assert_int_equal(sinew_capture_create(s->other, take, NULL, NULL, &capture, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "does not fit the face closely"));
    sinew_markers_destroy(take);
}

static sinew_status find_once(void *user) {
    scene *s = user;
    sinew_error error;
    sinew_capture *capture;
    sinew_status status = sinew_capture_create(s->rig, s->take, NULL, NULL, &capture, &error);
    if (status == SINEW_OK) sinew_capture_destroy(capture);
    return status;
}

static void finding_a_map_survives_running_out_of_memory(void **state) {
    (void)state;
    sinew_error error;
    scene small = {0};
    sinew_sample_options few;
    sinew_sample_options_init(&few);
    few.vertices = SINEW_SAMPLE_MIN_VERTICES;
    sinew_markers *take;
    assert_ok(sinew_sample_rig("face", &few, &small.rig, &error));
    assert_ok(sinew_sample_markers("face", &few, NULL, &take, &small.map, &error));
    small.take = elsewhere(take, 2, 10);
    assert_true(test_out_of_memory(find_once, &small) > 30);
    sinew_rig_destroy(small.rig);
    sinew_markers_destroy(small.take), sinew_markers_destroy(take);
    sinew_marker_map_destroy(small.map);
}

int test_maps(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_landmarks_and_sides),
        cmocka_unit_test(named_takes_find_their_points_on_either_face),
        cmocka_unit_test(an_l_beside_a_u_is_lower_and_not_left),
        cmocka_unit_test(a_word_that_is_not_known_may_be_a_side),
        cmocka_unit_test(layouts_are_known_by_their_numbers),
        cmocka_unit_test(markers_without_labels_and_other_subjects_are_left_out),
        cmocka_unit_test(a_marker_that_the_neutral_misses_is_placed_all_the_same),
        cmocka_unit_test(names_that_do_not_fit_positions_are_doubted_or_refused),
        cmocka_unit_test(markers_that_are_named_alike_are_judged_together),
        cmocka_unit_test(a_take_that_lies_on_the_face_is_tied_as_it_is),
        cmocka_unit_test(markers_of_a_face_are_refused_by_a_rig_without_one),
        cmocka_unit_test(names_may_use_the_viewers_sides),
        cmocka_unit_test(doubts_say_what_is_wrong_with_a_marker),
        cmocka_unit_test(wrong_maps_are_recognised),
        cmocka_unit_test(numbered_markers_without_a_layout_find_the_face_of_the_actor),
        cmocka_unit_test(finding_a_map_survives_running_out_of_memory),
    };
    return cmocka_run_group_tests_name("maps", tests, make, drop);
}
