#include "base/scope.h"

#include "base/monitor.h"
#include "base/threads.h"

static const double POLL_SECONDS = 2e-3;

static _Thread_local sn_scope *current;

void sn_scope_begin(sn_scope *scope, const sinew_monitor *monitor, size_t limit,
                    const char *stage) {
    *scope = (sn_scope){.monitor = monitor, .limit = limit, .stage = stage, .outer = current};
    scope->cancelled = sn_cancelled(monitor);
    current = scope;
}

sinew_status sn_scope_end(sn_scope *scope, sinew_status status, sinew_error *error) {
    current = scope->outer;
    if (scope->cancelled) return sn_fail(error, SINEW_CANCELLED, "cancelled");
    if (scope->met && status != SINEW_OK)
        return sn_fail(error, SINEW_NO_MEMORY, "out of memory: the limit of this call is %zu bytes",
                       scope->limit);
    if (status == SINEW_OK) sn_progress(scope->monitor, 1, scope->stage);
    return status;
}

bool sn_scope_active(void) {
    return current != NULL;
}

void sn_scope_progress(double fraction) {
    if (current) current->fraction = fraction;
}

bool sn_scope_poll(void) {
    sn_scope *scope = current;
    if (!scope) return false;
    if (scope->cancelled || !scope->monitor) return scope->cancelled;
    double now = sn_now();
    if (now - scope->polled < POLL_SECONDS) return false;
    scope->polled = now;
    sn_progress(scope->monitor, scope->fraction, scope->stage);
    return scope->cancelled = sn_cancelled(scope->monitor);
}

bool sn_scope_allows(size_t before, size_t after) {
    sn_scope *scope = current;
    if (!scope) return true;
    if (after > before && sn_scope_poll()) return false;
    if (scope->limit && after > before && after - before > scope->limit - scope->used) {
        scope->met = true;
        return false;
    }
    if (after >= before)
        scope->used += after - before;
    else
        scope->used -= before - after < scope->used ? before - after : scope->used;
    return true;
}
