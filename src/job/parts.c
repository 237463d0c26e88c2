#include "job/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/writeback.h"
#include "cache/checksum.h"
#include "io/frames.h"
#include "sinew/frames.h"

/* What every file of a part begins with. */
typedef struct header {
    char magic[8];
    uint32_t version, kind; /* below */
    sinew_cache_key scene;  /* what is solved: the document, the rig, the structure */
    int32_t first, last;    /* a state: both the next frame */
    uint64_t bytes;         /* of a state */
} header;

static const char MAGIC[8] = "sinewpt";
enum { VERSION = 2 };
enum {
    FRAMES = 1,        /* positions in float64 */
    STATE = 2,         /* checkpoint */
    SINGLE_FRAMES = 3, /* positions in float32 */
    OUTPUT_FRAMES = 4  /* positions are in the first output, a point cache of the whole clip */
};

/* A frame in a part; arrays follow, then the sum over all of it, with the positions in any case. */
typedef struct record {
    int32_t index, status, iterations, inverted, contacts;
    int32_t network, listed, weights; /* sizes of what follows, in elements */
    double time, residual, energy, seconds;
    uint64_t text; /* bytes of the figures */
} record;

static sinew_status key_of(const sinew_scene *scene, const sinew_solver *solver,
                           sinew_cache_key *key, sinew_error *error) {
    char *text;
    sinew_hash hash;
    SN_TRY(sinew_scene_text(scene, &text, error));
    sinew_hash_start(&hash);
    sinew_hash_add_text(&hash, text);
    sinew_hash_add(&hash, &solver->rig->key, sizeof solver->rig->key);
    sinew_hash_add(&hash, &solver->structure->key, sizeof solver->structure->key);
    *key = sinew_hash_key(&hash);
    sn_free(text);
    return SINEW_OK;
}

static char *file_in(const char *folder, const char *format, int first, int last) {
    char name[64];
    /* both formats are of this file */
    snprintf(name, sizeof name, format, first, last);
    return sn_path_join(folder, name);
}
#define FRAMES_NAME "frames-%06d-%06d.part"
#define STATE_NAME  "state-%06d.state"

/* The output that holds the positions of parts without them; NULL: there is none. */
static char *home_of(const sinew_scene *scene, const sinew_solver *solver) {
    const json_t *paths = json_object_get(sn_scene_at(scene, "outputs"), "frames");
    const char *path = json_string_value(json_array_get(paths, 0));
    /* Vertices that the file of the rig does not have are not written. */
    if (!path || !sn_outputs_are_single(scene, solver) ||
        sinew_solver_rig(solver)->neutral->file_vertices)
        return NULL;
    return sinew_scene_path(scene, path);
}

bool sn_part_can_leave_positions(const sinew_scene *scene, const sinew_solver *solver) {
    char *path = home_of(scene, solver);
    bool can = path && (!sn_file_exists(path) || sn_is_cache_path(path)); /* no pipe */
    sn_free(path);
    return can;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct sn_part_writer {
    sn_output output;
    off_t begun; /* bytes of it that go to the disk already */
    sn_checksum sum;
    float *single;  /* room for positions in float32; NULL: they are written in float64 */
    bool elsewhere; /* positions are only counted in the sum */
    int vertices, network, sliders, next, last;
};

static void put(sn_part_writer *part, const void *bytes, size_t size) {
    if (size == 0) return;
    fwrite(bytes, 1, size, part->output.stream);
    sn_checksum_add(&part->sum, bytes, size);
}

static void put_sum(sn_part_writer *part) {
    uint64_t sum = sn_checksum_value(&part->sum);
    fwrite(&sum, 1, sizeof sum, part->output.stream);
    sn_checksum_start(&part->sum);
}

sinew_status sn_part_create(const char *folder, const sinew_scene *scene,
                            const sinew_solver *solver, int first, int last, bool elsewhere,
                            sn_part_writer **part, sinew_error *error) {
    *part = NULL;
    bool single = sn_outputs_are_single(scene, solver);
    header head = {.version = VERSION,
                   .kind = elsewhere ? OUTPUT_FRAMES
                           : single  ? SINGLE_FRAMES
                                     : FRAMES,
                   .first = first,
                   .last = last};
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    SN_TRY(key_of(scene, solver, &head.scene, error));
    SN_TRY(sn_make_folder(folder, error));
    sn_part_writer *made = SN_NEW0(sn_part_writer, 1);
    char *path = file_in(folder, FRAMES_NAME, first, last);
    const sinew_rig *rig = sinew_solver_rig(solver);
    if (made && single) made->single = SN_NEW(float, 3 * (size_t)rig->neutral->vertex_count);
    sinew_status status = made && path && (made->single || !single)
                              ? sn_output_open(&made->output, path, error)
                              : sn_no_memory(error);
    sn_free(path);
    if (status != SINEW_OK) {
        if (made) sn_free(made->single);
        sn_free(made);
        return status;
    }
    made->vertices = rig->neutral->vertex_count, made->sliders = rig->slider_count;
    made->network = sn_model_outputs_network(solver);
    made->next = first, made->last = last;
    made->elsewhere = elsewhere;
    sn_checksum_start(&made->sum);
    put(made, &head, sizeof head);
    put_sum(made);
    *part = made;
    return SINEW_OK;
}

static void put_positions(sn_part_writer *part, const double *positions) {
    size_t count = 3 * (size_t)part->vertices;
    if (!part->single) {
        put(part, positions, count * sizeof *positions);
        return;
    }
    for (size_t i = 0; i < count; i++) part->single[i] = (float)positions[i];
    if (part->elsewhere)
        sn_checksum_add(&part->sum, part->single, count * sizeof *part->single);
    else
        put(part, part->single, count * sizeof *part->single);
}

float *sn_part_single(const sn_part_writer *part) {
    return part->single;
}

sinew_status sn_part_add(sn_part_writer *part, const sn_frame *frame, sinew_error *error) {
    char *text;
    SN_TRY(sn_json_text(frame->fields, JSON_COMPACT, &text, error));
    record r = {.index = frame->index,
                .status = (int32_t)frame->info.status,
                .iterations = frame->info.iterations,
                .inverted = frame->info.inverted,
                .contacts = frame->info.contacts,
                .network = frame->network ? part->network : 0,
                .listed = frame->inverted_count,
                .weights = frame->weights ? part->sliders : 0,
                .time = frame->info.time,
                .residual = frame->info.residual,
                .energy = frame->info.energy,
                .seconds = frame->info.seconds,
                .text = strlen(text)};
    put(part, &r, sizeof r);
    put_positions(part, frame->positions);
    put(part, frame->network, 3 * (size_t)r.network * sizeof(double));
    put(part, frame->inverted, (size_t)r.listed * sizeof(int));
    put(part, frame->weights, (size_t)r.weights * sizeof(double));
    put(part, text, r.text);
    put_sum(part);
    sn_free(text);
    sn_output_write_back(&part->output, &part->begun);
    return sn_output_check(&part->output, error);
}

sinew_status sn_part_close(sn_part_writer *part, sinew_error *error) {
    sinew_status status = sn_output_commit(&part->output, error);
    sn_free(part->single);
    sn_free(part);
    return status;
}

void sn_part_abandon(sn_part_writer *part) {
    if (!part) return;
    sn_output_abandon(&part->output);
    sn_free(part->single);
    sn_free(part);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

sinew_status sn_checkpoint_write(const char *folder, const sinew_scene *scene,
                                 const sinew_solver *solver, int next, sinew_error *error) {
    header head = {.version = VERSION, .kind = STATE, .first = next, .last = next};
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    void *bytes;
    size_t size;
    SN_TRY(key_of(scene, solver, &head.scene, error));
    SN_TRY(sinew_solver_save_state(solver, &bytes, &size, error));
    head.bytes = size;
    char *whole = sn_alloc(sizeof head + size, 1), *path = file_in(folder, STATE_NAME, next, 0);
    sinew_status status = whole && path ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        memcpy(whole, &head, sizeof head);
        memcpy(whole + sizeof head, bytes, size);
        status = sn_file_write(path, whole, sizeof head + size, error);
    }
    sinew_free(bytes);
    sn_free(whole), sn_free(path);
    return status;
}

sinew_status sn_checkpoint_read(const char *folder, const sinew_scene *scene, sinew_solver *solver,
                                int next, sinew_error *error) {
    int run;
    if (sinew_solver_past(solver, &run) != SINEW_PAST_ALL) return SINEW_OK; /* needs none */
    sinew_cache_key key;
    SN_TRY(key_of(scene, solver, &key, error));
    char *path = file_in(folder, STATE_NAME, next, 0), *bytes = NULL;
    size_t size;
    FILE *file;
    sinew_status status = path ? sn_file_open(path, &file, error) : sn_no_memory(error);
    if (status == SINEW_OK) {
        fclose(file);
        status = sn_file_read(path, &bytes, &size, error);
    }
    header head;
    if (status == SINEW_OK && size >= sizeof head) memcpy(&head, bytes, sizeof head);
    if (status == SINEW_OK &&
        (size < sizeof head || memcmp(head.magic, MAGIC, sizeof MAGIC) || head.kind != STATE ||
         head.version != VERSION || head.bytes != size - sizeof head || head.first != next))
        status = sn_fail(error, SINEW_BAD_INPUT, "%s: this is not a checkpoint for frame %d", path,
                         next);
    if (status == SINEW_OK && memcmp(&head.scene, &key, sizeof key))
        status = sn_fail(error, SINEW_BAD_INPUT, "%s: this checkpoint is of another scene", path);
    sinew_error why = {SINEW_OK, ""};
    if (status == SINEW_OK) {
        status = sinew_solver_load_state(solver, bytes + sizeof head, head.bytes, &why);
        if (status != SINEW_OK) sn_fail(error, status, "%s: %s", path, why.message);
    }
    sn_free(bytes), sn_free(path);
    return status;
}

/* ---- merging --------------------------------------------------------------------------------- */

typedef struct part {
    char *path;
    int first, last;
} part;

struct sn_part_list {
    int count;
    part *list;
    int frames; /* of the clip */
};

void sn_parts_close(sn_part_list *parts) {
    if (!parts) return;
    for (int i = 0; i < parts->count; i++) sn_free(parts->list[i].path);
    sn_free(parts->list);
    sn_free(parts);
}

static bool get(FILE *file, sn_checksum *sum, void *bytes, size_t size) {
    if (size == 0) return true;
    if (fread(bytes, 1, size, file) != size) return false;
    sn_checksum_add(sum, bytes, size);
    return true;
}

static bool get_sum(FILE *file, const sn_checksum *sum) {
    uint64_t stored;
    return fread(&stored, 1, sizeof stored, file) == sizeof stored &&
           stored == sn_checksum_value(sum);
}

static sinew_status damaged(const char *path, sinew_error *error) {
    return sn_fail(error, SINEW_BAD_INPUT, "%s: this part is damaged", path);
}

static sinew_status read_header(FILE *file, const char *path, const sinew_cache_key *key,
                                header *head, sinew_error *error) {
    sn_checksum sum;
    sn_checksum_start(&sum);
    if (!get(file, &sum, head, sizeof *head) || !get_sum(file, &sum) ||
        memcmp(head->magic, MAGIC, sizeof MAGIC) || head->kind == STATE)
        return damaged(path, error);
    if (head->version != VERSION)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: version %u, this library reads version %d",
                       path, head->version, VERSION);
    if (memcmp(&head->scene, key, sizeof *key))
        return sn_fail(error, SINEW_BAD_INPUT, "%s: this part is of another scene", path);
    return SINEW_OK;
}

static int by_first(const void *a, const void *b) {
    const part *p = a, *q = b;
    return (p->first > q->first) - (p->first < q->first);
}

static sinew_status list_parts(const char *folder, const sinew_cache_key *key, sn_part_list *parts,
                               sinew_error *error) {
    char **names;
    int count;
    SN_TRY(sn_folder_list(folder, &names, &count, error));
    parts->list = SN_NEW0(part, count);
    sinew_status status = parts->list ? SINEW_OK : sn_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        if (!sn_has_ending(names[i], "part")) continue;
        char *path = sn_path_join(folder, names[i]);
        if (!path) {
            status = sn_no_memory(error);
            break;
        }
        part *p = &parts->list[parts->count++];
        p->path = path;
        FILE *file;
        header head;
        status = sn_file_open(path, &file, error);
        if (status == SINEW_OK) status = read_header(file, path, key, &head, error);
        if (file) fclose(file);
        if (status == SINEW_OK) p->first = head.first, p->last = head.last;
    }
    for (int i = 0; i < count; i++) sn_free(names[i]);
    sn_free(names);
    return status;
}

/* Every frame of the clip outside the gap, once. */
static sinew_status check_parts(const char *folder, sn_frame_range gap, sn_part_list *parts,
                                sinew_error *error) {
    qsort(parts->list, (size_t)parts->count, sizeof *parts->list, by_first);
    bool open = gap.first <= gap.last;
    int next = open && gap.first == 0 ? gap.last + 1 : 0;
    for (int i = 0; i < parts->count; i++) {
        const part *p = &parts->list[i];
        if (p->first > next)
            return sn_fail(error, SINEW_BAD_INPUT, "%s: frame %d is missing", folder, next);
        if (p->first < next)
            return sn_fail(error, SINEW_BAD_INPUT, "%s: frame %d is also in %s", p->path, p->first,
                           i ? parts->list[i - 1].path : "another part");
        if (p->last < p->first || p->last >= parts->frames)
            return sn_fail(error, SINEW_BAD_INPUT, "%s: frames %d-%d: the clip has frames 0-%d",
                           p->path, p->first, p->last, parts->frames - 1);
        next = p->last + 1;
        if (open && next == gap.first) next = gap.last + 1;
    }
    if (next < parts->frames)
        return sn_fail(error, SINEW_BAD_INPUT, "%s: frame %d is missing", folder, next);
    return SINEW_OK;
}

sinew_status sn_parts_open(const char *folder, const sinew_scene *scene, const sinew_solver *solver,
                           sn_frame_range gap, sn_part_list **parts, sinew_error *error) {
    *parts = NULL;
    sinew_cache_key key;
    SN_TRY(key_of(scene, solver, &key, error));
    sn_part_list *made = SN_NEW0(sn_part_list, 1);
    if (!made) return sn_no_memory(error);
    made->frames = sn_solver_get_clip(solver)->frame_count;
    sinew_status status = list_parts(folder, &key, made, error);
    if (status == SINEW_OK) status = check_parts(folder, gap, made, error);
    if (status != SINEW_OK)
        sn_parts_close(made);
    else
        *parts = made;
    return status;
}

/* A part that is open for reading. */
typedef struct reading {
    FILE *file;
    sinew_frame_reader *home; /* has the positions; NULL: the part has them */
} reading;

static bool get_positions(const reading *from, int index, size_t count, sn_checksum *sum,
                          sn_frame *frame) {
    if (!frame->single)
        return get(from->file, sum, frame->positions, count * sizeof *frame->positions);
    if (!from->home) return get(from->file, sum, frame->single, count * sizeof *frame->single);
    sinew_frame_reader_info info = {.size = sizeof info};
    sinew_error ignored;
    if (sinew_frame_reader_get_info(from->home, &info) != SINEW_OK || index < 0 ||
        index >= info.frame_count ||
        sinew_frame_reader_read(from->home, index, frame->single, &ignored) != SINEW_OK)
        return false;
    sn_checksum_add(sum, frame->single, count * sizeof *frame->single);
    return true;
}

/* The next record into the frame. SINEW_BAD_INPUT: damaged. */
static sinew_status read_record(const reading *from, const sinew_solver *solver, sn_frame *frame) {
    FILE *file = from->file;
    const sinew_rig *rig = sinew_solver_rig(solver);
    size_t count = 3 * (size_t)rig->neutral->vertex_count;
    record r;
    sn_checksum sum;
    sn_checksum_start(&sum);
    if (!get(file, &sum, &r, sizeof r)) return SINEW_BAD_INPUT;
    if (r.network != (frame->network ? sn_model_outputs_network(solver) : 0) || r.listed < 0 ||
        r.listed > sn_model_outputs_elements(solver) ||
        r.weights != (frame->weights ? rig->slider_count : 0) || r.text > (1u << 30))
        return SINEW_BAD_INPUT;
    char *text = sn_alloc((size_t)r.text + 1, 1);
    if (!text) return SINEW_NO_MEMORY;
    bool good = get_positions(from, r.index, count, &sum, frame) &&
                get(file, &sum, frame->network, 3 * (size_t)r.network * sizeof(double)) &&
                get(file, &sum, frame->inverted, (size_t)r.listed * sizeof(int)) &&
                get(file, &sum, frame->weights, (size_t)r.weights * sizeof(double)) &&
                get(file, &sum, text, (size_t)r.text) && get_sum(file, &sum);
    sinew_status status = good ? SINEW_OK : SINEW_BAD_INPUT;
    if (good) {
        json_decref(frame->fields);
        sn_json_problem problem;
        frame->fields = sn_json_read(text, (size_t)r.text, &problem);
        if (!frame->fields) status = SINEW_NO_MEMORY; /* the checksum was right */
    }
    sn_free(text);
    frame->index = r.index;
    frame->inverted_count = r.listed;
    frame->info = (sinew_frame_info){.size = sizeof frame->info,
                                     .time = r.time,
                                     .status = (sinew_status)r.status,
                                     .iterations = r.iterations,
                                     .residual = r.residual,
                                     .energy = r.energy,
                                     .seconds = r.seconds,
                                     .inverted = r.inverted,
                                     .contacts = r.contacts};
    return status;
}

/* The output that has the positions of the part. */
static sinew_status open_home(const part *p, const sinew_scene *scene, const sinew_solver *solver,
                              sinew_frame_reader **home, sinew_error *error) {
    char *path = home_of(scene, solver);
    sinew_error ignored;
    sinew_frame_reader_info info = {.size = sizeof info};
    if (path && sn_is_cache_path(path)) sinew_frame_reader_open(path, home, &ignored);
    sinew_status status = SINEW_OK;
    if (!*home || sinew_frame_reader_get_info(*home, &info) != SINEW_OK ||
        info.vertex_count != sinew_solver_rig(solver)->neutral->vertex_count ||
        info.frame_count != sn_solver_get_clip(solver)->frame_count)
        status = sn_fail(error, SINEW_BAD_INPUT,
                         "%s: the positions of this part were in %s, which is missing or has "
                         "changed: compute the part again",
                         p->path, path ? path : "an output");
    sn_free(path);
    return status;
}

static sinew_status read_records(const part *p, const reading *from, const sinew_solver *solver,
                                 sn_frame *frame, sn_take_frame *take, void *user,
                                 sinew_error *error) {
    for (int k = p->first; k <= p->last; k++) {
        sinew_status found = read_record(from, solver, frame);
        if (found == SINEW_NO_MEMORY) return sn_no_memory(error);
        if (found != SINEW_OK || frame->index != k) return damaged(p->path, error);
        SN_TRY(take(user, frame, error));
    }
    return SINEW_OK;
}

static sinew_status read_part(const part *p, const sinew_cache_key *key, const sinew_scene *scene,
                              sinew_solver *solver, sn_frame *frame, sn_take_frame *take,
                              void *user, sinew_error *error) {
    reading from = {0};
    SN_TRY(sn_file_open(p->path, &from.file, error));
    header head;
    sinew_status status = read_header(from.file, p->path, key, &head, error);
    if (status == SINEW_OK && (head.kind != FRAMES) != (frame->single != NULL))
        status = damaged(p->path, error);
    if (status == SINEW_OK && head.kind == OUTPUT_FRAMES)
        status = open_home(p, scene, solver, &from.home, error);
    if (status == SINEW_OK) status = read_records(p, &from, solver, frame, take, user, error);
    sinew_frame_reader_close(from.home);
    fclose(from.file);
    return status;
}

/* Memory for the frames of parts, and the key that they must have. */
static sinew_status make_frame(const sinew_scene *scene, sinew_solver *solver, sn_frame *frame,
                               sinew_cache_key *key, sinew_error *error) {
    *frame = (sn_frame){.info = {.size = sizeof frame->info}};
    size_t count = 3 * (size_t)sinew_solver_rig(solver)->neutral->vertex_count;
    if (sn_outputs_are_single(scene, solver))
        frame->single = SN_NEW(float, count);
    else
        frame->positions = SN_NEW(double, count);
    if (!frame->single && !frame->positions) return sn_no_memory(error);
    SN_TRY(key_of(scene, solver, key, error));
    return sn_model_outputs_frame(scene, solver, frame, error);
}

sinew_status sn_parts_read(const sn_part_list *parts, sn_frame_range range,
                           const sinew_scene *scene, sinew_solver *solver, sn_take_frame *take,
                           void *user, const sinew_monitor *monitor, sinew_error *error) {
    sn_frame frame;
    sinew_cache_key key;
    sinew_status status = make_frame(scene, solver, &frame, &key, error);
    for (int i = 0; status == SINEW_OK && i < parts->count; i++) {
        const part *p = &parts->list[i];
        if (p->first < range.first || p->last > range.last) continue;
        sn_progress(monitor, (double)i / parts->count, "parts");
        status = sn_cancelled(monitor)
                     ? sn_fail(error, SINEW_CANCELLED, "cancelled")
                     : read_part(p, &key, scene, solver, &frame, take, user, error);
    }
    sn_frame_free(&frame);
    return status;
}

/* ---- checking -------------------------------------------------------------------------------- */

static sinew_status ignore_frame(void *user, sn_frame *frame, sinew_error *error) {
    (void)user, (void)frame, (void)error;
    return SINEW_OK;
}

/* SINEW_OK: the part is whole, and none of its frames is present yet. */
static sinew_status check_part(part *p, const sinew_cache_key *key, const sinew_scene *scene,
                               sinew_solver *solver, sn_frame *frame, const bool *present,
                               sinew_error *error) {
    FILE *file;
    header head;
    SN_TRY(sn_file_open(p->path, &file, error));
    sinew_status status = read_header(file, p->path, key, &head, error);
    fclose(file);
    SN_TRY(status);
    p->first = head.first, p->last = head.last;
    if (p->first < 0 || p->last < p->first || p->last >= sn_solver_get_clip(solver)->frame_count)
        return damaged(p->path, error);
    for (int k = p->first; k <= p->last; k++)
        if (present[k]) return damaged(p->path, error);
    return read_part(p, key, scene, solver, frame, ignore_frame, NULL, error);
}

static sinew_status check_or_remove(const char *path, const sinew_cache_key *key,
                                    const sinew_scene *scene, sinew_solver *solver, sn_frame *frame,
                                    bool *present, sinew_error *error) {
    part p = {.path = sn_strdup(path)};
    sinew_error why;
    if (!p.path) return sn_no_memory(error);
    sinew_status status = check_part(&p, key, scene, solver, frame, present, &why);
    if (status == SINEW_OK)
        for (int k = p.first; k <= p.last; k++) present[k] = true;
    else if (status == SINEW_BAD_INPUT)
        status =
            remove(path) == 0 ? SINEW_OK : sn_fail(error, SINEW_IO, "%s: cannot be removed", path);
    else if (error)
        *error = why;
    sn_free(p.path);
    return status;
}

sinew_status sn_parts_check(const char *folder, const sinew_scene *scene, sinew_solver *solver,
                            bool *present, const sinew_monitor *monitor, sinew_error *error) {
    char **names;
    int count;
    sinew_cache_key key;
    sn_frame frame;
    memset(present, 0, (size_t)sn_solver_get_clip(solver)->frame_count * sizeof *present);
    if (!sn_file_exists(folder)) return SINEW_OK;
    SN_TRY(sn_folder_list(folder, &names, &count, error));
    sinew_status status = make_frame(scene, solver, &frame, &key, error);
    for (int i = 0; status == SINEW_OK && i < count; i++) {
        if (!sn_has_ending(names[i], "part")) continue;
        sn_progress(monitor, (double)i / count, "parts");
        char *path = sn_path_join(folder, names[i]);
        status = !path ? sn_no_memory(error)
                 : sn_cancelled(monitor)
                     ? sn_fail(error, SINEW_CANCELLED, "cancelled")
                     : check_or_remove(path, &key, scene, solver, &frame, present, error);
        sn_free(path);
    }
    sn_frame_free(&frame);
    sn_names_free(names, count);
    return status;
}
