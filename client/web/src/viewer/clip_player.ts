// Plays a clip by sending its time. The server does not say how long a clip is: times past the end
// are held there, so the surface stops changing. Half a second without change tells the length.

const STILL_S = 0.5;

export class ClipPlayer {
  clip: string | null = null; // null: what the server plays by itself
  playing = true;
  speed = 1;
  time = 0;
  private readonly lengths = new Map<string, number>();
  private readonly sent = new Map<number, { clip: string; time: number }>(); // by input sequence
  private moved = 0; // newest clip time that changed the surface
  private last: Uint8Array | null = null;

  start(clip: string): void {
    this.clip = clip;
    this.time = 0;
    this.moved = 0;
    this.last = null;
    this.playing = true;
    this.sent.clear();
  }

  /** The clip's time `seconds` later, or null when there is nothing to send. */
  step(seconds: number): number | null {
    if (!this.clip || !this.playing) return null;
    this.time += seconds * this.speed;
    const length = this.lengths.get(this.clip);
    if (length !== undefined) {
      if (length === 0) return this.time > STILL_S ? null : 0; // a single pose
      this.time %= length;
    }
    return this.time;
  }

  noteSent(sequence: number): void {
    if (sequence && this.clip) this.sent.set(sequence, { clip: this.clip, time: this.time });
  }

  /** Of each own frame: what it shows, and whether that is what the frame before showed. */
  noteFrame(inputSequence: number, positions: Float32Array): void {
    const shown = this.sent.get(inputSequence);
    for (const s of this.sent.keys()) if (s < inputSequence) this.sent.delete(s);
    if (!shown || shown.clip !== this.clip || this.lengths.has(this.clip)) return;
    const now = digest(positions), same = this.last !== null && this.last.every((x, i) => x === now[i]);
    this.last = now;
    if (!same) this.moved = shown.time;
    else if (shown.time - this.moved > STILL_S) this.lengths.set(this.clip, this.moved < 0.02 ? 0 : this.moved);
  }
}

/** A few numbers that change when any of a sample of the vertices moves. */
function digest(p: Float32Array): Uint8Array {
  const step = Math.max(1, Math.floor(p.length / 3 / 512)) * 3, values = new Float32Array(2 * 512 + 4);
  for (let i = 0, k = 0; i < p.length && k + 1 < values.length; i += step) {
    values[k++] = p[i]! + p[i + 2]! * 1.618;
    values[k++] = p[i + 1]!;
  }
  return new Uint8Array(values.buffer);
}
