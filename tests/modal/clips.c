#include "clips.h"

#include "base/vec3.h"
#include "bodies.h"
#include "support.h"

test_clip test_clip_make(int cells, int across, int modes) {
    sinew_error error;
    test_clip s = {.bar = test_bar(cells, across, across, TEST_LENGTH, 1, 0.8), .keys = 2};
    size_t size = sizeof(double) * 3 * (size_t)s.bar->vertex_count;
    for (int k = 0; k < 4; k++) {
        s.poses[k] = malloc(size);
        memcpy(s.poses[k], s.bar->positions, size);
        s.times[k] = k;
    }
    s.frame = malloc(size);
    s.diagonal = sinew_diagonal(s.bar->vertex_count, s.bar->positions);
    sinew_modal_options options;
    sinew_modal_options_init(&options);
    options.modes = modes;
    assert_ok(sinew_modal_create_tets(s.bar, &options, NULL, &s.modal, &error));
    assert_ok(sinew_modal_state_create(s.modal, &s.state, &error));
    return s;
}

void test_clip_free(test_clip *s) {
    sinew_modal_state_destroy(s->state);
    sinew_modal_destroy(s->modal);
    for (int k = 0; k < 4; k++) free(s->poses[k]);
    free(s->frame);
    sinew_tets_destroy(s->bar);
}

sinew_modal_keys test_clip_keys(const test_clip *s) {
    return (sinew_modal_keys){.size = sizeof(sinew_modal_keys),
                              .count = s->keys,
                              .times = s->times,
                              .positions = (const double *const *)s->poses};
}

sinew_modal_motion *test_clip_motion(const test_clip *s, const sinew_modal_parameters *parameters) {
    sinew_error error;
    sinew_modal_motion *motion;
    sinew_modal_keys keys = test_clip_keys(s);
    assert_ok(sinew_modal_motion_create(s->modal, &keys, parameters, NULL, &motion, &error));
    return motion;
}

double test_clip_distance(const test_clip *s, const double *a, const double *b) {
    double most = 0;
    for (int i = 0; i < s->bar->vertex_count; i++)
        most = fmax(most, sn_distance(sn_at(a, i), sn_at(b, i)));
    return most / s->diagonal;
}

void test_clip_meets_keys(test_clip *s, const sinew_modal_motion *motion) {
    for (int k = 0; k < s->keys; k++) {
        sinew_modal_frame(motion, s->state, s->times[k], s->frame);
        assert_below(test_clip_distance(s, s->frame, s->poses[k]), 1e-9);
    }
}
