// Drives the viewer: node test_viewer.mjs SINEWD SINEW DATA [FOLDER for screenshots]
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allDrawn, coloursOf, countOf, data, folder, framesOf, openPage, picture, root, runCases, Server, sinew, waitFor } from './browser.mjs';

const characters = [
  { name: 'Fox', file: join(data, 'gltf/khronos/Fox.glb'), clip: 'Walk' },
  { name: 'Robot', file: join(data, 'gltf/other/RobotExpressive.glb'), clip: 'Dance' },
  // Without its rig file: what swings shows another surface in every frame, and two sessions are compared.
  { name: 'mira', file: join(root, 'tests/assets/characters/mira.glb'), clip: 'Walk' },
];
const rooted = { name: 'mira_roots', file: join(root, 'tests/assets/characters/mira.rig.json') };

// ---- the cases ----

const server = new Server([...characters, rooted]);
const cases = {
  async 'three characters are on the screen, and nothing is complained about'(browser) {
    const address = `${server.page}?${characters.map((c) => `character=${c.name}`).join('&')}`;
    const { page, context, complaints } = await openPage(browser, address, { viewport: { width: 1280, height: 800 } });
    await allDrawn(page, 3);
    const before = await framesOf(page);
    await waitFor('they move on', async () => (await framesOf(page)).every((n, i) => n > before[i]));
    await waitFor('textures have come', () => page.evaluate(() => {
      let maps = 0;
      sinewTest.performers[0].own.traverse((o) => { maps += [o.material].flat().filter((m) => m?.map).length; });
      return maps > 0;
    }));
    await page.waitForTimeout(2000);
    const colours = coloursOf(await picture(page, 'desktop'), { x: 60, y: 100, width: 860, height: 560 });
    assert.ok(colours > 150, `${colours} colours in the picture`);
    assert.equal(await page.textContent('#status-text'), 'Live');
    const figures = await page.textContent('#figures-list');
    assert.match(figures, /Mbit\/s|kbit\/s/);
    assert.match(figures, /bits/);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'a decoded frame is bit for bit that of the C decoder'(browser) {
    for (const c of characters) {
      const time = 0.375, script = join(folder, 'pose.jsonl'), dump = join(folder, 'dump.f32');
      writeFileSync(script, `${JSON.stringify({ t_s: 0, pose: { clip: c.clip, time_s: time } })}\n`);
      const played = spawnSync(sinew, ['play', `ws://127.0.0.1:${server.ports.http}`, '--character', c.name, '--script', script,
        '--frames', '60', '--dump', dump], { encoding: 'utf8' });
      assert.equal(played.status, 0, played.stderr);
      const { page, context } = await openPage(browser, `${server.page}?character=${c.name}`);
      await allDrawn(page, 1);
      // The grid of a surface depends on what it has shown: a new session, like the native one,
      // whose first input is the pose.
      await page.evaluate(({ clip, t }) => {
        const { client } = sinewTest.performers[0];
        client.pose({ clip, time_s: t });
        client.resume = null;
        client.socket.close();
      }, { clip: c.clip, t: time });
      await waitFor('it joined anew', () => page.evaluate(() =>
        sinewTest.performers[0].client.counters.reconnects === 1 && sinewTest.performers[0].client.state === 'open'));
      const seen = await waitFor('a frame shows the pose', async () => {
        const i = await page.evaluate(() => sinewTest.inspect(0));
        return i && i.inputSequence === 1 && i.still ? i : null;
      });
      const here = Buffer.from(seen.positions, 'base64'), there = readFileSync(dump);
      assert.equal(here.length, there.length);
      assert.ok(here.equals(there), `${c.name}: the positions differ`);
      console.log(`     ${c.name}: ${here.length / 12} vertices, rows ${seen.rowsHash}`);
      await context.close();
    }
  },

  async 'clips, shapes and quality are steered from the page'(browser) {
    const { page, context, complaints } = await openPage(browser, `${server.page}?character=Robot`);
    await allDrawn(page, 1);
    await page.click('#clips button:has-text("Wave")');
    await waitFor('the pose is in the frames', () => page.evaluate(() => sinewTest.performers[0].own.frame.inputSequence > 2));
    assert.equal(await page.getAttribute('#clips button:has-text("Wave")', 'aria-pressed'), 'true');
    await page.selectOption('#bits', '12');
    await waitFor('frames have 12 bits', () => page.evaluate(() => sinewTest.performers[0].own.frame.bits === 12));
    await page.selectOption('#add-name', 'Fox');
    await page.click('#add button');
    await allDrawn(page, 2);
    assert.equal(await page.locator('.cast li').count(), 2);
    await page.locator('.cast li').nth(0).locator('.icon').click();
    assert.equal(await page.locator('.cast li').count(), 1);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'two pages in one scene see each other'(browser) {
    const a = await openPage(browser, `${server.page}?character=Fox&scene=meeting`);
    await allDrawn(a.page, 1);
    const b = await openPage(browser, `${server.page}?character=mira&scene=meeting`);
    const both = (page) => waitFor('two characters are drawn', () =>
      page.evaluate(() => [...sinewTest.performers[0].meshes.values()].filter((m) => m.frame).length === 2));
    await both(a.page);
    await both(b.page);
    await b.context.close();
    await waitFor('the other has gone', () => a.page.evaluate(() => sinewTest.performers[0].meshes.size === 1));
    assert.deepEqual(a.complaints, []);
    await a.context.close();
  },

  async 'it comes back by itself after the server restarts, and says so'(browser) {
    const { page, context, complaints } = await openPage(browser, `${server.page}?character=Fox&character=mira`);
    await allDrawn(page, 2);
    await server.stop();
    await waitFor('it says that it reconnects', async () => /Reconnecting/.test(await page.textContent('#status-text')));
    await picture(page, 'away');
    await server.start();
    await waitFor('it is live again', async () => (await page.textContent('#status-text')) === 'Live');
    const before = await framesOf(page);
    await waitFor('frames come again', async () => (await framesOf(page)).every((n) => n > 0) &&
      (await framesOf(page)).some((n, i) => n !== before[i]));
    assert.match(await page.textContent('#notices'), /Reconnected/);
    assert.equal(await page.evaluate(() => sinewTest.performers[0].group.children.length), 1);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'over TLS without a token it asks for one'(browser) {
    const { page, context } = await openPage(browser, `https://127.0.0.1:${server.ports.tls}/?character=Fox`);
    const outcome = await waitFor('a dialog or frames', () => page.evaluate(() =>
      document.getElementById('ask').open ? 'asked' : sinewTest.performers[0]?.own?.frame ? 'shown' : null));
    if (outcome === 'asked') {
      const added = spawnSync(sinewd, ['token', 'add', '--data', join(folder, 'data'), '--name', 'viewer', '--scope', 'viewer'], { encoding: 'utf8' });
      assert.equal(added.status, 0, added.stderr);
      await page.fill('#token', added.stdout.trim().split(/\s+/).at(-1));
      await page.click('#ask button');
      await allDrawn(page, 1);
    }
    await context.close();
  },

  async 'on a phone everything fits and can be hit with a thumb'(browser) {
    const { page, context, complaints } = await openPage(browser, `${server.page}?character=mira`,
      { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await allDrawn(page, 1);
    const faults = await page.evaluate(() => {
      const list = [];
      if (document.documentElement.scrollWidth > innerWidth) list.push('the page is wider than the screen');
      for (const e of document.querySelectorAll('button, select, input')) {
        const box = e.getBoundingClientRect();
        if (box.width === 0) continue; // hidden
        if (box.height < 43.5 || box.width < 43.5) list.push(`${e.id || e.textContent}: ${box.width} x ${box.height}`);
        if (box.left < -1 || box.right > innerWidth + 1) list.push(`${e.id || e.textContent} sticks out`);
      }
      return list;
    });
    assert.deepEqual(faults, []);
    await page.waitForTimeout(1500);
    assert.ok(coloursOf(await picture(page, 'phone'), { x: 20, y: 150, width: 350, height: 280 }) > 60);
    await page.tap('#sheet');
    assert.equal(await page.getAttribute('#sheet', 'aria-expanded'), 'false');
    await page.waitForTimeout(2500);
    await picture(page, 'phone-down');
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'what a root moves is shown on the surface, and its strip moves it'(browser) {
    const { page, complaints, context } = await openPage(browser, `${server.page}?character=mira_roots`);
    await allDrawn(page, 1);
    const strips = page.locator('#mixer .strip');
    assert.equal(await strips.count(), 2);
    const shown = { x: 330, y: 80, width: 300, height: 480 };
    await strips.nth(1).locator('.table input').focus();
    await page.keyboard.press('Space'); // by keyboard, as by mouse
    const yellow = (r, g, b) => r > 90 && g > 70 && r - b > 50 && g - b > 30;
    const blue = (r, g, b) => b - r > 25 && b - g > 15;
    await waitFor('legs stay blue, the torso turns yellow', async () => {
      const png = await picture(page, 'roots-table');
      return countOf(png, shown, yellow) > 500 && countOf(png, shown, blue) > 500;
    });
    await strips.nth(0).locator('.table input').check();
    assert.equal(await strips.nth(1).locator('.table input').isChecked(), false);
    await strips.nth(0).locator('.table input').uncheck();
    await strips.nth(1).locator('select').selectOption('Wave');
    await page.waitForTimeout(1200);
    await picture(page, 'roots-wave');
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'each extra shows what it costs, and can be switched off'(browser) {
    const { page, complaints, context } = await openPage(browser, `${server.page}?character=mira_roots`);
    await allDrawn(page, 1);
    const lines = page.locator('#extras .extra'), cost = async (i) => parseFloat(await lines.nth(i).locator('.cost').textContent());
    assert.ok(await lines.count() >= 4, 'the demo character has several');
    await waitFor('each says what it costs', async () => {
      for (let i = 0; i < await lines.count(); i++) if (!(await cost(i) > 0)) return false;
      return true;
    });
    await lines.nth(0).scrollIntoViewIfNeeded();
    await picture(page, 'extras');
    const before = await cost(0);
    await lines.nth(0).locator('input').uncheck(); // then only looking at it costs something
    await waitFor('what is off costs next to nothing', async () => await cost(0) < 0.4 * before && await cost(1) > await cost(0));
    await lines.nth(0).locator('input').check();
    await waitFor('it is on again', async () => await cost(0) > 0.5 * before);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'it can be used by keyboard, and every control has a name'(browser) {
    const { page, context } = await openPage(browser, `${server.page}?character=Fox`);
    await allDrawn(page, 1);
    const unnamed = await page.evaluate(() => [...document.querySelectorAll('button, select, input, canvas')]
      .filter((e) => e.getBoundingClientRect().width > 0 && !e.closest('[hidden]'))
      .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))
      .map((e) => e.outerHTML));
    assert.deepEqual(unnamed, []);
    await page.focus('#canvas');
    const azimuth = () => page.evaluate(() => sinewTest.azimuth());
    const before = await azimuth();
    await page.keyboard.press('ArrowRight');
    await waitFor('the camera turns', async () => Math.abs(await azimuth() - before) > 0.05);
    for (let i = 0; i < 30; i++) { // the focus reaches the panel
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.closest('#panel') !== null)) break;
    }
    assert.ok(await page.evaluate(() => document.activeElement.closest('#panel') !== null));
    await context.close();
  },
};

await runCases(server, cases);
