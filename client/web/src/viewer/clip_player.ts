// Plays a clip by sending its time, which comes round at the clip's end.

export class ClipPlayer {
  clip: string | null = null; // null: what the server plays by itself
  playing = true;
  speed = 1;
  time = 0;
  private length = Infinity;
  private posed = false;

  /** `length` in seconds, as CATALOGUE says; 0: a single pose. */
  start(clip: string, length: number): void {
    Object.assign(this, { clip, length, time: 0, playing: true, posed: false });
  }

  /** The clip's time `seconds` later, or null when there is nothing to send. */
  step(seconds: number): number | null {
    if (!this.clip || !this.playing) return null;
    if (this.length === 0) {
      const posed = this.posed;
      this.posed = true;
      return posed ? null : 0;
    }
    this.time = (this.time + seconds * this.speed) % this.length;
    return this.time;
  }
}
