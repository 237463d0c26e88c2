/* The protocol of the studio (docs/protocol.md) as pages could break it. Pages themselves are
 * tested by scripts/test-web. */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

#include "../../fuzz/studio.h"
#include "base/file.h"
#include "base/memory.h"
#include "json.h"

static sinew_error error;

static void the_corpus_replays(void **state) {
    (void)state;
    const char *root = getenv("SINEW_SOURCE");
    char folder[4096], **names;
    int count;
    snprintf(folder, sizeof folder, "%s/fuzz/corpus/studio", root ? root : ".");
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char *path = sn_path_join(folder, names[i]), *bytes;
        size_t size;
        assert_ok(sn_file_read(path, &bytes, &size, &error));
        if (!fuzz_studio((const uint8_t *)bytes, size)) fail_msg("%s does not come back", path);
        sn_free(bytes), sn_free(path);
    }
    sn_names_free(names, count);
}

/* What a page says, and words of the answer. */
static const char *const bad[][2] = {
    {"", "malformed"},
    {"{", "not a JSON object with a type"},
    {"{}", "not a JSON object with a type"},
    {"{\"type\": 7}", "not a JSON object with a type"},
    {"{\"type\": \"\"}", "unknown type"},
    {"{\"type\": \"undo\"} x", "not a JSON object with a type"},
    {"{\"type\": \"patch\"}", "needs a list of operations"},
    {"{\"type\": \"patch\", \"ops\": {}}", "needs a list of operations"},
    {"{\"type\": \"patch\", \"ops\": [7]}", "not a JSON pointer"},
    {"{\"type\": \"patch\", \"ops\": [{\"op\": \"fly\", \"path\": \"/steps\"}]}",
     "\\\"op\\\" is not"},
    {"{\"type\": \"patch\", \"ops\": [{\"op\": \"add\", \"path\": \"/rig\", \"value\": {\"files\": "
     "[\"/etc/passwd\"]}}]}",
     "outside the project"},
    {"{\"type\": \"patch\", \"ops\": [{\"op\": \"add\", \"path\": \"/rig\", \"value\": {\"files\": "
     "[\"a/../../x.obj\"]}}]}",
     "outside the project"},
    {"{\"type\": \"patch\", \"ops\": [{\"op\": \"add\", \"path\": \"/studio\", \"value\": "
     "{\"studio\": {\"files\": [\"/etc/passwd\"]}}}, {\"op\": \"copy\", \"from\": "
     "\"/studio/studio\", \"path\": \"/rig\"}]}",
     "/studio"},
    {"{\"type\": \"patch\", \"ops\": [{\"op\": \"add\", \"path\": \"/studio\", \"value\": "
     "{\"studio\": {\"files\": [\"/etc/passwd\"]}}}, {\"op\": \"move\", \"from\": "
     "\"/studio/studio\", \"path\": \"/rig\"}]}",
     "/studio"},
    {"{\"type\": \"seek\"}", "whole number"},
    {"{\"type\": \"seek\", \"frame\": -2}", "whole number"},
    {"{\"type\": \"seek\", \"frame\": 1.5}", "whole number"},
    {"{\"type\": \"seek\", \"frame\": 9223372036854775807}", "whole number"},
    {"{\"type\": \"drag\"}", "needs vertex"},
    {"{\"type\": \"drag\", \"vertex\": -1, \"to\": [0, 0, 0], \"gesture\": \"g\"}", "needs vertex"},
    {"{\"type\": \"drag\", \"vertex\": 1, \"to\": [0, 0], \"gesture\": \"g\"}", "needs vertex"},
    {"{\"type\": \"drag\", \"vertex\": 1, \"to\": [0, 0, \"x\"], \"gesture\": \"g\"}",
     "needs vertex"},
    {"{\"type\": \"drag\", \"vertex\": 4294967296, \"to\": [0, 0, 0], \"gesture\": \"g\"}",
     "needs vertex"},
    {"{\"type\": \"open\"}", "needs an example"},
    {"{\"type\": \"open\", \"example\": \"../x\"}", "example"},
    {"{\"type\": \"open\", \"sample\": \"nothing\"}", "nothing"},
    {"{\"type\": \"export\", \"what\": \"clip\"}", "needs what and format"},
    {"{\"type\": \"export\", \"what\": \"clip\", \"format\": \"../x\"}", "../x"},
    {"{\"type\": \"mesh\"}", "needs a file"},
    {"{\"type\": \"mesh\", \"file\": \"/etc/passwd\"}", "/etc/passwd"},
    {"{\"type\": \"mesh\", \"file\": \"../x.obj\"}", "../x.obj"},
    {"{\"type\": \"undo\"}", "undo"},
    {"{\"type\": \"redo\"}", "redo"},
    {"\x01", "malformed"},
    {"\xff\xff\xff\x7f{}", "malformed"},
};

static void refused_messages_change_nothing(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool changed;
        const char *answer = studio_answer(bad[i][0], strlen(bad[i][0]), &changed);
        if (strstr(answer, bad[i][1]) && !changed) continue;
        print_error("%s: answer '%s'%s\n", bad[i][0], answer, changed ? ", changed" : "");
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static int allowed;

static void *limited(size_t bytes) {
    return allowed-- > 0 ? malloc(bytes) : NULL;
}

/* In a separate process: parse with room for so many blocks. Returns its exit code, or -1 after
 * a signal. */
static int parse_with(int blocks, const char *text, int silence) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(silence, STDERR_FILENO);
        allowed = blocks;
        cli_json_start(limited, free);
        _exit(cli_json_loads(text, 0, NULL) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* jansson alone aborts in the number and reads past the string. */
static void missing_memory_ends_the_parser_cleanly(void **state) {
    (void)state;
    const char *text = "{\"number\": 0.12345678901234567890123456789012345678901234567890, "
                       "\"string\": \"as long as the number, and longer, and longer, and longer\"}";
    FILE *words = tmpfile();
    assert_non_null(words);
    int blocks = 0, code;
    while ((code = parse_with(blocks, text, fileno(words))) == 4) blocks++;
    assert_int_equal(code, 0);
    assert_true(blocks > 10);
    static const char line[] = "sinew: out of memory\n";
    char read[sizeof line] = "";
    rewind(words);
    for (int i = 0; i < blocks; i++) {
        assert_non_null(fgets(read, sizeof read, words));
        assert_string_equal(read, line);
    }
    assert_null(fgets(read, sizeof read, words));
    fclose(words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_corpus_replays),
        cmocka_unit_test(refused_messages_change_nothing),
        cmocka_unit_test(missing_memory_ends_the_parser_cleanly),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
