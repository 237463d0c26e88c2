#include "base/writeback.h"

#include <fcntl.h>

enum { AT_ONCE = 8 << 20 }; /* bytes */

void sn_output_write_back(const sn_output *output, off_t *begun) {
    off_t end = output->through ? 0 : ftello(output->stream);
    if (end - *begun < AT_ONCE) return;
    /* On a file system that does not support this, everything is written at the end. */
    sync_file_range(fileno(output->stream), *begun, end - *begun, SYNC_FILE_RANGE_WRITE);
    *begun = end;
}
