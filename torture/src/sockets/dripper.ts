import { connect, type Socket } from 'node:net';

// Opens sockets to a port and holds them: idle after one request, or sending a request one byte at a time. The arguments are
// the port and the number of each kind. Prints `open` when all are open, and `<kind> <milliseconds>` for each that the service
// closes. It is a separate process, so that its work does not block the event loop of the measuring process.

const KINDS = {
  idle: { start: 'GET /healthz HTTP/1.1\r\nHost: dripper\r\n\r\n', drip: '' },
  head: { start: 'GET /v1/providers HTTP/1.1\r\nHost: dripper\r\nX-Slow: ', drip: 'a' },
  body: {
    start:
      'POST /v1/onboarding/register HTTP/1.1\r\nHost: dripper\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{"user":',
    drip: ' ',
  },
} as const;

/** Time between two bytes of a request. */
const DRIP_MS = 1000;

/** Concurrent connection attempts, because the service's listen queue is limited. */
const AT_ONCE = 100;

const [port = '', count = ''] = process.argv.slice(2);
const kinds = Object.entries(KINDS);
const wanted = Array.from({ length: Number(count) }, (_, index) => kinds[index % kinds.length] ?? kinds[0]);
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = wanted.pop(); next; next = wanted.pop()) await open(...next);
  }),
);
process.stdout.write('open\n');

async function open(kind: string, { start, drip }: { start: string; drip: string }): Promise<void> {
  const socket = await connected();
  const opened = performance.now();
  socket.write(start);
  const timer = drip === '' ? undefined : setInterval(() => socket.write(drip), DRIP_MS);
  socket.resume();
  socket.on('error', () => {});
  socket.on('close', () => {
    clearInterval(timer);
    process.stdout.write(`${kind} ${Math.round(performance.now() - opened)}\n`);
  });
}

function connected(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}
