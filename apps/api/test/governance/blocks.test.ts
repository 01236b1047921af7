import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, mcpCall, type SpanInput, sendSpans, toolRun } from '../telemetry/traces/sending.ts';
import { type Declared, declare } from './match-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** The maximum number of spellings of one name that a run sends. */
const SPELLINGS = 400;
const SPANS_PER_REQUEST = 200;

/** How frameworks, routers and vendors write a model. */
const WRITTEN_MODELS: ((model: string) => string)[] = [
  (model) => model,
  (model) => model.toUpperCase(),
  (model) => `${model}-2026-01-01`,
  (model) => `${model}-20260101`,
  (model) => `${model}@20260101`,
  (model) => `${model}-202601`,
  (model) => `${model}-0613`,
  (model) => `${model}-05-20`,
  (model) => `${model}-latest`,
  (model) => `${model}:latest`,
  (model) => `${model}@default`,
  (model) => `${model}[1m]`,
  (model) => `${model}:free`,
  (model) => `models/${model}`,
  (model) => `anthropic.${model}-20260101-v1:0`,
  (model) => `us.anthropic.${model}-20260101-v1:0`,
  (model) => `global.anthropic.${model}-v2:0`,
  (model) => `arn:aws:bedrock:us-east-1::foundation-model/anthropic.${model}-20260101-v1:0`,
  (model) => `publishers/openai/models/${model}`,
  (model) => `projects/p/locations/l/publishers/openai/models/${model}@20260101`,
];

/** Prefixes of a model's name: the provider's name, its aliases, its vendor's names, routers. */
const PREFIXES = [
  '',
  'openai/',
  'OpenAI/',
  'openai:',
  'open_ai/',
  'corp-ai/',
  'openai/openai/',
  'Corp-AI/models/',
  'litellm_proxy/',
  'litellm/openai/',
  'openai/litellm_proxy/',
  '@openai/',
  'openai/responses/',
];

/** How frameworks write a tool of a server. */
const WRITTEN_TOOLS: ((server: string, tool: string) => string)[] = [
  (_, tool) => tool,
  (_, tool) => tool.replaceAll(/[^A-Za-z0-9_]/g, '_'),
  (_, tool) => tool.replaceAll(/[^A-Za-z0-9_]/g, '_').toLowerCase(),
  ...['__', '_', '.', '-', '/', ':', '___'].flatMap((separator) => [
    (name: string, tool: string) => `${name}${separator}${tool}`,
    (name: string, tool: string) => `${name}${separator}${tool.replaceAll(/[^A-Za-z0-9_]/g, '_')}`,
  ]),
  (name, tool) => `mcp__${name}__${tool}`,
  (name, tool) => `mcp_${name}_${tool.replaceAll('-', '_')}`,
  (name, tool) => `mcp__${name.replaceAll(/[^A-Za-z0-9_]/g, '_')}__${tool.replaceAll('-', '_')}`,
];

async function blockedTenant(declared: Declared) {
  const tenantId = unique('blocks');
  const id = await declare(server, tenantId, declared);
  return { id, sender: await accountWithKey(server, { tenantId }, ['traces:write']), tenantId };
}

async function send(sender: { key: string }, spans: readonly SpanInput[]): Promise<void> {
  for (let start = 0; start < spans.length; start += SPANS_PER_REQUEST) {
    await sendSpans(server, sender, spans.slice(start, start + SPANS_PER_REQUEST));
  }
}

/** Expects that every observation of the tenant is at the provider and shows that it is blocked. */
async function expectBlocked(tenantId: string, providerId: string, spans: readonly SpanInput[]): Promise<void> {
  const observations = await all(server, `/v1/runtime-observations?tenant_id=${tenantId}&limit=100`, server.admin);
  const shown = ({ providerId: at, evidence, risk }: Body) => ({
    names: evidence.names,
    isThere: at === providerId,
    isBlocked: risk.factors.some(({ factor }: Body) => factor === 'blocked_item'),
  });
  expect(observations.map(shown).filter(({ isThere, isBlocked }) => !isThere || !isBlocked)).toEqual([]);
  expect(observations.reduce((sum: number, { occurrences }: Body) => sum + occurrences, 0)).toBe(spans.length);
  for (const { inventoryItemId } of observations) expect(inventoryItemId).not.toBeNull();
}

describe('a block holds for every spelling', () => {
  test('of a model, with every prefix and every vendor name', async () => {
    const vendors = ['openai', 'OpenAI', 'open_ai', 'openai.chat', 'corp-ai', 'Corp-AI'];
    const spelling = fc.record({
      write: fc.constantFrom(...WRITTEN_MODELS),
      prefix: fc.constantFrom(...PREFIXES),
      vendor: fc.constantFrom(...vendors),
      model: fc.constantFrom('gpt-5-mini', 'GPT-5-Mini', 'gpt-5_mini'),
    });
    const body = { name: 'openai', aliases: ['Corp-AI'], kind: 'llm', baseUrl: 'https://api.openai.com/v1' };
    const { id, sender, tenantId } = await blockedTenant({ ...body, blocked: [{ kind: 'model', name: 'gpt-5-mini' }] });
    const random = fc
      .sample(spelling, { numRuns: SPELLINGS, seed: 20_261_122 })
      .map(({ write, prefix, vendor, model }) => chat(prefix + write(model), { 'gen_ai.provider.name': vendor }));
    const each = WRITTEN_MODELS.map((write) => chat(write('gpt-5-mini'), { 'gen_ai.provider.name': 'openai' }));
    await send(sender, [...each, ...random]);
    await expectBlocked(tenantId, id, [...each, ...random]);
  });

  test('of a tool of an MCP server', async () => {
    const tools = ['get-sum', 'Get Sum', 'search.all_items', 'x'];
    const spelling = fc.record({
      write: fc.constantFrom(...WRITTEN_TOOLS),
      tool: fc.constantFrom(...tools),
      calledBy: fc.constantFrom('every-thing', 'Every Thing', 'every_thing'),
      how: fc.constantFrom('name', 'server', 'mcp'),
    });
    const blocked = tools.slice(1).map((name) => ({ kind: 'tool', name }));
    const { id, sender, tenantId } = await blockedTenant({
      name: 'every-thing',
      kind: 'mcp',
      blocked: [...blocked, { kind: 'tool', name: 'get_number' }],
    });
    const spans = fc
      .sample(spelling, { numRuns: SPELLINGS, seed: 20_261_122 })
      .map(({ write, tool, calledBy, how }) => {
        const name = write(calledBy, tool === 'get-sum' ? 'get-number' : tool);
        if (how === 'name') return toolRun(name);
        const at = { 'mcp.server.name': calledBy };
        return how === 'server' ? toolRun(name, at) : mcpCall(name, at);
      });
    await send(sender, spans);
    await expectBlocked(tenantId, id, spans);
  });

  test('of a model that was seen before the block; declaring a dated name lifts the block for that name', async () => {
    const { id, sender, tenantId } = await blockedTenant({ name: 'openai', kind: 'llm' });
    const names = ['m', 'm-2026-01-01', 'm-2026-02-02', 'm@20260202', 'us.anthropic.m-20260202-v1:0'];
    const spans = names.map((name) => chat(name, { 'gen_ai.provider.name': 'openai' }));
    await send(sender, spans);
    const path = `/v1/providers/${id}/inventory`;
    const as = server.admin;
    const block = await server.ok('POST', path, { as, body: { kind: 'model', name: 'm', status: 'blocked' } });
    await expectBlocked(tenantId, id, spans);
    const dated = await server.ok('POST', path, { as, body: { kind: 'model', name: 'm-2026-02-02' } });
    const itemOf = async () => {
      const observations = await all(server, `/v1/providers/${id}/observations`, as);
      return new Map(observations.map(({ name, inventoryItemId }) => [name, inventoryItemId]));
    };
    expect(await itemOf()).toEqual(
      new Map([
        ['us.anthropic.m-20260202-v1:0', dated.id],
        ['m@20260202', dated.id],
        ['m-2026-02-02', dated.id],
        ['m-2026-01-01', block.id],
        ['m', block.id],
      ]),
    );
    await server.ok('DELETE', `${path}/${dated.id}`, { as });
    await expectBlocked(tenantId, id, spans);
    await server.ok('PUT', `${path}/${block.id}`, { as, body: { status: 'available' } });
    const { items } = await server.ok('GET', `/v1/providers/${id}/observations?unknown=true`, { as });
    expect(items).toEqual([]);
  });

  test('of a model that answers under the name of a deployment or of another model', async () => {
    const { id, sender, tenantId } = await blockedTenant({
      name: 'openai',
      kind: 'llm',
      blocked: [{ kind: 'model', name: 'gpt-4o' }],
    });
    const as = server.admin;
    const answeredBy = (requested: string, model: string) =>
      chat(requested, { 'gen_ai.provider.name': 'openai', 'gen_ai.response.model': model });
    await send(sender, [
      answeredBy('prod-deployment', 'gpt-4o-2024-08-06'),
      answeredBy('gpt-5', 'gpt-5-2026-01-01'),
      answeredBy('gpt-5', 'gpt-4o'),
      answeredBy('staging', 'o9'),
    ]);
    const blockedBy = async (blocking: string) => {
      const observations = await all(server, `/v1/runtime-observations?tenant_id=${tenantId}`, as);
      return observations
        .filter(({ risk }) =>
          risk.factors.some(
            ({ factor, reason }: Body) =>
              factor === 'blocked_item' && reason.startsWith(`The inventory blocks ${blocking}, but`),
          ),
        )
        .map(({ name, risk: { level }, evidence }) => [name, level, evidence.responseModels])
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
    };
    expect(await blockedBy('gpt-4o')).toEqual([
      ['gpt-5', 'high', ['gpt-5-2026-01-01', 'gpt-4o']],
      ['prod-deployment', 'high', ['gpt-4o-2024-08-06']],
    ]);
    // One item is blocked later, another one is unblocked.
    const path = `/v1/providers/${id}/inventory`;
    await server.ok('POST', path, { as, body: { kind: 'model', name: 'o9', status: 'blocked' } });
    expect(await blockedBy('o9')).toEqual([['staging', 'high', ['o9']]]);
    const { items } = await server.ok('GET', `${path}?kind=model`, { as });
    const blocked = items.find(({ name }: Body) => name === 'gpt-4o');
    await server.ok('PUT', `${path}/${blocked.id}`, { as, body: { status: 'available' } });
    expect(await blockedBy('gpt-4o')).toEqual([]);
  });
});
