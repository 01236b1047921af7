import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { inBatches } from '@quartermaster/db/batches.ts';
import { yieldWhenDue } from '@quartermaster/db/turns.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey, plainName } from '@quartermaster/naming/name-key.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import { findInventoryItemsByKeys } from '@quartermaster/db/repositories/inventory.ts';
import {
  listModelNames,
  listModelSubjects,
  type NamedModel,
  type NamingTable,
  replaceObservations,
  setModelNames,
  setModelSubjects,
} from '@quartermaster/db/repositories/name-keys.ts';
import { addToObservationCounts } from '@quartermaster/db/repositories/observation-counts.ts';
import { closeRecommendations } from '@quartermaster/db/repositories/open-recommendations.ts';
import { findOpenRecommendationsOfSubjects } from '@quartermaster/db/repositories/recommendations.ts';
import {
  findObservationsByIds,
  findObservationsOfSubjects,
  updateObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { updateSeenObservations } from '@quartermaster/db/repositories/seen-observations.ts';
import { findSeriesOfProvider, renameSeries } from '@quartermaster/db/repositories/usage-series.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { ApiError } from '../../platform/errors.ts';
import { findBlockedAnswers } from '../declarations/declared.ts';
import { moveBlockedUseTasks } from '../observations/blocked-use-task.ts';
import { mergeObservations } from '../observations/merge.ts';
import { cancelTasksOfRemoved } from '../observations/observation-tasks.ts';
import { recommendationKey } from '../rules/evaluation.ts';
import { subjectOf } from '../rules/reconcile.ts';

type Subject = Pick<InventoryItem, 'kind' | 'name'>;

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
export async function rekeyModels(
  trx: Database,
  provider: Provider,
  renamed: ModelRenamer,
  now: Date,
): Promise<Subject[]> {
  const items = renamed(await readModels(trx, provider, 'inventory_items'));
  const observed = renamed(await readModels(trx, provider, 'runtime_observations'));
  const series = await findSeriesOfProvider(trx, provider, { providerId: provider.id, kind: 'model' });
  await rekeyItems(trx, provider, items, now);
  await rekeyObservations(trx, provider, observed, now);
  await rekeySubjects(trx, provider, now);
  for await (const batch of inBatches(series, BATCH_SIZE)) await renameSeries(trx, provider, renamed(batch));
  return [...items, ...observed].map(({ name }) => ({ kind: 'model', name }));
}

type ModelRenamer = <Model extends { name: string; nameKey: string }>(models: readonly Model[]) => Model[];

/**
 * Returns a function that finds the models whose name or key changes with the name of their provider, and gives them the new
 * name and key. A new key never equals a key that another model of the list had before: each key that changes began with the
 * new provider name, and no new key does.
 */
export function modelRenamer({ formerName, name: newName }: { formerName: string; name: string }): ModelRenamer {
  return (models) =>
    models.flatMap((model) => {
      const key = nameKey('model', model.nameKey, newName);
      // The former provider name in front of a model name means nothing under the new name.
      const plain = plainName('model', model.name, formerName);
      const name = nameKey('model', plain, newName) === key ? plain : model.nameKey;
      return key !== model.nameKey || name !== model.name ? [{ ...model, name, nameKey: key }] : [];
    });
}

async function rekeyItems(trx: Database, provider: Provider, changed: readonly NamedModel[], now: Date): Promise<void> {
  for await (const batch of inBatches(changed, BATCH_SIZE)) {
    const keys = batch.map(({ nameKey: key }) => ({ providerId: provider.id, kind: 'model', nameKey: key }) as const);
    const holders = new Map<string, Pick<NamedModel, 'id' | 'name'>>();
    for (const holder of await findInventoryItemsByKeys(trx, provider, keys)) holders.set(holder.nameKey, holder);
    for (const item of batch) {
      const same = holders.get(item.nameKey);
      if (same && same.id !== item.id) {
        const both = [item.name, same.name].map((name) => JSON.stringify(name)).join(' and ');
        throw new ApiError(
          'name_taken',
          `With this name, the models ${both} would be the same item. Delete one of them first.`,
        );
      }
      holders.set(item.nameKey, item);
    }
    await setModelNames(trx, provider, 'inventory_items', batch, now);
  }
}

async function rekeyObservations(
  trx: Database,
  provider: Provider,
  changed: readonly NamedModel[],
  now: Date,
): Promise<void> {
  for (const models of withoutSharedKeys(changed)) {
    for await (const batch of inBatches(models, BATCH_SIZE)) {
      await rekeyObservationBatch(trx, provider, batch, now);
    }
  }
}

/** Splits models into lists. Within a list, no two models of one place have the same key. */
function withoutSharedKeys(models: readonly NamedModel[]): NamedModel[][] {
  const lists: NamedModel[][] = [];
  const counts = new Map<string, number>();
  for (const model of models) {
    const key = placeKey(model);
    const before = counts.get(key) ?? 0;
    counts.set(key, before + 1);
    const list = (lists[before] ??= []);
    list.push(model);
  }
  return lists;
}

/**
 * Sets the new keys of observations. If another observation of the same place has the new key already, the two are merged. No
 * two models of the batch may get the same key in the same place, so that no observation is merged twice.
 */
async function rekeyObservationBatch(
  trx: Database,
  provider: Provider,
  models: readonly NamedModel[],
  now: Date,
): Promise<void> {
  const subjects = models.map(
    ({ nameKey: key }) => ({ providerId: provider.id, kind: 'model', nameKey: key }) as const,
  );
  const holders = await findObservationsOfSubjects(trx, provider, subjects);
  const holderOf = new Map(holders.map((holder) => [placeKey(holder), holder]));
  const conflicts = new Map(
    models.flatMap((model) => {
      const holder = holderOf.get(placeKey(model));
      return holder && holder.id !== model.id ? [[model.id, holder] as const] : [];
    }),
  );
  const pairs = (await findObservationsByIds(trx, provider, [...conflicts.keys()])).flatMap((observation) => {
    const holder = conflicts.get(observation.id);
    const answers = [...observation.evidence.responseModels, ...(holder?.evidence.responseModels ?? [])];
    return holder ? [{ provider, kind: 'model' as const, observation, holder, responseModels: answers }] : [];
  });
  const blockedAnswersOf = await findBlockedAnswers(trx, provider, pairs);
  const merged = pairs.map(({ observation, holder, responseModels }) => {
    const blockedModels = blockedAnswersOf(provider, responseModels).map(({ model }) => model);
    return mergeObservations(observation, holder, blockedModels);
  });
  await storeMerged(trx, provider, merged, now);
  const deleted = new Set(merged.map(({ duplicate }) => duplicate.id));
  const kept = models.filter(({ id }) => !deleted.has(id));
  await setModelNames(trx, provider, 'runtime_observations', kept, now);
}

/** Stores what `mergeObservations` merged. Each survivor occurs once. */
async function storeMerged(
  trx: Database,
  provider: Provider,
  merged: readonly ReturnType<typeof mergeObservations>[],
  now: Date,
): Promise<void> {
  const pairs = merged.map(({ survivor, duplicate }) => ({ goneId: duplicate.id, keptId: survivor.id }));
  const gone = await replaceObservations(trx, provider, pairs);
  const moves = pairs.map(({ goneId, keptId }) => ({ from: goneId, to: keptId }));
  await moveBlockedUseTasks(trx, provider, moves, now);
  const duplicates = merged.map(({ duplicate }) => duplicate);
  await cancelTasksOfRemoved(trx, provider, duplicates, now);
  const survivors = merged.map(({ survivor, change }) => ({ ...survivor, ...change, isReviewObsolete: false }));
  await updateSeenObservations(trx, provider, survivors, now);
  const withDrift = merged.filter(({ survivor, change }) => survivor.drift !== change.drift);
  for (const { survivor, change } of withDrift) {
    await updateObservation(trx, scopeOf(survivor), survivor.id, { drift: change.drift ?? null }, now);
  }
  await addToObservationCounts(
    trx,
    provider,
    gone.map((holder) => ({ ...holder, by: -1 })),
  );
}

function placeKey({ subTenantId, nameKey: key }: Pick<NamedModel, 'subTenantId' | 'nameKey'>): string {
  return JSON.stringify([subTenantId, key]);
}

/** Gives recommendations the new subject. Supersedes one if another of its kind is open about the same model now. */
async function rekeySubjects(trx: Database, provider: Provider, now: Date): Promise<void> {
  const all = await readAllPages((page) => listModelSubjects(trx, scopeOf(provider), provider.id, page));
  const changed = all
    .map((one) => ({ ...one, former: one.nameKey, nameKey: nameKey('model', one.nameKey, provider.name) }))
    .filter((one) => one.nameKey !== one.former);
  for await (const batch of inBatches(changed, BATCH_SIZE)) {
    const moved = batch.map((one) => ({
      ...one,
      providerId: provider.id,
      subject: subjectOf(provider, 'model', one.nameKey),
    }));
    const open = new Set((await findOpenRecommendationsOfSubjects(trx, provider, moved)).map(recommendationKey));
    const superseded: string[] = [];
    for (const recommendation of moved.filter(({ isOpen }) => isOpen)) {
      if (open.has(recommendationKey(recommendation))) superseded.push(recommendation.id);
      open.add(recommendationKey(recommendation));
    }
    await closeRecommendations(trx, provider, superseded, 'superseded', now);
    await setModelSubjects(trx, provider, batch);
  }
}

function readModels(trx: Database, provider: Provider, table: NamingTable): Promise<NamedModel[]> {
  const naming = { table, providerId: provider.id };
  return readAllPages((page) => listModelNames(trx, scopeOf(provider), naming, page));
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
