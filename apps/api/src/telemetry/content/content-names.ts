/**
 * Attributes that hold content and belong to no dialect: general conventions, and frameworks that are not described yet. The
 * dialects list their own.
 */
export const GENERAL_CONTENT: readonly string[] = [
  // github.com/open-telemetry/semantic-conventions, docs/registry/attributes/{exception,error,http,rpc,process}.md. A
  // command-line agent has its prompt, and sometimes a secret, among the arguments.
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
  // mlflow.org, "Tracing"; ai.pydantic.dev and logfire.pydantic.dev, their instrumentations
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
  // ai-sdk.dev, "Telemetry"; github.com/google/adk-python; langfuse.com, "OpenTelemetry"
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
  'langfuse.observation.input',
  'langfuse.observation.output',
  'langfuse.trace.input',
  'langfuse.trace.output',
];

/** What frameworks call content, by the last part of the name. `events` is where Pydantic AI writes its messages. */
export const CONTENT_BY_LAST_PART =
  /^events$|(?:^|[.:/])(?:prompts?|completions?|messages|inputs?|outputs?|arguments|result)$/i;

/** By the end of the name, so that `clientSecret` and `x-api-key` match, and counts such as `max_tokens` do not. */
export const SECRET =
  /(?:api[_-]?keys?|(?:access|private|secret|signing)[_-]?key|secrets?|token|passwords?|passwd|pwd|passphrases?|jwt|connection[_-]?string|authorization|credentials?|cookies?)$/i;

/** They may carry a user and password, and what was asked for in path and query. */
export const URLS: ReadonlySet<string> = new Set(['url.full', 'url.original', 'http.url', 'http.target']);
