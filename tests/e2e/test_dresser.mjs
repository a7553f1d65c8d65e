// Drives the panel that customises a character: node test_dresser.mjs SINEWD SINEW DATA [FOLDER for screenshots]
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allDrawn, data, folder, openPage, picture, root, runCases, Server, waitFor } from './browser.mjs';

// Mira's face alone: nothing that swings, so that what differs is what was asked for.
const assets = join(root, 'tests/assets/characters');
for (const file of readdirSync(assets)) if (/^mira\.(glb|eye\..*png)$/.test(file)) copyFileSync(join(assets, file), join(folder, file));
const { sinew_rig, source, unit_m, face } = JSON.parse(readFileSync(join(assets, 'mira.rig.json'), 'utf8'));
writeFileSync(join(folder, 'mira.rig.json'), JSON.stringify({ sinew_rig, source, unit_m, face }));

const server = new Server([{ name: 'mira', file: join(folder, 'mira.rig.json') },
  { name: 'Fox', file: join(data, 'gltf/khronos/Fox.glb') },
  { name: 'Godette', file: join(data, 'vrm/Godette_vrm_v4.vrm') }]);

const desktop = { viewport: { width: 960, height: 640 }, draws: false };
const positions = async (page) => {
  const seen = await page.evaluate(() => sinewTest.inspect(0));
  return new Float32Array(Uint8Array.from(Buffer.from(seen.positions, 'base64')).buffer);
};
/** Waits until all that was sent is in a frame, and nothing moves any more; then its positions. */
const settled = (page) => {
  let last = '', same = 0;
  return waitFor('a frame shows what was sent', async () => {
    const seen = await page.evaluate(async () => {
      const { client, look, moved } = sinewTest.performers[0], i = await sinewTest.inspect(0);
      return i && !look.moved.size && !moved.size && i.inputSequence === client.sequence ? i.rowsHash : '';
    });
    same = seen && seen === last ? same + 1 : 0;
    last = seen;
    return same >= 2 ? positions(page) : null;
  });
};
const farthest = (a, b) => a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
const values = (page) => page.evaluate(() => Object.fromEntries(sinewTest.performers[0].look.values));
/** Of an actor's materials, as this page has been told: name → base colour. */
const colours = (page, own = true) => page.evaluate((mine) => {
  const p = sinewTest.performers[0], found = {};
  for (const [id, mesh] of p.meshes) {
    if ((id === p.client.actor) !== mine) continue;
    mesh.traverse((o) => { for (const m of [o.material].flat()) if (m?.color) found[m.name] = m.color.toArray(); });
  }
  return found;
}, own);
const maps = (page, own = true) => page.evaluate((mine) => {
  const p = sinewTest.performers[0], found = {};
  for (const [id, mesh] of p.meshes) {
    if ((id === p.client.actor) !== mine) continue;
    mesh.traverse((o) => { for (const m of [o.material].flat()) if (m?.map) found[m.name] = m.map.uuid; });
  }
  return found;
}, own);
const openPart = (page, name) => page.evaluate((n) => {
  for (const d of document.querySelectorAll('#dress-section details')) d.open = d.querySelector('summary').textContent === n;
}, name);

/** In the rest pose: nobody breathes. */
const still = async (page) => {
  await allDrawn(page, 1);
  await page.evaluate(() => sinewTest.performers[0].client.pose({}));
};

const cases = {
  async 'sliders stand by part, with names for those who do not see them'(browser) {
    const { page, context, complaints } = await openPage(browser, `${server.page}?character=mira`, { ...desktop, draws: true });
    await allDrawn(page, 1);
    const parts = await page.locator('#dress summary').allTextContents();
    for (const wanted of ['Eyes', 'Nose', 'Mouth', 'Jaw', 'Body', 'Colour']) assert.ok(parts.includes(wanted), parts.join());
    const unnamed = await page.evaluate(() => [...document.querySelectorAll('#panel input, #panel select, #panel textarea, #panel button')]
      .filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML));
    assert.deepEqual(unnamed, []);
    assert.ok(await page.locator('#dress input[type=range]').count() >= 19);
    const slider = page.getByRole('slider', { name: 'Eye tilt' });
    assert.equal(await slider.getAttribute('aria-valuetext'), '0.00');
    await picture(page, 'dresser-before');
    await page.evaluate(() => { Math.random = () => 0.7; });
    await page.click('#dress-random');
    await page.locator('#expressions').getByRole('button', { name: 'Happy' }).click();
    await waitFor('she is somebody else', async () => (await colours(page)).hair[0] < 0.3);
    await page.waitForTimeout(1500);
    await picture(page, 'dresser-after');
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async 'keys alone move a slider, and the surface follows'(browser) {
    const { page, context } = await openPage(browser, `${server.page}?character=mira`, desktop);
    await still(page);
    const before = await settled(page);
    await openPart(page, 'Nose');
    await page.getByRole('slider', { name: 'Nose length' }).focus();
    await page.keyboard.press('End');
    assert.deepEqual(await values(page), { nose_length: 1 });
    const far = farthest(before, await settled(page));
    assert.ok(far > 0.003 && far < 0.05, `moved by ${far}`);
    await page.keyboard.press('Tab'); // to the next slider of the part
    assert.equal(await page.evaluate(() => document.activeElement.closest('label').title), 'nose_lift');
    await page.click('#dress-reset');
    assert.deepEqual(await values(page), { nose_length: 0 });
    const back = farthest(before, await settled(page));
    assert.ok(back < 2e-4, `${back} off after the reset`);
    await context.close();
  },

  async 'colours and eyes change for every viewer, late ones too'(browser) {
    const address = `${server.page}?character=mira&scene=dressing`;
    const a = await openPage(browser, address, desktop), b = await openPage(browser, `${server.page}?character=Fox&scene=dressing`, desktop);
    await allDrawn(a.page, 1);
    await allDrawn(b.page, 1);
    await waitFor('the eye has its picture', async () => (await maps(a.page)).eye);
    const skin = (await colours(a.page)).skin, eye = (await maps(a.page)).eye;
    await openPart(a.page, 'Colour');
    await a.page.getByRole('slider', { name: 'Skin tone' }).focus();
    await a.page.keyboard.press('End');
    await a.page.getByLabel('Eye colour').selectOption({ label: 'Violet' });
    await waitFor('its own page shows it', async () => (await colours(a.page)).skin[0] < skin[0] / 2 && (await maps(a.page)).eye !== eye);
    const now = (await colours(a.page)).skin;
    const shown = (page) => waitFor('the other page shows it', async () => {
      const there = (await colours(page, false)).skin;
      return there && Math.abs(there[0] - now[0]) < 1e-3 && (await maps(page, false)).eye;
    });
    await shown(b.page);
    const late = await openPage(browser, `${server.page}?character=Fox&scene=dressing`, desktop);
    await allDrawn(late.page, 1);
    await shown(late.page);
    for (const x of [a, b, late]) {
      assert.deepEqual(x.complaints, []);
      await x.context.close();
    }
  },

  async 'a recipe is copied, used by another and worn from the first frame on'(browser) {
    const a = await openPage(browser, `${server.page}?character=mira`, { ...desktop, permissions: ['clipboard-read', 'clipboard-write'] });
    await still(a.page);
    await a.page.click('#dress-random');
    const worn = await settled(a.page);
    await openPart(a.page, 'Recipe');
    await a.page.click('#recipe-copy');
    const recipe = await a.page.evaluate(() => navigator.clipboard.readText());
    const { sinew_recipe: version, character, parameters } = JSON.parse(recipe);
    assert.equal(version, 1);
    assert.equal(character, 'mira');
    assert.ok(Object.keys(parameters).length >= 24, recipe);
    assert.ok(!('happy' in parameters) && !('jaw' in parameters));
    await a.context.close();

    const b = await openPage(browser, `${server.page}?character=mira&recipe=${encodeURIComponent(recipe)}`, desktop);
    await allDrawn(b.page, 1);
    // Nothing has been sent but HELLO.
    assert.equal(await b.page.evaluate(() => sinewTest.performers[0].client.sequence), 0);
    await still(b.page);
    const plain = await openPage(browser, `${server.page}?character=mira`, desktop);
    await still(plain.page);
    const far = farthest(worn, await settled(b.page)), without = farthest(worn, await settled(plain.page));
    assert.ok(far < 2e-4 && without > 1e-3, `${far} off with the recipe, ${without} without`);
    await openPart(b.page, 'Eyes');
    const shown = Number(await b.page.getByRole('slider', { name: 'Eye tilt' }).inputValue());
    assert.ok(Math.abs(shown - parameters.eye_tilt) < 0.02, `${shown} on the slider`);
    await b.context.close();

    await openPart(plain.page, 'Recipe');
    await plain.page.fill('#recipe', recipe);
    await plain.page.click('#recipe-use');
    assert.ok(farthest(worn, await settled(plain.page)) < 2e-4);
    await plain.page.fill('#recipe', '{"sinew_recipe": 1, "character": "Bob", "parameters": {"eye_tilt": 0.5, "horns": 1}}');
    await plain.page.click('#recipe-use');
    assert.match(await plain.page.textContent('#notices'), /“Bob”: 1 of its 2 values fit/);
    await plain.page.fill('#recipe', '{broken');
    await plain.page.click('#recipe-use');
    assert.match(await plain.page.textContent('#notices'), /JSON is broken/);
    assert.deepEqual(plain.complaints, []);
    await plain.context.close();
  },

  async 'a look outlives the connection, and one that is another’s is said to be so'(browser) {
    const strange = JSON.stringify({ sinew_recipe: 1, character: 'Bob', parameters: { horns: 1, eye_tilt: 1 } });
    const { page, context } = await openPage(browser, `${server.page}?character=mira&recipe=${encodeURIComponent(strange)}`, desktop);
    await allDrawn(page, 1);
    await waitFor('a notice', async () => /Bob/.test(await page.textContent('#notices')));
    await still(page);
    await page.evaluate(() => sinewTest.performers[0].look.set('chin_length', 1));
    const worn = await settled(page);
    await page.evaluate(() => {
      const { client } = sinewTest.performers[0];
      client.resume = null;
      client.socket.close();
    });
    await waitFor('it joined anew', () => page.evaluate(() => sinewTest.performers[0].client.counters.reconnects === 1));
    const again = await waitFor('a frame of the new session', async () => {
      const seen = await page.evaluate(() => sinewTest.performers[0].client.state === 'open' && sinewTest.performers[0].own?.frame);
      return seen && settled(page);
    });
    const chin = await page.evaluate(() => sinewTest.performers[0].look.values.get('chin_length'));
    assert.equal(chin, 1);
    assert.ok(farthest(worn, again) < 2e-4);
    await context.close();
  },

  async 'expressions are buttons, eyes look where they are told'(browser) {
    const { page, context } = await openPage(browser, `${server.page}?character=mira`, desktop);
    await still(page);
    const before = await settled(page), happy = page.locator('#expressions').getByRole('button', { name: 'Happy' });
    await happy.focus();
    await page.keyboard.press('Enter');
    assert.equal(await happy.getAttribute('aria-pressed'), 'true');
    assert.ok(farthest(before, await settled(page)) > 0.003);
    await page.keyboard.press('Enter');
    assert.equal(await happy.getAttribute('aria-pressed'), 'false');
    const rest = await settled(page);
    await page.getByRole('slider', { name: 'Left to right' }).focus();
    await page.keyboard.press('End');
    assert.equal(await page.getAttribute('#gaze-across', 'aria-valuetext'), '100 % right');
    assert.ok(farthest(rest, await settled(page)) > 0.002);
    await page.click('#gaze-reset');
    assert.equal(await page.getAttribute('#gaze-across', 'aria-valuetext'), 'ahead');
    await context.close();
  },

  async 'a character without parameters has no such panel; a VRM has its expressions'(browser) {
    const { page, context, complaints } = await openPage(browser, `${server.page}?character=Fox&character=Godette`, desktop);
    await allDrawn(page, 2);
    assert.ok(await page.locator('#expressions button').count() >= 10);
    assert.ok(await page.isVisible('#expressions-section'));
    await page.locator('.cast .choose').nth(0).click();
    assert.ok(!await page.isVisible('#dress-section') && !await page.isVisible('#expressions-section') && !await page.isVisible('#gaze-section'));
    assert.deepEqual(complaints, []);
    await context.close();
  },
};

await runCases(server, cases);
