import { type ApiKey, findApiKey, touchApiKey } from '@quartermaster/db/repositories/api-keys.ts';
import { ApiError } from '../platform/errors.ts';
import type { Services } from '../platform/services.ts';
import { digestsEqual, keyIdIn, parseApiKey } from './api-key-format.ts';
import type { Principal } from './principal.ts';

/** The time of last use is written at most once a minute for each key. */
const TOUCH_EVERY_MS = 60_000;

/** The principal of an API key. @throws 401 for a key that is unknown or ended, or whose account is not active */
export async function principalOfApiKey(
  services: Pick<Services, 'db' | 'log' | 'now'>,
  text: string,
): Promise<Principal> {
  const parsed = parseApiKey(text);
  if (!parsed) throw new WrongKeyError(keyIdIn(text));
  const key = await findApiKey(services.db, parsed.keyId);
  if (!key || !digestsEqual(key.digest, parsed.digest)) throw new WrongKeyError(parsed.keyId);
  const now = services.now();
  const time = now.toISOString();
  if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= time)) throw new EndedKeyError(key);
  if (key.account.status !== 'active') throw new EndedKeyError(key);
  // Not awaited, so that a read does not wait for other writers.
  void touch(services, key, now);
  const { account, scopes } = key;
  return {
    kind: 'service_account',
    id: account.id,
    tenantId: account.tenantId,
    scheme: 'api_key',
    keyId: key.id,
    keyExpiresAt: key.expiresAt,
    session: null,
    platformAdministrator: account.platformAdministrator,
    administratorByClaim: false,
    platformScopes: account.platformAdministrator ? scopes : [],
    grants: [{ tenantId: account.tenantId, subTenantId: account.subTenantId, scopes }],
    termsAccepted: true,
  };
}

const REFUSED_KEY = 'The API key is not valid.';
const REFUSED_KEY_HEADERS = {
  'WWW-Authenticate': 'Bearer error="invalid_token", error_description="the API key is not valid"',
};

/** The same error for every reason that a key can be refused for, so that it reveals nothing about the key. */
export function refusedKey(): ApiError {
  return new ApiError('credentials_invalid', REFUSED_KEY, { headers: REFUSED_KEY_HEADERS });
}

/** A key that is damaged, has a wrong secret, or is unknown. `keyId` is the id in it, which may be that of a key. */
export class WrongKeyError extends ApiError {
  readonly keyId: string | null;

  constructor(keyId: string | null) {
    super('credentials_invalid', REFUSED_KEY, { headers: REFUSED_KEY_HEADERS });
    this.keyId = keyId;
  }
}

/** A key that was valid once. The caller gets the same answer as for any other key, and the owner of the key learns of it. */
export class EndedKeyError extends ApiError {
  readonly owner: { keyId: string; account: ApiKey['account'] };

  constructor({ id, account }: ApiKey) {
    super('credentials_invalid', REFUSED_KEY, { headers: REFUSED_KEY_HEADERS });
    this.owner = { keyId: id, account };
  }
}

/** Writes the time of last use. A failure is only logged. */
async function touch(services: Pick<Services, 'db' | 'log' | 'now'>, key: ApiKey, now: Date): Promise<void> {
  if (key.lastUsedAt !== null && now.getTime() - Date.parse(key.lastUsedAt) < TOUCH_EVERY_MS) return;
  const { lastUsedAt } = key;
  // Set before the write, because the cached key may be used again in the meantime.
  key.lastUsedAt = now.toISOString();
  try {
    await touchApiKey(services.db, key, now);
  } catch (error) {
    key.lastUsedAt = lastUsedAt;
    services.log.warn({ err: error, keyId: key.id }, 'last use of an API key was not written');
  }
}
