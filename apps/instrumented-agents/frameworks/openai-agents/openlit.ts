/** OpenAI Agents SDK under OpenLIT, also with a guardrail and a span of the program. */
import * as agentsModule from '@openai/agents';
import * as openaiModule from 'openai';
import { Openlit } from 'openlit';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, telemetryUrl } from '../../recorder/program.ts';
import { runAgents } from './agents.ts';

Openlit.init({
  applicationName: 'weather-service',
  otlpEndpoint: telemetryUrl,
  otlpHeaders: { 'x-api-key': 'recorded' },
  disableBatch: true,
  // Else it is fetched from the network.
  pricingJson: {},
  // OpenLIT replaces the class of agents in the module, whose namespace is read-only.
  instrumentations: { 'openai-agents': { ...agentsModule }, openai: openaiModule },
});
const { Agent, run, setDefaultOpenAIClient, withCustomSpan, withTrace } = agentsModule;
setDefaultOpenAIClient(new openaiModule.OpenAI({ maxRetries: 0 }) as never);
await runAgents();

countAgent('guarded_agent');
const guardrail = {
  name: 'topic_guardrail',
  execute: () => Promise.resolve({ outputInfo: {}, tripwireTriggered: false }),
};
const guarded = new Agent({ name: 'guarded_agent', model: 'gpt-5-mini', inputGuardrails: [guardrail] });
await withTrace('Agent workflow', async () => {
  const step = { data: { name: 'look_up_city', data: { note: MARKERS.metadata } } };
  await withCustomSpan(() => Promise.resolve(), step);
  await run(guarded, MARKERS.question);
});
// Its own exit would not wait for the spans.
await new Promise((resolve) => setTimeout(resolve, 1000));
