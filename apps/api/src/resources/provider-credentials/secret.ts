import type { Provider } from '@quartermaster/contracts/providers.ts';
import {
  findSealedSecret,
  listSealedHeaders,
  type SealedSecret,
  touchProviderSecret,
} from '@quartermaster/db/repositories/provider-secrets.ts';
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
 * The opened secrets of a provider, to be sent now and never stored.
 *
 * `boundUrl`: requests outside of it do not carry them.
 */
export type OpenedSecrets = {
  texts: string[];
  headers: Record<string, string>;
  boundUrl: string | null;
  /** Whether the credential is among them. */
  hasCredential: boolean;
};

/**
 * The credential and the secret headers that a provider uses. The credential replaces a secret header of the same name.
 *
 * @throws OutboundFailure if the credential has expired, or if a secret was stored for another address or no key opens it
 */
export async function openSecrets(
  services: Pick<Services, 'db' | 'now' | 'secrets'>,
  provider: Provider,
): Promise<OpenedSecrets> {
  const { db } = services;
  const scope = scopeOf(provider);
  const now = services.now();
  const credential = await findSealedSecret(db, scope, provider.id, now);
  if (credential?.credential.status === 'expired') {
    throw new OutboundFailure('the credential of the provider has expired');
  }
  const opened: OpenedSecrets = { texts: [], headers: {}, boundUrl: null, hasCredential: credential !== undefined };
  for (const secret of [
    ...(await listSealedHeaders(db, scope, provider.id, now)),
    ...(credential ? [credential] : []),
  ]) {
    const { header, scheme, boundUrl } = secret;
    const what = secret === credential ? 'the credential' : `the secret header ${header}`;
    if (boundUrl === null || !isBoundTo(boundUrl, provider.baseUrl)) {
      throw new OutboundFailure(`${what} of the provider was stored for another address`);
    }
    const text = open(services, provider, secret, what);
    opened.texts.push(text);
    opened.headers[header.toLowerCase()] = scheme === null ? text : `${scheme} ${text}`;
    // All of them contain the base URL, so the longest is within the others.
    if (boundUrl.length > (opened.boundUrl?.length ?? 0)) opened.boundUrl = boundUrl;
    const unlessSince = new Date(now.getTime() - TOUCH_MS);
    await touchProviderSecret(db, scope, secret.credential.id, { unlessSince, now });
  }
  return opened;
}

function open(
  { secrets }: Pick<Services, 'secrets'>,
  { tenantId, id: providerId }: Provider,
  { credential: { id }, sealed, header, scheme, boundUrl }: SealedSecret,
  what: string,
): string {
  try {
    return secrets.open(sealed, secretIdentity({ tenantId, providerId, id, boundUrl, header, scheme }));
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    const why = 'its key is not configured, or its record was changed';
    throw new OutboundFailure(`${what} of the provider cannot be opened: ${why}`);
  }
}
