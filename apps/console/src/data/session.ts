import { useSyncExternalStore } from 'react';
import { takeAnswer } from '../early.ts';
import { BASE_PATH } from './base-path.ts';
import { ApiProblem } from './problem.ts';

/** Where a browser signs in to see the inbox. */
export const SIGN_IN_URL = `${BASE_PATH}/console/sign-in`;

/** Whether the server said 401 after the page had been signed in. */
export const sessionEnded = createFlag();

export function useSessionEnded(): boolean {
  return useSyncExternalStore(sessionEnded.subscribe, sessionEnded.get);
}

/**
 * Whether this browser has a session. The answer is a 200 in both cases, because browsers write every 401 to the console as an
 * error. @throws {ApiProblem} if the server does not know
 */
export async function isSignedIn(signal: AbortSignal): Promise<boolean> {
  const { answer, body } = await askConsole('session', { signal });
  if (!answer.ok) throw new ApiProblem(body, answer);
  return (body as { signedIn: boolean }).signedIn;
}

/** Asks what the server has for this page beside the API, below `/console`. @throws {ApiProblem} if the server cannot be reached */
export async function askConsole(
  path: string,
  { method = 'GET', signal }: { method?: 'GET' | 'POST' | 'DELETE'; signal?: AbortSignal },
): Promise<{ answer: Response; body: unknown }> {
  const url = `${BASE_PATH}/console/${path}`;
  const early = method === 'GET' ? takeAnswer(url, null) : undefined;
  const options = {
    method,
    ...(method !== 'GET' && { headers: { 'X-Quartermaster-Console': '1' } }),
    ...(signal !== undefined && { signal }),
  };
  const answer = await (early ?? fetch(url, options)).catch((error: unknown) => {
    throw new ApiProblem(error, undefined);
  });
  return { answer, body: await answer.json().catch(() => null) };
}

/** @throws {ApiProblem} 401 if this browser has no session, as the API would answer */
export async function requireSession(signal: AbortSignal): Promise<void> {
  if (await isSignedIn(signal)) return;
  throw new ApiProblem({ code: 'session_ended', title: 'You are not signed in.' }, new Response(null, { status: 401 }));
}

/** Where a browser signs in. It comes back to the page that it left. */
export function signInUrl(): string {
  const { pathname, search } = window.location;
  return `${SIGN_IN_URL}?returnTo=${encodeURIComponent(pathname + search)}`;
}

/** The interval for reading a list again. Not while the session is over: each request would be one more refusal. */
export function whileSignedIn(intervalMs: number): () => number | false {
  return () => (sessionEnded.get() ? false : intervalMs);
}

/**
 * Ends the session here and, if it has a page for that, at the identity provider. @throws {ApiProblem} if the session may still be
 * there: on a shared computer one must know
 */
export async function signOut(): Promise<void> {
  const { answer, body } = await askConsole('sign-out', { method: 'POST' });
  if (!answer.ok && answer.status !== 401) throw new ApiProblem(body, answer);
  window.location.assign(answer.ok ? (body as { location: string }).location : `${BASE_PATH}/console/`);
}

function createFlag() {
  let value = false;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (next: boolean) => {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
