/* Small scenes of every model, shared by the tests of this room. */
#ifndef TESTS_SESSION_SCENES_H
#define TESTS_SESSION_SCENES_H

#include "sinew/sinew.h"

/* "linear", "rotation", "spring", "friction" (spring with friction on a moving ball), "skin"
 * (spring without interior), "modal", "force", "contact" (force with contact), "markers" (force),
 * "layer" (fit with the layer, gaps in the take), "fit", "apart" (linear with contact), "turned
 * apart" (rotation with contact). 41 frames each. Writes what it needs into test_folder(). */
extern const char *const test_scene_names[];
/* JSON text; static, overwritten by the next call. */
const char *test_scene(const char *name);
sinew_session *test_session(const char *name);
/* Likewise of a text that names the files of these scenes. */
sinew_session *test_open(const char *text);
int test_vertex_count(sinew_solver *solver);
/* positions of a frame of the clip. */
void test_frame(sinew_solver *solver, int frame, double *positions);
/* The first frames of each scene as they were recorded (recorded.h): positions within the
 * tolerance, exactly as many steps, contacts and inverted elements. */
typedef struct test_named_scene {
    const char *name, *text;
} test_named_scene;
void test_recorded_scenes(int count, const test_named_scene *scenes, int frames, double tolerance);
/* Largest difference of two lists of coordinates. */
double test_farthest(size_t size, const double *a, const double *b);

#endif
