import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'llamaindex',
    framework: 'LlamaIndex with OpenLLMetry',
    packages: ['llamaindex', '@llamaindex/workflow', '@traceloop/node-server-sdk'],
    program: 'weather.ts',
    dialects: ['openllmetry'],
    setUp: `\`\`\`ts
// npm install @traceloop/node-server-sdk
import * as llamaIndexOpenAI from '@llamaindex/openai';
import * as traceloop from '@traceloop/node-server-sdk';
import * as llamaIndex from 'llamaindex';

traceloop.initialize({
  appName: '<service>',
  baseUrl: "<Quartermaster's URL>",
  headers: { 'x-api-key': '<key>' },
  instrumentModules: { llamaIndex, llamaIndexOpenAI },
});
\`\`\``,
    cannotKnow: [
      'Agents and tools of @llamaindex/workflow have no spans: the instrumentation knows the older agents only.',
      'Embeddings have no spans.',
      'The spans have no token counts.',
    ],
  },
];
