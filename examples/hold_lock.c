/* Hold a part of the face still while a slider moves: locks.
 *
 * cc hold_lock.c $(pkg-config --cflags --libs sinew) -lm -o hold_lock */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sinew/lock.h>
#include <sinew/samples.h>

static void need(sinew_status status, const sinew_error *error) {
    if (status == SINEW_OK || status == SINEW_NOT_CONVERGED) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

int main(void) {
    sinew_error error;
    sinew_rig *rig;
    need(sinew_sample_rig("face", NULL, &rig, &error), &error);
    int sliders = sinew_rig_slider_count(rig), jaw = sinew_rig_find_slider(rig, "jawOpen");
    int region = sinew_rig_find_region(rig, "mouthCorners");

    /* Built once per rig and shared; the locks are the state of one user. */
    sinew_slider_space *space;
    sinew_locks *locks;
    need(sinew_slider_space_create(rig, &space, &error), &error);
    need(sinew_locks_create(space, NULL, &locks, &error), &error);

    double *from = calloc((size_t)sliders, sizeof(double));
    double *asked = calloc((size_t)sliders, sizeof(double));
    double *given = calloc((size_t)sliders, sizeof(double));
    if (!from || !asked || !given || jaw < 0 || region < 0) return 1;
    sinew_rig_rest_weights(rig, from);
    need(sinew_locks_add(locks, "hold", sinew_rig_region_vertex_count(rig, region),
                         sinew_rig_region_vertices(rig, region), SINEW_AXIS_ALL, NULL, from,
                         &error),
         &error);

    /* The user drags one slider; the others respond so that the locked vertices stay. */
    memcpy(asked, from, sizeof(double) * (size_t)sliders);
    asked[jaw] = 1;
    sinew_lock_info info = {.size = sizeof info};
    need(sinew_locks_apply(locks, from, asked, given, &info, &error), &error);
    printf("region '%s' moves %.3g of the length it would have moved without the lock\n",
           sinew_rig_region_name(rig, region), 1 / info.reduction);
    printf("%.0f%% of the edit remains elsewhere; %d other sliders respond\n", 100 * info.kept,
           info.changed);
    for (int s = 0; s < sliders; s++)
        if (given[s] != asked[s] && (given[s] > 0.02 || given[s] < -0.02))
            printf("  %s = %.3f\n", sinew_rig_slider_name(rig, s), given[s]);

    free(given);
    free(asked);
    free(from);
    sinew_locks_destroy(locks);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
}
