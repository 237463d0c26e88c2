#include "io/fbx_subdivide.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

enum {
    SHOWN_SMOOTH = 2,      /* Smoothness from here on shows the subdivided mesh */
    CORNERS_SMOOTH = 2,    /* BoundaryRule: corners of the boundary are rounded */
    MOST_LEVELS = 16,      /* for counting; memory ends it before */
    MOST_CORNERS = 1 << 26 /* of the finest mesh */
};
#define LEVELS_OF_CREASE 10 /* a crease of 1 stays sharp for this many levels */

static double number_of(const sn_fbx_tree *tree, int mesh, const char *name) {
    const sn_fbx_value *value = sn_fbx_value_at(tree, sn_fbx_child(tree, mesh, name), 0);
    return value && value->type != SN_FBX_TEXT ? value->number : 0;
}

int sn_fbx_subdivision_levels(const sn_fbx_tree *tree, int mesh) {
    double levels = number_of(tree, mesh, "PreviewDivisionLevels");
    /* Programs that subdivide say how boundaries behave. ZBrush, which does not, writes 0. */
    if (!(number_of(tree, mesh, "Smoothness") >= SHOWN_SMOOTH) || !(levels >= 1)) return 0;
    if (!(number_of(tree, mesh, "BoundaryRule") >= 1)) return 0;
    return levels < MOST_LEVELS ? (int)levels : MOST_LEVELS;
}

/* Full creases never soften. */
static double sharpness_of(double crease) {
    return crease >= 1 ? INFINITY : crease > 0 ? LEVELS_OF_CREASE * crease : 0;
}

/* Values of a layer whose elements are counted directly. */
static sinew_status read_creases(sn_fbx_tree *tree, int mesh, const char *element, const char *name,
                                 double **values, int *count) {
    int layer = sn_fbx_child(tree, mesh, element);
    return sn_fbx_numbers(tree, sn_fbx_child(tree, layer, name), values, count);
}

/* An edge is counted by the corner that it starts from. */
static sinew_status read_edge_creases(sn_fbx_tree *tree, int mesh, const int64_t *index,
                                      int index_count, sn_surface *cage, sinew_error *error) {
    double *values = NULL;
    int64_t *edges = NULL;
    int count = 0, edge_count = 0;
    int *begin = SN_NEW(int, index_count); /* per corner: the first of its face */
    sinew_status status = begin ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = read_creases(tree, mesh, "LayerElementEdgeCrease", "EdgeCrease", &values, &count);
    if (status == SINEW_OK)
        status = sn_fbx_integers(tree, sn_fbx_child(tree, mesh, "Edges"), &edges, &edge_count);
    if (count > edge_count) count = edge_count;
    if (status == SINEW_OK && count > 0) {
        cage->crease_edges = SN_NEW(int, 2 * (size_t)count);
        cage->crease_sharpness = SN_NEW(double, count);
        if (!cage->crease_edges || !cage->crease_sharpness) status = sn_no_memory(error);
    }
    for (int c = 0, first = 0; status == SINEW_OK && c < index_count; c++) {
        begin[c] = first;
        if (index[c] < 0) first = c + 1;
    }
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        double sharpness = sharpness_of(values[i]);
        if (edges[i] < 0 || edges[i] >= index_count || sharpness <= 0) continue;
        int c = (int)edges[i];
        int64_t from = index[c] < 0 ? ~index[c] : index[c];
        int64_t to = index[c] < 0 ? index[begin[c]] : index[c + 1];
        int *edge = cage->crease_edges + 2 * (size_t)cage->crease_count;
        edge[0] = (int)from, edge[1] = (int)(to < 0 ? ~to : to);
        cage->crease_sharpness[cage->crease_count++] = sharpness;
    }
    sn_free(values), sn_free(edges), sn_free(begin);
    return status;
}

static sinew_status read_vertex_creases(sn_fbx_tree *tree, int mesh, sn_surface *cage) {
    double *values = NULL;
    int count = 0;
    SN_TRY(read_creases(tree, mesh, "LayerElementVertexCrease", "VertexCrease", &values, &count));
    for (int v = 0; v < count && v < cage->vertex_count; v++)
        cage->vertex_sharpness[v] = sharpness_of(values[v]);
    sn_free(values);
    return SINEW_OK;
}

sinew_status sn_fbx_subdivide(sn_fbx_tree *tree, int mesh, const int64_t *index, int index_count,
                              sn_surface *cage, sinew_error *error) {
    int levels = sn_fbx_subdivision_levels(tree, mesh);
    SN_TRY(read_edge_creases(tree, mesh, index, index_count, cage, error));
    SN_TRY(read_vertex_creases(tree, mesh, cage));
    bool sharp_corners = number_of(tree, mesh, "BoundaryRule") < CORNERS_SMOOTH;
    for (int level = 0; level < levels; level++) {
        if (cage->face_start[cage->face_count] > MOST_CORNERS / 4)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "%d levels of subdivision give more than %d corners", levels,
                           MOST_CORNERS);
        SN_TRY(sn_subdivide(cage, sharp_corners, error));
    }
    return SINEW_OK;
}
