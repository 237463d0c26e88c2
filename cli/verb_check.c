/* sinew check: what is wrong with a mesh or rig, by element. */
#include <string.h>

#include "files.h"
#include "report.h"

static const cli_option options[] = {
    {"--poses", CLI_FLAG, NULL,
     "Treat the files as poses of one mesh: also compare their vertices and faces with those of "
     "the first file.",
     0, 0, false},
    {"--targets", CLI_FLAG, NULL, "Also check every target of a rig at full weight.", 0, 0, false},
    {"--no-intersections", CLI_FLAG, NULL, "Skip the search for self-intersections.", 0, 0, false},
    {"--list", CLI_INTEGER, "N", "Maximum number of findings to print of each kind (default 10).",
     0, 1e9, false},
    CLI_END,
};

typedef struct session {
    cli_call *call;
    sinew_check_options options;
    int printed; /* most findings per kind */
    int problems;
    json_t *files;
} session;

static void say_findings(const session *s, const sinew_check *check) {
    int in_kind = 0;
    for (int i = 0; i < check->finding_count; i++) {
        const sinew_finding *f = &check->findings[i];
        in_kind = i > 0 && f->kind == check->findings[i - 1].kind ? in_kind + 1 : 0;
        char line[SINEW_FINDING_SIZE];
        if (in_kind < s->printed)
            cli_say(s->call, "  %s: %s", sinew_finding_is_problem(f->kind) ? "problem" : "note",
                    sinew_finding_text(f, line));
        else if (in_kind == s->printed)
            cli_say(s->call, "  ... and %d more (%s)", check->counts[f->kind] - s->printed,
                    sinew_finding_name(f->kind));
    }
}

static json_t *findings_json(const sinew_check *check) {
    json_t *list = json_array();
    for (int i = 0; i < check->finding_count; i++) {
        const sinew_finding *f = &check->findings[i];
        json_array_append_new(list, json_pack("{s:s, s:b, s:[i,i,i]}", "kind",
                                              sinew_finding_name(f->kind), "problem",
                                              sinew_finding_is_problem(f->kind), "elements",
                                              f->elements[0], f->elements[1], f->elements[2]));
    }
    return list;
}

static sinew_status check_one(session *s, const char *name, const sinew_mesh *mesh) {
    sinew_check *check;
    sinew_error why = {0};
    sinew_status status = sinew_check_mesh(mesh, &s->options, s->call->monitor, &check, &why);
    if (status != SINEW_OK)
        return sinew_fail(&s->call->error, status, "%s: %.400s", name, why.message);
    int problems = sinew_check_problems(check);
    s->problems += problems;
    cli_say(s->call,
            "%s: %d problems; %d vertices, %d faces, %d components, %d boundary loops (%d edges), "
            "%s%s",
            name, problems, check->vertex_count, check->face_count, check->component_count,
            check->boundary_loop_count, check->boundary_edge_count,
            check->closed ? "closed" : "not closed",
            !s->options.self_intersection    ? ""
            : check->self_intersecting_faces ? ", self-intersecting"
                                             : ", no self-intersection");
    say_findings(s, check);
    json_t *entry = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:i, s:f, s:f, s:o}", "file", name, "problems",
        problems, "vertices", check->vertex_count, "faces", check->face_count, "components",
        check->component_count, "boundary_edges", check->boundary_edge_count, "boundary_loops",
        check->boundary_loop_count, "closed", check->closed, "self_intersecting_faces",
        check->self_intersecting_faces, "area", check->area, "volume", check->volume, "findings",
        findings_json(check));
    if (entry) json_array_append_new(s->files, entry);
    cli_report_sizes(s->call->report, check->vertex_count, check->triangle_count);
    sinew_check_destroy(check);
    return SINEW_OK;
}

static sinew_status check_targets(session *s, const char *path, const sinew_rig *rig) {
    sinew_mesh *posed;
    CLI_TRY(sinew_mesh_copy(rig->neutral, &posed, &s->call->error));
    size_t bytes = 3 * (size_t)posed->vertex_count * sizeof(double);
    sinew_status status = SINEW_OK;
    for (int k = 0; status == SINEW_OK && k < rig->target_count; k++) {
        const sinew_target *target = &rig->targets[k];
        memcpy(posed->positions, rig->neutral->positions, bytes);
        for (int i = 0; i < 3 * target->count; i++)
            posed->positions[3 * (size_t)target->vertices[i / 3] + (size_t)(i % 3)] +=
                target->deltas[i];
        char name[512];
        snprintf(name, sizeof name, "%.300s [%.200s]", path, target->name);
        status = check_one(s, name, posed);
    }
    sinew_mesh_destroy(posed);
    return status;
}

/* The difference counts as a problem; its text names the first vertex count or face. */
static void compare(session *s, const char *path, const sinew_mesh *first, const sinew_mesh *mesh) {
    sinew_error difference;
    if (sinew_mesh_same_topology(first, mesh, &difference) == SINEW_OK) return;
    s->problems++;
    cli_say(s->call, "  problem: not a pose of %s: %s", s->call->arguments[0], difference.message);
    json_array_append_new(s->files,
                          json_pack("{s:s, s:s}", "file", path, "different", difference.message));
}

static sinew_status run(cli_call *call) {
    session s = {.call = call};
    sinew_check_options_init(&s.options);
    s.options.self_intersection = !cli_given(call, "--no-intersections");
    s.printed = cli_integer(call, "--list", 10);
    s.files = json_array();
    json_object_set_new(call->report, "files", s.files);
    cli_file first = {0};
    sinew_status status = SINEW_OK;
    for (int i = 0; status == SINEW_OK && i < call->argument_count; i++) {
        cli_file file;
        const char *path = call->arguments[i];
        status = cli_file_read(path, &file, &call->error);
        const sinew_mesh *mesh = file.rig ? file.rig->neutral : file.mesh;
        if (status == SINEW_OK && mesh) {
            status = check_one(&s, path, mesh);
            if (status == SINEW_OK && file.rig && cli_given(call, "--targets"))
                status = check_targets(&s, path, file.rig);
            if (cli_given(call, "--poses") && i > 0)
                compare(&s, path, first.rig ? first.rig->neutral : first.mesh, mesh);
        } else if (status == SINEW_OK) {
            cli_say(call, "%s: no problems reading the file",
                    path); /* no mesh: nothing more to check */
            if (cli_given(call, "--poses"))
                status = sinew_fail(&call->error, SINEW_BAD_INPUT, "%s: not a mesh", path);
        }
        if (i == 0)
            first = file;
        else
            cli_file_free(&file);
    }
    cli_file_free(&first);
    cli_report_total(call->report, "problems", json_integer(s.problems));
    if (status == SINEW_OK && s.problems > 0)
        return sinew_fail(&call->error, SINEW_NOT_CONVERGED, "%d problem%s found", s.problems,
                          s.problems == 1 ? "" : "s");
    return status;
}

const cli_verb verb_check = {
    .name = "check",
    .summary = "check a mesh or rig and list every problem by element",
    .arguments = "FILE...",
    .minimum = 1,
    .maximum = -1,
    .options = options,
    .description =
        "Check a mesh or rig and list every problem by element: values that are not finite, "
        "degenerate and duplicate faces, non-manifold edges and vertices, inconsistent face "
        "orientation, and self-intersections. The exit code is 1 if there is a "
        "problem.\n\nCoincident vertices, unused vertices and open boundaries are listed as notes. "
        "Vertices and faces are numbered from 0 in file order.",
    .example = "sinew sample bar --out bar\n"
               "sinew check bar --targets\n",
    .run = run,
};
