/**
 * What one span or log record says about models, tools and agents, independent of its dialect. Null: it does not say.
 * Invisible characters in names are escaped.
 */
export type Facts = {
  /** A value of `gen_ai.operation.name`: chat, execute_tool, invoke_agent, ... Custom values are kept. */
  operation: string | null;
  /** The vendor of the model, by its canonical name. A framework's own name is not a vendor. */
  vendor: string | null;
  /** The requested model, or the response's model if the requested one is not known. */
  model: string | null;
  responseModel: string | null;
  agent: string | null;
  agentId: string | null;
  tool: string | null;
  /** The MCP server that the tool belongs to, by the name that the sender uses for it. */
  toolServer: string | null;
  /**
   * `vendor` for tools that the vendor runs (web search, code execution), `agent` for the built-in tools of a coding agent
   * (Bash, Read, Edit, ...). Null for tools of MCP servers and of the application.
   */
  toolRunsAt: 'vendor' | 'agent' | null;
  /** Identifies the call in all spans and log records that report it: the id of a tool call or of a response. */
  callId: string | null;
  prompt: string | null;
  workflow: string | null;
  mcpResource: string | null;
  mcpMethod: string | null;
  conversationId: string | null;
  /** With the tokens read from and written to a cache. */
  inputTokens: number | null;
  /** With the reasoning tokens. */
  outputTokens: number | null;
  /** The input tokens that were read from the vendor's cache. */
  cacheReadTokens: number | null;
  /** The input tokens that were written to the vendor's cache. */
  cacheWriteTokens: number | null;
  /** The output tokens that the model spent on reasoning. */
  reasoningTokens: number | null;
  /** Lower case, an IPv6 address without brackets. */
  serverAddress: string | null;
  serverPort: number | null;
  errorType: string | null;
};

/** A use of a model, tool, agent, prompt or resource. Governance counts uses. */
export type Use = {
  kind: 'model' | 'tool' | 'agent' | 'prompt' | 'resource';
  name: string;
  /**
   * How many calls it stands for, if not one: a vendor may run a tool several times in one answer. 0: other spans report the
   * calls, and this one has the sum of their tokens.
   */
  times?: number;
  /** Identifies this use of a log record, if the record has several uses and `callId` of the facts is not that of this one. */
  callId?: string;
};

/** The result of reading a span or a log record. */
export type Reading = {
  /** The name of its dialect. Null if no dialect was recognised. */
  dialect: string | null;
  /** The name of the instrumentation, if the scope of the span does not tell it. */
  instrumentation?: string;
  /** Null if it says nothing about models, tools or agents. */
  facts: Facts | null;
  uses: Use[];
  /**
   * The use that the tokens belong to, if another record reports the call. Some senders write a request and its answer into
   * two records without a common id. `uses` is empty then.
   */
  tokensOf?: Use;
  /** The call that failed, if another record of the same span reports the call. `uses` is empty then. */
  failureOf?: Use;
  /** The call that was rejected before it ran, if the record says that. `uses` is empty then. */
  rejected?: Use;
};
