#include "io/obj_sequence.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/scratch.h"
#include "io/reading.h"

enum { DEFAULT_DIGITS = 4 };

/* A file name with a number in it. */
typedef struct pattern {
    char *folder;         /* with its last slash, or "" */
    char *before, *after; /* the number is between */
    int digits;           /* at least this many */
} pattern;

static void free_pattern(pattern *p) {
    sn_free(p->folder);
    sn_free(p->before);
    sn_free(p->after);
    *p = (pattern){0};
}

/* Where the number is in a name: "%d", "%04d" or "####". False: nowhere. */
static bool find_number(const char *name, size_t *start, size_t *length, int *digits) {
    const char *percent = strchr(name, '%');
    if (percent) {
        const char *c = percent + 1;
        *digits = 1;
        if (*c == '0') c++;
        if (*c >= '1' && *c <= '9') *digits = *c++ - '0';
        if (*c == 'd') {
            *start = (size_t)(percent - name);
            *length = (size_t)(c + 1 - percent);
            return true;
        }
    }
    const char *hash = strchr(name, '#');
    if (!hash) return false;
    *start = (size_t)(hash - name);
    *length = strspn(hash, "#");
    *digits = *length < 9 ? (int)*length : 9;
    return true;
}

static bool parse_pattern(const char *path, pattern *p) {
    const char *name = sn_path_name(path);
    size_t start, length = 0;
    bool dotted = !find_number(name, &start, &length, &p->digits);
    if (dotted) {
        /* NAME.obj: the number goes before the ending, after a dot of its own */
        start = (size_t)(sn_path_ending(path) - name);
        p->digits = DEFAULT_DIGITS;
    }
    p->folder = sn_strndup(path, (size_t)(name - path));
    p->before = sn_strndup(name, start);
    p->after = NULL;
    if (dotted) {
        size_t rest = strlen(name + start);
        p->after = sn_alloc(rest + 2, 1);
        if (p->after) {
            p->after[0] = '.';
            memcpy(p->after + 1, name + start, rest + 1);
        }
    } else {
        p->after = sn_strdup(name + start + length);
    }
    return p->folder && p->before && p->after;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Files are written in a folder beside and moved to their place when all are there. */
typedef struct sequence {
    pattern names;
    sn_scratch scratch;
    char *beside; /* the scratch folder with its last slash */
    char *from, *to;
    size_t room;
    sinew_mesh *mesh;
    int first, written;
} sequence;

/* FOLDER/BEFORE0012AFTER */
static void put_path(const sequence *s, char *path, const char *folder, int number) {
    snprintf(path, s->room, "%s%s%0*d%s", folder, s->names.before, s->names.digits, number,
             s->names.after);
}

static void release(sinew_frame_writer *writer) {
    sequence *s = writer->state;
    if (!s) return;
    sn_scratch_close(&s->scratch);
    sn_free(s->beside);
    sn_free(s->from);
    sn_free(s->to);
    free_pattern(&s->names);
    sinew_mesh_destroy(s->mesh);
    sn_free(s);
    writer->state = NULL;
}

static sinew_status make_beside(sequence *s, const char *path, sinew_error *error) {
    SN_TRY(sn_scratch_open(&s->scratch, s->names.folder, 0777, path, s->names.folder, error));
    s->beside = sn_path_join(s->scratch.path, "");
    return s->beside ? SINEW_OK : sn_no_memory(error);
}

static sinew_status open_frames(sinew_frame_writer *writer, const sinew_mesh *mesh,
                                sinew_error *error) {
    sequence *s = SN_NEW0(sequence, 1);
    if (!s) return sn_no_memory(error);
    writer->state = s;
    if (!parse_pattern(writer->path, &s->names)) return sn_no_memory(error);
    s->room = strlen(writer->path) + 64;
    s->from = SN_NEW(char, s->room);
    s->to = SN_NEW(char, s->room);
    if (!s->from || !s->to) return sn_no_memory(error);
    double first = round(writer->start * writer->rate);
    s->first = first >= 0 && first < INT_MAX / 2 ? (int)first : 0;
    SN_TRY(make_beside(s, writer->path, error));
    return sinew_mesh_copy(mesh, &s->mesh, error);
}

static sinew_status add_frame(sinew_frame_writer *writer, const double *positions,
                              sinew_error *error) {
    (void)positions;
    sequence *s = writer->state;
    for (size_t i = 0; i < 3 * (size_t)writer->vertex_count; i++)
        s->mesh->positions[i] = (double)writer->row[i];
    put_path(s, s->from, s->beside, s->first + s->written);
    SN_TRY(sinew_mesh_write(s->from, s->mesh, error));
    s->written++;
    return SINEW_OK;
}

static sinew_status close_frames(sinew_frame_writer *writer, sinew_error *error) {
    sequence *s = writer->state;
    for (int k = 0; k < s->written; k++) {
        put_path(s, s->from, s->beside, s->first + k);
        put_path(s, s->to, s->names.folder, s->first + k);
        sinew_status status = sn_file_move(s->from, s->to, error);
        if (status == SINEW_OK) continue;
        while (k-- > 0) {
            put_path(s, s->to, s->names.folder, s->first + k);
            unlink(s->to);
        }
        return status;
    }
    return SINEW_OK;
}

const sn_frame_sink sn_obj_sequence_sink = {
    .many_files = true,
    .has_mesh = true,
    .open = open_frames,
    .add = add_frame,
    .close = close_frames,
    .release = release,
};

/* --- reading ---------------------------------------------------------------------------------- */

/* The number in a name of the pattern, or -1. */
static int number_of(const pattern *p, const char *name) {
    size_t before = strlen(p->before), after = strlen(p->after), length = strlen(name);
    if (length <= before + after || strncmp(name, p->before, before) != 0 ||
        strcmp(name + length - after, p->after) != 0)
        return -1;
    const char *at = name + before;
    int64_t number;
    if (*at < '0' || *at > '9' || !sn_integer(&at, &number) || at != name + length - after ||
        number > INT_MAX / 2)
        return -1;
    return (int)number;
}

typedef struct file_number {
    int number;
    const char *name;
} file_number;

static int compare_numbers(const void *a, const void *b) {
    int x = ((const file_number *)a)->number, y = ((const file_number *)b)->number;
    return (x > y) - (x < y);
}

static sinew_status read_file(const char *path, const sinew_mesh *first, int index, int count,
                              sinew_frames **frames, sinew_mesh **kept, sinew_error *error) {
    sinew_mesh *mesh;
    SN_TRY(sinew_mesh_read(path, &mesh, error));
    sinew_status status = SINEW_OK;
    if (first && sinew_mesh_same_topology(first, mesh, error) != SINEW_OK)
        status = sn_source_blame(&(sn_source){.name = path}, SINEW_BAD_INPUT, error);
    if (status == SINEW_OK && !first)
        status = sn_frames_create(mesh->vertex_count, count, 0, SINEW_FRAMES_DEFAULT_RATE, frames,
                                  error);
    if (status == SINEW_OK) {
        size_t row = 3 * (size_t)mesh->vertex_count;
        for (size_t i = 0; i < row; i++)
            (*frames)->positions[(size_t)index * row + i] = (float)mesh->positions[i];
    }
    if (status == SINEW_OK && !first)
        *kept = mesh;
    else
        sinew_mesh_destroy(mesh);
    return status;
}

static sinew_status read_files(const pattern *p, const file_number *files, int count,
                               sinew_frames **frames, sinew_error *error) {
    sinew_mesh *first = NULL;
    sinew_status status = SINEW_OK;
    for (int k = 0; status == SINEW_OK && k < count; k++) {
        char *path = sn_alloc(strlen(p->folder) + strlen(files[k].name) + 1, 1);
        if (path) sprintf(path, "%s%s", p->folder, files[k].name);
        status =
            path ? read_file(path, first, k, count, frames, &first, error) : sn_no_memory(error);
        sn_free(path);
    }
    sinew_mesh_destroy(first);
    if (status == SINEW_OK) {
        (*frames)->start = files[0].number / SINEW_FRAMES_DEFAULT_RATE;
    } else {
        sinew_frames_destroy(*frames);
        *frames = NULL;
    }
    return status;
}

static sinew_status find_files(const pattern *p, const char *path, char *const *names, int count,
                               sinew_frames **frames, sinew_error *error) {
    file_number *files = SN_NEW(file_number, count);
    if (!files) return sn_no_memory(error);
    int found = 0;
    for (int i = 0; i < count; i++) {
        int number = number_of(p, names[i]);
        if (number >= 0) files[found++] = (file_number){number, names[i]};
    }
    qsort(files, (size_t)found, sizeof *files, compare_numbers);
    sinew_status status = found > 0 ? read_files(p, files, found, frames, error)
                                    : sn_fail(error, SINEW_IO,
                                              "%s: there is no such file and no sequence "
                                              "of that name",
                                              path);
    sn_free(files);
    return status;
}

sinew_status sn_obj_sequence_read(const char *path, sinew_frames **frames, sinew_error *error) {
    pattern p = {0};
    char **names = NULL;
    int count = 0;
    sinew_status status = parse_pattern(path, &p) ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK && (sn_path_is_source(path) || sn_file_exists(path))) {
        const file_number whole = {0, sn_path_name(path)};
        status = read_files(&p, &whole, 1, frames, error);
    } else if (status == SINEW_OK) {
        status = sn_folder_list(*p.folder ? p.folder : ".", &names, &count, error);
        if (status == SINEW_OK) status = find_files(&p, path, names, count, frames, error);
    }
    sn_names_free(names, count);
    free_pattern(&p);
    return status;
}
