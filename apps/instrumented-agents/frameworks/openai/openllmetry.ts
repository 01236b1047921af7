/**
 * The `openai` and MCP clients under OpenLLMetry: a workflow with an agent whose tools are wrapped, then other calls in a
 * conversation.
 */
import * as mcpModule from '@modelcontextprotocol/sdk/client/index.js';
import * as traceloop from '@traceloop/node-server-sdk';
import OpenAI from 'openai7';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent } from '../../recorder/program.ts';
import { CLIENT_OPTIONS, type RunTool, runAgent, runOtherCalls } from './agent.ts';

traceloop.initialize({
  appName: 'weather-service',
  baseUrl: process.env['OTEL_EXPORTER_OTLP_ENDPOINT'],
  headers: { 'x-api-key': 'recorded' },
  // ES modules cannot be patched once they are loaded, so these are handed over. Their types are those for `require`.
  instrumentModules: { openAI: OpenAI as never, mcp: mcpModule as never },
  silenceInitializationMessage: true,
});
const client = new OpenAI(CLIENT_OPTIONS);
const runTool: RunTool = (name, run) => traceloop.withTool({ name }, (_given: string) => run(), MARKERS.toolArgument);

// A workflow is what runs agents, so it is an agent itself.
countAgent('forecast');
await traceloop.withWorkflow({ name: 'forecast', associationProperties: { note: MARKERS.metadata } }, () =>
  traceloop.withAgent({ name: 'weather_agent' }, () => {
    countAgent('weather_agent');
    return runAgent(client, runTool);
  }),
);
await traceloop.withConversation('conversation-1', () => runOtherCalls(client));
await traceloop.forceFlush();
