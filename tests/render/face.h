/* Heads made of balls, one part each: shapes for pictures. */
#ifndef SINEW_TESTS_RENDER_FACE_H
#define SINEW_TESTS_RENDER_FACE_H

#include <stddef.h>

#include "sinew/mesh.h"

/* An OBJ file in memory that balls are added to. */
typedef struct face {
    char text[400000];
    size_t size;
    int vertices;
} face;

enum { RINGS = 11, SEGMENTS = 16 };

/* The poles lie ahead and behind, on the z axis. */
void add_ball(face *f, const char *name, double x, double y, double z, double radius);
sinew_mesh *mesh_of(const face *f);

#endif
