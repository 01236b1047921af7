/** Runs `weather.ts` with the tracer loaded first, which is how it instruments packages. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { telemetryUrl } from '../../recorder/program.ts';

const weather = fileURLToPath(new URL('weather.ts', import.meta.url));
const child = spawn(process.execPath, ['--import', 'dd-trace/initialize.mjs', weather], {
  stdio: 'inherit',
  env: {
    ...process.env,
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${telemetryUrl}/v1/traces`,
    DD_LLMOBS_ENABLED: 'true',
    DD_LLMOBS_ML_APP: 'weather-app',
    // There is no agent of Datadog: what it sends there is lost.
    DD_TRACE_AGENT_URL: 'http://127.0.0.1:9',
    DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false',
    DD_TRACE_STARTUP_LOGS: 'false',
  },
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
