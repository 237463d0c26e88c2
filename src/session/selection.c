#include "sinew/selection.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/status.h"

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
            return sn_fail(error, SINEW_BAD_INPUT, "'v:%.200s': vertex %ld of %d", list, last,
                           vertex_count);
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

static sinew_status mark_region(const sinew_rig *rig, const char *name, unsigned char *marked,
                                sinew_error *error) {
    int index = sinew_rig_find_region(rig, name);
    if (index >= 0) {
        const sinew_region *region = &rig->regions[index];
        for (int i = 0; i < region->count; i++) marked[region->vertices[i]] = 1;
        return SINEW_OK;
    }
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

/* values[vertex_count] of a mask's file, 0 where it says nothing. */
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
    if (!strncmp(text, "mask:", 5)) return mark_mask(text + 5, folder, loader, n, marked, error);
    if (strcmp(text, "all"))
        return sn_fail(error, SINEW_BAD_INPUT,
                       "'%.200s' is no selection: v:1,5-9 | region:NAME | part:NAME | mask:FILE | "
                       "all",
                       text);
    memset(marked, 1, (size_t)n);
    return SINEW_OK;
}

sinew_status sinew_select(const sinew_rig *rig, const char *text, const char *folder,
                          const sinew_loader *loader, int **vertices, int *count,
                          sinew_error *error) {
    SN_REQUIRE(rig && text && vertices && count, error);
    *vertices = NULL;
    *count = 0;
    int n = rig->neutral->vertex_count, used = 0;
    unsigned char *marked = SN_NEW0(unsigned char, n);
    int *list = NULL;
    sinew_status status =
        marked ? mark(rig, text, folder, loader, marked, error) : sn_no_memory(error);
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
                                       sinew_error *error) {
    SN_REQUIRE(locks && rig && name && select && weights, error);
    unsigned mask;
    int *vertices = NULL, count = 0;
    double *strengths = NULL;
    SN_TRY(parse_axes(axes, &mask, error));
    sinew_status status =
        strncmp(select, "mask:", 5) == 0
            ? select_mask(rig, select + 5, folder, loader, &vertices, &strengths, &count, error)
            : sinew_select(rig, select, folder, loader, &vertices, &count, error);
    if (status == SINEW_OK)
        status = sinew_locks_add(locks, name, count, vertices, mask, strengths, weights, error);
    sn_free(vertices);
    sn_free(strengths);
    return status;
}
