import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bye, frame, golden, joined, p, welcome } from './fake.mjs';

const T = p.Type;
const ackEntries = (m) => {
  const r = new p.Reader(m.payload);
  r.take(22);
  const count = r.u16(), entries = [];
  for (let i = 0; i < count; i++) entries.push({ actor: r.u32(), frame: r.u32(), received: r.u64(), rendered: r.u64() });
  return entries;
};
const sequenceOf = (m) => new p.Reader(m.payload).u32();

test('joins: HELLO first, then open at WELCOME', () => {
  const { client, world, states, seen } = joined({ hello: { character: 'Fox', token: 'secret' } });
  assert.deepEqual(states(), ['connecting', 'open']);
  assert.equal(world.socket.sent[0].type, T.HELLO);
  assert.equal(world.socket.hello().character, 'Fox');
  assert.equal(world.socket.hello().token, 'secret');
  assert.equal(client.actor, 9);
  assert.equal(seen.find(([name]) => name === 'welcome')[1].session, 's1');
});

test('a server that does not answer is left and tried again', () => {
  const { world, last } = joined({}, null);
  world.pass(8000);
  assert.equal(last().state, 'waiting');
  assert.equal(last().end.name, 'TIMED_OUT');
  world.pass(600);
  assert.equal(world.sockets.length, 2);
});

test('answers PING at once and measures the clock by PONG', () => {
  const { client, world } = joined();
  world.socket.give(p.encodePing(5, 777));
  assert.deepEqual(p.decodePong(world.socket.of(T.PONG)[0].payload).pingTime, 777);
  const sent = p.decodePing(world.socket.of(T.PING)[0].payload);
  world.us += 800;
  world.socket.give(p.encodePong({ id: sent.id, pingTime: sent.sendTime, receiveTime: sent.sendTime + 1_000_350, sendTime: sent.sendTime + 1_000_450 }));
  assert.equal(client.clock.rtt, 700);
  assert.equal(client.clock.offset, 1_000_000);
});

test('acknowledges ten times a second, once a frame, and anchors at once', () => {
  const { world, sink, client } = joined();
  world.socket.give(golden('actor'));
  sink.onFrame(frame(41));
  world.pass(100);
  assert.deepEqual(ackEntries(world.socket.of(T.ACK)[0]), [{ actor: 9, frame: 41, received: 41000, rendered: 0 }]);
  client.rendered(frame(41));
  world.pass(100);
  assert.ok(ackEntries(world.socket.of(T.ACK)[1])[0].rendered > 0);
  const before = world.socket.of(T.ACK).length;
  sink.onAnchor(9, 42, 42000);
  assert.deepEqual(ackEntries(world.socket.of(T.ACK)[before]), [{ actor: 9, frame: 42, received: 42000, rendered: 0 }]);
});

test('asks for a new start at most four times a second', () => {
  const { world, sink } = joined();
  for (let i = 0; i < 5; i++) sink.onLost(9, i);
  assert.equal(world.socket.of(T.RESYNC).length, 1);
  world.pass(260);
  sink.onLost(9, 9);
  assert.equal(world.socket.of(T.RESYNC).length, 2);
});

test('three heartbeats of silence end the connection; signs of life do not', () => {
  const { world, last } = joined();
  for (let i = 0; i < 5; i++) {
    world.pass(3000);
    world.socket.give(p.encodePing(i, 1));
  }
  assert.equal(last().state, 'open');
  world.pass(5900);
  assert.equal(last().state, 'open');
  world.pass(700);
  assert.equal(last().end.name, 'TIMED_OUT');
});

test('a page that was held up takes no silence for an end', () => {
  const { world, last } = joined();
  world.us += 60e6;
  world.pass(500);
  assert.equal(last().state, 'open');
});

test('a lost connection is resumed with the token, and input goes on counting', () => {
  const { client, world, states, last } = joined();
  assert.equal(client.pose({ clip: 'Walk' }), 1);
  world.socket.drop();
  assert.equal(last().state, 'waiting');
  assert.equal(last().retryMs, 500);
  world.pass(500);
  world.socket.onopen();
  assert.equal(world.socket.hello().resume, 'token-1');
  assert.equal(world.socket.hello().token, undefined);
  world.socket.give(welcome({ resumed: true, resume: 'token-2' }));
  assert.equal(last().resumed, true);
  assert.equal(world.socket.of(T.POSE).length, 0);
  assert.equal(client.pose({ clip: 'Walk', time_s: 1 }), 2);
  assert.deepEqual(states(), ['connecting', 'open', 'waiting', 'connecting', 'open']);
});

test('an expired token means joining anew: counting from 1, the standing pose sent again', () => {
  const { client, world, calls } = joined({ hello: { token: 'secret' } });
  world.socket.give(golden('actor'));
  client.pose({ clip: 'Walk' });
  client.pose({ clip: 'Run' });
  world.socket.drop();
  world.pass(500);
  world.socket.onopen();
  world.socket.give(bye(p.Code.RESUME_EXPIRED));
  world.pass(2000);
  assert.equal(world.sockets.length, 3);
  world.socket.onopen();
  assert.equal(world.socket.hello().resume, undefined);
  assert.equal(world.socket.hello().token, 'secret');
  world.socket.give(welcome({ actor: 12 }));
  assert.ok(calls.some(([name, actor]) => name === 'gone' && actor === 9));
  assert.deepEqual(world.socket.of(T.POSE).map(sequenceOf), [1]);
});

test('a token older than the server keeps it is not tried', () => {
  const { world } = joined();
  world.socket.drop();
  world.us += 31e6; // the machine slept
  world.pass(0);
  world.socket.onopen();
  assert.equal(world.sockets.length, 2);
  assert.equal(world.socket.hello().resume, undefined);
});

test('back-off doubles to four seconds, is shaken, and starts anew after a success', () => {
  const { world, last } = joined();
  const waits = [];
  for (let i = 0; i < 7; i++) {
    world.socket.drop();
    waits.push(last().retryMs);
    world.pass(last().retryMs);
  }
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 4000, 4000, 4000]);
  world.socket.onopen();
  world.socket.give(welcome());
  world.chance = 0;
  world.socket.drop();
  assert.equal(last().retryMs, 250);
});

test('a server that forgot the session is joined anew at once, however long it was away', () => {
  const { world, last } = joined();
  for (let i = 0; i < 5; i++) {
    world.socket.drop();
    world.pass(last().retryMs);
  }
  world.socket.onopen();
  assert.ok(world.socket.hello().resume);
  world.socket.give(bye(p.Code.RESUME_EXPIRED, 0));
  assert.ok(last().retryMs <= 75);
  world.pass(last().retryMs);
  world.socket.onopen();
  assert.equal(world.socket.hello().resume, undefined);
});

test('BYE says when to come back', () => {
  const { world, last } = joined();
  world.socket.give(bye(p.Code.RESTART, 3000));
  assert.equal(last().end.name, 'RESTART');
  assert.ok(last().retryMs >= 3000 && last().retryMs <= 4500, `${last().retryMs}`); // never before
});

for (const [code, closeCode, name] of [[12, 4003, 'UNAUTHORISED'], [14, 4005, 'PROTOCOL_VERSION'], [15, 4006, 'NO_SUCH_CHARACTER'], [9, 4000, 'SUPERSEDED']]) {
  test(`${name} ends for good, by BYE and by close code`, () => {
    const a = joined();
    a.world.socket.give(bye(code, 0, 'told why'));
    assert.equal(a.last().state, 'closed');
    assert.match(a.last().end.text, /told why/);
    const b = joined();
    b.world.socket.drop(closeCode);
    assert.equal(b.last().end.name, name);
    b.world.pass(60000);
    assert.equal(b.world.sockets.length, 1);
  });
}

test('an unknown close code may come back', () => {
  const { world, last } = joined();
  world.socket.drop(4999);
  assert.equal(last().state, 'waiting');
});

test('a malformed message ends the connection, and a new one is tried', () => {
  const { world, last } = joined();
  world.socket.give(new Uint8Array([0x60, 0, 9, 9, 0, 0, 0, 0]));
  assert.equal(last().state, 'waiting');
  assert.match(last().end.text, /could not be read/);
});

test('unknown messages are skipped; frames of actors that have gone are given back', () => {
  const { world, sink, calls, seen } = joined();
  world.socket.give(p.envelope(0xc1, new Uint8Array(5)), golden('actor'));
  sink.onFrame(frame(1));
  world.socket.give(p.envelope(T.GONE, new p.Writer().u32(3).u32(9).done()));
  sink.onFrame(frame(2));
  assert.deepEqual(seen.filter(([name]) => name === 'frame').map(([, f]) => f.frame), [1]);
  assert.ok(calls.some(([name, n]) => name === 'recycle' && n === 2));
});

test('close says BYE and stays closed', () => {
  const { client, world, last } = joined();
  client.close();
  assert.equal(p.decodeNote(world.socket.of(T.BYE)[0].payload).code, 1);
  assert.equal(world.socket.closed, 1000);
  world.pass(60000);
  assert.equal(world.sockets.length, 1);
  assert.equal(last().state, 'closed');
});

test('names of shapes become ids, unknown ones are left out', () => {
  const { client, world } = joined();
  client.catalogue = { actor: 9, names: { shapes: ['blink', 'smile'], expressions: ['happy'], parameters: ['tall'] }, clipSeconds: [],
    parameters: [], faceNames: new Map([['joy', [[1, 0.5], [2, 1]]]]) };
  client.face({ smile: 0.5, nose: 1 });
  const r = new p.Reader(world.socket.of(T.FACE)[0].payload);
  r.take(16);
  assert.deepEqual([r.u32(), r.u16(), r.u16(), r.f32()], [1, 1, 0, 0.5]);
  assert.equal(client.face({ nose: 1 }), 0);
  // Expressions' ids follow the shapes'; other names may stand for several.
  client.face({ happy: 1, joy: 0.5 });
  const more = new p.Reader(world.socket.of(T.FACE)[1].payload);
  more.take(16);
  assert.deepEqual([more.u32(), more.u16(), more.u16(), more.f32(), more.u16(), more.u16(), more.f32(), more.u16(), more.u16(), more.f32()],
    [3, 2, 0, 1, 1, 0, 0.25, 2, 0, 0.5]);
  assert.equal(client.customise({ wide: 1 }), 0);
  assert.ok(client.customise({ tall: 1 }) > 0);
});

test('a recipe goes with every HELLO that does not resume', () => {
  let worn = '{"sinew_recipe": 1}';
  const { world } = joined({ recipe: () => worn });
  const sent = (socket) => {
    const r = new p.Reader(socket.of(T.HELLO)[0].payload);
    r.take(8);
    const json = r.u32(), more = r.u32();
    r.take(json);
    r.align4();
    return new TextDecoder().decode(r.take(more));
  };
  assert.equal(sent(world.socket), worn);
  world.socket.onclose({ code: 1006, reason: '' });
  world.pass(2000);
  world.socket.onopen();
  assert.equal(sent(world.socket), ''); // it resumes
  world.socket.onclose({ code: 1006, reason: '' });
  worn = '{"sinew_recipe": 1, "parameters": {}}';
  world.pass(60000); // too late to resume
  world.socket.onopen();
  assert.equal(sent(world.socket), worn);
});

test('textures are asked for once and joined from their stretches', () => {
  const { world, seen } = joined();
  world.socket.give(golden('appearance'), golden('appearance'));
  assert.equal(world.socket.of(T.WANT).length, 1);
  const hash = new Uint8Array(16).fill(7);
  const stretch = (first, bytes) => p.envelope(T.TEXTURE,
    new p.Writer().put(hash).u32(5).u32(first).u32(bytes.length).u32(1).put(Uint8Array.from(bytes)).done());
  world.socket.give(stretch(0, [1, 2, 3]));
  world.socket.give(stretch(3, [4, 5]));
  const texture = seen.find(([name]) => name === 'texture')[1];
  assert.deepEqual([...texture.bytes], [1, 2, 3, 4, 5]);
  assert.equal(texture.mime, 'image/png');
});

test('input latency is from the message to the frame that shows it', () => {
  const { client, world, sink } = joined();
  world.socket.give(golden('actor'));
  const sequence = client.pose({ clip: 'Walk' });
  const sent = world.us;
  sink.onFrame(frame(5, { inputSequence: sequence, receiveTime: sent + 21000 }));
  assert.equal(client.inputLatency, 21000);
});

test('the clip player comes round at the end of a clip, and sends a single pose once', () => {
  const player = new p.ClipPlayer();
  player.start('Walk', 1.25);
  const times = Array.from({ length: 400 }, () => player.step(1 / 60));
  assert.ok(Math.max(...times) < 1.25 && Math.max(...times) > 1.2);
  assert.ok(times.some((t, i) => i > 0 && t < times[i - 1]), 'it comes round');
  player.start('Pose', 0);
  assert.deepEqual([player.step(0.1), player.step(0.1)], [0, null]);
  player.start('Walk', Infinity); // a server that does not say
  assert.equal(player.step(100), 100);
});

test('however many presses wait, each is carried, in order, 32 at a time', () => {
  const { client, world, sink } = joined();
  world.socket.give(golden('actor'));
  for (let i = 0; i < 70; i++) client.press('wave');
  // u32 sequence, zero, u64 time, u32 fields, 8 floats, u16 events, 3 more counts, then the events.
  const events = (m) => {
    const r = new p.Reader(m.payload);
    r.take(16 + 4 + 32);
    const count = r.u16(), numbers = [];
    r.take(6);
    for (let i = 0; i < count; i++) {
      numbers.push(r.u32());
      const json = r.u16();
      r.u8();
      const name = r.u8();
      r.take(name + json);
      r.take(-(8 + name + json) & 3);
    }
    return numbers;
  };
  const carried = new Set();
  for (let round = 0; round < 10; round++) {
    const last = world.socket.of(T.CONTROL).at(-1), numbers = events(last);
    assert.ok(numbers.length <= 32);
    assert.deepEqual(numbers, numbers.map((_, i) => numbers[0] + i));
    for (const n of numbers) carried.add(n);
    if (carried.size === 70) break;
    sink.onFrame(frame(10 + round, { inputSequence: sequenceOf(last) }));
  }
  assert.deepEqual([...carried], Array.from({ length: 70 }, (_, i) => i + 1));
});
