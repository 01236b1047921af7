/**
 * What one span or log record says about models, tools and agents, in whichever dialect it was written. Null means that it
 * does not say. Hidden characters in names are written visibly.
 */
export type Facts = {
  /** A value of `gen_ai.operation.name`: chat, execute_tool, invoke_agent, ... Custom values are kept. */
  operation: string | null;
  /** The vendor of the model, by its canonical name. A framework's own name is not a vendor. */
  vendor: string | null;
  /** The model that the caller requested; the response's model if no requested one is known. */
  model: string | null;
  responseModel: string | null;
  agent: string | null;
  agentId: string | null;
  tool: string | null;
  /** The MCP server that the tool belongs to, by the name that the sender uses for it. */
  toolServer: string | null;
  /**
   * Who runs the tool, where it is not an MCP server or the agent's own code: `vendor` for the vendor's server-side tools
   * (web search, code execution), `agent` for the built-in tools of a coding agent (Bash, Read, Edit, ...).
   */
  toolRunsAt: 'vendor' | 'agent' | null;
  /** Identifies the call in every span and log record that tells of it: the id of a tool call or of a response. */
  callId: string | null;
  prompt: string | null;
  workflow: string | null;
  mcpResource: string | null;
  mcpMethod: string | null;
  conversationId: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  /** Lower case, an IPv6 address without brackets. */
  serverAddress: string | null;
  serverPort: number | null;
  errorType: string | null;
};

/** One thing that a span used: what governance counts. */
export type Use = { kind: 'model' | 'tool' | 'agent' | 'prompt' | 'resource'; name: string };

/** What was read of a span. */
export type Reading = {
  /** The name of the dialect that the span is written in; null for a span of an unknown one. */
  dialect: string | null;
  /** Null for a span that says nothing about models, tools or agents. */
  facts: Facts | null;
  uses: Use[];
  /**
   * The use that the tokens of these facts belong to, where another record counts the call: some senders tell of a request
   * and of its answer in two records, which no id connects. `uses` is empty then.
   */
  tokensOf?: Use;
};
