/* Pictures and plots without a display.
 *
 * The pipeline of a picture:
 *   panels  a posed mesh each
 *   light   ambient occlusion and soft key-light visibility per vertex
 *   raster  the nearest triangle of four samples a pixel
 *   shade   skin, eyes, heat map, wires
 *   page    panels in a grid with labels and a color bar: a PNG, or a frame of a video
 *
 * Everything is computed on the CPU, so a picture needs no graphics driver and the same input gives
 * the same pixels on the same machine for any number of threads. */
#ifndef SINEW_RENDER_H
#define SINEW_RENDER_H

#include <stdint.h>

#include "sinew/mesh.h"
#include "sinew/monitor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- images ---------------------------------------------------------------------------------- */

typedef struct sinew_image {
    int width, height;
    unsigned char *pixels; /* 4 per pixel, blue green red unused, rows from the top */
} sinew_image;

SINEW_API sinew_status sinew_image_create(int width, int height, sinew_image **image,
                                          sinew_error *error);
SINEW_API void sinew_image_destroy(sinew_image *image);
SINEW_API sinew_status sinew_image_write(const char *path, const sinew_image *image,
                                         sinew_error *error);

/* ---- pictures -------------------------------------------------------------------------------- */

typedef struct sinew_panel {
    const sinew_mesh *mesh;
    const double *positions; /* 3 per vertex; NULL: the mesh's own */
    const double *heat;      /* a value per vertex, shown in colors; NULL: skin */
    const float *colors;     /* 3 per vertex in [0, 1], over the material's color; NULL: none */
    const char *label;       /* below the panel; NULL: none */
    const sinew_mesh *const *extras; /* obstacles and other things, drawn in gray */
    int extra_count;
    double turn; /* degrees added to the picture's azimuth */
} sinew_panel;

enum {
    SINEW_RENDER_WIDTH = 1280,
    SINEW_RENDER_HEIGHT = 720,
    SINEW_RENDER_SIZE_LIMIT = 16384 /* pixels, width and height */
};
#define SINEW_RENDER_AZIMUTH       25.0
#define SINEW_RENDER_ELEVATION     8.0
#define SINEW_RENDER_FIELD_OF_VIEW 22.0

typedef struct sinew_render_options {
    uint32_t size;              /* of this structure in bytes; set by sinew_render_options_init */
    int width, height;          /* pixels of the whole picture */
    int columns;                /* panels in a row; 0: as fits the picture's shape */
    double azimuth;             /* degrees, 0 looks at the front (along -z) */
    double elevation;           /* degrees above the horizon */
    double zoom;                /* 1 fits the shape */
    double field_of_view;       /* degrees, vertical */
    char up;                    /* 'y' or 'z' */
    bool wireframe;             /* draw the edges of the faces */
    bool ground;                /* shadow on the floor */
    const char *title;          /* above the panels; NULL: none */
    double heat_low, heat_high; /* range of the colors; equal: from the values */
    const char *heat_unit;      /* next to the color bar, such as "% of diagonal" */
    /* The sphere that the camera fits; radius 0: as tight as the panels allow. Set it to keep
     * videos steady. */
    double center[3], radius;
    /* Progress and cancelling of the call, valid during it; NULL: none. */
    const sinew_monitor *monitor;
} sinew_render_options;

SINEW_API void sinew_render_options_init(sinew_render_options *options);

/* The sphere around the box of the panels' shapes, for `center` and `radius`. */
SINEW_API void sinew_render_fit(int panel_count, const sinew_panel *panels, double center[3],
                                double *radius);

/* Draws the panels into a new image. */
SINEW_API sinew_status sinew_render(int panel_count, const sinew_panel *panels,
                                    const sinew_render_options *options, sinew_image **image,
                                    sinew_error *error);

/* ---- video ----------------------------------------------------------------------------------- */

/* Frames to a .mp4, .webm, .gif or .webp through the program ffmpeg; SINEW_UNAVAILABLE when it is
 * not installed. The file appears under its name only when `close` succeeds. */
typedef struct sinew_video sinew_video;
SINEW_API sinew_status sinew_video_open(const char *path, int width, int height, double rate,
                                        sinew_video **video, sinew_error *error);
SINEW_API sinew_status sinew_video_add(sinew_video *video, const sinew_image *image,
                                       sinew_error *error);
/* Both release the video. */
SINEW_API sinew_status sinew_video_close(sinew_video *video, sinew_error *error);
SINEW_API void sinew_video_abandon(sinew_video *video);

/* ---- plots ----------------------------------------------------------------------------------- */

typedef struct sinew_line {
    const char *label; /* in the legend; NULL: none */
    int count;
    const double *x, *y; /* values that are not finite make a gap */
} sinew_line;

typedef struct sinew_plot_options {
    uint32_t size;     /* of this structure in bytes; set by sinew_plot_options_init */
    int width, height; /* pixels */
    const char *title, *x_label, *y_label;
    bool log_x, log_y; /* values <= 0 make a gap */
} sinew_plot_options;

SINEW_API void sinew_plot_options_init(sinew_plot_options *options);
SINEW_API sinew_status sinew_plot_lines(int line_count, const sinew_line *lines,
                                        const sinew_plot_options *options, sinew_image **image,
                                        sinew_error *error);
/* Plots lines to a file; suitable for sinew_set_plot_function (sinew/job.h). */
SINEW_API sinew_status sinew_plot_write(const char *path, const char *title, const char *x_label,
                                        const char *y_label, int line_count,
                                        const sinew_line *lines, sinew_error *error);
/* A matrix as colored cells, row by row; names may be NULL. Signed values get a diverging scale.
 */
SINEW_API sinew_status sinew_plot_matrix(int rows, int columns, const double *values,
                                         const char *const *row_names,
                                         const char *const *column_names,
                                         const sinew_plot_options *options, sinew_image **image,
                                         sinew_error *error);
/* Horizontal bars, the longest name determines the margin. */
SINEW_API sinew_status sinew_plot_bars(int count, const char *const *names, const double *values,
                                       const sinew_plot_options *options, sinew_image **image,
                                       sinew_error *error);

#ifdef __cplusplus
}
#endif
#endif
