#include "render/raster.h"

#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/status.h"

const float sn_sample_x[SN_SAMPLES] = {0.375f, 0.875f, 0.125f, 0.625f};
const float sn_sample_y[SN_SAMPLES] = {0.125f, 0.375f, 0.625f, 0.875f};

enum { BAND = 32 }; /* rows that one task owns: no two tasks touch the same pixel */

sn_corner sn_view_project(const sn_view *view, sn_vec3 point) {
    sn_vec3 d = sn_sub(point, view->eye);
    double depth = -sn_dot(d, view->back);
    if (!(depth > view->near)) return (sn_corner){0, 0, 0};
    double scale = view->focal / depth;
    return (sn_corner){0.5 * view->width + scale * sn_dot(d, view->right),
                       0.5 * view->height - scale * sn_dot(d, view->up), 1 / depth};
}

sn_vec3 sn_view_ray(const sn_view *view, double x, double y) {
    sn_vec3 d = sn_scale(-view->focal, view->back);
    d = sn_add_scaled(d, x - 0.5 * view->width, view->right);
    return sn_normalize(sn_add_scaled(d, 0.5 * view->height - y, view->up));
}

/* Edge functions and 1/depth are linear on the screen: value = a x + b y + c. */
typedef struct sn_plane {
    double a, b, c;
} sn_plane;

static void draw(const sn_view *view, const sn_corner *p[3], int triangle, int first_row,
                 int last_row, int *hits, float *nearest) {
    double area =
        (p[1]->x - p[0]->x) * (p[2]->y - p[0]->y) - (p[2]->x - p[0]->x) * (p[1]->y - p[0]->y);
    if (!(fabs(area) > 1e-12)) return;
    sn_plane edge[3], depth = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        const sn_corner *u = p[(k + 1) % 3], *v = p[(k + 2) % 3];
        edge[k].a = (u->y - v->y) / area;
        edge[k].b = (v->x - u->x) / area;
        edge[k].c = (u->x * v->y - v->x * u->y) / area;
        depth.a += edge[k].a * p[k]->inverse_depth;
        depth.b += edge[k].b * p[k]->inverse_depth;
        depth.c += edge[k].c * p[k]->inverse_depth;
    }
    double left = fmin(p[0]->x, fmin(p[1]->x, p[2]->x));
    double right = fmax(p[0]->x, fmax(p[1]->x, p[2]->x));
    double top = fmin(p[0]->y, fmin(p[1]->y, p[2]->y));
    double bottom = fmax(p[0]->y, fmax(p[1]->y, p[2]->y));
    int x0 = left > 0 ? (int)fmin(left, view->width) : 0;
    int x1 = right < view->width ? (int)fmax(right + 1, 0) : view->width;
    int y0 = top > first_row ? (int)fmin(top, last_row) : first_row;
    int y1 = bottom < last_row ? (int)fmax(bottom + 1, first_row) : last_row;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            for (int s = 0; s < SN_SAMPLES; s++) {
                double sx = x + sn_sample_x[s], sy = y + sn_sample_y[s];
                if (edge[0].a * sx + edge[0].b * sy + edge[0].c < 0 ||
                    edge[1].a * sx + edge[1].b * sy + edge[1].c < 0 ||
                    edge[2].a * sx + edge[2].b * sy + edge[2].c < 0)
                    continue;
                float z = (float)(depth.a * sx + depth.b * sy + depth.c);
                size_t place =
                    SN_SAMPLES * ((size_t)y * (size_t)view->width + (size_t)x) + (size_t)s;
                size_t local = place - SN_SAMPLES * (size_t)first_row * (size_t)view->width;
                if (z > nearest[local]) {
                    nearest[local] = z;
                    hits[place] = triangle;
                }
            }
}

typedef struct raster_bands_loop {
    const sn_view *view;
    const sn_soup *soup;
    const sn_corner *corners;
    int *hits;
    atomic_bool *failed;
} raster_bands_loop;

static void raster_bands(void *context, sn_span span) {
    const raster_bands_loop *loop = context;
    const sn_view *view = loop->view;
    const sn_soup *soup = loop->soup;
    const sn_corner *corners = loop->corners;
    int *hits = loop->hits;
    atomic_bool *failed = loop->failed;
    SN_IN_SPAN(int, band, span) {
        int first = band * BAND;
        int last = first + BAND < view->height ? first + BAND : view->height;
        size_t samples = SN_SAMPLES * (size_t)(last - first) * (size_t)view->width;
        float *nearest = SN_NEW0(float, samples);
        if (!nearest) {
            atomic_store(failed, true);
            continue;
        }
        memset(hits + SN_SAMPLES * (size_t)first * (size_t)view->width, 0xff,
               samples * sizeof *hits);
        for (int t = 0; t < soup->triangle_count; t++) {
            const int *v = soup->triangles + 3 * (size_t)t;
            const sn_corner *p[3] = {corners + v[0], corners + v[1], corners + v[2]};
            if (p[0]->inverse_depth <= 0 || p[1]->inverse_depth <= 0 || p[2]->inverse_depth <= 0)
                continue;
            if (fmax(p[0]->y, fmax(p[1]->y, p[2]->y)) < first ||
                fmin(p[0]->y, fmin(p[1]->y, p[2]->y)) > last)
                continue;
            draw(view, p, t, first, last, hits, nearest);
        }
        sn_free(nearest);
    }
}

sinew_status sn_raster(const sn_view *view, const sn_soup *soup, const sn_corner *corners,
                       int *hits, sinew_error *error) {
    int bands = (view->height + BAND - 1) / BAND;
    atomic_bool failed = false;
    sn_parallel_for(bands, 1, raster_bands,
                    &(raster_bands_loop){view, soup, corners, hits, &failed});
    return failed ? sn_no_memory(error) : SINEW_OK;
}
