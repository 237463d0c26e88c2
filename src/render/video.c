/* Frames to ffmpeg's standard input. A socket replaces the pipe: writing to a program that has
 * died then gives an error instead of a signal that would end the host.
 *
 * ffmpeg takes file names for options, protocols and patterns. It never sees one: it writes to an
 * open file that it inherits, and the container is named explicitly. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "sinew/render.h"

extern char **environ;

enum { VIDEO_DESCRIPTOR = 3 }; /* of the output, in ffmpeg */

struct sinew_video {
    sn_output output;
    int width, height;
    int channel; /* -1: closed */
    int words;   /* a file without a name for the messages of ffmpeg; -1: none */
    pid_t program;
};

static void release(sinew_video *video) {
    if (video->words >= 0) close(video->words);
    sn_output_abandon(&video->output);
    sn_free(video);
}

static sinew_status start(sinew_video *video, double rate, sinew_error *error) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return sn_fail(error, SINEW_IO, "%s: %s", video->output.path, strerror(errno));
    char size[32], rate_text[48], place[32];
    snprintf(size, sizeof size, "%dx%d", video->width, video->height);
    /* As a fraction: in some locales a decimal point is a comma. */
    snprintf(rate_text, sizeof rate_text, "%lld/1000000", llrint(1e6 * rate));
    snprintf(place, sizeof place, "file:/dev/fd/%d", VIDEO_DESCRIPTOR);
    const char *arguments[56] = {"ffmpeg",   "-loglevel", "error", "-y",     "-f",
                                 "rawvideo", "-pix_fmt",  "bgr0",  "-s",     size,
                                 "-r",       rate_text,   "-i",    "pipe:0", "-an"};
    int n = 15;
    const char *container = "mp4";
    if (sn_has_ending(video->output.path, "gif")) {
        container = "gif";
        arguments[n++] = "-vf";
        arguments[n++] =
            "split[a][b];[a]palettegen=max_colors=192[p];[b][p]paletteuse=dither=bayer";
    } else if (sn_has_ending(video->output.path, "webp")) {
        container = "webp";
        arguments[n++] = "-loop", arguments[n++] = "0", arguments[n++] = "-quality";
        arguments[n++] = "75";
    } else if (sn_has_ending(video->output.path, "webm")) {
        container = "webm";
        arguments[n++] = "-c:v", arguments[n++] = "libvpx-vp9", arguments[n++] = "-crf";
        arguments[n++] = "30", arguments[n++] = "-b:v", arguments[n++] = "0";
    } else {
        /* 4:2:0 needs even sizes: pad by a pixel where they are odd. */
        arguments[n++] = "-vf", arguments[n++] = "pad=ceil(iw/2)*2:ceil(ih/2)*2";
        arguments[n++] = "-c:v", arguments[n++] = "libx264", arguments[n++] = "-pix_fmt";
        arguments[n++] = "yuv420p", arguments[n++] = "-crf", arguments[n++] = "18";
        arguments[n++] = "-movflags", arguments[n++] = "+faststart";
    }
    arguments[n++] = "-f", arguments[n++] = container, arguments[n++] = place;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[0], 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (video->words >= 0)
        posix_spawn_file_actions_adddup2(&actions, video->words, 2);
    else
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(video->output.stream), VIDEO_DESCRIPTOR);
    int failed =
        posix_spawnp(&video->program, "ffmpeg", &actions, NULL, (char **)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[0]);
    if (failed) {
        close(pair[1]);
        return sn_fail(error, SINEW_UNAVAILABLE,
                       failed == ENOENT
                           ? "%s: the program ffmpeg is needed for videos and was not found%s%s"
                           : "%s: the program ffmpeg cannot be started%s%s",
                       video->output.path, failed == ENOENT ? "" : ": ",
                       failed == ENOENT ? "" : strerror(failed));
    }
    video->channel = pair[1];
    sn_child_note(video->program);
    return SINEW_OK;
}

sinew_status sinew_video_open(const char *path, int width, int height, double rate,
                              sinew_video **video, sinew_error *error) {
    SN_REQUIRE(path && video && width > 0 && height > 0, error);
    *video = NULL;
    if (!(rate > 0 && rate <= 1000))
        return sn_fail(error, SINEW_BAD_INPUT, "%s: %g frames a second: allowed is 0 to 1000", path,
                       rate);
    const char *ending = sn_path_ending(path);
    if (strcasecmp(ending, "mp4") && strcasecmp(ending, "webm") && strcasecmp(ending, "gif") &&
        strcasecmp(ending, "webp"))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "%s: pictures are written as .png, videos as .mp4, .webm, .gif or .webp",
                       path);
    sinew_video *created = SN_NEW0(sinew_video, 1);
    if (!created) return sn_no_memory(error);
    created->width = width;
    created->height = height;
    created->channel = -1;
    created->words = memfd_create("ffmpeg", MFD_CLOEXEC);
    sinew_status status = sn_output_open(&created->output, path, error);
    if (status == SINEW_OK) status = start(created, rate, error);
    if (status != SINEW_OK) {
        release(created);
        return status;
    }
    *video = created;
    return SINEW_OK;
}

sinew_status sinew_video_add(sinew_video *video, const sinew_image *image, sinew_error *error) {
    SN_REQUIRE(video && image, error);
    SN_REQUIRE(image->width == video->width && image->height == video->height, error);
    const unsigned char *bytes = image->pixels;
    size_t left = (size_t)image->width * (size_t)image->height * 4;
    while (left > 0) {
        ssize_t sent = send(video->channel, bytes, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0)
            return sn_fail(error, SINEW_IO, "%s: ffmpeg stopped before the last frame",
                           video->output.path);
        bytes += sent;
        left -= (size_t)sent;
    }
    return SINEW_OK;
}

/* Ends the program and returns its exit status. */
static int finish(sinew_video *video) {
    if (video->channel >= 0) close(video->channel);
    video->channel = -1;
    int status = 0;
    while (waitpid(video->program, &status, 0) < 0 && errno == EINTR) {
    }
    sn_child_strike_out(video->program);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The first line that ffmpeg printed. */
static void first_words(const sinew_video *video, char line[160]) {
    ssize_t got = video->words < 0 ? 0 : pread(video->words, line, 159, 0);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
}

/* The last part of a message such as "Error writing trailer of file:/dev/fd/3: File too large". */
static const char *reason_in(const char *line) {
    const char *reason = line;
    for (const char *at = line; (at = strstr(at, ": ")); reason = at) at += 2;
    return reason;
}

sinew_status sinew_video_close(sinew_video *video, sinew_error *error) {
    SN_REQUIRE(video, error);
    sinew_status status = SINEW_OK;
    int code = finish(video);
    char line[160];
    first_words(video, line);
    struct stat info;
    bool empty = fstat(fileno(video->output.stream), &info) == 0 && S_ISREG(info.st_mode) &&
                 info.st_size == 0;
    if (code == 0 && empty)
        status = sn_fail(error, SINEW_IO, "%s: ffmpeg wrote nothing%s%s", video->output.path,
                         *line ? ": " : "", line);
    else if (code != 0)
        status = sn_fail(error, SINEW_IO, "%s: ffmpeg failed (exit status %d)%s%s",
                         video->output.path, code, *line ? ": " : "", line);
    else if (*line) /* ffmpeg exits with 0 even if it cannot write the end of the file */
        status = sn_fail(error, SINEW_IO, "%s: cannot be written: %s", video->output.path,
                         reason_in(line));
    else
        status = sn_output_commit(&video->output, error);
    release(video);
    return status;
}

void sinew_video_abandon(sinew_video *video) {
    if (!video) return;
    kill(video->program, SIGKILL);
    finish(video);
    release(video);
}
