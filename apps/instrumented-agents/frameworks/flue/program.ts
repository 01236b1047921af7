/**
 * An agent of Flue with a local tool, tools of an MCP server and a subagent on another vendor's model, and a run that fails. Flue
 * streams every answer.
 */
import { createProvider, envApiKeyAuth } from '@earendil-works/pi-ai';
import { anthropicMessagesApi } from '@earendil-works/pi-ai/api/anthropic-messages.lazy';
import { openAIResponsesApi } from '@earendil-works/pi-ai/api/openai-responses.lazy';
import { createOpenTelemetryInstrumentation } from '@flue/opentelemetry';
import {
  defineTool,
  init,
  instrument,
  setProvider,
  useMcpConnection,
  useModel,
  useSubagent,
  useTool,
} from '@flue/runtime';
import { start } from '@flue/runtime/node';
import { NodeSDK } from '@opentelemetry/sdk-node';
import * as v from 'valibot';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpUrl, modelServerUrl } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const dispose = instrument(createOpenTelemetryInstrumentation());

const UNPRICED = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const MODEL = { reasoning: false, input: ['text'], cost: UNPRICED, contextWindow: 200_000, maxTokens: 4096 } as const;
const OPENAI = { provider: 'openai', api: 'openai-responses', baseUrl: `${modelServerUrl}/v1` } as const;
const ANTHROPIC = { provider: 'anthropic', api: 'anthropic-messages', baseUrl: modelServerUrl } as const;
setProvider(
  createProvider({
    id: 'openai',
    auth: { apiKey: envApiKeyAuth('OpenAI API key', ['OPENAI_API_KEY']) },
    models: [{ ...MODEL, ...OPENAI, id: 'gpt-5-mini', name: 'GPT-5 mini', input: ['text'] }],
    api: openAIResponsesApi(),
  }),
);
setProvider(
  createProvider({
    id: 'anthropic',
    auth: { apiKey: envApiKeyAuth('Anthropic API key', ['ANTHROPIC_API_KEY']) },
    models: [{ ...MODEL, ...ANTHROPIC, id: 'claude-sonnet-5', name: 'Claude Sonnet 5', input: ['text'] }],
    api: anthropicMessagesApi(),
  }),
);

const getWeather = defineTool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  input: v.object({ city: v.string() }),
  run() {
    countTool('get_weather');
    return { output: { weather: MARKERS.toolResult } };
  },
});
function Umbrella() {
  countAgent('weather_agent');
  return MARKERS.instructions;
}

function Weather() {
  countAgent('Weather');
  useModel('openai/gpt-5-mini');
  useTool(getWeather);
  useMcpConnection({ name: 'everything', url: mcpUrl ?? '', tools: ['echo', 'get-sum'] });
  useSubagent({
    name: 'weather_agent',
    description: MARKERS.toolDescription,
    agent: Umbrella,
    model: 'anthropic/claude-sonnet-5',
  });
  return MARKERS.instructions;
}

await using _flue = await start({ agents: [Weather] });
const agent = init(Weather, { id: 'conversation-1' });
await agent.read(await agent.dispatch(MARKERS.question));
const failing = init(Weather, { id: 'conversation-2' });
await failing.read(await failing.dispatch(MARKERS.fail)).catch(() => undefined);
await dispose();
await telemetry.shutdown();
