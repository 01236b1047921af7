/** The `openai` client under Langfuse's wrapper, with observations of the agent and of its tools. */
import { observeOpenAI } from '@langfuse/openai';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { startActiveObservation } from '@langfuse/tracing';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import OpenAI from 'openai7';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent } from '../../recorder/program.ts';
import { CLIENT_OPTIONS, type RunTool, runAgent, runOtherCalls } from './agent.ts';

const toReceiver = new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() });
const telemetry = new NodeSDK({ spanProcessors: [toReceiver] });
telemetry.start();
const client = observeOpenAI(new OpenAI(CLIENT_OPTIONS), {
  sessionId: 'conversation-1',
  tags: [MARKERS.metadata],
  generationMetadata: { note: MARKERS.metadata },
}) as never;
const runTool: RunTool = (name, run) =>
  startActiveObservation(
    name,
    async (tool) => {
      tool.update({ input: MARKERS.toolArgument });
      const output = await run();
      tool.update({ output });
      return output;
    },
    { asType: 'tool' },
  );
await startActiveObservation(
  'weather_agent',
  () => {
    countAgent('weather_agent');
    return runAgent(client, runTool);
  },
  { asType: 'agent' },
);
await runOtherCalls(client);
await telemetry.shutdown();
