import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { PutProviderCredentialInput } from '@quartermaster/contracts/provider-credentials.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import {
  eraseFormerSecrets,
  findProviderSecret,
  insertProviderSecret,
  revokeProviderSecret,
  type SecretSlot,
} from '@quartermaster/db/repositories/provider-secrets.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { principalName } from '../access/principal.ts';
import { write } from '../audit-events/write.ts';
import { ApiError, valueError } from '../errors.ts';
import { notFound } from '../providers/service.ts';
import { settleCredential } from '../recommendations/settle.ts';
import type { Services } from '../services.ts';
import type { CallerContext } from '../trpc.ts';
import { bindingOf } from './binding.ts';
import { detachCredentials } from './detach.ts';
import { secretIdentity } from './secret.ts';

/** A secret that was swapped out is kept so long, for the swap to be undone. */
const FORMER_KEPT_MS = 24 * 3600 * 1000;

/** Puts a secret in use, or on standby, in the place of the one that was there. */
export async function putCredential(
  ctx: CallerContext,
  providerId: string,
  body: PutProviderCredentialInput,
): Promise<Credential> {
  return write(ctx, async (trx, record, now) => {
    const provider = await findProvider(trx, ctx.reach, providerId);
    if (!provider) throw notFound();
    const { expiresAt = null, name = null } = body;
    if (expiresAt !== null && expiresAt <= now.toISOString()) {
      throw valueError(['body', 'expiresAt'], 'the credential should end in the future');
    }
    const scope = scopeOf(provider);
    const slot = body.standby ? 'standby' : 'current';
    const current = await findProviderSecret(trx, scope, provider.id, 'current', now);
    const replaced = slot === 'current' ? current : await findProviderSecret(trx, scope, provider.id, slot, now);
    const id = newId('sec', now);
    if (replaced) {
      await revokeProviderSecret(trx, scope, { id: replaced.id, replacedBy: id }, now);
      record({ place: provider, target: { type: 'provider_credential', id: replaced.id }, changed: ['revokedAt'] });
      const task = { kind: 'rotate_credential', subject: { type: 'credential', id: replaced.id } } as const;
      await finishOperatorTask(trx, scope, task, 'succeeded', now);
    }
    const sent = { ...sentAs(body), boundUrl: bindingOf(provider.baseUrl) };
    const identity = secretIdentity({ tenantId: provider.tenantId, providerId: provider.id, id, ...sent });
    const credential = await insertProviderSecret(
      trx,
      provider,
      {
        ...sent,
        ...{ id, providerId: provider.id, slot, name, expiresAt },
        sealed: ctx.services.secrets.seal(body.secret, identity),
        createdBy: principalName(ctx.principal),
        // One on standby follows the one in use, and so does what replaces it.
        rotationCount: current ? current.rotationCount + 1 : 0,
      },
      now,
    );
    await settleCredential(trx, provider, { refused: false }, now);
    record({ place: provider, target: { type: 'provider_credential', id }, changed: Object.keys(body) });
    return credential;
  });
}

/** Revokes the credential of a provider and the one on standby. Answers the final record of the one in use, if any. */
export async function deleteCredential(ctx: CallerContext, providerId: string): Promise<Credential> {
  return write(ctx, async (trx, record, now) => {
    const provider = await findProvider(trx, ctx.reach, providerId);
    if (!provider) throw notFound();
    const [inUse] = await detachCredentials(trx, record, provider, now);
    if (!inUse) throw new ApiError('provider_credential_not_found', 'The provider has no credential.');
    return inUse;
  });
}

/** The credential of a provider in a slot; null where that is empty. @throws 404 for the provider */
export async function findCredential(
  ctx: CallerContext,
  providerId: string,
  slot: SecretSlot,
): Promise<Credential | null> {
  const { db, now } = ctx.services;
  const provider = await findProvider(db, ctx.reach, providerId);
  if (!provider) throw notFound();
  return (await findProviderSecret(db, scopeOf(provider), provider.id, slot, now())) ?? null;
}

/** Erases the secrets that were swapped out long enough ago. */
export function eraseFormer({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  return eraseFormerSecrets(db, new Date(now().getTime() - FORMER_KEPT_MS).toISOString());
}

/** The header, and the word before the secret: those of bearer tokens (RFC 6750), unless something else is said. */
function sentAs({ header, scheme }: PutProviderCredentialInput): { header: string; scheme: string | null } {
  const name = header ?? 'Authorization';
  if (scheme !== undefined) return { header: name, scheme };
  return { header: name, scheme: name.toLowerCase() === 'authorization' ? 'Bearer' : null };
}
