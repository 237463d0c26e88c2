#include "clip_poses.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"

/* Frames per second that are looked at. */
#define LOOKED_AT 15.0
/* A clip that moves nothing farther, as a fraction of the diagonal, gives no pose. */
#define LEAST 1e-3
/* In front of the poses of a file, after its name. */
#define FOLDER ".poses/"

void clip_poses_free(clip_poses *poses) {
    free(poses->neutral);
    for (int i = 0; i < poses->count; i++) free(poses->names[i]);
    *poses = (clip_poses){0};
}

/* The mean squared distance from the neutral. */
static double distance(const sinew_mesh *neutral, const float *frame) {
    double sum = 0;
    for (size_t i = 0; i < 3 * (size_t)neutral->vertex_count; i++) {
        double d = (double)frame[i] - neutral->positions[i];
        sum += d * d;
    }
    return sum / fmax(1, neutral->vertex_count);
}

/* The farthest frame of a clip, in *pose; false: it moves nothing, or cannot be played. */
static bool find_pose(const char *path, const char *clip, const sinew_mesh *neutral,
                      sinew_mesh *pose) {
    sinew_frames *frames = NULL;
    sinew_error ignored;
    if (sinew_frames_read_clip(path, clip, LOOKED_AT, &frames, &ignored) != SINEW_OK) return false;
    bool good = sinew_frames_match(frames, neutral, &ignored) == SINEW_OK;
    size_t n = 3 * (size_t)neutral->vertex_count, best = 0;
    double farthest = -1;
    for (int k = 0; good && k < frames->frame_count; k++) {
        double d = distance(neutral, frames->positions + n * (size_t)k);
        if (d > farthest) farthest = d, best = n * (size_t)k;
    }
    double least = LEAST * sinew_diagonal(neutral->vertex_count, neutral->positions);
    good = good && farthest > least * least;
    for (size_t i = 0; good && i < n; i++) pose->positions[i] = (double)frames->positions[best + i];
    sinew_frames_destroy(frames);
    return good;
}

/* A file name from the name of a clip: what follows the name of the skeleton, as in
 * "Armature|walk". NULL when nothing is left, or out of memory. */
static char *name_pose(const char *file, const char *clip) {
    const char *bar = strrchr(clip, '|');
    if (bar) clip = bar + 1;
    while (*clip == '.' || *clip == ' ') clip++;
    size_t length = strlen(clip);
    if (!length || length > 150) return NULL;
    size_t front = strlen(file) + strlen(FOLDER);
    char *name = malloc(front + length + 5);
    if (!name) return NULL;
    sprintf(name, "%s%s%s.obj", file, FOLDER, clip);
    files_clean_name(name + front);
    return name;
}

/* How the bones stand without a clip is the neutral: meshes are stored as they were bound, often
 * lying, or in another unit. The mesh of the file is it where both agree. */
static sinew_status write_neutral(const char *folder, const char *file, const char *path,
                                  sinew_mesh *neutral, clip_poses *poses, sinew_error *error) {
    sinew_mesh *stands = NULL;
    if (sinew_pose_read(path, "", 0, &stands, error) != SINEW_OK) return error->status;
    double most = 0;
    bool same = stands->vertex_count == neutral->vertex_count;
    for (size_t i = 0; same && i < 3 * (size_t)neutral->vertex_count; i++)
        most = fmax(most, fabs(stands->positions[i] - neutral->positions[i]));
    double diagonal = sinew_diagonal(neutral->vertex_count, neutral->positions);
    char out[4096];
    sinew_status status = SINEW_OK;
    if (same && most > 1e-5 * diagonal) {
        memcpy(neutral->positions, stands->positions,
               3 * (size_t)neutral->vertex_count * sizeof *neutral->positions);
        const char *dot = strrchr(file, '.'), *slash = strrchr(file, '/');
        char stem[256];
        snprintf(stem, sizeof stem, "%.*s", (int)(dot - (slash ? slash + 1 : file)),
                 slash ? slash + 1 : file);
        poses->neutral = name_pose(file, stem);
        if (poses->neutral &&
            snprintf(out, sizeof out, "%s/%s", folder, poses->neutral) < (int)sizeof out)
            status = sinew_mesh_write(out, neutral, error);
    }
    sinew_mesh_destroy(stands);
    return status;
}

static bool has(const clip_poses *poses, const char *name) {
    if (poses->neutral && !strcmp(poses->neutral, name)) return true;
    for (int i = 0; i < poses->count; i++)
        if (!strcmp(poses->names[i], name)) return true;
    return false;
}

static sinew_status add_pose(const char *folder, const char *file, const char *path,
                             const char *clip, const sinew_mesh *neutral, sinew_mesh *pose,
                             clip_poses *poses, sinew_error *error) {
    char *name = name_pose(file, clip), out[4096];
    if (!name || has(poses, name) || !find_pose(path, clip, neutral, pose) ||
        snprintf(out, sizeof out, "%s/%s", folder, name) >= (int)sizeof out) {
        free(name);
        return SINEW_OK;
    }
    sinew_status status = sinew_mesh_write(out, pose, error);
    if (status == SINEW_OK)
        poses->names[poses->count++] = name;
    else
        free(name);
    return status;
}

sinew_status clip_poses_write(const char *folder, const char *file, clip_poses *poses,
                              sinew_error *error) {
    *poses = (clip_poses){0};
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length + (int)sizeof FOLDER >= (int)sizeof path) return SINEW_OK;
    sinew_contents *contents = NULL;
    sinew_error ignored; /* what is wrong with the file is said when it is opened */
    if (sinew_contents_read(path, NULL, &contents, &ignored) != SINEW_OK) return SINEW_OK;
    sinew_contents_item item = {.size = sizeof item};
    int clips = 0;
    for (int i = 0; i < sinew_contents_count(contents); i++)
        clips += sinew_contents_get(contents, i, &item) == SINEW_OK &&
                 item.kind == SINEW_CONTENTS_KIND_CLIP;
    sinew_rig *rig = NULL;
    sinew_mesh *pose = NULL;
    const char *paths[] = {path};
    sinew_status status = SINEW_OK;
    if (clips && sinew_rig_read(1, paths, &rig, &ignored) == SINEW_OK && rig->target_count == 0)
        status = sinew_mesh_copy(rig->neutral, &pose, error);
    if (pose) { /* if it cannot be made, writing the first pose says so */
        memcpy(path + length, FOLDER, sizeof FOLDER);
        (void)mkdir(path, 0777);
        path[length] = 0;
    }
    if (pose) status = write_neutral(folder, file, path, rig->neutral, poses, error);
    for (int i = 0; pose && i < sinew_contents_count(contents) && status == SINEW_OK; i++)
        if (sinew_contents_get(contents, i, &item) == SINEW_OK &&
            item.kind == SINEW_CONTENTS_KIND_CLIP && poses->count < CLIP_POSES_MOST)
            status = add_pose(folder, file, path, item.name, rig->neutral, pose, poses, error);
    sinew_mesh_destroy(pose);
    sinew_rig_destroy(rig);
    sinew_contents_destroy(contents);
    if (status != SINEW_OK) clip_poses_free(poses);
    return status;
}
