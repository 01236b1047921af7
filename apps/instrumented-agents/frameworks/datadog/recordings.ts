import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'datadog',
    framework: "Datadog's tracer for Node.js",
    packages: ['dd-trace', 'openai', '@openai/agents', '@anthropic-ai/sdk', '@google/genai'],
    program: 'program.ts',
    dialects: ['datadog'],
    setUp: `\`\`\`sh
# npm install dd-trace
export OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=<Quartermaster's URL>/v1/traces
export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> DD_LLMOBS_ENABLED=true DD_LLMOBS_ML_APP=<application> DD_SERVICE=<service>
node --import dd-trace/initialize.mjs agent.js
\`\`\``,
    cannotKnow: [
      'The call of a tool of an MCP server has the span client_tool_call, which names neither the tool nor the server.',
      'A tool of the AI SDK has a span without its name.',
      'The spans do not contain the tools that the vendor runs.',
      'A tool of the OpenAI Agents SDK that a person rejects counts: the span has only data that a server may also send.',
    ],
  },
];
