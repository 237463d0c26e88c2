/* Springs in small scenes, with each of their options: the shapes and steps that were recorded. */
#include "recorded.h"
#include "session/scenes.h"

#include "groups.h"

#define COMPARE(scenes)                                                                            \
    test_recorded_scenes((int)(sizeof(scenes) / sizeof *(scenes)), scenes, 4, 1e-7)

static void springs_of_each_kind_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"spring, struts",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}}"},
        {"spring, no interior",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"interior\": \"none\""
         "}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6,"
         " 1]}}}"},
        {"spring, ring",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"bending\": \"ring\","
         " \"stiffness_bending\": 0.3}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values"
         "\": {\"bend120\": [0.1, 0.6, 1]}}}"},
        {"spring, no bending",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"bending\": \"none\","
         " \"stiffness_internal\": 4}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\""
         ": {\"bend120\": [0.1, 0.6, 1]}}}"},
        {"spring, two targets",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"c"
         "urves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 0.3],"
         " \"bend60\": [0, 0.4, 1]}}}"},
        {"spring, guide",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"guide\": 2, \"altitu"
         "de\": 0}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0."
         "1, 0.6, 1]}}}"},
        {"spring, altitude",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"altitude\": 5, \"gui"
         "de\": 0}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0."
         "1, 0.6, 1]}}}"},
        {"spring, ties",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"spring\", \"parameters"
         "\": {\"tie\": 0.05, \"stiffness_tie\": 0.5}, \"curves\": {\"times\": [0, 0.05,"
         " 0.1, 0.2], \"values\": {\"jawOpen\": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3"
         ", 0, 1, 0.9]}}}"},
        {"spring, pull to blend",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"pull_to_blend\": 0.5"
         ", \"stiffness_structure\": 3}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values"
         "\": {\"bend120\": [0.1, 0.6, 1]}}}"},
        {"spring, fibers",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"fibers\": [{"
         "\"select\": \"v:0-40\", \"direction\": [1, 0.2, 0], \"ratio\": 5}]}"},
        {"spring, skin",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"spring\", \"parameters"
         "\": {\"interior\": \"none\"}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"v"
         "alues\": {\"jawOpen\": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
    };
    COMPARE(scenes);
}

static void springs_inside_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"spring, tets",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"interior\": \"tets\""
         "}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6,"
         " 1]}}}"},
        {"spring, points",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"interior\": \"tets\""
         ", \"interior_points\": true, \"volume\": 4}, \"curves\": {\"times\": [0, 0.1, "
         "0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}}"},
        {"spring, published",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"published\": true}, "
         "\"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]"
         "}}}"},
        {"spring, no volume",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"inte"
         "rior\": \"tets\", \"volume\": 0}, \"curves\": {\"times\": [0, 0.1, 0.2], \"val"
         "ues\": {\"bend120\": [0.1, 0.6, 0.3], \"bend60\": [0, 0.4, 1]}}}"},
    };
    COMPARE(scenes);
}

static void solvers_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"spring, newton",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"solver\": \"newton\""
         "}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6,"
         " 1]}}}"},
        {"spring, published solver",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"solver\": \"publishe"
         "d\"}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0"
         ".6, 1]}}}"},
        {"spring, independent",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"inde"
         "pendent\": true}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend12"
         "0\": [0.1, 0.6, 0.3], \"bend60\": [0, 0.4, 1]}}}"},
        {"spring, loose",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"tole"
         "rance\": 1e-2}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120"
         "\": [0.1, 0.6, 0.3], \"bend60\": [0, 0.4, 1]}}}"},
        {"spring, strict",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"tole"
         "rance\": 1e-10}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120"
         "\": [0.1, 0.6, 0.3], \"bend60\": [0, 0.4, 1]}}}"},
        {"spring, few steps",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"max_iterations\": 2}"
         ", \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, "
         "1]}}}"},
    };
    COMPARE(scenes);
}

static void boundaries_pulls_and_forces_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"spring, static",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"boundary\": \"static"
         "\"}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0."
         "6, 1]}}}"},
        {"spring, pinned",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"pins\": [{\"s"
         "elect\": \"v:0-7\"}]}"},
        {"spring, moving orientations",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\": {\"fps\": "
         "20}, \"model\": \"spring\", \"curves\": {\"times\": [0, 0.2], \"values\": {\"bend120\": "
         "[0.1, 1]}}, \"orientations\": [{\"select\": \"v:48-63\", \"motion\": [{\"time\": 0, "
         "\"turn\": [0, 0, 0]}, {\"time\": 0.2, \"turn\": [30, 0, 10]}]}]}"},
        {"spring, anchor",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"boundary\": \"anchor"
         "\"}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0."
         "6, 1]}}}"},
        {"spring, hold",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"hold\": \"v:0-15\"},"
         " \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1"
         "]}}}"},
        {"spring, pulls",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"pins\": [{\"s"
         "elect\": \"v:0-7\"}], \"pulls\": [{\"vertex\": 70, \"to\": [0.9, 0.3, 0.1], \""
         "stiffness\": 2}, {\"vertex\": 40, \"to\": [0.5, 0.2, 0]}]}"},
        {"spring, orientations",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"orientations"
         "\": [{\"select\": \"v:48-63\", \"turn\": [20, 0, 40], \"weight\": 0.7}]}"},
        {"spring, gravity",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"gravity\": [0, -0.02"
         ", 0.01], \"wind\": [0.03, 0, 0.02]}, \"curves\": {\"times\": [0, 0.1, 0.2], \""
         "values\": {\"bend120\": [0.1, 0.6, 1]}}, \"pins\": [{\"select\": \"v:0-7\"}]}"},
    };
    COMPARE(scenes);
}

static void obstacles_of_each_shape_come_out_as_recorded(void **state) {
    (void)state;
    if (!recorded_by_this_compiler()) return;
    const test_named_scene scenes[] = {
        {"spring, two obstacles",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\": {\"fps\": "
         "20}, \"model\": \"spring\", \"curves\": {\"times\": [0, 0.2], \"values\": {\"bend120\": "
         "[0.1, 1]}}, \"obstacles\": [{\"shape\": \"plane\", \"point\": [0, 0.3, 0], \"normal\": "
         "[0.1, -1, 0]}, {\"shape\": \"capsule\", \"from\": [0.2, -0.2, -0.3], \"to\": [0.3, -0.2, "
         "0.3], \"radius\": 0.13}]}"},
        {"spring, plane",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"obstacles\": "
         "[{\"shape\": \"plane\", \"point\": [0, 0.3, 0], \"normal\": [0.1, -1, 0]}]}"},
        {"spring, capsule",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"friction\": 0.4}, \""
         "curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}"
         ", \"obstacles\": [{\"shape\": \"capsule\", \"from\": [0.5, 0.35, -0.3], \"to\""
         ": [0.4, 0.35, 0.3], \"radius\": 0.15}]}"},
        {"spring, cylinder",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"obstacles\": "
         "[{\"shape\": \"cylinder\", \"from\": [0.5, 0.35, -0.3], \"to\": [0.4, 0.35, 0."
         "3], \"radius\": 0.15}]}"},
        {"spring, box",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"contact_depth\": 0.0"
         "03}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0."
         "6, 1]}}, \"obstacles\": [{\"shape\": \"box\", \"center\": [0.5, 0.4, 0.01], \""
         "half\": [0.2, 0.15, 0.2]}]}"},
        {"spring, mesh",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"obstacles\": "
         "[{\"shape\": \"mesh\", \"file\": \"bend60.obj\", \"motion\": [{\"time\": 0, \""
         "move\": [0.1, 0.45, 0]}, {\"time\": 0.2, \"move\": [0.1, 0.35, 0.02], \"turn\""
         ": [0, 0, 10]}]}]}"},
        {"spring, points only",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"sample_edges\": fals"
         "e, \"max_rounds\": 6}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"b"
         "end120\": [0.1, 0.6, 1]}}, \"obstacles\": [{\"shape\": \"sphere\", \"center\":"
         " [0.45, 0.4, 0.02], \"radius\": 0.25, \"motion\": [{\"time\": 0, \"move\": [0,"
         " 0.1, 0]}, {\"time\": 0.2, \"move\": [0, -0.05, 0]}]}]}"},
    };
    COMPARE(scenes);
}

static void lips_come_out_as_recorded(void **state) {
    (void)state;
    if (!recorded_by_this_compiler()) return;
    const test_named_scene scenes[] = {
        {"spring, self-contact",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"spring\", \"parameters"
         "\": {\"self_contact\": true, \"interior\": \"none\"}, \"curves\": {\"times\": "
         "[0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\": [0, 1, 0, 0.7], \"mouthSmileLef"
         "t\": [0.3, 0, 1, 0.9]}}}"},
    };
    COMPARE(scenes);
}

int test_recorded(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(springs_of_each_kind_come_out_as_recorded),
        cmocka_unit_test(springs_inside_come_out_as_recorded),
        cmocka_unit_test(solvers_come_out_as_recorded),
        cmocka_unit_test(boundaries_pulls_and_forces_come_out_as_recorded),
        cmocka_unit_test(obstacles_of_each_shape_come_out_as_recorded),
        cmocka_unit_test(lips_come_out_as_recorded),
    };
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
