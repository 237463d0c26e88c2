/* Starts writing large files to disk while they are still being produced, so that the final sync
 * has little left to wait for. */
#ifndef SN_BASE_WRITEBACK_H
#define SN_BASE_WRITEBACK_H

#include "base/file.h"

/* Call between two writes. *begun: number of bytes whose write-back has started; 0 at first. */
void sn_output_write_back(const sn_output *output, off_t *begun);

#endif
