import type { Dialect } from './dialect.ts';

/**
 * Effect 4 (github.com/Effect-TS/effect, packages/effect/src/ai). A tool has no span of its own: `Toolkit` writes its name on the
 * span that is open when the tool is called. After `generateText` this is the span of the model that asked for it, which is of
 * this dialect. After `streamText` it is a span of the application, which `other-frameworks.ts` reads, as it does all of Effect 3.
 * The scope is `effect`, or the name of the service if OpenTelemetry's SDK exports the spans.
 */
export const effect: Dialect = {
  name: 'effect',
  signature: ['effect.ai.*'],
  attributes: { tool: ['tool'] },
  content: ['parameters'],
  safe: ['effect.ai.concurrency'],
  uses(_span, { tool }, usual) {
    const isRead = tool === null || usual.some(({ kind }) => kind === 'tool');
    return isRead ? usual : [...usual, { kind: 'tool', name: tool }];
  },
};
