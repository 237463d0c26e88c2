/* Scenes and their run loop. */
#include "groups.h"
#include "sinew/job.h"

int main(void) {
    sinew_set_plot_function(sinew_plot_write);
    int failed = 0;
    failed += test_scenes();
    failed += test_jobs();
    failed += test_selections();
    failed += test_obstacles();
    failed += test_locks();
    failed += test_modal();
    failed += test_parts();
    return failed != 0;
}
