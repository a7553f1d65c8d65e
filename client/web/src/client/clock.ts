import { clockFrom, type Pong } from '../proto/session.js';

// The server's clock as this page sees it, from PING and PONG.

const EXCHANGES = 8;

export class ServerClock {
  private exchanges: { offset: number; rtt: number }[] = [];

  take(pong: Pong, now: number): void {
    this.exchanges.push(clockFrom(pong, now));
    if (this.exchanges.length > EXCHANGES) this.exchanges.shift();
  }
  /** After a gap the clocks may have drifted: measure anew. */
  forget(): void { this.exchanges = []; }
  get known(): boolean { return this.exchanges.length > 0; }
  /** Server's clock minus the page's, microseconds: of the quickest exchange, the least disturbed one. */
  get offset(): number { return this.best()?.offset ?? 0; }
  get rtt(): number { return this.best()?.rtt ?? 0; }

  private best(): { offset: number; rtt: number } | undefined {
    return this.exchanges.reduce((a, b) => (b.rtt < a.rtt ? b : a), this.exchanges[0]!);
  }
}
