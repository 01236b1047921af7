/** Anthropic's client under OpenInference. The client writes spans of its own as well. */
import { AnthropicInstrumentation } from '@arizeai/openinference-instrumentation-anthropic';
import { NodeSDK } from '@opentelemetry/sdk-node';
import Anthropic from 'anthropic1';
import { CLIENT_OPTIONS, runAgent, runOtherCalls } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
new AnthropicInstrumentation().manuallyInstrument(Anthropic as never);
const client = new Anthropic(CLIENT_OPTIONS) as never;
await runAgent(client);
await runOtherCalls(client);
await telemetry.shutdown();
