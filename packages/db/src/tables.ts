import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Generated } from 'kysely';

/** Text of JSON, written and read by the repositories. */
type Json = string;
/** RFC 3339, UTC, milliseconds: fixed width, so that it sorts as text. */
type Time = string;
/** RFC 3339, UTC, nanoseconds. */
type NanoTime = string;
/** 0 or 1: booleans are native in Postgres alone. */
export type Flag = 0 | 1;

/** Where a row stands. An absent sub-tenant is '', so that uniqueness holds. */
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
    /** Observations of the tenant: what its limit is compared with. */
    observation_count: Generated<number>;
    /** The user who made it at their first run: each makes one at the most. */
    founder_id: Generated<string | null>;
    /** A keyed digest of the founder's identity; it stays when the founder is erased. */
    founder_digest: Generated<string | null>;
    /** What that digest is made of, encrypted: for a digest with a new key. */
    founder_sealed: Generated<string | null>;
  };
  /** Limits that differ from the defaults. */
  tenant_limits: { tenant_id: string; resource: string; most: number };
  /** Bytes of spans and manifests, and changes that are not added up yet. */
  stored_bytes: { tenant_id: string; bytes: number };
  stored_bytes_changes: { tenant_id: string; id: string; bytes: number };
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
    /** Spans and log records that told of models, tools or agents. */
    read_records: number;
    first_received_at: Time;
    last_received_at: Time;
  };
  /** API keys, provider secrets, signing keys. The platform's own stand in the tenant ''. */
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
      /** The API key that made this key. */
      created_by_key: Generated<string | null>;
      revoked_at: Time | null;
      rotation_count: number;
      /** The key that followed this one. */
      replaced_by: string | null;
      /** Of a provider's secret: in use, waiting to be, or kept for a while after it was. */
      slot: Generated<'current' | 'standby' | 'former' | null>;
      /** The request header that a provider's secret goes in, and the word before it. */
      header: Generated<string | null>;
      scheme: Generated<string | null>;
      /** The address that a provider's secret is bound to; null where its provider had none. */
      bound_url: Generated<string | null>;
      search_text: string;
    };
  users: Times & {
    id: string;
    email: string | null;
    /** The email, its ASCII letters folded; unique. Null once deleted. */
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
     * The development identity provider that let the user in; '' where its address is not known. It stays when the user is
     * erased, until what they made is revoked.
     */
    development_issuer: Generated<string | null>;
  };
  identities: { issuer: string; subject: string; user_id: string; created_at: Time };
  memberships: Place &
    Times & {
      user_id: string;
      email: string;
      role: 'owner' | 'admin' | 'operator' | 'viewer';
      /** Null until the user accepts: such a membership grants and shows nothing. */
      accepted_at: Generated<Time | null>;
      /** Who invited: `user:<id>` or `service_account:<tenant>/<id>`. Null where nobody did, or it is not known. */
      invited_by: Generated<string | null>;
      /** The API key that invited. */
      invited_by_key: Generated<string | null>;
      /** When an invitation expires; null for one that was accepted. */
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
      /** Other names, as they are written. */
      aliases: Generated<Json>;
      display_name: string | null;
      description: string | null;
      kind: Provider['kind'];
      base_url: string | null;
      /** The base URL's host, lower case, without its port. */
      host: string | null;
      status: Provider['status'];
      health: Provider['health'];
      inventory_synced_at: Time | null;
      /** Null: synced on demand alone. */
      sync_interval_seconds: Generated<number | null>;
      next_sync_at: Generated<Time | null>;
      metadata: Json;
      /** The account whose traffic it was discovered in; '' for others. */
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
      /** The name without what its variants differ in; unique for its kind at the provider. */
      name_key: string;
      /** What all names have that one declaration may cover: see nameFamily. */
      name_family: string;
      title: string | null;
      description: string | null;
      status: InventoryItem['status'];
      source: InventoryItem['source'];
      schema_digest: string | null;
      attributes: Json;
      /** What the last sync found it changed to, until somebody accepts that. */
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
      /** '' where no span reported it. */
      last_trace_id: string;
      last_span_id: string;
      evidence: Json;
      risk: Json;
      inventory_item_id: string | null;
      review: Json | null;
      drift: Generated<Json | null>;
      /** The account that reported it first; '' where no account did. */
      first_account: Generated<string>;
    };
  /** How many observations an account reported first, and how many are in a sub-tenant ('' for none). */
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
      /** What it is about, such as `model:gpt-5`: one open recommendation for each provider, kind and subject. */
      subject: string;
      reason: string;
      change: Json;
      applied_by: string | null;
      applied_at: Time | null;
      dismissal: Generated<Json | null>;
      /** What the observations behind an applied one were before. */
      former: Generated<Json | null>;
      /** When it was undone last: what somebody took back is applied by name alone. */
      undone_at: Generated<Time | null>;
      /** The ids of the items that the provider had when one that adopts it was applied; null for others. */
      items_before: Generated<Json | null>;
      /** Whether `apply` without ids may take it: it widens nothing, or an approved observation stands behind it. */
      is_applicable: Generated<Flag>;
    };
  /** Since when an account is known to use a provider. */
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
      /** Who opened it: `user:<id>` or `service_account:<tenant>/<id>`. */
      opened_by: string;
      /** The API key that opened it, which may be of another tenant. */
      opened_by_key: Generated<string | null>;
      issued_at: Time;
      expires_at: Time;
      revoked_at: Time | null;
      revoked_reason: Generated<string | null>;
      gateway_url: string | null;
      /** `sha256:` and the SHA-256, in hex, of the RFC 8785 form of all that the session grants. */
      grants_digest: Generated<string>;
      /** Items that the session grants. */
      item_count: Generated<number>;
      metadata: Json;
    };
  /** Sets of items of a provider that sessions grant, each stored once. */
  gateway_grants: {
    tenant_id: string;
    provider_id: string;
    /** SHA-256 of `items`, base64url. */
    digest: string;
    items: Json;
    item_count: number;
    created_at: Time;
  };
  /** Which sets have an item: by a digest of its kind and name. */
  gateway_grant_items: { tenant_id: string; provider_id: string; item_key: string; digest: string };
  /** Which sets a session grants, in the order of its gateway's providers. */
  gateway_session_grants: {
    tenant_id: string;
    session_id: string;
    position: number;
    provider_id: string;
    /** As it was when the session was opened. */
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
  /** What the active manifests declare. */
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
      /** Until when a claim, or a run, holds. */
      lease_expires_at: Generated<Time | null>;
      progress: Generated<Json | null>;
      outcome: Generated<OperatorTask['outcome']>;
      note: Generated<string | null>;
      completed_at: Time | null;
    };
  /** What a list of traces shows and filters by: one row for each trace of a place. */
  traces: Place &
    Times & {
      trace_id: string;
      root_name: string | null;
      service_name: string | null;
      start_time: NanoTime;
      end_time: NanoTime;
      span_count: number;
      error_count: number;
      /** Its share of its blocks, and its index. */
      stored_bytes: Generated<number>;
      /** From its first start to its last end, in whole milliseconds. */
      duration_ms: Generated<number>;
      /** Names that its spans tell of, each in a line: see trace-rows.ts. */
      services: Generated<string>;
      models: Generated<string>;
      tools: Generated<string>;
      agents: Generated<string>;
      /** The index of its first block, where that is small: as `spans` and `calls` of `trace_blocks`. */
      first_spans: Generated<Buffer | null>;
      first_calls: Generated<Buffer | null>;
    };
  /** Spans that were stored together, compressed. See span-block.ts. On Postgres partitioned by the day of receipt. */
  span_blocks: Place & {
    /** A ULID of `created_at`. */
    id: string;
    created_at: Time;
    received_from: string;
    /** Spans in it that belong to a trace: it is deleted with the last of them. */
    span_count: number;
    /** Of the uncompressed body. */
    bytes: number;
    body: Buffer;
  };
  /**
   * Where the spans of a trace are: a row for each of its blocks, until those are merged. See span-index.ts. The small index of
   * a first block is in the trace's row: most traces have no other.
   */
  trace_blocks: Place & {
    trace_id: string;
    /** The block's id; or `m` and the first span id of the range that a merged index holds. */
    part: string;
    spans: Buffer;
    /** The calls that the spans tell of, see trace-calls.ts. */
    calls: Buffer | null;
  };
  /** One combination of provider, kind, name, agent and account that usage is summed up for. Not unique: see 0023-usage. */
  usage_series: Place & {
    id: string;
    /** A digest of the columns below: sums are added to the series that has it. */
    series_key: string;
    /** '' where the tenant has as many providers as it may. */
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
    /** When the hour or the day begins. */
    start_time: Time;
    calls: number;
    errors: number;
    input_tokens: number;
    output_tokens: number;
    /** Microseconds: whole numbers add up exactly. */
    duration_us: number;
  };
  /** Calls that several signals may tell of. */
  telemetry_calls: Place & {
    /** A digest of what identifies the call. */
    call_key: string;
    /** What told of it first. */
    signal: 'span' | 'log';
    first_seen_at: Time;
  };
  /** Writes that carried an Idempotency-Key. Those of users and strangers stand in the tenant ''. */
  idempotency_keys: {
    tenant_id: string;
    principal: string;
    /** SHA-256 of the key, hex. */
    key_digest: string;
    /** SHA-256 of what was asked, hex. */
    request_digest: string;
    /** Names the request that has the key in hand: one whose lease was over may find that another one took it. */
    claim: string;
    lease_expires_at: Time;
    /** What was answered, encrypted; null while it is not. */
    answer: string | null;
    created_at: Time;
    expires_at: Time;
  };
  /** What processes took of the rate limits that they share. */
  rate_limit_windows: {
    tenant_id: string;
    policy: string;
    /** A keyed digest of who is limited: addresses are nobody's to keep. */
    caller: string;
    window_start: Time;
    reserved: number;
  };
  /** Append-only. What belongs to no tenant stands in the tenant ''. */
  audit_events: Place & {
    id: string;
    created_at: Time;
    actor_type: 'service_account' | 'user' | 'anonymous' | 'system';
    actor_id: string | null;
    actor_tenant_id: string | null;
    scheme: 'api_key' | 'bearer' | null;
    key_id: string | null;
    operation: string;
    target_type: string | null;
    target_id: string | null;
    outcome: 'success' | 'failure' | 'denied';
    reason: string | null;
    changed_fields: Json;
    count: number;
    request_id: string;
    /** The id that the caller gave the request. */
    caller_request_id: Generated<string | null>;
    /** Made at the write with a key that is not in the database; null in events of earlier versions. */
    mac: Generated<string | null>;
  };
  /** Events that are in no chain yet; each stands here from the transaction of its insertion on. */
  audit_unsealed: { tenant_id: string; event_id: string };
  /** For each tenant the digests of its events, in the order of sealing, from position 1 on without gaps. */
  audit_chain: { tenant_id: string; position: number; event_id: string; leaf: string; hash: string };
  /** What was signed of the chains: the newest head of each, and the last one of each day before. */
  audit_heads: { tenant_id: string; size: number; hash: string; sealed_at: Time; token: string };
};
