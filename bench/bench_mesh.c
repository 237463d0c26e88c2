/* Queries, intersections, tets and cages on a torus of 40k triangles.
 *
 * Bounds: memory that has to be read or written at least once over the bandwidth of that working
 * set; for the exact tests of triangle pairs, operations. The searches walk a tree, so that their
 * bound is far below what is possible; the ratio is for comparing runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "mesh/intersection.h"
#include "mesh/normals.h"

enum { AROUND = 200, ACROSS = 100, POINTS = 20000 };

typedef struct mesh_case {
    sinew_mesh *mesh;
    sn_topology *topology;
    sinew_query *query;
    double *points, *positions;
    sinew_closest *closest;
    bool *inside;
    sn_pairs pairs;
    sinew_cage *cage;
    sinew_cage_fit *fit;
    sinew_cage_pose *pose;
    sinew_tets *tets;
} mesh_case;

static sinew_mesh *torus(int around, int across) {
    sinew_error error;
    sinew_mesh *mesh;
    const double turn = 6.283185307179586;
    double *positions = malloc(3 * sizeof(double) * (size_t)(around * across));
    int *triangles = malloc(6 * sizeof(int) * (size_t)(around * across));
    for (int i = 0; i < around; i++)
        for (int j = 0; j < across; j++) {
            double u = turn * i / around, v = turn * j / across, r = 1 + 0.4 * cos(v);
            double *p = positions + 3 * (i * across + j);
            p[0] = r * cos(u), p[1] = r * sin(u), p[2] = 0.4 * sin(v);
            int a = i * across + j, b = (i + 1) % around * across + j;
            int c = (i + 1) % around * across + (j + 1) % across, d = i * across + (j + 1) % across;
            int *t = triangles + 6 * (i * across + j);
            t[0] = t[3] = a, t[1] = b, t[2] = t[4] = c, t[5] = d;
        }
    bench_need(sinew_mesh_create(around * across, positions, 2 * around * across, NULL, triangles,
                                 &mesh, &error),
               &error);
    free(positions);
    free(triangles);
    return mesh;
}

static double random_number(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

static void make(mesh_case *c) {
    sinew_error error;
    unsigned seed = 1;
    *c = (mesh_case){.mesh = torus(AROUND, ACROSS)};
    const sinew_mesh *m = c->mesh;
    bench_need(
        sn_topology_create(m->vertex_count, m->triangle_count, m->triangles, &c->topology, &error),
        &error);
    bench_need(sinew_query_create(m->vertex_count, m->positions, m->triangle_count, m->triangles,
                                  &c->query, &error),
               &error);
    c->points = malloc(3 * POINTS * sizeof(double));
    for (int i = 0; i < 3 * POINTS; i++) c->points[i] = 1.5 * random_number(&seed);
    c->closest = malloc(POINTS * sizeof(sinew_closest));
    c->inside = malloc(POINTS * sizeof(bool));
    c->positions = malloc(3 * sizeof(double) * (size_t)m->vertex_count);
}

static void release(mesh_case *c) {
    sinew_cage_pose_destroy(c->pose);
    sinew_cage_fit_destroy(c->fit);
    sinew_cage_destroy(c->cage);
    sinew_tets_destroy(c->tets);
    sinew_query_destroy(c->query);
    sn_topology_destroy(c->topology);
    sinew_mesh_destroy(c->mesh);
    free(c->points), free(c->closest), free(c->inside), free(c->positions);
}

/* Runs `work` on one and on all threads against a bound in bytes. */
static void measure(bench *b, const char *name, void (*work)(void *), mesh_case *c, double bytes) {
    int all = sinew_threads();
    for (int threads = 1; threads <= all; threads += all > 1 ? all - 1 : 1) {
        sinew_set_threads(threads);
        char limit[64], label[64];
        snprintf(limit, sizeof limit, "move %.2f MB", 1e-6 * bytes);
        snprintf(label, sizeof label, "%s%d thread%s", name, threads, threads > 1 ? "s" : "");
        double seconds = bench_time(b, work, c);
        bench_report(b, label, seconds, bytes / bench_read_bandwidth(b, bytes), limit);
    }
    sinew_set_threads(0);
}

static double surface_bytes(const mesh_case *c) {
    return 24.0 * c->mesh->vertex_count + 12.0 * c->mesh->triangle_count;
}

static void do_closest(void *user) {
    mesh_case *c = user;
    sinew_query_closest_all(c->query, POINTS, c->points, INFINITY, c->closest);
}
static void closest(bench *b) {
    mesh_case c;
    make(&c);
    measure(b, "", do_closest, &c, surface_bytes(&c) + POINTS * (24.0 + sizeof(sinew_closest)));
    release(&c);
}

static void do_inside(void *user) {
    mesh_case *c = user;
    sinew_query_inside_all(c->query, POINTS, c->points, c->inside);
}
static void inside(bench *b) {
    mesh_case c;
    make(&c);
    measure(b, "", do_inside, &c, surface_bytes(&c) + POINTS * 25.0);
    release(&c);
}

static void do_refit(void *user) {
    mesh_case *c = user;
    sinew_query_move(c->query, c->mesh->positions, NULL);
}
static void refit(bench *b) {
    mesh_case c;
    make(&c);
    /* positions in, a copy and their single-precision twin out, triangles and a box per triangle */
    measure(b, "", do_refit, &c,
            (24.0 + 24 + 12) * c.mesh->vertex_count + (12.0 + 24) * c.mesh->triangle_count);
    release(&c);
}

static void do_intersections(void *user) {
    mesh_case *c = user;
    sn_pairs_free(&c->pairs);
    sn_self_intersections(c->mesh->vertex_count, c->mesh->positions, c->mesh->triangle_count,
                          c->mesh->triangles, NULL, &c->pairs, NULL);
}
static void intersections(bench *b) {
    mesh_case c;
    make(&c);
    /* Neighbors are all that overlaps here: 12 around each triangle, each pair once, told apart
     * by at least one determinant of about 30 operations. */
    double operations = 30.0 * 6 * c.mesh->triangle_count;
    double seconds = bench_time(b, do_intersections, &c);
    bench_report(b, NULL, seconds, operations / bench_flops_double(b), "6 determinants a triangle");
    sn_pairs_free(&c.pairs);
    release(&c);
}

static void do_check(void *user) {
    mesh_case *c = user;
    sinew_check *check = NULL;
    sinew_check_mesh(c->mesh, NULL, NULL, &check, NULL);
    sinew_check_destroy(check);
}
static void check(bench *b) {
    mesh_case c;
    make(&c);
    double seconds = bench_time(b, do_check, &c);
    double bytes = surface_bytes(&c);
    bench_report(b, NULL, seconds, bytes / bench_read_bandwidth(b, bytes), "read the mesh");
    release(&c);
}

static void do_normals(void *user) {
    mesh_case *c = user;
    sn_vertex_normals(c->topology, c->mesh->positions, SN_NORMAL_ANGLE, c->positions);
}
static void normals(bench *b) {
    mesh_case c;
    make(&c);
    measure(b, "", do_normals, &c,
            48.0 * c.mesh->vertex_count + (12.0 + 3 * 4) * c.mesh->triangle_count);
    release(&c);
}

static void make_cage(mesh_case *c) {
    sinew_error error;
    bench_need(sinew_cage_create(c->mesh, NULL, NULL, &c->cage, &error), &error);
    bench_need(sinew_cage_fit_create(c->cage, c->mesh, NULL, &c->fit, &error), &error);
    bench_need(sinew_cage_fit_pose(c->fit, c->mesh->positions, NULL, &c->pose, &error), &error);
}

static void do_cage(void *user) {
    mesh_case *c = user;
    sinew_cage *made = NULL;
    sinew_cage_create(c->mesh, NULL, NULL, &made, NULL);
    sinew_cage_destroy(made);
}
static void do_embed(void *user) {
    mesh_case *c = user;
    sinew_embedding_apply(c->cage->embedding, c->pose->positions, c->positions);
}
static void do_surface(void *user) {
    mesh_case *c = user;
    sinew_cage_surface(c->fit, c->pose->positions, c->pose->leftover, c->positions);
}
static void cage(bench *b) {
    mesh_case c;
    make(&c);
    make_cage(&c);
    double tet_bytes = 24.0 * c.cage->tets->vertex_count + 16.0 * c.cage->tets->tet_count;
    char limit[64];
    snprintf(limit, sizeof limit, "%d tets written", c.cage->tets->tet_count);
    double bytes = surface_bytes(&c) + tet_bytes + 52.0 * c.mesh->vertex_count;
    bench_report(b, "create", bench_time(b, do_cage, &c), bytes / bench_read_bandwidth(b, bytes),
                 limit);
    double carried = 24.0 * c.cage->tets->vertex_count;
    measure(b, "embedding, ", do_embed, &c, (16.0 + 32 + 24) * c.mesh->vertex_count + carried);
    measure(b, "with leftover, ", do_surface, &c,
            (20.0 + 32 + 48 + 16 + 96) * c.mesh->vertex_count + carried);
    release(&c);
}

static void do_tets(void *user) {
    mesh_case *c = user;
    sinew_tets_destroy(c->tets);
    sinew_tets_from_surface(c->mesh, NULL, NULL, &c->tets, NULL);
}
static void tets(bench *b) {
    mesh_case c;
    make(&c);
    sinew_mesh_destroy(c.mesh);
    c.mesh = torus(60, 30);
    sinew_error error;
    sinew_status status = sinew_tets_from_surface(c.mesh, NULL, NULL, &c.tets, &error);
    if (status == SINEW_UNAVAILABLE)
        bench_skip(b, error.message);
    else {
        char limit[64];
        snprintf(limit, sizeof limit, "%d tets", c.tets->tet_count);
        bench_report(b, NULL, bench_time(b, do_tets, &c), 0, limit);
    }
    release(&c);
}

const bench_case bench_mesh[] = {
    {"closest", "20k points, torus of 40k triangles", closest},
    {"inside", "20k points, torus of 40k triangles", inside},
    {"refit", "a new pose of 40k triangles", refit},
    {"intersections", "all pairs of 40k triangles, clean", intersections},
    {"check", "every check of a mesh of 40k triangles", check},
    {"normals", "angle-weighted, 20k vertices", normals},
    {"cage", "cells of 1/50 around 20k vertices", cage},
    {"tets", "tetgen with interior points, 3600 triangles", tets},
    BENCH_END,
};
