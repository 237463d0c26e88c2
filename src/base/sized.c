#include "base/sized.h"

#include <string.h>

static uint32_t size_of(const void *sized) {
    uint32_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

sinew_status sn_options_read(void *own, const void *given, sinew_error *error,
                             const char *function) {
    if (!given) return SINEW_OK;
    uint32_t size = size_of(given), known = size_of(own);
    if (size < sizeof size)
        return sn_misuse(error, "options have no size: initialize them first", function);
    memcpy((char *)own + sizeof size, (const char *)given + sizeof size,
           (size < known ? size : known) - sizeof size);
    return SINEW_OK;
}

bool sn_info_ready(const void *info) {
    return !info || size_of(info) >= sizeof(uint32_t);
}

void sn_info_write(void *info, const void *own, size_t own_size) {
    if (!info) return;
    uint32_t size = size_of(info);
    if (size <= sizeof size) return;
    memcpy((char *)info + sizeof size, (const char *)own + sizeof size,
           (size < own_size ? size : own_size) - sizeof size);
}

void sn_infos_write(void *infos, int index, const void *own, size_t own_size) {
    if (!infos) return;
    uint32_t size = size_of(infos);
    char *at = (char *)infos + (size_t)index * size;
    memcpy(at, &size, sizeof size);
    sn_info_write(at, own, own_size);
}
