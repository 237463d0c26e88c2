/* Shading in linear light. Skin follows the usual cheap picture of subsurface scattering: light
 * wraps around the terminator, red further than blue, and creases keep a warm tint. */
#include "render/shade.h"

#include <math.h>

#include "base/parallel.h"

/* Skin in full key light lands a little below white. */
#define EXPOSURE 0.68f

typedef struct sn_surface {
    sn_vec3 normal;
    sn_color color;
    float ambient, key;
    float gloss;    /* strength of the highlight at normal incidence */
    float hardness; /* exponent of the highlight */
    float wrap[3];  /* how far light reaches beyond the terminator, per channel */
} sn_surface;

static float mix(float a, float b, float t) {
    return a + t * (b - a);
}

static sn_color mix_color(sn_color a, sn_color b, float t) {
    return (sn_color){mix(a.r, b.r, t), mix(a.g, b.g, t), mix(a.b, b.b, t)};
}

/* 0 below a, 1 above b, smooth in between. */
static float ramp(float a, float b, float x) {
    float t = (x - a) / (b - a);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

/* An eyeball from the direction at rest: +z is ahead. Angles in radians from the axis, after an
 * anatomical eye: iris 12 mm across on a ball of 24 mm. */
static void shade_eye(sn_surface *surface, const float gaze[3]) {
    float length = sqrtf(gaze[0] * gaze[0] + gaze[1] * gaze[1] + gaze[2] * gaze[2]);
    float cosine = length > 0 ? gaze[2] / length : -1;
    float angle = acosf(cosine > 1 ? 1 : cosine < -1 ? -1 : cosine);
    const float pupil = 0.19f, iris = 0.47f;
    float around = atan2f(gaze[1], gaze[0]);
    float fibres = 0.5f + 0.5f * sinf(23 * around + 3 * sinf(7 * around));
    float depth = ramp(pupil, iris, angle);
    sn_color white = {0.80f, 0.77f, 0.74f};
    sn_color ring = {0.030f, 0.045f, 0.055f};
    sn_color inner = {0.30f, 0.22f, 0.08f};
    sn_color outer = {0.06f, 0.16f, 0.22f};
    sn_color stroma = mix_color(inner, outer, depth);
    stroma = mix_color(stroma, (sn_color){0.16f, 0.32f, 0.38f}, 0.35f * fibres * depth);
    stroma = mix_color(stroma, ring, ramp(0.80f, 1.0f, angle / iris));
    sn_color color = mix_color((sn_color){0.004f, 0.004f, 0.005f}, stroma,
                               ramp(pupil - 0.02f, pupil + 0.02f, angle));
    /* Veins and shade towards the corners. */
    white = mix_color(white, (sn_color){0.62f, 0.40f, 0.36f}, 0.55f * ramp(0.7f, 1.5f, angle));
    surface->color = mix_color(color, white, ramp(iris - 0.02f, iris + 0.03f, angle));
    surface->gloss = 0.9f;
    surface->hardness = 380;
    surface->wrap[0] = 0.30f, surface->wrap[1] = surface->wrap[2] = 0.2f;
}

static void choose_material(sn_surface *surface, sn_material material, const float gaze[3]) {
    surface->gloss = 0.12f;
    surface->hardness = 24;
    surface->wrap[0] = surface->wrap[1] = surface->wrap[2] = 0.15f;
    switch (material) {
    case SN_MATERIAL_SKIN:
        surface->color = (sn_color){0.60f, 0.34f, 0.235f};
        surface->gloss = 0.16f;
        surface->hardness = 18;
        surface->wrap[0] = 0.42f, surface->wrap[1] = 0.20f, surface->wrap[2] = 0.14f;
        break;
    case SN_MATERIAL_EYE:
        shade_eye(surface, gaze);
        break;
    case SN_MATERIAL_TEETH:
        surface->color = (sn_color){0.78f, 0.72f, 0.60f};
        surface->gloss = 0.45f;
        surface->hardness = 90;
        /* light goes on inside the enamel */
        surface->ambient = mix(surface->ambient, 1, 0.35f);
        surface->key = mix(surface->key, 1, 0.2f);
        break;
    case SN_MATERIAL_TONGUE:
        surface->color = (sn_color){0.50f, 0.16f, 0.15f};
        surface->gloss = 0.35f;
        surface->hardness = 40;
        surface->wrap[0] = 0.35f;
        break;
    case SN_MATERIAL_HAIR:
        surface->color = (sn_color){0.05f, 0.035f, 0.03f};
        break;
    case SN_MATERIAL_MARKER:
        surface->color = (sn_color){0.6f, 0.6f, 0.6f};
        break;
    case SN_MATERIAL_GREY:
        surface->color = (sn_color){0.36f, 0.40f, 0.46f};
        break;
    case SN_MATERIAL_PAINT:
        surface->color = (sn_color){1, 1, 1};
        surface->gloss = 0.05f;
        break;
    case SN_MATERIAL_NONE:
        break;
    }
}

static float channel(const sn_surface *s, float albedo, float wrap, float key, float fill,
                     float sky, float sky_light, float earth_light) {
    /* Creases of warm materials lose blue before red: occlusion to a power that falls with wrap. */
    float shade = powf(s->ambient, 1.25f - wrap);
    float direct = (key + wrap) / (1 + wrap);
    direct = direct > 0
                 ? direct * direct * (3 - 2 * (direct > 1 ? 1 : direct)) * 0.5f + direct * 0.5f
                 : 0;
    float lit = mix(s->key, 1, 0.25f * wrap);
    float back = fill > 0 ? fill : 0;
    float ambient = mix(earth_light, sky_light, sky);
    return albedo * (2.0f * direct * lit + 0.42f * back * shade + 1.0f * ambient * shade);
}

static sn_color light_surface(const sn_surface *s, sn_vec3 to_eye, const sn_lighting *lighting) {
    float key = (float)sn_dot(s->normal, lighting->key);
    float fill = (float)sn_dot(s->normal, lighting->fill);
    float sky = 0.5f + 0.5f * (float)sn_dot(s->normal, lighting->up);
    sn_color c = {channel(s, s->color.r, s->wrap[0], key, fill, sky, 0.52f, 0.34f),
                  channel(s, s->color.g, s->wrap[1], key, fill, sky, 0.55f, 0.29f),
                  channel(s, s->color.b, s->wrap[2], key, fill, sky, 0.62f, 0.26f)};
    float facing = (float)sn_dot(s->normal, to_eye);
    float fresnel = powf(1 - (facing > 0 ? facing : 0), 4);
    sn_vec3 half = sn_normalize(sn_add(lighting->key, to_eye));
    float aligned = (float)sn_dot(s->normal, half);
    float highlight = 0;
    if (aligned > 0 && key > 0)
        highlight = s->gloss * (1 + 3 * fresnel) * powf(aligned, s->hardness) * s->key * 1.6f;
    float rim = 0.10f * fresnel * s->ambient * sky;
    c.r += highlight + rim * 1.0f;
    c.g += highlight + rim * 1.0f;
    c.b += highlight + rim * 1.1f;
    return c;
}

/* Perspective-correct weights of the corners at a point on the screen, and the screen distances to
 * the three edges. */
static void weights_at(const sn_corner *p[3], double x, double y, double weight[3],
                       double distance[3]) {
    double area =
        (p[1]->x - p[0]->x) * (p[2]->y - p[0]->y) - (p[2]->x - p[0]->x) * (p[1]->y - p[0]->y);
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        const sn_corner *u = p[(k + 1) % 3], *v = p[(k + 2) % 3];
        double share = ((u->x - x) * (v->y - y) - (v->x - x) * (u->y - y)) / area;
        double length = hypot(u->x - v->x, u->y - v->y);
        distance[k] = length > 0 ? fabs(share * area) / length : 0;
        weight[k] = share * p[k]->inverse_depth;
        sum += weight[k];
    }
    for (int k = 0; k < 3; k++) weight[k] /= sum;
}

static sn_color shade_hit(const sn_view *view, const sn_soup *soup, const sn_corner *corners,
                          int triangle, double x, double y, const sn_lighting *lighting) {
    const int *v = soup->triangles + 3 * (size_t)triangle;
    const sn_corner *p[3] = {corners + v[0], corners + v[1], corners + v[2]};
    double weight[3], distance[3];
    weights_at(p, x, y, weight, distance);
    sn_surface surface = {.ambient = 0, .key = 0};
    sn_vec3 normal = {0, 0, 0}, point = {0, 0, 0};
    float gaze[3] = {0, 0, 0}, tint[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        normal = sn_add_scaled(normal, weight[k], sn_at(soup->normals, v[k]));
        point = sn_add_scaled(point, weight[k], sn_at(soup->positions, v[k]));
        surface.ambient += (float)weight[k] * soup->ambient[v[k]];
        surface.key += (float)weight[k] * soup->key[v[k]];
        for (int c = 0; c < 3; c++) {
            gaze[c] += (float)weight[k] * soup->gaze[3 * (size_t)v[k] + (size_t)c];
            if (soup->colors)
                tint[c] += (float)weight[k] * soup->colors[3 * (size_t)v[k] + (size_t)c];
        }
    }
    surface.ambient = surface.ambient < 0 ? 0 : surface.ambient > 1 ? 1 : surface.ambient;
    surface.key = surface.key < 0 ? 0 : surface.key > 1 ? 1 : surface.key;
    choose_material(&surface, soup->material[triangle], gaze);
    if (soup->colors) {
        surface.color.r *= tint[0], surface.color.g *= tint[1], surface.color.b *= tint[2];
    }
    sn_vec3 to_eye = sn_normalize(sn_sub(view->eye, point));
    surface.normal = sn_normalize(normal);
    sn_vec3 flat = sn_cross(sn_sub(sn_at(soup->positions, v[1]), sn_at(soup->positions, v[0])),
                            sn_sub(sn_at(soup->positions, v[2]), sn_at(soup->positions, v[0])));
    if (sn_dot(flat, to_eye) < 0) { /* the inside of an open surface */
        surface.normal = sn_scale(-1, surface.normal);
        surface.ambient *= 0.45f;
        surface.key *= 0.3f;
    }
    sn_color color = light_surface(&surface, to_eye, lighting);
    if (lighting->wireframe) {
        float wire = 0;
        for (int k = 0; k < 3; k++)
            if (soup->real_edge[triangle] >> k & 1)
                wire = fmaxf(wire, 1 - ramp(0.25f, 0.85f, (float)distance[k]));
        color = mix_color(color, (sn_color){0.02f, 0.03f, 0.05f}, 0.75f * wire);
    }
    return color;
}

static sn_color background(const sn_view *view, double x, double y, const sn_lighting *lighting) {
    double height = y / view->height, aside = x / view->width - 0.5;
    float vignette = (float)(1 - 0.25 * (aside * aside + (height - 0.45) * (height - 0.45)));
    sn_color top = {0.80f, 0.85f, 0.92f}, low = {1.10f, 1.10f, 1.09f};
    sn_color color = mix_color(top, low, ramp(0.1f, 0.9f, (float)height));
    color.r *= vignette, color.g *= vignette, color.b *= vignette;
    const sn_floor *floor = lighting->floor;
    if (!floor) return color;
    sn_vec3 ray = sn_view_ray(view, x, y);
    double slope = sn_dot(ray, lighting->up);
    double drop = sn_dot(sn_sub(floor->origin, view->eye), lighting->up);
    if (!(slope < -1e-6) || drop >= 0) return color;
    sn_vec3 point = sn_add_scaled(view->eye, drop / slope, ray);
    sn_vec3 from = sn_sub(point, floor->origin);
    double u = sn_dot(from, floor->side) / sn_dot(floor->side, floor->side) * SN_FLOOR_CELLS;
    double v = sn_dot(from, floor->other) / sn_dot(floor->other, floor->other) * SN_FLOOR_CELLS;
    if (!(u >= 0 && v >= 0 && u < SN_FLOOR_CELLS && v < SN_FLOOR_CELLS)) return color;
    int i = (int)u, j = (int)v, nodes = SN_FLOOR_CELLS + 1;
    float fu = (float)(u - i), fv = (float)(v - j);
    const float *cell = floor->shadow + j * nodes + i;
    float lit = mix(mix(cell[0], cell[1], fu), mix(cell[nodes], cell[nodes + 1], fu), fv);
    /* Fade towards the edge of the square, so that it never shows. */
    double cu = 2 * u / SN_FLOOR_CELLS - 1, cv = 2 * v / SN_FLOOR_CELLS - 1;
    float fade = 1 - ramp(0.45f, 0.98f, (float)sqrt(cu * cu + cv * cv));
    float dark = 1 - 0.72f * fade * (1 - lit);
    return (sn_color){color.r * dark, color.g * dark, color.b * dark};
}

/* Highlights roll off instead of clipping; the middle is left almost alone. */
static unsigned char develop(float light) {
    light *= EXPOSURE;
    float x = light > 0.6f ? 0.6f + 0.4f * (1 - expf(-(light - 0.6f) / 0.4f)) : light;
    return (unsigned char)lrintf(255 * sn_color_encode(x));
}

typedef struct shade_rows_loop {
    const sn_view *view;
    const sn_soup *soup;
    const sn_corner *corners;
    const int *hits;
    const sn_lighting *lighting;
    sinew_image *image;
    int left;
    int top;
} shade_rows_loop;

static void shade_rows(void *context, sn_span span) {
    const shade_rows_loop *loop = context;
    const sn_view *view = loop->view;
    const sn_soup *soup = loop->soup;
    const sn_corner *corners = loop->corners;
    const int *hits = loop->hits;
    const sn_lighting *lighting = loop->lighting;
    sinew_image *image = loop->image;
    int left = loop->left;
    int top = loop->top;
    SN_IN_SPAN(int, y, span) {
        unsigned char *pixel =
            image->pixels + 4 * ((size_t)(top + y) * (size_t)image->width + (size_t)left);
        for (int x = 0; x < view->width; x++, pixel += 4) {
            const int *hit = hits + SN_SAMPLES * ((size_t)y * (size_t)view->width + (size_t)x);
            /* Each distinct triangle is shaded once, where its first sample lies. */
            sn_color sum = {0, 0, 0};
            for (int s = 0; s < SN_SAMPLES; s++) {
                bool seen = false;
                for (int e = 0; e < s; e++) seen |= hit[e] == hit[s];
                if (seen) continue;
                int same = 1;
                for (int e = s + 1; e < SN_SAMPLES; e++) same += hit[e] == hit[s];
                double sx = x + sn_sample_x[s], sy = y + sn_sample_y[s];
                sn_color c = hit[s] < 0 ? background(view, sx, sy, lighting)
                                        : shade_hit(view, soup, corners, hit[s], sx, sy, lighting);
                float share = (float)same / SN_SAMPLES;
                sum.r += share * c.r, sum.g += share * c.g, sum.b += share * c.b;
            }
            pixel[0] = develop(sum.b), pixel[1] = develop(sum.g), pixel[2] = develop(sum.r);
            pixel[3] = 255;
        }
    }
}

void sn_shade(const sn_view *view, const sn_soup *soup, const sn_corner *corners, const int *hits,
              const sn_lighting *lighting, sinew_image *image, int left, int top) {
    sn_parallel_for(view->height, 4, shade_rows,
                    &(shade_rows_loop){view, soup, corners, hits, lighting, image, left, top});
}
