/* Where a camera finds a face, and what hides it. */
#include "sinew/face_view.h"

#include "support.h"

#include "base/vec3.h"

#include "card.h"
#include "groups.h"
#include "sinew/io.h"
#include "sinew/samples.h"

/* A copy of vectors, turned by quarters about y; z_up: then set upright with z up. */
static double *turned(int count, const double *vectors, int quarters, bool z_up) {
    double *copy = malloc(3 * (size_t)(count + 1) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, vectors, 3 * (size_t)count * sizeof *copy);
    for (double *p = copy; p < copy + 3 * (size_t)count; p += 3) {
        for (int q = 0; q < quarters; q++) {
            double was = p[0];
            p[0] = p[2], p[2] = -was;
        }
        if (z_up) {
            double was = p[1];
            p[1] = -p[2], p[2] = was;
        }
    }
    return copy;
}

/* The sample face with a card in front of it, turned by quarters about y; z_up: then set upright
 * with z up. Targets do not move the card. */
static sinew_rig *veiled(int quarters, bool z_up) {
    sinew_error error;
    sinew_rig *face, *rig;
    sinew_sample_options size;
    sinew_mesh *mesh;
    sinew_sample_options_init(&size);
    size.vertices = 1500;
    assert_ok(sinew_sample_rig("face", &size, &face, &error));
    sinew_rig *straight = test_rig_with_card(
        face, (const double[4][3]){
                  {-0.05, -0.05, 0.3}, {0.05, -0.05, 0.3}, {-0.05, 0.05, 0.3}, {0.05, 0.05, 0.3}});
    sinew_rig_destroy(face);
    const sinew_mesh *old = straight->neutral;
    double *x = turned(old->vertex_count, old->positions, quarters, z_up);
    assert_ok(sinew_mesh_create(old->vertex_count, x, old->triangle_count, NULL, old->triangles,
                                &mesh, &error));
    free(x);
    assert_ok(sinew_rig_create(mesh, &rig, &error));
    for (int k = 0; k < straight->target_count; k++) {
        const sinew_target *target = &straight->targets[k];
        double *d = turned(target->count, target->deltas, quarters, z_up);
        assert_ok(
            sinew_rig_add_target(rig, target->name, target->count, target->vertices, d, &error));
        free(d);
    }
    sinew_rig_destroy(straight);
    return rig;
}

static void a_face_is_found_whichever_way_it_looks(void **state) {
    (void)state;
    sinew_error error = {0};
    static const double ahead[1] = {0}, behind[1] = {180};
    for (int k = 0; k < 8; k++) {
        sinew_rig *rig = veiled(k % 4, k >= 4);
        const sinew_mesh *mesh = rig->neutral;
        sinew_face_view *view;
        assert_ok(sinew_face_view_create(rig, NULL, NULL, 1, ahead, 8, NULL, &view, &error));
        sinew_face_view_info info = info_of(sinew_face_view, view);
        assert_true(info.found);
        assert_int_equal(info.z_up, k >= 4);
        assert_close(remainder(info.azimuth - 90 * (k % 4), 360), 0, 1e-9);
        assert_int_equal(info.covers, 1); /* the card */
        int piece = 0;
        assert_int_equal(sscanf(sinew_face_view_cover(view, 0), "piece:%d", &piece), 1);
        assert_null(sinew_face_view_cover(view, 1));
        assert_null(sinew_face_view_cover(view, -1));
        /* the sphere is around the head and not around the card */
        float *positions = malloc(3 * (size_t)mesh->vertex_count * sizeof *positions);
        for (int i = 0; i < 3 * mesh->vertex_count; i++) positions[i] = (float)mesh->positions[i];
        sinew_frames frames = {mesh->vertex_count, 1, 0, 30, positions};
        double sphere[4];
        assert_ok(sinew_face_view_sphere(view, &frames, sphere, &error));
        assert_true(sphere[3] < 0.17);
        int outside = 0;
        for (int v = 0; v < mesh->vertex_count - 4; v++)
            outside += sn_distance(sn_at(sphere, 0), sn_at(mesh->positions, v)) > sphere[3];
        assert_true(outside < mesh->vertex_count / 50); /* some of the neck */
        for (int v = mesh->vertex_count - 4; v < mesh->vertex_count; v++)
            assert_true(sn_distance(sn_at(sphere, 0), sn_at(mesh->positions, v)) > sphere[3]);
        frames.vertex_count--;
        assert_int_equal(sinew_face_view_sphere(view, &frames, sphere, &error), SINEW_BAD_INPUT);
        frames.vertex_count++, frames.frame_count = 0;
        assert_int_equal(sinew_face_view_sphere(view, &frames, sphere, &error), SINEW_BAD_INPUT);
        sinew_face_view_destroy(view);
        /* from behind, the card hides nothing */
        assert_ok(sinew_face_view_create(rig, NULL, NULL, 1, behind, 8, NULL, &view, &error));
        assert_int_equal(info_of(sinew_face_view, view).covers, 0);
        sinew_face_view_destroy(view);
        free(positions);
        sinew_rig_destroy(rig);
    }
}

/* No target of Face Cap moves the teeth. They lie one by one behind the lips. */
static void teeth_behind_the_lips_hide_nothing(void **state) {
    (void)state;
    sinew_error error = {0};
    const char *file = test_data("free/facecap/facecap.glb");
    sinew_rig *rig;
    if (!file) {
        print_message("SKIP teeth_behind_the_lips_hide_nothing: no Face Cap in the data\n");
        return;
    }
    assert_ok(sinew_rig_read(1, &file, &rig, &error));
    const double azimuths[2] = {0, 60};
    sinew_face_view *view;
    assert_ok(sinew_face_view_create(rig, NULL, NULL, 2, azimuths, 8, NULL, &view, &error));
    sinew_face_view_info info = info_of(sinew_face_view, view);
    assert_true(info.found);
    assert_int_equal(info.covers, 0);
    sinew_face_view_destroy(view);
    sinew_rig_destroy(rig);
}

static void a_rig_without_a_face_has_no_view(void **state) {
    (void)state;
    sinew_error error = {0};
    sinew_rig *rig;
    sinew_face_view *view;
    assert_ok(sinew_sample_rig("bar", NULL, &rig, &error));
    assert_ok(sinew_face_view_create(rig, NULL, NULL, 0, NULL, 0, NULL, &view, &error));
    sinew_face_view_info info = info_of(sinew_face_view, view);
    assert_false(info.found);
    assert_int_equal(info.covers, 0);
    sinew_frames none = {0};
    double sphere[4];
    assert_int_equal(sinew_face_view_sphere(view, &none, sphere, &error), SINEW_BAD_INPUT);
    sinew_face_view_destroy(view);
    sinew_rig_destroy(rig);
}

int test_face_view(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_face_is_found_whichever_way_it_looks),
        cmocka_unit_test(teeth_behind_the_lips_hide_nothing),
        cmocka_unit_test(a_rig_without_a_face_has_no_view),
    };
    return cmocka_run_group_tests_name("face view", tests, NULL, NULL);
}
