#include "examples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

typedef struct example {
    const char *name, *title, *hint;
    const char *scene; /* JSON */
    const char *clip;  /* what else it needs: "take", "laugh" or NULL */
    const char *sample;
    const char *slider; /* what its preview moves; NULL: it plays the clip */
} example;

static const example examples[] = {
    {"bend", "A bend that does not shrink",
     "Drag bend180 between 0 and 1: the linear bar collapses, the spring bar keeps its length.",
     "{\"sinew\":1,\"rig\":{\"sample\":\"bar\"},\"model\":\"spring\",\"weights\":{\"bend180\":0.5}"
     "}",
     NULL, "bar", "bend180"},
    {"rod", "A hand closing on a rod",
     "Drag fist up: the fingers stop at the rod. Then move the rod with its arrows.",
     "{\"sinew\":1,\"rig\":{\"sample\":\"hand\"},\"model\":\"spring\",\"weights\":{\"fist\":0.85},"
     "\"obstacles\":[{\"shape\":\"cylinder\",\"name\":\"rod\",\"from\":[0.088,-0.022,-0.08],"
     "\"to\":[0.088,-0.022,0.12],\"radius\":0.014}]}",
     NULL, "hand", "fist"},
    {"lips", "Lips that press",
     "Press play: on the left the lips cut through each other, on the right they meet and give "
     "way.",
     "{\"sinew\":1,\"rig\":{\"sample\":\"face\"},\"model\":\"force\","
     "\"parameters\":{\"contact\":\"lips\"},\"weights\":{\"mouthPressLeft\":1,"
     "\"mouthPressRight\":1,\"mouthRollUpper\":1,\"mouthRollLower\":1,"
     "\"mouthShrugLower\":1},\"curves\":{\"times\":[0,0.2,0.25,0.3,0.35,0.4,0.45,"
     "0.5,0.7,0.75,0.8,0.85,0.9,0.95,1,1.2],\"values\":{\"jawOpen\":[0.14,0.14,"
     "0.13,0.104,0.07,0.036,0.01,0,0,0.01,0.036,0.07,0.104,0.13,0.14,0.14],"
     "\"mouthPressLeft\":[0,0,0.07,0.26,0.5,0.74,0.93,1,1,0.93,0.74,0.5,0.26,"
     "0.07,0,0],\"mouthPressRight\":[0,0,0.07,0.26,0.5,0.74,0.93,1,1,0.93,"
     "0.74,0.5,0.26,0.07,0,0],\"mouthRollUpper\":[0,0,0.07,0.26,0.5,0.74,0.93,"
     "1,1,0.93,0.74,0.5,0.26,0.07,0,0],\"mouthRollLower\":[0,0,0.07,0.26,0.5,"
     "0.74,0.93,1,1,0.93,0.74,0.5,0.26,0.07,0,0],\"mouthShrugLower\":[0,0,"
     "0.07,0.26,0.5,0.74,0.93,1,1,0.93,0.74,0.5,0.26,0.07,0,0]}},"
     "\"studio\":{\"camera\":\"lips\"}}",
     NULL, "face", NULL},
    {"creature", "A creature that swings and settles",
     "Press play, then lower the damping, or drag a point of its curve, and watch it swing longer.",
     "{\"sinew\":1,\"rig\":{\"sample\":\"blob\"},\"model\":\"modal\",\"keys\":[{\"time\":0,"
     "\"pose\":"
     "\"leanLeft\"},{\"time\":0.8,\"pose\":\"leanRight\"}],\"time\":{\"from\":0,\"to\":2.6},"
     "\"parameters\":{\"damping\":0.1}}",
     NULL, "blob", NULL},
    {"brow", "A brow that stays while the mouth moves",
     "Drag laugh: on the left the brows rise with the mouth, on the right the lock holds them.",
     "{\"sinew\":1,\"model\":\"linear\",\"locks\":[{\"name\":\"brow\",\"select\":"
     "\"region:brows\"}],\"attenuation\":{\"trade\":true},\"weights\":{\"laugh\":0.9}}",
     "laugh", "face", "laugh"},
    {"take", "A captured take solved four ways",
     "Press Four ways below to solve the take by SBS, RSBS, RSBS with a layer and blendforces; "
     "then "
     "show a solve in the left view and press play.",
     "{\"sinew\":1,\"rig\":{\"sample\":\"face\",\"vertices\":4000},\"model\":\"fit\","
     "\"parameters\":"
     "{\"layer\":true}}",
     "take", "face", NULL},
};
enum { EXAMPLE_COUNT = sizeof examples / sizeof *examples };

json_t *examples_list(void) {
    json_t *list = json_array();
    for (int i = 0; i < EXAMPLE_COUNT; i++)
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s}", "name", examples[i].name,
                                              "title", examples[i].title, "hint", examples[i].hint,
                                              "rig", examples[i].sample));
    return list;
}

/* Curves as the scene holds them: times, and per slider the values. Rounded: nobody drags to more
 * than four places. */
static json_t *inline_curves(const sinew_curves *curves) {
    json_t *times = json_array(), *values = json_object();
    for (int t = 0; t < curves->time_count; t++)
        json_array_append_new(times, json_real(round(curves->times[t] * 1e6) / 1e6));
    for (int c = 0; c < curves->channel_count; c++) {
        json_t *row = json_array();
        bool moves = false;
        for (int t = 0; t < curves->time_count; t++) {
            double v = curves->values[(size_t)t * (size_t)curves->channel_count + (size_t)c];
            moves |= v != 0;
            json_array_append_new(row, json_real(round(v * 1e4) / 1e4));
        }
        if (moves)
            json_object_set_new(values, curves->names[c], row);
        else
            json_decref(row);
    }
    return json_pack("{s:o,s:o}", "times", times, "values", values);
}

static sinew_status add_take(json_t *document, const char *sample, int vertices,
                             const char *files_path, const char *files_name, sinew_error *error) {
    sinew_markers *markers = NULL;
    sinew_marker_map *map = NULL;
    char path[4096], name[512];
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = vertices;
    /* As cameras see them: with an error of some tenths of a millimeter, and now and then not at
     * all. */
    sinew_sample_marker_options capture;
    sinew_sample_marker_options_init(&capture);
    capture.noise = 0.0003;
    capture.gaps = 0.02;
    sinew_status status = sinew_sample_markers(sample, &options, &capture, &markers, &map, error);
    json_t *take = json_object();
    if (status == SINEW_OK) {
        snprintf(path, sizeof path, "%s/take.csv", files_path);
        snprintf(name, sizeof name, "%s/take.csv", files_name);
        json_object_set_new(take, "file", json_string(name));
        status = sinew_markers_write(path, markers, error);
    }
    if (status == SINEW_OK) {
        snprintf(path, sizeof path, "%s/take_map.csv", files_path);
        snprintf(name, sizeof name, "%s/take_map.csv", files_name);
        json_object_set_new(take, "map", json_string(name));
        status = sinew_marker_map_write(path, map, error);
    }
    sinew_markers_destroy(markers);
    sinew_marker_map_destroy(map);
    json_object_set_new(document, "markers", take);
    return status;
}

/* The face with a laugh that was sculpted as one shape, mouth and brows together. */
static sinew_status add_laugh(json_t *document, int vertices, const char *files_path,
                              const char *files_name, sinew_error *error) {
    static const struct {
        const char *slider;
        double weight;
    } laugh[] = {{"mouthSmileLeft", 0.9}, {"mouthSmileRight", 0.9}, {"jawOpen", 0.35},
                 {"browInnerUp", 0.7},    {"browOuterUpLeft", 0.7}, {"browOuterUpRight", 0.7}};
    sinew_rig *rig = NULL;
    sinew_linear *linear = NULL;
    double *weights = NULL, *positions = NULL;
    sinew_sample_options options;
    sinew_sample_options_init(&options);
    options.vertices = vertices;
    sinew_status status = sinew_sample_rig("face", &options, &rig, error);
    if (status == SINEW_OK) status = sinew_linear_create(rig, &linear, error);
    if (status == SINEW_OK) {
        weights = calloc((size_t)rig->slider_count, sizeof *weights);
        positions = calloc(3 * (size_t)rig->neutral->vertex_count, sizeof *positions);
        if (!weights || !positions) {
            *error = (sinew_error){.status = SINEW_NO_MEMORY, .message = "out of memory"};
            status = SINEW_NO_MEMORY;
        }
    }
    if (status == SINEW_OK) {
        sinew_rig_rest_weights(rig, weights);
        for (size_t i = 0; i < sizeof laugh / sizeof *laugh; i++) {
            int slider = sinew_rig_find_slider(rig, laugh[i].slider);
            if (slider >= 0) weights[slider] = laugh[i].weight;
        }
        sinew_linear_evaluate(linear, weights, positions);
        status = sinew_rig_add_pose(rig, "laugh", positions, error);
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/face", files_path);
    if (status == SINEW_OK) status = sinew_rig_write(path, rig, error);
    if (status == SINEW_OK)
        json_object_set_new(document, "rig",
                            json_pack("{s:[o]}", "files", json_sprintf("%s/face", files_name)));
    free(weights);
    free(positions);
    sinew_linear_destroy(linear);
    sinew_rig_destroy(rig);
    return status;
}

static const example *find_example(const char *name, sinew_error *error) {
    for (int i = 0; i < EXAMPLE_COUNT; i++)
        if (!strcmp(examples[i].name, name)) return &examples[i];
    error->status = SINEW_BAD_INPUT;
    snprintf(error->message, sizeof error->message, "there is no example '%s'", name);
    return NULL;
}

const char *examples_slider(const char *name) {
    sinew_error ignored;
    const example *e = find_example(name, &ignored);
    return e ? e->slider : NULL;
}

sinew_status examples_document(const char *name, int vertices, const char *files_path,
                               const char *files_name, json_t **document, sinew_error *error) {
    const example *e = find_example(name, error);
    if (!e) return error->status;
    json_t *scene = cli_json_loads(e->scene, 0, NULL), *studio = json_object_get(scene, "studio");
    json_t *rig = json_object_get(scene, "rig");
    if (vertices && rig) json_object_set_new(rig, "vertices", json_integer(vertices));
    if (!studio) json_object_set_new(scene, "studio", studio = json_object());
    json_object_set_new(studio, "example", json_string(name));
    sinew_status status = SINEW_OK;
    if (e->clip && !strcmp(e->clip, "take")) {
        int of_rig = (int)json_integer_value(json_object_get(rig, "vertices"));
        status = add_take(scene, e->sample, of_rig, files_path, files_name, error);
    } else if (e->clip && !strcmp(e->clip, "laugh")) {
        status = add_laugh(scene, vertices, files_path, files_name, error);
    }
    if (status == SINEW_OK)
        *document = scene;
    else
        json_decref(scene);
    return status;
}

void examples_use_spring(json_t *document) {
    json_object_set_new(document, "model", json_string("spring"));
    json_object_set_new(document, "parameters", json_pack("{s:f}", "pull_to_blend", 0.03));
    json_object_set_new(document, "studio", json_pack("{s:s}", "overlay", "difference"));
}

sinew_status examples_sample(const char *sample, json_t **document, sinew_error *error) {
    sinew_curves *curves = NULL;
    sinew_status status = sinew_sample_curves(sample, &curves, error);
    if (status != SINEW_OK) return status;
    *document = json_pack("{s:i,s:{s:s},s:{},s:o}", "sinew", 1, "rig", "sample", sample, "weights",
                          "curves", inline_curves(curves));
    examples_use_spring(*document);
    sinew_curves_destroy(curves);
    return SINEW_OK;
}
