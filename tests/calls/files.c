/* Readers and writers of all kinds of files. */
#include "stage.h"

/* ---- one object from a file, from a source --------------------------------------------------- */

#define READ(what, type, file)                                                                     \
    ACT(sinew_##what##_read, type *made = NULL; DO(sinew_##what##_read(at(file), &made, e));       \
        type##_destroy(made);)                                                                     \
    ACT(sinew_##what##_read_from, type *made = NULL; sinew_source source = from(file);             \
        DO(sinew_##what##_read_from(&source, m, &made, e)); type##_destroy(made);)
READ(mesh, sinew_mesh, "bar.obj")
READ(curves, sinew_curves, "curves.csv")
READ(markers, sinew_markers, "take.csv")
READ(tets, sinew_tets, "body.mesh")
READ(frames, sinew_frames, "frames.pc2")

ACT(sinew_mesh_read_shown, sinew_mesh *made = NULL;
    DO(sinew_mesh_read_shown(at("smooth.fbx"), &made, e)); sinew_mesh_destroy(made);)
ACT(sinew_pose_read, sinew_mesh *made = NULL;
    DO(sinew_pose_read(at("clip.glb"), NULL, 0.1, &made, e)); sinew_mesh_destroy(made);)
ACT(sinew_pose_read_from, sinew_mesh *made = NULL; sinew_source source = from("clip.glb");
    DO(sinew_pose_read_from(&source, NULL, 0.1, m, &made, e)); sinew_mesh_destroy(made);)
ACT(sinew_rig_read, sinew_rig *made = NULL;
    const char *const paths[2] = {at("bar.obj"), at("bend120.obj")};
    DO(sinew_rig_read(2, paths, &made, e)); sinew_rig_destroy(made);)
ACT(sinew_rig_read_from, sinew_rig *made = NULL; sinew_source neutral = from("bar.obj");
    sinew_source pose = from("bend120.obj");
    const sinew_source *const sources[2] = {&neutral, &pose};
    DO(sinew_rig_read_from(2, sources, m, &made, e)); sinew_rig_destroy(made);)
ACT(sinew_regions_read, sinew_rig *made = NULL; DO(sinew_rig_copy(s->rig, &made, e));
    DO(sinew_regions_read(at("regions.json"), made, e)); sinew_rig_destroy(made);)
ACT(sinew_regions_read_from, sinew_rig *made = NULL; sinew_source source = from("regions.json");
    DO(sinew_rig_copy(s->rig, &made, e)); DO(sinew_regions_read_from(&source, made, m, e));
    sinew_rig_destroy(made);)
ACT(sinew_vertex_values_read, double values[100];
    DO(sinew_vertex_values_read(at("values.csv"), 100, values, e));)
ACT(sinew_vertex_values_read_from, double values[100]; sinew_source source = from("values.csv");
    DO(sinew_vertex_values_read_from(&source, 100, m, values, e));)
ACT(sinew_vertex_pairs_read, int *a = NULL; int *b = NULL; int count;
    DO(sinew_vertex_pairs_read(at("pairs.csv"), 100, 100, &a, &b, &count, e)); sinew_free(a);
    sinew_free(b);)
ACT(sinew_vertex_pairs_read_from, int *a = NULL; int *b = NULL; int count;
    sinew_source source = from("pairs.csv");
    DO(sinew_vertex_pairs_read_from(&source, 100, 100, m, &a, &b, &count, e)); sinew_free(a);
    sinew_free(b);)
ACT(sinew_marker_map_read, sinew_marker_map *made = NULL;
    DO(sinew_marker_map_read(at("map.csv"), s->rig->neutral, &made, e));
    sinew_marker_map_destroy(made);)
ACT(sinew_marker_map_read_from, sinew_marker_map *made = NULL;
    sinew_source source = from("map.csv");
    DO(sinew_marker_map_read_from(&source, s->rig->neutral, m, &made, e));
    sinew_marker_map_destroy(made);)
ACT(sinew_rename, sinew_curves *made = NULL; int unused;
    DO(sinew_curves_read(at("curves.csv"), &made, e));
    DO(sinew_rename(at("names.csv"), made->channel_count, made->names, &unused, e));
    sinew_curves_destroy(made);)
ACT(sinew_rename_from, sinew_curves *made = NULL; int unused;
    sinew_source source = from("names.csv"); DO(sinew_curves_read(at("curves.csv"), &made, e));
    DO(sinew_rename_from(&source, made->channel_count, made->names, &unused, m, e));
    sinew_curves_destroy(made);)

/* ---- writers --------------------------------------------------------------------------------- */

#define WRITE(what, file, object)                                                                  \
    ACT(sinew_##what##_write, DO(sinew_##what##_write(at(file), object, e));)                      \
    ACT(sinew_##what##_write_to, sinew_sink sink = into(file);                                     \
        DO(sinew_##what##_write_to(&sink, object, m, e));)
WRITE(mesh, "out.ply", s->mesh)
WRITE(curves, "out.csv", s->curves)
WRITE(markers, "out_take.csv", s->take)
WRITE(tets, "out.mesh", s->tets)
WRITE(drivers, "out_drivers.json", s->rig)
WRITE(regions, "out_regions.json", s->rig)
WRITE(marker_map, "out_map.csv", s->map)
WRITE(rig, "out.glb", s->rig)
ACT(sinew_rig_write_animated,
    DO(sinew_rig_write_animated(at("out_clip.glb"), s->rig, s->curves, e));)
ACT(sinew_rig_write_animated_to, sinew_sink sink = into("out_clip.glb");
    DO(sinew_rig_write_animated_to(&sink, s->rig, s->curves, m, e));)
ACT(sinew_rig_write_compact,
    DO(sinew_rig_write_compact(at("out_small.glb"), s->rig, s->curves, NULL, e));)
ACT(sinew_vertex_values_write,
    DO(sinew_vertex_values_write(at("out_values.csv"), 16, s->weights, e));)
ACT(sinew_vertex_values_write_to, sinew_sink sink = into("out_values.csv");
    DO(sinew_vertex_values_write_to(&sink, 16, s->weights, m, e));)

ACT(sinew_rig_write_into,
    DO(sinew_rig_write_into(at("out_into.glb"), at("clip.glb"), s->bar, NULL, m, e));)
ACT(sinew_contents_read, sinew_contents *made = NULL;
    DO(sinew_contents_read(at("clip.glb"), m, &made, e)); sinew_contents_destroy(made);)
ACT(sinew_contents_read_from, sinew_contents *made = NULL; sinew_source source = from("clip.glb");
    DO(sinew_contents_read_from(&source, m, &made, e)); sinew_contents_destroy(made);)
ACT(sinew_contents_matrix, sinew_contents *made = NULL; double matrix[16];
    DO(sinew_contents_read(at("clip.glb"), NULL, &made, e));
    DO(sinew_contents_matrix(made, 1, 'y', matrix, e)); sinew_contents_destroy(made);)
ACT(sinew_report_create, char *made = NULL; DO(sinew_report_create("blend", &made, e));
    sinew_free(made);)

/* ---- frames ---------------------------------------------------------------------------------- */

ACT(sinew_frames_read_clip, sinew_frames *made = NULL;
    DO(sinew_frames_read_clip(at("clip.glb"), NULL, 10, &made, e)); sinew_frames_destroy(made);)
ACT(sinew_frames_read_clip_from, sinew_frames *made = NULL; sinew_source source = from("clip.glb");
    DO(sinew_frames_read_clip_from(&source, NULL, 10, m, &made, e)); sinew_frames_destroy(made);)
ACT(sinew_frames_match, sinew_frames *made = NULL;
    DO(sinew_frames_read(at("frames.pc2"), &made, e)); DO(sinew_frames_match(made, s->mesh, e));
    sinew_frames_destroy(made);)
ACT(sinew_frame_reader_open, sinew_frame_reader *made = NULL;
    DO(sinew_frame_reader_open(at("frames.pc2"), &made, e)); sinew_frame_reader_close(made);)
ACT(sinew_frame_reader_open_from, sinew_frame_reader *made = NULL;
    sinew_source source = from("frames.pc2");
    DO(sinew_frame_reader_open_from(&source, m, &made, e)); sinew_frame_reader_close(made);)
ACT(sinew_frame_reader_read, sinew_frame_reader *made = NULL;
    DO(sinew_frame_reader_open(at("frames.pc2"), &made, e));
    DO(sinew_frame_reader_read(made, 1, s->floats, e)); sinew_frame_reader_close(made);)

/* Both ends of a writer; `file` decides how much there is to do at the end. */
static sinew_status write_frames(const stage *s, const char *file, bool finish,
                                 const sinew_monitor *m, sinew_error *e) {
    sinew_status status = SINEW_OK;
    sinew_frame_writer *made = NULL;
    DO(sinew_frame_writer_open(at(file), s->mesh, 2, 0, 30, &made, e));
    for (int k = 0; k < 2; k++) DO(sinew_frame_writer_add(made, s->mesh->positions, e));
    if (status != SINEW_OK) {
        sinew_frame_writer_abandon(made);
        return status;
    }
    return finish ? sinew_frame_writer_finish(made, m, e) : sinew_frame_writer_close(made, e);
}

ACT(sinew_frame_writer_open, sinew_frame_writer *made = NULL;
    DO(sinew_frame_writer_open(at("out.pc2"), s->mesh, 2, 0, 30, &made, e));
    sinew_frame_writer_abandon(made);)
ACT(sinew_frame_writer_open_to, sinew_frame_writer *made = NULL; sinew_sink sink = into("out.pc2");
    DO(sinew_frame_writer_open_to(&sink, s->mesh, 2, 0, 30, &made, e));
    sinew_frame_writer_abandon(made);)
ACT(sinew_frame_writer_add, sinew_frame_writer *made = NULL;
    DO(sinew_frame_writer_open(at("out.mdd"), s->mesh, 2, 0, 30, &made, e));
    DO(sinew_frame_writer_add(made, s->mesh->positions, e)); sinew_frame_writer_abandon(made);)
ACT(sinew_frame_writer_close, DO(write_frames(s, "out.usda", false, NULL, e));)
ACT(sinew_frame_writer_finish, DO(write_frames(s, "out_frames.glb", true, m, e));)

/* ---- scenes ---------------------------------------------------------------------------------- */

static const char text[] =
    "{\"sinew\": 1, \"rig\": {\"sample\": \"bar\"}, \"weights\": {\"a\": 1}}";

ACT(sinew_scene_create, sinew_scene *made = NULL; DO(sinew_scene_create(NULL, &made, e));
    sinew_scene_destroy(made);)
ACT(sinew_scene_read, sinew_scene *made = NULL; DO(sinew_scene_read(at("scene.json"), &made, e));
    sinew_scene_destroy(made);)
ACT(sinew_scene_parse, sinew_scene *made = NULL;
    DO(sinew_scene_parse(text, "text", NULL, &made, e)); sinew_scene_destroy(made);)
ACT(sinew_scene_read_from, sinew_scene *made = NULL; sinew_source source = from("scene.json");
    DO(sinew_scene_read_from(&source, test_folder(), m, &made, e)); sinew_scene_destroy(made);)

#define SCENE(function, ...)                                                                       \
    ACT(function, sinew_scene *scene = NULL; char *made = NULL;                                    \
        DO(sinew_scene_parse(text, "text", NULL, &scene, e)); DO(function(__VA_ARGS__, e));        \
        sinew_free(made); sinew_scene_destroy(scene);)
SCENE(sinew_scene_write, at("out_scene.json"), scene)
SCENE(sinew_scene_text, scene, &made)
SCENE(sinew_scene_get, scene, "/weights", &made)
SCENE(sinew_scene_patch, scene, "[{\"op\": \"remove\", \"path\": \"/weights\"}]", &made)
SCENE(sinew_scene_set, scene, "/time/fps", "25", &made)
ACT(sinew_scene_copy, sinew_scene *scene = NULL; sinew_scene *made = NULL;
    DO(sinew_scene_parse(text, "text", NULL, &scene, e)); DO(sinew_scene_copy(scene, &made, e));
    sinew_scene_destroy(made); sinew_scene_destroy(scene);)
ACT(sinew_scene_path, sinew_scene *scene = NULL;
    DO(sinew_scene_parse(text, "text", "/tmp", &scene, e));
    DO(given(sinew_scene_path(scene, "a.obj"))); sinew_scene_destroy(scene);)
ACT(sinew_scene_schema, char *made = NULL; DO(sinew_scene_schema(&made, e)); sinew_free(made);)
