#!/bin/sh
# The table of lips in docs/force.md: pairs of triangles that cross, with and without contact.
set -eu
[ -d "$SINEW_DATA/free/ict-facekit" ] || { echo "no free/ict-facekit in the data" >&2; exit 77; }
exec "$SINEW_BUILD/bench/evidence/lips_in_contact" "$SINEW_DATA"
