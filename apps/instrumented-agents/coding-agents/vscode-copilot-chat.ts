import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { createHash } from 'node:crypto';
import { MARKERS } from '../model-server/markers.ts';
import { TOKENS } from '../model-server/scenario.ts';
import { countAgent } from '../recorder/program.ts';
import { countInto } from '../recorder/truth.ts';

// Copilot Chat needs VS Code and a subscription. These spans are written by hand, after its documentation and its source
// (microsoft/vscode-copilot-chat, docs/monitoring/agent_monitoring.md and src/platform/otel), with content captured.
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({
    'service.name': 'copilot-chat',
    'service.version': '0.59.0',
    'session.id': 'window-1',
  }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
const tracer = provider.getTracer('copilot-chat', '0.59.0');
const truthFile = process.env['QM_TRUTH_FILE'] ?? '';

type Attributes = Record<string, string | number | boolean | string[]>;

function span(
  name: string,
  { kind, attributes }: { kind: SpanKind; attributes: Attributes },
  inside?: () => void,
): void {
  tracer.startActiveSpan(
    name,
    { kind, attributes: { ...attributes, 'gen_ai.conversation.id': 'conversation-1' } },
    (open) => {
      inside?.();
      if (attributes['error.type'] !== undefined)
        open.setStatus({ code: SpanStatusCode.ERROR, message: MARKERS.errorText });
      open.end();
    },
  );
}

function chat(model: string, failed = false): void {
  const [inputTokens, outputTokens] = failed ? [0, 0] : [TOKENS.input, TOKENS.output];
  countInto(truthFile, { kind: 'model', name: model, vendor: 'github', inputTokens, outputTokens, failed });
  const answer: Attributes = failed
    ? { 'error.type': 'Error' }
    : {
        'gen_ai.response.id': `chatcmpl-${crypto.randomUUID()}`,
        'gen_ai.response.model': `${model}-2026-01-01`,
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': inputTokens,
        'gen_ai.usage.output_tokens': outputTokens,
        'gen_ai.output.messages': JSON.stringify([
          { role: 'assistant', parts: [{ type: 'text', content: MARKERS.answer }] },
        ]),
        'copilot_chat.reasoning_content': MARKERS.answer,
      };
  span(`chat ${model}`, {
    kind: SpanKind.CLIENT,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'github',
      'gen_ai.request.model': model,
      'gen_ai.request.max_tokens': 2048,
      'copilot_chat.request.max_prompt_tokens': 128_000,
      'copilot_chat.debug_name': 'agentMode',
      'server.address': 'api.githubcopilot.com',
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: MARKERS.question }] }]),
      'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: MARKERS.instructions }]),
      'copilot_chat.user_request': MARKERS.question,
      ...answer,
    },
  });
}

function tool(name: string, attributes: Attributes, inside?: () => void): void {
  span(
    `execute_tool ${name}`,
    {
      kind: SpanKind.INTERNAL,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': `call_${crypto.randomUUID()}`,
        'gen_ai.tool.description': MARKERS.toolDescription,
        'gen_ai.tool.call.arguments': JSON.stringify({ command: MARKERS.toolArgument }),
        'gen_ai.tool.call.result': MARKERS.toolResult,
        ...attributes,
      },
    },
    inside,
  );
}

function builtIn(name: string, attributes: Attributes = {}, inside?: () => void): void {
  const failed = attributes['error.type'] !== undefined;
  countInto(truthFile, { kind: 'tool', name, server: null, runsAt: 'agent', failed });
  tool(name, attributes, inside);
}

/** The server's name comes as a hash, in clear only where content is captured. */
function mcpTool(name: string, withServerName: boolean): void {
  countInto(truthFile, { kind: 'tool', name, server: 'everything', runsAt: null, failed: false });
  tool(`mcp_everything_${name}`, {
    'gen_ai.tool.type': 'extension',
    'github.copilot.tool.parameters.mcp_tool_name': name,
    'github.copilot.tool.parameters.mcp_server_name_hash': createHash('sha256').update('everything').digest('hex'),
    ...(withServerName && { 'github.copilot.tool.parameters.mcp_server_name': 'everything' }),
  });
}

function agent(name: string, inside: () => void): void {
  countAgent(name);
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'github',
    'gen_ai.agent.name': name,
    'gen_ai.request.model': 'gpt-5-mini',
    'copilot_chat.turn_count': 4,
  };
  span(`invoke_agent ${name}`, { kind: SpanKind.INTERNAL, attributes }, inside);
}

context.with(trace.deleteSpan(context.active()), () =>
  agent('copilot', () => {
    chat('gpt-5-mini');
    builtIn('run_in_terminal', { 'github.copilot.tool.parameters.command': MARKERS.command });
    mcpTool('echo', true);
    mcpTool('get-sum', false);
    builtIn('read_file', {
      'github.copilot.tool.parameters.file_path': MARKERS.path,
      'error.type': 'FileNotFoundError',
    });
    builtIn('runSubagent', {}, () => agent('weather_agent', () => chat('gpt-5-mini')));
    chat('gpt-5-mini', true);
  }),
);
await provider.shutdown();
