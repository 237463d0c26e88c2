#include "session_calls.h"

#include "../tests/session/scenes.h"
#include "../tests/support.h"

enum { UNDO_LIMIT = 24, POLL_LIMIT = 400, TEXT_SIZE = 1024 };

static char trouble[2 * TEXT_SIZE];

/* ---- dice ------------------------------------------------------------------------------------ */

static int pick_random(call_dice *dice, int count) {
    dice->seed = dice->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((dice->seed >> 33) % (uint64_t)count);
}

static int pick_byte(call_dice *dice, int count) {
    if (dice->bytes == dice->end) {
        dice->over = true;
        return 0;
    }
    return *dice->bytes++ % count;
}

call_dice call_dice_random(uint64_t seed) {
    return (call_dice){.pick = pick_random, .seed = seed};
}

call_dice call_dice_bytes(const uint8_t *bytes, size_t size) {
    return (call_dice){.pick = pick_byte, .bytes = bytes, .end = size ? bytes + size : bytes};
}

/* ---- the one who calls ----------------------------------------------------------------------- */

typedef struct caller {
    call_dice *dice;
    call_counts *counts;
    sinew_session *session;
    sinew_solver *other;
    char *undo[UNDO_LIMIT];
    int undo_count;
    int polls; /* until the call under way is cancelled */
    double *shape;
    size_t room;
    sinew_error error;
} caller;

#define ANY(list) (list)[c->dice->pick(c->dice, (int)(sizeof(list) / sizeof *(list)))]

static int pick(caller *c, int count) {
    return c->dice->pick(c->dice, count);
}

static bool count_down(void *user) {
    caller *c = user;
    return --c->polls < 0;
}

/* Most calls are cancelled late or not at all; none goes on for ever. */
static sinew_monitor watch(caller *c) {
    c->polls = pick(c, 4) ? POLL_LIMIT : pick(c, 64);
    return (sinew_monitor){.cancelled = count_down, .user = c};
}

/* NULL, or the trouble: a failure without a message, or one that no input explains. */
static const char *ended(caller *c, const char *call, sinew_status status) {
    c->counts->calls++;
    c->counts->cancelled += status == SINEW_CANCELLED;
    if (status <= SINEW_NOT_CONVERGED) return NULL;
    bool expected = status == SINEW_CANCELLED || status == SINEW_BAD_INPUT || status == SINEW_IO ||
                    status == SINEW_UNAVAILABLE;
    if (expected && (status == SINEW_CANCELLED || *c->error.message)) return NULL;
    snprintf(trouble, sizeof trouble, "%s: %s: %s", call, sinew_status_name(status),
             c->error.message);
    return trouble;
}

static const char *say(const char *what, const char *detail) {
    snprintf(trouble, sizeof trouble, "%s: %s", what, detail);
    return trouble;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool make_room(caller *c, const sinew_rig *rig) {
    size_t need = 3 * (size_t)sinew_mesh_vertex_count(sinew_rig_neutral(rig)) +
                  (size_t)sinew_rig_slider_count(rig);
    if (need <= c->room) return true;
    double *grown = realloc(c->shape, need * sizeof *grown);
    if (!grown) return false;
    c->shape = grown, c->room = need;
    return true;
}

static const char *solve(caller *c, sinew_solver *solver, sinew_input *input,
                         const sinew_monitor *monitor) {
    const sinew_rig *rig = sinew_solver_rig(solver);
    if (!rig || !make_room(c, rig)) return NULL;
    sinew_result result;
    sinew_result_init(&result);
    result.positions = c->shape;
    sinew_status status = sinew_solver_solve(solver, input, &result, monitor, &c->error);
    int n = 3 * sinew_mesh_vertex_count(sinew_rig_neutral(rig));
    for (int i = 0; status <= SINEW_NOT_CONVERGED && i < n; i++)
        if (!isfinite(c->shape[i])) return "a shape is not finite";
    if (getenv("SINEW_TRACE"))
        fprintf(stderr, "solve %d at %g: %s\n", input->frame, input->time,
                sinew_status_name(status));
    c->counts->shapes += status <= SINEW_NOT_CONVERGED;
    return ended(c, "solve", status);
}

static const char *solve_any(caller *c, sinew_solver *solver) {
    static const double weights[] = {0, 1, 0.5, -1, 2, 1e-300, 1e300, NAN, INFINITY};
    static const double times[] = {-1, 1e9, 1e300, -1e300, NAN, INFINITY};
    const sinew_rig *rig = sinew_solver_rig(solver);
    if (!rig || !make_room(c, rig)) return NULL;
    double head[12];
    sinew_input input;
    sinew_input_init(&input);
    double *live = NULL;
    if (pick(c, 2)) {
        int sliders = sinew_rig_slider_count(rig);
        live = malloc((size_t)(sliders ? sliders : 1) * sizeof *live);
        if (!live) return NULL;
        for (int i = 0; i < sliders; i++) live[i] = weights[pick(c, pick(c, 4) ? 3 : 9)];
        input.weights = live;
        input.frame = -1;
    } else if (pick(c, 3) == 0) {
        input.frame = -1;
    } else {
        input.frame = pick(c, 48) - 3;
    }
    if (input.frame < 0 && pick(c, 2)) input.time = pick(c, 8) ? pick(c, 60) / 20.0 : ANY(times);
    if (pick(c, 16) == 0) {
        for (int i = 0; i < 12; i++) head[i] = pick(c, 8) ? i % 5 == 0 : ANY(times);
        input.head = head;
    }
    sinew_monitor monitor = watch(c);
    const char *bad = solve(c, solver, &input, &monitor);
    free(live);
    return bad;
}

static const char *prepare(caller *c) {
    sinew_monitor monitor = watch(c);
    return ended(c, "prepare", sinew_session_prepare(c->session, &monitor, &c->error));
}

/* ---- the document ---------------------------------------------------------------------------- */

static const char *const pointers[] = {"/curves/values/bend120/1",
                                       "/time/fps",
                                       "/strict",
                                       "/parameters",
                                       "/weights",
                                       "/parameters/nothing",
                                       "/rig/sample",
                                       "/curves",
                                       "/model",
                                       "",
                                       "/curves/times/0",
                                       "/curves/times/-",
                                       "nonsense",
                                       "/~2",
                                       "/time",
                                       "/obstacles",
                                       "/obstacles/-",
                                       "/pins",
                                       "/pulls/-",
                                       "/locks",
                                       "/obstacles/0/radius",
                                       "/obstacles/0",
                                       "/rig",
                                       "/keys/0/pose",
                                       "/keys",
                                       "/obstacles/0/motion/0",
                                       "/orientations",
                                       "/steps",
                                       "/time/to",
                                       "/weights/bend120",
                                       "/attenuation",
                                       "/locks/0/enabled",
                                       "/rig/files",
                                       "/markers",
                                       "/notes"};
static const char *const values[] = {
    "0.5",
    "25",
    "true",
    "{}",
    "[]",
    "null",
    "\"bar\"",
    "\"rotation\"",
    "\"linear\"",
    "-1",
    "1e308",
    "{\"bend120\": 0.3}",
    "[0, 1, 2]",
    "{\"fps\": 24}",
    "\"\\u0000\"",
    "{",
    "nan",
    "{\"sample\": \"bar\", \"vertices\": 300}",
    "\"spring\"",
    "\"modal\"",
    "\"force\"",
    "\"fit\"",
    "{\"shape\": \"sphere\", \"center\": [0.5, 0.3, 0], \"radius\": 0.25}",
    "[{\"shape\": \"plane\", \"point\": [0, -0.05, 0], \"normal\": [0, 1, 0]}]",
    "[{\"select\": \"v:0-7\"}]",
    "{\"vertex\": 3, \"to\": [0, 0.2, 0], \"stiffness\": 2}",
    "[{\"name\": \"a\", \"select\": \"v:1-4\", \"axes\": \"y\"}]",
    "2",
    "0",
    "1e-300",
    "{\"vertex\": 5, \"to\": [0, 0.2, 0]}",
    "[{\"time\": 0, \"weights\": {\"jawOpen\": 1}}]",
    "[{\"select\": \"v:0-7\", \"turn\": [0, 0, 30]}]",
    "{\"jawOpen\": 0.7}"};
static const char *const operations[] = {"add", "remove", "replace", "move", "copy", "test", "x"};

static const char *undo(caller *c) {
    if (!c->undo_count) return NULL;
    char *inverse = c->undo[--c->undo_count];
    if (getenv("SINEW_TRACE")) fprintf(stderr, "undo %s\n", inverse);
    sinew_status status = sinew_session_patch(c->session, inverse, NULL, NULL, &c->error);
    if (status != SINEW_OK) return say("an inverse patch is rejected", c->error.message);
    sinew_free(inverse);
    return NULL;
}

/* A patch that was applied stays until it is undone. */
static const char *changed(caller *c, const char *patch, sinew_status status, char *inverse,
                           const char *before) {
    char *after = NULL;
    const char *bad = ended(c, "patch", status);
    if (getenv("SINEW_TRACE")) fprintf(stderr, "%s: %s\n", patch, sinew_status_name(status));
    if (!bad && sinew_session_text(c->session, &after, &c->error) != SINEW_OK)
        bad = say("text", c->error.message);
    if (!bad && status == SINEW_OK && !inverse) bad = say("no inverse", patch);
    if (!bad && status != SINEW_OK && strcmp(before, after))
        bad = say("a rejected patch changed the document", patch);
    sinew_free(after);
    if (bad || status != SINEW_OK) {
        c->counts->rejected++;
        sinew_free(inverse);
        return bad;
    }
    c->counts->patches++;
    c->undo[c->undo_count++] = inverse;
    /* many are undone at once, so that most solves meet a document that can be solved */
    return c->undo_count == UNDO_LIMIT || pick(c, 3) ? undo(c) : NULL;
}

static const char *patch(caller *c) {
    char text[TEXT_SIZE], *inverse = NULL, *before = NULL;
    int length = snprintf(text, sizeof text, "[");
    for (int count = pick(c, 3); count >= 0; count--)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "{\"op\": \"%s\", \"path\": \"%s\", \"from\": \"%s\", \"value\": %s}%s",
                           ANY(operations), ANY(pointers), ANY(pointers), ANY(values),
                           count ? ", " : "]");
    if (sinew_session_text(c->session, &before, &c->error) != SINEW_OK)
        return say("text", c->error.message);
    sinew_status status = sinew_session_patch(c->session, text, &inverse, NULL, &c->error);
    const char *bad = changed(c, text, status, inverse, before);
    sinew_free(before);
    return bad;
}

/* Mostly the model of the document. */
static const sinew_model *any_model(caller *c) {
    const sinew_model *model = NULL;
    char *name = NULL;
    if (pick(c, 8) && sinew_session_get(c->session, "/model", &name, &c->error) == SINEW_OK &&
        name) {
        name[strlen(name) - 1] = '\0'; /* the quotes */
        model = sinew_model_find(name + 1);
    }
    sinew_free(name);
    if (model && !sinew_model_parameter_count(model)) model = NULL;
    return model ? model : sinew_model_at(pick(c, sinew_model_count()));
}

/* Some value of some parameter: new parameters take part by themselves. */
static const char *set_parameter(caller *c) {
    const sinew_model *model = any_model(c);
    const sinew_parameter *p =
        sinew_model_parameter(model, pick(c, 1 + sinew_model_parameter_count(model)));
    if (!p) return NULL;
    char text[256], pointer[128], json[64], *inverse = NULL, *before = NULL;
    snprintf(pointer, sizeof pointer, "/parameters/%s", p->name);
    const double numbers[] = {p->minimum,      p->maximum, p->fallback, p->fallback + 1,
                              p->fallback / 2, -1,         1e-300};
    if (p->kind == SINEW_PARAMETER_KIND_CHOICE && pick(c, 8)) {
        const char *word = p->choices;
        for (int skip = pick(c, 4); skip > 0 && strchr(word, '|'); skip--)
            word = strchr(word, '|') + 1;
        snprintf(json, sizeof json, "\"%.*s\"", (int)strcspn(word, "|"), word);
    } else if (p->kind == SINEW_PARAMETER_KIND_FLAG && pick(c, 8)) {
        snprintf(json, sizeof json, "%s", pick(c, 2) ? "true" : "false");
    } else if (p->kind <= SINEW_PARAMETER_KIND_INTEGER && pick(c, 8)) {
        double number = ANY(numbers);
        snprintf(json, sizeof json, "%.9g",
                 p->kind == SINEW_PARAMETER_KIND_INTEGER ? floor(number) : number);
    } else {
        snprintf(json, sizeof json, "%.60s", ANY(values));
    }
    if (sinew_session_text(c->session, &before, &c->error) != SINEW_OK)
        return say("text", c->error.message);
    snprintf(text, sizeof text, "%s = %s", pointer, json);
    sinew_status status = sinew_session_set(c->session, pointer, json, &inverse, NULL, &c->error);
    const char *bad = changed(c, text, status, inverse, before);
    sinew_free(before);
    return bad;
}

static const char *ask(caller *c) {
    char *text = NULL;
    sinew_cost cost;
    sinew_clip_info clip;
    sinew_clip_info_init(&clip);
    sinew_scene *scene = NULL;
    switch (pick(c, 5)) {
    case 0:
        sinew_session_get(c->session, ANY(pointers), &text, &c->error);
        break;
    case 1:
        sinew_session_describe(c->session, &text, &c->error);
        break;
    case 2:
        sinew_session_cost(c->session, ANY(pointers), &cost, &c->error);
        break;
    case 3:
        sinew_session_clip(c->session, &clip, &c->error);
        break;
    default:
        sinew_session_scene(c->session, &scene, &c->error);
    }
    sinew_scene_destroy(scene);
    sinew_free(text);
    c->counts->calls++;
    return NULL;
}

/* ---- states and solvers ---------------------------------------------------------------------- */

/* Saved states come back; damaged ones are rejected and change nothing. */
static const char *save_and_load(caller *c) {
    sinew_solver *solver = sinew_session_solver(c->session);
    void *saved = NULL, *again = NULL;
    size_t size, more;
    if (!sinew_session_rig(c->session)) return NULL;
    if (sinew_solver_save_state(solver, &saved, &size, &c->error) != SINEW_OK) return NULL;
    const char *bad = NULL;
    c->counts->calls += 3;
    if (size > 0 && pick(c, 2)) {
        unsigned char *bytes = saved;
        size_t at = ((size_t)pick(c, 256) * 256 + (size_t)pick(c, 256)) % size;
        bytes[at] ^= (unsigned char)(1 << pick(c, 8));
        if (sinew_solver_load_state(solver, saved, size, &c->error) != SINEW_BAD_INPUT ||
            sinew_solver_load_state(solver, saved, at, &c->error) != SINEW_BAD_INPUT)
            bad = "a damaged state is accepted";
    } else if (sinew_solver_load_state(solver, saved, size, &c->error) != SINEW_OK ||
               sinew_solver_save_state(solver, &again, &more, &c->error) != SINEW_OK) {
        bad = say("a state does not load", c->error.message);
    } else if (more != size || memcmp(saved, again, size)) {
        bad = "a state differs after it was loaded";
    }
    sinew_free(saved), sinew_free(again);
    return bad;
}

static const char *use_other(caller *c) {
    sinew_monitor monitor = watch(c);
    if (!c->other)
        return ended(c, "solver_create",
                     sinew_solver_create(c->session, &monitor, &c->other, &c->error));
    switch (pick(c, 5)) {
    case 0:
        sinew_solver_destroy(c->other);
        c->other = NULL;
        return NULL;
    case 1:
        return ended(c, "update", sinew_solver_update(c->other, &monitor, &c->error));
    case 2:
        if (!sinew_session_rig(c->session)) return NULL;
        return ended(
            c, "copy_state",
            sinew_solver_copy_state(c->other, sinew_session_solver(c->session), &c->error));
    default:
        return solve_any(c, c->other);
    }
}

static const char *drag(caller *c) {
    sinew_solver *solver = sinew_session_solver(c->session);
    const sinew_rig *rig = sinew_session_rig(c->session);
    if (!rig || !make_room(c, rig)) return NULL;
    static const double lengths[] = {0, 0.1, -0.1, 1e300, NAN};
    sinew_drag d = {.vertex = pick(c, sinew_mesh_vertex_count(sinew_rig_neutral(rig))),
                    .axes = SINEW_AXIS_ALL,
                    .weight = 1,
                    .target = {ANY(lengths), ANY(lengths), 0}};
    return ended(c, "drag", sinew_solver_drag(solver, 1, &d, NULL, c->shape, NULL, &c->error));
}

static const char *one_call(caller *c) {
    sinew_solver *solver = sinew_session_solver(c->session);
    switch (pick(c, 12)) {
    case 0:
    case 1:
    case 2: {
        const char *bad = prepare(c);
        return bad ? bad : solve_any(c, solver);
    }
    case 3:
        return save_and_load(c);
    case 4:
        return ask(c);
    case 5:
        return use_other(c);
    case 6:
        if (sinew_session_rig(c->session)) sinew_solver_reset(solver);
        sinew_session_cancel(c->session);
        return NULL;
    case 7:
        return drag(c);
    case 8:
        return undo(c);
    case 9:
    case 10:
        return set_parameter(c);
    default:
        return patch(c);
    }
}

/* ---- the same before and after --------------------------------------------------------------- */

static uint64_t hash_shape(const double *shape, int count) {
    const unsigned char *bytes = (const unsigned char *)shape;
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < (size_t)count * sizeof *shape; i++)
        hash = (hash ^ bytes[i]) * 1099511628211ull;
    return hash;
}

/* Frame 3 of the clip as a number. */
static const char *reference(caller *c, uint64_t *hash) {
    if (sinew_session_prepare(c->session, NULL, &c->error) != SINEW_OK)
        return say("prepare", c->error.message);
    sinew_solver *solver = sinew_session_solver(c->session);
    sinew_input input;
    sinew_input_init(&input);
    input.frame = 3;
    const char *bad = solve(c, solver, &input, NULL);
    if (!bad)
        *hash = hash_shape(
            c->shape, 3 * sinew_mesh_vertex_count(sinew_rig_neutral(sinew_solver_rig(solver))));
    return bad;
}

static const char *all_calls(caller *c, int calls) {
    char *before = NULL, *after = NULL;
    uint64_t first = 0, last = 1;
    const char *bad = reference(c, &first);
    if (!bad && sinew_session_text(c->session, &before, &c->error) != SINEW_OK)
        bad = say("text", c->error.message);
    for (int i = 0; i < calls && !bad && !c->dice->over; i++) bad = one_call(c);
    while (c->undo_count && !bad) bad = undo(c);
    if (!bad && sinew_session_text(c->session, &after, &c->error) != SINEW_OK)
        bad = say("text", c->error.message);
    if (!bad && strcmp(before, after)) bad = say("the document differs after all undo", after);
    if (!bad) bad = reference(c, &last);
    if (!bad && first != last) bad = "frame 3 differs after all undo";
    sinew_free(before), sinew_free(after);
    return bad;
}

const char *session_calls(const char *name, call_dice *dice, int calls, call_counts *counts) {
    caller c = {.dice = dice, .counts = counts};
    sinew_scene *scene = NULL;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    const char *bad = NULL;
    if (sinew_scene_parse(test_scene(name), name, test_folder(), &scene, &c.error) != SINEW_OK ||
        sinew_session_create(scene, &options, &c.session, &c.error) != SINEW_OK)
        bad = say("create", c.error.message);
    else
        bad = all_calls(&c, calls);
    sinew_scene_destroy(scene);
    sinew_solver_destroy(c.other);
    sinew_session_destroy(c.session);
    while (c.undo_count) sinew_free(c.undo[--c.undo_count]);
    free(c.shape);
    return bad;
}

const char *session_bytes(const uint8_t *bytes, size_t size) {
    if (size < 2) return NULL;
    int scenes = 0;
    while (test_scene_names[scenes]) scenes++;
    call_dice dice = call_dice_bytes(bytes + 1, size - 1);
    call_counts counts = {0};
    return session_calls(test_scene_names[*bytes % scenes], &dice, 200, &counts);
}
