import { Button, Modal } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { meQuery } from '../data/me.ts';
import { isSignedIn, SIGN_IN_URL, sessionEnded, signInUrl, useSessionEnded } from '../data/session.ts';

/** How often the page asks whether the user has signed in again in another tab. */
const ASK_MS = 2000;

/** One dialog instead of a page full of refusals. After the sign-in the browser comes back to the same view. */
export function SessionEnded(): ReactNode {
  const isEnded = useSessionEnded();
  useContinueAfterSignIn(isEnded);
  return (
    <Modal opened={isEnded} onClose={() => {}} withCloseButton={false} title="Your session has ended">
      <div className="stack">
        <p>Sign in again to continue. You come back to this view.</p>
        <p className="dim">
          To keep what you have typed here,{' '}
          <a href={SIGN_IN_URL} target="_blank" rel="noreferrer">
            sign in in a new tab
          </a>{' '}
          and return to this one.
        </p>
        <Button onClick={() => window.location.assign(signInUrl())} data-autofocus>
          Sign in
        </Button>
      </div>
    </Modal>
  );
}

/** Closes the dialog once the browser has a session again, and reads everything that is shown again. */
function useContinueAfterSignIn(isEnded: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isEnded) return;
    const stop = new AbortController();
    const ask = async () => {
      if (!(await isSignedIn(stop.signal))) return;
      // If it is another user, the page loads again.
      await client.fetchQuery({ ...meQuery(), staleTime: 0 });
      sessionEnded.set(false);
      await client.invalidateQueries();
    };
    // A server that cannot be reached is asked again.
    const timer = setInterval(() => void ask().catch(() => {}), ASK_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [isEnded, client]);
}
