#include "support.h"

#include <jansson.h>

#include "command.h"
#include "groups.h"

/* What sinew transfer promises. */

static void a_carried_rig_has_its_regions(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample face --vertices 1000 --out face && "
                   "sinew sample face2 --vertices 2000 --out other");
    /* the markers of both faces are the pairs */
    expect_code(0, "awk -F, 'NR == FNR {v[$1] = $2; next} $1 in v {print v[$1] \",\" $2}' "
                   "face/markers_map.csv other/markers_map.csv > pairs.csv && "
                   "test $(wc -l < pairs.csv) -ge 60");
    expect_code(0, "sinew transfer face --to other/neutral.obj --pairs pairs.csv --out carried "
                   "--report r.json");
    expect_code(0, "sinew force carried --curves face/clip.csv --frames 0-1 --contact lips "
                   "--out a.pc2");
    json_t *report = read_json("r.json");
    assert_int_equal(json_array_size(json_object_get(report, "inputs")), 3);
    json_decref(report);
}

static void pairs_with_anything_else_are_refused_by_line(void **state) {
    (void)state;
    fresh_folder();
    expect_code(0, "sinew sample bar --out bar && sinew sample arm --out arm");
    const struct {
        const char *text, *words;
    } bad[] = {{"source,target\n1,2\n3,4 junk\n", "pairs.csv:3"},
               {"1,2\n5,6,7\n", "pairs.csv:2"},
               {"1,2x\n", "pairs.csv:1"},
               {"1,2\n# four times\n1,2\n", "pairs.csv:3|1|twice"},
               {"1,2\n3,99999999\n", "pairs.csv:2|99999999"},
               {"1,2\n3\n", "pairs.csv:2"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text("pairs.csv", bad[i].text);
        expect_refusal(3, bad[i].words,
                       "sinew transfer bar --to arm/neutral.obj --pairs pairs.csv --out carried");
        assert_int_equal(files_with("carried"), 0);
    }
}

int test_transfer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_carried_rig_has_its_regions),
        cmocka_unit_test(pairs_with_anything_else_are_refused_by_line),
    };
    return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
