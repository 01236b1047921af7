/** Deep Agents under OpenInference: a local tool, MCP tools, a built-in tool and a subagent, and a failure. */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI } from '@langchain/openai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { createDeepAgent } from 'deepagents';
import { tool } from 'langchain';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
new LangChainInstrumentation().manuallyInstrument(callbackManager);

const options = { metadata: { note: MARKERS.metadata } };
const mcp = new MultiServerMCPClient({ mcpServers: { everything: { transport: 'stdio', ...mcpCommand } } });
const fromServer = (await mcp.getTools()).filter(({ name }) => ['echo', 'get-sum'].includes(name));
const getWeather = tool(
  () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
  { name: 'get_weather', description: MARKERS.toolDescription, schema: z.object({ city: z.string() }) },
);
const model = new ChatOpenAI({
  model: 'gpt-5-mini',
  maxRetries: 0,
  configuration: { defaultHeaders: { 'x-request-note': MARKERS.header } },
});
const agent = createDeepAgent({
  name: 'travel_agent',
  model,
  tools: [getWeather, ...fromServer],
  systemPrompt: MARKERS.instructions,
  subagents: [
    { name: 'weather_agent', description: MARKERS.toolDescription, systemPrompt: MARKERS.subagentTask, tools: [] },
  ],
});
countAgent('travel_agent');
countAgent('weather_agent');
const ask = (content: string) => ({ messages: [{ role: 'user', content }] });
await agent.invoke(ask(MARKERS.question), { ...options, configurable: { thread_id: 'conversation-1' } });
await agent.invoke(ask(MARKERS.fail), options).catch(() => undefined);
await mcp.close();
await telemetry.shutdown();
