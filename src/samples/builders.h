/* The makers of the single rigs, and what they share. */
#ifndef SN_SAMPLES_BUILDERS_H
#define SN_SAMPLES_BUILDERS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "samples/cage.h"
#include "sinew/samples.h"

static const double SN_PI = 3.14159265358979323846;

static inline double sn_radians(double degrees) {
    return degrees * (SN_PI / 180);
}

/* 0 to 1 with soft ends. */
static inline double sn_smooth(double t) {
    t = fmin(1, fmax(0, t));
    return t * t * (3 - 2 * t);
}

/* Each makes its rig with about `vertices` vertices. */
sinew_status sn_sample_bar(int vertices, sinew_rig **rig, sinew_error *error);
sinew_status sn_sample_face(int vertices, sinew_rig **rig, sinew_error *error);
sinew_status sn_sample_face2(int vertices, sinew_rig **rig, sinew_error *error);
sinew_status sn_sample_hand(int vertices, sinew_rig **rig, sinew_error *error);
sinew_status sn_sample_blob(int vertices, sinew_rig **rig, sinew_error *error);
sinew_status sn_sample_arm(int vertices, sinew_rig **rig, sinew_error *error);

/* Faces share their vertices, sliders and clips. */
static inline bool sn_is_face(const char *name) {
    return strcmp(name, "face") == 0 || strcmp(name, "face2") == 0;
}

/* The talking clip of the faces, and their closing lips. */
sinew_status sn_face_clip(sinew_curves **curves, sinew_error *error);
sinew_status sn_face_lips(sinew_curves **curves, sinew_error *error);

/* Named curves of zeros with 30 values a second. */
sinew_status sn_named_curves(int channels, const char *const *names, double seconds,
                             sinew_curves **curves, sinew_error *error);

/* A closed quad mesh with a name. */
sinew_status sn_quad_mesh(const char *name, int vertex_count, const double *positions,
                          int face_count, const int *quads, sinew_mesh **mesh, sinew_error *error);

/* A rig without targets whose neutral is the refined surface, times `scale`. */
sinew_status sn_fine_rig(const sn_fine *fine, const char *name, double scale, sinew_rig **rig,
                         sinew_error *error);

/* Adds a region of all vertices for which `inside` is true. */
typedef bool sn_region_test(int vertex, const double *position, const void *user);
sinew_status sn_add_region(sinew_rig *rig, const char *name, sn_region_test *inside,
                           const void *user, sinew_error *error);

#endif
