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

typedef struct range {
    uint32_t first, last;
} range;

static bool in_ranges(uint32_t point, int count, const range *ranges) {
    for (int i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return true;
    return false;
}

#define IN(point, ranges) in_ranges(point, sizeof ranges / sizeof *ranges, ranges)

/* What moves the cursor, turns the direction of text, or is shown as nothing at all, so that two
 * names that differ look alike (Unicode's default ignorable code points). */
static const range hidden[] = {
    {0, 0x1f},          {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},
    {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
    {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};
/* Scripts whose letters take other shapes beside a joiner: Arabic and its neighbours, Mongolian,
 * and those that descend from Brahmi. */
static const range joined[] = {
    {0x600, 0x85f},     {0x8a0, 0xdff},     {0xf00, 0x109f},    {0x1780, 0x18af}, {0x1900, 0x1cff},
    {0xa800, 0xa8ff},   {0xa930, 0xaaff},   {0xabc0, 0xabff},   {0xfb50, 0xfdcf}, {0xfe70, 0xfefc},
    {0x10a00, 0x10fff}, {0x11000, 0x11fff}, {0x1e900, 0x1e95f},
};
static const range ideographs[] = {
    {0x2e80, 0x2fff}, {0x3005, 0x3007}, {0x3400, 0x9fff}, {0xf900, 0xfaff}, {0x20000, 0x3ffff},
};
/* Pictures, and symbols that have a coloured and a plain shape. */
static const range symbols[] = {
    {0xa9, 0xa9},     {0xae, 0xae},     {0x203c, 0x203c}, {0x2049, 0x2049},
    {0x2100, 0x2bff}, {0x3030, 0x303d}, {0x3297, 0x3299}, {0x1f000, 0x1fbff},
};

/* Whether the character has a shape of its own, or changes that of the one before it as its script
 * requires. `before` is 0 after a character that is not shown. */
static bool is_shown(uint32_t before, uint32_t point, uint32_t after) {
    if (!IN(point, hidden)) return (point & 0xfffe) != 0xfffe;
    if (point == 0x200c) return IN(before, joined);
    if (point == 0x200d)
        return IN(before, joined) ||
               ((IN(before, symbols) || before == 0xfe0f) && IN(after, symbols));
    if (point >= 0x180b && point <= 0x180f && point != 0x180e)
        return before >= 0x1820 && before <= 0x18aa;
    if (point >= 0xe0100 && point <= 0xe01ef) return IN(before, ideographs);
    if (point < 0xfe00 || point > 0xfe0f) return false;
    bool key = before == '#' || before == '*' || (before >= '0' && before <= '9');
    if (key) return after == 0x20e3;
    return IN(before, symbols) || IN(before, ideographs) || IN(before, joined);
}

void sn_make_printable(char *text) {
    uint32_t before = 0;
    for (unsigned char *c = (unsigned char *)text; *c;) {
        uint32_t point = 0, after = 0;
        int length = decode(c, &point);
        if (length > 0 && !decode(c + length, &after)) after = 0;
        bool good = length > 0 && is_shown(before, point, after);
        before = good ? point : 0;
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
