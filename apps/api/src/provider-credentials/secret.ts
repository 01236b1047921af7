import type { Provider } from '@quartermaster/contracts/providers.ts';
import { findSealedSecret, touchProviderSecret } from '@quartermaster/db/repositories/provider-secrets.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { SecretUnreadableError } from '../crypto/secret-box.ts';
import { OutboundFailure } from '../outbound/failure.ts';
import type { Services } from '../services.ts';

/** When a secret was last used is known to this precision, so that using one seldom writes. */
const TOUCH_MS = 60_000;

/** The associated data of a provider's secret: elsewhere, its ciphertext does not open. */
export function secretIdentity(secret: { tenantId: string; providerId: string; id: string }): string {
  return `provider_secret:${secret.tenantId}/${secret.providerId}/${secret.id}`;
}

/** A credential, opened to be sent now, and to be kept nowhere. */
export type OpenedSecret = { text: string; headers: Record<string, string> };

/**
 * The credential in use of a provider; null where it has none.
 *
 * @throws OutboundFailure where it ended, or no key opens it
 */
export async function openSecret(
  { db, now, secrets }: Pick<Services, 'db' | 'now' | 'secrets'>,
  provider: Provider,
): Promise<OpenedSecret | null> {
  const scope = scopeOf(provider);
  const time = now();
  const secret = await findSealedSecret(db, scope, provider.id, time);
  if (!secret) return null;
  const { credential, sealed, header, scheme } = secret;
  if (credential.status === 'expired') throw new OutboundFailure('the credential of the provider has expired');
  const text = opened();
  await touchProviderSecret(db, scope, credential.id, { unlessSince: new Date(time.getTime() - TOUCH_MS), now: time });
  return { text, headers: { [header]: scheme === null ? text : `${scheme} ${text}` } };

  function opened(): string {
    try {
      const { tenantId, id } = provider;
      return secrets.open(sealed, secretIdentity({ tenantId, providerId: id, id: credential.id }));
    } catch (error) {
      if (!(error instanceof SecretUnreadableError)) throw error;
      throw new OutboundFailure('the credential of the provider cannot be opened: its key is not configured');
    }
  }
}
