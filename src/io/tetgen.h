/* TetGen's pair of files, from memory. */
#ifndef SN_IO_TETGEN_H
#define SN_IO_TETGEN_H

#include "io/format.h"

sinew_status sn_tetgen_parse(const sn_source *nodes, const sn_source *elements, sinew_tets **tets,
                             sinew_error *error);

#endif
