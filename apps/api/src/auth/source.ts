import type { Database } from '@quartermaster/db/database.ts';
import { findActiveKey } from '@quartermaster/db/repositories/credentials.ts';
import type { CallerContext } from '../http/context.ts';
import { refusedKey } from './api-key.ts';
import { principalName } from './principal.ts';

/** The credential that creates a new key, session or invitation. */
export type Source = {
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  principal: string;
  /** The API key; null for a bearer token. */
  keyId: string | null;
  /** When the API key expires; null: never, or a bearer token. Nothing that it creates may end later. */
  endsAt: string | null;
};

/**
 * Reads the caller's key again, in the transaction that creates something with it. Authentication may have used a cached
 * key, which may have been revoked or rotated in the meantime.
 *
 * @throws 401 for a key that was revoked or has ended, or whose account is not active
 */
export async function requireSource({ principal }: CallerContext, trx: Database, now: Date): Promise<Source> {
  const { keyId, tenantId } = principal;
  const name = principalName(principal);
  if (keyId === null) return { principal: name, keyId: null, endsAt: null };
  const key = await findActiveKey(trx, [{ tenantId, subTenantId: null }], keyId, now);
  if (!key) throw refusedKey();
  return { principal: name, keyId, endsAt: key.expiresAt };
}

/** The earlier of two times of expiry; null means never. */
export function earlierExpiry(a: string, b: string | null): string;
export function earlierExpiry(a: string | null, b: string | null): string | null;
export function earlierExpiry(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
