// The client without a browser: strict types, then the state machine and the decoding pipeline,
// bundled as the page's are. Node 18 or newer.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url)), web = dirname(here);
const run = (command, ...args) => spawnSync(command, args, { cwd: web, stdio: 'inherit' }).status ?? 1;

let status = run(process.execPath, 'node_modules/typescript/bin/tsc', '-p', '.');
const folder = mkdtempSync(join(tmpdir(), 'sinew-web-'));
try {
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  await esbuild.build({
    stdin: {
      contents: `export * from './src/client/client.js'; export * from './src/client/codes.js';
        export * from './src/proto/index.js'; export * from './src/decode/pipeline.js';
        export * from './src/viewer/clip_player.js';
        export * from './src/input/bindings.js'; export * from './src/input/controls.js';
        export * from './src/input/gamepad.js'; export * from './src/input/gestures.js';
        export * from './src/input/keyboard.js';`,
      resolveDir: web, loader: 'ts',
    },
    bundle: true, format: 'esm', platform: 'neutral', mainFields: ['module', 'main'],
    outfile: join(folder, 'client.mjs'), logLevel: 'warning',
  });
  process.env.SINEW_CLIENT = join(folder, 'client.mjs');
  process.env.SINEW_GOLDEN = join(web, '../../tests/proto/golden');
  for (const name of ['client', 'input', 'pipeline']) status ||= run(process.execPath, '--test', join(here, `${name}.test.mjs`));
} finally {
  rmSync(folder, { recursive: true });
}
process.exitCode = status;
