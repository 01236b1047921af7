import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { FILLED, type Filled } from './fair-share.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The limits that a closed connection may have exceeded. */
const REFUSAL_REASONS = ['address', 'process', 'pipelining', 'chunks', 'frames'] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** The service's metrics, served in Prometheus' exposition format on a separate port. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = {
    registry,
    requests: new Histogram({
      name: 'quartermaster_http_request_duration_seconds',
      help: 'How long requests took, by operation and status.',
      labelNames: ['operation', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers: [registry],
    }),
    waits: new Counter({
      name: 'quartermaster_request_wait_seconds_total',
      help: 'How long requests waited because their tenant was slowed down, by operation.',
      labelNames: ['operation'],
      registers: [registry],
    }),
    decisions: new Counter({
      name: 'quartermaster_decisions_total',
      help: 'Decisions about what sessions may use, by where they were asked for, the mode of the gateway, the outcome, and why the use was denied or would have been.',
      labelNames: ['point', 'mode', 'outcome', 'reason'],
      registers: [registry],
    }),
    refusedCredentials: new Counter({
      name: 'quartermaster_refused_credentials_total',
      help: 'Requests whose credentials were missing or refused, by reason.',
      labelNames: ['reason'],
      registers: [registry],
    }),
    refusedConnections: new Counter({
      name: 'quartermaster_refused_connections_total',
      help: 'Connections that were closed because their address or the process had reached its limit, or because of too many pipelined requests, small chunks or frames of gRPC, by reason.',
      labelNames: ['reason'],
      registers: [registry],
    }),
    spans: new Counter({
      name: 'quartermaster_spans_total',
      help: 'Spans received, by outcome: stored, duplicate or rejected.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
    unreadRecords: new Counter({
      name: 'quartermaster_unread_records_total',
      help: 'Spans and log records that name no model, tool or agent, by signal.',
      labelNames: ['signal'],
      registers: [registry],
    }),
    logRecords: new Counter({
      name: 'quartermaster_log_records_total',
      help: 'Log records received, by outcome: counted as a call, already known, dropped or rejected.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
    dataPoints: new Counter({
      name: 'quartermaster_metric_data_points_total',
      help: 'Data points of metrics received, by outcome: all are dropped.',
      labelNames: ['outcome'],
      registers: [registry],
    }),
    unobserved: new Counter({
      name: 'quartermaster_unobserved_subjects_total',
      help: 'Calls of models, tools and agents that were not observed, by what was full: the limit of the tenant, or the share of the account or sub-tenant.',
      labelNames: ['full'],
      registers: [registry],
    }),
    auditSealed: new Counter({
      name: 'quartermaster_audit_sealed_total',
      help: 'Audit events that this process sealed.',
      registers: [registry],
    }),
    auditForged: new Counter({
      name: 'quartermaster_audit_forged_total',
      help: 'Audit events that this process refused to seal, because they have no valid MAC.',
      registers: [registry],
    }),
    auditChainsHalted: new Gauge({
      name: 'quartermaster_audit_chains_halted',
      help: 'Tenants whose audit events are no longer sealed, because their chain was changed.',
      registers: [registry],
    }),
    clockOffset: new Gauge({
      name: 'quartermaster_database_clock_offset_seconds',
      help: "How far this process's clock is ahead of the database's. 0 on SQLite.",
      registers: [registry],
    }),
    refusalsDropped: new Counter({
      name: 'quartermaster_audit_refusals_dropped_total',
      help: 'Refusals that are missing from the audit because too many were waiting.',
      registers: [registry],
    }),
    readsDropped: new Counter({
      name: 'quartermaster_audit_reads_dropped_total',
      help: 'Reads that are missing from the audit because too many were waiting.',
      registers: [registry],
    }),
  };
  // Prometheus sees no increase in a series that begins with its first value, so those that alerts watch begin with 0.
  for (const reason of REFUSAL_REASONS) metrics.refusedConnections.inc({ reason }, 0);
  for (const outcome of ['stored', 'duplicate', 'rejected']) metrics.spans.inc({ outcome }, 0);
  for (const full of FILLED) metrics.unobserved.inc({ full }, 0);
  return metrics;
}

/** Adds to the metric of calls that were not observed, by whose limit or share was full. */
export function countUnobserved(
  metrics: Pick<Metrics, 'unobserved'>,
  unobserved: Readonly<Record<Filled, number>>,
): void {
  for (const [full, count] of Object.entries(unobserved)) {
    if (count > 0) metrics.unobserved.inc({ full }, count);
  }
}
