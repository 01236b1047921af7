import type { CallSpan, TOKEN_COUNTS } from './call-span.ts';
import type { Grouped } from './group-uses.ts';

/** Tokens of one call, or the sum of several. */
export type Tokens = Pick<CallSpan, (typeof TOKEN_COUNTS)[number]>;

/**
 * The tokens of wrappers whose calls have none. Some frameworks write only the sum, on the span around several calls of a
 * model. The last of these calls gets the whole sum, so that totals are right.
 *
 * @returns the tokens, by the set of the call that gets them
 */
export function tokensOfWrappers({ reports, setOf, outer, isWrapper }: Grouped): ReadonlyMap<number, Tokens> {
  const assigned = new Map<number, Tokens>();
  if (!isWrapper.includes(true)) return assigned;
  const wrapperAround = nearestWrapper({ outer, isWrapper });
  const callsIn = new Map<number, Set<number>>();
  const wrappers = new Map<number, Tokens>();
  /** Wrappers that contain a report with tokens. */
  const withInnerTokens = new Set<number>();
  for (const [index, { span, use }] of reports.entries()) {
    if (use.kind !== 'model') continue;
    const set = setOf(index);
    const around = wrapperAround(index);
    const hasTokens = span.inputTokens !== null || span.outputTokens !== null;
    if (isWrapper[index] && hasTokens && !wrappers.has(set)) wrappers.set(set, span);
    if (!isWrapper[index] && around !== null) {
      const wrapper = setOf(around);
      callsIn.set(wrapper, (callsIn.get(wrapper) ?? new Set()).add(set));
    }
    for (let at = hasTokens ? around : null; at !== null && !withInnerTokens.has(setOf(at)); at = wrapperAround(at)) {
      withInnerTokens.add(setOf(at));
    }
  }
  for (const [set, tokens] of wrappers) {
    // The calls are in the order of their start, as `reports` are.
    const last = [...(callsIn.get(set) ?? [])].at(-1);
    if (last !== undefined && !withInnerTokens.has(set)) assigned.set(last, tokens);
  }
  return assigned;
}

/** Returns a function that finds the nearest wrapper around a report. */
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
