/* Whether a map fits a take: the markers of the neutral sample and their points on the face must
 * form nearly the same shape. */
#ifndef SN_CAPTURE_MAP_CHECK_H
#define SN_CAPTURE_MAP_CHECK_H

#include "capture/marker_names.h"
#include "sinew/marker_map.h"

enum { SN_DOUBT_SIZE = 112 };

typedef struct sn_map_doubts {
    int count;
    double *distance; /* per marker of the map: from its point, after alignment; NaN: not seen */
    char (*reason)[SN_DOUBT_SIZE]; /* per marker; "" when there is no doubt */
    int doubtful;
} sn_map_doubts;

sinew_status sn_map_doubts_create(int count, sn_map_doubts *doubts, sinew_error *error);
void sn_map_doubts_free(sn_map_doubts *doubts);
void sn_map_doubt(sn_map_doubts *doubts, int marker, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct sn_map_facts {
    const sinew_anatomy *anatomy; /* may be NULL */
    const sn_marker_name *names;  /* per marker of the map; NULL: not known */
    bool given;                   /* the map was not derived from the names */
} sn_map_facts;

/* markers[3 * count]: the take's neutral sample in any position and scale, NaN where not seen;
 * points[3 * count]: on the face. Adds to the doubts; returns SINEW_BAD_INPUT when the map is wrong
 * as a whole: mirrored, another shape, or elsewhere on the face. */
sinew_status sn_map_check(const sn_map_facts *facts, int count, char *const *names,
                          const double *markers, const double *points, sn_map_doubts *doubts,
                          sinew_error *error);

#endif
