/* Modal motion in small scenes, with each of its options, as it was recorded. */
#include "session/scenes.h"
#include "support.h"

#include "groups.h"

#define COMPARE(scenes)                                                                            \
    test_recorded_scenes((int)(sizeof(scenes) / sizeof *(scenes)), scenes, 5, 1e-8)

static void bodies_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"modal, tets",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"body\":"
         " \"tets\"}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.2, "
         "\"pose\": \"bend120\"}]}"},
        {"modal, cage",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"body\":"
         " \"cage\", \"cells\": 20}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {"
         "\"time\": 0.2, \"pose\": \"bend120\"}]}"},
        {"modal, shell",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"body\":"
         " \"shell\", \"thickness\": 0.1}, \"keys\": [{\"time\": 0, \"pose\": \"neutral"
         "\"}, {\"time\": 0.2, \"pose\": \"bend120\"}]}"},
        {"modal, targets",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8, \"basis\": \"targets\"}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\""
         "}, {\"time\": 0.15, \"weights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120"
         "\": 1}}, {\"time\": 0.25, \"pose\": \"bend60\"}]}"},
        {"modal, plain inside",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"body\":"
         " \"tets\", \"fine_inside\": false, \"poisson\": 0.1}, \"keys\": [{\"time\": 0,"
         " \"pose\": \"neutral\"}, {\"time\": 0.2, \"pose\": \"bend120\"}]}"},
    };
    COMPARE(scenes);
}

static void motions_through_keys_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"modal, three keys",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.15, \"we"
         "ights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120\": 1}}, {\"time\": 0.25,"
         " \"pose\": \"bend60\"}]}"},
        {"modal, published",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8, \"published\": true}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, "
         "{\"time\": 0.15, \"weights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120\": "
         "1}}, {\"time\": 0.25, \"pose\": \"bend60\"}]}"},
        {"modal, wiggly",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"wiggly"
         "\": true, \"swings\": 3, \"damping\": 0.3}, \"keys\": [{\"time\": 0, \"pose\":"
         " \"neutral\"}, {\"time\": 0.2, \"pose\": \"bend120\"}]}"},
        {"modal, ease",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"ease\":"
         " true, \"fade\": false}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"t"
         "ime\": 0.2, \"pose\": \"bend120\"}]}"},
        {"modal, next",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8, \"rest\": \"next\", \"rest_offset\": 0.5}, \"keys\": [{\"time\": 0, \"p"
         "ose\": \"neutral\"}, {\"time\": 0.15, \"weights\": {\"bend120\": 0.6}, \"veloc"
         "ity\": {\"bend120\": 1}}, {\"time\": 0.25, \"pose\": \"bend60\"}]}"},
        {"modal, shape",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8, \"rest\": \"shape\"}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, "
         "{\"time\": 0.15, \"weights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120\": "
         "1}}, {\"time\": 0.25, \"pose\": \"bend60\"}]}"},
        {"modal, no fit",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8, \"fit\": \"none\"}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {"
         "\"time\": 0.15, \"weights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120\": 1"
         "}}, {\"time\": 0.25, \"pose\": \"bend60\"}]}"},
        {"modal, published fit",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8, \"fit\": \"published\"}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\""
         "}, {\"time\": 0.15, \"weights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120"
         "\": 1}}, {\"time\": 0.25, \"pose\": \"bend60\"}]}"},
        {"modal, physical",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"physica"
         "l\": true, \"young\": 2e5, \"density\": 900, \"alpha_mass\": 1, \"alpha_stiffn"
         "ess\": 1e-4}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.2,"
         " \"pose\": \"bend120\"}]}"},
        {"modal, knobs",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"frequen"
         "cy\": 6, \"gamma\": [0, 0.2, 0.1], \"kappa\": [0, 0.1], \"amplitude\": [1, 0.5"
         ", 2]}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.2, \"pose"
         "\": \"bend120\"}]}"},
        {"modal, curves of knobs",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"amplitu"
         "de_curve\": [0, 1, 4, 0.5], \"kappa_curve\": [0, 0, 4, 0.2], \"gamma_curve\": "
         "[0, 0.1, 4, 0]}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0"
         ".2, \"pose\": \"bend120\"}]}"},
        {"modal, fast",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8, \"fast\": true}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"ti"
         "me\": 0.15, \"weights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120\": 1}}, "
         "{\"time\": 0.25, \"pose\": \"bend60\"}]}"},
    };
    COMPARE(scenes);
}

static void curves_pins_and_loads_come_out_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"modal, jiggle",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8}, \"curves"
         "\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}}"},
        {"modal, gravity",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"gravity"
         "\": [0, -9.81, 0], \"stiffness\": 2}, \"curves\": {\"times\": [0, 0.1, 0.2], "
         "\"values\": {\"bend120\": [0.1, 0.6, 1]}}}"},
        {"modal, pins",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.15, \"we"
         "ights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120\": 1}}, {\"time\": 0.25,"
         " \"pose\": \"bend60\"}], \"pins\": [{\"select\": \"v:0-7\"}]}"},
        {"modal, soft pins",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.15, \"we"
         "ights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120\": 1}}, {\"time\": 0.25,"
         " \"pose\": \"bend60\"}], \"pins\": [{\"select\": \"v:60-63\", \"stiffness\": 0"
         ".1, \"motion\": [{\"time\": 0, \"move\": [0, 0, 0]}, {\"time\": 0.25, \"move\""
         ": [0, 0.1, 0]}]}]}"},
        {"modal, hold",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 8, \"hold\":"
         " \"v:0-15\"}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.2,"
         " \"pose\": \"bend120\"}]}"},
        {"modal, obstacles",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 8}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.15, \"we"
         "ights\": {\"bend120\": 0.6}, \"velocity\": {\"bend120\": 1}}, {\"time\": 0.25,"
         " \"pose\": \"bend60\"}], \"orientations\": [{\"select\": \"v:48-63\", \"turn\""
         ": [0, 0, 20]}]}"},
    };
    COMPARE(scenes);
}

int test_recorded(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_come_out_as_recorded),
        cmocka_unit_test(motions_through_keys_come_out_as_recorded),
        cmocka_unit_test(curves_pins_and_loads_come_out_as_recorded),
    };
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
