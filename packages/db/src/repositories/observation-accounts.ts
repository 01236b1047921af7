import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import { valueRows } from '../queries.ts';
import type { TenantPlace } from '../tenancy.ts';

// How much of an observation each account reported. Deleting the observation deletes these rows.

/** The calls and errors of an observation that one account reported. */
export type AccountCounts = { occurrences: number; errors: number };

type InTenant = Pick<TenantPlace, 'tenantId'>;
type CountedRow = AccountCounts & { observationId: string };

/** What an account reported of some observations, by their ids. Observations of which it reported nothing are left out. */
export async function findAccountCounts(
  db: Database,
  { tenantId }: InTenant,
  { observationIds, account }: { observationIds: readonly string[]; account: string },
): Promise<Map<string, AccountCounts>> {
  const rows = observationIds.map((observationId) => ({ observationId }));
  const found = await selectCounts(db, rows, { tenantId, account });
  return new Map(found.map(({ observationId, ...counts }) => [observationId, counts]));
}

type OfAccount = { tenantId: string; account: string };

const selectCounts = multiRowStatement(
  (db, rows: readonly { observationId: string }[], { tenantId, account }: OfAccount) =>
    db
      .selectFrom('observation_accounts')
      .select(['observation_id as observationId', 'occurrences', 'errors'])
      .where('tenant_id', '=', tenantId)
      .where(
        'observation_id',
        'in',
        rows.map(({ observationId }) => observationId),
      )
      .where('account', '=', account),
);

/** Adds to what an account reported of observations, or subtracts from it (negative numbers) at most what is stored. */
export async function addToAccountCounts(
  db: Database,
  { tenantId }: InTenant,
  { changes, account }: { changes: readonly CountedRow[]; account: string },
): Promise<void> {
  const rows = changes.map(({ observationId, occurrences, errors }) => ({ observationId, occurrences, errors }));
  await upsertCounts(db, rows, { tenantId, account });
}

const upsertCounts = multiRowStatement((db, rows: readonly CountedRow[], { tenantId, account }: OfAccount) =>
  db
    .insertInto('observation_accounts')
    .values(
      rows.map(({ observationId, occurrences, errors }) => ({
        tenant_id: tenantId,
        observation_id: observationId,
        account,
        occurrences,
        errors,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'observation_id', 'account'])
        .doUpdateSet({ occurrences: added('occurrences'), errors: added('errors') }),
    ),
);

/**
 * Adds what all accounts reported of observations to others, before the former are deleted.
 *
 * @param pairs name each kept observation once
 */
export async function moveAccountCounts(
  db: Database,
  { tenantId }: InTenant,
  pairs: readonly { goneId: string; keptId: string }[],
): Promise<void> {
  await moveCounts(db, pairs, { tenantId });
}

const moveCounts = multiRowStatement(
  (db, rows: readonly { goneId: string; keptId: string }[], { tenantId }: { tenantId: string }) => {
    const values = rows.map(({ goneId, keptId }) => [goneId, keptId]);
    type Replaced = { gone_id: string; kept_id: string };
    return db
      .with('replaced(gone_id, kept_id)', () => valueRows<Replaced>(values))
      .insertInto('observation_accounts')
      .columns(['tenant_id', 'observation_id', 'account', 'occurrences', 'errors'])
      .expression((eb) =>
        eb
          .selectFrom('replaced')
          .innerJoin('observation_accounts as reported', 'reported.observation_id', 'replaced.gone_id')
          .select(['reported.tenant_id', 'replaced.kept_id', 'reported.account'])
          .select(['reported.occurrences', 'reported.errors'])
          .where('reported.tenant_id', '=', tenantId),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['tenant_id', 'observation_id', 'account'])
          .doUpdateSet({ occurrences: added('occurrences'), errors: added('errors') }),
      );
  },
);

function added(column: 'occurrences' | 'errors') {
  return sql<number>`${sql.ref(`observation_accounts.${column}`)} + ${sql.ref(`excluded.${column}`)}`;
}
