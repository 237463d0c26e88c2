#include "stage.h"

#include "../session/scenes.h"

act *acts;

void act_register(act *a) {
    a->next = acts;
    acts = a;
}

const char *at(const char *name) {
    static char paths[8][4096];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

sinew_source from(const char *name) {
    sinew_source source;
    sinew_source_init(&source);
    source.name = at(name);
    return source;
}

static sinew_status swallow(const char *name, const void *bytes, size_t count, void *user,
                            sinew_error *error) {
    (void)name, (void)bytes, (void)count, (void)user, (void)error;
    return SINEW_OK;
}

sinew_sink into(const char *name) {
    sinew_sink sink;
    sinew_sink_init(&sink);
    sink.name = name, sink.write = swallow;
    return sink;
}

sinew_status given(void *made) {
    sinew_free(made);
    return made ? SINEW_OK : SINEW_NO_MEMORY;
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(at(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void write_frames(const stage *s, const char *name) {
    sinew_error error;
    sinew_frame_writer *writer;
    assert_ok(sinew_frame_writer_open(at(name), s->mesh, 3, 0, 30, &writer, &error));
    for (int k = 0; k < 3; k++)
        assert_ok(sinew_frame_writer_add(writer, sinew_mesh_positions(s->mesh), &error));
    assert_ok(sinew_frame_writer_close(writer, &error));
}

/* A clip with a curve that a rig of one slider plays. */
static sinew_curves *make_curves(int channels, const char *const *names) {
    sinew_error error;
    sinew_curves *curves;
    assert_ok(sinew_curves_create(channels, 3, &curves, &error));
    for (int c = 0; c < channels; c++)
        assert_ok(sinew_curves_set_name(curves, c, names[c], &error));
    for (int k = 0; k < 3; k++) {
        curves->times[k] = 0.1 * k;
        for (int c = 0; c < channels; c++) curves->values[k * channels + c] = 0.3 * k;
    }
    return curves;
}

void stage_open(stage *s) {
    sinew_error error;
    test_scene("linear"); /* writes the rigs and the take */
    const char *mouth[] = {at("mouth.obj"), at("jawOpen.obj"), at("mouthSmileLeft.obj")};
    const char *bar[] = {at("bar.obj"), at("bend120.obj")};
    assert_ok(sinew_rig_read(3, mouth, &s->rig, &error));
    assert_ok(sinew_rig_read(2, bar, &s->bar, &error));
    s->mesh = s->bar->neutral;
    assert_ok(sinew_tets_from_surface(s->mesh, NULL, NULL, &s->tets, &error));
    assert_ok(sinew_markers_read(at("take.csv"), &s->take, &error));
    assert_ok(sinew_marker_map_read(at("map.csv"), s->rig->neutral, &s->map, &error));
    s->curves = make_curves(2, (const char *[]){"jawOpen", "mouthSmileLeft"});
    assert_ok(sinew_slider_space_create(s->rig, &s->space, &error));
    assert_ok(sinew_linear_create(s->rig, &s->linear, &error));
    s->shape = calloc(3000, sizeof *s->shape), s->weights = calloc(16, sizeof *s->weights);
    s->floats = calloc(3000, sizeof *s->floats);
    memcpy(s->shape, s->rig->neutral->positions,
           3 * (size_t)s->rig->neutral->vertex_count * sizeof *s->shape);
    assert_ok(sinew_curves_write(at("curves.csv"), s->curves, &error));
    assert_ok(sinew_tets_write(at("body.mesh"), s->tets, &error));
    assert_ok(sinew_tets_write(at("body.node"), s->tets, &error));
    sinew_curves *clip = make_curves(1, (const char *[]){"bend120"});
    assert_ok(sinew_rig_write_animated(at("clip.glb"), s->bar, clip, &error));
    sinew_curves_destroy(clip);
    write_frames(s, "frames.pc2");
    write_text("regions.json", "{\"left\": [1, 2, 3], \"right\": [4, 5]}");
    write_text("values.csv", "vertex,value\n0,1\n3,0.5\n");
    write_text("names.csv", "jawOpen,open\n");
    write_text("smooth.fbx", "FBXHeaderExtension: { FBXVersion: 7400 }\nObjects: {\n"
                             "Geometry: 10, \"Geometry::\", \"Mesh\" {\n Smoothness: 3\n"
                             " PreviewDivisionLevels: 2\n BoundaryRule: 1\n"
                             " Vertices: *12 { a: 0,0,0, 1,0,0, 1,1,0, 0,1,0 }\n"
                             " PolygonVertexIndex: *4 { a: 0,1,2,-4 }\n Edges: *1 { a: 0 }\n"
                             " LayerElementEdgeCrease: 0 { EdgeCrease: *1 { a: 0.25 } } }\n"
                             "Model: 20, \"Model::sheet\", \"Mesh\" { }\n}\n"
                             "Connections: {\nC: \"OO\",10,20\nC: \"OO\",20,0\n}\n");
    write_text("pairs.csv", "0,0\n1,1\n2,2\n9,9\n");
    write_text("scene.json", test_scene("linear"));
}

void stage_close(stage *s) {
    sinew_linear_destroy(s->linear);
    sinew_slider_space_destroy(s->space);
    sinew_curves_destroy(s->curves);
    sinew_marker_map_destroy(s->map);
    sinew_markers_destroy(s->take);
    sinew_tets_destroy(s->tets);
    sinew_rig_destroy(s->bar), sinew_rig_destroy(s->rig);
    free(s->shape), free(s->weights), free(s->floats);
}
