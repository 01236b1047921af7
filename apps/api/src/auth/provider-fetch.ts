/** Time limit for each request to the identity provider. */
const TIME_LIMIT_MS = 5000;

/** Larger than any real discovery document, key set, user record or token. */
const MAX_BYTES = 512 * 1024;

/** The identity provider answered with an error status. */
export class ProviderStatusError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the identity provider answered ${status}`);
    this.name = 'ProviderStatusError';
    this.status = status;
  }
}

/**
 * Fetches a JSON object from the identity provider, within a time limit and a size limit. Does not follow redirects, which
 * could send a token to another host, or make us trust its keys.
 *
 * @throws ProviderStatusError for a status other than 2xx; other errors for no answer or an unusable one
 */
export async function fetchObject(
  fetch: typeof globalThis.fetch,
  url: string,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    headers: { accept: 'application/json', ...headers },
    redirect: 'error',
    signal: AbortSignal.timeout(TIME_LIMIT_MS),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new ProviderStatusError(response.status);
  }
  const value: unknown = JSON.parse(await limited(response).text());
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('the identity provider answered JSON that is not an object');
  }
  return value as Record<string, unknown>;
}

/** `fetch` for a library that reads answers of the identity provider. Reading a body fails beyond the size limit. */
export async function limitedFetch(...request: Parameters<typeof globalThis.fetch>): Promise<Response> {
  return limited(await globalThis.fetch(...request));
}

/** The same response. Reading its body throws a RangeError beyond the size limit. */
function limited(response: Response): Response {
  let size = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new RangeError(`the identity provider answered more than ${MAX_BYTES} bytes`);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(limit), response);
}
