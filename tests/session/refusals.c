/* Scenes that make no sense say what is wrong, and selections pick what they name. */
#include "support.h"

#include "groups.h"
#include "scenes.h"

static sinew_error error;

#define BAR   "\"rig\": {\"files\": [\"bar.obj\", \"bend120.obj\"]}, "
#define MOUTH "\"rig\": {\"files\": [\"mouth.obj\", \"jawOpen.obj\", \"mouthSmileLeft.obj\"]}, "
#define BENT  "\"weights\": {\"bend120\": 0.3}, "
#define SWING "\"curves\": {\"times\": [0, 1], \"values\": {\"bend120\": [0, 0.1]}}, "
#define TAKE  "\"markers\": {\"file\": \"take.csv\", \"map\": \"map.csv\"}, "
#define KEYS                                                                                       \
    "\"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": \"bend120\"}], "
#define SPRING           "\"model\": \"spring\""
#define MODAL            "\"model\": \"modal\""
#define PARAMETERS(text) ", \"parameters\": {" text "}"

/* The first of parsing, creating, preparing and solving that fails; SINEW_OK: none. */
static sinew_status try_scene(const char *text) {
    sinew_scene *scene = NULL;
    sinew_session *session = NULL;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    sinew_status status = sinew_scene_parse(text, "test", test_folder(), &scene, &error);
    if (status == SINEW_OK) status = sinew_session_create(scene, &options, &session, &error);
    if (status == SINEW_OK) status = sinew_session_prepare(session, NULL, &error);
    if (status == SINEW_OK) {
        sinew_input input;
        sinew_input_init(&input);
        input.frame = 0;
        sinew_result result;
        sinew_result_init(&result);
        status = sinew_session_solve(session, &input, &result, NULL, &error);
    }
    sinew_session_destroy(session);
    sinew_scene_destroy(scene);
    return status == SINEW_NOT_CONVERGED ? SINEW_OK : status;
}

static void scenes_that_make_no_sense_say_why(void **state) {
    (void)state;
    static const struct {
        const char *text, *words; /* NULL: it is good */
    } rows[] = {
        {BAR BENT SPRING, NULL},
        {BAR SWING MODAL PARAMETERS("\"modes\": 4"), NULL},
        {BAR KEYS MODAL PARAMETERS("\"modes\": 4"), NULL},
        {"\"steps\": 2", "/rig: needs files, or the name of a sample"},
        {BAR "\"weights\": {\"bend12\": 1}", "no slider 'bend12'; did you mean 'bend120'?"},
        {BAR SWING "\"time\": {\"from\": 1, \"to\": 0.5}",
         "/time: ends at 0.5 s, before it starts at 1 s"},
        {BAR SWING "\"time\": {\"fps\": 100000, \"to\": 1e9}", "are too many frames"},
        {BAR "\"curves\": {\"times\": [0, 1]}", "/curves: needs a file, or times and values"},
        {BAR "\"curves\": {\"times\": [], \"values\": {}}", "/curves: needs a file, or times"},
        {BAR "\"curves\": {\"times\": [0, 1, 1], \"values\": {\"bend120\": [0, 0, 0]}}",
         "/curves/times: element 2 does not increase"},
        {BAR "\"curves\": {\"times\": [0, 1], \"values\": {\"bend120\": [0, 0, 0]}}",
         "'bend120' has 3 values for 2 times"},
        {BAR "\"curves\": {\"times\": [0, 1], \"values\": {\"nothing\": [0, 0]}}", "/curves: "},
        {BAR "\"curves\": {\"times\": [0, \"x\"], \"values\": {}}", "element 1 is not a number"},
        {BAR "\"curves\": {\"times\": [0, 1e300], \"values\": {}}", "element 1 must be between"},
        {MOUTH TAKE "\"curves\": {\"times\": [0], \"values\": {}}, \"model\": \"fit\"",
         "/curves: the scene gives markers too"},
        {MOUTH TAKE "\"steps\": 3, \"model\": \"fit\"", "/steps: the scene gives markers too"},
        {MOUTH "\"steps\": 3, \"model\": \"fit\"", "/markers: the model 'fit' needs markers"},
        {"\"rig\": {\"files\": [\"bar.obj\"]}, \"steps\": 3", "/steps: the rig has no second pose"},
        {BAR BENT "\"locks\": [{\"name\": \"a\", \"select\": \"v:1\", \"from\": 2, \"to\": 1}]",
         "'from' must be before 'to'"},
        {BAR SWING "\"locks\": [{\"name\": \"a\", \"select\": \"v:1\", \"from\": 0.5}], "
                   "\"attenuation\": {\"corrective\": true}",
         "/attenuation/corrective: locks with times"},
        {BAR SWING "\"locks\": [{\"name\": \"a\", \"select\": \"v:1\", \"at\": 2}]",
         "2 s: the take lasts from 0 to 1"},
        {BAR BENT "\"locks\": [{\"name\": \"a\", \"select\": \"v:1\", \"axes\": \"xw\"}]",
         "'xw' is not a choice of the axes"},
        {BAR BENT SPRING ", \"obstacles\": [{\"shape\": \"sphere\", \"radius\": 1}]",
         "/obstacles/0: a sphere needs 'center'"},
        {BAR BENT SPRING ", \"obstacles\": [{\"shape\": \"sphere\", \"center\": [0, 0, 0]}]",
         "/obstacles/0: a sphere needs 'radius'"},
        {BAR BENT SPRING ", \"obstacles\": [{\"shape\": \"mesh\"}]", "a mesh needs 'file'"},
        {BAR BENT SPRING ", \"obstacles\": [{\"shape\": \"part\"}]", "a part needs 'name'"},
        {BAR BENT SPRING ", \"obstacles\": [{\"shape\": \"part\", \"name\": \"none\"}]",
         "the rig has no part 'none'"},
        {BAR BENT SPRING
         ", \"obstacles\": [{\"shape\": \"sphere\", \"center\": [0, 9, 0], \"radius\": 1, "
         "\"motion\": [{\"time\": 1}, {\"time\": 1}]}]",
         "/obstacles/0/motion/1/time: times must increase"},
        {BAR BENT SPRING
         ", \"obstacles\": [{\"shape\": \"sphere\", \"center\": [0, 9, 0], \"radius\": 1, "
         "\"motion\": [{\"move\": [0, 0, 1]}]}]",
         "/obstacles/0/motion/0"},
        {BAR MODAL ", \"keys\": [{\"pose\": \"neutral\"}, {\"time\": 1, \"pose\": \"bend120\"}]",
         "/keys/0"},
        {BAR BENT "\"locks\": [{\"name\": \"a\"}]", "/locks/0"},
        {BAR BENT SPRING ", \"pins\": [{}]", "/pins/0"},
        {BAR BENT SPRING ", \"pulls\": [{\"to\": [0, 0, 0]}]", "/pulls/0"},
        {BAR BENT SPRING ", \"obstacles\": [{\"radius\": 1}]", "/obstacles/0"},
        {BAR BENT "\"orientations\": [{\"turn\": [0, 0, 1]}], \"model\": \"rotation\"",
         "/orientations/0"},
        {BAR BENT SPRING ", \"pins\": [{\"select\": \"v:1\", \"stiffness\": 1}]",
         "/pins: motion and stiffness are for the modal model"},
        {BAR BENT SPRING ", \"pulls\": [{\"vertex\": 99999, \"to\": [0, 0, 0]}]",
         "/pulls/0/vertex: there is no vertex 99999"},
        {BAR BENT SPRING ", \"pulls\": [{\"vertex\": 5}]", "/pulls/0: a pull has either"},
        {BAR BENT SPRING ", \"pulls\": [{\"vertex\": 5, \"to\": [0, 0, 0], \"frames\": \"a.pc2\"}]",
         "/pulls/0: a pull has either"},
        {BAR BENT SPRING PARAMETERS("\"gravity\": [0, 1]"), "/parameters/gravity: "},
        {BAR BENT SPRING PARAMETERS("\"anchor\": [1, 2, 3]"), "an anchor has 12 numbers, not 3"},
        {BAR KEYS MODAL PARAMETERS("\"modes\": 4, \"gravity\": [0, 1]"), "/parameters/gravity: "},
        {BAR MODAL ", \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}]",
         "/keys: two or more are needed"},
        {BAR MODAL ", \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": "
                   "\"bend120\", \"weights\": {}}]",
         "/keys/1: has both a pose and weights"},
        {BAR MODAL ", \"keys\": [{\"time\": 0, \"pose\": \"neutral\"}, {\"time\": 1, \"pose\": "
                   "\"none\"}]",
         "/keys/1: there is no pose 'none'"},
        {BAR SWING MODAL PARAMETERS("\"modes\": 4, \"hold\": \"v:1\""),
         "/parameters/hold: is for keys"},
        {BAR BENT "\"model\": \"rotation\"" PARAMETERS("\"hold\": \"v:5-1\""),
         "'v:5-1': 5-1 runs backwards"},
        {MOUTH "\"weights\": {\"jawOpen\": 1}, \"model\": \"force\"" PARAMETERS(
             "\"contact\": \"nothing\""),
         "/parameters/contact: the rig has no region 'nothing'"},
        {MOUTH
         "\"weights\": {\"jawOpen\": 1}, \"model\": \"force\"" PARAMETERS("\"jaw\": \"nothing\""),
         "/parameters/jaw: the rig has no target 'nothing'"},
        {MOUTH "\"weights\": {\"jawOpen\": 1}, \"model\": \"force\"" PARAMETERS(
             "\"estimate_stiffness\": true, \"stretch_map\": \"values.csv\""),
         "estimate_stiffness makes the maps"},
        {BAR BENT
         "\"fibers\": [{\"select\": \"v:1\", \"direction\": [0, 0, 0], \"ratio\": 2}], " SPRING
             PARAMETERS("\"interior\": \"none\""),
         "the direction has no length"},
    };
    sinew_session_destroy(test_session("fit")); /* writes the files */
    char path[4096], text[2000];
    snprintf(path, sizeof path, "%s/values.csv", test_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("vertex,value\n0,1\n3,0.5\n", file);
    fclose(file);
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "{\"sinew\": 1, %s}", rows[i].text);
        sinew_status status = try_scene(text);
        if (rows[i].words ? status == SINEW_BAD_INPUT && strstr(error.message, rows[i].words)
                          : status == SINEW_OK)
            continue;
        wrong++;
        print_message("%s\n    %s: %s\n    instead of: %s\n", text, sinew_status_name(status),
                      status == SINEW_OK ? "" : error.message, rows[i].words);
    }
    assert_int_equal(wrong, 0);
}

static void documents_that_are_no_scenes_are_refused(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"[]", "a scene must be a JSON object"},
        {"{}", "/sinew"},
        {"{\"sinew\": \"1\"}", "/sinew"},
        {"{\"sinew\": 99}", "version 99 is newer than this program's"},
        {"{\"sinew\": 1", "s:1:"},
        {"{\"sinew\": 1,\n\n \"rig\": }", "s:3:"},
        {"{\"sinew\": 1, \"rig\": {\"files\": [7]}}", "element 0 is not a string"},
        {"{\"sinew\": 1, \"rgi\": {}}", "/rgi: unknown key; did you mean 'rig'?"},
        {"{\"sinew\": 1, \"sinew\": 1}", "s:1:"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sinew_scene *scene = NULL;
        assert_int_equal(sinew_scene_parse(rows[i][0], "s", NULL, &scene, &error), SINEW_BAD_INPUT);
        if (!strstr(error.message, rows[i][1]))
            fail_msg("%s: %s, not %s", rows[i][0], error.message, rows[i][1]);
        assert_null(scene);
    }
}

static sinew_rig *small_face(void) {
    sinew_sample_options small;
    sinew_sample_options_init(&small);
    small.vertices = 1000;
    sinew_rig *rig;
    assert_ok(sinew_sample_rig("face", &small, &rig, &error));
    return rig;
}

static int selected(const sinew_rig *rig, const char *text, int **vertices) {
    int count;
    sinew_status status =
        sinew_select(rig, text, test_folder(), sinew_file_loader(), NULL, vertices, &count, &error);
    if (status != SINEW_OK) fail_msg("%s: %s", text, error.message);
    for (int i = 1; i < count; i++) assert_true((*vertices)[i] > (*vertices)[i - 1]);
    return count;
}

static void expect_selection(const sinew_rig *rig, const char *text, int count, const int *wanted) {
    int *vertices;
    assert_int_equal(selected(rig, text, &vertices), count);
    assert_memory_equal(vertices, wanted, (size_t)count * sizeof(int));
    sinew_free(vertices);
}

static void selections_pick_what_they_name(void **state) {
    (void)state;
    sinew_rig *rig = small_face();
    int n = rig->neutral->vertex_count, *vertices, *list = malloc(sizeof(int) * (size_t)n);
    expect_selection(rig, "v:7", 1, (const int[]){7});
    expect_selection(rig, "v:9,3-5,4", 4, (const int[]){3, 4, 5, 9});
    char text[300];
    snprintf(text, sizeof text, "v:0,%d", n - 1);
    expect_selection(rig, text, 2, (const int[]){0, n - 1});
    for (int v = 0; v < n; v++) list[v] = v;
    expect_selection(rig, "all", n, list);
    /* regions, as the rig has them */
    for (int r = 0; r < rig->region_count; r++) {
        bool *in = calloc((size_t)n, 1);
        int count = 0;
        for (int i = 0; i < rig->regions[r].count; i++) in[rig->regions[r].vertices[i]] = true;
        for (int v = 0; v < n; v++)
            if (in[v]) list[count++] = v;
        snprintf(text, sizeof text, "region:%s", rig->regions[r].name);
        expect_selection(rig, text, count, list);
        free(in);
    }
    /* parts share no vertex, and leave none out; so do pieces */
    int sum = 0;
    for (int p = 0; p < rig->neutral->part_count; p++) {
        snprintf(text, sizeof text, "part:%s", rig->neutral->part_names[p]);
        sum += selected(rig, text, &vertices);
        sinew_free(vertices);
    }
    assert_int_equal(sum, n);
    int pieces = 0, first = -1;
    for (sum = 0; sum < n; pieces++) {
        snprintf(text, sizeof text, "piece:%d", pieces);
        sum += selected(rig, text, &vertices);
        assert_true(vertices[0] > first); /* in the order of their first vertices */
        first = vertices[0];
        sinew_free(vertices);
    }
    assert_int_equal(sum, n);
    assert_true(pieces > 3);
    snprintf(text, sizeof text, "piece:%d", pieces);
    int count;
    assert_int_equal(sinew_select(rig, text, NULL, NULL, NULL, &vertices, &count, &error),
                     SINEW_BAD_INPUT);
    /* what a target moves, and what it moves by at least half of the most */
    const sinew_target *t = &rig->targets[sinew_rig_find_target(rig, "jawOpen")];
    for (int part = 0; part < 4; part++) {
        double most = 0, share = part / 4.0;
        bool *in = calloc((size_t)n, 1);
        for (int i = 0; i < t->count; i++)
            most = fmax(most,
                        hypot(hypot(t->deltas[3 * i], t->deltas[3 * i + 1]), t->deltas[3 * i + 2]));
        for (int i = 0; i < t->count; i++) {
            double size =
                hypot(hypot(t->deltas[3 * i], t->deltas[3 * i + 1]), t->deltas[3 * i + 2]);
            assert_true(fabs(size - share * most) > 1e-12 || size == 0 || size == most);
            if (size > 0 && size >= share * most) in[t->vertices[i]] = true;
        }
        count = 0;
        for (int v = 0; v < n; v++)
            if (in[v]) list[count++] = v;
        snprintf(text, sizeof text, "target:jawOpen>%g", share);
        expect_selection(rig, part ? text : "target:jawOpen", count, list);
        free(in);
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/mask.csv", test_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("vertex,value\n4,1\n9,0.5\n11,0.49\n2,0.75\n", file);
    fclose(file);
    expect_selection(rig, "mask:mask.csv", 3, (const int[]){2, 4, 9});
    free(list);
    sinew_rig_destroy(rig);
}

static void selections_that_pick_nothing_say_why(void **state) {
    (void)state;
    sinew_rig *rig = small_face();
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"v:", "is not a list such as"},
        {"v:1,", "is not a list such as"},
        {"v:-1", "is not a list such as"},
        {"v: 1", "is not a list such as"},
        {"v:1-", "is not a list such as"},
        {"v:1--2", "is not a list such as"},
        {"v:1;2", "is not a list such as"},
        {"v:5-4", "runs backwards"},
        {"v:0-99999", "vertex 99999 is out of range"},
        {"region:nothing", "the rig has no region 'nothing'"},
        {"part:nothing", "the rig has no part 'nothing'"},
        {"piece:", "is not a number such as piece:7"},
        {"piece:-1", "is not a number such as piece:7"},
        {"piece:1x", "is not a number such as piece:7"},
        {"piece:9999", "connected pieces, from 0"},
        {"target:nothing", "the rig has no target 'nothing'"},
        {"target:jawOpen>1", "expected NAME>FRACTION"},
        {"target:jawOpen>-0.1", "expected NAME>FRACTION"},
        {"target:jawOpen>x", "expected NAME>FRACTION"},
        {"target:jawOpen>0.1,0.2", "expected NAME>FRACTION"},
        {"lips", "is not a selection"},
        {"", "is not a selection"},
        {"All", "is not a selection"},
    };
    int *vertices, count;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sinew_status status = sinew_select(rig, rows[i].text, test_folder(), sinew_file_loader(),
                                           NULL, &vertices, &count, &error);
        if (status != SINEW_BAD_INPUT || !strstr(error.message, rows[i].words))
            fail_msg("'%s': %s, not %s", rows[i].text, status == SINEW_OK ? "ok" : error.message,
                     rows[i].words);
        assert_true(count == 0 && !vertices);
    }
    assert_int_equal(sinew_select(rig, "mask:m.csv", NULL, NULL, NULL, &vertices, &count, &error),
                     SINEW_UNAVAILABLE);
    assert_non_null(strstr(error.message, "m.csv: there is no loader"));
    sinew_rig_destroy(rig);
}

static void figures_have_names_and_numbers(void **state) {
    (void)state;
    sinew_session *session = test_session("spring");
    sinew_input input;
    sinew_input_init(&input);
    input.frame = 1;
    sinew_result result;
    sinew_result_init(&result);
    assert_int_equal(sinew_figures_count(NULL), 0);
    assert_null(sinew_figures_name(NULL, 0));
    assert_ok(sinew_figures_create(&result.figures, &error));
    assert_int_equal(sinew_figures_count(result.figures), 0);
    sinew_status status = sinew_session_solve(session, &input, &result, NULL, &error);
    assert_true(status == SINEW_OK || status == SINEW_NOT_CONVERGED);
    int count = sinew_figures_count(result.figures);
    assert_true(count > 2);
    char *text;
    assert_ok(sinew_figures_text(result.figures, &text, &error));
    for (int i = 0; i < count; i++) {
        const char *name = sinew_figures_name(result.figures, i);
        char quoted[200];
        double value;
        assert_non_null(name);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(name, sinew_figures_name(result.figures, k));
        snprintf(quoted, sizeof quoted, "\"%s\":", name);
        assert_non_null(strstr(text, quoted));
        assert_true(sinew_figures_get(result.figures, name, &value) && !isnan(value));
    }
    assert_null(sinew_figures_name(result.figures, -1));
    assert_null(sinew_figures_name(result.figures, count));
    sinew_free(text);
    sinew_figures_destroy(result.figures);
    sinew_session_destroy(session);
}

static void weights_are_those_of_the_clip_or_the_input(void **state) {
    (void)state;
    double weights[8] = {0}, given[8] = {0.25, 0.5};
    sinew_session *session =
        test_open("{\"sinew\": 1, " MOUTH "\"time\": {\"fps\": 2}, \"curves\": "
                  "{\"times\": [0, 1], \"values\": {\"jawOpen\": [0, 1], "
                  "\"mouthSmileLeft\": [0.5, 0]}}}");
    sinew_solver *solver = sinew_session_solver(session);
    sinew_input input;
    sinew_input_init(&input);
    assert_int_equal(sinew_solver_weights(solver, &input, weights, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "not prepared"));
    assert_ok(sinew_session_prepare(session, NULL, &error));
    int jaw = sinew_rig_find_slider(sinew_session_rig(session), "jawOpen"), smile = !jaw;
    for (int f = 0; f < 3; f++) {
        input.frame = f;
        assert_ok(sinew_solver_weights(solver, &input, weights, &error));
        assert_close(weights[jaw], f / 2.0, 1e-12);
        assert_close(weights[smile], 0.5 - f / 4.0, 1e-12);
    }
    input.frame = -1, input.weights = given;
    assert_ok(sinew_solver_weights(solver, &input, weights, &error));
    assert_memory_equal(weights, given, 2 * sizeof *given);
    sinew_session_destroy(session);
    session = test_session("fit");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    sinew_input_init(&input);
    input.frame = 0;
    assert_int_equal(sinew_solver_weights(sinew_session_solver(session), &input, weights, &error),
                     SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "the model 'fit' has no slider weights here"));
    sinew_session_destroy(session);
}

/* Every file that a scene names is in its plan, once as what it is. */
static void the_plan_of_a_scene_has_all_its_files(void **state) {
    (void)state;
    static const char text[] =
        "{\"sinew\": 1, \"rig\": {\"files\": [\"in-1.obj\", \"in-2.obj\"], \"regions\": "
        "\"in-3.json\"}, "
        "\"model\": \"force\", \"markers\": {\"file\": \"in-4.csv\", \"map\": \"in-5.csv\", "
        "\"truth\": "
        "\"in-6.pc2\"}, \"obstacles\": [{\"shape\": \"mesh\", \"file\": \"in-7.obj\", \"frames\": "
        "\"in-8.pc2\"}], \"locks\": [{\"name\": \"a\", \"select\": \"mask:in-9.csv\"}], "
        "\"parameters\": "
        "{\"stretch_map\": \"in-10.csv\", \"bend_map\": \"in-11.csv\", \"skull\": "
        "\"mask:in-12.csv\"}, "
        "\"outputs\": {\"frames\": [\"out-1.pc2\", \"out-2.glb\"], \"report\": \"out-3.json\", "
        "\"curves\": "
        "\"out-4.csv\", \"stretch_map\": \"out-5.csv\"}, \"notes\": \"in-99.obj\", \"studio\": "
        "{\"a\": "
        "\"in-98.obj\"}}";
    sinew_scene *scene;
    sinew_file_plan *plan;
    assert_ok(sinew_scene_parse(text, "none.json", "/somewhere", &scene, &error));
    assert_ok(sinew_file_plan_create(&plan, &error));
    assert_ok(sinew_file_plan_add_scene(plan, scene, &error));
    bool inputs[13] = {false}, outputs[6] = {false};
    for (int i = 0; i < sinew_file_plan_count(plan); i++) {
        const char *path = sinew_file_plan_path(plan, i), *name = strrchr(path, '/');
        int number = 0;
        bool output = sinew_file_plan_is_output(plan, i);
        assert_non_null(name);
        assert_int_equal(sscanf(name, output ? "/out-%d." : "/in-%d.", &number), 1);
        assert_in_range(number, 1, output ? 5 : 12);
        bool *seen = output ? &outputs[number] : &inputs[number];
        if (*seen) fail_msg("%s is planned twice", path);
        *seen = true;
    }
    for (int k = 1; k <= 12; k++)
        if (!inputs[k]) fail_msg("input %d is not planned", k);
    for (int k = 1; k <= 5; k++)
        if (!outputs[k]) fail_msg("output %d is not planned", k);
    assert_ok(sinew_file_plan_check(plan, &error));
    assert_ok(sinew_file_plan_add_output(plan, "/somewhere/in-10.csv", &error));
    assert_int_equal(sinew_file_plan_check(plan, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "in-10.csv"));
    sinew_file_plan_destroy(plan);
    sinew_scene_destroy(scene);
}

static void states_are_copied_between_equals_only(void **state) {
    (void)state;
    char *changed;
    sinew_session *session = test_session("spring"), *twin = test_session("spring");
    sinew_solver *a, *b, *stranger;
    assert_ok(sinew_solver_create(session, NULL, &a, &error));
    assert_ok(sinew_solver_create(twin, NULL, &stranger, &error));
    assert_int_equal(sinew_solver_copy_state(a, stranger, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "not of the same structure"));
    /* a structure of the same session that has changed since */
    assert_ok(sinew_session_set(session, "/parameters/guide", "0.3", &changed, NULL, &error));
    sinew_free(changed);
    assert_ok(sinew_solver_create(session, NULL, &b, &error));
    assert_int_equal(sinew_solver_copy_state(a, b, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_solver_copy_state(b, a, &error), SINEW_BAD_INPUT);
    assert_ok(sinew_solver_update(a, NULL, &error));
    assert_ok(sinew_solver_copy_state(a, b, &error));
    sinew_solver_destroy(a), sinew_solver_destroy(b), sinew_solver_destroy(stranger);
    sinew_session_destroy(session), sinew_session_destroy(twin);
}

static void frames_outside_of_the_clip_have_no_time(void **state) {
    (void)state;
    sinew_session_destroy(test_session("linear")); /* writes the files */
    sinew_session *session =
        test_open("{\"sinew\": 1, " BAR "\"model\": \"linear\", \"time\": {\"fps\": 20}, "
                  "\"curves\": {\"times\": [2, 2.5], \"values\": {\"bend120\": [0, 1]}}}");
    assert_ok(sinew_session_prepare(session, NULL, &error));
    const sinew_solver *solver = sinew_session_solver(session);
    for (int frame = 0; frame <= 10; frame++)
        assert_close(sinew_solver_frame_time(solver, frame), 2 + frame / 20.0, 1e-12);
    assert_close(sinew_solver_frame_time(solver, -1), 0, 0);
    assert_close(sinew_solver_frame_time(solver, 11), 0, 0);
    assert_close(sinew_solver_frame_time(NULL, 0), 0, 0);
    sinew_session_destroy(session);
}

int test_refusals(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_that_make_no_sense_say_why),
        cmocka_unit_test(the_plan_of_a_scene_has_all_its_files),
        cmocka_unit_test(documents_that_are_no_scenes_are_refused),
        cmocka_unit_test(selections_pick_what_they_name),
        cmocka_unit_test(selections_that_pick_nothing_say_why),
        cmocka_unit_test(figures_have_names_and_numbers),
        cmocka_unit_test(weights_are_those_of_the_clip_or_the_input),
        cmocka_unit_test(states_are_copied_between_equals_only),
        cmocka_unit_test(frames_outside_of_the_clip_have_no_time),
    };
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
