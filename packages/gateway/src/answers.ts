import type { Decision, Use } from './access.ts';
import { ageOf, type Moment, moment } from './clock.ts';

/** How long a denial is remembered, in milliseconds. After this time the service is asked again, and an approval is seen. */
const DENIAL_MS = 1000;

/** The most attempts that one question reports. */
const MAX_ATTEMPTS = 1000;

/** How many names are remembered. */
const MAX_ANSWERS = 1000;

type Answer = {
  decision: Decision | null;
  at: Moment;
  asking: Promise<Decision> | null;
  /** Attempts that were answered from here. The next question about the name reports them. */
  unreported: number;
};

/** Asks the service about names, and remembers its answers for a short time, so that a loop of attempts does not flood it. */
export class Answers {
  readonly #keepAllowedMs: number;
  readonly #answers = new Map<string, Answer>();

  constructor(keepAllowedMs: number) {
    this.#keepAllowedMs = keepAllowedMs;
  }

  async of(use: Use, attempts: number, ask: (attempts: number) => Promise<Decision>): Promise<Decision> {
    const answer = this.#entry(use);
    answer.unreported += attempts;
    if (answer.decision !== null && ageOf(answer.at) < this.#keptMs(answer.decision)) return answer.decision;
    answer.asking ??= this.#ask(answer, ask).finally(() => {
      answer.asking = null;
    });
    return answer.asking;
  }

  async #ask(answer: Answer, ask: (attempts: number) => Promise<Decision>): Promise<Decision> {
    const reported = Math.min(answer.unreported, MAX_ATTEMPTS);
    const decision = await ask(reported);
    answer.unreported -= reported;
    answer.decision = decision;
    answer.at = moment();
    return decision;
  }

  #keptMs({ allowed, wouldDeny }: Decision): number {
    return allowed && !wouldDeny ? this.#keepAllowedMs : DENIAL_MS;
  }

  /** Moves the entry to the end, and forgets the entry that was not used for the longest time. */
  #entry({ provider, kind, name }: Use): Answer {
    const key = JSON.stringify([provider, kind, name]);
    const answer = this.#answers.get(key) ?? { decision: null, at: moment(), asking: null, unreported: 0 };
    this.#answers.delete(key);
    const oldest = this.#answers.size >= MAX_ANSWERS ? this.#answers.keys().next().value : undefined;
    if (oldest !== undefined) this.#answers.delete(oldest);
    this.#answers.set(key, answer);
    return answer;
  }
}
