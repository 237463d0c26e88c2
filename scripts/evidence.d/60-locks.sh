#!/bin/sh
# The tables of docs/locks.md: sixteen edits on the sample face and three real ones.
set -eu
[ -d "$SINEW_DATA/free" ] || { echo "no free/ in the data" >&2; exit 77; }
exec "$SINEW_BUILD/bench/evidence/locks_on_real_rigs" "$SINEW_DATA"
