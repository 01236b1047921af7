/**
 * The client of Microsoft Foundry projects with its own telemetry: an agent of the service, a web search in a streamed response,
 * a response that asks for a tool of the program, and a failure. The client asks its service for an answer only:
 * the program runs the tool.
 */
import { AIProjectClient } from '@azure/ai-projects';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, countTool, modelServerUrl } from '../../recorder/program.ts';

const telemetry = new NodeSDK();
telemetry.start();
const credential = { getToken: async () => ({ token: 'scripted', expiresOnTimestamp: Date.now() + 3_600_000 }) };
const project = new AIProjectClient(`${modelServerUrl}/api/projects/weather`, credential, {
  tracingOptions: { experimental: true, contentRecording: true },
});
const openai = project.getOpenAIClient({ maxRetries: 0 });

const model = 'gpt-5-mini';
const instructions = MARKERS.instructions;

const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const tools = [
  { type: 'function' as const, name: 'get_weather', description: MARKERS.toolDescription, parameters, strict: false },
];
const asked = await openai.responses.create({ model, instructions, input: MARKERS.question, tools });
const call = asked.output.find((item) => item.type === 'function_call');
countTool('get_weather');
await openai.responses.create({
  model,
  previous_response_id: asked.id,
  input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: MARKERS.toolResult }],
  tools,
});

const search = [{ type: 'web_search' as const }];
const stream = await openai.responses.create({ model, input: MARKERS.question, tools: search, stream: true });
for await (const event of stream) void event;

countAgent('weather_agent');
const agent = { type: 'agent_reference', name: 'weather_agent' };
await openai.responses.create({ model, input: MARKERS.question }, { body: { model, input: MARKERS.question, agent } });

await openai.responses.create({ model, input: MARKERS.fail }).catch(() => undefined);
await telemetry.shutdown();
