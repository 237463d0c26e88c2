#!/bin/sh
# The table of docs/capture.md about noisy markers against dense truth.
exec "$SINEW_BUILD/bench/evidence/noisy_markers"
