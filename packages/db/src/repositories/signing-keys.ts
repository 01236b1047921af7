import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { preparedStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';

/** A public key as it is published (RFC 7517). */
export type PublicJwk = { kid: string; kty: string; alg: string; use: string; crv: string; x: string; y: string };

/** A signing key with its sealed private key. */
export type SigningKey = {
  id: string;
  sealedKey: string;
  /** The number of keys before this one. */
  rotationCount: number;
  createdAt: string;
  revokedAt: string | null;
};

export type NewSigningKey = Pick<SigningKey, 'id' | 'sealedKey' | 'rotationCount'> & { publicKey: PublicJwk };

// Signing keys belong to the platform. They have the tenant '', and these functions take no scope.

const COLUMNS = ['id', 'secret', 'rotation_count', 'created_at', 'revoked_at'] as const;

const newestSigningKey = preparedStatement((db) =>
  db
    .selectFrom('credentials')
    .select(COLUMNS)
    .where('tenant_id', '=', '')
    .where('kind', '=', sql.lit('signing_key'))
    .orderBy('rotation_count', 'desc')
    .limit(1),
);

/** The newest key, revoked or not. */
export async function findNewestSigningKey(db: Database): Promise<SigningKey | undefined> {
  const [row] = await newestSigningKey(db, {});
  return row && toSigningKey(row);
}

/** The sealed private key of any signing key, active or not. '' if it was erased. */
export async function findSealedKey(db: Database, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('credentials')
    .select('secret')
    .where('tenant_id', '=', '')
    .where('kind', '=', sql.lit('signing_key'))
    .where('id', '=', id)
    .executeTakeFirst();
  return row && (row.secret ?? '');
}

/** The public keys of tokens that may still be valid, newest first. */
export async function listPublishedKeys(db: Database, now: Date): Promise<PublicJwk[]> {
  const rows = await db
    .selectFrom('credentials')
    .select('public_key')
    .where('tenant_id', '=', '')
    .where('kind', '=', sql.lit('signing_key'))
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now.toISOString())]))
    .orderBy('rotation_count', 'desc')
    .execute();
  return rows.map((row) => toPublicJwk(row.public_key));
}

/** @throws DuplicateKeyError if another process has created the key of this rotation in the meantime */
export async function insertSigningKey(db: Database, key: NewSigningKey, now: Date): Promise<SigningKey> {
  const name = 'gateway sessions';
  const row = await db
    .insertInto('credentials')
    .values({
      tenant_id: '',
      sub_tenant_id: '',
      id: key.id,
      kind: 'signing_key',
      name,
      owner_type: 'platform',
      owner_id: null,
      prefix: null,
      scopes: JSON.stringify([]),
      digest: null,
      secret: key.sealedKey,
      public_key: JSON.stringify(key.publicKey),
      expires_at: null,
      last_used_at: null,
      created_by: null,
      revoked_at: null,
      rotation_count: key.rotationCount,
      search_text: caseFolded([key.id, name].join('\n')),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
  return toSigningKey(row);
}

/** Sets when earlier keys are no longer published. Keys that already have an end keep it. */
export async function retireSigningKeys(db: Database, expiresAt: Date, now: Date): Promise<void> {
  await db
    .updateTable('credentials')
    .set({ expires_at: expiresAt.toISOString(), updated_at: now.toISOString() })
    .where('tenant_id', '=', '')
    .where('kind', '=', sql.lit('signing_key'))
    .where('expires_at', 'is', null)
    .execute();
}

function toSigningKey(row: Pick<Selectable<Tables['credentials']>, (typeof COLUMNS)[number]>): SigningKey {
  if (row.secret === null) throw new Error(`the signing key ${row.id} has no private half`);
  return {
    id: row.id,
    sealedKey: row.secret,
    rotationCount: row.rotation_count,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
  };
}

/** Copies the public members one by one, so that nothing else can be published. */
function toPublicJwk(text: string | null): PublicJwk {
  const { kid, kty, alg, use, crv, x, y } = JSON.parse(text ?? '{}') as PublicJwk;
  return { kid, kty, alg, use, crv, x, y };
}
