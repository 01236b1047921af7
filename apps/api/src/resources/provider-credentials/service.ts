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
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { principalName } from '../../auth/principal.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { requireProvider } from '../providers/service.ts';
import { ApiError, valueError } from '../../platform/errors.ts';
import { reconcileCredential, rotationTask } from '../../governance/rules/reconcile.ts';
import type { Services } from '../../platform/services.ts';
import type { CallerContext } from '../../auth/context.ts';
import { bindingOf } from '../../platform/outbound/credential-binding.ts';
import { detachCredentials } from '../providers/detach-credentials.ts';
import { secretIdentity } from './secret.ts';

/** How long the secret that a rotation replaced is kept, so that the rotation can be undone. */
const FORMER_KEPT_MS = 24 * 3600 * 1000;

/** Stores a secret as the current one, or as the standby, and revokes the one that it replaces. */
export async function putCredential(
  ctx: CallerContext,
  providerId: string,
  body: PutProviderCredentialInput,
): Promise<Credential> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const provider = await requireProvider(ctx, trx, providerId);
    const { expiresAt = null, name = null } = body;
    if (expiresAt !== null && expiresAt <= now.toISOString()) {
      throw valueError(['body', 'expiresAt'], 'expiresAt should be in the future');
    }
    const scope = scopeOf(provider);
    const slot = body.standby ? 'standby' : 'current';
    const current = await findProviderSecret(trx, scope, provider.id, 'current', now);
    const replaced = slot === 'current' ? current : await findProviderSecret(trx, scope, provider.id, slot, now);
    const { tenantLimits } = ctx.services;
    if (replaced) await tenantLimits.addRotation(trx, provider.tenantId, { ...replaced, content: body });
    else await tenantLimits.addRecord(trx, provider.tenantId, { content: body });
    const id = newId('sec', now);
    if (replaced) {
      await revokeProviderSecret(trx, scope, { id: replaced.id, replacedBy: id }, now);
      const changed = { fields: ['revokedAt'], before: {}, after: { revokedAt: now.toISOString() } };
      record({ place: provider, target: { type: 'provider_credential', id: replaced.id }, changed });
      await finishOperatorTask(trx, scope, rotationTask(replaced), 'succeeded', now);
    }
    const sent = { ...headerOf(body), boundUrl: bindingOf(provider.baseUrl) };
    const identity = secretIdentity({ tenantId: provider.tenantId, providerId: provider.id, id, ...sent });
    const credential = await insertProviderSecret(
      trx,
      provider,
      {
        ...sent,
        id,
        providerId: provider.id,
        slot,
        name,
        expiresAt,
        sealed: ctx.services.secrets.seal(body.secret, identity),
        createdBy: principalName(ctx.principal),
        // A standby secret will replace the current one, so it counts as one rotation more, too.
        rotationCount: current ? current.rotationCount + 1 : 0,
      },
      now,
    );
    await reconcileCredential(trx, provider, { refused: false }, now);
    const changed = { fields: Object.keys(body), before: null, after: { ...credential, standby: slot === 'standby' } };
    record({ place: provider, target: { type: 'provider_credential', id }, changed });
    return credential;
  });
}

/** Revokes the current and the standby credential of a provider. Returns the final record of the current one. @throws 404 */
export async function deleteCredential(ctx: CallerContext, providerId: string): Promise<Credential> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const provider = await requireProvider(ctx, trx, providerId);
    const [inUse] = await detachCredentials(trx, record, provider, now);
    if (!inUse) throw new ApiError('provider_credential_not_found', 'The provider has no credential.');
    return inUse;
  });
}

/** The credential of a provider in a slot; null if the slot is empty. @throws 404 for the provider */
export async function findCredential(
  ctx: CallerContext,
  providerId: string,
  slot: SecretSlot,
): Promise<Credential | null> {
  const { db, now } = ctx.services;
  const provider = await requireProvider(ctx, db, providerId);
  return (await findProviderSecret(db, scopeOf(provider), provider.id, slot, now())) ?? null;
}

/** Erases the secrets that a rotation replaced more than a day ago. Returns how many. */
export function eraseReplacedSecrets({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  return eraseFormerSecrets(db, new Date(now().getTime() - FORMER_KEPT_MS).toISOString());
}

/** The header, and the scheme before the secret. The default is that of bearer tokens (RFC 6750). */
function headerOf({ header, scheme }: PutProviderCredentialInput): { header: string; scheme: string | null } {
  const name = header ?? 'Authorization';
  if (scheme !== undefined) return { header: name, scheme };
  return { header: name, scheme: name.toLowerCase() === 'authorization' ? 'Bearer' : null };
}
