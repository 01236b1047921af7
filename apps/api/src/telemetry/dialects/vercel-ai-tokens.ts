import { ownMember } from '../../platform/own-member.ts';
import { asCount } from './fact-slots.ts';
import type { Facts } from './facts.ts';
import { parsedJson } from './inside.ts';

/** Metadata with such a key may have tokens that the attributes leave out. Other metadata need not be parsed. */
const MARK = /cache_(?:read|creation)_input|cacheReadInput|thoughtsToken/;

/**
 * Adds tokens to a model call by the AI SDK. Its versions 4 and 5 copy the numbers of the vendor's API: the input of Anthropic and
 * Bedrock excludes cached tokens, and the output of Google excludes reasoning tokens. The metadata of the answer has them. Later
 * versions have the same metadata, and other numbers in the attributes.
 */
export function addTokensInMetadata(metadata: unknown, facts: Facts): void {
  if (typeof metadata !== 'string' || !MARK.test(metadata)) return;
  for (const answer of Object.values(parsedJson(metadata) ?? {})) {
    const usage = ownMember(answer, 'usage') ?? answer;
    const ofGoogle = ownMember(answer, 'usageMetadata');
    // Only version 4 writes this name.
    if (countIn(usage, 'cacheReadInputTokens') !== null) {
      addTo(facts, 'inputTokens', usage, ['cacheReadInputTokens', 'cacheCreationInputTokens', 'cacheWriteInputTokens']);
    } else if (countIn(usage, 'input_tokens') === facts.inputTokens) {
      addTo(facts, 'inputTokens', usage, ['cache_read_input_tokens', 'cache_creation_input_tokens']);
    }
    if (countIn(ofGoogle, 'candidatesTokenCount') === facts.outputTokens) {
      addTo(facts, 'outputTokens', ofGoogle, ['thoughtsTokenCount']);
    }
  }
}

function addTo(facts: Facts, fact: 'inputTokens' | 'outputTokens', usage: unknown, names: readonly string[]): void {
  const tokens = facts[fact];
  if (tokens !== null) facts[fact] = names.reduce((sum, name) => sum + (countIn(usage, name) ?? 0), tokens);
}

function countIn(usage: unknown, name: string): number | null {
  return asCount(ownMember(usage, name));
}
