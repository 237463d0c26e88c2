/* Skins in small scenes, with each of their options, as they were recorded. */
#include "recorded.h"
#include "session/scenes.h"

#include "groups.h"

#define COMPARE(scenes)                                                                            \
    test_recorded_scenes((int)(sizeof(scenes) / sizeof *(scenes)), scenes, 5, 1e-7)

static void skins_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"force, curves",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\": ["
         "0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
        {"force, published",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"published\": true}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values"
         "\": {\"jawOpen\": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
        {"force, stiff",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"stretch_length\": 0.05, \"bend_length\": 0.05, \"overstretch\": 0.8}, \"c"
         "urves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\": [0, 1, 0, "
         "0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
        {"force, heavy",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"mass_time\": 0.2, \"velocity_kept\": 0.9, \"substeps\": 3, \"relinearisat"
         "ions\": 2}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpe"
         "n\": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
        {"force, position",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"position\": 20, \"fixed\": \"v:0-9\"}, \"curves\": {\"times\": [0, 0.05, "
         "0.1, 0.2], \"values\": {\"jawOpen\": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3,"
         " 0, 1, 0.9]}}}"},
    };
    COMPARE(scenes);
}

static void takes_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"force, markers",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {}, \"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}}"},
        {"force, layer",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"layer\": true, \"layer_smoothing\": 1e-6}, \"markers\": {\"file\": \"take"
         ".csv\", \"map\": \"map.csv\"}}"},
        {"force, feeds",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"layer\": true, \"layer_feeds\": true, \"layer_contact\": \"off\"}, \"mark"
         "ers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}}"},
        {"force, bounded",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"bounded\": true, \"ridge\": 0.1, \"smooth\": 0.2}, \"markers\": {\"file\""
         ": \"take.csv\", \"map\": \"map.csv\"}}"},
        {"force, limits",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"lower\": 0.1, \"upper\": 0.5, \"outlier\": 0.01}, \"markers\": {\"file\":"
         " \"take.csv\", \"map\": \"map.csv\"}}"},
        {"force, only",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"only\": \"jawOpen\", \"cutoff\": 5}, \"markers\": {\"file\": \"take.csv\""
         ", \"map\": \"map.csv\"}}"},
        {"force, stiffness",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"estimate_stiffness\": true}, \"markers\": {\"file\": \"take.csv\", \"map"
         "\": \"map.csv\"}}"},
    };
    COMPARE(scenes);
}

static void contacts_come_out_as_recorded(void **state) {
    (void)state;
    if (!recorded_by_this_compiler()) return;
    const test_named_scene scenes[] = {
        {"force, contact",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"contact\": \"all\"}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"value"
         "s\": {\"jawOpen\": [0, -0.4, -0.6, 0.1], \"mouthSmileLeft\": [0.3, 0.8, 1, 0.9"
         "]}}}"},
        {"force, gap",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"contact\": \"all\", \"contact_gap\": 0.005, \"contact_length\": 0.1, \"fr"
         "iction\": 0}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawO"
         "pen\": [0, -0.4, -0.6, 0.1], \"mouthSmileLeft\": [0.3, 0.8, 1, 0.9]}}}"},
        {"force, sticky",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"contact\": \"all\", \"stick\": 0.05, \"friction\": 2}, \"curves\": {\"tim"
         "es\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\": [0, -0.4, -0.6, 0.1], \"m"
         "outhSmileLeft\": [0.3, 0.8, 1, 0.9]}}}"},
        {"force, ball",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\": ["
         "0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"obstacles\": [{\"shap"
         "e\": \"sphere\", \"center\": [0.02, 0, 0.05], \"radius\": 0.02}]}"},
    };
    COMPARE(scenes);
}

static void soft_parts_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"force, flesh",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"flesh\": true}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"jaw"
         "Open\": [0, 1, 0], \"HeadYaw\": [0, 0.6, 0], \"HeadPitch\": [0, 0.2, 0.4]}}}"},
        {"force, soft flesh",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"flesh\": true, \"flesh_frequency\": 3, \"flesh_damping\": 0.05, \"flesh_l"
         "ength\": 0.1, \"gravity\": 2}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \""
         "values\": {\"jawOpen\": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}"
         "}"},
    };
    COMPARE(scenes);
}

static void faces_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"force, face",
         "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 1000}, \"time\": "
         "{\"fps\": 30}, \"model\": \"force\", \"parameters\": {}, \"curves\": {\"times"
         "\": [0, 0.15], \"values\": {\"jawOpen\": [0, 1], \"mouthSmileLeft\": [0.3, 0.8"
         "], \"eyeBlinkLeft\": [0, 1]}}}"},
        {"force, face contact",
         "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 1000}, \"time\": "
         "{\"fps\": 30}, \"model\": \"force\", \"parameters\": {\"contact\": \"lips,lids"
         "\"}, \"curves\": {\"times\": [0, 0.2], \"values\": {\"jawOpen\": [0, 1], \"mou"
         "thSmileLeft\": [0.3, 0.8], \"eyeBlinkLeft\": [0, 1]}}}"},
    };
    COMPARE(scenes);
}

int test_recorded(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skins_come_out_as_recorded),
        cmocka_unit_test(takes_come_out_as_recorded),
        cmocka_unit_test(contacts_come_out_as_recorded),
        cmocka_unit_test(soft_parts_come_out_as_recorded),
        cmocka_unit_test(faces_come_out_as_recorded),
    };
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
