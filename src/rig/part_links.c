/* Based on: Borůvka's minimum spanning forest, over the nearest points of parts.
 * We differ in: near parts are joined at all their near vertices, not at one, so that the surfaces
 * keep their distance everywhere. */
#include "rig/part_links.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/status.h"
#include "base/vec3.h"
#include "mesh/topology.h"
#include "sinew/mesh.h"

/* Vertices this close to another part, in all poses, keep their distance (of the diagonal). */
static const double NEAR = 0.025;
/* Groups of parts are joined over gaps up to this, when no pose changes the gap by more than NEAR
 * (of the diagonal). */
static const double FAR = 0.1;
/* Of such a gap, all links up to this many times its shortest one are kept. */
static const double GAP_SLACK = 1.5;

typedef struct finder {
    const sn_part_poses *poses;
    int triangle_count;
    const int *triangles;
    int *part;  /* per vertex, -1: in no element */
    int *group; /* per part: union-find of what links join */
    int part_count;
    int *label; /* per vertex: the root of its group */
    double diagonal;

    int candidate_count;
    sn_link *candidates;
    double *longest, *shortest; /* per candidate, over the poses */

    int link_count, link_room;
    sn_link *links;
} finder;

static double length_of(const sn_link *link, const double *positions) {
    double offset[3];
    sn_link_offset(link, positions, offset);
    return sn_length(sn_at(offset, 0));
}

/* Nearest points of other groups, and their distances over all poses. */
static sinew_status find_candidates(finder *f, int most, double reach, const sinew_monitor *monitor,
                                    sinew_error *error) {
    const sn_part_poses *p = f->poses;
    sn_free(f->candidates), sn_free(f->longest), sn_free(f->shortest);
    f->candidates = NULL, f->longest = f->shortest = NULL;
    for (int v = 0; v < p->vertex_count; v++)
        f->label[v] = f->part[v] < 0 ? -1 : sn_set_find(f->group, f->part[v]);
    SN_TRY(sn_parts_nearest(p->vertex_count, p->rest, f->triangle_count, f->triangles, f->label,
                            most, reach, &f->candidates, &f->candidate_count, error));
    f->longest = SN_NEW(double, f->candidate_count);
    f->shortest = SN_NEW(double, f->candidate_count);
    if (!f->longest || !f->shortest) return sn_no_memory(error);
    for (int i = 0; i < f->candidate_count; i++)
        f->longest[i] = f->shortest[i] = length_of(&f->candidates[i], p->rest);
    for (int k = 0; f->candidate_count > 0 && k < p->count; k++) {
        if (sn_cancelled(monitor))
            return sn_fail(error, SINEW_CANCELLED, "cancelled while comparing parts");
        const double *pose = p->pose(p->user, k);
        for (int i = 0; i < f->candidate_count; i++) {
            double length = length_of(&f->candidates[i], pose);
            /* What is not finite is reported when targets are measured. */
            f->longest[i] = isfinite(length) ? fmax(f->longest[i], length) : INFINITY;
            f->shortest[i] = fmin(f->shortest[i], length);
        }
    }
    return SINEW_OK;
}

static sinew_status keep(finder *f, const sn_link *link, sinew_error *error) {
    for (int c = 0; c < 3; c++)
        if (f->part[link->corners[c]] < 0) return SINEW_OK;
    if (f->link_count == f->link_room) {
        int room = 2 * f->link_room + 64;
        sn_link *larger = sn_realloc(f->links, (size_t)room, sizeof *larger);
        if (!larger) return sn_no_memory(error);
        f->links = larger, f->link_room = room;
    }
    f->links[f->link_count++] = *link;
    sn_set_join(f->group, f->part[link->vertex], f->part[link->corners[0]]);
    return SINEW_OK;
}

static sinew_status link_near_parts(finder *f, const sinew_monitor *monitor, sinew_error *error) {
    SN_TRY(find_candidates(f, SN_LINKS_PER_VERTEX, NEAR * f->diagonal, monitor, error));
    for (int i = 0; i < f->candidate_count; i++)
        if (f->longest[i] <= NEAR * f->diagonal) SN_TRY(keep(f, &f->candidates[i], error));
    return SINEW_OK;
}

static bool is_steady(const finder *f, int i) {
    return f->longest[i] <= FAR * f->diagonal &&
           f->longest[i] - f->shortest[i] <= NEAR * f->diagonal;
}

/* Joins every group to its nearest neighbor over a steady gap; *joined: any was. */
static sinew_status link_groups(finder *f, bool *joined, const sinew_monitor *monitor,
                                sinew_error *error) {
    *joined = false;
    double *best = SN_NEW(double, f->part_count);
    if (!best) return sn_no_memory(error);
    for (int c = 0; c < f->part_count; c++) best[c] = INFINITY;
    sinew_status status = find_candidates(f, 1, FAR * f->diagonal, monitor, error);
    for (int i = 0; status == SINEW_OK && i < f->candidate_count; i++) {
        double *own = &best[f->label[f->candidates[i].vertex]];
        if (is_steady(f, i)) *own = fmin(*own, f->longest[i]);
    }
    for (int i = 0; status == SINEW_OK && i < f->candidate_count; i++) {
        double limit = GAP_SLACK * best[f->label[f->candidates[i].vertex]];
        if (!is_steady(f, i) || f->longest[i] > limit) continue;
        int before = f->link_count;
        status = keep(f, &f->candidates[i], error);
        *joined = *joined || f->link_count > before;
    }
    sn_free(best);
    return status;
}

static bool is_one_group(finder *f) {
    for (int c = 1; c < f->part_count; c++)
        if (sn_set_find(f->group, c) != 0) return false;
    return true;
}

static sinew_status find(finder *f, const sinew_monitor *monitor, sinew_error *error) {
    f->group = SN_NEW(int, f->part_count);
    if (!f->group) return sn_no_memory(error);
    for (int c = 0; c < f->part_count; c++) f->group[c] = c;
    f->diagonal = sinew_diagonal(f->poses->vertex_count, f->poses->rest);
    SN_TRY(link_near_parts(f, monitor, error));
    /* Each round at least halves the groups that can be joined. */
    for (bool joined = true; joined && !is_one_group(f);)
        SN_TRY(link_groups(f, &joined, monitor, error));
    return SINEW_OK;
}

sinew_status sn_part_links_find(const sn_part_poses *poses, int corners, int element_count,
                                const int *elements, int triangle_count, const int *triangles,
                                const sinew_monitor *monitor, sn_link **links, int *link_count,
                                sinew_error *error) {
    *links = NULL, *link_count = 0;
    finder f = {.poses = poses, .triangle_count = triangle_count, .triangles = triangles};
    f.part = SN_NEW(int, poses->vertex_count);
    f.label = SN_NEW(int, poses->vertex_count);
    sinew_status status = f.part && f.label ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK)
        status = sn_components_of(poses->vertex_count, element_count, corners, elements, f.part,
                                  &f.part_count, error);
    if (status == SINEW_OK && f.part_count > 1) status = find(&f, monitor, error);
    sn_free(f.part), sn_free(f.label), sn_free(f.group);
    sn_free(f.candidates), sn_free(f.longest), sn_free(f.shortest);
    if (status == SINEW_OK)
        *links = f.links, *link_count = f.link_count;
    else
        sn_free(f.links);
    return status;
}
