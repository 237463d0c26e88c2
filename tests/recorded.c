#include "recorded.h"

#include <ctype.h>
#include <dlfcn.h>

#include "sinew/rig.h"

enum { SUMS = 4, PLAIN = 8, MOST_LINES = 2000, LINE = 512 };

static char table_path[4096];
static char (*lines)[LINE];
static int line_count;

bool recorded_exactly(void) {
#ifdef __FMA__
    return false;
#else
    Dl_info library;
    return !dladdr((void *)(uintptr_t)sinew_rig_create, &library) ||
           !strstr(library.dli_fname, "/glibc-hwcaps/");
#endif
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(a, b);
}

static void read_table(void) {
    if (lines) return;
    const char *root = getenv("SINEW_SOURCE");
    snprintf(table_path, sizeof table_path, "%s/tests/recorded.txt", root ? root : ".");
    lines = calloc(MOST_LINES, LINE);
    FILE *file = fopen(table_path, "r");
    assert_non_null(lines);
    if (!file) return;
    while (line_count < MOST_LINES && fgets(lines[line_count], LINE, file)) {
        lines[line_count][strcspn(lines[line_count], "\n")] = '\0';
        line_count++;
    }
    fclose(file);
}

/* What follows the name, or NULL. */
static char *find_line(const char *name) {
    size_t length = strlen(name);
    read_table();
    for (int i = 0; i < line_count; i++)
        if (!strncmp(lines[i], name, length) && lines[i][length] == ':')
            return lines[i] + length + 1;
    return NULL;
}

/* Replaces the line, or adds it, when results are recorded. */
static bool record(const char *name, const char *text) {
    const char *asked = getenv("SINEW_RECORD");
    if (!asked || !*asked) return false;
    if (!recorded_exactly()) fail_msg("remove glibc-hwcaps from the build folder to record");
    char *old = find_line(name);
    assert_true(old || line_count < MOST_LINES);
    if (old)
        snprintf(old, LINE - strlen(name) - 1, "%s", text);
    else
        snprintf(lines[line_count++], LINE, "%s:%s", name, text);
    qsort(lines, (size_t)line_count, LINE, compare_lines);
    FILE *file = fopen(table_path, "w");
    assert_non_null(file);
    for (int i = 0; i < line_count; i++) fprintf(file, "%s\n", lines[i]);
    assert_int_equal(fclose(file), 0);
    return true;
}

bool recorded_by_this_compiler(void) {
#ifdef __clang__
    return false;
#else
    return recorded_exactly();
#endif
}

void assert_recorded(const char *name, int count, const double *values, double tolerance) {
    double found[PLAIN] = {0}, largest = 0, scale;
    int kept = count <= PLAIN ? count : SUMS;
    uint64_t random = 1;
    for (int i = 0; i < count; i++) {
        if (!isfinite(values[i])) fail_msg("%s: value %d is %g", name, i, values[i]);
        largest = fmax(largest, fabs(values[i]));
        if (count <= PLAIN) found[i] = values[i];
        for (int k = 0; count > PLAIN && k < SUMS; k++)
            found[k] += test_random(&random) * values[i];
    }
    /* of a sum: what errors of this size add up to, of which no two are alike */
    if (!recorded_exactly()) return;
    scale = tolerance * largest * (count > PLAIN ? sqrt(count) : 1);
    char text[LINE];
    int used = snprintf(text, sizeof text, " %d", count);
    for (int k = 0; k < kept; k++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %.17g", found[k]);
    if (record(name, text)) return;
    char *at = find_line(name), *next;
    if (!at) fail_msg("%s is not in %s", name, table_path);
    assert_int_equal(strtol(at, &next, 10), count);
    for (int k = 0; k < kept; k++) {
        double expected = strtod(at = next, &next);
        if (next == at || !(fabs(found[k] - expected) <= scale))
            fail_msg("%s: number %d is %.17g, recorded %.17g: differs by %.3g > %.3g", name, k,
                     found[k], expected, fabs(found[k] - expected), scale);
    }
}

void assert_recorded_bytes(const char *name, const void *bytes, size_t size) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    char text[64];
    snprintf(text, sizeof text, " %zu %016llx", size, (unsigned long long)hash);
    if (record(name, text)) return;
    const char *expected = find_line(name);
    if (!expected) fail_msg("%s is not in %s", name, table_path);
    if (strcmp(expected, text)) fail_msg("%s is%s, recorded%s", name, text, expected);
}

static bool is_measured(const char *line) {
    static const char *const words[] = {"ms\"", "_ms_", "seconds\"", "bytes", "version\""};
    size_t length = strcspn(line, "\n");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *found = strstr(line, words[i]);
        if (found && found < line + length) return true;
    }
    return false;
}

void assert_recorded_text(const char *name, const char *text, double tolerance) {
    size_t size = strlen(text);
    if (!recorded_exactly()) return;
    double *numbers = calloc(size + 1, sizeof *numbers);
    char *words = malloc(size + 1), part[256];
    int count = 0;
    size_t used = 0;
    assert_true(numbers && words);
    for (const char *at = text; *at;) {
        bool starts = at == text || at[-1] == '\n';
        if (starts && is_measured(at)) {
            at += strcspn(at, "\n");
            at += *at != '\0';
            continue;
        }
        bool inside = at > text && (at[-1] == '_' || isalnum((unsigned char)at[-1]));
        char *end = (char *)at;
        if (!inside &&
            (isdigit((unsigned char)*at) || (*at == '-' && isdigit((unsigned char)at[1]))))
            numbers[count] = strtod(at, &end);
        if (end == at)
            words[used++] = *at++;
        else
            at = end, count++;
    }
    snprintf(part, sizeof part, "%s, numbers", name);
    assert_recorded(part, count, numbers, tolerance);
    snprintf(part, sizeof part, "%s, words", name);
    assert_recorded_bytes(part, words, used);
    free(numbers), free(words);
}
