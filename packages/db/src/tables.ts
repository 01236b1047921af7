import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Generated } from 'kysely';

/** Text of JSON, written and read by the repositories. */
type Json = string;
/** RFC 3339, UTC, milliseconds. The fixed width makes it sort as text. */
type Time = string;
/** RFC 3339, UTC, nanoseconds. */
type NanoTime = string;
/** 0 or 1, since SQLite has no booleans. */
export type Flag = 0 | 1;

/** The place of a row. An absent sub-tenant is '', because null would break unique indexes. */
type Place = { tenant_id: string; sub_tenant_id: string };
type Times = { created_at: Time; updated_at: Time };

export type Tables = {
  tenants: Times & {
    id: string;
    display_name: string | null;
    capture_content: Flag;
    span_retention_days: number | null;
    audit_reads: Generated<Flag>;
    record_retention_days: Generated<number | null>;
    usage_retention_days: Generated<number>;
    /** The number of the tenant's observations, for comparison with its limit. */
    observation_count: Generated<number>;
    /** The user who created the tenant by self-service. Each user creates at most one. */
    founder_id: Generated<string | null>;
    /** A keyed digest of the founder's identity. It stays after the founder is erased. */
    founder_digest: Generated<string | null>;
    /** The input of that digest, encrypted, so that it can be computed again with a new key. */
    founder_sealed: Generated<string | null>;
  };
  /** Limits that differ from the defaults. */
  tenant_limits: { tenant_id: string; resource: string; most: number };
  /** Stored bytes of each tenant, and changes that are not added up yet. */
  stored_bytes: { tenant_id: string; bytes: number };
  stored_bytes_changes: { tenant_id: string; id: string; bytes: number };
  /** Stored bytes of the spans of each account. See account-bytes.ts. */
  account_bytes: { tenant_id: string; account: string; bytes: number };
  sub_tenants: { tenant_id: string; id: string; created_at: Time };
  service_accounts: Place &
    Times & {
      id: string;
      name: string;
      display_name: string | null;
      description: string | null;
      status: 'active' | 'disabled' | 'deleted';
      platform_administrator: Flag;
      metadata: Json;
      last_used_at: Time | null;
      /** id, name, display name and description, case-folded. */
      search_text: string;
    };
  /** The top-level members of an account's metadata, for equality searches. */
  service_account_metadata: { tenant_id: string; service_account_id: string; key: string; value_digest: string };
  /** What each account sent, by instrumentation scope. */
  account_telemetry: {
    tenant_id: string;
    service_account_id: string;
    scope: string;
    spans: number;
    log_records: number;
    /** Spans and log records that report the use of models, tools or agents. */
    read_records: number;
    first_received_at: Time;
    last_received_at: Time;
  };
  /** API keys, provider secrets and signing keys. The platform's own have the tenant ''. */
  credentials: Place &
    Times & {
      id: string;
      kind: 'api_key' | 'provider_secret' | 'signing_key';
      name: string | null;
      owner_type: 'service_account' | 'provider' | 'platform';
      owner_id: string | null;
      prefix: string | null;
      scopes: Json;
      /** SHA-256 of an API key, hex. */
      digest: string | null;
      /** A secret, encrypted. */
      secret: string | null;
      /** The public half of a signing key, as a JWK. */
      public_key: Json | null;
      expires_at: Time | null;
      last_used_at: Time | null;
      created_by: string | null;
      /** The API key that created this key. */
      created_by_key: Generated<string | null>;
      revoked_at: Time | null;
      rotation_count: number;
      /** The key that replaced this one. */
      replaced_by: string | null;
      /** For provider secrets: in use, on standby, or kept for a while after a swap. */
      slot: Generated<'current' | 'standby' | 'former' | null>;
      /** The request header that carries a provider's secret, and the scheme before the secret. */
      header: Generated<string | null>;
      scheme: Generated<string | null>;
      /** The address that a provider's secret is bound to. Null if its provider had none. */
      bound_url: Generated<string | null>;
      search_text: string;
    };
  users: Times & {
    id: string;
    email: string | null;
    /** The email with its ASCII letters in lower case; unique. Null for deleted users. */
    email_key: string | null;
    display_name: string | null;
    status: 'pending_terms' | 'pending_identity' | 'active' | 'disabled' | 'deleted';
    platform_administrator: Flag;
    terms: Json;
    terms_accepted: Flag;
    marketing_consent: Json;
    source: string | null;
    locale: string | null;
    time_zone: string | null;
    metadata: Json;
    last_seen_at: Time | null;
    /**
     * The issuer of the development identity provider that the user signed in with; '' if it is not known. It stays after the
     * user is erased, until the keys and sessions that they created are revoked.
     */
    development_issuer: Generated<string | null>;
  };
  identities: { issuer: string; subject: string; user_id: string; created_at: Time };
  /** Browsers that are signed in to the web console. */
  console_sessions: {
    id: string;
    user_id: string;
    /** SHA-256 of the cookie's token, hex. */
    token_digest: string;
    issuer: string;
    /** Whether a claim of the identity provider made the user a platform administrator. */
    platform_administrator: Flag;
    /** The name and value of that claim, as the service was configured at the sign-in. */
    administrator_claim: Generated<string | null>;
    user_agent: string;
    /** The ID token, encrypted. Null where the identity provider has no sign-out. */
    id_token: string | null;
    created_at: Time;
    last_used_at: Time;
    expires_at: Time;
  };
  memberships: Place &
    Times & {
      user_id: string;
      email: string;
      role: 'owner' | 'admin' | 'operator' | 'viewer';
      /** Null until the user accepts. A pending membership grants and shows nothing. */
      accepted_at: Generated<Time | null>;
      /** The inviter: `user:<id>` or `service_account:<tenant>/<id>`. Null if there is none, or it is not known. */
      invited_by: Generated<string | null>;
      /** The API key that created the invitation. */
      invited_by_key: Generated<string | null>;
      /** When an invitation expires. Null after it was accepted. */
      expires_at: Generated<Time | null>;
    };
  providers: Place &
    Times & {
      id: string;
      name: string;
      /** The name, case-folded. */
      name_key: string;
      /** The name as frameworks rewrite it: see rewrittenName. */
      name_family: string;
      /** Other names, as users wrote them. */
      aliases: Generated<Json>;
      display_name: string | null;
      description: string | null;
      kind: Provider['kind'];
      base_url: string | null;
      /** The host of the base URL, in lower case, without the port. */
      host: string | null;
      status: Provider['status'];
      health: Provider['health'];
      inventory_synced_at: Time | null;
      /** Null: synced on demand only. */
      sync_interval_seconds: Generated<number | null>;
      next_sync_at: Generated<Time | null>;
      metadata: Json;
      /** The account whose traffic the provider was discovered in; '' for declared providers. */
      discovered_by: Generated<string>;
    };
  /** The aliases of providers that are not deleted. */
  provider_aliases: Place & {
    /** Case-folded. */
    alias_key: string;
    alias_family: string;
    provider_id: string;
  };
  inventory_items: Place &
    Times & {
      id: string;
      provider_id: string;
      kind: InventoryItem['kind'];
      name: string;
      /** The key that all variants of the name share; unique for its kind at the provider. See nameKey. */
      name_key: string;
      /** All names that one declaration may cover have the same family: see nameFamily. */
      name_family: string;
      title: string | null;
      description: string | null;
      status: InventoryItem['status'];
      source: InventoryItem['source'];
      schema_digest: string | null;
      attributes: Json;
      /** The changed definition that the last sync found, until a person accepts it. */
      drift: Generated<Json | null>;
      first_seen_at: Time;
      last_seen_at: Time;
    };
  runtime_observations: Place &
    Times & {
      id: string;
      provider_id: string;
      kind: InventoryItem['kind'];
      name: string;
      name_key: string;
      name_family: string;
      unknown: Flag;
      status: 'open' | 'approved' | 'rejected' | 'ignored' | 'resolved';
      occurrences: number;
      first_seen_at: Time;
      last_seen_at: Time;
      /** '' if no span reported it. */
      last_trace_id: string;
      last_span_id: string;
      /** Without its environments, which have a column that is searched. */
      evidence: Json;
      environments: Generated<Json>;
      risk: Json;
      inventory_item_id: string | null;
      review: Json | null;
      drift: Generated<Json | null>;
      /** The account that reported it first; '' if no account did. */
      first_account: Generated<string>;
    };
  /** The number of observations that an account reported first, or that are in a sub-tenant ('' for none). */
  observation_shares: {
    tenant_id: string;
    holder_type: 'account' | 'sub_tenant';
    holder_id: string;
    observations: number;
  };
  recommendations: Place &
    Times & {
      id: string;
      provider_id: string;
      kind: 'register_item' | 'retire_item' | 'block_item' | 'adopt_provider' | 'accept_drift' | 'rotate_credential';
      status: 'open' | 'applied' | 'dismissed' | 'superseded';
      /** The subject, such as `model:gpt-5`. There is at most one open recommendation for each provider, kind and subject. */
      subject: string;
      reason: string;
      change: Json;
      applied_by: string | null;
      applied_at: Time | null;
      dismissal: Generated<Json | null>;
      /** The former state of the observations behind an applied recommendation. */
      former: Generated<Json | null>;
      /** When it was last undone. After that, it is only applied if a request names it. */
      undone_at: Generated<Time | null>;
      /** For an applied `adopt_provider`: the ids of the items that the provider had before. Null for others. */
      items_before: Generated<Json | null>;
      /** Whether `apply` without ids may apply it: it grants nothing new, or it is based on an approved observation. */
      is_applicable: Generated<Flag>;
    };
  /** The first known use of a provider by an account. */
  provider_uses: { tenant_id: string; provider_id: string; account: string; first_used_at: Time };
  recommendation_observations: { tenant_id: string; recommendation_id: string; observation_id: string };
  gateways: Place &
    Times & {
      id: string;
      name: string;
      name_key: string;
      display_name: string | null;
      url: string | null;
      status: 'active' | 'disabled' | 'deleted';
      manifest_id: string | null;
      session_ttl_seconds: number;
    };
  gateway_providers: { tenant_id: string; gateway_id: string; provider_id: string; position: number };
  gateway_sessions: Place &
    Times & {
      id: string;
      gateway_id: string;
      subject: string;
      actor: string | null;
      /** The principal that opened it: `user:<id>` or `service_account:<tenant>/<id>`. */
      opened_by: string;
      /** The API key that opened it, which may be of another tenant. */
      opened_by_key: Generated<string | null>;
      issued_at: Time;
      expires_at: Time;
      revoked_at: Time | null;
      revoked_reason: Generated<string | null>;
      gateway_url: string | null;
      /** `sha256:` and the SHA-256, in hex, of the RFC 8785 form of the session's grants. */
      grants_digest: Generated<string>;
      /** The number of items that the session grants. */
      item_count: Generated<number>;
      metadata: Json;
    };
  /** Sets of items of one provider that sessions grant. Each set is stored once. */
  gateway_grants: {
    tenant_id: string;
    provider_id: string;
    /** SHA-256 of `items`, base64url. */
    digest: string;
    items: Json;
    item_count: number;
    created_at: Time;
  };
  /** Finds the sets that contain an item, by a digest of its kind and name. */
  gateway_grant_items: { tenant_id: string; provider_id: string; item_key: string; digest: string };
  /** The sets that a session grants, in the order of its gateway's providers. */
  gateway_session_grants: {
    tenant_id: string;
    session_id: string;
    position: number;
    provider_id: string;
    /** The name when the session was opened. */
    provider_name: string;
    digest: string;
  };
  manifests: Place &
    Times & {
      id: string;
      name: string;
      kind: 'agent' | 'gateway' | 'channel';
      version: number;
      status: 'active' | 'superseded' | 'deleted';
      digest: string;
      spec: Json;
      created_by: string;
    };
  /** The declarations of active manifests. */
  manifest_declarations: Place & {
    manifest_id: string;
    /** A provider's name, case-folded, or its id. */
    provider_key: string;
    kind: InventoryItem['kind'];
    name: string;
    name_key: string;
    name_family: string;
  };
  operator_tasks: Place &
    Times & {
      id: string;
      kind: OperatorTask['kind'];
      status: 'open' | 'claimed' | 'running' | 'succeeded' | 'failed' | 'cancelled';
      title: string;
      subject_type: OperatorTask['subject']['type'];
      subject_id: string;
      assignee: string | null;
      priority: 'low' | 'normal' | 'high';
      due_at: Time | null;
      attempts: number;
      last_error: string | null;
      /** The end of the lease of a claim or a run. */
      lease_expires_at: Generated<Time | null>;
      progress: Generated<Json | null>;
      outcome: Generated<OperatorTask['outcome']>;
      note: Generated<string | null>;
      completed_at: Time | null;
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
      /** The bytes of its share of its blocks, and of its index. */
      stored_bytes: Generated<number>;
      /** The account that sent its first spans. '' if they were stored before accounts were counted. */
      account: Generated<string>;
      /** From its first start to its last end, in whole milliseconds. */
      duration_ms: Generated<number>;
      /** Names that its spans report, one per line: see trace-rows.ts. */
      services: Generated<string>;
      models: Generated<string>;
      tools: Generated<string>;
      agents: Generated<string>;
      /** The index of its first block, if that is small. The format is that of `spans` and `calls` in `trace_blocks`. */
      first_spans: Generated<Buffer | null>;
      first_calls: Generated<Buffer | null>;
    };
  /** The part of a trace's stored bytes that other accounts than its first one added. */
  trace_accounts: Place & { trace_id: string; account: string; bytes: number };
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
    body: Buffer;
  };
  /**
   * The index of a trace's spans: one row for each of its blocks, until rows are merged. See span-index.ts. A small index of the
   * first block is in the trace's row instead. Most traces have no other.
   */
  trace_blocks: Place & {
    trace_id: string;
    /** The block's id, or the name of a merged row: see merged-part.ts. */
    part: string;
    spans: Buffer;
    /** The calls that the spans report: see trace-calls.ts. */
    calls: Buffer | null;
  };
  /** A combination of provider, kind, name, agent and account that usage is added up for. Not unique: see 0023-usage. */
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
    /** Microseconds, since whole numbers add up exactly. */
    duration_us: number;
  };
  /** Calls that more than one signal may report. */
  telemetry_calls: Place & {
    /** A digest of what identifies the call. */
    call_key: string;
    /** The signal that reported it first. */
    signal: 'span' | 'log';
    first_seen_at: Time;
  };
  /** Requests with an Idempotency-Key. Those of users and of anonymous callers have the tenant ''. */
  idempotency_keys: {
    tenant_id: string;
    principal: string;
    /** SHA-256 of the key, hex. */
    key_digest: string;
    /** SHA-256 of the request, hex. */
    request_digest: string;
    /** Identifies the request that holds the key. After its lease has expired, another request may take the key. */
    claim: string;
    lease_expires_at: Time;
    /** The answer, encrypted. Null until there is one. */
    answer: string | null;
    created_at: Time;
    expires_at: Time;
  };
  /** What processes have reserved of the rate limits that they share. */
  rate_limit_windows: {
    tenant_id: string;
    policy: string;
    /** A keyed digest of the caller, so that no IP address is stored. */
    caller: string;
    window_start: Time;
    reserved: number;
  };
  /** Append-only. Events of no tenant have the tenant ''. */
  audit_events: Place & {
    id: string;
    created_at: Time;
    actor_type: 'service_account' | 'user' | 'anonymous' | 'system';
    actor_id: string | null;
    actor_tenant_id: string | null;
    scheme: 'api_key' | 'bearer' | 'session' | null;
    key_id: string | null;
    operation: string;
    target_type: string | null;
    target_id: string | null;
    outcome: 'success' | 'failure' | 'denied';
    reason: string | null;
    changed_fields: Json;
    count: number;
    request_id: string;
    /** The request id that the caller sent. */
    caller_request_id: Generated<string | null>;
    /** What a person decided, for an event that records a decision. */
    decision: Generated<AuditEvent['decision']>;
    /** A MAC made at insertion with a key outside of the database. Null in events of earlier versions. */
    mac: Generated<string | null>;
  };
  /** Events that are not sealed yet. Each is added in the transaction that inserts the event. */
  audit_unsealed: { tenant_id: string; event_id: string };
  /** The hash chain of each tenant: digests of its events in the order of sealing, from position 1 without gaps. */
  audit_chain: { tenant_id: string; position: number; event_id: string; leaf: string; hash: string };
  /** The signed heads of the chains: the newest one of each chain, and the last one of each earlier day. */
  audit_heads: { tenant_id: string; size: number; hash: string; sealed_at: Time; token: string };
};
