// Pictures of every part of the studio for the documentation: scripts/studio-pictures.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { openPage, read, settled, startBrowser, startServer, until } from './support.mjs';

const out = process.argv[2] ?? 'docs/pictures';
const only = process.argv[3];
mkdirSync(out, { recursive: true });
const server = await startServer();
const browser = await startBrowser();
const page = await openPage(browser, server.address, { size: { width: 1440, height: 900 } });
await until(page, 'state.shape.value && state.rig.value', null, 90000);

async function picture(name, element) {
  // Small pictures appear one after the other.
  await page.waitForFunction(() => [...document.querySelectorAll('.modetile canvas, .tiles canvas')].every((c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((x) => x)));
  // The worker's light comes last; a moment later the picture is drawn with all pixels.
  await until(page, 'view.physical.geometry.attributes.shade.version > 0', null, 60000);
  await page.waitForTimeout(300);
  await until(page, 'view.isSharp', null, 60000);
  await page.waitForTimeout(300);
  const png = `${out}/studio-${name}.png`;
  await (element ?? page).screenshot({ path: png });
  execFileSync('ffmpeg', ['-loglevel', 'error', '-y', '-i', png, '-quality', '82', `${out}/studio-${name}.webp`]);
  rmSync(png);
  console.log(`${out}/studio-${name}.webp`);
}
const example = async (name, slider) => {
  await page.getByTestId('open').click();
  await page.getByTestId(`example-${name}`).click();
  await until(page, 'state.rig.value.sliders.some((s) => s.name === a)', slider, 90000);
  await settled(page);
};
const scenes = {
  async face() {
    await settled(page);
    await picture('face');
  },
  async start() {
    await page.getByTestId('open').click();
    await until(page, 'state.previews.value.size === state.hello.value.examples.length', null, 120000);
    await page.waitForTimeout(1500);
    await picture('start', page.getByRole('dialog'));
    await page.keyboard.press('Escape');
  },
  async bend() {
    await example('bend', 'bend180');
    const number = page.getByTestId('number-bend180');
    await number.fill('0.5');
    await number.press('Enter');
    await settled(page);
    await picture('bend');
  },
  async rod() {
    await example('rod', 'fist');
    await page.evaluate(() => (window.studio.state.selectedObstacle.value = 0));
    await settled(page);
    await picture('rod');
  },
  async locks() {
    await example('brow', 'laugh');
    await page.getByTestId('tool-lock').click();
    const cheek = await read(page, `(() => { const r = state.rig.value, want = [0.045, -0.03, 0.07]; let best = 0, near = 1; for (let v = 0; v < r.vertices; v++) { const d = Math.hypot(...want.map((x, k) => r.neutral[3 * v + k] - x)); if (d < near) [near, best] = [d, v]; } return view.project(best); })()`);
    await page.mouse.click(cheek.x, cheek.y);
    await until(page, 'state.scene.value.locks.length === 2');
    await page.getByTestId('lock-name-1').fill('cheek');
    await page.getByTestId('lock-name-1').press('Enter');
    await page.mouse.move(10, 400);
    await settled(page);
    await picture('locks');
    await page.getByTestId('tool-orbit').click();
    await page.getByTestId('interference').click();
    await until(page, 'state.interference.value');
    await picture('matrix', page.getByRole('dialog'));
    await page.keyboard.press('Escape');
  },
  async creature() {
    await example('creature', 'leanLeft');
    await until(page, 'state.clip.value.frames > 10', null, 90000);
    await page.getByTestId('scrubber').fill('20');
    await until(page, 'state.shape.value?.frame === 20 && state.modes.value && state.modeShapes.value.length', null, 90000);
    await settled(page);
    await picture('creature');
  },
  async take() {
    await page.getByTestId('open').click();
    await page.getByTestId('example-take').click();
    await until(page, 'state.take.value', null, 90000);
    await page.getByTestId('four-ways').click();
    await until(page, 'state.solves.value.length === 4 && !state.solving.value.length');
    await page.getByTestId('scrubber').fill('75');
    await until(page, 'state.shape.value?.frame === 75', null, 90000);
    await page.getByTestId('beside-1').click();
    await page.evaluate(() => (window.studio.state.overlay.value = 'difference'));
    await settled(page);
    await picture('take');
    await page.evaluate(() => (window.studio.state.overlay.value = 'none'));
  },
  async clip() {
    await page.getByTestId('open').click();
    await page.getByTestId('sample-bar').click();
    await until(page, 'state.rig.value.sliders.some((s) => s.name === "bend180") && state.clip.value.frames > 100');
    await page.getByTestId('scrubber').fill('45');
    await until(page, 'state.shape.value?.frame === 45', null, 90000);
    await page.evaluate(() => {
      window.studio.state.theme.value = 'light';
      window.studio.state.overlay.value = 'difference';
    });
    await settled(page);
    await page.keyboard.press('f');
    await settled(page);
    await picture('clip');
    await page.evaluate(() => {
      window.studio.state.theme.value = 'dark';
      window.studio.state.overlay.value = 'none';
    });
  },
};
for (const [name, make] of Object.entries(scenes)) if (!only || name === only) await make();
await browser.close();
await server.stop();
