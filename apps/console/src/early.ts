import type { Me } from '@quartermaster/client';
import { BASE_PATH } from './data/base-path.ts';
import { firstPageIsRead, inboxQuery, PAGE_SIZE } from './screens/inbox/query.ts';

// A script of its own, and a small one: it asks what the page will need first, while the rest of the code is still loading.

/** The answers that nobody has taken yet, by the path and query that were asked. */
const answers = new Map<string, Promise<Response>>();

/** Later than this after the page began to load, an answer is too old to show, in milliseconds. */
const FRESH_MS = 10_000;

/** The answer to what was asked early, once. Undefined: it was not asked. */
export function takeAnswer(url: string): Promise<Response> | undefined {
  if (performance.now() > FRESH_MS) return undefined;
  const key = keyOf(url);
  const answer = answers.get(key);
  answers.delete(key);
  return answer;
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
  await ask(`/v1/runtime-observations?${new URLSearchParams(query).toString()}`, { 'X-Quartermaster-User': me.id });
}

/** @returns the body, or undefined if the answer is an error */
async function ask(path: string, headers: Record<string, string> = {}): Promise<unknown> {
  const url = BASE_PATH + path;
  const asked = fetch(url, { headers });
  // Whoever takes the answer reads its body, too.
  const copy = asked.then((answer) => answer.clone());
  copy.catch(() => {});
  answers.set(keyOf(url), copy);
  const answer = await asked;
  return answer.ok ? answer.json() : undefined;
}

function keyOf(url: string): string {
  const { pathname, searchParams } = new URL(url, window.location.origin);
  searchParams.sort();
  return `${pathname}?${searchParams.toString()}`;
}
