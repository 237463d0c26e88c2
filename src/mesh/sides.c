#include "mesh/sides.h"

#include <stdlib.h>

#include "base/memory.h"

static sn_side make_side(int a, int b, int c, int tet) {
    int low = a < b ? a : b, high = a < b ? b : a;
    int first = low < c ? low : c, last = high > c ? high : c;
    return (sn_side){{first, (low > c ? low : high < c ? high : c), last}, tet};
}

static int compare_corners(const sn_side *a, const sn_side *b) {
    for (int k = 0; k < 3; k++)
        if (a->v[k] != b->v[k]) return a->v[k] < b->v[k] ? -1 : 1;
    return 0;
}

static int compare_sides(const void *left, const void *right) {
    const sn_side *a = left, *b = right;
    int order = compare_corners(a, b);
    return order ? order : (a->tet > b->tet) - (a->tet < b->tet);
}

sinew_status sn_sides_create(int tet_count, const int *tets, int triangle_count,
                             const int *triangles, sn_side **sides, size_t *count,
                             sinew_error *error) {
    *count = 4 * (size_t)tet_count + (size_t)triangle_count;
    sn_side *out = *sides = SN_NEW(sn_side, *count);
    if (!out) return sn_no_memory(error);
    for (int t = 0; t < triangle_count; t++) {
        const int *v = triangles + 3 * (size_t)t;
        *out++ = make_side(v[0], v[1], v[2], -1);
    }
    for (int t = 0; t < tet_count; t++) {
        const int *v = tets + 4 * (size_t)t;
        for (int k = 0; k < 4; k++)
            *out++ = make_side(v[(k + 1) % 4], v[(k + 2) % 4], v[(k + 3) % 4], t);
    }
    qsort(*sides, *count, sizeof **sides, compare_sides);
    return SINEW_OK;
}

size_t sn_sides_next(const sn_side *sides, size_t count, size_t at) {
    size_t end = at + 1;
    while (end < count && compare_corners(&sides[at], &sides[end]) == 0) end++;
    return end;
}
