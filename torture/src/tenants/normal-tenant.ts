import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '../connection.ts';

/** One request of the normal tenant. */
export type Sample = { what: string; at: number; tookMs: number; status: number | null; error: string | null };

/** Pause between two requests of a client in milliseconds, well within the rate limits. */
const PAUSE_MS = 100;

const TENANT = 'normal';

type Client = {
  what: string;
  key: string;
  send: (connection: Connection, count: number) => Promise<{ status: number }>;
};

/** A tenant with normal use: it lists, reads, writes, opens sessions and sends spans, a few requests per second. */
export class NormalTenant {
  readonly #url: string;
  readonly #clients: readonly Client[];
  readonly #samples: Sample[] = [];
  #running: Promise<void>[] = [];
  #stopped = false;

  private constructor(url: string, clients: readonly Client[]) {
    this.#url = url;
    this.#clients = clients;
  }

  /** Creates its accounts and records. */
  static async found(url: string, admin: Connection): Promise<NormalTenant> {
    // Creating the first account creates the tenant.
    const reader = await makeAccount(admin, { tenantId: TENANT, id: 'reader' });
    const provider = await admin.ok('POST', '/v1/providers', {
      body: { name: 'vendor', kind: 'llm', tenantId: TENANT },
    });
    const gateway = await admin.ok('POST', '/v1/gateways', {
      body: { name: 'edge', tenantId: TENANT, providerIds: [provider.id] },
    });
    for (let index = 0; index < 50; index += 1) {
      const body = { kind: 'model', name: `model-${index}` };
      await admin.ok('POST', `/v1/providers/${provider.id}/inventory`, { body });
    }
    const keyOf = (name: string) => makeAccount(admin, { tenantId: TENANT, id: name });
    const clients: Client[] = [
      {
        what: 'list inventory',
        key: reader,
        send: (connection) => connection.send('GET', `/v1/providers/${provider.id}/inventory?limit=25`),
      },
      {
        what: 'update a provider',
        key: await keyOf('writer'),
        send: (connection, count) =>
          connection.send('PUT', `/v1/providers/${provider.id}`, { body: { description: `change ${count}` } }),
      },
      {
        what: 'open and revoke a session',
        key: await keyOf('gateway'),
        async send(connection) {
          const path = `/v1/gateways/${gateway.id}/sessions`;
          const opened = await connection.send('POST', path, { body: { ttlSeconds: 60 } });
          return opened.status === 200 ? connection.send('DELETE', `${path}/${opened.body.id}`) : opened;
        },
      },
      {
        what: 'send spans',
        key: await keyOf('agent'),
        send: (connection) => connection.send('POST', '/v1/traces', { body: spans(10) }),
      },
      {
        what: 'list traces',
        key: await keyOf('viewer'),
        send: (connection) => connection.send('GET', '/v1/traces?limit=25'),
      },
    ];
    return new NormalTenant(url, clients);
  }

  start(): void {
    this.#running = this.#clients.map((client) => this.#work(client));
  }

  /** @returns the requests that began while `work` ran */
  async during(work: () => Promise<unknown>): Promise<Sample[]> {
    const from = performance.now();
    await work();
    const to = performance.now();
    return this.#samples.filter(({ at }) => at >= from && at < to);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #work({ what, key, send }: Client): Promise<void> {
    const connection = new Connection(this.#url, key);
    for (let count = 0; !this.#stopped; count += 1) {
      const at = performance.now();
      const sample = { what, at, status: null, error: null };
      try {
        const { status } = await send(connection, count);
        this.#samples.push({ ...sample, tookMs: performance.now() - at, status });
      } catch (error) {
        this.#samples.push({ ...sample, tookMs: performance.now() - at, error: String(error) });
      }
      await sleep(PAUSE_MS);
    }
    connection.close();
  }
}

/** @returns the key of a new account with every scope */
export async function makeAccount(
  admin: Connection,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<string> {
  await admin.ok('POST', '/v1/service-accounts', { body: { id, name: id, tenantId } });
  const path = `/v1/service-accounts/${id}/keys?tenant_id=${tenantId}`;
  const { key } = await admin.ok('POST', path, { body: { scopes: ['*'] } });
  return key;
}

/** An OTLP request of one trace: an agent that calls a model. */
function spans(count: number): object {
  const traceId = randomBytes(16).toString('hex');
  const now = BigInt(Date.now()) * 1_000_000n;
  const each = Array.from({ length: count }, (_, index) => ({
    traceId,
    spanId: randomBytes(8).toString('hex'),
    name: 'chat model-1',
    kind: 3,
    startTimeUnixNano: String(now + BigInt(index)),
    endTimeUnixNano: String(now + BigInt(index) + 1_000_000n),
    attributes: [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'gen_ai.provider.name', value: { stringValue: 'vendor' } },
      { key: 'gen_ai.request.model', value: { stringValue: `model-${index % 5}` } },
    ],
  }));
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'planner' } }] };
  return { resourceSpans: [{ resource, scopeSpans: [{ spans: each }] }] };
}
