import type { SinewClient } from '../client/client.js';
import type { SurfaceFrame } from '../decode/decoder.js';

// The figures of one session, over the last seconds.

const WINDOW_US = 2e6;

interface Sample { time: number; bits: number; }

export interface Figures {
  streamHz: number; ageMs: number; bitsPerVertex: number; kbitPerS: number;
  dropped: number; roundTripMs: number; inputMs: number;
}

export class Meter {
  unseen = 0; // frames that a newer one replaced before they were drawn
  private frames: Sample[] = [];
  private bytes: { time: number; total: number }[] = [];
  private age = 0;

  constructor(private readonly client: SinewClient) {}

  arrived(frame: SurfaceFrame): void {
    const vertices = frame.positions.length / 3;
    this.frames.push({ time: frame.receiveTime, bits: vertices ? frame.payloadBytes * 8 / vertices : 0 });
  }

  drawn(frame: SurfaceFrame): void {
    const clock = this.client.clock;
    if (!clock.known) return;
    const age = (this.client.now + clock.offset - frame.serverTime) / 1000;
    this.age = this.age ? this.age + 0.1 * (age - this.age) : age;
  }

  read(): Figures {
    const now = this.client.now, c = this.client.counters;
    this.frames = this.frames.filter((f) => now - f.time < WINDOW_US);
    this.bytes = this.bytes.filter((b) => now - b.time < WINDOW_US);
    this.bytes.push({ time: now, total: c.bytes });
    const first = this.bytes[0]!, seconds = (now - first.time) / 1e6;
    const count = this.frames.length, open = this.client.state === 'open';
    return {
      streamHz: open ? count / (WINDOW_US / 1e6) : 0,
      ageMs: open ? this.age : NaN,
      bitsPerVertex: count ? this.frames.reduce((sum, f) => sum + f.bits, 0) / count : NaN,
      kbitPerS: seconds > 0.2 ? (c.bytes - first.total) * 8 / 1000 / seconds : NaN,
      dropped: c.framesSkipped + c.framesLost + this.unseen,
      roundTripMs: this.client.clock.known ? this.client.clock.rtt / 1000 : NaN,
      inputMs: this.client.inputLatency ? this.client.inputLatency / 1000 : NaN,
    };
  }
}
