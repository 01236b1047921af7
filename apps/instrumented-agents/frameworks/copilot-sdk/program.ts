/**
 * GitHub's Copilot SDK: a session with a local tool, a tool that the user rejects, an MCP server over HTTP, a subagent and the built-in tools of the runtime, then
 * another model, and a failure.
 */
import { CopilotClient, defineTool } from '@github/copilot-sdk';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, mcpUrl, modelServerUrl, telemetryUrl } from '../../recorder/program.ts';

const getWeather = defineTool('get_weather', {
  description: MARKERS.toolDescription,
  parameters: z.object({ city: z.string() }),
  handler: () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
});
// The model calls it, and the user rejects the call.
const transfer = defineTool('transfer_to_office', {
  description: MARKERS.toolDescription,
  parameters: z.object({}),
  handler: () => countTool('transfer_to_office'),
});
// Its own provider settings: without GitHub, no sign-in is needed.
const client = new CopilotClient({
  env: { PATH: process.env['PATH'], HOME: process.env['HOME'], COPILOT_OFFLINE: 'true' },
  telemetry: { otlpEndpoint: telemetryUrl },
});
const session = await client.createSession({
  model: 'gpt-5-mini',
  provider: { type: 'openai', baseUrl: `${modelServerUrl}/v1`, apiKey: 'sk-scripted', wireApi: 'responses' },
  tools: [getWeather, transfer],
  mcpServers: { everything: { type: 'http', url: mcpUrl ?? '', tools: ['*'] } },
  customAgents: [{ name: 'weather_agent', description: MARKERS.toolDescription, prompt: MARKERS.instructions }],
  systemMessage: { mode: 'replace', content: MARKERS.instructions },
  // All other tools are left out, so that the recording stays small.
  availableTools: ['bash', 'view', 'task', 'custom:*', 'mcp:everything-echo', 'mcp:everything-get-sum'],
  onPermissionRequest: (request) =>
    JSON.stringify(request).includes('transfer_to_office') ? { kind: 'reject' } : { kind: 'approve-once' },
});
countAgent('weather_agent');
await session.sendAndWait({ prompt: MARKERS.question });
await session.setModel('gpt-5.2');
await session.sendAndWait({ prompt: MARKERS.question });
await session.sendAndWait({ prompt: MARKERS.fail }).catch(() => undefined);
await session.disconnect();
await client.stop();
