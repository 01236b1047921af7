/** OpenAI Agents SDK with OpenInference's instrumentation. */
import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents';
import * as agents from '@openai/agents';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { runAgents } from './agents.ts';

const telemetry = new NodeSDK();
telemetry.start();
new OpenAIAgentsInstrumentation().manuallyInstrument(agents);
await runAgents();
await telemetry.shutdown();
