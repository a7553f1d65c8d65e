// Steers characters from the viewer with real key, mouse, touch and gamepad events:
// node test_steering.mjs SINEWD SINEW DATA [FOLDER for screenshots] --lossy PORT of lossy.py's proxy
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { allDrawn, openPage, picture, root, runCases, Server, waitFor } from './browser.mjs';

const server = new Server([{ name: 'mira', file: join(root, 'tests/assets/characters/mira.rig.json') }]);
const open = async (browser, query = '', options = {}) => {
  const opened = await openPage(browser, `${server.page}?character=mira${query}`, options);
  await allDrawn(opened.page, 1);
  return opened;
};

/** Where the own character stands (model's unit) and which way it faces, by the newest drawn frame. */
const placeOf = (page) => page.evaluate(() => {
  const { translation, rotation } = sinewTest.performers[0].own.frame;
  return { x: translation[0], z: translation[2], yaw: 2 * Math.atan2(rotation[1], rotation[3]) };
});
const apart = (a, b) => Math.hypot(a.x - b.x, a.z - b.z);
const movedFrom = (page, from, by) => waitFor(`it has moved by ${by}`, async () => apart(await placeOf(page), from) > by);
const stands = (page) => waitFor('it stands still', async () => {
  const a = await placeOf(page);
  await page.waitForTimeout(300);
  return apart(a, await placeOf(page)) < 1e-3;
});
const presses = async () => Number(/^sinew_presses_total (\d+)/m.exec(await (await fetch(`${server.page}metrics`)).text())[1]);
/** The direction of the camera on the floor, as x, z. */
const cameraWay = (page) => page.evaluate(() => {
  const a = sinewTest.azimuth();
  return [-Math.sin(a), -Math.cos(a)];
});

const cases = {
  async 'keys: it walks away from the camera, runs, acts, and stops when the page loses the focus'(browser) {
    const { page, complaints, context } = await open(browser);
    const start = await placeOf(page);
    await picture(page, 'steer-before');
    await page.focus('#canvas');
    await page.keyboard.down('KeyW');
    await movedFrom(page, start, 0.6);
    await picture(page, 'steer-keys');
    const there = await placeOf(page), way = await cameraWay(page), gone = apart(there, start);
    const along = ((there.x - start.x) * way[0] + (there.z - start.z) * way[1]) / gone;
    assert.ok(along > 0.85, `forward is where the camera looks: ${along}`);
    assert.equal(await page.getAttribute('#steer', 'aria-pressed'), 'true');
    assert.ok(await page.isVisible('#help-card'));
    assert.match(await page.textContent('#help-list'), /Wave/);
    await page.evaluate(() => window.dispatchEvent(new Event('blur'))); // Alt-Tab: no keyup will come
    await stands(page);
    await page.keyboard.up('KeyW');
    const before = await presses();
    await page.keyboard.down('KeyE'); // bound to "wave" by the rig file
    await page.keyboard.down('KeyE'); // the key repeats
    await page.keyboard.up('KeyE');
    await waitFor('one press has acted', async () => await presses() === before + 1);
    const inputMs = await page.evaluate(() => sinewTest.performers[0].client.inputLatency / 1000);
    console.log(`     input to the first frame that shows it: ${inputMs.toFixed(1)} ms, with the network and the browser's own work`);
    assert.ok(inputMs > 0);
    await page.keyboard.press('Escape');
    assert.equal(await page.getAttribute('#steer', 'aria-pressed'), 'false');
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'mouse: a click on the floor sends it there, holding leads it, a drag only turns the view'(browser) {
    const { page, complaints, context } = await open(browser);
    await page.waitForTimeout(500);
    const start = await placeOf(page), azimuth = () => page.evaluate(() => sinewTest.azimuth());
    const turned = await azimuth();
    await page.mouse.move(300, 200);
    await page.mouse.down();
    await page.mouse.move(380, 210, { steps: 6 });
    await page.mouse.up();
    await page.waitForTimeout(800);
    assert.ok(Math.abs(await azimuth() - turned) > 0.05, 'the view turns');
    assert.ok(apart(await placeOf(page), start) < 0.01, 'and nobody walks');
    await page.mouse.click(180, 520);
    await movedFrom(page, start, 0.3);
    await stands(page);
    const there = await placeOf(page);
    await page.mouse.move(520, 560);
    await page.mouse.down();
    await movedFrom(page, there, 0.3);
    await page.mouse.up();
    await picture(page, 'steer-mouse');
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'touch: the stick moves it, a button acts, a swipe is told'(browser) {
    const { page, complaints, context } = await open(browser, '', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await page.tap('#sheet'); // the panel goes down
    await page.tap('#steer');
    await page.waitForTimeout(600);
    const start = await placeOf(page), base = await page.locator('#touch-stick').boundingBox();
    const client = await context.newCDPSession(page), x = base.x + base.width / 2, y = base.y + base.height / 2;
    const touch = (type, ...points) => client.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([px, py]) => ({ x: px, y: py })) });
    await touch('touchStart', [x, y]);
    await touch('touchMove', [x, y - 55]);
    await movedFrom(page, start, 0.4);
    await picture(page, 'steer-touch');
    await touch('touchEnd');
    await stands(page);
    const before = await presses();
    await page.locator('#touch-buttons button').first().tap();
    await waitFor('the button has acted', async () => await presses() === before + 1);
    await touch('touchStart', [150, 300]); // up, and quick: "jump" by the usual bindings, if bound
    await touch('touchMove', [150, 180]);
    await touch('touchEnd');
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'gamepad: the stick moves it, the camera turns, a button acts once, a pad that goes lets go'(browser) {
    const { page, complaints, context } = await open(browser);
    await page.evaluate(() => {
      const button = () => ({ pressed: false, touched: false, value: 0 });
      const pad = { id: 'fake', index: 0, connected: true, mapping: 'standard', timestamp: 0, axes: [0, 0, 0, 0], buttons: Array.from({ length: 17 }, button) };
      window.fakePads = [null, pad, null, null];
      pad.index = 1;
      navigator.getGamepads = () => window.fakePads;
    });
    const start = await placeOf(page), azimuth = await page.evaluate(() => sinewTest.azimuth());
    await page.evaluate(() => { window.fakePads[1].axes = [0.1, 0.08, 0, 0]; }); // in the dead zone
    await page.waitForTimeout(700);
    assert.ok(apart(await placeOf(page), start) < 0.01, 'a stick that rests does not drift');
    await page.evaluate(() => { window.fakePads[1].axes = [0, -1, 0.8, 0]; });
    await movedFrom(page, start, 0.6);
    await picture(page, 'steer-gamepad');
    assert.ok(Math.abs(await page.evaluate(() => sinewTest.azimuth()) - azimuth) > 0.05);
    await page.evaluate(() => { window.fakePads[1].axes = [0, 0, 0, 0]; });
    const before = await presses(), bound = await page.evaluate(() =>
      [...sinewTest.performers[0].controls.bindings.keys()].filter((input) => input.startsWith('gamepad:')));
    assert.ok(bound.length > 0, 'something is bound to the gamepad');
    const number = Number(/\d+$/.exec(bound[0])[0]);
    await page.evaluate((i) => { window.fakePads[1].buttons[i] = { pressed: true, touched: true, value: 1 }; }, number);
    await waitFor('the button has acted', async () => await presses() === before + 1);
    await page.evaluate(() => { window.fakePads[1].axes = [0, -1, 0, 0]; });
    await page.waitForTimeout(400);
    await page.evaluate(() => { window.fakePads = [null, null, null, null]; });
    await stands(page);
    assert.equal(await presses(), before + 1, 'held for seconds, it was one press');
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'two pages in one scene see each other move, with names over the heads'(browser) {
    const a = await open(browser, '&scene=yard&name=Ann'), b = await open(browser, '&scene=yard&name=Ben');
    await b.page.evaluate(() => sinewTest.performers[0].client.place({ position: [1.2, 0, 0] }));
    const names = async (page) => (await page.locator('.labels p').allTextContents()).sort().join();
    for (const { page } of [a, b]) await waitFor('both names are there', async () => await names(page) === 'Ann,Ben');
    const seen = () => a.page.evaluate(() => {
      const { performers: [p] } = sinewTest;
      const other = [...p.meshes].find(([id]) => id !== p.client.actor)[1].frame;
      return { x: other.translation[0], z: other.translation[2] };
    });
    const before = await seen();
    await b.page.focus('#canvas');
    await b.page.keyboard.down('KeyD');
    await waitFor('Ann sees Ben walk', async () => apart(await seen(), before) > 0.4);
    await b.page.keyboard.up('KeyD');
    await a.page.click('#fit');
    await a.page.waitForTimeout(2500);
    await picture(a.page, 'steer-scene');
    await a.context.close();
    await b.context.close();
  },

  async 'over a link that loses and reorders inputs each press acts exactly once'(browser) {
    const proxy = spawn('python3', [join(root, 'tests/e2e/lossy.py'), String(server.ports.http)], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const port = await new Promise((resolve) => proxy.stdout.once('data', (text) => resolve(Number(text))));
      const { page, context } = await openPage(browser, `http://127.0.0.1:${port}/?character=mira`);
      await allDrawn(page, 1);
      const before = await presses();
      await page.focus('#canvas');
      await page.keyboard.down('KeyW'); // steers
      for (let i = 0; i < 30; i++) {
        await page.keyboard.press('KeyE');
        await page.waitForTimeout(40);
      }
      await page.keyboard.up('KeyW');
      await waitFor('all presses have acted', async () => await presses() >= before + 30);
      await page.waitForTimeout(1500);
      assert.equal(await presses(), before + 30);
      await stands(page);
      await context.close();
    } finally {
      proxy.kill();
    }
  },
};

await runCases(server, cases);
