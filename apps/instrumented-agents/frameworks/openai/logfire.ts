/** Logfire's SDK for Node.js, which also sends spans that only begin, around the `openai` client under OpenLLMetry. */
import * as logfire from '@pydantic/logfire-node';
import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai7';
import { MARKERS } from '../../model-server/markers.ts';
import { countAgent, telemetryUrl } from '../../recorder/program.ts';
import { CLIENT_OPTIONS, type RunTool, runAgent, runOtherCalls } from './agent.ts';

logfire.configure({
  token: 'scripted',
  serviceName: 'weather-service',
  advanced: { baseUrl: telemetryUrl },
  metrics: false,
});
new OpenAIInstrumentation().manuallyInstrument(OpenAI as never);
const client = new OpenAI(CLIENT_OPTIONS);
const runTool: RunTool = (name, callback) => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.arguments': MARKERS.toolArgument,
  };
  return logfire.span('execute_tool {gen_ai.tool.name}', { attributes, callback });
};
await logfire.span('invoke_agent weather_agent', {
  attributes: {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'weather_agent',
    question: MARKERS.question,
  },
  callback: () => {
    countAgent('weather_agent');
    return runAgent(client, runTool);
  },
});
await runOtherCalls(client);
await logfire.shutdown();
