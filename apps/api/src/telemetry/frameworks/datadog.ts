import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import { subjectIn } from '../reading/span-subject.ts';

/**
 * Datadog's tracer (github.com/DataDog/dd-trace-js, packages/dd-trace/src/llmobs) with OTLP export. It writes OpenTelemetry GenAI with
 * its own names of operations. Only the name of its span names a tool or an agent. The name of a model is that of the answer.
 */
export const datadog: Dialect = {
  name: 'datadog',
  scopes: [/^dd-trace(?:-|$)/],
  instrumentation: 'component',
  attributes: {
    model: ['openai.request.model', 'anthropic.request.model', 'langchain.request.model', 'gen_ai.request.model'],
    responseModel: ['openai.response.model', 'gen_ai.response.model'],
    callId: ['openai.response.id'],
  },
  operations: {
    llm: 'chat',
    embedding: 'embeddings',
    tool: 'execute_tool',
    agent: 'invoke_agent',
    workflow: 'invoke_workflow',
  },
  content: ['error.message', 'error.stack', 'cmd.exec', 'resource.name'],
  safe: ['span.type', 'component', '_dd.integration', 'openai.request.endpoint', 'openai.request.method'],
  alsoReads: ['operation.name'],
  refine({ name, attributes }, facts) {
    // Spans of HTTP requests have no operation.
    if (attributes['gen_ai.operation.name'] === undefined) facts.errorType = null;
    if (facts.model === UNKNOWN_MODEL) facts.model = null;
    const component = asText(attributes['component'] ?? '');
    // The vendor is not known at any other address than its own.
    if (facts.model !== null) facts.vendor ??= canonicalVendor(component);
    // The AI SDK's function id replaces the name of the span. It is the only name of an agent.
    const method = asText(attributes['operation.name']);
    if (AI_SDK.test(component) && RUN_OF_AI_SDK.test(method) && name !== method) facts.operation = 'invoke_agent';
    if (facts.operation === 'invoke_agent' && !UNNAMED.test(name)) facts.agent ??= subjectIn(name);
    if (facts.operation !== 'execute_tool' || NAMED_OTHERWISE.test(component)) return;
    // A handoff of OpenAI Agents looks like a tool. The agent that takes over has its own span.
    if (component === 'openai-agents' && name.startsWith('transfer_to_')) facts.operation = 'handoff';
    else if (!UNNAMED.test(name)) facts.tool ??= subjectIn(LANGCHAIN_TOOL.exec(name)?.[1] ?? name);
  },
};

/** Written if the model is not known. */
const UNKNOWN_MODEL = 'custom';

/** Version 7, and versions 4 to 6. */
const AI_SDK = /^ai_tracing_(?:vercel|dd)_telemetry$/;

const RUN_OF_AI_SDK = /^(?:ai\.)?(?:generate|stream)(?:Text|Object)$/;

/** `client_tool_call` of every tool of an MCP server, and the AI SDK's function id. */
const NAMED_OTHERWISE = new RegExp(`^modelcontextprotocol_client$|${AI_SDK.source}`);

const UNNAMED = /^claude_agent_sdk\./;

const LANGCHAIN_TOOL = /^langchain\.tools\.\w+\.(.+)$/;
