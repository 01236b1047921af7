import { signOut } from '../data/session.ts';
import { useAction } from './use-action.ts';

/** Signs out. If that fails, a message says so: somebody else could go on with this session. */
export function useSignOut(): () => void {
  // The page is left, so nothing is read again.
  const { mutate } = useAction({ run: signOut, done: () => null, updateCache: () => {} });
  return () => mutate();
}
