/* Tetrahedra inside a closed surface, by Debian's tetgen program.
 *
 * Based on: Si, TetGen, a Delaunay-Based Quality Tetrahedral Mesh Generator, 2015.
 * We differ in: it runs as a child process on a surface that passed our own exact checks, and what
 * it returns is verified before use: its crashes, hangs and silent failures on bad surfaces cannot
 * reach the caller. Its output tells connectivity and interior points only; the surface's
 * coordinates are our own bits. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/number.h"
#include "base/process.h"
#include "base/scratch.h"
#include "base/sized.h"
#include "mesh/predicates.h"
#include "mesh/solid.h"
#include "sinew/tets.h"

void sinew_tets_options_init(sinew_tets_options *options) {
    *options = (sinew_tets_options){.size = sizeof *options,
                                    .interior_points = true,
                                    .radius_edge = SINEW_TETS_RADIUS_EDGE_DEFAULT,
                                    .cell_size = 0,
                                    .hole_edges = SINEW_TETS_HOLE_EDGES_DEFAULT,
                                    .seconds = SINEW_TETS_SECONDS_DEFAULT,
                                    .megabytes = SINEW_TETS_MEGABYTES_DEFAULT,
                                    .program = NULL};
}

/* ---- in ---- */

static sinew_status write_input(const char *path, const sn_solid *solid, sinew_error *error) {
    sn_output output;
    SN_TRY(sn_output_open(&output, path, error));
    fprintf(output.stream, "%d 3 0 0\n", solid->used_count);
    for (int i = 0; i < solid->used_count; i++) {
        const double *p = solid->positions + 3 * (size_t)solid->used[i];
        sn_print_to(output.stream, "%d %.17g %.17g %.17g\n", i, p[0], p[1], p[2]);
    }
    fprintf(output.stream, "%d 0\n", solid->triangle_count);
    for (int t = 0; t < solid->triangle_count; t++) {
        const int *v = solid->triangles + 3 * (size_t)t;
        fprintf(output.stream, "1\n3 %d %d %d\n", solid->place[v[0]], solid->place[v[1]],
                solid->place[v[2]]);
    }
    fprintf(output.stream, "0\n0\n");
    return sn_output_commit(&output, error);
}

/* p: a surface to fill; Y: leave the surface as it is; J: keep indices; Q: quiet; q: shape; a:
 * largest volume, here that of a regular tet with the given edge. */
static void switches_of(const sinew_tets_options *options, char *text, size_t size) {
    int used = snprintf(text, size, "-pY");
    if (options->interior_points) {
        used += sn_print(text + used, size - (size_t)used, "q%.6f", options->radius_edge);
        if (options->cell_size > 0)
            used += sn_print(text + used, size - (size_t)used, "a%.9e",
                             pow(options->cell_size, 3) / (6 * sqrt(2)));
    }
    snprintf(text + used, size - (size_t)used, "JQ");
}

/* ---- out ---- */

/* A table of numbers as tetgen writes it: a header line, then rows that start with an index. */
typedef struct table {
    char *text;
    const char *at;
} table;

static void skip_comments(table *in) {
    for (;;) {
        in->at += strspn(in->at, " \t\r\n");
        if (*in->at != '#') return;
        in->at += strcspn(in->at, "\n");
    }
}

static bool read_number(table *in, double *value) {
    skip_comments(in);
    return sn_number(&in->at, value);
}

static bool read_index(table *in, int *value) {
    double number;
    if (!read_number(in, &number) || !(number >= 0 && number <= INT_MAX)) return false;
    *value = (int)number;
    return true;
}

static void skip_line(table *in) {
    in->at += strcspn(in->at, "\n");
}

/* SINEW_IO: incomplete. Vertices: the used ones of the surface, then new points, which are appended
 * to the solid's. */
static sinew_status read_points(table *in, const sn_solid *solid, sinew_tets *tets) {
    int count;
    if (!read_index(in, &count) || count < solid->used_count) return SINEW_IO;
    skip_line(in);
    int extra = count - solid->used_count;
    if (extra > INT_MAX / 3 - solid->vertex_count) return SINEW_IO;
    tets->surface_count = solid->vertex_count;
    tets->vertex_count = solid->vertex_count + extra;
    tets->positions = SN_NEW(double, 3 * (size_t)tets->vertex_count);
    if (!tets->positions) return SINEW_NO_MEMORY;
    memcpy(tets->positions, solid->positions, 3 * sizeof(double) * (size_t)solid->vertex_count);
    for (int i = 0; i < count; i++) {
        int index;
        double p[3];
        if (!read_index(in, &index) || index != i) return SINEW_IO;
        for (int k = 0; k < 3; k++)
            if (!read_number(in, &p[k]) || !isfinite(p[k])) return SINEW_IO;
        if (i >= solid->used_count)
            sn_put(tets->positions, solid->vertex_count + i - solid->used_count,
                   sn_v3(p[0], p[1], p[2]));
        skip_line(in);
    }
    return SINEW_OK;
}

static sinew_status read_tets(table *in, const sn_solid *solid, sinew_tets *tets) {
    int count, corners;
    if (!read_index(in, &count) || !read_index(in, &corners) || corners != 4) return SINEW_IO;
    if (count == 0 || count > INT_MAX / 4) return SINEW_IO;
    skip_line(in);
    tets->tet_count = count;
    tets->tets = SN_NEW(int, 4 * (size_t)count);
    if (!tets->tets) return SINEW_NO_MEMORY;
    for (int t = 0; t < count; t++) {
        int index;
        if (!read_index(in, &index)) return SINEW_IO;
        for (int k = 0; k < 4; k++) {
            int v;
            if (!read_index(in, &v)) return SINEW_IO;
            v = v < solid->used_count ? solid->used[v]
                                      : v - solid->used_count + solid->vertex_count;
            if (v >= tets->vertex_count) return SINEW_IO;
            tets->tets[4 * (size_t)t + (size_t)k] = v;
        }
        skip_line(in);
    }
    return SINEW_OK;
}

typedef sinew_status read_part(table *in, const sn_solid *solid, sinew_tets *tets);

static sinew_status read_output(const char *folder, const char *name, read_part *read,
                                const sn_solid *solid, sinew_tets *tets, sinew_error *error) {
    char *path = sn_path_join(folder, name);
    if (!path) return sn_no_memory(error);
    table in = {0};
    size_t size;
    sinew_status status = SINEW_OK;
    if (!sn_file_exists(path)) /* it returned in good order without a mesh */
        status = sn_fail(error, SINEW_BAD_INPUT, "tetgen made no tets from the surface");
    else
        status = sn_file_read(path, &in.text, &size, error);
    if (status == SINEW_OK) {
        in.at = in.text;
        status = read(&in, solid, tets);
        if (status == SINEW_NO_MEMORY)
            sn_no_memory(error);
        else if (status != SINEW_OK)
            status =
                sn_fail(error, SINEW_IO, "tetgen's %s is incomplete: is %s full?", name, folder);
    }
    sn_free(in.text);
    sn_free(path);
    return status;
}

/* Turns every tet to positive volume; a flat one means the mesh is unusable. */
static sinew_status orient(sinew_tets *tets, sinew_error *error) {
    for (int t = 0; t < tets->tet_count; t++) {
        int *v = tets->tets + 4 * (size_t)t;
        int sign = sn_orient3d(sn_at(tets->positions, v[0]), sn_at(tets->positions, v[1]),
                               sn_at(tets->positions, v[2]), sn_at(tets->positions, v[3]));
        if (sign == 0) return sn_fail(error, SINEW_BAD_INPUT, "tetgen made a flat tet (%d)", t);
        if (sign < 0) {
            int swap = v[2];
            v[2] = v[3], v[3] = swap;
        }
    }
    return SINEW_OK;
}

static sinew_status explain(int outcome, const sinew_tets_options *options, sinew_error *error) {
    if (outcome == 0) return SINEW_OK;
    if (outcome < 0)
        return sn_fail(error, SINEW_NOT_CONVERGED,
                       "tetgen was ended by signal %d (limits: %g s, %d MB)", -outcome,
                       options->seconds, options->megabytes);
    /* Its own words for surfaces that cut themselves, have features that are too small, or do not
     * parse; anything else is a program that does not work. */
    bool refused = outcome == 3 || outcome == 4 || outcome == 5 || outcome == 10;
    return sn_fail(error, refused ? SINEW_BAD_INPUT : SINEW_UNAVAILABLE,
                   refused ? "tetgen refused the surface (exit status %d)"
                           : "tetgen failed (exit status %d)",
                   outcome);
}

static sinew_status run_in(const char *folder, const char *program, const sn_solid *solid,
                           const sinew_tets_options *options, const sinew_monitor *monitor,
                           sinew_tets *tets, sinew_error *error) {
    char switches[96];
    switches_of(options, switches, sizeof switches);
    char *input = sn_path_join(folder, "surface.poly");
    if (!input) return sn_no_memory(error);
    sinew_status status = write_input(input, solid, error);
    int outcome = 0;
    if (status == SINEW_OK) {
        const char *arguments[] = {"tetgen", switches, input, NULL};
        sn_process_limits limits = {options->seconds, (size_t)options->megabytes << 20};
        status = sn_process_run(program, arguments, &limits, monitor, &outcome, error);
    }
    sn_free(input);
    if (status == SINEW_OK) status = explain(outcome, options, error);
    if (status == SINEW_OK)
        status = read_output(folder, "surface.1.node", read_points, solid, tets, error);
    if (status == SINEW_OK)
        status = read_output(folder, "surface.1.ele", read_tets, solid, tets, error);
    if (status == SINEW_OK) status = orient(tets, error);
    if (status == SINEW_OK) status = sn_solid_verify(solid, tets, error);
    return status;
}

sinew_status sinew_tets_from_surface(const sinew_mesh *mesh, const sinew_tets_options *options,
                                     const sinew_monitor *monitor, sinew_tets **tets,
                                     sinew_error *error) {
    SN_REQUIRE(tets, error);
    *tets = NULL;
    SN_REQUIRE(mesh, error);
    SN_OPTIONS(sinew_tets_options, wanted, options, error);
    options = &wanted;
    SN_REQUIRE(options->seconds > 0 && options->megabytes > 0 && options->hole_edges >= 0, error);
    SN_REQUIRE(options->radius_edge >= 1.2 && options->cell_size >= 0, error);
    sn_solid solid;
    SN_TRY(sn_solid_create(mesh, options->hole_edges, monitor, &solid, error));
    const char *name = options->program ? options->program : "tetgen";
    char *program;
    bool searched = sn_find_program(name, &program);
    sn_scratch scratch = {0};
    sinew_tets *made = SN_NEW0(sinew_tets, 1);
    sinew_status status = SINEW_OK;
    if (!made || !searched)
        status = sn_no_memory(error);
    else if (!program)
        status = sn_fail(error, SINEW_UNAVAILABLE,
                         "%s is not installed (on Debian: apt install tetgen)", name);
    if (status == SINEW_OK) status = sn_scratch_open(&scratch, NULL, 0700, name, NULL, error);
    if (status == SINEW_OK)
        status = run_in(scratch.path, program, &solid, options, monitor, made, error);
    sn_scratch_close(&scratch);
    sn_free(program);
    sn_solid_free(&solid);
    if (status != SINEW_OK) {
        sinew_tets_destroy(made);
        return status;
    }
    *tets = made;
    return SINEW_OK;
}
