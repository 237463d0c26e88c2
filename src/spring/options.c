#include "sinew/spring.h"

const char *sinew_spring_kind_name(int kind) {
    static const char *const names[SINEW_SPRING_KIND_COUNT] = {"structure", "bending", "internal",
                                                               "anchor", "tie"};
    return kind >= 0 && kind < SINEW_SPRING_KIND_COUNT ? names[kind] : "unknown";
}

void sinew_spring_options_init(sinew_spring_options *options) {
    *options = (sinew_spring_options){
        .size = sizeof *options,
        .bending = SINEW_SPRING_BENDING_FLAP,
        .interior = SINEW_SPRING_INTERIOR_STRUTS,
        .volume = SINEW_SPRING_VOLUME,
        .guide = SINEW_SPRING_GUIDE,
        .altitude = SINEW_SPRING_ALTITUDE,
        .pull_to_blend = SINEW_SPRING_PULL_TO_BLEND,
        .boundary = SINEW_SPRING_BOUNDARY_FREE,
        .static_share = SINEW_SPRING_STATIC_SHARE,
        .solver = SINEW_SPRING_SOLVER_DEFAULT,
        .tolerance = SINEW_SPRING_TOLERANCE,
        .max_iterations = SINEW_SPRING_MAX_ITERATIONS,
        .time_limit = SINEW_SPRING_TIME_LIMIT,
        .friction = SINEW_SPRING_FRICTION,
        .contact_depth = SINEW_SPRING_CONTACT_DEPTH,
        .max_rounds = SINEW_SPRING_MAX_ROUNDS,
        .sample_edges = true,
    };
    for (int kind = 0; kind < SINEW_SPRING_KIND_COUNT; kind++)
        options->kappa[kind] = SINEW_SPRING_KAPPA;
    options->kappa[SINEW_SPRING_KIND_ANCHOR] = SINEW_SPRING_ANCHOR_KAPPA;
    options->kappa[SINEW_SPRING_KIND_TIE] = SINEW_SPRING_TIE_KAPPA;
}

void sinew_spring_options_published(sinew_spring_options *options) {
    sinew_spring_options_init(options);
    options->bending = SINEW_SPRING_BENDING_RING;
    options->interior = SINEW_SPRING_INTERIOR_TETS;
    options->volume = options->guide = options->altitude = options->pull_to_blend = 0;
    options->solver = SINEW_SPRING_SOLVER_PUBLISHED;
}
