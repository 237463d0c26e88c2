/* What hides a face is found by rays: from vertices of loose pieces along the camera's line of
 * sight to the face, and from the skin back to the camera. */
#include "sinew/face_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/vec3.h"
#include "sinew/query.h"

/* Radius of the sphere over that of what it shows. */
#define MARGIN 1.02
/* Distances between the eyes: from between them back to the middle of a head, from there to the
 * farthest of it, and down to the chin where it is not known. Below the chin are neck and body. */
#define HEAD_BACK   1.2
#define HEAD_RADIUS 4.0
#define HEAD_CHIN   1.8
#define BELOW_CHIN  0.4
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

struct sinew_face_view {
    sinew_mesh *mesh;
    sinew_marker_map *points; /* NULL: no face */
    int *head;                /* vertices of the head that the points are on */
    int head_count;
    char **covers;
    sinew_face_view_info info;
};

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

static sinew_status landmarks(const sinew_anatomy *anatomy, sinew_marker_map **points,
                              sinew_error *error) {
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
    SN_TRY(sinew_marker_map_create(count, points, error));
    for (int i = 0; i < count; i++) sinew_marker_map_set_vertex(*points, i, vertices[i]);
    return SINEW_OK;
}

/* Unchanged when no face was found. */
static void find_front(const sinew_anatomy *anatomy, bool *z_up, double *azimuth) {
    double left[3], up[3], front[3];
    if (!sinew_anatomy_axes(anatomy, left, up, front)) return;
    *z_up = fabs(up[2]) > fabs(up[1]);
    double angle = atan2(front[0], *z_up ? -front[1] : front[2]);
    *azimuth = 90 * rint(angle / (0.5 * 3.14159265358979323846));
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
static sinew_status find_floating(const pieces *p, bool *floating, sinew_error *error) {
    const sinew_mesh *mesh = p->rig->neutral;
    int count = sinew_anatomy_piece_count(p->anatomy), kept = 0;
    int *triangles = SN_NEW0(int, 3 * (size_t)mesh->triangle_count);
    box *boxes = SN_NEW0(box, count);
    sinew_query *query = NULL;
    sinew_status status = triangles && boxes ? SINEW_OK : sn_no_memory(error);
    for (int t = 0; status == SINEW_OK && t < mesh->triangle_count; t++)
        if (p->face[piece_of_triangle(p, t)])
            memcpy(triangles + 3 * (size_t)kept++, mesh->triangles + 3 * (size_t)t,
                   3 * sizeof *triangles);
    if (status == SINEW_OK)
        status =
            sinew_query_create(mesh->vertex_count, mesh->positions, kept, triangles, &query, error);
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
    sn_free(triangles), sn_free(boxes);
    return status;
}

static sinew_status classify(pieces *p, const sinew_marker_map *points, sinew_error *error) {
    const sinew_mesh *mesh = p->rig->neutral;
    double still = STILL * sinew_diagonal(mesh->vertex_count, mesh->positions);
    for (int i = 0; i < points->count; i++)
        p->face[points->vertices[i] >= 0 ? p->of[points->vertices[i]]
                                         : piece_of_triangle(p, points->triangles[i])] = true;
    SN_TRY(find_floating(p, p->loose, error));
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

/* The loose pieces between a vertex and the camera, marked in `covers` where it is not NULL.
 * Returns whether the face is there, too: what is behind it, as teeth are, hides nothing. */
static bool is_behind_face(const scan *s, int vertex, const double back[3], bool *covers) {
    const double *x = s->p->rig->neutral->positions + 3 * (size_t)vertex;
    double from[3];
    int passed[LAYERS], count = 0;
    sinew_closest hit;
    for (int k = 0; k < 3; k++) from[k] = x[k] + s->lift * back[k];
    for (int i = 0; i < LAYERS && sinew_query_ray(s->query, from, back, INFINITY, &hit); i++) {
        int piece = piece_of_triangle(s->p, hit.triangle);
        if (s->p->face[piece]) return true;
        if (s->p->loose[piece]) passed[count++] = piece;
        for (int k = 0; k < 3; k++) from[k] = hit.point[k] + s->lift * back[k];
    }
    for (int i = 0; covers && i < count; i++) covers[passed[i]] = true;
    return false;
}

/* Whether the first thing behind a vertex that is not loose belongs to the face or an eye. Finds
 * what is smaller than the triangles of the skin. */
static bool is_in_front(const scan *s, int vertex, const double back[3]) {
    const pieces *p = s->p;
    const double *x = p->rig->neutral->positions + 3 * (size_t)vertex;
    const double ahead[3] = {-back[0], -back[1], -back[2]};
    double from[3];
    sinew_closest hit;
    if (is_behind_face(s, vertex, back, NULL)) return false;
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

static sinew_status find_covers(pieces *p, const sinew_face_view *view, int count,
                                const double *azimuths, double elevation, sinew_error *error) {
    const sinew_mesh *mesh = p->rig->neutral;
    const bool *skin = sinew_anatomy_skin(p->anatomy);
    const double degree = 3.14159265358979323846 / 180, e = elevation * degree;
    double *points = SN_NEW0(double, 3 * (size_t)view->points->count);
    if (!points) return sn_no_memory(error);
    sinew_marker_map_points(view->points, mesh, mesh->positions, points);
    scan s = {.p = p, .face = nowhere};
    extend(&s.face, view->points->count, points);
    s.around = AROUND * sinew_diagonal(view->points->count, points);
    s.lift = LIFT * sinew_diagonal(mesh->vertex_count, mesh->positions);
    sn_free(points);
    SN_TRY(sinew_query_create(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                              mesh->triangles, &s.query, error));
    for (int i = 0; i < count; i++) {
        double a = (azimuths[i] + view->info.azimuth) * degree;
        double back[3] = {sin(a) * cos(e), sin(e), cos(a) * cos(e)};
        if (view->info.z_up) back[1] = -back[2], back[2] = sin(e);
        for (int v = 0; v < mesh->vertex_count; v++) {
            int piece = p->of[v];
            if (p->loose[piece] && !p->covers[piece])
                p->covers[piece] = is_in_front(&s, v, back);
            else if (p->face[piece] && skin[v] &&
                     contains(&s.face, mesh->positions + 3 * (size_t)v, s.around))
                is_behind_face(&s, v, back, p->covers);
        }
    }
    sinew_query_destroy(s.query);
    return SINEW_OK;
}

/* A part whose pieces are all loose is left out as a whole: hair, not the strands in front. */
static sinew_status name_covers(const pieces *p, sinew_face_view *view, sinew_error *error) {
    const sinew_mesh *mesh = p->rig->neutral;
    int piece_count = sinew_anatomy_piece_count(p->anatomy);
    bool *whole = SN_NEW0(bool, (size_t)mesh->part_count + 1),
         *chosen = SN_NEW0(bool, (size_t)mesh->part_count + 1), *done = SN_NEW0(bool, piece_count);
    view->covers = SN_NEW0(char *, (size_t)(mesh->part_count + piece_count) + 1);
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
        char *text = SN_NEW0(char, room);
        complete = text != NULL;
        if (!complete) break;
        if (piece < 0)
            snprintf(text, room, "part:%s", mesh->part_names[i]);
        else
            snprintf(text, room, "piece:%d", piece);
        view->covers[view->info.covers++] = text;
    }
    sn_free(whole), sn_free(chosen), sn_free(done);
    return complete ? SINEW_OK : sn_no_memory(error);
}

/* ---- the view -------------------------------------------------------------------------------- */

/* Vertices of the pieces that the points are on, as far as they belong to the head. */
static sinew_status find_head(const pieces *p, sinew_face_view *view, sinew_error *error) {
    const sinew_mesh *mesh = p->rig->neutral;
    double eyes = sinew_anatomy_eye_distance(p->anatomy), left[3], up[3], front[3], at[3];
    sn_vec3 middle = {0, 0, 0};
    int seen = 0;
    if (!(eyes > 0) || !sinew_anatomy_axes(p->anatomy, left, up, front)) return SINEW_OK;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 2; i++)
            if (sinew_anatomy_landmark(p->anatomy,
                                       i ? SINEW_LANDMARK_EYE_OUTER : SINEW_LANDMARK_EYE_INNER,
                                       (sinew_side)side, at, NULL))
                middle = sn_add(middle, sn_at(at, 0)), seen++;
    if (seen < 4) return SINEW_OK;
    view->head = SN_NEW(int, mesh->vertex_count);
    if (!view->head) return sn_no_memory(error);
    middle = sn_add_scaled(sn_scale(0.25, middle), -HEAD_BACK * eyes, sn_at(front, 0));
    double lowest = -HEAD_CHIN * eyes;
    if (sinew_anatomy_landmark(p->anatomy, SINEW_LANDMARK_CHIN, SINEW_SIDE_NONE, at, NULL))
        lowest = sn_dot(sn_at(up, 0), sn_sub(sn_at(at, 0), middle));
    for (int v = 0; v < mesh->vertex_count; v++) {
        sn_vec3 away = sn_sub(sn_at(mesh->positions, v), middle);
        bool skin = p->face[p->of[v]] ||
                    sinew_anatomy_piece_kind(p->anatomy, p->of[v]) == SINEW_PIECE_KIND_SKIN;
        if (skin && sn_length(away) <= HEAD_RADIUS * eyes &&
            sn_dot(sn_at(up, 0), away) >= lowest - BELOW_CHIN * eyes)
            view->head[view->head_count++] = v;
    }
    return SINEW_OK;
}

static sinew_status fill(sinew_face_view *view, const sinew_rig *rig, const sinew_anatomy *anatomy,
                         const sinew_marker_map *points, int count, const double *azimuths,
                         double elevation, sinew_error *error) {
    pieces p = {.rig = rig, .anatomy = anatomy, .of = sinew_anatomy_pieces(anatomy)};
    size_t n = (size_t)sinew_anatomy_piece_count(anatomy);
    SN_TRY(sinew_mesh_copy(rig->neutral, &view->mesh, error));
    SN_TRY(points ? sinew_marker_map_copy(points, &view->points, error)
                  : landmarks(anatomy, &view->points, error));
    if (!view->points) return SINEW_OK;
    view->info.found = true;
    find_front(anatomy, &view->info.z_up, &view->info.azimuth);
    p.face = SN_NEW0(bool, n), p.loose = SN_NEW0(bool, n), p.covers = SN_NEW0(bool, n);
    sinew_status status = p.face && p.loose && p.covers ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) status = classify(&p, view->points, error);
    if (status == SINEW_OK) status = find_covers(&p, view, count, azimuths, elevation, error);
    if (status == SINEW_OK) status = name_covers(&p, view, error);
    if (status == SINEW_OK) status = find_head(&p, view, error);
    sn_free(p.face), sn_free(p.loose), sn_free(p.covers);
    return status;
}

sinew_status sinew_face_view_create(const sinew_rig *rig, const sinew_anatomy *anatomy,
                                    const sinew_marker_map *points, int count,
                                    const double *azimuths, double elevation,
                                    const sinew_monitor *monitor, sinew_face_view **view,
                                    sinew_error *error) {
    SN_REQUIRE(rig && view && count >= 0 && (azimuths || count == 0), error);
    *view = NULL;
    if (points) SN_TRY(sinew_marker_map_check(points, rig->neutral, error));
    sinew_face_view *made = SN_NEW0(sinew_face_view, 1);
    if (!made) return sn_no_memory(error);
    sinew_anatomy *own = NULL;
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = anatomy ? SINEW_OK : sinew_anatomy_create(rig, monitor, &own, error);
    if (status == SINEW_OK)
        status =
            fill(made, rig, anatomy ? anatomy : own, points, count, azimuths, elevation, error);
    sinew_anatomy_destroy(own);
    status = sn_call_end(&call, status, error);
    if (status != SINEW_OK) {
        sinew_face_view_destroy(made);
        return status;
    }
    *view = made;
    return SINEW_OK;
}

void sinew_face_view_destroy(sinew_face_view *view) {
    if (!view) return;
    sinew_marker_map_destroy(view->points);
    sinew_mesh_destroy(view->mesh);
    sn_free(view->head);
    for (int i = 0; i < view->info.covers; i++) sn_free(view->covers[i]);
    sn_free(view->covers);
    sn_free(view);
}

sinew_status sinew_face_view_get_info(const sinew_face_view *view, sinew_face_view_info *info) {
    SN_REQUIRE(view && info && sn_info_ready(info), NULL);
    sn_info_write(info, &view->info, sizeof view->info);
    return SINEW_OK;
}

const char *sinew_face_view_cover(const sinew_face_view *view, int index) {
    return view && index >= 0 && index < view->info.covers ? view->covers[index] : NULL;
}

/* points: 3 each of the head and the points in a frame. */
static void place(const sinew_face_view *view, const float *frame, double *x, double *points) {
    size_t n = 3 * (size_t)view->mesh->vertex_count;
    for (size_t i = 0; i < n; i++) x[i] = (double)frame[i];
    for (int k = 0; k < view->head_count; k++) sn_put(points, k, sn_at(x, view->head[k]));
    sinew_marker_map_points(view->points, view->mesh, x, points + 3 * (size_t)view->head_count);
}

sinew_status sinew_face_view_sphere(const sinew_face_view *view, const sinew_frames *frames,
                                    double sphere[4], sinew_error *error) {
    SN_REQUIRE(view && frames && sphere, error);
    const sinew_mesh *mesh = view->mesh;
    if (!view->points) return sn_fail(error, SINEW_BAD_INPUT, "the rig has no face to look at");
    if (frames->vertex_count != mesh->vertex_count)
        return sn_fail(error, SINEW_BAD_INPUT, "the frames have %d vertices, but the rig has %d",
                       frames->vertex_count, mesh->vertex_count);
    if (frames->frame_count < 1) return sn_fail(error, SINEW_BAD_INPUT, "there are no frames");
    size_t n = 3 * (size_t)mesh->vertex_count;
    int count = view->points->count + view->head_count;
    double *x = SN_NEW(double, n), *points = SN_NEW(double, 3 * (size_t)count), square = 0;
    box all = nowhere;
    sinew_status status = x && points ? SINEW_OK : sn_no_memory(error);
    for (int f = 0; status == SINEW_OK && f < frames->frame_count; f++) {
        place(view, frames->positions + (size_t)f * n, x, points);
        extend(&all, count, points);
    }
    for (int k = 0; k < 3; k++) sphere[k] = 0.5 * (all.low[k] + all.high[k]);
    for (int f = 0; status == SINEW_OK && f < frames->frame_count; f++) {
        place(view, frames->positions + (size_t)f * n, x, points);
        for (int i = 0; i < count; i++) {
            sn_vec3 away = sn_sub(sn_at(points, i), sn_at(sphere, 0));
            square = fmax(square, sn_dot(away, away));
        }
    }
    sphere[3] = MARGIN * sqrt(square);
    sn_free(x), sn_free(points);
    return status;
}
