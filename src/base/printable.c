#include "base/printable.h"

#include <stdint.h>

#include "base/memory.h"

/* Length in bytes and code point of the UTF-8 sequence that starts here; 0 if none does. */
static int decode(const unsigned char *c, uint32_t *point) {
    int length = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (length == 0) return 0;
    *point = *c & lead[length];
    for (int i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) return 0; /* also true for the terminating zero */
        *point = *point << 6 | (c[i] & 0x3f);
    }
    bool surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point < least[length] || *point > 0x10ffff || surrogate ? 0 : length;
}

static bool is_printable(uint32_t point) {
    if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return false; /* C0, DEL, C1 */
    if (point >= 0x2028 && point <= 0x202e) return false; /* line separators, directional marks */
    if (point == 0x200e || point == 0x200f || point == 0x061c) return false;
    if (point >= 0x2066 && point <= 0x2069) return false; /* isolates */
    return point != 0xfeff;
}

void sn_make_printable(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c;) {
        uint32_t point = 0;
        int length = decode(c, &point);
        bool good = length > 0 && is_printable(point);
        for (int i = 0; i < (length > 0 ? length : 1); i++, c++)
            if (!good) *c = '?';
    }
}

bool sn_is_utf8(const char *text) {
    uint32_t point;
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int length = decode(c, &point);
        if (length == 0) return false;
        c += length;
    }
    return true;
}

char *sn_to_utf8(const char *text, size_t size) {
    char *copy = sn_strndup(text, size);
    if (!copy || sn_is_utf8(copy)) return copy;
    char *wide = SN_NEW(char, 2 * size + 1), *to = wide;
    for (const unsigned char *c = (const unsigned char *)copy; wide && *c; c++) {
        if (*c >= 0x80) *to++ = (char)(0xc0 | *c >> 6);
        *to++ = (char)(*c < 0x80 ? *c : 0x80 | (*c & 0x3f));
    }
    if (wide) *to = 0;
    sn_free(copy);
    return wide;
}
