/** Anthropic's client under OpenLLMetry. */
import * as anthropicModule from '@anthropic-ai/sdk';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { AnthropicInstrumentation } from '@traceloop/instrumentation-anthropic';
import { CLIENT_OPTIONS, runAgent, runOtherCalls } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
new AnthropicInstrumentation().manuallyInstrument(anthropicModule);
const client = new anthropicModule.Anthropic(CLIENT_OPTIONS);
await runAgent(client);
await runOtherCalls(client);
await telemetry.shutdown();
