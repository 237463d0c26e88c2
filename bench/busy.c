#include "busy.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t busy[BENCH_MOST_BUSY];
static int busy_count;

void bench_set_busy(int count) {
    for (; busy_count > count; busy_count--) {
        kill(busy[busy_count - 1], SIGKILL);
        waitpid(busy[busy_count - 1], NULL, 0);
    }
    for (; busy_count < count; busy_count++) {
        fflush(NULL);
        pid_t child = fork();
        if (child < 0) break;
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            /* at real-time priority they would stop the machine */
            sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
            for (volatile unsigned long i = 0;; i++) {
            }
        }
        busy[busy_count] = child;
    }
}
