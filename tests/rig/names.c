#include "support.h"

#include "groups.h"
#include "rig/names.h"
#include "rigs.h"

static sinew_rig *named_rig(int count, const char *const *names) {
    sinew_error error = {0};
    sinew_rig *rig = strip_rig(4);
    const int v = 1;
    const double d[] = {0, 1, 0};
    for (int i = 0; i < count; i++)
        assert_ok(sinew_rig_add_target(rig, names[i], 1, &v, d, &error));
    return rig;
}

static const char *const ICT[] = {"browInnerUp_L", "browInnerUp_R", "eyeBlink_L",   "eyeBlink_R",
                                  "jawLeft",       "jawRight",      "jawOpen",      "mouthLeft",
                                  "mouthRight",    "mouthSmile_L",  "mouthSmile_R", "cheekPuff_L",
                                  "cheekPuff_R"};

static void every_spelling_finds_its_slider(void **state) {
    (void)state;
    sinew_rig *rig = named_rig(13, ICT);
    const struct {
        const char *spelling, *slider;
    } cases[] = {{"eyeBlink_L", "eyeBlink_L"},     {"EYEBLINK_r", "eyeBlink_R"},
                 {"eyeBlinkLeft", "eyeBlink_L"},   {"EyeBlinkRight", "eyeBlink_R"},
                 {"eye_blink_left", "eyeBlink_L"}, {"eyeblinkright", "eyeBlink_R"},
                 {"EYEBLINKLEFT", "eyeBlink_L"},   {"eyeBlink.L", "eyeBlink_L"},
                 {"eyeBlinkL", "eyeBlink_L"},      {"eye-left-blink", "eyeBlink_L"},
                 {"JawLeft", "jawLeft"},           {"JawOpen", "jawOpen"},
                 {"MouthRight", "mouthRight"},     {"MouthSmileLeft", "mouthSmile_L"},
                 {"mouth_left", "mouthLeft"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int found = sinew_rig_find_slider(rig, cases[i].spelling);
        if (found < 0) fail_msg("%s is not found", cases[i].spelling);
        assert_string_equal(rig->sliders[found].name, cases[i].slider);
    }
    assert_int_equal(sinew_rig_find_slider(rig, "TongueOut"), -1);
    assert_int_equal(sinew_rig_find_slider(rig, "browInnerUp"), -1);
    assert_int_equal(sinew_rig_find_slider(rig, ""), -1);
    sinew_rig_destroy(rig);
}

static void an_unsided_name_drives_both_sides(void **state) {
    (void)state;
    sinew_rig *rig = named_rig(13, ICT);
    int sliders[2];
    assert_int_equal(sinew_rig_match(rig, "BrowInnerUp", sliders), 2);
    assert_int_equal(sliders[0], 0);
    assert_int_equal(sliders[1], 1);
    assert_int_equal(sinew_rig_match(rig, "CheekPuff", sliders), 2);
    assert_int_equal(sinew_rig_match(rig, "jawOpen", sliders), 1);
    /* jawLeft and jawRight are directions, not halves */
    assert_int_equal(sinew_rig_match(rig, "jaw", sliders), 0);
    assert_int_equal(sinew_rig_match(rig, "mouth", sliders), 0);
    sinew_rig_destroy(rig);
}

/* By number and by name, whatever else the rig has. */
static void every_action_unit_finds_its_own_slider(void **state) {
    (void)state;
    static const struct {
        const char *number, *name, *slider;
    } units[] = {{"AU1", "innerBrowRaiser", "browInnerUp"},
                 {"AU2", "outerBrowRaiser", "browOuterUp"},
                 {"AU4", "browLowerer", "browDown"},
                 {"AU5", "upperLidRaiser", "eyeWide"},
                 {"AU6", "cheekRaiser", "cheekSquint"},
                 {"AU7", "lidTightener", "eyeSquint"},
                 {"AU8", "lipsTowardEachOther", "mouthClose"},
                 {"AU9", "noseWrinkler", "noseSneer"},
                 {"AU10", "upperLipRaiser", "mouthUpperUp"},
                 {"AU12", "lipCornerPuller", "mouthSmile"},
                 {"AU14", "dimpler", "mouthDimple"},
                 {"AU15", "lipCornerDepressor", "mouthFrown"},
                 {"AU16", "lowerLipDepressor", "mouthLowerDown"},
                 {"AU17", "chinRaiser", "mouthShrugLower"},
                 {"AU18", "lipPucker", "mouthPucker"},
                 {"AU19", "tongueShow", "tongueOut"},
                 {"AU20", "lipStretcher", "mouthStretch"},
                 {"AU22", "lipFunneler", "mouthFunnel"},
                 {"AU24", "lipPressor", "mouthPress"},
                 {"AU26", "jawDrop", "jawOpen"},
                 {"AU29", "jawThrust", "jawForward"},
                 {"AU34", "cheekPuffer", "cheekPuff"},
                 {"AU43", "eyesClosed", "eyeBlink"},
                 {"AU45", "blink", "eyeBlink"},
                 {"AU63", "eyesUp", "eyeLookUp"},
                 {"AU64", "eyesDown", "eyeLookDown"}};
    enum { UNITS = sizeof units / sizeof *units };
    const char *names[UNITS];
    int count = 0;
    for (int i = 0; i < UNITS; i++) {
        bool known = false;
        for (int k = 0; k < count; k++) known |= !strcmp(names[k], units[i].slider);
        if (!known) names[count++] = units[i].slider;
    }
    sinew_rig *rig = named_rig(count, names);
    for (int i = 0; i < UNITS; i++)
        for (int by_name = 0; by_name < 2; by_name++) {
            const char *asked = by_name ? units[i].name : units[i].number;
            int found = sinew_rig_find_slider(rig, asked);
            if (found < 0 || strcmp(rig->sliders[found].name, units[i].slider))
                fail_msg("%s is %s", asked, found < 0 ? "unknown" : rig->sliders[found].name);
        }
    sinew_rig_destroy(rig);
}

static void action_units_find_the_sliders_of_their_motion(void **state) {
    (void)state;
    sinew_rig *rig = named_rig(13, ICT);
    const struct {
        const char *unit, *first;
        int count;
    } cases[] = {{"AU1", "browInnerUp_L", 2},
                 {"AU01", "browInnerUp_L", 2},
                 {"AU12", "mouthSmile_L", 2},
                 {"au12", "mouthSmile_L", 2},
                 {"AU12_L", "mouthSmile_L", 1},
                 {"AU12R", "mouthSmile_R", 1},
                 {"AU_12_Right", "mouthSmile_R", 1},
                 {"AU12Left", "mouthSmile_L", 1},
                 {"lipCornerPuller", "mouthSmile_L", 2},
                 {"innerBrowRaiser", "browInnerUp_L", 2},
                 {"AU26", "jawOpen", 1},
                 {"jawDrop", "jawOpen", 1},
                 {"AU30L", "jawLeft", 1},
                 {"AU45", "eyeBlink_L", 2},
                 {"AU30", NULL, 0},
                 {"AU99", NULL, 0},
                 {"AU", NULL, 0},
                 {"AU126", NULL, 0},
                 {"AU12x", NULL, 0},
                 {"AU4", NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int sliders[2], count = sinew_rig_match(rig, cases[i].unit, sliders);
        if (count != cases[i].count) fail_msg("%s drives %d sliders", cases[i].unit, count);
        if (count) assert_string_equal(rig->sliders[sliders[0]].name, cases[i].first);
    }
    sinew_rig_destroy(rig);
    /* the other way: a rig of units, driven by ARKit's names and by its own */
    const char *const units[] = {"AU43_L", "AU43_R", "AU45_L", "AU45_R", "AU12L", "AU12R", "AU26"};
    sinew_rig *facs = named_rig(7, units);
    assert_int_equal(sinew_rig_find_slider(facs, "mouthSmileLeft"), 4);
    assert_int_equal(sinew_rig_find_slider(facs, "MouthSmile_R"), 5);
    assert_int_equal(sinew_rig_find_slider(facs, "JawOpen"), 6);
    assert_int_equal(sinew_rig_find_slider(facs, "au45-left"), 2);
    assert_int_equal(sinew_rig_find_slider(facs, "AU45Right"), 3);
    sinew_rig_destroy(facs);
}

static void all_arkit_names_fit_a_live_link_rig(void **state) {
    (void)state;
    char capital[SINEW_ARKIT_COUNT][64];
    const char *names[SINEW_ARKIT_COUNT];
    for (int i = 0; i < SINEW_ARKIT_COUNT; i++) {
        snprintf(capital[i], sizeof capital[i], "%s", sinew_arkit_name(i));
        capital[i][0] = (char)(capital[i][0] - 'a' + 'A');
        names[i] = capital[i];
    }
    sinew_rig *rig = named_rig(SINEW_ARKIT_COUNT, names);
    for (int i = 0; i < SINEW_ARKIT_COUNT; i++)
        assert_int_equal(sinew_rig_find_slider(rig, sinew_arkit_name(i)), i);
    assert_null(sinew_arkit_name(-1));
    assert_null(sinew_arkit_name(52));
    sinew_rig_destroy(rig);
}

static void groups_and_pairs_come_from_names(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = named_rig(13, ICT);
    assert_ok(sinew_rig_deduce_from_names(rig, &error));
    assert_string_equal(rig->sliders[0].group, "brow");
    assert_string_equal(rig->sliders[2].group, "eyes");
    assert_string_equal(rig->sliders[6].group, "jaw");
    assert_string_equal(rig->sliders[9].group, "mouth");
    assert_string_equal(rig->sliders[11].group, "cheeks");
    for (int i = 0; i < 13; i++) {
        int mirror = rig->sliders[i].mirror;
        assert_int_equal(mirror < 0, i == 6); /* only jawOpen has no other side */
        if (mirror >= 0) assert_int_equal(rig->sliders[mirror].mirror, i);
    }
    sinew_rig_destroy(rig);
}

static void weights_are_read_from_text(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = named_rig(13, ICT);
    double w[13] = {0};
    assert_ok(sinew_rig_parse_weights(rig, "browInnerUp=0.5, JawOpen=1,mouthLeft=-.25", w, &error));
    assert_true(w[0] == 0.5 && w[1] == 0.5 && w[6] == 1 && w[7] == -0.25);
    assert_ok(sinew_rig_parse_weights(rig, "", w, &error));
    const char *bad[] = {"jawOpen",       "jawOpen=",        "=1", "nose=1",
                         "jawOpen=nan",   "jawOpen=1x",      ",",  "jawOpen=1e999",
                         "jawOpen=1e300", "jawOpen=-1000001"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(sinew_rig_parse_weights(rig, bad[i], w, &error), SINEW_BAD_INPUT);
    /* twice by other spellings, and by a name that stands for both sides */
    const char *twice[] = {"jawOpen=1,mouthLeft=1,JawOpen=0", "browInnerUp_L=1,browInnerUp=0.5"};
    const char *named[] = {"jawOpen", "browInnerUp_L"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sinew_rig_parse_weights(rig, twice[i], w, &error), SINEW_BAD_INPUT);
        assert_non_null(strstr(error.message, named[i]));
        assert_non_null(strstr(error.message, "twice"));
    }
    sinew_rig_destroy(rig);
}

static void curves_of_another_rig_are_bound_by_name(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig = named_rig(13, ICT);
    sinew_curves *curves, *bound;
    assert_ok(sinew_curves_create(4, 2, &curves, &error));
    const char *names[] = {"BrowInnerUp", "EyeBlinkLeft", "HeadYaw", "MouthRight"};
    for (int i = 0; i < 4; i++) assert_ok(sinew_curves_set_name(curves, i, names[i], &error));
    curves->times[1] = 1;
    for (int i = 0; i < 8; i++) curves->values[i] = i;
    rig->sliders[5].rest = 0.25;
    int unmatched;
    assert_ok(sinew_rig_bind_curves(rig, curves, &bound, &unmatched, &error));
    assert_int_equal(unmatched, 1);
    const double *w = bound->values + 13;
    assert_true(w[0] == 4 && w[1] == 4 && w[2] == 5 && w[8] == 7 && w[5] == 0.25 && w[3] == 0);
    assert_string_equal(bound->names[2], "eyeBlink_L");
    sinew_curves_destroy(bound);
    /* two channels for one slider are refused, not averaged */
    assert_ok(sinew_curves_set_name(curves, 2, "eyeBlink_L", &error));
    assert_int_equal(sinew_rig_bind_curves(rig, curves, &bound, NULL, &error), SINEW_BAD_INPUT);
    assert_null(bound);
    assert_non_null(strstr(error.message, "both drive slider 'eyeBlink_L'"));
    sinew_curves_destroy(curves);
    sinew_rig_destroy(rig);
}

int test_names(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_finds_its_slider),
        cmocka_unit_test(an_unsided_name_drives_both_sides),
        cmocka_unit_test(every_action_unit_finds_its_own_slider),
        cmocka_unit_test(action_units_find_the_sliders_of_their_motion),
        cmocka_unit_test(all_arkit_names_fit_a_live_link_rig),
        cmocka_unit_test(groups_and_pairs_come_from_names),
        cmocka_unit_test(weights_are_read_from_text),
        cmocka_unit_test(curves_of_another_rig_are_bound_by_name),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
