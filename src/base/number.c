/* Based on: W. Clinger, "How to read floating point numbers accurately" (1990), the exact fast path
 * for short decimals. We differ in: an extended-precision middle path for 16 to 19 digits, taken
 * only when the second rounding provably cannot matter. */
#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Powers of ten that are exact doubles. */
static const double exact_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { EXACT_POWER = 22, DIGITS_IN_64_BITS = 19 };

static locale_t plain_locale;
static pthread_once_t plain_locale_once = PTHREAD_ONCE_INIT;

static void make_plain_locale(void) {
    plain_locale = newlocale(LC_ALL_MASK, "C", NULL);
}

static locale_t plain(void) {
    pthread_once(&plain_locale_once, make_plain_locale);
    return plain_locale;
}

static double slow_number(const char *start) {
    return plain() ? strtod_l(start, NULL, plain()) : strtod(start, NULL);
}

/* Changes the locale of this thread only, for the duration of the call. */
int sn_vprint(char *text, size_t size, const char *format, va_list arguments) {
    locale_t host = plain() ? uselocale(plain()) : (locale_t)0;
    int length = vsnprintf(text, size, format, arguments);
    if (host) uselocale(host);
    return length;
}

int sn_print(char *text, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = sn_vprint(text, size, format, arguments);
    va_end(arguments);
    return length;
}

void sn_print_to(FILE *stream, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    locale_t host = plain() ? uselocale(plain()) : (locale_t)0;
    vfprintf(stream, format, arguments);
    if (host) uselocale(host);
    va_end(arguments);
}

/* m * 10^e rounded once, if that is possible without multi-precision arithmetic.
 *
 * m < 2^53 and |e| <= 22: both factors are exact doubles, so one operation rounds once. With a
 * 64-bit significand (x87) m and 10^|e|, |e| <= 27, are exact and r = m * 10^e is rounded to 64
 * bits. Rounding r again to 53 bits errs only if r lies exactly half way between two doubles: its
 * low 11 bits are 100 0000 0000. */
static bool quick_number(uint64_t m, int e, double *value) {
    if (m <= (UINT64_C(1) << DBL_MANT_DIG) && e >= -EXACT_POWER && e <= EXACT_POWER) {
        *value = e < 0 ? (double)m / exact_powers[-e] : (double)m * exact_powers[e];
        return true;
    }
#if LDBL_MANT_DIG == 64
    if (m != 0 && e >= -27 && e <= 27) {
        static const long double tens[] = {1e0L,  1e3L,  1e6L,  1e9L,  1e12L,
                                           1e15L, 1e18L, 1e21L, 1e24L, 1e27L};
        int n = e < 0 ? -e : e;
        long double power = tens[n / 3] * (long double)exact_powers[n % 3];
        long double r = e < 0 ? (long double)m / power : (long double)m * power;
        uint64_t significand;
        memcpy(&significand, &r, sizeof significand);
        if ((significand & 0x7ff) != 0x400) {
            *value = (double)r;
            return true;
        }
    }
#endif
    return false;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool special_number(const char **at, bool negative, double *value) {
    static const struct {
        const char *text;
        double value;
    } names[] = {{"nan", NAN}, {"infinity", INFINITY}, {"inf", INFINITY}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i].text);
        if (strncasecmp(*at, names[i].text, length) != 0) continue;
        *at += length;
        *value = negative ? -names[i].value : names[i].value;
        return true;
    }
    return false;
}

bool sn_number(const char **at, double *value) {
    const char *start = *at;
    const char *c = start;
    bool negative = *c == '-';
    if (*c == '-' || *c == '+') c++;
    uint64_t m = 0;
    int digits = 0;    /* significant digits in m */
    int exponent = 0;  /* decimal exponent of the last digit in m */
    bool any = false;  /* at least one digit was seen */
    bool more = false; /* nonzero digits did not fit in m */
    for (; is_digit(*c); c++) {
        any = true;
        if (digits < DIGITS_IN_64_BITS) {
            m = 10 * m + (uint64_t)(*c - '0');
            digits += m != 0;
        } else {
            more |= *c != '0';
            exponent++;
        }
    }
    if (*c == '.') {
        c++;
        for (; is_digit(*c); c++) {
            any = true;
            if (digits < DIGITS_IN_64_BITS) {
                m = 10 * m + (uint64_t)(*c - '0');
                digits += m != 0;
                exponent--;
            } else {
                more |= *c != '0';
            }
        }
    }
    if (!any) {
        c = start + (*start == '-' || *start == '+');
        if (!special_number(&c, negative, value)) return false;
        *at = c;
        return true;
    }
    if (*c == 'e' || *c == 'E') {
        const char *e = c + 1;
        bool down = *e == '-';
        if (*e == '-' || *e == '+') e++;
        if (is_digit(*e)) {
            int power = 0;
            for (; is_digit(*e); e++)
                if (power < 100000) power = 10 * power + (*e - '0');
            exponent += down ? -power : power;
            c = e;
        }
    }
    double magnitude;
    if (m == 0 && !more)
        magnitude = 0;
    else if (more || !quick_number(m, exponent, &magnitude))
        magnitude = fabs(slow_number(start));
    *value = negative ? -magnitude : magnitude;
    *at = c;
    return true;
}

bool sn_integer(const char **at, int64_t *value) {
    const char *c = *at;
    bool negative = *c == '-';
    if (*c == '-' || *c == '+') c++;
    if (!is_digit(*c)) return false;
    int64_t result = 0;
    for (; is_digit(*c); c++) {
        if (__builtin_mul_overflow(result, (int64_t)10, &result)) return false;
        if (__builtin_sub_overflow(result, (int64_t)(*c - '0'), &result)) return false;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, result, &result)) return false;
    *value = result;
    *at = c;
    return true;
}

size_t sn_integer_format(int64_t value, char *text) {
    char reversed[24];
    size_t count = 0, length = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do reversed[count++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) text[length++] = '-';
    while (count) text[length++] = reversed[--count];
    return length;
}

/* digits * 10^-places in plain notation, or with an exponent if that would be long. */
static size_t place_point(uint64_t digits, int places, char *text) {
    char plain[24];
    int count = (int)sn_integer_format((int64_t)digits, plain);
    size_t length = 0;
    if (places <= 0 && count - places <= 17) {
        memcpy(text, plain, (size_t)count), length = (size_t)count;
        for (int i = 0; i < -places; i++) text[length++] = '0';
    } else if (places > 0 && places < count) {
        int whole = count - places;
        memcpy(text, plain, (size_t)whole), length = (size_t)whole;
        text[length++] = '.';
        memcpy(text + length, plain + whole, (size_t)places), length += (size_t)places;
    } else if (places >= count && places - count <= 4) {
        text[length++] = '0', text[length++] = '.';
        for (int i = 0; i < places - count; i++) text[length++] = '0';
        memcpy(text + length, plain, (size_t)count), length += (size_t)count;
    } else {
        text[length++] = plain[0];
        if (count > 1) {
            text[length++] = '.';
            memcpy(text + length, plain + 1, (size_t)count - 1), length += (size_t)count - 1;
        }
        text[length++] = 'e';
        length += sn_integer_format(count - 1 - places, text + length);
    }
    return length;
}

/* The fewest decimal places k with m = round(v 10^k), m / 10^k = v: m and 10^k are exact, so the
 * text "m e-k" reads back as v by the rounding of one division. */
static bool quick_format(double magnitude, bool single, uint64_t *digits, int *places) {
    for (int k = 0; k <= EXACT_POWER; k++) {
        double scaled = magnitude * exact_powers[k];
        if (scaled >= 9007199254740992.0) return false;
        double m = nearbyint(scaled);
        double back = m / exact_powers[k];
        if (single ? (double)(float)back == magnitude : back == magnitude) {
            *digits = (uint64_t)m;
            *places = k;
            return true;
        }
    }
    return false;
}

/* Digits from the C library. */
static void slow_format(double magnitude, bool single, uint64_t *digits, int *places) {
    for (int precision = single ? 6 : 15;; precision++) {
        char text[64];
        sn_print(text, sizeof text, "%.*e", precision - 1, magnitude);
        uint64_t m = 0;
        int count = 0, exponent = 0;
        const char *c = text;
        for (; *c && *c != 'e'; c++)
            if (is_digit(*c)) m = 10 * m + (uint64_t)(*c - '0'), count++;
        if (*c == 'e') exponent = atoi(c + 1);
        int fraction = count - 1 - exponent;
        while (m && m % 10 == 0) m /= 10, fraction--;
        *digits = m;
        *places = fraction;
        if (precision >= (single ? 9 : 17)) return;
        char back_text[SN_NUMBER_SIZE];
        back_text[place_point(m, fraction, back_text)] = '\0';
        const char *at = back_text;
        double back = 0;
        sn_number(&at, &back);
        if (single ? (double)(float)back == magnitude : back == magnitude) return;
    }
}

size_t sn_number_format(double value, char *text) {
    if (isnan(value)) return memcpy(text, "nan", 3), 3;
    size_t length = 0;
    if (signbit(value)) text[length++] = '-';
    double magnitude = fabs(value);
    if (isinf(magnitude)) return memcpy(text + length, "inf", 3), length + 3;
    if (magnitude == 0) return text[length] = '0', length + 1;
    bool single = magnitude <= FLT_MAX && (double)(float)magnitude == magnitude;
    uint64_t digits;
    int places;
    if (!quick_format(magnitude, single, &digits, &places))
        slow_format(magnitude, single, &digits, &places);
    return length + place_point(digits, places, text + length);
}
