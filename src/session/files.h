/* The files that a scene names. */
#ifndef SN_SESSION_FILES_H
#define SN_SESSION_FILES_H

#include "base/plan.h"
#include "sinew/scene.h"

/* Adds every input and output of the scene, and the scene's own file, to the plan. */
void sn_scene_plan(const sinew_scene *scene, sn_file_plan *plan);

#endif
