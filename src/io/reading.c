#include "io/reading.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/sized.h"

static _Thread_local sn_reading *reading_now;
static _Thread_local sn_writing *writing_now;

void sinew_source_init(sinew_source *source) {
    *source = (sinew_source){.size = sizeof *source};
}

void sinew_sink_init(sinew_sink *sink) {
    *sink = (sinew_sink){.size = sizeof *sink};
}

/* ---- reading --------------------------------------------------------------------------------- */

sinew_status sn_reading_begin(sn_reading *reading, int count, const sinew_source *const *sources,
                              const sinew_monitor *monitor, sinew_error *error) {
    size_t limit = 0;
    SN_REQUIRE(count >= 1 && sources, error);
    for (int i = 0; i < count; i++) {
        SN_REQUIRE(sources[i], error);
        SN_INPUT(sinew_source, own, sources[i], error);
        SN_REQUIRE(own.name && !(own.bytes && own.read), error);
        if (own.memory_limit && (!limit || own.memory_limit < limit)) limit = own.memory_limit;
    }
    *reading = (sn_reading){.count = count, .sources = sources, .outer = reading_now};
    sn_scope_begin(&reading->scope, monitor, limit, "reading");
    reading_now = reading;
    return SINEW_OK;
}

sinew_status sn_reading_end(sn_reading *reading, sinew_status status, sinew_error *error) {
    reading_now = reading->outer;
    return sn_scope_end(&reading->scope, status, error);
}

/* The source of a name, with fields that the caller does not know zero. */
static bool find_source(const char *name, sinew_source *own) {
    for (int i = 0; reading_now && i < reading_now->count; i++) {
        sinew_source made = {.size = sizeof made};
        if (sn_options_read(&made, reading_now->sources[i], NULL, __func__) != SINEW_OK ||
            strcmp(made.name, name) != 0)
            continue;
        *own = made;
        return true;
    }
    return false;
}

static sinew_status copy_bytes(const sinew_source *source, char **bytes, size_t *size,
                               sinew_error *error) {
    *bytes = sn_alloc(source->byte_count + 1, 1);
    if (!*bytes) return sn_no_memory(error);
    if (source->byte_count) memcpy(*bytes, source->bytes, source->byte_count);
    (*bytes)[ *size = source->byte_count] = '\0';
    return SINEW_OK;
}

static sinew_status drain(const sinew_source *source, char **bytes, size_t *size,
                          sinew_error *error) {
    enum { CHUNK = 1 << 16 };
    char *text = NULL;
    size_t used = 0, capacity = 0, got = 0;
    sinew_status status = SINEW_OK;
    do {
        if (sn_scope_poll() || !SN_RESERVE(text, capacity, used + CHUNK + 1)) {
            status = sn_no_memory(error);
            break;
        }
        got = 0;
        status = source->read(text + used, CHUNK, &got, source->user, error);
        if (status == SINEW_OK && got > CHUNK)
            status = sn_misuse(error, "a stream gave more bytes than there was room for", __func__);
        if (status == SINEW_OK) used += got;
    } while (status == SINEW_OK && got > 0);
    if (status != SINEW_OK) {
        sn_free(text);
        return status;
    }
    text[ *size = used] = '\0';
    *bytes = text;
    return SINEW_OK;
}

static sinew_status load_source(const sinew_source *source, char **bytes, size_t *size,
                                sinew_error *error) {
    if (source->read) return drain(source, bytes, size, error);
    if (source->bytes) return copy_bytes(source, bytes, size, error);
    return sn_file_read(source->name, bytes, size, error);
}

/* A file that belongs to one of the sources. */
static sinew_status load_beside(const char *path, char **bytes, size_t *size, sinew_error *error) {
    for (int i = 0; i < reading_now->count; i++) {
        sinew_source own = {.size = sizeof own}, beside = {.size = sizeof beside, .name = path};
        SN_TRY(sn_options_read(&own, reading_now->sources[i], error, __func__));
        if (!own.bytes && !own.read) return sn_file_read(path, bytes, size, error);
        if (!own.open) continue;
        SN_TRY(own.open(path, &beside, own.user, error));
        return load_source(&beside, bytes, size, error);
    }
    return sn_fail(error, SINEW_IO, "%s: is not among the sources", path);
}

sinew_status sn_load(const char *path, char **bytes, size_t *size, sinew_error *error) {
    sinew_source own;
    *bytes = NULL;
    if (!reading_now) return sn_file_read(path, bytes, size, error);
    if (find_source(path, &own)) return load_source(&own, bytes, size, error);
    return load_beside(path, bytes, size, error);
}

bool sn_path_is_source(const char *path) {
    sinew_source own;
    return find_source(path, &own) && (own.bytes || own.read);
}

bool sn_path_is_folder(const char *path) {
    return !sn_path_is_source(path) && sn_is_folder(path);
}

/* ---- writing --------------------------------------------------------------------------------- */

sinew_status sn_writing_begin(sn_writing *writing, const sinew_sink *sink,
                              const sinew_monitor *monitor, sinew_error *error) {
    SN_REQUIRE(sink, error);
    SN_INPUT(sinew_sink, own, sink, error);
    SN_REQUIRE(own.name, error);
    *writing = (sn_writing){.sink = own, .outer = writing_now};
    sn_scope_begin(&writing->scope, monitor, 0, "writing");
    writing_now = writing;
    return SINEW_OK;
}

sinew_status sn_writing_end(sn_writing *writing, sinew_status status, sinew_error *error) {
    writing_now = writing->outer;
    return sn_scope_end(&writing->scope, status, error);
}

bool sn_storing_elsewhere(void) {
    return writing_now && writing_now->sink.write;
}

sinew_status sn_store(const char *path, const void *bytes, size_t size, sinew_error *error) {
    if (sn_scope_poll()) return sn_no_memory(error); /* cancelled: sn_scope_end reports it */
    if (!sn_storing_elsewhere()) return sn_file_write(path, bytes, size, error);
    return writing_now->sink.write(path, bytes, size, writing_now->sink.user, error);
}
