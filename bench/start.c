/* A program that builds a rig from arrays, evaluates it once and ends, linked with libsinew-core
 * alone: scripts/start-time measures how long that takes. `--loaded` lists the libraries that the
 * loader brought in. */
#include <stdio.h>
#include <string.h>

#include <sinew/rig.h>

static int list_loaded(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], last[512] = "";
    if (!maps) return 1;
    while (fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (!path || !strstr(path, ".so") || !strcmp(path, last)) continue;
        strcpy(last, path);
        fputs(path, stdout);
    }
    return fclose(maps);
}

int main(int count, char **words) {
    static const double neutral[] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, moved[] = {0, 0, 1};
    static const int corners[] = {0, 1, 2}, starts[] = {0, 3}, vertex = 2;
    sinew_error error;
    sinew_mesh *mesh;
    sinew_rig *rig;
    sinew_linear *linear;
    double weight = 0.5, positions[9];
    if (sinew_mesh_create(3, neutral, 1, starts, corners, &mesh, &error) != SINEW_OK ||
        sinew_rig_create(mesh, &rig, &error) != SINEW_OK ||
        sinew_rig_add_target(rig, "smile", 1, &vertex, moved, &error) != SINEW_OK ||
        sinew_linear_create(rig, &linear, &error) != SINEW_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    sinew_linear_evaluate(linear, &weight, positions);
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
    if (positions[8] != 0.5) return 1;
    return count > 1 && !strcmp(words[1], "--loaded") ? list_loaded() : 0;
}
