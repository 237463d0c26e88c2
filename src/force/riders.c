#include "force/riders.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/vec3.h"
#include "sinew/query.h"

/* Of the diagonal: vertices nearer than this, or than a mean edge, lie on the skin. */
#define LYING 0.0075
/* Share of a part that lies on the skin: without what the targets say, and with it. */
#define MOST_LIE 0.75
#define SOME_LIE 0.3
/* A target speaks where it moves part or skin by this fraction of the diagonal on average: for
 * following when the part slips by less than this fraction of the skin's motion, against it
 * otherwise. So many of those that speak must agree. */
#define LEAST_MOVE 0.001
#define MOST_SLIP  0.4
#define MOST_AGREE 0.67

typedef struct part {
    bool marked;
    int count, lying;
    sn_vec3 sum;           /* of its vertices */
    bool inside;           /* its middle is behind the skin */
    double moved, slipped; /* by one target: sums of squares over vertices that lie on the skin */
    int agree, speak;      /* targets */
} part;

/* part_of[v]: vertices that edges connect. Returns how many parts there are; queue: room for all
 * vertices. */
static int label_parts(const sn_skin *skin, int *part_of, int *queue) {
    int parts = 0;
    for (int v = 0; v < skin->vertex_count; v++) part_of[v] = -1;
    for (int seed = 0; seed < skin->vertex_count; seed++) {
        if (part_of[seed] >= 0) continue;
        int count = 0;
        queue[count++] = seed, part_of[seed] = parts;
        for (int i = 0; i < count; i++)
            for (int h = skin->start[queue[i]]; h < skin->start[queue[i] + 1]; h++) {
                int v = skin->neighbour[h];
                if (part_of[v] < 0) part_of[v] = parts, queue[count++] = v;
            }
        parts++;
    }
    return parts;
}

static void mark_parts(const sn_skin *skin, const bool *marked, const int *part_of, part *parts) {
    for (int v = 0; v < skin->vertex_count; v++)
        if (marked[v]) parts[part_of[v]].marked = true;
}

/* The place on the skin below each vertex of a part without markers. */
static sinew_status find_hosts(const sn_skin *skin, const sinew_mesh *mesh, const int *part_of,
                               int part_count, part *parts, sn_riders *r, double *distance,
                               sinew_error *error) {
    size_t n = (size_t)skin->vertex_count;
    int *triangles = SN_NEW(int, 3 * (size_t)mesh->triangle_count), kept = 0;
    double *points = SN_NEW(double, 3 * n);
    sinew_closest *found = SN_NEW(sinew_closest, n);
    sinew_query *query = NULL;
    sinew_status status = triangles && points && found ? SINEW_OK : sn_no_memory(error);
    for (int t = 0; status == SINEW_OK && t < mesh->triangle_count; t++)
        if (parts[part_of[mesh->triangles[3 * t]]].marked)
            memcpy(triangles + 3 * kept++, mesh->triangles + 3 * t, 3 * sizeof(int));
    for (int v = 0; status == SINEW_OK && v < skin->vertex_count; v++)
        if (!parts[part_of[v]].marked) {
            part *own = &parts[part_of[v]];
            own->count++, own->sum = sn_add(own->sum, sn_at(skin->rest, v));
            sn_put(points, r->count, sn_at(skin->rest, v));
            r->vertex[r->count++] = v;
        }
    if (status == SINEW_OK && kept == 0) r->count = 0;
    if (status == SINEW_OK && r->count > 0)
        status = sinew_query_create(skin->vertex_count, skin->rest, kept, triangles, &query, error);
    if (status == SINEW_OK && r->count > 0)
        sinew_query_closest_all(query, r->count, points, INFINITY, found);
    for (int p = 0; status == SINEW_OK && r->count > 0 && p < part_count; p++) {
        double middle[3];
        if (parts[p].marked) continue;
        sn_put(middle, 0, sn_scale(1.0 / parts[p].count, parts[p].sum));
        parts[p].inside = fabs(sinew_query_winding(query, middle)) > 0.5;
    }
    for (int i = 0; status == SINEW_OK && i < r->count; i++) {
        distance[i] = found[i].triangle < 0 ? INFINITY : found[i].distance;
        for (int k = 0; k < 3; k++) {
            r->host[3 * i + k] = found[i].triangle < 0 ? 0 : triangles[3 * found[i].triangle + k];
            r->weight[3 * i + k] = found[i].barycentric[k];
        }
    }
    sinew_query_destroy(query);
    sn_free(triangles), sn_free(points), sn_free(found);
    return status;
}

/* How a target moves the vertices that lie on the skin, and the skin below them. delta: zeros. */
static void measure_target(const sinew_target *t, const sn_riders *r, const int *part_of,
                           const bool *lies, double *delta, part *parts) {
    for (int i = 0; i < t->count; i++) sn_put(delta, t->vertices[i], sn_at(t->deltas, i));
    for (int i = 0; i < r->count; i++) {
        if (!lies[i]) continue;
        part *own = &parts[part_of[r->vertex[i]]];
        sn_vec3 below = {0, 0, 0};
        for (int c = 0; c < 3; c++)
            below = sn_add_scaled(below, r->weight[3 * i + c], sn_at(delta, r->host[3 * i + c]));
        sn_vec3 slip = sn_sub(sn_at(delta, r->vertex[i]), below);
        own->moved += sn_dot(below, below), own->slipped += sn_dot(slip, slip);
    }
    for (int i = 0; i < t->count; i++) sn_put(delta, t->vertices[i], sn_v3(0, 0, 0));
}

static void ask_targets(const sn_skin *skin, const sinew_rig *rig, const sn_riders *r,
                        const int *part_of, int part_count, const bool *lies, double *delta,
                        part *parts) {
    double least = LEAST_MOVE * skin->diagonal;
    memset(delta, 0, 3 * sizeof(double) * (size_t)skin->vertex_count);
    for (int k = 0; k < rig->target_count; k++) {
        measure_target(&rig->targets[k], r, part_of, lies, delta, parts);
        for (int p = 0; p < part_count; p++) {
            part *one = &parts[p];
            if (fmax(one->moved, one->slipped) > one->lying * least * least) {
                one->speak++;
                one->agree += one->slipped < MOST_SLIP * MOST_SLIP * one->moved;
            }
            one->moved = one->slipped = 0;
        }
    }
}

static bool rides(const part *p) {
    if (p->lying < SOME_LIE * p->count) return false;
    if (p->speak > 0) return p->agree >= MOST_AGREE * p->speak;
    return p->lying >= MOST_LIE * p->count && !p->inside;
}

static double lying_distance(const sn_skin *skin) {
    double sum = 0;
    for (int e = 0; e < skin->edge_count; e++) sum += skin->length[e];
    return fmax(LYING * skin->diagonal, skin->edge_count ? sum / skin->edge_count : 0);
}

/* Leaves the vertices of parts that follow the skin. */
static sinew_status choose(const sn_skin *skin, const sinew_rig *rig, const int *part_of,
                           int part_count, const double *distance, part *parts, sn_riders *r,
                           sinew_error *error) {
    bool *lies = SN_NEW(bool, r->count);
    double *delta = SN_NEW(double, 3 * (size_t)skin->vertex_count);
    sinew_status status = lies && delta ? SINEW_OK : sn_no_memory(error);
    if (status == SINEW_OK) {
        double most = lying_distance(skin);
        for (int i = 0; i < r->count; i++) {
            part *own = &parts[part_of[r->vertex[i]]];
            lies[i] = distance[i] < most;
            own->lying += lies[i];
        }
        ask_targets(skin, rig, r, part_of, part_count, lies, delta, parts);
        int kept = 0;
        for (int i = 0; i < r->count; i++) {
            if (!rides(&parts[part_of[r->vertex[i]]])) continue;
            r->vertex[kept] = r->vertex[i];
            memmove(r->host + 3 * kept, r->host + 3 * i, 3 * sizeof(int));
            memmove(r->weight + 3 * kept++, r->weight + 3 * i, 3 * sizeof(double));
        }
        r->count = kept;
    }
    sn_free(lies), sn_free(delta);
    return status;
}

sinew_status sn_riders_find(const sn_skin *skin, const sinew_rig *rig, const bool *marked,
                            sn_riders *riders, sinew_error *error) {
    size_t n = (size_t)skin->vertex_count;
    *riders = (sn_riders){
        .vertex = SN_NEW(int, n), .host = SN_NEW(int, 3 * n), .weight = SN_NEW(double, 3 * n)};
    int *part_of = SN_NEW(int, 2 * n);
    double *distance = SN_NEW(double, n);
    part *parts = NULL;
    int count = 0;
    sinew_status status = riders->vertex && riders->host && riders->weight && part_of && distance
                              ? SINEW_OK
                              : sn_no_memory(error);
    if (status == SINEW_OK) {
        count = label_parts(skin, part_of, part_of + n);
        parts = SN_NEW0(part, count);
        if (!parts) status = sn_no_memory(error);
    }
    if (status == SINEW_OK) {
        mark_parts(skin, marked, part_of, parts);
        status = find_hosts(skin, rig->neutral, part_of, count, parts, riders, distance, error);
    }
    if (status == SINEW_OK)
        status = choose(skin, rig, part_of, count, distance, parts, riders, error);
    sn_free(part_of), sn_free(distance), sn_free(parts);
    if (status != SINEW_OK) sn_riders_free(riders);
    return status;
}

void sn_riders_leave_inner(sn_riders *r, const sinew_anatomy *anatomy) {
    const int *piece = sinew_anatomy_pieces(anatomy);
    int kept = 0;
    for (int i = 0; i < r->count; i++) {
        sinew_piece_kind kind = sinew_anatomy_piece_kind(anatomy, piece[r->vertex[i]]);
        if (kind == SINEW_PIECE_KIND_TEETH || kind == SINEW_PIECE_KIND_TONGUE ||
            kind == SINEW_PIECE_KIND_MOUTH)
            continue;
        r->vertex[kept] = r->vertex[i];
        memmove(r->host + 3 * kept, r->host + 3 * i, 3 * sizeof(int));
        memmove(r->weight + 3 * kept, r->weight + 3 * i, 3 * sizeof(double));
        kept++;
    }
    r->count = kept;
}

void sn_riders_free(sn_riders *r) {
    sn_free(r->vertex), sn_free(r->host), sn_free(r->weight);
    *r = (sn_riders){0};
}
