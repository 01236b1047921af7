import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { revokeAllProviderSecrets } from '@quartermaster/db/repositories/provider-secrets.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';
import { reconcileCredential, rotationTask } from '../../governance/rules/reconcile.ts';

/**
 * Revokes all credentials of a provider and erases their secrets, in the caller's transaction.
 *
 * @param keepsHeaders whether secret headers stay
 * @returns the final records of those that were active, the one in use first
 */
export async function detachCredentials(
  trx: Database,
  record: (change: AuditedChange) => void,
  { provider, keepsHeaders = false }: { provider: Provider; keepsHeaders?: boolean },
  now: Date,
): Promise<Credential[]> {
  const scope = scopeOf(provider);
  const detached = await revokeAllProviderSecrets(trx, scope, { providerId: provider.id, keepsHeaders }, now);
  for (const { id } of detached) {
    const changed = { fields: ['revokedAt'], before: {}, after: { revokedAt: now.toISOString() } };
    record({ place: provider, target: { type: 'provider_credential', id }, changed });
    await finishOperatorTask(trx, scope, rotationTask({ id }), 'cancelled', now);
  }
  if (detached.length > 0) await reconcileCredential(trx, provider, { refused: false }, now);
  return detached;
}
