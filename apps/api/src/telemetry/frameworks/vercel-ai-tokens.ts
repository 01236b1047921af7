import { ownMember } from '../../platform/own-member.ts';
import { cachedInUsage } from '../reading/cached-tokens.ts';
import { countUnder } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { parsedJson } from '../reading/inside.ts';

/** Metadata with such a key may have tokens that the attributes leave out. Other metadata need not be parsed. */
const MARK = /cache_(?:read|creation)_input|cacheReadInput|thoughtsToken/;

/** The names of cached tokens that only version 4 writes. */
const CACHED_IN_VERSION_4 = ['cacheReadInputTokens', 'cacheCreationInputTokens', 'cacheWriteInputTokens'];

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
    if (facts.inputTokens !== null) {
      const isOfVersion4 = countUnder(usage, 'cacheReadInputTokens') !== null;
      if (isOfVersion4)
        facts.inputTokens += CACHED_IN_VERSION_4.reduce((sum, key) => sum + (countUnder(usage, key) ?? 0), 0);
      else if (countUnder(usage, 'input_tokens') === facts.inputTokens) facts.inputTokens += cachedInUsage(usage);
    }
    if (facts.outputTokens !== null && countUnder(ofGoogle, 'candidatesTokenCount') === facts.outputTokens)
      facts.outputTokens += countUnder(ofGoogle, 'thoughtsTokenCount') ?? 0;
  }
}
