/**
 * The agent of the recordings of Anthropic's client: messages with a local tool and MCP tools, a web search, a streamed answer
 * and a failure.
 */
import type { Anthropic } from '@anthropic-ai/sdk';
import type { MessageParam, Tool, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

export const CLIENT_OPTIONS = {
  baseURL: modelServerUrl,
  apiKey: 'sk-ant-scripted',
  maxRetries: 0,
  defaultHeaders: { 'x-request-note': MARKERS.header },
};

const REQUEST = { model: 'claude-sonnet-5', max_tokens: 1024, system: MARKERS.instructions };
const QUESTION: MessageParam = { role: 'user', content: MARKERS.question };

/** Answers a question with tools. */
export async function runAgent(client: Anthropic): Promise<void> {
  const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
  await mcp.connect(new StdioClientTransport(mcpCommand));
  const fromServer = (await mcp.listTools()).tools.filter(({ name }) => ['echo', 'get-sum'].includes(name));
  const tools = [
    toolOf('get_weather', { type: 'object', properties: { city: { type: 'string' } } }),
    ...fromServer.map(({ name, inputSchema }) => toolOf(name, inputSchema as Tool.InputSchema)),
  ];
  const messages = [QUESTION];
  for (;;) {
    const { content, stop_reason } = await client.messages.create({ ...REQUEST, messages, tools });
    if (stop_reason !== 'tool_use') break;
    const results: ToolResultBlockParam[] = [];
    for (const block of content) {
      if (block.type !== 'tool_use') continue;
      const { id, name, input } = block;
      const result = name === 'get_weather' ? getWeather() : await callMcpTool(mcp, name, input);
      results.push({ type: 'tool_result', tool_use_id: id, content: result });
    }
    messages.push({ role: 'assistant', content }, { role: 'user', content: results });
  }
  await mcp.close();
}

/** The calls beside the agent's. */
export async function runOtherCalls(client: Anthropic): Promise<void> {
  const request = { ...REQUEST, messages: [QUESTION] };
  await client.messages.create({
    ...request,
    metadata: { user_id: MARKERS.metadata },
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
  });
  const stream = await client.messages.create({ ...request, stream: true });
  // The span ends with the stream, so it has to be read.
  for await (const event of stream) void event;
  const failing = [{ role: 'user' as const, content: MARKERS.fail }];
  await client.messages.create({ ...REQUEST, messages: failing }).catch(() => undefined);
}

function getWeather(): string {
  countTool('get_weather');
  return MARKERS.toolResult;
}

async function callMcpTool(mcp: Client, name: string, input: unknown): Promise<string> {
  return JSON.stringify((await mcp.callTool({ name, arguments: input as Record<string, unknown> })).content);
}

function toolOf(name: string, input_schema: Tool.InputSchema): Tool {
  return { name, description: MARKERS.toolDescription, input_schema };
}
