/** Google ADK: an agent with a local tool, MCP tools and a sub-agent, a streamed answer, and a failure. */
import {
  FunctionTool,
  Gemini,
  InMemoryRunner,
  LlmAgent,
  MCPToolset,
  maybeSetOtelProviders,
  StreamingMode,
} from '@google/adk';
import { trace } from '@opentelemetry/api';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

process.env['GOOGLE_GEMINI_BASE_URL'] = modelServerUrl;
maybeSetOtelProviders();

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  parameters: z.object({ city: z.string() }),
  execute: () => {
    countTool('get_weather');
    return { weather: MARKERS.toolResult };
  },
});
const mcp = new MCPToolset({ type: 'StdioConnectionParams', serverParams: mcpCommand }, ['echo', 'get-sum']);
const model = new Gemini({
  model: 'gemini-3-flash',
  apiKey: 'scripted',
  headers: { 'x-request-note': MARKERS.header },
});
const agent = new LlmAgent({
  name: 'weather_agent',
  description: MARKERS.instructions,
  model,
  instruction: MARKERS.instructions,
  tools: [getWeather, mcp],
});

await ask(agent, MARKERS.question);
await ask(new LlmAgent({ name: 'streaming_agent', model }), MARKERS.question, StreamingMode.SSE);
await ask(new LlmAgent({ name: 'failing_agent', model }), MARKERS.fail);
await mcp.close();
await (trace.getTracerProvider() as unknown as { getDelegate(): { shutdown(): Promise<void> } })
  .getDelegate()
  .shutdown();

async function ask(asked: LlmAgent, text: string, streamingMode = StreamingMode.NONE): Promise<void> {
  countAgent(asked.name);
  const runner = new InMemoryRunner({ agent: asked, appName: 'weather-service' });
  const session = await runner.sessionService.createSession({ appName: 'weather-service', userId: 'user-1' });
  const events = runner.runAsync({
    userId: 'user-1',
    sessionId: session.id,
    newMessage: { role: 'user', parts: [{ text }] },
    runConfig: { streamingMode } as never,
  });
  try {
    for await (const event of events) void event;
  } catch {
    // The failing agent's.
  }
}
