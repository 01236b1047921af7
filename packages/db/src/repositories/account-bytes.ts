import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { preparedStatement } from '../prepared-statement.ts';

/*
 * How many bytes the stored spans of each account take. An account is named like the sender of its spans: `user:<id>` or
 * `service_account:<tenant>/<id>`. Each block of spans has one sender and counts until it is deleted.
 */

type AccountBytes = { tenantId: string; account: string; bytes: number };

const bytesOfAccount = preparedStatement((db, { tenantId, account }: { tenantId: string; account: string }) =>
  db.selectFrom('account_bytes').select('bytes').where('tenant_id', '=', tenantId).where('account', '=', account),
);

/** The stored bytes of an account's spans. */
export async function findAccountBytes(db: Database, tenantId: string, account: string): Promise<number> {
  const [row] = await bytesOfAccount(db, { tenantId, account });
  return row?.bytes ?? 0;
}

/** The accounts of a tenant with the most stored bytes, the largest first. */
export async function listLargestAccounts(
  db: Database,
  tenantId: string,
  limit: number,
): Promise<{ account: string; storedBytes: number }[]> {
  const rows = await db
    .selectFrom('account_bytes')
    .select(['account', 'bytes'])
    .where('tenant_id', '=', tenantId)
    .where('bytes', '>', 0)
    .orderBy('bytes', 'desc')
    .orderBy('account')
    .limit(limit)
    .execute();
  return rows.map(({ account, bytes }) => ({ account, storedBytes: bytes }));
}

/**
 * Adds bytes that an account stored, or subtracts (negative) those of deleted blocks. Call it at the end of a transaction:
 * these rows are its last locks, so that storing and removing spans cannot deadlock.
 */
export const addAccountBytes = preparedStatement((db, row: AccountBytes) =>
  db
    .insertInto('account_bytes')
    .values({ tenant_id: row.tenantId, account: row.account, bytes: row.bytes })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'account'])
        .doUpdateSet({ bytes: sql<number>`account_bytes.bytes + excluded.bytes` }),
    ),
);
