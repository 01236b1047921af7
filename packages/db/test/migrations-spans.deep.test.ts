import type { Span } from '@quartermaster/contracts/traces.ts';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { type Database, migrate, requireSchema } from '../src/database.ts';
import { addStoredBytes, countTenantUsage } from '../src/repositories/tenant-usage.ts';
import { listTraces } from '../src/repositories/traces.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { hasTable } from '../src/applied-migrations.ts';
import { allSpans, type NewSpan, span, store } from './stored-spans.ts';
import { later, NOW, temporaryDatabase } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const EU = { tenantId: 'acme', subTenantId: 'eu' };
const DOCUMENT_BYTES = 1000;

/** The former table, which had one row for each span. */
async function makeFormerTable(db: Database): Promise<void> {
  await db.schema
    .createTable('spans')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sub_tenant_id', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    .addColumn('span_id', 'text', (column) => column.notNull())
    .addColumn('start_time', 'text', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('received_from', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('spans_key', ['tenant_id', 'sub_tenant_id', 'trace_id', 'span_id'])
    .execute();
}

type FormerSpan = NewSpan & { sender: string; seconds: number };

/** Stores the spans of a trace as the previous version did. */
async function storeFormer(db: Database, subTenantId: string, spans: readonly FormerSpan[]): Promise<void> {
  const traceId = spans[0]?.traceId ?? '';
  for (const { traceId: _traceId, spanId, sender, seconds, ...document } of spans) {
    await sql`insert into spans (tenant_id, sub_tenant_id, trace_id, span_id, start_time, document, created_at, received_from)
      values ('acme', ${subTenantId}, ${traceId}, ${spanId}, ${document.startTime}, ${JSON.stringify(document)},
        ${later(seconds).toISOString()}, ${sender})`.execute(db);
  }
  const times = spans.map(({ seconds }) => later(seconds).toISOString()).toSorted();
  await sql`insert into traces (tenant_id, sub_tenant_id, trace_id, root_name, service_name, start_time, end_time, span_count,
      error_count, stored_bytes, duration_ms, created_at, updated_at)
    values ('acme', ${subTenantId}, ${traceId}, null, null, ${spans[0]?.startTime}, ${spans[0]?.endTime}, ${spans.length}, 0,
      ${spans.length * DOCUMENT_BYTES}, 1000, ${times[0]}, ${times.at(-1)})`.execute(db);
  await addStoredBytes(db, 'acme', spans.length * DOCUMENT_BYTES, NOW);
}

function trace(letter: string, count: number, more: Partial<FormerSpan> = {}): FormerSpan[] {
  return Array.from({ length: count }, (_, index) => ({
    ...span((index + 1).toString(16), {
      traceId: letter.repeat(32),
      resource: { 'service.name': 'shop' },
      serviceName: 'shop',
    }),
    sender: 'service_account:acme/bot',
    seconds: index,
    ...more,
  }));
}

/** A span as the previous version returned it. */
function formerAnswer(subTenantId: string | null) {
  return ({ sender, seconds, ...rest }: FormerSpan): Span => ({
    ...rest,
    tenantId: 'acme',
    subTenantId,
    createdAt: later(seconds).toISOString(),
    updatedAt: later(seconds).toISOString(),
    receivedFrom: sender,
    conflicting: false,
  });
}

test('spans of the previous version are returned unchanged, and their table is dropped', async () => {
  const db = await temporaryDatabase(ACME, EU);
  await makeFormerTable(db);
  const genAi = { operation: 'chat', provider: 'openai', model: 'gpt-5', agent: 'bot', tool: null };
  const known = { ...genAi, conversationId: null, inputTokens: 1, outputTokens: 2 };
  const [one, two] = [trace('a', 3), trace('b', 4, { genAi: known, sender: 'user:usr_1' })];
  const mixed = [...trace('c', 2), ...trace('c', 4, { sender: 'user:usr_2' }).slice(2)];
  await storeFormer(db, '', one);
  await storeFormer(db, 'eu', two);
  await storeFormer(db, '', mixed);
  await expect(requireSchema(db)).rejects.toThrow('not moved into blocks');
  await migrate(db);
  await requireSchema(db);
  expect(await hasTable(db, 'spans')).toBe(false);
  expect(await allSpans(db, EVERYWHERE, 'a'.repeat(32))).toEqual(one.map(formerAnswer(null)));
  expect(await allSpans(db, EVERYWHERE, 'b'.repeat(32))).toEqual(two.map(formerAnswer('eu')));
  expect(await allSpans(db, EVERYWHERE, 'c'.repeat(32))).toEqual(mixed.map(formerAnswer(null)));
  const { items } = await listTraces(db, EVERYWHERE, { model: 'gpt-5' }, { limit: 10, after: null });
  expect(items).toMatchObject([{ traceId: 'b'.repeat(32), models: ['gpt-5'], agents: ['bot'], services: ['shop'] }]);
  // A span that is sent again is recognised as a duplicate.
  expect(await store(db, ACME, one)).toEqual([]);
});

test('an interrupted move resumes at the next start; a large trace is moved in parts', async () => {
  const db = await temporaryDatabase(ACME);
  await makeFormerTable(db);
  const [small, large] = [trace('a', 5), trace('b', 4100, { seconds: 10 })];
  await storeFormer(db, '', small);
  await storeFormer(db, '', large);
  // The last span of the large trace is in the third batch.
  const broken = large.at(-1)?.spanId;
  await sql`update spans set document = '{' || document where span_id = ${broken}`.execute(db);
  await expect(migrate(db)).rejects.toThrow(SyntaxError);
  const left = await sql<{ count: number }>`select count(*) as count from spans`.execute(db);
  expect(left.rows).toEqual([{ count: 100 }]);
  await sql`update spans set document = substr(document, 2) where span_id = ${broken}`.execute(db);
  await migrate(db);
  expect(await allSpans(db, EVERYWHERE, 'a'.repeat(32))).toEqual(small.map(formerAnswer(null)));
  expect(await allSpans(db, EVERYWHERE, 'b'.repeat(32), 700)).toEqual(large.map(formerAnswer(null)));
  // The stored bytes are those of the blocks: less than a tenth.
  const used = await countTenantUsage(db, 'acme', { resource: 'storedBytes', most: 0 }, NOW);
  const { items } = await listTraces(db, EVERYWHERE, {}, { limit: 10, after: null });
  expect(items.map(({ spanCount }) => spanCount)).toEqual([4100, 5]);
  const traces = await db
    .selectFrom('traces')
    .select(({ fn }) => fn.sum<number>('stored_bytes').as('bytes'))
    .execute();
  expect(traces).toEqual([{ bytes: used }]);
  expect(used).toBeGreaterThan(4105 * 44);
  expect(used).toBeLessThan(4105 * 100);
});
