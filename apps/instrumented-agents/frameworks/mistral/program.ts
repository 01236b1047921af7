/**
 * Mistral's client with its own telemetry: an agent with a local tool and MCP tools in a conversation by chat completions, a
 * conversation in which the vendor searches, a streamed answer, a failure and an embedding.
 */
import { Mistral } from '@mistralai/mistralai';
import { configureTelemetry } from '@mistralai/mistralai/extra/observability';
import type { ChatCompletionRequest } from '@mistralai/mistralai/models/components';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const client = new Mistral({
  apiKey: 'scripted',
  serverURL: `${modelServerUrl}/mistral`,
  retryConfig: { strategy: 'none' },
});
await configureTelemetry(client, 'global');

const MODEL = 'mistral-small-2506';

const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));
const fromServer = (await mcp.listTools()).tools.filter(({ name }) => ['echo', 'get-sum'].includes(name));
const tools: ChatCompletionRequest['tools'] = [
  functionTool('get_weather', { type: 'object', properties: { city: { type: 'string' } } }),
  ...fromServer.map(({ name, inputSchema }) => functionTool(name, inputSchema)),
];
const messages: ChatCompletionRequest['messages'] = [
  { role: 'system', content: MARKERS.instructions },
  { role: 'user', content: MARKERS.question },
];
for (;;) {
  const completion = await client.chat.complete({ model: MODEL, messages, tools });
  const message = completion.choices[0]?.message;
  if (!message?.toolCalls) break;
  messages.push({ role: 'assistant', content: message.content ?? null, toolCalls: message.toolCalls });
  for (const call of message.toolCalls) {
    const { name, arguments: given } = call.function;
    const content = name === 'get_weather' ? getWeather() : await callMcpTool(name, String(given));
    messages.push({ role: 'tool', toolCallId: call.id ?? null, name, content });
  }
}
await mcp.close();

await client.beta.conversations.start({
  model: MODEL,
  inputs: MARKERS.question,
  instructions: MARKERS.instructions,
  tools: [{ type: 'web_search' }],
});
const question = [{ role: 'user' as const, content: MARKERS.question }];
const stream = await client.chat.stream({ model: MODEL, messages: question });
for await (const event of stream) void event;
const failing = [{ role: 'user' as const, content: MARKERS.fail }];
await client.chat.complete({ model: MODEL, messages: failing }).catch(() => undefined);
await client.embeddings.create({ model: 'mistral-embed', inputs: MARKERS.document });
await telemetry.shutdown();

function getWeather(): string {
  countTool('get_weather');
  return MARKERS.toolResult;
}

async function callMcpTool(name: string, given: string): Promise<string> {
  return JSON.stringify((await mcp.callTool({ name, arguments: JSON.parse(given) })).content);
}

function functionTool(name: string, parameters: Record<string, unknown>) {
  return { type: 'function' as const, function: { name, description: MARKERS.toolDescription, parameters } };
}
