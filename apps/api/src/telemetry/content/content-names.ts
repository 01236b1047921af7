import { readNames } from '../dialects/read.ts';

/**
 * Message bodies and tool arguments: content, not governance. A name stands for itself and for everything flattened below
 * it (`llm.prompts` covers `llm.prompts.0.prompt.text`); `*` stands for any characters but a dot.
 */
const CONTENT = {
  // github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md
  'OpenTelemetry GenAI': [
    'gen_ai.input.messages',
    'gen_ai.output.messages',
    'gen_ai.system_instructions',
    'gen_ai.tool.definitions',
    'gen_ai.tool.call.arguments',
    'gen_ai.tool.call.result',
    'gen_ai.retrieval',
    'gen_ai.memory.query.text',
    'gen_ai.memory.records',
    'gen_ai.evaluation.explanation',
  ],
  // Flattened messages of 2023 and 2024, the events' attributes of semantic-conventions 1.27, Azure's form of them
  'OpenTelemetry GenAI, older': ['gen_ai.prompt', 'gen_ai.completion', 'gen_ai.event.content'],
  // github.com/open-telemetry/semantic-conventions, docs/registry/attributes/{exception,error,http,rpc,process}.md. An agent
  // on a command line has its prompt, and sometimes a secret, among the arguments.
  'OpenTelemetry general': [
    'exception.message',
    'exception.stacktrace',
    'error.message',
    'http.request.header',
    'http.response.header',
    'rpc.request.metadata',
    'rpc.response.metadata',
    'rpc.*.request.metadata',
    'rpc.*.response.metadata',
    'process.command_args',
    'process.command_line',
    'process.environment_variable',
    'url.query',
    'db.statement',
    'db.query.text',
    'db.query.parameter',
  ],
  // github.com/Arize-ai/openinference, spec/semantic_conventions.md. Invocation parameters hold tools and instructions.
  OpenInference: [
    'input.value',
    'output.value',
    'input.audio',
    'output.audio',
    'llm.*_messages',
    'llm.prompts',
    'llm.choices',
    'llm.function_call',
    'llm.invocation_parameters',
    'llm.prompt_template.template',
    'llm.prompt_template.variables',
    'llm.tools',
    'message.content',
    'message.contents',
    'message.function_call_arguments_json',
    'message.tool_calls',
    'message_content',
    'tool.parameters',
    'tool.json_schema',
    'tool_call.function.arguments',
    'retrieval.documents',
    'document.content',
    'document.metadata',
    'reranker.query',
    'reranker.*_documents',
    'embedding.embeddings',
    'embedding.text',
    'embedding.vector',
    'prompt.text',
    'completion.text',
    'image.url',
    'audio.url',
    'audio.transcript',
    'video.url',
    'annotation.explanation',
    'evaluation.explanation',
  ],
  // github.com/traceloop/openllmetry, opentelemetry-semantic-conventions-ai
  OpenLLMetry: [
    'traceloop.entity',
    'traceloop.prompt.template',
    'traceloop.prompt.template_variables',
    'llm.completions',
    'llm.request.functions',
    'llm.content.completion.chunk',
    'llm.headers',
    'mcp.request.argument',
    'mcp.response.value',
    'mcp.session.init_options',
    'db.query.result.document',
    'db.query.result.metadata',
    'db.search.result.entity',
  ],
  // ai-sdk.dev, "Telemetry"; github.com/google/adk-python, telemetry
  'Vercel AI SDK, Google ADK': [
    'ai.prompt',
    'ai.response.text',
    'ai.response.object',
    'ai.response.reasoning',
    'ai.response.toolCalls',
    'ai.result.text',
    'ai.result.object',
    'ai.result.toolCalls',
    'ai.toolCall.args',
    'ai.toolCall.result',
    'ai.value',
    'ai.values',
    'ai.embedding',
    'ai.embeddings',
    'gcp.vertex.agent.llm_request',
    'gcp.vertex.agent.llm_response',
    'gcp.vertex.agent.tool_call_args',
    'gcp.vertex.agent.tool_response',
    'gcp.vertex.agent.data',
  ],
  // langfuse.com, "OpenTelemetry"; mlflow.org, "Tracing"; ai.pydantic.dev and logfire.pydantic.dev, their instrumentations
  'Langfuse, MLflow, Pydantic AI, Logfire': [
    'langfuse.observation.input',
    'langfuse.observation.output',
    'langfuse.trace.input',
    'langfuse.trace.output',
    'mlflow.spanInputs',
    'mlflow.spanOutputs',
    'pydantic_ai.all_messages',
    'all_messages',
    'all_messages_events',
    'final_result',
    'model_request_parameters',
    'request_data',
    'response_data',
    'tool_arguments',
    'tool_response',
  ],
};

/** A current name inside a namespace that older instrumentations fill with messages. */
const NOT_CONTENT = new Set(['gen_ai.prompt.name']);

/**
 * What frameworks of no convention call content, by the last part of the name. Numbers and booleans are none:
 * `llm.token_count.prompt` is a count. `events` as a whole name is where Pydantic AI writes its messages.
 */
const CONTENT_BY_LAST_PART = /^events$|(?:^|\.)(?:prompts?|completions?|messages|inputs?|outputs?|arguments|result)$/i;

/** By the end of the name, so that `clientSecret` and `x-api-key` are among them, and counts such as `max_tokens` not. */
const SECRET =
  /(?:api[_-]?keys?|(?:access|private|secret|signing)[_-]?key|secrets?|token|passwords?|passwd|authorization|credentials?|cookies?)$/i;

/** They may carry a user and password, and in their query whatever was asked for. */
const URLS = new Set(['url.full', 'url.original', 'http.url', 'http.target']);

/**
 * What becomes of an attribute. `content`: stored where content is. `text content`: so too, but numbers and booleans are
 * kept. `secret`: never stored, but for these. `url`: without user and password, and its query is content.
 */
export type Handling = 'kept' | 'content' | 'text content' | 'secret' | 'url';

/** By the dotted name alone; what `readSpan` reads is kept, unless a convention says that it is content. */
export function handlingOf(name: string): Handling {
  if (readNames.has(name)) return CONTENT_NAME.test(name) && !NOT_CONTENT.has(name) ? 'content' : 'kept';
  // Before content: where that is stored, passwords are still not.
  if (SECRET.test(name)) return 'secret';
  if (CONTENT_NAME.test(name) && !NOT_CONTENT.has(name)) return 'content';
  if (CONTENT_BY_LAST_PART.test(name)) return 'text content';
  return URLS.has(name) ? 'url' : 'kept';
}

const CONTENT_NAME = compile(Object.values(CONTENT).flat());

function compile(names: string[]): RegExp {
  const patterns = names.map((name) => name.replaceAll('.', '\\.').replaceAll('*', '[^.]*'));
  return new RegExp(`^(?:${patterns.join('|')})(?:\\.|$)`);
}
