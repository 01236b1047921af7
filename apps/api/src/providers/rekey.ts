import { setImmediate as breathe } from 'node:timers/promises';
import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
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
import { finishOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { closeRecommendation } from '@quartermaster/db/repositories/recommendation-states.ts';
import { findOpenOfSubject } from '@quartermaster/db/repositories/recommendations.ts';
import {
  findObservation,
  findObservationOf,
  updateObservation,
} from '@quartermaster/db/repositories/runtime-observations.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import type { Change } from '../audit-events/write.ts';
import { ApiError } from '../errors.ts';
import { reconcileSubjects, subjectOf } from '../recommendations/reconcile.ts';
import { endSessions } from '../recommendations/settle.ts';
import { mergedObservation } from '../runtime-observations/merge.ts';
import { reviewTask } from '../runtime-observations/review-task.ts';
import { rekeyUsage } from './rekey-usage.ts';

type Subject = Pick<InventoryItem, 'kind' | 'name'>;

/** A provider as it is called now, and what it was called. */
type Renamed = { provider: Provider; formerName: string };

/** What got another name or key, and what of that is blocked. */
type Rekeyed = { subjects: Subject[]; blocked: Subject[] };

/** Rows of a read, and rows written before the event loop gets a turn. */
const OF_TURN = 200;

/**
 * Gives the models of a renamed provider the keys that they have under its new name, in the transaction that renamed it:
 * what is declared, blocked or rejected is so in the spellings that agents use from now on. What had the former name in
 * front is the model that it was.
 *
 * @returns what is for {@link settleRekeyed}, once the provider is settled
 * @throws 409 `name_taken` where two items would be one: which of them goes on, and so what is blocked, is not guessed
 */
export async function rekeyModels(trx: Database, renamed: Renamed, now: Date): Promise<Rekeyed> {
  const items = await rekeyItems(trx, renamed, now);
  const observed = await rekeyObservations(trx, renamed, now);
  await rekeySubjects(trx, renamed, now);
  await rekeyUsage(trx, renamed);
  const toSubject = ({ name }: NamedModel): Subject => ({ kind: 'model', name });
  return {
    subjects: [...items, ...observed].map(toSubject),
    blocked: items.filter(({ status }) => status === 'blocked').map(toSubject),
  };
}

/** Lets the rules look at what got another key, and ends the sessions that hold a spelling that is blocked by now. */
export async function settleRekeyed(
  trx: Database,
  record: (change: Change) => void,
  { provider, rekeyed }: { provider: Provider; rekeyed: Rekeyed },
  now: Date,
): Promise<void> {
  const subjects = rekeyed.subjects.map((subject) => ({ provider, ...subject }));
  await reconcileSubjects(trx, provider, subjects, now);
  await endSessions(trx, record, { provider, blocked: rekeyed.blocked }, now);
}

async function rekeyItems(trx: Database, renamed: Renamed, now: Date): Promise<NamedModel[]> {
  const { provider } = renamed;
  const scope = scopeOf(provider);
  const changed = await changedModels(trx, renamed, 'inventory_items');
  for (const [index, item] of changed.entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    const key = { providerId: provider.id, kind: 'model', nameKey: item.nameKey } as const;
    const same = await findInventoryItemByKey(trx, scope, key);
    if (same && same.id !== item.id) {
      const both = [item.name, same.name].map((name) => JSON.stringify(name)).join(' and ');
      throw new ApiError('name_taken', `Under this name the models ${both} would be one: delete one of them first.`);
    }
    await setModelName(trx, scope, 'inventory_items', item, now);
  }
  return changed;
}

async function rekeyObservations(trx: Database, renamed: Renamed, now: Date): Promise<NamedModel[]> {
  const { provider } = renamed;
  const scope = scopeOf(provider);
  const changed = await changedModels(trx, renamed, 'runtime_observations');
  for (const [index, model] of changed.entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    const { id, name, nameKey: key } = model;
    const moved = await findObservation(trx, scope, id);
    // It became one with another before its turn.
    if (!moved) continue;
    const same = await findObservationOf(trx, moved, { providerId: provider.id, kind: 'model', nameKey: key });
    const goneId = same && same.id !== id && (await merge(trx, [moved, same], now));
    // Once the other has its key, there is nothing left to move.
    if (goneId !== id) await setModelName(trx, scope, 'runtime_observations', { id, name, nameKey: key }, now);
  }
  return changed;
}

/** Makes one of two observations of one place. Answers which of them is gone. */
async function merge(
  trx: Database,
  both: readonly [RuntimeObservation, RuntimeObservation],
  now: Date,
): Promise<string> {
  const { kept, gone, change } = mergedObservation(...both);
  const firstAccount = await replaceObservation(trx, kept, { goneId: gone.id, keptId: kept.id });
  await finishOperatorTask(trx, scopeOf(gone), reviewTask(gone), 'cancelled', now);
  await updateObservation(trx, scopeOf(kept), kept.id, change, now);
  await addToObservationCounts(trx, kept, [{ subTenantId: gone.subTenantId, firstAccount, by: -1 }]);
  return gone.id;
}

/** Of several open ones about what is one model now, one goes on: the rules look at it when the provider is settled. */
async function rekeySubjects(trx: Database, { provider }: Renamed, now: Date): Promise<void> {
  const scope = scopeOf(provider);
  const all = await everyPage((page) => listModelSubjects(trx, scope, provider.id, page));
  const changed = all
    .map((one) => ({ ...one, former: one.nameKey, nameKey: nameKey('model', one.nameKey, provider.name) }))
    .filter((one) => one.nameKey !== one.former);
  for (const [index, { id, nameKey: key, isOpen, kind }] of changed.entries()) {
    if (index % OF_TURN === OF_TURN - 1) await breathe();
    const about = { providerId: provider.id, subject: subjectOf(provider, 'model', key) };
    const standing = isOpen && (await findOpenOfSubject(trx, scope, about)).some((one) => one.kind === kind);
    if (standing) await closeRecommendation(trx, scope, id, 'superseded', now);
    await setModelSubject(trx, scope, { id, nameKey: key });
  }
}

/**
 * What is called otherwise, or has another key, under the new name. None gets the key that another one leaves: what is
 * left had the new name in front, and no key that is taken has.
 */
async function changedModels(
  trx: Database,
  { provider, formerName }: Renamed,
  table: NamingTable,
): Promise<NamedModel[]> {
  const scope = scopeOf(provider);
  const all = await everyPage((page) => listModelNames(trx, scope, { table, providerId: provider.id }, page));
  const changed: NamedModel[] = [];
  for (const model of all) {
    const key = nameKey('model', model.nameKey, provider.name);
    // Without the former name, which says nothing of a provider that is called otherwise.
    const plain = plainName('model', model.name, formerName);
    const name = nameKey('model', plain, provider.name) === key ? plain : model.nameKey;
    if (key !== model.nameKey || name !== model.name) changed.push({ ...model, name, nameKey: key });
  }
  return changed;
}

async function everyPage<Item>(read: (page: PageRequest) => Promise<Page<Item>>): Promise<Item[]> {
  const all: Item[] = [];
  let after: PageKey | null = null;
  do {
    const page: Page<Item> = await read({ limit: OF_TURN, after });
    all.push(...page.items);
    after = page.next;
    await breathe();
  } while (after !== null);
  return all;
}
