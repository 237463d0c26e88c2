/* A skinned character without blend shapes still has poses: those that its clips reach. */
#ifndef STUDIO_CLIP_POSES_H
#define STUDIO_CLIP_POSES_H

#include <sinew/sinew.h>

enum { CLIP_POSES_MOST = 24 };

typedef struct clip_poses {
    char *neutral; /* beside the poses, where clips show the character elsewhere than the mesh of
                      the file; otherwise NULL: the file */
    int count;
    char *names[CLIP_POSES_MOST]; /* called after the clips */
} clip_poses;

/* For a GLB or FBX in `folder` that has clips and no blend shapes: writes one pose a clip as OBJ
 * into a folder beside it, FILE.poses, the frame that is farthest from how the file stands. Nothing
 * for other files. All names are relative to `folder`. */
sinew_status clip_poses_write(const char *folder, const char *file, clip_poses *poses,
                              sinew_error *error);
void clip_poses_free(clip_poses *poses);

#endif
