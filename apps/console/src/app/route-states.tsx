import { Button } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Screen } from '../components/screen.tsx';
import { Empty, Failed, useWhenReady } from '../components/states.tsx';
import { isLoadError, problemOf } from '../data/problem.ts';

export function RouteMissing(): ReactNode {
  return (
    <Screen title="No such page">
      <Empty title="There is no page at this address">
        <Link to="/inbox">Go to the inbox</Link>
      </Empty>
    </Screen>
  );
}

/** In the place of a screen that threw an error, or whose code could not be loaded. */
export function RouteFailed({ error, retry }: { error: unknown; retry: () => void }): ReactNode {
  return (
    <Screen title="Something went wrong">
      <Fault error={error} retry={retry} />
    </Screen>
  );
}

function Fault({ error, retry }: { error: unknown; retry: () => void }): ReactNode {
  const problem = problemOf(error);
  if (isLoadError(error)) return <LoadFailed />;
  if (problem.kind !== 'fault') return <Failed problem={problem} retry={retry} />;
  return <ConsoleFault error={error} message={problem.message} />;
}

const RELOADED = 'quartermaster-reloaded-at';
const RELOAD_INTERVAL_MS = 10_000;

/**
 * After a deployment the assets of an old page are gone, and a new page has the new ones. But if the server is away, a new page
 * would be an error of the browser or of a proxy, which never goes on by itself. So the page waits for the server.
 */
function LoadFailed(): ReactNode {
  // Never reload in a loop.
  const [waits] = useState(() => Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0) >= RELOAD_INTERVAL_MS);
  const reloadOnce = () => {
    sessionStorage.setItem(RELOADED, String(Date.now()));
    reload();
  };
  useWhenReady({ waits, asksAtOnce: true }, reloadOnce);
  return (
    <Empty title="A part of the page could not be loaded">
      <div className="stack" role="alert">
        <p>The server cannot be reached, or it has a new version.</p>
        {waits && <p>The page reloads by itself as soon as the server is ready.</p>}
        <div>
          <Button onClick={reload}>Reload the page</Button>
        </div>
      </div>
    </Empty>
  );
}

/** An error of the console's own code. The details are for a report, because the message alone rarely tells the cause. */
function ConsoleFault({ error, message }: { error: unknown; message: string }): ReactNode {
  const clipboard = useClipboard();
  return (
    <Empty title="The console has a fault">
      <div className="stack" role="alert">
        <p>This page threw an error. Reload it. If the error comes again, report it with the details.</p>
        <p className="mono">{message}</p>
        <div className="row">
          <Button onClick={reload}>Reload the page</Button>
          <Button variant="default" onClick={() => clipboard.copy(detailsOf(error, message))}>
            {clipboard.copied ? 'Copied' : 'Copy details'}
          </Button>
        </div>
      </div>
    </Empty>
  );
}

function detailsOf(error: unknown, message: string): string {
  return [
    `Console fault: ${message}`,
    `Page: ${window.location.pathname}${window.location.search}`,
    `Time: ${new Date().toISOString()}`,
    `Browser: ${navigator.userAgent}`,
    error instanceof Error ? (error.stack ?? '') : '',
  ].join('\n');
}

function reload(): void {
  window.location.reload();
}
