// Why a connection ended: the twin of the table in proto/README.md, section 8, in words for people.

export interface End {
  code: number;
  name: string;
  text: string; // a sentence for people
  back: boolean; // the client may come back by itself
}

type Row = [code: number, close: number, name: string, back: boolean, text: string];
const rows: Row[] = [
  [1, 1000, 'NORMAL', false, 'The connection was closed.'],
  [2, 1001, 'GOING_AWAY', true, 'The server is going away.'],
  [3, 1012, 'RESTART', true, 'The server restarts.'],
  [4, 1013, 'FULL', true, 'The server is full.'],
  [5, 1002, 'PROTOCOL', false, 'The server and this page did not understand each other.'],
  [6, 1008, 'POLICY', false, 'The server does not allow this.'],
  [7, 1009, 'TOO_BIG', false, 'A message was larger than the server takes.'],
  [8, 1011, 'INTERNAL', true, 'The server failed.'],
  [9, 4000, 'SUPERSEDED', false, 'Another connection took this session over.'],
  [10, 4001, 'VERSION_GONE', true, 'This version of the character is no longer served.'],
  [11, 4002, 'LEASE_LOST', false, 'The lease ended.'],
  [12, 4003, 'UNAUTHORISED', false, 'The server asks for a valid access token.'],
  [13, 4004, 'FORBIDDEN', false, 'The access token does not allow this.'],
  [14, 4005, 'PROTOCOL_VERSION', false, 'The server speaks another version of the protocol. Reload the page.'],
  [15, 4006, 'NO_SUCH_CHARACTER', false, 'The server has no such character.'],
  [16, 4007, 'NO_SUCH_SCENE', false, 'The server has no such scene.'],
  [17, 4008, 'RESUME_EXPIRED', true, 'The earlier session is over.'],
  [18, 4009, 'TOO_SLOW', true, 'This page did not keep up with the stream.'],
  [19, 4010, 'TIMED_OUT', true, 'The connection fell silent.'],
  [20, 4011, 'FLOOD', false, 'This page sent too many messages.'],
  [21, 4012, 'SCENE_FULL', true, 'The scene is full.'],
  [22, 4013, 'HELLO_LATE', true, 'The greeting came too late.'],
  [23, 1007, 'BAD_TEXT', false, 'Text arrived broken.'],
  [24, 1003, 'NOT_BINARY', false, 'The server takes binary messages only.'],
];

export const EXTRA_COSTS = 141; // a notice whose text is JSON: {extra: microseconds a tick}

export const Code = Object.fromEntries(rows.map((r) => [r[2], r[0]])) as Record<string, number>;

const endOf = ([code, , name, back, text]: Row): End => ({ code, name, text, back });

/** Of BYE, or of an ERROR that is fatal; `said` is the server's own text. */
export function endOfCode(code: number, said = ''): End {
  const row = rows.find((r) => r[0] === code);
  const end = row ? endOf(row) : { code, name: `CODE_${code}`, text: 'The server ended the connection.', back: true };
  // Of ends that mend themselves the server says no more than this table.
  return said && !(row && end.back) ? { ...end, text: `${end.text} (${said})` } : end;
}

/** Of a close without BYE: unknown codes may come back. */
export function endOfClose(closeCode: number): End {
  const row = rows.find((r) => r[1] === closeCode);
  return row ? endOf(row) : { code: 0, name: 'LOST', text: 'The connection was lost.', back: true };
}
