import type { Denial } from '@quartermaster/contracts/denials.ts';
import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Recommendation } from '@quartermaster/contracts/recommendations.ts';
import type { Generated } from 'kysely';
import type { Flag, Json, Place, Time, Times } from './columns.ts';

/** What agents may use, what they used, and what is to be done about it. */
export type GovernanceTables = {
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
      health_reason: Generated<string | null>;
      /** Since when the provider is unhealthy. Null while it is healthy or unknown. */
      unhealthy_since: Generated<Time | null>;
      inventory_synced_at: Time | null;
      /** When the last sync stored which items are `listed`. */
      items_listed_at: Generated<Time | null>;
      /** Null: synced on demand only. */
      sync_interval_seconds: Generated<number | null>;
      next_sync_at: Generated<Time | null>;
      new_items: Generated<Provider['newItems']>;
      /** Headers in the clear: names and values. */
      headers: Generated<Json>;
      /** What syncs found out about an MCP server. */
      mcp: Generated<Json | null>;
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
      /**
       * While the item is `listed`: when it became listed. Otherwise: when a sync last found it, or when it was declared if
       * no sync ever found it.
       */
      last_seen_at: Time;
      /** Whether the provider's last sync found it. Then it was last seen at the provider's `items_listed_at`. */
      listed: Generated<Flag>;
      /**
       * The former name, probably: that of an item with the same definition that was no longer listed when a sync found this
       * one.
       */
      renamed_from: Generated<string | null>;
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
      /** Without the environments, which are in the column `environments` for searches. */
      evidence: Json;
      environments: Generated<Json>;
      risk: Json;
      inventory_item_id: string | null;
      review: Json | null;
      drift: Generated<Json | null>;
      /** How often a decision denied it, or would have in the mode `enforce`. */
      denials: Generated<number>;
      last_denied_at: Generated<Time | null>;
      /** The account that reported it first; '' if no account did. */
      first_account: Generated<string>;
    };
  /** The calls and errors of an observation that an account reported. Deleting the observation deletes them. */
  observation_accounts: {
    tenant_id: string;
    observation_id: string;
    account: string;
    occurrences: number;
    errors: number;
  };
  /** What gateways denied an account, or would have denied. Deleting the observation deletes it. */
  observation_denials: {
    tenant_id: string;
    observation_id: string;
    gateway_id: string;
    account: string;
    denials: number;
    reason: Denial;
    last_session_id: string;
    last_denied_at: Time;
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
      kind: Recommendation['kind'];
      status: 'open' | 'applied' | 'dismissed' | 'superseded';
      /** The subject, such as `model:gpt-5`. There is at most one open recommendation for each provider, kind and subject. */
      subject: string;
      reason: string;
      change: Json;
      applied_by: string | null;
      applied_at: Time | null;
      /**
       * Identifies the call that applied it. `apply_order`: its position among all that the call applied. Null if it is not
       * applied.
       */
      apply_id: Generated<string | null>;
      apply_order: Generated<number | null>;
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
  recommendation_observations: { tenant_id: string; recommendation_id: string; observation_id: string };
  /** The first known use of a provider by an account. */
  provider_uses: { tenant_id: string; provider_id: string; account: string; first_used_at: Time };
  manifests: Place &
    Times & {
      id: string;
      name: string;
      kind: 'agent' | 'gateway' | 'channel';
      version: number;
      status: 'active' | 'superseded' | 'deleted';
      digest: string;
      spec: Json;
      /** The names in `channels` of the spec. Without any, the list is empty. */
      channels: Generated<Json>;
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
};
