/* A rig as a folder: neutral.obj, targets/NAME.target, and rig.json with the rest. */
#ifndef SN_IO_RIG_FOLDER_H
#define SN_IO_RIG_FOLDER_H

#include "sinew/rig.h"

sinew_status sn_rig_folder_read(const char *path, sinew_rig **rig, sinew_error *error);
sinew_status sn_rig_folder_write(const char *path, const sinew_rig *rig, sinew_error *error);
/* Adds what a file or a folder of files holds as plain targets: .target files, and pose meshes. */
sinew_status sn_rig_add_path(sinew_rig *rig, const char *path, sinew_error *error);

#endif
