/** LangChain under OpenInference. */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { runAgent } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
new LangChainInstrumentation().manuallyInstrument(callbackManager);
await runAgent();
await telemetry.shutdown();
