/* Triangles of the outer skin that the marker layer turns against the rig's own shape, over the
 * frames of a take: what docs/capture.md says about the limit of the layer.
 *
 * Usage: turned_triangles FRAMES PLAIN RIG... PLAIN: the same frames without the layer. Prints one
 * line: frames, triangles turned by more than 45 and 30 degrees, summed over the frames, and the
 * largest angle. Exits with 1 when a triangle is turned by more than 45 degrees. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sinew/sinew.h"

static sinew_error error;

static void need(sinew_status status) {
    if (status == SINEW_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(2);
}

static void normal_of(const float *x, const int *t, double n[3]) {
    double e[2][3];
    for (int k = 0; k < 2; k++)
        for (int a = 0; a < 3; a++) e[k][a] = (double)x[3 * t[k + 1] + a] - (double)x[3 * t[0] + a];
    for (int a = 0; a < 3; a++)
        n[a] = e[0][(a + 1) % 3] * e[1][(a + 2) % 3] - e[0][(a + 2) % 3] * e[1][(a + 1) % 3];
}

/* Degrees. */
static double turn_between(const double a[3], const double b[3]) {
    double across = 0, along = 0;
    for (int k = 0; k < 3; k++) {
        double c = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
        across += c * c, along += a[k] * b[k];
    }
    return atan2(sqrt(across), along) * 180 / 3.14159265358979323846;
}

int main(int count, char **words) {
    if (count < 4) return fprintf(stderr, "usage: turned_triangles FRAMES PLAIN RIG...\n"), 2;
    sinew_rig *rig;
    sinew_frames *frames, *plain;
    sinew_anatomy *anatomy;
    need(sinew_rig_read(count - 3, (const char *const *)words + 3, &rig, &error));
    need(sinew_frames_read(words[1], &frames, &error));
    need(sinew_frames_read(words[2], &plain, &error));
    need(sinew_anatomy_create(rig, NULL, &anatomy, &error));
    const sinew_mesh *mesh = rig->neutral;
    /* files of some formats repeat vertices at seams */
    need(sinew_frames_match(frames, mesh, &error));
    need(sinew_frames_match(plain, mesh, &error));
    const bool *skin = sinew_anatomy_skin(anatomy);
    int over_45 = 0, over_30 = 0, f = 0;
    double most = 0;
    for (; f < frames->frame_count && f < plain->frame_count; f++) {
        size_t at = 3 * (size_t)mesh->vertex_count * (size_t)f;
        for (int i = 0; i < mesh->triangle_count; i++) {
            const int *t = mesh->triangles + 3 * (size_t)i;
            double n[3], o[3];
            if (!skin[t[0]] || !skin[t[1]] || !skin[t[2]]) continue;
            normal_of(frames->positions + at, t, n), normal_of(plain->positions + at, t, o);
            double angle = turn_between(n, o);
            over_45 += angle > 45, over_30 += angle > 30;
            most = fmax(most, angle);
        }
    }
    printf("| %d | %d | %d | %.0f |\n", f, over_45, over_30, most);
    sinew_anatomy_destroy(anatomy);
    sinew_frames_destroy(frames), sinew_frames_destroy(plain);
    sinew_rig_destroy(rig);
    return over_45 > 0;
}
