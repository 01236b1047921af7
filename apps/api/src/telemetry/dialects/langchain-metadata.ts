import type { AttributeValue } from '../otlp/span.ts';

/** What LangChain writes into a run's metadata, which OpenInference hands on as one JSON text. */
export type LangChainMetadata = { provider: string | null; agent: string | null };

/** Metadata is also the application's: what is longer is not looked into. */
const MAX_CHARACTERS = 64 * 1024;

const NOTHING: LangChainMetadata = { provider: null, agent: null };

/**
 * Reads `ls_provider` (of a model call: the integration's vendor, such as `openai` or `google_genai`) and `lc_agent_name`
 * (of everything inside an agent of `createAgent`) out of OpenInference's `metadata` attribute. OpenInference's
 * instrumentation of LangChain says neither in an attribute of its own.
 */
export function readLangChainMetadata(metadata: AttributeValue | undefined): LangChainMetadata {
  if (typeof metadata !== 'string' || metadata.length > MAX_CHARACTERS) return NOTHING;
  let parsed: unknown;
  try {
    parsed = JSON.parse(metadata);
  } catch {
    return NOTHING;
  }
  if (typeof parsed !== 'object' || parsed === null) return NOTHING;
  const { ls_provider: provider, lc_agent_name: agent } = parsed as Record<string, unknown>;
  return { provider: textOf(provider), agent: textOf(agent) };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
