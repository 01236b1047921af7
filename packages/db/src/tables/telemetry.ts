import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Generated } from 'kysely';
import type { NanoTime, Place, Time, Times } from './columns.ts';

/** Stored spans, and what is counted of them. */
export type TelemetryTables = {
  /** What each account sent, by API key and instrumentation scope, and what was refused or dropped of it. */
  account_telemetry: {
    tenant_id: string;
    service_account_id: string;
    /** `*`: the sum of keys that are no longer counted separately. */
    key_id: string;
    /** Why requests or records were refused or dropped. Empty for received records. */
    problem: string;
    /** Empty for a problem. */
    scope: string;
    /** Requests with the problem; 0 for received records. */
    requests: number;
    spans: number;
    log_records: number;
    /** Spans and log records that report the use of models, tools or agents. */
    read_records: number;
    /** What the last answer said about the problem. */
    detail: string | null;
    first_received_at: Time;
    last_received_at: Time;
    /** When a record was last received that reports a use. */
    last_read_at: Time | null;
  };
  /** The channels that the runs of an agent named. */
  agent_channels: Place & {
    agent: string;
    channel: string;
    /** Times of receipt. The last one is stored at most once an hour. */
    first_seen_at: Time;
    last_seen_at: Time;
  };
  /** One row for each trace of a place: the members that lists of traces show and filter by. */
  traces: Place &
    Times & {
      trace_id: string;
      root_name: string | null;
      service_name: string | null;
      start_time: NanoTime;
      end_time: NanoTime;
      span_count: number;
      error_count: number;
      /** From its first start to its last end, in whole milliseconds. */
      duration_ms: Generated<number>;
      /** Names that its spans report, one per line: see trace-rows.ts. */
      services: Generated<string>;
      models: Generated<string>;
      tools: Generated<string>;
      agents: Generated<string>;
      /** The items that its failed calls used, one per line: see trace-rows.ts. */
      failures: Generated<string>;
      /** The index of its first block, if that is small. The format is that of `spans` and `calls` in `trace_blocks`. */
      first_spans: Generated<Buffer | null>;
      first_calls: Generated<Buffer | null>;
    };
  /** Compressed blocks of spans that were stored together. See span-block.ts. On Postgres partitioned by day of receipt. */
  span_blocks: Place & {
    /** A ULID that contains `created_at`. */
    id: string;
    created_at: Time;
    received_from: string;
    /** Spans that still belong to a trace. The block is deleted with the last of them. */
    span_count: number;
    /** The size of the uncompressed body. */
    bytes: number;
    /** The size of the body, and of what the block added to the index of its traces. Counted until the block is deleted. */
    stored_bytes: number;
    body: Buffer;
  };
  /**
   * The index of a trace's spans: one row for each of its blocks, until rows are merged. See span-index.ts. A small index of the
   * first block is in the trace's row instead, so most traces have no row here.
   */
  trace_blocks: Place & {
    trace_id: string;
    /** The block's id, or the name of a merged row: see merged-part.ts. */
    part: string;
    spans: Buffer;
    /** The calls that the spans report: see trace-calls.ts. */
    calls: Buffer | null;
  };
  /**
   * A combination of provider, kind, name, agent and account that usage is added up for. `series_key` is not unique: see
   * migrations/baseline/usage.ts.
   */
  usage_series: Place & {
    id: string;
    /** A digest of the columns below. Usage is added to the series with this key. */
    series_key: string;
    /** '' if the tenant had reached its limit of providers. */
    provider_id: string;
    kind: InventoryItem['kind'];
    name: string;
    name_key: string;
    agent: string;
    account: string;
    created_at: Time;
  };
  usage_rollups: {
    tenant_id: string;
    series_id: string;
    period: 'hour' | 'day';
    /** The start of the hour or day. */
    start_time: Time;
    calls: number;
    errors: number;
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    reasoning_tokens: number;
    /** Microseconds, since whole numbers add up exactly. */
    duration_us: number;
    /** The times of its first and last call, in milliseconds since 1970. */
    first_at: number;
    last_at: number;
  };
  /**
   * Prices that a tenant or the platform set, in millionths of a US dollar for a million tokens. Those of the platform have the
   * tenant ''.
   */
  prices: Place &
    Times & {
      id: string;
      model_pattern: string;
      pattern_key: string;
      /** The first day, YYYY-MM-DD. */
      valid_from: string;
      input_price: number;
      output_price: number;
      cache_read_price: number | null;
      cache_write_price: number | null;
    };
  /** Calls that more than one signal may report. */
  telemetry_calls: Place & {
    /** A digest of what identifies the call. */
    call_key: string;
    /** The signal that reported it first. */
    signal: 'span' | 'log';
    /** Identifies the log record that counted the call. Null if no span can replace the call. */
    record_key: Generated<string | null>;
    /** The call as the log record counted it. Null once a span has replaced it. In the format of `calls` in `trace_blocks`. */
    counted_call: Generated<Buffer | null>;
    /** The account whose signal reported it first, as in `telemetry_call_counts`. */
    sender: Generated<string>;
    first_seen_at: Time;
  };
  /** How many rows each account has in `telemetry_calls`. */
  telemetry_call_counts: {
    tenant_id: string;
    /** A digest of the account's name, because it is in each row. */
    sender: string;
    calls: number;
  };
};
