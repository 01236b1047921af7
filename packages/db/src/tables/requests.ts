import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { Generated } from 'kysely';
import type { Json, Place, Time } from './columns.ts';

/** What the service keeps of requests: their answers, their limits and their audit trail. */
export type RequestTables = {
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
    /** Whose stored bytes include the answer: a tenant, or users as `usersOfTenant` names them. Null: the tenant of the key. */
    counted_for: Generated<string | null>;
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
    /** The kept values of changed fields, before and after. */
    changes: Json;
    count: number;
    request_id: string;
    /** The request id that the caller sent. */
    caller_request_id: Generated<string | null>;
    /** What a person decided, for an event that records a decision. */
    decision: Generated<AuditEvent['decision']>;
    /** A MAC with a key that is not in the database. Null if something else than this service inserted the event. */
    mac: Generated<string | null>;
  };
  /** Events that are not sealed yet. Each is added in the transaction that inserts the event. */
  audit_unsealed: { tenant_id: string; event_id: string };
  /** The hash chain of each tenant: digests of its events in the order of sealing, from position 1 without gaps. */
  audit_chain: { tenant_id: string; position: number; event_id: string; leaf: string; hash: string };
  /** The signed heads of the chains: the newest one of each chain, and the last one of each earlier day. */
  audit_heads: { tenant_id: string; size: number; hash: string; sealed_at: Time; token: string };
};
