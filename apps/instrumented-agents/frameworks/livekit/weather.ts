/** LiveKit Agents in a session of text: an agent with a local tool and MCP tools, and a failure. */
import { initializeLogger, llm, telemetry, voice } from '@livekit/agents';
import * as openai from '@livekit/agents-plugin-openai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand } from '../../recorder/program.ts';

initializeLogger({ pretty: false, level: 'fatal' });
const provider = new NodeTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
telemetry.setTracerProvider(provider);

const mcp = new Client({ name: 'weather-agent', version: '1.0.0' });
await mcp.connect(new StdioClientTransport(mcpCommand));

const callMcpTool = async (name: string, args: Record<string, unknown>) => {
  return JSON.stringify((await mcp.callTool({ name, arguments: args })).content);
};

class WeatherAgent extends voice.Agent {
  constructor() {
    super({
      instructions: MARKERS.instructions,
      tools: [
        llm.tool({
          name: 'get_weather',
          description: MARKERS.toolDescription,
          parameters: z.object({ city: z.string() }),
          execute: async () => {
            countTool('get_weather', { failed: true });
            throw new Error(MARKERS.errorText);
          },
        }),
        llm.tool({
          name: 'echo',
          description: MARKERS.toolDescription,
          parameters: z.object({ message: z.string() }),
          execute: (args) => callMcpTool('echo', args),
        }),
        llm.tool({
          name: 'get-sum',
          description: MARKERS.toolDescription,
          parameters: z.object({ a: z.number(), b: z.number() }),
          execute: (args) => callMcpTool('get-sum', args),
        }),
      ],
    });
  }
}

const session = new voice.AgentSession({ llm: new openai.LLM({ model: 'gpt-5-mini' }) });
// Without a listener, the failure would end the process.
session.on(voice.AgentSessionEventTypes.Error, () => undefined);
// A class is named in snake case.
countAgent('weather_agent');
await session.start({ agent: new WeatherAgent(), record: false });
for (const userInput of [MARKERS.question, MARKERS.fail]) await session.run({ userInput }).wait();
await session.close();
await mcp.close();
await provider.shutdown();
