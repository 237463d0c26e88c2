/* Pairs of triangles that cross in frames and not in the neutral, by the pieces that they belong
 * to: eyeballs that come out of the lids count as skin with eyes.
 *
 * Usage: new_crossings FRAMES RIG... Prints one line: frames, then worst and total pairs of skin
 * with skin, skin with eyes, skin with teeth, tongue or mouth, and of anything else; frames with
 * any. */
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
    int *rest, rest_count, worst[KINDS] = {0}, any = 0;
    long total[KINDS] = {0};
    need(sinew_self_intersections(mesh->vertex_count, mesh->positions, mesh->triangle_count,
                                  mesh->triangles, NULL, &rest, &rest_count, &error));
    double *x = malloc(3 * n * sizeof *x);
    for (int f = 0; f < frames->frame_count; f++) {
        int *pairs, found, here[KINDS] = {0};
        for (size_t i = 0; i < 3 * n; i++) x[i] = (double)frames->positions[3 * n * (size_t)f + i];
        need(sinew_self_intersections(mesh->vertex_count, x, mesh->triangle_count, mesh->triangles,
                                      NULL, &pairs, &found, &error));
        for (int i = 0; i < found; i++) {
            int pair[2] = {pairs[2 * i], pairs[2 * i + 1]};
            if (rest_count && bsearch(pair, rest, (size_t)rest_count, sizeof pair, compare))
                continue;
            here[kind_of(anatomy, mesh, pair)]++;
        }
        sinew_free(pairs);
        bool some = false;
        for (int k = 0; k < KINDS; k++) {
            total[k] += here[k], some |= here[k] > 0;
            if (here[k] > worst[k]) worst[k] = here[k];
        }
        any += some;
    }
    printf("| %d | %d | %d (%ld) | %d (%ld) | %d (%ld) | %d (%ld) | %d |\n", frames->frame_count,
           rest_count, worst[SKIN_SKIN], total[SKIN_SKIN], worst[SKIN_EYE], total[SKIN_EYE],
           worst[SKIN_MOUTH], total[SKIN_MOUTH], worst[OTHERS], total[OTHERS], any);
    free(x);
    sinew_free(rest);
    sinew_anatomy_destroy(anatomy);
    sinew_frames_destroy(frames);
    sinew_rig_destroy(rig);
    return 0;
}
