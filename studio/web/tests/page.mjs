// The page in Chromium, as a person uses it.
import { writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answered, check, eventually, near, openPage, read, require, runTests, scratchFolder, settled, startBrowser, startServer, test, until, writeBody } from './support.mjs';

const FACE = { sinew: 1, rig: { sample: 'face', vertices: 1500 }, model: 'spring', weights: {} };
const folder = scratchFolder();
writeFileSync(join(folder, 'face.json'), JSON.stringify(FACE));
let server = await startServer({ folder, args: ['face.json'] });
const browser = await startBrowser();
let page;

const track = (name) => page.getByTestId(`slider-${name}`);
const weight = (name) => read(page, `state.weights.value[a]`, name);

/** Drags a slider from one share of its track to another. */
async function dragSlider(name, from, to, steps = 4) {
  await track(name).scrollIntoViewIfNeeded();
  const box = await track(name).boundingBox();
  const at = (share) => [box.x + share * box.width, box.y + box.height / 2];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), { steps });
  await page.mouse.up();
}

/** Mean colour of part of the stage. */
async function pixels(half) {
  return page.evaluate((h) => {
    const view = window.studio.view();
    const canvas = view.renderer.domElement;
    const copy = document.createElement('canvas');
    copy.width = copy.height = 64;
    const context = copy.getContext('2d', { willReadFrequently: true });
    const w = canvas.width / 2;
    context.drawImage(canvas, h === 'left' ? 0 : w, 0, w, canvas.height, 0, 0, 64, 64);
    return Array.from(context.getImageData(0, 0, 64, 64).data);
  }, half);
}
const difference = (a, b) => a.reduce((sum, x, i) => sum + Math.abs(x - b[i]), 0) / a.length;

test('the face is on the screen, with the linear view beside the physical one', async () => {
  page = await openPage(browser, server.address);
  await until(page, 'state.shape.value && state.rig.value.sliders.length === 52');
  await settled(page);
  const [left, right] = [await pixels('left'), await pixels('right')];
  for (const half of [left, right]) {
    const painted = half.filter((x, i) => i % 4 === 3 && x > 128).length / (half.length / 4);
    check(painted > 0.08 && painted < 0.9, `a shape covers ${painted} of the view`);
  }
});

test('dragging a slider moves positions and pixels; typing, Shift and double-click work', async () => {
  const before = await pixels('right');
  const rest = await read(page, 'Array.from(state.shape.value.positions)');
  await dragSlider('jawOpen', 0, 0.8);
  near(await weight('jawOpen'), 0.8, 0.06, 'weight');
  await settled(page);
  const now = await read(page, 'Array.from(state.shape.value.positions)');
  const moved = Math.max(...now.map((x, i) => Math.abs(x - rest[i])));
  check(moved > 0.005, `vertices moved by ${moved} m`);
  check(difference(before, await pixels('right')) > 0.3, 'the picture changed');
  const number = page.getByTestId('number-jawOpen');
  await number.fill('0.25');
  await number.press('Enter');
  await until(page, 'state.weights.value.jawOpen === 0.25');
  await track('jawOpen').dblclick();
  await until(page, 'state.weights.value.jawOpen === 0');
  const box = await track('mouthPucker').boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 2, box.y + 12);
  await page.mouse.down();
  await page.mouse.move(box.x + 2 + box.width / 2, box.y + 12, { steps: 3 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  near(await weight('mouthPucker'), 0.05, 0.02, 'Shift is ten times finer');
  await track('mouthPucker').press('Delete');
});

test('what a newcomer sees first: colors where physics differs from linear', async () => {
  const first = await startServer(), other = await openPage(browser, first.address);
  await until(other, 'state.shape.value && !state.shape.value.building && state.rig.value');
  await settled(other);
  check((await read(other, 'state.overlay.value')) === 'difference', 'the heat map is on');
  check((await read(other, 'state.apart.value')) > 0.002, 'there is something to see');
  await other.close();
  await first.stop();
});

test('nothing covers the face: tags above it, hint and tools below it', async () => {
  const size = { width: 1280, height: 720 }, first = await startServer(), other = await openPage(browser, first.address, { size });
  await until(other, 'state.shape.value && !state.shape.value.building && state.rig.value');
  await settled(other);
  const { top, bottom, low, high } = await other.evaluate(() => {
    const rect = (which) => document.querySelector(which).getBoundingClientRect();
    const ys = Array.from({ length: window.studio.state.rig.value.vertices }, (_, v) => window.studio.view().project(v).y);
    return { top: rect('[data-testid=figures]').bottom, bottom: rect('.coach').top, low: Math.min(...ys), high: Math.max(...ys) };
  });
  check(low >= top && high <= bottom, `the face from ${low} to ${high}, the room from ${top} to ${bottom}`);
  check(high - low > 0.5 * (bottom - top), `the face fills ${(high - low) / (bottom - top)} of it`);
  await other.getByTestId('hide-hint').click();
  await until(other, '!state.coach.value');
  await other.keyboard.press('Control+z');
  await until(other, 'state.coach.value === null && state.history.value.redo.length === 1'); // who has changed something needs no hint
  await other.close();
  await first.stop();
});

test('symmetric pairs move together', async () => {
  await dragSlider('mouthSmile L·R', 0, 0.6);
  near(await weight('mouthSmileLeft'), await weight('mouthSmileRight'), 1e-9, 'both sides');
  check((await weight('mouthSmileLeft')) > 0.4, 'they moved');
  const ends = page.getByTestId('number-jawLeft · Right');
  await ends.fill('-0.5');
  await ends.press('Enter');
  await until(page, 'state.weights.value.jawLeft === 0.5 && state.weights.value.jawRight === 0');
  await page.getByTestId('undo').click();
  await until(page, 'state.weights.value.jawLeft === 0');
});

test('undo and redo, one step per drag', async () => {
  const value = await weight('mouthSmileLeft');
  await settled(page);
  await page.keyboard.press('Control+z');
  await until(page, 'state.weights.value.mouthSmileLeft === 0');
  await page.keyboard.press('Control+Shift+z');
  await until(page, 'Math.abs(state.weights.value.mouthSmileLeft - a) < 1e-9', value);
  await settled(page);
});

test('search shows only the sliders that match; overdrive extends their range to -1 … 2', async () => {
  await page.keyboard.press('/');
  check((await page.evaluate(() => document.activeElement.id)) === 'slider-search', 'the key / leads to the search');
  const search = page.locator('#slider-search');
  await search.fill('mouth smi');
  await track('jawOpen').waitFor({ state: 'detached' });
  check(await track('mouthSmile L·R').isVisible(), 'what matches is shown');
  await search.fill('no such slider');
  await page.getByText('No slider matches').waitFor();
  await search.fill('');
  await track('jawOpen').waitFor();
  const button = page.getByLabel(/^Overdrive/);
  await dragSlider('mouthPucker', 0, 1.5);
  near(await weight('mouthPucker'), 1, 1e-9, 'without overdrive');
  await button.click();
  await dragSlider('mouthPucker', 0.67, 1.5);
  near(await weight('mouthPucker'), 2, 1e-9, 'the upper end');
  await dragSlider('mouthPucker', 0.99, -0.5);
  near(await weight('mouthPucker'), -1, 1e-9, 'the lower end');
  await settled(page);
  check(!(await read(page, 'state.problem.value')), 'weights out of range are solved');
  await button.click();
  for (let i = 0; i < 3; i++) await page.getByTestId('undo').click();
  await until(page, '!state.weights.value.mouthPucker');
  await settled(page);
});

test('models and parameters: the panel follows the model', async () => {
  await page.getByTestId('model-linear').click();
  await until(page, 'state.modelName.value === "linear"');
  await settled(page);
  const apart = await read(page, 'Math.max(...state.shape.value.positions.map((x, i) => Math.abs(x - state.shape.value.linear[i])))');
  check(apart < 1e-6, `linear is linear: ${apart}`);
  await page.getByTestId('overlay-difference').click();
  await page.getByRole('img', { name: 'Heat map: distance from linear, none' }).waitFor(); // not the noise of float32 in colors
  await page.getByTestId('overlay-none').click();
  // What is said about one model does not stay for the next.
  await page.getByTestId('model-fit').click();
  await page.getByTestId('problem').getByText("The model 'fit' needs markers").waitFor();
  await page.evaluate(() => window.studio.patch([{ op: 'add', path: '/obstacles', value: [{ shape: 'sphere', center: [9, 9, 9], radius: 0.1 }] }], 'Ball'));
  await page.getByTestId('model-rotation').click();
  await page.getByTestId('problem').waitFor({ state: 'detached' });
  await page.getByText("The model 'rotation' does not use the scene's obstacles").waitFor();
  await page.evaluate(() => window.studio.patch([{ op: 'remove', path: '/obstacles' }], 'No ball'));
  await page.getByTestId('model-spring').click();
  await page.locator('.warnings').waitFor({ state: 'detached' });
  await page.getByTestId('parameter-self_contact').check();
  await until(page, 'state.scene.value.parameters.self_contact === true');
  await settled(page);
  await page.keyboard.press('Control+z');
  await until(page, '!state.scene.value.parameters?.self_contact');
  await settled(page);
});

/** A vertex that faces the camera: nearest to the front of the face. */
const noseTip = () => read(page, `(() => { const r = state.rig.value; let best = 0; for (let v = 0; v < r.vertices; v++) if (r.neutral[3*v+2] > r.neutral[3*best+2]) best = v; return best; })()`);

test('pull: a dragged point follows and springs back', async () => {
  await page.getByTestId('tool-pull').click();
  const vertex = await noseTip();
  const start = await read(page, 'view.project(a)', vertex);
  const rest = await read(page, 'Array.from(state.shape.value.positions.slice(3*a, 3*a+3))', vertex);
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(start.x + 30, start.y, { steps: 3 });
  await until(page, 'state.scene.value.pulls?.length > 1');
  check((await page.getByText('Pins', { exact: true }).count()) === 0, 'what the hand holds is no pin');
  await settled(page);
  const grabbed = await read(page, 'state.scene.value.pulls[0].vertex');
  const pulled = await read(page, 'Array.from(state.shape.value.positions.slice(3*a, 3*a+3))', grabbed);
  const at = await read(page, 'Array.from(state.shape.value.linear.slice(3*a, 3*a+3))', grabbed);
  check(Math.hypot(...pulled.map((x, i) => x - at[i])) > 1e-4, 'the point follows');
  await page.mouse.up();
  await until(page, '!state.scene.value.pulls');
  await settled(page);
  const back = await read(page, 'Array.from(state.shape.value.positions.slice(3*a, 3*a+3))', vertex);
  near(Math.hypot(...back.map((x, i) => x - rest[i])), 0, 2e-4, 'it springs back');
  check(!(await read(page, 'state.history.value.undo[0]')).startsWith('Pin'), 'no history');
});

test('pin: a point is kept where it is put, the rest of the head stays, and the pin can be removed', async () => {
  await page.getByTestId('tool-pin').click();
  const vertex = await noseTip();
  const start = await read(page, 'view.project(a)', vertex);
  await page.mouse.move(start.x, start.y);
  check((await read(page, 'view.host.style.cursor')) === 'grab', 'the pointer shows that the surface can be grabbed');
  const before = await read(page, 'Array.from(state.shape.value.positions)');
  await page.mouse.down();
  await page.mouse.move(start.x + 20, start.y, { steps: 3 });
  await until(page, 'state.scene.value.pulls?.length === 1');
  await page.mouse.up();
  await settled(page);
  const [pin] = await read(page, 'state.scene.value.pulls');
  const after = await read(page, 'Array.from(state.shape.value.positions)');
  near(Math.hypot(...pin.to.map((x, k) => x - after[3 * pin.vertex + k])), 0, 1e-5, 'the vertex is at its pin');
  const back = await read(page, `(() => { const r = state.rig.value; let v = 0; for (let i = 0; i < r.vertices; i++) if (r.neutral[3*i+2] < r.neutral[3*v+2]) v = i; return v; })()`);
  const apart = (v) => Math.hypot(...[0, 1, 2].map((k) => after[3 * v + k] - before[3 * v + k]));
  check(apart(back) < 0.1 * apart(pin.vertex), `the back of the head moves by ${apart(back)} m, the nose by ${apart(pin.vertex)} m`);
  await page.getByLabel('Remove the pin').click();
  await until(page, '!state.scene.value.pulls.length');
  for (let i = 0; i < 2; i++) await page.getByTestId('undo').click();
  await until(page, '!state.scene.value.pulls');
  await page.getByTestId('tool-orbit').click();
  check((await read(page, 'view.host.style.cursor')) === 'grab', 'the pointer shows that the view can be turned');
});

test('compare: side by side, a ghost, physical only; a heat map has a legend with its unit', async () => {
  const vertex = await noseTip();
  const to = await read(page, '[0, 1, 2].map((k) => state.shape.value.linear[3 * a + k] - (k === 2 ? 0.02 : 0))', vertex);
  await page.evaluate((pull) => window.studio.patch([{ op: 'add', path: '/pulls', value: [pull] }], 'Push the nose in'), { vertex, to });
  await settled(page);
  const sides = await pixels('right');
  await page.getByTestId('compare-ghost').click();
  await until(page, 'state.compare.value === "ghost"');
  await settled(page);
  const ghost = await pixels('right');
  await page.getByTestId('compare-single').click();
  await settled(page);
  const single = await pixels('right');
  check(difference(ghost, single) > 0.01, `the ghost is seen: ${difference(ghost, single)}`);
  check(difference(sides, single) > 1, 'one view fills the stage');
  await page.keyboard.press('c');
  await until(page, 'state.compare.value === "side"');
  await page.getByTestId('overlay-difference').click();
  const legend = await page.getByRole('img', { name: /distance from linear/ }).innerText();
  check(/0[\s\S]*mm/.test(legend), `legend: ${legend}`);
  check((await page.getByTestId('overlay-difference').innerText()) === 'vs linear', 'the overlay names what is on the left');
  await page.getByTestId('overlay-none').click();
  await page.getByTestId('undo').click();
});

test('a frame that did not converge has a badge; flags and choices are reset by a double click on their names', async () => {
  await page.evaluate(() => window.studio.patch([{ op: 'add', path: '/parameters', value: { max_iterations: 1, tolerance: 1e-12, bending: 'ring' } }, { op: 'add', path: '/weights', value: { jawOpen: 0.5, mouthSmileLeft: 0.7 } }], 'One step'));
  await page.getByTestId('not-converged').waitFor();
  await page.getByText('more parameters').click();
  await page.getByText('Bending', { exact: true }).dblclick();
  await until(page, '!("bending" in state.scene.value.parameters)');
  for (let i = 0; i < 2; i++) await page.getByTestId('undo').click();
  await until(page, '!state.scene.value.parameters?.max_iterations');
  await settled(page);
  check((await page.getByTestId('not-converged').count()) === 0, 'the badge is gone');
});

test('without a clip, the timeline is a line of text; with one, it is made taller by pointer and keyboard, and a double click resets it', async () => {
  const lineHeight = await page.evaluate(() => document.querySelector('.time').clientHeight);
  check(lineHeight < 100 && (await page.getByTestId('splitter').count()) === 0, `${lineHeight} px without a clip`);
  await page.evaluate(() => window.studio.patch([{ op: 'add', path: '/curves', value: { times: [0, 0.5, 1.2], values: { jawOpen: [0, 1, 0] } } }], 'Clip'));
  await page.getByTestId('splitter').waitFor();
  const splitter = page.getByTestId('splitter'), height = () => page.evaluate(() => document.querySelector('.time').clientHeight);
  const rest = await height(), box = await splitter.boundingBox();
  await page.mouse.move(box.x + 200, box.y + 4);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y - 76, { steps: 3 });
  await page.mouse.up();
  near(await height(), rest + 80, 8, 'dragged');
  await splitter.press('ArrowDown');
  near(await height(), rest + 64, 8, 'by a key');
  await splitter.dblclick();
  near(await height(), rest, 0, 'reset');
});

test('the time axis ends under the scrubber, with room for its last label', async () => {
  await until(page, 'state.clip.value.frames === 37 && document.querySelector(".u-over")');
  await page.getByTestId('scrubber').fill('36');
  const { thumb, end, edge } = await page.evaluate(() => {
    const scrubber = document.querySelector('[data-testid=scrubber]').getBoundingClientRect();
    const over = document.querySelector('.u-over').getBoundingClientRect(), canvas = document.querySelector('.uplot canvas').getBoundingClientRect();
    return { thumb: scrubber.right - 6, end: over.right, edge: canvas.right };
  });
  near(thumb, end, 1.5, 'the last frame');
  check(edge - end >= 20, `${edge - end} px for half of a label`);
  await page.getByTestId('undo').click();
  await until(page, '!state.scene.value.curves');
  await settled(page);
});

test('pose: sliders follow a dragged point', async () => {
  await page.getByTestId('tool-pose').click();
  const vertex = await read(page, `state.rig.value.regions.find((r) => r.name === 'lowerLip').vertices[0]`);
  const start = await read(page, 'view.project(a)', vertex);
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(start.x, start.y + 12, { steps: 3 });
  await until(page, 'state.history.value.undo[0] === "Pose by dragging"');
  await page.mouse.up();
  await settled(page);
  check(Object.values(await read(page, 'state.weights.value')).some((w) => Math.abs(w) > 0.02), 'sliders moved');
  await page.getByTestId('undo').click();
  await until(page, 'state.history.value.redo[0] === "Pose by dragging"');
  await page.getByTestId('tool-orbit').click();
});

test('the face: a lock is painted, shown and undone; the matrix opens', async () => {
  await page.getByTestId('tool-lock').click();
  const start = await read(page, 'view.project(a)', await noseTip());
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(start.x + 6, start.y, { steps: 2 });
  await page.mouse.up();
  await until(page, 'state.scene.value.locks?.[0]?.select.startsWith("v:")');
  await until(page, 'state.history.value.undo[0]?.startsWith("Paint")');
  const count = await read(page, 'Number(/of (\\d+)/.exec(state.history.value.undo[0])?.[1])');
  check(count >= 3 && count < 400, `painted ${count} vertices`);
  await page.getByTestId('lock-0-y').click();
  await until(page, 'state.scene.value.locks[0].axes === "xz"');
  // A name of its own, and a second lock beside it: the brush paints the one that is selected.
  await page.getByTestId('lock-name-0').fill('nose');
  await page.getByTestId('lock-name-0').press('Enter');
  await until(page, 'state.scene.value.locks[0].name === "nose"');
  await page.getByTestId('new-lock').click();
  await page.mouse.click(start.x, start.y + 40);
  await until(page, 'state.scene.value.locks.length === 2 && state.scene.value.locks[1].name === "painted"');
  const first = await read(page, 'state.scene.value.locks[0].select');
  await page.mouse.click(start.x, start.y + 52);
  await until(page, 'state.history.value.undo[0]?.startsWith("Paint") && state.history.value.undo[1]?.startsWith("Paint")');
  check((await read(page, 'state.scene.value.locks.length')) === 2 && (await read(page, 'state.scene.value.locks[0].select')) === first, 'the second lock grew');
  await page.getByTestId('show-motion').click();
  check((await read(page, 'state.overlay.value')) === 'motion', 'what still moves is shown');
  await page.getByTestId('show-motion').click();
  for (let i = 0; i < 5; i++) await page.getByTestId('undo').click();
  await until(page, '!state.scene.value.locks?.length');
  await page.getByTestId('tool-orbit').click();
  await page.getByTestId('interference').click();
  await page.getByRole('dialog').waitFor();
  await until(page, 'state.interference.value?.targets.length >= 52');
  await page.getByRole('dialog').locator('.pairs button').first().click();
  await until(page, 'state.selectedSliders.value.length > 0 && !state.dialog.value');
  const isSeen = () => page.evaluate(() => {
    const row = document.querySelector('.left .row.selected').getBoundingClientRect(), panel = document.querySelector('.left .scroll').getBoundingClientRect();
    return row.top >= panel.top - 1 && row.bottom <= panel.bottom + 1;
  });
  check(await isSeen(), 'the first of the two sliders is in view');
});

test('a lock is switched off and on, and α says how strongly it holds', async () => {
  await page.getByTestId('model-linear').click();
  await page.evaluate(() => window.studio.patch([
    { op: 'add', path: '/locks', value: [{ name: 'lip', select: 'region:lowerLip' }] },
    { op: 'add', path: '/attenuation', value: { trade: true } },
    { op: 'add', path: '/weights', value: { jawOpen: 1 } },
  ], 'Lock the lip'));
  await settled(page);
  /** How far the locked vertices are from rest in the mean, against the same sliders without locks. */
  const held = () => read(page, `(() => {
    const { vertices } = state.rig.value.regions.find((r) => r.name === 'lowerLip'), { neutral } = state.rig.value, { positions, linear } = state.shape.value;
    const far = (shape) => Math.hypot(...Array.from(vertices, (v) => Math.hypot(...[0, 1, 2].map((k) => shape[3 * v + k] - neutral[3 * v + k]))));
    return far(positions) / far(linear);
  })()`);
  const firm = await held();
  check(firm < 0.6, `the lock leaves ${firm} of the motion`);
  await page.getByTestId('lock-0').click();
  await until(page, 'state.scene.value.locks[0].enabled === false');
  await settled(page);
  near(await held(), 1, 1e-4, 'switched off');
  await page.getByTestId('lock-0').click();
  await settled(page);
  near(await held(), firm, 1e-4, 'switched on');
  const alpha = async (value) => {
    await page.getByTestId('number-Strength α').fill(value);
    await page.getByTestId('number-Strength α').press('Enter');
    await until(page, 'state.scene.value.attenuation.strength === a', Number(value));
    await settled(page);
    return held();
  };
  const firmer = await alpha('10');
  check(firmer < 0.9 * firm, `α = 10 leaves ${firmer}, α = 1 leaves ${firm}`);
  near(await alpha('0'), 1, 1e-4, 'α = 0 lets everything move');
  await page.getByTestId('slider-Strength α').dblclick();
  await until(page, 'state.scene.value.attenuation.strength === undefined');
  await settled(page);
  near(await held(), firm, 1e-4, 'a double click resets α');
  while (await read(page, '!!state.scene.value.locks || state.modelName.value === "linear"')) {
    const { length } = await read(page, 'state.history.value.undo');
    await page.getByTestId('undo').click();
    await until(page, 'state.history.value.undo.length < a', length);
  }
  await settled(page);
});

test('the worker finds edges, light and a tree; picking with that tree or with none is the same', async () => {
  await until(page, 'view.tree && view.restEdges.length');
  await until(page, 'Array.from(view.physical.geometry.attributes.shade.array).some((x) => x < 0.9)');
  const { edges, diagonals } = await page.evaluate(() => {
    const { state, view } = window.studio, { triangles, triangleFace } = state.rig.value;
    const faces = new Map(); // a polygon's triangles in common have their diagonal in common
    for (let t = 0; t < triangleFace.length; t++) faces.set(triangleFace[t], [...(faces.get(triangleFace[t]) ?? []), [...triangles.subarray(3 * t, 3 * t + 3)]]);
    const inside = new Set([...faces.values()].filter((f) => f.length === 2).map(([a, b]) => a.filter((v) => b.includes(v)).sort((x, y) => x - y).join()));
    const list = view().restEdges;
    let diagonals = 0;
    for (let e = 0; e < list.length; e += 2) if (inside.has([list[e], list[e + 1]].sort((x, y) => x - y).join())) diagonals++;
    return { edges: list.length / 2, diagonals };
  });
  check(edges > 2000 && diagonals === 0, `${edges} edges, ${diagonals} of them diagonals`);
  const picked = await page.evaluate(() => {
    const view = window.studio.view(), { tree, physical } = view;
    const pick = (from) => {
      view.tree = from;
      physical.bvh = null;
      return [200, 1400, 700].map((v) => {
        const at = view.project(v), hit = view.pick({ clientX: at.x, clientY: at.y });
        return hit && [hit.vertex, hit.triangle];
      });
    };
    const result = [pick(null), pick(tree)];
    view.tree = tree;
    return result;
  });
  check(picked[0].some(Boolean) && JSON.stringify(picked[0]) === JSON.stringify(picked[1]), JSON.stringify(picked));
});

test('a bent shape is in the frame; F frames what is shown', async () => {
  const inFrame = () => page.evaluate(() => {
    const view = window.studio.view(), stage = document.querySelector('[data-testid=physical]').getBoundingClientRect();
    const count = window.studio.state.rig.value.vertices;
    return Array.from({ length: count }, (_, v) => view.project(v)).every(({ x, y }) => x >= stage.left && x <= stage.right && y >= stage.top && y <= stage.bottom);
  });
  await page.evaluate(() => window.studio.patch([{ op: 'add', path: '/rig', value: { sample: 'bar' } }, { op: 'add', path: '/weights', value: { bend180: 0.5 } }], 'A bent bar'));
  await until(page, 'state.rig.value.sliders.some((s) => s.name === "bend180")');
  await settled(page);
  check(await inFrame(), 'the bent bar is in the frame');
  await page.evaluate(() => window.studio.patch([{ op: 'replace', path: '/weights', value: { bend180: 1.5 } }], 'Bent further'));
  await settled(page);
  await page.keyboard.press('f');
  check(await inFrame(), 'F frames the shape');
  await page.keyboard.press('Control+z');
  await page.keyboard.press('Control+z');
  await until(page, 'state.rig.value.sliders.length === 52');
  await settled(page);
});

test('orbit turns the view and leaves the scene alone', async () => {
  await settled(page);
  const before = [await pixels('left'), await read(page, 'state.revision.value')];
  const stage = await page.getByTestId('stage').boundingBox();
  await page.mouse.move(stage.x + stage.width * 0.75, stage.y + 160);
  await page.mouse.down();
  await page.mouse.move(stage.x + stage.width * 0.75 + 80, stage.y + 180, { steps: 3 });
  await page.mouse.up();
  await settled(page);
  check(difference(before[0], await pixels('left')) > 0.5, 'both views turn');
  check((await read(page, 'state.revision.value')) === before[1], 'nothing was sent');
  await page.keyboard.press('f');
});

test('an obstacle is added, the shape yields, undo takes it away', async () => {
  await settled(page);
  const before = await read(page, 'Array.from(state.shape.value.positions)');
  await page.getByTestId('add-sphere').click();
  await until(page, 'state.scene.value.obstacles?.length === 1');
  const tip = await noseTip();
  const nose = await read(page, 'Array.from(state.shape.value.positions.slice(3*a, 3*a+3))', tip);
  await page.evaluate((center) => window.studio.patch([{ op: 'replace', path: '/obstacles/0/center', value: center }], 'Move ball'), [nose[0], nose[1], nose[2] + 0.012]);
  await settled(page);
  const after = await read(page, 'Array.from(state.shape.value.positions)');
  const moved = Math.max(...after.map((x, i) => Math.abs(x - before[i])));
  check(moved > 1e-3, `the nose yields: ${moved} m`);
  check((await read(page, 'state.shape.value.contacts')) > 0, 'contacts are counted');
  await page.keyboard.press('Control+z');
  await page.keyboard.press('Control+z');
  await until(page, '!state.scene.value.obstacles?.length');
  await settled(page);
});

test('a mesh from a file is an obstacle: drawn, moved, felt, undone', async () => {
  const tip = await noseTip();
  const before = await read(page, 'Array.from(state.shape.value.positions)');
  const nose = before.slice(3 * tip, 3 * tip + 3);
  const r = 0.02, corners = [[r, 0, 0], [-r, 0, 0], [0, r, 0], [0, -r, 0], [0, 0, r], [0, 0, -r]];
  const faces = ['1 3 5', '3 2 5', '2 4 5', '4 1 5', '3 1 6', '2 3 6', '4 2 6', '1 4 6'];
  const text = corners.map((c) => `v ${c.map((x, k) => x + nose[k] + (k === 2 ? 0.1 : 0)).join(' ')}`).concat(faces.map((f) => `f ${f}`)).join('\n');
  await page.getByTestId('mesh-file').setInputFiles({ name: 'gem.obj', mimeType: 'text/plain', buffer: Buffer.from(text + '\n') });
  await until(page, 'state.scene.value.obstacles?.[0]?.shape === "mesh" && state.meshes.value.size === 1 && view.obstacles.group.children.length === 1');
  await settled(page);
  check((await read(page, 'state.shape.value.contacts')) === 0, 'nothing touches it yet');
  await page.evaluate(() => {
    const { state, view } = window.studio;
    state.selectedObstacle.value = 0;
    view().obstacles.group.children[0].position.z = -0.085;
    view().obstacles.moved();
  });
  await until(page, 'state.scene.value.obstacles[0].motion[0].move[2] === -0.085');
  await settled(page);
  check((await read(page, 'state.shape.value.contacts')) > 0, 'the nose leans on it');
  const after = await read(page, 'Array.from(state.shape.value.positions)');
  const moved = Math.max(...after.map((x, i) => Math.abs(x - before[i])));
  check(moved > 1e-3, `the nose yields: ${moved} m`);
  await page.keyboard.press('Control+z');
  await page.keyboard.press('Control+z');
  await until(page, '!state.scene.value.obstacles?.length');
  await settled(page);
});

test('a file is dropped on the page', async () => {
  const glb = await dropped();
  await page.evaluate(({ name, text }) => {
    const transfer = new DataTransfer();
    for (const [file, body] of text) transfer.items.add(new File([body], file));
    void name;
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, { name: 'rig', text: glb });
  await until(page, 'state.rig.value.vertices === 441');
  check((await read(page, 'state.rig.value.sliders[0].name')) === 'wave', 'its slider');
  await settled(page);
  await dragSlider('wave', 0, 1);
  await settled(page);
  await page.getByTestId('undo').click();
  await page.getByTestId('undo').click();
  await until(page, 'state.rig.value.sliders.length === 52');
  await settled(page);
});

test('a shape without sliders says so', async () => {
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n'], 'plain.obj'));
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  });
  await until(page, 'state.rig.value.vertices === 4 && !state.rig.value.sliders.length');
  check(await page.getByText('This file has no blend shapes').isVisible(), 'why there is nothing to drag');
  await page.getByTestId('undo').click();
  await until(page, 'state.rig.value.sliders.length === 52');
  await settled(page);
});

test('a file that cannot be read: the reason, also for a page that comes later, and a way back', async () => {
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['not a mesh'], 'broken.glb'));
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  });
  await page.getByTestId('problem').waitFor();
  const text = await page.getByTestId('problem').textContent();
  check(text.startsWith('broken.glb') && !text.includes('/'), text);
  check((await page.getByTestId('figures').count()) === 0, 'no figures of the shape before');
  const other = await openPage(browser, server.address);
  await other.getByTestId('problem').waitFor();
  await until(other, 'state.shape.value');
  check((await other.getByTestId('problem').textContent()) === text, 'the older shape does not hide it');
  await other.getByTestId('problem-undo').click();
  for (const each of [other, page]) {
    await until(each, '!state.problem.value && state.rig.value.sliders.length === 52');
    await settled(each);
    check((await each.getByTestId('problem').count()) === 0, 'gone');
  }
  await other.close();
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['text'], 'notes.docx'));
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  });
  await page.locator('.toast.error').waitFor();
  check((await page.locator('.toast').count()) === 1, 'what went wrong replaces what was announced');
  await page.locator('.toast.error').getByRole('button').click();
  await until(page, '!state.toasts.value.length');
});

async function dropped() {
  let neutral = '', wave = '', faces = '';
  for (let j = 0; j <= 20; j++)
    for (let i = 0; i <= 20; i++) {
      neutral += `v ${i / 20} ${j / 20} 0\n`;
      wave += `v ${i / 20} ${j / 20} ${0.2 * Math.sin(i / 3)}\n`;
      if (i < 20 && j < 20) faces += `f ${j * 21 + i + 1} ${j * 21 + i + 2} ${j * 21 + i + 23} ${j * 21 + i + 22}\n`;
    }
  return [['neutral.obj', neutral + faces], ['wave.obj', wave + faces]];
}

test('a clip: sample, scrub, play, key', async () => {
  await page.getByTestId('model-linear').click();
  await page.evaluate(() => window.studio.patch([{ op: 'add', path: '/curves', value: { times: [0, 0.5, 1], values: { jawOpen: [0, 1, 0] } } }], 'Clip'));
  await until(page, 'state.clip.value.frames === 31');
  await page.getByTestId('scrubber').fill('15');
  await until(page, 'state.shape.value?.frame === 15');
  near(await weight('jawOpen'), 1, 1e-3, 'the slider shows the clip');
  await page.getByTestId('play').click();
  await until(page, 'state.time.value.playing && state.shape.value?.frame > 17');
  await page.getByTestId('play').click();
  await until(page, '!state.time.value.playing');
  await page.getByTestId('scrubber').fill('10');
  await until(page, 'state.shape.value?.frame === 10');
  const number = page.getByTestId('number-mouthPucker');
  await number.fill('0.5');
  await number.press('Enter');
  await until(page, 'state.time.value.frame === -1 && state.weights.value.mouthPucker === 0.5');
  check((await weight('jawOpen')) > 0.5, 'the pose starts from the frame');
  await page.getByTestId('key').click();
  await until(page, 'state.scene.value.curves.times.length === 4 && state.scene.value.curves.values.mouthPucker[1] === 0.5');
  check(await page.locator('.uplot canvas').count(), 'curves are drawn');
});

test('export: a picture, the clip and the scene are downloaded', async () => {
  const get = async (id) => {
    await page.getByTestId('export').click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByTestId(id).click()]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  };
  const picture = await get('export-picture');
  check(picture.bytes.subarray(1, 4).toString() === 'PNG' && picture.bytes.length > 5000, 'a PNG');
  const scene = await get('export-scene');
  check(JSON.parse(scene.bytes.toString()).rig.sample === 'face', 'the scene');
  const video = await get('export-turntable');
  check(video.bytes.readUInt32BE(0) === 0x1a45dfa3 && video.bytes.length > 5000, 'a WebM video');
  const mesh = await get('export-shape-obj');
  check((mesh.bytes.toString().match(/^v /gm) ?? []).length === (await read(page, 'state.rig.value.vertices')), 'the shape');
  const curves = await get('export-curves');
  check(/jawOpen/.test(curves.bytes.toString().split('\n')[0]), 'slider curves');
  const clip = await get('export-clip-pc2');
  check(clip.bytes.subarray(0, 11).toString() === 'POINTCACHE2', 'a point cache');
});

test('a reload loses nothing; a second page stays in step', async () => {
  const before = await read(page, 'JSON.stringify(state.scene.value)');
  await page.reload();
  await until(page, 'state.shape.value && state.rig.value');
  check((await read(page, 'JSON.stringify(state.scene.value)')) === before, 'the scene is the same');
  const other = await openPage(browser, server.address, { size: { width: 1000, height: 600 }, strict: true });
  await other.getByTestId('number-jawForward').waitFor();
  const number = page.getByTestId('number-jawForward');
  await number.fill('0.4');
  await number.press('Enter');
  await eventually(async () => (await other.getByTestId('number-jawForward').inputValue()) === '0.4', () => 'the other page follows');
  await other.keyboard.press('Control+z');
  await until(page, 'state.scene.value.weights.jawForward !== 0.4');
  check(other.problems.length === 0, other.problems.join());
  await other.close();
});

test('changes that cross on their way to the server end as the server has them', async () => {
  const scenes = async () => {
    const client = await server.connect(), { scene } = await client.next('scene');
    client.close();
    return [scene, await read(page, 'state.scene.value')].map((document) => JSON.stringify(document, (_, value) => (value && value.constructor === Object ? Object.fromEntries(Object.entries(value).sort()) : value)));
  };
  await page.evaluate(() => {
    const { state, patch } = window.studio;
    patch([{ op: 'replace', path: '', value: { ...state.scene.value, weights: {} } }], 'The whole scene');
  });
  await answered(page);
  // Undo replaces the whole scene while the page already has the next change.
  await page.evaluate(() => {
    document.querySelector('[data-testid=undo]').click();
    window.studio.patch([{ op: 'add', path: '/weights/cheekPuff', value: 0.5 }], 'Puff');
  });
  await answered(page);
  check((await weight('cheekPuff')) === 0.5, 'the change is kept');
  let [there, here] = await scenes();
  check(there === here, `${there}\n${here}`);
  // A change that the server refuses, because undo took away what it is about; the one after it holds.
  await page.evaluate(() => {
    window.studio.patch([{ op: 'add', path: '/obstacles', value: [{ shape: 'sphere', center: [9, 9, 9], radius: 0.1 }] }], 'Ball');
  });
  await answered(page);
  await page.evaluate(() => {
    document.querySelector('[data-testid=undo]').click();
    window.studio.patch([{ op: 'replace', path: '/obstacles/0/radius', value: 0.2 }], 'Larger');
    window.studio.patch([{ op: 'replace', path: '/weights/cheekPuff', value: 0.25 }], 'Puff less');
  });
  await answered(page);
  check((await weight('cheekPuff')) === 0.25, 'what came after it');
  check(page.problems.length === 0, `in between, too, the scene makes sense: ${page.problems.join()}`);
  [there, here] = await scenes();
  check(there === here, `${there}\n${here}`);
  for (let i = 0; i < 2; i++) await page.getByTestId('undo').click();
  await until(page, '!state.weights.value.cheekPuff');
  await page.evaluate(() => (window.studio.state.toasts.value = []));
  await settled(page);
});

test('the server is killed in mid-drag and started again', async () => {
  await page.keyboard.press('f');
  await track('jawOpen').scrollIntoViewIfNeeded();
  const box = await track('jawOpen').boundingBox();
  await page.mouse.move(box.x + 2, box.y + 12);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 12, { steps: 4 });
  await answered(page);
  const value = await weight('jawOpen');
  const undo = await read(page, 'state.history.value.undo.length');
  await server.kill('SIGKILL');
  await until(page, 'state.connection.value === "lost"');
  await page.getByTestId('lost').waitFor(); // says that nothing is lost, and what to do
  await page.mouse.up();
  server = await startServer({ folder, args: ['face.json'] });
  await until(page, 'state.connection.value === "open" && state.shape.value && state.rig.value');
  near(await weight('jawOpen'), value, 1e-6, 'the slider is where it was');
  check((await page.getByTestId('lost').count()) === 0, 'connected');
  check((await read(page, 'state.history.value.undo.length')) === undo, 'the history is there');
  await page.keyboard.press('Control+z');
  await until(page, 'state.weights.value.jawOpen !== a', value);
});

test('start screen: each example moves, linear beside physical, and opens in one click', async () => {
  await page.getByTestId('open').click();
  await until(page, 'state.previews.value.size === state.hello.value.examples.length');
  const names = await read(page, 'state.hello.value.examples.map((e) => e.name)');
  const pictures = (name) => page.evaluate((n) => [...document.querySelectorAll(`[data-testid=example-${n}] canvas`)].map((c) => c.toDataURL()), name);
  await page.waitForFunction(() => [...document.querySelectorAll('.tiles canvas')].every((c) => c.toDataURL().length > 2000));
  // At rest the two are the same; on their way they differ.
  for (const name of names)
    await page.waitForFunction((n) => {
      const [linear, physical] = [...document.querySelectorAll(`[data-testid=example-${n}] canvas`)].map((c) => c.toDataURL());
      return linear !== physical;
    }, name);
  for (const name of names) {
    const [before] = await pictures(name);
    await page.waitForFunction(([n, was]) => document.querySelector(`[data-testid=example-${n}] canvas`).toDataURL() !== was, [name, before]);
  }
  await page.getByTestId('example-bend').click();
  await until(page, 'state.rig.value.sliders.some((s) => s.name === "bend180")');
  await settled(page);
  check(await page.getByText('Drag bend180').isVisible(), 'one sentence says what to try');
  check((await read(page, 'state.overlay.value')) === 'none', 'the overlay of the scene before is gone');
});

test('lips that press: contact holds lips apart that cross in the linear view', async () => {
  await page.getByTestId('open').click();
  await page.getByTestId('example-lips').click();
  await until(page, 'state.modelName.value === "force" && state.rig.value.sliders.length === 52');
  await settled(page);
  check((await read(page, 'state.shape.value.contacts')) > 0, 'the lips press');
  check((await read(page, 'state.apart.value')) > 0.001, 'the two views differ by more than a millimeter');
});

test('modes: a dragged point of the damping curve changes z(t), undo takes it back', async () => {
  await page.getByTestId('open').click();
  await page.getByTestId('example-creature').click();
  await until(page, 'state.modelName.value === "modal" && state.modes.value');
  const range = () => read(page, `(({ z, frames }) => { const row = z.subarray(frames >> 1, frames); return Math.max(...row) - Math.min(...row); })(state.modes.value)`);
  const before = await range();
  check(before > 0, 'the slowest mode moves');
  check(await read(page, 'state.modes.value.frequency.every((f, i, all) => f > 0 && (i === 0 || f >= all[i - 1]))'), 'frequencies rise');
  // Pictures of the modes: each shows something, no two are the same, and they swing.
  await until(page, 'state.modeShapes.value.length >= 8');
  const picture = (k) => page.evaluate((i) => document.querySelector(`[data-testid=mode-${i}] canvas`).toDataURL(), k);
  let pictures;
  await eventually(async () => {
    pictures = await Promise.all([1, 2, 3, 4].map(picture));
    return new Set(pictures).size === 4 && pictures.every((p) => p.length > 2000);
  }, () => 'a picture per mode');
  await page.waitForFunction((still) => document.querySelector('[data-testid=mode-2] canvas').toDataURL() !== still, pictures[1]);
  await page.getByTestId('mode-2').click();
  check((await page.getByTestId('mode-number').inputValue()) === '2', 'the mode is chosen');
  await page.getByTestId('mode-1').click();
  // The first point of the damping curve, from 1 down to -0.3: the mode swings longer.
  const box = await page.locator('[data-testid=mode-curves] .u-over').boundingBox();
  const y = (value) => box.y + box.height * (1.1 - value) / 2.2;
  await page.mouse.move(box.x + 1, y(1));
  await page.mouse.down();
  await page.mouse.move(box.x + 1, y(-0.3), { steps: 4 });
  await until(page, 'state.scene.value.parameters?.gamma_curve?.[1] < -0.2');
  // z(t) follows while the button is still down.
  await page.waitForFunction(([a]) => {
    const { z, frames } = window.studio.state.modes.value, row = z.subarray(frames >> 1, frames);
    return Math.max(...row) - Math.min(...row) > 1.2 * a;
  }, [before]);
  await page.mouse.up();
  await page.keyboard.press('Control+z');
  await until(page, '!state.scene.value.parameters?.gamma_curve');
});

test('keys of poses: set, moved in time by pointer and keyboard, removed', async () => {
  const keys = 'JSON.stringify(state.scene.value.keys)';
  const before = await read(page, keys);
  await page.getByTestId('scrubber').fill('40');
  await until(page, 'state.shape.value?.frame === 40');
  const number = page.getByTestId('number-squash');
  await number.fill('0.5');
  await number.press('Enter');
  await until(page, 'state.time.value.frame === -1 && state.shape.value?.frame === -1');
  await settled(page);
  const apart = await read(page, 'Math.max(...state.shape.value.positions.map((x, i) => Math.abs(x - state.shape.value.linear[i])))');
  check(apart === 0, 'a pose off the clip is what its key would be');
  await page.keyboard.press('k');
  await until(page, 'state.scene.value.keys.length === 3 && state.scene.value.keys[2].weights.squash === 0.5');
  const time = await read(page, 'state.scene.value.keys[2].time');
  await page.getByTestId('key-2').press('ArrowRight');
  await until(page, 'state.scene.value.keys[2].time > a', time);
  const diamond = await page.getByTestId('key-2').boundingBox();
  await page.mouse.move(diamond.x + 6, diamond.y + 6);
  await page.mouse.down();
  await page.mouse.move(diamond.x + 26, diamond.y + 6, { steps: 3 });
  await page.mouse.up();
  await until(page, 'state.scene.value.keys[2].time > a + 0.1', time);
  await page.getByTestId('key-2').press('Delete');
  await until(page, 'state.scene.value.keys.length === 2');
  for (let i = 0; i < 5; i++) await page.getByTestId('undo').click();
  await until(page, `${keys} === a`, before);
});

test('the models with a clip of poses: each shows the same motion, undo brings the keys back', async () => {
  const keys = await read(page, 'JSON.stringify(state.scene.value.keys)');
  await page.getByTestId('scrubber').fill('9');
  await until(page, 'state.shape.value?.frame === 9');
  const [shown, linear] = [await read(page, 'JSON.stringify(state.weights.value)'), await read(page, 'Array.from(state.shape.value.linear)')];
  await page.getByTestId('model-rotation').click();
  await settled(page);
  await until(page, 'state.shape.value.frame === 9 && state.scene.value.curves && !state.scene.value.keys');
  const before = JSON.parse(shown), after = await read(page, 'state.weights.value');
  for (const name of Object.keys(before)) near(after[name], before[name], 1e-6, name);
  const apart = await read(page, 'Math.max(...state.shape.value.linear.map((x, i) => Math.abs(x - a[i])))', linear);
  check(apart < 1e-5, `the linear view stays: ${apart}`);
  await page.keyboard.press('Control+z');
  await until(page, 'state.modelName.value === "modal" && JSON.stringify(state.scene.value.keys) === a', keys);
});

test('a look at Modal: the pose stays on the screen, and nothing of it is left behind', async () => {
  await page.evaluate(() => window.studio.patch([{ op: 'replace', path: '', value: { sinew: 1, rig: { sample: 'blob' }, model: 'linear', weights: { squash: 0.7 } } }], 'A pose'));
  await until(page, 'state.modelName.value === "linear" && state.shape.value?.frame === -1');
  await settled(page);
  const linear = await read(page, 'Array.from(state.shape.value.linear)');
  const furthest = () => read(page, 'Math.max(...state.shape.value.linear.map((x, i) => Math.abs(x - a[i])))', linear);
  await page.getByTestId('model-modal').click();
  await until(page, 'state.scene.value.keys?.length === 2 && state.shape.value.frame > 0');
  await settled(page);
  near(await weight('squash'), 0.7, 1e-6, 'the slider stays');
  check((await furthest()) < 1e-5, 'the pose stays on the screen');
  await page.getByTestId('model-linear').click();
  await until(page, '!state.scene.value.keys && !state.scene.value.time && state.time.value.frame === -1');
  await settled(page);
  near(await weight('squash'), 0.7, 1e-6, 'the slider is where it was');
  check((await furthest()) < 1e-5, 'so is the shape');
});

test('capture bench: markers are shown, error curves compared, a marker is moved and undone', async () => {
  await page.getByTestId('open').click();
  await page.getByTestId('example-take').click();
  await until(page, 'state.take.value');
  await page.evaluate(() => window.studio.patch([{ op: 'add', path: '/time', value: { from: 0, to: 2 } }], 'The first two seconds'));
  await until(page, 'state.clip.value.frames > 100 && state.clip.value.frames < 200 && state.take.value?.frames === state.clip.value.frames');
  const { names, frames } = await read(page, '({ names: state.take.value.names, frames: state.take.value.frames })');
  check(names.length === 60 && frames === (await read(page, 'state.clip.value.frames')), 'all markers, in all frames');
  await page.getByTestId('errors').click();
  await until(page, 'state.solves.value.length === 1');
  await page.getByTestId('scrubber').fill('100');
  await until(page, 'state.shape.value?.frame === 100');
  check(await read(page, 'Object.values(state.weights.value).some((w) => w > 0.05)'), 'sliders show the solved weights');
  check(!(await read(page, 'state.warnings.value.length')), 'no warning');
  const error = await read(page, 'state.solves.value[0].errors.reduce((a, b) => a + b, 0) / state.solves.value[0].errors.length');
  check(error > 0 && error < 1e-3, `mean error ${error} m`);
  // Four ways with one click, beside the scene as it is.
  const revision = await read(page, 'state.revision.value');
  await page.getByTestId('four-ways').click();
  await until(page, 'state.solves.value.length === 5 && !state.solving.value.length');
  const ways = await read(page, 'state.solves.value.map((s) => s.name).join()');
  check(ways.endsWith('SBS,RSBS,RSBS + layer,Blendforces'), ways);
  check((await read(page, 'new Set(state.solves.value.slice(1).map((s) => s.errors.reduce((a, b) => a + b, 0))).size')) === 4, 'four solves that differ');
  check((await read(page, 'state.revision.value')) === revision, 'the scene is as it was');
  // Another method beside the first: its shapes come from the kept solve, frame by frame.
  await page.evaluate(() => window.studio.patch([{ op: 'add', path: '/parameters', value: { method: 'sbs' } }], 'linear fit'));
  await settled(page);
  await page.getByTestId('beside-0').click();
  await until(page, `state.shape.value?.frame >= 0 && state.leftName.value.startsWith('Fit')`);
  await page.getByTestId('scrubber').fill('20');
  await until(page, 'state.shape.value?.frame === 20');
  await settled(page);
  const apart = await page.evaluate(() => {
    const { state, view } = window.studio, n = state.shape.value.positions.length;
    const left = view().linear.geometry.attributes.position.array, kept = state.beside.value.positions.subarray(20 * n, 21 * n);
    let wrong = 0, far = 0;
    for (let i = 0; i < n; i++) {
      wrong = Math.max(wrong, Math.abs(left[i] - kept[i]));
      far = Math.max(far, Math.abs(left[i] - state.shape.value.positions[i]));
    }
    return { wrong, far };
  });
  check(apart.wrong === 0 && apart.far > 1e-5, `the kept solve is beside the new one: ${JSON.stringify(apart)}`);
  await page.getByTestId('beside-0').click();
  await page.evaluate(() => window.studio.patch([{ op: 'remove', path: '/parameters' }], 'rotation fit'));
  await settled(page);
  await page.getByTestId('tool-map').click();
  await until(page, 'view.markers.shown.length > 0');
  await settled(page);
  // The marker with most room around it, and a point of the face 16 pixels away from its neighbour.
  const spot = await page.evaluate(() => {
    const view = window.studio.view(), { shown, seen } = view.markers;
    const box = document.querySelector('[data-testid=physical]').getBoundingClientRect();
    const at = shown.map((marker, k) => {
      const p = view.camera.position.clone().fromBufferAttribute(seen.geometry.attributes.position, k).project(view.camera);
      return { marker, x: box.x + ((p.x + 1) / 2) * box.width, y: box.y + ((1 - p.y) / 2) * box.height };
    });
    const room = (a) => Math.min(...at.filter((b) => b !== a).map((b) => Math.hypot(a.x - b.x, a.y - b.y)));
    const inner = at.filter((a) => Math.abs(a.x - box.x - box.width / 2) < 60);
    const best = inner.reduce((a, b) => (room(b) > room(a) ? b : a));
    const near = at.filter((b) => b !== best).reduce((a, b) => (Math.hypot(b.x - best.x, b.y - best.y) < Math.hypot(a.x - best.x, a.y - best.y) ? b : a));
    const length = Math.hypot(best.x - near.x, best.y - near.y);
    return { ...best, toX: best.x + (16 * (best.x - near.x)) / length, toY: best.y + (16 * (best.y - near.y)) / length };
  });
  await page.mouse.click(spot.x, spot.y);
  check((await read(page, 'state.selectedMarker.value')) === spot.marker, 'the marker under the pointer is chosen');
  const before = await read(page, 'state.scene.value.markers.map ?? ""');
  await page.mouse.click(spot.toX, spot.toY);
  await until(page, 'state.scene.value.markers.map && state.scene.value.markers.map !== a', before);
  await settled(page);
  check(!(await read(page, 'state.problem.value')), 'the corrected map is accepted');
  await page.keyboard.press('Control+z');
  await until(page, '(state.scene.value.markers.map ?? "") === a', before);
  await page.evaluate(() => (window.studio.state.tool.value = 'orbit'));
});

test('what takes long shows its progress and is cancelled by its button and by Esc; the shape and the solves stay', async () => {
  await page.evaluate(() => window.studio.patch([{ op: 'add', path: '/time', value: { from: 0, to: 10 } }], 'The whole take'));
  await until(page, 'state.clip.value.frames > 500');
  await settled(page);
  // A solve that ends before it is cancelled takes the place of the one of its name.
  const before = await read(page, '({ solves: state.solves.value.map((s) => s.name).sort().join(), positions: Array.from(state.shape.value.positions.slice(0, 30)) })');
  for (const cancel of [() => page.getByTestId('cancel').click(), () => page.keyboard.press('Escape')]) {
    await page.getByTestId('four-ways').click();
    await page.locator('.progress').waitFor();
    check(/^[A-Z]\w+[\s\S]*\d %$/.test((await page.locator('.progress').innerText()).trim()), 'it says what is done, and how much of it');
    await cancel();
    await until(page, '!state.solving.value.length && !state.progress.value');
    check(await page.getByTestId('four-ways').isEnabled(), 'it can be asked for again');
  }
  const after = await read(page, '({ solves: state.solves.value.map((s) => s.name).sort().join(), positions: Array.from(state.shape.value.positions.slice(0, 30)) })');
  check(JSON.stringify(after) === JSON.stringify(before), 'nothing is lost');
  check(!(await read(page, 'state.problem.value')), 'a cancel is no problem of the scene');
  await page.getByTestId('undo').click();
  await until(page, 'state.clip.value.frames < 200');
  await settled(page);
});

/** Two pictures later, and when all transitions are over. */
const transitions = () =>
  page.evaluate(async () => {
    for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
    const ending = document.getAnimations().filter((a) => a.playState === 'running' && a.effect?.getComputedTiming().iterations !== Infinity);
    await Promise.all(ending.map((a) => a.finished.catch(() => {})));
  });

/** Serious and critical findings of axe-core. */
async function seriousIssues() {
  await transitions();
  return page.evaluate(async () => {
    const result = await window.axe.run(document, { resultTypes: ['violations'] });
    return result.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | ')}`);
  });
}

/** Controls that are seen but have no tooltip. */
const withoutTooltip = () =>
  page.evaluate(() =>
    [...document.querySelectorAll('button, input, select, summary, [role=slider]')].filter((e) => e.checkVisibility() && !e.closest('[title]')).map((e) => e.outerHTML.slice(0, 120)),
  );

test('of a body whose face moves, the face is framed; F shows the body, and again the face', async () => {
  const place = scratchFolder(), body = writeBody(place);
  const own = await startServer({ folder: place, args: ['body.obj', 'targets'] });
  const other = await openPage(browser, own.address);
  await until(other, 'state.shape.value && state.rig.value');
  await settled(other);
  const spans = () => other.evaluate(({ count, face }) => {
    const view = window.studio.view(), stage = document.querySelector('[data-testid=physical]').getBoundingClientRect();
    const y = Array.from({ length: count }, (_, v) => view.project(v).y);
    const span = (a) => (Math.max(...a) - Math.min(...a)) / stage.height;
    return { body: span(y), face: span(y.slice(face)) };
  }, body);
  const close = await spans();
  check(close.face > 0.2 && close.face < 0.8, `the face fills much of the view: ${JSON.stringify(close)}`);
  await other.keyboard.press('f');
  await settled(other);
  const far = await spans();
  check(far.body > 0.5 && far.body < 1, `the body is in the frame: ${JSON.stringify(far)}`);
  await other.keyboard.press('f');
  await settled(other);
  check(Math.abs((await spans()).face - close.face) < 0.01, 'and the face again');
  check(other.problems.length === 0, other.problems.join());
  await other.close();
  await own.stop();
});

test('keyboard, themes, sizes; no serious accessibility issue in any state, no console error', async () => {
  await until(page, '!state.toasts.value.length'); // a toast that fades has too little contrast for a moment
  await page.addScriptTag({ content: readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') });
  const show = (which) => page.evaluate((d) => (window.studio.state.dialog.value = d), which);
  for (const theme of ['dark', 'light']) {
    await page.evaluate((t) => (window.studio.state.theme.value = t), theme);
    for (const dialog of theme === 'dark' ? [null, 'start', 'help', 'export', 'interference'] : [null, 'start']) {
      await show(dialog);
      if (dialog) await page.getByRole('dialog').waitFor();
      const found = await seriousIssues();
      check(found.length === 0, `${theme}, ${dialog ?? 'capture bench'}: ${found.join('\n')}`);
      const bare = await withoutTooltip();
      check(bare.length === 0, `${dialog ?? 'capture bench'}, without a tooltip: ${bare.join('\n')}`);
    }
    await show(null);
  }
  // The panels with everything in them: modes, an obstacle, a lock, a pin, a heat map.
  await page.getByTestId('open').click();
  await page.getByTestId('example-creature').click();
  await until(page, 'state.modelName.value === "modal" && state.modes.value && state.modeShapes.value.length');
  await page.evaluate(() => {
    const { state, patch } = window.studio;
    patch([{ op: 'add', path: '/obstacles', value: [{ shape: 'box', name: 'box', center: [0, 0, 2], half: [0.1, 0.1, 0.1] }] }, { op: 'add', path: '/locks', value: [{ name: 'top', select: 'v:1-9' }] }, { op: 'add', path: '/pulls', value: [{ vertex: 1, to: [0, 0, 0] }] }], 'Fill the panels');
    state.selectedObstacle.value = state.selectedLock.value = 0;
    state.tool.value = 'lock';
    state.overlay.value = 'motion';
  });
  await answered(page);
  for (const theme of ['light', 'dark']) {
    await page.evaluate((t) => (window.studio.state.theme.value = t), theme);
    await until(page, '!state.toasts.value.length');
    const found = await seriousIssues();
    check(found.length === 0, `${theme}, full panels: ${found.join('\n')}`);
    const bare = await withoutTooltip();
    check(bare.length === 0, `full panels, without a tooltip: ${bare.join('\n')}`);
  }
  await page.evaluate(() => (window.studio.state.overlay.value = 'none'));
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await until(page, '!state.dialog.value');
  // The models are one stop of the Tab key: arrows go on, Space chooses, and the clip stays where it is.
  const frame = await read(page, 'state.time.value.frame'), focused = () => page.evaluate(() => document.activeElement.dataset.testid);
  check((await page.locator('[role=radiogroup][aria-label=Model] [tabindex="0"]').count()) === 1, 'one stop');
  await page.getByTestId('model-modal').focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  check((await focused()) === 'model-rotation', await focused());
  check((await read(page, 'state.modelName.value')) === 'modal' && (await read(page, 'state.time.value.frame')) === frame, 'focus alone changes nothing');
  await page.getByTestId('tool-lock').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Space');
  check((await read(page, 'state.tool.value')) === 'orbit', 'from the last to the first');
  const eye = await read(page, 'view.camera.position.x');
  await page.keyboard.press('Shift+ArrowRight');
  check((await read(page, 'view.camera.position.x')) !== eye, 'the keyboard turns the view');
  await page.keyboard.press('Tab');
  check(await page.evaluate(() => document.activeElement !== document.body), 'Tab reaches the controls');
  for (const size of [{ width: 1280, height: 720 }, { width: 2560, height: 1440 }]) {
    await page.setViewportSize(size);
    await transitions();
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight);
    check(!overflow, `${size.width}×${size.height} does not overflow`);
    check(await page.getByTestId('export').isVisible(), 'the header fits');
  }
  check(page.problems.length === 0, page.problems.join('\n'));
  check(page.elsewhere.length === 0, `asked of other hosts: ${page.elsewhere.join(', ')}`);
});

const failed = await runTests(process.argv[2]);
await browser.close();
await server.stop();
process.exit(failed ? 1 : 0);
