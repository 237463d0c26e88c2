/* The mesh room: polygons, topology, operators, queries, checks, tetrahedra. */
#include "groups.h"

int main(void) {
    int failed = 0;
    failed += test_accessors();
    failed += test_polygons();
    failed += test_topology();
    failed += test_rotation_strain();
    failed += test_operators();
    failed += test_intersections();
    failed += test_queries();
    failed += test_checks();
    failed += test_tetrahedra();
    failed += test_cages();
    failed += test_links();
    failed += test_pieces();
    failed += test_subdivision();
    failed += test_hostile();
    return failed != 0;
}
