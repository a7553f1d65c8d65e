// What other pages import: a session (SinewClient) and what shows its frames (SinewMesh).
export { SinewClient, type ClientOptions, type ClientEvents, type State, type StateChange } from './client/client.js';
export { connectSinew, streamUrl, type ConnectOptions } from './client/connect.js';
export { SinewMesh } from './mesh/mesh.js';
export { TextureStore } from './mesh/textures.js';
export type { SurfaceFrame, Topology } from './decode/decoder.js';
export type { End } from './client/codes.js';
export type { Quality, Actor, Catalogue, Note } from './proto/session.js';
export type { Pose, Place, Control } from './proto/input.js';
