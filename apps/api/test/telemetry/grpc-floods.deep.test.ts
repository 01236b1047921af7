import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startTestServer, type TestServer } from '../support/server.ts';

const [DATA, HEADERS, RST_STREAM, SETTINGS, PING] = [0, 1, 3, 4, 6];
const END_HEADERS = 4;
const PATH = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

/** RFC 9113, section 4.1. */
function frame(type: number, { flags = 0, stream = 0, payload = Buffer.alloc(0) } = {}): Buffer<ArrayBuffer> {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** RFC 7541, section 6.2.2: header fields that are written out. */
function fields(headers: Record<string, string>): Buffer<ArrayBuffer> {
  const text = (value: string) => [Buffer.from([value.length]), Buffer.from(value)];
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), ...text(name), ...text(value)]),
  );
}

const HEAD = fields({
  ':method': 'POST',
  ':scheme': 'http',
  ':path': PATH,
  ':authority': 'x',
  'content-type': 'application/grpc',
});
const beginCall = (stream: number) => frame(HEADERS, { flags: END_HEADERS, stream, payload: HEAD });
const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]);
const times = (count: number, make: (index: number) => Buffer<ArrayBuffer>): Buffer<ArrayBuffer> =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));

async function startFlooded(): Promise<TestServer> {
  const server = await startTestServer({ QM_OTLP_GRPC_PORT: '0' });
  onTestFinished(() => server.stop());
  return server;
}

async function open({ grpcUrl }: TestServer, localAddress: string): Promise<Socket> {
  const { hostname, port } = new URL(grpcUrl ?? '');
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS)]));
  return socket;
}

async function refusedConnections({ services }: TestServer): Promise<Record<string, number>> {
  const { values } = await services.metrics.refusedConnections.get();
  return Object.fromEntries(
    values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels['reason'], value]),
  );
}

test.each([
  [
    'calls that it resets at once',
    times(1001, (index) =>
      Buffer.concat([beginCall(2 * index + 1), frame(RST_STREAM, { stream: 2 * index + 1, payload: cancel })]),
    ),
  ],
  [
    'small DATA frames',
    Buffer.concat([beginCall(1), times(5001, () => frame(DATA, { stream: 1, payload: Buffer.from('x') }))]),
  ],
])('regression: an address that sends thousands of %s loses its connections', async (_, flood) => {
  const server = await startFlooded();
  const [idle, flooding, other] = await Promise.all([
    open(server, '127.0.0.1'),
    open(server, '127.0.0.1'),
    open(server, '127.0.0.2'),
  ]);
  const closed = Promise.all([once(idle, 'close'), once(flooding, 'close')]);
  flooding.write(flood);
  await closed;
  expect(await refusedConnections(server)).toEqual({ frames: 1 });
  other.write(frame(PING, { payload: Buffer.alloc(8) }));
  await once(other, 'data');
  expect(other.destroyed).toBe(false);
});

test.each([
  ['PING', frame(PING, { payload: Buffer.alloc(8) })],
  ['SETTINGS', frame(SETTINGS, { payload: Buffer.from([0, 4, 0, 1, 0, 0]) })],
])('regression: an address that sends thousands of %s frames loses its connections', async (_, one) => {
  const server = await startFlooded();
  const [idle, flooding] = await Promise.all([open(server, '127.0.0.1'), open(server, '127.0.0.1')]);
  const closed = once(idle, 'close');
  // Node itself closes a connection that sends 1,000 of them before it reads the acknowledgements.
  let sent = 0;
  const send = () => {
    flooding.write(times(100, () => one));
    sent += 100;
  };
  flooding.on('data', () => sent < 20_000 && send());
  send();
  await closed;
  expect(await refusedConnections(server)).toEqual({ frames: 1 });
});

test('900 calls of an address at the same time are answered', async () => {
  const server = await startFlooded();
  const sessions = Array.from({ length: 9 }, () => connectHttp2(server.grpcUrl ?? ''));
  onTestFinished(() => sessions.forEach((session) => session.destroy()));
  const statuses = await Promise.all(
    sessions.flatMap((session) =>
      Array.from({ length: 100 }, async () => {
        const call = session.request({ ':method': 'POST', ':path': '/nothing', 'content-type': 'application/grpc' });
        const answered = once(call, 'response');
        call.end();
        const [headers] = await answered;
        call.resume();
        return headers['grpc-status'];
      }),
    ),
  );
  // UNIMPLEMENTED
  expect(new Set(statuses)).toEqual(new Set(['12']));
  expect(await refusedConnections(server)).toEqual({});
});
