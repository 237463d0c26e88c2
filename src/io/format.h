/* The table of file formats. A format is one file of this room: it parses a buffer in memory and
 * builds a buffer in memory, so that it can be tested and fuzzed without files; read.c and write.c
 * do the rest. To add one: write NAME.c with its `const sn_format`, and list it in format.c. */
#ifndef SN_IO_FORMAT_H
#define SN_IO_FORMAT_H

#include "base/status.h"
#include "io/buffer.h"
#include "io/keyed_clip.h"
#include "sinew/io.h"

/* A file in memory. bytes[size] is a zero byte. */
typedef struct sn_source {
    const char *bytes;
    size_t size;
    const char *name; /* in messages */
    const char *path; /* to find files that belong to it; NULL: there are none */
} sn_source;

/* What of a mesh survives a trip through the format. Vertex order always does. */
typedef enum sn_holds {
    SN_HOLDS_POLYGONS = 1, /* faces of any size; otherwise faces are cut into triangles */
    SN_HOLDS_UVS = 2,
    SN_HOLDS_NORMALS = 4,
    SN_HOLDS_PARTS = 8,
    SN_HOLDS_DOUBLES = 16 /* positions to the last bit of a double; otherwise float32 */
} sn_holds;

typedef struct sn_frame_sink sn_frame_sink;
struct sinew_contents;

/* Frames of a cache in its file: rows of 3 float32 per vertex from `offset` on. */
typedef struct sn_cache_layout {
    uint64_t offset; /* bytes */
    int vertex_count, frame_count;
    bool big_endian;
    double start, rate; /* seconds, frames per second */
} sn_cache_layout;

typedef struct sn_format {
    const char *name;    /* "OBJ" */
    const char *endings; /* "glb gltf" */
    unsigned holds;      /* of sn_holds */
    /* Whether a source with this ending is of this format; NULL: always. */
    bool (*recognise)(const sn_source *source);

    /* NULL where the format has no such thing. */
    sinew_status (*read_mesh)(const sn_source *source, sinew_mesh **mesh, sinew_error *error);
    /* With subdivision, where read_mesh gives the control cage; NULL: as read_mesh. */
    sinew_status (*read_shown)(const sn_source *source, sinew_mesh **mesh, sinew_error *error);
    sinew_status (*write_mesh)(const sinew_mesh *mesh, sn_buffer *out, sinew_error *error);
    sinew_status (*read_rig)(const sn_source *source, sinew_rig **rig, sinew_error *error);
    /* With a clip that moves it; NULL: without. */
    sinew_status (*write_rig)(const sinew_rig *rig, const sn_keyed_clip *clip, sn_buffer *out,
                              sinew_error *error);
    /* The original with the targets and positions of the rig, and everything else as it was; a clip
     * replaces the weights that its animations set. */
    sinew_status (*write_into)(const sn_source *original, const sinew_rig *rig,
                               const sn_keyed_clip *clip, sn_buffer *out, sinew_error *error);
    sinew_status (*read_curves)(const sn_source *source, sinew_curves **curves, sinew_error *error);
    sinew_status (*write_curves)(const sinew_curves *curves, sn_buffer *out, sinew_error *error);
    sinew_status (*read_markers)(const sn_source *source, sinew_markers **markers,
                                 sinew_error *error);
    sinew_status (*write_markers)(const sinew_markers *markers, sn_buffer *out, sinew_error *error);
    sinew_status (*read_tets)(const sn_source *source, sinew_tets **tets, sinew_error *error);
    sinew_status (*write_tets)(const sinew_tets *tets, sn_buffer *out, sinew_error *error);
    /* The second file of a pair, with the same stem and this ending. */
    const char *beside_ending;
    sinew_status (*write_tets_beside)(const sinew_tets *tets, sn_buffer *out, sinew_error *error);
    sinew_status (*read_frames)(const sn_source *source, sinew_frames **frames, sinew_error *error);
    /* read_mesh applies the weights and skins that the file has set; read_rig never does. */
    bool mesh_is_posed;
    /* Caches whose frames can be read one by one: where they are, from the first `available` bytes
     * of the file (source->size is that of the whole). *needed is set to what it takes to know;
     * with less than that only *needed counts. */
    sinew_status (*cache_layout)(const sn_source *source, size_t available, size_t *needed,
                                 sn_cache_layout *layout, sinew_error *error);
    /* The mesh at a time of a clip, and a whole clip, with skins and weights applied: clip NULL is
     * the first that moves anything, rate 0 the file's own. */
    sinew_status (*read_pose)(const sn_source *source, const char *clip, double time,
                              sinew_mesh **mesh, sinew_error *error);
    sinew_status (*read_clip)(const sn_source *source, const char *clip, double rate,
                              sinew_frames **frames, sinew_error *error);
    const sn_frame_sink *write_frames;
    sinew_status (*read_contents)(const sn_source *source, struct sinew_contents *contents,
                                  sinew_error *error);
} sn_format;

extern const sn_format sn_format_obj;
extern const sn_format sn_format_ply;
extern const sn_format sn_format_off;
extern const sn_format sn_format_glb;
extern const sn_format sn_format_gltf;
extern const sn_format sn_format_vrm;
extern const sn_format sn_format_fbx;
extern const sn_format sn_format_medit;
extern const sn_format sn_format_tetgen_node;
extern const sn_format sn_format_tetgen_ele;
extern const sn_format sn_format_usda;
extern const sn_format sn_format_pc2;
extern const sn_format sn_format_mdd;
extern const sn_format sn_format_curves_csv;
extern const sn_format sn_format_livelink;
extern const sn_format sn_format_markers_csv;
extern const sn_format sn_format_c3d;
extern const sn_format sn_format_trc;

/* All of them, ended by NULL. */
const sn_format *const *sn_formats(void);
bool sn_format_has_ending(const sn_format *format, const char *path);

/* Whether the positions, and the deltas of the rig (may be NULL), can be written as float32. */
sinew_status sn_check_float32(const sinew_mesh *mesh, const sinew_rig *rig, sinew_error *error);

/* The file at `path`, named by it in messages. Release with sn_source_close. */
sinew_status sn_source_open(sn_source *source, const char *path, sinew_error *error);
void sn_source_close(sn_source *source);

/* "FILE: what", for sources whose elements have no line. */
sinew_status sn_source_fail(const sn_source *source, sinew_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts "FILE: " before the message of a failed library call; passes the status on. */
sinew_status sn_source_blame(const sn_source *source, sinew_status status, sinew_error *error);
/* Ends a writer: its failure names the path, else its bytes go there in one go. Frees the buffer.
 */
sinew_status sn_format_finish(const char *path, sinew_status status, sn_buffer *out,
                              sinew_error *error);

#endif
