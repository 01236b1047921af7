/** The `openai` client under OpenTelemetry's own instrumentation. */
import { register } from 'node:module';
import { OpenAIInstrumentation } from '@opentelemetry/instrumentation-openai';
import { NodeSDK } from '@opentelemetry/sdk-node';

// ES modules cannot be patched once they are loaded: the hook first, then the client. The hook has to be that of the
// instrumentation's own dependency, since pnpm may have installed another copy for this folder.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.resolve('@opentelemetry/instrumentation-openai'));
const telemetry = new NodeSDK({ instrumentations: [new OpenAIInstrumentation({ captureMessageContent: true })] });
telemetry.start();
const { OpenAI } = await import('openai');
const { CLIENT_OPTIONS, runAgent, runOtherCalls } = await import('./agent.ts');
const client = new OpenAI(CLIENT_OPTIONS);
await runAgent(client);
await runOtherCalls(client);
await telemetry.shutdown();
