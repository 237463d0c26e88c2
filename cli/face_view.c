/* The face in the picture of a take: where it is, which way it faces, and what hides it. */
#include "face_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sinew/query.h"
#include "sinew/render.h"

/* Radius of the sphere over that of the box of the points, which leaves room for the head. */
#define MARGIN 1.05
/* Fraction of the diagonal of the points by which the skin around them must be visible, too. */
#define AROUND 0.1
/* Fraction of the diagonal of the rig: a target that moves a vertex by less does not move it. */
#define STILL 1e-6
/* Fraction of that diagonal by which rays start above the surface. */
#define LIFT 1e-5
/* Fraction of half its own diagonal within which a piece is next to the face. */
#define NEXT_TO 1.0
/* Landmarks that must be known for a face. */
enum { ENOUGH_LANDMARKS = 6 };
/* Surfaces that a ray passes through at most: far from the origin its steps may round to none. */
enum { LAYERS = 256 };

typedef struct box {
    double low[3], high[3];
} box;

static const box nowhere = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static void extend(box *b, int count, const double *points) {
    for (int i = 0; i < 3 * count; i++) {
        b->low[i % 3] = fmin(b->low[i % 3], points[i]);
        b->high[i % 3] = fmax(b->high[i % 3], points[i]);
    }
}

static double half_diagonal(const box *b) {
    double square = 0;
    for (int k = 0; k < 3; k++) square += (b->high[k] - b->low[k]) * (b->high[k] - b->low[k]);
    return 0.5 * sqrt(square);
}

static bool contains(const box *b, const double *p, double margin) {
    for (int k = 0; k < 3; k++)
        if (!(p[k] >= b->low[k] - margin && p[k] <= b->high[k] + margin)) return false;
    return true;
}

/* ---- points on the face ---------------------------------------------------------------------- */

static sinew_status landmarks(cli_call *call, const sinew_anatomy *anatomy,
                              sinew_marker_map **points) {
    int vertices[2 * SINEW_LANDMARK_COUNT], count = 0;
    for (int i = 0; i < SINEW_LANDMARK_COUNT; i++)
        for (int side = 0; side < 2; side++) {
            bool pair = i < SINEW_LANDMARK_PAIRS;
            if (!pair && side > 0) continue;
            count += sinew_anatomy_landmark(anatomy, (sinew_landmark)i,
                                            pair ? (sinew_side)side : SINEW_SIDE_NONE, NULL,
                                            &vertices[count]);
        }
    if (count < ENOUGH_LANDMARKS) return SINEW_OK;
    CLI_TRY(sinew_marker_map_create(count, points, &call->error));
    for (int i = 0; i < count; i++) sinew_marker_map_set_vertex(*points, i, vertices[i]);
    return SINEW_OK;
}

/* Where the markers are. A take that does not fit the rig has none: the solver says why. */
static sinew_status marked(cli_call *call, const sinew_rig *rig, const sinew_anatomy *anatomy,
                           const sinew_markers *take, sinew_marker_map **points) {
    sinew_capture_options options;
    sinew_capture_options_init(&options);
    options.anatomy = anatomy;
    sinew_monitor silent = {.cancelled = call->monitor->cancelled, .user = call->monitor->user};
    sinew_capture *capture;
    sinew_error wrong = {0};
    sinew_status status = sinew_capture_create(rig, take, &options, &silent, &capture, &wrong);
    if (status == SINEW_BAD_INPUT) return SINEW_OK;
    if (status == SINEW_OK) {
        status = sinew_marker_map_copy(sinew_capture_map(capture), points, &wrong);
        sinew_capture_destroy(capture);
    }
    if (status != SINEW_OK) call->error = wrong;
    return status;
}

void cli_face_front(const sinew_anatomy *anatomy, bool *z_up, double *facing) {
    double left[3], up[3], front[3];
    if (!sinew_anatomy_axes(anatomy, left, up, front)) return;
    *z_up = fabs(up[2]) > fabs(up[1]);
    double azimuth = atan2(front[0], *z_up ? -front[1] : front[2]);
    *facing = 90 * rint(azimuth / (0.5 * 3.14159265358979323846));
}

/* ---- what hides the face --------------------------------------------------------------------- */

typedef struct pieces {
    const sinew_rig *rig;
    const sinew_anatomy *anatomy;
    const int *of; /* per vertex */
    bool *face;    /* per piece: has points */
    bool *loose;   /* lies outside the skin, and no target moves it */
    bool *covers;  /* loose, and between the face and a camera */
} pieces;

static int piece_of_triangle(const pieces *p, int triangle) {
    return p->of[p->rig->neutral->triangles[3 * (size_t)triangle]];
}

/* Per piece: whether it is not next to the face. Eyes and teeth are. What floats in front of the
 * face is not, even if its part is named after an eye. */
static sinew_status find_floating(cli_call *call, const pieces *p, bool *floating) {
    const sinew_mesh *mesh = p->rig->neutral;
    int count = sinew_anatomy_piece_count(p->anatomy), kept = 0;
    int *triangles = CLI_NEW(int, 3 * (size_t)mesh->triangle_count);
    box *boxes = CLI_NEW(box, count);
    sinew_query *query = NULL;
    sinew_status status = triangles && boxes ? SINEW_OK : cli_no_memory(&call->error);
    for (int t = 0; status == SINEW_OK && t < mesh->triangle_count; t++)
        if (p->face[piece_of_triangle(p, t)])
            memcpy(triangles + 3 * (size_t)kept++, mesh->triangles + 3 * (size_t)t,
                   3 * sizeof *triangles);
    if (status == SINEW_OK)
        status = sinew_query_create(mesh->vertex_count, mesh->positions, kept, triangles, &query,
                                    &call->error);
    for (int i = 0; status == SINEW_OK && i < count; i++) boxes[i] = nowhere, floating[i] = true;
    for (int v = 0; status == SINEW_OK && v < mesh->vertex_count; v++)
        extend(&boxes[p->of[v]], 1, mesh->positions + 3 * (size_t)v);
    for (int v = 0; status == SINEW_OK && v < mesh->vertex_count; v++) {
        const box *own = &boxes[p->of[v]];
        sinew_closest closest;
        if (floating[p->of[v]] && sinew_query_closest(query, mesh->positions + 3 * (size_t)v,
                                                      NEXT_TO * half_diagonal(own), &closest))
            floating[p->of[v]] = false;
    }
    sinew_query_destroy(query);
    sinew_free(triangles), sinew_free(boxes);
    return status;
}

static sinew_status classify(cli_call *call, pieces *p, const sinew_marker_map *points) {
    const sinew_mesh *mesh = p->rig->neutral;
    double still = STILL * sinew_diagonal(mesh->vertex_count, mesh->positions);
    for (int i = 0; i < points->count; i++)
        p->face[points->vertices[i] >= 0 ? p->of[points->vertices[i]]
                                         : piece_of_triangle(p, points->triangles[i])] = true;
    CLI_TRY(find_floating(call, p, p->loose));
    for (int i = 0; i < sinew_anatomy_piece_count(p->anatomy); i++)
        if (sinew_anatomy_piece_kind(p->anatomy, i) == SINEW_PIECE_KIND_OUTSIDE)
            p->loose[i] = !p->face[i];
    for (int t = 0; t < p->rig->target_count; t++) {
        const sinew_target *target = &p->rig->targets[t];
        for (int i = 0; i < target->count; i++) {
            const double *d = target->deltas + 3 * (size_t)i;
            if (hypot(hypot(d[0], d[1]), d[2]) > still)
                p->loose[p->of[target->vertices[i]]] = false;
        }
    }
    return SINEW_OK;
}

typedef struct scan {
    pieces *p;
    sinew_query *query;
    box face;
    double around, lift;
} scan;

/* Whether the first thing behind a vertex that is not loose belongs to the face or an eye. Finds
 * what is smaller than the triangles of the skin. */
static bool is_in_front(const scan *s, int vertex, const double ahead[3]) {
    const pieces *p = s->p;
    const double *x = p->rig->neutral->positions + 3 * (size_t)vertex;
    double from[3];
    sinew_closest hit;
    for (int k = 0; k < 3; k++) from[k] = x[k] + s->lift * ahead[k];
    for (int i = 0; i < LAYERS && sinew_query_ray(s->query, from, ahead, INFINITY, &hit); i++) {
        int behind = p->rig->neutral->triangles[3 * (size_t)hit.triangle], piece = p->of[behind];
        if (!p->loose[piece])
            return contains(&s->face, hit.point, s->around) &&
                   (sinew_anatomy_skin(p->anatomy)[behind] ||
                    sinew_anatomy_piece_kind(p->anatomy, piece) == SINEW_PIECE_KIND_EYE);
        for (int k = 0; k < 3; k++) from[k] = hit.point[k] + s->lift * ahead[k];
    }
    return false;
}

/* Marks the loose pieces between a vertex of the skin and the camera. */
static void mark_covers(const scan *s, int vertex, const double back[3]) {
    const double *x = s->p->rig->neutral->positions + 3 * (size_t)vertex;
    double from[3];
    sinew_closest hit;
    for (int k = 0; k < 3; k++) from[k] = x[k] + s->lift * back[k];
    for (int i = 0; i < LAYERS && sinew_query_ray(s->query, from, back, INFINITY, &hit); i++) {
        int piece = piece_of_triangle(s->p, hit.triangle);
        if (s->p->face[piece]) return;
        if (s->p->loose[piece]) s->p->covers[piece] = true;
        for (int k = 0; k < 3; k++) from[k] = hit.point[k] + s->lift * back[k];
    }
}

static sinew_status find_covers(cli_call *call, pieces *p, const cli_face_view *view, int count,
                                const double *azimuths) {
    const sinew_mesh *mesh = p->rig->neutral;
    const bool *skin = sinew_anatomy_skin(p->anatomy);
    const double degree = 3.14159265358979323846 / 180, e = SINEW_RENDER_ELEVATION * degree;
    double *points = CLI_NEW(double, 3 * (size_t)view->points->count);
    if (!points) return cli_no_memory(&call->error);
    sinew_marker_map_points(view->points, mesh, mesh->positions, points);
    scan s = {.p = p, .face = nowhere};
    extend(&s.face, view->points->count, points);
    s.around = AROUND * sinew_diagonal(view->points->count, points);
    s.lift = LIFT * sinew_diagonal(mesh->vertex_count, mesh->positions);
    sinew_free(points);
    CLI_TRY(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                               mesh->triangles, &s.query, &call->error));
    for (int i = 0; i < count; i++) {
        double a = (azimuths[i] + view->facing) * degree;
        double back[3] = {sin(a) * cos(e), sin(e), cos(a) * cos(e)};
        if (view->z_up) back[1] = -back[2], back[2] = sin(e);
        const double ahead[3] = {-back[0], -back[1], -back[2]};
        for (int v = 0; v < mesh->vertex_count; v++) {
            int piece = p->of[v];
            if (p->loose[piece] && !p->covers[piece])
                p->covers[piece] = is_in_front(&s, v, ahead);
            else if (p->face[piece] && skin[v] &&
                     contains(&s.face, mesh->positions + 3 * (size_t)v, s.around))
                mark_covers(&s, v, back);
        }
    }
    sinew_query_destroy(s.query);
    return SINEW_OK;
}

/* A part whose pieces are all loose is left out as a whole: hair, not the strands in front. */
static sinew_status name_covers(cli_call *call, const pieces *p, cli_face_view *view) {
    const sinew_mesh *mesh = p->rig->neutral;
    int piece_count = sinew_anatomy_piece_count(p->anatomy);
    bool *whole = CLI_NEW(bool, (size_t)mesh->part_count + 1),
         *chosen = CLI_NEW(bool, (size_t)mesh->part_count + 1), *done = CLI_NEW(bool, piece_count);
    view->covers = CLI_NEW(char *, (size_t)(mesh->part_count + piece_count) + 1);
    bool complete = whole && chosen && done && view->covers;
    for (int i = 0; complete && i < mesh->part_count; i++) whole[i] = *mesh->part_names[i];
    for (int round = 0; complete && mesh->face_part && round < 3; round++)
        for (int f = 0; f < mesh->face_count; f++) {
            int part = mesh->face_part[f];
            int piece = p->of[mesh->face_vertices[mesh->face_start[f]]];
            if (part < 0) continue;
            if (round == 0 && !p->loose[piece]) whole[part] = false;
            if (round == 1 && p->covers[piece] && whole[part]) chosen[part] = true;
            if (round == 2 && chosen[part]) done[piece] = true;
        }
    for (int i = 0; complete && i < mesh->part_count + piece_count; i++) {
        int piece = i - mesh->part_count;
        if (piece < 0 ? !chosen[i] : !p->covers[piece] || done[piece]) continue;
        size_t room = piece < 0 ? strlen(mesh->part_names[i]) + 8 : 24;
        char *text = CLI_NEW(char, room);
        complete = text != NULL;
        if (!complete) break;
        if (piece < 0)
            snprintf(text, room, "part:%s", mesh->part_names[i]);
        else
            snprintf(text, room, "piece:%d", piece);
        view->covers[view->cover_count++] = text;
    }
    sinew_free(whole), sinew_free(chosen), sinew_free(done);
    return complete ? SINEW_OK : cli_no_memory(&call->error);
}

sinew_status cli_face_view_create(cli_call *call, const sinew_rig *rig, const sinew_markers *take,
                                  int count, const double *azimuths, cli_face_view *view) {
    *view = (cli_face_view){0};
    pieces p = {.rig = rig};
    sinew_anatomy *anatomy;
    CLI_TRY(sinew_anatomy_create(rig, call->monitor, &anatomy, &call->error));
    sinew_status status = take ? marked(call, rig, anatomy, take, &view->points)
                               : landmarks(call, anatomy, &view->points);
    if (status == SINEW_OK && view->points) {
        size_t n = (size_t)sinew_anatomy_piece_count(anatomy);
        cli_face_front(anatomy, &view->z_up, &view->facing);
        p.anatomy = anatomy, p.of = sinew_anatomy_pieces(anatomy);
        p.face = CLI_NEW(bool, n), p.loose = CLI_NEW(bool, n), p.covers = CLI_NEW(bool, n);
        if (!p.face || !p.loose || !p.covers) status = cli_no_memory(&call->error);
        if (status == SINEW_OK) status = classify(call, &p, view->points);
        if (status == SINEW_OK) status = find_covers(call, &p, view, count, azimuths);
        if (status == SINEW_OK) status = name_covers(call, &p, view);
        sinew_free(p.face), sinew_free(p.loose), sinew_free(p.covers);
    }
    sinew_anatomy_destroy(anatomy);
    return status;
}

void cli_face_view_free(cli_face_view *view) {
    sinew_marker_map_destroy(view->points);
    for (int i = 0; i < view->cover_count; i++) sinew_free(view->covers[i]);
    sinew_free(view->covers);
    *view = (cli_face_view){0};
}

sinew_status cli_face_view_sphere(cli_call *call, const cli_face_view *view, const sinew_mesh *mesh,
                                  const sinew_frames *frames, double sphere[4]) {
    size_t n = 3 * (size_t)mesh->vertex_count;
    double *x = CLI_NEW(double, n), *points = CLI_NEW(double, 3 * (size_t)view->points->count);
    box all = nowhere;
    for (int f = 0; x && points && f < frames->frame_count; f++) {
        for (size_t i = 0; i < n; i++) x[i] = (double)frames->positions[(size_t)f * n + i];
        sinew_marker_map_points(view->points, mesh, x, points);
        extend(&all, view->points->count, points);
    }
    bool complete = x && points;
    sinew_free(x), sinew_free(points);
    if (!complete) return cli_no_memory(&call->error);
    for (int k = 0; k < 3; k++) sphere[k] = 0.5 * (all.low[k] + all.high[k]);
    sphere[3] = MARGIN * half_diagonal(&all);
    return SINEW_OK;
}
