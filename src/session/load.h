/* Files of a scene, through the session's loader. A path that the loader cannot serve at all is
 * SINEW_UNAVAILABLE. */
#ifndef SN_SESSION_LOAD_H
#define SN_SESSION_LOAD_H

#include "session/scene.h"
#include "sinew/loader.h"

/* The rig of the scene: files or a sample, and its regions. */
sinew_status sn_load_rig(const sinew_scene *scene, const sinew_loader *loader, sinew_rig **rig,
                         sinew_error *error);
sinew_status sn_load_mesh(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                          sinew_mesh **mesh, sinew_error *error);
sinew_status sn_load_tets(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                          sinew_tets **tets, sinew_error *error);
sinew_status sn_load_curves(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                            sinew_curves **curves, sinew_error *error);
sinew_status sn_load_markers(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                             sinew_markers **markers, sinew_error *error);
sinew_status sn_load_marker_map(const sinew_scene *scene, const sinew_loader *loader,
                                const char *path, const sinew_mesh *mesh, sinew_marker_map **map,
                                sinew_error *error);
/* Frames of the rig's vertices: bad input when they do not fit the mesh (NULL: any). */
sinew_status sn_load_frames(const sinew_scene *scene, const sinew_loader *loader, const char *path,
                            const sinew_mesh *mesh, sinew_frames **frames, sinew_error *error);
/* values[vertex_count] keeps what the file does not name. */
sinew_status sn_load_vertex_values(const sinew_scene *scene, const sinew_loader *loader,
                                   const char *path, int vertex_count, double *values,
                                   sinew_error *error);
/* A file parameter "vertex,value" as a new array (release with sn_free), 1 where the file has
 * nothing; NULL when absent. */
sinew_status sn_load_vertex_map(const sinew_scene *scene, const sinew_loader *loader,
                                const char *parameter, const sinew_rig *rig, double **map,
                                sinew_error *error);

/* A file is read again when the value that names it changes, not when the file does: the name of
 * the last read (NULL: none), and its replacement. */
bool sn_same_name(const char *a, const char *b);
sinew_status sn_keep_name(char **kept, const char *name, sinew_error *error);

#endif
