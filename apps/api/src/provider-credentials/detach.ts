import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { detachProviderSecrets } from '@quartermaster/db/repositories/provider-secrets.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import type { Change } from '../audit-events/write.ts';
import { settleCredential } from '../recommendations/settle.ts';

/**
 * Revokes all credentials of a provider and erases their secrets, in the transaction that gave the reason.
 *
 * @returns the final records of those that were in force, the one in use first
 */
export async function detachCredentials(
  trx: Database,
  record: (change: Change) => void,
  provider: Provider,
  now: Date,
): Promise<Credential[]> {
  const scope = scopeOf(provider);
  const detached = await detachProviderSecrets(trx, scope, provider.id, now);
  for (const { id } of detached) {
    record({ place: provider, target: { type: 'provider_credential', id }, changed: ['revokedAt'] });
    const task = { kind: 'rotate_credential', subject: { type: 'credential', id } } as const;
    await finishOperatorTask(trx, scope, task, 'cancelled', now);
  }
  if (detached.length > 0) await settleCredential(trx, provider, { refused: false }, now);
  return detached;
}
