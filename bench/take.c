#include "take.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static char folder[] = "/tmp/sinew-bench-XXXXXX";

static const char *path_of(const char *file) {
    static char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return path;
}

const char *bench_write_take(void) {
    sinew_error error;
    sinew_sample_options size;
    sinew_markers *take;
    sinew_marker_map *map;
    sinew_sample_options_init(&size);
    size.vertices = 12000;
    if (!mkdtemp(folder)) exit(1);
    bench_need(sinew_sample_markers("face", &size, NULL, &take, &map, &error), &error);
    bench_need(sinew_markers_write(path_of("take.csv"), take, &error), &error);
    bench_need(sinew_marker_map_write(path_of("map.csv"), map, &error), &error);
    sinew_markers_destroy(take);
    sinew_marker_map_destroy(map);
    return folder;
}

void bench_remove_take(void) {
    DIR *entries = opendir(folder);
    for (struct dirent *e; entries && (e = readdir(entries));)
        if (e->d_name[0] != '.') unlink(path_of(e->d_name));
    if (entries) closedir(entries);
    rmdir(folder);
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
}
