import type { RecordingDefinition } from '../../recorder/definition.ts';

const VARIABLES = `// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>`;

const NO_TOOLS = 'The client sees that the model asks for a tool, not that one runs: tools and agents have no spans.';

export const recordings: RecordingDefinition[] = [
  {
    name: 'anthropic-openinference',
    framework: 'Anthropic SDK with OpenInference',
    packages: ['@arizeai/openinference-instrumentation-anthropic', 'anthropic1'],
    program: 'openinference.ts',
    dialects: ['openinference', 'anthropic-sdk'],
    setUp: `\`\`\`ts
// npm install @arizeai/openinference-instrumentation-anthropic @opentelemetry/sdk-node
${VARIABLES}
import Anthropic from '@anthropic-ai/sdk';
import { AnthropicInstrumentation } from '@arizeai/openinference-instrumentation-anthropic';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
new AnthropicInstrumentation().manuallyInstrument(Anthropic);
\`\`\``,
    cannotKnow: [NO_TOOLS],
  },
  {
    name: 'anthropic-openllmetry',
    framework: 'Anthropic SDK with OpenLLMetry',
    packages: ['@traceloop/instrumentation-anthropic', '@anthropic-ai/sdk'],
    program: 'openllmetry.ts',
    dialects: ['openllmetry'],
    setUp: `\`\`\`ts
// npm install @traceloop/instrumentation-anthropic @opentelemetry/sdk-node
${VARIABLES}
// It needs @anthropic-ai/sdk 0.x, not 1.
import * as anthropic from '@anthropic-ai/sdk';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { AnthropicInstrumentation } from '@traceloop/instrumentation-anthropic';

new NodeSDK().start();
new AnthropicInstrumentation().manuallyInstrument(anthropic);
\`\`\``,
    cannotKnow: [NO_TOOLS],
  },
];
