/* The page's files, made by studio/embed.py from the build of studio/web. */
#ifndef STUDIO_PAGE_H
#define STUDIO_PAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct page_file {
    const char *path; /* "/", "/app.js" */
    const char *type;
    bool gzip;
    const unsigned char *bytes;
    size_t size;
} page_file;

/* Ends with a path of NULL; empty when the page was not built. */
extern const page_file page_files[];

#endif
