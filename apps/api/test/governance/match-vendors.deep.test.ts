import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { all, chat, type SpanInput, sendSpans } from '../telemetry/traces/sending.ts';
import { type Declared, declare, observedIn } from './match-support.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const by = (vendor: string, address?: string) =>
  chat('m', { 'gen_ai.provider.name': vendor, ...(address !== undefined && { 'server.address': address }) });

type Row = { name: string; declared?: Declared[]; spans: SpanInput[]; observed: string[]; subTenantId?: string };

/** Providers of one platform, whose models have the same families. */
const PLATFORM: Declared[] = [
  { name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', models: ['gpt-4o'] },
  { name: 'azure', kind: 'llm', baseUrl: 'https://acme.openai.azure.com', models: ['gpt-4o'] },
  { name: 'anthropic', kind: 'llm', baseUrl: 'https://api.anthropic.com', models: ['claude-sonnet-4-5'] },
  { name: 'bedrock', kind: 'llm', models: ['anthropic.claude-sonnet-4-5-20250929-v1:0'] },
  { name: 'vertex', kind: 'llm', models: ['gemini-2.5-pro', 'claude-sonnet-4-5'] },
  { name: 'openrouter', kind: 'llm', models: ['anthropic/claude-sonnet-4.5', 'openai/gpt-4o'] },
];

const BEDROCK_ID = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const sent = (model: string, vendor?: string, address?: string) =>
  chat(model, {
    ...(vendor !== undefined && { 'gen_ai.provider.name': vendor }),
    ...(address !== undefined && { 'server.address': address }),
  });

const ROUTED: Row[] = [
  {
    name: 'a router’s prefix names the provider, if its inventory has the model',
    declared: PLATFORM,
    spans: [
      sent('openai/gpt-4o', 'litellm'),
      sent('openai/gpt-4o', 'vercel'),
      sent('openai:gpt-4o'),
      sent('anthropic/claude-sonnet-4-5'),
      sent('azure/gpt-4o', 'langchain'),
    ],
    observed: ['anthropic: model claude-sonnet-4-5 x1', 'azure: model gpt-4o x1', 'openai: model gpt-4o x3'],
  },
  {
    name: 'OpenAI’s library in front of a router: the prefix names the provider, at any address that is no vendor’s API',
    declared: PLATFORM,
    spans: [
      sent('anthropic/claude-sonnet-4-5', 'openai'),
      sent('anthropic/claude-sonnet-4-5', 'openai', 'localhost'),
      sent('anthropic/claude-sonnet-4-5', 'openai', 'litellm.corp.example'),
    ],
    observed: ['anthropic: model claude-sonnet-4-5 x3'],
  },
  {
    name: 'a router that is named or addressed keeps its traffic',
    declared: PLATFORM,
    spans: [
      sent('anthropic/claude-sonnet-4.5', 'openrouter'),
      sent('anthropic/claude-sonnet-4.5', 'openai', 'openrouter.ai'),
      sent('openrouter/anthropic/claude-sonnet-4.5', 'litellm'),
    ],
    observed: ['openrouter: model anthropic/claude-sonnet-4.5 x3'],
  },
  {
    name: 'ids of Bedrock and Vertex AI name them, also if the library of the model’s maker writes the span',
    declared: PLATFORM,
    spans: [
      sent(BEDROCK_ID),
      sent(BEDROCK_ID, 'anthropic'),
      sent(`arn:aws:bedrock:us-east-1:123456789012:inference-profile/${BEDROCK_ID}`),
      sent('projects/p/locations/us-central1/publishers/google/models/gemini-2.5-pro'),
    ],
    observed: [
      `bedrock: model ${BEDROCK_ID} x2`,
      `bedrock: model arn:aws:bedrock:us-east-1:123456789012:inference-profile/${BEDROCK_ID} x1`,
      'vertex: model projects/p/locations/us-central1/publishers/google/models/gemini-2.5-pro x1',
    ],
  },
  {
    name: 'the model behind a router is the model, whatever router is in front, and wherever it runs',
    declared: PLATFORM.filter(({ name }) => name !== 'openrouter'),
    spans: [
      sent('litellm_proxy/openai/gpt-4o'),
      sent('litellm_proxy/anthropic/claude-sonnet-4-5', 'openai'),
      sent('litellm/anthropic/claude-sonnet-4-5', undefined, 'litellm.corp.example'),
      sent('claude-sonnet-4-5', 'anthropic'),
      sent('litellm_proxy/gemini-2.5-pro'),
      sent('litellm_proxy/gemini-2.5-pro', 'openai', 'litellm.corp.example'),
      sent('gemini-2.5-pro', 'litellm_proxy'),
      sent('vercel_ai_gateway/openai/gpt-4o', 'vercel'),
      sent('openai/gpt-4o', 'vercel_ai_gateway'),
      sent('@openai/gpt-4o', 'openai', 'api.portkey.ai'),
      sent('openai/responses/gpt-4o'),
      sent('litellm_proxy/azure/gpt-4o'),
    ],
    observed: [
      'anthropic: model claude-sonnet-4-5 x3',
      'azure: model gpt-4o x1',
      'openai: model gpt-4o x4',
      'openai: model responses/gpt-4o x1',
      'vertex: model gemini-2.5-pro x3',
    ],
  },
  {
    name: 'a declared router keeps its traffic; at its address the prefix does not count',
    declared: [
      ...PLATFORM,
      {
        name: 'litellm',
        aliases: ['litellm_proxy'],
        kind: 'llm',
        baseUrl: 'https://litellm.corp.example',
        models: ['m'],
      },
      { name: 'requesty', kind: 'llm' },
    ],
    spans: [
      sent('litellm_proxy/m'),
      sent('litellm_proxy/gpt-4o', 'openai'),
      sent('m', undefined, 'litellm.corp.example'),
      sent('litellm_proxy/m', 'openai', 'litellm.corp.example'),
      sent('openai/gpt-4o', 'requesty'),
    ],
    observed: ['litellm: model gpt-4o x1', 'litellm: model m x3', 'requesty: model openai/gpt-4o x1'],
  },
  {
    name: 'a router that sells models is a provider of its own, unless the model behind it is blocked',
    declared: [
      { name: 'openai', kind: 'llm', models: ['gpt-4o'], blocked: [{ kind: 'model', name: 'gpt-5' }] },
      { name: 'azure', kind: 'llm', models: ['gpt-5'] },
    ],
    spans: [
      sent('openrouter/openai/gpt-4o'),
      sent('openai/gpt-4o', 'openrouter'),
      sent('litellm_proxy/openrouter/openai/gpt-4o'),
      sent('openrouter/openai/gpt-5'),
      sent('openai/gpt-5', 'openrouter'),
      sent('openai/gpt-5', 'openai', 'openrouter.ai'),
      sent('litellm_proxy/openrouter/openai/gpt-5'),
    ],
    observed: ['openai: model gpt-5 x4', 'openrouter?: model openai/gpt-4o x3'],
  },
  {
    name: 'an undeclared model behind a router is observed under its own name',
    spans: [
      sent('litellm_proxy/o9'),
      sent('litellm/o9', 'openai'),
      sent('@cf/meta/llama-3'),
      sent('openai/o9', 'vercel_ai_gateway'),
    ],
    observed: [
      'openai?: model o9 x1',
      'travel-agent?: model @cf/meta/llama-3 x1',
      'travel-agent?: model o9 x1',
      'vercel_ai_gateway?: model openai/o9 x1',
    ],
  },
  {
    name: 'a prefix whose provider does not have the model changes nothing: names on Hugging Face have the same form',
    declared: PLATFORM,
    spans: [sent('openai/gpt-oss-20b'), sent('mistralai/Mistral-7B', 'openai', 'vllm.corp.example')],
    observed: ['travel-agent?: model openai/gpt-oss-20b x1', 'vllm.corp.example?: model mistralai/Mistral-7B x1'],
  },
  {
    name: 'a model that several providers have and all block belongs to one of them, so that the block is noticed',
    declared: ['openai', 'azure'].map((name) => ({ name, kind: 'llm', blocked: [{ kind: 'model', name: 'gpt-4o' }] })),
    spans: [sent('gpt-4o', 'litellm')],
    observed: ['openai: model gpt-4o x1'],
  },
];

const ROWS: Row[] = [
  ...ROUTED,
  {
    name: 'a provider may be declared under any spelling of a vendor’s name',
    declared: [{ name: 'Google', kind: 'llm' }],
    spans: ['google', 'gemini', 'gcp.gemini', 'gcp.gen_ai', 'vertex_ai', 'gcp.vertex_ai'].map((one) => by(one)),
    observed: ['Google: model m x6'],
  },
  {
    name: 'of two products of a vendor, the span decides which one is used',
    declared: [
      { name: 'gcp.vertex_ai', kind: 'llm' },
      { name: 'gemini', kind: 'llm' },
    ],
    spans: [by('vertex_ai'), by('gcp.gemini')],
    observed: ['gcp.vertex_ai: model m x1', 'gemini: model m x1'],
  },
  {
    name: 'undeclared products of a vendor are discovered as separate providers',
    spans: [by('vertex_ai'), by('gemini'), by('gcp.gemini')],
    observed: ['gcp.gemini?: model m x2', 'gcp.vertex_ai?: model m x1'],
  },
  {
    name: 'a provider with another name matches if its base URL is the vendor’s API',
    declared: [
      { name: 'our models', kind: 'llm', baseUrl: 'https://api.openai.com/v1' },
      { name: 'our azure', kind: 'llm', baseUrl: 'https://corp.openai.azure.com' },
      { name: 'our bedrock', kind: 'llm', baseUrl: 'https://bedrock-runtime.eu-west-1.amazonaws.com' },
    ],
    spans: [by('openai'), by('azure'), by('aws.bedrock'), by('openai.chat')],
    observed: ['our azure: model m x1', 'our bedrock: model m x1', 'our models: model m x2'],
  },
  {
    name: 'a provider matches if the vendor’s name is one of its aliases',
    declared: [{ name: 'our models', aliases: ['acme-ai', 'OpenAI'], kind: 'llm' }],
    spans: [by('openai'), by('ACME-AI')],
    observed: ['our models: model m x2'],
  },
  {
    name: 'the vendor’s API address without a name matches, and a local address with the vendor’s name',
    declared: [{ name: 'openai', kind: 'llm' }],
    spans: [chat('m', { 'server.address': 'api.openai.com' }), by('openai', '127.0.0.1'), by('openai', 'localhost')],
    observed: ['openai: model m x3'],
  },
  {
    name: 'with another address, a call belongs to the vendor if it declares the model, else to a provider discovered by address',
    declared: [{ name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1', models: ['m'] }],
    spans: [by('openai', 'proxy.example.com'), chat('llama3', { 'server.address': 'proxy.example.com' })],
    observed: ['openai: model m x1', 'proxy.example.com?: model llama3 x1'],
  },
  {
    name: 'a model without vendor and address belongs to the declared provider that has it, if there is only one',
    declared: [
      { name: 'one', kind: 'llm', models: ['m', 'both'] },
      { name: 'other', kind: 'llm', models: ['both'] },
    ],
    spans: [chat('m-2026-01-01'), chat('both')],
    observed: ['one: model m-2026-01-01 x1', 'travel-agent?: model both x1'],
  },
  {
    name: 'without vendor and address, the name of a closed model or of an API tells the vendor, and that of an open model nothing',
    spans: [
      chat('gpt-5'),
      chat('openai/gpt-5', { 'server.address': '127.0.0.1' }),
      chat('claude-sonnet-5', { 'gen_ai.provider.name': 'langchain' }),
      chat('us.anthropic.claude-sonnet-5'),
      chat('azure/gpt-5'),
      chat('gemini-3-flash'),
      chat('grok-4'),
      chat('gpt-oss-20b'),
      chat('anthropic/claude-sonnet-5', { 'server.address': 'proxy.example.com' }),
    ],
    observed: [
      'anthropic?: model claude-sonnet-5 x1',
      'aws.bedrock?: model us.anthropic.claude-sonnet-5 x1',
      'azure.ai.openai?: model gpt-5 x1',
      'gcp.gen_ai?: model gemini-3-flash x1',
      'openai?: model gpt-5 x2',
      'proxy.example.com?: model anthropic/claude-sonnet-5 x1',
      'travel-agent?: model gpt-oss-20b x1',
      'x_ai?: model grok-4 x1',
    ],
  },
  {
    name: 'a model whose vendor is only likely never belongs to a provider that was declared with an address',
    declared: [{ name: 'openai', kind: 'llm', baseUrl: 'https://api.openai.com/v1' }],
    spans: [chat('gpt-5')],
    observed: ['travel-agent?: model gpt-5 x1'],
  },
  {
    name: 'a model that the service blocks belongs to the service, also if its name tells a vendor',
    declared: [
      { name: 'travel-agent', kind: 'agent_runtime', blocked: [{ kind: 'model', name: 'gpt-5' }] },
      { name: 'azure', kind: 'llm', models: ['gpt-5', 'gpt-5-mini'] },
      { name: 'bedrock', kind: 'llm', models: ['gpt-5-mini'] },
    ],
    spans: [chat('gpt-5'), chat('gpt-5-mini')],
    observed: ['openai?: model gpt-5-mini x1', 'travel-agent: model gpt-5 x1'],
  },
  {
    name: 'a router has one name, whether its address is known or not',
    spans: [by('requesty'), by('requesty', 'router.requesty.ai')],
    observed: ['requesty?: model m x2'],
  },
  {
    name: 'of several providers of a vendor, one that blocks the model comes first, then one that has it',
    declared: [
      { name: 'dev', kind: 'llm', baseUrl: 'https://api.openai.com/v1' },
      { name: 'prod', kind: 'llm', baseUrl: 'https://api.openai.com/v1', models: ['m'] },
      { name: 'zone', kind: 'llm', baseUrl: 'https://api.openai.com/v1', blocked: [{ kind: 'model', name: 'n' }] },
    ],
    spans: [by('openai'), chat('n', { 'gen_ai.provider.name': 'openai' })],
    observed: ['prod: model m x1', 'zone: model n x1'],
  },
  {
    name: 'an alias of a sub-tenant’s provider takes no traffic from a provider of the whole tenant',
    declared: [
      { name: 'openai', kind: 'llm' },
      { name: 'x', aliases: ['openai', 'acme-ai'], kind: 'llm', subTenantId: 'team' },
    ],
    subTenantId: 'team',
    spans: [by('openai'), by('acme-ai')],
    observed: ['openai: model m x1', 'x@team: model m x1'],
  },
  {
    name: 'an alias of another sub-tenant’s provider does not match',
    declared: [{ name: 'x', aliases: ['openai'], kind: 'llm', subTenantId: 'other' }],
    subTenantId: 'team',
    spans: [by('openai')],
    observed: ['openai?@team: model m x1'],
  },
];

describe.each(ROWS)('$name', ({ declared = [], spans, observed, subTenantId }) => {
  test('over the API', async () => {
    const tenantId = unique('vendors');
    for (const provider of declared) await declare(server, tenantId, provider);
    const place = { tenantId, subTenantId };
    const sender = await accountWithKey(server, place, ['traces:write']);
    await sendSpans(server, sender, spans);
    expect(await observedIn(server, tenantId)).toEqual(observed.toSorted());
  });
});

test('a model that is blocked at the discovered provider of a service stays there, also if its name tells a vendor', async () => {
  const tenantId = unique('vendors');
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  await sendSpans(server, sender, [chat('gpt-oss-20b')]);
  const [service] = await all(server, `/v1/providers?tenant_id=${tenantId}`, server.admin);
  const body = { kind: 'model', name: 'gpt-5', status: 'blocked' };
  await server.ok('POST', `/v1/providers/${service?.['id']}/inventory`, { as: server.admin, body });
  await sendSpans(server, sender, [chat('gpt-5')]);
  expect(await observedIn(server, tenantId)).toEqual([
    'travel-agent?: model gpt-5 x1',
    'travel-agent?: model gpt-oss-20b x1',
  ]);
});
