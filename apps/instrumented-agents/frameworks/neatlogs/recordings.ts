import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'neatlogs',
    framework: 'Neatlogs, with the OpenAI Agents SDK and the clients of Anthropic and Google',
    packages: ['neatlogs', '@openai/agents', '@anthropic-ai/sdk', '@google/genai'],
    program: 'program.ts',
    dialects: ['neatlogs', 'openinference'],
    setUp: `\`\`\`ts
// npm install neatlogs
// Neatlogs sends its key in the header x-api-key. The name of the workflow is the name of the service.
import { init } from 'neatlogs';

await init({ apiKey: '<key>', endpoint: "<Quartermaster's URL>", workflowName: '<service>' });
\`\`\``,
    cannotKnow: [
      'The span of an embedding has no token counts.',
      'No span names the MCP server of a tool. It is known where one provider declares the tool.',
    ],
  },
];
