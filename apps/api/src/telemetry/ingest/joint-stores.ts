import { setImmediate } from 'node:timers/promises';
import { numberOf } from '../number-of.ts';
import type { PreparedSpan } from './prepare.ts';
import { NOTHING_REFUSED, type Refused, type SpansToStore, type StoredSpans } from './store-spans.ts';

/** The most spans of a request that is stored with others, and of all that are stored together. */
const MAX_SPANS_OF_REQUEST = 100;
const MAX_SPANS = 500;

type Store = (spans: SpansToStore, interrupted?: AbortSignal) => Promise<StoredSpans>;

type SmallRequest = SpansToStore & { spans: readonly PreparedSpan[] };

/** Requests that are stored together, and what became of each. */
type Joint = {
  readonly requests: SmallRequest[];
  spans: number;
  isOpen: boolean;
  refused: Promise<ReadonlyMap<SmallRequest, Refused>>;
};

/**
 * Stores the spans of several small requests together. Exporters send a few spans every few seconds. Most of the cost of such a
 * request does not depend on the number of spans: the statements and the commit. Requests of an account that are ready in the
 * same turn of the event loop are stored in one transaction. Requests that become ready while spans of the account are being
 * stored wait, and are stored together in the next transaction.
 *
 * If requests cannot be stored together, each is stored alone, so that none is refused because of another one.
 */
export class JointStores {
  readonly #store: Store;
  /** The last joint transaction of each account. It is running, or waits for the one before. */
  readonly #last = new Map<string, Joint>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** @param interrupted ends the work of a large request between two transactions, with its reason. What is stored stays */
  async store(request: SpansToStore, interrupted?: AbortSignal): Promise<Refused> {
    if (!isSmall(request)) return (await this.#store(request, interrupted)).refused;
    const joint = this.#join(request);
    try {
      return (await joint.refused).get(request) ?? NOTHING_REFUSED;
    } catch (error) {
      if (joint.requests.length === 1) throw error;
      return (await this.#store(request)).refused;
    }
  }

  #join(request: SmallRequest): Joint {
    const key = JSON.stringify([request.place, request.sender]);
    const count = request.spans.length;
    const last = this.#last.get(key);
    if (last?.isOpen === true && last.spans + count <= MAX_SPANS) {
      last.requests.push(request);
      last.spans += count;
      return last;
    }
    const joint: Joint = { requests: [request], spans: count, isOpen: true, refused: Promise.resolve(new Map()) };
    joint.refused = this.#run(key, joint, last);
    this.#last.set(key, joint);
    return joint;
  }

  async #run(key: string, joint: Joint, before: Joint | undefined): Promise<ReadonlyMap<SmallRequest, Refused>> {
    await before?.refused.catch(() => {});
    await setImmediate();
    joint.isOpen = false;
    try {
      const { requests } = joint;
      const [first] = requests;
      if (first === undefined) return new Map();
      if (requests.length === 1) return new Map([[first, (await this.#store(first)).refused]]);
      return await this.#storeTogether(first, requests);
    } finally {
      if (this.#last.get(key) === joint) this.#last.delete(key);
    }
  }

  async #storeTogether(
    first: SmallRequest,
    requests: readonly SmallRequest[],
  ): Promise<ReadonlyMap<SmallRequest, Refused>> {
    const requestOf = new Map<PreparedSpan, SmallRequest>();
    const texts = new Map<string, number>();
    for (const request of requests) {
      const numbers = request.texts.map((text) => numberOf(texts, text));
      for (const span of request.spans) {
        requestOf.set({ ...span, resource: numbers[span.resource] ?? -1, scope: numbers[span.scope] ?? -1 }, request);
      }
    }
    const { rejected, isFull } = await this.#store({
      ...first,
      spans: [...requestOf.keys()],
      texts: [...texts.keys()],
    });
    if (isFull) throw new Error('the tenant has no room for all requests: each is stored alone');
    const refused = new Map<SmallRequest, Refused>();
    for (const [span, reason] of rejected) {
      const request = requestOf.get(span);
      if (request === undefined) continue;
      const { count, reasons } = refused.get(request) ?? NOTHING_REFUSED;
      refused.set(request, { count: count + 1, reasons: [...reasons, reason] });
    }
    return refused;
  }
}

/** Whether a request is stored with others. The spans of a large one are read part by part. */
function isSmall(request: SpansToStore): request is SmallRequest {
  return Array.isArray(request.spans) && request.spans.length <= MAX_SPANS_OF_REQUEST;
}
