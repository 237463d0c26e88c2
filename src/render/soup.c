#include "render/soup.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

static bool mentions(const char *name, const char *word) {
    size_t length = strlen(word);
    for (; *name; name++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)name[i]) == word[i]) i++;
        if (i == length) return true;
    }
    return false;
}

/* What a part is made of, from its name; rigs of all makers call eyes eyes. */
static sn_material material_of_part(const char *name) {
    if (!name) return SN_MATERIAL_SKIN;
    if (mentions(name, "occlusion") || mentions(name, "lacrimal") || mentions(name, "eyeblend") ||
        mentions(name, "lash"))
        return SN_MATERIAL_NONE;
    if (mentions(name, "marker")) return SN_MATERIAL_MARKER;
    if (mentions(name, "hair") || mentions(name, "eyebrow")) return SN_MATERIAL_HAIR;
    if (mentions(name, "sclera") || mentions(name, "iris") || mentions(name, "cornea"))
        return SN_MATERIAL_EYE;
    if (mentions(name, "eye") && !mentions(name, "brow") && !mentions(name, "lid") &&
        !mentions(name, "socket"))
        return SN_MATERIAL_EYE;
    if (mentions(name, "teeth") || mentions(name, "tooth")) return SN_MATERIAL_TEETH;
    if (mentions(name, "tongue") || mentions(name, "gum")) return SN_MATERIAL_TONGUE;
    return SN_MATERIAL_SKIN;
}

static void add_normals(sn_soup *soup) {
    memset(soup->normals, 0, sizeof(double) * 3 * (size_t)soup->vertex_count);
    for (int t = 0; t < soup->triangle_count; t++) {
        const int *v = soup->triangles + 3 * (size_t)t;
        sn_vec3 a = sn_at(soup->positions, v[0]);
        sn_vec3 n = sn_cross(sn_sub(sn_at(soup->positions, v[1]), a),
                             sn_sub(sn_at(soup->positions, v[2]), a));
        for (int k = 0; k < 3; k++)
            sn_put(soup->normals, v[k], sn_add(sn_at(soup->normals, v[k]), n));
    }
    for (int v = 0; v < soup->vertex_count; v++)
        sn_put(soup->normals, v, sn_normalize(sn_at(soup->normals, v)));
}

static int find_root(int *parent, int v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

/* Boxes of the connected pieces of eye parts, kept at the piece's root vertex. */
typedef struct sn_eyeballs {
    int *parent;
    double *low, *high;
} sn_eyeballs;

static void widen_box(sn_eyeballs *eyes, int root, const double *low, const double *high) {
    for (int k = 0; k < 3; k++) {
        eyes->low[3 * root + k] = fmin(eyes->low[3 * root + k], low[k]);
        eyes->high[3 * root + k] = fmax(eyes->high[3 * root + k], high[k]);
    }
}

/* Cornea, iris and sclera are often separate pieces: one whose middle lies inside another's larger
 * box belongs to that ball. */
static void join_nested(sn_eyeballs *eyes, int n) {
    for (int v = 0; v < n; v++) {
        if (eyes->parent[v] != v || !(eyes->high[3 * v] > eyes->low[3 * v])) continue;
        for (int u = 0; u < n; u++) {
            if (u == v || eyes->parent[u] != u || !(eyes->high[3 * u] > eyes->low[3 * u])) continue;
            bool inside = true;
            for (int k = 0; k < 3; k++) {
                double middle = 0.5 * (eyes->low[3 * v + k] + eyes->high[3 * v + k]);
                inside &= middle >= eyes->low[3 * u + k] && middle <= eyes->high[3 * u + k];
            }
            if (!inside ||
                eyes->high[3 * u] - eyes->low[3 * u] < eyes->high[3 * v] - eyes->low[3 * v])
                continue;
            eyes->parent[v] = u;
            widen_box(eyes, u, eyes->low + 3 * v, eyes->high + 3 * v);
            break;
        }
    }
}

/* Directions from the center of each eyeball at rest, turned so that +z is ahead. They move with
 * the vertices, so that the iris turns with the eye. */
static sinew_status add_gaze(sn_soup *soup, const sinew_mesh *mesh, char up, sinew_error *error) {
    int n = mesh->vertex_count;
    const double *x = mesh->positions;
    sn_eyeballs eyes = {SN_NEW(int, n), SN_NEW(double, 3 * (size_t)n),
                        SN_NEW(double, 3 * (size_t)n)};
    bool *used = SN_NEW0(bool, n);
    sinew_status status = SINEW_OK;
    if (!eyes.parent || !eyes.low || !eyes.high || !used) {
        status = sn_no_memory(error);
        goto done;
    }
    for (int v = 0; v < n; v++) eyes.parent[v] = v;
    for (int t = 0; t < mesh->triangle_count; t++) {
        if (soup->material[t] != SN_MATERIAL_EYE) continue;
        const int *v = mesh->triangles + 3 * (size_t)t;
        for (int k = 0; k < 3; k++) {
            used[v[k]] = true;
            eyes.parent[find_root(eyes.parent, v[k])] = find_root(eyes.parent, v[0]);
        }
    }
    for (int v = 0; v < n; v++)
        for (int k = 0; k < 3; k++) {
            eyes.low[3 * v + k] = used[v] ? x[3 * v + k] : 0;
            eyes.high[3 * v + k] = used[v] ? x[3 * v + k] : 0;
        }
    for (int v = 0; v < n; v++)
        if (used[v]) widen_box(&eyes, find_root(eyes.parent, v), x + 3 * v, x + 3 * v);
    join_nested(&eyes, n);
    for (int v = 0; v < n; v++) {
        if (!used[v]) continue;
        int root = find_root(eyes.parent, v);
        sn_vec3 low = sn_at(eyes.low, root), high = sn_at(eyes.high, root);
        sn_vec3 center = sn_scale(0.5, sn_add(low, high));
        /* The cornea bulges ahead: the ball's center sits half a width before its back. */
        if (up == 'z')
            center.y = high.y - 0.5 * (high.x - low.x);
        else
            center.z = low.z + 0.5 * (high.x - low.x);
        sn_vec3 d = sn_normalize(sn_sub(sn_at(x, v), center));
        if (up == 'z') d = sn_v3(d.x, d.z, -d.y);
        soup->gaze[3 * v] = (float)d.x;
        soup->gaze[3 * v + 1] = (float)d.y;
        soup->gaze[3 * v + 2] = (float)d.z;
    }
done:
    sn_free(eyes.parent), sn_free(eyes.low), sn_free(eyes.high), sn_free(used);
    return status;
}

/* A number for the edge between two vertices, in either direction. */
static uint64_t edge_of(int a, int b) {
    return a < b ? (uint64_t)a << 32 | (uint64_t)b : (uint64_t)b << 32 | (uint64_t)a;
}

static int compare_edges(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The edges of a face, sorted. */
static int list_edges(const sinew_mesh *mesh, int face, uint64_t *edges) {
    int begin = mesh->face_start[face], count = mesh->face_start[face + 1] - begin;
    const int *v = mesh->face_vertices + begin;
    for (int c = 0; c < count; c++) edges[c] = edge_of(v[c], v[c + 1 < count ? c + 1 : 0]);
    if (count > 1) qsort(edges, (size_t)count, sizeof *edges, compare_edges);
    return count;
}

/* Which edges of the triangles are edges of the mesh's faces: opposite corner k lie k+1 and k+2. */
static sinew_status mark_edges(sn_soup *soup, int first, const sinew_mesh *mesh,
                               sinew_error *error) {
    int most = 0, face = -1, count = 0;
    for (int f = 0; f < mesh->face_count; f++)
        if (most < mesh->face_start[f + 1] - mesh->face_start[f])
            most = mesh->face_start[f + 1] - mesh->face_start[f];
    uint64_t *edges = SN_NEW(uint64_t, most);
    if (!edges) return sn_no_memory(error);
    for (int t = 0; t < mesh->triangle_count; t++) {
        const int *v = mesh->triangles + 3 * (size_t)t;
        if (mesh->triangle_face[t] != face)
            count = list_edges(mesh, face = mesh->triangle_face[t], edges);
        unsigned char bits = 0;
        for (int k = 0; k < 3; k++) {
            uint64_t edge = edge_of(v[(k + 1) % 3], v[(k + 2) % 3]);
            if (bsearch(&edge, edges, (size_t)count, sizeof edge, compare_edges))
                bits |= (unsigned char)(1 << k);
        }
        soup->real_edge[first + t] = bits;
    }
    sn_free(edges);
    return SINEW_OK;
}

static sinew_status add_mesh(sn_soup *soup, int *vertices, int *triangles, const sinew_mesh *mesh,
                             const double *positions, sinew_error *error) {
    memcpy(soup->positions + 3 * (size_t)*vertices, positions ? positions : mesh->positions,
           sizeof(double) * 3 * (size_t)mesh->vertex_count);
    for (int i = 0; i < 3 * mesh->triangle_count; i++)
        soup->triangles[3 * (size_t)*triangles + (size_t)i] = mesh->triangles[i] + *vertices;
    SN_TRY(mark_edges(soup, *triangles, mesh, error));
    *vertices += mesh->vertex_count;
    *triangles += mesh->triangle_count;
    return SINEW_OK;
}

/* Transparent helper surfaces (tear film, shadow and lash cards) would hide the eyes. */
static void drop_hidden(sn_soup *soup) {
    int kept = 0;
    for (int t = 0; t < soup->triangle_count; t++) {
        if (soup->material[t] == SN_MATERIAL_NONE) continue;
        memmove(soup->triangles + 3 * (size_t)kept, soup->triangles + 3 * (size_t)t,
                3 * sizeof(int));
        soup->material[kept] = soup->material[t];
        soup->real_edge[kept] = soup->real_edge[t];
        kept++;
    }
    soup->triangle_count = kept;
}

static void paint_heat(sn_soup *soup, const sinew_panel *panel, double low, double high) {
    for (int v = 0; v < panel->mesh->vertex_count; v++) {
        double t = high > low ? (panel->heat[v] - low) / (high - low) : 0;
        sn_color c = sn_color_heat(t);
        soup->colors[3 * v] = c.r, soup->colors[3 * v + 1] = c.g, soup->colors[3 * v + 2] = c.b;
    }
}

sinew_status sn_soup_create(const sinew_panel *panel, double heat_low, double heat_high, char up,
                            sn_soup *soup, sinew_error *error) {
    memset(soup, 0, sizeof *soup);
    const sinew_mesh *mesh = panel->mesh;
    size_t vertices = (size_t)mesh->vertex_count, triangles = (size_t)mesh->triangle_count;
    for (int i = 0; i < panel->extra_count; i++) {
        vertices += (size_t)panel->extras[i]->vertex_count;
        triangles += (size_t)panel->extras[i]->triangle_count;
    }
    if (vertices > INT32_MAX / 3 || triangles > INT32_MAX / 3)
        return sn_fail(error, SINEW_BAD_INPUT, "picture of %zu triangles: too many", triangles);
    soup->vertex_count = (int)vertices;
    soup->triangle_count = (int)triangles;
    soup->positions = SN_NEW(double, 3 * vertices);
    soup->normals = SN_NEW(double, 3 * vertices);
    soup->gaze = SN_NEW0(float, 3 * vertices);
    soup->ambient = SN_NEW(float, vertices);
    soup->key = SN_NEW(float, vertices);
    soup->triangles = SN_NEW(int, 3 * triangles);
    soup->material = SN_NEW(unsigned char, triangles);
    soup->real_edge = SN_NEW(unsigned char, triangles);
    bool painted = panel->heat || panel->colors;
    if (painted) soup->colors = SN_NEW(float, 3 * vertices);
    if (!soup->positions || !soup->normals || !soup->gaze || !soup->ambient || !soup->key ||
        !soup->triangles || !soup->material || !soup->real_edge || (painted && !soup->colors)) {
        sn_soup_free(soup);
        return sn_no_memory(error);
    }

    int used_vertices = 0, used_triangles = 0;
    sinew_status status =
        add_mesh(soup, &used_vertices, &used_triangles, mesh, panel->positions, error);
    bool eyes = false;
    for (int t = 0; t < mesh->triangle_count; t++) {
        int part = mesh->face_part ? mesh->face_part[mesh->triangle_face[t]] : 0;
        const char *name = part >= 0 && part < mesh->part_count && mesh->part_names
                               ? mesh->part_names[part]
                               : NULL;
        soup->material[t] = panel->heat ? SN_MATERIAL_PAINT : (unsigned char)material_of_part(name);
        eyes |= soup->material[t] == SN_MATERIAL_EYE;
    }
    for (int i = 0; i < panel->extra_count && status == SINEW_OK; i++) {
        memset(soup->material + used_triangles, SN_MATERIAL_GREY,
               (size_t)panel->extras[i]->triangle_count);
        status = add_mesh(soup, &used_vertices, &used_triangles, panel->extras[i], NULL, error);
    }
    if (status == SINEW_OK && eyes) status = add_gaze(soup, mesh, up, error);
    if (status != SINEW_OK) {
        sn_soup_free(soup);
        return status;
    }
    drop_hidden(soup);
    for (size_t i = 0; painted && i < 3 * vertices; i++) soup->colors[i] = 1;
    if (panel->heat)
        paint_heat(soup, panel, heat_low, heat_high);
    else if (panel->colors)
        memcpy(soup->colors, panel->colors, sizeof(float) * 3 * (size_t)mesh->vertex_count);
    add_normals(soup);
    return SINEW_OK;
}

void sn_soup_free(sn_soup *soup) {
    sn_free(soup->positions), sn_free(soup->normals), sn_free(soup->colors), sn_free(soup->gaze);
    sn_free(soup->ambient), sn_free(soup->key);
    sn_free(soup->triangles), sn_free(soup->material), sn_free(soup->real_edge);
    memset(soup, 0, sizeof *soup);
}
