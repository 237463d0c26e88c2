/* Meshes, tetrahedra, queries, obstacles, curves, files and texts. */
#include "stage.h"

/* ---- meshes ---------------------------------------------------------------------------------- */

ACT(sinew_mesh_create, sinew_mesh *made = NULL; const sinew_mesh *mesh = s->mesh;
    DO(sinew_mesh_create(mesh->vertex_count, mesh->positions, mesh->face_count, mesh->face_start,
                         mesh->face_vertices, &made, e));
    sinew_mesh_destroy(made);)
ACT(sinew_mesh_copy, sinew_mesh *made = NULL; DO(sinew_mesh_copy(s->mesh, &made, e));
    sinew_mesh_destroy(made);)

static sinew_status copy_mesh(void *user, sinew_error *error) {
    sinew_mesh *made = NULL;
    sinew_status status = sinew_mesh_copy(user, &made, error);
    sinew_mesh_destroy(made);
    return status;
}

ACT(sinew_call_monitored, DO(sinew_call_monitored(m, copy_mesh, s->mesh, e));)
ACT(sinew_mesh_triangulate, sinew_mesh *made = NULL; DO(sinew_mesh_copy(s->mesh, &made, e));
    DO(sinew_mesh_triangulate(made, e)); sinew_mesh_destroy(made);)
ACT(sinew_mesh_same_topology, DO(sinew_mesh_same_topology(s->mesh, s->mesh, e));)
ACT(sinew_check_mesh, sinew_check *made = NULL; DO(sinew_check_mesh(s->mesh, NULL, m, &made, e));
    sinew_check_destroy(made);)

ACT(sinew_query_create, sinew_query *made = NULL; const sinew_mesh *mesh = s->mesh;
    DO(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                          mesh->triangles, &made, e));
    sinew_query_destroy(made);)
ACT(sinew_query_move, sinew_query *made = NULL; const sinew_mesh *mesh = s->mesh;
    DO(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                          mesh->triangles, &made, e));
    DO(sinew_query_move(made, mesh->positions, e)); sinew_query_destroy(made);)
ACT(sinew_self_intersections, int *pairs = NULL; int count; const sinew_mesh *mesh = s->mesh;
    DO(sinew_self_intersections(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                mesh->triangles, m, &pairs, &count, e));
    sinew_free(pairs);)

/* ---- tetrahedra ------------------------------------------------------------------------------ */

ACT(sinew_tets_create, sinew_tets *made = NULL; const sinew_tets *tets = s->tets;
    DO(sinew_tets_create(tets->vertex_count, tets->positions, tets->surface_count, tets->tet_count,
                         tets->tets, &made, e));
    sinew_tets_destroy(made);)
ACT(sinew_tets_from_surface, sinew_tets *made = NULL;
    DO(sinew_tets_from_surface(s->mesh, NULL, m, &made, e)); sinew_tets_destroy(made);)
ACT(sinew_carry_create, sinew_carry *made = NULL; DO(sinew_carry_create(s->tets, &made, e));
    sinew_carry_destroy(made);)
ACT(sinew_carry_pose, sinew_carry *made = NULL; int inverted; double shape[3000];
    DO(sinew_carry_create(s->tets, &made, e));
    DO(sinew_carry_pose(made, s->mesh->positions, 3, shape, &inverted, e));
    sinew_carry_destroy(made);)
ACT(sinew_embedding_create, sinew_embedding *made = NULL;
    DO(sinew_embedding_create(s->tets, s->mesh->vertex_count, s->mesh->positions, &made, e));
    sinew_embedding_destroy(made);)

static sinew_cage_options coarse(void) {
    sinew_cage_options options;
    sinew_cage_options_init(&options);
    options.cell = 0.15;
    return options;
}

ACT(sinew_cage_create, sinew_cage *made = NULL; sinew_cage_options options = coarse();
    DO(sinew_cage_create(s->mesh, &options, m, &made, e)); sinew_cage_destroy(made);)
ACT(sinew_cage_fit_create, sinew_cage *cage = NULL; sinew_cage_fit *made = NULL;
    sinew_cage_options options = coarse(); DO(sinew_cage_create(s->mesh, &options, NULL, &cage, e));
    DO(sinew_cage_fit_create(cage, s->mesh, NULL, &made, e)); sinew_cage_fit_destroy(made);
    sinew_cage_destroy(cage);)
ACT(sinew_cage_fit_pose, sinew_cage *cage = NULL; sinew_cage_fit *fit = NULL;
    sinew_cage_pose *made = NULL; sinew_cage_options options = coarse();
    DO(sinew_cage_create(s->mesh, &options, NULL, &cage, e));
    DO(sinew_cage_fit_create(cage, s->mesh, NULL, &fit, e));
    DO(sinew_cage_fit_pose(fit, s->mesh->positions, m, &made, e)); sinew_cage_pose_destroy(made);
    sinew_cage_fit_destroy(fit); sinew_cage_destroy(cage);)
ACT(sinew_warp_create, sinew_warp *made = NULL;
    DO(sinew_warp_create(20, s->mesh->positions, s->mesh->positions, 0, &made, e));
    sinew_warp_destroy(made);)

/* ---- obstacles ------------------------------------------------------------------------------- */

static const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1};

#define OBSTACLE(function, ...)                                                                    \
    ACT(function, sinew_obstacle *made = NULL; DO(function(__VA_ARGS__, &made, e));                \
        sinew_obstacle_destroy(made);)
OBSTACLE(sinew_obstacle_create_plane, zero, one)
OBSTACLE(sinew_obstacle_create_sphere, zero, 1)
OBSTACLE(sinew_obstacle_create_capsule, zero, one, 1)
OBSTACLE(sinew_obstacle_create_cylinder, zero, one, 1)
OBSTACLE(sinew_obstacle_create_box, zero, one)
OBSTACLE(sinew_obstacle_create_mesh, s->mesh)
OBSTACLE(sinew_obstacle_parse, "sphere:0,0,0,1")
ACT(sinew_obstacle_set_positions, sinew_obstacle *made = NULL;
    DO(sinew_obstacle_create_mesh(s->mesh, &made, e));
    DO(sinew_obstacle_set_positions(made, s->mesh->positions, e)); sinew_obstacle_destroy(made);)

/* ---- curves and markers ---------------------------------------------------------------------- */

ACT(sinew_curves_create, sinew_curves *made = NULL; DO(sinew_curves_create(2, 3, &made, e));
    sinew_curves_destroy(made);)
ACT(sinew_curves_set_name, sinew_curves *made = NULL; DO(sinew_curves_create(2, 3, &made, e));
    DO(sinew_curves_set_name(made, 1, "smile", e)); sinew_curves_destroy(made);)
ACT(sinew_curves_check, DO(sinew_curves_check(s->curves, e));)
ACT(sinew_markers_create, sinew_markers *made = NULL; DO(sinew_markers_create(2, 3, &made, e));
    sinew_markers_destroy(made);)
ACT(sinew_markers_set_name, sinew_markers *made = NULL; DO(sinew_markers_create(2, 3, &made, e));
    DO(sinew_markers_set_name(made, 1, "chin", e)); sinew_markers_destroy(made);)
ACT(sinew_markers_convert, sinew_markers *made = NULL; DO(sinew_markers_create(2, 3, &made, e));
    DO(sinew_markers_convert(made, NULL, 'z', e)); sinew_markers_destroy(made);)
ACT(sinew_markers_stabilise, sinew_markers *made = NULL; sinew_rigid motion[64]; int held;
    const int stable[4] = {0, 1, 3, 4}; DO(sinew_markers_read(at("take.csv"), &made, e));
    DO(sinew_markers_stabilise(made, 4, stable, s->take->positions, motion, &held, e));
    sinew_markers_destroy(made);)
ACT(sinew_marker_map_create, sinew_marker_map *made = NULL;
    DO(sinew_marker_map_create(3, &made, e)); sinew_marker_map_destroy(made);)
ACT(sinew_marker_map_copy, sinew_marker_map *made = NULL;
    DO(sinew_marker_map_copy(s->map, &made, e)); sinew_marker_map_destroy(made);)
ACT(sinew_marker_map_set_name, sinew_marker_map *made = NULL;
    DO(sinew_marker_map_create(3, &made, e)); DO(sinew_marker_map_set_name(made, 1, "chin", e));
    sinew_marker_map_destroy(made);)
ACT(sinew_marker_map_check, DO(sinew_marker_map_check(s->map, s->rig->neutral, e));)
ACT(sinew_marker_map_nearest, sinew_marker_map *made = NULL;
    const char *const names[2] = {"a", "b"};
    DO(sinew_marker_map_nearest(s->mesh, 2, names, s->mesh->positions, INFINITY, &made, e));
    sinew_marker_map_destroy(made);)

/* ---- files ----------------------------------------------------------------------------------- */

ACT(sinew_file_read, char *bytes = NULL; size_t size;
    DO(sinew_file_read(at("bar.obj"), &bytes, &size, e)); sinew_free(bytes);)
ACT(sinew_file_write, DO(sinew_file_write(at("out.txt"), "text", 4, e));)
ACT(sinew_file_real_path, DO(given(sinew_file_real_path(at("bar.obj"))));)
ACT(sinew_folder_create, DO(sinew_folder_create(at("made/inside"), e));)
ACT(sinew_folder_begin, sinew_folder *made = NULL; DO(sinew_folder_begin(at("folder"), &made, e));
    sinew_folder_abandon(made);)
ACT(sinew_folder_finish, sinew_folder *made = NULL; static int number; char name[32];
    snprintf(name, sizeof name, "folder%d", number++); DO(sinew_folder_begin(at(name), &made, e));
    if (status == SINEW_OK) status = sinew_folder_finish(made, e);)
ACT(sinew_file_plan_create, sinew_file_plan *made = NULL; DO(sinew_file_plan_create(&made, e));
    sinew_file_plan_destroy(made);)
ACT(sinew_file_plan_add_input, sinew_file_plan *made = NULL; DO(sinew_file_plan_create(&made, e));
    DO(sinew_file_plan_add_input(made, at("bar.obj"), e)); sinew_file_plan_destroy(made);)
ACT(sinew_file_plan_add_output, sinew_file_plan *made = NULL; DO(sinew_file_plan_create(&made, e));
    DO(sinew_file_plan_add_output(made, at("out.obj"), e)); sinew_file_plan_destroy(made);)
ACT(sinew_file_plan_add_scene, sinew_file_plan *made = NULL; sinew_scene *scene = NULL;
    DO(sinew_scene_read(at("scene.json"), &scene, e)); DO(sinew_file_plan_create(&made, e));
    DO(sinew_file_plan_add_scene(made, scene, e)); sinew_scene_destroy(scene);
    sinew_file_plan_destroy(made);)
ACT(sinew_file_plan_check, sinew_file_plan *made = NULL; DO(sinew_file_plan_create(&made, e));
    DO(sinew_file_plan_add_input(made, at("bar.obj"), e));
    DO(sinew_file_plan_add_output(made, at("out.obj"), e)); DO(sinew_file_plan_check(made, e));
    sinew_file_plan_destroy(made);)
ACT(sinew_file_plan_check_inside, sinew_file_plan *made = NULL;
    DO(sinew_file_plan_create(&made, e)); DO(sinew_file_plan_add_output(made, at("out.obj"), e));
    DO(sinew_file_plan_check_inside(made, test_folder(), e)); sinew_file_plan_destroy(made);)

/* ---- the cache ------------------------------------------------------------------------------- */

static const sinew_cache_key key = {1, 2};

ACT(sinew_cache_open, sinew_cache *made = NULL;
    DO(sinew_cache_open(at("cache"), 1 << 20, &made, e)); sinew_cache_close(made);)
ACT(sinew_cache_enter, sinew_cache *cache = NULL; sinew_cache_entry *entry = NULL;
    DO(sinew_cache_open(at("cache"), 1 << 20, &cache, e));
    DO(sinew_cache_enter(cache, key, "1", m, &entry, e)); sinew_cache_leave(entry);
    sinew_cache_close(cache);)
ACT(sinew_cache_store, sinew_cache *cache = NULL; sinew_cache_entry *entry = NULL;
    sinew_cache_key fresh = {3, 4}; static uint64_t number; fresh.low += number++;
    DO(sinew_cache_open(at("cache"), 1 << 20, &cache, e));
    DO(sinew_cache_enter(cache, fresh, "1", NULL, &entry, e));
    if (entry) DO(sinew_cache_store(entry, "bytes", 5, e)); sinew_cache_leave(entry);
    sinew_cache_close(cache);)

/* ---- texts ----------------------------------------------------------------------------------- */

#define TEXT(function, text)                                                                       \
    ACT(function, char *made = NULL; DO(function(text, &made, e)); sinew_free(made);)
TEXT(sinew_text_weights, "smile=0.5,jawOpen=1")
TEXT(sinew_text_obstacle, "sphere:0,0,0,1")
TEXT(sinew_text_pin, "v:1,5-9")
TEXT(sinew_text_pull, "12=0,1,0:2")
TEXT(sinew_text_orientation, "v:1-9=0,0,90:0.5")
TEXT(sinew_text_lock, "brow:v:1-9:xy")
ACT(sinew_text_number, double number; DO(sinew_text_number("1.5", &number, e));)
ACT(sinew_text_numbers, double *made = NULL; int count;
    DO(sinew_text_numbers("1,2,3", &made, &count, e)); sinew_free(made);)
ACT(sinew_text_frames, int first; int last; DO(sinew_text_frames("3-9", &first, &last, e));)
ACT(sinew_fail, sinew_error own; status = sinew_fail(&own, SINEW_OK, "%s", "nothing");)
ACT(sinew_alloc, DO(given(sinew_alloc(3, 8)));)
ACT(sinew_set_task_system, DO(sinew_set_task_system(NULL, e));)
ACT(sinew_format_find, int index; DO(sinew_format_find("a.obj", &index, e));)
