import { setTimeout as sleep } from 'node:timers/promises';
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  applyProviderRecommendations,
  createGateway,
  createProvider,
  listRuntimeObservations,
  type Provider,
  type RuntimeObservation,
  reviewRuntimeObservation,
  syncProviderInventory,
} from '@quartermaster/client';
import type { Client } from '@quartermaster/client/client/index.ts';
import { AGENT } from './agent.ts';
import { ADDED_TOOL, type BookingsServer, FIRST_TOOL, startBookingsServer } from './bookings-server.ts';
import { dataOf } from './calls.ts';
import { Failure } from './failure.ts';
import { type Page, styled } from './page.ts';
import { openSession, type World } from './world.ts';

/** Far longer than a denial takes to become an observation (1 s), or an approval to take effect (5 s). */
const TIME_LIMIT_MS = 30_000;

const POLL_MS = 250;

/** Shows how a gateway denies a call, and lets it pass after an approval: in one session of the agent, through the MCP proxy. */
export async function showEnforcement(page: Page, world: World): Promise<void> {
  const bookings = await startBookingsServer();
  try {
    const { provider, gatewayUrl, token } = await declare(page, world, bookings);
    const agent = new McpClient({ name: AGENT, version: '1.0.0' });
    const headers = { Authorization: `Bearer ${token}` };
    await agent.connect(new StreamableHTTPClientTransport(new URL(gatewayUrl), { requestInit: { headers } }));
    try {
      await callBoth(page, agent);
      await approve(page, world, provider);
      await callAgain(page, agent);
    } finally {
      await agent.close();
    }
  } finally {
    await bookings.stop();
  }
}

/** Declares the MCP server, and a gateway that passes on to it only what is declared. */
async function declare(
  page: Page,
  world: World,
  bookings: BookingsServer,
): Promise<{ provider: Provider; gatewayUrl: string; token: string }> {
  const { url, tenantId, admin: client } = world;
  page.section('What a gateway enforces');
  const declared = { name: 'bookings', kind: 'mcp', baseUrl: bookings.url, tenantId } as const;
  const provider = await dataOf(createProvider({ client, body: declared }));
  await dataOf(syncProviderInventory({ client, path: { provider_id: provider.id } }));
  bookings.addTool();
  page.say(
    `A second MCP server, "${provider.name}", was synced with one tool, ${FIRST_TOOL}. After that its owner added ${ADDED_TOOL}. The agent reaches the server only through the MCP proxy of a gateway in the mode enforce:`,
  );
  const strict = {
    name: 'strict',
    providerIds: [provider.id],
    enforcement: 'enforce' as const,
    mcpProxy: 'on' as const,
    tenantId,
  };
  const gateway = await dataOf(createGateway({ client, body: strict }));
  const gatewayUrl = `${url}/v1/gateways/${gateway.id}/mcp/${provider.name}`;
  page.lines(['', `  ${gatewayUrl}`, '']);
  const { token } = await openSession(world, gateway);
  return { provider, gatewayUrl, token };
}

async function callBoth(page: Page, agent: McpClient): Promise<void> {
  const { tools } = await agent.listTools();
  page.say(`The agent is offered ${tools.map(({ name }) => name).join(', ')} alone. It calls both tools:`);
  const first = await callTool(agent, FIRST_TOOL);
  const added = await callTool(agent, ADDED_TOOL);
  if (first.isError || !added.isError) throw new Failure(`The gateway did not deny ${ADDED_TOOL} alone.`);
  const [reason = '', link = ''] = added.text.split(/(?=http)/);
  page.say(`${FIRST_TOOL} -> ${first.text}`);
  page.say(`${ADDED_TOOL} -> ${reason.trim()}`);
  page.lines([`  ${styled('cyan', link)}`, '']);
}

/** What the operator does who follows the link. */
async function approve(page: Page, { operator: client }: World, provider: Provider): Promise<void> {
  const { id } = await observationOf(client, provider);
  const review = { decision: 'approved', note: 'Guests may cancel.' } as const;
  await dataOf(reviewRuntimeObservation({ client, path: { observation_id: id }, body: review }));
  const path = { provider_id: provider.id };
  const { applied } = await dataOf(applyProviderRecommendations({ client, path, body: {} }));
  if (applied.length === 0) throw new Failure(`The server recommended nothing about ${ADDED_TOOL}.`);
  page.say(
    `The operator follows the link, approves the tool, and applies ${applied.map(({ kind }) => kind).join(', ')}.`,
  );
}

/** The observation that the denial left. Denials are written once in a second. */
async function observationOf(client: Client, provider: Provider): Promise<RuntimeObservation> {
  const query = { provider_id: provider.id };
  return poll(`The server recorded no denial of ${ADDED_TOOL}.`, async () => {
    const { items } = await dataOf(listRuntimeObservations({ client, query }));
    return items.find(({ name, denials }) => name === ADDED_TOOL && denials > 0);
  });
}

/** The agent repeats the call until the approval has taken effect. */
async function callAgain(page: Page, agent: McpClient): Promise<void> {
  const from = performance.now();
  const { text } = await poll(`The gateway still denies ${ADDED_TOOL}.`, async () => {
    const answer = await callTool(agent, ADDED_TOOL);
    return answer.isError ? undefined : answer;
  });
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  page.say(`After ${seconds} s the agent's call goes through, in the same session:`);
  page.lines([styled('green', `${ADDED_TOOL} -> ${text}`)]);
}

async function callTool(agent: McpClient, name: string): Promise<{ isError: boolean; text: string }> {
  const { content, isError = false } = await agent.callTool({ name });
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { isError, text };
}

/** @throws {Failure} if there is nothing within the limit of time */
async function poll<T>(failure: string, read: () => Promise<T | undefined>): Promise<T> {
  const until = performance.now() + TIME_LIMIT_MS;
  for (;;) {
    const found = await read();
    if (found !== undefined) return found;
    if (performance.now() > until) throw new Failure(failure);
    await sleep(POLL_MS);
  }
}
