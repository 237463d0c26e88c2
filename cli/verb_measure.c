/* sinew measure: how far frames are from what the poses promise. */
#include <math.h>
#include <stdio.h>

#include "files.h"
#include "report.h"

static const cli_option options[] = {
    {"--frames", CLI_INPUT, "CACHE", "Frames to measure.", 0, 0, false},
    {"--curves", CLI_INPUT, "FILE",
     "Slider weights over time (default: frame k of N + 1 is at k/N from the first pose to the "
     "second).",
     0, 0, false},
    {"--out", CLI_OUTPUT, "FILE.csv", "Write one row of figures per frame.", 0, 0, false},
    {"--intersections", CLI_FLAG, NULL, "Also count pairs of intersecting triangles.", 0, 0, false},
    CLI_END,
};

static json_t *spread(const sinew_spread *s) {
    return json_pack("{s:o, s:o, s:o}", "mean", cli_report_number(s->mean), "p95",
                     cli_report_number(s->p95), "max", cli_report_number(s->max));
}

static void report_frames(json_t *report, const sinew_frames *frames, const sinew_distortion *d) {
    for (int k = 0; k < frames->frame_count; k++) {
        double time = frames->start + (frames->rate > 0 ? k / frames->rate : 0);
        cli_report_frame(
            report,
            json_pack("{s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:[o, o, o], s:i}",
                      "time", cli_report_number(time), "status", "ok", "iterations", 0, "edge",
                      spread(&d[k].edge), "area", spread(&d[k].area), "dihedral_degrees",
                      spread(&d[k].dihedral), "volume", cli_report_number(d[k].volume), "inverted",
                      d[k].flipped, "intersections", d[k].intersections, "contacts", 0, "drift",
                      cli_report_number(d[k].drift), "below", cli_report_number(d[k].below[0]),
                      cli_report_number(d[k].below[1]), cli_report_number(d[k].below[2]), "pops",
                      d[k].pops));
    }
}

/* A cell, empty for what cannot be measured. */
static void write_number(FILE *stream, double value) {
    if (isfinite(value))
        fprintf(stream, ",%.9g", value);
    else
        fprintf(stream, ",");
}

static sinew_status write_table(const char *path, const sinew_frames *frames,
                                const sinew_distortion *d, sinew_error *error) {
    cli_document out;
    CLI_TRY(cli_document_open(&out, error));
    fprintf(out.stream, "frame,edge_mean,edge_p95,edge_max,area_mean,area_p95,area_max,"
                        "dihedral_mean,dihedral_p95,dihedral_max,volume,flipped,intersections,"
                        "drift,below_x,below_y,below_z,pops\n");
    for (int k = 0; k < frames->frame_count; k++) {
        const sinew_spread *spreads[3] = {&d[k].edge, &d[k].area, &d[k].dihedral};
        fprintf(out.stream, "%d", k);
        for (int i = 0; i < 3; i++)
            fprintf(out.stream, ",%.9g,%.9g,%.9g", spreads[i]->mean, spreads[i]->p95,
                    spreads[i]->max);
        write_number(out.stream, d[k].volume);
        fprintf(out.stream, ",%d,%d", d[k].flipped, d[k].intersections);
        write_number(out.stream, d[k].drift);
        for (int axis = 0; axis < 3; axis++) write_number(out.stream, d[k].below[axis]);
        fprintf(out.stream, ",%d\n", d[k].pops);
    }
    return cli_document_write(&out, path, error);
}

static void say_spread(const cli_call *call, const char *name, const sinew_spread *s, double scale,
                       const char *unit) {
    cli_say(call, "%-9s mean %8.4f%s   95%% below %8.4f%s   max %8.4f%s", name, scale * s->mean,
            unit, scale * s->p95, unit, scale * s->max, unit);
}

/* The frame with the largest mean edge distortion represents the clip. */
static void say_worst(cli_call *call, const sinew_frames *frames, const sinew_distortion *d) {
    int worst = 0, pops = 0;
    double mean = 0, drift = NAN, below[3] = {0, 0, 0};
    for (int k = 0; k < frames->frame_count; k++) {
        if (d[k].edge.mean > d[worst].edge.mean) worst = k;
        mean += d[k].edge.mean / frames->frame_count;
        drift = fmax(drift, d[k].drift); /* of a number and NaN, the number */
        for (int axis = 0; axis < 3; axis++) below[axis] = fmax(below[axis], d[k].below[axis]);
        pops += d[k].pops;
    }
    const sinew_distortion *w = &d[worst];
    cli_say(call, "%d frames, mean edge distortion %.4f%%; worst frame %d:", frames->frame_count,
            100 * mean, worst);
    say_spread(call, "edges", &w->edge, 100, "%");
    say_spread(call, "areas", &w->area, 100, "%");
    say_spread(call, "dihedral", &w->dihedral, 1, " deg");
    if (isfinite(w->volume)) cli_say(call, "volume    %+.4f%%", 100 * w->volume);
    cli_say(call, "flipped triangles %d", w->flipped);
    if (w->intersections >= 0) cli_say(call, "intersecting pairs %d", w->intersections);
    cli_say(call,
            "all frames: %d popping edges, %.4f%% of the diagonal below the poses along y, "
            "%.4f%% along z",
            pops, 100 * below[1], 100 * below[2]);
    if (isfinite(drift))
        cli_say(call, "neighboring parts drift apart by up to %.4f%% of the diagonal", 100 * drift);
    cli_report_total(call->report, "pops", json_integer(pops));
    cli_report_total(call->report, "drift", cli_report_number(drift));
    cli_report_total(call->report, "below",
                     json_pack("[o, o, o]", cli_report_number(below[0]),
                               cli_report_number(below[1]), cli_report_number(below[2])));
    cli_report_total(call->report, "edge_mean", cli_report_number(mean));
    cli_report_total(call->report, "worst_frame", json_integer(worst));
}

static sinew_status run(cli_call *call) {
    const char *cache = cli_text(call, "--frames");
    if (!cache) return cli_usage(call, "needs --frames CACHE");
    sinew_rig *rig = NULL;
    sinew_frames *frames = NULL;
    sinew_curves *curves = NULL;
    sinew_distortion *distortions = NULL;
    sinew_error *error = &call->error;
    sinew_status status = sinew_rig_read(call->argument_count, call->arguments, &rig, error);
    if (status == SINEW_OK) status = sinew_frames_read(cache, &frames, error);
    if (status == SINEW_OK) {
        sinew_error why = {0};
        status = sinew_frames_match(frames, rig->neutral, &why);
        if (status != SINEW_OK) sinew_fail(error, status, "%s: %s", cache, why.message);
    }
    if (status == SINEW_OK && frames->frame_count == 0)
        status = sinew_fail(error, SINEW_BAD_INPUT, "%s: contains no frames", cache);
    if (status == SINEW_OK && cli_given(call, "--curves"))
        status = cli_read_curves(call, cli_text(call, "--curves"), rig, NULL, &curves);
    if (status == SINEW_OK) {
        cli_report_input(call->report, cache);
        cli_report_sizes(call->report, rig->neutral->vertex_count, rig->neutral->triangle_count);
        distortions = CLI_NEW(sinew_distortion, frames->frame_count);
        if (distortions) distortions->size = sizeof *distortions;
        status = distortions
                     ? sinew_measure_frames(rig, frames, curves, cli_given(call, "--intersections"),
                                            distortions, call->monitor, error)
                     : cli_no_memory(error);
    }
    if (status == SINEW_OK) {
        report_frames(call->report, frames, distortions);
        say_worst(call, frames, distortions);
        if (cli_given(call, "--out"))
            status = write_table(cli_text(call, "--out"), frames, distortions, error);
    }
    sinew_free(distortions);
    sinew_curves_destroy(curves);
    sinew_frames_destroy(frames);
    sinew_rig_destroy(rig);
    return status;
}

const cli_verb verb_measure = {
    .name = "measure",
    .summary = "measure how frames distort edges, areas, angles and volume",
    .arguments = "POSES... --frames CACHE",
    .minimum = 1,
    .maximum = -1,
    .options = options,
    .description =
        "Measure the distortion of frames against the poses that they blend: edge lengths, "
        "triangle areas, dihedral angles and volume.\n\nPOSES are a rig as for 'sinew blend'. Edge "
        "distortion is |l / sum w l_p - 1|; its mean, 95th percentile and maximum are "
        "printed.\n\nThree more figures: popping edges (the dihedral angle changes by more than 30 "
        "degrees between two frames, beyond the change of the blend); the depth below the lowest "
        "point of the poses (feet through the floor); and, for meshes of several parts, how far "
        "neighboring parts drift apart (vertices within 2% of the bounding-box diagonal in all "
        "poses).",
    .example = "sinew sample bar --out bar\n"
               "sinew blend bar --model linear --steps 10 --out linear.pc2\n"
               "sinew measure bar --frames linear.pc2\n",
    .run = run,
};
