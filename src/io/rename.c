/* Names files: what is called differently in a take and in a rig, "from,to" line by line. */
#include <string.h>

#include "base/memory.h"
#include "io/csv.h"
#include "io/format.h"
#include "io/names.h"
#include "sinew/io.h"

typedef struct rename_list {
    sn_names from;
    char **to;
    size_t capacity;
    sn_buffer cell;
} rename_list;

static void free_list(rename_list *list) {
    for (int i = 0; i < list->from.count; i++) sn_free(list->to[i]);
    sn_free(list->to);
    sn_names_release(&list->from);
    sn_buffer_free(&list->cell);
}

static bool is_header(sn_text line) {
    const char *cell;
    size_t length = sn_csv_cell(&line, &cell);
    if (!sn_text_is(cell, length, "from")) return false;
    length = sn_csv_cell(&line, &cell);
    return sn_text_is(cell, length, "to");
}

static sinew_status read_line(sn_text *text, rename_list *list) {
    int index = list->from.count;
    if (!SN_RESERVE(list->to, list->capacity, index + 1)) return sn_no_memory(text->error);
    size_t length = sn_csv_name(text, &list->cell);
    if (list->cell.failed) return sn_no_memory(text->error);
    if (length == 0) return sn_text_fail(text, "a name is empty, lines are from,to");
    if (sn_names_find(&list->from, list->cell.bytes, length) >= 0)
        return sn_text_fail(text, "'%.*s' is renamed twice", (int)(length < 40 ? length : 40),
                            list->cell.bytes);
    list->to[index] = NULL;
    if (sn_names_add(&list->from, list->cell.bytes, length) < 0) return sn_no_memory(text->error);
    length = sn_csv_more(text) ? sn_csv_name(text, &list->cell) : 0;
    if (list->cell.failed) return sn_no_memory(text->error);
    if (length == 0)
        return sn_text_fail(text, "'%.40s' gets no name, lines are from,to",
                            list->from.names[index]);
    list->to[index] = sn_strndup(list->cell.bytes, length);
    return list->to[index] ? sn_csv_row_end(text) : sn_no_memory(text->error);
}

static sinew_status read_list(const char *path, rename_list *list, sinew_error *error) {
    sn_source source;
    SN_TRY(sn_source_open(&source, path, error));
    sinew_status status = sn_text_check(&source, error);
    sn_text text = sn_text_open(&source, error);
    for (bool first = true; status == SINEW_OK && sn_csv_next_row(&text); first = false)
        if (first && is_header(text))
            sn_text_next_line(&text);
        else
            status = read_line(&text, list);
    sn_source_close(&source);
    return status;
}

/* New names into made[count]; the old one where the list does not have it. */
static sinew_status make_names(const char *path, const rename_list *list, int count, char **names,
                               char **made, int *unused, sinew_error *error) {
    sn_names all = {0};
    sinew_status status = SINEW_OK;
    *unused = list->from.count;
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        int index = sn_names_find(&list->from, names[i], strlen(names[i]));
        const char *name = index < 0 ? names[i] : list->to[index];
        *unused -= index >= 0;
        if (sn_names_find(&all, name, strlen(name)) >= 0)
            status = sn_fail(error, SINEW_BAD_INPUT, "%s: two would be named '%.40s'", path, name);
        else if (sn_names_add(&all, name, strlen(name)) < 0 || !(made[i] = sn_strdup(name)))
            status = sn_no_memory(error);
    }
    sn_names_release(&all);
    return status;
}

sinew_status sinew_rename(const char *path, int count, char **names, int *unused,
                          sinew_error *error) {
    SN_REQUIRE(path && count >= 0 && (count == 0 || names), error);
    int unread;
    rename_list list = {.from.any_case = true};
    char **made = SN_NEW0(char *, count);
    sinew_status status = made ? read_list(path, &list, error) : sn_no_memory(error);
    if (status == SINEW_OK)
        status = make_names(path, &list, count, names, made, unused ? unused : &unread, error);
    for (int i = 0; made && i < count; i++) {
        char *gone = made[i];
        if (status == SINEW_OK) gone = names[i], names[i] = made[i];
        sn_free(gone);
    }
    sn_free(made);
    free_list(&list);
    return status;
}
