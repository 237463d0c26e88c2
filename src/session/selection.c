#include "sinew/selection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/forms.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "base/nearest.h"
#include "base/scope.h"
#include "base/status.h"
#include "base/vec3.h"
#include "capture/pieces.h"
#include "sinew/anatomy.h"

/* Marks the vertices of "1,5-9". */
static sinew_status mark_indices(const char *list, int vertex_count, unsigned char *marked,
                                 sinew_error *error) {
    const char *cursor = list;
    for (;;) {
        char *end;
        long first = strtol(cursor, &end, 10), last = first;
        bool good = end != cursor && *cursor != '-' && *cursor != ' ';
        if (good && *end == '-') {
            const char *second = end + 1;
            last = strtol(second, &end, 10);
            good = end != second && *second != '-';
        }
        if (!good || (*end != ',' && *end != '\0'))
            return sn_fail(error, SINEW_BAD_INPUT, "'v:%.200s' is not a list such as v:1,5-9",
                           list);
        if (last < first)
            return sn_fail(error, SINEW_BAD_INPUT, "'v:%.200s': %ld-%ld runs backwards", list,
                           first, last);
        if (last >= vertex_count)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "'v:%.200s': vertex %ld is out of range, the mesh has %d vertices", list,
                           last, vertex_count);
        memset(marked + first, 1, (size_t)(last - first + 1));
        if (*end == '\0') return SINEW_OK;
        cursor = end + 1;
    }
}

static sinew_status unknown_name(const char *what, const char *name, int count,
                                 const char *const *names, sinew_error *error) {
    char hint[SN_NAME_HINT_SIZE];
    sn_name_hint(name, count, names, hint);
    return sn_fail(error, SINEW_BAD_INPUT, "the rig has no %s '%s'; %s", what, name, hint);
}

/* A region that the rig does not name but its targets tell. That takes seconds: the call far above
 * may cancel it. */
static sinew_status mark_derived(const sinew_rig *rig, const char *name, unsigned char *marked,
                                 sinew_error *error) {
    sinew_anatomy *anatomy;
    int *vertices = NULL, count = 0;
    const sinew_monitor *above = sn_monitor_entered();
    const sinew_monitor monitor = {.cancelled = above ? above->cancelled : NULL,
                                   .user = above ? above->user : NULL};
    SN_TRY(sinew_anatomy_create(rig, &monitor, &anatomy, error));
    sinew_status status = sinew_anatomy_region(anatomy, name, &vertices, &count, error);
    for (int i = 0; i < count; i++) marked[vertices[i]] = 1;
    sinew_free(vertices);
    sinew_anatomy_destroy(anatomy);
    return status;
}

/* "7": a connected piece, counted in the order of first vertices. */
static sinew_status mark_piece(const sinew_rig *rig, const char *text, unsigned char *marked,
                               sinew_error *error) {
    char *end;
    long wanted = strtol(text, &end, 10);
    if (end == text || *end || wanted < 0)
        return sn_fail(error, SINEW_BAD_INPUT, "'piece:%.200s' is not a number such as piece:7",
                       text);
    int pieces, *piece = SN_NEW(int, rig->neutral->vertex_count);
    sinew_status status =
        piece ? sn_pieces(rig->neutral, piece, &pieces, error) : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < rig->neutral->vertex_count; v++)
        marked[v] = piece[v] == wanted;
    sn_free(piece);
    if (status != SINEW_OK) return status;
    return wanted < pieces
               ? SINEW_OK
               : sn_fail(error, SINEW_BAD_INPUT,
                         "'piece:%ld': the mesh has %d connected pieces, from 0", wanted, pieces);
}

/* "jawOpen>0.2": vertices that a target moves by more than this fraction of its largest motion;
 * without a number, all that it moves. */
static sinew_status mark_target(const sinew_rig *rig, const char *text, unsigned char *marked,
                                sinew_error *error) {
    const char *above = strchr(text, '>');
    char name[200];
    double fraction = 0, most = 0;
    snprintf(name, sizeof name, "%.*s", above ? (int)(above - text) : (int)strlen(text), text);
    if (above) {
        if (sn_number_list(above + 1, 0, 1, &fraction, NULL) != 1 || fraction < 0 || fraction >= 1)
            return sn_fail(error, SINEW_BAD_INPUT,
                           "'target:%.200s': expected NAME>FRACTION with a fraction of 0 to 1",
                           text);
    }
    int target = sinew_rig_find_target(rig, name);
    if (target < 0) {
        int slider = sinew_rig_find_slider(rig, name);
        for (int k = 0; slider >= 0 && target < 0 && k < rig->target_count; k++)
            if (rig->targets[k].slider == slider) target = k;
    }
    if (target < 0) return sn_fail(error, SINEW_BAD_INPUT, "the rig has no target '%.200s'", name);
    const sinew_target *t = &rig->targets[target];
    for (int i = 0; i < t->count; i++) most = fmax(most, sn_length(sn_at(t->deltas, i)));
    for (int i = 0; i < t->count; i++) {
        double size = sn_length(sn_at(t->deltas, i));
        if (size > 0 && size >= fraction * most) marked[t->vertices[i]] = 1;
    }
    return SINEW_OK;
}

static sinew_status mark_region(const sinew_rig *rig, const char *name, unsigned char *marked,
                                sinew_error *error) {
    int index = sinew_rig_find_region(rig, name);
    if (index >= 0) {
        const sinew_region *region = &rig->regions[index];
        for (int i = 0; i < region->count; i++) marked[region->vertices[i]] = 1;
        return SINEW_OK;
    }
    bool derived = false;
    for (int i = 0; !derived && sinew_anatomy_region_name(i); i++)
        derived = !strcasecmp(sinew_anatomy_region_name(i), name);
    if (derived) return mark_derived(rig, name, marked, error);
    const char **names = SN_NEW(const char *, rig->region_count);
    if (!names) return sn_no_memory(error);
    for (int i = 0; i < rig->region_count; i++) names[i] = rig->regions[i].name;
    sinew_status status = unknown_name("region", name, rig->region_count, names, error);
    sn_free(names);
    return status;
}

static sinew_status mark_part(const sinew_mesh *mesh, const char *name, unsigned char *marked,
                              sinew_error *error) {
    int part = 0;
    while (part < mesh->part_count && strcmp(mesh->part_names[part], name)) part++;
    if (part == mesh->part_count)
        return unknown_name("part", name, mesh->part_count, (const char *const *)mesh->part_names,
                            error);
    for (int f = 0; f < mesh->face_count; f++) {
        if ((mesh->face_part ? mesh->face_part[f] : 0) != part) continue;
        for (int c = mesh->face_start[f]; c < mesh->face_start[f + 1]; c++)
            marked[mesh->face_vertices[c]] = 1;
    }
    return SINEW_OK;
}

/* values[vertex_count] of a mask's file, 0 where it has no value. */
static sinew_status read_mask(const char *file, const char *folder, const sinew_loader *loader,
                              int vertex_count, double *values, sinew_error *error) {
    if (!loader || !loader->vertex_values)
        return sn_fail(error, SINEW_UNAVAILABLE, "%s: there is no loader for this file", file);
    char *path = folder && *folder && *file != '/' ? sn_path_join(folder, file) : sn_strdup(file);
    memset(values, 0, (size_t)vertex_count * sizeof *values);
    sinew_status status =
        path ? loader->vertex_values(path, vertex_count, loader->user, values, error)
             : sn_no_memory(error);
    sn_free(path);
    return status;
}

static sinew_status mark_mask(const char *file, const char *folder, const sinew_loader *loader,
                              int vertex_count, unsigned char *marked, sinew_error *error) {
    double *values = SN_NEW(double, vertex_count);
    sinew_status status =
        values ? read_mask(file, folder, loader, vertex_count, values, error) : sn_no_memory(error);
    for (int v = 0; status == SINEW_OK && v < vertex_count; v++) marked[v] = values[v] >= 0.5;
    sn_free(values);
    return status;
}

static sinew_status mark(const sinew_rig *rig, const char *text, const char *folder,
                         const sinew_loader *loader, unsigned char *marked, sinew_error *error) {
    int n = rig->neutral->vertex_count;
    if (!strncmp(text, "v:", 2)) return mark_indices(text + 2, n, marked, error);
    if (!strncmp(text, "region:", 7)) return mark_region(rig, text + 7, marked, error);
    if (!strncmp(text, "part:", 5)) return mark_part(rig->neutral, text + 5, marked, error);
    if (!strncmp(text, "piece:", 6)) return mark_piece(rig, text + 6, marked, error);
    if (!strncmp(text, "target:", 7)) return mark_target(rig, text + 7, marked, error);
    if (!strncmp(text, "mask:", 5)) return mark_mask(text + 5, folder, loader, n, marked, error);
    if (strcmp(text, "all"))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "'%.200s' is not a selection: v:1,5-9 | region:NAME | part:NAME | piece:N | "
                       "target:NAME>FRACTION | mask:FILE | all",
                       text);
    memset(marked, 1, (size_t)n);
    return SINEW_OK;
}

sinew_status sinew_select(const sinew_rig *rig, const char *text, const char *folder,
                          const sinew_loader *loader, const sinew_monitor *monitor, int **vertices,
                          int *count, sinew_error *error) {
    SN_REQUIRE(rig && text && vertices && count, error);
    *vertices = NULL;
    *count = 0;
    int n = rig->neutral->vertex_count, used = 0;
    sn_call call;
    sn_call_begin(&call, monitor);
    unsigned char *marked = SN_NEW0(unsigned char, n);
    int *list = NULL;
    sinew_status status =
        marked ? mark(rig, text, folder, loader, marked, error) : sn_no_memory(error);
    status = sn_call_end(&call, status, error);
    for (int v = 0; status == SINEW_OK && v < n; v++) used += marked[v];
    if (status == SINEW_OK && used == 0)
        status = sn_fail(error, SINEW_BAD_INPUT, "'%.200s' selects no vertex", text);
    if (status == SINEW_OK && !(list = SN_NEW(int, used))) status = sn_no_memory(error);
    if (status == SINEW_OK) {
        for (int v = 0; v < n; v++)
            if (marked[v]) list[(*count)++] = v;
        *vertices = list;
    }
    sn_free(marked);
    return status;
}

/* ---- locks ----------------------------------------------------------------------------------- */

static sinew_status parse_axes(const char *text, unsigned *axes, sinew_error *error) {
    *axes = text ? 0 : SINEW_AXIS_ALL;
    for (const char *c = text; c && *c; c++) {
        const char *known = strchr("xyz", *c);
        if (!known)
            return sn_fail(error, SINEW_BAD_INPUT, "'%.40s' is not a choice of the axes x, y, z",
                           text);
        *axes |= 1u << (known - "xyz");
    }
    return *axes ? SINEW_OK : sn_fail(error, SINEW_BAD_INPUT, "no axis of x, y, z is locked");
}

/* Vertices of a value other than 0, with the value as strength. */
static sinew_status select_mask(const sinew_rig *rig, const char *file, const char *folder,
                                const sinew_loader *loader, int **vertices, double **strengths,
                                int *count, sinew_error *error) {
    int n = rig->neutral->vertex_count;
    *vertices = SN_NEW(int, n);
    *strengths = SN_NEW(double, n);
    *count = 0;
    if (!*vertices || !*strengths) return sn_no_memory(error);
    SN_TRY(read_mask(file, folder, loader, n, *strengths, error));
    for (int v = 0; v < n; v++)
        if ((*strengths)[v] != 0) {
            (*vertices)[*count] = v;
            (*strengths)[(*count)++] = (*strengths)[v];
        }
    return SINEW_OK;
}

sinew_status sinew_locks_add_selection(sinew_locks *locks, const sinew_rig *rig, const char *name,
                                       const char *select, const char *axes, const char *folder,
                                       const sinew_loader *loader, const double *weights,
                                       const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(locks && rig && name && select && weights, error);
    unsigned mask;
    int *vertices = NULL, count = 0;
    double *strengths = NULL;
    SN_TRY(parse_axes(axes, &mask, error));
    sinew_status status =
        strncmp(select, "mask:", 5) == 0
            ? select_mask(rig, select + 5, folder, loader, &vertices, &strengths, &count, error)
            : sinew_select(rig, select, folder, loader, monitor, &vertices, &count, error);
    if (status == SINEW_OK)
        status = sinew_locks_add(locks, name, count, vertices, mask, strengths, weights, error);
    sn_free(vertices);
    sn_free(strengths);
    return status;
}
