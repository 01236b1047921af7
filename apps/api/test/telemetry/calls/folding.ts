import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { listObservations } from '@quartermaster/db/repositories/runtime-observations.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { foldCalls, type KnownTrace } from '../../../src/telemetry/calls/fold-calls.ts';
import { spanPreparer } from '../../../src/telemetry/ingest/prepare.ts';
import { decodeJson } from '../../../src/telemetry/otlp/json.ts';
import { accountWithKey, unique } from '../../support/people.ts';
import type { TestServer } from '../../support/server.ts';
import { exportRequest, type SpanInput } from '../traces/sending.ts';

type Kept = { spans: { spanId: string; parentSpanId: string | null; sender: string }[]; calls: KnownTrace['calls'] };

/** A tenant, and what is known of its traces: folds batches of spans as ingest does, without storing the spans. */
export async function foldingTenant(server: TestServer, subTenantId: string | null = null) {
  const tenantId = unique('calls');
  await accountWithKey(server, { tenantId, ...(subTenantId !== null && { subTenantId }) });
  const { db, tenantLimits } = server.services;
  const place = { tenantId, subTenantId };
  const traces = new Map<string, Kept>();
  const limits = { observations: 10_000, tenantLimits, usageSeries: 1000, usageRetentionDays: 400 };

  /** Spans that this sender sent before are left out, as ingest does. */
  async function send(spans: readonly SpanInput[], sender = 'service_account:calls/one'): Promise<void> {
    const { spans: prepared } = decodeJson(exportRequest(spans), spanPreparer({ keepContent: false }));
    const isKnown = ({ traceId, spanId }: { traceId: string; spanId: string }) =>
      traces.get(traceId)?.spans.some((span) => span.spanId === spanId && span.sender === sender) ?? false;
    const fresh = prepared.filter((span) => !isKnown(span));
    const known = new Map(
      [...traces].map(([id, { spans: own, calls }]) => [id, { isComplete: true, spans: () => own, calls }]),
    );
    const batch = prepared.flatMap(({ folded }) => folded ?? []);
    const { calls } = await inTransaction(db, (trx) =>
      foldCalls(trx, place, { batch, fresh, known, sender, limits }, server.services.now()),
    );
    for (const { traceId, spanId, parentSpanId } of fresh) {
      const trace = traces.get(traceId) ?? { spans: [], calls: [] };
      trace.spans.push({ spanId, parentSpanId, sender });
      traces.set(traceId, trace);
    }
    for (const [traceId, value] of calls) {
      const trace = traces.get(traceId);
      if (trace) trace.calls = [...trace.calls, { sender, value }];
    }
  }

  /** Sums by kind, name and agent: `tool echo by service`. */
  async function usage(period: 'hour' | 'day' = 'hour') {
    const rows = await db
      .selectFrom('usage_rollups as sums')
      .innerJoin('usage_series as series', (join) =>
        join.onRef('series.tenant_id', '=', 'sums.tenant_id').onRef('series.id', '=', 'sums.series_id'),
      )
      .leftJoin('providers', (join) =>
        join.onRef('providers.tenant_id', '=', 'series.tenant_id').onRef('providers.id', '=', 'series.provider_id'),
      )
      .select(['series.kind', 'series.name', 'series.agent', 'providers.name as provider'])
      .select(['sums.calls', 'sums.errors', 'sums.input_tokens', 'sums.output_tokens', 'sums.duration_us'])
      .where('sums.tenant_id', '=', tenantId)
      .where('sums.period', '=', period)
      .execute();
    const sums: Record<string, { calls: number; errors: number; tokens: number; durationUs: number }> = {};
    for (const row of rows) {
      const key = `${row.kind} ${row.name} at ${row.provider} by ${row.agent}`;
      const sum = (sums[key] ??= { calls: 0, errors: 0, tokens: 0, durationUs: 0 });
      sum.calls += row.calls;
      sum.errors += row.errors;
      sum.tokens += row.input_tokens + row.output_tokens;
      sum.durationUs += row.duration_us;
    }
    return sums;
  }

  /** Counts by kind, name and provider: `tool echo at everything`. */
  async function observed(): Promise<Record<string, number>> {
    const providers = await db
      .selectFrom('providers')
      .select(['id', 'name'])
      .where('tenant_id', '=', tenantId)
      .execute();
    const nameOf = new Map(providers.map(({ id, name }) => [id, name]));
    const all = await observations();
    return Object.fromEntries(
      all.map(({ kind, name, providerId, occurrences }) => [
        `${kind} ${name} at ${nameOf.get(providerId)}`,
        occurrences,
      ]),
    );
  }

  async function observations(): Promise<RuntimeObservation[]> {
    const { items } = await listObservations(db, [{ tenantId, subTenantId: null }], {}, { limit: 1000, after: null });
    return items;
  }

  return { tenantId, place, limits, send, usage, observed, observations };
}
