/** ADK-TS: an agent with a local tool and MCP tools, and an agent whose model call fails. */
import { AgentBuilder, createTool, initializeTelemetry, McpToolset, OpenAiLlm, shutdownTelemetry } from '@iqai/adk';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpCommand, telemetryUrl } from '../../recorder/program.ts';

initializeTelemetry({
  appName: 'weather-service',
  appVersion: '1.0.0',
  otlpEndpoint: `${telemetryUrl}/v1/traces`,
  otlpHeaders: { 'x-api-key': 'recorded' },
});

const getWeather = createTool({
  name: 'get_weather',
  description: MARKERS.toolDescription,
  schema: z.object({ city: z.string() }) as never,
  fn: () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});
const toolset = new McpToolset({
  name: 'everything',
  description: MARKERS.toolDescription,
  transport: { mode: 'stdio', ...mcpCommand },
} as never);
const fromServer = (await toolset.getTools()).filter(({ name }) => ['echo', 'get-sum'].includes(name));

countAgent('weather_agent');
const { runner } = await AgentBuilder.create('weather_agent')
  .withModel(new OpenAiLlm('gpt-5-mini'))
  .withInstruction(MARKERS.instructions)
  .withTools(getWeather as never, ...fromServer)
  .build();
await runner.ask(MARKERS.question);

countAgent('failing_agent');
const failing = await AgentBuilder.create('failing_agent').withModel(new OpenAiLlm('gpt-5-mini')).build();
await failing.runner.ask(MARKERS.fail).catch(() => undefined);
await toolset.close();
await shutdownTelemetry();
