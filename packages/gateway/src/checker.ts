import type { Decision, Use } from './access.ts';
import { describeDenial, GuardError } from './errors.ts';
import type { GuardedSession } from './session.ts';

/**
 * A tool or a model as a framework names it. `vendor` is what the framework says about the provider of a model, such as
 * `openai`.
 */
export type Named = { kind: 'tool' | 'model'; name: string; vendor?: string };

/**
 * Says which provider a tool or a model belongs to: by id, name or alias, with another name if the framework renames it.
 *
 * Null: Quartermaster does not govern it, so it is permitted. Undefined: its provider is not known, so it is denied.
 */
export type ProviderOf = (named: Named) => string | { provider: string; name: string } | null | undefined;

/** Why something may not be used. `message` is for a model or a person to read. */
export type Denial = { message: string; named: Named; decision: Decision | null };

/** Decides for a framework. */
export type Checker = {
  /** Whether a model should not see the tool. Counts nothing. */
  hides(named: Named): boolean;
  /** @returns null if it may be used @throws GuardError */
  check(named: Named): Promise<Denial | null>;
  /** Like `check`, but a model can read that the service does not answer. A session that has ended still throws. */
  checkTool(name: string): Promise<Denial | null>;
};

export function createChecker(session: GuardedSession, providerOf: ProviderOf): Checker {
  function useOf(named: Named): Use | null | undefined {
    const found = providerOf(named);
    if (typeof found === 'string') return { provider: found, kind: named.kind, name: named.name };
    return found && { ...found, kind: named.kind };
  }

  async function check(named: Named): Promise<Denial | null> {
    const use = useOf(named);
    if (use === null) return null;
    if (use === undefined || use.name === '') {
      const unknown = use === undefined ? 'provider' : 'name';
      const message = `Not permitted: the ${unknown} of the ${named.kind} ${JSON.stringify(named.name)} is not known.`;
      return { message, named, decision: null };
    }
    const decision = await session.decide(use);
    return decision.allowed ? null : { message: describeDenial(use, decision), named, decision };
  }

  return {
    hides(named) {
      const use = useOf(named);
      if (use === null) return false;
      return use === undefined || session.filter([use], (one) => one).length === 0;
    },
    check,
    async checkTool(name) {
      const named: Named = { kind: 'tool', name };
      try {
        return await check(named);
      } catch (error) {
        if (!(error instanceof GuardError) || error.code !== 'unavailable') throw error;
        const message = `The tool ${JSON.stringify(name)} did not run, because nobody could check at the moment whether it is permitted.`;
        return { message, named, decision: null };
      }
    },
  };
}
