/** One endpoint of a model vendor's API. Its answer depends on the request alone, so that a recording can be repeated. */
export type Route = {
  /** Matches the path without its query. */
  path: RegExp;
  /** The vendor's canonical name: what the truth of a recording says. */
  vendor: string;
  answer(request: ModelRequest): Answer;
};

export type ModelRequest = { path: string; query: URLSearchParams; body: Record<string, unknown> };

export type Answer = {
  /** The model as the client asked for it. Absent where none is called, as for a count of tokens. */
  model?: string;
  inputTokens?: number;
  outputTokens?: number;
  /** Tools that run at the vendor, such as a web search. */
  vendorTools?: string[];
  /** Results that the client sends back for the first time. Built-in tools of coding agents are counted by them. */
  toolResults?: { name: string; failed: boolean }[];
  /** `eventStream`: binary messages, as AWS sends them. */
  response: { status: number; json: unknown } | { events: string[] } | { eventStream: Buffer[] };
};

/** A server-sent event. OpenAI's chat completions name no event, its responses and Anthropic's messages do. */
export function serverSentEvent(data: object, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Content is streamed in pieces that keep their spaces. */
export function wordsOf(text: string): string[] {
  return text.split(/(?= )/);
}
