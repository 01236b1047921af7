import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountWithKey, unique } from '../../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../../support/server.ts';
import { all, type SpanInput, sendSpans } from '../traces/sending.ts';

// A block applies to every spelling that frameworks use for a model or tool. The spellings come from the recordings.

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

type Attributes = NonNullable<SpanInput['attributes']>;

/** Where frameworks write vendor and model. */
const MODEL_SPANS: ((vendor: string, model: string) => Attributes)[] = [
  (vendor, model) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': vendor,
    'gen_ai.request.model': model,
  }),
  (vendor, model) => ({ 'gen_ai.system': vendor, 'gen_ai.request.model': model }),
  (vendor, model) => ({ 'gen_ai.system': vendor, 'gen_ai.response.model': model }),
  (vendor, model) => ({ 'openinference.span.kind': 'LLM', 'llm.system': vendor, 'llm.model_name': model }),
  (vendor, model) => ({ 'llm.request.type': 'chat', 'gen_ai.system': vendor, 'gen_ai.request.model': model }),
];

const DATES = ['', '-2026-01-01', '-20260101', '@20260101'];

const VENDORS: { provider: string; model: string; vendors: string[]; prefixes: string[] }[] = [
  {
    provider: 'openai',
    model: 'gpt-5-mini',
    vendors: ['openai', 'OpenAI', 'openai.chat', 'openai.responses', 'openai.embedding'],
    prefixes: ['', 'openai/'],
  },
  {
    provider: 'google',
    model: 'gemini-3-flash',
    vendors: ['google', 'gemini', 'gcp.gemini', 'gcp.gen_ai', 'gcp.vertex_ai', 'vertex_ai', 'google_genai', 'vertexai'],
    prefixes: ['', 'models/', 'google/', 'gemini/'],
  },
  {
    provider: 'anthropic',
    model: 'claude-sonnet-5',
    vendors: ['anthropic', 'Anthropic', 'anthropic.messages'],
    prefixes: ['', 'anthropic/'],
  },
];

test.each(VENDORS)(
  'every spelling of $model of $provider is blocked',
  async ({ provider, model, vendors, prefixes }) => {
    const { sender, unblocked } = await tenantThatBlocks(
      { name: provider, kind: 'llm' },
      { kind: 'model', name: model },
    );
    const names = prefixes.flatMap((prefix) => DATES.map((date) => `${prefix}${model}${date}`));
    const spellings = [...names, model.toUpperCase()];
    const attributes = MODEL_SPANS.flatMap((write) =>
      vendors.flatMap((vendor) => spellings.map((name) => write(vendor, name))),
    );
    await sendSpans(
      server,
      sender,
      attributes.map((own) => ({ attributes: own })),
    );
    expect(await unblocked('model')).toEqual([]);
  },
);

const SERVER = 'everything';
const TOOL = 'get-sum';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** How frameworks write the MCP tool `get-sum` of the server `everything`. */
const TOOL_NAMES = [
  'get-sum',
  'get_sum',
  'mcp__everything__get-sum',
  'mcp__everything__get_sum',
  'mcp_everything_get_sum',
  'mcp_everything_get-sum',
  'everything_get-sum',
  'everything_get_sum',
  'everything__get-sum',
  'everything-get-sum',
  'everything.get-sum',
  'everything/get-sum',
];

/** Copilot replaces the names of servers and their tools. */
const HASHED: Attributes = {
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': sha256(TOOL),
  'mcp.server.name': sha256(SERVER),
};

/** The attributes in which frameworks write the tool and sometimes its server. */
const TOOL_SPANS: ((name: string) => Attributes)[] = [
  (name) => ({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name }),
  (name) => ({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, 'gen_ai.provider.name': 'openai' }),
  (name) => ({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, 'mcp.server.name': SERVER }),
  (name) => ({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, 'server.address': SERVER }),
  (name) => ({ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': name, 'mcp.server.name': SERVER }),
  (name) => ({ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': name }),
  (name) => ({ 'openinference.span.kind': 'TOOL', 'tool.name': name, 'llm.system': 'openai' }),
  (name) => ({ 'traceloop.span.kind': 'tool', 'traceloop.entity.name': name }),
];

test('every spelling of a tool of an MCP server is blocked', async () => {
  const { sender, unblocked } = await tenantThatBlocks({ name: SERVER, kind: 'mcp' }, { kind: 'tool', name: TOOL });
  const attributes = [HASHED, ...TOOL_SPANS.flatMap((write) => TOOL_NAMES.map(write))];
  await sendSpans(
    server,
    sender,
    attributes.map((own) => ({ attributes: own })),
  );
  expect(await unblocked('tool')).toEqual([]);
});

/** A tenant that blocks one item. `unblocked` returns the observations of the kind that are not shown as blocked. */
async function tenantThatBlocks(provider: { name: string; kind: string }, item: { kind: string; name: string }) {
  const place = { tenantId: unique('blocks') };
  const as = await accountWithKey(server, place);
  const { id } = await server.ok('POST', '/v1/providers', { as, body: provider });
  await server.ok('POST', `/v1/providers/${id}/inventory`, { as, body: { ...item, status: 'blocked' } });
  return {
    sender: await accountWithKey(server, place, ['traces:write']),
    unblocked: async (kind: string): Promise<string[]> => {
      const observed = await all(server, '/v1/runtime-observations?limit=100', as);
      const own = observed.filter((one) => one.kind === kind);
      expect(own).not.toEqual([]);
      const isBlocked = ({ risk }: Body) => risk.factors.some(({ factor }: Body) => factor === 'blocked_item');
      return own.filter((one) => !isBlocked(one)).flatMap(({ evidence }) => evidence.names);
    },
  };
}
