import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTACKS, type HostileWorld, type Request } from './attacks.ts';
import { startHostileServer } from './hostile-server.ts';

// A process that attacks the service: it prepares, sends `ready`, and attacks for the number of milliseconds in its order.

export type AttackSettings = { url: string; key: string };

/** Which attacks, and for how long. Afterwards it waits for the last answers, which may take half a minute, or hangs up. */
export type AttackOrder = { milliseconds: number; hangsUp?: boolean; only?: string };

export type AttackReport = {
  /** Number of answers by status; `none` for requests without an answer. */
  answers: Record<string, number>;
  /** The answers to each attack as text. */
  attacks: Record<string, string>;
};

/** Accounts that the attacker creates, because each account has its own rate limits. */
const ACCOUNTS = 20;

/** Connections per attack. */
const CONNECTIONS = 2;

/** Sockets that are opened and stay idle. */
const IDLE_SOCKETS = 1500;
const SOCKETS_AT_ONCE = 100;

/** On Linux all of 127.0.0.0/8 is loopback, so the attacker can use other addresses than the normal tenant. */
const ATTACKER_ADDRESS = '127.0.0.66';
const IDLE_ADDRESS = '127.0.0.67';

const ANSWER_TIMEOUT_MS = 60_000;

const { url, key } = JSON.parse(process.argv[2] ?? '') as AttackSettings;

type Answer = { status: number; body: string };

function send(agent: Agent, { method, path, body, headers = {}, key: as }: Request): Promise<Answer> {
  const isWhole = typeof body === 'string' || body === undefined || Buffer.isBuffer(body);
  const payload = isWhole ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = {
      ...(as !== null && { 'x-api-key': as }),
      ...(payload !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(payload)),
      }),
      ...headers,
    };
    const options = { method, agent, headers: sent, localAddress: ATTACKER_ADDRESS, timeout: ANSWER_TIMEOUT_MS };
    const asked = request(url + path, options, (res) => {
      const chunks: Buffer[] = [];
      let size = 0;
      res.on('data', (chunk: Buffer) => {
        size += chunk.length;
        // Keeps only what the preparation needs. An attacker does not read long answers.
        if (size < 1024 * 1024) chunks.push(chunk);
      });
      res.on('error', reject);
      res.on('end', () => resolve({ status: res.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    });
    asked.on('timeout', () => asked.destroy(new Error('no answer in time')));
    asked.on('error', reject);
    asked.end(payload);
  });
}

async function prepare(): Promise<HostileWorld> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of several operations
  const ok = async (method: string, path: string, body?: object, as = key): Promise<any> => {
    const answer = await send(agent, { method, path, body, key: as });
    if (answer.status !== 200) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.body}`);
    return JSON.parse(answer.body);
  };
  const server = await startHostileServer();
  const keys: string[] = [];
  for (let index = 0; index < ACCOUNTS; index += 1) {
    const { id } = await ok('POST', '/v1/service-accounts', { id: `account-${index}`, name: `account-${index}` });
    keys.push((await ok('POST', `/v1/service-accounts/${id}/keys`, { scopes: ['*'] })).key);
  }
  const providerIds: string[] = [];
  const provider = async (name: string, kind: string, path: string) =>
    (await ok('POST', '/v1/providers', { name, kind, baseUrl: server.url + path })).id as string;
  for (const name of ['first', 'second']) {
    const id = await provider(name, 'llm', '/many');
    await ok('POST', `/v1/providers/${id}/sync`, {});
    providerIds.push(id);
  }
  const bombs = [await provider('bomb', 'llm', '/bomb'), await provider('mcp-bomb', 'mcp', '/mcp')];
  const gateway = await ok('POST', '/v1/gateways', { name: 'edge', providerIds });
  const inventory = await ok('GET', `/v1/providers/${providerIds[0]}/inventory?limit=1`);
  agent.destroy();
  return { keys, providerIds, bombs, gatewayId: gateway.id, itemId: inventory.items[0].id };
}

async function attack(world: HostileWorld, { milliseconds, hangsUp, only }: AttackOrder): Promise<AttackReport> {
  const until = performance.now() + milliseconds;
  const report: AttackReport = { answers: {}, attacks: {} };
  const sockets = openIdleSockets();
  const chosen = ATTACKS.filter(({ name }) => only === undefined || name === only);
  const loops = chosen.flatMap((each, index) =>
    Array.from({ length: CONNECTIONS }, async (_, connection) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      if (hangsUp === true) setTimeout(() => agent.destroy(), milliseconds);
      const counts: Record<string, number> = {};
      for (let count = connection; performance.now() < until; count += CONNECTIONS) {
        const account = world.keys[(index * CONNECTIONS + connection + count) % world.keys.length] ?? key;
        const answer = await send(agent, each.request({ ...world, key: account }, count)).catch(() => null);
        // What is not valid is refused at once. It would attack nothing.
        if (answer?.status === 422) throw new Error(`${each.name}: ${answer.body}`);
        const status = String(answer?.status ?? 'none');
        counts[status] = (counts[status] ?? 0) + 1;
        report.answers[status] = (report.answers[status] ?? 0) + 1;
        // Otherwise a refused connection would be retried in a tight loop.
        if (status === 'none') await sleep(10);
      }
      report.attacks[each.name] = `${report.attacks[each.name] ?? ''} ${JSON.stringify(counts)}`.trim();
      agent.destroy();
    }),
  );
  await Promise.all(loops);
  for (const socket of await sockets) socket.destroy();
  return report;
}

/** Opens a few at a time. All at once would only fill the system's listen queue, before the service sees them. */
async function openIdleSockets(): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  while (sockets.length < IDLE_SOCKETS) {
    for (let count = 0; count < SOCKETS_AT_ONCE; count += 1) {
      const socket = connect({ host: hostname, port: Number(port), localAddress: IDLE_ADDRESS });
      socket.on('error', () => {});
      sockets.push(socket);
    }
    await sleep(50);
  }
  return sockets;
}

const world = await prepare();
process.on('message', (order: AttackOrder) => {
  void attack(world, order).then((report) => process.send?.(report));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
