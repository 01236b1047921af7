import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { Selectable, UpdateQueryBuilder, UpdateResult } from 'kysely';
import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { inScope, placeColumns } from '../queries.ts';
import type { Tables } from '../tables.ts';
import { scopeOf, type TenantPlace, type TenantScope } from '../tenancy.ts';
import { toCredential } from './credentials.ts';

/** `header:x-name`: sent in this header, in addition to the current secret. The name is in lower case. */
export type SecretSlot = 'current' | 'standby' | HeaderSlot;
type HeaderSlot = `header:${string}`;

const IS_HEADER = sql<SqlBool>`slot like 'header:%'`;

/** A provider's sealed secret, and how it is sent. `boundUrl` is the only address that it may be sent to. */
export type SealedSecret = {
  credential: Credential;
  sealed: string;
  header: string;
  scheme: string | null;
  boundUrl: string | null;
};

export type NewProviderSecret = {
  id: string;
  providerId: string;
  slot: SecretSlot;
  name: string | null;
  sealed: string;
  header: string;
  scheme: string | null;
  boundUrl: string | null;
  expiresAt: string | null;
  createdBy: string;
  rotationCount: number;
};

/** The active credential in a slot. */
export async function findProviderSecret(
  db: Database,
  scope: TenantScope,
  providerId: string,
  slot: SecretSlot,
  now: Date,
): Promise<Credential | undefined> {
  const row = await selectSecret(db, scope, providerId, slot);
  return row && toCredential(row, now);
}

/** The current credential with its sealed secret, for requests to the provider. */
export async function findSealedSecret(
  db: Database,
  scope: TenantScope,
  providerId: string,
  now: Date,
): Promise<SealedSecret | undefined> {
  const row = await selectSecret(db, scope, providerId, 'current');
  return row && toSealed(row, now)[0];
}

/** The secret headers of a provider with their sealed values, for requests to the provider. */
export async function listSealedHeaders(
  db: Database,
  scope: TenantScope,
  providerId: string,
  now: Date,
): Promise<SealedSecret[]> {
  return (await selectHeaders(db, scope, providerId)).flatMap((row) => toSealed(row, now));
}

/** The slot of a secret header. */
export function headerSlot(name: string): HeaderSlot {
  return `header:${name.toLowerCase()}`;
}

/** The addresses that the stored secrets of a provider are bound to, including those of former secrets. */
export async function listSecretBindings(
  db: Database,
  scope: TenantScope,
  providerId: string,
): Promise<(string | null)[]> {
  const rows = await db
    .selectFrom('credentials')
    .select('bound_url')
    .where('kind', '=', sql.lit('provider_secret'))
    .where('owner_id', '=', providerId)
    .where('secret', 'is not', null)
    .where(inScope(scope))
    .execute();
  return rows.map((row) => row.bound_url);
}

/** @param place the place of the provider. @throws DuplicateKeyError if the slot is taken */
export async function insertProviderSecret(
  db: Database,
  place: TenantPlace,
  secret: NewProviderSecret,
  now: Date,
): Promise<Credential> {
  const row = await db
    .insertInto('credentials')
    .values({
      ...placeColumns(place),
      id: secret.id,
      kind: 'provider_secret',
      name: secret.name,
      owner_type: 'provider',
      owner_id: secret.providerId,
      prefix: null,
      scopes: JSON.stringify([]),
      digest: null,
      secret: secret.sealed,
      public_key: null,
      expires_at: secret.expiresAt,
      last_used_at: null,
      created_by: secret.createdBy,
      revoked_at: null,
      rotation_count: secret.rotationCount,
      replaced_by: null,
      slot: secret.slot,
      header: secret.header,
      scheme: secret.scheme,
      bound_url: secret.boundUrl,
      search_text: caseFolded([secret.id, secret.name].filter(Boolean).join('\n')),
      created_at: now.toISOString(),
      updated_at: now.toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toCredential(row, now);
}

/** Revokes a credential and erases its secret. @returns the final record; undefined if it was already revoked */
export async function revokeProviderSecret(
  db: Database,
  scope: TenantScope,
  { id, replacedBy = null }: { id: string; replacedBy?: string | null },
  now: Date,
): Promise<Credential | undefined> {
  const row = await updateSecrets(db, scope)
    .set({ secret: null, slot: 'former', revoked_at: now.toISOString(), updated_at: now.toISOString() })
    .set({ replaced_by: replacedBy })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row && toCredential(row, now);
}

/**
 * Revokes all credentials of a provider and erases their secrets, including former ones.
 *
 * @param keepsHeaders whether secret headers stay
 * @returns the credentials that were active, the current one first
 */
export async function revokeAllProviderSecrets(
  db: Database,
  scope: TenantScope,
  { providerId, keepsHeaders = false }: { providerId: string; keepsHeaders?: boolean },
  now: Date,
): Promise<Credential[]> {
  const found = [
    await selectSecret(db, scope, providerId, 'current'),
    await selectSecret(db, scope, providerId, 'standby'),
    ...(keepsHeaders ? [] : await selectHeaders(db, scope, providerId)),
  ];
  const revoked: Credential[] = [];
  for (const row of found) {
    const credential = row && (await revokeProviderSecret(db, scope, { id: row.id }, now));
    if (credential) revoked.push(credential);
  }
  await updateSecrets(db, scope)
    .set({ secret: null })
    .where('owner_id', '=', providerId)
    .where('secret', 'is not', null)
    .where('revoked_at', 'is not', null)
    .execute();
  return revoked;
}

/**
 * Makes the standby secret the current one. The former credential is revoked, but keeps its secret for a while, so that the swap
 * can be undone: see {@link undoProviderSecretSwap} and {@link eraseFormerSecrets}.
 *
 * @returns undefined unless there is both a current and a standby secret
 */
export async function swapProviderSecrets(
  db: Database,
  place: TenantPlace,
  providerId: string,
  now: Date,
): Promise<{ current: Credential; former: Credential } | undefined> {
  const scope = scopeOf(place);
  const standby = await selectSecret(db, scope, providerId, 'standby');
  const current = await selectSecret(db, scope, providerId, 'current');
  if (!standby || !current) return undefined;
  const former = await updateSecrets(db, scope)
    .set({ slot: 'former', revoked_at: now.toISOString(), replaced_by: standby.id, updated_at: now.toISOString() })
    .where('id', '=', current.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const next = await updateSecrets(db, scope)
    .set({ slot: 'current', updated_at: now.toISOString() })
    .where('id', '=', standby.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return { current: toCredential(next, now), former: toCredential(former, now) };
}

/**
 * Undoes a swap: the former credential becomes current again, and its successor standby.
 *
 * @returns undefined if that is impossible, because there is a newer secret, or the former secret is erased
 */
export async function undoProviderSecretSwap(
  db: Database,
  place: TenantPlace,
  { currentId, formerId }: { currentId: string; formerId: string },
  now: Date,
): Promise<{ current: Credential; standby: Credential } | undefined> {
  const scope = scopeOf(place);
  const rows = await db
    .selectFrom('credentials')
    .selectAll()
    .where('kind', '=', sql.lit('provider_secret'))
    .where('id', 'in', [currentId, formerId])
    .where(inScope(scope))
    .execute();
  const current = rows.find(
    ({ id, slot, revoked_at }) => id === currentId && slot === 'current' && revoked_at === null,
  );
  const former = rows.find(({ id, replaced_by }) => id === formerId && replaced_by === currentId);
  if (!current || !former || former.secret === null || former.owner_id === null) return undefined;
  if (await selectSecret(db, scope, former.owner_id, 'standby')) return undefined;
  const standby = await updateSecrets(db, scope)
    .set({ slot: 'standby', updated_at: now.toISOString() })
    .where('id', '=', currentId)
    .returningAll()
    .executeTakeFirstOrThrow();
  const restored = await updateSecrets(db, scope)
    .set({ slot: 'current', revoked_at: null, replaced_by: null, updated_at: now.toISOString() })
    .where('id', '=', formerId)
    .returningAll()
    .executeTakeFirstOrThrow();
  return { current: toCredential(restored, now), standby: toCredential(standby, now) };
}

/** Erases former secrets that were swapped out before a time, in all tenants. Returns how many. */
export async function eraseFormerSecrets(db: Database, revokedBefore: string): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('credentials')
    .set({ secret: null })
    .where('kind', '=', sql.lit('provider_secret'))
    .where('revoked_at', '<', revokedBefore)
    .where('secret', 'is not', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Stores when a secret was last used, unless the stored time is after `unlessSince`. */
export async function touchProviderSecret(
  db: Database,
  scope: TenantScope,
  id: string,
  { unlessSince, now }: { unlessSince: Date; now: Date },
): Promise<void> {
  await updateSecrets(db, scope)
    .set({ last_used_at: now.toISOString() })
    .where('id', '=', id)
    .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<=', unlessSince.toISOString())]))
    .execute();
}

function selectSecret(db: Database, scope: TenantScope, providerId: string, slot: SecretSlot) {
  return db
    .selectFrom('credentials')
    .selectAll()
    .where('kind', '=', sql.lit('provider_secret'))
    .where('owner_id', '=', providerId)
    .where('slot', '=', slot)
    .where('revoked_at', 'is', null)
    .where(inScope(scope))
    .executeTakeFirst();
}

function selectHeaders(db: Database, scope: TenantScope, providerId: string) {
  return db
    .selectFrom('credentials')
    .selectAll()
    .where('kind', '=', sql.lit('provider_secret'))
    .where('owner_id', '=', providerId)
    .where('revoked_at', 'is', null)
    .where(IS_HEADER)
    .where(inScope(scope))
    .orderBy('id')
    .execute();
}

/** One sealed secret, or an empty list if the secret was erased. */
function toSealed(row: Selectable<Tables['credentials']>, now: Date): SealedSecret[] {
  const { secret: sealed, header, scheme, bound_url: boundUrl } = row;
  if (sealed === null || header === null) return [];
  return [{ credential: toCredential(row, now), sealed, header, scheme, boundUrl }];
}

function updateSecrets(
  db: Database,
  scope: TenantScope,
): UpdateQueryBuilder<Tables, 'credentials', 'credentials', UpdateResult> {
  return db.updateTable('credentials').where('kind', '=', sql.lit('provider_secret')).where(inScope(scope));
}
