/** BeeAI: an agent with a local tool and MCP tools, and a chat that fails. */
import { BeeAIInstrumentation } from '@arizeai/openinference-instrumentation-beeai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { NodeSDK } from '@opentelemetry/sdk-node';
import * as beeai from 'beeai-framework';
import { OpenAIChatModel } from 'beeai-framework/adapters/openai/backend/chat';
import { ToolCallingAgent } from 'beeai-framework/agents/toolCalling/agent';
import { UserMessage } from 'beeai-framework/backend/message';
import { UnconstrainedMemory } from 'beeai-framework/memory/unconstrainedMemory';
import { DynamicTool, StringToolOutput } from 'beeai-framework/tools/base';
import { MCPTool } from 'beeai-framework/tools/mcp';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
new BeeAIInstrumentation().manuallyInstrument(beeai);

const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));
// BeeAI takes no tool whose name has a hyphen, so get-sum is left out.
const fromServer = (await mcp.listTools()).tools
  .filter(({ name }) => name === 'echo')
  .map((mcpTool) => new MCPTool({ client: mcp, tool: mcpTool }));
const getWeather = new DynamicTool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  handler: async () => {
    countTool('get_weather');
    return new StringToolOutput(MARKERS.toolResult);
  },
});
const llm = new OpenAIChatModel('gpt-5-mini', {}, {
  apiKey: 'sk-scripted',
  baseURL: process.env['OPENAI_BASE_URL'],
  headers: { 'x-request-note': MARKERS.header },
} as never);

countAgent('weather_agent');
const agent = new ToolCallingAgent({
  llm,
  memory: new UnconstrainedMemory(),
  tools: [getWeather, ...fromServer],
  meta: { name: 'weather_agent', description: MARKERS.instructions },
});
await agent.run({ prompt: MARKERS.question });
await llm.create({ messages: [new UserMessage(MARKERS.fail)] }).catch(() => undefined);
await mcp.close();
await telemetry.shutdown();
