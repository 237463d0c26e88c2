#include "mesh/rotation_links.h"

#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "base/stoppable.h"
#include "mesh/topology.h"

/* Weight of a link on triangles, whose edges have cotangent weights of about 0.6 whatever their
 * size; on tetrahedra, times the size of the elements around it. */
static const double STIFFNESS = 0.1;

/* Pull of a pivot towards the middle of its link, per pose. A side that turns by 20 degrees against
 * the other pulls as much towards the joint. */
static const double MIDDLE = 0.1;

/* A pivot that leaves more than this part of the motion is not a joint; the link keeps its middle.
 */
static const double UNEXPLAINED = 0.3;

/* A link that the rotations of its two ends make longer than this many times its longest is carried
 * by their mean instead: what is left is then blended in one frame, and no blend of two vectors is
 * longer than both. */
static const double LONGER = 1.1;

/* Sums of the normal equations of a pivot. */
struct sn_link_fit {
    sn_mat3 matrix;
    sn_vec3 right;
    double square; /* sum |d|^2 */
};

static int main_corner(const sn_link *link) {
    int best = 0;
    for (int c = 1; c < 3; c++)
        if (link->weights[c] > link->weights[best]) best = c;
    return link->corners[best];
}

/* Both halves of a link's offset at rest, for a pivot at `pivot` from its middle. */
static void set_pivot(sn_rotation_strain *structure, int link, sn_vec3 offset, sn_vec3 pivot) {
    sn_put(structure->half_rest, 2 * link, sn_sub(sn_scale(0.5, offset), pivot));
    sn_put(structure->half_rest, 2 * link + 1, sn_add(sn_scale(0.5, offset), pivot));
}

static sn_vec3 offset_of(const sn_link *link, const double *positions) {
    double offset[3];
    sn_link_offset(link, positions, offset);
    return sn_at(offset, 0);
}

double sn_rotation_link_softest(const sn_rotation_strain *structure, int link) {
    const sn_link *l = &structure->links[link];
    if (structure->corners == 3) return STIFFNESS;
    return STIFFNESS *
           cbrt(fmin(structure->vertex_mass[l->vertex], structure->vertex_mass[main_corner(l)]));
}

sinew_status sn_rotation_links_prepare(sn_rotation_strain *structure, const double *rest,
                                       const sn_link *links, sinew_error *error) {
    int count = structure->link_count;
    if (count == 0) return SINEW_OK;
    structure->links = sn_memdup(links, (size_t)count, sizeof *links);
    structure->half_rest = SN_NEW(double, 6 * (size_t)count);
    structure->link_stiffness = SN_NEW(double, count);
    structure->link_fits = SN_NEW0(sn_link_fit, count);
    if (!structure->links || !structure->half_rest || !structure->link_stiffness ||
        !structure->link_fits)
        return sn_no_memory(error);
    for (int l = 0; l < count; l++) {
        set_pivot(structure, l, offset_of(&links[l], rest), sn_v3(0, 0, 0));
        structure->link_stiffness[l] = sn_rotation_link_softest(structure, l);
    }
    return SINEW_OK;
}

sinew_status sn_rotation_links_join(sn_rotation_strain *structure, sinew_error *error) {
    if (structure->link_count == 0) return SINEW_OK;
    int *parent = SN_NEW(int, structure->component_count), count = 0;
    if (!parent) return sn_no_memory(error);
    for (int c = 0; c < structure->component_count; c++) parent[c] = c;
    for (int l = 0; l < structure->link_count; l++) {
        const sn_link *link = &structure->links[l];
        for (int c = 0; c < 3; c++)
            sn_set_join(parent, structure->vertex_component[link->vertex],
                        structure->vertex_component[link->corners[c]]);
    }
    for (int c = 0; c < structure->component_count; c++) parent[c] = sn_set_find(parent, c);
    /* A root is the smallest of its set, so it has its number before the others ask for it. What
     * has a number holds -1 - number. */
    for (int c = 0; c < structure->component_count; c++)
        parent[c] = parent[c] == c ? -1 - count++ : parent[parent[c]];
    for (int i = 0; i < structure->vertex_count; i++)
        if (structure->vertex_component[i] >= 0)
            structure->vertex_component[i] = -1 - parent[structure->vertex_component[i]];
    structure->component_count = count;
    sn_free(parent);
    return SINEW_OK;
}

void sn_rotation_half_ring(const sn_rotation_strain *structure, int half, int *first, int *last) {
    const sn_link *l = &structure->links[half / 2];
    int vertex = half % 2 == 0 ? l->vertex : main_corner(l);
    *first = structure->corner_start[vertex];
    *last = structure->corner_start[vertex + 1];
}

void sn_rotation_link_row(const sn_rotation_strain *structure, int link, int vertices[4],
                          double values[4]) {
    const sn_link *l = &structure->links[link];
    vertices[0] = l->vertex, values[0] = 1;
    for (int c = 0; c < 3; c++) vertices[c + 1] = l->corners[c], values[c + 1] = -l->weights[c];
}

sn_mat3 sn_rotation_half_rotation(const sn_rotation_strain *structure, const sn_mat3 *rotations,
                                  int half) {
    sn_mat3 sum = {{{0}}}, rotation;
    int first, last;
    sn_rotation_half_ring(structure, half, &first, &last);
    for (int c = first; c < last; c++) {
        int e = structure->vertex_corners[c] / structure->corners;
        sum = sn_mat3_add(sum, sn_mat3_scale(structure->weights[e], rotations[e]));
    }
    sn_polar3(sum, &rotation, NULL);
    return rotation;
}

/* What a pose adds to R_a (a - c) + R_b (c - b), with a and b taken from the middle of the link:
 * d - (R_b - R_a) c, d = x_a - x_b - (R_a + R_b) (a - b) / 2. */
static sn_vec3 left_over(const sn_rotation_strain *structure, const double *positions, int link,
                         sn_mat3 at_a, sn_mat3 at_b) {
    sn_vec3 a = sn_mat3_apply(at_a, sn_at(structure->half_rest, 2 * link));
    sn_vec3 b = sn_mat3_apply(at_b, sn_at(structure->half_rest, 2 * link + 1));
    return sn_sub(offset_of(&structure->links[link], positions), sn_add(a, b));
}

typedef struct watch_job {
    sn_rotation_strain *structure;
    const double *rest, *positions;
    sn_mat3 *rotations; /* per element; the ring of a link shares most of them with the next */
    bool *moved;        /* per element */
} watch_job;

static void find_rotations(void *context, sn_span span) {
    const watch_job *job = context;
    const sn_rotation_strain *rs = job->structure;
    SN_IN_SPAN(int, e, span) {
        job->moved[e] = false;
        for (int c = 0; c < rs->corners; c++) {
            size_t at = 3 * (size_t)rs->elements[(size_t)rs->corners * e + c];
            job->moved[e] |= memcmp(job->rest + at, job->positions + at, 3 * sizeof(double)) != 0;
        }
        if (job->moved[e])
            sn_polar3(sn_rotation_strain_gradient(rs, job->positions, e), &job->rotations[e], NULL);
        else
            job->rotations[e] = sn_mat3_identity();
    }
}

static bool is_half_moved(const watch_job *job, int half) {
    int first, last;
    sn_rotation_half_ring(job->structure, half, &first, &last);
    for (int c = first; c < last; c++)
        if (job->moved[job->structure->vertex_corners[c] / job->structure->corners]) return true;
    return false;
}

static void watch_some(void *context, sn_span span) {
    const watch_job *job = context;
    SN_IN_SPAN(int, l, span) {
        sn_link_fit *fit = &job->structure->link_fits[l];
        for (int k = 0; k < 3; k++) fit->matrix.m[k][k] += MIDDLE;
        if (!is_half_moved(job, 2 * l) && !is_half_moved(job, 2 * l + 1)) continue;
        sn_mat3 a = sn_rotation_half_rotation(job->structure, job->rotations, 2 * l);
        sn_mat3 b = sn_rotation_half_rotation(job->structure, job->rotations, 2 * l + 1);
        sn_mat3 against = sn_mat3_add(b, sn_mat3_scale(-1, a));
        sn_vec3 left = left_over(job->structure, job->positions, l, a, b);
        fit->matrix =
            sn_mat3_add(fit->matrix, sn_mat3_multiply(sn_mat3_transpose(against), against));
        fit->right = sn_add(fit->right, sn_mat3_apply_transposed(against, left));
        fit->square += sn_dot(left, left);
    }
}

sinew_status sn_rotation_strain_watch(sn_rotation_strain *structure, const double *rest,
                                      const double *positions, sinew_error *error) {
    size_t elements = (size_t)structure->element_count;
    watch_job job = {structure, rest, positions, SN_NEW(sn_mat3, elements), SN_NEW(bool, elements)};
    bool room = job.rotations && job.moved;
    if (room) {
        sn_parallel_for_stoppable(structure->element_count, 64, find_rotations, &job);
        sn_parallel_for_stoppable(structure->link_count, 16, watch_some, &job);
    }
    sn_free(job.rotations), sn_free(job.moved);
    return room ? sn_check_interrupt(error) : sn_no_memory(error);
}

/* min_c sum_p |d_p - (R_b - R_a)_p c|^2 + MIDDLE |c|^2 */
void sn_rotation_strain_settle(sn_rotation_strain *structure) {
    for (int l = 0; l < structure->link_count; l++) {
        sn_link_fit *fit = &structure->link_fits[l];
        double trace = fit->matrix.m[0][0] + fit->matrix.m[1][1] + fit->matrix.m[2][2];
        sn_mat3 u, v;
        double s[3];
        if (!(trace > 0) || !isfinite(trace)) continue;
        sn_svd3(fit->matrix, &u, s, &v);
        sn_vec3 pivot = {0, 0, 0}, right = sn_mat3_apply_transposed(u, fit->right);
        pivot = sn_add_scaled(pivot, right.x / s[0], sn_mat3_column(v, 0));
        pivot = sn_add_scaled(pivot, right.y / s[1], sn_mat3_column(v, 1));
        pivot = sn_add_scaled(pivot, right.z / s[2], sn_mat3_column(v, 2));
        sn_vec3 offset =
            sn_add(sn_at(structure->half_rest, 2 * l), sn_at(structure->half_rest, 2 * l + 1));
        double left = fit->square - sn_dot(pivot, fit->right);
        if (left <= UNEXPLAINED * fit->square) set_pivot(structure, l, offset, pivot);
    }
    sn_free(structure->link_fits);
    structure->link_fits = NULL;
}

/* s of both halves, half of what the pose adds in either frame. */
static void measure_halves(const sn_rotation_strain *structure, const double *positions, int link,
                           double *first, double *second) {
    sn_mat3 a = sn_rotation_exp(sn_at(first + SN_RS_W, 0));
    sn_mat3 b = sn_rotation_exp(sn_at(second + SN_RS_W, 0));
    sn_vec3 half = sn_scale(0.5, left_over(structure, positions, link, a, b));
    for (int k = SN_RS_Q; k < SN_RS_SIZE; k++) first[k] = second[k] = 0;
    sn_put(first + SN_RS_S, 0, sn_mat3_apply_transposed(a, half));
    sn_put(second + SN_RS_S, 0, sn_mat3_apply_transposed(b, half));
}

/* The half's part of the offset at a weight of its pose. */
static sn_vec3 blended_half(const sn_rotation_strain *structure, int half, const double *c,
                            double weight) {
    sn_vec3 offset =
        sn_add_scaled(sn_at(structure->half_rest, half), weight, sn_at(c + SN_RS_S, 0));
    return sn_mat3_apply(sn_rotation_exp(sn_scale(weight, sn_at(c + SN_RS_W, 0))), offset);
}

sn_vec3 sn_rotation_link_blended(const sn_rotation_strain *structure, int link, const double *first,
                                 const double *second, double weight) {
    return sn_add(blended_half(structure, 2 * link, first, weight),
                  blended_half(structure, 2 * link + 1, second, weight));
}

/* Whether the offset is nowhere longer, on the path to the pose, than at its longer end. */
static bool keeps_length(const sn_rotation_strain *structure, const double *positions, int link,
                         const double *first, const double *second) {
    sn_vec3 rest =
        sn_add(sn_at(structure->half_rest, 2 * link), sn_at(structure->half_rest, 2 * link + 1));
    double longest =
        fmax(sn_length(rest), sn_length(offset_of(&structure->links[link], positions)));
    for (int k = 1; k < 4; k++) {
        sn_vec3 offset = sn_rotation_link_blended(structure, link, first, second, 0.25 * k);
        if (sn_length(offset) > LONGER * longest) return false;
    }
    return true;
}

void sn_rotation_link_measure(const sn_rotation_strain *structure, const double *positions,
                              int link, double *first, double *second) {
    measure_halves(structure, positions, link, first, second);
    if (keeps_length(structure, positions, link, first, second)) return;
    sn_vec3 mean = sn_scale(0.5, sn_add(sn_at(first + SN_RS_W, 0), sn_at(second + SN_RS_W, 0)));
    sn_put(first + SN_RS_W, 0, mean), sn_put(second + SN_RS_W, 0, mean);
    measure_halves(structure, positions, link, first, second);
}

void sn_rotation_links_force(const sn_rotation_strain *structure, const double *coordinates,
                             double *right) {
    for (int half = 0; half < 2 * structure->link_count; half++) {
        const double *c = coordinates + (size_t)SN_RS_SIZE * (structure->element_count + half);
        sn_vec3 offset = sn_add(sn_at(structure->half_rest, half), sn_at(c + SN_RS_S, 0));
        offset = sn_mat3_apply(sn_rotation_exp(sn_at(c + SN_RS_Q, 0)), offset);
        offset = sn_mat3_apply(sn_rotation_exp(sn_at(c + SN_RS_W, 0)), offset);
        int vertices[4];
        double values[4], stiffness = structure->link_stiffness[half / 2];
        sn_rotation_link_row(structure, half / 2, vertices, values);
        for (int k = 0; k < 4; k++)
            sn_put(right, vertices[k],
                   sn_add_scaled(sn_at(right, vertices[k]), stiffness * values[k], offset));
    }
}
