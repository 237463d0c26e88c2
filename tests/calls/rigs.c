/* Rigs and what is computed from them: locks, fits, captures, bakes, measures, pictures. */
#include "stage.h"

/* ---- rigs ------------------------------------------------------------------------------------ */

static const int some[3] = {1, 2, 3}, drivers[2] = {0, 1};
static const double deltas[9] = {0.1, 0, 0, 0, 0.1, 0, 0, 0, 0.1};
static const sinew_term term = {1, {0, 1, 0}, {2, 1, 0}};

#define ON_A_COPY(function, ...)                                                                   \
    ACT(function, sinew_rig *made = NULL; DO(sinew_rig_copy(s->rig, &made, e));                    \
        DO(function(made, __VA_ARGS__)); sinew_rig_destroy(made);)

ACT(sinew_rig_create, sinew_rig *made = NULL; sinew_mesh *mesh = NULL;
    DO(sinew_mesh_copy(s->mesh, &mesh, e)); DO(sinew_rig_create(mesh, &made, e));
    sinew_rig_destroy(made);)
ACT(sinew_rig_copy, sinew_rig *made = NULL; DO(sinew_rig_copy(s->rig, &made, e));
    sinew_rig_destroy(made);)
ON_A_COPY(sinew_rig_add_pose, "pose", s->shape, e)
ON_A_COPY(sinew_rig_add_target, "target", 3, some, deltas, e)
ON_A_COPY(sinew_rig_add_inbetween, "half", 0, 0.5, 3, some, deltas, e)
ON_A_COPY(sinew_rig_add_combination, "both", SINEW_COMBINE_MULTIPLY, 2, drivers, 3, some, deltas, e)
ON_A_COPY(sinew_rig_add_polynomial, "poly", 2, drivers, 1, &term, 3, some, deltas, e)
ON_A_COPY(sinew_rig_add_hinge, "hinge", 2, drivers, 1, &term, 3, some, deltas, e)
ON_A_COPY(sinew_rig_add_region, "region", 3, some, e)
ON_A_COPY(sinew_rig_set_limits, 0, -1, 1, e)
ON_A_COPY(sinew_rig_set_group, 0, "mouth", e)
ON_A_COPY(sinew_rig_set_mirror, 0, 1, e)
ON_A_COPY(sinew_rig_deduce_from_names, e)
ACT(sinew_rig_parse_weights, double weights[16];
    DO(sinew_rig_parse_weights(s->rig, "jawOpen=0.5", weights, e));)
ACT(sinew_rig_bind_curves, sinew_curves *made = NULL; int unmatched;
    DO(sinew_rig_bind_curves(s->rig, s->curves, &made, &unmatched, e)); sinew_curves_destroy(made);)
ACT(sinew_linear_create, sinew_linear *made = NULL; DO(sinew_linear_create(s->rig, &made, e));
    sinew_linear_destroy(made);)
ACT(sinew_find_resting, int *made = NULL; int count; int axis;
    DO(sinew_find_resting(s->rig, &made, &count, &axis, e)); sinew_free(made);)
ACT(sinew_select, int *made = NULL; int count;
    DO(sinew_select(s->rig, "v:1,5-9", NULL, NULL, m, &made, &count, e)); sinew_free(made);)
ACT(sinew_sample_rig, sinew_rig *made = NULL; DO(sinew_sample_rig("bar", NULL, &made, e));
    sinew_rig_destroy(made);)
ACT(sinew_sample_curves, sinew_curves *made = NULL; DO(sinew_sample_curves("bar", &made, e));
    sinew_curves_destroy(made);)
ACT(sinew_sample_lip_curves, sinew_curves *made = NULL; DO(sinew_sample_lip_curves(&made, e));
    sinew_curves_destroy(made);)
ACT(sinew_sample_markers, sinew_markers *made = NULL; sinew_marker_map *map = NULL;
    DO(sinew_sample_markers("face", NULL, NULL, &made, &map, e)); sinew_markers_destroy(made);
    sinew_marker_map_destroy(map);)

/* ---- locks ----------------------------------------------------------------------------------- */

#define ON_LOCKS(function, ...)                                                                    \
    ACT(function, sinew_locks *locks = NULL; DO(sinew_locks_create(s->space, NULL, &locks, e));    \
        DO(sinew_locks_add(locks, "a", 3, some, SINEW_AXIS_ALL, NULL, s->weights, e));             \
        DO(function(__VA_ARGS__)); sinew_locks_destroy(locks);)

ACT(sinew_slider_space_create, sinew_slider_space *made = NULL;
    DO(sinew_slider_space_create(s->rig, &made, e)); sinew_slider_space_destroy(made);)
ACT(sinew_locks_create, sinew_locks *made = NULL; DO(sinew_locks_create(s->space, NULL, &made, e));
    sinew_locks_destroy(made);)
ACT(sinew_locks_set_options, sinew_locks *locks = NULL; sinew_lock_options options;
    sinew_lock_options_init(&options); DO(sinew_locks_create(s->space, NULL, &locks, e));
    DO(sinew_locks_set_options(locks, &options, e)); sinew_locks_destroy(locks);)
ON_LOCKS(sinew_locks_add, locks, "b", 2, drivers, SINEW_AXIS_X, NULL, s->weights, e)
ON_LOCKS(sinew_locks_remove, locks, "a", e)
ON_LOCKS(sinew_locks_switch, locks, "a", false, e)
ON_LOCKS(sinew_locks_add_selection, locks, s->rig, "b", "v:7-9", NULL, NULL, NULL, s->weights, m, e)
ACT(sinew_locks_apply, sinew_locks *locks = NULL; double asked[16] = {0.5, 0.5};
    DO(sinew_locks_create(s->space, NULL, &locks, e));
    DO(sinew_locks_add(locks, "a", 3, some, SINEW_AXIS_ALL, NULL, s->weights, e));
    DO(sinew_locks_apply(locks, NULL, asked, asked, NULL, e)); sinew_locks_destroy(locks);)
ACT(sinew_locks_filter, sinew_locks *locks = NULL; sinew_curves *made = NULL;
    DO(sinew_locks_create(s->space, NULL, &locks, e));
    DO(sinew_locks_add(locks, "a", 3, some, SINEW_AXIS_ALL, NULL, s->weights, e));
    DO(sinew_locks_filter(locks, s->curves, NULL, &made, NULL, m, e)); sinew_curves_destroy(made);
    sinew_locks_destroy(locks);)
ACT(sinew_locks_correct, sinew_locks *locks = NULL; double shape[3000];
    memcpy(shape, s->shape, sizeof shape); DO(sinew_locks_create(s->space, NULL, &locks, e));
    DO(sinew_locks_add(locks, "a", 3, some, SINEW_AXIS_ALL, NULL, s->weights, e));
    DO(sinew_locks_correct(locks, shape, NULL, m, e)); sinew_locks_destroy(locks);)
ACT(sinew_manipulator_create, sinew_manipulator *made = NULL;
    DO(sinew_manipulator_create(s->space, NULL, NULL, &made, e)); sinew_manipulator_destroy(made);)
ACT(sinew_manipulate, sinew_manipulator *made = NULL; double weights[16];
    const sinew_drag drag = {.vertex = 100, .axes = SINEW_AXIS_ALL, .weight = 1};
    DO(sinew_manipulator_create(s->space, NULL, NULL, &made, e));
    DO(sinew_manipulate(made, 1, &drag, s->weights, weights, NULL, e));
    sinew_manipulator_destroy(made);)
ACT(sinew_interference_create, sinew_interference *made = NULL;
    DO(sinew_interference_create(s->space, 0, NULL, &made, e)); sinew_interference_destroy(made);)
ACT(sinew_interference_advise, sinew_interference_advice advice = {.size = sizeof advice};
    int vertices[1000]; DO(sinew_interference_advise(s->space, 0, 1, NULL, &advice, vertices, e));)

/* ---- capture --------------------------------------------------------------------------------- */

ACT(sinew_anatomy_create, sinew_anatomy *made = NULL; DO(sinew_anatomy_create(s->rig, m, &made, e));
    sinew_anatomy_destroy(made);)
ACT(sinew_anatomy_region, sinew_anatomy *made = NULL; int *vertices = NULL; int count;
    DO(sinew_anatomy_create(s->rig, NULL, &made, e));
    DO(sinew_anatomy_region(made, "lips", &vertices, &count, e)); sinew_free(vertices);
    sinew_anatomy_destroy(made);)
ACT(sinew_capture_create, sinew_capture *made = NULL; sinew_capture_options options;
    sinew_capture_options_init(&options); options.map = s->map;
    DO(sinew_capture_create(s->rig, s->take, &options, m, &made, e)); sinew_capture_destroy(made);)
ACT(sinew_fit_choose_sliders, sinew_fit_slider choice[16];
    DO(sinew_fit_choose_sliders(s->rig, s->map, "jaw*", NULL, NULL, choice, e));)
ACT(sinew_fit_create, sinew_fit *made = NULL; DO(sinew_fit_create(s->rig, s->map, NULL, &made, e));
    sinew_fit_destroy(made);)
ACT(sinew_fit_get_summary, sinew_fit *made = NULL;
    sinew_fit_summary summary = {.size = sizeof summary};
    DO(sinew_fit_create(s->rig, s->map, NULL, &made, e));
    DO(sinew_fit_get_summary(made, &summary, e)); sinew_fit_destroy(made);)
ACT(sinew_fit_frame, sinew_fit *made = NULL; double weights[16] = {0};
    DO(sinew_fit_create(s->rig, s->map, NULL, &made, e));
    DO(sinew_fit_frame(made, s->take->positions, NULL, weights, NULL, e)); sinew_fit_destroy(made);)
ACT(sinew_fit_take, sinew_fit *fit = NULL; sinew_curves *made = NULL;
    DO(sinew_fit_create(s->rig, s->map, NULL, &fit, e));
    DO(sinew_fit_take(fit, s->take, m, &made, NULL, e)); sinew_curves_destroy(made);
    sinew_fit_destroy(fit);)
ACT(sinew_fit_frames, sinew_frames *frames = NULL; sinew_curves *curves = NULL;
    sinew_rig *made = NULL; DO(sinew_frames_read(at("frames.pc2"), &frames, e));
    DO(sinew_fit_frames(s->bar, frames, NULL, m, &curves, &made, NULL, e));
    sinew_curves_destroy(curves); sinew_rig_destroy(made); sinew_frames_destroy(frames);)
ACT(sinew_marker_layer_create, sinew_marker_layer *made = NULL;
    DO(sinew_marker_layer_create(s->rig, s->map, 1e-6, true, m, &made, e));
    sinew_marker_layer_destroy(made);)
ACT(sinew_marker_layer_apply, sinew_marker_layer *made = NULL; double shape[3000];
    memcpy(shape, s->shape, sizeof shape);
    DO(sinew_marker_layer_create(s->rig, s->map, 1e-6, true, NULL, &made, e));
    DO(sinew_marker_layer_apply(made, s->take->positions, NULL, shape, e));
    sinew_marker_layer_destroy(made);)
ACT(sinew_marker_layer_limit, double shape[3000], trust[200]; memcpy(shape, s->shape, sizeof shape);
    DO(sinew_marker_layer_limit(s->rig, s->map, 1e-6, false, 1, s->take->positions, NULL, shape, m,
                                trust, e));)
ACT(sinew_marker_layer_set_trust, sinew_marker_layer *made = NULL; double trust[200];
    for (int i = 0; i < 200; i++) trust[i] = 0.5;
    DO(sinew_marker_layer_create(s->rig, s->map, 1e-6, true, NULL, &made, e));
    DO(sinew_marker_layer_set_trust(made, trust, e)); sinew_marker_layer_destroy(made);)
ACT(sinew_marker_layer_follow, sinew_marker_layer *made = NULL; double shape[3000];
    memcpy(shape, s->shape, sizeof shape);
    DO(sinew_marker_layer_create(s->rig, s->map, 1e-6, true, NULL, &made, e));
    DO(sinew_marker_layer_follow(made, 0.03, s->take->positions, NULL, shape, e));
    sinew_marker_layer_destroy(made);)
ACT(sinew_face_view_create, sinew_face_view *made = NULL; const double ahead[1] = {0};
    DO(sinew_face_view_create(s->rig, NULL, s->map, 1, ahead, 8, m, &made, e));
    sinew_face_view_destroy(made);)
ACT(sinew_face_view_sphere, sinew_face_view *made = NULL; float still[3000] = {0};
    const sinew_frames frames = {s->rig->neutral->vertex_count, 1, 0, 30, still}; double sphere[4];
    DO(sinew_face_view_create(s->rig, NULL, s->map, 0, NULL, 8, NULL, &made, e));
    DO(sinew_face_view_sphere(made, &frames, sphere, e)); sinew_face_view_destroy(made);)
ACT(sinew_skin_contact_create, sinew_skin_contact *made = NULL;
    DO(sinew_skin_contact_create(s->rig, NULL, m, &made, e)); sinew_skin_contact_destroy(made);)
ACT(sinew_skin_contact_state_create, sinew_skin_contact *made = NULL;
    sinew_skin_contact_state *own = NULL;
    DO(sinew_skin_contact_create(s->rig, NULL, NULL, &made, e));
    DO(sinew_skin_contact_state_create(made, &own, e)); sinew_skin_contact_state_destroy(own);
    sinew_skin_contact_destroy(made);)
ACT(sinew_skin_contact_apply, sinew_skin_contact *made = NULL; sinew_skin_contact_state *own = NULL;
    double shape[3000]; memcpy(shape, s->shape, sizeof shape);
    DO(sinew_skin_contact_create(s->rig, NULL, NULL, &made, e));
    DO(sinew_skin_contact_state_create(made, &own, e));
    DO(sinew_skin_contact_apply(own, shape, m, e)); sinew_skin_contact_state_destroy(own);
    sinew_skin_contact_destroy(made);)
ACT(sinew_transfer, sinew_rig *made = NULL;
    DO(sinew_transfer(s->rig, s->rig->neutral, NULL, m, &made, NULL, e)); sinew_rig_destroy(made);)

/* ---- bakes and measures ---------------------------------------------------------------------- */

static sinew_status linear_model(const double *weights, double *positions, void *user,
                                 const sinew_monitor *monitor, sinew_error *error) {
    (void)monitor;
    if (!user) {
        snprintf(error->message, sizeof error->message, "a blend without a rig");
        return SINEW_MISUSE;
    }
    sinew_linear_evaluate(user, weights, positions);
    positions[0] += 0.02 * weights[0] * weights[1];
    return SINEW_OK;
}

static const double rows[8] = {0, 0, 0.5, 0.5, 1, 0, 1, 1};

ACT(sinew_bake, sinew_rig *made = NULL; sinew_bake_options options;
    sinew_bake_options_init(&options); options.max_samples = 10; options.max_targets = 2;
    options.rows = rows; options.row_count = 4;
    DO(sinew_bake(s->rig, &options, linear_model, s->linear, m, &made, NULL, e));
    sinew_rig_destroy(made);)
ACT(sinew_bake_measure, sinew_bake_error measured = {.size = sizeof measured};
    DO(sinew_bake_measure(s->rig, 4, rows, linear_model, s->linear, m, &measured, e));)
ACT(sinew_bake_poses, double poses[8]; DO(sinew_bake_poses(s->rig, 1, 4, poses, e));)
ACT(sinew_measure_create, sinew_measure *made = NULL; DO(sinew_measure_create(s->rig, &made, e));
    sinew_measure_destroy(made);)
ACT(sinew_measure_frame, sinew_measure *made = NULL;
    sinew_distortion distortion = {.size = sizeof distortion};
    DO(sinew_measure_create(s->rig, &made, e));
    DO(sinew_measure_frame(made, s->weights, s->shape, true, &distortion, e));
    sinew_measure_destroy(made);)
ACT(sinew_measure_frames, sinew_frames *frames = NULL;
    sinew_distortion distortions[3] = {{.size = sizeof *distortions}};
    distortions[1].size = distortions[2].size = sizeof *distortions;
    DO(sinew_frames_read(at("frames.pc2"), &frames, e));
    DO(sinew_measure_frames(s->bar, frames, NULL, true, distortions, m, e));
    sinew_frames_destroy(frames);)

/* ---- pictures -------------------------------------------------------------------------------- */

static const double line_x[3] = {0, 1, 2}, line_y[3] = {1, 4, 2};
static const sinew_line line = {"line", 3, line_x, line_y};
static const char *const line_names[3] = {"a", "b", "c"};

#define IMAGE(function, ...)                                                                       \
    ACT(function, sinew_image *made = NULL; DO(function(__VA_ARGS__, &made, e));                   \
        sinew_image_destroy(made);)
IMAGE(sinew_image_create, 8, 8)
IMAGE(sinew_plot_lines, 1, &line, NULL)
IMAGE(sinew_plot_matrix, 1, 3, line_y, NULL, line_names, NULL)
IMAGE(sinew_plot_bars, 3, line_names, line_y, NULL)
ACT(sinew_plot_write, DO(sinew_plot_write(at("plot.png"), "title", "x", "y", 1, &line, e));)
ACT(sinew_image_write, sinew_image *made = NULL; DO(sinew_image_create(8, 8, &made, e));
    DO(sinew_image_write(at("out.png"), made, e)); sinew_image_destroy(made);)
ACT(sinew_render, sinew_image *made = NULL; sinew_panel panel = {.mesh = s->mesh};
    sinew_render_options options; sinew_render_options_init(&options);
    options.width = options.height = 32; options.monitor = m;
    DO(sinew_render(1, &panel, &options, &made, e)); sinew_image_destroy(made);)

/* 16 x 16 pixels, one frame. */
static sinew_status make_video(bool add, bool close, sinew_error *e) {
    sinew_status status = SINEW_OK;
    sinew_video *video = NULL;
    sinew_image *image = NULL;
    DO(sinew_image_create(16, 16, &image, e));
    DO(sinew_video_open(at("out.gif"), 16, 16, 10, &video, e));
    if (add) DO(sinew_video_add(video, image, e));
    sinew_image_destroy(image);
    if (close && status == SINEW_OK) return sinew_video_close(video, e);
    sinew_video_abandon(video);
    return status;
}

ACT(sinew_video_open, DO(make_video(false, false, e));)
ACT(sinew_video_add, DO(make_video(true, false, e));)
ACT(sinew_video_close, DO(make_video(true, true, e));)
