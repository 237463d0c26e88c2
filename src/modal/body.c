#include "modal/body.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "mesh/uncross.h"
#include "modal/body_links.h"
#include "modal/choice.h"
#include "rig/tets_store.h"

void sn_body_destroy(sn_body *body) {
    if (!body) return;
    sn_free(body->rest);
    sn_free(body->rest_centers);
    sn_rotation_strain_destroy(body->rs);
    sinew_cage_fit_destroy(body->fit);
    sinew_cage_destroy(body->cage);
    sinew_mesh_destroy(body->mesh);
    sinew_carry_destroy(body->carry);
    sinew_tets_destroy(body->tets);
    sn_seams_destroy(body->seams);
    sn_free(body);
}

static sinew_status set_joined(sn_body *body, const sn_body_shape *shape,
                               const sn_rotation_joints *joints, sinew_error *error) {
    const double *rest = shape->rest;
    body->vertex_count = shape->vertex_count;
    body->rest = sn_memdup(rest, (size_t)3 * body->vertex_count, sizeof *rest);
    if (!body->rest) return sn_no_memory(error);
    SN_TRY(sn_rotation_strain_create_joined(body->vertex_count, rest, shape->corners,
                                            shape->element_count, shape->elements, joints,
                                            &body->rs, error));
    body->rest_centers = SN_NEW(double, (size_t)3 * body->rs->component_count);
    if (!body->rest_centers) return sn_no_memory(error);
    sn_rotation_strain_centers(body->rs, rest, body->rest_centers);
    return SINEW_OK;
}

/* The same with parts of the mesh linked that stay close in all poses. */
static sinew_status set_linked(sn_body *body, const sinew_mesh *mesh,
                               const sinew_modal_options *options, const sn_body_shape *shape,
                               const sinew_monitor *monitor, sinew_error *error) {
    sn_body_links links;
    sinew_status status = sn_body_links_find(body, mesh, options, shape, monitor, &links, error);
    if (status == SINEW_OK)
        status = set_joined(body, shape,
                            &(sn_rotation_joints){.link_count = links.count, .links = links.list},
                            error);
    if (status == SINEW_OK) status = sn_body_links_settle(body, options, &links, monitor, error);
    sn_body_links_free(&links);
    return status;
}

static sn_body_shape shape_of_tets(const sinew_tets *tets) {
    return (sn_body_shape){tets->vertex_count, tets->positions, 4, tets->tet_count, tets->tets};
}

/* Modes of a body with flat tets are noise, and inverted ones mean that the file is broken. */
static sinew_status check_tets(const sinew_tets *tets, sinew_error *error) {
    for (int t = 0; t < tets->tet_count; t++) {
        const int *v = tets->tets + 4 * (size_t)t;
        sn_vec3 edges[3];
        double longest = 0;
        for (int k = 0; k < 4; k++)
            if (v[k] < 0 || v[k] >= tets->vertex_count)
                return sn_fail(error, SINEW_BAD_INPUT, "tet %d refers to vertex %d of %d", t, v[k],
                               tets->vertex_count);
        for (int k = 0; k < 3; k++) {
            edges[k] = sn_sub(sn_at(tets->positions, v[k + 1]), sn_at(tets->positions, v[0]));
            longest = fmax(longest, sn_length(edges[k]));
        }
        double volume = sn_dot(sn_cross(edges[0], edges[1]), edges[2]);
        if (!(volume > 1e-12 * longest * longest * longest))
            return sn_fail(error, SINEW_BAD_INPUT, "tet %d is %s at rest", t,
                           volume < -1e-12 * longest * longest * longest ? "inside out" : "flat");
    }
    return SINEW_OK;
}

static sinew_status fill_tets(sn_body *body, const sinew_tets *tets, sinew_error *error) {
    if (tets->tet_count < 1 || tets->vertex_count < 4)
        return sn_fail(error, SINEW_BAD_INPUT, "the body has no tets");
    for (size_t k = 0; k < (size_t)3 * tets->vertex_count; k++)
        if (!isfinite(tets->positions[k]))
            return sn_fail(error, SINEW_BAD_INPUT, "vertex %zu is not finite", k / 3);
    SN_TRY(check_tets(tets, error));
    body->kind = SINEW_MODAL_BODY_TETS;
    sn_body_shape shape = shape_of_tets(tets);
    return set_joined(body, &shape, &(sn_rotation_joints){.link_count = 0}, error);
}

sinew_status sn_body_create_tets(const sinew_tets *tets, sn_body **body, sinew_error *error) {
    *body = NULL;
    sn_body *result = SN_NEW0(sn_body, 1);
    if (!result) return sn_no_memory(error);
    result->artist_count = tets->vertex_count;
    result->diagonal = sinew_diagonal(tets->vertex_count, tets->positions);
    sinew_status status = fill_tets(result, tets, error);
    if (status != SINEW_OK) {
        sn_body_destroy(result);
        return status;
    }
    *body = result;
    return SINEW_OK;
}

/* Tetrahedra inside; points inside follow poses as rigidly as they can. */
static sinew_status fill_inside(sn_body *body, const sinew_mesh *mesh,
                                const sinew_modal_options *options, const sinew_monitor *monitor,
                                sinew_error *error) {
    sinew_tets_options inside;
    sinew_tets_options_init(&inside);
    inside.interior_points = options->fine_inside;
    SN_TRY(sn_tets_make(mesh, &inside, options->cache, monitor, &body->tets, error));
    const sinew_tets *tets = body->tets;
    body->kind = SINEW_MODAL_BODY_TETS;
    if (tets->vertex_count > mesh->vertex_count)
        SN_TRY(sinew_carry_create(tets, &body->carry, error));
    sn_body_shape shape = shape_of_tets(tets);
    return set_linked(body, mesh, options, &shape, monitor, error);
}

/* The same inside a surface whose intersections are taken out. The artist's own rest shape is then
 * a pose like any other. */
static sinew_status fill_repaired(sn_body *body, const sinew_mesh *mesh,
                                  const sinew_modal_options *options, const sinew_monitor *monitor,
                                  sinew_error *error) {
    sinew_mesh *repaired;
    int moved;
    SN_TRY(sinew_mesh_copy(mesh, &repaired, error));
    sinew_status status = sn_uncross(mesh, monitor, repaired->positions, &moved, error);
    if (status == SINEW_OK) status = fill_inside(body, repaired, options, monitor, error);
    sinew_mesh_destroy(repaired);
    return status;
}

/* The first vertices of the tets are the mesh's, up to the rounding of files. */
static bool starts_with(const sinew_tets *tets, const sinew_mesh *mesh, double diagonal) {
    if (tets->vertex_count < mesh->vertex_count) return false;
    for (int i = 0; i < mesh->vertex_count; i++)
        if (sn_length(sn_sub(sn_at(tets->positions, i), sn_at(mesh->positions, i))) >
            1e-5 * diagonal)
            return false;
    return true;
}

/* Tets that carry the mesh as a cage does. Their size tells the fit how stiff they are. */
static sinew_status fill_around(sn_body *body, const sinew_mesh *mesh, sinew_error *error) {
    const sinew_tets *tets = body->tets;
    if (mesh->triangle_count < 1) return sn_fail(error, SINEW_BAD_INPUT, "the mesh has no faces");
    double volume = 0;
    for (int e = 0; e < body->rs->element_count; e++) volume += body->rs->weights[e];
    body->cage = SN_NEW0(sinew_cage, 1);
    if (!body->cage) return sn_no_memory(error);
    body->cage->cell = cbrt(6 * volume / tets->tet_count);
    SN_TRY(sn_tets_copy(tets, &body->cage->tets, error));
    SN_TRY(sinew_embedding_create(tets, mesh->vertex_count, mesh->positions, &body->cage->embedding,
                                  error));
    SN_TRY(sinew_mesh_copy(mesh, &body->mesh, error));
    return sinew_cage_fit_create(body->cage, body->mesh, NULL, &body->fit, error);
}

/* Tets that the user has. Where they start with the mesh's vertices these are the rest shape, to
 * the last bit. */
static sinew_status fill_given(sn_body *body, const sinew_mesh *mesh, const sinew_tets *given,
                               sinew_error *error) {
    SN_TRY(sn_tets_copy(given, &body->tets, error));
    bool own = starts_with(given, mesh, body->diagonal);
    if (own)
        memcpy(body->tets->positions, mesh->positions,
               (size_t)3 * mesh->vertex_count * sizeof *mesh->positions);
    SN_TRY(fill_tets(body, body->tets, error));
    if (!own) return fill_around(body, mesh, error);
    if (given->vertex_count == mesh->vertex_count) return SINEW_OK;
    body->tets->surface_count = mesh->vertex_count;
    return sinew_carry_create(body->tets, &body->carry, error);
}

static sinew_status fill_cage(sn_body *body, const sinew_mesh *mesh,
                              const sinew_modal_options *options, int cells,
                              const sinew_monitor *monitor, sinew_error *error) {
    body->kind = SINEW_MODAL_BODY_CAGE;
    sinew_cage_options cage_options;
    sinew_cage_options_init(&cage_options);
    cage_options.cell = 1.0 / cells;
    SN_TRY(sinew_mesh_copy(mesh, &body->mesh, error));
    SN_TRY(sinew_cage_create(body->mesh, &cage_options, monitor, &body->cage, error));
    SN_TRY(sinew_cage_fit_create(body->cage, body->mesh, NULL, &body->fit, error));
    const sinew_tets *tets = body->cage->tets;
    sn_body_shape shape = shape_of_tets(tets);
    return set_linked(body, mesh, options, &shape, monitor, error);
}

static sinew_status fill_shell(sn_body *body, const sinew_mesh *mesh,
                               const sinew_modal_options *options, const sinew_monitor *monitor,
                               sinew_error *error) {
    body->kind = SINEW_MODAL_BODY_SHELL;
    sn_body_shape shape = {mesh->vertex_count, mesh->positions, 3, mesh->triangle_count,
                           mesh->triangles};
    return set_linked(body, mesh, options, &shape, monitor, error);
}

static sinew_status start(const sinew_mesh *mesh, sn_body **body, sinew_error *error) {
    *body = SN_NEW0(sn_body, 1);
    if (!*body) return sn_no_memory(error);
    (*body)->artist_count = mesh->vertex_count;
    (*body)->diagonal = sinew_diagonal(mesh->vertex_count, mesh->positions);
    return SINEW_OK;
}

static sinew_status finish(sinew_status status, sn_body *made, sn_body **body) {
    if (status != SINEW_OK)
        sn_body_destroy(made);
    else
        *body = made;
    return status;
}

sinew_status sn_body_build(const sinew_mesh *mesh, const sinew_modal_options *options,
                           const sn_body_plan *plan, const sinew_monitor *monitor, sn_body **body,
                           sinew_error *error) {
    *body = NULL;
    sn_body *made;
    SN_TRY(start(mesh, &made, error));
    sinew_status status;
    if (plan->kind == SINEW_MODAL_BODY_SHELL)
        status = fill_shell(made, mesh, options, monitor, error);
    else if (plan->kind == SINEW_MODAL_BODY_CAGE)
        status = fill_cage(made, mesh, options, plan->cells, monitor, error);
    else if (plan->repaired)
        status = fill_repaired(made, mesh, options, monitor, error);
    else
        status = fill_inside(made, mesh, options, monitor, error);
    return finish(status, made, body);
}

static sinew_status create_body(const sinew_mesh *mesh, const sinew_modal_options *options,
                                const sinew_monitor *monitor, sn_body **body, sinew_error *error) {
    if (options->tets) {
        sn_body *made;
        SN_TRY(start(mesh, &made, error));
        return finish(fill_given(made, mesh, options->tets, error), made, body);
    }
    if (options->body == SINEW_MODAL_BODY_AUTO)
        return sn_body_choose(mesh, options, monitor, body, error);
    sn_body_plan plan = {.kind = options->body, .cells = sn_body_cage_cells(mesh, options->cells)};
    return sn_body_build(mesh, options, &plan, monitor, body, error);
}

static const double *pose_of(void *user, int k) {
    return ((const double *const *)user)[k];
}

sinew_status sn_body_create(const sinew_mesh *mesh, const sinew_modal_options *options,
                            const sinew_monitor *monitor, sn_body **body, sinew_error *error) {
    *body = NULL;
    if (mesh->vertex_count < 1 || (mesh->triangle_count < 1 && !options->tets))
        return sn_fail(error, SINEW_BAD_INPUT, "the mesh has no faces");
    if (options->tets || options->pose_count == 0)
        return create_body(mesh, options, monitor, body, error);
    sn_seams *seams;
    sn_part_poses poses = {mesh->vertex_count, mesh->positions, options->pose_count, pose_of,
                           (void *)options->poses};
    SN_TRY(sn_seams_create(mesh, &poses, &seams, error));
    sinew_status status = create_body(seams ? &seams->mesh : mesh, options, monitor, body, error);
    if (status == SINEW_OK)
        (*body)->seams = seams;
    else
        sn_seams_destroy(seams);
    return status;
}

/* ---- poses -------------------------------------------------------------------------------- */

sinew_status sn_body_lift(const sn_body *body, const double *artist, const sinew_monitor *monitor,
                          double *positions, double **leftover, sinew_error *error) {
    *leftover = NULL;
    if (body->carry)
        return sinew_carry_pose(body->carry, artist, SINEW_CARRY_ITERATIONS_DEFAULT, positions,
                                NULL, error);
    if (!body->cage) {
        memcpy(positions, artist, (size_t)3 * body->vertex_count * sizeof *positions);
        return SINEW_OK;
    }
    sinew_cage_pose *pose;
    SN_TRY(sinew_cage_fit_pose(body->fit, artist, monitor, &pose, error));
    memcpy(positions, pose->positions, (size_t)3 * body->vertex_count * sizeof *positions);
    *leftover = sn_memdup(pose->leftover, (size_t)3 * body->artist_count, sizeof **leftover);
    sinew_cage_pose_destroy(pose);
    return *leftover ? SINEW_OK : sn_no_memory(error);
}

typedef struct dropped {
    const double *from;
    double *to;
} dropped;
static void drop_some(void *context, sn_span span) {
    const dropped *d = context;
    memcpy(d->to + span.begin, d->from + span.begin, (span.end - span.begin) * sizeof *d->to);
}

void sn_body_drop(const sn_body *body, const double *positions, double *artist) {
    dropped d = {positions, artist};
    if (body->cage)
        sinew_embedding_apply(body->cage->embedding, positions, artist);
    else
        sn_parallel_for((size_t)3 * body->artist_count, 8192, drop_some, &d);
    /* what copies have beyond their roots is in the leftovers of the keys */
    sn_seams_copy(body->seams, NULL, artist);
}

/* ---- matrices ----------------------------------------------------------------------------- */

/* A cage's vertices take the mean of the artist's vertices in their cells; points that no painted
 * vertex touches, ring by ring, that of their neighbors. An element has the mean of its corners.
 */
sinew_status sn_body_spread(const sn_body *body, const double *painted, double *scales,
                            sinew_error *error) {
    const sn_rotation_strain *rs = body->rs;
    int n = body->vertex_count, corners = rs->corners;
    double *sum = SN_NEW0(double, n), *weight = SN_NEW0(double, n), *next = SN_NEW0(double, 2 * n);
    if (!sum || !weight || !next) {
        sn_free(sum), sn_free(weight), sn_free(next);
        return sn_no_memory(error);
    }
    for (int i = 0; i < body->artist_count; i++) {
        const int *host = body->cage ? body->cage->embedding->corners + (size_t)4 * i : &i;
        for (int k = 0; k < (body->cage ? 4 : 1); k++)
            sum[host[k]] += painted[i], weight[host[k]] += 1;
    }
    for (int ring = 0, grown = 1; ring < n && grown; ring++) {
        grown = 0;
        memset(next, 0, (size_t)2 * n * sizeof *next);
        for (int e = 0; e < rs->element_count; e++) {
            const int *v = rs->elements + (size_t)corners * e;
            for (int a = 0; a < corners; a++)
                for (int b = 0; b < corners; b++)
                    if (weight[v[a]] == 0 && weight[v[b]] > 0)
                        next[2 * v[a]] += sum[v[b]] / weight[v[b]], next[2 * v[a] + 1] += 1;
        }
        for (int i = 0; i < n; i++)
            if (next[2 * i + 1] > 0) sum[i] = next[2 * i], weight[i] = next[2 * i + 1], grown = 1;
    }
    for (int e = 0; e < rs->element_count; e++) {
        const int *v = rs->elements + (size_t)corners * e;
        scales[e] = 0;
        for (int a = 0; a < corners; a++)
            scales[e] += (weight[v[a]] > 0 ? sum[v[a]] / weight[v[a]] : 1) / corners;
    }
    sn_free(sum), sn_free(weight), sn_free(next);
    return SINEW_OK;
}

sinew_status sn_body_matrices(const sn_body *body, const sinew_modal_options *options,
                              bool per_element, sn_sparse **stiffness, double **mass,
                              sinew_error *error) {
    *stiffness = NULL;
    const sn_rotation_strain *rs = body->rs;
    sn_material material = {options->young, options->poisson, options->density};
    double *scales = SN_NEW(double, rs->element_count);
    *mass = SN_NEW(double, (size_t)3 * body->vertex_count);
    sinew_status status = *mass && scales ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        if (options->stiffness && !per_element)
            status = sn_body_spread(body, options->stiffness, scales, error);
        else
            for (int e = 0; e < rs->element_count; e++)
                scales[e] = options->stiffness ? options->stiffness[e] : 1;
    }
    double thickness =
        body->kind == SINEW_MODAL_BODY_SHELL ? options->thickness * body->diagonal : 1;
    if (status == SINEW_OK)
        status = rs->corners == 4 ? sn_tet_stiffness(rs, material, scales, stiffness, error)
                                  : sn_shell_stiffness(rs, body->rest, material, thickness, scales,
                                                       stiffness, error);
    sn_free(scales);
    if (status != SINEW_OK) {
        sn_free(*mass);
        *mass = NULL;
        return status;
    }
    sn_lumped_mass(rs, options->density, thickness, *mass);
    return SINEW_OK;
}
