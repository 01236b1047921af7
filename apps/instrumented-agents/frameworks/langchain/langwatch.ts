/** LangChain with LangWatch's callback handler. */
import { NodeSDK } from '@opentelemetry/sdk-node';
import { LangWatchCallbackHandler } from 'langwatch/observability/instrumentation/langchain';
import { runAgent } from './agent.ts';

const telemetry = new NodeSDK();
telemetry.start();
await runAgent([new LangWatchCallbackHandler()]);
await telemetry.shutdown();
