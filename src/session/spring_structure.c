#include "session/spring_structure.h"

#include "base/memory.h"
#include "base/status.h"
#include "session/fibers.h"
#include "session/load.h"
#include "session/report.h"
#include "session/spring_loads.h"

void sn_spring_structure_key(const sn_model_setup *setup, sinew_hash *hash) {
    const json_t *pins = sn_scene_at(setup->scene, "pins");
    for (size_t k = 0; k < json_array_size(pins); k++)
        sinew_hash_add_text(hash,
                            json_string_value(json_object_get(json_array_get(pins, k), "select")));
    sn_fibers_key(setup, hash);
}

static void add_term(json_t *terms, const char *name, const char *symbol, double weight,
                     double stiffness) {
    sn_figure_append(terms, sn_figure_pack("{s:s,s:f,s:f}", "name", name, symbol, weight,
                                           "stiffness", stiffness));
}

static void report_network(const sinew_spring *spring, const sinew_spring_options *options,
                           json_t *report) {
    static const char *const boundaries[] = {"free", "static", "pinned", "anchor"};
    sinew_spring_info s = {.size = sizeof s};
    sinew_spring_get_info(spring, &s);
    json_t *kinds = json_object(), *terms = json_array();
    for (int k = 0; k < SINEW_SPRING_KIND_COUNT; k++)
        sn_figure_put(kinds, sinew_spring_kind_name(k), json_integer(s.kind_count[k]));
    sn_figure_put(report, "network",
                  sn_figure_pack("{s:i,s:i,s:i,s:o,s:i,s:i,s:i,s:i,s:i,s:f,s:f}", "vertices",
                                 s.vertex_count, "surface", s.surface_count, "springs",
                                 s.spring_count, "kinds", kinds, "tets", s.tet_count, "parts",
                                 s.component_count, "isolated", s.isolated_count, "held",
                                 s.fixed_count, "pose_inverted", s.pose_inverted,
                                 "bytes_per_vertex", s.bytes_per_vertex, "seconds", s.seconds));
    sn_figure_put(report, "interior", json_string(s.interior));
    sn_figure_put(report, "boundary", json_string(boundaries[s.boundary]));
    if (s.pull_stiffness > 0)
        add_term(terms, "pull_to_blend", "epsilon", options->pull_to_blend, s.pull_stiffness);
    if (s.volume_stiffness > 0)
        add_term(terms, "volume", "c_v", options->volume, s.volume_stiffness);
    if (s.altitude_stiffness > 0)
        add_term(terms, "altitudes", "c_a", options->altitude, s.altitude_stiffness);
    if (options->guide > 0)
        add_term(terms, "directions", "beta", options->guide,
                 options->guide * options->kappa[SINEW_SPRING_KIND_STRUCTURE]);
    sn_figure_put(report, "terms", terms);
    if (s.note[0]) sn_report_warning(report, s.note);
}

sinew_status sn_spring_structure_build(const sn_model_setup *setup, sinew_spring_options options,
                                       sinew_spring **structure, sinew_error *error) {
    const sinew_scene *scene = setup->scene;
    sn_spring_pins pins = {0};
    double *anchor = NULL, *map = NULL, *fibers = NULL;
    int anchor_count = 0;
    sinew_status status = sn_spring_pins_read(setup, &pins, error);
    options.pins = pins.vertices, options.pin_count = pins.count;
    if (status == SINEW_OK)
        status = sn_scene_numbers(scene, "anchor", &anchor, &anchor_count, error);
    if (status == SINEW_OK && anchor_count != 0 && anchor_count != 12)
        status = sn_scene_fail(scene, error, "/parameters/anchor",
                               "an anchor has 12 numbers, not %d", anchor_count);
    if (status == SINEW_OK && anchor_count == 12) options.anchor = anchor;
    if (status == SINEW_OK)
        status = sn_load_vertex_map(scene, setup->loader, "stiffness_map", setup->rig, &map, error);
    options.stiffness_map = map;
    if (status == SINEW_OK) status = sn_fibers_read(setup, &fibers, error);
    options.fibers = fibers;
    options.cache = setup->cache;
    sinew_spring *spring = NULL;
    if (status == SINEW_OK)
        status = sinew_spring_create(setup->rig, &options, setup->monitor, &spring, error);
    sn_free(anchor), sn_free(map), sn_free(fibers);
    sn_spring_pins_free(&pins);
    SN_TRY(status);
    report_network(spring, &options, setup->report);
    *structure = spring;
    return SINEW_OK;
}
