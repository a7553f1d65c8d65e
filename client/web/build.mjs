// Builds the viewer into the folder given: bundles named by their content, compressed beside
// (.gz, .br), and an index.html that names them. Node 18 or newer.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'dist');

// zstddec fetches its WebAssembly from a data: address, which the server's content security policy
// refuses (connect-src 'self'). The bytes are in the text already: they are taken from there.
const wasmFromText = {
  name: 'wasm-from-text',
  setup(build) {
    build.onLoad({ filter: /zstddec\.mjs$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const fetched = 'fetch(`data:application/wasm;base64,${wasm}`).then((response) => response.arrayBuffer())';
      if (!text.includes(fetched)) throw new Error('zstddec loads itself in another way now: look at build.mjs');
      const decoded = 'Promise.resolve(Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0)).buffer)';
      return { contents: text.replace(fetched, decoded), loader: 'js' };
    });
  },
};

async function bundle(entry, define = {}, external = []) {
  const result = await esbuild.build({
    entryPoints: [join(here, 'src', entry)], bundle: true, minify: true, format: 'esm', target: 'es2022',
    write: false, legalComments: 'none', define, external, plugins: [wasmFromText], logLevel: 'warning', outdir: out,
  });
  return result.outputFiles[0].contents;
}

const files = new Map();
function add(name, bytes) {
  files.set(name, Buffer.from(bytes));
  return name;
}
/** A name that changes with the content: such files may be cached for ever. */
function addHashed(stem, suffix, bytes) {
  return add(`${stem}-${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}${suffix}`, bytes);
}

const worker = addHashed('sinew-worker', '.js', await bundle('decode/worker.ts'));
const define = { SINEW_WORKER_FILE: JSON.stringify(worker) };
const script = addHashed('viewer', '.js', await bundle('viewer/main.ts', define));
const style = addHashed('viewer', '.css', await bundle('viewer/style.css'));
const icon = addHashed('icon', '.svg', readFileSync(join(here, 'src/viewer/icon.svg')));
const page = readFileSync(join(here, 'src/viewer/index.html'), 'utf8')
  .replace('SCRIPT', script).replace('STYLE', style).replaceAll('ICON', icon).replace('WORKER', worker);
add('index.html', page);

const LIBRARY = 'lib'; // what other pages import, under fixed names
add(`${LIBRARY}/sinew.js`, await bundle('index.ts', { SINEW_WORKER_FILE: '"sinew-worker.js"' }, ['three']));
add(`${LIBRARY}/sinew-worker.js`, files.get(worker));

// Written beside and renamed: a server that starts meanwhile finds a whole page or none.
const fresh = `${out}.new`;
rmSync(fresh, { recursive: true, force: true });
mkdirSync(join(fresh, LIBRARY), { recursive: true });
for (const [name, bytes] of files) {
  writeFileSync(join(fresh, name), bytes);
  writeFileSync(join(fresh, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  writeFileSync(join(fresh, `${name}.br`), brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }));
}
rmSync(out, { recursive: true, force: true });
renameSync(fresh, out);
const size = (name) => `${(readFileSync(join(out, `${name}.br`)).length / 1024).toFixed(0)} kB`;
console.log(`viewer: ${readdirSync(out).length} files in ${out}; script ${size(script)}, worker ${size(worker)} compressed`);
