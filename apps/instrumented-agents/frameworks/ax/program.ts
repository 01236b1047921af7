/** Ax: a program with a local tool, a streamed answer, a failure, an embedding. */
import { ai, ax } from '@ax-llm/ax';
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { MARKERS } from '../../model-server/markers.ts';
import { countTool, modelServerUrl } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const tracer = trace.getTracer('weather-service');

const llm = ai({
  name: 'openai',
  apiKey: 'sk-scripted',
  apiURL: `${modelServerUrl}/v1`,
  config: { model: 'gpt-5-mini', embedModel: 'text-embedding-3-small' },
  options: { tracer },
});

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
  const made = ax('question:string -> weather:string', { functions, tracer });
  made.setInstruction(MARKERS.instructions);
  return made;
};

await program([getWeather]).forward(llm, { question: MARKERS.question }, { maxRetries: 0, stream: false });

const stream = program().streamingForward(llm, { question: MARKERS.question }, { maxRetries: 0 });
for await (const delta of stream) void delta;

await program()
  .forward(llm, { question: MARKERS.fail }, { maxRetries: 0 })
  .catch(() => undefined);

await llm.embed({ texts: [MARKERS.document], embedModel: 'text-embedding-3-small' });

await telemetry.shutdown();
