/* Point caches: the positions of the artist's vertices, frame after frame. */
#ifndef SINEW_FRAMES_H
#define SINEW_FRAMES_H

#include <stdint.h>

#include "sinew/mesh.h"
#include "sinew/rig.h"
#include "sinew/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frame rate of files that do not specify one (PC2). */
#define SINEW_FRAMES_DEFAULT_RATE 30.0
/* Largest number of frames to which a clip of a file is sampled. */
#define SINEW_FRAMES_MAXIMUM 1000000

typedef struct sinew_frames {
    int vertex_count;
    int frame_count;
    double start;     /* seconds */
    double rate;      /* frames per second */
    float *positions; /* frame_count rows of 3 * vertex_count */
} sinew_frames;

SINEW_API sinew_status sinew_frames_read(const char *path, sinew_frames **frames,
                                         sinew_error *error);
/* Plays a clip of a file (GLB, FBX) at `rate` frames per second, with skins and blend-shape weights
 * applied. clip NULL: the first clip that moves anything; rate 0: the rate of the file, or
 * SINEW_FRAMES_DEFAULT_RATE. The vertices are those of sinew_pose_read. */
SINEW_API sinew_status sinew_frames_read_clip(const char *path, const char *clip, double rate,
                                              sinew_frames **frames, sinew_error *error);
/* A cache frame by frame. PC2 and MDD files of any size need the memory of one frame; other formats
 * are read as a whole. */
typedef struct sinew_frame_reader sinew_frame_reader;
typedef struct sinew_frame_reader_info {
    uint32_t size;
    int vertex_count;
    int frame_count;
    double start; /* seconds */
    double rate;  /* frames per second */
} sinew_frame_reader_info;

SINEW_API sinew_status sinew_frame_reader_open(const char *path, sinew_frame_reader **reader,
                                               sinew_error *error);
SINEW_API sinew_status sinew_frame_reader_get_info(const sinew_frame_reader *reader,
                                                   sinew_frame_reader_info *info);
/* positions receives 3 * vertex_count floats. Frames may be read in any order. */
SINEW_API sinew_status sinew_frame_reader_read(sinew_frame_reader *reader, int frame,
                                               float *positions, sinew_error *error);
SINEW_API void sinew_frame_reader_close(sinew_frame_reader *reader);

SINEW_API void sinew_frames_destroy(sinew_frames *frames);
/* Makes the frames fit the mesh: a cache of a file that splits vertices (sinew_mesh.file_vertices)
 * is converted to the mesh's vertices. Returns SINEW_BAD_INPUT when the counts match neither. */
SINEW_API sinew_status sinew_frames_match(sinew_frames *frames, const sinew_mesh *mesh,
                                          sinew_error *error);

/* Largest vertex error of compressed formats (GLB), as a fraction of the bounding-box diagonal. */
#define SINEW_FRAMES_DEFAULT_TOLERANCE 1e-4

/* Writes frames one by one. The file appears under its name only when `close` succeeds; `abandon`
 * leaves nothing behind. The format is chosen by the path's ending. */
typedef struct sinew_frame_writer sinew_frame_writer;
/* `mesh` gives faces and names to formats that hold them; point-cache formats (PC2, MDD) store the
 * vertices of the file from which the mesh was read. `frame_count` must be exact. */
SINEW_API sinew_status sinew_frame_writer_open(const char *path, const sinew_mesh *mesh,
                                               int frame_count, double start, double rate,
                                               sinew_frame_writer **writer, sinew_error *error);
/* Largest error of a vertex, in the mesh's unit of length, >= 0; set before the first frame. */
SINEW_API void sinew_frame_writer_set_tolerance(sinew_frame_writer *writer, double tolerance);
/* GLB: quantizes targets within the tolerance and compresses the file (KHR_mesh_quantization,
 * EXT_meshopt_compression); normals of targets on request only. Set before the first frame. */
SINEW_API void sinew_frame_writer_set_compact(sinew_frame_writer *writer, bool normals);
SINEW_API sinew_status sinew_frame_writer_add(sinew_frame_writer *writer, const double *positions,
                                              sinew_error *error);
/* Both release the writer. */
SINEW_API sinew_status sinew_frame_writer_close(sinew_frame_writer *writer, sinew_error *error);
SINEW_API void sinew_frame_writer_abandon(sinew_frame_writer *writer);

/* The same from memory, streams or files, with a monitor (sinew/source.h). A cache in memory is
 * read as a whole. */
SINEW_API sinew_status sinew_frames_read_from(const sinew_source *source,
                                              const sinew_monitor *monitor, sinew_frames **frames,
                                              sinew_error *error);
SINEW_API sinew_status sinew_frames_read_clip_from(const sinew_source *source, const char *clip,
                                                   double rate, const sinew_monitor *monitor,
                                                   sinew_frames **frames, sinew_error *error);
SINEW_API sinew_status sinew_frame_reader_open_from(const sinew_source *source,
                                                    const sinew_monitor *monitor,
                                                    sinew_frame_reader **reader,
                                                    sinew_error *error);
/* A writer whose sink receives the complete file when the writer is closed; until then the file is
 * in memory. Sequences of files (OBJ) need a folder: SINEW_BAD_INPUT. The sink is copied; its
 * `user` must stay valid until the writer is released. */
SINEW_API sinew_status sinew_frame_writer_open_to(const sinew_sink *sink, const sinew_mesh *mesh,
                                                  int frame_count, double start, double rate,
                                                  sinew_frame_writer **writer, sinew_error *error);
/* sinew_frame_writer_close with a monitor: formats that compress do their work there. A cancelled
 * call releases the writer and leaves no file. */
SINEW_API sinew_status sinew_frame_writer_finish(sinew_frame_writer *writer,
                                                 const sinew_monitor *monitor, sinew_error *error);

/* ---- accessors, for bindings that do not mirror the structure ---- */

/* The positions belong to the frames. */
SINEW_API int sinew_frames_vertex_count(const sinew_frames *frames);
/* Number of frames. */
SINEW_API int sinew_frames_count(const sinew_frames *frames);
/* Seconds. */
SINEW_API double sinew_frames_start(const sinew_frames *frames);
/* Frames per second. */
SINEW_API double sinew_frames_rate(const sinew_frames *frames);
/* 3 per vertex; NULL outside 0 <= frame < count. */
SINEW_API const float *sinew_frames_positions(const sinew_frames *frames, int frame);

#ifdef __cplusplus
}
#endif
#endif
