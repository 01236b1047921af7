/** Strands: an agent with a local tool and MCP tools, and an agent whose model call fails. */
import { Agent, McpClient, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { setupTracer } from '@strands-agents/sdk/telemetry';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const telemetry = setupTracer({ exporters: { otlp: true } });

const getWeather = tool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  callback: () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});
const mcp = new McpClient({ applicationName: 'everything', transport: new StdioClientTransport(mcpCommand) });
const fromServer = (await mcp.listTools()).filter(({ name }) => ['echo', 'get-sum'].includes(name));
const model = new OpenAIModel({
  api: 'chat',
  modelId: 'gpt-5-mini',
  clientConfig: { maxRetries: 0, defaultHeaders: { 'x-request-note': MARKERS.header } },
});

countAgent('weather_agent');
const agent = new Agent({
  name: 'weather_agent',
  model,
  systemPrompt: MARKERS.instructions,
  tools: [getWeather, ...fromServer],
  traceAttributes: { note: MARKERS.metadata },
  printer: false,
});
await agent.invoke(MARKERS.question);

countAgent('failing_agent');
await new Agent({ name: 'failing_agent', model, printer: false }).invoke(MARKERS.fail).catch(() => undefined);
await mcp.disconnect();
await (telemetry as unknown as { forceFlush(): Promise<void> }).forceFlush();
