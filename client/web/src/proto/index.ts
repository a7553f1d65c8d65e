// The protocol for browsers: bytes in, values out, no sockets. proto/README.md describes it.
export * from './wire.js';
export * from './messages.js';
export * from './session.js';
export * from './input.js';
export * from './frame.js';
export * from './surface.js';
export * from './appearance.js';
export { zstdReady } from './zstd.js';
