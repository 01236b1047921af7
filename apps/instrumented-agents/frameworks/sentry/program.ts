/**
 * Sentry's instrumentations of the `openai` client, the AI SDK and MCP servers: an agent with a local tool and MCP tools, a streamed
 * answer, a web search, a failure, an embedding, and an MCP server of the program, which others call.
 */
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { createOpenAI } from '@ai-sdk/openai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import * as Sentry from '@sentry/node';
import { generateText, isStepCount, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const MODEL = 'gpt-5-mini';

countAgent('weather_agent');
const mcp = await createMCPClient({ transport: new StdioTransport(mcpCommand) });
const { echo, 'get-sum': getSum } = await mcp.tools();
const getWeather = tool({
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  execute: (): string => {
    countTool('get_weather', { failed: true });
    throw new Error(MARKERS.errorText);
  },
});
await generateText({
  model: createOpenAI()(MODEL),
  instructions: MARKERS.instructions,
  prompt: MARKERS.question,
  tools: { get_weather: getWeather, echo, 'get-sum': getSum } as never,
  stopWhen: isStepCount(5),
  telemetry: { functionId: 'weather_agent' },
});
await mcp.close();

const client = new OpenAI({ maxRetries: 0 });
const messages = [{ role: 'user' as const, content: MARKERS.question }];
await client.chat.completions.create({ model: MODEL, messages });
const options = { stream: true, stream_options: { include_usage: true } } as const;
for await (const chunk of await client.chat.completions.create({ model: MODEL, messages, ...options })) void chunk;
await client.responses.create({ model: MODEL, input: MARKERS.question, tools: [{ type: 'web_search' }] });
const failing = [{ role: 'user' as const, content: MARKERS.fail }];
await client.chat.completions.create({ model: MODEL, messages: failing }).catch(() => undefined);
await client.embeddings.create({ model: 'text-embedding-3-small', input: MARKERS.document });

const server = Sentry.wrapMcpServerWithSentry(new McpServer({ name: 'forecast', version: '1.0.0' }));
server.registerTool('forecast', { description: MARKERS.toolDescription, inputSchema: { city: z.string() } }, () => ({
  content: [{ type: 'text', text: MARKERS.toolResult }],
}));
const [serverSide, clientSide] = InMemoryTransport.createLinkedPair();
const other = new Client({ name: 'other', version: '1.0.0' });
await Promise.all([server.connect(serverSide), other.connect(clientSide)]);
await other.callTool({ name: 'forecast', arguments: { city: MARKERS.toolArgument } });
await other.close();

await Sentry.close(2000);
