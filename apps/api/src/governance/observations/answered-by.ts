import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import {
  type AnsweredObservation,
  findAnsweringModels,
  findObservationsByIds,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** The ids of a provider's observations, by the families of the models that answered their calls. */
type AnsweredIds = ReadonlyMap<string, readonly string[]>;

/**
 * A cache for each transaction, by provider. Finding the answers reads all observations of the provider, and one transaction
 * may reevaluate a thousand items one after the other. No transaction that uses this cache changes which models answered.
 */
const answeredIds = new WeakMap<Database, Map<Provider['id'], { name: string; ids: AnsweredIds }>>();

/** Observations that are read and parsed before the event loop gets a turn. One may have 25 KB of evidence. */
const BATCH_SIZE = 100;

type Subject = { provider: Provider; kind: InventoryKind; name: string };

/** Finds observations whose calls were answered by one of the given models under another name. A block raises their risk. */
export async function findObservationsAnsweredBy(
  trx: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly Subject[],
): Promise<RuntimeObservation[]> {
  const models = subjects.filter(({ kind }) => kind === 'model');
  const ids = new Set<string>();
  for (const [provider, providerModels] of Map.groupBy(models, (model) => model.provider)) {
    const idsOf = await findAnsweredIds(trx, provider);
    for (const { name } of providerModels) for (const id of idsOf.get(familyOf(provider, name)) ?? []) ids.add(id);
  }
  return findObservationsByIds(trx, tenant, [...ids]);
}

async function findAnsweredIds(trx: Database, provider: Provider): Promise<AnsweredIds> {
  const byProvider = answeredIds.get(trx) ?? new Map();
  const known = byProvider.get(provider.id);
  // The families of models depend on the name of their provider, which the transaction may have changed.
  if (known?.name === provider.name) return known.ids;
  const ids = new Map<string, string[]>();
  const families = new Map<string, string>();
  let batch: AnsweredObservation[] = [];
  do {
    batch = await findAnsweringModels(trx, provider, provider.id, { after: batch.at(-1), limit: BATCH_SIZE });
    for (const { id, responseModels } of batch) {
      const distinctFamilies = new Set<string>();
      for (const model of responseModels) {
        const family = families.get(model) ?? familyOf(provider, model);
        families.set(model, family);
        distinctFamilies.add(family);
      }
      for (const family of distinctFamilies) {
        const answered = ids.get(family);
        if (answered) answered.push(id);
        else ids.set(family, [id]);
      }
    }
    await yieldWhenDue();
  } while (batch.length === BATCH_SIZE);
  byProvider.set(provider.id, { name: provider.name, ids });
  if (trx.isTransaction) answeredIds.set(trx, byProvider);
  return ids;
}

function familyOf(provider: Provider, name: string): string {
  return nameFamily('model', nameKey('model', name, provider.name));
}
