/** NeuroLink: a question with a tool of its own that fails and tools of an MCP server, a streamed answer and a failure. */
import { NeuroLink } from '@juspay/neurolink';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const neurolink = new NeuroLink();
neurolink.registerTool('get_weather', {
  name: 'get_weather',
  description: MARKERS.toolDescription,
  inputSchema: z.object({ city: z.string() }),
  execute: () => {
    countTool('get_weather', { failed: true });
    throw new Error(MARKERS.errorText);
  },
});
await neurolink.addExternalMCPServer('everything', {
  id: 'everything',
  name: 'everything',
  description: MARKERS.toolDescription,
  transport: 'stdio',
  status: 'initializing',
  tools: [],
  env: {},
  ...mcpCommand,
});

const options = { provider: 'openai', model: 'gpt-5-mini', systemPrompt: MARKERS.instructions };
await neurolink.generate({ ...options, input: { text: MARKERS.question } });
const { stream } = await neurolink.stream({ ...options, input: { text: MARKERS.question }, disableTools: true });
for await (const chunk of stream) void chunk;
await neurolink.generate({ ...options, input: { text: MARKERS.fail }, disableTools: true }).catch(() => undefined);
await telemetry.shutdown();
// It keeps the MCP server running.
process.exit();
