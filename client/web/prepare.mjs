// Sees to it that node_modules holds what package.json asks for, without the network where it does.
// Exit status 0: it does; 1: it does not and could not be installed (a line says why).
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const read = (...path) => JSON.parse(readFileSync(join(here, ...path), 'utf8'));

function missing() {
  const { dependencies, devDependencies } = read('package.json');
  return Object.entries({ ...dependencies, ...devDependencies }).filter(([name, version]) => {
    try {
      return read('node_modules', name, 'package.json').version !== version;
    } catch {
      return true;
    }
  }).map(([name]) => name);
}

const WAIT_S = 240;
function locked(step) { // several build folders share node_modules
  const lock = join(here, 'node_modules.lock');
  for (let waited = 0; waited < WAIT_S; waited++) {
    try {
      mkdirSync(lock);
    } catch {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
      continue;
    }
    try {
      return step();
    } finally {
      rmdirSync(lock);
    }
  }
  throw new Error(`${lock} is in the way: remove it`);
}

function install() {
  if (missing().length === 0) return 0; // another build did it meanwhile
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: here, encoding: 'utf8' });
  if (npm.status === 0 && missing().length === 0) return 0;
  const why = (npm.stderr ?? '').split('\n').find((line) => line.trim()) ?? 'npm did not run';
  console.error(`viewer: npm ci failed, is there a network? (${why.trim()})`);
  return 1;
}

process.exitCode = missing().length === 0 ? 0 : locked(install);
