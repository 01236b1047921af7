/** Content attributes of general conventions, and of frameworks without a dialect. Dialects list their own. */
export const GENERAL_CONTENT: readonly string[] = [
  // github.com/open-telemetry/semantic-conventions, docs/registry/attributes/{exception,error,http,rpc,process}.md. The
  // process arguments of a command-line agent may contain its prompt or a secret.
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
  // mlflow.org, "Tracing"; logfire.pydantic.dev
  'mlflow.spanInputs',
  'mlflow.spanOutputs',
  'all_messages',
];

/** Names that frameworks usually give to content, by the last part. Pydantic AI writes its messages to `events`. */
export const CONTENT_BY_LAST_PART =
  /^events$|(?:^|[.:/])(?:prompts?|completions?|messages|inputs?|outputs?|arguments|result)$/i;

/** Names of secrets, by their end: `clientSecret` and `x-api-key` match, counts such as `max_tokens` do not. */
export const SECRET =
  /(?:api[_-]?keys?|(?:access|private|secret|signing)[_-]?key|secrets?|token|passwords?|passwd|pwd|passphrases?|jwt|connection[_-]?string|authorization|credentials?|cookies?)$/i;

/** Names of URLs. A URL may contain a user and password, and its path and query may repeat a request. */
export const URLS: ReadonlySet<string> = new Set(['url.full', 'url.original', 'http.url', 'http.target']);
