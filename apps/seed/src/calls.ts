import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '@quartermaster/client/client/index.ts';
import { Failure } from './failure.ts';

/** Either an API key or a bearer token. */
export type Credential = { key: string } | { token: string };

const TIMEOUT_MS = 40_000;

/** How often one request waits for its rate limit, whose window is a minute. */
const MAX_RATE_LIMIT_WAITS = 10;

/** A client that waits for `Retry-After` whenever the server answers 429. */
export function clientWith(url: string, credential: Credential): Client {
  return createClient({
    baseUrl: url,
    // The client calls this once for each scheme of the operation, but only one credential may be sent.
    auth: ({ scheme }) => {
      if ('token' in credential) return scheme === 'bearer' ? credential.token : undefined;
      return scheme === 'bearer' ? undefined : credential.key;
    },
    fetch: (input, init) => fetchWithinRateLimit(new Request(input, init)),
  });
}

async function fetchWithinRateLimit(request: Request): Promise<Response> {
  for (let waits = 0; ; waits += 1) {
    const response = await fetch(request.clone(), { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.status !== 429 || waits === MAX_RATE_LIMIT_WAITS) return response;
    await response.body?.cancel();
    await sleep(1000 * Number(response.headers.get('retry-after') ?? 1));
  }
}

/** The result of a call of the generated client. */
export type Answer<T> = { data?: T | undefined; error?: unknown; response?: Response };

/**
 * Returns the data of a successful call.
 *
 * @throws {Failure} with the server's explanation if the call failed
 */
export async function dataOf<T>(call: Promise<Answer<T>>): Promise<T> {
  const answer = await call;
  if (answer.data !== undefined) return answer.data;
  throw failureOf(answer);
}

export function failureOf({ error, response }: Answer<unknown>): Failure {
  if (response === undefined) return new Failure('The server stopped answering.', { cause: error });
  const { pathname } = new URL(response.url);
  return new Failure(`The server answered ${response.status} to ${pathname}: ${detailOf(error)}`);
}

/** The `detail` of a problem document, or the body as text. */
export function detailOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { detail } = (error ?? {}) as { detail?: unknown };
  return typeof detail === 'string' ? detail : JSON.stringify(error);
}

type Page<T> = { items: T[]; nextCursor: string | null };

/** Reads all pages of a list. */
export async function readAllPages<T>(
  readPage: (page: { limit: number; cursor?: string }) => Promise<Answer<Page<T>>>,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<T> = await dataOf(readPage({ limit: 100, ...(cursor !== null && { cursor }) }));
    all.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return all;
}
