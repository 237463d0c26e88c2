#!/bin/sh
# The tables of docs/capture.md: noisy markers against dense truth, and crossings of captured takes.
set -eu
"$SINEW_BUILD/bench/evidence/noisy_markers"
[ -d "$SINEW_DATA/free/animface-markers" ] || { echo "no free/animface-markers in the data" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for sample in face face2; do "$SINEW_BUILD/sinew" sample $sample --out "$folder/$sample" --quiet; done
broken=0
count() {
    name=$1; shift
    for take in Jaw Eyebrows; do
        for layer in "" --layer; do
            "$SINEW_BUILD/sinew" fit "$@" --markers "$SINEW_DATA/free/animface-markers/$take.csv" --fps 1.5 $layer --out "$folder/frames$layer.pc2" --quiet 2>/dev/null
        done
        printf '%s, %s: ' "$name" $take
        "$SINEW_BUILD/bench/evidence/new_crossings" "$folder/frames--layer.pc2" "$folder/frames.pc2" "$@" || broken=1
    done
}
count face "$folder/face"
count face2 "$folder/face2"
count facecap "$SINEW_DATA/free/facecap/head.obj" "$SINEW_DATA/free/facecap/targets"
count ict "$SINEW_DATA/free/ict-facekit/generic_neutral_mesh.obj" "$SINEW_DATA/free/ict-facekit/targets"
exit $broken
