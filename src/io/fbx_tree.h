/* The tree of an FBX file, binary or ASCII.
 *
 * A node has a name, values and children. Binary and ASCII files of every version give the same
 * tree; what differs between versions (ids or names in connections, packed or plain arrays) is left
 * to fbx_scene.c. Numbers of a node are asked for with sn_fbx_numbers, whatever their form:
 *
 *   binary 7.x   one packed array, perhaps deflated
 *   ASCII 7.x    Vertices: *24 { a: 1,2,3 … }
 *   6.x          a value per number
 *
 * Every node and value costs bytes of the file, and a deflated array may not claim more than
 * deflate can give, so memory is bounded by the size of the file. */
#ifndef SN_IO_FBX_TREE_H
#define SN_IO_FBX_TREE_H

#include <stdint.h>

#include "io/format.h"

typedef enum sn_fbx_type {
    SN_FBX_INTEGER,
    SN_FBX_NUMBER,
    SN_FBX_TEXT,
    SN_FBX_ARRAY /* packed numbers, decoded on request */
} sn_fbx_type;

typedef struct sn_fbx_value {
    sn_fbx_type type;
    char element;   /* arrays: f, d, i, l, b or c as in the file; * for the number in *24 { … } */
    bool deflated;  /* arrays */
    uint32_t count; /* arrays: elements */
    int64_t integer;   /* also the rounded value of a number */
    double number;     /* also the value of an integer */
    const char *bytes; /* text or array; not ended by a zero byte */
    size_t size;       /* of bytes */
} sn_fbx_value;

/* Indices into the arrays of the tree; -1: none. */
typedef struct sn_fbx_node {
    const char *name;
    int name_size;
    int first_child, next;
    int first_value, value_count;
} sn_fbx_node;

typedef struct sn_fbx_tree {
    const sn_source *source;
    sinew_error *error;
    int version; /* 7400 */
    bool ascii;
    bool big_endian;
    int node_count;
    sn_fbx_node *nodes; /* nodes[0] is the root: no name, its children are the top level */
    size_t node_capacity;
    int value_count;
    sn_fbx_value *values;
    size_t value_capacity;
    sn_buffer texts; /* unescaped strings of ASCII files */
} sn_fbx_tree;

bool sn_fbx_recognise(const sn_source *source);
/* On failure, too, the tree must be closed. The source must outlive it. */
sinew_status sn_fbx_tree_open(sn_fbx_tree *tree, const sn_source *source, sinew_error *error);
void sn_fbx_tree_close(sn_fbx_tree *tree);

/* The first child of that name, or -1; node may be -1. */
int sn_fbx_child(const sn_fbx_tree *tree, int node, const char *name);
/* The next sibling of the same name, or -1. */
int sn_fbx_next_same(const sn_fbx_tree *tree, int node);
bool sn_fbx_named(const sn_fbx_tree *tree, int node, const char *name);

/* NULL when the node (or -1) has no value of that index. */
const sn_fbx_value *sn_fbx_value_at(const sn_fbx_tree *tree, int node, int index);
bool sn_fbx_text_is(const sn_fbx_value *value, const char *text);

/* All numbers of a node as doubles or integers in a new array (release with sn_free); *count 0 and
 * NULL where the node (or -1) has none. Bad input: a value that is not a number, or not finite. */
sinew_status sn_fbx_numbers(const sn_fbx_tree *tree, int node, double **numbers, int *count);
/* The same, with numbers that are not finite. */
sinew_status sn_fbx_any_numbers(const sn_fbx_tree *tree, int node, double **numbers, int *count);
sinew_status sn_fbx_integers(const sn_fbx_tree *tree, int node, int64_t **integers, int *count);

/* Packed numbers as they are in the file, little-endian and perhaps not aligned. */
typedef struct sn_fbx_array {
    const char *bytes; /* NULL: the node has its numbers in another form */
    int count;
    char *own; /* what was inflated; release with sn_free */
} sn_fbx_array;

/* The node's only array if its elements are of this type ('d', 'i'); otherwise bytes is NULL and
 * the functions above have to be asked. Release `own` on failure, too. */
sinew_status sn_fbx_packed(const sn_fbx_tree *tree, int node, char element, sn_fbx_array *array);

/* Bad input that names the file. */
sinew_status sn_fbx_fail(const sn_fbx_tree *tree, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
