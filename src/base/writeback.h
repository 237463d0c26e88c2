/* Large files go to the disk while they are written: their end, which waits until the disk has
 * everything, then has little to wait for. */
#ifndef SN_BASE_WRITEBACK_H
#define SN_BASE_WRITEBACK_H

#include "base/file.h"

/* Between two writes. *begun: bytes that are on their way, 0 at first. */
void sn_output_write_back(const sn_output *output, off_t *begun);

#endif
