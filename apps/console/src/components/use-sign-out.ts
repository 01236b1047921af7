import { signOut } from '../data/session.ts';
import { useAction } from './use-action.ts';

/** Signs out. If that fails, a message says so, because the next person at this computer would still be signed in. */
export function useSignOut(): () => void {
  // The page is left, so nothing is read again.
  const { mutate } = useAction({ run: signOut, done: () => null, updateCache: () => {} });
  return () => mutate();
}
