import { WorkerDecoder } from '../decode/worker_decoder.js';
import type { Hello } from '../proto/session.js';
import { SinewClient } from './client.js';

// A client as pages want it: decoding in a worker, the address from the page's own.

declare const SINEW_WORKER_FILE: string | undefined; // the build names the file by its content

export interface ConnectOptions extends Omit<Hello, 'resume' | 'last_frame' | 'recipe'> {
  recipe?: string | (() => string | undefined); // asked for at every join: how the character is to look
  url?: string; // default: the server that this page came from
  textures?: boolean;
  hasTexture?: (hash: string) => boolean;
  worker?: () => Worker; // where the bundle of decode/worker.ts is not beside this file
}

/** The stream's address on a host: `location` will do. */
export function streamUrl(page: { protocol: string; host: string }): string {
  return `${page.protocol === 'https:' ? 'wss' : 'ws'}://${page.host}/v1/stream`;
}

function ownWorker(): Worker {
  const file = typeof SINEW_WORKER_FILE === 'string' ? SINEW_WORKER_FILE : 'sinew-worker.js';
  return new Worker(new URL(file, import.meta.url), { type: 'module', name: 'sinew decoder' });
}

/** Joins at once; listeners may be added until the current task ends. */
export function connectSinew({ url, textures, hasTexture, worker, recipe, ...hello }: ConnectOptions = {}): SinewClient {
  const client = new SinewClient({
    url: url ?? streamUrl(location), hello, textures, hasTexture,
    recipe: typeof recipe === 'string' ? () => recipe : recipe,
    decoder: (sink) => new WorkerDecoder((worker ?? ownWorker)(), sink),
  });
  client.connect();
  return client;
}
