/* Parsers of the small vertex files, from memory. */
#ifndef SN_IO_VERTEX_TABLES_H
#define SN_IO_VERTEX_TABLES_H

#include "io/format.h"

sinew_status sn_vertex_values_parse(const sn_source *source, int vertex_count, double *values,
                                    sinew_error *error);
sinew_status sn_vertex_pairs_parse(const sn_source *source, const int vertex_counts[2],
                                   int *vertices[2], int *count, sinew_error *error);
sinew_status sn_marker_map_parse(const sn_source *source, const sinew_mesh *mesh,
                                 sinew_marker_map **map, sinew_error *error);

#endif
