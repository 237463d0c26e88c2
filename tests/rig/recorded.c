/* Blends, fits and locks in small scenes, as they were recorded. */
#include "recorded.h"
#include "session/scenes.h"

#include "groups.h"

#define COMPARE(scenes)                                                                            \
    test_recorded_scenes((int)(sizeof(scenes) / sizeof *(scenes)), scenes, 5, 1e-8)

static void rotation_blends_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"rig, rotation",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"rotation\", \"parameters\": {}, "
         "\"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 0."
         "3], \"bend60\": [0, 0.4, 1]}}}"},
        {"rig, rotation of the mouth",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"rotation\", \"parameter"
         "s\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\""
         ": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
        {"rig, published",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"rotation\", \"parameters\": {\"pu"
         "blished\": true}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend12"
         "0\": [0.1, 0.6, 0.3], \"bend60\": [0, 0.4, 1]}}}"},
        {"rig, hold",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"rotation\", \"parameters\": {\"hold\": \"v:0-15\""
         "}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6,"
         " 1]}}}"},
        {"rig, face",
         "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 1000}, \"time\": "
         "{\"fps\": 30}, \"model\": \"rotation\", \"parameters\": {}, \"curves\": {\"tim"
         "es\": [0, 0.15], \"values\": {\"jawOpen\": [0, 1], \"mouthSmileLeft\": [0.3, 0"
         ".8], \"eyeBlinkLeft\": [0, 1]}}}"},
    };
    COMPARE(scenes);
}

static void fits_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"rig, sbs",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"method\": \"sbs\"}, \"markers\": {\"file\": \"take.csv\", \"map\": \"map.cs"
         "v\"}}"},
        {"rig, rsbs",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"method\": \"rsbs\", \"l1\": 0.01}, \"markers\": {\"file\": \"take.csv\", \""
         "map\": \"map.csv\"}}"},
        {"rig, uls",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"method\": \"uls\", \"bounds\": \"wide\"}, \"markers\": {\"file\": \"take.cs"
         "v\", \"map\": \"map.csv\"}}"},
        {"rig, smooth",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"smooth\": 0.1, \"l2\": 0.02, \"bounds\": \"none\"}, \"markers\": {\"file\":"
         " \"take.csv\", \"map\": \"map.csv\"}}"},
        {"rig, outlier",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"outlier\": 0.001, \"bounds\": \"slider\"}, \"markers\": {\"file\": \"take.c"
         "sv\", \"map\": \"map.csv\"}}"},
        {"rig, layer",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"layer\": true}, \"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}"
         "}"},
    };
    COMPARE(scenes);
}

static void locks_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"rig, lock",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\"}]}"},
        {"rig, axis",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\", \"axes\": \"y\"}]}"},
        {"rig, timed",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\", \"from\": 0.05, \"to\": 0.15, \"fade\": 0.05}"
         "]}"},
        {"rig, pose",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\", \"weights\": {\"jawOpen\": 0.5}}]}"},
        {"rig, at", "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
                    "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
                    "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
                    " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
                    ": \"a\", \"select\": \"v:0-15\", \"at\": 0.1}]}"},
        {"rig, alpha",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\"}], \"attenuation\": {\"alpha\": 3, \"ridge\": "
         "0.01}}"},
        {"rig, few",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\"}], \"attenuation\": {\"few\": 0.4, \"dead_zone"
         "\": 0.1}}"},
        {"rig, trade",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\"}], \"attenuation\": {\"trade\": true, \"unboun"
         "ded\": true}}"},
        {"rig, published lock",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\"}], \"attenuation\": {\"published\": true}}"},
        {"rig, corrective",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\"}], \"attenuation\": {\"corrective\": true}}"},
        {"rig, keep",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\":"
         " [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"locks\": [{\"name\""
         ": \"a\", \"select\": \"v:0-15\"}], \"attenuation\": {\"keep\": [\"jawOpen\"], "
         "\"strength\": 2}}"},
    };
    COMPARE(scenes);
}

static void skins_apart_come_out_as_recorded(void **state) {
    (void)state;
    if (!recorded_by_this_compiler()) return;
    const test_named_scene scenes[] = {
        {"rig, apart",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"linear\", \"parameters"
         "\": {\"self_contact\": true}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"v"
         "alues\": {\"jawOpen\": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
    };
    COMPARE(scenes);
}

int test_recorded(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotation_blends_come_out_as_recorded),
        cmocka_unit_test(fits_come_out_as_recorded),
        cmocka_unit_test(locks_come_out_as_recorded),
        cmocka_unit_test(skins_apart_come_out_as_recorded),
    };
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
