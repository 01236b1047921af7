import { client } from '@quartermaster/client/client.gen.ts';
import { takeAnswer, USER_HEADER } from '../early.ts';
import { BASE_PATH } from './base-path.ts';
import { ApiProblem } from './problem.ts';

/** The entity tags of the records that were read, by path. Writes send them back as If-Match. */
const tags = new Map<string, string>();

/** How many are remembered. A write without a tag is refused nothing, so forgetting one is harmless. */
const MAX_TAGS = 500;

/** The user that the page shows; null until it knows. */
let shownUser: string | null = null;

const UNSAFE_METHODS = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** Points the generated client at the server that the page came from. Call it once, before the first request. */
export function configureClient(): void {
  client.setConfig({
    baseUrl: window.location.origin + BASE_PATH,
    credentials: 'same-origin',
    // The client passes requests alone.
    fetch: (input) => {
      const request = input as Request;
      const user = request.headers.get(USER_HEADER);
      return (request.method === 'GET' && takeAnswer(request.url, user)) || fetch(request);
    },
  });
  client.interceptors.request.use((request) => {
    // The page finds out by this request that another user has signed in.
    const asksWho = pathOf(request) === '/v1/me';
    if (shownUser !== null && !asksWho) request.headers.set(USER_HEADER, shownUser);
    if (!UNSAFE_METHODS.has(request.method)) return request;
    // A page of another origin cannot set this header without the server's consent.
    request.headers.set('X-Quartermaster-Console', '1');
    return request;
  });
  client.interceptors.response.use((response, request) => {
    const tag = response.headers.get('etag');
    if (tag !== null && request.method === 'GET') remember(pathOf(request), asTheServerSent(tag));
    return response;
  });
  client.interceptors.error.use((error, response) => new ApiProblem(error, response));
}

/** From now on the server refuses requests of this page with the session of another user. */
export function showUser(id: string): void {
  shownUser = id;
}

/**
 * A proxy that compresses an answer changes its tag: nginx and Cloudflare mark it as weak, Apache adds `-gzip`. If-Match needs the
 * tag of the server.
 */
function asTheServerSent(tag: string): string {
  return tag.replace(/^W\//, '').replace(/-(?:gzip|br|zstd)"$/, '"');
}

/** The If-Match header for a write on the record at a path, if its tag is known. */
export function ifMatch(path: string): { 'If-Match'?: string } {
  const tag = tags.get(path);
  return tag === undefined ? {} : { 'If-Match': tag };
}

/** The If-Match header for a write on the record that another write has answered with: it is refused if others changed it since. */
export function ifMatchAnswer({ headers }: Response): { 'If-Match'?: string } {
  const tag = headers.get('etag');
  return tag === null ? {} : { 'If-Match': asTheServerSent(tag) };
}

/** An Idempotency-Key: made once for each decision of the user, so that a repeated request is not a second decision. */
export function idempotencyKey(): { 'Idempotency-Key': string } {
  return { 'Idempotency-Key': crypto.randomUUID() };
}

/** The path of the API, without the path of the service on its host. */
function pathOf({ url }: Request): string {
  return new URL(url).pathname.slice(BASE_PATH.length);
}

function remember(path: string, tag: string): void {
  tags.delete(path);
  tags.set(path, tag);
  const [oldest] = tags.keys();
  if (tags.size > MAX_TAGS && oldest !== undefined) tags.delete(oldest);
}
