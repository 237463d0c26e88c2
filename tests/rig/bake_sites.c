/* Where a bake finds contact: pairs of sliders that meet, their onsets, and the slopes of sites. */
#include "groups.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "rig/baker.h"
#include "support.h"

#include "sinew/bake.h"

static sinew_error error;

/* Two pairs of lids, A and B. Of each, the upper one is a square at height 1; the lower one tilts
 * from -0.5 on its left side to 0 on its right. */
enum { A_UPPER = 0, A_LOWER = 4, B_UPPER = 8, B_LOWER = 12, VERTICES = 16 };

static double beside = 5; /* how far B is to the right of A */

static sinew_mesh *two_pairs_of_lids(void) {
    static const double own[] = {0, 1,    0, 1, 1, 0,   1, 1, 1,    0, 1,    1,
                                 0, -0.5, 0, 1, 0, 0.1, 1, 0, 0.95, 0, -0.5, 0.9};
    static const int own_faces[] = {0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7};
    double points[3 * VERTICES];
    int faces[24];
    sinew_mesh *mesh;
    for (int i = 0; i < 24; i++)
        points[i] = own[i], points[24 + i] = own[i] + (i % 3 == 0 ? beside : 0);
    for (int i = 0; i < 12; i++) faces[i] = own_faces[i], faces[12 + i] = own_faces[i] + 8;
    assert_ok(sinew_mesh_create(VERTICES, points, 8, NULL, faces, &mesh, &error));
    return mesh;
}

/* A slider that moves the left and the right side of a lid up, and another lid. A list of them ends
 * with one that has no name. */
typedef struct lift {
    const char *name;
    int lid;
    double left, right;
    int other;
    double other_up;
} lift;

/* What a bake has when it looks for contact. */
typedef struct fixture {
    sn_baker b;
    sinew_rig *rig;
    sinew_bake_options options;
    sn_slider_pair *pairs;
    int pair_count;
} fixture;

static void find_meetings(fixture *f, const lift *lifts) {
    *f = (fixture){0};
    assert_ok(sinew_rig_create(two_pairs_of_lids(), &f->rig, &error));
    for (; lifts->name; lifts++) {
        int vertices[8], count = lifts->other_up != 0 ? 8 : 4;
        double deltas[24] = {0};
        for (int k = 0; k < 8; k++) {
            bool right = k % 4 == 1 || k % 4 == 2;
            vertices[k] = k < 4 ? lifts->lid + k : lifts->other + k - 4;
            deltas[3 * k + 1] = k >= 4 ? lifts->other_up : right ? lifts->right : lifts->left;
        }
        assert_ok(sinew_rig_add_target(f->rig, lifts->name, count, vertices, deltas, &error));
    }
    sinew_bake_options_init(&f->options);
    f->b = (sn_baker){.rig = f->rig,
                      .options = &f->options,
                      .error = &error,
                      .numbers = 3 * VERTICES,
                      .diagonal = sinew_diagonal(VERTICES, f->rig->neutral->positions),
                      .positions = SN_NEW(double, 3 * VERTICES),
                      .blend = SN_NEW(double, 3 * VERTICES)};
    assert_ok(sinew_linear_create(f->rig, &f->b.linear, &error));
    assert_ok(sn_bake_pairs(f->rig, &f->pairs, &f->pair_count, &error));
    assert_ok(sn_bake_find_meeting(&f->b, &f->pairs, &f->pair_count));
}

static void release(fixture *f) {
    for (int i = 0; i < f->b.site_count; i++) sn_bake_site_free(&f->b.sites[i]);
    sn_free(f->b.sites), sn_free(f->b.meetings), sn_free(f->b.known), sn_free(f->b.alone);
    sn_free(f->b.alone_onset), sn_free(f->b.rest_known);
    sn_free(f->b.triangles), sn_free(f->b.positions), sn_free(f->b.blend), sn_free(f->pairs);
    sinew_linear_destroy(f->b.linear);
    sinew_rig_destroy(f->rig);
}

static bool meet(const fixture *f, const char *x, const char *y) {
    int a = sinew_rig_find_slider(f->rig, x), c = sinew_rig_find_slider(f->rig, y);
    for (int i = 0; i < f->b.meeting_count; i++) {
        const int *s = f->b.meetings[i].slider;
        const sn_slider_pair *listed = &f->pairs[f->b.meetings[i].pair];
        assert_int_equal(listed->a, s[0]);
        assert_int_equal(listed->b, s[1]);
        if ((s[0] == a && s[1] == c) || (s[0] == c && s[1] == a)) return true;
    }
    return false;
}

/* With a lid shut to 0.6, the other one touches it at two thirds of 0.6. The hinge of the lids is
 * then 0.6 (close + squint) - 1, and a slider that shifts the onset counts as much as it shifts,
 * if that is more than a sixteenth of the way. */
static void slopes_are_those_of_the_gap(void **state) {
    (void)state;
    static const lift lifts[] = {
        {"close", A_UPPER, -0.6, -0.6, 0, 0},  {"squint", A_LOWER, 0.6, 0.6, 0, 0},
        {"look", A_UPPER, -0.3, -0.3, 0, 0},   {"wide", A_UPPER, 0.2, 0.2, 0, 0},
        {"brow", A_UPPER, -0.06, -0.06, 0, 0}, {"hair", A_UPPER, -0.02, -0.02, 0, 0},
        {"other", B_UPPER, -0.6, -0.6, 0, 0},  {0}};
    static const double slopes[] = {0.6, 0.6, 0.3, -0.2, 0.06, 0, 0};
    fixture f;
    find_meetings(&f, lifts);
    assert_int_equal(f.b.meeting_count, 1);
    assert_true(meet(&f, "close", "squint"));
    assert_ok(sn_bake_find_sites(&f.b, 10));
    assert_int_equal(f.b.site_count, 1);
    for (int k = 0; k < 2; k++) {
        double onset = f.b.meetings[0].onset[k];
        assert_true(onset <= 2.0 / 3 && onset > 2.0 / 3 - 1.0 / 64); /* without crossing */
    }
    for (int s = 0; s < 7; s++) {
        assert_close(f.b.sites[0].slopes[s], slopes[s], slopes[s] == 0 ? 0 : 0.02);
        assert_true(f.b.sites[0].fitted[s] == f.b.sites[0].slopes[s]);
    }
    const double weights[] = {1, 1.5, 0, 0, 0, 0, 0}; /* beyond full, nothing more */
    assert_close(sn_bake_hinge(&f.b, f.b.sites[0].slopes, weights), 0.2, 0.04);
    const double apart[] = {1, 0.6, 0, 0, 0, 0, 0};
    assert_true(sn_bake_hinge(&f.b, f.b.sites[0].slopes, apart) == 0);
    release(&f);
}

/* Sliders that cross the same triangles share a site; other lids are another. */
static void each_pair_of_surfaces_is_a_site(void **state) {
    (void)state;
    static const lift lifts[] = {
        {"close", A_UPPER, -0.6, -0.6, 0, 0}, {"shut", A_UPPER, -0.7, -0.7, 0, 0},
        {"squint", A_LOWER, 0.6, 0.6, 0, 0},  {"closeB", B_UPPER, -0.6, -0.6, 0, 0},
        {"squintB", B_LOWER, 0.9, 0.9, 0, 0}, {0}};
    fixture f;
    find_meetings(&f, lifts);
    assert_int_equal(f.b.meeting_count, 3);
    assert_true(meet(&f, "close", "squint") && meet(&f, "shut", "squint"));
    assert_true(meet(&f, "closeB", "squintB"));
    assert_ok(sn_bake_find_sites(&f.b, 10));
    assert_int_equal(f.b.site_count, 2);
    for (int i = 0; i < 3; i++) {
        const sn_bake_meeting *m = &f.b.meetings[i];
        bool other = m->slider[0] >= 3;
        assert_true(f.b.sites[m->site].slopes[3] != 0 ? other : !other);
    }
    release(&f);
}

/* Of two sites, the one with more triangles that cross. */
static void sites_that_cross_most_are_kept(void **state) {
    (void)state;
    static const lift lifts[] = {{"close", A_UPPER, -0.6, -0.6, 0, 0},
                                 {"squint", A_LOWER, 0.41, 0.41, 0, 0},
                                 {"closeB", B_UPPER, -0.6, -0.6, 0, 0},
                                 {"squintB", B_LOWER, 0.6, 0.6, 0, 0},
                                 {0}};
    fixture f;
    find_meetings(&f, lifts);
    assert_int_equal(f.b.meeting_count, 2);
    assert_true(f.b.meetings[0].crossed < f.b.meetings[1].crossed);
    assert_ok(sn_bake_find_sites(&f.b, 1));
    assert_int_equal(f.b.site_count, 1);
    assert_int_equal(f.b.meeting_count, 1);
    assert_true(f.b.sites[0].slopes[0] == 0 && f.b.sites[0].slopes[2] > 0.5);
    release(&f);
}

/* "droop" closes the right side of the lids much more than the left one, "left" the left side only,
 * and "squint" meets on the right: no hinge has both onsets. Where "droop" closes both sides alike,
 * one hinge is near enough. */
static void meetings_at_other_vertices_are_another_site(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        const lift apart[] = {{"droop", A_UPPER, -0.15, -0.95, 0, 0},
                              {"squint", A_LOWER, 0.95, 0.95, 0, 0},
                              {"left", A_LOWER, 1.455, 0, 0, 0},
                              {0}};
        const lift alike[] = {{"droop", A_UPPER, -0.6, -0.6, 0, 0},
                              {"squint", A_LOWER, 0.6, 0.6, 0, 0},
                              {"left", A_LOWER, 1.2, 0, 0, 0},
                              {0}};
        fixture f;
        find_meetings(&f, k == 0 ? apart : alike);
        assert_true(meet(&f, "droop", "squint") && meet(&f, "droop", "left"));
        assert_ok(sn_bake_find_sites(&f.b, 10));
        assert_int_equal(f.b.site_count, k == 0 ? 2 : 1);
        release(&f);
    }
}

/* "close" makes lids B cross alone, and "squint" makes more of them cross: the onset of "squint" is
 * that of lids A nevertheless. */
static void onsets_are_those_of_the_lids_that_meet(void **state) {
    (void)state;
    static const lift lifts[] = {{"close", A_UPPER, -0.6, -0.6, B_UPPER, -1.02},
                                 {"squint", A_LOWER, 0.6, 0.6, B_LOWER, 0.3},
                                 {"look", A_UPPER, -0.3, -0.3, 0, 0},
                                 {"more", B_LOWER, 0.2, 0.2, 0, 0},
                                 {0}};
    fixture f;
    find_meetings(&f, lifts);
    assert_int_equal(f.b.meeting_count, 1);
    assert_ok(sn_bake_find_sites(&f.b, 10));
    assert_close(f.b.meetings[0].onset[1], 2.0 / 3, 1.0 / 64);
    assert_close(f.b.sites[0].slopes[2], 0.3, 0.02);
    assert_true(f.b.sites[0].slopes[3] == 0); /* it only moves lids B */
    release(&f);
}

/* Lids that cross with one slider alone cross elsewhere with any other: that is no meeting. */
static void what_a_slider_crosses_alone_is_not_counted(void **state) {
    (void)state;
    static const lift lifts[] = {
        {"close", A_UPPER, -0.6, -0.6, 0, 0},     {"squint", A_LOWER, 0.6, 0.6, 0, 0},
        {"through", B_UPPER, -1.02, -1.02, 0, 0}, {"again", B_UPPER, -1.02, -1.02, 0, 0},
        {"squintB", B_LOWER, 0.3, 0.3, 0, 0},     {0}};
    fixture f;
    find_meetings(&f, lifts);
    assert_int_equal(f.b.meeting_count, 1);
    assert_true(meet(&f, "close", "squint"));
    release(&f);
}

/* Captures leave traces of every slider all over a face: what moves the lids by less than a
 * thousandth of the diagonal takes no part in closing them. */
static void traces_of_sliders_do_not_meet(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        lift lifts[] = {{"lift", A_LOWER, 0.999, 0.999, 0, 0}, {"trace", A_UPPER, 0, 0, 0, 0}, {0}};
        fixture f;
        double diagonal = 6.2; /* 6, 1.5, and 1 */
        lifts[1].left = lifts[1].right = -(k == 0 ? 0.0009 : 0.0015) * diagonal;
        find_meetings(&f, lifts);
        assert_int_equal(f.b.meeting_count, k);
        release(&f);
    }
}

/* ---- what contact is worth ------------------------------------------------------------------- */

/* The lids A stop each other half-way. Where the first slider makes lids B cross alone, the model
 * pushes the whole mesh aside; or its contact goes back and forth. */
typedef struct pusher {
    const sinew_rig *rig;
    double alone;
    bool erratic;
} pusher;

static sinew_status plain(const double *w, double *positions, void *user,
                          const sinew_monitor *monitor, sinew_error *failed) {
    (void)monitor;
    const pusher *p = user;
    sinew_linear *linear;
    sinew_status status = sinew_linear_create(p->rig, &linear, failed);
    if (status != SINEW_OK) return status;
    sinew_linear_evaluate(linear, w, positions);
    sinew_linear_destroy(linear);
    positions[0] += 0.05 * w[0] * w[1]; /* something to fit without contact */
    return SINEW_OK;
}

static sinew_status pushed(const double *w, double *positions, void *user,
                           const sinew_monitor *monitor, sinew_error *failed) {
    const pusher *p = user;
    sinew_status status = plain(w, positions, user, monitor, failed);
    double depth = fmax(0.75 * (w[0] + w[1]) - 1, 0), back = sin(777 * w[0] + 1234 * w[1]);
    for (int v = 0; status == SINEW_OK && v < VERTICES; v++) {
        if (v < 8) positions[3 * v + 1] += (v < 4 ? 0.5 : -0.5) * depth * (p->erratic ? back : 1);
        if (w[0] > p->alone) positions[3 * v + 2] += 2 * (w[0] - p->alone);
    }
    return status;
}

static sinew_rig *bake_pushed(pusher *p, sinew_rig *rig) {
    sinew_bake_options options;
    sinew_rig *baked;
    sinew_bake_options_init(&options);
    options.max_samples = 120;
    options.max_targets = 8;
    options.self_contact = true;
    options.without_contact = plain, options.without_contact_user = p;
    p->rig = rig;
    assert_ok(sinew_bake(rig, &options, pushed, p, NULL, &baked, NULL, &error));
    return baked;
}

/* Height of the upper lid A over its rest, and how far its first vertex is pushed aside. */
static void find_pushed(const sinew_rig *rig, double close, double squint, double *up,
                        double *aside) {
    const double w[] = {close, squint};
    double positions[3 * VERTICES];
    sinew_linear *linear;
    assert_ok(sinew_linear_create(rig, &linear, &error));
    sinew_linear_evaluate(linear, w, positions);
    *up = positions[1] - rig->neutral->positions[1], *aside = positions[2];
    sinew_linear_destroy(linear);
}

/* "close" makes lids B cross alone from 0.71 on, and the model pushes the whole mesh aside then.
 * That has a corrective of its own: it is as in the model, and the pair alone does not do it. */
static void contact_of_one_slider_is_not_that_of_a_pair(void **state) {
    (void)state;
    static const lift lifts[] = {{"close", A_UPPER, -0.75, -0.75, B_UPPER, -1.4},
                                 {"squint", A_LOWER, 0.75, 0.75, 0, 0},
                                 {0}};
    for (int near = 0; near < 2; near++) {
        fixture f;
        beside = near ? 1.01 : 5;
        find_meetings(&f, lifts);
        assert_close(f.b.alone_onset[0], 5.0 / 7, 1.0 / 64);
        assert_true(f.b.alone_onset[1] > 1);
        pusher p = {.alone = 5.0 / 7};
        sinew_rig *baked = bake_pushed(&p, f.rig);
        double up, aside;
        find_pushed(baked, 0.7, 0.9, &up, &aside);
        assert_close(up, -0.75 * 0.7 + 0.5 * 0.2, 0.01);
        assert_close(aside, 0, 0.01);
        find_pushed(baked, 1, 0.9, &up, &aside);
        assert_close(up, -0.75 + 0.5 * 0.425, 0.02);
        assert_close(aside, 2 * (1 - p.alone), 0.05);
        find_pushed(baked, 1, 0, &up, &aside);
        assert_close(up, -0.75, 0.01);
        assert_close(aside, 2 * (1 - p.alone), 0.05);
        sinew_rig_destroy(baked);
        release(&f);
    }
    beside = 5;
}

/* A corrective that tells nothing about other samples than its own is worse than none. */
static void contact_without_a_rule_has_no_corrective(void **state) {
    (void)state;
    static const lift lifts[] = {
        {"close", A_UPPER, -0.75, -0.75, 0, 0}, {"squint", A_LOWER, 0.75, 0.75, 0, 0}, {0}};
    for (int erratic = 0; erratic < 2; erratic++) {
        fixture f;
        find_meetings(&f, lifts);
        pusher p = {.alone = 2, .erratic = erratic};
        sinew_rig *baked = bake_pushed(&p, f.rig);
        int hinges = 0;
        for (int t = 2; t < baked->target_count; t++)
            hinges += baked->targets[t].combine == SINEW_COMBINE_HINGE;
        assert_int_equal(hinges, !erratic);
        sinew_rig_destroy(baked);
        release(&f);
    }
}

int test_bake_sites(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_those_of_the_gap),
        cmocka_unit_test(each_pair_of_surfaces_is_a_site),
        cmocka_unit_test(sites_that_cross_most_are_kept),
        cmocka_unit_test(meetings_at_other_vertices_are_another_site),
        cmocka_unit_test(onsets_are_those_of_the_lids_that_meet),
        cmocka_unit_test(what_a_slider_crosses_alone_is_not_counted),
        cmocka_unit_test(traces_of_sliders_do_not_meet),
        cmocka_unit_test(contact_of_one_slider_is_not_that_of_a_pair),
        cmocka_unit_test(contact_without_a_rule_has_no_corrective),
    };
    return cmocka_run_group_tests_name("bake sites", tests, NULL, NULL);
}
