import type { CallSpan } from './call-span.ts';
import type { Grouped } from './group-uses.ts';

/** Tokens of one call, or of several. */
export type Tokens = Pick<CallSpan, 'inputTokens' | 'outputTokens'>;

/**
 * The tokens that only the span around several calls of a model knows: some frameworks write their sum there, and none on
 * the calls. The last of the calls gets them all, so that sums are right.
 *
 * @returns the tokens by the set of the call that gets them
 */
export function tokensOfWrappers({ told, setOf, outer, isWrapper }: Grouped): ReadonlyMap<number, Tokens> {
  const given = new Map<number, Tokens>();
  if (!isWrapper.includes(true)) return given;
  const wrapperAround = nearestWrapper({ outer, isWrapper });
  const callsIn = new Map<number, Set<number>>();
  const wrappers = new Map<number, Tokens>();
  /** Wrappers in which something has tokens of its own. */
  const informed = new Set<number>();
  for (const [index, { span, use }] of told.entries()) {
    if (use.kind !== 'model') continue;
    const set = setOf(index);
    const around = wrapperAround(index);
    const hasTokens = span.inputTokens !== null || span.outputTokens !== null;
    if (isWrapper[index] && hasTokens && !wrappers.has(set)) wrappers.set(set, span);
    if (!isWrapper[index] && around !== null) {
      const wrapper = setOf(around);
      callsIn.set(wrapper, (callsIn.get(wrapper) ?? new Set()).add(set));
    }
    for (let at = hasTokens ? around : null; at !== null && !informed.has(setOf(at)); at = wrapperAround(at)) {
      informed.add(setOf(at));
    }
  }
  for (const [set, { inputTokens, outputTokens }] of wrappers) {
    // In the order of their start, as `told` is.
    const last = [...(callsIn.get(set) ?? [])].at(-1);
    if (last !== undefined && !informed.has(set)) given.set(last, { inputTokens, outputTokens });
  }
  return given;
}

/** Answers the nearest use around another one that stands for several calls. */
function nearestWrapper({ outer, isWrapper }: Pick<Grouped, 'outer' | 'isWrapper'>) {
  const found = new Map<number, number | null>();
  return (index: number): number | null => {
    const passed: number[] = [];
    let at: number | null = index;
    let nearest: number | null | undefined;
    while (nearest === undefined) {
      nearest = found.get(at);
      if (nearest !== undefined) break;
      passed.push(at);
      const around: number | null = outer[at] ?? null;
      if (around === null) nearest = null;
      else if (isWrapper[around]) nearest = around;
      else at = around;
    }
    for (const one of passed) found.set(one, nearest);
    return nearest;
  };
}
