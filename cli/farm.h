/* sinew farm: the shots of a manifest as parts in a work folder, run by a backend.
 *
 *   DIR/farm.lock             held while a farm works in the folder
 *   DIR/farm.json             the table and the measured costs, renewed while it runs
 *   DIR/index.html            the same as a page
 *   DIR/NAME/scene.json       the scene of the shot with its overrides
 *   DIR/NAME/parts/           what sinew run --part writes
 *   DIR/NAME/task-*.txt       what a failed task printed
 *   DIR/NAME/sheet.png        contact sheet of a finished shot
 *   DIR/batches, DIR/results  tasks for the nodes of a scheduler, and what they came to
 *
 *   farm_manifest.c   reads and checks the manifest
 *   farm_plan.c       what frames cost, and how shots are cut into chunks
 *   farm_schedule.c   decides which task is next, and what the end of one means
 *   farm_backend.h    runs tasks: farm_local.c, farm_slurm.c; shared in farm_process.c
 *   farm_table.c      the table, in the folder and on the terminal
 *   farm_page.c       the page */
#ifndef CLI_FARM_H
#define CLI_FARM_H

#include "farm_backend.h"
#include "verb.h"

/* What a shot needs next. */
typedef enum farm_stage {
    FARM_PLAN,   /* find out which frames are missing, and compute the first of them */
    FARM_FRAMES, /* compute them */
    FARM_MERGE,  /* join the parts into the outputs */
    FARM_DONE,
    FARM_FAILED
} farm_stage;

/* Frames first..last of a shot. */
typedef struct farm_chunk {
    int first, last;
    bool started, done;
    int attempts;
    bool afresh; /* the checkpoint before it cannot be used */
} farm_chunk;

/* What a task of a structure costs: of scenes that differ in their curves, time and outputs only.
 */
typedef struct farm_cost {
    char key[20];
    int frames;           /* measured so far; 0: none */
    double frame_seconds; /* of all these together */
    double setup_seconds; /* of a process before its first frame; the shortest seen */
    bool probing;         /* its first chunk is at work */
} farm_cost;

typedef struct farm_shot {
    char *name;
    char *original;    /* path of the scene that the manifest names */
    json_t *overrides; /* JSON Patch, or NULL */
    char *scene;       /* DIR/NAME/scene.json */
    char *source;      /* folder that paths in the scene are relative to */
    char *folder;      /* DIR/NAME */
    char *parts;       /* DIR/NAME/parts */
    farm_stage stage;
    int cost;        /* index of its structure in farm.costs */
    int running;     /* tasks submitted and not ended */
    bool active;     /* one of them was running when the table was written */
    int attempts;    /* of planning and merging */
    bool careful;    /* the plan must not compute anything: that failed */
    int repairs;     /* merges that found damaged parts */
    int tasks;       /* processes started for it in this call */
    bool chained;    /* frames depend on all earlier ones: chunks run in order */
    int run;         /* frames that are solved together; chunks should not divide them */
    json_t *missing; /* ranges [first, last] of frames that no chunk has yet */
    farm_chunk **chunks;
    size_t chunk_capacity;
    int chunk_count;
    int frames, done, failed; /* frames of the clip; frames in parts; frames of failed chunks */
    json_t *slack;            /* ranges of frames that did not reach the tolerance */
    bool sheet;               /* it has a contact sheet */
    double seconds;           /* wall-clock time of its tasks, added up */
    double processor;         /* processor time of its tasks */
    char reason[512];         /* why it failed or did not converge; "" */
} farm_shot;

typedef struct farm {
    cli_call *call;
    char *folder; /* DIR, from the root */
    int shot_count;
    farm_shot *shots;
    const farm_backend *backend;
    farm_resources resources;
    int chunk;            /* frames; 0: chosen for each shot */
    double chunk_seconds; /* wanted length of a chunk */
    bool allow_outside, sheets;
    farm_cost *costs;
    size_t cost_capacity;
    int cost_count;
    json_t *cost_index; /* key -> index in costs */
    farm_task **tasks;  /* submitted and not ended */
    int task_count;
    int first_open;          /* shots before it are done or failed */
    int first_new;           /* shots from it on have had no task yet */
    int running, workers;    /* tasks seen running: at last, at most */
    bool changed;            /* tasks started or ended since the last save */
    double began, saved;     /* cli_now() at the start and at the last save */
    double save_seconds;     /* that the last save took */
    double save_processor;   /* of these, processor time */
    double shown;            /* and when progress was shown last */
    int overhead_tasks;      /* plans and merges that ended */
    double overhead_seconds; /* of these */
} farm;

/* Reads and checks the manifest; writes nothing. */
sinew_status farm_read(farm *f, const char *manifest);
/* Writes the scene of every shot, with its overrides, into the folder of the shot. A shot whose
 * scene is unusable becomes FARM_FAILED. */
sinew_status farm_write_scenes(farm *f);
void farm_free(farm *f);

/* The index of the cost with this key, which is added when it is new; -1: no memory. */
int farm_find_cost(farm *f, const char *key);
/* Adds what the chunk measured; the report is the one of sinew run --part. */
void farm_add_cost(farm_cost *cost, const json_t *report);
/* Reads the plan of the shot from the report of sinew merge --missing. */
bool farm_take_plan(farm_shot *shot, const json_t *report);
/* The next chunk of the shot that has not started; it may be cut now. NULL: there is none, or, with
 * *failed, no memory. */
farm_chunk *farm_next_chunk(farm *f, farm_shot *shot, bool *failed);
/* Estimate of the seconds until all shots are done; negative: not known yet. */
double farm_seconds_left(const farm *f);

/* Runs the tasks of all shots. SINEW_CANCELLED: interrupted, no task is left running. */
sinew_status farm_run(farm *f);

/* Renews DIR/farm.json and the page. */
sinew_status farm_save(farm *f, sinew_error *error);
/* The costs of an earlier call, if any. */
void farm_load_costs(farm *f);
/* Prints the table, adds it to the report and returns SINEW_NOT_CONVERGED when a shot is
 * incomplete or did not converge. */
sinew_status farm_finish(const farm *f);
/* The same from DIR/farm.json, with what is left to do. most: rows; 0: all. */
sinew_status farm_print_status(cli_call *call, const char *folder, bool running, int most);

/* Writes the table as DIR/index.html. running: a farm is at work, the page reloads itself. */
sinew_status farm_write_page(const json_t *table, const char *folder, bool running,
                             sinew_error *error);

#endif
