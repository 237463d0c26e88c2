#!/bin/sh
# The table of docs/force.md: static fits and blendforces against dense truth.
set -eu
"$SINEW_BUILD/bench/evidence/published_gain"
[ -d "$SINEW_DATA/free/ict-facekit" ] || { echo "no free/ict-facekit in the data" >&2; exit 77; }
for added in 1 2; do
    "$SINEW_BUILD/bench/evidence/blendforces_on_faces" "$SINEW_DATA" $added
done
