#include "scene.h"

#include "sinew/samples.h"
#include "support.h"

static int make(void **state, int vertices) {
    sinew_error error;
    sinew_sample_options size;
    sinew_sample_options_init(&size);
    if (vertices) size.vertices = vertices;
    scene *s = calloc(1, sizeof *s);
    assert_ok(sinew_sample_rig("face", &size, &s->rig, &error));
    assert_ok(sinew_sample_markers("face", &size, NULL, &s->take, &s->map, &error));
    *state = s;
    return 0;
}

int make_scene(void **state) {
    return make(state, 0);
}

int make_small_scene(void **state) {
    return make(state, 3000);
}

int drop_scene(void **state) {
    scene *s = *state;
    sinew_rig_destroy(s->rig);
    sinew_markers_destroy(s->take);
    sinew_marker_map_destroy(s->map);
    free(s);
    return 0;
}

sinew_markers *copy_of(const sinew_markers *take, int samples) {
    sinew_error error;
    sinew_markers *copy;
    assert_ok(sinew_markers_create(take->marker_count, samples, &copy, &error));
    memcpy(copy->times, take->times, sizeof(double) * (size_t)samples);
    memcpy(copy->positions, take->positions,
           3 * sizeof(double) * (size_t)(samples * take->marker_count));
    for (int i = 0; i < take->marker_count; i++)
        assert_ok(sinew_markers_set_name(copy, i, take->names[i], &error));
    return copy;
}
