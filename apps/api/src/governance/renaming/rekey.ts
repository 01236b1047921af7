import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { yieldWhenDue } from '@quartermaster/db/loop-turns.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey, plainName } from '@quartermaster/db/name-key.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import { findInventoryItemByKey } from '@quartermaster/db/repositories/inventory.ts';
import {
  listModelNames,
  listModelSubjects,
  type NamedModel,
  type NamingTable,
  replaceObservation,
  setModelName,
  setModelSubject,
} from '@quartermaster/db/repositories/name-keys.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { closeRecommendation } from '@quartermaster/db/repositories/recommendation-states.ts';
import { findOpenRecommendationsOfSubject } from '@quartermaster/db/repositories/recommendations.ts';
import {
  findObservation,
  findObservationOfSubject,
  updateObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { ApiError } from '../../platform/errors.ts';
import { moveBlockedUseTask } from '../observations/blocked-use-task.ts';
import { mergeObservations } from '../observations/merge.ts';
import { cancelTasksOfRemoved } from '../observations/observation-tasks.ts';
import { subjectOf } from '../rules/reconcile.ts';
import { rekeyUsage } from './rekey-usage.ts';

type Subject = Pick<InventoryItem, 'kind' | 'name'>;

/** A provider with its new name, and its former name. */
type Renamed = { provider: Provider; formerName: string };

/** Rows that are read at once, or written before the event loop gets a turn. */
const BATCH_SIZE = 200;

/**
 * Gives the models of a renamed provider the name keys that they have under its new name, in the transaction that renames
 * it. Declarations, blocks and reviews then hold for the spellings that agents use from now on. The former provider name is
 * removed from the front of model names.
 *
 * @returns the changed models. Their recommendations have to be reconciled after `reevaluateProvider`
 * @throws 409 `name_taken` if two inventory items would get the same key, since one of them may be blocked
 */
export async function rekeyModels(trx: Database, renamed: Renamed, now: Date): Promise<Subject[]> {
  const items = await rekeyItems(trx, renamed, now);
  const observed = await rekeyObservations(trx, renamed, now);
  await rekeySubjects(trx, renamed, now);
  await rekeyUsage(trx, renamed);
  return [...items, ...observed].map(({ name }) => ({ kind: 'model', name }));
}

async function rekeyItems(trx: Database, renamed: Renamed, now: Date): Promise<NamedModel[]> {
  const { provider } = renamed;
  const scope = scopeOf(provider);
  const changed = await findRenamedModels(trx, renamed, 'inventory_items');
  for await (const batch of inBatches(changed, BATCH_SIZE)) {
    for (const item of batch) {
      const key = { providerId: provider.id, kind: 'model', nameKey: item.nameKey } as const;
      const same = await findInventoryItemByKey(trx, scope, key);
      if (same && same.id !== item.id) {
        const both = [item.name, same.name].map((name) => JSON.stringify(name)).join(' and ');
        throw new ApiError(
          'name_taken',
          `With this name, the models ${both} would be the same item. Delete one of them first.`,
        );
      }
      await setModelName(trx, scope, 'inventory_items', item, now);
    }
  }
  return changed;
}

async function rekeyObservations(trx: Database, renamed: Renamed, now: Date): Promise<NamedModel[]> {
  const changed = await findRenamedModels(trx, renamed, 'runtime_observations');
  for await (const batch of inBatches(changed, BATCH_SIZE)) {
    for (const model of batch) await rekeyObservation(trx, renamed.provider, model, now);
  }
  return changed;
}

/** Sets the new key of an observation. If another observation of its place has that key, the two are merged. */
async function rekeyObservation(
  trx: Database,
  provider: Provider,
  { id, name, nameKey: key }: NamedModel,
  now: Date,
): Promise<void> {
  const scope = scopeOf(provider);
  const observation = await findObservation(trx, scope, id);
  // An earlier model of the loop was merged with it.
  if (!observation) return;
  const same = await findObservationOfSubject(trx, observation, {
    providerId: provider.id,
    kind: 'model',
    nameKey: key,
  });
  const deletedId = same && same.id !== id && (await merge(trx, [observation, same], now));
  if (deletedId !== id) await setModelName(trx, scope, 'runtime_observations', { id, name, nameKey: key }, now);
}

/** Merges two observations of one place. Returns the id of the one that is deleted. */
async function merge(
  trx: Database,
  both: readonly [RuntimeObservation, RuntimeObservation],
  now: Date,
): Promise<string> {
  const { survivor, duplicate, change } = mergeObservations(...both);
  const firstAccount = await replaceObservation(trx, survivor, { goneId: duplicate.id, keptId: survivor.id });
  await moveBlockedUseTask(trx, duplicate, { from: duplicate.id, to: survivor.id }, now);
  await cancelTasksOfRemoved(trx, duplicate, [duplicate], now);
  await updateObservation(trx, scopeOf(survivor), survivor.id, change, now);
  await addToObservationCounts(trx, survivor, [{ subTenantId: duplicate.subTenantId, firstAccount, by: -1 }]);
  return duplicate.id;
}

/** Gives recommendations the new subject. Supersedes one if another of its kind is open about the same model now. */
async function rekeySubjects(trx: Database, { provider }: Renamed, now: Date): Promise<void> {
  const scope = scopeOf(provider);
  const all = await readAllPages((page) => listModelSubjects(trx, scope, provider.id, page));
  const changed = all
    .map((one) => ({ ...one, former: one.nameKey, nameKey: nameKey('model', one.nameKey, provider.name) }))
    .filter((one) => one.nameKey !== one.former);
  for await (const batch of inBatches(changed, BATCH_SIZE)) {
    for (const { id, nameKey: key, isOpen, kind } of batch) {
      const subject = { providerId: provider.id, subject: subjectOf(provider, 'model', key) };
      const isTaken =
        isOpen && (await findOpenRecommendationsOfSubject(trx, scope, subject)).some((one) => one.kind === kind);
      if (isTaken) await closeRecommendation(trx, scope, id, 'superseded', now);
      await setModelSubject(trx, scope, { id, nameKey: key });
    }
  }
}

/**
 * Finds models that get another name or key under the provider's new name. No model gets a key that another model of the
 * list has before the change: each changed key had the new name in front, and a new key never has.
 */
async function findRenamedModels(
  trx: Database,
  { provider, formerName }: Renamed,
  table: NamingTable,
): Promise<NamedModel[]> {
  const scope = scopeOf(provider);
  const all = await readAllPages((page) => listModelNames(trx, scope, { table, providerId: provider.id }, page));
  const changed: NamedModel[] = [];
  for (const model of all) {
    const key = nameKey('model', model.nameKey, provider.name);
    // The former provider name in front of a model name means nothing under the new name.
    const plain = plainName('model', model.name, formerName);
    const name = nameKey('model', plain, provider.name) === key ? plain : model.nameKey;
    if (key !== model.nameKey || name !== model.name) changed.push({ ...model, name, nameKey: key });
  }
  return changed;
}

async function readAllPages<Item>(read: (page: PageRequest) => Promise<Page<Item>>): Promise<Item[]> {
  const all: Item[] = [];
  let after: PageKey | null = null;
  do {
    const page: Page<Item> = await read({ limit: BATCH_SIZE, after });
    all.push(...page.items);
    after = page.next;
    await yieldWhenDue();
  } while (after !== null);
  return all;
}
