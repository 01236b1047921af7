/** LangChain under OpenLLMetry. */
import * as callbackManager from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { LangChainInstrumentation } from '@traceloop/instrumentation-langchain';
import { runAgent } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
new LangChainInstrumentation().manuallyInstrument({ callbackManagerModule: callbackManager });
await runAgent();
await telemetry.shutdown();
