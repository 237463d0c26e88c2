/* Where the markers of a take sit on a face, found without a map file. */
#ifndef SN_CAPTURE_AUTOMAP_H
#define SN_CAPTURE_AUTOMAP_H

#include "capture/map_check.h"
#include "capture/similarity.h"
#include "sinew/capture.h"

typedef struct sn_automap {
    sinew_marker_map *map;
    sn_map_doubts doubts;    /* by markers of the map */
    sn_similarity alignment; /* from the take to the face */
    sinew_map_source source;
    bool same_face; /* by names, and the markers lie on the skin after the alignment alone */
    int *left_out;  /* markers of the take that are not on the face */
    int left_out_count;
} sn_automap;

/* From the given sample of the take. SINEW_BAD_INPUT when nothing fits. */
sinew_status sn_automap_find(const sinew_rig *rig, const sinew_anatomy *anatomy,
                             const sinew_markers *take, int sample, const sinew_monitor *monitor,
                             sn_automap *result, sinew_error *error);
void sn_automap_free(sn_automap *result);

#endif
