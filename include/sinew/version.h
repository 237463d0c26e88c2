/* The version of the library: at compile time, and of the library that is loaded.
 *
 *   #if SINEW_VERSION_NUMBER >= 200                  the headers are of 0.2.0 or later
 *   if (sinew_version_number() >= 200) ...           so is the library
 *
 * Versions follow semver.org; CHANGELOG.md lists what changed. Library: sinew-core. */
#ifndef SINEW_VERSION_H
#define SINEW_VERSION_H

#include "sinew/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINEW_VERSION_MAJOR 0
#define SINEW_VERSION_MINOR 2
#define SINEW_VERSION_PATCH 0
/* 10000 major + 100 minor + patch */
#define SINEW_VERSION_NUMBER                                                                       \
    (10000 * SINEW_VERSION_MAJOR + 100 * SINEW_VERSION_MINOR + SINEW_VERSION_PATCH)

/* "major.minor.patch" */
#define SINEW_VERSION                                                                              \
    SINEW_VERSION_JOIN(SINEW_VERSION_MAJOR, SINEW_VERSION_MINOR, SINEW_VERSION_PATCH)
#define SINEW_VERSION_JOIN(major, minor, patch)                                                    \
    SINEW_VERSION_QUOTE(major) "." SINEW_VERSION_QUOTE(minor) "." SINEW_VERSION_QUOTE(patch)
#define SINEW_VERSION_QUOTE(number) #number

/* SINEW_VERSION_NUMBER of the library that is loaded. */
SINEW_API int sinew_version_number(void);
/* The same as text, "major.minor.patch". */
SINEW_API const char *sinew_version(void);

#ifdef __cplusplus
}
#endif
#endif
