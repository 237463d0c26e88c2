/* A spring network on the device, and the work of one frame.
 *
 * Vertices: free ones first, in an order in which near vertices have near numbers, then the held
 * ones. Every free vertex has a row with all its springs, so that a block adds the forces of its
 * own vertices without writing to others: each spring is evaluated from both ends. */
#ifndef SN_GPU_KERNELS_SPRING_DEVICE_H
#define SN_GPU_KERNELS_SPRING_DEVICE_H

#include "gpu/kernels/rotation.h"

/* base + sum over entries of activation x value. */
typedef struct sn_blended_device {
    int count;
    const double *base;
    const int *start; /* count + 1 */
    const int *target;
    const double *value;
} sn_blended_device;

/* The coarse level of the preconditioner: rigid motions of overlapping clusters of vertices. A slot
 * is the part of a cluster that lies in one block. */
typedef struct sn_coarse_device {
    int clusters, modes;     /* 6 per cluster */
    const sn_float4 *weight; /* per free vertex: its four weights, */
    const uint16_t *slot;    /* and the slots they belong to, counted from the block's first */
    const int *slot_start;   /* blocks + 1 */
    const int *slot_cluster; /* per slot */
    const int *item_start;   /* slots + 1 */
    const int *item_vertex;  /* vertices of a slot */
    const float *item_weight;
    const int *cluster_start; /* clusters + 1 */
    const int *cluster_slot;
    const sn_double4 *center; /* in the neutral; w: mass */
    const float *inverse;     /* modes x modes: of the coarse matrix at the neutral */
    int most_slots;           /* of one block */
} sn_coarse_device;

typedef struct sn_spring_device {
    int count, free_count;
    const int *source; /* vertex -> network vertex */
    const int *place;  /* network vertex -> vertex */
    sn_double4 origin; /* subtracted before positions become single */

    sn_blended_device rest, volume, altitude; /* of the network's springs, tets, triangles */
    double rest_floor;
    double guide, pull;

    int entry_count, corner_count; /* of rows and tets, for the room that a frame needs */
    const int *row_start;          /* free_count + 1 */
    const int *row_other, *row_spring;
    const double *row_stiffness;
    const float *row_altitude; /* what the altitudes add to the stiffness between both ends */

    const int *corner_start; /* free_count + 1: corners of tets */
    const sn_int4 *corner;   /* the other three vertices, the network's tet */
    const double *corner_weight;

    int triangle_count;      /* with a free vertex and an altitude */
    const int *fan_start;    /* free_count + 1: corners of those triangles */
    const int *fan;          /* 4 * triangle + corner */
    const sn_int4 *triangle; /* apex, ends of the base, the network's triangle */
    const double *triangle_foot, *triangle_weight;
    const sn_double4 *triangle_lever; /* altitude in the neutral; w = 1: it points as between the
                                         vertices of the blend */

    const int *held_start; /* count - free_count + 1: linear blend of held vertices */
    const int *held_target;
    const double *held_value;       /* 3 per entry */
    const sn_double4 *held_neutral; /* w = 1: inside, follows the rotation-aware blend */

    const sn_double4 *neutral;      /* per free vertex */
    sn_coarse_device coarse;        /* springs without directions; no clusters otherwise */
    sn_dissection_device laplacian; /* of the free vertices; no levels: not used */

    int tet_count, surface_count; /* for the report: all tets and triangles of the network */
    const sn_int4 *tets, *surface;
    const uint8_t *pose_inverts; /* per tet */

    sn_rotation_device rotation;
} sn_spring_device;

/* What a frame asks for beyond its activations, all per vertex and optional. */
typedef struct sn_spring_asked {
    const double *activations;
    const sn_double4 *held; /* per held vertex: where it is put (w = 1), or the linear blend */
    const sn_double4 *load; /* per free vertex: force on it */
    const sn_double4 *pull; /* per free vertex: where to; w: stiffness, infinite: it is there */
    double tolerance;
    int max_iterations;
    int refinements;   /* of the blend */
    const int *stop;   /* becomes nonzero when the frame shall end */
    double *positions; /* 3 per network vertex: the result */
    struct sn_spring_answer *answer;
} sn_spring_asked;

/* What came out. */
typedef struct sn_spring_answer {
    int outcome; /* sn_spring_outcome */
    int iterations, inner_iterations;
    int clamped, inverted, new_inverted, flipped;
    double residual, energy;
} sn_spring_answer;

typedef enum sn_spring_outcome {
    SN_SPRING_CONVERGED,
    SN_SPRING_NOT_CONVERGED,
    SN_SPRING_STOPPED,
    SN_SPRING_NOT_FINITE /* of the start */
} sn_spring_outcome;

typedef struct sn_spring_work {
    double *rest, *volume, *altitude; /* lengths in the network's order */
    sn_double4 *heading;              /* per row entry: vector in the blend, beta */
    sn_double4 *altitudes;            /* per triangle: the vector it should have */
    double *scale;                    /* per free vertex */
    sn_double4 *blend;                /* per vertex */
    sn_double4 *x[2];                 /* per vertex */
    sn_double4 *gradient[2];          /* per free vertex */

    sn_float4 *table;  /* per row entry: sqrt(k - c) n, c */
    float *curvature;  /* per corner of a tet */
    float *diagonal;   /* 8 per free vertex: inverse blocks */
    sn_float4 *near_x; /* positions in single */
    sn_float4 *p;      /* per vertex; 0 where it is held */
    sn_float4 *r, *q, *step;
    sn_float4 *z; /* what the Laplacian answers to r */
    sn_dissection_work sweep;

    float *slot_force; /* 8 per slot */
    double *slot_sum;  /* 12 per slot */
    sn_float4 *center; /* per cluster */
    float *rotation;   /* 9 per cluster */
    float *coarse;     /* modes */

    sn_rotation_work blender;
    sn_group_memory group;
} sn_spring_work;

/* Bytes of shared memory that a block needs for the coarse level. */
SN_FN size_t sn_spring_shared_size(int modes, int slots) {
    return SN_GRID_SHARED + 16 * (((size_t)modes + 3) / 4) + (16 + 48 + 32) * (size_t)slots + 64;
}

#endif
