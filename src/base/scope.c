#include "base/scope.h"

#include <stdatomic.h>

#include "base/monitor.h"
#include "base/status.h"
#include "base/threads.h"
#include "sinew/monitored.h"

static const double POLL_SECONDS = 1e-3;

static _Thread_local sn_scope *current;
static atomic_bool always;

void sn_poll_always(bool every) {
    atomic_store(&always, every);
}

bool sn_polls_always(void) {
    return atomic_load_explicit(&always, memory_order_relaxed);
}

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
    if (status == SINEW_OK && scope->stage) sn_progress(scope->monitor, 1, scope->stage);
    return status;
}

bool sn_scope_active(void) {
    return current != NULL;
}

bool sn_scope_cancelled(void) {
    return current && current->cancelled;
}

void sn_scope_cancel(void) {
    if (current) current->cancelled = true;
}

void sn_scope_progress(double fraction) {
    if (current) current->fraction = fraction;
}

bool sn_scope_poll(void) {
    sn_scope *scope = current;
    if (!scope) return false;
    if (scope->cancelled || !scope->monitor) return scope->cancelled;
    double now = sn_now();
    if (now - scope->polled < POLL_SECONDS && !sn_polls_always()) return false;
    scope->polled = now;
    if (scope->stage) sn_progress(scope->monitor, scope->fraction, scope->stage);
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

void sn_call_begin(sn_call *call, const sinew_monitor *monitor) {
    call->monitor = monitor;
    if (!monitor) return;
    call->before = sn_monitor_enter(monitor);
    sn_scope_begin(&call->scope, monitor, 0, NULL);
}

sinew_status sn_call_end(sn_call *call, sinew_status status, sinew_error *error) {
    if (!call->monitor) return status;
    status = sn_scope_end(&call->scope, status, error);
    sn_monitor_leave(call->before);
    return status;
}

sinew_status sinew_call_monitored(const sinew_monitor *monitor, sinew_monitored_function *function,
                                  void *user, sinew_error *error) {
    SN_REQUIRE(function, error);
    sn_call call;
    sn_call_begin(&call, monitor);
    return sn_call_end(&call, function(user, error), error);
}
