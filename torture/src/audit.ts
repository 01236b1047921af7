import { emptyChainHash, hashOf, leafOf } from '@quartermaster/api/src/platform/audit/chain.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { openDatabase } from '@quartermaster/db/open-database.ts';
import type { Tables } from '@quartermaster/db/tables.ts';
import type { Selectable } from 'kysely';
import { Connection } from './connection.ts';
import { verifiedFaults } from './kill/audit.ts';
import { writeUntilKilled } from './kill/writing.ts';
import { type Finding, finding, type Options, type Part } from './part.ts';
import { between, randomOf } from './random.ts';
import { ADMIN, killService, type Service, startService } from './service.ts';
import { onEachStore, openSqliteStore, type Store } from './stores.ts';
import { until } from './until.ts';

/** A chain as a kill left it, and the tools of an attacker with write access to the database, but without the key. */
type Chain = { service: Service; db: Database; tenantId: string; ids: readonly string[]; random: () => number };

/** Tampers with a chain. Returns the faults that verification has to find, as `kind@position`. */
type Tampering = (chain: Chain) => Promise<string[]>;

/** The kinds of tampering. Each is done to the audit of a separate tenant after a kill. */
const TAMPERINGS: Record<string, Tampering> = {
  'a changed row': async (chain) => {
    const position = somewhere(chain);
    await changeActor(chain, position);
    return [`changed@${position}`];
  },
  'a removed row': async (chain) => {
    const position = somewhere(chain);
    await eventOf(chain.db.deleteFrom('audit_events'), chain, position).execute();
    return [`removed@${position}`];
  },
  'a removed tail': async ({ db, tenantId, ids }) => {
    const left = ids.length - 3;
    const tail = ids.slice(left);
    await db.deleteFrom('audit_events').where('tenant_id', '=', tenantId).where('id', 'in', tail).execute();
    await db.deleteFrom('audit_chain').where('tenant_id', '=', tenantId).where('position', '>', left).execute();
    return [`tail_removed@${left + 1}`];
  },
  'two rows swapped': async (chain) => {
    const one = somewhere(chain);
    const positions = [one, one + 1];
    const rows: Selectable<Tables['audit_events']>[] = [];
    for (const position of positions) {
      const row = eventOf(chain.db.selectFrom('audit_events').selectAll(), chain, position);
      rows.push(await row.executeTakeFirstOrThrow());
      await eventOf(chain.db.deleteFrom('audit_events'), chain, position).execute();
    }
    const swapped = rows.map((row, index) => ({ ...row, id: rows[1 - index]?.id ?? row.id }));
    await chain.db.insertInto('audit_events').values(swapped).execute();
    return positions.map((position) => `swapped@${position}`);
  },
  'a chain recomputed whole': async (chain) => {
    await changeActor(chain, somewhere(chain));
    await recompute(chain);
    return [`recomputed@${chain.ids.length}`];
  },
};

const ROUNDS = { long: 5, short: 1 };

/** After a kill the audit verifies, and verification finds and names every kind of tampering. */
export const audit: Part = {
  name: 'audit',
  // In the short form on SQLite alone: the API's suites on audit chains tamper and kill on both.
  run: (options: Options) =>
    onEachStore((store) => tamperedAfterKills(store, options), options.short ? [openSqliteStore] : undefined),
};

async function tamperedAfterKills(store: Store, { seed, short }: Options): Promise<Finding> {
  const random = randomOf(seed);
  const rounds = short ? ROUNDS.short : ROUNDS.long;
  const faults: string[] = [];
  const named: string[] = [];
  let events = 0;
  let service = await startService({ databaseUrl: store.url });
  const db = await openDatabase(store.url, '/');
  try {
    for (let round = 1; round <= rounds; round += 1) {
      const tenants = Object.entries(TAMPERINGS).map(([what, tamper]) => ({
        tenantId: `tampered-${round}-${named.push(what)}`,
        what,
        tamper,
      }));
      // All tenants are written to concurrently, and the same kill stops them.
      const kill = onceAllAsked(tenants.length, () => killService(service));
      await Promise.all(tenants.map(({ tenantId }) => writeUntilKilled({ service, tenantId, random, kill })));
      service = await startService({ databaseUrl: store.url });
      for (const { tenantId, what, tamper } of tenants) {
        const ids = await sealedIds(service, db, tenantId);
        events += ids.length;
        for (const { kind } of await verifiedFaults(service, tenantId))
          faults.push(`${tenantId}: ${kind} after the kill`);
        const expected = await tamper({ service, db, tenantId, ids, random });
        const found = (await verifiedFaults(service, tenantId)).map(
          ({ kind, position }) => `${kind}@${position ?? ''}`,
        );
        const agrees = found.toSorted().join() === expected.toSorted().join();
        if (!agrees) faults.push(`${what}: found ${found.join(', ') || 'nothing'} instead of ${expected.join(', ')}`);
      }
    }
  } finally {
    await killService(service);
    await db.destroy();
  }
  return finding({
    promise: `${store.name}: what a kill leaves of the audit verifies, and tampering is named with its place`,
    measured: `${rounds} kills, ${named.length} tenants, ${events} events verified; ${[...new Set(named)].join(', ')}: each named, nothing else`,
    figures: { kills: rounds, tenants: named.length, events },
    faults,
  });
}

/** Runs `work` once, when all of `count` callers have called. @returns the function to call; all callers get the result */
function onceAllAsked<T>(count: number, work: () => Promise<T>): () => Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let asked = 0;
  return () => {
    asked += 1;
    if (asked === count) work().then(resolve, reject);
    return promise;
  };
}

/** Waits until all events of a tenant are sealed. @returns their ids, in the order of the chain */
async function sealedIds(service: Service, db: Database, tenantId: string): Promise<string[]> {
  const connection = new Connection(service.url, ADMIN);
  const path = `/v1/audit-events/verify?tenant_id=${tenantId}`;
  await until(async () => (await connection.ok('GET', path)).unsealed === 0, 'the events to be sealed');
  connection.close();
  const links = db.selectFrom('audit_chain').select('event_id').where('tenant_id', '=', tenantId);
  return (await links.orderBy('position').execute()).map(({ event_id }) => event_id);
}

/** A position that is neither the first nor among the last. */
function somewhere({ ids, random }: Chain): number {
  return between(random, 2, ids.length - 3);
}

/** A query narrowed to the event at a position, from 1 on. */
function eventOf<Q extends { where(column: 'tenant_id' | 'id', operator: '=', value: string): Q }>(
  query: Q,
  { tenantId, ids }: Chain,
  position: number,
): Q {
  return query.where('tenant_id', '=', tenantId).where('id', '=', ids[position - 1] ?? '');
}

async function changeActor(chain: Chain, position: number): Promise<void> {
  await eventOf(chain.db.updateTable('audit_events').set({ actor_id: 'somebody-else' }), chain, position).execute();
}

/** Computes the whole chain again from the events that the API returns now. Every reader can do that. */
async function recompute({ service, db, tenantId, ids }: Chain): Promise<void> {
  const connection = new Connection(service.url, ADMIN);
  const events = new Map<string, Parameters<typeof leafOf>[0]>();
  for (let cursor: string | null = null; ; ) {
    const query: URLSearchParams = new URLSearchParams({
      tenant_id: tenantId,
      limit: '100',
      ...(cursor !== null && { cursor }),
    });
    const page = await connection.ok('GET', `/v1/audit-events?${query.toString()}`);
    for (const item of page.items) events.set(item.id, item);
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  connection.close();
  let hash = emptyChainHash(tenantId);
  // Events are sealed in the order in which the sealer saw them. With several writers that differs from the order of the list.
  for (const [index, id] of ids.entries()) {
    const event = events.get(id);
    if (event === undefined) throw new Error(`the event ${id} is not listed`);
    const leaf = leafOf(event);
    hash = hashOf(hash, leaf);
    const link = db.updateTable('audit_chain').set({ leaf, hash }).where('tenant_id', '=', tenantId);
    await link.where('position', '=', index + 1).execute();
  }
}
