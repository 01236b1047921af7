import type { Me } from '@quartermaster/client';
import { BASE_PATH } from './data/base-path.ts';
import { firstPageIsRead, inboxQuery, PAGE_SIZE } from './screens/inbox/query.ts';

// A script of its own, and a small one: it asks what the page will need first, while the rest of the code is still loading.

/** The header that names the user whom a page shows. The server refuses a request with the session of another user. */
export const USER_HEADER = 'X-Quartermaster-User';

type Asked = { answer: Promise<Response>; user: string | null };

/** The answers that nobody has taken yet, by the path and query that were asked. */
const answers = new Map<string, Asked>();

/** What the page has asked itself, because it was not asked yet. An answer that comes later would stay here and become old. */
const askedByPage = new Set<string>();

/** Later than this after the page began to load, an answer is too old to show, in milliseconds. */
const FRESH_MS = 10_000;

/**
 * The answer to what was asked early, once. Undefined: it was not asked, or for another user.
 *
 * @param user whom the request names in {@link USER_HEADER}
 */
export function takeAnswer(url: string, user: string | null): Promise<Response> | undefined {
  if (performance.now() > FRESH_MS) return undefined;
  const key = keyOf(url);
  const asked = answers.get(key);
  answers.delete(key);
  if (asked?.user === user) return asked.answer;
  askedByPage.add(key);
  return undefined;
}

// A failure is that of the request which takes the answer.
void askFirst().catch(() => {});

/** Asks for the session, then who is signed in, then the first rows of the inbox: each only if it will not be refused. */
async function askFirst(): Promise<void> {
  const session = (await ask('/console/session')) as { signedIn: boolean } | undefined;
  if (session?.signedIn !== true) return;
  const me = (await ask('/v1/me')) as Me | undefined;
  if (me === undefined) return;
  const { pathname, search } = window.location;
  const state = Object.fromEntries(new URLSearchParams(search));
  if (![`${BASE_PATH}/console/inbox`, `${BASE_PATH}/console/`].includes(pathname) || !firstPageIsRead(me, state))
    return;
  const query = Object.entries({ ...inboxQuery(state), limit: PAGE_SIZE }).map(([name, value]) => [
    name,
    String(value),
  ]);
  await ask(`/v1/runtime-observations?${new URLSearchParams(query).toString()}`, me.id);
}

/** @returns the body, or undefined if the answer is an error, or the page has asked already */
async function ask(path: string, user: string | null = null): Promise<unknown> {
  const url = BASE_PATH + path;
  const key = keyOf(url);
  if (askedByPage.has(key)) return undefined;
  const asked = fetch(url, user === null ? {} : { headers: { [USER_HEADER]: user } });
  // The body is read here, and by the request that takes the answer.
  const copy = asked.then((answer) => answer.clone());
  copy.catch(() => {});
  answers.set(key, { answer: copy, user });
  const answer = await asked;
  return answer.ok ? answer.json() : undefined;
}

function keyOf(url: string): string {
  const { pathname, searchParams } = new URL(url, window.location.origin);
  searchParams.sort();
  return `${pathname}?${searchParams.toString()}`;
}
