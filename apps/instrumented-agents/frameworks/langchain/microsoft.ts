/** LangChain under Microsoft's OpenTelemetry distribution. */
import { shutdownMicrosoftOpenTelemetry } from '@microsoft/opentelemetry';
import { runAgent } from './agent.ts';

await runAgent();
await shutdownMicrosoftOpenTelemetry();
