/**
 * Neatlogs: agents of the OpenAI Agents SDK, one with a local tool and MCP tools that hands over to another one; the clients of
 * Anthropic and Google, each with an answer, a stream and a failure; an embedding.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { Agent, addTraceProcessor, MCPServerStdio, run, tool } from '@openai/agents';
import { init, shutdown, span } from 'neatlogs';
import { wrapAnthropic } from 'neatlogs/anthropic';
import { wrapGoogleGenAI } from 'neatlogs/google-genai';
import { openaiAgentsProcessor } from 'neatlogs/openai-agents';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, modelServerUrl, telemetryUrl } from '../../recorder/program.ts';

await init({
  apiKey: 'recorded',
  endpoint: telemetryUrl,
  workflowName: 'weather-service',
  registerShutdownHandlers: false,
});

addTraceProcessor(openaiAgentsProcessor());
const allowedToolNames = ['echo', 'get-sum'];
const everything = new MCPServerStdio({ name: 'everything', ...mcpCommand, toolFilter: { allowedToolNames } });
await everything.connect();
const getWeather = tool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  parameters: z.object({ city: z.string() }),
  execute: () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});
const shared = { instructions: MARKERS.instructions, model: 'gpt-5-mini' };
const umbrellaAgent = new Agent({ ...shared, name: 'umbrella_agent', handoffDescription: MARKERS.toolDescription });
umbrellaAgent.on('agent_start', () => countAgent('umbrella_agent'));
const weatherAgent = new Agent({
  ...shared,
  name: 'weather_agent',
  tools: [getWeather],
  mcpServers: [everything],
  handoffs: [umbrellaAgent],
});
weatherAgent.on('agent_start', () => countAgent('weather_agent'));
await run(weatherAgent, MARKERS.question);
await everything.close();

const connection = { apiKey: 'scripted', maxRetries: 0 };
const anthropic = wrapAnthropic(new Anthropic({ ...connection, baseURL: modelServerUrl }));
const message = { role: 'user' as const, content: MARKERS.question };
const asked = { model: 'claude-sonnet-5', max_tokens: 1000, messages: [message] };
countAgent('news_agent');
await span({ kind: 'AGENT', name: 'news_agent' }, () => anthropic.messages.create(asked))();
for await (const event of await anthropic.messages.create({ ...asked, stream: true })) void event;
const failing = { ...message, content: MARKERS.fail };
await anthropic.messages.create({ ...asked, messages: [failing] }).catch(() => undefined);

const { models } = wrapGoogleGenAI(new GoogleGenAI({ ...connection, httpOptions: { baseUrl: modelServerUrl } }));
const model = 'gemini-3-flash';
await models.generateContent({ model, contents: MARKERS.question });
for await (const chunk of await models.generateContentStream({ model, contents: MARKERS.question })) void chunk;
await models.generateContent({ model, contents: MARKERS.fail }).catch(() => undefined);
await models.embedContent({ model: 'gemini-embedding-001', contents: MARKERS.document });

await shutdown();
