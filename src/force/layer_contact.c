#include "force/layer_contact.h"

#include <string.h>

#include "algebra/cholesky.h"
#include "base/memory.h"
#include "base/status.h"
#include "force/potentials.h"

/* Distance that contact keeps, fraction of the diagonal. */
#define GAP SINEW_FORCE_CONTACT_GAP
/* Parts of the path to a frame that are tried at most when too much comes close in it at once. */
enum { PARTS = 16 };

struct sn_layer_contact {
    sn_skin *skin; /* eyes and teeth are fixed */
    sn_contact_surface *surface;
    sn_cholesky *factor; /* of the flesh that yields */
};

struct sn_layer_contact_work {
    const sn_layer_contact *contact;
    sn_force_contact *press;
    double *written; /* 3 per vertex: the last frame */
    double *goal;    /* 3 per vertex: the frame without contact */
    double *start;   /* 3 per vertex: `written` before the frame */
    sn_pack kept;    /* what is remembered before the frame */
    bool gives_up;   /* as soon as too much comes close */
};

static bool is_rigid(sinew_piece_kind kind) {
    return kind == SINEW_PIECE_KIND_EYE || kind == SINEW_PIECE_KIND_TEETH;
}

/* The same skin, with rigid parts fixed. */
static sinew_status make_skin(const sn_skin *skin, const sinew_rig *rig,
                              const sinew_anatomy *anatomy, sn_skin **made, sinew_error *error) {
    const int *piece = sinew_anatomy_pieces(anatomy);
    int *fixed = SN_NEW(int, skin->vertex_count), count = 0;
    if (!fixed) return sn_no_memory(error);
    for (int v = 0; v < skin->vertex_count; v++)
        if (skin->fixed[v] || is_rigid(sinew_anatomy_piece_kind(anatomy, piece[v])))
            fixed[count++] = v;
    sinew_status status = sn_skin_create(rig, count, fixed, made, error);
    sn_free(fixed);
    if (status == SINEW_OK) sn_skin_fit_head(*made, rig, sinew_anatomy_eye_distance(anatomy));
    return status;
}

/* The sheet of the force model at its defaults, with the bending that contact meets. */
static sinew_status make_factor(const sn_skin *skin, sn_cholesky **factor, sinew_error *error) {
    sinew_force_options options;
    sinew_force_options_init(&options);
    options.bend_length = options.contact_length;
    double steps = options.mass_time / options.frame_time;
    double *inertia = SN_NEW(double, skin->vertex_count);
    sn_potentials *potentials = NULL;
    sn_sparse *matrix = NULL;
    sinew_status status = inertia ? SINEW_OK : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < skin->vertex_count; v++)
        inertia[v] = skin->area[v] * steps * steps;
    if (status == SINEW_OK) status = sn_potentials_create(skin, &options, &potentials, error);
    if (status == SINEW_OK) status = sn_potentials_matrix(potentials, inertia, &matrix, error);
    if (status == SINEW_OK) status = sn_cholesky_create(matrix, factor, error);
    if (status == SINEW_OK) status = sn_cholesky_prepare_f32(*factor, error);
    sn_free(inertia);
    sn_potentials_destroy(potentials);
    sn_sparse_destroy(matrix);
    return status;
}

sinew_status sn_layer_contact_create(const sn_skin *skin, const sinew_rig *rig,
                                     const sinew_anatomy *anatomy, const sn_riders *riders,
                                     sn_layer_contact **contact, sinew_error *error) {
    const sinew_mesh *mesh = rig->neutral;
    *contact = NULL;
    sn_layer_contact *c = SN_NEW0(sn_layer_contact, 1);
    if (!c) return sn_no_memory(error);
    bool *inside = SN_NEW(bool, mesh->vertex_count), *teeth = SN_NEW(bool, mesh->vertex_count);
    sinew_status status = inside && teeth ? SINEW_OK : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < mesh->vertex_count; v++) {
        inside[v] = true;
        teeth[v] = sinew_anatomy_piece_kind(anatomy, sinew_anatomy_pieces(anatomy)[v]) ==
                   SINEW_PIECE_KIND_TEETH;
    }
    for (int i = 0; status == SINEW_OK && i < riders->count; i++) inside[riders->vertex[i]] = false;
    if (status == SINEW_OK) status = make_skin(skin, rig, anatomy, &c->skin, error);
    if (status == SINEW_OK) status = make_factor(c->skin, &c->factor, error);
    if (status == SINEW_OK)
        status = sn_contact_surface_create(mesh->vertex_count, skin->rest, mesh->triangle_count,
                                           mesh->triangles, inside, teeth, GAP * skin->diagonal,
                                           &c->surface, error);
    if (status == SINEW_OK) status = sn_contact_surface_hold(c->surface, c->skin->fixed, error);
    sn_free(inside), sn_free(teeth);
    if (status != SINEW_OK) {
        sn_layer_contact_destroy(c);
        return status;
    }
    *contact = c;
    return SINEW_OK;
}

void sn_layer_contact_destroy(sn_layer_contact *c) {
    if (!c) return;
    sn_skin_destroy(c->skin);
    sn_contact_surface_destroy(c->surface);
    sn_cholesky_destroy(c->factor);
    sn_free(c);
}

sinew_status sn_layer_contact_work_create(const sn_layer_contact *c, sn_layer_contact_work **work,
                                          sinew_error *error) {
    *work = NULL;
    sn_layer_contact_work *w = SN_NEW0(sn_layer_contact_work, 1);
    if (!w) return sn_no_memory(error);
    w->contact = c;
    size_t numbers = 3 * (size_t)c->skin->vertex_count;
    w->written = SN_NEW(double, numbers);
    w->goal = SN_NEW(double, numbers), w->start = SN_NEW(double, numbers);
    sinew_status status =
        w->written && w->goal && w->start
            ? sn_force_contact_create(c->surface, c->skin, c->factor, NULL, &w->press, error)
            : sn_no_memory(error);
    if (status != SINEW_OK) {
        sn_layer_contact_work_destroy(w);
        return status;
    }
    sn_layer_contact_forget(w);
    *work = w;
    return SINEW_OK;
}

void sn_layer_contact_work_destroy(sn_layer_contact_work *w) {
    if (!w) return;
    sn_force_contact_destroy(w->press);
    sn_free(w->written), sn_free(w->goal), sn_free(w->start);
    sn_pack_free(&w->kept);
    sn_free(w);
}

void sn_layer_contact_set_most(sn_layer_contact_work *w, int most) {
    sn_force_contact_set_most(w->press, most);
    w->gives_up = most > 0;
}

static size_t bytes_of(const sn_layer_contact_work *w) {
    return 3 * sizeof(double) * (size_t)w->contact->skin->vertex_count;
}

void sn_layer_contact_forget(sn_layer_contact_work *w) {
    sn_force_contact_reset(w->press);
    memcpy(w->written, w->contact->skin->rest, bytes_of(w));
}

void sn_layer_contact_pack(const sn_layer_contact_work *w, sn_pack *pack) {
    sn_pack_array(pack, w->written, 3 * (size_t)w->contact->skin->vertex_count, sizeof(double));
    sn_force_contact_pack(w->press, pack);
}

sinew_status sn_layer_contact_unpack(sn_layer_contact_work *w, sn_unpack *unpack,
                                     sinew_error *error) {
    sn_unpack_into(unpack, w->written, 3 * (size_t)w->contact->skin->vertex_count, sizeof(double));
    return sn_force_contact_unpack(w->press, unpack, error);
}

void sn_layer_contact_pack_block(const sn_layer_contact_work *w, sn_pack *pack) {
    sn_force_contact_pack_block(w->press, pack);
}

sinew_status sn_layer_contact_unpack_block(sn_layer_contact_work *w, sn_unpack *unpack,
                                           sinew_error *error) {
    return sn_force_contact_unpack_block(w->press, unpack, error);
}

int sn_layer_contact_block(const sn_layer_contact_work *w) {
    return sn_force_contact_block(w->press);
}

void sn_layer_contact_shrink(sn_layer_contact_work *w, int size) {
    sn_force_contact_shrink(w->press, size);
}

/* x, from the start in `parts` equal parts of the path; the last part's shape. */
static sinew_status solve_in_parts(sn_layer_contact_work *w, int parts, double *x,
                                   sn_force_contact_info *info, sinew_error *error) {
    size_t n = bytes_of(w) / sizeof *x;
    for (int part = 1; part <= parts; part++) {
        double share = (double)part / parts;
        if (part < parts)
            for (size_t i = 0; i < n; i++) x[i] = w->start[i] + share * (w->goal[i] - w->start[i]);
        else
            memcpy(x, w->goal, bytes_of(w));
        SN_TRY(sn_force_contact_solve(w->press, w->written, x, info, NULL, error));
        if (info->crowded) return SINEW_OK;
        memcpy(w->written, x, bytes_of(w));
    }
    return SINEW_OK;
}

static int moved_vertices(const sn_layer_contact_work *w) {
    int count = 0;
    for (int v = 0; v < w->contact->skin->vertex_count; v++)
        count += memcmp(w->goal + 3 * (size_t)v, w->start + 3 * (size_t)v, 3 * sizeof(double)) != 0;
    return count;
}

/* A step in which too much comes close at once is taken in parts. When that does not help, the
 * frame stays as it is without contact, and the next one starts where this one did. */
sinew_status sn_layer_contact_solve(sn_layer_contact_work *w, double *x,
                                    sn_force_contact_info *info, sinew_error *error) {
    memcpy(w->goal, x, bytes_of(w)), memcpy(w->start, w->written, bytes_of(w));
    w->kept.size = 0, w->kept.failed = false;
    sn_force_contact_pack(w->press, &w->kept);
    if (w->kept.failed) return sn_no_memory(error);
    sinew_error crowded = {0};
    for (int parts = 1; parts <= PARTS; parts *= 4) {
        sinew_status status = solve_in_parts(w, parts, x, info, &crowded);
        if (status == SINEW_OK) return SINEW_OK;
        sn_unpack back = {.bytes = w->kept.bytes, .size = w->kept.size};
        memcpy(w->written, w->start, bytes_of(w)), memcpy(x, w->goal, bytes_of(w));
        SN_TRY(sn_force_contact_unpack(w->press, &back, error));
        if (status == SINEW_BAD_INPUT && !w->gives_up) continue;
        if (error) *error = crowded;
        return status;
    }
    *info = (sn_force_contact_info){.cut = 1, .released = moved_vertices(w)};
    return SINEW_OK;
}

void sn_layer_contact_set_path(sn_layer_contact_work *w, const double *path, double from, double to,
                               double most) {
    sn_force_contact_set_path(w->press, path, from, to, most);
}

int sn_layer_contact_list(const sn_layer_contact_work *w, int capacity, sinew_contact *contacts) {
    return sn_force_contact_list(w->press, w->written, capacity, contacts);
}

const sn_contact_surface *sn_layer_contact_surface(const sn_layer_contact *c) {
    return c->surface;
}
