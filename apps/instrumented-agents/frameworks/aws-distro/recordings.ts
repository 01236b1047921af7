import type { RecordingDefinition } from '../../recorder/definition.ts';

const DISTRO = '@aws/aws-distro-opentelemetry-node-autoinstrumentation';

export const recordings: RecordingDefinition[] = [
  {
    name: 'aws-distro',
    framework: 'AWS Distro for OpenTelemetry, with AI SDK 6, the OpenAI Agents SDK and LangChain',
    packages: [DISTRO, 'ai', '@openai/agents', 'langchain'],
    program: 'program.ts',
    environment: {
      NODE_OPTIONS: `--require ${DISTRO}/register --experimental-loader @opentelemetry/instrumentation/hook.mjs`,
      OTEL_AWS_APPLICATION_SIGNALS_ENABLED: 'false',
      OTEL_TRACES_SAMPLER: 'always_on',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_NODE_DISABLED_INSTRUMENTATIONS: 'fs,dns,net,http,undici',
    },
    dialects: ['genai'],
    cannotKnow: [
      'No span names the MCP server of a tool. It is known where one provider declares the tool.',
      'A tool that a guardrail of the OpenAI Agents SDK stops has the span of a tool that ran, so it counts.',
      "With `state.reject(item, { message })` the status has the application's own message instead of the SDK's, so a rejected tool counts.",
    ],
    setUp: `\`\`\`sh
# npm install ${DISTRO} @opentelemetry/instrumentation
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
# OTEL_AWS_APPLICATION_SIGNALS_ENABLED=false OTEL_TRACES_SAMPLER=always_on
node --require ${DISTRO}/register \\
  --experimental-loader @opentelemetry/instrumentation/hook.mjs program.js
\`\`\`

With \`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=false\` prompts and answers do not leave the application; tools that the
vendor runs are then not seen.`,
  },
];
