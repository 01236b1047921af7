/** Genkit: a flow around an agent with a local tool and MCP tools, a streamed answer, a failure, an embedding. */
import openAI from '@genkit-ai/compat-oai/openai';
import { createMcpHost } from '@genkit-ai/mcp';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { genkit, z } from 'genkit/beta';
import { enableTelemetry, flushTracing } from 'genkit/tracing';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

await enableTelemetry({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
const ai = genkit({ plugins: [openAI()] });

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

const model = openAI.model('gpt-5-mini');
const shared = { model, system: MARKERS.instructions };

const weatherAgent = ai.defineAgent({
  name: 'weather_agent',
  ...shared,
  tools: [getWeather, ...mcpTools],
  maxTurns: 8,
});

// A flow is a workflow: one step of this one is the agent.
const forecast = ai.defineFlow({ name: 'forecast', inputSchema: z.string() }, async (question) => {
  countAgent('forecast');
  countAgent('weather_agent');
  const { text } = await weatherAgent.chat().send(question);
  return text;
});
await forecast(MARKERS.question);

const prompt = ai.definePrompt({ name: 'weather_prompt', ...shared, prompt: MARKERS.question });
const { stream, response } = prompt.stream();
for await (const chunk of stream) void chunk;
await response;

await ai.generate({ ...shared, prompt: MARKERS.fail }).catch(() => undefined);

await ai.embed({ embedder: openAI.embedder('text-embedding-3-small'), content: MARKERS.document });

await mcp.close();
await flushTracing();
process.exit(0);
