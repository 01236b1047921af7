import { inTransaction } from '@quartermaster/db/transaction.ts';
import { aggregateRecordCalls } from '../../../src/telemetry/ingest/aggregate-records.ts';
import type { InterpretedRecord } from '../../../src/telemetry/calls/interpreted-record.ts';
import { unique } from '../../support/people.ts';
import type { TestServer } from '../../support/server.ts';
import type { CallsTenant } from './calls-tenant.ts';
import { factsOf } from './facts.ts';

/** A log record that reports a call of the facts' model, or of their tool. */
export function record(facts: Parameters<typeof factsOf>[0], rest: Partial<InterpretedRecord> = {}): InterpretedRecord {
  const { model = null } = facts;
  return {
    reading: {
      dialect: 'claude-code',
      facts: factsOf(facts),
      uses: model === null ? [] : [{ kind: 'model', name: model }],
    },
    serviceName: 'travel-agent',
    environment: null,
    time: '2026-11-22T10:00:01.000000000Z',
    durationMs: 250,
    failed: false,
    traceId: null,
    spanId: null,
    digest: unique('record'),
    ...rest,
  };
}

/** Aggregates log records as one of the two accounts of a tenant. */
export function aggregateRecords(
  server: TestServer,
  { place, limits, accounts }: CallsTenant,
  { records, as = 'one' }: { records: InterpretedRecord[]; as?: 'one' | 'other' | undefined },
) {
  const sender = accounts[as];
  const { db, now } = server.services;
  return inTransaction(db, (trx) => aggregateRecordCalls(trx, place, { records, sender, limits }, now()));
}
