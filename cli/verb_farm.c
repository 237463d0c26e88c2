/* sinew farm: many shots, cut into parts, on the processors of this machine. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "farm.h"

enum { MOST_JOBS = 64 };

static const cli_option options[] = {
    {"--out", CLI_TEXT, "DIR", "work folder for parts, checkpoints and the table; required", 0, 0,
     false},
    {"--jobs", CLI_INTEGER, "N", "processes at a time (default: one per processor)", 1, MOST_JOBS,
     false},
    {"--chunk", CLI_INTEGER, "FRAMES",
     "frames per task (default: the clip divided by twice the number of processes, at least 16 and "
     "at most 240; 48 where frames depend on earlier ones)",
     1, SINEW_JOB_MAX_FRAMES, false},
    {"--allow-outside", CLI_FLAG, NULL,
     "let the manifest name scenes outside its folder, and scenes write outside theirs; for "
     "manifests that you trust",
     0, 0, false},
    CLI_END,
};

/* The lock of the folder, held until the process ends. -1: another farm holds it, or the file
 * cannot be opened (errno). */
static int lock_folder(const char *folder, int flags) {
    char *path = sn_path_join(folder, "farm.lock");
    if (!path) {
        errno = ENOMEM;
        return -1;
    }
    int lock = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    sn_free(path);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
        int failure = errno;
        close(lock);
        errno = failure;
        return -1;
    }
    return lock;
}

static sinew_status print_status(cli_call *call) {
    const char *folder = call->arguments[1];
    if (!sn_is_folder(folder))
        return sn_fail(&call->error, SINEW_IO, "%s: there is no such folder", folder);
    int lock = lock_folder(folder, O_RDONLY);
    bool running = lock < 0 && errno == EWOULDBLOCK;
    if (lock >= 0) close(lock);
    return farm_print_status(call, folder, running);
}

static sinew_status run_locked(farm *f) {
    SN_TRY(farm_write_scenes(f));
    SN_TRY(farm_run(f));
    return farm_finish(f);
}

static sinew_status run_manifest(farm *f) {
    cli_call *call = f->call;
    SN_TRY(farm_read(f, call->arguments[0]));
    SN_TRY(sn_make_folder(f->folder, &call->error));
    int lock = lock_folder(f->folder, O_RDWR | O_CREAT);
    if (lock < 0 && errno == EWOULDBLOCK)
        return sn_fail(&call->error, SINEW_UNAVAILABLE,
                       "%s: another farm is running in this folder", f->folder);
    if (lock < 0)
        return sn_fail(&call->error, SINEW_IO, "%s: cannot be locked: %s", f->folder,
                       strerror(errno));
    sinew_status status = run_locked(f);
    close(lock);
    return status;
}

static sinew_status run(cli_call *call) {
    if (call->argument_count == 2) {
        if (strcmp(call->arguments[0], "status"))
            return cli_usage(call, "unexpected argument '%s'; see 'sinew farm --help'",
                             call->arguments[1]);
        return print_status(call);
    }
    if (!cli_given(call, "--out")) return cli_usage(call, "needs --out DIR, the work folder");
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 1) processors = 1;
    int most = processors < MOST_JOBS ? (int)processors : MOST_JOBS;
    farm f = {.call = call,
              .folder = cli_text(call, "--out"),
              .jobs = cli_integer(call, "--jobs", most),
              .chunk = cli_integer(call, "--chunk", 0),
              .allow_outside = cli_given(call, "--allow-outside")};
    int share = (int)(processors / f.jobs);
    f.threads = cli_integer(call, "--threads", share > 1 ? share : 1);
    sinew_status status = run_manifest(&f);
    farm_free(&f);
    return status;
}

const cli_verb verb_farm = {
    .name = "farm",
    .summary = "run the shots of a manifest in parallel, and resume what was interrupted",
    .arguments = "MANIFEST.json | status DIR",
    .minimum = 1,
    .maximum = 2,
    .options = options,
    .description =
        "Run many shots with several processes on this machine. The manifest lists shots, each a "
        "scene with optional overrides: {\"farm\": 1, \"shots\": [{\"name\": \"s01\", \"scene\": "
        "\"scene.json\", \"overrides\": [JSON Patch operations]}]}. A scene file in its place is a "
        "manifest of one shot. The farm cuts every clip into "
        "chunks, runs them, and merges them into the outputs of the scene. The result is the same "
        "as that of sinew run, bit for bit.\n\n"
        "Run the same command again after an interruption: only frames that are missing or damaged "
        "are computed. A failed chunk is tried three times; a shot that fails does not stop the "
        "others. Tasks always run with --strict. The exit code is 1 if any shot is incomplete or "
        "did not converge. 'sinew farm status DIR' prints the table at any time.\n\n"
        "docs/farm.md describes the manifest, the work folder and the limits.",
    .example = "sinew blend --sample bar --model rotation --steps 12 --out bar.pc2 --scene-out "
               "bar.json\n"
               "sinew farm bar.json --out work --jobs 2 --chunk 4\n"
               "sinew farm status work\n",
    .run = run,
};
