import type { ProviderKind } from '@quartermaster/contracts/providers.ts';
import type { Use } from '../dialects/facts.ts';

/** What is kept of a span that tells of calls, to find out later which spans tell of the same call. */
export type CallSpan = {
  spanId: string;
  parentSpanId: string | null;
  /** Name of the instrumentation scope: two instrumentations that tell of one call differ in it. */
  scope: string;
  spanName: string;
  serviceName: string | null;
  /** Microseconds since 1970. */
  start: number;
  end: number;
  /** Milliseconds since 1970: when the call counts in usage. A time in the future, or too old to be kept, is replaced. */
  countedAt: number;
  failed: boolean;
  /** The agent that the span itself names. */
  agent: string | null;
  callId: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  serverAddress: string | null;
  operation: string | null;
  uses: CallUse[];
};

/** A use of a span, with the provider that it was matched to when it came in. */
export type CallUse = {
  kind: Use['kind'];
  /** The name of the subject at its provider. */
  name: string;
  /** The name as the span has it. */
  written: string;
  /** The model that answered, if the span says it. */
  responseModel: string | null;
  provider: { id: string; name: string; kind: ProviderKind };
  /** The name of the server that the tool belongs to, if anything says it. */
  server: string | null;
  /** How well the span knows the provider: see `certainty.ts`. Of several spans of a call the highest decides. */
  certainty: number;
  /** Whether the span is the client's side of an MCP call, which names things as the server does. */
  isMcp: boolean;
  /** Whether another signal counted the call before. */
  isCounted: boolean;
};
