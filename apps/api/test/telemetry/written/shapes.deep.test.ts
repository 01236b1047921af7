import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { compare } from '../recordings/compare.ts';
import { replay } from '../recordings/replay.ts';
import { CONTENT, type Program, recordingOf } from './program.ts';

// Shapes of telemetry that unknown frameworks may send. No framework is meant: these programs are invented.

type Shape = Pick<Program, 'spans' | 'logs' | 'models' | 'tools' | 'agents' | 'resource'>;

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
};

const GPT = { name: 'gpt-5-mini', vendor: 'openai', calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 };
const CLAUDE = { ...GPT, name: 'claude-sonnet-5', vendor: 'anthropic' };

const SHAPES: Readonly<Record<string, Shape>> = {
  'a model, a tool and an agent under names with an unknown prefix': {
    spans: [
      {
        name: 'acme.agent',
        attributes: { 'acme.agent.name': 'weather_agent', 'acme.agent.goal': CONTENT },
        inside: [
          {
            name: 'step',
            attributes: {
              'acme.model_name': 'gpt-5-mini',
              'acme.model.provider': 'OpenAI',
              'acme.usage.inputTokens': 21n,
              'acme.usage.outputTokens': 8n,
              'acme.usage.cachedInputTokens': 3n,
              'acme.prompt': CONTENT,
            },
          },
          { name: 'acme.tool', attributes: { 'acme.toolName': 'get_weather', 'acme.toolArgs': CONTENT } },
        ],
      },
    ],
    models: [GPT],
    tools: [{ name: 'get_weather', calls: 1 }],
    agents: ['weather_agent'],
  },
  'names without a prefix': {
    spans: [
      {
        name: 'llm_call',
        attributes: {
          model: 'claude-sonnet-5',
          provider: 'Anthropic',
          prompt_tokens: '21',
          completion_tokens: '8',
          prompt: CONTENT,
        },
      },
      { name: 'tool_call', attributes: { tool_name: 'get_weather', tool_input: CONTENT } },
    ],
    models: [CLAUDE],
    tools: [{ name: 'get_weather', calls: 1 }],
  },
  'the kind of a span in an attribute, and the subject in its name': {
    spans: [
      {
        name: 'weather_agent',
        attributes: { 'acme.span.kind': 'AGENT', 'acme.input': CONTENT },
        inside: [
          { name: 'get_weather', attributes: { 'acme.span.kind': 'TOOL', 'acme.input': CONTENT } },
          { name: 'what is the weather in Paris?', attributes: { 'acme.span.kind': 'TOOL' } },
          {
            name: 'generate',
            attributes: { 'acme.span_type': 'llm', 'acme.llm.model': 'gpt-5-mini', 'acme.llm.provider': 'openai' },
          },
        ],
      },
    ],
    models: [{ ...GPT, inputTokens: 0, outputTokens: 0 }],
    tools: [{ name: 'get_weather', calls: 1 }],
    agents: ['weather_agent'],
  },
  'names that only resemble models, tools and agents': {
    spans: [
      {
        name: 'GET /cars',
        kind: 'client',
        attributes: {
          'device.model.name': 'iPhone',
          'vehicle.model': 'golf',
          'agent.name': 'nodejs',
          'tool.name': 'hammer',
          'cloud.provider': 'aws',
          'span.kind': 'client',
        },
      },
      { name: 'read sensor', attributes: { 'sensor.model': 'T1000', provider: 'azure' } },
      { name: 'assign agent', attributes: { 'agent.name': 'Zoe Zebra', 'agent.id': '7' } },
      { name: 'save', attributes: { 'orm.model': 'Invoice', 'orm.provider.name': 'mysql' } },
      { name: 'toolchain setup', attributes: { tool: 'gcc' } },
      { name: 'rent', attributes: { tool: 'hammer' } },
    ],
  },
  'operations in other spellings': {
    spans: [
      {
        name: 'run',
        attributes: {
          'gen_ai.operation.name': 'InvokeAgent',
          'gen_ai.agent.name': 'weather_agent',
          'gen_ai.request.model': 'gpt-5-mini',
        },
        inside: [
          { name: 'ask', attributes: { ...CHAT, 'gen_ai.operation.name': 'TextCompletion' } },
          { name: 'act', attributes: { 'gen_ai.operation.name': 'execute-tool', 'gen_ai.tool.name': 'get_weather' } },
        ],
      },
    ],
    models: [GPT],
    tools: [{ name: 'get_weather', calls: 1 }],
    agents: ['weather_agent'],
  },
  'hooks and approvals of a tool call': {
    spans: [
      {
        name: 'acme.tool',
        attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'read_file' },
        inside: [
          { name: 'acme.hook', attributes: { 'tool.name': 'read_file', hook_event: 'PreToolUse' }, failed: true },
          { name: 'acme.tool.approval', attributes: { 'tool.name': 'read_file' } },
        ],
      },
      { name: 'acme.permission.ask', attributes: { 'tool.name': 'delete_file' } },
    ],
    tools: [{ name: 'read_file', calls: 1, failed: 0 }],
  },
  'a tool in an attribute without a namespace': {
    spans: [{ name: 'Toolkit.handle', attributes: { tool: 'get_weather', parameters: CONTENT } }],
    tools: [{ name: 'get_weather', calls: 1 }],
  },
  'chunks and attempts of a call': {
    spans: [
      {
        name: 'chat gpt-5-mini',
        kind: 'client',
        attributes: CHAT,
        inside: [
          { name: 'attempt', attributes: { 'gen_ai.request.model': 'gpt-5-mini' }, failed: false },
          { name: 'chunk', attributes: { 'gen_ai.response.model': 'gpt-5-mini', 'gen_ai.chunk': CONTENT } },
          { name: 'POST', kind: 'client', attributes: { 'server.address': 'api.openai.com', 'url.full': CONTENT } },
        ],
      },
    ],
    models: [GPT],
  },
  'two calls of one model inside a run that repeats it, around agents and tools': {
    spans: [
      {
        name: 'run',
        attributes: { ...CHAT, 'gen_ai.operation.name': 'run', 'gen_ai.usage.input_tokens': 42n },
        inside: [
          {
            name: 'invoke_agent weather_agent',
            attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'weather_agent' },
            inside: [
              { name: 'chat gpt-5-mini', kind: 'client', attributes: CHAT },
              {
                name: 'execute_tool ask_expert',
                attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'ask_expert' },
                inside: [{ name: 'chat gpt-5-mini', kind: 'client', attributes: CHAT }],
              },
            ],
          },
        ],
      },
    ],
    models: [{ ...GPT, calls: 2, inputTokens: 42, outputTokens: 16 }],
    tools: [{ name: 'ask_expert', calls: 1 }],
    agents: ['weather_agent'],
  },
  'parallel calls of one tool': {
    spans: [
      {
        name: 'invoke_agent weather_agent',
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'weather_agent' },
        inside: ['call_1', 'call_2', 'call_3'].map((id) => ({
          name: 'execute_tool get_weather',
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': 'get_weather',
            'gen_ai.tool.call.id': id,
            'gen_ai.tool.call.arguments': { city: CONTENT },
          },
        })),
      },
    ],
    tools: [{ name: 'get_weather', calls: 3 }],
    agents: ['weather_agent'],
  },
  'an answer under an operation of its own that names the tool it asks for': {
    spans: [
      {
        name: 'responses gpt-5-mini',
        attributes: { ...CHAT, 'gen_ai.operation.name': 'responses', 'gen_ai.tool.name': 'get_weather' },
      },
    ],
    models: [GPT],
  },
  'evaluations and guardrails that name a model, of which one asks it': {
    spans: [
      { name: 'evaluate', attributes: { 'gen_ai.operation.name': 'evaluate', 'gen_ai.request.model': 'gpt-5-judge' } },
      {
        name: 'apply_guardrail pii',
        attributes: { ...CHAT, 'gen_ai.operation.name': 'apply_guardrail', 'gen_ai.guardrail.name': 'pii' },
      },
    ],
    logs: [
      {
        event: 'gen_ai.evaluation.result',
        attributes: { 'gen_ai.evaluation.name': 'relevance', 'gen_ai.request.model': 'gpt-5-judge' },
      },
    ],
    models: [GPT],
  },
  'image, speech and realtime models, and a reranker': {
    spans: [
      ['image_generation', 'gpt-image-1'],
      ['speech', 'tts-1'],
      ['realtime', 'gpt-realtime'],
      ['rerank', 'rerank-1'],
    ].map(([operation = '', model = '']) => ({
      name: `${operation} ${model}`,
      attributes: { 'gen_ai.operation.name': operation, 'gen_ai.system': 'openai', 'gen_ai.request.model': model },
    })),
    models: ['gpt-image-1', 'tts-1', 'gpt-realtime', 'rerank-1'].map((name) => {
      return { ...GPT, name, inputTokens: 0, outputTokens: 0 };
    }),
  },
  'placeholders instead of names, and an error without a status': {
    spans: [
      {
        name: 'chat',
        kind: 'client',
        attributes: { ...CHAT, 'gen_ai.response.model': 'none', 'gen_ai.agent.name': 'unknown', 'error.type': '429' },
      },
      { name: 'chat', attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'unknown' } },
      { name: 'execute_tool', attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'null' } },
    ],
    models: [{ ...GPT, failed: 1 }],
  },
  'a vendor by its host, and by spellings with other separators': {
    spans: ['api.anthropic.com', 'https://api.anthropic.com/v1', 'plugins/anthropic', 'Anthropic AI'].map((vendor) => ({
      name: 'chat',
      kind: 'client' as const,
      attributes: { ...CHAT, 'gen_ai.provider.name': vendor, 'gen_ai.request.model': 'claude-sonnet-5' },
    })),
    models: [{ ...CLAUDE, calls: 4, inputTokens: 84, outputTokens: 32 }],
  },
  'an agent that calls others: by a tool, by a tool that hands over, and by A2A': {
    spans: [
      {
        name: 'invoke_agent source',
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'source' },
        inside: [
          {
            name: 'execute_tool ask_weather weather_agent',
            attributes: {
              ...transfer('ask_weather', 'weather_agent'),
              'gen_ai.transfer.mode': 'return_to_caller',
            },
            inside: [
              {
                name: 'invoke_agent weather_agent',
                attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'weather_agent' },
              },
            ],
          },
          {
            name: 'GetTask',
            kind: 'client',
            attributes: { 'a2a.method.name': 'GetTask', 'gen_ai.agent.name': 'billing_agent' },
          },
          {
            name: 'SendMessage',
            kind: 'client',
            attributes: {
              'a2a.method.name': 'SendMessage',
              'gen_ai.agent.name': 'refund_agent',
              'gen_ai.agent.description': CONTENT,
              'server.address': 'refunds.example.com',
            },
            inside: [
              {
                name: 'SendMessage',
                kind: 'server',
                attributes: { 'a2a.method.name': 'SendMessage', 'gen_ai.agent.name': 'refund_agent' },
                inside: [{ name: 'chat gpt-5-mini', kind: 'client', attributes: CHAT }],
              },
            ],
          },
          {
            name: 'execute_tool transfer_to_news_agent news_agent',
            attributes: {
              ...transfer('transfer_to_news_agent', 'news_agent'),
              'gen_ai.transfer.mode': 'pass_control',
            },
          },
        ],
      },
    ],
    models: [GPT],
    agents: ['source', 'weather_agent', 'refund_agent'],
  },
  'an answer that is fetched in a later trace': {
    spans: [
      { name: 'chat gpt-5-mini', kind: 'client', attributes: { ...CHAT, 'gen_ai.response.id': 'resp_1' } },
      {
        name: 'fetch_response gpt-5-mini',
        kind: 'client',
        attributes: {
          'gen_ai.operation.name': 'fetch_response',
          'gen_ai.provider.name': 'openai',
          'gen_ai.response.model': 'gpt-5-mini',
          'gen_ai.response.id': 'resp_1',
        },
      },
    ],
    models: [GPT],
  },
};

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

test.each(Object.entries(SHAPES))('%s', async (name, shape) => {
  const id = name.replaceAll(' ', '-');
  const recording = recordingOf({ id, framework: '', version: '', source: '', setUp: '', scope: 'acme', ...shape });
  const outcome = await replay(server, recording, 'available');
  const blocked = await replay(server, recording, 'blocked');
  expect(compare(recording, { outcome, blocked }).deviations).toEqual([]);
});

/** The attributes of a tool that transfers to an agent. */
function transfer(tool: string, target: string) {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.agent.name': 'source',
    'gen_ai.transfer.target.name': target,
  };
}
