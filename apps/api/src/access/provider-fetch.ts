/** Everything that is asked of the identity provider has to be answered within this time. */
const TIME_LIMIT_MS = 5000;

/** More than any discovery document, key set or user record has. */
const MAX_BYTES = 512 * 1024;

/** The identity provider answered, and not with what was asked for. */
export class ProviderStatusError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the identity provider answered ${status}`);
    this.name = 'ProviderStatusError';
    this.status = status;
  }
}

/**
 * A JSON object from the identity provider, within a time limit and a size limit. Redirects are not followed: they
 * would lead a token, or our trust, to another host.
 *
 * @throws ProviderStatusError where the status is not 2xx; other errors where nothing usable came at all
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
  const value: unknown = JSON.parse(await limitedText(response));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('the identity provider answered JSON that is no object');
  }
  return value as Record<string, unknown>;
}

async function limitedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new RangeError(`the identity provider answered more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
