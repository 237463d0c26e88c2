/* Decimal numbers in text, independent of the locale (a host may have set one with a decimal
 * comma). The library reads and prints numbers only through these functions; scripts/lint enforces
 * it.
 *
 * Reading is correctly rounded. Writing produces the shortest decimal that reads back as the same
 * number. Input text must be zero-terminated. */
#ifndef SN_BASE_NUMBER_H
#define SN_BASE_NUMBER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Reads a decimal number (also "nan", "inf") at *at and moves *at past it. Returns false and leaves
 * *at untouched if there is none. A leading "+", ".5" and "5." are accepted; hexadecimal is not. */
bool sn_number(const char **at, double *value);
/* Reads a 64-bit integer. Returns false on overflow as well. */
bool sn_integer(const char **at, int64_t *value);

enum { SN_NUMBER_SIZE = 32 };
/* Writes the number without a terminating zero and returns its length, which is less than
 * SN_NUMBER_SIZE. A value that is exactly a float32 gets the shortest text that reads back as that
 * float32; others the shortest that reads back as the same double. */
size_t sn_number_format(double value, char *text);
size_t sn_integer_format(int64_t value, char *text);

/* printf and its relatives in the "C" localeregardless of the host's locale. */
int sn_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int sn_vprint(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
void sn_print_to(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
