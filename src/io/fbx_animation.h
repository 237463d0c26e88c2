/* Animation of an FBX file: curves that drive properties of objects. */
#ifndef SN_IO_FBX_ANIMATION_H
#define SN_IO_FBX_ANIMATION_H

#include "io/fbx_scene.h"

typedef enum sn_fbx_interpolation {
    SN_FBX_CONSTANT,      /* holds the value of the key */
    SN_FBX_CONSTANT_NEXT, /* jumps to the value of the next key at once */
    SN_FBX_LINEAR,
    SN_FBX_CUBIC
} sn_fbx_interpolation;

typedef struct sn_fbx_key {
    double time; /* seconds */
    double value;
    sn_fbx_interpolation interpolation; /* up to the next key */
    double slope, next_slope;           /* cubic: per second, at this and at the next key */
    double weight, next_weight;         /* cubic: fraction of the interval, 1/3 without weights */
} sn_fbx_key;

/* What a curve does outside its keys, and how often it repeats them; below 0: for ever. */
typedef struct sn_fbx_beyond {
    char type; /* C constant, K keeps its slope, R repeats, M mirrors, A repeats from its end */
    int64_t repetitions;
} sn_fbx_beyond;

/* How the layer of a curve acts on those below it. */
typedef enum sn_fbx_blend {
    SN_FBX_OVERRIDE, /* also the lowest layer, whose weight is 1 */
    SN_FBX_ADD,
    SN_FBX_MULTIPLY
} sn_fbx_blend;

typedef struct sn_fbx_curve {
    int object;
    const char *property; /* "Lcl Translation"; not ended by a zero byte */
    int property_size;
    int component; /* 0 x, 1 y, 2 z, or 0 for a single number */
    int layer;     /* 0 is the lowest */
    sn_fbx_blend blend;
    double weight;            /* of its layer, 0 to 1 */
    double constant;          /* the value without keys */
    int first_key, key_count; /* 0: constant, beside another component that has keys */
    sn_fbx_beyond before, after;
} sn_fbx_curve;

/* An animation stack (7.x) or take (6.x). */
typedef struct sn_fbx_clip {
    const char *name;
    int name_size;
    int curve_count;
    sn_fbx_curve *curves;
    int key_count;
    sn_fbx_key *keys;
    size_t curve_capacity, key_capacity;
} sn_fbx_clip;

/* The clip of that name, NULL: the first that has any key. Without such a clip a NULL name gives an
 * empty clip and any other name is bad input that lists what there is. Release with
 * sn_fbx_clip_free, on failure too. */
sinew_status sn_fbx_clip_read(sn_fbx_scene *scene, const char *name, sn_fbx_clip *clip);
void sn_fbx_clip_free(sn_fbx_clip *clip);

/* First and last key in seconds; 0 and 0 without keys. */
void sn_fbx_clip_range(const sn_fbx_clip *clip, double *start, double *end);
double sn_fbx_curve_at(const sn_fbx_clip *clip, const sn_fbx_curve *curve, double time);
/* The curve of a property on the lowest layer that has one, or NULL. Those of higher layers follow
 * it (sn_fbx_next_layer). */
const sn_fbx_curve *sn_fbx_clip_find(const sn_fbx_clip *clip, int object, const char *property,
                                     int property_size, int component);
/* The curve of the same property and component on the next layer, or NULL. */
const sn_fbx_curve *sn_fbx_next_layer(const sn_fbx_clip *clip, const sn_fbx_curve *curve);
/* The value of a property from `curve`, which is its lowest, and all layers above it; `stored` is
 * the value without animation. */
double sn_fbx_layers_at(const sn_fbx_clip *clip, const sn_fbx_curve *curve, double stored,
                        double time);

#endif
