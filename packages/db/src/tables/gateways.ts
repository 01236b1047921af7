import type { DecisionPoint } from '@quartermaster/contracts/gateway-decisions.ts';
import type { Gateway } from '@quartermaster/contracts/gateways.ts';
import type { Generated } from 'kysely';
import type { Json, Place, Time, Times } from './columns.ts';

/** Gateways and their sessions. */
export type GatewayTables = {
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
      enforcement: Generated<Gateway['enforcement']>;
      mcp_proxy: Generated<Gateway['mcpProxy']>;
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
      /** The ids of the providers that the session is limited to. Null: all providers of the gateway. */
      provider_ids: Generated<Json | null>;
      metadata: Json;
    };
  /**
   * How many decisions were made in an hour, by gateway, provider, account, point, mode and outcome. The place is that of the
   * gateway.
   */
  decision_counts: Place & {
    hour: Time;
    gateway_id: string;
    /** '' if the gateway lists no such provider. */
    provider_id: string;
    account: string;
    point: DecisionPoint;
    mode: Gateway['enforcement'];
    outcome: 'allowed' | 'denied' | 'would_deny';
    decisions: number;
    last_at: Time;
  };
  gateway_session_decisions: {
    tenant_id: string;
    session_id: string;
    allowed: number;
    /** Includes those that only the mode `enforce` would have denied. */
    denied: number;
    last_at: Time;
  };
  /** Batches of counts that were added, so that none is added twice. Removed after a day. */
  decision_batches: { tenant_id: string; id: string; created_at: Time };
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
};
