import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import { ApiError } from '../../platform/errors.ts';

/**
 * How old a value may be before it is read again, in milliseconds. Up to twice this age it is used meanwhile, so a revocation
 * takes effect within 5 s.
 */
const FRESH_MS = 2000;

/** How old a value may be while the database does not answer, or is slow. In milliseconds. */
const MAX_AGE_MS = 5000;

type Entry<Value> = { value: Value; readAt: number; reading: Promise<Value> | null };

/**
 * Values that are read again when they are older than {@link FRESH_MS}. Up to twice that age, a value is still used while it is
 * read again. Concurrent callers share one read. What does not exist (undefined) is not kept: otherwise callers could replace
 * everything by asking for ids that they made up.
 */
export class LiveCache<Value> {
  readonly #entries: BoundedMap<string, Entry<Value>>;
  readonly #first = new Map<string, Promise<Value>>();
  readonly #load: (key: string) => Promise<Value>;
  readonly #freshMs: number;

  constructor({
    load,
    most,
    freshMs = FRESH_MS,
  }: { load: (key: string) => Promise<Value>; most: number; freshMs?: number }) {
    this.#load = load;
    this.#entries = new BoundedMap(most);
    this.#freshMs = freshMs;
  }

  /** Returns a promise only if the value has to be read first, so that most decisions take no turn of the event loop. */
  get(key: string): Value | Promise<Value> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return this.#readFirst(key);
    const age = performance.now() - entry.readAt;
    if (age <= this.#freshMs) return entry.value;
    const reading = this.#readAgain(key, entry);
    return age <= 2 * this.#freshMs ? entry.value : reading;
  }

  #readFirst(key: string): Promise<Value> {
    const running = this.#first.get(key);
    if (running) return running;
    const readAt = performance.now();
    const reading = this.#load(key)
      .then((value) => this.#keep(key, value, readAt))
      .finally(() => this.#first.delete(key));
    this.#first.set(key, reading);
    return reading;
  }

  #readAgain(key: string, entry: Entry<Value>): Promise<Value> {
    if (entry.reading) return entry.reading;
    const readAt = performance.now();
    const reading = this.#load(key)
      .then((value) => this.#keep(key, value, readAt))
      .catch((error: unknown) => {
        entry.reading = null;
        if (performance.now() - entry.readAt <= MAX_AGE_MS) return entry.value;
        throw error;
      });
    // Callers that use the old value do not wait for it.
    reading.catch(() => {});
    entry.reading = reading;
    return reading;
  }

  /** @throws ApiError 503 if the database took so long that the value may be too old */
  #keep(key: string, value: Value, readAt: number): Value {
    if (performance.now() - readAt > MAX_AGE_MS)
      throw new ApiError('database_unavailable', 'The database did not answer in time.');
    if (value === undefined) this.#entries.delete(key);
    else this.#entries.set(key, { value, readAt, reading: null });
    return value;
  }
}

/** Continues with a value: at once, unless it is a promise. */
export function whenKnown<Value, Result>(
  value: Value | Promise<Value>,
  then: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(then) : then(value);
}
