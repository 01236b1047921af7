import type { Generated } from 'kysely';
import type { Flag, Time, Times } from './columns.ts';

/** Tenants and what they use of their limits. */
export type TenantTables = {
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
    /** The row of a deleted tenant stays, so that its id is never used again. */
    deleted_at: Generated<Time | null>;
    /** When all of its data were erased, except for its audit events. */
    erased_at: Generated<Time | null>;
  };
  /** Limits that differ from the defaults. */
  tenant_limits: { tenant_id: string; resource: string; most: number };
  /** The stored bytes of each tenant that are not bytes of records, such as those of spans and manifests. */
  stored_bytes: { tenant_id: string; bytes: number };
  /** Changes of `stored_bytes` that are not added up yet. */
  stored_bytes_changes: { tenant_id: string; id: string; bytes: number };
  /**
   * Bytes of each tenant's records. Triggers write the table (migrations/baseline/record-bytes.ts), so a move to another database
   * does not copy it. On Postgres each write adds a row, and the rows are added up later.
   */
  record_bytes: { tenant_id: string; id: Generated<number>; bytes: number };
  /** Stored bytes of the spans of each account. See account-bytes.ts. */
  account_bytes: { tenant_id: string; account: string; bytes: number };
  sub_tenants: { tenant_id: string; id: string; created_at: Time };
};
