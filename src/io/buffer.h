/* A file being built in memory. A failed allocation is remembered and reported once, at the end, so
 * that writers stay free of checks. */
#ifndef SN_IO_BUFFER_H
#define SN_IO_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sinew/status.h"

typedef struct sn_buffer {
    char *bytes;
    size_t size;
    size_t capacity;
    bool failed;
} sn_buffer;

void sn_buffer_free(sn_buffer *buffer);
/* Room for `size` more bytes, or NULL. */
char *sn_buffer_room(sn_buffer *buffer, size_t size);
void sn_buffer_add(sn_buffer *buffer, const void *bytes, size_t size);
void sn_buffer_text(sn_buffer *buffer, const char *text);
void sn_buffer_print(sn_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sn_buffer_number(sn_buffer *buffer, double value);
void sn_buffer_integer(sn_buffer *buffer, int64_t value);
/* `separator`, the numbers with `separator` between them. */
void sn_buffer_numbers(sn_buffer *buffer, char separator, const double *values, int count);

static inline void sn_buffer_char(sn_buffer *buffer, char c) {
    char *room = sn_buffer_room(buffer, 1);
    if (room) *room = c, buffer->size++;
}

#endif
