/* What an FBX tree describes: objects, their connections and properties, nodes and where they
 * stand, blend-shape channels. The three generations of the format give the same tables:
 *
 *   5.x   models at the top level, children named by their parent, transforms in channels
 *   6.x   models that hold their mesh and shapes, connections by name
 *   7.x   models, geometries and deformers apart, connections by number */
#ifndef SN_IO_FBX_SCENE_H
#define SN_IO_FBX_SCENE_H

#include "base/mat3.h"
#include "io/fbx_tree.h"

typedef struct sn_fbx_affine {
    sn_mat3 linear;
    sn_vec3 translation;
} sn_fbx_affine;

typedef struct sn_fbx_object {
    int node;         /* in the tree */
    const char *name; /* without its class; not ended by a zero byte */
    int name_size;
    const char *key; /* 5.x and 6.x: the whole name, by which connections refer to it */
    size_t key_size;
    uint64_t id;     /* 7.x: its number, before: a hash of its key */
    bool holds_root; /* the root of the scene, which is no object, is connected to it */
} sn_fbx_object;

typedef struct sn_fbx_connection {
    int child, parent;            /* objects; parent -1: the root of the scene */
    const sn_fbx_value *property; /* that the child drives; NULL: the object itself */
} sn_fbx_connection;

/* A node of the scene. */
typedef struct sn_fbx_model {
    int object;
    int parent;             /* model, or -1 */
    sn_fbx_affine world;    /* of its children */
    sn_fbx_affine offset;   /* geometric: of its mesh alone */
    sn_fbx_affine geometry; /* of its mesh: world and offset */
    bool placed;
    bool still;             /* geometry is exactly the identity: applying it would only cost bits */
    sn_fbx_affine unscaled; /* world without the model's scale */
    sn_vec3 scale, inherited; /* in world, and the part of it that comes from the parent */
    int mesh;                 /* tree node with Vertices and PolygonVertexIndex, or -1 */
    int mesh_object;
} sn_fbx_model;

/* One shape of a channel; several are in-betweens. */
typedef struct sn_fbx_shape {
    int node;           /* with Indexes and Vertices */
    double full_weight; /* per cent at which it is fully on */
    const char *name;
    int name_size;
} sn_fbx_shape;

typedef struct sn_fbx_channel {
    int mesh; /* tree node that it deforms */
    const char *name;
    int name_size;
    int first_shape, shape_count; /* in order of their weights */
    double percent;               /* as stored, 0 to 100 */
    int object;                   /* that its weight is a property of */
    const char *property;         /* name of that property */
    int property_size;
} sn_fbx_channel;

struct sn_fbx_clip; /* fbx_animation.h */

typedef struct sn_fbx_scene {
    sn_fbx_tree tree;
    int object_count;
    sn_fbx_object *objects;     /* in file order */
    struct sn_fbx_index *index; /* objects by id */
    int connection_count;
    sn_fbx_connection *connections; /* in file order */
    int *connections_to;            /* connections sorted by parent … */
    int *first_to;                  /* … object k's are first_to[k] to first_to[k + 1] - 1 */
    int *drives;                    /* per object: its first connection to a property, or -1 */
    int model_count;
    sn_fbx_model *models; /* in file order */
    int channel_count;
    sn_fbx_channel *channels;
    int shape_count;
    sn_fbx_shape *shapes;
    int name_count;
    char **names; /* decoded copies of names that are not ASCII */
    size_t object_capacity, connection_capacity, channel_capacity, shape_capacity, name_capacity;
    const struct sn_fbx_clip *clip; /* that moves properties; NULL: they are as stored */
    double time;                    /* seconds on it */
} sn_fbx_scene;

/* On failure, too, the scene must be closed. */
sinew_status sn_fbx_open(sn_fbx_scene *scene, const sn_source *source, sinew_error *error);
void sn_fbx_close(sn_fbx_scene *scene);

/* Places all nodes as they are at a time of the clip, which the scene keeps; NULL: as stored. */
sinew_status sn_fbx_place(sn_fbx_scene *scene, const struct sn_fbx_clip *clip, double time);

/* The object that a value of a connection refers to, or -1. */
int sn_fbx_find_object(const sn_fbx_scene *scene, const sn_fbx_value *value);

/* Whether the object's node has this name, and this subclass ("Mesh", NULL: any). */
bool sn_fbx_is(const sn_fbx_scene *scene, int object, const char *name, const char *subclass);
/* The type of an object that is geometry but no mesh ("NurbsCurve"), or NULL. */
const char *sn_fbx_other_geometry(const sn_fbx_scene *scene, int object);
/* The value of a property of the object, or of the file's template for its class, at `index` (0: x,
 * the number itself); `fallback` where there is none. */
double sn_fbx_property(const sn_fbx_scene *scene, int object, const char *property, int index,
                       double fallback);

/* Frames per second of the file's time line; 30 if it does not specify one. */
double sn_fbx_rate(const sn_fbx_scene *scene);

/* Bad input that names the file and the model with the mesh. */
sinew_status sn_fbx_fail_mesh(const sn_fbx_scene *scene, const sn_fbx_model *model,
                              const char *what);

sn_fbx_affine sn_fbx_compose(sn_fbx_affine a, sn_fbx_affine b);
static inline sn_vec3 sn_fbx_apply(const sn_fbx_affine *a, sn_vec3 p) {
    return sn_add(sn_mat3_apply(a->linear, p), a->translation);
}

#endif
