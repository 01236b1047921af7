import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { placeColumns, toFlag, valueRows } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { Flag } from '../tables/columns.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace } from '../tenancy.ts';
import type { ObservationHolder } from './observation-counts.ts';
import { evidenceColumns, type NewObservation } from './runtime-observations.ts';

// Writes of many observations at once, for aggregation and recomputation.

type Row = Selectable<Tables['runtime_observations']>;

/** Inserts observations with given ids. */
export async function insertObservations(
  db: Database,
  place: TenantPlace,
  observations: readonly (NewObservation & Pick<ObservationHolder, 'firstAccount'> & { id: string })[],
  now: Date,
): Promise<void> {
  const rows = observations.map(({ id, providerId, kind, name, nameKey, firstAccount, drift, ...seen }) => ({
    id,
    providerId,
    kind,
    name,
    nameKey,
    nameFamily: nameFamily(kind, nameKey),
    firstAccount,
    drift: drift && JSON.stringify(drift),
    ...seenColumns(seen),
  }));
  await insertRows(db, rows, { ...placeColumns(place), now: now.toISOString() });
}

type SeenColumns = ReturnType<typeof seenColumns>;
type InsertedRow = SeenColumns &
  Pick<NewObservation, 'providerId' | 'kind' | 'name' | 'nameKey'> & {
    id: string;
    firstAccount: string;
    nameFamily: string;
    drift: string | null;
  };

const insertRows = multiRowStatement(
  (
    db,
    rows: readonly InsertedRow[],
    { tenant_id, sub_tenant_id, now }: ReturnType<typeof placeColumns> & { now: string },
  ) =>
    db.insertInto('runtime_observations').values(
      rows.map((row) => ({
        tenant_id,
        sub_tenant_id,
        id: row.id,
        provider_id: row.providerId,
        kind: row.kind,
        name: row.name,
        name_key: row.nameKey,
        name_family: row.nameFamily,
        unknown: row.unknown,
        status: row.status,
        occurrences: row.occurrences,
        first_seen_at: row.firstSeenAt,
        last_seen_at: row.lastSeenAt,
        last_trace_id: row.lastTraceId,
        last_span_id: row.lastSpanId,
        denials: row.denials,
        last_denied_at: row.lastDeniedAt,
        evidence: row.evidence,
        environments: row.environments,
        risk: row.risk,
        inventory_item_id: row.inventoryItemId,
        review: null,
        drift: row.drift,
        first_account: row.firstAccount,
        created_at: now,
        updated_at: now,
      })),
    ),
);

/** The members of an observation that aggregation updates. */
export type SeenObservation = Pick<
  RuntimeObservation,
  | 'unknown'
  | 'status'
  | 'inventoryItemId'
  | 'occurrences'
  | 'firstSeenAt'
  | 'lastSeenAt'
  | 'lastTraceId'
  | 'lastSpanId'
  | 'denials'
  | 'lastDeniedAt'
  | 'evidence'
  | 'risk'
>;

/** Updates observations of a tenant that were seen again. */
export async function updateSeenObservations(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  observations: readonly (SeenObservation & {
    id: string;
    /** Whether its review no longer applies, and is deleted. */
    isReviewObsolete: boolean;
  })[],
  now: Date,
): Promise<void> {
  const rows = observations.map(({ id, isReviewObsolete, ...seen }) => ({
    id,
    dropReview: toFlag(isReviewObsolete),
    ...seenColumns(seen),
  }));
  await updateSeenRows(db, rows, { tenantId, now: now.toISOString() });
}

const updateSeenRows = multiRowStatement(
  (
    db,
    rows: readonly (SeenColumns & { id: string; dropReview: Flag })[],
    { tenantId, now }: { tenantId: string; now: string },
  ) => {
    const values = rows.map((row) => {
      const times = [row.firstSeenAt, row.lastSeenAt, row.lastTraceId, row.lastSpanId];
      const seen = [row.evidence, row.environments, row.risk, row.lastDeniedAt];
      const texts = [row.id, row.status, row.inventoryItemId, ...times, ...seen];
      const numbers = [row.occurrences, row.denials, row.unknown, row.dropReview].map(
        (number) => sql`cast(${number} as integer)`,
      );
      return [...texts, ...numbers];
    });
    type Unchanged =
      | 'name'
      | 'name_key'
      | 'name_family'
      | 'first_account'
      | 'review'
      | 'drift'
      | 'created_at'
      | 'updated_at';
    type Seen = Omit<Row, Unchanged> & { drop_review: Flag };
    return db
      .with(
        'seen(id, status, inventory_item_id, first_seen_at, last_seen_at, last_trace_id, last_span_id, evidence, environments, risk, last_denied_at, occurrences, denials, unknown, drop_review)',
        () => valueRows<Seen>(values),
      )
      .updateTable('runtime_observations')
      .from('seen')
      .set(({ ref }) => ({
        status: ref('seen.status'),
        inventory_item_id: ref('seen.inventory_item_id'),
        first_seen_at: ref('seen.first_seen_at'),
        last_seen_at: ref('seen.last_seen_at'),
        last_trace_id: ref('seen.last_trace_id'),
        last_span_id: ref('seen.last_span_id'),
        evidence: ref('seen.evidence'),
        environments: ref('seen.environments'),
        risk: ref('seen.risk'),
        occurrences: ref('seen.occurrences'),
        denials: ref('seen.denials'),
        last_denied_at: ref('seen.last_denied_at'),
        unknown: ref('seen.unknown'),
        review: sql<string | null>`case when seen.drop_review = 1 then null else runtime_observations.review end`,
        updated_at: now,
      }))
      .where('runtime_observations.tenant_id', '=', tenantId)
      .whereRef('runtime_observations.id', '=', 'seen.id');
  },
);

function seenColumns(seen: SeenObservation) {
  return {
    unknown: toFlag(seen.unknown),
    status: seen.status,
    inventoryItemId: seen.inventoryItemId,
    occurrences: seen.occurrences,
    firstSeenAt: seen.firstSeenAt,
    lastSeenAt: seen.lastSeenAt,
    lastTraceId: seen.lastTraceId ?? '',
    lastSpanId: seen.lastSpanId ?? '',
    denials: seen.denials,
    lastDeniedAt: seen.lastDeniedAt,
    ...evidenceColumns(seen.evidence),
    risk: JSON.stringify(seen.risk),
  };
}

/** The members of an observation that recomputation updates. */
export type ObservationState = Pick<
  RuntimeObservation,
  'id' | 'unknown' | 'status' | 'inventoryItemId' | 'drift' | 'risk'
> & {
  /** Whether its review no longer applies, and is deleted. */
  isReviewObsolete: boolean;
};

/** Updates recomputed observations of a tenant. */
export async function updateObservationStates(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  states: readonly ObservationState[],
  now: Date,
): Promise<void> {
  const rows = states.map(({ id, unknown, status, inventoryItemId, drift, risk, isReviewObsolete }) => ({
    id,
    status,
    inventoryItemId,
    drift: drift && JSON.stringify(drift),
    risk: JSON.stringify(risk),
    unknown: toFlag(unknown),
    dropReview: toFlag(isReviewObsolete),
  }));
  await updateStateRows(db, rows, { tenantId, now: now.toISOString() });
}

type StateRow = Pick<Row, 'id' | 'status' | 'drift' | 'risk' | 'unknown'> & {
  inventoryItemId: string | null;
  dropReview: Flag;
};

const updateStateRows = multiRowStatement(
  (db, rows: readonly StateRow[], { tenantId, now }: { tenantId: string; now: string }) => {
    const values = rows.map(({ id, status, inventoryItemId, drift, risk, unknown, dropReview }) => {
      const numbers = [unknown, dropReview].map((number) => sql`cast(${number} as integer)`);
      return [id, status, inventoryItemId, drift, risk, ...numbers];
    });
    type State = Pick<Row, 'id' | 'status' | 'inventory_item_id' | 'drift' | 'risk' | 'unknown'> & {
      drop_review: Flag;
    };
    return db
      .with('state(id, status, inventory_item_id, drift, risk, unknown, drop_review)', () => valueRows<State>(values))
      .updateTable('runtime_observations')
      .from('state')
      .set(({ ref }) => ({
        unknown: ref('state.unknown'),
        status: ref('state.status'),
        inventory_item_id: ref('state.inventory_item_id'),
        drift: ref('state.drift'),
        risk: ref('state.risk'),
        review: sql<string | null>`case when state.drop_review = 1 then null else runtime_observations.review end`,
        updated_at: now,
      }))
      .where('runtime_observations.tenant_id', '=', tenantId)
      .whereRef('runtime_observations.id', '=', 'state.id');
  },
);
