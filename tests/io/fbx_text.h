/* FBX files written by hand, as text. */
#ifndef TESTS_IO_FBX_TEXT_H
#define TESTS_IO_FBX_TEXT_H

#include "helpers.h"

#include "io/fbx_read.h"

#define TRIANGLE                                                                                   \
    "Geometry: 10, \"Geometry::\", \"Mesh\" {\n"                                                   \
    " Vertices: *9 { a: 0,0,0, 1,0,0, 0,1,0 }\n"                                                   \
    " PolygonVertexIndex: *3 { a: 0,1,-3 }\n}\n"
#define FILE_7400(objects, connections)                                                            \
    "FBXHeaderExtension: { FBXVersion: 7400 }\nObjects: {\n" objects                               \
    "}\nConnections: {\n" connections "}\n"

#define SHAPE(id, name, x)                                                                         \
    "Geometry: " #id ", \"Geometry::" name "\", \"Shape\" {\n"                                     \
    " Indexes: *1 { a: 1 }\n Vertices: *3 { a: " #x ",0,0 }\n}\n"
#define CHANNEL(id, name, percent, weights)                                                        \
    "Deformer: " #id ", \"SubDeformer::" name "\", \"BlendShapeChannel\" {\n"                      \
    " DeformPercent: " #percent "\n FullWeights: " weights "\n}\n"
#define BLEND "Deformer: 30, \"Deformer::\", \"BlendShape\" { }\n"
#define MODEL "Model: 20, \"Model::m\", \"Mesh\" { }\n"
#define WIRES "C: \"OO\",20,0\nC: \"OO\",10,20\nC: \"OO\",30,10\n"

#define MESH_NODE(id, name, properties)                                                            \
    "Model: " #id ", \"Model::" name "\", \"Mesh\" { Properties70: {\n" properties "} }\n"
#define PROPERTY(name, values) "P: \"" name "\",\"\",\"\",\"\"," values "\n"

/* What is read from the text; fails the test if it is refused. */
sinew_mesh *fbx_mesh_of(const char *text);
sinew_rig *fbx_rig_of(const char *text);
/* Reading a rig from the text must fail with a message that holds `part`. */
void fbx_refuse(const char *text, const char *part);

static inline void assert_point(const double *positions, int vertex, double x, double y, double z) {
    assert_close(positions[3 * vertex], x, 1e-12);
    assert_close(positions[3 * vertex + 1], y, 1e-12);
    assert_close(positions[3 * vertex + 2], z, 1e-12);
}

#endif
