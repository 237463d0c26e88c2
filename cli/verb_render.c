/* sinew render: pictures and videos of meshes and point caches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "frame.h"
#include "hidden.h"
#include "jobs.h"

enum { MAX_SHAPES = 64, MAX_VIEWS = 8 };

static const cli_option options[] = {
    {"--out", CLI_OUTPUT, "FILE", "Picture (.png) or video (.mp4, .webm, .gif, .webp); required.",
     0, 0, false},
    {"--mesh", CLI_INPUT, "FILE",
     "Mesh that supplies faces to point caches, which store vertices only.", 0, 0, false},
    {"--weights", CLI_TEXT, "LIST",
     "Show the rig at these slider weights instead of its neutral: smile=0.5,jawOpen=1. Each adds "
     "a panel.",
     0, 0, true},
    {"--frame", CLI_TEXT, "LIST",
     "Frames of the caches, counted from 0: 12 or 0,12,24; 'all' spreads 12 over the clip (default "
     "0).",
     0, 0, false},
    {"--size", CLI_TEXT, "WxH", "Size in pixels (default 1280x720).", 0, 0, false},
    CLI_GROUP("Camera"),
    {"--azimuth", CLI_NUMBER, "DEGREES",
     "Rotation of the camera around the shape; 0 is the front (default 25).", -3600, 3600, false},
    {"--elevation", CLI_NUMBER, "DEGREES", "Height of the camera above the horizon (default 8).",
     -90, 90, false},
    {"--views", CLI_TEXT, "LIST", "Several azimuths in degrees, one panel each: 0,45,90.", 0, 0,
     false},
    {"--zoom", CLI_NUMBER, "FACTOR", "Zoom; 1 fits the shape (default 1).", 0.01, 100, false},
    {"--look-at", CLI_TEXT, "x,y,z,r",
     "Frame this sphere instead of the whole shape, for a close-up.", 0, 0, false},
    {"--up", CLI_CHOICE, "y|z", "Up axis (default y).", 0, 0, false},
    {"--turntable", CLI_NUMBER, "SECONDS", "Video of one rotation around the shapes.", 0.1, 600,
     false},
    {"--fps", CLI_NUMBER, "RATE",
     "Frames per second of a video (default: the rate of the cache, or 30).", 0.1, 1000, false},
    CLI_GROUP("Overlays"),
    {"--against", CLI_INPUT, "FILE",
     "Compare with this mesh or cache: heat map of the distance of each vertex.", 0, 0, false},
    {"--heat", CLI_INPUT, "FILE", "Heat map from a CSV file: vertex,value.", 0, 0, false},
    {"--heat-range", CLI_TEXT, "LOW,HIGH",
     "Range of the colors (default: the range of the values).", 0, 0, false},
    {"--heat-unit", CLI_TEXT, "TEXT", "Unit shown next to the color bar.", 0, 0, false},
    {"--crossings", CLI_FLAG, NULL, "Show intersecting triangles in red.", 0, 0, false},
    {"--wireframe", CLI_FLAG, NULL, "Draw the edges of the faces.", 0, 0, false},
    {"--cut", CLI_TEXT, "x=VALUE",
     "Hide the faces beyond this plane to look inside; -x=VALUE hides the other side.", 0, 0,
     false},
    {"--hide", CLI_TEXT, "SELECT|none",
     "Hide the faces of these vertices, such as part:hair or piece:3; selections as for 'sinew "
     "lock'. Helper geometry (parts named helper-*, joint-* or UCX_*) is left out unless 'none' is "
     "given.",
     0, 0, true},
    CLI_REGIONS_OPTION,
    {"--obstacle", CLI_INPUT, "FILE", "Show this mesh in gray with every shape.", 0, 0, true},
    CLI_GROUP("Layout"),
    {"--label", CLI_TEXT, "TEXT", "Label of the next shape, in order; '-' for none.", 0, 0, true},
    {"--title", CLI_TEXT, "TEXT", "Title above the panels.", 0, 0, false},
    {"--columns", CLI_INTEGER, "N", "Panels per row (default: chosen to fit).", 1, 64, false},
    {"--no-ground", CLI_FLAG, NULL, "Do not draw a shadow on the floor.", 0, 0, false},
    CLI_END,
};

/* One thing to show: a mesh, or a mesh moved by a cache. */
typedef struct shape {
    sinew_mesh *mesh;
    sinew_frames *frames; /* NULL: a still */
    float *colors;        /* tint of regions that a rig names; NULL: none */
    char *label;
} shape;

typedef struct stage {
    shape shapes[MAX_SHAPES];
    int shape_count;
    shape reference; /* --against */
    double *heat;    /* --heat, per vertex */
    sinew_mesh *obstacles[MAX_SHAPES];
    int obstacle_count;
    double views[MAX_VIEWS];
    int view_count;
    sinew_render_options picture;
} stage;

static void free_shape(shape *s) {
    sinew_mesh_destroy(s->mesh);
    sinew_frames_destroy(s->frames);
    sinew_free(s->colors);
    sinew_free(s->label);
}

static void free_stage(stage *s) {
    for (int i = 0; i < s->shape_count; i++) free_shape(&s->shapes[i]);
    free_shape(&s->reference);
    for (int i = 0; i < s->obstacle_count; i++) sinew_mesh_destroy(s->obstacles[i]);
    sinew_free(s->heat);
}

static bool is_cache(const char *path) {
    return cli_has_ending(path, "pc2") || cli_has_ending(path, "mdd");
}

/* Lips are redder than the skin around them, and gums than teeth; tints fade over two rings of
 * vertices. */
static const struct {
    const char *region;
    float color[3];
} tints[] = {{"lips", {0.92f, 0.66f, 0.66f}}, {"gums", {0.62f, 0.3f, 0.3f}}};

static void tint(const sinew_mesh *mesh, const sinew_region *region, const float color[3],
                 float *share, float *sum, float *colors) {
    size_t n = (size_t)mesh->vertex_count;
    memset(share, 0, n * sizeof *share);
    for (int i = 0; i < region->count; i++) share[region->vertices[i]] = 1;
    for (int round = 0; round < 2; round++) {
        memset(sum, 0, 2 * n * sizeof *sum);
        for (int t = 0; t < mesh->triangle_count; t++)
            for (int k = 0; k < 3; k++) {
                const int *v = mesh->triangles + 3 * (size_t)t;
                sum[v[k]] += share[v[0]] + share[v[1]] + share[v[2]];
                sum[n + (size_t)v[k]] += 3;
            }
        for (size_t v = 0; v < n; v++)
            if (sum[n + v] > 0) share[v] = sum[v] / sum[n + v];
    }
    for (size_t i = 0; i < 3 * n; i++) colors[i] *= 1 + share[i / 3] * (color[i % 3] - 1);
}

static sinew_status tint_regions(cli_call *call, const sinew_rig *rig, shape *s) {
    const sinew_mesh *mesh = rig->neutral;
    size_t n = (size_t)mesh->vertex_count;
    float *share = NULL, *sum = NULL;
    bool complete = true;
    for (size_t k = 0; complete && k < sizeof tints / sizeof *tints; k++) {
        int region = sinew_rig_find_region(rig, tints[k].region);
        if (region < 0) continue;
        if (!s->colors) {
            share = CLI_NEW(float, n), sum = CLI_NEW(float, 2 * n);
            s->colors = CLI_NEW(float, 3 * n);
            complete = share && sum && s->colors;
            for (size_t i = 0; complete && i < 3 * n; i++) s->colors[i] = 1;
        }
        if (complete) tint(mesh, &rig->regions[region], tints[k].color, share, sum, s->colors);
    }
    sinew_free(share), sinew_free(sum);
    return complete ? SINEW_OK : cli_no_memory(&call->error);
}

static sinew_status hide(cli_call *call, sinew_rig *rig) {
    int count = cli_count(call, "--hide");
    if (cli_given(call, "--regions"))
        CLI_TRY(sinew_regions_read(cli_text(call, "--regions"), rig, &call->error));
    const char **selections = CLI_NEW(const char *, (size_t)count + 1);
    if (!selections) return cli_no_memory(&call->error);
    for (int i = 0; i < count; i++) selections[i] = cli_text_at(call, "--hide", i);
    sinew_status status = cli_hide(call, rig, count, selections);
    sinew_free(selections);
    return status;
}

/* The neutral of a rig, or the rig at `weights` when given. */
static sinew_status load_rig(cli_call *call, const char *path, const char *weights, shape *s) {
    sinew_rig *rig;
    CLI_TRY(sinew_rig_read(1, &path, &rig, &call->error));
    sinew_status status = tint_regions(call, rig, s);
    if (status == SINEW_OK) status = hide(call, rig);
    if (status == SINEW_OK && weights) {
        double *values = CLI_NEW(double, rig->slider_count);
        sinew_linear *linear = NULL;
        double *posed = CLI_NEW(double, 3 * (size_t)rig->neutral->vertex_count);
        if (!values || !posed) status = cli_no_memory(&call->error);
        if (status == SINEW_OK) {
            sinew_rig_rest_weights(rig, values);
            status = sinew_rig_parse_weights(rig, weights, values, &call->error);
        }
        if (status == SINEW_OK) status = sinew_linear_create(rig, &linear, &call->error);
        if (status == SINEW_OK) {
            sinew_linear_evaluate(linear, values, posed);
            memcpy(rig->neutral->positions, posed,
                   sizeof(double) * 3 * (size_t)rig->neutral->vertex_count);
        }
        sinew_linear_destroy(linear);
        sinew_free(values), sinew_free(posed);
    }
    s->mesh = rig->neutral;
    rig->neutral = NULL;
    sinew_rig_destroy(rig);
    return status;
}

/* Takes the faces out that lie beyond the plane of --cut with all their corners. */
static sinew_status cut_open(cli_call *call, sinew_mesh *mesh) {
    const char *plane = cli_text(call, "--cut"), *at = plane;
    if (!plane) return SINEW_OK;
    double sign = *at == '-' ? (at++, -1) : 1;
    char axis = *at;
    double value;
    if (axis < 'x' || axis > 'z' || at[1] != '=' ||
        sinew_text_number(at + 2, &value, NULL) != SINEW_OK)
        return cli_usage(call, "--cut %s: expected x=VALUE, -x=VALUE, or another axis", plane);
    bool *removed = CLI_NEW(bool, mesh->face_count);
    if (!removed) return cli_no_memory(&call->error);
    for (int f = 0; f < mesh->face_count; f++) {
        removed[f] = true;
        for (int k = mesh->face_start[f]; k < mesh->face_start[f + 1]; k++) {
            double coordinate = mesh->positions[3 * mesh->face_vertices[k] + (axis - 'x')];
            removed[f] = removed[f] && sign * (coordinate - value) >= 0;
        }
    }
    sinew_status status = cli_remove_faces(call, mesh, removed, "--cut");
    sinew_free(removed);
    return status;
}

/* A mesh from a file that is used as a rig only where --hide selects by its targets. */
static sinew_status load_mesh(cli_call *call, const char *path, shape *s) {
    sinew_mesh *mesh;
    sinew_rig *rig;
    sinew_error none;
    if (!cli_given(call, "--hide") || sinew_rig_read(1, &path, &rig, &none) != SINEW_OK) {
        CLI_TRY(sinew_mesh_read(path, &mesh, &call->error));
        CLI_TRY(sinew_rig_create(mesh, &rig, &call->error));
    }
    sinew_status status = hide(call, rig);
    s->mesh = rig->neutral;
    rig->neutral = NULL;
    sinew_rig_destroy(rig);
    return status;
}

static sinew_status load_shape(cli_call *call, const char *path, const char *weights, shape *s) {
    const char *faces = cli_text(call, "--mesh");
    if (is_cache(path)) {
        if (!faces)
            return cli_usage(call, "%s stores vertices only; specify the faces with --mesh FILE",
                             path);
        CLI_TRY(sinew_frames_read(path, &s->frames, &call->error));
        if (s->frames->frame_count < 1)
            return sinew_fail(&call->error, SINEW_BAD_INPUT, "%s: contains no frames", path);
    }
    const char *shown = is_cache(path) ? faces : path;
    if (cli_is_folder(shown) || weights)
        CLI_TRY(load_rig(call, shown, weights, s));
    else
        CLI_TRY(load_mesh(call, shown, s));
    CLI_TRY(cut_open(call, s->mesh));
    if (s->frames && sinew_frames_match(s->frames, s->mesh, NULL) != SINEW_OK)
        return sinew_fail(&call->error, SINEW_BAD_INPUT, "%s: %d vertices, but %s has %d", path,
                          s->frames->vertex_count, faces, s->mesh->vertex_count);
    s->label = weights ? cli_strdup(weights) : cli_path_stem(path);
    return s->label ? SINEW_OK : cli_no_memory(&call->error);
}

static sinew_status read_options(cli_call *call, stage *s) {
    sinew_render_options *o = &s->picture;
    sinew_render_options_init(o);
    o->azimuth = cli_number(call, "--azimuth", o->azimuth);
    o->elevation = cli_number(call, "--elevation", o->elevation);
    o->zoom = cli_number(call, "--zoom", o->zoom);
    o->up = cli_choice(call, "--up", 0) == 1 ? 'z' : 'y';
    o->columns = cli_integer(call, "--columns", 0);
    o->wireframe = cli_given(call, "--wireframe");
    o->ground = !cli_given(call, "--no-ground");
    o->title = cli_text(call, "--title");
    o->heat_unit = cli_text(call, "--heat-unit");
    const char *size = cli_text(call, "--size");
    char tail;
    if (size && (sscanf(size, "%9dx%9d%c", &o->width, &o->height, &tail) != 2 || o->width < 1 ||
                 o->height < 1))
        return cli_usage(call, "--size %s: expected WIDTHxHEIGHT such as 1920x1080", size);
    double *numbers;
    int count;
    const char *range = cli_text(call, "--heat-range");
    if (range) {
        CLI_TRY(cli_parse_numbers(call, range, "--heat-range", &numbers, &count));
        bool right = count == 2 && numbers[0] < numbers[1];
        if (right) o->heat_low = numbers[0], o->heat_high = numbers[1];
        sinew_free(numbers);
        if (!right) return cli_usage(call, "--heat-range %s: expected LOW,HIGH", range);
    }
    const char *sphere = cli_text(call, "--look-at");
    if (sphere) {
        CLI_TRY(cli_parse_numbers(call, sphere, "--look-at", &numbers, &count));
        bool right = count == 4 && numbers[3] > 0;
        for (int k = 0; right && k < 3; k++) o->center[k] = numbers[k];
        if (right) o->radius = numbers[3];
        sinew_free(numbers);
        if (!right) return cli_usage(call, "--look-at %s: expected x,y,z,r with r above 0", sphere);
    }
    const char *views = cli_text(call, "--views");
    s->view_count = 1;
    if (views) {
        CLI_TRY(cli_parse_numbers(call, views, "--views", &numbers, &count));
        s->view_count = count < MAX_VIEWS ? count : MAX_VIEWS;
        for (int i = 0; i < s->view_count; i++) s->views[i] = numbers[i];
        sinew_free(numbers);
        if (count > MAX_VIEWS) return cli_usage(call, "--views: at most %d", MAX_VIEWS);
        o->azimuth = 0;
    }
    return SINEW_OK;
}

static sinew_status load_stage(cli_call *call, stage *s) {
    CLI_TRY(read_options(call, s));
    /* With --weights the one rig is shown once for each of them. */
    int sets = cli_count(call, "--weights");
    if (sets > 0 && call->argument_count != 1)
        return cli_usage(call, "--weights needs exactly one rig");
    int count = sets > 0 ? sets : call->argument_count;
    if (count > MAX_SHAPES) return cli_usage(call, "at most %d shapes in a picture", MAX_SHAPES);
    for (int i = 0; i < count; i++) {
        const char *path = call->arguments[sets > 0 ? 0 : i];
        s->shape_count++;
        CLI_TRY(load_shape(call, path, sets > 0 ? cli_text_at(call, "--weights", i) : NULL,
                           &s->shapes[i]));
        if (i < cli_count(call, "--label")) {
            const char *label = cli_text_at(call, "--label", i);
            sinew_free(s->shapes[i].label);
            s->shapes[i].label = strcmp(label, "-") ? cli_strdup(label) : NULL;
        } else if (count == 1 && !sets) {
            sinew_free(s->shapes[i].label);
            s->shapes[i].label = NULL;
        }
    }
    const char *against = cli_text(call, "--against");
    if (against) {
        CLI_TRY(load_shape(call, against, NULL, &s->reference));
        for (int i = 0; i < s->shape_count; i++)
            if (s->shapes[i].mesh->vertex_count != s->reference.mesh->vertex_count)
                return sinew_fail(&call->error, SINEW_BAD_INPUT, "%s: %d vertices, but %s has %d",
                                  against, s->reference.mesh->vertex_count,
                                  call->arguments[sets > 0 ? 0 : i],
                                  s->shapes[i].mesh->vertex_count);
    }
    const char *heat = cli_text(call, "--heat");
    if (heat) {
        int vertex_count = s->shapes[0].mesh->vertex_count;
        s->heat = CLI_NEW(double, vertex_count);
        if (!s->heat) return cli_no_memory(&call->error);
        CLI_TRY(sinew_vertex_values_read(heat, vertex_count, s->heat, &call->error));
    }
    for (int i = 0; i < cli_count(call, "--obstacle") && i < MAX_SHAPES; i++) {
        CLI_TRY(
            sinew_mesh_read(cli_text_at(call, "--obstacle", i), &s->obstacles[i], &call->error));
        s->obstacle_count++;
    }
    return SINEW_OK;
}

static int frame_limit(const stage *s) {
    int most = 1;
    for (int i = 0; i < s->shape_count; i++)
        if (s->shapes[i].frames && s->shapes[i].frames->frame_count > most)
            most = s->shapes[i].frames->frame_count;
    return most;
}

/* Positions of a shape at a frame, the last one held. Newly allocated; NULL: no memory. */
static double *positions_at(const shape *s, int frame) {
    size_t count = 3 * (size_t)s->mesh->vertex_count;
    if (!s->frames) return cli_memdup(s->mesh->positions, count, sizeof(double));
    double *x = CLI_NEW(double, count);
    if (!x) return NULL;
    if (frame >= s->frames->frame_count) frame = s->frames->frame_count - 1;
    const float *row = s->frames->positions + (size_t)frame * count;
    for (size_t i = 0; i < count; i++) x[i] = row[i];
    return x;
}

static double *distance_heat(const stage *s, const double *x, int frame) {
    int n = s->reference.mesh->vertex_count;
    double *y = positions_at(&s->reference, frame), *heat = CLI_NEW(double, n);
    for (int v = 0; y && heat && v < n; v++) {
        const double *a = x + 3 * (size_t)v, *b = y + 3 * (size_t)v;
        heat[v] = sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                       (a[2] - b[2]) * (a[2] - b[2]));
    }
    if (!y) sinew_free(heat), heat = NULL;
    sinew_free(y);
    return heat;
}

/* The tint of a shape with the triangles that cut each other in red. Newly allocated. */
static sinew_status mark_crossings(cli_call *call, const shape *s, const double *x,
                                   const float **marked) {
    static const float red[3] = {1, 0.12f, 0.08f};
    const sinew_mesh *mesh = s->mesh;
    size_t n = 3 * (size_t)mesh->vertex_count;
    int *pairs, count;
    float *colors = CLI_NEW(float, n);
    *marked = colors;
    if (!colors) return cli_no_memory(&call->error);
    for (size_t i = 0; i < n; i++) colors[i] = s->colors ? s->colors[i] : 1;
    sinew_error why = {0};
    sinew_status status =
        sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count, mesh->triangles,
                                 call->monitor, &pairs, &count, &why);
    if (status != SINEW_OK)
        return sinew_fail(&call->error, status, "%s: %.400s",
                          s->label ? s->label : call->arguments[0], why.message);
    for (int i = 0; i < 2 * count; i++)
        for (int k = 0; k < 3; k++)
            memcpy(colors + 3 * mesh->triangles[3 * pairs[i] + k], red, sizeof red);
    sinew_free(pairs);
    return SINEW_OK;
}

/* One image: every shape at every listed frame, from every view. */
static sinew_status draw(cli_call *call, const stage *s, const int *frames, int frame_count,
                         double turn, sinew_image **image) {
    int count = s->shape_count * frame_count * s->view_count;
    sinew_panel *panels = CLI_NEW(sinew_panel, count);
    char(*labels)[160] = sinew_alloc((size_t)count, sizeof *labels);
    sinew_status status = panels && labels ? SINEW_OK : cli_no_memory(&call->error);
    for (int p = 0; status == SINEW_OK && p < count; p++) {
        int shape_index = p / (frame_count * s->view_count);
        int frame = frames[p / s->view_count % frame_count], view = p % s->view_count;
        const shape *one = &s->shapes[shape_index];
        sinew_panel *panel = &panels[p];
        panel->mesh = one->mesh;
        panel->turn = turn + s->views[view];
        panel->colors = cli_given(call, "--crossings") ? NULL : one->colors;
        panel->extras = (const sinew_mesh *const *)s->obstacles;
        panel->extra_count = s->obstacle_count;
        double *x = positions_at(one, frame), *heat = NULL;
        panel->positions = x;
        if (!x) status = cli_no_memory(&call->error);
        if (s->reference.mesh && x) {
            heat = distance_heat(s, x, frame);
            if (!heat) status = cli_no_memory(&call->error);
        } else if (s->heat && shape_index == 0)
            heat = cli_memdup(s->heat, (size_t)one->mesh->vertex_count, sizeof(double));
        panel->heat = heat;
        if (status == SINEW_OK && cli_given(call, "--crossings"))
            status = mark_crossings(call, one, x, &panel->colors);
        if (frame_count > 1)
            snprintf(labels[p], sizeof labels[p], "%s%sframe %d", one->label ? one->label : "",
                     one->label ? ", " : "", frame);
        else if (one->label)
            snprintf(labels[p], sizeof labels[p], "%s", one->label);
        panel->label = *labels[p] ? labels[p] : NULL;
    }
    if (status == SINEW_OK) status = sinew_render(count, panels, &s->picture, image, &call->error);
    for (int p = 0; panels && p < count; p++) {
        sinew_free((void *)panels[p].positions);
        sinew_free((void *)panels[p].heat);
        if (cli_given(call, "--crossings")) sinew_free((void *)panels[p].colors);
    }
    sinew_free(panels), sinew_free(labels);
    return status;
}

static sinew_status draw_picture(cli_call *call, const stage *s, const char *out) {
    int frames[MAX_SHAPES] = {0}, count = 1, limit = frame_limit(s);
    const char *list = cli_text(call, "--frame");
    if (list && !strcmp(list, "all")) {
        count = limit < 12 ? limit : 12;
        for (int i = 0; i < count; i++)
            frames[i] = count > 1 ? (int)lrint((double)i * (limit - 1) / (count - 1)) : 0;
    } else if (list) {
        double *numbers;
        CLI_TRY(cli_parse_numbers(call, list, "--frame", &numbers, &count));
        bool right = count <= MAX_SHAPES;
        for (int i = 0; right && i < count; i++) {
            right = numbers[i] >= 0 && numbers[i] < limit && numbers[i] == floor(numbers[i]);
            frames[i] = right ? (int)numbers[i] : 0;
        }
        sinew_free(numbers);
        if (!right)
            return cli_usage(call, "--frame %s: whole numbers from 0 to %d", list, limit - 1);
    }
    sinew_image *image;
    CLI_TRY(draw(call, s, frames, count, 0, &image));
    sinew_status status = sinew_image_write(out, image, &call->error);
    sinew_image_destroy(image);
    return status;
}

/* The sphere that fits every frame, so that the camera does not move. */
static sinew_status fit_all(cli_call *call, stage *s) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    int limit = frame_limit(s), step = limit / 60 + 1;
    for (int i = 0; i < s->shape_count; i++)
        for (int f = 0; f < limit; f += step) {
            double *x = positions_at(&s->shapes[i], f), center[3], radius;
            if (!x) return cli_no_memory(&call->error);
            sinew_panel panel = {.mesh = s->shapes[i].mesh, .positions = x};
            sinew_render_fit(1, &panel, center, &radius);
            for (int k = 0; k < 3; k++) {
                low[k] = fmin(low[k], center[k] - 0.62 * radius);
                high[k] = fmax(high[k], center[k] + 0.62 * radius);
            }
            sinew_free(x);
        }
    double square = 0;
    for (int k = 0; k < 3; k++) {
        s->picture.center[k] = 0.5 * (low[k] + high[k]);
        square += 0.25 * (high[k] - low[k]) * (high[k] - low[k]);
    }
    s->picture.radius = 0.82 * sqrt(square);
    return SINEW_OK;
}

static sinew_status draw_video(cli_call *call, stage *s, const char *out) {
    double rate = 30, turn = cli_number(call, "--turntable", 0);
    for (int i = 0; i < s->shape_count; i++)
        if (s->shapes[i].frames && s->shapes[i].frames->rate > 0) rate = s->shapes[i].frames->rate;
    rate = cli_number(call, "--fps", rate);
    int count = turn > 0 ? (int)lrint(turn * rate) : frame_limit(s);
    if (count < 1) count = 1;
    if (!cli_given(call, "--look-at")) CLI_TRY(fit_all(call, s));
    sinew_video *video;
    CLI_TRY(sinew_video_open(out, s->picture.width, s->picture.height, rate, &video, &call->error));
    sinew_status status = SINEW_OK;
    for (int f = 0; status == SINEW_OK && f < count; f++) {
        if (call->monitor->cancelled && call->monitor->cancelled(call->monitor->user)) {
            status = sinew_fail(&call->error, SINEW_CANCELLED, "cancelled");
            break;
        }
        sinew_image *image;
        status = draw(call, s, &f, 1, turn > 0 ? 360.0 * f / count : 0, &image);
        if (status != SINEW_OK) break;
        status = sinew_video_add(video, image, &call->error);
        sinew_image_destroy(image);
        if (call->monitor->progress)
            call->monitor->progress((f + 1.0) / count, "render", call->monitor->user);
    }
    if (status != SINEW_OK) {
        sinew_video_abandon(video);
        return status;
    }
    return sinew_video_close(video, &call->error);
}

static sinew_status run(cli_call *call) {
    const char *out = cli_text(call, "--out");
    if (!out) return cli_usage(call, "--out FILE is required");
    if (cli_has_ending(out, "png") && cli_given(call, "--turntable"))
        return cli_usage(call, "--turntable makes a video, and %s is a picture", out);
    stage *s = CLI_NEW(stage, 1);
    if (!s) return cli_no_memory(&call->error);
    sinew_status status = load_stage(call, s);
    if (status == SINEW_OK)
        status = cli_has_ending(out, "png") ? draw_picture(call, s, out) : draw_video(call, s, out);
    free_stage(s);
    sinew_free(s);
    if (status == SINEW_OK) cli_tell_helpers(call);
    if (status == SINEW_OK) cli_say(call, "wrote %s", out);
    return status;
}

const cli_verb verb_render = {
    .name = "render",
    .summary = "draw meshes and point caches as a picture or a video, without a display",
    .arguments = "SHAPE...",
    .minimum = 1,
    .maximum = -1,
    .options = options,
    .description =
        "Draw meshes, rigs and point caches as a picture or a video. No display or graphics driver "
        "is needed; videos require ffmpeg.\n\nEach SHAPE is a mesh, a rig folder (its neutral) or "
        "a point cache (.pc2, .mdd; its faces come from --mesh), and gets its own panel. Parts "
        "named eye, teeth or tongue are shaded accordingly.",
    .example = "sinew sample bar --out bar\nsinew render bar --out bar.png --views 0,45 "
               "--wireframe --size 640x360\nsinew render bar --weights bend120=0.5 --weights "
               "bend120=1 --out bend.png\n",
    .run = run,
};
