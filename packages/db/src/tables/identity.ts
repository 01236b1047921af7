import type { Generated } from 'kysely';
import type { Flag, Json, Place, Time, Times } from './columns.ts';

/** Who may call the service: users, service accounts and their credentials. */
export type IdentityTables = {
  users: Times & {
    id: string;
    email: string | null;
    /** The email with its ASCII letters in lower case; unique. Null for deleted users. */
    email_key: string | null;
    display_name: string | null;
    /** The display name, case-folded, for searches. */
    name_key: string | null;
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
    /**
     * Who made the user a platform administrator: `user:<id>` or `service_account:<tenant>/<id>`. Null if that is not known,
     * and for users who are none.
     */
    administrator_granted_by: Generated<string | null>;
    /** The API key of that call. */
    administrator_granted_by_key: Generated<string | null>;
    administrator_granted_at: Generated<Time | null>;
    /** Until when a sign-in with the verified email may replace the identity of the user. Null: it may not. */
    relink_until: Generated<Time | null>;
    /** Who allowed that: `user:<id>` or `service_account:<tenant>/<id>`. */
    relink_allowed_by: Generated<string | null>;
    /** The API key of that call. */
    relink_allowed_by_key: Generated<string | null>;
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
      /** Who last changed the role of the accepted membership. Null if it has the role of the invitation. */
      role_granted_by: Generated<string | null>;
      /** The API key that was used for it. */
      role_granted_by_key: Generated<string | null>;
      /** Since when an accepted membership grants nothing. Null if it is not suspended. */
      suspended_at: Generated<Time | null>;
      /** Who suspended it. Null if it is not suspended. */
      suspended_by: Generated<'platform' | 'tenant' | null>;
    };
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
      slot: Generated<'current' | 'standby' | 'former' | `header:${string}` | null>;
      /** The request header that carries a provider's secret, and the scheme before the secret. */
      header: Generated<string | null>;
      scheme: Generated<string | null>;
      /** The address that a provider's secret is bound to. Null if its provider had none. */
      bound_url: Generated<string | null>;
      search_text: string;
    };
};
