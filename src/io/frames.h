/* How a format takes frames as they come. */
#ifndef SN_IO_FRAMES_H
#define SN_IO_FRAMES_H

#include "base/file.h"
#include "io/format.h"

struct sinew_frame_writer {
    const sn_frame_sink *sink;
    char *path;
    int vertex_count; /* of the mesh */
    int point_count;  /* of `row`: the file's vertices where the mesh was read from split ones */
    int *points;      /* mesh vertex of each point; NULL: the same */
    double tolerance; /* of formats that compress */
    bool compact, normals; /* sinew_frame_writer_set_compact */
    int frame_count;       /* promised */
    int added;
    double start; /* seconds */
    double rate;  /* frames per second */
    sn_output output;
    sinew_sink target; /* receives the file; without `write`: it is at `path` */
    char *bytes;       /* what the target will receive */
    size_t byte_count, byte_capacity;
    off_t begun; /* bytes of the output that go to the disk already */
    float *row;  /* 3 per point: the frame in float32 */
    void *state; /* of the sink */
};

struct sn_frame_sink {
    bool many_files; /* the sink opens its own outputs; otherwise `output` is open */
    bool has_mesh;   /* the file brings the faces along: points are the mesh's vertices */
    bool single;     /* `add` uses `row` alone: more digits make no difference */
    /* Start of the file. */
    sinew_status (*open)(sinew_frame_writer *writer, const sinew_mesh *mesh, sinew_error *error);
    /* One frame; `row` holds it in float32 too. */
    sinew_status (*add)(sinew_frame_writer *writer, const double *positions, sinew_error *error);
    /* What follows the last frame; NULL: nothing. */
    sinew_status (*close)(sinew_frame_writer *writer, sinew_error *error);
    /* Frees `state`, on success and failure; NULL: there is none. */
    void (*release)(sinew_frame_writer *writer);
};

/* Whether a file with this name receives the same bytes from positions that were rounded to float32
 * before. */
bool sn_frames_are_single(const char *path);

/* sinew_frame_writer_add for such a file. */
sinew_status sn_frame_writer_add_single(sinew_frame_writer *writer, const float *positions,
                                        sinew_error *error);

/* Frames whose positions are not yet filled in. */
sinew_status sn_frames_create(int vertex_count, int frame_count, double start, double rate,
                              sinew_frames **frames, sinew_error *error);
/* One frame as it is in the file to floats of this machine; fails on what is not finite. */
sinew_status sn_cache_decode(const sn_source *source, const sn_cache_layout *layout,
                             const char *bytes, int frame, float *row, sinew_error *error);
/* All frames of a cache that is in memory, and of one on disk. */
sinew_status sn_cache_read_all(const sn_source *source, const sn_cache_layout *layout,
                               sinew_frames **frames, sinew_error *error);
sinew_status sn_cache_read(const char *path, sinew_frames **frames, sinew_error *error);
/* Whether the path is that of a regular file whose frames can be read one by one. */
bool sn_is_cache_path(const char *path);

/* Frames per second of `count` frames whose first and last lie `length` seconds apart, the nearest
 * whole number where the times are only rounded; the default rate for a single frame. */
double sn_frames_rate(int count, double length);

#endif
