import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { expectNoContent, inOrder, runAgent, SAYS_NOTHING } from './run-agent.ts';

// What three instrumentations send, run as processes of their own. docs/frameworks.md has the recordings of many more.

/** A process of its own loads an SDK and an instrumentation: seconds on a busy machine. */
const TIME_LIMIT_MS = 60_000;

/** What each program asks of the model's server: two chats around a tool, a streamed one, an embedding. */
const REQUESTS = ['/v1/chat/completions', '/v1/chat/completions', '/v1/chat/completions', '/v1/embeddings'];

const TOKENS = { inputTokens: 21, outputTokens: 8 };

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

test(
  '@opentelemetry/instrumentation-openai: models, at the provider of the address',
  async () => {
    const traffic = await runAgent(server, 'openai', { declaresLocal: true });
    expect(traffic.requests).toEqual(REQUESTS);
    const chat = { ...SAYS_NOTHING, operation: 'chat', provider: 'openai', model: 'gpt-5-mini', ...TOKENS };
    const embedding = { operation: 'embeddings', provider: 'openai', model: 'text-embedding-3-small', inputTokens: 4 };
    expect(traffic.genAi).toEqual([
      ['chat gpt-5-mini', chat],
      ['chat gpt-5-mini', chat],
      ['chat gpt-5-mini', chat],
      ['embeddings text-embedding-3-small', { ...SAYS_NOTHING, ...embedding }],
    ]);
    expect(traffic.observed).toEqual([
      { provider: 'local-models', kind: 'model', name: 'gpt-5-mini', unknown: false, occurrences: 3 },
      { provider: 'local-models', kind: 'model', name: 'text-embedding-3-small', unknown: true, occurrences: 1 },
    ]);
    expectNoContent(traffic);
  },
  TIME_LIMIT_MS,
);

test(
  '@opentelemetry/instrumentation-openai: an address of nobody is not OpenAI, whatever the client says',
  async () => {
    const traffic = await runAgent(server, 'openai', { declaresLocal: false });
    expect(traffic.observed).toEqual([
      { provider: '127.0.0.1', kind: 'model', name: 'gpt-5-mini', unknown: true, occurrences: 3 },
      { provider: '127.0.0.1', kind: 'model', name: 'text-embedding-3-small', unknown: true, occurrences: 1 },
    ]);
  },
  TIME_LIMIT_MS,
);

test(
  '@arizeai/openinference-instrumentation-langchain: models by vendor, tools and agents by service',
  async () => {
    const traffic = await runAgent(server, 'langchain', { declaresLocal: true });
    expect(traffic.requests).toEqual(REQUESTS);
    const within = { ...SAYS_NOTHING, agent: 'weather_agent', conversationId: 'conversation-1' };
    const chat = { operation: 'chat', provider: 'openai', model: 'gpt-5-mini' };
    const told = traffic.genAi.filter(([, genAi]) => genAi.operation !== null);
    expect(told).toEqual(
      inOrder([
        ['weather_agent', { ...within, operation: 'invoke_agent' }],
        ['ChatOpenAI', { ...within, ...chat, ...TOKENS }],
        ['get_weather', { ...within, operation: 'execute_tool', tool: 'get_weather' }],
        ['ChatOpenAI', { ...within, ...chat, ...TOKENS }],
        // A stream's usage does not reach the span.
        ['ChatOpenAI', { ...SAYS_NOTHING, ...chat }],
      ]),
    );
    // The graph's own steps are chains: they say whose they are, and count as nothing.
    const steps = traffic.genAi.filter(([, genAi]) => genAi.operation === null);
    expect(steps.map(([name]) => name).toSorted()).toEqual([
      ...['RunnableLambda', 'RunnableLambda', '__start__', 'model_request', 'model_request', 'tools'],
    ]);
    expect(steps.map(([, genAi]) => genAi)).toEqual(steps.map(() => within));
    expect(traffic.observed).toEqual([
      { provider: 'langchain-agent', kind: 'agent', name: 'weather_agent', unknown: true, occurrences: 1 },
      { provider: 'langchain-agent', kind: 'tool', name: 'get_weather', unknown: true, occurrences: 1 },
      { provider: 'openai', kind: 'model', name: 'gpt-5-mini', unknown: false, occurrences: 3 },
    ]);
    expectNoContent(traffic);
  },
  TIME_LIMIT_MS,
);

test(
  '@traceloop/node-server-sdk: models by vendor, tools, agents and workflows by service',
  async () => {
    const traffic = await runAgent(server, 'traceloop', { declaresLocal: true });
    expect(traffic.requests).toEqual(REQUESTS);
    const agent = { ...SAYS_NOTHING, agent: 'weather_agent' };
    const chat = { operation: 'chat', provider: 'openai', model: 'gpt-5-mini' };
    const conversation = { ...SAYS_NOTHING, conversationId: 'conversation-1' };
    expect(traffic.genAi).toEqual(
      inOrder([
        ['forecast.workflow', { ...SAYS_NOTHING, operation: 'invoke_workflow' }],
        ['weather_agent.agent', { ...agent, operation: 'invoke_agent' }],
        ['chat gpt-5-mini', { ...agent, ...chat, ...TOKENS }],
        ['get_weather.tool', { ...agent, operation: 'execute_tool', tool: 'get_weather' }],
        ['chat gpt-5-mini', { ...agent, ...chat, ...TOKENS }],
        ['conversation.conversation-1.workflow', { ...conversation, operation: 'invoke_workflow' }],
        // Of a stream it drops the usage; of an embedding it makes no span.
        ['chat gpt-5-mini', { ...conversation, ...chat }],
      ]),
    );
    expect(traffic.observed).toEqual([
      { provider: 'openai', kind: 'model', name: 'gpt-5-mini', unknown: false, occurrences: 3 },
      { provider: 'traceloop-agent', kind: 'agent', name: 'forecast', unknown: true, occurrences: 1 },
      { provider: 'traceloop-agent', kind: 'agent', name: 'weather_agent', unknown: true, occurrences: 1 },
      { provider: 'traceloop-agent', kind: 'tool', name: 'get_weather', unknown: true, occurrences: 1 },
    ]);
    expectNoContent(traffic);
  },
  TIME_LIMIT_MS,
);
