/* The obstacles of a scene, and where they are at a time. */
#ifndef SN_SESSION_OBSTACLES_H
#define SN_SESSION_OBSTACLES_H

#include "base/vec3.h"
#include "session/scene.h"
#include "sinew/frames.h"
#include "sinew/obstacle.h"
#include "sinew/rig.h"

typedef struct sn_scene_obstacle {
    sinew_obstacle *obstacle;
    const json_t *motion; /* of the scene; NULL: still */
    sinew_frames *frames; /* of a mesh that deforms; NULL: it does not */
    double middle[3];     /* it turns about this */
    int part;             /* index of the rig's part that it is, or -1 */
    int vertex_count;     /* of a mesh or part */
    int *part_vertices;   /* of a part: its vertices in the rig */
} sn_scene_obstacle;

typedef struct sn_obstacles {
    int count;
    sn_scene_obstacle *list;
    sinew_obstacle **pointers; /* the same in a row, for models */
    double *positions;         /* scratch for meshes that deform */
} sn_obstacles;

/* Enabled obstacles only. The scene must outlive them. */
sinew_status sn_obstacles_create(const sinew_scene *scene, const sinew_rig *rig,
                                 sn_obstacles *obstacles, sinew_error *error);
void sn_obstacles_free(sn_obstacles *obstacles);
/* Puts them where they are at that time. shape: positions of the rig's vertices in that frame, for
 * parts; NULL leaves parts where they were. Allocates nothing. */
sinew_status sn_obstacles_move(sn_obstacles *obstacles, double time, const double *shape,
                               sinew_error *error);
/* True when some obstacle moves by itself (parts not counted). */
bool sn_obstacles_animated(const sn_obstacles *obstacles);

/* A list of motions, {"time", "move", "turn"}: its times must increase. */
sinew_status sn_scene_check_motion(const sinew_scene *scene, const json_t *motion,
                                   const char *place, sinew_error *error);
/* Displacement and rotation vector (degrees) at a time: linear between keys, still outside. */
void sn_scene_motion_at(const json_t *motion, double time, sn_vec3 *move, sn_vec3 *turn);

#endif
