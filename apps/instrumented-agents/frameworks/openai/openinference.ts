/** The `openai` client under OpenInference. */
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import OpenAI from 'openai7';
import { CLIENT_OPTIONS, runAgent, runOtherCalls } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
new OpenAIInstrumentation().manuallyInstrument(OpenAI);
const client = new OpenAI(CLIENT_OPTIONS);
await runAgent(client);
await runOtherCalls(client);
await telemetry.shutdown();
