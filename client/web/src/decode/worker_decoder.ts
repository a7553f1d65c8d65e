import type { Decoder, DecoderSink, Inspection, SurfaceFrame, Topology } from './decoder.js';
import type { ToWorker } from './worker.js';

// The page's end of the decoding worker.

type FromWorker =
  | { type: 'surface'; topology: Topology }
  | { type: 'frame'; frame: SurfaceFrame }
  | { type: 'anchor'; actor: number; frame: number; receiveTime: number }
  | { type: 'lost'; actor: number; frame: number }
  | { type: 'broken'; reason: string }
  | { type: 'inspected'; id: number; result: Inspection | null };

export class WorkerDecoder implements Decoder {
  private readonly inspections = new Map<number, (result: Inspection | null) => void>();
  private inspected = 0;

  constructor(private readonly worker: Worker, private readonly sink: DecoderSink) {
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.take(data);
    worker.onerror = (e) => sink.onBroken(e.message || 'the decoding worker failed');
  }

  surface(payload: Uint8Array): void { this.move({ type: 'surface', payload }, payload); }
  frame(payload: Uint8Array, receiveTime: number): void { this.move({ type: 'frame', payload, receiveTime }, payload); }
  gone(actor: number): void { this.send({ type: 'gone', actor }); }
  reset(): void { this.send({ type: 'reset' }); }
  recycle({ positions, normals }: SurfaceFrame): void {
    if (positions.length === 0) return; // given back already
    this.send({ type: 'recycle', positions, normals }, [positions.buffer, normals.buffer]);
  }
  inspect(actor: number): Promise<Inspection | null> {
    const id = ++this.inspected;
    return new Promise((resolve) => {
      this.inspections.set(id, resolve);
      this.send({ type: 'inspect', actor, id });
    });
  }
  close(): void { this.worker.terminate(); }

  private move(message: ToWorker, payload: Uint8Array): void { this.send(message, [payload.buffer]); }
  private send(message: ToWorker, transfer: ArrayBufferLike[] = []): void {
    this.worker.postMessage(message, transfer as Transferable[]);
  }

  private take(m: FromWorker): void {
    switch (m.type) {
      case 'surface': return this.sink.onSurface(m.topology);
      case 'frame': return this.sink.onFrame(m.frame);
      case 'anchor': return this.sink.onAnchor(m.actor, m.frame, m.receiveTime);
      case 'lost': return this.sink.onLost(m.actor, m.frame);
      case 'broken': return this.sink.onBroken(m.reason);
      case 'inspected':
        this.inspections.get(m.id)?.(m.result);
        this.inspections.delete(m.id);
    }
  }
}
