import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { cpuOfTurns } from '../support/cpu-of-turns.ts';
import { unique } from '../support/people.ts';
import { type Answered, type Body, startTestServer, type TestServer } from '../support/server.ts';
import { inTools, type Kind } from './hostile.ts';
import { LOOPBACK, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK, { syncLimits: { pauseMs: 1 } });
});
afterAll(() => server.stop());

type Sent = { type: string; gzip: Buffer };

/** An answer of this kind of provider with a list of zeros. 8.3 million zeros are 16 KB on the wire. */
function zeros(kind: Kind, count: number, type = 'application/json'): (id: unknown) => Sent {
  const list = gzipSync(`[${'0,'.repeat(count - 1)}0]`, { level: 9 });
  return (id) => {
    const isStream = type === 'text/event-stream';
    const start =
      kind === 'llm' ? '{"object":"list","data":' : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":`;
    const end = kind === 'llm' ? '}' : '}}';
    // A gzip file may have several members, so the long one can be compressed in advance.
    const around = [`${isStream ? 'event: message\ndata: ' : ''}${start}`, `${end}${isStream ? '\n\n' : ''}`];
    const [head, tail] = around.map((text) => gzipSync(text));
    return { type, gzip: Buffer.concat([head ?? list, list, tail ?? list]) };
  };
}

/** A provider whose server sends the given answer. */
async function providerOf(kind: Kind, answer: (id: unknown) => Sent): Promise<string> {
  const send = (res: ServerResponse, id: unknown) => {
    const { type, gzip } = answer(id);
    res.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(gzip);
  };
  const peer = await startPeer(kind === 'mcp' ? inTools(send, 'older') : (_req, res) => send(res, 1));
  const body = { name: unique('provider'), kind, baseUrl: `${peer.url}/v1` };
  return (await server.ok('POST', '/v1/providers', { as: server.admin, body })).id;
}

const sync = (id: string) => server.call('POST', `/v1/providers/${id}/sync`, { as: server.admin });

/** Runs a sync. Returns its answer, and the CPU time of the longest turn of the event loop. */
async function syncOf(kind: Kind, answer: (id: unknown) => Sent): Promise<{ answered: Answered; longestMs: number }> {
  const id = await providerOf(kind, answer);
  const { longest, result } = await cpuOfTurns(() => sync(id));
  return { answered: result, longestMs: longest };
}

const FORMS: [Kind, string][] = [
  ['llm', 'application/json'],
  ['mcp', 'application/json'],
  ['mcp', 'text/event-stream'],
];

test.each(FORMS)(
  'regression: an %s provider that answers 16 KB of %s with millions of items does not block the event loop',
  async (kind, type) => {
    // Parsing and validating all of them took 18 and 43 seconds, and 2.8 GB.
    const within = await syncOf(kind, zeros(kind, 4_000_000, type));
    expectProblem(within.answered, 502, 'sync_failed');
    expect(within.answered.body.detail).toMatch(/its answer has more than 500000 values\.$/);
    expect(within.longestMs).toBeLessThan(5000);
    const beyond = await syncOf(kind, zeros(kind, 8_300_000, type));
    expect(beyond.answered.body.detail).toMatch(/the answer is larger than 8 MB\.$/);
    expect(beyond.longestMs).toBeLessThan(5000);
  },
);

test.each(FORMS)('a list of an %s provider (%s) with too many items is refused', async (kind, type) => {
  const { answered } = await syncOf(kind, zeros(kind, 5001, type));
  expect(answered.body.detail).toMatch(/it lists more than 5000 items\.$/);
  // With one item less the items are validated. None of them is valid.
  const { answered: looked } = await syncOf(kind, zeros(kind, 5000, type));
  expect([looked.status, looked.body.added, looked.body.errorCount]).toEqual([200, 0, 5000]);
});

const TOOLS = Array.from({ length: 2000 }, (_, index) => ({
  name: `tool-${index}`,
  title: `Tool ${index}`,
  inputSchema: { type: 'object', properties: { q: { type: 'string', description: 'x'.repeat(2000) } } },
}));

/** The answer of an MCP server that lists tools. */
function toolsIn(type: string, tools: readonly object[], rest: object = {}): (id: unknown) => Sent {
  return (id) => {
    const json = JSON.stringify({ jsonrpc: '2.0', id, result: { tools, ...rest } });
    const notification = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } });
    const body =
      type === 'application/json' ? json : `: hello\r\n\r\ndata: ${notification}\r\n\r\nid: 7\r\ndata: ${json}\r\n\r\n`;
    return { type, gzip: gzipSync(body) };
  };
}

test.each(['application/json', 'text/event-stream'])('all items of a long list in %s are stored', async (type) => {
  const id = await providerOf('mcp', toolsIn(type, TOOLS));
  expect((await sync(id)).body).toMatchObject({ added: TOOLS.length, errorCount: 0 });
  const { items } = await server.ok('GET', `/v1/providers/${id}/inventory?limit=1`, { as: server.admin });
  expect(items[0]).toMatchObject({ title: expect.stringMatching(/^Tool \d+$/) });
  expect(items[0].attributes.inputSchema).toEqual(TOOLS[0]?.inputSchema);
});

test.each(['\n', '\r\n', '\r'])('a message in many lines that end with %j is read', async (end) => {
  const id = await providerOf('mcp', (request) => {
    const message = JSON.stringify({ jsonrpc: '2.0', id: request, result: { tools: TOOLS } }, null, 1);
    const lines = ['event: message', ...message.split('\n').map((line) => `data: ${line}`), '', ''];
    return { type: 'text/event-stream', gzip: gzipSync(lines.join(end)) };
  });
  expect((await sync(id)).body).toMatchObject({ added: TOOLS.length, errorCount: 0 });
});

const REFUSED: [string, (id: unknown) => Sent, RegExp][] = [
  [
    'a cursor of 3 KB',
    toolsIn('application/json', [], { nextCursor: 'x'.repeat(3000) }),
    /its cursor has more than 2048/,
  ],
  [
    'many members other than the items',
    toolsIn('application/json', [], { _meta: { x: 'x'.repeat(70_000) } }),
    /besides its items/,
  ],
  ['too many events', () => ({ type: 'text/event-stream', gzip: gzipSync('data: 1\n\n'.repeat(2000)) }), /1000 events/],
  ...['\n', '\r', 'data:\n'].map((line): [string, () => Sent, RegExp] => {
    const gzip = gzipSync(line.repeat(1_300_000));
    return [
      `a million lines of ${JSON.stringify(line)}`,
      () => ({ type: 'text/event-stream', gzip }),
      /more than 100000 lines/,
    ];
  }),
  [
    'a batch of messages',
    () => ({ type: 'application/json', gzip: gzipSync(`[${'0,'.repeat(200)}0]`) }),
    /100 messages/,
  ],
];

test.each(REFUSED)('an answer of an MCP server with %s is refused', async (_, answer, reason) => {
  const { answered } = await syncOf('mcp', answer);
  expectProblem(answered, 502, 'sync_failed');
  expect(answered.body.detail).toMatch(reason);
});

test('regression: characters that hide or reorder text are escaped in titles, descriptions, attributes and errors', async () => {
  const hidden = 'pay\u202erevo\u200b\u001b[2J';
  const shown = 'pay\\u{202e}revo\\u{200b}\\u{1b}[2J';
  const inputSchema = { type: 'object' };
  const tools = [
    {
      name: 'pay',
      title: hidden,
      description: `${hidden}\n\tA second line \u2764\ufe0f`,
      inputSchema: { type: 'object', description: hidden, properties: { [hidden]: { enum: [hidden] } } },
      annotations: { title: hidden },
    },
    { name: hidden, inputSchema },
    { name: 'long', title: '\u200b'.repeat(200), inputSchema },
  ];
  const id = await providerOf('mcp', toolsIn('application/json', tools));
  const synced = await sync(id);
  expect(synced.body.errors).toEqual([
    { kind: 'tool', name: shown, reason: expect.stringMatching(/hidden characters/) },
  ]);
  const { items } = await server.ok('GET', `/v1/providers/${id}/inventory?limit=10`, { as: server.admin });
  const [long, pay] = items.toSorted((a: Body, b: Body) => (a.name < b.name ? -1 : 1));
  expect(pay).toMatchObject({ title: shown, description: `${shown}\n\tA second line \u2764\ufe0f` });
  expect(pay.attributes).toMatchObject({
    inputSchema: { description: shown, properties: { [shown]: { enum: [shown] } } },
    annotations: { title: shown },
  });
  expect(long.title).toHaveLength(200);
  expect(long.title.endsWith('…')).toBe(true);
  // The next sync finds the same items unchanged.
  expect((await sync(id)).body).toMatchObject({ added: 0, updated: 0, unchanged: 2 });
});
