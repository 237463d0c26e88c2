/* The models, sessions and jobs. */
#include "stage.h"

#include "../session/scenes.h"

/* ---- rotation and spring --------------------------------------------------------------------- */

ACT(sinew_rotation_create, sinew_rotation *made = NULL;
    DO(sinew_rotation_create(s->rig, NULL, m, &made, e)); sinew_rotation_destroy(made);)
ACT(sinew_rotation_state_create, sinew_rotation *rotation = NULL; sinew_rotation_state *made = NULL;
    DO(sinew_rotation_create(s->rig, NULL, NULL, &rotation, e));
    DO(sinew_rotation_state_create(rotation, &made, e)); sinew_rotation_state_destroy(made);
    sinew_rotation_destroy(rotation);)

static sinew_status with_spring(const stage *s, const sinew_monitor *m, const char *what,
                                sinew_error *e) {
    sinew_status status = SINEW_OK;
    sinew_spring *spring = NULL;
    sinew_spring_state *state = NULL;
    sinew_obstacle *ball = NULL;
    double shape[3000], weights[1] = {0.2};
    sinew_spring_options options;
    sinew_spring_options_init(&options);
    DO(sinew_spring_create(s->bar, NULL, strcmp(what, "create") ? NULL : m, &spring, e));
    if (!strcmp(what, "network")) DO(sinew_spring_write_network(spring, at("network.csv"), e));
    if (strcmp(what, "create")) DO(sinew_spring_state_create(spring, &state, e));
    if (!strcmp(what, "set")) DO(sinew_spring_state_set(state, &options, e));
    if (!strcmp(what, "solve")) {
        DO(sinew_obstacle_create_sphere((const double[3]){0.5, 0.35, 0}, 0.3, &ball, e));
        const sinew_obstacle *obstacles[1] = {ball};
        sinew_spring_frame frame = {.size = sizeof frame,
                                    .weights = weights,
                                    .index = -1,
                                    .obstacle_count = 1,
                                    .obstacles = obstacles};
        DO(sinew_spring_solve(spring, state, &frame, shape, NULL, m, e));
    }
    sinew_obstacle_destroy(ball);
    sinew_spring_state_destroy(state);
    sinew_spring_destroy(spring);
    return status;
}

ACT(sinew_spring_create, DO(with_spring(s, m, "create", e));)
ACT(sinew_spring_state_create, DO(with_spring(s, m, "state", e));)
ACT(sinew_spring_state_set, DO(with_spring(s, m, "set", e));)
ACT(sinew_spring_solve, DO(with_spring(s, m, "solve", e));)
ACT(sinew_spring_write_network, DO(with_spring(s, m, "network", e));)

/* ---- modal ----------------------------------------------------------------------------------- */

typedef struct modal_parts {
    sinew_modal *modal;
    sinew_modal_motion *motion;
    sinew_modal_state *state;
    double *pose;
} modal_parts;

static sinew_modal_options few_modes(void) {
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = 4;
    return options;
}

static sinew_status make_modal(const stage *s, const sinew_monitor *m, modal_parts *p,
                               sinew_error *e) {
    sinew_status status = SINEW_OK;
    sinew_modal_options options = few_modes();
    DO(sinew_modal_create_tets(s->tets, &options, NULL, &p->modal, e));
    p->pose = malloc(3 * (size_t)s->tets->vertex_count * sizeof(double));
    for (int i = 0; i < 3 * s->tets->vertex_count; i++)
        p->pose[i] = s->tets->positions[i] * (i % 3 == 1 ? 1.2 : 1);
    const double times[2] = {0, 1};
    const double *const poses[2] = {s->tets->positions, p->pose};
    sinew_modal_keys keys = {.size = sizeof keys, .count = 2, .times = times, .positions = poses};
    DO(sinew_modal_motion_create(p->modal, &keys, NULL, m, &p->motion, e));
    DO(sinew_modal_state_create(p->modal, &p->state, e));
    return status;
}

static void free_modal(modal_parts *p) {
    sinew_modal_state_destroy(p->state);
    sinew_modal_motion_destroy(p->motion);
    sinew_modal_destroy(p->modal);
    free(p->pose);
}

#define ON_MODAL(function, ...)                                                                    \
    ACT(function, modal_parts p = {0}; double out[3000]; int *list = NULL; int count = 0;          \
        sinew_modal_pins *pins = NULL; const int some[3] = {1, 2, 40}; (void)out, (void)count;     \
        (void)some, (void)list; DO(make_modal(s, NULL, &p, e)); DO(function(__VA_ARGS__));         \
        sinew_modal_pins_destroy(pins); sinew_free(list); free_modal(&p);)

ACT(sinew_modal_create, sinew_modal *made = NULL; sinew_modal_options options = few_modes();
    DO(sinew_modal_create(s->mesh, &options, m, &made, e)); sinew_modal_destroy(made);)
ACT(sinew_modal_create_tets, sinew_modal *made = NULL; sinew_modal_options options = few_modes();
    DO(sinew_modal_create_tets(s->tets, &options, m, &made, e)); sinew_modal_destroy(made);)
ACT(sinew_modal_motion_create, modal_parts p = {0}; DO(make_modal(s, m, &p, e)); free_modal(&p);)
ON_MODAL(sinew_modal_state_create, p.modal, &p.state, (sinew_modal_state_destroy(p.state), e))
ON_MODAL(sinew_modal_shape, p.modal, 1, 0.1, out, e)
ON_MODAL(sinew_modal_motion_update, p.motion, NULL, e)
ON_MODAL(sinew_modal_frame_mixed, p.motion, p.state, 0.5, p.pose, 0.5, out, e)
ON_MODAL(sinew_modal_project, p.modal, p.pose, out, e)
ON_MODAL(sinew_modal_pins_create, p.modal, 3, some, NULL, &pins, e)
ON_MODAL(sinew_modal_elements_at, p.modal, 3, some, &list, &count, e)
ACT(sinew_modal_curve, const double numbers[2] = {0, 3}; double values[4];
    DO(sinew_modal_curve(2, numbers, numbers, 4, values, e));)
ACT(sinew_modal_lag, modal_parts p = {0}; double weights[300] = {0}; double lag[300];
    const double times[3] = {0, 0.1, 0.2}; DO(make_modal(s, NULL, &p, e));
    DO(sinew_modal_lag(p.motion, 3, times, weights, lag, e)); free_modal(&p);)
ACT(sinew_modal_frame_constrained, modal_parts p = {0}; double out[3000]; int *elements = NULL;
    int count = 0; const int some[3] = {1, 2, 40}; double targets[9] = {0};
    sinew_modal_pins *pins = NULL; DO(make_modal(s, NULL, &p, e));
    DO(sinew_modal_pins_create(p.modal, 3, some, NULL, &pins, e));
    DO(sinew_modal_elements_at(p.modal, 3, some, &elements, &count, e));
    sinew_modal_orientation turn = {count, elements, {0, 0, 0.3}, 1};
    sinew_modal_constraints held = {.size = sizeof held,
                                    .pins = pins,
                                    .targets = targets,
                                    .orientation_count = 1,
                                    .orientations = &turn};
    DO(sinew_modal_frame_constrained(p.motion, p.state, &held, 0.5, out, e)); sinew_free(elements);
    sinew_modal_pins_destroy(pins); free_modal(&p);)

/* ---- force ----------------------------------------------------------------------------------- */

static sinew_status make_force(const stage *s, const sinew_monitor *m, sinew_force **force,
                               sinew_force_state **state, sinew_error *e) {
    sinew_status status = SINEW_OK;
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.contact = options.layer = options.obstacles = true;
    DO(sinew_force_create(s->rig, s->map, &options, m, force, e));
    if (state) DO(sinew_force_state_create(*force, state, e));
    return status;
}

#define ON_FORCE(function, ...)                                                                    \
    ACT(function, sinew_force *force = NULL; sinew_force_state *state = NULL; double shape[3000];  \
        const double command[16] = {0.5}; sinew_obstacle *ball = NULL; (void)shape, (void)command; \
        DO(sinew_obstacle_create_sphere(command, 0.1, &ball, e));                                  \
        const sinew_obstacle *balls[1] = {ball}; sinew_force_options options;                      \
        sinew_force_options_init(&options); (void)balls, (void)options;                            \
        DO(make_force(s, NULL, &force, &state, e)); DO(function(__VA_ARGS__));                     \
        sinew_force_state_destroy(state); sinew_force_destroy(force);                              \
        sinew_obstacle_destroy(ball);)

ACT(sinew_force_create, sinew_force *made = NULL; DO(make_force(s, m, &made, NULL, e));
    sinew_force_destroy(made);)
ACT(sinew_force_state_create, sinew_force *made = NULL; sinew_force_state *state = NULL;
    DO(make_force(s, NULL, &made, &state, e)); sinew_force_state_destroy(state);
    sinew_force_destroy(made);)
ON_FORCE(sinew_force_state_set, state, &options, e)
ON_FORCE(sinew_force_start, state, s->shape, NULL, e)
ON_FORCE(sinew_force_frame, force, state, s->take->positions, NULL, shape, NULL, m, e)
ON_FORCE(sinew_force_command, force, state, command, shape, NULL, m, e)
ON_FORCE(sinew_force_set_obstacles, state, 1, balls, e)
ACT(sinew_force_softness, double softness[1000]; DO(sinew_force_softness(s->rig, softness, m, e));)
ACT(sinew_jaw_shares, double shares[1000]; DO(sinew_jaw_shares(s->rig, 0, shares, e));)
ACT(sinew_stiffness_estimate, double stretch[1000]; double bend[1000];
    sinew_stiffness_options options; sinew_stiffness_options_init(&options); options.iterations = 2;
    DO(sinew_stiffness_estimate(s->rig, NULL, &options, m, stretch, bend, NULL, e));)

/* ---- sessions -------------------------------------------------------------------------------- */

static sinew_status open_session(const char *name, sinew_session **session, sinew_error *e) {
    sinew_status status = SINEW_OK;
    sinew_scene *scene = NULL;
    sinew_session_options options;
    sinew_session_options_init(&options);
    options.loader = sinew_file_loader();
    DO(sinew_scene_parse(test_scene(name), name, test_folder(), &scene, e));
    DO(sinew_session_create(scene, &options, session, e));
    sinew_scene_destroy(scene);
    return status;
}

#define ON_SESSION(function, ...)                                                                  \
    ACT(function, sinew_session *session = NULL; char *made = NULL; sinew_scene *scene = NULL;     \
        sinew_cost cost; sinew_input input; sinew_result result; (void)cost;                       \
        sinew_input_init(&input); sinew_result_init(&result);                                      \
        DO(open_session("linear", &session, e)); DO(function(session, __VA_ARGS__));               \
        sinew_free(made); sinew_scene_destroy(scene); sinew_session_destroy(session);)

ACT(sinew_session_create, sinew_session *made = NULL; DO(open_session("linear", &made, e));
    sinew_session_destroy(made);)
ON_SESSION(sinew_session_patch, "[{\"op\": \"remove\", \"path\": \"/time\"}]", &made, NULL, e)
ON_SESSION(sinew_session_set, "/time/fps", "25", &made, NULL, e)
ON_SESSION(sinew_session_text, &made, e)
ON_SESSION(sinew_session_get, "/time", &made, e)
ON_SESSION(sinew_session_scene, &scene, e)
ON_SESSION(sinew_session_cost, "/time", &cost, e)
ON_SESSION(sinew_session_prepare, m, e)
ON_SESSION(sinew_session_solve, &input, &result, m, e)
ON_SESSION(sinew_session_describe, &made, e)

/* On the solver of a prepared session. */
#define ON_SOLVER(function, model, ...)                                                            \
    ACT(function, sinew_session *session = NULL; sinew_solver *other = NULL; char *made = NULL;    \
        void *bytes = NULL; size_t size = 0; double out[3000]; sinew_clip_info clip;               \
        const sinew_drag drag = {.vertex = 100, .axes = SINEW_AXIS_ALL, .weight = 1};              \
        sinew_input input; sinew_result result; (void)drag, (void)out, (void)size;                 \
        sinew_input_init(&input); sinew_result_init(&result); sinew_clip_info_init(&clip);         \
        DO(open_session(model, &session, e)); DO(sinew_session_prepare(session, NULL, e));         \
        sinew_solver *solver = session ? sinew_session_solver(session) : NULL; (void)solver;       \
        DO(function(__VA_ARGS__)); sinew_free(made); sinew_free(bytes);                            \
        sinew_solver_destroy(other); sinew_session_destroy(session);)

ON_SOLVER(sinew_session_clip, "linear", session, &clip, e)
ON_SOLVER(sinew_solver_create, "modal", session, m, &other, e)
ACT(sinew_solver_update, sinew_session *session = NULL; DO(open_session("linear", &session, e));
    DO(sinew_session_prepare(session, NULL, e));
    DO(sinew_session_set(session, "/model", "\"rotation\"", NULL, NULL, e));
    DO(sinew_solver_update(sinew_session_solver(session), m, e)); sinew_session_destroy(session);)
ON_SOLVER(sinew_solver_solve, "force", solver, &input, &result, m, e)
ON_SOLVER(sinew_solver_describe, "modal", solver, &made, e)
ON_SOLVER(sinew_solver_clip, "linear", solver, &clip, e)
ON_SOLVER(sinew_solver_weights, "linear", solver, &input, out, e)
ON_SOLVER(sinew_solver_linear, "rotation", solver, &input, out, NULL, e)
ON_SOLVER(sinew_solver_drag, "linear", solver, 1, &drag, NULL, out, NULL, e)
ON_SOLVER(sinew_solver_save_state, "force", solver, &bytes, &size, e)
ACT(sinew_solver_copy_state, sinew_session *session = NULL; sinew_solver *other = NULL;
    DO(open_session("force", &session, e)); DO(sinew_session_prepare(session, NULL, e));
    DO(sinew_solver_create(session, NULL, &other, e));
    DO(sinew_solver_copy_state(other, sinew_session_solver(session), e));
    sinew_solver_destroy(other); sinew_session_destroy(session);)
ACT(sinew_solver_load_state, sinew_session *session = NULL; void *bytes = NULL; size_t size = 0;
    DO(open_session("force", &session, e)); DO(sinew_session_prepare(session, NULL, e));
    DO(sinew_solver_save_state(sinew_session_solver(session), &bytes, &size, e));
    DO(sinew_solver_load_state(sinew_session_solver(session), bytes, size, e)); sinew_free(bytes);
    sinew_session_destroy(session);)
ACT(sinew_figures_create, sinew_figures *made = NULL; DO(sinew_figures_create(&made, e));
    sinew_figures_destroy(made);)
ACT(sinew_figures_text, sinew_figures *figures = NULL; char *made = NULL;
    DO(sinew_figures_create(&figures, e)); DO(sinew_figures_text(figures, &made, e));
    sinew_free(made); sinew_figures_destroy(figures);)

/* ---- jobs ------------------------------------------------------------------------------------ */

static sinew_status open_job(const sinew_monitor *m, sinew_job **job, sinew_error *e) {
    sinew_status status = SINEW_OK;
    sinew_scene *scene = NULL;
    DO(sinew_scene_parse(test_scene("linear"), "linear", test_folder(), &scene, e));
    DO(sinew_scene_set(scene, "/outputs", "{\"frames\": [\"job.pc2\"], \"report\": \"job.json\"}",
                       NULL, e));
    DO(sinew_job_create(scene, m, job, e));
    sinew_scene_destroy(scene);
    return status;
}

#define ON_JOB(function, ...)                                                                      \
    ACT(function, sinew_job *job = NULL; char *made = NULL; double shape[3000]; (void)shape;       \
        DO(open_job(NULL, &job, e)); DO(function(job, __VA_ARGS__)); sinew_free(made);             \
        sinew_job_destroy(job);)

ACT(sinew_job_create, sinew_job *made = NULL; DO(open_job(m, &made, e)); sinew_job_destroy(made);)
ON_JOB(sinew_job_frame, 2, shape, NULL, m, e)
ON_JOB(sinew_job_run, 0, 3, m, e)
ON_JOB(sinew_job_run_part, 0, 3, at("parts"), false, m, e)
ACT(sinew_job_run_last_part, sinew_job *job = NULL; bool merged; DO(open_job(NULL, &job, e));
    DO(sinew_job_run_part(job, 0, 0, at("last"), false, NULL, e));
    DO(sinew_job_run_last_part(job, 1, -1, at("last"), false, m, &merged, e));
    sinew_job_destroy(job);)
ACT(sinew_job_check_parts, sinew_job *job = NULL; bool present[100]; DO(open_job(NULL, &job, e));
    DO(sinew_job_run_part(job, 0, 3, at("checked"), false, NULL, e));
    DO(sinew_job_check_parts(job, at("checked"), present, m, e)); sinew_job_destroy(job);)
ON_JOB(sinew_job_report, &made, e)
ACT(sinew_job_merge, sinew_job *job = NULL; DO(open_job(NULL, &job, e));
    DO(sinew_job_run_part(job, 0, -1, at("whole"), false, NULL, e));
    DO(sinew_job_merge(job, at("whole"), m, e)); sinew_job_destroy(job);)
