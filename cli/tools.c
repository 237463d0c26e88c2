#include "tools.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void *cli_memdup(const void *block, size_t count, size_t size) {
    void *copy = sinew_alloc(count, size);
    if (copy && count && size) memcpy(copy, block, count * size);
    return copy;
}

bool cli_reserve(void **block, size_t *capacity, size_t needed, size_t size) {
    size_t grown = *capacity < 8 ? 8 : *capacity;
    if (needed <= *capacity) return true;
    while (grown < needed) grown *= 2;
    void *moved = sinew_alloc(grown, size);
    if (!moved) return false;
    if (*block) memcpy(moved, *block, *capacity * size);
    sinew_free(*block);
    *block = moved;
    *capacity = grown;
    return true;
}

char *cli_strndup(const char *text, size_t length) {
    char *copy = CLI_NEW(char, length + 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

char *cli_strdup(const char *text) {
    return cli_strndup(text, strlen(text));
}

const char *cli_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *cli_path_ending(const char *path) {
    const char *name = cli_path_name(path), *dot = strrchr(name, '.');
    return dot && dot != name ? dot + 1 : "";
}

bool cli_has_ending(const char *path, const char *ending) {
    return strcasecmp(cli_path_ending(path), ending) == 0;
}

char *cli_path_stem(const char *path) {
    const char *name = cli_path_name(path), *ending = cli_path_ending(path);
    return cli_strndup(name, strlen(name) - (*ending ? strlen(ending) + 1 : 0));
}

char *cli_path_join(const char *folder, const char *name) {
    size_t length = strlen(folder);
    bool slash = length && folder[length - 1] != '/';
    char *joined = CLI_NEW(char, length + strlen(name) + 2);
    if (!joined) return NULL;
    memcpy(joined, folder, length);
    if (slash) joined[length++] = '/';
    strcpy(joined + length, name);
    return joined;
}

char *cli_absolute_path(const char *path) {
    char folder[4096];
    if (*path == '/' || !getcwd(folder, sizeof folder)) return cli_strdup(path);
    return cli_path_join(folder, path);
}

bool cli_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int not_hidden(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

char **cli_folder_list(const char *path, int *count) {
    struct dirent **entries;
    int found = scandir(path, &entries, not_hidden, by_name);
    char **names = found < 0 ? NULL : CLI_NEW(char *, found + 1);
    *count = names ? found : 0;
    for (int i = 0; i < found; i++) {
        if (names && !(names[i] = cli_strdup(entries[i]->d_name)) && i < *count) *count = i;
        free(entries[i]);
    }
    if (found >= 0) free(entries);
    return names;
}

void cli_names_free(char **names, int count) {
    for (int i = 0; names && i < count; i++) sinew_free(names[i]);
    sinew_free(names);
}

char *cli_find_program(const char *name) {
    if (strchr(name, '/')) return access(name, X_OK) == 0 ? cli_strdup(name) : NULL;
    const char *list = getenv("PATH");
    if (!list || !*list) list = "/usr/local/bin:/usr/bin:/bin";
    while (*list) {
        size_t length = strcspn(list, ":");
        char *folder = length ? cli_strndup(list, length) : cli_strdup(".");
        char *path = folder ? cli_path_join(folder, name) : NULL;
        sinew_free(folder);
        if (path && access(path, X_OK) == 0 && !cli_is_folder(path)) return path;
        sinew_free(path);
        list += length + (list[length] == ':');
    }
    return NULL;
}

sinew_status cli_document_open(cli_document *document, sinew_error *error) {
    *document = (cli_document){0};
    document->stream = open_memstream(&document->text, &document->size);
    return document->stream ? SINEW_OK : cli_no_memory(error);
}

sinew_status cli_document_write(cli_document *document, const char *path, sinew_error *error) {
    bool complete = fclose(document->stream) == 0;
    sinew_status status = complete ? sinew_file_write(path, document->text, document->size, error)
                                   : cli_no_memory(error);
    free(document->text);
    return status;
}

double cli_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress(const sinew_monitor *monitor, double fraction, const char *stage) {
    if (monitor && monitor->progress) monitor->progress(fraction, stage, monitor->user);
}

bool cli_cancelled(const sinew_monitor *monitor) {
    return monitor && monitor->cancelled && monitor->cancelled(monitor->user);
}
