/* Comparing what came back, and parsing text without a file. */
#ifndef TESTS_IO_HELPERS_H
#define TESTS_IO_HELPERS_H

#include "support.h"

#include "io/format.h"

/* A source over a copy of the bytes, so that reading past the end is caught by the sanitizer. */
sn_source bytes_source(const void *bytes, size_t size, const char *name);
void bytes_source_free(sn_source *source);

/* Vertices, faces and names are the same; what the format does not hold is not compared.
 * Without SN_HOLDS_DOUBLES positions are compared as float32. */
void assert_same_mesh(const sinew_mesh *a, const sinew_mesh *b, unsigned holds);
/* Sliders, targets and regions; displacements as float32. */
void assert_same_rig(const sinew_rig *a, const sinew_rig *b);
bool same_float32(const double *a, const double *b, size_t count);

/* Path of a file in the test's temporary folder; static, overwritten by the eighth next call. */
const char *temporary(const char *name);

/* Calls `visit` for each file under the real data folder with this ending; returns how many. */
int for_each_data_file(const char *ending, void (*visit)(const char *path));

#endif
