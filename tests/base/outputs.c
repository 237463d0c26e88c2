/* What an output may replace, and what is left when its writer dies. */
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/scratch.h"
#include "groups.h"

static const char *at(const char *name) {
    static char paths[4][300];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, 300, "%s/outputs/%s", test_folder(), name);
    return path;
}

static int start(void **state) {
    (void)state;
    sinew_error error;
    return sn_make_folder(at(""), &error) == SINEW_OK ? 0 : -1;
}

static void expect_content(const char *path, const char *content) {
    sinew_error error;
    char *bytes;
    size_t size;
    assert_ok(sn_file_read(path, &bytes, &size, &error));
    assert_string_equal(bytes, content);
    sn_free(bytes);
}

static int hidden_files(void) {
    sinew_error error;
    char **names;
    int count, hidden = 0;
    assert_ok(sn_folder_list(at(""), &names, &count, &error));
    for (int i = 0; i < count; i++) hidden += names[i][0] == '.';
    sn_names_free(names, count);
    return hidden;
}

static void a_link_stays_and_its_target_is_replaced(void **state) {
    (void)state;
    sinew_error error;
    struct stat info;
    assert_ok(sn_file_write(at("real"), "old", 3, &error));
    assert_int_equal(symlink("real", at("link")), 0);
    assert_int_equal(symlink("link", at("second")), 0);
    assert_ok(sn_file_write(at("second"), "new", 3, &error));
    expect_content(at("real"), "new");
    assert_int_equal(lstat(at("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(symlink("not yet there", at("dangling")), 0);
    assert_ok(sn_file_write(at("dangling"), "made", 4, &error));
    expect_content(at("not yet there"), "made");
    assert_int_equal(symlink("circle", at("circle")), 0);
    assert_int_equal(sn_file_write(at("circle"), "x", 1, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "circle"));
}

static void a_pipe_gets_the_content_and_stays(void **state) {
    (void)state;
    sinew_error error;
    struct stat info;
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    assert_ok(sn_output_probe(at("pipe"), &error)); /* does not open it: no reader is needed */
    pid_t child = fork();
    if (child == 0) {
        char text[16] = "";
        int file = open(at("pipe"), O_RDONLY);
        ssize_t got = read(file, text, sizeof text);
        _exit(got == 5 && !memcmp(text, "whole", 5) ? 0 : 1);
    }
    assert_ok(sn_file_write(at("pipe"), "whole", 5, &error));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lstat(at("pipe"), &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
}

static void a_reader_that_has_gone_is_an_error_and_no_signal(void **state) {
    (void)state;
    sinew_error error;
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(sn_file_write(path, "x", 1, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "Broken pipe"));
    close(ends[1]);
}

static void devices_are_written_through(void **state) {
    (void)state;
    sinew_error error;
    struct stat info;
    assert_ok(sn_file_write("/dev/null", "gone", 4, &error));
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(sn_file_write("/dev/full", "x", 1, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "/dev/full: cannot be written: No space left"));
    char *bytes;
    size_t size;
    assert_int_equal(sn_file_read("/dev/zero", &bytes, &size, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "/dev/zero: is a device"));
}

static void folders_and_sockets_are_refused(void **state) {
    (void)state;
    sinew_error error;
    assert_ok(sn_make_folder(at("folder"), &error));
    assert_int_equal(sn_file_write(at("folder"), "x", 1, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "is a folder"));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(at("socket")) < sizeof address.sun_path) {
        strcpy(address.sun_path, at("socket"));
        int file = socket(AF_UNIX, SOCK_STREAM, 0);
        assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(sn_file_write(at("socket"), "x", 1, &error), SINEW_IO);
        assert_non_null(strstr(error.message, "is a socket"));
        close(file);
    }
    assert_int_equal(sn_file_write(at("none/x"), "x", 1, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "none/ does not exist"));
}

static void a_replaced_file_keeps_its_permissions(void **state) {
    (void)state;
    sinew_error error;
    struct stat info;
    assert_ok(sn_file_write(at("private"), "old", 3, &error));
    assert_int_equal(chmod(at("private"), 0640), 0);
    assert_ok(sn_file_write(at("private"), "new", 3, &error));
    assert_int_equal(stat(at("private"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    /* Root too, who could write it. */
    assert_int_equal(chmod(at("private"), 0440), 0);
    assert_int_equal(sn_file_write(at("private"), "x", 1, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "private: cannot be written"));
    expect_content(at("private"), "new");
}

static void die_while_writing(const char *path) {
    pid_t child = fork();
    if (child == 0) {
        sn_output output;
        sinew_error error;
        if (sn_output_open(&output, path, &error) == SINEW_OK) {
            fputs("half of it", output.stream);
            fflush(output.stream);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void a_writer_that_is_killed_leaves_nothing(void **state) {
    (void)state;
    assert_int_equal(hidden_files(), 0);
    die_while_writing(at("unfinished"));
    assert_int_equal(hidden_files(), 0);
    assert_false(sn_file_exists(at("unfinished")));
}

static void named_leftovers_are_used_up_by_the_next_run(void **state) {
    (void)state;
    sinew_error error;
    char path[300];
    snprintf(path, sizeof path, "%s", at("named"));
    sn_output_always_named = true;
    die_while_writing(path);
    assert_int_equal(hidden_files(), 1);
    assert_ok(sn_file_write(path, "b", 1, &error));
    assert_int_equal(hidden_files(), 0);
    expect_content(path, "b");
    /* Two writers of one output at the same time do not meet. */
    sn_output one, two;
    assert_ok(sn_output_open(&one, path, &error));
    assert_ok(sn_output_open(&two, path, &error));
    fputs("one", one.stream);
    fputs("second", two.stream);
    assert_ok(sn_output_commit(&two, &error));
    assert_ok(sn_output_commit(&one, &error));
    expect_content(path, "one");
    assert_int_equal(hidden_files(), 0);
    /* The longest name a file can have leaves room for no ending. */
    char longest[300] = "";
    memset(longest, 'n', 255);
    assert_ok(sn_file_write(at(longest), "x", 1, &error));
    sn_output_always_named = false;
    assert_ok(sn_file_write(at(longest), "y", 1, &error));
}

static void moved_files_follow_the_rules_of_outputs(void **state) {
    (void)state;
    sinew_error error;
    assert_ok(sn_file_write(at("from"), "moved", 5, &error));
    assert_int_equal(mkfifo(at("moved pipe"), 0600), 0);
    assert_int_equal(sn_file_move(at("from"), at("moved pipe"), &error), SINEW_IO);
    assert_non_null(strstr(error.message, "is not a regular file"));
    assert_int_equal(symlink("moved to", at("moved link")), 0);
    assert_ok(sn_file_move(at("from"), at("moved link"), &error));
    expect_content(at("moved to"), "moved");
    assert_int_equal(sn_file_move(at("from"), at("elsewhere"), &error), SINEW_IO);
}

static void scratch_folders_of_dead_runs_are_removed(void **state) {
    (void)state;
    sinew_error error;
    char dead[300];
    pid_t child = fork();
    if (child == 0) {
        sn_scratch scratch;
        if (sn_scratch_open(&scratch, at(""), 0700, "test", NULL, &error) == SINEW_OK) {
            char *inside = sn_path_join(scratch.path, "file");
            sn_file_write(inside, "x", 1, &error);
            struct timespec old[2] = {{1, 0}, {1, 0}};
            utimensat(AT_FDCWD, scratch.path, old, 0);
        }
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(hidden_files(), 1);
    sn_scratch first, second;
    assert_ok(sn_scratch_open(&first, at(""), 0700, "test", NULL, &error));
    assert_int_equal(hidden_files(), 1); /* the new one */
    struct timespec old[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, first.path, old, 0), 0);
    assert_ok(sn_scratch_open(&second, at(""), 0700, "test", NULL, &error));
    assert_int_equal(hidden_files(), 2); /* one that lives stays, however old */
    sn_scratch_close(&first);
    snprintf(dead, sizeof dead, "%s", at("finished"));
    assert_ok(sn_scratch_rename(&second, dead, &error));
    sn_scratch_close(&second);
    assert_true(sn_is_folder(dead));
    assert_int_equal(hidden_files(), 0);
    assert_int_equal(sn_scratch_open(&first, at("no such"), 0700, "test", NULL, &error), SINEW_IO);
    assert_non_null(strstr(error.message, "no such"));
}

static void messages_name_a_scratch_file_as_it_will_be_called(void **state) {
    (void)state;
    sinew_error error;
    sn_scratch scratch;
    assert_ok(sn_scratch_open(&scratch, at(""), 0700, "test", at("final"), &error));
    char *inside = sn_path_join(scratch.path, "sub/file");
    assert_int_equal(sn_file_write(inside, "x", 1, &error), SINEW_IO);
    assert_non_null(strstr(error.message, at("final/sub/file")));
    assert_null(strstr(error.message, ".scratch/file"));
    char *beside = sn_path_join(at("else"), "file"), *shown = sn_scratch_final_path(beside);
    assert_string_equal(shown, beside);
    sn_free(shown);
    sn_free(beside);
    sn_free(inside);
    sn_scratch_close(&scratch);
}

int test_outputs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_stays_and_its_target_is_replaced),
        cmocka_unit_test(a_pipe_gets_the_content_and_stays),
        cmocka_unit_test(a_reader_that_has_gone_is_an_error_and_no_signal),
        cmocka_unit_test(devices_are_written_through),
        cmocka_unit_test(folders_and_sockets_are_refused),
        cmocka_unit_test(a_replaced_file_keeps_its_permissions),
        cmocka_unit_test(a_writer_that_is_killed_leaves_nothing),
        cmocka_unit_test(named_leftovers_are_used_up_by_the_next_run),
        cmocka_unit_test(moved_files_follow_the_rules_of_outputs),
        cmocka_unit_test(scratch_folders_of_dead_runs_are_removed),
        cmocka_unit_test(messages_name_a_scratch_file_as_it_will_be_called),
    };
    return cmocka_run_group_tests_name("outputs", tests, start, NULL);
}
