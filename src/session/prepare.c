/* Bringing a solver to the newest revision: rig, clip, locks, structure and model, each only when
 * something it is made from has changed.
 *
 * Everything new is made beside the old; the solver changes when all of it is there. Rig, clip,
 * structure and what is derived from them are shared: the session keeps the ones that were built
 * last, and a second solver that wants the same ones finds them there. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/scope.h"
#include "base/status.h"
#include "base/threads.h"
#include "session/holds.h"
#include "session/load.h"
#include "session/orderings.h"
#include "session/outputs.h"
#include "session/report.h"
#include "session/session.h"

/* ---- warnings -------------------------------------------------------------------------------- */

/* Limits are the artist's: weights beyond them extrapolate, and a warning is logged once per
 * slider. Commands of a model that has bounds for them may also go that far: those of a solved take
 * do. */
static void warn_about_limits(const sinew_scene *scene, const sinew_rig *rig, const sn_clip *clip,
                              const sn_model_kind *kind, const sinew_monitor *monitor) {
    bool commands = !strcmp(kind->about.name, "force");
    double lower = commands ? sn_scene_number(scene, "lower") : INFINITY;
    double upper = commands ? sn_scene_number(scene, "upper") : -INFINITY;
    for (int i = 0; clip->weights && i < rig->slider_count; i++) {
        const sinew_slider *slider = &rig->sliders[i];
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < clip->frame_count; k++) {
            double w = clip->weights[(size_t)k * (size_t)rig->slider_count + (size_t)i];
            low = fmin(low, w), high = fmax(high, w);
        }
        double slack = 1e-9;
        if (low < fmin(slider->minimum, lower) - slack ||
            high > fmax(slider->maximum, upper) + slack)
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING,
                   "'%s' goes from %g to %g, beyond its limits %g to %g", slider->name, low, high,
                   slider->minimum, slider->maximum);
    }
}

static void warn_about_unused(const sinew_scene *scene, const sn_model_kind *kind,
                              const sinew_monitor *monitor) {
    static const char *const keys[] = {"obstacles", "pins",    "orientations", "pulls",
                                       "keys",      "markers", "fibers"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = sn_scene_at(scene, keys[i]);
        bool empty = !value || (json_is_array(value) && json_array_size(value) == 0);
        if (!empty && !sinew_model_uses(&kind->about, keys[i]))
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "the model '%s' does not use the scene's %s",
                   kind->about.name, keys[i]);
    }
}

/* Whether the scene has the thing that a rule speaks of. */
static bool has_thing(const sinew_scene *scene, const char *thing) {
    const char *other = strstr(thing, " or ");
    if (other) {
        char first[64];
        snprintf(first, sizeof first, "%.*s", (int)(other - thing), thing);
        return has_thing(scene, first) || has_thing(scene, other + 4);
    }
    if (!strncmp(thing, "outputs.", 8))
        return json_object_get(sn_scene_at(scene, "outputs"), thing + 8) != NULL;
    const json_t *parameters = sn_scene_at(scene, "parameters");
    const char *word = strchr(thing, '=');
    if (word) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(word - thing), thing);
        const char *chosen = json_string_value(json_object_get(parameters, name));
        return chosen && !strcmp(chosen, word + 1);
    }
    const json_t *value = json_object_get(parameters, thing);
    if (!value) return sn_scene_at(scene, thing) != NULL;
    return !json_is_false(value) && !(json_is_string(value) && !*json_string_value(value));
}

static void warn_about_idle(const sinew_scene *scene, const sn_model_kind *kind,
                            const sinew_monitor *monitor) {
    const json_t *parameters = sn_scene_at(scene, "parameters");
    for (const sn_idle_rule *r = kind->idle; r && r->parameter; r++) {
        if (!json_object_get(parameters, r->parameter) || !has_thing(scene, r->parameter)) continue;
        if (r->without ? !has_thing(scene, r->without) : has_thing(scene, r->with))
            sn_log(monitor, SINEW_LOG_LEVEL_WARNING, "%s does nothing %s %s", r->parameter,
                   r->without ? "without" : "with", r->without ? r->without : r->with);
    }
}

/* ---- the rig --------------------------------------------------------------------------------- */

static void release_rig(void *object) {
    sinew_rig_destroy(object);
}

/* By content, so that a saved state knows its rig in another process. */
static sinew_cache_key key_of_rig(const sinew_rig *rig) {
    sinew_hash hash;
    const sinew_mesh *mesh = rig->neutral;
    sinew_hash_start(&hash);
    sinew_hash_add(&hash, mesh->positions, 3 * (size_t)mesh->vertex_count * sizeof(double));
    sinew_hash_add(&hash, mesh->triangles, 3 * (size_t)mesh->triangle_count * sizeof(int));
    for (int s = 0; s < rig->slider_count; s++) {
        sinew_hash_add_text(&hash, rig->sliders[s].name);
        sinew_hash_add_number(&hash, rig->sliders[s].rest);
    }
    for (int t = 0; t < rig->target_count; t++) {
        const sinew_target *target = &rig->targets[t];
        sinew_hash_add_number(&hash, target->kind);
        sinew_hash_add_number(&hash, target->slider);
        sinew_hash_add_number(&hash, target->at);
        sinew_hash_add(&hash, target->drivers, (size_t)target->driver_count * sizeof(int));
        sinew_hash_add(&hash, target->vertices, (size_t)target->count * sizeof(int));
        sinew_hash_add(&hash, target->deltas, 3 * (size_t)target->count * sizeof(double));
    }
    for (int r = 0; r < rig->region_count; r++) {
        sinew_hash_add_text(&hash, rig->regions[r].name);
        sinew_hash_add(&hash, rig->regions[r].vertices,
                       (size_t)rig->regions[r].count * sizeof(int));
    }
    return sinew_hash_key(&hash);
}

static bool same_key(sinew_cache_key a, sinew_cache_key b) {
    return a.low == b.low && a.high == b.high;
}

/* ---- one update ------------------------------------------------------------------------------ */

typedef struct update {
    sinew_solver *solver;
    sinew_session *session;
    sinew_scene scene; /* a view of the document */
    uint64_t revision;
    uint64_t key_revision[SN_KEYS];
    uint32_t changed; /* bits of the keys that changed since the solver's revision */
    const sinew_monitor *monitor;
    /* what the solver will hold; those that are not new are the solver's */
    sn_shared *rig, *clip, *structure, *derived, *floor;
    sn_floor_work *floor_work;
    const sn_model_kind *kind;
    sn_session_locks locks;
    bool new_locks;
    void *model;
} update;

static uint32_t bit_of(const char *key) {
    return 1u << sn_scene_key_bit(key);
}

static bool changed(const update *u, const char *const *keys) {
    for (; *keys; keys++)
        if (u->changed & bit_of(*keys)) return true;
    return false;
}

/* The newest revision among the keys that something is made from. */
static uint64_t newest(const update *u, const char *const *keys) {
    uint64_t most = 1;
    for (; *keys; keys++) {
        uint64_t revision = u->key_revision[sn_scene_key_bit(*keys)];
        if (revision > most) most = revision;
    }
    return most;
}

/* What was made while the call was being cancelled may be unfinished: it is never shared. */
static sinew_status check_dropped(sinew_error *error) {
    return sn_scope_poll() ? sn_fail(error, SINEW_CANCELLED, "cancelled") : SINEW_OK;
}

/* The session keeps what was made last. */
static void publish(sn_shared **kept, sn_shared *made) {
    sn_shared_drop(*kept);
    *kept = sn_shared_hold(made);
}

static const char *const RIG_KEYS[] = {"rig", NULL};

static sinew_status update_rig(update *u, sinew_error *error) {
    if (u->solver->rig && (u->session->given_rig || !changed(u, RIG_KEYS))) {
        u->rig = sn_shared_hold(u->solver->rig);
        return SINEW_OK;
    }
    sinew_session *session = u->session;
    uint64_t revision = newest(u, RIG_KEYS);
    if (session->rig && session->rig->revision == revision) {
        u->rig = sn_shared_hold(session->rig);
        return SINEW_OK;
    }
    if (session->given_rig) {
        u->rig = sn_shared_hold(session->given_rig);
    } else {
        sinew_rig *rig = NULL;
        sn_scope scope; /* readers know no monitor: they stop when the scope does */
        sn_scope_begin(&scope, u->monitor, 0, "reading");
        sinew_status status =
            sn_scope_end(&scope, sn_load_rig(&u->scene, session->loader, &rig, error), error);
        if (status != SINEW_OK) {
            sinew_rig_destroy(rig);
            return status;
        }
        u->rig = sn_shared_new(rig, release_rig);
        if (!u->rig) return sn_no_memory(error);
    }
    u->rig->revision = revision;
    u->rig->key = key_of_rig(u->rig->object);
    publish(&session->rig, u->rig);
    return SINEW_OK;
}

static const char *const CLIP_KEYS[] = {"model",   "weights", "steps", "curves",      "keys",
                                        "markers", "time",    "locks", "attenuation", NULL};

static void release_clip(void *object) {
    sn_clip_free(object);
    sn_free(object);
}

static sinew_status make_clip(update *u, sn_clip *clip, sinew_error *error) {
    const sinew_rig *rig = u->rig->object;
    sn_scope scope;
    sn_scope_begin(&scope, u->monitor, 0, "reading");
    SN_TRY(sn_scope_end(&scope,
                        sn_clip_create(&u->scene, rig, u->session->loader,
                                       !u->kind->needs_no_weights, u->monitor, clip, error),
                        error));
    if (clip->weights && sn_scene_has_locks(&u->scene)) {
        size_t count = (size_t)clip->frame_count * (size_t)rig->slider_count;
        clip->asked = sn_memdup(clip->weights, count, sizeof(double));
        if (!clip->asked) return sn_no_memory(error);
        SN_TRY(sn_locks_create(&u->scene, rig, u->session->loader, clip, &u->locks, error));
        SN_TRY(sn_locks_filter(&u->locks, rig, clip, u->monitor, error));
    }
    warn_about_limits(&u->scene, rig, clip, u->kind, u->monitor);
    return SINEW_OK;
}

static sinew_status update_clip(update *u, sinew_error *error) {
    sinew_solver *solver = u->solver;
    sinew_session *session = u->session;
    if (solver->clip && u->rig == solver->rig && u->kind == solver->kind &&
        !changed(u, CLIP_KEYS)) {
        u->clip = sn_shared_hold(solver->clip);
        return SINEW_OK;
    }
    u->new_locks = true;
    uint64_t revision = newest(u, CLIP_KEYS);
    sn_shared *kept = session->clip;
    if (kept && kept->revision == revision && same_key(kept->key, u->rig->key)) {
        u->clip = sn_shared_hold(kept);
        const sn_clip *clip = kept->object;
        if (!clip->asked) return SINEW_OK;
        return sn_locks_create(&u->scene, u->rig->object, session->loader, clip, &u->locks, error);
    }
    sn_clip *clip = SN_NEW0(sn_clip, 1);
    if (!clip) return sn_no_memory(error);
    sinew_status status = make_clip(u, clip, error);
    if (status == SINEW_OK) status = check_dropped(error);
    if (status != SINEW_OK) {
        release_clip(clip);
        return status;
    }
    u->clip = sn_shared_new(clip, release_clip);
    if (!u->clip) return sn_no_memory(error);
    u->clip->revision = revision, u->clip->key = u->rig->key;
    publish(&session->clip, u->clip);
    return SINEW_OK;
}

/* ---- structure and model --------------------------------------------------------------------- */

typedef struct built {
    const sn_model_kind *kind;
    void *structure;
    sn_shared *rig; /* outlives it */
    json_t *report; /* what was built, with warnings */
} built;

static void release_built(void *object) {
    built *b = object;
    if (b->structure && b->kind->discard) b->kind->discard(b->structure);
    sn_shared_drop(b->rig);
    json_decref(b->report);
    sn_free(b);
}

typedef struct derived {
    const sn_model_kind *kind;
    void *object;
    sn_shared *structure, *rig; /* outlive it */
} derived;

static void release_derived(void *object) {
    derived *d = object;
    if (d->object) d->kind->forget(d->object);
    sn_shared_drop(d->structure), sn_shared_drop(d->rig);
    sn_free(d);
}

static sn_model_setup setup_of(const update *u) {
    const derived *d = u->derived ? u->derived->object : NULL;
    return (sn_model_setup){.scene = &u->scene,
                            .rig = u->rig->object,
                            .clip = u->clip->object,
                            .loader = u->session->loader,
                            .cache = u->session->cache,
                            .derived = d ? d->object : NULL,
                            .monitor = u->monitor};
}

static sinew_status key_of_structure(const update *u, sinew_cache_key *key, sinew_error *error) {
    sinew_hash hash;
    sinew_hash_start(&hash);
    sinew_hash_add_text(&hash, u->kind->about.name);
    sinew_hash_add(&hash, &u->rig->key, sizeof u->rig->key);
    const json_t *parameters = sn_scene_at(&u->scene, "parameters");
    for (int i = 0; i < u->kind->about.parameter_count; i++) {
        const sinew_parameter *p = &u->kind->about.parameters[i];
        const json_t *value = json_object_get(parameters, p->name);
        if (p->cost < SINEW_COST_STRUCTURE || !value) continue;
        char *text;
        SN_TRY(sn_json_text(value, JSON_COMPACT, &text, error));
        sinew_hash_add_text(&hash, p->name);
        sinew_hash_add_text(&hash, text);
        sn_free(text);
    }
    sn_model_setup setup = setup_of(u);
    if (u->kind->key) u->kind->key(&setup, &hash);
    *key = sinew_hash_key(&hash);
    return SINEW_OK;
}

static sinew_status update_structure(update *u, sinew_error *error) {
    sinew_solver *solver = u->solver;
    sinew_session *session = u->session;
    sinew_cache_key key;
    SN_TRY(key_of_structure(u, &key, error));
    sn_shared *const known[] = {solver->structure, session->structure};
    for (int i = 0; i < 2; i++)
        if (known[i] && same_key(known[i]->key, key)) {
            u->structure = sn_shared_hold(known[i]);
            return SINEW_OK;
        }
    warn_about_unused(&u->scene, u->kind, u->monitor);
    warn_about_idle(&u->scene, u->kind, u->monitor);
    built *b = SN_NEW0(built, 1);
    if (!b) return sn_no_memory(error);
    b->kind = u->kind;
    b->rig = sn_shared_hold(u->rig);
    b->report = json_pack("{s:[]}", "warnings");
    sn_model_setup setup = setup_of(u);
    setup.report = b->report;
    sinew_status status = b->report ? SINEW_OK : sn_no_memory(error);
    sn_figures_lost(); /* by others, before */
    if (status == SINEW_OK && u->kind->build) status = u->kind->build(&setup, &b->structure, error);
    if (status == SINEW_OK && sn_figures_lost()) status = sn_no_memory(error);
    if (status == SINEW_OK) status = check_dropped(error);
    if (status != SINEW_OK) {
        release_built(b);
        return status;
    }
    u->structure = sn_shared_new(b, release_built);
    if (!u->structure) return sn_no_memory(error);
    u->structure->key = key, u->structure->revision = u->revision;
    publish(&session->structure, u->structure);
    return SINEW_OK;
}

/* What one solver derives from a rig, a structure and revisions is what another one wants. */
static sinew_status update_derived(update *u, sinew_error *error) {
    static const char *const parameters[] = {"parameters", NULL};
    if (!u->kind->derive) return SINEW_OK;
    uint64_t by_clip = newest(u, CLIP_KEYS), by_parameters = newest(u, parameters);
    uint64_t revision = by_clip > by_parameters ? by_clip : by_parameters;
    sn_shared *const known[] = {u->solver->derived, u->session->derived};
    const derived *before = NULL;
    for (int i = 0; i < 2; i++) {
        const derived *d = known[i] ? known[i]->object : NULL;
        if (!d || d->structure != u->structure || d->rig != u->rig) continue;
        if (known[i]->revision == revision) {
            u->derived = sn_shared_hold(known[i]);
            return SINEW_OK;
        }
        if (i == 0) before = d;
    }
    derived *d = SN_NEW0(derived, 1);
    if (!d) return sn_no_memory(error);
    d->kind = u->kind;
    d->structure = sn_shared_hold(u->structure), d->rig = sn_shared_hold(u->rig);
    sn_model_setup setup = setup_of(u);
    sinew_status status = u->kind->derive(&setup, ((built *)u->structure->object)->structure,
                                          before ? before->object : NULL,
                                          before ? u->changed : UINT32_MAX, &d->object, error);
    if (status == SINEW_OK) status = check_dropped(error);
    if (status != SINEW_OK) {
        release_derived(d);
        return status;
    }
    u->derived = sn_shared_new(d, release_derived);
    if (!u->derived) return sn_no_memory(error);
    u->derived->revision = revision;
    publish(&u->session->derived, u->derived);
    return SINEW_OK;
}

static void release_floor(void *object) {
    sn_floor_destroy(object);
}

/* With "hold": "auto", frames of models that have it stay above the floor of the poses. */
static sinew_status update_floor(update *u, sinew_error *error) {
    sinew_solver *solver = u->solver;
    sn_model_setup setup = setup_of(u);
    if (!sn_holds_floor(u->kind, &setup)) return SINEW_OK;
    sn_shared *const known[] = {solver->floor, u->session->floor};
    for (int i = 0; i < 2 && !u->floor; i++)
        if (known[i] && same_key(known[i]->key, u->rig->key)) u->floor = sn_shared_hold(known[i]);
    if (!u->floor) {
        sn_floor *floor;
        SN_TRY(sn_holds_make_floor(&setup, &floor, error));
        if (!floor) return SINEW_OK;
        u->floor = sn_shared_new(floor, release_floor);
        if (!u->floor) return sn_no_memory(error);
        u->floor->key = u->rig->key, u->floor->revision = u->revision;
        publish(&u->session->floor, u->floor);
    }
    return sn_floor_work_create(u->floor->object, &u->floor_work, error);
}

static sinew_status update_model(update *u, sinew_error *error) {
    sinew_solver *solver = u->solver;
    sn_model_setup setup = setup_of(u);
    bool same = solver->model && u->structure == solver->structure && u->rig == solver->rig;
    if (same && (u->changed == 0 || !u->kind->update)) {
        /* Models that do not read the scene after they are built have nothing to read again. */
        u->model = solver->model;
        return SINEW_OK;
    }
    if (same) {
        u->model = solver->model;
        solver->torn = true; /* until all of it is done */
        SN_TRY(u->kind->update(solver->model, &setup, u->changed, error));
        /* The model uses it from now on, even if the call is cancelled at its end. */
        publish(&solver->derived, u->derived);
        return SINEW_OK;
    }
    return u->kind->create(&setup, ((built *)u->structure->object)->structure, &u->model, error);
}

static void abandon(update *u) {
    if (u->model && u->model != u->solver->model) u->kind->destroy(u->model);
    sn_shared_drop(u->derived), sn_shared_drop(u->structure);
    sn_shared_drop(u->clip), sn_shared_drop(u->rig);
    sn_floor_work_destroy(u->floor_work), sn_shared_drop(u->floor);
    sn_locks_free(&u->locks);
}

static void commit(update *u) {
    sinew_solver *s = u->solver;
    bool other_rig = u->rig != s->rig;
    if (s->model && s->model != u->model) s->kind->destroy(s->model);
    sn_shared_drop(s->derived), sn_shared_drop(s->structure);
    sn_shared_drop(s->clip), sn_shared_drop(s->rig);
    s->rig = u->rig, s->clip = u->clip, s->structure = u->structure, s->derived = u->derived;
    sn_floor_work_destroy(s->floor_work), sn_shared_drop(s->floor);
    s->floor = u->floor, s->floor_work = u->floor_work;
    if (u->new_locks) {
        /* a manipulator reads the locks */
        sinew_manipulator_destroy(s->manipulator), s->manipulator = NULL;
        sn_locks_free(&s->locks);
        s->locks = u->locks;
    }
    if (other_rig) {
        sinew_manipulator_destroy(s->manipulator), s->manipulator = NULL;
        sinew_slider_space_destroy(s->space), s->space = NULL;
        sinew_linear_destroy(s->linear), s->linear = NULL;
        sn_free(s->positions), sn_free(s->weights), sn_free(s->normals);
        s->positions = s->weights = s->normals = NULL;
    }
    s->kind = u->kind, s->model = u->model;
    /* Frames of the clip are those of the new document from the first on. */
    if (u->changed) s->next = -1;
    s->torn = false;
    s->revision = u->revision;
}

/* What solvers share: built by one of them while the others wait for it. */
static sinew_status update_shared(update *u, sinew_error *error) {
    SN_TRY(update_rig(u, error));
    SN_TRY(update_clip(u, error));
    SN_TRY(update_structure(u, error));
    SN_TRY(update_derived(u, error));
    return update_floor(u, error);
}

/* Another solver may build for seconds: a cancel ends the wait. */
static sinew_status enter_building(update *u, sinew_error *error) {
    const struct timespec moment = {.tv_nsec = 1000000};
    while (pthread_mutex_trylock(&u->session->building)) {
        if (sn_cancelled(u->monitor)) return sn_fail(error, SINEW_CANCELLED, "cancelled");
        nanosleep(&moment, NULL);
    }
    return SINEW_OK;
}

static sinew_status run(update *u, sinew_error *error) {
    const char *name = json_string_value(sn_scene_at(&u->scene, "model"));
    u->kind = sn_model_kind_find(name ? name : "linear");
    SN_TRY(enter_building(u, error));
    sinew_status status = update_shared(u, error);
    pthread_mutex_unlock(&u->session->building);
    /* The solver's own, so that the threads of a clip create their states at the same time. */
    return status == SINEW_OK ? update_model(u, error) : status;
}

sinew_status sinew_solver_update(sinew_solver *solver, const sinew_monitor *monitor,
                                 sinew_error *error) {
    SN_REQUIRE(solver, error);
    sinew_session *session = solver->session;
    if (solver->revision == atomic_load(&session->revision)) return SINEW_OK;
    double began = sn_now();
    sn_watch watch;
    update u = {.solver = solver, .session = session};
    u.monitor = sn_watch_start(&watch, session, monitor, 0);
    u.scene = sn_session_view(session, &u.revision, u.key_revision);
    for (int k = 0; k < SN_KEYS; k++)
        if (solver->torn || u.key_revision[k] > solver->revision) u.changed |= 1u << k;
    u.changed &= ~(bit_of("outputs") | bit_of("notes") | bit_of("studio"));
    watch.monitor.strict |= json_is_true(sn_scene_at(&u.scene, "strict"));
    sn_call call;
    sn_call_begin(&call, u.monitor);
    sn_orderings orderings;
    sn_orderings_begin(&orderings, session->cache, u.monitor);
    sinew_status status = run(&u, error);
    sn_orderings_end(&orderings); /* in the call: what is unfinished is not stored */
    status = sn_call_end(&call, status, error);
    sn_session_release_view(session, &u.scene);
    if (status == SINEW_OK)
        commit(&u);
    else
        abandon(&u);
    solver->build_seconds += sn_now() - began;
    return status;
}

const sinew_capture *sinew_solver_capture(const sinew_solver *solver) {
    if (!solver || !solver->structure || !solver->kind->capture) return NULL;
    return solver->kind->capture(sn_solver_structure(solver));
}

const sinew_modal *sinew_solver_modal(const sinew_solver *solver) {
    if (!solver || !solver->structure || solver->kind != &sn_model_modal) return NULL;
    return sn_solver_structure(solver);
}

const sinew_modal_motion *sinew_solver_modal_motion(const sinew_solver *solver) {
    return sinew_solver_modal(solver) && solver->model ? sn_model_modal_motion(solver->model)
                                                       : NULL;
}

json_t *sn_solver_report(const sinew_solver *solver) {
    json_t *report = json_object();
    if (!report || !solver->model) return report;
    sn_figures_lost(); /* by others, before */
    const sinew_rig *rig = sinew_solver_rig(solver);
    const built *b = solver->structure->object;
    sn_figure_put(report, "model", json_string(solver->kind->about.name));
    sn_figure_put(report, "vertices", json_integer(rig->neutral->vertex_count));
    sn_figure_put(report, "triangles", json_integer(rig->neutral->triangle_count));
    bool good = !json_object_update(report, b->report);
    if (solver->kind->describe) solver->kind->describe(solver->model, report);
    if (!sn_figures_lost() && good) return report;
    json_decref(report);
    return NULL;
}

const void *sn_solver_structure(const sinew_solver *solver) {
    return ((const built *)solver->structure->object)->structure;
}
