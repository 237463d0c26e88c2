#include "command.h"

#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "support.h"

static char folder[256];

const char *fresh_folder(void) {
    static int number;
    char command[600];
    if (*folder) {
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        if (system(command) != 0) fail_msg("cannot remove %s", folder);
    }
    snprintf(folder, sizeof folder, "%s/run%d", test_folder(), number++);
    sinew_error error;
    assert_ok(sn_make_folder(folder, &error));
    return folder;
}

static void read_into(const char *path, char *text, size_t size) {
    FILE *stream = fopen(path, "rb");
    size_t got = stream ? fread(text, 1, size - 1, stream) : 0;
    text[got] = '\0';
    if (stream) fclose(stream);
}

static const run_result *run(const char *command) {
    static run_result result;
    const char *program = getenv("SINEW_COMMAND");
    if (!program) fail_msg("SINEW_COMMAND is not set");
    char out[300], err[300], line[16384], place[4096];
    snprintf(place, sizeof place, "%s", program);
    char *slash = strrchr(place, '/');
    if (slash) *slash = '\0';
    snprintf(out, sizeof out, "%s.out", folder);
    snprintf(err, sizeof err, "%s.err", folder);
    snprintf(line, sizeof line, "cd '%s' && PATH='%s':\"$PATH\" && { %s\n} >'%s' 2>'%s'", folder,
             place, command, out, err);
    int status = system(line);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    read_into(out, result.out, sizeof result.out);
    read_into(err, result.err, sizeof result.err);
    unlink(out);
    unlink(err);
    return &result;
}

#define FORMAT_COMMAND(command, format)                                                            \
    char command[8192];                                                                            \
    va_list arguments;                                                                             \
    va_start(arguments, format);                                                                   \
    vsnprintf(command, sizeof command, format, arguments);                                         \
    va_end(arguments)

const run_result *sh(const char *format, ...) {
    FORMAT_COMMAND(command, format);
    return run(command);
}

static const run_result *checked(int code, const char *command) {
    const run_result *r = run(command);
    if (r->code != code)
        fail_msg("exit %d instead of %d: %s\n%s%s", r->code, code, command, r->out, r->err);
    return r;
}

const run_result *expect_code(int code, const char *format, ...) {
    FORMAT_COMMAND(command, format);
    return checked(code, command);
}

void expect_refusal(int code, const char *words, const char *format, ...) {
    FORMAT_COMMAND(command, format);
    const run_result *r = checked(code, command);
    const char *end = strchr(r->err, '\n');
    if (!end || end[1]) fail_msg("not one line: %s\n%s", command, r->err);
    char copy[512];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, "|"); word; word = strtok(NULL, "|"))
        if (!strstr(r->err, word)) fail_msg("no '%s' in: %s", word, r->err);
}

void use_moments(void) {
    if (getenv("MOMENTS")) return;
    char path[300];
    snprintf(path, sizeof path, "%s/moments.so", test_folder());
    setenv("MOMENTS", path, 1);
    expect_code(0, "cc -shared -fPIC \"$SINEW_SOURCE\"/tests/cli/moments.c -o \"$MOMENTS\"");
}

void write_bytes(const char *name, const void *bytes, size_t size) {
    sinew_error error;
    char *path = sn_path_join(folder, name);
    assert_ok(sn_file_write(path, bytes, size, &error));
    sn_free(path);
}

void write_text(const char *name, const char *text) {
    write_bytes(name, text, strlen(text));
}

int files_with(const char *part) {
    sinew_error error;
    char **names;
    int count, found = 0;
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    for (int i = 0; i < count; i++) found += strstr(names[i], part) != NULL;
    sn_names_free(names, count);
    return found;
}

json_t *read_json(const char *name) {
    char *path = sn_path_join(folder, name);
    json_error_t place;
    json_t *root = json_load_file(path, 0, &place);
    if (!root) fail_msg("%s: %s", name, place.text);
    sn_free(path);
    return root;
}
