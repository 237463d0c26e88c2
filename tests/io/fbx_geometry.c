/* FBX: meshes and their nodes, subdivision, and files with faults. */
#include "fbx_text.h"
#include "groups.h"

#include "sinew/contents.h"

/* A pivot at (1,0,0), a quarter turn about z, scale 2 in x, in the order that FBX defines. */
static void nodes_place_their_meshes(void **state) {
    (void)state;
    sinew_mesh *mesh =
        fbx_mesh_of(FILE_7400(TRIANGLE "Model: 20, \"Model::m\", \"Mesh\" { Properties70: {\n"
                                       "P: \"Lcl Translation\",\"\",\"\",\"\",10,20,30\n"
                                       "P: \"RotationPivot\",\"\",\"\",\"\",1,0,0\n"
                                       "P: \"Lcl Rotation\",\"\",\"\",\"\",0,0,90\n"
                                       "P: \"Lcl Scaling\",\"\",\"\",\"\",2,1,1\n"
                                       "P: \"GeometricTranslation\",\"\",\"\",\"\",0,0,5\n} }\n",
                              "C: \"OO\",20,0\nC: \"OO\",10,20\n"));
    /* x: scale, to the pivot, turn, back, move */
    assert_point(mesh->positions, 0, 10 + 1, 20 - 1, 35);
    assert_point(mesh->positions, 1, 10 + 1, 20 + 1, 35);
    assert_point(mesh->positions, 2, 10 + 1 - 1, 20 - 1, 35);
    sinew_mesh_destroy(mesh);
}

static void euler_angles_turn_in_their_order(void **state) {
    (void)state;
    /* x first: (0,1,0) -> (0,0,1) -> about y (1,0,0); y first: (0,1,0) stays -> (0,0,1) */
    const struct {
        const char *order;
        double x, z;
    } cases[] = {{"0", 1, 0}, {"3", 0, 1}};
    for (int i = 0; i < 2; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 FILE_7400(TRIANGLE "Model: 20, \"Model::m\", \"Mesh\" { Properties70: {\n"
                                    "P: \"RotationOrder\",\"\",\"\",\"\",%s\n"
                                    "P: \"Lcl Rotation\",\"\",\"\",\"\",90,90,0\n} }\n",
                           "C: \"OO\",20,0\nC: \"OO\",10,20\n"),
                 cases[i].order);
        sinew_mesh *mesh = fbx_mesh_of(text);
        assert_point(mesh->positions, 2, cases[i].x, 0, cases[i].z);
        sinew_mesh_destroy(mesh);
    }
}

static void children_inherit_scale_as_they_say(void **state) {
    (void)state;
    /* Parent: scale 3 in x. Child: a quarter turn about z. (1,0,0) turns into y.
     * RSrs scales after the turn: (0,1,0). RrSs scales before: (0,3,0). Rrs: not at all. */
    const double expected[] = {3, 1, 1};
    for (int type = 0; type < 3; type++) {
        char text[1400];
        snprintf(text, sizeof text,
                 FILE_7400(TRIANGLE "Model: 20, \"Model::m\", \"Mesh\" { Properties70: {\n"
                                    "P: \"InheritType\",\"\",\"\",\"\",%d\n"
                                    "P: \"Lcl Rotation\",\"\",\"\",\"\",0,0,90\n} }\n"
                                    "Model: 21, \"Model::p\", \"Null\" { Properties70: {\n"
                                    "P: \"Lcl Scaling\",\"\",\"\",\"\",3,1,1\n} }\n",
                           "C: \"OO\",20,21\nC: \"OO\",21,0\nC: \"OO\",10,20\n"),
                 type);
        sinew_mesh *mesh = fbx_mesh_of(text);
        assert_point(mesh->positions, 1, 0, expected[type], 0);
        sinew_mesh_destroy(mesh);
    }
}

/* Only the scale of the parent itself is left out or moved behind the rotation: what scales the
 * parent acts on its children as it does on the parent. */
static void what_scales_the_parent_acts_on_its_children(void **state) {
    (void)state;
    /* Grandparent: scale 2 in x. Parent: an eighth turn about z, scale 3 in x. Child: another
     * eighth turn, scale 5 in x, and (1,0,0) away. Vertex 1 of the child's mesh at (1,0,0):
     *   0  S2 R45 (3 e_x + R45 15 e_x)   1  S2 R45 S3 (e_x + R45 5 e_x)   2  as 0 with 5, not 15 */
    const double h = sqrt(0.5);
    const double x[] = {2 * 3 * h, 2 * h * (3 * (1 + 5 * h) - 5 * h), 2 * 3 * h};
    const double y[] = {3 * h + 15, h * (3 * (1 + 5 * h) + 5 * h), 3 * h + 5};
    for (int type = 0; type < 3; type++) {
        char text[1400];
        snprintf(text, sizeof text,
                 FILE_7400(TRIANGLE "Model: 20, \"Model::m\", \"Mesh\" { Properties70: {\n"
                                    "P: \"InheritType\",\"\",\"\",\"\",%d\n"
                                    "P: \"Lcl Translation\",\"\",\"\",\"\",1,0,0\n"
                                    "P: \"Lcl Rotation\",\"\",\"\",\"\",0,0,45\n"
                                    "P: \"Lcl Scaling\",\"\",\"\",\"\",5,1,1\n} }\n"
                                    "Model: 21, \"Model::p\", \"Null\" { Properties70: {\n"
                                    "P: \"Lcl Rotation\",\"\",\"\",\"\",0,0,45\n"
                                    "P: \"Lcl Scaling\",\"\",\"\",\"\",3,1,1\n} }\n"
                                    "Model: 22, \"Model::g\", \"Null\" { Properties70: {\n"
                                    "P: \"Lcl Scaling\",\"\",\"\",\"\",2,1,1\n} }\n",
                           "C: \"OO\",20,21\nC: \"OO\",21,22\nC: \"OO\",22,0\nC: \"OO\",10,20\n"),
                 type);
        sinew_mesh *mesh = fbx_mesh_of(text);
        assert_point(mesh->positions, 1, x[type], y[type], 0);
        sinew_mesh_destroy(mesh);
    }
}

static void rotation_spaces_act_where_they_are_active(void **state) {
    (void)state;
    /* (1,0,0) turns by PreRotation into y, or not; an order (y first) that must be ignored too. */
    const struct {
        const char *active, *limits;
        double turned;
    } cases[] = {{"1", "0", 1}, {"0", "0", 0}, {"1", "1", 0}};
    for (int i = 0; i < 3; i++) {
        char text[1400];
        snprintf(text, sizeof text,
                 FILE_7400(TRIANGLE "Model: 20, \"Model::m\", \"Mesh\" { Properties70: {\n"
                                    "P: \"RotationActive\",\"\",\"\",\"\",%s\n"
                                    "P: \"RotationSpaceForLimitOnly\",\"\",\"\",\"\",%s\n"
                                    "P: \"PreRotation\",\"\",\"\",\"\",0,0,90\n} }\n",
                           "C: \"OO\",20,0\nC: \"OO\",10,20\n"),
                 cases[i].active, cases[i].limits);
        sinew_mesh *mesh = fbx_mesh_of(text);
        assert_point(mesh->positions, 1, 1 - cases[i].turned, cases[i].turned, 0);
        sinew_mesh_destroy(mesh);
    }
}

/* Two nodes show one geometry, the second mirrored below a parent that is mirrored too. */
static void instances_and_negative_scales_are_placed(void **state) {
    (void)state;
    sinew_mesh *mesh =
        fbx_mesh_of(FILE_7400(TRIANGLE MESH_NODE(20, "a", PROPERTY("Lcl Translation", "0,0,1"))
                                  MESH_NODE(21, "b", PROPERTY("Lcl Scaling", "1,-2,1"))
                                      MESH_NODE(22, "p", PROPERTY("Lcl Scaling", "-1,1,1")),
                              "C: \"OO\",20,0\nC: \"OO\",21,22\nC: \"OO\",22,0\nC: \"OO\",10,20\n"
                              "C: \"OO\",10,21\n"));
    assert_int_equal(mesh->vertex_count, 6);
    assert_int_equal(mesh->part_count, 2);
    assert_string_equal(mesh->part_names[1], "b");
    assert_point(mesh->positions, 1, 1, 0, 1);
    assert_point(mesh->positions, 4, -1, 0, 0);
    assert_point(mesh->positions, 5, 0, -2, 0);
    sinew_mesh_destroy(mesh);
}

/* A node with two geometries, one of them empty; faces of one and two corners; a polygon. */
static void meshes_of_all_sizes_are_read(void **state) {
    (void)state;
    sinew_mesh *mesh = fbx_mesh_of(FILE_7400(
        "Geometry: 10, \"Geometry::\", \"Mesh\" { Vertices: *0 { a: } PolygonVertexIndex: *0 "
        "{ a: } }\n"
        "Geometry: 11, \"Geometry::\", \"Mesh\" {\n"
        " Vertices: *15 { a: 0,0,0, 1,0,0, 1,1,0,\n ; a comment inside\n 0,1,0, -1,.5e0,+0 }\n"
        " PolygonVertexIndex: *10 { a: 0,-2,-3,0,1,2,3,-5,4,-1 }\n}\n" MODEL,
        "C: \"OO\",20,0\nC: \"OO\",10,20\nC: \"OO\",11,20\n"));
    assert_int_equal(mesh->vertex_count, 5);
    assert_int_equal(mesh->face_count, 1);
    assert_int_equal(mesh->face_start[1], 5);
    assert_null(mesh->normals);
    assert_point(mesh->positions, 4, -1, 0.5, 0);
    sinew_mesh_destroy(mesh);
    mesh = fbx_mesh_of(FILE_7400("Geometry: 10, \"Geometry::\", \"Mesh\" { Vertices: *6 { a: "
                                 "1,2,3,4,5,6 } }\n" MODEL,
                                 "C: \"OO\",20,0\nC: \"OO\",10,20\n")); /* loose points */
    assert_int_equal(mesh->vertex_count, 2);
    assert_int_equal(mesh->face_count, 0);
    assert_point(mesh->positions, 1, 4, 5, 6);
    sinew_mesh_destroy(mesh);
}

/* Exporters leave commas before the first number and behind the last. */
static void commas_too_many_are_ignored(void **state) {
    (void)state;
    sinew_mesh *mesh = fbx_mesh_of(FILE_7400("Geometry: 10, \"Geometry::\", \"Mesh\" {\n"
                                             " Vertices: *9 { a: ,0,0,0, 1,0,0, 0,1,-2, }\n"
                                             " PolygonVertexIndex: *3 { a: ,\n0,1,-3 }\n}\n"
                                             "Model: 20, \"Model::m\", \"Mesh\" { }\n",
                                             "C: \"OO\",10,20\nC: \"OO\",20,0\n"));
    assert_int_equal(mesh->vertex_count, 3);
    assert_int_equal(mesh->face_count, 1);
    assert_point(mesh->positions, 2, 0, 1, -2);
    sinew_mesh_destroy(mesh);
}

/* *0 { } without the list that others write is empty too, and not the number 0. */
static void announced_arrays_may_be_empty(void **state) {
    (void)state;
    sinew_mesh *mesh = fbx_mesh_of(
        FILE_7400(TRIANGLE "Geometry: 11, \"Geometry::\", \"Mesh\" {\n Vertices: *0 {\n }\n"
                           " PolygonVertexIndex: *0 {\n }\n}\n"
                           "Model: 21, \"Model::none\", \"Mesh\" { }\n" MODEL,
                  "C: \"OO\",10,20\nC: \"OO\",20,0\nC: \"OO\",11,21\nC: \"OO\",21,0\n"));
    assert_int_equal(mesh->vertex_count, 3);
    assert_int_equal(mesh->face_count, 1);
    sinew_mesh_destroy(mesh);
}

static void the_last_of_equal_properties_counts(void **state) {
    (void)state;
    sinew_mesh *mesh = fbx_mesh_of(FILE_7400(
        TRIANGLE MESH_NODE(20, "m",
                           PROPERTY("Lcl Translation", "1,2,3") PROPERTY("Lcl Scaling", "2,2,2")
                               PROPERTY("Lcl Translation", "4,5,6")),
        "C: \"OO\",10,20\nC: \"OO\",20,0\n"));
    assert_point(mesh->positions, 1, 4 + 2, 5, 6);
    sinew_mesh_destroy(mesh);
}

/* Without FBXVersion, objects with numbers are those of 7.x. */
static void files_that_do_not_say_their_version_are_read(void **state) {
    (void)state;
    sinew_mesh *mesh = fbx_mesh_of("FBXHeaderExtension: { }\nObjects: {\n" TRIANGLE MESH_NODE(
        20, "m", PROPERTY("Lcl Translation", "0,0,7")) "}\nConnections: {\n"
                                                       "C: \"OO\",20,0\nC: \"OO\",10,20\n}\n");
    assert_point(mesh->positions, 0, 0, 0, 7);
    sinew_mesh_destroy(mesh);
    mesh = fbx_mesh_of("FBXHeaderExtension: { }\nObjects: { Model: \"Model::m\", \"Mesh\" {\n"
                       "Properties60: { Property: \"Lcl Translation\", \"\", \"A\",0,0,7 }\n"
                       "Vertices: 0,0,0,1,0,0,0,1,0\nPolygonVertexIndex: 0,1,-3\n} }\n"
                       "Connections: { Connect: \"OO\", \"Model::m\", \"Model::Scene\" }\n");
    assert_point(mesh->positions, 0, 0, 0, 7);
    sinew_mesh_destroy(mesh);
}

static sinew_mesh *shown_of(const char *text) {
    sinew_error error;
    sinew_mesh *mesh = NULL;
    sn_source source = bytes_source(text, strlen(text), "test.fbx");
    assert_ok(sn_fbx_read_shown(&source, &mesh, &error));
    bytes_source_free(&source);
    return mesh;
}

/* A cube from -1 to 1 with creases of these values on the edges 0-1, 1-3, 3-2, 2-0 of its front. */
#define SMOOTH_CUBE(mode, levels, creases) CREASED_CUBE(mode, levels, "0,1,2,3", creases)
#define CREASED_CUBE(mode, levels, edges, creases)                                                 \
    FILE_7400("Geometry: 10, \"Geometry::\", \"Mesh\" {\n"                                         \
              " Smoothness: " mode "\n PreviewDivisionLevels: " levels "\n BoundaryRule: 1\n"      \
              " Vertices: *24 { a: -1,-1,1, 1,-1,1, -1,1,1, 1,1,1, -1,1,-1, 1,1,-1, -1,-1,-1, "    \
              "1,-1,-1 }\n"                                                                        \
              " PolygonVertexIndex: *24 { a: 0,1,3,-3, 2,3,5,-5, 4,5,7,-7, 6,7,1,-1, 1,7,5,-4, "   \
              "6,0,2,-5 }\n Edges: *4 { a: " edges " }\n"                                          \
              " LayerElementEdgeCrease: 0 { MappingInformationType: \"ByEdge\"\n"                  \
              "  ReferenceInformationType: \"Direct\"\n EdgeCrease: *4 { a: " creases " } } }\n"   \
              "Model: 20, \"Model::m\", \"Mesh\" { }\n",                                           \
              "C: \"OO\",10,20\nC: \"OO\",20,0\n")

/* Points by hand: the face keeps its center; a smooth edge of the cube has its middle at 3/4, a
 * vertex at 5/9; a crease keeps the middle of the edge, and a vertex on it 3/4 of itself and 1/8 of
 * each neighbor; a crease of half a level lies half-way. */
static void shown_meshes_are_subdivided_with_their_creases(void **state) {
    (void)state;
    sinew_mesh *mesh = shown_of(SMOOTH_CUBE("3", "1", "0,0,0,0"));
    assert_int_equal(mesh->vertex_count, 8 + 12 + 6);
    assert_int_equal(mesh->face_count, 24);
    assert_point(mesh->positions, 3, 5 / 9.0, 5 / 9.0, 5 / 9.0);
    assert_point(mesh->positions, 8, 0, -0.75, 0.75); /* edge 0-1, the first */
    assert_point(mesh->positions, 20, 0, 0, 1);
    sinew_mesh_destroy(mesh);
    mesh = shown_of(SMOOTH_CUBE("2", "1", "1,1,1,1"));
    assert_point(mesh->positions, 3, 0.75, 0.75, 1);
    assert_point(mesh->positions, 8, 0, -1, 1);
    assert_point(mesh->positions, 7, 5 / 9.0, -5 / 9.0, -5 / 9.0);
    sinew_mesh_destroy(mesh);
    mesh = shown_of(SMOOTH_CUBE("3", "1", "0.05,0.05,0.05,0.05"));
    assert_point(mesh->positions, 8, 0, -0.875, 0.875);
    assert_point(mesh->positions, 3, (0.75 + 5 / 9.0) / 2, (0.75 + 5 / 9.0) / 2, (1 + 5 / 9.0) / 2);
    sinew_mesh_destroy(mesh);
    /* edges that do not exist: the 24 corners have the numbers 0 to 23 */
    mesh = shown_of(CREASED_CUBE("3", "1", "-1,24,25,2147483647", "1,1,1,1"));
    assert_int_equal(mesh->vertex_count, 8 + 12 + 6);
    for (int v = 0; v < 8; v++)
        for (int c = 0; c < 3; c++) assert_close(fabs(mesh->positions[3 * v + c]), 5 / 9.0, 1e-12);
    sinew_mesh_destroy(mesh);
    mesh = shown_of(CREASED_CUBE("3", "1", "-1,23,24,25", "0,1,1,1")); /* one that does: 4-6 */
    assert_point(mesh->positions, 3, 5 / 9.0, 5 / 9.0, 5 / 9.0);
    int sharp = 0;
    for (int v = 8; v < 20; v++)
        sharp += fabs(fabs(mesh->positions[3 * v]) + fabs(mesh->positions[3 * v + 1]) +
                      fabs(mesh->positions[3 * v + 2]) - 2) < 1e-12;
    assert_int_equal(sharp, 1);
    sinew_mesh_destroy(mesh);
    mesh = shown_of(SMOOTH_CUBE("3", "2", "0,0,0,0"));
    assert_int_equal(mesh->vertex_count, 26 + 48 + 24);
    sinew_mesh_destroy(mesh);
    mesh = shown_of(SMOOTH_CUBE("1", "2", "0,0,0,0")); /* shown as its hull */
    assert_int_equal(mesh->vertex_count, 8);
    sinew_mesh_destroy(mesh);
    mesh = fbx_mesh_of(SMOOTH_CUBE("3", "2", "0,0,0,0")); /* the cage */
    assert_int_equal(mesh->vertex_count, 8);
    sinew_mesh_destroy(mesh);
    sinew_error error = {0};
    const char *huge = SMOOTH_CUBE("3", "2000000000", "0,0,0,0");
    sn_source source = bytes_source(huge, strlen(huge), "test.fbx");
    assert_int_equal(sn_fbx_read_shown(&source, &mesh, &error), SINEW_BAD_INPUT);
    assert_non_null(strstr(error.message, "test.fbx: 16 levels of subdivision"));
    bytes_source_free(&source);
}

/* Corners of an open sheet are sharp, or, with the rule 2, rounded: 3/4 of a corner and 1/8 of each
 * neighbor. */
static void boundaries_are_subdivided_by_their_rule(void **state) {
    (void)state;
#define SHEET(rule)                                                                                \
    FILE_7400("Geometry: 10, \"Geometry::\", \"Mesh\" {\n Smoothness: 3\n"                         \
              " PreviewDivisionLevels: 1\n BoundaryRule: " rule "\n"                               \
              " Vertices: *12 { a: 0,0,0, 8,0,0, 8,8,0, 0,8,0 }\n"                                 \
              " PolygonVertexIndex: *4 { a: 0,1,2,-4 }\n"                                          \
              " LayerElementUV: 0 { MappingInformationType: \"ByPolygonVertex\"\n"                 \
              "  ReferenceInformationType: \"Direct\"\n UV: *8 { a: 0,0, 1,0, 1,1, 0,1 } } }\n"    \
              "Model: 20, \"Model::m\", \"Mesh\" { }\n",                                           \
              "C: \"OO\",10,20\nC: \"OO\",20,0\n")
    sinew_mesh *mesh = shown_of(SHEET("1"));
    assert_point(mesh->positions, 0, 0, 0, 0);
    assert_point(mesh->positions, 8, 4, 4, 0);
    assert_int_equal(mesh->face_count, 4);
    const double *uv = mesh->uvs + 2 * (size_t)mesh->corner_uv[2]; /* the middle of the face */
    assert_close(uv[0], 0.5, 1e-15);
    assert_close(uv[1], 0.5, 1e-15);
    sinew_mesh_destroy(mesh);
    mesh = shown_of(SHEET("2"));
    assert_point(mesh->positions, 0, 1, 1, 0);
    sinew_mesh_destroy(mesh);
    mesh = shown_of(SHEET("0")); /* not subdivided by the program that wrote it */
    assert_int_equal(mesh->vertex_count, 4);
    sinew_mesh_destroy(mesh);
}

static void bad_files_are_refused_by_element(void **state) {
    (void)state;
    fbx_refuse("hello", "name of a node");
    fbx_refuse("", "not an FBX file");
    fbx_refuse("Objects: {", "ends in the middle");
    fbx_refuse(FILE_7400("", ""), "holds no mesh");
    fbx_refuse(FILE_7400("Geometry: 10, \"Geometry::\", \"Line\" {\n"
                         " Points: *6 { a: 0,0,0,1,0,0 }\n PointsIndex: *2 { a: 0,-2 }\n}\n" MODEL,
                         "C: \"OO\",10,20\n"),
               "holds no mesh, only geometry of type Line");
    fbx_refuse(FILE_7400("Geometry: 10, \"Geometry::\", \"NurbsSurface\" {\n"
                         " NurbsSurfaceOrder: 4,4\n}\n" MODEL,
                         "C: \"OO\",10,20\n"),
               "holds no mesh, only geometry of type NurbsSurface");
    fbx_refuse(
        FILE_7400("Geometry: 10, \"Geometry::\", \"Mesh\" {\n"
                  " Vertices: *3 { a: 0,0,0 }\n PolygonVertexIndex: *3 { a: 0,1,-3 }\n}\n" MODEL,
                  "C: \"OO\",10,20\n"),
        "corner 1 refers to vertex 1, but there are 1");
    fbx_refuse(
        FILE_7400("Geometry: 10, \"Geometry::\", \"Mesh\" {\n"
                  " Vertices: *3 { a: 0,nan,0 }\n PolygonVertexIndex: *1 { a: -1 }\n}\n" MODEL,
                  "C: \"OO\",10,20\n"),
        "Vertices: element 1 is not a finite number");
    fbx_refuse(FILE_7400(TRIANGLE
                         "Geometry: 11, \"Geometry::s\", \"Shape\" {\n"
                         " Indexes: *1 { a: 7 }\n Vertices: *3 { a: 1,0,0 }\n}\n" MODEL BLEND
                             CHANNEL(31, "c", 0, "*1 { a: 100 }"),
                         WIRES "C: \"OO\",31,30\nC: \"OO\",11,31\n"),
               "moves vertex 7");
    fbx_refuse(FILE_7400(TRIANGLE MODEL "Model: 21, \"Model::p\", \"Null\" { }\n",
                         "C: \"OO\",20,21\nC: \"OO\",21,20\nC: \"OO\",10,20\n"),
               "its own parent");
}

/* What does not matter for the shape must not keep a file from being read. */
static void small_faults_are_forgiven(void **state) {
    (void)state;
    /* The last face ends with the list; one normal is not a number. */
    sinew_mesh *mesh =
        fbx_mesh_of(FILE_7400("Geometry: 10, \"Geometry::\", \"Mesh\" {\n"
                              " Vertices: *12 { a: 0,0,0, 1,0,0, 0,1,0, 1,1,0 }\n"
                              " PolygonVertexIndex: *6 { a: 0,1,-3, 1,3,2 }\n"
                              " LayerElementNormal: 0 { MappingInformationType: \"ByVertice\"\n"
                              "  ReferenceInformationType: \"Direct\"\n"
                              "  Normals: *12 { a: 0,0,1, nan,0,1, 0,0,1, 0,0,1 } } }\n" MODEL,
                              "C: \"OO\",10,20\n"));
    assert_int_equal(mesh->face_count, 2);
    assert_int_equal(mesh->face_vertices[5], 2);
    assert_int_equal(mesh->corner_normal[1], -1);
    assert_int_equal(mesh->corner_normal[0], 0);
    for (int i = 0; i < 3 * mesh->normal_count; i++) assert_true(isfinite(mesh->normals[i]));
    sinew_mesh_destroy(mesh);
    /* A shape without indices moves nothing. */
    sinew_error error;
    sinew_rig *rig;
    const char *text = FILE_7400(
        TRIANGLE "Geometry: 11, \"Geometry::s\", \"Shape\" {\n"
                 " Vertices: *3 { a: 1,0,0 }\n}\n" MODEL BLEND CHANNEL(31, "c", 0, "*1 { a: 100 }"),
        WIRES "C: \"OO\",31,30\nC: \"OO\",11,31\n");
    sn_source source = bytes_source(text, strlen(text), "test.fbx");
    assert_ok(sn_fbx_read_rig(&source, &rig, &error));
    assert_int_equal(rig->target_count, 1);
    assert_int_equal(rig->targets[0].count, 0);
    sinew_rig_destroy(rig);
    bytes_source_free(&source);
}

static void broken_files_are_refused_or_read_without_what_is_broken(void **state) {
    (void)state;
    fbx_refuse(FILE_7400(TRIANGLE MODEL, "C: \"OO\",20,21\nC: \"OO\",10,22\n"), "no mesh");
    fbx_refuse(FILE_7400("Geometry: 10, \"Geometry::\", \"Mesh\" { Vertices: *3 { a: nan,0,0 }\n"
                         "PolygonVertexIndex: *1 { a: -1 } }\n" MODEL,
                         "C: \"OO\",20,0\nC: \"OO\",10,20\n"),
               "Vertices");
    fbx_refuse(FILE_7400(TRIANGLE MODEL, "C: \"OO\",20,20\nC: \"OO\",10,20\n"), "its own parent");
    /* connections to what is not there, a channel without a shape, a layer that does not fit */
    sinew_rig *rig = fbx_rig_of(FILE_7400(
        "Geometry: 10, \"Geometry::\", \"Mesh\" {\n Vertices: *9 { a: 0,0,0, 1,0,0, 0,1,0 }\n"
        " PolygonVertexIndex: *3 { a: 0,1,-3 }\n"
        " LayerElementNormal: 0 { MappingInformationType: \"ByVertice\"\n"
        "  ReferenceInformationType: \"Direct\"\n Normals: *3 { a: 0,0,1 } }\n"
        " LayerElementUV: 0 { MappingInformationType: \"Nonsense\"\n UV: *2 { a: 0,0 }\n"
        "  UVIndex: *3 { a: 7,-5,0 } }\n}\n" BLEND MODEL CHANNEL(40, "none", 0, "*1 { a: 100 }"),
        WIRES "C: \"OO\",40,30\nC: \"OO\",99,30\nC: \"OO\",40,98\nC: \"XX\"\n"));
    assert_int_equal(rig->target_count, 0);
    assert_int_equal(rig->neutral->vertex_count, 3);
    sinew_rig_destroy(rig);
}

/* Point caches deform nothing here, and curves are not read: the contents say so. */
static void contents_list_caches_and_curves(void **state) {
    (void)state;
    sinew_error error;
    sinew_contents *contents;
    const char *text =
        FILE_7400(TRIANGLE MODEL "Deformer: 80, \"Deformer::wave\", \"VertexCacheDeformer\" { }\n"
                                 "Geometry: 81, \"Geometry::path\", \"NurbsCurve\" { }\n",
                  "C: \"OO\",20,0\nC: \"OO\",10,20\nC: \"OO\",80,10\n");
    sinew_source source;
    sinew_source_init(&source);
    source.name = "test.fbx", source.bytes = text, source.byte_count = strlen(text);
    assert_ok(sinew_contents_read_from(&source, NULL, &contents, &error));
    const char *const expected[][3] = {{"cache", "wave", ""}, {"geometry", "path", "NurbsCurve"}};
    assert_int_equal(sinew_contents_count(contents), 2);
    for (int i = 0; i < 2; i++) {
        sinew_contents_item item = {.size = sizeof item};
        assert_ok(sinew_contents_get(contents, i, &item));
        assert_string_equal(sinew_contents_kind_name(item.kind), expected[i][0]);
        assert_string_equal(item.name, expected[i][1]);
        assert_string_equal(item.detail, expected[i][2]);
        assert_false(item.used);
    }
    sinew_contents_destroy(contents);
}

int test_fbx_geometry(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_place_their_meshes),
        cmocka_unit_test(euler_angles_turn_in_their_order),
        cmocka_unit_test(children_inherit_scale_as_they_say),
        cmocka_unit_test(what_scales_the_parent_acts_on_its_children),
        cmocka_unit_test(rotation_spaces_act_where_they_are_active),
        cmocka_unit_test(instances_and_negative_scales_are_placed),
        cmocka_unit_test(meshes_of_all_sizes_are_read),
        cmocka_unit_test(commas_too_many_are_ignored),
        cmocka_unit_test(announced_arrays_may_be_empty),
        cmocka_unit_test(the_last_of_equal_properties_counts),
        cmocka_unit_test(files_that_do_not_say_their_version_are_read),
        cmocka_unit_test(shown_meshes_are_subdivided_with_their_creases),
        cmocka_unit_test(boundaries_are_subdivided_by_their_rule),
        cmocka_unit_test(bad_files_are_refused_by_element),
        cmocka_unit_test(small_faults_are_forgiven),
        cmocka_unit_test(broken_files_are_refused_or_read_without_what_is_broken),
        cmocka_unit_test(contents_list_caches_and_curves),
    };
    return cmocka_run_group_tests_name("fbx geometry", tests, NULL, NULL);
}
