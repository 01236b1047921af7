import { useSyncExternalStore } from 'react';

/** Whether the server said 401 after the page had been signed in. */
export const sessionEnded = createFlag();

export function useSessionEnded(): boolean {
  return useSyncExternalStore(sessionEnded.subscribe, sessionEnded.get);
}

/** Where a browser signs in. It comes back to the page that it left. */
export function signInUrl(): string {
  const { pathname, search } = window.location;
  return `/console/sign-in?returnTo=${encodeURIComponent(pathname + search)}`;
}

/** Ends the session here and, if it has a page for that, at the identity provider. */
export async function signOut(): Promise<void> {
  const headers = { 'X-Quartermaster-Console': '1' };
  const answer = await fetch('/console/sign-out', { method: 'POST', headers });
  const { location } = answer.ok ? ((await answer.json()) as { location: string }) : { location: '/console/' };
  window.location.assign(location);
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
