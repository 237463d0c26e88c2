/* What the rotation-aware blend keeps in the cache: entries that cannot be right are not used. */
#include "support.h"

#include "base/memory.h"
#include "groups.h"
#include "rig/rotation_store.h"
#include "rig/rotation_structure.h"

enum { VERTICES = 5, ITEMS = 4, LINKS = 2, PARTS = 3, TARGETS = 2, LOOSE = 1 };

typedef enum damage {
    NONE,
    NEGATIVE_REFINEMENTS,
    LINE_OF_TWO_TARGETS,
    NEGATIVE_COUNT,
    TOO_MANY_ELEMENTS,
    NEGATIVE_ELEMENT,
    REPEATED_ELEMENT,
    FALLING_ELEMENTS,
    ELEMENT_TOO_LARGE,
    NOT_FINITE,
    CUT_OFF,
    LEFT_OVER,
    DAMAGES
} damage;

static void pack_target(sn_pack *pack, damage d) {
    int elements[ITEMS + 1] = {0, 2, 3}, count = d == TOO_MANY_ELEMENTS ? ITEMS + 1 : 3;
    double coordinates[SN_RS_SIZE * (ITEMS + 1)] = {1, 2, 3}, parts[PARTS] = {4, 5, 6};
    if (d == TOO_MANY_ELEMENTS) elements[1] = 1, elements[2] = 2, elements[3] = 3;
    if (d == NEGATIVE_ELEMENT) elements[0] = -1;
    if (d == REPEATED_ELEMENT) elements[2] = 2;
    if (d == FALLING_ELEMENTS) elements[1] = 3, elements[2] = 2;
    if (d == ELEMENT_TOO_LARGE) elements[2] = ITEMS;
    if (d == NOT_FINITE) coordinates[4] = NAN;
    sn_pack_int(pack, d == NEGATIVE_COUNT ? -1 : count);
    sn_pack_int(pack, LOOSE > 0);
    sn_pack_array(pack, elements, (size_t)count, sizeof *elements);
    sn_pack_array(pack, coordinates, SN_RS_SIZE * (size_t)count, sizeof *coordinates);
    sn_pack_array(pack, parts, PARTS, sizeof *parts);
    sn_pack_array(pack, parts, PARTS, sizeof *parts);
    sn_pack_array(pack, parts, 3 * LOOSE, sizeof *parts);
}

/* The damage is to the last target. */
static void targets_that_cannot_be_right_are_not_used(void **state) {
    (void)state;
    sn_rotation_strain structure = {.item_count = ITEMS, .component_count = PARTS / 3};
    for (damage d = NONE; d < DAMAGES; d++) {
        const bool stored_held[VERTICES] = {true, false, false, true, false};
        bool held[VERTICES] = {false};
        sn_blend_target targets[TARGETS] = {{0}};
        sinew_rotation r = {.structure = &structure,
                            .vertex_count = VERTICES,
                            .target_count = TARGETS,
                            .targets = targets,
                            .held = held,
                            .loose_count = LOOSE};
        sn_pack pack = {0};
        sn_pack_int(&pack, d == NEGATIVE_REFINEMENTS ? -1 : 2);
        sn_pack_int(&pack, d == LINE_OF_TWO_TARGETS);
        sn_pack_array(&pack, stored_held, VERTICES, sizeof *stored_held);
        for (int k = 0; k < TARGETS; k++) pack_target(&pack, k + 1 < TARGETS ? NONE : d);
        if (d == LEFT_OVER) sn_pack_int(&pack, 7);
        assert_false(pack.failed);
        sn_rotation_store store = {.found = true};
        store.from = (sn_unpack){.bytes = pack.bytes, .size = pack.size - (d == CUT_OFF)};
        sn_rotation_store_targets(&store, &r);
        if (store.found != (d == NONE)) fail_msg("damage %d: found %d", (int)d, store.found);
        assert_int_equal(r.refinements, d == NONE ? 2 : 0);
        for (int v = 0; v < VERTICES; v++)
            assert_int_equal(held[v], d == NONE ? stored_held[v] : 1);
        for (int k = 0; k < TARGETS; k++) {
            assert_int_equal(targets[k].count, d == NONE ? 3 : 0);
            if (d == NONE) {
                assert_int_equal(targets[k].elements[2], 3);
                assert_close(targets[k].coordinates[2], 3, 0);
                assert_close(targets[k].centers[1], 5, 0);
                assert_close(targets[k].turns[2], 6, 0);
                assert_close(targets[k].loose[2], 6, 0);
            } else {
                assert_null(targets[k].elements);
                assert_null(targets[k].coordinates);
                assert_null(targets[k].loose);
            }
        }
        sn_rotation_targets_free(&r);
        sn_pack_free(&pack);
    }
}

static void links_that_cannot_be_right_are_not_used(void **state) {
    (void)state;
    for (int way = -1; way < 4 * 2 * LINKS;
         way++) { /* a vertex of a link, too small or too large */
        sn_link list[LINKS];
        memset(list, 0, sizeof list);
        for (int l = 0; l < LINKS; l++) {
            list[l].vertex = VERTICES - 1;
            for (int c = 0; c < 3; c++) list[l].corners[c] = c;
        }
        sn_link *bad = &list[way < 0 ? 0 : way / 8];
        int *place = way % 4 == 3 ? &bad->vertex : &bad->corners[way < 0 ? 0 : way % 4];
        if (way >= 0) *place = way % 8 < 4 ? -1 : VERTICES;
        sn_pack pack = {0};
        sn_pack_int(&pack, LINKS);
        sn_pack_array(&pack, list, LINKS, sizeof *list);
        sn_rotation_store store = {.found = true};
        store.from = (sn_unpack){.bytes = pack.bytes, .size = pack.size};
        sn_link *links;
        int count;
        sn_rotation_store_links(&store, VERTICES, &links, &count);
        assert_int_equal(store.found, way < 0);
        assert_int_equal(count, way < 0 ? LINKS : 0);
        if (way < 0)
            assert_memory_equal(links, list, sizeof list);
        else
            assert_null(links);
        sn_free(links);
        sn_pack_free(&pack);
    }
}

static void pivots_that_cannot_be_right_are_not_used(void **state) {
    (void)state;
    const double wrong[] = {0, -1, INFINITY, NAN};
    for (int way = -1; way < 4 * LINKS; way++) {
        double halves[6 * LINKS], stiffness[LINKS] = {2, 3}, half_rest[6 * LINKS] = {0};
        double link_stiffness[LINKS] = {0};
        for (int i = 0; i < 6 * LINKS; i++) halves[i] = 0.5 * i;
        if (way >= 0) stiffness[way / 4] = wrong[way % 4];
        sn_pack pack = {0};
        sn_pack_array(&pack, halves, 6 * LINKS, sizeof *halves);
        sn_pack_array(&pack, stiffness, LINKS, sizeof *stiffness);
        sn_rotation_store store = {.found = true};
        store.from = (sn_unpack){.bytes = pack.bytes, .size = pack.size};
        sn_rotation_strain structure = {
            .link_count = LINKS, .half_rest = half_rest, .link_stiffness = link_stiffness};
        sn_rotation_store_pivots(&store, &structure);
        assert_int_equal(store.found, way < 0);
        for (int l = 0; l < LINKS; l++)
            assert_close(link_stiffness[l], way < 0 ? stiffness[l] : 0, 0);
        for (int i = 0; i < 6 * LINKS; i++) assert_close(half_rest[i], way < 0 ? halves[i] : 0, 0);
        sn_pack_free(&pack);
    }
}

/* So that an error path may close it again. */
static void closed_stores_are_empty(void **state) {
    (void)state;
    const sn_rotation_store empty = {0};
    sn_rotation_store store = {.found = true, .on_line = true};
    store.from.size = 5;
    sn_rotation_store_close(&store);
    assert_null(store.entry);
    assert_int_equal(store.from.size, empty.from.size);
    assert_false(store.found || store.on_line);
    sn_rotation_store_close(&store);
    assert_null(store.entry);
}

int test_rotation_store(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_that_cannot_be_right_are_not_used),
        cmocka_unit_test(links_that_cannot_be_right_are_not_used),
        cmocka_unit_test(pivots_that_cannot_be_right_are_not_used),
        cmocka_unit_test(closed_stores_are_empty),
    };
    return cmocka_run_group_tests_name("rotation store", tests, NULL, NULL);
}
