import { WireError, Writer } from './wire.js';
import { envelope, Type } from './messages.js';

// The INPUT family: the twin of proto/input_messages.h and pose_message.h. `sequence` rises with
// every INPUT message of a session, from 1; `time`: microseconds of the page's monotonic clock.

export interface Head { sequence: number; time: number; }

const head = (h: Head): Writer => new Writer().u32(h.sequence).u32(0).u64(h.time);

export interface ControlEvent {
  number: number; kind: 'press' | 'release' | 'gesture'; name: string; parameters?: unknown;
}
export interface Control {
  move?: [number, number]; look?: [number, number]; triggers?: [number, number];
  goto?: [number, number] | null; // null: forget it
  view?: [number, number, number]; // direction in the scene, length 0.5 to 2
  events?: ControlEvent[];        // all that no FRAME's input sequence covers yet
  roots?: { root: string; clip?: string; speed?: number; weight?: number; offset?: number; mirrored?: boolean }[];
  activate?: Record<string, number>;
  extras?: Record<string, boolean>; // on or off, for this stream
}

const kinds = { press: 1, release: 2, gesture: 3 } as const;

export function encodeControl(h: Head, c: Control): Uint8Array {
  const w = head(h), events = c.events ?? [], roots = c.roots ?? [];
  const muscles = Object.entries(c.activate ?? {}), switches = Object.entries(c.extras ?? {});
  w.u32((c.move ? 1 : 0) | (c.look ? 2 : 0) | (c.triggers ? 4 : 0) | (c.goto ? 8 : 0) |
        (c.goto === null ? 16 : 0) | (c.view ? 32 : 0));
  for (const pair of [c.move, c.look, c.triggers, c.goto]) w.floats(pair ?? [0, 0], 2);
  w.u16(events.length).u16(roots.length).u16(muscles.length).u16(switches.length);
  for (const e of events) {
    const json = e.parameters === undefined ? '' : JSON.stringify(e.parameters);
    const bytes = new TextEncoder().encode(json);
    w.u32(e.number).u16(bytes.length).u8(kinds[e.kind]).text(e.name).put(bytes).align4();
  }
  for (const r of roots) {
    w.u32((r.speed === undefined ? 0 : 1) | (r.weight === undefined ? 0 : 2) | (r.offset === undefined ? 0 : 4) |
          (r.mirrored === undefined ? 0 : r.mirrored ? 24 : 8));
    w.f32(r.speed ?? 0).f32(r.weight ?? 0).f32(r.offset ?? 0).text(r.root).text(r.clip ?? '').align4();
  }
  for (const [name, activation] of muscles) w.f32(activation).text(name).align4();
  for (const [name, on] of switches) w.u8(on ? 1 : 0).text(name).align4();
  if (c.view) w.floats(c.view, 3);
  return envelope(Type.CONTROL, w.done());
}

export const devices = ['head', 'hand_l', 'hand_r', 'pelvis', 'chest', 'shoulder_l', 'shoulder_r',
  'elbow_l', 'elbow_r', 'knee_l', 'knee_r', 'foot_l', 'foot_r', 'gaze', 'tracker_1', 'tracker_2',
  'tracker_3', 'tracker_4', 'tracker_5', 'tracker_6', 'tracker_7', 'tracker_8', 'tracker_9',
  'tracker_10', 'tracker_11', 'tracker_12'] as const;

/** Right-handed, +X right, +Y up, -Z forward, metres. Absent members are not valid. */
export interface Device {
  name: (typeof devices)[number]; tracked?: boolean; position?: number[]; rotation?: number[];
  velocity?: number[]; angular?: number[];
}
export interface Hand { side: 'left' | 'right'; curl?: number[]; splay?: number[]; rotations?: number[][]; }

/** What a SENSOR message may ask for: bits, added up. */
export const sensorRequests = { calibrate: 1, handsWorld: 2, handsScaled: 4, forget: 8 } as const;

export function encodeSensor(h: Head, sampleTime: number, list: Device[], hands: Hand[], requests = 0): Uint8Array {
  const w = head(h).u64(sampleTime).u16(list.length).u16(hands.length).u16(requests).u16(0);
  for (const d of list) {
    w.u8(devices.indexOf(d.name)).u8((d.position ? 1 : 0) | (d.rotation ? 2 : 0) | (d.tracked ? 4 : 0) |
         (d.velocity ? 8 : 0) | (d.angular ? 16 : 0)).u16(0);
    w.floats(d.position ?? [], 3).floats(d.rotation ?? [], 4).floats(d.velocity ?? [], 3).floats(d.angular ?? [], 3);
  }
  for (const x of hands) {
    w.u8(x.side === 'right' ? 1 : 0).u8((x.curl ? 1 : 0) | (x.splay ? 2 : 0) | (x.rotations ? 4 : 0)).u16(0);
    w.floats(x.curl ?? [], 5).floats(x.splay ?? [], 5);
    for (let i = 0; x.rotations && i < 26; i++) w.floats(x.rotations[i] ?? [0, 0, 0, 1], 4);
  }
  return envelope(Type.SENSOR, w.done());
}

/** Ids: places in the CATALOGUE's "shapes" (FACE) or "parameters" (CUSTOMISE). */
function encodeValues(type: number, h: Head, values: [number, number][]): Uint8Array {
  const w = head(h).u32(values.length);
  for (const [id, value] of values) w.u16(id).u16(0).f32(value);
  return envelope(type, w.done());
}
export const encodeFace = (h: Head, values: [number, number][]): Uint8Array => encodeValues(Type.FACE, h, values);
export const encodeCustomise = (h: Head, values: [number, number][]): Uint8Array => encodeValues(Type.CUSTOMISE, h, values);

export interface Pose {
  clip?: string; time_s?: number;
  joints?: Record<string, { rotation?: number[]; translation?: number[]; scale?: number[] }>;
}

export function encodePose(h: Head, pose: Pose): Uint8Array {
  const joints = Object.entries(pose.joints ?? {});
  const w = head(h).f32(pose.time_s ?? 0).u32(joints.length).text(pose.clip ?? '').align4();
  for (const [name, j] of joints) {
    w.u8((j.rotation ? 1 : 0) | (j.translation ? 2 : 0) | (j.scale ? 4 : 0)).text(name).align4();
    if (j.rotation) w.floats(j.rotation, 4);
    if (j.translation) w.floats(j.translation, 3);
    if (j.scale) w.floats(j.scale, 3);
  }
  return envelope(Type.POSE, w.done());
}

export interface Place { position?: number[]; yaw?: number; scale?: number; }

export function encodePlace(h: Head, p: Place): Uint8Array {
  if (p.scale !== undefined && !(p.scale > 0)) throw new WireError('scale must be above 0');
  const w = head(h).u32((p.position ? 1 : 0) | (p.yaw === undefined ? 0 : 2) | (p.scale === undefined ? 0 : 4));
  return envelope(Type.PLACE, w.floats(p.position ?? [0, 0, 0], 3).f32(p.yaw ?? 0).f32(p.scale ?? 1).done());
}
