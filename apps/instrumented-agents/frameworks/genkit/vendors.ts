/**
 * Genkit with the plugins of two vendors: for each an agent with a local tool and MCP tools, a web search, a streamed answer and
 * a failure. An embedding by Google.
 */
import { anthropic } from '@genkit-ai/anthropic';
import { googleAI } from '@genkit-ai/google-genai';
import { createMcpHost } from '@genkit-ai/mcp';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { genkit, z } from 'genkit/beta';
import { enableTelemetry, flushTracing } from 'genkit/tracing';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

await enableTelemetry({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
process.env['ANTHROPIC_BASE_URL'] = modelServerUrl;
const ai = genkit({
  plugins: [googleAI({ apiKey: 'scripted', baseUrl: modelServerUrl }), anthropic({ apiKey: 'scripted' })],
});

const mcp = createMcpHost({ name: 'mcp', mcpServers: { everything: mcpCommand } });
const mcpTools = (await mcp.getActiveTools(ai)).filter((tool) => /(echo|get-sum)$/.test(tool.__action.name));

const getWeather = ai.defineTool(
  {
    name: 'get_weather',
    description: MARKERS.toolDescription,
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.string(),
  },
  async () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
);

const vendors = [
  { agent: 'gemini_agent', model: googleAI.model('gemini-3-flash'), search: { googleSearchRetrieval: true } },
  {
    agent: 'claude_agent',
    model: anthropic.model('claude-sonnet-4-5'),
    search: { apiVersion: 'beta', tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  },
];
for (const { agent: name, model, search } of vendors) {
  const shared = { model, system: MARKERS.instructions };
  const agent = ai.defineAgent({ name, ...shared, tools: [getWeather, ...mcpTools], maxTurns: 8 });
  countAgent(name);
  await agent.chat().send(MARKERS.question);
  await ai.generate({ ...shared, prompt: MARKERS.question, config: search });
  const { stream, response } = ai.generateStream({ ...shared, prompt: MARKERS.question });
  for await (const chunk of stream) void chunk;
  await response;
  await ai.generate({ ...shared, prompt: MARKERS.fail }).catch(() => undefined);
}

await ai.embed({ embedder: googleAI.embedder('gemini-embedding-001'), content: MARKERS.document });

await mcp.close();
await flushTracing();
process.exit(0);
