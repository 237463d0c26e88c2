/* What a GLB, glTF, VRM or FBX file holds besides its meshes and targets: clips, skins, materials
 * and the rest, and which of it Sinew uses. */
#ifndef SINEW_CONTENTS_H
#define SINEW_CONTENTS_H

#include <stdint.h>

#include "sinew/source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sinew_contents_kind {
    SINEW_CONTENTS_KIND_CLIP,
    SINEW_CONTENTS_KIND_SKIN,
    SINEW_CONTENTS_KIND_EXPRESSION, /* of an avatar */
    SINEW_CONTENTS_KIND_MATERIAL,
    SINEW_CONTENTS_KIND_IMAGE,
    SINEW_CONTENTS_KIND_CAMERA,
    SINEW_CONTENTS_KIND_LIGHT,
    SINEW_CONTENTS_KIND_ATTRIBUTE, /* of vertices: further texture coordinates, colors */
    SINEW_CONTENTS_KIND_EXTENSION,
    SINEW_CONTENTS_KIND_SUBDIVISION, /* of a mesh that is shown smooth */
    SINEW_CONTENTS_KIND_CACHE,       /* of points that deform a mesh */
    SINEW_CONTENTS_KIND_GEOMETRY     /* other than meshes: curves and NURBS surfaces */
} sinew_contents_kind;

typedef struct sinew_contents_item {
    uint32_t size; /* of this structure in bytes; set by the caller */
    sinew_contents_kind kind;
    const char *name;   /* may be empty; belongs to the contents */
    const char *detail; /* "2.5 s, 3 channels"; may be empty */
    bool used;          /* false: kept when the file is written again, and otherwise ignored */
} sinew_contents_item;

typedef struct sinew_contents sinew_contents;

/* Other formats have no contents: the count is 0. */
SINEW_API sinew_status sinew_contents_read(const char *path, const sinew_monitor *monitor,
                                           sinew_contents **contents, sinew_error *error);
/* The same from memory, streams or files (sinew/source.h). */
SINEW_API sinew_status sinew_contents_read_from(const sinew_source *source,
                                                const sinew_monitor *monitor,
                                                sinew_contents **contents, sinew_error *error);
SINEW_API void sinew_contents_destroy(sinew_contents *contents);
SINEW_API int sinew_contents_count(const sinew_contents *contents);
/* SINEW_MISUSE outside 0 <= index < count. In order of their kinds. */
SINEW_API sinew_status sinew_contents_get(const sinew_contents *contents, int index,
                                          sinew_contents_item *item);
/* "clip", "skin" and so on; NULL for a value that is not a kind. */
SINEW_API const char *sinew_contents_kind_name(sinew_contents_kind kind);
/* Length of one unit of the file in meters, 0 if the file does not state it, and its up axis: 'x',
 * 'y', 'z', or 0. Positions are read as they are stored, whatever the unit. */
SINEW_API double sinew_contents_unit(const sinew_contents *contents);
SINEW_API char sinew_contents_up(const sinew_contents *contents);
/* matrix[9], by rows: from the unit and axes of the file to a unit of `unit` meters (0: that of the
 * file) with `up` as the up axis (0: that of the file). Returns SINEW_BAD_INPUT when the file does
 * not state its own. */
SINEW_API sinew_status sinew_contents_matrix(const sinew_contents *contents, double unit, char up,
                                             double *matrix, sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
