/* The file formats of this build: what each one reads and writes. */
#ifndef SINEW_FORMATS_H
#define SINEW_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a file can hold, as bits. */
typedef enum sinew_content {
    SINEW_CONTENT_RIG = 1,
    SINEW_CONTENT_MESH = 2,
    SINEW_CONTENT_FRAMES = 4,
    SINEW_CONTENT_CURVES = 8,
    SINEW_CONTENT_MARKERS = 16,
    SINEW_CONTENT_TETS = 32,
    SINEW_CONTENT_CLIP = 64 /* frames and poses of an animated file: sinew_frames_read_clip */
} sinew_content;

typedef struct sinew_format_info {
    uint32_t size;       /* of this structure in bytes; set by the caller */
    const char *name;    /* "OBJ" */
    const char *endings; /* separated by blanks: "glb gltf" */
    unsigned reads;      /* of sinew_content */
    unsigned writes;
    bool shares_ending;    /* another format has the same ending: the content decides */
    bool streams_frames;   /* sinew_frame_reader needs the memory of one frame only */
    bool applies_deformer; /* sinew_mesh_read applies the weights and skins that the file has set */
} sinew_format_info;

SINEW_API int sinew_format_count(void);
/* SINEW_MISUSE outside 0 <= index < count. The texts are constant. */
SINEW_API sinew_status sinew_format_get_info(int index, sinew_format_info *info);
/* Whether the path has one of the format's endings, in upper or lower case. */
SINEW_API bool sinew_format_has_ending(int index, const char *path);
/* The format of a file, by its ending and, where formats share it, by its content. */
SINEW_API sinew_status sinew_format_find(const char *path, int *index, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
