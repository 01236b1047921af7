import type { Scope } from '@quartermaster/client';
import { Button } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { BASE_PATH } from '../data/base-path.ts';
import { ApiProblem } from '../data/problem.ts';
import { Icon } from './icons.tsx';
import classes from './states.module.css';

/** Grey lines where rows will be. */
export function Loading({ rows = 8 }: { rows?: number }): ReactNode {
  return (
    <div className={classes.loading} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={classes.bone} data-width={row % 3} />
      ))}
    </div>
  );
}

/** Nothing to show, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className={classes.message}>
      <h2>{title}</h2>
      <div className="dim">{children}</div>
    </div>
  );
}

type WhenReady = { waits: boolean; asksAtOnce?: boolean };

/** How often the page asks whether the server is ready again. */
const ASK_MS = 3000;

/** What went wrong, in the server's words, and a way to try again. If the server is not ready, the page waits until it is. */
export function Failed({ problem, retry }: { problem: ApiProblem; retry?: () => void }): ReactNode {
  const { kind, status, code, requestId } = problem;
  const waits = retry !== undefined && (kind === 'unreachable' || status === 503);
  useWhenReady({ waits }, () => retry?.());
  return (
    <div className={classes.message} role="alert">
      <h2 className="row">
        <span className="danger">
          <Icon name="warning" />
        </span>
        {titleOf(problem)}
      </h2>
      <p>{problem.message}</p>
      <p className="dim mono">
        {[...(status === 0 ? [] : [status]), code, ...(requestId === null ? [] : [`request ${requestId}`])].join(' · ')}
      </p>
      {waits && <p className="dim">The page goes on by itself as soon as the server is ready.</p>}
      {retry !== undefined && (
        <Button variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** In the place of what the caller may not read. No request is sent, because its refusal is known. */
export function MissingScope({ scope }: { scope: Scope }): ReactNode {
  const body = {
    code: 'scope_missing',
    scope,
    detail: 'An administrator of your tenant can give you a role that has it.',
  };
  return <Failed problem={new ApiProblem(body, new Response(null, { status: 403 }))} />;
}

/** Calls a function once the server is ready, as its readiness path says. */
export function useWhenReady({ waits, asksAtOnce = false }: WhenReady, onReady: () => void): void {
  const latest = useRef(onReady);
  useEffect(() => {
    latest.current = onReady;
  });
  useEffect(() => {
    if (!waits) return;
    const stop = new AbortController();
    const ask = async () => {
      const { ok } = await fetch(`${BASE_PATH}/readyz`, { signal: stop.signal });
      if (ok) latest.current();
    };
    // A server that cannot be reached is asked again.
    const askSafely = () => void ask().catch(() => {});
    const timer = setInterval(askSafely, ASK_MS);
    if (asksAtOnce) askSafely();
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [waits, asksAtOnce]);
}

function titleOf({ kind, status, scope }: ApiProblem): string {
  if (kind === 'unreachable') return 'The server cannot be reached';
  if (status === 403) return scope === undefined ? 'You may not see this' : `This needs the scope ${scope}`;
  if (status === 404) return 'There is nothing here, or it is out of your reach';
  if (status === 429) return 'There were too many requests';
  if (status === 503) return 'The server is not ready';
  return status >= 500 ? 'The server failed' : 'The server refused this';
}
