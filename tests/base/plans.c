/* Which files a run reads and writes. */
#include "support.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "groups.h"
#include "sinew/files.h"
#include "sinew/memory.h"

static sinew_error error;
static char folder[300];

static const char *in(const char *name) {
    static char paths[4][400];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void touch(const char *name) {
    assert_ok(sn_file_write(in(name), "x", 1, &error));
}

/* The check of a plan with one input and one or two outputs; names in the folder, or paths. */
static sinew_status check(const char *input, const char *output, const char *second) {
    sinew_file_plan *plan;
    assert_ok(sinew_file_plan_create(&plan, &error));
    if (input) assert_ok(sinew_file_plan_add_input(plan, in(input), &error));
    assert_ok(sinew_file_plan_add_output(plan, *output == '/' ? output : in(output), &error));
    if (second) assert_ok(sinew_file_plan_add_output(plan, in(second), &error));
    sinew_status status = sinew_file_plan_check(plan, &error);
    sinew_file_plan_destroy(plan);
    return status;
}

static int prepare(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "%s/plans", test_folder());
    mkdir(folder, 0755);
    mkdir(in("rig"), 0755), mkdir(in("rig/targets"), 0755), mkdir(in("loose"), 0755);
    touch("a.obj"), touch("b.obj"), touch("rig/rig.json"), touch("rig/neutral.obj");
    touch("rig/notes.txt"), touch("rig/targets/smile.target");
    touch("loose/smile.obj"), touch("loose/notes.txt");
    unlink(in("hard.obj")), unlink(in("soft.obj"));
    assert_int_equal(link(in("a.obj"), in("hard.obj")), 0);
    assert_int_equal(symlink("a.obj", in("soft.obj")), 0);
    return 0;
}

static void a_file_has_one_role(void **state) {
    (void)state;
    static const struct {
        const char *input, *output, *second, *words; /* NULL: allowed */
    } cases[] = {
        {"a.obj", "c.obj", NULL, NULL},
        {"a.obj", "a.obj", NULL, "is an input"},
        {"a.obj", "./a.obj", NULL, "is an input"},
        {"a.obj", "rig/../a.obj", NULL, "is an input"},
        {"a.obj", "hard.obj", NULL, "is an input"},
        {"a.obj", "soft.obj", NULL, "is an input"},
        {"a.obj", "b.obj", NULL, NULL},
        {NULL, "c.obj", "c.obj", "two outputs"},
        {NULL, "c.obj", "d.obj", NULL},
        {NULL, "a.obj", "hard.obj", "two outputs"},
        {"rig", "rig/neutral.obj", NULL, "would overwrite the input"},
        {"rig", "rig/targets/smile.target", NULL, "would overwrite the input"},
        {"rig", "rig/notes.txt", NULL, NULL}, /* no file of the rig */
        {"rig", "rig/new.obj", NULL, NULL},
        {"rig/neutral.obj", "rig", NULL, "would overwrite the input"},
        {"rig/notes.txt", "rig", NULL, NULL},
        {"loose", "loose/smile.obj", NULL, "would overwrite the input"},
        {"loose", "loose/notes.txt", NULL, NULL},
        {"loose", "loose/frown.obj", NULL, NULL},
        {"a.obj", "/dev/null", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sinew_status status = check(cases[i].input, cases[i].output, cases[i].second);
        if (status != (cases[i].words ? SINEW_BAD_INPUT : SINEW_OK))
            fail_msg("%s to %s: %s", cases[i].input ? cases[i].input : "-", cases[i].output,
                     status ? error.message : "allowed");
        if (cases[i].words && !strstr(error.message, cases[i].words)) fail_msg("%s", error.message);
    }
}

static void outputs_stay_inside_a_folder(void **state) {
    (void)state;
    static const struct {
        const char *path;
        bool inside;
    } cases[] = {{"rig/x.pc2", true},
                 {"rig/../x.pc2", false},
                 {"x.pc2", false},
                 {"rigged/x", false},
                 {"rig/targets/x", true},
                 {"rig/none/x", true}, /* in a folder that does not exist */
                 {"rig/none/deeper/x", true},
                 {"rig/none/../x", true},
                 {"rig/none/../../x", false},
                 {"rig/none/../up/x", false}, /* a link to the folder above */
                 {"rig/dangling", false},     /* links to a file outside that does not exist */
                 {"rig/astray/x", false},     /* and to a folder */
                 {"rig/loop/x", true}};       /* leads nowhere, and cannot be written */
    unlink(in("rig/up")), unlink(in("rig/dangling")), unlink(in("rig/astray"));
    unlink(in("rig/loop"));
    assert_int_equal(symlink("..", in("rig/up")), 0);
    assert_int_equal(symlink("../none", in("rig/dangling")), 0);
    assert_int_equal(symlink("targets/../../none", in("rig/astray")), 0);
    assert_int_equal(symlink("loop", in("rig/loop")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sinew_file_plan *plan;
        assert_ok(sinew_file_plan_create(&plan, &error));
        assert_ok(sinew_file_plan_add_input(plan, in("a.obj"), &error)); /* may be anywhere */
        assert_ok(sinew_file_plan_add_output(plan, in(cases[i].path), &error));
        sinew_status status = sinew_file_plan_check_inside(plan, in("rig"), &error);
        assert_int_equal(status, cases[i].inside ? SINEW_OK : SINEW_BAD_INPUT);
        assert_int_equal(sinew_file_plan_count(plan), 2);
        assert_false(sinew_file_plan_is_output(plan, 0));
        assert_true(sinew_file_plan_is_output(plan, 1));
        assert_string_equal(sinew_file_plan_path(plan, 1), in(cases[i].path));
        assert_null(strstr(sinew_file_plan_real_path(plan, 1), ".."));
        assert_null(sinew_file_plan_path(plan, 2));
        assert_null(sinew_file_plan_real_path(plan, -1));
        assert_ok(sinew_file_plan_check_inside(plan, "/", &error));
        sinew_file_plan_destroy(plan);
    }
}

/* A folder appears when it is complete; a slash at its end changes nothing. */
static void folders_are_made_with_and_without_a_slash(void **state) {
    (void)state;
    static const char *const names[] = {"made", "slashed/", "twice//"};
    for (int i = 0; i < 3; i++) {
        sinew_folder *made;
        char path[400], inner[600], moved[600];
        snprintf(path, sizeof path, "%s", in(names[i]));
        assert_ok(sinew_folder_begin(path, &made, &error));
        assert_false(sn_is_folder(path));
        assert_int_equal(strncmp(sinew_folder_path(made), folder, strlen(folder)), 0);
        assert_null(strstr(sinew_folder_path(made) + strlen(folder), "//"));
        snprintf(inner, sizeof inner, "%s/file", sinew_folder_path(made));
        assert_ok(sn_file_write(inner, "x", 1, &error));
        assert_ok(sinew_folder_finish(made, &error));
        snprintf(moved, sizeof moved, "%s/file", path);
        assert_true(sn_file_exists(moved));
        assert_int_equal(sinew_folder_begin(path, &made, &error), SINEW_IO); /* it exists */
        assert_null(made);
        unlink(moved), rmdir(path);
        assert_ok(sinew_folder_begin(path, &made, &error));
        snprintf(inner, sizeof inner, "%s", sinew_folder_path(made));
        sinew_folder_abandon(made);
        assert_false(sn_is_folder(inner) || sn_is_folder(path));
    }
}

static char *searched(const char *name) {
    char *path;
    return sn_find_program(name, &path) ? path : NULL;
}

/* A path made from what memory was left for would be another file's. */
static void a_path_is_right_or_not_there(void **state) {
    (void)state;
    touch("deep");
    char *(*const makers[])(const char *) = {sinew_file_real_path, searched, sinew_file_real_path,
                                             sinew_file_real_path};
    const char *names[] = {in("deep"), "sh", in("none/../deep/./none"), "none"};
    for (int i = 0; i < 4; i++) {
        char *whole = makers[i](names[i]);
        assert_non_null(whole);
        int refused = 0;
        for (long gap = 0, left = -1; left < 0; gap++) {
            test_memory_gap(gap);
            char *path = makers[i](names[i]);
            if (path) assert_string_equal(path, whole);
            refused += !path;
            sinew_free(path);
            test_memory_use use = test_memory_restore();
            assert_int_equal(use.living, 0);
            left = use.left;
        }
        assert_true(refused >= 1);
        sinew_free(whole);
    }
    char *path;
    assert_true(sn_find_program("sinew-no-such-program", &path));
    assert_null(path);
    test_memory_limit(0);
    bool found = sn_find_program("sinew-no-such-program", &path);
    test_memory_restore();
    assert_false(found);
}

int test_plans(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_one_role),
        cmocka_unit_test(outputs_stay_inside_a_folder),
        cmocka_unit_test(folders_are_made_with_and_without_a_slash),
        cmocka_unit_test(a_path_is_right_or_not_there),
    };
    return cmocka_run_group_tests_name("plans", tests, prepare, NULL);
}
