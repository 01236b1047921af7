import type { Database } from '@quartermaster/db/database.ts';
import { findKeyInForce } from '@quartermaster/db/repositories/credentials.ts';
import type { CallerContext } from '../trpc.ts';
import { refusedKey } from './api-key.ts';
import { principalName } from './principal.ts';

/** The credential that a new key, session or invitation is made with. */
export type Source = {
  /** `user:<id>` or `service_account:<tenant>/<id>`. */
  principal: string;
  /** The API key; null for a bearer token. */
  keyId: string | null;
  /** When the API key ends: nothing made with it may end later. Null: never, or a bearer token. */
  endsAt: string | null;
};

/**
 * Reads the caller's key again, in the transaction that makes something with it: authentication may use a cached key,
 * and the key may have been revoked or rotated since.
 *
 * @throws 401 for a key that was revoked or has ended, or whose account is not active
 */
export async function requireSource({ principal }: CallerContext, trx: Database, now: Date): Promise<Source> {
  const { keyId, tenantId } = principal;
  const name = principalName(principal);
  if (keyId === null) return { principal: name, keyId: null, endsAt: null };
  const key = await findKeyInForce(trx, [{ tenantId, subTenantId: null }], keyId, now);
  if (!key) throw refusedKey();
  return { principal: name, keyId, endsAt: key.expiresAt };
}

/** The earlier of two ends; null is never. */
export function earlierEnd(a: string, b: string | null): string;
export function earlierEnd(a: string | null, b: string | null): string | null;
export function earlierEnd(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
