/* The sample face with its take and map, as most tests of this room need it. */
#ifndef TESTS_CAPTURE_SCENE_H
#define TESTS_CAPTURE_SCENE_H

#include "sinew/capture.h"
#include "sinew/rig.h"

typedef struct scene {
    sinew_rig *rig;
    sinew_markers *take;
    sinew_marker_map *map;
} scene;

/* Setup and teardown of a group: *state is a scene. The small one has 3,000 vertices. */
int make_scene(void **state);
int make_small_scene(void **state);
int drop_scene(void **state);

/* The first samples of a take, with its names. */
sinew_markers *copy_of(const sinew_markers *take, int samples);

#endif
