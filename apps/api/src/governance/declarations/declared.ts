import type { InventoryItem, InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { manifestDeclarations } from '@quartermaster/db/repositories/manifest-declarations.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type CoveredSubject, findBlockingItems, findCoveringItems } from './covering-items.ts';

/** What is declared about a subject. `item` is the inventory item that decides for its name: its own, or one that covers it. */
export type DeclaredState = { unknown: boolean; item: InventoryItem | undefined };

/** A subject, and the place where it was observed. */
type ObservedSubject = TenantPlace & CoveredSubject;

/** What is declared about one subject, see {@link findDeclaredStates}. */
export async function findDeclaredState(
  db: Database,
  { tenantId, subTenantId }: TenantPlace,
  provider: Provider,
  { kind, name }: { kind: InventoryKind; name: string },
): Promise<DeclaredState> {
  const subject = { tenantId, subTenantId, provider, kind, nameKey: nameKey(kind, name, provider.name) };
  return (await findDeclaredStates(db, subject, [subject]))(subject);
}

/**
 * What is declared about subjects. A subject is declared if an inventory item decides for its name and is neither retired nor
 * pending. A blocked item declares the subject as forbidden. A subject is also declared if an active manifest of its place or
 * of the whole tenant names it, unless its own item is pending: sessions do not grant it until a person has decided about the
 * item. The number of statements does not grow with the number of subjects.
 *
 * @param tenant the tenant of all subjects
 * @returns a look-up function
 */
export async function findDeclaredStates(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  subjects: readonly ObservedSubject[],
): Promise<(subject: ObservedSubject) => DeclaredState> {
  const itemsOf = await findCoveringItems(db, tenant, subjects);
  const isDeclaring = (item: InventoryItem | undefined) =>
    item !== undefined && item.status !== 'retired' && item.status !== 'pending';
  const isPending = (subject: ObservedSubject) => itemsOf(subject).exactItem?.status === 'pending';
  const rest = subjects.filter((subject) => !isDeclaring(itemsOf(subject).deciding) && !isPending(subject));
  const isInManifest = await manifestDeclarations(db, tenant, rest);
  return (subject) => {
    const item = itemsOf(subject).deciding;
    return { unknown: !isDeclaring(item) && (isPending(subject) || !isInManifest(subject)), item };
  };
}

/** A model that answered, and the inventory item that blocks it. */
export type BlockedAnswer = { model: string; item: InventoryItem };

/** Finds which of the models that answered calls are blocked at the provider of the call. Returns a look-up function. */
export async function findBlockedAnswers(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  answered: readonly { provider: Provider; kind: InventoryKind; responseModels: readonly string[] }[],
): Promise<(provider: Provider, responseModels: readonly string[]) => BlockedAnswer[]> {
  const subjectOf = (provider: Provider, model: string) => {
    return { provider, kind: 'model' as const, nameKey: nameKey('model', model, provider.name) };
  };
  const models = answered.filter(({ kind }) => kind === 'model');
  const all = models.flatMap(({ provider, responseModels }) =>
    responseModels.map((model) => subjectOf(provider, model)),
  );
  if (all.length === 0) return () => [];
  const blockOf = await findBlockingItems(db, tenant, all);
  return (provider, responseModels) =>
    responseModels.flatMap((model) => {
      const item = blockOf(subjectOf(provider, model));
      return item ? [{ model, item }] : [];
    });
}

/** The `inventoryItemId` of an observation: the item that declares it, if one does. */
export function declaringItemId({ unknown, item }: DeclaredState): string | null {
  return unknown ? null : (item?.id ?? null);
}
