import { type ExpressionBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import type { Tables } from '../tables.ts';
import { inTransaction } from '../transaction.ts';
import { addStoredBytes } from './tenant-usage.ts';

/** The owner of a key. Each principal has its own keys. Users and anonymous callers have the tenant ''. */
export type KeyOwner = { tenantId: string; principal: string; keyDigest: string };

/** A request that claims a key, with its lease. Times are RFC 3339, UTC, milliseconds. */
export type NewClaim = KeyOwner & {
  requestDigest: string;
  /** A random value that identifies this request among those with the same key. */
  claim: string;
  leaseExpiresAt: string;
  expiresAt: string;
  /** Whose stored bytes include the answer. '' if it is not counted. */
  countedFor: string;
};

/** The result of a claim. `other_request`: the key was used for a different request. */
export type ClaimResult =
  | { outcome: 'claimed' | 'in_flight' | 'other_request' }
  | { outcome: 'answered'; sealedAnswer: string };

/**
 * Claims a key if it is free: never used, expired, or held by a request whose lease has expired. If several processes claim it at
 * the same time, one of them gets it.
 */
export function claimKey(db: Database, wanted: NewClaim, now: Date): Promise<ClaimResult> {
  const time = now.toISOString();
  return inTransaction(db, async (trx) => {
    const row = await trx.selectFrom('idempotency_keys').selectAll().where(belongsTo(wanted)).executeTakeFirst();
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
      counted_for: wanted.countedFor,
      created_at: time,
      expires_at: wanted.expiresAt,
    };
    await trx
      .insertInto('idempotency_keys')
      .values({ ...columnsOf(wanted), ...values })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'principal', 'key_digest']).doUpdateSet(values))
      .execute();
    if (row) await addAnswerBytes(trx, countedFor(row), -bytesOf(row.answer), now);
    return { outcome: 'claimed' };
  });
}

/**
 * Stores the answer of the request that holds the key, and counts its bytes. Returns false if another request holds the key
 * by now.
 */
export function keepAnswer(
  db: Database,
  held: Pick<NewClaim, 'claim' | 'countedFor'> & KeyOwner,
  sealedAnswer: string,
  now: Date,
): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('idempotency_keys')
      .set({ answer: sealedAnswer })
      .where(belongsTo(held))
      .where('claim', '=', held.claim)
      .where('answer', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    await addAnswerBytes(trx, held.countedFor, bytesOf(sealedAnswer), now);
    return true;
  });
}

/** Releases a key that has no answer. A key with an answer stays. */
export async function releaseKey(db: Database, held: Pick<NewClaim, 'claim'> & KeyOwner): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where(belongsTo(held))
    .where('claim', '=', held.claim)
    .where('answer', 'is', null)
    .execute();
}

/** Removes at most `limit` expired keys. Returns how many. */
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
      .returning(['tenant_id', 'counted_for', sql<number>`coalesce(octet_length(answer), 0)`.as('bytes')])
      .execute();
    for (const [counted, rows] of Map.groupBy(deleted, countedFor)) {
      const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
      await addAnswerBytes(trx, counted, -bytes, now);
    }
    return deleted.length;
  });
}

/** A stored answer and its owner. */
export type SealedAnswer = KeyOwner & { sealed: string };

// The key that seals answers is changed for the whole service, so these functions take no scope.

/** A batch of all stored answers, in the order of their keys. */
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

/** Replaces a stored answer with the same answer, sealed with another key. Null deletes an answer that cannot be opened. */
export async function replaceSealedAnswer(
  db: Database,
  { sealed, ...owner }: SealedAnswer,
  resealed: string | null,
  now: Date,
): Promise<void> {
  await inTransaction(db, async (trx) => {
    const replaced =
      resealed === null
        ? trx
            .deleteFrom('idempotency_keys')
            .where(belongsTo(owner))
            .where('answer', '=', sealed)
            .returning(['tenant_id', 'counted_for'])
        : trx
            .updateTable('idempotency_keys')
            .set({ answer: resealed })
            .where(belongsTo(owner))
            .where('answer', '=', sealed)
            .returning(['tenant_id', 'counted_for']);
    const [row] = await replaced.execute();
    if (row) await addAnswerBytes(trx, countedFor(row), bytesOf(resealed) - bytesOf(sealed), now);
  });
}

/** Answers to anonymous callers are not counted. */
async function addAnswerBytes(db: Database, counted: string, bytes: number, now: Date): Promise<void> {
  if (counted !== '') await addStoredBytes(db, counted, bytes, now);
}

function countedFor(row: { tenant_id: string; counted_for: string | null }): string {
  return row.counted_for ?? row.tenant_id;
}

function bytesOf(answer: string | null): number {
  return answer === null ? 0 : Buffer.byteLength(answer);
}

function columnsOf({ tenantId, principal, keyDigest }: KeyOwner) {
  return { tenant_id: tenantId, principal, key_digest: keyDigest };
}

function belongsTo(owner: KeyOwner) {
  return ({ and }: ExpressionBuilder<Tables, 'idempotency_keys'>) => and(columnsOf(owner));
}
