/* Fields of rigs, curves and markers one by one, for callers that do not know the layout of the
 * structures. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "sinew/marker_map.h"
#include "sinew/rig.h"

const sinew_mesh *sinew_rig_neutral(const sinew_rig *rig) {
    return rig ? rig->neutral : NULL;
}
int sinew_rig_slider_count(const sinew_rig *rig) {
    return rig ? rig->slider_count : 0;
}
const char *sinew_rig_slider_name(const sinew_rig *rig, int slider) {
    return rig && slider >= 0 && slider < rig->slider_count ? rig->sliders[slider].name : NULL;
}
double sinew_rig_slider_minimum(const sinew_rig *rig, int slider) {
    return rig && slider >= 0 && slider < rig->slider_count ? rig->sliders[slider].minimum : NAN;
}
double sinew_rig_slider_maximum(const sinew_rig *rig, int slider) {
    return rig && slider >= 0 && slider < rig->slider_count ? rig->sliders[slider].maximum : NAN;
}
double sinew_rig_slider_rest(const sinew_rig *rig, int slider) {
    return rig && slider >= 0 && slider < rig->slider_count ? rig->sliders[slider].rest : NAN;
}
const char *sinew_rig_slider_group(const sinew_rig *rig, int slider) {
    return rig && slider >= 0 && slider < rig->slider_count ? rig->sliders[slider].group : NULL;
}
int sinew_rig_slider_mirror(const sinew_rig *rig, int slider) {
    return rig && slider >= 0 && slider < rig->slider_count ? rig->sliders[slider].mirror : -1;
}
int sinew_rig_target_count(const sinew_rig *rig) {
    return rig ? rig->target_count : 0;
}
const char *sinew_rig_target_name(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].name : NULL;
}
int sinew_rig_target_kind(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? (int)rig->targets[target].kind : -1;
}
int sinew_rig_target_slider(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].slider : -1;
}
double sinew_rig_target_at(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].at : NAN;
}
int sinew_rig_target_combine(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? (int)rig->targets[target].combine
                                                            : -1;
}
int sinew_rig_target_driver_count(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].driver_count
                                                            : -1;
}
const int *sinew_rig_target_drivers(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].drivers : NULL;
}
int sinew_rig_target_term_count(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].term_count : 0;
}
const sinew_term *sinew_rig_target_terms(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].terms : NULL;
}
int sinew_rig_target_vertex_count(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].count : -1;
}
const int *sinew_rig_target_vertices(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].vertices : NULL;
}
const double *sinew_rig_target_deltas(const sinew_rig *rig, int target) {
    return rig && target >= 0 && target < rig->target_count ? rig->targets[target].deltas : NULL;
}
int sinew_rig_region_count(const sinew_rig *rig) {
    return rig ? rig->region_count : 0;
}
const char *sinew_rig_region_name(const sinew_rig *rig, int region) {
    return rig && region >= 0 && region < rig->region_count ? rig->regions[region].name : NULL;
}
int sinew_rig_region_vertex_count(const sinew_rig *rig, int region) {
    return rig && region >= 0 && region < rig->region_count ? rig->regions[region].count : -1;
}
const int *sinew_rig_region_vertices(const sinew_rig *rig, int region) {
    return rig && region >= 0 && region < rig->region_count ? rig->regions[region].vertices : NULL;
}

int sinew_curves_channel_count(const sinew_curves *curves) {
    return curves ? curves->channel_count : 0;
}
const char *sinew_curves_channel_name(const sinew_curves *curves, int channel) {
    return curves && channel >= 0 && channel < curves->channel_count ? curves->names[channel]
                                                                     : NULL;
}
int sinew_curves_time_count(const sinew_curves *curves) {
    return curves ? curves->time_count : 0;
}
const double *sinew_curves_times(const sinew_curves *curves) {
    return curves ? curves->times : NULL;
}
const double *sinew_curves_values(const sinew_curves *curves) {
    return curves ? curves->values : NULL;
}

int sinew_markers_count(const sinew_markers *markers) {
    return markers ? markers->marker_count : 0;
}
const char *sinew_markers_name(const sinew_markers *markers, int marker) {
    return markers && marker >= 0 && marker < markers->marker_count ? markers->names[marker] : NULL;
}
int sinew_markers_time_count(const sinew_markers *markers) {
    return markers ? markers->time_count : 0;
}
const double *sinew_markers_times(const sinew_markers *markers) {
    return markers ? markers->times : NULL;
}
const double *sinew_markers_positions(const sinew_markers *markers) {
    return markers ? markers->positions : NULL;
}
const char *sinew_markers_unit(const sinew_markers *markers) {
    return markers ? markers->unit : NULL;
}
char sinew_markers_up(const sinew_markers *markers) {
    return markers ? markers->up : 0;
}

int sinew_marker_map_count(const sinew_marker_map *map) {
    return map ? map->count : 0;
}
const char *sinew_marker_map_name(const sinew_marker_map *map, int marker) {
    return map && marker >= 0 && marker < map->count ? map->names[marker] : NULL;
}
const int *sinew_marker_map_vertices(const sinew_marker_map *map) {
    return map ? map->vertices : NULL;
}
const int *sinew_marker_map_triangles(const sinew_marker_map *map) {
    return map ? map->triangles : NULL;
}
const double *sinew_marker_map_barycentric(const sinew_marker_map *map) {
    return map ? map->barycentric : NULL;
}
const double *sinew_marker_map_weights(const sinew_marker_map *map) {
    return map ? map->weights : NULL;
}

void sinew_curves_set_times(sinew_curves *curves, const double *times) {
    if (!curves || !times) return;
    memcpy(curves->times, times, sizeof(double) * (size_t)curves->time_count);
}
void sinew_curves_set_values(sinew_curves *curves, const double *values) {
    if (!curves || !values) return;
    memcpy(curves->values, values,
           sizeof(double) * (size_t)curves->time_count * (size_t)curves->channel_count);
}
void sinew_markers_set_times(sinew_markers *markers, const double *times) {
    if (!markers || !times) return;
    memcpy(markers->times, times, sizeof(double) * (size_t)markers->time_count);
}
void sinew_markers_set_positions(sinew_markers *markers, const double *positions) {
    if (!markers || !positions) return;
    memcpy(markers->positions, positions,
           3 * sizeof(double) * (size_t)markers->time_count * (size_t)markers->marker_count);
}

static sinew_status attach(sinew_marker_map *map, int marker, int vertex, int triangle,
                           const double barycentric[3]) {
    SN_REQUIRE(map && marker >= 0 && marker < map->count && barycentric, NULL);
    map->vertices[marker] = vertex;
    map->triangles[marker] = triangle;
    memcpy(map->barycentric + 3 * (size_t)marker, barycentric, 3 * sizeof(double));
    return SINEW_OK;
}
sinew_status sinew_marker_map_set_vertex(sinew_marker_map *map, int marker, int vertex) {
    return attach(map, marker, vertex, -1, (const double[3]){1, 0, 0});
}
sinew_status sinew_marker_map_set_point(sinew_marker_map *map, int marker, int triangle,
                                        const double barycentric[3]) {
    return attach(map, marker, -1, triangle, barycentric);
}
