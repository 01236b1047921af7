/**
 * Datadog's tracer with OTLP export: OpenAI's client with a local tool and MCP tools in one agent of the LLM Observability SDK, a
 * streamed answer, a response with a web search, a failure and an embedding. An agent of OpenAI's SDK with chat completions, and
 * one with responses. Streamed answers of Anthropic and Google.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { Agent, OpenAIProvider, run } from '@openai/agents';
import tracer from 'dd-trace';
import OpenAI from 'openai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { setTimeout } from 'node:timers/promises';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

const { llmobs } = tracer;
const openai = new OpenAI({ maxRetries: 0 });
const model = 'gpt-5-mini';

const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));
const fromServer = (await mcp.listTools()).tools.filter(({ name }) => ['echo', 'get-sum'].includes(name));

countAgent('weather_agent');
await llmobs.trace({ kind: 'agent', name: 'weather_agent' }, async () => {
  llmobs.annotate({ inputData: MARKERS.question, metadata: { note: MARKERS.metadata } });
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: MARKERS.instructions },
    { role: 'user', content: MARKERS.question },
  ];
  const tools = [
    functionTool('get_weather', { type: 'object', properties: { city: { type: 'string' } } }),
    ...fromServer.map(({ name, inputSchema }) => functionTool(name, inputSchema)),
  ];
  for (;;) {
    const { choices } = await openai.chat.completions.create({ model, messages, tools });
    const message = choices[0]?.message;
    if (message?.tool_calls === undefined) break;
    messages.push(message);
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue;
      const { name, arguments: given } = call.function;
      const content = name === 'get_weather' ? getWeather(given) : await callMcpTool(name, given);
      messages.push({ role: 'tool', tool_call_id: call.id, content });
    }
  }
});
await mcp.close();

const question = [{ role: 'user' as const, content: MARKERS.question }];
const stream = await openai.chat.completions.create({
  model,
  messages: question,
  stream: true,
  stream_options: { include_usage: true },
});
for await (const chunk of stream) void chunk;
await openai.responses.create({ model, input: MARKERS.question, tools: [{ type: 'web_search' }] });
const failing = [{ role: 'user' as const, content: MARKERS.fail }];
await openai.chat.completions.create({ model, messages: failing }).catch(() => undefined);
await openai.embeddings.create({ model: 'text-embedding-3-small', input: MARKERS.document });

for (const useResponses of [false, true]) {
  countAgent('umbrella_agent');
  const agent = new Agent({
    name: 'umbrella_agent',
    model: await new OpenAIProvider({ useResponses }).getModel(model),
  });
  await run(agent, MARKERS.question);
}

const anthropic = new Anthropic({ baseURL: modelServerUrl, apiKey: 'scripted', maxRetries: 0 });
const messages = anthropic.messages.stream({ model: 'claude-sonnet-5', max_tokens: 100, messages: question });
await messages.finalMessage();
const google = new GoogleGenAI({ apiKey: 'scripted', httpOptions: { baseUrl: modelServerUrl } });
const asked = { model: 'gemini-3-flash', contents: MARKERS.question };
for await (const chunk of await google.models.generateContentStream(asked)) void chunk;
// It sends every second, and once more when the process ends.
await setTimeout(3000);

function getWeather(given: string): string {
  try {
    return llmobs.trace({ kind: 'tool', name: 'get_weather' }, (): string => {
      llmobs.annotate({ inputData: given });
      countTool('get_weather', { failed: true });
      throw new Error(MARKERS.errorText);
    });
  } catch (error) {
    return String(error);
  }
}

async function callMcpTool(name: string, given: string): Promise<string> {
  return JSON.stringify((await mcp.callTool({ name, arguments: JSON.parse(given) })).content);
}

function functionTool(name: string, parameters: Record<string, unknown>) {
  return { type: 'function' as const, function: { name, description: MARKERS.toolDescription, parameters } };
}
