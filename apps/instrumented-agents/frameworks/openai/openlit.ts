/** The `openai` and MCP clients under OpenLIT. */
import * as openaiModule from 'openai7';
import { Openlit } from 'openlit';

Openlit.init({
  applicationName: 'weather-service',
  otlpEndpoint: process.env['OTEL_EXPORTER_OTLP_ENDPOINT'],
  otlpHeaders: { 'x-api-key': 'recorded' },
  disableBatch: true,
  // Else it is fetched from the network.
  pricingJson: {},
  instrumentations: { openai: openaiModule },
});
const { CLIENT_OPTIONS, runAgent, runOtherCalls } = await import('./agent.ts');
const client = new openaiModule.OpenAI(CLIENT_OPTIONS);
await runAgent(client);
await runOtherCalls(client);
