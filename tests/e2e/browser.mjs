// What the tests of the viewer share: a server, pages in a headless Chromium, pictures of them.
// Their command line: node TEST.mjs SINEWD SINEW DATA [FOLDER for screenshots]
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const { chromium } = createRequire(join(root, 'client/web/package.json'))('playwright-core');
export const [sinewd, sinew, data, shots] = process.argv.slice(2);
export const folder = mkdtempSync(join(tmpdir(), 'sinew-viewer-'));
const PATIENCE_MS = 90000; // software rendering on a busy machine

// ---- the server ----

export class Server {
  constructor(characters, ...args) { Object.assign(this, { characters, args }); }
  ports = { http: 0, tls: 0 };
  async start() {
    const models = this.characters.flatMap((c) => ['--model', `${c.name}=${c.file}`]);
    this.process = spawn(sinewd, ['serve', '--data', join(folder, 'data'), '--http', `127.0.0.1:${this.ports.http}`,
      '--tls', `127.0.0.1:${this.ports.tls}`, '--drain', '1', ...this.args, ...models], { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    for await (const chunk of this.process.stdout) {
      text += chunk;
      const http = text.match(/ http:\/\/127\.0\.0\.1:(\d+)\//), tls = text.match(/https:\/\/[^ ]*:(\d+)\//);
      if (http && tls) {
        this.ports = { http: Number(http[1]), tls: Number(tls[1]) };
        return;
      }
    }
    throw new Error(`the server did not start: ${text}`);
  }
  async stop(signal = 'SIGTERM') {
    if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill(signal);
    await ended;
  }
  get page() { return `http://127.0.0.1:${this.ports.http}/`; }
}

// ---- the browser ----

const flags = ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-quic',
  '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** `draws: false`: nothing is rasterised, which software takes nearly all of its time for. */
export async function openPage(browser, url, { draws = true, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 960, height: 640 }, ignoreHTTPSErrors: true, ...options });
  if (!draws) await context.addInitScript(() => { WebGL2RenderingContext.prototype.drawElements = () => {}; });
  const page = await context.newPage(), complaints = [];
  page.on('console', (m) => {
    // Chromium itself logs connections that fail: expected while a server is away.
    if (['error', 'warning'].includes(m.type()) && !/WebSocket connection|ERR_CONNECTION|GPU stall/.test(m.text())) complaints.push(m.text());
  });
  page.on('pageerror', (e) => complaints.push(String(e)));
  page.on('request', (r) => { // blob: and data: are the page's own
    if (/^(http|ws)/.test(r.url()) && new URL(r.url()).host !== new URL(url).host) complaints.push(`asks elsewhere: ${r.url()}`);
  });
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(url, { timeout: PATIENCE_MS });
  return { page, context, complaints };
}

export const framesOf = (page) => page.evaluate(() => sinewTest.performers.map((p) => p.own?.frame?.frame ?? 0));
export async function waitFor(what, look) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
export const allDrawn = (page, count) => waitFor('every character is drawn', async () => {
  const frames = await framesOf(page);
  return frames.length === count && frames.every((n) => n > 0);
});

/** Calls `look` with the colour of every pixel of an 8-bit RGB(A) PNG inside a box of it. */
function pixelsOf(png, box, look) {
  const width = png.readUInt32BE(16), channels = png[25] === 6 ? 4 : 3, parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const raw = inflateSync(Buffer.concat(parts)), stride = width * channels;
  let above = new Uint8Array(stride);
  for (let y = 0; y < box.y + box.height; y++) {
    const filter = raw[y * (stride + 1)], line = Uint8Array.from(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    for (let x = 0; x < stride; x++) {
      const a = x < channels ? 0 : line[x - channels], b = above[x], c = x < channels ? 0 : above[x - channels];
      const p = a + b - c, pa = Math.abs(p - a), pb = Math.abs(p - b), pc = Math.abs(p - c);
      line[x] += [0, a, b, (a + b) >> 1, pa <= pb && pa <= pc ? a : pb <= pc ? b : c][filter];
    }
    for (let x = box.x; y >= box.y && x < box.x + box.width; x++) {
      const at = x * channels;
      look(line[at], line[at + 1], line[at + 2]);
    }
    above = line;
  }
}

/** Distinct colours, five bits a channel. */
export function coloursOf(png, box) {
  const colours = new Set();
  pixelsOf(png, box, (r, g, b) => colours.add((r >> 3) << 10 | (g >> 3) << 5 | b >> 3));
  return colours.size;
}
export function countOf(png, box, wanted) {
  let count = 0;
  pixelsOf(png, box, (r, g, b) => { count += wanted(r, g, b); });
  return count;
}

export async function picture(page, name) {
  const png = await page.screenshot();
  if (shots) writeFileSync(join(shots, `${name}.png`), png);
  return png;
}

// ---- running ----

/** Runs the cases one after the other and ends the process. */
export async function runCases(server, cases) {
  let failed = 0;
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', headless: true, args: flags });
  try {
    await server.start();
    for (const [name, step] of Object.entries(cases)) {
      const started = Date.now();
      try {
        await step(browser);
        console.log(`ok   ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
      } catch (e) {
        failed++;
        console.log(`FAIL ${name}\n${e.stack}`);
        for (const context of browser.contexts()) await context.close();
        if (!server.process || server.process.exitCode !== null) await server.start();
      }
    }
  } finally {
    await browser.close();
    await server.stop();
    await server.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
  process.exit(failed ? 1 : 0);
}
