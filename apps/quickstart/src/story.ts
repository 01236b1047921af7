import {
  applyProviderRecommendations,
  type GatewaySession,
  listOperatorTasks,
  listProviderRecommendations,
  listProviders,
  listRuntimeObservations,
  listTraceSpans,
  type Provider,
  type Recommendation,
  type RuntimeObservation,
  reviewRuntimeObservation,
  syncProviderInventory,
  updateGateway,
} from '@quartermaster/client';
import { LOCAL_TOOL, runAgent } from './agent.ts';
import { dataOf } from './calls.ts';
import { Failure } from './failure.ts';
import { type Page, styled, table } from './page.ts';
import { drawTrace } from './trace-picture.ts';
import { openSession, type World } from './world.ts';

/** Shows what is declared, what an agent really uses, and how to resolve the difference. All data come from the API. */
export async function tellStory(page: Page, world: World): Promise<void> {
  await declare(page, world);
  const before = await openSession(world, world.gateway);
  page.lines(['A session of the agent grants:', ...table(grantsOf(before)).map((line) => `  ${line}`)]);
  await watch(page, world);
  const { discovered, observation } = await compare(page, world);
  const wanted = await recommend(page, world, { discovered, observation });
  await repair(page, world, { discovered, observation, wanted });
  await after(page, world, { discovered, before });
}

async function declare(page: Page, { operator: client, provider }: World): Promise<void> {
  page.section('What is declared');
  page.say(`One provider, "${provider.name}": the official MCP test server, at ${provider.baseUrl}.`);
  const found = await dataOf(syncProviderInventory({ client, path: { provider_id: provider.id } }));
  page.say(`Its inventory was synced in ${found.durationMs} ms: ${found.added} items.`);
}

async function watch(page: Page, { url, agentKey, operator: client, provider }: World): Promise<void> {
  page.section('What an agent does');
  page.say('A LangChain.js agent runs under OpenInference, and sends its spans with a key that has no other scope:');
  const traceId = await runAgent({ url, key: agentKey, mcpUrl: provider.baseUrl ?? '' });
  const { items } = await dataOf(listTraceSpans({ client, path: { trace_id: traceId } }));
  const { lines, leftOut } = drawTrace(items);
  page.lines(['', ...lines, styled('dim', `and ${leftOut} steps of the framework; trace ${traceId}`)]);
}

async function compare(
  page: Page,
  { operator: client }: World,
): Promise<{ discovered: Provider; observation: RuntimeObservation }> {
  page.section('What was seen, against what is declared');
  const { items: providers } = await dataOf(listProviders({ client }));
  const { items: seen } = await dataOf(listRuntimeObservations({ client }));
  const providerOf = (one: RuntimeObservation) => providers.find(({ id }) => id === one.providerId);
  const rows = seen
    .toSorted((a, b) => Number(a.unknown) - Number(b.unknown) || (a.name < b.name ? -1 : 1))
    .map((one) => [
      one.unknown ? 'unknown' : 'declared',
      one.kind,
      one.name,
      `at ${providerOf(one)?.name}`,
      `${one.occurrences} x`,
      one.unknown ? `risk ${one.risk.level}` : '',
    ]);
  page.lines(table(rows).map((line) => (line.startsWith('unknown') ? styled('red', line) : line)));
  const observation = seen.find(({ name, unknown }) => name === LOCAL_TOOL && unknown);
  const discovered = observation && providerOf(observation);
  if (!observation || !discovered) throw new Failure(`The server saw no unknown tool ${LOCAL_TOOL}.`);
  page.lines(['', `Why ${LOCAL_TOOL} is a risk:`, ...observation.risk.factors.map(({ reason }) => `- ${reason}`)]);
  return { discovered, observation };
}

/** Finds the two changes that the agent's own tool needs: adopt its provider, and register the tool as an item there. */
async function recommend(
  page: Page,
  { operator: client }: World,
  { discovered, observation }: { discovered: Provider; observation: RuntimeObservation },
): Promise<Recommendation[]> {
  page.section('What is recommended');
  const path = { provider_id: discovered.id };
  const { items } = await dataOf(listProviderRecommendations({ client, path, query: { status: 'open' } }));
  const wanted = items
    .filter(({ kind, observationIds }) => kind === 'adopt_provider' || observationIds.includes(observation.id))
    .toSorted(byKind);
  for (const { kind, reason } of wanted) page.say(`${kind}: ${reason}`);
  const { applied, skipped } = await dataOf(applyProviderRecommendations({ client, path, body: {} }));
  const reasons = [...new Set(skipped.map(({ reason }) => reason))].join(', ');
  page.lines(['']);
  page.say(
    `Apply all, before any review: ${applied.length} applied, ${skipped.length} skipped (${reasons}). Otherwise anyone who can send spans could grant themselves anything.`,
  );
  return wanted;
}

async function repair(
  page: Page,
  { operator: client }: World,
  about: { discovered: Provider; observation: RuntimeObservation; wanted: Recommendation[] },
): Promise<void> {
  page.section('What an operator decides');
  const review = { decision: 'approved', note: 'Bookings are what this agent is for.' } as const;
  await dataOf(reviewRuntimeObservation({ client, path: { observation_id: about.observation.id }, body: review }));
  page.say(`Review of the tool ${LOCAL_TOOL}: ${review.decision}. "${review.note}"`);
  const path = { provider_id: about.discovered.id };
  const recommendationIds = about.wanted.map(({ id }) => id);
  const dry = await dataOf(applyProviderRecommendations({ client, path, body: { recommendationIds, dryRun: true } }));
  const changes = dry.applied.toSorted(byKind).map((one) => changeLine(one, about.discovered));
  page.lines(['', 'Dry run, what would change:', ...changes]);
  const real = await dataOf(applyProviderRecommendations({ client, path, body: { recommendationIds } }));
  if (real.applied.length !== recommendationIds.length) {
    throw new Failure(`The server applied ${real.applied.length} of ${recommendationIds.length} recommendations.`);
  }
  page.lines([`Applied: ${about.wanted.map(({ kind }) => kind).join(', ')}.`]);
}

async function after(
  page: Page,
  world: World,
  { discovered, before }: { discovered: Provider; before: GatewaySession },
): Promise<void> {
  page.section('What the next session grants');
  const providerIds = [world.provider.id, discovered.id];
  const path = { gateway_id: world.gateway.id };
  await dataOf(updateGateway({ client: world.admin, path, body: { providerIds } }));
  page.say(`The gateway "${world.gateway.name}" now lists the adopted provider, too. A session of the agent grants:`);
  const next = await openSession(world, world.gateway);
  const held = new Set(before.grants.map(({ providerId }) => providerId));
  const rows = [
    ...grantsOf(before).map((row) => ['before', ...row]),
    ...grantsOf(next).map((row, index) => [
      held.has(next.grants[index]?.providerId ?? '') ? 'after' : 'after +',
      ...row,
    ]),
  ];
  page.lines(table(rows).map((line) => (line.startsWith('after +') ? styled('green', line) : line)));
  const { items: tasks } = await dataOf(listOperatorTasks({ client: world.operator, query: { status: 'open' } }));
  page.lines(['']);
  page.say(`${tasks.length} more decisions wait in the queue of the operators:`);
  const titles = tasks.map(({ title }) => title).toSorted();
  page.lines(titles.slice(0, 3).map((title) => `- ${title}`));
}

/** For each provider its name, and what the session grants of it: up to two items by name, more as counts by kind. */
function grantsOf({ grants }: GatewaySession): string[][] {
  return grants.map(({ providerName, items }) => {
    const named = items.map(({ kind, name }) => `${kind} ${name}`);
    const counted = [...Map.groupBy(items, ({ kind }) => kind)].map(
      ([kind, { length }]) => `${length} ${kind}${length === 1 ? '' : 's'}`,
    );
    return [providerName, (items.length <= 2 ? named : counted).join(', ')];
  });
}

function byKind(a: Recommendation, b: Recommendation): number {
  return a.kind < b.kind ? -1 : 1;
}

function changeLine({ change: { target, before, after } }: Recommendation, provider: Provider): string {
  const name = target.type === 'provider' ? provider.name : String(after?.['name'] ?? before?.['name']);
  const statusOf = (fields: Record<string, unknown> | null) => String(fields?.['status'] ?? 'nothing');
  return `  ${target.type} ${name}: ${statusOf(before)} -> ${statusOf(after)}`;
}
