/**
 * NeuroLink with models of three vendors: for each a question with a tool of its own that fails and tools of an MCP server, a
 * streamed answer and a failure.
 */
import { NeuroLink } from '@juspay/neurolink';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { z } from 'zod';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, mcpCommand, modelServerUrl } from '../../recorder/program.ts';

// The addresses of these APIs cannot be set.
const { fetch } = globalThis;
globalThis.fetch = (input, init) => {
  const url = input instanceof Request ? input.url : String(input);
  const local = url.replace(/^https:\/\/(?:api\.anthropic|generativelanguage\.googleapis)\.com/, modelServerUrl);
  return fetch(input instanceof Request ? new Request(local, input) : local, init);
};
process.env['ANTHROPIC_API_KEY'] = `sk-ant-api03-${'x'.repeat(95)}`;
process.env['GOOGLE_AI_API_KEY'] = `AIza${'x'.repeat(35)}`;

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

for (const [provider, model] of [
  ['openai', 'gpt-5-mini'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['google-ai', 'gemini-2.5-flash'],
  // Answered by another client if it has tools.
  ['google-ai', 'gemini-3-flash'],
]) {
  const options = { provider, model, systemPrompt: MARKERS.instructions };
  await neurolink.generate({ ...options, input: { text: MARKERS.question } });
  const { stream } = await neurolink.stream({ ...options, input: { text: MARKERS.question }, disableTools: true });
  for await (const chunk of stream) void chunk;
  await neurolink.generate({ ...options, input: { text: MARKERS.fail }, disableTools: true }).catch(() => undefined);
}
await telemetry.shutdown();
// It keeps the MCP server running.
process.exit();
