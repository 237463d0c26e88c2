/* The obstacles of a scene, and where they are at a time. */
#ifndef SN_SESSION_OBSTACLES_H
#define SN_SESSION_OBSTACLES_H

#include "base/vec3.h"
#include "session/scene.h"
#include "sinew/frames.h"
#include "sinew/loader.h"
#include "sinew/obstacle.h"
#include "sinew/rig.h"

/* A motion over time, {"time", "move", "turn"}: linear between keys, still outside. */
typedef struct sn_motion {
    int count; /* 0: still */
    double *times;
    sn_vec3 *move, *turn; /* displacement; axis times degrees */
} sn_motion;

/* Reads a list of motions; its times must increase. */
sinew_status sn_motion_read(const sinew_scene *scene, const json_t *list, const char *location,
                            sn_motion *motion, sinew_error *error);
void sn_motion_free(sn_motion *motion);
void sn_motion_at(const sn_motion *motion, double time, sn_vec3 *move, sn_vec3 *turn);

typedef struct sn_scene_obstacle {
    json_t *given; /* what the scene specifies of it, without its motion */
    sinew_obstacle *obstacle;
    sn_motion motion;
    sinew_frames *frames; /* of a mesh that deforms; NULL: it does not */
    double middle[3];     /* center of its rotation */
    int index;            /* in the scene */
    int part;             /* index of the rig's part that it is, or -1 */
    int vertex_count;     /* of a mesh or part */
    int *part_vertices;   /* of a part: its vertices in the rig */
    bool fresh;           /* its shape was made by the last update */
} sn_scene_obstacle;

typedef struct sn_obstacles {
    int count;
    sn_scene_obstacle *list;
    sinew_obstacle **pointers; /* the same in a row, for models */
    double *positions;         /* scratch for meshes that deform */
} sn_obstacles;

/* Updates all-zero or earlier obstacles to those of the scene; shapes that did not change are kept.
 * Enabled obstacles only. Stays as it was on failure. */
sinew_status sn_obstacles_update(const sinew_scene *scene, const sinew_rig *rig,
                                 const sinew_loader *loader, sn_obstacles *obstacles,
                                 sinew_error *error);
void sn_obstacles_free(sn_obstacles *obstacles);
/* Puts them where they are at that time. shape: positions of the rig's vertices in that frame, for
 * parts; NULL leaves parts where they were. Allocates nothing. */
sinew_status sn_obstacles_move(sn_obstacles *obstacles, double time, const double *shape,
                               sinew_error *error);

#endif
