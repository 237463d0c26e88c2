/* What a rig holds beside its shapes, as JSON: sliders, limits, in-betweens, combinations, groups,
 * mirrors, regions. Written to rig.json of a rig folder and to the extras of a GLB.
 *
 *   {"format": "sinew-rig", "version": 1,
 *    "sliders": [{"name": "jawOpen", "minimum": 0, "maximum": 1, "rest": 0, "group": "jaw",
 *                 "mirror": "..."}, ...],
 *    "targets": [{"name": "jawOpen", "kind": "plain", "slider": "jawOpen", "at": 1},
 *                {"name": "jawOpen50", "kind": "inbetween", "slider": "jawOpen", "at": 0.5},
 *                {"name": "fix", "kind": "combination", "combine": "multiply",
 *                 "drivers": ["jawOpen", "smile"]},
 *                {"name": "fix2", "kind": "combination", "combine": "polynomial",
 *                 "drivers": ["jawOpen", "smile"], "terms": [[0.5, [0, 2], [1, 1]], ...]}, ...],
 *    "regions": {"lips": [1, 2, 3]}}
 *
 * If a limit is absent or null, there is none. */
#ifndef SN_IO_RIG_JSON_H
#define SN_IO_RIG_JSON_H

#include "io/json.h"

/* NULL: no memory. */
json_t *sn_rig_to_json(const sinew_rig *rig);
/* Fills sliders, regions and targets (without displacements: count 0, vertices and deltas NULL) of
 * a rig that has none. `name` is used in messages. */
sinew_status sn_rig_from_json(const json_t *root, const char *name, sinew_rig *rig,
                              sinew_error *error);
/* Terms of a polynomial or hinge: [[coefficient, [driver, power], ...], ...]; NULL: no memory. */
json_t *sn_terms_to_json(const sinew_target *target);
json_t *sn_regions_to_json(const sinew_rig *rig);
sinew_status sn_regions_from_json(const json_t *regions, const char *name, sinew_rig *rig,
                                  sinew_error *error);

#endif
