import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { listObservations } from '@quartermaster/db/repositories/runtime-observations.ts';
import { accountWithKey, unique } from '../../support/people.ts';
import type { TestServer } from '../../support/server.ts';
import { type SpanInput, sendSpans } from '../traces/sending.ts';

export type CallsTenant = Awaited<ReturnType<typeof callsTenant>>;

/** A tenant with two accounts that send spans, and functions that read what was counted. */
export async function callsTenant(server: TestServer, subTenantId: string | null = null) {
  const tenantId = unique('calls');
  const account = { tenantId, ...(subTenantId !== null && { subTenantId }) };
  const { db, tenantLimits } = server.services;
  const place = { tenantId, subTenantId };
  const [one, other] = [await accountWithKey(server, account), await accountWithKey(server, account)];
  const limits = { observations: 10_000, tenantLimits, usageSeries: 1000, usageRetentionDays: 400 };

  /** Sends spans as one of the two accounts. */
  function send(spans: readonly SpanInput[], as: 'one' | 'other' = 'one'): Promise<void> {
    return sendSpans(server, { key: (as === 'one' ? one : other).key }, spans);
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

  return {
    tenantId,
    place,
    limits,
    accounts: { one: one.principal, other: other.principal },
    send,
    usage,
    observed,
    observations,
  };
}
