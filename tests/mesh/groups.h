#ifndef TESTS_MESH_GROUPS_H
#define TESTS_MESH_GROUPS_H
int test_accessors(void);
int test_cages(void);
int test_checks(void);
int test_hostile(void);
int test_intersections(void);
int test_links(void);
int test_operators(void);
int test_pieces(void);
int test_polygons(void);
int test_queries(void);
int test_subdivision(void);
int test_tetrahedra(void);
int test_topology(void);
int test_rotation_strain(void);
#endif
