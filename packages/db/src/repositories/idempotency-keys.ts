import { type ExpressionBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import type { Tables } from '../tables.ts';
import { inTransaction } from '../transaction.ts';
import { addStoredBytes } from './tenant-usage.ts';

/** Whose key it is. Each principal has keys of its own; users and strangers stand in the tenant ''. */
export type KeyOwner = { tenantId: string; principal: string; keyDigest: string };

/** A request that wants a key: what it asks, and how long it may take. Times are RFC 3339, UTC, milliseconds. */
export type NewClaim = KeyOwner & {
  requestDigest: string;
  /** Random: names this request among those with the same key. */
  claim: string;
  leaseExpiresAt: string;
  expiresAt: string;
};

/** What became of a wish for a key. `other_request`: the key stands for something else that was asked. */
export type Claimed =
  | { outcome: 'claimed' | 'in_flight' | 'other_request' }
  | { outcome: 'answered'; sealedAnswer: string };

/**
 * Takes a key, where it is free: never used, older than it is kept, or left by a request whose lease is over.
 *
 * Of several processes that ask at the same time one gets it.
 */
export function claimKey(db: Database, wanted: NewClaim, now: Date): Promise<Claimed> {
  const time = now.toISOString();
  return inTransaction(db, async (trx) => {
    const row = await trx.selectFrom('idempotency_keys').selectAll().where(owned(wanted)).executeTakeFirst();
    if (row && row.expires_at > time) {
      if (row.request_digest !== wanted.requestDigest) return { outcome: 'other_request' };
      if (row.answer !== null) return { outcome: 'answered', sealedAnswer: row.answer };
      if (row.lease_expires_at > time) return { outcome: 'in_flight' };
    }
    const values = {
      request_digest: wanted.requestDigest,
      claim: wanted.claim,
      lease_expires_at: wanted.leaseExpiresAt,
      answer: null,
      created_at: time,
      expires_at: wanted.expiresAt,
    };
    await trx
      .insertInto('idempotency_keys')
      .values({ ...columnsOf(wanted), ...values })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'principal', 'key_digest']).doUpdateSet(values))
      .execute();
    if (row) await addAnswerBytes(trx, row.tenant_id, -bytesOf(row.answer), now);
    return { outcome: 'claimed' };
  });
}

/**
 * Keeps the answer of the request that has the key in hand, and counts its bytes for the tenant. False where that is
 * another one by now.
 */
export function keepAnswer(
  db: Database,
  held: Pick<NewClaim, 'claim'> & KeyOwner,
  sealedAnswer: string,
  now: Date,
): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('idempotency_keys')
      .set({ answer: sealedAnswer })
      .where(owned(held))
      .where('claim', '=', held.claim)
      .where('answer', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    await addAnswerBytes(trx, held.tenantId, bytesOf(sealedAnswer), now);
    return true;
  });
}

/** Gives a key back that led to no answer; one that has an answer after all stays. */
export async function releaseKey(db: Database, held: Pick<NewClaim, 'claim'> & KeyOwner): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where(owned(held))
    .where('claim', '=', held.claim)
    .where('answer', 'is', null)
    .execute();
}

/** Removes keys that were kept long enough: at most `limit`. Answers how many. */
export function deleteExpiredKeys(db: Database, now: Date, limit: number): Promise<number> {
  return inTransaction(db, async (trx) => {
    const deleted = await trx
      .deleteFrom('idempotency_keys')
      .where(({ eb, refTuple, selectFrom }) =>
        eb(
          refTuple('tenant_id', 'principal', 'key_digest'),
          'in',
          selectFrom('idempotency_keys')
            .select(['tenant_id', 'principal', 'key_digest'])
            .where('expires_at', '<=', now.toISOString())
            .orderBy('expires_at')
            .limit(limit)
            .$asTuple('tenant_id', 'principal', 'key_digest'),
        ),
      )
      .returning(['tenant_id', sql<number>`coalesce(octet_length(answer), 0)`.as('bytes')])
      .execute();
    for (const [tenantId, ofTenant] of Map.groupBy(deleted, ({ tenant_id }) => tenant_id)) {
      const bytes = ofTenant.reduce((sum, row) => sum + row.bytes, 0);
      await addAnswerBytes(trx, tenantId, -bytes, now);
    }
    return deleted.length;
  });
}

/** A kept answer, and whose it is. */
export type SealedAnswer = KeyOwner & { sealed: string };

// Whoever changes the key that answers are sealed with does so for the whole service: no scope narrows that.

/** A batch of all kept answers, in the order of their keys. */
export async function listSealedAnswers(
  db: Database,
  { after, limit }: { after: KeyOwner | null; limit: number },
): Promise<SealedAnswer[]> {
  let query = db
    .selectFrom('idempotency_keys')
    .select(['tenant_id', 'principal', 'key_digest', 'answer'])
    .where('answer', 'is not', null);
  if (after !== null) {
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('tenant_id', 'principal', 'key_digest'),
        '>',
        tuple(after.tenantId, after.principal, after.keyDigest),
      ),
    );
  }
  const rows = await query.orderBy('tenant_id').orderBy('principal').orderBy('key_digest').limit(limit).execute();
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    principal: row.principal,
    keyDigest: row.key_digest,
    sealed: row.answer ?? '',
  }));
}

/** Replaces a kept answer by the same one, sealed anew; null removes what nobody can open any more. */
export async function replaceSealedAnswer(
  db: Database,
  { sealed, ...owner }: SealedAnswer,
  resealed: string | null,
  now: Date,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    const replaced =
      resealed === null
        ? trx.deleteFrom('idempotency_keys').where(owned(owner)).where('answer', '=', sealed).returning('key_digest')
        : trx
            .updateTable('idempotency_keys')
            .set({ answer: resealed })
            .where(owned(owner))
            .where('answer', '=', sealed)
            .returning('key_digest');
    if ((await replaced.execute()).length === 0) return;
    await addAnswerBytes(trx, owner.tenantId, bytesOf(resealed) - bytesOf(sealed), now);
  });
}

/** Answers of users and strangers stand in no tenant: nobody's limit counts them. */
async function addAnswerBytes(db: Database, tenantId: string, bytes: number, now: Date): Promise<void> {
  if (tenantId !== '') await addStoredBytes(db, tenantId, bytes, now);
}

function bytesOf(answer: string | null): number {
  return answer === null ? 0 : Buffer.byteLength(answer);
}

function columnsOf({ tenantId, principal, keyDigest }: KeyOwner) {
  return { tenant_id: tenantId, principal, key_digest: keyDigest };
}

function owned(owner: KeyOwner) {
  return ({ and }: ExpressionBuilder<Tables, 'idempotency_keys'>) => and(columnsOf(owner));
}
