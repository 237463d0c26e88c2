/* Give the library the host's allocator and task system.
 *
 * cc own_memory_and_tasks.c $(pkg-config --cflags --libs sinew) -pthread -o own_memory_and_tasks */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <sinew/memory.h>
#include <sinew/rotation.h>
#include <sinew/samples.h>
#include <sinew/threads.h>

enum { WORKERS = 2 };

/* An allocator that counts blocks. Both functions are called from several threads. */
static atomic_long blocks, calls;
static void *resize(void *block, size_t bytes, void *user) {
    (void)user;
    void *made = realloc(block, bytes);
    if (made && !block) atomic_fetch_add(&blocks, 1);
    atomic_fetch_add(&calls, 1);
    return made;
}
static void release(void *block, void *user) {
    (void)user;
    if (block) atomic_fetch_sub(&blocks, 1);
    free(block);
}

/* A task system: here a new thread per task; a host hands them to its own workers instead. */
typedef struct piece {
    sinew_task *task;
    void *data;
    int index;
} piece;
static void *run_piece(void *user) {
    piece *p = user;
    p->task(p->data, p->index);
    return NULL;
}
static atomic_long loops;
static void parallel_for(void *user, int count, sinew_task *task, void *data) {
    (void)user;
    atomic_fetch_add(&loops, 1);
    pthread_t threads[WORKERS];
    piece pieces[WORKERS];
    bool started[WORKERS] = {false};
    for (int i = 0; i < count; i++) pieces[i] = (piece){task, data, i};
    for (int i = 1; i < count; i++)
        started[i] = pthread_create(&threads[i], NULL, run_piece, &pieces[i]) == 0;
    for (int i = 0; i < count; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            run_piece(&pieces[i]);
}

int main(void) {
    sinew_error error;
    sinew_set_allocator(&(sinew_allocator){.resize = resize, .release = release});
    sinew_task_system tasks = {
        .size = sizeof tasks, .workers = WORKERS, .parallel_for = parallel_for};
    sinew_rig *rig;
    sinew_rotation *rotation;
    sinew_rotation_state *state;
    if (sinew_set_task_system(&tasks, &error) != SINEW_OK ||
        sinew_sample_rig("face", NULL, &rig, &error) != SINEW_OK ||
        sinew_rotation_create(rig, NULL, NULL, &rotation, &error) != SINEW_OK ||
        sinew_rotation_state_create(rotation, &state, &error) != SINEW_OK)
        return fprintf(stderr, "%s\n", error.message), 1;
    double *weights = calloc((size_t)sinew_rig_slider_count(rig), sizeof(double));
    double *positions =
        calloc(3 * (size_t)sinew_mesh_vertex_count(sinew_rig_neutral(rig)), sizeof(double));
    if (!weights || !positions) return 1;
    weights[0] = 0.5;
    long before = calls, first_loop = loops;
    sinew_rotation_evaluate(rotation, state, weights, positions);
    printf("a frame made %ld allocations and used %ld parallel loops\n", calls - before,
           loops - first_loop);
    free(positions);
    free(weights);
    sinew_rotation_state_destroy(state);
    sinew_rotation_destroy(rotation);
    sinew_rig_destroy(rig);
    printf("%ld blocks are still in use\n", blocks);
    return blocks == 0 ? 0 : 1;
}
