/** Ax with the models of Anthropic and Google: for each a program with a local tool, a streamed answer and a failure. */
import { ai, ax } from '@ax-llm/ax';
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, modelServerUrl } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const tracer = trace.getTracer('weather-service');

// These two clients take no URL.
const fetchFromVendor = globalThis.fetch;
globalThis.fetch = (url, init) => fetchFromVendor(String(url).replace(/^https:\/\/[^/]+/, modelServerUrl), init);

const getWeather = {
  name: 'get_weather',
  description: MARKERS.toolDescription,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', description: MARKERS.toolDescription } },
    required: ['city'],
  },
  func: async () => {
    countTool('get_weather');
    return MARKERS.toolResult;
  },
};
const program = (functions: object[] = []) => {
  const made = ax('question:string -> weather:string', { functions, tracer } as never);
  made.setInstruction(MARKERS.instructions);
  return made;
};
const options = { tracer };
const vendors = [
  ai({ name: 'anthropic', apiKey: 'scripted', config: { model: 'claude-sonnet-4-5' as never }, options }),
  ai({ name: 'google-gemini', apiKey: 'scripted', config: { model: 'gemini-3-flash' as never }, options }),
];
for (const llm of vendors) {
  await program([getWeather]).forward(llm, { question: MARKERS.question }, { maxRetries: 0, stream: false });
  const stream = program().streamingForward(llm, { question: MARKERS.question }, { maxRetries: 0 });
  for await (const delta of stream) void delta;
  await program()
    .forward(llm, { question: MARKERS.fail }, { maxRetries: 0 })
    .catch(() => undefined);
}
await telemetry.shutdown();
