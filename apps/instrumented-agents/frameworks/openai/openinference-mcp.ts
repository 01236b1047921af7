/**
 * An agent under OpenInference's instrumentations of `openai` and of MCP. The latter makes no spans: it hands the trace on
 * to the server, whose own spans continue it. The agent's span is made by hand, as OpenInference's documentation shows.
 */
import { MCPInstrumentation } from '@arizeai/openinference-instrumentation-mcp';
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import * as clientStdioModule from '@modelcontextprotocol/sdk/client/stdio.js';
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import OpenAI from 'openai7';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent } from '../../recorder/program.ts';
import { CLIENT_OPTIONS, type RunTool, runAgent } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
new OpenAIInstrumentation().manuallyInstrument(OpenAI);
new MCPInstrumentation().manuallyInstrument({ clientStdioModule });

const tracer = trace.getTracer('weather-service');
const runTool: RunTool = (name, run) =>
  inSpan(name, { 'openinference.span.kind': 'TOOL', 'tool.name': name, 'input.value': MARKERS.toolArgument }, run);
countAgent('weather_agent');
await inSpan(
  'answer',
  { 'openinference.span.kind': 'AGENT', 'agent.name': 'weather_agent', 'input.value': MARKERS.question },
  () => runAgent(new OpenAI(CLIENT_OPTIONS), runTool),
);
await telemetry.shutdown();

function inSpan<T>(name: string, attributes: Record<string, string>, run: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await run();
    } finally {
      span.end();
    }
  });
}
