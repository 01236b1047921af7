import { ApiError } from '../../platform/errors.ts';

/** Requests of a session, and of a tenant, that may be open at a time. */
const MAX_OF_SESSION = 64;
const MAX_OF_TENANT = 1000;

/** How often the sessions of open requests are checked, in milliseconds. */
const CHECK_MS = 1000;

/** An open request. */
type Stream = {
  /** Decides again whether it may stay open. @throws ApiError if it may not */
  check: () => Promise<unknown>;
  abort: AbortController;
  /** Whether it only waits for messages of the server, so that the service does not wait for its end when it stops. */
  isListening: boolean;
};

type Owner = { tenantId: string; sessionId: string };

/** The requests that are open at MCP servers. They are closed when their session ends, at most 5 s later. */
export class Streams {
  readonly #bySession = new Map<string, Set<Stream>>();
  readonly #ofTenant = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #isChecking = false;

  constructor(stopping: AbortSignal) {
    stopping.addEventListener('abort', () => {
      for (const stream of this.#all()) if (stream.isListening) stream.abort.abort();
    });
  }

  /**
   * Counts a request as open until `end` is called, and aborts it when it has to be closed.
   *
   * @returns `end`
   * @throws ApiError 429
   */
  open({ tenantId, sessionId }: Owner, stream: Stream): () => void {
    const key = `${tenantId} ${sessionId}`;
    const streams = this.#bySession.get(key) ?? new Set();
    const ofTenant = this.#ofTenant.get(tenantId) ?? 0;
    if (streams.size >= MAX_OF_SESSION) throw tooMany(`The session has ${MAX_OF_SESSION}`);
    if (ofTenant >= MAX_OF_TENANT) throw tooMany(`The sessions of the tenant have ${MAX_OF_TENANT}`);
    this.#bySession.set(key, streams.add(stream));
    this.#ofTenant.set(tenantId, ofTenant + 1);
    this.#timer ??= setInterval(() => void this.#checkAll(), CHECK_MS).unref();
    return () => {
      if (!streams.delete(stream)) return;
      if (streams.size === 0 && this.#bySession.get(key) === streams) this.#bySession.delete(key);
      const left = (this.#ofTenant.get(tenantId) ?? 1) - 1;
      if (left === 0) this.#ofTenant.delete(tenantId);
      else this.#ofTenant.set(tenantId, left);
      if (this.#bySession.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  *#all(): Generator<Stream> {
    for (const streams of this.#bySession.values()) yield* streams;
  }

  async #checkAll(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    await Promise.allSettled([...this.#all()].map(checkOne));
    this.#isChecking = false;
  }
}

/** While the database is away nothing is decided, so what is open stays open. */
async function checkOne({ check, abort }: Stream): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (error instanceof ApiError) abort.abort();
  }
}

function tooMany(what: string): ApiError {
  const detail = `${what} requests open at MCP servers, which is the limit.`;
  return new ApiError('rate_limited', detail, { headers: { 'Retry-After': '5' } });
}
