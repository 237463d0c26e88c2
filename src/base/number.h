/* Decimal numbers in text, the same in every locale: a host may have set one with a decimal comma.
 * The library reads and prints numbers through these functions only; scripts/lint holds it.
 *
 * Reading is correctly rounded; writing gives the shortest decimal that reads back as the same
 * number. Text must end with a zero byte. */
#ifndef SN_BASE_NUMBER_H
#define SN_BASE_NUMBER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Reads a decimal number (also "nan", "inf") at *at and moves *at behind it. False, and *at
 * untouched, when there is none. A leading "+", ".5" and "5." are fine; hexadecimal is not. */
bool sn_number(const char **at, double *value);
/* An integer that fits 64 bits; false also on overflow. */
bool sn_integer(const char **at, int64_t *value);

enum { SN_NUMBER_SIZE = 32 };
/* Writes the number without a zero byte, returns its length < SN_NUMBER_SIZE. A value that is
 * exactly a float32 gets the shortest text that is the same float32, others the shortest that is
 * the same double. */
size_t sn_number_format(double value, char *text);
size_t sn_integer_format(int64_t value, char *text);

/* printf and its relatives in the "C" locale, whatever the locale of the host. */
int sn_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int sn_vprint(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
void sn_print_to(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
