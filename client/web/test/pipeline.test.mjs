import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { golden, p } from './fake.mjs';

const messages = [...new p.Inbox().take(golden('stream'))];
const surface = messages.find((m) => m.type === p.Type.SURFACE).payload;
const frames = messages.filter((m) => m.type === p.Type.FRAME).map((m) => m.payload);
const expected = new Map(readFileSync(`${process.env.SINEW_GOLDEN}/stream.txt`, 'utf8').trim().split('\n')
  .map((line) => [Number(line.split(' ')[0]), line.split(' ').slice(1)]));
const fnv = (a) => {
  let hash = 2166136261;
  for (const b of new Uint8Array(a.buffer, a.byteOffset, a.byteLength)) hash = Math.imul(hash ^ b, 16777619);
  return (hash >>> 0).toString(16).padStart(8, '0');
};

function start() {
  const got = { surfaces: [], frames: [], anchors: [], lost: [] };
  const pipeline = new p.Pipeline({
    onSurface: (t) => got.surfaces.push(t), onFrame: (f) => got.frames.push(f), onAnchor: (a, f) => got.anchors.push(f),
    onLost: (a, f) => got.lost.push(f), onBroken: () => assert.fail(),
  });
  return { pipeline, got };
}

test('every frame has the positions and normals that the C decoder has', () => {
  const { pipeline, got } = start();
  pipeline.surface(surface);
  for (const f of frames) {
    pipeline.frame(f, 5);
    pipeline.run();
  }
  assert.equal(got.frames.length, frames.length);
  for (const f of got.frames) {
    const [, positions, normals] = expected.get(f.frame);
    if (!positions) continue; // raw
    assert.equal(fnv(f.positions), positions, `positions of ${f.frame}`);
    assert.equal(fnv(f.normals), normals, `normals of ${f.frame}`);
  }
});

test('of frames that wait, anchors and the newest are decoded, the same as ever', () => {
  const { pipeline, got } = start();
  pipeline.surface(surface);
  const grid = frames.filter((f) => p.decodeFrame(f).codec === p.CODEC_GRID);
  for (const f of grid) pipeline.frame(f, 5);
  pipeline.run();
  assert.equal(got.frames.length, 1);
  assert.equal(got.frames[0].skipped, grid.length - 1);
  assert.equal(fnv(got.frames[0].positions), expected.get(got.frames[0].frame)[1]);
  assert.deepEqual(got.lost, []);
});

test('arrays that are given back are used again', () => {
  const { pipeline, got } = start();
  pipeline.surface(surface);
  pipeline.frame(frames[0], 5);
  pipeline.run();
  const { positions, normals } = got.frames[0];
  pipeline.recycle(positions, normals);
  pipeline.frame(frames[1], 5);
  pipeline.run();
  assert.equal(got.frames[1].positions, positions);
});

test('a frame without its anchor is lost and told, and a key frame heals', () => {
  const { pipeline, got } = start();
  pipeline.surface(surface);
  const delta = frames.find((f) => p.decodeFrame(f).anchor !== 0);
  pipeline.frame(delta, 5);
  pipeline.run();
  assert.equal(got.lost.length, 1);
  pipeline.frame(frames[0], 5);
  pipeline.run();
  assert.equal(got.frames.length, 1);
});

test('a frame of a surface that never came is lost', () => {
  const { pipeline, got } = start();
  pipeline.frame(frames[0], 5);
  pipeline.run();
  assert.equal(got.lost.length, 1);
});
