/**
 * The agent of the recordings of the `openai` client: chats with a local tool and MCP tools, a web search by the Responses
 * API, a streamed answer, a failure and an embedding.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { OpenAI } from 'openai';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand } from '../../recorder/program.ts';

const MODEL = 'gpt-5-mini';

/** What every client of the recordings is made with. */
export const CLIENT_OPTIONS = { maxRetries: 0, defaultHeaders: { 'x-request-note': MARKERS.header } };

export type RunTool = (name: string, run: () => Promise<string>) => Promise<string>;

/**
 * Answers a question with tools.
 * @param runTool runs one tool; an SDK that has spans for tools wraps it
 */
export async function runAgent(client: OpenAI, runTool: RunTool = (_name, run) => run()): Promise<void> {
  const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
  await mcp.connect(new StdioClientTransport(mcpCommand));
  const fromServer = (await mcp.listTools()).tools.filter(({ name }) => ['echo', 'get-sum'].includes(name));
  const tools = [
    functionTool('get_weather', { type: 'object', properties: { city: { type: 'string' } } }),
    ...fromServer.map(({ name, inputSchema }) => functionTool(name, inputSchema)),
  ];
  const messages: ChatCompletionMessageParam[] = [
    { role: 'system', content: MARKERS.instructions },
    { role: 'user', content: MARKERS.question },
  ];
  for (;;) {
    const completion = await client.chat.completions.create({ model: MODEL, messages, tools });
    const message = completion.choices[0]?.message;
    if (!message?.tool_calls) break;
    messages.push(message);
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue;
      const { name, arguments: given } = call.function;
      const run = () => (name === 'get_weather' ? getWeather() : callMcpTool(mcp, name, JSON.parse(given)));
      messages.push({ role: 'tool', tool_call_id: call.id, content: await runTool(name, run) });
    }
  }
  await mcp.close();
}

/** The calls beside the agent's. */
export async function runOtherCalls(client: OpenAI): Promise<void> {
  const messages = [{ role: 'user' as const, content: MARKERS.question }];
  const stream = await client.chat.completions.create({
    model: MODEL,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  // The span ends with the stream, so it has to be read.
  for await (const chunk of stream) void chunk;

  await client.responses.create({
    model: MODEL,
    instructions: MARKERS.instructions,
    input: MARKERS.question,
    tools: [{ type: 'web_search' }],
    metadata: { note: MARKERS.metadata },
  });
  const failing = [{ role: 'user' as const, content: MARKERS.fail }];
  await client.chat.completions.create({ model: MODEL, messages: failing }).catch(() => undefined);
  await client.embeddings.create({ model: 'text-embedding-3-small', input: MARKERS.document });
}

async function getWeather(): Promise<string> {
  countTool('get_weather');
  return MARKERS.toolResult;
}

async function callMcpTool(mcp: Client, name: string, args: Record<string, unknown>): Promise<string> {
  return JSON.stringify((await mcp.callTool({ name, arguments: args })).content);
}

function functionTool(name: string, parameters: Record<string, unknown>): ChatCompletionTool {
  return { type: 'function', function: { name, description: MARKERS.toolDescription, parameters } };
}
