/* sinew farm: many shots, cut into parts, on the processors of this machine or on a scheduler. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "farm.h"
#include "files.h"
#include "frame.h"
#include "sinew/job.h"

enum { MOST_JOBS = 10000, MOST_PROCESSES = 64 };
static const double CHUNK_SECONDS = 10, PATIENCE_SECONDS = 300, WATCH_SECONDS = 1;

static const cli_option options[] = {
    {"--out", CLI_TEXT, "DIR", "Work folder for parts, checkpoints and the table; required.", 0, 0,
     false},
    {"--jobs", CLI_INTEGER, "N",
     "Tasks at a time: processes on this machine (default: one per processor), or tasks in the "
     "queue of Slurm (default: 256).",
     1, MOST_JOBS, false},
    {"--backend", CLI_CHOICE, "local|slurm",
     "Where tasks run: as processes on this machine, or as job arrays of Slurm (default: local).",
     0, 0, false},
    {"--watch", CLI_FLAG, NULL, "With 'status': refresh the table until the farm has ended.", 0, 0,
     false},
    {"--no-sheets", CLI_FLAG, NULL, "Do not draw contact sheets of finished shots.", 0, 0, false},
    {"--allow-outside", CLI_FLAG, NULL,
     "Let the manifest name scenes outside its folder, and scenes write outside theirs; only for "
     "manifests that you trust.",
     0, 0, false},
    CLI_GROUP("Tasks"),
    {"--chunk-seconds", CLI_NUMBER, "SECONDS",
     "Target duration of a task; the number of frames follows from the measured cost of a frame "
     "(default: 10).",
     0.01, 86400, false},
    {"--chunk", CLI_INTEGER, "FRAMES", "Frames per task, instead of measuring.", 1,
     SINEW_JOB_MAX_FRAMES, false},
    {"--time", CLI_NUMBER, "MINUTES",
     "Wall-clock limit of a task, after which it is stopped and tried again (default: none).", 0.01,
     1e6, false},
    CLI_GROUP("Slurm"),
    {"--partition", CLI_TEXT, "NAME", "Partition (default: that of the cluster).", 0, 0, false},
    {"--account", CLI_TEXT, "NAME", "Account (default: yours).", 0, 0, false},
    {"--memory", CLI_INTEGER, "MB", "Memory to reserve for a task (default: that of the cluster).",
     1, 1e8, false},
    {"--gpus", CLI_INTEGER, "N", "GPUs to reserve for a task (default: 0).", 0, 64, false},
    {"--node-command", CLI_TEXT, "PATH",
     "Path of this command on the nodes (default: its path on this machine).", 0, 0, false},
    {"--patience", CLI_NUMBER, "SECONDS",
     "How long to wait for a scheduler that does not respond (default: 300).", 0, 1e6, false},
    CLI_END,
};

/* The lock of the folder, held until the process ends. -1: another farm holds it, or the file
 * cannot be opened (errno). */
static int lock_folder(const char *folder, int flags) {
    char *path = cli_path_join(folder, "farm.lock");
    if (!path) {
        errno = ENOMEM;
        return -1;
    }
    int lock = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    sinew_free(path);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
        int failure = errno;
        close(lock);
        errno = failure;
        return -1;
    }
    return lock;
}

static bool is_running(const char *folder) {
    int lock = lock_folder(folder, O_RDONLY);
    bool running = lock < 0 && errno == EWOULDBLOCK;
    if (lock >= 0) close(lock);
    return running;
}

/* Rows of the terminal that are free for the table; 0: no terminal. */
static int screen_rows(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_row > 8 ? size.ws_row - 4 : 4;
}

/* A terminal shows the table in place; elsewhere tables follow each other. */
static sinew_status watch(cli_call *call, const char *folder) {
    while (is_running(folder)) {
        int rows = screen_rows();
        if (rows) printf("\033[H\033[2J");
        sinew_status status = farm_print_status(call, folder, true, rows);
        if (status != SINEW_OK && status != SINEW_NOT_CONVERGED) return status;
        fflush(stdout);
        for (double end = cli_now() + WATCH_SECONDS; cli_now() < end;) {
            if (cli_interrupted()) return sinew_fail(&call->error, SINEW_CANCELLED, "cancelled");
            nanosleep(&(struct timespec){0, 50000000}, NULL);
        }
    }
    return farm_print_status(call, folder, false, 0);
}

static sinew_status print_status(cli_call *call) {
    const char *folder = call->arguments[1];
    if (!cli_is_folder(folder))
        return sinew_fail(&call->error, SINEW_IO, "%s: no such folder", folder);
    if (cli_given(call, "--watch")) return watch(call, folder);
    return farm_print_status(call, folder, is_running(folder), 0);
}

static sinew_status run_locked(farm *f) {
    farm_load_costs(f);
    CLI_TRY(farm_write_scenes(f));
    CLI_TRY(farm_run(f));
    return farm_finish(f);
}

static sinew_status run_manifest(farm *f) {
    cli_call *call = f->call;
    CLI_TRY(farm_read(f, call->arguments[0]));
    CLI_TRY(sinew_folder_create(f->folder, &call->error));
    int lock = lock_folder(f->folder, O_RDWR | O_CREAT);
    if (lock < 0 && errno == EWOULDBLOCK)
        return sinew_fail(&call->error, SINEW_UNAVAILABLE,
                          "%s: another farm is running in this folder", f->folder);
    if (lock < 0)
        return sinew_fail(&call->error, SINEW_IO, "%s: cannot lock the folder: %s", f->folder,
                          strerror(errno));
    sinew_status status = run_locked(f);
    close(lock);
    return status;
}

/* The path of this command, for the nodes. */
static char *own_path(const cli_call *call) {
    const char *given = cli_text(call, "--node-command");
    return given ? cli_strdup(given) : sinew_file_real_path("/proc/self/exe");
}

static sinew_status run_farm(cli_call *call) {
    static const char *const names[] = {"local", "slurm"};
    if (!cli_given(call, "--out")) return cli_usage(call, "needs --out DIR, the work folder");
    const farm_backend *backend = farm_find_backend(names[cli_choice(call, "--backend", 0)]);
    bool local = backend == &farm_local;
    static const char *const remote[] = {"--partition", "--account",      "--memory",
                                         "--gpus",      "--node-command", "--patience"};
    for (size_t i = 0; local && i < sizeof remote / sizeof *remote; i++)
        if (cli_given(call, remote[i]))
            return cli_usage(call, "%s has no effect on processes of this machine; see --backend",
                             remote[i]);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 1) processors = 1;
    int most = processors < MOST_PROCESSES ? (int)processors : MOST_PROCESSES;
    int jobs = cli_integer(call, "--jobs", backend->jobs ? backend->jobs : most);
    if (local && jobs > MOST_PROCESSES)
        return cli_usage(call, "--jobs: at most %d processes on this machine", MOST_PROCESSES);
    int share = local ? (int)(processors / jobs) : 1;
    char *folder = cli_absolute_path(cli_text(call, "--out")), *program = own_path(call);
    farm f = {.call = call,
              .folder = folder ? sinew_file_real_path(folder) : NULL,
              .backend = backend,
              .workers = local ? jobs : 1,
              .chunk = cli_integer(call, "--chunk", 0),
              .chunk_seconds = cli_number(call, "--chunk-seconds", CHUNK_SECONDS),
              .allow_outside = cli_given(call, "--allow-outside"),
              .sheets = !cli_given(call, "--no-sheets")};
    f.resources = (farm_resources){.jobs = jobs,
                                   .threads = cli_integer(call, "--threads", share > 1 ? share : 1),
                                   .partition = cli_text(call, "--partition"),
                                   .account = cli_text(call, "--account"),
                                   .minutes = cli_number(call, "--time", 0),
                                   .memory = cli_integer(call, "--memory", 0),
                                   .gpus = cli_integer(call, "--gpus", 0),
                                   .patience = cli_number(call, "--patience", PATIENCE_SECONDS),
                                   .folder = f.folder,
                                   .program = program,
                                   .call = call};
    sinew_status status = f.folder && program ? run_manifest(&f) : cli_no_memory(&call->error);
    farm_free(&f);
    sinew_free(folder), sinew_free(program);
    return status;
}

static sinew_status run(cli_call *call) {
    const char *word = call->arguments[0];
    bool status = call->argument_count == 2 && !strcmp(word, "status");
    if (cli_given(call, "--watch") && !status)
        return cli_usage(call, "--watch works only with 'sinew farm status DIR'");
    if (status) return print_status(call);
    if (call->argument_count == 3 && !strcmp(word, "task"))
        return farm_batch_run(call, call->arguments[1], call->arguments[2]);
    if (call->argument_count > 1)
        return cli_usage(call, "unexpected argument '%s'; see 'sinew farm --help'",
                         call->arguments[1]);
    return run_farm(call);
}

const cli_verb verb_farm = {
    .name = "farm",
    .summary = "run the shots of a manifest in parallel, and resume what was interrupted",
    .arguments = "MANIFEST.json | status DIR",
    .minimum = 1,
    .maximum = 3,
    .options = options,
    .description =
        "Run many shots in parallel, on this machine or on a Slurm cluster, and resume them after "
        "an interruption.\n\n"
        "The manifest lists shots, each a scene with optional overrides: {\"farm\": 1, \"shots\": "
        "[{\"name\": \"s01\", \"scene\": \"scene.json\", \"overrides\": [JSON Patch "
        "operations]}]}. "
        "You can also pass a single scene file. The farm cuts every clip into chunks, runs them, "
        "and merges them into the outputs of the scene. The result is bit-identical to that of "
        "'sinew run'.\n\n"
        "Run the same command again after an interruption: only frames that are missing or damaged "
        "are computed. A failed chunk is tried three times; a shot that fails does not stop the "
        "others. Tasks always run with --strict. The exit code is 1 if any shot is incomplete or "
        "did not converge. 'sinew farm status DIR' prints the table at any time, with an estimate "
        "of the time left; index.html in the work folder shows it with pictures.\n\n"
        "docs/farm.md describes the manifest, the work folder and the limits.",
    .example = "sinew blend --sample bar --model rotation --steps 12 --out bar.pc2 --scene-out "
               "bar.json\n"
               "sinew farm bar.json --out work --jobs 2 --chunk 4\n"
               "sinew farm status work\n",
    .run = run,
};
