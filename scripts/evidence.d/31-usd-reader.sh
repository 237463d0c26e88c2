#!/bin/sh
# USDA files of a mesh, a rig, a rig with a clip, and frames through another program's reader
# (TinyUSDZ, npm package tinyusdz, fetched into the build folder): it must accept them and find the
# same points. Exits 77 when it is not to be had.
set -eu
command -v node >/dev/null && command -v npm >/dev/null || { echo "SKIP: no node"; exit 77; }
folder=$SINEW_BUILD/evidence/usd
mkdir -p "$folder"
cd "$folder"
[ -d node_modules/tinyusdz ] || npm install --silent --no-save --no-audit --prefix . tinyusdz@0.9.0-rc10 \
    >/dev/null 2>&1 || { echo "SKIP: tinyusdz cannot be fetched"; exit 77; }
"$SINEW_COMMAND" sample face --out face --vertices 1500 --quiet
"$SINEW_COMMAND" convert face/neutral.obj mesh.usda --quiet
"$SINEW_COMMAND" convert face rig.usda --quiet
"$SINEW_COMMAND" convert face clip.usda --curves face/clip.csv --quiet
"$SINEW_COMMAND" blend face --curves face/clip.csv --frames 0-9 --out frames.usda --quiet
# what a reader must refuse: a shape list of the wrong type
sed 's/uniform vector3f\[\] offsets = \[(/uniform vector3f[] offsets = [("x", /' rig.usda >broken.usda
cat >read.mjs <<'JS'
import fs from 'fs';
// the package is built for browsers: tell it that this is one
process.type = 'renderer';
globalThis.window = globalThis;
const load = (await import('./node_modules/tinyusdz/tinyusdz.js')).default;
const usd = await load({wasmBinary: fs.readFileSync('node_modules/tinyusdz/tinyusdz.wasm')});
const truth = fs.readFileSync('face/neutral.obj', 'utf8').split('\n')
  .filter(line => line.startsWith('v ')).flatMap(line => line.split(' ').slice(1, 4).map(Number));
let bad = 0;
console.log('| file | read | points | largest difference |\n|---|---|---|---|');
for (const [file, good] of [['mesh', true], ['rig', true], ['clip', true], ['frames', true], ['broken', false]]) {
  const loader = new usd.TinyUSDZLoaderNative();
  const read = loader.loadFromBinary(new Uint8Array(fs.readFileSync(file + '.usda')), file + '.usda');
  const points = read ? loader.getMesh(0).points : [];
  const worst = points.length === truth.length
    ? truth.reduce((most, x, i) => Math.max(most, Math.abs(Math.fround(x) - points[i])), 0) : NaN;
  if (read !== good || (good && worst !== 0)) bad++;
  console.log(`| ${file} | ${read ? 'yes' : 'refused'} | ${points.length / 3} | ${read ? worst : ''} |`);
}
process.exit(bad ? 1 : 0);
JS
node read.mjs
