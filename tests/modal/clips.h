/* A bar with key poses, for tests of motions. */
#ifndef TESTS_MODAL_CLIPS_H
#define TESTS_MODAL_CLIPS_H

#include "sinew/modal.h"
#include "sinew/tets.h"

static const double TEST_LENGTH = 10;

/* A bar, its modes, two or more poses and a state. */
typedef struct test_clip {
    sinew_tets *bar;
    sinew_modal *modal;
    sinew_modal_state *state;
    double *poses[4], *frame;
    double times[4];
    int keys;
    double diagonal;
} test_clip;

test_clip test_clip_make(int cells, int across, int modes);
void test_clip_free(test_clip *s);
sinew_modal_keys test_clip_keys(const test_clip *s);
sinew_modal_motion *test_clip_motion(const test_clip *s, const sinew_modal_parameters *parameters);
/* Largest distance of two shapes, fraction of the diagonal. */
double test_clip_distance(const test_clip *s, const double *a, const double *b);
void test_clip_meets_keys(test_clip *s, const sinew_modal_motion *motion);

#endif
