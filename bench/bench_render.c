/* Pictures. Bound: the pixels of the image, written once; the work is in the four samples a pixel
 * and in the light, which casts rays from every vertex. */
#include <stdio.h>

#include "bench.h"

typedef struct render_case {
    sinew_panel panel;
    sinew_render_options options;
} render_case;

static void draw(void *user) {
    render_case *c = user;
    sinew_error error;
    sinew_image *image;
    bench_need(sinew_render(1, &c->panel, &c->options, &image, &error), &error);
    sinew_image_destroy(image);
}

static void run(bench *b) {
    const struct {
        const char *name;
        int width, height;
    } sizes[] = {{"640x360", 640, 360}, {"1280x720", 1280, 720}, {"1920x1080", 1920, 1080}};
    sinew_error error;
    sinew_rig *rig;
    bench_need(sinew_sample_rig("face", NULL, &rig, &error), &error);
    for (int i = 0; i < 3; i++) {
        render_case c = {.panel = {.mesh = rig->neutral}};
        sinew_render_options_init(&c.options);
        c.options.width = sizes[i].width;
        c.options.height = sizes[i].height;
        double bytes = 4.0 * sizes[i].width * sizes[i].height;
        char limit[64];
        snprintf(limit, sizeof limit, "write %.1f MB", 1e-6 * bytes);
        bench_report(b, sizes[i].name, bench_time(b, draw, &c),
                     bytes / bench_read_bandwidth(b, bytes), limit);
    }
    sinew_rig_destroy(rig);
}

const bench_case bench_render[] = {
    {"face", "a picture of the sample face", run},
    BENCH_END,
};
