/* soak MINUTES [SEED [SCENE]]: random sessions of every model, one after another in one process.
 *
 * Each session makes random calls (fuzz/session_calls.h) and must end as it began; frame 3 of each
 * scene must have the bits of the first time, and all memory comes back. Prints a line a minute
 * with the memory of the process. MINUTES 0 runs one session, and SINEW_TRACE=1 prints what it
 * does. Fails when the memory of the last quarter exceeds that of the second by more than 5%. */
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include "../../fuzz/session_calls.h"
#include "scenes.h"
#include "support.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Resident memory of this process in megabytes. */
static double resident(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

int main(int count, char **arguments) {
    double minutes = count > 1 ? strtod(arguments[1], NULL) : 60;
    uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    double begin = now(), told = begin, early = 0, late = 0;
    call_counts counts = {0};
    long sessions = 0;
    sinew_set_threads(1);
    do {
        for (const char *const *name = test_scene_names; *name; name++) {
            if (count > 3 && strcmp(*name, arguments[3])) continue;
            call_dice dice = call_dice_random(seed);
            test_memory_limit(LONG_MAX);
            const char *bad = session_calls(*name, &dice, 40, &counts);
            long lost = test_memory_restore().living;
            if (!bad && lost > 0 && sessions > 100) bad = "blocks of memory are lost";
            if (bad) {
                printf("FAIL scene %s, seed %" PRIu64 ": %s\n", *name, seed, bad);
                return 1;
            }
            seed++, sessions++;
            double share = (now() - begin) / (60 * minutes), memory = resident();
            if (share > 0.25 && share < 0.5 && memory > early) early = memory;
            if (share > 0.75 && memory > late) late = memory;
            if (now() - told < 60) continue;
            told += 60;
            printf("%3.0f min: %ld sessions, %ld calls, %ld shapes, %ld patches, %ld rejected, "
                   "%ld cancelled, %.1f MB, %.2f MB in use\n",
                   (told - begin) / 60, sessions, counts.calls, counts.shapes, counts.patches,
                   counts.rejected, counts.cancelled, memory,
                   (double)mallinfo2().uordblks / (1 << 20));
            fflush(stdout);
        }
    } while (now() - begin < 60 * minutes);
    printf("%ld sessions, %ld calls, peak of the second quarter %.1f MB, of the last %.1f MB\n",
           sessions, counts.calls, early, late);
    return late > 1.05 * early;
}
