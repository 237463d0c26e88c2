/* The modal model's structure: body and modes, and their place in the cache. */
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "base/sized.h"
#include "base/threads.h"
#include "cache/pack.h"
#include "modal/field.h"
#include "modal/frame.h"
#include "modal/pose.h"

/* Of what is stored: to be counted up when shapes or their order change. */
static const char CACHE_VERSION[] = "modal modes 2";
/* A painted part this much stiffer than another is rigid, and far from what rounding allows. */
static const double STIFFEST = 1e9;

void sinew_modal_options_init(sinew_modal_options *options) {
    *options = (sinew_modal_options){.size = sizeof *options,
                                     .modes = SINEW_MODAL_MODES_DEFAULT,
                                     .body = SINEW_MODAL_BODY_AUTO,
                                     .young = SINEW_MODAL_YOUNG_DEFAULT,
                                     .poisson = SINEW_MODAL_POISSON_DEFAULT,
                                     .density = SINEW_MODAL_DENSITY_DEFAULT,
                                     .thickness = SINEW_MODAL_THICKNESS_DEFAULT,
                                     .cells = SINEW_MODAL_CELLS_DEFAULT,
                                     .fine_inside = true};
}

static sinew_status check_options(const sinew_modal_options *o, int painted, sinew_error *error) {
    if (o->modes < 1) return sn_fail(error, SINEW_BAD_INPUT, "at least one mode is needed");
    if (!(o->young > 0) || !isfinite(o->young))
        return sn_fail(error, SINEW_BAD_INPUT, "Young's modulus must be positive");
    if (!(o->poisson > -1 && o->poisson < 0.5))
        return sn_fail(error, SINEW_BAD_INPUT, "Poisson's ratio must lie in (-1, 1/2)");
    if (!(o->density > 0) || !isfinite(o->density))
        return sn_fail(error, SINEW_BAD_INPUT, "the density must be positive");
    if (!(o->thickness > 0) || !isfinite(o->thickness))
        return sn_fail(error, SINEW_BAD_INPUT, "the thickness must be positive");
    if (o->cells < 4 || o->cells > 400)
        return sn_fail(error, SINEW_BAD_INPUT, "cells must lie in 4 .. 400");
    if (o->basis_count < 0 || (o->basis_count > 0 && !o->basis))
        return sn_fail(error, SINEW_BAD_INPUT, "the basis is missing");
    if (o->pose_count < 0 || (o->pose_count > 0 && !o->poses))
        return sn_fail(error, SINEW_BAD_INPUT, "the poses are missing");
    for (int i = 0; o->stiffness && i < painted; i++)
        if (!(o->stiffness[i] > 0 && o->stiffness[i] <= STIFFEST))
            return sn_fail(error, SINEW_BAD_INPUT,
                           "stiffness factor %d is %g, but must be above 0 and at most %g", i,
                           o->stiffness[i], STIFFEST);
    return SINEW_OK;
}

/* ---- modes -------------------------------------------------------------------------------- */

/* Fields of a user's basis live on the artist's vertices; the body's other vertices follow as they
 * follow a pose. */
static sinew_status lift_basis(const sn_body *body, const sinew_modal_options *options,
                               const sinew_monitor *monitor, double **fields, sinew_error *error) {
    size_t artist = (size_t)3 * body->artist_count, size = (size_t)3 * body->vertex_count;
    *fields = SN_NEW(double, size *(size_t)options->basis_count);
    double *pose = SN_NEW(double, artist), *rest = SN_NEW(double, artist);
    sinew_status status = *fields && pose && rest ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) sn_body_drop(body, body->rest, rest);
    for (int j = 0; status == SINEW_OK && j < options->basis_count; j++) {
        const double *field = options->basis + artist * (size_t)j;
        double most = 0;
        for (size_t i = 0; i < artist; i++) most = fmax(most, fabs(field[i]));
        if (!(most > 0) || !isfinite(most)) {
            status = sn_fail(error, SINEW_BAD_INPUT, "basis field %d is zero or not finite", j);
            break;
        }
        double step = 1e-3 * body->diagonal / most; /* small: a field is a direction */
        for (size_t i = 0; i < artist; i++) pose[i] = rest[i] + step * field[i];
        double *leftover = NULL, *lifted = *fields + size * (size_t)j;
        status = sn_body_lift(body, pose, monitor, lifted, &leftover, error);
        sn_free(leftover);
        for (size_t i = 0; status == SINEW_OK && i < size; i++)
            lifted[i] = (lifted[i] - body->rest[i]) / step;
    }
    sn_free(pose), sn_free(rest);
    if (status != SINEW_OK) {
        sn_free(*fields);
        *fields = NULL;
    }
    return status;
}

static sinew_status compute_modes(sinew_modal *modal, const sinew_modal_options *options,
                                  bool per_element, const sinew_monitor *monitor,
                                  sinew_error *error) {
    const sn_body *body = modal->body;
    sn_sparse *stiffness;
    double *mass, *fields = NULL;
    double start = sn_now();
    SN_TRY(sn_body_matrices(body, options, per_element, &stiffness, &mass, error));
    sinew_status status = SINEW_OK;
    if (options->basis_count > 0) {
        status = lift_basis(body, options, monitor, &fields, error);
        if (status == SINEW_OK)
            status = sn_modes_create_basis(body->rs, body->rest, stiffness, mass,
                                           options->basis_count, fields, &modal->modes, error);
    } else {
        status = sn_modes_create(body->rs, body->rest, stiffness, mass, options->modes, monitor,
                                 &modal->modes, error);
    }
    sn_free(fields), sn_free(mass);
    sn_sparse_destroy(stiffness);
    modal->seconds = sn_now() - start;
    return status;
}

static sinew_cache_key key_of(const sn_body *body, const sinew_modal_options *options,
                              int painted) {
    const sn_rotation_strain *rs = body->rs;
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, body->rest, (size_t)3 * body->vertex_count * sizeof *body->rest);
    sinew_hash_add(&hash, rs->elements,
                   (size_t)rs->corners * rs->element_count * sizeof *rs->elements);
    sinew_hash_add_number(&hash, body->kind);
    sinew_hash_add(&hash, rs->links, (size_t)rs->link_count * sizeof *rs->links);
    sinew_hash_add(&hash, rs->half_rest, (size_t)6 * rs->link_count * sizeof *rs->half_rest);
    sinew_hash_add_number(&hash, options->modes);
    sinew_hash_add_number(&hash, options->young);
    sinew_hash_add_number(&hash, options->poisson);
    sinew_hash_add_number(&hash, options->density);
    sinew_hash_add_number(&hash, options->thickness);
    sinew_hash_add(&hash, options->stiffness,
                   options->stiffness ? (size_t)painted * sizeof *options->stiffness : 0);
    sinew_hash_add(&hash, options->basis,
                   options->basis ? (size_t)3 * body->artist_count * options->basis_count *
                                        sizeof *options->basis
                                  : 0);
    return sinew_hash_key(&hash);
}

static bool unpack_modes(sinew_modal *modal, const sinew_cache_entry *entry) {
    sn_unpack unpack = {.bytes = entry->bytes, .size = entry->size};
    int modes = sn_unpack_int(&unpack), columns = sn_unpack_int(&unpack);
    double residual = sn_unpack_double(&unpack);
    int expected = modes + 3 * modal->body->rs->component_count;
    if (unpack.failed || modes < 1 || columns != expected) return false;
    double *lambda = sn_unpack_numbers(&unpack, (size_t)columns);
    double *shapes =
        sn_unpack_numbers(&unpack, (size_t)3 * modal->body->vertex_count * (size_t)columns);
    if (!sn_unpack_complete(&unpack)) {
        sn_free(lambda), sn_free(shapes);
        return false;
    }
    if (sn_modes_restore(modal->body->rs, modes, columns, lambda, shapes, &modal->modes, NULL) !=
        SINEW_OK)
        return false;
    modal->modes->worst_residual = residual;
    modal->from_cache = true;
    return true;
}

static void keep_modes(const sinew_modal *modal, sinew_cache_entry *entry) {
    const sn_modes *modes = modal->modes;
    sn_pack pack = {0};
    sn_pack_int(&pack, modes->mode_count);
    sn_pack_int(&pack, modes->column_count);
    sn_pack_double(&pack, modes->worst_residual);
    sn_pack_array(&pack, modes->lambda, (size_t)modes->column_count, sizeof *modes->lambda);
    sn_pack_array(&pack, modes->shapes, (size_t)3 * modes->vertex_count * modes->column_count,
                  sizeof *modes->shapes);
    if (!pack.failed) (void)sinew_cache_store(entry, pack.bytes, pack.size, NULL);
    sn_pack_free(&pack);
}

static sinew_status find_modes(sinew_modal *modal, const sinew_modal_options *options,
                               bool per_element, const sinew_monitor *monitor, sinew_error *error) {
    int painted = per_element ? modal->body->rs->element_count : modal->body->artist_count;
    SN_TRY(check_options(options, painted, error));
    sinew_cache_entry *entry = NULL;
    if (options->cache)
        SN_TRY(sinew_cache_enter(options->cache, key_of(modal->body, options, painted),
                                 CACHE_VERSION, monitor, &entry, error));
    sinew_status status = SINEW_OK;
    if (!entry || !entry->bytes || !unpack_modes(modal, entry)) {
        status = compute_modes(modal, options, per_element, monitor, error);
        if (status == SINEW_OK && entry) keep_modes(modal, entry);
    }
    sinew_cache_leave(entry);
    return status;
}

static sinew_status finish(sinew_status status, const sinew_modal_options *options,
                           sinew_modal *made, sinew_modal **modal, sinew_error *error) {
    if (status == SINEW_OK) status = sn_check_interrupt(error);
    if (status == SINEW_OK && options->fast)
        status = sn_fast_create(made->body, made->modes, &made->fast, error);
    if (status != SINEW_OK)
        sinew_modal_destroy(made);
    else
        *modal = made;
    return status;
}

sinew_status sinew_modal_create(const sinew_mesh *mesh, const sinew_modal_options *options,
                                const sinew_monitor *monitor, sinew_modal **modal,
                                sinew_error *error) {
    SN_REQUIRE(modal != NULL, error);
    *modal = NULL;
    SN_REQUIRE(mesh != NULL, error);
    SN_OPTIONS(sinew_modal_options, wanted, options, error);
    options = &wanted;
    SN_TRY(check_options(options, mesh->vertex_count, error));
    sinew_modal *made = SN_NEW0(sinew_modal, 1);
    if (!made) return sn_no_memory(error);
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = sn_body_create(mesh, options, monitor, &made->body, error);
    if (status == SINEW_OK) status = find_modes(made, options, false, monitor, error);
    status = sn_call_end(&call, status, error);
    return finish(status, options, made, modal, error);
}

sinew_status sinew_modal_create_tets(const sinew_tets *tets, const sinew_modal_options *options,
                                     const sinew_monitor *monitor, sinew_modal **modal,
                                     sinew_error *error) {
    SN_REQUIRE(modal != NULL, error);
    *modal = NULL;
    SN_REQUIRE(tets != NULL, error);
    SN_OPTIONS(sinew_modal_options, wanted, options, error);
    options = &wanted;
    SN_TRY(check_options(options, tets->tet_count, error));
    sinew_modal *made = SN_NEW0(sinew_modal, 1);
    if (!made) return sn_no_memory(error);
    sn_call call;
    sn_call_begin(&call, monitor);
    sinew_status status = sn_body_create_tets(tets, &made->body, error);
    if (status == SINEW_OK) status = find_modes(made, options, true, monitor, error);
    status = sn_call_end(&call, status, error);
    return finish(status, options, made, modal, error);
}

void sinew_modal_destroy(sinew_modal *modal) {
    if (!modal) return;
    sn_body_destroy(modal->body);
    sn_modes_destroy(modal->modes);
    sn_fast_destroy(modal->fast);
    sn_free(modal);
}

sinew_status sinew_modal_get_info(const sinew_modal *modal, sinew_modal_info *info) {
    SN_REQUIRE(modal && info && sn_info_ready(info), NULL);
    sinew_modal_info own = {.body = modal->body->kind,
                            .vertex_count = modal->body->artist_count,
                            .body_vertices = modal->body->vertex_count,
                            .elements = modal->body->rs->element_count,
                            .components = modal->body->rs->component_count,
                            .modes = modal->modes->mode_count,
                            .lambda = modal->modes->lambda,
                            .residual = modal->modes->worst_residual,
                            .seconds = modal->seconds,
                            .from_cache = modal->from_cache,
                            .links = modal->body->rs->link_count};
    memcpy(own.why, modal->body->why, sizeof own.why);
    memcpy(own.choice, modal->body->choice, sizeof own.choice);
    sn_info_write(info, &own, sizeof own);
    return SINEW_OK;
}

sinew_status sinew_modal_shape(const sinew_modal *modal, int mode, double amount, double *positions,
                               sinew_error *error) {
    SN_REQUIRE(modal != NULL && positions != NULL, error);
    if (mode < 0 || mode >= modal->modes->mode_count)
        return sn_fail(error, SINEW_BAD_INPUT, "mode %d of %d", mode, modal->modes->mode_count);
    const sn_body *body = modal->body;
    sinew_modal_state *state;
    SN_TRY(sinew_modal_state_create(modal, &state, error));
    const double *shape = modal->modes->shapes + (size_t)3 * body->vertex_count * (size_t)mode;
    double most = 0;
    for (int i = 0; i < body->vertex_count; i++) most = fmax(most, sn_length(sn_at(shape, i)));
    for (int i = 0; i < modal->modes->column_count; i++) state->tracks[i] = 0;
    state->tracks[mode] = most > 0 ? amount * body->diagonal / most : 0;
    int parts = 3 * body->rs->component_count;
    double *turns = state->tracks + modal->modes->column_count;
    memset(turns, 0, (size_t)parts * sizeof *turns);
    memcpy(turns + parts, body->rest_centers, (size_t)parts * sizeof *turns);
    sn_residual_sum none = {.count = 0};
    sn_frame_shape(modal, state, &none, positions);
    sinew_modal_state_destroy(state);
    return SINEW_OK;
}
