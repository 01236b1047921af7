import { type Client, createClient } from '@quartermaster/client/client/index.ts';
import { obtainToken, SignInError } from '@quartermaster/dev-identity/sign-in.ts';
import { Failure } from './failure.ts';

/** Far above what any call here takes: a server that hangs ends the quickstart, and not the reader's patience. */
const TIME_LIMIT_MS = 40_000;

const ADMINISTRATOR = 'admin@example.com';

/**
 * A client of the server at `url` as the development identity provider's platform administrator.
 *
 * @throws {Failure} where no server answers, or one without the development identity provider
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
    // It is asked for every scheme that an operation takes, and only one may be answered.
    auth: ({ scheme }) => {
      if ('token' in credential) return scheme === 'bearer' ? credential.token : undefined;
      return scheme === 'bearer' ? undefined : credential.key;
    },
    fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(TIME_LIMIT_MS) }),
  });
}

/**
 * The data of a call.
 *
 * @throws {Failure} with what the server said, where it refused
 */
export async function done<T>(
  call: Promise<{ data?: T | undefined; error?: unknown; response?: Response }>,
): Promise<T> {
  const { data, error, response } = await call;
  if (data !== undefined) return data;
  if (response === undefined) throw new Failure('The server stopped answering.', { cause: error });
  throw new Failure(`The server answered ${response.status} to ${new URL(response.url).pathname}: ${saidOf(error)}`);
}

/** The detail of a problem document, or whatever else it was. */
function saidOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { detail } = (error ?? {}) as { detail?: unknown };
  return typeof detail === 'string' ? detail : JSON.stringify(error);
}

function explain(url: string, error: unknown): string {
  const code = error instanceof SignInError ? error.code : undefined;
  if (code === 'unreachable') {
    return `No server answers at ${url}.\nStart it with npm start in another terminal, or set QM_URL to where it listens.`;
  }
  if (code === 'no_provider') {
    return `The server at ${url} runs without the development identity provider, which npm start brings:\nthe quickstart makes a tenant of its own, and needs a platform administrator for it.`;
  }
  return `The sign-in at ${url} failed: ${error instanceof Error ? error.message : String(error)}`;
}
