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
  async creature() {
    await example('creature', 'leanLeft');
    await until(page, 'state.clip.value.frames > 10', null, 90000);
    await page.getByTestId('scrubber').fill('20');
    await until(page, 'state.shape.value.frame === 20 && state.modes.value && state.modeShapes.value.length', null, 90000);
    await settled(page);
    await picture('creature');
  },
  async take() {
    await page.getByTestId('open').click();
    await page.getByTestId('example-take').click();
    await until(page, 'state.take.value', null, 90000);
    for (const method of ['rsbs', 'sbs']) {
      await page.evaluate((m) => window.studio.patch([{ op: 'add', path: '/parameters', value: { method: m } }], m), method);
      await settled(page);
      const count = await read(page, 'state.solves.value.length');
      await page.getByTestId('errors').click();
      await until(page, 'state.solves.value.length > a', count, 90000);
    }
    await page.getByTestId('scrubber').fill('45');
    await until(page, 'state.shape.value.frame === 45', null, 90000);
    await page.getByTestId('beside-0').click();
    await page.evaluate(() => (window.studio.state.overlay.value = 'difference'));
    await settled(page);
    await picture('take');
    await page.evaluate(() => (window.studio.state.overlay.value = 'none'));
  },
  async clip() {
    await page.getByTestId('open').click();
    await page.getByTestId('sample-bar').click();
    await until(page, 'state.clip.value.frames > 100', null, 90000);
    await page.getByTestId('scrubber').fill('45');
    await until(page, 'state.shape.value.frame === 45', null, 90000);
    await page.evaluate(() => {
      window.studio.state.theme.value = 'light';
      window.studio.state.overlay.value = 'difference';
    });
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
