#include "io/buffer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/scope.h"

void sn_buffer_free(sn_buffer *buffer) {
    sn_free(buffer->bytes);
    memset(buffer, 0, sizeof *buffer);
}

char *sn_buffer_room(sn_buffer *buffer, size_t size) {
    if (buffer->failed) return NULL;
    /* Asked now and then: a writer that is cancelled finds no more room. */
    if (buffer->size >> 16 != (buffer->size + size) >> 16 && sn_scope_poll()) {
        buffer->failed = true;
        return NULL;
    }
    if ((!buffer->bytes || size > buffer->capacity - buffer->size) &&
        !SN_RESERVE(buffer->bytes, buffer->capacity, buffer->size + size + 4096)) {
        buffer->failed = true;
        return NULL;
    }
    return buffer->bytes + buffer->size;
}

void sn_buffer_add(sn_buffer *buffer, const void *bytes, size_t size) {
    char *room = sn_buffer_room(buffer, size);
    if (!room || !size) return;
    memcpy(room, bytes, size);
    buffer->size += size;
}

void sn_buffer_text(sn_buffer *buffer, const char *text) {
    sn_buffer_add(buffer, text, strlen(text));
}

void sn_buffer_print(sn_buffer *buffer, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = sn_vprint(NULL, 0, format, arguments);
    va_end(arguments);
    char *room = length < 0 ? NULL : sn_buffer_room(buffer, (size_t)length + 1);
    if (room) {
        sn_vprint(room, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    }
    va_end(again);
}

void sn_buffer_number(sn_buffer *buffer, double value) {
    char *room = sn_buffer_room(buffer, SN_NUMBER_SIZE);
    if (room) buffer->size += sn_number_format(value, room);
}

void sn_buffer_integer(sn_buffer *buffer, int64_t value) {
    char *room = sn_buffer_room(buffer, SN_NUMBER_SIZE);
    if (room) buffer->size += sn_integer_format(value, room);
}

void sn_buffer_numbers(sn_buffer *buffer, char separator, const double *values, int count) {
    for (int i = 0; i < count; i++) {
        sn_buffer_char(buffer, separator);
        sn_buffer_number(buffer, values[i]);
    }
}
