/**
 * LangChain's clients of three vendors: agents of Anthropic's and Google's models with a local tool and MCP tools, web searches
 * that the vendors run, and a swarm that hands over. OpenInference reports it, with the argument `langfuse` Langfuse.
 */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import { ChatAnthropic } from '@langchain/anthropic';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { createHandoffTool, createSwarm } from '@langchain/langgraph-swarm';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI } from '@langchain/openai';
import { CallbackHandler } from '@langfuse/langchain';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

const isLangfuse = process.argv[2] === 'langfuse';
const toLangfuse = () => new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() });
const telemetry = new NodeSDK(isLangfuse ? { spanProcessors: [toLangfuse()] } : {});
telemetry.start();
if (!isLangfuse) new LangChainInstrumentation().manuallyInstrument(callbackManager);
const options = { metadata: { note: MARKERS.metadata }, ...(isLangfuse && { callbacks: [new CallbackHandler()] }) };

const mcp = new MultiServerMCPClient({
  mcpServers: { everything: { transport: 'stdio', ...mcpCommand } },
  prefixToolNameWithServerName: true,
  additionalToolNamePrefix: 'mcp',
});
const fromServer = (await mcp.getTools()).filter(({ name }) => /(echo|get-sum)$/.test(name));
const getWeather = tool(
  () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
  { name: 'get_weather', description: MARKERS.toolDescription, schema: z.object({ city: z.string() }) },
);

const client = { apiKey: 'scripted', maxRetries: 0 };
const claude = new ChatAnthropic({ ...client, model: 'claude-sonnet-5', anthropicApiUrl: modelServerUrl });
const gemini = new ChatGoogleGenerativeAI({ ...client, model: 'gemini-3-flash', baseUrl: modelServerUrl });
const gpt = new ChatOpenAI({ ...client, model: 'gpt-5-mini', useResponsesApi: true });
const asked = { messages: [{ role: 'user' as const, content: MARKERS.question }] };

const agents = [
  { name: 'claude_agent', model: claude },
  { name: 'gemini_agent', model: gemini },
];
for (const { name, model } of agents) {
  countAgent(name);
  const tools = [getWeather, ...fromServer];
  await createAgent({ name, model, tools, systemPrompt: MARKERS.instructions }).invoke(asked, options);
}

await claude.bindTools([{ type: 'web_search_20250305', name: 'web_search' }]).invoke(MARKERS.question, options);
await gpt.bindTools([{ type: 'web_search' }]).invoke(MARKERS.question, options);
await gemini.bindTools([{ googleSearch: {} }]).invoke(MARKERS.question, options);
await gpt.invoke(MARKERS.fail, options).catch(() => undefined);

const planner = createAgent({ name: 'planner', model: claude, tools: [createHandoffTool({ agentName: 'writer' })] });
const writer = createAgent({ name: 'writer', model: gpt, tools: [] });
for (const name of ['planner', 'writer']) countAgent(name);
countTool('transfer_to_writer');
const swarm = createSwarm({ agents: [planner.graph, writer.graph] as never, defaultActiveAgent: 'planner' });
await swarm.compile().invoke(asked, options);

await mcp.close();
await telemetry.shutdown();
