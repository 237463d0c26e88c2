/* What scenes say about clips, files, loads and selections, in small scenes, as it was recorded. */
#include "recorded.h"
#include "scenes.h"

#include "base/file.h"
#include "groups.h"

static sinew_error error;

static void write_file(const char *name, const char *text) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    assert_ok(sn_file_write(path, text, strlen(text), &error));
}

/* A cache of the bar that moves by `step` times (0.1, 0.2, -0.1) per frame. */
static void write_cache(const char *name, const char *mesh_name, double step,
                        const double *offset) {
    char path[4200];
    sinew_mesh *mesh;
    sinew_frame_writer *writer;
    snprintf(path, sizeof path, "%s/%s", test_folder(), mesh_name);
    assert_ok(sinew_mesh_read(path, &mesh, &error));
    int count = 3 * mesh->vertex_count;
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    assert_ok(sinew_frame_writer_open(path, mesh, 6, 0, 20, &writer, &error));
    for (int f = 0; f < 6; f++) {
        static const double way[] = {0.1, 0.2, -0.1};
        double *moved = malloc((size_t)count * sizeof *moved);
        for (int i = 0; i < count; i++)
            moved[i] = mesh->positions[i] + offset[i % 3] + step * f * way[i % 3];
        assert_ok(sinew_frame_writer_add(writer, moved, &error));
        free(moved);
    }
    assert_ok(sinew_frame_writer_close(writer, &error));
    sinew_mesh_destroy(mesh);
}

static void write_inputs(void) {
    static bool written;
    if (written) return;
    written = true;
    test_scene("linear"); /* writes the meshes */
    write_file("weights.csv", "time_s,bend120,BEND60\n0,0,1\n0.11,0.7,0.2\n0.4,0.1,-0.3\n");
    write_file("head.csv", "time_s,bend120,HeadYaw,HeadPitch,HeadRoll\n0,0,0,0,0\n0.2,0.5,0.4,-0.2,"
                           "0.1\n0.4,1,0.1,0.3,0\n");
    write_file("talk.csv", "time_s,jawOpen,HeadYaw,HeadPitch\n0,0,0,0\n0.2,0.5,0.6,-0.3\n");
    write_file("path.csv", "time_s,p.x,p.y,p.z\n0,0,0,0\n0.1,0.1,0.2,0\n0.3,0.3,0,0.1\n");
    char text[4096];
    int size = snprintf(text, sizeof text, "vertex,value\n");
    for (int v = 0; v < 70; v++)
        size += snprintf(text + size, sizeof text - (size_t)size, "%d,%g\n", v, 0.5 + v % 2 * 0.5);
    write_file("half.csv", text);
    write_file("ends.csv", "vertex,value\n0,1\n1,1\n2,1\n3,0.5\n4,0.25\n72,1\n");
    const double none[3] = {0}, above[] = {0.1, 0.4, 0};
    write_cache("moved.pc2", "bar.obj", 0.1, none), write_cache("still.pc2", "bend60.obj", 0, none);
    write_cache("above.pc2", "bend60.obj", -0.05, above);
}

#define COMPARE(scenes)                                                                            \
    (write_inputs(),                                                                               \
     test_recorded_scenes((int)(sizeof(scenes) / sizeof *(scenes)), scenes, 5, 1e-7))

static void clips_are_sampled_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"session, file",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 24}, \"model\": \"linear\", \"parameters\": {}, \"c"
         "urves\": {\"file\": \"weights.csv\"}}"},
        {"session, from and to",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 24, \"from\": 0.04, \"to\": 0.3}, \"model\": \"line"
         "ar\", \"parameters\": {}, \"curves\": {\"file\": \"weights.csv\"}}"},
        {"session, steps",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"model\": \"rotation\", \"parameters\": {}, \"weights\": {\"bend120\":"
         " 1, \"bend60\": -0.5}, \"steps\": 4}"},
        {"session, head",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 24}, \"model\": \"linear\", \"parameters\": {}, \"c"
         "urves\": {\"file\": \"head.csv\", \"head\": true}}"},
        {"session, head of flesh",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"flesh\": true, \"softness\": \"half.csv\"}, \"curves\": {\"file\": \"talk"
         ".csv\"}}"},
        {"session, retargeted",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"retarget\": true, \"neutral_frame\": 3, \"cutoff\": 8, \"stable\": \"m0,m1,"
         "m2,m23\"}, \"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}}"},
        {"session, fit of some",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"only\": \"jaw*\", \"also\": \"mouthSmileLeft\"}, \"markers\": {\"file\": \""
         "take.csv\", \"map\": \"map.csv\"}}"},
        {"session, fit without",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"fit\", \"parameters\": "
         "{\"without\": \"jawOpen\", \"symmetry\": 0.1}, \"markers\": {\"file\": \"take."
         "csv\", \"map\": \"map.csv\"}}"},
    };
    COMPARE(scenes);
}

static void loads_of_springs_as_recorded(void **state) {
    (void)state;
    if (!recorded_by_this_compiler()) return;
    const test_named_scene scenes[] = {
        {"session, maps",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"stiffness_map\": \"h"
         "alf.csv\", \"mass_map\": \"half.csv\", \"gravity\": [0, -0.05, 0]}, \"curves\""
         ": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"pins"
         "\": [{\"select\": \"v:0-7\"}]}"},
        {"session, pins from frames",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"pins\": [{\"s"
         "elect\": \"mask:ends.csv\", \"frames\": \"moved.pc2\"}]}"},
        {"session, pulls from frames",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"pulls\": [{\""
         "vertex\": 70, \"frames\": \"moved.pc2\", \"stiffness\": 3}, {\"vertex\": 3, \""
         "to\": [0, -0.1, 0]}]}"},
        {"session, anchor",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"anchor\": [0.4, 0, 0"
         ", 0.6, 0, 0, 0.5, 0.05, 0, 0.5, 0, 0.05]}, \"curves\": {\"times\": [0, 0.1, 0."
         "2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}}"},
        {"session, obstacle from frames",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"obstacles\": "
         "[{\"shape\": \"mesh\", \"file\": \"bend60.obj\", \"frames\": \"above.pc2\"}]}"},
        {"session, two obstacles",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {}, \"curves\": {\"time"
         "s\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}, \"obstacles\": "
         "[{\"shape\": \"sphere\", \"center\": [0.45, 0.4, 0.02], \"radius\": 0.25, \"en"
         "abled\": false}, {\"shape\": \"box\", \"center\": [0.5, 0.45, 0.01], \"half\":"
         " [0.1, 0.15, 0.2], \"motion\": [{\"time\": 0, \"move\": [0, 0.2, 0]}, {\"time"
         "\": 0.2, \"move\": [0, 0, 0], \"turn\": [0, 0, 15]}]}]}"},
        {"session, no pose depth",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"pose_depth\": \"none"
         "\"}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0."
         "6, 1]}}, \"obstacles\": [{\"shape\": \"sphere\", \"center\": [0.45, 0.3, 0.02]"
         ", \"radius\": 0.15}]}"},
        {"session, pose depth",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"pose_depth\": \"all"
         "\"}, \"curves\": {\"times\": [0, 0.1, 0.2], \"values\": {\"bend120\": [0.1, 0."
         "6, 1]}}, \"obstacles\": [{\"shape\": \"sphere\", \"center\": [0.45, 0.3, 0.02]"
         ", \"radius\": 0.15}]}"},
        {"session, time limit",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"spring\", \"parameters\": {\"time_limit\": 100, "
         "\"max_iterations\": 3, \"tolerance\": 1e-12}, \"curves\": {\"times\": [0, 0.1,"
         " 0.2], \"values\": {\"bend120\": [0.1, 0.6, 1]}}}"},
    };
    COMPARE(scenes);
}

static void loads_of_motions_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"session, inner keys of motions",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 6}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.1, \"wei"
         "ghts\": {\"bend60\": 0.4}, \"inner\": true}, {\"time\": 0.25, \"pose\": \"bend"
         "120\", \"velocity\": {\"bend60\": 0.5}}]}"},
        {"session, pins from frames of motions",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 6}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.1, \"wei"
         "ghts\": {\"bend60\": 0.4}, \"inner\": true}, {\"time\": 0.25, \"pose\": \"bend"
         "120\", \"velocity\": {\"bend60\": 0.5}}], \"pins\": [{\"select\": \"v:0-7\", "
         "\"frames\": \"moved.pc2\"}]}"},
        {"session, maps of motions",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"model\": \"modal\", \"parameters\": {\"modes\": 6, \"stiffness_map\":"
         " \"half.csv\"}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0."
         "1, \"weights\": {\"bend60\": 0.4}, \"inner\": true}, {\"time\": 0.25, \"pose\""
         ": \"bend120\", \"velocity\": {\"bend60\": 0.5}}]}"},
        {"session, mixed of motions",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"time\": {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes"
         "\": 6, \"mix_frames\": \"still.pc2\", \"mix\": 0.25}, \"keys\": [{\"time\": 0,"
         " \"pose\": \"neutral\"}, {\"time\": 0.1, \"weights\": {\"bend60\": 0.4}, \"inn"
         "er\": true}, {\"time\": 0.25, \"pose\": \"bend120\", \"velocity\": {\"bend60\""
         ": 0.5}}]}"},
        {"session, path of motions",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"model\": \"modal\", \"parameters\": {\"modes\": 6, \"path\": \"path.c"
         "sv\"}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 0.1, \"weig"
         "hts\": {\"bend60\": 0.4}, \"inner\": true}, {\"time\": 0.25, \"pose\": \"bend1"
         "20\", \"velocity\": {\"bend60\": 0.5}}]}"},
        {"session, fitted curves of motions",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\", \"bend60.ob"
         "j\"]}, \"model\": \"modal\", \"parameters\": {\"modes\": 6, \"fit_velocity_cur"
         "ve\": [0, 1, 5, 0.2], \"fit_frequency_curve\": [0, 1, 5, 2], \"fit_damping_cur"
         "ve\": [0, 1, 5, 3]}, \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time"
         "\": 0.1, \"weights\": {\"bend60\": 0.4}, \"inner\": true}, {\"time\": 0.25, \""
         "pose\": \"bend120\", \"velocity\": {\"bend60\": 0.5}}]}"},
        {"session, curves of motions",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, \"time\":"
         " {\"fps\": 20}, \"model\": \"modal\", \"parameters\": {\"modes\": 6, \"damping"
         "\": 0.4}, \"curves\": {\"file\": \"weights.csv\"}}"},
    };
    COMPARE(scenes);
}

static void skins_and_parts_as_recorded(void **state) {
    (void)state;
    const test_named_scene scenes[] = {
        {"session, maps of skin",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"stretch_map\": \"half.csv\", \"bend_map\": \"half.csv\", \"mass_map\": \""
         "half.csv\"}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOp"
         "en\": [0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
        {"session, obstacle of a skin",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\": ["
         "0, 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}, \"obstacles\": [{\"shap"
         "e\": \"box\", \"center\": [0.05, 0, 0.05], \"half\": [0.02, 0.01, 0.01], \"mot"
         "ion\": [{\"time\": 0, \"move\": [0, 0, 0]}, {\"time\": 0.2, \"move\": [-0.02, "
         "0.01, 0]}]}]}"},
        {"session, some sliders",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"without\": \"jawOpen\", \"also\": \"*\", \"stable\": \"m0,m5,m9\"}, \"mar"
         "kers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}}"},
        {"session, face regions",
         "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 1000}, \"time\": "
         "{\"fps\": 30}, \"model\": \"spring\", \"parameters\": {\"interior\": \"none\","
         " \"tolerance\": 1e-3}, \"curves\": {\"times\": [0, 0.15], \"values\": {\"jawOp"
         "en\": [0, 1], \"mouthSmile\": [0.3, 0.8], \"eyeBlinkLeft\": [0, 1]}}, \"pins\""
         ": [{\"select\": \"region:lips\"}]}"},
        {"session, face locks",
         "{\"sinew\": 1, \"rig\": {\"sample\": \"face\", \"vertices\": 1000}, \"time\": "
         "{\"fps\": 30}, \"model\": \"linear\", \"parameters\": {}, \"curves\": {\"times"
         "\": [0, 0.15], \"values\": {\"jawOpen\": [0, 1], \"mouthSmile\": [0.3, 0.8], "
         "\"eyeBlinkLeft\": [0, 1]}}, \"locks\": [{\"name\": \"lid\", \"select\": \"regi"
         "on:lids\", \"axes\": \"xy\", \"from\": 0.05, \"fade\": 0.05}], \"attenuation\""
         ": {\"alpha\": 2}}"},
        {"session, fixed",
         "{\"sinew\": 1, \"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSm"
         "ileLeft.obj\"]}, \"time\": {\"fps\": 30}, \"model\": \"force\", \"parameters\""
         ": {\"fixed\": \"mask:ends.csv\", \"contact\": \"all\", \"contact_margin\": 0.0"
         "5}, \"curves\": {\"times\": [0, 0.05, 0.1, 0.2], \"values\": {\"jawOpen\": [0,"
         " 1, 0, 0.7], \"mouthSmileLeft\": [0.3, 0, 1, 0.9]}}}"},
    };
    COMPARE(scenes);
}

int test_recorded(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clips_are_sampled_as_recorded),
        cmocka_unit_test(loads_of_springs_as_recorded),
        cmocka_unit_test(loads_of_motions_as_recorded),
        cmocka_unit_test(skins_and_parts_as_recorded),
    };
    return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
