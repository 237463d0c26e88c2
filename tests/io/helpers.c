#include "helpers.h"

#include "base/file.h"
#include "base/memory.h"

sn_source bytes_source(const void *bytes, size_t size, const char *name) {
    char *copy = malloc(size + 1);
    if (!copy) abort();
    if (size) memcpy(copy, bytes, size);
    copy[size] = '\0';
    return (sn_source){copy, size, name, NULL};
}

void bytes_source_free(sn_source *source) {
    free((char *)source->bytes);
    source->bytes = NULL;
}

bool same_float32(const double *a, const double *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float fa = (float)a[i], fb = (float)b[i];
        if (fa != fb && !(isnan(fa) && isnan(fb))) {
            print_message("element %zu: %.17g and %.17g\n", i, a[i], b[i]);
            return false;
        }
    }
    return true;
}

void assert_same_mesh(const sinew_mesh *a, const sinew_mesh *b, unsigned holds) {
    assert_int_equal(a->vertex_count, b->vertex_count);
    size_t coordinates = 3 * (size_t)a->vertex_count;
    assert_true(same_float32(a->positions, b->positions, coordinates));
    if (holds & SN_HOLDS_POLYGONS) {
        assert_int_equal(a->face_count, b->face_count);
        assert_memory_equal(a->face_start, b->face_start,
                            ((size_t)a->face_count + 1) * sizeof(int));
        assert_memory_equal(a->face_vertices, b->face_vertices,
                            (size_t)a->face_start[a->face_count] * sizeof(int));
    } else {
        assert_int_equal(a->triangle_count, b->triangle_count);
        assert_memory_equal(a->triangles, b->triangles,
                            3 * (size_t)a->triangle_count * sizeof(int));
    }
    size_t corners = (size_t)a->face_start[a->face_count];
    if (holds & SN_HOLDS_UVS) {
        assert_int_equal(!a->corner_uv, !b->corner_uv);
        for (size_t c = 0; a->corner_uv && c < corners; c++) {
            int i = a->corner_uv[c], j = b->corner_uv[c];
            assert_int_equal(i < 0, j < 0);
            if (i >= 0) assert_true(same_float32(a->uvs + 2 * i, b->uvs + 2 * j, 2));
        }
    }
    if (holds & SN_HOLDS_NORMALS) {
        assert_int_equal(!a->corner_normal, !b->corner_normal);
        for (size_t c = 0; a->corner_normal && c < corners; c++) {
            int i = a->corner_normal[c], j = b->corner_normal[c];
            assert_int_equal(i < 0, j < 0);
            if (i >= 0) assert_true(same_float32(a->normals + 3 * i, b->normals + 3 * j, 3));
        }
    }
    if (holds & SN_HOLDS_PARTS) {
        assert_int_equal(a->part_count, b->part_count);
        for (int p = 0; p < a->part_count; p++)
            assert_string_equal(a->part_names[p], b->part_names[p]);
        assert_int_equal(!a->face_part, !b->face_part);
        if (a->face_part)
            assert_memory_equal(a->face_part, b->face_part, (size_t)a->face_count * sizeof(int));
    }
}

void assert_same_rig(const sinew_rig *a, const sinew_rig *b) {
    assert_int_equal(a->slider_count, b->slider_count);
    for (int i = 0; i < a->slider_count; i++) {
        const sinew_slider *s = &a->sliders[i], *t = &b->sliders[i];
        assert_string_equal(s->name, t->name);
        assert_true(s->minimum == t->minimum && s->maximum == t->maximum && s->rest == t->rest);
        assert_int_equal(s->mirror, t->mirror);
        assert_int_equal(!s->group, !t->group);
        if (s->group) assert_string_equal(s->group, t->group);
    }
    assert_int_equal(a->target_count, b->target_count);
    for (int i = 0; i < a->target_count; i++) {
        const sinew_target *s = &a->targets[i], *t = &b->targets[i];
        assert_string_equal(s->name, t->name);
        assert_int_equal(s->kind, t->kind);
        assert_int_equal(s->slider, t->slider);
        assert_true(s->at == t->at);
        assert_int_equal(s->driver_count, t->driver_count);
        if (s->driver_count) {
            assert_int_equal(s->combine, t->combine);
            assert_memory_equal(s->drivers, t->drivers, (size_t)s->driver_count * sizeof(int));
        }
        assert_int_equal(s->term_count, t->term_count);
        if (s->term_count)
            assert_memory_equal(s->terms, t->terms, (size_t)s->term_count * sizeof *s->terms);
        assert_int_equal(s->count, t->count);
        assert_memory_equal(s->vertices, t->vertices, (size_t)s->count * sizeof(int));
        assert_true(same_float32(s->deltas, t->deltas, 3 * (size_t)s->count));
    }
    assert_int_equal(a->region_count, b->region_count);
    for (int i = 0; i < a->region_count; i++) {
        assert_string_equal(a->regions[i].name, b->regions[i].name);
        assert_int_equal(a->regions[i].count, b->regions[i].count);
        assert_memory_equal(a->regions[i].vertices, b->regions[i].vertices,
                            (size_t)a->regions[i].count * sizeof(int));
    }
}

const char *temporary(const char *name) {
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static int visit_folder(const char *folder, const char *ending, void (*visit)(const char *path)) {
    sinew_error error;
    char **names;
    int count, found = 0;
    assert_ok(sn_folder_list(folder, &names, &count, &error));
    for (int i = 0; i < count; i++) {
        char *path = sn_path_join(folder, names[i]);
        if (sn_is_folder(path))
            found += visit_folder(path, ending, visit);
        else if (sn_has_ending(path, ending))
            visit(path), found++;
        sn_free(path);
    }
    sn_names_free(names, count);
    return found;
}

int for_each_data_file(const char *ending, void (*visit)(const char *path)) {
    const char *root = test_data("SOURCES.md");
    if (!root) return 0;
    char folder[4096];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(root) - strlen("/SOURCES.md")), root);
    return visit_folder(folder, ending, visit);
}
