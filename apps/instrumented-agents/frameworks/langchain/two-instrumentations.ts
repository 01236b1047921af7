/** LangChain under OpenInference, and the `openai` client below it under OpenLLMetry's instrumentation. */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai';
import { runAgent } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
new LangChainInstrumentation().manuallyInstrument(callbackManager);
new OpenAIInstrumentation().manuallyInstrument(OpenAI as never);
await runAgent();
await telemetry.shutdown();
