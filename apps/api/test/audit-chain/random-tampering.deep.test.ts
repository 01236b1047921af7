import type { Database } from '@quartermaster/db/database.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import {
  eventAt,
  eventsOf,
  expectFaults,
  linksOf,
  recompute,
  removeTail,
  at as rowAt,
  run,
  sealedTenant,
  swapEvents,
  swapLinks,
  tamper,
  TEXT_COLUMNS,
  verified,
} from './tampering.ts';

let server: TestServer;
let tenantId: string;
let key: string;
let kept: string;
let size: number;
beforeAll(async () => {
  server = await startTestServer();
  ({ tenantId, key } = await sealedTenant(server, 10));
  ({ head: kept, size } = await verified(server, key));
});
afterAll(() => server.stop());

/** One change of the rows, and the kinds of faults of which at least one must be reported. */
type Tampering = { what: string; expected: string[]; apply: (db: Database) => Promise<unknown> };

/** Positions are fractions of the chain's length, because the arbitraries are created before the events. */
const at = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const positionOf = (part: number) => Math.floor(part * size) + 1;

const changed = fc.record({ at, column: fc.constantFrom(...TEXT_COLUMNS), value: fc.string({ maxLength: 20 }) }).map(
  ({ at, column, value }): Tampering => ({
    what: `the ${column} at ${at} is now ${JSON.stringify(value)}`,
    expected: ['changed'],
    // Some readers of SQLite end a text at NUL, and no event contains one.
    apply: (db) => updateEvent(db, at, column, `!${value.replaceAll('\0', '')}`),
  }),
);

const counted = fc.record({ at, count: fc.integer({ min: 2, max: 2 ** 31 - 1 }) }).map(
  ({ at, count }): Tampering => ({
    what: `the count at ${at} is now ${count}`,
    expected: ['changed'],
    apply: (db) => updateEvent(db, at, 'count', count),
  }),
);

const moved = fc.record({ at, column: fc.constantFrom('id', 'tenant_id') }).map(
  ({ at, column }): Tampering => ({
    what: `the ${column} at ${at} is another one`,
    expected: ['removed'],
    apply: (db) => updateEvent(db, at, column, 'somewhere-else'),
  }),
);

const removed = fc.record({ at, withLink: fc.boolean() }).map(
  ({ at, withLink }): Tampering => ({
    what: `the event at ${at} is removed ${withLink ? 'with' : 'without'} its link`,
    expected: ['removed', 'tail_removed'],
    async apply(db) {
      const { id } = await eventAt(db, tenantId, positionOf(at));
      await run(db, 'delete from audit_events where tenant_id = ? and id = ?', tenantId, id);
      if (withLink) await run(db, 'delete from audit_chain where tenant_id = ? and event_id = ?', tenantId, id);
    },
  }),
);

const tail = fc.record({ at, withHeads: fc.boolean() }).map(
  ({ at, withHeads }): Tampering => ({
    what: `all from ${at} on is removed ${withHeads ? 'with' : 'without'} the heads`,
    expected: ['tail_removed'],
    async apply(db) {
      await removeTail(db, tenantId, positionOf(at));
      if (withHeads) await run(db, 'delete from audit_heads where tenant_id = ?', tenantId);
    },
  }),
);

/** Counts inserted events, so that each gets a different id. */
let inserts = 0;

const inserted = fc.record({ at, withLink: fc.boolean() }).map(
  ({ at, withLink }): Tampering => ({
    what: `a copy of ${at} is inserted ${withLink ? 'with' : 'without'} a link`,
    expected: withLink ? ['unsigned'] : ['forged'],
    async apply(db) {
      const event = await eventAt(db, tenantId, positionOf(at));
      const id = `aud_${String((inserts += 1)).padStart(26, 'z')}`;
      await db
        .insertInto('audit_events')
        .values({ ...event, id })
        .execute();
      const last = rowAt(await linksOf(db, tenantId), size);
      const link = { ...last, position: size + 1, event_id: id };
      if (withLink) await db.insertInto('audit_chain').values(link).execute();
    },
  }),
);

const swapped = fc
  .record({ at: fc.uniqueArray(fc.integer({ min: 1, max: 10 }), { minLength: 2, maxLength: 2 }), links: fc.boolean() })
  .chain(({ at, links }) => fc.boolean().map((hashes) => ({ at, links, hashes })))
  .map(
    ({ at: [a = 1, b = 2], links, hashes }): Tampering => ({
      what: `the ${links ? 'links' : 'events'} at ${a} and ${b} are swapped`,
      expected: ['swapped'],
      async apply(db) {
        const [events, chain] = [await eventsOf(db, tenantId), await linksOf(db, tenantId)];
        if (links) await swapLinks(db, [rowAt(chain, a), rowAt(chain, b)], hashes);
        else await swapEvents(db, [rowAt(events, a), rowAt(events, b)]);
      },
    }),
  );

const recomputed = fc.record({ at, signed: fc.boolean() }).map(
  ({ at, signed }): Tampering => ({
    what: `the chain is recomputed after a change at ${at}, ${signed ? 'and the head says so' : 'under the same head'}`,
    expected: signed ? ['head_forged'] : ['recomputed'],
    async apply(db) {
      await updateEvent(db, at, 'outcome', 'denied');
      const { hash } = await recompute(db, tenantId);
      if (signed) await run(db, 'update audit_heads set hash = ? where tenant_id = ?', hash, tenantId);
    },
  }),
);

const damagedLink = fc.record({ at, column: fc.constantFrom('leaf', 'hash') }).map(
  ({ at, column }): Tampering => ({
    what: `the ${column} of the link at ${at} is another one`,
    expected: ['link_changed', 'changed', 'recomputed'],
    apply(db) {
      const statement = `update audit_chain set ${column} = ? where tenant_id = ? and position = ?`;
      return run(db, statement, '0123456789abcdef'.repeat(4), tenantId, positionOf(at));
    },
  }),
);

const tampering = fc.oneof(changed, counted, moved, removed, tail, inserted, swapped, recomputed, damagedLink);

test('each change at one position is reported, and a restored chain is intact', async () => {
  await fc.assert(
    fc.asyncProperty(tampering, async ({ expected, apply }) => {
      const { plain, withHead } = await verifiedAfter([apply]);
      expect(withHead.status).toBe('broken');
      const kinds: string[] = withHead.faults.map(({ kind }: Body) => kind);
      expect(kinds.filter((kind) => expected.includes(kind))).not.toEqual([]);
      // A removed end whose heads were removed too is found only with a head that was kept elsewhere.
      if (plain.size === size) expect(plain.status).toBe('broken');
    }),
    { numRuns: scaled({ usual: 60, full: 200 }) },
  );
  expectFaults(await verified(server, key, { head: kept }));
});

test('several changes at once never look like an intact chain', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(tampering, { minLength: 2, maxLength: 5 }), async (all) => {
      const { withHead, same } = await verifiedAfter(all.map(({ apply }) => apply));
      // Two swaps of the same rows cancel each other out.
      expect(withHead.status).toBe(same ? 'intact' : 'broken');
    }),
    { numRuns: scaled({ usual: 50, full: 150 }) },
  );
  expectFaults(await verified(server, key, { head: kept }));
});

/** Applies the changes, verifies with and without the kept head, and restores the rows. */
async function verifiedAfter(all: Tampering['apply'][]): Promise<{ plain: Body; withHead: Body; same: boolean }> {
  const { db } = server.services;
  const before = await contentsOf(db);
  await tamper(server, async (trx) => {
    for (const apply of all) {
      // A change fails if an earlier one has removed its row.
      const [events, links] = [await eventsOf(trx, tenantId), await linksOf(trx, tenantId)];
      if (links.length === size && events.length === size) await apply(trx);
    }
  });
  const same = JSON.stringify(await contentsOf(db)) === JSON.stringify(before);
  try {
    const plain = await verified(server, key);
    return { plain, withHead: await verified(server, key, { head: kept }), same };
  } finally {
    await tamper(server, async (trx) => {
      await restore(trx, before);
    });
  }
}

async function contentsOf(db: Database) {
  return {
    events: await db.selectFrom('audit_events').selectAll().orderBy('tenant_id').orderBy('id').execute(),
    links: await db.selectFrom('audit_chain').selectAll().orderBy('tenant_id').orderBy('position').execute(),
    heads: await db.selectFrom('audit_heads').selectAll().orderBy('tenant_id').orderBy('size').execute(),
  };
}

async function restore(db: Database, { events, links, heads }: Awaited<ReturnType<typeof contentsOf>>): Promise<void> {
  for (const table of ['audit_events', 'audit_chain', 'audit_heads'] as const) await db.deleteFrom(table).execute();
  await db.insertInto('audit_events').values(events).execute();
  await db.insertInto('audit_chain').values(links).execute();
  await db.insertInto('audit_heads').values(heads).execute();
}

async function updateEvent(db: Database, part: number, column: string, value: string | number): Promise<void> {
  const { id } = await eventAt(db, tenantId, positionOf(part));
  await run(db, `update audit_events set ${column} = ? where tenant_id = ? and id = ?`, value, tenantId, id);
}
