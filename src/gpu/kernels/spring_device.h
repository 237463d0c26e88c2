/* A spring network on the device, and the work of one frame.
 *
 * Vertices: free ones first, in an order in which near vertices have near numbers, then the held
 * ones. Every free vertex has a row with all its springs, so that a block adds the forces of its
 * own vertices without writing to others: each spring is evaluated from both ends. */
#ifndef SN_GPU_KERNELS_SPRING_DEVICE_H
#define SN_GPU_KERNELS_SPRING_DEVICE_H

#include "gpu/kernels/rotation.h"

#include <string.h>
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

/* Eight numbers in half precision. */
typedef struct __attribute__((aligned(16))) sn_half8 {
    uint16_t bits[8];
} sn_half8;

/* Four, of a row entry of one frame of a batch. */
typedef struct __attribute__((aligned(8))) sn_half4 {
    uint16_t bits[4];
} sn_half4;

#ifndef __CUDACC__
/* The nearest half; |value| < 65504. */
SN_FN uint16_t sn_half_of(double value) {
    int exponent;
    double size = fabs(value), fraction = frexp(size, &exponent); /* 0.5 <= fraction < 1 */
    uint16_t sign = value < 0 ? 0x8000 : 0;
    if (!(size > 0)) return 0;
    if (exponent < -13) return (uint16_t)(sign + (uint16_t)lrint(ldexp(size, 24)));
    /* a fraction that is rounded up to 1 carries into the exponent */
    return (uint16_t)(sign + ((exponent + 13) << 10) + (int)lrint(ldexp(fraction, 11)));
}
SN_FN float sn_half_value(uint16_t h) {
    /* the exponent's offset is 112 less; this holds for subnormal numbers, too */
    uint32_t bits = (uint32_t)(h & 0x7fff) << 13;
    float size;
    memcpy(&size, &bits, sizeof size);
    return (h & 0x8000 ? -0x1p112f : 0x1p112f) * size;
}
#endif
SN_FN void sn_half8_values(sn_half8 h, float *v) {
    for (int k = 0; k < 4; k++) {
#ifdef __CUDACC__
        float2 p = __half22float2(((const __half2 *)&h)[k]);
        v[2 * k] = p.x, v[2 * k + 1] = p.y;
#else
        v[2 * k] = sn_half_value(h.bits[2 * k]), v[2 * k + 1] = sn_half_value(h.bits[2 * k + 1]);
#endif
    }
}
SN_FN float sn_half8_dot(sn_half8 h, sn_float4 a, sn_float4 b) {
#ifdef __CUDACC__
    const __half2 *pair = (const __half2 *)&h;
    float2 p = __half22float2(pair[0]), q = __half22float2(pair[1]);
    float2 r = __half22float2(pair[2]), s = __half22float2(pair[3]);
    return (p.x * a.x + p.y * a.y + q.x * a.z + q.y * a.w) +
           (r.x * b.x + r.y * b.y + s.x * b.z + s.y * b.w);
#else
    float first = sn_half_value(h.bits[0]) * a.x + sn_half_value(h.bits[1]) * a.y +
                  sn_half_value(h.bits[2]) * a.z + sn_half_value(h.bits[3]) * a.w;
    return first + sn_half_value(h.bits[4]) * b.x + sn_half_value(h.bits[5]) * b.y +
           sn_half_value(h.bits[6]) * b.z + sn_half_value(h.bits[7]) * b.w;
#endif
}

SN_FN sn_half4 sn_half4_of(sn_float4 v) {
    sn_half4 h;
#ifdef __CUDACC__
    ((__half2 *)&h)[0] = __floats2half2_rn(v.x, v.y),
              ((__half2 *)&h)[1] = __floats2half2_rn(v.z, v.w);
#else
    h.bits[0] = sn_half_of((double)v.x), h.bits[1] = sn_half_of((double)v.y);
    h.bits[2] = sn_half_of((double)v.z), h.bits[3] = sn_half_of((double)v.w);
#endif
    return h;
}
SN_FN sn_float4 sn_half4_value(sn_half4 h) {
#ifdef __CUDACC__
    float2 a = __half22float2(((const __half2 *)&h)[0]),
           b = __half22float2(((const __half2 *)&h)[1]);
    sn_float4 v = {a.x, a.y, b.x, b.y};
#else
    sn_float4 v = {sn_half_value(h.bits[0]), sn_half_value(h.bits[1]), sn_half_value(h.bits[2]),
                   sn_half_value(h.bits[3])};
#endif
    return v;
}

/* A vertex of a slot, counted from the block's first. */
typedef struct sn_item {
    int vertex;
    float weight;
} sn_item;

/* base + sum over entries of activation x value. */
typedef struct sn_blended_device {
    int count;
    const double *base;
    const int *start; /* count + 1 */
    const int *target;
    const double *value;
} sn_blended_device;

/* The coarse level of the preconditioner: motions of overlapping clusters of vertices. Where
 * springs have directions they are translations, with the same matrix for x, y and z; otherwise
 * rigid motions in frames that rotate with the clusters. A slot is the part of a cluster that lies
 * in one block. */
typedef struct sn_coarse_device {
    int clusters, rigid;
    int sides;                /* right-hand sides: 3, rigid: 1 */
    int modes, columns;       /* one per cluster, rigid: 6; rounded up to 8 */
    const sn_float4 *weight;  /* per free vertex: its four weights, */
    const uint16_t *slot;     /* and the slots they belong to, counted from the block's first */
    const int *slot_start;    /* blocks + 1 */
    const int *slot_cluster;  /* per slot */
    const int *item_start;    /* slots + 1 */
    const sn_item *item;      /* vertices of a slot */
    const int *cluster_start; /* clusters + 1 */
    const int *cluster_slot;
    const sn_double4 *center; /* in the neutral; w: mass */
    const sn_half8 *inverse;  /* modes x columns: D^-1 E^-1 D^-1, E the coarse matrix at the
                                 neutral, D^2 the diagonal of its inverse */
    const float *scale;       /* columns: D, then zeros */
    int slots, most_slots;    /* of all blocks, of one block */
} sn_coarse_device;

/* A middle level of large networks: more clusters than a dense inverse has room for, so that only
 * the diagonal of their matrix counts. Every block keeps the sums of the clusters that its vertices
 * belong to, and needs of other blocks only what their vertices add: the slots of a cluster are
 * peers. */
typedef struct __attribute__((aligned(16))) sn_middle_slot {
    int first_peer, last_peer; /* slots of the same cluster: peer[first_peer .. last_peer - 1] */
    float inverse;             /* of the diagonal */
    int counts;                /* the first of the cluster's slots: it stands for it in sums */
} sn_middle_slot;
enum { SN_MIDDLES = 2 };
typedef struct sn_middle_device {
    int clusters;            /* 0: there is no such level */
    const sn_float4 *weight; /* as in sn_coarse_device */
    const uint16_t *slot;
    const int *slot_start, *item_start;
    const sn_item *item;
    const sn_middle_slot *about; /* per slot */
    const int *peer;
    int slots, most_slots;
} sn_middle_device;

/* What the rows of a block refer to, where its table does not fit into shared memory: its own
 * vertices by number, then those of other blocks, which are listed. */
typedef struct sn_halo_device {
    const uint16_t *near; /* per row entry */
    const int *start;     /* blocks + 1 */
    const int *vertex;
} sn_halo_device;

/* How much of its part of the problem a block keeps in shared memory. Parts that do not fit stay in
 * device memory. */
typedef struct sn_block_room {
    int most_vertices, most_entries, most_items, most_halo; /* of one block */
    int rows;                                        /* of the coarse inverse, of one block */
    int has_lists, has_rows, has_vectors, has_table; /* clusters' slots; coarse rows; ... */
    int has_tile;   /* directions of its vertices apart from the vectors, */
    int has_halo;   /* and of all others that its rows refer to */
    int has_places; /* positions with the vectors: tets and rigid clusters need them */
} sn_block_room;

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
    float table_scale;         /* brings entries in half precision to at most about 1 */

    const int *corner_start; /* free_count + 1: corners of tets */
    const sn_int4 *corner;   /* the other three vertices, the network's tet */
    const double *corner_weight;

    int triangle_count;      /* with a free vertex and an altitude */
    const int *fan_start;    /* free_count + 1: corners of those triangles */
    const sn_int4 *fan;      /* vertices of the triangle, 4 * triangle + corner */
    const sn_int4 *triangle; /* apex, ends of the base, the network's triangle */
    const double *triangle_foot, *triangle_weight;
    const sn_double4 *triangle_lever; /* altitude in the neutral; w = 1: it points as between the
                                         vertices of the blend */

    const int *held_start; /* count - free_count + 1: linear blend of held vertices */
    const int *held_target;
    const double *held_value;       /* 3 per entry */
    const sn_double4 *held_neutral; /* w = 1: inside, follows the rotation-aware blend */

    const sn_double4 *neutral; /* per free vertex */
    sn_coarse_device coarse;
    sn_middle_device middle[SN_MIDDLES];
    sn_halo_device halo;
    sn_block_room room;

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
    double *row_rest;                 /* per row entry */
    sn_double4 *heading;              /* per row entry: vector in the blend, beta */
    sn_double4 *altitudes;            /* per triangle: the vector it should have */
    double *scale;                    /* per free vertex */
    sn_double4 *blend;                /* per vertex */
    sn_double4 *x[2];                 /* per vertex */
    sn_double4 *gradient[2];          /* per free vertex */

    sn_half4 *rough;   /* per row entry: a (sqrt(k - c) n, a c), a = table_scale; only where the
                          table has no room in shared memory */
    float *curvature;  /* per corner of a tet */
    float *diagonal;   /* 8 per free vertex: inverse blocks */
    sn_float4 *near_x; /* positions in single */
    sn_float4 *p;      /* per vertex; 0 where it is held */
    sn_float4 *r, *q, *step;

    sn_float4 *slot_force;               /* 2 per slot: force, torque */
    sn_float4 *middle_force[SN_MIDDLES]; /* per slot of a middle level */
    double *slot_sum;                    /* 12 per slot */
    sn_float4 *center;                   /* per cluster */
    float *rotation;                     /* 9 per cluster */
    float *coarse;                       /* modes */

    sn_rotation_work blender;
    sn_group_memory group;
} sn_spring_work;

#endif
