import { claimOperatorTask, type OperatorTask } from '@quartermaster/client';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';

/** How long a claim lasts unless it is renewed. Others wait at most this long for a browser that is gone. */
export const LEASE_SECONDS = 300;

/** Other people claim and leave tasks, too: what is shown is read again so often, in milliseconds. */
export const REFRESH_MS = 20_000;

const RENEW_MS = (LEASE_SECONDS * 1000) / 2;

/** The shortest lease that the API knows. The API has no release, so leaving a task shortens the lease to this. */
const RELEASE_SECONDS = 60;

/** While the task of the caller is shown in a visible tab, its lease is renewed. When the panel closes, it is shortened. */
export function useLease(task: OperatorTask | undefined, isMine: boolean): void {
  const queryClient = useQueryClient();
  const id = isMine ? task?.id : undefined;
  const heldId = useRef<string>(undefined);
  useEffect(() => {
    heldId.current = id;
    if (id === undefined) return;
    const renew = () => {
      if (document.visibilityState !== 'visible') return;
      void claimOperatorTask({ path: { task_id: id }, body: { leaseSeconds: LEASE_SECONDS } }).then(() =>
        queryClient.invalidateQueries(),
      );
    };
    const timer = setInterval(renew, RENEW_MS);
    document.addEventListener('visibilitychange', renew);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', renew);
    };
  }, [id, queryClient]);
  useEffect(() => {
    // A task that was completed is no longer held, so it is not released.
    const release = () => {
      if (heldId.current === undefined) return;
      const path = { task_id: heldId.current };
      // `keepalive`: the request is sent even if the tab closes.
      void claimOperatorTask({ path, body: { leaseSeconds: RELEASE_SECONDS }, keepalive: true });
    };
    window.addEventListener('pagehide', release);
    return () => {
      window.removeEventListener('pagehide', release);
      release();
    };
  }, []);
}

/** Seconds until a time, counted down each second. */
export function useSecondsLeft(until: string | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (until === null) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return until === null ? 0 : Math.max(0, Math.round((Date.parse(until) - now) / 1000));
}
