import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** What a tenant keeps of its founder's identity, so that a founder is recognised after being erased. */
export type FounderMark = { digest: string; sealed: string };

export type StoredFounderMark = { tenantId: string; founderId: string; sealed: string };

/** Whether a user, or an erased user with the same identity, has created a tenant by self-service. */
export async function hasFoundedTenant(db: Database, founder: { userId: string; digest: string }): Promise<boolean> {
  const row = await db
    .selectFrom('tenants')
    .select('id')
    .where(({ or, eb }) => or([eb('founder_id', '=', founder.userId), eb('founder_digest', '=', founder.digest)]))
    .executeTakeFirst();
  return row !== undefined;
}

/** Marks the tenant that a user founded, if there is one. Does nothing if another tenant has this mark. */
export async function markFounder(db: Database, userId: string, { digest, sealed }: FounderMark): Promise<void> {
  await db
    .updateTable('tenants')
    .set({ founder_digest: digest, founder_sealed: sealed })
    .where('founder_id', '=', userId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('tenants as others')
            .select('others.id')
            .where('others.founder_digest', '=', digest)
            .where('others.founder_id', '<>', userId),
        ),
      ),
    )
    .execute();
}

/** At most `limit` founder marks of tenants after the id `after`, in the order of the tenants' ids. */
export async function listFounderMarks(
  db: Database,
  { after, limit }: { after: string; limit: number },
): Promise<StoredFounderMark[]> {
  const rows = await db
    .selectFrom('tenants')
    .select(['id as tenantId', sql<string>`founder_id`.as('founderId'), sql<string>`founder_sealed`.as('sealed')])
    .where('id', '>', after)
    .where('founder_id', 'is not', null)
    .where('founder_sealed', 'is not', null)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows;
}
