/* sinew interference: which sliders disturb which, where, and what to lock. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "jobs.h"
#include "report.h"
#include "sinew/anatomy.h"
#include "sinew/loader.h"
#include "sinew/selection.h"
#include "verb.h"

static const cli_option options[] = {
    {"--top", CLI_INTEGER, "N", "Number of pairs to list, worst first (default 12).", 1, 1000,
     false},
    {"--select", CLI_TEXT, "SELECT",
     "Consider only these vertices: v:1,5-9 | region:NAME | part:NAME | mask:FILE (default: the "
     "outer skin).",
     0, 0, false},
    {"--no-advice", CLI_FLAG, NULL, "Do not test which locks would help.", 0, 0, false},
    CLI_GROUP("Output"),
    {"--out", CLI_OUTPUT, "FILE.csv", "Write the listed pairs as a table.", 0, 0, false},
    {"--matrix", CLI_OUTPUT, "FILE.png", "Picture of how much each column disturbs each row.", 0, 0,
     false},
    {"--cosine", CLI_OUTPUT, "FILE.png",
     "Picture of how similar two targets are where they overlap.", 0, 0, false},
    {"--heat", CLI_OUTPUT, "FILE.png", "Picture of where the worst pairs overlap on the face.", 0,
     0, false},
    {"--zoom", CLI_NUMBER, "Z", "Zoom of the faces in --heat (default 1).", 0.1, 100, false},
    CLI_GROUP("Rig"),
    {"--sample", CLI_TEXT, "NAME",
     "Use a built-in rig instead of files; 'sinew sample' lists them.", 0, 0, false},
    {"--hidden", CLI_FLAG, NULL, "Also consider vertices that cannot be seen from outside.", 0, 0,
     false},
    CLI_REGIONS_OPTION,
    CLI_END,
};

enum { HEAT_PANELS = 6 };

typedef struct finding {
    sinew_interference_pair pair;
    sinew_interference_advice advice;
    bool tried;
} finding;

/* ---- words ----------------------------------------------------------------------------------- */

static void say_finding(cli_call *call, const sinew_rig *rig, const finding *f) {
    char where[96], help[96] = "";
    if (f->pair.region >= 0)
        snprintf(where, sizeof where, "in %.60s (vertex %d)", rig->regions[f->pair.region].name,
                 f->pair.vertex);
    else
        snprintf(where, sizeof where, "at vertex %d", f->pair.vertex);
    if (f->tried && f->advice.helps)
        snprintf(help, sizeof help, "; a lock on its %d vertices: %.1f times less, %.0f%% kept",
                 f->advice.vertex_count, f->advice.reduction, 100 * f->advice.kept);
    else if (f->tried)
        snprintf(help, sizeof help, "; no lock helps");
    cli_say(call, "%-20s is disturbed by %-20s %6.2f (back %.2f, cosine %+.2f) %s%s",
            rig->targets[f->pair.disturbed].name, rig->targets[f->pair.disturber].name,
            f->pair.disturbance, f->pair.reverse, f->pair.cosine, where, help);
}

static json_t *finding_json(const sinew_rig *rig, const finding *f) {
    json_t *entry = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:i}", "disturbed", rig->targets[f->pair.disturbed].name,
        "disturber", rig->targets[f->pair.disturber].name, "disturbance",
        cli_report_number(f->pair.disturbance), "reverse", cli_report_number(f->pair.reverse),
        "cosine", cli_report_number(f->pair.cosine), "vertex", f->pair.vertex);
    if (f->pair.region >= 0)
        json_object_set_new(entry, "region", json_string(rig->regions[f->pair.region].name));
    if (f->tried)
        json_object_set_new(entry, "lock",
                            json_pack("{s:i, s:o, s:o, s:b}", "vertices", f->advice.vertex_count,
                                      "reduction", cli_report_number(f->advice.reduction), "kept",
                                      cli_report_number(f->advice.kept), "helps", f->advice.helps));
    return entry;
}

static sinew_status write_table(const char *path, const sinew_rig *rig, int count,
                                const finding *findings, sinew_error *error) {
    cli_document out;
    CLI_TRY(cli_document_open(&out, error));
    fprintf(out.stream, "disturbed,disturber,disturbance,reverse,cosine,vertex,region,"
                        "lock_vertices,lock_reduction,lock_kept\n");
    for (int i = 0; i < count; i++) {
        const finding *f = &findings[i];
        fprintf(out.stream, "%s,%s,%.6g,%.6g,%.6g,%d,%s", rig->targets[f->pair.disturbed].name,
                rig->targets[f->pair.disturber].name, f->pair.disturbance, f->pair.reverse,
                f->pair.cosine, f->pair.vertex,
                f->pair.region >= 0 ? rig->regions[f->pair.region].name : "");
        if (f->tried)
            fprintf(out.stream, ",%d,%.6g,%.6g\n", f->advice.vertex_count, f->advice.reduction,
                    f->advice.kept);
        else
            fprintf(out.stream, ",,,\n");
    }
    return cli_document_write(&out, path, error);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static sinew_status write_matrix(const char *path, const sinew_rig *rig, const double *matrix,
                                 double limit, const char *title, sinew_error *error) {
    int m = rig->target_count;
    const char **names = CLI_NEW(const char *, m);
    double *capped = CLI_NEW(double, (size_t)m *(size_t)m);
    sinew_image *image = NULL;
    sinew_status status = names && capped ? SINEW_OK : cli_no_memory(error);
    for (int i = 0; status == SINEW_OK && i < m; i++) names[i] = rig->targets[i].name;
    for (int i = 0; status == SINEW_OK && i < m * m; i++)
        capped[i] = i % (m + 1) == 0 ? 0 : fmin(matrix[i], limit);
    if (status == SINEW_OK) {
        sinew_plot_options plot;
        sinew_plot_options_init(&plot);
        plot.width = plot.height = 16 * m + 360 < 4000 ? 16 * m + 360 : 4000;
        plot.title = title;
        status = sinew_plot_matrix(m, m, capped, names, names, &plot, &image, error);
    }
    if (status == SINEW_OK) status = sinew_image_write(path, image, error);
    sinew_image_destroy(image);
    sinew_free(names);
    sinew_free(capped);
    return status;
}

static sinew_status write_heat(cli_call *call, const char *path, const sinew_slider_space *space,
                               const sinew_rig *rig, int count, const finding *findings) {
    sinew_error *error = &call->error;
    int panels = count < HEAT_PANELS ? count : HEAT_PANELS, n = rig->neutral->vertex_count;
    sinew_panel panel[HEAT_PANELS] = {0};
    char labels[HEAT_PANELS][160];
    double *heat = CLI_NEW(double, (size_t)(panels > 0 ? panels : 1) * (size_t)n);
    if (!heat) return cli_no_memory(error);
    double diagonal = sinew_slider_space_diagonal(space);
    for (int i = 0; i < panels; i++) {
        double *own = heat + (size_t)i * (size_t)n;
        const sinew_interference_pair *p = &findings[i].pair;
        sinew_interference_heat(space, p->disturbed, p->disturber, own);
        for (int v = 0; v < n; v++) own[v] *= diagonal > 0 ? 100 / diagonal : 0;
        snprintf(labels[i], sizeof labels[i], "%.60s by %.60s", rig->targets[p->disturbed].name,
                 rig->targets[p->disturber].name);
        panel[i] = (sinew_panel){.mesh = rig->neutral, .heat = own, .label = labels[i]};
    }
    sinew_render_options render;
    sinew_render_options_init(&render);
    render.zoom = cli_number(call, "--zoom", 1);
    render.heat_unit = "% of diagonal";
    render.title = "How far vertices of the first are moved by the second";
    render.azimuth = 10;
    render.width = 1500;
    sinew_image *image = NULL;
    sinew_status status = panels > 0 ? sinew_render(panels, panel, &render, &image, error)
                                     : sinew_fail(error, SINEW_BAD_INPUT, "no two targets meet");
    if (status == SINEW_OK) status = sinew_image_write(path, image, error);
    sinew_image_destroy(image);
    sinew_free(heat);
    return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static sinew_status try_locks(cli_call *call, const sinew_slider_space *space, const sinew_rig *rig,
                              int count, finding *findings) {
    for (int i = 0; i < count; i++) {
        if (rig->targets[findings[i].pair.disturber].slider < 0) continue;
        findings[i].advice.size = sizeof findings[i].advice;
        CLI_TRY(sinew_interference_advise(space, findings[i].pair.disturbed,
                                          findings[i].pair.disturber, NULL, &findings[i].advice,
                                          NULL, &call->error));
        findings[i].tried = true;
    }
    return SINEW_OK;
}

static sinew_status inspect(cli_call *call, const sinew_rig *rig, const sinew_slider_space *space,
                            const sinew_interference *found) {
    sinew_error *error = &call->error;
    int limit = cli_integer(call, "--top", 12);
    finding *findings = CLI_NEW(finding, limit);
    sinew_interference_pair *pairs = CLI_NEW(sinew_interference_pair, limit);
    sinew_status status = findings && pairs ? SINEW_OK : cli_no_memory(error);
    int count = status == SINEW_OK ? sinew_interference_worst(space, found, limit, pairs) : 0;
    for (int i = 0; i < count; i++) findings[i].pair = pairs[i];
    if (status == SINEW_OK && !cli_given(call, "--no-advice"))
        status = try_locks(call, space, rig, count, findings);
    if (status == SINEW_OK) {
        json_t *list = json_array();
        for (int i = 0; i < count; i++) {
            say_finding(call, rig, &findings[i]);
            json_array_append_new(list, finding_json(rig, &findings[i]));
        }
        if (count == 0) cli_say(call, "no two targets meet");
        json_object_set_new(call->report, "pairs", list);
        if (cli_given(call, "--out"))
            status = write_table(cli_text(call, "--out"), rig, count, findings, error);
    }
    if (status == SINEW_OK && cli_given(call, "--matrix"))
        status =
            write_matrix(cli_text(call, "--matrix"), rig, found->disturbance, 2,
                         "Row is disturbed by column (2: twice its own motion, or more)", error);
    if (status == SINEW_OK && cli_given(call, "--cosine"))
        status = write_matrix(cli_text(call, "--cosine"), rig, found->cosine, 1,
                              "Cosine of two targets where they meet", error);
    if (status == SINEW_OK && cli_given(call, "--heat"))
        status = write_heat(call, cli_text(call, "--heat"), space, rig, count, findings);
    sinew_free(findings);
    sinew_free(pairs);
    return status;
}

/* The vertices of the outer skin: motion inside the mouth or behind the lids is not visible.
 * None for the whole surface. */
static sinew_status find_visible(cli_call *call, const sinew_rig *rig, int **vertices, int *count) {
    sinew_anatomy *anatomy;
    if (cli_given(call, "--hidden")) return SINEW_OK;
    CLI_TRY(sinew_anatomy_create(rig, call->monitor, &anatomy, &call->error));
    const bool *skin = sinew_anatomy_skin(anatomy);
    int n = rig->neutral->vertex_count;
    *vertices = CLI_NEW(int, n + 1);
    for (int v = 0; *vertices && v < n; v++)
        if (skin[v]) (*vertices)[(*count)++] = v;
    sinew_anatomy_destroy(anatomy);
    if (!*vertices) return cli_no_memory(&call->error);
    if (*count == 0) sinew_free(*vertices), *vertices = NULL;
    return SINEW_OK;
}

static sinew_status run(cli_call *call) {
    const char *sample = cli_text(call, "--sample");
    if (sample && call->argument_count > 0)
        return cli_usage(call, "specify either rig files or --sample, not both");
    if (!sample && call->argument_count == 0)
        return cli_usage(call, "needs RIG... or --sample NAME");
    CLI_TRY(cli_check_selection(call, cli_text(call, "--select")));
    sinew_error *error = &call->error;
    sinew_rig *rig = NULL;
    sinew_slider_space *space = NULL;
    sinew_interference *found = NULL;
    int *vertices = NULL, count = 0;
    sinew_status status = sample
                              ? sinew_sample_rig(sample, NULL, &rig, error)
                              : sinew_rig_read(call->argument_count, call->arguments, &rig, error);
    if (status == SINEW_OK && cli_given(call, "--regions"))
        status = sinew_regions_read(cli_text(call, "--regions"), rig, error);
    if (status == SINEW_OK && cli_given(call, "--select"))
        status = sinew_select(rig, cli_text(call, "--select"), NULL, sinew_file_loader(),
                              call->monitor, &vertices, &count, error);
    else if (status == SINEW_OK)
        status = find_visible(call, rig, &vertices, &count);
    if (status == SINEW_OK) status = sinew_rig_deduce_from_names(rig, error);
    if (status == SINEW_OK) status = sinew_slider_space_create(rig, &space, error);
    if (status == SINEW_OK)
        status = sinew_interference_create(space, count, vertices, &found, error);
    if (status == SINEW_OK) {
        cli_report_sizes(call->report, rig->neutral->vertex_count, rig->neutral->triangle_count);
        cli_report_total(call->report, "targets", json_integer(rig->target_count));
        status = inspect(call, rig, space, found);
    }
    sinew_free(vertices);
    sinew_interference_destroy(found);
    sinew_slider_space_destroy(space);
    sinew_rig_destroy(rig);
    return status;
}

const cli_verb verb_interference = {
    .name = "interference",
    .summary = "show which sliders disturb each other, where, and what to lock",
    .arguments = "[RIG...]",
    .minimum = 0,
    .maximum = -1,
    .options = options,
    .description =
        "Show which sliders disturb each other, where they overlap, and which locks would "
        "help.\n\nFor each pair: how far one target at full weight moves the vertices of the "
        "other, as a multiple of what the other does there itself, in both directions; how similar "
        "the two are where they overlap; and the measured effect of a lock on the disturbed "
        "vertices. The left and right halves of a slider are not compared with each other.",
    .example = "sinew interference --sample arm --top 3 --out pairs.csv\n",
    .run = run,
};
