#!/bin/sh
# GLB files of samples, real rigs and compressed frames through Khronos' validator: no errors, no
# warnings. Needs node and the npm package gltf-validator, which is fetched into the build folder;
# exits 77 when neither is to be had.
set -eu
command -v node >/dev/null && command -v npm >/dev/null || { echo "SKIP: no node"; exit 77; }
folder=$SINEW_BUILD/evidence/gltf
mkdir -p "$folder"
cd "$folder"
[ -d node_modules/gltf-validator ] || npm install --silent --no-save --no-audit gltf-validator \
    >/dev/null 2>&1 || { echo "SKIP: gltf-validator cannot be fetched"; exit 77; }
"$SINEW_COMMAND" sample face --out face --vertices 1500 --quiet
"$SINEW_COMMAND" convert face face.glb --quiet
"$SINEW_COMMAND" convert face clip.glb --curves face/clip.csv --quiet
"$SINEW_COMMAND" blend face --curves face/clip.csv --frames 0-29 --out frames.glb --quiet
data=$SINEW_DATA/free
"$SINEW_COMMAND" convert "$data/ict-facekit/generic_neutral_mesh.obj" "$data/ict-facekit/targets" ict.glb --quiet
"$SINEW_COMMAND" convert "$data/makehuman/base.obj" "$data/makehuman/expression" "$data/makehuman/arkit" makehuman.glb --quiet
for name in facecap/facecap khronos/MorphStressTest khronos/AnimatedMorphCube aframe-hand/rightHandHigh; do
    "$SINEW_COMMAND" convert "$data/$name.glb" "$(basename "$name").glb" --quiet
done
cat >validate.js <<'JS'
const validator = require('gltf-validator'), fs = require('fs');
(async () => {
  let bad = 0;
  console.log('| file | MB | errors | warnings |\n|---|---|---|---|');
  for (const file of process.argv.slice(2)) {
    const bytes = new Uint8Array(fs.readFileSync(file));
    const {issues} = await validator.validateBytes(bytes, {maxIssues: 100});
    bad += issues.numErrors + issues.numWarnings;
    console.log(`| ${file} | ${(bytes.length / 1e6).toFixed(2)} | ${issues.numErrors} | ${issues.numWarnings} |`);
  }
  process.exit(bad ? 1 : 0);
})();
JS
node validate.js ./*.glb
