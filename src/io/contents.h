/* Building the list of sinew/contents.h. */
#ifndef SN_IO_CONTENTS_H
#define SN_IO_CONTENTS_H

#include "io/format.h"
#include "sinew/contents.h"

struct sinew_contents {
    struct sn_contents_entry {
        sinew_contents_kind kind;
        char *name, *detail;
        bool used;
    } * entries;
    int count;
    size_t capacity;
    double unit; /* meters */
    char up;
};

/* The name need not end with a zero byte; NULL: none. An entry of the same kind and name as the
 * last one of its kind is left out for attributes. */
sinew_status sn_contents_add(sinew_contents *contents, sinew_contents_kind kind, const char *name,
                             size_t name_size, const char *detail, bool used, sinew_error *error);

/* sinew_contents_read without its own scope. */
sinew_status sn_contents_read(const char *path, sinew_contents **contents, sinew_error *error);

sinew_status sn_gltf_read_contents(const sn_source *source, sinew_contents *contents,
                                   sinew_error *error);
sinew_status sn_fbx_read_contents(const sn_source *source, sinew_contents *contents,
                                  sinew_error *error);

#endif
