/* Accessors return what the structures hold, and refuse indices out of range. */
#include "support.h"

#include "groups.h"
#include "sinew/frames.h"
#include "sinew/samples.h"
#include "sinew/tets.h"

static void accessors_of_a_rig_give_its_fields(void **state) {
    (void)state;
    sinew_error error;
    sinew_rig *rig;
    sinew_sample_options size = {.size = sizeof size, .vertices = 1000};
    assert_ok(sinew_sample_rig("face", &size, &rig, &error));
    const sinew_mesh *mesh = sinew_rig_neutral(rig);
    assert_ptr_equal(mesh, rig->neutral);
    assert_int_equal(sinew_mesh_vertex_count(mesh), mesh->vertex_count);
    assert_ptr_equal(sinew_mesh_positions(mesh), mesh->positions);
    assert_int_equal(sinew_mesh_face_count(mesh), mesh->face_count);
    assert_ptr_equal(sinew_mesh_face_starts(mesh), mesh->face_start);
    assert_ptr_equal(sinew_mesh_face_vertices(mesh), mesh->face_vertices);
    assert_int_equal(sinew_mesh_triangle_count(mesh), mesh->triangle_count);
    assert_ptr_equal(sinew_mesh_triangles(mesh), mesh->triangles);
    assert_ptr_equal(sinew_mesh_triangle_faces(mesh), mesh->triangle_face);
    assert_ptr_equal(sinew_mesh_face_parts(mesh), mesh->face_part);
    assert_true(sinew_mesh_part_count(mesh) > 1);
    assert_string_equal(sinew_mesh_part_name(mesh, 1), mesh->part_names[1]);
    assert_null(sinew_mesh_part_name(mesh, sinew_mesh_part_count(mesh)));
    assert_null(sinew_mesh_part_name(mesh, -1));
    assert_int_equal(sinew_rig_slider_count(rig), rig->slider_count);
    for (int i = 0; i < rig->slider_count; i++) {
        const sinew_slider *s = &rig->sliders[i];
        assert_string_equal(sinew_rig_slider_name(rig, i), s->name);
        assert_true(sinew_rig_slider_minimum(rig, i) == s->minimum);
        assert_true(sinew_rig_slider_maximum(rig, i) == s->maximum);
        assert_true(sinew_rig_slider_rest(rig, i) == s->rest);
        assert_ptr_equal(sinew_rig_slider_group(rig, i), s->group);
        assert_int_equal(sinew_rig_slider_mirror(rig, i), s->mirror);
    }
    assert_int_equal(sinew_rig_target_count(rig), rig->target_count);
    for (int i = 0; i < rig->target_count; i++) {
        const sinew_target *t = &rig->targets[i];
        assert_string_equal(sinew_rig_target_name(rig, i), t->name);
        assert_int_equal(sinew_rig_target_kind(rig, i), t->kind);
        assert_int_equal(sinew_rig_target_slider(rig, i), t->slider);
        assert_true(sinew_rig_target_at(rig, i) == t->at);
        assert_int_equal(sinew_rig_target_combine(rig, i), t->combine);
        assert_int_equal(sinew_rig_target_driver_count(rig, i), t->driver_count);
        assert_ptr_equal(sinew_rig_target_drivers(rig, i), t->drivers);
        assert_int_equal(sinew_rig_target_vertex_count(rig, i), t->count);
        assert_ptr_equal(sinew_rig_target_vertices(rig, i), t->vertices);
        assert_ptr_equal(sinew_rig_target_deltas(rig, i), t->deltas);
    }
    assert_true(sinew_rig_region_count(rig) > 0);
    for (int i = 0; i < rig->region_count; i++) {
        assert_string_equal(sinew_rig_region_name(rig, i), rig->regions[i].name);
        assert_int_equal(sinew_rig_region_vertex_count(rig, i), rig->regions[i].count);
        assert_ptr_equal(sinew_rig_region_vertices(rig, i), rig->regions[i].vertices);
    }
    int beyond[] = {-1, 1000000};
    for (int k = 0; k < 2; k++) {
        assert_null(sinew_rig_slider_name(rig, beyond[k]));
        assert_true(isnan(sinew_rig_slider_minimum(rig, beyond[k])));
        assert_int_equal(sinew_rig_slider_mirror(rig, beyond[k]), -1);
        assert_null(sinew_rig_target_deltas(rig, beyond[k]));
        assert_int_equal(sinew_rig_target_kind(rig, beyond[k]), -1);
        assert_null(sinew_rig_region_vertices(rig, beyond[k]));
    }
    assert_int_equal(sinew_rig_slider_count(NULL), 0);
    assert_null(sinew_mesh_positions(NULL));
    sinew_rig_destroy(rig);
}

static void curves_and_markers_are_filled_and_read_without_their_layout(void **state) {
    (void)state;
    sinew_error error;
    sinew_curves *curves;
    assert_ok(sinew_curves_create(2, 2, &curves, &error));
    assert_ok(sinew_curves_set_name(curves, 1, "smile", &error));
    sinew_curves_set_times(curves, (const double[]){0, 1});
    sinew_curves_set_values(curves, (const double[]){1, 2, 3, 4});
    assert_int_equal(sinew_curves_channel_count(curves), 2);
    assert_int_equal(sinew_curves_time_count(curves), 2);
    assert_string_equal(sinew_curves_channel_name(curves, 1), "smile");
    assert_null(sinew_curves_channel_name(curves, 2));
    assert_true(sinew_curves_times(curves)[1] == 1 && sinew_curves_values(curves)[3] == 4);
    sinew_curves_destroy(curves);
    sinew_markers *markers;
    assert_ok(sinew_markers_create(1, 2, &markers, &error));
    sinew_markers_set_times(markers, (const double[]){0, 1});
    sinew_markers_set_positions(markers, (const double[]){1, 2, 3, 4, 5, 6});
    assert_int_equal(sinew_markers_count(markers), 1);
    assert_int_equal(sinew_markers_time_count(markers), 2);
    assert_true(sinew_markers_positions(markers)[5] == 6 && sinew_markers_times(markers)[1] == 1);
    assert_string_equal(sinew_markers_unit(markers), "");
    assert_int_equal(sinew_markers_up(markers), 0);
    assert_string_equal(sinew_markers_name(markers, 0), "");
    sinew_markers_destroy(markers);
    sinew_marker_map *map;
    assert_ok(sinew_marker_map_create(2, &map, &error));
    assert_ok(sinew_marker_map_set_name(map, 0, "chin", &error));
    assert_ok(sinew_marker_map_set_vertex(map, 0, 7));
    assert_ok(sinew_marker_map_set_point(map, 1, 3, (const double[]){0.5, 0.25, 0.25}));
    assert_int_equal(sinew_marker_map_set_vertex(map, 2, 0), SINEW_MISUSE);
    assert_int_equal(sinew_marker_map_count(map), 2);
    assert_string_equal(sinew_marker_map_name(map, 0), "chin");
    assert_int_equal(sinew_marker_map_vertices(map)[0], 7);
    assert_int_equal(sinew_marker_map_triangles(map)[0], -1);
    assert_int_equal(sinew_marker_map_vertices(map)[1], -1);
    assert_int_equal(sinew_marker_map_triangles(map)[1], 3);
    assert_true(sinew_marker_map_barycentric(map)[4] == 0.25);
    assert_null(sinew_marker_map_weights(map));
    sinew_marker_map_destroy(map);
    float shape[6] = {0, 1, 2, 3, 4, 5};
    sinew_frames frames = {1, 2, 0.5, 24, shape};
    assert_int_equal(sinew_frames_count(&frames), 2);
    assert_int_equal(sinew_frames_vertex_count(&frames), 1);
    assert_true(sinew_frames_start(&frames) == 0.5 && sinew_frames_rate(&frames) == 24);
    assert_true(sinew_frames_positions(&frames, 1)[0] == 3);
    assert_null(sinew_frames_positions(&frames, 2));
}

static void tets_from_arrays_are_checked(void **state) {
    (void)state;
    sinew_error error;
    sinew_tets *tets;
    double x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    int good[4] = {0, 1, 2, 3}, inverted[4] = {0, 2, 1, 3}, beyond[4] = {0, 1, 2, 4};
    assert_ok(sinew_tets_create(4, x, 4, 1, good, &tets, &error));
    assert_int_equal(sinew_tets_count(tets), 1);
    assert_int_equal(sinew_tets_vertex_count(tets), 4);
    assert_int_equal(sinew_tets_surface_count(tets), 4);
    assert_true(sinew_tets_positions(tets)[11] == 1 && sinew_tets_corners(tets)[3] == 3);
    sinew_tets_destroy(tets);
    assert_int_equal(sinew_tets_create(4, x, 4, 1, inverted, &tets, &error), SINEW_BAD_INPUT);
    assert_string_equal(error.message, "tet 0 is flat or inverted");
    assert_int_equal(sinew_tets_create(4, x, 4, 1, beyond, &tets, &error), SINEW_BAD_INPUT);
    assert_null(tets);
    assert_int_equal(sinew_tets_create(4, x, 5, 1, good, &tets, &error), SINEW_MISUSE);
    x[4] = NAN;
    assert_int_equal(sinew_tets_create(4, x, 4, 1, good, &tets, &error), SINEW_BAD_INPUT);
    assert_string_equal(error.message, "vertex 1 is not finite");
}

int test_accessors(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accessors_of_a_rig_give_its_fields),
        cmocka_unit_test(curves_and_markers_are_filled_and_read_without_their_layout),
        cmocka_unit_test(tets_from_arrays_are_checked),
    };
    return cmocka_run_group_tests_name("accessors", tests, NULL, NULL);
}
