import { dropUnreadableAnswers } from '../http/idempotency/reseal.ts';
import { inOneTransaction } from '../platform/one-transaction.ts';
import type { Services } from '../platform/services.ts';
import { renewMacs } from '../resources/audit-events/renew-macs.ts';
import { signLostHeads } from '../resources/audit-events/seal.ts';
import { replaceLostKey } from '../resources/signing-keys/service.ts';

/** Goes on with a new secret key, because the operator has lost the former one (QM_SECRET_KEY_LOST). */
export async function startWithoutLostKey(services: Services): Promise<void> {
  await dropUnreadableAnswers(services);
  const trusted = await renewMacs(services, { trustsAll: true });
  // The log field keeps its name for programs that read it.
  if (trusted > 0)
    services.log.warn({ vouched: trusted }, 'the key is lost: waiting audit events were accepted without a check');
  // Last, and in one transaction: as soon as there is a new signing key, the service starts without QM_SECRET_KEY_LOST, and
  // heads of the lost key would look forged.
  await inOneTransaction(services, async (inside) => {
    await replaceLostKey(inside);
    await signLostHeads(inside);
  });
}
