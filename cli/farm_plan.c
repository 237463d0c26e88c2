/* What frames cost, and how shots are cut into chunks.
 *
 * A chunk is a process that reads the rig and its structure again, so that it should not be too
 * short; a chunk that dies is lost, so that it should not be long. The first task of a shot finds
 * out which frames are missing and computes as many of them as fit into chunk_seconds. A short shot
 * is done with that. Otherwise it has measured s seconds to set up and t seconds a frame, and the
 * rest is cut: chunks have chunk_seconds / t frames. Where s is large they are longer, so that
 * setting up stays below a fortieth; towards the end of the work they are shorter, so that all
 * processes end together. Each chunk that ends makes the measurement better, and it is kept for
 * later calls. */
#include <math.h>
#include <string.h>

#include "farm.h"
#include "parts.h"
#include "sinew/job.h"

enum { CHUNKS_PER_WORKER = 2 };
enum { UNKNOWN_FRAMES = 16 }; /* of a chunk whose cost has not been measured */
/* Towards the end of the work, chunks become shorter down to these: setting up again must not cost
 * more than waiting for the last process. */
static const double LEAST_SETUPS_PER_CHUNK = 5, LEAST_OF_CHUNK = 1.0 / 16;

int farm_find_cost(farm *f, const char *key) {
    const json_t *known = json_object_get(f->cost_index, key);
    if (known) return (int)json_integer_value(known);
    if (!f->cost_index) f->cost_index = json_object();
    if (!CLI_RESERVE(f->costs, f->cost_capacity, f->cost_count + 1) ||
        json_object_set_new(f->cost_index, key, json_integer(f->cost_count)))
        return -1;
    farm_cost *cost = &f->costs[f->cost_count];
    *cost = (farm_cost){0};
    snprintf(cost->key, sizeof cost->key, "%s", key);
    return f->cost_count++;
}

void farm_add_cost(farm_cost *cost, const json_t *report) {
    const json_t *part = json_object_get(report, "part");
    int frames = (int)json_integer_value(json_object_get(part, "frames"));
    if (frames < 1) return;
    double setup = 1e-3 * json_number_value(json_object_get(part, "setup_ms"));
    /* The first task may have computed the structure that the others read from the cache. */
    cost->setup_seconds = cost->frames ? fmin(cost->setup_seconds, setup) : setup;
    cost->frames += frames;
    cost->frame_seconds += 1e-3 * json_number_value(json_object_get(part, "frames_ms"));
}

static double frame_seconds(const farm_cost *cost) {
    return cost->frames ? fmax(1e-6, cost->frame_seconds / cost->frames) : 0;
}

/* Seconds of one process for the frames that are left in the shot. */
static double shot_seconds(const farm *f, const farm_shot *shot) {
    const farm_cost *cost = &f->costs[shot->cost];
    double work = (shot->frames - shot->done) * frame_seconds(cost);
    return work + cost->setup_seconds * ceil(work / fmax(f->chunk_seconds, 1e-3));
}

static bool is_open(const farm_shot *shot) {
    return shot->stage != FARM_DONE && shot->stage != FARM_FAILED;
}

double farm_seconds_left(const farm *f) {
    double sum = 0, chain = 0, known_frames = 0;
    int planned = 0, unplanned = 0, open = 0;
    for (int i = 0; i < f->shot_count; i++) {
        const farm_shot *shot = &f->shots[i];
        planned += shot->frames > 0;
        known_frames += shot->frames;
        if (!is_open(shot)) continue;
        open++;
        if (shot->stage == FARM_PLAN) {
            unplanned++;
            continue;
        }
        /* A shot whose structure has not been measured: nothing is known. */
        if (shot->done < shot->frames && !f->costs[shot->cost].frames) return -1;
        double work = shot_seconds(f, shot);
        sum += work;
        if (shot->chained) chain = fmax(chain, work);
    }
    if (open && !planned) return -1;
    /* Shots that are not planned yet are taken for the average of the others. */
    double frames = known_frames / fmax(planned, 1), seconds = 0;
    int measured = 0;
    for (int i = 0; i < f->cost_count; i++) {
        seconds += frame_seconds(&f->costs[i]);
        measured += f->costs[i].frames > 0;
    }
    if (unplanned && !measured) return -1;
    sum += unplanned * frames * seconds / fmax(measured, 1);
    if (f->overhead_tasks) sum += (open + unplanned) * f->overhead_seconds / f->overhead_tasks;
    return fmax(sum / fmax(f->workers, 1), chain);
}

/* Length of the next chunk in frames. */
static int chunk_size(const farm *f, const farm_shot *shot) {
    const farm_cost *cost = &f->costs[shot->cost];
    if (f->chunk) return f->chunk;
    if (!cost->frames) return UNKNOWN_FRAMES;
    double setup = cost->setup_seconds;
    double wanted = fmin(fmax(f->chunk_seconds, CLI_SETUPS_PER_PART * setup),
                         CLI_LONGEST_PART * f->chunk_seconds);
    double left = farm_seconds_left(f);
    if (!shot->chained && left >= 0 && f->workers > 1) {
        double least = fmax(LEAST_SETUPS_PER_CHUNK * setup, LEAST_OF_CHUNK * f->chunk_seconds);
        wanted = fmin(wanted, fmax(least, left / CHUNKS_PER_WORKER));
    }
    if (!shot->chained) wanted = fmax(wanted, f->backend->shortest_seconds);
    return (int)fmin(fmax(1, ceil(wanted / frame_seconds(cost))), 1e6);
}

/* The last frame of a chunk of `size` frames from `first` on. Chunks of a given size start at its
 * multiples, so that a call that resumes cuts as the one before it did. A chunk that starts within
 * a run would compute the start of the run again. */
static int chunk_last(const farm *f, const farm_shot *shot, int first, int end) {
    int size = chunk_size(f, shot), run = shot->run > 1 ? shot->run : 1;
    size = (size + run - 1) / run * run;
    int grid = f->chunk ? size : run, last = first + size;
    last -= last % grid;
    if (last <= first) last = (first / grid + 1) * grid;
    return last - 1 < end ? last - 1 : end;
}

static farm_chunk *cut(farm *f, farm_shot *shot, bool *failed) {
    json_t *range = json_array_get(shot->missing, 0);
    int first = (int)json_integer_value(json_array_get(range, 0));
    int end = (int)json_integer_value(json_array_get(range, 1));
    farm_chunk *chunk = CLI_NEW(farm_chunk, 1);
    if (!chunk || !CLI_RESERVE(shot->chunks, shot->chunk_capacity, shot->chunk_count + 1)) {
        sinew_free(chunk);
        *failed = true;
        return NULL;
    }
    shot->chunks[shot->chunk_count++] = chunk;
    chunk->first = first;
    chunk->last = chunk_last(f, shot, first, end);
    if (chunk->last == end)
        json_array_remove(shot->missing, 0);
    else
        json_array_set_new(range, 0, json_integer(chunk->last + 1));
    return chunk;
}

farm_chunk *farm_next_chunk(farm *f, farm_shot *shot, bool *failed) {
    farm_chunk *chunk = NULL;
    for (int i = 0; i < shot->chunk_count && !chunk; i++)
        if (!shot->chunks[i]->started && !shot->chunks[i]->done) chunk = shot->chunks[i];
    if (!chunk && json_array_size(shot->missing)) chunk = cut(f, shot, failed);
    return chunk;
}

/* A list of ranges [first, last] in order within the clip. */
static bool are_ranges(const json_t *list, int frames) {
    json_int_t next = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *range = json_array_get(list, i);
        json_int_t first = json_integer_value(json_array_get(range, 0));
        json_int_t last = json_integer_value(json_array_get(range, 1));
        if (json_array_size(range) != 2 || first < next || last < first || last >= frames)
            return false;
        next = last + 1;
    }
    return json_is_array(list);
}

bool farm_take_plan(farm_shot *shot, const json_t *report) {
    const json_t *clip = json_object_get(report, "clip");
    json_t *missing = json_object_get(clip, "missing");
    const char *past = json_string_value(json_object_get(clip, "past"));
    json_int_t frames = json_integer_value(json_object_get(clip, "frames"));
    if (!past || frames < 1 || frames > SINEW_JOB_MAX_FRAMES || !are_ranges(missing, (int)frames))
        return false;
    for (int i = 0; i < shot->chunk_count; i++) sinew_free(shot->chunks[i]);
    shot->chunk_count = 0;
    shot->frames = shot->done = (int)frames;
    shot->run = (int)json_integer_value(json_object_get(clip, "run"));
    shot->chained = !strcmp(past, "all");
    for (size_t i = 0; i < json_array_size(missing); i++) {
        const json_t *range = json_array_get(missing, i);
        shot->done -= (int)(json_integer_value(json_array_get(range, 1)) -
                            json_integer_value(json_array_get(range, 0)) + 1);
    }
    json_decref(shot->missing);
    shot->missing = json_incref(missing);
    return true;
}
