/** OpenAI Agents SDK under Microsoft's OpenTelemetry distribution. */
import { shutdownMicrosoftOpenTelemetry } from '@microsoft/opentelemetry';
import { runAgents } from './agents.ts';

await runAgents();
await shutdownMicrosoftOpenTelemetry();
