import { type Client, createClient } from '@quartermaster/client/client/index.ts';
import { obtainToken, SignInError } from '@quartermaster/dev-identity/sign-in.ts';
import { Failure } from './failure.ts';

/** Far longer than any call here takes, so that a hanging server ends the quickstart with an error. */
const TIME_LIMIT_MS = 40_000;

const ADMINISTRATOR = 'admin@example.com';

/**
 * A client of the server at `url`, signed in as the development identity provider's platform administrator.
 *
 * @throws {Failure} if no server answers, or the server has no development identity provider
 */
export async function signIn(url: string): Promise<Client> {
  try {
    const signal = AbortSignal.timeout(TIME_LIMIT_MS);
    const { accessToken } = await obtainToken({ issuer: `${url}/oidc`, email: ADMINISTRATOR, signal });
    return clientOf(url, { token: accessToken });
  } catch (error) {
    throw new Failure(explain(url, error), { cause: error });
  }
}

/** A client of the server at `url`, with one credential. */
export function clientOf(url: string, credential: { key: string } | { token: string }): Client {
  return createClient({
    baseUrl: url,
    // The client calls this once for each scheme of the operation, but only one credential may be sent.
    auth: ({ scheme }) => {
      if ('token' in credential) return scheme === 'bearer' ? credential.token : undefined;
      return scheme === 'bearer' ? undefined : credential.key;
    },
    fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(TIME_LIMIT_MS) }),
  });
}

/**
 * Returns the data of a successful call.
 *
 * @throws {Failure} with the server's explanation if the call failed
 */
export async function dataOf<T>(
  call: Promise<{ data?: T | undefined; error?: unknown; response?: Response }>,
): Promise<T> {
  const { data, error, response } = await call;
  if (data !== undefined) return data;
  if (response === undefined) throw new Failure('The server stopped answering.', { cause: error });
  throw new Failure(`The server answered ${response.status} to ${new URL(response.url).pathname}: ${detailOf(error)}`);
}

/** The `detail` of a problem document, or the body as text. */
function detailOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { detail } = (error ?? {}) as { detail?: unknown };
  return typeof detail === 'string' ? detail : JSON.stringify(error);
}

function explain(url: string, error: unknown): string {
  const code = error instanceof SignInError ? error.code : undefined;
  if (code === 'unreachable') {
    return `No server answers at ${url}.\nStart it with npm start in another terminal, or set QM_URL to its address.`;
  }
  if (code === 'no_provider') {
    return `The server at ${url} runs without the development identity provider, which npm start includes.\nThe quickstart needs it to sign in as a platform administrator, who creates a tenant.`;
  }
  return `The sign-in at ${url} failed: ${error instanceof Error ? error.message : String(error)}`;
}
