import type { Tables } from './tables.ts';

/** Tables that triggers fill from other tables, on every database. */
export const DERIVED_TABLES = ['record_bytes'] as const satisfies (keyof Tables)[];

type DerivedTable = (typeof DERIVED_TABLES)[number];

/**
 * Every table that is not derived, with its primary key on SQLite. A table comes after the tables that it refers to. Tables are
 * copied and compared in the order of these keys, which is bytewise and so the same in every dialect.
 */
export const TABLE_KEYS = {
  users: ['id'],
  tenants: ['id'],
  tenant_limits: ['tenant_id', 'resource'],
  stored_bytes: ['tenant_id'],
  stored_bytes_changes: ['tenant_id', 'id'],
  account_bytes: ['tenant_id', 'account'],
  sub_tenants: ['tenant_id', 'id'],
  service_accounts: ['tenant_id', 'id'],
  service_account_metadata: ['tenant_id', 'key', 'value_digest', 'service_account_id'],
  account_telemetry: ['tenant_id', 'service_account_id', 'key_id', 'problem', 'scope'],
  credentials: ['tenant_id', 'id'],
  identities: ['issuer', 'subject'],
  console_sessions: ['id'],
  memberships: ['tenant_id', 'user_id', 'sub_tenant_id'],
  providers: ['tenant_id', 'id'],
  provider_aliases: ['tenant_id', 'sub_tenant_id', 'alias_key'],
  provider_uses: ['tenant_id', 'provider_id', 'account'],
  inventory_items: ['tenant_id', 'id'],
  runtime_observations: ['tenant_id', 'id'],
  observation_accounts: ['tenant_id', 'observation_id', 'account'],
  observation_denials: ['tenant_id', 'observation_id', 'gateway_id', 'account'],
  observation_shares: ['tenant_id', 'holder_type', 'holder_id'],
  recommendations: ['tenant_id', 'id'],
  recommendation_observations: ['tenant_id', 'recommendation_id', 'observation_id'],
  manifests: ['tenant_id', 'id'],
  manifest_declarations: ['tenant_id', 'provider_key', 'kind', 'name', 'manifest_id'],
  gateways: ['tenant_id', 'id'],
  gateway_providers: ['tenant_id', 'gateway_id', 'provider_id'],
  gateway_sessions: ['tenant_id', 'id'],
  gateway_session_decisions: ['tenant_id', 'session_id'],
  decision_counts: ['tenant_id', 'hour', 'gateway_id', 'provider_id', 'account', 'point', 'mode', 'outcome'],
  decision_batches: ['tenant_id', 'id'],
  gateway_grants: ['tenant_id', 'provider_id', 'digest'],
  gateway_grant_items: ['tenant_id', 'provider_id', 'item_key', 'digest'],
  gateway_session_grants: ['tenant_id', 'session_id', 'position'],
  operator_tasks: ['tenant_id', 'id'],
  traces: ['tenant_id', 'sub_tenant_id', 'trace_id'],
  span_blocks: ['tenant_id', 'sub_tenant_id', 'id'],
  trace_blocks: ['tenant_id', 'sub_tenant_id', 'trace_id', 'part'],
  usage_series: ['tenant_id', 'id'],
  usage_rollups: ['tenant_id', 'series_id', 'period', 'start_time'],
  agent_channels: ['tenant_id', 'sub_tenant_id', 'agent', 'channel'],
  prices: ['tenant_id', 'id'],
  telemetry_calls: ['tenant_id', 'sub_tenant_id', 'call_key'],
  telemetry_call_counts: ['tenant_id', 'sender'],
  audit_events: ['tenant_id', 'id'],
  audit_unsealed: ['tenant_id', 'event_id'],
  audit_chain: ['tenant_id', 'position'],
  audit_heads: ['tenant_id', 'size'],
  idempotency_keys: ['tenant_id', 'principal', 'key_digest'],
  rate_limit_windows: ['tenant_id', 'policy', 'caller', 'window_start'],
} as const satisfies { [T in Exclude<keyof Tables, DerivedTable>]: readonly (keyof Tables[T] & string)[] };

export type TableName = keyof typeof TABLE_KEYS;

export const TABLE_NAMES = Object.keys(TABLE_KEYS) as TableName[];
