import { openDatabase } from '@quartermaster/db/open-database.ts';
import { insertSpanBlocks } from '@quartermaster/db/repositories/span-blocks.ts';
import { updateTenant } from '@quartermaster/db/repositories/tenants.ts';
import { buildSpanBlocks } from '@quartermaster/db/span-block.ts';
import { spanWriter } from '@quartermaster/db/span-document.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { World } from './world.ts';

const SPANS_PER_TRACE = 10;
const TRACES_PER_BATCH = 200;

const TIME = new Date('2025-01-01T00:00:00.000Z');
const TIMES = { startTime: '2025-01-01T00:00:00.000000000Z', endTime: '2025-01-01T00:00:00.041000000Z' };

/** The content of each span. */
const SPAN = {
  ...TIMES,
  parentSpanId: null,
  name: 'chat gpt-5.2',
  kind: 'client' as const,
  durationMs: 41,
  status: { code: 'unset' as const, message: null },
  scope: { name: 'bench', version: null, attributes: {} },
  resource: { 'service.name': 'checkout-assistant' },
  attributes: { 'gen_ai.operation.name': 'chat' },
  events: [],
  links: [],
};

/** Adds traces that are older than their tenant's retention, with ten spans each. */
export async function addOldTraces(file: string, { tenantId }: World, traces: number): Promise<void> {
  const db = await openDatabase(`sqlite:${file}`, '/');
  const place = { tenantId, subTenantId: null };
  try {
    await updateTenant(db, [place], tenantId, { settings: { spanRetentionDays: 30 } }, TIME);
    for (let first = 1; first <= traces; first += TRACES_PER_BATCH) {
      const count = Math.min(TRACES_PER_BATCH, traces - first + 1);
      const ids = Array.from({ length: count }, (_, index) => (first + index).toString(16).padStart(32, '0'));
      const { write, texts } = spanWriter();
      const spans = ids.flatMap((traceId) => spansOf(traceId, write));
      const blocks = await buildSpanBlocks(spans, texts);
      const stored = { sender: `service_account:${tenantId}/bench`, blocks, additions: ids.map(additionOf) };
      const nothingKnown = { known: new Map(), variants: new Set<never>(), calls: new Map() };
      await inTransaction(db, (trx) => insertSpanBlocks(trx, place, { ...stored, ...nothingKnown }, TIME));
    }
  } finally {
    await db.destroy();
  }
}

function spansOf(traceId: string, write: ReturnType<typeof spanWriter>['write']) {
  const written = write(SPAN, { serviceName: 'checkout-assistant', genAi: null });
  return Array.from({ length: SPANS_PER_TRACE }, (_, number) => ({
    ...written,
    traceId,
    spanId: (number + 1).toString(16).padStart(16, '0'),
    parentSpanId: null,
    startTime: TIMES.startTime,
  }));
}

function additionOf(traceId: string) {
  return {
    ...TIMES,
    traceId,
    rootName: 'chat gpt-5.2',
    serviceName: 'checkout-assistant',
    spanCount: SPANS_PER_TRACE,
    errorCount: 0,
    services: ['checkout-assistant'],
    models: [],
    tools: [],
    agents: [],
    failures: [],
  };
}
