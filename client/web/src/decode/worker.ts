import { zstdReady } from '../proto/zstd.js';
import { WireError } from '../proto/wire.js';
import { Pipeline } from './pipeline.js';
import type { SurfaceFrame } from './decoder.js';

// The worker: messages of WorkerDecoder in, decoded frames out, arrays moved and not copied.

export type ToWorker =
  | { type: 'surface'; payload: Uint8Array }
  | { type: 'frame'; payload: Uint8Array; receiveTime: number }
  | { type: 'gone'; actor: number }
  | { type: 'reset' }
  | { type: 'recycle'; positions: Float32Array; normals: Int16Array }
  | { type: 'inspect'; actor: number; id: number };

const scope = self as unknown as {
  postMessage(message: unknown, transfer?: ArrayBufferLike[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};

const pipeline = new Pipeline({
  onSurface: (topology) => scope.postMessage({ type: 'surface', topology }),
  onFrame: (frame: SurfaceFrame) =>
    scope.postMessage({ type: 'frame', frame }, [frame.positions.buffer, frame.normals.buffer]),
  onAnchor: (actor, frame, receiveTime) => scope.postMessage({ type: 'anchor', actor, frame, receiveTime }),
  onLost: (actor, frame) => scope.postMessage({ type: 'lost', actor, frame }),
  onBroken: (reason) => scope.postMessage({ type: 'broken', reason }),
});

function take(message: ToWorker): void {
  switch (message.type) {
    case 'surface': return pipeline.surface(message.payload);
    case 'frame': return pipeline.frame(message.payload, message.receiveTime);
    case 'gone': return pipeline.gone(message.actor);
    case 'reset': return pipeline.reset();
    case 'recycle': return pipeline.recycle(message.positions, message.normals);
    case 'inspect':
      return scope.postMessage({ type: 'inspected', id: message.id, result: pipeline.inspect(message.actor) });
  }
}

function guarded(step: () => void): void {
  try {
    step();
  } catch (e) {
    if (!(e instanceof WireError)) throw e;
    scope.postMessage({ type: 'broken', reason: e.message });
  }
}

// Decoding waits for its own message behind those that have arrived already: a worker that was
// late sees all of them first and decodes the newest only.
const turn = new MessageChannel();
let due = false;
turn.port1.onmessage = () => {
  due = false;
  guarded(() => pipeline.run());
};

const early: ToWorker[] = [];
scope.onmessage = ({ data }) => early.push(data);
void zstdReady().then(() => {
  scope.onmessage = ({ data }) => {
    guarded(() => take(data));
    if (!due && data.type === 'frame') {
      due = true;
      turn.port2.postMessage(0);
    }
  };
  for (const message of early) guarded(() => take(message));
  guarded(() => pipeline.run());
}, (e: unknown) => scope.postMessage({ type: 'broken', reason: `the decoder did not start: ${String(e)}` }));
