import type { ProviderKind } from '@quartermaster/contracts/providers.ts';
import type { Use } from '../reading/facts.ts';

/** The longest duration of one call. Longer ones are cut, so that no sender can overflow the sums of others. */
export const MAX_DURATION_MS = 7 * 24 * 3600 * 1000;

/** What is stored of a span that reports calls, to find out later which spans report the same call. */
export type CallSpan = {
  spanId: string;
  parentSpanId: string | null;
  /** Name of the instrumentation scope. Two instrumentations that report one call differ in it. */
  scope: string;
  spanName: string;
  serviceName: string | null;
  /** The environment of the service, see `environmentOf`. */
  environment: string | null;
  /** Microseconds since 1970. */
  start: number;
  end: number;
  /** The time of the call in usage, in milliseconds since 1970. A time of receipt, if the span's is too old or in the future. */
  countedAt: number;
  failed: boolean;
  /** The agent that the span itself names. */
  agent: string | null;
  callId: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  /** Parts of the input tokens. */
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  /** A part of the output tokens. */
  reasoningTokens: number | null;
  serverAddress: string | null;
  operation: string | null;
  uses: CallUse[];
  /** The use that the tokens belong to, if other spans report its calls. */
  tokensOf: CallUse | null;
};

/** The names of the counts of tokens in a call. */
export const TOKEN_COUNTS = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
] as const;

/** All uses of a span: those that report calls, and that of tokens. */
export function allUsesOf({ uses, tokensOf }: CallSpan): readonly CallUse[] {
  return tokensOf === null ? uses : [...uses, tokensOf];
}

/** A use in a span, with the provider that it was matched to when the span came in. */
export type CallUse = {
  kind: Use['kind'];
  /** The name of the subject at its provider. */
  name: string;
  /** The name as the span writes it. */
  written: string;
  /** The model that answered, if the span names it. */
  responseModel: string | null;
  provider: { id: string; name: string; kind: ProviderKind };
  /** The name of the server that the tool belongs to, if it is known. */
  server: string | null;
  /** How well the span knows the provider, see `certainty.ts`. Of the spans of one call the highest certainty decides. */
  certainty: number;
  /** Whether the span is an MCP client's. It names tools as the server does. */
  isMcp: boolean;
  /** Whether a vendor ran the tool, and the span does not name the vendor. Then it is the vendor of the model call around the tool. */
  isOfModel: boolean;
  /**
   * Whether this use does not count, because of a log record that the span cannot replace: the record counted the call before,
   * or said that it was rejected.
   */
  isCounted: boolean;
  /** Whether a log record counted the failure of the call before. */
  isFailureCounted: boolean;
  /** How many calls it stands for. */
  times: number;
};
