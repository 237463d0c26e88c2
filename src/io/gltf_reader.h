/* What the reader of glTF gathers, shared by its files: vertices, triangles and targets as the file
 * has them, before coinciding vertices are joined. */
#ifndef SN_IO_GLTF_READER_H
#define SN_IO_GLTF_READER_H

#include "io/gltf_keep.h"
#include "io/gltf_pose.h"
#include "io/names.h"

/* Displacements of one target, by file vertex. */
typedef struct sn_gltf_target_list {
    int *vertices;
    double *deltas;
    size_t count, vertex_capacity, delta_capacity;
} sn_gltf_target_list;

typedef struct sn_gltf_reader {
    sn_gltf gltf;
    sn_gltf_instance *instances;
    int instance_count;

    /* file vertices */
    int file_count;
    double *positions, *normals, *uvs; /* NaN where a vertex has none */
    size_t position_capacity, normal_capacity, uv_capacity;
    uint64_t *hashes; /* of the position and every displacement */
    size_t hash_capacity;
    bool any_normal, any_uv;
    int *vertex_of; /* mesh vertex of each file vertex */
    size_t vertex_of_capacity;
    int vertex_count;

    /* triangles of file vertices */
    int *corners, *face_part;
    size_t corner_count, corner_capacity, part_capacity;
    sn_names parts;
    bool named_parts;

    size_t vertex_limit; /* many nodes may show one mesh, but not without end */

    sn_names targets;
    sn_gltf_target_list *lists;
    size_t list_capacity;

    sn_gltf_block *blocks;
    size_t block_count, block_capacity;
    size_t first_block; /* of the instance at hand */

    const sn_gltf_pose *pose; /* NULL: the neutral */

    int expression_count;
    sn_gltf_expression *expressions;

    /* What our own writer left; NULL in other files. */
    const json_t *sinew;
    const json_t *own_attributes;
    int *face_start; /* polygons of file vertices replace the triangles */
    int face_count;
} sn_gltf_reader;

/* Reads an attribute into rows of `components` numbers; `present` tells whether there is one. */
sinew_status sn_gltf_read_attribute(sn_gltf_reader *reader, const json_t *attributes,
                                    const char *name, int components, int count, double *rows,
                                    bool *present);
/* The list of a target, which is added where it is new. */
sinew_status sn_gltf_find_list(sn_gltf_reader *reader, const char *name,
                               sn_gltf_target_list **list);

/* Sliders of avatars, after the targets of the meshes (gltf_vrm.c). */
sinew_status sn_gltf_add_expressions(sn_gltf_reader *reader);

/* What our own writer left (gltf_restore.c): finds it, and restores vertices, polygons, texture
 * coordinates and the rig where it still fits the file; false: it does not. */
void sn_gltf_find_own(sn_gltf_reader *reader);
bool sn_gltf_restore_vertices(sn_gltf_reader *reader);
bool sn_gltf_restore_polygons(sn_gltf_reader *reader);
void sn_gltf_restore_uvs(sn_gltf_reader *reader);
bool sn_gltf_restore_rig(const sn_gltf_reader *reader, sinew_rig *rig);

#endif
