import type { Provider } from '@quartermaster/contracts/providers.ts';
import { findSealedSecret, touchProviderSecret } from '@quartermaster/db/repositories/provider-secrets.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { SecretUnreadableError } from '../../platform/secret-box.ts';
import { OutboundFailure } from '../../platform/outbound/failure.ts';
import type { Services } from '../../platform/services.ts';
import { isBoundTo } from '../../platform/outbound/credential-binding.ts';

/** The precision of the time a secret was last used, so that not every use writes it. */
const TOUCH_MS = 60_000;

type SecretRecord = { tenantId: string; providerId: string; id: string };

/** How a secret is sent: to which address, in which header, after which scheme such as `Bearer`. */
type SentAs = { boundUrl: string | null; header: string | null; scheme: string | null };

/**
 * The associated data of a provider's secret. A ciphertext does not open if it was copied to another record, or if the
 * address or header of its record was changed.
 */
export function secretIdentity({ tenantId, providerId, id, boundUrl, header, scheme }: SecretRecord & SentAs): string {
  return `provider_secret:${JSON.stringify([tenantId, providerId, id, boundUrl, header, scheme])}`;
}

/**
 * An opened credential, to be sent now and never stored.
 *
 * `boundUrl`: requests outside of it do not carry the credential.
 */
export type OpenedSecret = { text: string; headers: Record<string, string>; boundUrl: string };

/**
 * The credential that a provider uses; null if it has none.
 *
 * @throws OutboundFailure if it has expired, no key opens it, or it was stored for another address
 */
export async function openSecret(
  { db, now, secrets }: Pick<Services, 'db' | 'now' | 'secrets'>,
  provider: Provider,
): Promise<OpenedSecret | null> {
  const scope = scopeOf(provider);
  const time = now();
  const secret = await findSealedSecret(db, scope, provider.id, time);
  if (!secret) return null;
  const { credential, sealed, header, scheme, boundUrl } = secret;
  if (credential.status === 'expired') throw new OutboundFailure('the credential of the provider has expired');
  if (boundUrl === null || !isBoundTo(boundUrl, provider.baseUrl)) {
    throw new OutboundFailure('the credential of the provider was stored for another address');
  }
  const text = opened();
  await touchProviderSecret(db, scope, credential.id, { unlessSince: new Date(time.getTime() - TOUCH_MS), now: time });
  return { text, headers: { [header]: scheme === null ? text : `${scheme} ${text}` }, boundUrl };

  function opened(): string {
    try {
      const { tenantId, id } = provider;
      const record = { tenantId, providerId: id, id: credential.id };
      return secrets.open(sealed, secretIdentity({ ...record, boundUrl, header, scheme }));
    } catch (error) {
      if (!(error instanceof SecretUnreadableError)) throw error;
      const why = 'its key is not configured, or its record was changed';
      throw new OutboundFailure(`the credential of the provider cannot be opened: ${why}`);
    }
  }
}
