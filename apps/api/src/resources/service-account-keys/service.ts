import type { Credential } from '@quartermaster/contracts/credentials.ts';
import { holdsScopes, type Scope } from '@quartermaster/contracts/scopes.ts';
import type { CreatedKey, CreateKeyInput, RotateKeyInput } from '@quartermaster/contracts/service-account-keys.ts';
import type { ServiceAccount } from '@quartermaster/contracts/service-accounts.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { findKeyOfAccount, insertApiKey } from '@quartermaster/db/repositories/credentials.ts';
import { mintApiKey } from '../../auth/api-key-format.ts';
import { scopeOfQuery, type TenancyQuery } from '../../auth/places.ts';
import { scopesAt } from '../../auth/principal.ts';
import { earlierExpiry, requireSource, type Source } from '../../auth/source.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, valueError } from '../../platform/errors.ts';
import { requireServiceAccount, requireChangeableAccount } from '../service-accounts/service.ts';
import type { CallerContext } from '../../auth/context.ts';
import { endKey } from './end-key.ts';

export async function createKey(
  ctx: CallerContext,
  accountId: string,
  query: TenancyQuery,
  body: CreateKeyInput,
): Promise<CreatedKey> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const account = await requireChangeableAccount(ctx, trx, scopeOfQuery(ctx, query), accountId);
    requireActive(account);
    requireHoldsScopes(ctx, account, body.scopes);
    const source = await requireSource(ctx, trx, now);
    requireFuture(body.expiresAt, now);
    await ctx.services.tenantLimits.addRecord(trx, account.tenantId, { resource: 'apiKeys', content: body });
    const values = {
      name: body.name ?? null,
      scopes: [...new Set(body.scopes)],
      expiresAt: body.expiresAt == null ? source.endsAt : requireWithinSource(source, body.expiresAt),
      rotationCount: 0,
    };
    const created = await insertKey(trx, { account, source }, { id: newId('key', now), ...values }, now);
    record({
      place: account,
      target: { type: 'api_key', id: created.id },
      changed: { fields: Object.keys(body), before: null, after: created },
    });
    return created;
  });
}

export async function rotateKey(
  ctx: CallerContext,
  path: { service_account_id: string; key_id: string },
  query: TenancyQuery,
  body: RotateKeyInput,
): Promise<CreatedKey> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const scope = scopeOfQuery(ctx, query);
    const account = await requireChangeableAccount(ctx, trx, scope, path.service_account_id);
    requireActive(account);
    const old = await findKeyOfAccount(trx, scope, account, path.key_id, now);
    if (!old) throw keyNotFound();
    if (old.status === 'revoked' || old.status === 'expired') {
      throw new ApiError('key_not_active', `The key is ${old.status}.`);
    }
    requireHoldsScopes(ctx, account, old.scopes);
    const source = await requireSource(ctx, trx, now);
    requireFuture(body.expiresAt, now);
    const { tenantLimits } = ctx.services;
    // Without an overlap the new key replaces the old one, so the number of active keys stays the same.
    if (body.overlapSeconds > 0) await tenantLimits.add(trx, account.tenantId, 'apiKeys');
    await tenantLimits.addRotation(trx, account.tenantId, { rotationCount: old.rotationCount, content: old.scopes });
    const expiresAt =
      body.expiresAt === undefined
        ? earlierExpiry(sameLifetime(old, now), source.endsAt)
        : requireWithinSource(source, body.expiresAt);
    const id = newId('key', now);
    const overlapEnd = new Date(now.getTime() + body.overlapSeconds * 1000).toISOString();
    const end =
      body.overlapSeconds === 0
        ? { revokedAt: now.toISOString() }
        : { expiresAt: old.expiresAt !== null && old.expiresAt < overlapEnd ? old.expiresAt : overlapEnd };
    const ended = await endKey({ trx, record, now }, scope, old, { ...end, replacedBy: id });
    if (!ended) throw new ApiError('key_not_active', 'The key was already rotated. Rotate the key that replaced it.');
    const values = { name: old.name, scopes: old.scopes, expiresAt, rotationCount: old.rotationCount + 1 };
    const created = await insertKey(trx, { account, source }, { id, ...values }, now);
    record({
      place: account,
      target: { type: 'api_key', id },
      changed: { fields: ['scopes', 'expiresAt'], before: null, after: created },
    });
    return created;
  });
}

export async function revokeKey(
  ctx: CallerContext,
  path: { service_account_id: string; key_id: string },
  query: TenancyQuery,
): Promise<Credential> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const scope = scopeOfQuery(ctx, query);
    const account = await requireChangeableAccount(ctx, trx, scope, path.service_account_id);
    const key = await findKeyOfAccount(trx, scope, account, path.key_id, now);
    if (!key || key.status === 'revoked') throw keyNotFound();
    const revoked = await endKey({ trx, record, now }, scope, key, { revokedAt: now.toISOString() });
    if (!revoked) throw keyNotFound();
    return revoked;
  });
}

/** The key that a path names, active or not. @throws 404 */
export async function requireKey(
  ctx: CallerContext,
  db: Database,
  path: { service_account_id: string; key_id: string },
  query: TenancyQuery,
): Promise<Credential> {
  const now = ctx.services.now();
  const scope = scopeOfQuery(ctx, query);
  const account = await requireServiceAccount(db, scope, path.service_account_id, now);
  const key = await findKeyOfAccount(db, scope, account, path.key_id, now);
  if (!key) throw keyNotFound();
  return key;
}

type KeyValues = { id: string; name: string | null; scopes: Scope[]; expiresAt: string | null; rotationCount: number };

async function insertKey(
  trx: Database,
  { account, source }: { account: ServiceAccount; source: Source },
  values: KeyValues,
  now: Date,
): Promise<CreatedKey> {
  const { key, prefix, digest } = mintApiKey(values.id);
  const made = { accountId: account.id, createdBy: source.principal, createdByKey: source.keyId };
  const stored = await insertApiKey(trx, account, { ...values, ...made, prefix, digest }, now);
  return { ...stored, key };
}

/** A key never gets a scope that its creator does not hold at the account's place. @throws 403 */
function requireHoldsScopes(ctx: CallerContext, account: ServiceAccount, wanted: readonly Scope[]): void {
  const held = scopesAt(ctx.principal, account);
  if (holdsScopes(held, wanted)) return;
  const beyond = wanted.filter((scope) => !holdsScopes(held, [scope]));
  throw new ApiError('grant_exceeds_own', `You do not hold ${beyond.join(', ')} yourself.`);
}

/** Returns the requested expiry. @throws 403 if it is later than the end of the caller's own key */
function requireWithinSource({ endsAt }: Source, wanted: string | null): string | null {
  if (endsAt === null || (wanted !== null && wanted <= endsAt)) return wanted;
  throw new ApiError('grant_exceeds_own', `Your own API key ends at ${endsAt}. Choose an earlier expiresAt.`);
}

function requireActive(account: ServiceAccount): void {
  if (account.status !== 'active') throw new ApiError('service_account_not_active', 'The account is not active.');
}

function requireFuture(expiresAt: string | null | undefined, now: Date): void {
  if (expiresAt == null || expiresAt > now.toISOString()) return;
  throw valueError(['body', 'expiresAt'], 'expiresAt should be in the future', expiresAt);
}

function sameLifetime(old: Credential, now: Date): string | null {
  if (old.expiresAt === null) return null;
  const lifetime = Date.parse(old.expiresAt) - Date.parse(old.createdAt);
  return new Date(now.getTime() + lifetime).toISOString();
}

function keyNotFound(): ApiError {
  return new ApiError('key_not_found', 'The account has no API key with this id.');
}
