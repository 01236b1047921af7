import {
  applyProviderRecommendations,
  dismissRecommendation,
  listProviderRecommendations,
  listRuntimeObservations,
  type Recommendation,
  type RuntimeObservation,
  reviewRuntimeObservation,
  undoRecommendation,
  updateInventoryItem,
} from '@quartermaster/client';
import type { Client } from '@quartermaster/client/client/index.ts';
import { dataOf, readAllPages } from './calls.ts';
import { BLOCKED_LATER, MAIN_TENANT, OPERATORS, TENANTS } from './company.ts';
import { listUses, type Use } from './company-types.ts';
import type { Context } from './context.ts';
import { inventoryOf, providersOf } from './reads.ts';
import { completeSomeTasks } from './tasks.ts';

/** An item that the same agent uses again after the decision about it. */
export type UsedAgain = { agentId: string; use: Use };

/**
 * Decides about some of the observations in every tenant, as its operator.
 *
 * @returns the items that have to be used again, so that their observations are reopened, or show that they are blocked
 */
export async function decide(context: Context, people: Map<string, Client>): Promise<UsedAgain[]> {
  const again: UsedAgain[] = [];
  for (const { id: tenantId } of TENANTS) {
    const operator = people.get(OPERATORS[tenantId] ?? '') ?? context.admin;
    again.push(...(await decideInTenant(context, operator, tenantId)));
    await completeSomeTasks(context, operator, tenantId);
  }
  await blockItems(context);
  const agentOf = { model: 'support-triage', tool: 'code-reviewer' } as Record<string, string>;
  return [...again, ...listUses(BLOCKED_LATER).map((use) => ({ agentId: agentOf[use.kind] ?? '', use }))];
}

/** Blocks one of the items that were rejected and seen again. The recommendations to block the others stay open. */
export async function blockRejectedItem({ admin }: Context, people: Map<string, Client>): Promise<void> {
  const client = people.get(OPERATORS[MAIN_TENANT] ?? '') ?? admin;
  const again = await unknownObservations(client, MAIN_TENANT);
  const [first] = await recommendationsFor(client, again, 'block_item');
  if (!first) return;
  const path = { provider_id: first.providerId };
  await dataOf(applyProviderRecommendations({ client, path, body: { recommendationIds: [first.id] } }));
}

/** Percentages of the unknown observations. */
const SHARES = { approve: 8, register: 10, reject: 10, ignore: 8, dismiss: 6 } as const;

async function decideInTenant({ random }: Context, client: Client, tenantId: string): Promise<UsedAgain[]> {
  const undecided = (await unknownObservations(client, tenantId)).filter(({ status }) => status === 'open');
  const shuffled = random.shuffle(undecided);
  const take = (percent: number) => shuffled.splice(0, Math.max(2, Math.round((undecided.length * percent) / 100)));

  await review(client, take(SHARES.approve), 'approved', 'Agreed with the owner of the agent.');
  const registered = take(SHARES.register);
  await review(client, registered, 'approved', 'Asked for by the department.');
  await register(client, registered);
  const rejected = take(SHARES.reject);
  await review(client, rejected, 'rejected', 'Not allowed by the data protection policy.');
  await review(client, take(SHARES.ignore), 'ignored', 'An experiment that ends this week.');
  await dismiss(client, take(SHARES.dismiss));
  await adoptOneProvider(client, tenantId);
  return usedAgain(client, tenantId, rejected.slice(0, 2));
}

/** Sorted independently of ids and times, so that every run decides about the same observations. */
async function unknownObservations(client: Client, tenantId: string): Promise<RuntimeObservation[]> {
  const names = new Map((await providersOf(client, tenantId)).map(({ id, name }) => [id, name]));
  const query = { tenant_id: tenantId, unknown: true };
  const found = await readAllPages((page) => listRuntimeObservations({ client, query: { ...query, ...page } }));
  const key = (one: RuntimeObservation) => [names.get(one.providerId), one.subTenantId, one.kind, one.name].join(' ');
  return found.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

async function review(
  client: Client,
  observations: RuntimeObservation[],
  decision: 'approved' | 'rejected' | 'ignored',
  note: string,
): Promise<void> {
  for (const { id } of observations) {
    const path = { observation_id: id };
    await dataOf(reviewRuntimeObservation({ client, path, body: { decision, note } }));
  }
}

/** Applies the recommendations to register the items, and undoes the first one. */
async function register(client: Client, observations: RuntimeObservation[]): Promise<void> {
  const wanted = await recommendationsFor(client, observations, 'register_item');
  for (const [providerId, some] of Map.groupBy(wanted, ({ providerId }) => providerId)) {
    const path = { provider_id: providerId };
    const recommendationIds = some.map(({ id }) => id);
    await dataOf(applyProviderRecommendations({ client, path, body: { recommendationIds } }));
  }
  const [first] = wanted;
  if (first) await dataOf(undoRecommendation({ client, path: { recommendation_id: first.id } }));
}

async function dismiss(client: Client, observations: RuntimeObservation[]): Promise<void> {
  for (const { id } of await recommendationsFor(client, observations, 'register_item')) {
    const body = { reason: 'The agent is replaced next month.' };
    await dataOf(dismissRecommendation({ client, path: { recommendation_id: id }, body }));
  }
}

/** The open recommendations of a kind that are about one of the observations, in the order of the observations. */
async function recommendationsFor(
  client: Client,
  observations: RuntimeObservation[],
  kind: Recommendation['kind'],
): Promise<Recommendation[]> {
  const open: Recommendation[] = [];
  for (const providerId of new Set(observations.map(({ providerId }) => providerId))) {
    const path = { provider_id: providerId };
    const query = { kind, status: 'open' as const };
    open.push(
      ...(await readAllPages((page) => listProviderRecommendations({ client, path, query: { ...query, ...page } }))),
    );
  }
  const found = observations.flatMap(({ id }) => open.find(({ observationIds }) => observationIds.includes(id)) ?? []);
  return [...new Set(found)];
}

/** Adopts one discovered provider: the last one by name. */
async function adoptOneProvider(client: Client, tenantId: string): Promise<void> {
  const discovered = (await providersOf(client, tenantId)).filter(({ status }) => status === 'discovered');
  const provider = discovered.toSorted((a, b) => (a.name < b.name ? 1 : -1))[0];
  if (!provider) return;
  const path = { provider_id: provider.id };
  const query = { kind: 'adopt_provider', status: 'open' } as const;
  const { items } = await dataOf(listProviderRecommendations({ client, path, query }));
  const recommendationIds = items.map(({ id }) => id);
  await dataOf(applyProviderRecommendations({ client, path, body: { recommendationIds } }));
}

async function usedAgain(client: Client, tenantId: string, observations: RuntimeObservation[]): Promise<UsedAgain[]> {
  const names = new Map((await providersOf(client, tenantId)).map(({ id, name }) => [id, name]));
  return observations.map(({ providerId, kind, name, evidence }) => ({
    agentId: evidence.serviceNames[0] ?? '',
    use: { provider: names.get(providerId) ?? '', kind, name },
  }));
}

async function blockItems({ admin: client }: Context): Promise<void> {
  const providers = await providersOf(client, MAIN_TENANT);
  for (const { provider: name, ...use } of listUses(BLOCKED_LATER)) {
    const provider = providers.find((one) => one.name === name);
    const items = provider === undefined ? [] : await inventoryOf(client, provider.id);
    const item = items.find((one) => one.kind === use.kind && one.name === use.name);
    if (!provider || !item) throw new Error(`${name} does not declare the ${use.kind} ${use.name}`);
    const path = { provider_id: provider.id, item_id: item.id };
    await dataOf(updateInventoryItem({ client, path, body: { status: 'blocked' } }));
  }
}
