import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

/** What the address says after `?`. All state of a view is there, so that a copied link shows the same view. */
export type UrlState = Record<string, string | undefined>;

/** Plain `?a=b`, without the quotes that the router would put around texts that look like numbers. */
export function parseSearch(text: string): UrlState {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
  const text = new URLSearchParams(entries).toString();
  return text === '' ? '' : `?${text}`;
}

/** A whole number from an address, where people may have written anything. Undefined if it is something else. */
export function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) : undefined;
}

/** Without undefined and empty values. */
function cleaned(state: UrlState): UrlState {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== ''));
}

type SetUrlState = (changes: UrlState, options?: { push?: boolean }) => void;

/** The state of the view, and what changes it. The component is drawn again for each change of the address. */
export function useUrlState(): [UrlState, SetUrlState] {
  const search: UrlState = useSearch({ strict: false });
  return [search, useSetUrlState()];
}

/** One parameter of the address. The component is drawn again only if this one changes. */
export function useUrlParameter(name: string): string | undefined {
  return useSearch({ strict: false, select: (search: UrlState) => search[name] });
}

/** What changes the state of the view: always the same function. `push` adds a step to the browser's history. */
export function useSetUrlState(): SetUrlState {
  const navigate = useNavigate();
  const { history } = useRouter();
  return useCallback<SetUrlState>(
    (changes, { push = false } = {}) => {
      void navigate({ to: '.', search: (before: UrlState) => cleaned({ ...before, ...changes }), replace: !push });
      // The router would join it with a step that follows at once: a form that is closed would be open again after a step back.
      history.flush();
    },
    [navigate, history],
  );
}
