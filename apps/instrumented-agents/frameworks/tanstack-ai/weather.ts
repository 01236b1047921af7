/** TanStack AI: a chat with a local tool and MCP tools, a failure and an embedding. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { chat, embed, maxIterations, toolDefinition } from '@tanstack/ai';
import { otelMiddleware } from '@tanstack/ai/middlewares/otel';
import { openaiChatCompletions, openaiEmbedding, openaiText } from '@tanstack/ai-openai';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const otel = otelMiddleware({ tracer: trace.getTracer('weather-service'), captureContent: true });

const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));
const fromServer = (await mcp.listTools()).tools.filter(({ name }) => ['echo', 'get-sum'].includes(name));
const getWeather = toolDefinition({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
}).server(() => {
  countTool('get_weather');
  return MARKERS.toolResult;
});
const mcpTools = fromServer.map(({ name, description = '', inputSchema }) =>
  toolDefinition({ name, description, inputSchema: inputSchema as never }).server(async (args) =>
    JSON.stringify((await mcp.callTool({ name, arguments: args as Record<string, unknown> })).content),
  ),
);
const client = { maxRetries: 0, defaultHeaders: { 'x-request-note': MARKERS.header } };

const asked = chat({
  adapter: openaiChatCompletions('gpt-5-mini', client as never),
  systemPrompts: [MARKERS.instructions],
  messages: [{ role: 'user', content: MARKERS.question }],
  tools: [getWeather, ...mcpTools],
  middleware: [otel],
  agentLoopStrategy: maxIterations(8),
  threadId: 'conversation-1',
} as never);
for await (const chunk of asked as AsyncIterable<unknown>) void chunk;

try {
  const failing = chat({
    adapter: openaiText('gpt-5-mini', client as never),
    messages: [{ role: 'user', content: MARKERS.fail }],
    middleware: [otel],
  } as never);
  for await (const chunk of failing as AsyncIterable<unknown>) void chunk;
} catch {
  // It is meant to fail.
}
await embed({
  adapter: openaiEmbedding('text-embedding-3-small', client as never),
  input: MARKERS.document,
  middleware: [otel],
} as never);
await mcp.close();
await telemetry.shutdown();
