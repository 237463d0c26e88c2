/* sinew farm: the shots of a manifest as parts in a work folder, run by processes on this machine.
 *
 *   DIR/farm.lock             held while a farm works in the folder
 *   DIR/farm.json             the table, renewed after every task
 *   DIR/NAME/scene.json       the scene of the shot with its overrides
 *   DIR/NAME/parts/           what sinew run --part writes
 *   DIR/NAME/task-*.txt       what a failed task printed
 *
 *   farm_manifest.c   reads and checks the manifest
 *   farm_schedule.c   plans the tasks of every shot and runs them
 *   farm_table.c      the table, in the folder and on the terminal */
#ifndef CLI_FARM_H
#define CLI_FARM_H

#include "verb.h"

/* What a shot needs next. */
typedef enum farm_stage {
    FARM_PLAN,   /* find out which frames are missing */
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

typedef struct farm_shot {
    char *name;
    char *original;    /* path of the scene that the manifest names */
    json_t *overrides; /* JSON Patch, or NULL */
    char *scene;       /* DIR/NAME/scene.json */
    char *source;      /* folder that paths in the scene are relative to */
    char *folder;      /* DIR/NAME */
    char *parts;       /* DIR/NAME/parts */
    farm_stage stage;
    int running;  /* tasks at work */
    int attempts; /* of planning and merging */
    int tasks;    /* processes started for it in this call */
    bool chained; /* frames depend on all earlier ones: one chunk at a time, in order */
    farm_chunk *chunks;
    int chunk_count;
    int frames, done, failed; /* frames of the clip; frames in parts; frames of failed chunks */
    bool unconverged;         /* complete, but some frame did not reach the tolerance */
    double seconds;           /* wall-clock time of its tasks, added up */
    char reason[512];         /* why it failed or did not converge; "" */
} farm_shot;

typedef struct farm {
    cli_call *call;
    const char *folder; /* DIR */
    int shot_count;
    farm_shot *shots;
    int jobs;    /* processes at a time */
    int threads; /* of each */
    int chunk;   /* frames; 0: chosen for each shot */
    bool allow_outside;
} farm;

/* Reads and checks the manifest; writes nothing. */
sinew_status farm_read(farm *f, const char *manifest);
/* Writes the scene of every shot, with its overrides, into the folder of the shot. A shot whose
 * scene is unusable becomes FARM_FAILED. */
sinew_status farm_write_scenes(farm *f);
void farm_free(farm *f);

/* Runs the tasks of all shots. SINEW_CANCELLED: interrupted, no task is left running. */
sinew_status farm_run(farm *f);

/* Renews DIR/farm.json. */
sinew_status farm_save(const farm *f, sinew_error *error);
/* Prints the table, adds it to the report and returns SINEW_NOT_CONVERGED when a shot is
 * incomplete or did not converge. */
sinew_status farm_finish(const farm *f);
/* The same from DIR/farm.json. */
sinew_status farm_print_status(cli_call *call, const char *folder, bool running);

#endif
