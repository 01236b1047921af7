/** The `openai` client under Langtrace, exported to another receiver. */
import * as langtrace from '@langtrase/typescript-sdk';
// Langtrace uses OpenTelemetry 1, whose spans exporters of OpenTelemetry 2 do not understand.
import { OTLPTraceExporter } from 'exporter-of-langtrace';
import * as openaiModule from 'openai5';
import { MARKERS } from '../../model-server/markers.ts';
import { CLIENT_OPTIONS, runAgent, runOtherCalls } from './agent.ts';

langtrace.init({
  custom_remote_exporter: new OTLPTraceExporter() as never,
  disable_latest_version_check: true,
  logging: { disable: true },
  instrumentations: { openai: openaiModule as never },
});
const client = new openaiModule.OpenAI(CLIENT_OPTIONS) as never;
await langtrace.withAdditionalAttributes(() => langtrace.withLangTraceRootSpan(() => runAgent(client), 'weather'), {
  note: MARKERS.metadata,
});
await runOtherCalls(client);
