import { ageOf, type Moment, moment } from './clock.ts';
import { GuardError } from './errors.ts';

/** After a failure nothing is sent for this time. */
const RETRY_MS = 1000;

/** Requests of one kind. It remembers whether the service answers them. */
export class Backoff {
  #failure: { error: GuardError; at: Moment } | null = null;

  get isFailing(): boolean {
    return this.#failure !== null;
  }

  async run<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (this.#failure !== null && ageOf(this.#failure.at) < RETRY_MS) throw this.#failure.error;
    try {
      const answer = await work();
      this.#failure = null;
      return answer;
    } catch (error) {
      if (isUnavailable(error)) this.#failure = { error, at: moment() };
      throw error;
    }
  }
}

export function isUnavailable(error: unknown): error is GuardError {
  return error instanceof GuardError && error.code === 'unavailable';
}
