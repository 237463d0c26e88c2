/* Pairs of triangles that intersect in frames and not in the neutral, by the pieces that they
 * belong to: eyeballs that come out of the lids count as skin with eyes.
 *
 * Where the neutral intersects itself, as eyeballs in their sockets do, the curve of intersection
 * moves with the surfaces, and other pairs intersect than in the neutral. Pairs are therefore
 * counted twice: those away from the neutral's intersections, where no corner belongs to a triangle
 * that intersects in the neutral, and all.
 *
 * Usage: new_crossings FRAMES RIG... Prints one line: frames, pairs of the neutral, then for skin
 * with skin, skin with eyes, skin with anything else, and the rest: pairs away from the neutral's
 * in the worst frame, and all pairs in the worst frame; and the frames with any pair away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sinew/sinew.h"

enum { SKIN_SKIN, SKIN_EYE, SKIN_MOUTH, OTHERS, KINDS };

static sinew_error error;

static void need(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s: %s\n", sinew_status_name(status), error.message);
    exit(1);
}

static int compare(const void *a, const void *b) {
    const int *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* per vertex: it belongs to a triangle that intersects in the neutral */
static bool *mark_rest(const sinew_mesh *mesh, const int *rest, int count) {
    bool *marked = calloc((size_t)mesh->vertex_count, 1);
    for (int i = 0; i < 2 * count; i++)
        for (int c = 0; c < 3; c++) marked[mesh->triangles[3 * (size_t)rest[i] + (size_t)c]] = true;
    return marked;
}

static bool is_away(const sinew_mesh *mesh, const bool *marked, const int pair[2]) {
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < 3; c++)
            if (marked[mesh->triangles[3 * (size_t)pair[i] + (size_t)c]]) return false;
    return true;
}

static int kind_of(const sinew_anatomy *anatomy, const sinew_mesh *mesh, const int pair[2]) {
    const int *piece = sinew_anatomy_pieces(anatomy);
    const bool *skin = sinew_anatomy_skin(anatomy);
    sinew_piece_kind kind[2];
    bool outer[2];
    for (int i = 0; i < 2; i++) {
        const int *v = mesh->triangles + 3 * (size_t)pair[i];
        kind[i] = sinew_anatomy_piece_kind(anatomy, piece[v[0]]);
        outer[i] = skin[v[0]] && skin[v[1]] && skin[v[2]];
    }
    for (int i = 0; i < 2; i++) {
        if (!outer[i]) continue;
        if (outer[1 - i]) return SKIN_SKIN;
        return kind[1 - i] == SINEW_PIECE_KIND_EYE ? SKIN_EYE : SKIN_MOUTH;
    }
    return OTHERS;
}

int main(int count, char **words) {
    if (count < 3) return fprintf(stderr, "usage: new_crossings FRAMES RIG...\n"), 2;
    sinew_rig *rig;
    sinew_frames *frames;
    sinew_anatomy *anatomy;
    need(sinew_rig_read(count - 2, (const char *const *)words + 2, &rig, &error));
    need(sinew_frames_read(words[1], &frames, &error));
    need(sinew_anatomy_create(rig, NULL, &anatomy, &error));
    const sinew_mesh *mesh = rig->neutral;
    size_t n = (size_t)mesh->vertex_count;
    int *rest, rest_count, worst[KINDS] = {0}, worst_away[KINDS] = {0}, any = 0;
    need(sinew_self_intersections(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                  mesh->triangles, NULL, &rest, &rest_count, &error));
    bool *marked = mark_rest(mesh, rest, rest_count);
    double *x = malloc(3 * n * sizeof *x);
    for (int f = 0; f < frames->frame_count; f++) {
        int *pairs, found, here[KINDS] = {0}, away[KINDS] = {0};
        for (size_t i = 0; i < 3 * n; i++) x[i] = (double)frames->positions[3 * n * (size_t)f + i];
        need(sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count, mesh->triangles,
                                      NULL, &pairs, &found, &error));
        for (int i = 0; i < found; i++) {
            int pair[2] = {pairs[2 * i], pairs[2 * i + 1]};
            if (rest_count && bsearch(pair, rest, (size_t)rest_count, sizeof pair, compare))
                continue;
            int kind = kind_of(anatomy, mesh, pair);
            here[kind]++, away[kind] += is_away(mesh, marked, pair);
        }
        sinew_free(pairs);
        bool some = false;
        for (int k = 0; k < KINDS; k++) {
            some |= away[k] > 0;
            if (here[k] > worst[k]) worst[k] = here[k];
            if (away[k] > worst_away[k]) worst_away[k] = away[k];
        }
        any += some;
    }
    printf("| %d | %d |", frames->frame_count, rest_count);
    for (int k = 0; k < KINDS; k++) printf(" %d (%d) |", worst_away[k], worst[k]);
    printf(" %d |\n", any);
    free(marked);
    free(x);
    sinew_free(rest);
    sinew_anatomy_destroy(anatomy);
    sinew_frames_destroy(frames);
    sinew_rig_destroy(rig);
    return 0;
}
