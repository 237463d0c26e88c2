/* Decimal numbers in text, the same in every locale.
 *
 * Reading is correctly rounded; writing gives the shortest decimal that reads back as the same
 * number. Text must end with a zero byte. */
#ifndef SN_IO_NUMBER_H
#define SN_IO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
