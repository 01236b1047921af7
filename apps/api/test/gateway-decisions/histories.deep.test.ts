import { scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Decisions } from '../../src/resources/gateway-decisions/decide.ts';
import { ApiError } from '../../src/platform/errors.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { decidingWorld } from './sessions.ts';

/** What the documentation promises, in milliseconds: how old the facts of a decision are, and which denials a crash may lose. */
const PROMISED_FRESH_MS = 5000;
const PROMISED_LOSS_MS = 1000;

/** Two processes that decide. Each has caches and counts of its own, and both use one database. */
const PROCESSES = 2;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const WRITES = [
  'approve',
  'block',
  'delete item',
  'disable provider',
  'enable provider',
  'revoke session',
  'open session',
  'open session',
  'manifest that denies',
  'no manifest',
  'observe',
  'enforce',
] as const;

const processArbitrary = fc.nat({ max: PROCESSES - 1 });

const commandArbitrary = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      process: processArbitrary,
      attempts: fc.constantFrom(1, 1, 3),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      write: fc.constantFrom(...WRITES),
      // Whether both processes decide at the same time.
      besideDecisions: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(200, 900, 1100, 2100, 3500, 4500, 6000),
    }),
  },
  fc.record({ do: fc.constant('crash' as const), process: processArbitrary }),
);
type Command = typeof commandArbitrary extends fc.Arbitrary<infer T> ? T : never;

test('no history of writes, decisions, time and crashes allows what was forbidden for 5 s, or loses a denial that is a second old', async () => {
  const seen = new Set<string>();
  const numRuns = scaled({ usual: onPostgres() ? 12 : 25, full: 300 });
  await fc.assert(
    fc.asyncProperty(fc.array(commandArbitrary, { minLength: 10, maxLength: 50 }), async (commands) => {
      const clock = startClock();
      try {
        await play(commands, clock, seen);
      } finally {
        clock.stop();
      }
    }),
    { numRuns },
  );
  // Otherwise the histories would show little.
  expect([...seen]).toEqual(expect.arrayContaining(['allowed', 'ended']));
});

async function play(commands: readonly Command[], clock: Clock, seen: Set<string>): Promise<void> {
  const world = await newWorld(clock);
  const processes = Array.from({ length: PROCESSES }, () => new DecidingProcess(clock));
  /** Denials of processes that crashed: all of them, and those that had to be stored. */
  const crashed = { denials: 0, stored: 0 };

  /** Decides, and returns what checks the answer. It is checked once it is known what a write beside it has changed. */
  const decide = async (index: number, attempts: number): Promise<() => void> => {
    const from = clock.now() - PROMISED_FRESH_MS;
    const session = world.session();
    const outcome = await processes[index]?.decide(world, { session, attempts });
    const to = clock.now();
    return () => {
      if (outcome === undefined) return;
      seen.add(outcome.reason ?? 'allowed');
      world.expectPossible(outcome, session, { from, to });
    };
  };
  /** Denials that are a second old are stored, and none is counted twice. */
  const expectStored = async (): Promise<void> => {
    const old = processes.reduce((sum, process) => sum + process.denialsBefore(clock.now() - PROMISED_LOSS_MS), 0);
    await expect.poll(() => world.storedDenials()).toBeGreaterThanOrEqual(crashed.stored + old);
    const all = processes.reduce((sum, process) => sum + process.denialsBefore(clock.now()), 0);
    expect(await world.storedDenials()).toBeLessThanOrEqual(crashed.denials + all);
  };

  for (const command of commands) {
    switch (command.do) {
      case 'decide':
        (await decide(command.process, command.attempts))();
        break;
      case 'write': {
        const decisions = command.besideDecisions ? processes.map((_, index) => decide(index, 1)) : [];
        const [, ...checks] = await Promise.all([world.write(command.write), ...decisions]);
        for (const check of checks) check();
        break;
      }
      case 'wait':
        await clock.pass(command.ms);
        await expectStored();
        break;
      case 'crash': {
        await expectStored();
        const process = processes[command.process];
        if (process === undefined) break;
        process.crash();
        crashed.stored += process.denialsBefore(clock.now() - PROMISED_LOSS_MS);
        crashed.denials += process.denialsBefore(clock.now());
        processes[command.process] = new DecidingProcess(clock);
      }
    }
  }
  await clock.pass(PROMISED_LOSS_MS + 1);
  await expectStored();
  // Nothing goes on after the history.
  for (const process of processes) process.crash();
}

type Outcome = { reason: string | null; allowed: boolean; mode: string | null };

/** The decisions of one process, without its HTTP server. */
class DecidingProcess {
  readonly #decisions: Decisions;
  readonly #clock: Clock;
  readonly #denials: { at: number; count: number }[] = [];
  #crashed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    const { services } = server;
    const now = () => {
      if (this.#crashed) throw new Error('this process has crashed');
      return services.now();
    };
    this.#decisions = new Decisions({ ...services, now });
  }

  /** Whether a session may use the tool. @returns undefined if that cannot be decided */
  async decide(
    { gatewayId, providerName }: World,
    { session, attempts }: { session: Session; attempts: number },
  ): Promise<Outcome | undefined> {
    try {
      const live = await this.#decisions.session(session.token, gatewayId);
      const asked = { provider: live.policy.find(providerName), kind: 'tool' as const, name: 'tool' };
      const { reason, allowed, mode } = this.#decisions.decide(live, asked, { point: 'guard', attempts });
      if (reason !== null) this.#denials.push({ at: this.#clock.now(), count: attempts });
      return { reason, allowed, mode };
    } catch (error) {
      if (error instanceof ApiError && error.reason === 'gateway_session_ended') {
        return { reason: 'ended', allowed: false, mode: null };
      }
      // The clock was moved while the database was asked, so the answer came too late.
      if (error instanceof ApiError && error.reason === 'database_unavailable') return undefined;
      throw error;
    }
  }

  /** Ends it as `kill -9` does: what waits in its memory is never written. */
  crash(): void {
    this.#crashed = true;
  }

  denialsBefore(time: number): number {
    return this.#denials.reduce((sum, { at, count }) => (at <= time ? sum + count : sum), 0);
  }
}

type Session = { id: string; token: string; timeline: Timeline };
type World = Awaited<ReturnType<typeof newWorld>>;

/** A gateway with one tool, and what was true about it at which time, as the API says it. */
async function newWorld(clock: Clock) {
  const made = await decidingWorld(server, { items: [{ kind: 'tool', name: 'tool' }] });
  const { as, gatewayId, providerId, providerName, tenantId } = made;
  const spec = { allow: [{ provider: providerName, kind: 'tool', names: ['another'] }] };
  const manifest = await server.ok('POST', '/v1/manifests', { as, body: { kind: 'gateway', name: 'edge', spec } });
  const gateway = `/v1/gateways/${gatewayId}`;
  const provider = `/v1/providers/${providerId}`;
  let session: Session = { id: made.session.id, token: made.token, timeline: new Timeline('active') };
  const item = new Timeline('available');
  const providerStatus = new Timeline('active');
  const manifested = new Timeline('allowed');
  const mode = new Timeline('enforce');

  const itemNow = async (): Promise<Body> => (await server.ok('GET', `${provider}/inventory`, { as })).items[0];
  const setItem = async (status: string): Promise<void> => {
    const { id } = (await itemNow()) ?? {};
    const body = { kind: 'tool', name: 'tool', status };
    if (id === undefined) await server.ok('POST', `${provider}/inventory`, { as, body });
    else await server.ok('PUT', `${provider}/inventory/${id}`, { as, body: { status } });
  };
  const put = (path: string, body: object) => server.ok('PUT', path, { as, body });
  const change: Record<(typeof WRITES)[number], () => Promise<unknown>> = {
    approve: () => setItem('available'),
    block: () => setItem('blocked'),
    'delete item': async () => {
      const found = await itemNow();
      if (found) await server.ok('DELETE', `${provider}/inventory/${found.id}`, { as });
    },
    'disable provider': () => put(provider, { status: 'disabled' }),
    'enable provider': () => put(provider, { status: 'active' }),
    // 404 if it has ended already.
    'revoke session': () => server.call('DELETE', `${gateway}/sessions/${session.id}`, { as }),
    'open session': async () => {
      const { id, token } = await server.ok('POST', `${gateway}/sessions`, { as, body: {} });
      session = { id, token, timeline: new Timeline('active') };
    },
    'manifest that denies': () => put(gateway, { manifestId: manifest.id }),
    'no manifest': () => put(gateway, { manifestId: null }),
    observe: () => put(gateway, { enforcement: 'observe' }),
    enforce: () => put(gateway, { enforcement: 'enforce' }),
  };

  return {
    /** The newest session. */
    session: () => session,
    gatewayId,
    providerName,
    async write(write: keyof typeof change): Promise<void> {
      const from = clock.now();
      const before = session;
      await change[write]();
      const { status: providerNow } = await server.ok('GET', provider, { as });
      const { manifestId, enforcement } = await server.ok('GET', gateway, { as });
      const { status: sessionNow } = await server.ok('GET', `${gateway}/sessions/${before.id}`, { as });
      const itemStatus = (await itemNow())?.status ?? 'absent';
      const during = { from, until: clock.now() };
      item.change(itemStatus, during);
      providerStatus.change(providerNow, during);
      manifested.change(manifestId === null ? 'allowed' : 'denied', during);
      mode.change(enforcement, during);
      before.timeline.change(sessionNow, during);
    },
    /** Checks that each fact that a decision rests on was true at some time between two times. */
    expectPossible(outcome: Outcome, { timeline }: Session, { from, to }: { from: number; to: number }): void {
      const facts = {
        session: timeline.between(from, to),
        item: item.between(from, to),
        provider: providerStatus.between(from, to),
        manifest: manifested.between(from, to),
        mode: mode.between(from, to),
      };
      const shown = JSON.stringify({ outcome, facts });
      if (outcome.reason === 'ended') {
        expect(facts.session, shown).toContain('revoked');
        return;
      }
      expect(facts.session, shown).toContain('active');
      expect(facts.mode, shown).toContain(outcome.mode);
      expect(outcome.allowed, shown).toBe(outcome.reason === null || outcome.mode === 'observe');
      const needed = FACTS_OF_REASONS[outcome.reason ?? 'none'];
      for (const [fact, value] of Object.entries(needed ?? { item: 'no such reason' })) {
        expect(facts[fact as keyof typeof facts], shown).toContain(value);
      }
    },
    async storedDenials(): Promise<number> {
      const rows = await server.services.db
        .selectFrom('observation_denials')
        .where('tenant_id', '=', tenantId)
        .select('denials')
        .execute();
      return rows.reduce((sum, { denials }) => sum + Number(denials), 0);
    },
  };
}

/** What has to be true of a gateway for each answer. */
const FACTS_OF_REASONS: Record<string, Partial<Record<'item' | 'provider' | 'manifest', string>>> = {
  none: { item: 'available', provider: 'active', manifest: 'allowed' },
  provider_disabled: { provider: 'disabled' },
  not_in_inventory: { item: 'absent' },
  blocked: { item: 'blocked' },
  manifest: { manifest: 'denied' },
};

/** The values of one fact over time. While a write runs, both the value before it and the one after it are possible. */
class Timeline {
  readonly #values: { value: string; from: number; until: number }[];

  constructor(value: string) {
    this.#values = [{ value, from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY }];
  }

  change(value: string, { from, until }: { from: number; until: number }): void {
    const last = this.#values.at(-1);
    if (last === undefined || last.value === value) return;
    last.until = until;
    this.#values.push({ value, from, until: Number.POSITIVE_INFINITY });
  }

  between(from: number, to: number): string[] {
    return this.#values.filter((one) => one.from <= to && one.until >= from).map(({ value }) => value);
  }
}

type Clock = ReturnType<typeof startClock>;

/** A clock that goes on by itself, and can be moved ahead. Timers of this process follow it. */
function startClock() {
  const real = performance.now.bind(performance);
  let ahead = 0;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
  return {
    now: () => performance.now(),
    async pass(milliseconds: number): Promise<void> {
      ahead += milliseconds;
      await vi.advanceTimersByTimeAsync(milliseconds);
    },
    stop(): void {
      vi.useRealTimers();
      spy.mockRestore();
    },
  };
}
