/**
 * One `openai` client under two instrumentations: OpenLLMetry's and OpenInference's. Each has a span of most calls, one
 * inside the other. Other pairs replace each other, and OpenTelemetry's with OpenInference's breaks the client.
 */
import { OpenAIInstrumentation as OpenInferenceInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai7';
import { CLIENT_OPTIONS, runAgent, runOtherCalls } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
new OpenAIInstrumentation().manuallyInstrument(OpenAI as never);
new OpenInferenceInstrumentation().manuallyInstrument(OpenAI as never);
const client = new OpenAI(CLIENT_OPTIONS) as never;
await runAgent(client);
await runOtherCalls(client);
await telemetry.shutdown();
