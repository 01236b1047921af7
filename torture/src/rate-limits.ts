import { type Answered, Connection } from './connection.ts';
import { type Finding, finding, type Options, type Part } from './part.ts';
import { ADMIN, killService, type Service, startService } from './service.ts';
import { openPostgresStore } from './stores.ts';
import { until } from './until.ts';

/** Requests per minute. */
const LIMITS = { principal: 300, address: 200, registration: 10 };

const CLIENTS_PER_PROCESS = 4;

/** A client stops after this many refusals in a row. */
const REFUSALS = 3;

const WINDOW_MS = 60_000;

/** The log message of a process that could not reach the database in time, and counts by itself until the window ends. */
const ALONE = 'counted by this process alone';

/** How often a round is repeated if that happened. The machine was too busy for a valid result. */
const ROUNDS = 3;

type Ask = (connection: Connection, count: number) => Promise<Answered>;

/** One answer, with its process and its window. */
type Seen = { process: number; window: number; answered: Answered };

/** Two processes on one PostgreSQL database: together they stay within each limit. */
export const rateLimits: Part = {
  name: 'rate-limits',
  async run({ short }: Options): Promise<Finding[]> {
    const store = await openPostgresStore();
    const environment = {
      QM_RATE_LIMITS: 'on',
      QM_RATE_LIMIT_PRINCIPAL: String(LIMITS.principal),
      QM_RATE_LIMIT_ADDRESS: String(LIMITS.address),
      QM_RATE_LIMIT_REGISTRATION: String(LIMITS.registration),
      QM_LOG_LEVEL: 'warn',
    };
    const starting = { databaseUrl: store.url, environment };
    const services: Service[] = [];
    try {
      services.push(await startService(starting), await startService(starting));
      const [one] = services;
      if (!one) throw new Error('nothing was started');
      const findings = [
        await limited(services, { name: 'principal', limit: LIMITS.principal, asking: () => listsOfNewAccount(one) }),
      ];
      findings.push(await killedMeanwhile(services, await listsOfNewAccount(one)));
      services[1] = await startService(starting);
      // Last, because an address beyond its limit is refused before the service looks up an unknown credential.
      const strangers = [
        ['address', listOfStranger],
        ...(short ? [] : [['registration', registration] as const]),
      ] as const;
      for (const [name, ask] of strangers) {
        // Registrations also count against the address's limit.
        if (name === 'registration') await nextWindow();
        findings.push(await limited(services, { name, limit: LIMITS[name], asking: async () => ask }));
      }
      return findings;
    } finally {
      for (const service of services) await killService(service);
      await store.close();
    }
  },
};

/** Requests with a key of a new account, which has no counted requests. */
async function listsOfNewAccount({ url }: Service): Promise<Ask> {
  const connection = new Connection(url, ADMIN);
  const id = `limited-${performance.now()}`.replace('.', '-');
  await connection.ok('POST', '/v1/service-accounts', { body: { id, name: id, tenantId: 'limited' } });
  const path = `/v1/service-accounts/${id}/keys?tenant_id=limited`;
  const { key } = await connection.ok('POST', path, { body: { scopes: ['providers:read'] } });
  connection.close();
  return (asking) => asking.send('GET', '/v1/providers', { key });
}

const listOfStranger: Ask = (connection) => connection.send('GET', '/v1/providers', { key: null });

const registration: Ask = (connection, count) =>
  connection.send('POST', '/v1/onboarding/register', {
    key: null,
    body: { user: { email: `limited-${count}-${performance.now()}@example.com` } },
  });

type Limited = { name: string; limit: number; asking: () => Promise<Ask> };

async function limited(services: readonly Service[], { name, limit, asking }: Limited): Promise<Finding> {
  for (let round = 1; ; round += 1) {
    const said = services.map(({ output }) => output().length);
    const seen = await exhaust(services, await asking());
    const alone = services.some(({ output }, index) => output().slice(said[index]).includes(ALONE));
    if (alone && round < ROUNDS) {
      await nextWindow();
      continue;
    }
    const last = Math.max(...seen.map(({ window }) => window));
    const through = throughOf(seen.filter(({ window }) => window === last));
    const faults = [...tooMany(seen, limit), ...headerFaults(seen, { name, limit })];
    if (alone) faults.push('the database was too slow to be counted in, each time');
    if (through.length < limit) faults.push(`${through.length} of ${limit} were let through in the last window`);
    const shares = services.map((_, index) => through.filter(({ process }) => process === index).length);
    return finding({
      promise: `two processes, one limit of ${limit} a minute by ${name}`,
      measured: `${seen.length} requests to both; ${shares.join(' + ')} let through in the window that was used up, the others 429; headers agree`,
      figures: { requests: seen.length, limit, through: through.length },
      faults,
    });
  }
}

async function nextWindow(): Promise<void> {
  const ends = (Math.floor(Date.now() / WINDOW_MS) + 1) * WINDOW_MS;
  await until(() => Date.now() > ends, 'the window to end', WINDOW_MS + 1000);
}

/** A killed process loses the points that it took and did not use, so the total stays below the limit. */
async function killedMeanwhile(services: readonly Service[], ask: Ask): Promise<Finding> {
  const [, other] = services;
  if (!other) throw new Error('there is no other process');
  const limit = LIMITS.principal;
  let asked = 0;
  const seen = await exhaust(services, (connection, count) => {
    asked += 1;
    if (asked === Math.floor(limit / 3)) other.process.kill('SIGKILL');
    return ask(connection, count);
  });
  await killService(other);
  const faults = tooMany(seen, limit);
  if (throughOf(seen).length <= limit / 3) faults.push('the process was killed too late to say anything');
  return finding({
    promise: `two processes, one limit of ${limit} a minute: one of them is killed`,
    measured: `${throughOf(seen).length} let through of ${seen.length} requests`,
    figures: { requests: seen.length, through: throughOf(seen).length },
    faults,
  });
}

/** Sends requests to all processes concurrently, until each of them refuses every request, or has ended. */
async function exhaust(services: readonly Service[], ask: Ask): Promise<Seen[]> {
  const seen: Seen[] = [];
  const client = async (service: Service, process: number) => {
    const connection = new Connection(service.url, null);
    try {
      for (let refusals = 0; refusals < REFUSALS; ) {
        const answered = await ask(connection, seen.length);
        // The header has the seconds until the window ends, rounded up. Windows begin at full minutes.
        const ends = Date.now() + Number(/;t=(\d+)/.exec(String(answered.headers['ratelimit']))?.[1]) * 1000;
        seen.push({ process, window: Math.round(ends / WINDOW_MS), answered });
        refusals = answered.status === 429 ? refusals + 1 : 0;
      }
    } catch (error) {
      if (!service.process.killed) throw error;
    } finally {
      connection.close();
    }
  };
  const clients = services.flatMap((service, process) =>
    Array.from({ length: CLIENTS_PER_PROCESS }, () => client(service, process)),
  );
  await Promise.all(clients);
  return seen;
}

function throughOf(seen: readonly Seen[]): Seen[] {
  return seen.filter(({ answered }) => answered.status !== 429);
}

function tooMany(seen: readonly Seen[], limit: number): string[] {
  const windows = Map.groupBy(throughOf(seen), ({ window }) => window);
  return [...windows].flatMap(([window, through]) =>
    through.length <= limit ? [] : [`${through.length} were let through in the window that ended at ${window}`],
  );
}

function headerFaults(seen: readonly Seen[], { name, limit: ofName }: { name: string; limit: number }): string[] {
  return seen.flatMap(({ answered: { status, headers } }) => {
    // A request without credentials counts against its address as well. While it is let through, it reports that limit.
    const limit = name === 'registration' && status !== 429 ? LIMITS.address : ofName;
    const [, remaining, reset] = /^"[\w-]+";r=(\d+);t=(\d+)$/.exec(String(headers['ratelimit'])) ?? [];
    const policy = String(headers['ratelimit-policy']);
    if (!new RegExp(`^"[\\w-]+";q=${limit};w=60$`).test(policy)) return [`${name}: RateLimit-Policy: ${policy}`];
    if (remaining === undefined || Number(remaining) >= limit)
      return [`${name}: RateLimit: ${String(headers['ratelimit'])}`];
    if (status !== 429) return [];
    const agrees = remaining === '0' && headers['retry-after'] === reset;
    return agrees ? [] : [`${name}: 429 with ${String(headers['ratelimit'])}, Retry-After ${headers['retry-after']}`];
  });
}
