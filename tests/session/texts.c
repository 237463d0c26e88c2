/* Text forms: what each becomes, and what each refuses. */
#include "support.h"

#include "groups.h"
#include "sinew/rig.h"
#include "sinew/scene.h"
#include "sinew/text.h"

typedef sinew_status form(const char *text, char **json, sinew_error *error);

static void becomes(form *parse, const char *text, const char *expected) {
    sinew_error error = {0};
    char *json = NULL;
    assert_ok(parse(text, &json, &error));
    assert_string_equal(json, expected);
    sinew_free(json);
}

static void refused(form *parse, const char *text, const char *words) {
    sinew_error error = {0};
    char *json = (char *)"untouched";
    if (parse(text, &json, &error) != SINEW_BAD_INPUT || json) fail_msg("'%s' is accepted", text);
    if (!strstr(error.message, words)) fail_msg("no '%s' in: %s", words, error.message);
}

static void weights_become_a_map(void **state) {
    (void)state;
    becomes(sinew_text_weights, "", "{}");
    becomes(sinew_text_weights, "smile=0.5,jaw=1", "{\"smile\":0.5,\"jaw\":1.0}");
    becomes(sinew_text_weights, " smile = -2e-1 ", "{\"smile\":-0.20000000000000001}");
    refused(sinew_text_weights, "smile", "NAME=VALUE");
    refused(sinew_text_weights, "=1", "NAME=VALUE");
    refused(sinew_text_weights, "smile=1x", "finite number");
    refused(sinew_text_weights, "smile=0,5", "\"5\"");
    refused(sinew_text_weights, "smile=inf", "finite number");
    refused(sinew_text_weights, "smile=1,jaw=1,smile=2", "given twice");
    refused(sinew_text_weights, "\xff=1", "UTF-8");
}

static void obstacles_become_shapes(void **state) {
    (void)state;
    becomes(sinew_text_obstacle, "sphere:1,2,3,4",
            "{\"shape\":\"sphere\",\"center\":[1.0,2.0,3.0],\"radius\":4.0}");
    becomes(sinew_text_obstacle, "plane:0,0,0,0,1,0",
            "{\"shape\":\"plane\",\"point\":[0.0,0.0,0.0],\"normal\":[0.0,1.0,0.0]}");
    becomes(sinew_text_obstacle, "capsule:0,0,0,0,1,0,0.5",
            "{\"shape\":\"capsule\",\"from\":[0.0,0.0,0.0],\"to\":[0.0,1.0,0.0],\"radius\":0.5}");
    becomes(sinew_text_obstacle, "cylinder:0,0,0,0,1,0,0.5",
            "{\"shape\":\"cylinder\",\"from\":[0.0,0.0,0.0],\"to\":[0.0,1.0,0.0],\"radius\":0.5}");
    becomes(sinew_text_obstacle, "box:0,0,0,1,1,1",
            "{\"shape\":\"box\",\"center\":[0.0,0.0,0.0],\"half\":[1.0,1.0,1.0]}");
    becomes(sinew_text_obstacle, "part:teeth", "{\"shape\":\"part\",\"name\":\"teeth\"}");
    becomes(sinew_text_obstacle, "hand.obj", "{\"shape\":\"mesh\",\"file\":\"hand.obj\"}");
    becomes(sinew_text_obstacle, "C:hand.obj", "{\"shape\":\"mesh\",\"file\":\"C:hand.obj\"}");
    refused(sinew_text_obstacle, "sphere:1,2,3", "sphere:x,y,z,r");
    refused(sinew_text_obstacle, "sphere:1,2,3,4,5", "sphere:x,y,z,r");
    refused(sinew_text_obstacle, "box:1,2,3,4,5,nan", "box:x,y,z,hx,hy,hz");
}

static void pins_pulls_orientations_and_locks_become_objects(void **state) {
    (void)state;
    becomes(sinew_text_pin, "v:1,5-9", "{\"select\":\"v:1,5-9\"}");
    becomes(sinew_text_pin, "v:1@hand.pc2", "{\"select\":\"v:1\",\"frames\":\"hand.pc2\"}");
    becomes(sinew_text_pull, "12=1,2,-3", "{\"vertex\":12,\"to\":[1.0,2.0,-3.0]}");
    becomes(sinew_text_pull, "12=1,2,3:0.5",
            "{\"vertex\":12,\"to\":[1.0,2.0,3.0],\"stiffness\":0.5}");
    static const char *const bad_pulls[] = {"12",      "-1=1,2,3", "1=1,2",      "1=1,2,3,4",
                                            "1=1,2,x", "1=1,2,3:", "1=1,2,3:-1", "1=1,2,3:1:1"};
    for (size_t i = 0; i < sizeof bad_pulls / sizeof *bad_pulls; i++)
        refused(sinew_text_pull, bad_pulls[i], "VERTEX=x,y,z[:stiffness]");
    becomes(sinew_text_orientation, "v:1-3=0,90,0:2",
            "{\"select\":\"v:1-3\",\"turn\":[0.0,90.0,0.0],\"weight\":2.0}");
    refused(sinew_text_orientation, "v:1-3", "SELECT=x,y,z[:weight]");
    becomes(sinew_text_lock, "lips:region:mouth:xy",
            "{\"name\":\"lips\",\"select\":\"region:mouth\",\"axes\":\"xy\"}");
    becomes(sinew_text_lock, "all:all:z", "{\"name\":\"all\",\"select\":\"all\",\"axes\":\"z\"}");
    /* a region whose name is an axis */
    becomes(sinew_text_lock, "lips:region:x", "{\"name\":\"lips\",\"select\":\"region:x\"}");
    refused(sinew_text_lock, "lips", "NAME:SELECT[:xyz]");
    refused(sinew_text_lock, ":v:1", "NAME:SELECT[:xyz]");
}

static void a_scene_accepts_what_the_forms_become(void **state) {
    (void)state;
    static const struct {
        form *parse;
        const char *text, *pointer;
    } forms[] = {{sinew_text_weights, "bend120=0.5", "/weights"},
                 {sinew_text_obstacle, "sphere:0,1,0,0.3", "/obstacles/-"},
                 {sinew_text_obstacle, "box:0,1,0,1,1,1", "/obstacles/-"},
                 {sinew_text_obstacle, "hand.obj", "/obstacles/-"},
                 {sinew_text_pin, "v:1-3", "/pins/-"},
                 {sinew_text_pull, "5=1,2,3:0.1", "/pulls/-"},
                 {sinew_text_lock, "a:v:1-9:x", "/locks/-"},
                 {sinew_text_orientation, "v:1-9=0,90,0", "/orientations/-"}};
    sinew_error error = {0};
    sinew_scene *scene;
    assert_ok(
        sinew_scene_parse("{\"sinew\": 1, \"model\": \"spring\", \"obstacles\": [], \"pins\": "
                          "[], \"pulls\": [], \"locks\": [], \"orientations\": []}",
                          "test", NULL, &scene, &error));
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *json;
        assert_ok(forms[i].parse(forms[i].text, &json, &error));
        assert_ok(sinew_scene_set(scene, forms[i].pointer, json, NULL, &error));
        sinew_free(json);
    }
    sinew_scene_destroy(scene);
}

static void numbers_frames_and_choices_are_read_to_the_end(void **state) {
    (void)state;
    sinew_error error = {0};
    double *numbers, number;
    int count, first, last;
    assert_ok(sinew_text_numbers("0,0.5, -1e3", &numbers, &count, &error));
    assert_int_equal(count, 3);
    assert_true(numbers[0] == 0 && numbers[1] == 0.5 && numbers[2] == -1000);
    sinew_free(numbers);
    static const char *const bad[] = {"", ",", "1,", "1,,2", "1;2", "a", "0x10", "1,inf"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sinew_text_numbers(bad[i], &numbers, &count, &error), SINEW_BAD_INPUT);
    assert_ok(sinew_text_number(" 2.5 ", &number, &error));
    assert_true(number == 2.5);
    assert_int_equal(sinew_text_number("2,5", &number, &error), SINEW_BAD_INPUT);
    static const struct {
        const char *text;
        int first, last;
    } ranges[] = {{"3", 3, 3}, {"3-7", 3, 7}, {"3-", 3, -1}, {"0-0", 0, 0}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        assert_ok(sinew_text_frames(ranges[i].text, &first, &last, &error));
        assert_int_equal(first, ranges[i].first);
        assert_int_equal(last, ranges[i].last);
    }
    static const char *const bad_ranges[] = {"", "-3", "7-3", "3-7x", "a", "99999999999"};
    for (size_t i = 0; i < sizeof bad_ranges / sizeof *bad_ranges; i++)
        assert_int_equal(sinew_text_frames(bad_ranges[i], &first, &last, &error), SINEW_BAD_INPUT);
    assert_int_equal(sinew_text_choice("free|static|pinned", "static"), 1);
    assert_int_equal(sinew_text_choice("free|static|pinned", "stat"), -1);
    assert_int_equal(sinew_text_choice("free|static|pinned", ""), -1);
}

int test_texts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_become_a_map),
        cmocka_unit_test(obstacles_become_shapes),
        cmocka_unit_test(pins_pulls_orientations_and_locks_become_objects),
        cmocka_unit_test(a_scene_accepts_what_the_forms_become),
        cmocka_unit_test(numbers_frames_and_choices_are_read_to_the_end),
    };
    return cmocka_run_group_tests_name("texts", tests, NULL, NULL);
}
