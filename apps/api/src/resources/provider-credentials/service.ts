import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type {
  PutProviderCredentialInput,
  PutProviderSecretHeaderInput,
} from '@quartermaster/contracts/provider-credentials.ts';
import { MAX_SECRET_HEADERS } from '@quartermaster/contracts/header-fields.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import {
  eraseFormerSecrets,
  findProviderSecret,
  headerSlot,
  insertProviderSecret,
  listSealedHeaders,
  revokeProviderSecret,
  type SecretSlot,
} from '@quartermaster/db/repositories/provider-secrets.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { principalName } from '../../auth/principal.ts';
import { type AuditedChange, auditedWrite } from '../../platform/audit/audited-write.ts';
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
    const slot: SecretSlot = body.standby ? 'standby' : 'current';
    const current = await findProviderSecret(trx, scope, provider.id, 'current', now);
    const replaced = slot === 'current' ? current : await findProviderSecret(trx, scope, provider.id, slot, now);
    // A standby secret will replace the current one, so it counts as one rotation more, too.
    const rotationCount = current ? current.rotationCount + 1 : 0;
    const stored = { provider, slot, replaced, body, ...headerOf(body), name, expiresAt, rotationCount };
    const credential = await storeSecret(ctx, { trx, record, now }, stored);
    await reconcileCredential(trx, provider, { refused: false }, now);
    return credential;
  });
}

/** Stores the secret value of a header, and revokes the one that it replaces. @throws 422 if there are too many */
export async function putSecretHeader(
  ctx: CallerContext,
  { providerId, header }: HeaderOfProvider,
  body: PutProviderSecretHeaderInput,
): Promise<Credential> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const provider = await requireProvider(ctx, trx, providerId);
    const scope = scopeOf(provider);
    const slot = headerSlot(header);
    const replaced = await findProviderSecret(trx, scope, provider.id, slot, now);
    if (!replaced && (await listSealedHeaders(trx, scope, provider.id, now)).length >= MAX_SECRET_HEADERS) {
      throw valueError(['path', 'header_name'], `a provider has at most ${MAX_SECRET_HEADERS} secret headers`);
    }
    const rotationCount = replaced ? replaced.rotationCount + 1 : 0;
    const sent = { header, scheme: null, name: null, expiresAt: null };
    return storeSecret(ctx, { trx, record, now }, { provider, slot, replaced, body, ...sent, rotationCount });
  });
}

/** Revokes a secret header of a provider. @throws 404 */
export async function deleteSecretHeader(
  ctx: CallerContext,
  { providerId, header }: HeaderOfProvider,
): Promise<Credential> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const provider = await requireProvider(ctx, trx, providerId);
    const scope = scopeOf(provider);
    const found = await findProviderSecret(trx, scope, provider.id, headerSlot(header), now);
    const revoked = found && (await revokeProviderSecret(trx, scope, { id: found.id }, now));
    if (!revoked)
      throw new ApiError('provider_credential_not_found', 'The provider has no secret header of this name.');
    const changed = { fields: ['revokedAt'], before: {}, after: { revokedAt: now.toISOString() } };
    record({ place: provider, target: { type: 'provider_credential', id: revoked.id }, changed });
    return revoked;
  });
}

type HeaderOfProvider = { providerId: string; header: string };

type StoredSecret = {
  provider: Provider;
  slot: SecretSlot;
  /** The secret in the slot until now. */
  replaced: Credential | undefined;
  body: { secret: string };
  header: string;
  scheme: string | null;
  name: string | null;
  expiresAt: string | null;
  rotationCount: number;
};

/** Seals a secret, bound to the base URL of the provider, and stores it in place of another one. */
async function storeSecret(
  ctx: CallerContext,
  { trx, record, now }: { trx: Database; record: (change: AuditedChange) => void; now: Date },
  { provider, replaced, body, ...secret }: StoredSecret,
): Promise<Credential> {
  const scope = scopeOf(provider);
  const { tenantLimits, secrets } = ctx.services;
  if (replaced) await tenantLimits.addRotation(trx, provider.tenantId, { ...replaced, content: body });
  else await tenantLimits.addRecord(trx, provider.tenantId, { content: body });
  const id = newId('sec', now);
  if (replaced) {
    await revokeProviderSecret(trx, scope, { id: replaced.id, replacedBy: id }, now);
    const changed = { fields: ['revokedAt'], before: {}, after: { revokedAt: now.toISOString() } };
    record({ place: provider, target: { type: 'provider_credential', id: replaced.id }, changed });
    await finishOperatorTask(trx, scope, rotationTask(replaced), 'succeeded', now);
  }
  const { header, scheme } = secret;
  const owner = { tenantId: provider.tenantId, providerId: provider.id, id };
  const boundUrl = bindingOf(provider.baseUrl);
  const sealed = secrets.seal(body.secret, secretIdentity({ ...owner, header, scheme, boundUrl }));
  const createdBy = principalName(ctx.principal);
  const stored = { ...secret, id, providerId: provider.id, boundUrl, sealed, createdBy };
  const credential = await insertProviderSecret(trx, provider, stored, now);
  const changed = {
    fields: Object.keys(body),
    before: null,
    after: { ...credential, standby: secret.slot === 'standby' },
  };
  record({ place: provider, target: { type: 'provider_credential', id }, changed });
  return credential;
}

/** Revokes the current and the standby credential of a provider. Returns the final record of the current one. @throws 404 */
export async function deleteCredential(ctx: CallerContext, providerId: string): Promise<Credential> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const provider = await requireProvider(ctx, trx, providerId);
    const [inUse] = await detachCredentials(trx, record, { provider, keepsHeaders: true }, now);
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
